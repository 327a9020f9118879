// SPDX-License-Identifier: Apache-2.0
//
// Within the making of tasks: the environment, and what it is split into where tasks
// fork.
#ifndef WEFT_TASK_MAKE_H
#define WEFT_TASK_MAKE_H

#include "task/task.h"

// A right to read or to write: wait before, resolve when done; 0: no need to.
typedef struct TaskLock {
    TaskName wait, done;
} TaskLock;

// Where a variable is, and what may be done with it. Whoever has an entry resolves its
// `done` signals, each once, whatever happens.
typedef struct TaskEntry {
    TaskName place; // a reference, or if it is direct the value itself
    bool is_direct, has_write;
    TaskLock read, write;
} TaskEntry;

typedef struct TaskMaker {
    TaskProgram *p;
    const FlowFun *flow;
    TaskForm form;
    Arena *arena, *scratch;
    TaskEntry *env;   // by FlowVar
    uint32_t *number; // by FlowVar, for task_clusters
    TaskBlock terms;  // of nodes that no cluster has got yet
} TaskMaker;

// ---- terms (make.c) -----------------------------------------------------------------

TaskName task_name(TaskMaker *m, TaskNameInfo info);
TaskBlock *task_block(TaskMaker *m);
TaskTerm *task_emit(TaskMaker *m, TaskBlock *block, TaskKind kind);
TaskName task_emit_signal(TaskMaker *m, TaskBlock *block);
// On those that are not 0, each once; nothing if there are none.
void task_emit_on(TaskMaker *m, TaskBlock *block, TaskKind kind,
                  const TaskNames *signals);
TaskBlock *task_emit_fork(TaskMaker *m, TaskBlock *block);

// ---- the environment (split.c) ------------------------------------------------------

// Starts a task that waits for a and b and resolves `done`; either may be 0. Nothing to
// do if `done` is.
void task_wait_resolve(TaskMaker *m, TaskBlock *block, TaskName a, TaskName b,
                       TaskName done);
// Splits an entry between two tasks, of which the first comes first in the program.
void task_split(TaskMaker *m, TaskBlock *block, TaskEntry entry, bool first_writes,
                bool second_writes, TaskEntry *first_out, TaskEntry *second_out);
// Gives up the right to write.
void task_give_up_write(TaskMaker *m, TaskBlock *block, TaskEntry *entry);
// Gives up everything.
void task_give_up(TaskMaker *m, TaskBlock *block, TaskEntry *entry);

// ---- clusters (graph.c) -------------------------------------------------------------

// Which statements and results of a body are one task, in which order: `next` of a node
// is the one after it, and `first` of a cluster its first. A result is a node behind
// the statements.
typedef struct TaskClusters {
    uint32_t *next;  // by node; UINT32_MAX: none
    uint32_t *first; // by cluster
    uint32_t count;
    bool *is_inner; // by statement: only its own cluster uses what it binds, a value
} TaskClusters;

// Whether a statement needs no task: it uses nothing and is done at once.
bool task_is_trivial(const FlowStm *stm);
// `number`: 0 for each variable of the function, before and after it.
TaskClusters task_clusters(const FlowFun *flow, const FlowBody *body, uint32_t *number,
                           Arena *arena);

// ---- tidying (tidy.c) ---------------------------------------------------------------

// Removes waits that others imply, signals and references that nobody needs.
void task_tidy(TaskProgram *p, Arena *scratch);

#endif
