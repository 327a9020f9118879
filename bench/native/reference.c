// SPDX-License-Identifier: Apache-2.0
//
// The workloads of workloads.weft as a C programmer writes them at first: plain loops,
// OpenMP, the compiler's own vectorisation under -O3 -march=native -ffast-math (which
// may reorder sums, as Weft may not). Reads the inputs in Futhark's binary format and
// tells the seconds of the loops alone. Usage: reference WORKLOAD THREADS <inputs
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double begun;
static volatile float sink;

static void begin(void) { begun = omp_get_wtime(); }
static void end(void) { fprintf(stderr, "seconds: %.9f\n", omp_get_wtime() - begun); }

// Reads one value; its elements, and how many in all.
static void *read_value(size_t element, size_t *count_out) {
    unsigned char head[7];
    uint64_t shape[8];
    *count_out = 1;
    int byte = getchar();
    while (byte == ' ' || byte == '\n') byte = getchar();
    if (byte != 'b' || fread(head, 1, 6, stdin) != 6) exit(2);
    if (fread(shape, 8, head[1], stdin) != head[1]) exit(2);
    for (int d = 0; d < head[1]; d++) *count_out *= shape[d];
    void *data = malloc(*count_out * element + 1);
    if (data == NULL || fread(data, element, *count_out, stdin) != *count_out) exit(2);
    return data;
}

static void sum(void) {
    size_t n;
    const float *xs = read_value(4, &n);
    float total = 0;
    begin();
#pragma omp parallel for reduction(+ : total)
    for (size_t i = 0; i < n; i++) total += xs[i];
    end();
    sink = total;
}

static void dot(void) {
    size_t n;
    const float *xs = read_value(4, &n), *ys = read_value(4, &n);
    float total = 0;
    begin();
#pragma omp parallel for reduction(+ : total)
    for (size_t i = 0; i < n; i++) total += xs[i] * ys[i];
    end();
    sink = total;
}

static void saxpy(void) {
    size_t n;
    const float a = *(const float *)read_value(4, &n);
    const float *xs = read_value(4, &n), *ys = read_value(4, &n);
    begin();
    float *out = malloc(n * sizeof *out);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) out[i] = a * xs[i] + ys[i];
    end();
    sink = out[n / 2];
}

static void norms(void) {
    size_t n;
    const float *p = read_value(4, &n);
    n /= 3;
    begin();
    float *out = malloc(n * sizeof *out);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        out[i] = sqrtf(p[3 * i] * p[3 * i] + p[3 * i + 1] * p[3 * i + 1] +
                       p[3 * i + 2] * p[3 * i + 2]);
    end();
    sink = out[n / 2];
}

static void mandelbrot(void) {
    size_t unused;
    const int64_t n = *(const int64_t *)read_value(8, &unused);
    begin();
    int32_t *out = malloc((size_t)(n * n) * sizeof *out);
#pragma omp parallel for schedule(dynamic, 4)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double cx = 3 * ((double)j / (double)n) - 2, x = 0;
            double cy = 3 * ((double)i / (double)n) - 1.5, y = 0;
            int32_t k = 0;
            for (; x * x + y * y <= 4 && k < 256; k++) {
                double next = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = next;
            }
            out[i * n + j] = k;
        }
    end();
    sink = (float)out[n];
}

static void matmul(void) {
    size_t count;
    const float *a = read_value(4, &count), *b = read_value(4, &count);
    const size_t n = (size_t)sqrt((double)count);
    begin();
    float *out = calloc(count, sizeof *out);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) out[i * n + j] += a[i * n + k] * b[k * n + j];
    end();
    sink = out[n];
}

static void prefix(void) {
    size_t n;
    const int32_t *xs = read_value(4, &n);
    begin();
    int32_t *out = malloc(n * sizeof *out), total = 0;
    for (size_t i = 0; i < n; i++) out[i] = total += xs[i];
    end();
    sink = (float)out[n - 1];
}

static void histogram(void) {
    size_t n;
    const uint8_t *xs = read_value(1, &n);
    int32_t bins[256] = {0};
    begin();
#pragma omp parallel for reduction(+ : bins)
    for (size_t i = 0; i < n; i++) bins[xs[i]]++;
    end();
    sink = (float)bins[7];
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } all[] = {
        {"sum", sum}, {"dot", dot}, {"saxpy", saxpy}, {"norms", norms},
        {"mandelbrot", mandelbrot}, {"matmul", matmul}, {"prefix", prefix},
        {"histogram", histogram}};
    if (argc != 3) return 2;
    omp_set_num_threads(atoi(argv[2]));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(argv[1], all[i].name) == 0) return all[i].run(), 0;
    return 2;
}
