
// ---- lanes --------------------------------------------------------------------------

// f64x4 is four doubles; i64x4 and i32x8 are masks, too: a lane is set when all of its
// bits are.
#define WEFT_LANES(T, V, M, n, SELECT)                                                 \
    typedef T V __attribute__((vector_size(sizeof(T) * n)));                           \
    static inline V weft_load_##V(const void *from) {                                  \
        V x;                                                                           \
        __builtin_memcpy(&x, from, sizeof x);                                          \
        return x;                                                                      \
    }                                                                                  \
    static inline void weft_store_##V(void *to, V x) {                                 \
        __builtin_memcpy(to, &x, sizeof x);                                            \
    }                                                                                  \
    static inline V weft_splat_##V(T x) {                                              \
        return x - (V){0};                                                             \
    }                                                                                  \
    static inline V weft_select_##V(M m, V x, V y) {                                   \
        return (V)SELECT;                                                              \
    }

// Functions that are one instruction on some machines.
#define WEFT_MATH(name, V, n, math, FAST)                                              \
    static inline V weft_##name##_##V(V x) {                                           \
        WEFT_FAST(FAST)                                                                \
        for (int i = 0; i < n; i++) x[i] = math(x[i]);                                 \
        return x;                                                                      \
    }

// A number that nobody changes. Of a constant compilers would know that.
#define WEFT_LOADED(name, bits)                                                        \
    __attribute__((weak, visibility("hidden"))) uint64_t name = bits;

// Lanes of both vectors in a row, by their numbers.
#if defined(__clang__) || __GNUC__ >= 12
#define WEFT_TAKE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define WEFT_TAKE(x, y, ...)                                                           \
    __builtin_shuffle(x, y, (__typeof__((x) == (y))){__VA_ARGS__})
#endif

typedef double weft_4d __attribute__((vector_size(32)));
typedef float weft_8f __attribute__((vector_size(32)));
typedef float weft_4f __attribute__((vector_size(16)));
typedef char weft_32c __attribute__((vector_size(32)));

#if defined(__AVX2__)
#define WEFT_FAST(code) return code;
#else
#define WEFT_FAST(code)
#endif
#define WEFT_OF(M) ((m & (M)x) | (~m & (M)y))
// With AVX-512 compilers make one instruction of that, and gcc 12 takes the last of
// these the wrong way round after x < y of uint16_t.
#if defined(__AVX2__) && !defined(__AVX512VL__)
#define WEFT_OF_4D  __builtin_ia32_blendvpd256((weft_4d)y, (weft_4d)x, (weft_4d)m)
#define WEFT_OF_8F  __builtin_ia32_blendvps256((weft_8f)y, (weft_8f)x, (weft_8f)m)
#define WEFT_OF_4F  __builtin_ia32_blendvps((weft_4f)y, (weft_4f)x, (weft_4f)m)
#define WEFT_OF_32C __builtin_ia32_pblendvb256((weft_32c)y, (weft_32c)x, (weft_32c)m)
#else
#define WEFT_OF_4D  WEFT_OF(i64x4)
#define WEFT_OF_8F  WEFT_OF(i32x8)
#define WEFT_OF_4F  WEFT_OF(i32x4)
#define WEFT_OF_32C (((weft_32c)m & (weft_32c)x) | (~(weft_32c)m & (weft_32c)y))
#endif

