// SPDX-License-Identifier: Apache-2.0
//
// Calling an entry. The arguments' arrays are lent to the engine, which consumes the
// references it is given; since the caller keeps its own, none is updated in place.
#include "api/ahead.h"
#include "api/alone.h"
#include "api/choice.h"
#include "api/direct.h"
#include "api/fit.h"
#include "api/stream.h"
#include "interp/interp.h"
#include "rt/store.h"

WeftStatus api_check_args(WeftContext *context, const ApiEntry *entry,
                          WeftValue *const *args, size_t arg_count) {
    if (arg_count != entry->param_count)
        return api_fail(context, WEFT_STATUS_USAGE, "`%s` takes %u arguments, not %zu",
                        entry->name, entry->param_count, arg_count);
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const WeftValue *arg = args[i];
        const ApiPort *port = &entry->params[i];
        if (arg == NULL || arg->context != context)
            return api_fail(context, WEFT_STATUS_USAGE,
                            "argument %u is NULL or of another context", i + 1);
        bool fits = arg->leaf_count == port->count;
        for (uint32_t k = 0; fits && k < port->count; k++)
            fits = arg->leaves[k].elem == port->leaves[k].elem &&
                   arg->leaves[k].rank == port->leaves[k].rank;
        if (!fits)
            return api_fail(context, WEFT_STATUS_VALUE,
                            "argument %u of `%s` is of type %s, not %s", i + 1,
                            entry->name, weft_value_type(arg), port->type);
    }
    return WEFT_STATUS_OK;
}

static WeftStatus check_call(WeftContext *context, const ApiCall *call,
                             const ApiEntry *entry) {
    if (call->arg_count != entry->param_count ||
        call->result_count != entry->result_count)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "`%s` takes %u arguments and has %u results, not %zu and %zu",
                        entry->name, entry->param_count, entry->result_count,
                        call->arg_count, call->result_count);
    return api_check_args(context, entry, call->args, call->arg_count);
}

static bool collect(void *data, const char *bytes, size_t len) {
    strbuf_bytes(data, bytes, len);
    return true;
}

// One line for a traced value: where and what.
static void show_trace(void *data, CoreLoc loc, const RtValue *value) {
    const ApiCall *call = data;
    WeftContext *context = call->program->context;
    const CoreProgram *core = call->program->core;
    if (call->program->engine != NULL) call->program->engine->has_traced = true;
    StrBuf text = strbuf(&context->scratch);
    if (loc != 0 && loc < core->places.len) {
        strbuf_str(&text, sources_show(&core->cx->sources, &context->scratch,
                                       core->places.data[loc].span));
        strbuf_cstr(&text, ": ");
    }
    DataType type = {.kind = DATA_LEAF, .elem = value->elem, .rank = value->rank};
    DataSink sink = {.write = collect, .data = &text};
    data_print(&sink, &type, value);
    data_put(&sink, "", 1);
    data_flush(&sink);
    context->options.trace(context->options.data, strbuf_done(&text).ptr);
}

static void show_progress(void *data, CoreLoc loc, double fraction) {
    const ApiCall *call = data;
    if (api_is_progress_due(call->program->context))
        api_progress_at(call->program, loc, fraction);
}

// Gives the engine references of its own to the arguments, and notes how many there
// were.
static void lend(WeftContext *context, const ApiCall *call, const ApiEntry *entry,
                 RtValue *args) {
    uint32_t total = 0, count = 0;
    for (uint32_t i = 0; i < entry->param_count; i++) total += entry->params[i].count;
    struct ApiLoan *loans = arena_zeroed(&context->scratch, total, sizeof *loans);
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const ApiPort *port = &entry->params[i];
        for (uint32_t k = 0; k < port->count; k++) {
            RtValue *arg = &args[port->first + k];
            *arg = call->args[i]->leaves[k];
            if (arg->rank == 0) continue;
            bool is_known = false;
            for (uint32_t j = 0; j < count && !is_known; j++)
                is_known = loans[j].array == arg->array;
            if (!is_known)
                loans[count++] = (struct ApiLoan){arg->array, arg->array->refs};
        }
    }
    context->loans = loans;
    context->loan_count = count;
    for (uint32_t i = 0; i < total; i++)
        if (args[i].rank > 0) rt_retain(args[i].array);
}

// Results on devices come to the host.
static Status fetch_results(WeftContext *context, const CoreBody *body, RtValue *flat,
                            InterpError *error) {
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < body->result_count && status == STATUS_OK; i++)
        if (flat[i].rank > 0) status = rt_fetch(&context->heap, flat[i].array);
    if (status == STATUS_OK) return STATUS_OK;
    for (uint32_t i = 0; i < body->result_count; i++)
        rt_release_value(&context->heap, &flat[i]);
    error->status = status;
    if (status == STATUS_MEMORY) error->message = STR("out of memory for the result");
    return status;
}

