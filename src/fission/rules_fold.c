// SPDX-License-Identifier: Apache-2.0
//
// Rules of reductions. Exact operators may be cut anywhere; the others only where their
// stamp has a bound (core.md, "Stage 0"), so that the bits stay.
//
// A neutral element that a program gives need not be one: it is what comes of no
// elements and occurs nowhere else. So a part without elements does not count.
#include "fission/rules.h"

#include <string.h>

static const CoreType I64 = {SCALAR_I64, 0};

const CoreRef *fission_neutral(const FissionSplit *s) {
    return s->stm->args + s->stm->attrs[0];
}

CoreStm *fission_if(FissionSplit *s, CoreRef c, CoreBody *yes, CoreBody *no,
                    const CoreType *types, uint32_t count) {
    CoreStm *stm = core_emit(s->b, OP_IF, &c, 1, types, count);
    core_set_bodies(s->b, stm, (CoreBody *[]){yes, no}, 2);
    return stm;
}

CoreBody *fission_body(FissionSplit *s, const CoreRef *results, uint32_t count) {
    core_open(s->b, NULL, 0);
    return core_close(s->b, results, count);
}

void fission_types(const FissionSplit *s, const CoreRef *refs, uint32_t count,
                   CoreType *types) {
    for (uint32_t i = 0; i < count; i++) types[i] = core_type(s->program, refs[i]);
}

// left op right; right where there is nothing before, left where the part is empty.
static CoreStm *emit_join(FissionSplit *s, const CoreBody *op, uint32_t p,
                          const CoreRef *both) {
    uint32_t width = op->result_count;
    CoreProgram *program = s->program;
    CoreType *types = arena_array(program->arena, CoreType, width);
    CoreRef *joined = arena_array(program->arena, CoreRef, width);
    CoreRef zero = core_i64(program, 0);
    fission_types(s, both, width, types);
    CoreRef is_first = fission_op2(s, OP_EQ, s->start[p], zero);
    CoreBody *first = fission_body(s, both + width, width);
    core_open(s->b, NULL, 0);
    CoreRef is_empty = fission_op2(s, OP_EQ, s->length[p], zero);
    CoreBody *empty = fission_body(s, both, width);
    core_open(s->b, NULL, 0);
    core_inline(s->b, op, both, joined);
    CoreBody *full = core_close(s->b, joined, width);
    CoreStm *inner = fission_if(s, is_empty, empty, full, types, width);
    CoreBody *later = core_close(s->b, inner->outs, width);
    return fission_if(s, is_first, first, later, types, width);
}

// The same on arrays of that rank, element by element: zipWith.
static CoreStm *emit_zip(FissionSplit *s, const CoreBody *op, uint32_t p,
                         const CoreRef *both, uint32_t rank) {
    if (rank == 0) return emit_join(s, op, p, both);
    uint32_t width = op->result_count, count = 2 * width;
    Arena *arena = s->program->arena;
    CoreRef *rows = arena_array(arena, CoreRef, count);
    CoreRef *args = arena_array(arena, CoreRef, count + width * (rank - 1));
    CoreType *types = arena_array(arena, CoreType, width);
    fission_types(s, both, width, types);
    for (uint32_t i = 0; i < count; i++) {
        CoreType type = core_type(s->program, both[i]);
        rows[i] = core_value(s->program, fission_row(type), 0);
        args[i] = both[i];
    }
    for (uint32_t k = 0; k < width; k++)
        for (uint32_t d = 1; d < rank; d++) args[count++] = fission_dim(s, both[k], d);
    core_open(s->b, rows, 2 * width);
    CoreStm *row = emit_zip(s, op, p, rows, rank - 1);
    CoreBody *body = core_close(s->b, row->outs, width);
    return fission_emit(s, OP_MAP, args, count, (int32_t[]){(int32_t)(2 * width)}, 1,
                        body, types, width);
}

