// SPDX-License-Identifier: Apache-2.0
//
// OpenCL and CUDA with false drivers (fake.h): what devices lack, libraries that are
// missing or incomplete, and every call of a driver failing in turn. Each gives a clear
// message or does no harm; nothing is left behind.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dev/cache.h"
#include "dev/dev.h"
#include "fake.h"
#include "test.h"

static char home[] = "/tmp/weft-drivers-XXXXXX";
static Mem mem;
static Arena arena;
static Fake *state; // of the driver in use

typedef struct Kind {
    const char *address, *variable, *file;
    uint64_t most_memory; // of a driver that gives little
    size_t much;          // more than it gives at first
} Kind;

static const Kind kinds[] = {
    {"opencl:0", "WEFT_OPENCL", WEFT_FAKES "/fake_opencl.so", 20 << 20, 6 << 20},
    {"cuda:0", "WEFT_CUDA", WEFT_FAKES "/fake_cuda.so", 40 << 20, 33 << 20},
};
enum { OPENCL, CUDA, KINDS };

static void use(const Kind *kind) {
    void *library = dlopen(kind->file, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    if (library == NULL) exit(1);
    state = dlsym(library, "fake");
    setenv(kind->variable, kind->file, 1);
}

static bool has(const char *text, const char *part) {
    return text != NULL && strstr(text, part) != NULL;
}

static Status open_device(const char *address, Device **device_out, const char **why) {
    Str text = STR("");
    *device_out = NULL;
    Status status = dev_open(&mem, &arena, address, device_out, &text);
    *why = status == STATUS_OK ? "" : str_terminated(&arena, text);
    return status;
}

// What dev_list says of the device or its driver.
static DeviceInfo find_info(const char *prefix) {
    DeviceInfo *infos;
    uint32_t count = dev_list(&arena, &infos);
    for (uint32_t i = 0; i < count; i++)
        if (strncmp(infos[i].address, prefix, strlen(prefix)) == 0) return infos[i];
    return (DeviceInfo){.address = ""};
}

// ---- what devices lack --------------------------------------------------------------

typedef struct Lack {
    const char *what, *message;
    bool has_device;
} Lack;

static void check_lack(const Kind *kind, const Lack *lack) {
    char prefix[16];
    snprintf(prefix, sizeof prefix, "%.*s", (int)strcspn(kind->address, ":"),
             kind->address);
    setenv("FAKE_LACKS", lack->what, 1);
    DeviceInfo info = find_info(prefix);
    CHECK(has(info.cannot, lack->message));
    CHECK(strcmp(info.address, lack->has_device ? kind->address : prefix) == 0);
    CHECK((info.name != NULL) == lack->has_device);
    Device *device;
    const char *why;
    CHECK(open_device(kind->address, &device, &why) == STATUS_USAGE);
    CHECK(device == NULL && has(why, lack->message));
    unsetenv("FAKE_LACKS");
}

static void test_lacks(void) {
    static const Lack opencl[] = {
        {"platforms", "no device", false},
        {"devices", "no device", false},
        {"f64", "no f64", true},
        {"rounding", "not correctly rounded", true},
        {"denormals", "no denormals", true},
        {"infinities", "no infinities", true},
        {"fma", "no fused multiply-add", true},
        {"compiler", "no compiler", true},
        {"availability", "not available", true},
        {"endianness", "big-endian", true},
        {"addresses", "64 bits", true},
        {"version", "OpenCL 1.2", true},
    };
    static const Lack cuda[] = {
        {"devices", "no GPU", false},
        {"youth", "too old", true},
    };
    for (size_t i = 0; i < sizeof opencl / sizeof *opencl; i++)
        check_lack(&kinds[OPENCL], &opencl[i]);
    for (size_t i = 0; i < sizeof cuda / sizeof *cuda; i++)
        check_lack(&kinds[CUDA], &cuda[i]);
}

// Of 64 bits, which both extensions of OpenCL make.
static void check_atomics(const Kind *kind, bool has) {
    Device *device;
    const char *why;
    CHECK(open_device(kind->address, &device, &why) == STATUS_OK);
    CHECK(device != NULL && device->has_atomics_64 == has);
    dev_close(device);
}

static void test_atomics(void) {
    check_atomics(&kinds[OPENCL], true);
    check_atomics(&kinds[CUDA], true);
    setenv("FAKE_LACKS", "atomics", 1);
    check_atomics(&kinds[OPENCL], false);
    unsetenv("FAKE_LACKS");
}

static void test_description(void) {
    DeviceInfo info = find_info("opencl");
    CHECK(info.cannot == NULL && strcmp(info.name, "False Device") == 0);
    CHECK(strcmp(info.driver, "False Platform 1.0") == 0 && !info.is_processor);
    CHECK(info.cores == 2 && info.memory == 1 << 26 && info.kind == DEVICE_OPENCL);
    info = find_info("cuda");
    CHECK(info.cannot == NULL && strcmp(info.name, "False GPU") == 0);
    CHECK(strcmp(info.driver, "CUDA 12.4, NVRTC 12.3") == 0 && !info.is_processor);
    CHECK(info.cores == 2 && info.memory == 1 << 28 && info.kind == DEVICE_CUDA);
}

// ---- libraries ----------------------------------------------------------------------

static void check_library(const Kind *kind, const char *variable, const char *file,
                          Status wanted, const char *message) {
    char *before = strdup(getenv(variable));
    setenv(variable, file, 1);
    Device *device;
    const char *why;
    CHECK(open_device(kind->address, &device, &why) == wanted);
    CHECK(has(why, message));
    char prefix[16];
    snprintf(prefix, sizeof prefix, "%.4s", kind->address);
    CHECK(has(find_info(prefix).cannot, message));
    setenv(variable, before, 1);
    free(before);
}

static void test_libraries(void) {
    const Kind *opencl = &kinds[OPENCL], *cuda = &kinds[CUDA];
    const char *nowhere = "/nowhere/lib.so";
    check_library(opencl, "WEFT_OPENCL", nowhere, STATUS_IO, "$WEFT_OPENCL cannot");
    check_library(cuda, "WEFT_CUDA", nowhere, STATUS_IO, "$WEFT_CUDA cannot");
    check_library(cuda, "WEFT_NVRTC", nowhere, STATUS_USAGE, "$WEFT_NVRTC cannot");
    check_library(opencl, "WEFT_OPENCL", cuda->file, STATUS_IO, "has no clGet");
    check_library(cuda, "WEFT_CUDA", opencl->file, STATUS_IO, "has no cuInit");
    check_library(cuda, "WEFT_NVRTC", opencl->file, STATUS_USAGE, "has no nvrtc");
    check_library(opencl, "WEFT_OPENCL", "/etc/passwd", STATUS_IO, "cannot be loaded");
}

static void test_numbers(void) {
    Device *device;
    const char *why;
    CHECK(open_device("opencl:1", &device, &why) == STATUS_USAGE);
    CHECK(has(why, "there is no opencl:1: the last is opencl:0"));
    CHECK(open_device("cuda:9999", &device, &why) == STATUS_USAGE);
    CHECK(has(why, "there is no cuda:9999: the last is cuda:0"));
}

// ---- all that a device does ---------------------------------------------------------

enum { N = 1000 };

// The allocations of a run, to be freed in any case.
typedef struct Run {
    const Kind *kind;
    Device *device;
    uint64_t from, to, much;
    bool has_from, has_to, has_much;
} Run;

// A call may have failed, with a message.
static bool is_fine(const Run *run, bool ended_well) {
    if (!ended_well) CHECK(run->device->why[0] != '\0');
    return ended_well;
}

static bool prepare(Run *run, const int32_t *numbers) {
    Device *d = run->device;
    size_t size = N * sizeof *numbers;
    run->has_from = is_fine(run, dev_alloc(d, size, &run->from) == STATUS_OK);
    run->has_to = is_fine(run, dev_alloc(d, size, &run->to) == STATUS_OK);
    run->has_much =
        is_fine(run, dev_alloc(d, run->kind->much, &run->much) == STATUS_OK);
    if (!run->has_from || !run->has_to || !run->has_much) return false;
    return is_fine(run, dev_write(d, run->much, numbers, size) == STATUS_OK) &&
           is_fine(run, dev_copy(d, run->from, run->much, size) == STATUS_OK);
}

// How often the host has begun and ended to wait for a launch, and the driver's calls
// when it began.
typedef struct Idle {
    Run *run;
    int begun, ended, calls;
} Idle;

// A heap that a kernel is handed stays where it is, with the room that was asked for.
static void check_growth(const Run *run) {
    uint64_t address;
    int calls = state->calls;
    if (run->kind != &kinds[OPENCL]) return;
    if (state->most_memory == 0 && state->fail_at == 0) {
        CHECK(dev_alloc(run->device, run->kind->much, &address) == STATUS_OK);
        dev_free(run->device, address, run->kind->much);
    }
    CHECK(dev_alloc(run->device, run->kind->much * 4, &address) == STATUS_MEMORY);
    CHECK(state->calls == calls);
}

// What is freed and taken meanwhile makes nobody wait: the driver is told afterwards.
static void check_freeing(Run *run) {
    uint64_t again;
    int frees = state->frees, calls = state->calls;
    if (run->kind != &kinds[CUDA]) return;
    dev_free(run->device, run->much, run->kind->much);
    CHECK(dev_alloc(run->device, run->kind->much, &again) == STATUS_OK);
    CHECK(again == run->much && state->frees == frees && state->calls == calls);
}

static void note_idle(void *data, bool begins) {
    Idle *idle = data;
    if (begins) check_growth(idle->run);
    if (begins) check_freeing(idle->run);
    CHECK(idle->begun - idle->ended == !begins); // in turns
    if (begins) idle->calls = state->calls;
    else CHECK(state->calls > idle->calls || state->fail_at != 0); // it did wait
    idle->begun += begins;
    idle->ended += !begins;
}

static bool add_table(Run *run, void *code, const int32_t *numbers) {
    static const int32_t table[4] = {10, 20, 30, 40};
    int32_t sums[N];
    GpuFault fault;
    Idle idle = {.run = run};
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_0",
                           .turns = N,
                           .ins = (uint64_t[]){run->from, run->to},
                           .in_count = 2,
                           .room = run->kind->much,
                           .idle = &(DeviceIdle){note_idle, &idle}};
    LaunchEnd end = dev_launch(run->device, &launch, &fault);
    CHECK(idle.begun == idle.ended && (idle.begun > 0 || end != LAUNCH_OK));
    CHECK(end == LAUNCH_OK || end == LAUNCH_BROKEN || end == LAUNCH_MEMORY);
    if (!is_fine(run, end == LAUNCH_OK) ||
        !is_fine(run, dev_read(run->device, sums, run->to, sizeof sums) == STATUS_OK))
        return false;
    bool is_right = true;
    for (int i = 0; i < N; i++) is_right &= sums[i] == numbers[i] + table[i % 4];
    CHECK(is_right);
    return true;
}

