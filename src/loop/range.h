// SPDX-License-Identifier: Apache-2.0
//
// What is known of integers while walking over a kernel, and proofs from it.
//
// A form is a sum of values times constants, of exact integers: a value has a form only
// if the arithmetic that made it was proved not to wrap; otherwise it is an atom, of
// which its type alone is known. A fact is a form that is not negative. Facts hold from
// where they are learnt to the end of the body, and are forgotten by range_forget.
#ifndef WEFT_LOOP_RANGE_H
#define WEFT_LOOP_RANGE_H

#include "loop/build.h"

enum { RANGE_MOST_TERMS = 6 };

typedef struct RangeTerm {
    LoopRef atom;
    int64_t factor; // not 0
} RangeTerm;

typedef struct RangeForm {
    int64_t base;
    uint32_t count;
    RangeTerm terms[RANGE_MOST_TERMS]; // atoms descend
} RangeForm;

typedef struct RangeFact {
    RangeForm form;                    // is not negative
    uint32_t before[RANGE_MOST_TERMS]; // by term: 1 + the last earlier fact on its atom
} RangeFact;

typedef struct RangeValue {
    const LoopStm *def;    // that binds it; NULL: a param
    const RangeForm *form; // NULL: it is an atom, or a constant
    uint32_t facts;        // 1 + the last fact on it
    uint32_t depth;        // loops around where it is bound
    bool is_busy;          // being replaced in the proof at hand
    LoopRef below;         // an atom: not negative and less than this; 0: nothing known
    LoopRef either[2];     // an atom: equal to one of these; 0: nothing known
    LoopRef when;          // then to the first if this holds, else to the second; or 0
    const LoopRef *sizes;  // of an array that there is, this being its buffer or one of
    uint32_t rank;         // them, and how many they are; or NULL
} RangeValue;

typedef struct Ranges {
    LoopBuilder *b;
    struct {
        RangeValue *data;
        uint32_t len, cap;
    } values; // by LoopRef
    struct {
        RangeFact *data;
        uint32_t len, cap;
    } facts;
    bool is_proving;
    uint32_t fuel, depth; // steps left for the proof; how many are under way
} Ranges;

// What is known of the value; the pointer lasts until the next call.
static inline RangeValue *range_value(Ranges *r, LoopRef ref);
bool range_is_int(const Ranges *r, LoopRef ref);
// The value as a form; of an integer.
RangeForm range_form(Ranges *r, LoopRef ref);
// Adds factor * other; false: too much, and the form is spoilt.
bool range_add(RangeForm *form, const RangeForm *other, int64_t factor);
// The same, and of a sum that is known to fit only here, if not where it was computed:
// that there are cells in a row bounds how many rows there are.
RangeForm range_sum(Ranges *r, LoopRef ref);
// x - y - less; false: too much.
bool range_difference(Ranges *r, LoopRef x, LoopRef y, int64_t less,
                      RangeForm *form_out);

// The numbers between which facts on it alone say that the value is; false: none say.
bool range_bounds(Ranges *r, LoopRef atom, int64_t *least_out, int64_t *most_out);

// The least number of an integer type, and the greatest or INT64_MAX.
int64_t range_least_of(ScalarType type);
int64_t range_most_of(ScalarType type);
// Whether the form is proved not to be negative.
bool range_prove(Ranges *r, const RangeForm *form);
// Whether a number of that form is one of the type.
bool range_fits(Ranges *r, const RangeForm *form, ScalarType type);
// Whether x >= y + more.
bool range_is_least(Ranges *r, LoopRef x, LoopRef y, int64_t more);
// Whether x >= bound.
bool range_is_at_least(Ranges *r, LoopRef x, int64_t bound);

// The values are the sizes of an array that is in memory, in this buffer from its
// beginning on, row-major without gaps; everywhere, or from here to the end of the
// body.
void range_sizes(Ranges *r, LoopRef buffer, const LoopRef *sizes, uint32_t rank,
                 bool is_everywhere);
