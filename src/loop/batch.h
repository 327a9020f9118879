// SPDX-License-Identifier: Apache-2.0
//
// What the files of the batch pass share (docs/internals/lift.md): batch_find.c says
// which turns are for lanes, batch.c makes them.
#ifndef WEFT_LOOP_BATCH_H
#define WEFT_LOOP_BATCH_H

#include "loop/lift.h"

enum { BATCH_MOST_LOOPS = 62, BATCH_MOST_DIMS = 3, BATCH_SMALL = 1 << 28 };

// What a value depends on: a bit for the turn, one for the index of each loop within,
// and one for what has to be there already, such as elements.
#define BATCH_ON_TURN  ((uint64_t)1)
#define BATCH_ON_STATE ((uint64_t)1 << 63)

typedef struct BatchLoop {
    const LoopStm *stm;
    uint32_t outer; // number of the loop around it; 0: none
    bool is_fold;   // carries something
} BatchLoop;

// A load of what only the turn and some of the loops around it decide.
typedef struct BatchLoad {
    const LoopStm *load;
    uint32_t loops[BATCH_MOST_DIMS], count; // from the outside in
    LoopRef buffer;
} BatchLoad;

typedef struct Batch {
    const LiftMachine *machine;
    LoopBuilder *b;
    const LoopStm *loop;
    uint32_t known;       // values from here on are later than the loop
    bool *inside;         // by LoopRef: bound by a turn
    uint64_t *on;         // by LoopRef
    bool *is_early;       // by LoopRef: of what is inside, a scalar of what is not
    const LoopStm **defs; // by LoopRef, of scalars
    LoopRef *same;        // by LoopRef: what a branch that goes one way gives, or 0
    bool *is_private;     // by LoopRef, of buffers
    BatchLoop loops[BATCH_MOST_LOOPS + 1]; // from 1 on
    uint32_t loop_count;
    LoopRefs conditions;
    uint64_t arms;  // by condition: whether it must not hold
    LiftStms steps; // of a turn, without branches that go one way
    LiftStms allocs;
    struct {
        BatchLoad *data;
        uint32_t len, cap;
    } packed;
    LoopRefs loaded, stored; // buffers from outside
    uint32_t bytes;          // of the widest element in private memory
    bool is_worth_it;
    bool waits;      // a fold waits long: lanes gain even if their places lie apart
    bool is_once;    // turns load what they store, so that none may run twice
    bool *is_narrow; // by LoopRef: a number that is an i32 in lanes
    LoopRefs small;  // what must be small for that
    // While blocks are made:
    LoopRef lanes, first;
    LoopRef
        *blocks; // by LoopRef: a private buffer for all lanes, or where a value is kept
    bool *is_needed; // by LoopRef
} Batch;

// Whether the loop's turns are for lanes; all else in *x but machine and b is found
// out.
bool batch_find(Batch *x, const LoopStm *loop);
// The value that it is where branches go one way.
LoopRef batch_same(const Batch *x, LoopRef ref);
// What it depends on.
uint64_t batch_on(const Batch *x, LoopRef ref);

#endif
