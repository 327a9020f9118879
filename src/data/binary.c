// SPDX-License-Identifier: Apache-2.0
//
// Futhark's binary format, version 2: 'b', 2, the rank, four letters of type, the sizes
// as i64, the elements in row-major order; all little-endian. Nothing is allocated on
// the word of a header before the bytes it promises are seen to be there.
#include <string.h>

#include "data/data.h"
#include "data/float.h"
#include "data/number.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the binary format is little-endian and is copied as it stands");

// ---- reading ------------------------------------------------------------------------

bool data_is_binary(const DataReader *r) {
    return r->bytes.len - r->at >= 2 && r->bytes.ptr[r->at] == 'b' &&
           r->bytes.ptr[r->at + 1] == 2;
}

// Failures within binary data are told by offset, not by line.
static Status fail_binary(DataReader *r, size_t at) {
    r->error_at = at;
    r->error_line = 0;
    r->error_column = 0;
    return STATUS_VALUE;
}

static int64_t load_i64(const char *bytes) {
    int64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

Status data_read_binary(DataReader *r, RtValue *value) {
    size_t start = r->at, left = r->bytes.len - r->at;
    const char *p = r->bytes.ptr + r->at;
    Str wanted = data_show_type(r->arena, value->elem, value->rank);
    if (left < 7) {
        data_fail(r, start, "the input ends within the header of a binary value");
        return fail_binary(r, start);
    }
    uint32_t rank = (unsigned char)p[2];
    ScalarType elem = SCALAR_COUNT;
    for (int t = 0; t < SCALAR_COUNT; t++)
        if (memcmp(p + 3, scalar_info[t].binary_name, 4) == 0) elem = (ScalarType)t;
    if (elem == SCALAR_COUNT) {
        data_fail(r, start, "a binary value of an unknown type; expected %.*s",
                  STR_ARG(wanted));
        return fail_binary(r, start + 3);
    }
    if (elem != value->elem || rank != value->rank) {
        Str found = rank > DATA_MOST_RANK ? STR("value of too many dimensions")
                                          : data_show_type(r->arena, elem, rank);
        data_fail(r, start, "expected %.*s, found a binary %.*s", STR_ARG(wanted),
                  STR_ARG(found));
        return fail_binary(r, start);
    }
    if ((left - 7) / 8 < rank) {
        data_fail(r, start, "the input ends within the sizes of a binary array");
        return fail_binary(r, start);
    }
    size_t width = scalar_info[elem].bytes, at = 7 + 8 * (size_t)rank;
    uint64_t count = 1;
    bool is_empty = false, is_too_big = false;
    int64_t shape[DATA_MOST_RANK];
    for (uint32_t d = 0; d < rank; d++) {
        shape[d] = load_i64(p + 7 + 8 * d);
        if (shape[d] < 0) {
            data_fail(r, start, "the size %lld of a binary array is negative",
                      (long long)shape[d]);
            return fail_binary(r, start + 7 + 8 * d);
        }
        is_empty |= shape[d] == 0;
        is_too_big |= __builtin_mul_overflow(count, (uint64_t)shape[d], &count);
    }
    if (is_empty) count = 0;
    else if (is_too_big || count > (left - at) / width) {
        data_fail(r, start,
                  "a binary %.*s promises more elements than the %zu bytes "
                  "that follow can hold",
                  STR_ARG(wanted), left - at);
        return fail_binary(r, start);
    }
    const char *data = p + at;
    if (rank == 0) {
        value->bits = elem == SCALAR_BOOL ? *data != 0 : rt_load(elem, data);
    } else {
        RtArray *array = rt_new(r->heap, elem, rank, shape);
        if (array == NULL) mem_fail(r->heap->mem);
        memcpy(array->data, data, (size_t)count * width);
        if (elem == SCALAR_BOOL)
            for (uint64_t i = 0; i < count; i++) array->data[i] = array->data[i] != 0;
        value->array = array;
    }
    r->at = start + at + (size_t)count * width;
    return STATUS_OK;
}

// ---- writing ------------------------------------------------------------------------

static void put_element(DataSink *sink, ScalarType elem, uint64_t bits) {
    if (scalar_is_float(elem) && float_is_nan(elem, bits)) bits = float_nan(elem);
    data_put(sink, (const char *)&bits, scalar_info[elem].bytes);
}

static void put_elements(DataSink *sink, const RtArray *a, uint32_t depth,
                         const char *data) {
    int64_t step = a->strides[depth] * (int64_t)scalar_info[a->elem].bytes;
    bool is_last = depth + 1 == a->rank;
    for (int64_t i = 0; i < a->shape[depth] && !sink->has_failed; i++) {
        if (is_last) put_element(sink, a->elem, rt_load(a->elem, data + i * step));
        else put_elements(sink, a, depth + 1, data + i * step);
    }
}

void data_put_elements(DataSink *sink, const RtValue *leaf) {
    const RtArray *a = leaf->array;
    if (leaf->rank == 0) put_element(sink, leaf->elem, leaf->bits);
    else if (rt_count(a) > 0) put_elements(sink, a, 0, a->data);
}

static void write_leaf(DataSink *sink, const RtValue *leaf) {
    char header[3] = {'b', 2, (char)leaf->rank};
    data_put(sink, header, 3);
    data_put(sink, scalar_info[leaf->elem].binary_name, 4);
    for (uint32_t d = 0; d < leaf->rank; d++)
        data_put(sink, (const char *)&leaf->array->shape[d], sizeof(int64_t));
    data_put_elements(sink, leaf);
}

static bool has_binary_form(const DataType *type) {
    if (type->kind == DATA_LEAF) return true;
    if (type->kind != DATA_RECORD || type->count == 0) return false;
    for (uint32_t i = 0; i < type->count; i++)
        if (!has_binary_form(type->fields[i].type)) return false;
    return true;
}

static void write_value(DataSink *sink, const DataType *type, const RtValue *leaves) {
    if (type->kind == DATA_LEAF) write_leaf(sink, &leaves[type->leaf]);
    else
        for (uint32_t i = 0; i < type->count; i++)
            write_value(sink, type->fields[i].type, leaves);
}

bool data_write_binary(DataSink *sink, const DataType *type, const RtValue *leaves) {
    if (!has_binary_form(type)) return false;
    write_value(sink, type, leaves);
    return true;
}
