// SPDX-License-Identifier: Apache-2.0
//
// The passes of the loop room: which checks and comparisons the ranges decide and, more
// to the point, which not; what leaves a loop; which loops are made. That the answers
// stay the oracle's is the business of tests/loop.
#include <string.h>

#include "loop/build.h"
#include "loop/machine.h"
#include "loop/passes.h"
#include "session.h"

#define EMPTY "entry main() -> () { -> }"

static LoopKernel *read_kernel(Session *s, const char *text) {
    Source *source = sources_add(&s->cx.sources, STR("test.loop"), str_of(text), false);
    LoopKernel *kernel = loop_read(&s->cx, &s->arena, s->program, source);
    StrBuf faults = strbuf(&s->arena);
    CHECK(kernel != NULL);
    if (kernel == NULL)
        printf("  %s\n  gave %.*s\n", text, STR_ARG(s->cx.diags.data[0]->message));
    else CHECK(loop_verify(kernel, &faults));
    return kernel;
}

static const char *show(Session *s, const LoopKernel *kernel) {
    StrBuf text = strbuf(&s->arena);
    loop_print(kernel, &text);
    return str_terminated(&s->arena, strbuf_done(&text));
}

static uint32_t count_words(const char *text, const char *word) {
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

// Pairs of a word and how often the kernel's text has it; the list ends with NULL.
typedef struct Count {
    const char *word;
    uint32_t count;
} Count;

#define COUNTS(...) ((Count[]){__VA_ARGS__, {NULL, 0}})

static void expect_counts(const char *text, const Count *counts) {
    for (; counts->word != NULL; counts++) {
        uint32_t found = count_words(text, counts->word);
        CHECK(found == counts->count);
        if (found != counts->count)
            printf("  %s: %u times, not %u, in\n%s\n", counts->word, found,
                   counts->count, text);
    }
}

// What the text says once the passes for those targets have run up to that one.
static void expect_for(LoopTargets targets, const char *text, LoopPass last,
                       const Count *counts) {
    Session s;
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, text);
    if (kernel != NULL) {
        StrBuf faults = strbuf(&s.arena);
        kernel->is_for_gpus = targets == LOOP_FOR_ALL;
        loop_optimise(kernel, &(LoopOptions){targets, (int)last, NULL, NULL});
        CHECK(loop_verify(kernel, &faults));
        expect_counts(show(&s, kernel), counts);
    }
    stop(&s);
}

static void expect(const char *text, LoopPass last, const Count *counts) {
    expect_for(LOOP_FOR_CORES, text, last, counts);
}

// ---- ranges -------------------------------------------------------------------------

// n and m are sizes, k any number; what the statements check counts.
static void checks_left(const char *statements, uint32_t count) {
    char text[4096];
    snprintf(
        text, sizeof text,
        "kernel \"k\" ([]i64, []f32, i64, u64, i8, bool) -> () {|a: [i64], n: i64, "
        "b: [f32], m: i64, k: i64, u: u64, s: i8, c: bool| %s -> }",
        statements);
    expect(text, LOOP_PASS_RANGES, COUNTS({"check(", count}));
}

static void test_indices(void) {
    // What an index is, and one more or less than it.
    checks_left("= for(n) {|i: i64| x: bool = le(0i64, i) y: bool = lt(i, n) z: bool = "
                "and(x, y) = check(z) \"\" ->}",
                0);
    checks_left("= for(n) {|i: i64| j: i64 = add(i, 1i64) x: bool = le(j, n) y: bool = "
                "le(1i64, j) z: bool = and(x, y) = check(z) \"\" ->}",
                0);
    checks_left(
        "= for(n) {|i: i64| j: i64 = add(i, 1i64) x: bool = lt(j, n) = check(x) "
        "\"\" ->}",
        1);
    checks_left("= for(n) {|i: i64| x: bool = lt(i, m) = check(x) \"\" ->}", 1);
    checks_left("= for(n) {|i: i64| x: bool = lt(0i64, i) = check(x) \"\" ->}", 1);
    // A loop without turns says nothing to what follows it.
    checks_left(
        "= for(k) {|i: i64| = check(c) \"\" ->} x: bool = le(0i64, k) = check(x) "
        "\"\"",
        2);
    checks_left("= for(k) {|i: i64| x: bool = lt(0i64, k) = check(x) \"\" ->}", 0);
    // Of parallel, and of other types.
    checks_left("= for.parallel(n) {|i: i64| x: bool = lt(i, n) = check(x) \"\" ->}",
                0);
    checks_left("= for(u) {|i: u64| x: bool = lt(i, u) = check(x) \"\" ->}", 0);
    checks_left("= for(s) {|i: i8| x: bool = lt(i, s) y: bool = ne(s, 0i8) z: bool = "
                "and(x, y) = check(z) \"\" ->}",
                0);
    // Rows and columns of a flat index, be the product what it may.
    checks_left("p: i64 = mul(n, m) = for(p) {|i: i64| q: i64 = quot(i, m) r: i64 = "
                "rem(i, m) x: bool = lt(q, n) y: bool = lt(r, m) z: bool = and(x, y) = "
                "check(z) \"\" ->}",
                0);
    checks_left("p: i64 = mul(n, m) = for(p) {|i: i64| q: i64 = quot(i, n) x: bool = "
                "lt(q, n) = check(x) \"\" ->}",
                1);
    checks_left("p: i64 = mul(n, k) = for(p) {|i: i64| q: i64 = quot(i, k) x: bool = "
                "lt(q, n) = check(x) \"\" ->}",
                1);
    checks_left(
        "= for(n) {|i: i64| q: i64 = quot(i, 4i64) t: i64 = mul(q, 4i64) x: bool "
        "= le(t, i) = check(x) \"\" ->}",
        0);
}

// What is promised is left out, and what follows from it.
static void test_unsafe(void) {
    static const char text[] =
        "kernel \"k\" (i64, i64) -> () {|n: i64, k: i64| = for(n) {|i: i64| x: bool = "
        "lt(i, k) = unsafe check(x) \"\" j: i64 = sub(i, 1i64) y: bool = lt(j, k) = "
        "check(y) \"\" z: bool = lt(0i64, j) = check(z) \"\" ->} -> }";
    expect(text, LOOP_PASS_RANGES, COUNTS({"unsafe check(", 1}, {"= check(", 1}));
    expect(text, LOOP_PASS_UNSAFE, COUNTS({"unsafe check(", 0}, {"= check(", 1}));
    expect_for(LOOP_FOR_ALL, text, LOOP_PASS_UNSAFE, COUNTS({"unsafe check(", 0}));
}

static void test_wrapping(void) {
    // n - 1 is less than n for a size; of any number it may have wrapped.
    checks_left("p: i64 = sub(n, 1i64) x: bool = lt(p, n) = check(x) \"\"", 0);
    checks_left("p: i64 = sub(k, 1i64) x: bool = lt(p, k) = check(x) \"\"", 1);
    checks_left("p: i64 = add(k, 1i64) x: bool = lt(k, p) = check(x) \"\"", 1);
    // The sizes of what is in memory are far from it, if there is an element at all.
    checks_left("p: i64 = add(n, 1i64) x: bool = lt(n, p) = check(x) \"\"", 0);
    checks_left("p: i64 = add(n, m) x: bool = le(n, p) = check(x) \"\"", 0);
    checks_left("= if(c) {d: [u8] = alloc(k) ->} {->} p: i64 = add(k, 1i64) x: bool = "
                "lt(k, p) = check(x) \"\"",
                1);
    checks_left("p: i64 = mul(n, 16i64) x: bool = le(n, p) = check(x) \"\"", 1);
    // There is memory for no more than that.
    checks_left("d: [f32] = alloc(k) e: f32 = load(d, 0i64) x: bool = le(k, "
                "2305843009213693951i64) = check(x) \"\" y: bool = eq(e, 1f32) "
                "= check(y) \"\"",
                1);
#define ROWS     "kernel \"k\" ([][]u8) -> () {|a: [u8], h: i64, w: i64| "
#define ONE_MORE "p: i64 = add(w, 1i64) x: bool = lt(w, p) = check(x) \"\""
    expect(ROWS ONE_MORE "-> }", LOOP_PASS_RANGES, COUNTS({"check(", 1}));
    expect(ROWS "= for(h) {|i: i64| " ONE_MORE " ->} -> }", LOOP_PASS_RANGES,
           COUNTS({"check(", 0}));
    checks_left("p: i64 = neg(n) x: bool = le(p, 0i64) = check(x) \"\"", 0);
    checks_left("p: i64 = neg(k) x: bool = le(k, 0i64) y: bool = if(x) {z: bool = "
                "le(0i64, p) -> z} {-> true} = check(y) \"\"",
                1);
    checks_left("p: i64 = mul(k, 2i64) x: bool = le(k, p) = check(x) \"\"", 1);
    // i + 1 fits i8, i + 2 need not; i - 1 does not fit u64.
    checks_left("= for(s) {|i: i8| j: i8 = add(i, 1i8) x: bool = lt(i, j) = check(x) "
                "\"\" ->}",
                0);
    checks_left("= for(s) {|i: i8| j: i8 = add(i, 2i8) x: bool = lt(i, j) = check(x) "
                "\"\" ->}",
                1);
    checks_left(
        "= for(u) {|i: u64| j: u64 = sub(i, 1u64) x: bool = lt(j, u) = check(x) "
        "\"\" ->}",
        1);
    // Nothing is known above all i64.
    checks_left(
        "= for(u) {|i: u64| j: u64 = add(i, 1u64) x: bool = le(j, u) = check(x) "
        "\"\" ->}",
        1);
    checks_left("p: i64 = conv(u) x: bool = le(0i64, p) = check(x) \"\"", 1);
    checks_left("p: u64 = conv(k) q: i64 = conv(p) x: bool = eq(q, k) = check(x) \"\"",
                1);
    checks_left("p: i64 = conv(s) x: bool = lt(p, 128i64) y: bool = le(-128i64, p) z: "
                "bool = and(x, y) = check(z) \"\"",
                0);
    checks_left("p: i8 = conv(n) x: bool = le(0i8, p) = check(x) \"\"", 1);
    checks_left("x: bool = le(u, 18446744073709551615u64) = check(x) \"\"", 1);
    checks_left("x: bool = lt(18446744073709551615u64, u) = check(x) \"\"", 1);
}

