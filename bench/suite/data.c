// SPDX-License-Identifier: Apache-2.0
//
// Arrays of workloads: their memory, random numbers for them, and comparing answers.
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "suite.h"

enum { HUGE_PAGE = 2 << 20 };

static const size_t widths[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8}; // by WeftScalar

size_t data_bytes(const BenchArray *array) {
    size_t bytes = widths[array->element];
    for (size_t d = 0; d < array->rank; d++) bytes *= (size_t)array->shape[d];
    return bytes;
}

static bool are_lazy;

void data_lazy(void) {
    are_lazy = true;
}

// Pages that the system hands out zeroed once they are touched.
static void *untouched(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) suite_die("there is no memory for %zu bytes", size);
    return memory;
}

// Zeroed, with a vector of room behind the end.
static void *new_pages(BenchData *data, size_t bytes) {
    if (are_lazy) return untouched(bytes + 64);
    size_t size = (bytes + 64 + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (bytes < HUGE_PAGE) size = (bytes + 127) / 64 * 64;
    void *memory = aligned_alloc(bytes < HUGE_PAGE ? 64 : HUGE_PAGE, size);
    if (memory == NULL) suite_die("there is no memory for %zu bytes", bytes);
    if (bytes >= HUGE_PAGE) madvise(memory, size, MADV_HUGEPAGE);
    memset(memory, 0, size);
    data->bytes += size;
    return memory;
}

static void *declare(BenchData *data, BenchArray *array, WeftScalar element,
                     size_t rank, const int64_t *shape) {
    *array = (BenchArray){.element = element, .rank = rank};
    if (rank > 0) memcpy(array->shape, shape, rank * sizeof *shape);
    return array->data = new_pages(data, data_bytes(array));
}

void *bench_in(BenchData *data, WeftScalar element, size_t rank, const int64_t *shape) {
    if (data->in_count == BENCH_ARRAYS) suite_die("too many inputs");
    return declare(data, &data->in[data->in_count++], element, rank, shape);
}

void *bench_out(BenchData *data, WeftScalar element, size_t rank,
                const int64_t *shape) {
    if (data->out_count == BENCH_ARRAYS) suite_die("too many outputs");
    return declare(data, &data->out[data->out_count++], element, rank, shape);
}

void *bench_scratch(BenchData *data, size_t bytes) {
    if (data->scratch_count == BENCH_ARRAYS) suite_die("too much scratch");
    return data->scratch[data->scratch_count++] = new_pages(data, bytes);
}

void bench_in_i64(BenchData *data, int64_t value) {
    *(int64_t *)bench_in(data, WEFT_I64, 0, NULL) = value;
}

void data_free(BenchData *data) {
    for (size_t i = 0; i < data->in_count; i++) free(data->in[i].data);
    for (size_t i = 0; i < data->out_count; i++) free(data->out[i].data);
    for (size_t i = 0; i < data->scratch_count; i++) free(data->scratch[i]);
}

// SplitMix64.
static uint64_t next(uint64_t *seed) {
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

double bench_uniform(uint64_t *seed) {
    return (double)(next(seed) >> 11) * 0x1p-53;
}

uint64_t bench_below(uint64_t *seed, uint64_t below) {
    return (uint64_t)((unsigned __int128)next(seed) * below >> 64);
}

static double element(WeftScalar type, const void *data, size_t i) {
    switch (type) {
    case WEFT_BOOL:
    case WEFT_U8: return ((const uint8_t *)data)[i];
    case WEFT_I8: return ((const int8_t *)data)[i];
    case WEFT_I16: return ((const int16_t *)data)[i];
    case WEFT_U16: return ((const uint16_t *)data)[i];
    case WEFT_I32: return ((const int32_t *)data)[i];
    case WEFT_U32: return ((const uint32_t *)data)[i];
    case WEFT_I64: return (double)((const int64_t *)data)[i];
    case WEFT_U64: return (double)((const uint64_t *)data)[i];
    case WEFT_F32: return (double)((const float *)data)[i];
    case WEFT_F64: return ((const double *)data)[i];
    case WEFT_F16: break;
    }
    suite_die("there are no answers of that type");
}

// What differs is counted by powers of two below the greatest magnitude.
double data_difference(const BenchArray *expected, const void *found, double odd) {
    enum { POWERS = 64 };
    WeftScalar type = expected->element;
    size_t count = data_bytes(expected) / widths[type], beyond[POWERS] = {0}, nan = 0;
    double greatest = 0, worst = 0;
    if (count == 0 || memcmp(expected->data, found, data_bytes(expected)) == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        greatest = fmax(greatest, fabs(element(type, expected->data, i)));
    for (size_t i = 0; i < count; i++) {
        double a = element(type, expected->data, i), b = element(type, found, i);
        double d = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b) / greatest;
        if (!(d <= HUGE_VAL) || isinf(d)) nan++;
        else if (d > 0) {
            int power = (int)-floor(log2(d));
            beyond[power < 0 ? 0 : power >= POWERS ? POWERS - 1 : power]++;
            worst = fmax(worst, d);
        }
    }
    size_t allowed = (size_t)(odd * (double)count);
    if (nan > allowed) return HUGE_VAL;
    if (allowed == 0) return worst;
    size_t seen = nan;
    for (int power = 0; power < POWERS; power++)
        if ((seen += beyond[power]) > allowed) return ldexp(1, 1 - power);
    return 0;
}
