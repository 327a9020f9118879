// SPDX-License-Identifier: Apache-2.0
//
// A false CUDA driver with one device, and a false NVRTC (fake.h). Machine code is the
// text of a target, then that of the source.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>

#include "fake.h"

Fake fake;

#define FAIL_IF_TOLD                                                                   \
    if (fake_fails()) return fake.error
enum { INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, BAD_IMAGE = 200, NOT_FOUND = 500 };

// What was given out; what is left goes with the context.
enum { MOST_OBJECTS = 256 };
static void *objects[MOST_OBJECTS];

static void *make(size_t bytes) {
    void *object = aligned_alloc(256, (bytes + 256) / 256 * 256);
    objects[fake.live++] = object;
    return object;
}

static int drop(void *object) {
    for (int i = 0; i < fake.live; i++) {
        if (objects[i] != object) continue;
        objects[i] = objects[--fake.live];
        free(object);
        return fake_fails() ? fake.error : 0;
    }
    return INVALID;
}

// ---- the driver ---------------------------------------------------------------------

static char context;

int cuInit(unsigned flags) {
    FAIL_IF_TOLD;
    return flags == 0 ? 0 : INVALID;
}

int cuGetErrorName(int error, const char **name_out) {
    *name_out = error == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FALSE";
    return 0;
}

int cuDriverGetVersion(int *version_out) {
    FAIL_IF_TOLD;
    *version_out = 12040;
    return 0;
}

int cuDeviceGetCount(int *count_out) {
    FAIL_IF_TOLD;
    *count_out = fake_lacks("devices") ? 0 : 1;
    return 0;
}

int cuDeviceGet(int *device_out, int number) {
    FAIL_IF_TOLD;
    *device_out = 7;
    return number == 0 ? 0 : INVALID;
}

int cuDeviceGetName(char *name_out, int size, int device) {
    FAIL_IF_TOLD;
    snprintf(name_out, (size_t)size, "False GPU");
    return device == 7 ? 0 : INVALID;
}

int cuDeviceTotalMem_v2(size_t *bytes_out, int device) {
    FAIL_IF_TOLD;
    *bytes_out = (size_t)1 << 28;
    return device == 7 ? 0 : INVALID;
}

int cuDeviceGetAttribute(int *value_out, int attribute, int device) {
    enum { CORES = 16, MAJOR = 75, MINOR = 76 };
    FAIL_IF_TOLD;
    if (attribute == CORES) *value_out = 2;
    else if (attribute == MAJOR) *value_out = fake_lacks("youth") ? 3 : 9;
    else if (attribute == MINOR) *value_out = fake_lacks("target") ? 5 : 0;
    else return INVALID;
    return device == 7 ? 0 : INVALID;
}

int cuDevicePrimaryCtxRetain(void **context_out, int device) {
    FAIL_IF_TOLD;
    *context_out = &context;
    fake.contexts = 0;
    return device == 7 ? 0 : INVALID;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    while (fake.live > 0) free(objects[--fake.live]);
    FAIL_IF_TOLD;
    return device == 7 ? 0 : INVALID;
}

int cuCtxPushCurrent_v2(void *pushed) {
    FAIL_IF_TOLD;
    fake.contexts++;
    return pushed == &context ? 0 : INVALID;
}

int cuCtxPopCurrent_v2(void **context_out) {
    bool fails = fake_fails() || fake.contexts == 0;
    if (fake.contexts > 0) fake.contexts--;
    *context_out = &context;
    return fails ? fake.error : 0;
}

int cuMemAlloc_v2(unsigned long long *address_out, size_t bytes) {
    FAIL_IF_TOLD;
    if (fake.contexts != 1 || bytes == 0) return INVALID;
    if (fake.most_memory != 0 && bytes > fake.most_memory) return NO_MEMORY;
    *address_out = (uintptr_t)make(bytes);
    return 0;
}

int cuMemFree_v2(unsigned long long address) {
    fake.frees++;
    return drop((void *)(uintptr_t)address);
}

// The newest memory of the host that is locked.
static char *pinned;
static size_t pinned_bytes;

int cuMemAllocHost_v2(void **memory_out, size_t bytes) {
    FAIL_IF_TOLD;
    if (fake.contexts != 1) return INVALID;
    *memory_out = pinned = make(bytes);
    pinned_bytes = bytes;
    return 0;
}

int cuMemFreeHost(void *memory) {
    return drop(memory);
}

// Whether the copy is one that the host need not wait for, or has a stream of its own.
static bool is_fit(const void *host, size_t bytes, const void *stream) {
    bool is_pinned = pinned != NULL && (const char *)host >= pinned &&
                     (const char *)host + bytes <= pinned + pinned_bytes;
    return fake.contexts == 1 && (stream != NULL || is_pinned);
}

int cuStreamCreate(void **stream_out, unsigned flags) {
    FAIL_IF_TOLD;
    if (fake.contexts != 1 || flags != 1) return INVALID;
    *stream_out = make(0);
    return 0;
}

int cuStreamDestroy_v2(void *stream) {
    return drop(stream);
}

