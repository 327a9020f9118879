// SPDX-License-Identifier: Apache-2.0
//
// The one door to the allocator. Every byte Weft allocates passes through a Mem,
// which counts it, enforces a ceiling and lets tests make the k-th call fail.
// Frees are sized, so that no small block needs a header.
//
// Threads: a Mem belongs to one context and is used by one thread at a time; `used` and
// `peak` may be read by any.
#ifndef WEFT_BASE_MEM_H
#define WEFT_BASE_MEM_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pages.h"

// A large block that was freed, kept for the next request of that size, or a little less.
typedef struct MemSpare {
    void *block;
    size_t size;    // rounded up
    uint32_t age;   // rounds since it was freed (mem_age)
} MemSpare;

enum { MEM_SPARES = 64, MEM_SMALLS = 22 };

typedef struct Mem {
    _Atomic size_t used;  // bytes held now
    _Atomic size_t peak;  // the most bytes ever held
    size_t limit;      // ceiling in bytes; 0 means none
    uint64_t calls;    // allocations asked for so far, those inside arenas included
    uint64_t fail_at;  // fail the call with this number; 0 means never
    jmp_buf *recover;  // where out of memory unwinds to; NULL: mem_try_* only
    // Blocks from the system cost a fault for each page, so large ones are kept when they
    // are freed: at most so many bytes, or as many as are used. None of them is counted
    // in `used`; both together stay below the ceiling. Who sets it ends with mem_trim.
    size_t spare_most;
    size_t spare;  // bytes kept
    MemSpare spares[MEM_SPARES];  // without gaps, the oldest first
    uint32_t spare_count;
    uint64_t blocks;  // large ones that the system was asked for, so far
    PagesEnd end;     // of the large pages that blocks share
    // Small ones are kept likewise, by size, a few hundred KiB of them, if there is no
    // ceiling.
    struct MemSmall *smalls[MEM_SMALLS];
    size_t small;  // bytes
} Mem;

// Out of memory unwinds once, to the innermost recovery point of the Mem. Whoever
// sets `recover` saves the old value, restores it, and owns everything allocated since.

// Returns size bytes aligned to 64, or NULL. A size of 0 gives a unique block of 1.
void *mem_try_alloc(Mem *mem, size_t size);
// Grows or shrinks a block. On failure returns NULL and leaves the block alone.
void *mem_try_resize(Mem *mem, void *block, size_t old_size, size_t new_size);
// The same, but they never return NULL: they jump to mem->recover.
void *mem_alloc(Mem *mem, size_t size);
void *mem_resize(Mem *mem, void *block, size_t old_size, size_t new_size);
// Gives a block back; NULL is ignored.
void mem_free(Mem *mem, void *block, size_t size);
// Bytes that a block of that size takes.
double mem_rounded(double size);
// A block for an unknown number of bytes, `most` of them at most, of which none is counted
// before mem_fit says how many there are: what nobody touches takes no memory. NULL, too,
// where there is a ceiling, or little is wanted.
void *mem_try_room(Mem *mem, size_t most);
void mem_fit(Mem *mem, void *block, size_t most, size_t size);
// Gives such a block back, of which `size` bytes are counted.
void mem_free_room(Mem *mem, void *block, size_t most, size_t size);
// Counts so many of the blocks' bytes as another Mem's, who has them from now on. Its peak
// is that of both together, as far as is known.
void mem_give(Mem *mem, Mem *to, size_t size);
// Another Mem keeps what this one has kept of large blocks: those freed last, up to so
// many bytes. Whoever works for it, or after it, touches no fresh pages then.
void mem_hand_on(Mem *mem, Mem *to, size_t most);
// Gives all that is kept back to the system. Whether there was any.
bool mem_trim(Mem *mem);
// Gives back what nobody has wanted for some rounds: who works in rounds and calls it
// after each keeps what they need, loosened.
void mem_age(Mem *mem);
// A good spare_most for who works in rounds: a quarter of the machine's memory, or of
// the addresses that the process may have.
size_t mem_spare_most(void);
// Of a large block whose bytes nobody wants, the system may take pages when it is short
// of them; those taken are zero when they are touched again. For one that it leaves
// there is no fault.
void mem_loosen(void *block, size_t size);
// Counts an allocation that needs no new memory (inside an arena), so that tests can
// make that one fail too: then it unwinds.
static inline void mem_count(Mem *mem);
// Unwinds to mem->recover as an allocation failure does.
_Noreturn void mem_fail(Mem *mem);

static inline void mem_count(Mem *mem) {
    if (++mem->calls == mem->fail_at) mem_fail(mem);
}

#endif