static bool find_negative(Run *run, void *code, uint32_t first) {
    GpuFault fault;
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_1",
                           .turns = N,
                           .ins = &run->from,
                           .in_count = 1,
                           .may_repeat = true,
                           .fails_alike = true};
    LaunchEnd end = dev_launch(run->device, &launch, &fault);
    CHECK(end == LAUNCH_FAULT || end == LAUNCH_BROKEN || end == LAUNCH_MEMORY);
    if (!is_fine(run, end == LAUNCH_FAULT)) return false;
    CHECK(fault.turn == first && fault.check == 5 && fault.values[0] == first);
    return true;
}

static bool use_private(Run *run, void *code) {
    uint64_t need = 20000, items = 0;
    GpuFault fault;
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_2",
                           .turns = N,
                           .ins = &need,
                           .in_count = 1,
                           .outs = &items,
                           .out_count = 1,
                           .has_private = true,
                           .may_repeat = true,
                           .fails_alike = true};
    LaunchEnd end = dev_launch(run->device, &launch, &fault);
    CHECK(end == LAUNCH_OK || end == LAUNCH_BROKEN || end == LAUNCH_MEMORY);
    if (!is_fine(run, end == LAUNCH_OK)) return false;
    CHECK(items > 0 && items * need <= 64 << 20);
    return true;
}

