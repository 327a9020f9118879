// SPDX-License-Identifier: Apache-2.0
//
// Values to text. Arrays may be strided views; they are walked by index. Neighbours:
// float.c prints the numbers, read.c reads them back.
#include <string.h>

#include "data/data.h"
#include "data/float.h"

void data_flush(DataSink *sink) {
    if (sink->len != 0 && !sink->has_failed)
        sink->has_failed = !sink->write(sink->data, sink->buffer, sink->len);
    sink->len = 0;
}

void data_put(DataSink *sink, const char *bytes, size_t len) {
    if (len > sizeof sink->buffer - sink->len) data_flush(sink);
    if (sink->has_failed || len == 0) return;
    if (len > sizeof sink->buffer) {
        sink->has_failed = !sink->write(sink->data, bytes, len);
        return;
    }
    memcpy(sink->buffer + sink->len, bytes, len);
    sink->len += len;
}

static void put_text(DataSink *sink, const char *text) {
    data_put(sink, text, strlen(text));
}

// ---- scalars ------------------------------------------------------------------------

static int64_t sign_extend(uint64_t bits, unsigned bytes) {
    unsigned gone = 64 - bytes * 8;
    return (int64_t)(bits << gone) >> gone;
}

static size_t put_decimal(char *out, bool is_negative, uint64_t magnitude) {
    char reversed[20];
    size_t len = 0, at = 0;
    do reversed[len++] = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) != 0);
    if (is_negative) out[at++] = '-';
    while (len > 0) out[at++] = reversed[--len];
    return at;
}

