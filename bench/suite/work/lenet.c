// SPDX-License-Identifier: Apache-2.0
//
// The network with images in the lanes: then every weight is one number for a whole
// vector, and all activations of a vector of images stay in L2. A convolution keeps
// GROUP channels by four places in registers; a dense layer keeps eight outputs.
#include "../vector.h"

enum { GROUP = VECTOR_BYTES == 64 ? 4 : 2, PLACES = 4, OUTPUTS = 8, TAPS = 5 };
enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10 };

// What the layers of a vector of images are held in.
typedef struct Buffers {
    Vec image[PIXELS], full[16 * 24 * 24], planes1[6 * 12 * 12], planes2[16 * 4 * 4];
    Vec x3[120], x4[84], x5[16];
} Buffers;

typedef struct Job {
    const Real *images, *params[10];
    Real *out;
    int64_t n;
    Buffers *buffers;
    BenchTeam *team;
} Job;

static inline Vec relu(Vec x) {
    return choose(x > (Vec){0}, x, (Vec){0});
}

// Some output channels at four places of a row. `in` are planes of side `side`.
static inline void convolve_places(const Vec *in, int planes, int side,
                                   const Real *kernels, const Real *biases,
                                   int channels, Vec *out, int out_plane) {
    Vec sums[GROUP][PLACES];
    for (int c = 0; c < channels; c++)
        for (int x = 0; x < PLACES; x++) sums[c][x] = splat(biases[c]);
    for (int p = 0; p < planes; p++)
        for (int i = 0; i < TAPS; i++) {
            const Vec *row = in + (p * side + i) * side;
            const Real *taps = kernels + (p * TAPS + i) * TAPS;
#pragma GCC unroll 5
            for (int j = 0; j < TAPS; j++)
#pragma GCC unroll 4
                for (int c = 0; c < channels; c++)
#pragma GCC unroll 4
                    for (int x = 0; x < PLACES; x++)
                        sums[c][x] += taps[c * planes * TAPS * TAPS + j] * row[x + j];
        }
    for (int c = 0; c < channels; c++)
        for (int x = 0; x < PLACES; x++) out[c * out_plane + x] = relu(sums[c][x]);
}

static inline void convolve(const Vec *in, int planes, int side, const Real *kernels,
                            const Real *biases, int channels, Vec *out) {
    int wide = side - TAPS + 1, kernel = planes * TAPS * TAPS;
    for (int c = 0; c < channels; c += GROUP)
        for (int y = 0; y < wide; y++)
            for (int x = 0; x < wide; x += PLACES) {
                const Vec *from = in + y * side + x;
                Vec *to = out + (c * wide + y) * wide + x;
                if (channels - c >= GROUP)
                    convolve_places(from, planes, side, kernels + c * kernel,
                                    biases + c, GROUP, to, wide * wide);
                else
                    for (int r = 0; r < channels - c; r++)
                        convolve_places(from, planes, side, kernels + (c + r) * kernel,
                                        biases + c + r, 1, to + r * wide * wide,
                                        wide * wide);
            }
}

static inline Vec larger(Vec a, Vec b) {
    return choose(a > b, a, b);
}

static void pool(const Vec *in, int planes, int side, Vec *out) {
    for (int p = 0; p < planes; p++)
        for (int y = 0; y < side; y += 2)
            for (int x = 0; x < side; x += 2) {
                const Vec *at = in + (p * side + y) * side + x;
                *out++ = larger(larger(at[0], at[1]), larger(at[side], at[side + 1]));
            }
}

static inline void dense_outputs(const Real *weights, const Real *biases, int inputs,
                                 const Vec *in, int outputs, Vec *out) {
    Vec sums[OUTPUTS];
    for (int o = 0; o < outputs; o++) sums[o] = splat(biases[o]);
    for (int i = 0; i < inputs; i++)
#pragma GCC unroll 8
        for (int o = 0; o < outputs; o++) sums[o] += weights[o * inputs + i] * in[i];
    for (int o = 0; o < outputs; o++) out[o] = sums[o];
}

