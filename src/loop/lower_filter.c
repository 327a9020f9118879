// SPDX-License-Identifier: Apache-2.0
//
// Filters: rows are counted, and then kept where they belong; or, where to make one
// twice would cost more than memory for all, kept as they are made and copied there. In
// parallel by blocks; on GPUs by teams (lower_filter_teams.c).
#include "loop/lower_filter.h"

static Home *place_of(const Lower *l, const CoreStm *stm, uint32_t k) {
    return loop_name(l, stm->outs[k])->place;
}

const Val *filter_row(Lower *l, const Filter *f, LoopRef i) {
    if (f->feeds.producer != NULL) return loop_produce(l, &f->feeds, i);
    Val *made = arena_array(l->arena, Val, f->feeds.count);
    for (uint32_t k = 0; k < f->feeds.count; k++)
        made[k] = loop_feed(l, f->feeds.arrays[k], i);
    return made;
}

// Between two: what is emitted there runs for each i of [from, to). Carried is how many
// rows were kept, from `at` on; returns that in the end.
typedef struct Picks {
    Carry carry;
    LoopRef i, at;
} Picks;

static void open_picks(Lower *l, Picks *p, LoopRef from, LoopRef to, LoopRef at) {
    Val *init = arena_new(l->arena, Val);
    *init = val_scalar(at);
    loop_open_carry(l, &p->carry, init, NULL, 1, loop_sub(l->b, to, from));
    p->i = loop_add(l->b, from, p->carry.index);
    p->at = p->carry.state[0].scalar;
}

static LoopRef close_picks(Lower *l, Picks *p, LoopRef flag) {
    LoopRef one = loop_scalar(l->b, OP_CONV, SCALAR_I64, &flag, 1);
    Val next = val_scalar(loop_add(l->b, p->at, one)), out;
    loop_close_carry(l, &p->carry, &next, NULL, &out);
    return out.scalar;
}

// Puts the rows [from, to) that are kept into `outs`, from row `at` on; returns the row
// after them. Scalars are stored in any case, the next one in the same place if they
// are not kept: a branch that cannot be predicted costs more than a store.
static LoopRef keep_rows(Lower *l, const Filter *f, Array *const *outs, LoopRef from,
                         LoopRef to, LoopRef at) {
    Picks p;
    When when = {0};
    open_picks(l, &p, from, to, at);
    const Val *made = filter_row(l, f, p.i);
    if (!f->is_flat) when = loop_open_if(l, made[0].scalar);
    for (uint32_t k = 0; k < f->stm->out_count; k++)
        loop_set_element(l, outs[k], p.at, made[1 + k]);
    if (!f->is_flat) loop_close_if(l, when);
    return close_picks(l, &p, made[0].scalar);
}

// The array in memory of which result k has the elements as they are, one beside the
// other; NULL: there is none.
static const Array *find_source(const Lower *l, const Filter *f, uint32_t k) {
    const CoreBody *producer = f->feeds.producer;
    uint32_t i = 1 + k;
    if (producer != NULL)
        for (i = 0; i < f->feeds.count; i++)
            if (producer->params[i] == producer->results[1 + k]) break;
    const Array *source = i < f->feeds.count ? f->feeds.arrays[i] : NULL;
    bool is_found = source != NULL && source->kind == ARRAY_MEMORY &&
                    loop_is_int(l->b, source->strides[0], 1);
    return is_found ? source : NULL;
}

// A strip of flags, or of a result.
typedef struct Strip {
    const Array *source; // of which it is part as it is; NULL: it is made
    const Array *made;
} Strip;

