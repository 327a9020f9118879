// SPDX-License-Identifier: Apache-2.0
//
// The transform in four steps: the input is a matrix of 2^a rows and 2^b columns.
// Columns are transformed, a vector of them side by side, so that all is done by whole
// vectors in L2; multiplied by roots of unity, which a plan has in the order in which
// they are read; then the rows, which a transposition turns into columns. Within,
// Stockham's method by fours. Memory is read and written twice, the roots once.
#include "../vector.h"

enum { MOST_LENGTH = 4096 };
enum { IN_RE = 2 }; // of the inputs, behind the roots that the program is given
enum { STRIP = 64 / VECTOR_BYTES, WIDE = STRIP * LANES }; // a line of memory

typedef struct Complex {
    Vec re, im;
} Complex;

typedef struct Job {
    const Real *re, *im;
    Real *out_re, *out_im, *middle; // middle and roots: re and im, n each
    const Real *roots, *unit;       // unit: cos and sin of the parts of MOST_LENGTH
    int64_t n, rows, columns;
    Complex *buffers;
    BenchTeam *team;
} Job;

static inline Complex times(Complex a, Real c, Real s) {
    return (Complex){a.re * c - a.im * s, a.re * s + a.im * c};
}

static inline Complex plus(Complex a, Complex b) {
    return (Complex){a.re + b.re, a.im + b.im};
}

static inline Complex minus(Complex a, Complex b) {
    return (Complex){a.re - b.re, a.im - b.im};
}

// A stage: m is how far transforms have come; blocks of m become blocks of 4 m.
static void stage_of_four(const Complex *from, Complex *to, int64_t n, int64_t m,
                          const Real *unit) {
    int64_t quarter = n / 4, step = MOST_LENGTH / (4 * m);
    for (int64_t k = 0; k < m; k++) {
        const Real *w1 = unit + 2 * k * step, *w2 = unit + 4 * k * step,
                   *w3 = unit + 6 * k * step;
        for (int64_t b = 0; b < quarter / m; b++) {
            const Complex *at = from + b * m + k;
            Complex *out = to + b * 4 * m + k;
            Complex a = at[0], c = times(at[quarter], w1[0], w1[1]),
                    d = times(at[2 * quarter], w2[0], w2[1]),
                    e = times(at[3 * quarter], w3[0], w3[1]);
            Complex s = plus(a, d), t = minus(a, d), u = plus(c, e), v = minus(c, e);
            out[0] = plus(s, u);
            out[m] = (Complex){t.re + v.im, t.im - v.re};
            out[2 * m] = minus(s, u);
            out[3 * m] = (Complex){t.re - v.im, t.im + v.re};
        }
    }
}

static void stage_of_two(const Complex *from, Complex *to, int64_t n, int64_t m,
                         const Real *unit) {
    int64_t half = n / 2, step = MOST_LENGTH / (2 * m);
    for (int64_t b = 0; b < half / m; b++)
        for (int64_t k = 0; k < m; k++) {
            const Complex *at = from + b * m + k;
            Complex c = times(at[half], unit[2 * k * step], unit[2 * k * step + 1]);
            to[b * 2 * m + k] = plus(at[0], c);
            to[b * 2 * m + m + k] = minus(at[0], c);
        }
}

// Transforms n vectors, which are in the first of two buffers; where the result is.
static Complex *transform(Complex *a, Complex *b, int64_t n, const Real *unit) {
    int64_t m = 1;
    for (; 4 * m <= n; m *= 4) {
        stage_of_four(a, b, n, m, unit);
        Complex *other = a;
        a = b;
        b = other;
    }
    if (m == n) return a;
    stage_of_two(a, b, n, m, unit);
    return b;
}

// A strip of columns, or of rows, in the first of each pair of buffers, transformed.
static void transform_strip(const Job *job, Complex *buffers, int64_t n,
                            const Complex *done[STRIP]) {
    for (int v = 0; v < STRIP; v++) {
        Complex *a = buffers + 2 * v * MOST_LENGTH;
        done[v] = transform(a, a + MOST_LENGTH, n, job->unit);
    }
}

static void do_columns(const Job *job, int64_t column, Complex *buffers) {
    const Complex *done[STRIP];
    for (int64_t r = 0; r < job->rows; r++)
        for (int v = 0; v < STRIP; v++) {
            int64_t at = r * job->columns + column + v * LANES;
            buffers[2 * v * MOST_LENGTH + r] =
                (Complex){load(job->re + at), load(job->im + at)};
        }
    transform_strip(job, buffers, job->rows, done);
    for (int64_t r = 0; r < job->rows; r++)
        for (int v = 0; v < STRIP; v++) {
            int64_t at = r * job->columns + column + v * LANES;
            Vec c = load(job->roots + at), s = load(job->roots + job->n + at);
            Complex x = done[v][r];
            stream(job->middle + at, x.re * c - x.im * s);
            stream(job->middle + job->n + at, x.re * s + x.im * c);
        }
}

