// SPDX-License-Identifier: Apache-2.0
//
// Where a task goes, and which go elsewhere after all: by what places have yet to do,
// and what is known of how long tasks take (ahead_task.h).
#include "api/ahead_task.h"

#include "base/clock.h"

// Seconds that the kernel will take there: of a part, as others of its operator did;
// else as calls of it did. 0: nobody knows.
static double known_seconds(const ApiTask *task, uint32_t place) {
    const EngineKernel *kernel = task->run.kernel;
    if (kernel == NULL) return 0; // parts lie where they belong
    if (task->piece != NULL && task->piece->is_timed) {
        const ApiShares *shares = task->run.program->engine->shares;
        double seconds = api_shares_predict(shares, task->piece, task->cut, place);
        if (seconds > 0) return seconds;
    }
    return api_kernel_seconds(task->context, kernel, place);
}

static double seconds_of(const ApiTask *task, uint32_t place) {
    const double unknown = 1e-4;
    double seconds = known_seconds(task, place);
    return seconds > 0 ? seconds : unknown;
}

static double bytes_of(const RtArray *a, const ApiTask *task, uint32_t number);

// How much of what a task will make has to travel to that place: as much as its kernel
// made last time, unless that is where it is made.
static double bytes_promised(const RtArray *a, const ApiTask *task, uint32_t number) {
    const ApiTask *maker = api_task_of(a->maker);
    const ApiPlace *places = task->context->places;
    uint32_t line = maker->errand.line, k = 0;
    double bytes = 0;
    if (maker->run.kernel == NULL) {
        for (uint32_t i = 0; i < maker->arg_count; i++)
            bytes += bytes_of(maker->run.offer.args[i].array, task, number);
        return bytes;
    }
    bool is_there =
        line == number || (places[line].is_shared && places[number].is_shared);
    while (maker->promised[k] != a) k++;
    return is_there ? 0 : (double)maker->run.kernel->at[line].made[k];
}

// How much of the array has to travel to that place, as far as is known.
static double bytes_of(const RtArray *a, const ApiTask *task, uint32_t number) {
    if (a->maker != NULL) return bytes_promised(a, task, number);
    return (double)rt_bytes_to_send(a, task->context->places[number].device);
}

// Moving the arguments there, and the kernel itself.
static double predict(const ApiTask *task, uint32_t number) {
    static const double bytes_per_second = 8e9, hop = 1e-5;
    double seconds = seconds_of(task, number);
    for (uint32_t i = 0; i < task->arg_count; i++) {
        const RtArray *a = task->run.offer.args[i].array;
        if (a == NULL) continue;
        seconds += bytes_of(a, task, number) / bytes_per_second;
        if (a->maker != NULL && a->maker->line != number) seconds += hop;
    }
    return seconds;
}

// Seconds until a task that waits or runs is done: what its place has yet to do, but
// for what it was given later.
static double seconds_until(const WeftContext *context, const RtErrand *maker) {
    const ApiPlace *place = &context->places[maker->line];
    double seconds = place->load - (place->given - api_task_of(maker)->given);
    return seconds > 0 ? seconds : 0;
}

// Seconds until it could start there: when the place is free, and its arguments made.
static double seconds_before(const ApiTask *task, const ApiPlace *place) {
    double seconds = place->load;
    for (uint32_t i = 0; i < task->arg_count; i++) {
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
    if (task->piece != NULL && !context->places[task->piece->device].is_lost)
        return task->piece->device;
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *place = &context->places[i];
        if (place->is_lost) continue;
        double end = seconds_before(task, place) + predict(task, i);
        bool is_better = least < 0 || end < least ||
                         (end <= least && place->given < context->places[best].given);
        if (!is_better) continue;
        best = i;
        least = end;
    }
    return best;
}

void api_ahead_unbook(ApiTask *task) {
    if (task->booked == API_NOWHERE) return;
    task->context->places[task->booked].load -= task->seconds;
    task->booked = API_NOWHERE;
}

void api_ahead_book(ApiTask *task, uint32_t number) {
    ApiPlace *place = &task->context->places[number];
    api_ahead_unbook(task);
    task->seconds = predict(task, number);
    task->errand.seconds = known_seconds(task, number);
    place->load += task->seconds;
    place->given += task->seconds;
    task->given = place->given;
    task->booked = number;
}

void api_ahead_put(ApiAhead *ahead, ApiTask *task) {
    uint32_t best = choose_place(ahead->context, task);
    api_ahead_book(task, best);
    rt_queue_add(ahead->queue, &task->errand, best);
}

// ---- taking over --------------------------------------------------------------------

// How many times as long as expected a place takes for a part that it runs, if it has
// run none of that operator before: it will for others.
static double lateness(const ApiTask *running, uint32_t line, double passed,
                       double expected) {
    if (running->piece == NULL || passed < expected) return 1;
    const ApiShares *shares = running->run.program->engine->shares;
    return api_shares_has_run(shares, running->piece, line) ? 1 : passed / expected;
}

// Seconds until the place where the task waits would be done with it, as far as is
// known by now.
static double seconds_until_done(const ApiTask *task) {
    const WeftContext *context = task->context;
    uint32_t line = task->errand.line;
    const ApiPlace *place = &context->places[line];
    const ApiTask *running = place->task;
    double seconds = 0, late = 1;
    if (running != NULL) {
        double passed = (double)(clock_ns() - running->began) * 1e-9;
        double expected = seconds_of(running, line);
        late = lateness(running, line, passed, expected);
        if (passed < expected) seconds = expected - passed;
    }
    const RtErrand *waiting = rt_queue_waiting(context->ahead->queue, line);
    for (; waiting != &task->errand; waiting = waiting->next)
        seconds += predict(api_task_of(waiting), line) * late;
    return seconds + predict(task, line) * late;
}

// As long as the host makes tasks, who is idle may get some of its own.
double api_ahead_gain(const RtErrand *errand, unsigned line) {
    const ApiTask *task = api_task_of(errand);
    const WeftContext *context = task->context;
    const ApiPlace *place = &context->places[line];
    if (!context->ahead->is_waiting || place->is_lost || place->is_halted) return 0;
    return seconds_until_done(task) - predict(task, line);
}