static void test_choices(void) {
    // Clamps, and their two orders.
    checks_left(
        "= for(n) {|i: i64| p: i64 = sub(i, 3i64) j: i64 = max(0i64, p) x: bool "
        "= lt(j, n) y: bool = le(0i64, j) z: bool = and(x, y) = check(z) \"\" ->}",
        0);
    checks_left(
        "l: i64 = sub(n, 1i64) = for(n) {|i: i64| o: i64 = max(0i64, k) j: i64 = "
        "min(l, o) x: bool = lt(j, n) y: bool = le(0i64, j) z: bool = and(x, y) "
        "= check(z) \"\" ->}",
        0);
    // Without a turn around it n may be 0.
    checks_left(
        "l: i64 = sub(n, 1i64) o: i64 = max(0i64, k) j: i64 = min(l, o) x: bool "
        "= le(0i64, j) = check(x) \"\"",
        1);
    // Remainders: mod of a positive divisor is none below 0, rem may be.
    checks_left("= for(n) {|i: i64| j: i64 = mod(k, n) x: bool = le(0i64, j) y: bool = "
                "lt(j, n) z: bool = and(x, y) = check(z) \"\" ->}",
                0);
    checks_left(
        "= for(n) {|i: i64| j: i64 = rem(k, n) x: bool = le(0i64, j) = check(x) "
        "\"\" ->}",
        1);
    checks_left(
        "= for(n) {|i: i64| j: i64 = mod(i, k) x: bool = le(0i64, j) = check(x) "
        "\"\" ->}",
        1);
    checks_left("j: i64 = and(k, 7i64) x: bool = lt(j, 8i64) y: bool = le(0i64, j) z: "
                "bool = and(x, y) = check(z) \"\"",
                0);
    // What a branch gives.
    checks_left("= for(n) {|i: i64| t: bool = eq(i, 0i64) j: i64 = if(t) {-> 0i64} {p: "
                "i64 = sub(i, 1i64) -> p} x: bool = le(0i64, j) y: bool = lt(j, n) z: "
                "bool = and(x, y) = check(z) \"\" ->}",
                0);
    checks_left("= for(n) {|i: i64| t: bool = eq(i, 1i64) j: i64 = if(t) {-> 0i64} {p: "
                "i64 = sub(i, 1i64) -> p} x: bool = le(0i64, j) = check(x) \"\" ->}",
                1);
}

static void test_conditions(void) {
    // A check that passed is known to what follows, but not to what comes before.
    checks_left("x: bool = lt(k, n) = check(x) \"\" y: bool = le(k, n) = check(y) \"\"",
                1);
    checks_left("y: bool = le(k, n) = check(y) \"\" x: bool = lt(k, n) = check(x) \"\"",
                2);
    checks_left("x: bool = eq(m, n) = check(x) \"\" = for(n) {|i: i64| y: bool = lt(i, "
                "m) = check(y) \"\" ->}",
                1);
    checks_left(
        "= if(c) {x: bool = lt(k, n) = check(x) \"\" ->} {->} y: bool = lt(k, n) "
        "= check(y) \"\"",
        2);
    // Arms, and how conditions are joined.
    checks_left(
        "x: bool = lt(k, n) = if(x) {y: bool = lt(k, n) = check(y) \"\" ->} {z: "
        "bool = le(n, k) = check(z) \"\" ->}",
        0);
    checks_left(
        "x: bool = lt(k, n) y: bool = lt(k, m) z: bool = or(x, y) = if(z) {w: "
        "bool = lt(k, n) = check(w) \"\" ->} {v: bool = le(m, k) = check(v) \"\" "
        "->}",
        1);
    checks_left(
        "x: bool = lt(k, n) z: bool = if(x) {y: bool = lt(k, m) -> y} {-> false} "
        "= if(z) {w: bool = lt(k, m) = check(w) \"\" ->} {v: bool = le(m, k) = "
        "check(v) \"\" ->}",
        1);
    checks_left("x: bool = lt(k, n) t: bool = not(x) = if(t) {w: bool = le(n, k) = "
                "check(w) \"\" ->} {->}",
                0);
    // Unequal to an end of the range is less, and unequal to something within it not.
    checks_left(
        "= for(n) {|i: i64| x: bool = ne(i, 0i64) = if(x) {y: bool = lt(0i64, i) "
        "= check(y) \"\" ->} {->} ->}",
        0);
    checks_left(
        "= for(n) {|i: i64| x: bool = ne(i, 1i64) = if(x) {y: bool = lt(1i64, i) "
        "= check(y) \"\" ->} {->} ->}",
        1);
    // The guard of a loop holds in its body, not after it.
    checks_left(
        "r: i64 = while(k) {|p: i64| x: bool = lt(p, n) -> x} {|q: i64| y: bool "
        "= lt(q, n) = check(y) \"\" t: i64 = add(q, 1i64) -> t} z: bool = lt(r, "
        "n) = check(z) \"\"",
        1);
    // Floats are in no order that is known.
    checks_left("f: f32 = load(b, 0i64) x: bool = lt(f, 0f32) = if(x) {y: bool = le(f, "
                "0f32) = check(y) \"\" ->} {->}",
                1);
}

// Branches that are not taken go, and what both arms give is given by neither.
// What wraps around is found without a division.
static void wraps(const char *index, LoopPass last, uint32_t divisions,
                  uint32_t choices) {
    char text[4096];
    snprintf(text, sizeof text,
             "kernel \"k\" ([]i64, i64) -> ([]i64) {|a: [i64], n: i64, k: i64| to: "
             "[i64] = result[0](n) = for.independent(n) {|i: i64| %s x: i64 = load(a, "
             "0i64, 1i64, j) = store(to, x, 0i64, 1i64, i) ->} -> to, n}",
             index);
    expect(text, last, COUNTS({"mod(", divisions}, {"rem(", 0}, {"= if(", choices}));
}

static void test_wraps(void) {
    wraps("p: i64 = add(i, 1i64) j: i64 = mod(p, n)", LOOP_PASS_RANGES, 0, 1);
    wraps("p: i64 = sub(i, 1i64) j: i64 = mod(p, n)", LOOP_PASS_RANGES, 0, 1);
    wraps("p: i64 = add(n, i) j: i64 = mod(p, n)", LOOP_PASS_RANGES, 0, 0);
    wraps("q: i64 = add(n, i) p: i64 = sub(q, 1i64) j: i64 = mod(p, n)",
          LOOP_PASS_RANGES, 0, 1);
    wraps("q: i64 = add(n, i) p: i64 = add(q, 1i64) j: i64 = rem(p, n)",
          LOOP_PASS_RANGES, 0, 1);
    // Nothing is left to choose between the ends.
    wraps("q: i64 = add(n, i) p: i64 = add(q, 1i64) j: i64 = mod(p, n)",
          LOOP_PASS_BORDERS, 0, 2);
    // Too far, or nobody knows how far.
    wraps("p: i64 = sub(i, 2i64) j: i64 = mod(p, n)", LOOP_PASS_RANGES, 1, 0);
    wraps("p: i64 = add(i, k) j: i64 = mod(p, n)", LOOP_PASS_RANGES, 1, 0);
}

#define BRANCH(buffer, place)                                                          \
    "kernel \"k\" ([][]i64, i64) -> ([]i64) {|a: [i64], n: i64, m: i64, k: i64| to: "  \
    "[i64] = result[0](n) b: [i64] = alloc(n) = for.independent(n) {|i: i64| "         \
    "= for.independent(m) {|l: i64| c: bool = lt(k, l) x: i64 = if(c) {y: i64 = "      \
    "load(" buffer ", " place                                                          \
    ") z: i64 = add(y, 1i64) -> z} {-> i} = store(to, x, 0i64, 1i64, i) ->} "          \
    "->} -> to, n}"

