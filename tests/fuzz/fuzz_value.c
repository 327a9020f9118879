// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as values, textual or binary; the first byte picks the wanted type: arrays
// of scalars, or records and sums in each other. What is read must print, and that be
// read back as the same; nothing may stay on the heap.
#include "data/data.h"
#include "fuzz.h"

enum { MOST_LEAVES = 7, LEAF_TYPES = SCALAR_COUNT * 4 };

static bool collect(void *data, const char *bytes, size_t len) {
    strbuf_bytes(data, bytes, len);
    return true;
}

static Str print(Cx *cx, const DataType *type, const RtValue *leaves) {
    StrBuf out = strbuf(cx->arena);
    DataSink *sink = arena_new(cx->arena, DataSink);
    sink->write = collect;
    sink->data = &out;
    data_print(sink, type, leaves);
    data_flush(sink);
    return strbuf_done(&out);
}

// Reads values of the type until one fails.
static void read_all(Cx *cx, RtHeap *heap, Str bytes, const DataType *type,
                     const RtValue *fresh, uint32_t leaf_count) {
    DataReader reader = data_reader(bytes, heap, cx->arena);
    for (int i = 0; i < 4; i++) {
        RtValue leaves[MOST_LEAVES], again[MOST_LEAVES];
        for (uint32_t k = 0; k < leaf_count; k++) leaves[k] = again[k] = fresh[k];
        if (data_read(&reader, type, leaves, leaf_count) != STATUS_OK) {
            if (reader.error.len == 0) abort();
            return;
        }
        Str text = print(cx, type, leaves);
        DataReader second = data_reader(text, heap, cx->arena);
        if (data_read(&second, type, again, leaf_count) != STATUS_OK) abort();
        if (!str_eq(print(cx, type, again), text)) abort();
        for (uint32_t k = 0; k < leaf_count; k++) {
            rt_release_value(heap, &leaves[k]);
            rt_release_value(heap, &again[k]);
        }
    }
}

// {a: [](#n | #r []i32 | #d [](#p i8 | #q | #t [][]u8))}, or the array alone.
static void read_nested(Cx *cx, RtHeap *heap, Str bytes, bool is_record) {
    DataType p = {.kind = DATA_LEAF, .elem = SCALAR_I8, .leaf = 4};
    DataType t = {.kind = DATA_LEAF, .elem = SCALAR_U8, .rank = 2, .leaf = 6};
    DataType r = {.kind = DATA_LEAF, .elem = SCALAR_I32, .rank = 1, .leaf = 2};
    const DataType *has_p[] = {&p}, *has_t[] = {&t}, *has_r[] = {&r};
    DataCtor inner_ctors[] = {
        {STR("p"), has_p, 1, 0}, {STR("q"), NULL, 0, 5}, {STR("t"), has_t, 1, 0}};
    DataType inner = {.kind = DATA_SUM, .leaf = 3, .ctors = inner_ctors, .count = 3};
    DataType deep = {.kind = DATA_ARRAY, .rank = 1, .inner = &inner};
    const DataType *has_deep[] = {&deep};
    DataCtor ctors[] = {
        {STR("n"), NULL, 0, 1}, {STR("r"), has_r, 1, 0}, {STR("d"), has_deep, 1, 0}};
    DataType item = {.kind = DATA_SUM, .leaf = 0, .ctors = ctors, .count = 3};
    DataType items = {.kind = DATA_ARRAY, .rank = 1, .inner = &item};
    DataField fields[] = {{STR("a"), &items}};
    DataType record = {.kind = DATA_RECORD, .fields = fields, .count = 1};
    const RtValue fresh[MOST_LEAVES] = {
        {.elem = SCALAR_U8, .rank = 1},  {.elem = SCALAR_BOOL, .rank = 1},
        {.elem = SCALAR_I32, .rank = 2}, {.elem = SCALAR_U8, .rank = 2},
        {.elem = SCALAR_I8, .rank = 2},  {.elem = SCALAR_BOOL, .rank = 2},
        {.elem = SCALAR_U8, .rank = 4}};
    read_all(cx, heap, bytes, is_record ? &record : &items, fresh, MOST_LEAVES);
}

static void read_values(Cx *cx, const Source *source) {
    if (source->text.len == 0) return;
    uint8_t pick = (uint8_t)source->text.ptr[0];
    Str rest = {source->text.ptr + 1, source->text.len - 1};
    RtHeap heap;
    rt_heap_init(&heap, cx->mem);
    jmp_buf *outer = cx->mem->recover, here;
    cx->mem->recover = &here;
    if (setjmp(here) == 0) {
        DataType type = {.kind = DATA_LEAF,
                         .elem = (ScalarType)(pick % SCALAR_COUNT),
                         .rank = pick / SCALAR_COUNT % 4};
        RtValue fresh = {.elem = type.elem, .rank = type.rank};
        if (pick < LEAF_TYPES) read_all(cx, &heap, rest, &type, &fresh, 1);
        else read_nested(cx, &heap, rest, pick % 2 == 0);
        if (heap.live != NULL) abort();
    }
    cx->mem->recover = outer;
    rt_heap_free(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_with_cx(data, size, read_values);
    return 0;
}
