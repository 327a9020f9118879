// SPDX-License-Identifier: Apache-2.0
//
// A plain evaluator of the loop language, for tests alone: it shares no code with the
// engines and trusts nothing. Beyond evaluating, it catches accesses out of bounds, of
// memory never written or already freed, writes to what is not the kernel's, and
// iterations of a parallel loop that touch each other's elements.
#ifndef WEFT_TESTS_LOOP_EVAL_H
#define WEFT_TESTS_LOOP_EVAL_H

#include "loop/loop.h"
#include "rt/array.h"

typedef enum EvalOrder { EVAL_FORWARD, EVAL_REVERSE, EVAL_SHUFFLED } EvalOrder;

// TIRED: it did not end in so many steps. A turn that comes first in another order may
// run for long where the oracle stopped before it.
typedef enum EvalOutcome { EVAL_OK, EVAL_FAULT, EVAL_BUG, EVAL_TIRED } EvalOutcome;

typedef struct EvalReport {
    Str message; // of a fault, as people read it; of a bug, what is wrong
    CoreLoc loc;
    uint64_t allocs; // private allocations
    uint64_t loads, stores;
    size_t private_peak; // bytes of private memory held at once by one thread
} EvalReport;

// Evaluates the kernel on arguments, which stay as they are; what the kernel may
// overwrite is copied first. Parallel iterations run in that order. On EVAL_OK the
// results are row-major arrays owned by the caller.
EvalOutcome loop_eval(const LoopKernel *kernel, EvalOrder order, Arena *arena,
                      RtHeap *heap, const RtValue *args, RtValue *results,
                      EvalReport *report);

#endif
