
// ---- lanes of vectors of 64 bytes ---------------------------------------------------

WEFT_LANES(int64_t, i64x8, i64x8, 8, WEFT_OF(i64x8))
WEFT_LANES(uint64_t, u64x8, i64x8, 8, WEFT_OF(i64x8))
WEFT_LANES(double, f64x8, i64x8, 8, WEFT_OF(i64x8))
WEFT_LANES(int32_t, i32x16, i32x16, 16, WEFT_OF(i32x16))
WEFT_LANES(uint32_t, u32x16, i32x16, 16, WEFT_OF(i32x16))
WEFT_LANES(float, f32x16, i32x16, 16, WEFT_OF(i32x16))
WEFT_LANES(int16_t, i16x32, i16x32, 32, WEFT_OF(i16x32))
WEFT_LANES(uint16_t, u16x32, i16x32, 32, WEFT_OF(i16x32))
WEFT_LANES(int8_t, i8x64, i8x64, 64, WEFT_OF(i8x64))
WEFT_LANES(uint8_t, u8x64, i8x64, 64, WEFT_OF(i8x64))

WEFT_JOIN(i64x4, i64x8, 0, 1, 2, 3, 4, 5, 6, 7)
WEFT_JOIN(u64x4, u64x8, 0, 1, 2, 3, 4, 5, 6, 7)
WEFT_JOIN(f64x4, f64x8, 0, 1, 2, 3, 4, 5, 6, 7)
WEFT_JOIN(i32x8, i32x16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
WEFT_JOIN(u32x8, u32x16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
WEFT_JOIN(f32x8, f32x16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) &&           \
    defined(__AVX512VL__)
#define WEFT_WIDE_HERE
#endif

typedef int weft_16i __attribute__((vector_size(64)));
typedef short weft_32s __attribute__((vector_size(64)));
typedef char weft_64c __attribute__((vector_size(64)));
typedef long long weft_8l __attribute__((vector_size(64)));
typedef short weft_16w __attribute__((vector_size(32)));
typedef short weft_8w __attribute__((vector_size(16)));
typedef char weft_16b __attribute__((vector_size(16)));

// Side by side, but for lanes that touch nothing and are 0: those without a bit.
#if defined(WEFT_WIDE_HERE)
#define WEFT_SOME(T, V, W, n, load, mask)                                              \
    static inline V weft_some_##V(const void *from, mask lanes) {                      \
        return (V)__builtin_ia32_##load##_mask(from, (W){0}, lanes);                   \
    }
#define WEFT_SOME_8B(T, V)                                                             \
    static inline V weft_some_##V(const void *from, uint8_t lanes) {                   \
        V x;                                                                           \
        weft_16b both = __builtin_ia32_loaddquqi128_mask(from, (weft_16b){0}, lanes);  \
        __builtin_memcpy(&x, &both, sizeof x);                                         \
        return x;                                                                      \
    }
#else
#define WEFT_SOME(T, V, W, n, load, mask)                                              \
    static inline V weft_some_##V(const void *from, mask lanes) {                      \
        V x = {0};                                                                     \
        for (int i = 0; i < n; i++)                                                    \
            if (lanes >> i & 1) x[i] = ((const T *)from)[i];                           \
        return x;                                                                      \
    }
#define WEFT_SOME_8B(T, V) WEFT_SOME(T, V, V, 8, , uint8_t)
#endif
WEFT_SOME(int64_t, i64x8, weft_8l, 8, loaddqudi512, uint8_t)
WEFT_SOME(uint64_t, u64x8, weft_8l, 8, loaddqudi512, uint8_t)
WEFT_SOME(double, f64x8, f64x8, 8, loadupd512, uint8_t)
WEFT_SOME(int32_t, i32x16, weft_16i, 16, loaddqusi512, uint16_t)
WEFT_SOME(uint32_t, u32x16, weft_16i, 16, loaddqusi512, uint16_t)
WEFT_SOME(float, f32x16, f32x16, 16, loadups512, uint16_t)
WEFT_SOME(int16_t, i16x32, weft_32s, 32, loaddquhi512, uint32_t)
WEFT_SOME(uint16_t, u16x32, weft_32s, 32, loaddquhi512, uint32_t)
WEFT_SOME(int16_t, i16x16, weft_16w, 16, loaddquhi256, uint16_t)
WEFT_SOME(uint16_t, u16x16, weft_16w, 16, loaddquhi256, uint16_t)
WEFT_SOME(int16_t, i16x8, weft_8w, 8, loaddquhi128, uint8_t)
WEFT_SOME(uint16_t, u16x8, weft_8w, 8, loaddquhi128, uint8_t)
WEFT_SOME(int8_t, i8x64, weft_64c, 64, loaddquqi512, uint64_t)
WEFT_SOME(uint8_t, u8x64, weft_64c, 64, loaddquqi512, uint64_t)
WEFT_SOME(int8_t, i8x32, weft_32c, 32, loaddquqi256, uint32_t)
WEFT_SOME(uint8_t, u8x32, weft_32c, 32, loaddquqi256, uint32_t)
WEFT_SOME(int8_t, i8x16, weft_16b, 16, loaddquqi128, uint16_t)
WEFT_SOME(uint8_t, u8x16, weft_16b, 16, loaddquqi128, uint16_t)
WEFT_SOME_8B(int8_t, i8x8)
WEFT_SOME_8B(uint8_t, u8x8)