WEFT_LANES(int8_t, i8x4, i8x4, 4, WEFT_OF(i8x4))
WEFT_LANES(uint8_t, u8x4, i8x4, 4, WEFT_OF(i8x4))
WEFT_LANES(int16_t, i16x4, i16x4, 4, WEFT_OF(i16x4))
WEFT_LANES(uint16_t, u16x4, i16x4, 4, WEFT_OF(i16x4))
WEFT_LANES(int32_t, i32x4, i32x4, 4, WEFT_OF_4F)
WEFT_LANES(uint32_t, u32x4, i32x4, 4, WEFT_OF_4F)
WEFT_LANES(float, f32x4, i32x4, 4, WEFT_OF_4F)
WEFT_LANES(int64_t, i64x4, i64x4, 4, WEFT_OF_4D)
WEFT_LANES(uint64_t, u64x4, i64x4, 4, WEFT_OF_4D)
WEFT_LANES(double, f64x4, i64x4, 4, WEFT_OF_4D)
WEFT_LANES(int8_t, i8x8, i8x8, 8, WEFT_OF(i8x8))
WEFT_LANES(uint8_t, u8x8, i8x8, 8, WEFT_OF(i8x8))
WEFT_LANES(int16_t, i16x8, i16x8, 8, WEFT_OF(i16x8))
WEFT_LANES(uint16_t, u16x8, i16x8, 8, WEFT_OF(i16x8))
WEFT_LANES(int32_t, i32x8, i32x8, 8, WEFT_OF_8F)
WEFT_LANES(uint32_t, u32x8, i32x8, 8, WEFT_OF_8F)
WEFT_LANES(float, f32x8, i32x8, 8, WEFT_OF_8F)
WEFT_LANES(int8_t, i8x16, i8x16, 16, WEFT_OF(i8x16))
WEFT_LANES(uint8_t, u8x16, i8x16, 16, WEFT_OF(i8x16))
WEFT_LANES(int8_t, i8x32, i8x32, 32, WEFT_OF_32C)
WEFT_LANES(uint8_t, u8x32, i8x32, 32, WEFT_OF_32C)
WEFT_LANES(int16_t, i16x16, i16x16, 16, WEFT_OF_32C)
WEFT_LANES(uint16_t, u16x16, i16x16, 16, WEFT_OF_32C)

// Two halves of a vector.
#if defined(__clang__) || __GNUC__ >= 12
#define WEFT_JOIN(H, V, ...)                                                           \
    static inline V weft_join_##V(H x, H y) {                                          \
        return __builtin_shufflevector(x, y, __VA_ARGS__);                             \
    }
#else
#define WEFT_JOIN(H, V, ...)                                                           \
    static inline V weft_join_##V(H x, H y) {                                          \
        V both;                                                                        \
        __builtin_memcpy(&both, &x, sizeof x);                                         \
        __builtin_memcpy((char *)&both + sizeof x, &y, sizeof y);                      \
        return both;                                                                   \
    }
#endif
WEFT_JOIN(i32x4, i32x8, 0, 1, 2, 3, 4, 5, 6, 7)
WEFT_JOIN(u32x4, u32x8, 0, 1, 2, 3, 4, 5, 6, 7)
WEFT_JOIN(f32x4, f32x8, 0, 1, 2, 3, 4, 5, 6, 7)

// The first elements of a vector turn, which has no more.
static __attribute__((noinline, unused)) void weft_copy(void *to, const void *from,
                                                        int64_t bytes) {
    if (bytes > 0) __builtin_memcpy(to, from, (uint64_t)bytes);
}

// The same, and zeros.
static inline void *weft_front(void *to, const void *from, uint64_t all,
                               int64_t bytes) {
    __builtin_memset(to, 0, all);
    weft_copy(to, from, bytes);
    return to;
}

// Side by side, but for lanes that touch nothing and are 0: those that a mask leaves
// out, or without a bit.
#if defined(__AVX2__)
typedef int weft_8m __attribute__((vector_size(32)));
typedef long long weft_4m __attribute__((vector_size(32)));
#define WEFT_BIT(i)  (-(lanes >> i & 1))
#define WEFT_BITS_4L ((i64x4){WEFT_BIT(0), WEFT_BIT(1), WEFT_BIT(2), WEFT_BIT(3)})
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
#define WEFT_BITS_8I ((i32x8)__builtin_ia32_cvtmask2d256((uint8_t)lanes))
#else
#define WEFT_BITS_8I                                                                   \
    ((i32x8){WEFT_BIT(0), WEFT_BIT(1), WEFT_BIT(2), WEFT_BIT(3), WEFT_BIT(4),          \
             WEFT_BIT(5), WEFT_BIT(6), WEFT_BIT(7)})
