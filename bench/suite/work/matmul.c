// SPDX-License-Identifier: Apache-2.0
//
// The product of two matrices by gemm.h, the rows shared out.
#include "../gemm.h"

typedef struct Job {
    Matrix a, b, c;
    Real *scratch;
} Job;

static void multiply_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t begin = bench_share(job->c.rows, GEMM_ROWS, me, threads);
    int64_t rows = bench_share(job->c.rows, GEMM_ROWS, me + 1, threads) - begin;
    Matrix c = part_of(job->c, begin, 0, rows, job->c.columns);
    for (int64_t r = 0; r < c.rows; r++)
        memset(c.at + r * c.stride, 0, (size_t)c.columns * sizeof(Real));
    gemm(c, 1, part_of(job->a, begin, 0, rows, job->a.columns), job->b,
         job->scratch + me * GEMM_SCRATCH);
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {{data->in[0].data, size->n, size->m, size->m},
               {data->in[1].data, size->m, size->k, size->k},
               {data->out[0].data, size->n, size->k, size->k},
               data->scratch[0]};
    bench_team(team, multiply_part, &job);
}

static void make_matrix(BenchData *data, int64_t rows, int64_t columns, uint64_t seed) {
    Real *m = bench_in(data, REAL, 2, (int64_t[]){rows, columns});
    for (int64_t i = 0; i < rows * columns; i++) m[i] = (Real)bench_uniform(&seed);
}

static void make(BenchData *data, const BenchSize *size) {
    make_matrix(data, size->n, size->m, 1);
    make_matrix(data, size->m, size->k, 2);
    bench_out(data, REAL, 2, (int64_t[]){size->n, size->k});
    bench_scratch(data, BENCH_THREADS * GEMM_SCRATCH * sizeof(Real));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n, m = (double)size->m, k = (double)size->k;
    (void)data;
    return (BenchCost){2 * n * m * k, (n * m + m * k + n * k) * sizeof(Real),
                       ROOF_READ};
}

#define MATMUL(tiny, quick, full)                                                      \
    {                                                                                  \
        .line = "matrix product", .entry = SUFFIX("matmul"),                           \
        .sizes = {tiny, quick, full}, .tolerance = 1e-5, .cost = cost, .make = make,   \
        .run = run                                                                     \
    }
#define SIZE(...)                                                                      \
    { __VA_ARGS__ }

const Bench benches[] = {MATMUL(SIZE("", 64, 64, 64), SIZE("", 256, 256, 256),
                                SIZE("1024", 1024, 1024, 1024)),
                         MATMUL(SIZE("", 80, 300, 17), SIZE("", 512, 512, 512),
                                SIZE("2048", 2048, 2048, 2048)),
                         MATMUL(SIZE("", 37, 29, 53), SIZE("", 250, 333, 383),
                                SIZE("1000×777×1531", 1000, 777, 1531)),
                         {0}};
