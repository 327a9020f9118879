// SPDX-License-Identifier: Apache-2.0
//
// The Mandelbrot set, several vectors of neighbouring points at once, so that one hides
// the latency of another, until all of them have escaped; those that have stand still.
// Rows go to whichever thread is free. Eight operations are counted for a step.
#include "../vector.h"

enum { VECS = 4, STRIP = VECS * LANES };

typedef struct Job {
    int64_t n, limit;
    int32_t *out;
    BenchTeam *team;
} Job;

static void do_strip(const Job *job, int64_t row, int64_t column, int32_t *steps) {
    Vec x[VECS], y[VECS], cx[VECS];
    Mask count[VECS];
    const Real n = (Real)job->n, cy = 3 * ((Real)row / n) - (Real)1.5;
    for (int v = 0; v < VECS; v++) {
        for (int i = 0; i < LANES; i++)
            cx[v][i] = 3 * ((Real)(column + v * LANES + i) / n) - 2;
        x[v] = y[v] = (Vec){0};
        count[v] = (Mask){0};
    }
    for (int64_t k = 0; k < job->limit; k++) {
        Mask inside = {0};
        for (int v = 0; v < VECS; v++) {
            Vec xx = x[v] * x[v], yy = y[v] * y[v];
            Mask in = xx + yy <= splat(4);
            count[v] -= in; // once out, a point stays out: it flies off, or is NaN
            inside |= in;
            y[v] = (x[v] + x[v]) * y[v] + cy;
            x[v] = xx - yy + cx[v];
        }
        if (k % 4 == 3) {
            Int any = 0;
            for (int i = 0; i < LANES; i++) any |= inside[i];
            if (any == 0) break;
        }
    }
    for (int v = 0; v < VECS; v++)
        for (int i = 0; i < LANES; i++) steps[v * LANES + i] = (int32_t)count[v][i];
}

static void draw_part(void *env, int me, int threads) {
    const Job *job = env;
    (void)me, (void)threads;
    for (int64_t row; (row = bench_next(job->team)) < job->n;)
        for (int64_t column = 0; column < job->n; column += STRIP) {
            int32_t steps[STRIP];
            int64_t count = job->n - column < STRIP ? job->n - column : STRIP;
            do_strip(job, row, column, steps);
            memcpy(job->out + row * job->n + column, steps,
                   (size_t)count * sizeof *steps);
        }
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {size->n, size->m, data->out[0].data, team};
    bench_team(team, draw_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    bench_in_i64(data, size->n);
    bench_in_i64(data, size->m);
    bench_out(data, WEFT_I32, 2, (int64_t[]){size->n, size->n});
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    const int32_t *steps = data->out[0].data;
    double points = (double)size->n * (double)size->n, total = 0;
    for (int64_t i = 0; i < size->n * size->n; i++) total += steps[i];
    return (BenchCost){8 * total, 4 * points, ROOF_COPY};
}

// Points that escape late do so at another step if one rounding differs.
#define MANDELBROT(limit, label)                                                       \
    {                                                                                  \
        .line = "Mandelbrot", .entry = SUFFIX("mandelbrot"),                           \
        .sizes = {{"", 50, limit, 0}, {"", 400, limit, 0}, {label, 4096, limit, 0}},   \
        .odd = 0.02, .cost = cost, .make = make, .run = run                            \
    }

const Bench benches[] = {
    MANDELBROT(256, "4096², 256 steps"), MANDELBROT(1000, "4096², 1000 steps"), {0}};
