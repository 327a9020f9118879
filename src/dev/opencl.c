// SPDX-License-Identifier: Apache-2.0
//
// OpenCL devices, through the loader of the system, which is opened at run time:
// without it, or built without OpenCL's headers, there are just no such devices.
//
// A device's memory is one buffer, its heap; addresses are places in it. It grows by
// being copied into a larger one, so that a kernel is handed a single buffer and data
// can refer to data. Launches have a queue, which is in order, so that a read there
// waits for all before it; what travels beside them has two, one for each direction, so
// that what is ready early does not wait for what is needed later.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/gpu.h"
#include "dev/heap.h"
#include "dev/library.h"

#if defined(__has_include)
#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#define HAS_OPENCL
#endif
#endif

#ifdef HAS_OPENCL

// What is used of the loader.
#define CALLS(CALL)                                                                    \
    CALL(clGetPlatformIDs)                                                             \
    CALL(clGetPlatformInfo)                                                            \
    CALL(clGetDeviceIDs)                                                               \
    CALL(clGetDeviceInfo)                                                              \
    CALL(clCreateContext)                                                              \
    CALL(clReleaseContext)                                                             \
    CALL(clCreateCommandQueue)                                                         \
    CALL(clReleaseCommandQueue)                                                        \
    CALL(clCreateBuffer)                                                               \
    CALL(clReleaseMemObject)                                                           \
    CALL(clEnqueueReadBuffer)                                                          \
    CALL(clEnqueueWriteBuffer)                                                         \
    CALL(clEnqueueCopyBuffer)                                                          \
    CALL(clFlush)                                                                      \
    CALL(clFinish)                                                                     \
    CALL(clWaitForEvents)                                                              \
    CALL(clReleaseEvent)                                                               \
    CALL(clCreateProgramWithSource)                                                    \
    CALL(clCreateProgramWithBinary)                                                    \
    CALL(clBuildProgram)                                                               \
    CALL(clGetProgramInfo)                                                             \
    CALL(clGetProgramBuildInfo)                                                        \
    CALL(clReleaseProgram)                                                             \
    CALL(clCreateKernel)                                                               \
    CALL(clGetKernelWorkGroupInfo)                                                     \
    CALL(clSetKernelArg)                                                               \
    CALL(clEnqueueNDRangeKernel)                                                       \
    CALL(clReleaseKernel)

typedef struct Calls {
#define CALL(name) __typeof__(&name) name;
    CALLS(CALL)
#undef CALL
} Calls;

static const LibraryCall calls[] = {
#define CALL(name) {#name, offsetof(Calls, name)},
    CALLS(CALL)
#undef CALL
};

enum { MOST_DEVICES = 64, FIRST_HEAP = 4 << 20, GROUP_GPU = 256, GROUP_CPU = 64 };

// Divide and square root are checked to be there correctly rounded.
static const char options[] = "-cl-std=CL1.2 -w -cl-fp32-correctly-rounded-divide-sqrt";

typedef struct OpenclDevice {
    GpuDevice gpu;
    Calls cl;
    cl_device_id id;
    cl_context context;
    cl_command_queue launches, writes, reads;
    cl_event last; // of a read among the launches; NULL: none since the last wait
    pthread_rwlock_t moving; // memory, for which what travels has to wait
    cl_mem memory;           // NULL before the first allocation
    uint64_t size, most;     // of memory, in bytes
    Heap heap;
    uint32_t group;
    char identity[1040]; // changes when the device or its driver does
} OpenclDevice;

// ---- errors -------------------------------------------------------------------------

static const char *error_name(cl_int error) {
    static const struct {
        cl_int error;
        const char *name;
    } known[] = {
#define ERROR(name) {name, #name}
        ERROR(CL_DEVICE_NOT_FOUND),
        ERROR(CL_DEVICE_NOT_AVAILABLE),
        ERROR(CL_COMPILER_NOT_AVAILABLE),
        ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        ERROR(CL_OUT_OF_RESOURCES),
        ERROR(CL_OUT_OF_HOST_MEMORY),
        ERROR(CL_BUILD_PROGRAM_FAILURE),
        ERROR(CL_INVALID_VALUE),
        ERROR(CL_INVALID_PLATFORM),
        ERROR(CL_INVALID_DEVICE),
        ERROR(CL_INVALID_CONTEXT),
        ERROR(CL_INVALID_COMMAND_QUEUE),
        ERROR(CL_INVALID_MEM_OBJECT),
        ERROR(CL_INVALID_BINARY),
        ERROR(CL_INVALID_BUILD_OPTIONS),
        ERROR(CL_INVALID_PROGRAM),
        ERROR(CL_INVALID_PROGRAM_EXECUTABLE),
        ERROR(CL_INVALID_KERNEL_NAME),
        ERROR(CL_INVALID_KERNEL),
        ERROR(CL_INVALID_KERNEL_ARGS),
        ERROR(CL_INVALID_WORK_GROUP_SIZE),
        ERROR(CL_INVALID_BUFFER_SIZE),
#undef ERROR
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error) return known[i].name;
    return "an error";
}

