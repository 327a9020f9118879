// SPDX-License-Identifier: Apache-2.0
//
// Inclusive scans in rows of 16, for teams of work items (launch_team.c). A block goes
// by tiles of 32 rows: the team fetches a tile, each item scans a row of it, one item
// takes the carry along the rows' ends, and the team puts the tile back with the
// carries joined. Neighbours touch neighbours outside, and no wait lies in a branch.
// The carries into the blocks come from the aligned trees over the blocks before, all
// at once.
#include "loop/lower.h"

enum { ROW = LOOP_TILE_ROW, ROWS = LOOP_TILE_ROWS, TILE = ROW * ROWS };
enum { APART = LOOP_TILE_APART };

typedef struct Tiles {
    const Fold *f;
    const Slots *outs;    // NULL: only what blocks amount to is wanted
    const Slots *carries; // by block: into it; else what it amounts to
    Slots tile, ends;     // ends: what comes before each row
    Slots so_far;         // one: what comes before the next row
    LoopRef from, size;   // of the block
    LoopRef has_carry;    // into the block
} Tiles;

LoopRef loop_tile_place(Lower *l, LoopRef k) {
    return loop_add(l->b, k, loop_quot(l->b, k, loop_int(l->b, ROW)));
}

// Behind the last element it is there again: no row of a tile is ever short.
static void fetch_tile(const Tiles *t, LoopRef first, LoopRef count) {
    Lower *l = t->f->l;
    LoopBuilder *b = l->b;
    LoopRef tile = loop_int(b, TILE), last = loop_sub(b, count, loop_int(b, 1));
    Val *vals = loop_group(t->f);
    bool *is_ours = loop_flags(t->f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &tile, ORDER_INDEPENDENT);
    LoopRef k = nest.index[0];
    loop_fold_first(t->f, loop_add(b, first, loop_min(b, k, last)), vals, is_ours);
    loop_store_slot(t->f, &t->tile, loop_tile_place(l, k), vals, NULL);
    loop_close_nest(l, &nest);
}

// Sklansky's scan: at distance d, the upper half of each 2d takes in the last of the
// lower half.
static void scan_row(const Fold *f, const Slots *row) {
    Lower *l = f->l;
    for (int64_t d = 1; d < ROW; d *= 2)
        for (int64_t k = 0; k < ROW; k++)
            if ((k & d) != 0)
                loop_join_slots(f, row, loop_int(l->b, k), row,
                                loop_int(l->b, (k & -d) - 1), row, loop_int(l->b, k));
}

static void scan_rows(const Tiles *t) {
    Lower *l = t->f->l;
    LoopBuilder *b = l->b;
    LoopRef rows = loop_int(b, ROWS), width = loop_int(b, ROW);
    Nest nest, inner;
    loop_open_nest(l, &nest, 1, &rows, ORDER_INDEPENDENT);
    Slots row = loop_slots(t->f, width);
    LoopRef at = loop_mul(b, nest.index[0], loop_int(b, APART));
    loop_open_nest(l, &inner, 1, &width, ORDER_INDEPENDENT);
    loop_copy_slot(t->f, &row, inner.index[0], &t->tile,
                   loop_add(b, at, inner.index[0]));
    loop_close_nest(l, &inner);
    scan_row(t->f, &row);
    loop_open_nest(l, &inner, 1, &width, ORDER_INDEPENDENT);
    loop_copy_slot(t->f, &t->tile, loop_add(b, at, inner.index[0]), &row,
                   inner.index[0]);
    loop_close_nest(l, &inner);
    loop_close_nest(l, &nest);
}

// The right one joined to the left one, if there is a left one.
static void join_if(const Fold *f, LoopRef has_left, const Val *left, const Val *right,
                    Val *out) {
    Fork fork;
    Val *vals = loop_group(f);
    bool *is_ours = loop_flags(f);
    loop_open_fork(f->l, &fork);
    loop_fold_join(f, left, right, vals, is_ours);
    loop_close_arm(f, &fork, 0, vals);
    for (uint32_t c = 0; c < f->width; c++) vals[c] = right[c];
    loop_close_arm(f, &fork, 1, vals);
    loop_close_fork(f, &fork, has_left, out);
}

