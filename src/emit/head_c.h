
#define WEFT_FUN static inline
#define WEFT_GLOBAL
#define WEFT_LINE    64 // bytes of a cache line: no vector in private memory crosses one
#define WEFT_STAGGER 832

// Machines that put together and spread bits in one instruction that is fast.
#if defined(__AVX2__) && defined(__BMI2__) && !defined(__znver1__) &&                  \
    !defined(__znver2__)
#define WEFT_BITS
#endif

static inline void weft_grow(KernelEnv *env, char *top) {
    env->top = top;
    if (top > env->high) env->high = top;
}

static inline void weft_move(char *to, const char *from, uint64_t bytes) {
    __builtin_memmove(to, from, bytes);
}

static __attribute__((noinline, cold)) int32_t
weft_fail(KernelEnv *env, int32_t check, int32_t count, const uint64_t *values) {
    env->fault.check = check;
    env->fault.call_count = 0;
    for (int32_t i = 0; i < count; i++) env->fault.values[i] = values[i];
    return KERNEL_FAULT;
}

// Private memory runs out.
static __attribute__((noinline, cold)) void weft_short(KernelEnv *env, uint64_t count,
                                                       uint64_t size) {
    env->fault.wanted = count > UINT64_MAX / size ? UINT64_MAX : count * size;
}

// A call did not return well.
static __attribute__((noinline, cold)) void weft_called(KernelEnv *env, int32_t call) {
    if (env->fault.call_count < KERNEL_FAULT_CALLS)
        env->fault.calls[env->fault.call_count++] = call;
}

static inline int32_t weft_popc(uint64_t x) {
    return __builtin_popcountll(x);
}

static inline int32_t weft_clz(uint64_t x) { // x != 0, as for weft_ctz
    return __builtin_clzll(x);
}

static inline int32_t weft_ctz(uint64_t x) {
    return __builtin_ctzll(x);
}

static inline int64_t weft_mulhi_i64(int64_t x, int64_t y) {
    return (int64_t)((__int128)x * y >> 64);
}

static inline uint64_t weft_mulhi_u64(uint64_t x, uint64_t y) {
    return (uint64_t)((unsigned __int128)x * y >> 64);
}
