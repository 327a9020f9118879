// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel by the interpreter: whether to take it, where it runs, how it
// ended.
#include "api/engine.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "core/messages.h"

typedef struct KernelRun {
    WeftContext *context;
    const WeftProgram *program;
    ApiEngine *engine;
    EngineKernel *kernel;
    const InterpOffer *offer;
    InterpError *error;
    uint32_t row; // of the first worker, where turns are recorded
} KernelRun;

static const char *name_of(const KernelRun *run) {
    return core_op_info[core_kernel_op(run->kernel->fun)].name;
}

// ---- while it runs ------------------------------------------------------------------

static void tell_progress(void *data, int64_t done, int64_t total) {
    const KernelRun *run = data;
    if (!api_is_progress_due(run->context)) return;
    double fraction = total > 0 ? (double)done / (double)total : -1;
    api_progress_at(run->program, run->offer->loc, fraction < 1 ? fraction : 1);
}

// Records the turns of a worker as one piece, as long as they follow each other.
static void record_turns(void *data, unsigned worker, uint64_t loop_began,
                         uint64_t began, int64_t turns) {
    const KernelRun *run = data;
    rt_event_piece(run->context->events, run->row + worker, RT_EVENT_LOOP, name_of(run),
                   loop_began, began, clock_ns(), (uint64_t)turns, run->offer->loc);
}

// ---- failures -----------------------------------------------------------------------

static void tell_fault(KernelRun *run, const ExecEnd *end) {
    InterpError *error = run->error;
    error->status = STATUS_RUNTIME;
    error->loc = run->offer->loc;
    error->message = STR("a check failed on the device, which lost account of which");
    const LoopStm *check = end->check;
    if (check == NULL) return;
    ScalarType types[KERNEL_FAULT_VALUES];
    for (uint32_t i = 1; i < check->arg_count; i++)
        types[i - 1] =
            (ScalarType)run->kernel->loop->values.data[check->args[i]].type.elem;
    StrBuf text = strbuf(&run->context->scratch);
    core_fill_in(&text, check->text, check->arg_count - 1, types, end->values);
    error->loc = check->loc;
    error->message = strbuf_done(&text);
    error->call_count = end->call_count;
    error->calls = arena_array(&run->context->scratch, CoreLoc, error->call_count);
    for (uint32_t i = 0; i < error->call_count; i++)
        error->calls[i] = end->calls[i]->loc;
}

static void tell_end(KernelRun *run, const ApiPlace *place, const ExecEnd *end) {
    InterpError *error = run->error;
    StrBuf text = strbuf(&run->context->scratch);
    error->loc = run->offer->loc;
    switch (end->status) {
    case EXEC_OK: error->status = STATUS_OK; return;
    case EXEC_FAULT: tell_fault(run, end); return;
    case EXEC_MEMORY:
        error->status = STATUS_MEMORY;
        strbuf_cstr(&text, "out of memory");
        if (end->wanted > 0)
            strbuf_printf(&text, ": %llu bytes were wanted",
                          (unsigned long long)end->wanted);
        error->message = strbuf_done(&text);
        return;
    case EXEC_CANCELLED:
        error->status = STATUS_CANCELLED;
        error->message = STR("cancelled");
        return;
    case EXEC_BROKEN:
        error->status = STATUS_IO;
        strbuf_printf(&text, "device %s failed: %s", place->address,
                      place->device != NULL ? place->device->why
                                            : "it has lost an array");
        error->message = strbuf_done(&text);
        return;
    }
}

// ---- where it runs ------------------------------------------------------------------

// Seconds until this place would have the results, by what it did before: moving the
// arguments, and the kernel itself.
static double predict(const KernelRun *run, const ApiPlace *place, uint32_t number) {
    static const double bytes_per_second = 8e9;
    size_t bytes = 0;
    for (uint32_t i = 0; i < run->kernel->loop->param_count; i++)
        if (run->offer->args[i].rank > 0)
            bytes += rt_bytes_to_send(run->offer->args[i].array, place->device);
    return place->load + (double)bytes / bytes_per_second +
           run->kernel->seconds[number];
}

