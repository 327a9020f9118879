// SPDX-License-Identifier: Apache-2.0
//
// Emission: every statement passes here and gets its place, and is counted against the
// largest size of a program. Bodies, what is memorised while they are open, and what is
// known of core values (sizes above all) are kept here too.
#include <string.h>

#include "core/rules.h"
#include "lower/internal.h"

// Statements and applications in one program; more means that inlining blew up.
enum { MOST_WORK = 4000000 };

void lower_at(Lower *l, Span span) {
    if (l->span.start == span.start && l->span.end == span.end) return;
    l->span = span;
    l->here = 0;
}

CoreLoc lower_here(Lower *l) {
    if (l->here == 0) {
        Sym name = l->info != NULL ? l->info->name : 0;
        l->here = core_place(l->program, l->span, name, l->caller);
    }
    return l->here;
}

void lower_count(Lower *l) {
    if (l->info != NULL) l->info->work++;
    if (++l->work > MOST_WORK) lower_too_large(l, LOWER_TOO_LARGE);
}

CoreStm *lower_emit(Lower *l, CoreOp op, const CoreRef *args, uint32_t arg_count,
                    const CoreType *out_types, uint32_t out_count) {
    lower_count(l);
    l->now.b.loc = lower_here(l);
    return core_emit(&l->now.b, op, args, arg_count, out_types, out_count);
}

CoreRef lower_emit_one(Lower *l, CoreOp op, const CoreRef *args, uint32_t arg_count,
                       CoreType type) {
    return lower_emit(l, op, args, arg_count, &type, 1)->outs[0];
}

static CoreRef note_made(Lower *l, CoreRef ref, CoreOp op, CoreRef x, CoreRef y) {
    RefInfo *info = lower_ref_info(l, ref);
    info->op = op;
    info->x = x;
    info->y = y;
    return ref;
}

CoreRef lower_emit_op1(Lower *l, CoreOp op, CoreRef x) {
    lower_count(l);
    l->now.b.loc = lower_here(l);
    return note_made(l, core_op1(&l->now.b, op, x), op, x, 0);
}

CoreRef lower_emit_op2(Lower *l, CoreOp op, CoreRef x, CoreRef y) {
    lower_count(l);
    l->now.b.loc = lower_here(l);
    return note_made(l, core_op2(&l->now.b, op, x, y), op, x, y);
}

CoreRef lower_emit_conv(Lower *l, CoreOp op, CoreRef x, ScalarType to) {
    lower_count(l);
    l->now.b.loc = lower_here(l);
    return core_conv(&l->now.b, op, x, to);
}

// ---- bodies -----------------------------------------------------------------------

Mark lower_body_open(Lower *l, const CoreRef *params, uint32_t param_count) {
    Mark mark = {l->now.memo.trail.len, l->program->values.len};
    if (param_count > 0) mark.first = params[0]; // they were made just before
    core_open(&l->now.b, params, param_count);
    return mark;
}

static void undo_memo(Memo *memo, uint32_t trail) {
    while (memo->trail.len > trail)
        map_set(&memo->map, memo->trail.data[--memo->trail.len], 0);
}

CoreBody *lower_body_close(Lower *l, Mark mark, const CoreRef *results,
                           uint32_t result_count) {
    undo_memo(&l->now.memo, mark.trail);
    return core_close(&l->now.b, results, result_count);
}

CoreRef lower_body_outer(const Lower *l, Mark mark, CoreRef ref) {
    return ref < mark.first || core_is_const(l->program, ref) ? ref : 0;
}

bool lower_memo_get(const Lower *l, uint64_t key, uint64_t *item_out) {
    return map_get(&l->now.memo.map, key, item_out) && *item_out != 0;
}

void lower_memo_set(Lower *l, uint64_t key, uint64_t item) {
    map_set(&l->now.memo.map, key, item);
    vec_push(l->arena, &l->now.memo.trail, key);
}

// ---- failure ----------------------------------------------------------------------

bool lower_size_is_small(const CoreProgram *program, CoreRef ref) {
    const CoreValue *value = &program->values.data[ref];
    return value->is_const && value->bits <= (uint64_t)1 << 24;
}

static bool scalar_may_fail(const CoreProgram *program, const CoreStm *stm) {
    if ((core_op_info[stm->op].flags & OP_FAILS) == 0) return false;
    const CoreValue *second = &program->values.data[stm->args[1]];
    if (scalar_is_float((ScalarType)second->type.elem)) return false;
    if (!second->is_const) return true;
    unsigned width = 8u * scalar_info[second->type.elem].bytes;
    if (stm->op == OP_POW)
        return scalar_is_signed((ScalarType)second->type.elem) &&
               (second->bits >> (width - 1)) != 0;
    return second->bits == 0;
}

static bool bodies_may_fail(const CoreProgram *program, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->body_count; i++)
        for (uint32_t s = 0; s < stm->bodies[i]->stms.len; s++)
            if (lower_stm_may_fail(program, stm->bodies[i]->stms.data[s])) return true;
    return false;
}

static bool any_rank(const CoreProgram *program, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (core_type(program, refs[i]).rank > 0) return true;
    return false;
}

