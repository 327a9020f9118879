// SPDX-License-Identifier: Apache-2.0
//
// Arrays at lowering time: blocks of memory and who may overwrite them, elements and
// rows, copies, and results that are made right where they belong.
#include "loop/lower.h"

#include <string.h>

// ---- blocks -------------------------------------------------------------------------

BlockId loop_block(Lower *l) {
    vec_push(l->arena, &l->blocks, (Block){.is_ours = true});
    return l->blocks.len - 1;
}

static BlockId find_block(const Lower *l, BlockId id) {
    while (l->blocks.data[id].same != 0) id = l->blocks.data[id].same;
    return id;
}

Block *loop_block_of(Lower *l, const Array *a) {
    return a->block == 0 ? NULL : &l->blocks.data[find_block(l, a->block)];
}

BlockId loop_join_blocks(Lower *l, BlockId x, BlockId y) {
    x = find_block(l, x);
    y = find_block(l, y);
    if (x == y) return x;
    if (x == 0 || y == 0) {
        l->blocks.data[x + y].is_ours = false;
        return x + y;
    }
    Block *to = &l->blocks.data[x], *from = &l->blocks.data[y];
    from->same = x;
    to->is_ours = to->is_ours && from->is_ours &&
                  (to->is_owned == NULL || from->is_owned == NULL);
    if (to->is_owned == NULL) to->is_owned = from->is_owned;
    to->is_lent = to->is_lent || from->is_lent;
    for (uint32_t i = 0; i < from->names.len; i++)
        vec_push(l->arena, &to->names, from->names.data[i]);
    return x;
}

bool loop_is_alone(Lower *l, const Array *a, CoreRef name) {
    const Block *block = loop_block_of(l, a);
    if (a->kind != ARRAY_MEMORY || a->repeats || block == NULL || !block->is_ours)
        return false;
    for (uint32_t i = 0; i < block->names.len; i++) {
        CoreRef other = block->names.data[i];
        if (other != name && loop_name(l, other)->is_live) return false;
    }
    return true;
}

bool loop_is_ours(Lower *l, const CoreStm *stm, uint32_t i) {
    return loop_uses(l, stm)->moves[i] &&
           loop_is_alone(l, loop_arg_array(l, stm, i), stm->args[i]);
}

void loop_take(Lower *l, const Array *a) {
    const Block *block = loop_block_of(l, a);
    if (block != NULL && block->is_owned != NULL) *block->is_owned = true;
}

// ---- arrays -------------------------------------------------------------------------

Array *loop_new_array(Lower *l, ArrayKind kind, ScalarType elem, uint32_t rank) {
    Array *a = arena_new(l->arena, Array);
    a->kind = (uint8_t)kind;
    a->elem = (uint8_t)elem;
    a->rank = (uint8_t)rank;
    a->off = loop_int(l->b, 0);
    a->shape = arena_array(l->arena, LoopRef, rank);
    a->strides = arena_array(l->arena, LoopRef, rank);
    return a;
}

void loop_set_dense(Lower *l, Array *a) {
    LoopRef stride = loop_int(l->b, 1);
    for (uint32_t d = a->rank; d-- > 0;) {
        a->strides[d] = a->kind == ARRAY_FILL ? loop_int(l->b, 0) : stride;
        if (d > 0) stride = loop_mul(l->b, stride, a->shape[d]);
    }
    a->is_dense = true;
}

Array *loop_dense(Lower *l, ScalarType elem, LoopRef buf, LoopRef off, uint32_t rank,
                  const LoopRef *shape) {
    Array *a = loop_new_array(l, ARRAY_MEMORY, elem, rank);
    a->buf = buf;
    a->off = off;
    memcpy(a->shape, shape, rank * sizeof *shape);
    loop_set_dense(l, a);
    return a;
}

LoopRef loop_count(Lower *l, uint32_t rank, const LoopRef *shape) {
    LoopRef count = loop_int(l->b, 1);
    for (uint32_t d = 0; d < rank; d++) count = loop_mul(l->b, count, shape[d]);
    return count;
}

LoopRef loop_alloc(Lower *l, ScalarType elem, LoopRef count) {
    l->allocs++;
    return loop_emit1(l->b, LOOP_ALLOC, &count, 1, loop_buffer_type(elem));
}

