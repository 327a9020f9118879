// SPDX-License-Identifier: Apache-2.0
//
// Sessions (weft.h): what a text answers, what later texts see of it, and that whatever
// fails, at any allocation, leaves the session as it was.
#define _XOPEN_SOURCE 700
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/testing.h"
#include "test.h"
#include "weft.h"

static WeftContext *context;
static WeftSession *session;
static unsigned traced;

static void count_trace(void *data, const char *text) {
    (void)data, (void)text;
    traced++;
}

static void open_session(void) {
    WeftOptions options = {.struct_size = sizeof options, .trace = count_trace};
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK) abort();
    if (weft_session_new(context, &session) != WEFT_STATUS_OK) abort();
}

static void close_session(void) {
    CHECK(weft_testing_context_free(context) == 0);
}

// "VALUE : TYPE" of an expression; the types of definitions; or the message.
static const char *say(const char *text) {
    static char answer[4096];
    WeftValue *value;
    const char *types, *printed = "";
    WeftStatus status =
        weft_session_eval(session, "cell", text, strlen(text), &value, &types);
    if (status != WEFT_STATUS_OK) {
        snprintf(answer, sizeof answer, "%s", weft_message(context));
        return answer;
    }
    char *copy = strdup(types);
    if (copy == NULL) abort();
    if (value != NULL && weft_value_text(value, &printed) != WEFT_STATUS_OK) abort();
    snprintf(answer, sizeof answer, "%s%s%s", printed, value != NULL ? " : " : "",
             copy);
    weft_value_free(value);
    free(copy);
    return answer;
}

static void check_says(int line, const char *text, const char *expected) {
    const char *answer = say(text);
    if (strcmp(answer, expected) == 0) {
        test_passed++;
        return;
    }
    test_failed++;
    printf("line %d: %s\n  says:     %s\n  expected: %s\n", line, text, answer,
           expected);
}
#define SAYS(text, expected) check_says(__LINE__, text, expected)

static const char *names(void) {
    const char *text;
    return weft_session_names(session, &text) == WEFT_STATUS_OK ? text : "failed";
}

static const char *source(void) {
    const char *text;
    return weft_session_source(session, &text) == WEFT_STATUS_OK ? text : "failed";
}

// ---- what is answered ---------------------------------------------------------------

static void test_answers(void) {
    open_session();
    SAYS("1 + 2", "3i32 : i32");
    SAYS("it * 2", "6i32 : i32");
    SAYS("(1, {a = true, b = [2.5]})",
         "(1i32, {a = true, b = [2.5f64]}) : (i32, {a: bool, b: [1]f64})");
    SAYS("it.1.b", "[2.5f64] : [1]f64");
    SAYS("", "");
    SAYS("  -- nothing\n", "");
    SAYS("it", "[2.5f64] : [1]f64");
    SAYS("\\x -> x + 1i32", "i32 -> i32");
    SAYS("it", "[2.5f64] : [1]f64"); // a function has no value
    SAYS("\\x -> x", "'a -> 'a");
    SAYS("[]", "[0]'a");
    SAYS("()", "() : ()");
    SAYS("let x = 2 in x + 1", "3i32 : i32");
    SAYS("#[unsafe] [1, 2][1]", "2i32 : i32");
    SAYS("def f x = x + 1", "f: i32 -> i32\n");
    SAYS("let x = 3 let y = f x", "x: i32\ny: i32\n");
    SAYS("f y", "5i32 : i32");
    SAYS("type t = #a i32 | #b [2]f32", "type t\n");
    SAYS("#b [1, 2] : t", "#b [1.0f32, 2.0f32] : t");
    SAYS("match it case #a i -> i case #b _ -> 7", "7i32 : i32");
    SAYS("module m = {def k = 42i32}", "module m\n");
    SAYS("m.k", "42i32 : i32");
    SAYS("open m", "");
    SAYS("k", "42i32 : i32");
    SAYS("def (+++) (a: i32) (b: i32) = a * b", "+++: i32 -> i32 -> i32\n");
    SAYS("6 +++ 7", "42i32 : i32");
    close_session();
}

