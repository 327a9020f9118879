// SPDX-License-Identifier: Apache-2.0
//
// The device contract: an address space, and for GPUs code that runs on it. The cores of
// this machine are devices too: one whose memory is the host's, or several with memory of
// their own (cpu:I), whose code is called by the thread that asks (native.h).
//
// Threads: a device is used by one thread at a time, but for what DeviceIdle says. After
// a call that did not end well, dev_why says what happened, for people.
#ifndef WEFT_DEV_DEV_H
#define WEFT_DEV_DEV_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef enum DeviceKind { DEVICE_CPU, DEVICE_OPENCL, DEVICE_CUDA } DeviceKind;

enum { DEVICE_ADDRESS = 24, DEVICE_WHY = 512 };

// A device that is there, open or not. A driver that is there and has no devices, or
// that does not work, has one, too: its address has no number, it has no name, and
// `cannot` says why.
typedef struct DeviceInfo {
    DeviceKind kind;
    bool is_processor;    // this machine's processor itself, by whatever driver
    const char *address;  // "opencl:0"
    const char *name;     // of the hardware
    const char *driver;   // its name and version; NULL for CPUs
    const char *cannot;   // why kernels cannot run there (no f64...); NULL: they can
    unsigned cores;       // compute units
    uint64_t memory;      // bytes; 0: not known
} DeviceInfo;

// What has happened so far; the arguments of launches are not counted.
typedef struct DeviceCounts {
    uint64_t writes, write_bytes; // host to device
    uint64_t reads, read_bytes;   // device to host
    uint64_t launches, builds;    // builds: those that the cache did not spare
    size_t used, peak;            // bytes allocated
} DeviceCounts;

// Told before and after the host waits for the device. In between others may move
// elements, which may go on beside all that comes then, and, one at a time, take and free
// memory; launches are for one thread.
typedef struct DeviceIdle {
    void (*tell)(void *data, bool begins);
    void *data;
} DeviceIdle;

// What launches themselves take of the device's memory at least: for their arguments,
// from the first one on, and as private memory of a work item.
enum { DEVICE_LAUNCH_BYTES = 28 << 10, DEVICE_ITEM_BYTES = 1 << 10 };

// One launch of generated code (abi/gpu.h).
typedef struct DeviceLaunch {
    void *code;               // from dev_build
    const char *function;     // weft_j_launch_k
    int64_t turns;            // of a parallel loop; 1 for statements
    uint32_t team;            // work items that run a turn, as a group; 0: one
    const uint64_t *ins;      // slots; buffers as addresses
    uint32_t in_count;
    uint64_t *outs;           // filled in
    uint32_t out_count;
    bool has_private;         // wants private memory
    size_t room;              // bytes that others may want while it runs
    bool may_repeat;          // running a turn twice does no harm
    bool fails_alike;         // one that failed fails the same way when run again
    bool is_sure;             // cannot fail, and has no outs: it may end later (settle)
    const atomic_bool *cancel; // looked at now and then; may be NULL
    // Told after each part of a long launch: turns done. May be NULL.
    void (*progress)(void *data, int64_t done);
    void *data;
    const DeviceIdle *idle; // may be NULL
} DeviceLaunch;

typedef enum LaunchEnd {
    LAUNCH_OK,
    LAUNCH_FAULT,     // a check failed; see the fault (its check is -1 if it was lost)
    LAUNCH_MEMORY,    // private memory cannot be large enough
    LAUNCH_CANCELLED,
    LAUNCH_BROKEN     // the device failed
} LaunchEnd;

typedef struct GpuFault GpuFault; // abi/gpu.h

typedef struct Device Device;

