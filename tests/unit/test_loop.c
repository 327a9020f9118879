// SPDX-License-Identifier: Apache-2.0
//
// The loop language: its text, its verifier, and what lowering makes of programs: how
// much memory, which loops, who owns what. That the answers are the oracle's is the
// business of tests/loop.
#include <string.h>

#include "loop/loop.h"
#include "session.h"

// ---- text ---------------------------------------------------------------------------

static LoopKernel *read_kernel(Session *s, const char *text) {
    Source *source = sources_add(&s->cx.sources, STR("test.loop"), str_of(text), false);
    return loop_read(&s->cx, &s->arena, s->program, source);
}

static const char *show(Session *s, const LoopKernel *kernel) {
    StrBuf text = strbuf(&s->arena);
    loop_print(kernel, &text);
    return str_terminated(&s->arena, strbuf_done(&text));
}

#define EMPTY "entry main() -> () { -> }"

static void test_text(void) {
    static const char text[] = "function \"half\" {|x: f64|\n"
                               "  %1: f64 = mul(x, 0x1p-1f64)\n"
                               "  -> %1\n"
                               "}\n"
                               "\n"
                               "plain function \"twice\" {|w: f64|\n"
                               "  %2: f64 = add(w, w)\n"
                               "  -> %2\n"
                               "}\n"
                               "\n"
                               "kernel \"main\" (owned []f64, bool) -> ([]f64, i32) "
                               "{|a: [f64], n: i64, c: bool|\n"
                               "  t: [i32] = data [1, -2, 3]\n"
                               "  m: mark = mark\n"
                               "  b: [f64] = alloc(n)\n"
                               "  = for(n) {|i: i64|\n"
                               "    x.1: f64 = load(a, 0i64, 1i64, i)\n"
                               "    y: f64 = call[0](x.1)\n"
                               "    = check(c, y, i) \"no \\\"%0\\\"\\nat %1\"\n"
                               "    = store(b, y, 0i64, 1i64, i)\n"
                               "    ->\n"
                               "  }\n"
                               "  b.1: [f64] = keep(m, b)\n"
                               "  k: i32 = while(0i32) {|k.1: i32|\n"
                               "    %3: bool = lt(k.1, 7i32)\n"
                               "    -> %3\n"
                               "  } {|k.2: i32|\n"
                               "    %4: i32 = load(t, 2i64)\n"
                               "    %5: i32 = add(k.2, %4)\n"
                               "    -> %5\n"
                               "  }\n"
                               "  r: [f64] = result[0](n)\n"
                               "  = for.parallel(n) {|j: i64|\n"
                               "    z: f64 = load(b.1, 0i64, 1i64, j)\n"
                               "    = for.independent(k) {|l: i32|\n"
                               "      = atomic.max(t, l, 0i64, 1i64, j)\n"
                               "      = check(c) \"\"\n"
                               "      ->\n"
                               "    }\n"
                               "    v: f64 = if(c) {-> z} {-> 1f64}\n"
                               "    = store(r, v, 0i64, 1i64, j)\n"
                               "    ->\n"
                               "  }\n"
                               "  -> r, n, k\n"
                               "}\n";
    Session s;
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, text);
    CHECK(kernel != NULL);
    if (kernel != NULL) {
        const char *again = show(&s, kernel);
        CHECK(strcmp(again, text) == 0);
        if (strcmp(again, text) != 0) printf("%s", again);
        CHECK(kernel->is_parallel && kernel->params[0].is_owned);
        StrBuf faults = strbuf(&s.arena);
        bool is_sound = loop_verify(kernel, &faults);
        CHECK(is_sound);
        if (!is_sound) printf("%.*s", STR_ARG(strbuf_done(&faults)));
    }
    stop(&s);
}