// The row if the shape is its shape, else other memory.
static Array *fresh_row(Lower *l, ScalarType elem, uint32_t rank, const LoopRef *shape,
                        const Home *place) {
    LoopRef fits = loop_same_shape(l, rank, shape, place->shape);
    uint64_t bits;
    if (loop_is_known(l->b, fits, &bits))
        return bits == 0 ? NULL
                         : loop_dense(l, elem, place->buf, place->off, rank, shape);
    LoopBody *bodies[2];
    loop_open(l->b, NULL, 0);
    bodies[0] = loop_close(l->b, (LoopRef[]){place->buf, place->off}, 2);
    loop_open(l->b, NULL, 0);
    LoopRef other = loop_alloc(l, elem, loop_count(l, rank, shape));
    bodies[1] = loop_close(l->b, (LoopRef[]){other, loop_int(l->b, 0)}, 2);
    LoopType types[2] = {loop_buffer_type(elem), loop_scalar_type(SCALAR_I64)};
    LoopStm *stm = loop_emit(l->b, LOOP_IF, &fits, 1, types, 2);
    loop_set_bodies(l->b, stm, bodies, 2);
    Array *a = loop_dense(l, elem, stm->outs[0], stm->outs[1], rank, shape);
    a->if_fits = place->origin;
    return a;
}

static Array *fresh_result(Lower *l, ScalarType elem, uint32_t rank,
                           const LoopRef *shape, Home *place) {
    LoopType type = loop_buffer_type(elem);
    LoopStm *stm = loop_emit(l->b, LOOP_RESULT, shape, rank, &type, 1);
    stm->number = place->number;
    Array *a = loop_dense(l, elem, stm->outs[0], loop_int(l->b, 0), rank, shape);
    place->buf = a->buf;
    place->off = a->off;
    place->shape = a->shape;
    return a;
}

Array *loop_fresh(Lower *l, ScalarType elem, uint32_t rank, const LoopRef *shape,
                  Home *place) {
    Array *a = NULL;
    if (place != NULL && !place->is_taken) {
        a = place->kind == PLACE_RESULT ? fresh_result(l, elem, rank, shape, place)
                                        : fresh_row(l, elem, rank, shape, place);
        place->is_taken = a != NULL;
    }
    if (a == NULL)
        a = loop_dense(l, elem, loop_alloc(l, elem, loop_count(l, rank, shape)),
                       loop_int(l->b, 0), rank, shape);
    a->block = loop_block(l);
    if (place != NULL && place->is_taken && place->block == 0) place->block = a->block;
    return a;
}

// ---- elements -----------------------------------------------------------------------

// Buffer, offset and pairs of stride and index; returns how many.
static uint32_t place_args(Lower *l, const Array *a, const LoopRef *index,
                           LoopRef *args) {
    uint32_t count = 2;
    args[0] = a->buf;
    args[1] = a->off;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (loop_is_int(l->b, a->strides[d], 0) || loop_is_int(l->b, index[d], 0))
            continue;
        args[count++] = a->strides[d];
        args[count++] = index[d];
    }
    return count;
}

static LoopRef place_number(Lower *l, const Array *a, uint32_t depth,
                            const LoopRef *index) {
    LoopRef place = a->off;
    for (uint32_t d = 0; d < depth; d++)
        place = loop_add(l->b, place, loop_mul(l->b, a->strides[d], index[d]));
    return place;
}

// start + place * step in the array's type.
static LoopRef load_iota(Lower *l, const Array *a, LoopRef place) {
    ScalarType elem = (ScalarType)a->elem;
    uint64_t bits;
    bool is_int = scalar_is_int(elem);
    LoopRef value = place;
    if (elem != SCALAR_I64) value = loop_scalar(l->b, OP_CONV, elem, &place, 1);
    if (!is_int || !loop_is_known(l->b, a->step, &bits) || bits != 1)
        value = loop_scalar(l->b, OP_MUL, elem, (LoopRef[]){value, a->step}, 2);
    if (!is_int || !loop_is_known(l->b, a->start, &bits) || bits != 0)
        value = loop_scalar(l->b, OP_ADD, elem, (LoopRef[]){a->start, value}, 2);
    return value;
}

LoopRef loop_load(Lower *l, const Array *a, const LoopRef *index) {
    LoopRef args[2 + 2 * CORE_MAX_RANK];
    switch ((ArrayKind)a->kind) {
    case ARRAY_FILL: return a->start;
    case ARRAY_IOTA: return load_iota(l, a, place_number(l, a, a->rank, index));
    case ARRAY_MEMORY: break;
    }
    uint32_t count = place_args(l, a, index, args);
    return loop_emit1(l->b, LOOP_LOAD, args, count,
                      loop_scalar_type((ScalarType)a->elem));
}

static LoopStm *put(Lower *l, LoopOp op, const Array *a, const LoopRef *index,
                    LoopRef value) {
    LoopRef args[3 + 2 * CORE_MAX_RANK], place[2 + 2 * CORE_MAX_RANK];
    uint32_t count = place_args(l, a, index, place);
    args[0] = place[0];
    args[1] = value;
    memcpy(args + 2, place + 1, (count - 1) * sizeof *place);
    return loop_emit(l->b, op, args, count + 1, NULL, 0);
}

