// SPDX-License-Identifier: Apache-2.0
//
// Numbers from times: medians, spreads, what the roofs allow; and measuring the roofs
// by the object roofs.so, over memory that is kept from the first round to the last.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roofs.h"
#include "suite.h"

// ---- times -------------------------------------------------------------------------

void times_add(Times *times, double seconds) {
    times->seconds[times->count++] = seconds;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void times_sort(Times *times) {
    qsort(times->seconds, (size_t)times->count, sizeof *times->seconds, compare);
}

double times_median(const Times *times) {
    int middle = times->count / 2;
    if (times->count == 0) return 0;
    if (times->count % 2 == 1) return times->seconds[middle];
    return (times->seconds[middle - 1] + times->seconds[middle]) / 2;
}

double times_spread(const Times *times) {
    if (times->count == 0) return 0;
    int quarter = times->count / 4;
    return (times->seconds[times->count - 1 - quarter] - times->seconds[quarter]) /
           times_median(times);
}

// ---- rows --------------------------------------------------------------------------

Way row_best(const Row *row) {
    double gcc = times_median(&row->ways[WAY_GCC]),
           clang = times_median(&row->ways[WAY_CLANG]);
    return clang > 0 && (gcc <= 0 || clang < gcc) ? WAY_CLANG : WAY_GCC;
}

double row_ratio(const Row *row) {
    return times_median(&row->ways[row_best(row)]) / times_median(&row->ways[WAY_WEFT]);
}

static bool is_f64(const Row *row) {
    const char *entry = row->bench->entry;
    return strlen(entry) > 4 && strcmp(entry + strlen(entry) - 4, "_f64") == 0;
}

double row_least(const Row *row) {
    double peak = row->roofs[is_f64(row) ? ROOF_FMA64 : ROOF_FMA32];
    double compute = row->cost.flops / peak;
    double move = row->cost.bytes / row->roofs[row->cost.bytes_roof];
    return compute > move ? compute : move;
}

const char *roof_name(BenchRoof roof) {
    static const char *const names[ROOFS] = {"fma f32", "fma f64", "read", "copy",
                                             "triad",   "L1",      "L2",   "L3"};
    return names[roof];
}

// ---- memory ------------------------------------------------------------------------

size_t memory_held(bool (*run)(void *env), void *env) {
    size_t held = 0, *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) suite_die("out of memory");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rusage usage;
        if (run(env) && getrusage(RUSAGE_SELF, &usage) == 0)
            *shared = (size_t)usage.ru_maxrss << 10;
        _exit(0);
    }
    if (child > 0 && waitpid(child, NULL, 0) == child) held = *shared;
    munmap(shared, sizeof *shared);
    return held;
}

// ---- roofs -------------------------------------------------------------------------

static struct {
    RoofSizes sizes;
    RoofWork *work;
    RoofRun *run;
    BenchData pages;
    float *a, *b;
} roofs;

static int64_t cache_floats(int name, int64_t otherwise) {
    long bytes = sysconf(name);
    return (bytes > 0 ? (int64_t)bytes : otherwise) / 4;
}

static void *symbol(void *object, const char *name) {
    void *found = dlsym(object, name);
    if (found == NULL) suite_die("%s", dlerror());
    return found;
}

void roofs_open(const char *path, BenchLevel level) {
    enum { UNIT = 1024 };
    static const int64_t turns[BENCH_LEVELS] = {10000, 300000, 1000000};
    int64_t l1 = cache_floats(_SC_LEVEL1_DCACHE_SIZE, 32 << 10),
            l2 = cache_floats(_SC_LEVEL2_CACHE_SIZE, 512 << 10),
            l3 = cache_floats(_SC_LEVEL3_CACHE_SIZE, 8 << 20);
    if (level == BENCH_TINY) l3 = l2 = l1;
    int64_t memory = 4 * l3 < 32 << 20 ? 32 << 20 : 4 * l3;
    if (level == BENCH_QUICK) memory = 2 * l3;
    if (level == BENCH_TINY) memory = 1 << 20;
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) suite_die("%s", dlerror());
    *(void **)&roofs.work = symbol(object, "roof_work");
    *(void **)&roofs.run = symbol(object, "roof_run");
    roofs.sizes = (RoofSizes){
        .turns = turns[level],
        .memory = memory / UNIT * UNIT,
        .cache = {l1 / 2 / UNIT * UNIT, l2 / 2 / UNIT * UNIT, l3 / 2 / UNIT * UNIT},
        .volume = 20 * turns[level]};
    for (int c = 0; c < 3; c++)
        if (roofs.sizes.cache[c] < UNIT) roofs.sizes.cache[c] = UNIT;
    roofs.a = bench_scratch(&roofs.pages, (size_t)roofs.sizes.memory * sizeof(float));
    roofs.b = bench_scratch(&roofs.pages, (size_t)roofs.sizes.memory * sizeof(float));
}

void roofs_measure(BenchTeam *team, double rates[ROOFS]) {
    int threads = bench_threads(team);
    for (BenchRoof roof = 0; roof < ROOFS; roof++) {
        double begin = suite_clock();
        roofs.run(&roofs.sizes, roof, roofs.a, roofs.b, team);
        rates[roof] = roofs.work(&roofs.sizes, roof, threads) / (suite_clock() - begin);
    }
}
