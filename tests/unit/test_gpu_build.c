// SPDX-License-Identifier: Apache-2.0
//
// The code that GPUs get, of every example, of the benchmarks and of every scalar
// operator: OpenCL drivers build it, and NVRTC compiles it without a warning. That
// needs no GPU.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>

#include "api/api.h"
#include "emit/emit.h"
#include "operators.h"

// ---- NVRTC --------------------------------------------------------------------------

typedef struct NvrtcProgram NvrtcProgram;

static struct {
    int (*create)(NvrtcProgram **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(NvrtcProgram *, int, const char *const *);
    int (*log_size)(NvrtcProgram *, size_t *);
    int (*log)(NvrtcProgram *, char *);
    int (*destroy)(NvrtcProgram **);
} nvrtc;

static bool find_nvrtc(void) {
    static const char *const places[] = {
        "/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib/libnvrtc.so",
        "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};
    const char *root = getenv("CUDA_PATH");
    char own[4096];
    snprintf(own, sizeof own, "%s/lib64/libnvrtc.so", root == NULL ? "" : root);
    void *library = dlopen(own, RTLD_NOW);
    for (size_t i = 0; i < sizeof places / sizeof *places && library == NULL; i++)
        library = dlopen(places[i], RTLD_NOW);
    if (library == NULL) return false;
    *(void **)&nvrtc.create = dlsym(library, "nvrtcCreateProgram");
    *(void **)&nvrtc.compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)&nvrtc.log_size = dlsym(library, "nvrtcGetProgramLogSize");
    *(void **)&nvrtc.log = dlsym(library, "nvrtcGetProgramLog");
    *(void **)&nvrtc.destroy = dlsym(library, "nvrtcDestroyProgram");
    return nvrtc.create != NULL && nvrtc.compile != NULL && nvrtc.log_size != NULL &&
           nvrtc.log != NULL && nvrtc.destroy != NULL;
}

static void compile(const char *name, const char *source) {
    static const char *const options[] = {"--fmad=false", "--device-debug"};
    NvrtcProgram *program;
    size_t size = 0;
    CHECK(nvrtc.create(&program, source, name, 0, NULL, NULL) == 0);
    CHECK(nvrtc.compile(program, 2, options) == 0);
    CHECK(nvrtc.log_size(program, &size) == 0);
    char *log = calloc(size + 1, 1);
    CHECK(nvrtc.log(program, log) == 0);
    bool is_quiet = log[0] == '\0';
    CHECK(is_quiet);
    if (!is_quiet) printf("%s: %.2000s\n", name, log);
    free(log);
    nvrtc.destroy(&program);
}

// ---- OpenCL -------------------------------------------------------------------------

typedef struct ClProgram ClProgram;

// The functions of the loader, as its headers say, which need not be here.
static struct {
    int (*platforms)(unsigned, void **, unsigned *);
    int (*devices)(void *, uint64_t, unsigned, void **, unsigned *);
    void *(*context)(const intptr_t *, unsigned, void *const *, void (*)(void), void *,
                     int *);
    ClProgram *(*create)(void *, unsigned, const char **, const size_t *, int *);
    int (*build)(ClProgram *, unsigned, void *const *, const char *, void (*)(void),
                 void *);
    int (*log)(ClProgram *, void *, unsigned, size_t, void *, size_t *);
    int (*release)(ClProgram *);
    int (*release_context)(void *);
} cl;
static void *cl_device, *cl_context;

static bool find_opencl(void) {
    const uint64_t all_types = 0xffffffff;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW), *platform;
    unsigned count = 0;
    int error = 0;
    if (library == NULL) return false;
    *(void **)&cl.platforms = dlsym(library, "clGetPlatformIDs");
    *(void **)&cl.devices = dlsym(library, "clGetDeviceIDs");
    *(void **)&cl.context = dlsym(library, "clCreateContext");
    *(void **)&cl.create = dlsym(library, "clCreateProgramWithSource");
    *(void **)&cl.build = dlsym(library, "clBuildProgram");
    *(void **)&cl.log = dlsym(library, "clGetProgramBuildInfo");
    *(void **)&cl.release = dlsym(library, "clReleaseProgram");
    *(void **)&cl.release_context = dlsym(library, "clReleaseContext");
    if (cl.platforms(1, &platform, &count) != 0 || count == 0) return false;
    if (cl.devices(platform, all_types, 1, &cl_device, &count) != 0) return false;
    cl_context = cl.context(NULL, 1, &cl_device, NULL, NULL, &error);
    return cl_context != NULL;
}

static void build(const char *name, const char *source) {
    enum { BUILD_LOG = 0x1183 };
    static char log[1 << 16];
    size_t size = strlen(source);
    int error = 0;
    ClProgram *program = cl.create(cl_context, 1, &source, &size, &error);
    CHECK(program != NULL);
    bool is_built = cl.build(program, 1, &cl_device, "-cl-std=CL1.2 -cl-opt-disable",
                             NULL, NULL) == 0;
    CHECK(is_built);
    CHECK(cl.log(program, cl_device, BUILD_LOG, sizeof log - 1, log, NULL) == 0);
    if (!is_built) printf("%s: %.2000s\n", name, log);
    cl.release(program);
}

// ---- what is built ------------------------------------------------------------------

static Mem mem;
static Arena arena;

static const char *operators_in_cuda(void) {
    static Operator operators[MOST_OPERATORS];
    uint32_t count = list_operators(operators);
    Cx cx;
    cx_init(&cx, &arena);
    StrBuf loop = strbuf(&arena), text = strbuf(&arena), tables = strbuf(&arena);
    put_operators(operators, count, &loop);
    const Source *source =
        sources_add(&cx.sources, STR("operators"), strbuf_done(&loop), false);
    LoopKernel *kernel = loop_read(&cx, &arena, core_program(&cx, &arena), source);
    LoopPlan plan;
    EmitChecks checks = {0};
    loop_plan(kernel, &arena, &plan);
    emit_launches(&emit_cuda, &kernel, &plan, 1, false, &(Arena){.mem = arena.mem},
                  &text, &tables, &checks);
    return str_terminated(&arena, strbuf_done(&text));
}

static void test_file(WeftContext *context, const char *name) {
    const char *text;
    if (nvrtc.create != NULL) {
        CHECK(api_dump(context, name, "cuda", NULL, &text) == WEFT_STATUS_OK);
        compile(name, text);
    }
    if (cl_context != NULL) {
        CHECK(api_dump(context, name, "opencl", NULL, &text) == WEFT_STATUS_OK);
        build(name, text);
    }
}

int main(void) {
    glob_t files;
    WeftContext *context;
    arena_init(&arena, &mem);
    if (!find_nvrtc()) SKIP("NVRTC is not installed");
    else compile("operators", operators_in_cuda());
    if (!find_opencl()) SKIP("there is no OpenCL device");
    CHECK(weft_context_new(NULL, &context) == WEFT_STATUS_OK);
    CHECK(glob(WEFT_SOURCE_DIR "/examples/*/*.weft", 0, NULL, &files) == 0);
    CHECK(glob(WEFT_SOURCE_DIR "/bench/suite/work/*.weft", GLOB_APPEND, NULL, &files) ==
          0);
    for (size_t i = 0; i < files.gl_pathc; i++) test_file(context, files.gl_pathv[i]);
    globfree(&files);
    weft_context_free(context);
    if (cl_context != NULL) cl.release_context(cl_context);
    arena_free(&arena);
    CHECK(mem.used == 0);
    return test_done();
}
