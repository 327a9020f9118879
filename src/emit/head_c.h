
static void *weft_alloc(KernelEnv *env, uint64_t count, uint64_t size) {
    uint64_t room = (uint64_t)(env->limit - env->top);
    if (room < 64 || count > (room - 64) / size) return 0;
    char *block = env->top;
    uint64_t bytes = 16 + ((count * size + 15) & ~(uint64_t)15);
    *(uint64_t *)block = bytes;
    env->top = block + bytes;
    if (env->top > env->high) env->high = env->top;
    return block + 16;
}

// Blocks from the mark on are dropped, but for these, which move down in their order.
static void weft_keep(KernelEnv *env, char *mark, void **kept, int count) {
    char *end = env->top, *to = mark;
    for (;;) {
        char *least = 0;
        for (int i = 0; i < count; i++) {
            char *at = (char *)kept[i] - 16;
            if (at >= to && at < end && (least == 0 || at < least)) least = at;
        }
        if (least == 0) break;
        uint64_t bytes = *(uint64_t *)least;
        if (least != to) __builtin_memmove(to, least, bytes);
        for (int i = 0; i < count; i++)
            if ((char *)kept[i] - 16 == least) kept[i] = to + 16;
        to += bytes;
    }
    env->top = to;
}

static __attribute__((noinline, cold)) int32_t
weft_fail(KernelEnv *env, int32_t check, int count, const uint64_t *values) {
    env->fault.check = check;
    env->fault.call_count = 0;
    for (int i = 0; i < count; i++) env->fault.values[i] = values[i];
    return KERNEL_FAULT;
}

// A call did not return well.
static __attribute__((noinline, cold)) void weft_called(KernelEnv *env, int32_t call) {
    if (env->fault.call_count < KERNEL_FAULT_CALLS)
        env->fault.calls[env->fault.call_count++] = call;
}

static inline uint64_t weft_bits_f32(float x) {
    union { float f; uint32_t u; } v = {x};
    return v.u;
}
static inline uint64_t weft_bits_f64(double x) {
    union { double f; uint64_t u; } v = {x};
    return v.u;
}
static inline float weft_f32(uint64_t bits) {
    union { uint32_t u; float f; } v = {(uint32_t)bits};
    return v.f;
}
static inline double weft_f64(uint64_t bits) {
    union { uint64_t u; double f; } v = {bits};
    return v.f;
}
