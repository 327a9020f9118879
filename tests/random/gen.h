// SPDX-License-Identifier: Apache-2.0
//
// Random well-typed programs: a small expression language of its own that is printed
// as Weft and, independently of Weft, evaluated. Used by tests/random.
#ifndef WEFT_TESTS_RANDOM_GEN_H
#define WEFT_TESTS_RANDOM_GEN_H

#include "abi/scalar.h"
#include "base/str.h"

typedef struct GType {
    ScalarType elem;
    uint32_t rank;  // 0 to 3
} GType;

// NODE(NAME, kids): what each node means is said in eval.c and print.c.
#define GEN_NODES(NODE)                                                            \
    NODE(LIT, 0) NODE(VAR, 0) NODE(BIN, 2) NODE(CMP, 2) NODE(AND, 2) NODE(OR, 2)   \
    NODE(NOT, 1) NODE(NEG, 1) NODE(ABS, 1) NODE(CONV, 1) NODE(IF, 3) NODE(LET, 2)  \
    NODE(AT, 3) NODE(REDUCE, 1) NODE(LENGTH, 1) NODE(LOOP, 2) NODE(WHILE, 3)       \
    NODE(FORIN, 3) NODE(MATCH, 4) NODE(IOTA, 0) NODE(ARRAY, 3) NODE(REPLICATE, 1)  \
    NODE(MAP, 2) NODE(MAP2, 3) NODE(SCAN, 1) NODE(FILTER, 2) NODE(REVERSE, 1)      \
    NODE(SLICE, 1) NODE(ROTATE, 2) NODE(CONCAT, 2) NODE(TRANSPOSE, 1)              \
    NODE(FLATTEN, 1) NODE(UPDATE, 3) NODE(SCATTER, 3) NODE(HIST, 3)                \
    NODE(TABULATE, 1) NODE(RESIZE, 2) NODE(PAIR, 3) NODE(CALL, 2) NODE(PARTITION, 2)

typedef enum GKind {
#define NODE(name, kids) G_##name,
    GEN_NODES(NODE)
#undef NODE
    G_COUNT
} GKind;

extern const char *const gen_names[G_COUNT];
extern const uint8_t gen_kids[G_COUNT];

// BIN, REDUCE, SCAN, HIST: the operator. CMP: the comparison.
typedef enum GOp {
    GOP_ADD, GOP_SUB, GOP_MUL, GOP_AND, GOP_OR, GOP_XOR, GOP_MIN, GOP_MAX, GOP_DIV,
    GOP_MOD, GOP_QUOT, GOP_REM, GOP_SHL, GOP_SHR, GOP_LAST /* the last that is not 0 */,
    GOP_EQ, GOP_LT, GOP_LE, GOP_NE, GOP_COUNT
} GOp;

typedef struct GNode {
    GKind kind;
    GType type;
    GOp op;
    uint64_t bits;       // LIT: the value. IOTA, REPLICATE, LOOP...: a small count
    uint32_t var, var2;  // VAR: which. Binders: what they bind
    struct GNode *kids[4];
} GNode;

typedef struct GVar {
    uint32_t id;
    GType type;
} GVar;

enum { GEN_INPUTS = 4, GEN_NESTING = 4 };

typedef struct GProgram {
    GVar inputs[GEN_INPUTS];
    GNode *body;
    uint64_t seed;
} GProgram;

// How often each node was made at each rank and depth of parallel nesting.
typedef struct GCoverage {
    uint64_t made[G_COUNT][4][GEN_NESTING];
} GCoverage;

GProgram *gen_program(Arena *arena, uint64_t seed, GCoverage *coverage);
void gen_print(const GProgram *program, StrBuf *out);
uint32_t gen_size(const GNode *node);

// Values of the generator's own evaluator: row-major.
typedef struct GValue {
    GType type;
    int64_t shape[3];
    uint64_t *data;  // one element for a scalar
} GValue;

GValue gen_input(Arena *arena, const GProgram *program, uint32_t which);
// Evaluates the program. Returns false when it must stop with an error. *exact_out is
// cleared when floats were computed with: then only passes can be compared.
bool gen_eval(Arena *arena, const GProgram *program, GValue *result_out,
              bool *exact_out);

// Calls `fails` on ever smaller programs and returns the smallest that still fails.
GProgram *gen_shrink(Arena *arena, GProgram *program,
                     bool (*fails)(void *data, const GProgram *program), void *data);

#endif
