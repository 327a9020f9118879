// SPDX-License-Identifier: Apache-2.0
//
// Lattice Boltzmann, D3Q19: one pass over memory, all 19 numbers of a vector of cells
// in registers (or on the stack next to them), velocities known to the compiler, so
// that only what is not zero is added. Rows come from 19 places, each fetched a row
// ahead, for which they are too short and too many without being asked; results of a row
// wait in L1, and go past the caches one row after the other: 19 such streams at once are
// ten times slower.
#include "../vector.h"

enum { Q = 19 };

static const int velocities[Q][3] = {{0, 0, 0},   {0, 0, 1},  {0, 0, -1}, {0, 1, 0},
                                     {0, -1, 0},  {1, 0, 0},  {-1, 0, 0}, {0, 1, 1},
                                     {0, -1, -1}, {0, 1, -1}, {0, -1, 1}, {1, 0, 1},
                                     {-1, 0, -1}, {1, 0, -1}, {-1, 0, 1}, {1, 1, 0},
                                     {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}};

typedef struct Job {
    const Real *f;
    Real *out;
    Real *buffers; // Q rows for each thread, with room
    int64_t n;     // cells along each axis
} Job;

// A vector of cells: from[q] are the places that flow there.
static inline void relax(const Real *const from[Q], Real *const to[Q]) {
    static const Real weights[] = {(Real)1 / 3, (Real)1 / 18, (Real)1 / 36};
    Vec f[Q], density = {0}, u[3] = {{0}};
#pragma GCC unroll 19
    for (int q = 0; q < Q; q++) {
        f[q] = load(from[q]);
        density += f[q];
        for (int axis = 0; axis < 3; axis++) {
            if (velocities[q][axis] > 0) u[axis] += f[q];
            if (velocities[q][axis] < 0) u[axis] -= f[q];
        }
    }
    Vec inverse = (Real)1 / density;
    for (int axis = 0; axis < 3; axis++) u[axis] *= inverse;
    Vec rest = (Real)1 - (Real)1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
#pragma GCC unroll 19
    for (int q = 0; q < Q; q++) {
        Vec cu = {0};
        for (int axis = 0; axis < 3; axis++) {
            if (velocities[q][axis] > 0) cu += u[axis];
            if (velocities[q][axis] < 0) cu -= u[axis];
        }
        Real weight = weights[(q > 0) + (q > 6)] * (Real)0.6;
        Vec balance = density * weight * (rest + cu * ((Real)4.5 * cu + (Real)3));
        store(to[q], (Real)0.4 * f[q] + balance);
    }
}

// The cells from x on, fewer than a vector or at an end of the row. What is read beyond
// the row is of another, or room at the end, and not used.
static void relax_edge(const Real *const rows[Q], Real *const to[Q], int64_t x,
                       int64_t count, int64_t n) {
    Real in[Q][LANES];
    const Real *from[Q];
    for (int q = 0; q < Q; q++) {
        memcpy(in[q], rows[q] + x - velocities[q][2], sizeof in[q]);
        if (x == 0 && velocities[q][2] > 0) in[q][0] = rows[q][n - 1];
        if (x + count == n && velocities[q][2] < 0) in[q][count - 1] = rows[q][0];
        from[q] = in[q];
    }
    relax(from, to);
}

static void write_row(const Real *row, Real *out, int64_t n) {
    int64_t x = 0;
    if ((uintptr_t)out % VECTOR_BYTES == 0)
        for (; x + LANES <= n; x += LANES) stream(out + x, load(row + x));
    memcpy(out + x, row + x, (size_t)(n - x) * sizeof(Real));
}

static void do_row(const Job *job, int64_t z, int64_t y, Real *buffer) {
    const Real *rows[Q], *from[Q];
    Real *to[Q];
    int64_t n = job->n, stride = n + LANES;
    for (int q = 0; q < Q; q++) {
        int64_t fz = (z - velocities[q][0] + n) % n,
                fy = (y - velocities[q][1] + n) % n;
        rows[q] = job->f + ((q * n + fz) * n + fy) * n;
    }
    for (int64_t x = 0; x < n; x += LANES) {
        for (int q = 0; q < Q; q++) {
            from[q] = rows[q] + x - velocities[q][2];
            to[q] = buffer + q * stride + x;
            __builtin_prefetch(rows[q] + x + n);
        }
        if (x > 0 && x + LANES < n) relax(from, to);
        else relax_edge(rows, to, x, n - x < LANES ? n - x : LANES, n);
    }
    for (int q = 0; q < Q; q++)
        write_row(buffer + q * stride, job->out + ((q * n + z) * n + y) * n, n);
}

static void flow_part(void *env, int me, int threads) {
    const Job *job = env;
    Real *buffer = job->buffers + me * Q * (job->n + LANES);
    int64_t end = bench_share(job->n, 1, me + 1, threads);
    for (int64_t z = bench_share(job->n, 1, me, threads); z < end; z++)
        for (int64_t y = 0; y < job->n; y++) do_row(job, z, y, buffer);
    stream_end();
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {data->in[0].data, data->out[0].data, data->scratch[0], size->n};
    bench_team(team, flow_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t n = size->n, shape[] = {Q, n, n, n};
    Real *f = bench_in(data, REAL, 4, shape);
    for (int64_t i = 0; i < Q * n * n * n; i++)
        f[i] = (Real)(0.05 + 0.01 * bench_uniform(&seed));
    bench_out(data, REAL, 4, shape);
    bench_scratch(data, BENCH_THREADS * Q * (size_t)(n + LANES) * sizeof(Real));
}

// Some 230 operations for a cell, as the C has it.
static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double cells = (double)(size->n * size->n * size->n);
    (void)data;
    return (BenchCost){230 * cells, 2 * Q * cells * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "lattice Boltzmann",
     .entry = SUFFIX("boltzmann"),
     .sizes = {{"", 11, 0, 0}, {"", 32, 0, 0}, {"128³", 128, 0, 0}},
     .tolerance = 1e-5,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
