// SPDX-License-Identifier: Apache-2.0
//
// How many random programs reach each form of code that the compiler makes: what fuses,
// what each pass on loops changes, tiles, batches, and what lanes do.
#ifndef WEFT_TESTS_RANDOM_FORMS_H
#define WEFT_TESTS_RANDOM_FORMS_H

#include "core/core.h"

// Of one program, by core before it is fused.
void forms_before_fusion(const CoreProgram *core);
// The program as it is after all passes: counts what it reaches.
void forms_of(Mem *mem, const CoreProgram *core);
// Prints the counts; returns how many forms fewer than `least` programs reach.
int forms_print(uint64_t least);

#endif
