// SPDX-License-Identifier: Apache-2.0
//
// The allocation door over the system's aligned allocation and free. A refused request
// leaves the counters as they were, save `calls`, which counts requests and not
// successes.
#define _DEFAULT_SOURCE
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ALIGNMENT = 64, POISON = 0xA5 };

// Sanitizers are to see the end of each block.
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
enum { KEEPS = false };
#else
enum { KEEPS = true };
#endif
enum { LEAST_SPARE = 1 << 16, LEAST_SHARED = 1 << 18 };

// Large blocks have a few sizes, so that one that is kept does for who wants a little
// more, or less: parts of arrays, whose shares are learned.
static size_t round_up(size_t size) {
    enum { STEPS = 16 }; // for twice the size
    size_t unit = ALIGNMENT;
    if (KEEPS && size >= LEAST_SHARED)
        unit = ((size_t)1 << (63 - __builtin_clzll(size))) / STEPS;
    return (size + (size == 0) + (unit - 1)) & ~(unit - 1);
}

double mem_rounded(double size) {
    return size >= 0 && size < (double)(SIZE_MAX / 4) ? (double)round_up((size_t)size)
                                                      : size;
}

static size_t get(const _Atomic size_t *count) {
    return atomic_load_explicit(count, memory_order_relaxed);
}

static void set(_Atomic size_t *count, size_t value) {
    atomic_store_explicit(count, value, memory_order_relaxed);
}

// ---- the system ---------------------------------------------------------------------

