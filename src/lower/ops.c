// SPDX-License-Identifier: Apache-2.0
//
// Single statements, each with what is known of its result: folded arithmetic on sizes,
// checks and guards, views and sources.
#include "lower/internal.h"

CoreRef lower_emit_i64(Lower *l, int64_t value) {
    return core_i64(l->program, value);
}

// ---- arithmetic on sizes ----------------------------------------------------------

static CoreRef remember(Lower *l, uint64_t kind, CoreOp op, CoreRef x, CoreRef y) {
    uint64_t key = kind | (uint64_t)x << 30 | y, found;
    if (lower_memo_get(l, key, &found)) return (CoreRef)found;
    CoreRef result = lower_emit_op2(l, op, x, y);
    lower_memo_set(l, key, result);
    return result;
}

// Whether ref was made as x op y.
static bool is_made(Lower *l, CoreRef ref, CoreOp op, CoreRef *x, CoreRef *y) {
    const RefInfo *info = lower_ref_info(l, ref);
    *x = info->x;
    *y = info->y;
    return info->x != 0 && info->op == op;
}

static void order(CoreRef *x, CoreRef *y) {
    if (*x <= *y) return;
    CoreRef swap = *x;
    *x = *y;
    *y = swap;
}

// What is made of guarded sizes equals what is made of the unguarded ones.
static CoreRef with_origin(Lower *l, CoreRef (*emit)(Lower *, CoreRef, CoreRef),
                           CoreRef made) {
    RefInfo info = *lower_ref_info(l, made);
    CoreRef x = lower_ref_origin(l, info.x), y = lower_ref_origin(l, info.y);
    if (info.origin == 0 && (x != info.x || y != info.y)) {
        CoreRef origin = emit(l, x, y);
        lower_ref_info(l, made)->origin = origin;
    }
    return made;
}

CoreRef lower_emit_add(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0, b = 0;
    bool x_known = lower_ref_is_const(l, x, &a), y_known = lower_ref_is_const(l, y, &b);
    if (x_known && y_known)
        return lower_emit_i64(l, (int64_t)((uint64_t)a + (uint64_t)b));
    if (x_known && a == 0) return y;
    if (y_known && b == 0) return x;
    CoreRef p, q;
    if (is_made(l, x, OP_SUB, &p, &q) && q == y) return p; // (p - y) + y
    if (is_made(l, y, OP_SUB, &p, &q) && q == x) return p;
    order(&x, &y);
    return with_origin(l, lower_emit_add, remember(l, MEMO_ADD, OP_ADD, x, y));
}

CoreRef lower_emit_sub(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0, b = 0;
    bool x_known = lower_ref_is_const(l, x, &a), y_known = lower_ref_is_const(l, y, &b);
    if (x_known && y_known)
        return lower_emit_i64(l, (int64_t)((uint64_t)a - (uint64_t)b));
    if (y_known && b == 0) return x;
    if (x == y) return lower_emit_i64(l, 0);
    CoreRef p, q;
    if (is_made(l, x, OP_ADD, &p, &q) && (p == y || q == y)) return p == y ? q : p;
    if (is_made(l, y, OP_SUB, &p, &q) && p == x) return q; // x - (x - q)
    return with_origin(l, lower_emit_sub, remember(l, MEMO_SUB, OP_SUB, x, y));
}

CoreRef lower_emit_mul(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0, b = 0;
    bool x_known = lower_ref_is_const(l, x, &a), y_known = lower_ref_is_const(l, y, &b);
    if (x_known && y_known)
        return lower_emit_i64(l, (int64_t)((uint64_t)a * (uint64_t)b));
    if (x_known && a == 1) return y;
    if (y_known && b == 1) return x;
    order(&x, &y);
    return with_origin(l, lower_emit_mul, remember(l, MEMO_MUL, OP_MUL, x, y));
}

static bool compare(CoreOp op, ScalarType type, int64_t a, int64_t b) {
    bool below = scalar_is_signed(type) ? a < b : (uint64_t)a < (uint64_t)b;
    if (op == OP_LT) return below;
    if (op == OP_LE) return below || a == b;
    return op == OP_EQ ? a == b : a != b;
}

CoreRef lower_emit_compare(Lower *l, CoreOp op, CoreRef x, CoreRef y) {
    int64_t a = 0, b = 0;
    bool x_known = lower_ref_is_const(l, x, &a), y_known = lower_ref_is_const(l, y, &b);
    ScalarType type = (ScalarType)lower_ref_type(l, x).elem;
    if (x_known && y_known) return core_bool(l->program, compare(op, type, a, b));
    if (x == y) return core_bool(l->program, op == OP_LE || op == OP_EQ);
    if (x_known && lower_ref_info(l, y)->is_size && (op == OP_LE ? a <= 0 : a < 0))
        return core_bool(l->program, op != OP_EQ);
    if (y_known && lower_ref_info(l, x)->is_size && (op == OP_LT ? b <= 0 : b < 0))
        return core_bool(l->program, op == OP_NE);
    return lower_emit_op2(l, op, x, y);
}

