// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel that has been taken: run at a place, and how it ended.
#define _POSIX_C_SOURCE 200809L
#include "api/engine.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "core/messages.h"
#include "opt/opt.h"

static const char *name_of(const KernelRun *run) {
    return core_op_info[core_kernel_op(run->kernel->fun)].name;
}

// ---- while it runs ------------------------------------------------------------------

static void tell_progress(void *data, int64_t done, int64_t total) {
    const KernelRun *run = data;
    if (!api_is_progress_due(run->program->context)) return;
    double fraction = total > 0 ? (double)done / (double)total : -1;
    api_progress_at(run->program, run->offer.loc, fraction < 1 ? fraction : 1);
}

// Records the turns of a worker as one piece, as long as they follow each other.
static void record_turns(void *data, unsigned worker, uint64_t loop_began,
                         uint64_t began, int64_t turns) {
    const KernelRun *run = data;
    rt_event_piece(run->program->context->events, run->row + worker, RT_EVENT_LOOP,
                   name_of(run), loop_began, began, clock_ns(), (uint64_t)turns,
                   run->offer.loc);
}

// ---- failures -----------------------------------------------------------------------

// Where that is in the kernel that was called, of which another one has the code.
static CoreLoc place_of(const KernelRun *run, const LoopStm *stm) {
    const CoreFun *fun = run->kernel->fun, *called = run->offer.kernel;
    return called == fun ? stm->loc
                         : opt_place_in(run->program->core, fun, called, stm->loc,
                                        &run->program->context->scratch);
}

static void tell_fault(const KernelRun *run, const ExecEnd *end, InterpError *error) {
    Arena *arena = &run->program->context->scratch;
    error->status = STATUS_RUNTIME;
    error->message = STR("a check failed on the device, which lost account of which");
    const LoopStm *check = end->check;
    if (check == NULL) return;
    ScalarType types[KERNEL_FAULT_VALUES];
    for (uint32_t i = 1; i < check->arg_count; i++)
        types[i - 1] =
            (ScalarType)run->books->loop->values.data[check->args[i]].type.elem;
    StrBuf text = strbuf(arena);
    core_fill_in(&text, check->text, check->arg_count - 1, types, end->values);
    error->loc = place_of(run, check);
    error->message = strbuf_done(&text);
    error->call_count = end->call_count;
    error->calls = arena_array(arena, CoreLoc, error->call_count);
    for (uint32_t i = 0; i < error->call_count; i++)
        error->calls[i] = place_of(run, end->calls[i]);
}

void api_kernel_tell(const KernelRun *run, const ExecEnd *end, InterpError *error) {
    StrBuf text = strbuf(&run->program->context->scratch);
    *error = (InterpError){.loc = run->offer.loc};
    switch (end->status) {
    case EXEC_OK: error->status = STATUS_OK; return;
    case EXEC_FAULT: tell_fault(run, end, error); return;
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
        return; // of which device, api_call says
    }
}

// ---- how long it takes --------------------------------------------------------------

// By what it took in that many calls elsewhere, of which some tell nothing.
static double seconds_elsewhere(const WeftContext *context, const EngineKernel *kernel,
                                uint32_t place, uint32_t calls, bool by_cores) {
    double weight = api_place_weight(context, &context->places[place]);
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *other = &context->places[i];
        if (i == place || kernel->at[i].calls < calls) continue;
        if (by_cores && api_is_launched(other)) continue;
        return kernel->at[i].seconds * api_place_weight(context, other) / weight;
    }
    return 0;
}

// What was told is half forgotten later if the kernel has come back, and it was true.
static void note_lasting(const WeftContext *context, EngineKernel *kernel,
                         uint32_t place, double seconds) {
    enum { FIRST = 4, MOST = 1 << 16 };
    static const double longer = 1.25;
    KernelAt *at = &kernel->at[place];
    double there = seconds_elsewhere(context, kernel, place, 2, true);
    bool is_longer = there > 0 && seconds > longer * there;
    if (!is_longer || at->lasts == 0) at->lasts = FIRST;
    else if (at->since >= at->lasts && at->lasts < MOST) at->lasts *= 2;
}

void api_kernel_note(const WeftContext *context, EngineKernel *kernel, uint32_t place,
                     double seconds) {
    KernelAt *at = &kernel->at[place];
    note_lasting(context, kernel, place, seconds);
    for (uint32_t i = 0; i < context->place_count; i++) kernel->at[i].since++;
    at->since = 0;
    at->seconds = seconds;
    at->calls++;
}

// One call of cores may have been disturbed. If that were believed for good, it might
// never run there again: it is half believed, and the less the more there are
// elsewhere.
static double doubt(const KernelAt *at, double there) {
    double halves = 1;
    if (at->lasts > 0) halves += (double)at->since / at->lasts;
    return there + (at->seconds - there) * exp2(-halves);
}

double api_kernel_seconds(const WeftContext *context, const EngineKernel *kernel,
                          uint32_t place) {
    const KernelAt *at = &kernel->at[place];
    double here = at->seconds, there;
    if (at->calls > 1) {
        if (api_is_launched(&context->places[place])) return here;
        there = seconds_elsewhere(context, kernel, place, 2, true);
        return there > 0 && there < here ? doubt(at, there) : here;
    }
    // The first call there took what it takes to load the code, too.
    there = seconds_elsewhere(context, kernel, place, here > 0 ? 2 : 1, false);
    return there > 0 && (here == 0 || there < here) ? there : here;
}

