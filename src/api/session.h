// SPDX-License-Identifier: Apache-2.0
//
// Inside sessions. A session is a list of cells: the texts that defined something, each
// compiled anew, as far as it is needed, with every text that comes after it. A value
// that was computed once is kept and handed to later programs as an argument.
//
// Where such a value has a type that can be written without names (no abstract type),
// the cell is closed: it is compiled as "def NAME: TYPE = ???", with the sizes that the
// value has, and sees nothing else. Its own text is only for cells_source.
#ifndef WEFT_API_SESSION_H
#define WEFT_API_SESSION_H

#include "api/api.h"
#include "syntax/ast.h"

typedef struct CellDef {
    Str name;
    DeclKind kind;
    Str shown;        // "x: i32", "type t": one line on it
    bool is_hidden;   // a later cell defines the name again
    bool is_value;    // it can be computed
    bool is_plain;    // and its type can be written without names
    WeftValue *value; // once it is computed
} CellDef;

typedef struct Cell {
    Arena arena;
    Str name, text;
    Str closed;   // the text it is compiled from; empty if it is not closed
    Str path;     // imports are relative to it
    bool is_exp;  // an expression, whose value is called `it`
    bool is_file; // read by weft_session_load
    bool is_live; // while the dead are sought
    struct {
        CellDef *data;
        uint32_t len, cap;
    } defs;
    struct {
        struct Cell **data;
        uint32_t len, cap;
    } leans_on; // cells whose definitions it uses
    struct {
        struct CellImport {
            Str path, name, text;
        } * data;
        uint32_t len, cap;
    } imports; // files it read
} Cell;

struct WeftSession {
    WeftContext *context;
    ApiDrop drop;
    WeftSession *next, *prev; // in context->sessions
    Cell **cells;             // oldest first
    uint32_t len, cap;
    Cell *draft; // what is being typed; freed when the next call begins
};

// What is asked of a session, and the answer.
typedef enum Task {
    TASK_EVAL,
    TASK_LOAD, // a file; sees no cell
    TASK_TYPE, // of an expression
    TASK_CORE, // of an expression
    TASK_NAMES // that begin with the text
} Task;

typedef struct SessionCall {
    WeftSession *session;
    Task task;
    const char *name, *path;
    Str text;
    const WeftValue *given;
    uint32_t next;    // the definition to be computed
    WeftValue **held; // by number, from 1
    WeftValue **args; // of the program
    uint32_t arg_count;
    StrBuf names;
    WeftValue *value;
    const char *shown;
} SessionCall;

// ---- session_front.c ----------------------------------------------------------------

// ApiCompile's front; data is a SessionCall. NULL where nothing is to be run.
const TProgram *session_front(WeftProgram *program, const Source *source, void *data);

// ---- cells.c ------------------------------------------------------------------------

// Makes the session's draft anew.
Cell *cell_draft(WeftSession *session, Str name, Str text);
void cell_free(Cell *cell);
// Makes the draft the newest cell: what it defines hides older definitions, and cells
// that nobody can see any more are freed. Cannot fail after cells_reserve.
void cells_commit(WeftSession *session);
void cells_reserve(WeftSession *session);
void cells_clear(WeftSession *session);
// Makes a cell hold one value.
void cell_close(Cell *cell, Str name, WeftValue *value);
// Whether a value of the type can be held without its text.
bool cell_type_is_plain(Type *type);
bool cell_data_is_plain(const DataType *type);
// A second handle on a value.
WeftValue *cell_share(const WeftValue *value);
// The definitions as a program that a file may hold.
Str cells_source(const WeftSession *session, Arena *arena);

#endif
