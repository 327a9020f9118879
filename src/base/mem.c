// SPDX-License-Identifier: Apache-2.0
//
// The allocation door over aligned_alloc and free. A refused request leaves the
// counters as they were, save `calls`, which counts requests and not successes.
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static size_t round_up(size_t size) {
    return (size + (size == 0) + (ALIGNMENT - 1)) & ~(size_t)(ALIGNMENT - 1);
}

static size_t get(const _Atomic size_t *count) {
    return atomic_load_explicit(count, memory_order_relaxed);
}

static void set(_Atomic size_t *count, size_t value) {
    atomic_store_explicit(count, value, memory_order_relaxed);
}

static bool admits(Mem *mem, size_t size) {
    mem->calls++;
    if (mem->calls == mem->fail_at) return false;
    if (size > PTRDIFF_MAX - ALIGNMENT) return false;
    return mem->limit == 0 ||
           (size <= mem->limit && get(&mem->used) <= mem->limit - size);
}

void *mem_try_alloc(Mem *mem, size_t size) {
    if (!admits(mem, size)) return NULL;
    void *block = aligned_alloc(ALIGNMENT, round_up(size));
    if (block == NULL) return NULL;
    size_t used = get(&mem->used) + size; // nobody else writes
    set(&mem->used, used);
    if (used > get(&mem->peak)) set(&mem->peak, used);
    return block;
}

void *mem_try_resize(Mem *mem, void *block, size_t old_size, size_t new_size) {
    void *grown = mem_try_alloc(mem, new_size);
    if (grown == NULL) return NULL;
    if (block != NULL) memcpy(grown, block, old_size < new_size ? old_size : new_size);
    mem_free(mem, block, old_size);
    return grown;
}

void *mem_alloc(Mem *mem, size_t size) {
    void *block = mem_try_alloc(mem, size);
    if (block == NULL) mem_fail(mem);
    return block;
}

void *mem_resize(Mem *mem, void *block, size_t old_size, size_t new_size) {
    void *grown = mem_try_resize(mem, block, old_size, new_size);
    if (grown == NULL) mem_fail(mem);
    return grown;
}

void mem_free(Mem *mem, void *block, size_t size) {
    if (block == NULL) return;
    assert(get(&mem->used) >= size);
    set(&mem->used, get(&mem->used) - size);
    free(block);
}

_Noreturn void mem_fail(Mem *mem) {
    assert(mem->recover != NULL);
    longjmp(*mem->recover, 1);
}