// A launch whose code is there is waited for once.
static void check_one_wait(Run *run, void *code, const int32_t *numbers) {
    int before = state->waits;
    if (!add_table(run, code, numbers)) return;
    // what it made is then read, for which the host waits, too
    if (state->fail_at == 0) CHECK(state->waits == before + 2);
}

// Launches that are sure are waited for together, when somebody wants to know, or what
// they leave no place for comes.
static bool launch_many(Run *run, void *code, const int32_t *numbers) {
    enum { MANY = 8 };
    static const int32_t table[4] = {10, 20, 30, 40};
    int32_t sums[N] = {0};
    GpuFault fault;
    bool is_well = true, is_right = true;
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_0",
                           .turns = N,
                           .ins = (uint64_t[]){run->from, run->to},
                           .in_count = 2,
                           .is_sure = true};
    int before = state->waits;
    for (int i = 0; i < MANY && is_well; i++)
        is_well = dev_launch(run->device, &launch, &fault) == LAUNCH_OK;
    if (is_well && state->fail_at == 0) CHECK(state->waits == before);
    is_well = is_fine(run, dev_settle(run->device, NULL) == STATUS_OK && is_well);
    if (is_well && state->fail_at == 0) CHECK(state->waits == before + 1);
    CHECK(dev_settle(run->device, NULL) == STATUS_OK); // nothing is left
    if (!is_well ||
        !is_fine(run, dev_read(run->device, sums, run->to, sizeof sums) == STATUS_OK))
        return false;
    for (int i = 0; i < N; i++) is_right &= sums[i] == numbers[i] + table[i % 4];
    CHECK(is_right);
    return true;
}

