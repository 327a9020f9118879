// SPDX-License-Identifier: Apache-2.0
//
// Black and Scholes: vectors, exp and log inlined (elementary.h), results past the
// caches. Counted are the operations of the vector code below and there, a division or
// a root being one of them.
#include "../elementary.h"

typedef struct Job {
    const Real *stocks, *strikes, *years;
    Real *calls, *puts;
    int64_t n;
} Job;

static inline Vec root_of(Vec x) {
    Vec root;
#if BENCH_TYPE == BENCH_TYPE_f32
    for (int i = 0; i < LANES; i++) root[i] = sqrtf(x[i]);
#else
    for (int i = 0; i < LANES; i++) root[i] = sqrt(x[i]);
#endif
    return root;
}

static inline Vec normal(Vec d) {
    static const double terms[] = {-1.821255978, 1.781477937, -0.356563782,
                                   0.319381530};
    Vec size = choose(d < (Vec){0}, -d, d);
    Vec k = (Real)1 / ((Real)1 + (Real)0.2316419 * size);
    Vec p = splat((Real)1.330274429);
    for (int i = 0; i < 4; i++) p = p * k + (Real)terms[i];
    Vec tail = vector_exp(d * d * (Real)-0.5) * (p * k) * (Real)0.3989422804014327;
    return choose(d > (Vec){0}, (Real)1 - tail, tail);
}

static void price(const Job *job, int64_t i) {
    const Real rate = (Real)0.02, volatility = (Real)0.3;
    Vec stock = load(job->stocks + i), strike = load(job->strikes + i),
        years = load(job->years + i);
    Vec root = volatility * root_of(years);
    Vec drift = (rate + volatility * volatility / 2) * years;
    Vec d1 = (vector_log(stock / strike) + drift) / root;
    Vec n1 = normal(d1), n2 = normal(d1 - root);
    Vec now = strike * vector_exp(-rate * years);
    stream(job->calls + i, stock * n1 - now * n2);
    stream(job->puts + i, now * ((Real)1 - n2) - stock * ((Real)1 - n1));
}

// Arrays have room for a vector beyond the end.
static void price_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t end = bench_share(job->n, LANES, me + 1, threads);
    for (int64_t i = bench_share(job->n, LANES, me, threads); i < end; i += LANES)
        price(job, i);
    stream_end();
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {data->in[0].data,  data->in[1].data,  data->in[2].data,
               data->out[0].data, data->out[1].data, size->n};
    bench_team(team, price_part, &job);
}

static void make_one(BenchData *data, int64_t n, uint64_t seed, double low,
                     double high) {
    Real *xs = bench_in(data, REAL, 1, &n);
    for (int64_t i = 0; i < n; i++)
        xs[i] = (Real)(low + (high - low) * bench_uniform(&seed));
}

static void make(BenchData *data, const BenchSize *size) {
    make_one(data, size->n, 1, 5, 30);
    make_one(data, size->n, 2, 1, 100);
    make_one(data, size->n, 3, 0.25, 10);
    bench_out(data, REAL, 1, &size->n);
    bench_out(data, REAL, 1, &size->n);
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    int log_flops = 2 * (LOG_EVEN + LOG_ODD) + 16, exp_flops = 2 * EXP_TERMS + 6;
    (void)data;
    return (BenchCost){n * (log_flops + 3 * exp_flops + 60), 5 * n * sizeof(Real),
                       ROOF_COPY};
}

const Bench benches[] = {
    {.line = "Black–Scholes",
     .entry = SUFFIX("blackscholes"),
     .sizes = {{"", 1003, 0, 0}, {"", 500000, 0, 0}, {"10^7", 10000000, 0, 0}},
     .tolerance = sizeof(Real) == 4 ? 2e-6 : 1e-14,
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
