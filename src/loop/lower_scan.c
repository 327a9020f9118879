// SPDX-License-Identifier: Apache-2.0
//
// Inclusive scans in their stamped shapes. A parallel one has three phases: what each
// block amounts to, the carries into the blocks, and the outputs. Few blocks at a time
// go through all three.
#include "loop/lower.h"

#include "loop/machine.h"

typedef struct Scan {
    Fold fold;
    Slots outs; // the results, as slots
} Scan;

// ---- groups of blocks ---------------------------------------------------------------

// What is done with each block. What blocks amount to is found in any order, then the
// carries from left to right, then the outputs, in any order again.
typedef struct Phases Phases;
typedef void (*Phase)(const Phases *ph, LoopRef block);

struct Phases {
    Scan *scan;
    const Tree *tree; // of totals; NULL: the sums are of all blocks up to each
    Slots sums, carries;
    Phase sum, carry, output;
};

static void run_if(const Phases *ph, Phase phase, LoopRef block, LoopRef is_there) {
    Lower *l = ph->scan->fold.l;
    When when = loop_open_if(l, is_there);
    phase(ph, block);
    loop_close_if(l, when);
}

// The phase of `count` blocks from `first` on.
static void run_phase(const Phases *ph, Phase phase, LoopRef first, LoopRef count,
                      LoopOrder order) {
    Lower *l = ph->scan->fold.l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, order);
    phase(ph, loop_add(l->b, first, nest.index[0]));
    loop_close_nest(l, &nest);
}

// Of what an element gives, in all results.
static uint32_t count_bytes(const Scan *s) {
    uint32_t bytes = 0;
    for (uint32_t c = 0; c < s->fold.width; c++)
        bytes +=
            scalar_info[loop_core_type(s->fold.l, s->fold.stm->outs[c]).elem].bytes;
    return bytes;
}

// How many blocks go through all phases before the next ones do: the last phase finds
// in the caches what the first has read.
static LoopRef group_size(const Scan *s) {
    enum { NEAR_BYTES = 1 << 20 };
    return loop_int(s->fold.l->b, NEAR_BYTES / CORE_BLOCK / count_bytes(s));
}

// Group by group, the last phase of one along with the first of the next, so that
// threads meet but twice for both.
static void run_groups(const Phases *ph, LoopRef blocks) {
    Lower *l = ph->scan->fold.l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1), size = group_size(ph->scan);
    LoopRef groups = loop_quot(b, loop_add(b, blocks, loop_sub(b, size, one)), size);
    LoopRef turns = loop_add(b, groups, one);
    Nest turn, nest;
    loop_open_nest(l, &turn, 1, &turns, ORDER_SEQUENTIAL);
    LoopRef first = loop_mul(b, turn.index[0], size);
    loop_open_nest(l, &nest, 1, &size, ORDER_PARALLEL);
    LoopRef block = loop_add(b, first, nest.index[0]);
    LoopRef before = loop_sub(b, block, size);
    LoopRef is_later = loop_lt(b, zero, turn.index[0]);
    run_if(ph, ph->output, before, loop_and(b, is_later, loop_lt(b, before, blocks)));
    run_if(ph, ph->sum, block, loop_lt(b, block, blocks));
    loop_close_nest(l, &nest);
    LoopRef left = loop_max(b, zero, loop_min(b, size, loop_sub(b, blocks, first)));
    run_phase(ph, ph->carry, first, left, ORDER_SEQUENTIAL);
    loop_close_nest(l, &turn);
}

// GPUs take all blocks at once.
static void run_phases(const Phases *ph, LoopRef blocks) {
    Lower *l = ph->scan->fold.l;
    LoopRef zero = loop_int(l->b, 0);
    if (!l->is_for_gpus) {
        run_groups(ph, blocks);
        return;
    }
    run_phase(ph, ph->sum, zero, blocks, ORDER_PARALLEL);
    run_phase(ph, ph->carry, zero, blocks, ORDER_SEQUENTIAL);
    run_phase(ph, ph->output, zero, blocks, ORDER_PARALLEL);
}

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
    LoopRef before = loop_sub(b, block, one);
    join_carry(f, loop_lt(b, zero, block), &carries, before, &s->outs, last, &carries,
               block);
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

// The carry into a block is the tree over the totals of the blocks before it.
static void find_carry(const Fold *f, const Tree *tree, const Slots *carries,
                       LoopRef carry, LoopRef block) {
    Lower *l = f->l;
    Val *neutral = loop_group(f);
    loop_neutrals(f, neutral);
    loop_store_slot(f, carries, carry, neutral, NULL);
    When when = loop_open_if(l, loop_lt(l->b, loop_int(l->b, 0), block));
    loop_tree_total(f, tree, block);
    loop_copy_slot(f, carries, carry, &tree->levels, tree->spare);
    loop_close_if(l, when);
}

