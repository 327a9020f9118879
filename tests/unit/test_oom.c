// SPDX-License-Identifier: Apache-2.0
//
// Out of memory at every allocation: each program in tests/oom is compiled and run, and
// the rest of the API is gone through, with the k-th allocation failing, for every k up
// to 2000 and a sample of those beyond. The status must be clean, nothing may leak, and
// the context must work again afterwards. Under sanitizers, or with "-s N", only every
// N-th k is tried.
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/dlpack.h"
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

enum { EVERY = 2000, SAMPLE = 2000, PATH = 300 };

// Program and input: the text after "-- input:" on the first line of the file.
typedef struct Case {
    WeftStatus (*go_through)(WeftContext *context, const struct Case *test);
    char *text, *input;
    size_t len, input_len;
} Case;

static WeftContext *open_context(void) {
    WeftContext *context = NULL;
    if (weft_context_new(NULL, &context) != WEFT_STATUS_OK) abort();
    return context;
}

// Compiles, reads, calls and prints; the first status that is not OK.
static WeftStatus run_text(WeftContext *context, const Case *test) {
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
    WeftStatus status = test->go_through(context, test);
    bool is_good = status == WEFT_STATUS_MEMORY || status == expected;
    is_good = is_good && (status == WEFT_STATUS_OK || weft_message(context)[0] != '\0');
    weft_testing_fail_allocation(context, 0);
    if (k % 5 == 0) is_good = is_good && test->go_through(context, test) == expected;
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

static void run_case(const char *name, const Case *test, uint64_t step) {
    WeftContext *context = open_context();
    uint64_t before = weft_testing_allocations(context);
    WeftStatus expected = test->go_through(context, test);
    uint64_t count = weft_testing_allocations(context) - before;
    bool is_error = strncmp(name, "error_", 6) == 0;
    if ((expected == WEFT_STATUS_OK) == is_error)
        printf("%s: %s\n", name, weft_render(context, 0));
    CHECK((expected == WEFT_STATUS_OK) != is_error);
    CHECK(weft_testing_context_free(context) == 0);
    uint64_t stride = count > EVERY ? (count - EVERY) / SAMPLE + 1 : 1;
    for (uint64_t k = 1; k <= count; k += (k < EVERY ? 1 : stride) * step)
        if (!try_failing(test, k, expected)) {
            printf("in %s\n", name);
            CHECK(false);
        } else {
            CHECK(true);
        }
}

static void run_program(const char *name, uint64_t step) {
    Case test = {.go_through = run_text};
    bool is_loaded = load(name, &test);
    CHECK(is_loaded);
    if (is_loaded) run_case(name, &test, step);
    free(test.text);
}

// ---- the rest of the API ------------------------------------------------------------

static char folder[] = "/tmp/weft-oom-XXXXXX";
static int borrowed, released; // how often memory was taken and given back

static void release(void *data) {
    (void)data;
    released++;
}

static void path_of(char *path, const char *name) {
    snprintf(path, PATH, "%s/%s", folder, name);
}

// Writes the value to a file of each kind and reads it again.
static WeftStatus go_through_files(WeftContext *context, const WeftValue *value) {
    static const char *const names[] = {"a.npy", "a.png", "a.csv", "a.txt",
                                        "a.bin", "a.out", "a.val"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[PATH];
        WeftValue *written = NULL, *read = NULL;
        path_of(path, names[i]);
        unlink(path);
        bool is_flat = strcmp(names[i], "a.txt") == 0;
        WeftStatus status = is_flat ? weft_value_random(context, "[40]u8", 1, &written)
                                    : weft_value_to_file(value, path);
        if (is_flat && status == WEFT_STATUS_OK) {
            status = weft_value_to_file(written, path);
            weft_value_free(written);
        }
        // A file is there whole or not at all.
        if (status == WEFT_STATUS_MEMORY) CHECK(access(path, F_OK) != 0);
        if (status == WEFT_STATUS_OK)
            status = weft_value_from_file(context, path, &read);
        if (status != WEFT_STATUS_OK) return status;
        weft_value_free(read);
    }
    return WEFT_STATUS_OK;
}

static WeftStatus go_through_tensors(WeftContext *context, WeftValue *value) {
    struct DLManagedTensor *plain;
    struct DLManagedTensorVersioned *versioned;
    WeftValue *back;
    WeftStatus status = weft_value_to_dlpack(value, &plain);
    if (status != WEFT_STATUS_OK) return status;
    status = weft_value_to_dlpack_versioned(value, &versioned);
    if (status == WEFT_STATUS_OK) {
        status = weft_value_from_dlpack_versioned(context, versioned, &back);
        if (status == WEFT_STATUS_OK) weft_value_free(back);
        else versioned->deleter(versioned); // it was not taken
    }
    plain->deleter(plain);
    return status;
}

// Borrowed memory in another order, looked at in every way.
static WeftStatus go_through_memory(WeftContext *context) {
    static const uint8_t bytes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const int64_t shape[2] = {3, 4}, strides[2] = {1, 3};
    WeftValue *value;
    const char *text;
    const void *data;
    int is_equal;
    WeftStatus status = weft_value_borrow(context, WEFT_U8, 2, shape, strides, bytes,
                                          release, NULL, &value);
    if (status != WEFT_STATUS_OK) return status;
    borrowed++;
    status = go_through_files(context, value);
    if (status == WEFT_STATUS_OK) status = go_through_tensors(context, value);
    if (status == WEFT_STATUS_OK) status = weft_value_data(value, &data);
    if (status == WEFT_STATUS_OK) status = weft_value_text(value, &text);
    if (status == WEFT_STATUS_OK) status = weft_value_equal(value, value, 0, &is_equal);
    weft_value_free(value);
    return status;
}

static const char tests_text[] = "-- ==\n"
                                 "-- random input { [9]i32 }\n"
                                 "-- script input { map i32.i64 (iota 3) }\n"
                                 "-- input { [1, 2] } output { 3 }\n"
                                 "def main (xs: []i32): i32 = i32.sum xs\n";

static WeftStatus go_through_tests(WeftContext *context) {
    char path[PATH];
    WeftTests *tests;
    WeftProgram *program;
    path_of(path, "t.weft");
    WeftStatus status = weft_tests_from_file(context, path, &tests);
    if (status != WEFT_STATUS_OK) return status;
    status = weft_program_from_file(context, path, &program);
    for (size_t i = 0; status == WEFT_STATUS_OK && i < weft_test_count(tests); i++) {
        WeftValue *value;
        status = weft_test_arguments(tests, i, program, &value, 1);
        if (status == WEFT_STATUS_OK) weft_value_free(value);
    }
    if (status == WEFT_STATUS_OK) {
        WeftValue *result;
        status = weft_test_results(tests, 2, program, &result, 1);
        if (status == WEFT_STATUS_OK) weft_value_free(result);
    }
    weft_tests_free(tests); // the program is left to the context
    return status;
}

// Both files are there, or none.
static WeftStatus go_through_build(WeftContext *context) {
    static const char *const names[] = {"built.h", "built.c"};
    char program[PATH], output[PATH], path[PATH];
    path_of(program, "t.weft");
    path_of(output, "built");
    for (int i = 0; i < 2; i++) {
        path_of(path, names[i]);
        unlink(path);
    }
    WeftStatus status = weft_build(context, program, output, NULL, 0);
    for (int i = 0; i < 2; i++) {
        path_of(path, names[i]);
        CHECK((access(path, F_OK) == 0) == (status == WEFT_STATUS_OK));
    }
    return status;
}

static WeftStatus go_through_rest(WeftContext *context, const Case *test) {
    (void)test;
    WeftDevice device = {.struct_size = sizeof device};
    const char *text;
    size_t length;
    int before = borrowed - released;
    WeftStatus status = go_through_memory(context);
    CHECK(borrowed - released == before);
    if (status == WEFT_STATUS_OK) status = go_through_tests(context);
    if (status == WEFT_STATUS_OK) status = go_through_build(context);
    if (status == WEFT_STATUS_OK) status = weft_device_info(context, 0, &device);
    if (status == WEFT_STATUS_OK)
        status = weft_format(context, "t.weft", tests_text, sizeof tests_text - 1,
                             &text, &length);
    return status;
}

// Also: no draft of a file is left over, and no file is closed that was never opened.
static void run_rest(uint64_t step) {
    char path[PATH];
    bool has_input = fcntl(STDIN_FILENO, F_GETFD) != -1;
    CHECK(mkdtemp(folder) != NULL);
    path_of(path, "t.weft");
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fputs(tests_text, file) >= 0 && fclose(file) == 0);
    run_case("the rest", &(Case){.go_through = go_through_rest}, step);
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        CHECK(strstr(entry->d_name, ".part") == NULL);
        path_of(path, entry->d_name);
        unlink(path);
    }
    if (dir != NULL) closedir(dir);
    CHECK(rmdir(folder) == 0);
    CHECK(!has_input || fcntl(STDIN_FILENO, F_GETFD) != -1);
}

int main(int argc, char **argv) {
    static const char *const names[] = {
        "scalars",    "arrays",       "loops",       "records", "sums",
        "modules",    "nested",       "scatter",     "sort",    "strings",
        "views",      "error_type",   "error_syntax", "error_index",
    };
    uint64_t step = DEFAULT_STEP;
    if (argc == 3 && strcmp(argv[1], "-s") == 0) step = strtoull(argv[2], NULL, 10);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        run_program(names[i], step == 0 ? 1 : step);
    run_rest(step == 0 ? 1 : step);
    return test_done();
}
