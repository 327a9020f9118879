// SPDX-License-Identifier: Apache-2.0
//
// Some of the lanes of f64 packed together: with AVX2 by a table of the 16 ways to keep
// some of four.
#ifndef BENCH_KEEP_H
#define BENCH_KEEP_H

#include "vector.h"

#if defined __AVX2__ && !defined __AVX512F__
#define PAIR(k) 2 * (k), 2 * (k) + 1
static const int32_t keep_moves[16][8] = {
    {0},
    {PAIR(0)},
    {PAIR(1)},
    {PAIR(0), PAIR(1)},
    {PAIR(2)},
    {PAIR(0), PAIR(2)},
    {PAIR(1), PAIR(2)},
    {PAIR(0), PAIR(1), PAIR(2)},
    {PAIR(3)},
    {PAIR(0), PAIR(3)},
    {PAIR(1), PAIR(3)},
    {PAIR(0), PAIR(1), PAIR(3)},
    {PAIR(2), PAIR(3)},
    {PAIR(0), PAIR(2), PAIR(3)},
    {PAIR(1), PAIR(2), PAIR(3)},
    {PAIR(0), PAIR(1), PAIR(2), PAIR(3)},
};
#endif

// A bit for each lane of the mask.
static inline unsigned lane_bits(Mask mask) {
#if defined __AVX512F__
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask);
#elif defined __AVX__
    return (unsigned)_mm256_movemask_pd((__m256d)mask);
#else
    unsigned bits = 0;
    for (int i = 0; i < LANES; i++) bits |= (mask[i] & 1u) << i;
    return bits;
#endif
}

// Stores the lanes of these bits side by side, with anything behind them, up to as many
// as a vector has.
static inline void store_lanes(Real *to, Vec v, unsigned bits) {
#if defined __AVX512F__
    _mm512_storeu_pd(to, _mm512_maskz_compress_pd((__mmask8)bits, (__m512d)v));
#elif defined __AVX2__
    __m256i move = _mm256_loadu_si256((const __m256i *)keep_moves[bits]);
    _mm256_storeu_ps((float *)to, _mm256_permutevar8x32_ps((__m256)v, move));
#else
    for (int i = 0, k = 0; i < LANES; i++)
        if (bits >> i & 1) to[k++] = v[i];
#endif
}

// The same of a mask; returns how many lanes it has.
static inline int keep_lanes(Real *to, Vec v, Mask kept) {
    unsigned bits = lane_bits(kept);
    store_lanes(to, v, bits);
    return __builtin_popcount(bits);
}

#endif