static void test_mistakes(void) {
    open_session();
    SAYS("def x = 1i64", "x: i64\n");
    SAYS("1 +", "cell:1:4: expected an operand after `+`, found the end of the file");
    SAYS("y", "cell:1:1: unknown name `y`");
    SAYS("\n  x + true", "cell:2:7: expected i64, found bool");
    SAYS("def a = 1 def b = c", "cell:1:19: unknown name `c`");
    SAYS("a", "cell:1:1: unknown name `a`"); // all or nothing
    SAYS("def x = 1 / 0i32", "cell:1:9: division by zero");
    SAYS("x", "1i64 : i64");
    SAYS("def a = 1 def a = 2", "cell:1:15: `a` is defined twice");
    SAYS("[1, 2, 3][x + 2]", "cell:1:1: index 3 is outside [0, 3)");
    SAYS("import \"no/such\"", "cell:1:1: there is no file `no/such` to import");
    SAYS("\x80\xff", "cell:1:1: the byte 0x80 is not part of valid UTF-8");
    CHECK(strcmp(names(), "x: i64\nit: i64\n") == 0);
    weft_cancel(context);
    SAYS("1", "the call was cancelled");
    SAYS("x", "1i64 : i64");
    close_session();
}

// ---- what is seen -------------------------------------------------------------------

static void test_hiding(void) {
    open_session();
    SAYS("def k = 2", "k: i32\n");
    SAYS("def times x = k * x", "times: i32 -> i32\n");
    SAYS("def k = 10.5", "k: f64\n");
    SAYS("times 3", "6i32 : i32"); // the k it was made with
    SAYS("def k = k + 1", "k: f64\n");
    SAYS("k", "11.5f64 : f64");
    SAYS("type i32 = f64", "type i32\n");
    SAYS("times 3", "6i32 : i32"); // values kept mean the old i32
    SAYS("def i32 (x: i64) = x", "i32: i64 -> i64\n");
    SAYS("i32 4", "4i64 : i64");
    CHECK(strcmp(names(), "times: i32 -> i32\nk: f64\ntype i32\ni32: i64 -> i64\n"
                          "it: i64\n") == 0);
    for (int i = 0; i < 300; i++) say("it + 1"); // nothing piles up
    SAYS("it", "304i64 : i64");
    close_session();
}

// A value is computed once, where it is defined.
static void test_values(void) {
    open_session();
    traced = 0;
    SAYS("def x = #[trace] (1 + 2i32)", "x: i32\n");
    CHECK(traced == 1);
    SAYS("def f y = x + y", "f: i32 -> i32\n");
    SAYS("f (f x)", "9i32 : i32");
    CHECK(traced == 1);
    SAYS("def a = map (+ 1) (iota 3)", "a: [3]i64\n");
    SAYS("def b = filter (> 1) a", "b: [2]i64\n"); // the size it has
    SAYS("map2 (*) b [10, 20]", "[20i64, 60i64] : [2]i64");
    SAYS("def c = copy a with [0] = 9", "c: [3]i64\n");
    SAYS("a", "[1i64, 2i64, 3i64] : [3]i64");
    SAYS("#[noinline] def g (i: i64): i64 = a[i]", "g: i64 -> i64\n");
    SAYS("g 0 + g 2", "4i64 : i64");
    SAYS("def p = zip a b[:2]", "cell:1:15: the sizes 3 and 2 differ");
    SAYS("def p = [(1, [true]), (2, [false])]", "p: [2](i32, [1]bool)\n");
    SAYS("map (.0) p", "[1i32, 2i32] : [2]i32");
    SAYS("(def, 1)", "cell:1:2: expected an expression, found `def`");
    close_session();
}

// The representation of an abstract type stays hidden although values are kept.
static void test_abstract(void) {
    open_session();
    SAYS("module type num = {type t val mk: i32 -> t val get: t -> i32}",
         "module type num\n");
    SAYS("module n: num = {type t = i32 def mk (x: i32) = x * 2 def get (x: t) = x}",
         "module n\n");
    SAYS("def v = #[trace] n.mk 3", "v: n.t\n");
    SAYS("n.get v", "6i32 : i32");
    SAYS("v + 1", "cell:1:1: `+` does not work on n.t");
    close_session();
}

static void test_given(void) {
    open_session();
    int64_t shape[] = {2, 2};
    int32_t data[] = {1, 2, 3, 4};
    WeftValue *value;
    CHECK(weft_value_new(context, WEFT_I32, 2, shape, data, &value) == WEFT_STATUS_OK);
    CHECK(weft_session_define(session, "grid", value) == WEFT_STATUS_OK);
    SAYS("transpose grid", "[[1i32, 3i32], [2i32, 4i32]] : [2][2]i32");
    static const char *const bad[] = {"",     "3x",    "def",          "a b",
                                      "(+)",  "x -- ", "x: i32 = 1\n", "x (y: i32)",
                                      "x 'a", "x[0]",  "m.x",          "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(weft_session_define(session, bad[i], value) == WEFT_STATUS_USAGE);
    weft_value_free(value);
    SAYS("grid[1, 1]", "4i32 : i32");
    CHECK(strcmp(names(), "grid: [2][2]i32\nit: i32\n") == 0);
    close_session();
}

// ---- files --------------------------------------------------------------------------

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) abort();
}

