// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's side of calls that run beside it (ahead.h): where each goes, and
// what becomes of those that come back. A call that
//   - failed makes all later ones void; earlier ones run to their end, for one of them
//     may fail, too, and would have failed first;
//   - found no memory waits for all earlier ones and is tried once more, alone, and
//   then
//     where there is other memory;
//   - was on a device that is gone goes to another, and so does all that waited there.
#include "api/ahead.h"

#include <string.h>

#include "rt/queue.h"

enum { MOST_AHEAD = 64 }; // calls; what they make takes memory
enum { LOOK_MS = 10 };    // how often somebody looks whether to stop

// A call in a line. It holds references to its arguments, and to what it promised.
typedef struct ApiTask {
    RtErrand errand;
    WeftContext *context;
    KernelRun run;
    ExecKernel books;
    RtArray **promised; // by result
    RtLay *lays;        // by result; the wholes are retained
    CoreLoc *calls;     // where functions kept out of line were called
    uint32_t call_count;
    const FissionPiece *piece; // that it is of an operator; NULL: it is whole
    double seconds;            // predicted
    double given;              // what its place has been given, it included
    size_t size;               // of the block that all of it lies in
    ExecEnd end;
    _Atomic int64_t done, total; // turns of the loop that it is in
} ApiTask;

struct ApiAhead {
    WeftContext *context;
    RtQueue *queue;
    pthread_t host;
    ApiTask *failed; // the first of those that are known to have failed
    ApiTask *wants;  // memory: the first of those that are to be tried again
};

static ApiTask *task_of(const RtErrand *task) {
    return (ApiTask *)(uintptr_t)task; // its first member
}

bool api_is_beside(const WeftContext *context) {
    return context->ahead != NULL &&
           !pthread_equal(pthread_self(), context->ahead->host);
}

// ---- a task -------------------------------------------------------------------------

static uint32_t arg_count(const ApiTask *task) {
    return task->run.kernel->loop->param_count;
}

static uint32_t result_count(const ApiTask *task) {
    return task->run.kernel->loop->result_count;
}

static void release_args(ApiTask *task) {
    for (uint32_t i = 0; i < arg_count(task); i++) {
        rt_release(&task->context->heap, task->run.offer.args[i].array);
        task->run.offer.args[i].array = NULL;
    }
}

static void free_task(ApiTask *task) {
    if (task == NULL) return;
    WeftContext *context = task->context;
    release_args(task);
    for (uint32_t i = 0; i < result_count(task); i++) {
        rt_release(&context->heap, task->promised[i]);
        rt_release(&context->heap, task->lays[i].whole);
    }
    mem_free(&context->mem, task, task->size);
}

static bool is_ready(const RtErrand *base) {
    const ApiTask *task = task_of(base);
    if (task->context->places[base->line].is_halted) return false;
    for (uint32_t i = 0; i < arg_count(task); i++) {
        const RtArray *a = task->run.offer.args[i].array;
        if (a != NULL && a->maker != NULL) return false;
    }
    return true;
}

// Scalars that were promised, at last.
static void take_scalars(WeftContext *context, RtValue *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].rank > 0 || args[i].array == NULL) continue;
        args[i].bits = args[i].array->bits;
        rt_release(&context->heap, args[i].array);
        args[i].array = NULL;
    }
}

static void keep_promises(ApiTask *task) {
    for (uint32_t i = 0; i < result_count(task); i++) {
        const RtValue *result = &task->run.offer.results[i];
        RtArray *promised = task->promised[i];
        if (result->rank > 0) {
            rt_keep_promise(&task->context->heap, promised, result->array);
        } else {
            promised->bits = result->bits;
            promised->maker = NULL;
        }
    }
}

static void note_progress(void *data, int64_t done, int64_t total) {
    ApiTask *task = (ApiTask *)(void *)((char *)data - offsetof(ApiTask, run));
    atomic_store_explicit(&task->done, done, memory_order_relaxed);
    atomic_store_explicit(&task->total, total, memory_order_relaxed);
}

// What the first run on a device took tells nothing: code is loaded then, or compiled.
static void note_time(const ApiTask *task, const ApiPlace *place, bool is_first) {
    static const double loaded = 5e-3;
    double seconds = task->run.kernel->seconds[task->errand.line];
    bool is_told = !is_first || (!api_is_launched(place) && seconds > loaded);
    if (task->piece != NULL && task->piece->part == task->errand.line && is_told)
        api_shares_note(task->run.program->engine->shares, task->piece, seconds);
}