static Status fail(OpenclDevice *device, const char *call, cl_int error) {
    bool is_memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                     error == CL_OUT_OF_HOST_MEMORY || error == CL_OUT_OF_RESOURCES ||
                     error == CL_INVALID_BUFFER_SIZE;
    return dev_fail(&device->gpu.base, is_memory ? STATUS_MEMORY : STATUS_IO,
                    "%s: the driver failed: %s gave %s (%d)", device->gpu.base.address,
                    call, error_name(error), error);
}

// ---- the loader ---------------------------------------------------------------------

static LibraryEnd open_loader(Calls *cl, char why_out[DEVICE_WHY]) {
    static const char *const files[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    return library_open("WEFT_OPENCL", files, calls, sizeof calls / sizeof *calls, cl,
                        why_out);
}

typedef struct Found {
    cl_platform_id platform;
    cl_device_id id;
} Found;

// All devices of all platforms, in the loader's order. 0: why_out says why.
static uint32_t find_devices(const Calls *cl, Found found_out[MOST_DEVICES],
                             char why_out[DEVICE_WHY]) {
    cl_platform_id platforms[MOST_DEVICES];
    cl_device_id ids[MOST_DEVICES];
    cl_uint platform_count = 0, count = 0;
    cl_int error = cl->clGetPlatformIDs(MOST_DEVICES, platforms, &platform_count);
    if (error != CL_SUCCESS) platform_count = 0;
    if (platform_count > MOST_DEVICES) platform_count = MOST_DEVICES;
    for (cl_uint i = 0; i < platform_count; i++) {
        cl_uint id_count = 0;
        error = cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST_DEVICES, ids,
                                   &id_count);
        if (error != CL_SUCCESS) continue;
        for (cl_uint j = 0; j < id_count && j < MOST_DEVICES && count < MOST_DEVICES;
             j++)
            found_out[count++] = (Found){platforms[i], ids[j]};
    }
    enum { NO_PLATFORMS = -1001 }; // an extension's
    if (count == 0 &&
        (platform_count > 0 || error == NO_PLATFORMS || error == CL_SUCCESS))
        snprintf(why_out, DEVICE_WHY,
                 "OpenCL has no device here: no driver of one is installed and works");
    else if (count == 0)
        snprintf(why_out, DEVICE_WHY, "OpenCL fails: clGetPlatformIDs gave %s (%d)",
                 error_name(error), error);
    return count;
}

// ---- what a device is ---------------------------------------------------------------

typedef struct Facts {
    char name[256], driver[512], version[256], why_not[128]; // "": it can
    cl_device_type type;
    cl_uint cores;
    cl_ulong memory, most_memory; // most_memory: of one buffer
    bool has_atomics_64;
} Facts;

// Trimmed, on one line.
static void tidy(char *text) {
    size_t from = strspn(text, " \t"), len = strlen(text + from);
    memmove(text, text + from, len + 1);
    while (len > 0 && text[len - 1] == ' ') text[--len] = '\0';
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ') text[i] = ' ';
}

