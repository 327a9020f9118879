// SPDX-License-Identifier: Apache-2.0
//
// The C compiler as a process: found, started, looked at now and then, stopped. It runs
// in a process group of its own, so that it and its helpers can be ended together, and
// keeps its temporary files beside the ones that it makes.
#ifndef WEFT_DEV_COMPILER_H
#define WEFT_DEV_COMPILER_H

#include <sys/types.h>

#include "dev/native.h"

// One file on its way to a library.
typedef struct Compile {
    const NativeCompiler *compiler;
    const char *folder;  // that the files are in
    const char *source, *log;
    const char *library;
    const char *object;  // to be linked with; NULL: none, and the library is for this
                         // process
    pid_t pid;
    double end;          // when it is stopped
    int status;          // once it has ended: as waitpid has it
} Compile;

typedef enum CompileState {
    COMPILE_GOES_ON,
    COMPILE_WELL,
    COMPILE_BADLY, // see status
    COMPILE_LATE   // it was stopped
} CompileState;

// What the code depends on besides its text and the compiler's identity.
void compiler_flags(const char *const **flags_out, uint32_t *count_out);
// Returns an errno.
int compiler_start(Arena *arena, Compile *compile);
CompileState compiler_poll(Compile *compile);
void compiler_stop(Compile *compile);

#endif
