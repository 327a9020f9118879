// SPDX-License-Identifier: Apache-2.0
//
// The oracle: evaluates core plainly. It says what every engine must answer, bit for
// bit, and which error comes first (design: core.md, "Stage 0"; language.md, 7 and 8).
#ifndef WEFT_INTERP_INTERP_H
#define WEFT_INTERP_INTERP_H

#include <stdatomic.h>

#include "base/status.h"
#include "core/core.h"
#include "rt/array.h"
#include "rt/events.h"

// Why a run stopped.
typedef struct InterpError {
    Status status;   // STATUS_RUNTIME, STATUS_MEMORY or STATUS_CANCELLED
    CoreLoc loc;     // with its chain of callers in the program's places
    Str message;     // in the arena given; names the values involved
    // Where functions kept out of line were called, innermost first; the chain of loc
    // ends at the function that the first of them called.
    CoreLoc *calls;
    uint32_t call_count;
} InterpError;

// The call of a kernel (opt/outline.c), which an engine may run instead.
typedef struct InterpOffer {
    const CoreFun *kernel;
    CoreLoc loc;            // of the call
    RtValue *args;          // lent; a promised scalar may become what it was promised to be
    const bool *may_take;   // by arg: nobody needs the array afterwards; an engine may
                            // retain it and return it as a result, overwritten
    RtValue *results;       // to be filled in on STATUS_OK
    const RtLay *lays;      // by result: where it may be made; NULL: nobody knows
    const CoreLoc *calls;   // with InterpBeside: as in an InterpError
    uint32_t call_count;
} InterpOffer;

// An engine that may run kernels beside the run. Then it may promise results: arrays,
// and scalars as the `array` of a value of rank 0 (rt_promise). Arguments may be such,
// too. Functions get kernel_data.
typedef struct InterpBeside {
    // Whether the whole is promised: it will be what these parts make up along their
    // first dimension, as many as they are offered as arguments, each of which may lie
    // where it belongs by then. Then they are joined beside the run.
    bool (*join)(void *data, const InterpOffer *parts, uint32_t count, RtArray *whole);
    // Waits until the array is there; NULL: until all is. False: the run is to end.
    bool (*await)(void *data, const RtArray *a);
    // Waits for something that may free memory; false: there is nothing to wait for.
    bool (*relieve)(void *data);
    // Called in each turn of a loop; false: the run is to end.
    bool (*poll)(void *data);
    // Waits for all, at the end of a run that came to this status. Returns the status of
    // all together, with the error that is the first in the order of the program.
    Status (*finish)(void *data, Status status, InterpError *error);
} InterpBeside;

// What a function is prepared to for its runs, kept from one to the next. Zeros before
// the first; freed by arena_free once there are no more.
typedef struct InterpCode {
    Arena arena;
    struct Prepared *prepared;
} InterpCode;

typedef struct InterpOptions {
    RtHeap *heap;
    Arena *arena;            // for messages and scratch; never NULL
    const atomic_bool *cancel;  // stop soon when it becomes true; may be NULL
    void (*trace)(void *data, CoreLoc loc, const RtValue *value);  // #[trace]; or NULL
    void *trace_data;
    // Called a few dozen times a second while loops run: the outermost one, and how far
    // it is, from 0 to 1 (negative: unknown). May be NULL.
    void (*progress)(void *data, CoreLoc loc, double fraction);
    void *progress_data;
    // Offered every call of a kernel: returns false to have it interpreted, else runs it
    // and says in *error_out how it ended. May be NULL.
    bool (*run_kernel)(void *data, InterpOffer *offer, InterpError *error_out);
    void *kernel_data;
    const InterpBeside *beside;  // NULL: kernels end before run_kernel returns
    bool joins_late;  // parts on devices wait there for who needs the whole (rt/store.h)
    RtEvents *events;  // where statements that take time are recorded; may be NULL
    InterpCode *code;  // of this function and program; NULL: nothing is kept
} InterpOptions;

// Runs function `fun` of a program past stage 0. Consumes the references in args;
// on STATUS_OK the results (fun's flattened results, caller's array) are owned by the
// caller, else *error_out says what happened and nothing is left on the heap by the
// run.
Status interp_run(const CoreProgram *program, const CoreFun *fun,
                  const InterpOptions *options, RtValue *args, RtValue *results,
                  InterpError *error_out);

#endif
