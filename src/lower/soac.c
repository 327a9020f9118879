// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics that take functions over elements. The function is applied to fresh
// parameters inside an open body; what comes out is flattened to the body's results.
#include "lower/internal.h"

// ---- map and tabulate -------------------------------------------------------------

typedef struct Mapped {
    CoreBody *body;
    const Layout *layout; // of one result
    CoreRef *rows;        // sizes of its leaves, one after the other; 0: not known
    // Which leaves are parameters handed on: their number + 1, or 0; these are not
    // among the body's results.
    uint32_t *same_as;
} Mapped;

// A size that was checked inside is what it was checked against, if that is a size.
static CoreRef outer_dim(Lower *l, Mark mark, CoreRef dim) {
    CoreRef outer = lower_body_outer(l, mark, dim), origin = lower_ref_origin(l, dim);
    bool is_size =
        lower_ref_info(l, origin)->is_size || core_is_const(l->program, origin);
    return outer == 0 && is_size ? lower_body_outer(l, mark, origin) : outer;
}

static CoreRef *rows_of(Lower *l, Mark mark, const Layout *layout,
                        const CoreRefs *refs) {
    CoreRef *rows = arena_array(l->arena, CoreRef, layout->dim_count);
    for (uint32_t i = 0, d = 0; i < refs->len; i++)
        for (uint32_t axis = 0; axis < layout->leaves[i].rank; axis++, d++)
            rows[d] = outer_dim(l, mark, lower_ref_known_dim(l, refs->data[i], axis));
    return rows;
}

static uint32_t find_param(const CoreRefs *params, CoreRef ref) {
    for (uint32_t i = 0; i < params->len; i++)
        if (params->data[i] == ref) return i + 1;
    return 0;
}

static Mapped map_body(Lower *l, const Call *call, Value *fun, Value *const *args,
                       uint32_t count, const CoreRefs *params, bool can_hand_on) {
    Mark mark = lower_body_open(l, params->data, params->len);
    Value *value = lower_apply(l, fun, args, count, call->span);
    Mapped mapped = {.layout = lower_value_layout(l, value)};
    if (mapped.layout->has_fun)
        lower_fail(l, LOWER_FUNCTION, STR("stored in an array"));
    CoreRefs refs = lower_value_refs(l, value), results = {0};
    mapped.rows = rows_of(l, mark, mapped.layout, &refs);
    mapped.same_as = arena_array(l->arena, uint32_t, refs.len);
    for (uint32_t i = 0; i < refs.len; i++) {
        if (can_hand_on) mapped.same_as[i] = find_param(params, refs.data[i]);
        if (mapped.same_as[i] == 0) vec_push(l->arena, &results, refs.data[i]);
    }
    mapped.body = lower_body_close(l, mark, results.data, results.len);
    lower_at(l, call->span);
    return mapped;
}

// Sizes that the body did not tell are those of the result's type.
static void complete_rows(Lower *l, const Call *call, Mapped *mapped, uint32_t outer) {
    bool all_known = true;
    for (uint32_t d = 0; d < mapped->layout->dim_count; d++)
        all_known = all_known && mapped->rows[d] != 0;
    if (all_known) return;
    LType type = lower_call_result(l, call);
    const CoreRef *dim = type.dims;
    for (uint32_t i = 0, d = 0; i < mapped->layout->leaf_count; i++) {
        dim += outer;
        for (uint32_t axis = 0; axis < mapped->layout->leaves[i].rank;
             axis++, d++, dim++)
            if (mapped->rows[d] == 0) mapped->rows[d] = *dim;
    }
}

// The body may never run, so a negative size, which would fail there, fails here.
static void check_rows(Lower *l, const Mapped *mapped) {
    for (uint32_t d = 0; d < mapped->layout->dim_count; d++)
        if (mapped->rows[d] != 0) mapped->rows[d] = lower_emit_size(l, mapped->rows[d]);
}

// Emits the statement for the leaves that are not handed on. args holds arrays or
// sizes.
static CoreStm *emit_mapped(Lower *l, CoreOp op, const Mapped *mapped, CoreRefs *args,
                            int32_t attr, uint32_t outer) {
    struct {
        CoreType *data;
        uint32_t len, cap;
    } types = {0};
    const CoreRef *row = mapped->rows;
    for (uint32_t i = 0; i < mapped->layout->leaf_count; i++) {
        CoreType type = mapped->layout->leaves[i];
        if (mapped->same_as[i] == 0) {
            for (uint32_t axis = 0; axis < type.rank; axis++)
                vec_push(l->arena, args,
                         row[axis] != 0 ? row[axis] : lower_emit_i64(l, -1));
            if (type.rank + outer > CORE_MAX_RANK) lower_fail(l, LOWER_RANK, STR(""));
            type.rank = (uint8_t)(type.rank + outer);
            vec_push(l->arena, &types, type);
        }
        row += mapped->layout->leaves[i].rank;
    }
    if (types.len == 0) return NULL;
    CoreStm *stm = lower_emit(l, op, args->data, args->len, types.data, types.len);
    core_set_attrs(&l->now.b, stm, &attr, 1);
    CoreBody *body = mapped->body;
    core_set_bodies(&l->now.b, stm, &body, 1);
    return stm;
}

