// SPDX-License-Identifier: Apache-2.0
//
// Turns (turn.h). Who has the turn gives it to the first who asked: a mutex alone would
// let a thread that gives and takes at once starve the others. Each who waits has a
// condition of its own, so nobody is woken to find that it is another's turn.
#define _POSIX_C_SOURCE 200809L
#include "rt/turn.h"

#include <time.h>

#include "base/clock.h"
#include "base/thread.h"

#ifndef RT_TURN_WHILE_NS
#define RT_TURN_WHILE_NS 50000 // how long is a while; tests may want less
#endif

struct RtWaiter {
    RtWaiter *next;
    bool (*is_due)(const void *data); // of who waits for news
    const void *data;
    uint64_t since; // when it asked for the turn
    pthread_cond_t wake;
    bool is_idle;   // waits for news
    bool is_asleep; // is to be woken by them, and asks for the turn itself
    bool has_asked;
    atomic_bool has_turn;
};

bool rt_turn_init(RtTurn *turn) {
    *turn = (RtTurn){.is_taken = false};
    if (pthread_mutex_init(&turn->lock, NULL) != 0) return false;
    // Timed waits go by the clock that nobody sets.
    if (pthread_condattr_init(&turn->monotonic) == 0) {
        if (pthread_condattr_setclock(&turn->monotonic, CLOCK_MONOTONIC) == 0)
            return true;
        pthread_condattr_destroy(&turn->monotonic);
    }
    pthread_mutex_destroy(&turn->lock);
    return false;
}

void rt_turn_free(RtTurn *turn) {
    pthread_condattr_destroy(&turn->monotonic);
    pthread_mutex_destroy(&turn->lock);
}

void rt_turn_spin(RtTurn *turn, uint64_t ns) {
    pthread_mutex_lock(&turn->lock);
    turn->spin_ns = ns;
    pthread_mutex_unlock(&turn->lock);
}

// ---- under the lock -----------------------------------------------------------------

static void ask(RtTurn *turn, RtWaiter *waiter) {
    waiter->next = NULL;
    waiter->has_asked = true;
    waiter->since = clock_ns();
    if (turn->first == NULL) turn->first = waiter;
    else turn->last->next = waiter;
    turn->last = waiter;
    atomic_fetch_add_explicit(&turn->asked, 1, memory_order_relaxed);
}

static void pass_on(RtTurn *turn) {
    RtWaiter *next = turn->first;
    turn->is_taken = next != NULL;
    if (next == NULL) return;
    turn->first = next->next;
    atomic_fetch_sub_explicit(&turn->asked, 1, memory_order_relaxed);
    atomic_store_explicit(&next->has_turn, true, memory_order_relaxed);
    pthread_cond_signal(&next->wake);
}

// Looks for a while, without the lock, whether it is given the turn.
static void look(RtTurn *turn, RtWaiter *self) {
    uint64_t most = turn->spin_ns;
    if (most == 0) return;
    pthread_mutex_unlock(&turn->lock);
    uint64_t since = clock_ns();
    while (!atomic_load_explicit(&self->has_turn, memory_order_relaxed) &&
           clock_ns() - since < most)
        thread_pause();
    pthread_mutex_lock(&turn->lock);
}

static void await(RtTurn *turn, RtWaiter *self) {
    look(turn, self);
    while (!self->has_turn) pthread_cond_wait(&self->wake, &turn->lock);
}

// Gives the turn if it has it, and waits until it comes round.
static void queue_up(RtTurn *turn, bool has_turn) {
    RtWaiter self = {.next = NULL};
    pthread_cond_init(&self.wake, NULL);
    ask(turn, &self);
    if (has_turn) pass_on(turn);
    await(turn, &self);
    pthread_cond_destroy(&self.wake);
}

// ---- turns --------------------------------------------------------------------------

