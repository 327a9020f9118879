// SPDX-License-Identifier: Apache-2.0
//
// What the fixed shape of reductions costs: sums of products of f32 and f64 in C in the
// shape that the language fixes (blocks of 8,192; in a block as many lanes as 128 bytes
// have, 32 of f32, 16 of f64, folded by halves; a tree over blocks), and in the order
// that is best for the machine (eight vectors of sums). Both round products, as the
// language does. In turns, in caches and in memory; of each the least, in microseconds.
// Usage: order [ROUNDS]
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

enum { BLOCK = 8192, LEVELS = 32, VECTOR = 64, HALVES = 2, SOME = 4, CHAINS = 8 };

// What is within a block is in two vectors of 64 bytes; several blocks go at once, so
// that additions wait for none of their own.
#define SUMS(T, NAME)                                                                  \
    enum { WIDTH_##NAME = VECTOR / sizeof(T) };                                        \
    typedef T V_##NAME __attribute__((vector_size(VECTOR), aligned(sizeof(T))));       \
                                                                                       \
    static T fold_##NAME(const T *lanes) {                                             \
        T all[HALVES * WIDTH_##NAME];                                                  \
        for (int k = 0; k < HALVES * WIDTH_##NAME; k++) all[k] = lanes[k];             \
        for (int half = WIDTH_##NAME; half > 0; half /= 2)                             \
            for (int k = 0; k < half; k++) all[k] += all[k + half];                    \
        return all[0];                                                                 \
    }                                                                                  \
                                                                                       \
    /* Sums of several whole blocks. */                                                \
    static void blocks_##NAME(const T *xs, const T *ys, T *out) {                      \
        V_##NAME sums[SOME][HALVES] = {0};                                             \
        for (int64_t i = 0; i < BLOCK; i += HALVES * WIDTH_##NAME)                     \
            for (int b = 0; b < SOME; b++)                                             \
                for (int h = 0; h < HALVES; h++) {                                     \
                    int64_t at = b * BLOCK + i + h * WIDTH_##NAME;                     \
                    sums[b][h] +=                                                      \
                        *(const V_##NAME *)(xs + at) * *(const V_##NAME *)(ys + at);   \
                }                                                                      \
        for (int b = 0; b < SOME; b++) out[b] = fold_##NAME((const T *)sums[b]);       \
    }                                                                                  \
                                                                                       \
    static T block_##NAME(const T *xs, const T *ys, int64_t n) {                       \
        V_##NAME a = {0}, b = {0};                                                     \
        int64_t i = 0;                                                                 \
        for (; i + HALVES * WIDTH_##NAME <= n; i += HALVES * WIDTH_##NAME) {           \
            a += *(const V_##NAME *)(xs + i) * *(const V_##NAME *)(ys + i);            \
            b += *(const V_##NAME *)(xs + i + WIDTH_##NAME) *                          \
                 *(const V_##NAME *)(ys + i + WIDTH_##NAME);                           \
        }                                                                              \
        T lanes[HALVES * WIDTH_##NAME];                                                \
        *(V_##NAME *)lanes = a;                                                        \
        *(V_##NAME *)(lanes + WIDTH_##NAME) = b;                                       \
        for (int k = 0; i + k < n; k++) lanes[k] += xs[i + k] * ys[i + k];             \
        return fold_##NAME(lanes);                                                     \
    }                                                                                  \
                                                                                       \
    /* An odd block or tree waits for its neighbour. */                                \
    static int put_##NAME(T *tree, int height, int64_t block, T sum) {                 \
        tree[height++] = sum;                                                          \
        for (; (block & 1) != 0; block >>= 1, height--)                                \
            tree[height - 2] += tree[height - 1];                                      \
        return height;                                                                 \
    }                                                                                  \
                                                                                       \
    __attribute__((noinline)) static double fixed_##NAME(const void *a, const void *b, \
                                                         int64_t n) {                  \
        const T *xs = a, *ys = b;                                                      \
        T tree[LEVELS], some[SOME];                                                    \
        int64_t i = 0, block = 0;                                                      \
        int height = 0;                                                                \
        for (; i + SOME * BLOCK <= n; i += SOME * BLOCK) {                             \
            blocks_##NAME(xs + i, ys + i, some);                                       \
            for (int k = 0; k < SOME; k++)                                             \
                height = put_##NAME(tree, height, block++, some[k]);                   \
        }                                                                              \
        for (; i < n; i += BLOCK)                                                      \
            height = put_##NAME(                                                       \
                tree, height, block++,                                                 \
                block_##NAME(xs + i, ys + i, n - i < BLOCK ? n - i : BLOCK));          \
        for (; height > 1; height--) tree[height - 2] += tree[height - 1];             \
        return (double)tree[0];                                                        \
    }                                                                                  \
                                                                                       \
    __attribute__((noinline)) static double free_##NAME(const void *a, const void *b,  \
                                                        int64_t n) {                   \
        const T *xs = a, *ys = b;                                                      \
        V_##NAME sums[CHAINS] = {0};                                                   \
        int64_t i = 0;                                                                 \
        for (; i + CHAINS * WIDTH_##NAME <= n; i += CHAINS * WIDTH_##NAME)             \
            for (int c = 0; c < CHAINS; c++) {                                         \
                int64_t at = i + c * WIDTH_##NAME;                                     \
                sums[c] +=                                                             \
                    *(const V_##NAME *)(xs + at) * *(const V_##NAME *)(ys + at);       \
            }                                                                          \
        for (; i + WIDTH_##NAME <= n; i += WIDTH_##NAME)                               \
            sums[0] += *(const V_##NAME *)(xs + i) * *(const V_##NAME *)(ys + i);      \
        T all = 0;                                                                     \
        for (; i < n; i++) all += xs[i] * ys[i];                                       \
        for (int c = 1; c < CHAINS; c++) sums[0] += sums[c];                           \
        for (int k = 0; k < (int)WIDTH_##NAME; k++) all += sums[0][k];                 \
        return (double)all;                                                            \
    }
SUMS(float, f32)
SUMS(double, f64)

typedef double Sum(const void *a, const void *b, int64_t n);

// The least of some rounds, in turns: the first way's, then the second's.
static void measure(Sum *const ways[2], const void *a, const void *b, int64_t n,
                    int rounds, double least[2]) {
    int64_t calls = 1 + 200000 / n;
    least[0] = least[1] = 1e9;
    for (int round = 0; round < rounds; round++)
        for (int way = 0; way < 2; way++) {
            double began = clock_seconds();
            for (int64_t i = 0; i < calls; i++) {
                double sum = ways[way](a, b, n);
                __asm__ volatile("" : : "m"(sum));
            }
            double took = (clock_seconds() - began) * 1e6 / (double)calls;
            if (took < least[way]) least[way] = took;
        }
}

static void fill(float *xs, double *ys, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        xs[i] = (float)(i * 7919 % 1000) / 1000;
        ys[i] = (double)xs[i];
    }
}

int main(int argc, char **argv) {
    static const int64_t sizes[] = {1000, 10000, 100000, 1000000, 30000000};
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    int64_t most = sizes[sizeof sizes / sizeof *sizes - 1];
    float *xs = malloc((size_t)most * sizeof *xs);
    double *ys = malloc((size_t)most * sizeof *ys);
    if (xs == NULL || ys == NULL || rounds < 1) return 2;
    fill(xs, ys, most);
    Sum *const f32[] = {fixed_f32, free_f32}, *const f64[] = {fixed_f64, free_f64};
    for (int type = 0; type < 2; type++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const void *a = type == 0 ? (void *)xs : (void *)ys;
            double least[2];
            measure(type == 0 ? f32 : f64, a, a, sizes[k], rounds, least);
            printf("%s %9lld  fixed %10.3f  free %10.3f  fixed over free %.3f\n",
                   type == 0 ? "f32" : "f64", (long long)sizes[k], least[0], least[1],
                   least[0] / least[1]);
        }
    free(xs);
    free(ys);
    return 0;
}
