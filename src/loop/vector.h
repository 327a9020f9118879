// SPDX-License-Identifier: Apache-2.0
//
// What the files of the vector pass share (docs/internals/vector.md).
#ifndef WEFT_LOOP_VECTOR_H
#define WEFT_LOOP_VECTOR_H

#include "loop/build.h"

// What a value of the loop is in a vector turn.
typedef enum RepKind {
    REP_SAME,   // `ref` for all lanes; ref 0: the value itself, from outside
    REP_LINEAR, // lane l has ref + l * stride, both for all lanes
    REP_TABLE,  // lane l has table[l], a constant
    REP_VECTOR  // `ref` has lanes
} RepKind;

// Of lanes that count up: lane l has `first` + l as long as `number` + l is less than
// `limit`, and else `other` + l. What says which are the first has no lanes of its own.
typedef struct Around {
    LoopRef number, limit, first, other;
} Around;

typedef struct Rep {
    RepKind kind;
    LoopRef ref, stride;
    LoopRef *table;
    const Around *around; // of a vector, or a mask: what is known, too; or NULL
} Rep;

typedef struct Vector {
    LoopKernel *kernel;
    Arena *arena;
    LoopBuilder b;  // in which no value is another one
    uint32_t bytes; // of a vector
    bool always;
    bool at_once;          // the loop's turns are one vector turn
    bool is_partial;       // lanes of the last vector turn may be no turns
    LoopRef live;          // then: which are; 0: all, or those of the mask at hand
    const uint64_t *sizes; // by LoopRef: of memory of a known size; or 0
    uint32_t sized;        // there are so many
    uint32_t old;          // values from here on are the pass's
    uint32_t room;         // of the next four
    bool *varies;          // by LoopRef: from turn to turn
    bool *used;            // by LoopRef
    bool *given;           // by LoopRef: it needs no computing
    Rep *reps;             // by LoopRef
    uint32_t lanes, width; // of a value, of a vector
    uint32_t flight;       // vectors in a value
    uint32_t fold_bytes;   // of a lane of the fold, if its vectors are those; or 0
    // About what the loop costs: one turn, and the turns that a vector holds.
    double weight, scalar_cost, vector_cost;
} Vector;

// The pass, for vectors of so many bytes. `always`: whether it gains or not, for tests.
void vector_run(LoopKernel *kernel, uint32_t bytes, bool always);

// What one loop after the other goes by.
Vector vector_pass(LoopKernel *kernel, uint32_t bytes);
// Gives the loop, whose turns are as many as some vectors have lanes, these lanes, in
// so many vectors at once; or returns false.
bool vector_loop(Vector *pass, LoopStm *loop, uint32_t flight, bool always);
// Finds out which values vary. False: the loop is not for lanes.
bool vector_analyse(Vector *v, const LoopStm *loop);
// The body of the plain function that is called, if it is not too long for lanes; or
// NULL.
const LoopBody *vector_plain(const Vector *v, const LoopStm *apply);
// Whether its turns are long, and their operators wait for each other (vector_depth.c).
bool vector_waits(const Vector *v, const LoopBody *body);
// How many vectors of a fold keep the units busy while a turn waits for the last one;
// 0: its turns are too long, or do not wait.
uint32_t vector_chain_hides(const Vector *v, const LoopBody *turn);
// Whether they store to so many places that the caches do not hold a line, of which a
// vector is a half, until the next turn stores the other.
bool vector_halves_lines(const Vector *v, const LoopBody *body);
// Whether the last vector turn of the loop, of so many vectors at once, may have lanes
// that are no turns; and whether the body of vector turns, as it is now, does so at
// little cost (vector_live.c).
bool vector_may_be_partial(const Vector *v, const LoopStm *loop);
bool vector_suits_live(const Vector *v, const LoopBody *turn);
// The body of vector turns; sets `live`.
LoopBody *vector_translate(Vector *v, const LoopStm *loop);

#endif
