// SPDX-License-Identifier: Apache-2.0
//
// A radix sort from the lowest digit. Each thread counts the digits of its share and
// puts its elements where its counts say; one thread alone counts all digits at once,
// since what is its share stays so. A digit that all keys share is left out. Of
// digits of 7 to 11 bits and of 16 these were the fastest; to gather a line of the
// cache for each digit, and to write whole lines only, took half as long again.
#include "../vector.h"

enum { BITS = 8 * sizeof(Real), DIGIT = 8, DIGITS = 1 << DIGIT };

#if BENCH_TYPE == BENCH_TYPE_f64
typedef uint64_t Key;
#else
typedef uint32_t Key;
#endif

typedef struct Job {
    const Real *xs;
    Real *out, *other;
    int64_t n, *counts; // [thread][digit]; of one thread, [place][digit]
    Key *differing; // of each thread: the bits in which its keys differ from the first
    BenchTeam *team;
} Job;

// Unsigned, in the order of the elements.
static inline Key key_of(Real x) {
    Key key, sign = (Key)1 << (BITS - 1);
    memcpy(&key, &x, sizeof key);
#if BENCH_TYPE == BENCH_TYPE_f64
    return key ^ ((Key)((Int)key >> (BITS - 1)) | sign);
#else
    return key ^ sign;
#endif
}

static inline int digit_of(Real x, int shift) {
    return (int)(key_of(x) >> shift) & (DIGITS - 1);
}

static Key find_differing(const Job *job, int64_t begin, int64_t end) {
    Key first = key_of(job->xs[0]), differing = 0;
    for (int64_t i = begin; i < end; i++) differing |= key_of(job->xs[i]) ^ first;
    return differing;
}

// Two of each, since equal neighbours would wait for each other.
static void count_digits(const Real *xs, int64_t begin, int64_t end, int shift,
                         int64_t *counts) {
    int64_t odd[DIGITS] = {0}, i = begin;
    memset(counts, 0, DIGITS * sizeof *counts);
    for (; i + 2 <= end; i += 2) {
        counts[digit_of(xs[i], shift)]++;
        odd[digit_of(xs[i + 1], shift)]++;
    }
    if (i < end) counts[digit_of(xs[i], shift)]++;
    for (int d = 0; d < DIGITS; d++) counts[d] += odd[d];
}

// Of all places at once: by place.
static void count_all(const Real *xs, int64_t n, int64_t *counts) {
    memset(counts, 0, BITS / DIGIT * DIGITS * sizeof *counts);
    for (int64_t i = 0; i < n; i++) {
        Key key = key_of(xs[i]);
#pragma GCC unroll 8
        for (int place = 0; place < BITS / DIGIT; place++)
            counts[place * DIGITS + (int)(key >> place * DIGIT & (DIGITS - 1))]++;
    }
}

// Where this thread's elements of each digit go.
static void find_starts(const int64_t *counts, int me, int threads, int64_t *starts) {
    int64_t before = 0;
    for (int d = 0; d < DIGITS; d++)
        for (int t = 0; t < threads; t++) {
            if (t == me) starts[d] = before;
            before += counts[t * DIGITS + d];
        }
}

static void move(const Real *from, Real *to, int64_t begin, int64_t end, int shift,
                 int64_t *at) {
    // One load of `at` for all elements would be taken to wait for the store before it.
#pragma GCC unroll 8
    for (int64_t i = begin; i < end; i++) to[at[digit_of(from[i], shift)]++] = from[i];
}

static int next_shift(Key differing, int shift) {
    while (shift < BITS && (differing >> shift & (DIGITS - 1)) == 0) shift += DIGIT;
    return shift;
}

static void sort_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t begin = bench_share(job->n, 16, me, threads), starts[DIGITS];
    int64_t end = bench_share(job->n, 16, me + 1, threads);
    job->differing[me] = find_differing(job, begin, end);
    bench_meet(job->team);
    Key differing = 0;
    int passes = 0;
    for (int t = 0; t < threads; t++) differing |= job->differing[t];
    for (int s = next_shift(differing, 0); s < BITS;
         s = next_shift(differing, s + DIGIT))
        passes++;
    const Real *from = job->xs;
    Real *to = passes % 2 != 0 ? job->out : job->other;
    if (passes == 0)
        memcpy(job->out + begin, from + begin, (size_t)(end - begin) * sizeof *from);
    if (threads == 1) count_all(from, job->n, job->counts);
    for (int s = next_shift(differing, 0); s < BITS;
         s = next_shift(differing, s + DIGIT)) {
        const int64_t *counts = job->counts;
        if (threads == 1) counts += s / DIGIT * DIGITS;
        else count_digits(from, begin, end, s, job->counts + me * DIGITS);
        bench_meet(job->team);
        find_starts(counts, me, threads, starts);
        move(from, to, begin, end, s, starts);
        bench_meet(job->team);
        from = to;
        to = to == job->out ? job->other : job->out;
    }
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.xs = data->in[0].data,
               .out = data->out[0].data,
               .n = size->n,
               .other = data->scratch[0],
               .counts = data->scratch[1],
               .differing = data->scratch[2],
               .team = team};
    bench_team(team, sort_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    Real *xs = bench_in(data, REAL, 1, &size->n);
    for (int64_t i = 0; i < size->n; i++)
        xs[i] = REAL == WEFT_F64 ? (Real)(bench_uniform(&seed) - 0.5)
                                 : (Real)bench_below(&seed, UINT32_MAX);
    bench_out(data, REAL, 1, &size->n);
    bench_scratch(data, (size_t)size->n * sizeof(Real));
    bench_scratch(data, BENCH_THREADS * DIGITS * sizeof(int64_t));
    bench_scratch(data, BENCH_THREADS * sizeof(Key));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    (void)data;
    return (BenchCost){n, 2 * n * sizeof(Real), ROOF_COPY};
}

const Bench benches[] = {{.line = "sort",
                          .entry = SUFFIX("sort"),
                          .sizes = {{"", 10007, 0, 0},
                                    {"", 2000000, 0, 0},
                                    {REAL == WEFT_F64 ? "10^7" : "10^8",
                                     REAL == WEFT_F64 ? 10000000 : 100000000, 0, 0}},
                          .cost = cost,
                          .make = make,
                          .run = run},
                         {0}};