void rt_turn_take(RtTurn *turn) {
    if (turn == NULL) return;
    pthread_mutex_lock(&turn->lock);
    if (turn->is_taken) queue_up(turn, false);
    turn->is_taken = true;
    pthread_mutex_unlock(&turn->lock);
}

void rt_turn_give(RtTurn *turn) {
    if (turn == NULL) return;
    pthread_mutex_lock(&turn->lock);
    pass_on(turn);
    pthread_mutex_unlock(&turn->lock);
}

void rt_turn_yield(RtTurn *turn) {
    if (atomic_load_explicit(&turn->asked, memory_order_relaxed) == 0) return;
    pthread_mutex_lock(&turn->lock);
    // Only who has the turn shortens the list.
    if (clock_ns() - turn->first->since >= RT_TURN_WHILE_NS) queue_up(turn, true);
    pthread_mutex_unlock(&turn->lock);
}

// ---- news ---------------------------------------------------------------------------

static struct timespec after(int ms) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

static void leave(RtTurn *turn, const RtWaiter *waiter) {
    RtWaiter **link = &turn->idle;
    while (*link != waiter) link = &(*link)->next;
    *link = waiter->next;
}

// Whether it is to sleep on: until it has the turn, or is to ask for it.
static bool sleeps(const RtWaiter *self) {
    return !self->has_turn && (self->is_idle || self->has_asked);
}

// Sleeps until news have come, or, if ms is not negative, no longer than that.
static void sleep_for(RtTurn *turn, RtWaiter *self, int ms) {
    struct timespec until = after(ms < 0 ? 0 : ms);
    bool is_late = false;
    self->is_asleep = turn->spin_ns > 0;
    while (sleeps(self) && ms < 0) pthread_cond_wait(&self->wake, &turn->lock);
    while (self->is_idle && !is_late && ms >= 0)
        is_late = pthread_cond_timedwait(&self->wake, &turn->lock, &until) != 0;
    self->is_asleep = false;
}

// Asks for the turn, unless who told news has done that for it.
static void ask_again(RtTurn *turn, RtWaiter *self) {
    if (self->has_turn || self->has_asked) return;
    if (self->is_idle) leave(turn, self);
    if (turn->is_taken) {
        ask(turn, self);
        return;
    }
    turn->is_taken = true;
    self->has_turn = true;
}

// Gives the turn and begins to wait for news; then it has the lock.
static void start_idling(RtTurn *turn, RtWaiter *self) {
    pthread_cond_init(&self->wake, &turn->monotonic);
    pthread_mutex_lock(&turn->lock);
    self->next = turn->idle;
    turn->idle = self;
    pass_on(turn);
}

static void stop_idling(RtTurn *turn, RtWaiter *self) {
    pthread_mutex_unlock(&turn->lock);
    pthread_cond_destroy(&self->wake);
}

void rt_turn_wait(RtTurn *turn, bool (*is_due)(const void *data), const void *data,
                  int ms) {
    RtWaiter self = {.is_due = is_due, .data = data, .is_idle = true};
    start_idling(turn, &self);
    sleep_for(turn, &self, ms);
    ask_again(turn, &self);
    await(turn, &self);
    stop_idling(turn, &self);
}

void rt_turn_watch(RtTurn *turn, bool (*is_due)(const void *data), const void *data) {
    RtWaiter self = {.is_due = is_due, .data = data, .is_idle = true};
    start_idling(turn, &self);
    look(turn, &self);
    ask_again(turn, &self);
    await(turn, &self);
    stop_idling(turn, &self);
}

void rt_turn_tell(RtTurn *turn) {
    pthread_mutex_lock(&turn->lock);
    for (RtWaiter **link = &turn->idle; *link != NULL;) {
        RtWaiter *waiter = *link;
        if (!waiter->is_due(waiter->data)) {
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        waiter->is_idle = false;
        if (waiter->is_asleep) pthread_cond_signal(&waiter->wake);
        else ask(turn, waiter);
    }
    pthread_mutex_unlock(&turn->lock);
}
