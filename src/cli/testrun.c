// SPDX-License-Identifier: Apache-2.0
//
// One program's tests: compile once, then for every test make the arguments, call, and
// compare with what is expected. Where a test does not say what, that is what the
// reference interpreter makes of it, bit for bit.
#define _POSIX_C_SOURCE 200809L
#include "cli/testrun.h"

#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct Run {
    const char *path;
    const TestReport *report;
    WeftContext *context;
    WeftTests *tests;
    WeftProgram *program;
    WeftContext *oracle; // of the reference interpreter; NULL: not yet wanted
    WeftTests *oracle_tests;
    WeftProgram *oracle_program;
    WeftTest test; // the one at hand
    size_t index;
    char *message; // of the failure under construction
    size_t used;
} Run;

// ---- reporting ----------------------------------------------------------------------

enum { SHOWN = 400 }; // bytes of a value that a failure shows

static void say(Run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(Run *run, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    run->message = cli_resize(run->message, run->used + (size_t)len + 1);
    va_start(args, format);
    vsnprintf(run->message + run->used, (size_t)len + 1, format, args);
    va_end(args);
    run->used += (size_t)len;
}

// A line of the failure: what, and a text of which only so much is shown.
static void say_text(Run *run, const char *what, const char *text) {
    size_t len = strlen(text);
    while (len > 0 && strchr(" \n\t", text[len - 1]) != NULL) len--;
    while (len > 0 && strchr(" \n\t", *text) != NULL) text++, len--;
    bool is_long = len > SHOWN;
    while (is_long && len > SHOWN - 3 && (text[len - 1] & 0xc0) == 0x80) len--;
    if (is_long) len = SHOWN;
    say(run, "  %-9s ", what);
    for (size_t i = 0; i < len; i++) {
        say(run, "%c", text[i]);
        if (text[i] == '\n') say(run, "            ");
    }
    say(run, "%s\n", is_long ? "..." : "");
}

static void finish(Run *run) {
    run->report->result(run->report->data, run->used > 0 ? run->message : NULL);
    run->used = 0;
}

static void start_failure(Run *run) {
    const WeftTest *test = &run->test;
    say(run, "FAIL %s", run->path);
    if (test->entry != NULL) say(run, ":%u: %s", test->line, test->entry);
    if (test->label != NULL) say(run, " \"%s\"", test->label);
    say(run, "\n");
    if (test->input != NULL) say_text(run, "input:", test->input);
}

// ---- expectations -------------------------------------------------------------------

static bool matches(Run *run, const char *pattern, const char *message) {
    regex_t regex;
    if (pattern[0] == '\0') return true;
    int code = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[200];
        regerror(code, &regex, why, sizeof why);
        start_failure(run);
        say(run, "  malformed regular expression `%s`: %s\n", pattern, why);
        return true; // the failure has been told
    }
    bool found = regexec(&regex, message, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

// The error that the status of the last call stands for must be the one expected.
static void expect_error(Run *run, WeftStatus status) {
    const char *pattern = run->test.error;
    if (status == WEFT_STATUS_OK) {
        start_failure(run);
        say_text(run, "expected:", pattern[0] == '\0' ? "an error" : pattern);
        say_text(run, "found:", "no error");
    } else if (!matches(run, pattern, weft_render(run->context, 0))) {
        start_failure(run);
        say_text(run, "expected:", pattern);
        say_text(run, "found:", weft_render(run->context, 0));
    }
}

static void show_difference(Run *run, size_t index, size_t count,
                            const WeftValue *found, const WeftValue *expected) {
    const char *text;
    start_failure(run);
    if (count > 1) say(run, "  result %zu of %zu\n", index + 1, count);
    if (weft_value_text(expected, &text) == WEFT_STATUS_OK)
        say_text(run, "expected:", text);
    if (weft_value_text(found, &text) == WEFT_STATUS_OK) say_text(run, "found:", text);
}

static void compare(Run *run, WeftValue *const *results, size_t count) {
    WeftValue **expected = cli_alloc(count * sizeof *expected);
    WeftStatus status =
        weft_test_results(run->tests, run->index, run->program, expected, count);
    if (status != WEFT_STATUS_OK) {
        start_failure(run);
        say_text(run, "output:", weft_render(run->context, 0));
        const char *text;
        for (size_t i = 0; i < count; i++)
            if (weft_value_text(results[i], &text) == WEFT_STATUS_OK)
                say_text(run, "found:", text);
        free(expected);
        return;
    }
    for (size_t i = 0; i < count && run->used == 0; i++) {
        int is_equal = 0;
        weft_value_equal(results[i], expected[i], run->report->tolerance, &is_equal);
        if (!is_equal) show_difference(run, i, count, results[i], expected[i]);
    }
    for (size_t i = 0; i < count; i++) weft_value_free(expected[i]);
    free(expected);
}

// ---- the oracle ---------------------------------------------------------------------

static WeftStatus open_oracle(Run *run) {
    if (run->oracle_program != NULL) return WEFT_STATUS_OK;
    WeftOptions options = {.struct_size = sizeof options, .engine = WEFT_ENGINE_INTERP};
    if (run->oracle == NULL &&
        weft_context_new(&options, &run->oracle) != WEFT_STATUS_OK)
        cli_no_memory();
    WeftStatus status =
        weft_tests_from_file(run->oracle, run->path, &run->oracle_tests);
    if (status != WEFT_STATUS_OK) return status;
    return weft_program_from_file(run->oracle, run->path, &run->oracle_program);
}

// What it makes of the test at hand; NULL: an error, which its context has.
static WeftValue **ask_oracle(Run *run, size_t entry, size_t arg_count, size_t count) {
    WeftValue **args = cli_alloc(arg_count * sizeof *args);
    WeftValue **expected = cli_alloc(count * sizeof *expected);
    WeftStatus status = open_oracle(run);
    if (status == WEFT_STATUS_OK)
        status = weft_test_arguments(run->oracle_tests, run->index, run->oracle_program,
                                     args, arg_count);
    bool has_args = status == WEFT_STATUS_OK;
    if (has_args)
        status =
            weft_call(run->oracle_program, entry, args, arg_count, expected, count);
    for (size_t i = 0; has_args && i < arg_count; i++) weft_value_free(args[i]);
    free(args);
    if (status == WEFT_STATUS_OK) return expected;
    free(expected);
    return NULL;
}

// Texts say all that there is to a value, whatever context it is of.
static void compare_with_oracle(Run *run, WeftValue *const *results, size_t entry,
                                size_t arg_count, size_t count) {
    WeftValue **expected = ask_oracle(run, entry, arg_count, count);
    if (expected == NULL) {
        start_failure(run);
        say_text(run, "expected:", weft_render(run->oracle, 0));
        say_text(run, "found:", "no error");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const char *found = "", *wanted = "";
        bool has_texts = weft_value_text(results[i], &found) == WEFT_STATUS_OK &&
                         weft_value_text(expected[i], &wanted) == WEFT_STATUS_OK;
        if (run->used == 0 && (!has_texts || strcmp(found, wanted) != 0))
            show_difference(run, i, count, results[i], expected[i]);
        weft_value_free(expected[i]);
    }
    free(expected);
}

// ---- tests --------------------------------------------------------------------------

static void run_call(Run *run) {
    size_t entry = weft_entry_find(run->program, run->test.entry);
    if (entry == WEFT_NONE) {
        start_failure(run);
        say(run, "  the program has no entry `%s`\n", run->test.entry);
        return;
    }
    size_t arg_count = weft_entry_parameter_count(run->program, entry);
    size_t result_count = weft_entry_result_count(run->program, entry);
    WeftValue **args = cli_alloc((arg_count + result_count) * sizeof *args);
    WeftValue **results = args + arg_count;
    WeftStatus status =
        weft_test_arguments(run->tests, run->index, run->program, args, arg_count);
    bool has_args = status == WEFT_STATUS_OK;
    if (has_args)
        status = weft_call(run->program, entry, args, arg_count, results, result_count);
    if (run->test.error != NULL) {
        expect_error(run, status);
    } else if (status != WEFT_STATUS_OK) {
        start_failure(run);
        say_text(run, "found:", weft_render(run->context, 0));
    } else if (run->test.has_output) {
        compare(run, results, result_count);
    } else if (run->report->options.engine != WEFT_ENGINE_INTERP) {
        compare_with_oracle(run, results, entry, arg_count, result_count);
    }
    for (size_t i = 0; has_args && i < arg_count; i++) weft_value_free(args[i]);
    for (size_t i = 0; status == WEFT_STATUS_OK && i < result_count; i++)
        weft_value_free(results[i]);
    free(args);
}

// Compiles the program and runs the tests; that it does not compile is told once.
static void run_tests(Run *run) {
    size_t count = weft_test_count(run->tests);
    WeftStatus compiled =
        weft_program_from_file(run->context, run->path, &run->program);
    bool is_told = false;
    for (size_t i = 0; i < count; i++) {
        run->index = i;
        run->test.struct_size = sizeof run->test;
        weft_test_info(run->tests, i, &run->test);
        if (run->test.only_bench) continue;
        if (run->test.kind == WEFT_TEST_REJECTED) {
            expect_error(run, compiled);
        } else if (compiled != WEFT_STATUS_OK) {
            if (is_told) continue;
            is_told = true;
            run->test = (WeftTest){0};
            start_failure(run);
            say_text(run, "compile:", weft_render(run->context, 0));
        } else if (run->test.kind == WEFT_TEST_CALL) {
            run_call(run);
        } else if (run->test.kind == WEFT_TEST_STRUCTURE &&
                   weft_test_structure(run->tests, i) != WEFT_STATUS_OK) {
            start_failure(run);
            say_text(run, "structure:", weft_render(run->context, 0));
        }
        finish(run);
    }
}

void testrun_file(const char *path, const TestReport *report) {
    Run run = {.path = path, .report = report};
    run.context = cli_context(report->options);
    WeftStatus status = weft_tests_from_file(run.context, path, &run.tests);
    if (status != WEFT_STATUS_OK) {
        start_failure(&run);
        say_text(&run, "blocks:", weft_render(run.context, 0));
        finish(&run);
    } else if (weft_test_count(run.tests) > 0) {
        run_tests(&run);
    } else if (report->must_have_tests) {
        start_failure(&run);
        say(&run, "  it has no test blocks\n");
        finish(&run);
    }
    cli_close(run.context);
    weft_context_free(run.oracle);
    free(run.message);
}
