// SPDX-License-Identifier: Apache-2.0
//
// Histograms of few bins on GPUs. A team (launch.h) has bins of its own, which lie in
// its local memory. Where any order gives the same bits its items join values to them
// at once; else the team fetches a batch of values, neighbours what is beside, and each
// item goes along it for the bins that are its.
#include "loop/lower_hist.h"

#include "loop/launch.h"

enum { HALF = 4096, KEY_BYTES = 4 };

static uint32_t slot_bytes(const Fold *f) {
    uint32_t bytes = 0;
    for (uint32_t c = 0; c < f->width; c++)
        bytes += scalar_info[loop_core_type(f->l, f->op->results[c]).elem].bytes;
    return bytes;
}

// Half of what a team has is for its bins.
static int64_t most_bins(const Fold *f) {
    uint32_t most = HALF / slot_bytes(f);
    return most < LAUNCH_MOST_TILE ? most : LAUNCH_MOST_TILE;
}

// The other half, a batch, has room for a value and its key for each item.
bool hist_has_teams(const Fold *f) {
    bool can = f->l->is_for_gpus && slot_bytes(f) + KEY_BYTES <= HALF / LAUNCH_TEAM;
    for (uint32_t c = 0; c < f->width; c++)
        can = can && loop_core_type(f->l, f->op->results[c]).rank == 0;
    return can;
}

LoopRef hist_suits_team(const Hist *h) {
    LoopBuilder *b = h->fold.l->b;
    return loop_le(b, h->bins, loop_int(b, most_bins(&h->fold)));
}

static void clear_bins(const Hist *h, const Slots *bins) {
    Lower *l = h->fold.l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &h->bins, ORDER_INDEPENDENT);
    loop_store_slot(&h->fold, bins, nest.index[0], h->fold.ne, NULL);
    loop_close_nest(l, &nest);
}

// A team takes a block of values into bins of its own, in any order, and these into
// dest.
void hist_blocks_by_teams(const Hist *h) {
    const Fold *f = &h->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), blocks = loop_block_count(l, f->n);
    Nest nest, inner;
    loop_open_nest(l, &nest, 1, &blocks, ORDER_PARALLEL);
    LoopRef from = loop_mul(b, nest.index[0], loop_int(b, CORE_BLOCK));
    LoopRef size = loop_block_size(l, f->n, nest.index[0]);
    Slots own = loop_slots(f, loop_int(b, most_bins(f)));
    Val *value = loop_group(f);
    clear_bins(h, &own);
    loop_open_nest(l, &inner, 1, &size, ORDER_INDEPENDENT);
    hist_take(h, &own, loop_add(b, from, inner.index[0]));
    loop_close_nest(l, &inner);
    loop_open_nest(l, &inner, 1, &h->bins, ORDER_INDEPENDENT);
    loop_load_slot(f, &own, inner.index[0], value);
    hist_join(h, &h->dest, inner.index[0], value);
    loop_close_nest(l, &inner);
    loop_close_nest(l, &nest);
}

// What a team fetches of its values at a time: keys, which are bins or -1, and values.
typedef struct Batch {
    Array *keys;
    Slots values;
    int64_t most; // values
} Batch;

static Batch new_batch(const Fold *f) {
    Lower *l = f->l;
    Batch batch = {.most =
                       HALF / (slot_bytes(f) + KEY_BYTES) / LAUNCH_TEAM * LAUNCH_TEAM};
    LoopRef most = loop_int(l->b, batch.most), buf = loop_alloc(l, SCALAR_I32, most);
    batch.keys = loop_dense(l, SCALAR_I32, buf, loop_int(l->b, 0), 1, &most);
    batch.values = loop_slots(f, most);
    return batch;
}

static void fetch_batch(const Hist *h, const Batch *batch, LoopRef from,
                        LoopRef count) {
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    LoopRef bin;
    Val *value = loop_group(&h->fold);
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef i = loop_add(b, from, nest.index[0]);
    const Val *made = loop_produce(l, &h->feeds, i);
    LoopRef inside = hist_find_bin(h, made, i, &bin);
    LoopRef key = loop_select(b, inside, bin, loop_int(b, -1));
    hist_value(h, made, i, value);
    loop_store(l, batch->keys, nest.index,
               loop_scalar(b, OP_CONV, SCALAR_I32, &key, 1));
    loop_store_slot(&h->fold, &batch->values, nest.index[0], value, NULL);
    loop_close_nest(l, &nest);
}

// All items go along the values. Bin k is that of item k mod 32, so that one item joins
// its values, in order.
static void join_batch(const Hist *h, const Batch *batch, const Slots *own,
                       LoopRef count) {
    Lower *l = h->fold.l;
    LoopBuilder *b = l->b;
    LoopRef items = loop_int(b, LAUNCH_TEAM), mask = loop_int(b, LAUNCH_TEAM - 1);
    Val *value = loop_group(&h->fold);
    Nest nest, inner;
    loop_open_nest(l, &nest, 1, &items, ORDER_INDEPENDENT);
    loop_open_nest(l, &inner, 1, &count, ORDER_SEQUENTIAL);
    LoopRef key = loop_load(l, batch->keys, inner.index);
    LoopRef bin = loop_scalar(b, OP_CONV, SCALAR_I64, &key, 1);
    LoopRef item = loop_scalar(b, OP_AND, SCALAR_I64, (LoopRef[]){bin, mask}, 2);
    LoopRef is_here = loop_eq(b, item, nest.index[0]);
    LoopRef is_own = loop_and(b, loop_le(b, loop_int(b, 0), bin), is_here);
    When when = loop_open_if(l, is_own);
    loop_load_slot(&h->fold, &batch->values, inner.index[0], value);
    hist_join(h, own, bin, value);
    loop_close_if(l, when);
    loop_close_nest(l, &inner);
    loop_close_nest(l, &nest);
}

// As make_part, by a team.
void hist_part_by_team(const Hist *h, const Slots *all, LoopRef p, LoopRef parts) {
    const Fold *f = &h->fold;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef from = hist_part_start(h, p, parts);
    LoopRef to = hist_part_start(h, loop_add(b, p, loop_int(b, 1)), parts);
    Slots own = loop_slots(f, loop_int(b, most_bins(f)));
    Batch batch = new_batch(f);
    LoopRef most = loop_int(b, batch.most), more = loop_int(b, batch.most - 1);
    LoopRef batches = loop_quot(b, loop_add(b, loop_sub(b, to, from), more), most);
    Nest nest;
    clear_bins(h, &own);
    loop_open_nest(l, &nest, 1, &batches, ORDER_SEQUENTIAL);
    LoopRef start = loop_add(b, from, loop_mul(b, nest.index[0], most));
    LoopRef count = loop_min(b, most, loop_sub(b, to, start));
    fetch_batch(h, &batch, start, count);
    join_batch(h, &batch, &own, count);
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &h->bins, ORDER_INDEPENDENT);
    LoopRef at = loop_add(b, loop_mul(b, p, h->bins), nest.index[0]);
    loop_copy_slot(f, all, at, &own, nest.index[0]);
    loop_close_nest(l, &nest);
}
