// SPDX-License-Identifier: Apache-2.0
//
// Reductions in their stamped shapes. In a parallel kernel each block is folded by
// itself, and the tree over the blocks follows in root code; where joining could stop
// with an error, the first error is found by going in order.
#include "loop/lower.h"

#include <string.h>

enum { LANES = 32, RUN = CORE_BLOCK / LANES };

// ---- lanes --------------------------------------------------------------------------

static uint32_t lanes_of(const Fold *f, uint32_t c) {
    ScalarType elem = (ScalarType)loop_core_type(f->l, f->op->results[c]).elem;
    bool is_wide = scalar_info[elem].bytes == 8 && f->stm->stamp != STAMP_FREE;
    return is_wide ? LANES / 2 : LANES;
}

// The lanes of those components that have `count` of them. The others are independent
// of these and get any value.
typedef struct LaneSet {
    const Fold *f;
    const bool *only; // by component: others are in no set; NULL: all are
    uint32_t count;
    LoopRef lanes; // likewise
    Slots slots;
    LoopRef from, size;
} LaneSet;

static bool is_in_set(const LaneSet *s, uint32_t c) {
    return lanes_of(s->f, c) == s->count && (s->only == NULL || s->only[c]);
}

static void load_lane(const LaneSet *s, LoopRef lane, Val *out) {
    for (uint32_t c = 0; c < s->f->width; c++)
        out[c] = is_in_set(s, c) ? loop_element(s->f->l, s->slots.parts[c], lane)
                                 : s->f->ne[c];
}

static void store_lane(const LaneSet *s, LoopRef lane, const Val *vals) {
    for (uint32_t c = 0; c < s->f->width; c++)
        if (is_in_set(s, c))
            loop_set_element(s->f->l, s->slots.parts[c], lane, vals[c]);
}

// Takes elements first + lane into the first `count` lanes.
static void fold_row(const LaneSet *s, LoopRef first, LoopRef count, bool is_first) {
    Lower *l = s->f->l;
    Val *so_far = loop_group(s->f), *out = loop_group(s->f);
    bool *is_ours = loop_flags(s->f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef i = loop_add(l->b, first, nest.index[0]);
    if (is_first) {
        loop_fold_first(s->f, i, out, is_ours);
    } else {
        load_lane(s, nest.index[0], so_far);
        loop_fold_later(s->f, so_far, i, out, is_ours);
    }
    store_lane(s, nest.index[0], out);
    loop_close_nest(l, &nest);
}

// Lane i takes in lane i + half, if that has elements, until one lane is left.
static void fold_halves(const LaneSet *s) {
    Lower *l = s->f->l;
    LoopBuilder *b = l->b;
    Val *left = loop_group(s->f), *right = loop_group(s->f), *out = loop_group(s->f);
    bool *is_ours = loop_flags(s->f);
    Val init = val_scalar(loop_quot(b, s->lanes, loop_int(b, 2))), guard, last;
    Carry carry;
    loop_open_carry(l, &carry, &init, NULL, 1, 0);
    loop_open_guard(l, &carry, &guard);
    LoopRef more = loop_lt(b, loop_int(b, 0), guard.scalar);
    carry.guard = loop_close(b, &more, 1);
    LoopRef half = carry.state[0].scalar;
    LoopRef pairs = loop_min(b, half, loop_sub(b, s->size, half));
    Nest nest;
    loop_open_nest(l, &nest, 1, &pairs, ORDER_INDEPENDENT);
    load_lane(s, nest.index[0], left);
    load_lane(s, loop_add(b, nest.index[0], half), right);
    loop_fold_join(s->f, left, right, out, is_ours);
    store_lane(s, nest.index[0], out);
    loop_close_nest(l, &nest);
    Val next = val_scalar(loop_quot(b, half, loop_int(b, 2)));
    loop_close_carry(l, &carry, &next, NULL, &last);
}

// Gives the lanes what they start with, the first row or values that leave it as it is,
// and returns how many rows are in them.
static LoopRef start_rows(const LaneSet *s) {
    Lower *l = s->f->l;
    if (s->f->start == NULL) {
        fold_row(s, s->from, loop_min(l->b, s->lanes, s->size), true);
        return loop_int(l->b, 1);
    }
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->lanes, ORDER_INDEPENDENT);
    store_lane(s, nest.index[0], s->f->start);
    loop_close_nest(l, &nest);
    return loop_int(l->b, 0);
}

