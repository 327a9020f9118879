// SPDX-License-Identifier: Apache-2.0
//
// Lines and words: a text goes by a vector at a time; a word begins at what is not
// blank where the byte before, from a load one to the left, is. Counts are kept in
// bytes and added up before these overflow.
#include <stdbool.h>

#include "../vector.h"

enum { APART = 16, TURNS = 255 };

typedef struct Job {
    const uint8_t *text;
    int64_t n, *counts; // lines and words of each thread
} Job;

static bool is_blank(uint8_t c) {
    return c == ' ' || (c >= 9 && c <= 13);
}

static inline Mask blanks(Vec text) {
    return (Mask)(text == splat(' ')) | (Mask)((Vec)(text - 9) < splat(5));
}

static int64_t sum_bytes(Vec counts) {
    int64_t total = 0;
    for (int i = 0; i < LANES; i++) total += counts[i];
    return total;
}

static void count_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t i = bench_share(job->n, LANES, me, threads), lines = 0, words = 0;
    int64_t end = bench_share(job->n, LANES, me + 1, threads);
    if (i == 0 && end > 0) { // which has nothing before it
        lines += job->text[0] == '\n';
        words += !is_blank(job->text[0]);
        i = 1;
    }
    while (i + LANES <= end) {
        Vec line = {0}, word = {0};
        for (int turn = 0; turn < TURNS && i + LANES <= end; turn++, i += LANES) {
            Vec here = load(job->text + i);
            line -= (Vec)(here == splat('\n'));
            word -= (Vec)(~blanks(here) & blanks(load(job->text + i - 1)));
        }
        lines += sum_bytes(line);
        words += sum_bytes(word);
    }
    for (; i < end; i++) {
        lines += job->text[i] == '\n';
        words += !is_blank(job->text[i]) && is_blank(job->text[i - 1]);
    }
    job->counts[me * APART] = lines;
    job->counts[me * APART + 1] = words;
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {data->in[0].data, size->n, data->scratch[0]};
    int64_t *lines = data->out[0].data, *words = data->out[1].data;
    bench_team(team, count_part, &job);
    *lines = *words = 0;
    for (int t = 0; t < bench_threads(team); t++) {
        *lines += job.counts[t * APART];
        *words += job.counts[t * APART + 1];
    }
}

static void make(BenchData *data, const BenchSize *size) {
    static const char letters[] = "etaoinshrdlucmwfgyp  \n\t,.";
    uint64_t seed = 1;
    uint8_t *text = bench_in(data, REAL, 1, &size->n);
    for (int64_t i = 0; i < size->n; i++)
        text[i] = (uint8_t)letters[bench_below(&seed, sizeof letters - 1)];
    bench_out(data, WEFT_I64, 0, NULL);
    bench_out(data, WEFT_I64, 0, NULL);
    bench_scratch(data, BENCH_THREADS * APART * sizeof(int64_t));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    (void)data;
    return (BenchCost){0, (double)size->n, ROOF_READ};
}

const Bench benches[] = {{.line = "word count",
                          .entry = SUFFIX("wordcount"),
                          .sizes = {{"", 50003, 0, 0},
                                    {"", 10000000, 0, 0},
                                    {"10^9 bytes", 1000000000, 0, 0}},
                          .cost = cost,
                          .make = make,
                          .run = run},
                         {0}};
