// SPDX-License-Identifier: Apache-2.0
//
// C text to code in this process: built by the system's compiler ($WEFT_CC, else cc, gcc
// or clang from the PATH) as a shared library for this CPU, kept in the cache, loaded.
// Builds go on by themselves, any number at a time, and are looked at with native_poll.
//
// Threads: any, one at a time for a build; the Mem and the arenas are the caller's own.
#ifndef WEFT_DEV_NATIVE_H
#define WEFT_DEV_NATIVE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct NativeCompiler {
    const char *path;      // of the program
    const char *identity;  // changes when what it makes does: it, Weft, the CPU
    uint32_t seconds;      // it is stopped after so long
} NativeCompiler;

// Looks for a compiler. False: *why_out says what was looked for.
bool native_find(Arena *arena, NativeCompiler *compiler_out, Str *why_out);

typedef enum NativeState {
    NATIVE_BUILDS,
    NATIVE_READY,
    NATIVE_FAILED
} NativeState;

typedef struct NativeBuild {
    const NativeCompiler *compiler;
    Str source;
    Arena *arena;            // for paths and messages; as long as the build
    const char *symbol;      // a function that the code must have; NULL: any will do
    bool no_cache;
    void *library;           // of a READY one, for native_symbol and native_unload
    bool was_cached;
    Str why;                 // of a FAILED one; names the compiler's output, if any
    struct NativeWork *work; // of one that BUILDS
} NativeBuild;

// Takes the code from the cache, or starts a compiler.
NativeState native_start(NativeBuild *build);
// How far a build is that was started and not yet seen to end.
NativeState native_poll(NativeBuild *build);
// Ends a compiler at work; nothing of the build is left.
void native_stop(NativeBuild *build);
// All of that. STATUS_CANCELLED: *cancel, which may be NULL, became true. STATUS_IO:
// see build->why.
Status native_build(NativeBuild *build, const atomic_bool *cancel);
// Compiles, links with an object file and leaves the library at that path, neither kept
// nor loaded.
Status native_library(NativeBuild *build, Str object, const char *path,
                      const atomic_bool *cancel);

// The address of a function in it; NULL if there is none.
void *native_symbol(void *library, const char *name);
void native_unload(void *library);  // NULL is ignored

#endif
