// SPDX-License-Identifier: Apache-2.0
//
// The rules of simplify on single statements (algebra.c) and the joining of equal ones
// (cse.c, arms.c).
#ifndef WEFT_OPT_ALGEBRA_H
#define WEFT_OPT_ALGEBRA_H

#include "opt/rewrite.h"

// Folds a scalar statement or a dim, by the rules of algebra.c: returns what its result
// equals, having emitted what that needs, or 0.
CoreRef opt_fold(Rewrite *rw, const CoreStm *stm);

// What a dim equals, from what made the array, whose own sizes were right or it failed;
// or 0. Normalisation uses it, too.
CoreRef opt_fold_dim(Rewrite *rw, const CoreStm *stm);

// One step from dimension *axis of *array towards what made it: returns its size, or 0
// after having moved to an equal dimension of an earlier array, or 0 and false in
// *moved_out when there is no more to know.
CoreRef opt_step_dim(const Rewrite *rw, CoreRef *array, int32_t *axis, bool *moved_out);

// Statements seen in the bodies that are open, by what they compute.
typedef struct Cse {
    CoreProgram *program;
    Map heads; // hash -> index of the newest entry + 1
    struct {
        struct CseEntry *data;
        uint32_t len, cap;
    } entries;
    struct {
        bool *data;
        uint32_t len, cap;
    } is_open; // by number of the body
    struct {
        uint32_t *data;
        uint32_t len, cap;
    } bodies; // the open ones' numbers
} Cse;

// For about so many statements.
void cse_init(Cse *cse, CoreProgram *p, uint32_t count);
void cse_open(Cse *cse);
void cse_close(Cse *cse);
// An equal statement that is in scope; else NULL, and the statement is noted.
const CoreStm *cse_find(Cse *cse, const CoreStm *stm);
// Whether both compute the same; of statements without bodies.
bool cse_are_equal(const CoreProgram *p, const CoreStm *a, const CoreStm *b);

// Puts what both arms of a branch begin with before it (arms.c); false: there is
// nothing.
bool opt_join_arms(Rewrite *rw, CoreStm *stm);

#endif