// Puts what is kept of `rows` rows from row `first` on where it belongs; returns the
// row after it. Results of one width side by side are sifted together (emit/sift.c).
static LoopRef sift_strips(Lower *l, Array *const *outs, const Strip *strips,
                           uint32_t count, LoopRef at, LoopRef end, LoopRef first,
                           LoopRef rows) {
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), next = at;
    for (uint32_t bytes = 8; bytes > 0; bytes /= 2)
        for (uint32_t k = 1; k < count; k++) {
            const Array *out = outs[k - 1], *from = strips[k].source;
            if (scalar_info[out->elem].bytes != bytes) continue;
            LoopRef args[] = {out->buf,
                              loop_add(b, out->off, at),
                              loop_add(b, out->off, end),
                              from != NULL ? from->buf : strips[k].made->buf,
                              from != NULL ? loop_add(b, from->off, first) : zero,
                              strips[0].made->buf,
                              zero,
                              rows};
            LoopRef behind =
                loop_emit1(b, LOOP_SIFT, args, 8, loop_scalar_type(SCALAR_I64));
            next = loop_sub(b, behind, out->off);
        }
    return next;
}

// The same for scalars, by strips: of each what is made is made in lanes, and then put
// where it belongs. Nothing is stored from row `end` on, before which there is room for
// what is kept.
static LoopRef sift_rows(Lower *l, const Filter *f, Array *const *outs, LoopRef from,
                         LoopRef to, LoopRef at, LoopRef end) {
    enum { STRIP = 512 };
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), strip = loop_int(b, STRIP);
    LoopRef more = loop_add(b, loop_sub(b, to, from), loop_int(b, STRIP - 1));
    uint32_t count = 1 + f->stm->out_count;
    Strip *strips = arena_array(l->arena, Strip, count);
    for (uint32_t k = 0; k < count; k++) {
        ScalarType elem = k == 0 ? SCALAR_BOOL : (ScalarType)outs[k - 1]->elem;
        if (k > 0) strips[k].source = find_source(l, f, k - 1);
        if (strips[k].source != NULL) continue;
        LoopRef buf = loop_alloc(l, elem, strip);
        strips[k].made = loop_dense(l, elem, buf, zero, 1, &strip);
    }
    Carry carry;
    Nest nest;
    Val init = val_scalar(at), last;
    loop_open_carry(l, &carry, &init, NULL, 1, loop_quot(b, more, strip));
    LoopRef first = loop_add(b, from, loop_mul(b, carry.index, strip));
    LoopRef rows = loop_min(b, strip, loop_sub(b, to, first));
    loop_open_nest(l, &nest, 1, &rows, ORDER_INDEPENDENT);
    const Val *row = filter_row(l, f, loop_add(b, first, nest.index[0]));
    for (uint32_t k = 0; k < count; k++)
        if (strips[k].source == NULL)
            loop_store(l, strips[k].made, nest.index, row[k].scalar);
    loop_close_nest(l, &nest);
    Val next = val_scalar(
        sift_strips(l, outs, strips, count, carry.state[0].scalar, end, first, rows));
    loop_close_carry(l, &carry, &next, NULL, &last);
    return last.scalar;
}

static bool can_sift(const Lower *l, const Filter *f, Array *const *outs) {
    bool can = f->is_flat && l->can_sift;
    for (uint32_t k = 0; k < f->stm->out_count; k++)
        can = can && loop_is_int(l->b, outs[k]->strides[0], 1);
    return can;
}

// The shape of result k with so many rows.
static void shape_of(Lower *l, const Filter *f, uint32_t k, LoopRef rows,
                     LoopRef *shape) {
    const Array *like = NULL;
    uint32_t rank = loop_core_type(l, f->stm->outs[k]).rank;
    if (rank > 1) like = loop_feeds_array(&f->feeds, 1 + k);
    for (uint32_t d = 1; d < rank; d++) shape[d] = like->shape[d];
    shape[0] = rows;
    loop_check_shape(l, (ScalarType)loop_core_type(l, f->stm->outs[k]).elem, rank,
                     shape);
}

