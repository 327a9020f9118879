// SPDX-License-Identifier: Apache-2.0
//
// Inclusive scans in their stamped shapes. A parallel one has three phases: what each
// block amounts to, the carries into the blocks, and the outputs.
#include "loop/lower.h"

#include <string.h>

enum { ROW = 16 };

typedef struct Scan {
    Fold fold;
    Slots outs; // the results, as slots
} Scan;

// ---- left to right ------------------------------------------------------------------

static void scan_serially(Scan *s) {
    Fold *f = &s->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1), zero = loop_int(b, 0);
    Val *init = loop_group(f), *next = loop_group(f), *last = loop_group(f);
    bool *is_ours = loop_flags(f);
    When when = loop_open_if(l, loop_lt(b, zero, f->n));
    loop_fold_first(f, zero, init, is_ours);
    for (uint32_t c = 0; c < f->width; c++)
        if (init[c].array != NULL)
            init[c].array = loop_own(l, init[c].array, is_ours[c], NULL);
    loop_store_slot(f, &s->outs, zero, init, NULL);
    Carry carry;
    loop_open_carry(l, &carry, init, NULL, f->width, loop_sub(b, f->n, one));
    LoopRef i = loop_add(b, carry.index, one);
    loop_fold_later(f, carry.state, i, next, is_ours);
    loop_store_slot(f, &s->outs, i, next, NULL);
    loop_close_carry(l, &carry, next, is_ours, last);
    loop_close_if(l, when);
}

// ---- blocks left to right -----------------------------------------------------------

// Slots of a scan that goes in order.
enum { LOCAL, CARRY, OUT, SLOT_COUNT };

// slot `to` = what is in `local` or, behind a first block, carry op that.
static void join_carry(const Fold *f, LoopRef has_carry, const Slots *carries,
                       LoopRef carry, const Slots *locals, LoopRef local,
                       const Slots *to, LoopRef at) {
    Lower *l = f->l;
    Val *vals = loop_group(f);
    When when = loop_open_if(l, has_carry);
    loop_join_slots(f, to, at, carries, carry, locals, local);
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(l->b, has_carry));
    loop_load_slot(f, locals, local, vals);
    loop_store_slot(f, to, at, vals, NULL);
    loop_close_if(l, when);
}

// Takes element i into slot `local`, which is empty at the first.
static void extend_local(const Fold *f, const Slots *s, LoopRef local, LoopRef i,
                         LoopRef is_first) {
    Lower *l = f->l;
    Val *vals = loop_group(f), *out = loop_group(f);
    bool *is_ours = loop_flags(f);
    When when = loop_open_if(l, is_first);
    loop_fold_first(f, i, out, is_ours);
    loop_store_slot(f, s, local, out, is_ours);
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(l->b, is_first));
    loop_load_slot(f, s, local, vals);
    loop_fold_later(f, vals, i, out, is_ours);
    loop_store_slot(f, s, local, out, is_ours);
    loop_close_if(l, when);
}

static void scan_blocks_in_order(Scan *s) {
    Fold *f = &s->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), local = loop_int(b, LOCAL);
    LoopRef carry = loop_int(b, CARRY), out = loop_int(b, OUT);
    LoopRef blocks = loop_block_count(l, f->n);
    Slots slots = loop_slots(f, loop_int(b, SLOT_COUNT));
    Nest outer, inner;
    loop_open_nest(l, &outer, 1, &blocks, ORDER_SEQUENTIAL);
    LoopRef block = outer.index[0], size = loop_block_size(l, f->n, block);
    LoopRef from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    loop_open_nest(l, &inner, 1, &size, ORDER_SEQUENTIAL);
    LoopRef i = loop_add(b, from, inner.index[0]);
    extend_local(f, &slots, local, i, loop_eq(b, inner.index[0], zero));
    join_carry(f, loop_lt(b, zero, block), &slots, carry, &slots, local, &slots, out);
    loop_copy_slot(f, &s->outs, i, &slots, out);
    loop_close_nest(l, &inner);
    loop_copy_slot(f, &slots, carry, &slots, out);
    loop_close_nest(l, &outer);
}

