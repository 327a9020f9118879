// SPDX-License-Identifier: Apache-2.0
//
// Rules of nests whose rows are scans or histograms (rules_inner.c): the rows are cut,
// all at one point. What came before a part of a row joins in front of its elements, as
// in rules_scan.c, row by row; bins are joined one by one.
#include "fission/rules.h"

#include <string.h>

// The results of the nest that makes each part of the rows.
static CoreRef *emit_parts(FissionSplit *s) {
    uint32_t width = s->stm->out_count;
    CoreRef *parts = arena_array(s->program->arena, CoreRef, s->parts * width);
    for (uint32_t p = 0; p < s->parts; p++) part_inner(s, p, parts + p * width);
    return parts;
}

// ---- scans --------------------------------------------------------------------------

// In each row the last element of the part p that these arrays are; if it has none,
// what came before it, or in front of the first part, anything.
static const CoreRef *emit_last(FissionSplit *s, const CoreRef *rows, uint32_t p,
                                const CoreRef *before) {
    uint32_t width = s->stm->out_count, depth = s->dim;
    CoreProgram *program = s->program;
    CoreType *types = arena_array(program->arena, CoreType, width);
    CoreType *scalars = arena_array(program->arena, CoreType, width);
    CoreRef *last = arena_array(program->arena, CoreRef, width);
    CoreRef sizes[CORE_MAX_RANK], at[CORE_MAX_RANK];
    for (uint32_t d = 0; d < depth; d++) sizes[d] = fission_dim(s, rows[0], d);
    const CoreRef *i = fission_open_indices(s, depth);
    memcpy(at, i, depth * sizeof *at);
    for (uint32_t k = 0; k < width; k++) {
        types[k] = fission_row(core_type(program, rows[k]));
        scalars[k] = (CoreType){types[k].elem, 0};
    }
    CoreRef is_empty = fission_op2(s, OP_EQ, s->length[p], core_i64(program, 0));
    core_open(s->b, NULL, 0);
    for (uint32_t k = 0; k < width; k++)
        last[k] = before != NULL ? fission_cell(s, before[k], i)
                                 : fission_int(s, (ScalarType)types[k].elem, 0);
    CoreBody *empty = core_close(s->b, last, width);
    core_open(s->b, NULL, 0);
    at[depth] = fission_op2(s, OP_SUB, s->length[p], core_i64(program, 1));
    for (uint32_t k = 0; k < width; k++) last[k] = fission_cell(s, rows[k], at);
    CoreBody *full = core_close(s->b, last, width);
    const CoreStm *found = fission_if(s, is_empty, empty, full, scalars, width);
    return fission_close_indices(s, sizes, found->outs, types, width)->outs;
}

// The part p that these arrays are, with what came before it in its row joined in front
// of each element, if anything did.
static const CoreRef *emit_carried(FissionSplit *s, const CoreRef *rows, uint32_t p,
                                   const CoreRef *before) {
    uint32_t width = s->stm->out_count;
    CoreProgram *program = s->program;
    CoreType *types = arena_array(program->arena, CoreType, width);
    CoreType *scalars = arena_array(program->arena, CoreType, width);
    CoreRef *both = arena_array(program->arena, CoreRef, 2 * width);
    CoreRef *joined = arena_array(program->arena, CoreRef, width);
    CoreRef sizes[CORE_MAX_RANK];
    const CoreRef *i = fission_open_space(s, rows[0], sizes);
    for (uint32_t k = 0; k < width; k++) {
        types[k] = core_type(program, rows[k]);
        scalars[k] = (CoreType){types[k].elem, 0};
        both[width + k] = fission_cell(s, rows[k], i);
    }
    CoreRef is_first = fission_op2(s, OP_EQ, s->start[p], core_i64(program, 0));
    CoreBody *first = fission_body(s, both + width, width);
    core_open(s->b, NULL, 0);
    for (uint32_t k = 0; k < width; k++) both[k] = fission_cell(s, before[k], i);
    core_inline(s->b, fission_inner_op(s), both, joined);
    CoreBody *later = core_close(s->b, joined, width);
    const CoreStm *all = fission_if(s, is_first, first, later, scalars, width);
    return fission_close_indices(s, sizes, all->outs, types, width)->outs;
}

void whole_inner_scan(FissionSplit *s) {
    uint32_t width = s->stm->out_count;
    CoreRef *parts = emit_parts(s);
    const CoreRef *before = NULL;
    for (uint32_t p = 0; p < s->parts; p++) {
        CoreRef *rows = parts + p * width;
        if (p > 0) memcpy(rows, emit_carried(s, rows, p, before), width * sizeof *rows);
        if (p + 1 < s->parts) before = emit_last(s, rows, p, before);
    }
    fission_concat(s, s->dim, parts);
}

// ---- histograms ---------------------------------------------------------------------

void whole_inner_hist(FissionSplit *s) {
    uint32_t width = s->stm->out_count;
    const CoreRef *parts = emit_parts(s), *sum = parts;
    for (uint32_t p = 1; p < s->parts; p++) {
        CoreStm *stm =
            fission_join_bins(s, fission_inner_op(s), sum, parts + p * width);
        if (p + 1 == s->parts) fission_finish(s, stm);
        sum = stm->outs;
    }
}
