// SPDX-License-Identifier: Apache-2.0
//
// Checks that the program asks to leave out. Passes before this one go by them as by
// others: that an index lies in its row is what the program promises, and what allows
// to write rows over.
#include "loop/build.h"
#include "loop/passes.h"

static void leave_out(LoopBody *body) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++) leave_out(stm->bodies[k]);
        if (!loop_is_unsafe(stm)) body->stms.data[kept++] = stm;
    }
    body->stms.len = kept;
}

static bool is_unsafe(const LoopStm *stm, int unused) {
    (void)unused;
    return loop_is_unsafe(stm);
}

void loop_unsafe(LoopKernel *kernel) {
    if (!loop_kernel_has(kernel, is_unsafe, 0)) return;
    LoopBuilder b = loop_builder(kernel);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        leave_out(kernel->funs.data[i].body);
    leave_out(kernel->root);
    loop_tidy(&b);
}
