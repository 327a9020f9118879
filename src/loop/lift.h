// SPDX-License-Identifier: Apache-2.0
//
// What the files of the lift pass share (docs/internals/lift.md).
#ifndef WEFT_LOOP_LIFT_H
#define WEFT_LOOP_LIFT_H

#include "loop/copy.h"

// The levels between a core and its lanes. All that is known of a machine is here.
typedef struct LiftMachine {
    uint32_t registers; // vectors that it has
    uint32_t bytes;     // of a vector
    uint32_t near;   // bytes of the cache that a core has for itself, or half of them
    uint32_t packed; // bytes that are packed at a time
    uint32_t least;  // turns of a fold that are worth it
    uint32_t many;   // columns for which rows are packed wherever they lie
    bool always;     // lanes whether they gain or not, for tests
} LiftMachine;

// Of one with vectors of so many bytes.
LiftMachine lift_machine(uint32_t bytes);

enum {
    LIFT_VECTORS = 2,    // in a row of a register block
    LIFT_MOST_ROWS = 12, // of a register block
    LIFT_MOST_STRIP = 8, // register blocks in a turn, one under another
    LIFT_PANELS = 16,    // and panels, side by side, or more
    LIFT_TURNS = 64,     // that a round has if it has more panels for each
    LIFT_SPREAD = 16,    // turns, at least, if there are as many register blocks
    LIFT_SHARE = 4       // of a thread, if panels are far
};

// What a value depends on: indices, sums; loads, and such whose places do not follow
// each other from turn to turn of the fold; operators that may fail.
enum {
    LIFT_ROW = 1,
    LIFT_COLUMN = 2,
    LIFT_DEPTH = 4,
    LIFT_SUM = 8,
    LIFT_LOADED = 16,
    LIFT_FAR = 32,
    LIFT_FAILS = 64
};

typedef struct LiftStms {
    const LoopStm **data;
    uint32_t len, cap;
} LiftStms;

// Rows and columns in any order, with a fold for each: the loops of a matrix product.
// Besides there are scalars, loads, and branches and checks of what is the same for
// all: it is lifted where these go one way.
typedef struct LiftNest {
    LoopStm *rows, *columns, *depth;
    LoopRefs conditions; // of branches and checks
    uint64_t arms;       // by condition: whether it must not hold
    LiftStms outer, before, inside,
        after;                 // outside the loop on columns; around, in the fold
    LoopRef row, column, turn; // the indices
    uint32_t known;            // values from here on are later than the nest
    uint8_t *depends;          // by LoopRef
    const LoopStm **defs;      // by LoopRef, of a scalar or load in the nest
    LoopRef *same;             // by LoopRef: what the result of such a branch is, or 0
    LoopRefs columns_packed,
        rows_packed;     // what all rows use of columns; all columns, of rows
    bool is_far;         // of these some do not follow each other
    uint32_t high, wide; // of a register block
    uint32_t bytes;      // of an element
} LiftNest;

// Whether the loop is on the rows of such a nest (lift_find.c).
bool lift_find(LoopKernel *kernel, const LiftMachine *machine, LoopStm *loop,
               LiftNest *nest_out);
// The pass, for a machine that may be another.
void lift_run(LoopKernel *kernel, const LiftMachine *machine);
// Batches (batch.c): turns with memory of their own, in lanes.
void batch_run(LoopKernel *kernel, const LiftMachine *machine);
// What the pass would do, for people: a paragraph for each nest (lift_show.c).
void lift_show(LoopKernel *kernel, StrBuf *out);

#endif
