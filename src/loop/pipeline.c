// SPDX-License-Identifier: Apache-2.0
//
// The pipeline: the rows of passes.def, run in order on each kernel before code is made
// of it. Where assertions are on, the kernel is verified after each.
#include <assert.h>

#include "loop/machine.h"
#include "loop/passes.h"

const LoopPassInfo loop_passes[LOOP_PASS_COUNT] = {
#define PASS(name, fun, targets, summary)                                              \
    {#fun, summary, LOOP_FOR_##targets, loop_##fun},
#include "loop/passes.def"
#undef PASS
};

bool loop_pass_find(Str name, LoopPass *pass_out) {
    for (int i = 0; i < LOOP_PASS_COUNT; i++) {
        if (!str_eq(name, str_of(loop_passes[i].name))) continue;
        *pass_out = (LoopPass)i;
        return true;
    }
    return false;
}

#ifndef NDEBUG
static bool is_sound(const LoopKernel *kernel) {
    StrBuf faults = strbuf(kernel->arena);
    return loop_verify(kernel, &faults);
}
#endif

void loop_optimise(LoopKernel *kernel, const LoopOptions *options) {
    if (options->targets == LOOP_FOR_HERE && kernel->vector_bytes == 0)
        kernel->vector_bytes = machine_vector_bytes();
    for (int i = 0; i < LOOP_PASS_COUNT && options->stop_after != LOOP_PASSES_NONE;
         i++) {
        const LoopPassInfo *pass = &loop_passes[i];
        if (pass->targets <= options->targets) {
            pass->run(kernel);
            if (kernel->notes != NULL) arena_reset(kernel->notes);
            assert(is_sound(kernel));
            if (options->after != NULL) options->after(options->data, pass, kernel);
        }
        if (options->stop_after == i) break;
    }
}
