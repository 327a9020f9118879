// SPDX-License-Identifier: Apache-2.0
//
// Passes from loops to loops. Each is one function in one file, changes the kernel in
// place and leaves it tidy; passes.def lists them in the order in which they run.
#ifndef WEFT_LOOP_PASSES_H
#define WEFT_LOOP_PASSES_H

#include "loop/loop.h"

typedef enum LoopPass {
#define PASS(name, fun, targets, summary) LOOP_PASS_##name,
#include "loop/passes.def"
#undef PASS
    LOOP_PASS_COUNT
} LoopPass;

#define PASS(name, fun, targets, summary) void loop_##fun(LoopKernel *kernel);
#include "loop/passes.def"
#undef PASS

// What runs the kernel: anything; cores alone; those of this machine alone.
typedef enum LoopTargets { LOOP_FOR_ALL, LOOP_FOR_CORES, LOOP_FOR_HERE } LoopTargets;

typedef struct LoopPassInfo {
    const char *name;
    const char *summary;
    LoopTargets targets;
    void (*run)(LoopKernel *kernel);
} LoopPassInfo;

extern const LoopPassInfo loop_passes[LOOP_PASS_COUNT];

// Where the passes may stop instead of at the last one: after a pass, or
enum { LOOP_PASSES_ALL = -1, LOOP_PASSES_NONE = -2 };

typedef struct LoopOptions {
    LoopTargets targets;
    int stop_after; // a LoopPass, or one of the above
    // Called after each pass; may be NULL.
    void (*after)(void *data, const LoopPassInfo *pass, const LoopKernel *kernel);
    void *data;
} LoopOptions;

bool loop_pass_find(Str name, LoopPass *pass_out);
// Runs the table on a kernel fresh from loop_lower.
void loop_optimise(LoopKernel *kernel, const LoopOptions *options);
// A copy in another arena, of what there still is of it; the kernel's own takes some
// scratch.
LoopKernel *loop_compact(const LoopKernel *kernel, Arena *arena);

#endif
