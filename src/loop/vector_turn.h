// SPDX-License-Identifier: Apache-2.0
//
// What the files share that make a vector turn: values that are the same for all lanes,
// grow evenly, are known for each lane, or have lanes. A mask of 0 is all lanes.
#ifndef WEFT_LOOP_VECTOR_TURN_H
#define WEFT_LOOP_VECTOR_TURN_H

#include "loop/vector.h"

// ---- vector_turn.c -----------------------------------------------------------------

// Adds to the costs, of a turn and of a vector that holds so many lanes as fit.
void turn_charge(Vector *v, double scalar, double vector);

ScalarType turn_elem_of(const Vector *v, LoopRef ref);
LoopType turn_lanes_of(const Vector *v, ScalarType elem);
bool turn_is_vector(const Vector *v, LoopRef ref);
// The types in the vector turn of values of the loop; room for two more.
LoopType *turn_types_of(Vector *v, const LoopRef *refs, uint32_t count);

// Operators on new values, in lanes if an operand has lanes.
LoopRef turn_apply(Vector *v, CoreOp op, ScalarType to, const LoopRef *args,
                   uint32_t count);
LoopRef turn_apply2(Vector *v, CoreOp op, ScalarType to, LoopRef x, LoopRef y);
LoopRef turn_splat(Vector *v, LoopRef x);
LoopRef turn_select(Vector *v, LoopRef mask, LoopRef x, LoopRef y);
LoopRef turn_number_lanes(Vector *v, ScalarType elem);
LoopRef turn_any(Vector *v, LoopRef mask);
LoopRef turn_both(Vector *v, LoopRef mask, LoopRef c);
LoopRef turn_negate(Vector *v, LoopRef c);
// A scalar operator of the loop, in lanes if an operand has lanes. Those that are off
// do not divide by zero.
LoopRef turn_scalar(Vector *v, const LoopStm *stm, LoopRef mask);

// What became of a value of the loop.
Rep turn_rep_of(const Vector *v, LoopRef old);
void turn_set_rep(Vector *v, LoopRef old, LoopRef ref);
// As an operand: without lanes if it is the same in all; and with lanes at any rate.
LoopRef turn_operand(Vector *v, LoopRef old);
LoopRef turn_vector(Vector *v, LoopRef old);
// The constant that it is in that lane, or 0.
LoopRef turn_lane_of(Vector *v, LoopRef old, uint32_t lane);

// The statement in the open body that binds a new value; NULL: there is none.
LoopStm *turn_find_here(const Vector *v, LoopRef ref);
// Whether it cannot fail, nor change memory.
bool turn_is_quiet(const LoopStm *stm);
// Whether nothing in the open body behind the statement may fail or change memory.
bool turn_is_quiet_since(const Vector *v, const LoopStm *stm);

void turn_translate(Vector *v, const LoopBody *body, LoopRef mask);
// Closes what was translated; its results have lanes where those of the statement vary.
LoopBody *turn_close_body(Vector *v, const LoopStm *stm, const LoopBody *body);

// ---- vector_live.c -----------------------------------------------------------------

// The mask of lanes that are turns, from that index on, of n.
LoopRef turn_find_live(Vector *v, LoopRef index, LoopRef n);
// A mask, without lanes that are no turns: for what touches memory, may not end or may
// fail. All else they may do.
LoopRef turn_live(Vector *v, LoopRef mask);

// ---- vector_around.c ---------------------------------------------------------------

// A division for all lanes in place of one for each, if what is divided counts up, and
// is not negative: the divisor begins anew in one lane at most, if there are no more
// lanes than that.
bool turn_remainder(Vector *v, const LoopStm *stm, LoopRef mask);
// Notes of which lanes the comparison holds, if that is known without lanes.
void turn_note_compared(Vector *v, const LoopStm *stm);
// The same of result `k` of a choice, if both that it is between count up.
void turn_note_chosen(Vector *v, const LoopStm *stm, uint32_t k);
// Which index of a load counts up in all lanes but where it begins anew, side by side,
// and all else is the same for all; 0: none.
uint32_t turn_find_around(const Vector *v, const LoopStm *load);
// A load with these args, of which number `at` does: of elements that follow each
// other, unless they begin anew in this turn.
LoopRef turn_load_anew(Vector *v, const LoopRef *args, uint32_t count, uint32_t at,
                       const Around *around);

// ---- vector_memory.c ---------------------------------------------------------------

// Where lanes load from, or store to.
typedef struct Access {
    LoopRef *args; // offset, then pairs of stride and index
    uint32_t count;
    LoopRef stride; // from lane to lane, besides
    bool has_lanes; // else the place is one plus lane * stride
} Access;

// Whether the place of a load or store with these args, the place beginning at `first`,
// is that of the other and so many elements more.
bool turn_is_behind(const Vector *v, const LoopRef *args, uint32_t count,
                    uint32_t first, const LoopStm *other, uint64_t by);
void turn_load(Vector *v, const LoopStm *stm, LoopRef mask);
// The vector that holds the element that the new load has for all lanes, and in which
// lane; 0: the memory is not known to hold so many elements, or may have changed since.
LoopRef turn_load_around(Vector *v, const LoopStm *load, LoopRef *lane_out);
// Whether both new values have been loaded from the same place, which has not changed.
bool turn_are_same(const Vector *v, LoopRef x, LoopRef y);
void turn_store(Vector *v, const LoopStm *stm, LoopRef mask);
void turn_tally(Vector *v, const LoopStm *stm, LoopRef mask);
void turn_check(Vector *v, const LoopStm *stm, LoopRef mask);

// ---- vector_apart.c ----------------------------------------------------------------

// What it costs to load or store a vector whose lanes have places of their own.
static inline double turn_scatter_cost(const Vector *v) {
    return 2.5 * v->width;
}

// A load of elements that are 2 to 4 apart, as lanes taken of vectors; 0: it is none.
LoopRef turn_load_apart(Vector *v, const Access *p, LoopType type);
// A store of such, if it fills what those before it in the turn have left between: all
// of them are side by side then. False: it is none.
bool turn_store_apart(Vector *v, const Access *p, LoopType type);

// ---- vector_loop.c -----------------------------------------------------------------

void turn_loop(Vector *v, const LoopStm *stm, LoopRef mask);

// ---- vector_square.c ---------------------------------------------------------------

// Emits in another form what the loop does, if it copies a
// square.
bool turn_square(Vector *v, const LoopStm *loop);

#endif
