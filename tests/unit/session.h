// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the oracle share: a program read from a text, with a heap and an
// arena of its own, and the check that nothing is left of them.
#ifndef WEFT_TESTS_SESSION_H
#define WEFT_TESTS_SESSION_H

#include <stdlib.h>

#include "interp/interp.h"
#include "test.h"

typedef struct Session {
    Mem mem, heap_mem; // apart, so that a test can starve either
    Arena arena;
    Cx cx;
    RtHeap heap;
    CoreProgram *program;
    InterpOptions options;
    InterpError error;
} Session;

static jmp_buf test_recover;

static inline void start(Session *s, const char *text) {
    *s = (Session){.heap_mem = {.limit = (size_t)1 << 30}};
    s->mem.recover = &test_recover;
    arena_init(&s->arena, &s->mem);
    cx_init(&s->cx, &s->arena);
    stack_measure(&s->cx.stack);
    rt_heap_init(&s->heap, &s->heap_mem);
    s->options = (InterpOptions){.heap = &s->heap, .arena = &s->arena};
    Source *source = sources_add(&s->cx.sources, STR("test.core"), str_of(text), false);
    s->program = core_read(&s->cx, &s->arena, source);
    StrBuf faults = strbuf(&s->arena);
    for (uint32_t i = 0; i < s->cx.diags.len; i++)
        diag_render(&s->cx.sources, s->cx.diags.data[i], false, &faults);
    bool is_sound = s->program != NULL && core_verify(s->program, &faults);
    CHECK(is_sound);
    if (is_sound) return;
    printf("%.*s\n", STR_ARG(strbuf_done(&faults)));
    exit(test_done());
}

static inline void stop(Session *s) {
    CHECK(s->heap.live == NULL);
    rt_heap_free(&s->heap);
    CHECK(s->heap_mem.used == 0);
    arena_free(&s->arena);
    CHECK(s->mem.used == 0);
}

static inline const CoreFun *last_fun(const Session *s) {
    return s->program->funs.data[s->program->funs.len - 1];
}

static inline Status run(Session *s, RtValue *args, RtValue *results) {
    return interp_run(s->program, last_fun(s), &s->options, args, results, &s->error);
}

#endif
