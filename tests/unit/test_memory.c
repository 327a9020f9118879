// SPDX-License-Identifier: Apache-2.0
//
// How much memory programs take as machine code: arrays made and their bytes, copies,
// private memory of root code, and that a call that is repeated asks the
// system for no large block. The answers are those of the interpreter.
#include <string.h>

#include "api/places.h"
#include "api/testing.h"
#include "test.h"

typedef struct Program {
    const char *name, *text, *input;
    uint64_t made, bytes, copied; // by one call
    size_t most;                  // bytes of private memory of root code
    uint32_t threads;             // 0: one
} Program;

// Arrays of 1000 elements are for sequential kernels, those of 30000 for parallel ones.
static const Program programs[] = {
    {"a map", "entry main (n: i64) = map (* 2) (iota n)", "1000", 1, 8000, 0, 0},
    {"a map of an argument, which others see",
     "entry main (n: i64) = let xs = map (* 3) (iota n)\n"
     "  in (xs, map (+ 1) (rotate 1 xs))",
     "1000", 2, 16000, 0, 0},
    {"a map of what is made in memory",
     "entry main (n: i64) = map (* 2) (scan (+) 0 (iota n))", "30000", 2, 480000, 0, 0},
    {"two results of that",
     "entry main (n: i64) = unzip (map (\\x -> (x + 1, x * x)) (scan (+) 0 (iota n)))",
     "30000", 3, 720000, 0, 0},
    {"what is read backwards stays",
     "entry main (n: i64) = let s = scan (+) 0 (iota n) in map2 (-) s (reverse s)",
     "30000", 2, 480000, 0, 0},
    {"a map again and again, in place",
     "entry main (n: i64) = loop xs = map (+ 1) (iota n) for _i < 50i32 do\n"
     "  map (\\x -> x * x % 1000) xs",
     "30000", 1, 240000, 0, 0},
    {"the same in a sequential kernel, in place",
     "entry main (n: i64) = loop xs = map (+ 1) (iota n) for _i < 50i32 do\n"
     "  map (\\x -> x * x % 1000) xs",
     "1003", 1, 8024, 0, 0},
    {"a stencil, with two buffers",
     "entry main (n: i64) = loop xs = map (+ 1) (iota n) for _i < 50i32 do\n"
     "  tabulate n (\\i -> (xs[i] + xs[(i + 1) % n]) % 1000)",
     "1000", 3, 24000, 0, 0},
    {"a larger stencil, with two buffers, too",
     "entry main (n: i64) = loop xs = map (+ 1) (iota n) for _i < 50i32 do\n"
     "  tabulate n (\\i -> (xs[i] + xs[(i + 1) % n]) % 1000)",
     "30000", 3, 720000, 0, 0},
    {"a loop on the host, of arrays of any size; 512 elements are sifted at once",
     "entry main (n: i64) = loop xs = map (+ 1) (iota n) for _i < 5i32 do\n"
     "  filter (\\x -> x % 7 != 1) (scan (+) 0 xs)",
     "30000", 11, 1677168, 0, 704},
    {"updates in place",
     "entry main (n: i64) = loop xs = map (+ 1) (iota n) for i < n do\n"
     "  xs with [i] = xs[n - 1 - i]",
     "1000", 1, 8000, 0, 0},
    {"a loop over rows, in the memory of what it begins with",
     "entry main (n: i64) = loop m = tabulate_2d n n (\\i j -> i * j % 7) for _i < n "
     "do\n"
     "  map (\\row -> let s = i64.sum row in map (+ s) row) m",
     "200", 1, 320000, 0, 0},
    {"a matrix power by products",
     "entry main (n: i64) = loop m = tabulate_2d n n (\\i j -> i ^ j) for _i < 5i32 "
     "do\n"
     "  map (\\r -> map (\\c -> i64.sum (map2 (*) r c) % 10) (transpose m)) m",
     "6", 3, 864, 0, 0},
    {"a loop of scans",
     "entry main (n: i64) = loop xs = map (+ 1) (iota n) for _i < 20i32 do\n"
     "  map (% 1000) (scan (+) 0 xs)",
     "1000", 3, 24000, 0, 0},
    {"branches",
     "entry main (n: i64) = let s = scan (+) 0 (iota n)\n"
     "  in if n > 5 then map (+ 1) s else reverse s",
     "1000", 2, 16000, 0, 0},
    {"a filter in parts, in room for all, of which what is kept counts",
     "entry main (n: i64) = filter (\\x -> x % 5 == 1) (iota n)", "2300000", 1, 3680000,
     0, 192, 2},
    {"the same by one thread, at once into that room",
     "entry main (n: i64) = filter (\\x -> x % 5 == 1) (iota n)", "2300000", 1, 3680000,
     0, 5568, 1},
    {"two filters at once, in parts",
     "entry main (n: i64) = unzip (filter (\\(i, y) -> i % 7 == 3 || y > 6e5f64)\n"
     "  (zip (iota n) (map (\\i -> f64.i64 i / 3) (iota n))))",
     "2300000", 2, 12114272, 0, 10688, 2},
    {"one of the two results is too small for room",
     "entry main (n: i64) = unzip (filter (\\(b, i) -> b || i % 3 == 2)\n"
     "  (map (\\i -> (i % 5 == 0, i)) (iota n)))",
     "900000", 2, 3780000, 0, 7104, 2},
    {"rows that cost much, made once, in parts",
     "entry main (n: i64) = filter (\\x -> x % 3 == 1)\n"
     "  (map (\\i -> let a = (i * i) ^ (i + 3) let b = (a * 7) ^ (a / 3)\n"
     "    let c = (b * 5) ^ (b % 11) let d = (c / 5) ^ (c + a) let e = (d * 3) ^ (d / "
     "7)\n"
     "    let f = (e * 5) ^ (e % 19) let g = (f / 3) ^ (f + a) in g + (b % 13)) (iota "
     "n))",
     "2300000", 1, 6130240, 0, 1049664, 2},
    {"a temporary in each row",
     "entry main (n: i64) = map (\\i -> let row = scan (+) 0 (map (* i) (iota n))\n"
     "  in row[i] + row[n - 1 - i]) (iota n)",
     "200", 1, 1600, 0, 1664},
};

