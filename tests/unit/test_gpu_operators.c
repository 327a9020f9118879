// SPDX-License-Identifier: Apache-2.0
//
// Every scalar operator on every type, on every GPU and OpenCL device of this machine,
// compared with core_eval on special and random values. All are in one kernel, since
// drivers take long to build one.
#include "dev/dev.h"
#include "emit/emit.h"
#include "operators.h"

enum { TURNS = MOST_VALUES * MOST_VALUES };

typedef struct Trial {
    Mem mem;
    Arena arena;
    Cx cx;
    Operator operators[MOST_OPERATORS];
    uint32_t count, widths[SCALAR_COUNT]; // by type: how many give it
    LoopKernel *kernel;
    LoopPlan plan;
    uint64_t *x[SCALAR_COUNT], *y[SCALAR_COUNT], *z[SCALAR_COUNT]; // TURNS of each
} Trial;

static void make_kernel(Trial *t) {
    StrBuf text = strbuf(&t->arena), faults = strbuf(&t->arena);
    t->count = list_operators(t->operators);
    for (uint32_t i = 0; i < t->count; i++) t->widths[t->operators[i].to]++;
    put_operators(t->operators, t->count, &text);
    const Source *source =
        sources_add(&t->cx.sources, STR("operators"), strbuf_done(&text), false);
    t->kernel = loop_read(&t->cx, &t->arena, core_program(&t->cx, &t->arena), source);
    CHECK(t->kernel != NULL && loop_verify(t->kernel, &faults));
    loop_plan(t->kernel, &t->arena, &t->plan);
    CHECK(t->plan.count == 1);
}

// All pairs of x and y; z is random, and no integer zero.
static void make_args(Trial *t) {
    for (int type = 0; type < SCALAR_COUNT; type++) {
        uint64_t values[MOST_VALUES];
        uint32_t count = make_values((ScalarType)type, values);
        t->x[type] = arena_array(&t->arena, uint64_t, TURNS);
        t->y[type] = arena_array(&t->arena, uint64_t, TURNS);
        t->z[type] = arena_array(&t->arena, uint64_t, TURNS);
        for (uint32_t i = 0; i < TURNS; i++) {
            t->x[type][i] = values[i / MOST_VALUES % count];
            t->y[type][i] = values[i % MOST_VALUES % count];
            t->z[type][i] = values[next_random() % count];
            if (t->z[type][i] == 0) t->z[type][i] = 1;
        }
    }
}

// ---- the device ---------------------------------------------------------------------

// Memory with these values as elements of that type.
static uint64_t send(Trial *t, Device *device, ScalarType type,
                     const uint64_t *values) {
    size_t bytes = scalar_info[type].bytes;
    char *packed = arena_zeroed(&t->arena, TURNS, bytes);
    uint64_t address = 0;
    for (size_t i = 0; i < TURNS; i++) memcpy(packed + i * bytes, &values[i], bytes);
    CHECK(dev_alloc(device, TURNS * bytes, &address) == STATUS_OK);
    CHECK(dev_write(device, address, packed, TURNS * bytes) == STATUS_OK);
    return address;
}

static void compare(const Trial *t, uint32_t number, const char *results) {
    Operator o = t->operators[number];
    bool fails = (core_op_info[o.op].flags & OP_FAILS) != 0;
    uint32_t place = operator_place(t->operators, number);
    bool is_unary = core_op_operands(o.op) == 1;
    for (uint32_t i = 0; i < TURNS; i += is_unary ? MOST_VALUES : 1) {
        const uint64_t *second = fails ? t->z[o.in] : t->y[o.in];
        uint64_t args[] = {t->x[o.in][i], second[i], t->z[o.in][i]}, found = 0;
        size_t bytes = scalar_info[o.to].bytes;
        memcpy(&found, results + ((size_t)i * t->widths[o.to] + place) * bytes, bytes);
        check_operator(o, args, found);
    }
}