// In the thread of the line; or in the host's, if it is to run alone.
static bool run_task(RtErrand *base) {
    ApiTask *task = task_of(base);
    WeftContext *context = task->context;
    ApiPlace *place = &context->places[base->line];
    place->task = task;
    atomic_store(&place->cancel, atomic_load(&context->cancel));
    task->run.cancel = &place->cancel;
    take_scalars(context, task->run.offer.args, arg_count(task));
    bool is_first = task->run.kernel->seconds[base->line] == 0;
    api_kernel_run_at(&task->run, place, &task->end);
    place->load -= task->seconds;
    place->task = NULL;
    place->is_halted = task->end.status == EXEC_BROKEN && api_is_launched(place);
    if (task->end.status != EXEC_OK) return false;
    note_time(task, place, is_first);
    release_args(task); // an array that the kernel took has one owner now
    keep_promises(task);
    free_task(task);
    return true;
}

// Which may be none, from nowhere.
static void copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0) memcpy(to, from, bytes);
}

// One block for the task and all that it needs. NULL: no memory.
static ApiTask *new_task(WeftContext *context, EngineKernel *kernel,
                         const InterpOffer *offer) {
    uint32_t args = kernel->loop->param_count, results = kernel->loop->result_count;
    size_t books = exec_books_size(&kernel->exec);
    size_t size = sizeof(ApiTask) + (args + results) * sizeof(RtValue) + books +
                  results * (sizeof(RtLay) + sizeof(RtArray *)) +
                  offer->call_count * sizeof(CoreLoc) + args * sizeof(bool);
    ApiTask *task = mem_try_alloc(&context->mem, size);
    if (task == NULL) return NULL;
    memset(task, 0, size);
    task->context = context;
    task->size = size;
    task->errand = (RtErrand){.is_ready = is_ready, .run = run_task};
    task->run.kernel = kernel;
    task->run.offer = *offer;
    task->run.offer.args = (RtValue *)(task + 1); // the widest first
    task->run.offer.results = task->run.offer.args + args;
    task->lays = (RtLay *)(task->run.offer.results + results);
    task->run.offer.lays = task->lays;
    task->promised = (RtArray **)(task->lays + results);
    uint64_t *slots = (uint64_t *)(task->promised + results);
    task->books = exec_with_books(&kernel->exec, slots);
    task->run.books = &task->books;
    task->calls = (CoreLoc *)(slots + books / sizeof *slots);
    task->call_count = offer->call_count;
    copy(task->calls, offer->calls, offer->call_count * sizeof *task->calls);
    bool *may_take = (bool *)(task->calls + offer->call_count);
    copy(may_take, offer->may_take, args * sizeof *may_take);
    task->run.may_take = may_take;
    task->run.progress = note_progress;
    return task;
}

static bool make_promises(ApiTask *task) {
    const LoopKernel *loop = task->run.kernel->loop;
    for (uint32_t i = 0; i < result_count(task); i++) {
        CoreType type = loop->results[i].type;
        uint32_t rank = type.rank > 0 ? type.rank : 1;
        RtArray *a = rt_promise(&task->context->heap, (ScalarType)type.elem, rank,
                                &task->errand);
        if (a == NULL) return false;
        task->promised[i] = a;
    }
    return true;
}

static ApiTask *try_task(WeftContext *context, EngineKernel *kernel,
                         const InterpOffer *offer) {
    ApiTask *task = new_task(context, kernel, offer);
    if (task == NULL || make_promises(task)) return task;
    free_task(task);
    return NULL;
}

// ---- where it goes ------------------------------------------------------------------

// Seconds that the kernel will take there: as last time, or as it did elsewhere.
static double seconds_of(const WeftContext *context, const EngineKernel *kernel,
                         uint32_t place) {
    const double unknown = 1e-4;
    if (kernel->seconds[place] > 0) return kernel->seconds[place];
    for (uint32_t i = 0; i < context->place_count; i++)
        if (kernel->seconds[i] > 0) return kernel->seconds[i];
    return unknown;
}

// Moving the arguments there, and the kernel itself. Of what is promised only the maker
// is known: elsewhere it is as good as anywhere.
static double predict(const ApiTask *task, const ApiPlace *place, uint32_t number) {
    static const double bytes_per_second = 8e9, hop = 1e-5;
    double seconds = seconds_of(task->context, task->run.kernel, number);
    for (uint32_t i = 0; i < arg_count(task); i++) {
        const RtArray *a = task->run.offer.args[i].array;
        if (a == NULL) continue;
        if (a->maker == NULL)
            seconds += (double)rt_bytes_to_send(a, place->device) / bytes_per_second;
        else if (a->maker->line != number) seconds += hop;
    }
    return seconds;
}

// Seconds until a task that waits or runs is done: what its place has yet to do, but
// for what it was given later.
static double seconds_until(const WeftContext *context, const RtErrand *maker) {
    const ApiPlace *place = &context->places[maker->line];
    double seconds = place->load - (place->given - task_of(maker)->given);
    return seconds > 0 ? seconds : 0;
}

