// SPDX-License-Identifier: Apache-2.0
//
// Roots that kernels make beside the divider (src/emit/head_wide.h): the formulas of
// there, a number at a time, round as roots do whatever estimate within the manuals'
// bound they begin with. Of f32 each x from 1 to 4 is tried whose root is near to where
// rounding turns, with each estimate; of f64 such x by the thousand, with some.
#include <math.h>
#include <stdint.h>

#include "test.h"

static const double OFF = 0x1p-14; // how far an estimate may be off, of itself

// ---- f32 ----------------------------------------------------------------------------

static float refined_f32(float x, float y) {
    float r = x * y, h = 0.5f * y;
    const float e = fmaf(-r, h, 0.5f);
    r = fmaf(r, e, r);
    h = fmaf(h, e, h);
    return fmaf(fmaf(-r, r, x), h, r);
}

// How far the root of x is from the nearest middle of two floats, in units between
// them.
static double from_middle(double x) {
    const double units = sqrt(x) * 0x1p23;
    return fabs(units - floor(units) - 0.5);
}

// How many estimates for x lead to another number than its root; `tried`: how many all.
static uint32_t wrong_of(float x, uint32_t *tried) {
    const double inverse = 1 / sqrt((double)x);
    const float last = (float)(inverse * (1 + OFF)), root = sqrtf(x);
    uint32_t wrong = 0;
    for (float y = (float)(inverse * (1 - OFF)); y <= last;
         y = nextafterf(y, INFINITY)) {
        wrong += refined_f32(x, y) != root;
        ++*tried;
    }
    return wrong;
}

static void test_f32(void) {
    uint32_t near = 0, wrong = 0, scaled = 0, tried = 0;
    for (float x = 1; x < 4; x = nextafterf(x, 4)) {
        if (from_middle(x) > 0x1p-17) continue;
        near++;
        wrong += wrong_of(x, &tried);
        // The ends of what is refined at all.
        scaled += wrong_of(x * 0x1p-70f, &tried) + wrong_of(x * 0x1p126f, &tried);
    }
    CHECK(near > 50 && near < 1000);
    CHECK(tried > 1000 * near);
    CHECK(wrong == 0);
    CHECK(scaled == 0);
}

// ---- f64 ----------------------------------------------------------------------------

// The two numbers of which the root is one, if they are the same.
typedef struct Bounds {
    double low, high;
} Bounds;

static Bounds refined_f64(double x, double y) {
    double r = x * y;
    const double e = fma(-r, y, 1);
    const double more = e * fma(e, 0.375, 0.5);
    r = fma(r, more, r);
    y = fma(y, more, y);
    const double twice = fma(-r, r, x) * y;
    return (Bounds){fma(twice, 0.5 - 0x1p-37, r), fma(twice, 0.5 + 0x1p-37, r)};
}

// A linear congruential generator (Knuth).
static uint64_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 8;
}

// An odd number of 54 bits whose square is `rest` more than a multiple of 2^55; `rest`:
// 1 more than one of 8. Bit after bit is set where the square is wrong above.
static uint64_t root_modulo(uint64_t rest) {
    const uint64_t whole = (uint64_t)1 << 54;
    uint64_t s = 1;
    for (uint32_t bit = 3; bit < 55; bit++)
        if ((s * s - rest) >> bit & 1) s += (uint64_t)1 << (bit - 1);
    s %= whole;
    return s >= whole / 2 ? s : whole - s;
}

// A number whose root is next to the middle of two: s^2 - rest for such an s, over
// 2^54. That is even and of 54 bits, so it is a float.
static double near_middle(int64_t rest) {
    const double below = (double)(root_modulo((uint64_t)rest) - 1);
    const double square = below * below;
    const double left = fma(below, below, -square) + 2 * below + 1 - (double)rest;
    return fma(left, 0x1p-54, square * 0x1p-54);
}

static void test_f64(void) {
    enum { COUNT = 200000, ESTIMATES = 8, BITS = 46 };
    uint32_t wrong = 0, outside = 0, unsure = 0;
    uint64_t state = 1;
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint64_t eighths = random_bits(&state) >> (56 - BITS * i / COUNT);
        const double x = near_middle((int64_t)(i % 2 ? eighths : -eighths) * 8 + 1);
        for (uint32_t k = 0; k < ESTIMATES; k++) {
            const double share = (double)random_bits(&state) * 0x1p-55 - 1;
            const Bounds b = refined_f64(x, (1 + OFF * share) / sqrt(x));
            outside += fmin(b.low, b.high) > sqrt(x) || fmax(b.low, b.high) < sqrt(x);
            wrong += b.low == b.high && b.high != sqrt(x);
            unsure += b.low != b.high;
        }
    }
    CHECK(outside == 0);
    CHECK(wrong == 0);
    CHECK(unsure > 1000 && unsure < COUNT * (ESTIMATES - 1));
}

int main(void) {
    test_f32();
    test_f64();
    return test_done();
}
