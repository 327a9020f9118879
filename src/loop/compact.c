// SPDX-License-Identifier: Apache-2.0
//
// A kernel as it is after its passes, without what they left behind: statements that
// are gone, and the values of these.
#include "loop/passes.h"

typedef struct Compact {
    const LoopKernel *from;
    LoopKernel *to;
    LoopRef *refs; // by LoopRef of `from`: that of `to`; 0: not met yet
} Compact;

static LoopRef copy_ref(Compact *c, LoopRef ref) {
    if (ref == 0 || c->refs[ref] != 0) return c->refs[ref];
    c->refs[ref] = c->to->values.len;
    vec_push(c->to->arena, &c->to->values, c->from->values.data[ref]);
    return c->refs[ref];
}

static LoopRef *copy_refs(Compact *c, const LoopRef *refs, uint32_t count) {
    LoopRef *copies = arena_array(c->to->arena, LoopRef, count);
    for (uint32_t i = 0; i < count; i++) copies[i] = copy_ref(c, refs[i]);
    return copies;
}

static LoopBody *copy_body(Compact *c, const LoopBody *body);

static LoopStm *copy_stm(Compact *c, const LoopStm *stm) {
    Arena *arena = c->to->arena;
    LoopStm *copy = arena_copy(arena, stm, sizeof *stm);
    copy->args = copy_refs(c, stm->args, stm->arg_count);
    copy->bodies = arena_array(arena, LoopBody *, stm->body_count);
    for (uint32_t i = 0; i < stm->body_count; i++)
        copy->bodies[i] = copy_body(c, stm->bodies[i]);
    copy->outs = copy_refs(c, stm->outs, stm->out_count);
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

LoopKernel *loop_compact(const LoopKernel *kernel, Arena *arena) {
    LoopKernel *to = arena_copy(arena, kernel, sizeof *kernel);
    Compact c = {kernel, to, arena_array(kernel->arena, LoopRef, kernel->values.len)};
    to->arena = arena;
    to->values.data = NULL;
    to->constants = (Map){0};
    to->values.len = to->values.cap = 0;
    vec_push(arena, &to->values, (LoopValue){0});
    to->funs.data =
        arena_copy(arena, kernel->funs.data, kernel->funs.len * sizeof *to->funs.data);
    to->funs.cap = kernel->funs.len;
    for (uint32_t i = 0; i < to->funs.len; i++)
        to->funs.data[i].body = copy_body(&c, kernel->funs.data[i].body);
    to->root = copy_body(&c, kernel->root);
    to->params =
        arena_copy(arena, kernel->params, kernel->param_count * sizeof *to->params);
    to->results =
        arena_copy(arena, kernel->results, kernel->result_count * sizeof *to->results);
    return to;
}
