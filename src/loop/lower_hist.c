// SPDX-License-Identifier: Apache-2.0
//
// Histograms. An inexact one has parts, each with bins of its own; the tree over the
// parts joins them bin by bin, and dest joins last. In a parallel kernel parts are
// made, and bins joined, at once. An exact one folds its values into dest in index
// order, or goes by parts as well where that pays. On GPUs a team has few bins as its
// own (launch.h).
#include "loop/lower_hist.h"

#include <string.h>

enum {
    MOST_PARTS = 64,
    TIMES = 4,       // as many values as bins, at least, are a part
    EXACT_TIMES = 8, // likewise on cores, where the parts are as one likes
    AT_ONCE = 4,     // values of a turn
    COPIES = 8,      // of the bins of a part, where these are few
    FEW = 512,       // bins
    NEAR = 1 << 16   // bins, of which caches hold some copies
};

// Bins as slots: the dimensions of the index space as one.
static Array *as_bins(const Hist *h, const Array *a) {
    Lower *l = h->fold.l;
    Array *bins = arena_copy(l->arena, a, sizeof *a);
    bins->rank = (uint8_t)(a->rank - h->depth + 1);
    bins->shape = arena_array(l->arena, LoopRef, bins->rank);
    bins->strides = arena_array(l->arena, LoopRef, bins->rank);
    bins->shape[0] = h->bins;
    memcpy(bins->shape + 1, a->shape + h->depth,
           (bins->rank - 1u) * sizeof *bins->shape);
    loop_set_dense(l, bins);
    return bins;
}

// Which bin value i goes into; returns whether there is such a bin.
LoopRef hist_find_bin(const Hist *h, const Val *made, LoopRef i, LoopRef *bin_out) {
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    LoopRef inside = loop_const(b, SCALAR_BOOL, 1), bin = loop_int(b, 0);
    for (uint32_t d = 0; d < h->depth; d++) {
        LoopRef index =
            made != NULL ? made[d].scalar : loop_load(l, h->feeds.arrays[d], &i);
        // One comparison finds out what is below 0, too: as u64 it is above all sizes.
        LoopRef sides[2] = {loop_scalar(b, OP_CONV, SCALAR_U64, &index, 1),
                            loop_scalar(b, OP_CONV, SCALAR_U64, &h->sizes[d], 1)};
        inside = loop_and(b, inside, loop_scalar(b, OP_LT, SCALAR_BOOL, sides, 2));
        bin = loop_add(b, loop_mul(b, bin, h->sizes[d]), index);
    }
    *bin_out = bin;
    return inside;
}

void hist_value(const Hist *h, const Val *made, LoopRef i, Val *out) {
    for (uint32_t c = 0; c < h->fold.width; c++)
        out[c] = made != NULL ? made[h->depth + c]
                              : loop_feed(h->fold.l, h->feeds.arrays[h->depth + c], i);
}

void hist_join(const Hist *h, const Slots *bins, LoopRef bin, const Val *value) {
    if (h->atomic != OP_COUNT)
        loop_atomic(h->fold.l, h->atomic, bins->parts[0], &bin, value[0].scalar);
    else loop_join_into(&h->fold, bins, bin, value);
}

// The bins from `first` on.
static Slots bins_from(const Hist *h, const Slots *bins, LoopRef first) {
    Lower *l = h->fold.l;
    Slots rest = {.parts = arena_array(l->arena, Array *, h->fold.width)};
    for (uint32_t c = 0; c < h->fold.width; c++) {
        const Array *all = bins->parts[c];
        Array *part = rest.parts[c] = arena_copy(l->arena, all, sizeof *all);
        LoopRef before = loop_mul(l->b, first, all->strides[0]);
        part->off = loop_add(l->b, all->off, before);
    }
    return rest;
}