static void refuse_text(const char *text, const char *wanted) {
    Session s;
    start(&s, EMPTY);
    CHECK(read_kernel(&s, text) == NULL);
    CHECK(s.cx.diags.error_count == 1);
    bool ok =
        s.cx.diags.len == 1 &&
        strstr(str_terminated(&s.arena, s.cx.diags.data[0]->message), wanted) != NULL;
    CHECK(ok);
    if (!ok && s.cx.diags.len > 0)
        printf("  %s\n  gave %.*s\n", text, STR_ARG(s.cx.diags.data[0]->message));
    stop(&s);
}

#define KERNEL "kernel \"k\" () -> () "

static void test_bad_text(void) {
    refuse_text("", "expected kernel, found the end of the file");
    refuse_text("kernel k", "expected a text in quotes");
    refuse_text("kernel \"k\" (f63) -> () {->}", "expected a type, found f63");
    refuse_text(KERNEL "{", "expected a statement or ->");
    refuse_text(KERNEL "{->} x", "expected the end of the file, found x");
    refuse_text(KERNEL "{ = fly(1i64) -> }", "fly is no operator");
    refuse_text(KERNEL "{ = atomic.fly(1i64) -> }", "atomic.fly is no operator");
    refuse_text(KERNEL "{ = atomic(1i64) -> }", "atomic is no operator");
    refuse_text(KERNEL "{ = if.parallel(true) -> }", "if.parallel is no operator");
    refuse_text(KERNEL "{ x: i64 = add(1i64, y) -> }", "y is not bound");
    refuse_text(KERNEL "{ x: i64 = add(1i64, 1) -> }", "1 is a number without a type");
    refuse_text(KERNEL "{ x: i64 = alloc(1i64) x: i64 = alloc(1i64) -> }",
                "x is bound twice");
    refuse_text(KERNEL "{ b: [i8] = data [300] -> }", "expected an element");
    refuse_text(KERNEL "{ = check(true) -> }", "expected a text in quotes");
    refuse_text(KERNEL "{ = unsafe alloc(1i64) -> }", "expected a check");
    refuse_text(KERNEL "{ r: [i8] = result[x](1i64) -> }", "expected a number");
    refuse_text(KERNEL "{ = if(true) {->} {->} {->} -> }", "expected no further body");
    refuse_text(KERNEL "{ x: i8[129] = splat(1i8) -> }", "at most 128 lanes");
    refuse_text(KERNEL "{ x: i8[1] = splat(1i8) -> }", "expected a number");
    refuse_text(KERNEL "{ x: i8[4 = splat(1i8) -> }", "expected ]");
}

// ---- the verifier -------------------------------------------------------------------

static void find_fault(const char *text, const char *wanted) {
    Session s;
    start(&s, EMPTY);
    const LoopKernel *kernel = read_kernel(&s, text);
    StrBuf faults = strbuf(&s.arena);
    CHECK(kernel != NULL);
    if (kernel == NULL) {
        printf("  %s: %.*s\n", text, STR_ARG(s.cx.diags.data[0]->message));
    } else {
        CHECK(!loop_verify(kernel, &faults));
        const char *found = str_terminated(&s.arena, strbuf_done(&faults));
        bool ok = strstr(found, wanted) != NULL;
        CHECK(ok);
        if (!ok) printf("  %s\n  gave %s\n", text, found);
    }
    stop(&s);
}

