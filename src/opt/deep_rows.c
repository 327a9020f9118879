// SPDX-License-Identifier: Apache-2.0
//
// The maps that a nest by parts is made of: one that makes the rows of a strip, where
// the nest makes such first; the sums alone, of a part of each row; and what is made of
// all sums. That one makes anew what it wants of the rows: there are many columns, so
// that making a row is little against folding it with each.
#include "opt/deep.h"

#include "core/rules.h"

// ---- rows --------------------------------------------------------------------------

static CoreRef slice(Deep *d, CoreRef array, uint32_t axis, CoreRef start,
                     CoreRef count, uint32_t stride) {
    CoreRef args[] = {array, start, count, deep_number(d->b, stride)};
    return deep_emit_safe(d->b, OP_SLICE, args, 4, core_type(d->program, array),
                          &(int32_t){(int32_t)axis}, 1);
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
    DeepStms fold = {0}, nest = {0};
    CoreRefs used = {0}, made = {0};
    vec_push(p->arena, &fold, (CoreStm *)d->fold);
    CoreStm *inner = deep_map_like(p, d->inner, &fold, d->fold->outs, 1);
    deep_set_row_sizes(p, inner, NULL, 0);
    deep_change_arrays(d->b, inner, NULL, NULL, 0);
    vec_push(p->arena, &nest, inner);
    CoreStm *sums = deep_map_like(p, d->outer, &nest, inner->outs, 1);
    deep_set_row_sizes(p, sums, &d->columns, 1);
    core_free(p, sums->bodies[0], p->arena, &used);
    for (uint32_t i = 0; i < d->at; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            if (deep_has(used.data, used.len, body->stms.data[i]->outs[k]))
                vec_push(p->arena, &made, body->stms.data[i]->outs[k]);
    deep_change_arrays(d->b, sums, made.data, made.data, made.len);
    return sums;
}

// The map that makes these rows, and numbers.
static CoreStm *rows_alone(Deep *d, const CoreRefs *made) {
    CoreProgram *p = d->program;
    CoreBody results = {.results = made->data, .result_count = made->len};
    DeepStms stms = deep_wanted(p, d->outer->bodies[0], d->at, &results);
    CoreRefs sizes = {0};
    for (uint32_t i = 0; i < made->len; i++)
        if (core_type(p, made->data[i]).rank > 0) vec_push(p->arena, &sizes, d->n);
    CoreStm *map = deep_map_like(p, d->outer, &stms, made->data, made->len);
    deep_set_row_sizes(p, map, sizes.data, sizes.len);
    deep_change_arrays(d->b, map, NULL, NULL, 0);
    return map;
}

// The same rows of each array, but of those that are made.
static CoreRef *rows_of(Deep *d, const CoreStm *map, CoreRef row, CoreRef rows) {
    CoreRef *args =
        arena_copy(d->program->arena, map->args, map->arg_count * sizeof *args);
    for (int32_t i = 0; i < map->attrs[0]; i++)
        if (args[i] != map->bodies[0]->params[i])
            args[i] = slice(d, deep_view(d->rw, d->b, args[i]), 0, row, rows, 1);
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
        CoreRef feed = deep_view(d->rw, d->b, d->feeds[i]);
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
    CoreProgram *p = d->program;
    const CoreBody *body = d->inner->bodies[0];
    DeepStms stms = {0};
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i] != d->fold)
            vec_push(p->arena, &stms, body->stms.data[i]);
    CoreStm *inner =
        deep_map_like(p, d->inner, &stms, body->results, body->result_count);
    inner->outs = d->inner->outs;
    deep_change_arrays(d->b, inner, &row, d->fold->outs, 1);
    return inner;
}

void deep_emit_rest(Deep *d, CoreRef sums) {
    CoreProgram *p = d->program;
    const CoreBody *body = d->outer->bodies[0];
    CoreRef row =
        is_inner_bare(d) ? d->inner->outs[0] : core_value(p, deep_elements(d, 1), 0);
    DeepStms later = {0};
    if (!is_inner_bare(d)) vec_push(p->arena, &later, rest_of_inner(d, row));
    for (uint32_t i = d->at + 1; i < body->stms.len; i++)
        vec_push(p->arena, &later, body->stms.data[i]);
    CoreBody all = *body;
    all.stms.data = later.data;
    all.stms.len = later.len;
    all.param_count = 0;
    DeepStms stms = deep_wanted(p, body, d->at, &all);
    for (uint32_t i = 0; i < later.len; i++) vec_push(p->arena, &stms, later.data[i]);
    CoreStm *rest =
        deep_map_like(p, d->outer, &stms, body->results, body->result_count);
    deep_change_arrays(d->b, rest, &sums, &row, 1);
    Map map;
    map_init(&map, core_notes(p));
    deep_emit_map(d->b, rest, rest->args, &map);
}