// Past the caches, as vectors of 32 bytes go.
#if defined(WEFT_WIDE_HERE) && defined(__clang__)
#define WEFT_PAST_WIDE(to, x) __builtin_nontemporal_store((i64x8)(x), (i64x8 *)(to))
#elif defined(WEFT_WIDE_HERE)
#define WEFT_PAST_WIDE(to, x) __builtin_ia32_movntdq512((weft_8l *)(to), (weft_8l)(x))
#else
#define WEFT_PAST_WIDE(to, x) __builtin_memcpy(to, &x, sizeof x)
#endif
WEFT_STREAM(f64x8, WEFT_PAST_WIDE)
WEFT_STREAM(i64x8, WEFT_PAST_WIDE)
WEFT_STREAM(u64x8, WEFT_PAST_WIDE)
WEFT_STREAM(f32x16, WEFT_PAST_WIDE)
WEFT_STREAM(i32x16, WEFT_PAST_WIDE)
WEFT_STREAM(u32x16, WEFT_PAST_WIDE)
WEFT_STREAM(i16x32, WEFT_PAST_WIDE)
WEFT_STREAM(u16x32, WEFT_PAST_WIDE)
WEFT_STREAM(i8x64, WEFT_PAST_WIDE)
WEFT_STREAM(u8x64, WEFT_PAST_WIDE)

// A bit for each lane.
#if defined(WEFT_WIDE_HERE)
#define weft_mask_i64x8(m)  ((uint8_t)__builtin_ia32_cvtq2mask512((weft_8l)(m)))
#define weft_mask_i32x16(m) ((uint16_t)__builtin_ia32_cvtd2mask512((weft_16i)(m)))
#define weft_mask_i16x32(m) ((uint32_t)__builtin_ia32_cvtw2mask512((weft_32s)(m)))
#define weft_mask_i8x64(m)  ((uint64_t)__builtin_ia32_cvtb2mask512((weft_64c)(m)))
#else
#define WEFT_MASK(M, n)                                                                \
    static inline uint64_t weft_mask_##M(M m) {                                        \
        uint64_t bits = 0;                                                             \
        for (int i = 0; i < n; i++) bits |= (uint64_t)(m[i] & 1) << i;                 \
        return bits;                                                                   \
    }
WEFT_MASK(i64x8, 8)
WEFT_MASK(i32x16, 16)
WEFT_MASK(i16x32, 32)
WEFT_MASK(i8x64, 64)
#endif
#define weft_all_i64x8(m)    (weft_mask_i64x8(m) == 0xff)
#define weft_all_i32x16(m)   (weft_mask_i32x16(m) == 0xffff)
#define weft_all_i16x32(m)   (weft_mask_i16x32(m) == UINT32_MAX)
#define weft_all_i8x64(m)    (weft_mask_i8x64(m) == UINT64_MAX)
#define weft_count_i64x8(m)  weft_popc(weft_mask_i64x8(m))
#define weft_count_i32x16(m) weft_popc(weft_mask_i32x16(m))
#define weft_count_i16x32(m) weft_popc(weft_mask_i16x32(m))
#define weft_count_i8x64(m)  weft_popc(weft_mask_i8x64(m))
#define weft_first_i64x8(m)  weft_ctz(~(uint64_t)weft_mask_i64x8(m))
#define weft_first_i32x16(m) weft_ctz(~(uint64_t)weft_mask_i32x16(m))
#define weft_first_i16x32(m) weft_ctz(~(uint64_t)weft_mask_i16x32(m))
#define weft_first_i8x64(m)  weft_ctz(~weft_mask_i8x64(m))

// A bit for each lane of a comparison, which gcc else puts into a vector first.
#define WEFT_COMPARE_BITS(V, equal, less, least)                                       \
    static inline uint64_t weft_eq_bits_##V(V x, V y) {                                \
        return equal;                                                                  \
    }                                                                                  \
    static inline uint64_t weft_lt_bits_##V(V x, V y) {                                \
        return less;                                                                   \
    }                                                                                  \
    static inline uint64_t weft_le_bits_##V(V x, V y) {                                \
        return least;                                                                  \
    }
