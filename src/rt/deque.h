// SPDX-License-Identifier: Apache-2.0
//
// A worker's deque of work: the owner pushes and pops at the bottom, any other thread
// steals from the top. After Chase and Lev (Dynamic circular work-stealing deque,
// 2005), with two changes: it never grows, since a worker that cannot push goes on by
// itself, so nothing is allocated or reclaimed while it runs; and its items are values,
// so they need no memory of their own. docs/internals/pool.md says why the memory
// orders suffice.
//
// Items carry their depth, how deeply nested the job is that they belong to. A worker
// that waits takes no shallower ones (pool.h), so both ends can be asked for a least
// depth, and give nothing when the item at that end is too shallow.
#ifndef WEFT_RT_DEQUE_H
#define WEFT_RT_DEQUE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef RT_DEQUE_CAPACITY
#define RT_DEQUE_CAPACITY 256 // a power of 2
#endif

typedef struct RtJob RtJob;

typedef struct RtItem {
    RtJob *job;
    int64_t depth;
    int64_t begin, end; // what of the job it is; the deque does not look at it
} RtItem;

typedef struct RtSlot {
    atomic_uintptr_t job;
    atomic_int_least64_t depth, begin, end;
} RtSlot;

// Items top, top + 1, ..., bottom - 1, each in its number's slot modulo the capacity.
// All zeros: empty.
typedef struct RtDeque {
    alignas(64) atomic_int_least64_t top;    // only ever grows
    alignas(64) atomic_int_least64_t bottom; // written by the owner alone
    alignas(64) RtSlot slots[RT_DEQUE_CAPACITY];
} RtDeque;

// Owner only. False when it is full.
bool rt_deque_push(RtDeque *deque, RtItem item);
// Owner only. The item pushed last.
bool rt_deque_pop(RtDeque *deque, int64_t least_depth, RtItem *item_out);
// Owner only. How many items there are, or more, if some are just being stolen.
int64_t rt_deque_size(RtDeque *deque);

// Any thread. The item pushed first; false also when another thread was faster.
bool rt_deque_steal(RtDeque *deque, int64_t least_depth, RtItem *item_out);
// Any thread. Whether there is something to steal.
bool rt_deque_offers(RtDeque *deque, int64_t least_depth);

#endif
