// SPDX-License-Identifier: Apache-2.0
//
// The roofs: how many multiply-adds and how many bytes a second the machine can do at
// best, with the threads at hand. Bytes are those the loop reads and writes; what a
// cache fetches in order to overwrite is not counted. Compiled like a reference, for
// f32.
#include <stdlib.h>

#include "roofs.h"
#include "vector.h"

typedef double Vec64 __attribute__((vector_size(VECTOR_BYTES)));

typedef struct Job {
    const RoofSizes *sizes;
    BenchRoof roof;
    Real *a, *b;
    double sum;
} Job;

// Chains enough to hide the latency, few enough for the registers.
enum { CHAINS = VECTOR_BYTES == 64 ? 24 : 12 };

static void fma32(Job *job) {
    Vec chains[CHAINS], x = splat(0.999f), y = splat(0.001f);
    for (int c = 0; c < CHAINS; c++) chains[c] = splat((Real)c);
    for (int64_t i = 0; i < job->sizes->turns; i++) {
        __asm__ volatile("" : "+x"(x)); // not to be computed beforehand
#pragma GCC unroll 24
        for (int c = 0; c < CHAINS; c++) chains[c] = chains[c] * x + y;
    }
    for (int c = 1; c < CHAINS; c++) chains[0] += chains[c];
    job->sum = (double)chains[0][0];
}

static void fma64(Job *job) {
    Vec64 chains[CHAINS], x = (Vec64){0} + 0.999, y = (Vec64){0} + 0.001;
    for (int c = 0; c < CHAINS; c++) chains[c] = (Vec64){0} + (double)c;
    for (int64_t i = 0; i < job->sizes->turns; i++) {
        __asm__ volatile("" : "+x"(x));
#pragma GCC unroll 24
        for (int c = 0; c < CHAINS; c++) chains[c] = chains[c] * x + y;
    }
    for (int c = 1; c < CHAINS; c++) chains[0] += chains[c];
    job->sum = chains[0][0];
}

// Reads `count` elements, a multiple of 8 vectors, `times` times: four places in turns,
// as one alone leaves the machine waiting.
static Real read_all(const Real *from, int64_t count, int64_t times) {
    Vec sums[8] = {{0}};
    int64_t quarter = count / 4;
    for (int64_t t = 0; t < times; t++) {
        for (int64_t i = 0; i < quarter; i += 2 * LANES)
#pragma GCC unroll 8
            for (int c = 0; c < 8; c++)
                sums[c] += load(from + c / 2 * quarter + i + c % 2 * LANES);
        __asm__ volatile("" : : : "memory");
    }
    for (int c = 1; c < 8; c++) sums[0] += sums[c];
    return sum_lanes(sums[0]);
}

static void copy_all(const Real *from, Real *to, int64_t count) {
    for (int64_t i = 0; i < count; i += LANES) stream(to + i, load(from + i));
    stream_end();
}

static void triad(const Real *x, Real *y, int64_t count) {
    for (int64_t i = 0; i < count; i += LANES)
        store(y + i, splat(0.5f) * load(x + i) + load(y + i));
}

static void run_part(void *env, int me, int threads) {
    Job job = *(Job *)env;
    int64_t grain = 8 * LANES, share, begin = 0;
    const RoofSizes *sizes = job.sizes;
    switch (job.roof) {
    case ROOF_FMA32: fma32(&job); break;
    case ROOF_FMA64: fma64(&job); break;
    case ROOF_READ:
    case ROOF_COPY:
    case ROOF_TRIAD:
        begin = bench_share(sizes->memory, grain, me, threads);
        share = bench_share(sizes->memory, grain, me + 1, threads) - begin;
        if (job.roof == ROOF_READ) job.sum = (double)read_all(job.a + begin, share, 1);
        else if (job.roof == ROOF_COPY) copy_all(job.a + begin, job.b + begin, share);
        else triad(job.a + begin, job.b + begin, share);
        break;
    default: // a cache: each thread in a place of its own; L3 is shared
        share = sizes->cache[job.roof - ROOF_L1];
        if (job.roof == ROOF_L3) share = share / threads / grain * grain;
        begin = share * me;
        job.sum = (double)read_all(job.a + begin, share, sizes->volume / share + 1);
    }
    if (job.sum == 1e300) abort(); // keeps the sums
}

double roof_work(const RoofSizes *sizes, BenchRoof roof, int threads) {
    double memory = (double)sizes->memory * sizeof(Real);
    switch (roof) {
    case ROOF_FMA32: return 2.0 * CHAINS * LANES * (double)sizes->turns * threads;
    case ROOF_FMA64: return 1.0 * CHAINS * LANES * (double)sizes->turns * threads;
    case ROOF_READ: return memory;
    case ROOF_COPY: return 2 * memory;
    case ROOF_TRIAD: return 3 * memory;
    default: {
        int64_t share = sizes->cache[roof - ROOF_L1], grain = 8 * LANES;
        if (roof == ROOF_L3) share = share / threads / grain * grain;
        return (double)share * (double)(sizes->volume / share + 1) * sizeof(Real) *
               threads;
    }
    }
}

void roof_run(const RoofSizes *sizes, BenchRoof roof, float *a, float *b,
              BenchTeam *team) {
    Job job = {.sizes = sizes, .roof = roof, .a = a, .b = b};
    bench_team(team, run_part, &job);
}