#if defined(WEFT_WIDE_HERE) && !defined(__clang__)
#define WEFT_INT_BITS(V, M, W, how)                                                    \
    WEFT_COMPARE_BITS(V, __builtin_ia32_##how##512_mask((W)x, (W)y, 0, -1),            \
                      __builtin_ia32_##how##512_mask((W)x, (W)y, 1, -1),               \
                      __builtin_ia32_##how##512_mask((W)x, (W)y, 2, -1))
#define WEFT_FLOAT_BITS(V, M, how)                                                     \
    WEFT_COMPARE_BITS(V, __builtin_ia32_##how##512_mask(x, y, 0, -1, 4),               \
                      __builtin_ia32_##how##512_mask(x, y, 17, -1, 4),                 \
                      __builtin_ia32_##how##512_mask(x, y, 18, -1, 4))
#else
#define WEFT_INT_BITS(V, M, W, how) WEFT_FLOAT_BITS(V, M, how)
#define WEFT_FLOAT_BITS(V, M, how)                                                     \
    WEFT_COMPARE_BITS(V, weft_mask_##M(x == y), weft_mask_##M(x < y),                  \
                      weft_mask_##M(x <= y))
#endif
WEFT_INT_BITS(i64x8, i64x8, weft_8l, cmpq)
WEFT_INT_BITS(u64x8, i64x8, weft_8l, ucmpq)
WEFT_INT_BITS(i32x16, i32x16, weft_16i, cmpd)
WEFT_INT_BITS(u32x16, i32x16, weft_16i, ucmpd)
WEFT_INT_BITS(i16x32, i16x32, weft_32s, cmpw)
WEFT_INT_BITS(u16x32, i16x32, weft_32s, ucmpw)
WEFT_INT_BITS(i8x64, i8x64, weft_64c, cmpb)
WEFT_INT_BITS(u8x64, i8x64, weft_64c, ucmpb)
WEFT_FLOAT_BITS(f64x8, i64x8, cmppd)
WEFT_FLOAT_BITS(f32x16, i32x16, cmpps)

// A choice by bits.
#if defined(WEFT_WIDE_HERE) && defined(__clang__)
#define WEFT_CHOOSE(V, W, n, how)                                                      \
    static inline V weft_choose_##V(uint##n##_t bits, V x, V y) {                      \
        return (V)__builtin_ia32_select##how(bits, (W)x, (W)y);                        \
    }
#elif defined(WEFT_WIDE_HERE)
#define WEFT_CHOOSE(V, W, n, how)                                                      \
    static inline V weft_choose_##V(uint##n##_t bits, V x, V y) {                      \
        return (V)__builtin_ia32_blendm##how##_mask((W)y, (W)x, bits);                 \
    }
#else
#define WEFT_CHOOSE(V, W, n, how)                                                      \
    static inline V weft_choose_##V(uint##n##_t bits, V x, V y) {                      \
        for (int i = 0; i < n; i++)                                                    \
            if (!(bits >> i & 1)) x[i] = y[i];                                         \
        return x;                                                                      \
    }
#endif
typedef int weft_8d __attribute__((vector_size(32)));

#if defined(WEFT_WIDE_HERE) && !defined(__clang__)
#define WEFT_RESIZE(V, width, T, W, name, FROM, STEPS)                                 \
    static inline T weft_##V##_##width(V x) {                                          \
        return (T)__builtin_ia32_##name##512_mask(FROM, (W){0}, -1);                   \
    }
#else
#define WEFT_RESIZE(V, width, T, W, name, FROM, STEPS)                                 \
    static inline T weft_##V##_##width(V x) {                                          \
        return STEPS;                                                                  \
    }
#endif
#define WEFT_WIDEN(i, s)                                                               \
    WEFT_RESIZE(i##8x32, 16, i16x32, weft_32s, pmov##s##xbw, (weft_32c)x,              \
                WEFT_BY2(x, i16x32))                                                   \
    WEFT_RESIZE(i##8x16, 32, i32x16, weft_16i, pmov##s##xbd, (weft_16b)x,              \
                WEFT_BY4(x, i16x16, i32x16))                                           \
    WEFT_RESIZE(i##16x16, 32, i32x16, weft_16i, pmov##s##xwd, (weft_16w)x,             \
                WEFT_BY2(x, i32x16))                                                   \
    WEFT_RESIZE(i##8x8, 64, i64x8, weft_8l, pmov##s##xbq, (weft_16b)WEFT_FIRST(x),     \
                WEFT_BY8(x, i16x8, i32x8, i64x8))                                      \
    WEFT_RESIZE(i##16x8, 64, i64x8, weft_8l, pmov##s##xwq, (weft_8w)x,                 \
                WEFT_BY4(x, i32x8, i64x8))                                             \
    WEFT_RESIZE(i##32x8, 64, i64x8, weft_8l, pmov##s##xdq, (weft_8d)x,                 \
                WEFT_BY2(x, i64x8))
