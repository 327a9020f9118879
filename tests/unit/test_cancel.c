// SPDX-License-Identifier: Apache-2.0
//
// A call that is cancelled while its inner loops run, in lanes, in tiles or one by one,
// ends soon. Each would take hours.
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "test.h"
#include "weft.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_for(double seconds) {
    struct timespec t = {.tv_nsec = (long)(1e9 * seconds)};
    nanosleep(&t, NULL);
}

typedef struct Later {
    WeftContext *context;
    double cancelled; // when
} Later;

static void *cancel_later(void *data) {
    Later *later = data;
    wait_for(0.2);
    later->cancelled = now();
    weft_cancel(later->context);
    return NULL;
}

static WeftStatus call(WeftContext *context, WeftProgram *program, int64_t n,
                       WeftValue **result) {
    WeftValue *arg;
    CHECK(weft_value_new(context, WEFT_I64, 0, NULL, &n, &arg) == WEFT_STATUS_OK);
    WeftStatus status = weft_call(program, 0, &arg, 1, result, 1);
    weft_value_free(arg);
    return status;
}

// The first call, which is short, waits for the compiler; and the second is thought to
// be short, too: one of several devices may then be the host's.
static void expect_end(const char *text, unsigned threads, const char *devices) {
    enum { SOON = 5 }; // seconds, on a loaded machine
    WeftContext *context;
    WeftProgram *program;
    WeftValue *result;
    pthread_t thread;
    WeftOptions options = {.struct_size = sizeof options,
                           .engine = WEFT_ENGINE_NATIVE,
                           .threads = threads,
                           .devices = devices};
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    CHECK(weft_program_from_source(context, "main.weft", text, strlen(text),
                                   &program) == WEFT_STATUS_OK);
    CHECK(call(context, program, 10, &result) == WEFT_STATUS_OK);
    weft_value_free(result);
    Later later = {.context = context};
    CHECK(pthread_create(&thread, NULL, cancel_later, &later) == 0);
    WeftStatus status = call(context, program, 1000000000000, &result);
    double ended = now();
    pthread_join(thread, NULL);
    CHECK(status == WEFT_STATUS_CANCELLED && ended - later.cancelled < SOON);
    if (status != WEFT_STATUS_CANCELLED || ended - later.cancelled >= SOON)
        printf("  after %.1f s, %s\n%s\n", ended - later.cancelled,
               weft_status_text(status), text);
    weft_program_free(program);
    weft_context_free(context);
}

int main(void) {
    static const char *const texts[] = {
        // turns in order, of many lanes at once
        "def main (n: i64): []i64 =\n"
        "  map (\\i -> loop x = i for j < n do x ^ (x << 3) ^ j) (iota 64)",
        // lanes that leave at different times
        "def main (n: i64): []i64 =\n"
        "  map (\\i -> (loop (x, k) = (i, 0) while k < n + i do (x * 3 + k, k + "
        "1)).0)\n"
        "    (iota 64)",
        // a fold in blocks, in each of few rows
        "def main (n: i64): []f64 =\n"
        "  map (\\i -> f64.sum (map (\\j -> f64.sqrt (f64.i64 (i * j))) (iota n))) "
        "(iota 4)",
        // a product
        "def main (n: i64): [][]f32 =\n"
        "  map (\\i -> map (\\j -> f32.sum (map (\\k -> f32.i64 (k & i) * f32.i64 (k & "
        "j))\n"
        "                                    (iota n))) (iota 64)) (iota 64)",
        // one long row
        "def main (n: i64): i64 =\n"
        "  i64.sum (map (\\i -> i64.bool (i * i % 7 == 3)) (iota n))"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (unsigned threads = 1; threads <= 3; threads += 2)
            expect_end(texts[i], threads, NULL);
        expect_end(texts[i], 2, "cpu*2");
    }
    return test_done();
}
