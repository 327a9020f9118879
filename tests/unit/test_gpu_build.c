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
#include "dev/dev.h"
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

// Without optimising, which takes most of the time and gives no warnings.
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

static Mem mem;
static Arena arena;

// The first OpenCL device that can run kernels; NULL: there is none.
static Device *open_opencl(void) {
    DeviceInfo *infos;
    Device *device = NULL;
    Str why;
    uint32_t count = dev_list(&arena, &infos);
    for (uint32_t i = 0; i < count && device == NULL; i++)
        if (infos[i].kind == DEVICE_OPENCL && infos[i].cannot == NULL)
            CHECK(dev_open(&mem, &arena, infos[i].address, &device, &why) == STATUS_OK);
    return device;
}

static void build(Device *device, const char *name, const char *source) {
    void *code = NULL;
    Status status = dev_build(device, str_of(source), STR("        "), NULL, &code);
    CHECK(status == STATUS_OK);
    if (status != STATUS_OK) printf("%s: %.2000s\n", name, device->why);
    else dev_unload(device, code);
}

// ---- what is built ------------------------------------------------------------------

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
    emit_launches(&emit_cuda, &kernel, &plan, 1, false, &text, &tables, &checks);
    return str_terminated(&arena, strbuf_done(&text));
}

int main(void) {
    arena_init(&arena, &mem);
    bool has_nvrtc = find_nvrtc();
    if (!has_nvrtc) SKIP("NVRTC is not installed");
    else compile("operators", operators_in_cuda());
    Device *device = open_opencl();
    if (device == NULL) SKIP("there is no OpenCL device");
    glob_t files;
    CHECK(glob(WEFT_SOURCE_DIR "/examples/*/*.weft", 0, NULL, &files) == 0);
    CHECK(glob(WEFT_SOURCE_DIR "/bench/native/*.weft", GLOB_APPEND, NULL, &files) == 0);
    WeftContext *context;
    CHECK(weft_context_new(NULL, &context) == WEFT_STATUS_OK);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *name = files.gl_pathv[i], *text;
        if (has_nvrtc) {
            CHECK(api_dump(context, name, "cuda", NULL, &text) == WEFT_STATUS_OK);
            compile(name, text);
        }
        if (device != NULL) {
            CHECK(api_dump(context, name, "opencl", NULL, &text) == WEFT_STATUS_OK);
            build(device, name, text);
        }
    }
    globfree(&files);
    weft_context_free(context);
    dev_close(device);
    arena_free(&arena);
    CHECK(mem.used == 0);
    return test_done();
}
