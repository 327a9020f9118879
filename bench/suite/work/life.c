// SPDX-License-Identifier: Apache-2.0
//
// Life: 64 cells to a word while the generations pass, whole vectors of words added bit
// by bit. A row has a word of the other end at both ends, so that the torus needs no
// case.
#include "../vector.h"

enum { STEPS = 10, WORD = 64 };

typedef uint64_t Words __attribute__((vector_size(VECTOR_BYTES)));
enum { WORDS = VECTOR_BYTES / 8 };

typedef struct Job {
    const uint8_t *in;
    uint8_t *out;
    uint64_t *worlds[2]; // rows of words + 2, with room for a vector at the end
    int64_t n, words, stride;
    BenchTeam *team;
} Job;

static Words load_words(const uint64_t *from) {
    Words v;
    memcpy(&v, from, sizeof v);
    return v;
}

// The sum of a row's cell and those beside it, as two bits.
static inline void add_three(const uint64_t *row, Words *low, Words *high) {
    Words here = load_words(row);
    Words west = here << 1 | load_words(row - 1) >> 63;
    Words east = here >> 1 | load_words(row + 1) << 63;
    *low = here ^ west ^ east;
    *high = (here & west) | (east & (here ^ west));
}

// The cell and all around it: it lives if they are 3, or if they are 4 with itself.
static void do_row(const uint64_t *north, const uint64_t *row, const uint64_t *south,
                   uint64_t *out, int64_t words) {
    for (int64_t i = 0; i < words; i += WORDS) {
        Words a0, a1, b0, b1, c0, c1;
        add_three(north + i, &a0, &a1);
        add_three(row + i, &b0, &b1);
        add_three(south + i, &c0, &c1);
        Words ones = a0 ^ b0 ^ c0, carry = (a0 & b0) | (c0 & (a0 ^ b0));
        Words twos = a1 ^ b1 ^ c1 ^ carry; // whether there is an odd number of twos
        Words pair = a1 & b1, other = c1 & carry;
        Words any_four = pair | other | ((a1 ^ b1) & (c1 ^ carry));
        Words eight = pair & other;
        Words three = ones & twos & ~any_four;
        Words four = ~ones & ~twos & any_four & ~eight;
        Words lives = three | (four & load_words(row + i));
        memcpy(out + i, &lives, sizeof lives);
    }
}

static void close_row(uint64_t *row, int64_t words) {
    row[-1] = row[words - 1];
    row[words] = row[0];
}

static uint64_t pack(const uint8_t *cells) {
    uint64_t word = 0;
    for (int b = 0; b < WORD; b++) word |= (uint64_t)cells[b] << b;
    return word;
}

static void unpack(uint64_t word, uint8_t *cells) {
    for (int b = 0; b < WORD; b++) cells[b] = word >> b & 1;
}

static void live_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t begin = bench_share(job->n, 1, me, threads), n = job->n;
    int64_t end = bench_share(job->n, 1, me + 1, threads);
    for (int64_t y = begin; y < end; y++) {
        uint64_t *row = job->worlds[0] + y * job->stride;
        for (int64_t i = 0; i < job->words; i++)
            row[i] = pack(job->in + y * n + i * WORD);
        close_row(row, job->words);
    }
    for (int step = 0; step < STEPS; step++) {
        const uint64_t *from = job->worlds[step % 2];
        bench_meet(job->team);
        for (int64_t y = begin; y < end; y++) {
            uint64_t *out = job->worlds[1 - step % 2] + y * job->stride;
            do_row(from + (y + n - 1) % n * job->stride, from + y * job->stride,
                   from + (y + 1) % n * job->stride, out, job->words);
            close_row(out, job->words);
        }
    }
    for (int64_t y = begin; y < end; y++)
        for (int64_t i = 0; i < job->words; i++)
            unpack(job->worlds[STEPS % 2][y * job->stride + i],
                   job->out + y * n + i * WORD);
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    int64_t words = size->n / WORD;
    Job job = {.in = data->in[1].data,
               .out = data->out[0].data,
               .worlds = {(uint64_t *)data->scratch[0] + WORDS,
                          (uint64_t *)data->scratch[1] + WORDS},
               .n = size->n,
               .words = words,
               .stride = words + 2 * WORDS,
               .team = team};
    bench_team(team, live_part, &job);
}

static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t n = size->n, shape[] = {n, n};
    bench_in_i64(data, STEPS);
    uint8_t *cells = bench_in(data, REAL, 2, shape);
    for (int64_t i = 0; i < n * n; i++) cells[i] = bench_below(&seed, 3) == 0;
    bench_out(data, REAL, 2, shape);
    for (int k = 0; k < 2; k++)
        bench_scratch(data, (size_t)((n + 1) * (n / WORD + 2 * WORDS)) * 8);
}

// What must move is the two worlds; operations on bits are not counted.
static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double cells = (double)size->n * (double)size->n;
    (void)data;
    return (BenchCost){0, 2 * cells, ROOF_COPY};
}

const Bench benches[] = {
    {.line = "game of life",
     .entry = SUFFIX("life"),
     .sizes = {{"", 64, 0, 0}, {"", 512, 0, 0}, {"4096², 10 steps", 4096, 0, 0}},
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