static void test_early(void) {
    static const struct {
        const char *text;
        bool is_early;
    } cases[] = {
        {BRANCH("a", "0i64, m, i, 1i64, l"), true},
        {BRANCH("a", "0i64, 1i64, l"), true},
        {BRANCH("a", "0i64, m, i"), true},
        {BRANCH("a", "0i64, 1i64, l, m, i"), true},
        {BRANCH("a", "0i64, m, l, 1i64, l"), false},
        {BRANCH("a", "0i64, m, i, 1i64, i"), false},
        {BRANCH("a", "0i64, m, i, 1i64, k"), false},
        {BRANCH("a", "0i64, m, i, m, i"), false},
        {BRANCH("a", "1i64, m, i"), false},
        {BRANCH("b", "0i64, 1i64, i"), true},
        {BRANCH("b", "0i64, 1i64, l"), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Session s;
        start(&s, EMPTY);
        LoopKernel *kernel = read_kernel(&s, cases[i].text);
        loop_optimise(kernel,
                      &(LoopOptions){LOOP_FOR_CORES, LOOP_PASS_EARLY, NULL, NULL});
        const char *after = show(&s, kernel);
        bool is_early = strstr(after, "load(") < strstr(after, "= if(");
        CHECK(is_early == cases[i].is_early);
        if (is_early != cases[i].is_early) printf("%s", after);
        stop(&s);
    }
}

static void test_branches(void) {
    expect(
        "kernel \"k\" ([]i64) -> (i64) {|a: [i64], n: i64| x: bool = le(0i64, n) r: "
        "i64 = if(x) {p: i64 = load(a, 0i64) -> p} {q: i64 = load(a, 1i64) -> q} -> r}",
        LOOP_PASS_RANGES, COUNTS({"if", 0}, {"load", 1}, {"load(a, 0i64)", 1}));
    expect("kernel \"k\" (bool, i64) -> (i64) {|c: bool, k: i64| r: i64 = if(c) {-> k} "
           "{-> k} -> r}",
           LOOP_PASS_RANGES, COUNTS({"if", 0}, {"-> k", 1}));
    expect(
        "kernel \"k\" (bool) -> (bool) {|c: bool| r: bool = if(c) {-> true} {-> false} "
        "-> r}",
        LOOP_PASS_RANGES, COUNTS({"if", 0}, {"-> c", 1}));
}

// ---- digits -------------------------------------------------------------------------

#define DIGITS(turns, statements)                                                      \
    "kernel \"k\" ([]i64, i64) -> (i64) {|a: [i64], n: i64, k: i64| "                  \
    "r: i64 = for(" turns ", k) {|i: i64, s: i64| " statements "-> t} -> r}"
#define TWO_DIGITS(base)                                                               \
    "q: i64 = quot(i, " base ") m: i64 = rem(i, " base ") t: i64 = add(q, m) "

static void test_digits(void) {
    Count two[] = {
        {"for(3i64, k)", 1}, {"for(4i64, ", 1}, {"quot", 0}, {"rem", 0}, {NULL, 0}};
    Count none[] = {{"for(", 1}, {NULL, 0}};
    expect(DIGITS("12i64", TWO_DIGITS("4i64")), LOOP_PASS_DIGITS, two);
    expect(DIGITS("12i64", "m: i64 = mod(i, 4i64) t: i64 = sub(s, m) "),
           LOOP_PASS_DIGITS,
           COUNTS({"for(3i64, k)", 1}, {"for(4i64, ", 1}, {"mod", 0}));
    expect(DIGITS("24i64", "q: i64 = quot(i, 4i64) m: i64 = rem(q, 2i64) "
                           "p: i64 = quot(q, 2i64) t: i64 = add(p, m) "),
           LOOP_PASS_DIGITS,
           COUNTS({"for(3i64, k)", 1}, {"for(2i64, ", 1}, {"for(4i64, ", 1}));
    // The last turns would be too many; nobody knows how many there are; by 1 or by
    // what is not known; by two numbers; the index itself; in a parallel loop.
    expect(DIGITS("13i64", TWO_DIGITS("4i64")), LOOP_PASS_DIGITS, none);
    expect(DIGITS("n", TWO_DIGITS("4i64")), LOOP_PASS_DIGITS, none);
    expect(DIGITS("12i64", TWO_DIGITS("1i64")), LOOP_PASS_DIGITS, none);
    expect(DIGITS("12i64", TWO_DIGITS("n")), LOOP_PASS_DIGITS, none);
    expect(DIGITS("12i64", TWO_DIGITS("i")), LOOP_PASS_DIGITS, none);
    expect(DIGITS("12i64", "q: i64 = quot(i, 4i64) m: i64 = rem(i, 3i64) "
                           "t: i64 = add(q, m) "),
           LOOP_PASS_DIGITS, none);
    expect(DIGITS("12i64", "q: i64 = quot(i, 4i64) t: i64 = add(q, i) "),
           LOOP_PASS_DIGITS, none);
    expect(DIGITS("12i64", "q: i64 = quot(4i64, i) t: i64 = add(q, s) "),
           LOOP_PASS_DIGITS, none);
    expect("kernel \"k\" ([]i64) -> () {|a: [i64], n: i64| = for.parallel(12i64) "
           "{|i: i64| q: i64 = quot(i, 4i64) = store(a, q, 0i64, 1i64, q) ->} -> }",
           LOOP_PASS_DIGITS, COUNTS({"for", 1}, {"quot", 1}));
}

// ---- hoisting -----------------------------------------------------------------------

#define HOIST_BEGIN                                                                    \
    "kernel \"k\" ([]i64, i64) -> () {|a: [i64], n: i64, k: i64| = "                   \
    "for.independent(n) "                                                              \
    "{|i: i64| "
#define HOIST_END " = store(a, x, 0i64, 1i64, i) ->} -> }"

static void test_hoisting(void) {
    static const char add[] = HOIST_BEGIN "x: i64 = add(k, k)" HOIST_END;
    expect(add, LOOP_PASS_RANGES, COUNTS({"    x: i64 = add", 1}));
    expect(add, LOOP_PASS_HOIST, COUNTS({"    x: i64 = add", 0}, {"x: i64 = add", 1}));
    // It depends on the turn; it divides by what may be 0, or is positive here alone.
    expect(HOIST_BEGIN "x: i64 = add(k, i)" HOIST_END, LOOP_PASS_HOIST,
           COUNTS({"    x: i64 = add", 1}));
    expect(HOIST_BEGIN "x: i64 = mod(k, n)" HOIST_END, LOOP_PASS_HOIST,
           COUNTS({"    x: i64 = mod", 1}));
    expect(HOIST_BEGIN "x: i64 = mod(k, 3i64)" HOIST_END, LOOP_PASS_HOIST,
           COUNTS({"    x: i64 = mod", 0}, {"x: i64 = mod", 1}));
    // Within a loop of n turns n is positive; out of parallel turns nothing goes.
    expect(
        "kernel \"k\" ([]i64, i64) -> () {|a: [i64], n: i64, k: i64| = "
        "for.parallel(n) {|j: i64| = for.independent(k) {|i: i64| x: i64 = mod(k, n) "
        "= store(a, x, 0i64, 1i64, i) ->} ->} -> }",
        LOOP_PASS_HOIST, COUNTS({"\n    x: i64 = mod", 1}));
    // Constant places in arrays that are as long, and that nobody overwrites.
#define GIVEN(owned, place)                                                            \
    "kernel \"k\" (owned []i64, " owned "[]i64) -> () {|a: [i64], n: i64, b: [i64], "  \
    "m: i64| c: bool = eq(m, 4i64) = check(c) \"\" = for.independent(n) {|i: i64| "    \
    "x: i64 = load(b, 0i64, 1i64, " place ")" HOIST_END
    expect(GIVEN("", "3i64"), LOOP_PASS_HOIST,
           COUNTS({"    x: i64 = load", 0}, {"x: i64 = load", 1}));
    static const Count stays[] = {{"    x: i64 = load", 1}, {NULL, 0}};
    expect(GIVEN("", "4i64"), LOOP_PASS_HOIST, stays);
    expect(GIVEN("", "-1i64"), LOOP_PASS_HOIST, stays);
    expect(GIVEN("owned ", "3i64"), LOOP_PASS_HOIST, stays);
}

// ---- segments -----------------------------------------------------------------------

// By segments, by products, and as it was.
static void test_segments(void) {
#define DIVIDED(order, d, e)                                                           \
    "kernel \"k\" ([]i64, i64) -> () {|a: [i64], n: i64, k: i64| two: i64 = mul(k, "   \
    "2i64) = for" order "(n) {|i: i64| q: i64 = quot(i, " d ") r: i64 = rem(i, " e     \
    ") = store(a, q, 0i64, 1i64, i) = store(a, r, 0i64, 1i64, i) ->} -> }"
    expect(DIVIDED(".independent", "k", "k"), LOOP_PASS_SEGMENTS,
           COUNTS({"for.independent", 3}, {"for(", 1}, {"rem(", 1}, {"mulhi(", 1}));
    expect(DIVIDED(".parallel", "k", "k"), LOOP_PASS_SEGMENTS,
           COUNTS({"for.parallel", 3}, {"for.independent", 1}, {"rem(", 1}));
    // Remainders by twice the base: of the quotient by 2, in either fast loop.
    expect(DIVIDED(".independent", "k", "two"), LOOP_PASS_SEGMENTS,
           COUNTS({"for.independent", 3}, {"rem(i, two)", 1}, {", 2i64)", 3}));
    expect(DIVIDED(".independent", "two", "k"), LOOP_PASS_SEGMENTS,
           COUNTS({"for.independent", 3}, {"rem(", 1}));
    // Known to be short; carried state; another loop inside.
    expect(DIVIDED(".independent", "7i64", "7i64"), LOOP_PASS_SEGMENTS,
           COUNTS({"for", 1}));
    expect(DIVIDED("", "k", "k"), LOOP_PASS_SEGMENTS, COUNTS({"for", 1}));
#undef DIVIDED
}

// ---- checks -------------------------------------------------------------------------

// A loop of k turns, k being any number, over an array of n.
#define TURNS(order, body)                                                             \
    "kernel \"k\" ([]i64, i64, i64) -> () {|a: [i64], n: i64, k: i64, o: i64| = "      \
    "for" order "(k) {|i: i64| " body " = store(a, o, 0i64, 1i64, i) ->} -> }"
#define INSIDE(j)                                                                      \
    " x: bool = le(0i64, " j ") y: bool = lt(" j                                       \
    ", n) z: bool = and(x, y) = check(z, " j ") \"%0\""
#define ONE COUNTS({"for", 1}, {"check(", 1}, {"if(", 0})
#define TWO COUNTS({"for", 2}, {"check(", 1}, {"if(", 1})

static void test_checks(void) {
    // One loop without the check, one with it.
    expect(TURNS("", INSIDE("i")), LOOP_PASS_CHECKS, TWO);
    expect(TURNS(".independent", INSIDE("i")), LOOP_PASS_CHECKS, TWO);
    expect(TURNS(".parallel", INSIDE("i")), LOOP_PASS_CHECKS, TWO);
    // What wraps is negative at one end; and what goes down.
    expect(TURNS("", "j: i64 = add(o, i)" INSIDE("j")), LOOP_PASS_CHECKS, TWO);
    expect(TURNS("", "j: i64 = sub(o, i)" INSIDE("j")), LOOP_PASS_CHECKS, TWO);
    expect(TURNS("", "j: i64 = sub(i, o)" INSIDE("j")), LOOP_PASS_CHECKS, TWO);
    // So does what goes by steps, if these are tested, too: two bounds, and of the
    // turns.
    expect(TURNS("", "j: i64 = mul(i, o)" INSIDE("j")), LOOP_PASS_CHECKS,
           COUNTS({"for", 2}, {"check(", 1}, {"if(", 1}, {"2147483648i64)", 2}));
    expect(TURNS("", "p: i64 = add(i, k) q: i64 = mul(p, o) j: i64 = sub(q, n)" INSIDE(
                         "j")),
           LOOP_PASS_CHECKS, TWO);
    // What is inside has both bounds for other checks; before, one alone is not enough.
    expect(TURNS("", "j: i64 = add(o, i)" INSIDE(
                         "j") " v: bool = lt(j, k) = check(v) \"\""),
           LOOP_PASS_CHECKS, COUNTS({"for", 2}, {"check(", 2}, {"if(", 1}));
    expect(
        TURNS("", "j: i64 = add(o, i) v: bool = lt(j, k) = check(v) \"\"" INSIDE("j")),
        LOOP_PASS_CHECKS, COUNTS({"for", 2}, {"check(", 3}, {"if(", 1}));
    // Between both ends these may be anything: the index twice, a square, an element, a
    // sum that is asked for one bound alone.
    expect(TURNS("", "j: i64 = add(i, i)" INSIDE("j")), LOOP_PASS_CHECKS, ONE);
    expect(TURNS("", "j: i64 = mul(i, i)" INSIDE("j")), LOOP_PASS_CHECKS, ONE);
    expect(TURNS("", "p: i64 = mul(i, o) j: i64 = mul(p, k)" INSIDE("j")),
           LOOP_PASS_CHECKS, ONE);
    expect(TURNS("", "j: i64 = load(a, 0i64, 1i64, i)" INSIDE("j")), LOOP_PASS_CHECKS,
           ONE);
    expect(TURNS("", "j: i64 = add(i, o) y: bool = lt(j, n) = check(y) \"\""),
           LOOP_PASS_CHECKS, ONE);
    expect(TURNS("",
                 "j: i64 = add(i, o) k.1: i64 = sub(i, o) x: bool = le(0i64, k.1) y: "
                 "bool = lt(j, n) z: bool = and(x, y) = check(z) \"\""),
           LOOP_PASS_CHECKS, ONE);
    expect(TURNS("", "x: bool = ne(i, o) = check(x) \"\""), LOOP_PASS_CHECKS, ONE);
    // i + 1 does not wrap, and needs no second bound; o + i is exact only in turns that
    // another check lets pass.
    expect(TURNS("", "j: i64 = add(i, 1i64) y: bool = lt(j, n) = check(y) \"\""),
           LOOP_PASS_CHECKS, TWO);
    expect(TURNS("", "e: i64 = load(a, 0i64, 1i64, i) t: bool = lt(o, 5i64) v: bool = "
                     "lt(e, 5i64) u: bool = and(t, v) w: bool = le(0i64, e) p: bool = "
                     "and(u, w) = check(p) \"\" j: i64 = add(e, i) y: bool = lt(j, n) "
                     "= check(y) \"\""),
           LOOP_PASS_CHECKS, COUNTS({"for", 1}, {"check(", 2}));
    // What is the same in all turns; but no division moves.
    expect(TURNS(".parallel", "x: bool = eq(o, 0i64) y: bool = not(x) = check(y) \"\""),
           LOOP_PASS_CHECKS, COUNTS({"for", 2}, {"check(", 1}));
    expect(TURNS(".parallel", "p: i64 = quot(n, o) x: bool = eq(p, 0i64) = check(x) "
                              "\"\""),
           LOOP_PASS_CHECKS, ONE);
    // Loops around others stay.
    expect(TURNS("", INSIDE("i") " = for(n) {|j: i64| = store(a, j, 0i64) ->}"),
           LOOP_PASS_CHECKS, COUNTS({"for", 2}, {"check(", 1}, {"if(", 0}));
}

// ---- forward ------------------------------------------------------------------------

// Turns i that load from place p and store to i.
#define IN_ORDER(before, p)                                                            \
    "kernel \"k\" (owned []i64, owned []i64, i64) -> () {|a: [i64], n: i64, b: "       \
    "[i64], "                                                                          \
    "m: i64, k: i64| = for(n) {|i: i64| " before " p: i64 = " p                        \
    " x: i64 = load(a, 0i64, 1i64, p) y: i64 = add(x, 7i64) "                          \
    "= store(a, y, 0i64, 1i64, i) ->} -> }"

static void test_forward(void) {
    expect(IN_ORDER("", "sub(i, 1i64)"), LOOP_PASS_FORWARD,
           COUNTS({"for(n, 0i64)", 1}, {"x: i64 = if(", 1}, {"load", 1}));
    // In memory of its own, others may be stored to; but not where it is the same.
    expect(IN_ORDER("= store(b, i, i)", "sub(i, 1i64)"), LOOP_PASS_FORWARD,
           COUNTS({"for(n, 0i64)", 1}));
    expect(IN_ORDER("= store(a, i, k)", "sub(i, 1i64)"), LOOP_PASS_FORWARD,
           COUNTS({"for(n)", 1}, {"if(", 0}));
    // Other places: the turn's own, that of the next, that of two ago, one far away.
    expect(IN_ORDER("", "add(i, 0i64)"), LOOP_PASS_FORWARD, COUNTS({"for(n)", 1}));
    expect(IN_ORDER("", "add(i, 1i64)"), LOOP_PASS_FORWARD, COUNTS({"for(n)", 1}));
    expect(IN_ORDER("", "sub(i, 2i64)"), LOOP_PASS_FORWARD, COUNTS({"for(n)", 1}));
    expect(IN_ORDER("", "sub(i, k)"), LOOP_PASS_FORWARD, COUNTS({"for(n)", 1}));
}

// ---- borders ------------------------------------------------------------------------

#define STENCIL(order, count, body)                                                    \
    "kernel \"k\" (owned []i64, []i64, i64) -> () {|to: [i64], n: i64, a: [i64], m: "  \
    "i64, k: i64| l: i64 = sub(n, 1i64) = for." order "(" count ") {|i: i64| " body    \
    " x: i64 = load(a, 0i64, 1i64, j) = store(to, x, 0i64, 1i64, i) ->} -> }"
#define CLAMP "p: i64 = sub(i, 1i64) j: i64 = max(0i64, p)"
#define TABLED(table, body)                                                            \
    "kernel \"k\" (owned []i64, []i64, i64) -> () {|to: [i64], n: i64, a: [i64], m: "  \
    "i64, k: i64| t: [i64] = data " table                                              \
    " b: i64 = mod(k, 2i64) s: i64 = load(t, b) "                                      \
    "= for.independent(n) {|i: i64| p: i64 = sub(i, s) " body                          \
    " x: i64 = load(a, 0i64, "                                                         \
    "1i64, j) = store(to, x, 0i64, 1i64, i) ->} -> }"

static void test_borders(void) {
    // One loop for the ends, one without the clamp.
    expect(STENCIL("independent", "n", CLAMP), LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 2}, {"max(0i64, p", 1}, {"load", 2}));
    expect(STENCIL("parallel", "n", CLAMP), LOOP_PASS_BORDERS,
           COUNTS({"for.parallel", 2}, {"max(0i64, p", 1}, {"load", 2}));
    expect(STENCIL("independent", "n", "p: i64 = add(i, 1i64) j: i64 = min(l, p)"),
           LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 2}, {"min(l", 1}, {"load", 2}));
    expect(STENCIL("independent", "n", "p: i64 = sub(i, 2i64) j: i64 = mod(p, n)"),
           LOOP_PASS_BORDERS, COUNTS({"for.independent", 2}, {"mod(", 1}, {"load", 2}));
    expect(STENCIL("independent", "n",
                   "t: bool = eq(i, l) j: i64 = if(t) {q: i64 = load(a, 0i64) -> q} "
                   "{-> i}"),
           LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 2}, {"eq(", 1}, {"load(a, 0i64)", 1}));
    // Values of a table move the ends by as much as they are.
    expect(TABLED("[1, -2]", "j: i64 = max(0i64, p)"), LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 2}, {"min(1i64, n)", 1}, {"max(0i64, p", 1}));
    expect(TABLED("[3, 7]", "j: i64 = max(0i64, p)"), LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 2}, {"min(7i64, n)", 1}, {"max(0i64, p", 1}));
    expect(TABLED("[1, -2]", "c: bool = le(p, 3i64) j: i64 = if(c) {-> i} {-> k}"),
           LOOP_PASS_BORDERS, COUNTS({"for.independent", 2}, {"min(5i64, n)", 1}));
    expect(TABLED("[1, 99]", "j: i64 = max(0i64, p)"), LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 1}));
    // The ends are too wide, or nowhere; there are too few turns.
    expect(STENCIL("independent", "n", "p: i64 = sub(i, 99i64) j: i64 = max(0i64, p)"),
           LOOP_PASS_BORDERS, COUNTS({"for.independent", 1}));
    expect(STENCIL("independent", "n", "p: i64 = sub(i, k) j: i64 = max(0i64, p)"),
           LOOP_PASS_BORDERS, COUNTS({"for.independent", 1}));
    expect(STENCIL("independent", "k", CLAMP), LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 1}));
    expect(STENCIL("independent", "8i64", CLAMP), LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 1}));
    // A turn that may stop: the first of those counts.
    expect(STENCIL("independent", "n", CLAMP " c: bool = lt(j, k) = check(c) \"\""),
           LOOP_PASS_BORDERS, COUNTS({"for.independent", 1}, {"check", 1}));
    // A branch that is the same in all turns leaves the loop.
    expect(STENCIL("independent", "n",
                   "c: bool = lt(k, 7i64) j: i64 = if(c) {q: i64 = load(a, 0i64) -> q} "
                   "{-> i}"),
           LOOP_PASS_BORDERS,
           COUNTS({"for.independent", 2}, {"if(", 1}, {"load(a, 0i64)", 1}));
    // Not where devices run it, too.
    Session s;
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, STENCIL("independent", "n", CLAMP));
    loop_optimise(kernel, &(LoopOptions){LOOP_FOR_ALL, LOOP_PASSES_ALL, NULL, NULL});
    CHECK(count_words(show(&s, kernel), "for.independent") == 1);
    stop(&s);
}

