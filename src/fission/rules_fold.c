// SPDX-License-Identifier: Apache-2.0
//
// Rules of reductions and scans. Exact operators may be cut anywhere; the others only
// where their stamp has a bound (core.md, "Stage 0"), so that the bits stay.
//
// A neutral element that a program gives need not be one: it is what comes of no
// elements and occurs nowhere else. So a part without elements does not count.
#include "fission/rules.h"

#include <string.h>

static const CoreType I64 = {SCALAR_I64, 0};

static const CoreRef *neutral(const FissionSplit *s) {
    return s->stm->args + s->stm->attrs[0];
}

static CoreStm *emit_if(FissionSplit *s, CoreRef c, CoreBody *yes, CoreBody *no,
                        const CoreType *types, uint32_t count) {
    CoreStm *stm = core_emit(s->b, OP_IF, &c, 1, types, count);
    core_set_bodies(s->b, stm, (CoreBody *[]){yes, no}, 2);
    return stm;
}

static CoreBody *body_of(FissionSplit *s, const CoreRef *results, uint32_t count) {
    core_open(s->b, NULL, 0);
    return core_close(s->b, results, count);
}

static void types_of(const FissionSplit *s, const CoreRef *refs, uint32_t count,
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
    types_of(s, both, width, types);
    CoreRef is_first = fission_op2(s, OP_EQ, s->start[p], zero);
    CoreBody *first = body_of(s, both + width, width);
    core_open(s->b, NULL, 0);
    CoreRef is_empty = fission_op2(s, OP_EQ, s->length[p], zero);
    CoreBody *empty = body_of(s, both, width);
    core_open(s->b, NULL, 0);
    fission_inline(s, op, both, joined);
    CoreBody *full = core_close(s->b, joined, width);
    CoreStm *inner = emit_if(s, is_empty, empty, full, types, width);
    CoreBody *later = core_close(s->b, inner->outs, width);
    return emit_if(s, is_first, first, later, types, width);
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
    types_of(s, both, width, types);
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

// What the arrays' elements from `start` on come to, by the statement itself.
static CoreStm *fold_range(FissionSplit *s, CoreRef start, CoreRef length) {
    CoreRef *args = fission_args(s);
    for (int32_t i = 0; i < s->stm->attrs[0]; i++)
        args[i] = fission_slice(s, args[i], 0, start, length);
    return fission_again(s, args);
}

// One fold for each block of n elements: an array per result.
static CoreStm *emit_blocks(FissionSplit *s, CoreRef n) {
    uint32_t width = s->stm->out_count;
    CoreRef block = core_i64(s->program, CORE_BLOCK);
    CoreRef most = fission_op2(s, OP_ADD, n, core_i64(s->program, CORE_BLOCK - 1));
    CoreRef count = fission_op2(s, OP_QUOT, most, block);
    CoreType *types = arena_array(s->program->arena, CoreType, width);
    types_of(s, s->stm->outs, width, types);
    for (uint32_t k = 0; k < width; k++) types[k].rank = 1;
    CoreRef i = core_value(s->program, I64, 0);
    core_open(s->b, &i, 1);
    CoreRef start = core_op2(s->b, OP_MUL, i, block);
    CoreRef left = core_op2(s->b, OP_SUB, n, start);
    CoreStm *fold = fold_range(s, start, core_op2(s->b, OP_MIN, left, block));
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
    types_of(s, both, width, scalars);
    CoreRef is_pair = core_op2(s->b, OP_LT, right, m);
    core_open(s->b, NULL, 0);
    for (uint32_t k = 0; k < width; k++)
        both[width + k] = fission_index(s, totals[k], right);
    fission_inline(s, op, both, joined);
    CoreBody *pair = core_close(s->b, joined, width);
    CoreStm *stm = emit_if(s, is_pair, pair, body_of(s, both, width), scalars, width);
    CoreBody *body = core_close(s->b, stm->outs, width);
    return fission_emit(s, OP_GENERATE, &half, 1, (int32_t[]){1}, 1, body, types,
                        width);
}

// Levels until at most one total is left.
static CoreStm *emit_tree(FissionSplit *s, const CoreRef *totals, uint32_t width) {
    CoreProgram *p = s->program;
    CoreType *types = arena_array(p->arena, CoreType, width);
    CoreRef *params = arena_array(p->arena, CoreRef, width);
    types_of(s, totals, width, types);
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

// The reduction as what can be cut, a generate of blocks, and what cannot, a tree.
void whole_blocks(FissionSplit *s) {
    uint32_t width = s->stm->out_count;
    CoreProgram *p = s->program;
    CoreRef n = fission_feed_length(s);
    CoreStm *tree = emit_tree(s, emit_blocks(s, n)->outs, width);
    CoreRef *totals = arena_array(p->arena, CoreRef, width);
    CoreType *types = arena_array(p->arena, CoreType, width);
    types_of(s, s->stm->outs, width, types);
    CoreRef is_empty = fission_op2(s, OP_EQ, n, core_i64(p, 0));
    CoreBody *nothing = body_of(s, neutral(s), width);
    core_open(s->b, NULL, 0);
    for (uint32_t k = 0; k < width; k++)
        totals[k] = fission_index(s, tree->outs[k], core_i64(p, 0));
    CoreBody *something = core_close(s->b, totals, width);
    fission_finish(s, emit_if(s, is_empty, nothing, something, types, width));
}

// ---- scans --------------------------------------------------------------------------

// Every element of the arrays with `carry` joined in front.
static CoreStm *emit_carried(FissionSplit *s, const CoreRef *arrays,
                             const CoreRef *carry) {
    uint32_t width = s->stm->out_count;
    Arena *arena = s->program->arena;
    CoreRef *both = arena_array(arena, CoreRef, 2 * width);
    CoreRef *joined = arena_array(arena, CoreRef, width);
    CoreType *types = arena_array(arena, CoreType, width);
    types_of(s, arrays, width, types);
    for (uint32_t k = 0; k < width; k++) {
        both[k] = carry[k];
        both[width + k] = core_value(s->program, fission_row(types[k]), 0);
    }
    core_open(s->b, both + width, width);
    fission_inline(s, s->stm->bodies[0], both, joined);
    CoreBody *body = core_close(s->b, joined, width);
    return fission_emit(s, OP_MAP, arrays, width, (int32_t[]){(int32_t)width}, 1, body,
                        types, width);
}

// The last elements of the arrays, which have that length; `otherwise` if it is 0.
static CoreStm *emit_last(FissionSplit *s, const CoreRef *arrays, CoreRef length,
                          const CoreRef *otherwise) {
    uint32_t width = s->stm->out_count;
    CoreProgram *p = s->program;
    CoreType *types = arena_array(p->arena, CoreType, width);
    CoreRef *last = arena_array(p->arena, CoreRef, width);
    types_of(s, otherwise, width, types);
    CoreRef is_empty = fission_op2(s, OP_EQ, length, core_i64(p, 0));
    CoreBody *empty = body_of(s, otherwise, width);
    core_open(s->b, NULL, 0);
    CoreRef at = fission_op2(s, OP_SUB, length, core_i64(p, 1));
    for (uint32_t k = 0; k < width; k++) last[k] = fission_index(s, arrays[k], at);
    return emit_if(s, is_empty, empty, core_close(s->b, last, width), types, width);
}

// Each part is scanned by itself; what came before it joins in front of its elements.
void whole_scan(FissionSplit *s) {
    uint32_t width = s->stm->out_count;
    CoreProgram *program = s->program;
    CoreRef *results = arena_array(program->arena, CoreRef, s->parts * width);
    CoreType *types = arena_array(program->arena, CoreType, width);
    const CoreRef *carry = neutral(s);
    types_of(s, s->stm->outs, width, types);
    for (uint32_t p = 0; p < s->parts; p++) {
        CoreRef *args = fission_args(s);
        for (int32_t i = 0; i < s->stm->attrs[0]; i++)
            args[i] = fission_pieces(s, (uint32_t)i, 0)[p];
        const CoreRef *outs = fission_again(s, args)->outs;
        if (p > 0) {
            CoreRef is_first = fission_op2(s, OP_EQ, s->start[p], core_i64(program, 0));
            CoreBody *alone = body_of(s, outs, width);
            core_open(s->b, NULL, 0);
            CoreStm *carried = emit_carried(s, outs, carry);
            CoreBody *later = core_close(s->b, carried->outs, width);
            outs = emit_if(s, is_first, alone, later, types, width)->outs;
        }
        for (uint32_t k = 0; k < width; k++) results[p * width + k] = outs[k];
        if (p + 1 < s->parts) carry = emit_last(s, outs, s->length[p], carry)->outs;
    }
    fission_concat(s, 0, results);
}

// ---- inexact scans ------------------------------------------------------------------

// The shape of such a scan (core.md): units are scanned by themselves, and a carry
// joins in front of each but the first. A unit is a block whose carries go from left to
// right; or, for float sums, a row of 16 in a block that begins with the tree over the
// blocks before.
enum { SCAN_ROW = 16 };

typedef struct Units {
    CoreRef n, size, count;
    const CoreRef *local; // per result: all units' own scans, one after the other
    const CoreRef *last;  // per result: the last element of each unit
    uint32_t width;
    const CoreType *arrays, *scalars; // types of these, and of their elements
} Units;

static bool has_rows(const FissionSplit *s) {
    return s->stm->stamp == STAMP_OUTER_LANES;
}

// Scans of whole units, as rows, and of what is left, put together.
static const CoreRef *emit_local(FissionSplit *s, const Units *u) {
    CoreProgram *p = s->program;
    CoreRef *args = arena_array(p->arena, CoreRef, 1 + u->width);
    CoreType *rows = arena_array(p->arena, CoreType, u->width);
    CoreRef *local = arena_array(p->arena, CoreRef, u->width);
    args[0] = fission_op2(s, OP_QUOT, u->n, u->size);
    for (uint32_t k = 0; k < u->width; k++) {
        args[1 + k] = u->size;
        rows[k] = (CoreType){u->arrays[k].elem, 2};
    }
    CoreRef i = core_value(p, I64, 0);
    core_open(s->b, &i, 1);
    CoreStm *scan = fold_range(s, core_op2(s->b, OP_MUL, i, u->size), u->size);
    CoreBody *body = core_close(s->b, scan->outs, u->width);
    CoreStm *whole = fission_emit(s, OP_GENERATE, args, 1 + u->width, (int32_t[]){1}, 1,
                                  body, rows, u->width);
    CoreRef start = fission_op2(s, OP_MUL, args[0], u->size);
    CoreStm *rest = fold_range(s, start, fission_op2(s, OP_SUB, u->n, start));
    for (uint32_t k = 0; k < u->width; k++) {
        CoreRef flat = core_emit(s->b, OP_RESHAPE, (CoreRef[]){whole->outs[k], start},
                                 2, &u->arrays[k], 1)
                           ->outs[0];
        CoreStm *all = core_emit(s->b, OP_CONCAT, (CoreRef[]){flat, rest->outs[k]}, 2,
                                 &u->arrays[k], 1);
        core_set_attrs(s->b, all, (int32_t[]){0}, 1);
        local[k] = all->outs[0];
    }
    return local;
}

// The last element of each unit, of which the last may be shorter.
static const CoreRef *emit_lasts(FissionSplit *s, const Units *u) {
    CoreProgram *p = s->program;
    CoreRef *last = arena_array(p->arena, CoreRef, u->width);
    CoreRef i = core_value(p, I64, 0), one = core_i64(p, 1);
    core_open(s->b, &i, 1);
    CoreRef end = core_op2(s->b, OP_MUL, core_op2(s->b, OP_ADD, i, one), u->size);
    CoreRef at = core_op2(s->b, OP_SUB, core_op2(s->b, OP_MIN, end, u->n), one);
    for (uint32_t k = 0; k < u->width; k++) last[k] = fission_index(s, u->local[k], at);
    CoreBody *body = core_close(s->b, last, u->width);
    return fission_emit(s, OP_GENERATE, &u->count, 1, (int32_t[]){1}, 1, body,
                        u->arrays, u->width)
        ->outs;
}

// before op x, or where there is nothing before, x.
static CoreStm *emit_after(FissionSplit *s, const Units *u, CoreRef is_first,
                           const CoreRef *before, const CoreRef *x) {
    CoreRef *both = arena_array(s->program->arena, CoreRef, 2 * u->width);
    CoreRef *joined = arena_array(s->program->arena, CoreRef, u->width);
    memcpy(both, before, u->width * sizeof *both);
    memcpy(both + u->width, x, u->width * sizeof *both);
    CoreBody *first = body_of(s, x, u->width);
    core_open(s->b, NULL, 0);
    fission_inline(s, s->stm->bodies[0], both, joined);
    CoreBody *later = core_close(s->b, joined, u->width);
    return emit_if(s, is_first, first, later, u->scalars, u->width);
}

// Elements i of the arrays.
static const CoreRef *emit_elements(FissionSplit *s, const Units *u,
                                    const CoreRef *arrays, CoreRef i) {
    CoreRef *elements = arena_array(s->program->arena, CoreRef, u->width);
    for (uint32_t k = 0; k < u->width; k++)
        elements[k] = fission_index(s, arrays[k], i);
    return elements;
}

static CoreRef *new_values(FissionSplit *s, const CoreType *types, uint32_t count) {
    CoreRef *values = arena_array(s->program->arena, CoreRef, count);
    for (uint32_t k = 0; k < count; k++)
        values[k] = core_value(s->program, types[k], 0);
    return values;
}

// The total of each block: its rows' from left to right.
static const CoreRef *emit_block_totals(FissionSplit *s, const Units *u) {
    CoreProgram *p = s->program;
    CoreRef rows = core_i64(p, CORE_BLOCK / SCAN_ROW), zero = core_i64(p, 0);
    CoreRef most =
        fission_op2(s, OP_ADD, u->count, core_i64(p, CORE_BLOCK / SCAN_ROW - 1));
    CoreRef blocks = fission_op2(s, OP_QUOT, most, rows), b = core_value(p, I64, 0);
    core_open(s->b, &b, 1);
    CoreRef start = core_op2(s->b, OP_MUL, b, rows);
    CoreRef *args = arena_array(p->arena, CoreRef, 1 + u->width);
    args[0] = core_op2(s->b, OP_MIN, rows, core_op2(s->b, OP_SUB, u->count, start));
    memcpy(args + 1, neutral(s), u->width * sizeof *args);
    CoreRef *params = arena_array(p->arena, CoreRef, 1 + u->width);
    params[0] = core_value(p, I64, 0);
    memcpy(params + 1, new_values(s, u->scalars, u->width), u->width * sizeof *params);
    CoreStm *loop = core_emit(s->b, OP_FOR, args, 1 + u->width, u->scalars, u->width);
    core_open(s->b, params, 1 + u->width);
    CoreRef at = core_op2(s->b, OP_ADD, start, params[0]);
    CoreRef is_first = core_op2(s->b, OP_EQ, params[0], zero);
    CoreStm *sum =
        emit_after(s, u, is_first, params + 1, emit_elements(s, u, u->last, at));
    core_set_bodies(s->b, loop, (CoreBody *[]){core_close(s->b, sum->outs, u->width)},
                    1);
    CoreBody *body = core_close(s->b, loop->outs, u->width);
    return fission_emit(s, OP_GENERATE, &blocks, 1, (int32_t[]){1}, 1, body, u->arrays,
                        u->width)
        ->outs;
}

// At the first row of a block the tree over the blocks before; else the carry so far.
static const CoreRef *emit_block_carry(FissionSplit *s, const Units *u, CoreRef i,
                                       const CoreRef *totals, const CoreRef *carry) {
    CoreProgram *p = s->program;
    CoreRef rows = core_i64(p, CORE_BLOCK / SCAN_ROW), zero = core_i64(p, 0);
    CoreRef *before = arena_array(p->arena, CoreRef, u->width);
    CoreRef at_start = core_op2(s->b, OP_EQ, core_op2(s->b, OP_REM, i, rows), zero);
    CoreRef starts = core_op2(s->b, OP_AND, at_start, core_op2(s->b, OP_LT, zero, i));
    core_open(s->b, NULL, 0);
    CoreRef blocks = core_op2(s->b, OP_QUOT, i, rows);
    for (uint32_t k = 0; k < u->width; k++)
        before[k] = fission_slice(s, totals[k], 0, zero, blocks);
    CoreStm *tree = emit_tree(s, before, u->width);
    CoreBody *yes = core_close(s->b, emit_elements(s, u, tree->outs, zero), u->width);
    CoreBody *no = body_of(s, carry, u->width);
    return emit_if(s, starts, yes, no, u->scalars, u->width)->outs;
}

// What joins in front of each unit; of the first, anything.
static const CoreRef *emit_carries(FissionSplit *s, const Units *u) {
    CoreProgram *p = s->program;
    uint32_t width = u->width;
    const CoreRef *totals = has_rows(s) ? emit_block_totals(s, u) : NULL;
    CoreRef *args = arena_array(p->arena, CoreRef, 1 + 2 * width);
    CoreType *types = arena_array(p->arena, CoreType, 2 * width);
    CoreRef *params = arena_array(p->arena, CoreRef, 1 + 2 * width);
    CoreRef *results = arena_array(p->arena, CoreRef, 2 * width);
    CoreRef one = core_i64(p, 1), zero = core_i64(p, 0);
    args[0] = u->count;
    params[0] = core_value(p, I64, 0);
    for (uint32_t k = 0; k < 2 * width; k++) {
        types[k] = k < width ? u->arrays[k] : u->scalars[k - width];
        params[1 + k] = core_value(p, types[k], 0);
        args[1 + k] =
            k < width ? core_emit(s->b, OP_SCRATCH, &u->count, 1, &types[k], 1)->outs[0]
                      : neutral(s)[k - width];
    }
    CoreStm *loop = core_emit(s->b, OP_FOR, args, 1 + 2 * width, types, 2 * width);
    core_open(s->b, params, 1 + 2 * width);
    const CoreRef *carry = params + 1 + width;
    if (has_rows(s)) carry = emit_block_carry(s, u, params[0], totals, carry);
    for (uint32_t k = 0; k < width; k++) {
        CoreRef put[] = {params[1 + k], carry[k], params[0], one, one};
        CoreStm *update = core_emit(s->b, OP_UPDATE, put, 5, &types[k], 1);
        core_set_attrs(s->b, update, (int32_t[]){0}, 1);
        results[k] = update->outs[0];
    }
    CoreRef is_first = core_op2(s->b, OP_EQ, params[0], zero);
    const CoreRef *x = emit_elements(s, u, u->last, params[0]);
    memcpy(results + width, emit_after(s, u, is_first, carry, x)->outs,
           width * sizeof *results);
    core_set_bodies(s->b, loop, (CoreBody *[]){core_close(s->b, results, 2 * width)},
                    1);
    return loop->outs;
}

// The scan as what can be cut, scans of units and a generate that joins in the carries,
// and a loop over the units between them.
void whole_scan_blocks(FissionSplit *s) {
    CoreProgram *p = s->program;
    Units units = {.n = fission_feed_length(s), .width = s->stm->out_count},
          *u = &units;
    CoreType *arrays = arena_array(p->arena, CoreType, u->width);
    CoreType *scalars = arena_array(p->arena, CoreType, u->width);
    types_of(s, s->stm->outs, u->width, arrays);
    types_of(s, neutral(s), u->width, scalars);
    u->arrays = arrays;
    u->scalars = scalars;
    int64_t size = has_rows(s) ? SCAN_ROW : CORE_BLOCK;
    u->size = core_i64(p, size);
    u->count = fission_op2(s, OP_ADD, u->n, core_i64(p, size - 1));
    u->count = fission_op2(s, OP_QUOT, u->count, u->size);
    u->local = emit_local(s, u);
    u->last = emit_lasts(s, u);
    const CoreRef *carries = emit_carries(s, u);
    CoreRef i = core_value(p, I64, 0);
    core_open(s->b, &i, 1);
    CoreRef unit = core_op2(s->b, OP_QUOT, i, u->size);
    CoreRef is_first = core_op2(s->b, OP_EQ, unit, core_i64(p, 0));
    const CoreRef *carry = emit_elements(s, u, carries, unit);
    CoreStm *all = emit_after(s, u, is_first, carry, emit_elements(s, u, u->local, i));
    CoreBody *body = core_close(s->b, all->outs, u->width);
    fission_finish(s, fission_emit(s, OP_GENERATE, &u->n, 1, (int32_t[]){1}, 1, body,
                                   arrays, u->width));
}
