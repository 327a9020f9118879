// SPDX-License-Identifier: Apache-2.0
//
// Loops as the lowering makes them: nests that carry nothing, and loops that carry
// values. Both free at the end of a turn what the turn allocated, save the next state.
#include "loop/lower.h"

// ---- private memory -----------------------------------------------------------------

LoopRef loop_mark(Lower *l) {
    return loop_emit1(l->b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
}

void loop_keep(Lower *l, LoopRef mark, uint32_t allocs, LoopRef *bufs, uint32_t count) {
    if (l->allocs == allocs) return;
    LoopRef *args = arena_array(l->arena, LoopRef, count + 1);
    args[0] = mark;
    for (uint32_t i = 0; i < count; i++) args[1 + i] = bufs[i];
    LoopStm *stm =
        loop_emit(l->b, LOOP_KEEP, args, count + 1, loop_types(l, bufs, count), count);
    for (uint32_t i = 0; i < count; i++) bufs[i] = stm->outs[i];
}

// ---- nests --------------------------------------------------------------------------

void loop_open_nest(Lower *l, Nest *nest, uint32_t rank, const LoopRef *shape,
                    LoopOrder order) {
    LoopBuilder *b = l->b;
    nest->rank = rank;
    nest->shape = shape;
    nest->order = order;
    nest->was_parallel = l->is_parallel;
    nest->known = l->sizes.len;
    loop_enter(l);
    if (order != ORDER_SEQUENTIAL) l->is_parallel = false;
    if (order == ORDER_PARALLEL) {
        uint32_t outer = rank > 1 ? rank - 1 : 1;
        nest->outer = loop_count(l, outer, shape);
        LoopRef rest = loop_open_turns(b);
        for (uint32_t d = outer; d-- > 1;) {
            nest->index[d] = loop_rem(b, rest, shape[d]);
            rest = loop_quot(b, rest, shape[d]);
        }
        nest->index[0] = rest;
        if (rank > 1) nest->index[rank - 1] = loop_open_turns(b);
    } else {
        for (uint32_t d = 0; d < rank; d++) nest->index[d] = loop_open_turns(b);
    }
    nest->mark = loop_mark(l);
    nest->allocs = l->allocs;
}

void loop_close_nest(Lower *l, Nest *nest) {
    bool is_parallel = nest->order == ORDER_PARALLEL;
    uint32_t inner = is_parallel ? nest->rank > 1 : nest->rank;
    if (inner > 0) loop_keep(l, nest->mark, nest->allocs, NULL, 0);
    for (uint32_t d = 0; d < inner; d++)
        loop_close_turns(l->b, nest->shape[nest->rank - 1 - d],
                   is_parallel ? ORDER_INDEPENDENT : nest->order);
    if (is_parallel) loop_close_turns(l->b, nest->outer, ORDER_PARALLEL);
    l->is_parallel = nest->was_parallel;
    l->sizes.len = nest->known;
    loop_leave(l);
}

void loop_several(Lower *l, LoopRef from, LoopRef count, uint32_t several,
                  LoopTake *take, const void *env) {
    LoopBuilder *b = l->b;
    LoopRef step = loop_int(b, several), turns = loop_quot(b, count, step);
    LoopRef rest = loop_rem(b, count, step);
    Nest nest;
    loop_open_nest(l, &nest, 1, &turns, ORDER_SEQUENTIAL);
    LoopRef first = loop_add(b, from, loop_mul(b, nest.index[0], step));
    for (uint32_t k = 0; k < several; k++)
        take(env, loop_add(b, first, loop_int(b, k)), k);
    loop_close_nest(l, &nest);
    if (several == 1) return;
    from = loop_add(b, from, loop_mul(b, turns, step));
    loop_open_nest(l, &nest, 1, &rest, ORDER_SEQUENTIAL);
    take(env, loop_add(b, from, nest.index[0]), 0);
    loop_close_nest(l, &nest);
}

// ---- conditions ---------------------------------------------------------------------

When loop_open_if(Lower *l, LoopRef c) {
    loop_open(l->b, NULL, 0);
    return (When){c, l->sizes.len};
}

void loop_close_if(Lower *l, When when) {
    LoopBody *bodies[2] = {loop_close(l->b, NULL, 0)};
    loop_open(l->b, NULL, 0);
    bodies[1] = loop_close(l->b, NULL, 0);
    LoopStm *stm = loop_emit(l->b, LOOP_IF, &when.c, 1, NULL, 0);
    loop_set_bodies(l->b, stm, bodies, 2);
    l->sizes.len = when.known;
}

// ---- carried values -----------------------------------------------------------------

uint32_t loop_flatten(Lower *l, const Val *vals, uint32_t count, LoopRef *refs) {
    uint32_t width = 0;
    (void)l;
    for (uint32_t i = 0; i < count; i++) {
        const Array *a = vals[i].array;
        if (a == NULL) {
            refs[width++] = vals[i].scalar;
            continue;
        }
        refs[width++] = a->buf;
        refs[width++] = a->off;
        for (uint32_t d = 0; d < a->rank; d++) refs[width++] = a->shape[d];
    }
    return width;
}

static uint32_t width_of(const Val *vals, uint32_t count) {
    uint32_t width = 0;
    for (uint32_t i = 0; i < count; i++)
        width += vals[i].array == NULL ? 1 : 2 + (uint32_t)vals[i].array->rank;
    return width;
}

LoopType *loop_types(Lower *l, const LoopRef *refs, uint32_t count) {
    LoopType *types = arena_array(l->arena, LoopType, count);
    for (uint32_t i = 0; i < count; i++) types[i] = loop_type(l->b, refs[i]);
    return types;
}

// Values like these, made of flattened refs.
static Val *unflatten(Lower *l, const Val *like, uint32_t count, const LoopRef *refs) {
    Val *vals = arena_array(l->arena, Val, count);
    for (uint32_t i = 0; i < count; i++) {
        const Array *a = like[i].array;
        if (a == NULL) {
            vals[i] = val_scalar(*refs++);
            continue;
        }
        Array *made =
            loop_dense(l, (ScalarType)a->elem, refs[0], refs[1], a->rank, refs + 2);
        loop_know_shape(l, made);
        made->block = loop_block(l);
        vals[i] = val_array(made);
        refs += 2 + a->rank;
    }
    return vals;
}

void loop_open_carry(Lower *l, Carry *c, const Val *init, const bool *is_ours,
                     uint32_t count, LoopRef times) {
    uint32_t first = times != 0;
    loop_enter(l);
    *c = (Carry){.times = times,
                 .count = count,
                 .init = init,
                 .is_ours = is_ours,
                 .width = width_of(init, count)};
    c->is_taken = arena_array(l->arena, bool, count);
    c->args = arena_array(l->arena, LoopRef, c->width);
    loop_flatten(l, init, count, c->args);
    c->mark =
        loop_value(l->b, (LoopType){.kind = LOOP_IS_MARK}, 0); // set before the loop
    LoopRef *params = arena_array(l->arena, LoopRef, first + c->width);
    if (first != 0) c->index = params[0] = loop_value(l->b, loop_type(l->b, times), 0);
    c->params = params + first;
    for (uint32_t i = 0; i < c->width; i++)
        c->params[i] = loop_value(l->b, loop_type(l->b, c->args[i]), 0);
    c->known = l->sizes.len;
    loop_open(l->b, params, first + c->width);
    c->state = unflatten(l, init, count, c->params);
    for (uint32_t i = 0; i < count; i++)
        if (init[i].array != NULL)
            loop_block_of(l, c->state[i].array)->is_owned = &c->is_taken[i];
    c->allocs = l->allocs;
}

// Buffers that are not what they were are kept at the end of a turn.
static void keep_state(Lower *l, const Carry *c, LoopRef *next) {
    struct {
        LoopRef *data;
        uint32_t len, cap;
    } bufs = {0}, at = {0};
    for (uint32_t i = 0; i < c->width; i++) {
        if (loop_type(l->b, next[i]).kind != LOOP_IS_BUFFER ||
            loop_same(l->b, next[i], c->params[i]))
            continue;
        vec_push(l->arena, &bufs, next[i]);
        vec_push(l->arena, &at, i);
    }
    loop_keep(l, c->mark, c->allocs, bufs.data, bufs.len);
    for (uint32_t i = 0; i < bufs.len; i++) next[at.data[i]] = bufs.data[i];
}

// What the loop starts with: copies of what a turn would take and is not ours.
static const Val *take_init(Lower *l, const Carry *c) {
    Val *init = arena_array(l->arena, Val, c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        init[i] = c->init[i];
        if (init[i].array == NULL || !c->is_taken[i]) continue;
        init[i].array =
            loop_own(l, init[i].array, c->is_ours == NULL || c->is_ours[i], NULL);
    }
    return init;
}

void loop_close_carry(Lower *l, Carry *c, const Val *next, const bool *is_ours,
                      Val *outs) {
    Val *vals = arena_array(l->arena, Val, c->count);
    LoopRef *refs = arena_array(l->arena, LoopRef, c->width + 1);
    for (uint32_t i = 0; i < c->count; i++) {
        vals[i] = next[i];
        if (next[i].array != NULL)
            vals[i].array = loop_own(l, next[i].array, is_ours[i], NULL);
    }
    loop_flatten(l, vals, c->count, refs);
    keep_state(l, c, refs);
    LoopBody *bodies[2] = {c->guard, loop_close(l->b, refs, c->width)};
    l->sizes.len = c->known;
    c->init = take_init(l, c);
    loop_flatten(l, c->init, c->count, c->args);
    loop_emit(l->b, LOOP_MARK, NULL, 0, &(LoopType){.kind = LOOP_IS_MARK}, 1)->outs[0] =
        c->mark;
    LoopRef *args = arena_array(l->arena, LoopRef, c->width + 1);
    uint32_t first = c->times != 0;
    args[0] = c->times;
    for (uint32_t i = 0; i < c->width; i++) args[first + i] = c->args[i];
    LoopStm *stm =
        loop_emit(l->b, first != 0 ? LOOP_FOR : LOOP_WHILE, args, first + c->width,
                  loop_types(l, c->args, c->width), c->width);
    loop_set_bodies(l->b, stm, bodies + first, 2 - first);
    // What stays as it is need not be carried.
    for (uint32_t i = 0; i < c->width; i++) {
        if (!loop_same(l->b, refs[i], c->params[i]) &&
            !loop_same(l->b, refs[i], c->args[i]))
            continue;
        loop_identify(l->b, c->params[i], c->args[i]);
        loop_identify(l->b, stm->outs[i], c->args[i]);
        if (c->guard != NULL) loop_identify(l->b, c->guard->params[i], c->args[i]);
    }
    loop_leave(l);
    Val *made = unflatten(l, c->init, c->count, stm->outs);
    for (uint32_t i = 0; i < c->count; i++) {
        outs[i] = made[i];
        // Without a turn, or when none took its memory, it may still be what it was.
        if (made[i].array != NULL && !c->is_taken[i])
            made[i].array->block =
                loop_join_blocks(l, made[i].array->block, c->init[i].array->block);
    }
}

void loop_open_guard(Lower *l, Carry *c, Val *state_out) {
    LoopRef *params = arena_array(l->arena, LoopRef, c->width);
    for (uint32_t i = 0; i < c->width; i++)
        params[i] = loop_value(l->b, loop_type(l->b, c->args[i]), 0);
    loop_open(l->b, params, c->width);
    Val *state = unflatten(l, c->init, c->count, params);
    for (uint32_t i = 0; i < c->count; i++) {
        state_out[i] = state[i];
        if (state[i].array != NULL) state[i].array->block = 0; // the loop's, not ours
    }
}