WEFT_WIDEN(i, s)
WEFT_WIDEN(u, z)
WEFT_RESIZE(i16x32, 8, i8x32, weft_32c, pmovwb, (weft_32s)x, WEFT_BY2(x, i8x32))
WEFT_RESIZE(i32x16, 8, i8x16, weft_16b, pmovdb, (weft_16i)x, WEFT_BY4(x, i16x16, i8x16))
WEFT_RESIZE(i32x16, 16, i16x16, weft_16w, pmovdw, (weft_16i)x, WEFT_BY2(x, i16x16))
WEFT_RESIZE(i64x8, 16, i16x8, weft_8w, pmovqw, (weft_8l)x, WEFT_BY4(x, i32x8, i16x8))
WEFT_RESIZE(i64x8, 32, i32x8, weft_8d, pmovqd, (weft_8l)x, WEFT_BY2(x, i32x8))
static inline i8x8 weft_i64x8_8(i64x8 x) {
#if defined(WEFT_WIDE_HERE) && !defined(__clang__)
    weft_16b all = __builtin_ia32_pmovqb512_mask((weft_8l)x, (weft_16b){0}, -1);
    i8x8 first;
    __builtin_memcpy(&first, &all, sizeof first);
    return first;
#else
    return WEFT_BY8(x, i32x8, i16x8, i8x8);
#endif
}
#undef WEFT_RESIZE
#undef WEFT_WIDEN
WEFT_CHOOSE(i64x8, weft_8l, 8, q_512)
WEFT_CHOOSE(u64x8, weft_8l, 8, q_512)
WEFT_CHOOSE(f64x8, weft_8l, 8, q_512)
WEFT_CHOOSE(i32x16, weft_16i, 16, d_512)
WEFT_CHOOSE(u32x16, weft_16i, 16, d_512)
WEFT_CHOOSE(f32x16, weft_16i, 16, d_512)
WEFT_CHOOSE(i16x32, weft_32s, 32, w_512)
WEFT_CHOOSE(u16x32, weft_32s, 32, w_512)
WEFT_CHOOSE(i8x64, weft_64c, 64, b_512)
WEFT_CHOOSE(u8x64, weft_64c, 64, b_512)
WEFT_CHOOSE(i32x8, weft_8d, 8, d_256)
WEFT_CHOOSE(u32x8, weft_8d, 8, d_256)
WEFT_CHOOSE(f32x8, weft_8d, 8, d_256)
WEFT_CHOOSE(i16x16, weft_16w, 16, w_256)
WEFT_CHOOSE(u16x16, weft_16w, 16, w_256)
WEFT_CHOOSE(i8x32, weft_32c, 32, b_256)
WEFT_CHOOSE(u8x32, weft_32c, 32, b_256)
WEFT_CHOOSE(i16x8, weft_8w, 8, w_128)
WEFT_CHOOSE(u16x8, weft_8w, 8, w_128)
WEFT_CHOOSE(i8x16, weft_16b, 16, b_128)
WEFT_CHOOSE(u8x16, weft_16b, 16, b_128)

// Elements of an array of 1 to 16 in all, by their places: out of one register or two.
#if defined(WEFT_WIDE_HERE) && defined(__clang__)
#define WEFT_OF_ONE_D(x, at)    __builtin_ia32_permvardi512(x, at)
#define WEFT_OF_TWO_D(x, y, at) __builtin_ia32_vpermi2varq512(x, at, y)
#define WEFT_OF_TWO_S(x, y, at) __builtin_ia32_vpermi2vard256(x, at, y)
#elif defined(WEFT_WIDE_HERE)
#define WEFT_OF_ONE_D(x, at)    __builtin_ia32_permvardi512_mask(x, at, (weft_8l){0}, -1)
#define WEFT_OF_TWO_D(x, y, at) __builtin_ia32_vpermt2varq512_mask(at, x, y, -1)
#define WEFT_OF_TWO_S(x, y, at) __builtin_ia32_vpermt2vard256_mask(at, x, y, -1)
#endif
#define WEFT_OF_ONE_S(x, at) __builtin_ia32_permvarsi256(x, at)
#if defined(WEFT_WIDE_HERE)
#define WEFT_LOOKUP(T, V, W, load, K)                                                  \
    static inline V weft_lookup_##V(const T *from, int64_t size, i64x8 at) {           \
        const uint32_t has = (1u << size) - 1;                                         \
        const W places = __builtin_convertvector(at, W);                               \
        const W x = __builtin_ia32_##load##_mask((const void *)from, (W){0},           \
                                                 (uint8_t)has);                        \
        if (size <= 8) return (V)WEFT_OF_ONE_##K(x, places);                           \
        const W y = __builtin_ia32_##load##_mask((const void *)(from + 8), (W){0},     \
                                                 (uint8_t)(has >> 8));                 \
        return (V)WEFT_OF_TWO_##K(x, y, places);                                       \
    }
