// SPDX-License-Identifier: Apache-2.0
//
// OpenCL devices: memory against a plain model, launches of a small text that keeps to
// abi/gpu.h, and the cache of binaries. Skipped where there is no device.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/gpu.h"
#include "dev/cache.h"
#include "dev/dev.h"
#include "dev/gpu.h"
#include "test.h"

static char home[] = "/tmp/weft-opencl-XXXXXX";
static Mem mem;
static Arena arena;
static Device *device;

static uint32_t next_random(void) {
    static uint32_t state = 4711;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

// The first device that is fit to run kernels; NULL: none.
static const char *find_device(void) {
    DeviceInfo *infos;
    uint32_t count = dev_list(&arena, &infos);
    for (uint32_t i = 0; i < count; i++)
        if (infos[i].kind == DEVICE_OPENCL && infos[i].cannot == NULL)
            return infos[i].address;
    return NULL;
}

static Device *open_device(const char *address) {
    Device *opened = NULL;
    Str why = STR("");
    CHECK(dev_open(&mem, &arena, address, &opened, &why) == STATUS_OK);
    if (opened == NULL) printf("%.*s\n", STR_ARG(why));
    return opened;
}

// ---- memory -------------------------------------------------------------------------

enum { BLOCKS = 40, LARGEST = 3 << 20 };

typedef struct Block {
    uint64_t address;
    size_t bytes;
    unsigned char *copy; // what it should hold
} Block;

static void fill(unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)next_random();
}

static void make_block(Block *block) {
    block->bytes = next_random() % (next_random() % 4 == 0 ? LARGEST : 5000);
    block->copy = malloc(block->bytes + 1);
    fill(block->copy, block->bytes);
    CHECK(dev_alloc(device, block->bytes, &block->address) == STATUS_OK);
    CHECK(block->address != 0 && block->address % 64 == 0);
    CHECK(dev_write(device, block->address, block->copy, block->bytes) == STATUS_OK);
}

static void check_block(const Block *block) {
    unsigned char *found = malloc(block->bytes + 1);
    CHECK(dev_read(device, found, block->address, block->bytes) == STATUS_OK);
    CHECK(memcmp(found, block->copy, block->bytes) == 0);
    free(found);
}

static void drop_block(Block *block) {
    check_block(block);
    dev_free(device, block->address, block->bytes);
    free(block->copy);
    *block = (Block){0};
}

static void copy_part(Block *to, const Block *from) {
    size_t most = to->bytes < from->bytes ? to->bytes : from->bytes;
    size_t bytes = next_random() % (most + 1);
    size_t at = next_random() % (to->bytes - bytes + 1);
    memcpy(to->copy + at, from->copy, bytes);
    CHECK(dev_copy(device, to->address + at, from->address, bytes) == STATUS_OK);
}

// Some 60 MiB in the end, so that the heap grows several times.
static void test_memory(void) {
    Block blocks[BLOCKS] = {{0}};
    for (int i = 0; i < 400; i++) {
        Block *block = &blocks[next_random() % BLOCKS];
        Block *other = &blocks[next_random() % BLOCKS];
        if (block->copy == NULL) make_block(block);
        else if (next_random() % 3 == 0) drop_block(block);
        else if (other != block && other->copy != NULL) copy_part(block, other);
        else check_block(block);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].copy != NULL) drop_block(&blocks[i]);
    CHECK(device->counts.used == 0 && device->counts.peak > 16 << 20);
}

static void test_no_memory(void) {
    uint64_t address = 7;
    CHECK(dev_alloc(device, SIZE_MAX, &address) == STATUS_MEMORY && address == 7);
    CHECK(dev_alloc(device, (size_t)1 << 50, &address) == STATUS_MEMORY);
    CHECK(strstr(device->why, device->address) != NULL);
    CHECK(device->counts.used == 0);
}

// ---- launches -----------------------------------------------------------------------

static const char types[] = "typedef char int8_t; typedef uchar uint8_t;\n"
                            "typedef int int32_t; typedef uint uint32_t;\n"
                            "typedef long int64_t; typedef ulong uint64_t;\n"
                            "#define WEFT_GPU_CODE\n";

