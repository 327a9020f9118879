// SPDX-License-Identifier: Apache-2.0
//
// Vectors as wide as the machine's, by the extension that gcc and clang share: Real is
// the type that an object is compiled for, Vec LANES of them, Mask what comparing
// gives. a * b + c becomes one operation (-ffp-contract=fast).
#ifndef BENCH_VECTOR_H
#define BENCH_VECTOR_H

#include <math.h>
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

#include "bench.h"

#if defined __AVX512F__
#define VECTOR_BYTES 64
#elif defined __AVX__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define BENCH_TYPE_f32 1
#define BENCH_TYPE_f64 2
#define BENCH_TYPE_i32 3
#define BENCH_TYPE_i64 4
#define BENCH_TYPE_u8  5

#if BENCH_TYPE == BENCH_TYPE_f32
typedef float Real;
typedef int32_t Int;
#define REAL         WEFT_F32
#define SUFFIX(name) name "_f32"
#define ROOF_FMA     ROOF_FMA32
#elif BENCH_TYPE == BENCH_TYPE_f64
typedef double Real;
typedef int64_t Int;
#define REAL         WEFT_F64
#define SUFFIX(name) name "_f64"
#define ROOF_FMA     ROOF_FMA64
#elif BENCH_TYPE == BENCH_TYPE_i32
typedef int32_t Real;
typedef int32_t Int;
#define REAL         WEFT_I32
#define SUFFIX(name) name "_i32"
#elif BENCH_TYPE == BENCH_TYPE_i64
typedef int64_t Real;
typedef int64_t Int;
#define REAL         WEFT_I64
#define SUFFIX(name) name "_i64"
#elif BENCH_TYPE == BENCH_TYPE_u8
typedef uint8_t Real;
typedef int8_t Int;
#define REAL         WEFT_U8
#define SUFFIX(name) name "_u8"
#endif

enum { LANES = VECTOR_BYTES / sizeof(Real) };

// What lies a page further on, for loops that go along an array and look all over the
// place in between: processors look less far ahead than memory is away.
static inline void bench_fetch(const void *from) {
    __builtin_prefetch((const char *)from + 4096);
}
typedef Real Vec __attribute__((vector_size(VECTOR_BYTES)));
typedef Int Mask __attribute__((vector_size(VECTOR_BYTES)));

static inline Vec load(const Real *from) {
    Vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(Real *to, Vec v) {
    memcpy(to, &v, sizeof v);
}

// Past the caches; `to` is aligned to VECTOR_BYTES.
static inline void stream(void *to, Vec v) {
#if defined __AVX512F__
    _mm512_stream_si512(to, (__m512i)v);
#elif defined __AVX__
    _mm256_stream_si256(to, (__m256i)v);
#elif defined __x86_64__
    _mm_stream_si128(to, (__m128i)v);
#else
    memcpy(to, &v, sizeof v);
#endif
}

static inline void stream_end(void) {
#if defined __x86_64__
    _mm_sfence();
#endif
}

static inline Vec splat(Real x) {
    return (Vec){0} + x;
}

// mask ? a : b, lane by lane.
static inline Vec choose(Mask mask, Vec a, Vec b) {
    return (Vec)(((Mask)a & mask) | ((Mask)b & ~mask));
}

static inline Real sum_lanes(Vec v) {
    Real total = 0;
    for (int i = 0; i < LANES; i++) total = (Real)(total + v[i]);
    return total;
}

#if BENCH_TYPE == BENCH_TYPE_f32 || BENCH_TYPE == BENCH_TYPE_i32
#define VECTOR_LANES (VECTOR_BYTES / 4)
#elif BENCH_TYPE != BENCH_TYPE_u8
#define VECTOR_LANES (VECTOR_BYTES / 8)
#endif

// The lanes of the first halves of two vectors by turns, and of the second halves. The
// lanes are constants of one operation: of loops over them gcc makes one for each.
#if VECTOR_LANES == 16
#define FIRST_HALVES  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define SECOND_HALVES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VECTOR_LANES == 8
#define FIRST_HALVES  0, 8, 1, 9, 2, 10, 3, 11
#define SECOND_HALVES 4, 12, 5, 13, 6, 14, 7, 15
#elif VECTOR_LANES == 4
#define FIRST_HALVES  0, 4, 1, 5
#define SECOND_HALVES 2, 6, 3, 7
#elif VECTOR_LANES == 2
#define FIRST_HALVES  0, 2
#define SECOND_HALVES 1, 3
#endif
#if defined __clang__
#define BY_TURNS(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define BY_TURNS(a, b, ...) __builtin_shuffle(a, b, (Mask){__VA_ARGS__})
#endif

#if defined VECTOR_LANES
// LANES vectors as a square: rows become columns, by as many rounds of a perfect
// shuffle as LANES has bits.
static inline void transpose(Vec v[LANES]) {
    Vec next[LANES];
#pragma GCC unroll 4
    for (int round = 1; round < LANES; round *= 2) {
#pragma GCC unroll 8
        for (int k = 0; k < LANES / 2; k++) {
            next[2 * k] = BY_TURNS(v[k], v[k + LANES / 2], FIRST_HALVES);
            next[2 * k + 1] = BY_TURNS(v[k], v[k + LANES / 2], SECOND_HALVES);
        }
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) v[k] = next[k];
    }
}
#endif

#endif