// Row by row; the full ones have as many turns as there are lanes, which is known.
static void fold_rows(const LaneSet *s) {
    Lower *l = s->f->l;
    LoopBuilder *b = l->b;
    LoopRef first = start_rows(s);
    LoopRef rows = loop_max(b, loop_quot(b, s->size, s->lanes), first);
    LoopRef more = loop_sub(b, rows, first);
    Nest nest;
    loop_open_nest(l, &nest, 1, &more, ORDER_SEQUENTIAL);
    LoopRef row = loop_mul(b, loop_add(b, nest.index[0], first), s->lanes);
    fold_row(s, loop_add(b, s->from, row), s->lanes, false);
    loop_close_nest(l, &nest);
    LoopRef done = loop_mul(b, rows, s->lanes);
    LoopRef left = loop_sub(b, s->size, done);
    fold_row(s, loop_add(b, s->from, done), left, false);
}

// The same with each body only twice in the code.
static void fold_rows_compactly(const LaneSet *s) {
    Lower *l = s->f->l;
    LoopBuilder *b = l->b;
    Val *so_far = loop_group(s->f), *out = loop_group(s->f);
    bool *is_ours = loop_flags(s->f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->size, ORDER_SEQUENTIAL);
    LoopRef i = loop_add(b, s->from, nest.index[0]);
    LoopRef lane = loop_rem(b, nest.index[0], s->lanes);
    LoopRef is_first = loop_lt(b, nest.index[0], s->lanes);
    When when = loop_open_if(l, is_first);
    loop_fold_first(s->f, i, out, is_ours);
    store_lane(s, lane, out);
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(b, is_first));
    load_lane(s, lane, so_far);
    loop_fold_later(s->f, so_far, i, out, is_ours);
    store_lane(s, lane, out);
    loop_close_if(l, when);
    loop_close_nest(l, &nest);
}

static void fold_lane_set(const LaneSet *s, Val *out) {
    if (s->f->is_compact) fold_rows_compactly(s);
    else fold_rows(s);
    fold_halves(s);
    Val *total = loop_group(s->f);
    load_lane(s, loop_int(s->f->l->b, 0), total);
    for (uint32_t c = 0; c < s->f->width; c++)
        if (is_in_set(s, c)) out[c] = total[c];
}

// One lane or run is left to right: what nested folds of up to a block are.
static LoopRef one_if_short(const Fold *f, int64_t one, int64_t other) {
    LoopBuilder *b = f->l->b;
    CoreStamp stamp = (CoreStamp)f->stm->stamp;
    if (!f->is_compact || !loop_is_nested(stamp)) return loop_int(b, other);
    LoopRef is_short = loop_le(b, f->n, loop_int(b, CORE_BLOCK));
    return loop_select(b, is_short, loop_int(b, one), loop_int(b, other));
}

// Of all components, or of those only.
static void fold_lanes(const Fold *f, const bool *only, LoopRef from, LoopRef size,
                       Val *out) {
    for (uint32_t count = LANES; count >= LANES / 2; count /= 2) {
        bool has_any = false;
        for (uint32_t c = 0; c < f->width; c++)
            has_any = has_any || lanes_of(f, c) == count;
        if (!has_any) continue;
        LoopRef lanes = one_if_short(f, 1, count);
        LaneSet set = {
            f, only, count, lanes, loop_slots(f, loop_int(f->l->b, count)), from, size};
        fold_lane_set(&set, out);
    }
}

// ---- runs ---------------------------------------------------------------------------

static void fold_each_run(const Fold *f, const Slots *runs, LoopRef from, LoopRef size,
                          LoopRef run) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1);
    LoopRef count = loop_quot(b, loop_sub(b, loop_add(b, size, run), one), run);
    Val *total = loop_group(f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef start = loop_mul(b, nest.index[0], run);
    LoopRef length = loop_min(b, run, loop_sub(b, size, start));
    loop_fold_serially(f, loop_add(b, from, start), length, total);
    loop_store_slot(f, runs, nest.index[0], total, NULL);
    loop_close_nest(l, &nest);
}

