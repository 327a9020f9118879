// SPDX-License-Identifier: Apache-2.0
//
// One program's tests: compile once, then for every input and entry read the arguments,
// call, and compare with what is expected.
#define _POSIX_C_SOURCE 200809L
#include "cli/testrun.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "cli/cli.h"

typedef struct Run {
    const char *path, *text; // the program's file and its contents
    size_t len;
    const TestReport *report;
    WeftContext *context;
    WeftProgram *program;
    // The test at hand:
    const TestCase *test;
    const char *entry;
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
    say(run, "FAIL %s", run->path);
    if (run->test != NULL) {
        say(run, ":%d: %s", run->test->line, run->entry);
        if (run->test->name != NULL) say(run, " \"%s\"", run->test->name);
    }
    say(run, "\n");
    if (run->test == NULL || run->test->input.text == NULL) return;
    if (run->test->input.source == TEST_FILE) {
        char name[300];
        snprintf(name, sizeof name, "@ %s", run->test->input.text);
        say_text(run, "input:", name);
    } else {
        say_text(run, "input:", run->test->input.text);
    }
}

// ---- inputs -------------------------------------------------------------------------

typedef struct Bytes {
    char *data;
    size_t len;
} Bytes;

static void add_bytes(Bytes *bytes, const void *data, size_t len) {
    bytes->data = cli_resize(bytes->data, bytes->len + len + 1);
    memcpy(bytes->data + bytes->len, data, len);
    bytes->len += len;
    bytes->data[bytes->len] = '\0';
}

static bool read_file(Run *run, const char *name, Bytes *out) {
    const char *slash = strrchr(run->path, '/');
    size_t folder =
        slash == NULL || name[0] == '/' ? 0 : (size_t)(slash - run->path) + 1;
    char *full = cli_alloc(folder + strlen(name) + 1);
    memcpy(full, run->path, folder);
    strcpy(full + folder, name);
    int file = open(full, O_RDONLY | O_CLOEXEC);
    out->data = file < 0 ? NULL : cli_read_all(file, &out->len);
    if (out->data == NULL) {
        start_failure(run);
        say(run, "  cannot read %s: %s\n", full, strerror(errno));
    }
    if (file >= 0) close(file);
    free(full);
    return out->data != NULL;
}

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Floats lie in [0, 1), in steps of their precision.
static uint64_t random_element(ScalarType type, uint64_t *state) {
    uint64_t bits = next_random(state), result = 0;
    if (type == SCALAR_F64) {
        double x = (double)(bits >> 11) * 0x1p-53;
        memcpy(&result, &x, sizeof x);
        return result;
    }
    if (type == SCALAR_F32) {
        float x = (float)(bits >> 40) * 0x1p-24f;
        memcpy(&result, &x, sizeof x);
        return result;
    }
    if (type == SCALAR_F16) { // n / 2048: shift n's first bit to its implied place
        uint64_t n = bits >> 53;
        if (n == 0) return 0;
        unsigned leading = 63 - (unsigned)__builtin_clzll(n);
        return ((uint64_t)leading + 4) << 10 | (n << (10 - leading) & 1023);
    }
    return type == SCALAR_BOOL ? bits & 1 : bits;
}

// Appends one random value of a type such as [10][20]f32, in binary.
static bool add_random(Bytes *bytes, const char **at, uint64_t *state) {
    int64_t shape[DATA_MOST_RANK], count = 1;
    unsigned char rank = 0;
    const char *p = *at;
    while (*p == '[') {
        char *end;
        errno = 0;
        shape[rank] = strtoll(p + 1, &end, 10);
        if (end == p + 1 || *end != ']' || errno != 0 || shape[rank] < 0) return false;
        if (__builtin_mul_overflow(count, shape[rank], &count)) return false;
        if (++rank == DATA_MOST_RANK) return false;
        p = end + 1;
    }
    ScalarType type;
    size_t len = strcspn(p, " \t\r\n");
    if (!scalar_by_name(p, len, &type) || count > (int64_t)1 << 34) return false;
    *at = p + len;
    size_t width = scalar_info[type].bytes, size = (size_t)count * width;
    add_bytes(bytes, (char[]){'b', 2, (char)rank}, 3);
    add_bytes(bytes, scalar_info[type].binary_name, 4);
    add_bytes(bytes, shape, rank * sizeof shape[0]);
    bytes->data = cli_resize(bytes->data, bytes->len + size + 1);
    for (int64_t i = 0; i < count; i++, bytes->len += width)
        rt_store(type, bytes->data + bytes->len, random_element(type, state));
    bytes->data[bytes->len] = '\0';
    return true;
}

