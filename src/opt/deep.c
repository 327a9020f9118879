// SPDX-License-Identifier: Apache-2.0
//
// Products over long dimensions. Each element of a nest
//
//   map(rows) {a -> map(columns) {b -> reduce.nested_lanes(a, b)}}
//
// whose rows are longer than a block is folded block by block, element j of a block in
// lane j mod L (docs/internals/interp.md), which nobody can do for a register block of
// rows and columns at once: each would keep L times as many sums. But what a lane folds
// is a reduction of a block or less, of every L-th element. So for each lane of each
// block the same nest is run on slices, which are short, and lifted like any other
// product (src/loop/lift.c); then lanes are folded by halves, and blocks by the tree,
// whole arrays at a time:
//
//   for each strip of rows: for each block: {
//     for each lane: lanes[lane] = map {a -> map {b -> reduce(a[lane::L], b[lane::L])}}
//     totals[block] = lanes, folded by halves}
//
// What else is made of a sum, such as a mean, is made of all of them afterwards. Rows
// that the nest makes first, as of weights times what it gets, are made for a strip at
// a time. Strips are as many rows as keep the memory of lanes, and of these, within
// bounds. Lanes fold the same elements in the same order, so that the bits are the
// same. Where arrays are not of one length, or there are few rows or columns, the nest
// stays as it was. Few are those that no register block takes, and fewer where elements
// of a row lie apart. A nest inside of a map is taken apart there (deep_maps.c).
#include "opt/deep.h"

#include "opt/passes.h"

// What the pass goes by.
typedef struct Walk {
    OptStrips strips;
    uint32_t depth; // in how many second-order statements the visited one is
} Walk;

static bool visit(Rewrite *rw, CoreStm *stm) {
    const Walk *walk = rw->data;
    Deep like = {
        .program = rw->program, .rw = rw, .b = &rw->builder, .strips = walk->strips};
    return walk->depth == 0 && deep_emit_choice(&like, stm);
}

static void enter(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)body;
    ((Walk *)rw->data)->depth += core_op_info[stm->op].kind == KIND_ORDER2;
}

static void leave(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)body;
    ((Walk *)rw->data)->depth -= core_op_info[stm->op].kind == KIND_ORDER2;
}

bool opt_deep_by(CoreProgram *program, OptStrips strips) {
    Walk walk = {.strips = strips};
    Rewrite rw = rewrite_new(program);
    rw.visit = visit;
    rw.enter = enter;
    rw.leave = leave;
    rw.data = &walk;
    for (uint32_t i = 0; i < program->funs.len; i++)
        if (program->funs.data[i]->is_entry) rewrite_fun(&rw, program->funs.data[i]);
    return rw.changed;
}

bool opt_deep(CoreProgram *program) {
    return opt_deep_by(program, (OptStrips){.bytes = 1 << 24, .rows = 96});
}
