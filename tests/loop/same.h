// SPDX-License-Identifier: Apache-2.0
//
// Whether two values are the same, bit for bit; all NaNs are one.
#ifndef WEFT_TESTS_LOOP_SAME_H
#define WEFT_TESTS_LOOP_SAME_H

#include "base/str.h"
#include "rt/array.h"

// Appends how they differ to `why`.
bool same_value(const RtValue *found, const RtValue *expected, StrBuf *why);

#endif
