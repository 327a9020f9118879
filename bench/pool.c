// SPDX-License-Identifier: Apache-2.0
//
// Times the worker pool against OpenMP, in turns in one process: the cost of an empty
// loop when the workers are awake and when they sleep, even and uneven work, and chunks
// that need no splitting against a plain loop. Prints medians and ranges.
// Usage: pool [THREADS [ROUNDS]]
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "rt/pool.h"

enum { MOST_ROUNDS = 101, EMPTY_LOOPS = 2000, N = 1 << 20, ROWS = 512 };

static int threads = 2;
static float *values;
static double total[ROWS];

// ---- the work -----------------------------------------------------------------------

static void do_nothing(int64_t begin, int64_t end) {
    __asm__ volatile("" : : "r"(begin), "r"(end) : "memory");
}

static void scale(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) values[i] = values[i] * 0.999f + 0.001f;
}

// Row i costs as i squared: nearly all work is in the last rows.
static void triangle(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        double x = 1;
        for (int64_t k = 0; k < i * i / 16; k++) x = x * 0.9999 + 1e-4;
        total[i] = x;
    }
}

typedef void Part(int64_t begin, int64_t end);

static int32_t run_part(void *env, RtWorker *self, int64_t begin, int64_t end,
                        int64_t *failed_out) {
    (void)self, (void)failed_out;
    (*(Part **)env)(begin, end);
    return 0;
}

// ---- the two ------------------------------------------------------------------------

typedef struct Loop {
    const char *name;
    Part *part;
    int64_t count, grain;
    int repeats;    // within one measurement
    int pause_us;   // before each repeat, long enough to fall asleep in
    bool is_dynamic;  // what OpenMP needs to balance it
} Loop;

static double run_plain(RtWorker *self, const Loop *loop) {
    (void)self;
    for (int64_t at = 0; at < loop->count; at += loop->grain)
        loop->part(at, at + loop->grain < loop->count ? at + loop->grain : loop->count);
    return 0;
}

static double run_pool(RtWorker *self, const Loop *loop) {
    Part *part = loop->part;
    RtLoop it = {
        .count = loop->count, .grain = loop->grain, .body = run_part, .env = &part};
    rt_for(self, &it);
    return 0;
}

static double run_openmp(RtWorker *self, const Loop *loop) {
    (void)self;
    Part *part = loop->part;
    int64_t count = loop->count, grain = loop->grain, chunks = (count + grain - 1) / grain;
    if (loop->is_dynamic) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t k = 0; k < chunks; k++)
            part(k * grain, (k + 1) * grain < count ? (k + 1) * grain : count);
    } else {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t k = 0; k < chunks; k++)
            part(k * grain, (k + 1) * grain < count ? (k + 1) * grain : count);
    }
    return 0;
}

static double measure(double (*run)(RtWorker *, const Loop *), RtWorker *self,
                      const Loop *loop) {
    int64_t sum = 0;
    for (int i = 0; i < loop->repeats; i++) {
        if (loop->pause_us > 0) usleep((useconds_t)loop->pause_us);
        int64_t start = thread_clock();
        run(self, loop);
        sum += thread_clock() - start;
    }
    return (double)sum / loop->repeats / 1000;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, double *times, int rounds) {
    qsort(times, (size_t)rounds, sizeof *times, compare);
    printf("  %-8s %10.2f us (%.2f to %.2f)\n", name, times[rounds / 2], times[0],
           times[rounds - 1]);
}

int main(int argc, char **argv) {
    if (argc > 1) threads = atoi(argv[1]);
    int rounds = argc > 2 ? atoi(argv[2]) : 21;
    if (threads < 1 || rounds < 1 || rounds > MOST_ROUNDS) return 2;
    const Loop loops[] = {
        {"empty, awake", do_nothing, threads, 1, EMPTY_LOOPS, 0, false},
        {"empty, asleep", do_nothing, threads, 1, 50, 2000, false},
        {"even, 1 Mi floats, 64 chunks", scale, N, N / 64, 20, 0, false},
        {"even, 1 Mi floats, 8192 chunks", scale, N, N / 8192, 20, 0, false},
        {"uneven, 512 rows, row i costs i^2", triangle, ROWS, 1, 1, 0, true},
        {"uneven, 64 chunks of 8 rows", triangle, ROWS, 8, 1, 0, true},
    };
    values = calloc(N, sizeof *values);
    Mem mem = {0};
    RtPool *pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = (unsigned)threads});
    if (values == NULL || pool == NULL) return 1;
    printf("%d threads, %d rounds in turns\n", threads, rounds);
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        static double times[3][MOST_ROUNDS];
        static double (*const runs[3])(RtWorker *, const Loop *) = {run_plain, run_pool,
                                                                    run_openmp};
        for (int round = -1; round < rounds; round++)  // the first warms up
            for (int which = 0; which < 3; which++) {
                RtWorker *self = rt_pool_enter(pool);
                double time = measure(runs[which], self, &loops[k]);
                rt_pool_leave(pool);
                if (round >= 0) times[which][round] = time;
            }
        printf("%s\n", loops[k].name);
        print("serial", times[0], rounds);
        print("pool", times[1], rounds);
        print("openmp", times[2], rounds);
    }
    rt_pool_free(pool);
    free(values);
    return 0;
}
