// SPDX-License-Identifier: Apache-2.0
//
// What a chain is: turns of a loop that are one pass (segments_chains.c finds them,
// segments_turns.c makes their loops).
#ifndef WEFT_LOOP_SEGMENTS_CHAINS_H
#define WEFT_LOOP_SEGMENTS_CHAINS_H

#include "loop/segments.h"

enum {
    MOST_TURNS = SEGMENTS_MOST_TURNS,
    MOST_MADE = 16, // elements of one array that a turn makes for the next
    MOST_LOADS = 16,
    MOST_STORES = 4,
    MOST_SHIFTS = 2
};

// A load of what the turn before has made.
typedef struct ChainLoad {
    const LoopStm *stm;
    uint32_t store, shift;
} ChainLoad;

// A store of what the next turn loads.
typedef struct ChainStore {
    const LoopStm *stm;
    LoopRef next; // what its buffer is called there
} ChainStore;

// Blocks of a turn after the one at hand.
typedef struct ChainShift {
    LoopRef elements; // 0: none
    LoopRef blocks[MOST_TURNS];
} ChainShift;

// One of the turns. Of blocks it needs shifts^(turns after it), of places
// sides^(turns before it).
typedef struct ChainTurn {
    LoopRefs renamed;
    LoopRef goes;               // whether it and those before are one pass; 0: never
    Segments at;                // its segments
    Segments places[MOST_MADE]; // the same, for each place: they have copies of tables
} ChainTurn;

struct SegmentChain {
    Segments first;
    ChainTurn turns[MOST_TURNS];
    ChainLoad loads[MOST_LOADS];
    ChainStore stores[MOST_STORES];
    ChainShift shifts[MOST_SHIFTS];
    uint32_t load_count, store_count, shift_count;
    uint32_t length; // turns that are one
};

// How many blocks a turn needs for one of the last, and how many places.
uint32_t segments_block_count(const SegmentChain *p, uint32_t turn);
uint32_t segments_place_count(const SegmentChain *p, uint32_t turn);
// Emits the turns' bases and what they divide by, where the builder is.
void segments_prepare(SegmentChain *p);
// The place of the next turn that is one of that side of this one.
LoopRef segments_next_place(const Segments *s, LoopRef place, int64_t side);

#endif
