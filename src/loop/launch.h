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
//
// A turn of a parallel loop is run by one work item or, where it has loops of
// independent turns with short sequential code around them, by a team of them: lanes of
// a reduction, runs (launch_team.c).
#ifndef WEFT_LOOP_LAUNCH_H
#define WEFT_LOOP_LAUNCH_H

#include "loop/loop.h"

// What a launch does to a buffer; it joins by ATOMICs.
enum { LAUNCH_LOADS = 1, LAUNCH_STORES = 2, LAUNCH_JOINS = 4 };
enum { LAUNCH_MOST_LOCAL = 64 };     // elements of a local buffer
enum { LAUNCH_MOST_TILE = 1024 };    // or of a team's
enum { LAUNCH_LOCAL_BYTES = 10240 }; // all that a launch or function has
enum { LAUNCH_TEAM = 32 };           // work items in a team
enum { LAUNCH_MOST_SHARED = 64 };    // buffers that a team shares

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
    uint8_t *uses; // by in: LAUNCH_LOADS, ...; 0 for scalars
    uint32_t in_count;
    LoopRef *outs; // scalars that later code needs, in the slots after the ins
    uint32_t out_count;
    bool has_private; // allocates more than local buffers: wants an arena
    bool is_sure;     // cannot fail, and leaves no scalars: nobody need wait for it
    // Of a parallel loop whose turns are run by teams: item i of w runs the turns i,
    // i + w, ... of a loop that is spread, and the first of them all stores outside of
    // these. The rest is done by all, which wait for each other where loop_waits says.
    bool has_team;
    const LoopStm **shared; // the ALLOCs of small buffers that the team has together
    uint32_t shared_count;
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
    bool *is_shared; // and of these, whether a team has it together
    Map waits;       // address of a LoopStm -> 1: see loop_waits
} LoopPlan;

// What is_local is, without a plan.
bool *loop_local_buffers(const LoopKernel *kernel, Arena *arena);
void loop_plan(const LoopKernel *kernel, Arena *arena, LoopPlan *plan_out);
// The launch that begins with that statement; NULL: it is the host's.
const LoopLaunch *loop_launch_at(const LoopPlan *plan, const LoopStm *stm);
// What a launch runs: of a parallel loop its body, else the statements as a body.
LoopBody loop_launch_body(const LoopLaunch *launch);

// ---- teams (launch_team.c) ----------------------------------------------------------

// Makes the launch of a parallel loop one of teams if that can be and is worth it.
void loop_plan_team(const LoopKernel *kernel, Arena *arena, LoopPlan *plan,
                    LoopLaunch *launch);
// Whether the items of a team wait for each other before that statement of their turn,
// which may be within sequential loops and branches.
bool loop_waits(const LoopPlan *plan, const LoopStm *stm);
// Whether in a turn of a team that is a loop whose turns are spread over the items.
bool loop_is_spread(const LoopStm *stm);
// Whether a turn of that body may fail; then the items agree, behind it, on how it
// ended.
bool loop_spread_fails(const LoopPlan *plan, const LoopBody *body);
// If the body is all another such loop, and both are so short that a team runs them as
// one: how often the inner one turns, turn i of the one being (i / columns, i %
// columns) of the two. Else 0.
LoopRef loop_spread_columns(const LoopKernel *kernel, const LoopStm *stm);

// ---- captures -----------------------------------------------------------------------

// The values used in a body but bound outside it, constants aside, each once, in order
// of first use.
void loop_captures(const LoopKernel *kernel, const LoopBody *body, Arena *arena,
                   LoopRefs *refs_out);

#endif
