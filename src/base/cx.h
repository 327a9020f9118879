// SPDX-License-Identifier: Apache-2.0
//
// What every phase of the compiler is handed: memory, names, sources, diagnostics and
// the stack's end. One Cx serves one compilation; nothing in it is shared.
#ifndef WEFT_BASE_CX_H
#define WEFT_BASE_CX_H

#include "base/diag.h"
#include "base/mem.h"
#include "base/source.h"
#include "base/stack.h"
#include "base/str.h"

typedef struct Cx {
    Mem *mem;
    Arena *arena;  // lives as long as the compiled program
    Symbols syms;
    Sources sources;
    Diags diags;
    Stack stack;
} Cx;

// The arena must outlive the Cx; everything the Cx holds is in it.
void cx_init(Cx *cx, Arena *arena);

#endif
