// SPDX-License-Identifier: Apache-2.0
//
// What the files that make random programs share: gen.c (the frame, leaves, scalars),
// gen_array.c (arrays), gen_control.c (what exists at every type), and gen_tiled.c (what
// single passes are for).
#ifndef WEFT_TESTS_RANDOM_MAKE_H
#define WEFT_TESTS_RANDOM_MAKE_H

#include "gen.h"

typedef struct Gen {
    Arena *arena;
    uint64_t state;
    GVar scope[64];
    uint32_t scope_len, next_var;
    uint32_t nesting;  // parallel operations around
    uint32_t loops;    // loops around
    uint32_t budget;   // nodes that may still be made
    bool no_floats;    // then the generator's own evaluation nearly always answers
    bool wild;         // floats of all kinds
    bool risky;        // may fail on purpose
    bool deep;         // prefers to nest
    bool tiled;        // has what single passes are for
    uint32_t large;    // 1: long arrays outermost; 2: inside one operation; 0: none
    GCoverage *coverage;
} Gen;

static const GType GEN_INDEX = {SCALAR_I64, 0}, GEN_BOOL = {SCALAR_BOOL, 0};

static inline GType gen_element(GType t) {
    return (GType){t.elem, t.rank - 1};
}

static inline GType gen_array_of(GType t) {
    return (GType){t.elem, t.rank + 1};
}

uint32_t gen_below(Gen *g, uint32_t n);
ScalarType gen_any_scalar(Gen *g);
ScalarType gen_any_int(Gen *g);
GNode *gen_make(Gen *g, GKind kind, GType type);
GNode *gen_leaf(Gen *g, GType type);
GNode *gen_exp(Gen *g, GType type, int depth);
// An associative operator with a neutral element at the type.
GOp gen_associative(Gen *g, ScalarType t);
// Binds a variable of the node; the caller takes it out of scope by gen_unbind.
void gen_bind(Gen *g, GNode *node, int which, GType type);
void gen_unbind(Gen *g, uint32_t count);
// What may stand where every value must have one size: of rows, resized.
GNode *gen_sized(Gen *g, GType type, int depth);
// Of so many rows, each of so many elements.
GNode *gen_sized_by(Gen *g, GType type, int depth, uint64_t n, uint64_t m);
// The body of a parallel operation.
void gen_body(Gen *g, GNode *node, int kid, GType type, int depth);

GNode *gen_array(Gen *g, GType type, int depth);
// A scan, a histogram or a scatter.
GNode *gen_fold(Gen *g, GType type, int depth);
// NULL: there is nothing of the type.
GNode *gen_tiled(Gen *g, GType type, int depth);
// (x % a few), for small indices.
GNode *gen_few(Gen *g, GNode *x);
// Where neighbours are looked for.
uint64_t gen_near_bits(Gen *g);
GNode *gen_control(Gen *g, GType type, int depth);

#endif
