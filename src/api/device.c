// SPDX-License-Identifier: Apache-2.0
//
// What programs can run on, for people to choose from.
#include <string.h>

#include "api/api.h"
#include "dev/dev.h"

_Static_assert((int)WEFT_DEVICE_CPU == (int)DEVICE_CPU &&
                   (int)WEFT_DEVICE_OPENCL == (int)DEVICE_OPENCL &&
                   (int)WEFT_DEVICE_CUDA == (int)DEVICE_CUDA,
               "weft.h and dev.h must agree");

static WeftStatus count_devices(WeftContext *context, void *count_out) {
    DeviceInfo *infos;
    *(size_t *)count_out = dev_list(&context->scratch, &infos);
    return WEFT_STATUS_OK;
}

size_t weft_device_count(WeftContext *context) {
    size_t count = 1;
    if (context == NULL) return 0;
    api_guard(context, API_KEEPS, count_devices, &count);
    return count;
}

typedef struct DeviceCall {
    size_t index;
    WeftDevice *out;
} DeviceCall;

static WeftStatus describe(WeftContext *context, void *data) {
    const DeviceCall *call = data;
    DeviceInfo first, *infos = &first;
    uint32_t count = 1;
    if (call->index == 0) dev_processor(&context->scratch, &first);
    else count = dev_list(&context->scratch, &infos);
    if (call->index >= count)
        return api_fail(context, WEFT_STATUS_USAGE, "there is no such device");
    const DeviceInfo *info = &infos[call->index];
    WeftDevice device = {.struct_size = call->out->struct_size,
                         .kind = (WeftDeviceKind)info->kind,
                         .address = info->address,
                         .name = info->name,
                         .cores = info->cores,
                         .memory = info->memory,
                         .driver = info->driver,
                         .cannot = info->cannot};
    size_t size =
        device.struct_size < sizeof device ? device.struct_size : sizeof device;
    memcpy(call->out, &device, size);
    return WEFT_STATUS_OK;
}

WeftStatus weft_device_info(WeftContext *context, size_t index,
                            WeftDevice *device_out) {
    if (context == NULL || device_out == NULL || device_out->struct_size == 0)
        return WEFT_STATUS_USAGE;
    DeviceCall call = {index, device_out};
    return api_guard(context, API_KEEPS, describe, &call);
}
