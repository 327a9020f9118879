// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE
#include "base/pages.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

// At the beginning of its memory, which begins at a multiple of its size.
typedef struct Pages {
    atomic_uint holders; // blocks, and the owner while they are open
} Pages;

enum { SIZE = 2 * HUGE_PAGE };

void pages_widen(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
    uintptr_t at = (uintptr_t)block;
    uintptr_t begin = (at + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t end = (at + size) / HUGE_PAGE * HUGE_PAGE;
    if (begin < end) madvise((char *)block + (begin - at), end - begin, MADV_HUGEPAGE);
#else
    (void)block, (void)size;
#endif
}

static void leave(Pages *pages) {
    if (atomic_fetch_sub(&pages->holders, 1) == 1) free(pages);
}

static Pages *open_pages(void) {
    void *base;
    if (posix_memalign(&base, SIZE, SIZE) != 0) return NULL;
    pages_widen(base, SIZE);
    Pages *pages = base;
    atomic_init(&pages->holders, 1);
    return pages;
}

void *pages_take(PagesEnd *end, size_t size) {
    size = (size + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
    if (end->pages == NULL || size > SIZE - end->filled) {
        pages_close(end);
        end->pages = open_pages();
        if (end->pages == NULL) return NULL;
        end->filled = SMALL_PAGE;
    }
    char *block = (char *)end->pages + end->filled;
    atomic_fetch_add(&end->pages->holders, 1);
    end->filled += size;
    return block;
}

void pages_close(PagesEnd *end) {
    if (end->pages != NULL) leave(end->pages);
    *end = (PagesEnd){0};
}

void pages_give_back(void *block) {
    leave((Pages *)((char *)block - (uintptr_t)block % SIZE));
}
