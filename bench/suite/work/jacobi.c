// SPDX-License-Identifier: Apache-2.0
//
// Jacobi, blocked in time: a sweep over memory does up to DEEP steps. Row by row a band
// comes in; row y - t of step t can then be done from three rows of step t - 1, of
// which four are kept, in cache, for each t. Bands overlap by DEEP rows, so that
// threads meet only between sweeps; what is done twice is little.
#include "../vector.h"

enum { DEEP = 10, KEPT = 4 };

typedef struct Job {
    const Real *from; // the grid of each sweep: the input, then two in turn
    Real *even, *odd, *out, *rows;
    int64_t h, w, steps;
    BenchTeam *team;
} Job;

static void average(const Real *north, const Real *row, const Real *south, Real *out,
                    int64_t w) {
    const Real quarter = (Real)0.25;
    int64_t x = 1;
    out[0] = row[0];
    for (; x + LANES < w; x += LANES)
        store(out + x, (load(north + x) + load(south + x) +
                        (load(row + x - 1) + load(row + x + 1))) *
                           quarter);
    for (; x < w - 1; x++)
        out[x] = (north[x] + south[x] + (row[x - 1] + row[x + 1])) * quarter;
    out[w - 1] = row[w - 1];
}

// Rows begin to end of `to`, `deep` steps after `from`.
static void sweep(const Job *job, const Real *from, Real *to, int64_t begin,
                  int64_t end, int64_t deep, Real *kept) {
    const Real *rows[DEEP + 1][KEPT] = {{0}}; // of each step, by number modulo KEPT
    int64_t w = job->w, h = job->h;
    int64_t first = begin - deep < 0 ? 0 : begin - deep;
    for (int64_t y = first; y < end + deep; y++) {
        if (y < h) rows[0][y % KEPT] = from + y * w;
        for (int64_t t = 1; t <= deep; t++) {
            int64_t r = y - t;
            if (r < begin - (deep - t) || r < 0 || r >= end + (deep - t) || r >= h)
                continue;
            Real *out = kept + (t * KEPT + r % KEPT) * w;
            if (t == deep) out = to + r * w;
            const Real *row = rows[t - 1][r % KEPT];
            if (r == 0 || r == h - 1) memcpy(out, row, (size_t)w * sizeof *out);
            else
                average(rows[t - 1][(r - 1) % KEPT], row, rows[t - 1][(r + 1) % KEPT],
                        out, w);
            rows[t][r % KEPT] = out;
        }
    }
}

static void jacobi_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t begin = bench_share(job->h, 1, me, threads);
    int64_t end = bench_share(job->h, 1, me + 1, threads);
    const Real *from = job->from;
    for (int64_t done = 0, turn = 0; done < job->steps; done += DEEP, turn++) {
        int64_t deep = job->steps - done < DEEP ? job->steps - done : DEEP;
        Real *to = done + deep == job->steps ? job->out
                   : turn % 2                ? job->odd
                                             : job->even;
        sweep(job, from, to, begin, end, deep,
              job->rows + me * (DEEP + 1) * KEPT * job->w);
        from = to;
        bench_meet(job->team);
    }
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.from = data->in[1].data,
               .even = data->scratch[0],
               .odd = data->scratch[1],
               .rows = data->scratch[2],
               .out = data->out[0].data,
               .h = size->n,
               .w = size->n,
               .steps = size->m,
               .team = team};
    bench_team(team, jacobi_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t shape[] = {size->n, size->n}, cells = size->n * size->n;
    bench_in_i64(data, size->m);
    Real *grid = bench_in(data, REAL, 2, shape);
    for (int64_t i = 0; i < cells; i++) grid[i] = (Real)bench_uniform(&seed);
    bench_out(data, REAL, 2, shape);
    bench_scratch(data, (size_t)cells * sizeof(Real));
    bench_scratch(data, (size_t)cells * sizeof(Real));
    bench_scratch(data,
                  BENCH_THREADS * (DEEP + 1) * KEPT * (size_t)size->n * sizeof(Real));
}

// What each step would move by itself: less, in time, is what blocking gains.
static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double work = (double)size->n * (double)size->n * (double)size->m;
    (void)data;
    return (BenchCost){4 * work, 2 * work * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "Jacobi",
     .entry = SUFFIX("jacobi"),
     .sizes = {{"", 50, 23, 0}, {"", 512, 20, 0}, {"4096², 100 steps", 4096, 100, 0}},
     .tolerance = 1e-5,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
