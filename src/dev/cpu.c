// SPDX-License-Identifier: Apache-2.0
//
// The cores of this machine as devices: "cpu", and "cpu:I", one of several that stand
// for devices with memory of their own. There, memory that is new or freed begins with
// nothing but the byte 0xA5, so that reading what was never transferred shows.
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/thread.h"
#include "dev/kinds.h"

// Of so many bytes of a block at most: all of a small one, and no time for a large one.
enum { POISON = 0xA5, MOST_POISON = 1 << 16 };

typedef struct CpuDevice {
    Device base;
    bool is_apart; // "cpu:I"
} CpuDevice;

static void *pointer(uint64_t address) {
    return (void *)(uintptr_t)address;
}

static void poison(Device *device, void *block, size_t bytes) {
    size_t most = bytes < MOST_POISON ? bytes : MOST_POISON;
    if (((CpuDevice *)device)->is_apart) memset(block, POISON, most);
}

static void close_device(Device *device) {
    mem_free(device->mem, device, sizeof(CpuDevice));
}

static Status alloc(Device *device, size_t bytes, uint64_t *address_out) {
    void *block = mem_try_alloc(device->mem, bytes);
    if (block == NULL)
        return dev_fail(device, STATUS_MEMORY, "%s: there is no memory for %zu bytes",
                        device->address, bytes);
    poison(device, block, bytes);
    *address_out = (uintptr_t)block;
    return STATUS_OK;
}

static void give_back(Device *device, uint64_t address, size_t bytes) {
    poison(device, pointer(address), bytes);
    mem_free(device->mem, pointer(address), bytes);
}

static Status write_bytes(Device *device, uint64_t to, const void *from, size_t bytes) {
    (void)device;
    memcpy(pointer(to), from, bytes);
    return STATUS_OK;
}

static Status read_bytes(Device *device, void *to, uint64_t from, size_t bytes) {
    (void)device;
    memcpy(to, pointer(from), bytes);
    return STATUS_OK;
}

static Status copy_bytes(Device *device, uint64_t to, uint64_t from, size_t bytes) {
    (void)device;
    memcpy(pointer(to), pointer(from), bytes);
    return STATUS_OK;
}

static const DeviceOps cpu_ops = {
    .close = close_device,
    .alloc = alloc,
    .free = give_back,
    .write = write_bytes,
    .read = read_bytes,
    .copy = copy_bytes,
};

static Status open_cpu(Mem *mem, int number, Device **device_out,
                       char why_out[DEVICE_WHY]) {
    (void)why_out;
    CpuDevice *device = mem_try_alloc(mem, sizeof *device);
    if (device == NULL) return STATUS_MEMORY;
    *device = (CpuDevice){.is_apart = number != DEVICE_NO_NUMBER};
    dev_begin(&device->base, mem, DEVICE_CPU, number, &cpu_ops);
    *device_out = &device->base;
    return STATUS_OK;
}

// ---- what it is ---------------------------------------------------------------------

// The value of a line "KEY : VALUE" of /proc/cpuinfo; false if there is none.
static bool find_line(const char *key, char *out, size_t size) {
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) return false;
    char line[1024];
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || colon == NULL) continue;
        colon += 1 + strspn(colon + 1, " ");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(out, size, "%s", colon);
        found = out[0] != '\0';
    }
    fclose(file);
    return found;
}

static void list_cpu(Arena *arena, DeviceInfos *infos) {
    char name[256];
    struct utsname system;
    if (!find_line("model name", name, sizeof name))
        snprintf(name, sizeof name, "%s", uname(&system) == 0 ? system.machine : "CPU");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    bool is_known = pages > 0 && page > 0;
    DeviceInfo info = {.kind = DEVICE_CPU,
                       .is_processor = true,
                       .address = "cpu",
                       .name = str_terminated(arena, str_of(name)),
                       .cores = thread_cores(),
                       .memory = is_known ? (uint64_t)pages * (uint64_t)page : 0};
    vec_push(arena, infos, info);
}

const DeviceDriver cpu_driver = {"cpu", list_cpu, open_cpu};
