// SPDX-License-Identifier: Apache-2.0
//
// The public API as a host uses it: statuses, ownership, messages, values, threads of
// control that go wrong.
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/testing.h"
#include "test.h"
#include "weft.h"

static const char dot[] =
    "-- | The inner product.\n"
    "entry dot [n] (xs: [n]f64) (ys: [n]f64) : f64 =\n"
    "  reduce (+) 0 (map2 (*) xs ys)\n"
    "entry nth [n] (xs: [n]i32) (i: i64) : i32 = xs[i]\n"
    "entry both (x: i32) : (i32, []bool) = (x + 1, [true, false])\n"
    "entry point (x: f32) : {x: f32, y: f32} = {x = x, y = 2}\n"
    "type shape = #dot | #line i32 | #box i32 i32\n"
    "entry pick (i: i32) : shape =\n"
    "  if i == 0 then #dot else if i == 1 then #line i else #box i 7\n"
    "entry measure (s: shape) : i32 =\n"
    "  match s case #dot -> 0 case #line n -> n case #box a b -> a * b\n"
    "entry far (p: {x: f32, y: f32}) : f32 = p.x + p.y\n"
    "entry rows (n: i64) : [](i64, bool) = map (\\i -> (i, i % 2 == 0)) (iota n)\n"
    "entry grid (n: i64) : [][]i64 = transpose (tabulate_2d n 3 (\\i j -> i * 10 + "
    "j))\n"
    "entry same [n] (xs: [n]f64) : [n]f64 = xs\n"
    "entry big (n: i64) : u8 = last (map (+ 1) (replicate n 1u8))\n";

static WeftContext *context;
static WeftProgram *program;
static int seen; // what a thread returns when all went well

static WeftContext *open_context(size_t ceiling) {
    WeftOptions options = {.struct_size = sizeof options, .memory_ceiling = ceiling};
    WeftContext *opened = NULL;
    CHECK(weft_context_new(&options, &opened) == WEFT_STATUS_OK);
    return opened;
}

// Calls an entry with arguments from text; compares what it prints, results on lines.
static void expect(const char *name, const char *input, const char *expected) {
    size_t entry = weft_entry_find(program, name);
    CHECK(entry != WEFT_NONE);
    if (entry == WEFT_NONE) return;
    WeftValue *args[4], *results[4];
    size_t arg_count = weft_entry_parameter_count(program, entry);
    size_t result_count = weft_entry_result_count(program, entry);
    WeftStatus status =
        weft_values_read(program, entry, "in", input, strlen(input), args, arg_count);
    char got[2000] = "";
    if (status == WEFT_STATUS_OK) {
        status = weft_call(program, entry, args, arg_count, results, result_count);
        for (size_t i = 0; i < arg_count; i++) weft_value_free(args[i]);
        for (size_t i = 0; status == WEFT_STATUS_OK && i < result_count; i++) {
            const char *text;
            CHECK(weft_value_text(results[i], &text) == WEFT_STATUS_OK);
            if (i > 0) strcat(got, "\n");
            strncat(got, text, sizeof got - strlen(got) - 1);
            weft_value_free(results[i]);
        }
    }
    if (status != WEFT_STATUS_OK) strncat(got, weft_message(context), sizeof got - 1);
    bool is_same = strcmp(got, expected) == 0;
    if (!is_same)
        printf("%s %s\n  expected %s\n  found    %s\n", name, input, expected, got);
    CHECK(is_same);
}

static void test_entries(void) {
    CHECK(weft_entry_count(program) == 11);
    size_t entry = weft_entry_find(program, "dot");
    CHECK(entry == 0);
    CHECK(strcmp(weft_entry_name(program, entry), "dot") == 0);
    CHECK(strcmp(weft_entry_doc(program, entry), "The inner product.") == 0);
    CHECK(weft_entry_parameter_count(program, entry) == 2);
    CHECK(strcmp(weft_entry_parameter_name(program, entry, 1), "ys") == 0);
    CHECK(strcmp(weft_entry_parameter_type(program, entry, 1), "[n]f64") == 0);
    CHECK(weft_entry_result_count(program, entry) == 1);
    CHECK(strcmp(weft_entry_result_type(program, entry, 0), "f64") == 0);
    CHECK(weft_entry_result_count(program, weft_entry_find(program, "both")) == 2);
    CHECK(weft_entry_find(program, "nothing") == WEFT_NONE);
    CHECK(weft_entry_find(program, NULL) == WEFT_NONE);
    CHECK(weft_entry_name(program, 99) == NULL);
    CHECK(weft_entry_parameter_name(program, 0, 9) == NULL);
    CHECK(weft_entry_count(NULL) == 0);
}

