// SPDX-License-Identifier: Apache-2.0
//
// A radix sort from the lowest digit. Each thread counts the digits of its share and
// puts its elements where its counts say; one thread alone counts all digits at once,
// since what is its share stays so. A digit that all keys share is left out. The first
// pass makes keys of the elements, and the last one elements of the keys. Of
// digits of 7 to 11 bits and of 16 these were the fastest; to gather a line of the
// cache for each digit, and to write whole lines only, took half as long again.
//
// Many keys are put into buckets by their highest bits first, and each bucket is sorted
// in the caches. Keys of 64 bits have more bits than it takes to tell them apart: a
// sample makes buckets even, and each is sorted by the highest 24 bits in which its
// keys differ and put right by insertion, or, if that takes many moves, sorted by all
// bits.
#include "../vector.h"

enum { BITS = 8 * sizeof(Real), DIGIT = 8, DIGITS = 1 << DIGIT };
enum {
    TABLE_BITS = 16,
    TABLE = 1 << TABLE_BITS,
    SAMPLE = 1 << 13,
    MANY = BITS == 64 ? 1 << 18 : 1 << 22,
    HIGHEST = 3, // digits of a bucket that are sorted first
    BLOCK = 64   // keys that are looked at together
};

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

static inline Real element_of(Key key) {
    Key sign = (Key)1 << (BITS - 1);
    Real x;
#if BENCH_TYPE == BENCH_TYPE_f64
    key ^= (Key) ~((Int)key >> (BITS - 1)) | sign;
#else
    key ^= sign;
#endif
    memcpy(&x, &key, sizeof x);
    return x;
}

// Of an element, or once there are keys of a key.
static inline Key load_key(const void *from, int64_t i, int is_first) {
    return is_first ? key_of(((const Real *)from)[i]) : ((const Key *)from)[i];
}

static inline int64_t end_of_line(int64_t i, int64_t end) {
    enum { LINE = 64 / sizeof(Key) };
    return i + LINE < end ? i + LINE : end;
}

static inline int digit_of(Key key, int shift) {
    return (int)(key >> shift) & (DIGITS - 1);
}

static Key find_differing(const Job *job, int64_t begin, int64_t end) {
    Key first = key_of(job->xs[0]), differing = 0;
    for (int64_t i = begin; i < end; i++) differing |= key_of(job->xs[i]) ^ first;
    return differing;
}

