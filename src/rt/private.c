// SPDX-License-Identifier: Apache-2.0
//
// Private memory as reserved address space (private.h).
#define _GNU_SOURCE
#include "rt/private.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum {
    KEPT = 1 << 20, // bytes that always stay
    SMALL = 1 << 21 // bytes in small pages, until a call uses more than stays
};

// How much to ask for: less where addresses are rationed, for the heap wants some too.
static size_t most_bytes(void) {
    size_t most = (size_t)64 << 30;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        while (most > KEPT && most > limit.rlim_cur / 16) most /= 2;
    return most;
}

bool rt_private_new(Mem *mem, size_t kept, RtPrivate *private_out) {
    if (++mem->calls == mem->fail_at) return false;
    for (size_t size = most_bytes(); size >= KEPT; size /= 4) {
        void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) continue;
        *private_out = (RtPrivate){.base = base, .size = size, .kept = kept};
#ifdef MADV_HUGEPAGE // beyond what most kernels need, fewer faults
        if (size > SMALL) madvise((char *)base + SMALL, size - SMALL, MADV_HUGEPAGE);
#endif
        return true;
    }
    return false;
}

void rt_private_free(RtPrivate *private) {
    if (private->base != NULL) munmap(private->base, private->size);
    private->base = NULL;
}

void rt_private_open(const RtPrivate *private, const Mem *mem, KernelEnv *env) {
    size_t size = private->size;
    if (mem->limit != 0) {
        size_t left = mem->used < mem->limit ? mem->limit - mem->used : 0;
        if (size > left) size = left & ~(size_t)63;
    }
    env->top = env->high = private->base;
    env->limit = private->base + size;
}

// Kernels take turns, and each call of one is not to fault for what the one before it
// gave back: what has been in use is forgotten bit by bit.
static size_t recently_used(RtPrivate *private, size_t used) {
    enum { PART = 256 };
    private->recent -= private->recent / PART;
    if (used > private->recent) private->recent = used;
    return private->recent;
}

// What begins with small pages gets a large one when it is touched again.
static void widen(RtPrivate *private) {
#ifdef MADV_HUGEPAGE
    if (private->is_wide || private->size < SMALL) return;
    madvise(private->base, SMALL, MADV_HUGEPAGE);
    madvise(private->base, SMALL, MADV_DONTNEED);
#endif
    private->is_wide = true;
}

void rt_private_close(RtPrivate *private, const Mem *mem, const KernelEnv *env) {
    size_t used = (size_t)(env->high - private->base);
    size_t recent = recently_used(private, used);
    size_t most = mem->limit == 0 ? private->kept : 0;
    if (used > private->touched) private->touched = used;
    if (used > KEPT && mem->limit == 0) widen(private);
    // To give back little by little would break up large pages.
    size_t kept = recent > private->touched / 2 ? private->touched : recent;
    if (kept > most) kept = most;
    size_t unit = private->is_wide ? SMALL : KEPT; // whole pages
    kept = kept < unit ? unit : (kept + unit - 1) / unit * unit;
    size_t loose = used < kept ? used : kept;
    if (loose > KEPT) mem_loosen(private->base + KEPT, loose - KEPT);
    if (private->touched <= kept) return;
    madvise(private->base + kept, private->touched - kept, MADV_DONTNEED);
    private->touched = kept;
}
