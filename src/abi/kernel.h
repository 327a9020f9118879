// SPDX-License-Identifier: Apache-2.0
//
// How the runtime and generated code call each other. This text is also the head of
// every generated C file, so it needs nothing but the compiler.
//
// A kernel takes and returns slots of 64 bits: a scalar as scalar.h says; an array as
// the address of its first element, then its sizes, row-major without gaps.
#ifndef WEFT_ABI_KERNEL_H
#define WEFT_ABI_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum KernelStatus {
    KERNEL_OK,
    KERNEL_FAULT,  // a check failed; env->fault says which
    KERNEL_MEMORY, // private memory or memory for a result ran out
    KERNEL_CANCELLED
} KernelStatus;

enum { KERNEL_FAULT_VALUES = 16, KERNEL_FAULT_CALLS = 60 };

// The first check that failed. Checks and calls are numbered together, by kernel, in
// order of the text. Or, where memory ran out, the bytes that were wanted.
typedef struct KernelFault {
    int32_t check;
    int32_t call_count; // calls of functions that had not returned, innermost first
    int32_t calls[KERNEL_FAULT_CALLS];
    uint64_t values[KERNEL_FAULT_VALUES];
    uint64_t wanted;
} KernelFault;

typedef struct KernelEnv KernelEnv;

// Iterations from begin to below end. Stops at the first that fails and stores its
// index in *failed.
typedef int32_t KernelChunk(KernelEnv *env, const void *frame, int64_t begin,
                            int64_t end, int64_t *failed);

// What a thread gives generated code. Root code and each worker have one of their own.
struct KernelEnv {
    char *top, *limit; // private memory that is free, a stack
    char *high;        // the most that top has been
    KernelFault fault;
    const volatile bool *cancel; // becomes true when the run should end
    void *host;                  // the callbacks' own
    // True when the run should end. Tells people how far a loop is: `done` of `total`
    // turns; total 0: that is not known.
    bool (*poll)(KernelEnv *env, int64_t done, int64_t total);
    // Root code only. Memory for array result `number`; NULL when there is none. Or, if
    // `number` is greater by the number of results, a spare: other memory that the
    // result may turn out to be in.
    void *(*result)(KernelEnv *env, uint32_t number, uint32_t rank,
                    const int64_t *shape);
    // Likewise, for an unknown number of rows up to that of the shape, which the kernel
    // says in the end. NULL when there is little or none: then it asks for a result.
    void *(*room)(KernelEnv *env, uint32_t number, uint32_t rank, const int64_t *shape);
    // Runs iterations 0 to below n, on any threads, about `grain` together: a multiple
    // of `lanes`, which vector turns take at once, but for the last ones.
    int32_t (*parallel)(KernelEnv *env, int64_t n, int64_t grain, int64_t lanes,
                        KernelChunk *chunk, const void *frame);
    int32_t threads; // root code only: that run parallel turns, at the most
};

typedef int32_t Kernel(KernelEnv *env, const uint64_t *in, uint64_t *out);

#endif