static void test_verifier(void) {
    find_fault(KERNEL
               "{ = for(1i64) {|i: i64| j: i64 = add(i, 1i64) ->} k: i64 = add(j, "
               "1i64) -> }",
               "used out of scope");
    find_fault(KERNEL "{ x: i64 = add(1i64, 1i32) -> }", "arg 1 has the wrong type");
    find_fault(KERNEL "{ x: i32 = add(1i64, 1i64) -> }",
               "its result has the wrong type");
    find_fault(KERNEL "{ x: i64 = sqrt(1i64) -> }", "it does not take i64");
    find_fault(KERNEL "{ b: [f32] = alloc(1i64) x: f64 = load(b, 0i64) -> }",
               "the element has the wrong type");
    find_fault(KERNEL "{ b: [f32] = alloc(1i64) x: f32 = load(b, 0i64, 1i64) -> }",
               "it has 3 args");
    find_fault(KERNEL "{ = store(1i64, 2i64, 0i64) -> }", "a buffer is wanted");
    find_fault(KERNEL "{ b: [i16] = alloc(1i64) = atomic.add(b, 1i16, 0i64) -> }",
               "no device does that at once");
    find_fault(KERNEL "{ b: [f64] = alloc(1i64) = atomic.add(b, 1f64, 0i64) -> }",
               "no device does that at once");
    find_fault(KERNEL "{ b: [i32] = alloc(1i64) = atomic.sub(b, 1i32, 0i64) -> }",
               "no device does that at once");
    find_fault(KERNEL "{ b: [i16] = alloc(4i64) x: [i32] = alloc(4i64) "
                      "m: [bool] = alloc(4i64) "
                      "k: i64 = sift(b, 0i64, 4i64, x, 0i64, m, 0i64, 4i64) -> }",
               "its buffers have elements of two types");
    find_fault(KERNEL "{ b: [i16] = alloc(4i64) x: [i16] = alloc(4i64) "
                      "k: i64 = sift(b, 0i64, 4i64, x, 0i64, x, 0i64, 4i64) -> }",
               "its flags are none");
    find_fault(KERNEL "{ b: [i32] = alloc(8i64) c: bool = below(b, 0i64, 4i64, 9u64) "
                      "-> }",
               "it has a wrong number of elements");
    find_fault(KERNEL "{ b: [i16] = alloc(16i64) c: bool = below(b, 0i64, 16i64, 9u64) "
                      "-> }",
               "its elements have the wrong type");
    find_fault(KERNEL "{ b: [i32] = alloc(8i64) c: bool = below(b, 0i64, 8i64, 9i64) "
                      "-> }",
               "arg 3 has the wrong type");
    find_fault(KERNEL "{ = check(false) \"%0\" -> }", "mentions %0");
    find_fault(KERNEL
               "{ = for.parallel(1i64) {|i: i64| = for.parallel(1i64) {|j: i64| ->} "
               "->} -> }",
               "a parallel loop is not in root code");
    find_fault(KERNEL
               "{ s: i64 = for.parallel(1i64, 0i64) {|i: i64, t: i64| -> t} -> }",
               "parallel turns carry state");
    find_fault(KERNEL
               "{ s: i64 = for.independent(1i64, 0i64) {|i: i64, t: i64| -> t} -> }",
               "independent turns carry state");
    find_fault(KERNEL "{ = for.independent(1i64) {|i: i64| = for.parallel(1i64) {|j: "
                      "i64| ->} ->} -> }",
               "a parallel loop is not in root code");
    find_fault(KERNEL
               "{ m: mark = mark = for.independent(1i64) {|i: i64| = keep(m) ->} "
               "-> }",
               "another thread's or turn's");
    find_fault("kernel \"k\" () -> ([]f32) { = for.parallel(1i64) {|i: i64| r: [f32] = "
               "result[0](1i64) ->} b: [f32] = alloc(1i64) -> b, 1i64 }",
               "it is not in root code");
    find_fault(KERNEL "{ = for.parallel(1i64) {|i: i64| n: i64 = threads ->} -> }",
               "it is not in root code");
    find_fault(KERNEL "{ n: bool = threads -> }", "its result has the wrong type");
    find_fault(KERNEL "{ r: [f32] = result[0](1i64) -> }", "there is no result 0");
    find_fault(KERNEL
               "{ m: mark = mark = for.parallel(1i64) {|i: i64| = keep(m) ->} -> }",
               "another thread's");
    find_fault(KERNEL
               "{ m: mark = mark b: [i8] = alloc(1i64) c: [i8], d: [i8] = keep(m, b, "
               "b) -> }",
               "keeps a buffer twice");
    find_fault(KERNEL "{ x: i64 = call[0](1i64) -> }",
               "function 0 does not come before");
#define PLAIN "plain function \"f\" {|p: f64| -> p} "
    find_fault(PLAIN KERNEL "{ x: f64 = call[0](1f64) -> }", "function 0 is plain");
    find_fault("function \"f\" {|p: f64| -> p} " KERNEL
               "{ x: f64 = apply[0](1f64) -> }",
               "function 0 is not plain");
    find_fault(PLAIN KERNEL "{ x: f64 = apply[0](1f32) -> }",
               "arg 0 has the wrong type");
    find_fault(PLAIN KERNEL "{ x: f32 = apply[0](1f64) -> }",
               "result 0 has the wrong type");
    find_fault(PLAIN KERNEL "{ x: f64 = apply[0](true, 1f64) -> }", "it has 2 args");
    find_fault("plain function \"f\" {|a: [f64]| -> } " KERNEL "{ -> }",
               "param 0 of a plain function is no scalar");
    find_fault("plain function \"f\" {|n: i64| b: [f64] = alloc(n) -> } " KERNEL
               "{ -> }",
               "it is in a plain function");
    find_fault(KERNEL "{ x: i64 = if(true) {-> 1i64} {-> 1i32} -> }",
               "has the wrong type");
    find_fault(KERNEL "{ x: i64 = while(1i64) {|s: i64| -> s} {|t: i64| -> t} -> }",
               "its guard gives no bool");
    find_fault("kernel \"k\" ([]f32) -> () {|a: [f32]| -> }", "param 0 is not there");
    find_fault("kernel \"k\" () -> (f32) { -> 1f64 }", "result 0 has the wrong type");
}

