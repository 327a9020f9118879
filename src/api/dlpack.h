// SPDX-License-Identifier: Apache-2.0
//
// The structs of DLPack as its specification lays them out: the plain one of versions
// before 1.0, and the versioned one. Programs that use Weft include dlpack.h instead.
#ifndef WEFT_API_DLPACK_H
#define WEFT_API_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1, DL_CUDA_HOST = 3 };                       // device types we can read
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BOOL = 6 }; // type codes of ours
enum { DL_READ_ONLY = 1 };                                   // a flag

typedef struct DlTensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; // in elements; NULL: row-major
    uint64_t byte_offset;
} DlTensor;

struct DLManagedTensor {
    DlTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DlTensor dl_tensor;
};

#endif