void loop_store(Lower *l, const Array *a, const LoopRef *index, LoopRef value) {
    put(l, LOOP_STORE, a, index, value);
}

void loop_atomic(Lower *l, CoreOp op, const Array *a, const LoopRef *index,
                 LoopRef value) {
    put(l, LOOP_ATOMIC, a, index, value)->scalar = op;
}

Array *loop_part(Lower *l, const Array *a, uint32_t depth, const LoopRef *index) {
    Array *part = arena_copy(l->arena, a, sizeof *a);
    part->rank = (uint8_t)(a->rank - depth);
    part->off = place_number(l, a, depth, index);
    part->shape = a->shape + depth;
    part->strides = a->strides + depth;
    part->if_fits = NULL;
    return part;
}

Val loop_element(Lower *l, const Array *a, LoopRef i) {
    if (a->rank == 1) return val_scalar(loop_load(l, a, &i));
    return val_array(loop_part(l, a, 1, &i));
}

void loop_set_element(Lower *l, const Array *a, LoopRef i, Val v) {
    if (v.array == NULL) loop_store(l, a, &i, v.scalar);
    else loop_copy(l, loop_part(l, a, 1, &i), v.array);
}

// ---- copies -------------------------------------------------------------------------

// The elements in row-major order; the array must be dense.
static Array *flatten(Lower *l, const Array *a) {
    Array *flat = loop_new_array(l, (ArrayKind)a->kind, (ScalarType)a->elem, 1);
    LoopRef *shape = flat->shape, *strides = flat->strides;
    *flat = *a;
    flat->rank = 1;
    flat->shape = shape;
    flat->strides = strides;
    shape[0] = loop_count(l, a->rank, a->shape);
    loop_set_dense(l, flat);
    return flat;
}

void loop_copy(Lower *l, const Array *to, const Array *from) {
    if (to->rank > 1 && to->is_dense && (from->is_dense || from->kind == ARRAY_FILL)) {
        to = flatten(l, to);
        from = flatten(l, from);
    }
    Nest nest;
    // Of several values for one place the last wins.
    loop_open_nest(l, &nest, to->rank, to->shape,
                   to->repeats ? ORDER_SEQUENTIAL : loop_free_order(l));
    loop_store(l, to, nest.index, loop_load(l, from, nest.index));
    loop_close_nest(l, &nest);
}

Array *loop_copied(Lower *l, const Array *a, Home *place) {
    Array *copy = loop_fresh(l, (ScalarType)a->elem, a->rank, a->shape, place);
    loop_copy(l, copy, a);
    return copy;
}

Array *loop_own(Lower *l, Array *a, bool is_ours, Home *place) {
    if (!is_ours || a->kind != ARRAY_MEMORY || !a->is_dense)
        return loop_copied(l, a, place);
    loop_take(l, a);
    return a;
}

Array *loop_make_dense(Lower *l, Array *a) {
    return a->kind == ARRAY_MEMORY && a->is_dense ? a : loop_copied(l, a, NULL);
}

// ---- delivery -----------------------------------------------------------------------

bool loop_is_in(const Lower *l, const Array *a, const Home *place) {
    return a->kind == ARRAY_MEMORY && a->is_dense && place->buf != 0 &&
           loop_same(l->b, a->buf, place->buf) && loop_same(l->b, a->off, place->off);
}

// Whether the array may lie in memory of a place that is to be filled with another.
static bool is_in_the_way(const Lower *l, Home **places, const Val *vals,
                          uint32_t count, uint32_t k) {
    for (uint32_t i = 0; i < count; i++) {
        if (i == k || vals[i].array == NULL || places[i] == NULL ||
            !places[i]->is_taken || loop_is_in(l, vals[i].array, places[i]))
            continue;
        if (find_block(l, places[i]->block) == find_block(l, vals[k].array->block))
            return true;
    }
    return false;
}

static Array *deliver(Lower *l, Home *place, Array *a) {
    if (place->kind == PLACE_RESULT) {
        if (!place->is_taken) return loop_copied(l, a, place);
    } else {
        loop_check_rows(l, a->rank, place->shape, a->shape);
        if (a->if_fits == place->origin) return a;
    }
    if (loop_is_in(l, a, place)) return a;
    Array *to = loop_dense(l, (ScalarType)a->elem, place->buf, place->off, a->rank,
                           place->shape);
    loop_copy(l, to, a);
    return to;
}

void loop_deliver(Lower *l, Home **places, Val *vals, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (vals[i].array != NULL && places[i] != NULL &&
            is_in_the_way(l, places, vals, count, i))
            vals[i].array = loop_copied(l, vals[i].array, NULL);
    for (uint32_t i = 0; i < count; i++)
        if (vals[i].array != NULL && places[i] != NULL)
            vals[i].array = deliver(l, places[i], vals[i].array);
}
