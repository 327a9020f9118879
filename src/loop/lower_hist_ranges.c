// SPDX-License-Identifier: Apache-2.0
//
// Histograms of more bins than the caches hold, where any order gives the same bits.
// Values are first put together by ranges of bins that are in the caches at once:
// parts of the values count what goes into each range, sums say where the values of
// each part and range go, and the parts put theirs there, each as its place in the
// range and what is joined to it. Then the ranges take their values at once.
#include "loop/lower_hist.h"

enum {
    CACHES = 1 << 23, // bytes
    LEAST = 1 << 17,  // values
    PART = 1 << 16,   // values of a part at least
    MOST_PARTS = 64,
    RANGE_BITS = 16,      // of the places in a range, at least
    MOST_RANGES_BITS = 8, // so that there is a line of the first cache for each
    MOST_RANGES = 1 << MOST_RANGES_BITS,
    PLACE_BITS = 32,
    AT_ONCE = 4, // values of a turn
    // Values of which none are, between ranges. Those of even shares would lie powers
    // of two apart, all of whose next lines are wanted at once: of these, caches and
    // memory have few places.
    GAP = 528
};

typedef struct Ranges {
    const Hist *h;
    LoopRef parts, shift, mask;
    LoopRef count, row;  // of ranges; with one more, for values that have no bin
    const Array *at;     // by part and range: how many values, then where the next goes
    const Array *places; // by value, in the order of the ranges
    Array **values;      // likewise, by component; NULL: they are all
    Val *same;           // this one
} Ranges;

LoopRef hist_suits_ranges(const Hist *h) {
    LoopBuilder *b = h->fold.l->b;
    int64_t bytes = 0, most = (int64_t)MOST_RANGES << PLACE_BITS;
    for (uint32_t c = 0; c < h->fold.width; c++)
        bytes += scalar_info[h->dest.parts[c]->elem].bytes;
    LoopRef is_large = loop_lt(b, loop_int(b, CACHES / bytes), h->bins);
    LoopRef is_worth = loop_le(b, loop_int(b, LEAST), h->fold.n);
    LoopRef has_places = loop_le(b, h->bins, loop_int(b, most));
    return loop_and(b, is_large, loop_and(b, is_worth, has_places));
}

static LoopRef int2(const Lower *l, CoreOp op, LoopRef x, LoopRef y) {
    return loop_scalar(l->b, op, SCALAR_I64, (LoopRef[]){x, y}, 2);
}

static LoopRef convert(const Lower *l, ScalarType to, LoopRef x) {
    return loop_scalar(l->b, OP_CONV, to, &x, 1);
}

static Array *new_array(Lower *l, ScalarType elem, LoopRef count) {
    LoopRef buf = loop_alloc(l, elem, count);
    return loop_dense(l, elem, buf, loop_int(l->b, 0), 1, &count);
}

// Whether all values of a component are one, which is known here.
static bool are_same(const Hist *h, uint32_t c, Val *out) {
    Lower *l = h->fold.l;
    if (h->feeds.producer == NULL) {
        const Array *a = h->feeds.arrays[h->depth + c];
        *out = val_scalar(a->start);
        return a->kind == ARRAY_FILL;
    }
    CoreRef made = h->feeds.producer->results[h->depth + c];
    if (!l->core->values.data[made].is_const) return false;
    *out = loop_val(l, made);
    return true;
}

// Each range has a power of two of bins: those that are worth a range, or as many as it
// takes for there to be no more ranges than MOST_RANGES.
static Ranges open_ranges(const Hist *h) {
    const Fold *f = &h->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Ranges g = {.h = h};
    LoopRef one = loop_int(b, 1), last = loop_sub(b, h->bins, one);
    LoopRef zeros =
        convert(l, SCALAR_I64, loop_scalar(b, OP_CLZ, SCALAR_I32, &last, 1));
    g.shift = loop_max(b, loop_int(b, RANGE_BITS),
                       loop_sub(b, loop_int(b, 64 - MOST_RANGES_BITS), zeros));
    // Compilers see that it is less than the width.
    g.shift = int2(l, OP_AND, g.shift, loop_int(b, 63));
    g.mask = loop_sub(b, int2(l, OP_SHL, one, g.shift), one);
    g.count = loop_add(b, int2(l, OP_SHR, last, g.shift), one);
    g.row = loop_add(b, g.count, one);
    g.parts = loop_quot(b, f->n, loop_int(b, PART));
    g.parts = loop_min(b, g.parts, loop_int(b, MOST_PARTS));
    g.at = new_array(l, SCALAR_I64, loop_mul(b, g.parts, g.row));
    LoopRef room = loop_add(b, f->n, loop_mul(b, g.row, loop_int(b, GAP)));
    g.places = new_array(l, SCALAR_U32, room);
    g.values = arena_array(l->arena, Array *, f->width);
    g.same = loop_group(f);
    for (uint32_t c = 0; c < f->width; c++)
        if (!are_same(h, c, &g.same[c]))
            g.values[c] = new_array(l, (ScalarType)h->dest.parts[c]->elem, room);
    return g;
}

// ---- by part ------------------------------------------------------------------------

typedef struct Part {
    const Ranges *ranges;
    LoopRef row;     // where its ranges begin
    const Array *at; // by range, of its own: a place in it is one index
    bool moves;      // its values; or counts them
} Part;

