// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix by vector: entries and row ends together are the work, shared out
// evenly, so that a huge row is split as well. What a thread finds of the rows at its
// two ends is added up afterwards. With AVX-512 entries are gathered, most rows at
// once, which saves branches that nobody can predict; narrower gathers are no faster
// than scalar loads. Each row fetches what lies a page further on.
#include "../vector.h"

typedef struct Part {
    int64_t first_row, last_row;
    Real first, last; // sums of those rows; everything between is finished
} Part;

typedef struct Job {
    const int64_t *starts;
    const int32_t *at;
    const Real *values, *x;
    Real *out;
    int64_t rows, entries;
    Part *parts;
} Job;

#if defined __AVX512F__ && BENCH_TYPE == BENCH_TYPE_f32
static Real sum_entries(const Job *job, int64_t begin, int64_t end) {
    __m512 sums = _mm512_setzero_ps();
    for (int64_t e = begin; e < end; e += LANES) {
        __mmask16 has = (__mmask16)(end - e < LANES ? (1 << (end - e)) - 1 : -1);
        __m512i at = _mm512_maskz_loadu_epi32(has, job->at + e);
        __m512 x = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), has, at, job->x, 4);
        sums = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(has, job->values + e), x, sums);
    }
    return _mm512_reduce_add_ps(sums);
}
#else
static Real sum_entries(const Job *job, int64_t begin, int64_t end) {
    Real a = 0, b = 0, c = 0, d = 0;
    int64_t e = begin;
    for (; e + 4 <= end; e += 4) {
        a += job->values[e] * job->x[job->at[e]];
        b += job->values[e + 1] * job->x[job->at[e + 1]];
        c += job->values[e + 2] * job->x[job->at[e + 2]];
        d += job->values[e + 3] * job->x[job->at[e + 3]];
    }
    for (; e < end; e++) a += job->values[e] * job->x[job->at[e]];
    return (a + b) + (c + d);
}
#endif

// The row in which a share of the work, entries and rows alike, begins: the least whose
// end is beyond it.
static int64_t row_at(const Job *job, int64_t work) {
    int64_t low = 0, high = job->rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (job->starts[middle + 1] + middle + 1 <= work) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void multiply_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t begin = bench_share(job->rows + job->entries, 1, me, threads);
    int64_t end = bench_share(job->rows + job->entries, 1, me + 1, threads);
    int64_t row = row_at(job, begin), last = row_at(job, end);
    int64_t from = begin - row, to = end - last; // entries
    Part *part = &job->parts[me];
    *part = (Part){.first_row = row, .last_row = last};
    if (row == last) {
        part->last = sum_entries(job, from, to);
        return;
    }
    part->first = sum_entries(job, from, job->starts[row + 1]);
    for (row++; row < last; row++) {
        __builtin_prefetch((const char *)(job->values + job->starts[row]) + 4096);
        __builtin_prefetch((const char *)(job->at + job->starts[row]) + 4096);
        job->out[row] = sum_entries(job, job->starts[row], job->starts[row + 1]);
    }
    part->last = last < job->rows ? sum_entries(job, job->starts[last], to) : 0;
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.starts = data->in[0].data,
               .at = data->in[1].data,
               .values = data->in[2].data,
               .x = data->in[3].data,
               .out = data->out[0].data,
               .rows = size->n,
               .entries = data->in[1].shape[0],
               .parts = data->scratch[0]};
    bench_team(team, multiply_part, &job);
    Real carried = 0; // of a row that a thread before has begun
    for (int t = 0; t < bench_threads(team); t++) {
        const Part *part = &job.parts[t];
        if (part->first_row < part->last_row) {
            job.out[part->first_row] = carried + part->first;
            carried = 0;
        }
        carried += part->last;
    }
}

// Rows of 1 to 27 entries in places at random, and four with a fifth as many entries as
// there are columns, or 1000 if that is more.
static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t n = size->n, ends = n + 1, huge = n / 5 > 1000 ? n / 5 : 1000;
    int64_t *starts = bench_in(data, WEFT_I64, 1, &ends);
    for (int64_t i = 0; i < n; i++) {
        int64_t length = 1 + (int64_t)bench_below(&seed, 27);
        if (i % (n / 4) == n / 8) length = huge;
        starts[i + 1] = starts[i] + length;
    }
    int32_t *at = bench_in(data, WEFT_I32, 1, &starts[n]);
    Real *values = bench_in(data, REAL, 1, &starts[n]),
         *x = bench_in(data, REAL, 1, &n);
    for (int64_t e = 0; e < starts[n]; e++) {
        at[e] = (int32_t)bench_below(&seed, (uint64_t)n);
        values[e] = (Real)bench_uniform(&seed);
    }
    for (int64_t i = 0; i < n; i++) x[i] = (Real)bench_uniform(&seed);
    bench_out(data, REAL, 1, &n);
    bench_scratch(data, BENCH_THREADS * sizeof(Part));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n, entries = (double)data->in[1].shape[0];
    return (BenchCost){2 * entries,
                       entries * (4 + sizeof(Real)) + n * (8 + 2 * sizeof(Real)),
                       ROOF_READ};
}

const Bench benches[] = {{.line = "sparse matrix–vector",
                          .entry = SUFFIX("spmv"),
                          .sizes = {{"", 1000, 0, 0},
                                    {"", 50000, 0, 0},
                                    {"10^6 rows, 14.8·10^6", 1000000, 0, 0}},
                          .tolerance = 1e-4, // of the longest row
                          .cost = cost,
                          .make = make,
                          .run = run},
                         {0}};
