// SPDX-License-Identifier: Apache-2.0
//
// The core language (design: core.md): typed, monomorphic, first-order, A-normal form.
// A program is functions; a function is a body; a body is statements and results. Every
// statement has the same shape (outs = op args {bodies} [attrs]), so walkers, printer,
// reader and verifier are driven by ops.def and know no operator by name.
//
// Values are named by CoreRef, an index into the program's value table; constants are
// values too (interned), so an operand is always one number. A value is bound once in
// the whole program. Bodies of ORDER2 and CONTROL statements may use values bound
// outside them. Nodes are immutable once emitted: a pass builds new ones.
//
// Types are an element type and a rank. Shapes belong to values; what the shape of an
// empty result would be is said by explicit row sizes (ops.def).
#ifndef WEFT_CORE_CORE_H
#define WEFT_CORE_CORE_H

#include "abi/scalar.h"
#include "base/cx.h"

typedef uint32_t CoreRef;  // a value; 0 is none
typedef uint32_t CoreLoc;  // a place in the source with its chain of calls; 0 is none

typedef enum CoreOp {
#define OP(name, text, kind, flags, meaning) OP_##name,
#include "core/ops.def"
#undef OP
    OP_COUNT
} CoreOp;

typedef enum CoreOpKind {
    KIND_SCALAR1, KIND_SCALAR2, KIND_SCALAR3, KIND_ARRAY, KIND_ORDER2, KIND_CONTROL
} CoreOpKind;

enum { OP_FAILS = 1, OP_COMMUTES = 2 };

typedef struct CoreOpInfo {
    const char *name;
    CoreOpKind kind;
    uint8_t flags;
} CoreOpInfo;

extern const CoreOpInfo core_op_info[OP_COUNT];

enum { CORE_MAX_RANK = 32 };

typedef struct CoreType {
    uint8_t elem;  // ScalarType
    uint8_t rank;  // 0: a scalar
} CoreType;

typedef struct CoreValue {
    uint64_t bits;   // of a constant
    Sym name;        // what the source calls it, for dumps; may be 0
    CoreType type;
    bool is_const;   // then rank is 0
} CoreValue;

// How a reduction, scan or histogram associates (core.md, "Stage 0"). Stage 0 decides
// it once; later passes carry it and never change it.
typedef enum CoreStamp {
    STAMP_NONE,  // not decided yet: only before stage 0
    STAMP_FREE,  // exact: any order gives the same bits
    // nested in a parallel operation: left to right up to a block, else as outermost
    STAMP_NESTED_LANES, STAMP_NESTED_RUNS, STAMP_NESTED_ROWS,
    // outermost. LANES: float + and *, strided lanes. RUNS: other scalar operators,
    // contiguous runs. ROWS: array-valued, left to right in the block.
    STAMP_OUTER_LANES, STAMP_OUTER_RUNS, STAMP_OUTER_ROWS,
    STAMP_PARTS,  // inexact histograms
    STAMP_COUNT
} CoreStamp;

extern const char *const core_stamp_names[STAMP_COUNT];

enum { CORE_BLOCK = 8192 };  // elements in a block of the stamped shapes

typedef struct CoreBody CoreBody;

// Flags of a statement.
enum {
    STM_UNSAFE = 1,  // #[unsafe]: checks of this statement may be left out
    STM_CHANGES = 2, // a literal whose text is another one at times
    STM_LARGE = 4,   // it is never little to do: several threads are worth it
    STM_APART = 8,   // a loop of parts, which several devices make: it is no kernel
};

typedef struct CoreStm {
    CoreOp op;
    uint8_t flags;
    uint8_t stamp;  // CoreStamp: REDUCE, SCAN, HIST
    uint8_t body_count;
    CoreLoc loc;
    uint32_t out_count, arg_count, attr_count;
    CoreRef *outs;
    CoreRef *args;
    int32_t *attrs;
    CoreBody **bodies;
    Str text;  // CHECK: the message. LITERAL: the elements, little-endian
} CoreStm;

struct CoreBody {
    uint32_t param_count, result_count;
    CoreRef *params;
    CoreRef *results;
    struct { CoreStm **data; uint32_t len, cap; } stms;
};