#endif
#define WEFT_FEW(T, V, M, W, m, n, load, BITS)                                         \
    static inline V weft_where_##V(const void *from, M mask) {                         \
        return (V)__builtin_ia32_##load##256((const W *)from, (m)mask);                \
    }                                                                                  \
    static inline V weft_some_##V(const void *from, int lanes) {                       \
        return weft_where_##V(from, BITS);                                             \
    }
#else
#define WEFT_FEW(T, V, M, W, m, n, load, BITS)                                         \
    static inline V weft_where_##V(const void *from, M mask) {                         \
        V x = {0};                                                                     \
        for (int i = 0; i < n; i++)                                                    \
            if (mask[i]) x[i] = ((const T *)from)[i];                                  \
        return x;                                                                      \
    }                                                                                  \
    static inline V weft_some_##V(const void *from, int lanes) {                       \
        V x = {0};                                                                     \
        for (int i = 0; i < n; i++)                                                    \
            if (lanes >> i & 1) x[i] = ((const T *)from)[i];                           \
        return x;                                                                      \
    }
#endif
WEFT_FEW(int64_t, i64x4, i64x4, weft_4m, weft_4m, 4, maskloadq, WEFT_BITS_4L)
WEFT_FEW(uint64_t, u64x4, i64x4, weft_4m, weft_4m, 4, maskloadq, WEFT_BITS_4L)
WEFT_FEW(double, f64x4, i64x4, weft_4d, weft_4m, 4, maskloadpd, WEFT_BITS_4L)
WEFT_FEW(int32_t, i32x8, i32x8, weft_8m, weft_8m, 8, maskloadd, WEFT_BITS_8I)
WEFT_FEW(uint32_t, u32x8, i32x8, weft_8m, weft_8m, 8, maskloadd, WEFT_BITS_8I)
WEFT_FEW(float, f32x8, i32x8, weft_8f, weft_8m, 8, maskloadps, WEFT_BITS_8I)

// A vector that is in a register now.
#if defined(__AVX2__)
#define WEFT_WHOLE(x) __asm__("" : "+x"(x))
#else
#define WEFT_WHOLE(x)
#endif

// Stores what is too large for the caches past them, which saves fetching what is
// overwritten; a fence ends it.
#if defined(__AVX2__) && defined(__clang__)
#define WEFT_PAST(to, x) __builtin_nontemporal_store((i64x4)(x), (i64x4 *)(to))
#elif defined(__AVX2__)
#define WEFT_PAST(to, x)                                                               \
    __builtin_ia32_movntdq256((long long __attribute__((vector_size(32))) *)(to),      \
                              (long long __attribute__((vector_size(32))))(x))
#endif
#if defined(__AVX2__)
#define weft_fence() __builtin_ia32_sfence()
#define WEFT_STREAM(V, PAST)                                                           \
    static inline void weft_stream_##V(void *to, V x, bool is_far) {                   \
        if (is_far && (uint64_t)to % sizeof(V) == 0) PAST(to, x);                      \
        else weft_store_##V(to, x);                                                    \
    }
#else
#define weft_fence()
#define WEFT_STREAM(V, PAST)                                                           \
    static inline void weft_stream_##V(void *to, V x, bool is_far) {                   \
        weft_store_##V(to, x);                                                         \
    }
#endif
WEFT_STREAM(f64x4, WEFT_PAST)
WEFT_STREAM(i64x4, WEFT_PAST)
WEFT_STREAM(u64x4, WEFT_PAST)
WEFT_STREAM(f32x8, WEFT_PAST)
WEFT_STREAM(i32x8, WEFT_PAST)
WEFT_STREAM(u32x8, WEFT_PAST)
WEFT_STREAM(i16x16, WEFT_PAST)
WEFT_STREAM(u16x16, WEFT_PAST)
WEFT_STREAM(i8x32, WEFT_PAST)
WEFT_STREAM(u8x32, WEFT_PAST)

