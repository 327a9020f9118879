// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel on one device: arguments brought to where it runs, its code run,
// results taken. On cores machine code is called; on GPUs the root code is walked here
// and the rest launched (loop/launch.h).
//
// Threads: calls are made by who has the heap's turn, which machine code does without,
// and who waits for a GPU.
// Calls at once have books of their own.
#ifndef WEFT_EXEC_EXEC_H
#define WEFT_EXEC_EXEC_H

#include "abi/kernel.h"
#include "loop/launch.h"
#include "rt/store.h"
#include "rt/team.h"

// ---- what runs ----------------------------------------------------------------------

// A kernel that can be called, with the memory that a call of it needs for its books.
typedef struct ExecKernel {
    const LoopKernel *loop;
    uint32_t number;              // of the kernel in its file
    Kernel *run;                  // machine code; NULL: none
    const LoopStm *const *checks; // its checks and calls by number, in machine code
    const LoopPlan *plan;         // its launches; NULL: none
    const LoopStm *const *launch_checks; // and in code for GPUs
    uint64_t *in, *out;                  // slots
    RtArray **args;                      // by param: the array that the kernel sees
    RtArray **made; // by result, then spares: memory that the kernel asked for
    uint64_t *args_at, *made_at; // where the elements are on the device
    uint64_t *values;            // of a walk, by LoopRef
    uint64_t *moved;             // of a walk: values on their way
    uint64_t *frame;             // of a launch
    uint32_t frame_slots;
} ExecKernel;

// Makes the books, in the arena; the caller sets run and plan.
void exec_kernel_init(ExecKernel *kernel, const LoopKernel *loop, uint32_t number,
                      Arena *arena);
// The books of walks, once the plan is there.
void exec_kernel_plan(ExecKernel *kernel, const LoopPlan *plan, Arena *arena);
// The same kernel with books of its own, in memory of that size, aligned to 8, whatever
// that holds.
size_t exec_books_size(const ExecKernel *kernel);
ExecKernel exec_with_books(const ExecKernel *kernel, void *memory);

// ---- a call -------------------------------------------------------------------------

typedef enum ExecStatus {
    EXEC_OK,
    EXEC_FAULT,  // a check failed; see the fault
    EXEC_MEMORY, // the host or the device has not as much; see wanted
    EXEC_CANCELLED,
    EXEC_BROKEN // the device failed: device->why
} ExecStatus;

typedef struct ExecCall {
    ExecKernel *kernel;
    RtHeap *heap;
    const RtValue *args;  // lent
    const bool *may_take; // by arg: it may be overwritten if nobody else sees it
    RtValue *results;     // filled in if it ends well
    const RtLay *lays;    // by result: where it may be made; NULL: nobody knows
    Device *device;       // NULL: the host's memory and cores
    RtTeam *team;         // of cores
    void *code;           // of GPUs
    const atomic_bool *cancel;
    // Told now and then how far a loop is: `done` of `total` turns; total 0: unknown.
    // May be NULL.
    void (*progress)(void *data, int64_t done, int64_t total);
    // How many bytes of the device others may want during a launch. May be NULL.
    size_t (*room)(void *data);
    // Told, by who has the turn, that a device has begun to work, and that it has
    // ended: meanwhile other things travel to it. False: in these it has failed. May be
    // NULL.
    bool (*at_work)(void *data, bool begins);
    // RtCall.ran. May be NULL.
    void (*ran)(void *data, unsigned worker, uint64_t loop_began, uint64_t began,
                int64_t turns);
    void *data;
} ExecCall;

typedef struct ExecEnd {
    ExecStatus status;
    const LoopStm *check;                     // of a FAULT; NULL: it is lost which one
    uint64_t values[KERNEL_FAULT_VALUES];     // those that its text shows
    const LoopStm *calls[KERNEL_FAULT_CALLS]; // that had not returned, innermost first
    uint32_t call_count;
    uint64_t wanted; // of MEMORY: bytes; 0: not known
    bool has_run;    // code that may have overwritten what it was allowed to
} ExecEnd;

// Before a call: nothing has run, and there is nothing to tell. What a fault would hold
// is left as it is, since clearing that takes longer than the rest of a short call.
static inline void exec_end_init(ExecEnd *end, ExecStatus status) {
    end->status = status;
    end->check = NULL;
    end->call_count = 0;
    end->wanted = 0;
    end->has_run = false;
}

// Runs it where call->device says.
void exec_call(const ExecCall *call, ExecEnd *end_out);

// ---- before a call (needs.c) --------------------------------------------------------

// A parameter of root code, as far as it is known.
typedef struct ExecSlot {
    bool is_known; // a scalar
    uint64_t bits;
} ExecSlot;

// The bytes that a call on a device that is launched on has there at once beside its
// arguments, when it has most: results, memory of root code, what launches need
// themselves. False: as far as it is known what it does; it needs no less.
bool exec_needs(const LoopKernel *loop, const LoopPlan *plan, const ExecSlot *in,
                Arena *arena, double *most_out);
// The same of a call on cores, of so many threads, below a ceiling: what it has of
// that, as far as that is certain; what turns of parallel loops take is not.
// counted_out: with what its results count as (mem_rounded).
bool exec_needs_on_cores(const LoopKernel *loop, unsigned threads, const ExecSlot *in,
                         Arena *arena, double *most_out, double *counted_out);

#endif
