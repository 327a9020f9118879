// SPDX-License-Identifier: Apache-2.0
//
// What a call will do, and what one did (plan/plan.h): the devices of the context and
// the sizes of the arguments go in, beside them what was recorded; a text comes out.
#include <stdlib.h>
#include <string.h>

#include "api/ahead.h"
#include "api/alone.h"
#include "api/choice.h"
#include "api/fit.h"
#include "api/stream.h"

typedef struct ExplainCall {
    WeftProgram *program;
    size_t entry;
    WeftValue *const *args;
    size_t arg_count;
    WeftExplanation form;
    const char **text_out;
} ExplainCall;

// ---- what goes in -------------------------------------------------------------------

static const char *why_uncut(const WeftProgram *program) {
    const WeftContext *context = program->context;
    const char *least = getenv("WEFT_SPLIT");
    if (api_is_streamed(program)) return NULL;
    if (api_alone_is_on(program))
        return "there is memory for one device alone, the host's cores";
    if (context->place_count < 2) return "there is one device alone";
    if (least != NULL && strcmp(least, "none") == 0) return "WEFT_SPLIT is none";
    return NULL;
}

// ---- what was measured --------------------------------------------------------------

// The row of a device, or the host's.
static uint32_t row_of(const WeftProgram *program, uint32_t device) {
    const RtEvents *events = program->context->events;
    uint32_t count;
    const ApiPlace *place = &api_plan_places(program, &count)[device];
    if (!api_place_has_row(place)) return RT_EVENTS_HOST;
    for (uint32_t i = 0; i < rt_events_row_count(events); i++)
        if (strcmp(rt_events_row_name(events, i), place->address) == 0) return i;
    return UINT32_MAX;
}

typedef struct Sum {
    double seconds, bytes;
    uint32_t count;
} Sum;

// Of the events of the program on a row: of that kind, at that place if it is not 0.
static Sum sum_on(const WeftProgram *program, uint32_t row, RtEventKind kind,
                  CoreLoc loc) {
    Sum sum = {0};
    size_t count;
    uint64_t dropped, busy;
    if (row == UINT32_MAX) return sum;
    const RtEvent *on =
        rt_events_on(program->context->events, row, &count, &dropped, &busy);
    for (size_t i = 0; i < count; i++) {
        if (on[i].kind != kind || (loc != 0 && on[i].place != loc)) continue;
        if (on[i].owner != program->owner) continue;
        sum.seconds += (double)(on[i].end - on[i].begin) * 1e-9;
        sum.bytes += (double)on[i].bytes;
        sum.count++;
    }
    return sum;
}

// When the last of those kernels ended that the host's task waits for, if that was
// after `begin`, and no later than `end`.
static uint64_t end_of_wait(const WeftProgram *program, const Plan *plan,
                            const PlanTask *task, uint64_t begin, uint64_t end) {
    const RtEvents *events = program->context->events;
    size_t count;
    uint64_t dropped, busy, last = begin;
    for (uint32_t row = 1; row < rt_events_row_count(events); row++) {
        const RtEvent *on = rt_events_on(events, row, &count, &dropped, &busy);
        for (size_t i = 0; i < count; i++) {
            bool is_within = on[i].kind == RT_EVENT_KERNEL && on[i].end > last &&
                             on[i].end <= end && on[i].owner == program->owner;
            for (uint32_t k = 0; k < task->uses.len && is_within; k++) {
                uint32_t by = plan->blocks.data[task->uses.data[k].block].task;
                if (by != PLAN_NONE && plan->tasks.data[by].loc == on[i].place)
                    last = on[i].end;
            }
        }
    }
    return last;
}

static bool is_of_host(const WeftProgram *program, const PlanTask *task,
                       const RtEvent *event) {
    return event->kind == RT_EVENT_INTERPRET && event->place == task->loc &&
           event->owner == program->owner && event->name == core_op_info[task->op].name;
}