#define WEFT_LOOKUP_D(T, V) WEFT_LOOKUP(T, V, weft_8l, loaddqudi512, D)
#define WEFT_LOOKUP_S(T, V) WEFT_LOOKUP(T, V, weft_8d, loaddqusi256, S)
#else
#define WEFT_LOOKUP_D(T, V)                                                            \
    static inline V weft_lookup_##V(const T *from, int64_t size, i64x8 at) {           \
        V x;                                                                           \
        (void)size;                                                                    \
        for (int i = 0; i < 8; i++) x[i] = from[at[i]];                                \
        return x;                                                                      \
    }
#define WEFT_LOOKUP_S(T, V) WEFT_LOOKUP_D(T, V)
#endif
WEFT_LOOKUP_D(double, f64x8)
WEFT_LOOKUP_D(int64_t, i64x8)
WEFT_LOOKUP_D(uint64_t, u64x8)
WEFT_LOOKUP_S(float, f32x8)
WEFT_LOOKUP_S(int32_t, i32x8)
WEFT_LOOKUP_S(uint32_t, u32x8)

// A mask as bools in memory, a byte for each lane.
#define WEFT_FLAGS(M, B)                                                               \
    static inline void weft_flags_##M(void *to, M m) {                                 \
        weft_store_##B(to, __builtin_convertvector(m, B) & 1);                         \
    }
WEFT_FLAGS(i64x8, i8x8)
WEFT_FLAGS(i32x16, i8x16)
WEFT_FLAGS(i16x32, i8x32)
WEFT_FLAGS(i8x64, i8x64)

// Functions that are one instruction; -1 are all lanes, 4 the rounding that is set.
#undef WEFT_FAST
#if defined(WEFT_WIDE_HERE)
#define WEFT_FAST(code) return code;
#else
#define WEFT_FAST(code)
#endif
#if defined(__clang__)
#define WEFT_SQRT(p)     __builtin_ia32_sqrt##p##512(x, 4)
#define WEFT_OF_TWO(how) __builtin_ia32_##how##512(x, y, 4)
#else
#define WEFT_SQRT(p)     __builtin_ia32_sqrt##p##512_mask(x, x, -1, 4)
#define WEFT_OF_TWO(how) __builtin_ia32_##how##512_mask(x, y, x, -1, 4)
#endif
#define WEFT_ROUND(p, how) __builtin_ia32_rndscale##p##_mask(x, how, x, -1, 4)
WEFT_MATH(divided_sqrt, f64x8, 8, __builtin_sqrt, WEFT_SQRT(pd))
WEFT_MATH(divided_sqrt, f32x16, 16, __builtin_sqrtf, WEFT_SQRT(ps))
WEFT_MATH(floor, f64x8, 8, __builtin_floor, WEFT_ROUND(pd, 9))
WEFT_MATH(floor, f32x16, 16, __builtin_floorf, WEFT_ROUND(ps, 9))
WEFT_MATH(ceil, f64x8, 8, __builtin_ceil, WEFT_ROUND(pd, 10))
WEFT_MATH(ceil, f32x16, 16, __builtin_ceilf, WEFT_ROUND(ps, 10))
WEFT_MATH(trunc, f64x8, 8, __builtin_trunc, WEFT_ROUND(pd, 11))
WEFT_MATH(trunc, f32x16, 16, __builtin_truncf, WEFT_ROUND(ps, 11))
WEFT_MATH(round, f64x8, 8, __builtin_rint, WEFT_ROUND(pd, 8))
WEFT_MATH(round, f32x16, 16, __builtin_rintf, WEFT_ROUND(ps, 8))
WEFT_PICK(f64x8, WEFT_OF_TWO(maxpd), WEFT_OF_TWO(minpd))
WEFT_PICK(f32x16, WEFT_OF_TWO(maxps), WEFT_OF_TWO(minps))