static void push_total(const Fold *f, const Tree *tree, const Val *total,
                       LoopRef block) {
    loop_store_slot(f, &tree->levels, tree->spare, total, NULL);
    loop_tree_push(f, tree, block);
}

static void scan_rows_in_order(Scan *s) {
    Fold *f = &s->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), blocks = loop_block_count(l, f->n);
    Tree tree = loop_tree(f, blocks);
    Slots slot = loop_slots(f, loop_int(b, 1));
    Val *carry = loop_group(f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_SEQUENTIAL);
    LoopRef block = nest.index[0];
    find_carry(f, &tree, &slot, zero, block);
    loop_load_slot(f, &slot, zero, carry);
    LoopRef from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    LoopRef size = loop_block_size(l, f->n, block);
    push_total(f, &tree, loop_scan_rows(f, &s->outs, from, size, carry), block);
    loop_close_nest(l, &nest);
}

static void sum_rows_of_block(const Phases *ph, LoopRef block) {
    const Fold *f = &ph->scan->fold;
    Val *total = loop_group(f);
    loop_sum_rows(f, block, total);
    loop_store_slot(f, &ph->sums, block, total, NULL);
}

static void carry_by_tree(const Phases *ph, LoopRef block) {
    const Fold *f = &ph->scan->fold;
    Val *total = loop_group(f);
    find_carry(f, ph->tree, &ph->carries, block, block);
    loop_load_slot(f, &ph->sums, block, total);
    push_total(f, ph->tree, total, block);
}

static void output_rows_of_block(const Phases *ph, LoopRef block) {
    const Fold *f = &ph->scan->fold;
    Lower *l = f->l;
    Val *carry = loop_group(f);
    loop_load_slot(f, &ph->carries, block, carry);
    LoopRef from = loop_mul(l->b, block, loop_int(l->b, CORE_BLOCK));
    LoopRef size = loop_block_size(l, f->n, block);
    loop_scan_rows(f, &ph->scan->outs, from, size, carry);
}

static void scan_rows_in_parallel(Scan *s) {
    Fold *f = &s->fold;
    LoopRef blocks = loop_block_count(f->l, f->n);
    Tree tree = loop_tree(f, blocks);
    Phases phases = {s,
                     &tree,
                     loop_slots(f, blocks),
                     loop_slots(f, blocks),
                     sum_rows_of_block,
                     carry_by_tree,
                     output_rows_of_block};
    run_phases(&phases, blocks);
}

// ---- in any order -------------------------------------------------------------------

// Whether it is one operator on numbers, which rows give like any other order, and
// faster: steps of a row wait for less than turns of a chain.
static bool goes_by_rows(const Fold *f) {
    const CoreStm *stm = f->op->stms.len == 1 ? f->op->stms.data[0] : NULL;
    if (stm == NULL || f->l->is_for_gpus) return false;
    CoreType type = loop_core_type(f->l, stm->outs[0]);
    ScalarType elem = (ScalarType)type.elem;
    return type.rank == 0 && elem != SCALAR_BOOL && elem != SCALAR_F16;
}

// Goes along a block from left to right.
static void scan_block(Scan *s, const Slots *sums, LoopRef block) {
    Fold *f = &s->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    LoopRef from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    Val *vals = loop_group(f), *next = loop_group(f), *last = loop_group(f);
    bool *is_ours = loop_flags(f);
    Fork fork;
    loop_open_fork(l, &fork);
    loop_load_slot(f, sums, loop_sub(b, block, one), vals);
    loop_fold_later(f, vals, from, next, is_ours);
    loop_close_arm(f, &fork, 0, next);
    loop_fold_first(f, from, next, is_ours);
    loop_close_arm(f, &fork, 1, next);
    loop_close_fork(f, &fork, loop_lt(b, zero, block), vals);
    loop_store_slot(f, &s->outs, from, vals, NULL);
    Carry carry;
    LoopRef size = loop_block_size(l, f->n, block);
    loop_open_carry(l, &carry, vals, NULL, f->width, loop_sub(b, size, one));
    LoopRef i = loop_add(b, loop_add(b, from, one), carry.index);
    loop_fold_later(f, carry.state, i, next, is_ours);
    loop_store_slot(f, &s->outs, i, next, NULL);
    loop_close_carry(l, &carry, next, NULL, last);
}

// Goes along a block by rows.
static void scan_block_by_rows(Scan *s, const Slots *sums, LoopRef block) {
    Fold *f = &s->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Val *carry = loop_group(f), *none = loop_group(f), *vals = loop_group(f);
    LoopRef from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    Fork fork;
    loop_neutrals(f, none);
    loop_open_fork(l, &fork);
    loop_load_slot(f, sums, loop_sub(b, block, loop_int(b, 1)), vals);
    loop_close_arm(f, &fork, 0, vals);
    loop_close_arm(f, &fork, 1, none);
    loop_close_fork(f, &fork, loop_lt(b, loop_int(b, 0), block), carry);
    loop_scan_rows(f, &s->outs, from, loop_block_size(l, f->n, block), carry);
}

