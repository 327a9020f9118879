// SPDX-License-Identifier: Apache-2.0
//
// The largest value of each key, and its place. Few elements are larger than all before
// them, so each thread looks at several at once, without a branch for each, and takes
// them one by one only if there is one among them.
#include "../vector.h"

enum { AT_ONCE = 16, LINE = 16 };

typedef struct Job {
    const int32_t *keys;
    const Real *values;
    Real *largest, *own; // own[thread][bin]
    int64_t *places, *own_places;
    int64_t n, bins;
} Job;

static inline void take(const Job *job, int64_t i, Real *best, int64_t *place) {
    int32_t key = job->keys[i];
    if (job->values[i] > best[key]) best[key] = job->values[i], place[key] = i;
}

static void part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t i = bench_share(job->n, LINE, me, threads);
    int64_t end = bench_share(job->n, LINE, me + 1, threads);
    Real *best = job->own + me * job->bins;
    int64_t *place = job->own_places + me * job->bins;
    for (int64_t b = 0; b < job->bins; b++)
        best[b] = -(Real)INFINITY, place[b] = job->n;
    for (; i + AT_ONCE <= end; i += AT_ONCE) {
        int larger = 0;
        bench_fetch(&job->keys[i]);
        bench_fetch(&job->values[i]);
#pragma GCC unroll 16
        for (int c = 0; c < AT_ONCE; c++)
            larger |= job->values[i + c] > best[job->keys[i + c]];
        if (__builtin_expect(larger, 0))
            for (int c = 0; c < AT_ONCE; c++) take(job, i + c, best, place);
    }
    for (; i < end; i++) take(job, i, best, place);
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.keys = data->in[1].data,
               .values = data->in[2].data,
               .largest = data->out[0].data,
               .places = data->out[1].data,
               .own = data->scratch[0],
               .own_places = data->scratch[1],
               .n = size->n,
               .bins = size->m};
    bench_team(team, part, &job);
    // The first thread has the first places, so a later one must be larger.
    for (int64_t b = 0; b < job.bins; b++) {
        int64_t of = b;
        for (int t = 1; t < bench_threads(team); t++)
            if (job.own[t * job.bins + b] > job.own[of]) of = t * job.bins + b;
        job.largest[b] = job.own[of];
        job.places[b] = job.own_places[of];
    }
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    bench_in_i64(data, size->m);
    int32_t *keys = bench_in(data, WEFT_I32, 1, &size->n);
    Real *values = bench_in(data, REAL, 1, &size->n);
    for (int64_t i = 0; i < size->n; i++) {
        keys[i] = (int32_t)bench_below(&seed, (uint64_t)size->m);
        values[i] = (Real)bench_uniform(&seed);
    }
    bench_out(data, REAL, 1, &size->m);
    bench_out(data, WEFT_I64, 1, &size->m);
    bench_scratch(data, BENCH_THREADS * (size_t)size->m * sizeof(Real));
    bench_scratch(data, BENCH_THREADS * (size_t)size->m * sizeof(int64_t));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    (void)data;
    return (BenchCost){n, (sizeof(int32_t) + sizeof(Real)) * n, ROOF_READ};
}

const Bench benches[] = {{.line = "histogram",
                          .entry = SUFFIX("argmax"),
                          .sizes = {{"", 10007, 256, 0},
                                    {"", 5000000, 256, 0},
                                    {"10^8 pairs into 256", 100000000, 256, 0}},
                          .cost = cost,
                          .make = make,
                          .run = run},
                         {0}};
