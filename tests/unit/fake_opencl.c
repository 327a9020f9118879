// SPDX-License-Identifier: Apache-2.0
//
// A false OpenCL loader with one platform and one device (fake.h).
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

Fake fake;

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

typedef struct Object { // whatever it is
    FakeKernel *kernel;
    struct Object *heap; // arguments of a kernel
    uint64_t control;
    size_t bytes;
    bool is_wrong;              // a program with errors
    _Alignas(16) char memory[]; // of a buffer
} Object;

#define FAIL_IF_TOLD                                                                   \
    if (fake_fails()) return fake.error
#define FAIL_IF_TOLD_TO(error_out)                                                     \
    if ((*(error_out) = fake_fails() ? fake.error : CL_SUCCESS) != CL_SUCCESS)         \
    return NULL

static Object *make(size_t bytes) {
    Object *object = malloc(sizeof *object + bytes);
    *object = (Object){.bytes = bytes};
    fake.live++;
    return object;
}

static cl_int drop(void *object) {
    bool fails = fake_fails();
    free(object);
    fake.live--;
    return fails ? fake.error : CL_SUCCESS;
}

// Answers a question with these bytes.
static cl_int answer(const void *from, size_t bytes, size_t room, void *to,
                     size_t *size_out) {
    if (size_out != NULL) *size_out = bytes;
    if (to == NULL) return CL_SUCCESS;
    if (room < bytes) return CL_INVALID_VALUE;
    memcpy(to, from, bytes);
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t room, void *to, size_t *size_out) {
    return answer(text, strlen(text) + 1, room, to, size_out);
}

#define ANSWER(type, value) answer(&(type){value}, sizeof(type), room, to, size_out)

// ---- what there is ------------------------------------------------------------------

static char platform, device;

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *ids, cl_uint *count_out) {
    enum { NO_PLATFORMS = -1001 };
    FAIL_IF_TOLD;
    if (fake_lacks("patience") && getenv("OCL_ICD_VENDORS") == NULL) abort();
    if (fake_lacks("platforms") || fake_lacks("patience")) return NO_PLATFORMS;
    if (ids != NULL && room > 0) ids[0] = (cl_platform_id)(void *)&platform;
    if (count_out != NULL) *count_out = 1;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t room,
                         void *to, size_t *size_out) {
    (void)id, (void)what;
    FAIL_IF_TOLD;
    return answer_text("False Platform", room, to, size_out);
}

cl_int clGetDeviceIDs(cl_platform_id id, cl_device_type type, cl_uint room,
                      cl_device_id *ids, cl_uint *count_out) {
    (void)id, (void)type;
    FAIL_IF_TOLD;
    if (fake_lacks("devices")) return CL_DEVICE_NOT_FOUND;
    if (ids != NULL && room > 0) ids[0] = (cl_device_id)(void *)&device;
    if (count_out != NULL) *count_out = 1;
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t room, void *to,
                       size_t *size_out) {
    (void)id;
    FAIL_IF_TOLD;
    cl_device_fp_config all =
        CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_FMA | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    if (fake_lacks("denormals")) all &= ~(cl_device_fp_config)CL_FP_DENORM;
    if (fake_lacks("fma")) all &= ~(cl_device_fp_config)CL_FP_FMA;
    if (fake_lacks("infinities")) all &= ~(cl_device_fp_config)CL_FP_INF_NAN;
    if (fake_lacks("rounding"))
        all &= ~(cl_device_fp_config)CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    switch (what) {
    case CL_DEVICE_NAME: return answer_text("  False\nDevice ", room, to, size_out);
    case CL_DRIVER_VERSION: return answer_text("1.0", room, to, size_out);
    case CL_DEVICE_VERSION:
        return answer_text(fake_lacks("version") ? "OpenCL 1.1 x" : "OpenCL 1.2 x",
                           room, to, size_out);
    case CL_DEVICE_TYPE: return ANSWER(cl_device_type, CL_DEVICE_TYPE_GPU);
    case CL_DEVICE_MAX_COMPUTE_UNITS: return ANSWER(cl_uint, 2);
    case CL_DEVICE_GLOBAL_MEM_SIZE: return ANSWER(cl_ulong, (cl_ulong)1 << 26);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return ANSWER(cl_ulong, (cl_ulong)1 << 26);
    case CL_DEVICE_SINGLE_FP_CONFIG: return ANSWER(cl_device_fp_config, all);
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        return ANSWER(cl_device_fp_config, fake_lacks("f64") ? 0 : all);
    case CL_DEVICE_COMPILER_AVAILABLE: return ANSWER(cl_bool, !fake_lacks("compiler"));
    case CL_DEVICE_AVAILABLE: return ANSWER(cl_bool, !fake_lacks("availability"));
    case CL_DEVICE_ENDIAN_LITTLE: return ANSWER(cl_bool, !fake_lacks("endianness"));
    case CL_DEVICE_ADDRESS_BITS:
        return ANSWER(cl_uint, fake_lacks("addresses") ? 32 : 64);
    case CL_DEVICE_EXTENSIONS:
        return answer_text(fake_lacks("atomics")
                               ? "cl_khr_fp64 cl_khr_int64_base_atomics"
                               : "cl_khr_int64_extended_atomics cl_khr_fp64 "
                                 "cl_khr_int64_base_atomics",
                           room, to, size_out);
    default: return CL_INVALID_VALUE;
    }
}

