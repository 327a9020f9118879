// SPDX-License-Identifier: Apache-2.0
//
// C11 as gcc and clang take it. f16 is its bits in a uint16_t.
#include "emit/dialect.h"

extern const char emit_text_kernel[], emit_text_half[], emit_text_head_c[];

static const char *const head[] = {emit_text_kernel, emit_text_half, emit_text_head_c,
                                   NULL};

const Dialect emit_c = {
    .types = {[SCALAR_BOOL] = "bool",
              [SCALAR_I8] = "int8_t",
              [SCALAR_I16] = "int16_t",
              [SCALAR_I32] = "int32_t",
              [SCALAR_I64] = "int64_t",
              [SCALAR_U8] = "uint8_t",
              [SCALAR_U16] = "uint16_t",
              [SCALAR_U32] = "uint32_t",
              [SCALAR_U64] = "uint64_t",
              [SCALAR_F16] = "uint16_t",
              [SCALAR_F32] = "float",
              [SCALAR_F64] = "double"},
    .math = "__builtin_",
    .math_has_suffix = true,
    .helper = "static inline ",
    .head = head,
};
