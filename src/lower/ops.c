// SPDX-License-Identifier: Apache-2.0
//
// Single statements, each with what is known of its result: folded arithmetic on sizes,
// checks and guards, views and sources.
#include "lower/internal.h"

CoreRef emit_i64(Lower *l, int64_t value) {
    return core_i64(l->program, value);
}

// ---- arithmetic on sizes --------------------------------------------------------------

static CoreRef remember(Lower *l, uint64_t kind, CoreOp op, CoreRef x, CoreRef y) {
    uint64_t key = kind | (uint64_t)x << 30 | y, found;
    if (memo_get(l, key, &found)) return (CoreRef)found;
    CoreRef result = emit_op2(l, op, x, y);
    memo_set(l, key, result);
    return result;
}

static void order(CoreRef *x, CoreRef *y) {
    if (*x <= *y) return;
    CoreRef swap = *x;
    *x = *y;
    *y = swap;
}

CoreRef emit_add(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0, b = 0;
    bool x_known = ref_is_const(l, x, &a), y_known = ref_is_const(l, y, &b);
    if (x_known && y_known) return emit_i64(l, (int64_t)((uint64_t)a + (uint64_t)b));
    if (x_known && a == 0) return y;
    if (y_known && b == 0) return x;
    order(&x, &y);
    return remember(l, MEMO_ADD, OP_ADD, x, y);
}

CoreRef emit_sub(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0, b = 0;
    bool x_known = ref_is_const(l, x, &a), y_known = ref_is_const(l, y, &b);
    if (x_known && y_known) return emit_i64(l, (int64_t)((uint64_t)a - (uint64_t)b));
    if (y_known && b == 0) return x;
    if (x == y) return emit_i64(l, 0);
    return remember(l, MEMO_SUB, OP_SUB, x, y);
}

CoreRef emit_mul(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0, b = 0;
    bool x_known = ref_is_const(l, x, &a), y_known = ref_is_const(l, y, &b);
    if (x_known && y_known) return emit_i64(l, (int64_t)((uint64_t)a * (uint64_t)b));
    if (x_known && a == 1) return y;
    if (y_known && b == 1) return x;
    order(&x, &y);
    return remember(l, MEMO_MUL, OP_MUL, x, y);
}

static bool compare(CoreOp op, ScalarType type, int64_t a, int64_t b) {
    bool below = scalar_is_signed(type) ? a < b : (uint64_t)a < (uint64_t)b;
    if (op == OP_LT) return below;
    if (op == OP_LE) return below || a == b;
    return op == OP_EQ ? a == b : a != b;
}

CoreRef emit_compare(Lower *l, CoreOp op, CoreRef x, CoreRef y) {
    int64_t a = 0, b = 0;
    bool x_known = ref_is_const(l, x, &a), y_known = ref_is_const(l, y, &b);
    ScalarType type = (ScalarType)ref_type(l, x).elem;
    if (x_known && y_known) return core_bool(l->program, compare(op, type, a, b));
    if (x == y) return core_bool(l->program, op == OP_LE || op == OP_EQ);
    if (x_known && ref_info(l, y)->is_size && (op == OP_LE ? a <= 0 : a < 0))
        return core_bool(l->program, op != OP_EQ);
    if (y_known && ref_info(l, x)->is_size && (op == OP_LT ? b <= 0 : b < 0))
        return core_bool(l->program, op == OP_NE);
    return emit_op2(l, op, x, y);
}

CoreRef emit_both(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0;
    if (ref_is_const(l, x, &a)) return a != 0 ? y : x;
    if (ref_is_const(l, y, &a)) return a != 0 ? x : y;
    return x == y ? x : emit_op2(l, OP_AND, x, y);
}

CoreRef emit_either(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0;
    if (ref_is_const(l, x, &a)) return a != 0 ? x : y;
    if (ref_is_const(l, y, &a)) return a != 0 ? y : x;
    return x == y ? x : emit_op2(l, OP_OR, x, y);
}

CoreRef emit_not(Lower *l, CoreRef x) {
    int64_t a = 0;
    if (ref_is_const(l, x, &a)) return core_bool(l->program, a == 0);
    return emit_op1(l, OP_NOT, x);
}

CoreRef emit_select(Lower *l, CoreRef cond, CoreRef yes, CoreRef no) {
    int64_t known = 0;
    if (yes == no) return yes;
    if (ref_is_const(l, cond, &known)) return known != 0 ? yes : no;
    CoreType type = ref_type(l, yes);
    CoreBody *bodies[2];
    Mark mark = body_open(l, NULL, 0);
    bodies[0] = body_close(l, mark, &yes, 1);
    mark = body_open(l, NULL, 0);
    bodies[1] = body_close(l, mark, &no, 1);
    CoreStm *stm = emit(l, OP_IF, &cond, 1, &type, 1);
    core_set_bodies(&l->now.b, stm, bodies, 2);
    return stm->outs[0];
}

