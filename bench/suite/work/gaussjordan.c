// SPDX-License-Identifier: Apache-2.0
//
// The inverse in place, by blocks: the inverse of a diagonal block times its rows makes
// a panel; all other rows lose their part of it, which is a matrix product (gemm.h).
// Where a block column has been, the columns of the inverse grow.
#include "../gemm.h"

enum { BLOCK = 64 };

typedef struct Job {
    Matrix m;
    Real *panel, *columns, *scratch; // BLOCK rows; n by BLOCK; of gemm
    Real inverse[BLOCK * BLOCK];
    BenchTeam *team;
} Job;

// Of the m.rows by m.rows block, row by row.
static void invert_block(Matrix m, Real *out) {
    int64_t n = m.rows;
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * n, m.at + i * m.stride, (size_t)n * sizeof *out);
    for (int64_t p = 0; p < n; p++) {
        Real scale = 1 / out[p * n + p];
        out[p * n + p] = 1;
        for (int64_t j = 0; j < n; j++) out[p * n + j] *= scale;
        for (int64_t i = 0; i < n; i++) {
            if (i == p) continue;
            Real factor = out[i * n + p];
            out[i * n + p] = 0;
            for (int64_t j = 0; j < n; j++) out[i * n + j] -= factor * out[p * n + j];
        }
    }
}

// Rows that are not of the block: what they have in its columns times the panel goes
// away.
static void eliminate(const Job *job, int64_t k, int64_t begin, int64_t end,
                      Real *scratch) {
    const Matrix m = job->m;
    int64_t width = m.rows - k < BLOCK ? m.rows - k : BLOCK;
    if (begin >= end) return;
    for (int64_t i = begin; i < end; i++) {
        Real *at = m.at + i * m.stride + k;
        memcpy(job->columns + i * BLOCK, at, (size_t)width * sizeof *at);
        memset(at, 0, (size_t)width * sizeof *at);
    }
    gemm(part_of(m, begin, 0, end - begin, m.columns), -1,
         (Matrix){job->columns + begin * BLOCK, end - begin, width, BLOCK},
         (Matrix){job->panel, width, m.columns, m.columns}, scratch);
}

// A share of the columns of the panel.
static void make_panel(const Job *job, int64_t k, int64_t begin, int64_t end,
                       Real *scratch) {
    const Matrix m = job->m;
    int64_t width = m.rows - k < BLOCK ? m.rows - k : BLOCK;
    Matrix panel = {job->panel + begin, width, end - begin, m.columns};
    for (int64_t i = 0; i < width; i++)
        memset(panel.at + i * m.columns, 0, (size_t)(end - begin) * sizeof(Real));
    gemm(panel, 1, (Matrix){(Real *)job->inverse, width, width, width},
         part_of(m, k, begin, width, end - begin), scratch);
}

static void invert_part(void *env, int me, int threads) {
    Job *job = env;
    const Matrix m = job->m;
    int64_t n = m.rows, begin = bench_share(n, GEMM_COLUMNS, me, threads);
    int64_t end = bench_share(n, GEMM_COLUMNS, me + 1, threads);
    Real *scratch = job->scratch + me * GEMM_SCRATCH;
    for (int64_t k = 0; k < n; k += BLOCK) {
        int64_t after = k + BLOCK < n ? k + BLOCK : n;
        if (me == 0) invert_block(part_of(m, k, k, after - k, after - k), job->inverse);
        bench_meet(job->team);
        make_panel(job, k, begin, end, scratch);
        bench_meet(job->team);
        if (me == 0) // its own columns of the panel are the inverse
            for (int64_t i = 0; i < after - k; i++)
                memcpy(job->panel + i * n + k, job->inverse + i * (after - k),
                       (size_t)(after - k) * sizeof(Real));
        bench_meet(job->team);
        eliminate(job, k, begin, end < k ? end : k, scratch);
        eliminate(job, k, begin > after ? begin : after, end, scratch);
        for (int64_t i = begin > k ? begin : k; i < end && i < after; i++)
            memcpy(m.at + i * n, job->panel + (i - k) * n, (size_t)n * sizeof(Real));
        bench_meet(job->team);
    }
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    int64_t n = size->n;
    Job job = {.m = {data->out[0].data, n, n, n},
               .panel = data->scratch[0],
               .columns = data->scratch[1],
               .scratch = data->scratch[2],
               .team = team};
    memcpy(job.m.at, data->in[0].data, (size_t)(n * n) * sizeof(Real));
    bench_team(team, invert_part, &job);
}

// The diagonal outweighs the rest of its row, so that no rows need to be exchanged.
static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t n = size->n, shape[] = {n, n};
    Real *a = bench_in(data, REAL, 2, shape);
    for (int64_t i = 0; i < n * n; i++) a[i] = (Real)(bench_uniform(&seed) - 0.5);
    for (int64_t i = 0; i < n; i++) a[i * n + i] = (Real)n;
    bench_out(data, REAL, 2, shape);
    bench_scratch(data, (size_t)(BLOCK * n) * sizeof(Real));
    bench_scratch(data, (size_t)(BLOCK * n) * sizeof(Real));
    bench_scratch(data, BENCH_THREADS * GEMM_SCRATCH * sizeof(Real));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    (void)data;
    return (BenchCost){2 * n * n * n, 2 * n * n * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "Gauss–Jordan",
     .entry = SUFFIX("gaussjordan"),
     .sizes = {{"", 75, 0, 0}, {"", 200, 0, 0}, {"1024", 1024, 0, 0}},
     .tolerance = 1e-5,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