// What the host does itself: without waiting for kernels, or moving what they made.
// What is short is in the totals alone; parts that lie where they belong are not
// joined.
static void measure_on_host(const WeftProgram *program, const Plan *plan,
                            PlanTask *task) {
    const RtEvents *events = program->context->events;
    size_t count, total_count;
    uint64_t dropped, busy;
    double seconds = 0;
    const RtEvent *on = rt_events_on(events, RT_EVENTS_HOST, &count, &dropped, &busy);
    const RtTotal *totals = rt_events_totals(events, &total_count);
    for (size_t i = 0; i < count; i++) {
        if (!is_of_host(program, task, &on[i])) continue;
        uint64_t begin = end_of_wait(program, plan, task, on[i].begin, on[i].end);
        uint64_t moving = 0;
        for (size_t k = 0; k < i; k++)
            if (on[k].kind == RT_EVENT_TRANSFER && on[k].begin >= begin)
                moving += on[k].end - on[k].begin;
        seconds += (double)(on[i].end - begin - moving) * 1e-9;
    }
    task->measured = 0;
    task->ran_on = task->device;
    for (size_t i = 0; i < total_count; i++)
        if (is_of_host(program, task, &totals[i].event))
            task->measured = seconds / (double)totals[i].count;
}

// One turn of the task, where it was to run, or else wherever it did.
static void measure_task(const WeftProgram *program, const Plan *plan, PlanTask *task) {
    if (task->kernel == NULL) {
        measure_on_host(program, plan, task);
        return;
    }
    uint32_t on = task->device;
    Sum sum = sum_on(program, row_of(program, on), RT_EVENT_KERNEL, task->loc);
    for (uint32_t d = 0; d < plan->in.device_count && sum.count == 0; d++)
        sum = sum_on(program, row_of(program, on = d), RT_EVENT_KERNEL, task->loc);
    if (sum.count == 0) return;
    task->measured = sum.seconds / sum.count;
    task->ran_on = on;
}

// The last call of an entry, on the host's row.
static double measure_call(const WeftProgram *program, const char *entry) {
    size_t count;
    uint64_t dropped, busy;
    const RtEvent *on =
        rt_events_on(program->context->events, RT_EVENTS_HOST, &count, &dropped, &busy);
    for (size_t i = count; i-- > 0;)
        if (on[i].kind == RT_EVENT_CALL && on[i].name == entry)
            return (double)(on[i].end - on[i].begin) * 1e-9;
    return NAN;
}

// The most that memories held meanwhile: the host's of the arguments, and of what is
// free again.
static void measure_memory(Plan *plan, const WeftProgram *program, size_t freed) {
    uint32_t host;
    const ApiPlace *places = api_plan_places(program, &host);
    plan->measured_most = arena_array(plan->in.arena, double, host + 1);
    for (uint32_t d = 0; d < host; d++)
        if (places[d].device != NULL)
            plan->measured_most[d] = (double)places[d].device->counts.peak;
    plan->measured_most[host] = plan->args + (double)freed;
}

static void measure_edges(Plan *plan, const WeftProgram *program) {
    ApiEdges edges;
    bool are_counted = api_ahead_edges(program, &edges);
    plan->measured_edges = are_counted ? (double)edges.all : NAN;
    plan->measured_crossing = are_counted ? (double)edges.crossing : NAN;
    plan->measured_waits = are_counted ? (double)edges.waits : NAN;
}

// `freed`: what the context held at most, and does no longer.
static void measure(Plan *plan, const WeftProgram *program, const char *entry,
                    size_t freed) {
    const WeftContext *context = program->context;
    if (context->events == NULL || program->owner == 0) return;
    plan->measured = measure_call(program, entry);
    if (isnan(plan->measured)) return;
    measure_memory(plan, program, freed);
    measure_edges(plan, program);
    uint32_t count = plan->in.device_count;
    plan->measured_busy = arena_array(plan->in.arena, double, count);
    plan->measured_bytes = arena_array(plan->in.arena, double, count);
    for (uint32_t d = 0; d < count; d++) {
        uint32_t row = row_of(program, d);
        plan->measured_busy[d] = sum_on(program, row, RT_EVENT_KERNEL, 0).seconds;
        plan->measured_bytes[d] = sum_on(program, row, RT_EVENT_TRANSFER, 0).bytes;
    }
    double *took = arena_array(plan->in.arena, double, plan->tasks.len + 1);
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        PlanTask *task = &plan->tasks.data[i];
        measure_task(program, plan, task);
        if (!isnan(plan_took(task))) took[i] = plan_took(task);
    }
    plan->measured_longest = plan_longest(plan, took, false);
}

// ---- what comes out -----------------------------------------------------------------