static void test_calls(void) {
    expect("dot", "[1, 2, 3] [4, 5, 6]", "32.0f64");
    expect("both", "41", "42i32\n[true, false]");
    expect("point", "1.5", "{x = 1.5f32, y = 2.0f32}");
    expect("far", "{x = 1, y = 2.5}", "3.5f32");
    expect("far", "1 2.5", "3.5f32");
    expect("pick", "0", "#dot");
    expect("pick", "1", "#line 1i32");
    expect("pick", "3", "#box 3i32 7i32");
    expect("measure", "#box 3 4", "12i32");
    expect("measure", "(#line 5)", "5i32");
    expect("measure", "#dot", "0i32");
    expect("rows", "3", "[(0i64, true), (1i64, false), (2i64, true)]");
    expect("rows", "0", "[]");
    expect("grid", "2", "[[0i64, 10i64], [1i64, 11i64], [2i64, 12i64]]");
    expect("same", "empty([0]f64)", "empty([0]f64)");
    expect("dot", "[1] [2, x]", "in:1:9: expected an f64, found `x`");
    expect("dot", "[1]", "in:1:4: expected 2 values, found only 1");
    expect("dot", "[1] [2] [3]", "in:1:9: expected 2 values, found more");
    expect("dot", "", "in:1:1: expected 2 values, found only 0");
}

static void test_run_time_error(void) {
    size_t entry = weft_entry_find(program, "nth");
    WeftValue *args[2], *result = NULL;
    CHECK(weft_values_read(program, entry, "in", "[1, 2] 7", 8, args, 2) ==
          WEFT_STATUS_OK);
    CHECK(weft_call(program, entry, args, 2, &result, 1) == WEFT_STATUS_RUNTIME);
    CHECK(result == NULL);
    CHECK(weft_diagnostic_count(context) == 1);
    WeftDiagnostic found;
    CHECK(weft_diagnostic(context, 0, &found) == WEFT_STATUS_OK);
    CHECK(found.file != NULL && strcmp(found.file, "dot.weft") == 0);
    CHECK(found.line == 4);
    CHECK(strstr(found.message, "7") != NULL);
    CHECK(strstr(weft_render(context, 0), "dot.weft:4:") != NULL);
    CHECK(strstr(weft_render(context, 0), "^") != NULL);
    CHECK(strstr(weft_render(context, 1), "\033[") != NULL);
    CHECK(strstr(weft_message(context), "dot.weft:4:") != NULL);
    CHECK(weft_diagnostic(context, 1, &found) == WEFT_STATUS_USAGE);
    // The arguments are as they were.
    const char *text;
    CHECK(weft_value_text(args[0], &text) == WEFT_STATUS_OK);
    CHECK(strcmp(text, "[1i32, 2i32]") == 0);
    weft_value_free(args[0]);
    weft_value_free(args[1]);
}