// Takes value i into its bin if it has one.
void hist_take(const Hist *h, const Slots *bins, LoopRef i) {
    Lower *l = h->fold.l;
    LoopRef bin;
    const Val *made = loop_produce(l, &h->feeds, i);
    LoopRef inside = hist_find_bin(h, made, i, &bin);
    Val *value = loop_group(&h->fold);
    When when = loop_open_if(l, inside);
    hist_value(h, made, i, value);
    hist_join(h, bins, bin, value);
    loop_close_if(l, when);
}

bool hist_is_simple(const Hist *h) {
    bool is = !h->fold.l->is_for_gpus &&
              (h->feeds.producer == NULL || loop_is_cheap(h->feeds.producer));
    for (uint32_t c = 0; c < h->fold.width; c++)
        is = is && loop_core_type(h->fold.l, h->fold.op->results[c]).rank == 0;
    return is;
}

// Whether the operator chooses one of its values, as most do that look for the largest
// together with its place: turns that change nothing are then looked at together
// (rare.c).
static bool chooses(const Fold *f) {
    const CoreBody *op = f->op;
    const CoreStm *last = op->stms.len > 0 ? op->stms.data[op->stms.len - 1] : NULL;
    return last != NULL && last->op == OP_IF && last->outs[0] == op->results[0];
}

typedef struct Take {
    const Hist *h;
    Slots copies[COPIES]; // of the bins; the first, if there are no others
} Take;

static void take_value(const void *env, LoopRef i, uint32_t k) {
    const Take *t = env;
    hist_take(t->h, &t->copies[t->h->apart != 0 ? k : 0], i);
}

// Takes values into bins from `first` on, in order. With copies neighbours go into
// different ones, so that one need not wait for the other where they are in the same
// bin.
static void take_values(const Hist *h, const Slots *bins, LoopRef first, LoopRef from,
                        LoopRef to) {
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    Take take = {.h = h, .copies = {bins_from(h, bins, first)}};
    for (uint32_t k = 1; k < COPIES && h->apart != 0; k++)
        take.copies[k] =
            bins_from(h, &take.copies[0], loop_mul(b, loop_int(b, k), h->apart));
    uint32_t several = h->apart != 0                             ? COPIES
                       : hist_is_simple(h) && !chooses(&h->fold) ? AT_ONCE
                                                                 : 1;
    loop_several(l, from, loop_sub(b, to, from), several, take_value, &take);
}

// ---- parts --------------------------------------------------------------------------

// clamp(n / max(block, so many times the bins), 1, MOST_PARTS)
static LoopRef count_parts(const Hist *h, int64_t times) {
    LoopBuilder *b = h->fold.l->b;
    LoopRef most = loop_int(b, INT64_MAX / times);
    LoopRef each = loop_mul(b, loop_int(b, times), loop_min(b, h->bins, most));
    each = loop_max(b, each, loop_int(b, CORE_BLOCK));
    LoopRef parts = loop_quot(b, h->fold.n, each);
    return loop_min(b, loop_max(b, parts, loop_int(b, 1)), loop_int(b, MOST_PARTS));
}

// p * n might overflow.
LoopRef hist_part_start(const Hist *h, LoopRef p, LoopRef parts) {
    LoopBuilder *b = h->fold.l->b;
    LoopRef whole = loop_mul(b, loop_quot(b, h->fold.n, parts), p);
    LoopRef rest = loop_mul(b, loop_rem(b, h->fold.n, parts), p);
    return loop_add(b, whole, loop_quot(b, rest, parts));
}

// Fills the bins of part p, which lie in a row in `all`.
static void make_part(const Hist *h, const Slots *all, LoopRef p, LoopRef parts) {
    const Fold *f = &h->fold;
    Lower *l = f->l;
    LoopRef first = loop_mul(l->b, p, h->width);
    Nest nest;
    loop_open_nest(l, &nest, 1, &h->width, ORDER_INDEPENDENT);
    loop_store_slot(f, all, loop_add(l->b, first, nest.index[0]), f->ne, NULL);
    loop_close_nest(l, &nest);
    LoopRef next = loop_add(l->b, p, loop_int(l->b, 1));
    LoopRef from = hist_part_start(h, p, parts), to = hist_part_start(h, next, parts);
    take_values(h, all, first, from, to);
}