CoreRef emit_to_i64(Lower *l, CoreRef x) {
    int64_t value = 0;
    if (ref_type(l, x).elem == SCALAR_I64) return x;
    if (ref_is_const(l, x, &value)) return emit_i64(l, value);
    return emit_conv(l, OP_CONV, x, SCALAR_I64);
}

// ---- errors as values -----------------------------------------------------------------

CoreRef emit_check(Lower *l, CoreRef cond, Str text, const CoreRef *args,
                   uint32_t count) {
    int64_t holds = 0;
    if ((l->now.b.flags & STM_UNSAFE) != 0) return 0;
    if (ref_is_const(l, cond, &holds) && holds != 0) return 0;
    CoreRef *all = arena_array(l->arena, CoreRef, count + 1);
    all[0] = cond;
    for (uint32_t i = 0; i < count; i++) all[i + 1] = args[i];
    CoreType type = {SCALAR_BOOL, 0};
    CoreStm *stm = emit(l, OP_CHECK, all, count + 1, &type, 1);
    stm->text = text;
    return stm->outs[0];
}

CoreRef emit_guard(Lower *l, CoreRef ref, CoreRef token) {
    if (token == 0) return ref;
    CoreType type = ref_type(l, ref);
    CoreRef result = emit_one(l, OP_GUARD, (CoreRef[]){ref, token}, 2, type);
    ref_copy_dims(l, result, 0, ref, 0, type.rank);
    ref_info(l, result)->is_size = ref_info(l, ref)->is_size;
    return result;
}

// ---- views ----------------------------------------------------------------------------

CoreRef emit_index(Lower *l, CoreRef a, const CoreRef *indices, uint32_t count) {
    CoreType type = ref_type(l, a);
    CoreRef *args = arena_array(l->arena, CoreRef, count + 1);
    args[0] = a;
    for (uint32_t i = 0; i < count; i++) args[i + 1] = indices[i];
    type.rank = (uint8_t)(type.rank - count);
    CoreRef result = emit_one(l, OP_INDEX, args, count + 1, type);
    ref_copy_dims(l, result, 0, a, count, type.rank);
    return result;
}

CoreRef emit_slice(Lower *l, CoreRef a, uint32_t axis, CoreRef start, CoreRef count,
                   CoreRef stride) {
    CoreType type = ref_type(l, a);
    CoreStm *stm =
        emit(l, OP_SLICE, (CoreRef[]){a, start, count, stride}, 4, &type, 1);
    int32_t attr = (int32_t)axis;
    core_set_attrs(&l->now.b, stm, &attr, 1);
    ref_copy_dims(l, stm->outs[0], 0, a, 0, type.rank);
    ref_set_dim(l, stm->outs[0], axis, count);
    return stm->outs[0];
}

CoreRef emit_permute(Lower *l, CoreRef a, const int32_t *perm) {
    CoreType type = ref_type(l, a);
    CoreStm *stm = emit(l, OP_PERMUTE, &a, 1, &type, 1);
    core_set_attrs(&l->now.b, stm, perm, type.rank);
    for (uint32_t i = 0; i < type.rank; i++)
        ref_copy_dims(l, stm->outs[0], i, a, (uint32_t)perm[i], 1);
    return stm->outs[0];
}

CoreRef emit_reshape(Lower *l, CoreRef a, const CoreRef *dims, uint32_t count) {
    CoreRef *args = arena_array(l->arena, CoreRef, count + 1);
    args[0] = a;
    for (uint32_t i = 0; i < count; i++) args[i + 1] = dims[i];
    CoreType type = {ref_type(l, a).elem, (uint8_t)count};
    CoreRef result = emit_one(l, OP_RESHAPE, args, count + 1, type);
    for (uint32_t i = 0; i < count; i++) ref_set_dim(l, result, i, dims[i]);
    return result;
}

// ---- sources --------------------------------------------------------------------------

CoreRef emit_replicate(Lower *l, CoreRef n, CoreRef x) {
    CoreType type = ref_type(l, x);
    if (type.rank == CORE_MAX_RANK) lower_fail(l, LOWER_RANK, STR(""));
    type.rank++;
    CoreRef result = emit_one(l, OP_REPLICATE, (CoreRef[]){n, x}, 2, type);
    ref_set_dim(l, result, 0, n);
    ref_copy_dims(l, result, 1, x, 0, type.rank - 1u);
    return result;
}

CoreRef emit_iota(Lower *l, CoreRef n, CoreRef start, CoreRef step) {
    CoreType type = {ref_type(l, start).elem, 1};
    CoreRef result = emit_one(l, OP_IOTA, (CoreRef[]){n, start, step}, 3, type);
    ref_set_dim(l, result, 0, n);
    return result;
}

CoreRef emit_zero(Lower *l, CoreType type, const CoreRef *dims) {
    CoreRef result = core_const(l->program, (ScalarType)type.elem, 0);
    for (uint32_t axis = type.rank; axis-- > 0;)
        result = emit_replicate(l, dims != NULL && dims[axis] != 0 ? dims[axis]
                                                                   : emit_i64(l, 0),
                                result);
    return result;
}
