// SPDX-License-Identifier: Apache-2.0
//
// How scalars look in messages, and messages with scalars filled in. Texts go to the
// caller's memory, so that the smallest runtime can use this as well as the compiler.
#ifndef WEFT_ABI_SHOW_H
#define WEFT_ABI_SHOW_H

#include "abi/scalar.h"

enum { SHOW_SCALAR = 32 }; // bytes that hold the text of any scalar, and a zero

// Writes the scalar's text, ended by a zero; returns its length.
size_t show_scalar(ScalarType type, uint64_t bits, char text_out[SHOW_SCALAR]);
// Writes the text with %0 ... %9 replaced by these values; what stands for no value
// stays as it is. Writes at most `room` bytes, and returns how many the whole has.
size_t show_filled_in(char *out, size_t room, const char *text, size_t len,
                      uint32_t count, const ScalarType *types, const uint64_t *values);

#endif