static void test_values(void) {
    static const double numbers[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t shape[2] = {2, 3}, bad[1] = {-1};
    WeftValue *value, *results[1];
    double back[6];
    CHECK(weft_value_new(context, WEFT_F64, 2, shape, numbers, &value) ==
          WEFT_STATUS_OK);
    CHECK(strcmp(weft_value_type(value), "[][]f64") == 0);
    CHECK(weft_value_is_array(value) && weft_value_rank(value) == 2);
    CHECK(weft_value_element(value) == WEFT_F64);
    CHECK(weft_value_shape(value)[1] == 3);
    CHECK(weft_value_copy(value, back, sizeof back) == WEFT_STATUS_OK);
    CHECK(memcmp(back, numbers, sizeof back) == 0);
    CHECK(weft_value_copy(value, back, 8) == WEFT_STATUS_USAGE);
    CHECK(strstr(weft_message(context), "48 bytes") != NULL);
    // A value of the wrong type, too few, none.
    size_t entry = weft_entry_find(program, "same");
    CHECK(weft_call(program, entry, &value, 1, results, 1) == WEFT_STATUS_VALUE);
    CHECK(weft_call(program, entry, &value, 0, results, 1) == WEFT_STATUS_USAGE);
    WeftValue *none = NULL;
    CHECK(weft_call(program, entry, &none, 1, results, 1) == WEFT_STATUS_USAGE);
    CHECK(weft_call(program, 99, &value, 1, results, 1) == WEFT_STATUS_USAGE);
    weft_value_free(value);
    CHECK(weft_value_new(context, WEFT_F64, 1, bad, numbers, &value) ==
          WEFT_STATUS_USAGE);
    CHECK(weft_value_new(context, WEFT_F64, 99, shape, numbers, &value) ==
          WEFT_STATUS_USAGE);
    CHECK(weft_value_new(context, (WeftScalar)77, 0, NULL, numbers, &value) ==
          WEFT_STATUS_USAGE);
    // What comes back may be the argument itself; each has its own life.
    CHECK(weft_value_new(context, WEFT_F64, 1, shape, numbers, &value) ==
          WEFT_STATUS_OK);
    CHECK(weft_call(program, entry, &value, 1, results, 1) == WEFT_STATUS_OK);
    weft_value_free(value);
    CHECK(weft_value_copy(results[0], back, 16) == WEFT_STATUS_OK && back[1] == 2);
    weft_value_free(results[0]);
    // A view is copied in row-major order.
    entry = weft_entry_find(program, "grid");
    int64_t two = 2, grid[6];
    CHECK(weft_value_new(context, WEFT_I64, 0, NULL, &two, &value) == WEFT_STATUS_OK);
    CHECK(weft_call(program, entry, &value, 1, results, 1) == WEFT_STATUS_OK);
    CHECK(weft_value_copy(results[0], grid, sizeof grid) == WEFT_STATUS_OK);
    CHECK(grid[1] == 10 && grid[4] == 2);
    weft_value_free(results[0]);
    weft_value_free(value);
}

static int refuse(void *data, const char *bytes, size_t length) {
    (void)data, (void)bytes, (void)length;
    return 1;
}

static int count_bytes(void *data, const char *bytes, size_t length) {
    (void)bytes;
    *(size_t *)data += length;
    return 0;
}

static void test_printing(void) {
    WeftValue *arg, *results[2];
    size_t bytes = 0, entry = weft_entry_find(program, "pick");
    CHECK(weft_values_read(program, entry, "in", "1", 1, &arg, 1) == WEFT_STATUS_OK);
    CHECK(weft_value_print(arg, WEFT_FORMAT_BINARY, count_bytes, &bytes) ==
          WEFT_STATUS_OK);
    CHECK(bytes == 11);
    CHECK(weft_value_print(arg, WEFT_FORMAT_TEXT, refuse, NULL) == WEFT_STATUS_IO);
    CHECK(weft_call(program, entry, &arg, 1, results, 1) == WEFT_STATUS_OK);
    CHECK(weft_value_print(results[0], WEFT_FORMAT_BINARY, count_bytes, &bytes) ==
          WEFT_STATUS_USAGE);
    CHECK(!weft_value_is_array(results[0]));
    CHECK(weft_value_shape(results[0]) == NULL);
    // The sum can be handed on, and outlives a free of its program.
    size_t measure = weft_entry_find(program, "measure");
    CHECK(weft_call(program, measure, results, 1, &results[1], 1) == WEFT_STATUS_OK);
    const char *text;
    CHECK(weft_value_text(results[1], &text) == WEFT_STATUS_OK);
    CHECK(strcmp(text, "1i32") == 0);
    weft_value_free(results[1]);
    weft_value_free(results[0]);
    weft_value_free(arg);
}

static void test_wrong_programs(void) {
    static const char wrong[] = "entry main (x: i32) : i32 = x + y\n"
                                "entry other (x: bool) : i32 = x\n";
    WeftProgram *none = NULL;
    CHECK(weft_program_from_source(context, "wrong.weft", wrong, sizeof wrong - 1,
                                   &none) == WEFT_STATUS_PROGRAM);
    CHECK(none == NULL);
    CHECK(weft_diagnostic_count(context) == 2);
    WeftDiagnostic found;
    CHECK(weft_diagnostic(context, 0, &found) == WEFT_STATUS_OK);
    CHECK(found.severity == WEFT_SEVERITY_ERROR && found.line == 1);
    CHECK(found.column == 33 && found.end_column == 34);
    CHECK(strstr(weft_render(context, 0), "wrong.weft:2:") != NULL);
    CHECK(strstr(weft_message(context), "and 1 more") != NULL);
    CHECK(weft_program_from_file(context, "/no/such/file.weft", &none) ==
          WEFT_STATUS_IO);
    CHECK(strstr(weft_message(context), "/no/such/file.weft") != NULL);
    CHECK(weft_diagnostic_count(context) == 0);
    CHECK(weft_program_from_file(context, "/", &none) == WEFT_STATUS_IO);
    CHECK(weft_program_from_source(context, "x", NULL, 0, &none) == WEFT_STATUS_OK);
    CHECK(weft_entry_count(none) == 0);
    weft_program_free(none);
    static const char imports[] = "import \"other\"";
    CHECK(weft_program_from_source(context, "x", imports, sizeof imports - 1, &none) ==
          WEFT_STATUS_PROGRAM);
}

static void test_usage(void) {
    WeftProgram *none;
    WeftOptions unsized = {0};
    WeftContext *other;
    CHECK(weft_context_new(&unsized, &other) == WEFT_STATUS_USAGE);
    CHECK(weft_context_new(NULL, NULL) == WEFT_STATUS_USAGE);
    CHECK(weft_program_from_source(NULL, "x", "", 0, &none) == WEFT_STATUS_USAGE);
    CHECK(weft_program_from_source(context, "x", "", 0, NULL) == WEFT_STATUS_USAGE);
    CHECK(weft_call(NULL, 0, NULL, 0, NULL, 0) == WEFT_STATUS_USAGE);
    CHECK(weft_value_text(NULL, NULL) == WEFT_STATUS_USAGE);
    CHECK(weft_values_read(program, 99, "x", "", 0, NULL, 0) == WEFT_STATUS_USAGE);
    weft_context_free(NULL);
    weft_program_free(NULL);
    weft_value_free(NULL);
    weft_cancel(NULL);
    CHECK(weft_render(NULL, 0)[0] != '\0');
    for (int s = WEFT_STATUS_OK; s <= WEFT_STATUS_CANCELLED; s++)
        CHECK(weft_status_text((WeftStatus)s)[0] != '\0');
    CHECK(weft_version()[0] != '\0');
}

static void test_cancel(void) {
    WeftValue *arg, *result;
    size_t entry = weft_entry_find(program, "both");
    CHECK(weft_values_read(program, entry, "in", "1", 1, &arg, 1) == WEFT_STATUS_OK);
    WeftValue *results[2];
    weft_cancel(context);
    CHECK(weft_call(program, entry, &arg, 1, results, 2) == WEFT_STATUS_CANCELLED);
    CHECK(weft_call(program, entry, &arg, 1, results, 2) == WEFT_STATUS_OK);
    result = results[0];
    weft_value_free(result);
    weft_value_free(results[1]);
    weft_value_free(arg);
}

// What the first call has prepared serves the others, also after one that failed.
static void test_again(void) {
    static const char text[] =
        "entry main (xs: []i64) (i: i64) : i64 =\n"
        "  (loop s = 0 for k < 5i64 do s * 10 + (map (+ 1) [2, 0, 3])[k % 3]) / xs[i]\n";
    WeftProgram *held;
    CHECK(weft_program_from_source(context, "again.weft", text, sizeof text - 1,
                                   &held) == WEFT_STATUS_OK);
    for (int i = 0; i < 6; i++) {
        WeftValue *args[2], *result;
        const char *input = i % 3 == 1 ? "[1, 2, 0] 2" : "[1, 2, 0] 1", *found;
        CHECK(weft_values_read(held, 0, "in", input, 11, args, 2) == WEFT_STATUS_OK);
        WeftStatus status = weft_call(held, 0, args, 2, &result, 1);
        CHECK(status == (i % 3 == 1 ? WEFT_STATUS_RUNTIME : WEFT_STATUS_OK));
        weft_value_free(args[0]);
        weft_value_free(args[1]);
        if (status != WEFT_STATUS_OK) continue;
        CHECK(weft_value_text(result, &found) == WEFT_STATUS_OK);
        CHECK(strcmp(found, "15715i64") == 0);
        weft_value_free(result);
    }
    weft_program_free(held);
}

static void test_ceiling(void) {
    WeftContext *small = open_context(48 << 20);
    WeftProgram *held;
    CHECK(weft_program_from_source(small, "dot.weft", dot, sizeof dot - 1, &held) ==
          WEFT_STATUS_OK);
    size_t before = weft_memory_used(small), entry = weft_entry_find(held, "big");
    WeftValue *arg, *result;
    CHECK(weft_values_read(held, entry, "in", "1000000000", 10, &arg, 1) ==
          WEFT_STATUS_OK);
    CHECK(weft_call(held, entry, &arg, 1, &result, 1) == WEFT_STATUS_MEMORY);
    CHECK(weft_message(small)[0] != '\0');
    weft_value_free(arg);
    CHECK(weft_values_read(held, entry, "in", "1000", 4, &arg, 1) == WEFT_STATUS_OK);
    CHECK(weft_call(held, entry, &arg, 1, &result, 1) == WEFT_STATUS_OK);
    weft_value_free(arg);
    weft_value_free(result);
    CHECK(weft_memory_used(small) <= before + (4 << 20)); // threads, and what is built
    CHECK(weft_memory_peak(small) <= 48 << 20);
    CHECK(weft_testing_context_free(small) == 0);
    // A value outlives its program, and everything goes with the context.
    small = open_context(0);
    CHECK(weft_program_from_source(small, "dot.weft", dot, sizeof dot - 1, &held) ==
          WEFT_STATUS_OK);
    entry = weft_entry_find(held, "pick");
    CHECK(weft_values_read(held, entry, "in", "1", 1, &arg, 1) == WEFT_STATUS_OK);
    CHECK(weft_call(held, entry, &arg, 1, &result, 1) == WEFT_STATUS_OK);
    weft_program_free(held);
    const char *text;
    CHECK(weft_value_text(result, &text) == WEFT_STATUS_OK);
    CHECK(strcmp(text, "#line 1i32") == 0);
    CHECK(weft_testing_context_free(small) == 0);
}

// Several threads, first each with a context of its own, then all with one.
static void *call_often(void *data) {
    WeftProgram *called = data;
    WeftContext *own = NULL;
    size_t good = 0;
    if (called == NULL) {
        if (weft_context_new(NULL, &own) != WEFT_STATUS_OK) return NULL;
        if (weft_program_from_source(own, "dot.weft", dot, sizeof dot - 1, &called) !=
            WEFT_STATUS_OK)
            return NULL;
    }
    for (int i = 0; i < 200; i++) {
        WeftValue *arg, *results[2];
        size_t entry = weft_entry_find(called, "both");
        if (weft_values_read(called, entry, "in", "41", 2, &arg, 1) != WEFT_STATUS_OK)
            continue;
        int32_t x = 0;
        if (weft_call(called, entry, &arg, 1, results, 2) == WEFT_STATUS_OK &&
            weft_value_copy(results[0], &x, sizeof x) == WEFT_STATUS_OK)
            good += x == 42;
        weft_value_free(arg);
        weft_value_free(results[0]);
        weft_value_free(results[1]);
    }
    if (own != NULL) weft_context_free(own);
    return good == 200 ? &seen : NULL;
}

static void test_threads(void) {
    for (int shared = 0; shared < 2; shared++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&threads[i], NULL, call_often,
                                 shared ? program : NULL) == 0);
        for (int i = 0; i < 4; i++) {
            void *result;
            CHECK(pthread_join(threads[i], &result) == 0 && result == &seen);
        }
    }
}

int main(void) {
    context = open_context(0);
    if (weft_program_from_source(context, "dot.weft", dot, sizeof dot - 1, &program) !=
        WEFT_STATUS_OK) {
        fputs(weft_render(context, 0), stdout);
        CHECK(false);
        return test_done();
    }
    CHECK(weft_render(context, 0)[0] == '\0');
    test_entries();
    test_calls();
    test_run_time_error();
    test_values();
    test_printing();
    test_wrong_programs();
    test_usage();
    test_cancel();
    test_again();
    test_ceiling();
    test_threads();
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
    return test_done();
}
