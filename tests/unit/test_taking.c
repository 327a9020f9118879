// SPDX-License-Identifier: Apache-2.0
//
// Chunks that idle devices take over from others: that they do, by counts; that
// answers, and the first error, are the same; and that memory which runs out, a device
// that fails and a caller who cancels are as without.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/places.h"
#include "api/testing.h"
#include "fission/fission.h"
#include "test.h"

// So many steps as the element says; the sum of floats is in as many blocks as chunks
// need.
static const char text[] =
    "def steps (x: i64): i64 =\n"
    "  (loop (v, i) = (x, 0) while i < x do ((v * 31 + i) % 1009, i + 1)).0\n"
    "entry main (table: []i64) (xs: []i64): ([]i64, i64, f32) =\n"
    "  let ys = map (\\x -> steps x + table[x]) xs\n"
    "  let zs = filter (\\y -> y % 3 == 0) (map steps ys)\n"
    "  in (ys, i64.sum zs, f32.sum (map (\\y -> 1 / f32.i64 (1 + y)) ys))\n";

enum { N = 140000, FEWER = 34000, TABLE = 200, MOST_STEPS = 40 };

typedef struct Call {
    WeftContext *context;
    WeftProgram *program;
    int64_t xs[N], ys[N], sum;
    float total;
} Call;

static int warnings;

static void note(void *data, WeftSeverity severity, const char *line) {
    (void)data, (void)line;
    warnings += severity == WEFT_SEVERITY_WARNING;
}

static void open_call(Call *c, const char *devices) {
    WeftOptions options = {
        .struct_size = sizeof options, .devices = devices, .threads = 1, .log = note};
    warnings = 0;
    if (weft_context_new(&options, &c->context) != WEFT_STATUS_OK) abort();
    if (weft_program_from_source(c->context, "taking.weft", text, sizeof text - 1,
                                 &c->program) != WEFT_STATUS_OK) {
        fputs(weft_render(c->context, 0), stdout);
        abort();
    }
    for (int64_t i = 0; i < N; i++) c->xs[i] = i * i % MOST_STEPS;
}

static void close_call(Call *c) {
    weft_program_free(c->program);
    CHECK(weft_testing_context_free(c->context) == 0);
}

static WeftStatus call(Call *c, int64_t n) {
    static int64_t table[TABLE];
    int64_t length = TABLE;
    const void *data;
    WeftValue *args[2] = {NULL, NULL}, *results[3];
    for (int64_t i = 0; i < TABLE; i++) table[i] = i * 7 % 13;
    WeftStatus status =
        weft_value_new(c->context, WEFT_I64, 1, &length, table, &args[0]);
    if (status == WEFT_STATUS_OK)
        status = weft_value_new(c->context, WEFT_I64, 1, &n, c->xs, &args[1]);
    if (status == WEFT_STATUS_OK)
        status = weft_call(c->program, 0, args, 2, results, 3);
    weft_value_free(args[0]);
    weft_value_free(args[1]);
    if (status != WEFT_STATUS_OK) return status;
    status = weft_value_data(results[0], &data);
    if (status == WEFT_STATUS_OK) memcpy(c->ys, data, (size_t)n * sizeof *c->ys);
    if (weft_value_data(results[1], &data) == WEFT_STATUS_OK) memcpy(&c->sum, data, 8);
    if (weft_value_data(results[2], &data) == WEFT_STATUS_OK)
        memcpy(&c->total, data, 4);
    for (int i = 0; i < 3; i++) weft_value_free(results[i]);
    return status;
}

// Where the elements may differ in work, and nowhere else, there are chunks.
static void check_chunks(const char *body, uint32_t chunks) {
    static const char head[] = "entry main (k: i64) (xss: [][]i64) (xs: []i64) =\n  ";
    WeftOptions options = {.struct_size = sizeof options, .devices = "cpu*2"};
    WeftContext *context;
    WeftProgram *program = NULL;
    char source[512];
    snprintf(source, sizeof source, "%s%s\n", head, body);
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    CHECK(weft_program_from_source(context, "chunks.weft", source, strlen(source),
                                   &program) == WEFT_STATUS_OK);
    CHECK(program->decisions.rows.len == 1);
    CHECK(program->decisions.rows.data[0].chunks == chunks);
    weft_program_free(program);
    weft_context_free(context);
}

