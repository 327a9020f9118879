// SPDX-License-Identifier: Apache-2.0
//
// Devices by their addresses, and what all kinds have in common: limits and counts.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include "base/clock.h"
#include "dev/kinds.h"

static const DeviceDriver *const drivers[] = {
    [DEVICE_CPU] = &cpu_driver,
    [DEVICE_OPENCL] = &opencl_driver,
    [DEVICE_CUDA] = &cuda_driver,
};
enum { DRIVER_COUNT = sizeof drivers / sizeof *drivers, MOST_DIGITS = 4 };

// Of the texts of all devices: what travels may fail beside other things.
static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER;

Status dev_fail(Device *device, Status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&failing);
    vsnprintf(device->why, sizeof device->why, format, args);
    pthread_mutex_unlock(&failing);
    va_end(args);
    return status;
}

Str dev_why(const Device *device, Arena *arena) {
    char why[DEVICE_WHY];
    pthread_mutex_lock(&failing);
    memcpy(why, device->why, sizeof why);
    pthread_mutex_unlock(&failing);
    return str_copy(arena, str_of(why));
}

void dev_begin(Device *device, Mem *mem, DeviceKind kind, int number,
               const DeviceOps *ops) {
    device->ops = ops;
    device->mem = mem;
    device->kind = kind;
    const char *name = drivers[kind]->name;
    if (number == DEVICE_NO_NUMBER)
        snprintf(device->address, DEVICE_ADDRESS, "%s", name);
    else snprintf(device->address, DEVICE_ADDRESS, "%s:%d", name, number);
}

// ---- finding and opening ------------------------------------------------------------

static const char *copy_text(Arena *arena, const char *text) {
    return str_terminated(arena, str_of(text));
}

void dev_list_gpu(Arena *arena, DeviceInfos *infos, uint32_t number, DeviceInfo info) {
    char address[DEVICE_ADDRESS];
    snprintf(address, sizeof address, "%s:%u", drivers[info.kind]->name, number);
    info.address = copy_text(arena, address);
    info.name = copy_text(arena, info.name);
    info.driver = copy_text(arena, info.driver);
    info.cannot = info.cannot[0] != '\0' ? copy_text(arena, info.cannot) : NULL;
    vec_push(arena, infos, info);
}

void dev_list_broken(Arena *arena, DeviceInfos *infos, DeviceKind kind,
                     const char *why) {
    DeviceInfo info = {
        .kind = kind, .address = drivers[kind]->name, .cannot = copy_text(arena, why)};
    vec_push(arena, infos, info);
}

uint32_t dev_list(Arena *arena, DeviceInfo **infos_out) {
    DeviceInfos infos = {0};
    for (size_t i = 0; i < DRIVER_COUNT; i++) drivers[i]->list(arena, &infos);
    *infos_out = infos.data;
    return infos.len;
}

void dev_processor(Arena *arena, DeviceInfo *info_out) {
    DeviceInfos infos = {0};
    cpu_driver.list(arena, &infos);
    *info_out = infos.data[0];
}

// "KIND:NUMBER", or "cpu".
static bool read_address(const char *address, DeviceKind *kind_out, int *number_out) {
    for (size_t i = 0; i < DRIVER_COUNT; i++) {
        size_t len = strlen(drivers[i]->name);
        if (strncmp(address, drivers[i]->name, len) != 0) continue;
        const char *number = address + len;
        *kind_out = (DeviceKind)i;
        *number_out = DEVICE_NO_NUMBER;
        if (*number == '\0') return i == DEVICE_CPU;
        if (*number++ != ':') continue;
        size_t digits = strspn(number, "0123456789");
        if (digits == 0 || digits > MOST_DIGITS || number[digits] != '\0') return false;
        *number_out = atoi(number);
        return true;
    }
    return false;
}

static Status open_device(Mem *mem, const char *address, Device **device_out,
                          char why[DEVICE_WHY]) {
    DeviceKind kind;
    int number;
    if (!read_address(address, &kind, &number)) {
        snprintf(why, DEVICE_WHY,
                 "`%.40s` is no device: write cpu, or the kind and the number of a "
                 "device, as in cpu:0, opencl:0 or cuda:0",
                 address);
        return STATUS_USAGE;
    }
    snprintf(why, DEVICE_WHY, "out of memory");
    return drivers[kind]->open(mem, number, device_out, why);
}

Status dev_open(Mem *mem, Arena *arena, const char *address, Device **device_out,
                Str *why_out) {
    char why[DEVICE_WHY];
    Status status = open_device(mem, address, device_out, why);
    if (status != STATUS_OK) *why_out = str_copy(arena, str_of(why));
    return status;
}

void dev_close(Device *device) {
    if (device != NULL) device->ops->close(device);
}

