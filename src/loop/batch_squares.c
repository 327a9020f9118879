// SPDX-License-Identifier: Apache-2.0
//
// Squares of batches (docs/internals/lift.md). Rows that a loop walks along, one for
// each lane, are copied square by square, so that each element is a vector:
//
//   for(n) {i: ... load(a, n lane + i) ...}
//   for(n / 16) {
//     for.independent(16) {k: store(tile, load(a, n lane + 16 c + k), 16 k + lane)}
//     for(16) {q: ... load(tile, 16 q + lane) ...}
//   }
//
// which a vector turn does by shuffles (vector_square.c). The last square reaches back
// into the one before. Rows that turns load again and again are packed likewise, and
// what turns have made of rows is stored so, save that what is left over goes element
// by element: each is stored by one lane, once.
#include "loop/batch.h"

// ---- places -------------------------------------------------------------------------

static bool is_index(const Batch *x, LoopRef ref, LoopRef *times) {
    for (uint32_t i = 1; i <= x->loop_count; i++)
        if (x->loops[i].stm->bodies[0]->params[0] == ref) {
            *times = x->loops[i].stm->args[0];
            return true;
        }
    return false;
}

// Its least place and its largest are in the row: then so are those in between, since
// indices go by one.
static LoopRef is_in_row(Batch *x, const BatchPlace *p) {
    LoopBuilder *b = x->b;
    LoopRef ends[2] = {loop_int(b, (int64_t)p->number),
                       loop_int(b, (int64_t)p->number)};
    for (uint32_t i = 0; i < p->count; i++) {
        LoopRef atom = p->terms[i].atom, times;
        uint64_t factor = p->terms[i].factor;
        bool moves = is_index(x, atom, &times);
        LoopRef most = batch_compute_early(x, moves ? times : atom);
        if (moves) most = loop_sub(b, most, loop_int(b, 1));
        most = loop_mul(b, most, loop_int(b, (int64_t)factor));
        for (uint32_t k = 0; k < 2; k++)
            if (!moves || k == (factor == 1)) ends[k] = loop_add(b, ends[k], most);
    }
    LoopRef size = batch_compute_early(x, p->size);
    LoopRef is_below = loop_lt(b, ends[1], size);
    return loop_and(b, loop_le(b, loop_int(b, 0), ends[0]), is_below);
}

LoopRef batch_rows_hold(Batch *x) {
    LoopRef c = loop_const(x->b, SCALAR_BOOL, 1);
    for (uint32_t i = 0; i < x->places.len; i++)
        c = loop_and(x->b, c, is_in_row(x, &x->places.data[i]));
    return c;
}

LoopRef batch_place_in_row(BatchStep *s, const BatchPlace *p) {
    LoopBuilder *b = s->x->b;
    LoopRef at = loop_int(b, (int64_t)p->number);
    for (uint32_t i = 0; i < p->count; i++) {
        LoopRef atom = batch_compute(s->x, &s->c, p->terms[i].atom);
        LoopRef factor = loop_int(b, (int64_t)p->terms[i].factor);
        at = loop_add(b, at, loop_mul(b, atom, factor));
    }
    return at;
}

// ---- squares ------------------------------------------------------------------------

// One side of a copy: a row for each lane, or an element of all lanes after the other.
typedef struct Side {
    LoopRef buffer, offset, lane;
    bool is_row;
} Side;

static LoopRefs args_of(Batch *x, const Side *side, LoopRef value, LoopRef k) {
    LoopBuilder *b = x->b;
    LoopRefs args = {0};
    vec_push(b->arena, &args, side->buffer);
    if (value != 0) vec_push(b->arena, &args, value);
    vec_push(b->arena, &args, side->offset);
    vec_push(b->arena, &args, side->is_row ? loop_int(b, 1) : x->lanes);
    vec_push(b->arena, &args, k);
    if (side->is_row) return args;
    vec_push(b->arena, &args, loop_int(b, 1));
    vec_push(b->arena, &args, side->lane);
    return args;
}

static void copy_elements(Batch *x, const Side *from, const Side *to, LoopRef count) {
    LoopBuilder *b = x->b;
    LoopRef k = loop_open_turns(b);
    LoopType type = loop_type(b, from->buffer);
    LoopRefs args = args_of(x, from, 0, k);
    LoopRef value = loop_emit1(b, LOOP_LOAD, args.data, args.len,
                               loop_scalar_type((ScalarType)type.elem));
    args = args_of(x, to, value, k);
    loop_emit(b, LOOP_STORE, args.data, args.len, NULL, 0);
    loop_close_turns(b, count, ORDER_INDEPENDENT);
}

// ---- walks --------------------------------------------------------------------------

BatchWalk *batch_find_walk(const Batch *x, const LoopStm *load) {
    for (uint32_t i = 0; i < x->walks.len; i++)
        if (x->walks.data[i].load == load) return &x->walks.data[i];
    return NULL;
}

bool batch_has_walks(const Batch *x, const LoopStm *loop) {
    for (uint32_t i = 0; i < x->walks.len; i++)
        if (x->walks.data[i].loop == loop) return true;
    return false;
}