static const char kernels[] =
    "#define AT(T, address) ((__global T *)(heap + (address)))\n"
    "#define BEGIN(name) \\\n"
    "__kernel void name(__global char *heap, ulong at) { \\\n"
    "  __global GpuControl *c = AT(GpuControl, at); \\\n"
    "  __global ulong *frame = AT(ulong, c->frame); \\\n"
    "  for (long i = c->begin + get_global_id(0); i < c->end; i += get_global_size(0)) "
    "{\n"
    "#define END } }\n"
    "void fail(__global GpuControl *c, long i, ulong value) {\n"
    "  uint turn = (uint)(i - c->begin);\n"
    "  atomic_min(&c->least, turn);\n"
    "  uint place = atomic_inc(&c->fault_count);\n"
    "  if (place >= GPU_FAULTS) return;\n"
    "  c->faults[place].turn = turn;\n"
    "  c->faults[place].check = 5;\n"
    "  c->faults[place].call_count = 1;\n"
    "  c->faults[place].calls[0] = 77;\n"
    "  c->faults[place].values[0] = value;\n"
    "}\n"
    // to[i] = from[i] + table[i % 4]
    "BEGIN(weft_0_launch_0)\n"
    "  AT(int, frame[1])[i] = AT(int, frame[0])[i] + AT(int, c->tables)[i % 4];\n"
    "END\n"
    // Fails where from[i] < 0.
    "BEGIN(weft_0_launch_1)\n"
    "  int x = AT(int, frame[0])[i];\n"
    "  if (x < 0) fail(c, i, (ulong)-x);\n"
    "END\n"
    // Turn i needs (i % 5) * frame[1] bytes of private memory; fails at frame[2].
    "BEGIN(weft_0_launch_2)\n"
    "  __global char *mine = AT(char, c->arena + get_global_id(0) * c->arena_bytes);\n"
    "  ulong need = i % 5 * frame[1];\n"
    "  if (need > c->arena_bytes) { c->is_short = 1; continue; }\n"
    "  for (ulong j = 0; j < need; j++) mine[j] = (char)(i + j);\n"
    "  int sum = 0;\n"
    "  for (ulong j = 0; j < need; j++) sum += mine[j];\n"
    "  AT(int, frame[0])[i] = sum;\n"
    "  if (i == frame[2]) fail(c, i, i);\n"
    "END\n"
    // Statements: the sum and the difference of two numbers, and how many run it.
    "BEGIN(weft_0_launch_3)\n"
    "  frame[2] = frame[0] + frame[1];\n"
    "  frame[3] = frame[0] - frame[1];\n"
    "  frame[4] = get_global_size(0);\n"
    "END\n"
    // Counts turns.
    "BEGIN(weft_0_launch_4)\n"
    "  atomic_inc(AT(uint, frame[0]) + i % 16);\n"
    "END\n";

static const int table[4] = {100, 200, 300, 400};
static const Str tables = {(const char *)table, sizeof table};

static Str read_abi(void) {
    StrBuf text = strbuf(&arena);
    FILE *file = fopen(WEFT_SOURCE_DIR "/src/abi/gpu.h", "r");
    CHECK(file != NULL);
    for (int c; (c = getc(file)) != EOF;) strbuf_char(&text, (char)c);
    fclose(file);
    return strbuf_done(&text);
}

static Str make_source(const char *text) {
    StrBuf source = strbuf(&arena);
    strbuf_cstr(&source, types);
    strbuf_str(&source, read_abi());
    strbuf_cstr(&source, text);
    return strbuf_done(&source);
}

static void *build(const char *text) {
    void *code = NULL;
    Status status = dev_build(device, make_source(text), tables, NULL, &code);
    CHECK(status == STATUS_OK);
    if (status != STATUS_OK) printf("%s\n", device->why);
    return code;
}

static uint64_t put(const void *bytes, size_t size) {
    uint64_t address = 0;
    CHECK(dev_alloc(device, size, &address) == STATUS_OK);
    CHECK(dev_write(device, address, bytes, size) == STATUS_OK);
    return address;
}

static void take(void *bytes, uint64_t address, size_t size) {
    CHECK(dev_read(device, bytes, address, size) == STATUS_OK);
    dev_free(device, address, size);
}