// Seconds until it could start there: when the place is free, and its arguments made.
static double seconds_before(const ApiTask *task, const ApiPlace *place) {
    double seconds = place->load;
    for (uint32_t i = 0; i < arg_count(task); i++) {
        const RtArray *a = task->run.offer.args[i].array;
        if (a == NULL || a->maker == NULL) continue;
        double made = seconds_until(task->context, a->maker);
        if (made > seconds) seconds = made;
    }
    return seconds;
}

// Where the task would be done first; among equals, where there was less to do so far.
// A part of an operator has its own place, as long as that is there.
static uint32_t choose_place(const WeftContext *context, const ApiTask *task) {
    uint32_t best = 0;
    double least = -1;
    if (task->piece != NULL && !context->places[task->piece->part].is_lost)
        return task->piece->part;
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *place = &context->places[i];
        if (place->is_lost) continue;
        double end = seconds_before(task, place) + predict(task, place, i);
        bool is_better = least < 0 || end < least ||
                         (end <= least && place->given < context->places[best].given);
        if (!is_better) continue;
        best = i;
        least = end;
    }
    return best;
}

static void put(ApiAhead *ahead, ApiTask *task) {
    WeftContext *context = ahead->context;
    uint32_t best = choose_place(context, task);
    ApiPlace *place = &context->places[best];
    task->seconds = predict(task, place, best);
    place->load += task->seconds;
    place->given += task->seconds;
    task->given = place->given;
    rt_queue_add(ahead->queue, &task->errand, best);
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
            place->load -= task_of(waiting)->seconds;
            free_task(task_of(waiting));
        }
        if (rt_queue_running(ahead->queue, i) >= number)
            atomic_store(&place->cancel, true);
    }
}

static void fail(ApiAhead *ahead, ApiTask *task) {
    ApiTask *first = ahead->failed;
    if (first != NULL && first->errand.number < task->errand.number) {
        free_task(task);
        return;
    }
    free_task(first);
    ahead->failed = task;
    if (ahead->wants != NULL && ahead->wants->errand.number > task->errand.number) {
        free_task(ahead->wants);
        ahead->wants = NULL;
    }
    set_hold(ahead);
    drop_from(ahead, task->errand.number);
}

static void try_later(ApiAhead *ahead, ApiTask *task) {
    ApiTask *other = ahead->wants;
    if (other != NULL && other->errand.number < task->errand.number) {
        put(ahead, task); // which the hold keeps from starting
        return;
    }
    ahead->wants = task;
    if (other != NULL) put(ahead, other);
    set_hold(ahead);
}

// Whether it can run again: its arguments are what they were.
static bool is_whole(const ApiTask *task) {
    const LoopKernel *loop = task->run.kernel->loop;
    bool takes = false;
    for (uint32_t i = 0; i < loop->param_count; i++)
        takes = takes || (loop->params[i].is_owned && task->run.may_take[i]);
    return !takes || !task->end.has_run;
}

static bool has_another(const WeftContext *context) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < context->place_count; i++)
        count += !context->places[i].is_lost;
    return count > 1;
}

// A device that failed is left; its arrays that are nowhere else are lost.
static void leave(ApiAhead *ahead, ApiPlace *place, unsigned line) {
    WeftContext *context = ahead->context;
    api_warn(context, "device %s failed and is not used any more: %s", place->address,
             place->device->why);
    place->is_lost = true;
    rt_leave(&context->heap, place->device);
    RtErrand *waiting;
    while ((waiting = rt_queue_withdraw(ahead->queue, line, RT_NO_ERRAND)) != NULL)
        put(ahead, task_of(waiting));
}

