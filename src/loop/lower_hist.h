// SPDX-License-Identifier: Apache-2.0
//
// Within the loop room: what is shared by the ways to make a histogram.
#ifndef WEFT_LOOP_LOWER_HIST_H
#define WEFT_LOOP_LOWER_HIST_H

#include "loop/lower.h"

typedef struct Hist {
    Fold fold;            // its slots are bins
    uint32_t depth;       // index arrays
    Feeds feeds;          // of indices, then values
    const LoopRef *sizes; // of the index space
    LoopRef bins;
    // Of a part: how many bins it has, with copies, and how far these are apart, 0 if
    // there are none.
    LoopRef width, apart;
    Slots dest;
    CoreOp atomic; // how values join at once; OP_COUNT: they do not
    struct {
        LoopRef from, count;
    } range; // of bins, that are being joined
} Hist;

// Which bin value i goes into; returns whether there is such a bin. `made`: what
// loop_produce gave for it.
LoopRef hist_find_bin(const Hist *h, const Val *made, LoopRef i, LoopRef *bin_out);
void hist_value(const Hist *h, const Val *made, LoopRef i, Val *out);
void hist_join(const Hist *h, const Slots *bins, LoopRef bin, const Val *value);
// Takes value i into its bin if it has one.
void hist_take(const Hist *h, const Slots *bins, LoopRef i);
// On cores, scalars that cost little to make: several of them may stand side by side.
bool hist_is_simple(const Hist *h);
// floor(p * n / parts)
LoopRef hist_part_start(const Hist *h, LoopRef p, LoopRef parts);

// ---- lower_hist_teams.c -------------------------------------------------------------

// Whether values are such that teams can have bins; whether these are few enough: a
// bool.
bool hist_has_teams(const Fold *f);
LoopRef hist_suits_team(const Hist *h);
// All values into dest, in any order. The operator is atomic.
void hist_blocks_by_teams(const Hist *h);
// In a parallel turn: fills the bins of part p, which lie in a row in `all`.
void hist_part_by_team(const Hist *h, const Slots *all, LoopRef p, LoopRef parts);

// ---- lower_hist_ranges.c ------------------------------------------------------------

// Whether there are so many bins and, simple, values that ranges of bins pay: a bool.
LoopRef hist_suits_ranges(const Hist *h);
// All values into dest, those of a bin in order, in a parallel kernel.
void hist_by_ranges(const Hist *h);

#endif
