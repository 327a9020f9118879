// SPDX-License-Identifier: Apache-2.0
//
// The loops of a chain: what each turn makes of the places of one block stays in
// registers, for the next.
#include "loop/segments_chains.h"

LoopRef segments_given(const Segments *s, const LoopStm *stm, const SidePlace *at) {
    for (uint32_t i = 0; at->given != NULL && i < s->chain->load_count; i++)
        if (s->chain->loads[i].stm == stm) return at->given[i];
    return 0;
}

bool segments_keeps(const Segments *s, const LoopCopier *copier, const LoopStm *stm,
                    const SidePlace *at) {
    for (uint32_t i = 0; at->made != NULL && i < s->chain->store_count; i++) {
        if (s->chain->stores[i].stm != stm) continue;
        at->made[i] = loop_copy_of(copier, stm->args[1]);
        return true;
    }
    return false;
}

// Where a turn has its blocks and places.
typedef struct ChainPlaces {
    LoopRef blocks[MOST_MADE], places[MOST_MADE];
} ChainPlaces;

static void find_places(const SegmentChain *p, const SidePlace *at,
                        ChainPlaces turns[MOST_TURNS]) {
    LoopBuilder *b = &p->first.w->b;
    uint32_t sides = (uint32_t)p->first.sides, shifts = p->shift_count;
    turns[0].places[0] = at->place;
    for (uint32_t i = 1; i < p->length; i++)
        for (uint32_t k = 0; k < segments_place_count(p, i); k++)
            turns[i].places[k] = segments_next_place(
                &p->turns[i - 1].at, turns[i - 1].places[k / sides], k % sides);
    turns[p->length - 1].blocks[0] = at->block;
    for (uint32_t i = p->length - 1; i-- > 0;)
        for (uint32_t k = 0; k < segments_block_count(p, i); k++)
            turns[i].blocks[k] = loop_add(b, turns[i + 1].blocks[k / shifts],
                                          p->shifts[k % shifts].blocks[i]);
}

// What a turn makes: of each block, of each place, each side.
typedef LoopRef ChainMade[MOST_MADE][MOST_STORES];

static void emit_turn(const SegmentChain *p, uint32_t turn, const ChainPlaces *where,
                      LoopRef in_tile, const ChainMade *from, ChainMade *to) {
    uint32_t blocks = segments_block_count(p, turn),
             places = segments_place_count(p, turn);
    LoopRef given[MOST_LOADS];
    for (uint32_t i = 0; i < blocks * places; i++) {
        uint32_t block = i / places, place = i % places;
        const Segments *s = &p->turns[turn].places[place];
        SidePlace at = {.block = where->blocks[block],
                        .place = where->places[place],
                        .in_tile = in_tile};
        for (uint32_t k = 0; turn > 0 && k < p->load_count; k++) {
            const ChainLoad *load = &p->loads[k];
            uint32_t made = (block * p->shift_count + load->shift) * places + place;
            given[k] = (*from)[made][load->store];
        }
        if (turn > 0) at.given = given;
        for (at.side = 0; at.side < s->sides; at.side++) {
            if (to != NULL) at.made = (*to)[i * (uint32_t)s->sides + (uint32_t)at.side];
            segments_emit_side(s, &at);
        }
    }
}

// made: of each turn what it makes; of the last NULL if that is stored.
static void emit_turns(const SegmentChain *p, SidePlace at, const ChainPlaces *where,
                       ChainMade *made[MOST_TURNS]) {
    for (uint32_t i = 0; i < p->length; i++)
        emit_turn(p, i, &where[i], at.in_tile, i > 0 ? made[i - 1] : NULL, made[i]);
}

void segments_emit_all(const SegmentChain *p, SidePlace at) {
    ChainPlaces where[MOST_TURNS];
    ChainMade made[MOST_TURNS], *of_turns[MOST_TURNS];
    find_places(p, &at, where);
    for (uint32_t i = 0; i < p->length; i++)
        of_turns[i] = i + 1 < p->length ? &made[i] : NULL;
    emit_turns(p, at, where, of_turns);
}

// ---- rows ---------------------------------------------------------------------------
//
// Where segments have one place, blocks are the lanes. Each makes a row, so that what
// lanes store is far from each other. Then tiles of 16 blocks hold what these make, of
// which vector turns make rows (vector_square.c):
//
//     for(16) {|t| .. tile[k][t] = ..}
//     for(16) {|t| for(16) {|k| y[(first + t) 16 + k] = tile[k][t]}}

enum { LINE = 64 }; // bytes

// Elements of a row.
static LoopRef row_length(const SegmentChain *p) {
    return loop_int(&p->first.w->b, segments_place_count(p, p->length));
}

// Elements of a line of memory, which are the lanes that make rows.
static uint32_t line_of(const SegmentChain *p, uint32_t store) {
    LoopType type = loop_type(&p->first.w->b, p->stores[store].stm->args[1]);
    return LINE / (uint32_t)scalar_info[type.elem].bytes;
}

bool segments_have_rows(const SegmentChain *p) {
    bool ok = true;
    for (uint32_t i = 0; i < p->store_count && ok; i++) {
        uint32_t line = line_of(p, i);
        ok = line <= SEGMENTS_LONG && segments_place_count(p, p->length) % line == 0;
    }
    return ok;
}