// Why kernels cannot run on it, of which nothing else is known to be wrong; or NULL.
static const char *missing_feature(const Calls *cl, cl_device_id id,
                                   const char *version) {
    cl_device_fp_config single = 0, dbl = 0;
    cl_bool has_compiler = CL_FALSE, is_available = CL_FALSE, is_little = CL_FALSE;
    cl_uint bits = 0;
    int major = 0, minor = 0;
#define GET(what, to)                                                                  \
    (cl->clGetDeviceInfo(id, what, sizeof to, &to, NULL) != CL_SUCCESS)
    if (GET(CL_DEVICE_SINGLE_FP_CONFIG, single) ||
        GET(CL_DEVICE_COMPILER_AVAILABLE, has_compiler) ||
        GET(CL_DEVICE_AVAILABLE, is_available) ||
        GET(CL_DEVICE_ENDIAN_LITTLE, is_little) || GET(CL_DEVICE_ADDRESS_BITS, bits))
        return "its driver does not tell what it can do";
    // Drivers without f64 may not know the question.
    if (GET(CL_DEVICE_DOUBLE_FP_CONFIG, dbl)) dbl = 0;
#undef GET
    if (!is_available) return "it is not available";
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 ||
        major * 100 + minor < 102)
        return "OpenCL 1.2, with 32-bit atomics, is needed";
    if (!has_compiler) return "its driver has no compiler";
    if (bits != 64) return "its addresses do not have 64 bits";
    if (!is_little) return "its bytes are in big-endian order";
    if (dbl == 0) return "it has no f64";
    if ((single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) == 0)
        return "its f32 divisions and square roots are not correctly rounded";
    if ((single & CL_FP_DENORM) == 0) return "its f32 has no denormals";
    if ((single & CL_FP_INF_NAN) == 0) return "its f32 has no infinities";
    if ((single & dbl & CL_FP_FMA) == 0) return "it has no fused multiply-add";
    return NULL;
}

// One extension has add and compare-and-swap, the other min, max and bits.
static bool has_atomics_64(const Calls *cl, cl_device_id id) {
    char names[8192] = "";
    if (cl->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof names, names, NULL) !=
        CL_SUCCESS)
        return false;
    names[sizeof names - 1] = '\0';
    return strstr(names, "cl_khr_int64_base_atomics") != NULL &&
           strstr(names, "cl_khr_int64_extended_atomics") != NULL;
}

static void examine(const Calls *cl, const Found *found, Facts *facts_out) {
    Facts *f = facts_out;
    char platform[256] = "", driver[256] = "";
    *f = (Facts){.name = ""};
#define GET(what, to)                                                                  \
    (cl->clGetDeviceInfo(found->id, what, sizeof to, &to, NULL) != CL_SUCCESS)
    bool fails = GET(CL_DEVICE_NAME, f->name) || GET(CL_DRIVER_VERSION, driver) ||
                 GET(CL_DEVICE_VERSION, f->version) || GET(CL_DEVICE_TYPE, f->type) ||
                 GET(CL_DEVICE_MAX_COMPUTE_UNITS, f->cores) ||
                 GET(CL_DEVICE_GLOBAL_MEM_SIZE, f->memory) ||
                 GET(CL_DEVICE_MAX_MEM_ALLOC_SIZE, f->most_memory);
#undef GET
    fails =
        fails || cl->clGetPlatformInfo(found->platform, CL_PLATFORM_NAME,
                                       sizeof platform, platform, NULL) != CL_SUCCESS;
    f->name[sizeof f->name - 1] = f->version[sizeof f->version - 1] = '\0';
    platform[sizeof platform - 1] = driver[sizeof driver - 1] = '\0';
    tidy(f->name);
    if (f->name[0] == '\0') strcpy(f->name, "a device without a name");
    snprintf(f->driver, sizeof f->driver, "%s %s", platform, driver);
    tidy(f->driver);
    const char *why = fails ? "its driver does not tell what it is"
                            : missing_feature(cl, found->id, f->version);
    snprintf(f->why_not, sizeof f->why_not, "%s", why != NULL ? why : "");
    f->has_atomics_64 = has_atomics_64(cl, found->id);
}

static void list_opencl(Arena *arena, DeviceInfos *infos) {
    Calls cl;
    Found found[MOST_DEVICES];
    Facts facts;
    char why[DEVICE_WHY];
    LibraryEnd opened = open_loader(&cl, why);
    if (opened == LIBRARY_NONE) return;
    uint32_t count = opened == LIBRARY_OPEN ? find_devices(&cl, found, why) : 0;
    if (count == 0) dev_list_broken(arena, infos, DEVICE_OPENCL, why);
    for (uint32_t i = 0; i < count; i++) {
        examine(&cl, &found[i], &facts);
        DeviceInfo info = {.kind = DEVICE_OPENCL,
                           .is_processor = (facts.type & CL_DEVICE_TYPE_CPU) != 0,
                           .name = facts.name,
                           .driver = facts.driver,
                           .cannot = facts.why_not,
                           .cores = facts.cores,
                           .memory = facts.memory};
        dev_list_gpu(arena, infos, i, info);
    }
}

