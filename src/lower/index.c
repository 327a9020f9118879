// SPDX-License-Identifier: Apache-2.0
//
// Indexing, slicing and updates in place. A slice is checked here, in the terms of the
// source, and becomes a start, a count and a stride that stay inside the array; a
// single index is left to the operator, which names it and the shape.
#include "lower/internal.h"

typedef struct Region { // what an index selects of one dimension
    bool is_slice;
    bool is_whole; // all of it, in order
    CoreRef start, count, stride;
} Region;

typedef struct Slice {
    CoreRef from, to, step, size;
    CoreRef is_back; // bool: the step is negative
} Slice;

static CoreRef check_slice(Lower *l, const Slice *slice, CoreRef cond,
                           const char *what) {
    int64_t step = 0;
    bool is_plain = lower_ref_is_const(l, slice->step, &step) && step == 1;
    Str text = lower_format(l, "slice %%0:%%1%s %s", is_plain ? "" : ":%3", what);
    CoreRef args[4] = {slice->from, slice->to, slice->size, slice->step};
    return lower_emit_check(l, cond, text, args, is_plain ? 3 : 4);
}

// The array is needed anyway, and with it all that its size needs.
static CoreRef compare(Lower *l, CoreOp op, CoreRef x, CoreRef y) {
    return lower_emit_compare(l, op, lower_ref_origin(l, x), lower_ref_origin(l, y));
}

// Forwards: 0 <= from <= to <= size. Backwards: -1 <= to <= from < size, or nothing of
// an empty array. An end between two steps beyond the last element is inside as well.
static CoreRef is_inside(Lower *l, const Slice *slice, CoreRef count) {
    CoreRef zero = lower_emit_i64(l, 0), one = lower_emit_i64(l, 1),
            minus_one = lower_emit_i64(l, -1);
    int64_t back = 0, step = 0;
    bool known = lower_ref_is_const(l, slice->is_back, &back);
    bool by_one =
        lower_ref_is_const(l, slice->step, &step) && (step == 1 || step == -1);
    CoreRef last = 0;
    if (!by_one)
        last = lower_emit_add(
            l, slice->from,
            lower_emit_mul(l, lower_emit_sub(l, count, one), slice->step));
    CoreRef forwards = 0, backwards = 0;
    if (!known || back == 0) {
        CoreRef ascend = compare(l, OP_LE, slice->from, slice->to);
        forwards = lower_emit_both(l, compare(l, OP_LE, zero, slice->from), ascend);
        CoreRef fits = by_one ? compare(l, OP_LE, slice->to, slice->size)
                              : compare(l, OP_LT, last, slice->size);
        forwards = lower_emit_both(l, forwards, fits);
    }
    if (!known || back != 0) {
        CoreRef descend = compare(l, OP_LE, slice->to, slice->from);
        backwards =
            lower_emit_both(l, compare(l, OP_LE, minus_one, slice->to), descend);
        backwards =
            lower_emit_both(l, backwards, compare(l, OP_LT, slice->from, slice->size));
    }
    if (known) return back != 0 ? backwards : forwards;
    return lower_emit_select(l, slice->is_back, backwards, forwards);
}

// The empty slice i:i is allowed wherever it is.
static CoreRef is_allowed(Lower *l, const Slice *slice, CoreRef count) {
    CoreRef inside = is_inside(l, slice, count);
    int64_t from = 1;
    bool starts_inside = lower_ref_is_const(l, slice->from, &from) && from == 0;
    if (starts_inside || slice->to == slice->size) return inside;
    CoreRef is_empty = compare(l, OP_EQ, slice->from, slice->to);
    return lower_emit_either(l, is_empty, inside);
}

// The number of elements: (to - from -+ 1) / step + 1, rounded down, for step > 0, < 0.
static CoreRef count_slice(Lower *l, const Slice *slice) {
    int64_t step = 0;
    bool known = lower_ref_is_const(l, slice->step, &step);
    if (known && step == 1) return lower_emit_sub(l, slice->to, slice->from);
    if (known && step == -1) return lower_emit_sub(l, slice->from, slice->to);
    CoreRef one = lower_emit_i64(l, 1);
    CoreRef toward = lower_emit_select(l, slice->is_back, one, lower_emit_i64(l, -1));
    CoreRef span = lower_emit_add(l, lower_emit_sub(l, slice->to, slice->from), toward);
    CoreRef steps = lower_emit_op2(l, OP_DIV, span, slice->step);
    return lower_emit_add(l, steps, one);
}