// ---- lowering -----------------------------------------------------------------------

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

static void expect_counts(const char *core, bool parallel, const Count *counts) {
    Session s;
    start(&s, core);
    const char *why = NULL;
    LoopKernel *kernel = loop_lower(s.program, last_fun(&s), parallel, &s.arena, &why);
    CHECK(kernel != NULL);
    const char *text = kernel != NULL ? show(&s, kernel) : why;
    for (; counts->word != NULL; counts++) {
        uint32_t found = count_words(text, counts->word);
        CHECK(found == counts->count);
        if (found != counts->count)
            printf("  %s: %u times, not %u, in\n%s\n", counts->word, found,
                   counts->count, text);
    }
    stop(&s);
}

#define COUNTS(...) ((Count[]){__VA_ARGS__, {NULL, 0}})

static const char map_of_maps[] =
    "stage0\n"
    "entry main(xs: [][]f32) -> ([][]f32) {\n"
    "  m: i64 = dim[1](xs)\n"
    "  r: [][]f32 = map[1](xs, m) {|row: []f32|\n"
    "    q: []f32 = map[1](row) {|x: f32| y: f32 = add(x, x) -> y}\n"
    "    -> q\n"
    "  }\n"
    "  -> r\n"
    "}\n";

static const char updates[] = "stage0\n"
                              "entry main(n: i64, xs: []i64) -> ([]i64) {\n"
                              "  r: []i64 = for(n, xs) {|i: i64, a: []i64|\n"
                              "    b: []i64 = update[0](a, i, i, 0i64, 0i64)\n"
                              "    -> b\n"
                              "  }\n"
                              "  -> r\n"
                              "}\n";

static const char unsafe_updates[] =
    "stage0\n"
    "entry main(n: i64, xs: []i64) -> ([]i64) {\n"
    "  r: []i64 = for(n, xs) {|i: i64, a: []i64|\n"
    "    x: i64 = unsafe index(a, i)\n"
    "    b: []i64 = unsafe update[0](a, x, i, 0i64, 0i64)\n"
    "    -> b\n"
    "  }\n"
    "  -> r\n"
    "}\n";

static const char kept_updates[] = "stage0\n"
                                   "entry main(n: i64, xs: []i64) -> ([]i64, []i64) {\n"
                                   "  r: []i64 = for(n, xs) {|i: i64, a: []i64|\n"
                                   "    b: []i64 = update[0](a, i, i, 0i64, 0i64)\n"
                                   "    -> b\n"
                                   "  }\n"
                                   "  -> r, xs\n"
                                   "}\n";