// Contiguous runs, then neighbours pairwise.
static void fold_runs(const Fold *f, LoopRef from, LoopRef size, Val *out) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef run = one_if_short(f, CORE_BLOCK, RUN), one = loop_int(b, 1);
    LoopRef count = loop_quot(b, loop_sub(b, loop_add(b, size, run), one), run);
    Slots runs = loop_slots(f, loop_int(b, LANES));
    Nest nest;
    bool is_best = loop_best_runs(f, &runs, from, size, run);
    if (!is_best) fold_each_run(f, &runs, from, size, run);

    Val init = val_scalar(one), guard, last;
    Carry carry;
    loop_open_carry(l, &carry, &init, NULL, 1, 0);
    loop_open_guard(l, &carry, &guard);
    LoopRef more = loop_lt(b, guard.scalar, count);
    carry.guard = loop_close(b, &more, 1);
    LoopRef apart = carry.state[0].scalar, step = loop_add(b, apart, apart);
    LoopRef pairs = loop_quot(b, loop_sub(b, loop_add(b, count, apart), one), step);
    loop_open_nest(l, &nest, 1, &pairs, ORDER_INDEPENDENT);
    LoopRef left = loop_mul(b, nest.index[0], step);
    loop_join_slots(f, &runs, left, &runs, left, &runs, loop_add(b, left, apart));
    loop_close_nest(l, &nest);
    Val next = val_scalar(step);
    loop_close_carry(l, &carry, &next, NULL, &last);
    loop_load_slot(f, &runs, loop_int(b, 0), out);
    if (is_best) loop_best_place(f, from, size, run, out);
}

// ---- blocks -------------------------------------------------------------------------

// Whether lanes are better than going in order where any order will do: on GPUs always;
// on cores for floats and for elements that are computed, since compilers take many at
// once only of sums and the like of integers that are loaded.
static bool likes_lanes(const Fold *f) {
    bool likes = true;
    for (uint32_t c = 0; c < f->width; c++) {
        CoreType type = loop_core_type(f->l, f->op->results[c]);
        bool is_float = scalar_is_float((ScalarType)type.elem);
        bool is_made = f->pre != NULL && !f->is_compact;
        likes = likes && type.rank == 0 && (f->l->is_for_gpus || is_float || is_made);
    }
    return likes;
}

static void fold_block(const Fold *f, LoopRef block, Val *out) {
    LoopBuilder *b = f->l->b;
    LoopRef each = loop_int(b, loop_fold_block(f)), from = loop_mul(b, block, each);
    LoopRef size = loop_min(b, each, loop_sub(b, f->n, from));
    switch ((CoreStamp)f->stm->stamp) {
    case STAMP_NESTED_LANES:
    case STAMP_OUTER_LANES: fold_lanes(f, NULL, from, size, out); return;
    case STAMP_NESTED_RUNS:
    case STAMP_OUTER_RUNS: fold_runs(f, from, size, out); return;
    case STAMP_FREE:
        if (!f->l->is_for_gpus && loop_is_count(f))
            loop_count_block(f, from, size, out);
        else if (!f->l->is_for_gpus && loop_is_narrow_sum(f))
            loop_sum_narrow(f, from, size, out);
        else if (likes_lanes(f)) fold_lanes(f, NULL, from, size, out);
        else loop_fold_serially(f, from, size, out);
        return;
    case STAMP_NESTED_ROWS:
    case STAMP_OUTER_ROWS:
    case STAMP_NONE:
    case STAMP_PARTS:
    case STAMP_COUNT: loop_fold_serially(f, from, size, out); return;
    }
}

// Block by block, each joined to the tree at once.
static void fold_in_order(const Fold *f, const Tree *tree, LoopRef blocks) {
    Lower *l = f->l;
    Val *total = loop_group(f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_SEQUENTIAL);
    fold_block(f, nest.index[0], total);
    loop_store_slot(f, &tree->levels, tree->spare, total, NULL);
    loop_tree_push(f, tree, nest.index[0]);
    loop_close_nest(l, &nest);
}

