// SPDX-License-Identifier: Apache-2.0
//
// The loop language (design: core.md, "Loop"): one kernel as nests of loops over
// scalars and buffers. Arrays are gone: an element is loaded from a buffer at an offset
// plus the sum of strides times indices, which is what a chain of views comes to.
//
// Values are bound once. A value is a scalar, a buffer (a pointer to elements of one
// type) or a mark. Every statement has one shape (outs = op args {bodies}), as in core.
//
// A kernel has a root body, run once by one thread, and functions. In root code a loop
// may be parallel: its iterations run in any order and at once. It carries no state; an
// iteration writes only places of its own, and its private memory is freed when it
// ends. Elsewhere loops are sequential, or independent: such a loop carries nothing
// either, its turns write places of their own and free what they allocate, so that who
// runs it may take them in any order, in lanes, or flattened with a loop around it.
// Private memory is a stack, one per thread: what a parallel iteration or a function
// allocates is freed when that ends, unless it is returned; loops and the like free by
// MARK and KEEP, with marks of their own thread. Memory of a parameter that is not
// owned is only read.
//
// Vectors: a FOR with lanes takes so many turns at once. Its first body is given the
// first of them and has values in lanes, one for each turn; the second runs the turns
// that are left over, and those of a vector turn that gave up (SURE), which it does
// before it stores anything. Without a second body those that are left over are one
// more vector turn, whose last lanes are no turns. Of a sequential loop, a vector turn
// stores nothing at all: it finds out whether its turns have nothing to do, or gives
// up. An operator with an operand in lanes goes lane by lane, other operands being the
// same for all. In lanes are core's scalar operators, LOAD and STORE (where an operand
// of the place has lanes each lane has its own place, else places follow each other
// from that one on), and what ops.def says is.
//
// Errors: CHECK stops its iteration. Of all iterations of a parallel or independent
// loop the one with the least index counts; what follows the loop in root code does not
// run.
#ifndef WEFT_LOOP_LOOP_H
#define WEFT_LOOP_LOOP_H

#include "core/core.h"

typedef uint32_t LoopRef; // a value of its kernel; 0 is none

typedef struct LoopRefs {
    LoopRef *data;
    uint32_t len, cap;
} LoopRefs;

typedef enum LoopOp {
#define LOOP(name, text, meaning) LOOP_##name,
#include "loop/ops.def"
#undef LOOP
    LOOP_COUNT
} LoopOp;

extern const char *const loop_op_names[LOOP_COUNT];

typedef enum LoopKind { LOOP_IS_SCALAR, LOOP_IS_BUFFER, LOOP_IS_MARK } LoopKind;

typedef struct LoopType {
    uint8_t kind;  // LoopKind
    uint8_t elem;  // ScalarType; of a mark 0
    uint8_t lanes; // of a scalar: how many there are, at least 2; 0: it is one
} LoopType;

enum { LOOP_MOST_LANES = 128 };

typedef struct LoopValue {
    uint64_t bits; // of a constant
    Sym name;      // what the source calls it; may be 0
    LoopType type;
    bool is_const; // then a scalar
} LoopValue;

// Of a FOR.
typedef enum LoopOrder {
    ORDER_SEQUENTIAL,
    ORDER_INDEPENDENT,
    ORDER_PARALLEL,
    ORDER_COUNT
} LoopOrder;

extern const char *const loop_order_names[ORDER_COUNT]; // "for" goes on like this

typedef struct LoopBody LoopBody;

typedef struct LoopStm {
    LoopOp op;
    CoreOp scalar; // SCALAR, ATOMIC: which
    uint8_t order; // FOR: LoopOrder
    uint8_t body_count;
    uint32_t number; // RESULT, CALL, APPLY; FOR: its lanes, or 0; is it unsafe: CHECK
                     // and, of scalars, TO_BITS
    CoreLoc loc;
    uint32_t out_count, arg_count;
    LoopRef *outs;
    LoopRef *args;
    LoopBody **bodies;
    Str text; // CHECK: the message. DATA: the elements, little-endian
} LoopStm;

