// SPDX-License-Identifier: Apache-2.0
//
// How the runtime and generated code for GPUs call each other (OpenCL, CUDA). This text
// is also in the head of every generated file, where the types have been defined.
//
// A kernel is run from outside in launches (loop/launch.h). The function of launch k of
// kernel j is weft_j_launch_k; its only arguments are `heap` and the address of a GpuControl.
// An address is a number; what lies there is heap + address. Devices with one address
// for everything hand over a heap of 0. Addresses are multiples of 8.
#ifndef WEFT_ABI_GPU_H
#define WEFT_ABI_GPU_H

#ifndef WEFT_GPU_CODE
#include <stdint.h>
#endif

enum { GPU_FAULTS = 64, GPU_FAULT_VALUES = 16, GPU_FAULT_CALLS = 60 };

#define GPU_NONE 0xffffffffu

// A check that failed in some turn, as KernelFault in kernel.h.
typedef struct GpuFault {
    uint32_t turn;  // counted from `begin`
    uint32_t inner; // of a team's item: which turn of a loop within; else 0
    int32_t check;
    int32_t call_count;
    int32_t calls[GPU_FAULT_CALLS];
    uint64_t values[GPU_FAULT_VALUES];
} GpuFault;

// What a launch is given, and what it leaves. Work item i of w runs the turns begin + i,
// begin + i + w, ... below end, unless a turn before them is known to have failed. A
// launch of statements is one work item, with a single turn 0. Where teams run turns
// together (loop/launch.h), a team is a group of work items, and team i of w runs these.
typedef struct GpuControl {
    int64_t begin, end;   // turns, at most 2^31
    uint64_t frame;       // address of its slots: what comes in, then what goes out
    uint64_t tables;      // address of the constant tables of the file
    uint64_t arena;       // address of private memory; work item i has
    uint64_t arena_bytes; // arena_bytes from arena + i * arena_bytes on
    // Left by the launch:
    uint32_t least;       // the least turn that failed; GPU_NONE before
    uint32_t fault_count; // places in faults asked for, of which only GPU_FAULTS exist
    uint32_t is_short;    // 1: private memory ran out in some turn
    uint32_t unused;
    GpuFault faults[GPU_FAULTS];
} GpuControl;

#endif
