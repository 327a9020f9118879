// SPDX-License-Identifier: Apache-2.0
//
// Turns as tickets (turn.h): a mutex alone would let a thread that gives and takes at
// once starve the others.
#define _POSIX_C_SOURCE 200809L
#include "rt/turn.h"

#include <time.h>

// A condition whose timed waits go by the clock that nobody sets.
static bool init_condition(pthread_cond_t *condition) {
    pthread_condattr_t kind;
    if (pthread_condattr_init(&kind) != 0) return false;
    bool is_made = pthread_condattr_setclock(&kind, CLOCK_MONOTONIC) == 0 &&
                   pthread_cond_init(condition, &kind) == 0;
    pthread_condattr_destroy(&kind);
    return is_made;
}

bool rt_turn_init(RtTurn *turn) {
    *turn = (RtTurn){.now = 0};
    if (pthread_mutex_init(&turn->lock, NULL) != 0) return false;
    if (init_condition(&turn->moved)) {
        if (init_condition(&turn->told)) return true;
        pthread_cond_destroy(&turn->moved);
    }
    pthread_mutex_destroy(&turn->lock);
    return false;
}

void rt_turn_free(RtTurn *turn) {
    pthread_cond_destroy(&turn->told);
    pthread_cond_destroy(&turn->moved);
    pthread_mutex_destroy(&turn->lock);
}

// Both with the lock.
static void queue_up(RtTurn *turn) {
    uint64_t ticket = turn->next++;
    while (turn->now != ticket) pthread_cond_wait(&turn->moved, &turn->lock);
}

static void pass_on(RtTurn *turn) {
    if (++turn->now != turn->next) pthread_cond_broadcast(&turn->moved);
}

void rt_turn_take(RtTurn *turn) {
    if (turn == NULL) return;
    pthread_mutex_lock(&turn->lock);
    queue_up(turn);
    pthread_mutex_unlock(&turn->lock);
}

void rt_turn_give(RtTurn *turn) {
    if (turn == NULL) return;
    pthread_mutex_lock(&turn->lock);
    pass_on(turn);
    pthread_mutex_unlock(&turn->lock);
}

void rt_turn_yield(RtTurn *turn) {
    // turn->now changes only when the turn is given.
    if (atomic_load_explicit(&turn->next, memory_order_relaxed) == turn->now + 1)
        return;
    pthread_mutex_lock(&turn->lock);
    pass_on(turn);
    queue_up(turn);
    pthread_mutex_unlock(&turn->lock);
}

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

void rt_turn_wait(RtTurn *turn, int ms) {
    struct timespec until = after(ms < 0 ? 0 : ms);
    pthread_mutex_lock(&turn->lock);
    uint64_t news = turn->news;
    bool is_late = false;
    pass_on(turn);
    while (turn->news == news && !is_late)
        is_late = ms < 0
                      ? pthread_cond_wait(&turn->told, &turn->lock) != 0
                      : pthread_cond_timedwait(&turn->told, &turn->lock, &until) != 0;
    queue_up(turn);
    pthread_mutex_unlock(&turn->lock);
}

void rt_turn_tell(RtTurn *turn) {
    pthread_mutex_lock(&turn->lock);
    turn->news++;
    pthread_cond_broadcast(&turn->told);
    pthread_mutex_unlock(&turn->lock);
}