void filter_outs(Lower *l, Filter *f, LoopRef kept) {
    loop_know_size(l, kept);
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        LoopRef shape[CORE_MAX_RANK];
        CoreType type = loop_core_type(l, f->stm->outs[k]);
        shape_of(l, f, k, kept, shape);
        f->outs[k] = loop_fresh(l, (ScalarType)type.elem, type.rank, shape,
                                place_of(l, f->stm, k));
    }
}

LoopRef filter_block_start(Lower *l, LoopRef block) {
    return loop_mul(l->b, block, loop_int(l->b, CORE_BLOCK));
}

LoopRef filter_block_end(Lower *l, LoopRef n, LoopRef block) {
    LoopRef next =
        loop_add(l->b, filter_block_start(l, block), loop_int(l->b, CORE_BLOCK));
    return loop_min(l->b, next, n);
}

// ---- counted, then kept: what makes a row twice -------------------------------------

static LoopRef count_kept(Lower *l, const Filter *f, LoopRef from, LoopRef to) {
    Picks p;
    open_picks(l, &p, from, to, loop_int(l->b, 0));
    return close_picks(l, &p, filter_row(l, f, p.i)[0].scalar);
}

// For each lane of `counts`, `lanes` of them: whether the row there from `from` on is
// kept.
static void count_in_lanes(Lower *l, const Filter *f, const Array *counts, LoopRef from,
                           LoopRef lanes) {
    Nest nest;
    loop_open_nest(l, &nest, 1, &lanes, ORDER_INDEPENDENT);
    LoopRef so_far = loop_load(l, counts, nest.index);
    LoopRef flag = filter_row(l, f, loop_add(l->b, from, nest.index[0]))[0].scalar;
    flag = loop_scalar(l->b, OP_CONV, SCALAR_I64, &flag, 1);
    loop_store(l, counts, nest.index, loop_add(l->b, so_far, flag));
    loop_close_nest(l, &nest);
}

// The same in lanes, each of which counts by itself.
static LoopRef count_block(Lower *l, const Filter *f, LoopRef from, LoopRef to) {
    enum { LANES = 16 };
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), lanes = loop_int(b, LANES);
    LoopRef size = loop_sub(b, to, from), turns = loop_quot(b, size, lanes);
    const Array *counts =
        loop_dense(l, SCALAR_I64, loop_alloc(l, SCALAR_I64, lanes), zero, 1, &lanes);
    Nest nest;
    loop_open_nest(l, &nest, 1, &lanes, ORDER_INDEPENDENT);
    loop_store(l, counts, nest.index, zero);
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &turns, ORDER_SEQUENTIAL);
    LoopRef first = loop_add(b, from, loop_mul(b, nest.index[0], lanes));
    count_in_lanes(l, f, counts, first, lanes);
    loop_close_nest(l, &nest);
    first = loop_add(b, from, loop_mul(b, turns, lanes));
    count_in_lanes(l, f, counts, first, loop_rem(b, size, lanes));
    Carry carry;
    Val init = val_scalar(zero), total;
    loop_open_carry(l, &carry, &init, NULL, 1, lanes);
    LoopRef count = loop_load(l, counts, &carry.index);
    Val next = val_scalar(loop_add(b, carry.state[0].scalar, count));
    loop_close_carry(l, &carry, &next, NULL, &total);
    return total.scalar;
}

// Puts the `count` rows of [from, to) that are kept where they belong. Those behind the
// last of them are left out, so that nothing is stored behind its place.
static void keep_counted(Lower *l, const Filter *f, LoopRef from, LoopRef to,
                         LoopRef at, LoopRef count) {
    LoopBuilder *b = l->b;
    if (can_sift(l, f, f->outs)) {
        sift_rows(l, f, f->outs, from, to, at, loop_add(b, at, count));
        return;
    }
    LoopRef one = loop_int(b, 1);
    When when = loop_open_if(l, loop_lt(b, loop_int(b, 0), count));
    Carry carry;
    Val init = val_scalar(to), guard, end;
    loop_open_carry(l, &carry, &init, NULL, 1, 0);
    loop_open_guard(l, &carry, &guard);
    LoopRef last = loop_sub(b, guard.scalar, one);
    LoopRef more = loop_not(b, filter_row(l, f, last)[0].scalar);
    carry.guard = loop_close(b, &more, 1);
    Val next = val_scalar(loop_sub(b, carry.state[0].scalar, one));
    loop_close_carry(l, &carry, &next, NULL, &end);
    keep_rows(l, f, f->outs, from, end.scalar, at);
    loop_close_if(l, when);
}

