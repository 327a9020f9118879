// SPDX-License-Identifier: Apache-2.0
//
// exp and log of vectors, inlined, within 1 ulp for arguments without a special case:
// log of normal positive numbers, exp below where it overflows; what is smaller than
// the normal numbers becomes about the least of them. Powers of two are taken apart and
// put together by integers; adding ROUNDER rounds to an integer, which is then in the
// low bits.
#ifndef BENCH_ELEMENTARY_H
#define BENCH_ELEMENTARY_H

#include "vector.h"

// The terms are those of (log(1 + f) - f + f^2 / 2) / s - f^2 / 2 for s = f / (2 + f),
// of even and of odd powers of s^2, the highest first.
#if BENCH_TYPE == BENCH_TYPE_f32
enum { FRACTION_BITS = 23, BIAS = 127, EXP_TERMS = 8 };
typedef uint32_t Bits __attribute__((vector_size(VECTOR_BYTES)));
static const Int SQRT_HALF = 0x3f3504f3;
static const Real ROUNDER = 0x1.8p23f, LN2_HIGH = 0x1.62e4p-1f,
                  LN2_LOW = 0x1.7f7d1cp-20f;
static const Real log_even[] = {0xf89e26p-26f, 0xccce13p-25f},
                  log_odd[] = {0x91e9eep-25f, 0xaaaaaap-24f};
#else
enum { FRACTION_BITS = 52, BIAS = 1023, EXP_TERMS = 14 };
typedef uint64_t Bits __attribute__((vector_size(VECTOR_BYTES)));
static const Int SQRT_HALF = 0x3fe6a09e667f3bcd;
static const Real ROUNDER = 0x1.8p52, LN2_HIGH = 0x1.62e42feep-1,
                  LN2_LOW = 0x1.a39ef35793c76p-33;
static const Real log_even[] = {1.531383769920937332e-01, 2.222219843214978396e-01,
                                3.999999999940941908e-01},
                  log_odd[] = {1.479819860511658591e-01, 1.818357216161805012e-01,
                               2.857142874366239149e-01, 6.666666666666735130e-01};
#endif

enum {
    LOG_EVEN = sizeof log_even / sizeof *log_even,
    LOG_ODD = sizeof log_odd / sizeof *log_odd
};

static inline Vec vector_log(Vec x) {
    const Int one = (Int)1 << FRACTION_BITS;
    Mask bits = (Mask)x - SQRT_HALF; // biased, so that the power is not negative
    Mask power = (Mask)((Bits)(bits + BIAS * one) >> FRACTION_BITS);
    Vec k = (Vec)((Mask)splat(ROUNDER) + power) - (ROUNDER + BIAS);
    Vec f = (Vec)((bits & (one - 1)) + SQRT_HALF) - (Real)1;
    Vec s = f / (f + (Real)2), z = s * s, w = z * z;
    Vec even = splat(log_even[0]), odd = splat(log_odd[0]);
    for (int i = 1; i < LOG_EVEN; i++) even = even * w + log_even[i];
    for (int i = 1; i < LOG_ODD; i++) odd = odd * w + log_odd[i];
    Vec half = f * f * (Real)0.5, rest = w * even + z * odd;
    return k * LN2_HIGH - ((half - (s * (half + rest) + k * LN2_LOW)) - f);
}

static inline Vec vector_exp(Vec x) {
    static const double factorials[] = {1,       1,        2,         6,         24,
                                        120,     720,      5040,      40320,     362880,
                                        3628800, 39916800, 479001600, 6227020800};
    const Real least = (Real)(-0.6931471805599453 * (BIAS - 2));
    x = choose(x < splat(least), splat(least), x);
    Vec rounded = x * (Real)1.4426950408889634 + ROUNDER, k = rounded - ROUNDER;
    Vec r = x - k * LN2_HIGH - k * LN2_LOW;
    Vec sum = splat((Real)(1 / factorials[EXP_TERMS - 1]));
    for (int i = EXP_TERMS - 2; i >= 0; i--) sum = sum * r + (Real)(1 / factorials[i]);
    return (Vec)((Mask)sum + ((Mask)rounded << FRACTION_BITS));
}

#endif