// Where the place is, in the row of the turn.
static LoopRef offset_of(BatchStep *s, const BatchPlace *p) {
    LoopRef turn = batch_copy_of(s, s->x->loop->bodies[0]->params[0]);
    LoopRef row = loop_mul(s->x->b, batch_compute(s->x, &s->c, p->size), turn);
    return loop_add(s->x->b, row, batch_place_in_row(s, p));
}

// Finds out where the rows of the turns from `start` on lie, so many of them.
static void find_tile(BatchStep *s, BatchWalk *walk, LoopRef start, LoopRef count) {
    Batch *x = s->x;
    LoopBuilder *b = x->b;
    LoopRef last = loop_sub(b, loop_add(b, start, count), loop_int(b, 1));
    walk->start = walk->falls ? last : start;
    loop_copy_as(&s->c, walk->loop->bodies[0]->params[0], walk->start);
    walk->offset = offset_of(s, &walk->place);
}

static LoopBody *load_tiles(BatchStep *s, const LoopStm *loop, LoopRef count) {
    Batch *x = s->x;
    LoopRef none = loop_int(x->b, 0);
    loop_open(x->b, NULL, 0);
    for (uint32_t i = 0; i < x->walks.len; i++) {
        const BatchWalk *walk = &x->walks.data[i];
        if (walk->loop != loop) continue;
        LoopRef buffer = batch_copy_of(s, walk->load->args[0]);
        Side from = {buffer, walk->offset, s->lane, true};
        Side to = {walk->tile, none, s->lane, false};
        copy_elements(x, &from, &to, count);
    }
    return loop_close(x->b, NULL, 0);
}

LoopRef batch_load_walked(BatchStep *s, const BatchWalk *walk) {
    LoopBuilder *b = s->x->b;
    LoopRef turn = batch_copy_of(s, walk->loop->bodies[0]->params[0]);
    LoopRef at =
        walk->falls ? loop_sub(b, walk->start, turn) : loop_sub(b, turn, walk->start);
    LoopRef args[] = {walk->tile, loop_int(b, 0), s->x->lanes,
                      at,         loop_int(b, 1), s->lane};
    return loop_emit1(b, LOOP_LOAD, args, 6, loop_type(b, walk->load->outs[0]));
}

// Opens a loop with an index and fresh values for what the loop carries.
static LoopRefs open_loop(BatchStep *s, const LoopStm *loop) {
    LoopBuilder *b = s->x->b;
    LoopRefs params = {0};
    vec_push(b->arena, &params, loop_value(b, loop_scalar_type(SCALAR_I64), 0));
    for (uint32_t i = 0; i < loop->out_count; i++)
        vec_push(b->arena, &params, loop_value(b, batch_type(s->x, loop->outs[i]), 0));
    loop_open(b, params.data, params.len);
    return params;
}

static LoopStm *close_loop(BatchStep *s, const LoopStm *loop, LoopOrder order,
                           const LoopRef *args, const LoopRef *results) {
    LoopBuilder *b = s->x->b;
    LoopBody *body = loop_close(b, results, loop->out_count);
    LoopType *types = arena_array(b->arena, LoopType, loop->out_count);
    for (uint32_t i = 0; i < loop->out_count; i++)
        types[i] = batch_type(s->x, loop->outs[i]);
    LoopStm *made =
        loop_emit(b, LOOP_FOR, args, 1 + loop->out_count, types, loop->out_count);
    made->order = (uint8_t)order;
    loop_set_bodies(b, made, &body, 1);
    return made;
}

// The turns of a square, of which the first is `from`.
static LoopStm *emit_turns(BatchStep *s, const LoopStm *loop, LoopRef from,
                           LoopRef *args) {
    LoopBuilder *b = s->x->b;
    const LoopBody *body = loop->bodies[0];
    LoopRefs params = open_loop(s, loop), results = {0};
    loop_copy_as(&s->c, body->params[0], loop_add(b, from, params.data[0]));
    for (uint32_t i = 1; i < params.len; i++)
        loop_copy_as(&s->c, body->params[i], params.data[i]);
    for (uint32_t i = 0; i < body->stms.len; i++) batch_emit(s, body->stms.data[i]);
    for (uint32_t i = 0; i < loop->out_count; i++)
        vec_push(b->arena, &results,
                 batch_copy_like(s, body->results[i], loop->outs[i]));
    return close_loop(s, loop, (LoopOrder)loop->order, args, results.data);
}