static void filter_twice_in_order(Lower *l, Filter *f) {
    LoopRef zero = loop_int(l->b, 0), kept = count_kept(l, f, zero, f->feeds.n);
    filter_outs(l, f, kept);
    keep_counted(l, f, zero, f->feeds.n, zero, kept);
}

// ---- made once, into memory for all rows --------------------------------------------

// Memory for so many rows.
static Array **filter_memory(Lower *l, const Filter *f, LoopRef rows) {
    Array **all = arena_array(l->arena, Array *, f->stm->out_count);
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        LoopRef shape[CORE_MAX_RANK];
        CoreType type = loop_core_type(l, f->stm->outs[k]);
        ScalarType elem = (ScalarType)type.elem;
        shape_of(l, f, k, rows, shape);
        LoopRef buf = loop_alloc(l, elem, loop_count(l, type.rank, shape));
        all[k] = loop_dense(l, elem, buf, loop_int(l->b, 0), type.rank, shape);
    }
    return all;
}

// Copies `count` rows of each result from where they were kept.
static void copy_kept(Lower *l, const Filter *f, Array *const *all, LoopRef to,
                      LoopRef from, LoopRef count) {
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        Val kept = loop_element(l, all[k], loop_add(l->b, from, nest.index[0]));
        loop_set_element(l, f->outs[k], loop_add(l->b, to, nest.index[0]), kept);
    }
    loop_close_nest(l, &nest);
}

// Puts the rows [from, to) that are kept where there is room for all of them, from row
// `at` on; returns the row after them.
static LoopRef keep_made(Lower *l, const Filter *f, Array *const *all, LoopRef from,
                         LoopRef to, LoopRef at) {
    if (!can_sift(l, f, all)) return keep_rows(l, f, all, from, to, at);
    LoopRef end = loop_add(l->b, at, loop_sub(l->b, to, from));
    return sift_rows(l, f, all, from, to, at, end);
}

static void filter_once_in_order(Lower *l, Filter *f) {
    LoopRef zero = loop_int(l->b, 0);
    Array **all = filter_memory(l, f, f->feeds.n);
    LoopRef kept = keep_rows(l, f, all, zero, f->feeds.n, zero);
    filter_outs(l, f, kept);
    copy_kept(l, f, all, zero, zero, kept);
}

// ---- in parallel --------------------------------------------------------------------

// Blocks that are counted, or made, and then kept.
typedef struct Part {
    LoopRef first, blocks, n; // of n rows in all
    LoopRef at;               // how many were kept before
    Array *starts;            // by block: how many are kept, then where these begin
    Array **made; // those that are kept, from where their block begins; NULL: none is
} Part;

// Memory for parts of up to so many blocks.
static Part new_part(Lower *l, const Filter *f, bool is_twice, LoopRef most) {
    LoopRef zero = loop_int(l->b, 0), n = f->feeds.n;
    LoopRef rows = loop_min(l->b, n, filter_block_start(l, most));
    LoopRef buf = loop_alloc(l, SCALAR_I64, most);
    return (Part){.first = zero,
                  .blocks = most,
                  .n = n,
                  .at = zero,
                  .starts = loop_dense(l, SCALAR_I64, buf, zero, 1, &most),
                  .made = is_twice ? NULL : filter_memory(l, f, rows)};
}