// Integers of another width in one instruction, for which gcc takes several. Those of a
// vector that is shorter than a register are the first ones in that.
typedef char weft_16c __attribute__((vector_size(16)));
typedef short weft_8s __attribute__((vector_size(16)));
typedef int weft_4i __attribute__((vector_size(16)));
typedef long long weft_2l __attribute__((vector_size(16)));
#define WEFT_FIRST(x)                                                                  \
    ({                                                                                 \
        long long first_ = 0;                                                          \
        __builtin_memcpy(&first_, &x, sizeof x);                                       \
        (weft_2l){first_, 0};                                                          \
    })
#if defined(__AVX2__) && !defined(__clang__)
#define WEFT_RESIZE(V, width, T, FAST, STEPS)                                          \
    static inline T weft_##V##_##width(V x) {                                          \
        return (T)FAST;                                                                \
    }
#else
#define WEFT_RESIZE(V, width, T, FAST, STEPS)                                          \
    static inline T weft_##V##_##width(V x) {                                          \
        return STEPS;                                                                  \
    }
#endif
#define WEFT_BY2(x, V)       __builtin_convertvector(x, V)
#define WEFT_BY4(x, U, V)    WEFT_BY2(WEFT_BY2(x, U), V)
#define WEFT_BY8(x, T, U, V) WEFT_BY2(WEFT_BY4(x, T, U), V)
#define WEFT_WIDEN(i, s)                                                               \
    WEFT_RESIZE(i##8x16, 16, i16x16, __builtin_ia32_pmov##s##xbw256((weft_16c)x),      \
                WEFT_BY2(x, i16x16))                                                   \
    WEFT_RESIZE(i##8x8, 32, i32x8,                                                     \
                __builtin_ia32_pmov##s##xbd256((weft_16c)WEFT_FIRST(x)),               \
                WEFT_BY4(x, i16x8, i32x8))                                             \
    WEFT_RESIZE(i##16x8, 32, i32x8, __builtin_ia32_pmov##s##xwd256((weft_8s)x),        \
                WEFT_BY2(x, i32x8))                                                    \
    WEFT_RESIZE(i##8x4, 64, i64x4,                                                     \
                __builtin_ia32_pmov##s##xbq256((weft_16c)WEFT_FIRST(x)),               \
                WEFT_BY8(x, i16x4, i32x4, i64x4))                                      \
    WEFT_RESIZE(i##16x4, 64, i64x4,                                                    \
                __builtin_ia32_pmov##s##xwq256((weft_8s)WEFT_FIRST(x)),                \
                WEFT_BY4(x, i32x4, i64x4))                                             \
    WEFT_RESIZE(i##32x4, 64, i64x4, __builtin_ia32_pmov##s##xdq256((weft_4i)x),        \
                WEFT_BY2(x, i64x4))
WEFT_WIDEN(i, s)
WEFT_WIDEN(u, z)
#undef WEFT_RESIZE
#undef WEFT_WIDEN

#if defined(__AVX2__)
#define weft_mask_i64x4(m) __builtin_ia32_movmskpd256((weft_4d)(m))
#define weft_mask_i32x8(m) __builtin_ia32_movmskps256((weft_8f)(m))
// A bit for each byte.
#define weft_mask_i8x32(m)  ((uint32_t)__builtin_ia32_pmovmskb256((weft_32c)(m)))
#define weft_mask_i16x16(m) ((uint32_t)__builtin_ia32_pmovmskb256((weft_32c)(m)))
#else
static inline uint32_t weft_mask_i8x32(i8x32 m) {
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++) bits |= (uint32_t)(m[i] & 1) << i;
    return bits;
}
#define weft_mask_i16x16(m) weft_mask_i8x32((i8x32)(m))