// Joins each WIDE neighbours to one, which is a level of the tree, since they are a
// power of two.
static LoopRef join_neighbours(const Fold *f, LoopRef blocks, Slots *totals) {
    enum { WIDE = 64 };
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef wide = loop_int(b, WIDE), rest = loop_int(b, WIDE - 1);
    LoopRef groups = loop_quot(b, loop_add(b, blocks, rest), wide);
    Slots joined = loop_slots(f, groups);
    Val *total = loop_group(f);
    Nest nest, inner;
    loop_open_nest(l, &nest, 1, &groups, ORDER_PARALLEL);
    Tree tree = loop_tree(f, wide);
    LoopRef from = loop_mul(b, nest.index[0], wide);
    LoopRef count = loop_min(b, wide, loop_sub(b, blocks, from));
    loop_open_nest(l, &inner, 1, &count, ORDER_SEQUENTIAL);
    loop_copy_slot(f, &tree.levels, tree.spare, totals,
                   loop_add(b, from, inner.index[0]));
    loop_tree_push(f, &tree, inner.index[0]);
    loop_close_nest(l, &inner);
    loop_tree_total(f, &tree, count);
    loop_load_slot(f, &tree.levels, tree.spare, total);
    loop_store_slot(f, &joined, nest.index[0], total, NULL);
    loop_close_nest(l, &nest);
    *totals = joined;
    return groups;
}

// Of pairs of keys and places: the keys of each block, and then, where one is the best
// of all, its places.
static void fold_places(const Fold *f, const bool *keys, LoopRef blocks,
                        const Slots *totals) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef each = loop_int(b, loop_fold_block(f));
    Val *total = loop_group(f), *next = loop_group(f), *best = loop_group(f);
    bool *is_ours = loop_flags(f);
    Nest nest;
    Carry carry;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    LoopRef from = loop_mul(b, nest.index[0], each);
    for (uint32_t c = 0; c < f->width; c++) total[c] = f->start[c];
    fold_lanes(f, keys, from, loop_min(b, each, loop_sub(b, f->n, from)), total);
    loop_store_slot(f, totals, nest.index[0], total, NULL);
    loop_close_nest(l, &nest);
    loop_open_carry(l, &carry, f->start, NULL, f->width, blocks);
    loop_load_slot(f, totals, carry.index, total);
    loop_fold_join(f, carry.state, total, next, is_ours);
    loop_close_carry(l, &carry, next, is_ours, best);
    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    LoopRef has_best = loop_const(b, SCALAR_BOOL, 0);
    loop_load_slot(f, totals, nest.index[0], total);
    for (uint32_t c = 0; c < f->width; c++)
        if (keys[c])
            has_best =
                loop_or(b, has_best, loop_eq(b, total[c].scalar, best[c].scalar));
    When when = loop_open_if(l, has_best);
    fold_block(f, nest.index[0], total);
    loop_store_slot(f, totals, nest.index[0], total, NULL);
    loop_close_if(l, when);
    loop_close_nest(l, &nest);
}

// Leaves in the tree as many parts as it gives back.
static LoopRef fold_in_parallel(const Fold *f, const Tree *tree, LoopRef blocks) {
    Lower *l = f->l;
    Val *total = loop_group(f);
    Slots totals = loop_slots(f, blocks);
    const bool *keys = l->is_for_gpus ? NULL : loop_keys_of_places(f);
    Nest nest;
    if (keys != NULL) {
        fold_places(f, keys, blocks, &totals);
    } else {
        loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
        fold_block(f, nest.index[0], total);
        loop_store_slot(f, &totals, nest.index[0], total, NULL);
        loop_close_nest(l, &nest);
    }
    if (l->is_for_gpus) blocks = join_neighbours(f, blocks, &totals);
    loop_open_nest(l, &nest, 1, &blocks, ORDER_SEQUENTIAL);
    loop_load_slot(f, &totals, nest.index[0], total);
    loop_store_slot(f, &tree->levels, tree->spare, total, NULL);
    loop_tree_push(f, tree, nest.index[0]);
    loop_close_nest(l, &nest);
    return blocks;
}