// ---- memory -------------------------------------------------------------------------

// Copies the heap into one of that size.
static Status resize_heap(OpenclDevice *device, uint64_t size) {
    const Calls *cl = &device->cl;
    cl_int error = cl->clFinish(device->launches);
    if (error != CL_SUCCESS) return fail(device, "clFinish", error);
    cl_mem memory =
        cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &error);
    if (error != CL_SUCCESS) return fail(device, "clCreateBuffer", error);
    if (device->memory != NULL) {
        error = cl->clEnqueueCopyBuffer(device->writes, device->memory, memory, 0, 0,
                                        device->size, 0, NULL, NULL);
        if (error == CL_SUCCESS) error = cl->clFinish(device->writes);
        if (error != CL_SUCCESS) {
            cl->clReleaseMemObject(memory);
            return fail(device, "clEnqueueCopyBuffer", error);
        }
    }
    // What lies at 0 has no address.
    uint64_t begin = device->size == 0 ? HEAP_ALIGNMENT : device->size;
    if (!heap_add(&device->heap, begin, size - begin)) {
        cl->clReleaseMemObject(memory);
        return dev_fail(&device->gpu.base, STATUS_MEMORY, "out of memory");
    }
    if (device->memory != NULL) cl->clReleaseMemObject(device->memory);
    device->memory = memory;
    device->size = size;
    return STATUS_OK;
}

// Makes room for so many bytes more: twice as much as there is, or what must be.
static Status grow_heap(OpenclDevice *device, uint64_t bytes) {
    uint64_t size = device->size, most = device->most;
    uint64_t least = bytes + (size == 0 ? HEAP_ALIGNMENT : size);
    if (device->gpu.is_at_work)
        return dev_fail(&device->gpu.base, STATUS_MEMORY,
                        "%s: its memory cannot grow while it is at work",
                        device->gpu.base.address);
    if (bytes > most || least > most)
        return dev_fail(&device->gpu.base, STATUS_MEMORY,
                        "%s: there is no memory for %llu bytes: its driver gives %llu "
                        "in all",
                        device->gpu.base.address, (unsigned long long)bytes,
                        (unsigned long long)most);
    uint64_t wanted = size == 0 ? FIRST_HEAP : size * 2;
    if (wanted < least) wanted = least;
    if (wanted > most) wanted = most;
    pthread_rwlock_wrlock(&device->moving);
    Status status = resize_heap(device, wanted);
    if (status == STATUS_MEMORY && wanted > least) status = resize_heap(device, least);
    pthread_rwlock_unlock(&device->moving);
    return status;
}

static Status make_room(GpuDevice *gpu, size_t bytes) {
    OpenclDevice *device = (OpenclDevice *)gpu;
    return heap_has(&device->heap, bytes) ? STATUS_OK
                                          : grow_heap(device, heap_size(bytes));
}

static Status alloc(Device *base, size_t bytes, uint64_t *address_out) {
    OpenclDevice *device = (OpenclDevice *)base;
    if (heap_take(&device->heap, bytes, address_out)) return STATUS_OK;
    Status status = grow_heap(device, heap_size(bytes));
    if (status != STATUS_OK) return status;
    if (heap_take(&device->heap, bytes, address_out)) return STATUS_OK;
    return dev_fail(base, STATUS_MEMORY, "out of memory");
}

static void give_back(Device *base, uint64_t address, size_t bytes) {
    heap_give(&((OpenclDevice *)base)->heap, address, bytes);
}

static Status end(OpenclDevice *device, const char *call, cl_int error) {
    return error == CL_SUCCESS ? STATUS_OK : fail(device, call, error);
}

static Status write_bytes(Device *base, uint64_t to, const void *from, size_t bytes) {
    OpenclDevice *device = (OpenclDevice *)base;
    pthread_rwlock_rdlock(&device->moving);
    cl_int error = device->cl.clEnqueueWriteBuffer(
        device->writes, device->memory, CL_TRUE, to, bytes, from, 0, NULL, NULL);
    pthread_rwlock_unlock(&device->moving);
    return end(device, "clEnqueueWriteBuffer", error);
}