// A CHECK that may be left out, since the program promises that it passes.
static inline bool loop_is_unsafe(const LoopStm *stm) {
    return stm->op == LOOP_CHECK && stm->number != 0;
}

// A TO_BITS of what is no NaN but the canonical one, whose bits may be taken as they
// are.
static inline bool loop_keeps_bits(const LoopStm *stm) {
    return stm->op == LOOP_SCALAR && stm->scalar == OP_TO_BITS && stm->number != 0;
}

struct LoopBody {
    uint32_t param_count, result_count;
    LoopRef *params;
    LoopRef *results;
    struct {
        LoopStm **data;
        uint32_t len, cap;
    } stms;
};

typedef struct LoopFun {
    Sym name;
    LoopBody *body;
    bool is_plain; // scalars alone, by SCALAR, IF and APPLY; called by APPLY alone
} LoopFun;

// How a parameter or result of the core function lies in those of the kernel: a scalar
// is itself; an array of rank r is a buffer and r sizes (i64), row-major without gaps.
typedef struct LoopPort {
    CoreType type;
    bool is_owned; // of an array parameter: the kernel overwrites it, so the caller
                   // must hand over memory that nobody else sees
} LoopPort;

typedef struct LoopKernel {
    Arena *arena;
    Arena *notes;            // what a pass knows until it ends; NULL: in the arena, too
    const CoreProgram *core; // for places and names
    Sym name;
    struct {
        LoopValue *data;
        uint32_t len, cap;
    } values;      // entry 0 is unused
    Map constants; // hash of type and bits -> LoopRef; without slots: not made yet
    struct {
        LoopFun *data;
        uint32_t len, cap;
    } funs;         // callees before callers
    LoopBody *root; // params and results as the ports say
    LoopPort *params, *results;
    uint32_t param_count, result_count;
    bool is_parallel;      // has a parallel loop
    bool is_for_gpus;      // it may be launched
    bool is_read_next;     // another kernel reads what it makes
    uint32_t walked;       // so many values there were when ranges last looked at it
    uint32_t vector_bytes; // of lanes that loops are to have; 0: they have none
} LoopKernel;

// Where to keep what is wanted no longer than a pass takes.
static inline Arena *loop_notes(const LoopKernel *kernel) {
    return kernel->notes != NULL ? kernel->notes : kernel->arena;
}

// Every array result of a kernel is memory from RESULT or its spare, or an owned
// parameter's buffer, each of those for one result only.

// ---- text (print.c, read.c) ---------------------------------------------------------

void loop_print(const LoopKernel *kernel, StrBuf *out);
// Reads what loop_print writes; NULL and a report to cx->diags if it is malformed.
LoopKernel *loop_read(Cx *cx, Arena *arena, const CoreProgram *core,
                      const Source *source);

// ---- verification (verify.c) --------------------------------------------------------

// Collects every fault as text; returns whether there was none.
bool loop_verify(const LoopKernel *kernel, StrBuf *out);
// Whether there is an ATOMIC of that operator for elements of that type.
bool loop_is_atomic(CoreOp op, ScalarType elem);

// ---- from core (lower.c) ------------------------------------------------------------

// Unless it is sequential, second-order operators in root code, its loops and branches
// included, become parallel loops in their stamped shapes. What is for GPUs, too,
// leaves as little as it can to one thread, of 64 bits with ATOMICs of those as well as
// of 32; it has no SIFT.
typedef enum LoopShape {
    LOOP_SEQUENTIAL,
    LOOP_PARALLEL,
    LOOP_FOR_GPUS,
    LOOP_FOR_GPUS_64,
    LOOP_SEQUENTIAL_FOR_GPUS
} LoopShape;

// Lowers function `fun` of a program past stage 0. NULL: *why_out (static) says what it
// cannot do.
LoopKernel *loop_lower(const CoreProgram *core, const CoreFun *fun, LoopShape shape,
                       Arena *arena, const char **why_out);

#endif
