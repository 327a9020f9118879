// SPDX-License-Identifier: Apache-2.0
//
// Sixteen threads: on one context, each with a context of its own, and with others that
// cancel, look on and delete meanwhile; and those that a compiler starts itself. Built
// with -fsanitize=thread too, which reports any race.
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/dlpack.h"
#include "api/engine.h"
#include "api/testing.h"
#include "test.h"
#include "weft.h"

enum { THREADS = 16, ROUNDS = 12 };

static const char source[] =
    "entry add (x: i64) (y: i64) : i64 = x + y\n"
    "entry squares (n: i64) : []i64 = map (\\i -> i * i) (iota n)\n"
    "entry total [n] (xs: [n]i64) : i64 = reduce (+) 0 xs\n"
    "entry forever (n: i64) : i64 = loop x = n while true do x ^ 1\n";

typedef struct Job {
    WeftContext *context;
    WeftProgram *program; // NULL: make context and program
    int64_t number;
    bool is_good;
} Job;

static WeftProgram *compile(WeftContext *context) {
    WeftProgram *program = NULL;
    weft_program_from_source(context, "t.weft", source, sizeof source - 1, &program);
    return program;
}

static bool call(WeftProgram *program, const char *name, WeftValue *const *args,
                 size_t count, WeftValue **result) {
    return weft_call(program, weft_entry_find(program, name), args, count, result, 1) ==
           WEFT_STATUS_OK;
}

// Numbers from the caller's memory through two entries and out as a tensor.
static bool compute(const Job *job) {
    int64_t numbers[3] = {job->number, 1, 2}, three[1] = {3}, found = 0;
    WeftValue *xs = NULL, *total = NULL, *squares = NULL, *n = NULL, *sum = NULL;
    struct DLManagedTensor *tensor = NULL;
    bool is_good = weft_value_borrow(job->context, WEFT_I64, 1, three, NULL, numbers,
                                     NULL, NULL, &xs) == WEFT_STATUS_OK &&
                   call(job->program, "total", &xs, 1, &total) &&
                   call(job->program, "squares", &total, 1, &squares) &&
                   weft_value_to_dlpack(squares, &tensor) == WEFT_STATUS_OK &&
                   call(job->program, "total", &squares, 1, &n) &&
                   call(job->program, "add", (WeftValue *[]){n, total}, 2, &sum) &&
                   weft_value_copy(sum, &found, sizeof found) == WEFT_STATUS_OK;
    int64_t m = job->number + 3, expected = m + (m - 1) * m * (2 * m - 1) / 6;
    WeftValue *all[] = {xs, total, squares, n, sum};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) weft_value_free(all[i]);
    if (tensor != NULL) {
        is_good = is_good && ((const int64_t *)tensor->dl_tensor.data)[2] == 4;
        tensor->deleter(tensor);
    }
    return is_good && found == expected;
}

// A failing call and its message belong together under the lock.
static bool fail(const Job *job) {
    char text[40], wanted[40];
    snprintf(text, sizeof text, "def main = name%d", (int)job->number);
    snprintf(wanted, sizeof wanted, "name%d", (int)job->number);
    WeftProgram *none = NULL;
    WeftDiagnostic first = {0};
    weft_context_lock(job->context);
    bool is_good = weft_program_from_source(job->context, "wrong.weft", text,
                                            strlen(text), &none) == WEFT_STATUS_PROGRAM;
    is_good = is_good && strstr(weft_message(job->context), wanted) != NULL &&
              strstr(weft_render(job->context, 0), wanted) != NULL &&
              weft_diagnostic_count(job->context) == 1 &&
              weft_diagnostic(job->context, 0, &first) == WEFT_STATUS_OK &&
              strstr(first.message, wanted) != NULL;
    weft_context_unlock(job->context);
    return is_good;
}