static WeftContext *open_context(WeftEngine engine, uint32_t threads) {
    WeftContext *context = NULL;
    WeftOptions options = {
        .struct_size = sizeof options, .engine = engine, .threads = threads};
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    return context;
}

static WeftProgram *compile(WeftContext *context, const Program *p) {
    WeftProgram *program = NULL;
    CHECK(weft_program_from_source(context, p->name, p->text, strlen(p->text),
                                   &program) == WEFT_STATUS_OK);
    return program;
}

// Calls it; the number of results, 0 if that failed.
static size_t call(WeftProgram *program, const Program *p, WeftValue **results) {
    WeftValue *arg;
    size_t count = weft_entry_result_count(program, 0);
    if (weft_values_read(program, 0, "in", p->input, strlen(p->input), &arg, 1) !=
        WEFT_STATUS_OK)
        return 0;
    WeftStatus status = weft_call(program, 0, &arg, 1, results, count);
    weft_value_free(arg);
    return status == WEFT_STATUS_OK ? count : 0;
}

// The same program, interpreted, gives the same.
static void compare(const Program *p, WeftValue *const *found, size_t count) {
    WeftContext *context = open_context(WEFT_ENGINE_INTERP, 1);
    WeftProgram *program = compile(context, p);
    WeftValue *expected[2];
    CHECK(call(program, p, expected) == count);
    for (size_t i = 0; i < count; i++) {
        const char *x = "", *y = NULL;
        CHECK(weft_value_text(found[i], &x) == WEFT_STATUS_OK);
        CHECK(weft_value_text(expected[i], &y) == WEFT_STATUS_OK && strcmp(x, y) == 0);
    }
    CHECK(weft_testing_context_free(context) == 0);
}

static void test(const Program *p) {
    WeftContext *context =
        open_context(WEFT_ENGINE_NATIVE, p->threads > 0 ? p->threads : 1);
    WeftProgram *program = compile(context, p);
    WeftValue *results[2];
    for (int round = 0; round < 3; round++) {
        uint64_t made = context->heap.made, bytes = context->heap.made_bytes;
        uint64_t copied = context->heap.copied, blocks = context->mem.blocks;
        size_t count = call(program, p, results);
        made = context->heap.made - made;
        bytes = context->heap.made_bytes - bytes;
        copied = context->heap.copied - copied;
        size_t most = context->places[0].team->root_most;
        CHECK(count > 0);
        bool is_as_said = made == p->made && bytes == p->bytes && copied == p->copied &&
                          most == p->most;
        if (!is_as_said)
            printf("%s: %llu arrays of %llu bytes, %llu copies, %zu private\n", p->name,
                   (unsigned long long)made, (unsigned long long)bytes,
                   (unsigned long long)copied, most);
        CHECK(is_as_said);
        if (round == 2 && context->mem.spare > 0) CHECK(context->mem.blocks == blocks);
        if (round == 0) compare(p, results, count);
        for (size_t i = 0; i < count; i++) weft_value_free(results[i]);
    }
    CHECK(weft_testing_context_free(context) == 0);
}

// Where there is a ceiling it is for what is kept that there has to be memory.
static void test_ceiling(void) {
    static const char text[] =
        "entry main (n: i64) (k: i64) = filter (\\x -> x % k == 1) (iota n)";
    WeftOptions options = {.struct_size = sizeof options,
                           .engine = WEFT_ENGINE_NATIVE,
                           .threads = 1,
                           .memory_ceiling = 20 << 20};
    WeftContext *context = NULL;
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    WeftProgram *program = compile(context, &(Program){.name = "kept", .text = text});
    static const char *const inputs[] = {"8000000 16", "8000000 2", "8000000 3"};
    for (size_t i = 0; i < 3; i++) {
        WeftValue *args[2], *result;
        WeftStatus wanted = i == 0 ? WEFT_STATUS_OK : WEFT_STATUS_MEMORY;
        CHECK(weft_values_read(program, 0, "in", inputs[i], strlen(inputs[i]), args,
                               2) == WEFT_STATUS_OK);
        CHECK(weft_call(program, 0, args, 2, &result, 1) == wanted);
        if (i == 0) weft_value_free(result);
        weft_value_free(args[0]);
        weft_value_free(args[1]);
    }
    CHECK(weft_memory_peak(context) <= 20 << 20);
    CHECK(weft_testing_context_free(context) == 0);
}

int main(void) {
    test_ceiling();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) test(&programs[i]);
    return test_done();
}