// The number of the place that would be ready first; the last one left is never lost.
static uint32_t choose(const KernelRun *run) {
    const WeftContext *context = run->context;
    uint32_t best = 0;
    double least = -1;
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *place = &context->places[i];
        if (place->is_lost) continue;
        double seconds = predict(run, place, i);
        if (least >= 0 && seconds >= least) continue;
        best = i;
        least = seconds;
    }
    return best;
}

// A device that failed is left; its arrays that are nowhere else are lost.
static void leave(WeftContext *context, ApiPlace *place) {
    api_warn(context, "device %s failed and is not used any more: %s", place->address,
             place->device->why);
    place->is_lost = true;
    rt_leave(&context->heap, place->device);
}

static bool has_another(const WeftContext *context) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < context->place_count; i++)
        count += !context->places[i].is_lost;
    return count > 1;
}

static void record(KernelRun *run, ApiPlace *place, RtSpan span, uint64_t began,
                   bool has_results) {
    WeftContext *context = run->context;
    api_record_kernel(context, span, run->offer, has_results);
    if (rt_events_are_kept(context->events) && place->device != NULL)
        rt_event(context->events, api_place_row(context, place), RT_EVENT_KERNEL,
                 name_of(run), began, clock_ns(), 0, 0, run->offer->loc);
}

static void run_at(KernelRun *run, ApiPlace *place, uint32_t number, ExecEnd *end) {
    WeftContext *context = run->context;
    const InterpOffer *offer = run->offer;
    ExecCall call = {.kernel = &run->kernel->exec,
                     .heap = &context->heap,
                     .args = offer->args,
                     .may_take = offer->may_take,
                     .results = offer->results,
                     .device = place->device,
                     .cancel = &context->cancel,
                     .data = run};
    bool is_launched = api_is_launched(place);
    // What a device may lose, another may need.
    if (is_launched && has_another(context)) call.may_take = run->kernel->keeps;
    if (is_launched) call.code = run->engine->codes[number];
    else call.team = api_team(context, place);
    end->status = EXEC_MEMORY;
    if (!is_launched && call.team == NULL) return;
    if (context->options.progress != NULL) call.progress = tell_progress;
    if (!is_launched && rt_events_are_kept(context->events)) {
        call.ran = record_turns;
        run->row = api_worker_rows(context, place->address,
                                   rt_pool_threads(call.team->pool));
    }
    RtSpan span = rt_span_open(context->events);
    uint64_t began = clock_ns();
    exec_call(&call, end);
    double seconds = (double)(clock_ns() - began) * 1e-9;
    place->load += seconds;
    run->kernel->seconds[number] = seconds;
    record(run, place, span, began, end->status == EXEC_OK);
}

// ---- the offer ----------------------------------------------------------------------

// What a size is in this call; 0 if that is not known.
static double size_of(const InterpOffer *offer, const CoreProgram *core, CoreRef ref) {
    const CoreBody *body = offer->kernel->body;
    if (core_is_const(core, ref)) return (double)(int64_t)core->values.data[ref].bits;
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == ref) return (double)(int64_t)offer->args[i].bits;
    return 0;
}

// How often the body of a nested loop runs; some number if that is not known.
static double turns_of(const InterpOffer *offer, const CoreProgram *core,
                       const CoreStm *stm) {
    enum { SOME = 16 };
    double turns = 1;
    if (stm->op == OP_WHILE) return SOME;
    if (stm->op != OP_FOR && stm->op != OP_GENERATE) return 1;
    int32_t rank = stm->op == OP_FOR ? 1 : stm->attrs[0];
    for (int32_t d = 0; d < rank; d++) turns *= size_of(offer, core, stm->args[d]);
    return turns > 0 ? turns : SOME;
}

// About how many statements run for each element that a body is applied to.
static double cost_of(const InterpOffer *offer, const CoreProgram *core,
                      const CoreBody *body) {
    double cost = 1;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        cost += 1;
        for (uint32_t k = 0; k < stm->body_count; k++)
            cost += cost_of(offer, core, stm->bodies[k]) * turns_of(offer, core, stm);
    }
    return cost;
}

static double elements_of(const InterpOffer *offer) {
    double total = 0;
    for (uint32_t i = 0; i < offer->kernel->body->param_count; i++)
        if (offer->args[i].rank > 0) total += (double)rt_count(offer->args[i].array);
    return total;
}