// Bins of part `left` = themselves op those of part `right`, in the range.
static void join_parts(const Hist *h, const Slots *all, LoopRef left, LoopRef right) {
    const Fold *f = &h->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Nest nest;
    loop_open_nest(l, &nest, 1, &h->range.count, ORDER_INDEPENDENT);
    LoopRef bin = loop_add(b, h->range.from, nest.index[0]);
    LoopRef i = loop_add(b, loop_mul(b, left, h->width), bin);
    LoopRef j = loop_add(b, loop_mul(b, right, h->width), bin);
    loop_join_slots(f, all, i, all, i, all, j);
    loop_close_nest(l, &nest);
}

// Joins the trees that part p completes; a tree lies where its first part lay.
static void push_part(const Hist *h, const Slots *all, LoopRef p) {
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1);
    Val init = val_scalar(one), guard, last;
    Carry carry;
    loop_open_carry(l, &carry, &init, NULL, 1, 0);
    loop_open_guard(l, &carry, &guard);
    LoopRef bit = loop_scalar(b, OP_AND, SCALAR_I64, (LoopRef[]){p, guard.scalar}, 2);
    LoopRef more = loop_not(b, loop_eq(b, bit, loop_int(b, 0)));
    carry.guard = loop_close(b, &more, 1);
    // The tree of `size` parts that ends with p, and the one before it.
    LoopRef size = carry.state[0].scalar, end = loop_add(b, p, one);
    LoopRef right = loop_sub(b, end, size), left = loop_sub(b, right, size);
    join_parts(h, all, left, right);
    Val next = val_scalar(loop_add(b, size, size));
    loop_close_carry(l, &carry, &next, NULL, &last);
}

static LoopRef drop_bit(Lower *l, LoopRef number) {
    LoopRef less = loop_sub(l->b, number, loop_int(l->b, 1));
    return loop_scalar(l->b, OP_AND, SCALAR_I64, (LoopRef[]){number, less}, 2);
}

// Joins the trees that are left, from the right, into that of part 0.
static void join_trees(const Hist *h, const Slots *all, LoopRef parts) {
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0);
    // Without its lowest bit, the number says where the rightmost tree begins.
    Val init = val_scalar(drop_bit(l, parts)), guard, last;
    Carry carry;
    loop_open_carry(l, &carry, &init, NULL, 1, 0);
    loop_open_guard(l, &carry, &guard);
    LoopRef more = loop_lt(b, zero, guard.scalar);
    carry.guard = loop_close(b, &more, 1);
    LoopRef right = carry.state[0].scalar, left = drop_bit(l, right);
    join_parts(h, all, left, right);
    Val next = val_scalar(left);
    loop_close_carry(l, &carry, &next, NULL, &last);
}

static void join_dest(const Hist *h, const Slots *all) {
    Lower *l = h->fold.l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &h->range.count, ORDER_INDEPENDENT);
    LoopRef i = loop_add(l->b, h->range.from, nest.index[0]);
    loop_join_slots(&h->fold, &h->dest, i, &h->dest, i, all, i);
    loop_close_nest(l, &nest);
}

// Joins the copies of a part, in the bins at hand.
static void join_copies(const Hist *h, const Slots *all, LoopRef part) {
    const Fold *f = &h->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    When when = loop_open_if(l, loop_lt(b, loop_int(b, 0), h->apart));
    Nest nest;
    loop_open_nest(l, &nest, 1, &h->range.count, ORDER_INDEPENDENT);
    LoopRef i = loop_add(b, h->range.from, nest.index[0]);
    i = loop_add(b, loop_mul(b, part, h->width), i);
    for (int64_t c = 1; c < COPIES; c++) {
        LoopRef j = loop_add(b, i, loop_mul(b, loop_int(b, c), h->apart));
        loop_join_slots(f, all, i, all, i, all, j);
    }
    loop_close_nest(l, &nest);
    loop_close_if(l, when);
}

