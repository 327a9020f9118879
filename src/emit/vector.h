// SPDX-License-Identifier: Apache-2.0
//
// What the files that write vector turns share.
#ifndef WEFT_EMIT_VECTOR_H
#define WEFT_EMIT_VECTOR_H

#include "emit/walk.h"

// ---- vector.c -----------------------------------------------------------------------

ScalarType walk_elem(const Walker *w, LoopRef ref);
bool walk_has_lanes(const Walker *w, LoopRef ref);
// The type of a part of such elements; and of the value's.
Str walk_vector_type(Walker *w, ScalarType elem);
Str walk_vector_type_of(Walker *w, LoopRef ref);
// A part as a vector, of a value that may have no lanes.
Str walk_vector(Walker *w, LoopRef ref, uint32_t part);
// Whether the masks of the vectors fill registers of 64 bytes.
static inline bool walk_is_wide(const Walker *w) {
    return w->part.count * w->part.mask == 512;
}
// A condition that is one when all lanes of a mask are.
Str walk_all(Walker *w, Str mask);
// Writes a part of what a statement gives that goes by parts, or of a TAKE.
void walk_define(Walker *w, const LoopStm *stm, uint32_t part);

// ---- bits.c -------------------------------------------------------------------------

// A part of a mask that is bits, as what the statement makes.
Str walk_bits(Walker *w, const LoopStm *stm, uint32_t part);
// A part of any mask, as a vector; and a bit for each of its lanes, and others above.
// Compilers put what comparisons say into a vector and take it out of there again; so
// these are written once more, as bits, and what joins them, too.
Str walk_mask(Walker *w, LoopRef mask, uint32_t part);
Str walk_mask_bits(Walker *w, LoopRef mask, uint32_t part);

// ---- tally.c ------------------------------------------------------------------------

// Before and after a block of turns that counts: opens its counts, and adds them to
// their places.
void walk_open_tallies(Walker *w, const LoopStm *loop);
void walk_close_tallies(Walker *w, const LoopStm *loop);
// Adds a mask to what is counted in a block.
void walk_tally(Walker *w, const LoopStm *stm);

// ---- vector_memory.c ----------------------------------------------------------------

// A load or store. `first`: of the args that say where.
typedef struct WalkAccess {
    const LoopStm *stm;
    LoopRef buffer, mask; // 0: none
    uint32_t first;
    bool has_places; // each lane one of its own
    ScalarType elem;
    Str at; // the name of where the first lane is; empty: it has none
} WalkAccess;

WalkAccess walk_access(const Walker *w, const LoopStm *stm);
// How many lanes a mask has, if they are the first ones, and a load or store by such a
// mask of elements side by side; 0: it is another one.
LoopRef walk_live(const Walker *w, LoopRef mask);
LoopRef walk_front(const Walker *w, const LoopStm *stm);
// The numbers of lanes, which only places ask for: these say them as they are.
bool walk_is_plain_number(const Walker *w, LoopRef ref);
// Whether all of its parts, which are stored one beside the other, go past the caches;
// parts of 16 bytes cannot.
bool walk_streams_parts(const Walker *w, const WalkAccess *a);
// A part of what is loaded; and a store of all parts, and of a part without a mask of
// places that follow each other.
Str walk_load(Walker *w, const LoopStm *stm, uint32_t part);
Str walk_lookup(Walker *w, const LoopStm *stm, uint32_t part);
void walk_store_part(Walker *w, const LoopStm *stm, uint32_t part);
void walk_store(Walker *w, const LoopStm *stm);

#endif
