// SPDX-License-Identifier: Apache-2.0
//
// What the files of the strategy share: strategy.c says what is cut together, cut.c
// cuts it, carry.c lets loops go round with parts.
#ifndef WEFT_FISSION_CUT_H
#define WEFT_FISSION_CUT_H

#include "fission/rules.h"
#include "fission/strategy.h"
#include "opt/fuse.h"

typedef struct Strategy {
    CoreProgram *program;
    CoreBuilder builder;
    Map known;           // array -> FissionKnown
    Map planned;         // array -> 1: it will be made in parts, in the next run
    FissionFacts *facts; // what binds values, everywhere
    const struct FuseState *states; // what the loops around keep of arrays
    const uint32_t *uses;           // by CoreRef, before anything was split
    const FissionDevices *devices;
    double least; // operations from which on splitting pays
    FissionLog *log;
    const CoreFun *entry;               // that is being split
    uint32_t row, parts;                // of shares, of the run that is being split
    CoreRef shares[FISSION_MOST_PARTS]; // its bounds
    FissionShared *shared;              // of the body whose statements are being cut
    bool at_blocks;  // they are rounded to blocks, of what has enough of them
    bool cuts_loops; // the entry's, inside
    bool changed;
} Strategy;

static inline bool is_control(const CoreStm *stm) {
    return stm->op == OP_IF || stm->op == OP_FOR || stm->op == OP_WHILE;
}

// ---- cut.c --------------------------------------------------------------------------

// Statement i of the body, to be split.
FissionSplit cut_of(const Strategy *y, const CoreBody *body, uint32_t i);
// The rule to cut it by, which is set; NULL: it stays whole.
const FissionRule *cut_find_rule(const Strategy *y, FissionSplit *s);
// Whether others can take the results part by part: what a filter keeps is of other
// lengths.
bool cut_has_parts(const FissionSplit *s);
// The same and notes why, of an operator that no run has.
void cut_note_whole(const Strategy *y, FissionSplit *s);
// Whether what the stencil makes takes a byte, so that cores may have eight or more in
// one (loop/bits.c), in a loop that stays whole.
bool cut_may_be_bits(const Strategy *y, const CoreStm *stm);
// Operations for one element, of all turns of a loop.
double cut_work(const Strategy *y, const CoreStm *stm);
// Emits all statements of a body, in parts what can be, by the row's shares.
void cut_all(Strategy *y, const CoreBody *body);

// ---- carry.c ------------------------------------------------------------------------

// Whether the statement is a loop of stencils of which each device makes several turns
// in one pass over memory, and so little in each that meeting in every turn would take
// longer.
bool carry_in_steps(const Strategy *y, const CoreStm *stm);
// Whether the statement is a loop that can go round with parts.
bool carry_can(const Strategy *y, const CoreStm *stm);
// What the loops around know inside of the loop.
Strategy carry_inside(const Strategy *y, const CoreStm *loop);
// Emits the loop, of parts; what comes of it is known in parts, too.
void carry(Strategy *y, const CoreStm *loop);
// How long the first array is that the loop carries.
CoreRef carry_length(Strategy *y, const CoreStm *loop);

#endif
