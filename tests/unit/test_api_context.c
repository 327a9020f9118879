// SPDX-License-Identifier: Apache-2.0
//
// What a context does beside compiling and calling: callbacks and what they may do,
// imports from memory, test blocks, devices, the lock; and NULL for every handle.
#define _XOPEN_SOURCE 700
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/testing.h"
#include "test.h"
#include "weft.h"

// What the callbacks have seen.
typedef struct Seen {
    WeftContext *context;
    WeftValue *to_free;
    int notes, traces, progress, imports, releases;
    bool cancels;
    double least, most, seconds;
    char file[100], activity[100], text[200], traced[100];
    uint32_t line;
    WeftStatus called_back;
} Seen;

static void see_log(void *data, WeftSeverity level, const char *text) {
    Seen *seen = data;
    CHECK(level == WEFT_SEVERITY_NOTE || level == WEFT_SEVERITY_WARNING);
    seen->notes += level == WEFT_SEVERITY_NOTE;
    snprintf(seen->text, sizeof seen->text, "%s", text);
}

static void see_progress(void *data, const WeftProgress *progress) {
    Seen *seen = data;
    snprintf(seen->activity, sizeof seen->activity, "%s", progress->activity);
    snprintf(seen->file, sizeof seen->file, "%s",
             progress->file == NULL ? "" : progress->file);
    seen->line = progress->line;
    seen->seconds = progress->seconds;
    double fraction = progress->fraction; // another engine begins anew
    if (seen->progress == 0 || fraction < seen->least) seen->least = fraction;
    if (seen->progress == 0 || fraction > seen->most) seen->most = fraction;
    bool has_moved = seen->most > seen->least || seen->most < 0;
    if (++seen->progress >= 3 && has_moved && seen->cancels) weft_cancel(seen->context);
}

// A trace calls back, which is refused, and frees, which waits.
static void see_trace(void *data, const char *text) {
    Seen *seen = data;
    WeftProgram *program;
    seen->traces++;
    snprintf(seen->traced, sizeof seen->traced, "%s", text);
    seen->called_back = weft_program_from_source(seen->context, "x", "", 0, &program);
    weft_value_free(seen->to_free);
    seen->to_free = NULL;
    CHECK(weft_memory_used(seen->context) > 0);
    CHECK(strstr(weft_render(seen->context, 0), "callback") != NULL);
}

static int give_import(void *data, const char *path, const char **text,
                       size_t *length) {
    static const struct {
        const char *path, *text;
    } files[] = {
        {"shapes/circle", "import \"util\" def area (r: f64): f64 = 3 * square r"},
        {"shapes/util", "def square (x: f64): f64 = x * x"},
        {"wrong", "def x = + 1"},
    };
    Seen *seen = data;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(path, files[i].path) != 0) continue;
        *length = strlen(files[i].text); // not terminated there
        char *copy = malloc(*length);
        memcpy(copy, files[i].text, *length);
        *text = copy;
        seen->imports++;
        return 1;
    }
    return 0;
}

static void release_import(void *data, const char *text, size_t length) {
    (void)length;
    ((Seen *)data)->releases++;
    free((char *)text);
}

static WeftContext *open_context(Seen *seen) {
    WeftOptions options = {.struct_size = sizeof options,
                           .trace = see_trace,
                           .data = seen,
                           .log = see_log,
                           .progress = see_progress,
                           .import = give_import,
                           .import_release = release_import,
                           .engine = WEFT_ENGINE_INTERP};
    *seen = (Seen){0};
    CHECK(weft_context_new(&options, &seen->context) == WEFT_STATUS_OK);
    return seen->context;
}

static WeftProgram *compile(WeftContext *context, const char *text) {
    WeftProgram *program = NULL;
    WeftStatus status =
        weft_program_from_source(context, "main.weft", text, strlen(text), &program);
    if (status != WEFT_STATUS_OK) fputs(weft_render(context, 0), stdout);
    CHECK(status == WEFT_STATUS_OK);
    return program;
}

