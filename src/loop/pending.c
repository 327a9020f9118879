// SPDX-License-Identifier: Apache-2.0
//
// TEMPORARY: stands for lower.c in builds other than that of the lowering itself.
#include "loop/loop.h"

LoopKernel *loop_lower(const CoreProgram *core, const CoreFun *fun, bool parallel,
                       Arena *arena, const char **why_out) {
    (void)core, (void)fun, (void)parallel, (void)arena;
    *why_out = "lowering is not in this build";
    return NULL;
}