// Whether anything comes before a row of the tile whose first row is number `first`.
static LoopRef is_later(const Tiles *t, LoopRef first, LoopRef row) {
    LoopBuilder *b = t->f->l->b;
    LoopRef number = loop_add(b, first, row);
    return loop_or(b, t->has_carry, loop_lt(b, loop_int(b, 0), number));
}

// One item goes along the rows.
static void carry_along(const Tiles *t, LoopRef first, LoopRef count) {
    const Fold *f = t->f;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1), width = loop_int(b, ROW), most = loop_int(b, ROW - 1);
    LoopRef rows = loop_quot(b, loop_add(b, count, most), width);
    Val *init = loop_group(f), *end = loop_group(f), *next = loop_group(f);
    Val *last = loop_group(f);
    Nest nest;
    Carry carry;
    loop_open_nest(l, &nest, 1, &one, ORDER_INDEPENDENT);
    loop_load_slot(f, &t->so_far, nest.index[0], init);
    loop_open_carry(l, &carry, init, NULL, f->width, rows);
    LoopRef row = carry.index, at = loop_mul(b, row, width);
    loop_store_slot(f, &t->ends, row, carry.state, NULL);
    LoopRef last_place = loop_sub(b, count, one);
    LoopRef k = loop_min(b, loop_add(b, at, most), last_place);
    loop_load_slot(f, &t->tile, loop_tile_place(l, k), end);
    join_if(f, is_later(t, first, row), carry.state, end, next);
    loop_close_carry(l, &carry, next, loop_flags(f), last);
    loop_store_slot(f, &t->so_far, nest.index[0], last, NULL);
    loop_close_nest(l, &nest);
}

static void put_tile(const Tiles *t, LoopRef first, LoopRef from, LoopRef count) {
    const Fold *f = t->f;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Val *end = loop_group(f), *val = loop_group(f), *out = loop_group(f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef k = nest.index[0], row = loop_quot(b, k, loop_int(b, ROW));
    loop_load_slot(f, &t->ends, row, end);
    loop_load_slot(f, &t->tile, loop_tile_place(l, k), val);
    join_if(f, is_later(t, first, row), end, val, out);
    loop_store_slot(f, t->outs, loop_add(b, from, k), out, NULL);
    loop_close_nest(l, &nest);
}

static void scan_tile(const Tiles *t, LoopRef number) {
    Lower *l = t->f->l;
    LoopBuilder *b = l->b;
    LoopRef start = loop_mul(b, number, loop_int(b, TILE));
    LoopRef count = loop_min(b, loop_int(b, TILE), loop_sub(b, t->size, start));
    LoopRef from = loop_add(b, t->from, start);
    LoopRef first = loop_mul(b, number, loop_int(b, ROWS));
    fetch_tile(t, from, count);
    scan_rows(t);
    carry_along(t, first, count);
    if (t->outs != NULL) put_tile(t, first, from, count);
}

// All blocks at once. Where there is no carry, what stands for one is not looked at.
static void scan_blocks(const Fold *f, LoopRef blocks, const Slots *carries,
                        const Slots *outs) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), more = loop_int(b, TILE - 1);
    Nest nest, inner;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    LoopRef block = nest.index[0];
    Tiles t = {.f = f,
               .outs = outs,
               .carries = carries,
               .tile = loop_slots(f, loop_int(b, ROWS * APART)),
               .ends = loop_slots(f, loop_int(b, ROWS)),
               .so_far = loop_slots(f, loop_int(b, 1)),
               .from = loop_mul(b, block, loop_int(b, CORE_BLOCK)),
               .size = loop_block_size(l, f->n, block),
               .has_carry = loop_const(b, SCALAR_BOOL, 0)};
    if (outs != NULL) {
        t.has_carry = loop_lt(b, zero, block);
        loop_copy_slot(f, &t.so_far, zero, carries, block);
    } else {
        loop_store_slot(f, &t.so_far, zero, f->ne, NULL);
    }
    LoopRef tiles = loop_quot(b, loop_add(b, t.size, more), loop_int(b, TILE));
    loop_open_nest(l, &inner, 1, &tiles, ORDER_SEQUENTIAL);
    scan_tile(&t, inner.index[0]);
    loop_close_nest(l, &inner);
    if (outs == NULL) loop_copy_slot(f, carries, block, &t.so_far, zero);
    loop_close_nest(l, &nest);
}

// ---- carries into blocks ------------------------------------------------------------