static inline int32_t weft_mask_i64x4(i64x4 m) {
    return (m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8);
}

static inline int32_t weft_mask_i32x8(i32x8 m) {
    return (m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8) | (m[4] & 16) |
           (m[5] & 32) | (m[6] & 64) | (m[7] & 128);
}
#endif

// Whether all lanes of a mask are set; how many are; and of a mask with one that is not
// set, how many come before that.
#define weft_all_i64x4(m)    (weft_mask_i64x4(m) == 15)
#define weft_all_i32x8(m)    (weft_mask_i32x8(m) == 255)
#define weft_all_i16x16(m)   (weft_mask_i16x16(m) == UINT32_MAX)
#define weft_all_i8x32(m)    (weft_mask_i8x32(m) == UINT32_MAX)
#define weft_count_i64x4(m)  weft_popc((uint32_t)weft_mask_i64x4(m))
#define weft_count_i32x8(m)  weft_popc((uint32_t)weft_mask_i32x8(m))
#define weft_count_i16x16(m) (weft_popc(weft_mask_i16x16(m)) / 2)
#define weft_count_i8x32(m)  weft_popc(weft_mask_i8x32(m))
#define weft_first_i64x4(m)  weft_ctz(~(uint64_t)weft_mask_i64x4(m))
#define weft_first_i32x8(m)  weft_ctz(~(uint64_t)weft_mask_i32x8(m))
#define weft_first_i16x16(m) (weft_ctz(~(uint64_t)weft_mask_i16x16(m)) / 2)
#define weft_first_i8x32(m)  weft_ctz(~(uint64_t)weft_mask_i8x32(m))

// How many lanes of the masks were set that add up to a vector, none of whose lanes is
// less than the least of its type.
#define WEFT_SUM(V, n)                                                                 \
    static inline int64_t weft_sum_##V(V m) {                                          \
        int64_t sum = 0;                                                               \
        for (int i = 0; i < n; i++) sum -= m[i];                                       \
        return sum;                                                                    \
    }
WEFT_SUM(i64x4, 4)
WEFT_SUM(i32x8, 8)
WEFT_SUM(i16x16, 16)
WEFT_SUM(i8x32, 32)

// A mask as bools in memory, a byte for each lane.
#if defined(WEFT_BITS)
static inline void weft_flags_i64x4(void *to, i64x4 m) {
    const uint64_t bits = (uint64_t)weft_mask_i64x4(m);
    const uint32_t bytes = (uint32_t)__builtin_ia32_pdep_di(bits, 0x01010101);
    __builtin_memcpy(to, &bytes, sizeof bytes);
}

static inline void weft_flags_i32x8(void *to, i32x8 m) {
    const uint64_t bits = (uint64_t)weft_mask_i32x8(m);
    const uint64_t bytes = __builtin_ia32_pdep_di(bits, 0x0101010101010101);
    __builtin_memcpy(to, &bytes, sizeof bytes);
}
#else
static inline void weft_flags_i64x4(void *to, i64x4 m) {
    weft_store_i8x4(to, __builtin_convertvector(m, i8x4) & 1);
}

static inline void weft_flags_i32x8(void *to, i32x8 m) {
    weft_store_i8x8(to, __builtin_convertvector(m, i8x8) & 1);
}
#endif

static inline void weft_flags_i16x16(void *to, i16x16 m) {
    weft_store_i8x16(to, __builtin_convertvector(m, i8x16) & 1);
}

static inline void weft_flags_i8x32(void *to, i8x32 m) {
    weft_store_i8x32(to, m & 1);
}