// What a kind of device does. Those of CPUs have no code of their own: build, unload and
// launch are NULL.
typedef struct DeviceOps {
    void (*close)(Device *device); // frees it, whatever is still allocated on it
    Status (*alloc)(Device *device, size_t bytes, uint64_t *address_out);
    void (*free)(Device *device, uint64_t address, size_t bytes);
    Status (*write)(Device *device, uint64_t to, const void *from, size_t bytes);
    Status (*read)(Device *device, void *to, uint64_t from, size_t bytes);
    Status (*copy)(Device *device, uint64_t to, uint64_t from, size_t bytes);
    // Gives back what it holds for itself; NULL: that is nothing.
    void (*trim)(Device *device);
    // Code from the text of a file, and the constant tables that it uses.
    Status (*build)(Device *device, Str source, Str tables, const atomic_bool *cancel,
                    void **code_out);
    void (*unload)(Device *device, void *code);
    LaunchEnd (*launch)(Device *device, const DeviceLaunch *launch, GpuFault *fault_out);
    Status (*settle)(Device *device, const DeviceIdle *idle);
} DeviceOps;

struct Device {
    const DeviceOps *ops;
    Mem *mem;             // for what it needs of the host's memory
    DeviceKind kind;
    char address[DEVICE_ADDRESS];
    bool has_atomics_64;  // of 64 bits, besides those of 32
    size_t limit;         // bytes; 0: what the hardware has
    size_t held;          // bytes that it holds for itself, besides counts.used
    bool has_failed;      // once, but for memory: nothing on it is sure any more
    bool is_left;         // its arrays were taken off it: what still runs there is void
    DeviceCounts counts;
    // Told of each transfer, which began then (clock_ns). May be NULL.
    void (*moved)(Device *device, bool is_write, size_t bytes, uint64_t began);
    void *data;           // of whoever set that
    char why[DEVICE_WHY];
};

// ---- finding and opening ------------------------------------------------------------

// Lists what this machine has: cpu first, then GPUs by their drivers, where these can be
// opened; in the arena.
uint32_t dev_list(Arena *arena, DeviceInfo **infos_out);
// The first of them, without opening a driver.
void dev_processor(Arena *arena, DeviceInfo *info_out);
// Opens a device by its address ("cpu", "cpu:1", "opencl:0", "cuda:0"). STATUS_USAGE: there
// is none, or it cannot run kernels; STATUS_MEMORY; STATUS_IO: its driver fails.
// *why_out: in the arena.
Status dev_open(Mem *mem, Arena *arena, const char *address, Device **device_out,
                Str *why_out);
void dev_close(Device *device); // NULL is ignored
// What failed last, in the arena.
Str dev_why(const Device *device, Arena *arena);

// ---- memory -------------------------------------------------------------------------

// STATUS_MEMORY beyond the limit or when the device has no more. 0 bytes are fine.
Status dev_alloc(Device *device, size_t bytes, uint64_t *address_out);
void dev_free(Device *device, uint64_t address, size_t bytes);
Status dev_write(Device *device, uint64_t to, const void *from, size_t bytes);
Status dev_read(Device *device, void *to, uint64_t from, size_t bytes);
// The same, telling idle, unless NULL, if it may take a while.
Status dev_write_idle(Device *device, uint64_t to, const void *from, size_t bytes,
                      const DeviceIdle *idle);
Status dev_read_idle(Device *device, void *to, uint64_t from, size_t bytes,
                     const DeviceIdle *idle);
Status dev_copy(Device *device, uint64_t to, uint64_t from, size_t bytes);

// ---- code ---------------------------------------------------------------------------

// Whether kernels are launched on it rather than called.
bool dev_has_launches(const Device *device);
Status dev_build(Device *device, Str source, Str tables, const atomic_bool *cancel,
                 void **code_out);
void dev_unload(Device *device, void *code); // NULL is ignored
// One that is sure may still be at work then. Launches come after it; before anything that
// they use is moved or freed, dev_settle waits for all of them.
LaunchEnd dev_launch(Device *device, const DeviceLaunch *launch, GpuFault *fault_out);
Status dev_settle(Device *device, const DeviceIdle *idle); // idle may be NULL

#endif