void fission_fold(FissionSplit *s, const CoreBody *op, const CoreRef *results) {
    uint32_t width = op->result_count;
    CoreRef *both = arena_array(s->program->arena, CoreRef, 2 * width);
    uint32_t rank = core_type(s->program, results[0]).rank;
    for (uint32_t k = 0; k < width; k++) both[k] = results[k];
    for (uint32_t p = 1; p < s->parts; p++) {
        for (uint32_t k = 0; k < width; k++) both[width + k] = results[p * width + k];
        CoreStm *stm = emit_zip(s, op, p, both, rank);
        if (p + 1 == s->parts) fission_finish(s, stm);
        for (uint32_t k = 0; k < width; k++) both[k] = stm->outs[k];
    }
}

// ---- reductions ---------------------------------------------------------------------

bool guard_fold(const FissionSplit *s) {
    return s->dim == 0 && s->stm->stamp == STAMP_FREE &&
           !fission_has_effect(s, s->stm->bodies[0]);
}

bool guard_blocks(const FissionSplit *s) {
    return s->dim == 0 && !fission_has_effect(s, s->stm->bodies[0]) &&
           (s->stm->stamp == STAMP_OUTER_LANES || s->stm->stamp == STAMP_OUTER_RUNS);
}

CoreStm *fission_range(FissionSplit *s, const CoreRef *args, CoreRef start,
                       CoreRef length) {
    CoreRef *ranges = fission_args(s);
    for (int32_t i = 0; i < s->stm->attrs[0]; i++)
        ranges[i] = fission_slice(s, args[i], 0, start, length);
    return fission_again(s, ranges);
}

// One fold for each block of the n elements of these args: an array per result.
static CoreStm *emit_blocks(FissionSplit *s, const CoreRef *args, CoreRef n) {
    uint32_t width = s->stm->out_count;
    CoreRef block = core_i64(s->program, CORE_BLOCK);
    CoreRef most = fission_op2(s, OP_ADD, n, core_i64(s->program, CORE_BLOCK - 1));
    CoreRef count = fission_op2(s, OP_QUOT, most, block);
    CoreType *types = arena_array(s->program->arena, CoreType, width);
    fission_types(s, s->stm->outs, width, types);
    for (uint32_t k = 0; k < width; k++) types[k].rank = 1;
    CoreRef i = core_value(s->program, I64, 0);
    core_open(s->b, &i, 1);
    CoreRef start = core_op2(s->b, OP_MUL, i, block);
    CoreRef left = core_op2(s->b, OP_SUB, n, start);
    CoreStm *fold = fission_range(s, args, start, core_op2(s->b, OP_MIN, left, block));
    CoreBody *body = core_close(s->b, fold->outs, width);
    return fission_emit(s, OP_GENERATE, &count, 1, (int32_t[]){1}, 1, body, types,
                        width);
}

// Neighbours joined, an odd last one as it is: one level of the tree over `totals`.
static CoreStm *emit_level(FissionSplit *s, const CoreRef *totals, uint32_t width,
                           const CoreType *types) {
    const CoreBody *op = s->stm->bodies[0];
    CoreProgram *p = s->program;
    CoreRef *both = arena_array(p->arena, CoreRef, 2 * width);
    CoreRef *joined = arena_array(p->arena, CoreRef, width);
    CoreType *scalars = arena_array(p->arena, CoreType, width);
    CoreRef one = core_i64(p, 1), two = core_i64(p, 2),
            m = fission_dim(s, totals[0], 0);
    CoreRef half = core_op2(s->b, OP_QUOT, core_op2(s->b, OP_ADD, m, one), two);
    CoreRef i = core_value(p, I64, 0);
    core_open(s->b, &i, 1);
    CoreRef left = core_op2(s->b, OP_MUL, i, two);
    CoreRef right = core_op2(s->b, OP_ADD, left, one);
    for (uint32_t k = 0; k < width; k++) both[k] = fission_index(s, totals[k], left);
    fission_types(s, both, width, scalars);
    CoreRef is_pair = core_op2(s->b, OP_LT, right, m);
    core_open(s->b, NULL, 0);
    for (uint32_t k = 0; k < width; k++)
        both[width + k] = fission_index(s, totals[k], right);
    core_inline(s->b, op, both, joined);
    CoreBody *pair = core_close(s->b, joined, width);
    CoreStm *stm =
        fission_if(s, is_pair, pair, fission_body(s, both, width), scalars, width);
    CoreBody *body = core_close(s->b, stm->outs, width);
    return fission_emit(s, OP_GENERATE, &half, 1, (int32_t[]){1}, 1, body, types,
                        width);
}

