// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics over whole arrays without functions: an array of tuples is a tuple of
// arrays, so each works leaf by leaf, and zip and unzip cost nothing.
#include "lower/internal.h"

static const Layout *elem_of(const Layout *array) {
    return array->parts[0];
}

Value *lower_intrinsic_length(Lower *l, Call *call) {
    return lower_value_scalar(
        l, lower_ref_dim(l, lower_value_refs(l, call->args[0]).data[0], 0));
}

static Value *count_up(Lower *l, CoreRef n) {
    CoreRef leaf = lower_emit_iota(l, n, lower_emit_i64(l, 0), lower_emit_i64(l, 1));
    return lower_value_leaves(
        l, lower_layout_array(l, lower_layout_scalar(l, SCALAR_I64)), &leaf);
}

Value *lower_intrinsic_indices(Lower *l, Call *call) {
    return count_up(l, lower_ref_dim(l, lower_value_refs(l, call->args[0]).data[0], 0));
}

Value *lower_intrinsic_iota(Lower *l, Call *call) {
    return count_up(l, lower_emit_size(l, lower_value_ref(call->args[0])));
}

Value *lower_intrinsic_zip(Lower *l, Call *call) {
    const Layout *parts[2];
    CoreRefs leaves = {0};
    for (int i = 0; i < 2; i++) {
        parts[i] = elem_of(lower_value_layout(l, call->args[i]));
        lower_value_flatten(l, call->args[i], &leaves);
    }
    const Layout *layout = lower_layout_array(l, lower_layout_record(l, parts, 2));
    return lower_value_leaves(l, layout, leaves.data);
}

Value *lower_intrinsic_unzip(Lower *l, Call *call) {
    const Layout *pair = elem_of(lower_value_layout(l, call->args[0]));
    const CoreRef *leaves = lower_value_refs(l, call->args[0]).data;
    Value *items[2];
    items[0] = lower_value_leaves(l, lower_layout_array(l, pair->parts[0]), leaves);
    items[1] = lower_value_leaves(l, lower_layout_array(l, pair->parts[1]),
                                  leaves + pair->parts[0]->leaf_count);
    return lower_value_record(l, items, 2);
}

// ---- views ------------------------------------------------------------------------

Value *lower_intrinsic_transpose(Lower *l, Call *call) {
    CoreRefs leaves = lower_value_refs(l, call->args[0]);
    for (uint32_t i = 0; i < leaves.len; i++) {
        int32_t perm[CORE_MAX_RANK];
        for (int32_t axis = 0; axis < CORE_MAX_RANK; axis++)
            perm[axis] = axis > 1 ? axis : 1 - axis;
        leaves.data[i] = lower_emit_permute(l, leaves.data[i], perm);
    }
    return lower_value_leaves(l, lower_value_layout(l, call->args[0]), leaves.data);
}

Value *lower_intrinsic_flatten(Lower *l, Call *call) {
    CoreRefs leaves = lower_value_refs(l, call->args[0]);
    CoreRef n = lower_ref_dim(l, leaves.data[0], 0),
            m = lower_ref_dim(l, leaves.data[0], 1);
    CoreRef size = lower_emit_mul(l, n, m);
    for (uint32_t i = 0; i < leaves.len; i++) {
        CoreRef dims[CORE_MAX_RANK] = {size};
        uint32_t rank = lower_ref_type(l, leaves.data[i]).rank;
        for (uint32_t axis = 2; axis < rank; axis++)
            dims[axis - 1] = lower_ref_dim(l, leaves.data[i], axis);
        leaves.data[i] = lower_emit_reshape(l, leaves.data[i], dims, rank - 1);
    }
    return lower_value_leaves(l, elem_of(lower_value_layout(l, call->args[0])),
                              leaves.data);
}

static CoreRef size_param(Lower *l, const Call *call, uint32_t index) {
    const Binding *param = call->binding->size_params.data[index];
    CoreRef ref = lower_size_param(l, call->frame, param);
    if (ref == 0) lower_fail(l, LOWER_UNKNOWN_SIZE, lower_name(l, param->name));
    return ref;
}

Value *lower_intrinsic_unflatten(Lower *l, Call *call) {
    CoreRefs leaves = lower_value_refs(l, call->args[0]);
    CoreRef n = size_param(l, call, 0), m = size_param(l, call, 1);
    for (uint32_t i = 0; i < leaves.len; i++) {
        CoreRef dims[CORE_MAX_RANK + 1] = {n, m};
        uint32_t rank = lower_ref_type(l, leaves.data[i]).rank;
        if (rank == CORE_MAX_RANK) lower_fail(l, LOWER_RANK, STR(""));
        for (uint32_t axis = 1; axis < rank; axis++)
            dims[axis + 1] = lower_ref_dim(l, leaves.data[i], axis);
        leaves.data[i] = lower_emit_reshape(l, leaves.data[i], dims, rank + 1);
    }
    const Layout *layout = lower_layout_array(l, lower_value_layout(l, call->args[0]));
    return lower_value_leaves(l, layout, leaves.data);
}

Value *lower_intrinsic_reverse(Lower *l, Call *call) {
    CoreRefs leaves = lower_value_refs(l, call->args[0]);
    for (uint32_t i = 0; i < leaves.len; i++) {
        CoreType type = lower_ref_type(l, leaves.data[i]);
        CoreStm *stm = lower_emit(l, OP_REVERSE, &leaves.data[i], 1, &type, 1);
        core_set_attrs(&l->now.b, stm, (int32_t[]){0}, 1);
        lower_ref_copy_dims(l, stm->outs[0], 0, leaves.data[i], 0, type.rank);
        leaves.data[i] = stm->outs[0];
    }
    return lower_value_leaves(l, lower_value_layout(l, call->args[0]), leaves.data);
}

