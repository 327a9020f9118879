// SPDX-License-Identifier: Apache-2.0
//
// The sum of log i: the logarithm inlined (elementary.h), the numbers counted up as
// floats, four vectors at once. Counted are the operations of the logarithm there.
#include "../elementary.h"

enum { CHAINS = 4, STEP = CHAINS * LANES, APART = 8 };

typedef struct Job {
    int64_t n;
    Real *sums;
} Job;

static void sum_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t i = bench_share(job->n, STEP, me, threads);
    int64_t end = bench_share(job->n, STEP, me + 1, threads);
    Vec sums[CHAINS] = {{0}}, x[CHAINS];
    for (int k = 0; k < STEP; k++) x[k / LANES][k % LANES] = (Real)(i + 1 + k);
    for (; i + STEP <= end; i += STEP)
#pragma GCC unroll 4
        for (int c = 0; c < CHAINS; c++) {
            sums[c] += vector_log(x[c]);
            x[c] += (Real)STEP;
        }
    Real total = sum_lanes(sums[0] + sums[1] + (sums[2] + sums[3]));
    for (; i < end; i++) total += log((Real)(i + 1));
    job->sums[me * APART] = total;
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {size->n, data->scratch[0]};
    bench_team(team, sum_part, &job);
    Real total = 0;
    for (int t = 0; t < bench_threads(team); t++) total += job.sums[t * APART];
    *(Real *)data->out[0].data = total;
}

static void make(BenchData *data, const BenchSize *size) {
    bench_in_i64(data, size->n);
    bench_out(data, REAL, 0, NULL);
    bench_scratch(data, BENCH_THREADS * APART * sizeof(Real));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    (void)data;
    return (BenchCost){(2 * (LOG_EVEN + LOG_ODD) + 17) * (double)size->n, 8, ROOF_READ};
}

const Bench benches[] = {
    {.line = "sum of logarithms",
     .entry = SUFFIX("sumlog"),
     .sizes = {{"", 1003, 0, 0}, {"", 3000000, 0, 0}, {"2^30", 1 << 30, 0, 0}},
     .tolerance = 1e-12,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
