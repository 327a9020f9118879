
// ---- private memory -----------------------------------------------------------------

// A block is WEFT_LINE bytes that begin with its length, and its data. Large ones have
// WEFT_STAGGER bytes more: arrays of 2^n bytes do not share their places in the caches.
WEFT_FUN WEFT_GLOBAL void *weft_alloc(KernelEnv *env, uint64_t count, uint64_t size) {
    uint64_t room = (uint64_t)(env->limit - env->top);
    uint64_t most = 2 * WEFT_LINE + WEFT_STAGGER; // beside the data
    if (room < most || count > (room - most) / size) {
        weft_short(env, count, size);
        return 0;
    }
    WEFT_GLOBAL char *block = env->top;
    uint64_t lines = (count * size + WEFT_LINE - 1) / WEFT_LINE;
    uint64_t bytes = WEFT_LINE + lines * WEFT_LINE;
    if (bytes > 4096) bytes += WEFT_STAGGER;
    *(WEFT_GLOBAL uint64_t *)block = bytes;
    weft_grow(env, block + bytes);
    return block + WEFT_LINE;
}

// Blocks from the mark on are dropped, but for these, which move down in their order.
WEFT_FUN void weft_keep(KernelEnv *env, WEFT_GLOBAL char *mark,
                        WEFT_GLOBAL char **kept, int32_t count) {
    WEFT_GLOBAL char *end = env->top, *to = mark;
    for (;;) {
        WEFT_GLOBAL char *least = 0;
        for (int32_t i = 0; i < count; i++) {
            WEFT_GLOBAL char *at = kept[i] - WEFT_LINE;
            if (at >= to && at < end && (least == 0 || at < least)) least = at;
        }
        if (least == 0) break;
        uint64_t bytes = *(WEFT_GLOBAL uint64_t *)least;
        if (least != to) weft_move(to, least, bytes);
        for (int32_t i = 0; i < count; i++)
            if (kept[i] - WEFT_LINE == least) kept[i] = to + WEFT_LINE;
        to += bytes;
    }
    env->top = to;
}

WEFT_FUN uint32_t weft_bits_f32(float x) {
    union { float f; uint32_t u; } v;
    v.f = x;
    return v.u;
}

// The bits, of NaN always the same ones. As integers, for which what comes from memory
// need not go through a register of floats.
WEFT_FUN uint32_t weft_number_f32(float x) {
    const uint32_t bits = weft_bits_f32(x);
    return bits << 1 > 0xff000000u ? 0x7fc00000u : bits;
}

WEFT_FUN float weft_f32(uint64_t bits) {
    union { float f; uint32_t u; } v;
    v.u = (uint32_t)bits;
    return v.f;
}