// The carry into block b is the last output of the block before, and what the block
// finds alone lies in the results until the carry joins.
static void scan_blocks_in_parallel(Scan *s) {
    Fold *f = &s->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    LoopRef blocks = loop_block_count(l, f->n);
    Slots carries = loop_slots(f, blocks);
    Nest outer, inner;
    loop_open_nest(l, &outer, 1, &blocks, ORDER_PARALLEL);
    LoopRef block = outer.index[0], size = loop_block_size(l, f->n, block);
    LoopRef from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    Fold part = *f;
    part.n = size;
    part.feeds = arena_array(l->arena, Array *, f->arrays);
    for (uint32_t k = 0; k < f->arrays; k++) {
        part.feeds[k] = arena_copy(l->arena, f->feeds[k], sizeof *f->feeds[k]);
        part.feeds[k]->off =
            loop_add(b, f->feeds[k]->off, loop_mul(b, from, f->feeds[k]->strides[0]));
    }
    Scan local = {.fold = part, .outs = {arena_array(l->arena, Array *, f->width)}};
    for (uint32_t c = 0; c < f->width; c++) {
        Array *outs = arena_copy(l->arena, s->outs.parts[c], sizeof *outs);
        outs->off = loop_add(b, outs->off, loop_mul(b, from, outs->strides[0]));
        local.outs.parts[c] = outs;
    }
    scan_serially(&local);
    loop_close_nest(l, &outer);

    // carries[b]: what all blocks up to b amount to
    loop_open_nest(l, &outer, 1, &blocks, ORDER_SEQUENTIAL);
    block = outer.index[0];
    from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    LoopRef last = loop_sub(b, loop_add(b, from, loop_block_size(l, f->n, block)), one);
    join_carry(f, loop_lt(b, zero, block), &carries, loop_sub(b, block, one), &s->outs,
               last, &carries, block);
    loop_close_nest(l, &outer);

    LoopRef later = loop_max(b, loop_sub(b, blocks, one), zero);
    loop_open_nest(l, &outer, 1, &later, ORDER_PARALLEL);
    block = loop_add(b, outer.index[0], one);
    from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    size = loop_block_size(l, f->n, block);
    loop_open_nest(l, &inner, 1, &size, ORDER_INDEPENDENT);
    LoopRef i = loop_add(b, from, inner.index[0]);
    loop_join_slots(f, &s->outs, i, &carries, outer.index[0], &s->outs, i);
    loop_close_nest(l, &inner);
    loop_close_nest(l, &outer);
}

// ---- rows of 16 ---------------------------------------------------------------------

// What goes along a block: its total, without a carry, and the carry if `outs` are
// made.
typedef struct Along {
    const Scan *scan;
    Slots row;
    const Slots *sums; // NULL: no total is wanted
    LoopRef sum;
    const Slots *carries; // NULL: no outputs are wanted
    LoopRef carry;
    LoopRef has_carry; // into the block
    LoopRef from;      // the block's first element
} Along;

// Sklansky's scan of the first `count` slots: at distance d, the upper half of each 2d
// takes in the last of the lower half.
static void scan_row(const Along *a, LoopRef count) {
    const Fold *f = &a->scan->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    bool is_whole = loop_is_int(b, count, ROW);
    for (int64_t d = 1; d < ROW; d *= 2) {
        LoopRef groups = loop_int(b, ROW / (2 * d)), apart = loop_int(b, d);
        Nest outer, inner;
        loop_open_nest(l, &outer, 1, &groups, ORDER_INDEPENDENT);
        LoopRef start = loop_mul(b, outer.index[0], loop_int(b, 2 * d));
        LoopRef upper = loop_add(b, start, apart),
                left = loop_sub(b, upper, loop_int(b, 1));
        LoopRef size = is_whole ? apart : loop_min(b, apart, loop_sub(b, count, upper));
        loop_open_nest(l, &inner, 1, &size, ORDER_INDEPENDENT);
        LoopRef at = loop_add(b, upper, inner.index[0]);
        loop_join_slots(f, &a->row, at, &a->row, left, &a->row, at);
        loop_close_nest(l, &inner);
        loop_close_nest(l, &outer);
    }
}

