// SPDX-License-Identifier: Apache-2.0
//
// CUDA devices, through NVIDIA's driver and its compiler NVRTC (11.2 or newer), both
// opened at run time. What is used of them is declared here: their interfaces are
// stable, and no header of theirs is needed to build Weft.
//
// Small blocks of memory are cut out of large ones, since the driver is slow at giving
// memory; large ones are its own. The primary context is used, which a program that
// Weft is part of may be using too: it is current during calls only. Launches go
// through the default stream, so that a read there waits for all before it; what
// travels beside them has two streams, one for each direction, so that what is ready
// early does not wait for what is needed later.
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/gpu.h"
#include "dev/heap.h"
#include "dev/library.h"

// ---- the driver and the compiler ----------------------------------------------------

typedef int CuResult; // 0: success
typedef unsigned long long CuAddress;
enum {
    CU_OUT_OF_MEMORY = 2,
    CU_STUB_LIBRARY = 34,
    CU_NO_DEVICE = 100,
    CU_CORES = 16, // attributes of devices
    CU_MAJOR = 75,
    CU_MINOR = 76,
    CU_MOST_THREADS = 0, // of functions
    CU_NON_BLOCKING = 1, // of streams: beside the default one
};

typedef struct Driver {
    CuResult (*init)(unsigned flags);
    CuResult (*error_name)(CuResult error, const char **name_out);
    CuResult (*version)(int *version_out);
    CuResult (*count)(int *count_out);
    CuResult (*device)(int *device_out, int number);
    CuResult (*name)(char *name_out, int size, int device);
    CuResult (*memory)(size_t *bytes_out, int device);
    CuResult (*attribute)(int *value_out, int attribute, int device);
    CuResult (*retain)(void **context_out, int device);
    CuResult (*release)(int device);
    CuResult (*push)(void *context);
    CuResult (*pop)(void **context_out);
    CuResult (*alloc)(CuAddress *address_out, size_t bytes);
    CuResult (*free)(CuAddress address);
    CuResult (*pin)(void **memory_out, size_t bytes);
    CuResult (*unpin)(void *memory);
    CuResult (*stream)(void **stream_out, unsigned flags);
    CuResult (*end_stream)(void *stream);
    CuResult (*await_stream)(void *stream);
    CuResult (*write_beside)(CuAddress to, const void *from, size_t bytes,
                             void *stream);
    CuResult (*read_beside)(void *to, CuAddress from, size_t bytes, void *stream);
    CuResult (*copy_beside)(CuAddress to, CuAddress from, size_t bytes, void *stream);
    CuResult (*load)(void **module_out, const void *image);
    CuResult (*unload)(void *module);
    CuResult (*function)(void **function_out, void *module, const char *name);
    CuResult (*function_attribute)(int *value_out, int attribute, void *function);
    CuResult (*launch)(void *function, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y,
                       unsigned block_z, unsigned shared_bytes, void *stream,
                       void **arguments, void **extra);
} Driver;

