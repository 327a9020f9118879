// SPDX-License-Identifier: Apache-2.0
//
// Within the checker: the events of a task program. A name has a cell for each time
// that it is bound: once, or once for each turn of a loop, of which the first two are
// looked at. Every turn gets from the one before what that one got, so what holds of
// two holds of all.
#ifndef WEFT_TASK_CHECK_H
#define WEFT_TASK_CHECK_H

#include "task/task.h"

enum { CHECK_NONE = UINT32_MAX };

// The sides taken at branches on the way to an event. Equal paths are one.
typedef struct CheckPath {
    const struct CheckPath *outer;
    uint32_t depth;
    uint32_t branch;
    int side; // 0: then, 1: else
} CheckPath;

typedef struct CheckNodes {
    uint32_t *data;
    uint32_t len, cap;
} CheckNodes; // or cells

typedef struct CheckTouch {
    uint32_t node;
    bool writes;
    const uint64_t *past; // what came before, since it is this buffer that it touches
} CheckTouch;

// A buffer that a value may lie in. If it does, all this came before.
typedef struct CheckHome {
    uint32_t buffer;
    uint64_t *past; // by column
} CheckHome;

typedef struct CheckHomes {
    CheckHome *data;
    uint32_t len, cap;
} CheckHomes;

typedef enum CheckSort { CHECK_VALUE, CHECK_REF, CHECK_SIGNAL } CheckSort;

typedef struct CheckCell {
    CheckSort sort;
    TaskName name;
    const CheckPath *path; // on which it was made
    CheckNodes ends;       // what resolves it, or writes to it
    CheckNodes reads;      // of a reference
    CheckNodes values;     // of a reference: the cells that `ends` wrote, or CHECK_NONE
    CheckHomes homes;      // of a value
    bool is_buffer;        // of its own
    struct {
        CheckTouch *data;
        uint32_t len, cap;
    } touches; // of a buffer
} CheckCell;

typedef struct CheckNode {
    const CheckPath *path;
    uint32_t after;    // in its task, or where that was forked
    uint32_t column;   // of what may race; CHECK_NONE: it cannot
    CheckNodes waits;  // cells of signals
    CheckNodes joins;  // one of these has happened
    CheckNodes views;  // cells of values: looked at
    CheckNodes writes; // cells of values: buffers that are written
    uint32_t binds; // the cell of a value, or CHECK_NONE: may lie in the buffers that
    uint32_t from;  // this reference holds, or else those that it looks at
    CheckNodes next;
    uint32_t missing;
} CheckNode;

typedef struct CheckBranch {
    bool is_last_turn; // its first side goes on to a turn that is not looked at
} CheckBranch;

typedef struct Check {
    const TaskProgram *p;
    Arena *arena;
    StrBuf *out;
    uint32_t faults;
    struct {
        CheckNode *data;
        uint32_t len, cap;
    } nodes;
    struct {
        CheckCell *data;
        uint32_t len, cap;
    } cells;
    struct {
        CheckBranch *data;
        uint32_t len, cap;
    } branches;
    CheckNodes columns; // the nodes
    uint32_t words;
    uint64_t *before;        // by node, a row of bits by column: certainly done before
    uint64_t *past, *common; // rows to work with
} Check;

// Fills nodes, cells and branches (check_events.c).
void check_events(Check *c);
#endif
