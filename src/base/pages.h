// SPDX-License-Identifier: Apache-2.0
//
// Blocks that share large pages. A block smaller than a large page would lie in small
// ones: there a row of a stencil begins a page of its own, for which the processor has
// to find where it is, and begins anew to fetch ahead. So such blocks lie behind one
// another in a few large pages, which go back to the system with the last of them.
#ifndef WEFT_BASE_PAGES_H
#define WEFT_BASE_PAGES_H

#include <stddef.h>

enum { SMALL_PAGE = 4096, HUGE_PAGE = 1 << 21 };

// Where an owner's next block is to lie; all zero at first.
typedef struct PagesEnd {
    struct Pages *pages; // NULL: none are open
    size_t filled;       // bytes
} PagesEnd;

// Bytes for a block, from the beginning of a small page on; NULL if there is no memory.
// At most a large page.
void *pages_take(PagesEnd *end, size_t size);
// No more blocks lie there.
void pages_close(PagesEnd *end);
// Gives a block back, whoever took it: any address in its first small page.
void pages_give_back(void *block);
// Asks for large pages where there is room for whole ones: memory from the system costs
// a fault for each page that is touched first.
void pages_widen(void *block, size_t size);

#endif