static void test_chunks(void) {
    check_chunks("map (\\x -> loop v = x for i < k do v * 3 + i) xs", 1);
    check_chunks("map (\\x -> loop v = x for i < x do v * 3 + i) xs", 4);
    check_chunks("map (\\x -> loop v = x while v < k do v * 3 + 1) xs", 4);
    check_chunks(
        "map (\\x -> (loop (v, i) = (k, 0) while i < 90 do (v * 3, i + 1)).0 + x)"
        " xs",
        1);
    check_chunks(
        "map (\\x -> if x < k then loop v = x for i < k do v * 3 + i else x) xs", 4);
    check_chunks("map (\\x -> if x < k then x * 7 % 3 else x) xs", 1);
    check_chunks("map (\\row -> loop v = k for i < length row do v * 3 + row[i]) xss",
                 1);
    check_chunks("map (\\x -> loop v = x for i < k do loop v for _j < i do v * 3) xs",
                 1);
    check_chunks("map (\\x -> (loop (v, m) = (k, 1) for _i < k do\n"
                 "    (loop v for _j < m do v * 3 + m, x % 9)).0) xs",
                 4);
    check_chunks("map (\\x -> i64.sum (map (\\i -> loop v = i for j < 9 do v * x + j)\n"
                 "    (iota x))) xs",
                 4);
    // A branch of many steps is no loop, though an even one is beside it.
    check_chunks("map (\\x -> (if x < k then i64.f64 (f64.exp (f64.log (f64.i64 x)))\n"
                 "    else x) + loop v = x for i < k do v * 3 + i) xs",
                 1);
    // One uneven operator is enough for all in a row, but not little beside much.
    check_chunks(
        "map (* 3) (scan (+) 0 (map (\\x -> loop v = x while v < k do v * 3) xs))", 4);
    check_chunks(
        "map (\\x -> (loop v = x while v < k do v * 3)\n"
        "    + i64.sum (map (\\y -> loop v = y for i < 99 do v * x + i) xs)) xs",
        1);
    check_chunks(
        "map (\\x -> (loop v = x while v < k do v * 3)\n"
        "    + i64.sum (map (\\y -> loop v = y for i < 2 do v * x + i) xs)) xs",
        4);
}

// Gives that part of all to the first device.
static void set_share(const Call *c, double share) {
    for (uint32_t i = 0; i < c->program->decisions.rows.len; i++) {
        FissionRow *row = &c->program->decisions.rows.data[i];
        CHECK(row->chunks == 4);
        row->bounds[row->chunks - 1] = (int64_t)(share * FISSION_WHOLE);
        fission_cut_chunks(row);
    }
}

static uint64_t taken(const Call *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->context->place_count; i++)
        sum += c->context->places[i].taken;
    return sum;
}

static Call whole, parts;

static void expect_same(Call *c, int64_t n) {
    memcpy(whole.xs, c->xs, sizeof whole.xs);
    CHECK(call(&whole, n) == WEFT_STATUS_OK);
    CHECK(call(c, n) == WEFT_STATUS_OK);
    CHECK(memcmp(c->ys, whole.ys, (size_t)n * sizeof *c->ys) == 0);
    CHECK(c->sum == whole.sum);
    CHECK(memcmp(&c->total, &whole.total, sizeof c->total) == 0);
}

// Calls until the device has taken a chunk over: where others use the machine, it may
// come too late in one call, but not in each.
static void expect_taken(uint32_t taker, double share, int64_t n) {
    const ApiPlace *place = &parts.context->places[taker];
    CHECK(parts.program->decisions.rows.len > 0);
    for (int i = 0; i < 30 && place->taken == 0; i++) {
        set_share(&parts, share);
        expect_same(&parts, n);
    }
    CHECK(place->taken > 0);
}

// The device with too much, be it slow or not, gives some away; whoever takes it.
static void check_takes(const char *devices, double share, uint32_t taker) {
    open_call(&parts, devices);
    expect_taken(taker, share, N);
    close_call(&parts);
}

// Work that is all in one half, on devices that are equally fast.
static void test_uneven(void) {
    open_call(&parts, "cpu*2");
    for (int64_t i = 0; i < N; i++) parts.xs[i] = i < N / 2 ? 1 : 190;
    expect_taken(0, 0.5, N);
    close_call(&parts);
}

// Shares are learned all the same, from chunks that stayed.
static void test_learned(void) {
    bool has_learned = false;
    open_call(&parts, "cpu:0,cpu:1@0.2");
    set_share(&parts, 0.4);
    for (int i = 0; i < 30 && !has_learned; i++) {
        const FissionRow *row = &parts.program->decisions.rows.data[0];
        expect_same(&parts, FEWER);
        has_learned = fission_share(row, row->bounds, 0) > 0.6;
    }
    CHECK(has_learned);
    CHECK(taken(&parts) > 0);
    close_call(&parts);
}

