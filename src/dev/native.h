// SPDX-License-Identifier: Apache-2.0
//
// C text to code in this process: built by the system's compiler ($WEFT_CC, else cc, gcc
// or clang from the PATH) as a shared library for this CPU, kept in the cache, loaded.
//
// Threads: any; the Mem and the arenas are the caller's own.
#ifndef WEFT_DEV_NATIVE_H
#define WEFT_DEV_NATIVE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct NativeCompiler {
    const char *path;      // of the program
    const char *identity;  // changes when it does
} NativeCompiler;

// Looks for a compiler. False: *why_out says what was looked for.
bool native_find(Arena *arena, NativeCompiler *compiler_out, Str *why_out);

typedef struct NativeBuild {
    const NativeCompiler *compiler;
    Str source;
    Arena *arena;               // for paths and messages
    const atomic_bool *cancel;  // ends a compiler at work; may be NULL
    uint32_t seconds;           // it is stopped after so long; 0: 120
    bool no_cache;
} NativeBuild;

// STATUS_OK: *library_out is for native_symbol and native_unload. Else *why_out says
// what happened, and where the compiler's output is if it failed.
Status native_build(const NativeBuild *build, void **library_out, bool *was_cached_out,
                    Str *why_out);
// The address of a function in it; NULL if there is none.
void *native_symbol(void *library, const char *name);
void native_unload(void *library);  // NULL is ignored

#endif