static void fold_blocks(const Fold *f, bool is_parallel, Val *out) {
    LoopBuilder *b = f->l->b;
    LoopRef each = loop_int(b, loop_fold_block(f)), one = loop_int(b, 1);
    LoopRef blocks = loop_quot(b, loop_add(b, f->n, loop_sub(b, each, one)), each);
    Tree tree = loop_tree(f, blocks);
    if (is_parallel) blocks = fold_in_parallel(f, &tree, blocks);
    else fold_in_order(f, &tree, blocks);
    loop_tree_total(f, &tree, blocks);
    loop_load_slot(f, &tree.levels, tree.spare, out);
}

// ---- the whole ----------------------------------------------------------------------

static void fold_nested(const Fold *f, bool is_parallel, Val *out) {
    Lower *l = f->l;
    uint64_t n;
    LoopRef is_short = loop_le(l->b, f->n, loop_int(l->b, CORE_BLOCK));
    bool is_known = loop_is_known(l->b, f->n, &n);
    if (is_known && n <= CORE_BLOCK) {
        loop_fold_serially(f, loop_int(l->b, 0), f->n, out);
        return;
    }
    if (f->is_compact) {
        fold_blocks(f, is_parallel, out);
        return;
    }
    Fork fork;
    Val *vals = loop_group(f);
    loop_open_fork(l, &fork);
    loop_fold_serially(f, loop_int(l->b, 0), f->n, vals);
    loop_close_arm(f, &fork, 0, vals);
    fold_blocks(f, is_parallel, vals);
    loop_close_arm(f, &fork, 1, vals);
    loop_close_fork(f, &fork, is_short, out);
}

static bool is_serial(const Fold *f, bool is_parallel) {
    CoreStamp stamp = (CoreStamp)f->stm->stamp;
    return !is_parallel && (stamp == STAMP_FREE || stamp == STAMP_NONE);
}

// Whether the fold of no elements needs no code of its own: it starts with the result.
static bool takes_none(const Fold *f, bool is_parallel) {
    bool is_nested = loop_is_nested((CoreStamp)f->stm->stamp) && !f->is_compact;
    return f->start != NULL && (is_nested || is_serial(f, is_parallel));
}

// The reduction of at least one element, save where none is as good.
static void fold_all(const Fold *f, bool is_parallel, Val *out) {
    if (is_serial(f, is_parallel))
        loop_fold_serially(f, loop_int(f->l->b, 0), f->n, out);
    else if (loop_is_nested((CoreStamp)f->stm->stamp)) fold_nested(f, is_parallel, out);
    else fold_blocks(f, is_parallel, out);
}

static void fold_some_or_none(const Fold *f, bool is_parallel, Val *out) {
    Lower *l = f->l;
    Fork fork;
    for (uint32_t c = 0; c < f->width; c++) out[c] = f->ne[c];
    loop_open_fork(l, &fork);
    loop_close_arm(f, &fork, 0, out);
    fold_all(f, is_parallel, out);
    loop_close_arm(f, &fork, 1, out);
    loop_close_fork(f, &fork, loop_eq(l->b, f->n, loop_int(l->b, 0)), out);
}

void loop_reduce(Lower *l, const CoreStm *stm) {
    Fold fold = loop_fold(l, stm), *f = &fold;
    bool was_parallel = l->is_parallel;
    bool is_parallel = was_parallel && !loop_join_fails(f);
    l->is_parallel = false;
    Val *vals = loop_group(f);
    if (takes_none(f, is_parallel)) fold_all(f, is_parallel, vals);
    else fold_some_or_none(f, is_parallel, vals);
    l->is_parallel = was_parallel;
    for (uint32_t c = 0; c < f->width; c++) {
        if (vals[c].array != NULL) {
            // The neutral element's own memory is not ours.
            const Array *ne = f->ne[c].array;
            vals[c].array->block = loop_block(l);
            if (ne->kind == ARRAY_MEMORY)
                vals[c].array->block =
                    loop_join_blocks(l, vals[c].array->block, ne->block);
        }
        loop_bind(l, stm->outs[c], vals[c]);
    }
}
