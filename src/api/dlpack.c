// SPDX-License-Identifier: Apache-2.0
//
// DLPack tensors in and out. A tensor that goes out holds on to the context's memory,
// though not to its programs and values, until its deleter is called.
#include "api/dlpack.h"

#include <string.h>

#include "api/api.h"

// ---- types --------------------------------------------------------------------------

static uint8_t code_of(ScalarType type) {
    switch (scalar_info[type].class) {
    case CLASS_BOOLEAN: return DL_BOOL;
    case CLASS_SIGNED: return DL_INT;
    case CLASS_UNSIGNED: return DL_UINT;
    case CLASS_FLOAT: return DL_FLOAT;
    }
    return DL_INT;
}

static bool find_type(const DlTensor *tensor, ScalarType *type_out) {
    for (int t = 0; t < SCALAR_COUNT; t++) {
        ScalarType type = (ScalarType)t;
        if (code_of(type) != tensor->dtype.code || tensor->dtype.lanes != 1 ||
            8 * scalar_info[type].bytes != tensor->dtype.bits)
            continue;
        *type_out = type;
        return true;
    }
    return false;
}

// ---- in -----------------------------------------------------------------------------

static void delete_plain(void *data) {
    struct DLManagedTensor *tensor = data;
    if (tensor->deleter != NULL) tensor->deleter(tensor);
}

static void delete_versioned(void *data) {
    struct DLManagedTensorVersioned *tensor = data;
    if (tensor->deleter != NULL) tensor->deleter(tensor);
}

typedef struct RefuseCall {
    const DlTensor *tensor;
    uint32_t major; // of an unknown version; else 0
} RefuseCall;

static WeftStatus refuse(WeftContext *context, void *data) {
    const RefuseCall *call = data;
    if (call->major != 0)
        return api_fail(context, WEFT_STATUS_VALUE,
                        "a tensor of DLPack's version %u; known is version 1",
                        call->major);
    const DlTensor *tensor = call->tensor;
    if (tensor->device_type != DL_CPU && tensor->device_type != DL_CUDA_HOST)
        return api_fail(context, WEFT_STATUS_VALUE,
                        "the tensor is not in the memory of the CPU but on a device of "
                        "DLPack's type %d",
                        (int)tensor->device_type);
    return api_fail(context, WEFT_STATUS_VALUE,
                    "Weft has no elements of DLPack's code %u, %u bits, %u lanes",
                    (unsigned)tensor->dtype.code, (unsigned)tensor->dtype.bits,
                    (unsigned)tensor->dtype.lanes);
}

static WeftStatus from_tensor(WeftContext *context, const DlTensor *tensor,
                              void (*release)(void *data), void *data,
                              WeftValue **value_out) {
    ScalarType type;
    bool is_here = tensor->device_type == DL_CPU || tensor->device_type == DL_CUDA_HOST;
    if (!is_here || !find_type(tensor, &type))
        return api_guard(context, API_KEEPS, refuse, &(RefuseCall){.tensor = tensor});
    const char *at = tensor->data;
    if (at != NULL) at += tensor->byte_offset;
    size_t rank = tensor->ndim < 0 ? SIZE_MAX : (size_t)tensor->ndim;
    if (rank > 0)
        return weft_value_borrow(context, (WeftScalar)type, rank, tensor->shape,
                                 tensor->strides, at, release, data, value_out);
    WeftStatus status =
        weft_value_new(context, (WeftScalar)type, 0, NULL, at, value_out);
    if (status == WEFT_STATUS_OK) release(data);
    return status;
}

WeftStatus weft_value_from_dlpack(WeftContext *context, struct DLManagedTensor *tensor,
                                  WeftValue **value_out) {
    if (context == NULL || tensor == NULL || value_out == NULL)
        return WEFT_STATUS_USAGE;
    return from_tensor(context, &tensor->dl_tensor, delete_plain, tensor, value_out);
}

WeftStatus weft_value_from_dlpack_versioned(WeftContext *context,
                                            struct DLManagedTensorVersioned *tensor,
                                            WeftValue **value_out) {
    if (context == NULL || tensor == NULL || value_out == NULL)
        return WEFT_STATUS_USAGE;
    if (tensor->version.major != 1)
        return api_guard(context, API_KEEPS, refuse,
                         &(RefuseCall){.major = tensor->version.major});
    return from_tensor(context, &tensor->dl_tensor, delete_versioned, tensor,
                       value_out);
}

