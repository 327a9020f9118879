// SPDX-License-Identifier: Apache-2.0
//
// Private memory as reserved address space (private.h).
#define _GNU_SOURCE
#include "rt/private.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum {
    KEPT = 1 << 20, // bytes that stay between calls
    SMALL = 1 << 21 // bytes in small pages
};

// How much to ask for: less where addresses are rationed, for the heap wants some too.
static size_t most_bytes(void) {
    size_t most = (size_t)64 << 30;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        while (most > KEPT && most > limit.rlim_cur / 16) most /= 2;
    return most;
}

bool rt_private_new(Mem *mem, RtPrivate *private_out) {
    if (++mem->calls == mem->fail_at) return false;
    for (size_t size = most_bytes(); size >= KEPT; size /= 4) {
        void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) continue;
        *private_out = (RtPrivate){.base = base, .size = size};
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

void rt_private_close(const RtPrivate *private, const KernelEnv *env) {
    if (env->high - private->base <= KEPT) return;
    madvise(private->base + KEPT, (size_t)(env->high - private->base) - KEPT,
            MADV_DONTNEED);
}
