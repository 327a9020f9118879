// SPDX-License-Identifier: Apache-2.0
//
// Within the loop room: what is shared by the ways to filter.
#ifndef WEFT_LOOP_LOWER_FILTER_H
#define WEFT_LOOP_LOWER_FILTER_H

#include "loop/lower.h"

// What decides about row i, and the row: made by a producer, or beside a flag.
typedef struct Filter {
    const CoreStm *stm;
    Feeds feeds;
    Array **outs; // by result
    bool is_flat; // rows are scalars
} Filter;

// Whether row i is kept, then its values.
const Val *filter_row(Lower *l, const Filter *f, LoopRef i);
// Makes the results, of so many rows.
void filter_outs(Lower *l, Filter *f, LoopRef kept);
// Where a block of the n rows begins and ends.
LoopRef filter_block_start(Lower *l, LoopRef block);
LoopRef filter_block_end(Lower *l, LoopRef n, LoopRef block);

// In root code (lower_filter_teams.c). is_twice: rows may be made again and again.
void filter_by_teams(Lower *l, Filter *f, bool is_twice);

#endif