// There is memory for as many elements as that takes, and so not for any number.
void range_alloc(Ranges *r, const LoopStm *alloc);
// From now on: the form is not negative; x >= y + more; the bool is that.
void range_learn(Ranges *r, const RangeForm *form);
void range_learn_least(Ranges *r, LoopRef x, LoopRef y, int64_t more);
void range_assume(Ranges *r, LoopRef c, bool is_true);
// Forgets all but the first `count` facts.
void range_forget(Ranges *r, uint32_t count);

// The index of a loop of so many turns, in its body.
void range_index(Ranges *r, LoopRef index, LoopRef times);
// A statement has been reached. Returns the value that its one result is known to be,
// an earlier one or a constant; or 0.
LoopRef range_define(Ranges *r, const LoopStm *stm);
// The same for a load; it may be one from a constant table.
LoopRef range_define_load(Ranges *r, const LoopStm *load);
// Whether it is a load from within a constant table.
bool range_is_in_table(Ranges *r, const LoopStm *load);
// Whether it is a load from within an array of known sizes.
bool range_is_inside(Ranges *r, const LoopStm *load);

// Makes room for what is known of the value.
RangeValue *range_new_value(Ranges *r, LoopRef ref);

static inline RangeValue *range_value(Ranges *r, LoopRef ref) {
    return ref < r->values.len ? &r->values.data[ref] : range_new_value(r, ref);
}

// ---- walking (ranges.c) -------------------------------------------------------------

// A scalar operator, or a choice between two values, that stands in a body.
typedef struct RangeComputed {
    const LoopStm *stm;
    const LoopBody *body;
} RangeComputed;

// Rebuilds a kernel in order of execution, and decides what the ranges decide: checks,
// comparisons, branches, minima and remainders. What has been computed is not computed
// again.
typedef struct RangeWalk {
    Ranges r;
    LoopBuilder b;  // statements emitted here go before the one at hand
    uint32_t depth; // loops around it
    // Called with a FOR once its body has been walked over, when the facts in it are
    // forgotten: it keeps the loop, or something else instead. NULL: it stays.
    void (*leave_loop)(struct RangeWalk *w, LoopStm *loop);
    // Called with an IF before its arms are walked over; or NULL.
    void (*enter_branch)(struct RangeWalk *w, LoopStm *branch);
    // Called with each LOAD and STORE when it is reached; or NULL.
    void (*see_access)(struct RangeWalk *w, const LoopStm *access);
    const LoopStm *loop;   // the innermost around the statement at hand; or NULL
    LoopStm *const *ahead; // what comes after that in its body
    uint32_t ahead_count;
    uint32_t budget;   // statements that may yet be made twice
    void *data;        // of the hooks
    bool shares_loads; // what has been loaded is not loaded again; nothing stores to it
    Map computed;      // hash -> the last such one, in `places`
    struct {
        RangeComputed *data;
        uint32_t len, cap;
    } places;
} RangeWalk;

// With the hooks, the budget and the data that are given.
void range_walk(RangeWalk *w, LoopKernel *kernel);
// Whether values have been made since the last walk began: it wants another one, whatever
// a pass has to do there.
static inline bool range_has_news(const LoopKernel *kernel) {
    return kernel->values.len > kernel->walked;
}
void range_walk_kernel(LoopKernel *kernel, void (*leave_loop)(RangeWalk *, LoopStm *));
void range_walk_branches(LoopKernel *kernel,
                         void (*enter_branch)(RangeWalk *, LoopStm *));
// Walks over statements or the body of a loop here; walked statements are kept.
void range_walk_stm(RangeWalk *w, LoopStm *stm);
void range_walk_loop(RangeWalk *w, LoopStm *loop);
// Appends a statement that needs no walk.
void range_keep(RangeWalk *w, LoopStm *stm);
// A scalar operator as a new statement, or what is known of it.
LoopRef range_emit(RangeWalk *w, CoreOp op, ScalarType to, const LoopRef *args,
                   uint32_t count);
// Likewise x if the condition holds, else y.
LoopRef range_choose(RangeWalk *w, LoopRef c, LoopRef x, LoopRef y);

#endif