static Status read_bytes(Device *base, void *to, uint64_t from, size_t bytes) {
    OpenclDevice *device = (OpenclDevice *)base;
    pthread_rwlock_rdlock(&device->moving);
    cl_int error = device->cl.clEnqueueReadBuffer(
        device->reads, device->memory, CL_TRUE, from, bytes, to, 0, NULL, NULL);
    pthread_rwlock_unlock(&device->moving);
    return end(device, "clEnqueueReadBuffer", error);
}

static Status copy_bytes(Device *base, uint64_t to, uint64_t from, size_t bytes) {
    OpenclDevice *device = (OpenclDevice *)base;
    cl_int error = device->cl.clEnqueueCopyBuffer(
        device->writes, device->memory, device->memory, from, to, bytes, 0, NULL, NULL);
    if (error == CL_SUCCESS) error = device->cl.clFinish(device->writes);
    return end(device, "clEnqueueCopyBuffer", error);
}

// ---- code ---------------------------------------------------------------------------

static Str build_log(OpenclDevice *device, Arena *arena, cl_program program) {
    const Calls *cl = &device->cl;
    size_t size = 0;
    if (cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                  &size) != CL_SUCCESS ||
        size == 0)
        return STR("");
    char *text = arena_alloc(arena, size);
    if (cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, text,
                                  NULL) != CL_SUCCESS)
        return STR("");
    return (Str){text, strnlen(text, size)};
}

static cl_int build_program(OpenclDevice *device, cl_program program) {
    return device->cl.clBuildProgram(program, 1, &device->id, options, NULL, NULL);
}

static Status build_source(OpenclDevice *device, Arena *arena, Str source,
                           void **module) {
    cl_int error;
    cl_program program = device->cl.clCreateProgramWithSource(
        device->context, 1, &source.ptr, &source.len, &error);
    if (error != CL_SUCCESS) return fail(device, "clCreateProgramWithSource", error);
    *module = program;
    device->gpu.base.counts.builds++;
    error = build_program(device, program);
    if (error == CL_SUCCESS) return STATUS_OK;
    Str log = build_log(device, arena, program);
    const char *file = log.len > 0 ? gpu_keep_log(arena, log) : NULL;
    if (file == NULL) return fail(device, "clBuildProgram", error);
    return dev_fail(&device->gpu.base, STATUS_IO,
                    "the compiler of %s failed; what it said is in %s",
                    device->gpu.base.address, file);
}

// Whether the binary is one that the driver takes.
static bool build_binary(OpenclDevice *device, Str binary, void **module) {
    cl_int error, status = CL_SUCCESS;
    const unsigned char *bytes = (const unsigned char *)binary.ptr;
    cl_program program = device->cl.clCreateProgramWithBinary(
        device->context, 1, &device->id, &binary.len, &bytes, &status, &error);
    if (error != CL_SUCCESS) return false;
    *module = program;
    if (status == CL_SUCCESS && build_program(device, program) == CL_SUCCESS)
        return true;
    device->cl.clReleaseProgram(program);
    *module = NULL;
    return false;
}

static bool get_binary(OpenclDevice *device, Arena *arena, cl_program program,
                       Str *binary_out) {
    const Calls *cl = &device->cl;
    size_t size = 0;
    if (cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size,
                             NULL) != CL_SUCCESS ||
        size == 0)
        return false;
    unsigned char *bytes = arena_alloc(arena, size);
    *binary_out = (Str){(char *)bytes, size};
    return cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                                NULL) == CL_SUCCESS;
}

static Status load(GpuDevice *gpu, Arena *arena, Str source, const atomic_bool *cancel,
                   void **module) {
    OpenclDevice *device = (OpenclDevice *)gpu;
    Str parts[] = {STR("opencl"), str_of(options), str_of(device->identity), source};
    enum { COUNT = sizeof parts / sizeof *parts };
    Str binary;
    if (gpu_cache_read(arena, parts, COUNT, &binary) &&
        build_binary(device, binary, module))
        return STATUS_OK;
    if (cancel != NULL && atomic_load(cancel)) return STATUS_CANCELLED;
    Status status = build_source(device, arena, source, module);
    if (status == STATUS_OK && gpu->keeps_binaries &&
        get_binary(device, arena, *module, &binary))
        gpu_cache_write(arena, parts, COUNT, binary);
    if (status == STATUS_OK && cancel != NULL && atomic_load(cancel))
        status = STATUS_CANCELLED;
    return status;
}

