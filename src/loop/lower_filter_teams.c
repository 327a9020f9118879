// SPDX-License-Identifier: Apache-2.0
//
// Filters by teams of work items (launch_team.c): they count the rows of each block
// that are kept, one team sums up the counts, and the teams put the rows of their
// blocks where they belong. All three go by tiles (lower_scan_tiles.c) of numbers to be
// summed up: neighbours look at neighbours, each item goes along a row of the tile, and
// one item along the rows. Rows of an array are copied last, all of their elements at
// once.
#include "loop/lower_filter.h"

enum { ROW = LOOP_TILE_ROW, ROWS = LOOP_TILE_ROWS, TILE = ROW * ROWS };

// Of a tile of numbers, which become what comes before each of them in its row.
typedef struct Sums {
    Lower *l;
    Array *tile;   // i32: they are at most 8192
    Array *ends;   // what comes before each row
    Array *so_far; // one: what comes before the tile
} Sums;

static Array *memory_of(Lower *l, ScalarType elem, LoopRef count) {
    LoopRef buf = loop_alloc(l, elem, count);
    return loop_dense(l, elem, buf, loop_int(l->b, 0), 1, &count);
}

static Sums new_sums(Lower *l, LoopRef start) {
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0);
    Sums sums = {.l = l};
    sums.tile = memory_of(l, SCALAR_I32, loop_int(b, ROWS * LOOP_TILE_APART));
    sums.ends = memory_of(l, SCALAR_I64, loop_int(b, ROWS));
    sums.so_far = memory_of(l, SCALAR_I64, loop_int(b, 1));
    loop_store(l, sums.so_far, &zero, start);
    return sums;
}

static LoopRef convert(Lower *l, ScalarType to, LoopRef x) {
    return loop_scalar(l->b, OP_CONV, to, &x, 1);
}

// Each item along a row.
static void add_rows(const Sums *s) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef rows = loop_int(b, ROWS);
    Val init = val_scalar(loop_const(b, SCALAR_I32, 0)), last;
    Nest nest;
    Carry carry;
    loop_open_nest(l, &nest, 1, &rows, ORDER_INDEPENDENT);
    LoopRef first = loop_mul(b, nest.index[0], loop_int(b, LOOP_TILE_APART));
    loop_open_carry(l, &carry, &init, NULL, 1, loop_int(b, ROW));
    LoopRef place = loop_add(b, first, carry.index), sum = carry.state[0].scalar;
    LoopRef number = loop_load(l, s->tile, &place);
    loop_store(l, s->tile, &place, sum);
    Val next =
        val_scalar(loop_scalar(b, OP_ADD, SCALAR_I32, (LoopRef[]){sum, number}, 2));
    loop_close_carry(l, &carry, &next, NULL, &last);
    loop_store(l, s->ends, nest.index, convert(l, SCALAR_I64, last.scalar));
    loop_close_nest(l, &nest);
}

// One item along the rows.
static void add_ends(const Sums *s) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1);
    Nest nest;
    Carry carry;
    loop_open_nest(l, &nest, 1, &one, ORDER_INDEPENDENT);
    Val init = val_scalar(loop_load(l, s->so_far, nest.index)), last;
    loop_open_carry(l, &carry, &init, NULL, 1, loop_int(b, ROWS));
    LoopRef end = loop_load(l, s->ends, &carry.index), sum = carry.state[0].scalar;
    loop_store(l, s->ends, &carry.index, sum);
    Val next = val_scalar(loop_add(b, sum, end));
    loop_close_carry(l, &carry, &next, NULL, &last);
    loop_store(l, s->so_far, nest.index, last.scalar);
    loop_close_nest(l, &nest);
}

// What comes before number k of the tile.
static LoopRef sum_before(const Sums *s, LoopRef k) {
    Lower *l = s->l;
    LoopRef row = loop_quot(l->b, k, loop_int(l->b, ROW));
    LoopRef place = loop_tile_place(l, k);
    LoopRef within = convert(l, SCALAR_I64, loop_load(l, s->tile, &place));
    return loop_add(l->b, loop_load(l, s->ends, &row), within);
}