WEFT_MATH(sqrt, f64x4, 4, __builtin_sqrt, __builtin_ia32_sqrtpd256(x))
WEFT_MATH(sqrt, f32x8, 8, __builtin_sqrtf, __builtin_ia32_sqrtps256(x))
WEFT_MATH(sqrt, f32x4, 4, __builtin_sqrtf, __builtin_ia32_sqrtps(x))
WEFT_MATH(floor, f64x4, 4, __builtin_floor, __builtin_ia32_roundpd256(x, 9))
WEFT_MATH(floor, f32x8, 8, __builtin_floorf, __builtin_ia32_roundps256(x, 9))
WEFT_MATH(floor, f32x4, 4, __builtin_floorf, __builtin_ia32_roundps(x, 9))
WEFT_MATH(ceil, f64x4, 4, __builtin_ceil, __builtin_ia32_roundpd256(x, 10))
WEFT_MATH(ceil, f32x8, 8, __builtin_ceilf, __builtin_ia32_roundps256(x, 10))
WEFT_MATH(ceil, f32x4, 4, __builtin_ceilf, __builtin_ia32_roundps(x, 10))
WEFT_MATH(trunc, f64x4, 4, __builtin_trunc, __builtin_ia32_roundpd256(x, 11))
WEFT_MATH(trunc, f32x8, 8, __builtin_truncf, __builtin_ia32_roundps256(x, 11))
WEFT_MATH(trunc, f32x4, 4, __builtin_truncf, __builtin_ia32_roundps(x, 11))
WEFT_MATH(round, f64x4, 4, __builtin_rint, __builtin_ia32_roundpd256(x, 8))
WEFT_MATH(round, f32x8, 8, __builtin_rintf, __builtin_ia32_roundps256(x, 8))
WEFT_MATH(round, f32x4, 4, __builtin_rintf, __builtin_ia32_roundps(x, 8))

// x if it is larger, or smaller, else y: of equals, too, and where one is no number.
#define WEFT_PICK(V, LARGER, SMALLER)                                                  \
    static inline V weft_larger_##V(V x, V y) {                                        \
        WEFT_FAST(LARGER)                                                              \
        return weft_select_##V(x > y, x, y);                                           \
    }                                                                                  \
    static inline V weft_smaller_##V(V x, V y) {                                       \
        WEFT_FAST(SMALLER)                                                             \
        return weft_select_##V(x < y, x, y);                                           \
    }
WEFT_PICK(f64x4, __builtin_ia32_maxpd256(x, y), __builtin_ia32_minpd256(x, y))
WEFT_PICK(f32x8, __builtin_ia32_maxps256(x, y), __builtin_ia32_minps256(x, y))
WEFT_PICK(f32x4, __builtin_ia32_maxps(x, y), __builtin_ia32_minps(x, y))

#define WEFT_FMA(V, n, math)                                                           \
    static inline V weft_fma_##V(V x, V y, V z) {                                      \
        for (int i = 0; i < n; i++) z[i] = math(x[i], y[i], z[i]);                     \
        return z;                                                                      \
    }
#if defined(__FMA__)
#define weft_fma_f64x4(x, y, z) __builtin_ia32_vfmaddpd256(x, y, z)
#define weft_fma_f32x8(x, y, z) __builtin_ia32_vfmaddps256(x, y, z)
#define weft_fma_f32x4(x, y, z) __builtin_ia32_vfmaddps(x, y, z)
#else
WEFT_FMA(f64x4, 4, __builtin_fma)
WEFT_FMA(f32x8, 8, __builtin_fmaf)
WEFT_FMA(f32x4, 4, __builtin_fmaf)
#endif

