// SPDX-License-Identifier: Apache-2.0
//
// New arrays: from nothing, which mostly takes no memory at all, from elements, and by
// joining, cutting and packing others.
#include "loop/lower.h"

#include <string.h>

static ScalarType elem_of(const Lower *l, const CoreStm *stm) {
    return (ScalarType)loop_core_type(l, stm->outs[0]).elem;
}

static Home *place_of(const Lower *l, const CoreStm *stm, uint32_t k) {
    return l->names[stm->outs[k]].place;
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
    for (uint32_t i = 0; i < stm->arg_count; i++) {
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
    for (uint32_t i = 0; i < stm->arg_count; i++) {
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
    if (parts > CORE_MAX_RANK) loop_refuse(l, "a message with too many values");
    CheckArg args[CORE_MAX_RANK + 1];
    StrBuf text = strbuf(l->arena);
    strbuf_cstr(&text, "parts of ");
    for (uint32_t i = 0; i < parts; i++) {
        loop_check_size(l, loop_arg(l, stm, 1 + i));
        args[i] = show_scalar(loop_arg(l, stm, 1 + i));
        strbuf_printf(&text, i == 0 ? "%%%c" : " + %%%c", '0' + (char)i);
    }
    args[parts] = show_scalar(a->shape[axis]);
    strbuf_printf(&text, " elements do not make up %%%c", '0' + (char)parts);
    loop_check(l, parts_fit(l, stm, a->shape[axis]), strbuf_done(&text), args,
               parts + 1);
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

// ---- filter -------------------------------------------------------------------------

// Between two: what is emitted there runs for each i of [from, to) whose flag is set;
// `at` counts them. Returns how many there were.
typedef struct Picker {
    Carry carry;
    LoopRef i, at, flag;
    When when;
} Picker;

static void open_picks(Lower *l, Picker *p, LoopRef from, LoopRef to, LoopRef at) {
    Val *init = arena_new(l->arena, Val);
    *init = val_scalar(at);
    loop_open_carry(l, &p->carry, init, NULL, 1, loop_sub(l->b, to, from));
    p->i = loop_add(l->b, from, p->carry.index);
    p->at = p->carry.state[0].scalar;
}

static void open_picker(Lower *l, Picker *p, const Array *flags, LoopRef from,
                        LoopRef to, LoopRef at) {
    open_picks(l, p, from, to, at);
    p->flag = loop_load(l, flags, &p->i);
    p->when = loop_open_if(l, p->flag);
}

static LoopRef count_pick(Lower *l, Picker *p) {
    LoopRef one = loop_scalar(l->b, OP_CONV, SCALAR_I64, &p->flag, 1);
    Val next = val_scalar(loop_add(l->b, p->at, one)), out;
    loop_close_carry(l, &p->carry, &next, NULL, &out);
    return out.scalar;
}

static LoopRef close_picker(Lower *l, Picker *p) {
    loop_close_if(l, p->when);
    return count_pick(l, p);
}

static LoopRef count_flags(Lower *l, const Array *flags, LoopRef from, LoopRef to) {
    Picker p;
    open_picker(l, &p, flags, from, to, loop_int(l->b, 0));
    return close_picker(l, &p);
}

// Blocks of a parallel filter: where the kept ones of each begin.
typedef struct Counts {
    Array *starts;
    LoopRef blocks, n;
} Counts;

static Counts new_counts(Lower *l, LoopRef n) {
    Counts counts = {.n = n, .blocks = loop_block_count(l, n)};
    LoopRef buf = loop_alloc(l, SCALAR_I64, counts.blocks);
    counts.starts =
        loop_dense(l, SCALAR_I64, buf, loop_int(l->b, 0), 1, &counts.blocks);
    return counts;
}

// Makes starts, the sums of the counts before, of the counts; returns their sum.
static LoopRef sum_counts(Lower *l, const Counts *counts) {
    Carry carry;
    Val init = val_scalar(loop_int(l->b, 0)), total;
    loop_open_carry(l, &carry, &init, NULL, 1, counts->blocks);
    LoopRef count = loop_load(l, counts->starts, &carry.index);
    loop_store(l, counts->starts, &carry.index, carry.state[0].scalar);
    Val next = val_scalar(loop_add(l->b, carry.state[0].scalar, count));
    loop_close_carry(l, &carry, &next, NULL, &total);
    return total.scalar;
}

static LoopRef count_in_parallel(Lower *l, const Array *flags, Counts *counts) {
    LoopBuilder *b = l->b;
    LoopRef n = flags->shape[0], block = loop_int(b, CORE_BLOCK);
    *counts = new_counts(l, n);
    Nest nest;
    loop_open_nest(l, &nest, 1, &counts->blocks, ORDER_PARALLEL);
    LoopRef from = loop_mul(b, nest.index[0], block);
    LoopRef kept =
        count_flags(l, flags, from, loop_min(b, loop_add(b, from, block), n));
    loop_store(l, counts->starts, nest.index, kept);
    loop_close_nest(l, &nest);
    return sum_counts(l, counts);
}

static void pick(Lower *l, const Array *flags, const Array *from, const Array *to,
                 LoopRef begin, LoopRef end, LoopRef at) {
    Picker p;
    open_picker(l, &p, flags, begin, end, at);
    loop_set_element(l, to, p.at, loop_element(l, from, p.i));
    close_picker(l, &p);
}

static void pick_in_parallel(Lower *l, const Array *flags, const Array *from,
                             const Array *to, const Counts *counts) {
    LoopBuilder *b = l->b;
    LoopRef block = loop_int(b, CORE_BLOCK);
    Nest nest;
    loop_open_nest(l, &nest, 1, &counts->blocks, ORDER_PARALLEL);
    LoopRef begin = loop_mul(b, nest.index[0], block);
    LoopRef end = loop_min(b, loop_add(b, begin, block), counts->n);
    pick(l, flags, from, to, begin, end, loop_load(l, counts->starts, nest.index));
    loop_close_nest(l, &nest);
}

// ---- filter with a producer: made once, into memory for all rows --------------------

typedef struct Made {
    Feeds feeds;
    Array **all, **outs; // by result: rows that were kept, by blocks; and at last
} Made;

static void open_made(Lower *l, const CoreStm *stm, Made *m) {
    m->feeds = loop_feeds(l, stm);
    m->feeds.n = loop_length(l, m->feeds.arrays, m->feeds.count);
    m->all = arena_array(l->arena, Array *, stm->out_count);
    m->outs = arena_array(l->arena, Array *, stm->out_count);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        LoopRef shape[CORE_MAX_RANK] = {m->feeds.n};
        CoreType type = loop_core_type(l, stm->outs[k]);
        ScalarType elem = (ScalarType)type.elem;
        for (uint32_t d = 1; d < type.rank; d++)
            shape[d] = loop_feeds_array(&m->feeds, 1 + k)->shape[d];
        loop_check_shape(l, elem, type.rank, shape);
        LoopRef buf = loop_alloc(l, elem, loop_count(l, type.rank, shape));
        m->all[k] = loop_dense(l, elem, buf, loop_int(l->b, 0), type.rank, shape);
    }
}

// Makes elements [from, to) and keeps those whose flag is set, from row `from` on;
// returns the row after them. Scalars are stored in any case, the next one in the same
// place if they are not kept: no row is kept after its own, and a branch that cannot be
// predicted costs more than a store.
static LoopRef keep_made(Lower *l, const CoreStm *stm, const Made *m, LoopRef from,
                         LoopRef to) {
    Picker p;
    open_picks(l, &p, from, to, from);
    const Val *made = loop_produce(l, &m->feeds, p.i);
    p.flag = made[0].scalar;
    bool is_flat = true;
    for (uint32_t k = 0; k < stm->out_count; k++)
        is_flat = is_flat && m->all[k]->rank == 1;
    if (!is_flat) p.when = loop_open_if(l, p.flag);
    for (uint32_t k = 0; k < stm->out_count; k++)
        loop_set_element(l, m->all[k], p.at, made[1 + k]);
    return is_flat ? count_pick(l, &p) : close_picker(l, &p);
}

static void open_outs(Lower *l, const CoreStm *stm, Made *m, LoopRef kept) {
    loop_know_size(l, kept);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        const Array *all = m->all[k];
        LoopRef shape[CORE_MAX_RANK];
        memcpy(shape, all->shape, all->rank * sizeof *shape);
        shape[0] = kept;
        loop_check_shape(l, (ScalarType)all->elem, all->rank, shape);
        m->outs[k] = loop_fresh(l, (ScalarType)all->elem, all->rank, shape,
                                place_of(l, stm, k));
    }
}

// Copies `count` rows of each result from where they were kept.
static void copy_made(Lower *l, const CoreStm *stm, const Made *m, LoopRef to,
                      LoopRef from, LoopRef count) {
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    for (uint32_t k = 0; k < stm->out_count; k++)
        loop_set_element(
            l, m->outs[k], loop_add(l->b, to, nest.index[0]),
            loop_element(l, m->all[k], loop_add(l->b, from, nest.index[0])));
    loop_close_nest(l, &nest);
}

static void filter_in_order(Lower *l, const CoreStm *stm, Made *m) {
    LoopRef zero = loop_int(l->b, 0);
    LoopRef kept = keep_made(l, stm, m, zero, m->feeds.n);
    open_outs(l, stm, m, kept);
    copy_made(l, stm, m, zero, zero, kept);
}

static void filter_in_parallel(Lower *l, const CoreStm *stm, Made *m) {
    LoopBuilder *b = l->b;
    LoopRef block = loop_int(b, CORE_BLOCK), one = loop_int(b, 1);
    Counts counts = new_counts(l, m->feeds.n);
    Nest nest;
    loop_open_nest(l, &nest, 1, &counts.blocks, ORDER_PARALLEL);
    LoopRef from = loop_mul(b, nest.index[0], block);
    LoopRef to = loop_min(b, loop_add(b, from, block), counts.n);
    LoopRef end = keep_made(l, stm, m, from, to);
    loop_store(l, counts.starts, nest.index, loop_sub(b, end, from));
    loop_close_nest(l, &nest);
    LoopRef kept = sum_counts(l, &counts);
    open_outs(l, stm, m, kept);
    loop_open_nest(l, &nest, 1, &counts.blocks, ORDER_PARALLEL);
    LoopRef start = loop_load(l, counts.starts, nest.index);
    LoopRef next = loop_add(b, nest.index[0], one);
    LoopRef last = loop_min(b, next, loop_sub(b, counts.blocks, one));
    end = loop_select(b, loop_lt(b, next, counts.blocks),
                      loop_load(l, counts.starts, &last), kept);
    from = loop_mul(b, nest.index[0], block);
    copy_made(l, stm, m, start, from, loop_sub(b, end, start));
    loop_close_nest(l, &nest);
}

static void filter_made(Lower *l, const CoreStm *stm) {
    Made m;
    open_made(l, stm, &m);
    if (l->is_parallel) filter_in_parallel(l, stm, &m);
    else filter_in_order(l, stm, &m);
    for (uint32_t k = 0; k < stm->out_count; k++)
        loop_bind(l, stm->outs[k], val_array(m.outs[k]));
}

void loop_filter(Lower *l, const CoreStm *stm) {
    if (stm->body_count > 0) {
        filter_made(l, stm);
        return;
    }
    LoopBuilder *b = l->b;
    const Array *flags = loop_arg_array(l, stm, 0);
    LoopRef zero = loop_int(b, 0), n = flags->shape[0];
    Counts counts;
    LoopRef kept = l->is_parallel ? count_in_parallel(l, flags, &counts)
                                  : count_flags(l, flags, zero, n);
    loop_know_size(l, kept);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        const Array *from = loop_arg_array(l, stm, 1 + k);
        LOWER_CHECK(l, loop_eq(b, from->shape[0], n), MESSAGE_FLAGS, show_scalar(n),
                    show_scalar(from->shape[0]));
        LoopRef shape[CORE_MAX_RANK];
        memcpy(shape, from->shape, from->rank * sizeof *shape);
        shape[0] = kept;
        loop_check_shape(l, (ScalarType)from->elem, from->rank, shape);
        Array *to = loop_fresh(l, (ScalarType)from->elem, from->rank, shape,
                               place_of(l, stm, k));
        if (l->is_parallel) pick_in_parallel(l, flags, from, to, &counts);
        else pick(l, flags, from, to, zero, n, zero);
        loop_bind(l, stm->outs[k], val_array(to));
    }
}
