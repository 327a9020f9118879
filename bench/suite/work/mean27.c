// SPDX-License-Identifier: Apache-2.0
//
// The mean of 27: sums of three along one axis, of those along the next, and so on: six
// additions for a cell in place of 26. Sums over the planes are kept for three rows,
// sums over these for one, with a cell of edge at both ends; nothing else is written
// but the answer, past the caches.
#include "../vector.h"

typedef struct Job {
    const Real *box;
    Real *out, *rows; // 4 rows for each thread, with room around
    int64_t d, h, w;
} Job;

enum { ROOM = 2 * VECTOR_BYTES };

static int64_t clamp(int64_t i, int64_t n) {
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static void sum_planes(const Job *job, int64_t z, int64_t y, Real *to) {
    const Real *at[3];
    for (int k = 0; k < 3; k++)
        at[k] = job->box + (clamp(z + k - 1, job->d) * job->h + y) * job->w;
    int64_t x = 0;
    for (; x + LANES <= job->w; x += LANES)
        store(to + x, load(at[0] + x) + load(at[1] + x) + load(at[2] + x));
    for (; x < job->w; x++) to[x] = at[0][x] + at[1][x] + at[2][x];
}

// Sums of three rows, with the edges doubled, and then of three columns.
static void finish_row(const Job *job, Real *const rows[3], Real *sums, Real *out) {
    int64_t x = 0, w = job->w;
    for (; x + LANES <= w; x += LANES)
        store(sums + x, load(rows[0] + x) + load(rows[1] + x) + load(rows[2] + x));
    for (; x < w; x++) sums[x] = rows[0][x] + rows[1][x] + rows[2][x];
    sums[-1] = sums[0];
    sums[w] = sums[w - 1];
    const Real part = (Real)1 / 27;
    if ((uintptr_t)out % VECTOR_BYTES == 0)
        for (x = 0; x + LANES <= w; x += LANES)
            stream(out + x,
                   (load(sums + x - 1) + load(sums + x) + load(sums + x + 1)) * part);
    else x = 0;
    for (; x < w; x++) out[x] = (sums[x - 1] + sums[x] + sums[x + 1]) * part;
}

static void mean_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t end = bench_share(job->d, 1, me + 1, threads), stride = job->w + ROOM;
    Real *base = job->rows + me * 4 * stride + ROOM / 2, *rows[3];
    for (int64_t z = bench_share(job->d, 1, me, threads); z < end; z++) {
        sum_planes(job, z, 0, base);
        for (int64_t y = 0; y < job->h; y++) {
            if (y + 1 < job->h) sum_planes(job, z, y + 1, base + (y + 1) % 3 * stride);
            for (int k = 0; k < 3; k++)
                rows[k] = base + clamp(y + k - 1, job->h) % 3 * stride;
            finish_row(job, rows, base + 3 * stride,
                       job->out + (z * job->h + y) * job->w);
        }
    }
    stream_end();
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {data->in[0].data, data->out[0].data, data->scratch[0],
               size->n,          size->m,           size->k};
    bench_team(team, mean_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t shape[] = {size->n, size->m, size->k};
    Real *box = bench_in(data, REAL, 3, shape);
    for (int64_t i = 0; i < size->n * size->m * size->k; i++)
        box[i] = (Real)bench_uniform(&seed);
    bench_out(data, REAL, 3, shape);
    bench_scratch(data, BENCH_THREADS * 4 * (size_t)(size->k + ROOM) * sizeof(Real));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double cells = (double)size->n * (double)size->m * (double)size->k;
    (void)data;
    return (BenchCost){7 * cells, 2 * cells * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "stencils in space",
     .entry = SUFFIX("mean27"),
     .sizes = {{"", 7, 9, 33}, {"", 64, 64, 64}, {"256³", 256, 256, 256}},
     .tolerance = 1e-6,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
