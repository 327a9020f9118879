// SPDX-License-Identifier: Apache-2.0
//
// What programs can run on: today the processor alone.
#define _DEFAULT_SOURCE
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/api.h"
#include "base/thread.h"

// The value of a line "KEY : VALUE" of /proc/cpuinfo, or "".
static Str cpu_line(Str text, const char *key) {
    size_t len = strlen(key);
    for (size_t at = 0; at < text.len;) {
        const char *line = text.ptr + at;
        const char *end = memchr(line, '\n', text.len - at);
        size_t size = end != NULL ? (size_t)(end - line) : text.len - at;
        at += size + 1;
        if (size < len || memcmp(line, key, len) != 0) continue;
        const char *colon = memchr(line, ':', size);
        if (colon == NULL) continue;
        for (colon++; colon < line + size && *colon == ' '; colon++) continue;
        return (Str){colon, (size_t)(line + size - colon)};
    }
    return STR("");
}

static const char *cpu_name(Arena *arena) {
    Str text, name = STR("");
    const char *why;
    if (api_read_file(arena, "/proc/cpuinfo", &text, &why))
        name = cpu_line(text, "model name");
    struct utsname system;
    if (name.len == 0 && uname(&system) == 0) name = str_of(system.machine);
    return str_terminated(arena, name.len != 0 ? name : STR("CPU"));
}

typedef struct DeviceCall {
    size_t index;
    WeftDevice *out;
} DeviceCall;

static WeftStatus describe(WeftContext *context, void *data) {
    const DeviceCall *call = data;
    if (call->index >= weft_device_count(context))
        return api_fail(context, WEFT_STATUS_USAGE, "there is no such device");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    WeftDevice device = {.struct_size = call->out->struct_size,
                         .kind = WEFT_DEVICE_CPU,
                         .address = "cpu",
                         .name = cpu_name(&context->scratch),
                         .cores = thread_cores()};
    if (pages > 0 && page > 0) device.memory = (uint64_t)pages * (uint64_t)page;
    size_t size =
        device.struct_size < sizeof device ? device.struct_size : sizeof device;
    memcpy(call->out, &device, size);
    return WEFT_STATUS_OK;
}

size_t weft_device_count(WeftContext *context) {
    return context == NULL ? 0 : 1;
}

WeftStatus weft_device_info(WeftContext *context, size_t index,
                            WeftDevice *device_out) {
    if (context == NULL || device_out == NULL || device_out->struct_size == 0)
        return WEFT_STATUS_USAGE;
    DeviceCall call = {index, device_out};
    return api_guard(context, API_KEEPS, describe, &call);
}
