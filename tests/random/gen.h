// SPDX-License-Identifier: Apache-2.0
//
// Random well-typed programs: a small expression language of its own (nodes.def) that
// is printed as Weft and, independently of Weft, evaluated. Used by tests/random.
#ifndef WEFT_TESTS_RANDOM_GEN_H
#define WEFT_TESTS_RANDOM_GEN_H

#include "abi/scalar.h"
#include "base/str.h"

typedef struct GType {
    ScalarType elem;
    uint32_t rank;  // 0 to 3
} GType;

enum { GEN_KIDS = 6, GEN_BINDERS = 3, GEN_INPUTS = 4, GEN_NESTING = 4 };

typedef enum GKind {
#define NODE(name, kids, strict, inner, text) G_##name,
#include "nodes.def"
#undef NODE
    G_COUNT
} GKind;

typedef struct GKindInfo {
    const char *name;
    uint8_t kids, strict, inner;
    const char *text;
} GKindInfo;

extern const GKindInfo gen_info[G_COUNT];

typedef enum GOp {
    GOP_ADD, GOP_SUB, GOP_MUL, GOP_AND, GOP_OR, GOP_XOR, GOP_MIN, GOP_MAX, GOP_DIV,
    GOP_MOD, GOP_QUOT, GOP_REM, GOP_SHL, GOP_SHR, GOP_LSHR, GOP_POW,
    GOP_LAST /* the last that is not 0 */, GOP_EQ, GOP_LT, GOP_LE, GOP_NE, GOP_COUNT
} GOp;

typedef struct GNode {
    GKind kind;
    GType type;
    GOp op;
    uint64_t bits;  // LIT: the value. Others: a small count, or which variant
    uint32_t var[GEN_BINDERS];  // VAR: which. Binders: what they bind
    struct GNode *kids[GEN_KIDS];
} GNode;

typedef struct GVar {
    uint32_t id;
    GType type;
    bool is_open_size;  // the checker may still choose its size
} GVar;

typedef struct GProgram {
    GVar inputs[GEN_INPUTS];
    GNode *body;
    uint64_t seed;
    bool wild;  // inputs hold any floats, not small whole ones
} GProgram;

// How often each node was made at each rank and depth of parallel nesting.
typedef struct GCoverage {
    uint64_t made[G_COUNT][4][GEN_NESTING];
} GCoverage;

GProgram *gen_program(Arena *arena, uint64_t seed, GCoverage *coverage);
void gen_print(const GProgram *program, StrBuf *out);
uint32_t gen_size(const GNode *node);
// Whether every variable is bound where it is used.
bool gen_is_scoped(const GProgram *program);

// Where NEAR and NEAR2 look: c places from i, clamped, wrapped or tested, as `bits` say.
typedef enum GNear {
    NEAR_MAX, NEAR_MIN, NEAR_WRAP, NEAR_WRAP_BACK, NEAR_TEST_LOW, NEAR_TEST_HIGH,
    NEAR_TEST_BOTH, NEAR_OUTSIDE /* may fail */, NEAR_COUNT
} GNear;

static inline GNear gen_near(uint64_t bits) {
    return (GNear)(bits % NEAR_COUNT);
}
static inline int64_t gen_near_by(uint64_t bits) {
    return 1 + (int64_t)(bits / NEAR_COUNT % 3);
}

// Values of the generator's own evaluator: row-major.
typedef struct GValue {
    GType type;
    int64_t shape[3];
    uint64_t *data;  // one element for a scalar
} GValue;

// What the generator's own evaluation says.
typedef enum GAnswer {
    GEN_VALUE,  // this value
    GEN_ERROR,  // the program must stop with an error
    GEN_MAYBE,  // it may stop with an error, for what it need not compute
    GEN_SILENT  // nothing: rounding, shapes of nothing looked at, or too long
} GAnswer;

GValue gen_input(Arena *arena, const GProgram *program, uint32_t which);
GAnswer gen_eval(Arena *arena, const GProgram *program, GValue *result_out);

// Calls `fails` on ever smaller programs and returns the smallest that still fails.
GProgram *gen_shrink(Arena *arena, GProgram *program,
                     bool (*fails)(void *data, const GProgram *program), void *data);

#endif
