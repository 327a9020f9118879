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
    FISSION_TRAVELS      // what would travel takes longer than the others save
} FissionVerdict;

typedef struct FissionDecision {
    const CoreStm *stm; // as it was, or a copy of that
    FissionVerdict verdict;
    const char *rule;   // IS_CUT: by which
    double work, bytes; // of an element: scalar operations; bytes that would travel
    uint32_t first;     // IS_CUT: the decision whose operator's length decides
    int64_t least;      // IS_CUT: from which length on
} FissionDecision;

// All decisions in the order of the program; in the arena of the program's core.
typedef struct FissionLog {
    FissionDecision *data;
    uint32_t len, cap;
} FissionLog;

// Splits what the entries do outside of other operators into one part for each device,
// along dimension 0, in proportion to these weights (whole numbers, 1 to 1000), where
// that is worth what has to travel. What is made in parts is used in parts: the whole
// is joined for those alone who need it. Operators that make up less than so many
// scalar operations (about) stay whole when the program runs; with 0 all that can be is
// split. The program is past stage 0. Appends what was decided, and why, to the log.
// Returns whether anything was split.
bool fission_for_devices(CoreProgram *program, const uint32_t *weights, uint32_t count,
                         double least, FissionLog *log);

#endif
