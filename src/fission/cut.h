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
    Map chosen;          // first result -> 1: the statement is to be cut
    Map stays;           // array -> 1: in parts, and all who take it take these
    Map *works;          // first result -> the bits of what its statement does
    Map *nears;          // first result -> CoreRefs *: those of cut_near
    FissionFacts *facts; // what binds values, everywhere
    const struct FuseState *states; // what the loops around keep of arrays
    uint32_t *uses;                 // by CoreRef, before anything was split
    const FissionDevices *devices;
    double least; // operations from which on splitting pays
    FissionLog *log;
    const CoreFun *entry;               // that is being split
    uint32_t row, parts;                // of shares, of the run that is being split
    CoreRef shares[FISSION_MOST_PARTS]; // its bounds
    FissionShared *shared;              // of the body whose statements are being cut
    bool selects;                       // all that may be cut is being looked for
    bool in_turns;                      // of a loop that is in parts, as all in it is
    bool at_blocks;  // they are rounded to blocks, of what has enough of them
    bool cuts_loops; // the entry's, inside
    bool changed;
} Strategy;

static inline bool is_control(const CoreStm *stm) {
    return stm->op == OP_IF || stm->op == OP_FOR || stm->op == OP_WHILE;
}

// The operators to be cut that no loop or branch with others is between, of which some
// are in runs.
typedef struct CutRow {
    FissionOperator *data;
    uint32_t len, cap;
    uint32_t next; // the first one that is in none
    Map last;      // array -> the statement of the body that takes it last, or behind
                   // all; once there is a row
} CutRow;

// ---- select.c -----------------------------------------------------------------------

// The next operators that are worth cutting, from statement `from` on.
void cut_select(Strategy *y, const CoreBody *body, uint32_t from, CutRow *row);

// ---- cut.c --------------------------------------------------------------------------

// Statement i of the body, to be split.
FissionSplit cut_of(const Strategy *y, const CoreBody *body, uint32_t i);
// The rule to cut it by, which is set; NULL: it stays whole.
const FissionRule *cut_find_rule(const Strategy *y, FissionSplit *s);
// The arrays that the generate takes by parts if it is cut by part_near; none: it is
// not. They are looked for once.
const CoreRefs *cut_near(const Strategy *y, const FissionSplit *s);
// Whether others can take the results part by part: what a filter keeps is of other
// lengths.
bool cut_has_parts(const FissionSplit *s);
// Notes why statement i of the body stays whole, if it is an operator: no run has it.
void cut_note_whole(const Strategy *y, const CoreBody *body, uint32_t i);
// Whether what the stencil makes takes a byte, so that cores may have eight or more in
// one (loop/bits.c), in a loop that stays whole.
bool cut_may_be_bits(const Strategy *y, const CoreStm *stm);
// What binds an array that takes no memory where it is used; NULL: it takes some.
const CoreStm *cut_find_virtual(const Strategy *y, CoreRef array);
// Whether it is one of those about which something is decided.
bool cut_is_operator(const CoreStm *stm);
// Whether some rule that the strategy uses may be about it.
bool cut_is_judged(const CoreStm *stm);
// Whether all that can be cut is.
bool cut_takes_all(const Strategy *y);
bool cut_is_chosen(const Strategy *y, const CoreStm *stm);
// For an element, in nanoseconds: what the others take over if the operator is cut by
// its rule, of all turns of a loop; and what the array takes to travel.
double cut_saves(const Strategy *y, const FissionSplit *s);
double cut_travel_time(const Strategy *y, CoreRef array);
// Operations for one element, of all turns of a loop.
double cut_work(const Strategy *y, const CoreStm *stm);
// Emits all statements of a body, in parts what can be, by the row's shares.
void cut_all(Strategy *y, const CoreBody *body);

// ---- versions.c ---------------------------------------------------------------------

// The run by other values, to be in the program as it is.
CoreBody *version_whole(const Strategy *y, const CoreBody *run);
// The same, to be cut: what was chosen, and what is known, holds for it, too. Operators
// have no bodies of their own there.
CoreBody *version_to_cut(Strategy *y, const CoreBody *run);

// ---- sweep.c ------------------------------------------------------------------------

// Drops what nobody needs in the entries, now that they are cut.
void cut_sweep(const Strategy *y);

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
