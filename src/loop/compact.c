// SPDX-License-Identifier: Apache-2.0
//
// A kernel as it is after its passes, without what they left behind: statements that
// are gone, and the values of these.
#include "loop/passes.h"

typedef struct Compact {
    const LoopKernel *from;
    LoopKernel *to;
    LoopRef *refs;  // by LoopRef of `from`: that of `to`; 0: not met yet
    LoopRef *met;   // by LoopRef of `to`: that of `from`
    uint32_t count; // of these; 0 is none
} Compact;

static LoopRef copy_ref(Compact *c, LoopRef ref) {
    if (ref == 0 || c->refs[ref] != 0) return c->refs[ref];
    c->met[c->count] = ref;
    return c->refs[ref] = c->count++;
}

static void copy_refs_to(Compact *c, LoopRef *copies, const LoopRef *refs,
                         uint32_t count) {
    for (uint32_t i = 0; i < count; i++) copies[i] = copy_ref(c, refs[i]);
}

static LoopRef *copy_refs(Compact *c, const LoopRef *refs, uint32_t count) {
    if (count == 0) return NULL;
    LoopRef *copies = arena_alloc(c->to->arena, count * sizeof *copies);
    copy_refs_to(c, copies, refs, count);
    return copies;
}

static LoopBody *copy_body(Compact *c, const LoopBody *body);

static LoopStm *copy_stm(Compact *c, const LoopStm *stm) {
    Arena *arena = c->to->arena;
    uint32_t refs = stm->arg_count + stm->out_count; // most have few, so in one block
    LoopStm *copy = arena_alloc(arena, sizeof *copy + refs * sizeof *copy->args);
    *copy = *stm;
    copy->args = (LoopRef *)(copy + 1);
    copy->outs = copy->args + stm->arg_count;
    copy_refs_to(c, copy->args, stm->args, stm->arg_count);
    copy->bodies = arena_array(arena, LoopBody *, stm->body_count);
    for (uint32_t i = 0; i < stm->body_count; i++)
        copy->bodies[i] = copy_body(c, stm->bodies[i]);
    copy_refs_to(c, copy->outs, stm->outs, stm->out_count);
    copy->text.ptr = arena_copy(arena, stm->text.ptr, stm->text.len);
    return copy;
}

static LoopBody *copy_body(Compact *c, const LoopBody *body) {
    Arena *arena = c->to->arena;
    uint32_t count = body->stms.len;
    LoopBody *copy = arena_copy(arena, body, sizeof *body);
    copy->params = copy_refs(c, body->params, body->param_count);
    copy->stms.data = arena_array(arena, LoopStm *, count);
    copy->stms.cap = count;
    for (uint32_t i = 0; i < count; i++)
        copy->stms.data[i] = copy_stm(c, body->stms.data[i]);
    copy->results = copy_refs(c, body->results, body->result_count);
    return copy;
}

static void copy_values(Compact *c) {
    LoopKernel *to = c->to;
    to->values.data = arena_alloc(to->arena, c->count * sizeof *to->values.data);
    for (uint32_t i = 0; i < c->count; i++)
        to->values.data[i] = c->from->values.data[c->met[i]];
    to->values.len = to->values.cap = c->count;
}

LoopKernel *loop_compact(const LoopKernel *kernel, Arena *arena) {
    LoopKernel *to = arena_copy(arena, kernel, sizeof *kernel);
    uint32_t most = kernel->values.len;
    Compact c = {kernel, to, arena_array(loop_notes(kernel), LoopRef, most),
                 arena_array(loop_notes(kernel), LoopRef, most), 1};
    to->arena = arena;
    to->notes = NULL;
    to->constants = (Map){0};
    to->funs.data =
        arena_copy(arena, kernel->funs.data, kernel->funs.len * sizeof *to->funs.data);
    to->funs.cap = kernel->funs.len;
    for (uint32_t i = 0; i < to->funs.len; i++)
        to->funs.data[i].body = copy_body(&c, kernel->funs.data[i].body);
    to->root = copy_body(&c, kernel->root);
    copy_values(&c);
    to->params =
        arena_copy(arena, kernel->params, kernel->param_count * sizeof *to->params);
    to->results =
        arena_copy(arena, kernel->results, kernel->result_count * sizeof *to->results);
    return to;
}