static void read_results(Trial *t, Device *device, const uint64_t *outs) {
    for (int type = 0; type < SCALAR_COUNT; type++) {
        size_t bytes = (size_t)TURNS * t->widths[type] * scalar_info[type].bytes;
        char *results = arena_zeroed(&t->arena, bytes, 1);
        CHECK(dev_read(device, results, outs[type], bytes) == STATUS_OK);
        for (uint32_t i = 0; i < t->count; i++)
            if (t->operators[i].to == (ScalarType)type) compare(t, i, results);
    }
}

static void run(Trial *t, Device *device, void *code) {
    uint64_t outs[SCALAR_COUNT];
    uint64_t *slots = arena_array(&t->arena, uint64_t, t->kernel->values.len);
    const LoopRef *params = t->kernel->root->params;
    for (int type = 0; type < SCALAR_COUNT; type++, params += 8) {
        size_t bytes = (size_t)TURNS * t->widths[type] * scalar_info[type].bytes;
        CHECK(dev_alloc(device, bytes, &outs[type]) == STATUS_OK);
        slots[params[0]] = send(t, device, (ScalarType)type, t->x[type]);
        slots[params[2]] = send(t, device, (ScalarType)type, t->y[type]);
        slots[params[4]] = send(t, device, (ScalarType)type, t->z[type]);
        slots[params[6]] = outs[type];
    }
    const LoopLaunch *launch = &t->plan.launches[0];
    uint64_t *ins = arena_array(&t->arena, uint64_t, launch->in_count);
    for (uint32_t i = 0; i < launch->in_count; i++) ins[i] = slots[launch->ins[i]];
    DeviceLaunch call = {.code = code,
                         .function = "weft_0_launch_0",
                         .turns = TURNS,
                         .ins = ins,
                         .in_count = launch->in_count,
                         .has_private = launch->has_private,
                         .may_repeat = true,
                         .fails_alike = true};
    GpuFault *unused = NULL;
    LaunchEnd end = dev_launch(device, &call, unused);
    CHECK(end == LAUNCH_OK);
    if (end != LAUNCH_OK) printf("%s\n", device->why);
    else read_results(t, device, outs);
}

static void test_device(Trial *t, const DeviceInfo *info) {
    Device *device = NULL;
    void *code = NULL;
    Str why = {0};
    Status status = dev_open(&t->mem, &t->arena, info->address, &device, &why);
    CHECK(status == STATUS_OK);
    if (status != STATUS_OK) printf("%s: %.*s\n", info->address, STR_ARG(why));
    if (status != STATUS_OK) return;
    StrBuf text = strbuf(&t->arena), tables = strbuf(&t->arena);
    EmitChecks checks = {0};
    emit_launches(info->kind == DEVICE_CUDA ? &emit_cuda : &emit_opencl, &t->kernel,
                  &t->plan, 1, false, &(Arena){.mem = &t->mem}, &text, &tables,
                  &checks);
    status = dev_build(device, strbuf_done(&text), strbuf_done(&tables), NULL, &code);
    CHECK(status == STATUS_OK);
    if (status != STATUS_OK) printf("%s: %s\n", info->address, device->why);
    else run(t, device, code);
    dev_unload(device, code);
    dev_close(device);
}

int main(void) {
    static Trial trial;
    Trial *t = &trial;
    DeviceInfo *infos;
    arena_init(&t->arena, &t->mem);
    cx_init(&t->cx, &t->arena);
    make_kernel(t);
    make_args(t);
    uint32_t count = dev_list(&t->arena, &infos), tested = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (infos[i].kind == DEVICE_CPU || infos[i].cannot != NULL) continue;
        test_device(t, &infos[i]);
        tested++;
    }
    if (tested == 0) SKIP("there is no GPU or OpenCL device");
    arena_free(&t->arena);
    CHECK(t->mem.used == 0);
    return test_done();
}
