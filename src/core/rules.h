// SPDX-License-Identifier: Apache-2.0
//
// The typing of scalar operators, and the parts that the args of a statement fall into.
// Everybody who must know more of an operator than its row in ops.def asks here.
#ifndef WEFT_CORE_RULES_H
#define WEFT_CORE_RULES_H

#include "core/core.h"

// How many operands a scalar operator takes; 0 for all others.
uint32_t core_op_operands(CoreOp op);
// Whether the scalar operator takes operands of this type.
bool core_op_takes(CoreOp op, ScalarType in);
// The result type that follows from the operand type; false for CONV, which may give
// any.
bool core_op_gives(CoreOp op, ScalarType in, ScalarType *out);

// The arrays whose elements a second-order statement takes one by one: a part of its
// args, which all have one length, and the body that makes of a row of each what the
// operator works on. NULL: it works on the rows themselves.
typedef struct CoreFeeds {
    uint32_t first, count;
    uint32_t attr; // which says their number, where there is a producer
    uint32_t body; // index of the producer among the bodies
    CoreBody *producer;
} CoreFeeds;

// Of MAP, REDUCE, SCAN, HIST, SCATTER and FILTER; count is 0 for all others.
CoreFeeds core_feeds(const CoreStm *stm);

// The parts that a CONCAT joins are its first args; those behind say how long each is.
static inline uint32_t core_parts(const CoreStm *stm) {
    return stm->attr_count > 1 ? (uint32_t)stm->attrs[1] : stm->arg_count;
}

// Whether the statement is a call of a function that takes and gives scalars, computes
// nothing but scalars, by no loops, and cannot fail.
bool core_is_plain_call(const CoreProgram *p, const CoreStm *stm);

// What a guard of the body hands on, or the value itself.
CoreRef core_unguarded(const CoreBody *body, CoreRef ref);

static inline bool core_is_scalar_op(CoreOp op) {
    return core_op_operands(op) != 0;
}

// Whether it is a quotient or a remainder of integers, which fails of zero.
static inline bool core_divides(CoreOp op, ScalarType type) {
    bool is_division = op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM;
    return is_division && scalar_is_int(type);
}

#endif