// About how many statements the interpreter would run; loops of unknown length count
// little, for time tells about them.
static double work_of(const InterpOffer *offer, const CoreProgram *core) {
    const CoreBody *body = offer->kernel->body;
    const CoreStm *stm = body->stms.data[body->stms.len - 1];
    double rounds = elements_of(offer);
    for (uint32_t i = 0; i < body->stms.len; i++) // arrays that need no memory
        if (body->stms.data[i]->op == OP_IOTA || body->stms.data[i]->op == OP_REPLICATE)
            rounds += size_of(offer, core, body->stms.data[i]->args[0]);
    if (stm->op == OP_GENERATE) {
        rounds = 1;
        for (int32_t d = 0; d < stm->attrs[0]; d++)
            rounds *= size_of(offer, core, stm->args[d]);
    }
    if (stm->op == OP_FOR) rounds = size_of(offer, core, stm->args[0]);
    double cost = 1;
    for (uint32_t i = 0; i < stm->body_count; i++)
        cost += cost_of(offer, core, stm->bodies[i]);
    return rounds * cost;
}

// Starts the engine, or goes on with its builds and, if that pays, waits for this one.
static WeftStatus build(ApiEngine *engine, EngineGroup *group, double work) {
    enum { WORTH_WAITING = 20000000, WORK_PER_VALUE = 40000 };
    if (engine->state == ENGINE_IDLE) return api_engine_start(engine);
    if (work > WORTH_WAITING && work > WORK_PER_VALUE * (double)group->size)
        return api_builds_wait(engine, group);
    api_builds_poll(engine, group);
    return WEFT_STATUS_OK;
}

// Memory that is too short for a build is still enough to interpret.
static WeftStatus try_build(ApiEngine *engine, EngineGroup *group, double work) {
    Mem *mem = &engine->program->context->mem;
    jmp_buf recover, *outer = mem->recover;
    volatile WeftStatus status = WEFT_STATUS_MEMORY;
    mem->recover = &recover;
    if (setjmp(recover) == 0) status = build(engine, group, work);
    mem->recover = outer;
    return status;
}

// The kernel, if it can run. An engine that only may run kernels starts when it would
// pay: a build takes a tenth of a second or more, in which the interpreter runs some
// five million statements. Work that is much longer waits for it.
static EngineKernel *find_kernel(ApiEngine *engine, const InterpOffer *offer,
                                 InterpError *error) {
    enum { WORTH = 1000000 };
    static const double long_seconds = 0.05;
    double work = 0;
    if (engine->state == ENGINE_IDLE) {
        work = work_of(offer, engine->program->core);
        if (work < WORTH && api_seconds(engine->program->context) < long_seconds)
            return NULL;
        try_build(engine, NULL, 0);
    }
    uint64_t number;
    if (engine->state != ENGINE_STARTED ||
        !map_get(&engine->by_fun, (uint64_t)(uintptr_t)offer->kernel, &number))
        return NULL;
    EngineKernel *kernel = &engine->kernels[number - 1];
    EngineGroup *group = kernel->group;
    if (group == NULL || group->state == GROUP_READY) return kernel;
    if (group->state == GROUP_FAILED) return NULL;
    if (work == 0) work = work_of(offer, engine->program->core);
    if (try_build(engine, group, work) == WEFT_STATUS_CANCELLED)
        error->status = STATUS_CANCELLED;
    return group->state == GROUP_READY ? kernel : NULL;
}

// ---- patience -----------------------------------------------------------------------
//
// How long some kernels take cannot be told from their sizes. Such a one is interpreted
// apart, on arguments that stay as they are, for as long as that may pay; then the build
// is waited for and it runs from the start.

typedef struct Patience {
    ApiEngine *engine;
    const InterpOffer *offer;
    uint64_t until; // clock_ns; while no build has been started
    atomic_bool is_over;
} Patience;

// Whether there is a loop that turns nobody knows how often.
static bool is_open_ended(const InterpOffer *offer, const CoreProgram *core,
                          const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_WHILE) return true;
        if (stm->op == OP_FOR && size_of(offer, core, stm->args[0]) == 0) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (is_open_ended(offer, core, stm->bodies[k])) return true;
    }
    return false;
}

