// SPDX-License-Identifier: Apache-2.0
//
// Within the dev room: what GPUs have in common whatever their driver. A kind has a few
// primitive operations; code with its tables, the functions in it, and launches as
// abi/gpu.h says are made of them here.
#ifndef WEFT_DEV_GPU_H
#define WEFT_DEV_GPU_H

#include "dev/kinds.h"

typedef struct GpuDevice GpuDevice;
typedef struct GpuCode GpuCode;
typedef struct GpuFunction GpuFunction;

struct GpuFunction {
    GpuFunction *next;
    void *kernel;   // of the driver
    uint32_t group; // work items in a group, a power of two
    // Learned from launches:
    size_t arena_bytes; // of a work item, enough so far; 0: not known
    double rate;        // turns in a second; 0: not known
    char name[];
};

// Beside those of the device. What fails sets why.
typedef struct GpuOps {
    // Code from its text. *module is set once there is something to unload, and may be
    // so even if the call fails or unwinds. The arena is the call's.
    Status (*load)(GpuDevice *gpu, Arena *arena, Str source, const atomic_bool *cancel,
                   void **module);
    void (*unload)(GpuDevice *gpu, void *module);
    // Fills in kernel and group.
    Status (*find)(GpuDevice *gpu, void *module, GpuFunction *function);
    void (*forget)(GpuDevice *gpu, void *kernel); // NULL: need not
    // Begin what a device does at once, in order with what is started: after what came
    // before it. The host's side is in the staging memory, and ends with wait.
    Status (*write)(GpuDevice *gpu, uint64_t to, const void *from, size_t bytes);
    Status (*read)(GpuDevice *gpu, void *to, uint64_t from, size_t bytes);
    // Sees to it, if that can be, that so many bytes can be had while a launch is at
    // work. NULL: they can, if the device has as many.
    Status (*make_room)(GpuDevice *gpu, size_t bytes);
    // Starts so many work items in groups of so many, at once.
    Status (*start)(GpuDevice *gpu, const GpuFunction *function, uint64_t control,
                    uint64_t items, uint32_t group);
    // Waits for all that was begun so, and tells how it went.
    Status (*wait)(GpuDevice *gpu);
    // Memory of the host that transfers go from and to while that does something else;
    // NULL: there is none. Both are NULL where any memory is.
    void *(*pin)(GpuDevice *gpu, size_t bytes);
    void (*unpin)(GpuDevice *gpu, void *memory);
} GpuOps;

struct GpuDevice {
    Device base;
    const GpuOps *ops;
    uint64_t memory; // bytes
    unsigned cores;
    bool keeps_binaries; // in Weft's cache
    bool is_at_work;     // on a launch: until that ends its memory stays where it is
    uint64_t most_items; // beyond them a launch gets no faster; a power of two
    GpuCode *codes;
    // Kept from launch to launch:
    struct GpuBlock {
        uint64_t address;
        size_t bytes;
    } arguments, arena;
    char *staging; // the host's copy of arguments and of faults
    size_t staging_bytes;
    // Launches that nobody has waited for:
    size_t begun;         // bytes that their arguments take; 0: there are none
    double begun_seconds; // that they take, about
};

// Sets how many work items make sense.
void gpu_set_items(GpuDevice *gpu, unsigned cores, bool is_cpu);
// The size of groups: a power of two, at most either.
uint32_t gpu_group(uint32_t wanted, uint64_t most);
// Frees what these functions made; the device's memory need not be freed.
void gpu_close(GpuDevice *gpu);
void gpu_trim(Device *device);
Status gpu_build(Device *device, Str source, Str tables, const atomic_bool *cancel,
                 void **code_out);
void gpu_unload(Device *device, void *code);
LaunchEnd gpu_launch(Device *device, const DeviceLaunch *launch, GpuFault *fault_out);
Status gpu_settle(Device *device, const DeviceIdle *idle);

// Keeps what a compiler said in a file; NULL if there is no place for one.
const char *gpu_keep_log(Arena *arena, Str log);
// Cached code by what it was made from.
bool gpu_cache_read(Arena *arena, const Str *parts, uint32_t count, Str *binary_out);
void gpu_cache_write(Arena *arena, const Str *parts, uint32_t count, Str binary);

#endif