CoreStm *fission_tree(FissionSplit *s, const CoreRef *totals, uint32_t width) {
    CoreProgram *p = s->program;
    CoreType *types = arena_array(p->arena, CoreType, width);
    CoreRef *params = arena_array(p->arena, CoreRef, width);
    fission_types(s, totals, width, types);
    for (uint32_t k = 0; k < width; k++) params[k] = core_value(p, types[k], 0);
    core_open(s->b, params, width);
    CoreRef goes_on =
        core_op2(s->b, OP_LT, core_i64(p, 1), fission_dim(s, params[0], 0));
    CoreBody *guard = core_close(s->b, &goes_on, 1);
    for (uint32_t k = 0; k < width; k++) params[k] = core_value(p, types[k], 0);
    core_open(s->b, params, width);
    CoreStm *level = emit_level(s, params, width, types);
    CoreBody *body = core_close(s->b, level->outs, width);
    CoreStm *stm = core_emit(s->b, OP_WHILE, totals, width, types, width);
    core_set_bodies(s->b, stm, (CoreBody *[]){guard, body}, 2);
    return stm;
}

// The totals of all blocks as the results of the whole, which has n elements.
static void finish_blocks(FissionSplit *s, CoreRef n, const CoreRef *blocks) {
    uint32_t width = s->stm->out_count;
    CoreProgram *p = s->program;
    CoreStm *tree = fission_tree(s, blocks, width);
    CoreRef *totals = arena_array(p->arena, CoreRef, width);
    CoreType *types = arena_array(p->arena, CoreType, width);
    fission_types(s, s->stm->outs, width, types);
    CoreRef is_empty = fission_op2(s, OP_EQ, n, core_i64(p, 0));
    CoreBody *nothing = fission_body(s, fission_neutral(s), width);
    core_open(s->b, NULL, 0);
    for (uint32_t k = 0; k < width; k++)
        totals[k] = fission_index(s, tree->outs[k], core_i64(p, 0));
    CoreBody *something = core_close(s->b, totals, width);
    fission_finish(s, fission_if(s, is_empty, nothing, something, types, width));
}

// The reduction as what can be cut, a generate of blocks, and what cannot, a tree.
void whole_blocks(FissionSplit *s) {
    CoreRef n = fission_feed_length(s);
    finish_blocks(s, n, emit_blocks(s, s->stm->args, n)->outs);
}

// Each part begins at a block and makes the totals of its own.
void whole_fold_blocks(FissionSplit *s) {
    uint32_t width = s->stm->out_count;
    CoreProgram *program = s->program;
    CoreRef *blocks = arena_array(program->arena, CoreRef, width);
    CoreRef *parts = arena_array(program->arena, CoreRef, s->parts * width);
    for (uint32_t p = 0; p < s->parts; p++) {
        fission_at(s, s->own, p);
        const CoreRef *args = fission_part_args(s, p);
        const CoreStm *totals = emit_blocks(s, args, s->length[p]);
        for (uint32_t k = 0; k < width; k++) parts[k * s->parts + p] = totals->outs[k];
    }
    fission_at(s, NULL, 0);
    for (uint32_t k = 0; k < width; k++)
        blocks[k] = fission_join(s, 0, parts + k * s->parts);
    finish_blocks(s, s->size, blocks);
}