static CoreRef part(Lower *l, Frame *frame, const TExp *exp) {
    return exp == NULL ? 0 : lower_emit_to_i64(l, lower_eval_ref(l, frame, exp));
}

static Region slice_region(Lower *l, Frame *frame, const TIndex *dim, CoreRef size) {
    CoreRef zero = lower_emit_i64(l, 0), one = lower_emit_i64(l, 1),
            minus_one = lower_emit_i64(l, -1);
    Slice slice = {.size = size};
    slice.from = part(l, frame, dim->from);
    slice.to = part(l, frame, dim->to);
    slice.step = part(l, frame, dim->step);
    lower_at(l, dim->span);
    bool is_whole = slice.from == 0 && slice.to == 0 && slice.step == 0;
    if (is_whole) return (Region){true, true, zero, size, one};
    if (slice.step == 0) slice.step = one;
    slice.is_back = lower_emit_compare(l, OP_LT, slice.step, zero);
    bool is_open = slice.from == 0 && slice.to == 0;
    if (slice.from == 0)
        slice.from =
            lower_emit_select(l, slice.is_back, lower_emit_sub(l, size, one), zero);
    if (slice.to == 0) slice.to = lower_emit_select(l, slice.is_back, minus_one, size);
    CoreRef moves = lower_emit_compare(l, OP_NE, slice.step, zero);
    CoreRef token = check_slice(l, &slice, moves, "has a step of 0");
    slice.step = lower_emit_guard(l, slice.step, token);
    CoreRef count = count_slice(l, &slice);
    Region region = {true, false, slice.from, count, slice.step};
    if (is_open) return region;
    token = check_slice(l, &slice, is_allowed(l, &slice, count), "is outside [0, %2)");
    region.count = lower_emit_guard(l, count, token);
    lower_ref_is_size(l, region.count);
    return region;
}

static Region *eval_regions(Lower *l, Frame *frame, const TIndexVec *dims,
                            CoreRef array) {
    Region *regions = arena_array(l->arena, Region, dims->len);
    for (uint32_t i = 0; i < dims->len; i++) {
        const TIndex *dim = &dims->data[i];
        if (dim->is_slice) {
            regions[i] = slice_region(l, frame, dim, lower_ref_dim(l, array, i));
            continue;
        }
        CoreRef index = lower_eval_ref(l, frame, dim->index);
        lower_at(l, dim->span);
        regions[i] = (Region){.start = lower_emit_to_i64(l, index),
                              .count = lower_emit_i64(l, 1),
                              .stride = lower_emit_i64(l, 1)};
    }
    return regions;
}

// ---- reading ----------------------------------------------------------------------

// The array with the dimensions that take single indices in front.
static CoreRef indices_first(Lower *l, CoreRef array, const Region *regions,
                             uint32_t count, uint32_t indices) {
    uint32_t rank = lower_ref_type(l, array).rank;
    int32_t *perm = arena_array(l->arena, int32_t, rank);
    uint32_t next_index = 0, next_slice = indices;
    bool is_identity = true;
    for (uint32_t i = 0; i < rank; i++) {
        bool is_index = i < count && !regions[i].is_slice;
        uint32_t place = is_index ? next_index++ : next_slice++;
        perm[place] = (int32_t)i;
        is_identity = is_identity && place == i;
    }
    return is_identity ? array : lower_emit_permute(l, array, perm);
}

static CoreRef select_leaf(Lower *l, CoreRef array, const Region *regions,
                           uint32_t count) {
    CoreRef *indices = arena_array(l->arena, CoreRef, count);
    uint32_t index_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!regions[i].is_slice) indices[index_count++] = regions[i].start;
    if (index_count > 0) {
        array = indices_first(l, array, regions, count, index_count);
        array = lower_emit_index(l, array, indices, index_count);
    }
    uint8_t flags = l->now.b.flags;
    uint32_t axis = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!regions[i].is_slice) continue;
        l->now.b.flags |= STM_UNSAFE; // it was checked
        if (!regions[i].is_whole)
            array = lower_emit_slice(l, array, axis, regions[i].start, regions[i].count,
                                     regions[i].stride);
        axis++;
    }
    l->now.b.flags = flags;
    return array;
}