static const char steps[] =
    "stage0\n"
    "entry main(n: i64, xs: []f64) -> ([]f64) {\n"
    "  r: []f64 = for(n, xs) {|i: i64, a: []f64|\n"
    "    b: []f64 = map[1](a) {|x: f64| y: f64 = add(x, 1f64) -> y}\n"
    "    -> b\n"
    "  }\n"
    "  -> r\n"
    "}\n";
static const char turned_steps[] =
    "stage0\n"
    "entry main(n: i64, xs: []f64) -> ([]f64) {\n"
    "  r: []f64 = for(n, xs) {|i: i64, a: []f64|\n"
    "    c: []f64 = reverse[0](a)\n"
    "    b: []f64 = map[1](c) {|x: f64| y: f64 = add(x, 1f64) -> y}\n"
    "    -> b\n"
    "  }\n"
    "  -> r\n"
    "}\n";

static const char sum[] = "stage0\n"
                          "entry main(xs: []f32) -> (f32) {\n"
                          "  s: f32 = reduce.outer_lanes[1](xs, 0f32) {|a: f32, b: "
                          "f32| c: f32 = add(a, b) -> c}\n"
                          "  -> s\n"
                          "}\n";

static const char views[] = "stage0\n"
                            "entry main(xs: [][]f32) -> (f32) {\n"
                            "  i: []i64 = iota(10i64, 3i64, 2i64)\n"
                            "  k: i64 = index(i, 4i64)\n"
                            "  t: [][]f32 = permute[1, 0](xs)\n"
                            "  v: [][]f32 = reverse[0](t)\n"
                            "  x: f32 = index(v, k, 0i64)\n"
                            "  -> x\n"
                            "}\n";

static const char branches[] =
    "stage0\n"
    "entry main(c: bool, n: i64, x: []f32) -> ([]f32) {\n"
    "  r: []f32 = if(c) {\n"
    "    a: []f32 = map[1](x) {|e: f32| y: f32 = add(e, e) -> y}\n"
    "    -> a\n"
    "  } {\n"
    "    b: []f32 = replicate(n, 1f32)\n"
    "    -> b\n"
    "  }\n"
    "  -> r\n"
    "}\n";

static const char rounds[] = "stage0\n"
                             "entry main(k: i32, x: []f32) -> ([]f32) {\n"
                             "  r: []f32 = for(k, x) {|i: i32, y: []f32|\n"
                             "    z: []f32 = map[1](y) {|e: f32|\n"
                             "      w: f32 = add(e, e)\n"
                             "      -> w\n"
                             "    }\n"
                             "    -> z\n"
                             "  }\n"
                             "  -> r\n"
                             "}\n";

static const char histogram[] =
    "stage0\n"
    "entry main(d: []i32, is: []i64, xs: []i32) -> ([]i32) {\n"
    "  h: []i32 = hist.free[1, 1](d, 3i32, is, xs) {|a: i32, b: i32|\n"
    "    c: i32 = mul(a, b)\n"
    "    -> c\n"
    "  }\n"
    "  -> h\n"
    "}\n";

static const char late_rows[] = "stage0\n"
                                "entry main(xs: []i64) -> ([][]i64) {\n"
                                "  r: [][]i64 = map[1](xs, -1i64) {|x: i64|\n"
                                "    q: []i64 = iota(x, 0i64, 1i64)\n"
                                "    -> q\n"
                                "  }\n"
                                "  -> r\n"
                                "}\n";

static const char moved_sum[] = "stage0\n"
                                "entry main(xs: []f32) -> (f32) {\n"
                                "  s: f32 = reduce.nested_lanes[1](xs, 0f32) {|a: f32, "
                                "b: f32| c: f32 = add(a, b) -> "
                                "c}\n"
                                "  -> s\n"
                                "}\n";

static const char scattered_rows[] =
    "stage0\n"
    "entry main(to: [][]f32, is: []i64, from: [][]f32) -> ([][]f32) {\n"
    "  r: [][]f32 = scatter[1](to, is, from)\n"
    "  -> r\n"
    "}\n";

