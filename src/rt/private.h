// SPDX-License-Identifier: Apache-2.0
//
// Private memory of kernels: for each worker a range of addresses, reserved at once and
// backed by the system as it is touched, used as a stack (abi/kernel.h). So it grows in
// place, and what was not needed costs nothing.
#ifndef WEFT_RT_PRIVATE_H
#define WEFT_RT_PRIVATE_H

#include "abi/kernel.h"
#include "base/mem.h"

typedef struct RtPrivate {
    char *base;
    size_t size;
    size_t touched; // bytes that the system may have backed, beside those in use
    size_t recent;  // that calls have used, those long ago counting less
    size_t kept;    // at most so many stay between calls
    bool is_wide;   // it is all in large pages
} RtPrivate;

// Reserves what the system grants, from 64 GiB down to 1 MiB. False when there is none,
// or when the Mem is to fail.
bool rt_private_new(Mem *mem, size_t kept, RtPrivate *private_out);
void rt_private_free(RtPrivate *private);
// All of it, or what the Mem's ceiling leaves, is free.
void rt_private_open(const RtPrivate *private, const Mem *mem, KernelEnv *env);
// Gives back what was touched, but for a small part and, as far as that may stay and
// the Mem has no ceiling, what was in use now or lately, loosened: the next calls are
// often the same.
void rt_private_close(RtPrivate *private, const Mem *mem, const KernelEnv *env);

#endif