// The number that place i stands for.
typedef LoopRef Number(Lower *l, const void *from, LoopRef i);

// Sums up those of a tile from `start` on. What is left of the last one is filled up
// with 0, so that all rows are whole; what place `end - 1` stands for is there.
static void sum_tile(const Sums *s, Number *number, const void *from, LoopRef start,
                     LoopRef end) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef tile = loop_int(b, TILE), last = loop_sub(b, end, loop_int(b, 1));
    Nest nest;
    loop_open_nest(l, &nest, 1, &tile, ORDER_INDEPENDENT);
    LoopRef k = nest.index[0], i = loop_add(b, start, k), place = loop_tile_place(l, k);
    LoopRef some = number(l, from, loop_min(b, i, last));
    some = loop_select(b, loop_lt(b, i, end), some, loop_const(b, SCALAR_I32, 0));
    loop_store(l, s->tile, &place, some);
    loop_close_nest(l, &nest);
    add_rows(s);
    add_ends(s);
}

// Between two: what is emitted there runs for each tile of [from, to).
typedef struct Tiles {
    Nest nest;
    LoopRef start, count, times;
} Tiles;

static void open_tiles(Lower *l, Tiles *t, LoopRef from, LoopRef to) {
    LoopBuilder *b = l->b;
    LoopRef tile = loop_int(b, TILE), more = loop_int(b, TILE - 1);
    t->times = loop_quot(b, loop_add(b, loop_sub(b, to, from), more), tile);
    loop_open_nest(l, &t->nest, 1, &t->times, ORDER_SEQUENTIAL);
    t->start = loop_add(b, from, loop_mul(b, t->nest.index[0], tile));
    t->count = loop_min(b, tile, loop_sub(b, to, t->start));
}

// ---- the three launches -------------------------------------------------------------

static LoopRef is_kept(Lower *l, const void *from, LoopRef i) {
    return convert(l, SCALAR_I32, filter_row(l, from, i)[0].scalar);
}

// How many rows of each block are kept.
static void count_blocks(Lower *l, const Filter *f, LoopRef blocks,
                         const Array *starts) {
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0);
    Nest nest;
    Tiles tiles;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    Sums sums = new_sums(l, zero);
    LoopRef to = filter_block_end(l, f->feeds.n, nest.index[0]);
    open_tiles(l, &tiles, filter_block_start(l, nest.index[0]), to);
    sum_tile(&sums, is_kept, f, tiles.start, to);
    loop_close_nest(l, &tiles.nest);
    loop_store(l, starts, nest.index, loop_load(l, sums.so_far, &zero));
    loop_close_nest(l, &nest);
}

static LoopRef count_at(Lower *l, const void *from, LoopRef i) {
    return convert(l, SCALAR_I32, loop_load(l, from, &i));
}

// Counts become the sums of those before, and behind the last block there is the sum of
// all. By one team.
static void sum_counts(Lower *l, LoopRef blocks, const Array *starts) {
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    Nest nest, inner;
    Tiles tiles;
    loop_open_nest(l, &nest, 1, &one, ORDER_PARALLEL);
    Sums sums = new_sums(l, zero);
    open_tiles(l, &tiles, zero, blocks);
    sum_tile(&sums, count_at, starts, tiles.start, blocks);
    loop_open_nest(l, &inner, 1, &tiles.count, ORDER_INDEPENDENT);
    LoopRef block = loop_add(b, tiles.start, inner.index[0]);
    loop_store(l, starts, &block, sum_before(&sums, inner.index[0]));
    loop_close_nest(l, &inner);
    loop_close_nest(l, &tiles.nest);
    loop_store(l, starts, &blocks, loop_load(l, sums.so_far, &zero));
    loop_close_nest(l, &nest);
}

