// SPDX-License-Identifier: Apache-2.0
//
// Between the two halves of the verifier: verify.c walks the program and keeps scopes,
// verify_ops.c knows what each operator asks of its args, bodies and results.
#ifndef WEFT_CORE_VERIFY_H
#define WEFT_CORE_VERIFY_H

#include "core/rules.h"

typedef struct Verifier {
    const CoreProgram *program;
    StrBuf *out;
    Arena *arena;    // of out: scratch
    uint8_t *scopes; // by CoreRef: never bound, in scope, or out of scope again
    const CoreFun *fun;
    uint32_t fun_index;
    const CoreStm *stm; // the statement at fault; NULL: the function
    uint32_t fault_count;
} Verifier;

// Reports a fault unless ok; returns ok.
bool core_verify_want(Verifier *v, bool ok, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Checks a statement whose refs are all known to be values. Its bodies' params and
// results have types but have not been looked into.
void core_verify_op(Verifier *v, const CoreStm *stm);

#endif