// ---- ends ---------------------------------------------------------------------------

// What the text says once the ends of rows are vectors of so many bytes.
static void expect_ends(uint32_t bytes, const char *text, const Count *counts) {
    Session s;
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, text);
    if (kernel != NULL) {
        StrBuf faults = strbuf(&s.arena);
        kernel->vector_bytes = bytes;
        loop_borders(kernel);
        loop_ends(kernel);
        CHECK(loop_verify(kernel, &faults));
        expect_counts(show(&s, kernel), counts);
    }
    stop(&s);
}

static void test_ends(void) {
    // Four lanes at the end that differs, in rows of eight cells or more.
    expect_ends(32, STENCIL("independent", "n", CLAMP),
                COUNTS({"le(8i64, n)", 1}, {"for.independent(", 3},
                       {"for.independent(4i64)", 1}, {"max(0i64, p", 1}, {"load", 4}));
    expect_ends(64, STENCIL("parallel", "n", CLAMP),
                COUNTS({"le(16i64, n)", 1}, {"for.independent(8i64)", 1},
                       {"for.parallel(", 2}));
    // At both, if both do: the first lane is another, and the last.
    expect_ends(32,
                STENCIL("independent", "n",
                        "p: i64 = sub(i, 1i64) q: i64 = max(0i64, p) u: i64 = load(a, "
                        "0i64, 1i64, q) = store(to, u, 0i64, 1i64, i) r: i64 = add(i, "
                        "1i64) j: i64 = min(l, r)"),
                COUNTS({"for.independent(4i64)", 2}, {"sub(n, 8i64)", 1}));
    // A wrap, by two: the first two lanes are others.
    expect_ends(32,
                STENCIL("independent", "n", "p: i64 = sub(i, 2i64) j: i64 = mod(p, n)"),
                COUNTS({"for.independent(4i64)", 1}, {", 2i64)", 3}, {"load", 4}));
    // Conditions are on the number of the lane.
    expect_ends(32,
                STENCIL("independent", "n",
                        "t: bool = eq(i, l) j: i64 = add(i, 0i64) u: i64 = load(a, "
                        "0i64, 1i64, j) v: i64 = if(t) {-> k} {-> u} = store(to, v, "
                        "0i64, 1i64, i)"),
                COUNTS({"for.independent(4i64)", 1}, {"le(3i64, ", 1}));
    // As many as is known.
    expect_ends(32, STENCIL("independent", "64i64", CLAMP),
                COUNTS({"for.independent(4i64)", 1}, {"for.independent(", 2},
                       {"max(0i64, p", 0}));
    // Without lanes; places all over; indices as values.
    expect_ends(0, STENCIL("independent", "n", CLAMP),
                COUNTS({"for.independent(", 2}, {"4i64", 0}));
    expect_ends(
        32,
        STENCIL("independent", "n",
                "p: i64 = sub(i, 1i64) q: i64 = max(0i64, p) j: i64 = mul(q, k)"),
        COUNTS({"for.independent(4i64)", 0}));
    expect_ends(32, STENCIL("independent", "n", CLAMP " = store(to, j, 0i64, 1i64, i)"),
                COUNTS({"for.independent(", 2}, {"for.independent(4i64)", 0}));
}

// ---- on GPUs ------------------------------------------------------------------------

// Turns that are rows, of blocks of 64 elements; u is a row's own memory.
#define PARTS(length, before, turns, part, join)                                       \
    "kernel \"k\" ([][]f32) -> ([]f32) {|xs: [f32], n: i64, m: i64| "                  \
    "r: [f32] = result[0](n) = for.parallel(n) {|i: i64| row: i64 = mul(m, i) "        \
    "u: [f32] = alloc(m) b: i64 = quot(" length ", 64i64) " before                     \
    " = for(b) {|k: i64| l: [f32] = alloc(64i64) "                                     \
    "= for.independent(" turns ") {|j: i64| " part " = store(l, x, j) ->} "            \
    "y: f32 = load(l, 0i64) " join " ->} "                                             \
    "z: f32 = load(u, 0i64) = store(r, z, i) ->} -> r, n}"
#define BY_ROW "p: i64 = add(row, j) x: f32 = load(xs, p, 64i64, k)"
#define CHOICE(c, arm, other)                                                          \
    "kernel \"k\" ([][]f32) -> ([]f32) {|xs: [f32], n: i64, m: i64| "                  \
    "r: [f32] = result[0](n) = for.parallel(n) {|i: i64| c: bool = lt(" c ", 9i64) "   \
    "y: f32 = if(c) {" arm "} {" other "} = store(r, y, i) ->} -> r, n}"
#define SUMMED                                                                         \
    "z: f32 = for(m, 0f32) {|k: i64, s: f32| x: f32 = load(xs, i, n, k) "              \
    "t: f32 = add(s, x) -> t} -> z"
#define MULTIPLIED                                                                     \
    "w: f32 = for(m, 1f32) {|q: i64, p: f32| v: f32 = load(xs, i, n, q) "              \
    "u: f32 = mul(p, v) -> u} -> w"

#define ROW_CHOICE(c)                                                                  \
    "kernel \"k\" ([][]f32) -> ([][]f32) {|xs: [f32], n: i64, m: i64| "                \
    "r: [f32] = result[0](n, m) = for.parallel(n) {|i: i64| c: bool = lt(" c           \
    ", 9i64) "                                                                         \
    "= for.independent(m) {|j: i64| y: f32 = if(c) {" SUMMED "} {" MULTIPLIED "} "     \
    "= store(r, y, 0i64, m, i, 1i64, j) ->} ->} -> r, n, m}"

static void expect_rows(const char *text, uint32_t loops) {
    expect_for(LOOP_FOR_ALL, text, LOOP_PASS_BLOCKS, COUNTS({"for.parallel", loops}));
}

