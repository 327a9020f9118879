// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel that has been taken: where it runs, and how it ended.
#include "api/engine.h"

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
    if (is_launched) call.code = run->kernel->launched->codes[number];
    else call.team = api_team(context, place);
    end->status = EXEC_MEMORY;
    if (!is_launched && call.team == NULL) return;
    if (context->options.progress != NULL) call.progress = tell_progress;
    if (!is_launched && rt_events_are_kept(context->events)) {
        call.ran = record_turns;
        run->row =
            api_worker_rows(context, place->address, rt_pool_threads(call.team->pool));
    }
    RtSpan span = rt_span_open(context->events);
    uint64_t began = clock_ns();
    exec_call(&call, end);
    double seconds = (double)(clock_ns() - began) * 1e-9;
    place->load += seconds;
    run->kernel->seconds[number] = seconds;
    record(run, place, span, began, end->status == EXEC_OK);
}

// ---- a call -------------------------------------------------------------------------

void api_kernel_run(ApiEngine *engine, EngineKernel *kernel, const InterpOffer *offer,
                    InterpError *error_out) {
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
        if (!is_broken || !has_another(run.context)) return;
        leave(run.context, place);
    }
}
