// SPDX-License-Identifier: Apache-2.0
//
// Into which pieces a team cuts a parallel loop of a kernel whose guess, the grain, is
// far too large: long turns go to all workers though they are few, in pieces that are
// many but not smaller than lanes. And where it is far too small: many short turns go
// together.
#define _POSIX_C_SOURCE 200809L
#include "rt/team.h"

#include <time.h>

#include "test.h"

enum { THREADS = 2, MOST = 600 };

static atomic_int turns[MOST];
static atomic_int pieces, largest; // beyond the trial, which goes alone
static atomic_int torn;            // pieces that are no whole vector turns
static int64_t count, grain = 1 << 20, lanes = 1;
static bool are_long = true;

static int32_t take_turns(KernelEnv *env, const void *frame, int64_t begin, int64_t end,
                          int64_t *failed) {
    (void)env, (void)frame, (void)failed;
    if (begin % lanes != 0 || (end % lanes != 0 && end != count))
        atomic_fetch_add(&torn, 1);
    for (int64_t i = begin; i < end; i++) {
        if (are_long) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        atomic_fetch_add(&turns[i], 1);
    }
    if (begin == 0) return KERNEL_OK;
    atomic_fetch_add(&pieces, 1);
    if (end - begin > atomic_load(&largest)) atomic_store(&largest, (int)(end - begin));
    return KERNEL_OK;
}

static int32_t kernel(KernelEnv *env, const uint64_t *in, uint64_t *out) {
    (void)in, (void)out;
    CHECK(env->threads >= 1 && env->threads <= THREADS);
    return env->parallel(env, count, grain, lanes, take_turns, NULL);
}

static void run(RtTeam *team, int64_t n) {
    static const atomic_bool cancel;
    RtCall call = {.team = team, .cancel = &cancel};
    count = n;
    atomic_store(&pieces, 0);
    atomic_store(&largest, 0);
    for (int64_t i = 0; i < n; i++) atomic_store(&turns[i], 0);
    CHECK(rt_call(&call, kernel, NULL, NULL) == KERNEL_OK);
    int once = 0;
    for (int64_t i = 0; i < n; i++) once += atomic_load(&turns[i]) == 1;
    CHECK(once == n);
}

// Turns that lanes take at once stay together, however long they are and whoever runs
// them.
static void test_lanes(RtTeam *team, RtTeam *alone) {
    lanes = 128;
    run(team, 600);
    CHECK(pieces == 4 && largest == 128);
    run(alone, 600);
    grain = 1;
    run(team, 600);
    run(team, 100);
    lanes = 24;
    run(team, 600);
    CHECK(largest == 24);
    run(alone, 600);
    CHECK(torn == 0);
    lanes = 1;
}

// Short turns may seem long where the thread had to wait; not each time.
static void test_short_turns(RtTeam *team) {
    grain = 1;
    are_long = false;
    for (int round = 0; round == 0 || (pieces > MOST / 4 && round < 9); round++)
        run(team, MOST);
    CHECK(pieces <= MOST / 4);
}

int main(void) {
    Mem mem = {0};
    RtTeam *team = rt_team_new(&mem, &(RtPoolOptions){.threads = THREADS});
    if (team == NULL) return 1;
    run(team, 3); // the first by way of trial
    CHECK(pieces == 2 && largest == 1);
    run(team, 41);
    CHECK(pieces == 5 && largest == 8);
    run(team, 600);
    CHECK(largest == 16);
    run(team, 1);
    run(team, 0);
    RtTeam *alone = rt_team_new(&mem, &(RtPoolOptions){.threads = 1});
    if (alone == NULL) return 1;
    test_lanes(team, alone);
    test_short_turns(team);
    rt_team_free(alone);
    rt_team_free(team);
    return test_done();
}
