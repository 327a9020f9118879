// SPDX-License-Identifier: Apache-2.0
//
// Splitting the environment where tasks fork, and giving up rights where a branch needs
// less than it was given (Matser, rules 4.10 and 4.11). A lock that nobody waits for
// has no `done` signal, and then the signals that would lead to it are not made.
//
// What is given up is resolved by a task of its own, which waits for what the right
// itself would have waited for: resolved at once, a later writer could overtake an
// earlier one. (The thesis resolves at once in 4.11d, e and g, and names 4.10d and e
// the wrong way round.) Of a right to write, readers are told once the variable can be
// read; that earlier readers are done is told to a later writer alone, with the reads.
#include "task/make.h"

void task_wait_resolve(TaskMaker *m, TaskBlock *block, TaskName a, TaskName b,
                       TaskName done) {
    if (done == 0) return;
    TaskNames waits = {(TaskName[]){a, b}, 2, 2}, ends = {&done, 1, 1};
    if (a != 0 || b != 0) block = task_emit_fork(m, block);
    task_emit_on(m, block, TASK_WAIT, &waits);
    task_emit_on(m, block, TASK_RESOLVE, &ends);
}

void task_give_up_write(TaskMaker *m, TaskBlock *block, TaskEntry *entry) {
    if (!entry->has_write) return;
    task_wait_resolve(m, block, entry->read.wait, 0, entry->write.done);
    if (entry->write.wait != 0 && entry->read.done != 0) {
        TaskName was_read = task_emit_signal(m, block);
        task_wait_resolve(m, block, was_read, entry->write.wait, entry->read.done);
        entry->read.done = was_read;
    }
    entry->has_write = false;
    entry->write = (TaskLock){0};
}

void task_give_up(TaskMaker *m, TaskBlock *block, TaskEntry *entry) {
    TaskName also = entry->has_write ? entry->write.wait : 0;
    task_wait_resolve(m, block, entry->read.wait, also, entry->read.done);
    entry->read.done = 0;
    task_give_up_write(m, block, entry);
}

// Both read (4.10c).
static void split_reads(TaskMaker *m, TaskBlock *block, TaskEntry *first,
                        TaskEntry *second) {
    TaskName done = first->read.done;
    if (done == 0) return;
    first->read.done = task_emit_signal(m, block);
    second->read.done = task_emit_signal(m, block);
    task_wait_resolve(m, block, first->read.done, second->read.done, done);
}

// The first writes, the second reads (4.10d).
static void split_write_read(TaskMaker *m, TaskBlock *block, TaskEntry *first,
                             TaskEntry *second) {
    TaskLock read = first->read, write = first->write;
    TaskName written = task_emit_signal(m, block);
    first->write.done = written;
    second->read = (TaskLock){.wait = written};
    second->has_write = false;
    second->write = (TaskLock){0};
    if (read.done != 0) {
        first->read.done = task_emit_signal(m, block);
        second->read.done = task_emit_signal(m, block);
        task_wait_resolve(m, block, first->read.done, second->read.done, read.done);
    }
    task_wait_resolve(m, block, written, 0, write.done);
}

// The first reads, the second writes (4.10e).
static void split_read_write(TaskMaker *m, TaskBlock *block, TaskEntry *first,
                             TaskEntry *second) {
    TaskName was_read = task_emit_signal(m, block);
    first->read.done = was_read;
    first->has_write = false;
    first->write = (TaskLock){0};
    TaskName before = second->write.wait;
    second->write.wait = task_emit_signal(m, block);
    task_wait_resolve(m, block, was_read, before, second->write.wait);
}

// Both write (4.10f).
static void split_writes(TaskMaker *m, TaskBlock *block, TaskEntry *first,
                         TaskEntry *second) {
    TaskName was_read = task_emit_signal(m, block);
    TaskName written = task_emit_signal(m, block);
    first->read.done = was_read;
    first->write.done = written;
    second->read.wait = written;
    second->write.wait = was_read;
}

void task_split(TaskMaker *m, TaskBlock *block, TaskEntry entry, bool first_writes,
                bool second_writes, TaskEntry *first_out, TaskEntry *second_out) {
    if (!first_writes && !second_writes) task_give_up_write(m, block, &entry);
    *first_out = *second_out = entry;
    if (first_writes && second_writes) split_writes(m, block, first_out, second_out);
    else if (first_writes) split_write_read(m, block, first_out, second_out);
    else if (second_writes) split_read_write(m, block, first_out, second_out);
    else split_reads(m, block, first_out, second_out);
}
