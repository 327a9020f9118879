// SPDX-License-Identifier: Apache-2.0
//
// Within the interpreter of tasks: a run and what it is made of. Names live in frames,
// one for the program and one for each turn of a loop; a task is a spot in a block and
// its frame.
#ifndef WEFT_TASK_RUN_STATE_H
#define WEFT_TASK_RUN_STATE_H

#include <setjmp.h>

#include "task/run.h"

typedef struct RunTask RunTask;

typedef struct RunSignal {
    bool is_resolved;
    double at, control; // when; and when it was decided that it is, at the earliest
    RunTask *waiting; // linked by `next`
} RunSignal;

typedef struct RunBuffer {
    struct RunBuffer *next; // of all
    RtValue value;
    bool has_value, has_failed, is_written; // the last: at this moment
    uint32_t readers;                       // at this moment
    double written, read;                   // when, at the earliest
} RunBuffer;

typedef struct RunDatum {
    RtValue value; // lent
    RunBuffer *buffer;
    bool has_failed;
    double ready; // at the earliest
} RunDatum;

typedef struct RunRef {
    RunDatum datum;
    bool is_written;
} RunRef;

typedef union RunCell {
    RunSignal *signal;
    RunRef *ref;
    RunDatum *datum;
} RunCell;

typedef struct RunFrame {
    const struct RunFrame *outer;
    uint32_t depth;
    uint32_t loop; // its order
    uint64_t turn;
    RunCell *cells;
} RunFrame;

typedef struct RunSpot {
    const TaskBlock *block;
    uint32_t at;
    bool is_dead;   // what decided to be here has failed
    double control; // when it was decided, at the earliest
    struct RunSpot *outer;
} RunSpot;

// A loop that a task drives.
typedef struct RunDriver {
    const TaskTerm *term;
    RunFrame *frame; // of the turn at work
} RunDriver;

struct RunTask {
    RunTask *next;
    RunSpot *spot;
    const RunFrame *frame;
    RunDriver driver; // term NULL: none
    bool is_inside;   // an operation
    double now;
    double decided; // when all was that it waited for, at the earliest
    uint64_t rank;  // of those that are ready, the highest runs
    uint32_t param; // 1 + the number of the one that it hands over; 0: none
};

typedef struct RunTurns {
    const TaskTurn *turn;
    uint32_t count; // names bound in a turn
} RunTurns;

typedef struct Run {
    const TaskProgram *p;
    const TaskRunOptions *options;
    const RtValue *args;
    Arena *arena;
    TaskReport *report;
    uint32_t *index, *depth; // by name: its cell, and that of its frame
    struct {
        RunTurns *data;
        uint32_t len, cap;
    } turns;
    struct {
        RunTask **data;
        uint32_t len, cap;
    } ready;
    uint32_t head; // of ready: the oldest
    uint32_t live; // tasks that have not ended
    RunBuffer *buffers;
    struct {
        RtArray **data;
        uint32_t len, cap;
    } held;
    InterpCode *codes; // by statement
    uint64_t random, steps;
    bool has_error;
    const RunFrame *error_frame;
    uint32_t error_order;
    TaskOutcome outcome;
    jmp_buf exit;
} Run;

_Noreturn void run_leave(Run *r, TaskOutcome outcome);
_Noreturn void run_broken(Run *r, const char *what);

static inline double run_later(double a, double b) {
    return a > b ? a : b;
}

// ---- names (run_names.c) ------------------------------------------------------------

// Gives each name a cell. Returns how many the program has outside of loops.
uint32_t run_number(Run *r);
RunCell *run_cell(Run *r, const RunFrame *frame, TaskName name);
// What a name is for; it has been made, or the run is broken.
RunSignal *run_signal(Run *r, const RunFrame *frame, TaskName name);
RunRef *run_ref(Run *r, const RunFrame *frame, TaskName name);
RunDatum run_datum(Run *r, const RunFrame *frame, TaskName name);
void run_set_datum(Run *r, const RunFrame *frame, TaskName name, RunDatum datum);
void run_make_port(Run *r, const RunFrame *frame, TaskPort port);

// ---- what is computed (run_core.c) --------------------------------------------------

RunBuffer *run_new_buffer(Run *r);
// EXP, USE, UNIT.
void run_binding(Run *r, RunTask *task, const TaskTerm *term);
// The first step of an operation: its buffers are in use from now on.
void run_enter_kernel(Run *r, RunTask *task, const TaskTerm *term);
// The second: everything happens.
void run_leave_kernel(Run *r, RunTask *task, const TaskTerm *term);

#endif
