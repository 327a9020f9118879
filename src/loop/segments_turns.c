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
            if (turn + 1 < p->length)
                at.made = (*to)[i * (uint32_t)s->sides + (uint32_t)at.side];
            segments_emit_side(s, &at);
        }
    }
}

void segments_emit_all(const SegmentChain *p, SidePlace at) {
    ChainPlaces where[MOST_TURNS];
    ChainMade made[MOST_TURNS];
    find_places(p, &at, where);
    for (uint32_t i = 0; i < p->length; i++)
        emit_turn(p, i, &where[i], at.in_tile, i > 0 ? &made[i - 1] : NULL, &made[i]);
}

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
