// SPDX-License-Identifier: Apache-2.0
//
// What the files that write functions and statements share.
#ifndef WEFT_EMIT_WALK_H
#define WEFT_EMIT_WALK_H

#include "emit/dialect.h"

// Writing one kernel. Parallel loops are functions of their own, put before the one
// that is being written.
typedef struct Walker {
    const Dialect *dialect;
    const LoopKernel *kernel;
    uint32_t number; // of the kernel
    bool for_people;
    Arena *arena;
    Str *names; // by LoopRef, made when first asked for
    Helpers *helpers;
    EmitChecks *checks;
    StrBuf done;         // functions finished
    StrBuf *out;         // the function being written
    uint32_t indent;     // in levels
    const char *failing; // what goes before the return of a status
    uint32_t chunks;     // parallel loops so far
    uint32_t depth;      // loops that the statement is in, within its function
    CoreLoc loc;         // last one commented on
} Walker;

// Starts a line.
void walk_line(Walker *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The value as an expression that needs no parentheses.
Str walk_value(Walker *w, LoopRef ref);
// "float *xs_3" or, with a star more, "float **xs_3".
void walk_declare(Walker *w, LoopRef ref, const char *star, StrBuf *out);
// "float *", "int32_t "
const char *walk_type(Walker *w, LoopRef ref);
// The 64 bits of a slot as a value of that type, and back.
Str walk_from_slot(Walker *w, LoopRef ref, const char *slot);
Str walk_to_slot(Walker *w, LoopRef ref);
void walk_body(Walker *w, const LoopBody *body);
// Whether a statement of that operator is in the body, however deep.
bool walk_has(const LoopBody *body, LoopOp op);
// Writes the function of a parallel loop and the statements that run it (function.c).
void walk_parallel(Walker *w, const LoopStm *stm);

#endif
