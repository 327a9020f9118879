// SPDX-License-Identifier: Apache-2.0
//
// Rules of operators that make arrays from nothing, and of views: what the paper calls
// use, generate, replicate and backpermute.
#include "fission/rules.h"
#include "opt/fuse.h"

static uint32_t rank_of(const FissionSplit *s) {
    return core_type(s->program, s->stm->outs[0]).rank;
}

bool guard_outer(const FissionSplit *s) {
    return s->dim == 0;
}

bool guard_any_dim(const FissionSplit *s) {
    return s->dim < rank_of(s);
}

// ---- use: elements that the program lists -------------------------------------------

static int64_t value_of(const FissionSplit *s, CoreRef ref) {
    return (int64_t)s->program->values.data[ref].bits;
}

CoreRef size_literal(FissionSplit *s) {
    ScalarType elem = (ScalarType)core_type(s->program, s->stm->outs[0]).elem;
    return core_i64(s->program, (int64_t)(s->stm->text.len / scalar_info[elem].bytes));
}

void part_literal(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreType type = core_type(s->program, s->stm->outs[0]);
    size_t bytes = scalar_info[type.elem].bytes;
    CoreStm *stm = core_emit(s->b, OP_LITERAL, NULL, 0, &type, 1);
    stm->text.ptr = s->stm->text.ptr + (size_t)value_of(s, s->start[p]) * bytes;
    stm->text.len = (size_t)value_of(s, s->length[p]) * bytes;
    results[0] = stm->outs[0];
}

// Rows that differ in shape would fail in other words.
bool guard_list(const FissionSplit *s) {
    return s->dim == 0 && core_type(s->program, s->stm->args[0]).rank == 0;
}

CoreRef size_list(FissionSplit *s) {
    return core_i64(s->program, s->stm->arg_count);
}

// A list has elements: for a part without any stands an empty literal.
void part_list(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreType type = core_type(s->program, s->stm->outs[0]);
    uint32_t count = (uint32_t)value_of(s, s->length[p]);
    const CoreRef *args = s->stm->args + value_of(s, s->start[p]);
    CoreOp op = count == 0 ? OP_LITERAL : OP_ARRAY;
    results[0] = core_emit(s->b, op, args, count, &type, 1)->outs[0];
}

// ---- iota, replicate, generate ------------------------------------------------------

CoreRef size_first_arg(FissionSplit *s) {
    return s->stm->args[0];
}

// start + i step for i from s->start[p] on. Floats round with every i: they are
// computed as in the whole, from i itself.
static CoreRef float_iota(FissionSplit *s, uint32_t p) {
    CoreType type = core_type(s->program, s->stm->outs[0]);
    CoreRef i = core_value(s->program, (CoreType){SCALAR_I64, 0}, 0);
    core_open(s->b, &i, 1);
    CoreRef at = core_conv(s->b, OP_CONV, core_op2(s->b, OP_ADD, i, s->start[p]),
                           (ScalarType)type.elem);
    at = core_op2(s->b, OP_MUL, at, s->stm->args[2]);
    at = core_op2(s->b, OP_ADD, s->stm->args[1], at);
    CoreBody *body = core_close(s->b, &at, 1);
    return fission_emit(s, OP_GENERATE, &s->length[p], 1, (int32_t[]){1}, 1, body,
                        &type, 1)
        ->outs[0];
}

void part_iota(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreRef *args = fission_args(s);
    ScalarType elem = (ScalarType)core_type(s->program, args[1]).elem;
    if (p > 0 && scalar_is_float(elem)) {
        results[0] = float_iota(s, p);
        return;
    }
    CoreRef before = fission_conv(s, s->start[p], elem);
    args[0] = s->length[p];
    if (p > 0)
        args[1] =
            fission_op2(s, OP_ADD, args[1], fission_op2(s, OP_MUL, before, args[2]));
    results[0] = fission_again(s, args)->outs[0];
}

// Dimension 0 is the new one; dimension d is dimension d - 1 of the row, so that
// newIndex of the paper is d - 1 to d.
CoreRef size_replicate(FissionSplit *s) {
    return s->dim == 0 ? s->stm->args[0] : fission_dim(s, s->stm->args[1], s->dim - 1);
}

void part_replicate(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreRef *args = fission_args(s);
    if (s->dim == 0) args[0] = s->length[p];
    else args[1] = fission_pieces(s, 1, s->dim - 1)[p];
    results[0] = fission_again(s, args)->outs[0];
}

// Along an inner dimension the elements come in another order, and so would errors.
bool guard_generate(const FissionSplit *s) {
    uint32_t rank = (uint32_t)s->stm->attrs[0];
    if (s->dim >= rank || !fission_rows_are_said(s, rank)) return false;
    return s->dim == 0 ||
           (s->stm->arg_count == rank && !fission_has_effect(s, s->stm->bodies[0]));
}

CoreRef size_generate(FissionSplit *s) {
    return s->stm->args[s->dim];
}

void fission_leave_checks_out(CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_INDEX) stm->flags |= STM_UNSAFE;
        for (uint32_t k = 0; k < stm->body_count; k++)
            fission_leave_checks_out(stm->bodies[k]);
    }
}

CoreStm *fission_generate(FissionSplit *s, uint32_t p) {
    CoreRef *args = fission_args(s);
    args[s->dim] = s->length[p];
    CoreStm *stm = fission_again(s, args);
    if (p > 0) fission_shift(s, stm->bodies[0], s->dim, s->start[p]);
    if (p == 0)
        s->is_safe = s->facts != NULL && fuse_is_safe(s->facts, s->states, s->stm);
    if (s->is_safe) fission_leave_checks_out(stm->bodies[0]);
    return stm;
}

void part_generate(FissionSplit *s, uint32_t p, CoreRef *results) {
    const CoreStm *stm = fission_generate(s, p);
    for (uint32_t k = 0; k < stm->out_count; k++) results[k] = stm->outs[k];
}

// ---- views: backpermutes whose index functions are known ----------------------------

static uint32_t source_dim(const FissionSplit *s) {
    return s->stm->op == OP_PERMUTE ? (uint32_t)s->stm->attrs[s->dim] : s->dim;
}

static bool is_mirrored(const FissionSplit *s) {
    return s->stm->op == OP_REVERSE && (uint32_t)s->stm->attrs[0] == s->dim;
}

// A slice that fails names the first index outside, which must be that of the whole.
bool guard_slice(const FissionSplit *s) {
    return s->dim < rank_of(s) && (uint32_t)s->stm->attrs[0] != s->dim;
}

CoreRef size_view(FissionSplit *s) {
    return fission_dim(s, s->stm->args[0], source_dim(s));
}

void part_view(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreRef *args = fission_args(s);
    if (is_mirrored(s)) { // the part that lies as far from the end
        CoreRef end = fission_op2(s, OP_ADD, s->start[p], s->length[p]);
        CoreRef from = fission_op2(s, OP_SUB, s->size, end);
        args[0] = fission_slice(s, args[0], s->dim, from, s->length[p]);
    } else {
        args[0] = fission_pieces(s, 0, source_dim(s))[p];
    }
    results[0] = fission_again(s, args)->outs[0];
}
