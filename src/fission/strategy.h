// SPDX-License-Identifier: Apache-2.0
//
// Which operators to split, for devices that run at the same time.
#ifndef WEFT_FISSION_STRATEGY_H
#define WEFT_FISSION_STRATEGY_H

#include "core/core.h"

// What becomes of an operator.
typedef enum FissionVerdict {
    FISSION_IS_CUT,
    FISSION_HAS_NO_RULE, // none of those used here is about such operators
    FISSION_KEEPS_ORDER, // what it gives depends on the order, which is fixed
    FISSION_MAY_CHANGE,  // in parts it might make another error, or rows of other sizes
    FISSION_TRAVELS,     // what would travel takes longer than the others save
    FISSION_SAVES_NOTHING // each part would take as long as the whole, or hardly less
} FissionVerdict;

typedef struct FissionDecision {
    const CoreStm *stm;   // as it was, or a copy of that
    const CoreFun *entry; // where that is
    FissionVerdict verdict;
    const char *rule;   // IS_CUT: by which
    double work, bytes; // of an element: scalar operations; bytes that would travel
    uint32_t row, op;   // IS_CUT: of shares, by which; which of the row's operators
    uint32_t first;     // IS_CUT: the decision whose operator's length decides
} FissionDecision;

// Whether something is cut, of two versions in the program.
typedef struct FissionSwitch {
    const CoreFun *entry; // where that is
    CoreRef holds;        // what says that it is: a length is not less than `from`
    int64_t *from;        // INT64_MAX: all stays whole
    int64_t least;        // what that was at first: from there on there is enough to do
    double in_parts, whole; // seconds of a call, expected with it cut, or whole
                            // (plan/plan.h); 0: nobody has asked
} FissionSwitch;

// Where operators in a row are cut, all at the same shares of their lengths. The share
// of a device is in so many parts in a row, its chunks, which have one length.
typedef struct FissionRow {
    FissionSwitch at; // by how many elements its first operator has, those of rows too
    int64_t
        *bounds; // of part 1, 2, ...: how much of FISSION_WHOLE is before it, rising
    const int64_t *first; // what they were before anything was learned
    uint32_t operators;   // so many
    uint32_t devices, chunks;
    bool is_uneven; // some elements may take longer than others
} FissionRow;

// A part of an operator, known by the place of its statement, which is its own.
typedef struct FissionPiece {
    CoreLoc whole;    // the place of the operator
    uint32_t row, op; // of shares; which of the row's operators
    uint32_t part;    // and of its parts
    uint32_t device;  // in whose share that is
    bool is_chunk;    // the device has others in that row, which devices may exchange
    bool is_timed;    // what it takes tells how long the part is, for shares
} FissionPiece;

// All decisions in the order of the program; in the arena of the program's core. The
// bounds of the rows, and what switches say, are the elements of literals in the
// program: whoever writes to them between two runs cuts elsewhere.
typedef struct FissionLog {
    FissionDecision *data;
    uint32_t len, cap;
    struct {
        FissionRow *data;
        uint32_t len, cap;
    } rows;
    struct {
        FissionSwitch *data; // of entries, of which there are two versions where
        uint32_t len, cap;   // several rows are cut, or loops: all may stay whole
    } entries;
    struct {
        FissionPiece *data;
        uint32_t len, cap;
    } pieces;
    Map by_place;   // of its own -> piece; once there are pieces
    bool is_stream; // of fission_for_stream: parts are nobody's share
} FissionLog;

// The devices that run at the same time.
typedef struct FissionDevices {
    const uint32_t *weights; // 1 to 1000: how fast they are thought to be
    uint32_t count;
    bool is_shared;   // nothing travels between them: they share the host's memory
    bool is_mixed;    // they are of several kinds, so weights may be far off
    bool block_steps; // each goes several turns of a loop of stencils in one pass over
                      // memory (loop/steps.c)
} FissionDevices;

