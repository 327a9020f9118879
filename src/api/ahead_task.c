// SPDX-License-Identifier: Apache-2.0
//
// A call of a kernel as a task (ahead_task.h): made with promises of its results, and
// run in the line of a place, which keeps them.
#include "api/ahead.h"

#include <string.h>

#include "api/ahead_task.h"
#include "base/clock.h"

ApiTask *api_task_of(const RtErrand *errand) {
    return (ApiTask *)(uintptr_t)errand; // its first member
}

void api_task_release_args(ApiTask *task) {
    for (uint32_t i = 0; i < task->arg_count; i++) {
        rt_release(&task->context->heap, task->run.offer.args[i].array);
        task->run.offer.args[i].array = NULL;
    }
}

void api_task_free(ApiTask *task) {
    if (task == NULL) return;
    WeftContext *context = task->context;
    api_task_release_args(task);
    for (uint32_t i = 0; i < task->result_count; i++) {
        rt_release(&context->heap, task->promised[i]);
        rt_release(&context->heap, task->lays[i].whole);
    }
    mem_free(&context->mem, task, task->size);
}

bool api_task_has_args(const ApiTask *task) {
    for (uint32_t i = 0; i < task->arg_count; i++) {
        const RtArray *a = task->run.offer.args[i].array;
        if (a != NULL && a->maker != NULL) return false;
    }
    return true;
}

static bool is_ready(const RtErrand *base) {
    const ApiTask *task = api_task_of(base);
    return !task->context->places[base->line].is_halted && api_task_has_args(task);
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

// Of what lies in parts, each counts.
static void count_edges(ApiEdges *edges, const RtArray *a, uint32_t line) {
    const RtArray *owner = a->base != NULL ? a->base : a;
    for (const RtPiece *piece = owner->pieces; piece != NULL; piece = piece->next)
        count_edges(edges, piece->part, line);
    if (owner->made_in == 0) return;
    edges->all++;
    edges->crossing += owner->made_in != line + 1;
}

static void keep_promises(ApiTask *task) {
    size_t *made = task->run.kernel->at[task->errand.line].made;
    for (uint32_t i = 0; i < task->result_count; i++) {
        const RtValue *result = &task->run.offer.results[i];
        RtArray *promised = task->promised[i];
        promised->made_in = task->errand.line + 1;
        if (result->rank > 0) {
            made[i] = (size_t)rt_count(result->array) * scalar_info[result->elem].bytes;
            rt_keep_promise(&task->context->heap, promised, result->array);
        } else {
            promised->bits = result->bits;
            promised->maker = NULL;
        }
    }
}

static ApiTask *task_of_run(void *data) {
    return (ApiTask *)(void *)((char *)data - offsetof(ApiTask, run));
}

static void note_progress(void *data, int64_t done, int64_t total) {
    ApiTask *task = task_of_run(data);
    atomic_store_explicit(&task->done, done, memory_order_relaxed);
    atomic_store_explicit(&task->total, total, memory_order_relaxed);
}

static ApiSender *sender_of(const ApiTask *task) {
    return task->context->places[task->errand.line].sender;
}

static size_t room(void *data) {
    return api_sender_room(sender_of(task_of_run(data)));
}

static bool note_work(void *data, bool begins) {
    return api_sender_note(sender_of(task_of_run(data)), begins);
}

// What the first run on a device took tells nothing: code is loaded then, or compiled;
// not by cores that take a chunk over, after their own.
static void note_time(const ApiTask *task, const ApiPlace *place, bool is_first) {
    static const double loaded = 5e-3;
    uint32_t line = task->errand.line;
    const FissionPiece *piece = task->piece;
    double seconds = task->run.kernel->at[line].seconds;
    bool is_taken = piece != NULL && piece->device != line;
    bool is_told =
        !is_first || (!api_is_launched(place) && (is_taken || seconds > loaded));
    if (piece != NULL && (piece->device == line || piece->is_chunk) && is_told)
        api_shares_note(task->run.program->engine->shares, piece, task->cut, line,
                        seconds);
}

// A place that was idle may have taken it over.
static void book_here(ApiTask *task, ApiPlace *place) {
    if (task->booked == task->errand.line) return;
    if (task->booked != API_NOWHERE) place->taken++;
    api_ahead_book(task, task->errand.line);
}

// What ends the run early. While the host runs something itself, it looks at nothing
// else: whoever cancels the call, or fails before, has to end that.
static const atomic_bool *open_end(const ApiTask *task, ApiPlace *place) {
    WeftContext *context = task->context;
    atomic_bool *end = api_is_beside(context) ? &place->cancel : &context->stop;
    atomic_store(end, false);
    if (atomic_load(&context->cancel)) atomic_store(end, true);
    return end;
}

static void stop_host(const ApiTask *failed) {
    WeftContext *context = failed->context;
    unsigned line = rt_queue_hosted(context->ahead->queue);
    if (!api_is_beside(context) || line == RT_NO_LINE) return;
    if (rt_queue_running(context->ahead->queue, line) > failed->errand.number)
        atomic_store(&context->stop, true);
}

// As RtErrand.run, in the thread of its line; or in the host's, if it is to run alone.
static bool run(RtErrand *base) {
    ApiTask *task = api_task_of(base);
    WeftContext *context = task->context;
    ApiPlace *place = &context->places[base->line];
    book_here(task, place);
    place->task = task;
    task->began = clock_ns();
    task->run.cancel = open_end(task, place);
    for (uint32_t i = 0; i < task->arg_count; i++)
        if (task->run.offer.args[i].array != NULL)
            count_edges(&context->ahead->edges, task->run.offer.args[i].array,
                        base->line);
    take_scalars(context, task->run.offer.args, task->arg_count);
    task->books = exec_with_books(api_exec_at(task->run.kernel, place), task->slots);
    bool is_first = task->run.kernel->at[base->line].seconds == 0;
    api_kernel_run_at(&task->run, place, &task->end);
    api_ahead_unbook(task);
    place->task = NULL;
    place->is_halted = task->end.status == EXEC_BROKEN && api_is_launched(place);
    if (task->end.status == EXEC_FAULT) stop_host(task);
    if (task->end.status != EXEC_OK) return false;
    note_time(task, place, is_first);
    api_task_release_args(task); // an array that the kernel took has one owner now
    keep_promises(task);
    api_task_free(task);
    return true;
}

void api_task_copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0) memcpy(to, from, bytes);
}