// The arrays of the result: outputs of the statement and inputs handed on.
static Value *mapped_value(Lower *l, const Mapped *mapped, const CoreStm *stm,
                           const CoreRef *inputs, const CoreRef *sizes,
                           uint32_t outer) {
    CoreRefs leaves = {0};
    const CoreRef *row = mapped->rows;
    uint32_t next = 0;
    for (uint32_t i = 0; i < mapped->layout->leaf_count; i++) {
        uint32_t rank = mapped->layout->leaves[i].rank;
        if (mapped->same_as[i] != 0) {
            vec_push(l->arena, &leaves, inputs[mapped->same_as[i] - 1]);
        } else {
            CoreRef leaf = stm->outs[next++];
            for (uint32_t axis = 0; axis < outer; axis++)
                lower_ref_set_dim(l, leaf, axis, sizes[axis]);
            for (uint32_t axis = 0; axis < rank; axis++)
                lower_ref_set_dim(l, leaf, outer + axis, row[axis]);
            vec_push(l->arena, &leaves, leaf);
        }
        row += rank;
    }
    const Layout *layout = mapped->layout;
    for (uint32_t i = 0; i < outer; i++) layout = lower_layout_array(l, layout);
    return lower_value_leaves(l, layout, leaves.data);
}

// The sizes of the leaves from dimension `first` on. They are asked for here, outside
// the body that will want them.
static CoreRef *row_dims(Lower *l, const Layout *elem, const CoreRef *refs,
                         uint32_t first) {
    CoreRef *dims = arena_array(l->arena, CoreRef, elem->dim_count), *next = dims;
    for (uint32_t i = 0; i < elem->leaf_count; i++)
        for (uint32_t axis = 0; axis < elem->leaves[i].rank; axis++)
            *next++ = lower_ref_dim(l, refs[i], first + axis);
    return dims;
}

// Fresh parameters for an element of the array, whose leaves have its rows' sizes.
static Value *element_params(Lower *l, const Value *array, CoreRefs *params) {
    const Layout *elem = lower_value_layout(l, array)->parts[0];
    CoreRefs leaves = lower_value_refs(l, array);
    LType type = {elem, row_dims(l, elem, leaves.data, 1)};
    Value *element = lower_value_fresh(l, elem, 0, params);
    lower_value_set_dims(l, element, &type);
    return element;
}

Value *lower_intrinsic_map(Lower *l, Call *call) {
    CoreRefs arrays = lower_value_refs(l, call->args[1]), params = {0};
    CoreRef size = lower_ref_dim(l, arrays.data[0], 0);
    Value *element = element_params(l, call->args[1], &params);
    Mapped mapped = map_body(l, call, call->args[0], &element, 1, &params, true);
    complete_rows(l, call, &mapped, 1);
    check_rows(l, &mapped);
    CoreRefs args = {0};
    for (uint32_t i = 0; i < arrays.len; i++) vec_push(l->arena, &args, arrays.data[i]);
    CoreStm *stm = emit_mapped(l, OP_MAP, &mapped, &args, (int32_t)arrays.len, 1);
    return mapped_value(l, &mapped, stm, arrays.data, &size, 1);
}

Value *lower_intrinsic_tabulate(Lower *l, Call *call) {
    uint32_t rank = call->arg_count - 1;
    CoreRefs sizes = {0}, params = {0}, args = {0};
    Value **indices = arena_array(l->arena, Value *, rank);
    for (uint32_t i = 0; i < rank; i++) {
        vec_push(l->arena, &sizes, lower_emit_size(l, lower_value_ref(call->args[i])));
        vec_push(l->arena, &args, sizes.data[i]);
        CoreType type = {SCALAR_I64, 0};
        vec_push(l->arena, &params, core_value(l->program, type, 0));
    }
    for (uint32_t i = 0; i < rank; i++) {
        lower_ref_is_size(l, params.data[i]);
        indices[i] = lower_value_scalar(l, params.data[i]);
    }
    Mapped mapped = map_body(l, call, call->args[rank], indices, rank, &params, false);
    complete_rows(l, call, &mapped, rank);
    check_rows(l, &mapped);
    CoreStm *stm = emit_mapped(l, OP_GENERATE, &mapped, &args, (int32_t)rank, rank);
    return mapped_value(l, &mapped, stm, NULL, sizes.data, rank);
}