static bool run_kernels(Run *run, void *code, const int32_t *numbers, uint32_t first) {
    if (!add_table(run, code, numbers)) return false;
    check_one_wait(run, code, numbers);
    return launch_many(run, code, numbers) && find_negative(run, code, first) &&
           use_private(run, code);
}

// Does all of it once; returns whether all went well.
static bool run_all(const Kind *kind) {
    static const int32_t table[4] = {10, 20, 30, 40};
    int32_t numbers[N];
    const uint32_t first = 300;
    for (int i = 0; i < N; i++) numbers[i] = i < (int)first ? i : -i;
    Run run = {.kind = kind};
    const char *why;
    Status status = open_device(kind->address, &run.device, &why);
    CHECK(status == STATUS_OK || why[0] != '\0');
    if (status != STATUS_OK) return false;
    void *code = NULL;
    Str tables = {(const char *)table, sizeof table};
    status = dev_build(run.device, STR("right"), tables, NULL, &code);
    bool is_well = is_fine(&run, status == STATUS_OK) && prepare(&run, numbers) &&
                   run_kernels(&run, code, numbers, first);
    if (run.has_from) dev_free(run.device, run.from, sizeof numbers);
    if (run.has_to) dev_free(run.device, run.to, sizeof numbers);
    if (run.has_much) dev_free(run.device, run.much, kind->much);
    CHECK(run.device->counts.used == 0);
    if (state->calls % 2 == 0) dev_unload(run.device, code); // else with the device
    dev_close(run.device);
    return is_well;
}

static bool is_clean(void) {
    return state->live == 0 && state->contexts == 0;
}

// Fails each call of the driver in turn until a run has no more of them.
static void fail_each(const Kind *kind, int error) {
    int failed = 0;
    state->error = error;
    for (state->fail_at = 1;; state->fail_at++) {
        size_t used = mem.used;
        const ArenaChunk *chunks = arena.chunks;
        state->calls = 0;
        failed += !run_all(kind);
        state->contexts = 0; // of a pop that failed
        if (state->live != 0) printf("call %d failed\n", state->fail_at);
        CHECK(state->live == 0);
        state->live = 0;
        CHECK(mem.used == used || arena.chunks != chunks);
        if (state->calls < state->fail_at) break;
    }
    CHECK(failed > 30 && failed < state->fail_at);
    state->fail_at = 0;
}

static void test_failures(void) {
    static const int errors[KINDS][2] = {{-59, -4}, {999, 2}};
    for (int k = 0; k < KINDS; k++) {
        use(&kinds[k]);
        cache_clear(&arena, cache_folder(&arena));
        CHECK(run_all(&kinds[k]) && is_clean()); // fills the cache
        CHECK(run_all(&kinds[k]) && is_clean()); // uses it
        for (int e = 0; e < 2; e++) {
            setenv("XDG_CACHE_HOME", "/dev/null", 1);
            fail_each(&kinds[k], errors[k][e]);
            setenv("XDG_CACHE_HOME", home, 1);
            fail_each(&kinds[k], errors[k][e]);
        }
    }
}

// A driver that has memory, but not as much at once as is asked for first.
static void test_little_memory(void) {
    for (int k = 0; k < KINDS; k++) {
        use(&kinds[k]);
        Device *device;
        const char *why;
        uint64_t address;
        state->most_memory = kinds[k].most_memory;
        CHECK(open_device(kinds[k].address, &device, &why) == STATUS_OK);
        uint64_t blocks[3];
        size_t part = 6 << 20;
        for (int i = 0; i < 3; i++)
            CHECK(dev_alloc(device, part, &blocks[i]) == STATUS_OK);
        CHECK(dev_alloc(device, 50 << 20, &address) == STATUS_MEMORY);
        CHECK(has(device->why, kinds[k].address));
        for (int i = 0; i < 3; i++) dev_free(device, blocks[i], part);
        dev_close(device);
        state->most_memory = 0;
        CHECK(is_clean());
    }
}

