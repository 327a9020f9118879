// SPDX-License-Identifier: Apache-2.0
//
// What the files of the segments pass share: a loop that divides its index, and what
// by.
#ifndef WEFT_LOOP_SEGMENTS_H
#define WEFT_LOOP_SEGMENTS_H

#include "loop/range.h"

enum { SEGMENTS_MOST_DIVISORS = 8, SEGMENTS_MOST_TABLES = 8 };

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
} Segments;

// A turn of one side.
typedef struct SidePlace {
    LoopRef block, place;
    LoopRef in_tile; // the place in the copies of tables; 0: there is no tile
    int64_t side;
} SidePlace;

// The divisor by which a statement divides the index, or of which it takes the
// remainder; NULL: it does not.
const Divisor *segments_divisor(const Segments *s, const LoopStm *stm);
static inline bool segments_is_quotient(const LoopStm *stm) {
    return stm->scalar == OP_QUOT || stm->scalar == OP_DIV;
}

// How many segments, which differ in a digit alone, have so much in common that they go
// side by side; 1: none.
int64_t segments_sides(const Segments *s);
// Emits whether all turns are in blocks of so many segments, and pass their checks.
LoopRef segments_test(const Segments *s);
// Emits what all sides of a block do at a place, without the checks.
void segments_emit_turn(const Segments *s, SidePlace at);
// What a statement is that takes a digit of the index, or of such a digit; 0: it takes
// none.
LoopRef segments_digit(const Segments *s, const LoopStm *stm, const SidePlace *at);

// Finds the tables that are not loaded one element after the other.
void segments_find_tables(Segments *s);
// Emits the turns by tiles, with copies of the tables.
void segments_emit_tiles(Segments *s);

// The scalar operator that gives a value; NULL: there is none.
const LoopStm *segments_def(const Segments *s, LoopRef ref);
// Whether the loop does not change it.
bool segments_is_outside(const Segments *s, LoopRef ref);

#endif
