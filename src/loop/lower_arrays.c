// SPDX-License-Identifier: Apache-2.0
//
// New arrays: from nothing, which mostly takes no memory at all, from elements, and by
// joining and cutting others.
#include "core/rules.h"
#include "loop/lower.h"

#include <string.h>

static ScalarType elem_of(const Lower *l, const CoreStm *stm) {
    return (ScalarType)loop_core_type(l, stm->outs[0]).elem;
}

static Home *place_of(const Lower *l, const CoreStm *stm, uint32_t k) {
    return loop_name(l, stm->outs[k])->place;
}

// ---- from nothing -------------------------------------------------------------------

void loop_literal(Lower *l, const CoreStm *stm) {
    ScalarType elem = elem_of(l, stm);
    LoopType type = loop_buffer_type(elem);
    LoopStm *data = loop_emit(l->b, LOOP_DATA, NULL, 0, &type, 1);
    data->text = stm->text;
    LoopRef count = loop_int(l->b, (int64_t)(stm->text.len / scalar_info[elem].bytes));
    Array *a = loop_dense(l, elem, data->outs[0], loop_int(l->b, 0), 1, &count);
    loop_bind(l, stm->outs[0], val_array(a));
}

void loop_iota(Lower *l, const CoreStm *stm) {
    ScalarType elem = elem_of(l, stm);
    Array *a = loop_new_array(l, ARRAY_IOTA, elem, 1);
    a->shape[0] = loop_arg(l, stm, 0);
    a->start = loop_arg(l, stm, 1);
    a->step = loop_arg(l, stm, 2);
    loop_check_shape(l, elem, 1, a->shape);
    loop_set_dense(l, a);
    loop_bind(l, stm->outs[0], val_array(a));
}

static Array *fill(Lower *l, ScalarType elem, uint32_t rank, const LoopRef *shape,
                   LoopRef value) {
    Array *a = loop_new_array(l, ARRAY_FILL, elem, rank);
    memcpy(a->shape, shape, rank * sizeof *shape);
    loop_set_dense(l, a);
    a->start = value;
    return a;
}

void loop_replicate(Lower *l, const CoreStm *stm) {
    ScalarType elem = elem_of(l, stm);
    Val value = loop_val(l, stm->args[1]);
    LoopRef shape[CORE_MAX_RANK] = {loop_arg(l, stm, 0)};
    uint32_t rank = loop_core_type(l, stm->outs[0]).rank;
    if (rank > 1) memcpy(shape + 1, value.array->shape, (rank - 1) * sizeof *shape);
    loop_check_shape(l, elem, rank, shape);
    if (value.array == NULL || value.array->kind == ARRAY_FILL) {
        LoopRef scalar = value.array == NULL ? value.scalar : value.array->start;
        loop_bind(l, stm->outs[0], val_array(fill(l, elem, rank, shape, scalar)));
        return;
    }
    // The same row again and again.
    const Array *row = value.array;
    Array *a = arena_copy(l->arena, row, sizeof *row);
    a->rank = (uint8_t)rank;
    a->shape = arena_copy(l->arena, shape, rank * sizeof *shape);
    a->strides = arena_array(l->arena, LoopRef, rank);
    a->strides[0] = loop_int(l->b, 0);
    memcpy(a->strides + 1, row->strides, (rank - 1) * sizeof *shape);
    a->is_dense = false;
    a->repeats = true;
    a->if_fits = NULL;
    loop_bind(l, stm->outs[0], val_array(a));
}

// The contents are unspecified; the oracle's are zeros.
void loop_scratch(Lower *l, const CoreStm *stm) {
    ScalarType elem = elem_of(l, stm);
    LoopRef shape[CORE_MAX_RANK];
    for (uint32_t d = 0; d < stm->arg_count; d++) shape[d] = loop_arg(l, stm, d);
    loop_check_shape(l, elem, stm->arg_count, shape);
    Array *a = fill(l, elem, stm->arg_count, shape, loop_const(l->b, elem, 0));
    loop_bind(l, stm->outs[0], val_array(a));
}

// ---- from elements and parts --------------------------------------------------------

// OP_ARRAY
void loop_list(Lower *l, const CoreStm *stm) {
    uint32_t rank = loop_core_type(l, stm->outs[0]).rank;
    LoopRef shape[CORE_MAX_RANK] = {loop_int(l->b, stm->arg_count)};
    if (rank > 1) {
        const Array *first = loop_arg_array(l, stm, 0);
        memcpy(shape + 1, first->shape, (rank - 1) * sizeof *shape);
        for (uint32_t i = 1; i < stm->arg_count; i++)
            loop_check_rows(l, rank - 1, shape + 1, loop_arg_array(l, stm, i)->shape);
    }
    loop_check_shape(l, elem_of(l, stm), rank, shape);
    Array *a = loop_fresh(l, elem_of(l, stm), rank, shape, place_of(l, stm, 0));
    for (uint32_t i = 0; i < stm->arg_count; i++)
        loop_set_element(l, a, loop_int(l->b, i), loop_val(l, stm->args[i]));
    loop_bind(l, stm->outs[0], val_array(a));
}

