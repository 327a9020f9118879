// SPDX-License-Identifier: Apache-2.0
//
// What the files of the segments pass share: a loop that divides its index, and what
// by.
#ifndef WEFT_LOOP_SEGMENTS_H
#define WEFT_LOOP_SEGMENTS_H

#include "loop/copy.h"

enum {
    SEGMENTS_MOST_DIVISORS = 8,
    SEGMENTS_MOST_TABLES = 8,
    SEGMENTS_MOST_TURNS = 4, // of a chain
    SEGMENTS_LONG = 16       // places: vectors are as long
};

// What the index is divided by.
typedef struct Divisor {
    LoopRef ref, copy; // what it is within segments
    int64_t times;     // the base; 0: that is not known
} Divisor;

// What turns load from places that only their own in a segment tells apart.
typedef struct SegmentTable {
    LoopStm *load;
    LoopRef copy; // private memory: the elements of the places of a tile
} SegmentTable;

// Several turns of the loop around at once (segments_chains.c).
typedef struct SegmentChain SegmentChain;

typedef struct Segments {
    RangeWalk *w;
    LoopStm *loop;
    LoopRef index;
    LoopRef base;  // the least divisor; 0: there is none
    LoopRef turns; // of the loop that is made
    Divisor divisors[SEGMENTS_MOST_DIVISORS];
    uint32_t count;
    int64_t sides; // turns of the old loop in one of it
    SegmentTable tables[SEGMENTS_MOST_TABLES];
    uint32_t table_count;
    LoopRefs renamed;    // values from outside, each before what it is here
    SegmentChain *chain; // that these are a turn of; NULL: of none
} Segments;

// A turn of one side.
typedef struct SidePlace {
    LoopRef block, place;
    LoopRef in_tile; // the place in the copies of tables; 0: there is no tile
    int64_t side;
    LoopRef *made;        // what goes to the chain's stores; NULL: it is stored
    const LoopRef *given; // what the chain's loads give; NULL: it is loaded
} SidePlace;

// Tests at a corner.
typedef struct Corner {
    const Segments *s;
    SidePlace at;
    Map values; // LoopRef -> LoopRef
    Map tested; // what is tested everywhere alike
    LoopRef passes;
} Corner;

// The divisor by which a statement divides the index, or of which it takes the
// remainder; NULL: it does not.
const Divisor *segments_divisor(const Segments *s, const LoopStm *stm);
static inline bool segments_is_quotient(const LoopStm *stm) {
    return stm->scalar == OP_QUOT || stm->scalar == OP_DIV;
}
// Whether the scalar operator is a quotient or a remainder.
static inline bool segments_divides(const LoopStm *stm) {
    return segments_is_quotient(stm) || stm->scalar == OP_REM || stm->scalar == OP_MOD;
}

// How many segments, which differ in a digit alone, have so much in common that they go
// side by side; 1: none.
int64_t segments_sides(const Segments *s);
// Emits whether all turns are in blocks of so many segments, and pass their checks.
LoopRef segments_test(const Segments *s);
// Whether it is a sum of products of different indices, so that it is known everywhere
// if it is known at the corners; its value at one.
bool segments_is_sum(const Segments *s, LoopRef ref);
LoopRef segments_value_at(Corner *c, LoopRef ref);
// Emits what all sides of a block do at a place, without the checks.
void segments_emit_turn(const Segments *s, SidePlace at);
// What a statement is that takes a digit of the index, or of such a digit; 0: it takes
// none.
LoopRef segments_digit(const Segments *s, const LoopStm *stm, const SidePlace *at);

// Emits the divisors, computed where it is known that they do not wrap.
void segments_emit_divisors(Segments *s);
// Copies what is not outside; that is what it is within the segments.
LoopCopier segments_copier(const Segments *s);
LoopRef segments_outside(const Segments *s, LoopRef ref);
// Emits one side of a turn.
void segments_emit_side(const Segments *s, const SidePlace *at);
// What the index of the loop is there.
LoopRef segments_index(const Segments *s, const SidePlace *at);

// Walks over what is emitted, so that what sides load and compute alike is there once.
void segments_share(RangeWalk *w, const LoopBody *body);

// Finds the tables that are not loaded one element after the other.
void segments_find_tables(Segments *s);
// Emits the turns by tiles, with copies of the tables.
void segments_emit_tiles(Segments *s);

// ---- several turns of the loop around (segments_chains.c) ---------------------------

// Finds turns of the loop around that may be one, and emits whether they are, if these
// segments may be; NULL: they never are.
SegmentChain *segments_find_chain(const Segments *s, LoopRef goes);
// Whether so many turns are one; 0: they never are.
LoopRef segments_goes(const SegmentChain *chain, uint32_t turns);
// Whether more never are.
bool segments_is_longest(const SegmentChain *chain, uint32_t turns);

// ---- the loops of a chain (segments_turns.c) -----------------------------------------

// The segments of so many turns, the base being known to be that.
Segments *segments_chain(const SegmentChain *chain, uint32_t turns, LoopRef base);
// For tiles: calls `copy` with the places of all turns; emits what all do at a place.
void segments_copy_all(SegmentChain *chain, LoopRef first, LoopRef count,
                       void (*copy)(Segments *s, LoopRef first, LoopRef count));
void segments_emit_all(const SegmentChain *chain, SidePlace at);
// Whether blocks of one place make rows of whole lines of memory.
bool segments_have_rows(const SegmentChain *chain);
// Emits such blocks from the first, so many of them as whole vectors have lanes.
void segments_emit_rows(const SegmentChain *chain, LoopRef begin, LoopRef length);
// What the statement loads, if the turn before has made that; 0: it has not.
LoopRef segments_given(const Segments *s, const LoopStm *stm, const SidePlace *at);
// Whether the statement stores what is kept for the next turn instead.
bool segments_keeps(const Segments *s, const LoopCopier *copier, const LoopStm *stm,
                    const SidePlace *at);

// The scalar operator that gives a value; NULL: there is none.
const LoopStm *segments_def(const Segments *s, LoopRef ref);
// Whether the loop does not change it.
bool segments_is_outside(const Segments *s, LoopRef ref);

#endif
