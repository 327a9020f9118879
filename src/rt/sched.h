// SPDX-License-Identifier: Apache-2.0
//
// The inside of a pool, shared by the scheduler (sched.c), which runs jobs, and the
// pool's life (pool.c), which makes and ends its threads.
#ifndef WEFT_RT_SCHED_H
#define WEFT_RT_SCHED_H

#include "base/floats.h"
#include "base/thread.h"
#include "rt/deque.h"
#include "rt/pool.h"

struct RtWorker {
    RtDeque deque;
    RtPool *pool;
    unsigned number;
    unsigned victim;  // whom it stole from last
    int64_t depth;    // of the job it works on; 0 outside any
    RtTask *spilled;  // ready tasks that could not be pushed, the shallowest first
    pthread_t thread; // not of worker 0
    // Under pool->lock:
    pthread_cond_t wake;
    bool is_asleep;
    int64_t least_depth; // what it would take, asleep
};

struct RtPool {
    Mem *mem;
    size_t size;
    unsigned thread_count;  // workers there are
    unsigned started_count; // of them with a thread
    double spin;            // seconds
    bool is_pinned;
    unsigned first_core; // then that of worker 0
    int process;         // where the threads live; 0: not started
    RtJob life;          // what idle workers wait for: pending until the pool ends
    alignas(64) atomic_int hungry;   // workers that look for work or sleep
    alignas(64) atomic_int sleepers; // workers with is_asleep, or just about to
    pthread_mutex_t lock;
    RtTask *signalled;       // ready, released by threads outside; under the lock
    pthread_mutex_t failing; // of loops
    alignas(64) atomic_int signalled_count;
    FloatState entered_floats; // what leave restores
    ThreadPlace entered_place;
    RtWorker workers[];
};

// Works on jobs at least as deep as this one until it has nothing pending. The worker
// is counted as hungry before, and afterwards.
void sched_help(RtWorker *self, RtJob *job);
// Ends what the pool's threads wait for.
void sched_end(RtPool *pool);

#endif
