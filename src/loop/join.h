// SPDX-License-Identifier: Apache-2.0
//
// What the files of the join pass share.
#ifndef WEFT_LOOP_JOIN_H
#define WEFT_LOOP_JOIN_H

#include "loop/build.h"

// Lets rows of results that a short loop in `turn` makes, of so many elements each,
// wait in private memory.
void join_set_aside(LoopBuilder *b, LoopBody *turn, LoopStm *few, LoopRef row);

#endif
