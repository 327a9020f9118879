// SPDX-License-Identifier: Apache-2.0
//
// Within the dev room: what dev.c knows of each kind of device, and what kinds share.
#ifndef WEFT_DEV_KINDS_H
#define WEFT_DEV_KINDS_H

#include "dev/dev.h"

enum { DEVICE_NO_NUMBER = -1 }; // of the address "cpu"

typedef struct DeviceInfos {
    DeviceInfo *data;
    uint32_t len, cap;
} DeviceInfos;

typedef struct DeviceDriver {
    const char *name; // addresses begin so
    // Adds what there is, in the order of the numbers in addresses.
    void (*list)(Arena *arena, DeviceInfos *infos);
    // Else why_out says what is the matter; it is "out of memory" before.
    Status (*open)(Mem *mem, int number, Device **device_out, char why_out[DEVICE_WHY]);
} DeviceDriver;

extern const DeviceDriver cpu_driver, opencl_driver, cuda_driver;

// Fills in a new device's part that is common to all.
void dev_begin(Device *device, Mem *mem, DeviceKind kind, int number,
               const DeviceOps *ops);
// Adds a GPU, without its address; the texts are copied, and an empty `cannot` is none.
void dev_list_gpu(Arena *arena, DeviceInfos *infos, uint32_t number, DeviceInfo info);
// Adds a driver that has no devices, or does not work.
void dev_list_broken(Arena *arena, DeviceInfos *infos, DeviceKind kind,
                     const char *why);

// Memory that a device takes for itself: as dev_alloc and dev_free, but counted as
// held.
Status dev_hold(Device *device, size_t bytes, uint64_t *address_out);
void dev_release(Device *device, uint64_t address, size_t bytes);
// Sets device->why and returns the status.
Status dev_fail(Device *device, Status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
