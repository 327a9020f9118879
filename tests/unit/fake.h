// SPDX-License-Identifier: Apache-2.0
//
// What the false drivers share (fake_opencl.c, fake_cuda.c): libraries with the names
// of a real one, whose device is the host's memory. They count what they have given
// out, fail when told to, and run three kernels that they know by name.
#ifndef WEFT_TESTS_FAKE_H
#define WEFT_TESTS_FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi/gpu.h"

// Found by tests as `fake`.
typedef struct Fake {
    int calls;            // so far
    int waits;            // of these for what the device does
    int frees;            // of these of memory, for which a device waits as well
    int fail_at;          // that call fails; 0: none
    int error;            // with that
    int live;             // objects and blocks that were not given back
    int contexts;         // pushed and not popped
    uint64_t most_memory; // bytes that it has; 0: enough
} Fake;

extern Fake fake;

// Whether this call is to fail.
static inline bool fake_fails(void) {
    return ++fake.calls == fake.fail_at;
}

// Whether $FAKE_LACKS is that.
static inline bool fake_lacks(const char *what) {
    const char *lacks = getenv("FAKE_LACKS");
    return lacks != NULL && strcmp(lacks, what) == 0;
}

typedef struct FakeItem {
    uintptr_t heap;
    GpuControl *control;
    uint64_t *frame;
    uint64_t number, count; // of the work item, of all
} FakeItem;

static inline void *fake_at(const FakeItem *item, uint64_t address) {
    return (void *)(item->heap + (uintptr_t)address);
}

static inline void fake_record(const FakeItem *item, int64_t i, uint64_t value) {
    GpuControl *c = item->control;
    uint32_t turn = (uint32_t)(i - c->begin), place = c->fault_count++;
    if (turn < c->least) c->least = turn;
    if (place < GPU_FAULTS)
        c->faults[place] =
            (GpuFault){.turn = turn, .check = 5, .values = {value}, .call_count = 0};
}

// to[i] = from[i] + table[i % 4]
static inline void fake_add(const FakeItem *item, int64_t i) {
    const int32_t *from = fake_at(item, item->frame[0]);
    const int32_t *table = fake_at(item, item->control->tables);
    int32_t *to = fake_at(item, item->frame[1]);
    to[i] = from[i] + table[i % 4];
}

// Fails where from[i] < 0.
static inline void fake_check(const FakeItem *item, int64_t i) {
    const int32_t *from = fake_at(item, item->frame[0]);
    if (from[i] < 0) fake_record(item, i, (uint64_t)-from[i]);
}

// Wants that many bytes of private memory, and says how many items there are.
static inline void fake_private(const FakeItem *item, int64_t i) {
    GpuControl *c = item->control;
    (void)i;
    if (item->frame[0] > c->arena_bytes) c->is_short = 1;
    else
        memset(fake_at(item, c->arena + item->number * c->arena_bytes), 1,
               item->frame[0]);
    item->frame[1] = item->count;
}

typedef void FakeKernel(const FakeItem *item, int64_t i);

static inline FakeKernel *fake_kernel(const char *name) {
    if (strcmp(name, "weft_0_launch_0") == 0) return fake_add;
    if (strcmp(name, "weft_0_launch_1") == 0) return fake_check;
    if (strcmp(name, "weft_0_launch_2") == 0) return fake_private;
    return NULL;
}

static inline void fake_run(FakeKernel *kernel, uintptr_t heap, uint64_t control,
                            uint64_t count) {
    FakeItem item = {.heap = heap, .count = count};
    item.control = fake_at(&item, control);
    item.frame = fake_at(&item, item.control->frame);
    for (item.number = 0; item.number < count; item.number++)
        for (int64_t i = item.control->begin + (int64_t)item.number;
             i < item.control->end; i += (int64_t)count)
            kernel(&item, i);
}

#endif