// The shape of the parts joined.
static void measure_parts(Lower *l, const CoreStm *stm, uint32_t axis, LoopRef *shape) {
    LoopBuilder *b = l->b;
    const Array *first = loop_arg_array(l, stm, 0);
    memcpy(shape, first->shape, first->rank * sizeof *shape);
    for (uint32_t i = 0; i < core_parts(stm); i++) {
        const Array *part = loop_arg_array(l, stm, i);
        LoopRef same = loop_const(b, SCALAR_BOOL, 1);
        for (uint32_t d = 0; d < part->rank; d++)
            if (d != axis)
                same = loop_and(b, same, loop_eq(b, part->shape[d], first->shape[d]));
        LOWER_CHECK(l, same, MESSAGE_JOIN, show_shape(part->rank, first->shape),
                    show_shape(part->rank, part->shape), show_const(l, axis));
        if (i == 0) continue;
        LoopRef sum = loop_add(b, shape[axis], part->shape[axis]);
        // Sums of sizes of memory cannot overflow; those of what takes none can.
        bool is_memory = part->kind == ARRAY_MEMORY && first->kind == ARRAY_MEMORY &&
                         !part->repeats && !first->repeats;
        if (!is_memory)
            LOWER_CHECK(l, loop_le(b, loop_int(b, 0), sum), MESSAGE_JOINED_SIZE,
                        show_scalar(sum), show_scalar(part->shape[axis]));
        shape[axis] = sum;
    }
}

void loop_concat(Lower *l, const CoreStm *stm) {
    LoopBuilder *b = l->b;
    uint32_t axis = (uint32_t)stm->attrs[0],
             rank = loop_core_type(l, stm->outs[0]).rank;
    LoopRef shape[CORE_MAX_RANK], done = loop_int(b, 0);
    measure_parts(l, stm, axis, shape);
    loop_check_shape(l, elem_of(l, stm), rank, shape);
    Array *a = loop_fresh(l, elem_of(l, stm), rank, shape, place_of(l, stm, 0));
    for (uint32_t i = 0; i < core_parts(stm); i++) {
        const Array *part = loop_arg_array(l, stm, i);
        Array *to = arena_copy(l->arena, a, sizeof *a);
        to->off = loop_add(b, a->off, loop_mul(b, done, a->strides[axis]));
        to->shape = part->shape;
        to->is_dense = axis == 0;
        loop_copy(l, to, part);
        done = loop_add(b, done, part->shape[axis]);
    }
    loop_bind(l, stm->outs[0], val_array(a));
}

// Whether the sizes of the parts add up to the whole, with no sum beyond it.
static LoopRef parts_fit(Lower *l, const CoreStm *stm, LoopRef whole) {
    LoopBuilder *b = l->b;
    LoopRef fits = loop_const(b, SCALAR_BOOL, 1), left = whole;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopRef size = loop_arg(l, stm, 1 + i);
        fits = loop_and(b, fits, loop_le(b, size, left));
        left = loop_sub(b, left, size);
    }
    return loop_and(b, fits, loop_eq(b, left, loop_int(b, 0)));
}

void loop_split(Lower *l, const CoreStm *stm) {
    LoopBuilder *b = l->b;
    uint32_t axis = (uint32_t)stm->attrs[0], parts = stm->out_count;
    const Array *a = loop_arg_array(l, stm, 0);
    uint32_t shown = parts < CORE_SHOWN_PARTS ? parts : CORE_SHOWN_PARTS;
    CheckArg args[CORE_SHOWN_PARTS + 1];
    StrBuf text = strbuf(l->arena);
    strbuf_cstr(&text, "parts of ");
    for (uint32_t i = 0; i < parts; i++) {
        loop_check_size(l, loop_arg(l, stm, 1 + i));
        if (i >= shown) continue;
        args[i] = show_scalar(loop_arg(l, stm, 1 + i));
        strbuf_printf(&text, i == 0 ? "%%%c" : " + %%%c", '0' + (char)i);
    }
    args[shown] = show_scalar(a->shape[axis]);
    strbuf_printf(&text, "%s elements do not make up %%%c",
                  shown < parts ? " + .." : "", '0' + (char)shown);
    loop_check(l, parts_fit(l, stm, a->shape[axis]), strbuf_done(&text), args,
               shown + 1);
    LoopRef done = loop_int(b, 0);
    for (uint32_t i = 0; i < parts; i++) {
        Array *part = arena_copy(l->arena, a, sizeof *a);
        LoopRef size = loop_arg(l, stm, 1 + i);
        part->shape = arena_copy(l->arena, a->shape, a->rank * sizeof *a->shape);
        part->shape[axis] = size;
        part->off = loop_add(b, a->off, loop_mul(b, done, a->strides[axis]));
        part->is_dense = a->is_dense && axis == 0;
        part->if_fits = NULL;
        loop_know_shape(l, part);
        loop_bind(l, stm->outs[i], val_array(part));
        done = loop_add(b, done, size);
    }
}

// OP_COPY
void loop_duplicate(Lower *l, const CoreStm *stm) {
    Array *a = loop_own(l, loop_arg_array(l, stm, 0), loop_is_ours(l, stm, 0),
                        place_of(l, stm, 0));
    loop_bind(l, stm->outs[0], val_array(a));
}
