// SPDX-License-Identifier: Apache-2.0
//
// What the files of the generator's own evaluation share: eval.c (the frame and
// control), eval_scalar.c (numbers), eval_array.c (arrays), eval_reduce.c (folds) and
// eval_tiled.c (what gen_tiled.c makes).
#ifndef WEFT_TESTS_RANDOM_EVAL_H
#define WEFT_TESTS_RANDOM_EVAL_H

#include "gen.h"

enum { MOST_VARS = 8192, MOST_STEPS = 2000000 };

typedef struct Run {
    Arena *arena;
    GValue vars[MOST_VARS];
    uint64_t steps;
    bool strict;   // the result needs what is being evaluated
    bool failed;   // an error that the program must raise, if the value is needed
    bool surely;   // it is
    bool inexact;  // rounding, shapes of nothing looked at, or too long
} Run;

// The value of a node's kid. Once failed or inexact, any value.
GValue eval_kid(Run *r, const GNode *node, int kid);
GValue eval_array(Run *r, const GNode *node);
GValue eval_reduction(Run *r, const GNode *node);
GValue eval_tiled(Run *r, const GNode *node);
// Where NEAR and the like look from i of n.
int64_t eval_near_index(Run *r, int64_t i, int64_t n, uint64_t bits);
// One step of a scalar node whose kids have these values.
uint64_t eval_scalar(Run *r, const GNode *node, const GValue *kids);
uint64_t eval_op(Run *r, GOp op, ScalarType t, uint64_t x, uint64_t y);
uint64_t eval_neutral(GOp op, ScalarType t);
// Whether a float is a whole number that every order of sums and products of such
// leaves exact, as long as the sum of magnitudes does too.
bool eval_whole(ScalarType t, uint64_t bits, double *value_out);
bool eval_from_double(ScalarType t, double value, uint64_t *bits_out);

void eval_fail(Run *r);
GValue eval_new_scalar(Run *r, ScalarType t, uint64_t bits);
GValue eval_new_array(Run *r, GType t, const int64_t *shape);
GValue eval_row(GValue array, int64_t i);
int64_t eval_row_count(GValue array);
// Stacks n rows, which must agree in shape, or the program fails.
GValue eval_stack(Run *r, GType t, const GValue *rows, int64_t n);

static inline int64_t eval_modulo(int64_t i, int64_t n) {
    int64_t rest = i % n;
    return rest < 0 ? rest + n : rest;
}

static inline uint64_t eval_mask(ScalarType t) {
    return t == SCALAR_BOOL ? 1 : ~0ull >> (64 - 8u * scalar_info[t].bytes);
}

#endif