static WeftValue *number(WeftContext *context, int64_t n) {
    WeftValue *value = NULL;
    CHECK(weft_value_new(context, WEFT_I64, 0, NULL, &n, &value) == WEFT_STATUS_OK);
    return value;
}

// ---- callbacks ----------------------------------------------------------------------

static void test_imports(void) {
    Seen seen;
    WeftContext *context = open_context(&seen);
    WeftProgram *program = compile(
        context, "import \"shapes/circle\" import \"shapes/circle\" def main = area 2");
    CHECK(seen.imports == 2 && seen.releases == 2 && seen.notes == 1);
    CHECK(strstr(seen.text, "compiled main.weft") != NULL);
    WeftValue *result;
    double area;
    CHECK(weft_call(program, 0, NULL, 0, &result, 1) == WEFT_STATUS_OK);
    CHECK(weft_value_copy(result, &area, sizeof area) == WEFT_STATUS_OK && area == 12);
    CHECK(seen.notes == 2 && strstr(seen.text, "called main") != NULL);
    // A mistake in an import is shown in it; what is nowhere is an error.
    static const char wrong[] = "import \"wrong\"", none[] = "import \"none\"";
    CHECK(weft_program_from_source(context, "main.weft", wrong, sizeof wrong - 1,
                                   &program) == WEFT_STATUS_PROGRAM);
    CHECK(strstr(weft_message(context), "wrong.weft:1:") != NULL);
    CHECK(weft_program_from_source(context, "main.weft", none, sizeof none - 1,
                                   &program) == WEFT_STATUS_PROGRAM);
    CHECK(seen.imports == 3 && seen.releases == 3);
    CHECK(weft_testing_context_free(context) == 0);
}

static void test_trace(void) {
    Seen seen;
    WeftContext *context = open_context(&seen);
    WeftProgram *program =
        compile(context, "entry main (x: i64): i64 = #[trace] (x + 1)");
    WeftValue *arg = number(context, 4), *result;
    CHECK(weft_value_random(context, "[1000000]u8", 1, &seen.to_free) ==
          WEFT_STATUS_OK);
    size_t before = weft_memory_used(context);
    CHECK(weft_call(program, 0, &arg, 1, &result, 1) == WEFT_STATUS_OK);
    CHECK(seen.traces == 1 && strstr(seen.traced, ": 5i64") != NULL);
    CHECK(seen.called_back == WEFT_STATUS_USAGE);
    weft_value_free(result);
    CHECK(weft_memory_used(context) < before - 900000); // it went as the call ended
    // Even its own argument and program.
    seen.to_free = arg;
    CHECK(weft_call(program, 0, &arg, 1, &result, 1) == WEFT_STATUS_OK);
    weft_program_free(program);
    int64_t found;
    CHECK(weft_value_copy(result, &found, sizeof found) == WEFT_STATUS_OK &&
          found == 5);
    CHECK(weft_testing_context_free(context) == 0);
}

