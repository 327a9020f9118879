// SPDX-License-Identifier: Apache-2.0
//
// Kernels as text for the system's compiler or a GPU's. The same kernels give the same
// text, which is what compiled code is cached by.
#ifndef WEFT_EMIT_EMIT_H
#define WEFT_EMIT_EMIT_H

#include "loop/launch.h"

typedef struct Dialect Dialect;
extern const Dialect emit_c;      // C11 for gcc and clang: functions of type Kernel
extern const Dialect emit_opencl; // OpenCL C 1.2: launches (abi/gpu.h)
extern const Dialect emit_cuda;   // CUDA C for NVRTC: launches

// A kernel's checks and calls, by the number that they have in faults: those of its
// functions, then those of its root code, in order of the text.
typedef struct EmitChecks {
    const LoopStm **data;
    uint32_t len, cap;
} EmitChecks;

// Appends one file with these kernels, number i being called weft_kernel_i. With
// `for_people` comments name the places in the source. What writing one kernel leaves
// behind is in `scratch`, which is given up. checks_out: one per kernel.
void emit_kernels(const Dialect *dialect, LoopKernel *const *kernels, uint32_t count,
                  bool for_people, Arena *scratch, StrBuf *out, EmitChecks *checks_out);
// The same for dialects of GPUs: launch k of kernel i is called weft_i_launch_k.
// tables_out: the constant tables that the code wants at GpuControl.tables.
void emit_launches(const Dialect *dialect, LoopKernel *const *kernels,
                   const LoopPlan *plans, uint32_t count, bool for_people,
                   Arena *scratch, StrBuf *out, StrBuf *tables_out,
                   EmitChecks *checks_out);

#endif
