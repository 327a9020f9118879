// SPDX-License-Identifier: Apache-2.0
//
// Inner product and saxpy: both wait for memory. Eight sums in turn, so that no
// addition waits for the one before; those of a block are added to the sum of blocks, as
// sums of 10^8 floats in a few lanes would be wrong in the fourth digit. saxpy writes
// past the caches, which saves fetching what is overwritten.
#include "../vector.h"

typedef struct Job {
    const Real *xs, *ys;
    Real a, *out, *sums;
    int64_t n;
} Job;

enum { CHAINS = 8, STEP = CHAINS * LANES, BLOCK = 64 * STEP, APART = 64 };

static Real dot_steps(const Real *xs, const Real *ys, int64_t n) {
    Vec sums[CHAINS] = {{0}};
    for (int64_t i = 0; i < n; i += STEP)
#pragma GCC unroll 8
        for (int c = 0; c < CHAINS; c++)
            sums[c] += load(xs + i + c * LANES) * load(ys + i + c * LANES);
    for (int c = 1; c < CHAINS; c++) sums[0] += sums[c];
    return sum_lanes(sums[0]);
}

static void dot_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t i = bench_share(job->n, STEP, me, threads);
    int64_t end = bench_share(job->n, STEP, me + 1, threads);
    double total = 0;
    while (i + STEP <= end) {
        int64_t left = (end - i) / STEP * STEP, n = left < BLOCK ? left : BLOCK;
        total += (double)dot_steps(job->xs + i, job->ys + i, n);
        i += n;
    }
    for (; i < end; i++) total += (double)(job->xs[i] * job->ys[i]);
    job->sums[me * APART] = (Real)total;
}

static void dot(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.xs = data->in[0].data,
               .ys = data->in[1].data,
               .sums = data->scratch[0],
               .n = size->n};
    bench_team(team, dot_part, &job);
    Real total = 0;
    for (int t = 0; t < bench_threads(team); t++) total += job.sums[t * APART];
    *(Real *)data->out[0].data = total;
}

static void saxpy_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t i = bench_share(job->n, LANES, me, threads);
    int64_t end = bench_share(job->n, LANES, me + 1, threads);
    Vec a = splat(job->a);
    for (; i + LANES <= end; i += LANES)
        stream(job->out + i, a * load(job->xs + i) + load(job->ys + i));
    stream_end();
    for (; i < end; i++) job->out[i] = job->a * job->xs[i] + job->ys[i];
}

static void saxpy(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.a = *(Real *)data->in[0].data,
               .xs = data->in[1].data,
               .ys = data->in[2].data,
               .out = data->out[0].data,
               .n = size->n};
    bench_team(team, saxpy_part, &job);
}

static void make_vector(BenchData *data, int64_t n, uint64_t seed) {
    Real *xs = bench_in(data, REAL, 1, &n);
    for (int64_t i = 0; i < n; i++) xs[i] = (Real)bench_uniform(&seed);
}

static void make_dot(BenchData *data, const BenchSize *size) {
    make_vector(data, size->n, 1);
    make_vector(data, size->n, 2);
    bench_out(data, REAL, 0, NULL);
    bench_scratch(data, BENCH_THREADS * APART * sizeof(Real));
}

static void make_saxpy(BenchData *data, const BenchSize *size) {
    *(Real *)bench_in(data, REAL, 0, NULL) = (Real)0.3;
    make_vector(data, size->n, 1);
    make_vector(data, size->n, 2);
    bench_out(data, REAL, 1, &size->n);
}

static BenchCost dot_cost(const BenchSize *size, const BenchData *data) {
    (void)data;
    double n = (double)size->n;
    return (BenchCost){2 * n, 2 * n * sizeof(Real), ROOF_READ};
}

static BenchCost saxpy_cost(const BenchSize *size, const BenchData *data) {
    (void)data;
    double n = (double)size->n;
    return (BenchCost){2 * n, 3 * n * sizeof(Real), ROOF_TRIAD};
}

const Bench benches[] = {
    {.line = "dot, saxpy",
     .entry = SUFFIX("dot"),
     .sizes = {{"", 1003, 0, 0}, {"", 4000000, 0, 0}, {"10^8", 100000000, 0, 0}},
     .tolerance = 1e-5,
     .cost = dot_cost,
     .make = make_dot,
     .run = dot},
    {.line = "dot, saxpy",
     .entry = SUFFIX("saxpy"),
     .sizes = {{"", 1003, 0, 0}, {"", 4000000, 0, 0}, {"10^8", 100000000, 0, 0}},
     .tolerance = 1e-6,
     .cost = saxpy_cost,
     .make = make_saxpy,
     .run = saxpy},
    {0}};
