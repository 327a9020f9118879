// SPDX-License-Identifier: Apache-2.0
//
// The books of a heap (heap.h): its gaps in an array, by address. Between two gaps lies
// at least one block, so there is at most one gap more than blocks and memories added;
// taking a block makes room in the array for what giving it back may need.
#include "dev/heap.h"

#include <string.h>

void heap_init(Heap *heap, Mem *mem) {
    *heap = (Heap){.mem = mem};
}

void heap_free(Heap *heap) {
    mem_free(heap->mem, heap->gaps, heap->room * sizeof *heap->gaps);
}

uint64_t heap_size(uint64_t bytes) {
    uint64_t most = UINT64_MAX - HEAP_ALIGNMENT;
    bytes = bytes == 0 ? 1 : bytes > most ? most : bytes;
    return (bytes + HEAP_ALIGNMENT - 1) / HEAP_ALIGNMENT * HEAP_ALIGNMENT;
}

static bool allow_one_more(Heap *heap) {
    if (heap->most == heap->room) {
        uint32_t room = heap->room == 0 ? 64 : heap->room * 2;
        size_t size = sizeof *heap->gaps;
        void *grown =
            mem_try_resize(heap->mem, heap->gaps, heap->room * size, room * size);
        if (grown == NULL) return false;
        heap->gaps = grown;
        heap->room = room;
    }
    heap->most++;
    return true;
}

static void remove_gap(Heap *heap, uint32_t at) {
    struct HeapGap *gap = &heap->gaps[at];
    memmove(gap, gap + 1, (--heap->count - at) * sizeof *gap);
}

// Makes a gap of what was none.
static void open_gap(Heap *heap, uint64_t start, uint64_t bytes) {
    uint32_t at = 0, end = heap->count; // the first gap behind it
    while (at < end) {
        uint32_t middle = at + (end - at) / 2;
        if (heap->gaps[middle].start < start) at = middle + 1;
        else end = middle;
    }
    struct HeapGap *next = &heap->gaps[at];
    bool joins_next = at < heap->count && start + bytes == next->start;
    if (at > 0 && next[-1].start + next[-1].bytes == start) {
        next[-1].bytes += bytes;
        if (!joins_next) return;
        next[-1].bytes += next->bytes;
        remove_gap(heap, at);
    } else if (joins_next) {
        next->start = start;
        next->bytes += bytes;
    } else {
        memmove(next + 1, next, (heap->count++ - at) * sizeof *next);
        *next = (struct HeapGap){start, bytes};
    }
}

bool heap_add(Heap *heap, uint64_t start, uint64_t bytes) {
    if (!allow_one_more(heap)) return false;
    open_gap(heap, start, bytes);
    return true;
}

bool heap_take(Heap *heap, uint64_t bytes, uint64_t *start_out) {
    bytes = heap_size(bytes);
    for (uint32_t i = 0; i < heap->count; i++) {
        if (heap->gaps[i].bytes < bytes) continue;
        if (!allow_one_more(heap)) return false;
        struct HeapGap *gap = &heap->gaps[i]; // they may have moved
        *start_out = gap->start;
        gap->start += bytes;
        gap->bytes -= bytes;
        if (gap->bytes == 0) remove_gap(heap, i);
        return true;
    }
    return false;
}

bool heap_has(const Heap *heap, uint64_t bytes) {
    uint32_t i = 0;
    while (i < heap->count && heap->gaps[i].bytes < heap_size(bytes)) i++;
    return i < heap->count;
}

void heap_give(Heap *heap, uint64_t start, uint64_t bytes) {
    open_gap(heap, start, heap_size(bytes));
    heap->most--;
}