#if defined(WEFT_WIDE_HERE)
#define weft_fma_f64x8(x, y, z)  __builtin_ia32_vfmaddpd512_mask(x, y, z, -1, 4)
#define weft_fma_f32x16(x, y, z) __builtin_ia32_vfmaddps512_mask(x, y, z, -1, 4)
#else
WEFT_FMA(f64x8, 8, __builtin_fma)
WEFT_FMA(f32x16, 16, __builtin_fmaf)
#endif

WEFT_DIVIDE(f64x8, u64x8, double, 0x1p52, 0x1.8p52)
WEFT_DIVIDE(f32x16, u32x16, float, 0x1p23f, 0x1.8p23f)

// The integer next to each float; of what is too large or no number the machine's own:
// -2^63, or any of uint64_t.
#if defined(WEFT_WIDE_HERE)
#define WEFT_NEAR(how, x)  __builtin_ia32_##how##512_mask(x, (weft_8l){0}, -1, 4)
#define weft_near_i64x8(x) ((i64x8)WEFT_NEAR(cvtpd2qq, x))
#define weft_near_u64x8(x) ((u64x8)WEFT_NEAR(cvtpd2uqq, x))
#else
#define WEFT_NEAR(V, T, least, above, other)                                           \
    static inline V weft_near_##V(f64x8 x) {                                           \
        V r = weft_splat_##V(other);                                                   \
        for (int i = 0; i < 8; i++)                                                    \
            if (x[i] >= least && x[i] < above) r[i] = (T)__builtin_rint(x[i]);         \
        return r;                                                                      \
    }
WEFT_NEAR(i64x8, int64_t, -0x1p63, 0x1p63, INT64_MIN)
WEFT_NEAR(u64x8, uint64_t, 0, 0x1p64, 0)
#endif

// Quotients of any integers of 64 bits. The integer next to x by the inverse of y, each
// rounded to 53 bits, is off by 2^13 and a half at the most; the same of what that leaves
// of x by 2^-38 and a half. Then the rest is less than y, and tells by its sign whether
// n is one too many. Unsigned ones that are 2^63 or more go once or not at all.
#define WEFT_NEXT(V)                                                                   \
    typedef struct weft_next_##V {                                                     \
        V n;                                                                           \
        i64x8 rest;                                                                    \
    } weft_next_##V;                                                                   \
    static inline weft_next_##V weft_divide_##V(V x, V y) {                            \
        const f64x8 inverse = 1 / __builtin_convertvector(y, f64x8);                   \
        const V n = weft_near_##V(__builtin_convertvector(x, f64x8) * inverse);        \
        const i64x8 rest = (i64x8)((u64x8)x - (u64x8)n * (u64x8)y);                    \
        const f64x8 left = __builtin_convertvector(rest, f64x8) * inverse;             \
        const u64x8 more = (u64x8)weft_near_i64x8(left);                               \
        return (weft_next_##V){(V)((u64x8)n + more),                                   \
                               (i64x8)((u64x8)rest - more * (u64x8)y)};                \
    }
WEFT_NEXT(i64x8)
WEFT_NEXT(u64x8)

static inline i64x8 weft_div_i64x8_64(i64x8 x, i64x8 y) {
    const weft_next_i64x8 q = weft_divide_i64x8(x, y);
    return q.n + ((q.rest != 0) & ((q.rest ^ y) < 0));
}
static inline i64x8 weft_mod_i64x8_64(i64x8 x, i64x8 y) {
    const i64x8 rest = weft_divide_i64x8(x, y).rest;
    return rest + (y & (rest != 0) & ((rest ^ y) < 0));
}
static inline i64x8 weft_quot_i64x8_64(i64x8 x, i64x8 y) {
    const weft_next_i64x8 q = weft_divide_i64x8(x, y);
    const i64x8 off = (q.rest != 0) & ((q.rest ^ x) < 0);
    return q.n + (off & ((q.rest ^ y) >> 63 | 1));
}
static inline i64x8 weft_rem_i64x8_64(i64x8 x, i64x8 y) {
    const i64x8 rest = weft_divide_i64x8(x, y).rest, turn = (x ^ y) >> 63;
    return rest + (((y ^ turn) - turn) & (rest != 0) & ((rest ^ x) < 0));
}
static inline u64x8 weft_div_u64x8_64(u64x8 x, u64x8 y) {
    const weft_next_u64x8 q = weft_divide_u64x8(x, y);
    const u64x8 n = q.n + (u64x8)(q.rest < 0);
    return weft_select_u64x8((i64x8)y < 0, (u64x8)(x >= y) & 1, n);
}
static inline u64x8 weft_mod_u64x8_64(u64x8 x, u64x8 y) {
    const i64x8 rest = weft_divide_u64x8(x, y).rest;
    const u64x8 once = x - (y & (u64x8)(x >= y));
    return weft_select_u64x8((i64x8)y < 0, once, (u64x8)rest + (y & (u64x8)(rest < 0)));
}
#define weft_quot_u64x8_64 weft_div_u64x8_64
#define weft_rem_u64x8_64  weft_mod_u64x8_64

