// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's side of calls that run beside it (ahead.h): what becomes of those
// that come back, and who waits for what. A call that
//   - failed makes all later ones void; earlier ones run to their end, for one of them
//     may fail, too, and would have failed first;
//   - found no memory waits for all earlier ones and is tried once more, alone, and
//     then where there is other memory;
//   - was on a device that is gone goes to another, and so does all that waited there.
#include "api/ahead.h"

#include <string.h>

#include "api/ahead_task.h"
#include "base/thread.h"

enum { MOST_AHEAD = 64 }; // calls; what they make takes memory
enum { LOOK_MS = 10 };    // how often somebody looks whether to stop

bool api_is_beside(const WeftContext *context) {
    return context->ahead != NULL &&
           !pthread_equal(pthread_self(), context->ahead->host);
}

// ---- what comes back ----------------------------------------------------------------

// Nothing from the first that failed, or wants memory, is started.
static void set_hold(const ApiAhead *ahead) {
    uint64_t hold = RT_NO_ERRAND;
    if (ahead->wants != NULL) hold = ahead->wants->errand.number;
    if (ahead->failed != NULL &&
        (hold == RT_NO_ERRAND || ahead->failed->errand.number < hold))
        hold = ahead->failed->errand.number;
    rt_queue_hold(ahead->queue, hold);
}

// Withdraws what waits from that number on, and stops what runs.
static void drop_from(ApiAhead *ahead, uint64_t number) {
    WeftContext *context = ahead->context;
    for (uint32_t i = 0; i < context->place_count; i++) {
        ApiPlace *place = &context->places[i];
        RtErrand *waiting;
        while ((waiting = rt_queue_withdraw(ahead->queue, i, number)) != NULL) {
            api_ahead_unbook(api_task_of(waiting));
            api_task_free(api_task_of(waiting));
        }
        if (rt_queue_running(ahead->queue, i) >= number)
            atomic_store(&place->cancel, true);
    }
}

static void fail(ApiAhead *ahead, ApiTask *task) {
    ApiTask *first = ahead->failed;
    if (first != NULL && first->errand.number < task->errand.number) {
        api_task_free(task);
        return;
    }
    api_task_free(first);
    ahead->failed = task;
    if (ahead->wants != NULL && ahead->wants->errand.number > task->errand.number) {
        api_task_free(ahead->wants);
        ahead->wants = NULL;
    }
    set_hold(ahead);
    drop_from(ahead, task->errand.number);
}

static void try_later(ApiAhead *ahead, ApiTask *task) {
    ApiTask *other = ahead->wants;
    if (other != NULL && other->errand.number < task->errand.number) {
        api_ahead_put(ahead, task); // which the hold keeps from starting
        return;
    }
    ahead->wants = task;
    if (other != NULL) api_ahead_put(ahead, other);
    set_hold(ahead);
}

// Whether it can run again: its arguments are what they were.
static bool is_whole(const ApiTask *task) {
    if (task->run.kernel == NULL) return true;
    const LoopPort *params = task->run.books->loop->params;
    bool takes = false;
    for (uint32_t i = 0; i < task->arg_count; i++)
        takes = takes || (params[i].is_owned && task->run.may_take[i]);
    return !takes || !task->end.has_run;
}

// Devices that failed are left, and what waits there goes to others. False: none has
// failed, or there is no other.
static bool leave_failed(ApiAhead *ahead) {
    WeftContext *context = ahead->context;
    bool any = false;
    for (ApiPlace *place; (place = api_failed_place(context)) != NULL; any = true) {
        if (!api_leave_place(context, place)) break;
        RtErrand *waiting;
        unsigned line = (unsigned)(place - context->places);
        while ((waiting = rt_queue_withdraw(ahead->queue, line, RT_NO_ERRAND)) != NULL)
            api_ahead_put(ahead, api_task_of(waiting));
    }
    return any;
}

// The same of those that failed in what was sent for tasks that were never run.
static void leave_silent(ApiAhead *ahead) {
    bool any = false;
    for (uint32_t i = 0; i < ahead->context->place_count; i++) {
        ApiSender *sender = ahead->context->places[i].sender;
        if (sender != NULL && !api_sender_note(sender, false)) any = true;
    }
    if (any) leave_failed(ahead);
}

static void take_back(ApiAhead *ahead, ApiTask *task) {
    ApiPlace *place = &ahead->context->places[task->errand.line];
    if (ahead->failed != NULL && ahead->failed->errand.number < task->errand.number) {
        api_task_free(task);
    } else if (task->end.status == EXEC_MEMORY && is_whole(task)) {
        try_later(ahead, task);
    } else if (task->end.status == EXEC_BROKEN &&
               (leave_failed(ahead) || place->is_lost)) {
        api_ahead_put(ahead, task);
    } else {
        fail(ahead, task);
    }
    place->is_halted = place->is_lost;
    set_hold(ahead); // which tells the line
}

