// SPDX-License-Identifier: Apache-2.0
//
// Filter in one pass over memory, as prefix sums have it: the threads count in
// neighbouring blocks, meet, and write what they keep to where it belongs, without a
// branch: every element is written, and what is not kept is overwritten by the next.
// With AVX2, four at a time by a table of the 16 ways to keep some of four.
#include "../keep.h"

enum { BLOCK = 8192 };

typedef struct Job {
    const Real *xs;
    Real *out;
    int64_t n, *counts, kept; // the counts of three turns
    BenchTeam *team;
} Job;

static int64_t count_kept(const Real *xs, int64_t count) {
    Mask sums = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) sums -= load(xs + i) < (Real)0.5;
    int64_t kept = 0;
    for (int lane = 0; lane < LANES; lane++) kept += sums[lane];
    for (; i < count; i++) kept += xs[i] < (Real)0.5;
    return kept;
}

// As long as as many can still follow in this block as a vector has, so that nothing of
// another thread's is overwritten.
static int64_t keep_vectors(const Real *xs, int64_t count, Real *out, int64_t *at) {
    int64_t i = 0, to = *at, end = to + count_kept(xs, count);
    for (; i + LANES <= count && to + LANES <= end; i += LANES) {
        Vec v = load(xs + i);
        to += keep_lanes(out + to, v, v < (Real)0.5);
    }
    *at = to;
    return i;
}

static void keep(const Real *xs, int64_t count, Real *out, int64_t at) {
    for (int64_t i = keep_vectors(xs, count, out, &at); i < count; i++)
        if (xs[i] < (Real)0.5) out[at++] = xs[i];
}

static void filter_part(void *env, int me, int threads) {
    Job *job = env;
    int64_t total = 0, turn = 0;
    for (int64_t begin = 0; begin < job->n; begin += BLOCK * threads, turn++) {
        int64_t from = begin + me * BLOCK, count = job->n - from;
        count = count < 0 ? 0 : count < BLOCK ? count : BLOCK;
        int64_t *counts = job->counts + turn % 3 * BENCH_THREADS;
        counts[me] = count_kept(job->xs + from, count);
        bench_meet(job->team);
        int64_t before = total;
        for (int t = 0; t < me; t++) before += counts[t];
        for (int t = 0; t < threads; t++) total += counts[t];
        keep(job->xs + from, count, job->out, before);
    }
    if (me == 0) job->kept = total;
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.xs = data->in[0].data,
               .out = data->out[0].data,
               .n = size->n,
               .counts = data->scratch[0],
               .team = team};
    bench_team(team, filter_part, &job);
    data->out[0].shape[0] = job.kept;
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    Real *xs = bench_in(data, REAL, 1, &size->n);
    for (int64_t i = 0; i < size->n; i++) xs[i] = (Real)bench_uniform(&seed);
    bench_out(data, REAL, 1, &size->n);
    bench_scratch(data, 3 * BENCH_THREADS * sizeof(int64_t));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n, kept = (double)data->out[0].shape[0];
    return (BenchCost){n, (n + kept) * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "filter",
     .entry = SUFFIX("filter"),
     .sizes = {{"", 20003, 0, 0}, {"", 2000000, 0, 0}, {"10^8", 100000000, 0, 0}},
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
