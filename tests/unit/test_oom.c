// SPDX-License-Identifier: Apache-2.0
//
// Out of memory at every allocation: each program in tests/oom is compiled and run with
// the k-th allocation failing, for every k up to 2000 and a sample of those beyond. The
// status must be clean, nothing may leak, and the context must work again afterwards.
// Under sanitizers, or with "-s N", only every N-th k is tried.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/testing.h"
#include "test.h"
#include "weft.h"

#if defined(__SANITIZE_ADDRESS__)
enum { DEFAULT_STEP = 7 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { DEFAULT_STEP = 7 };
#else
enum { DEFAULT_STEP = 1 };
#endif
#else
enum { DEFAULT_STEP = 1 };
#endif

enum { EVERY = 2000, SAMPLE = 2000 };

// Program and input: the text after "-- input:" on the first line of the file.
typedef struct Case {
    char *text, *input;
    size_t len, input_len;
} Case;

static WeftContext *open_context(void) {
    WeftContext *context = NULL;
    if (weft_context_new(NULL, &context) != WEFT_STATUS_OK) abort();
    return context;
}

// Compiles, reads, calls and prints; the first status that is not OK.
static WeftStatus go_through(WeftContext *context, const Case *test) {
    WeftProgram *program;
    WeftValue *args[8], *results[8];
    const char *text;
    WeftStatus status =
        weft_program_from_source(context, "oom.weft", test->text, test->len, &program);
    if (status != WEFT_STATUS_OK) return status;
    size_t entry = weft_entry_find(program, "main");
    size_t arg_count = weft_entry_parameter_count(program, entry);
    size_t result_count = weft_entry_result_count(program, entry);
    status = weft_values_read(program, entry, "input", test->input, test->input_len,
                              args, arg_count);
    if (status == WEFT_STATUS_OK) {
        status = weft_call(program, entry, args, arg_count, results, result_count);
        for (size_t i = 0; i < arg_count; i++) weft_value_free(args[i]);
        if (status == WEFT_STATUS_OK) {
            status = weft_value_text(results[0], &text);
            for (size_t i = 0; i < result_count; i++) weft_value_free(results[i]);
        }
    }
    weft_program_free(program);
    return status;
}

// Fails the k-th allocation; returns whether all was as it should be.
static bool try_failing(const Case *test, uint64_t k, WeftStatus expected) {
    WeftContext *context = open_context();
    weft_testing_fail_allocation(context, k);
    WeftStatus status = go_through(context, test);
    bool is_good = status == WEFT_STATUS_MEMORY || status == expected;
    is_good = is_good && (status == WEFT_STATUS_OK || weft_message(context)[0] != '\0');
    weft_testing_fail_allocation(context, 0);
    if (k % 5 == 0) is_good = is_good && go_through(context, test) == expected;
    size_t left = weft_testing_context_free(context);
    if (!is_good || left != 0)
        printf("allocation %llu: status %d, %zu bytes left\n", (unsigned long long)k,
               (int)status, left);
    return is_good && left == 0;
}

static bool load(const char *name, Case *out) {
    char path[1000];
    snprintf(path, sizeof path, "%s/tests/oom/%s.weft", WEFT_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    out->text = malloc(1 << 16);
    out->len = fread(out->text, 1, 1 << 16, file);
    fclose(file);
    static const char mark[] = "-- input:";
    if (out->len < sizeof mark || memcmp(out->text, mark, sizeof mark - 1) != 0)
        return false;
    out->input = out->text + sizeof mark - 1;
    out->input_len = strcspn(out->input, "\n");
    return true;
}

static void run_case(const char *name, uint64_t step) {
    Case test;
    bool is_loaded = load(name, &test);
    CHECK(is_loaded);
    if (!is_loaded) return;
    WeftContext *context = open_context();
    uint64_t before = weft_testing_allocations(context);
    WeftStatus expected = go_through(context, &test);
    uint64_t count = weft_testing_allocations(context) - before;
    bool is_error = strncmp(name, "error_", 6) == 0;
    if ((expected == WEFT_STATUS_OK) == is_error)
        printf("%s: %s\n", name, weft_render(context, 0));
    CHECK((expected == WEFT_STATUS_OK) != is_error);
    CHECK(weft_testing_context_free(context) == 0);
    uint64_t stride = count > EVERY ? (count - EVERY) / SAMPLE + 1 : 1;
    for (uint64_t k = 1; k <= count; k += (k < EVERY ? 1 : stride) * step)
        if (!try_failing(&test, k, expected)) {
            printf("in %s\n", name);
            CHECK(false);
        } else {
            CHECK(true);
        }
    free(test.text);
}

int main(int argc, char **argv) {
    static const char *const names[] = {
        "scalars",    "arrays",       "loops",       "records", "sums",
        "modules",    "nested",       "scatter",     "strings", "views",
        "error_type", "error_syntax", "error_index",
    };
    uint64_t step = DEFAULT_STEP;
    if (argc == 3 && strcmp(argv[1], "-s") == 0) step = strtoull(argv[2], NULL, 10);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        run_case(names[i], step == 0 ? 1 : step);
    return test_done();
}
