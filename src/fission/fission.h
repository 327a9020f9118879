// SPDX-License-Identifier: Apache-2.0
//
// Fission: one operator becomes several that could run apart, and what joins their
// results. The rules are rows of a table (rules.c); which of them to use where is for
// others to decide (design: core.md, "Fission"). The source of the rules is the paper
// on rewriting data parallelism to task parallelism (Svensson and others), figures 2
// and 6.
//
// A program after a rule means the same as before: the same bits, the same first error.
// That memory may run out, or that an array may be larger than any memory, is no error
// in this sense.
#ifndef WEFT_FISSION_FISSION_H
#define WEFT_FISSION_FISSION_H

#include "core/core.h"

enum {
    FISSION_MOST_PARTS = 64,
    FISSION_WHOLE = 720720 // what shares are of: as many parts as up to 16 are equal
};

typedef struct FissionSplit FissionSplit; // split.h

// How the parts' results become those of the whole.
typedef enum FissionJoin {
    JOIN_CONCAT, // along the dimension that is cut
    JOIN_FOLD,   // by the operator of a reduction
    JOIN_OWN     // the rule's function `whole` does everything
} FissionJoin;

typedef struct FissionRule {
    const char *name;
    const char *source; // figure and rule of the paper; or "beyond"
    const char *meaning;
    CoreOp op;
    FissionJoin join;
    // Whether the rule applies to that dimension of the statement.
    bool (*guard)(const FissionSplit *s);
    // Emits what is to be cut: the size of that dimension, and checks that come before.
    // NULL: the rule has one way to go.
    CoreRef (*size)(FissionSplit *s);
    // Emits part p and sets its results.
    void (*part)(FissionSplit *s, uint32_t p, CoreRef *results);
    // Emits everything, if join is JOIN_OWN.
    void (*whole)(FissionSplit *s);
} FissionRule;

extern const FissionRule fission_rules[];
extern const uint32_t fission_rule_count;

// What rules know of a program besides the body that they look at: what binds its
// values, of all bodies that were looked at so far. A value that is known by now is
// what it was bound to.
typedef struct Rewrite FissionFacts; // opt/rewrite.h

// Where a rule applies: to statement number `stm` of a body.
typedef struct FissionPlace {
    uint32_t stm, dim;
    const FissionRule *rule;
    const FissionFacts *facts;
} FissionPlace;

typedef struct FissionPlaces {
    FissionPlace *data;
    uint32_t len, cap;
} FissionPlaces;

// How to cut: at a point (what is beyond the end counts as the end), or into parts of
// which none is more than one longer than another, or by shares.
typedef struct FissionCut {
    uint32_t parts; // 2 to FISSION_MOST_PARTS
    int64_t at;     // with 2 parts: the length of the first; -1: equal parts
    // Values: how much of FISSION_WHOLE is before part 1, 2, ...; NULL: parts are
    // equal.
    const CoreRef *shares;
    CoreRef unit; // a value, of which bounds are multiples; 0: they need not be
} FissionCut;

// Among the program's notes.
FissionFacts *fission_new_facts(CoreProgram *program);
// Appends all places of the body at which one of the rules applies. The program is past
// stage 0; the facts are of it, and learn about the body.
void fission_places(FissionFacts *facts, const CoreBody *body, const FissionRule *rules,
                    uint32_t rule_count, Arena *arena, FissionPlaces *places_out);
// The body with the rule applied there. The body given stays as it is; they share
// statements, and only one of them may be in the program.
CoreBody *fission_apply(CoreProgram *p, const CoreBody *body, const FissionPlace *place,
                        FissionCut cut);
// A body that computes what the place would cut, and nothing after it.
CoreBody *fission_size(CoreProgram *p, const CoreBody *body, const FissionPlace *place);

#endif