// ---- memory -------------------------------------------------------------------------

static bool is_beyond(const Device *device, size_t bytes) {
    size_t taken = device->counts.used + device->held;
    return device->limit != 0 &&
           (taken > device->limit || bytes > device->limit - taken);
}

static Status note_end(Device *device, Status status) {
    if (status == STATUS_IO) device->has_failed = true;
    return status;
}

static Status take_once(Device *device, size_t bytes, uint64_t *address_out) {
    if (is_beyond(device, bytes))
        return dev_fail(device, STATUS_MEMORY,
                        "%s: there is no room for %zu bytes within the limit of %zu",
                        device->address, bytes, device->limit);
    return note_end(device, device->ops->alloc(device, bytes, address_out));
}

static Status take(Device *device, size_t bytes, uint64_t *address_out) {
    Status status = take_once(device, bytes, address_out);
    if (status != STATUS_MEMORY || device->ops->trim == NULL) return status;
    device->ops->trim(device);
    return take_once(device, bytes, address_out);
}

Status dev_hold(Device *device, size_t bytes, uint64_t *address_out) {
    Status status = take(device, bytes, address_out);
    if (status == STATUS_OK) device->held += bytes;
    return status;
}

void dev_release(Device *device, uint64_t address, size_t bytes) {
    device->held -= bytes;
    device->ops->free(device, address, bytes);
}

Status dev_alloc(Device *device, size_t bytes, uint64_t *address_out) {
    Status status = take(device, bytes, address_out);
    if (status != STATUS_OK) return status;
    DeviceCounts *counts = &device->counts;
    counts->used += bytes;
    if (counts->used > counts->peak) counts->peak = counts->used;
    return STATUS_OK;
}

void dev_free(Device *device, uint64_t address, size_t bytes) {
    device->counts.used -= bytes;
    device->ops->free(device, address, bytes);
}

// Whether moving so many bytes takes longer than to tell others: to a launched device
// even few may have to wait.
static bool takes_long(const Device *device, size_t bytes) {
    enum { LEAST = 1 << 16 };
    return dev_has_launches(device) || bytes >= LEAST;
}

static Status move(Device *device, bool is_write, uint64_t at, void *host, size_t bytes,
                   const DeviceIdle *idle) {
    DeviceCounts *counts = &device->counts;
    const DeviceOps *ops = device->ops;
    if (bytes == 0) return STATUS_OK;
    if (idle != NULL && !takes_long(device, bytes)) idle = NULL;
    ++*(is_write ? &counts->writes : &counts->reads);
    *(is_write ? &counts->write_bytes : &counts->read_bytes) += bytes;
    uint64_t began = device->moved != NULL ? clock_ns() : 0;
    if (idle != NULL) idle->tell(idle->data, true);
    Status status = is_write ? ops->write(device, at, host, bytes)
                             : ops->read(device, host, at, bytes);
    if (idle != NULL) idle->tell(idle->data, false);
    note_end(device, status);
    if (device->moved != NULL) device->moved(device, is_write, bytes, began);
    return status;
}

Status dev_write_idle(Device *device, uint64_t to, const void *from, size_t bytes,
                      const DeviceIdle *idle) {
    return move(device, true, to, (void *)(uintptr_t)from, bytes, idle);
}

Status dev_read_idle(Device *device, void *to, uint64_t from, size_t bytes,
                     const DeviceIdle *idle) {
    return move(device, false, from, to, bytes, idle);
}

Status dev_write(Device *device, uint64_t to, const void *from, size_t bytes) {
    return dev_write_idle(device, to, from, bytes, NULL);
}

Status dev_read(Device *device, void *to, uint64_t from, size_t bytes) {
    return dev_read_idle(device, to, from, bytes, NULL);
}

Status dev_copy(Device *device, uint64_t to, uint64_t from, size_t bytes) {
    if (bytes == 0 || to == from) return STATUS_OK;
    return note_end(device, device->ops->copy(device, to, from, bytes));
}

// ---- code ---------------------------------------------------------------------------

bool dev_has_launches(const Device *device) {
    return device->ops->launch != NULL;
}

Status dev_build(Device *device, Str source, Str tables, const atomic_bool *cancel,
                 void **code_out) {
    return note_end(device,
                    device->ops->build(device, source, tables, cancel, code_out));
}

void dev_unload(Device *device, void *code) {
    if (code != NULL) device->ops->unload(device, code);
}

LaunchEnd dev_launch(Device *device, const DeviceLaunch *launch, GpuFault *fault_out) {
    LaunchEnd end = device->ops->launch(device, launch, fault_out);
    if (end == LAUNCH_BROKEN) device->has_failed = true;
    return end;
}

Status dev_settle(Device *device, const DeviceIdle *idle) {
    return note_end(device, device->ops->settle(device, idle));
}
