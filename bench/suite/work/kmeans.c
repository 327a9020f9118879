// SPDX-License-Identifier: Apache-2.0
//
// k-means: all distances of a point at once, the centres in the lanes, by |c|^2 - 2 c p
// (the nearest is the same without |p|^2), so that a coordinate costs one multiply-add
// for a vector of centres; then the least lane. Sums and counts of each thread are
// added up at the end. Three operations are counted for a coordinate, as in the
// program.
#include "../vector.h"

enum { DIM = 16, CENTRES = 32, VECS = CENTRES / LANES, POINTS = 2 };

typedef struct Sums {
    Real sums[CENTRES][DIM];
    int32_t counts[CENTRES];
    char apart[128];
} Sums;

typedef struct Job {
    const Real *points;
    Real columns[DIM][CENTRES], squares[CENTRES]; // -2 c, and |c|^2
    int64_t n;
    Sums *sums;
} Job;

static inline int least_lane(const Vec v[VECS]) {
    Vec least = v[0];
    Mask where = {0}, lane;
    for (int i = 0; i < LANES; i++) lane[i] = i;
    for (int k = 1; k < VECS; k++) {
        Mask less = v[k] < least;
        least = choose(less, v[k], least);
        where = (where & ~less) | (less & k);
    }
    where = where * LANES + lane;
    int best = 0;
    for (int i = 1; i < LANES; i++)
        if (least[i] < least[best] ||
            (least[i] == least[best] && where[i] < where[best]))
            best = i;
    return (int)where[best];
}

static void add_point(Sums *sums, const Real *point, int centre) {
    for (int d = 0; d < DIM; d += LANES)
        store(&sums->sums[centre][d], load(&sums->sums[centre][d]) + load(point + d));
    sums->counts[centre]++;
}

static inline void do_points(const Job *job, const Real *at, int count, Sums *sums) {
    Vec far[POINTS][VECS];
    for (int p = 0; p < count; p++)
        for (int v = 0; v < VECS; v++) far[p][v] = load(job->squares + v * LANES);
#pragma GCC unroll 4
    for (int d = 0; d < DIM; d++)
        for (int v = 0; v < VECS; v++) {
            Vec column = load(job->columns[d] + v * LANES);
            for (int p = 0; p < count; p++) far[p][v] += at[p * DIM + d] * column;
        }
    for (int p = 0; p < count; p++) add_point(sums, at + p * DIM, least_lane(far[p]));
}

static void cluster_part(void *env, int me, int threads) {
    const Job *job = env;
    Sums sums = {0};
    int64_t i = bench_share(job->n, POINTS, me, threads);
    int64_t end = bench_share(job->n, POINTS, me + 1, threads);
    for (; i + POINTS <= end; i += POINTS)
        do_points(job, job->points + i * DIM, POINTS, &sums);
    for (; i < end; i++) do_points(job, job->points + i * DIM, 1, &sums);
    job->sums[me] = sums;
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    const Real *centres = data->in[1].data;
    Real *means = data->out[0].data;
    int32_t *counts = data->out[1].data;
    Job job = {.points = data->in[0].data, .n = size->n, .sums = data->scratch[0]};
    for (int c = 0; c < CENTRES; c++)
        for (int d = 0; d < DIM; d++) {
            Real x = centres[c * DIM + d];
            job.columns[d][c] = -2 * x;
            job.squares[c] += x * x;
        }
    bench_team(team, cluster_part, &job);
    for (int t = 1; t < bench_threads(team); t++)
        for (int c = 0; c < CENTRES; c++) {
            job.sums[0].counts[c] += job.sums[t].counts[c];
            for (int d = 0; d < DIM; d++)
                job.sums[0].sums[c][d] += job.sums[t].sums[c][d];
        }
    for (int c = 0; c < CENTRES; c++) {
        counts[c] = job.sums[0].counts[c];
        for (int d = 0; d < DIM; d++)
            means[c * DIM + d] = job.sums[0].sums[c][d] / (Real)counts[c];
    }
}

// Points around the centres, so that none is alone.
static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    Real *points = bench_in(data, REAL, 2, (int64_t[]){size->n, DIM});
    Real *centres = bench_in(data, REAL, 2, (int64_t[]){CENTRES, DIM});
    for (int i = 0; i < CENTRES * DIM; i++) centres[i] = (Real)bench_uniform(&seed);
    for (int64_t i = 0; i < size->n; i++)
        for (int d = 0; d < DIM; d++)
            points[i * DIM + d] = centres[i % CENTRES * DIM + d] +
                                  (Real)(0.6 * bench_uniform(&seed) - 0.3);
    bench_out(data, REAL, 2, (int64_t[]){CENTRES, DIM});
    bench_out(data, WEFT_I32, 1, (int64_t[]){CENTRES});
    bench_scratch(data, BENCH_THREADS * sizeof(Sums));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    (void)data;
    return (BenchCost){3.0 * n * DIM * CENTRES, n * DIM * sizeof(Real), ROOF_READ};
}

// A point in the middle of two centres may go to either.
const Bench benches[] = {
    {.line = "k-means",
     .entry = SUFFIX("kmeans"),
     .sizes = {{"", 1003, 0, 0}, {"", 50000, 0, 0}, {"10^6×16×32", 1000000, 0, 0}},
     .tolerance = 1e-3,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
