// SPDX-License-Identifier: Apache-2.0
//
// Kernels as text for the system's compiler. The same kernels give the same text, which
// is what compiled code is cached by.
#ifndef WEFT_EMIT_EMIT_H
#define WEFT_EMIT_EMIT_H

#include "loop/loop.h"

typedef struct Dialect Dialect;
extern const Dialect emit_c; // C11 for gcc and clang: functions of type Kernel

// A kernel's checks and calls, by the number that they have in KernelFault.
typedef struct EmitChecks {
    const LoopStm **data;
    uint32_t len, cap;
} EmitChecks;

// Appends one file with these kernels, number i being called weft_kernel_i. With
// `for_people` comments name the places in the source. checks_out: one per kernel.
void emit_kernels(const Dialect *dialect, LoopKernel *const *kernels, uint32_t count,
                  bool for_people, StrBuf *out, EmitChecks *checks_out);

#endif
