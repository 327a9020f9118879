// SPDX-License-Identifier: Apache-2.0
//
// What calls kernels (abi/kernel.h): a pool of threads, the private memory of each, and
// the parallel loops of the kernel that is being called.
//
//     RtTeam *team = rt_team_new(mem, &(RtPoolOptions){0});
//     RtCall call = {.team = team, .cancel = &cancel, .result = make_result};
//     if (rt_call(&call, kernel, in, out) == KERNEL_FAULT) ... call.env.fault
//     rt_team_free(team);
#ifndef WEFT_RT_TEAM_H
#define WEFT_RT_TEAM_H

#include "rt/pool.h"
#include "rt/private.h"

typedef struct RtTeam {
    Mem *mem;
    RtPool *pool;
    RtPrivate root;    // of root code
    size_t root_most;  // bytes of it that a call has used at once, so far
    RtPrivate *memory; // by worker
    KernelEnv *envs;   // by worker
} RtTeam;

// NULL when memory is short.
RtTeam *rt_team_new(Mem *mem, const RtPoolOptions *options);
void rt_team_free(RtTeam *team); // NULL is ignored

// One call of a kernel. Zeros but for the first part.
typedef struct RtCall {
    RtTeam *team;
    const atomic_bool *cancel;
    // Memory for array result `number`, row-major; NULL when there is none.
    void *(*result)(void *data, uint32_t number, uint32_t rank, const int64_t *shape);
    // The same for an unknown number of rows up to that; or NULL.
    void *(*room)(void *data, uint32_t number, uint32_t rank, const int64_t *shape);
    // Told, in the thread of the call, how far its loop is: `done` of `total` turns, or
    // total 0 if that is not known. May be NULL.
    void (*progress)(void *data, int64_t done, int64_t total);
    // Told by each worker when it has run some turns of a parallel loop: when the loop
    // began, and when it did with these (clock_ns). May be NULL.
    void (*ran)(void *data, unsigned worker, uint64_t loop_began, uint64_t began,
                int64_t turns);
    void *data;
    // The call's own, set by rt_call.
    KernelEnv env;  // of the root code; after KERNEL_FAULT env.fault says which
    RtWorker *self; // while in the pool
} RtCall;

// Calls the kernel in the default floating-point environment. One call at a time.
int32_t rt_call(RtCall *call, Kernel *kernel, const uint64_t *in, uint64_t *out);

#endif
