// SPDX-License-Identifier: Apache-2.0
//
// What a reference is: an object work/NAME.c, compiled with -DBENCH_TYPE=BENCH_TYPE_...
// once for each type that work.def names, by each compiler, as ref_NAME_TYPE.CC.so. It
// exports `benches`, ended by one without an entry. For each of them the program
// work/NAME.weft has an entry that takes the inputs and gives the outputs declared by
// `make`, in that order. Arrays lie in row-major order, on pages that have been
// touched.
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "weft.h"

// How much there is to do: for tests, for a first look, and for numbers.
typedef enum BenchLevel {
    BENCH_TINY,
    BENCH_QUICK,
    BENCH_FULL,
    BENCH_LEVELS
} BenchLevel;

// What holds the machine up: see roofs.c.
typedef enum BenchRoof {
    ROOF_FMA32,
    ROOF_FMA64,
    ROOF_READ,
    ROOF_COPY,
    ROOF_TRIAD,
    ROOF_L1,
    ROOF_L2,
    ROOF_L3,
    ROOFS
} BenchRoof;

typedef struct BenchSize {
    const char
        *label; // of the full size, such as "10^8"; the others are shown in numbers
    int64_t n, m, k; // what they mean is the reference's business
} BenchSize;

// What an answer takes at least, counted once: operations, and bytes between the
// processor and `bytes_roof`, the memory (or cache) that they have to come from.
typedef struct BenchCost {
    double flops, bytes;
    BenchRoof bytes_roof;
} BenchCost;

enum { BENCH_ARRAYS = 12, BENCH_RANK = 4, BENCH_THREADS = 64 }; // at most

typedef struct BenchArray {
    WeftScalar element;
    size_t rank; // 0: a scalar
    int64_t shape[BENCH_RANK];
    void *data;
} BenchArray;

typedef struct BenchData {
    BenchArray in[BENCH_ARRAYS], out[BENCH_ARRAYS];
    size_t in_count, out_count, bytes;
    void *scratch[BENCH_ARRAYS]; // of the reference, from bench_scratch
    size_t scratch_count;
} BenchData;

typedef struct BenchTeam BenchTeam;

typedef struct Bench {
    const char *line;  // of the table: its rows have one vote together in the mean
    const char *entry; // of the program
    BenchSize sizes[BENCH_LEVELS];
    // An element of Weft and one of C may differ by that much of the greatest magnitude
    // among the elements, and that share of the elements by more.
    double tolerance, odd;
    // Told once the outputs are there.
    BenchCost (*cost)(const BenchSize *size, const BenchData *data);
    // Declares inputs, outputs and scratch, and fills the inputs.
    void (*make)(BenchData *data, const BenchSize *size);
    // Fills the outputs, and may make the shapes that they were declared with smaller.
    // The inputs stay as they are.
    void (*run)(BenchData *data, const BenchSize *size, BenchTeam *team);
} Bench;

// ---- what the harness gives to references ------------------------------------------

// Memory for an array; the shape has `rank` sizes.
void *bench_in(BenchData *data, WeftScalar element, size_t rank, const int64_t *shape);
void *bench_out(BenchData *data, WeftScalar element, size_t rank, const int64_t *shape);
void *bench_scratch(BenchData *data, size_t bytes);
void bench_in_i64(BenchData *data, int64_t value);

// Numbers that only depend on the seed: uniform from 0 to below 1, and below `below`.
double bench_uniform(uint64_t *seed);
uint64_t bench_below(uint64_t *seed, uint64_t below);

// Runs part(env, me, threads) on each thread of the team, and waits for all.
typedef void BenchPart(void *env, int me, int threads);
void bench_team(BenchTeam *team, BenchPart *part, void *env);
int bench_threads(const BenchTeam *team);
// All threads of the part now running wait for each other.
void bench_meet(BenchTeam *team);
// The next of the numbers 0, 1, ... that no thread of this part has had yet.
int64_t bench_next(BenchTeam *team);

// The part of 0 to n that is `me`'s, on multiples of `grain`.
static inline int64_t bench_share(int64_t n, int64_t grain, int me, int threads) {
    int64_t parts = (n + grain - 1) / grain, end = parts * me / threads * grain;
    return end < n ? end : n;
}

extern const Bench benches[];

#endif