static const LibraryCall driver_calls[] = {
    {"cuInit", offsetof(Driver, init)},
    {"cuGetErrorName", offsetof(Driver, error_name)},
    {"cuDriverGetVersion", offsetof(Driver, version)},
    {"cuDeviceGetCount", offsetof(Driver, count)},
    {"cuDeviceGet", offsetof(Driver, device)},
    {"cuDeviceGetName", offsetof(Driver, name)},
    {"cuDeviceTotalMem_v2", offsetof(Driver, memory)},
    {"cuDeviceGetAttribute", offsetof(Driver, attribute)},
    {"cuDevicePrimaryCtxRetain", offsetof(Driver, retain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(Driver, release)},
    {"cuCtxPushCurrent_v2", offsetof(Driver, push)},
    {"cuCtxPopCurrent_v2", offsetof(Driver, pop)},
    {"cuMemAlloc_v2", offsetof(Driver, alloc)},
    {"cuMemFree_v2", offsetof(Driver, free)},
    {"cuMemAllocHost_v2", offsetof(Driver, pin)},
    {"cuMemFreeHost", offsetof(Driver, unpin)},
    {"cuStreamCreate", offsetof(Driver, stream)},
    {"cuStreamDestroy_v2", offsetof(Driver, end_stream)},
    {"cuStreamSynchronize", offsetof(Driver, await_stream)},
    {"cuMemcpyHtoDAsync_v2", offsetof(Driver, write_beside)},
    {"cuMemcpyDtoHAsync_v2", offsetof(Driver, read_beside)},
    {"cuMemcpyDtoDAsync_v2", offsetof(Driver, copy_beside)},
    {"cuModuleLoadData", offsetof(Driver, load)},
    {"cuModuleUnload", offsetof(Driver, unload)},
    {"cuModuleGetFunction", offsetof(Driver, function)},
    {"cuFuncGetAttribute", offsetof(Driver, function_attribute)},
    {"cuLaunchKernel", offsetof(Driver, launch)},
};

typedef struct Compiler {
    const char *(*error_text)(int error);
    int (*version)(int *major_out, int *minor_out);
    int (*target_count)(int *count_out);
    int (*targets)(int *targets_out);
    int (*create)(void **program_out, const char *source, const char *name, int headers,
                  const char *const *header_texts, const char *const *header_names);
    int (*destroy)(void **program);
    int (*compile)(void *program, int count, const char *const *options);
    int (*log_size)(void *program, size_t *size_out);
    int (*log)(void *program, char *log_out);
    int (*ptx_size)(void *program, size_t *size_out);
    int (*ptx)(void *program, char *ptx_out);
    int (*binary_size)(void *program, size_t *size_out);
    int (*binary)(void *program, char *binary_out);
} Compiler;

static const LibraryCall compiler_calls[] = {
    {"nvrtcGetErrorString", offsetof(Compiler, error_text)},
    {"nvrtcVersion", offsetof(Compiler, version)},
    {"nvrtcGetNumSupportedArchs", offsetof(Compiler, target_count)},
    {"nvrtcGetSupportedArchs", offsetof(Compiler, targets)},
    {"nvrtcCreateProgram", offsetof(Compiler, create)},
    {"nvrtcDestroyProgram", offsetof(Compiler, destroy)},
    {"nvrtcCompileProgram", offsetof(Compiler, compile)},
    {"nvrtcGetProgramLogSize", offsetof(Compiler, log_size)},
    {"nvrtcGetProgramLog", offsetof(Compiler, log)},
    {"nvrtcGetPTXSize", offsetof(Compiler, ptx_size)},
    {"nvrtcGetPTX", offsetof(Compiler, ptx)},
    {"nvrtcGetCUBINSize", offsetof(Compiler, binary_size)},
    {"nvrtcGetCUBIN", offsetof(Compiler, binary)},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static LibraryEnd open_driver(Driver *cu, char why_out[DEVICE_WHY]) {
    static const char *const files[] = {"libcuda.so.1", "libcuda.so", NULL};
    return library_open("WEFT_CUDA", files, driver_calls, COUNT(driver_calls), cu,
                        why_out);
}

static LibraryEnd open_compiler(Compiler *compiler, char why_out[DEVICE_WHY]) {
    char chosen[4096] = "libnvrtc.so";
    const char *toolkit = getenv("CUDA_PATH");
    if (toolkit != NULL)
        snprintf(chosen, sizeof chosen, "%s/lib64/libnvrtc.so", toolkit);
    const char *const files[] = {chosen,
                                 "libnvrtc.so",
                                 "libnvrtc.so.13",
                                 "libnvrtc.so.12",
                                 "libnvrtc.so.11.2",
                                 "/usr/local/cuda/lib64/libnvrtc.so",
                                 NULL};
    LibraryEnd end = library_open("WEFT_NVRTC", files, compiler_calls,
                                  COUNT(compiler_calls), compiler, why_out);
    if (end == LIBRARY_NONE)
        snprintf(why_out, DEVICE_WHY,
                 "there is no compiler for it: install NVRTC (libnvrtc.so), a part of "
                 "NVIDIA's CUDA toolkit, and set CUDA_PATH if that is in a folder of "
                 "its own");
    return end;
}

static const char *error_name(const Driver *cu, CuResult error) {
    const char *name = NULL;
    if (cu->error_name(error, &name) != 0 || name == NULL) return "an error";
    return name;
}

// ---- what there is ------------------------------------------------------------------

// Opens the driver and counts its devices. 0: why_out says why there are none, unless
// there is no driver.
static int find_devices(Driver *cu, LibraryEnd *end_out, char why_out[DEVICE_WHY]) {
    int count = 0;
    *end_out = open_driver(cu, why_out);
    if (*end_out != LIBRARY_OPEN) return 0;
    CuResult error = cu->init(0);
    if (error == 0) error = cu->count(&count);
    if (error == CU_NO_DEVICE || (error == 0 && count <= 0))
        snprintf(why_out, DEVICE_WHY, "CUDA has no GPU here");
    else if (error == CU_STUB_LIBRARY)
        snprintf(why_out, DEVICE_WHY,
                 "libcuda.so is a stub for linking: install NVIDIA's driver");
    else if (error != 0)
        snprintf(why_out, DEVICE_WHY, "CUDA fails: it gave %s (%d)",
                 error_name(cu, error), error);
    return error == 0 && count > 0 ? count : 0;
}

typedef struct Facts {
    char name[128], driver[64], why_not[DEVICE_WHY]; // "": it can
    int device, cores, capability;                   // 90: compute capability 9.0
    size_t memory;
    int target;    // of the compiler
    bool is_exact; // it makes machine code for the device itself
} Facts;

// Chooses what the compiler compiles for: the device, else the last one before it.
static bool choose_target(const Compiler *compiler, Facts *f, int major, int minor) {
    enum { MOST = 256 };
    int targets[MOST], count = 0;
    if (compiler->target_count(&count) != 0 || count < 0 || count > MOST ||
        compiler->targets(targets) != 0) {
        snprintf(f->why_not, sizeof f->why_not,
                 "NVRTC does not tell what it compiles for");
        return false;
    }
    for (int i = 0; i < count; i++)
        if (targets[i] <= f->capability && targets[i] > f->target)
            f->target = targets[i];
    f->is_exact = f->target == f->capability;
    if (f->target == 0)
        snprintf(f->why_not, sizeof f->why_not,
                 "its compute capability %d.%d is too old for NVRTC %d.%d",
                 f->capability / 10, f->capability % 10, major, minor);
    return f->target != 0;
}

static void examine(const Driver *cu, Compiler *compiler, int number,
                    Facts *facts_out) {
    Facts *f = facts_out;
    int version = 0, major = 0, minor = 0;
    *f = (Facts){.name = "a device without a name"};
    CuResult error = cu->device(&f->device, number);
    if (error == 0) error = cu->name(f->name, sizeof f->name, f->device);
    if (error == 0) error = cu->memory(&f->memory, f->device);
    if (error == 0) error = cu->attribute(&f->cores, CU_CORES, f->device);
    if (error == 0) error = cu->attribute(&major, CU_MAJOR, f->device);
    if (error == 0) error = cu->attribute(&minor, CU_MINOR, f->device);
    if (error == 0) error = cu->version(&version);
    f->name[sizeof f->name - 1] = '\0';
    f->capability = major * 10 + minor;
    snprintf(f->driver, sizeof f->driver, "CUDA %d.%d", version / 1000,
             version % 1000 / 10);
    if (error != 0) {
        snprintf(f->why_not, sizeof f->why_not,
                 "its driver does not tell what it is: %s (%d)", error_name(cu, error),
                 error);
        return;
    }
    if (open_compiler(compiler, f->why_not) != LIBRARY_OPEN) return;
    if (compiler->version(&major, &minor) != 0) major = minor = 0;
    size_t len = strlen(f->driver);
    snprintf(f->driver + len, sizeof f->driver - len, ", NVRTC %d.%d", major, minor);
    if (choose_target(compiler, f, major, minor)) f->why_not[0] = '\0';
}

static void list_cuda(Arena *arena, DeviceInfos *infos) {
    Driver cu;
    Compiler compiler;
    Facts facts;
    LibraryEnd end;
    char why[DEVICE_WHY];
    int count = find_devices(&cu, &end, why);
    if (count == 0 && end != LIBRARY_NONE)
        dev_list_broken(arena, infos, DEVICE_CUDA, why);
    for (int i = 0; i < count; i++) {
        examine(&cu, &compiler, i, &facts);
        DeviceInfo info = {.kind = DEVICE_CUDA,
                           .name = facts.name,
                           .driver = facts.driver,
                           .cannot = facts.why_not,
                           .cores = (unsigned)facts.cores,
                           .memory = facts.memory};
        dev_list_gpu(arena, infos, (uint32_t)i, info);
    }
}

// ---- memory -------------------------------------------------------------------------

enum { LARGE = 32 << 20, REGION = 64 << 20, GROUP = 256 };

// Memory from the driver.
typedef struct Region {
    struct Region *next;
    CuAddress address;
    size_t bytes;
} Region;

typedef struct CudaDevice {
    GpuDevice gpu;
    Driver cu;
    Compiler compiler;
    int device, target;
    bool is_exact;
    void *context;        // NULL: not there yet
    void *writes, *reads; // streams; NULL: not there yet
    Region *regions;
    Region *dropped;   // given back, as far as the driver has not been told
    atomic_int moving; // transfers on their way
    Heap heap;
    char identity[512]; // changes when the device, its driver or its compiler does
} CudaDevice;

static Status fail(CudaDevice *device, const char *call, CuResult error) {
    return dev_fail(&device->gpu.base,
                    error == CU_OUT_OF_MEMORY ? STATUS_MEMORY : STATUS_IO,
                    "%s: the driver failed: %s gave %s (%d)", device->gpu.base.address,
                    call, error_name(&device->cu, error), error);
}

// Between these the device's context is current.
static Status enter(CudaDevice *device) {
    CuResult error = device->cu.push(device->context);
    return error == 0 ? STATUS_OK : fail(device, "cuCtxPushCurrent", error);
}

static Status leave(CudaDevice *device, const char *call, CuResult error) {
    void *context;
    Status status = error == 0 ? STATUS_OK : fail(device, call, error);
    error = device->cu.pop(&context);
    if (error != 0 && status == STATUS_OK)
        status = fail(device, "cuCtxPopCurrent", error);
    return status;
}

static Status add_region(CudaDevice *device, size_t bytes, CuAddress *address_out) {
    Mem *mem = device->gpu.base.mem;
    Region *region = mem_try_alloc(mem, sizeof *region);
    if (region == NULL)
        return dev_fail(&device->gpu.base, STATUS_MEMORY, "out of memory");
    Status status = enter(device);
    if (status == STATUS_OK)
        status = leave(device, "cuMemAlloc", device->cu.alloc(address_out, bytes));
    if (status != STATUS_OK) {
        mem_free(mem, region, sizeof *region);
        return status;
    }
    *region = (Region){device->regions, *address_out, bytes};
    device->regions = region;
    return STATUS_OK;
}

static void drop_region(CudaDevice *device, Region **at) {
    Region *region = *at;
    *at = region->next;
    if (enter(device) == STATUS_OK)
        leave(device, "cuMemFree", device->cu.free(region->address));
    mem_free(device->gpu.base.mem, region, sizeof *region);
}

static void drop_all(CudaDevice *device, Region **regions) {
    while (*regions != NULL) drop_region(device, regions);
}

static void move_region(Region **from, Region **to) {
    Region *region = *from;
    *from = region->next;
    region->next = *to;
    *to = region;
}

// The driver frees nothing before what it does has ended: so it is told when it is
// idle. Meanwhile what is as large is used again.
static void drop_idle(CudaDevice *device) {
    bool is_idle = !device->gpu.is_at_work && atomic_load(&device->moving) == 0;
    if (is_idle) drop_all(device, &device->dropped);
}

static bool take_dropped(CudaDevice *device, size_t bytes, uint64_t *address_out) {
    Region **at = &device->dropped;
    while (*at != NULL && (*at)->bytes != bytes) at = &(*at)->next;
    if (*at == NULL) return false;
    *address_out = (*at)->address;
    move_region(at, &device->regions);
    return true;
}

// Regions stay apart in the heap, as blocks do not reach over several of the driver's.
static Status grow_heap(CudaDevice *device, size_t bytes) {
    CuAddress address;
    size_t size = REGION;
    Status status = add_region(device, size, &address);
    if (status == STATUS_MEMORY)
        status = add_region(device, size = bytes + HEAP_ALIGNMENT, &address);
    if (status != STATUS_OK) return status;
    if (heap_add(&device->heap, address, size - HEAP_ALIGNMENT)) return STATUS_OK;
    drop_region(device, &device->regions);
    return dev_fail(&device->gpu.base, STATUS_MEMORY, "out of memory");
}

static Status alloc(Device *base, size_t bytes, uint64_t *address_out) {
    CudaDevice *device = (CudaDevice *)base;
    CuAddress address;
    if (bytes >= LARGE && take_dropped(device, bytes, address_out)) return STATUS_OK;
    drop_idle(device);
    if (bytes >= LARGE) {
        Status status = add_region(device, bytes, &address);
        if (status == STATUS_OK) *address_out = address;
        return status;
    }
    if (heap_take(&device->heap, bytes, address_out)) return STATUS_OK;
    Status status = grow_heap(device, heap_size(bytes));
    if (status != STATUS_OK) return status;
    if (heap_take(&device->heap, bytes, address_out)) return STATUS_OK;
    return dev_fail(base, STATUS_MEMORY, "out of memory");
}

static void give_back(Device *base, uint64_t address, size_t bytes) {
    CudaDevice *device = (CudaDevice *)base;
    if (bytes < LARGE) {
        heap_give(&device->heap, address, bytes);
        return;
    }
    Region **at = &device->regions;
    while ((*at)->address != address) at = &(*at)->next;
    move_region(at, &device->dropped);
    drop_idle(device);
}

static void trim(Device *base) {
    CudaDevice *device = (CudaDevice *)base;
    gpu_trim(base);
    if (!device->gpu.is_at_work) drop_all(device, &device->dropped);
}

// Before a transfer, which ends with leave_stream if this went well.
static Status enter_stream(CudaDevice *device) {
    Status status = enter(device);
    if (status == STATUS_OK) atomic_fetch_add(&device->moving, 1);
    return status;
}

// Waits for what was begun in the stream, if that went well.
static Status leave_stream(CudaDevice *device, void *stream, const char *call,
                           CuResult error) {
    if (error == 0) error = device->cu.await_stream(stream);
    atomic_fetch_sub(&device->moving, 1);
    return leave(device, call, error);
}

static Status write_bytes(Device *base, uint64_t to, const void *from, size_t bytes) {
    CudaDevice *device = (CudaDevice *)base;
    Status status = enter_stream(device);
    if (status != STATUS_OK) return status;
    return leave_stream(device, device->writes, "cuMemcpyHtoDAsync",
                        device->cu.write_beside(to, from, bytes, device->writes));
}

static Status read_bytes(Device *base, void *to, uint64_t from, size_t bytes) {
    CudaDevice *device = (CudaDevice *)base;
    Status status = enter_stream(device);
    if (status != STATUS_OK) return status;
    return leave_stream(device, device->reads, "cuMemcpyDtoHAsync",
                        device->cu.read_beside(to, from, bytes, device->reads));
}

static Status copy_bytes(Device *base, uint64_t to, uint64_t from, size_t bytes) {
    CudaDevice *device = (CudaDevice *)base;
    Status status = enter_stream(device);
    if (status != STATUS_OK) return status;
    return leave_stream(device, device->writes, "cuMemcpyDtoDAsync",
                        device->cu.copy_beside(to, from, bytes, device->writes));
}

// ---- code ---------------------------------------------------------------------------

// Floats mean what they mean elsewhere; functions without a qualifier are the device's.
static const char *const fixed_options[] = {
    "--fmad=false",     "--ftz=false", "--prec-div=true",
    "--prec-sqrt=true", "--std=c++11", "--device-as-default-execution-space",
};
enum { OPTION_COUNT = COUNT(fixed_options) + 1 };

typedef struct Module {
    void *module;  // of the driver; NULL: not there yet
    void *program; // of the compiler, while it is at work
} Module;

static Status compiler_fails(CudaDevice *device, const char *call, int error) {
    return dev_fail(&device->gpu.base, STATUS_IO, "%s: the compiler failed: %s gave %s",
                    device->gpu.base.address, call, device->compiler.error_text(error));
}

static Status explain_errors(CudaDevice *device, Arena *arena, void *program,
                             int error) {
    size_t size = 0;
    const Compiler *compiler = &device->compiler;
    if (compiler->log_size(program, &size) == 0 && size > 1) {
        char *log = arena_alloc(arena, size);
        const char *file = NULL;
        if (compiler->log(program, log) == 0)
            file = gpu_keep_log(arena, (Str){log, strnlen(log, size)});
        if (file != NULL)
            return dev_fail(&device->gpu.base, STATUS_IO,
                            "the compiler of %s failed; what it said is in %s",
                            device->gpu.base.address, file);
    }
    return compiler_fails(device, "nvrtcCompileProgram", error);
}

// Machine code if the compiler knows the device, else PTX, for the driver to finish;
// ends in a zero byte.
static Status get_image(CudaDevice *device, Arena *arena, void *program,
                        Str *image_out) {
    const Compiler *c = &device->compiler;
    size_t size = 0;
    int error =
        device->is_exact ? c->binary_size(program, &size) : c->ptx_size(program, &size);
    if (error != 0) return compiler_fails(device, "asking for the size", error);
    char *image = arena_zeroed(arena, 1, size + 1);
    error = device->is_exact ? c->binary(program, image) : c->ptx(program, image);
    if (error != 0) return compiler_fails(device, "asking for the code", error);
    *image_out = (Str){image, size};
    return STATUS_OK;
}

static Status compile(CudaDevice *device, Arena *arena, Str source,
                      const char *const *options, Module *module, Str *image_out) {
    const Compiler *compiler = &device->compiler;
    const char *text = str_terminated(arena, source);
    int error = compiler->create(&module->program, text, "weft.cu", 0, NULL, NULL);
    if (error != 0) {
        module->program = NULL;
        return compiler_fails(device, "nvrtcCreateProgram", error);
    }
    device->gpu.base.counts.builds++;
    error = compiler->compile(module->program, OPTION_COUNT, options);
    Status status = error == 0 ? get_image(device, arena, module->program, image_out)
                               : explain_errors(device, arena, module->program, error);
    compiler->destroy(&module->program);
    module->program = NULL;
    return status;
}

static Status load_image(CudaDevice *device, Str image, Module *module) {
    Status status = enter(device);
    if (status != STATUS_OK) return status;
    CuResult error = device->cu.load(&module->module, image.ptr);
    if (error != 0) module->module = NULL;
    return leave(device, "cuModuleLoadData", error);
}

static Status load(GpuDevice *gpu, Arena *arena, Str source, const atomic_bool *cancel,
                   void **module_out) {
    CudaDevice *device = (CudaDevice *)gpu;
    Module *module = mem_try_alloc(gpu->base.mem, sizeof *module);
    if (module == NULL) return dev_fail(&gpu->base, STATUS_MEMORY, "out of memory");
    *module = (Module){0};
    *module_out = module;
    char target[64];
    snprintf(target, sizeof target, "--gpu-architecture=%s_%d",
             device->is_exact ? "sm" : "compute", device->target);
    const char *options[OPTION_COUNT] = {target};
    Str parts[OPTION_COUNT + 3] = {STR("cuda"), str_of(device->identity), source,
                                   str_of(target)};
    for (size_t i = 0; i < COUNT(fixed_options); i++) {
        options[i + 1] = fixed_options[i];
        parts[i + 4] = str_of(fixed_options[i]);
    }
    Str image;
    if (gpu_cache_read(arena, parts, COUNT(parts), &image)) {
        image.ptr = str_terminated(arena, image);
        if (load_image(device, image, module) == STATUS_OK) return STATUS_OK;
    }
    if (cancel != NULL && atomic_load(cancel)) return STATUS_CANCELLED;
    Status status = compile(device, arena, source, options, module, &image);
    if (status == STATUS_OK) status = load_image(device, image, module);
    if (status == STATUS_OK) gpu_cache_write(arena, parts, COUNT(parts), image);
    if (status == STATUS_OK && cancel != NULL && atomic_load(cancel))
        status = STATUS_CANCELLED;
    return status;
}

static void unload(GpuDevice *gpu, void *what) {
    CudaDevice *device = (CudaDevice *)gpu;
    Module *module = what;
    if (module->program != NULL) device->compiler.destroy(&module->program);
    if (module->module != NULL && enter(device) == STATUS_OK)
        leave(device, "cuModuleUnload", device->cu.unload(module->module));
    mem_free(gpu->base.mem, module, sizeof *module);
}

static Status find(GpuDevice *gpu, void *module, GpuFunction *function) {
    CudaDevice *device = (CudaDevice *)gpu;
    int most = 0;
    Status status = enter(device);
    if (status != STATUS_OK) return status;
    const char *call = "cuModuleGetFunction";
    CuResult error = device->cu.function(&function->kernel, ((Module *)module)->module,
                                         function->name);
    if (error == 0) {
        call = "cuFuncGetAttribute";
        error = device->cu.function_attribute(&most, CU_MOST_THREADS, function->kernel);
    }
    function->group = gpu_group(GROUP, (uint64_t)(most > 0 ? most : 1));
    return leave(device, call, error);
}

static Status write_before(GpuDevice *gpu, uint64_t to, const void *from,
                           size_t bytes) {
    CudaDevice *device = (CudaDevice *)gpu;
    Status status = enter(device);
    if (status != STATUS_OK) return status;
    return leave(device, "cuMemcpyHtoDAsync",
                 device->cu.write_beside(to, from, bytes, NULL));
}

static Status read_after(GpuDevice *gpu, void *to, uint64_t from, size_t bytes) {
    CudaDevice *device = (CudaDevice *)gpu;
    Status status = enter(device);
    if (status != STATUS_OK) return status;
    return leave(device, "cuMemcpyDtoHAsync",
                 device->cu.read_beside(to, from, bytes, NULL));
}

static Status start(GpuDevice *gpu, const GpuFunction *function, uint64_t control,
                    uint64_t items, uint32_t group) {
    CudaDevice *device = (CudaDevice *)gpu;
    uint64_t heap = 0; // addresses are whole
    void *arguments[] = {&heap, &control};
    Status status = enter(device);
    if (status != STATUS_OK) return status;
    return leave(device, "cuLaunchKernel",
                 device->cu.launch(function->kernel, (unsigned)(items / group), 1, 1,
                                   group, 1, 1, 0, NULL, arguments, NULL));
}

static Status await_all(GpuDevice *gpu) {
    CudaDevice *device = (CudaDevice *)gpu;
    Status status = enter(device);
    if (status != STATUS_OK) return status;
    return leave(device, "cuStreamSynchronize", device->cu.await_stream(NULL));
}

static void unpin(GpuDevice *gpu, void *memory) {
    CudaDevice *device = (CudaDevice *)gpu;
    if (enter(device) == STATUS_OK)
        leave(device, "cuMemFreeHost", device->cu.unpin(memory));
}

// Only from and to what is locked in memory does the driver copy beside the host.
static void *pin(GpuDevice *gpu, size_t bytes) {
    CudaDevice *device = (CudaDevice *)gpu;
    void *memory;
    if (enter(device) != STATUS_OK) return NULL;
    CuResult error = device->cu.pin(&memory, bytes);
    if (leave(device, "cuMemAllocHost", error) == STATUS_OK) return memory;
    if (error == 0) unpin(gpu, memory);
    return NULL;
}

// ---- opening and closing ------------------------------------------------------------

static void end_stream(CudaDevice *device, void *stream) {
    if (stream != NULL && enter(device) == STATUS_OK)
        leave(device, "cuStreamDestroy", device->cu.end_stream(stream));
}

static Status new_stream(CudaDevice *device, void **stream) {
    Status status = enter(device);
    if (status != STATUS_OK) return status;
    CuResult error = device->cu.stream(stream, CU_NON_BLOCKING);
    if (error != 0) *stream = NULL;
    return leave(device, "cuStreamCreate", error);
}

static void close_device(Device *base) {
    CudaDevice *device = (CudaDevice *)base;
    gpu_close(&device->gpu);
    drop_all(device, &device->regions);
    drop_all(device, &device->dropped);
    heap_free(&device->heap);
    end_stream(device, device->reads);
    end_stream(device, device->writes);
    if (device->context != NULL) device->cu.release(device->device);
    mem_free(base->mem, device, sizeof *device);
}

static const DeviceOps device_ops = {
    .close = close_device,
    .alloc = alloc,
    .free = give_back,
    .write = write_bytes,
    .read = read_bytes,
    .copy = copy_bytes,
    .trim = trim,
    .build = gpu_build,
    .unload = gpu_unload,
    .launch = gpu_launch,
    .settle = gpu_settle,
};
static const GpuOps gpu_ops = {
    .load = load,
    .unload = unload,
    .find = find,
    .write = write_before,
    .read = read_after,
    .start = start,
    .wait = await_all,
    .pin = pin,
    .unpin = unpin,
};

static Status start_device(CudaDevice *device) {
    CuResult error = device->cu.retain(&device->context, device->device);
    if (error != 0) {
        device->context = NULL;
        return fail(device, "cuDevicePrimaryCtxRetain", error);
    }
    Status status = new_stream(device, &device->writes);
    return status == STATUS_OK ? new_stream(device, &device->reads) : status;
}

static Status open_cuda(Mem *mem, int number, Device **device_out,
                        char why_out[DEVICE_WHY]) {
    Driver cu;
    Compiler compiler;
    Facts facts;
    LibraryEnd end;
    int count = find_devices(&cu, &end, why_out);
    if (end == LIBRARY_NONE)
        snprintf(why_out, DEVICE_WHY,
                 "there is no CUDA here: install NVIDIA's driver, with libcuda.so.1");
    if (count == 0) return end == LIBRARY_BROKEN ? STATUS_IO : STATUS_USAGE;
    if (number >= count) {
        snprintf(why_out, DEVICE_WHY, "there is no cuda:%d: the last is cuda:%d",
                 number, count - 1);
        return STATUS_USAGE;
    }
    examine(&cu, &compiler, number, &facts);
    if (facts.why_not[0] != '\0') {
        snprintf(why_out, DEVICE_WHY, "%.100s cannot run kernels: %.300s", facts.name,
                 facts.why_not);
        return STATUS_USAGE;
    }
    CudaDevice *device = mem_try_alloc(mem, sizeof *device);
    if (device == NULL) return STATUS_MEMORY;
    *device = (CudaDevice){.gpu = {.ops = &gpu_ops, .memory = facts.memory},
                           .cu = cu,
                           .compiler = compiler,
                           .device = facts.device,
                           .target = facts.target,
                           .is_exact = facts.is_exact};
    dev_begin(&device->gpu.base, mem, DEVICE_CUDA, number, &device_ops);
    device->gpu.base.has_atomics_64 = true;
    gpu_set_items(&device->gpu, (unsigned)facts.cores, false);
    snprintf(device->identity, sizeof device->identity, "%s\n%s", facts.name,
             facts.driver);
    heap_init(&device->heap, mem);
    Status status = start_device(device);
    if (status == STATUS_OK) {
        *device_out = &device->gpu.base;
        return STATUS_OK;
    }
    memcpy(why_out, device->gpu.base.why, DEVICE_WHY);
    close_device(&device->gpu.base);
    return status;
}

const DeviceDriver cuda_driver = {"cuda", list_cuda, open_cuda};