// Puts the rows that are kept where they belong: their scalars, and if they are not
// flat their numbers.
static void pack_blocks(Lower *l, const Filter *f, LoopRef blocks, const Array *starts,
                        const Array *sources) {
    LoopBuilder *b = l->b;
    Nest nest, inner;
    Tiles tiles;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    Sums sums = new_sums(l, loop_load(l, starts, nest.index));
    LoopRef to = filter_block_end(l, f->feeds.n, nest.index[0]);
    open_tiles(l, &tiles, filter_block_start(l, nest.index[0]), to);
    sum_tile(&sums, is_kept, f, tiles.start, to);
    loop_open_nest(l, &inner, 1, &tiles.count, ORDER_INDEPENDENT);
    LoopRef i = loop_add(b, tiles.start, inner.index[0]);
    const Val *made = filter_row(l, f, i);
    When when = loop_open_if(l, made[0].scalar);
    LoopRef at = sum_before(&sums, inner.index[0]);
    for (uint32_t k = 0; k < f->stm->out_count; k++)
        if (made[1 + k].array == NULL)
            loop_store(l, f->outs[k], &at, made[1 + k].scalar);
    if (sources != NULL) loop_store(l, sources, &at, i);
    loop_close_if(l, when);
    loop_close_nest(l, &inner);
    loop_close_nest(l, &tiles.nest);
    loop_close_nest(l, &nest);
}

static void copy_rows(Lower *l, const Filter *f, LoopRef kept, const Array *sources) {
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        if (f->outs[k]->rank == 1) continue;
        Nest nest;
        loop_open_nest(l, &nest, 1, &kept, ORDER_PARALLEL);
        LoopRef from = loop_load(l, sources, nest.index);
        loop_set_element(l, f->outs[k], nest.index[0],
                         loop_element(l, loop_feeds_array(&f->feeds, 1 + k), from));
        loop_close_nest(l, &nest);
    }
}

// ---- the whole ----------------------------------------------------------------------

// Flags and scalars of all rows, in memory.
static Filter make_all(Lower *l, const Filter *f) {
    uint32_t count = f->stm->out_count;
    Filter made = *f;
    made.feeds = (Feeds){.n = f->feeds.n, .count = 1 + count};
    made.feeds.arrays = arena_array(l->arena, Array *, 1 + count);
    made.feeds.arrays[0] = memory_of(l, SCALAR_BOOL, f->feeds.n);
    for (uint32_t k = 0; k < count; k++) {
        CoreType type = loop_core_type(l, f->stm->outs[k]);
        made.feeds.arrays[1 + k] =
            type.rank > 1 ? loop_feeds_array(&f->feeds, 1 + k)
                          : memory_of(l, (ScalarType)type.elem, f->feeds.n);
    }
    Nest nest;
    loop_open_nest(l, &nest, 1, &made.feeds.n, ORDER_PARALLEL);
    const Val *row = filter_row(l, f, nest.index[0]);
    for (uint32_t k = 0; k <= count; k++)
        if (row[k].array == NULL)
            loop_store(l, made.feeds.arrays[k], nest.index, row[k].scalar);
    loop_close_nest(l, &nest);
    return made;
}

void filter_by_teams(Lower *l, Filter *f, bool is_twice) {
    LoopBuilder *b = l->b;
    LoopRef blocks = loop_block_count(l, f->feeds.n);
    Filter rows = is_twice ? *f : make_all(l, f);
    Array *starts = memory_of(l, SCALAR_I64, loop_add(b, blocks, loop_int(b, 1)));
    Array *sources = NULL;
    count_blocks(l, &rows, blocks, starts);
    sum_counts(l, blocks, starts);
    LoopRef kept = loop_load(l, starts, &blocks);
    filter_outs(l, f, kept);
    if (!f->is_flat) sources = memory_of(l, SCALAR_I64, kept);
    pack_blocks(l, &rows, blocks, starts, sources);
    if (!f->is_flat) copy_rows(l, &rows, kept, sources);
}