// Wherever it runs.
static size_t books_size(const EngineKernel *kernel) {
    size_t size = exec_books_size(&kernel->exec);
    size_t launched = exec_books_size(&kernel->launched_exec);
    return launched > size ? launched : size;
}

// One block for the task and all that it needs.
ApiTask *api_task_alloc(ApiEngine *engine, const InterpOffer *offer, uint32_t args,
                        uint32_t results, EngineKernel *kernel) {
    WeftContext *context = engine->program->context;
    size_t books = kernel != NULL ? books_size(kernel) : 0;
    size_t size = sizeof(ApiTask) + (args + results) * sizeof(RtValue) + books +
                  results * (sizeof(RtLay) + sizeof(RtArray *)) +
                  offer->call_count * sizeof(CoreLoc) + args * sizeof(bool);
    ApiTask *task = mem_try_alloc(&context->mem, size);
    if (task == NULL) return NULL;
    memset(task, 0, size);
    task->context = context;
    task->size = size;
    task->booked = API_NOWHERE;
    task->arg_count = args;
    task->result_count = results;
    task->run.program = engine->program;
    task->run.kernel = kernel;
    task->run.offer = *offer;
    task->run.offer.args = (RtValue *)(task + 1); // the widest first
    task->run.offer.results = task->run.offer.args + args;
    task->lays = (RtLay *)(task->run.offer.results + results);
    task->run.offer.lays = task->lays;
    task->promised = (RtArray **)(task->lays + results);
    task->slots = (uint64_t *)(task->promised + results);
    task->run.books = &task->books;
    task->calls = (CoreLoc *)(task->slots + books / sizeof *task->slots);
    task->call_count = offer->call_count;
    api_task_copy(task->calls, offer->calls, offer->call_count * sizeof *task->calls);
    for (uint32_t i = 0; i < args; i++) {
        task->run.offer.args[i] = offer->args[i];
        if (offer->args[i].array != NULL) rt_retain(offer->args[i].array);
    }
    return task;
}

static void note_taking(ApiTask *task, const bool *from) {
    bool *may_take = (bool *)(task->calls + task->call_count);
    api_task_copy(may_take, from, task->arg_count * sizeof *may_take);
    task->run.may_take = may_take;
}

static bool make_promises(ApiTask *task) {
    const LoopKernel *loop = task->run.kernel->loop;
    for (uint32_t i = 0; i < task->result_count; i++) {
        CoreType type = loop->results[i].type;
        uint32_t rank = type.rank > 0 ? type.rank : 1;
        RtArray *a = rt_promise(&task->context->heap, (ScalarType)type.elem, rank,
                                &task->errand);
        if (a == NULL) return false;
        task->promised[i] = a;
    }
    return true;
}

// The offer gets what the task promises.
static void hand_over(ApiTask *task, const InterpOffer *offer) {
    const LoopKernel *loop = task->run.kernel->loop;
    for (uint32_t i = 0; i < task->result_count; i++) {
        CoreType type = loop->results[i].type;
        if (offer->lays != NULL) task->lays[i] = offer->lays[i];
        if (task->lays[i].whole != NULL) rt_retain(task->lays[i].whole);
        offer->results[i] = (RtValue){.elem = (ScalarType)type.elem,
                                      .rank = type.rank,
                                      .array = rt_retain(task->promised[i])};
    }
}

ApiTask *api_task_new(ApiEngine *engine, EngineKernel *kernel,
                      const InterpOffer *offer) {
    const LoopKernel *loop = kernel->loop;
    ApiTask *task =
        api_task_alloc(engine, offer, loop->param_count, loop->result_count, kernel);
    if (task == NULL) return NULL;
    if (!make_promises(task)) {
        api_task_free(task);
        return NULL;
    }
    note_taking(task, offer->may_take);
    task->errand.is_ready = is_ready;
    task->errand.run = run;
    task->run.progress = note_progress;
    task->run.room = room;
    task->run.at_work = note_work;
    if (!engine->program->decisions.is_stream) // whose parts are nobody's share
        task->piece = fission_find_piece(&engine->program->decisions, offer->loc);
    if (task->piece != NULL) task->cut = api_shares_cut(engine->shares, task->piece);
    bool is_chunk =
        task->piece != NULL && task->piece->is_chunk && task->piece->is_timed;
    if (is_chunk) task->errand.gain = api_ahead_gain;
    hand_over(task, offer);
    return task;
}
