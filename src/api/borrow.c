// SPDX-License-Identifier: Apache-2.0
//
// Arrays in the caller's memory. Whatever the interpreter or a later engine assumes of
// elements is checked here, for nothing checks it again.
#include <string.h>

#include "api/api.h"

// ---- borrowing ----------------------------------------------------------------------

typedef struct BorrowCall {
    ScalarType elem;
    size_t rank;
    const int64_t *shape, *strides; // strides NULL: row-major
    const char *data;
    RtLender lender;
    WeftValue **out;
} BorrowCall;

static void row_major(uint32_t rank, const int64_t *shape, int64_t *strides) {
    int64_t stride = 1;
    for (uint32_t d = rank; d-- > 0;) {
        strides[d] = stride;
        if (__builtin_mul_overflow(stride, shape[d], &stride)) stride = 0;
    }
}

// Whether every element lies within what pointers can reach.
static bool is_reachable(const BorrowCall *call, const int64_t *strides) {
    int64_t reach = scalar_info[call->elem].bytes;
    for (size_t d = 0; d < call->rank; d++) {
        int64_t span;
        if (strides[d] == INT64_MIN) return false;
        int64_t step = strides[d] < 0 ? -strides[d] : strides[d];
        if (__builtin_mul_overflow(call->shape[d] - 1, step, &span) ||
            __builtin_mul_overflow(span, (int64_t)scalar_info[call->elem].bytes,
                                   &span) ||
            __builtin_add_overflow(reach, span, &reach))
            return false;
    }
    return true;
}

static bool are_bools(const RtArray *a, uint32_t depth, const char *at) {
    if (depth == a->rank) return *at == 0 || *at == 1;
    for (int64_t i = 0; i < a->shape[depth]; i++)
        if (!are_bools(a, depth + 1, at + i * a->strides[depth])) return false;
    return true;
}

static WeftStatus check_borrow(WeftContext *context, const BorrowCall *call,
                               int64_t *strides) {
    if (call->elem >= SCALAR_COUNT || call->rank > DATA_MOST_RANK || call->rank == 0 ||
        call->shape == NULL)
        return api_fail(context, WEFT_STATUS_USAGE, "no such type of array");
    size_t bytes;
    for (size_t d = 0; d < call->rank; d++)
        if (call->shape[d] < 0)
            return api_fail(context, WEFT_STATUS_USAGE, "a size is negative");
    if (!rt_byte_count(call->elem, (uint32_t)call->rank, call->shape, &bytes))
        return api_fail(context, WEFT_STATUS_USAGE, "the array has too many elements");
    row_major((uint32_t)call->rank, call->shape, strides);
    if (bytes == 0) return WEFT_STATUS_OK;
    if (call->strides != NULL)
        memcpy(strides, call->strides, call->rank * sizeof *strides);
    if (call->data == NULL)
        return api_fail(context, WEFT_STATUS_USAGE, "there is no data");
    if ((uintptr_t)call->data % scalar_info[call->elem].bytes != 0)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "the data is not aligned to its elements of %u bytes",
                        (unsigned)scalar_info[call->elem].bytes);
    if (!is_reachable(call, strides))
        return api_fail(context, WEFT_STATUS_USAGE, "the strides are too large");
    RtArray seen = {.rank = (uint32_t)call->rank,
                    .shape = (int64_t *)call->shape,
                    .strides = strides};
    if (call->elem == SCALAR_BOOL && !are_bools(&seen, 0, call->data))
        return api_fail(context, WEFT_STATUS_VALUE, "a bool is neither 0 nor 1");
    return WEFT_STATUS_OK;
}

// The array is made last, so that no failure releases what was lent.
static WeftStatus borrow(WeftContext *context, void *data) {
    const BorrowCall *call = data;
    int64_t strides[DATA_MOST_RANK];
    WeftStatus status = check_borrow(context, call, strides);
    if (status != WEFT_STATUS_OK) return status;
    uint32_t rank = (uint32_t)call->rank;
    WeftValue *value = api_value_new(context, NULL, 1);
    api_value_describe(value, call->elem, rank);
    RtArray *array = rt_lent(&context->heap, call->elem, rank, call->shape, strides,
                             (char *)call->data, call->lender);
    if (array == NULL) mem_fail(&context->mem);
    value->leaves[0] = (RtValue){.elem = call->elem, .rank = rank, .array = array};
    *call->out = value;
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_borrow(WeftContext *context, WeftScalar element, size_t rank,
                             const int64_t *shape, const int64_t *strides,
                             const void *data, void (*release)(void *release_data),
                             void *release_data, WeftValue **value_out) {
    if (context == NULL || value_out == NULL) return WEFT_STATUS_USAGE;
    BorrowCall call = {.elem = (ScalarType)element,
                       .rank = rank,
                       .shape = shape,
                       .strides = strides,
                       .data = data,
                       .lender = {release, release_data},
                       .out = value_out};
    return api_guard(context, API_KEEPS, borrow, &call);
}
