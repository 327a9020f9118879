// SPDX-License-Identifier: Apache-2.0
//
// What the files of the memory pass share.
#ifndef WEFT_LOOP_MEMORY_H
#define WEFT_LOOP_MEMORY_H

#include "loop/build.h"

// Whether it, or what is in it, may stop the kernel.
bool memory_may_fail(const LoopStm *stm);

// Whether turns of the loop may make the array `fresh` right where `old` is, the one
// that they were handed: none reads what it has written over. Loads that would come too
// late are moved out of the loops in a turn.
bool memory_is_own(LoopBuilder *b, const LoopStm *loop, LoopRef old, LoopRef fresh);

#endif