static bool make_random(Run *run, const char *types, Bytes *out) {
    uint64_t state = 1;
    const char *at = types;
    add_bytes(out, "", 0);
    while (*(at += strspn(at, " \t\r\n")) != '\0') {
        if (add_random(out, &at, &state)) continue;
        size_t len = strcspn(at, " \t\r\n"); // anything else is a value
        if (len > 0 && strchr("0123456789-tf", *at) != NULL && *at != '[') {
            add_bytes(out, " ", 1);
            add_bytes(out, at, len);
            add_bytes(out, "\n", 1);
            at += len;
            continue;
        }
        start_failure(run);
        say(run, "  `%.*s` is not a type for random input\n", (int)len, at);
        return false;
    }
    return true;
}

// Evaluates the expression as an entry added to the program; a tuple gives several
// values.
static bool run_script(Run *run, WeftValue **args, size_t count) {
    Bytes text = {0};
    add_bytes(&text, run->text, run->len);
    static const char head[] = "\nentry weft_test_script = (", tail[] = ")\n";
    add_bytes(&text, head, strlen(head));
    add_bytes(&text, run->test->input.text, strlen(run->test->input.text));
    add_bytes(&text, tail, strlen(tail));
    WeftProgram *program;
    WeftStatus status =
        api_program_from_text(run->context, run->path, text.data, text.len, &program);
    free(text.data);
    if (status == WEFT_STATUS_OK) {
        size_t entry = weft_entry_find(program, "weft_test_script");
        status = weft_call(program, entry, NULL, 0, args, count);
    }
    if (status == WEFT_STATUS_OK) return true;
    start_failure(run);
    say_text(run, "script:", weft_render(run->context, 0));
    return false;
}