static bool order2_may_fail(const CoreProgram *program, const CoreStm *stm) {
    if (stm->op == OP_SCATTER || stm->op == OP_FILTER) return stm->op == OP_FILTER;
    uint32_t given = (uint32_t)stm->attrs[0];
    if (stm->op == OP_GENERATE) {
        for (uint32_t i = 0; i < given; i++)
            if (!lower_size_is_small(program, stm->args[i])) return true;
        if (stm->arg_count > given) return true; // rows
    } else if (stm->op == OP_MAP) {
        if (given != 1 || stm->arg_count > given) return true;
    } else if (stm->op == OP_REDUCE || stm->op == OP_SCAN) {
        if (given != 1 || any_rank(program, stm->args + given, given)) return true;
    } else {
        return true;
    }
    return bodies_may_fail(program, stm);
}

bool lower_stm_may_fail(const CoreProgram *program, const CoreStm *stm) {
    switch (core_op_info[stm->op].kind) {
    case KIND_SCALAR1:
    case KIND_SCALAR2:
    case KIND_SCALAR3: return scalar_may_fail(program, stm);
    case KIND_ORDER2: return order2_may_fail(program, stm);
    case KIND_CONTROL:
        if (stm->op == OP_IF || stm->op == OP_FOR) return bodies_may_fail(program, stm);
        if (stm->op == OP_CALL) return !core_is_plain_call(program, stm);
        return stm->op != OP_GUARD; // a while may not end; a trace is seen
    case KIND_ARRAY: break;
    }
    if ((core_op_info[stm->op].flags & OP_FAILS) == 0) return false;
    if (stm->op == OP_ARRAY) return any_rank(program, stm->args, stm->arg_count);
    if (stm->op == OP_IOTA || stm->op == OP_REPLICATE)
        return !lower_size_is_small(program, stm->args[0]);
    return true;
}

// ---- what is known of core values -------------------------------------------------

CoreType lower_ref_type(const Lower *l, CoreRef ref) {
    return core_type(l->program, ref);
}

bool lower_ref_is_const(const Lower *l, CoreRef ref, int64_t *value_out) {
    const CoreValue *value = &l->program->values.data[ref];
    if (!value->is_const) return false;
    ScalarType type = (ScalarType)value->type.elem;
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    uint64_t bits = value->bits << unused;
    if (scalar_is_signed(type)) *value_out = (int64_t)bits >> unused;
    else *value_out = (int64_t)(bits >> unused);
    return true;
}

void lower_ref_name(Lower *l, CoreRef ref, Sym name) {
    CoreValue *value = &l->program->values.data[ref];
    if (!value->is_const && value->name == 0) value->name = name;
}

CoreRef lower_ref_origin(Lower *l, CoreRef ref) {
    CoreRef origin = lower_ref_info(l, ref)->origin;
    return origin != 0 ? origin : ref;
}

RefInfo *lower_ref_info(Lower *l, CoreRef ref) {
    while (l->refs.len <= ref) vec_push(l->arena, &l->refs, (RefInfo){0});
    return &l->refs.data[ref];
}

static uint64_t dim_key(CoreRef ref, uint32_t axis) {
    return MEMO_DIM | (uint64_t)ref << 8 | axis;
}

CoreRef lower_ref_known_dim(Lower *l, CoreRef ref, uint32_t axis) {
    const RefInfo *info = lower_ref_info(l, ref);
    if (info->dims != NULL && info->dims[axis] != 0) return info->dims[axis];
    uint64_t found;
    return lower_memo_get(l, dim_key(ref, axis), &found) ? (CoreRef)found : 0;
}

// A large constant tells nothing: an array that was to have that size may have failed,
// and nothing may be done so often before the error shows.
void lower_ref_set_dim(Lower *l, CoreRef ref, uint32_t axis, CoreRef dim) {
    bool is_const = core_is_const(l->program, dim);
    if (dim == 0 || (is_const && !lower_size_is_small(l->program, dim))) return;
    RefInfo *info = lower_ref_info(l, ref);
    if (info->dims == NULL)
        info->dims = arena_array(l->arena, CoreRef, lower_ref_type(l, ref).rank);
    info->dims[axis] = dim;
}

void lower_ref_copy_dims(Lower *l, CoreRef to, uint32_t to_axis, CoreRef from,
                         uint32_t from_axis, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        lower_ref_set_dim(l, to, to_axis + i,
                          lower_ref_known_dim(l, from, from_axis + i));
}

CoreRef lower_ref_dim(Lower *l, CoreRef ref, uint32_t axis) {
    CoreRef known = lower_ref_known_dim(l, ref, axis);
    if (known != 0) return known;
    CoreType type = {SCALAR_I64, 0};
    CoreStm *stm = lower_emit(l, OP_DIM, &ref, 1, &type, 1);
    int32_t attr = (int32_t)axis;
    core_set_attrs(&l->now.b, stm, &attr, 1);
    lower_ref_is_size(l, stm->outs[0]);
    lower_memo_set(l, dim_key(ref, axis), stm->outs[0]);
    return stm->outs[0];
}
