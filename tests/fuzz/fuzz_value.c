// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as values, textual or binary; the first byte picks the wanted type. What is
// read must print and read back; nothing may stay on the heap.
#include "data/data.h"
#include "fuzz.h"

static void read_values(Cx *cx, const Source *source) {
    if (source->text.len == 0) return;
    uint8_t pick = (uint8_t)source->text.ptr[0];
    DataType type = {.kind = DATA_LEAF,
                     .elem = (ScalarType)(pick % SCALAR_COUNT),
                     .rank = pick / SCALAR_COUNT % 4};
    RtHeap heap;
    rt_heap_init(&heap, cx->mem);
    Str rest = {source->text.ptr + 1, source->text.len - 1};
    DataReader reader = data_reader(rest, &heap, cx->arena);
    jmp_buf *outer = cx->mem->recover, here;
    cx->mem->recover = &here;
    if (setjmp(here) == 0) {
        for (int i = 0; i < 4; i++) {
            RtValue leaf = {.elem = type.elem, .rank = type.rank};
            if (data_read(&reader, &type, &leaf, 1) != STATUS_OK) break;
            rt_release_value(&heap, &leaf);
        }
    }
    cx->mem->recover = outer;
    rt_heap_free(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_with_cx(data, size, read_values);
    return 0;
}