// ---- new arrays -------------------------------------------------------------------

Value *lower_intrinsic_concat(Lower *l, Call *call) {
    CoreRefs first = lower_value_refs(l, call->args[0]),
             second = lower_value_refs(l, call->args[1]);
    CoreRef other = lower_ref_dim(l, second.data[0], 0);
    CoreRef size = lower_emit_add(l, lower_ref_dim(l, first.data[0], 0), other);
    for (uint32_t i = 0; i < first.len; i++) {
        CoreRef args[2] = {first.data[i], second.data[i]};
        CoreType type = lower_ref_type(l, args[0]);
        CoreStm *stm = lower_emit(l, OP_CONCAT, args, 2, &type, 1);
        core_set_attrs(&l->now.b, stm, (int32_t[]){0}, 1);
        lower_ref_set_dim(l, stm->outs[0], 0, size);
        lower_ref_copy_dims(l, stm->outs[0], 1, args[0], 1, type.rank - 1u);
        first.data[i] = stm->outs[0];
    }
    return lower_value_leaves(l, lower_value_layout(l, call->args[0]), first.data);
}

Value *lower_intrinsic_copy(Lower *l, Call *call) {
    const Layout *layout = lower_value_layout(l, call->args[0]);
    if (layout->dim_count == 0 || layout->has_fun) return call->args[0];
    CoreRefs leaves = lower_value_refs(l, call->args[0]);
    for (uint32_t i = 0; i < leaves.len; i++) {
        CoreType type = lower_ref_type(l, leaves.data[i]);
        if (type.rank == 0) continue;
        CoreRef copy = lower_emit_one(l, OP_COPY, &leaves.data[i], 1, type);
        lower_ref_copy_dims(l, copy, 0, leaves.data[i], 0, type.rank);
        leaves.data[i] = copy;
    }
    return lower_value_leaves(l, layout, leaves.data);
}

Value *lower_intrinsic_replicate(Lower *l, Call *call) {
    CoreRef n = lower_emit_size(l, lower_value_ref(call->args[0]));
    CoreRefs leaves = lower_value_refs(l, call->args[1]);
    for (uint32_t i = 0; i < leaves.len; i++)
        leaves.data[i] = lower_emit_replicate(l, n, leaves.data[i]);
    const Layout *layout = lower_layout_array(l, lower_value_layout(l, call->args[1]));
    return lower_value_leaves(l, layout, leaves.data);
}

// filter takes flags: its function has been mapped already.
Value *lower_intrinsic_filter(Lower *l, Call *call) {
    const Layout *layout = lower_value_layout(l, call->args[1]);
    CoreRefs args = lower_value_refs(l, call->args[0]);
    lower_value_flatten(l, call->args[1], &args);
    CoreStm *stm = lower_emit(l, OP_FILTER, args.data, args.len, layout->leaves,
                              layout->leaf_count);
    for (uint32_t i = 0; i < layout->leaf_count; i++) {
        uint32_t rows = layout->leaves[i].rank - 1u;
        lower_ref_copy_dims(l, stm->outs[i], 1, args.data[i + 1], 1, rows);
        if (i > 0)
            lower_ref_set_dim(l, stm->outs[i], 0, lower_ref_dim(l, stm->outs[0], 0));
    }
    return lower_value_leaves(l, layout, stm->outs);
}

// Only of scalars: the library says so in the types.
static CoreStm *sort(Lower *l, const Call *call, uint32_t outs) {
    CoreRef keys = lower_value_refs(l, call->args[0]).data[0];
    CoreType types[2] = {lower_ref_type(l, keys), {SCALAR_I64, 1}};
    CoreStm *stm = lower_emit(l, OP_SORT, &keys, 1, types, outs);
    for (uint32_t i = 0; i < outs; i++)
        lower_ref_copy_dims(l, stm->outs[i], 0, keys, 0, 1);
    return stm;
}

Value *lower_intrinsic_sort(Lower *l, Call *call) {
    CoreStm *stm = sort(l, call, 1);
    return lower_value_leaves(l, lower_value_layout(l, call->args[0]), stm->outs);
}

Value *lower_intrinsic_argsort(Lower *l, Call *call) {
    CoreStm *stm = sort(l, call, 2);
    return lower_value_leaves(
        l, lower_layout_array(l, lower_layout_scalar(l, SCALAR_I64)), stm->outs + 1);
}

Value *lower_intrinsic_scatter(Lower *l, Call *call) {
    const Layout *layout = lower_value_layout(l, call->args[0]);
    CoreRefs dest = lower_value_refs(l, call->args[0]),
             indices = lower_value_refs(l, call->args[1]);
    CoreRefs values = lower_value_refs(l, call->args[2]);
    for (uint32_t i = 0; i < dest.len; i++) {
        CoreRefs args = {0};
        vec_push(l->arena, &args, dest.data[i]);
        for (uint32_t k = 0; k < indices.len; k++)
            vec_push(l->arena, &args, indices.data[k]);
        vec_push(l->arena, &args, values.data[i]);
        CoreStm *stm =
            lower_emit(l, OP_SCATTER, args.data, args.len, &layout->leaves[i], 1);
        int32_t attr = (int32_t)indices.len;
        core_set_attrs(&l->now.b, stm, &attr, 1);
        lower_ref_copy_dims(l, stm->outs[0], 0, dest.data[i], 0,
                            layout->leaves[i].rank);
        dest.data[i] = stm->outs[0];
    }
    return lower_value_leaves(l, layout, dest.data);
}
