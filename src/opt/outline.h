// SPDX-License-Identifier: Apache-2.0
//
// What the files of outlining share: outline.c makes kernels, the others know sizes and
// scalars.
#ifndef WEFT_OPT_OUTLINE_H
#define WEFT_OPT_OUTLINE_H

#include "opt/fuse.h"

typedef struct Checks {
    const CoreStm **data;
    uint32_t len, cap;
} Checks;

typedef struct Outliner {
    CoreProgram *program;
    CoreBuilder builder;
    Sym name;                // of kernels
    Rewrite defs;            // of which only what binds each value is used
    const FuseState *states; // of the loops around
    Map dims;                // (array, axis) -> the DIM that the host has
    Map views;               // CoreRef -> the view statement that binds it
    Map scalars;     // CoreRef -> the DIM of an array that is no view, or arithmetic
    Map guarded;     // CoreRef -> what the guard that binds it hands on
    Map sizes;       // (array, axis) -> what the size is known to be
    Checks checks;   // in force: of sizes
    uint32_t *hosts; // by index of the functions there were: its host version, 0: none
    bool *traces;    // by the same index: it traces, or calls what does
    uint32_t old_count;
    uint32_t levels; // sequential kernels around that may be something else
} Outliner;

static inline uint64_t outline_dim_key(CoreRef array, int32_t axis) {
    return (uint64_t)array << 8 | (uint64_t)axis;
}

// ---- scalars (outline_scalars.c) ----------------------------------------------------

// What the value is that guards hand on.
CoreRef outline_unguarded(const Outliner *o, CoreRef ref);
// Notes a statement of the host by which kernels may find a scalar, or know a size.
void outline_note_scalar(Outliner *o, const CoreStm *stm);
// Emits what the body uses and can be found from other things that it uses.
void outline_append_scalars(Outliner *o, const CoreBody *body);

// ---- sizes (outline_sizes.c) --------------------------------------------------------

// Notes the size if the host has it.
void outline_note_size(Outliner *o, CoreRef array, int32_t axis);
// Notes array number `k` that the loop carries, in the dimensions that it keeps.
void outline_note_state(Outliner *o, const CoreStm *loop, uint32_t k);

#endif
