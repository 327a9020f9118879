// SPDX-License-Identifier: Apache-2.0
//
// Within outlining: kernels that are the same (outline_share.c).
#ifndef WEFT_OPT_OUTLINE_SHARE_H
#define WEFT_OPT_OUTLINE_SHARE_H

#include "core/core.h"

// The first function that is a kernel like this one, but for names; the function itself
// if there is none, or it is no kernel.
uint32_t outline_first_same(const CoreProgram *p, uint32_t kernel);

#endif
