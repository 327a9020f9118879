// SPDX-License-Identifier: Apache-2.0
//
// Building loop code: values, constants, and bodies from the inside out, as in core.
// Scalars that are known are computed here, and operations that change nothing vanish,
// so that whoever lowers need not look: stride 1 and offset 0 are visible as such.
// Statements stand in the order in which they are built, and C does not say which of
// two arguments comes first: no call has two that build some.
#ifndef WEFT_LOOP_BUILD_H
#define WEFT_LOOP_BUILD_H

#include "loop/loop.h"

typedef struct LoopBuilder {
    LoopKernel *kernel;
    Arena *arena;
    struct {
        LoopBody **data;
        uint32_t len, cap;
    } open;
    // By LoopRef: the value that this one turned out to be, or 0. References in the
    // code itself are redirected by loop_tidy.
    struct {
        LoopRef *data;
        uint32_t len, cap;
    } same;
    uint32_t old;        // values that there were at first
    bool has_identified; // some value is known to be another
    CoreLoc loc;         // given to every statement
} LoopBuilder;

LoopKernel *loop_kernel(Arena *arena, const CoreProgram *core, Sym name);
// For a kernel that is fresh, or made before.
LoopBuilder loop_builder(LoopKernel *kernel);

static inline LoopType loop_scalar_type(ScalarType elem) {
    return (LoopType){.kind = LOOP_IS_SCALAR, .elem = (uint8_t)elem};
}
static inline LoopType loop_buffer_type(ScalarType elem) {
    return (LoopType){.kind = LOOP_IS_BUFFER, .elem = (uint8_t)elem};
}

// After another builder has made values of the same kernel.
void loop_catch_up(LoopBuilder *b);

// ---- values -------------------------------------------------------------------------

LoopRef loop_value(LoopBuilder *b, LoopType type, Sym name);
LoopRef loop_const(LoopBuilder *b, ScalarType type, uint64_t bits);
static inline LoopRef loop_int(LoopBuilder *b, int64_t value) {
    return loop_const(b, SCALAR_I64, (uint64_t)value);
}
static inline LoopType loop_type(const LoopBuilder *b, LoopRef ref) {
    return b->kernel->values.data[ref].type;
}
// From now on `ref` is `other`.
void loop_identify(LoopBuilder *b, LoopRef ref, LoopRef other);
// The value that the ref stands for.
static inline LoopRef loop_find(const LoopBuilder *b, LoopRef ref) {
    while (b->same.data[ref] != 0) ref = b->same.data[ref];
    return ref;
}
static inline bool loop_same(const LoopBuilder *b, LoopRef x, LoopRef y) {
    return loop_find(b, x) == loop_find(b, y);
}
// Whether the value is known; if so, *bits_out is what it is.
static inline bool loop_is_known(const LoopBuilder *b, LoopRef ref,
                                 uint64_t *bits_out) {
    const LoopValue *value = &b->kernel->values.data[loop_find(b, ref)];
    if (value->is_const) *bits_out = value->bits;
    return value->is_const;
}
bool loop_is_int(const LoopBuilder *b, LoopRef ref, int64_t value);
// Whether the buffer is that of an array which the kernel is given and leaves as it is.
bool loop_is_read_only(const LoopKernel *kernel, LoopRef buffer);

// ---- statements ---------------------------------------------------------------------

// Opens a body with these parameters; NULL params: none.
LoopBody *loop_open(LoopBuilder *b, const LoopRef *params, uint32_t count);
// Goes on with a body that was closed.
void loop_reopen(LoopBuilder *b, LoopBody *body);
LoopBody *loop_close(LoopBuilder *b, const LoopRef *results, uint32_t count);
// Appends a statement with fresh results of these types; everything is copied.
LoopStm *loop_emit(LoopBuilder *b, LoopOp op, const LoopRef *args, uint32_t arg_count,
                   const LoopType *outs, uint32_t out_count);
// Appends one that is there.
void loop_append(LoopBuilder *b, LoopStm *stm);
void loop_set_bodies(LoopBuilder *b, LoopStm *stm, LoopBody *const *bodies,
                     uint32_t count);
// Opens the body of a loop that carries nothing, and returns its index; closes it as
// one of so many turns.
LoopRef loop_open_turns(LoopBuilder *b);
LoopStm *loop_close_turns(LoopBuilder *b, LoopRef times, LoopOrder order);
// A statement of one result.
LoopRef loop_emit1(LoopBuilder *b, LoopOp op, const LoopRef *args, uint32_t arg_count,
                   LoopType out);

// Whether the body, with what is inside, binds the value.
bool loop_binds(const LoopBody *body, LoopRef ref);
// Whether `is` holds of a statement in it, however deep, and of what is asked for.
bool loop_has(const LoopBody *body, bool (*is)(const LoopStm *stm, int what), int what);
bool loop_has_op(const LoopBody *body, LoopOp op);
// Whether it is a branch that does nothing but choose between values.
bool loop_is_choice(const LoopStm *stm);
bool loop_kernel_has(const LoopKernel *kernel, bool (*is)(const LoopStm *stm, int what),
                     int what);
// Where a value is bound: by which statement, NULL if it is a parameter, and in how
// many loops.
typedef struct LoopSite {
    const LoopStm *def;
    uint32_t depth;
} LoopSite;

// By LoopRef, of the values that there are.
LoopSite *loop_sites(const LoopKernel *kernel);
// Whether `is` holds of a FOR in the kernel, given where the values are bound, by
// LoopRef. Passes that walk with ranges (range.h) ask this first: most have nothing to
// do in most kernels.
typedef bool LoopForTest(const LoopKernel *kernel, const LoopSite *sites,
                         const LoopStm *loop);
bool loop_kernel_has_for(const LoopKernel *kernel, LoopForTest *is);
// How often the statement, with what is inside, or the body takes the value; results
// count.
uint32_t loop_count_uses_by(const LoopStm *stm, LoopRef ref);
uint32_t loop_count_uses(const LoopBody *body, LoopRef ref);
// Whether there is a parallel loop in it.
bool loop_has_parallel(const LoopBody *body);
// Whether it is a loop whose turns are lanes.
bool loop_has_lanes(const LoopStm *stm);
// Whether it, or what is in it, takes memory that a mark frees.
bool loop_allocates(const LoopStm *stm);

// ---- scalars ------------------------------------------------------------------------

// A scalar operator that gives `to`; it must not be able to fail.
LoopRef loop_scalar(LoopBuilder *b, CoreOp op, ScalarType to, const LoopRef *args,
                    uint32_t count);
// On i64; EQ, LE and LT on any type.
LoopRef loop_add(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_sub(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_mul(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_min(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_max(LoopBuilder *b, LoopRef x, LoopRef y);
// y > 0
LoopRef loop_quot(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_rem(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_eq(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_lt(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_le(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_and(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_or(LoopBuilder *b, LoopRef x, LoopRef y);
LoopRef loop_not(LoopBuilder *b, LoopRef x);
// How many threads run turns of parallel loops, at the most; in root code.
LoopRef loop_threads(LoopBuilder *b);
// An IF of one scalar.
LoopRef loop_select(LoopBuilder *b, LoopRef c, LoopRef x, LoopRef y);

// ---- afterwards (tidy.c) ------------------------------------------------------------

// Redirects references to what they stand for and drops what nothing needs.
void loop_tidy(LoopBuilder *b);
// The same if values have been made, or identified: for who changes nothing without.
void loop_tidy_news(LoopBuilder *b);

#endif