static void test_blocks(void) {
    // Blocks become turns, so many rows at once; what they make goes through memory.
    const char *parts = PARTS("m", "", "64i64", BY_ROW, "= store(u, y, k)");
    expect_for(LOOP_FOR_ALL, parts, LOOP_PASS_BLOCKS,
               COUNTS({"for.parallel", 2}, {"quot(1048576i64", 1}, {"keep(", 1},
                      {"load(xs", 1}, {"store(u", 1}));
    expect(parts, LOOP_PASS_BLOCKS, COUNTS({"for.parallel", 1}));
    // Joining may stop; there may be several scalars, and what is before is made twice.
    expect_rows(PARTS("m", "w: f32 = load(xs, i)", "64i64", BY_ROW,
                      "c: bool = lt(y, w) = check(c) \"\" = store(u, y, k)"),
                2);
    // A block may stop, reads what joining stores, or is nothing for a team.
    expect_rows(PARTS("m", "", "64i64", "c: bool = lt(j, n) = check(c) \"\" " BY_ROW,
                      "= store(u, y, k)"),
                1);
    expect_rows(PARTS("m", "", "64i64", "x: f32 = load(u, j)", "= store(u, y, k)"), 1);
    expect_rows(PARTS("m", "", "8i64", BY_ROW, "= store(u, y, k)"), 1);
    // Neighbouring rows read neighbours.
    expect_rows(
        PARTS("m", "", "64i64", "x: f32 = load(xs, i, n, j)", "= store(u, y, k)"), 1);
    // Joining stores where blocks may look; what is before could stop.
    expect_rows(PARTS("m", "", "64i64", BY_ROW, "= store(r, y, i)"), 1);
    expect_rows(PARTS("m", "c: bool = lt(m, 5i64) = check(c) \"\"", "64i64", BY_ROW,
                      "= store(u, y, k)"),
                1);
    // Rows of different lengths.
    expect_rows(PARTS("row", "", "64i64", BY_ROW, "= store(u, y, k)"), 1);
}

static void test_choices_on_gpus(void) {
    // Once for all turns, if they fold either way; not what differs between them.
    const char *choice = CHOICE("m", SUMMED, MULTIPLIED);
    expect_for(LOOP_FOR_ALL, choice, LOOP_PASS_CHOICES,
               COUNTS({"for.parallel", 2}, {"load", 2}, {"if(", 1}));
    expect_for(LOOP_FOR_ALL, CHOICE("m", SUMMED, "-> 1f32"), LOOP_PASS_CHOICES,
               COUNTS({"for.parallel", 1}));
    expect_for(LOOP_FOR_ALL, CHOICE("i", SUMMED, MULTIPLIED), LOOP_PASS_CHOICES,
               COUNTS({"for.parallel", 1}));
    expect(choice, LOOP_PASS_CHOICES, COUNTS({"for.parallel", 1}));
    // So in a map over a matrix; the rows need not choose alike.
    expect_for(LOOP_FOR_ALL, ROW_CHOICE("m"), LOOP_PASS_CHOICES,
               COUNTS({"for.parallel", 2}, {"for.independent", 2}, {"if(", 1}));
    expect_for(LOOP_FOR_ALL, ROW_CHOICE("i"), LOOP_PASS_CHOICES,
               COUNTS({"for.parallel", 1}, {"for.independent", 1}, {"if(", 1}));
    expect(ROW_CHOICE("m"), LOOP_PASS_CHOICES, COUNTS({"for.parallel", 1}));
}

// ---- the table ----------------------------------------------------------------------

// ---- short loops --------------------------------------------------------------------

#define TABLE "t: [i64] = data [4, -2, 9] "
#define SHORT(body)                                                                    \
    "kernel \"k\" ([]i64, i64) -> () {|a: [i64], n: i64, k: i64| " TABLE               \
    "= for.independent(n) {|i: i64| " body " ->} -> }"
#define FILL(order, times, place)                                                      \
    "r: [i64] = alloc(3i64) = for" order "(" times ") {|j: i64| p: i64 = add(i, j) "   \
    "x: i64 = load(a, 0i64, k, p) = store(r, x, " place ") ->} "
#define SUM                                                                            \
    "s: i64 = for(3i64, 0i64) {|l: i64, u: i64| v: i64 = load(r, 0i64, 1i64, l) "      \
    "w: i64 = add(u, v) -> w} = store(a, s, 0i64, 1i64, i)"

static void test_tables(void) {
    // Every element becomes a constant, and what is not picked by the turn stays.
    expect(SHORT("s: i64 = for(3i64, k) {|j: i64, u: i64| x: i64 = load(t, 0i64, 1i64, "
                 "j) y: i64 = mul(u, x) -> y} = store(a, s, 0i64, 1i64, i)"),
           LOOP_PASS_UNROLL,
           COUNTS({"for", 1}, {"load", 0}, {"4i64)", 1}, {"-2i64)", 1}, {"9i64)", 1}));
    expect(SHORT("s: i64 = for(3i64, k) {|j: i64, u: i64| x: i64 = load(t, 0i64, 1i64, "
                 "i) y: i64 = mul(u, x) -> y} = store(a, s, 0i64, 1i64, i)"),
           LOOP_PASS_UNROLL, COUNTS({"for", 2}, {"load", 1}));
    // Beyond the table nothing is known; it is no constant.
    expect(SHORT("x: i64 = load(t, 3i64) = store(a, x, 0i64, 1i64, i)"),
           LOOP_PASS_RANGES, COUNTS({"load", 1}));
    expect(SHORT("x: i64 = load(t, 1i64, -1i64, 1i64) = store(a, x, 0i64, 1i64, i)"),
           LOOP_PASS_RANGES, COUNTS({"load", 0}, {"store(a, 4i64", 1}));
    // Too many turns, and a number of them that is not known.
    expect(SHORT("= for(33i64) {|j: i64| x: i64 = load(t, j) = store(a, x, j) ->}"),
           LOOP_PASS_UNROLL, COUNTS({"for", 2}));
    expect(SHORT("= for(k) {|j: i64| x: i64 = load(t, j) = store(a, x, j) ->}"),
           LOOP_PASS_UNROLL, COUNTS({"for", 2}));
    // What is loaded is between the least and the greatest.
    expect(SHORT("x: i64 = load(t, i) c: bool = le(-2i64, x) d: bool = le(x, 9i64) "
                 "= check(c) \"\" = check(d) \"\""),
           LOOP_PASS_RANGES, COUNTS({"check", 0}));
    expect(SHORT("x: i64 = load(t, i) c: bool = le(-1i64, x) d: bool = le(x, 8i64) "
                 "= check(c) \"\" = check(d) \"\""),
           LOOP_PASS_RANGES, COUNTS({"check", 2}));
    // A load goes out of a loop only where it is within the table.
    expect(SHORT("= for(n) {|j: i64| x: i64 = load(t, 2i64, -1i64, k) "
                 "= store(a, x, j) ->}"),
           LOOP_PASS_HOIST, COUNTS({"\n      x: i64 = load", 1}));
    expect(SHORT("m: i64 = mod(i, 3i64) = for(n) {|j: i64| x: i64 = load(t, m) "
                 "= store(a, x, j) ->}"),
           LOOP_PASS_HOIST, COUNTS({"\n    x: i64 = load", 1}));
}

// Elements of the kernel's arrays that the index alone says.
#define TAKE(owned, times, place)                                                      \
    "kernel \"k\" (owned []i64, " owned "[]i64) -> () {|a: [i64], n: i64, b: [i64], "  \
    "m: i64| = for.independent(n) {|i: i64| s: i64 = for(" times                       \
    ", 0i64) {|j: i64, u: i64| p: i64 = add(" place ", 1i64) c: bool = lt(p, m) "      \
    "= check(c) \"\" x: i64 = load(b, 0i64, 1i64, p) v: i64 = add(u, x) "              \
    "w: i64 = mul(v, i) -> w} = store(a, s, 0i64, 1i64, i) ->} -> }"

static void test_few(void) {
    static const Count stays[] = {{"for", 2}, {"load", 1}, {NULL, 0}};
    expect(TAKE("", "4i64", "j"), LOOP_PASS_UNROLL,
           COUNTS({"for", 1}, {"load", 4}, {"load(b, 0i64, 1i64, 4i64)", 1}));
    expect(TAKE("", "9i64", "j"), LOOP_PASS_UNROLL, stays);
    expect(TAKE("", "4i64", "i"), LOOP_PASS_UNROLL, stays);
    expect(TAKE("owned ", "4i64", "j"), LOOP_PASS_UNROLL, stays);
}

// Neighbours that stay within an array, or begin anew at its end, are for borders to
// take apart; windows of such in a nest, too, if they are small.
#define NEAR(times, place)                                                             \
    "kernel \"k\" (owned []i64, []i64) -> () {|a: [i64], n: i64, b: [i64], m: i64| "   \
    "= for.independent(n) {|i: i64| s: i64 = for(" times ", 0i64) {|l: i64, t: i64| "  \
    "o: i64 = add(i, l) f: i64 = min(o, m) w: i64 = for(" times ", t) {|j: i64, "      \
    "u: i64| p: i64 = add(i, j) q: i64 = " place " x: i64 = load(b, f, 1i64, q) "      \
    "v: i64 = add(u, x) -> v} -> w} = store(a, s, 0i64, 1i64, i) ->} -> }"

static void test_neighbours(void) {
    expect(NEAR("5i64", "max(p, 7i64)"), LOOP_PASS_UNROLL,
           COUNTS({"for", 1}, {"load", 25}));
    expect(NEAR("5i64", "mod(p, 7i64)"), LOOP_PASS_UNROLL,
           COUNTS({"for", 1}, {"load", 25}));
    expect(NEAR("5i64", "sub(p, 7i64)"), LOOP_PASS_UNROLL,
           COUNTS({"for", 6}, {"load", 5}));
    expect(NEAR("9i64", "max(p, 7i64)"), LOOP_PASS_UNROLL,
           COUNTS({"for", 3}, {"load", 1}));
}

static void test_registers(void) {
    expect(SHORT(FILL(".independent", "3i64", "2i64, -1i64, j") SUM),
           LOOP_PASS_REGISTERS,
           COUNTS({"for", 1}, {"alloc", 0}, {"load", 3}, {"store", 1}));
    // An element that is not stored; a place that the turn around says; one loop that
    // is long, or turns as often as k says.
    expect(SHORT(FILL("", "2i64", "0i64, 1i64, j") SUM), LOOP_PASS_REGISTERS,
           COUNTS({"alloc", 1}, {"load", 5}, {"store", 3}));
    expect(SHORT(FILL("", "3i64", "0i64, k, j") SUM), LOOP_PASS_REGISTERS,
           COUNTS({"for", 3}, {"alloc", 1}));
    expect(SHORT(FILL("", "40i64", "0i64, 0i64, j") SUM), LOOP_PASS_REGISTERS,
           COUNTS({"for", 3}, {"alloc", 1}));
    expect(SHORT(FILL("", "k", "0i64, 1i64, 0i64") SUM), LOOP_PASS_REGISTERS,
           COUNTS({"for", 3}, {"alloc", 1}));
    // What was stored last counts; a store in a branch stays.
    expect(SHORT("r: [i64] = alloc(1i64) = store(r, i, 0i64) x: i64 = load(r, 0i64) "
                 "= store(r, k, 0i64) y: i64 = load(r, 0i64) z: i64 = sub(x, y) "
                 "= store(a, z, 0i64, 1i64, i)"),
           LOOP_PASS_REGISTERS, COUNTS({"alloc", 0}, {"sub(i, k)", 1}));
    expect(
        SHORT("r: [i64] = alloc(1i64) = store(r, i, 0i64) c: bool = lt(i, k) = if(c) "
              "{= store(r, k, 0i64) ->} {->} y: i64 = load(r, 0i64) "
              "= store(a, y, 0i64, 1i64, i)"),
        LOOP_PASS_REGISTERS, COUNTS({"alloc", 1}, {"load", 1}));
}

