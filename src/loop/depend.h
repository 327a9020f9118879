// SPDX-License-Identifier: Apache-2.0
//
// What depends on what: sets of values.
#ifndef WEFT_LOOP_DEPEND_H
#define WEFT_LOOP_DEPEND_H

#include "loop/build.h"

// Whether one of them is in the set.
bool depend_any(const LoopBuilder *b, const Map *set, const LoopRef *refs,
                uint32_t count);
// Adds what the body makes of values of the set.
void depend_spread(const LoopBuilder *b, Map *set, const LoopBody *body);
// Whether the statement uses and makes nothing of the set.
bool depend_is_free(const LoopBuilder *b, const Map *set, const LoopStm *stm);

#endif