// Runs it at each place that has other memory than where it was, until it finds some.
static bool run_elsewhere(ApiAhead *ahead, ApiTask *task) {
    WeftContext *context = ahead->context;
    unsigned home = task->errand.line;
    bool is_done = false;
    for (uint32_t i = 0; i < context->place_count && !is_done; i++) {
        ApiPlace *place = &context->places[i];
        bool has_other =
            api_is_launched(place) || api_is_launched(&context->places[home]);
        if (task->end.status != EXEC_MEMORY || !is_whole(task)) break;
        if (i == home || place->is_lost || !has_other) continue;
        task->errand.line = i;
        is_done = task->errand.run(&task->errand);
    }
    return is_done;
}

// Tries again what found no memory, when all before it has been done and nothing runs.
// Then it is as though there were no other devices.
static void try_alone(ApiAhead *ahead) {
    ApiTask *task = ahead->wants;
    if (task == NULL || rt_queue_busy(ahead->queue) > 0) return;
    uint64_t first = rt_queue_first(ahead->queue);
    if (first != RT_NO_ERRAND && first < task->errand.number) return;
    ahead->wants = NULL;
    if (!task->errand.run(&task->errand) && !run_elsewhere(ahead, task)) {
        if (task->end.status == EXEC_MEMORY) fail(ahead, task);
        else take_back(ahead, task);
    }
    set_hold(ahead);
}

// Looks at what came back. False: the run is to end.
static bool attend(ApiAhead *ahead) {
    RtErrand *back;
    if (ahead->failed == NULL && atomic_load(&ahead->context->cancel))
        drop_from(ahead, RT_NO_ERRAND);
    while ((back = rt_queue_back(ahead->queue)) != NULL)
        take_back(ahead, api_task_of(back));
    try_alone(ahead);
    return ahead->failed == NULL && !atomic_load(&ahead->context->cancel);
}

// ---- waiting ------------------------------------------------------------------------

static void tell_progress(const ApiAhead *ahead) {
    WeftContext *context = ahead->context;
    if (!api_is_progress_due(context)) return;
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiTask *task = context->places[i].task;
        if (task == NULL) continue;
        int64_t done = atomic_load_explicit(&task->done, memory_order_relaxed);
        int64_t total = atomic_load_explicit(&task->total, memory_order_relaxed);
        double fraction = total > 0 ? (double)done / (double)total : -1;
        api_progress_at(task->run.program, task->run.offer.loc,
                        fraction < 1 ? fraction : 1);
        return;
    }
}

static uint32_t count_left(const ApiAhead *ahead) {
    return rt_queue_count(ahead->queue) + (ahead->wants != NULL);
}

static void note_most(ApiAhead *ahead) {
    uint32_t left = count_left(ahead);
    if (left > ahead->edges.most_ahead) ahead->edges.most_ahead = left;
}

// What the host waits for: an array, or, if that is NULL, that no more calls than these
// are left.
typedef struct Need {
    ApiAhead *ahead;
    const RtArray *array;
    uint32_t most;
} Need;

// Whether nothing is on its way to a device for a later task.
static bool is_quiet(const WeftContext *context) {
    bool all = true;
    for (uint32_t i = 0; i < context->place_count; i++)
        all = all && api_sender_is_idle(context->places[i].sender);
    return all;
}

static bool is_met(const Need *need) {
    if (need->array != NULL) return need->array->maker == NULL;
    uint32_t left = count_left(need->ahead);
    return left <= need->most && (left > 0 || is_quiet(need->ahead->context));
}

// Whether the host is to look: it is what decides about those that came back.
static bool is_due(const void *data) {
    const Need *need = data;
    return is_met(need) || need->ahead->wants != NULL ||
           rt_queue_has_back(need->ahead->queue);
}

// Meanwhile it may run a call of its own, and places that are idle look what they can
// take over from others.
static void wait(const Need *need) {
    ApiAhead *ahead = need->ahead;
    tell_progress(ahead);
    ahead->is_waiting = true;
    rt_queue_wait(ahead->queue, is_due, need, LOOK_MS,
                  need->array != NULL ? &need->array->maker : NULL);
    ahead->is_waiting = false;
}

// False: the run is to end.
static bool wait_for(ApiAhead *ahead, const RtArray *array, uint32_t most) {
    Need need = {ahead, array, most};
    while (attend(ahead)) {
        if (is_met(&need)) return true;
        wait(&need);
    }
    return false;
}

static bool await(void *data, const RtArray *a) {
    const ApiEngine *engine = data;
    return wait_for(engine->program->context->ahead, a, 0);
}

