// SPDX-License-Identifier: Apache-2.0
//
// A machine of which the matrices in test programs are large: two rows are a register
// block.
#ifndef WEFT_TESTS_RANDOM_SMALL_H
#define WEFT_TESTS_RANDOM_SMALL_H

#include "loop/lift.h"

static const LiftMachine small = {.registers = 8,
                                  .bytes = 16,
                                  .near = 4096,
                                  .packed = 1024,
                                  .least = 2,
                                  .many = 12,
                                  .always = true};

// The same with vectors as large as lanes have: batches are of whole ones.
static inline LiftMachine small_with(uint32_t bytes) {
    LiftMachine machine = small;
    machine.bytes = bytes;
    return machine;
}

#endif