// Joins the parts that have been made, and them to dest, in the bins at hand.
static void join_all(const Hist *h, const Slots *all, LoopRef parts) {
    Nest nest;
    loop_open_nest(h->fold.l, &nest, 1, &parts, ORDER_SEQUENTIAL);
    if (h->apart != 0) join_copies(h, all, nest.index[0]);
    push_part(h, all, nest.index[0]);
    loop_close_nest(h->fold.l, &nest);
    join_trees(h, all, parts);
    join_dest(h, all);
}

static void fold_parts_in_order(Hist *h, LoopRef parts) {
    Lower *l = h->fold.l;
    Slots all = loop_slots(&h->fold, loop_mul(l->b, parts, h->bins));
    h->range.from = loop_int(l->b, 0);
    h->range.count = h->bins;
    Nest nest;
    loop_open_nest(l, &nest, 1, &parts, ORDER_SEQUENTIAL);
    make_part(h, &all, nest.index[0], parts);
    push_part(h, &all, nest.index[0]);
    loop_close_nest(l, &nest);
    join_trees(h, &all, parts);
    join_dest(h, &all);
}

// All bins of all parts, then all values at once, neighbours into different parts: few
// bins are not so often wanted by many.
static void make_parts_atomically(const Hist *h, const Slots *all, LoopRef parts) {
    const Fold *f = &h->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef bins = loop_mul(b, parts, h->bins);
    Nest nest;
    loop_open_nest(l, &nest, 1, &bins, ORDER_PARALLEL);
    loop_store_slot(f, all, nest.index[0], f->ne, NULL);
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &f->n, ORDER_PARALLEL);
    LoopRef part = loop_rem(b, nest.index[0], parts);
    Slots own = bins_from(h, all, loop_mul(b, part, h->bins));
    hist_take(h, &own, nest.index[0]);
    loop_close_nest(l, &nest);
}

// ---- parts at once ------------------------------------------------------------------

typedef void MakePart(const Hist *h, const Slots *all, LoopRef p, LoopRef parts);

static void make_parts(const Hist *h, const Slots *all, LoopRef parts,
                       LoopRef is_wanted, MakePart *make) {
    Lower *l = h->fold.l;
    Nest nest;
    When when = loop_open_if(l, is_wanted);
    loop_open_nest(l, &nest, 1, &parts, ORDER_PARALLEL);
    make(h, all, nest.index[0], parts);
    loop_close_nest(l, &nest);
    loop_close_if(l, when);
}

// Parts at once, then ranges of bins at once.
static void fold_parts_in_parallel(Hist *h, LoopRef parts) {
    enum { RANGE = 1024 };
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    bool has_rows = h->dest.parts[0]->rank > 1;
    LoopRef size = loop_int(b, has_rows || l->is_for_gpus ? 1 : RANGE);
    LoopRef one = loop_int(b, 1);
    LoopRef ranges = loop_quot(b, loop_sub(b, loop_add(b, h->bins, size), one), size);
    Slots all = loop_slots(&h->fold, loop_mul(b, parts, h->width));
    Nest nest;
    if (h->atomic != OP_COUNT) {
        make_parts_atomically(h, &all, parts);
    } else {
        LoopRef suits = loop_const(b, SCALAR_BOOL, 0);
        if (hist_has_teams(&h->fold)) {
            suits = hist_suits_team(h);
            make_parts(h, &all, parts, suits, hist_part_by_team);
        }
        make_parts(h, &all, parts, loop_not(b, suits), make_part);
    }
    loop_open_nest(l, &nest, 1, &ranges, ORDER_PARALLEL);
    h->range.from = loop_mul(b, nest.index[0], size);
    h->range.count = loop_min(b, size, loop_sub(b, h->bins, h->range.from));
    join_all(h, &all, parts);
    loop_close_nest(l, &nest);
}

// ---- exact ones ---------------------------------------------------------------------