typedef struct CorePlace {
    Span span;
    Sym function;    // the source function the span lies in; 0 if none
    CoreLoc caller;  // where that function was called; 0 at an entry
} CorePlace;

// How an entry's parameter or result looks to a caller: its type in Weft's syntax and
// the range of flattened core values that carry it.
typedef struct CorePort {
    Str name;        // a parameter's name; empty if it has none
    Str type;        // in Weft's syntax, sizes included
    uint32_t first, count;
    bool is_unique;
} CorePort;

// Functions that outlining made of what an engine may run as one piece (opt/outline.c).
typedef enum CoreKernel {
    CORE_NO_KERNEL,
    CORE_PARALLEL_KERNEL,   // its own second-order statement is to run in parallel
    CORE_SEQUENTIAL_KERNEL  // everything inside runs in one thread
} CoreKernel;

typedef struct CoreFun {
    Sym name;
    bool is_entry;
    bool no_inline;
    uint8_t kernel;     // CoreKernel
    bool is_read_next;  // of a kernel: another one reads what it makes
    uint32_t otherwise; // of a kernel: 1 + the index of the function that means the same
                        // and is interpreted in its place; 0: itself
    CoreType *result_types;  // body->result_count of them
    CoreBody *body;          // its params are the function's
    struct { CorePort *data; uint32_t len, cap; } params, results;  // entries only
} CoreFun;

// What a kernel was made of: its last statement.
static inline CoreOp core_kernel_op(const CoreFun *kernel) {
    return kernel->body->stms.data[kernel->body->stms.len - 1]->op;
}

typedef struct CoreProgram {
    Arena *arena;
    Arena *notes; // what a pass knows until it ends; NULL: in the arena, too
    Cx *cx;
    struct { CoreValue *data; uint32_t len, cap; } values;  // entry 0 is unused
    struct { CorePlace *data; uint32_t len, cap; } places;  // entry 0 is no place
    struct { CoreFun **data; uint32_t len, cap; } funs;     // callees before callers
    Map constants;  // (type, bits) -> CoreRef
    bool is_stage0;  // stage 0 has run: stamps and contractions are fixed
    bool is_divided; // operators are in parts for devices: none is to see the whole
} CoreProgram;

CoreProgram *core_program(Cx *cx, Arena *arena);

// Where to keep what is wanted no longer than a pass takes.
static inline Arena *core_notes(const CoreProgram *p) {
    return p->notes != NULL ? p->notes : p->arena;
}
static inline CoreType core_type(const CoreProgram *p, CoreRef ref) {
    return p->values.data[ref].type;
}
static inline bool core_is_const(const CoreProgram *p, CoreRef ref) {
    return p->values.data[ref].is_const;
}

// ---- builder (build.c) --------------------------------------------------------------

// The constant of that type and bits; the same ref for the same constant.
CoreRef core_const(CoreProgram *p, ScalarType type, uint64_t bits);
CoreRef core_i64(CoreProgram *p, int64_t value);
CoreRef core_bool(CoreProgram *p, bool value);
// A fresh value, to be bound by one statement or parameter.
CoreRef core_value(CoreProgram *p, CoreType type, Sym name);
CoreLoc core_place(CoreProgram *p, Span span, Sym function, CoreLoc caller);

// Builds bodies from the inside out: statements go to the innermost open body.
typedef struct CoreBuilder {
    CoreProgram *program;
    struct { CoreBody **data; uint32_t len, cap; } open;
    CoreLoc loc;    // given to every statement emitted
    uint8_t flags;  // likewise
} CoreBuilder;

CoreBuilder core_builder(CoreProgram *p);
// Opens a body with these parameters (fresh values made by core_value).
void core_open(CoreBuilder *b, const CoreRef *params, uint32_t param_count);
// Closes the innermost body with these results and returns it.
CoreBody *core_close(CoreBuilder *b, const CoreRef *results, uint32_t result_count);
// Appends a statement with out_count fresh results of these types; everything is
// copied. Further fields (stamp, text) may be set on the statement returned until the
// body is closed.
CoreStm *core_emit(CoreBuilder *b, CoreOp op, const CoreRef *args, uint32_t arg_count,
                   const CoreType *out_types, uint32_t out_count);