// After a run that found no memory, or that a device ended.
static bool is_tried_again(WeftProgram *program, ApiEntry *entry, Status status,
                           const InterpBeside **beside) {
    bool again = false;
    if (program->engine == NULL) return false;
    if (status == STATUS_MEMORY)
        again = api_stream_again(program) || api_ahead_again(program) ||
                api_alone_again(program, entry);
    if (status == STATUS_IO) again = api_ahead_recover(program);
    if (again && api_alone_is_on(program)) *beside = NULL;
    return again && api_engine_enter(program->engine, entry->fun) == WEFT_STATUS_OK;
}

WeftStatus api_call(WeftContext *context, void *data) {
    const ApiCall *call = data;
    WeftProgram *program = call->program;
    if (call->entry >= program->entry_count)
        return api_fail(context, WEFT_STATUS_USAGE, "there is no such entry");
    ApiEntry *entry = &program->entries[call->entry];
    WeftStatus checked = check_call(context, call, entry);
    if (checked != WEFT_STATUS_OK) return checked;
    if (atomic_load(&context->cancel)) return WEFT_STATUS_CANCELLED;
    if (api_direct_call(call, entry)) return WEFT_STATUS_OK;
    api_alone_end(program); // of the last call
    api_choose_rows(context, program, entry, call->args, true);
    checked = api_check_fit(context, program, entry, call->args);
    if (checked != WEFT_STATUS_OK) return checked;
    api_record_entry(program, entry->name);

    const CoreBody *body = entry->fun->body;
    RtValue *args = arena_array(&context->scratch, RtValue, body->param_count + 1);
    RtValue *flat = arena_array(&context->scratch, RtValue, body->result_count);
    WeftValue **made = arena_array(&context->scratch, WeftValue *, entry->result_count);
    for (uint32_t i = 0; i < entry->result_count; i++)
        made[i] = api_value_for(context, program, &entry->results[i]);
    InterpOptions options = {.heap = &context->heap,
                             .arena = &context->scratch,
                             .cancel = &context->cancel,
                             .trace =
                                 context->options.trace != NULL ? show_trace : NULL,
                             .trace_data = data,
                             .code = &entry->code,
                             .joins_late = api_has_room(context)};
    if (context->options.progress != NULL) {
        options.progress = show_progress;
        options.progress_data = data;
    }
    if (program->engine != NULL) {
        WeftStatus ready = api_engine_enter(program->engine, entry->fun);
        if (ready == WEFT_STATUS_OK)
            ready = api_ahead_open(program->engine, &options.beside);
        if (ready != WEFT_STATUS_OK) return ready;
        api_direct_plan(program, entry);
        program->engine->has_traced = false;
        options.run_kernel = api_engine_run;
        options.kernel_data = program->engine;
    }
    options.events = context->events;
    stack_measure(&program->cx.stack);
    rt_settle(&context->heap);
    InterpError error;
    Status status;
    do {
        error = (InterpError){0};
        lend(context, call, entry, args);
        rt_turn_take(context->heap.turn);
        status = interp_run(program->core, entry->fun, &options, args, flat, &error);
        if (status == STATUS_OK) status = fetch_results(context, body, flat, &error);
        rt_turn_give(context->heap.turn);
    } while (is_tried_again(program, entry, status, &options.beside));
    if (program->engine != NULL && program->engine->state == ENGINE_IDLE)
        program->engine->idle_seconds += api_seconds(context);
    context->loan_count = 0; // results may share the arrays that were lent
    mem_age(&context->mem);
    if (status != STATUS_OK) {
        if (status == STATUS_CANCELLED) return WEFT_STATUS_CANCELLED;
        if (status == STATUS_IO) error.message = api_tell_failed(context);
        if (error.message.len == 0) error.message = STR("out of memory");
        if (status == STATUS_MEMORY)
            api_tell_fit(context, program, entry, call->args, &error.message);
        return api_fault_run(context, program, &error);
    }
    for (uint32_t i = 0; i < entry->result_count; i++) {
        for (uint32_t k = 0; k < entry->results[i].count; k++)
            made[i]->leaves[k] = flat[entry->results[i].first + k];
        call->results[i] = made[i];
    }
    if (!api_alone_is_on(program))
        api_chosen_took(program, entry, api_seconds(context));
    if (context->options.log != NULL)
        api_note(context, "called %s in %.3f s", entry->name, api_seconds(context));
    return WEFT_STATUS_OK;
}

WeftStatus weft_call(WeftProgram *program, size_t entry, WeftValue *const *args,
                     size_t arg_count, WeftValue **results, size_t result_count) {
    if (program == NULL || (args == NULL && arg_count > 0) ||
        (results == NULL && result_count > 0))
        return WEFT_STATUS_USAGE;
    ApiCall call = {program, entry, args, arg_count, results, result_count};
    return api_guard(program->context, API_STARTS, api_call, &call);
}
