// SPDX-License-Identifier: Apache-2.0
//
// What differs between the languages that kernels are written in. scalar.def is common
// to all of them but for the names below.
#ifndef WEFT_EMIT_DIALECT_H
#define WEFT_EMIT_DIALECT_H

#include "emit/emit.h"

struct Dialect {
    const char *types[SCALAR_COUNT]; // what a scalar of that type is declared as
    const char *math;                // before the name of a function of <math.h>
    bool math_has_suffix;            // sqrtf for f32, rather than sqrt for all
    const char *helper;              // before a helper function's declaration
    const char *const *head;         // texts at the start of a file, up to NULL
};

// ---- scalar.c -----------------------------------------------------------------------

// The helper functions that a file needs.
typedef struct Helpers {
    bool is_used[OP_COUNT][SCALAR_COUNT];
    bool to_int[SCALAR_COUNT]; // conversions from floats to that type
} Helpers;

// Appends the expression of a scalar operator on these operands.
void emit_scalar(const Dialect *dialect, CoreOp op, ScalarType in, ScalarType to,
                 const Str *operands, Helpers *helpers, StrBuf *out);
// Appends the definitions of the helpers used.
void emit_helpers(const Dialect *dialect, const Helpers *helpers, StrBuf *out);
// Appends a constant.
void emit_constant(ScalarType type, uint64_t bits, StrBuf *out);

#endif
