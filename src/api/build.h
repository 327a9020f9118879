// SPDX-License-Identifier: Apache-2.0
//
// Within the api room: entries as C functions (weft_build). build.c makes a kernel of
// each entry and writes the files; build_text.c writes the text around the kernels.
#ifndef WEFT_API_BUILD_H
#define WEFT_API_BUILD_H

#include "api/api.h"
#include "emit/emit.h"

// A value that a kernel takes or gives, as a parameter of the C function.
typedef struct BuiltPort {
    const char *name; // in C; NULL: not there, for it says nothing (a unit)
    CoreType type;
    uint8_t same, as; // so many dimensions are those of the port of that number
} BuiltPort;

typedef struct BuiltEntry {
    const ApiEntry *entry;
    const char *name; // in C
    LoopKernel *loop;
    BuiltPort *params, *results;
    EmitChecks checks;
} BuiltEntry;

typedef struct Built {
    WeftProgram *program;
    Arena *arena;
    const char *name; // what the names in C begin with
    BuiltEntry *entries;
    uint32_t count;
} Built;

// Names an entry and its ports. WEFT_STATUS_USAGE: C has no form for one of them.
WeftStatus build_name_entry(Built *built, BuiltEntry *entry);

// Appends what the header declares, without includes and guards.
void build_put_declarations(const Built *built, StrBuf *out);
// Appends the whole header.
void build_put_header(const Built *built, StrBuf *out);
// Appends the C file after its includes; emits the kernels.
void build_put_code(Built *built, StrBuf *out);

#endif