// ---- contexts, queues, memory -------------------------------------------------------

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *ids,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                     void *),
                           void *data, cl_int *error_out) {
    (void)properties, (void)count, (void)ids, (void)notify, (void)data;
    FAIL_IF_TOLD_TO(error_out);
    return (cl_context)(void *)make(0);
}

cl_int clReleaseContext(cl_context context) {
    return drop(context);
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id id,
                                      cl_command_queue_properties properties,
                                      cl_int *error_out) {
    (void)context, (void)id, (void)properties;
    FAIL_IF_TOLD_TO(error_out);
    return (cl_command_queue)(void *)make(0);
}

cl_int clReleaseCommandQueue(cl_command_queue queue) {
    return drop(queue);
}

cl_int clFlush(cl_command_queue queue) {
    (void)queue;
    FAIL_IF_TOLD;
    return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue queue) {
    (void)queue;
    FAIL_IF_TOLD;
    fake.waits++;
    return CL_SUCCESS;
}

// An event is an object that is there until it is released.
cl_int clWaitForEvents(cl_uint count, const cl_event *events) {
    FAIL_IF_TOLD;
    fake.waits++;
    return count == 1 && events[0] != NULL ? CL_SUCCESS : CL_INVALID_VALUE;
}

cl_int clReleaseEvent(cl_event event) {
    return drop(event);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *from,
                      cl_int *error_out) {
    (void)context, (void)flags, (void)from;
    FAIL_IF_TOLD_TO(error_out);
    if (fake.most_memory != 0 && size > fake.most_memory) {
        *error_out = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    return (cl_mem)(void *)make(size);
}

cl_int clReleaseMemObject(cl_mem memory) {
    return drop(memory);
}

static char *place(cl_mem memory, size_t at, size_t size) {
    Object *object = (Object *)(void *)memory;
    return size > 0 && at <= object->bytes && size <= object->bytes - at
               ? object->memory + at
               : NULL;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool waits,
                           size_t at, size_t size, void *to, cl_uint count,
                           const cl_event *events, cl_event *event) {
    (void)queue, (void)count, (void)events;
    FAIL_IF_TOLD;
    fake.waits += waits == CL_TRUE;
    const char *from = place(memory, at, size);
    if (from == NULL || (waits == CL_FALSE) != (event != NULL)) return CL_INVALID_VALUE;
    memcpy(to, from, size);
    if (event != NULL) *event = (cl_event)(void *)make(0);
    return CL_SUCCESS;
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool waits,
                            size_t at, size_t size, const void *from, cl_uint count,
                            const cl_event *events, cl_event *event) {
    (void)queue, (void)count, (void)events, (void)event;
    FAIL_IF_TOLD;
    fake.waits += waits == CL_TRUE;
    char *to = place(memory, at, size);
    if (to == NULL) return CL_INVALID_VALUE;
    memcpy(to, from, size);
    return CL_SUCCESS;
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                           size_t from_at, size_t to_at, size_t size, cl_uint count,
                           const cl_event *events, cl_event *event) {
    (void)queue, (void)count, (void)events, (void)event;
    FAIL_IF_TOLD;
    char *source = place(from, from_at, size), *target = place(to, to_at, size);
    if (source == NULL || target == NULL) return CL_INVALID_VALUE;
    memcpy(target, source, size);
    return CL_SUCCESS;
}

// ---- code: a binary is the word "binary" --------------------------------------------

static const char binary_text[] = "binary";

// Keeps what is compiled in the file $FAKE_SLOW and, until it is gone, compiles.
static void compile_slowly(const char *text) {
    const char *name = getenv("FAKE_SLOW");
    FILE *file = name == NULL ? NULL : fopen(name, "w");
    if (file == NULL) return;
    fputs(text, file);
    fclose(file);
    for (int i = 0; i < 500 && access(name, F_OK) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count,
                                     const char **texts, const size_t *sizes,
                                     cl_int *error_out) {
    (void)context, (void)count, (void)sizes;
    FAIL_IF_TOLD_TO(error_out);
    Object *program = make(0);
    program->is_wrong = strncmp(texts[0], "wrong", 5) == 0;
    compile_slowly(texts[0]);
    return (cl_program)(void *)program;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count,
                                     const cl_device_id *ids, const size_t *sizes,
                                     const unsigned char **binaries, cl_int *status_out,
                                     cl_int *error_out) {
    (void)context, (void)count, (void)ids;
    FAIL_IF_TOLD_TO(error_out);
    Object *program = make(0);
    bool is_right = sizes[0] == sizeof binary_text &&
                    memcmp(binaries[0], binary_text, sizeof binary_text) == 0;
    *status_out = is_right ? CL_SUCCESS : CL_INVALID_BINARY;
    return (cl_program)(void *)program;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *ids,
                      const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *data) {
    (void)count, (void)ids, (void)options, (void)notify, (void)data;
    FAIL_IF_TOLD;
    bool is_wrong = ((Object *)(void *)program)->is_wrong;
    return is_wrong ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t room, void *to,
                        size_t *size_out) {
    (void)program;
    FAIL_IF_TOLD;
    if (what == CL_PROGRAM_BINARY_SIZES) return ANSWER(size_t, sizeof binary_text);
    unsigned char **binaries = to;
    memcpy(binaries[0], binary_text, sizeof binary_text);
    return CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id id,
                             cl_program_build_info what, size_t room, void *to,
                             size_t *size_out) {
    (void)program, (void)id, (void)what;
    FAIL_IF_TOLD;
    return answer_text("this is wrong", room, to, size_out);
}

cl_int clReleaseProgram(cl_program program) {
    return drop(program);
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error_out) {
    (void)program;
    FAIL_IF_TOLD_TO(error_out);
    if (fake_kernel(name) == NULL) {
        *error_out = CL_INVALID_KERNEL_NAME;
        return NULL;
    }
    Object *kernel = make(0);
    kernel->kernel = fake_kernel(name);
    return (cl_kernel)(void *)kernel;
}

cl_int clReleaseKernel(cl_kernel kernel) {
    return drop(kernel);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id,
                                cl_kernel_work_group_info what, size_t room, void *to,
                                size_t *size_out) {
    (void)kernel, (void)id, (void)what;
    FAIL_IF_TOLD;
    return ANSWER(size_t, 100);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint number, size_t size, const void *from) {
    Object *object = (Object *)(void *)kernel;
    FAIL_IF_TOLD;
    if (number > 1 || size != 8) return CL_INVALID_KERNEL_ARGS;
    memcpy(number == 0 ? (void *)&object->heap : (void *)&object->control, from, size);
    return CL_SUCCESS;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                              cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint count,
                              const cl_event *events, cl_event *event) {
    (void)queue, (void)offset, (void)count, (void)events, (void)event;
    Object *object = (Object *)(void *)kernel;
    FAIL_IF_TOLD;
    if (dimensions != 1 || *local > 100 || *global % *local != 0)
        return CL_INVALID_WORK_GROUP_SIZE;
    fake_run(object->kernel, (uintptr_t)object->heap->memory, object->control, *global);
    return CL_SUCCESS;
}

#endif
