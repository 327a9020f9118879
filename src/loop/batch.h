// SPDX-License-Identifier: Apache-2.0
//
// What the files of the batch pass share (docs/internals/lift.md): batch_find.c says
// which turns are for lanes, batch.c makes them, batch_lanes.c what they do.
#ifndef WEFT_LOOP_BATCH_H
#define WEFT_LOOP_BATCH_H

#include "loop/lift.h"
#include "loop/vector.h"

enum {
    BATCH_MOST_LOOPS = 62,
    BATCH_MOST_DIMS = 3,
    BATCH_MOST_TERMS = 4,
    BATCH_SMALL = 1 << 28,
    BATCH_LEAST_BYTES = 4 // of an element in squares
};

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

// [size * turn +] number + the sum of the terms, each an index of a loop or what is
// known before the turns.
typedef struct BatchPlace {
    LoopRef size; // of a row, a turn having one; 0: it does not depend on the turn
    uint64_t number;
    struct {
        LoopRef atom;
        uint64_t factor;
    } terms[BATCH_MOST_TERMS];
    uint32_t count;
} BatchPlace;

// A load that a loop makes in each of its turns, from one element of a row to the next
// or the one before.
typedef struct BatchWalk {
    const LoopStm *load, *loop;
    BatchPlace place;
    bool falls;
    LoopRef tile, start, offset; // where a square of the rows is, what turn is first in
                                 // it, and where that is in the row
} BatchWalk;

typedef struct Batch {
    const LiftMachine *machine;
    LoopBuilder *b;
    Vector *vector; // gives loops lanes
    const LoopStm *loop;
    uint32_t known;       // values from here on are later than the loop
    uint32_t room;        // of what is by LoopRef, zeros before a loop and after it
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
    LoopRefs loaded, stored; // buffers from outside, save rows
    LoopRefs rows; // buffers of which a turn makes a row, which it keeps till its end
    LoopRef *row_size; // by LoopRef: of such a buffer, or 0
    struct {
        BatchPlace *data; // in such rows
        uint32_t len, cap;
    } places;
    struct {
        BatchWalk *data;
        uint32_t len, cap;
    } walks;
    bool walks_all; // all that turns load of their own lies in rows that loops walk
    uint32_t bytes; // of the widest element in private memory
    bool is_worth_it;
    bool waits;       // a fold waits long: lanes gain even if their places lie apart
    bool is_once;     // turns load what they store, so that none may run twice
    uint32_t *delays; // by LoopRef: in a fold, cycles since its state was there
    bool *is_narrow;  // by LoopRef: a number that is an i32 in lanes
    LoopRefs small;   // what must be small for that
    // While blocks are made:
    LoopRef lanes, first;
    uint32_t flight; // vectors that have them
    LoopRef
        *blocks; // by LoopRef: a private buffer for all lanes, or where a value is kept
    bool *is_needed; // by LoopRef, in a step
    LoopRefs needed; // those that are
} Batch;

// Statements that go to a step in lanes.
typedef struct BatchStep {
    Batch *x;
    LoopCopier c;
    LoopRef lane;
} BatchStep;

// Makes room for what is noted of each value, which one loop after the other takes.
void batch_make_room(Batch *pass);
// Whether the loop's turns, which go in any order, are for lanes; all else in *x but
// machine, b and the room is found out. Whoever calls it forgets.
bool batch_find(Batch *x, const LoopStm *loop);
// Clears what was noted for the loop.
void batch_forget(const Batch *x);
// The value that it is where branches go one way.
LoopRef batch_same(const Batch *x, LoopRef ref);
// What it depends on.
uint64_t batch_on(const Batch *x, LoopRef ref);
// Whether it can be computed before the loop.
bool batch_is_early(const Batch *x, LoopRef ref);

// ---- batch_lanes.c ------------------------------------------------------------------

// What is known before the turns, computed where it is not yet.
LoopRef batch_compute(Batch *x, LoopCopier *c, LoopRef ref);
LoopRef batch_compute_early(Batch *x, LoopRef ref);
// Gives the loop lanes; false: it cannot have any, or, unless always, gains nothing.
bool batch_give_lanes(Batch *x, LoopStm *loop, bool always);
// How many turns the loop of that number makes.
LoopRef batch_times(Batch *x, uint32_t loop);
// Copies what turns load again and again to where that is side by side.
void batch_pack(Batch *x, const BatchLoad *p);
LoopType batch_type(const Batch *x, LoopRef ref);
LoopRef batch_copy_of(BatchStep *s, LoopRef ref);
// As what the value `like` is in lanes: narrow, maybe.
LoopRef batch_copy_like(BatchStep *s, LoopRef ref, LoopRef like);
void batch_emit(BatchStep *s, const LoopStm *stm);

// ---- batch_rows.c -------------------------------------------------------------------

// Finds rows, what walks along them, and whether that is all.
void batch_find_rows(Batch *x);
// Whether all that the step does is written over before anybody looks.
bool batch_is_lost(const Batch *x, uint32_t step);
// The place of a load or store. False: it is no such sum.
bool batch_place(const Batch *x, const LoopStm *stm, BatchPlace *out);

// ---- batch_squares.c ----------------------------------------------------------------

// Whether all places in rows are within them.
LoopRef batch_rows_hold(Batch *x);
// The place within its row.
LoopRef batch_place_in_row(BatchStep *s, const BatchPlace *p);
BatchWalk *batch_find_walk(const Batch *x, const LoopStm *load);
bool batch_has_walks(const Batch *x, const LoopStm *loop);
void batch_emit_walk(BatchStep *s, const LoopStm *loop);
LoopRef batch_load_walked(BatchStep *s, const BatchWalk *walk);
// Packs by squares what the load gives; false: it does not go along rows.
bool batch_pack_rows(Batch *x, const BatchLoad *p);
// Stores the rows that the turns have made.
void batch_emit_rows(Batch *x);

#endif
