// SPDX-License-Identifier: Apache-2.0
//
// Which results a parallel loop stores past the caches, if they are too large for them:
// what is overwritten need not be fetched. Of loops inside it those that are vectors of
// whole cache lines, and that the kernel never looks at. Likewise buffers that a loop
// around carries, if the parallel loop never looks at them: what the next turn reads
// first has left the caches until then.
//
// Where vectors are half a line, both halves must be stored one after the other, or a
// line goes to memory twice: by one turn, or by neighbouring turns along a row.
#include "emit/walk.h"
#include "loop/machine.h"

enum { LINE = 64, HALF_LINE = 32 };

static const LoopStm *result_of(const Walker *w, LoopRef buffer) {
    const LoopStm *made = w->made[buffer];
    return made != NULL && made->op == LOOP_RESULT ? made : NULL;
}

static bool is_result(const Walker *w, LoopRef buffer) {
    return result_of(w, buffer) != NULL;
}

// What the loops in the body start with where they carry the buffer; 0: none does.
static LoopRef start_of(const LoopBody *body, LoopRef buffer) {
    LoopRef start = 0;
    for (uint32_t i = 0; start == 0 && i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; start == 0 && k < stm->body_count; k++)
            start = start_of(stm->bodies[k], buffer);
        if (start != 0 || stm->op != LOOP_WHILE) continue;
        const LoopBody *turn = stm->bodies[1];
        for (uint32_t k = 0; k < turn->param_count; k++)
            if (turn->params[k] == buffer) start = stm->args[k];
    }
    return start;
}

// What takes the memory of a buffer that a loop carries; NULL: that is not known.
static const LoopStm *alloc_of(const Walker *w, LoopRef buffer) {
    if (w->made[buffer] != NULL) return NULL; // no loop carries it
    LoopRef start = start_of(w->kernel->root, buffer);
    const LoopStm *made = start == 0 ? NULL : w->made[start];
    bool is_memory =
        made != NULL && (made->op == LOOP_ALLOC || made->op == LOOP_RESULT);
    return is_memory ? made : NULL;
}

static bool has(const LoopRefs *refs, LoopRef ref) {
    for (uint32_t i = 0; i < refs->len; i++)
        if (refs->data[i] == ref) return true;
    return false;
}

// Buffers to which vectors are stored side by side.
typedef struct Stores {
    LoopRefs found;
    LoopRefs halves; // some of them: less than a line, and its other half much later
} Stores;

static void add(const Walker *w, LoopRefs *refs, LoopRef ref) {
    if (!has(refs, ref)) vec_push(w->arena, refs, ref);
}

// What a vector turn of so many lanes stores; in a loop of its own neighbouring turns
// of that do not store what is side by side.
static void note_stores(const Walker *w, const LoopBody *turn, uint32_t lanes,
                        bool is_in_loop, Stores *s) {
    for (uint32_t i = 0; i < turn->stms.len; i++) {
        const LoopStm *stm = turn->stms.data[i];
        bool is_loop = stm->op == LOOP_FOR || stm->op == LOOP_WHILE;
        for (uint32_t k = 0; k < stm->body_count; k++)
            note_stores(w, stm->bodies[k], lanes, is_in_loop || is_loop, s);
        if (!walk_stores_side_by_side(w, stm)) continue;
        LoopRef buffer = stm->args[stm->op == LOOP_STOREIF];
        uint8_t elem = w->kernel->values.data[buffer].type.elem;
        add(w, &s->found, buffer);
        if (is_in_loop && lanes * scalar_info[elem].bytes < LINE)
            add(w, &s->halves, buffer);
    }
}

static void note_inner(const Walker *w, const LoopBody *body, Stores *s) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_FOR && stm->number > 0)
            note_stores(w, stm->bodies[0], stm->number, false, s);
        for (uint32_t k = 0; k < stm->body_count; k++) note_inner(w, stm->bodies[k], s);
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

// Whether the loop may store to it past the caches.
static bool is_streamed_by(const Walker *w, const LoopStm *loop, LoopRef buffer) {
    if (is_result(w, buffer))
        return loop->number > 0 || only_stores(w->kernel->root, buffer, loop);
    if (alloc_of(w, buffer) == NULL) return false;
    for (uint32_t k = 0; k < loop->body_count; k++)
        if (!only_stores(loop->bodies[k], buffer, loop)) return false;
    return true;
}

void walk_find_streams(Walker *w, const LoopStm *loop) {
    bool is_vector = loop->number > 0, has_halves = machine_vector_bytes() == HALF_LINE;
    Stores s = {0};
    w->streams = (LoopRefs){0};
    w->least_streamed = is_vector || has_halves ? HALF_LINE : LINE;
    if (loop->order != ORDER_PARALLEL) return;
    if (is_vector) note_stores(w, loop->bodies[0], loop->number, false, &s);
    else note_inner(w, loop->bodies[0], &s);
    for (uint32_t i = 0; i < s.found.len; i++) {
        LoopRef buffer = s.found.data[i];
        bool is_late = !is_vector && has_halves && has(&s.halves, buffer);
        if (is_streamed_by(w, loop, buffer) && !is_late)
            vec_push(w->arena, &w->streams, buffer);
    }
}

bool walk_is_streamed(const Walker *w, LoopRef buffer, uint32_t bytes) {
    return bytes >= w->least_streamed && has(&w->streams, buffer);
}

Str walk_are_far(Walker *w) {
    // What the caches do not hold; four times that of what the next turn reads, or the
    // next kernel.
    enum { FAR_BYTES = 8 << 20 };
    StrBuf text = strbuf(w->arena);
    if (w->streams.len == 0) return STR("false");
    for (uint32_t i = 0; i < w->streams.len; i++) {
        LoopRef buffer = w->streams.data[i];
        const LoopStm *made = result_of(w, buffer);
        uint8_t elem = w->kernel->values.data[buffer].type.elem;
        const char *share = made != NULL && !w->kernel->is_read_next ? "" : " / 4";
        if (made == NULL) made = alloc_of(w, buffer);
        strbuf_printf(&text, "%s%u.0%s", i > 0 ? " + " : "", scalar_info[elem].bytes,
                      share);
        for (uint32_t d = 0; d < made->arg_count; d++)
            strbuf_printf(&text, " * %.*s", STR_ARG(walk_value(w, made->args[d])));
    }
    strbuf_printf(&text, " >= %d", FAR_BYTES);
    return strbuf_done(&text);
}
