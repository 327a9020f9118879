// SPDX-License-Identifier: Apache-2.0
//
// Which parts of a device's memory are free: addresses handed out and taken back, first
// fit, while the bookkeeping stays on the host. What is given back joins its
// neighbours.
#ifndef WEFT_DEV_HEAP_H
#define WEFT_DEV_HEAP_H

#include "base/mem.h"

enum { HEAP_ALIGNMENT = 64 };

typedef struct Heap {
    Mem *mem;
    struct HeapGap {
        uint64_t start, bytes;
    } * gaps; // by address, none touching
    uint32_t count, room;
    uint32_t most; // gaps that there can be: places for so many exist
} Heap;

void heap_init(Heap *heap, Mem *mem);
void heap_free(Heap *heap);
// Adds memory, which touches what was added before or does not; both multiples of 64.
// False: the host has no memory for the books.
bool heap_add(Heap *heap, uint64_t start, uint64_t bytes);
// Takes at least so many bytes, aligned to 64. False: there is no such gap, or no
// memory for the books.
bool heap_take(Heap *heap, uint64_t bytes, uint64_t *start_out);
// Whether as much can be taken at once.
bool heap_has(const Heap *heap, uint64_t bytes);
// Gives back what was taken, of that size.
void heap_give(Heap *heap, uint64_t start, uint64_t bytes);
// What a block of that size really takes.
uint64_t heap_size(uint64_t bytes);

#endif
