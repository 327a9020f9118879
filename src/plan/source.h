// SPDX-License-Identifier: Apache-2.0
//
// What the files that tell the program share: its text so far, and values as they stand
// in it (plan_print_source).
#ifndef WEFT_PLAN_SOURCE_H
#define WEFT_PLAN_SOURCE_H

#include "plan/names.h"
#include "plan/plan.h"

// Bodies of a statement that stands in the text.
typedef struct Told {
    NamedText text;
    uint32_t statement; // the name of its first result
} Told;

// A scalar outside of operators that has a name.
typedef struct Known {
    Str text;
    uint32_t id;
} Known;

typedef struct Printer {
    const Plan *plan;
    const CoreProgram *p;
    StrBuf *out;
    uint32_t *uses;       // by CoreRef, in what is told
    uint32_t *sizes;      // of expressions that stand where they are used; 0: others
    uint32_t *ids;        // of the value's name
    CoreRef *same;        // a constant or an expression that it is; 0: none
    CoreRef *called;      // the value outside whose name it has; 0: its own
    const CoreStm **defs; // what binds it
    NameList names;
    struct {
        uint32_t *data; // functions that are called, to be printed
        uint32_t len, cap;
    } funs;
    struct {
        Told *data;
        uint32_t len, cap;
    } told;
    struct {
        Known *data; // where the text is
        uint32_t len, cap;
    } known;
    unsigned depth;
    unsigned inside; // of operators
    uint32_t lines;
    CoreLoc loc;
} Printer;

// From here on it has a name that no other value has, as often as it is bound.
void source_bind(Printer *pr, CoreRef ref);
// It is another name of that value.
void source_take(Printer *pr, CoreRef ref, CoreRef of);
void source_put_ref(Printer *pr, CoreRef ref, bool is_inner);
void source_put_refs(Printer *pr, const CoreRef *refs, uint32_t count);
void source_put_exp(Printer *pr, const CoreStm *stm, bool is_inner);
// Whether it is the bound of a share, of that size (fission_cut).
const int64_t *source_find_bound(const Printer *pr, const CoreStm *stm,
                                 CoreRef *size_out);
// The value that it hands on, of a guard, a sum with 0, or a product with 1; 0: none.
CoreRef source_find_handed(const Printer *pr, const CoreStm *stm);
bool source_is_scalar(const Printer *pr, const CoreStm *stm);
// Whether the statement stands where its one result is used: once, or it is a length,
// which tells more than a name; notes it then.
bool source_moves(Printer *pr, const CoreStm *stm);

#endif
