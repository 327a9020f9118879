// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_OPT_OUTLINE_NEXT_H
#define WEFT_OPT_OUTLINE_NEXT_H

#include "core/core.h"

// Notes in functions whether another call, or the next turn of a loop, reads what they
// make.
void outline_note_next(CoreProgram *p);

#endif