// Roots. The divider takes long for them, and longer with the division that often
// follows. So some are made beside it, from the estimate y of 1 / sqrt(x), which is off
// by less than 2^-14 of it (both makers' manuals).
//
// f64: with e = 1 - x y^2 the inverse root is y (1 + e/2 + 3/8 e^2 + ...): after the
// two terms y, and r = x y likewise, are off by less than 2^-40. sqrt(x) - r is
// d / (sqrt(x) + r), d being x - r^2, which is rounded once: that is half of d y but
// for less than 2^-39 of it. So sqrt(x) lies between r and what is 2^-36 more or less
// of it, and rounding keeps their order: if both become the same number, it does, too.
// Once in some millions they do not; then, and where x is below 2^-900 (d might not be
// normal), not finite or no number, the divider has it.
//
// f32: the same with one term and half of y, after which r + d y / 2 is rounded as the
// root is for each x from 1 to 4 and each y that the manuals allow, 24 10^9 pairs, as
// trying showed (test_roots tries those nearest to midpoints). Powers of 4 change
// nothing but for x below 2^-70, for which, as for infinity, zero and what is no
// number, there is the divider.
#if defined(WEFT_WIDE_HERE)
static inline f64x8 weft_refined_sqrt_f64x8(f64x8 x) {
    enum { EQUAL = 0, AT_LEAST = 13, ALL = 0xff };
    const f64x8 one = weft_splat_f64x8(1), half = weft_splat_f64x8(0.5);
    const f64x8 least = weft_splat_f64x8(0x1p-900);
    f64x8 y = __builtin_ia32_rsqrt14pd512_mask(x, one, -1), r = x * y;
    const f64x8 e = weft_fma_f64x8(-r, y, one);
    const f64x8 more = e * weft_fma_f64x8(e, weft_splat_f64x8(0.375), half);
    r = weft_fma_f64x8(r, more, r);
    y = weft_fma_f64x8(y, more, y);
    const f64x8 twice = weft_fma_f64x8(-r, r, x) * y;
    const f64x8 low = weft_fma_f64x8(twice, weft_splat_f64x8(0.5 - 0x1p-37), r);
    const f64x8 high = weft_fma_f64x8(twice, weft_splat_f64x8(0.5 + 0x1p-37), r);
    const uint8_t same = __builtin_ia32_cmppd512_mask(low, high, EQUAL, -1, 4);
    const uint8_t sure = __builtin_ia32_cmppd512_mask(x, least, AT_LEAST, same, 4);
    if (__builtin_expect(sure != ALL, 0)) return weft_divided_sqrt_f64x8(x);
    return high;
}
static inline f32x16 weft_refined_sqrt_f32x16(f32x16 x) {
    enum { LEAST = 0x1c800000, INFINITE = 0x7f800000, BELOW = 1, ALL = 0xffff };
    const f32x16 half = weft_splat_f32x16(0.5f);
    const i32x16 above = (i32x16)x - weft_splat_i32x16(LEAST);
    const i32x16 range = weft_splat_i32x16(INFINITE - LEAST);
    const f32x16 y = __builtin_ia32_rsqrt14ps512_mask(x, half, -1);
    f32x16 r = x * y, h = half * y;
    const f32x16 e = weft_fma_f32x16(-r, h, half);
    r = weft_fma_f32x16(r, e, r);
    h = weft_fma_f32x16(h, e, h);
    r = weft_fma_f32x16(weft_fma_f32x16(-r, r, x), h, r);
    const uint16_t sure = __builtin_ia32_ucmpd512_mask(above, range, BELOW, -1);
    if (__builtin_expect(sure != ALL, 0)) return weft_divided_sqrt_f32x16(x);
    return r;
}
#else
#define weft_refined_sqrt_f64x8(x)  weft_divided_sqrt_f64x8(x)
#define weft_refined_sqrt_f32x16(x) weft_divided_sqrt_f32x16(x)
#endif

