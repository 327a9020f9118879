// SPDX-License-Identifier: Apache-2.0
//
// The maps that a nest by parts is made of: one that makes the rows of a strip, where
// the nest makes such first; the sums alone, of a part of each row; and what is made of
// all sums. That one makes anew what it wants of the rows: there are many columns, so
// that making a row is little against folding it with each.
#include "opt/deep.h"

#include "core/rules.h"

// ---- statements ---------------------------------------------------------------------

CoreRef deep_op2(Deep *d, CoreOp op, CoreRef x, CoreRef y) {
    return core_op2(d->b, op, x, y);
}

CoreRef deep_number(Deep *d, int64_t value) {
    return core_i64(d->program, value);
}

CoreRef deep_emit_safe(Deep *d, CoreOp op, const CoreRef *args, uint32_t count,
                       CoreType type, const int32_t *attrs, uint32_t attr_count) {
    CoreStm *stm = core_emit(d->b, op, args, count, &type, 1);
    stm->flags |= STM_UNSAFE;
    core_set_attrs(d->b, stm, attrs, attr_count);
    return stm->outs[0];
}

CoreStm *deep_emit_map(CoreBuilder *b, const CoreStm *stm, const CoreRef *args,
                       Map *map) {
    CoreProgram *p = b->program;
    CoreStm *copy = arena_copy(p->arena, stm, sizeof *copy);
    copy->args = arena_copy(p->arena, args, stm->arg_count * sizeof *args);
    copy->outs = arena_array(p->arena, CoreRef, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        copy->outs[i] = core_value(p, core_type(p, stm->outs[i]), 0);
    copy->bodies = arena_array(p->arena, CoreBody *, 1);
    copy->bodies[0] = core_clone(p, stm->bodies[0], map, 0);
    core_append(b, copy);
    return copy;
}

static CoreRef slice(Deep *d, CoreRef array, uint32_t axis, CoreRef start,
                     CoreRef count, uint32_t stride) {
    CoreRef args[] = {array, start, count, deep_number(d, stride)};
    return deep_emit_safe(d, OP_SLICE, args, 4, core_type(d->program, array),
                          &(int32_t){(int32_t)axis}, 1);
}

// The array, which is made here if it is a view: as one from outside it might be
// copied.
static CoreRef view(Deep *d, CoreRef array) {
    const CoreStm *def = rewrite_def(d->rw, array);
    if (def == NULL || def->op != OP_PERMUTE) return array;
    CoreStm *stm = core_emit(d->b, OP_PERMUTE, def->args, 1,
                             (CoreType[]){core_type(d->program, array)}, 1);
    core_set_attrs(d->b, stm, def->attrs, def->attr_count);
    return stm->outs[0];
}

// ---- maps like others ---------------------------------------------------------------

// Statements of which a body is to be made.
typedef struct Stms {
    CoreStm **data;
    uint32_t len, cap;
} Stms;

// A map like that one, but for its body's statements and results.
static CoreStm *map_like(Deep *d, const CoreStm *stm, const Stms *stms,
                         const CoreRef *results, uint32_t count) {
    CoreProgram *p = d->program;
    CoreStm *copy = arena_copy(p->arena, stm, sizeof *copy);
    CoreBody *body = arena_copy(p->arena, stm->bodies[0], sizeof *body);
    body->stms.data = stms->data;
    body->stms.len = body->stms.cap = stms->len;
    body->results = arena_copy(p->arena, results, count * sizeof *results);
    body->result_count = count;
    copy->bodies = arena_copy(p->arena, &body, sizeof body);
    copy->outs = arena_array(p->arena, CoreRef, count);
    copy->out_count = count;
    for (uint32_t i = 0; i < count; i++) {
        CoreType type = core_type(p, results[i]);
        type.rank++;
        copy->outs[i] = core_value(p, type, 0);
    }
    return copy;
}

// Says the sizes of the map's rows anew.
static void set_row_sizes(Deep *d, CoreStm *map, const CoreRef *sizes, uint32_t count) {
    CoreRefs args = {0};
    for (int32_t i = 0; i < map->attrs[0]; i++)
        vec_push(d->program->arena, &args, map->args[i]);
    for (uint32_t i = 0; i < count; i++) vec_push(d->program->arena, &args, sizes[i]);
    map->args = args.data;
    map->arg_count = args.len;
}

// Takes away those of the map's arrays of which it makes no use, and gives it others,
// whose rows are `params` in its body.
static void change_arrays(Deep *d, CoreStm *map, const CoreRef *arrays,
                          const CoreRef *params, uint32_t count) {
    CoreProgram *p = d->program;
    CoreBody *body = map->bodies[0], open = *body;
    CoreRefs used = {0}, args = {0}, taken = {0};
    uint32_t before = (uint32_t)map->attrs[0];
    open.param_count = 0;
    core_free(p, &open, p->arena, &used);
    for (uint32_t i = 0; i < before; i++) {
        bool is_last = i + 1 == before && args.len + count == 0;
        if (!deep_has(used.data, used.len, body->params[i]) && !is_last) continue;
        vec_push(p->arena, &args, map->args[i]);
        vec_push(p->arena, &taken, body->params[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        vec_push(p->arena, &args, arrays[i]);
        vec_push(p->arena, &taken, params[i]);
    }
    for (uint32_t i = before; i < map->arg_count; i++)
        vec_push(p->arena, &args, map->args[i]);
    map->args = args.data;
    map->arg_count = args.len;
    body->params = taken.data;
    body->param_count = taken.len;
    core_set_attrs(d->b, map, &(int32_t){(int32_t)taken.len}, 1);
}

// ---- the sums of rows ---------------------------------------------------------------

// What the outer map's body makes of rows before the inner map, and that one's sums
// want. An array that the nest takes is such a one if it goes by the name of its row.
static CoreRefs made_of(const Deep *d, const CoreStm *sums) {
    CoreRefs made = {0};
    for (int32_t i = 0; i < sums->attrs[0]; i++)
        if (sums->args[i] == sums->bodies[0]->params[i])
            vec_push(d->program->arena, &made, sums->args[i]);
    return made;
}

CoreStm *deep_sums_alone(Deep *d) {
    CoreProgram *p = d->program;
    const CoreBody *body = d->outer->bodies[0];
    Stms fold = {0}, nest = {0};
    CoreRefs used = {0}, made = {0};
    vec_push(p->arena, &fold, (CoreStm *)d->fold);
    CoreStm *inner = map_like(d, d->inner, &fold, d->fold->outs, 1);
    set_row_sizes(d, inner, NULL, 0);
    change_arrays(d, inner, NULL, NULL, 0);
    vec_push(p->arena, &nest, inner);
    CoreStm *sums = map_like(d, d->outer, &nest, inner->outs, 1);
    set_row_sizes(d, sums, &d->columns, 1);
    core_free(p, sums->bodies[0], p->arena, &used);
    for (uint32_t i = 0; i < d->at; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            if (deep_has(used.data, used.len, body->stms.data[i]->outs[k]))
                vec_push(p->arena, &made, body->stms.data[i]->outs[k]);
    change_arrays(d, sums, made.data, made.data, made.len);
    return sums;
}

// Those statements before the inner map of which the body makes use.
static Stms wanted_by(Deep *d, const CoreBody *body) {
    CoreProgram *p = d->program;
    CoreStm **stms = d->outer->bodies[0]->stms.data;
    CoreRefs used = {0};
    Stms wanted = {0};
    bool *is_wanted = arena_array(p->arena, bool, d->at + 1);
    core_free(p, body, p->arena, &used);
    for (uint32_t i = d->at; i-- > 0;) {
        for (uint32_t k = 0; k < stms[i]->out_count; k++)
            is_wanted[i] |= deep_has(used.data, used.len, stms[i]->outs[k]);
        CoreBody alone = {.stms = {&stms[i], 1, 1}};
        if (is_wanted[i]) core_free(p, &alone, p->arena, &used);
    }
    for (uint32_t i = 0; i < d->at; i++)
        if (is_wanted[i]) vec_push(p->arena, &wanted, stms[i]);
    return wanted;
}

// The map that makes these rows, and numbers.
static CoreStm *rows_alone(Deep *d, const CoreRefs *made) {
    CoreBody results = {.results = made->data, .result_count = made->len};
    Stms stms = wanted_by(d, &results);
    CoreRefs sizes = {0};
    for (uint32_t i = 0; i < made->len; i++)
        if (core_type(d->program, made->data[i]).rank > 0)
            vec_push(d->program->arena, &sizes, d->n);
    CoreStm *map = map_like(d, d->outer, &stms, made->data, made->len);
    set_row_sizes(d, map, sizes.data, sizes.len);
    change_arrays(d, map, NULL, NULL, 0);
    return map;
}

// The same rows of each array, but of those that are made.
static CoreRef *rows_of(Deep *d, const CoreStm *map, CoreRef row, CoreRef rows) {
    CoreRef *args =
        arena_copy(d->program->arena, map->args, map->arg_count * sizeof *args);
    for (int32_t i = 0; i < map->attrs[0]; i++)
        if (args[i] != map->bodies[0]->params[i])
            args[i] = slice(d, view(d, args[i]), 0, row, rows, 1);
    return args;
}

const CoreRef *deep_emit_made(Deep *d, CoreRef row, CoreRef rows) {
    CoreRefs made = made_of(d, d->sums);
    if (made.len == 0) return NULL;
    const CoreStm *map = rows_alone(d, &made);
    Map none;
    map_init(&none, core_notes(d->program));
    return deep_emit_map(d->b, map, rows_of(d, map, row, rows), &none)->outs;
}

uint32_t deep_made_bytes(const Deep *d) {
    CoreRefs made = made_of(d, d->sums);
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < made.len; i++) {
        CoreType type = core_type(d->program, made.data[i]);
        if (type.rank > 0) bytes += scalar_info[type.elem].bytes;
    }
    return bytes;
}

CoreRef deep_emit_nest(Deep *d, DeepRows at, CoreRef start, CoreRef count) {
    CoreProgram *p = d->program;
    const CoreStm *sums = d->sums;
    const CoreRef *params = sums->bodies[0]->params;
    CoreRef *args = rows_of(d, sums, at.row, at.rows);
    Map map;
    map_init(&map, core_notes(p));
    for (int32_t i = 0, k = 0; i < sums->attrs[0]; i++) {
        if (args[i] == params[i]) args[i] = at.made[k++];
        if (deep_has(d->row_of, d->count, params[i]))
            args[i] = slice(d, args[i], 1, start, count, d->lanes);
    }
    for (uint32_t i = 0; i < d->count; i++) {
        if (d->row_of[i] != 0) continue;
        CoreRef feed = view(d, d->feeds[i]);
        map_set(&map, d->feeds[i], slice(d, feed, d->axes[i], start, count, d->lanes));
    }
    return deep_emit_map(d->b, sums, args, &map)->outs[0];
}

// ---- what is made of sums -----------------------------------------------------------

// Whether the inner map gives the sums, and nothing else.
static bool is_inner_bare(const Deep *d) {
    const CoreBody *body = d->inner->bodies[0];
    return body->stms.len == 1 && body->result_count == 1 &&
           body->results[0] == d->fold->outs[0];
}

bool deep_is_bare(const Deep *d) {
    const CoreBody *body = d->outer->bodies[0];
    return is_inner_bare(d) && body->stms.len == d->at + 1 && body->result_count == 1 &&
           body->results[0] == d->inner->outs[0];
}

// What the inner map makes of a row of sums.
static CoreStm *rest_of_inner(Deep *d, CoreRef row) {
    const CoreBody *body = d->inner->bodies[0];
    Stms stms = {0};
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i] != d->fold)
            vec_push(d->program->arena, &stms, body->stms.data[i]);
    CoreStm *inner = map_like(d, d->inner, &stms, body->results, body->result_count);
    inner->outs = d->inner->outs;
    change_arrays(d, inner, &row, d->fold->outs, 1);
    return inner;
}

void deep_emit_rest(Deep *d, CoreRef sums) {
    CoreProgram *p = d->program;
    const CoreBody *body = d->outer->bodies[0];
    CoreRef row =
        is_inner_bare(d) ? d->inner->outs[0] : core_value(p, deep_elements(d, 1), 0);
    Stms later = {0};
    if (!is_inner_bare(d)) vec_push(p->arena, &later, rest_of_inner(d, row));
    for (uint32_t i = d->at + 1; i < body->stms.len; i++)
        vec_push(p->arena, &later, body->stms.data[i]);
    CoreBody all = *body;
    all.stms.data = later.data;
    all.stms.len = later.len;
    all.param_count = 0;
    Stms stms = wanted_by(d, &all);
    for (uint32_t i = 0; i < later.len; i++) vec_push(p->arena, &stms, later.data[i]);
    CoreStm *rest = map_like(d, d->outer, &stms, body->results, body->result_count);
    change_arrays(d, rest, &sums, &row, 1);
    Map map;
    map_init(&map, core_notes(p));
    deep_emit_map(d->b, rest, rest->args, &map);
}