static void test_turns(void *code) {
    static const int64_t sizes[] = {1, 2, 63, 64, 65, 1000, 2047, 2049, 100003};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t n = (size_t)sizes[k];
        int *from = malloc(n * sizeof *from), *to = malloc((n + 1) * sizeof *to);
        for (size_t i = 0; i < n; i++) from[i] = (int)next_random();
        for (size_t i = 0; i <= n; i++) to[i] = -1;
        uint64_t a = put(from, n * sizeof *from), b = put(to, (n + 1) * sizeof *to);
        GpuFault fault;
        DeviceLaunch launch = {.code = code,
                               .function = "weft_0_launch_0",
                               .turns = sizes[k],
                               .ins = (uint64_t[]){a, b},
                               .in_count = 2};
        CHECK(dev_launch(device, &launch, &fault) == LAUNCH_OK);
        take(to, b, (n + 1) * sizeof *to);
        dev_free(device, a, n * sizeof *from);
        bool is_right = to[n] == -1;
        for (size_t i = 0; i < n; i++) is_right &= to[i] == from[i] + table[i % 4];
        CHECK(is_right);
        free(from);
        free(to);
    }
}

static void test_statements(void *code) {
    uint64_t outs[3] = {0};
    GpuFault fault;
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_3",
                           .turns = 1,
                           .ins = (uint64_t[]){1000, 77},
                           .in_count = 2,
                           .outs = outs,
                           .out_count = 3};
    uint64_t launches = device->counts.launches, writes = device->counts.writes;
    CHECK(dev_launch(device, &launch, &fault) == LAUNCH_OK);
    CHECK(outs[0] == 1077 && outs[1] == 923 && outs[2] == 1);
    CHECK(device->counts.launches == launches + 1 && device->counts.writes == writes);
    launch.turns = 0;
    outs[0] = 5;
    CHECK(dev_launch(device, &launch, &fault) == LAUNCH_OK && outs[0] == 5);
    launch.function = "weft_0_launch_99";
    CHECK(dev_launch(device, &launch, &fault) == LAUNCH_BROKEN);
    CHECK(strstr(device->why, "clCreateKernel") != NULL);
}

// `failing` turns of n fail, the first of them `first`.
static void check_fault(void *code, int n, int first, int failing) {
    int *from = calloc((size_t)n, sizeof *from);
    for (int i = 0; i < failing; i++) {
        int at = first + (i == 0 ? 0 : (int)(next_random() % (uint32_t)(n - first)));
        from[at] = -1 - at;
    }
    uint64_t a = put(from, (size_t)n * sizeof *from);
    GpuFault fault = {0};
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_1",
                           .turns = n,
                           .ins = &a,
                           .in_count = 1,
                           .may_repeat = true,
                           .fails_alike = true};
    CHECK(dev_launch(device, &launch, &fault) == LAUNCH_FAULT);
    CHECK(fault.turn == (uint32_t)first && fault.check == 5);
    CHECK(fault.call_count == 1 && fault.calls[0] == 77);
    CHECK(fault.values[0] == (uint64_t)first + 1);
    launch.fails_alike = false; // then the record may be lost, but not which turn it was
    CHECK(dev_launch(device, &launch, &fault) == LAUNCH_FAULT);
    CHECK(fault.turn == (uint32_t)first);
    CHECK(fault.check == 5 ? fault.values[0] == (uint64_t)first + 1
                           : fault.check == -1 && failing > GPU_FAULTS);
    dev_free(device, a, (size_t)n * sizeof *from);
    free(from);
}

static void test_faults(void *code) {
    check_fault(code, 1, 0, 1);
    check_fault(code, 100, 99, 1);
    check_fault(code, 5000, 2500, 1);
    check_fault(code, 5000, 1, 60);
    check_fault(code, 50000, 17, 20000);
    check_fault(code, 300000, 299000, 5000);
}

// Private memory of `unit` bytes and more; returns how the launch ended.
static LaunchEnd run_private(void *code, size_t unit, uint64_t fault_at,
                             bool may_repeat) {
    enum { N = 300 };
    int sums[N] = {0};
    uint64_t a = put(sums, sizeof sums);
    GpuFault fault = {0};
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_2",
                           .turns = N,
                           .ins = (uint64_t[]){a, unit, fault_at},
                           .in_count = 3,
                           .has_private = true,
                           .may_repeat = may_repeat,
                           .fails_alike = true};
    LaunchEnd end = dev_launch(device, &launch, &fault);
    take(sums, a, sizeof sums);
    bool is_right = true;
    for (size_t i = 0; i < N; i++) {
        int sum = 0;
        for (size_t j = 0; j < i % 5 * unit; j++) sum += (signed char)(i + j);
        is_right &= sum == sums[i];
    }
    CHECK(is_right || end != LAUNCH_OK);
    if (end == LAUNCH_FAULT)
        CHECK(fault.turn == fault_at && fault.values[0] == fault_at);
    return end;
}

