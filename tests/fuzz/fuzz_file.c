// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file of every kind; the first byte picks it. What is read must be
// written in every form that can hold it, and that be read again; nothing may stay on
// the heap. The checksums of a PNG's chunks are put right first, so that more than the
// first chunk is reached.
#include <string.h>
#include <zlib.h>

#include "data/file.h"
#include "fuzz.h"

static bool collect(void *data, const char *bytes, size_t len) {
    strbuf_bytes(data, bytes, len);
    return true;
}

static void put32(unsigned char *at, uint32_t x) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(x >> (24 - 8 * i));
}

static uint32_t load32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void mend_checksums(unsigned char *png, size_t len) {
    for (size_t at = 8; at + 12 <= len;) {
        size_t size = load32(png + at);
        if (size > len - at - 12) return;
        put32(png + at + 8 + size, (uint32_t)crc32_z(0, png + at + 4, size + 4));
        at += 12 + size;
    }
}

static void write_again(Cx *cx, RtHeap *heap, const RtValue *leaf) {
    DataType type = {.kind = DATA_LEAF, .elem = leaf->elem, .rank = leaf->rank};
    int64_t count = leaf->rank > 0 ? rt_count(leaf->array) : 1;
    if (count > 5000) return; // too slow
    for (int kind = 0; kind < FILE_UNKNOWN; kind++) {
        Str why;
        if (!file_can_hold((FileKind)kind, &type, leaf, cx->arena, &why)) continue;
        StrBuf out = strbuf(cx->arena);
        DataSink *sink = arena_new(cx->arena, DataSink);
        sink->write = collect;
        sink->data = &out;
        file_write(sink, (FileKind)kind, &type, leaf, cx->arena);
        if (kind == FILE_CSV && count == 0) continue; // an empty file
        FileIn in = {.bytes = strbuf_done(&out), .heap = heap, .arena = cx->arena};
        RtValue again;
        if (file_read(&in, (FileKind)kind, &again) != STATUS_OK) abort();
        if (kind != FILE_CSV && again.rank != leaf->rank) abort();
        if ((again.rank > 0 ? rt_count(again.array) : 1) != count) abort();
        rt_release_value(heap, &again);
    }
}

static void read_file(Cx *cx, const Source *source) {
    if (source->text.len == 0) return;
    RtHeap heap;
    rt_heap_init(&heap, cx->mem);
    FileKind kind = (FileKind)((unsigned char)source->text.ptr[0] % FILE_UNKNOWN);
    size_t len = source->text.len - 1;
    char *bytes = arena_copy(cx->arena, source->text.ptr + 1, len);
    if (kind == FILE_PNG) mend_checksums((unsigned char *)bytes, len);
    FileIn in = {.bytes = {bytes, len}, .heap = &heap, .arena = cx->arena};
    jmp_buf *outer = cx->mem->recover, here;
    cx->mem->recover = &here;
    if (setjmp(here) == 0) {
        RtValue leaf;
        if (file_read(&in, kind, &leaf) == STATUS_OK) {
            write_again(cx, &heap, &leaf);
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
