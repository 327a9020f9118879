// SPDX-License-Identifier: Apache-2.0
//
// Between the harness and the object roofs.so, which is compiled for this very machine.
#ifndef ROOFS_H
#define ROOFS_H

#include "bench.h"

typedef struct RoofSizes {
    int64_t turns;    // of the loops of multiply-adds
    int64_t memory;   // floats: more than the caches hold, a multiple of 8 vectors
    int64_t cache[3]; // floats read again and again in L1, L2, L3
    int64_t volume;   // floats that each thread reads in all from a cache
} RoofSizes;

// Operations or bytes of one run; a and b hold sizes->memory floats each.
typedef double RoofWork(const RoofSizes *sizes, BenchRoof roof, int threads);
typedef void RoofRun(const RoofSizes *sizes, BenchRoof roof, float *a, float *b,
                     BenchTeam *team);
RoofWork roof_work;
RoofRun roof_run;

#endif