static void *work(void *data) {
    Job *job = data;
    bool is_own = job->program == NULL;
    WeftOptions options = {.struct_size = sizeof options, .engine = WEFT_ENGINE_INTERP};
    if (is_own) {
        if (weft_context_new(&options, &job->context) != WEFT_STATUS_OK) return NULL;
        job->program = compile(job->context);
    }
    job->is_good = job->program != NULL;
    for (int i = 0; job->is_good && i < ROUNDS; i++)
        job->is_good = compute(job) && fail(job) &&
                       weft_memory_used(job->context) <= weft_memory_peak(job->context);
    if (is_own && weft_testing_context_free(job->context) != 0) job->is_good = false;
    return NULL;
}

static void run_all(WeftContext *context, WeftProgram *program) {
    pthread_t threads[THREADS];
    Job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (Job){.context = context, .program = program, .number = 10 + i};
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(jobs[i].is_good);
    }
}

// ---- cancellation -------------------------------------------------------------------

typedef struct Endless {
    WeftContext *context;
    WeftProgram *program;
    atomic_int cancelled; // calls that have ended so
} Endless;

static void *run_forever(void *data) {
    Endless *endless = data;
    int64_t one = 1;
    WeftValue *arg, *result = NULL;
    if (weft_value_new(endless->context, WEFT_I64, 0, NULL, &one, &arg) !=
        WEFT_STATUS_OK)
        return NULL;
    size_t entry = weft_entry_find(endless->program, "forever");
    if (weft_call(endless->program, entry, &arg, 1, &result, 1) ==
        WEFT_STATUS_CANCELLED)
        atomic_fetch_add(&endless->cancelled, 1);
    weft_value_free(arg);
    return NULL;
}