static void take_back(ApiAhead *ahead, ApiTask *task) {
    ApiPlace *place = &ahead->context->places[task->errand.line];
    bool may_run_elsewhere = api_is_launched(place) && has_another(ahead->context);
    if (ahead->failed != NULL && ahead->failed->errand.number < task->errand.number) {
        free_task(task);
    } else if (task->end.status == EXEC_MEMORY && is_whole(task)) {
        try_later(ahead, task);
    } else if (task->end.status == EXEC_BROKEN &&
               (place->is_lost || may_run_elsewhere)) {
        if (!place->is_lost) leave(ahead, place, task->errand.line);
        put(ahead, task);
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
        place->load += task->seconds;
        is_done = run_task(&task->errand);
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
    if (!run_task(&task->errand) && !run_elsewhere(ahead, task)) {
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
        take_back(ahead, task_of(back));
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

// What the host waits for: an array, or, if that is NULL, that no more calls than these
// are left.
typedef struct Need {
    const ApiAhead *ahead;
    const RtArray *array;
    uint32_t most;
} Need;

static bool is_met(const Need *need) {
    return need->array != NULL ? need->array->maker == NULL
                               : count_left(need->ahead) <= need->most;
}

// Whether the host is to look: it is what decides about those that came back.
static bool is_due(const void *data) {
    const Need *need = data;
    return is_met(need) || need->ahead->wants != NULL ||
           rt_queue_has_back(need->ahead->queue);
}

static void wait(const Need *need) {
    tell_progress(need->ahead);
    rt_turn_wait(rt_queue_turn(need->ahead->queue), is_due, need, LOOK_MS);
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
    rt_turn_yield(rt_queue_turn(ahead->queue));
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
        api_kernel_tell(&task->run, &context->places[task->errand.line], &task->end,
                        &inner);
        CoreLoc *calls = arena_array(&context->scratch, CoreLoc,
                                     inner.call_count + task->call_count);
        copy(calls, inner.calls, inner.call_count * sizeof *calls);
        copy(calls + inner.call_count, task->calls, task->call_count * sizeof *calls);
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
    if (ahead->failed != NULL) {
        tell_failure(ahead->failed, error);
        status = error->status;
        free_task(ahead->failed);
        ahead->failed = NULL;
        set_hold(ahead);
    }
    return atomic_load(&context->cancel) ? STATUS_CANCELLED : status;
}

// ---- for the engine -----------------------------------------------------------------

static const InterpBeside beside = {await, relieve, poll, finish};

WeftStatus api_ahead_open(WeftContext *context, const InterpBeside **beside_out) {
    *beside_out = NULL;
    if (context->place_count < 2) return WEFT_STATUS_OK;
    if (context->ahead == NULL) {
        ApiAhead *ahead = mem_alloc(&context->mem, sizeof *ahead);
        RtQueue *queue = rt_queue_new(&context->mem, context->place_count);
        *ahead = (ApiAhead){.context = context, .queue = queue};
        if (queue == NULL) {
            mem_free(&context->mem, ahead, sizeof *ahead);
            return api_fail(context, WEFT_STATUS_MEMORY,
                            "out of memory for devices, or of threads");
        }
        context->ahead = ahead;
        context->heap.turn = rt_queue_turn(queue);
    }
    context->ahead->host = pthread_self();
    *beside_out = &beside;
    return WEFT_STATUS_OK;
}

void api_ahead_close(WeftContext *context) {
    if (context->ahead == NULL) return;
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

// As long as memory is plenty. Beyond half of it calls go one by one.
static bool may_run_ahead(const ApiAhead *ahead) {
    const Mem *mem = &ahead->context->mem;
    uint32_t left = count_left(ahead);
    if (left == 0) return true;
    return left < MOST_AHEAD && (mem->limit == 0 || mem->used < mem->limit / 2);
}

static void refuse(const InterpOffer *offer, Status status, InterpError *error) {
    *error = (InterpError){
        .status = status, .loc = offer->loc, .message = STR("out of memory")};
}

void api_ahead_run(ApiEngine *engine, EngineKernel *kernel, const InterpOffer *offer,
                   InterpError *error_out) {
    WeftContext *context = engine->program->context;
    ApiAhead *ahead = context->ahead;
    while (!may_run_ahead(ahead)) {
        uint32_t left = count_left(ahead);
        uint32_t most = left < MOST_AHEAD ? left - 1 : MOST_AHEAD / 2;
        if (!wait_for(ahead, NULL, most))
            return refuse(offer, STATUS_RUNTIME, error_out);
    }
    ApiTask *task = try_task(context, kernel, offer);
    while (task == NULL && relieve(engine)) task = try_task(context, kernel, offer);
    if (task == NULL) return refuse(offer, STATUS_MEMORY, error_out);
    task->run.program = engine->program;
    task->piece = fission_find_piece(&engine->program->decisions, offer->loc);
    for (uint32_t i = 0; i < arg_count(task); i++) {
        RtValue *arg = &task->run.offer.args[i];
        *arg = offer->args[i];
        if (arg->array != NULL) rt_retain(arg->array);
    }
    for (uint32_t i = 0; i < result_count(task); i++) {
        CoreType type = kernel->loop->results[i].type;
        if (offer->lays != NULL) task->lays[i] = offer->lays[i];
        if (task->lays[i].whole != NULL) rt_retain(task->lays[i].whole);
        offer->results[i] = (RtValue){.elem = (ScalarType)type.elem,
                                      .rank = type.rank,
                                      .array = rt_retain(task->promised[i])};
    }
    put(ahead, task);
    error_out->status = STATUS_OK;
}
