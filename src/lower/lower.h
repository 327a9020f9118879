// SPDX-License-Identifier: Apache-2.0
//
// Typed program to core: monomorphised, defunctionalised, tuples, records and sums
// flattened. Lowering evaluates the typed program with static values: functions,
// records and types are known, scalars and arrays are core values.
#ifndef WEFT_LOWER_LOWER_H
#define WEFT_LOWER_LOWER_H

#include "check/typed.h"
#include "core/core.h"

// Returns NULL and reports to cx->diags when the program cannot be lowered (too large
// once inlined, say). The core program lives in `arena`.
CoreProgram *lower_program(Cx *cx, Arena *arena, const TProgram *program);

#endif