size_t data_scalar_text(ScalarType type, uint64_t bits, char out[DATA_SCALAR_TEXT]) {
    const ScalarInfo *info = &scalar_info[type];
    size_t name_len = strlen(info->name), at = 0;
    switch (info->class) {
    case CLASS_BOOLEAN:
        at = bits != 0 ? 4 : 5;
        memcpy(out, bits != 0 ? "true" : "false", at);
        return at;
    case CLASS_SIGNED: {
        int64_t value = sign_extend(bits, info->bytes);
        at = put_decimal(out, value < 0,
                         value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
        break;
    }
    case CLASS_UNSIGNED: at = put_decimal(out, false, bits); break;
    case CLASS_FLOAT:
        if (float_is_nan(type, bits) || float_is_inf(type, bits)) {
            bool is_nan = float_is_nan(type, bits);
            if (!is_nan && (bits & float_sign(type)) != 0) out[at++] = '-';
            memcpy(out + at, info->name, name_len);
            memcpy(out + at + name_len, is_nan ? ".nan" : ".inf", 4);
            return at + name_len + 4;
        }
        at = float_print(type, bits, out);
        break;
    }
    memcpy(out + at, info->name, name_len);
    return at + name_len;
}

void data_print_scalar(DataSink *sink, ScalarType type, uint64_t bits) {
    char text[DATA_SCALAR_TEXT];
    data_put(sink, text, data_scalar_text(type, bits, text));
}

// ---- text ---------------------------------------------------------------------------

static uint64_t load_leaf(const RtValue *leaf, const int64_t *index) {
    if (leaf->rank == 0) return leaf->bits;
    const RtArray *a = leaf->array;
    int64_t at = 0;
    for (uint32_t d = 0; d < a->rank; d++) at += index[d] * a->strides[d];
    return rt_load(a->elem, a->data + at * (int64_t)scalar_info[a->elem].bytes);
}

// Prints the dimensions of a from `depth` on; data is the element at the outer indices.
static void print_dims(DataSink *sink, const RtArray *a, uint32_t depth,
                       const char *data) {
    int64_t step = a->strides[depth] * (int64_t)scalar_info[a->elem].bytes;
    bool is_last = depth + 1 == a->rank;
    data_put(sink, "[", 1);
    for (int64_t i = 0; i < a->shape[depth] && !sink->has_failed; i++) {
        if (i > 0) data_put(sink, ", ", 2);
        const char *element = data + i * step;
        if (is_last) data_print_scalar(sink, a->elem, rt_load(a->elem, element));
        else print_dims(sink, a, depth + 1, element);
    }
    data_put(sink, "]", 1);
}

static void print_leaf(DataSink *sink, const RtValue *leaf, const int64_t *index,
                       uint32_t depth) {
    if (leaf->rank == depth) {
        data_print_scalar(sink, leaf->elem, load_leaf(leaf, index));
        return;
    }
    const RtArray *a = leaf->array;
    const char *data = a->data;
    bool is_empty = false;
    for (uint32_t d = 0; d < depth; d++)
        data += index[d] * a->strides[d] * (int64_t)scalar_info[a->elem].bytes;
    for (uint32_t d = depth; d < a->rank; d++) is_empty |= a->shape[d] == 0;
    if (!is_empty) {
        print_dims(sink, a, depth, data);
        return;
    }
    put_text(sink, "empty(");
    for (uint32_t d = depth; d < a->rank; d++) {
        char size[24];
        data_put(sink, "[", 1);
        data_put(sink, size, put_decimal(size, false, (uint64_t)a->shape[d]));
        data_put(sink, "]", 1);
    }
    put_text(sink, scalar_info[a->elem].name);
    data_put(sink, ")", 1);
}

// Some leaf of the type, from which the outer dimensions can be told.
static const RtValue *any_leaf(const DataType *type, const RtValue *leaves) {
    while (type->kind == DATA_ARRAY || (type->kind == DATA_RECORD && type->count > 0))
        type = type->kind == DATA_ARRAY ? type->inner : type->fields[0].type;
    return &leaves[type->leaf];
}

static void print_value(DataSink *sink, const DataType *type, const RtValue *leaves,
                        int64_t *index, uint32_t depth, bool is_argument);

static void print_array(DataSink *sink, const DataType *type, const RtValue *leaves,
                        int64_t *index, uint32_t depth, uint32_t rank) {
    if (rank == 0) {
        print_value(sink, type->inner, leaves, index, depth, false);
        return;
    }
    int64_t count = any_leaf(type->inner, leaves)->array->shape[depth];
    data_put(sink, "[", 1);
    for (int64_t i = 0; i < count && !sink->has_failed; i++) {
        if (i > 0) data_put(sink, ", ", 2);
        index[depth] = i;
        print_array(sink, type, leaves, index, depth + 1, rank - 1);
    }
    data_put(sink, "]", 1);
}

static void print_record(DataSink *sink, const DataType *type, const RtValue *leaves,
                         int64_t *index, uint32_t depth) {
    data_put(sink, type->is_tuple ? "(" : "{", 1);
    for (uint32_t i = 0; i < type->count; i++) {
        if (i > 0) data_put(sink, ", ", 2);
        if (!type->is_tuple) {
            data_put(sink, type->fields[i].name.ptr, type->fields[i].name.len);
            data_put(sink, " = ", 3);
        }
        print_value(sink, type->fields[i].type, leaves, index, depth, false);
    }
    data_put(sink, type->is_tuple ? ")" : "}", 1);
}

static void print_sum(DataSink *sink, const DataType *type, const RtValue *leaves,
                      int64_t *index, uint32_t depth, bool is_argument) {
    uint64_t tag = load_leaf(&leaves[type->leaf], index);
    if (tag >= type->count) tag = 0; // cannot be
    const DataCtor *ctor = &type->ctors[tag];
    bool is_wrapped = is_argument && ctor->count > 0;
    if (is_wrapped) data_put(sink, "(", 1);
    data_put(sink, "#", 1);
    data_put(sink, ctor->name.ptr, ctor->name.len);
    for (uint32_t i = 0; i < ctor->count; i++) {
        data_put(sink, " ", 1);
        print_value(sink, ctor->payload[i], leaves, index, depth, true);
    }
    if (is_wrapped) data_put(sink, ")", 1);
}

static void print_value(DataSink *sink, const DataType *type, const RtValue *leaves,
                        int64_t *index, uint32_t depth, bool is_argument) {
    switch (type->kind) {
    case DATA_LEAF: print_leaf(sink, &leaves[type->leaf], index, depth); break;
    case DATA_ARRAY: print_array(sink, type, leaves, index, depth, type->rank); break;
    case DATA_RECORD: print_record(sink, type, leaves, index, depth); break;
    case DATA_SUM: print_sum(sink, type, leaves, index, depth, is_argument); break;
    }
}

void data_print(DataSink *sink, const DataType *type, const RtValue *leaves) {
    int64_t index[DATA_MOST_RANK] = {0};
    print_value(sink, type, leaves, index, 0, false);
}
