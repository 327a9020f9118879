
// ---- sifting ------------------------------------------------------------------------

// Of n elements of each array those whose flag is set go to `to` from `at` on; the
// place after the last of them. What comes before place `end`, for which there is room,
// may be overwritten with anything. `count`, the number of arrays, is constant.
#define WEFT_EACH _Pragma("GCC unroll 8") for (int32_t a = 0; a < count; a++)
#define WEFT_SIFT(bits, T, MOVE)                                                       \
    static inline __attribute__((always_inline))                                       \
    int64_t weft_sift_##bits(int32_t count, char *const *to, int64_t at, int64_t end,  \
                             const char *const *x, const bool *flags, int64_t n) {     \
        int64_t i = 0;                                                                 \
        MOVE;                                                                          \
        for (; i < n && at < end; i++) {                                               \
            WEFT_EACH                                                                  \
            __builtin_memcpy(to[a] + at * (int64_t)sizeof(T),                          \
                             x[a] + i * (int64_t)sizeof(T), sizeof(T));                \
            at += flags[i];                                                            \
        }                                                                              \
        return at;                                                                     \
    }

// Several at a time where bits can be put together in one instruction that is fast: the
// numbers of those that are kept, or themselves if they are small.
#if defined(WEFT_BITS)
typedef int32_t weft_8i __attribute__((vector_size(32)));

// A byte for each number; gcc has no short way to say it otherwise.
#if defined(__clang__)
typedef uint8_t weft_8u __attribute__((vector_size(8)));
#define WEFT_WIDE(bytes) __builtin_convertvector((weft_8u)(bytes), weft_8i)
#else
typedef char weft_16c __attribute__((vector_size(16)));
typedef uint64_t weft_2u __attribute__((vector_size(16)));
#define WEFT_WIDE(bytes) __builtin_ia32_pmovzxbd256((weft_16c)(weft_2u){bytes, 0})
#endif

// The eight 32-bit numbers of a vector that these are.
static inline void weft_choose(char *to, const char *from, weft_8i which) {
    weft_8i x;
    __builtin_memcpy(&x, from, sizeof x);
    x = (weft_8i)__builtin_ia32_permvarsi256(x, which);
    __builtin_memcpy(to, &x, sizeof x);
}

#define WEFT_MOVE(T, F, FLAGS, FIRST, KEEP)                                            \
    for (; i + (int64_t)sizeof(F) <= n && at + (int64_t)sizeof(F) <= end;              \
         i += (int64_t)sizeof(F)) {                                                    \
        F kept;                                                                        \
        __builtin_memcpy(&kept, flags + i, sizeof kept);                               \
        const uint64_t mask = FLAGS;                                                   \
        FIRST                                                                          \
        WEFT_EACH {                                                                    \
            const char *few = x[a] + i * (int64_t)sizeof(T);                           \
            char *there = to[a] + at * (int64_t)sizeof(T);                             \
            KEEP                                                                       \
        }                                                                              \
        at += __builtin_popcountll(kept);                                              \
    }
#define WEFT_BYTES (kept * 0xff)
#define WEFT_PAIRS (__builtin_ia32_pdep_di(kept, 0x00ff00ff00ff00ffu) * 0xffff)
#define WEFT_NUMBERS                                                                   \
    const uint64_t bytes = __builtin_ia32_pext_di(0x0706050403020100u, mask);          \
    const weft_8i which = (weft_8i)WEFT_WIDE(bytes);
#define WEFT_NUMBERED weft_choose(there, few, which);
#define WEFT_THEMSELVES                                                                \
    uint64_t some;                                                                     \
    __builtin_memcpy(&some, few, sizeof some);                                         \
    some = __builtin_ia32_pext_di(some, mask);                                         \
    __builtin_memcpy(there, &some, sizeof some);
#else
#define WEFT_MOVE(T, F, FLAGS, FIRST, KEEP)
#endif

// A vector of 64 bytes at a time.
#if defined(WEFT_BITS) && defined(__AVX512F__)
typedef long long weft_8q __attribute__((vector_size(64)));
typedef int weft_16d __attribute__((vector_size(64)));

// Eight flags as bits.
static inline uint32_t weft_8_bits(const bool *flags) {
    uint64_t few;
    __builtin_memcpy(&few, flags, sizeof few);
    return (uint32_t)__builtin_ia32_pext_di(few, 0x0101010101010101u);
}

#define WEFT_PRESS(V, T, BITS, COMPRESS)                                               \
    enum { LANES = sizeof(V) / sizeof(T) };                                            \
    for (; i + LANES <= n && at + LANES <= end; i += LANES) {                          \
        const uint32_t kept = BITS;                                                    \
        WEFT_EACH {                                                                    \
            V some;                                                                    \
            __builtin_memcpy(&some, x[a] + i * (int64_t)sizeof(T), sizeof some);       \
            some = (V)COMPRESS(some, some, kept);                                      \
            __builtin_memcpy(to[a] + at * (int64_t)sizeof(T), &some, sizeof some);     \
        }                                                                              \
        at += __builtin_popcount(kept);                                                \
    }
#define WEFT_16_BITS (weft_8_bits(flags + i) | weft_8_bits(flags + i + 8) << 8)
#define WEFT_PRESS_32                                                                  \
    WEFT_PRESS(weft_16d, uint32_t, WEFT_16_BITS, __builtin_ia32_compresssi512_mask)
#define WEFT_PRESS_64                                                                  \
    WEFT_PRESS(weft_8q, uint64_t, weft_8_bits(flags + i),                              \
               __builtin_ia32_compressdi512_mask)
#else
#define WEFT_PRESS_32
#define WEFT_PRESS_64
#endif

WEFT_SIFT(8, uint8_t, WEFT_MOVE(uint8_t, uint64_t, WEFT_BYTES, , WEFT_THEMSELVES))
WEFT_SIFT(16, uint16_t, WEFT_MOVE(uint16_t, uint32_t, WEFT_PAIRS, , WEFT_THEMSELVES))
WEFT_SIFT(32, uint32_t,
          WEFT_PRESS_32 WEFT_MOVE(uint32_t, uint64_t, WEFT_BYTES, WEFT_NUMBERS,
                                  WEFT_NUMBERED))
WEFT_SIFT(64, uint64_t,
          WEFT_PRESS_64 WEFT_MOVE(uint64_t, uint32_t, WEFT_PAIRS, WEFT_NUMBERS,
                                  WEFT_NUMBERED))