// Compilers do chains of integers in any order, but none of floats.
static void sum_free_block(const Phases *ph, LoopRef block) {
    const Fold *f = &ph->scan->fold;
    Lower *l = f->l;
    CoreType type = loop_core_type(l, f->op->results[0]);
    if (goes_by_rows(f) && scalar_is_float((ScalarType)type.elem)) {
        sum_rows_of_block(ph, block);
        return;
    }
    Val *total = loop_group(f);
    LoopRef from = loop_mul(l->b, block, loop_int(l->b, CORE_BLOCK));
    loop_fold_serially(f, from, loop_block_size(l, f->n, block), total);
    loop_store_slot(f, &ph->sums, block, total, NULL);
}

static void carry_along_blocks(const Phases *ph, LoopRef block) {
    const Fold *f = &ph->scan->fold;
    LoopBuilder *b = f->l->b;
    LoopRef before = loop_sub(b, block, loop_int(b, 1));
    join_carry(f, loop_lt(b, loop_int(b, 0), block), &ph->sums, before, &ph->sums,
               block, &ph->sums, block);
}

static void output_free_block(const Phases *ph, LoopRef block) {
    const Fold *f = &ph->scan->fold;
    if (goes_by_rows(f)) scan_block_by_rows(ph->scan, &ph->sums, block);
    else scan_block(ph->scan, &ph->sums, block);
}

// Blocks find what they amount to, and go on from the carry. An element is made twice.
static void scan_free_blocks(Scan *s) {
    Fold *f = &s->fold;
    LoopRef blocks = loop_block_count(f->l, f->n);
    Phases phases = {.scan = s,
                     .sums = loop_slots(f, blocks),
                     .sum = sum_free_block,
                     .carry = carry_along_blocks,
                     .output = output_free_block};
    run_phases(&phases, blocks);
}

// Left to right, once over the input.
static void scan_free_in_order(Scan *s) {
    Fold *f = &s->fold;
    if (!goes_by_rows(f)) {
        scan_serially(s);
        return;
    }
    Val *none = loop_group(f);
    loop_neutrals(f, none);
    loop_scan_rows(f, &s->outs, loop_int(f->l->b, 0), f->n, none);
}

// ---- the whole ----------------------------------------------------------------------

// Up to how many threads one of them does it all. Where memory is what they wait for,
// and has not much more for two than for one, two that look at each element twice and
// meet take longer than one.
static LoopRef most_for_one(const Scan *s) {
    enum { FAR_BYTES = 1 << 24 }; // of results
    const Fold *f = &s->fold;
    LoopBuilder *b = f->l->b;
    LoopRef one = loop_int(b, 1), two = loop_int(b, 2);
    if (!machine_core_draws_most() || f->width > 1 ||
        (f->pre != NULL && !loop_is_cheap(f->pre)))
        return one;
    LoopRef is_far = loop_lt(b, loop_int(b, FAR_BYTES / count_bytes(s)), f->n);
    return loop_select(b, is_far, two, one);
}

// The same numbers in two ways: one thread alone reads the input once, as all do if it
// is one block; several read it twice, first for what blocks amount to.
static void scan_by_threads(Scan *s, void in_order(Scan *s),
                            void in_parallel(Scan *s)) {
    Lower *l = s->fold.l;
    LoopBuilder *b = l->b;
    if (l->is_for_gpus) {
        in_parallel(s);
        return;
    }
    LoopRef one = loop_int(b, 1);
    LoopRef most = most_for_one(s);
    LoopRef is_alone = loop_le(b, loop_threads(b), most);
    LoopRef is_block = loop_le(b, s->fold.n, loop_int(b, CORE_BLOCK));
    LoopRef is_in_order = loop_or(b, is_alone, is_block);
    Nest nest;
    When when = loop_open_if(l, is_in_order);
    loop_open_nest(l, &nest, 1, &one, ORDER_PARALLEL);
    in_order(s);
    loop_close_nest(l, &nest);
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(b, is_in_order));
    in_parallel(s);
    loop_close_if(l, when);
}

static void scan_in_blocks(Scan *s, bool is_parallel) {
    CoreStamp stamp = (CoreStamp)s->fold.stm->stamp;
    bool has_lanes = stamp == STAMP_NESTED_LANES || stamp == STAMP_OUTER_LANES;
    bool is_free = stamp == STAMP_FREE && !s->fold.is_compact &&
                   (s->fold.pre == NULL || loop_is_cheap(s->fold.pre));
    if (is_parallel && loop_scans_tiles(&s->fold)) loop_scan_tiles(&s->fold, &s->outs);
    else if (is_free && is_parallel)
        scan_by_threads(s, scan_free_in_order, scan_free_blocks);
    else if (has_lanes && is_parallel)
        scan_by_threads(s, scan_rows_in_order, scan_rows_in_parallel);
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
            loop_fresh(l, elem, rank, shape, loop_name(l, stm->outs[c])->place);
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
