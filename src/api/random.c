// SPDX-License-Identifier: Apache-2.0
//
// Arrays of random elements, for trying programs out. The generator is SplitMix64
// (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
#include <string.h>

#include "abi/half.h"
#include "api/api.h"

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Floats are multiples of the least step below 1, so that none is rounded.
static uint64_t random_bits(ScalarType elem, uint64_t *state) {
    uint64_t bits = next_random(state);
    double wide = (double)(bits >> 11) * 0x1p-53;
    float narrow = (float)(bits >> 40) * 0x1p-24f;
    uint32_t low;
    memcpy(&low, &narrow, sizeof low);
    unsigned shift = 64 - 8 * (unsigned)scalar_info[elem].bytes;
    if (elem == SCALAR_BOOL) return bits & 1;
    if (elem == SCALAR_F32) return low;
    if (elem == SCALAR_F16) return half_of_double((double)(bits >> 53) * 0x1p-11);
    if (elem == SCALAR_F64) memcpy(&bits, &wide, sizeof bits);
    return bits << shift >> shift;
}

// "[10][3]f32"; false if it is no such type.
static bool parse_type(const char *text, size_t len, ScalarType *elem, uint32_t *rank,
                       int64_t *shape) {
    const char *end = text + len; // where a zero or a blank stands
    for (*rank = 0; *text == '['; ++*rank) {
        int64_t size = 0;
        const char *start = ++text;
        if (*rank == DATA_MOST_RANK) return false;
        for (; *text >= '0' && *text <= '9'; text++)
            if (__builtin_mul_overflow(size, (int64_t)10, &size) ||
                __builtin_add_overflow(size, (int64_t)(*text - '0'), &size))
                return false;
        if (text == start || *text++ != ']') return false;
        shape[*rank] = size;
    }
    return scalar_by_name(text, (size_t)(end - text), elem);
}

// ---- in a test block ----------------------------------------------------------------

// Appends one random value in the binary format.
static void put_random(StrBuf *out, ScalarType elem, uint32_t rank,
                       const int64_t *shape, uint64_t *state) {
    size_t bytes = 0, width = scalar_info[elem].bytes;
    if (!rt_byte_count(elem, rank, shape, &bytes)) mem_fail(out->arena->mem);
    strbuf_bytes(out, (char[]){'b', 2, (char)rank}, 3);
    strbuf_bytes(out, scalar_info[elem].binary_name, 4);
    strbuf_bytes(out, (const char *)shape, rank * sizeof *shape);
    for (size_t i = 0; i < bytes; i += width) {
        char element[8];
        rt_store(elem, element, random_bits(elem, state));
        strbuf_bytes(out, element, width);
    }
}

WeftStatus api_random_bytes(WeftContext *context, const char *types, Str *bytes_out) {
    static const char blanks[] = " \t\r\n";
    StrBuf out = strbuf(&context->scratch);
    uint64_t state = 1;
    for (const char *at = types; *(at += strspn(at, blanks)) != '\0';) {
        size_t len = strcspn(at, blanks);
        int64_t shape[DATA_MOST_RANK];
        ScalarType elem;
        uint32_t rank;
        if (parse_type(at, len, &elem, &rank, shape)) {
            put_random(&out, elem, rank, shape, &state);
        } else if (strchr("0123456789-tf", *at) != NULL) { // else it is a value
            strbuf_char(&out, ' ');
            strbuf_bytes(&out, at, len);
            strbuf_char(&out, '\n');
        } else {
            StrBuf why = strbuf(&context->scratch);
            strbuf_printf(&why, "`%.*s` is not a type for random input", (int)len, at);
            return api_fault_value(context, "input", 0, 0, strbuf_done(&why), STR(""));
        }
        at += len;
    }
    *bytes_out = strbuf_done(&out);
    return WEFT_STATUS_OK;
}

// ---- by itself ----------------------------------------------------------------------

typedef struct RandomCall {
    const char *type;
    uint64_t seed;
    WeftValue **out;
} RandomCall;

static WeftStatus make_random(WeftContext *context, void *data) {
    RandomCall *call = data;
    int64_t shape[DATA_MOST_RANK];
    RtValue leaf = {.rank = 0};
    uint64_t state = call->seed;
    if (!parse_type(call->type, strlen(call->type), &leaf.elem, &leaf.rank, shape))
        return api_fail(context, WEFT_STATUS_USAGE,
                        "`%s` is no type with sizes such as [1000]f32", call->type);
    WeftValue *value = api_value_new(context, NULL, 1);
    if (leaf.rank == 0) {
        leaf.bits = random_bits(leaf.elem, &state);
    } else {
        leaf.array = rt_new(&context->heap, leaf.elem, leaf.rank, shape);
        if (leaf.array == NULL) mem_fail(&context->mem);
        size_t count = (size_t)rt_count(leaf.array),
               width = scalar_info[leaf.elem].bytes;
        for (size_t i = 0; i < count; i++)
            rt_store(leaf.elem, leaf.array->data + i * width,
                     random_bits(leaf.elem, &state));
    }
    api_value_describe(value, leaf.elem, leaf.rank);
    value->leaves[0] = leaf;
    *call->out = value;
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_random(WeftContext *context, const char *type, uint64_t seed,
                             WeftValue **value_out) {
    if (context == NULL || type == NULL || value_out == NULL) return WEFT_STATUS_USAGE;
    RandomCall call = {type, seed, value_out};
    return api_guard(context, API_STARTS, make_random, &call);
}