// ---- a call -------------------------------------------------------------------------

// Whether anybody asks how long it took; a look at the clock is a tenth of a short
// call.
static bool is_timed(const WeftContext *context, const ApiPlace *place) {
    return context->place_count > 1 || api_is_launched(place) || place->speed < 1 ||
           rt_events_are_kept(context->events);
}

static void record(const KernelRun *run, ApiPlace *place, RtSpan span, uint64_t began,
                   bool has_results) {
    WeftContext *context = run->program->context;
    api_record_kernel(context, span, &run->offer, has_results);
    if (rt_events_are_kept(context->events) && api_place_has_row(place))
        rt_event(context->events, api_place_row(context, place), RT_EVENT_KERNEL,
                 name_of(run), began, clock_ns(), 0, 0, run->offer.loc);
}

enum { LATE_NS = 100000 }; // how long after its time a sleeper may wake

double api_kernel_owes(double owed, double speed, double worked, double passed) {
    owed += worked / speed - passed;
    return owed < -LATE_NS ? -LATE_NS : owed; // others had its core
}

// Sleeps, and for the last bit looks at the clock, until a slow place would have done
// what it has, in small pieces: until then it has no results. What is too little to
// give the turn for is owed until more has come together, and what was waited too long
// counts for the next time.
static void slow_down(const KernelRun *run, ApiPlace *place, double worked,
                      double passed) {
    enum { PIECE_NS = 5000000, LEAST_OWED_NS = 5000 };
    RtTurn *turn = run->program->context->heap.turn;
    place->owed = api_kernel_owes(place->owed, place->speed, worked, passed);
    if (place->owed < LEAST_OWED_NS) return;
    rt_turn_give(turn);
    for (uint64_t since = clock_ns(), now;
         place->owed >= 1 && !atomic_load(run->cancel); since = now) {
        double asleep = place->owed - LATE_NS;
        long piece = asleep < PIECE_NS ? (long)asleep : PIECE_NS;
        if (piece > 0) nanosleep(&(struct timespec){.tv_nsec = piece}, NULL);
        else thread_pause();
        now = clock_ns();
        place->owed = api_kernel_owes(place->owed, 1, 0, (double)(now - since));
    }
    rt_turn_take(turn);
}

// The work of a place of one thread is what that has computed, which another may have
// kept from its core meanwhile; of several nobody knows.
static uint64_t work_clock(const ApiPlace *place) {
    return place->threads == 1 ? clock_thread_ns() : clock_ns();
}

void api_kernel_run_at(KernelRun *run, ApiPlace *place, ExecEnd *end) {
    WeftContext *context = run->program->context;
    uint32_t number = (uint32_t)(place - context->places);
    ExecCall call = {.kernel = run->books,
                     .heap = &context->heap,
                     .args = run->offer.args,
                     .may_take = run->may_take,
                     .results = run->offer.results,
                     .lays = run->offer.lays,
                     .device = place->device,
                     .cancel = run->cancel,
                     .room = run->room,
                     .at_work = run->at_work,
                     .data = run};
    bool is_launched = api_is_launched(place);
    // What a device may lose, another may need.
    if (is_launched && context->place_count > 1) call.may_take = run->kernel->keeps;
    if (is_launched) call.code = run->kernel->launched->codes[number];
    else call.team = api_team(context, place);
    exec_end_init(end, EXEC_MEMORY);
    if (!is_launched && call.team == NULL) return;
    if (context->options.progress != NULL) call.progress = run->progress;
    if (!is_launched && rt_events_are_kept(context->events)) {
        call.ran = record_turns;
        run->row =
            api_worker_rows(context, place->address, rt_pool_threads(call.team->pool));
    }
    RtSpan span = rt_span_open(context->events);
    bool has_clock = is_timed(context, place);
    bool is_slow = place->speed < 1;
    uint64_t began = has_clock ? clock_ns() : 0, work = is_slow ? work_clock(place) : 0;
    exec_call(&call, end);
    if (is_slow)
        slow_down(run, place, (double)(work_clock(place) - work),
                  (double)(clock_ns() - began));
    if (has_clock)
        api_kernel_note(context, run->kernel, number,
                        (double)(clock_ns() - began) * 1e-9);
    record(run, place, span, began, end->status == EXEC_OK);
}

void api_kernel_run(ApiEngine *engine, EngineKernel *kernel, const InterpOffer *offer,
                    InterpError *error_out) {
    WeftContext *context = engine->program->context;
    ApiPlace *place = engine->alone != NULL ? engine->alone : &context->places[0];
    KernelRun run = {.program = engine->program,
                     .kernel = kernel,
                     .books = api_exec_at(kernel, place),
                     .offer = *offer,
                     .may_take = offer->may_take,
                     .cancel = &context->cancel,
                     .progress = tell_progress};
    ExecEnd end;
    api_kernel_run_at(&run, place, &end);
    api_kernel_tell(&run, &end, error_out);
}