// The first element that fails is told, whoever has come to it first.
static void test_errors(void) {
    open_call(&parts, "cpu:0,cpu:1@0.3");
    for (int i = 0; i < 5; i++) {
        set_share(&parts, i % 2 == 0 ? 0.3 : 0.7);
        parts.xs[FEWER - 1 - i] = TABLE + 50;
        parts.xs[FEWER / 5 * i + 7] = TABLE + i;
        char message[64];
        snprintf(message, sizeof message, "index %d is outside", TABLE + i);
        CHECK(call(&parts, FEWER) == WEFT_STATUS_RUNTIME);
        CHECK(strstr(weft_message(parts.context), message) != NULL);
        parts.xs[FEWER - 1 - i] = parts.xs[FEWER / 5 * i + 7] = 1;
        expect_same(&parts, FEWER);
    }
    close_call(&parts);
}

// Each allocation fails, one after the other.
static void test_memory(void) {
    enum { FEW = 60 };
    bool is_over = false;
    int right = 0;
    setenv("WEFT_SPLIT", "0", 1);
    open_call(&parts, "cpu*2");
    unsetenv("WEFT_SPLIT");
    for (uint64_t k = 1; !is_over; k++) {
        uint64_t before = weft_testing_allocations(parts.context);
        set_share(&parts, k % 2 == 0 ? 0.1 : 0.9);
        weft_testing_fail_allocation(parts.context, k);
        WeftStatus status = call(&parts, FEW);
        is_over = weft_testing_allocations(parts.context) < before + k;
        weft_testing_fail_allocation(parts.context, 0);
        CHECK(status == WEFT_STATUS_OK || (!is_over && status == WEFT_STATUS_MEMORY));
        right += status == WEFT_STATUS_OK;
        expect_same(&parts, FEW);
    }
    CHECK(right > 5);
    close_call(&parts);
}

static void *cancel_later(void *data) {
    const int *ms = data;
    nanosleep(&(struct timespec){.tv_nsec = *ms * 1000000L}, NULL);
    weft_cancel(parts.context);
    return NULL;
}

// While chunks run on both devices.
static void test_cancel(void) {
    pthread_t thread;
    open_call(&parts, "cpu:0,cpu:1@0.2");
    for (int ms = 5; ms < 60; ms += 15) {
        set_share(&parts, 0.3);
        CHECK(pthread_create(&thread, NULL, cancel_later, &ms) == 0);
        WeftStatus status = call(&parts, FEWER);
        CHECK(status == WEFT_STATUS_CANCELLED || status == WEFT_STATUS_OK);
        pthread_join(thread, NULL);
    }
    call(&parts, FEWER); // which one that came too late ends
    set_share(&parts, 0.9);
    expect_same(&parts, FEWER);
    close_call(&parts);
}

// ---- a device that fails ------------------------------------------------------------

static const DeviceOps *real;
static int left; // launches until it fails for good

static LaunchEnd fail_launch(Device *d, const DeviceLaunch *launch, GpuFault *fault) {
    if (left > 1) {
        left--;
        return real->launch(d, launch, fault);
    }
    left = 0;
    snprintf(d->why, sizeof d->why, "it was told to fail");
    return LAUNCH_BROKEN;
}

static bool has_opencl(void) {
    WeftOptions options = {.struct_size = sizeof options, .devices = "opencl:0"};
    WeftContext *context;
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK) return false;
    bool has_device = api_places_open(context) == WEFT_STATUS_OK;
    weft_context_free(context);
    return has_device;
}

// A device takes chunks over and fails at one of them, or at its own: others run these.
static void check_failure(int launches) {
    DeviceOps broken;
    open_call(&parts, "cpu:0@0.01,opencl:0");
    Device *device = parts.context->places[1].device;
    real = device->ops;
    broken = *real;
    broken.launch = fail_launch;
    device->ops = &broken;
    left = launches;
    set_share(&parts, 0.95);
    expect_same(&parts, FEWER);
    CHECK(warnings == (left == 0));
    CHECK(parts.context->places[1].is_lost == (left == 0));
    if (left > 0) expect_taken(1, 0.95, FEWER);
    device->ops = real;
    close_call(&parts);
}

int main(void) {
    open_call(&whole, "cpu");
    test_chunks();
    check_takes("cpu:0,cpu:1@0.2", 0.3, 0);
    check_takes("cpu:0@0.2,cpu:1", 0.7, 1);
    check_takes("cpu:0,cpu:1", 0.95, 1);
    test_uneven();
    test_learned();
    test_errors();
    test_memory();
    test_cancel();
    if (has_opencl()) {
        check_failure(1000);
        for (int launches = 1; launches < 30; launches += 10) check_failure(launches);
    } else {
        SKIP("there is no opencl:0");
    }
    close_call(&whole);
    return test_done();
}