static EngineGroup *group_of(const ApiEngine *engine, const InterpOffer *offer) {
    uint64_t number;
    if (engine->state != ENGINE_STARTED ||
        !map_get(&engine->by_fun, (uint64_t)(uintptr_t)offer->kernel, &number))
        return NULL;
    return engine->kernels[number - 1].group;
}

static void lose_patience(void *data, CoreLoc loc, double fraction) {
    Patience *p = data;
    WeftContext *context = p->engine->program->context;
    (void)loc;
    if (context->options.progress != NULL && api_is_progress_due(context))
        api_progress_at(p->engine->program, p->offer->loc, fraction);
    EngineGroup *group = group_of(p->engine, p->offer);
    if (group != NULL) api_builds_poll(p->engine, group);
    bool is_ready = group != NULL && group->state == GROUP_READY;
    bool is_late = p->engine->state == ENGINE_IDLE && clock_ns() > p->until;
    if (is_ready || is_late || atomic_load(&context->cancel))
        atomic_store(&p->is_over, true);
}

// Returns false if patience was lost: then nothing has happened.
static bool interpret(ApiEngine *engine, const InterpOffer *offer, InterpError *error) {
    enum { PATIENCE_NS = 50000000 };
    WeftContext *context = engine->program->context;
    const CoreBody *body = offer->kernel->body;
    Patience p = {.engine = engine, .offer = offer, .until = clock_ns() + PATIENCE_NS};
    InterpOptions options = {.heap = &context->heap,
                             .arena = &context->scratch,
                             .cancel = &p.is_over,
                             .progress = lose_patience,
                             .progress_data = &p};
    RtValue *args = arena_array(&context->scratch, RtValue, body->param_count);
    for (uint32_t i = 0; i < body->param_count; i++) {
        args[i] = offer->args[i];
        if (args[i].rank > 0) rt_retain(args[i].array);
    }
    error->status = interp_run(engine->program->core, offer->kernel, &options, args,
                               offer->results, error);
    if (error->status != STATUS_CANCELLED) return true;
    if (!atomic_load(&context->cancel)) *error = (InterpError){0};
    return error->status != STATUS_OK;
}

// As find_kernel, for a kernel that was interpreted in vain.
static EngineKernel *wait_for_kernel(ApiEngine *engine, const InterpOffer *offer,
                                     InterpError *error) {
    if (engine->state == ENGINE_IDLE) try_build(engine, NULL, 0);
    EngineGroup *group = group_of(engine, offer);
    if (group != NULL && group->state != GROUP_READY && group->state != GROUP_FAILED)
        try_build(engine, group, HUGE_VAL);
    return find_kernel(engine, offer, error);
}

// A kernel that hides parallel work is for small arrays only.
static bool is_for_host(const InterpOffer *offer) {
    enum { SMALL = 1 << 14 };
    return offer->kernel->otherwise != 0 && elements_of(offer) > SMALL;
}

bool api_engine_run(void *data, const InterpOffer *offer, InterpError *error_out) {
    enum { MOST_TRIES = 64 }; // short kernels are not to be prepared each time
    ApiEngine *engine = data;
    if (is_for_host(offer)) return false;
    EngineKernel *kernel = find_kernel(engine, offer, error_out);
    if (kernel == NULL && error_out->status == STATUS_OK && engine->tries < MOST_TRIES &&
        is_open_ended(offer, engine->program->core, offer->kernel->body)) {
        engine->tries++;
        if (interpret(engine, offer, error_out)) return true;
        kernel = wait_for_kernel(engine, offer, error_out);
    }
    if (kernel == NULL) return error_out->status != STATUS_OK;
    KernelRun run = {.context = engine->program->context,
                     .program = engine->program,
                     .engine = engine,
                     .kernel = kernel,
                     .offer = offer,
                     .error = error_out};
    for (;;) {
        uint32_t at = choose(&run);
        ApiPlace *place = &run.context->places[at];
        ExecEnd end;
        run_at(&run, place, at, &end);
        tell_end(&run, place, &end);
        bool is_broken = end.status == EXEC_BROKEN && place->device != NULL;
        if (!is_broken || !has_another(run.context)) return true;
        leave(run.context, place);
    }
}
