// SPDX-License-Identifier: Apache-2.0
//
// Whether two values are the same, bit for bit; all NaNs are one. And where that is
// said of whole runs.
#ifndef WEFT_TESTS_LOOP_SAME_H
#define WEFT_TESTS_LOOP_SAME_H

#include "core/core.h"
#include "rt/array.h"

// Appends how they differ to `why`.
bool same_value(const RtValue *found, const RtValue *expected, StrBuf *why);
// Adds a line to the file that the variable names, or to the errors: which form of a
// run came to what, and why; of what function, unless it was the same.
void same_tell(const char *variable, const CoreProgram *core, const CoreFun *fun,
               const char *form, const char *what, Str why, Arena *arena);

#endif
