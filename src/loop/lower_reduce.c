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
    ScalarType elem = (ScalarType)lower_type(f->l, f->op->results[c]).elem;
    return scalar_info[elem].bytes == 8 ? LANES / 2 : LANES;
}

// The lanes of those components that have `count` of them. The others are independent
// of these and get any value.
typedef struct LaneSet {
    const Fold *f;
    uint32_t count;
    LoopRef lanes;  // likewise
    Slots slots;
    LoopRef from, size;
} LaneSet;

static bool is_in_set(const LaneSet *s, uint32_t c) {
    return lanes_of(s->f, c) == s->count;
}

static void load_lane(const LaneSet *s, LoopRef lane, Val *out) {
    for (uint32_t c = 0; c < s->f->width; c++)
        out[c] = is_in_set(s, c) ? lower_element(s->f->l, s->slots.parts[c], lane)
                                 : s->f->ne[c];
}

static void store_lane(const LaneSet *s, LoopRef lane, const Val *vals) {
    for (uint32_t c = 0; c < s->f->width; c++)
        if (is_in_set(s, c)) lower_set_element(s->f->l, s->slots.parts[c], lane, vals[c]);
}

// Takes elements first + lane into the first `count` lanes.
static void fold_row(const LaneSet *s, LoopRef first, LoopRef count, bool is_first) {
    Lower *l = s->f->l;
    Val *so_far = lower_group(s->f), *out = lower_group(s->f);
    bool *is_ours = lower_flags(s->f);
    Nest nest;
    lower_open_nest(l, &nest, 1, &count, false);
    LoopRef i = loop_add(l->b, first, nest.index[0]);
    if (is_first) {
        lower_fold_first(s->f, i, out, is_ours);
    } else {
        load_lane(s, nest.index[0], so_far);
        lower_fold_later(s->f, so_far, i, out, is_ours);
    }
    store_lane(s, nest.index[0], out);
    lower_close_nest(l, &nest);
}

// Lane i takes in lane i + half, if that has elements, until one lane is left.
static void fold_halves(const LaneSet *s) {
    Lower *l = s->f->l;
    LoopBuilder *b = l->b;
    Val *left = lower_group(s->f), *right = lower_group(s->f), *out = lower_group(s->f);
    bool *is_ours = lower_flags(s->f);
    Val init = val_scalar(loop_int(b, s->count / 2)), guard, last;
    Carry carry = {0};
    lower_open_carry(l, &carry, &init, 1, SCALAR_BOOL);
    lower_open_guard(l, &carry, &guard);
    LoopRef more = loop_lt(b, loop_int(b, 0), guard.scalar);
    carry.guard = loop_close(b, &more, 1);
    LoopRef half = carry.state[0].scalar;
    LoopRef pairs = loop_min(b, half, loop_sub(b, s->size, half));
    Nest nest;
    lower_open_nest(l, &nest, 1, &pairs, false);
    load_lane(s, nest.index[0], left);
    load_lane(s, loop_add(b, nest.index[0], half), right);
    lower_fold_join(s->f, left, right, out, is_ours);
    store_lane(s, nest.index[0], out);
    lower_close_nest(l, &nest);
    Val next = val_scalar(loop_quot(b, half, loop_int(b, 2)));
    lower_close_carry(l, &carry, &next, NULL, 0, &last);
}

static void fold_lane_set(const LaneSet *s, Val *out) {
    Lower *l = s->f->l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1);
    fold_row(s, s->from, loop_min(b, s->lanes, s->size), true);
    LoopRef rows = loop_max(b, loop_quot(b, s->size, s->lanes), one);
    LoopRef more = loop_sub(b, rows, one);
    Nest nest;
    lower_open_nest(l, &nest, 1, &more, false);
    LoopRef row = loop_mul(b, loop_add(b, nest.index[0], one), s->lanes);
    fold_row(s, loop_add(b, s->from, row), s->lanes, false);
    lower_close_nest(l, &nest);
    LoopRef done = loop_mul(b, rows, s->lanes);
    fold_row(s, loop_add(b, s->from, done), loop_sub(b, s->size, done), false);
    fold_halves(s);
    Val *total = lower_group(s->f);
    load_lane(s, loop_int(b, 0), total);
    for (uint32_t c = 0; c < s->f->width; c++)
        if (is_in_set(s, c)) out[c] = total[c];
}

static void fold_lanes(const Fold *f, LoopRef from, LoopRef size, Val *out) {
    for (uint32_t count = LANES; count >= LANES / 2; count /= 2) {
        bool has_any = false;
        for (uint32_t c = 0; c < f->width; c++) has_any = has_any || lanes_of(f, c) == count;
        if (!has_any) continue;
        LoopRef lanes = loop_int(f->l->b, count);
        LaneSet set = {f, count, lanes, lower_slots(f, lanes), from, size};
        fold_lane_set(&set, out);
    }
}

