// SPDX-License-Identifier: Apache-2.0
//
// Within the loop room: what the parts of sorting share.
#ifndef WEFT_LOOP_LOWER_SORT_H
#define WEFT_LOOP_LOWER_SORT_H

#include "loop/lower.h"

enum { SORT_AHEAD = 3 };

// What goes through the passes: keys and, if they are wanted, their places.
enum { SORT_KEYS, SORT_PLACES, SORT_MOST_COLUMNS };

typedef struct Sort {
    Lower *l;
    ScalarType word; // of keys
    unsigned width;  // of these, in bits
    uint32_t columns;
    bool has_moved; // elements: no float is another NaN than the canonical one
    LoopRef n, parts, each, digits; // each: elements of a part but the last
    LoopRef mask;                   // word: the bits of a key that say its digit
    LoopRef turn;                   // word: what makes keys of bits; 0: it depends
    const Array *table;             // the digit by these bits; NULL: they are the digit
    LoopOrder order;                // of parts
    const Array *counts;            // by part and digit; then where the next one goes
    const Array *totals;            // by digit and one more: where it begins
    // Of one part: counts of the first SORT_AHEAD passes, by pass and digit; NULL: each
    // pass counts. Then which pass this is.
    const Array *ahead;
    LoopRef pass;
} Sort;

typedef struct SortColumn {
    const Array *from, *to; // from: NULL for places in the first pass
} SortColumn;

// ---- lower_sort.c -------------------------------------------------------------------

// An IF whose result is one scalar.
LoopRef sort_if(LoopBuilder *b, LoopRef c, LoopBody *const *bodies, ScalarType elem);
// So many elements from one on, behind others that are in order.
typedef struct SortRange {
    LoopRef first, count;
    LoopRef moves; // that others have taken
} SortRange;

// Puts them one by one where they belong, until that has taken more than so many moves,
// which it returns.
LoopRef sort_insert(const Sort *s, const SortColumn *columns, const SortRange *range,
                    LoopRef most);
// How many digits these bits have.
LoopRef sort_count_digits(const Sort *s, LoopRef bits);
// Sorts by the digits of these bits what an array per column holds, by way of others,
// in which it ends after an odd number of passes. Returns whether it does.
LoopRef sort_by_bits(const Sort *s, LoopRef bits, Array *const *from,
                     Array *const *others);

// ---- lower_sort_network.c -----------------------------------------------------------

// Sorts few elements, if it is known how many, and nothing but elements; false: not so.
bool sort_by_network(const Sort *s, const Array *from, const Array *to);

// ---- lower_sort_buckets.c -----------------------------------------------------------

// Sorts elements, which differ in these bits, from the one array to the others, if they
// are many and can be put into buckets of about one size. Returns whether it has.
LoopRef sort_by_buckets(const Sort *s, Array *from, Array *const *to,
                        Array *const *spares, LoopRef bits);

// ---- lower_sort_keys.c --------------------------------------------------------------

LoopRef sort_word2(const Sort *s, CoreOp op, LoopRef x, LoopRef y);
LoopRef sort_key(const Sort *s, ScalarType elem, LoopRef x, bool has_moved);
LoopRef sort_load_key(const Sort *s, const Array *a, LoopRef i);
// What makes keys of the bits of floats that have the sign of this one.
LoopRef sort_find_turn(const Sort *s, ScalarType elem, LoopRef x);
// The element, if it is a NaN the canonical one.
LoopRef sort_canonical(const Sort *s, ScalarType elem, LoopRef x);
LoopRef sort_digit(const Sort *s, LoopRef key, LoopRef shift);

// The bits in which keys differ.
LoopRef sort_find_differences(const Sort *s, const Array *from);
// Whether of so many keys from `first` on one is less than the key before it.
enum { SORT_BLOCK = 64 };
LoopRef sort_descends(const Sort *s, const Array *a, LoopRef first);
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

// An array of so many i64 in private memory.
Array *sort_numbers(const Sort *s, LoopRef count);
// So many of them from `first` on become 0.
void sort_clear(const Sort *s, const Array *a, LoopRef first, LoopRef count);
// The memory that a sort of so many parts counts in.
void sort_make_counts(Sort *s);
// Counts all keys by each of the lowest digits of these bits, which are moved already.
void sort_count_ahead(const Sort *s, const Array *keys, LoopRef bits);
// Finds where the digits at `shift` of elements put them, which are moved for the first
// time or once more; and moves them there.
void sort_count(const Sort *s, const SortColumn *columns, LoopRef shift, bool is_first);
void sort_move(const Sort *s, const SortColumn *columns, LoopRef shift, bool is_first);
// Both.
void sort_pass(const Sort *s, const SortColumn *columns, LoopRef shift, bool is_first);

#endif
