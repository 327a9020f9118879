// SPDX-License-Identifier: Apache-2.0
//
// The threads that references run on: the calling one and others, which wait for the
// next part spinning at first (so that a call costs about a microsecond) and then
// asleep, so that they disturb nobody who is measured next. One kind of threads for all
// compilers.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "suite.h"

enum { SPINS = 20000 };

typedef struct Member {
    pthread_t thread;
    BenchTeam *team;
    int me;
} Member;

struct BenchTeam {
    int threads;
    pthread_mutex_t mutex;
    pthread_cond_t called;
    BenchPart *part; // NULL: go home
    void *env;
    atomic_uint call;  // counts the parts
    atomic_int busy;   // members, besides the caller, that are not done
    atomic_int met;    // counts who came to bench_meet
    atomic_llong next; // of bench_next
    Member members[];
};

static void pause_a_bit(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

// Waits for a turn of the loop, the i-th: on a busy machine others must come to run.
static void wait_a_bit(int i) {
    if (i < SPINS) pause_a_bit();
    else sched_yield();
}

static void wait_for_call(BenchTeam *team, unsigned last) {
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&team->call) != last) return;
        pause_a_bit();
    }
    pthread_mutex_lock(&team->mutex);
    while (atomic_load(&team->call) == last)
        pthread_cond_wait(&team->called, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

static void *work(void *env) {
    Member *self = env;
    BenchTeam *team = self->team;
    for (unsigned last = 0;; last++) {
        wait_for_call(team, last);
        if (team->part == NULL) return NULL;
        team->part(team->env, self->me, team->threads);
        atomic_fetch_sub(&team->busy, 1);
    }
}

static void call(BenchTeam *team, BenchPart *part, void *env) {
    team->part = part;
    team->env = env;
    atomic_store(&team->busy, team->threads - 1);
    atomic_store(&team->met, 0);
    atomic_store(&team->next, 0);
    pthread_mutex_lock(&team->mutex);
    atomic_fetch_add(&team->call, 1);
    pthread_cond_broadcast(&team->called);
    pthread_mutex_unlock(&team->mutex);
}

void bench_team(BenchTeam *team, BenchPart *part, void *env) {
    call(team, part, env);
    part(env, 0, team->threads);
    for (int i = 0; atomic_load(&team->busy) > 0; i++) wait_a_bit(i);
}

int bench_threads(const BenchTeam *team) {
    return team->threads;
}

void bench_meet(BenchTeam *team) {
    int meeting = atomic_fetch_add(&team->met, 1) / team->threads + 1;
    for (int i = 0; atomic_load(&team->met) < meeting * team->threads; i++)
        wait_a_bit(i);
}

int64_t bench_next(BenchTeam *team) {
    return atomic_fetch_add(&team->next, 1);
}

BenchTeam *team_new(int threads) {
    BenchTeam *team =
        suite_alloc(sizeof *team + (size_t)threads * sizeof *team->members);
    team->threads = threads;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->called, NULL);
    for (int i = 1; i < threads; i++) {
        team->members[i] = (Member){.team = team, .me = i};
        if (pthread_create(&team->members[i].thread, NULL, work, &team->members[i]) !=
            0)
            suite_die("cannot start a thread");
    }
    return team;
}

void team_free(BenchTeam *team) {
    call(team, NULL, NULL);
    for (int i = 1; i < team->threads; i++) pthread_join(team->members[i].thread, NULL);
    free(team);
}
