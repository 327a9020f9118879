// SPDX-License-Identifier: Apache-2.0
//
// Passes from core to core. Each is one file with one function, which returns whether
// it changed anything; passes.def lists them in the order in which they run.
#ifndef WEFT_OPT_OPT_H
#define WEFT_OPT_OPT_H

#include "core/core.h"

typedef enum OptPass {
#define PASS(name, fun, stage0, on, summary) OPT_##name,
#include "opt/passes.def"
#undef PASS
    OPT_COUNT
} OptPass;

typedef struct OptPassInfo {
    const char *name;
    const char *summary;
    bool is_stage0; // part of the meaning: always runs
    bool is_on;     // runs by default; else only when it is the last one wanted
    bool (*run)(CoreProgram *program);
} OptPassInfo;

extern const OptPassInfo opt_passes[OPT_COUNT];

typedef struct OptOptions {
    bool verify; // run the verifier after each pass
    bool stage0_only;
    int stop_after; // OptPass after which to stop, or -1
    void (*after)(void *data, const OptPassInfo *pass, CoreProgram *program);
    void *data;
} OptOptions;

bool opt_find(Str name, OptPass *pass_out);
// Runs the table on the program. Returns false when the verifier found a fault, whose
// text is then in *report; that is a bug of ours and never the user's.
bool opt_run(CoreProgram *program, const OptOptions *options, StrBuf *report);

// How much opt_deep has of the lanes of a product at once: rows that fill so many
// bytes, but no fewer than so many.
typedef struct OptStrips {
    int64_t bytes, rows;
} OptStrips;

bool opt_deep_by(CoreProgram *program, OptStrips strips);

// By function: the first kernel that does the same, whatever its values are called and
// wherever it stands; the function itself if it is that, or no kernel.
const uint32_t *opt_find_alike(const CoreProgram *program, Arena *arena);
// Where in a kernel that is alike that stands which stands here in this one.
CoreLoc opt_place_in(const CoreProgram *program, const CoreFun *kernel,
                     const CoreFun *alike, CoreLoc loc, Arena *arena);

#endif