CoreRef lower_emit_same_size(Lower *l, CoreRef x, CoreRef y) {
    return lower_emit_compare(l, OP_EQ, lower_ref_origin(l, x), lower_ref_origin(l, y));
}

CoreRef lower_emit_both(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0;
    if (lower_ref_is_const(l, x, &a)) return a != 0 ? y : x;
    if (lower_ref_is_const(l, y, &a)) return a != 0 ? x : y;
    return x == y ? x : lower_emit_op2(l, OP_AND, x, y);
}

CoreRef lower_emit_either(Lower *l, CoreRef x, CoreRef y) {
    int64_t a = 0;
    if (lower_ref_is_const(l, x, &a)) return a != 0 ? x : y;
    if (lower_ref_is_const(l, y, &a)) return a != 0 ? y : x;
    return x == y ? x : lower_emit_op2(l, OP_OR, x, y);
}

CoreRef lower_emit_not(Lower *l, CoreRef x) {
    int64_t a = 0;
    if (lower_ref_is_const(l, x, &a)) return core_bool(l->program, a == 0);
    return lower_emit_op1(l, OP_NOT, x);
}

CoreRef lower_emit_select(Lower *l, CoreRef cond, CoreRef yes, CoreRef no) {
    int64_t known = 0;
    if (yes == no) return yes;
    if (lower_ref_is_const(l, cond, &known)) return known != 0 ? yes : no;
    CoreType type = lower_ref_type(l, yes);
    CoreBody *bodies[2];
    Mark mark = lower_body_open(l, NULL, 0);
    bodies[0] = lower_body_close(l, mark, &yes, 1);
    mark = lower_body_open(l, NULL, 0);
    bodies[1] = lower_body_close(l, mark, &no, 1);
    CoreStm *stm = lower_emit(l, OP_IF, &cond, 1, &type, 1);
    core_set_bodies(&l->now.b, stm, bodies, 2);
    return stm->outs[0];
}

CoreRef lower_emit_to_i64(Lower *l, CoreRef x) {
    int64_t value = 0;
    if (lower_ref_type(l, x).elem == SCALAR_I64) return x;
    if (lower_ref_is_const(l, x, &value)) return lower_emit_i64(l, value);
    return lower_emit_conv(l, OP_CONV, x, SCALAR_I64);
}

// ---- errors as values -------------------------------------------------------------

bool lower_needs_no_check(Lower *l, CoreRef cond) {
    int64_t holds = 0;
    return (l->now.b.flags & STM_UNSAFE) != 0 ||
           (lower_ref_is_const(l, cond, &holds) && holds != 0);
}

CoreRef lower_emit_check(Lower *l, CoreRef cond, Str text, const CoreRef *args,
                         uint32_t count) {
    if (lower_needs_no_check(l, cond)) return 0;
    CoreRef *all = arena_array(l->arena, CoreRef, count + 1);
    all[0] = cond;
    for (uint32_t i = 0; i < count; i++) all[i + 1] = args[i];
    CoreType type = {SCALAR_BOOL, 0};
    CoreStm *stm = lower_emit(l, OP_CHECK, all, count + 1, &type, 1);
    stm->text = text;
    if (l->entry_checks != NULL) vec_push(l->arena, l->entry_checks, stm->outs[0]);
    return stm->outs[0];
}

CoreRef lower_emit_guard(Lower *l, CoreRef ref, CoreRef token) {
    if (token == 0) return ref;
    CoreType type = lower_ref_type(l, ref);
    CoreRef result = lower_emit_one(l, OP_GUARD, (CoreRef[]){ref, token}, 2, type);
    lower_ref_copy_dims(l, result, 0, ref, 0, type.rank);
    lower_ref_info(l, result)->is_size = lower_ref_info(l, ref)->is_size;
    if (type.rank == 0) {
        CoreRef origin = lower_ref_origin(l, ref);
        lower_ref_info(l, result)->origin = origin;
    }
    return result;
}

void lower_ref_is_size(Lower *l, CoreRef ref) {
    if (!core_is_const(l->program, ref)) lower_ref_info(l, ref)->is_size = true;
}

CoreRef lower_emit_size(Lower *l, CoreRef n) {
    int64_t known = -1;
    if (lower_ref_info(l, n)->is_size) return n;
    if (lower_ref_is_const(l, n, &known) && known >= 0) return n;
    uint64_t found, key = MEMO_SIZE | n;
    if (lower_memo_get(l, key, &found)) return (CoreRef)found;
    CoreRef cond = lower_emit_compare(l, OP_LE, lower_emit_i64(l, 0), n);
    CoreRef token = lower_emit_check(l, cond, STR("a size of %0 is negative"), &n, 1);
    if (token == 0) return n;
    CoreRef size = lower_emit_guard(l, n, token);
    lower_ref_is_size(l, size);
    lower_memo_set(l, key, size);
    return size;
}

