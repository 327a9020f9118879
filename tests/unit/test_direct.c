// SPDX-License-Identifier: Apache-2.0
//
// Direct calls (api/direct.h): natively and warm each entry answers, and fails, as the
// interpreter does, call after call, and keeps no memory.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/testing.h"
#include "test.h"
#include "weft.h"

static const char text[] =
    "entry norm (a: f32) (xs: []f32) = a * f32.sum (map (\\x -> x * x) xs)\n"
    "entry mean (xs: []f64) = f64.sum xs / f64.i64 (length xs)\n"
    "entry dot [n] (xs: [n]i64) (ys: [n]i64) = i64.sum (map2 (*) xs ys)\n"
    "entry share (k: i64) (xs: []i64) = i64.sum xs / k\n"
    "entry shares (k: i64) (xs: []i64) = map (/ k) xs\n"
    "entry take [n] (xs: []i64) (is: [n]i64) = map (\\i -> xs[i]) is\n"
    "entry both (k: i64) (xs: []i64) = (k + 1, map (+ k) xs, i64.sum xs)\n"
    "entry given (xs: []i64) = (xs, i64.sum xs)\n"
    "entry bump (xs: *[]i64) = map (+ 1) xs\n"
    "entry set (k: i64) (xs: *[]i64) = xs with [k] = 7\n"
    "entry twice (xs: []i64) = (map (+ 1) xs, map (* 2) (reverse xs), i64.sum xs)\n"
    "entry none (k: i64) = k * 2\n";

// Entry, arguments; each twice and more, and what fails after what does not.
static const char *const calls[][2] = {
    {"norm", "0.5f32 [1f32, 2f32, 3f32]"},
    {"norm", "2f32 []f32"},
    {"mean", "[1f64, 2f64, 6f64]"},
    {"mean", "empty([0]f64)"},
    {"dot", "[1i64, 2i64] [3i64, 4i64]"},
    {"dot", "[1i64, 2i64] [3i64]"},
    {"share", "2i64 [5i64, 6i64]"},
    {"share", "0i64 [5i64, 6i64]"},
    {"shares", "2i64 [5i64, 6i64]"},
    {"shares", "0i64 [5i64, 6i64]"},
    {"take", "[5i64, 6i64] [1i64, 0i64, 1i64]"},
    {"take", "[5i64, 6i64] [1i64, 2i64]"},
    {"both", "3i64 [5i64, 6i64]"},
    {"given", "[5i64, 6i64]"},
    {"bump", "[5i64, 6i64]"},
    {"set", "1i64 [5i64, 6i64]"},
    {"set", "2i64 [5i64, 6i64]"},
    {"twice", "[5i64, 6i64]"},
    {"none", "4i64"},
};

enum { ROUNDS = 4, MOST = 2000 };

typedef struct Side {
    WeftContext *context;
    WeftProgram *program;
} Side;

static Side open_side(WeftEngine engine) {
    WeftOptions options = {.struct_size = sizeof options, .engine = engine};
    Side side = {0};
    CHECK(weft_context_new(&options, &side.context) == WEFT_STATUS_OK);
    CHECK(weft_program_from_source(side.context, "direct", text, strlen(text),
                                   &side.program) == WEFT_STATUS_OK);
    return side;
}

static void close_side(Side *side) {
    weft_program_free(side->program);
    CHECK(weft_testing_context_free(side->context) == 0);
}

static void add_text(char *out, const WeftValue *value) {
    const char *shown;
    CHECK(weft_value_text(value, &shown) == WEFT_STATUS_OK);
    strncat(out, shown, MOST - strlen(out) - 1);
    strncat(out, "\n", MOST - strlen(out) - 1);
}

// What the call gives or says, and what its arguments are afterwards.
static void tell(const Side *side, const char *name, const char *input, char *out) {
    size_t entry = weft_entry_find(side->program, name);
    WeftValue *args[4], *results[4];
    size_t arg_count = weft_entry_parameter_count(side->program, entry);
    size_t count = weft_entry_result_count(side->program, entry);
    out[0] = '\0';
    WeftStatus status = weft_values_read(side->program, entry, "in", input,
                                         strlen(input), args, arg_count);
    if (status == WEFT_STATUS_OK) {
        status = weft_call(side->program, entry, args, arg_count, results, count);
        if (status != WEFT_STATUS_OK) strcat(out, weft_message(side->context));
        for (size_t i = 0; i < arg_count; i++) add_text(out, args[i]);
        for (size_t i = 0; i < arg_count; i++) weft_value_free(args[i]);
        for (size_t i = 0; status == WEFT_STATUS_OK && i < count; i++) {
            add_text(out, results[i]);
            weft_value_free(results[i]);
        }
    }
}

static void test_answers(void) {
    Side native = open_side(WEFT_ENGINE_NATIVE), oracle = open_side(WEFT_ENGINE_INTERP);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            char expected[MOST], found[MOST];
            tell(&oracle, calls[i][0], calls[i][1], expected);
            tell(&native, calls[i][0], calls[i][1], found);
            bool is_same = strcmp(expected, found) == 0;
            if (!is_same)
                printf("%s %s, round %d\n  expected %s\n  found    %s\n", calls[i][0],
                       calls[i][1], round, expected, found);
            CHECK(is_same);
        }
    close_side(&native);
    close_side(&oracle);
}

// Calls that go well and calls that fail leave no more behind than the first did.
static void test_memory(void) {
    Side side = open_side(WEFT_ENGINE_NATIVE);
    size_t used = 0;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        char found[MOST];
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            tell(&side, calls[i][0], calls[i][1], found);
        if (round == ROUNDS) used = weft_memory_used(side.context);
    }
    CHECK(weft_memory_used(side.context) == used);
    close_side(&side);
}

static void test_cancel(void) {
    Side side = open_side(WEFT_ENGINE_NATIVE);
    char found[MOST], again[MOST];
    for (int round = 0; round < ROUNDS; round++)
        tell(&side, "norm", "0.5f32 [1f32, 2f32]", found);
    weft_cancel(side.context);
    tell(&side, "norm", "0.5f32 [1f32, 2f32]", again);
    tell(&side, "norm", "0.5f32 [1f32, 2f32]", again);
    CHECK(strcmp(found, again) == 0);
    close_side(&side);
}

int main(void) {
    test_answers();
    test_memory();
    test_cancel();
    return test_done();
}