// The operator, if devices can join values at once.
static CoreOp find_atomic(const Fold *f) {
    CoreType type = loop_core_type(f->l, f->op->results[0]);
    bool is_wide = scalar_info[type.elem].bytes == 8;
    if (!f->l->is_for_gpus || f->width > 1 || type.rank > 0 ||
        (is_wide && !f->l->has_atomics_64))
        return OP_COUNT;
    for (uint32_t i = 0; i < f->op->stms.len; i++) {
        const CoreStm *stm = f->op->stms.data[i];
        if (stm->outs[0] == f->op->results[0] &&
            loop_is_atomic(stm->op, (ScalarType)type.elem))
            return stm->op;
    }
    return OP_COUNT;
}

static void fold_into_dest(const Hist *h) {
    Lower *l = h->fold.l;
    LoopRef zero = loop_int(l->b, 0);
    Nest nest;
    if (h->atomic == OP_COUNT) {
        take_values(h, &h->dest, zero, zero, h->fold.n);
        return;
    }
    loop_open_nest(l, &nest, 1, &h->fold.n, ORDER_PARALLEL);
    hist_take(h, &h->dest, nest.index[0]);
    loop_close_nest(l, &nest);
}

// How far the copies of a part are apart: an odd number of 16 bins. Then one bin has no
// two of its copies whole pages apart, which processors take for one place until they
// know better: the second waited for the first where all go into that bin.
static LoopRef space_copies(const Hist *h) {
    enum { LINES = 64, ODD = 16 }; // bins
    LoopBuilder *b = h->fold.l->b;
    LoopRef up = loop_add(b, h->bins, loop_int(b, LINES - 1));
    LoopRef args[2] = {up, loop_int(b, -LINES)};
    return loop_add(b, loop_scalar(b, OP_AND, SCALAR_I64, args, 2), loop_int(b, ODD));
}

// What more parts would even out is less than bins of their own cost that go to memory
// and back: then each thread has one.
static LoopRef count_copies(const Hist *h) {
    LoopBuilder *b = h->fold.l->b;
    LoopRef is_near = loop_le(b, h->bins, loop_int(b, NEAR));
    return loop_select(b, is_near, loop_int(b, MOST_PARTS), loop_threads(b));
}

// Any order gives the same bits. Where there are few values for each bin, parts would
// cost more than they save: memory for all bins each, to be cleared and joined.
static void fold_exact(const Hist *h, bool is_parallel) {
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    Hist exact = *h;
    Val *ne = loop_group(&h->fold);
    if (!is_parallel || !loop_neutrals(&h->fold, ne)) {
        fold_into_dest(h);
        return;
    }
    exact.fold.ne = ne;
    exact.atomic = find_atomic(&h->fold);
    LoopRef parts = count_parts(h, l->is_for_gpus ? TIMES : EXACT_TIMES);
    if (!l->is_for_gpus) parts = loop_min(b, parts, count_copies(h));
    LoopRef is_one = loop_eq(b, parts, loop_int(b, 1));
    LoopRef is_many = loop_not(b, is_one);
    When when;
    if (hist_is_simple(h)) {
        LoopRef suits = hist_suits_ranges(h), others = loop_not(b, suits);
        when = loop_open_if(l, suits);
        hist_by_ranges(h);
        loop_close_if(l, when);
        is_one = loop_and(b, is_one, others);
        is_many = loop_and(b, is_many, others);
    }
    when = loop_open_if(l, is_one);
    fold_into_dest(&exact);
    loop_close_if(l, when);
    if (exact.atomic != OP_COUNT) {
        LoopRef suits = hist_suits_team(h);
        when = loop_open_if(l, loop_and(b, is_many, suits));
        hist_blocks_by_teams(&exact);
        loop_close_if(l, when);
        is_many = loop_and(b, is_many, loop_not(b, suits));
    }
    when = loop_open_if(l, is_many);
    if (hist_is_simple(h)) {
        LoopRef few = loop_int(b, FEW), copies = loop_int(b, COPIES);
        LoopRef is_few = loop_le(b, h->bins, few);
        LoopRef apart = space_copies(h);
        exact.apart = loop_select(b, is_few, apart, loop_int(b, 0));
        exact.width = loop_select(b, is_few, loop_mul(b, apart, copies), h->bins);
    }
    fold_parts_in_parallel(&exact, parts);
    loop_close_if(l, when);
}

