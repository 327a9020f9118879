// SPDX-License-Identifier: Apache-2.0
//
// Prefix sums in one pass over memory: the threads take neighbouring blocks that fit in
// their caches; each sums its block, they meet, and each scans its block, which is
// still cached, from the sums of those before it. One meeting a turn: the sums of the
// turns alternate between three places, and each thread carries the total by itself.
#include "../vector.h"

enum { BLOCK = 65536 / sizeof(Real) };

typedef struct Job {
    const Real *xs;
    Real *out;
    int64_t n;
    Real *sums; // of three turns
    BenchTeam *team;
} Job;

static Real sum(const Real *xs, int64_t count) {
    enum { CHAINS = 4 };
    Vec sums[CHAINS] = {{0}};
    int64_t i = 0;
    for (; i + CHAINS * LANES <= count; i += CHAINS * LANES)
        for (int c = 0; c < CHAINS; c++) sums[c] += load(xs + i + c * LANES);
    Real total = sum_lanes(sums[0] + sums[1] + (sums[2] + sums[3]));
    for (; i < count; i++) total += xs[i];
    return total;
}

// The sums of the lanes up to each one.
#if defined __AVX512F__
#define ADD_MOVED_UP(v, by)                                                            \
    ((v) += (Vec)_mm512_alignr_epi32((__m512i)(v), _mm512_setzero_si512(),             \
                                     16 - (by) * (int)(sizeof(Real) / 4)))
static inline Vec scan_lanes(Vec v) {
    ADD_MOVED_UP(v, 1);
    ADD_MOVED_UP(v, 2);
    ADD_MOVED_UP(v, 4);
#if BENCH_TYPE == BENCH_TYPE_f32
    ADD_MOVED_UP(v, 8);
#endif
    return v;
}
#else
static inline Vec scan_lanes(Vec v) {
#pragma GCC unroll 4
    for (int by = 1; by < LANES; by *= 2) {
        Vec moved = {0};
        for (int i = by; i < LANES; i++) moved[i] = v[i - by];
        v += moved;
    }
    return v;
}
#endif

// `next` is the block after the next meeting.
static void scan_block(const Real *xs, Real *out, int64_t count, Real total,
                       const Real *next) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __builtin_prefetch(next + i);
        Vec v = scan_lanes(load(xs + i));
        stream(out + i, v + total);
        total += v[LANES - 1];
    }
    for (; i < count; i++) out[i] = total += xs[i];
}

static void scan_part(void *env, int me, int threads) {
    const Job *job = env;
    Real total = 0;
    int64_t turn = 0;
    for (int64_t begin = 0; begin < job->n; begin += BLOCK * threads, turn++) {
        int64_t from = begin + me * BLOCK, count = job->n - from;
        count = count < 0 ? 0 : count < BLOCK ? count : BLOCK;
        Real *sums = job->sums + turn % 3 * BENCH_THREADS;
        sums[me] = sum(job->xs + from, count);
        bench_meet(job->team);
        Real before = total;
        for (int t = 0; t < me; t++) before += sums[t];
        for (int t = 0; t < threads; t++) total += sums[t];
        scan_block(job->xs + from, job->out + from, count, before,
                   job->xs + from + BLOCK * threads);
    }
    stream_end();
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {data->in[0].data, data->out[0].data, size->n, data->scratch[0], team};
    bench_team(team, scan_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    Real *xs = bench_in(data, REAL, 1, &size->n);
    for (int64_t i = 0; i < size->n; i++)
        xs[i] = (Real)(100 * bench_uniform(&seed)) - 50;
    bench_out(data, REAL, 1, &size->n);
    bench_scratch(data, 3 * BENCH_THREADS * sizeof(Real));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    (void)data;
    return (BenchCost){n, 2 * n * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {
    {.line = "prefix sum",
     .entry = SUFFIX("scan"),
     .sizes = {{"", 40003, 0, 0}, {"", 4000000, 0, 0}, {"10^8", 100000000, 0, 0}},
     .tolerance = REAL == WEFT_I64 ? 0 : 1e-3, // of sums that nearly cancel
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