static void count_part(Lower *l, const Filter *f, const Part *p) {
    Nest nest;
    loop_open_nest(l, &nest, 1, &p->blocks, ORDER_PARALLEL);
    LoopRef block = loop_add(l->b, p->first, nest.index[0]), count;
    LoopRef from = filter_block_start(l, block), to = filter_block_end(l, p->n, block);
    if (p->made == NULL) {
        count = count_block(l, f, from, to);
    } else {
        LoopRef begin = filter_block_start(l, nest.index[0]);
        count = loop_sub(l->b, keep_made(l, f, p->made, from, to, begin), begin);
    }
    loop_store(l, p->starts, nest.index, count);
    loop_close_nest(l, &nest);
}

// Makes starts of the counts; returns how many are kept up to here.
static LoopRef sum_part(Lower *l, const Part *p) {
    Carry carry;
    Val init = val_scalar(p->at), end;
    loop_open_carry(l, &carry, &init, NULL, 1, p->blocks);
    LoopRef count = loop_load(l, p->starts, &carry.index);
    loop_store(l, p->starts, &carry.index, carry.state[0].scalar);
    Val next = val_scalar(loop_add(l->b, carry.state[0].scalar, count));
    loop_close_carry(l, &carry, &next, NULL, &end);
    return end.scalar;
}

// How many of a block are kept, after the sums.
static LoopRef count_of(Lower *l, const Part *p, LoopRef k, LoopRef part_end) {
    LoopBuilder *b = l->b;
    LoopRef one = loop_int(b, 1), next = loop_add(b, k, one);
    LoopRef last = loop_min(b, next, loop_sub(b, p->blocks, one));
    LoopRef start = loop_load(l, p->starts, &last);
    LoopRef end = loop_select(b, loop_lt(b, next, p->blocks), start, part_end);
    return loop_sub(b, end, loop_load(l, p->starts, &k));
}

static void keep_part(Lower *l, const Filter *f, const Part *p, LoopRef end) {
    Nest nest;
    loop_open_nest(l, &nest, 1, &p->blocks, ORDER_PARALLEL);
    LoopRef at = loop_load(l, p->starts, nest.index);
    LoopRef count = count_of(l, p, nest.index[0], end);
    LoopRef block = loop_add(l->b, p->first, nest.index[0]);
    if (p->made == NULL) {
        LoopRef block_end = filter_block_end(l, p->n, block);
        keep_counted(l, f, filter_block_start(l, block), block_end, at, count);
    } else {
        copy_kept(l, f, p->made, at, filter_block_start(l, nest.index[0]), count);
    }
    loop_close_nest(l, &nest);
}

static void filter_all(Lower *l, Filter *f, bool is_twice) {
    Part all = new_part(l, f, is_twice, loop_block_count(l, f->feeds.n));
    count_part(l, f, &all);
    LoopRef kept = sum_part(l, &all);
    filter_outs(l, f, kept);
    keep_part(l, f, &all, kept);
}

// ---- in parallel, in one pass over memory -------------------------------------------

// Where results may have more memory than they will need, what a part keeps is written
// while the caches still have the part. Else all is one part.

static bool may_have_room(const Lower *l, const Filter *f) {
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        const Home *place = place_of(l, f->stm, k);
        if (place == NULL || place->kind != PLACE_RESULT || place->is_taken)
            return false;
    }
    return f->is_flat;
}

static uint32_t bytes_of_row(const Filter *f) {
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < f->feeds.count; k++)
        bytes += scalar_info[f->feeds.arrays[k]->elem].bytes;
    return bytes;
}

// How many blocks the caches have beside what is kept of them.
static int64_t near_blocks(const Filter *f) {
    enum { NEAR_BYTES = 1 << 20 };
    int64_t blocks = NEAR_BYTES / CORE_BLOCK / bytes_of_row(f);
    return blocks > 1 ? blocks : 1;
}

