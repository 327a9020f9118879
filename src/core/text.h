// SPDX-License-Identifier: Apache-2.0
//
// Constants as text, shared by the printer and the reader. Every bit pattern has one
// spelling that reads back to itself: 42i64, -3i32, true, 0x1.8p3f32, -0f64, f32.inf,
// f32.nan, f32.bits.0x7fc00001.
#ifndef WEFT_CORE_TEXT_H
#define WEFT_CORE_TEXT_H

#include "core/core.h"

enum { CORE_MOST_NESTING = 1000 }; // bodies in bodies that the reader accepts

// Appends the constant, with its type as a suffix unless `bare`.
void core_print_const(StrBuf *out, ScalarType type, uint64_t bits, bool bare);
// Reads a constant. A number without suffix is of type *type if has_type, else it is
// refused. Returns NULL, or why the text is no constant (a phrase for a message).
const char *core_read_const(Str text, bool has_type, ScalarType *type, uint64_t *bits);
// The text in double quotes with escapes (\n \t \" \\ \xNN), all bytes allowed.
void core_print_quoted(StrBuf *out, Str text);
// Appends a statement of the function on one line: values are named as core_print does,
// bodies are left out.
void core_print_stm_in(const CoreProgram *p, const CoreFun *fun, const CoreStm *stm,
                       StrBuf *out);

#endif