// Bytes for a block of that size, which may begin anywhere in the first page. What is
// behind its last large page is one, too, if it fills most of it.
static size_t with_pages(size_t size) {
    size_t whole = (size + 2 * SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE,
           rest = whole % HUGE_PAGE;
    return whole > HUGE_PAGE && rest > HUGE_PAGE / 2 ? whole - rest + HUGE_PAGE : whole;
}

// Large blocks begin in the middle of a page, each elsewhere: processors take a load
// and an earlier store for one place if they are at the same place of two pages, and
// arrays of others mostly begin where a page does. Nor do they begin near a quarter of
// it, where rows of 256 or 512 floats of another array do.
static size_t place_in_page(const Mem *mem) {
    enum { FIRST = 3, PLACES = 12, STEP = 5, QUARTER = SMALL_PAGE / 4, QUARTERS = 3 };
    return (FIRST + mem->blocks * STEP % PLACES) * ALIGNMENT +
           mem->blocks / PLACES % QUARTERS * QUARTER;
}

static bool is_large(size_t size) {
    return KEEPS && size >= LEAST_SPARE;
}

static bool shares_pages(size_t size) {
    return KEEPS && size >= LEAST_SHARED && size + SMALL_PAGE <= HUGE_PAGE;
}

static void *take_pages(Mem *mem, size_t size) {
    void *base = pages_take(&mem->end, size + SMALL_PAGE);
    if (mem->spare_most == 0) pages_close(&mem->end); // it may not end with mem_trim
    return base;
}

// In front of large blocks, which may be spare ones that were larger.
static size_t *room_of(void *block) {
    return (size_t *)block - 1;
}

// For whom wants a little more the next time: what nobody touches takes no memory.
static size_t with_room(const Mem *mem, size_t size) {
    bool has_pages = size > 2 * HUGE_PAGE && size < PTRDIFF_MAX / 2;
    return has_pages && mem->spare_most > 0 && mem->limit == 0 ? size + size / 4 : size;
}

static void *ask_system(Mem *mem, size_t size) {
    if (!is_large(size)) return aligned_alloc(ALIGNMENT, size);
    size = with_room(mem, size);
    size_t unit = size < HUGE_PAGE ? SMALL_PAGE : HUGE_PAGE, whole = with_pages(size);
    void *base;
    if (shares_pages(size)) base = take_pages(mem, size);
    else if (posix_memalign(&base, unit, whole) != 0) base = NULL;
    else pages_widen(base, whole);
    if (base == NULL) return NULL;
    char *block = (char *)base + place_in_page(mem);
    *room_of(block) = size;
    return block;
}

static void give_back(void *block, size_t size) {
    size_t within = is_large(size) ? (uintptr_t)block % SMALL_PAGE : 0;
    if (shares_pages(size)) pages_give_back(block);
    else free((char *)block - within);
}

// ---- small spare blocks -------------------------------------------------------------

// The system's allocator takes its time over blocks that begin with a cache line.
typedef struct MemSmall {
    struct MemSmall *next; // of the same list
    size_t size;
} MemSmall;

enum { SMALL = 1 << 10, LONGEST_LOOK = 4 };

// Up to 1 KiB each size has a list of its own, then those between two powers of two.
static MemSmall **list_of(Mem *mem, size_t size) {
    enum { EXACT = SMALL / ALIGNMENT };
    if (size <= SMALL) return &mem->smalls[size / ALIGNMENT - 1];
    return &mem->smalls[EXACT + 63 - __builtin_clzll(size / SMALL)];
}

static void *find_small(Mem *mem, size_t size) {
    MemSmall **at = list_of(mem, size);
    for (int i = 0; *at != NULL && i < LONGEST_LOOK; i++, at = &(*at)->next) {
        MemSmall *block = *at;
        if (block->size != size) continue;
        *at = block->next;
        mem->small -= size;
        return block;
    }
    return NULL;
}

static void drop_smalls(Mem *mem) {
    for (uint32_t i = 0; mem->small > 0 && i < MEM_SMALLS; i++)
        while (mem->smalls[i] != NULL) {
            MemSmall *block = mem->smalls[i];
            mem->smalls[i] = block->next;
            mem->small -= block->size;
            give_back(block, block->size);
        }
}

static bool keep_small(Mem *mem, void *given, size_t size) {
    enum { MOST = 1 << 18 };
    if (!KEEPS || mem->spare_most == 0 || mem->limit != 0 || size >= LEAST_SPARE)
        return false;
    if (mem->small + size > MOST) drop_smalls(mem);
#ifndef NDEBUG
    memset(given, POISON, size);
#endif
    MemSmall *block = given, **list = list_of(mem, size);
    *block = (MemSmall){*list, size};
    *list = block;
    mem->small += size;
    return true;
}

// ---- large spare blocks -------------------------------------------------------------

// Takes spare i out of the list.
static void *take_spare(Mem *mem, uint32_t i) {
    void *block = mem->spares[i].block;
    mem->spare -= mem->spares[i].size;
    mem->spare_count--;
    memmove(&mem->spares[i], &mem->spares[i + 1],
            (mem->spare_count - i) * sizeof *mem->spares);
    return block;
}

static void drop_spare(Mem *mem, uint32_t i) {
    size_t size = mem->spares[i].size;
    give_back(take_spare(mem, i), size);
}

// A spare block of that size, or the smallest of those that are a little larger, which
// only without a ceiling may have more than is counted; the one freed last. Or NULL.
static void *find_spare(Mem *mem, size_t size) {
    size_t best = mem->limit == 0 ? size + size / 2 + 1 : size + 1;
    uint32_t at = MEM_SPARES;
    for (uint32_t i = mem->spare_count; i-- > 0 && best > size;) {
        size_t room = mem->spares[i].size;
        if (room < size || room >= best) continue;
        best = room;
        at = i;
    }
    return at < MEM_SPARES ? take_spare(mem, at) : NULL;
}

// Gives back the oldest spare blocks until there is room for `size` bytes below `most`.
static void make_room(Mem *mem, size_t size, size_t most) {
    while (mem->spare_count > 0 && (size > most || mem->spare > most - size))
        drop_spare(mem, 0);
}

// While much is in use, as much may be spare: a loop over large arrays wants the same
// sizes again and again.
static size_t most_spare(const Mem *mem) {
    size_t used = get(&mem->used);
    size_t most = used > mem->spare_most ? used : mem->spare_most;
    return mem->limit != 0 && mem->limit - used < most ? mem->limit - used : most;
}

static bool keep_spare(Mem *mem, void *block, size_t size) {
    if (!KEEPS || mem->spare_most == 0 || size < LEAST_SPARE) return false;
    size_t most = most_spare(mem);
    make_room(mem, size, most);
    if (size > most) return false;
    if (mem->spare_count == MEM_SPARES) drop_spare(mem, 0);
#ifndef NDEBUG
    memset(block, POISON, size); // who still reads it shall see
#endif
    mem->spares[mem->spare_count++] = (MemSpare){block, size, 0};
    mem->spare += size;
    return true;
}

void mem_hand_on(Mem *mem, Mem *to, size_t most) {
    if (to->spare_most == 0 || to->limit != 0) return;
    while (mem->spare_count > 0 && to->spare_count < MEM_SPARES) {
        MemSpare last = mem->spares[mem->spare_count - 1];
        if (last.size > most) return;
        most -= last.size;
        take_spare(mem, mem->spare_count - 1);
        to->spares[to->spare_count++] = last;
        to->spare += last.size;
    }
}

bool mem_trim(Mem *mem) {
    bool any = mem->spare_count > 0 || mem->small > 0;
    pages_close(&mem->end);
    drop_smalls(mem);
    while (mem->spare_count > 0) drop_spare(mem, 0);
    return any;
}

void mem_age(Mem *mem) {
    enum { ROUNDS = 2 }; // not all of them need as much, where devices run ahead
    for (uint32_t i = mem->spare_count; i-- > 0;)
        if (mem->spares[i].age++ == ROUNDS) drop_spare(mem, i);
    make_room(mem, 0, mem->spare_most);
    for (uint32_t i = 0; i < mem->spare_count; i++)
        mem_loosen(mem->spares[i].block, mem->spares[i].size);
}

size_t mem_spare_most(void) {
    enum { UNKNOWN = 1 << 30 };
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t most = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : UNKNOWN;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < most)
        most = (size_t)limit.rlim_cur;
    return most / 4;
}

