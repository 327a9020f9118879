// SPDX-License-Identifier: Apache-2.0
//
// Copies of loop code (copy.h).
#include "loop/copy.h"

LoopCopier loop_copier(LoopBuilder *b) {
    LoopCopier c = {.b = b};
    map_init(&c.copies, loop_notes(b->kernel));
    return c;
}

void loop_copy_as(LoopCopier *c, LoopRef ref, LoopRef copy) {
    map_set(&c->copies, loop_find(c->b, ref), copy);
}

LoopRef loop_copy_of(const LoopCopier *c, LoopRef ref) {
    uint64_t copy;
    ref = loop_find(c->b, ref);
    return map_get(&c->copies, ref, &copy) ? (LoopRef)copy : ref;
}

static LoopRef *copy_refs(const LoopCopier *c, const LoopRef *refs, uint32_t count) {
    LoopRef *copies = arena_array(c->b->arena, LoopRef, count);
    for (uint32_t i = 0; i < count; i++) copies[i] = loop_copy_of(c, refs[i]);
    return copies;
}

static LoopRef *copy_binders(LoopCopier *c, const LoopRef *refs, uint32_t count) {
    LoopRef *copies = arena_array(c->b->arena, LoopRef, count);
    for (uint32_t i = 0; i < count; i++) {
        LoopValue value = c->b->kernel->values.data[refs[i]];
        copies[i] = loop_value(c->b, value.type, value.name);
        map_set(&c->copies, refs[i], copies[i]);
    }
    return copies;
}

LoopBody *loop_copy_body(LoopCopier *c, const LoopBody *body) {
    Arena *arena = c->b->arena;
    LoopBody *copy = arena_copy(arena, body, sizeof *body);
    copy->params = copy_binders(c, body->params, body->param_count);
    copy->stms.data = arena_array(arena, LoopStm *, body->stms.len);
    copy->stms.cap = body->stms.len;
    for (uint32_t i = 0; i < body->stms.len; i++)
        copy->stms.data[i] = loop_copy_stm(c, body->stms.data[i]);
    copy->results = copy_refs(c, body->results, body->result_count);
    return copy;
}

LoopStm *loop_copy_stm(LoopCopier *c, const LoopStm *stm) {
    Arena *arena = c->b->arena;
    LoopStm *copy = arena_copy(arena, stm, sizeof *stm);
    copy->args = copy_refs(c, stm->args, stm->arg_count);
    copy->bodies = arena_array(arena, LoopBody *, stm->body_count);
    for (uint32_t i = 0; i < stm->body_count; i++)
        copy->bodies[i] = loop_copy_body(c, stm->bodies[i]);
    copy->outs = copy_binders(c, stm->outs, stm->out_count);
    return copy;
}

static void bind(Map *bound, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) map_set(bound, refs[i], 1);
}

void loop_bind_body(Map *bound, const LoopBody *body) {
    bind(bound, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bind(bound, stm->outs, stm->out_count);
        for (uint32_t k = 0; k < stm->body_count; k++)
            loop_bind_body(bound, stm->bodies[k]);
    }
}

bool loop_has_loops(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_FOR || stm->op == LOOP_WHILE) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loop_has_loops(stm->bodies[k])) return true;
    }
    return false;
}

uint32_t loop_body_size(const LoopBody *body) {
    uint32_t size = body->stms.len;
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->body_count; k++)
            size += loop_body_size(body->stms.data[i]->bodies[k]);
    return size;
}

bool loop_can_pay(RangeWalk *w, const LoopBody *body) {
    uint32_t size = loop_body_size(body);
    if (size > w->budget) return false;
    w->budget -= size;
    return true;
}
