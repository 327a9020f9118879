// SPDX-License-Identifier: Apache-2.0
//
// The choice of a nest by parts, or as it was.
#include "opt/deep.h"

static CoreRef emit_equal(Deep *d, const DeepScope *s, CoreRef c) {
    for (uint32_t i = 0; i < s->equal.len; i += 2) {
        CoreRef x = deep_emit_size(d->b, s->equal.data[i]);
        CoreRef y = deep_emit_size(d->b, s->equal.data[i + 1]);
        c = deep_op2(d, OP_AND, c, deep_op2(d, OP_EQ, x, y));
    }
    return c;
}

static CoreBody *close_last(CoreBuilder *b) {
    const CoreBody *open = b->open.data[b->open.len - 1];
    const CoreStm *last = open->stms.data[open->stms.len - 1];
    return core_close(b, last->outs, last->out_count);
}

static CoreBody *as_it_was(CoreBuilder *b, const CoreStm *stm) {
    Map none;
    map_init(&none, b->program->arena);
    core_open(b, NULL, 0);
    deep_emit_map(b, stm, stm->args, &none);
    return close_last(b);
}

bool deep_emit_choice(const Deep *like, const CoreStm *stm) {
    Deep d = *like;
    DeepScope s = deep_scope(d.rw, stm);
    if (!deep_find(&d, &s, stm)) return false;
    CoreRef c = deep_emit_wanted(&d);
    c = emit_equal(&d, &s, c);
    core_open(d.b, NULL, 0);
    deep_emit_parts(&d);
    CoreBody *bodies[] = {close_last(d.b), NULL};
    bodies[1] = as_it_was(d.b, stm);
    CoreType *types = arena_array(d.program->arena, CoreType, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        types[i] = core_type(d.program, stm->outs[i]);
    CoreStm *choice = core_emit(d.b, OP_IF, &c, 1, types, stm->out_count);
    core_set_bodies(d.b, choice, bodies, 2);
    choice->flags |= STM_LARGE;
    choice->outs = stm->outs;
    return true;
}