// ---- out ----------------------------------------------------------------------------

typedef struct Export {
    WeftContext *context;
    ApiDrop drop;
    RtArray *array; // a view of its own; NULL: a scalar, in `scalar`
    uint64_t scalar;
    union {
        struct DLManagedTensor plain;
        struct DLManagedTensorVersioned versioned;
    } as;
} Export;

static void destroy_export(void *what) {
    Export *export = what;
    WeftContext *context = export->context;
    rt_release(&context->heap, export->array);
    mem_free(&context->mem, export, sizeof *export);
    context->holders--;
}

static void delete_export(Export *export) {
    export->drop = (ApiDrop){.destroy = destroy_export, .what = export};
    api_drop(export->context, &export->drop);
}

static void delete_plain_export(struct DLManagedTensor *self) {
    if (self != NULL) delete_export(self->manager_ctx);
}

static void delete_versioned_export(struct DLManagedTensorVersioned *self) {
    if (self != NULL) delete_export(self->manager_ctx);
}

static DlTensor tensor_of(Export *export, const RtValue *leaf) {
    DlTensor tensor = {.device_type = DL_CPU, .data = &export->scalar};
    tensor.dtype.code = code_of(leaf->elem);
    tensor.dtype.bits = (uint8_t)(8 * scalar_info[leaf->elem].bytes);
    tensor.dtype.lanes = 1;
    if (leaf->rank == 0) {
        rt_store(leaf->elem, (char *)&export->scalar, leaf->bits);
        return tensor;
    }
    tensor.data = export->array->data;
    tensor.ndim = (int32_t)leaf->rank;
    tensor.shape = export->array->shape;
    tensor.strides = export->array->strides;
    return tensor;
}

typedef struct ExportCall {
    const WeftValue *value;
    bool is_versioned;
    Export *made;
} ExportCall;

static WeftStatus export_value(WeftContext *context, void *data) {
    ExportCall *call = data;
    if (!weft_value_is_array(call->value))
        return api_fail(context, WEFT_STATUS_USAGE, "a %s is no array of scalars",
                        weft_value_type(call->value));
    const RtValue *leaf = &call->value->leaves[0];
    RtArray *a = leaf->rank == 0 ? NULL : leaf->array, *view = NULL;
    if (a != NULL)
        view = rt_view(&context->heap, a, a->data, a->rank, a->shape, a->strides);
    if (a != NULL && view == NULL) mem_fail(&context->mem);
    Export *export = mem_alloc(&context->mem, sizeof *export);
    *export = (Export){.context = context, .array = view};
    DlTensor tensor = tensor_of(export, leaf);
    if (call->is_versioned) {
        export->as.versioned = (struct DLManagedTensorVersioned){
            .version = {1, 0},
            .manager_ctx = export,
            .deleter = delete_versioned_export,
            .flags = DL_READ_ONLY,
            .dl_tensor = tensor,
        };
    } else {
        export->as.plain = (struct DLManagedTensor){
            .dl_tensor = tensor, .manager_ctx = export, .deleter = delete_plain_export};
    }
    context->holders++;
    call->made = export;
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_to_dlpack(WeftValue *value, struct DLManagedTensor **tensor_out) {
    if (value == NULL || tensor_out == NULL) return WEFT_STATUS_USAGE;
    ExportCall call = {.value = value};
    WeftStatus status = api_guard(value->context, API_KEEPS, export_value, &call);
    if (status == WEFT_STATUS_OK) *tensor_out = &call.made->as.plain;
    return status;
}

WeftStatus
weft_value_to_dlpack_versioned(WeftValue *value,
                               struct DLManagedTensorVersioned **tensor_out) {
    if (value == NULL || tensor_out == NULL) return WEFT_STATUS_USAGE;
    ExportCall call = {.value = value, .is_versioned = true};
    WeftStatus status = api_guard(value->context, API_KEEPS, export_value, &call);
    if (status == WEFT_STATUS_OK) *tensor_out = &call.made->as.versioned;
    return status;
}