// Makes the values when there are no bins: to make one may fail.
static void make_values(const Hist *h, LoopRef has_bins) {
    Lower *l = h->fold.l;
    if (h->feeds.producer == NULL) return;
    When when = loop_open_if(l, loop_not(l->b, has_bins));
    Nest nest;
    loop_open_nest(l, &nest, 1, &h->fold.n, ORDER_SEQUENTIAL);
    loop_produce(l, &h->feeds, nest.index[0]);
    loop_close_nest(l, &nest);
    loop_close_if(l, when);
}

// ---- the whole ----------------------------------------------------------------------

static void open_hist(Lower *l, const CoreStm *stm, Hist *h) {
    Fold *f = &h->fold;
    uint32_t width = stm->out_count;
    h->depth = (uint32_t)stm->attrs[1];
    *f = (Fold){.l = l, .stm = stm, .op = stm->bodies[0], .width = width};
    h->feeds = loop_feeds(l, stm);
    f->n = loop_length(l, h->feeds.arrays, h->feeds.count);
    Val *ne = arena_array(l->arena, Val, width);
    for (uint32_t c = 0; c < width; c++) ne[c] = loop_val(l, stm->args[width + c]);
    f->ne = ne;
}

void loop_hist(Lower *l, const CoreStm *stm) {
    LoopBuilder *b = l->b;
    Hist hist = {.atomic = OP_COUNT}, *h = &hist;
    bool was_parallel = l->is_parallel;
    open_hist(l, stm, h);
    uint32_t width = h->fold.width;
    h->dest.parts = arena_array(l->arena, Array *, width);
    h->sizes = loop_arg_array(l, stm, 0)->shape;
    LoopRef has_bins = loop_const(b, SCALAR_BOOL, 0);
    Array **dests = arena_array(l->arena, Array *, width);
    for (uint32_t c = 0; c < width; c++) {
        Array *dest = loop_arg_array(l, stm, c);
        LoopRef count = loop_count(l, dest->rank, dest->shape);
        has_bins = loop_or(b, has_bins, loop_lt(b, loop_int(b, 0), count));
        LOWER_CHECK(l, loop_same_shape(l, h->depth, h->sizes, dest->shape),
                    MESSAGE_HISTOGRAMS, show_shape(h->depth, h->sizes),
                    show_shape(h->depth, dest->shape));
        dests[c] = loop_own(l, dest, loop_is_ours(l, stm, c),
                            loop_name(l, stm->outs[c])->place);
    }
    h->bins = h->width = loop_count(l, h->depth, h->sizes);
    h->fold.shapes = arena_array(l->arena, const LoopRef *, width);
    for (uint32_t c = 0; c < width; c++) {
        h->dest.parts[c] = as_bins(h, dests[c]);
        h->fold.shapes[c] = h->dest.parts[c]->shape + 1;
    }
    l->is_parallel = false;
    uint32_t checks = l->checks;
    When when = loop_open_if(l, has_bins);
    bool is_parallel = was_parallel && !loop_join_fails(&h->fold);
    if (stm->stamp == STAMP_FREE) fold_exact(h, is_parallel);
    else if (is_parallel) fold_parts_in_parallel(h, count_parts(h, TIMES));
    else fold_parts_in_order(h, count_parts(h, TIMES));
    loop_close_if(l, when);
    if (l->checks > checks) make_values(h, has_bins);
    l->is_parallel = was_parallel;
    for (uint32_t c = 0; c < width; c++) {
        Array *out = arena_copy(l->arena, dests[c], sizeof *out);
        out->block = loop_block(l);
        const Block *block = loop_block_of(l, dests[c]);
        if (block != NULL) loop_block_of(l, out)->is_owned = block->is_owned;
        loop_bind(l, stm->outs[c], val_array(out));
    }
}
