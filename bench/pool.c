// SPDX-License-Identifier: Apache-2.0
//
// Times the worker pool against OpenMP, in turns in one process: the cost of an empty
// loop; of getting all workers to work, awake and asleep; even and uneven work; tasks,
// each of which releases two. Prints
// the median of the rounds, each the median of its repeats, and the best repeat of all.
// The pool's workers are pinned: on a busy machine the system may else wake one on the
// core of its waker. Usage: pool [THREADS [ROUNDS]]
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "rt/pool.h"

enum { SERIAL, POOL, OPENMP, WAYS };
enum { MOST_ROUNDS = 101, MOST_REPEATS = 2000 };
enum { N = 1 << 20, ROWS = 512, TASKS = 100000 };

static int threads = 2;
static float *values;
static double total[ROWS];

// ---- the work -----------------------------------------------------------------------

static void do_nothing(int64_t begin, int64_t end) {
    __asm__ volatile("" : : "r"(begin), "r"(end) : "memory");
}

// Every chunk waits for all: what it takes to have all workers at work.
static atomic_int present;

static void meet(int64_t begin, int64_t end) {
    (void)begin, (void)end;
    int meeting = atomic_fetch_add(&present, 1) / threads + 1;
    while (atomic_load(&present) < meeting * threads) thread_pause();
}

static void scale(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) values[i] = values[i] * 0.999f + 0.001f;
}

// Row i costs as i squared: nearly all work is in the last rows.
static void triangle(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        double x = (double)i;
        for (int64_t k = 0; k < i * i / 64; k++) x = x * 0.9999 + 1e-4;
        *(volatile double *)&total[i] = x;
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
    int repeats;     // within one measurement
    int pause_us;    // before each repeat, long enough to fall asleep in
    bool is_dynamic; // what OpenMP needs to balance it
    bool is_tree;    // a task for each chunk, k releases 2k + 1 and 2k + 2
} Loop;

static void run_chunk(const Loop *loop, int64_t chunk) {
    int64_t begin = chunk * loop->grain, rest = loop->count - begin;
    loop->part(begin, begin + (rest < loop->grain ? rest : loop->grain));
}

static void run_serial(RtWorker *self, const Loop *loop) {
    (void)self;
    for (int64_t k = 0; k * loop->grain < loop->count; k++) run_chunk(loop, k);
}

static struct {
    const Loop *loop;
    RtTask tasks[TASKS];
} tree;

static void run_task(RtWorker *self, RtTask *task) {
    int64_t k = task - tree.tasks;
    run_chunk(tree.loop, k);
    for (int64_t next = 2 * k + 1; next <= 2 * k + 2; next++)
        if (next < tree.loop->count) rt_task_release(self, &tree.tasks[next]);
}

static void run_tree(RtWorker *self, const Loop *loop) {
    RtGroup group;
    tree.loop = loop;
    rt_group_open(self, &group);
    for (int64_t k = 0; k < loop->count; k++)
        rt_task_add(&group, &tree.tasks[k], run_task, 1);
    rt_task_release(self, &tree.tasks[0]);
    rt_group_wait(self, &group);
}

static void run_pool(RtWorker *self, const Loop *loop) {
    Part *part = loop->part;
    if (loop->is_tree) {
        run_tree(self, loop);
        return;
    }
    RtLoop it = {
        .count = loop->count, .grain = loop->grain, .body = run_part, .env = &part};
    rt_for(self, &it);
}

static void run_openmp_task(const Loop *loop, int64_t k) {
    run_chunk(loop, k);
    for (int64_t next = 2 * k + 1; next <= 2 * k + 2; next++)
        if (next < loop->count) {
#pragma omp task
            run_openmp_task(loop, next);
        }
}

static void run_openmp(RtWorker *self, const Loop *loop) {
    (void)self;
    if (loop->is_tree) {
#pragma omp parallel num_threads(threads)
#pragma omp single
        run_openmp_task(loop, 0);
        return;
    }
    int64_t chunks = (loop->count + loop->grain - 1) / loop->grain;
    if (loop->is_dynamic) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t k = 0; k < chunks; k++) run_chunk(loop, k);
    } else {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t k = 0; k < chunks; k++) run_chunk(loop, k);
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int count) {
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}

// The median of the repeats, in microseconds; lowers *best_out to the best of them.
static double measure(void (*run)(RtWorker *, const Loop *), RtWorker *self,
                      const Loop *loop, double *best_out) {
    static double times[MOST_REPEATS];
    for (int i = 0; i < loop->repeats; i++) {
        if (loop->pause_us > 0) usleep((useconds_t)loop->pause_us);
        double start = clock_seconds();
        run(self, loop);
        times[i] = (clock_seconds() - start) * 1e6;
    }
    double middle = median(times, loop->repeats);
    if (times[0] < *best_out) *best_out = times[0];
    return middle;
}

int main(int argc, char **argv) {
    if (argc > 1) threads = atoi(argv[1]);
    int rounds = argc > 2 ? atoi(argv[2]) : 21;
    if (threads < 1 || rounds < 1 || rounds > MOST_ROUNDS) return 2;
    const Loop loops[] = {
        {"empty, awake", do_nothing, threads, 1, MOST_REPEATS, 0, false, false},
        {"all meet, awake", meet, threads, 1, 500, 0, false, false},
        {"all meet, asleep", meet, threads, 1, 50, 2000, false, false},
        {"even, 1 Mi floats, 64 chunks", scale, N, N / 64, 50, 0, false, false},
        {"even, 1 Mi floats, 8192 chunks", scale, N, N / 8192, 50, 0, false, false},
        {"uneven, 512 rows, row i costs i^2", triangle, ROWS, 1, 10, 0, true, false},
        {"uneven, 64 chunks of 8 rows", triangle, ROWS, 8, 10, 0, true, false},
        {"100,000 empty tasks", do_nothing, TASKS, 1, 5, 0, true, true},
    };
    values = calloc(N, sizeof *values);
    Mem mem = {0};
    RtPool *pool =
        rt_pool_new(&mem, &(RtPoolOptions){.threads = (unsigned)threads, .pin = true});
    if (values == NULL || pool == NULL) return 1;
    printf("%d threads, %d rounds in turns\n", threads, rounds);
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        static const struct Way {
            const char *name;
            void (*run)(RtWorker *self, const Loop *loop);
        } ways[WAYS] = {
            {"serial", run_serial}, {"pool", run_pool}, {"openmp", run_openmp}};
        double times[WAYS][MOST_ROUNDS], best[WAYS] = {1e9, 1e9, 1e9};
        int first = loops[k].part == meet ? POOL : SERIAL; // which nobody can do alone
        for (int round = -1; round < rounds; round++)      // the first warms up
            for (int way = first; way < WAYS; way++) {
                RtWorker *self = way == POOL ? rt_pool_enter(pool) : NULL;
                double time = measure(ways[way].run, self, &loops[k], &best[way]);
                if (way == POOL) rt_pool_leave(pool);
                if (round >= 0) times[way][round] = time;
            }
        printf("%s\n", loops[k].name);
        for (int way = first; way < WAYS; way++)
            printf("  %-8s %10.2f us, best %10.2f\n", ways[way].name,
                   median(times[way], rounds), best[way]);
    }
    rt_pool_free(pool);
    free(values);
    return 0;
}
