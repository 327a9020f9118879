// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file of every kind; the first byte picks it. What is read must be
// written again in every form that can hold it; nothing may stay on the heap.
#include "data/file.h"
#include "fuzz.h"

static bool drop(void *data, const char *bytes, size_t len) {
    (void)data, (void)bytes, (void)len;
    return true;
}

static void write_again(Cx *cx, const RtValue *leaf) {
    DataType type = {.kind = DATA_LEAF, .elem = leaf->elem, .rank = leaf->rank};
    if (leaf->rank > 0 && rt_count(leaf->array) > 100000) return; // too slow
    for (int kind = 0; kind < FILE_UNKNOWN; kind++) {
        Str why;
        if (!file_can_hold((FileKind)kind, &type, leaf, cx->arena, &why)) continue;
        DataSink *sink = arena_new(cx->arena, DataSink);
        sink->write = drop;
        file_write(sink, (FileKind)kind, &type, leaf, cx->arena);
    }
}

static void read_file(Cx *cx, const Source *source) {
    if (source->text.len == 0) return;
    RtHeap heap;
    rt_heap_init(&heap, cx->mem);
    FileKind kind = (FileKind)((unsigned char)source->text.ptr[0] % FILE_UNKNOWN);
    FileIn in = {.bytes = {source->text.ptr + 1, source->text.len - 1},
                 .heap = &heap,
                 .arena = cx->arena};
    jmp_buf *outer = cx->mem->recover, here;
    cx->mem->recover = &here;
    if (setjmp(here) == 0) {
        RtValue leaf;
        if (file_read(&in, kind, &leaf) == STATUS_OK) {
            write_again(cx, &leaf);
            rt_release_value(&heap, &leaf);
        } else if (in.error.len == 0) {
            abort();
        }
        if (heap.live != NULL) abort();
    }
    cx->mem->recover = outer;
    rt_heap_free(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_with_cx(data, size, read_file);
    return 0;
}
