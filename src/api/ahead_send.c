// SPDX-License-Identifier: Apache-2.0
//
// What the next tasks of a line need travels while its device is at work
// (ahead_task.h), by a thread of its own: who waits for a launch goes on when that
// ends, and waits for what is still on its way only if the next one needs it.
#include "api/ahead_task.h"
#include "base/thread.h"
#include "plan/plan.h"

// Of a line whose device is launched on.
struct ApiSender {
    WeftContext *context;
    uint32_t line;
    bool is_at_work; // the device, on a launch that the line waits for
    bool is_full;    // there was no memory for what came next
    bool is_sending;
    bool has_failed; // the device did, and the line has yet to be told
    bool is_over;
    pthread_t thread;
};

static Device *device_of(const ApiSender *sender) {
    return sender->context->places[sender->line].device;
}

// ---- what to send -------------------------------------------------------------------

enum { MOST = 8 };

typedef struct Next {
    RtArray *arrays[MOST];
    uint32_t count;
} Next;

static void add(Next *next, RtArray *a) {
    for (uint32_t i = 0; i < next->count; i++)
        if (next->arrays[i] == a) return;
    if (next->count < MOST) next->arrays[next->count++] = a;
}

// Adds what the task needs there and the host has. A kernel overwrites what it takes in
// a copy of its own.
static void add_args(Next *next, const ApiTask *task, const ApiPlace *place) {
    if (task->run.kernel == NULL) return;
    const LoopPort *params = api_exec_at(task->run.kernel, place)->loop->params;
    for (uint32_t i = 0; i < task->arg_count; i++) {
        const RtValue *arg = &task->run.offer.args[i];
        bool is_there = arg->rank > 0 && arg->array->maker == NULL;
        if (is_there && !params[i].is_owned && rt_is_contiguous(arg->array) &&
            rt_wants_early(arg->array, place->device))
            add(next, arg->array);
    }
}

// What the next tasks of the line need that can be sent early.
static Next find_next(const ApiSender *sender) {
    const WeftContext *context = sender->context;
    const ApiPlace *place = &context->places[sender->line];
    const RtErrand *errand = rt_queue_waiting(context->ahead->queue, sender->line);
    Next next = {.count = 0};
    if (place->is_halted) return next;
    for (int i = 0; i < PLAN_AHEAD && errand != NULL; i++, errand = errand->next)
        add_args(&next, api_task_of(errand), place);
    return next;
}

// ---- the line's side ----------------------------------------------------------------

size_t api_sender_room(const ApiSender *sender) {
    enum { EDGE = 256 }; // where the next one can begin
    Next next = find_next(sender);
    size_t bytes = 0;
    for (uint32_t i = 0; i < next.count; i++)
        bytes += rt_bytes_to_send(next.arrays[i], device_of(sender)) + EDGE;
    return bytes;
}

bool api_sender_note(ApiSender *sender, bool begins) {
    bool has_failed = sender->has_failed;
    sender->is_at_work = begins;
    sender->is_full = false;
    sender->has_failed = false;
    if (begins) rt_turn_tell(sender->context->heap.turn);
    return !has_failed;
}

bool api_sender_is_idle(const ApiSender *sender) {
    return sender == NULL || !sender->is_sending;
}

// ---- the thread ---------------------------------------------------------------------

static RtArray *find_work(const ApiSender *sender) {
    if (!sender->is_at_work || sender->is_full) return NULL;
    Next next = find_next(sender);
    return next.count > 0 ? next.arrays[0] : NULL;
}

static bool has_work(const void *data) {
    const ApiSender *sender = data;
    return sender->is_over || find_work(sender) != NULL;
}

static void send(ApiSender *sender, RtArray *a) {
    WeftContext *context = sender->context;
    sender->is_sending = true;
    RtEarly end = rt_send_early(&context->heap, a, device_of(sender));
    sender->is_sending = false;
    sender->is_full = end != RT_EARLY_SENT;
    if (end == RT_EARLY_FAILED && device_of(sender)->has_failed)
        sender->has_failed = true;
    rt_turn_tell(context->heap.turn);
}

static void *serve(void *arg) {
    ApiSender *sender = arg;
    RtTurn *turn = rt_queue_turn(sender->context->ahead->queue);
    rt_turn_take(turn);
    while (!sender->is_over) {
        RtArray *next = find_work(sender);
        if (next != NULL) send(sender, next);
        else rt_turn_wait(turn, has_work, sender, -1);
    }
    rt_turn_give(turn);
    return NULL;
}

ApiSender *api_sender_new(WeftContext *context, uint32_t line) {
    ApiSender *sender = mem_try_alloc(&context->mem, sizeof *sender);
    if (sender == NULL) return NULL;
    *sender = (ApiSender){.context = context, .line = line};
    if (thread_start(&sender->thread, serve, sender)) return sender;
    mem_free(&context->mem, sender, sizeof *sender);
    return NULL;
}

void api_sender_free(ApiSender *sender) {
    if (sender == NULL) return;
    RtTurn *turn = sender->context->heap.turn;
    rt_turn_take(turn);
    sender->is_over = true;
    rt_turn_tell(turn);
    rt_turn_give(turn);
    pthread_join(sender->thread, NULL);
    mem_free(&sender->context->mem, sender, sizeof *sender);
}
