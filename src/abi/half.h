// SPDX-License-Identifier: Apache-2.0
//
// f16, the IEEE 16-bit float, which travels as u16. Widening is exact; narrowing rounds
// once, to nearest with ties to even, and needs nothing of the rounding mode. This text
// is also in the head of generated files, in C, OpenCL C and CUDA C.
#ifndef WEFT_ABI_HALF_H
#define WEFT_ABI_HALF_H

#ifndef WEFT_GPU_CODE
#include <stdint.h>
#endif
#ifndef WEFT_FUN // what a function is declared as
#define WEFT_FUN static inline
#endif

typedef union HalfBits {
    double value;
    uint64_t bits;
} HalfBits;

WEFT_FUN double half_to_double(uint16_t bits) {
    uint64_t sign = (uint64_t)(bits >> 15) << 63;
    uint64_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    HalfBits wide;
    if (exponent == 0) {  // zero or subnormal: fraction units of 2^-24
        wide.value = (double)fraction * 0x1p-24;
    } else {
        exponent = exponent == 31 ? 2047 : exponent + (1023 - 15);
        wide.bits = exponent << 52 | fraction << 42;
    }
    wide.bits |= sign;
    return wide.value;
}

WEFT_FUN uint16_t half_of_double(double value) {
    HalfBits as;
    as.value = value;
    uint64_t wide = as.bits;
    unsigned sign = (unsigned)(wide >> 63) << 15;
    wide &= ~((uint64_t)1 << 63);
    unsigned exponent = (unsigned)(wide >> 52);
    if (wide > (uint64_t)2047 << 52) return (uint16_t)(sign | 0x7e00);  // NaN
    if (exponent >= 1023 + 16) return (uint16_t)(sign | 0x7c00);        // 2^16 and more
    if (exponent < 1023 - 25) return (uint16_t)sign;  // below half the least subnormal
    // Keep the bits from the unit of the result upwards; what falls off decides.
    uint64_t significand = (wide & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    unsigned drop = exponent >= 1023 - 14 ? 42 : 42 + (1023 - 14 - exponent);
    uint64_t kept = significand >> drop, rest = significand << (64 - drop);
    if (rest > (uint64_t)1 << 63 || (rest == (uint64_t)1 << 63 && (kept & 1) != 0))
        kept++;
    // The hidden bit, or a carry into it, adds one to the exponent field.
    if (exponent >= 1023 - 14) kept += (uint64_t)(exponent - (1023 - 14)) << 10;
    return (uint16_t)(sign | (unsigned)kept);
}

#endif