void batch_emit_walk(BatchStep *s, const LoopStm *loop) {
    Batch *x = s->x;
    LoopBuilder *b = x->b;
    LoopRef times = batch_copy_of(s, loop->args[0]);
    LoopRef more = loop_sub(b, x->lanes, loop_int(b, 1));
    LoopRefs args = {0};
    vec_push(b->arena, &args, loop_quot(b, loop_add(b, times, more), x->lanes));
    for (uint32_t i = 1; i < loop->arg_count; i++)
        vec_push(b->arena, &args, batch_copy_like(s, loop->args[i], loop->outs[i - 1]));
    LoopRefs params = open_loop(s, loop);
    LoopRef from = loop_mul(b, params.data[0], x->lanes);
    LoopRef is_whole = loop_le(b, x->lanes, times);
    LoopRef count = loop_min(b, times, x->lanes);
    LoopRef start = loop_min(b, from, loop_sub(b, times, count));
    for (uint32_t i = 0; i < x->walks.len; i++)
        if (x->walks.data[i].loop == loop)
            find_tile(s, &x->walks.data[i], start, count);
    LoopBody *arms[] = {load_tiles(s, loop, x->lanes), load_tiles(s, loop, times)};
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &is_whole, 1, NULL, 0), arms, 2);
    params.data[0] = loop_min(b, loop_sub(b, times, from), x->lanes);
    LoopStm *turns = emit_turns(s, loop, from, params.data);
    LoopStm *made = close_loop(s, loop, ORDER_SEQUENTIAL, args.data, turns->outs);
    for (uint32_t i = 0; i < loop->out_count; i++)
        loop_copy_as(&s->c, loop->outs[i], made->outs[i]);
}

// ---- rows that are packed -----------------------------------------------------------

// Whether the load goes along a row by the index of its loop.
static bool goes_along(const Batch *x, const BatchLoad *p, BatchPlace *place) {
    LoopType type = loop_type(x->b, p->load->outs[0]);
    if (p->count != 1 || scalar_info[type.elem].bytes < BATCH_LEAST_BYTES ||
        !batch_place(x, p->load, place) || place->size == 0)
        return false;
    LoopRef index = x->loops[p->loops[0]].stm->bodies[0]->params[0];
    for (uint32_t i = 0; i < place->count; i++)
        if (place->terms[i].atom == index) return place->terms[i].factor == 1;
    return false;
}

// So many elements of the row of each lane, from `start` on.
static void pack_elements(Batch *x, const BatchLoad *p, const BatchPlace *place,
                          LoopRef lane, LoopRef start, LoopRef count) {
    BatchStep s = {.x = x, .c = loop_copier(x->b), .lane = lane};
    loop_copy_as(&s.c, x->loop->bodies[0]->params[0], loop_add(x->b, x->first, lane));
    loop_copy_as(&s.c, x->loops[p->loops[0]].stm->bodies[0]->params[0], start);
    Side from = {batch_same(x, p->load->args[0]), offset_of(&s, place), lane, true};
    Side to = {p->buffer, loop_mul(x->b, start, x->lanes), lane, false};
    copy_elements(x, &from, &to, count);
}

bool batch_pack_rows(Batch *x, const BatchLoad *p) {
    LoopBuilder *b = x->b;
    BatchPlace place;
    if (!goes_along(x, p, &place)) return false;
    LoopRef count = batch_times(x, p->loops[0]), lane = loop_open_turns(b);
    LoopRef more = loop_sub(b, x->lanes, loop_int(b, 1));
    LoopRef is_whole = loop_le(b, x->lanes, count);
    LoopBody *arms[2];
    loop_open(b, NULL, 0);
    LoopRef squares = loop_quot(b, loop_add(b, count, more), x->lanes);
    LoopRef begin = loop_mul(b, loop_open_turns(b), x->lanes);
    LoopRef start = loop_min(b, begin, loop_sub(b, count, x->lanes));
    pack_elements(x, p, &place, lane, start, x->lanes);
    loop_close_turns(b, squares, ORDER_SEQUENTIAL);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    pack_elements(x, p, &place, lane, loop_int(b, 0), count);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &is_whole, 1, NULL, 0), arms, 2);
    batch_give_lanes(x, loop_close_turns(b, x->lanes, ORDER_INDEPENDENT), true);
    return true;
}

// ---- rows that are made -------------------------------------------------------------

// So many elements of the rows of all lanes, from `start` on.
static void store_elements(Batch *x, LoopRef buffer, LoopRef lane, LoopRef start,
                           LoopRef count) {
    LoopBuilder *b = x->b;
    LoopRef size = batch_compute_early(x, x->row_size[buffer]);
    LoopRef row = loop_mul(b, size, loop_add(b, x->first, lane));
    Side from = {x->blocks[buffer], loop_mul(b, start, x->lanes), lane, false};
    Side to = {buffer, loop_add(b, row, start), lane, true};
    copy_elements(x, &from, &to, count);
}

static void emit_row(Batch *x, LoopRef buffer) {
    LoopBuilder *b = x->b;
    LoopRef lane = loop_open_turns(b);
    LoopRef size = batch_compute_early(x, x->row_size[buffer]);
    LoopRef squares = loop_quot(b, size, x->lanes);
    LoopRef stored = loop_mul(b, squares, x->lanes), square = loop_open_turns(b);
    store_elements(x, buffer, lane, loop_mul(b, square, x->lanes), x->lanes);
    loop_close_turns(b, squares, ORDER_INDEPENDENT);
    store_elements(x, buffer, lane, stored, loop_sub(b, size, stored));
    batch_give_lanes(x, loop_close_turns(b, x->lanes, ORDER_INDEPENDENT), true);
}

void batch_emit_rows(Batch *x) {
    for (uint32_t i = 0; i < x->rows.len; i++) emit_row(x, x->rows.data[i]);
}