static void print_title(const Plan *plan, const ApiEntry *entry, StrBuf *out) {
    strbuf_printf(out, "`%s` on", entry->name);
    for (uint32_t i = 0; i < plan->in.device_count; i++)
        strbuf_printf(out, "%s %s", i > 0 ? "," : "", plan->in.devices[i].address);
    if (plan->in.args == NULL) strbuf_cstr(out, ", with arguments of any size");
    strbuf_char(out, '\n');
}

// A plan may need more than the run, which is not refused for that.
static void print_ceiling(const Plan *plan, const WeftContext *context, StrBuf *out) {
    double needed = api_plan_needs(context, plan);
    double ceiling = (double)context->options.memory_ceiling;
    char text[PLAN_TEXT], most[PLAN_TEXT];
    if (ceiling == 0 || !(needed > ceiling)) return;
    strbuf_printf(out,
                  "  the host needs %s of that, and the ceiling is %s: a run may find "
                  "no memory\n",
                  plan_bytes(text, needed), plan_bytes(most, ceiling));
}

static void print(const Plan *plan, const ExplainCall *call, const ApiEntry *entry,
                  StrBuf *out) {
    if (call->form == WEFT_EXPLAIN_DOT) {
        plan_print_dot(plan, out);
    } else if (call->form == WEFT_EXPLAIN_SVG) {
        plan_print_svg(plan, out);
    } else {
        print_title(plan, entry, out);
        plan_print_decisions(plan, out);
        plan_print_source(plan, out);
        plan_print_tasks(plan, out);
        plan_print_devices(plan, out);
        plan_print_memory(plan, out);
        print_ceiling(plan, call->program->context, out);
    }
}

// A plan of what fails tells nothing.
static WeftStatus refuse(WeftContext *context, const WeftProgram *program,
                         const PlanFault *fault) {
    StrBuf text = strbuf(&context->scratch);
    strbuf_str(&text, fault->message);
    strbuf_cstr(&text, ": a run with these values fails here; there is a plan for "
                       "others, or without any");
    InterpError error = {
        .status = STATUS_RUNTIME, .loc = fault->loc, .message = strbuf_done(&text)};
    return api_fault_run(context, program, &error);
}

static WeftStatus explain(WeftContext *context, void *data) {
    const ExplainCall *call = data;
    WeftProgram *program = call->program;
    if (call->entry >= program->entry_count)
        return api_fail(context, WEFT_STATUS_USAGE, "there is no such entry");
    if (program->engine == NULL)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "the interpreter runs programs as they are: there is no plan");
    ApiEntry *entry = &program->entries[call->entry];
    WeftStatus status = WEFT_STATUS_OK;
    size_t freed = atomic_load(&context->mem.peak) - atomic_load(&context->mem.used);
    if (call->args != NULL || call->arg_count > 0)
        status = api_check_args(context, entry, call->args, call->arg_count);
    bool is_known = call->args != NULL || entry->param_count == 0;
    if (status != WEFT_STATUS_OK) return status;
    api_alone_end(program); // of the last call
    if (is_known) {
        api_choose_rows(context, program, entry, call->args, false);
        status = api_check_fit(context, program, entry, call->args);
    }
    if (status != WEFT_STATUS_OK) return status;
    ApiPlanning planning = {context, program, entry, is_known ? call->args : NULL,
                            &context->scratch};
    PlanInput in = api_plan_input(&planning);
    in.uncut = why_uncut(program);
    in.tells_results = true;
    api_plan_devices(program, &in);
    stack_measure(&program->cx.stack);
    Plan *plan = plan_make(&in);
    if (plan->fault.message.len > 0) return refuse(context, program, &plan->fault);
    measure(plan, program, entry->name, freed);
    StrBuf text = strbuf(&context->report);
    print(plan, call, entry, &text);
    strbuf_char(&text, '\0');
    *call->text_out = strbuf_done(&text).ptr;
    return WEFT_STATUS_OK;
}

WeftStatus weft_explain(WeftProgram *program, size_t entry, WeftValue *const *args,
                        size_t arg_count, WeftExplanation form, const char **text_out) {
    if (program == NULL || text_out == NULL || (args == NULL && arg_count > 0) ||
        (unsigned)form > WEFT_EXPLAIN_SVG)
        return WEFT_STATUS_USAGE;
    ExplainCall call = {program, entry, args, arg_count, form, text_out};
    return api_guard(program->context, API_STARTS, explain, &call);
}