// Whether there are arguments now; *status_out tells of a value that could not be read.
static bool make_args(Run *run, size_t entry, WeftValue **args, size_t count,
                      WeftStatus *status_out) {
    const TestData *input = &run->test->input;
    *status_out = WEFT_STATUS_OK;
    if (input->source == TEST_SCRIPT) return run_script(run, args, count);
    Bytes bytes = {0};
    const char *name = "input";
    if (input->source == TEST_FILE) {
        name = input->text;
        if (!read_file(run, input->text, &bytes)) return false;
    } else if (input->source == TEST_RANDOM) {
        if (!make_random(run, input->text, &bytes)) {
            free(bytes.data);
            return false;
        }
    } else {
        add_bytes(&bytes, input->text, strlen(input->text));
    }
    *status_out =
        weft_values_read(run->program, entry, name, bytes.data, bytes.len, args, count);
    free(bytes.data);
    return true;
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

static void expect_error(Run *run, const char *pattern, WeftStatus status) {
    if (status == WEFT_STATUS_OK) {
        start_failure(run);
        say_text(run, "expected:", pattern[0] == '\0' ? "an error" : pattern);
        say_text(run, "found:", "no error");
        return;
    }
    const char *message = weft_render(run->context, 0);
    if (matches(run, pattern, message)) return;
    start_failure(run);
    say_text(run, "expected:", pattern);
    say_text(run, "found:", weft_render(run->context, 0));
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

static void compare(Run *run, size_t entry, WeftValue *const *results, size_t count) {
    const TestData *output = &run->test->output;
    Bytes bytes = {0};
    if (output->source == TEST_FILE && !read_file(run, output->text, &bytes)) return;
    if (output->source == TEST_TEXT)
        add_bytes(&bytes, output->text, strlen(output->text));
    WeftValue **expected = cli_alloc(count * sizeof *expected);
    WeftStatus status = api_read_results(run->program, entry, "output", bytes.data,
                                         bytes.len, expected);
    free(bytes.data);
    if (status != WEFT_STATUS_OK) {
        start_failure(run);
        say_text(run, "output:", weft_render(run->context, 0));
        const char *text;
        for (size_t i = 0; i < count; i++)
            if (weft_value_text(results[i], &text) == WEFT_STATUS_OK)
                say_text(run, "found:", text);
    } else {
        for (size_t i = 0; i < count; i++) {
            if (!api_values_equal(results[i], expected[i], run->report->tolerance)) {
                show_difference(run, i, count, results[i], expected[i]);
                break;
            }
        }
        for (size_t i = 0; i < count; i++) weft_value_free(expected[i]);
    }
    free(expected);
}

// ---- tests --------------------------------------------------------------------------

static void run_case(Run *run, const TestCase *test, const char *name) {
    run->test = test;
    run->entry = name;
    size_t entry = weft_entry_find(run->program, name);
    if (entry == WEFT_NONE) {
        start_failure(run);
        say(run, "  the program has no entry `%s`\n", name);
        finish(run);
        return;
    }
    size_t arg_count = weft_entry_parameter_count(run->program, entry);
    size_t result_count = weft_entry_result_count(run->program, entry);
    WeftValue **values = cli_alloc((arg_count + result_count) * sizeof *values);
    WeftValue **results = values + arg_count;
    WeftStatus status;
    if (make_args(run, entry, values, arg_count, &status)) {
        bool has_args = status == WEFT_STATUS_OK;
        if (has_args)
            status = weft_call(run->program, entry, values, arg_count, results,
                               result_count);
        if (test->error != NULL) {
            expect_error(run, test->error, status);
        } else if (status != WEFT_STATUS_OK) {
            start_failure(run);
            say_text(run, "found:", weft_render(run->context, 0));
        } else if (test->output.source == TEST_TEXT ||
                   test->output.source == TEST_FILE) {
            compare(run, entry, results, result_count);
        }
        for (size_t i = 0; has_args && i < arg_count; i++) weft_value_free(values[i]);
        if (has_args && status == WEFT_STATUS_OK)
            for (size_t i = 0; i < result_count; i++) weft_value_free(results[i]);
    }
    free(values);
    finish(run);
}

static void run_blocks(Run *run, const TestBlocks *blocks, WeftStatus compiled) {
    bool is_told = false; // that it does not compile
    for (size_t b = 0; b < blocks->len; b++) {
        const TestBlock *block = &blocks->data[b];
        run->test = NULL;
        if (block->error != NULL) {
            expect_error(run, block->error, compiled);
            finish(run);
        } else if (compiled != WEFT_STATUS_OK) {
            if (is_told) continue;
            is_told = true;
            start_failure(run);
            say_text(run, "compile:", weft_render(run->context, 0));
            finish(run);
        } else if (block->case_count == 0) {
            finish(run); // it compiles, as it should
        }
        if (compiled != WEFT_STATUS_OK) continue;
        for (size_t c = 0; c < block->case_count; c++)
            for (size_t e = 0; e < block->entry_count && !block->cases[c].is_off; e++)
                run_case(run, &block->cases[c], block->entries[e]);
    }
}

void testrun_file(const char *path, const TestBlocks *blocks, const char *text,
                  size_t len, const TestReport *report) {
    Run run = {.path = path, .text = text, .len = len, .report = report};
    if (blocks->fault != NULL) {
        start_failure(&run);
        say(&run, "  %s\n", blocks->fault);
        finish(&run);
        free(run.message);
        return;
    }
    run.context = cli_context((WeftOptions){0});
    WeftStatus compiled = weft_program_from_file(run.context, path, &run.program);
    run_blocks(&run, blocks, compiled);
    weft_context_free(run.context);
    free(run.message);
}
