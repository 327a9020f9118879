// SPDX-License-Identifier: Apache-2.0
//
// Loads whose element is wanted only behind a loop are made there: what is loaded
// before takes a register all the while, and several turns at once (jam.c) need them
// all. They load from parameters that nobody overwrites, so that it does not matter
// when.
#include "loop/build.h"
#include "loop/passes.h"

typedef struct Late {
    const LoopBuilder *b;
    Map tables;     // constant ones
    uint32_t *used; // by LoopRef: the first statement of the body with a use, or NONE
} Late;

enum { NONE = UINT32_MAX };

// ---- uses ---------------------------------------------------------------------------

static void note_uses(const Late *l, const LoopRef *refs, uint32_t count, uint32_t at) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *used = &l->used[loop_find(l->b, refs[i])];
        if (at < *used) *used = at;
    }
}

// Uses in the statement number `at`, or in its bodies.
static void note_stm(const Late *l, const LoopStm *stm, uint32_t at) {
    note_uses(l, stm->args, stm->arg_count, at);
    for (uint32_t k = 0; k < stm->body_count; k++) {
        const LoopBody *body = stm->bodies[k];
        for (uint32_t i = 0; i < body->stms.len; i++)
            note_stm(l, body->stms.data[i], at);
        note_uses(l, body->results, body->result_count, at);
    }
}

// ---- bodies -------------------------------------------------------------------------

static bool is_loop(const LoopStm *stm) {
    return stm->op == LOOP_FOR || stm->op == LOOP_WHILE;
}

// Whether statement `at` is a load that only what is behind a loop needs, or nothing at
// all, which leaves it out; uses behind it are known.
static bool is_early(const Late *l, const LoopBody *body, uint32_t at) {
    const LoopStm *stm = body->stms.data[at];
    uint64_t unused;
    if (stm->op != LOOP_LOAD) return false;
    LoopRef buffer = loop_find(l->b, stm->args[0]);
    if (!map_get(&l->tables, buffer, &unused) &&
        !loop_is_read_only(l->b->kernel, buffer))
        return false;
    uint32_t used = l->used[stm->outs[0]], i = at + 1;
    while (i < used && i < body->stms.len && !is_loop(body->stms.data[i])) i++;
    return i < used && i < body->stms.len;
}

// Before statement `at` come the loads that it is the first to use.
static void put_loads(const Late *l, LoopBody *body, LoopBody *loads, uint32_t at) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < loads->stms.len; i++) {
        LoopStm *load = loads->stms.data[i];
        if (l->used[load->outs[0]] == at) vec_push(l->b->arena, &body->stms, load);
        else loads->stms.data[kept++] = load;
    }
    loads->stms.len = kept;
}

static void delay_loads(const Late *l, LoopBody *body) {
    LoopBody old = *body, loads = {0};
    uint32_t count = old.stms.len;
    bool *is_late = arena_array(l->b->arena, bool, count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t r = 0; r < old.stms.data[i]->out_count; r++)
            l->used[old.stms.data[i]->outs[r]] = NONE;
    note_uses(l, old.results, old.result_count, count);
    for (uint32_t i = count; i-- > 0;) {
        const LoopStm *stm = old.stms.data[i];
        is_late[i] = is_early(l, &old, i);
        note_stm(l, stm, is_late[i] ? l->used[stm->outs[0]] : i);
    }
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    for (uint32_t i = 0; i < count; i++) {
        put_loads(l, body, &loads, i);
        if (is_late[i]) vec_push(l->b->arena, &loads.stms, old.stms.data[i]);
        else vec_push(l->b->arena, &body->stms, old.stms.data[i]);
    }
    put_loads(l, body, &loads, count);
}

static void walk(Late *l, LoopBody *body) {
    bool has_loops = false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_DATA) map_set(&l->tables, stm->outs[0], 1);
        for (uint32_t k = 0; k < stm->body_count; k++) walk(l, stm->bodies[k]);
        has_loops = has_loops || is_loop(stm);
    }
    if (has_loops) delay_loads(l, body);
}

// ---- the pass -----------------------------------------------------------------------

void loop_late(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    Late l = {.b = &b};
    map_init(&l.tables, loop_notes(kernel));
    l.used = arena_array(loop_notes(kernel), uint32_t, kernel->values.len);
    walk(&l, kernel->root);
}
