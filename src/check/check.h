// SPDX-License-Identifier: Apache-2.0
//
// Syntax tree to typed program: names, modules, types, sizes, uniqueness (design:
// language.md, sections 2-4). All mistakes go to cx->diags.
#ifndef WEFT_CHECK_CHECK_H
#define WEFT_CHECK_CHECK_H

#include "check/typed.h"
#include "syntax/ast.h"

// How imports are read: the text of `path` (already joined to the importing file's
// folder, without ending), or false when there is no such file. *name_out is what
// messages call it. Library files are found before this is asked.
typedef struct CheckImporter {
    bool (*read)(void *data, Cx *cx, Str path, Str *name_out, Str *text_out);
    void *data;
} CheckImporter;

// Checks a program: `ast` is its main file; the prelude is opened in front of it.
// Returns NULL when there were errors. `path` is the main file's path without its
// ending, to which imports are relative.
TProgram *check_program(Cx *cx, const Ast *ast, Str path,
                        const CheckImporter *importer);

// A session is a list of cells, texts that were typed one after another: each sees the
// definitions of those before it, and may hide them by its own.
typedef struct CheckHeld {
    Sym name;
    uint32_t number; // from 1
} CheckHeld;

typedef struct CheckCell {
    const Ast *ast;
    Str path;              // as in check_program
    const CheckHeld *held; // definitions whose values are known
    uint32_t held_count;
    bool is_closed; // sees no cell before it
    bool is_used;   // out: what a later cell says leans on it
} CheckCell;

// Checks the last cell; the others have passed before. The only entry point is the
// definition `wanted` of it, if it can be computed. NULL when there were errors.
TProgram *check_session(Cx *cx, CheckCell *cells, uint32_t count,
                        const CheckImporter *importer, Sym wanted);
// Appends the names in scope behind the cells that begin with `prefix`, one on a line;
// after a dot, the members of a module.
void check_names(Cx *cx, CheckCell *cells, uint32_t count,
                 const CheckImporter *importer, Str prefix, StrBuf *out);

// Appends the typed program as text (weft dump --stage=typed).
void check_print(const Cx *cx, const TProgram *program, StrBuf *out);

// The library files embedded in the binary (made from lib/ by the build).
typedef struct LibFile {
    const char *path; // such as "prelude" or "math/f64", without ending
    const char *text; // a zero follows
    size_t size;
    bool has_open; // whether "open " is in the text
} LibFile;
extern const LibFile lib_files[];
extern const size_t lib_file_count;

#endif