// slot = slot op last, or last where nothing is yet.
static void extend(const Along *a, LoopRef has_any, const Slots *s, LoopRef slot,
                   LoopRef last) {
    const Fold *f = &a->scan->fold;
    join_carry(f, has_any, s, slot, &a->row, last, s, slot);
}

static void scan_one_row(const Along *a, LoopRef number, LoopRef count) {
    const Fold *f = &a->scan->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), last = loop_sub(b, count, loop_int(b, 1));
    LoopRef is_later = loop_lt(b, zero, number);
    LoopRef from = loop_add(b, a->from, loop_mul(b, number, loop_int(b, ROW)));
    Val *vals = loop_group(f);
    bool *is_ours = loop_flags(f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    loop_fold_first(f, loop_add(b, from, nest.index[0]), vals, is_ours);
    loop_store_slot(f, &a->row, nest.index[0], vals, is_ours);
    loop_close_nest(l, &nest);
    scan_row(a, count);
    if (a->carries != NULL) {
        LoopRef has_carry = loop_or(b, a->has_carry, is_later);
        loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
        join_carry(f, has_carry, a->carries, a->carry, &a->row, nest.index[0],
                   &a->scan->outs, loop_add(b, from, nest.index[0]));
        loop_close_nest(l, &nest);
        extend(a, has_carry, a->carries, a->carry, last);
    }
    if (a->sums != NULL) extend(a, is_later, a->sums, a->sum, last);
}

static void scan_along(Along *a, LoopRef size) {
    const Fold *f = &a->scan->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef row = loop_int(b, ROW), rows = loop_quot(b, size, row);
    a->row = loop_slots(f, row);
    Nest nest;
    loop_open_nest(l, &nest, 1, &rows, ORDER_SEQUENTIAL);
    scan_one_row(a, nest.index[0], row);
    loop_close_nest(l, &nest);
    LoopRef rest = loop_rem(b, size, row);
    When when = loop_open_if(l, loop_lt(b, loop_int(b, 0), rest));
    scan_one_row(a, rows, rest);
    loop_close_if(l, when);
}

// The carry into a block is the tree over the totals of the blocks before it.
static void find_carry(const Fold *f, const Tree *tree, const Slots *carries,
                       LoopRef carry, LoopRef block) {
    Lower *l = f->l;
    When when = loop_open_if(l, loop_lt(l->b, loop_int(l->b, 0), block));
    loop_tree_total(f, tree, block);
    loop_copy_slot(f, carries, carry, &tree->levels, tree->spare);
    loop_close_if(l, when);
}

static void scan_rows_in_order(Scan *s) {
    Fold *f = &s->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    LoopRef blocks = loop_block_count(l, f->n);
    Tree tree = loop_tree(f, blocks);
    Slots slots = loop_slots(f, loop_int(b, 2)); // sum, carry
    Nest nest;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_SEQUENTIAL);
    LoopRef block = nest.index[0];
    find_carry(f, &tree, &slots, one, block);
    Along along = {.scan = s,
                   .sums = &slots,
                   .sum = zero,
                   .carries = &slots,
                   .carry = one,
                   .has_carry = loop_lt(b, zero, block),
                   .from = loop_mul(b, block, loop_int(b, CORE_BLOCK))};
    scan_along(&along, loop_block_size(l, f->n, block));
    loop_copy_slot(f, &tree.levels, tree.spare, &slots, zero);
    loop_tree_push(f, &tree, block);
    loop_close_nest(l, &nest);
}