static void dense(const Real *weights, const Real *biases, int inputs, const Vec *in,
                  int outputs, Vec *out) {
    for (int o = 0; o < outputs; o += OUTPUTS) {
        const Real *rows = weights + o * inputs;
        if (outputs - o >= OUTPUTS)
            dense_outputs(rows, biases + o, inputs, in, OUTPUTS, out + o);
        else
            for (int r = 0; r < outputs - o; r++)
                dense_outputs(rows + r * inputs, biases + o + r, inputs, in, 1,
                              out + o + r);
    }
}

static void relu_all(Vec *x, int count) {
    for (int i = 0; i < count; i++) x[i] = relu(x[i]);
}

static void do_images(const Job *job, int64_t first, Buffers *b) {
    int count = job->n - first < LANES ? (int)(job->n - first) : LANES;
    const Real *const *p = job->params;
    for (int i = 0; i < PIXELS; i += LANES) {
        for (int lane = 0; lane < LANES; lane++)
            b->image[i + lane] =
                load(job->images + (first + (lane < count ? lane : 0)) * PIXELS + i);
        transpose(&b->image[i]);
    }
    convolve(b->image, 1, SIDE, p[0], p[1], 6, b->full);
    pool(b->full, 6, 24, b->planes1);
    convolve(b->planes1, 6, 12, p[2], p[3], 16, b->full);
    pool(b->full, 16, 8, b->planes2);
    dense(p[4], p[5], 256, b->planes2, 120, b->x3);
    relu_all(b->x3, 120);
    dense(p[6], p[7], 120, b->x3, 84, b->x4);
    relu_all(b->x4, 84);
    dense(p[8], p[9], 84, b->x4, CLASSES, b->x5);
    for (int lane = 0; lane < count; lane++)
        for (int o = 0; o < CLASSES; o++)
            job->out[(first + lane) * CLASSES + o] = b->x5[o][lane];
}

static void lenet_part(void *env, int me, int threads) {
    const Job *job = env;
    (void)threads;
    for (int64_t first; (first = bench_next(job->team) * LANES) < job->n;)
        do_images(job, first, &job->buffers[me]);
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.images = data->in[0].data,
               .out = data->out[0].data,
               .n = size->n,
               .buffers = data->scratch[0],
               .team = team};
    for (int i = 0; i < 10; i++) job.params[i] = data->in[1 + i].data;
    bench_team(team, lenet_part, &job);
}

static void make_params(BenchData *data, size_t rank, const int64_t *shape,
                        uint64_t seed) {
    int64_t count = 1, inputs = 1;
    Real *at = bench_in(data, REAL, rank, shape);
    for (size_t d = 0; d < rank; d++) count *= shape[d];
    for (size_t d = 1; d < rank; d++) inputs *= shape[d];
    for (int64_t i = 0; i < count; i++)
        at[i] = (Real)((2 * bench_uniform(&seed) - 1) / sqrt((double)inputs));
    Real *biases = bench_in(data, REAL, 1, shape);
    for (int64_t i = 0; i < shape[0]; i++) biases[i] = (Real)bench_uniform(&seed) / 8;
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    Real *images = bench_in(data, REAL, 3, (int64_t[]){size->n, SIDE, SIDE});
    for (int64_t i = 0; i < size->n * PIXELS; i++)
        images[i] = (Real)bench_uniform(&seed);
    make_params(data, 4, (int64_t[]){6, 1, TAPS, TAPS}, 2);
    make_params(data, 4, (int64_t[]){16, 6, TAPS, TAPS}, 3);
    make_params(data, 2, (int64_t[]){120, 256}, 4);
    make_params(data, 2, (int64_t[]){84, 120}, 5);
    make_params(data, 2, (int64_t[]){CLASSES, 84}, 6);
    bench_out(data, REAL, 2, (int64_t[]){size->n, CLASSES});
    bench_scratch(data, BENCH_THREADS * sizeof(Buffers));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    double weights = 24 * 24 * 6 * 25 + 8 * 8 * 16 * 150 + 256 * 120 + 120 * 84 + 840;
    (void)data;
    return (BenchCost){2 * weights * n, n * PIXELS * sizeof(Real), ROOF_READ};
}

const Bench benches[] = {
    {.line = "LeNet, forward",
     .entry = SUFFIX("lenet"),
     .sizes = {{"", 19, 0, 0}, {"", 200, 0, 0}, {"10,000 images", 10000, 0, 0}},
     .tolerance = 1e-5,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