// ---- runs ---------------------------------------------------------------------------

// Contiguous runs, then neighbours pairwise.
static void fold_runs(const Fold *f, LoopRef from, LoopRef size, Val *out) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef run = loop_int(b, RUN), one = loop_int(b, 1);
    LoopRef count = loop_quot(b, loop_add(b, size, loop_int(b, RUN - 1)), run);
    Slots runs = lower_slots(f, loop_int(b, LANES));
    Val *total = lower_group(f);
    Nest nest;
    lower_open_nest(l, &nest, 1, &count, false);
    LoopRef start = loop_mul(b, nest.index[0], run);
    lower_fold_serially(f, loop_add(b, from, start),
                        loop_min(b, run, loop_sub(b, size, start)), total);
    lower_store_slot(f, &runs, nest.index[0], total, NULL);
    lower_close_nest(l, &nest);

    Val init = val_scalar(one), guard, last;
    Carry carry = {0};
    lower_open_carry(l, &carry, &init, 1, SCALAR_BOOL);
    lower_open_guard(l, &carry, &guard);
    LoopRef more = loop_lt(b, guard.scalar, count);
    carry.guard = loop_close(b, &more, 1);
    LoopRef apart = carry.state[0].scalar, step = loop_add(b, apart, apart);
    LoopRef pairs = loop_quot(b, loop_sub(b, loop_add(b, count, apart), one), step);
    lower_open_nest(l, &nest, 1, &pairs, false);
    LoopRef left = loop_mul(b, nest.index[0], step);
    lower_join_slots(f, &runs, left, &runs, left, &runs, loop_add(b, left, apart));
    lower_close_nest(l, &nest);
    Val next = val_scalar(step);
    lower_close_carry(l, &carry, &next, NULL, 0, &last);
    lower_load_slot(f, &runs, loop_int(b, 0), out);
}

// ---- blocks -------------------------------------------------------------------------

static void fold_block(const Fold *f, LoopRef block, Val *out) {
    LoopRef from = loop_mul(f->l->b, block, loop_int(f->l->b, CORE_BLOCK));
    LoopRef size = lower_block_size(f->l, f->n, block);
    switch ((CoreStamp)f->stm->stamp) {
    case STAMP_NESTED_LANES: case STAMP_OUTER_LANES: fold_lanes(f, from, size, out); return;
    case STAMP_NESTED_RUNS: case STAMP_OUTER_RUNS: fold_runs(f, from, size, out); return;
    case STAMP_NESTED_ROWS: case STAMP_OUTER_ROWS: case STAMP_FREE: case STAMP_NONE:
    case STAMP_PARTS: case STAMP_COUNT:
        lower_fold_serially(f, from, size, out);
        return;
    }
}

// Block by block, each joined to the tree at once.
static void fold_in_order(const Fold *f, const Tree *tree, LoopRef blocks) {
    Lower *l = f->l;
    Val *total = lower_group(f);
    Nest nest;
    lower_open_nest(l, &nest, 1, &blocks, false);
    fold_block(f, nest.index[0], total);
    lower_store_slot(f, &tree->levels, tree->spare, total, NULL);
    lower_tree_push(f, tree, nest.index[0]);
    lower_close_nest(l, &nest);
}

static void fold_in_parallel(const Fold *f, const Tree *tree, LoopRef blocks) {
    Lower *l = f->l;
    Val *total = lower_group(f);
    Slots totals = lower_slots(f, blocks);
    Nest nest;
    lower_open_nest(l, &nest, 1, &blocks, true);
    fold_block(f, nest.index[0], total);
    lower_store_slot(f, &totals, nest.index[0], total, NULL);
    lower_close_nest(l, &nest);
    lower_open_nest(l, &nest, 1, &blocks, false);
    lower_load_slot(f, &totals, nest.index[0], total);
    lower_store_slot(f, &tree->levels, tree->spare, total, NULL);
    lower_tree_push(f, tree, nest.index[0]);
    lower_close_nest(l, &nest);
}

static void fold_blocks(const Fold *f, bool is_parallel, Val *out) {
    LoopRef blocks = lower_block_count(f->l, f->n);
    Tree tree = lower_tree(f);
    if (is_parallel)
        fold_in_parallel(f, &tree, blocks);
    else
        fold_in_order(f, &tree, blocks);
    lower_tree_total(f, &tree, blocks);
    lower_load_slot(f, &tree.levels, tree.spare, out);
}

// ---- the whole ----------------------------------------------------------------------