// Splits what the entries do outside of other operators into one share for each device,
// along dimension 0, at first in proportion to their weights, where
// that is worth what has to travel. What is made in parts is used in parts: the whole
// is joined for those alone who need it. A share is one part, or several chunks where
// elements may differ in work, or the devices in kind. Operators that make up less than
// so many scalar operations (about; with chunks that are even, in each) stay whole when
// the program runs; with 0 all that can be is split. The program is past stage 0.
// Appends what was decided, and why, to the log. Returns whether anything was split.
bool fission_for_devices(CoreProgram *program, const FissionDevices *devices,
                         double least, FissionLog *log);

// Splits all that takes less memory in parts, for devices that have too little for the
// whole, into so many parts, which are nobody's share: they run one after the other,
// wherever there is room; a part may be empty. Whether, and into how many, is said
// between two runs (fission_cut_stream); at first all is whole. Else as above.
bool fission_for_stream(CoreProgram *program, uint32_t count, double least,
                        FissionLog *log);

// ---- worth.c ------------------------------------------------------------------------

enum { FISSION_SOME = 32 }; // turns of a loop, or elements of a row, if nobody knows

// Scalar operations of a body, about.
double fission_body_work(const CoreProgram *p, const CoreBody *body);
// The same for one element along dimension 0. Of a sort it is none: merging what was
// sorted in parts takes longer than they save.
double fission_work(const CoreProgram *p, const CoreStm *stm);
// How often the loop turns; some number if nobody knows.
double fission_turns(const CoreProgram *p, const CoreStm *loop);
// Of an element, or a row, which has some.
double fission_bytes(CoreType row);
// Of that, what some elements along dimension 0 may do and others not: how often a loop
// in the operator turns, or whether there is one, depends on the element.
double fission_uneven(const CoreProgram *program, const CoreStm *stm);

// ---- runs.c -------------------------------------------------------------------------

// One of operators in a row.
typedef struct FissionOperator {
    uint32_t stm;  // which statement it is
    uint32_t last; // the last of them that takes its results in parts, or it itself
    double work;   // of an element
} FissionOperator;

// Behind the last operator of the run that begins with that one; there are so many.
uint32_t fission_run(const FissionOperator *ops, uint32_t first, uint32_t count);

// ---- shares.c -----------------------------------------------------------------------

// Cuts all rows into so many equal parts, of `count`; the others are empty. With one
// part all stays whole; unless it is to be cut, too, so does what is not worth it.
void fission_cut_stream(const FissionLog *log, uint32_t parts, uint32_t count,
                        bool what_is_small);
FissionSwitch fission_new_switch(Arena *arena, const CoreFun *entry, int64_t least);
// All of them, by number, and how many there are.
FissionSwitch *fission_switch(const FissionLog *log, uint32_t number);
uint32_t fission_switches(const FissionLog *log);
bool fission_is_of_entry(const FissionLog *log, const FissionSwitch *at); // not a row's
// What all of them say, by number; those of an entry say that, or are made to.
void fission_read_switches(const FissionLog *log, int64_t *from_out);
bool fission_switches_say(const FissionLog *log, const CoreFun *entry,
                          const int64_t *from);
void fission_write_switches(const FissionLog *log, const CoreFun *entry,
                            const int64_t *from);
// Which arm a branch on this value takes, as switches are now.
enum { FISSION_EITHER = UINT32_MAX }; // that depends on more, or on something else
uint32_t fission_only_arm(const FissionLog *log, CoreRef holds);
// A row of shares as the weights of so many devices say, each in `chunks` chunks.
// Returns its number.
uint32_t fission_new_row(FissionLog *log, Arena *arena, FissionRow row,
                         const uint32_t *weights);
uint32_t fission_parts(const FissionRow *row);
// Which part of the whole lies in that share, as these bounds of the row say.
double fission_share(const FissionRow *row, const int64_t *bounds, uint32_t device);
// Cuts the share of each device into chunks, once the bounds between devices are set.
void fission_cut_chunks(FissionRow *row);
// A place for the piece's statement, by which it is known.
CoreLoc fission_new_piece(FissionLog *log, CoreProgram *program, FissionPiece piece);
// The piece whose statement stands there; NULL: none does. The log may be NULL.
const FissionPiece *fission_find_piece(const FissionLog *log, CoreLoc loc);
// Where the operator stands of which that may be a piece.
CoreLoc fission_whole(const FissionLog *log, CoreLoc loc);

#endif
