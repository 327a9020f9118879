// SPDX-License-Identifier: Apache-2.0
//
// A kernel cut into launches, for devices that do not hold the thread that runs it
// (GPUs). A host walks the root code: scalars, checks, sizes, memory, branches and
// loops around launches are its own; parallel loops, and runs of statements that touch
// elements, are launched. Buffers are addresses to the host, which never looks inside.
//
// The host walks IF, FOR and WHILE around what only it can do: results, parallel loops,
// buffers that outlive the statement. It walks a CALL that returns a buffer, so the
// bodies of such functions are planned too. DATA at its level it copies to the device.
#ifndef WEFT_LOOP_LAUNCH_H
#define WEFT_LOOP_LAUNCH_H

#include "loop/loop.h"

enum { LAUNCH_LOADS = 1, LAUNCH_STORES = 2 }; // what a launch does to a buffer
enum { LAUNCH_MOST_LOCAL = 64 };              // elements of a local buffer

typedef struct LoopLaunch {
    uint32_t number; // weft_j_launch_<number>
    const LoopBody *body;
    uint32_t first, count; // the statements in body: of a parallel loop one
    bool is_parallel;
    // Of a parallel loop with a loop of independent turns all over its body: how many,
    // turn i of the launch being (i / inner, i % inner) of the two; else 0. One of the
    // ins or a constant, of type i64.
    LoopRef inner;
    LoopRef *ins;  // values from outside, by slot of the frame
    uint8_t *uses; // by in: LAUNCH_LOADS, LAUNCH_STORES; 0 for scalars
    uint32_t in_count;
    LoopRef *outs; // scalars that later code needs, in the slots after the ins
    uint32_t out_count;
    bool has_private; // allocates more than local buffers: wants an arena
} LoopLaunch;

// No buffer is allocated within a launch and needed after it. Tables (DATA) within
// launches are not among the ins.
typedef struct LoopPlan {
    LoopLaunch *launches;
    uint32_t count;
    Map by_stm; // address of a LoopStm -> 1 + the launch that begins with it
    // By LoopRef, of an ALLOC: a few elements that are only loaded and stored, so that
    // a work item may have them where it has its variables.
    bool *is_local;
} LoopPlan;

void loop_plan(const LoopKernel *kernel, Arena *arena, LoopPlan *plan_out);
// The launch that begins with that statement; NULL: it is the host's.
const LoopLaunch *loop_launch_at(const LoopPlan *plan, const LoopStm *stm);
// What a launch runs: of a parallel loop its body, else the statements as a body.
LoopBody loop_launch_body(const LoopLaunch *launch);

typedef struct LoopRefs {
    LoopRef *data;
    uint32_t len, cap;
} LoopRefs;

// The values used in a body but bound outside it, constants aside, each once, in order
// of first use.
void loop_captures(const LoopKernel *kernel, const LoopBody *body, Arena *arena,
                   LoopRefs *refs_out);

#endif