// Quotients of integers by floats. x and y are integers of at most 50 bits in f64, of
// 17 in f32, and so are exact; c = (1 - y) / 2 is, too. With n and r for x = n y + r,
// 0 <= r < y, (x + c) / y lies between n - 1/2 + 1/2y and n + 1/2 - 1/2y. Taken by the
// inverse of y it is off by less than 1/2y, so that n is the number next to it, and
// that is what adding MORE leaves in the low bits. For y below 0 the same holds with c
// = (-1 - y) / 2; to round to zero, with |y| and the sign of x. Remainders are exact.
#define WEFT_DIVIDE(F, U, T, ONE, MORE)                                                \
    static inline F weft_part_##F(U x, int shift, uint64_t low, uint64_t half) {       \
        const U bits = x >> weft_splat_##U(shift) & weft_splat_##U(low);               \
        return (F)(bits | (U)weft_splat_##F(ONE)) - weft_splat_##F(ONE + (T)half);     \
    }                                                                                  \
    static inline F weft_signed_##F(F x, F y) {                                        \
        return (F)((U)x | ((U)y & (U)weft_splat_##F(-(T)0)));                          \
    }                                                                                  \
    static inline F weft_div_##F(F x, F y) {                                           \
        const F half = weft_splat_##F((T)0.5);                                         \
        const F c = weft_signed_##F(half, y) - half * y;                               \
        return weft_fma_##F(x + c, weft_splat_##F(1) / y, weft_splat_##F(MORE));       \
    }                                                                                  \
    static inline F weft_quot_##F(F x, F y) {                                          \
        const F half = weft_splat_##F((T)0.5);                                         \
        const F above = (F)((U)y & ~(U)weft_splat_##F(-(T)0));                         \
        const F c = weft_signed_##F(half * above - half, x);                           \
        return weft_fma_##F(x - c, weft_splat_##F(1) / y, weft_splat_##F(MORE));       \
    }                                                                                  \
    static inline F weft_mod_##F(F x, F y) {                                           \
        const F n = weft_div_##F(x, y) - weft_splat_##F(MORE);                         \
        return weft_fma_##F(-n, y, x) + weft_splat_##F(MORE);                          \
    }                                                                                  \
    static inline F weft_rem_##F(F x, F y) {                                           \
        const F n = weft_quot_##F(x, y) - weft_splat_##F(MORE);                        \
        return weft_fma_##F(-n, y, x) + weft_splat_##F(MORE);                          \
    }                                                                                  \
    static inline U weft_number_##F(F x) {                                             \
        return (U)x - (U)weft_splat_##F(MORE);                                         \
    }
WEFT_DIVIDE(f64x4, u64x4, double, 0x1p52, 0x1.8p52)
WEFT_DIVIDE(f32x8, u32x8, float, 0x1p23f, 0x1.8p23f)
WEFT_DIVIDE(f32x4, u32x4, float, 0x1p23f, 0x1.8p23f)

// Of a vector V, whose unsigned type is L, in one, two or four vectors F, whose
// integers are U: of lanes beside each other each has one, so that nothing changes
// places.
#define WEFT_DIVIDE_IN(op, V, L, F, U, is_signed, bits, ...)                           \
    static inline V weft_##op##_##V##_##bits(V x, V y) {                               \
        const uint64_t low = ((uint64_t)1 << bits) - 1,                                \
                       half = is_signed * (low / 2 + 1);                               \
        const L a = (L)x + weft_splat_##L(half), b = (L)y + weft_splat_##L(half);      \
        return (V)(__VA_ARGS__);                                                       \
    }