// A window of p by q that each turn makes, element by element, and what it does then.
#define WINDOW(stride, made, rest)                                                     \
    "kernel \"k\" (owned []f32, []f32, i64, i64) -> () {|r: [f32], n: i64, a: [f32], " \
    "m: i64, p: i64, q: i64| = for.parallel(n) {|x: i64| l: i64 = mul(p, q) "          \
    "t: [f32] = alloc(l) = for.independent(p) {|i: i64| = for.independent(q) "         \
    "{|j: i64| y: i64 = add(x, j) v: f32 = load(a, 0i64, m, i, 1i64, y) " made         \
    "= store(t, v, 0i64, " stride ", i, 1i64, j) -> } -> } " rest                      \
    "= store(r, s, 0i64, 1i64, x) -> } -> }"
#define FOLD_TO(out, size, step)                                                       \
    out ": f32 = for(" size ", 0f32) {|k: i64, u: f32| "                               \
        "e: f32 = load(t, 0i64, 1i64, k) " step "-> w} "
#define FOLD_BY(size, step) FOLD_TO("s", size, step)
#define FOLD                FOLD_BY("l", "w: f32 = add(u, e) ")

static void test_meet(void) {
    static const Count meets[] = {{"alloc", 0}, {"for(", 2}, {"store", 1}, {NULL, 0}};
    static const Count stays[] = {{"alloc", 1}, {"for(", 1}, {"store", 2}, {NULL, 0}};
    expect(WINDOW("q", "", FOLD), LOOP_PASS_MEET, meets);
    // not in the order in which it lies there; not all of it
    expect(WINDOW("p", "", FOLD), LOOP_PASS_MEET, stays);
    expect(WINDOW("q", "", FOLD_BY("p", "w: f32 = add(u, e) ")), LOOP_PASS_MEET, stays);
    // somebody else looks at it, or the fold does at another place
    expect(WINDOW("q", "", FOLD "z: f32 = load(t, 0i64) = store(r, z, 0i64, 1i64, n) "),
           LOOP_PASS_MEET, COUNTS({"alloc", 1}, {"for(", 1}));
    expect(
        WINDOW("q", "", FOLD_BY("l", "z: f32 = load(t, 0i64) w: f32 = fma(u, z, e) ")),
        LOOP_PASS_MEET, stays);
    // the number of an element, which the fold asks for; a check in the nest, and one
    // behind it, which stays there
    expect(
        WINDOW("q", "c: bool = lt(y, m) = check(c) \"in\" ",
               "d: bool = lt(q, m) = check(d) \"behind\" " FOLD_BY(
                   "l", "g: f32 = load(a, 0i64, 1i64, k) w: f32 = fma(e, g, u) ")),
        LOOP_PASS_MEET,
        COUNTS({"alloc", 0}, {"for(", 2}, {"load", 2}, {"\"in\"", 1}, {"behind", 1}));
    // a fold that may stop
    expect(WINDOW("q", "",
                  FOLD_BY("l", "c: bool = lt(k, m) = check(c) \"\" "
                               "w: f32 = add(u, e) ")),
           LOOP_PASS_MEET, stays);
    // in an arm: both have the nest, and that one meets it there
    expect(WINDOW("q", "",
                  "d: bool = lt(q, 9i64) f: f32 = if(d) {" FOLD_TO(
                      "h", "l", "w: f32 = add(u, e) ") "-> h} {g: f32 = load(t, 0i64) "
                                                       "-> g} s: f32 = neg(f) "),
           LOOP_PASS_MEET,
           COUNTS({"alloc", 1}, {"for(", 2}, {"for.independent", 2}, {"store", 2}));
}

// Elements of h by w by 3, from `a` and to `to`, which has places of its own.
#define PIXELS(order, before, outer, inner, place, body)                               \
    "kernel \"k\" (owned [][][]i64, [][][]i64, i64) -> () {|to: [i64], h: i64, w: "    \
    "i64, three: i64, a: [i64], hh: i64, ww: i64, cc: i64, k: i64| " before            \
    "= for." order "(h) {|y: i64| " outer "= for.independent(w) {|x: i64| " inner      \
    "= for.independent(3i64) {|c: i64| e: i64 = load(a, " place ") " body              \
    "->} ->} ->} ->}"
#define AT    "p, 3i64, x, 1i64, c"
#define ROW   "row: i64 = mul(w, 3i64) "
#define START "p: i64 = mul(row, y) "
#define STORE "= store(to, e, " AT ") "

static void test_flat(void) {
    static const Count all[] = {{"for.parallel", 1}, {"for.independent", 0}, {NULL, 0}};
    static const Count rows[] = {
        {"for.parallel", 1}, {"for.independent", 1}, {NULL, 0}};
    static const Count none[] = {
        {"for.parallel", 1}, {"for.independent", 2}, {NULL, 0}};
    expect(PIXELS("parallel", ROW, START, "", AT, STORE), LOOP_PASS_FLAT, all);
    expect(PIXELS("parallel", ROW, "", START, AT, STORE), LOOP_PASS_FLAT, all);
    expect(PIXELS("parallel", ROW, START,
                  "q: i64 = mul(x, 3i64) r: i64 = add(p, q) s: i64 = add(r, k) ",
                  "r, 1i64, c", "= store(to, e, s, 1i64, c) "),
           LOOP_PASS_FLAT,
           COUNTS({"for.parallel", 1}, {"for.independent", 0}, {", k, 1i64", 1}));
    expect(
        PIXELS("parallel", ROW, "q: i64 = add(y, k) ", "",
               "0i64, row, q, 3i64, x, 1i64, c",
               "p: i64 = mul(row, y) = store(to, e, 0i64, row, y, 3i64, x, 1i64, c) "),
        LOOP_PASS_FLAT,
        COUNTS({"for.parallel", 1}, {"for.independent", 0}, {"row, k, 1i64", 1}));
    // rows of which an index says the place, and a part of each; what all rows have
    expect(PIXELS("parallel", ROW, "o: i64 = mul(k, y) ", "", "o, 3i64, x, 1i64, c",
                  "p: i64 = mul(row, y) " STORE),
           LOOP_PASS_FLAT, rows);
    expect(PIXELS("parallel", ROW, START, "", "0i64, 3i64, x, 1i64, c", STORE),
           LOOP_PASS_FLAT, rows);
    expect(PIXELS("parallel", ROW, START, "", "p, 4i64, x, 1i64, c", STORE),
           LOOP_PASS_FLAT, none);
    expect(PIXELS("parallel", ROW, START, "", "p, 3i64, x, 0i64, k", STORE),
           LOOP_PASS_FLAT, none);
    expect(PIXELS("parallel", ROW, START, "", "p, 1i64, x, w, c", STORE),
           LOOP_PASS_FLAT, none);
    // an index, or what depends on it, that is wanted for itself; a check; turns that
    // may not go in any order
    expect(PIXELS("parallel", ROW, START, "", AT, "= store(to, c, " AT ") "),
           LOOP_PASS_FLAT, none);
    expect(PIXELS("parallel", ROW, START, "", AT,
                  "f: i64 = add(e, x) = store(to, f, " AT ") "),
           LOOP_PASS_FLAT, none);
    expect(PIXELS("parallel", ROW, START, "", AT,
                  "q: bool = lt(e, k) f: i64 = if(q) {-> e} {-> y} = store(to, f, " AT
                  ") "),
           LOOP_PASS_FLAT, rows);
    expect(PIXELS("parallel", ROW, START, "q: bool = lt(x, k) = check(q) \"\" ", AT,
                  STORE),
           LOOP_PASS_FLAT, none);
    expect("kernel \"k\" (owned [][]i64) -> () {|to: [i64], h: i64, w: i64| "
           "= for.parallel(h) {|y: i64| = for.independent(y) {|x: i64| "
           "= store(to, 7i64, 0i64, y, y, 1i64, x) ->} ->} ->}",
           LOOP_PASS_FLAT, rows);
    expect("kernel \"k\" (owned [][]i64) -> () {|to: [i64], h: i64, w: i64| "
           "= for(h) {|y: i64| = for.independent(w) {|x: i64| "
           "= store(to, 7i64, 0i64, w, y, 1i64, x) ->} ->} ->}",
           LOOP_PASS_FLAT, COUNTS({"for(", 1}, {"for.independent", 1}));
}

// What has been computed where it is seen is not computed again.
static void test_computed(void) {
    expect(
        SHORT("x: i64 = mul(k, k) c: bool = lt(i, k) y: i64 = if(c) {z: i64 = mul(k, "
              "k) -> z} {-> i} = store(a, x, y)"),
        LOOP_PASS_RANGES, COUNTS({"mul", 1}));
    expect(SHORT("c: bool = lt(i, k) y: i64 = if(c) {z: i64 = mul(k, k) -> z} {-> i} "
                 "x: i64 = mul(k, k) = store(a, x, y)"),
           LOOP_PASS_RANGES, COUNTS({"mul", 2}));
    expect(
        SHORT("x: i64 = sub(k, i) y: i64 = sub(i, k) z: i8 = conv(i) w: i16 = conv(i) "
              "v: i64 = conv(z) u: i64 = conv(w) = store(a, x, y, v, u)"),
        LOOP_PASS_RANGES, COUNTS({"sub", 2}, {"conv", 4}));
    expect(
        SHORT("c: bool = lt(i, k) x: i64 = if(c) {-> i} {-> k} y: i64 = if(c) {-> k} "
              "{-> i} z: i64 = if(c) {-> i} {-> k} = store(a, x, y, z, z)"),
        LOOP_PASS_RANGES, COUNTS({"if", 2}));
}

// A vector of which all lanes are a known number is no number.
static void test_known_lanes(void) {
    expect("kernel \"k\" (owned []i64) -> () {|a: [i64], n: i64| "
           "= for.independent[4](n) {|i: i64| l: i64[4] = lanes x: i64[4] = mul(l, "
           "0i64) = store(a, x, 0i64, 1i64, i) ->} {|j: i64| "
           "= store(a, 0i64, 0i64, 1i64, j) ->} ->}",
           LOOP_PASS_RANGES, COUNTS({"store(a, x", 1}, {"mul", 1}));
}

// ---- rows ---------------------------------------------------------------------------

// Rows of w cells, each from what is above, below and there, and what else is said.
#define NEXT                                                                           \
    "p: i64 = sub(y, 1i64) q: i64 = max(0i64, p) r: i64 = add(y, 1i64) "               \
    "s: i64 = min(l, r) "
#define CELL(z)                                                                        \
    "u: i64 = load(a, 0i64, " z "w, q, 1i64, x) "                                      \
    "v: i64 = load(a, 0i64, " z "w, s, 1i64, x) "                                      \
    "o: i64 = load(a, 0i64, " z "w, y, 1i64, x) = store(to, u, v, o, y, 1i64, x) "
