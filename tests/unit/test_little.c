// SPDX-License-Identifier: Apache-2.0
//
// Devices that are launched on with little memory: with more and more elements each
// program gives the right bits, whole or in parts, or is refused before anything has
// gone to a device. By how much it takes at once it is known which of the two.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "api/engine.h"
#include "api/testing.h"
#include "devices.h"
#include "test.h"

enum { MEMORY = 1 << 20, STEPS = 20, MANY = 2 * MEMORY / 8 };

// Of what the device has: as much as may be given, and does not fit any more.
typedef struct Little {
    const char *source;
    double runs, refused;
} Little;

static const Little programs[] = {
    // sixteen parts, each of what is taken and made
    {"entry main (xs: []i64): []i64 = map (\\x -> x * x + 3) xs", 2, 9},
    {"entry main (xs: []i64): []i64 = scan (+) 0 xs", 2, 9},
    {"entry main (xs: []i64): []i64 = hist (+) 0 100 (map (% 100) xs) xs", 2, 9},
    {"entry main (xs: []i64): []i64 = filter (\\x -> x % 3 == 1) xs", 2, 9},
    // all of it, and a part of what is made
    {"entry main (xs: []i64): []i64 =\n"
     "  map (\\i -> xs[i * 7 % length xs]) (indices xs)",
     0.9, 1},
    // all bins, and a part, which is there once
    {"entry main (xs: []i64): []i64 = hist (+) 0 (length xs) xs xs", 0.9, 1},
    // what is scattered to, an i32 for each of its places, and a part
    {"entry main (xs: []i64): []i64 =\n"
     "  scatter (map (+ 1) xs) (map (\\x -> x * 7 % 5000 - 5) xs) (map (* 3) xs)",
     0.6, 0.7},
    // what is taken and made, in one piece
    {"entry main (xs: []i64): []i64 = scan (\\a b -> 3 * a + b) 0 xs", 0.4, 0.5},
    {"entry main (xs: []i64): []f64 = scan (+) 0 (map f64.i64 xs)", 0.4, 0.5},
    // and what is merged to
    {"entry main (xs: []i64): []i64 = i64.sort xs", 0.3, 0.4},
    {"entry main (xs: []i64): []f64 = f64.sort (map f64.i64 xs)", 0.3, 0.4},
    {"entry main (xs: []i64): []i64 =\n"
     "  let ys = i64.sort (map (\\x -> x * 7919 % 10007) xs)\n"
     "  in map2 (+) xs (scan (+) 0 ys)",
     0.3, 0.5},
    // what is changed in place
    {"entry main (xs: []i64): []i64 =\n"
     "  loop ys = copy xs for k < 10 do ys with [k] = ys[k + 1] + 3",
     0.9, 1},
};

typedef struct World {
    WeftContext *context;
    WeftProgram *program;
} World;

static World open_world(const char *devices, const char *source) {
    WeftOptions options = {
        .struct_size = sizeof options, .devices = devices, .threads = 2};
    World w = {0};
    CHECK(weft_context_new(&options, &w.context) == WEFT_STATUS_OK);
    if (weft_program_from_source(w.context, "test", source, strlen(source),
                                 &w.program) != WEFT_STATUS_OK)
        abort();
    return w;
}

static void close_world(World w) {
    weft_program_free(w.program);
    CHECK(weft_testing_context_free(w.context) == 0);
}

// What it makes of so many numbers is kept; *count_out elements of eight bytes.
static WeftStatus call(World w, int64_t n, uint64_t *kept, size_t *count_out) {
    static int64_t xs[MANY];
    WeftValue *arg, *result;
    const void *found;
    for (int64_t i = 0; i < n; i++) xs[i] = (i * 31) % 997;
    CHECK(weft_value_new(w.context, WEFT_I64, 1, &n, xs, &arg) == WEFT_STATUS_OK);
    WeftStatus status = weft_call(w.program, 0, &arg, 1, &result, 1);
    weft_value_free(arg);
    if (status != WEFT_STATUS_OK) return status;
    CHECK(weft_value_data(result, &found) == WEFT_STATUS_OK);
    *count_out = (size_t)rt_count(result->leaves[0].array);
    memcpy(kept, found, *count_out * sizeof *kept);
    weft_value_free(result);
    return status;
}

// Writes and launches so far.
static uint64_t done_so_far(World w) {
    uint64_t done = 0;
    for (uint32_t i = 0; i < w.context->place_count; i++) {
        const DeviceCounts *counts = &w.context->places[i].device->counts;
        done += counts->launches + counts->writes;
    }
    return done;
}

static void check_size(World small, World right, const Little *program, double share) {
    static uint64_t wanted[MANY], kept[MANY];
    size_t wanted_count, count = 0;
    int64_t n = (int64_t)(share * MEMORY / 8);
    uint64_t before = done_so_far(small);
    small.program->engine->least_parts = 0; // nothing is learned
    WeftStatus status = call(small, n, kept, &count);
    if (status == WEFT_STATUS_OK) {
        CHECK(call(right, n, wanted, &wanted_count) == WEFT_STATUS_OK);
        CHECK(count == wanted_count);
        CHECK(memcmp(kept, wanted, count * sizeof *kept) == 0);
    } else {
        const char *message = weft_message(small.context);
        CHECK(status == WEFT_STATUS_MEMORY);
        CHECK(strstr(message, "` needs at least ") != NULL);
        CHECK(strstr(message, " of line ") != NULL || strstr(message, "arguments"));
        CHECK(done_so_far(small) == before);
    }
    bool is_right = status == WEFT_STATUS_OK ? share < program->refused - 0.01
                                             : share > program->runs + 0.01;
    if (!is_right) printf("%s\n%.2f: %d\n", program->source, share, (int)status);
    CHECK(is_right);
}

static void check_on(const char *devices) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        World small = open_world(devices, programs[i].source);
        World right = open_world("cpu", programs[i].source);
        for (int step = 1; step <= STEPS; step++)
            check_size(small, right, &programs[i], step * 2.0 / STEPS);
        close_world(small);
        close_world(right);
    }
}

// What one call has left on the device is no part for another, which has no room for
// all of it.
static void check_left(void) {
    static const char sum[] = "entry main (xs: []i64): i64 = i64.sum xs";
    static int64_t xs[MANY];
    int64_t n = (int64_t)(0.6 * MEMORY / 8);
    World w = open_world("opencl:0@1M", programs[6].source);
    WeftProgram *other;
    WeftValue *arg, *result;
    if (weft_program_from_source(w.context, "sum", sum, strlen(sum), &other) !=
        WEFT_STATUS_OK)
        abort();
    CHECK(weft_value_new(w.context, WEFT_I64, 1, &n, xs, &arg) == WEFT_STATUS_OK);
    WeftProgram *const order[] = {other, w.program};
    for (int i = 0; i < 2; i++) {
        WeftStatus status = weft_call(order[i], 0, &arg, 1, &result, 1);
        CHECK(status == WEFT_STATUS_OK);
        if (status == WEFT_STATUS_OK) weft_value_free(result);
    }
    weft_value_free(arg);
    weft_program_free(other);
    close_world(w);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 0);
    if (!can_open("opencl:0")) return test_done();
    check_on("opencl:0@1M");
    check_left();
    if (can_open("opencl:0,opencl:1")) check_on("opencl:0@1M,opencl:1@1M");
    return test_done();
}
