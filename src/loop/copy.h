// SPDX-License-Identifier: Apache-2.0
//
// Copies of loop code, for passes that make some of it twice.
#ifndef WEFT_LOOP_COPY_H
#define WEFT_LOOP_COPY_H

#include "loop/range.h"

// What a copy binds is new; other values are those in `copies`, or themselves.
typedef struct LoopCopier {
    LoopBuilder *b;
    Map copies; // LoopRef -> LoopRef
} LoopCopier;

LoopCopier loop_copier(LoopBuilder *b);
// From now on the value is copied as that one.
void loop_copy_as(LoopCopier *c, LoopRef ref, LoopRef copy);
// What the value is copied as.
LoopRef loop_copy_of(const LoopCopier *c, LoopRef ref);
LoopStm *loop_copy_stm(LoopCopier *c, const LoopStm *stm);
LoopBody *loop_copy_body(LoopCopier *c, const LoopBody *body);

// Adds all that the body binds.
void loop_bind_body(Map *bound, const LoopBody *body);
// Whether there is a loop in it.
bool loop_has_loops(const LoopBody *body);
// How many statements are in it, those of bodies inside included.
uint32_t loop_body_size(const LoopBody *body);
// Whether the walk's budget allows for one more such body, which it then pays for.
bool loop_can_pay(RangeWalk *w, const LoopBody *body);

// Whether unrolling (unroll.c) is going to take the loop of the kernel's root apart, if
// there is room.
bool loop_is_unrolled(const LoopKernel *kernel, const LoopStm *loop);

// How many lanes turns at the ends of a loop can have together (ends.c); 0: they stay
// alone.
uint32_t loop_end_lanes(LoopBuilder *b, const LoopBody *turn);

// Keeps the loop, or two in the arms of a branch that was in it, as often as it goes
// (unswitch.c); of branches that are wanted.
typedef bool LoopBranchTest(const LoopStm *branch);
void loop_unswitch(RangeWalk *w, LoopStm *loop, LoopBranchTest *is_wanted);
// Keeps one of two bodies, as the condition says, in place of the loop.
void loop_keep_either(RangeWalk *w, const LoopStm *loop, LoopRef c,
                      LoopBody *const *arms);

#endif