static const Layout *selected_layout(Lower *l, const Layout *layout,
                                     const Region *regions, uint32_t count) {
    if (count == 0) return layout;
    const Layout *elem = selected_layout(l, layout->parts[0], regions + 1, count - 1);
    return regions[0].is_slice ? lower_layout_array(l, elem) : elem;
}

Value *lower_eval_index(Lower *l, Frame *frame, const TExp *exp) {
    const Value *array = lower_eval(l, frame, exp->as.index.exp);
    const TIndexVec *dims = &exp->as.index.dims;
    CoreRefs leaves = lower_value_refs(l, array);
    Region *regions = eval_regions(l, frame, dims, leaves.data[0]);
    lower_at(l, exp->span);
    for (uint32_t i = 0; i < leaves.len; i++)
        leaves.data[i] = select_leaf(l, leaves.data[i], regions, dims->len);
    const Layout *layout = lower_value_layout(l, array);
    return lower_value_leaves(l, selected_layout(l, layout, regions, dims->len),
                              leaves.data);
}

// ---- writing ----------------------------------------------------------------------

static CoreRef both_tokens(Lower *l, CoreRef x, CoreRef y) {
    if (x == 0 || y == 0) return x == 0 ? y : x;
    return lower_emit_op2(l, OP_AND, x, y);
}

// Checks that the new value has the shape of the region; returns a token or 0.
static CoreRef check_value(Lower *l, CoreRef array, CoreRef value,
                           const Region *regions, uint32_t count) {
    CoreRef result = 0;
    uint32_t axis = 0;
    for (uint32_t i = 0; i < lower_ref_type(l, array).rank; i++) {
        if (i < count && !regions[i].is_slice) continue;
        CoreRef wanted = i < count ? regions[i].count : lower_ref_dim(l, array, i);
        CoreRef given = lower_ref_dim(l, value, axis++);
        CoreRef cond = lower_emit_same_size(l, given, wanted);
        Str text = axis == 1
                       ? STR("size mismatch: the new value has size %0 where %1 is"
                             " expected")
                       : lower_format(l,
                                      "size mismatch: dimension %u of the new"
                                      " value has size %%0 where %%1 is expected",
                                      axis);
        CoreRef token = lower_emit_check(l, cond, text, (CoreRef[]){given, wanted}, 2);
        result = both_tokens(l, result, token);
    }
    return result;
}

static CoreRef update_leaf(Lower *l, CoreRef array, CoreRef value,
                           const Region *regions, uint32_t count) {
    CoreRef *args = arena_array(l->arena, CoreRef, 2 + 3 * (size_t)count);
    int32_t *attrs = arena_array(l->arena, int32_t, count);
    args[0] = array;
    args[1] = value;
    for (uint32_t i = 0; i < count; i++) {
        args[2 + 3 * i] = regions[i].start;
        args[3 + 3 * i] = regions[i].count;
        args[4 + 3 * i] = regions[i].stride;
        attrs[i] = regions[i].is_slice;
    }
    CoreType type = lower_ref_type(l, array);
    CoreStm *stm = lower_emit(l, OP_UPDATE, args, 2 + 3 * count, &type, 1);
    core_set_attrs(&l->now.b, stm, attrs, count);
    lower_ref_copy_dims(l, stm->outs[0], 0, array, 0, type.rank);
    return stm->outs[0];
}

Value *lower_eval_update(Lower *l, Frame *frame, const TExp *exp) {
    const Value *array = lower_eval(l, frame, exp->as.update.exp);
    const TIndexVec *dims = &exp->as.update.dims;
    CoreRefs leaves = lower_value_refs(l, array);
    Region *regions = eval_regions(l, frame, dims, leaves.data[0]);
    const Value *value = lower_eval(l, frame, exp->as.update.value);
    lower_at(l, exp->span);
    CoreRefs news = lower_value_refs(l, value);
    CoreRef token = check_value(l, leaves.data[0], news.data[0], regions, dims->len);
    for (uint32_t i = 0; i < leaves.len; i++) {
        CoreRef leaf = lower_emit_guard(l, news.data[i], token);
        leaves.data[i] = update_leaf(l, leaves.data[i], leaf, regions, dims->len);
    }
    return lower_value_leaves(l, lower_value_layout(l, array), leaves.data);
}