// ---- views ------------------------------------------------------------------------

CoreRef lower_emit_index(Lower *l, CoreRef a, const CoreRef *indices, uint32_t count) {
    CoreType type = lower_ref_type(l, a);
    CoreRef *args = arena_array(l->arena, CoreRef, count + 1);
    args[0] = a;
    for (uint32_t i = 0; i < count; i++) args[i + 1] = indices[i];
    type.rank = (uint8_t)(type.rank - count);
    CoreRef result = lower_emit_one(l, OP_INDEX, args, count + 1, type);
    lower_ref_copy_dims(l, result, 0, a, count, type.rank);
    return result;
}

CoreRef lower_emit_slice(Lower *l, CoreRef a, uint32_t axis, CoreRef start,
                         CoreRef count, CoreRef stride) {
    CoreType type = lower_ref_type(l, a);
    CoreStm *stm =
        lower_emit(l, OP_SLICE, (CoreRef[]){a, start, count, stride}, 4, &type, 1);
    int32_t attr = (int32_t)axis;
    core_set_attrs(&l->now.b, stm, &attr, 1);
    lower_ref_copy_dims(l, stm->outs[0], 0, a, 0, type.rank);
    lower_ref_set_dim(l, stm->outs[0], axis, count);
    return stm->outs[0];
}

CoreRef lower_emit_permute(Lower *l, CoreRef a, const int32_t *perm) {
    CoreType type = lower_ref_type(l, a);
    CoreStm *stm = lower_emit(l, OP_PERMUTE, &a, 1, &type, 1);
    core_set_attrs(&l->now.b, stm, perm, type.rank);
    for (uint32_t i = 0; i < type.rank; i++)
        lower_ref_copy_dims(l, stm->outs[0], i, a, (uint32_t)perm[i], 1);
    return stm->outs[0];
}

CoreRef lower_emit_reshape(Lower *l, CoreRef a, const CoreRef *dims, uint32_t count) {
    CoreRef *args = arena_array(l->arena, CoreRef, count + 1);
    args[0] = a;
    for (uint32_t i = 0; i < count; i++) args[i + 1] = dims[i];
    CoreType type = {lower_ref_type(l, a).elem, (uint8_t)count};
    CoreRef result = lower_emit_one(l, OP_RESHAPE, args, count + 1, type);
    for (uint32_t i = 0; i < count; i++) lower_ref_set_dim(l, result, i, dims[i]);
    return result;
}

// ---- sources ----------------------------------------------------------------------

CoreRef lower_emit_replicate(Lower *l, CoreRef n, CoreRef x) {
    CoreType type = lower_ref_type(l, x);
    if (type.rank == CORE_MAX_RANK) lower_fail(l, LOWER_RANK, STR(""));
    type.rank++;
    CoreRef result = lower_emit_one(l, OP_REPLICATE, (CoreRef[]){n, x}, 2, type);
    lower_ref_set_dim(l, result, 0, n);
    lower_ref_copy_dims(l, result, 1, x, 0, type.rank - 1u);
    return result;
}

CoreRef lower_emit_iota(Lower *l, CoreRef n, CoreRef start, CoreRef step) {
    CoreType type = {lower_ref_type(l, start).elem, 1};
    CoreRef result = lower_emit_one(l, OP_IOTA, (CoreRef[]){n, start, step}, 3, type);
    lower_ref_set_dim(l, result, 0, n);
    return result;
}

// The size of a payload that was not chosen may be what none could be: negative, or a
// constant beyond every address space, which is 0 here.
static CoreRef emit_natural(Lower *l, CoreRef n) {
    const int64_t most = (int64_t)1 << 47;
    int64_t known;
    if (lower_ref_is_const(l, n, &known))
        return known >= 0 && known < most ? n : lower_emit_i64(l, 0);
    return lower_emit_op2(l, OP_MAX, n, lower_emit_i64(l, 0));
}

CoreRef lower_emit_zero(Lower *l, CoreType type, const CoreRef *dims) {
    CoreRef result = core_const(l->program, (ScalarType)type.elem, 0);
    for (uint32_t axis = type.rank; axis-- > 0;) {
        bool is_known = dims != NULL && dims[axis] != 0;
        CoreRef n = is_known ? dims[axis] : lower_emit_i64(l, 0);
        result = lower_emit_replicate(l, emit_natural(l, n), result);
        lower_ref_set_dim(l, result, 0, n);
    }
    return result;
}