// Calls that never end by themselves, one behind the other on one context. Each is
// cancelled while it runs or just before; whoever cancels does not wait for the lock,
// which a running call holds.
static void test_cancel(WeftContext *context, WeftProgram *program) {
    Endless endless = {.context = context, .program = program};
    enum { CALLS = 4 };
    pthread_t threads[CALLS];
    for (int i = 0; i < CALLS; i++)
        CHECK(pthread_create(&threads[i], NULL, run_forever, &endless) == 0);
    while (atomic_load(&endless.cancelled) < CALLS) {
        weft_cancel(context);
        (void)weft_memory_used(context);
    }
    for (int i = 0; i < CALLS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    // A cancellation may be left over for a call that never came: it is used up.
    WeftProgram *other = NULL;
    WeftStatus status = weft_program_from_source(context, "x", "", 0, &other);
    CHECK(status == WEFT_STATUS_OK || status == WEFT_STATUS_CANCELLED);
    weft_program_free(other);
}

// ---- compiling ----------------------------------------------------------------------

enum { ITEMS = 100, HANDS = 4 };

typedef struct Items {
    uint32_t fails[HANDS - 1]; // a thread that does one of these runs out of memory
    uint32_t *made[ITEMS];
} Items;

static void make_item(void *data, uint32_t item, const ApiRooms *rooms) {
    Items *items = data;
    Arena *const all[] = {rooms->kept, rooms->scratch, rooms->notes};
    memset(arena_alloc(rooms->scratch, 100000), 1, 100000);
    memset(arena_alloc(rooms->notes, 100000), 1, 100000);
    uint32_t *made = arena_new(rooms->kept, uint32_t);
    for (int i = 0; i < HANDS - 1; i++)
        if (items->fails[i] == item) mem_fail(all[i % 3]->mem);
    *made = item;
    items->made[item] = made;
}

// All is done save where memory was short, as long as one thread has some.
static void test_hands(void) {
    WeftContext none = {.options.threads = HANDS, .mem.spare_most = 1 << 24};
    WeftProgram program = {.context = &none};
    ApiEngine engine = {.program = &program};
    Items items = {.fails = {1, 50, ITEMS - 1}};
    arena_init(&program.arena, &none.mem);
    CHECK(!api_hands(&engine, 10, ITEMS, make_item, &items)); // too little for two
    void *touched = mem_try_alloc(&none.mem, 1 << 18);        // a thread takes it over
    mem_free(&none.mem, touched, 1 << 18);
    CHECK(api_hands(&engine, 1000000, ITEMS, make_item, &items));
    for (uint32_t i = 0; i < ITEMS; i++) {
        bool fails = i == 1 || i == 50 || i == ITEMS - 1;
        CHECK(fails ? items.made[i] == NULL : *items.made[i] == i);
    }
    CHECK(none.mem.used > 0 && none.mem.peak >= none.mem.used + 100000);
    arena_free(&program.arena);
    CHECK(none.mem.used == 0);
    mem_trim(&none.mem);
    none.mem.limit = 1 << 30; // a ceiling is one thread's
    CHECK(!api_hands(&engine, 1000000, ITEMS, make_item, &items));
}

// Kernels enough for several threads.
static void write_program(FILE *file) {
    enum { FUNCTIONS = 60 };
    for (int i = 0; i < FUNCTIONS; i++)
        fprintf(file,
                "def f%d [n] (xs: [n]f64): f64 =\n"
                "  let there = f64.sort (map (\\x -> f64.abs (x - %d)) xs)\n"
                "  in there[n / 2] + f64.sum (scan (\\a b -> a * %d.5 + b) 0 there)\n",
                i, i, i);
    fprintf(file, "entry main (xs: []f64): f64 = 0");
    for (int i = 0; i < FUNCTIONS; i++) fprintf(file, " + f%d xs", i);
}

// The text that so many threads make; the caller frees it.
static char *dump(const char *path, unsigned threads) {
    WeftOptions options = {.struct_size = sizeof options, .threads = threads};
    WeftContext *context;
    const char *text = "";
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    CHECK(api_dump(context, path, "c", NULL, &text) == WEFT_STATUS_OK);
    char *copy = strdup(text);
    CHECK(weft_testing_context_free(context) == 0);
    return copy;
}

// All groups are written, and no compiler makes anything of them.
static void fail_to_build(const char *path) {
    WeftOptions options = {
        .struct_size = sizeof options, .engine = WEFT_ENGINE_NATIVE, .threads = HANDS};
    WeftContext *context;
    WeftProgram *program;
    WeftValue *arg, *result;
    int64_t one = 1;
    double x = 1;
    setenv("WEFT_CC", "/bin/false", 1);
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    CHECK(weft_program_from_file(context, path, &program) == WEFT_STATUS_OK);
    CHECK(weft_value_new(context, WEFT_F64, 1, &one, &x, &arg) == WEFT_STATUS_OK);
    CHECK(weft_call(program, 0, &arg, 1, &result, 1) == WEFT_STATUS_IO);
    uint32_t written = 0, groups = program->engine->group_count;
    for (uint32_t i = 0; i < groups; i++)
        written += program->engine->groups[i].text.len > 0;
    CHECK(groups > HANDS && written == groups);
    CHECK(weft_testing_context_free(context) == 0);
}

static void test_compiling(void) {
    char path[] = "/tmp/weft-test-XXXXXX.weft";
    int file = mkstemps(path, 5);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");
    CHECK(stream != NULL);
    if (stream == NULL) return;
    write_program(stream);
    CHECK(fclose(stream) == 0);
    char *one = dump(path, 1), *several = dump(path, HANDS);
    CHECK(strlen(one) > 100000 && strcmp(one, several) == 0);
    free(one);
    free(several);
    fail_to_build(path);
    unlink(path);
}

int main(void) {
    WeftContext *context = NULL;
    WeftOptions options = {.struct_size = sizeof options, .engine = WEFT_ENGINE_INTERP};
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    WeftProgram *program = compile(context);
    CHECK(program != NULL);
    if (program == NULL) return test_done();
    run_all(context, program);
    run_all(NULL, NULL);
    test_cancel(context, program);
    run_all(context, program); // the context is as good as before
    CHECK(weft_testing_context_free(context) == 0);
    test_hands();
    test_compiling();
    return test_done();
}
