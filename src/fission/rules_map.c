// SPDX-License-Identifier: Apache-2.0
//
// Rules of map: along its own dimension, along the dimensions of what its body maps or
// folds, and over neighbouring slices of one array.
#include "fission/rules.h"

// ---- map and zipWith ----------------------------------------------------------------

// Rows whose size is not said take it from the rows there are, which a part may not
// have.
bool guard_map(const FissionSplit *s) {
    return s->dim == 0 && s->stm->attrs[0] == 1 && fission_rows_are_said(s, 1);
}

bool guard_zip(const FissionSplit *s) {
    return s->dim == 0 && s->stm->attrs[0] > 1 &&
           fission_rows_are_said(s, (uint32_t)s->stm->attrs[0]);
}

void part_map(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreStm *stm = fission_again(s, fission_part_args(s, p));
    for (uint32_t k = 0; k < stm->out_count; k++) results[k] = stm->outs[k];
}

// ---- neighbouring slices: a stencil -------------------------------------------------

// The slice of stride 1 along dimension 0 that arg i is; guards may lie in between.
static const CoreStm *find_slice(const FissionSplit *s, uint32_t i) {
    const CoreStm *def = fission_find_def(s, s->stm->args[i]);
    while (def != NULL && def->op == OP_GUARD) def = fission_find_def(s, def->args[0]);
    if (def == NULL || def->op != OP_SLICE || def->attrs[0] != 0) return NULL;
    return def->args[3] == core_i64(s->program, 1) ? def : NULL;
}

// The array of which at least two args are slices; 0: there is none.
static CoreRef find_base(const FissionSplit *s) {
    uint32_t count = (uint32_t)s->stm->attrs[0];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const CoreStm *a = find_slice(s, i), *b = find_slice(s, k);
            if (a != NULL && b != NULL && a->args[0] == b->args[0]) return a->args[0];
        }
    return 0;
}

bool guard_stencil(const FissionSplit *s) {
    return guard_zip(s) && find_base(s) != 0;
}

// What part p sees of the array: its own elements and the halo, from the first start of
// a slice to the last. An empty part sees nothing, for its window might lie outside.
static CoreRef emit_window(FissionSplit *s, CoreRef base, uint32_t p,
                           CoreRef *low_out) {
    CoreRef low = 0, high = 0, zero = core_i64(s->program, 0);
    for (uint32_t i = 0; i < (uint32_t)s->stm->attrs[0]; i++) {
        const CoreStm *slice = find_slice(s, i);
        if (slice == NULL || slice->args[0] != base) continue;
        CoreRef start = slice->args[1];
        low = low == 0 ? start : fission_op2(s, OP_MIN, low, start);
        high = high == 0 ? start : fission_op2(s, OP_MAX, high, start);
    }
    CoreRef halo = fission_op2(s, OP_SUB, high, low);
    CoreRef is_empty = fission_op2(s, OP_EQ, s->length[p], zero);
    CoreRef start = fission_op2(s, OP_ADD, low, s->start[p]);
    CoreRef all = fission_op2(s, OP_ADD, s->length[p], halo);
    start = fission_select(s, is_empty, zero, start);
    all = fission_select(s, is_empty, zero, all);
    *low_out = low;
    return fission_window(s, base, start, all);
}

void part_stencil(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreRef *args = fission_args(s), base = find_base(s), low;
    CoreRef window = emit_window(s, base, p, &low);
    for (uint32_t i = 0; i < (uint32_t)s->stm->attrs[0]; i++) {
        const CoreStm *slice = find_slice(s, i);
        if (slice == NULL || slice->args[0] != base) {
            args[i] = fission_pieces(s, i, 0)[p];
            continue;
        }
        CoreRef start = fission_op2(s, OP_SUB, slice->args[1], low);
        args[i] = fission_slice(s, window, 0, start, s->length[p]);
    }
    CoreStm *stm = fission_again(s, args);
    for (uint32_t k = 0; k < stm->out_count; k++) results[k] = stm->outs[k];
}
