// SPDX-License-Identifier: Apache-2.0
//
// Histograms. Each thread counts for itself, and into several copies in turn as long as
// these fit in L1: else the same key twice in a row waits for its own counter, which is
// what skewed keys are made of. More bins than the caches hold are shared out: each
// thread sorts its keys by ranges of bins, and then counts for all threads, range by
// range. Keys are fetched a page ahead: between them the loops look at counters all
// over the place, and the processor looks less far ahead than memory is away.
#include "../vector.h"

enum { COPIES = 8, FEW = 512, OWN = 1 << 21, RANGE_BITS = 17, LINE = 16 };

typedef struct Job {
    const int32_t *keys;
    int32_t *out, *copies, *sorted;
    int64_t n, bins, ranges, *starts; // starts[thread][range]
    BenchTeam *team;
} Job;

static int copies_of(int64_t bins) {
    return bins <= FEW ? COPIES : 1;
}

static void count(const int32_t *keys, int64_t n, int64_t bins, int32_t *copies) {
    int64_t i = 0;
    memset(copies, 0, (size_t)(copies_of(bins) * bins) * sizeof *copies);
    if (copies_of(bins) == COPIES)
        for (; i + COPIES <= n; i += COPIES) {
            bench_fetch(keys + i);
#pragma GCC unroll 8
            for (int c = 0; c < COPIES; c++) copies[c * bins + keys[i + c]]++;
        }
    for (; i + LINE <= n; i += LINE) {
        bench_fetch(keys + i);
#pragma GCC unroll 16
        for (int k = 0; k < LINE; k++) copies[keys[i + k]]++;
    }
    for (; i < n; i++) copies[keys[i]]++;
}

static void own_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t bins = job->bins, copies = copies_of(bins);
    int64_t begin = bench_share(job->n, LINE, me, threads);
    int64_t end = bench_share(job->n, LINE, me + 1, threads);
    count(job->keys + begin, end - begin, bins, job->copies + me * copies * bins);
    bench_meet(job->team);
    begin = bench_share(bins, LINE, me, threads);
    end = bench_share(bins, LINE, me + 1, threads);
    memset(job->out + begin, 0, (size_t)(end - begin) * sizeof *job->out);
    for (int64_t c = 0; c < copies * threads; c++)
        for (int64_t b = begin; b < end; b++) job->out[b] += job->copies[c * bins + b];
}

static void count_ranges(const Job *job, int64_t begin, int64_t end, int64_t *counts) {
    memset(counts, 0, (size_t)job->ranges * sizeof *counts);
    for (int64_t i = begin; i < end; i++) {
        if (i % LINE == 0) bench_fetch(job->keys + i);
        counts[job->keys[i] >> RANGE_BITS]++;
    }
}

// Where each thread's keys of each range begin: by range, then by thread.
static void add_up(const Job *job, int threads) {
    int64_t total = 0;
    for (int64_t r = 0; r < job->ranges; r++)
        for (int t = 0; t < threads; t++) {
            int64_t count = job->starts[t * job->ranges + r];
            job->starts[t * job->ranges + r] = total;
            total += count;
        }
}

static void many_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t begin = bench_share(job->n, LINE, me, threads);
    int64_t end = bench_share(job->n, LINE, me + 1, threads);
    int64_t *starts = job->starts + me * job->ranges;
    count_ranges(job, begin, end, starts);
    bench_meet(job->team);
    if (me == 0) add_up(job, threads);
    bench_meet(job->team);
    for (int64_t i = begin; i < end; i++) {
        int32_t key = job->keys[i];
        if (i % LINE == 0) bench_fetch(job->keys + i);
        job->sorted[starts[key >> RANGE_BITS]++] = key;
    }
    bench_meet(job->team);
    // Now the starts of the last thread are where the ranges end.
    const int64_t *ends = job->starts + (threads - 1) * job->ranges;
    for (int64_t r; (r = bench_next(job->team)) < job->ranges;) {
        int64_t first = r << RANGE_BITS, rest = job->bins - first;
        int64_t width = rest < 1 << RANGE_BITS ? rest : 1 << RANGE_BITS;
        memset(job->out + first, 0, (size_t)width * sizeof *job->out);
        for (int64_t i = r > 0 ? ends[r - 1] : 0; i < ends[r]; i++) {
            if (i % LINE == 0) bench_fetch(job->sorted + i);
            job->out[job->sorted[i]]++;
        }
    }
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.keys = data->in[1].data,
               .out = data->out[0].data,
               .copies = data->scratch[0],
               .sorted = data->scratch[1],
               .starts = data->scratch[2],
               .n = size->n,
               .bins = size->m,
               .ranges = ((size->m - 1) >> RANGE_BITS) + 1,
               .team = team};
    bench_team(team, size->m > OWN ? many_part : own_part, &job);
}

// Skewed (k = 1): half the keys are one, a quarter another, and so on.
static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    bench_in_i64(data, size->m);
    int32_t *keys = bench_in(data, WEFT_I32, 1, &size->n);
    for (int64_t i = 0; i < size->n; i++) {
        uint64_t key = bench_below(&seed, (uint64_t)size->m);
        if (size->k == 1) key = (uint64_t)__builtin_ctzll(key | 1u << 8 | key << 9);
        keys[i] = (int32_t)key;
    }
    bench_out(data, WEFT_I32, 1, &size->m);
    bench_scratch(data, size->m > OWN ? 1
                                      : 4 * BENCH_THREADS *
                                            (size_t)(copies_of(size->m) * size->m));
    bench_scratch(data, size->m > OWN ? (size_t)size->n * sizeof(int32_t) : 1);
    bench_scratch(data, BENCH_THREADS * (size_t)((size->m >> RANGE_BITS) + 1) * 8);
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n, bins = (double)size->m;
    (void)data;
    return (BenchCost){n, 4 * (n + bins), ROOF_READ};
}

#define HISTOGRAM(bins, skewed, label)                                                 \
    {                                                                                  \
        .line = "histogram", .entry = SUFFIX("histogram"),                             \
        .sizes = {{"", 10007, bins, skewed},                                           \
                  {"", 5000000, bins, skewed},                                         \
                  {label, 100000000, bins, skewed}},                                   \
        .cost = cost, .make = make, .run = run                                         \
    }

const Bench benches[] = {HISTOGRAM(256, 0, "10^8 into 256"),
                         HISTOGRAM(256, 1, "10^8 skewed into 256"),
                         HISTOGRAM(1000000, 0, "10^8 into 10^6"),
                         HISTOGRAM(10000000, 0, "10^8 into 10^7"),
                         {0}};