static void unload(GpuDevice *gpu, void *module) {
    ((OpenclDevice *)gpu)->cl.clReleaseProgram(module);
}

static Status find(GpuDevice *gpu, void *module, GpuFunction *function) {
    OpenclDevice *device = (OpenclDevice *)gpu;
    const Calls *cl = &device->cl;
    cl_int error;
    size_t most = 0;
    cl_kernel kernel = cl->clCreateKernel(module, function->name, &error);
    if (error != CL_SUCCESS) return fail(device, "clCreateKernel", error);
    error = cl->clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                         sizeof most, &most, NULL);
    if (error != CL_SUCCESS || most == 0) {
        cl->clReleaseKernel(kernel);
        return fail(device, "clGetKernelWorkGroupInfo", error);
    }
    function->kernel = kernel;
    function->group = gpu_group(device->group, most);
    return STATUS_OK;
}

static void forget(GpuDevice *gpu, void *kernel) {
    ((OpenclDevice *)gpu)->cl.clReleaseKernel(kernel);
}

static Status write_before(GpuDevice *gpu, uint64_t to, const void *from,
                           size_t bytes) {
    OpenclDevice *device = (OpenclDevice *)gpu;
    cl_int error = device->cl.clEnqueueWriteBuffer(
        device->launches, device->memory, CL_FALSE, to, bytes, from, 0, NULL, NULL);
    return end(device, "clEnqueueWriteBuffer", error);
}

// The queue is in order, so its event tells of all before it.
static Status read_after(GpuDevice *gpu, void *to, uint64_t from, size_t bytes) {
    OpenclDevice *device = (OpenclDevice *)gpu;
    const Calls *cl = &device->cl;
    cl_int error = cl->clEnqueueReadBuffer(device->launches, device->memory, CL_FALSE,
                                           from, bytes, to, 0, NULL, &device->last);
    if (error != CL_SUCCESS) {
        device->last = NULL;
        return fail(device, "clEnqueueReadBuffer", error);
    }
    return end(device, "clFlush", cl->clFlush(device->launches));
}

static Status start(GpuDevice *gpu, const GpuFunction *function, uint64_t control,
                    uint64_t items, uint32_t group) {
    OpenclDevice *device = (OpenclDevice *)gpu;
    const Calls *cl = &device->cl;
    size_t global = items, local = group;
    cl_int error =
        cl->clSetKernelArg(function->kernel, 0, sizeof device->memory, &device->memory);
    if (error == CL_SUCCESS)
        error = cl->clSetKernelArg(function->kernel, 1, sizeof control, &control);
    if (error != CL_SUCCESS) return fail(device, "clSetKernelArg", error);
    error = cl->clEnqueueNDRangeKernel(device->launches, function->kernel, 1, NULL,
                                       &global, &local, 0, NULL, NULL);
    return end(device, "clEnqueueNDRangeKernel", error);
}

static Status await_all(GpuDevice *gpu) {
    OpenclDevice *device = (OpenclDevice *)gpu;
    const Calls *cl = &device->cl;
    if (device->last == NULL)
        return end(device, "clFinish", cl->clFinish(device->launches));
    cl_int error = cl->clWaitForEvents(1, &device->last);
    cl->clReleaseEvent(device->last);
    device->last = NULL;
    return end(device, "clWaitForEvents", error);
}

// ---- opening and closing ------------------------------------------------------------

static void close_device(Device *base) {
    OpenclDevice *device = (OpenclDevice *)base;
    const Calls *cl = &device->cl;
    gpu_close(&device->gpu);
    heap_free(&device->heap);
    pthread_rwlock_destroy(&device->moving);
    if (device->memory != NULL) cl->clReleaseMemObject(device->memory);
    if (device->reads != NULL) cl->clReleaseCommandQueue(device->reads);
    if (device->writes != NULL) cl->clReleaseCommandQueue(device->writes);
    if (device->launches != NULL) cl->clReleaseCommandQueue(device->launches);
    if (device->context != NULL) cl->clReleaseContext(device->context);
    mem_free(base->mem, device, sizeof *device);
}

static const DeviceOps device_ops = {
    .close = close_device,
    .alloc = alloc,
    .free = give_back,
    .write = write_bytes,
    .read = read_bytes,
    .copy = copy_bytes,
    .trim = gpu_trim,
    .build = gpu_build,
    .unload = gpu_unload,
    .launch = gpu_launch,
    .settle = gpu_settle,
};
static const GpuOps gpu_ops = {
    .load = load,
    .unload = unload,
    .find = find,
    .forget = forget,
    .write = write_before,
    .read = read_after,
    .make_room = make_room,
    .start = start,
    .wait = await_all,
};

