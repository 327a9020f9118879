// SPDX-License-Identifier: Apache-2.0
//
// What the files that walk an entry share: values, of which only some is known, and the
// tasks that come of them (plan.h).
#ifndef WEFT_PLAN_WALK_H
#define WEFT_PLAN_WALK_H

#include "plan/plan.h"

enum {
    MOST_STEPS = 1 << 19, // statements that are walked
    MOST_TASKS = 2000,
    SOME = 32 // turns of a loop that nobody can know, where work is counted
};

typedef struct WalkValue {
    CoreType type;
    bool is_known; // a scalar
    uint64_t bits;
    int64_t *dims;  // of an array; -1: not known
    uint32_t block; // PLAN_NONE: it takes no memory, and nobody need wait for it
    uint32_t part;  // of the block; 0: all
    Str elements;   // of a literal of i64
    int64_t most;   // of an integer, or of an array's rows: no more; 0: not known
} WalkValue;

// How scalar operations of a kernel follow each other.
typedef enum WalkPace {
    PACE_ALONE, // one after the other
    PACE_WAITS, // in lanes, each waiting for the one before: turns of a loop
    PACE_FREE   // in lanes, and several at a time
} WalkPace;

typedef struct Walk {
    Plan *plan;
    const CoreProgram *p;
    Arena *arena;
    WalkValue *values; // by CoreRef
    double turns;      // of the loops around, on the host
    uint32_t waits;    // for that block all that follows waits; PLAN_NONE: for none
    uint32_t parts;    // of blocks, so far
    uint32_t steps;
    uint32_t visit, visits; // of a body on the host; how many there were
    uint32_t depth;         // of kernels; 0: on the host
    uint32_t doubts;        // bodies in kernels that may run or not
    WalkPace pace;          // at which scalar operations follow each other
    bool is_over;           // there is too much
} Walk;

// What follows is likely, but not certain.
static inline void visit_guess(Walk *w) {
    if (w->plan->sure == PLAN_NONE) w->plan->sure = w->plan->tasks.len;
}

// Whether what is walked is sure to run.
static inline bool visit_is_sure(const Walk *w) {
    return w->plan->sure == PLAN_NONE && w->doubts == 0;
}

// A size, or a number of turns.
static inline double visit_number(int64_t n) {
    return n < 0 ? NAN : (double)n;
}

// ---- values.c -----------------------------------------------------------------------

WalkValue visit_value(const Walk *w, CoreRef ref);
// Of that type, of which nothing else is known.
WalkValue visit_value_like(const Walk *w, CoreRef ref);
// An integer; -1: not known, or negative.
int64_t visit_int(const Walk *w, CoreRef ref);
// So many turns or rows where work is counted: an integer, or the most that it can be.
double visit_at_most(const Walk *w, CoreRef ref);
// The same of the rows of an array.
double visit_rows(const WalkValue *v);
// Elements, and the bytes that they take; NaN: not known.
double visit_count(const WalkValue *v);
double visit_bytes(const WalkValue *v);
// The row behind the first `skip` dimensions, or an element: it looks the same in each.
WalkValue visit_row(const Walk *w, const WalkValue *v, uint32_t skip);
// What is the same in both.
WalkValue visit_merge(const Walk *w, const WalkValue *a, const WalkValue *b);
// Makes it what result k of the statement is.
void visit_bind(Walk *w, const CoreStm *stm, uint32_t k, WalkValue v);

// The results of statements that look at arrays, or make them.
void visit_split(Walk *w, const CoreStm *stm);
void visit_index(Walk *w, const CoreStm *stm);
void visit_dim(Walk *w, const CoreStm *stm);
// Sizes from args, and then those of the row that arg `row` is, if there is one.
void visit_sized(Walk *w, const CoreStm *stm, uint32_t sizes, uint32_t row);
void visit_view(Walk *w, const CoreStm *stm);
void visit_scalar(Walk *w, const CoreStm *stm);
// One element after the other. Returns the work.
double visit_array(Walk *w, const CoreStm *stm);

// ---- walk.c -------------------------------------------------------------------------

// The branch of an IF on the host that is told.
const CoreBody *visit_branch(const Walk *w, const CoreStm *stm);

// ---- fault.c ------------------------------------------------------------------------

// What a check says if it is known to fail, and is sure to be made.
void visit_check(Walk *w, const CoreStm *stm);
// That there can be no such array, if there is sure to be one.
void visit_size(Walk *w, const WalkValue *v, CoreLoc loc);
// The same of a result of the body.
void visit_result(Walk *w, const CoreBody *body, CoreRef ref);

// ---- tasks.c ------------------------------------------------------------------------

uint32_t visit_new_block(Walk *w, const WalkValue *v, Sym name, CoreLoc loc,
                         uint32_t task, bool is_held);
// A task for the statement, which takes its args and makes its outs.
void visit_add_task(Walk *w, const CoreStm *stm, const CoreFun *kernel, double work);
// The results of the entry, whose body that is.
void visit_add_results(Walk *w, const CoreBody *body);
// The host looks at it.
void visit_look(Walk *w, CoreRef ref);

#endif
