// SPDX-License-Identifier: Apache-2.0
//
// Views, which cost nothing, and writing to regions of an array, which happens in place
// when nobody else sees its memory.
#include "loop/lower.h"

#include <string.h>

static Array *copy_of(Lower *l, const Array *a) {
    Array *copy = arena_copy(l->arena, a, sizeof *a);
    copy->shape = arena_copy(l->arena, a->shape, a->rank * sizeof *a->shape);
    copy->strides = arena_copy(l->arena, a->strides, a->rank * sizeof *a->strides);
    copy->is_dense = false;
    copy->if_fits = NULL;
    return copy;
}

void loop_dim(Lower *l, const CoreStm *stm) {
    const Array *a = loop_arg_array(l, stm, 0);
    loop_bind(l, stm->outs[0], val_scalar(a->shape[stm->attrs[0]]));
}

static bool is_unsafe(const CoreStm *stm) {
    return (stm->flags & STM_UNSAFE) != 0;
}

void loop_index(Lower *l, const CoreStm *stm) {
    const Array *a = loop_arg_array(l, stm, 0);
    uint32_t depth = stm->arg_count - 1;
    LoopRef index[CORE_MAX_RANK];
    l->is_unsafe = is_unsafe(stm);
    for (uint32_t d = 0; d < depth; d++) {
        index[d] = loop_arg(l, stm, 1 + d);
        loop_check_index(l, a, d, index[d]);
    }
    l->is_unsafe = false;
    Val v = depth == a->rank ? val_scalar(loop_load(l, a, index))
                             : val_array(loop_part(l, a, depth, index));
    loop_bind(l, stm->outs[0], v);
}

void loop_slice(Lower *l, const CoreStm *stm) {
    LoopBuilder *b = l->b;
    const Array *a = loop_arg_array(l, stm, 0);
    uint32_t axis = (uint32_t)stm->attrs[0];
    LoopRef start = loop_arg(l, stm, 1), count = loop_arg(l, stm, 2);
    LoopRef stride = loop_arg(l, stm, 3);
    loop_check_range(l, a, axis, start, count, stride);
    Array *view = copy_of(l, a);
    view->shape[axis] = count;
    view->off = loop_add(b, a->off, loop_mul(b, start, a->strides[axis]));
    view->strides[axis] = loop_mul(b, a->strides[axis], stride);
    uint64_t bits;
    if (!loop_is_known(b, stride, &bits) || bits == 0) view->repeats = true;
    // Whole rows in a row.
    view->is_dense = a->is_dense && axis == 0 && loop_is_int(b, stride, 1);
    loop_know_shape(l, view);
    loop_bind(l, stm->outs[0], val_array(view));
}

void loop_reshape(Lower *l, const CoreStm *stm) {
    Array *a = loop_arg_array(l, stm, 0);
    uint32_t rank = stm->arg_count - 1;
    LoopRef shape[CORE_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) {
        shape[d] = loop_arg(l, stm, 1 + d);
        loop_check_size(l, shape[d]);
    }
    LoopRef count = loop_count(l, a->rank, a->shape);
    LoopRef fits = loop_shape_holds(l, (ScalarType)a->elem, rank, shape, count);
    LOWER_CHECK(l, fits, MESSAGE_RESHAPE, show_scalar(count), show_shape(rank, shape));
    Array *view;
    if (a->kind == ARRAY_FILL || a->is_dense) {
        view = arena_copy(l->arena, a, sizeof *a);
        view->rank = (uint8_t)rank;
        view->shape = arena_copy(l->arena, shape, rank * sizeof *shape);
        view->strides = arena_array(l->arena, LoopRef, rank);
        view->if_fits = NULL;
        loop_set_dense(l, view);
    } else {
        ScalarType elem = (ScalarType)a->elem;
        view = loop_fresh(l, elem, rank, shape, loop_name(l, stm->outs[0])->place);
        loop_copy(l, loop_dense(l, elem, view->buf, view->off, a->rank, a->shape), a);
    }
    loop_know_shape(l, view);
    loop_bind(l, stm->outs[0], val_array(view));
}

void loop_permute(Lower *l, const CoreStm *stm) {
    const Array *a = loop_arg_array(l, stm, 0);
    Array *view = copy_of(l, a);
    bool is_same = true;
    for (uint32_t d = 0; d < a->rank; d++) {
        view->shape[d] = a->shape[stm->attrs[d]];
        view->strides[d] = a->strides[stm->attrs[d]];
        is_same = is_same && stm->attrs[d] == (int32_t)d;
    }
    view->is_dense = is_same && a->is_dense;
    loop_bind(l, stm->outs[0], val_array(view));
}

void loop_reverse(Lower *l, const CoreStm *stm) {
    LoopBuilder *b = l->b;
    const Array *a = loop_arg_array(l, stm, 0);
    uint32_t axis = (uint32_t)stm->attrs[0];
    Array *view = copy_of(l, a);
    LoopRef last = loop_sub(b, a->shape[axis], loop_int(b, 1));
    view->off = loop_add(b, a->off, loop_mul(b, last, a->strides[axis]));
    view->strides[axis] = loop_sub(b, loop_int(b, 0), a->strides[axis]);
    loop_bind(l, stm->outs[0], val_array(view));
}