static const char sorted[] = "stage0\n"
                             "entry main(xs: []f16) -> ([]f16) {\n"
                             "  r: []f16 = sort(xs)\n"
                             "  -> r\n"
                             "}\n";

static const char sorted_floats[] = "stage0\n"
                                    "entry main(xs: []f32) -> ([]f32) {\n"
                                    "  r: []f32 = sort(xs)\n"
                                    "  -> r\n"
                                    "}\n";

static const char sorted_own[] = "stage0\n"
                                 "entry main(xs: []f16) -> ([]f16) {\n"
                                 "  ys: []f16 = map[1](xs) "
                                 "{|x: f16| y: f16 = neg(x) -> y}\n"
                                 "  r: []f16 = sort(ys)\n"
                                 "  -> r\n"
                                 "}\n";

static const char sorted_places[] = "stage0\n"
                                    "entry main(xs: []f16) -> ([]f16, []i64) {\n"
                                    "  r: []f16, p: []i64 = sort(xs)\n"
                                    "  -> xs, p\n"
                                    "}\n";

// Of a literal, without arrays and with one.
static const char narrow_counts[] =
    "stage0\n"
    "entry main(xs: []i32) -> ([]i32, i32) {\n"
    "  s: i32 = for(7i32, 1i32) {|i: i32, a: i32| b: i32 = mul(a, i) -> b}\n"
    "  r: []i32 = for(9i32, xs) {|i: i32, a: []i32|\n"
    "    b: []i32 = map[1](a) {|x: i32| y: i32 = sub(x, i) -> y}\n"
    "    -> b\n"
    "  }\n"
    "  -> r, s\n"
    "}\n";

static void test_lowering(void) {
    // What carries arrays counts in i64.
    expect_counts(narrow_counts, true,
                  COUNTS({"for(7i32", 1}, {"for(9i64", 1}, {": i32 = conv(", 1}));
    // In the loop, over what it began with, which is the result.
    expect_counts(rounds, true,
                  COUNTS({"owned", 1}, {"for.parallel(", 1}, {"= for(", 1}));
    expect_counts(map_of_maps, false,
                  COUNTS({"alloc", 0}, {"result[0]", 1}, {"for.independent(", 2},
                         {"check", 0}, {"mark", 0}));
    expect_counts(map_of_maps, true,
                  COUNTS({"alloc", 0}, {"for.parallel(", 1}, {"for.independent(", 1}));
    expect_counts(updates, false,
                  COUNTS({"owned", 1}, {"alloc", 0}, {"result[", 0}, {"= for(", 1},
                         {"is outside", 1}));
    expect_counts(unsafe_updates, false,
                  COUNTS({"= for(", 1}, {"= unsafe check(", 2}, {"= check(", 0}));
    // The old array is a result, too: it is copied once, outside the loop.
    expect_counts(kept_updates, false,
                  COUNTS({"owned", 0}, {"alloc", 0}, {"result[", 2}, {"= for(", 1},
                         {"for.independent(", 2}));
    // A turn writes over what it reads, if it reads nothing but its own element;
    expect_counts(steps, false, COUNTS({"owned", 1}, {"alloc", 0}, {"result[", 0}));
    // what a loop makes anew each time never overwrites what it began with.
    expect_counts(turned_steps, false, COUNTS({"owned", 0}, {"alloc", 1}, {"keep", 1}));
    expect_counts(sum, true, COUNTS({"for.parallel", 1}, {"alloc(32i64)", 1}));
    expect_counts(views, false, COUNTS({"alloc", 0}, {"load", 1}, {"for", 0}));
    // Parts, which begin with 1; their bins; or all in order; or by ranges, with
    // counts, places and values.
    expect_counts(histogram, true,
                  COUNTS({"owned", 1}, {"for.parallel(", 5}, {"3i32", 0},
                         {", 1i32, ", 1}, {"alloc", 6}));
    // The first row is made in private memory, and copied; the others need none.
    expect_counts(late_rows, true,
                  COUNTS({"for.parallel(", 2}, {"alloc", 2}, {"result[0]", 1}));
    expect_counts(late_rows, false, COUNTS({"for.parallel(", 0}, {"= for(", 1}));
    expect_counts(moved_sum, true, COUNTS({"for.parallel(", 1}));
    // Rows that are wide go in parallel, others in order: both forms are there.
    expect_counts(
        scattered_rows, true,
        COUNTS({"owned", 1}, {"for.parallel(", 1}, {"= for(", 2}, {"alloc", 1}));
    // Of elements that have no buckets: differences, counts, sums, moves; tables of all
    // but the sums and moves, lanes of the differences, a second buffer, and in the
    // first pass and the others those of a part, where it counts and where it moves. A
    // caller's array is not copied to be overwritten.
    expect_counts(sorted, true,
                  COUNTS({"owned", 0}, {"result[", 1}, {"for.parallel(", 7},
                         {"alloc", 9}, {"keep", 2}));
    // What has moved is no other NaN than the canonical one.
    expect_counts(sorted_floats, false, COUNTS({"unsafe to_bits(", 10}));
    // Beside the map: back to where it was if passes are odd in number.
    expect_counts(sorted_own, true,
                  COUNTS({"owned", 0}, {"result[", 1}, {"for.parallel(", 9},
                         {"alloc", 9}, {"keep", 2}));
    expect_counts(sorted, false, COUNTS({"for.parallel(", 0}, {"alloc", 9}));
    // The places are made in the result; sorted keys that are not wanted need memory.
    expect_counts(
        sorted_places, true,
        COUNTS({"owned", 0}, {"result[", 2}, {"for.parallel(", 8}, {"alloc", 11}));
    expect_counts(branches, false, COUNTS({"alloc", 0}, {"result[0]", 2}, {"for", 2}));
}

