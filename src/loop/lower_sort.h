// SPDX-License-Identifier: Apache-2.0
//
// Within the loop room: what the parts of sorting share.
#ifndef WEFT_LOOP_LOWER_SORT_H
#define WEFT_LOOP_LOWER_SORT_H

#include "loop/lower.h"

// What goes through the passes: keys and, if they are wanted, their places.
enum { SORT_KEYS, SORT_PLACES, SORT_MOST_COLUMNS };

typedef struct Sort {
    Lower *l;
    ScalarType word; // of keys
    unsigned width;  // of these, in bits
    uint32_t columns;
    LoopRef n, parts, each, digits; // each: elements of a part but the last
    LoopRef mask;                   // word
    LoopOrder order;                // of parts
    const Array *counts;            // by part and digit; then where the next one goes
    const Array *totals;            // by digit
} Sort;

// ---- lower_sort_keys.c --------------------------------------------------------------

LoopRef sort_word2(const Sort *s, CoreOp op, LoopRef x, LoopRef y);
// The key of an element. Once they have been moved no float is another NaN than the
// canonical one.
LoopRef sort_key(const Sort *s, ScalarType elem, LoopRef x, bool has_moved);
// The element, if it is a NaN the canonical one.
LoopRef sort_canonical(const Sort *s, ScalarType elem, LoopRef x);
LoopRef sort_digit(const Sort *s, LoopRef key, LoopRef shift);

// The bits in which keys differ, or, if they are all the same, any one bit.
LoopRef sort_find_differences(const Sort *s, const Array *from);
// Where the lowest digit of these bits begins, and the bits above it.
LoopRef sort_lowest_digit(const Sort *s, LoopRef bits);
LoopRef sort_higher_digits(const Sort *s, LoopRef bits);

// Where part p begins, and its size.
LoopRef sort_part_start(const Sort *s, LoopRef p);
LoopRef sort_part_size(const Sort *s, LoopRef p);

// A loop that carries one scalar.
LoopRef sort_open_fold(const Sort *s, Carry *c, LoopRef start, LoopRef times);
LoopRef sort_close_fold(const Sort *s, Carry *c, LoopRef result);

// ---- lower_sort_pass.c --------------------------------------------------------------

typedef struct SortColumn {
    const Array *from, *to; // from: NULL for places in the first pass
} SortColumn;

// An array of so many i64 in private memory.
Array *sort_numbers(const Sort *s, LoopRef count);
// Moves all elements to where the digit at `shift` puts them, for the first time or
// once more.
void sort_pass(const Sort *s, const SortColumn *columns, LoopRef shift, bool is_first);

#endif