// ---- update -------------------------------------------------------------------------

// The part of `a` that the statement writes; a scalar's region has rank 0.
static Array *region_of(Lower *l, const CoreStm *stm, const Array *a, bool checks) {
    LoopBuilder *b = l->b;
    Array *region = copy_of(l, a);
    uint32_t rank = 0;
    for (uint32_t d = 0; d < a->rank; d++) {
        LoopRef stride = a->strides[d];
        if (d >= stm->attr_count) { // written whole
            region->shape[rank] = a->shape[d];
            region->strides[rank++] = stride;
            continue;
        }
        LoopRef start = loop_arg(l, stm, 2 + 3 * d),
                count = loop_arg(l, stm, 3 + 3 * d);
        LoopRef step = loop_arg(l, stm, 4 + 3 * d);
        region->off = loop_add(b, region->off, loop_mul(b, start, stride));
        if (stm->attrs[d] == 0) {
            if (checks) loop_check_index(l, a, d, start);
            continue;
        }
        if (checks) loop_check_range(l, a, d, start, count, step);
        uint64_t bits;
        if (!loop_is_known(b, step, &bits) || bits == 0) region->repeats = true;
        region->shape[rank] = count;
        region->strides[rank++] = loop_mul(b, stride, step);
    }
    region->rank = (uint8_t)rank;
    return region;
}

void loop_update(Lower *l, const CoreStm *stm) {
    Array *a = loop_arg_array(l, stm, 0);
    Val value = loop_val(l, stm->args[1]);
    l->is_unsafe = is_unsafe(stm);
    const Array *region = region_of(l, stm, a, true);
    l->is_unsafe = false;
    if (value.array != NULL)
        LOWER_CHECK(l,
                    loop_same_shape(l, region->rank, value.array->shape, region->shape),
                    MESSAGE_REGION, show_shape(region->rank, value.array->shape),
                    show_shape(region->rank, region->shape));
    if (loop_is_ours(l, stm, 0)) {
        loop_take(l, a);
    } else {
        a = loop_copied(l, a, loop_name(l, stm->outs[0])->place);
        region = region_of(l, stm, a, false); // a copy has strides of its own
    }
    if (value.array != NULL) loop_copy(l, region, value.array);
    else loop_store(l, region, NULL, value.scalar);
    loop_bind(l, stm->outs[0], val_array(a));
}

// ---- scatter ------------------------------------------------------------------------

typedef struct Scatter {
    Lower *l;
    uint32_t depth;    // index arrays
    Feeds feeds;       // of indices, then the value
    const Val *made;   // of the source at hand
    const Array *from; // the values; NULL: made
    const Array *to;
} Scatter;

// Where source i goes; returns whether there is such a place.
static LoopRef find_target(Scatter *s, LoopRef i, LoopRef *index) {
    LoopBuilder *b = s->l->b;
    LoopRef inside = loop_const(b, SCALAR_BOOL, 1);
    s->made = loop_produce(s->l, &s->feeds, i);
    for (uint32_t d = 0; d < s->depth; d++) {
        index[d] = s->made != NULL ? s->made[d].scalar
                                   : loop_load(s->l, s->feeds.arrays[d], &i);
        LoopRef is_below = loop_lt(b, index[d], s->to->shape[d]);
        LoopRef is_index = loop_and(b, loop_le(b, loop_int(b, 0), index[d]), is_below);
        inside = loop_and(b, inside, is_index);
    }
    return inside;
}

static void write_target(const Scatter *s, LoopRef i, const LoopRef *index) {
    Lower *l = s->l;
    Val value = s->from != NULL ? loop_element(l, s->from, i) : s->made[s->depth];
    if (value.array != NULL)
        loop_copy(l, loop_part(l, s->to, s->depth, index), value.array);
    else loop_store(l, s->to, index, value.scalar);
}

// In order, so that the last of several values for one place wins.
static void scatter_in_order(Scatter *s) {
    LoopRef index[CORE_MAX_RANK];
    Nest nest;
    loop_open_nest(s->l, &nest, 1, &s->feeds.n, ORDER_SEQUENTIAL);
    When when = loop_open_if(s->l, find_target(s, nest.index[0], index));
    write_target(s, nest.index[0], index);
    loop_close_if(s->l, when);
    loop_close_nest(s->l, &nest);
}

static Array *each_taken(const Scatter *s, ScalarType elem) {
    Lower *l = s->l;
    LoopRef buf = loop_alloc(l, elem, loop_count(l, s->depth, s->to->shape));
    return loop_dense(l, elem, buf, loop_int(l->b, 0), s->depth, s->to->shape);
}