// ---- code ---------------------------------------------------------------------------

static void check_wrong_source(const Kind *kind) {
    Device *device;
    const char *why;
    void *code = NULL;
    CHECK(open_device(kind->address, &device, &why) == STATUS_OK);
    CHECK(dev_build(device, STR("wrong"), STR(""), NULL, &code) == STATUS_IO);
    CHECK(code == NULL && has(device->why, "the compiler of"));
    const char *log = strstr(device->why, home);
    char text[64] = "";
    FILE *file = log != NULL ? fopen(log, "r") : NULL;
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
    if (file != NULL) fclose(file);
    CHECK(strcmp(text, "this is wrong") == 0);
    if (log != NULL) unlink(log);
    CHECK(dev_build(device, STR("right"), STR(""), NULL, &code) == STATUS_OK);
    GpuFault fault;
    DeviceLaunch launch = {.code = code, .function = "nothing", .turns = 1};
    CHECK(dev_launch(device, &launch, &fault) == LAUNCH_BROKEN);
    CHECK(device->why[0] != '\0');
    dev_close(device);
    CHECK(is_clean());
}

static void test_code(void) {
    for (int k = 0; k < KINDS; k++) {
        use(&kinds[k]);
        check_wrong_source(&kinds[k]);
    }
    // A GPU that the compiler does not know is given PTX.
    setenv("FAKE_LACKS", "target", 1);
    CHECK(run_all(&kinds[CUDA]) && run_all(&kinds[CUDA]) && is_clean());
    unsetenv("FAKE_LACKS");
    CHECK(run_all(&kinds[CUDA]) && is_clean());
}

// NVIDIA's own compiler takes our options; its code is too good for the false driver.
static void test_real_compiler(void) {
    static const char text[] =
        "extern \"C\" __global__ void f(char *heap, unsigned long long at) {\n"
        "  *(double *)(heap + at) /= 3.0;\n"
        "}\n";
    unsetenv("WEFT_NVRTC");
    Device *device = NULL;
    const char *why = "";
    if (find_info("cuda").cannot != NULL) {
        SKIP("no NVRTC");
    } else {
        void *code = NULL;
        CHECK(open_device("cuda:0", &device, &why) == STATUS_OK);
        CHECK(dev_build(device, str_of(text), STR(""), NULL, &code) == STATUS_IO);
        CHECK(has(device->why, "cuModuleLoadData"));
        CHECK(dev_build(device, STR("wrong"), STR(""), NULL, &code) == STATUS_IO);
        CHECK(has(device->why, "the compiler of cuda:0 failed"));
        dev_close(device);
    }
    setenv("WEFT_NVRTC", kinds[CUDA].file, 1);
}

// ---- memory of the host -------------------------------------------------------------

// With the n-th allocation failing.
static bool run_short(const Kind *kind, uint64_t n) {
    jmp_buf recover;
    mem.recover = &recover;
    mem.fail_at = mem.calls + n;
    bool is_well = setjmp(recover) == 0 && run_all(kind);
    mem.recover = NULL;
    mem.fail_at = 0;
    return is_well;
}

static void test_out_of_memory(void) {
    for (int k = 0; k < KINDS; k++) {
        use(&kinds[k]);
        uint64_t n = 1;
        for (; !run_short(&kinds[k], n); n++) CHECK(is_clean());
        CHECK(n > 5 && is_clean());
    }
}

int main(void) {
    mallopt(M_PERTURB, 0); // false devices have large memories, which nobody looks at
    arena_init(&arena, &mem);
    if (mkdtemp(home) == NULL) return 1;
    setenv("XDG_CACHE_HOME", home, 1);
    setenv("TMPDIR", home, 1); // logs go there where there is no cache
    for (int k = 0; k < KINDS; k++) use(&kinds[k]);
    setenv("WEFT_NVRTC", kinds[CUDA].file, 1);
    test_description();
    test_lacks();
    test_atomics();
    test_libraries();
    test_numbers();
    test_failures();
    test_little_memory();
    test_code();
    test_real_compiler();
    test_out_of_memory();
    arena_free(&arena);
    CHECK(mem.used == 0);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", home);
    CHECK(system(command) == 0);
    return test_done();
}
