// SPDX-License-Identifier: Apache-2.0
//
// When a result is what a test expects: floats within a tolerance, all else exactly.
#include <math.h>
#include <string.h>

#include "api/api.h"
#include "data/float.h"

static double to_double(ScalarType elem, uint64_t bits) {
    if (elem == SCALAR_F64) {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    if (elem == SCALAR_F32) {
        uint32_t low = (uint32_t)bits;
        float x;
        memcpy(&x, &low, sizeof x);
        return (double)x;
    }
    int exponent = (int)(bits >> 10 & 31);
    double mantissa = (double)(bits & 1023) / 1024;
    double x =
        exponent == 0 ? ldexp(mantissa, -14) : ldexp(1 + mantissa, exponent - 15);
    return (bits & 0x8000) != 0 ? -x : x;
}

typedef struct Compare {
    ScalarType elem;
    double tolerance; // absolute
} Compare;

static bool same_element(const Compare *c, uint64_t x, uint64_t y) {
    if (x == y || !scalar_is_float(c->elem)) return x == y;
    bool is_nan = float_is_nan(c->elem, x);
    if (is_nan || float_is_nan(c->elem, y)) return is_nan && float_is_nan(c->elem, y);
    if (float_is_inf(c->elem, x) || float_is_inf(c->elem, y)) return false;
    return fabs(to_double(c->elem, x) - to_double(c->elem, y)) <= c->tolerance;
}

// The largest finite magnitude from depth on.
static double largest(const RtArray *a, uint32_t depth, const char *at) {
    if (depth == a->rank) {
        uint64_t bits = rt_load(a->elem, at);
        bool is_finite = !float_is_nan(a->elem, bits) && !float_is_inf(a->elem, bits);
        return is_finite ? fabs(to_double(a->elem, bits)) : 0;
    }
    double most = 0;
    int64_t step = a->strides[depth] * (int64_t)scalar_info[a->elem].bytes;
    for (int64_t i = 0; i < a->shape[depth]; i++) {
        double one = largest(a, depth + 1, at + i * step);
        if (one > most) most = one;
    }
    return most;
}

static bool same_array(const Compare *c, const RtArray *a, const RtArray *b,
                       uint32_t depth, const char *p, const char *q) {
    int64_t width = scalar_info[a->elem].bytes;
    if (depth == a->rank)
        return same_element(c, rt_load(a->elem, p), rt_load(b->elem, q));
    for (int64_t i = 0; i < a->shape[depth]; i++)
        if (!same_array(c, a, b, depth + 1, p + i * a->strides[depth] * width,
                        q + i * b->strides[depth] * width))
            return false;
    return true;
}

static bool same_leaf(const RtValue *found, const RtValue *expected, double tolerance) {
    enum { FLOOR = 1000000 }; // below a millionth, differences do not count
    if (found->elem != expected->elem || found->rank != expected->rank) return false;
    Compare c = {.elem = found->elem};
    const RtArray *a = found->array, *b = expected->array;
    if (scalar_is_float(c.elem)) {
        double most = found->rank == 0 ? to_double(c.elem, expected->bits)
                                       : largest(b, 0, b->data);
        c.tolerance = isfinite(most) ? fabs(most) * tolerance : 0;
        if (tolerance > 0 && c.tolerance < 1.0 / FLOOR) c.tolerance = 1.0 / FLOOR;
    }
    if (found->rank == 0) return same_element(&c, found->bits, expected->bits);
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return rt_count(a) == 0 || same_array(&c, a, b, 0, a->data, b->data);
}

// Payloads of constructors that were not chosen are of no account.
static bool is_structured(const DataType *type) {
    switch (type->kind) {
    case DATA_LEAF: return false;
    case DATA_SUM: return true;
    case DATA_ARRAY: return is_structured(type->inner);
    case DATA_RECORD: break;
    }
    for (uint32_t i = 0; i < type->count; i++)
        if (is_structured(type->fields[i].type)) return true;
    return false;
}

static bool append(void *data, const char *bytes, size_t len) {
    strbuf_bytes(data, bytes, len);
    return true;
}

// Sums are compared as they print.
static bool same_text(Arena *arena, const WeftValue *found, const WeftValue *expected) {
    const WeftValue *values[2] = {found, expected};
    Str texts[2];
    for (int i = 0; i < 2; i++) {
        StrBuf text = strbuf(arena);
        DataSink sink = {.write = append, .data = &text};
        data_print(&sink, values[i]->type, values[i]->leaves);
        data_flush(&sink);
        texts[i] = strbuf_done(&text);
    }
    return str_eq(texts[0], texts[1]);
}

typedef struct EqualCall {
    const WeftValue *found, *expected;
    double tolerance;
    bool is_equal;
} EqualCall;

static WeftStatus compare(WeftContext *context, void *data) {
    EqualCall *call = data;
    const WeftValue *found = call->found, *expected = call->expected;
    if (is_structured(found->type)) {
        call->is_equal = same_text(&context->scratch, found, expected);
        return WEFT_STATUS_OK;
    }
    call->is_equal = true;
    for (uint32_t i = 0; call->is_equal && i < found->leaf_count; i++)
        call->is_equal =
            same_leaf(&found->leaves[i], &expected->leaves[i], call->tolerance);
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_equal(const WeftValue *found, const WeftValue *expected,
                            double tolerance, int *equal_out) {
    if (found == NULL || expected == NULL || equal_out == NULL ||
        found->context != expected->context)
        return WEFT_STATUS_USAGE;
    EqualCall call = {.found = found, .expected = expected, .tolerance = tolerance};
    WeftStatus status = WEFT_STATUS_OK;
    if (found->leaf_count == expected->leaf_count)
        status = api_guard(found->context, API_KEEPS, compare, &call);
    if (status == WEFT_STATUS_OK) *equal_out = call.is_equal;
    return status;
}
