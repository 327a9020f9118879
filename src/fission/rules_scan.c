// SPDX-License-Identifier: Apache-2.0
//
// Rules of scans. Exact ones may be cut anywhere; of the others only what their shape
// (core.md) lets be done apart.
#include "fission/rules.h"

#include <string.h>

static const CoreType I64 = {SCALAR_I64, 0};

// ---- scans --------------------------------------------------------------------------

// Every element of the arrays with `carry` joined in front.
static CoreStm *emit_carried(FissionSplit *s, const CoreRef *arrays,
                             const CoreRef *carry) {
    uint32_t width = s->stm->out_count;
    Arena *arena = s->program->arena;
    CoreRef *both = arena_array(arena, CoreRef, 2 * width);
    CoreRef *joined = arena_array(arena, CoreRef, width);
    CoreType *types = arena_array(arena, CoreType, width);
    fission_types(s, arrays, width, types);
    for (uint32_t k = 0; k < width; k++) {
        both[k] = carry[k];
        both[width + k] = core_value(s->program, fission_row(types[k]), 0);
    }
    core_open(s->b, both + width, width);
    core_inline(s->b, s->stm->bodies[0], both, joined);
    CoreBody *body = core_close(s->b, joined, width);
    return fission_emit(s, OP_MAP, arrays, width, (int32_t[]){(int32_t)width}, 1, body,
                        types, width);
}

// The last elements of the arrays, which have that length; `otherwise` if it is 0. They
// are found where the arrays are, so that these need not travel.
static CoreStm *emit_last(FissionSplit *s, const CoreRef *arrays, CoreRef length,
                          const CoreRef *otherwise) {
    uint32_t width = s->stm->out_count;
    CoreProgram *p = s->program;
    CoreType *types = arena_array(p->arena, CoreType, width);
    CoreType *rows = arena_array(p->arena, CoreType, width);
    CoreRef *last = arena_array(p->arena, CoreRef, width);
    CoreRef zero = core_i64(p, 0), one = core_i64(p, 1), i = core_value(p, I64, 0);
    fission_types(s, otherwise, width, types);
    fission_types(s, arrays, width, rows);
    CoreRef is_empty = fission_op2(s, OP_EQ, length, zero);
    CoreBody *empty = fission_body(s, otherwise, width);
    core_open(s->b, NULL, 0);
    CoreRef at = fission_op2(s, OP_SUB, length, one);
    core_open(s->b, &i, 1);
    CoreRef there = core_op2(s->b, OP_ADD, at, i);
    for (uint32_t k = 0; k < width; k++) last[k] = fission_index(s, arrays[k], there);
    CoreBody *body = core_close(s->b, last, width);
    const CoreStm *found =
        fission_emit(s, OP_GENERATE, &one, 1, (int32_t[]){1}, 1, body, rows, width);
    for (uint32_t k = 0; k < width; k++)
        last[k] = fission_index(s, found->outs[k], zero);
    return fission_if(s, is_empty, empty, core_close(s->b, last, width), types, width);
}

// Each part is scanned by itself; what came before it joins in front of its elements.
void whole_scan(FissionSplit *s) {
    uint32_t width = s->stm->out_count;
    CoreProgram *program = s->program;
    CoreRef *results = arena_array(program->arena, CoreRef, s->parts * width);
    CoreType *types = arena_array(program->arena, CoreType, width);
    const CoreRef *carry = fission_neutral(s);
    fission_types(s, s->stm->outs, width, types);
    for (uint32_t p = 0; p < s->parts; p++) {
        fission_at(s, s->own, p);
        const CoreRef *outs = fission_again(s, fission_part_args(s, p))->outs;
        memcpy(results + p * width, outs, width * sizeof *outs);
    }
    for (uint32_t p = 0; p < s->parts; p++) {
        CoreRef *outs = results + p * width;
        fission_at(s, s->beside, p);
        if (p > 0) {
            CoreRef is_first = fission_op2(s, OP_EQ, s->start[p], core_i64(program, 0));
            CoreBody *alone = fission_body(s, outs, width);
            core_open(s->b, NULL, 0);
            CoreStm *carried = emit_carried(s, outs, carry);
            CoreBody *later = core_close(s->b, carried->outs, width);
            CoreStm *both = fission_if(s, is_first, alone, later, types, width);
            memcpy(outs, both->outs, width * sizeof *outs);
        }
        if (p + 1 < s->parts) carry = emit_last(s, outs, s->length[p], carry)->outs;
    }
    fission_at(s, NULL, 0);
    s->results = results;
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
    CoreStm *scan =
        fission_range(s, s->stm->args, core_op2(s->b, OP_MUL, i, u->size), u->size);
    CoreBody *body = core_close(s->b, scan->outs, u->width);
    CoreStm *whole = fission_emit(s, OP_GENERATE, args, 1 + u->width, (int32_t[]){1}, 1,
                                  body, rows, u->width);
    CoreRef start = fission_op2(s, OP_MUL, args[0], u->size);
    CoreStm *rest =
        fission_range(s, s->stm->args, start, fission_op2(s, OP_SUB, u->n, start));
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
    CoreBody *first = fission_body(s, x, u->width);
    core_open(s->b, NULL, 0);
    core_inline(s->b, s->stm->bodies[0], both, joined);
    CoreBody *later = core_close(s->b, joined, u->width);
    return fission_if(s, is_first, first, later, u->scalars, u->width);
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
    memcpy(args + 1, fission_neutral(s), u->width * sizeof *args);
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
    CoreStm *tree = fission_tree(s, before, u->width);
    CoreBody *yes = core_close(s->b, emit_elements(s, u, tree->outs, zero), u->width);
    CoreBody *no = fission_body(s, carry, u->width);
    return fission_if(s, starts, yes, no, u->scalars, u->width)->outs;
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
                      : fission_neutral(s)[k - width];
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
    fission_types(s, s->stm->outs, u->width, arrays);
    fission_types(s, fission_neutral(s), u->width, scalars);
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
