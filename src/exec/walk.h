// SPDX-License-Identifier: Apache-2.0
//
// What walks of root code share: those that run it on a device (launches.c), and those
// that find out what it will need there (needs.c).
#ifndef WEFT_EXEC_WALK_H
#define WEFT_EXEC_WALK_H

#include "core/core.h"
#include "loop/loop.h"

enum { WALK_THREADS = 1024 }; // that a device may have for parallel loops

static inline ScalarType walk_elem(const LoopKernel *loop, LoopRef ref) {
    return (ScalarType)loop->values.data[ref].type.elem;
}

// How often a FOR turns whose number of turns has these bits.
static inline int64_t walk_times(const LoopKernel *loop, LoopRef n, uint64_t bits) {
    ScalarType type = walk_elem(loop, n);
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    if (scalar_is_signed(type)) return (int64_t)(bits << unused) >> unused;
    return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
}

// A scalar that cannot fail: checks came before.
static inline uint64_t walk_scalar(const LoopKernel *loop, const LoopStm *stm,
                                   const uint64_t *args) {
    uint64_t bits;
    core_eval(stm->scalar, walk_elem(loop, stm->args[0]), walk_elem(loop, stm->outs[0]),
              args, &bits);
    return bits;
}

#endif