int cuStreamSynchronize(void *stream) {
    (void)stream;
    FAIL_IF_TOLD;
    fake.waits++;
    return fake.contexts == 1 ? 0 : INVALID;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                         void *stream) {
    FAIL_IF_TOLD;
    if (!is_fit(from, bytes, stream)) return INVALID;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes,
                         void *stream) {
    FAIL_IF_TOLD;
    if (!is_fit(to, bytes, stream)) return INVALID;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0;
}

int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                         void *stream) {
    FAIL_IF_TOLD;
    if (fake.contexts != 1 || stream == NULL) return INVALID;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return 0;
}

int cuModuleLoadData(void **module_out, const char *image) {
    FAIL_IF_TOLD;
    const char *target = fake_lacks("target") ? "compute_90\n" : "sm_90\n";
    if (fake.contexts != 1) return INVALID;
    if (strncmp(image, target, strlen(target)) != 0) return BAD_IMAGE;
    *module_out = make(0);
    return 0;
}

int cuModuleUnload(void *module) {
    return drop(module);
}

int cuModuleGetFunction(void **function_out, void *module, const char *name) {
    FAIL_IF_TOLD;
    FakeKernel *kernel = fake_kernel(name);
    (void)module;
    if (kernel == NULL) return NOT_FOUND;
    memcpy(function_out, &kernel, sizeof kernel);
    return 0;
}

int cuFuncGetAttribute(int *value_out, int attribute, void *function) {
    FAIL_IF_TOLD;
    *value_out = 100;
    return attribute == 0 && function != NULL ? 0 : INVALID;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_bytes, void *stream, void **arguments,
                   void **extra) {
    FAIL_IF_TOLD;
    bool is_flat = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
    bool is_plain = shared_bytes == 0 && stream == NULL && extra == NULL;
    uint64_t heap = *(uint64_t *)arguments[0], control = *(uint64_t *)arguments[1];
    FakeKernel *kernel;
    memcpy(&kernel, &function, sizeof kernel);
    if (!is_flat || !is_plain || grid_x == 0 || block_x == 0 || block_x > 100 ||
        heap != 0 || fake.contexts != 1)
        return INVALID;
    fake_run(kernel, 0, control, (uint64_t)grid_x * block_x);
    return 0;
}

// ---- the compiler -------------------------------------------------------------------

typedef struct Program {
    char source[64], target[64];
} Program;

const char *nvrtcGetErrorString(int error) {
    return error == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_FALSE";
}

int nvrtcVersion(int *major_out, int *minor_out) {
    FAIL_IF_TOLD;
    *major_out = 12;
    *minor_out = 3;
    return 0;
}

int nvrtcGetNumSupportedArchs(int *count_out) {
    FAIL_IF_TOLD;
    *count_out = 3;
    return 0;
}

int nvrtcGetSupportedArchs(int *targets_out) {
    static const int targets[] = {50, 90, 100};
    FAIL_IF_TOLD;
    memcpy(targets_out, targets, sizeof targets);
    return 0;
}

int nvrtcCreateProgram(Program **program_out, const char *source, const char *name,
                       int headers, const char *const *texts,
                       const char *const *names) {
    FAIL_IF_TOLD;
    if (name == NULL || headers != 0 || texts != NULL || names != NULL) return INVALID;
    *program_out = make(sizeof **program_out);
    **program_out = (Program){.source = ""};
    snprintf((*program_out)->source, sizeof(*program_out)->source, "%s", source);
    return 0;
}

int nvrtcDestroyProgram(Program **program) {
    int error = drop(*program);
    *program = NULL;
    return error;
}

int nvrtcCompileProgram(Program *program, int count, const char *const *options) {
    static const char target[] = "--gpu-architecture=";
    bool is_exact = true;
    FAIL_IF_TOLD;
    for (int i = 0; i < count; i++) {
        if (strncmp(options[i], target, strlen(target)) == 0)
            snprintf(program->target, sizeof program->target, "%s\n",
                     options[i] + strlen(target));
        is_exact &= strstr(options[i], "fast") == NULL;
    }
    return strncmp(program->source, "wrong", 5) == 0 || !is_exact ? 6 : 0;
}

int nvrtcGetProgramLogSize(Program *program, size_t *size_out) {
    (void)program;
    FAIL_IF_TOLD;
    *size_out = sizeof "this is wrong";
    return 0;
}

int nvrtcGetProgramLog(Program *program, char *log_out) {
    (void)program;
    FAIL_IF_TOLD;
    strcpy(log_out, "this is wrong");
    return 0;
}

static int get(const Program *program, const char *kind, char *out, size_t *size_out) {
    FAIL_IF_TOLD;
    if (strncmp(program->target, kind, strlen(kind)) != 0) return INVALID;
    if (size_out != NULL)
        *size_out = strlen(program->target) + strlen(program->source) + 1;
    if (out != NULL)
        memcpy(stpcpy(out, program->target), program->source,
               strlen(program->source) + 1);
    return 0;
}

int nvrtcGetCUBINSize(Program *program, size_t *size_out) {
    return get(program, "sm_", NULL, size_out);
}

int nvrtcGetCUBIN(Program *program, char *out) {
    return get(program, "sm_", out, NULL);
}

int nvrtcGetPTXSize(Program *program, size_t *size_out) {
    return get(program, "compute_", NULL, size_out);
}

int nvrtcGetPTX(Program *program, char *out) {
    return get(program, "compute_", out, NULL);
}