static void test_refusal(void) {
    Session s;
    start(&s, "stage0\nentry main(x: i64) -> (i64) { y: i64 = trace(x) -> y }");
    const char *why = NULL;
    CHECK(loop_lower(s.program, last_fun(&s), false, &s.arena, &why) == NULL);
    CHECK(why != NULL && strcmp(why, "values are traced") == 0);
    stop(&s);
}

// Every allocation fails once.
static void lower_in(Session *s, Arena *arena, bool *done_out) {
    jmp_buf recover;
    arena->mem->recover = &recover;
    if (setjmp(recover) != 0) return;
    const char *why;
    *done_out = loop_lower(s->program, last_fun(s), true, arena, &why) != NULL;
}

static void test_out_of_memory(void) {
    Session s;
    start(&s, sum);
    bool is_done = false;
    uint64_t k = 1;
    for (; !is_done && k < 1000000; k++) {
        Mem mem = {.fail_at = k};
        Arena arena;
        arena_init(&arena, &mem);
        lower_in(&s, &arena, &is_done);
        arena_free(&arena);
        CHECK(mem.used == 0);
    }
    CHECK(is_done && k > 10);
    stop(&s);
}

// The kernel in docs/internals/loop.md is sound, and printed as it stands there.
static void test_docs(void) {
    static char text[16384];
    FILE *file = fopen(WEFT_SOURCE_DIR "/docs/internals/loop.md", "r");
    CHECK(file != NULL);
    if (file == NULL) return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *block = strstr(text, "```\nkernel ");
    char *end = block == NULL ? NULL : strstr(block + 4, "```");
    CHECK(end != NULL);
    if (end == NULL) return;
    *end = '\0';
    Session s;
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, block + 4);
    CHECK(kernel != NULL);
    if (kernel != NULL) {
        StrBuf faults = strbuf(&s.arena);
        CHECK(loop_verify(kernel, &faults));
        CHECK(strcmp(show(&s, kernel), block + 4) == 0);
    }
    stop(&s);
}

int main(void) {
    test_text();
    test_docs();
    test_bad_text();
    test_verifier();
    test_lowering();
    test_refusal();
    test_out_of_memory();
    return test_done();
}
