// SPDX-License-Identifier: Apache-2.0
//
// Seven points: rows by vectors, those at the two ends of a row apart, so that no index
// inside is clamped; written past the caches, by whole vectors alone: a line of memory
// that is written in both ways is written twice.
#include <stdbool.h>

#include "../vector.h"

typedef struct Job {
    const Real *box;
    Real *out;
    int64_t d, h, w;
} Job;

static int64_t clamp(int64_t i, int64_t n) {
    return i < 0 ? 0 : i < n ? i : n - 1;
}

// The neighbours on one side of a vector of cells.
static inline Vec beside(const Real *row, int64_t x, int64_t w, int by) {
    if (x + by >= 0 && x + by + LANES <= w) return load(row + x + by);
    Vec v = {0};
    for (int i = 0; i < LANES; i++) v[i] = row[clamp(x + i + by, w)];
    return v;
}

static void do_row(const Job *job, int64_t z, int64_t y) {
    int64_t w = job->w, x = 0;
    const Real *me = job->box + (z * job->h + y) * w,
               *above = job->box + (clamp(z - 1, job->d) * job->h + y) * w,
               *below = job->box + (clamp(z + 1, job->d) * job->h + y) * w,
               *north = job->box + (z * job->h + clamp(y - 1, job->h)) * w,
               *south = job->box + (z * job->h + clamp(y + 1, job->h)) * w;
    Real *out = job->out + (z * job->h + y) * w;
    const Real a = (Real)0.4, b = (Real)0.1;
    bool is_aligned = (uintptr_t)out % VECTOR_BYTES == 0 && w % LANES == 0;
    for (; x + LANES <= w; x += LANES) {
        Vec sum = load(above + x) + load(below + x) + load(north + x) +
                  load(south + x) + beside(me, x, w, -1) + beside(me, x, w, 1);
        Vec next = a * load(me + x) + b * sum;
        if (is_aligned) stream(out + x, next);
        else store(out + x, next);
    }
    for (; x < w; x++)
        out[x] = a * me[x] + b * (above[x] + below[x] + north[x] + south[x] +
                                  me[clamp(x - 1, w)] + me[clamp(x + 1, w)]);
}

static void heat_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t end = bench_share(job->d, 1, me + 1, threads);
    for (int64_t z = bench_share(job->d, 1, me, threads); z < end; z++)
        for (int64_t y = 0; y < job->h; y++) do_row(job, z, y);
    stream_end();
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {data->in[0].data, data->out[0].data, size->n, size->m, size->k};
    bench_team(team, heat_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t shape[] = {size->n, size->m, size->k};
    Real *box = bench_in(data, REAL, 3, shape);
    for (int64_t i = 0; i < size->n * size->m * size->k; i++)
        box[i] = (Real)bench_uniform(&seed);
    bench_out(data, REAL, 3, shape);
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double cells = (double)size->n * (double)size->m * (double)size->k;
    (void)data;
    return (BenchCost){8 * cells, 2 * cells * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "stencils in space",
     .entry = SUFFIX("heat7"),
     .sizes = {{"", 7, 9, 33}, {"", 16, 128, 128}, {"64×512²", 64, 512, 512}},
     .tolerance = 1e-6,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