void mem_loosen(void *block, size_t size) {
#ifdef MADV_FREE
    enum { LEAST = 1 << 24 };
    if (size < LEAST) return;
    // A part of a large page stays: to mark it would make small ones of that.
    size_t skipped = -(uintptr_t)block % HUGE_PAGE;
    size_t whole = (size - skipped) / HUGE_PAGE * HUGE_PAGE;
    madvise((char *)block + skipped, whole, MADV_FREE);
#else
    (void)block, (void)size;
#endif
}

// ---- blocks -------------------------------------------------------------------------

// A block of `size` bytes, rounded up: a spare one, or one from the system, for which
// spare ones go where there would be too many bytes otherwise.
static void *find_block(Mem *mem, size_t size) {
    void *block = size < LEAST_SPARE ? find_small(mem, size) : find_spare(mem, size);
    size_t used = get(&mem->used);
    if (mem->limit != 0 && mem->spare > 0)
        make_room(mem, 0, mem->limit > used + size ? mem->limit - used - size : 0);
    if (block != NULL) return block;
    mem->blocks += size >= LEAST_SPARE;
    if (size >= LEAST_SPARE) make_room(mem, size, most_spare(mem));
    block = ask_system(mem, size);
    if (block == NULL && mem_trim(mem)) block = ask_system(mem, size);
    return block;
}

static bool admits(Mem *mem, size_t size) {
    mem->calls++;
    if (mem->calls == mem->fail_at) return false;
    if (size > PTRDIFF_MAX - ALIGNMENT) return false;
    return mem->limit == 0 ||
           (size <= mem->limit && get(&mem->used) <= mem->limit - size);
}

static void count_in(Mem *mem, size_t size) {
    size_t used = get(&mem->used) + size; // nobody else writes
    set(&mem->used, used);
    if (used > get(&mem->peak)) set(&mem->peak, used);
}

void *mem_try_alloc(Mem *mem, size_t size) {
    if (!admits(mem, size)) return NULL;
    void *block = find_block(mem, round_up(size));
    if (block != NULL) count_in(mem, size);
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
    mem_free_room(mem, block, size, size);
}

void *mem_try_room(Mem *mem, size_t most) {
    enum { LEAST = 1 << 20 }; // what is less is soon copied
    if (mem->limit != 0 || most < LEAST || !admits(mem, most)) return NULL;
    return find_block(mem, round_up(most));
}

void mem_fit(Mem *mem, void *block, size_t most, size_t size) {
    assert(size <= most);
    count_in(mem, size);
    mem_loosen((char *)block + size, most - size);
}

void mem_free_room(Mem *mem, void *block, size_t most, size_t size) {
    if (block == NULL) return;
    assert(get(&mem->used) >= size);
    set(&mem->used, get(&mem->used) - size);
    most = round_up(most);
    if (is_large(most)) most = *room_of(block);
    if (!keep_small(mem, block, most) && !keep_spare(mem, block, most))
        give_back(block, most);
}

void mem_give(Mem *mem, Mem *to, size_t size) {
    assert(get(&mem->used) >= size);
    size_t most = get(&to->used) + get(&mem->peak);
    if (most > get(&to->peak)) set(&to->peak, most);
    set(&mem->used, get(&mem->used) - size);
    set(&to->used, get(&to->used) + size);
}

_Noreturn void mem_fail(Mem *mem) {
    assert(mem->recover != NULL);
    longjmp(*mem->recover, 1);
}