// What is left of a value in its range.
static void put_value(const Ranges *g, const Val *made, LoopRef i, LoopRef bin,
                      LoopRef to) {
    const Fold *f = &g->h->fold;
    Lower *l = f->l;
    LoopRef place = convert(l, SCALAR_U32, int2(l, OP_AND, bin, g->mask));
    Val *value = loop_group(f);
    loop_store(l, g->places, &to, place);
    hist_value(g->h, made, i, value);
    for (uint32_t c = 0; c < f->width; c++)
        if (g->values[c] != NULL) loop_store(l, g->values[c], &to, value[c].scalar);
}

static void take_value(const void *env, LoopRef i, uint32_t k) {
    const Part *part = env;
    const Ranges *g = part->ranges;
    const Hist *h = g->h;
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    LoopRef bin;
    const Val *made = loop_produce(l, &h->feeds, i);
    LoopRef has_bin = hist_find_bin(h, made, i, &bin);
    LoopRef range = loop_select(b, has_bin, int2(l, OP_SHR, bin, g->shift), g->count);
    LoopRef to = loop_load(l, part->at, &range);
    (void)k;
    loop_store(l, part->at, &range, loop_add(b, to, loop_int(b, 1)));
    if (part->moves) put_value(g, made, i, bin, to);
}

// Before a part takes its values, and after that.
static void open_part(const Part *part) {
    const Ranges *g = part->ranges;
    Lower *l = g->h->fold.l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &g->row, ORDER_INDEPENDENT);
    LoopRef at = loop_add(l->b, part->row, nest.index[0]);
    LoopRef first = part->moves ? loop_load(l, g->at, &at) : loop_int(l->b, 0);
    loop_store(l, part->at, nest.index, first);
    loop_close_nest(l, &nest);
}

static void close_part(const Part *part) {
    const Ranges *g = part->ranges;
    Lower *l = g->h->fold.l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &g->row, ORDER_INDEPENDENT);
    LoopRef at = loop_add(l->b, part->row, nest.index[0]);
    loop_store(l, g->at, &at, loop_load(l, part->at, nest.index));
    loop_close_nest(l, &nest);
}

static void take_parts(const Ranges *g, bool moves) {
    const Hist *h = g->h;
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    Nest nest;
    loop_open_nest(l, &nest, 1, &g->parts, ORDER_PARALLEL);
    LoopRef p = nest.index[0], next = loop_add(b, p, loop_int(b, 1));
    LoopRef from = hist_part_start(h, p, g->parts);
    LoopRef count = loop_sub(b, hist_part_start(h, next, g->parts), from);
    Part part = {.ranges = g, .row = loop_mul(b, p, g->row), .moves = moves};
    part.at = new_array(l, SCALAR_I64, g->row);
    open_part(&part);
    loop_several(l, from, count, AT_ONCE, take_value, &part);
    close_part(&part);
    loop_close_nest(l, &nest);
}

// Counts become sums of those of the ranges before, with their gaps, and of the range
// in parts before.
static void sum_counts(const Ranges *g) {
    Lower *l = g->h->fold.l;
    LoopBuilder *b = l->b;
    Carry ranges, parts;
    Val zero = val_scalar(loop_int(b, 0)), sum;
    loop_open_carry(l, &ranges, &zero, NULL, 1, g->row);
    loop_open_carry(l, &parts, ranges.state, NULL, 1, g->parts);
    LoopRef before = parts.state[0].scalar;
    LoopRef at = loop_add(b, loop_mul(b, parts.index, g->row), ranges.index);
    Val next = val_scalar(loop_add(b, before, loop_load(l, g->at, &at)));
    loop_store(l, g->at, &at, before);
    loop_close_carry(l, &parts, &next, NULL, &sum);
    sum = val_scalar(loop_add(b, sum.scalar, loop_int(b, GAP)));
    loop_close_carry(l, &ranges, &sum, NULL, &next);
}

// ---- by range -----------------------------------------------------------------------

typedef struct Range {
    const Ranges *ranges;
    LoopRef first; // its first bin
} Range;

static void join_value(const void *env, LoopRef i, uint32_t k) {
    const Range *range = env;
    const Ranges *g = range->ranges;
    const Fold *f = &g->h->fold;
    Lower *l = f->l;
    LoopRef place = convert(l, SCALAR_I64, loop_load(l, g->places, &i));
    Val *value = loop_group(f);
    (void)k;
    for (uint32_t c = 0; c < f->width; c++)
        value[c] = g->values[c] == NULL ? g->same[c]
                                        : val_scalar(loop_load(l, g->values[c], &i));
    hist_join(g->h, &g->h->dest, loop_add(l->b, range->first, place), value);
}

// Now what the last part has for a range says where the range ends.
static void join_ranges(const Ranges *g) {
    Lower *l = g->h->fold.l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1), zero = loop_int(b, 0);
    LoopRef ends = loop_mul(b, loop_sub(b, g->parts, one), g->row);
    Nest nest;
    loop_open_nest(l, &nest, 1, &g->count, ORDER_PARALLEL);
    LoopRef r = nest.index[0], at = loop_add(b, ends, r);
    LoopRef end = loop_load(l, g->at, &at);
    LoopRef before = loop_add(b, ends, loop_max(b, loop_sub(b, r, one), zero));
    LoopRef begin = loop_add(b, loop_load(l, g->at, &before), loop_int(b, GAP));
    LoopRef from = loop_select(b, loop_eq(b, r, zero), zero, begin);
    Range range = {.ranges = g, .first = int2(l, OP_SHL, r, g->shift)};
    loop_several(l, from, loop_sub(b, end, from), AT_ONCE, join_value, &range);
    loop_close_nest(l, &nest);
}

void hist_by_ranges(const Hist *h) {
    Ranges ranges = open_ranges(h);
    take_parts(&ranges, false);
    sum_counts(&ranges);
    take_parts(&ranges, true);
    join_ranges(&ranges);
}
