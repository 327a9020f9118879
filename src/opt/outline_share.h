// SPDX-License-Identifier: Apache-2.0
//
// Within outlining: kernels that are the same (outline_share.c).
#ifndef WEFT_OPT_OUTLINE_SHARE_H
#define WEFT_OPT_OUTLINE_SHARE_H

#include "core/core.h"

// Kernels so far that are the first of their kind; only such are compared as have the
// same hash.
typedef struct KernelKinds {
    const CoreProgram *program;
    bool is_anywhere; // they are the same wherever they stand
    Map last;         // hash -> 1 + the last of them
    uint32_t *before; // by function: 1 + the one before with its hash; 0: there is none
} KernelKinds;

KernelKinds outline_kinds(const CoreProgram *p);
// The first function of those asked for so far that is a kernel like this one, but for
// names; the function itself if there is none, or it is no kernel.
uint32_t outline_first_same(KernelKinds *kinds, uint32_t kernel);

#endif