static void test_private(void *code) {
    CHECK(run_private(code, 100, 1000, true) == LAUNCH_OK);
    CHECK(run_private(code, 100000, 1000, true) == LAUNCH_OK);
    CHECK(run_private(code, 100000, 1000, false) == LAUNCH_OK);
    CHECK(run_private(code, 100000, 299, true) == LAUNCH_FAULT);
    CHECK(run_private(code, 1000000, 1000, true) == LAUNCH_OK);
    uint64_t all, most = device->counts.used + (64 << 20);
    device->limit = most;
    CHECK(dev_alloc(device, 60 << 20, &all) == STATUS_OK); // what launches kept went
    CHECK(run_private(code, 1000000, 1000, true) == LAUNCH_MEMORY);
    CHECK(strstr(device->why, "private memory") != NULL);
    dev_free(device, all, 60 << 20);
    CHECK(run_private(code, 1000000, 1000, true) == LAUNCH_OK);
    device->limit = 0;
}

// Code of its own, for which nothing is remembered.
static void test_private_once(void) {
    void *code = build(kernels);
    CHECK(run_private(code, 2000000, 1000, false) == LAUNCH_MEMORY);
    dev_unload(device, code);
}

typedef struct Watch {
    atomic_bool cancel;
    int64_t last, cancel_at;
    int calls;
    bool is_ordered;
} Watch;

static void watch_progress(void *data, int64_t done) {
    Watch *watch = data;
    watch->is_ordered &= done > watch->last;
    watch->last = done;
    watch->calls++;
    if (done >= watch->cancel_at) atomic_store(&watch->cancel, true);
}

static LaunchEnd count_turns(void *code, int64_t turns, Watch *watch,
                             uint64_t *counted_out) {
    uint32_t counts[16] = {0};
    uint64_t a = put(counts, sizeof counts);
    GpuFault fault;
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_4",
                           .turns = turns,
                           .ins = &a,
                           .in_count = 1,
                           .cancel = &watch->cancel,
                           .progress = watch_progress,
                           .data = watch};
    LaunchEnd end = dev_launch(device, &launch, &fault);
    take(counts, a, sizeof counts);
    *counted_out = 0;
    for (int i = 0; i < 16; i++) *counted_out += counts[i];
    return end;
}

static void test_cancel(void *code) {
    uint64_t counted;
    Watch watch = {.cancel_at = INT64_MAX, .is_ordered = true};
    CHECK(count_turns(code, 3000000, &watch, &counted) == LAUNCH_OK);
    CHECK(counted == 3000000 && watch.last == 3000000);
    CHECK(watch.is_ordered && watch.calls > 1);
    watch = (Watch){.cancel_at = 1000, .is_ordered = true};
    CHECK(count_turns(code, (int64_t)1 << 40, &watch, &counted) == LAUNCH_CANCELLED);
    CHECK(counted == (uint64_t)watch.last && watch.last < (int64_t)1 << 40);
    CHECK(count_turns(code, 1000, &watch, &counted) == LAUNCH_CANCELLED &&
          counted == 0);
}

// ---- code ---------------------------------------------------------------------------

static void test_errors_in_source(void) {
    void *code = NULL;
    Str source =
        STR("__kernel void weft_0_launch_0(__global char *heap) { nonsense }\n");
    CHECK(dev_build(device, source, tables, NULL, &code) == STATUS_IO && code == NULL);
    CHECK(strstr(device->why, device->address) != NULL);
    const char *log = strstr(device->why, home);
    CHECK(log != NULL && access(log, R_OK) == 0 && strstr(log, ".log") != NULL);
    if (log != NULL) unlink(log);
    CHECK(dev_build(device, STR("\1\2\377"), tables, NULL, &code) == STATUS_IO);
    atomic_bool cancel = true;
    CHECK(dev_build(device, source, tables, &cancel, &code) == STATUS_CANCELLED);
}

