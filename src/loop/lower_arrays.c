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

// What decides about row i, and the row: made by a producer, or beside a flag.
typedef struct Filter {
    const CoreStm *stm;
    Feeds feeds;
    Array **outs; // by result
    bool is_flat; // rows are scalars
} Filter;

static const Val *make_row(Lower *l, const Filter *f, LoopRef i) {
    if (f->feeds.producer != NULL) return loop_produce(l, &f->feeds, i);
    Val *made = arena_array(l->arena, Val, f->feeds.count);
    for (uint32_t k = 0; k < f->feeds.count; k++)
        made[k] = loop_feed(l, f->feeds.arrays[k], i);
    return made;
}

// Between two: what is emitted there runs for each i of [from, to). Carried is how many
// rows were kept, from `at` on; returns that in the end.
typedef struct Picks {
    Carry carry;
    LoopRef i, at;
} Picks;

static void open_picks(Lower *l, Picks *p, LoopRef from, LoopRef to, LoopRef at) {
    Val *init = arena_new(l->arena, Val);
    *init = val_scalar(at);
    loop_open_carry(l, &p->carry, init, NULL, 1, loop_sub(l->b, to, from));
    p->i = loop_add(l->b, from, p->carry.index);
    p->at = p->carry.state[0].scalar;
}

static LoopRef close_picks(Lower *l, Picks *p, LoopRef flag) {
    LoopRef one = loop_scalar(l->b, OP_CONV, SCALAR_I64, &flag, 1);
    Val next = val_scalar(loop_add(l->b, p->at, one)), out;
    loop_close_carry(l, &p->carry, &next, NULL, &out);
    return out.scalar;
}

// Puts the rows [from, to) that are kept into `outs`, from row `at` on; returns the row
// after them. Scalars are stored in any case, the next one in the same place if they
// are not kept: a branch that cannot be predicted costs more than a store.
static LoopRef keep_rows(Lower *l, const Filter *f, Array *const *outs, LoopRef from,
                         LoopRef to, LoopRef at) {
    Picks p;
    When when = {0};
    open_picks(l, &p, from, to, at);
    const Val *made = make_row(l, f, p.i);
    if (!f->is_flat) when = loop_open_if(l, made[0].scalar);
    for (uint32_t k = 0; k < f->stm->out_count; k++)
        loop_set_element(l, outs[k], p.at, made[1 + k]);
    if (!f->is_flat) loop_close_if(l, when);
    return close_picks(l, &p, made[0].scalar);
}

// The shape of result k with so many rows.
static void shape_of(Lower *l, const Filter *f, uint32_t k, LoopRef rows,
                     LoopRef *shape) {
    const Array *like = NULL;
    uint32_t rank = loop_core_type(l, f->stm->outs[k]).rank;
    if (rank > 1) like = loop_feeds_array(&f->feeds, 1 + k);
    for (uint32_t d = 1; d < rank; d++) shape[d] = like->shape[d];
    shape[0] = rows;
    loop_check_shape(l, (ScalarType)loop_core_type(l, f->stm->outs[k]).elem, rank,
                     shape);
}

static void make_outs(Lower *l, Filter *f, LoopRef kept) {
    loop_know_size(l, kept);
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        LoopRef shape[CORE_MAX_RANK];
        CoreType type = loop_core_type(l, f->stm->outs[k]);
        shape_of(l, f, k, kept, shape);
        f->outs[k] = loop_fresh(l, (ScalarType)type.elem, type.rank, shape,
                                place_of(l, f->stm, k));
    }
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

static LoopRef block_start(Lower *l, LoopRef block) {
    return loop_mul(l->b, block, loop_int(l->b, CORE_BLOCK));
}

static LoopRef block_end(Lower *l, const Counts *counts, LoopRef block) {
    LoopRef next = loop_add(l->b, block_start(l, block), loop_int(l->b, CORE_BLOCK));
    return loop_min(l->b, next, counts->n);
}

// How many of a block are kept, after the sums.
static LoopRef count_of(Lower *l, const Counts *counts, LoopRef block, LoopRef total) {
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1), next = loop_add(b, block, one);
    LoopRef last = loop_min(b, next, loop_sub(b, counts->blocks, one));
    LoopRef end = loop_select(b, loop_lt(b, next, counts->blocks),
                              loop_load(l, counts->starts, &last), total);
    return loop_sub(b, end, loop_load(l, counts->starts, &block));
}

// ---- counted, then kept: what makes a row twice -------------------------------------

static LoopRef count_kept(Lower *l, const Filter *f, LoopRef from, LoopRef to) {
    Picks p;
    open_picks(l, &p, from, to, loop_int(l->b, 0));
    return close_picks(l, &p, make_row(l, f, p.i)[0].scalar);
}

// Puts the `count` rows of [from, to) that are kept where they belong. Those behind the
// last of them are left out, so that nothing is stored behind its place.
static void keep_counted(Lower *l, const Filter *f, LoopRef from, LoopRef to,
                         LoopRef at, LoopRef count) {
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1);
    When when = loop_open_if(l, loop_lt(b, loop_int(b, 0), count));
    Carry carry;
    Val init = val_scalar(to), guard, end;
    loop_open_carry(l, &carry, &init, NULL, 1, 0);
    loop_open_guard(l, &carry, &guard);
    LoopRef last = loop_sub(b, guard.scalar, one);
    LoopRef more = loop_not(b, make_row(l, f, last)[0].scalar);
    carry.guard = loop_close(b, &more, 1);
    Val next = val_scalar(loop_sub(b, carry.state[0].scalar, one));
    loop_close_carry(l, &carry, &next, NULL, &end);
    keep_rows(l, f, f->outs, from, end.scalar, at);
    loop_close_if(l, when);
}