bool lower_is_nested(CoreStamp stamp) {
    return stamp == STAMP_NESTED_LANES || stamp == STAMP_NESTED_RUNS ||
           stamp == STAMP_NESTED_ROWS;
}

static void fold_nested(const Fold *f, Val *out);

// The reduction of at least one element.
static void fold_all(const Fold *f, bool is_parallel, Val *out) {
    Lower *l = f->l;
    CoreStamp stamp = (CoreStamp)f->stm->stamp;
    bool is_free = stamp == STAMP_FREE || stamp == STAMP_NONE;
    if (is_free && !is_parallel)
        lower_fold_serially(f, loop_int(l->b, 0), f->n, out);
    else if (lower_is_nested(stamp))
        fold_nested(f, out);
    else
        fold_blocks(f, is_parallel, out);
}

// An IF whose results are values: bodies are emitted between these.
typedef struct Fork {
    LoopBody *bodies[2];
    uint32_t known;
} Fork;

static void open_fork(Lower *l, Fork *fork) {
    fork->known = l->sizes.len;
    loop_open(l->b, NULL, 0);
}

static void close_arm(Lower *l, Fork *fork, uint32_t arm, const Fold *f, Val *vals) {
    struct { LoopRef *data; uint32_t len, cap; } refs = {0};
    LoopRef flat[2 + CORE_MAX_RANK];
    for (uint32_t c = 0; c < f->width; c++) {
        if (vals[c].array != NULL) vals[c].array = lower_make_dense(l, vals[c].array);
        uint32_t width = lower_flatten(l, &vals[c], 1, flat);
        for (uint32_t i = 0; i < width; i++) vec_push(l->arena, &refs, flat[i]);
    }
    fork->bodies[arm] = loop_close(l->b, refs.data, refs.len);
    l->sizes.len = fork->known;
    if (arm == 0) loop_open(l->b, NULL, 0);
}

static void close_fork(Lower *l, const Fork *fork, LoopRef c, const Fold *f, Val *out) {
    const LoopBody *like = fork->bodies[0];
    LoopStm *stm = loop_emit(l->b, LOOP_IF, &c, 1,
                             lower_types(l, like->results, like->result_count),
                             like->result_count);
    loop_set_bodies(l->b, stm, fork->bodies, 2);
    const LoopRef *refs = stm->outs;
    for (uint32_t k = 0; k < f->width; k++) {
        CoreType type = lower_type(l, f->op->results[k]);
        if (type.rank == 0) {
            out[k] = val_scalar(*refs++);
            continue;
        }
        Array *a = lower_dense(l, (ScalarType)type.elem, refs[0], refs[1], type.rank, refs + 2);
        lower_know_shape(l, a);
        out[k] = val_array(a);
        refs += 2 + type.rank;
    }
}

static void fold_nested(const Fold *f, Val *out) {
    Lower *l = f->l;
    uint64_t n;
    LoopRef is_short = loop_le(l->b, f->n, loop_int(l->b, CORE_BLOCK));
    bool is_known = loop_is_known(l->b, f->n, &n);
    if (is_known && n <= CORE_BLOCK) {
        lower_fold_serially(f, loop_int(l->b, 0), f->n, out);
        return;
    }
    Fork fork;
    Val *vals = lower_group(f);
    open_fork(l, &fork);
    lower_fold_serially(f, loop_int(l->b, 0), f->n, vals);
    close_arm(l, &fork, 0, f, vals);
    fold_blocks(f, false, vals);
    close_arm(l, &fork, 1, f, vals);
    close_fork(l, &fork, is_short, f, out);
}

void lower_reduce(Lower *l, const CoreStm *stm) {
    Fold fold = lower_fold(l, stm), *f = &fold;
    bool was_parallel = l->is_parallel;
    bool is_parallel = was_parallel && !lower_is_nested((CoreStamp)stm->stamp) &&
                       !lower_join_fails(f);
    l->is_parallel = false;
    Val *vals = lower_group(f);
    for (uint32_t c = 0; c < f->width; c++) vals[c] = f->ne[c];
    Fork fork;
    open_fork(l, &fork);
    close_arm(l, &fork, 0, f, vals);
    fold_all(f, is_parallel, vals);
    close_arm(l, &fork, 1, f, vals);
    close_fork(l, &fork, loop_eq(l->b, f->n, loop_int(l->b, 0)), f, vals);
    l->is_parallel = was_parallel;
    for (uint32_t c = 0; c < f->width; c++) {
        if (vals[c].array != NULL) {
            // The neutral element's own memory is not ours.
            const Array *ne = f->ne[c].array;
            vals[c].array->block =
                lower_join_blocks(l, lower_block(l), ne->kind == ARRAY_MEMORY ? ne->block : 0);
        }
        lower_bind(l, stm->outs[c], vals[c]);
    }
}