#define GRID(order, rows, number, count, body)                                         \
    "kernel \"k\" (owned [][]i64, [][]i64, i64) -> () {|to: [i64], h: i64, w: i64, "   \
    "a: [i64], hh: i64, ww: i64, k: i64| l: i64 = sub(h, 1i64) "                       \
    "= for" order "(" rows ") {|i: i64| " number " " NEXT "= for.independent(" count   \
    ") {|x: i64| " CELL("") body " ->} ->} -> }"
#define Y "y: i64 = min(i, i)"

static void test_rows(void) {
    // Four rows look at six; rows that are left at three each.
    expect(GRID(".parallel", "h", Y, "w", ""), LOOP_PASS_ROWS,
           COUNTS({"for.parallel", 1}, {"for.independent", 3}, {"load", 9},
                  {"store", 5}, {"max(0i64", 2}, {"min(l", 2}));
    expect(GRID(".independent", "h", Y, "w", ""), LOOP_PASS_ROWS,
           COUNTS({"for.independent", 4}, {"load", 9}, {"store", 5}));
    // Pairs (z, y) are found anew.
    expect("kernel \"k\" (owned [][][]i64, [][][]i64) -> () {|to: [i64], d: i64, "
           "h: i64, w: i64, a: [i64], dd: i64, hh: i64, ww: i64| n: i64 = mul(d, h) "
           "m: i64 = mul(h, w) l: i64 = sub(h, 1i64) = for.parallel(n) {|i: i64| "
           "y: i64 = rem(i, h) z: i64 = quot(i, h) " NEXT
           "= for.independent(w) {|x: i64| " CELL("m, z, ") " ->} ->} -> }",
           LOOP_PASS_ROWS,
           COUNTS({"for.parallel", 1}, {"for.independent", 3}, {"load", 9},
                  {"quot(", 3}, {"rem(", 1}));
    // What is shared is a quarter: where rows are short, if that can be known before
    // them.
#define OWN                                                                            \
    "t1: i64 = load(a, 1i64, 3i64, y, 2i64, x) t2: i64 = load(a, 2i64, 3i64, y, "      \
    "2i64, "                                                                           \
    "x) t3: i64 = load(a, 4i64, 3i64, y, 2i64, x) = store(to, t1, t2, t3, x) "
    expect(GRID(".parallel", "h", Y, "w", OWN), LOOP_PASS_ROWS,
           COUNTS({"le(w, 192i64)", 1}, {"load", 24}, {"store", 10}));
    expect(GRID(".parallel", "h", Y " f: i64 = sub(w, 2i64)", "f", OWN), LOOP_PASS_ROWS,
           COUNTS({"192i64)", 1}, {"load", 24}, {"store", 10}));
    expect(GRID(".parallel", "h", Y, "64i64", OWN), LOOP_PASS_ROWS,
           COUNTS({"192i64", 0}, {"load", 24}, {"store", 10}));
    expect(GRID(".parallel", "h", Y, "500i64", OWN), LOOP_PASS_ROWS,
           COUNTS({"store", 2}));
    expect(GRID(".parallel", "h", Y " f: i64 = load(a, k)", "f", OWN), LOOP_PASS_ROWS,
           COUNTS({"store", 2}));
    // In order; as long as the row says; a row that may stop.
    expect(GRID("", "h", Y, "w", ""), LOOP_PASS_ROWS, COUNTS({"store", 1}));
    expect(GRID(".parallel", "h", Y, "y", ""), LOOP_PASS_ROWS, COUNTS({"store", 1}));
    expect(GRID(".parallel", "h", Y, "w", "c: bool = lt(u, k) = check(c) \"\""),
           LOOP_PASS_ROWS, COUNTS({"store", 1}));
    // What is stored is loaded, and might be what another row has stored.
    expect(GRID(".parallel", "h", Y, "w", "t: i64 = load(to, x) = store(to, t, k)"),
           LOOP_PASS_ROWS, COUNTS({"store", 2}));
    // The index of pairs is wanted for more; it is divided by two numbers.
    expect(GRID(".parallel", "k", "y: i64 = rem(i, h)", "w", "= store(to, i, i)"),
           LOOP_PASS_ROWS, COUNTS({"store", 2}));
    expect(GRID(".parallel", "k", "y: i64 = rem(i, h) z: i64 = quot(i, w)", "w",
                "= store(to, z, k)"),
           LOOP_PASS_ROWS, COUNTS({"store", 2}));
    // Nothing in common.
    expect("kernel \"k\" (owned [][]i64, []i64) -> () {|to: [i64], h: i64, w: i64, "
           "a: [i64], n: i64| = for.parallel(h) {|y: i64| = for.independent(w) "
           "{|x: i64| u: i64 = load(a, 0i64, w, y, 1i64, x) "
           "= store(to, u, 0i64, w, y, 1i64, x) ->} ->} -> }",
           LOOP_PASS_ROWS, COUNTS({"store", 1}));
}

// However a sum was computed, it is there once, if it is one that does not wrap.
static void test_sums(void) {
    expect(SHORT("x: i64 = add(i, 1i64) y: i64 = add(x, 1i64) z: i64 = add(i, 2i64) "
                 "v: i64 = sub(z, 1i64) = store(a, x, y, z, v)"),
           LOOP_PASS_RANGES, COUNTS({"add", 2}, {"sub", 0}));
    expect(SHORT("x: i64 = add(k, 1i64) y: i64 = add(x, 1i64) z: i64 = add(k, 2i64) "
                 "= store(a, x, y, z, k)"),
           LOOP_PASS_RANGES, COUNTS({"add", 3}));
}

// ---- turns at once ------------------------------------------------------------------

// n turns, in each of which m values of its row are summed; x is the same in all.
#define SUMS(order, turns, statements)                                                 \
    "kernel \"k\" ([]i64, []i64, []i64) -> () {|a: [i64], n: i64, b: [i64], m: i64, "  \
    "c: [i64], l: i64| = " order "(" turns ") {|i: i64| " statements                   \
    "s: i64 = for(m, 0i64) {|j: i64, t: i64| x: i64 = load(b, 0i64, 1i64, j) "         \
    "y: i64 = load(c, 0i64, 3i64, i, 1i64, j) p: i64 = mul(x, y) u: i64 = add(t, p) "  \
    "-> u} = store(a, s, 0i64, 1i64, i) ->} -> }"

static void test_jam(void) {
    static const Count alone[] = {{"load(b", 1}, {"load(c", 1}, {"for", 2}, {NULL, 0}};
    // Eight turns and those that are left; four, of which none is.
    expect(SUMS("for.independent", "n", ""), LOOP_PASS_JAM,
           COUNTS({"load(b", 2}, {"load(c", 9}, {"for(m", 2}, {"for.independent", 2}));
    expect(SUMS("for.independent", "4i64", ""), LOOP_PASS_JAM,
           COUNTS({"load(b", 1}, {"load(c", 4}, {"for(m", 1}, {"store(", 4}));
    expect(SUMS("for.independent", "1i64", ""), LOOP_PASS_JAM, alone);
    expect(SUMS("for", "n", ""), LOOP_PASS_JAM, alone);
    expect(SUMS("for.parallel", "n", ""), LOOP_PASS_JAM, alone);
    // They stop, or make memory.
    expect(
        SUMS("for.independent", "n",
             "z: i64 = load(c, 0i64, 5i64, i) k: bool = lt(z, n) = check(k) \"no\" "),
        LOOP_PASS_JAM, COUNTS({"load(b", 1}, {"for", 2}));
    expect(SUMS("for.independent", "n",
                "q: mark = mark z: [i64] = alloc(m) = store(z, i, 0i64) = keep(q) "),
           LOOP_PASS_JAM, alone);
}

// Folds of a few steps in turns that go at once are straight code.
static void test_jam_steps(void) {
#define STEPS(n)                                                                       \
    "kernel \"k\" (owned []i64, []i64) -> () {|a: [i64], n: i64, b: [i64], m: i64| "   \
    "= for.independent(4i64) {|i: i64| s: i64 = for(" n ", 0i64) {|j: i64, t: i64| "   \
    "x: i64 = load(b, 0i64, 1i64, i, 1i64, j) u: i64 = add(t, x) -> u} "               \
    "= store(a, s, 0i64, 1i64, i) ->} -> }"
    expect(STEPS("3i64"), LOOP_PASS_JAM,
           COUNTS({"load(", 12}, {"1i64, 2i64)", 4}, {"for", 1}));
    expect(STEPS("9i64"), LOOP_PASS_JAM, COUNTS({"load(", 4}, {"for", 2}));
    expect(STEPS("m"), LOOP_PASS_JAM, COUNTS({"load(", 4}, {"for", 2}));
}

// ---- loads behind loops -------------------------------------------------------------

// Whether the pass has put all loads of b behind the loop of m turns.
static bool is_late(const char *params, const char *before, const char *after) {
    Session s;
    start(&s, EMPTY);
    StrBuf text = strbuf(&s.arena);
    strbuf_printf(&text,
                  "kernel \"k\" (owned []i64, %s []i64, i64) -> () {|a: [i64], n: i64, "
                  "b: [i64], l: i64, m: i64| x: i64 = load(b, 3i64) %s "
                  "s: i64 = for(m, 0i64) {|i: i64, t: i64| u: i64 = add(t, i) -> u} "
                  "%s p: i64 = add(s, x) = store(a, p, 0i64) -> }",
                  params, before, after);
    LoopKernel *kernel = read_kernel(&s, str_terminated(&s.arena, strbuf_done(&text)));
    StrBuf faults = strbuf(&s.arena);
    loop_optimise(kernel,
                  &(LoopOptions){LOOP_FOR_CORES, (int)LOOP_PASS_LATE, NULL, NULL});
    CHECK(loop_verify(kernel, &faults));
    const char *shown = show(&s, kernel);
    bool is = strstr(shown, "load(b") > strstr(shown, "for(m");
    stop(&s);
    return is;
}

static void test_late(void) {
    CHECK(is_late("", "", ""));
    CHECK(is_late("", "y: i64 = add(n, m)", "z: i64 = mul(s, n)"));
    // Used before the loop, or in it; of memory that is written; nothing in between.
    CHECK(!is_late("", "= store(a, x, 1i64)", ""));
    CHECK(!is_late("", "= for(m) {|j: i64| = store(a, x, 0i64, 1i64, j) ->}", ""));
    CHECK(!is_late("owned", "", ""));
    // What needs it for a place moves, too.
    CHECK(is_late("", "y: i64 = load(b, x)", "= store(a, y, 2i64)"));
    CHECK(
        !is_late("", "y: i64 = load(b, x) = store(a, x, 1i64)", "= store(a, y, 2i64)"));
}

// ---- what a check has found equal ---------------------------------------------------