// Which source each place takes, found in order.
static const Array *find_taken(Scatter *s) {
    Lower *l = s->l;
    LoopRef index[CORE_MAX_RANK];
    const Array *taken = each_taken(s, SCALAR_I64);
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->feeds.n, ORDER_SEQUENTIAL);
    When when = loop_open_if(l, find_target(s, nest.index[0], index));
    loop_store(l, taken, index, nest.index[0]);
    loop_close_if(l, when);
    loop_close_nest(l, &nest);
    return taken;
}

// Found at once: the last source is the largest. Their numbers fit.
static const Array *find_largest(Scatter *s) {
    Lower *l = s->l;
    LoopRef index[CORE_MAX_RANK];
    const Array *taken = each_taken(s, SCALAR_I32);
    Nest nest;
    loop_open_nest(l, &nest, s->depth, s->to->shape, ORDER_PARALLEL);
    loop_store(l, taken, nest.index, loop_const(l->b, SCALAR_I32, UINT32_MAX));
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &s->feeds.n, ORDER_PARALLEL);
    When when = loop_open_if(l, find_target(s, nest.index[0], index));
    LoopRef number = loop_scalar(l->b, OP_CONV, SCALAR_I32, nest.index, 1);
    loop_atomic(l, OP_MAX, taken, index, number);
    loop_close_if(l, when);
    loop_close_nest(l, &nest);
    return taken;
}

// The sources that were taken write at once.
static void write_taken(Scatter *s, const Array *taken) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef index[CORE_MAX_RANK];
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->feeds.n, ORDER_PARALLEL);
    When when = loop_open_if(l, find_target(s, nest.index[0], index));
    LoopRef number = loop_scalar(b, OP_CONV, (ScalarType)taken->elem, nest.index, 1);
    When inner = loop_open_if(l, loop_eq(b, loop_load(l, taken, index), number));
    write_target(s, nest.index[0], index);
    loop_close_if(l, inner);
    loop_close_if(l, when);
    loop_close_nest(l, &nest);
}

// Where one item alone is slow, to look at each index twice always pays, unless there
// are many more places than sources, all of which must be cleared.
static void scatter_for_gpus(Scatter *s) {
    enum { PLACES = 256 };
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef n = s->feeds.n, places = loop_count(l, s->depth, s->to->shape);
    LoopRef is_dense = loop_le(b, loop_quot(b, places, loop_int(b, PLACES)), n);
    LoopRef fits = loop_le(b, n, loop_int(b, INT32_MAX));
    LoopRef at_once = loop_and(b, is_dense, fits);
    When when = loop_open_if(l, at_once);
    write_taken(s, find_largest(s));
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(b, at_once));
    scatter_in_order(s);
    loop_close_if(l, when);
}

// On cores it does where there is a row to copy for it.
static void scatter(Scatter *s, bool is_parallel) {
    enum { WIDE = 16 };
    Lower *l = s->l;
    if (is_parallel && l->is_for_gpus) {
        scatter_for_gpus(s);
        return;
    }
    if (!is_parallel || s->to->rank == s->depth) {
        scatter_in_order(s);
        return;
    }
    LoopRef row = loop_count(l, s->from->rank - 1u, s->from->shape + 1);
    LoopRef is_wide = loop_le(l->b, loop_int(l->b, WIDE), row);
    When when = loop_open_if(l, is_wide);
    write_taken(s, find_taken(s));
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(l->b, is_wide));
    scatter_in_order(s);
    loop_close_if(l, when);
}

// There must be as many indices as values; returns how many.
static LoopRef check_indices(Lower *l, const Scatter *s) {
    LoopRef n = s->from->shape[0];
    for (uint32_t d = 0; d < s->depth; d++) {
        LoopRef indices = s->feeds.arrays[d]->shape[0];
        LOWER_CHECK(l, loop_eq(l->b, indices, n), MESSAGE_INDICES, show_scalar(indices),
                    show_scalar(n));
    }
    return n;
}

void loop_scatter(Lower *l, const CoreStm *stm) {
    Scatter s = {.l = l, .depth = (uint32_t)stm->attrs[0]};
    Array *to = loop_arg_array(l, stm, 0);
    s.feeds = loop_feeds(l, stm);
    if (s.feeds.producer == NULL || to->rank > s.depth)
        s.from = loop_feeds_array(&s.feeds, s.depth);
    if (s.feeds.producer != NULL)
        s.feeds.n = loop_length(l, s.feeds.arrays, s.feeds.count);
    else s.feeds.n = check_indices(l, &s);
    if (s.from != NULL)
        loop_check_rows(l, to->rank - s.depth, to->shape + s.depth, s.from->shape + 1);
    if (loop_is_ours(l, stm, 0)) loop_take(l, to);
    else to = loop_copied(l, to, loop_name(l, stm->outs[0])->place);
    s.to = to;
    bool was_parallel = l->is_parallel;
    l->is_parallel = false;
    scatter(&s, was_parallel);
    l->is_parallel = was_parallel;
    loop_bind(l, stm->outs[0], val_array(to));
}