static void test_files(void) {
    char folder[] = "/tmp/weft-session-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) abort();
    write_file("base.weft", "def k = 7i32");
    write_file("geo.weft", "import \"base\"\ndef area (r: f64) = 3 * r * r\n"
                           "def scaled x = k * x\n");
    write_file("bad.weft", "def f x = y\n");
    open_session();
    const char *types;
    SAYS("def old = 1", "old: i32\n");
    CHECK(weft_session_load(session, "bad.weft", &types) == WEFT_STATUS_PROGRAM);
    CHECK(weft_session_load(session, "none.weft", &types) == WEFT_STATUS_IO);
    SAYS("old", "1i32 : i32");
    CHECK(weft_session_load(session, "geo.weft", &types) == WEFT_STATUS_OK);
    CHECK(strcmp(types, "area: f64 -> f64\nscaled: i32 -> i32\n") == 0);
    SAYS("old", "cell:1:1: unknown name `old`");
    SAYS("scaled 2", "14i32 : i32");
    write_file("base.weft", "def k = false"); // what was read stays as it was
    SAYS("scaled 3", "21i32 : i32");
    SAYS("import \"base\"", "");
    SAYS("k", "7i32 : i32");
    CHECK(weft_session_load(session, "geo.weft", &types) == WEFT_STATUS_PROGRAM);
    unlink("base.weft");
    SAYS("k", "7i32 : i32");
    close_session();
    unlink("geo.weft");
    unlink("bad.weft");
    if (chdir("/") != 0) abort();
    CHECK(rmdir(folder) == 0);
}

// The program that a session amounts to means the same.
static void test_source(void) {
    open_session();
    say("def x = 1");
    say("2");
    say("def f y = y + it");
    say("let x = f x\nlet z = x\n");
    CHECK(strcmp(source(),
                 "open {\ndef x = 1\ndef it: i32 = 2i32\ndef f y = y + it\n}\n"
                 "let x = f x\nlet z = x\n") == 0);
    char *text = strdup(source());
    if (text == NULL) abort();
    WeftProgram *program;
    CHECK(weft_program_from_source(context, "saved", text, strlen(text), &program) ==
          WEFT_STATUS_OK);
    free(text);
    close_session();
}

// ---- questions ----------------------------------------------------------------------

static bool completes(const char *prefix, const char *name) {
    const char *text;
    if (weft_session_complete(session, prefix, &text) != WEFT_STATUS_OK) return false;
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || at[-1] == '\n') && at[length] == '\n') return true;
    return false;
}

static const char *type_of(const char *text) {
    const char *type;
    WeftStatus status = weft_session_type(session, "q", text, strlen(text), &type);
    return status == WEFT_STATUS_OK ? type : weft_message(context);
}

static void test_questions(void) {
    open_session();
    say("def scale (x: f32) = x * 2");
    say("module m = {def inner = 1 local def hidden = 2}");
    say("1");
    CHECK(strcmp(type_of("scale"), "f32 -> f32") == 0);
    CHECK(strcmp(type_of("1 / 0"), "i32") == 0); // not evaluated
    CHECK(strcmp(type_of("nope"), "q:1:1: unknown name `nope`") == 0);
    CHECK(strcmp(type_of("def x = 1"), "q:1:1: expected an expression, found `def`") ==
          0);
    CHECK(strcmp(type_of(""), "q:1:1: expected an expression, found the end of the "
                              "file") == 0);
    CHECK(completes("sc", "scale") && completes("sc", "scan"));
    CHECK(completes("f64.sq", "f64.sqrt") && completes("m.", "m.inner"));
    CHECK(!completes("m.", "m.hidden") && !completes("sc", "map"));
    CHECK(completes("", "it") && !completes("none.", "none."));
    CHECK(!completes(".", "it") && !completes("m.inner.", "m.inner."));
    const char *core;
    CHECK(weft_session_core(session, "q", "scale 3", 7, &core) == WEFT_STATUS_OK &&
          strstr(core, "entry it") != NULL);
    CHECK(weft_session_core(session, "q", "scale", 5, &core) == WEFT_STATUS_USAGE);
    SAYS("it", "1i32 : i32"); // questions leave it alone
    close_session();
}

