// SPDX-License-Identifier: Apache-2.0
//
// The interpreter of task programs. It runs one task at a time, and at every term may
// leave it for another: an order decides which. What a program of tasks means does not
// depend on that, so a run in whatever order must equal core's interpreter, bit for
// bit; what would be a race, a deadlock or a signal resolved twice is reported.
//
// Errors: an operation that needs what has failed is left out, and what it would have
// made has failed, too. Of several errors the first in the order of the program counts;
// what would come after it is left out.
#ifndef WEFT_TASK_RUN_H
#define WEFT_TASK_RUN_H

#include "interp/interp.h"
#include "task/task.h"

typedef enum TaskOrder {
    TASK_CHILD_FIRST,  // a task that is forked runs at once
    TASK_PARENT_FIRST, // a task runs as far as it can; then the newest one
    TASK_OLDEST_FIRST, // likewise; then the oldest one
    TASK_RANDOM,       // after every term another one, by chance
    TASK_RANKED, // tasks have ranks, by chance, and the lowest wait for all others
    TASK_ORDER_COUNT
} TaskOrder;

typedef enum TaskOutcome {
    TASK_DONE,
    TASK_FAILED, // an error of the program: report->error
    TASK_BROKEN, // the tasks are wrong: report->fault
    TASK_TIRED   // too many steps, or too little memory
} TaskOutcome;

typedef struct TaskRunOptions {
    RtHeap *heap;
    Arena *arena;
    TaskOrder order;
    uint64_t seed;
    uint64_t most_steps;
} TaskRunOptions;

typedef struct TaskReport {
    InterpError error;
    Str fault;
    uint32_t tasks;
    // If each operation takes a time of one, and all else none: when the last one is
    // done with as many workers as one likes, and when it would be if tasks waited for
    // nothing but values and buffers.
    double span, critical;
} TaskReport;

// Args are lent. On TASK_DONE the results, of which there are as many as the function
// has, are owned by the caller.
TaskOutcome task_run(const TaskProgram *p, const TaskRunOptions *options,
                     const RtValue *args, RtValue *results, TaskReport *report_out);

#endif