// Keeps in the tiles what the last turn makes at those places, in that lane.
static void keep_made(const SegmentChain *p, const ChainPlaces *where, LoopRef lane,
                      ChainMade made, const LoopRef *tiles) {
    LoopBuilder *b = &p->first.w->b;
    const Segments *last = &p->turns[p->length - 1].at;
    uint32_t sides = (uint32_t)last->sides, all = segments_place_count(p, p->length);
    for (uint32_t i = 0; i < all; i++) {
        SidePlace at = {.block = loop_int(b, 0),
                        .place = where->places[i / sides],
                        .side = i % sides};
        for (uint32_t k = 0; k < p->store_count; k++) {
            LoopRef args[] = {tiles[k],
                              made[i][k],
                              loop_int(b, 0),
                              loop_int(b, SEGMENTS_LONG),
                              segments_index(last, &at),
                              loop_int(b, 1),
                              lane};
            loop_emit(b, LOOP_STORE, args, 7, NULL, 0);
        }
    }
}

// Stores the rows of so many blocks from the first, line by line.
static void store_rows(const SegmentChain *p, uint32_t store, LoopRef tile,
                       LoopRef first) {
    LoopBuilder *b = &p->first.w->b;
    const LoopStm *stm = p->stores[store].stm;
    LoopType type = loop_type(b, stm->args[1]);
    uint32_t line = line_of(p, store);
    LoopRef length = row_length(p), lines = loop_int(b, line);
    LoopRef part = loop_mul(b, loop_open_turns(b), lines), lane = loop_open_turns(b);
    LoopRef begin = loop_mul(b, loop_open_turns(b), lines), k = loop_open_turns(b);
    LoopRef row = loop_mul(b, loop_add(b, loop_add(b, first, part), lane), length);
    LoopRef from[] = {tile,
                      loop_add(b, loop_mul(b, begin, loop_int(b, SEGMENTS_LONG)), part),
                      loop_int(b, SEGMENTS_LONG),
                      k,
                      loop_int(b, 1),
                      lane};
    LoopRef element = loop_emit1(b, LOOP_LOAD, from, 6, type);
    LoopRef to[] = {segments_outside(&p->first, stm->args[0]), element,
                    loop_add(b, row, begin), loop_int(b, 1), k};
    loop_emit(b, LOOP_STORE, to, 5, NULL, 0);
    loop_close_turns(b, lines, ORDER_INDEPENDENT);
    loop_close_turns(b, loop_quot(b, length, lines), ORDER_INDEPENDENT);
    loop_close_turns(b, lines, ORDER_INDEPENDENT);
    loop_close_turns(b, loop_quot(b, loop_int(b, SEGMENTS_LONG), lines),
                     ORDER_SEQUENTIAL);
}

void segments_emit_rows(const SegmentChain *p, LoopRef begin, LoopRef length) {
    LoopBuilder *b = &p->first.w->b;
    LoopRef tiles[MOST_STORES], wide = loop_int(b, SEGMENTS_LONG);
    LoopRef size = loop_mul(b, row_length(p), wide), count = loop_quot(b, length, wide);
    for (uint32_t i = 0; i < p->store_count; i++) {
        LoopType type = loop_type(b, p->stores[i].stm->args[1]);
        tiles[i] = loop_emit1(b, LOOP_ALLOC, &size, 1,
                              loop_buffer_type((ScalarType)type.elem));
    }
    LoopRef first = loop_add(b, begin, loop_mul(b, loop_open_turns(b), wide));
    LoopRef lane = loop_open_turns(b);
    SidePlace at = {.block = loop_add(b, first, lane), .place = loop_int(b, 0)};
    ChainPlaces where[MOST_TURNS];
    ChainMade made[MOST_TURNS], *of_turns[MOST_TURNS];
    find_places(p, &at, where);
    for (uint32_t i = 0; i < p->length; i++) of_turns[i] = &made[i];
    emit_turns(p, at, where, of_turns);
    uint32_t last = p->length - 1;
    keep_made(p, &where[last], lane, made[last], tiles);
    loop_close_turns(b, wide, ORDER_INDEPENDENT);
    for (uint32_t i = 0; i < p->store_count; i++) store_rows(p, i, tiles[i], first);
    loop_close_turns(b, count, ORDER_SEQUENTIAL);
}

// ---- tables -------------------------------------------------------------------------

void segments_copy_all(SegmentChain *p, LoopRef first, LoopRef count,
                       void (*copy)(Segments *s, LoopRef first, LoopRef count)) {
    ChainPlaces where[MOST_TURNS];
    SidePlace at = {.place = first, .block = first};
    find_places(p, &at, where);
    for (uint32_t i = 0; i < p->length; i++)
        for (uint32_t k = 0; k < segments_place_count(p, i); k++)
            copy(&p->turns[i].places[k], where[i].places[k], count);
}

LoopRef segments_goes(const SegmentChain *p, uint32_t turns) {
    return turns <= p->length ? p->turns[turns - 1].goes : 0;
}

bool segments_is_longest(const SegmentChain *p, uint32_t turns) {
    return turns == p->length;
}

Segments *segments_chain(const SegmentChain *p, uint32_t turns, LoopRef base) {
    LoopBuilder *b = &p->first.w->b;
    SegmentChain *chain = arena_new(b->arena, SegmentChain);
    *chain = *p;
    chain->length = turns;
    chain->first.chain = chain;
    chain->first.base = base;
    segments_prepare(chain);
    uint32_t all = segments_place_count(chain, turns);
    chain->first.turns = loop_quot(b, chain->first.turns, loop_int(b, all));
    for (uint32_t i = 0; i < turns; i++) {
        Segments *at = &chain->turns[i].at;
        segments_find_tables(at);
        for (uint32_t k = 0; k < segments_place_count(chain, i); k++)
            chain->turns[i].places[k] = *at;
    }
    return &chain->first;
}
