// SPDX-License-Identifier: Apache-2.0
//
// The task language: a program is one function, whose tasks fork, wait for signals and
// resolve them, and hand on values by references and buffers. Made from a function of
// core after outlining, checked, and run by an interpreter that may start, stop and
// take tasks in any order.
//
// (Matser, "Automatic task parallelism in Accelerate", 2023: figure 2.) Differences: a
// block is a list of terms, whose end is `return`; a turn of a loop is a block with
// parameters and destinations.
#ifndef WEFT_TASK_TASK_H
#define WEFT_TASK_TASK_H

#include "core/core.h"
#include "task/flow.h"

typedef uint32_t TaskName; // a value, reference or signal; 0 is none

typedef enum TaskSort { TASK_IS_VALUE, TASK_IS_REF, TASK_IS_SIGNAL } TaskSort;

typedef struct TaskNameInfo {
    TaskSort sort;
    CoreType type;  // of a value, or of what a reference is for
    Sym name;       // of the variable; may be 0
    bool is_const;  // a value
    bool is_buffer; // a value: a buffer, or what a reference holds
    uint64_t bits;
} TaskNameInfo;

typedef struct TaskNames {
    TaskName *data;
    uint32_t len, cap;
} TaskNames;

typedef enum TaskKind {
#define TERM(name, text, meaning) TASK_##name,
#include "task/terms.def"
#undef TERM
    TASK_KIND_COUNT
} TaskKind;

extern const char *const task_kind_names[TASK_KIND_COUNT];

typedef struct TaskBlock TaskBlock;
typedef struct TaskTurn TaskTurn;

typedef struct TaskTerm {
    TaskKind kind;
    // EXP, USE, UNIT, KERNEL: what is run, on args. KERNEL: its results go to outs,
    // which are not bound here. ALLOC, WHILE: for its place in the program.
    const FlowStm *step;
    TaskNames outs; // bound here, save those of KERNEL
    TaskNames args; // WRITE: reference, value. IF: condition. WHILE: a signal and a
                    // reference for each state, then the signals carried
    TaskBlock *parts[2]; // FORK: one. IF: then, else
    TaskTurn *turn;      // WHILE
} TaskTerm;

struct TaskBlock {
    TaskTerm *data;
    uint32_t len, cap;
};

// A destination or a source: a reference and the signal that says it has been written.
typedef struct TaskPort {
    TaskName signal, ref;
} TaskPort;

typedef struct TaskPorts {
    TaskPort *data;
    uint32_t len, cap;
} TaskPorts;

// The function that a loop calls for each turn. It writes the guard, and then, if that
// is true, the next state, else the results of the loop, which it sees from outside.
// The next turn may begin as soon as the guard says so.
struct TaskTurn {
    TaskPorts states;  // parameters
    TaskNames carried; // parameters: signals
    TaskPort guard;    // destinations from here
    TaskPorts next;
    TaskNames next_carried;
    TaskBlock *block;
};

typedef struct TaskProgram {
    Arena *arena;
    const FlowFun *flow;
    struct {
        TaskNameInfo *data;
        uint32_t len, cap;
    } names;
    TaskPorts params, results;
    TaskBlock *block;
} TaskProgram;

// ---- making (make.c, split.c, graph.c, tidy.c) --------------------------------------

// In this order; each includes those before it, save that GRAPH goes by its own rules
// instead of JOIN.
typedef enum TaskForm {
    TASK_RULES,   // the transformation alone: a fork for every binding
    TASK_TRIVIAL, // what needs nothing is not forked
    TASK_JOIN,    // a statement that takes all results of the one before joins its task
    TASK_RETURNS, // each result is returned when it is ready
    TASK_GRAPH,   // tasks are clusters of the graph of dependences
    TASK_FORM_COUNT
} TaskForm;

extern const char *const task_form_names[TASK_FORM_COUNT];
bool task_form_find(Str name, TaskForm *form_out);

// The tasks of a function.
TaskProgram *task_make(const FlowFun *flow, TaskForm form, Arena *arena);

// ---- text (print.c) -----------------------------------------------------------------

void task_print(const TaskProgram *p, StrBuf *out);
// A name, as the text of the program has it.
void task_print_name(const TaskProgram *p, TaskName name, StrBuf *out);

// ---- checks (check.c) ---------------------------------------------------------------

// Proves that each signal is resolved exactly once on every path, that no wait is in a
// circle with what it waits for, that a reference is written once before it is read,
// and that of two uses of a buffer of which one writes, one comes before the other.
// Appends what is wrong to `out`; returns whether nothing is.
bool task_check(const TaskProgram *p, Arena *scratch, StrBuf *out);

#endif
