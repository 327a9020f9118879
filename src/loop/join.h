// SPDX-License-Identifier: Apache-2.0
//
// What the files of the join pass share.
#ifndef WEFT_LOOP_JOIN_H
#define WEFT_LOOP_JOIN_H

#include "loop/build.h"

// Lets rows of results that a short loop in `turn` makes, of so many elements each,
// wait in private memory.
void join_set_aside(LoopBuilder *b, LoopBody *turn, LoopStm *few, LoopRef row);

// Puts a short loop that reads the row of a loop in `turn` inside of that, where it
// reads but the element that is being made; the arrays of both are for them alone.
void join_within(LoopBuilder *b, LoopBody *turn, LoopStm *row, LoopStm *few);

#endif