// Two of each, since equal neighbours would wait for each other.
static inline void count_digits(const void *from, int64_t begin, int64_t end, int shift,
                                int64_t *counts, int is_first) {
    int64_t odd[DIGITS] = {0}, i = begin;
    memset(counts, 0, DIGITS * sizeof *counts);
    for (; i + 2 <= end; i += 2) {
        counts[digit_of(load_key(from, i, is_first), shift)]++;
        odd[digit_of(load_key(from, i + 1, is_first), shift)]++;
    }
    if (i < end) counts[digit_of(load_key(from, i, is_first), shift)]++;
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

static inline void move_as(const void *from, void *to, int64_t begin, int64_t end,
                           int shift, int64_t *at, int is_first, int is_last) {
    // One load of `at` for all elements would be taken to wait for the store before it.
    for (int64_t i = begin; i < end;) {
        int64_t stop = end_of_line(i, end);
        bench_fetch((const Key *)from + i);
#pragma GCC unroll 8
        for (; i < stop; i++) {
            Key key = load_key(from, i, is_first);
            int64_t place = at[digit_of(key, shift)]++;
            if (is_last) ((Real *)to)[place] = element_of(key);
            else ((Key *)to)[place] = key;
        }
    }
}

static void move(const void *from, void *to, int64_t begin, int64_t end, int shift,
                 int64_t *at, int is_first, int is_last) {
    if (is_first && is_last) move_as(from, to, begin, end, shift, at, 1, 1);
    else if (is_first) move_as(from, to, begin, end, shift, at, 1, 0);
    else if (is_last) move_as(from, to, begin, end, shift, at, 0, 1);
    else move_as(from, to, begin, end, shift, at, 0, 0);
}

static int next_shift(Key differing, int shift) {
    while (shift < BITS && (differing >> shift & (DIGITS - 1)) == 0) shift += DIGIT;
    return shift;
}

// ---- buckets ------------------------------------------------------------------------

typedef struct Table {
    int shift;
    uint8_t bucket[TABLE]; // by the highest bits
} Table;

static inline int bucket_of(const Table *table, Key key) {
    if (BITS == 32) return digit_of(key, table->shift);
    return table->bucket[key >> table->shift & (TABLE - 1)];
}

static int highest_bit(Key bits) {
    return bits == 0 ? 0 : 64 - __builtin_clzll(bits);
}

static void make_table(const Job *job, Key differing, Table *table) {
    static const int share = SAMPLE / DIGITS;
    int32_t counts[TABLE] = {0}, before = 0;
    int64_t apart = job->n / SAMPLE;
    int top = highest_bit(differing), bits = BITS == 32 ? DIGIT : TABLE_BITS;
    table->shift = top > bits ? top - bits : 0;
    if (BITS == 32) return;
    for (int64_t i = 0; i < SAMPLE; i++)
        counts[key_of(job->xs[i * apart]) >> table->shift & (TABLE - 1)]++;
    for (int i = 0; i < TABLE; i++) {
        table->bucket[i] = (uint8_t)(before < SAMPLE ? before / share : DIGITS - 1);
        before += counts[i];
    }
}

static void count_buckets(const Job *job, const Table *table, int64_t begin,
                          int64_t end, int64_t *counts) {
    int64_t odd[DIGITS] = {0}, i = begin;
    memset(counts, 0, DIGITS * sizeof *counts);
    for (; i + 2 <= end; i += 2) {
        counts[bucket_of(table, key_of(job->xs[i]))]++;
        odd[bucket_of(table, key_of(job->xs[i + 1]))]++;
    }
    if (i < end) counts[bucket_of(table, key_of(job->xs[i]))]++;
    for (int d = 0; d < DIGITS; d++) counts[d] += odd[d];
}

static void move_to_buckets(const Job *job, const Table *table, int64_t begin,
                            int64_t end, int64_t *at) {
    Key *to = (Key *)job->other;
    for (int64_t i = begin; i < end;) {
        int64_t stop = end_of_line(i, end);
        bench_fetch(job->xs + i);
#pragma GCC unroll 8
        for (; i < stop; i++) {
            Key key = key_of(job->xs[i]);
            to[at[bucket_of(table, key)]++] = key;
        }
    }
}

// Moves keys between `from` and `to` by the digits from `shift` up to `top`; returns
// where they end.
static Key *sort_digits(Key *from, Key *to, int64_t n, int shift, int top) {
    int64_t counts[BITS / DIGIT][DIGITS];
    int passes = (top - shift + DIGIT - 1) / DIGIT;
    memset(counts, 0, (size_t)passes * sizeof counts[0]);
    if (passes == HIGHEST)
        for (int64_t i = 0; i < n; i++)
            for (int p = 0; p < HIGHEST; p++)
                counts[p][digit_of(from[i], shift + p * DIGIT)]++;
    else
        for (int p = 0; p < passes; p++)
            for (int64_t i = 0; i < n; i++)
                counts[p][digit_of(from[i], shift + p * DIGIT)]++;
    for (int p = 0; p < passes; p++, shift += DIGIT) {
        int64_t before = 0, *at = counts[p];
        for (int d = 0; d < DIGITS; d++) {
            int64_t count = at[d];
            at[d] = before;
            before += count;
        }
#pragma GCC unroll 8
        for (int64_t i = 0; i < n; i++) {
            Key key = from[i];
            to[at[digit_of(key, shift)]++] = key;
        }
        Key *other = from;
        from = to;
        to = other;
    }
    return from;
}

static int64_t insert_block(Key *keys, int64_t begin, int64_t end) {
    int64_t moves = 0;
    for (int64_t i = begin; i < end; i++) {
        Key key = keys[i];
        int64_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
        keys[j] = key;
        moves += i - j;
    }
    return moves;
}

// Whether few moves put the keys in order.
static int insert_few(Key *keys, int64_t n) {
    int64_t moves = 0, i = 1;
    for (; i + BLOCK <= n && moves <= n / 4; i += BLOCK) {
        Key is_less = 0;
        for (int64_t k = i; k < i + BLOCK; k++) is_less |= keys[k] < keys[k - 1];
        if (is_less) moves += insert_block(keys, i, i + BLOCK);
    }
    if (moves > n / 4) return 0;
    insert_block(keys, i, n);
    return 1;
}

static void sort_bucket(Key *keys, Key *other, int64_t n, Real *out) {
    Key differing = 0;
    for (int64_t i = 0; i < n; i++) differing |= keys[i] ^ keys[0];
    int top = highest_bit(differing), shift = top - HIGHEST * DIGIT;
    if (shift < 0) shift = 0;
    Key *sorted = sort_digits(keys, other, n, shift, top);
    if (shift > 0 && !insert_few(sorted, n))
        sorted = sort_digits(sorted, sorted == keys ? other : keys, n, 0, top);
    for (int64_t i = 0; i < n; i++) {
        Real x = element_of(sorted[i]);
        memcpy(&out[i], &x, sizeof x);
    }
}

// Returns whether that was done: not if a bucket is far larger than others.
static int sort_buckets(const Job *job, int me, int threads, int64_t begin, int64_t end,
                        Key differing) {
    Table table;
    int64_t starts[DIGITS], ends[DIGITS + 1] = {0}, before = 0;
    make_table(job, differing, &table);
    count_buckets(job, &table, begin, end, job->counts + me * DIGITS);
    bench_meet(job->team);
    for (int d = 0; d < DIGITS; d++) {
        for (int t = 0; t < threads; t++) {
            if (t == me) starts[d] = before;
            before += job->counts[t * DIGITS + d];
        }
        ends[d + 1] = before;
        if (before - ends[d] > job->n / 32) {
            bench_meet(job->team);
            return 0;
        }
    }
    move_to_buckets(job, &table, begin, end, starts);
    bench_meet(job->team);
    for (int d = 0; d < DIGITS; d++)
        if (ends[d] >= begin && ends[d] < end && ends[d] < ends[d + 1])
            sort_bucket((Key *)job->other + ends[d], (Key *)job->out + ends[d],
                        ends[d + 1] - ends[d], job->out + ends[d]);
    bench_meet(job->team);
    return 1;
}

// ---- the whole ----------------------------------------------------------------------

static void sort_part(void *env, int me, int threads) {
    const Job *job = env;
    int64_t begin = bench_share(job->n, 16, me, threads), starts[DIGITS];
    int64_t end = bench_share(job->n, 16, me + 1, threads);
    job->differing[me] = find_differing(job, begin, end);
    bench_meet(job->team);
    Key differing = 0;
    int passes = 0;
    for (int t = 0; t < threads; t++) differing |= job->differing[t];
    if (job->n >= MANY && differing >> (BITS - 16) != 0 &&
        sort_buckets(job, me, threads, begin, end, differing))
        return;
    for (int s = next_shift(differing, 0); s < BITS;
         s = next_shift(differing, s + DIGIT))
        passes++;
    const void *from = job->xs;
    void *to = passes % 2 != 0 ? job->out : job->other;
    if (passes == 0)
        memcpy(job->out + begin, job->xs + begin, (size_t)(end - begin) * sizeof(Real));
    if (threads == 1) count_all(job->xs, job->n, job->counts);
    for (int s = next_shift(differing, 0); s < BITS;
         s = next_shift(differing, s + DIGIT)) {
        const int64_t *counts = job->counts;
        if (threads == 1) counts += s / DIGIT * DIGITS;
        else if (from == job->xs)
            count_digits(from, begin, end, s, job->counts + me * DIGITS, 1);
        else count_digits(from, begin, end, s, job->counts + me * DIGITS, 0);
        bench_meet(job->team);
        find_starts(counts, me, threads, starts);
        move(from, to, begin, end, s, starts, from == job->xs, --passes == 0);
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