// From how many rows on there is more than the caches have: fewer are one part, since
// threads meet twice for each.
static int64_t far_rows(const Filter *f) {
    enum { FAR_BYTES = 1 << 24 };
    return FAR_BYTES / bytes_of_row(f);
}

// Room for the results, as an array of no elements each; returns whether there is some.
static LoopRef find_room(Lower *l, const Filter *f, Val *room) {
    LoopRef zero = loop_int(l->b, 0), has_room = 0;
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        ScalarType elem = (ScalarType)loop_core_type(l, f->stm->outs[k]).elem;
        LoopType types[] = {loop_buffer_type(elem), loop_scalar_type(SCALAR_BOOL)};
        LoopStm *stm = loop_emit(l->b, LOOP_RESULT, &f->feeds.n, 1, types, 2);
        stm->number = place_of(l, f->stm, k)->number;
        room[k] = val_array(loop_dense(l, elem, stm->outs[0], zero, 1, &zero));
        room[k].array->block = loop_block(l);
        has_room = k == 0 ? stm->outs[1] : loop_and(l->b, has_room, stm->outs[1]);
    }
    return has_room;
}

// The results where there is room, or else made for `end` rows.
static void choose_outs(Lower *l, Filter *f, LoopRef has_room, const Val *room,
                        LoopRef end) {
    uint32_t count = f->stm->out_count, known = l->sizes.len;
    LoopRef *near = arena_array(l->arena, LoopRef, count);
    LoopRef *made = arena_array(l->arena, LoopRef, count);
    LoopBody *bodies[2];
    for (uint32_t k = 0; k < count; k++) near[k] = room[k].array->buf;
    loop_open(l->b, NULL, 0);
    bodies[0] = loop_close(l->b, near, count);
    loop_open(l->b, NULL, 0);
    filter_outs(l, f, end);
    for (uint32_t k = 0; k < count; k++) made[k] = f->outs[k]->buf;
    bodies[1] = loop_close(l->b, made, count);
    LoopStm *stm =
        loop_emit(l->b, LOOP_IF, &has_room, 1, loop_types(l, made, count), count);
    loop_set_bodies(l->b, stm, bodies, 2);
    for (uint32_t k = 0; k < count; k++) f->outs[k]->buf = stm->outs[k];
    l->sizes.len = known;
}

// The results in the end, where those of the last part lie.
static void close_outs(Lower *l, Filter *f, const Val *last, LoopRef end) {
    loop_know_size(l, end);
    for (uint32_t k = 0; k < f->stm->out_count; k++) {
        Home *place = place_of(l, f->stm, k);
        Array *out = f->outs[k];
        out->buf = last[k].array->buf;
        out->shape[0] = end;
        place->buf = out->buf;
        place->shape = out->shape;
    }
}

// One thread alone puts all rows where they belong as it makes them, if there is room;
// returns how many are kept then.
static LoopRef filter_alone(Lower *l, const Filter *f, LoopRef is_alone,
                            const Val *room) {
    LoopRef zero = loop_int(l->b, 0), one = loop_int(l->b, 1);
    LoopRef buf = loop_alloc(l, SCALAR_I64, one);
    const Array *kept = loop_dense(l, SCALAR_I64, buf, zero, 1, &one);
    Array **outs = arena_array(l->arena, Array *, f->stm->out_count);
    for (uint32_t k = 0; k < f->stm->out_count; k++) outs[k] = room[k].array;
    Nest nest;
    loop_store(l, kept, &zero, zero);
    When when = loop_open_if(l, is_alone);
    loop_open_nest(l, &nest, 1, &one, ORDER_PARALLEL);
    loop_store(l, kept, &zero, keep_made(l, f, outs, zero, f->feeds.n, zero));
    loop_close_nest(l, &nest);
    loop_close_if(l, when);
    return loop_load(l, kept, &zero);
}