static void test_more(void) {
    static const struct {
        const char *text;
        int wants;
    } cases[] = {
        {"1 +", 1},
        {"(1,", 1},
        {"def f x =", 1},
        {"let x = 1 in", 1},
        {"if true then 1", 1},
        {"module m = {", 1},
        {"#[unsafe]", 1},
        {"[1, 2", 1},
        {"type t =", 1},
        {"1 + 2", 0},
        {"def f x = x", 0},
        {"let x = 1", 0},
        {"1 + + )", 0},
        {"", 0},
        {"-- ", 0},
        {")", 0},
        {"\"abc", 0},
        {"\xff (", 0},
        {"match 1 case 1 -> 2", 0},
        {"match 1\ncase 1 -> 2\n", 1},
        {"def f x =\n  match x\n  case 1 -> 2\n", 1},
        {"def f x =\n  x\n", 0},
    };
    open_session();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int wants = weft_text_wants_more(context, cases[i].text, strlen(cases[i].text));
        if (wants != cases[i].wants) printf("%s: %d\n", cases[i].text, wants);
        CHECK(wants == cases[i].wants);
    }
    close_session();
}

static void test_usage(void) {
    open_session();
    WeftValue *value;
    const char *text;
    WeftSession *none;
    CHECK(weft_session_new(NULL, &none) == WEFT_STATUS_USAGE);
    CHECK(weft_session_new(context, NULL) == WEFT_STATUS_USAGE);
    CHECK(weft_session_eval(NULL, "", "1", 1, &value, &text) == WEFT_STATUS_USAGE);
    CHECK(weft_session_eval(session, "", NULL, 1, &value, &text) == WEFT_STATUS_USAGE);
    CHECK(weft_session_eval(session, "", "1", 1, NULL, &text) == WEFT_STATUS_USAGE);
    CHECK(weft_session_load(session, NULL, &text) == WEFT_STATUS_USAGE);
    CHECK(weft_session_define(session, "x", NULL) == WEFT_STATUS_USAGE);
    CHECK(weft_session_complete(session, NULL, &text) == WEFT_STATUS_USAGE);
    CHECK(weft_text_wants_more(NULL, "(", 1) == 0);
    WeftSession *other;
    CHECK(weft_session_new(context, &other) == WEFT_STATUS_OK);
    SAYS("def x = 1", "x: i32\n");
    WeftSession *first = session;
    session = other;
    SAYS("x", "cell:1:1: unknown name `x`");
    session = first;
    weft_session_free(first);
    session = other;
    SAYS("def y = [1, 2]", "y: [2]i32\n");
    weft_session_free(NULL);
    close_session(); // frees the other
}

// ---- out of memory ------------------------------------------------------------------

static const char *const dialogue[] = {"def x = map (* 2) (iota 3)",
                                       "def f y = y + x[1]",
                                       "f 5",
                                       "(it, x)",
                                       "def x = f it.0",
                                       "it.1",
                                       NULL};

// Goes through the dialogue, each text again when memory ran out. False: something
// else happened.
static bool talk(void) {
    for (size_t i = 0; dialogue[i] != NULL; i++) {
        const char *text = dialogue[i];
        WeftValue *value;
        const char *types;
        WeftStatus status =
            weft_session_eval(session, "oom", text, strlen(text), &value, &types);
        if (status == WEFT_STATUS_MEMORY)
            status =
                weft_session_eval(session, "oom", text, strlen(text), &value, &types);
        if (status != WEFT_STATUS_OK) return false;
        weft_value_free(value);
    }
    return true;
}

static void test_memory(void) {
    open_session();
    uint64_t before = weft_testing_allocations(context);
    CHECK(talk());
    uint64_t total = weft_testing_allocations(context) - before;
    close_session();
    uint64_t step = total / 600 + 1, bad = 0;
    for (uint64_t k = 1; k <= total; k += step) {
        open_session();
        weft_testing_fail_allocation(context, k);
        bool is_good = talk() &&
                       strcmp(say("it"), "[0i64, 2i64, 4i64] : [3]i64") == 0 &&
                       strcmp(say("x"), "9i64 : i64") == 0;
        bad += !is_good || weft_testing_context_free(context) != 0;
    }
    CHECK(bad == 0);
}

int main(void) {
    test_answers();
    test_mistakes();
    test_hiding();
    test_values();
    test_abstract();
    test_given();
    test_files();
    test_source();
    test_questions();
    test_more();
    test_usage();
    test_memory();
    return test_done();
}