static const char small[] = "BEGIN(weft_0_launch_0)\n"
                            "  frame[1] = frame[0] + 1;\n"
                            "END\n";

// Builds and runs it; returns whether the cache spared the compiler.
static bool is_cached(const char *text) {
    StrBuf all = strbuf(&arena);
    strbuf_bytes(&all, kernels, (size_t)(strstr(kernels, "void fail") - kernels));
    strbuf_printf(&all, "%s%c", text, 0);
    uint64_t builds = device->counts.builds, in = 41, out = 0;
    void *code = build(all.data);
    GpuFault fault;
    DeviceLaunch launch = {.code = code,
                           .function = "weft_0_launch_0",
                           .turns = 1,
                           .ins = &in,
                           .in_count = 1,
                           .outs = &out,
                           .out_count = 1};
    CHECK(dev_launch(device, &launch, &fault) == LAUNCH_OK && out == 42);
    dev_unload(device, code);
    return device->counts.builds == builds;
}

// Replaces what all entries hold, as they should be completed or not.
static void damage_entries(bool is_whole) {
    CacheEntries entries;
    const char *folder = cache_folder(&arena);
    cache_list(&arena, folder, &entries);
    CHECK(entries.len > 0);
    for (uint32_t i = 0; i < entries.len; i++) {
        StrBuf path = strbuf(&arena);
        strbuf_printf(&path, "%s/tmp-damaged%c", folder, 0);
        FILE *file = fopen(path.data, "wb");
        CHECK(file != NULL && fputs("no binary of any driver", file) >= 0);
        fclose(file);
        const char *name = entries.data[i].name;
        if (is_whole) CHECK(cache_add(&arena, folder, name, path.data));
        else CHECK(rename(path.data, cache_path(&arena, folder, name)) == 0);
    }
}

static void test_cache(void) {
    ((GpuDevice *)device)->keeps_binaries = true;
    CHECK(!is_cached(small) && is_cached(small));
    damage_entries(false);
    CHECK(!is_cached(small) && is_cached(small));
    damage_entries(true);
    CHECK(!is_cached(small) && is_cached(small));
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    CHECK(!is_cached(small) && !is_cached(small));
    setenv("XDG_CACHE_HOME", home, 1);
    cache_clear(&arena, cache_folder(&arena));
    CHECK(!is_cached(small));
}

// Each allocation of memory of the host fails in turn.
static void test_out_of_memory(const char *address) {
    Status status = STATUS_MEMORY;
    Str source = make_source(kernels);
    for (uint64_t k = 1; status != STATUS_OK; k++) {
        Str why = STR("");
        Device *opened = NULL;
        void *code = NULL;
        jmp_buf recover;
        mem.recover = &recover;
        mem.fail_at = mem.calls + k;
        if (setjmp(recover) != 0) status = STATUS_MEMORY;
        else status = dev_open(&mem, &arena, address, &opened, &why);
        if (opened != NULL) {
            status = dev_build(opened, source, tables, NULL, &code);
            CHECK(status == STATUS_OK || strstr(opened->why, "memory") != NULL);
        }
        mem.fail_at = 0;
        mem.recover = NULL;
        CHECK(status == STATUS_OK || status == STATUS_MEMORY);
        dev_close(opened); // and the code
        CHECK(k < 1000);
    }
}

int main(void) {
    arena_init(&arena, &mem);
    if (mkdtemp(home) == NULL) return 1;
    setenv("XDG_CACHE_HOME", home, 1);
    unsetenv("WEFT_OPENCL");
    const char *address = find_device();
    if (address == NULL) {
        SKIP("no OpenCL device");
    } else {
        device = open_device(address);
        test_memory();
        test_no_memory();
        void *code = build(kernels);
        test_turns(code);
        test_statements(code);
        test_faults(code);
        test_private(code);
        test_cancel(code);
        dev_unload(device, code);
        test_private_once();
        test_errors_in_source();
        test_cache();
        CHECK(device->counts.used == 0);
        dev_close(device);
        test_out_of_memory(address);
    }
    arena_free(&arena);
    CHECK(mem.used == 0);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", home);
    CHECK(system(command) == 0);
    return test_done();
}
