// SPDX-License-Identifier: Apache-2.0
//
// Plans of kernels (loop/launch.h), looked at from outside.
#ifndef WEFT_TESTS_PLAN_H
#define WEFT_TESTS_PLAN_H

#include "loop/launch.h"

// What is wrong with the kernel's plan; NULL: nothing.
const char *plan_fault(const LoopKernel *kernel, Arena *arena);

#endif