#define WEFT_DIVIDE_PART(op, F, U, shift)                                              \
    ((U)weft_##op##_##F(weft_part_##F((U)a, shift, low, half),                         \
                        weft_part_##F((U)b, shift, low, half)))
#define WEFT_LOW_PART(op, F, U, shift)                                                 \
    ((WEFT_DIVIDE_PART(op, F, U, shift) & weft_splat_##U(low)) << shift)
#define WEFT_DIVIDE_1(op, V, L, F, U, is_signed, bits)                                 \
    WEFT_DIVIDE_IN(op, V, L, F, U, is_signed, bits,                                    \
                   weft_number_##F((F)WEFT_DIVIDE_PART(op, F, U, 0)))
#define WEFT_DIVIDE_2(op, V, L, F, U, is_signed, bits)                                 \
    WEFT_DIVIDE_IN(op, V, L, F, U, is_signed, bits,                                    \
                   WEFT_LOW_PART(op, F, U, 0) | WEFT_DIVIDE_PART(op, F, U, bits)       \
                                                    << bits)
#define WEFT_DIVIDE_4(op, V, L, F, U, is_signed, bits)                                 \
    WEFT_DIVIDE_IN(op, V, L, F, U, is_signed, bits,                                    \
                   WEFT_LOW_PART(op, F, U, 0) | WEFT_LOW_PART(op, F, U, 8) |           \
                       WEFT_LOW_PART(op, F, U, 16) |                                   \
                       WEFT_DIVIDE_PART(op, F, U, 24) << 24)

// Of 64 bits; if one has more than 50, lane by lane.
#define WEFT_DIVIDE_LONG(op, V, F, U, is_signed, S, n, each)                           \
    WEFT_DIVIDE_1(op, V, U, F, U, is_signed, 50)                                       \
    static inline V weft_##op##_each_##V(V x, V y) {                                   \
        V r;                                                                           \
        for (int i = 0; i < n; i++) r[i] = each;                                       \
        return r;                                                                      \
    }                                                                                  \
    static inline V weft_##op##_##V##_64(V x, V y) {                                   \
        const U half = weft_splat_##U((uint64_t)is_signed << 49);                      \
        const U more = (((U)x + half) | ((U)y + half)) >> 50;                          \
        if (__builtin_expect(weft_all_##S(more == 0), 1))                              \
            return weft_##op##_##V##_50(x, y);                                         \
        return weft_##op##_each_##V(x, y);                                             \
    }

// Integers as floats, rounded once: the upper and the lower half, each in the fraction
// of a power of two, which subtracting takes off exactly.
#define WEFT_FLOAT(V, BITS, POWERS)                                                    \
    static inline f64x4 weft_float_##V(V x) {                                          \
        const u64x4 upper = ((u64x4)x >> 32) ^ BITS;                                   \
        const u64x4 lower = ((u64x4)x & 0xffffffff) | 0x4330000000000000;              \
        return ((f64x4)upper - POWERS) + (f64x4)lower;                                 \
    }
WEFT_FLOAT(u64x4, 0x4530000000000000, 0x1.00000001p84)
WEFT_FLOAT(i64x4, 0x4530000080000000, 0x1.00000801p84)

// x + step * (first + l) for each lane l as floats, first + l being less than 64. Where
// nothing is rounded on the way it is computed in lanes.
#define WEFT_STEPS(V, T, n, BITS, ...)                                                 \
    static inline V weft_steps_##V(int64_t x, int64_t step, int32_t first) {           \
        const uint64_t half = (uint64_t)1 << BITS;                                     \
        if ((uint64_t)x + half <= 2 * half && (uint64_t)step + half / 64 <= half / 32) \
            return __VA_ARGS__;                                                        \
        V r;                                                                           \
        for (int i = 0; i < n; i++)                                                    \
            r[i] = (T)(int64_t)((uint64_t)x + (uint64_t)step * (uint64_t)(first + i)); \
        return r;                                                                      \
    }
WEFT_STEPS(f64x4, double, 4, 51,
           weft_splat_f64x4((double)x) + ((f64x4){0, 1, 2, 3} + first) * (double)step)
WEFT_STEPS(f32x8, float, 8, 29,
           __builtin_convertvector(weft_splat_i32x8((int32_t)x) +
                                       ((i32x8){0, 1, 2, 3, 4, 5, 6, 7} + first) *
                                           (int32_t)step,
                                   f32x8))
WEFT_STEPS(f32x4, float, 4, 29,
           __builtin_convertvector(weft_splat_i32x4((int32_t)x) +
                                       ((i32x4){0, 1, 2, 3} + first) * (int32_t)step,
                                   f32x4))
