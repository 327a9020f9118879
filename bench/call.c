// SPDX-License-Identifier: Apache-2.0
//
// What a call costs: weft_call of a small program, natively and warm, beside a C
// function that does the same into memory that is there already. In turns; of each the
// median and the least, in microseconds. Usage: call [ROUNDS]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "weft.h"

enum { MOST_ROUNDS = 10000, CALLS = 8 }; // calls in one measurement

static const char text[] =
    "entry scale (a: f32) (xs: []f32) = map (\\x -> a * x + 1) xs\n"
    "entry norm (a: f32) (xs: []f32) = a * f32.sum (map (\\x -> x * x) xs)\n"
    "entry steps (a: f32) (xs: []f32) =\n"
    "  loop xs for _i < 10i32 do map (\\x -> a * x + 1) xs\n";

// ---- C ------------------------------------------------------------------------------

typedef void Work(float a, const float *xs, float *out, int64_t n);

__attribute__((noinline)) static void scale(float a, const float *xs, float *out,
                                            int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = a * xs[i] + 1;
}

// In eight sums, as many as a vector has.
__attribute__((noinline)) static void norm(float a, const float *xs, float *out,
                                           int64_t n) {
    float sums[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) sums[k] += xs[i + k] * xs[i + k];
    for (; i < n; i++) sums[0] += xs[i] * xs[i];
    out[0] = 0;
    for (int k = 0; k < 8; k++) out[0] += sums[k];
    out[0] *= a;
}

__attribute__((noinline)) static void steps(float a, const float *xs, float *out,
                                            int64_t n) {
    scale(a, xs, out, n);
    for (int k = 1; k < 10; k++) scale(a, out, out, n);
}

// ---- measuring ----------------------------------------------------------------------

typedef struct Case {
    Work *work;
    WeftProgram *program;
    size_t entry;
    WeftValue *args[2];
    float *xs, *out;
    int64_t n;
} Case;

static void run_c(const Case *c) {
    c->work(0.5f, c->xs, c->out, c->n);
    __asm__ volatile("" : : "r"(c->out) : "memory");
}

static void run_weft(const Case *c) {
    WeftValue *result;
    if (weft_call(c->program, c->entry, c->args, 2, &result, 1) != WEFT_STATUS_OK)
        abort();
    weft_value_free(result);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_of(void (*run)(const Case *), const Case *c) {
    double start = clock_seconds();
    for (int i = 0; i < CALLS; i++) run(c);
    return (clock_seconds() - start) * 1e6 / CALLS;
}

static void measure(const char *name, const Case *c, int rounds) {
    static double times[2][MOST_ROUNDS];
    for (int round = -20; round < rounds; round++) { // the first ones warm up
        double in_c = time_of(run_c, c), in_weft = time_of(run_weft, c);
        if (round < 0) continue;
        times[0][round] = in_c;
        times[1][round] = in_weft;
    }
    for (int i = 0; i < 2; i++)
        qsort(times[i], (size_t)rounds, sizeof **times, compare);
    printf("%-6s %7lld  C %8.2f, least %8.2f   Weft %8.2f, least %8.2f\n", name,
           (long long)c->n, times[0][rounds / 2], times[0][0], times[1][rounds / 2],
           times[1][0]);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        Work *work;
    } works[] = {{"scale", scale}, {"norm", norm}, {"steps", steps}};
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    if (rounds < 1 || rounds > MOST_ROUNDS) return 2;
    WeftContext *context;
    WeftOptions options = {.struct_size = sizeof options, .engine = WEFT_ENGINE_NATIVE};
    Case c = {0};
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK ||
        weft_program_from_source(context, "call", text, strlen(text), &c.program) !=
            WEFT_STATUS_OK)
        return 1;
    for (size_t k = 0; k < sizeof works / sizeof *works; k++)
        for (c.n = 10; c.n <= 100000; c.n *= 10) {
            float a = 0.5f;
            c.work = works[k].work;
            c.entry = weft_entry_find(c.program, works[k].name);
            c.xs = calloc((size_t)c.n, sizeof *c.xs);
            c.out = calloc((size_t)c.n, sizeof *c.out);
            if (c.xs == NULL || c.out == NULL ||
                weft_value_new(context, WEFT_F32, 0, NULL, &a, &c.args[0]) !=
                    WEFT_STATUS_OK ||
                weft_value_new(context, WEFT_F32, 1, &c.n, c.xs, &c.args[1]) !=
                    WEFT_STATUS_OK)
                return 1;
            measure(works[k].name, &c, rounds);
            weft_value_free(c.args[0]);
            weft_value_free(c.args[1]);
            free(c.xs);
            free(c.out);
        }
    weft_context_free(context);
    return 0;
}