// Each takes long enough to be told of, however fast the machine: it is cancelled then.
static void test_progress(void) {
    static const struct {
        const char *text;
        uint32_t line;
        bool is_known;
    } cases[] = {
        {"def main (n: i64): i64 =\n"
         "  loop x = 0 for i < n do\n"
         "    loop y = x for j < 1000 do y + i * j",
         2, true},
        {"def main (n: i64): i64 =\n  loop x = 0 while x < n do x + 1", 2, false},
        {"def main (n: i64): []i64 =\n"
         "  map (\\i -> loop x = i for j < 100000 do x ^ j) (iota (n / 1000000))",
         2, true},
        {"def main (n: i64): i64 =\n"
         "  reduce (\\x y -> loop z = x for j < 100000 do z ^ (y + j)) 0\n"
         "    (iota (n / 1000000))",
         2, true},
        {"def main (n: i64): []i64 =\n  scan (\\x y -> x ^ y) 0 (iota (n / 100000))\n"
         "  |> map (\\x -> loop y = x for j < 100000 do y ^ j)",
         0, true},
        {"def main (n: i64): []i64 =\n  i64.sort (iota (n / 100000))", 2, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Seen seen;
        WeftContext *context = open_context(&seen);
        WeftProgram *program = compile(context, cases[i].text);
        WeftValue *arg = number(context, 1000000000000), *result = NULL;
        seen.cancels = true;
        WeftStatus status = weft_call(program, 0, &arg, 1, &result, 1);
        CHECK(status == WEFT_STATUS_CANCELLED && result == NULL);
        CHECK(seen.progress >= 3 && strcmp(seen.activity, "running") == 0);
        CHECK(strcmp(seen.file, "main.weft") == 0 && seen.seconds >= 0.3);
        CHECK(cases[i].line == 0 || seen.line == cases[i].line);
        if (cases[i].is_known) {
            CHECK(seen.least >= 0 && seen.most <= 1 && seen.most > seen.least);
        } else {
            CHECK(seen.most < 0);
        }
        CHECK(weft_testing_context_free(context) == 0);
    }
}

// ---- test blocks --------------------------------------------------------------------

static const char blocks[] =
    "-- ==\n"
    "-- entry: main twice\n"
    "-- input { 3 } output { 4 }\n"
    "-- \"big\" nobench input { 10 }\n"
    "-- notest input { 1 } error: never\n"
    "def main (x: i64): i64 = x + 1\n"
    "entry twice (x: i64): i64 = 2 * x\n"
    "\n"
    "-- ==\n"
    "-- entry: sum\n"
    "-- random input { [100]i64 [3]bool }\n"
    "-- script input { (iota 4, [true, false]) } output { 6 }\n"
    "-- input @ sum.in\n"
    "-- output @ sum.out\n"
    "-- random input { bananas }\n"
    "entry sum (xs: []i64) (_: []bool): i64 = i64.sum xs\n"
    "-- ==\n"
    "-- structure { reduce 1\n"
    "--   map 0 }\n"
    "\n"
    "-- ==\n"
    "-- structure { add 7 }\n"
    "\n"
    "-- ==\n";

static void write_file(const char *folder, const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static WeftTest info(const WeftTests *tests, size_t i) {
    WeftTest test = {.struct_size = sizeof test};
    CHECK(weft_test_info(tests, i, &test) == WEFT_STATUS_OK);
    return test;
}

static void test_blocks(void) {
    char folder[] = "/tmp/weft-api-XXXXXX", path[200];
    CHECK(mkdtemp(folder) != NULL);
    write_file(folder, "t.weft", blocks);
    write_file(folder, "sum.in", "[1, 2, 39] [true]");
    write_file(folder, "sum.out", "42");
    write_file(folder, "wrong.weft", "\n-- ==\n-- input { 1\n");
    write_file(folder, "none.weft", "-- nothing\n");
    snprintf(path, sizeof path, "%s/t.weft", folder);
    Seen seen;
    WeftContext *context = open_context(&seen);
    WeftTests *tests = NULL;
    WeftProgram *program;
    CHECK(weft_tests_from_file(context, path, &tests) == WEFT_STATUS_OK);
    CHECK(weft_program_from_file(context, path, &program) == WEFT_STATUS_OK);
    CHECK(weft_test_count(tests) == 13);
    WeftTest test = info(tests, 1);
    CHECK(test.kind == WEFT_TEST_CALL && strcmp(test.entry, "twice") == 0);
    CHECK(test.line == 3 && strcmp(test.input, " 3 ") == 0 && test.has_output);
    CHECK(test.label == NULL && test.error == NULL && !test.only_test);
    test = info(tests, 2);
    CHECK(strcmp(test.label, "big") == 0 && test.only_test && !test.has_output);
    test = info(tests, 4);
    CHECK(test.only_bench && strcmp(test.error, "never") == 0 && test.label == NULL);
    CHECK(strcmp(info(tests, 8).input, "@ sum.in") == 0);
    CHECK(info(tests, 12).kind == WEFT_TEST_COMPILES && info(tests, 12).entry == NULL);
    CHECK(info(tests, 10).kind == WEFT_TEST_STRUCTURE);
    CHECK(weft_test_structure(tests, 10) == WEFT_STATUS_OK);
    CHECK(weft_test_structure(tests, 11) == WEFT_STATUS_VALUE);
    CHECK(strstr(weft_message(context), "expected `add 7` after all") != NULL);
    CHECK(weft_test_structure(tests, 12) == WEFT_STATUS_USAGE);
    CHECK(weft_test_structure(NULL, 0) == WEFT_STATUS_USAGE);
    // An older caller's struct is shorter.
    WeftTest brief = {.struct_size = offsetof(WeftTest, entry), .entry = "mine"};
    CHECK(weft_test_info(tests, 0, &brief) == WEFT_STATUS_OK && brief.line == 3);
    CHECK(strcmp(brief.entry, "mine") == 0);
    brief.struct_size = 0;
    CHECK(weft_test_info(tests, 0, &brief) == WEFT_STATUS_USAGE);

    WeftValue *args[2], *expected[1], *result[1];
    size_t sum = weft_entry_find(program, "sum");
    for (size_t i = 6; i < 9; i++) {
        WeftStatus status = weft_test_arguments(tests, i, program, args, 2);
        if (status != WEFT_STATUS_OK) fputs(weft_render(context, 0), stdout);
        CHECK(status == WEFT_STATUS_OK);
        if (status != WEFT_STATUS_OK) continue;
        CHECK(weft_call(program, sum, args, 2, result, 1) == WEFT_STATUS_OK);
        CHECK(weft_value_shape(args[0])[0] == (i == 6 ? 100 : i == 7 ? 4 : 3));
        if (info(tests, i).has_output) {
            int is_equal = 0;
            CHECK(weft_test_results(tests, i, program, expected, 1) == WEFT_STATUS_OK);
            CHECK(weft_value_equal(result[0], expected[0], 0, &is_equal) ==
                  WEFT_STATUS_OK);
            CHECK(is_equal);
            weft_value_free(expected[0]);
        }
        for (int k = 0; k < 2; k++) weft_value_free(args[k]);
        weft_value_free(result[0]);
    }
    CHECK(weft_test_arguments(tests, 9, program, args, 2) == WEFT_STATUS_VALUE);
    CHECK(strstr(weft_message(context), "bananas") != NULL);
    CHECK(weft_test_arguments(tests, 6, program, args, 1) == WEFT_STATUS_USAGE);
    CHECK(weft_test_arguments(tests, 10, program, args, 0) == WEFT_STATUS_USAGE);
    CHECK(weft_test_arguments(tests, 99, program, args, 2) == WEFT_STATUS_USAGE);
    CHECK(weft_test_results(tests, 6, program, expected, 1) == WEFT_STATUS_USAGE);
    CHECK(weft_test_info(tests, 99, &test) == WEFT_STATUS_USAGE);
    weft_tests_free(tests);
    snprintf(path, sizeof path, "%s/wrong.weft", folder);
    tests = NULL;
    CHECK(weft_tests_from_file(context, path, &tests) == WEFT_STATUS_VALUE);
    CHECK(strstr(weft_message(context), "wrong.weft:3:1: the `{`") != NULL);
    CHECK(weft_tests_from_file(context, "/no/such", &tests) == WEFT_STATUS_IO);
    CHECK(tests == NULL && weft_test_count(tests) == 0);
    snprintf(path, sizeof path, "%s/none.weft", folder);
    CHECK(weft_tests_from_file(context, path, &tests) == WEFT_STATUS_OK);
    CHECK(weft_test_count(tests) == 0); // and the context frees it
    CHECK(weft_testing_context_free(context) == 0);
    const char *names[] = {"t.weft", "sum.in", "sum.out", "wrong.weft", "none.weft"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CHECK(unlink(path) == 0);
    }
    CHECK(rmdir(folder) == 0);
}

// ---- the rest -----------------------------------------------------------------------

static void test_devices(void) {
    Seen seen;
    WeftContext *context = open_context(&seen);
    CHECK(weft_device_count(context) >= 1);
    WeftDevice device = {.struct_size = sizeof device};
    CHECK(weft_device_info(context, 0, &device) == WEFT_STATUS_OK);
    CHECK(device.kind == WEFT_DEVICE_CPU && strcmp(device.address, "cpu") == 0);
    CHECK(device.name[0] != '\0' && strchr(device.name, '\n') == NULL);
    CHECK(device.cores >= 1 && device.memory > 1 << 20);
    size_t none = weft_device_count(context);
    CHECK(weft_device_info(context, none, &device) == WEFT_STATUS_USAGE);
    device.struct_size = 0;
    CHECK(weft_device_info(context, 0, &device) == WEFT_STATUS_USAGE);
    // The lock counts.
    weft_context_lock(context);
    weft_context_lock(context);
    WeftProgram *program;
    CHECK(weft_program_from_source(context, "x", "?", 1, &program) ==
          WEFT_STATUS_PROGRAM);
    CHECK(weft_message(context)[0] != '\0');
    weft_context_unlock(context);
    weft_context_unlock(context);
    CHECK(weft_testing_context_free(context) == 0);
}

static void count_warnings(void *data, WeftSeverity level, const char *text) {
    (void)text;
    *(int *)data += level == WEFT_SEVERITY_WARNING;
}

// Many short calls are worth a compiler, which here is none, as is one long call.
static void test_many_calls(void) {
    int warnings = 0;
    WeftOptions options = {
        .struct_size = sizeof options, .log = count_warnings, .data = &warnings};
    WeftContext *context;
    setenv("WEFT_CC", "/no/compiler", 1);
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    WeftProgram *program =
        compile(context,
                "entry main (n: i64): i64 = i64.sum (map (\\i -> i * i % 7) (iota n))");
    WeftValue *n = number(context, 10000), *result;
    for (int call = 0; call < 100000 && warnings == 0; call++) {
        CHECK(weft_call(program, 0, &n, 1, &result, 1) == WEFT_STATUS_OK);
        weft_value_free(result);
        if (call == 0) CHECK(warnings == 0);
    }
    CHECK(warnings == 1);
    weft_value_free(n);
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
    unsetenv("WEFT_CC");
}

static void test_null(void) {
    Seen seen;
    WeftContext *context = open_context(&seen);
    WeftProgram *program = compile(context, "def main (x: i64) = x");
    WeftValue *value = number(context, 1), *out = value;
    WeftTests *tests;
    WeftTest test = {.struct_size = sizeof test};
    WeftDevice device = {.struct_size = sizeof device};
    WeftDiagnostic diagnostic;
    const char *text;
    size_t length;
    int flag;
    const WeftStatus usage[] = {
        weft_program_from_file(NULL, "x", &program),
        weft_program_from_file(context, NULL, &program),
        weft_program_from_file(context, "x", NULL),
        weft_program_from_source(context, "x", NULL, 1, &program),
        weft_format(NULL, "x", "", 0, &text, &length),
        weft_format(context, "x", NULL, 1, &text, &length),
        weft_format(context, "x", "", 0, NULL, &length),
        weft_format(context, "x", "", 0, &text, NULL),
        weft_diagnostic(NULL, 0, &diagnostic),
        weft_diagnostic(context, 0, NULL),
        weft_values_read(NULL, 0, "x", "", 0, &out, 1),
        weft_values_read(program, 0, "x", NULL, 1, &out, 1),
        weft_values_read(program, 0, "x", "1", 1, NULL, 1),
        weft_value_read(NULL, 0, 0, "x", "1", 1, &out),
        weft_value_read(program, 0, 0, "x", NULL, 1, &out),
        weft_value_read(program, 0, 0, "x", "1", 1, NULL),
        weft_value_read(program, 0, 1, "x", "1", 1, &out),
        weft_value_new(NULL, WEFT_I64, 0, NULL, &length, &out),
        weft_value_new(context, WEFT_I64, 0, NULL, &length, NULL),
        weft_value_new(context, WEFT_I64, 0, NULL, NULL, &out),
        weft_value_new(context, WEFT_I64, 1, NULL, &length, &out),
        weft_value_copy(NULL, &length, 8),
        weft_value_copy(value, NULL, 8),
        weft_value_print(NULL, WEFT_FORMAT_TEXT, NULL, NULL),
        weft_value_print(value, WEFT_FORMAT_TEXT, NULL, NULL),
        weft_value_text(NULL, &text),
        weft_value_text(value, NULL),
        weft_value_from_file(NULL, "x.npy", &out),
        weft_value_from_file(context, NULL, &out),
        weft_value_from_file(context, "x.npy", NULL),
        weft_argument_from_file(NULL, 0, 0, "x.npy", &out),
        weft_argument_from_file(program, 0, 0, NULL, &out),
        weft_argument_from_file(program, 0, 0, "x.npy", NULL),
        weft_argument_from_file(program, 0, 9, "x.npy", &out),
        weft_value_to_file(NULL, "x.npy"),
        weft_value_to_file(value, NULL),
        weft_value_random(NULL, "i32", 1, &out),
        weft_value_random(context, NULL, 1, &out),
        weft_value_random(context, "i32", 1, NULL),
        weft_value_random(context, "[-1]i32", 1, &out),
        weft_call(program, 0, NULL, 1, &out, 1),
        weft_call(program, 0, &value, 1, NULL, 1),
        weft_tests_from_file(NULL, "x", &tests),
        weft_tests_from_file(context, NULL, &tests),
        weft_tests_from_file(context, "x", NULL),
        weft_test_info(NULL, 0, &test),
        weft_test_arguments(NULL, 0, program, &out, 1),
        weft_test_results(NULL, 0, program, &out, 1),
        weft_device_info(NULL, 0, &device),
        weft_device_info(context, 0, NULL),
        weft_value_equal(value, value, 0, NULL),
        weft_value_equal(value, NULL, 0, &flag),
    };
    for (size_t i = 0; i < sizeof usage / sizeof usage[0]; i++) {
        if (usage[i] != WEFT_STATUS_USAGE) printf("number %zu: %d\n", i, (int)usage[i]);
        CHECK(usage[i] == WEFT_STATUS_USAGE);
    }
    CHECK(out == value);
    CHECK(weft_memory_used(NULL) == 0 && weft_memory_peak(NULL) == 0);
    CHECK(weft_diagnostic_count(NULL) == 0 && weft_message(NULL)[0] != '\0');
    CHECK(weft_value_type(NULL) == NULL && !weft_value_is_array(NULL));
    CHECK(weft_value_rank(NULL) == 0 && weft_value_shape(NULL) == NULL);
    CHECK(weft_value_element(NULL) == WEFT_BOOL && !weft_path_is_file(NULL));
    CHECK(weft_entry_name(NULL, 0) == NULL && weft_entry_doc(NULL, 0) == NULL);
    CHECK(weft_entry_parameter_count(NULL, 0) == 0);
    CHECK(weft_entry_result_count(NULL, 0) == 0);
    CHECK(weft_entry_parameter_name(NULL, 0, 0) == NULL);
    CHECK(weft_entry_parameter_type(NULL, 0, 0) == NULL);
    CHECK(weft_entry_result_type(NULL, 0, 0) == NULL);
    CHECK(weft_device_count(NULL) == 0);
    CHECK(strcmp(weft_status_text((WeftStatus)99), "unknown status") == 0);
    weft_tests_free(NULL);
    weft_context_lock(NULL);
    weft_context_unlock(NULL);
    CHECK(weft_testing_context_free(context) == 0);
}

int main(void) {
    test_imports();
    test_trace();
    test_progress();
    test_blocks();
    test_devices();
    test_many_calls();
    test_null();
    return test_done();
}