void core_set_attrs(CoreBuilder *b, CoreStm *stm, const int32_t *attrs, uint32_t count);
void core_set_bodies(CoreBuilder *b, CoreStm *stm, CoreBody *const *bodies,
                     uint32_t count);
// For the common case of one result: emits and returns it. The result type of scalar
// operators is derived from the operands (bool for comparisons, i32 for popc...);
// CONV and FROM_BITS take it from `to`.
CoreRef core_op1(CoreBuilder *b, CoreOp op, CoreRef x);
CoreRef core_op2(CoreBuilder *b, CoreOp op, CoreRef x, CoreRef y);
CoreRef core_conv(CoreBuilder *b, CoreOp op, CoreRef x, ScalarType to);
// The size of the array along that axis.
CoreRef core_dim(CoreBuilder *b, CoreRef array, int32_t axis);
// One of two values: a branch that computes nothing.
CoreRef core_select(CoreBuilder *b, CoreRef c, CoreRef yes, CoreRef no);
// Appends an existing statement (a pass that keeps it).
void core_append(CoreBuilder *b, CoreStm *stm);

// ---- walkers (walk.c) ---------------------------------------------------------------

// The statement of the body itself, not of those inside it, that binds ref; NULL: none.
const CoreStm *core_find_def(const CoreBody *body, CoreRef ref);
// Calls visit for every statement of the body and, before it, of the bodies inside it.
void core_walk(const CoreBody *body, void (*visit)(void *data, const CoreStm *stm),
               void *data);
// The values used in the body but bound outside it, each once, in order of first use.
typedef struct { CoreRef *data; uint32_t len, cap; } CoreRefs;
void core_free(const CoreProgram *p, const CoreBody *body, Arena *arena,
               CoreRefs *refs_out);

// ---- copies (copy.c) ------------------------------------------------------------------

// A deep copy of the body in which every value bound inside is fresh and outer values
// are replaced by map (CoreRef -> CoreRef); a ref that is not in the map stays. With
// caller != 0 every place is recorded as called from there (inlining).
CoreBody *core_clone(CoreProgram *p, const CoreBody *body, Map *map, CoreLoc caller);
// A deep copy of the body in which every value bound inside is fresh.
CoreBody *core_copy(CoreProgram *p, const CoreBody *body);
// One of several such copies of a body. What is known of the first one, which may have
// been changed since, makes the others cheap; it is empty before that, for each body,
// and among the notes.
typedef struct CoreCopies {
    const CoreBody *body;  // of which they are; NULL: there is none yet
    CoreBody *first;
    const char *bytes_of_first;  // as it was made: one block
    size_t bytes;
    CoreRef value;  // the first of those that it binds, which are in a row
    uint32_t count;
} CoreCopies;
CoreBody *core_copy_again(CoreProgram *p, CoreCopies *c, const CoreBody *body);
// Appends a copy of the body's statements with args in place of its params.
void core_inline(CoreBuilder *b, const CoreBody *body, const CoreRef *args,
                 CoreRef *results_out);

// ---- evaluation of scalar operators (eval.c) ------------------------------------------

typedef enum CoreFault {
    FAULT_NONE, FAULT_DIVISION_BY_ZERO, FAULT_NEGATIVE_EXPONENT
} CoreFault;

// The one meaning of the scalar operators: the oracle and constant folding call it.
// `in` is the type of the first operand, `to` that of the result.
CoreFault core_eval(CoreOp op, ScalarType in, ScalarType to, const uint64_t *args,
                    uint64_t *result_out);

// ---- text -----------------------------------------------------------------------------

// Appends the program as text; core_read reads it back to an equal program.
void core_print(const CoreProgram *p, StrBuf *out);
void core_print_fun(const CoreProgram *p, const CoreFun *fun, StrBuf *out);
void core_print_stm(const CoreProgram *p, const CoreStm *stm, StrBuf *out);
// Reads a .core file. Returns NULL and reports to cx->diags if it is malformed.
CoreProgram *core_read(Cx *cx, Arena *arena, const Source *source);

// Checks types, scopes, single binding, attributes, bodies and stamps. Collects every
// failure and appends the texts to `out`; returns whether there was none.
bool core_verify(const CoreProgram *p, StrBuf *out);

#endif