// One call less, at least.
static bool relieve(void *data) {
    const ApiEngine *engine = data;
    ApiAhead *ahead = engine->program->context->ahead;
    uint32_t left = count_left(ahead);
    return left > 0 && wait_for(ahead, NULL, left - 1);
}

static bool poll(void *data) {
    const ApiEngine *engine = data;
    ApiAhead *ahead = engine->program->context->ahead;
    api_shares_move(engine->shares); // no row is being made
    rt_turn_yield(rt_queue_turn(ahead->queue));
    rt_queue_look(ahead->queue);
    return attend(ahead);
}

// Texts may find no memory; the run has ended, so nobody else could be told.
static void tell_failure(const ApiTask *task, InterpError *error) {
    WeftContext *context = task->context;
    jmp_buf recover, *outer = context->mem.recover;
    *error = (InterpError){.status = STATUS_MEMORY, .message = STR("out of memory")};
    context->mem.recover = &recover;
    if (setjmp(recover) == 0) {
        InterpError inner;
        api_kernel_tell(&task->run, &task->end, &inner);
        CoreLoc *calls = arena_array(&context->scratch, CoreLoc,
                                     inner.call_count + task->call_count);
        api_task_copy(calls, inner.calls, inner.call_count * sizeof *calls);
        api_task_copy(calls + inner.call_count, task->calls,
                      task->call_count * sizeof *calls);
        inner.calls = calls;
        inner.call_count += task->call_count;
        *error = inner;
    }
    context->mem.recover = outer;
}

static Status finish(void *data, Status status, InterpError *error) {
    const ApiEngine *engine = data;
    WeftContext *context = engine->program->context;
    ApiAhead *ahead = context->ahead;
    Need none_left = {ahead, NULL, 0};
    while (attend(ahead), !is_met(&none_left)) wait(&none_left);
    leave_silent(ahead);
    api_shares_move(engine->shares);
    if (ahead->failed != NULL) {
        tell_failure(ahead->failed, error);
        status = error->status;
        api_task_free(ahead->failed);
        ahead->failed = NULL;
        set_hold(ahead);
    }
    return atomic_load(&context->cancel) ? STATUS_CANCELLED : status;
}

// Whether wholes can be promised: all places have the host's memory, in which parts are
// made where they belong, or none has, and parts stay where they are.
static bool may_promise_wholes(const WeftContext *context) {
    bool all = true, any = false;
    for (uint32_t i = 0; i < context->place_count; i++) {
        all = all && context->places[i].is_shared;
        any = any || context->places[i].is_shared;
    }
    return all || (!any && api_has_room(context));
}

// As long as memory is plenty. Beyond half of it calls go one by one.
static bool may_run_ahead(const ApiAhead *ahead) {
    const Mem *mem = &ahead->context->mem;
    uint32_t left = count_left(ahead);
    if (left == 0) return true;
    return left < MOST_AHEAD && !ahead->is_orderly &&
           (mem->limit == 0 || mem->used < mem->limit / 2);
}

static bool join(void *data, const InterpOffer *parts, uint32_t count, RtArray *whole) {
    ApiEngine *engine = data;
    ApiAhead *ahead = engine->program->context->ahead;
    if (!may_promise_wholes(ahead->context) || !may_run_ahead(ahead)) return false;
    ApiTask *task = api_task_join(engine, parts, count, whole);
    if (task == NULL) return false;
    api_ahead_put(ahead, task);
    note_most(ahead);
    return true;
}

// ---- for the engine -----------------------------------------------------------------

static const InterpBeside beside = {join, await, relieve, poll, finish};

// One place that is not launched on has all calls to itself.
static bool has_lines(const WeftContext *context) {
    return context->place_count > 1 || api_has_launched(context);
}

static bool open_senders(WeftContext *context) {
    bool all = true;
    for (uint32_t i = 0; i < context->place_count && all; i++) {
        ApiPlace *place = &context->places[i];
        if (!api_is_launched(place)) continue;
        place->sender = api_sender_new(context, i);
        all = place->sender != NULL;
    }
    return all;
}

// Cores at full speed are the host's as well, while it waits. Who waits looks for a
// while before it sleeps if all threads have a core: but for one, whose work is the
// host's.
static void share_cores(const WeftContext *context, RtQueue *queue) {
    enum { SPIN_NS = 50000 };
    unsigned threads = 0, cores = thread_cores();
    RtTurn *turn = rt_queue_turn(queue);
    rt_turn_take(turn);
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *place = &context->places[i];
        if (api_is_launched(place)) continue;
        threads += place->threads != 0 ? place->threads : cores;
        if (place->speed >= 1) rt_queue_share(queue, i);
    }
    if (threads <= cores) rt_turn_spin(turn, SPIN_NS);
    rt_turn_give(turn);
}

