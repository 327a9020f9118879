// SPDX-License-Identifier: Apache-2.0
//
// What the files of the turns pass share: a loop that goes in order, each turn of which
// looks at one row of a matrix and then changes every row in place by itself and by
// what it has seen. turns_find.c finds it, turns.c makes blocks of its turns.
#ifndef WEFT_LOOP_TURNS_H
#define WEFT_LOOP_TURNS_H

#include "loop/copy.h"
#include "loop/lift.h"

typedef struct Turns {
    LoopBuilder *b;
    const LoopStm **defs; // by LoopRef: the scalar operator that makes it; or NULL
    uint32_t known;       // there are so many
    int group;            // rows at once
    LoopStm *loop;
    const LoopBody *body;
    uint32_t at;        // of the statement on rows
    LoopStm *rows;      // that loop
    LoopRef matrix;     // the buffer
    LoopRef high, wide; // of a row: how far from the next one, how many elements
    LoopRefs arrays;    // a row long, which a turn makes when it looks
    LoopRefs kept;      // scalars that it finds then and needs for the change
    // How rows change that are not of the block: what comes before their elements (of a
    // branch only the arm below counts), and the loop on these.
    LiftStms before;
    const LoopStm *cells;
    LiftStms cell;  // what is done for an element, but the store
    bool has_strip; // whether what comes before loads the element in its turn's column
    LoopRefs factors; // what the loop on elements needs of what comes before
} Turns;

// Whether the loop is one; fills in what is below `loop`.
bool turns_find(Turns *t, LoopStm *loop);
// The arm of a branch that rows go which are not of the block, where there are
// elements; -1: nobody knows.
int turns_arm(const Turns *t, const LoopStm *branch);

#endif
