// SPDX-License-Identifier: Apache-2.0
//
// What the fuzzers share: a compilation context that must give all its memory back.
#ifndef WEFT_TESTS_FUZZ_H
#define WEFT_TESTS_FUZZ_H

#include <setjmp.h>
#include <stdlib.h>

#include "base/cx.h"

// Runs `body` with a fresh Cx and at most 1 GiB; running out of memory is a clean end.
static inline void fuzz_with_cx(const uint8_t *data, size_t size,
                                void (*body)(Cx *cx, const Source *source)) {
    Mem mem = {.limit = (size_t)1 << 30};
    Arena arena;
    jmp_buf out_of_memory;
    arena_init(&arena, &mem);
    mem.recover = &out_of_memory;
    if (setjmp(out_of_memory) == 0) {
        Cx *cx = arena_new(&arena, Cx);
        cx_init(cx, &arena);
        Str text = {(const char *)data, size};
        body(cx, sources_add(&cx->sources, STR("fuzz"), text, false));
        StrBuf out = strbuf(&arena);
        for (uint32_t i = 0; i < cx->diags.len; i++)
            diag_render(&cx->sources, cx->diags.data[i], true, &out);
    }
    arena_free(&arena);
    if (mem.used != 0) abort();
}

#endif