static void filter_in_parts(Lower *l, Filter *f, bool is_twice) {
    LoopBuilder *b = l->b;
    uint32_t count = f->stm->out_count;
    Val *init = arena_array(l->arena, Val, 1 + count);
    Val *next = arena_array(l->arena, Val, 1 + count);
    Val *last = arena_array(l->arena, Val, 1 + count);
    bool *is_ours = arena_array(l->arena, bool, 1 + count);
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    LoopRef near = loop_int(b, near_blocks(f));
    LoopRef blocks = loop_block_count(l, f->feeds.n);
    LoopRef has_room = find_room(l, f, init + 1);
    LoopRef is_alone = loop_and(b, has_room, loop_eq(b, loop_threads(b), one));
    LoopRef is_far =
        loop_and(b, has_room, loop_lt(b, loop_int(b, far_rows(f)), f->feeds.n));
    LoopRef most = loop_select(b, is_far, near, loop_max(b, blocks, one));
    LoopRef above = loop_add(b, blocks, loop_sub(b, most, one));
    LoopRef parts = loop_max(b, loop_quot(b, above, most), one);
    init[0] = val_scalar(filter_alone(l, f, is_alone, init + 1));
    Part part = new_part(l, f, is_twice, loop_select(b, is_alone, zero, most));
    Carry carry;
    loop_open_carry(l, &carry, init, NULL, 1 + count,
                    loop_select(b, is_alone, zero, parts));
    part.first = loop_mul(b, carry.index, most);
    part.blocks = loop_min(b, most, loop_sub(b, blocks, part.first));
    part.at = carry.state[0].scalar;
    count_part(l, f, &part);
    next[0] = val_scalar(sum_part(l, &part));
    choose_outs(l, f, has_room, carry.state + 1, next[0].scalar);
    keep_part(l, f, &part, next[0].scalar);
    for (uint32_t k = 0; k < count; k++) {
        ScalarType elem = (ScalarType)f->outs[k]->elem;
        next[1 + k] = val_array(loop_dense(l, elem, f->outs[k]->buf, zero, 1, &zero));
        next[1 + k].array->block = loop_block(l);
        is_ours[1 + k] = true;
    }
    loop_close_carry(l, &carry, next, is_ours, last);
    close_outs(l, f, last + 1, last[0].scalar);
}

// ---- both ---------------------------------------------------------------------------

void loop_filter(Lower *l, const CoreStm *stm) {
    Filter f = {.stm = stm, .feeds = loop_feeds(l, stm), .is_flat = true};
    const CoreBody *producer = f.feeds.producer;
    f.feeds.n = f.feeds.arrays[0]->shape[0];
    if (producer != NULL) loop_length(l, f.feeds.arrays, f.feeds.count);
    for (uint32_t k = 1; k < f.feeds.count && producer == NULL; k++)
        LOWER_CHECK(l, loop_eq(l->b, f.feeds.arrays[k]->shape[0], f.feeds.n),
                    MESSAGE_FLAGS, show_scalar(f.feeds.n),
                    show_scalar(f.feeds.arrays[k]->shape[0]));
    f.outs = arena_array(l->arena, Array *, stm->out_count);
    for (uint32_t k = 0; k < stm->out_count; k++)
        f.is_flat = f.is_flat && loop_core_type(l, stm->outs[k]).rank == 1;
    bool is_twice = producer == NULL || loop_is_cheap(producer);
    if (l->is_parallel && l->is_for_gpus) filter_by_teams(l, &f, is_twice);
    else if (l->is_parallel && may_have_room(l, &f)) filter_in_parts(l, &f, is_twice);
    else if (l->is_parallel) filter_all(l, &f, is_twice);
    else if (is_twice) filter_twice_in_order(l, &f);
    else filter_once_in_order(l, &f);
    for (uint32_t k = 0; k < stm->out_count; k++)
        loop_bind(l, stm->outs[k], val_array(f.outs[k]));
}
