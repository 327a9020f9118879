// SPDX-License-Identifier: Apache-2.0
//
// Which results a parallel loop stores past the caches, if they are too large for them:
// what is overwritten need not be fetched. Of loops inside it those that are vectors of
// whole cache lines, and that the kernel never looks at.
#include "emit/walk.h"

enum { LINE = 64, HALF_LINE = 32 };

static const LoopStm *result_of(const Walker *w, LoopRef buffer) {
    const LoopStm *made = w->made[buffer];
    return made != NULL && made->op == LOOP_RESULT ? made : NULL;
}

static bool has(const LoopRefs *refs, LoopRef ref) {
    for (uint32_t i = 0; i < refs->len; i++)
        if (refs->data[i] == ref) return true;
    return false;
}

// Adds results to which a vector turn stores vectors side by side.
static void note_stores(const Walker *w, const LoopBody *turn, LoopRefs *found) {
    for (uint32_t i = 0; i < turn->stms.len; i++) {
        const LoopStm *stm = turn->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++)
            note_stores(w, stm->bodies[k], found);
        if (walk_stores_side_by_side(w, stm) && result_of(w, stm->args[0]) != NULL &&
            !has(found, stm->args[0]))
            vec_push(w->arena, found, stm->args[0]);
    }
}

static void note_inner(const Walker *w, const LoopBody *body, LoopRefs *found) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_FOR && stm->number > 0)
            note_stores(w, stm->bodies[0], found);
        for (uint32_t k = 0; k < stm->body_count; k++)
            note_inner(w, stm->bodies[k], found);
    }
}

static bool contains(const LoopBody *body, const LoopStm *loop) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        if (body->stms.data[i] == loop) return true;
        for (uint32_t k = 0; k < body->stms.data[i]->body_count; k++)
            if (contains(body->stms.data[i]->bodies[k], loop)) return true;
    }
    return false;
}

// Whether all that the body does with the buffer, if the loop runs, is storing to it.
static bool only_stores(const LoopBody *body, LoopRef buffer, const LoopStm *loop) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = stm->op == LOOP_STORE; k < stm->arg_count; k++)
            if (stm->args[k] == buffer) return false;
        for (uint32_t k = 0; k < stm->body_count; k++) {
            const LoopBody *inner = stm->bodies[k];
            if (stm->op == LOOP_IF && contains(stm->bodies[1 - k], loop)) continue;
            for (uint32_t r = 0; r < inner->result_count; r++)
                if (inner->results[r] == buffer) return false;
            if (!only_stores(inner, buffer, loop)) return false;
        }
    }
    return true;
}

void walk_find_streams(Walker *w, const LoopStm *loop) {
    bool is_vector = loop->number > 0;
    LoopRefs found = {0};
    w->streams = (LoopRefs){0};
    w->least_streamed = is_vector ? HALF_LINE : LINE;
    if (loop->order != ORDER_PARALLEL) return;
    if (is_vector) note_stores(w, loop->bodies[0], &found);
    else note_inner(w, loop->bodies[0], &found);
    for (uint32_t i = 0; i < found.len; i++)
        if (is_vector || only_stores(w->kernel->root, found.data[i], loop))
            vec_push(w->arena, &w->streams, found.data[i]);
}

bool walk_is_streamed(const Walker *w, LoopRef buffer, uint32_t bytes) {
    return bytes >= w->least_streamed && has(&w->streams, buffer);
}

Str walk_are_far(Walker *w) {
    enum { FAR_BYTES = 8 << 20 }; // what the caches do not hold
    StrBuf text = strbuf(w->arena);
    if (w->streams.len == 0) return STR("false");
    for (uint32_t i = 0; i < w->streams.len; i++) {
        const LoopStm *result = result_of(w, w->streams.data[i]);
        uint8_t elem = w->kernel->values.data[w->streams.data[i]].type.elem;
        strbuf_printf(&text, "%s%u.0", i > 0 ? " + " : "", scalar_info[elem].bytes);
        for (uint32_t d = 0; d < result->arg_count; d++)
            strbuf_printf(&text, " * %.*s", STR_ARG(walk_value(w, result->args[d])));
    }
    strbuf_printf(&text, " >= %d", FAR_BYTES);
    return strbuf_done(&text);
}
