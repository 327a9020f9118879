// SPDX-License-Identifier: Apache-2.0
//
// Statistics of run times, which are skewed and have outliers: nothing here assumes a
// distribution. The range of a median comes from ranks (a binomial distribution says
// how many runs fall below the true median), that of a ratio from drawing pairs anew.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/cli.h"

void bench_add(Sample *sample, double seconds) {
    if ((sample->len & (sample->len - 1)) == 0) { // full at each power of two
        size_t cap = sample->len == 0 ? 1 : 2 * sample->len;
        sample->data = cli_resize(sample->data, cap * sizeof *sample->data);
    }
    sample->data[sample->len++] = seconds;
}

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The value below which that part of the sorted times lies, between two of them if need
// be.
static double quantile(const double *sorted, size_t len, double part) {
    double place = part * (double)(len - 1);
    size_t below = (size_t)place, above = below + 1 < len ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

Summary bench_summarise(const Sample *sample) {
    size_t len = sample->len, size = len * sizeof(double);
    double *sorted = cli_alloc(size);
    memcpy(sorted, sample->data, size);
    qsort(sorted, len, sizeof *sorted, compare_times);
    // Ranks that lie 1.96 standard deviations, of half the square root each, off the
    // middle.
    double off = (double)(len - 1) / 2 - 0.98 * sqrt((double)len);
    size_t low = off < 0 ? 0 : (size_t)off;
    Summary summary = {
        .median = quantile(sorted, len, 0.5),
        .low = sorted[low],
        .high = sorted[len - 1 - low],
        .least = sorted[0],
        .greatest = sorted[len - 1],
        .quartiles = {quantile(sorted, len, 0.25), quantile(sorted, len, 0.75)},
    };
    free(sorted);
    return summary;
}

// ---- ratios -------------------------------------------------------------------------

typedef struct Ranked { // a run's time and number
    double seconds;
    size_t run;
} Ranked;

static Ranked *rank(const Sample *sample) {
    Ranked *ranked = cli_alloc(sample->len * sizeof *ranked);
    for (size_t i = 0; i < sample->len; i++) ranked[i] = (Ranked){sample->data[i], i};
    qsort(ranked, sample->len, sizeof *ranked, compare_times); // seconds come first
    return ranked;
}

// The median of the sample in which each run occurs so many times, len times in all.
static double drawn_median(const Ranked *ranked, const uint32_t *times, size_t len) {
    size_t seen = 0;
    double lower = 0;
    for (size_t i = 0;; i++) {
        size_t before = seen;
        seen += times[ranked[i].run];
        if (before <= (len - 1) / 2 && seen > (len - 1) / 2) lower = ranked[i].seconds;
        if (seen > len / 2) return (lower + ranked[i].seconds) / 2;
    }
}

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

Ratio bench_compare(const Sample *first, const Sample *second) {
    enum { DRAWS = 2000 };
    size_t len = first->len;
    Ranked *firsts = rank(first), *seconds = rank(second);
    uint32_t *times = cli_alloc(len * sizeof *times);
    double *ratios = cli_alloc(DRAWS * sizeof *ratios);
    uint64_t state = 1;
    for (size_t i = 0; i < DRAWS; i++) {
        memset(times, 0, len * sizeof *times);
        for (size_t k = 0; k < len; k++) times[next_random(&state) % len]++;
        ratios[i] =
            drawn_median(seconds, times, len) / drawn_median(firsts, times, len);
    }
    qsort(ratios, DRAWS, sizeof *ratios, compare_times);
    for (size_t k = 0; k < len; k++) times[k] = 1;
    Ratio ratio = {
        .ratio = drawn_median(seconds, times, len) / drawn_median(firsts, times, len),
        .low = quantile(ratios, DRAWS, 0.025),
        .high = quantile(ratios, DRAWS, 0.975),
    };
    free(ratios);
    free(times);
    free(seconds);
    free(firsts);
    return ratio;
}