static void load_rows(const Job *job, int64_t row, Complex *to) {
    for (int64_t c = 0; c < job->columns; c += LANES) {
        Vec re[LANES], im[LANES];
        for (int i = 0; i < LANES; i++) {
            const Real *at = job->middle + (row + i) * job->columns + c;
            re[i] = load(at);
            im[i] = load(at + job->n);
        }
        transpose(re);
        transpose(im);
        for (int i = 0; i < LANES; i++) to[c + i] = (Complex){re[i], im[i]};
    }
}

static void do_rows(const Job *job, int64_t row, Complex *buffers) {
    const Complex *done[STRIP];
    for (int v = 0; v < STRIP; v++)
        load_rows(job, row + v * LANES, buffers + 2 * v * MOST_LENGTH);
    transform_strip(job, buffers, job->columns, done);
    for (int64_t c = 0; c < job->columns; c++)
        for (int v = 0; v < STRIP; v++) {
            int64_t at = c * job->rows + row + v * LANES;
            stream(job->out_re + at, done[v][c].re);
            stream(job->out_im + at, done[v][c].im);
        }
}

static void fft_part(void *env, int me, int threads) {
    const Job *job = env;
    Complex *buffers = job->buffers + me * 2 * STRIP * MOST_LENGTH;
    int64_t end = bench_share(job->columns, WIDE, me + 1, threads);
    for (int64_t c = bench_share(job->columns, WIDE, me, threads); c < end; c += WIDE)
        do_columns(job, c, buffers);
    stream_end();
    bench_meet(job->team);
    end = bench_share(job->rows, WIDE, me + 1, threads);
    for (int64_t r = bench_share(job->rows, WIDE, me, threads); r < end; r += WIDE)
        do_rows(job, r, buffers);
    stream_end();
}

static int64_t rows_of(int64_t n) {
    int64_t rows = 1;
    while (rows * rows < n) rows *= 2;
    return rows;
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.re = data->in[IN_RE].data,
               .im = data->in[IN_RE + 1].data,
               .out_re = data->out[0].data,
               .out_im = data->out[1].data,
               .middle = data->scratch[0],
               .roots = data->scratch[1],
               .unit = data->scratch[2],
               .buffers = data->scratch[3],
               .n = size->n,
               .rows = rows_of(size->n),
               .columns = size->n / rows_of(size->n),
               .team = team};
    bench_team(team, fft_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    int64_t n = size->n, columns = n / rows_of(n);
    const double turn = -6.283185307179586;
    int64_t half = n / 2;
    Real *cosines = bench_in(data, REAL, 1, &half);
    Real *sines = bench_in(data, REAL, 1, &half);
    for (int64_t i = 0; i < half; i++) {
        cosines[i] = (Real)cos(turn * (double)i / (double)n);
        sines[i] = (Real)sin(turn * (double)i / (double)n);
    }
    for (uint64_t seed = 1; seed <= 2; seed++) {
        uint64_t state = seed;
        Real *x = bench_in(data, REAL, 1, &n);
        for (int64_t i = 0; i < n; i++) x[i] = (Real)(bench_uniform(&state) - 0.5);
        bench_out(data, REAL, 1, &n);
    }
    bench_scratch(data, 2 * (size_t)n * sizeof(Real));
    Real *roots = bench_scratch(data, 2 * (size_t)n * sizeof(Real));
    Real *unit = bench_scratch(data, 2 * MOST_LENGTH * sizeof(Real));
    bench_scratch(data, BENCH_THREADS * 2 * STRIP * MOST_LENGTH * sizeof(Complex));
    for (int64_t i = 0; i < n; i++) {
        double angle = turn * (double)(i / columns * (i % columns) % n) / (double)n;
        roots[i] = (Real)cos(angle);
        roots[n + i] = (Real)sin(angle);
    }
    for (int64_t i = 0; i < MOST_LENGTH; i++) {
        unit[2 * i] = (Real)cos(turn * (double)i / MOST_LENGTH);
        unit[2 * i + 1] = (Real)sin(turn * (double)i / MOST_LENGTH);
    }
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    (void)data;
    return (BenchCost){5 * n * log2(n), 8 * n * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "Fourier transform",
     .entry = SUFFIX("fft"),
     .sizes = {{"", 2048, 0, 0}, {"", 65536, 0, 0}, {"2^22", 1 << 22, 0, 0}},
     .tolerance = 1e-5,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