static Status start_device(OpenclDevice *device, const Found *found,
                           const Facts *facts) {
    const Calls *cl = &device->cl;
    cl_int error;
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                          (cl_context_properties)found->platform, 0};
    device->id = found->id;
    device->context =
        cl->clCreateContext(properties, 1, &found->id, NULL, NULL, &error);
    if (error != CL_SUCCESS) return fail(device, "clCreateContext", error);
    cl_command_queue *queues[] = {&device->launches, &device->writes, &device->reads};
    for (int i = 0; i < 3; i++) {
        *queues[i] = cl->clCreateCommandQueue(device->context, found->id, 0, &error);
        if (error != CL_SUCCESS) return fail(device, "clCreateCommandQueue", error);
    }
    bool is_cpu = (facts->type & CL_DEVICE_TYPE_CPU) != 0;
    device->group = is_cpu ? GROUP_CPU : GROUP_GPU;
    device->most = facts->most_memory / HEAP_ALIGNMENT * HEAP_ALIGNMENT;
    device->gpu.memory = device->most;
    device->gpu.base.has_atomics_64 = facts->has_atomics_64;
    // Asked for a binary, PoCL compiles every kernel; it has a cache of its own.
    device->gpu.keeps_binaries = !is_cpu;
    gpu_set_items(&device->gpu, facts->cores, is_cpu);
    snprintf(device->identity, sizeof device->identity, "%s\n%s\n%s", facts->name,
             facts->driver, facts->version);
    return STATUS_OK;
}

static Status open_opencl(Mem *mem, int number, Device **device_out,
                          char why_out[DEVICE_WHY]) {
    Calls cl;
    Found found[MOST_DEVICES];
    Facts facts;
    LibraryEnd opened = open_loader(&cl, why_out);
    if (opened == LIBRARY_BROKEN) return STATUS_IO;
    if (opened == LIBRARY_NONE) {
        snprintf(why_out, DEVICE_WHY,
                 "there is no OpenCL here: install a driver of the device, and "
                 "libOpenCL.so.1 (in Debian ocl-icd-libopencl1)");
        return STATUS_USAGE;
    }
    uint32_t count = find_devices(&cl, found, why_out);
    if (count == 0) return STATUS_USAGE;
    if ((uint32_t)number >= count) {
        snprintf(why_out, DEVICE_WHY, "there is no opencl:%d: the last is opencl:%u",
                 number, count - 1);
        return STATUS_USAGE;
    }
    examine(&cl, &found[number], &facts);
    if (facts.why_not[0] != '\0') {
        snprintf(why_out, DEVICE_WHY, "%s cannot run kernels: %s", facts.name,
                 facts.why_not);
        return STATUS_USAGE;
    }
    OpenclDevice *device = mem_try_alloc(mem, sizeof *device);
    if (device == NULL) return STATUS_MEMORY;
    *device = (OpenclDevice){.gpu = {.ops = &gpu_ops}, .cl = cl};
    dev_begin(&device->gpu.base, mem, DEVICE_OPENCL, number, &device_ops);
    heap_init(&device->heap, mem);
    pthread_rwlock_init(&device->moving, NULL);
    Status status = start_device(device, &found[number], &facts);
    if (status == STATUS_OK) *device_out = &device->gpu.base;
    else {
        strcpy(why_out, device->gpu.base.why);
        close_device(&device->gpu.base);
    }
    return status;
}

#else

static const char unbuilt[] =
    "Weft was built without OpenCL: build it anew (make clean "
    "all) where the package opencl-c-headers is installed";

static void list_opencl(Arena *arena, DeviceInfos *infos) {
    dev_list_broken(arena, infos, DEVICE_OPENCL, unbuilt);
}

static Status open_opencl(Mem *mem, int number, Device **device_out,
                          char why_out[DEVICE_WHY]) {
    (void)mem, (void)number, (void)device_out;
    snprintf(why_out, DEVICE_WHY, "%s", unbuilt);
    return STATUS_USAGE;
}

#endif

const DeviceDriver opencl_driver = {"opencl", list_opencl, open_opencl};