// ---- reductions, scans, histograms ------------------------------------------------

// The body of a binary operator on elements of the layout; rows: like the neutral one.
static CoreBody *fold_body(Lower *l, const Call *call, Value *op, const Layout *elem,
                           const CoreRefs *neutral) {
    CoreRefs params = {0};
    Value *args[2];
    LType type = {elem, row_dims(l, elem, neutral->data, 0)};
    for (int side = 0; side < 2; side++) {
        args[side] = lower_value_fresh(l, elem, 0, &params);
        lower_value_set_dims(l, args[side], &type);
    }
    Mark mark = lower_body_open(l, params.data, params.len);
    Value *result = lower_apply(l, op, args, 2, call->span);
    if (lower_value_layout(l, result) != elem)
        lower_fail(l, LOWER_UNSUPPORTED, STR("an operator with such a result"));
    CoreRefs results = lower_value_refs(l, result);
    CoreBody *body = lower_body_close(l, mark, results.data, results.len);
    lower_at(l, call->span);
    return body;
}

static Value *fold(Lower *l, Call *call, bool is_comm) {
    const Layout *layout = lower_value_layout(l, call->args[2]),
                 *elem = layout->parts[0];
    CoreRefs neutral = lower_value_refs(l, call->args[1]),
             args = lower_value_refs(l, call->args[2]);
    CoreRef size = lower_ref_dim(l, args.data[0], 0);
    CoreBody *body = fold_body(l, call, call->args[0], elem, &neutral);
    int32_t attrs[2] = {(int32_t)args.len, is_comm};
    for (uint32_t i = 0; i < neutral.len; i++)
        vec_push(l->arena, &args, neutral.data[i]);
    bool is_scan = call->op == OP_SCAN;
    const Layout *result = is_scan ? layout : elem;
    CoreStm *stm = lower_emit(l, call->op, args.data, args.len, result->leaves,
                              result->leaf_count);
    core_set_attrs(&l->now.b, stm, attrs, is_scan ? 1 : 2);
    core_set_bodies(&l->now.b, stm, &body, 1);
    for (uint32_t i = 0; i < elem->leaf_count; i++) {
        if (is_scan) lower_ref_set_dim(l, stm->outs[i], 0, size);
        lower_ref_copy_dims(l, stm->outs[i], is_scan, neutral.data[i], 0,
                            elem->leaves[i].rank);
    }
    return lower_value_leaves(l, result, stm->outs);
}

Value *lower_intrinsic_reduce(Lower *l, Call *call) {
    return fold(l, call, false);
}

Value *lower_intrinsic_reduce_comm(Lower *l, Call *call) {
    return fold(l, call, true);
}

Value *lower_intrinsic_scan(Lower *l, Call *call) {
    return fold(l, call, false);
}

Value *lower_intrinsic_hist(Lower *l, Call *call) {
    const Layout *layout = lower_value_layout(l, call->args[0]);
    const Layout *elem = lower_value_layout(l, call->args[4])->parts[0];
    CoreRefs dest = lower_value_refs(l, call->args[0]),
             neutral = lower_value_refs(l, call->args[2]);
    CoreRefs indices = lower_value_refs(l, call->args[3]),
             values = lower_value_refs(l, call->args[4]);
    CoreBody *body = fold_body(l, call, call->args[1], elem, &neutral);
    CoreRefs args = {0};
    const CoreRefs *groups[4] = {&dest, &neutral, &indices, &values};
    for (int g = 0; g < 4; g++)
        for (uint32_t i = 0; i < groups[g]->len; i++)
            vec_push(l->arena, &args, groups[g]->data[i]);
    CoreStm *stm =
        lower_emit(l, OP_HIST, args.data, args.len, layout->leaves, layout->leaf_count);
    int32_t attrs[2] = {(int32_t)dest.len, (int32_t)indices.len};
    core_set_attrs(&l->now.b, stm, attrs, 2);
    core_set_bodies(&l->now.b, stm, &body, 1);
    for (uint32_t i = 0; i < dest.len; i++)
        lower_ref_copy_dims(l, stm->outs[i], 0, dest.data[i], 0,
                            layout->leaves[i].rank);
    return lower_value_leaves(l, layout, stm->outs);
}
