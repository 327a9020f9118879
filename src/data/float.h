// SPDX-License-Identifier: Apache-2.0
//
// Floating-point numbers from and to decimal text, correctly rounded and shortest. All
// of it is integer arithmetic on the bits: neither the locale nor the rounding mode of
// the host matters. The three IEEE formats share one code, so that an f16 or f32 is
// rounded once, straight from the text.
#ifndef WEFT_DATA_FLOAT_H
#define WEFT_DATA_FLOAT_H

#include "abi/scalar.h"

enum {
    FLOAT_DIGITS = 800, // decimal digits that can matter (f64 needs 767), with reserve
    FLOAT_TEXT = 32     // bytes that hold any number printed
};

// The bits of digits * 10^exponent (digits: count characters '0'..'9', at most
// FLOAT_DIGITS of them). is_more tells that further nonzero digits were cut off.
uint64_t float_from_decimal(ScalarType type, const char *digits, size_t count,
                            int64_t exponent, bool is_more);
// The bits of mantissa * 2^exponent, plus a little more if is_more.
uint64_t float_from_binary(ScalarType type, uint64_t mantissa, int64_t exponent,
                           bool is_more);
// Writes the shortest text that reads back as these bits, without a type suffix and
// not terminated: "1.0", "1e-7", "-0.0"; of equally short ones the nearest. Returns
// its length. The number must be finite.
size_t float_print(ScalarType type, uint64_t bits, char out[FLOAT_TEXT]);

bool float_is_nan(ScalarType type, uint64_t bits);
bool float_is_inf(ScalarType type, uint64_t bits);
uint64_t float_nan(ScalarType type); // the canonical one
uint64_t float_inf(ScalarType type);
uint64_t float_sign(ScalarType type); // the sign bit

#endif
