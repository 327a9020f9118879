// SPDX-License-Identifier: Apache-2.0
//
// Small numbers of eight cells at once, each as its bits (bits.c, bits_find.c,
// bits_number.c, bits_gather.c).
#ifndef WEFT_LOOP_BITS_H
#define WEFT_LOOP_BITS_H

#include "loop/range.h"

enum {
    BITS_CELLS = 8,    // of a byte
    BITS_MOST = 5,     // of a number
    BITS_MOST_AWAY = 4 // columns to either side that a cell may read
};

// A number from 0 to `most` for each of the cells: byte i has bit i of all of them.
// Bytes past `count` are 0.
typedef struct BitsNumber {
    LoopRef bits[BITS_MOST];
    uint32_t count, most;
} BitsNumber;

// Straight code of cells, being turned into code of bytes.
typedef struct Bits {
    LoopBuilder *b;
    Map numbers; // BitsNumber by LoopRef
    // The byte that has the cells that are loaded.
    LoopRef (*load)(void *data, const LoopStm *load);
    void *data;
} Bits;

// Code for all that is in the body, save its stores, and what is no small number.
void bits_of_body(Bits *s, const LoopBody *body);
// The byte that has the values of eight cells; 0: they are not known to be 0 or 1.
LoopRef bits_of_value(const Bits *s, LoopRef value);

// ---- rows (bits_gather.c) -----------------------------------------------------------

typedef struct BitsRows {
    LoopRef buffer, rows, width; // rows of so many elements
} BitsRows;

// The code that gathers bytes of cells, and whether all of these are 0 or 1.
LoopRef bits_gather(LoopBuilder *b, const BitsRows *cells, const BitsRows *bytes);
// The code that spreads bytes to cells.
void bits_spread(LoopBuilder *b, const BitsRows *bytes, const BitsRows *cells);

LoopRef bits_load(LoopBuilder *b, LoopRef buffer, LoopRef width, LoopRef row,
                  LoopRef column);
void bits_store(LoopBuilder *b, LoopRef buffer, LoopRef value, LoopRef width,
                LoopRef row, LoopRef column);
static inline LoopRef bits_byte(LoopBuilder *b, uint64_t value) {
    return loop_const(b, SCALAR_U8, value);
}
static inline LoopRef bits_byte2(LoopBuilder *b, CoreOp op, LoopRef x, LoopRef y) {
    return loop_scalar(b, op, SCALAR_U8, (LoopRef[]){x, y}, 2);
}

// ---- which loops (bits_find.c) ------------------------------------------------------

typedef struct BitsCells {
    const LoopStm *loop, *rows, *cells; // the steps, and what each makes
    const LoopStm *store;
    uint32_t from, to; // the states that a step reads and writes
    LoopStm *copy;     // of the cells, as a result of the kernel; or NULL
    LoopRef result;    // where it goes
    uint32_t loads, seen;
    Map away; // by load: BITS_MOST_AWAY + so many columns to the right
    bool fails;
} BitsCells;

// What the walk is looking for.
typedef struct BitsSearch {
    Arena *arena;
    Map loops;    // BitsCells by statement
    Map accesses; // the same by each load and store of theirs
} BitsSearch;

// Notes the loops in root code that may make cells of zeros and ones.
void bits_find(BitsSearch *search, const LoopBuilder *b, const LoopBody *root);
// On the way over their loads and stores, which cells these are of.
void bits_see(RangeWalk *w, const LoopStm *access);
// The loop, if all that it loads and stores was as it should be; or NULL.
const BitsCells *bits_found(const BitsSearch *search, const LoopStm *loop);
// Whether the statement computes scalars from scalars alone.
bool bits_is_computed(const LoopStm *stm);

#endif