static void filter_twice_in_order(Lower *l, Filter *f) {
    LoopRef zero = loop_int(l->b, 0), kept = count_kept(l, f, zero, f->feeds.n);
    make_outs(l, f, kept);
    keep_counted(l, f, zero, f->feeds.n, zero, kept);
}

static void filter_twice_in_parallel(Lower *l, Filter *f) {
    Counts counts = new_counts(l, f->feeds.n);
    Nest nest;
    loop_open_nest(l, &nest, 1, &counts.blocks, ORDER_PARALLEL);
    LoopRef from = block_start(l, nest.index[0]);
    LoopRef to = block_end(l, &counts, nest.index[0]);
    loop_store(l, counts.starts, nest.index, count_kept(l, f, from, to));
    loop_close_nest(l, &nest);
    LoopRef kept = sum_counts(l, &counts);
    make_outs(l, f, kept);
    loop_open_nest(l, &nest, 1, &counts.blocks, ORDER_PARALLEL);
    LoopRef at = loop_load(l, counts.starts, nest.index);
    LoopRef count = count_of(l, &counts, nest.index[0], kept);
    from = block_start(l, nest.index[0]);
    to = block_end(l, &counts, nest.index[0]);
    keep_counted(l, f, from, to, at, count);
    loop_close_nest(l, &nest);
}

// ---- made once, into memory for all rows --------------------------------------------

// Memory for all rows, where those of each block that are kept begin where it does.
static Array **memory_for_all(Lower *l, const Filter *f) {
    Array **all = arena_array(l->arena, Array *, f->stm->out_count);
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        LoopRef shape[CORE_MAX_RANK];
        CoreType type = loop_core_type(l, f->stm->outs[k]);
        ScalarType elem = (ScalarType)type.elem;
        shape_of(l, f, k, f->feeds.n, shape);
        LoopRef buf = loop_alloc(l, elem, loop_count(l, type.rank, shape));
        all[k] = loop_dense(l, elem, buf, loop_int(l->b, 0), type.rank, shape);
    }
    return all;
}

// Copies `count` rows of each result from where they were kept.
static void copy_kept(Lower *l, const Filter *f, Array *const *all, LoopRef to,
                      LoopRef from, LoopRef count) {
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    for (uint32_t k = 0; k < f->stm->out_count; k++)
        loop_set_element(l, f->outs[k], loop_add(l->b, to, nest.index[0]),
                         loop_element(l, all[k], loop_add(l->b, from, nest.index[0])));
    loop_close_nest(l, &nest);
}

static void filter_once_in_order(Lower *l, Filter *f) {
    LoopRef zero = loop_int(l->b, 0);
    Array **all = memory_for_all(l, f);
    LoopRef kept = keep_rows(l, f, all, zero, f->feeds.n, zero);
    make_outs(l, f, kept);
    copy_kept(l, f, all, zero, zero, kept);
}

static void filter_once_in_parallel(Lower *l, Filter *f) {
    LoopBuilder *b = l->b;
    Array **all = memory_for_all(l, f);
    Counts counts = new_counts(l, f->feeds.n);
    Nest nest;
    loop_open_nest(l, &nest, 1, &counts.blocks, ORDER_PARALLEL);
    LoopRef from = block_start(l, nest.index[0]);
    LoopRef to = block_end(l, &counts, nest.index[0]);
    LoopRef end = keep_rows(l, f, all, from, to, from);
    loop_store(l, counts.starts, nest.index, loop_sub(b, end, from));
    loop_close_nest(l, &nest);
    LoopRef kept = sum_counts(l, &counts);
    make_outs(l, f, kept);
    loop_open_nest(l, &nest, 1, &counts.blocks, ORDER_PARALLEL);
    LoopRef at = loop_load(l, counts.starts, nest.index);
    LoopRef count = count_of(l, &counts, nest.index[0], kept);
    copy_kept(l, f, all, at, block_start(l, nest.index[0]), count);
    loop_close_nest(l, &nest);
}

// ---- both ---------------------------------------------------------------------------

void loop_filter(Lower *l, const CoreStm *stm) {
    Filter f = {.stm = stm, .feeds = loop_feeds(l, stm), .is_flat = true};
    const CoreBody *producer = f.feeds.producer;
    f.feeds.n = f.feeds.arrays[0]->shape[0];
    if (producer != NULL) loop_length(l, f.feeds.arrays, f.feeds.count);
    for (uint32_t k = 1; k < f.feeds.count && producer == NULL; k++)
        LOWER_CHECK(l, loop_eq(l->b, f.feeds.arrays[k]->shape[0], f.feeds.n),
                    MESSAGE_FLAGS, show_scalar(f.feeds.n),
                    show_scalar(f.feeds.arrays[k]->shape[0]));
    f.outs = arena_array(l->arena, Array *, stm->out_count);
    for (uint32_t k = 0; k < stm->out_count; k++)
        f.is_flat = f.is_flat && loop_core_type(l, stm->outs[k]).rank == 1;
    bool is_twice = producer == NULL || loop_is_cheap(producer);
    if (is_twice && l->is_parallel) filter_twice_in_parallel(l, &f);
    else if (is_twice) filter_twice_in_order(l, &f);
    else if (l->is_parallel) filter_once_in_parallel(l, &f);
    else filter_once_in_order(l, &f);
    for (uint32_t k = 0; k < stm->out_count; k++)
        loop_bind(l, stm->outs[k], val_array(f.outs[k]));
}