// Where dividers are slow, in f64 all roots are made beside them. Zen 5 divides eight
// numbers in 4 cycles and makes eight roots in 8; Zen 4 takes 10 and 17, so that the
// divider may have as many roots of a long loop as are made beside it. In f32 Intel's
// takes 12 for sixteen and 10 to divide: of long loops it has every second root.
// Compilers that know no name know what only AMD's have: SSE4A, and what Zen 4 has not:
// AVX-VNNI.
#if !defined(__SSE4A__)
#define WEFT_BESIDE     1
#define WEFT_BESIDE_F32 2
#elif !defined(__AVXVNNI__)
#define WEFT_BESIDE     2
#define WEFT_BESIDE_F32 8
#else
#define WEFT_BESIDE     4
#define WEFT_BESIDE_F32 8
#endif
#define weft_sqrt_f64x8(x)                                                             \
    (WEFT_BESIDE == 4 ? weft_divided_sqrt_f64x8(x) : weft_refined_sqrt_f64x8(x))
#define weft_sqrt_f32x16(x) weft_divided_sqrt_f32x16(x)

// The root that is the nth vector of a loop: one of so many is made beside the divider,
// which has the others meanwhile.
#define WEFT_NTH_SQRT(V, many)                                                         \
    static inline V weft_nth_sqrt_##V(V x, uint64_t n) {                               \
        if (n % many == many - 1) return weft_refined_sqrt_##V(x);                     \
        return weft_divided_sqrt_##V(x);                                               \
    }
WEFT_NTH_SQRT(f64x8, WEFT_BESIDE)
WEFT_NTH_SQRT(f32x16, WEFT_BESIDE_F32)

// Quotients by a number y that is the same for all lanes, without the divider, which
// takes 10 cycles for sixteen f32 and 16 for eight f64 where Intel makes it: with the
// inverse r of y, rounded, and q = x r, what q leaves of x tells how far q is off, and
// q + (x - q y) r is rounded as x / y is (Markstein; Brisebarre, Muller and Raina,
// "Accelerating correctly rounded floating-point division when the divisor is known in
// advance"), if nothing on the way is too small or too large: x and y are some half of
// the exponents from there. 0 is 0, but of -0 the sign would be lost: the divider has
// it, and all others.
#if defined(WEFT_WIDE_HERE)
#define WEFT_RATIO(V, T, U, W, compare, bits, least, most)                             \
    static inline V weft_beside_##V(V x, T y) {                                        \
        enum { AT_LEAST = 5, UNEQUAL = 4 };                                            \
        const T r = 1 / y, size = y < 0 ? -y : y;                                      \
        const V all_y = weft_splat_##V(y), q = x * weft_splat_##V(r);                  \
        const U above = ((U)x << 1) - ((U)weft_splat_##V(least) << 1);                 \
        const U range = ((U)weft_splat_##V(most) - (U)weft_splat_##V(least)) << 1;     \
        bits unsure =                                                                  \
            __builtin_ia32_##compare##512_mask((W)above, (W)range, AT_LEAST, -1);      \
        unsure = __builtin_ia32_##compare##512_mask((W)x, (W){0}, UNEQUAL, unsure);    \
        if (__builtin_expect(unsure != 0 || !(size >= least && size < most), 0))       \
            return x / all_y;                                                          \
        return weft_fma_##V(weft_fma_##V(-q, all_y, x), weft_splat_##V(r), q);         \
    }
WEFT_RATIO(f64x8, double, u64x8, weft_8l, ucmpq, uint8_t, 0x1p-400, 0x1p400)
WEFT_RATIO(f32x16, float, u32x16, weft_16i, ucmpd, uint16_t, 0x1p-60f, 0x1p60f)
#else
#define weft_beside_f64x8(x, y)  ((x) / weft_splat_f64x8(y))
#define weft_beside_f32x16(x, y) ((x) / weft_splat_f32x16(y))
#endif
#define weft_ratio_f64x8(x, y)                                                         \
    (WEFT_BESIDE == 4 ? (x) / weft_splat_f64x8(y) : weft_beside_f64x8(x, y))
#define weft_ratio_f32x16(x, y)                                                        \
    (WEFT_BESIDE != 1 ? (x) / weft_splat_f32x16(y) : weft_beside_f32x16(x, y))

#define weft_float_u64x8(x) __builtin_convertvector(x, f64x8)
#define weft_float_i64x8(x) __builtin_convertvector(x, f64x8)

WEFT_STEPS(f64x8, double, 8, 51,
           weft_splat_f64x8((double)x) +
               ((f64x8){0, 1, 2, 3, 4, 5, 6, 7} + first) * (double)step)
WEFT_STEPS(f32x16, float, 16, 29,
           __builtin_convertvector(weft_splat_i32x16((int32_t)x) +
                                       ((i32x16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                                 12, 13, 14, 15} +
                                        first) *
                                           (int32_t)step,
                                   f32x16))