static void test_equal(void) {
#define EQUAL(statements)                                                              \
    "kernel \"k\" (owned []i64, i64, i64, bool) -> () {|a: [i64], n: i64, k: i64, "    \
    "m: i64, c: bool| p: i64 = mul(k, m) " statements " -> }"
#define STORE(x) "= store(a, " x ", 0i64) "
#define IS(x, y) "e: bool = eq(" x ", " y ") = check(e) \"no\" "
    // a constant for the value, and for what was computed of it; not before the check
    expect(EQUAL(IS("k", "28i64") STORE("k")), LOOP_PASS_EQUAL,
           COUNTS({"store(a, 28i64", 1}));
    expect(EQUAL(IS("28i64", "k") STORE("k")), LOOP_PASS_EQUAL,
           COUNTS({"store(a, 28i64", 1}));
    expect(EQUAL(STORE("k") IS("k", "28i64")), LOOP_PASS_EQUAL,
           COUNTS({"store(a, k", 1}));
    expect(
        EQUAL(IS("k", "28i64") "f: bool = eq(m, 3i64) = check(f) \"no\" " STORE("p")),
        LOOP_PASS_EQUAL, COUNTS({"store(a, 84i64", 1}));
    expect(EQUAL(IS("k", "28i64") STORE("p")), LOOP_PASS_EQUAL,
           COUNTS({"store(a, p", 1}));
    // of two values the first
    expect(EQUAL(IS("m", "k") STORE("m")), LOOP_PASS_EQUAL, COUNTS({"store(a, k", 1}));
    // a comparison that is not checked says nothing, nor does a check in a branch
    expect(EQUAL("e: bool = eq(k, 28i64) " STORE("k")), LOOP_PASS_EQUAL,
           COUNTS({"store(a, k", 1}));
    expect(EQUAL("= if(c) {" IS("k", "28i64")
                     STORE("k") "-> } {" STORE("k") "-> } " STORE("k")),
           LOOP_PASS_EQUAL, COUNTS({"store(a, 28i64", 1}, {"store(a, k", 2}));
}

static void count_pass(void *data, const LoopPassInfo *pass, const LoopKernel *kernel) {
    (void)kernel;
    CHECK(pass->summary[0] != '\0');
    ++*(int *)data;
}

static void test_table(void) {
    LoopPass pass;
    CHECK(loop_pass_find(STR("hoist"), &pass) && pass == LOOP_PASS_HOIST);
    CHECK(!loop_pass_find(STR("soup"), &pass));
    Session s;
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, STENCIL("independent", "n", CLAMP));
    int count = 0;
    LoopOptions options = {LOOP_FOR_CORES, LOOP_PASSES_NONE, count_pass, &count};
    loop_optimise(kernel, &options);
    CHECK(count == 0);
    options.stop_after = LOOP_PASS_HOIST;
    loop_optimise(kernel, &options);
    CHECK(count == LOOP_PASS_HOIST + 1);
    stop(&s);
}

// Every allocation fails once.
static void optimise_in(Session *s, Arena *arena, bool *done_out) {
    jmp_buf recover;
    arena->mem->recover = &recover;
    if (setjmp(recover) != 0) return;
    Source source = {.name = STR("test.loop"),
                     .text = STR(STENCIL("independent", "n", CLAMP))};
    LoopKernel *kernel = loop_read(&s->cx, arena, s->program, &source);
    loop_optimise(kernel, &(LoopOptions){LOOP_FOR_CORES, LOOP_PASSES_ALL, NULL, NULL});
    *done_out = true;
}

static void test_out_of_memory(void) {
    Session s;
    start(&s, EMPTY);
    bool is_done = false;
    uint64_t k = 1;
    for (; !is_done && k < 1000000; k++) {
        Mem mem = {.fail_at = k};
        Arena arena;
        arena_init(&arena, &mem);
        optimise_in(&s, &arena, &is_done);
        arena_free(&arena);
        CHECK(mem.used == 0);
    }
    CHECK(is_done && k > 3);
    stop(&s);
}

// ---- buffers that swap --------------------------------------------------------------

// A turn makes each array behind a check of its own. What says that the first one is
// made is part of what says so of the second.
static void test_swaps(void) {
    expect(
        "kernel \"k\" ([]f32, i64, i64, i64) -> ([]f32, []f32) {|a: [f32], n: i64, k: "
        "i64, l: i64, m: i64| h: mark = mark x: [f32], y: [f32] = for(k, a, a) {|i: "
        "i64, u: [f32], v: [f32]| c: bool = lt(n, l) = check(c) \"c\" t: [f32] = "
        "alloc(n) d: bool = lt(l, m) = check(d) \"d\" s: [f32] = alloc(n) = "
        "for.independent(n) {|j: i64| e: f32 = load(u, 0i64, 1i64, j) f: f32 = "
        "load(v, 0i64, 1i64, j) = store(t, f, 0i64, 1i64, j) = store(s, e, 0i64, "
        "1i64, j) ->} q: [f32], r: [f32] = keep(h, t, s) -> q, r} -> x, n, y, n}",
        LOOP_PASS_MEMORY, COUNTS({"alloc(", 2}, {"keep(", 0}, {" and(", 2}));
}

// ---- results that are owned parameters ----------------------------------------------

#define COPY(to, i, x)                                                                 \
    "= for.independent(n) {|" i ": i64| " x ": f32 = load(a, 0i64, 1i64, " i ") "      \
    "= store(" to ", " x ", 0i64, 1i64, " i ") ->} "

// Whether a result that is a copy of the parameter is made, for want of that being it.
static void is_made(const char *port, const char *size, const char *besides,
                    bool does) {
    char text[2048];
    snprintf(text, sizeof text,
             "kernel \"k\" (%s, i64) -> ([]f32, f32) {|a: [f32], n: i64, m: i64| "
             "= store(a, 2f32, 0i64, 1i64, 0i64) r: [f32] = result[0](%s) " COPY(
                 "r", "i", "x") "%s y: f32 = load(a, 0i64, 1i64, 0i64) -> r, %s, y}",
             port, size, besides, size);
    expect(text, LOOP_PASS_SETTLE, COUNTS({"result[", does}));
}

static void test_owned(void) {
    is_made("owned []f32", "n", "", false);
    is_made("owned []f32", "m", "", true);
    is_made("owned []f32", "m", "c: bool = eq(m, n) = check(c) \"c\"", false);
    is_made("owned []f32", "m", "c: bool = le(m, n) = check(c) \"c\"", true);
    is_made("owned []f32", "n", "= store(a, 3f32, 0i64, 1i64, 1i64)", true);
    // One of two results, which are not to share it.
    expect(
        "kernel \"k\" (owned []f32) -> ([]f32, []f32) {|a: [f32], n: i64| "
        "r: [f32] = result[0](n) " COPY("r", "i", "x") "s: [f32] = result[1](n) " COPY(
            "s", "j", "y") "-> r, n, s, n}",
        LOOP_PASS_SETTLE, COUNTS({"result[", 1}));
    // What is others' is no result.
    expect("kernel \"k\" ([]f32) -> ([]f32) {|a: [f32], n: i64| "
           "r: [f32] = result[0](n) " COPY("r", "i", "x") "-> r, n}",
           LOOP_PASS_SETTLE, COUNTS({"result[", 1}));
}

// ---- guards -------------------------------------------------------------------------

// So many keys of a turn, each of which counts in its bin if it has one. Key number
// `odd` is so many places further than it should be, or has something else about it.
typedef struct Keys {
    const char *type;
    int count, odd, places;
    const char *bound, *otherwise, *counts;
} Keys;

static void looks_once(const Keys *keys, bool does) {
    char text[16384];
    const char *type = keys->type;
    int at = snprintf(text, sizeof text,
                      "kernel \"k\" (owned []%s, owned []%s, i64, u64, u64) -> () "
                      "{|keys: [%s], n: i64, bins: [%s], m: i64, k: i64, bound: u64, "
                      "other: u64| = for(k) {|t: i64| i: i64 = mul(t, %di64) ",
                      type, type, type, type, keys->count);
    for (int j = 0; j < keys->count; j++) {
        bool is_odd = j == keys->odd;
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "p%d: i64 = add(i, %di64) k%d: %s = load(keys, 0i64, 1i64, p%d) "
                       "w%d: i64 = conv(k%d) u%d: u64 = conv(w%d) "
                       "c%d: bool = lt(u%d, %s) = if(c%d) {x%d: %s = load(bins, 0i64, "
                       "1i64, w%d) y%d: %s = add(x%d, 1%s) = store(%s, y%d, 0i64, "
                       "1i64, w%d) ->} {%s->} ",
                       j, j + (is_odd ? keys->places : 0), j, type, j, j, j, j, j, j, j,
                       is_odd && keys->bound != NULL ? keys->bound : "bound", j, j,
                       type, j, j, type, j, type,
                       is_odd && keys->counts != NULL ? keys->counts : "bins", j, j,
                       is_odd && keys->otherwise != NULL ? keys->otherwise : "");
    }
    snprintf(text + at, sizeof text - (size_t)at, "->} -> }");
    uint32_t branches = (uint32_t)keys->count;
    expect_for(LOOP_FOR_HERE, text, LOOP_PASS_GUARDS,
               COUNTS({"below(", does}, {"= if(", branches + does},
                      {"= store(", branches << does}));
}

static void test_guards(void) {
    uint32_t bytes = machine_vector_bytes();
    looks_once(&(Keys){"i32", 8, -1}, bytes > 0);
    looks_once(&(Keys){"u32", 8, -1}, bytes > 0);
    looks_once(&(Keys){"u32", 16, -1}, false); // too many for one
    looks_once(&(Keys){"i64", 4, -1}, bytes > 0);
    looks_once(&(Keys){"i32", 4, -1}, false); // too few for a vector
    looks_once(&(Keys){"i32", 12, -1}, false);
    looks_once(&(Keys){"i16", 16, -1}, false); // u16 may be i16 in between
    looks_once(&(Keys){"i32", 8, 3, 1}, false);
    looks_once(&(Keys){"i32", 8, 3, 0, "other"}, false);
    looks_once(&(Keys){"i32", 8, 3, 0, NULL, "= check(c3) \"none\" "}, false);
    looks_once(&(Keys){"i32", 8, 3, 0, NULL, NULL, "keys"}, false);
}

// ---- constants ----------------------------------------------------------------------

// One of a kind, whichever builder makes them; of those that were taken back none.
static void test_constants(void) {
    Session s;
    start(&s, EMPTY);
    LoopKernel *kernel =
        read_kernel(&s, "kernel \"k\" (i64) -> (i64) {|n: i64| -> 7i64}");
    if (kernel != NULL) {
        LoopBuilder first = loop_builder(kernel);
        LoopRef seven = loop_int(&first, 7);
        CHECK(seven == kernel->root->results[0]);
        CHECK(loop_const(&first, SCALAR_I32, 7) != seven);
        uint32_t before = kernel->values.len;
        LoopRef zero = loop_int(&first, 0);
        kernel->values.len = before;
        LoopBuilder second = loop_builder(kernel);
        LoopRef variable = loop_value(&second, loop_scalar_type(SCALAR_I64), 0);
        CHECK(variable == zero && loop_int(&second, 7) == seven);
        LoopRef again = loop_int(&second, 0);
        CHECK(again != variable && loop_int(&second, 0) == again);
        LoopBuilder third = loop_builder(loop_compact(kernel, &s.arena));
        CHECK(loop_int(&third, 7) == third.kernel->root->results[0]);
    }
    stop(&s);
}

int main(void) {
    test_table();
    test_indices();
    test_unsafe();
    test_wrapping();
    test_choices();
    test_conditions();
    test_wraps();
    test_early();
    test_branches();
    test_digits();
    test_hoisting();
    test_segments();
    test_checks();
    test_borders();
    test_ends();
    test_blocks();
    test_choices_on_gpus();
    test_forward();
    test_jam();
    test_jam_steps();
    test_late();
    test_equal();
    test_tables();
    test_few();
    test_neighbours();
    test_registers();
    test_meet();
    test_flat();
    test_known_lanes();
    test_computed();
    test_rows();
    test_swaps();
    test_owned();
    test_guards();
    test_constants();
    test_sums();
    test_out_of_memory();
    return test_done();
}
