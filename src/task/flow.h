// SPDX-License-Identifier: Apache-2.0
//
// The language that tasks are made from: a function of core after outlining, in which
// what takes memory has become an operation on buffers. A statement that makes an array
// is an allocation and an operation that writes to it; one that overwrites an array
// which nobody needs any more writes to the buffer there is.
//
// (Matser, "Automatic task parallelism in Accelerate", 2023: figure 1; section 4.12 for
// the uses.)
#ifndef WEFT_TASK_FLOW_H
#define WEFT_TASK_FLOW_H

#include "core/core.h"

typedef uint32_t FlowVar; // 0 is none

typedef struct FlowVarInfo {
    CoreType type;
    Sym name;      // may be 0
    bool is_const; // then rank is 0
    bool is_buffer;
    uint64_t bits; // of a constant
} FlowVarInfo;

typedef struct FlowVars {
    FlowVar *data;
    uint32_t len, cap;
} FlowVars;

typedef enum FlowKind {
    FLOW_EXP,   // scalars, views, checks
    FLOW_USE,   // a buffer with given elements
    FLOW_UNIT,  // a buffer of one element
    FLOW_ALLOC, // a buffer without elements; ins are its sizes, if they are known
    FLOW_OP,    // outs are buffers that are written
    FLOW_IF,    // bodies {then} {else}
    FLOW_LOOP   // bodies {guard} {turn}
} FlowKind;

typedef struct FlowUse {
    FlowVar var;
    bool reads, writes;
} FlowUse;

typedef struct FlowUses {
    FlowUse *data;
    uint32_t len, cap;
} FlowUses;

typedef struct FlowBody FlowBody;

typedef struct FlowStm {
    FlowKind kind;
    uint32_t order;  // place in the order of the program
    uint32_t number; // of all statements of the function
    CoreBody *run;   // EXP, USE, UNIT, OP: that one statement; its params are ins
    FlowVars ins;    // IF: the condition; LOOP: initial values
    FlowVars outs;   // bound here, save those of OP
    FlowVars states; // LOOP
    FlowBody *bodies[2];
    FlowUses uses; // of variables that are bound outside; no constants
} FlowStm;

struct FlowBody {
    struct {
        FlowStm **data;
        uint32_t len, cap;
    } stms;
    FlowVars results;
    Map last_use,
        last_write; // FlowVar -> 1 + the statement; a result: 1 + their number
};

typedef struct FlowFun {
    CoreProgram *program;
    const CoreFun *fun;
    Arena *arena;
    struct {
        FlowVarInfo *data;
        uint32_t len, cap;
    } vars;
    FlowVars params;
    FlowBody *body;
    uint32_t stm_count;
} FlowFun;

// Of a function of an outlined program, which gets a few values more. NULL: the program
// is nested too deeply.
FlowFun *flow_make(CoreProgram *program, const CoreFun *fun, Arena *arena);

static inline bool flow_is_const(const FlowFun *f, FlowVar var) {
    return f->vars.data[var].is_const;
}
// Whether the body uses, or writes, the variable after that statement.
bool flow_used_after(const FlowBody *body, FlowVar var, uint32_t stm);
bool flow_written_after(const FlowBody *body, FlowVar var, uint32_t stm);
// What a body uses of the variables bound outside it.
void flow_body_uses(const FlowFun *f, const FlowBody *body, FlowUses *uses_out);

#endif