// Where the aligned trees over so many blocks are without the last of them.
static LoopRef drop_tree(Lower *l, LoopRef blocks) {
    LoopRef less = loop_sub(l->b, blocks, loop_int(l->b, 1));
    return loop_scalar(l->b, OP_AND, SCALAR_I64, (LoopRef[]){blocks, less}, 2);
}

// Level by level. A tree lies where its last block lay, which is the only tree to end
// there that the carries want.
static void grow_trees(const Fold *f, LoopRef blocks, const Slots *sums) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1);
    Val init = val_scalar(one), guard, last;
    Carry carry;
    loop_open_carry(l, &carry, &init, NULL, 1, 0);
    loop_open_guard(l, &carry, &guard);
    LoopRef more = loop_lt(b, guard.scalar, blocks);
    carry.guard = loop_close(b, &more, 1);
    LoopRef half = carry.state[0].scalar, whole = loop_add(b, half, half);
    LoopRef trees = loop_quot(b, blocks, whole);
    Nest nest;
    loop_open_nest(l, &nest, 1, &trees, ORDER_PARALLEL);
    LoopRef end = loop_mul(b, loop_add(b, nest.index[0], one), whole);
    LoopRef right = loop_sub(b, end, one), left = loop_sub(b, right, half);
    loop_join_slots(f, sums, right, sums, left, sums, right);
    loop_close_nest(l, &nest);
    Val next = val_scalar(whole);
    loop_close_carry(l, &carry, &next, NULL, &last);
}

// The tree over the trees before the block, which end at `end` and before.
static void join_trees(const Fold *f, const Slots *sums, LoopRef end, const Val *last,
                       Val *out) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Val *init = arena_array(l->arena, Val, f->width + 1);
    Val *guard = arena_array(l->arena, Val, f->width + 1);
    Val *next = arena_array(l->arena, Val, f->width + 1);
    Val *all = arena_array(l->arena, Val, f->width + 1), *tree = loop_group(f);
    bool *is_ours = arena_array(l->arena, bool, f->width + 1);
    Carry carry;
    for (uint32_t c = 0; c < f->width; c++) init[c] = last[c];
    init[f->width] = val_scalar(end);
    loop_open_carry(l, &carry, init, NULL, f->width + 1, 0);
    loop_open_guard(l, &carry, guard);
    LoopRef more = loop_lt(b, loop_int(b, 0), guard[f->width].scalar);
    carry.guard = loop_close(b, &more, 1);
    LoopRef at = carry.state[f->width].scalar;
    loop_load_slot(f, sums, loop_sub(b, at, loop_int(b, 1)), tree);
    loop_fold_join(f, tree, carry.state, next, is_ours);
    next[f->width] = val_scalar(drop_tree(l, at));
    loop_close_carry(l, &carry, next, is_ours, all);
    for (uint32_t c = 0; c < f->width; c++) out[c] = all[c];
}

// The first block's stands for nothing.
static void find_carries(const Fold *f, LoopRef blocks, const Slots *sums,
                         const Slots *carries) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1);
    Val *last = loop_group(f), *carry = loop_group(f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    LoopRef block = nest.index[0];
    LoopRef before = loop_max(b, loop_sub(b, block, one), loop_int(b, 0));
    loop_load_slot(f, sums, before, last);
    join_trees(f, sums, drop_tree(l, block), last, carry);
    loop_store_slot(f, carries, block, carry, NULL);
    loop_close_nest(l, &nest);
}

// ---- the whole ----------------------------------------------------------------------

bool loop_scans_tiles(const Fold *f) {
    CoreStamp stamp = (CoreStamp)f->stm->stamp;
    bool can =
        f->l->is_for_gpus && (stamp == STAMP_FREE || stamp == STAMP_OUTER_LANES ||
                              stamp == STAMP_NESTED_LANES);
    for (uint32_t c = 0; c < f->width; c++)
        can = can && loop_core_type(f->l, f->op->results[c]).rank == 0;
    return can;
}

void loop_scan_tiles(const Fold *f, const Slots *outs) {
    LoopRef blocks = loop_block_count(f->l, f->n);
    Slots sums = loop_slots(f, blocks), carries = loop_slots(f, blocks);
    scan_blocks(f, blocks, &sums, NULL);
    grow_trees(f, blocks, &sums);
    find_carries(f, blocks, &sums, &carries);
    scan_blocks(f, blocks, &carries, outs);
}