static void scan_rows_in_parallel(Scan *s) {
    Fold *f = &s->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef blocks = loop_block_count(l, f->n);
    Tree tree = loop_tree(f, blocks);
    Slots sums = loop_slots(f, blocks), carries = loop_slots(f, blocks);
    Nest nest;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    LoopRef block = nest.index[0], from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    Along along = {.scan = s, .sums = &sums, .sum = block, .from = from};
    scan_along(&along, loop_block_size(l, f->n, block));
    loop_close_nest(l, &nest);

    loop_open_nest(l, &nest, 1, &blocks, ORDER_SEQUENTIAL);
    block = nest.index[0];
    find_carry(f, &tree, &carries, block, block);
    loop_copy_slot(f, &tree.levels, tree.spare, &sums, block);
    loop_tree_push(f, &tree, block);
    loop_close_nest(l, &nest);

    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    block = nest.index[0];
    from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    along = (Along){.scan = s,
                    .carries = &carries,
                    .carry = block,
                    .from = from,
                    .has_carry = loop_lt(b, loop_int(b, 0), block)};
    scan_along(&along, loop_block_size(l, f->n, block));
    loop_close_nest(l, &nest);
}

// ---- the whole ----------------------------------------------------------------------

static void scan_in_blocks(Scan *s, bool is_parallel) {
    CoreStamp stamp = (CoreStamp)s->fold.stm->stamp;
    bool has_lanes = stamp == STAMP_NESTED_LANES || stamp == STAMP_OUTER_LANES;
    if (has_lanes && is_parallel) scan_rows_in_parallel(s);
    else if (has_lanes) scan_rows_in_order(s);
    else if (is_parallel) scan_blocks_in_parallel(s);
    else scan_blocks_in_order(s);
}

static void scan_nested(Scan *s, bool is_parallel) {
    Lower *l = s->fold.l;
    uint64_t n;
    LoopRef is_short = loop_le(l->b, s->fold.n, loop_int(l->b, CORE_BLOCK));
    if (loop_is_known(l->b, is_short, &n) && n != 0) {
        scan_serially(s);
        return;
    }
    When when = loop_open_if(l, is_short);
    scan_serially(s);
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(l->b, is_short));
    scan_in_blocks(s, is_parallel);
    loop_close_if(l, when);
}

void loop_scan(Lower *l, const CoreStm *stm) {
    Scan scan = {.fold = loop_fold(l, stm)};
    Fold *f = &scan.fold;
    CoreStamp stamp = (CoreStamp)stm->stamp;
    bool was_parallel = l->is_parallel;
    bool is_parallel = was_parallel && !loop_join_fails(f);
    scan.outs.parts = arena_array(l->arena, Array *, f->width);
    for (uint32_t c = 0; c < f->width; c++) {
        LoopRef shape[CORE_MAX_RANK] = {f->n};
        uint32_t rank = loop_core_type(l, stm->outs[c]).rank;
        for (uint32_t d = 1; d < rank; d++) shape[d] = f->ne[c].array->shape[d - 1];
        ScalarType elem = (ScalarType)loop_core_type(l, stm->outs[c]).elem;
        loop_check_shape(l, elem, rank, shape);
        scan.outs.parts[c] =
            loop_fresh(l, elem, rank, shape, l->names[stm->outs[c]].place);
    }
    l->is_parallel = false;
    if ((stamp == STAMP_FREE || stamp == STAMP_NONE) && !is_parallel)
        scan_serially(&scan);
    else if (loop_is_nested(stamp)) scan_nested(&scan, is_parallel);
    else scan_in_blocks(&scan, is_parallel);
    l->is_parallel = was_parallel;
    for (uint32_t c = 0; c < f->width; c++)
        loop_bind(l, stm->outs[c], val_array(scan.outs.parts[c]));
}