static bool open_lines(WeftContext *context) {
    ApiAhead *ahead = mem_alloc(&context->mem, sizeof *ahead);
    RtQueue *queue = rt_queue_new(&context->mem, context->place_count);
    *ahead = (ApiAhead){.context = context, .queue = queue};
    if (queue == NULL) {
        mem_free(&context->mem, ahead, sizeof *ahead);
        return false;
    }
    share_cores(context, queue);
    context->ahead = ahead;
    context->heap.turn = rt_queue_turn(queue);
    if (open_senders(context)) return true;
    api_ahead_close(context);
    return false;
}

WeftStatus api_ahead_open(const ApiEngine *engine, const InterpBeside **beside_out) {
    WeftContext *context = engine->program->context;
    *beside_out = NULL;
    if (!has_lines(context)) return WEFT_STATUS_OK;
    if (context->ahead == NULL && !open_lines(context))
        return api_fail(context, WEFT_STATUS_MEMORY,
                        "out of memory for devices, or of threads");
    context->ahead->host = pthread_self();
    context->ahead->is_orderly = context->ahead->has_run = false;
    context->ahead->lost = api_lost_places(context);
    context->ahead->program = engine->program;
    context->ahead->edges = (ApiEdges){.waits = rt_queue_waits(context->ahead->queue)};
    if (engine->alone == NULL) *beside_out = &beside;
    return WEFT_STATUS_OK;
}

bool api_ahead_edges(const WeftProgram *program, ApiEdges *edges_out) {
    const ApiAhead *ahead = program->context->ahead;
    if (ahead == NULL || ahead->program != program) return false;
    *edges_out = ahead->edges;
    edges_out->waits = rt_queue_waits(ahead->queue) - ahead->edges.waits;
    return true;
}

bool api_is_ahead(const ApiEngine *engine) {
    return engine->program->context->ahead != NULL && engine->alone == NULL;
}

bool api_ahead_recover(WeftProgram *program) {
    ApiAhead *ahead = program->context->ahead;
    if (ahead == NULL || program->engine->has_traced) return false;
    leave_failed(ahead);
    uint32_t before = ahead->lost;
    ahead->lost = api_lost_places(ahead->context);
    return ahead->lost > before;
}

bool api_ahead_again(WeftProgram *program) {
    ApiAhead *ahead = program->context->ahead;
    if (ahead == NULL || ahead->is_orderly || !ahead->has_run) return false;
    if (program->engine->has_traced) return false;
    ahead->is_orderly = true;
    ahead->edges.most_ahead = 0;
    return true;
}

void api_ahead_close(WeftContext *context) {
    if (context->ahead == NULL) return;
    for (uint32_t i = 0; i < context->place_count; i++) {
        api_sender_free(context->places[i].sender);
        context->places[i].sender = NULL;
    }
    rt_queue_free(context->ahead->queue);
    mem_free(&context->mem, context->ahead, sizeof *context->ahead);
    context->ahead = NULL;
    context->heap.turn = NULL;
}

bool api_ahead_await(ApiEngine *engine, InterpOffer *offer) {
    RtValue *args = offer->args;
    uint32_t count = offer->kernel->body->param_count;
    for (uint32_t i = 0; i < count; i++)
        if (args[i].array != NULL && !await(engine, args[i].array)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].rank > 0 || args[i].array == NULL) continue;
        args[i].bits = args[i].array->bits;
        args[i].array = NULL; // which the interpreter holds
    }
    return true;
}

static void refuse(const InterpOffer *offer, Status status, InterpError *error) {
    *error = (InterpError){
        .status = status, .loc = offer->loc, .message = STR("out of memory")};
}

void api_ahead_run(ApiEngine *engine, EngineKernel *kernel, const InterpOffer *offer,
                   InterpError *error_out) {
    ApiAhead *ahead = engine->program->context->ahead;
    while (!may_run_ahead(ahead)) {
        uint32_t left = count_left(ahead);
        uint32_t most = left < MOST_AHEAD ? left - 1 : MOST_AHEAD / 2;
        if (!wait_for(ahead, NULL, most))
            return refuse(offer, STATUS_RUNTIME, error_out);
    }
    ApiTask *task = api_task_new(engine, kernel, offer);
    while (task == NULL && relieve(engine)) task = api_task_new(engine, kernel, offer);
    if (task == NULL) return refuse(offer, STATUS_MEMORY, error_out);
    ahead->has_run = ahead->has_run || count_left(ahead) > 0;
    api_ahead_put(ahead, task);
    note_most(ahead);
    error_out->status = STATUS_OK;
}
