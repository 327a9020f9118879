// SPDX-License-Identifier: Apache-2.0
//
// Tridiagonal systems: as many systems as a vector has lanes at once, squares of their
// rows transposed on the way in and out, what elimination leaves kept in L1. While they
// are eliminated the next ones are fetched, and solutions go past the caches.
#include "../vector.h"

enum { MOST_LENGTH = 1024 };

typedef struct Job {
    const Real *below, *diagonal, *above, *right;
    Real *out;
    int64_t m, n;
    Vec *kept; // c and d for each thread
} Job;

static inline void load_square(const Real *from, int64_t n, Vec square[LANES]) {
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        square[i] = load(from + i * n);
        __builtin_prefetch(from + (i + LANES) * n, 0, 2);
    }
    transpose(square);
}

// LANES systems from row r; n is a multiple of LANES.
static void solve(const Job *job, int64_t r, Vec *c, Vec *d) {
    int64_t n = job->n, at = r * n;
    Vec last_c = {0}, last_d = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        Vec below[LANES], diagonal[LANES], above[LANES], right[LANES];
        load_square(job->below + at + i, n, below);
        load_square(job->diagonal + at + i, n, diagonal);
        load_square(job->above + at + i, n, above);
        load_square(job->right + at + i, n, right);
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) {
            Vec scale = (Real)1 / (diagonal[k] - below[k] * last_c);
            c[i + k] = last_c = above[k] * scale;
            d[i + k] = last_d = (right[k] - below[k] * last_d) * scale;
        }
    }
    Vec x = {0};
    for (int64_t i = n - LANES; i >= 0; i -= LANES) {
        Vec square[LANES];
#pragma GCC unroll 16
        for (int k = LANES - 1; k >= 0; k--) {
            x = i + k == n - 1 ? d[i + k] : d[i + k] - c[i + k] * x;
            square[k] = x;
        }
        transpose(square);
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) stream(job->out + at + k * n + i, square[k]);
    }
}

static void solve_part(void *env, int me, int threads) {
    const Job *job = env;
    Vec *c = job->kept + me * 2 * MOST_LENGTH, *d = c + MOST_LENGTH;
    int64_t end = bench_share(job->m, LANES, me + 1, threads);
    for (int64_t r = bench_share(job->m, LANES, me, threads); r < end; r += LANES)
        solve(job, r, c, d);
    stream_end();
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {data->in[0].data,  data->in[1].data, data->in[2].data, data->in[3].data,
               data->out[0].data, size->n,          size->m,          data->scratch[0]};
    bench_team(team, solve_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t shape[] = {size->n, size->m}, count = size->n * size->m;
    for (int array = 0; array < 4; array++) {
        Real *at = bench_in(data, REAL, 2, shape);
        for (int64_t i = 0; i < count; i++)
            at[i] = (Real)bench_uniform(&seed) + (array == 1 ? 2 : 0);
    }
    bench_out(data, REAL, 2, shape);
    bench_scratch(data, BENCH_THREADS * 2 * MOST_LENGTH * sizeof(Vec));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n * (double)size->m;
    (void)data;
    return (BenchCost){9 * n, 5 * n * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "tridiagonal systems",
     .entry = SUFFIX("tridiagonal"),
     .sizes = {{"", 32, 64, 0}, {"", 1024, 256, 0}, {"65,536 × 256", 65536, 256, 0}},
     .tolerance = 1e-5,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
