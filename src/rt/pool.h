// SPDX-License-Identifier: Apache-2.0
//
// The worker pool: parallel loops and graphs of tasks on one set of threads.
//
//     RtPool *pool = rt_pool_new(mem, &(RtPoolOptions){.threads = 8});
//     RtWorker *self = rt_pool_enter(pool);
//     RtLoop loop = {.count = n, .grain = 1024, .body = body, .env = &env};
//     if (rt_for(self, &loop) == RT_FAILED) ... loop.status, loop.failed
//     rt_pool_leave(pool);
//     rt_pool_free(pool);
//
// The thread that enters takes part as worker 0; the others are threads of the pool,
// started by the first enter. Idle workers look for work for a while (options.spin_us),
// then sleep until there is some. Nothing is allocated after rt_pool_new.
//
// Nesting. A body or task may run loops and groups of its own, with the worker it was
// handed, as deep as the stack allows; that makes no threads. A worker that waits for a
// loop or group works on what is nested as deep as that, or deeper, and on nothing
// else. So a body that waits is not entered again by its worker: state kept for each
// worker and each depth belongs to one body at a time.
//
// Memory. What is written before a loop, a release, a signal or the end of a body or
// task is seen by the bodies of that loop, by the task released, by who waited.
//
// Signals are blocked in the pool's threads. Floating-point: bodies and tasks run in
// the default environment (to nearest, nothing flushed to zero), on worker 0 from enter
// to leave. After a fork the child's first enter starts threads of its own, provided
// that the fork happened outside enter and leave.
#ifndef WEFT_RT_POOL_H
#define WEFT_RT_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct RtPool RtPool;
typedef struct RtWorker RtWorker; // who runs a body: valid in that call only

enum { RT_THREADS_MAX = 1024 };

typedef struct RtPoolOptions {
    unsigned threads; // at most RT_THREADS_MAX; 0: as many as the process has cores
    bool pin;         // keep each worker on a core, worker 0 between enter and leave
    unsigned first;   // which core worker 0 has; worker i has the i-th behind it
    int spin_us;      // microseconds to look for work before sleeping; negative: none;
                      // 0: 50, or none if there are more threads than cores
} RtPoolOptions;

// NULL when out of memory. Threads that the system refuses to start are done without.
// mem is used by new and free only.
RtPool *rt_pool_new(Mem *mem, const RtPoolOptions *options);
// Ends and joins the threads; NULL is ignored. Not between enter and leave.
void rt_pool_free(RtPool *pool);
// Worker numbers lie below this; never changes.
unsigned rt_pool_threads(const RtPool *pool);

// One thread at a time is inside a pool, whichever it is.
RtWorker *rt_pool_enter(RtPool *pool);
void rt_pool_leave(RtPool *pool);

// 0 for the thread that entered. No two bodies at once run with one number, save that a
// body that waits is beneath the ones its worker runs meanwhile.
unsigned rt_worker_number(const RtWorker *self);

// ---- loops ------------------------------------------------------------------------

// Runs iterations begin to below end in order. 0 on success; anything else stops the
// loop, with the index of the iteration that failed in *failed_out.
typedef int32_t RtBody(void *env, RtWorker *self, int64_t begin, int64_t end,
                       int64_t *failed_out);

typedef struct RtLoop {
    int64_t count;
    int64_t grain; // at least 1
    RtBody *body;
    void *env;
    const atomic_bool *cancel; // end soon when it is true; may be NULL
    // Called after a body failed at a lower index than any before, one call at a time,
    // with that body's worker, before anything else runs there: to keep what it left
    // about the failure. May be NULL.
    void (*keep)(void *env, RtWorker *self);
    int32_t status; // set on RT_FAILED: what the body returned
    int64_t failed; // and its index
} RtLoop;

typedef enum RtEnd {
    RT_DONE,
    RT_FAILED,   // at loop->failed, the least index that fails
    RT_CANCELLED // some iterations may not have run
} RtEnd;

// Runs body over 0 to below count, in chunks [k * grain, (k + 1) * grain), the last one
// shorter: each chunk once, in any order, whatever the number of workers. If iterations
// fail, all chunks below the least that does have run; of those above, some may have.
//
// A worker splits what it has left while others are idle, before each chunk; so a chunk
// should take a few microseconds, or more if it is regular. No more than one chunk: the
// body is just called.
RtEnd rt_for(RtWorker *self, RtLoop *loop);

// ---- tasks ------------------------------------------------------------------------

// A job is what items of work belong to and somebody waits for. The pool's own.
typedef struct RtJob {
    void (*run)(RtWorker *self, struct RtJob *job, int64_t begin, int64_t end);
    RtWorker *owner;              // who waits for it
    int64_t depth;                // 1 for what was begun outside any body
    atomic_int_least64_t pending; // items or tasks not finished
} RtJob;

// Tasks that are waited for together. All fields are the pool's own.
typedef struct RtGroup {
    RtJob job;
} RtGroup;

// A task is part of the caller's own struct, which stays in place until it has run.
typedef struct RtTask RtTask;
typedef void RtTaskRun(RtWorker *self, RtTask *task);
struct RtTask {
    RtTaskRun *run;
    RtGroup *group;
    RtTask *next;      // the pool's own
    atomic_uint waits; // releases still to come
};

// Starts an empty group, to be waited for by the same body.
void rt_group_open(RtWorker *self, RtGroup *group);
// Adds a task that becomes ready after `waits` releases, at least one. By the body that
// opened the group, or by a task of it.
void rt_task_add(RtGroup *group, RtTask *task, RtTaskRun *run, unsigned waits);
// One wait fewer; the last makes the task ready: some worker runs it, maybe at once. By
// any body or task, as long as the group has not been waited for to its end.
void rt_task_release(RtWorker *self, RtTask *task);
// The same by any thread, also one that is not in the pool: that of a driver, which
// ends a transfer. The pool may be gone when it returns, if the group has come to its
// end.
void rt_task_signal(RtTask *task);
// Works until all tasks of the group have run. Every task must get its releases.
void rt_group_wait(RtWorker *self, RtGroup *group);

#endif
