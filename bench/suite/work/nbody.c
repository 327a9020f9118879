// SPDX-License-Identifier: Apache-2.0
//
// n bodies: vectors of bodies that are pulled, one puller at a time for all lanes, in
// blocks of pullers that stay in L1. The inverse root is the machine's estimate of 12
// (or 14) bits, made exact to a few ulp by a step of third order (two for f64), which
// is faster than a root and a division. Twenty operations are counted for a pair. With
// BENCH_EXACT root and quotient are exact, as Weft's have to be.
#include "../vector.h"

enum { VECS = 2, STRIP = VECS * LANES, BLOCK = 1024 };

typedef struct Job {
    const Real *in[4]; // x, y, z, m
    Real *out[3];
    int64_t n;
    BenchTeam *team;
} Job;

#ifdef BENCH_EXACT
static inline Vec pull_of(Vec d2, Real m) {
    Vec root;
#if BENCH_TYPE == BENCH_TYPE_f32
    for (int i = 0; i < LANES; i++) root[i] = sqrtf(d2[i]);
#else
    for (int i = 0; i < LANES; i++) root[i] = sqrt(d2[i]);
#endif
    return m / (d2 * root);
}
#else
static inline Vec estimate(Vec d2) {
#if defined __AVX512F__ && BENCH_TYPE == BENCH_TYPE_f32
    return (Vec)_mm512_rsqrt14_ps((__m512)d2);
#elif defined __AVX512F__
    return (Vec)_mm512_rsqrt14_pd((__m512d)d2);
#elif defined __AVX__ && BENCH_TYPE == BENCH_TYPE_f32
    return (Vec)_mm256_rsqrt_ps((__m256)d2);
#elif defined __AVX__
    return (Vec)_mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps((__m256d)d2)));
#else
    Vec root;
    for (int i = 0; i < LANES; i++) root[i] = (Real)(1 / sqrt((double)d2[i]));
    return root;
#endif
}

// m / d2^(3/2): with e = 1 - d2 y y that is m y^3 (1 + 3/2 e + 15/8 e^2 + ...), of which
// as much is taken as the estimate is short of.
static inline Vec pull_of(Vec d2, Real m) {
    Vec y = estimate(d2), y2 = y * y, e = splat(1) - d2 * y2;
    Vec series = (Real)1.5 * e + (Real)1;
    if (sizeof(Real) == 8) {
        series = (Real)2.4609375 * e + (Real)2.1875;
        series = (series * e + (Real)1.875) * e + (Real)1.5;
        series = series * e + (Real)1;
    }
    return (m * y) * y2 * series;
}
#endif

static void pull_block(const Job *job, int64_t at, int64_t begin, int64_t end) {
    Vec place[3][VECS], sum[3][VECS];
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < VECS; v++) {
            place[c][v] = load(job->in[c] + at + v * LANES);
            sum[c][v] = load(job->out[c] + at + v * LANES);
        }
    for (int64_t j = begin; j < end; j++)
        for (int v = 0; v < VECS; v++) {
            Vec dx = job->in[0][j] - place[0][v], dy = job->in[1][j] - place[1][v],
                dz = job->in[2][j] - place[2][v];
            Vec s = pull_of(dx * dx + dy * dy + dz * dz + (Real)0.01, job->in[3][j]);
            sum[0][v] += dx * s;
            sum[1][v] += dy * s;
            sum[2][v] += dz * s;
        }
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < VECS; v++) store(job->out[c] + at + v * LANES, sum[c][v]);
}

// Outputs and inputs have room for a strip beyond the end.
static void pull_part(void *env, int me, int threads) {
    enum { STRIPS = 16, GROUP = STRIPS * STRIP };
    const Job *job = env;
    (void)me, (void)threads;
    for (int64_t at; (at = bench_next(job->team) * GROUP) < job->n;) {
        int64_t last = at + GROUP < job->n ? at + GROUP : job->n;
        for (int c = 0; c < 3; c++)
            memset(job->out[c] + at, 0, (size_t)(last - at) * sizeof(Real));
        for (int64_t begin = 0; begin < job->n; begin += BLOCK) {
            int64_t end = begin + BLOCK < job->n ? begin + BLOCK : job->n;
            for (int64_t i = at; i < last; i += STRIP) pull_block(job, i, begin, end);
        }
    }
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.n = size->n, .team = team};
    for (int c = 0; c < 4; c++) job.in[c] = data->scratch[c];
    for (int c = 0; c < 3; c++) job.out[c] = data->scratch[4 + c];
    for (int c = 0; c < 4; c++)
        memcpy(data->scratch[c], data->in[c].data, (size_t)size->n * sizeof(Real));
    bench_team(team, pull_part, &job);
    for (int c = 0; c < 3; c++)
        memcpy(data->out[c].data, job.out[c], (size_t)size->n * sizeof(Real));
}

static void make(BenchData *data, const BenchSize *size) {
    for (uint64_t c = 0; c < 4; c++) {
        uint64_t seed = c + 1;
        Real *at = bench_in(data, REAL, 1, &size->n);
        for (int64_t i = 0; i < size->n; i++) at[i] = (Real)bench_uniform(&seed);
    }
    for (int c = 0; c < 3; c++) bench_out(data, REAL, 1, &size->n);
    for (int c = 0; c < 7; c++)
        bench_scratch(data, (size_t)(size->n + STRIP) * sizeof(Real));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    (void)data;
    return (BenchCost){20 * n * n, 7 * n * sizeof(Real), ROOF_READ};
}

#define NBODY(tiny, quick, full, label)                                                \
    {                                                                                  \
        .line = "n-body", .entry = SUFFIX("nbody"),                                    \
        .sizes = {{"", tiny, 0, 0}, {"", quick, 0, 0}, {label, full, 0, 0}},           \
        .tolerance = sizeof(Real) == 4 ? 2e-5 : 1e-12, .cost = cost, .make = make,     \
        .run = run                                                                     \
    }

const Bench benches[] = {
    NBODY(101, 1000, 10000, "10,000"), NBODY(333, 3000, 50000, "50,000"), {0}};
