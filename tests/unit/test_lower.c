// SPDX-License-Identifier: Apache-2.0
//
// Lowering, from source to what the oracle answers: functions as values, records, sums,
// sizes and their checks, indices, ranges, errors with their places, and the size of
// what comes out.
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "interp/interp.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "syntax/syntax.h"
#include "test.h"

typedef struct Session {
    Mem mem, heap_mem;
    Arena arena;
    Cx cx;
    RtHeap heap;
    CoreProgram *program;
    StrBuf out;
} Session;

static jmp_buf test_recover;

static void report_diags(Session *s) {
    for (uint32_t i = 0; i < s->cx.diags.len; i++)
        diag_render(&s->cx.sources, s->cx.diags.data[i], false, &s->out);
}

// Compiles up to core before the first pass; false when there were mistakes, which are
// in s->out then.
static bool start(Session *s, const char *text) {
    *s = (Session){.heap_mem = {.limit = (size_t)1 << 30}};
    s->mem.recover = &test_recover;
    arena_init(&s->arena, &s->mem);
    cx_init(&s->cx, &s->arena);
    stack_measure(&s->cx.stack);
    rt_heap_init(&s->heap, &s->heap_mem);
    s->out = strbuf(&s->arena);
    const Source *source =
        sources_add(&s->cx.sources, STR("test.weft"), str_of(text), false);
    const Ast *ast = syntax_parse(&s->cx, source);
    TProgram *typed = NULL;
    if (s->cx.diags.error_count == 0)
        typed = check_program(&s->cx, ast, STR("test"), NULL);
    if (typed != NULL) s->program = lower_program(&s->cx, &s->arena, typed);
    if (s->program == NULL) {
        strbuf_cstr(&s->out, "rejected:\n");
        report_diags(s);
        return false;
    }
    StrBuf faults = strbuf(&s->arena);
    bool is_sound = core_verify(s->program, &faults);
    CHECK(is_sound);
    if (!is_sound) printf("%s\n%.*s\n", text, STR_ARG(strbuf_done(&faults)));
    return is_sound;
}

static void stop(Session *s) {
    rt_heap_free(&s->heap);
    CHECK(s->heap_mem.used == 0);
    arena_free(&s->arena);
    CHECK(s->mem.used == 0);
}

// ---- showing --------------------------------------------------------------------

static void show_scalar(StrBuf *out, ScalarType type, uint64_t bits) {
    uint64_t wide = bits;
    double value;
    ScalarType to = scalar_is_float(type) ? SCALAR_F64 : SCALAR_I64;
    if (type != SCALAR_U64) core_eval(OP_CONV, type, to, &bits, &wide);
    memcpy(&value, &wide, sizeof value);
    if (type == SCALAR_BOOL) strbuf_cstr(out, bits != 0 ? "true" : "false");
    else if (scalar_is_float(type)) strbuf_printf(out, "%.9g", value);
    else strbuf_printf(out, "%lld", (long long)wide);
}

static void show_array(StrBuf *out, const RtArray *a, uint32_t d, const char *at) {
    if (d == a->rank) {
        show_scalar(out, a->elem, rt_load(a->elem, at));
        return;
    }
    strbuf_char(out, '[');
    for (int64_t i = 0; i < a->shape[d]; i++) {
        if (i > 0) strbuf_char(out, ' ');
        show_array(out, a, d + 1, at + i * a->strides[d] * scalar_info[a->elem].bytes);
    }
    if (a->shape[d] == 0) // what it would have held
        for (uint32_t e = d + 1; e < a->rank; e++)
            strbuf_printf(out, "x%lld", (long long)a->shape[e]);
    strbuf_char(out, ']');
}

// "line:column" and the functions of the chain, innermost first.
static void show_chain(Session *s, CoreLoc loc) {
    for (; loc != 0; loc = s->program->places.data[loc].caller) {
        const CorePlace *place = &s->program->places.data[loc];
        Place at = sources_place(&s->cx.sources, place->span.start);
        if (at.source == NULL || at.source->is_lib) continue;
        strbuf_printf(&s->out, " @%u:%u %.*s", at.line, at.column,
                      STR_ARG(sym_str(&s->cx.syms, place->function)));
    }
}

static void run_entry(Session *s, const int64_t *args, bool with_place) {
    const CoreFun *fun = s->program->funs.data[s->program->funs.len - 1];
    InterpOptions options = {.heap = &s->heap, .arena = &s->arena};
    InterpError error = {0};
    RtValue params[8] = {0}, results[16] = {0};
    for (uint32_t i = 0; i < fun->body->param_count; i++)
        params[i] = (RtValue){.elem = SCALAR_I64, .bits = (uint64_t)args[i]};
    if (interp_run(s->program, fun, &options, params, results, &error) != STATUS_OK) {
        strbuf_printf(&s->out, "error: %.*s", STR_ARG(error.message));
        if (with_place) show_chain(s, error.loc);
        return;
    }
    for (uint32_t i = 0; i < fun->body->result_count; i++) {
        if (i > 0) strbuf_char(&s->out, ' ');
        if (results[i].rank == 0)
            show_scalar(&s->out, results[i].elem, results[i].bits);
        else show_array(&s->out, results[i].array, 0, results[i].array->data);
        rt_release_value(&s->heap, &results[i]);
    }
}

static void compare(Session *s, const char *text, const char *wanted) {
    Str found = strbuf_done(&s->out);
    bool ok = str_eq(found, str_of(wanted));
    CHECK(ok);
    if (!ok) printf("  %s\n  gave %.*s\n  not  %s\n", text, STR_ARG(found), wanted);
}

static bool to_stage0(Session *s) {
    OptOptions options = {.verify = true, .stage0_only = true, .stop_after = -1};
    StrBuf report = strbuf(&s->arena);
    bool ok = opt_run(s->program, &options, &report);
    CHECK(ok);
    if (!ok) printf("%.*s\n", STR_ARG(strbuf_done(&report)));
    return ok;
}

// What the last entry answers for these i64 arguments.
static void expect_with(const char *text, int64_t a, int64_t b, bool with_place,
                        const char *wanted) {
    Session s;
    int64_t args[8] = {a, b};
    if (start(&s, text) && to_stage0(&s)) run_entry(&s, args, with_place);
    compare(&s, text, wanted);
    stop(&s);
}

static void expect(const char *text, const char *wanted) {
    expect_with(text, 0, 0, false, wanted);
}

// How often the operator occurs in core before the first pass.
typedef struct Count {
    CoreOp op;
    uint32_t found;
} Count;

static void count_op(void *data, const CoreStm *stm) {
    Count *count = data;
    count->found += stm->op == count->op;
}

static uint32_t count_ops(const char *text, CoreOp op) {
    Session s;
    Count count = {op, 0};
    if (start(&s, text))
        for (uint32_t i = 0; i < s.program->funs.len; i++)
            core_walk(s.program->funs.data[i]->body, count_op, &count);
    else printf("%s\n%.*s\n", text, STR_ARG(strbuf_done(&s.out)));
    stop(&s);
    return count.found;
}

// ---- values ---------------------------------------------------------------------

static void test_functions(void) {
    expect("def twice 'a (f: a -> a) (x: a) = f (f x)\n"
           "entry main = twice (twice (\\x -> x * 3)) 2i64",
           "162");
    expect("def compose 'a 'b 'c (f: b -> c) (g: a -> b) = \\x -> f (g x)\n"
           "entry main = compose (+ 1i64) (compose (* 2) (\\x -> x - 5)) 10",
           "11");
    expect("entry main = let add x y = x + y let inc = add 1i64 in (inc 2, inc 3)",
           "3 4");
    expect("entry main = let pair 'a (x: a) = (x, x) in (pair true, pair 7i64)",
           "true true 7 7");
    expect("type^ ops = {f: i64 -> i64, n: i64}\n"
           "def run (o: ops) = o.f o.n\n"
           "entry main = run {f = \\x -> x * x, n = 9}",
           "81");
    expect("entry main = foldl (+) 0i64 (map (uncurry (*)) (zip (iota 4) (iota 4)))",
           "14");
    expect("entry main = (|>) 5i64 (flip (-) 1)", "4");
}

static void test_records(void) {
    expect("entry main = let r = {a = 1i64, b = {c = true, d = 2i64}}\n"
           "  in (r with b.d = 5).b.d",
           "5");
    expect("entry main = if length (iota 3) > 2 then (1i64, [true]) else (2, [false])",
           "1 [true]");
    expect("entry main = (map (\\_ -> ()) (iota 3)) |> length", "3");
    expect("entry main = loop (a, b) = (0i64, 1i64) for _i < 10 do (b, a + b)",
           "55 89");
    expect("entry main = unzip (map (\\i -> (i, i * i)) (iota 4))",
           "[0 1 2 3] [0 1 4 9]");
    expect("entry main = ((1i64, [2i64]) == (1, [2]), [1i64, 3] != [1, 2])",
           "true true");
}

static void test_sums(void) {
    const char *shape =
        "type shape = #circle i64 | #rect i64 i64 | #dot\n"
        "def area (s: shape) = match s case #circle r -> 3 * r * r\n"
        "                              case #rect a b -> a * b case #dot -> 0\n";
    char text[1024];
    snprintf(text, sizeof text, "%sentry main = map area [#rect 2 3, #dot, #circle 2]",
             shape);
    expect(text, "[6 0 12]");
    snprintf(text, sizeof text,
             "%sentry main = map (\\i -> area (if i %% 2 == 0 then #circle i else "
             "#rect i 7))"
             " (iota 4)",
             shape);
    expect(text, "[0 7 12 21]");
    expect("type t = #some i64 | #none\n"
           "entry main = (#some 1 : t) == #some 1 && (#some 1 : t) != #none",
           "true");
    expect(
        "entry main = match (3i64, true) case (3, false) -> 1i64 case (_, true) -> 2\n"
        "  case _ -> 3",
        "2");
    expect(
        "type row = #full [2]i64 | #empty\n"
        "def total (r: row) = match r case #full xs -> i64.sum xs case #empty -> 0i64\n"
        "entry main = map (\\i -> total (if i == 1 then #full [i, 4] else #empty))"
        " (iota 3)",
        "[0 5 0]");
}

static void test_arrays(void) {
    expect("entry main = transpose [[1i64, 2, 3], [4, 5, 6]]", "[[1 4] [2 5] [3 6]]");
    expect("entry main : [][]i64 = map (\\i -> map (\\j -> i * j) (iota 3)) (iota 0)",
           "[x3]");
    expect("entry main = flatten (tabulate_2d 2 3 (\\i j -> 10 * i + j))",
           "[0 1 2 10 11 12]");
    expect("entry main : [2][3]i64 = unflatten (iota 6 :> [2*3]i64)",
           "[[0 1 2] [3 4 5]]");
    expect("entry main = (iota 5)[1:4] with [1] = 9", "[1 9 3]");
    expect("entry main = (tabulate_2d 3 3 (\\i j -> 3 * i + j))[1:, 1]", "[4 7]");
    expect("entry main = (iota 6)[::-2]", "[5 3 1]");
    expect("entry main = replicate 3 0i64 with [0:3:2] = [7, 8]", "[7 0 8]");
    expect("entry main = filter (\\x -> x % 3 == 0) (iota 10)", "[0 3 6 9]");
    expect("entry main = scatter (replicate 4 0i64) [1, 9, 3] [5, 6, 7]", "[0 5 0 7]");
    expect("entry main = hist (+) 0i64 3 [0, 2, 2, 5] [1, 2, 3, 4]", "[1 0 5]");
    expect("entry main = reduce (\\(a, b) (c, d) -> (a + c, i64.max b d)) (0, "
           "i64.lowest)\n"
           "  (zip (iota 5) [3, 1, 4, 1, 5])",
           "10 5");
    expect("entry main = scan (+) 0i64 (iota 5)", "[0 1 3 6 10]");
    expect("entry main = [1i64, 2] ++ [3]", "[1 2 3]");
    expect("entry main = (\"weft\", [] : []i64)", "[119 101 102 116] []");
}

static void test_ranges(void) {
    expect("entry main = (1...4, 1..3..<8, 5..>2, 9..6...0)",
           "[1 2 3 4] [1 3 5 7] [5 4 3] [9 6 3 0]");
    expect("entry main : []i8 = ((-128i8)...127i8)[254:]", "[126 127]");
    expect("entry main : []u8 = 250u8..252u8...255u8", "[250 252 254]");
    expect("entry main : []u64 = 18446744073709551613u64...18446744073709551615u64",
           "[-3 -2 -1]");
    expect_with("entry main (a: i64) (b: i64) = a..<b", 3, 1, false,
                "error: range 3..<1 ends on the wrong side of its start");
    expect_with("entry main (a: i64) (b: i64) = a..b..<9", 3, 3, false,
                "error: range 3..3..<9 has a step of 0");
    expect_with("entry main (a: i64) (b: i64) = length (a...b)", INT64_MIN, INT64_MAX,
                false,
                "error: range -9223372036854775808...9223372036854775807 has too many"
                " elements");
}

// ---- sizes and errors -----------------------------------------------------------

static void test_sizes(void) {
    expect("def f [n] (xs: [n]i64) (ys: [n]i64) = n\n"
           "entry main = f (iota 3) (filter (> 5) (iota 9))",
           "3");
    expect_with(
        "def dot [n] (a: [n]i64) (b: [n]i64) = i64.sum (map2 (*) a b)\n"
        "entry main (i: i64) (j: i64) = dot (iota i) (iota j)",
        3, 4, true,
        "error: size mismatch: argument `b` of `dot` has size 4 where `n` = 3 is"
        " expected (n is the size of `a`) @2:32 main");
    expect_with("entry main (i: i64) (j: i64) = (iota i) :> [j]i64", 3, 4, false,
                "error: size mismatch: `iota i` has size 3 where `j` = 4 is expected");
    expect_with("entry main (i: i64) (j: i64) = zip (iota i) (iota j)", 2, 3, false,
                "error: size mismatch: argument 2 of `zip` has size 3 where `n` = 2 is"
                " expected (n is the size of argument 1)");
    expect("entry main = let [n] (xs: [n]i64) = filter (> 2) (iota 9) in (n, xs)",
           "6 [3 4 5 6 7 8]");
    expect("entry main = loop (xs: []i64) = [1] for i < 3 do xs ++ xs",
           "[1 1 1 1 1 1 1 1]");
    expect_with("entry main (i: i64) (j: i64) = (length (replicate i j), 1i64)", -3, 0,
                false, "error: a size of -3 is negative");
    expect_with("def f [n] (xs: [n]i64) (ys: [n]i64) = n\n"
                "entry main (i: i64) (j: i64) = f (iota i) (iota j)",
                1, 2, false, "1");
    expect("def k = 3i64\nentry main = let xs: [k]i64 = iota 3 in xs", "[0 1 2]");
    // Equal sizes need no checks.
    CHECK(count_ops(
              "entry main [n] (xs: [n]i64) (ys: [n]i64) = map2 (+) (map (+ 1) xs) xs",
              OP_CHECK) == 1);
    CHECK(count_ops("entry main (n: i64) = map2 (+) (iota n) (replicate n 1)",
                    OP_CHECK) == 1); // that n is no negative size
}

static void test_errors(void) {
    expect_with("def f (x: i64) = 10 / x\ndef g (y: i64) = 1 + f y\n"
                "entry main (a: i64) (b: i64) = g a + b",
                0, 0, true, "error: division by zero @1:18 f @2:22 g @3:32 main");
    expect_with("entry main (a: i64) (b: i64) = assert (a % 2 == b %2) a", 1, 2, false,
                "error: assertion failed: (a % 2 == b % 2)");
    expect_with("entry main (a: i64) (b: i64) = (iota 5)[a:b]", 2, 9, false,
                "error: slice 2:9 is outside [0, 5)");
    expect_with("entry main (a: i64) (b: i64) = (iota 5)[::a]", 0, 9, false,
                "error: slice 0:5:0 has a step of 0");
    expect_with("entry main (a: i64) (b: i64) = a > 0 && b / a > 1", 0, 9, false,
                "false");
    expect_with("entry main (a: i64) (b: i64) = let x = b / a in x - x", 0, 9, false,
                "error: division by zero");
    expect_with("entry main (a: i64) (b: i64) = let x = b / a in (x - 1) + 1 == x", 0,
                9, false, "error: division by zero");
    expect_with("entry main (a: i64) (b: i64) = if a > 0 then ??? else b", 1, 9, false,
                "error: a hole was reached");
    expect_with("entry main (a: i64) (b: i64) = #[unsafe] assert (a > 0) b", 0, 9,
                false, "9");
    expect_with("#[noinline] def f [n] (xs: [n]i64) (i: i64) = xs[i]\n"
                "entry main (a: i64) (b: i64) = f (iota a) b",
                3, 3, true, "error: index 3 is outside [0, 3) @1:47 f");
    // A constant that fails does so only where it is used.
    expect_with("def bad : i64 = 1 / i64.sum (iota 1)\n"
                "entry main (a: i64) (b: i64) = if a > 0 then bad else b",
                0, 9, false, "9");
}

// ---- the size of core -----------------------------------------------------------

static void test_shape_of_core(void) {
    CHECK(count_ops("entry main [n] (xs: [n]i64) (ys: [n]i64) = zip3 xs ys xs",
                    OP_MAP) == 0);
    CHECK(count_ops("entry main (xs: []bool) = reduce (&&) true xs", OP_IF) == 0);
    // Sizes and indices raise no errors: they may cancel.
    CHECK(count_ops("entry main [n] (xs: [n]i64) (k: i64) = (n + k) - n", OP_SUB) == 0);
    CHECK(count_ops("entry main (n: i64) = tabulate n (\\i -> if i < 0 then 7 else i)",
                    OP_IF) == 0);
    CHECK(count_ops("#[noinline] def f (x: i64) = x * x + 1\n"
                    "entry main (x: i64) = f (f (f x))",
                    OP_MUL) == 1);
    CHECK(count_ops("#[noinline] def f 'a [n] (x: a) (ys: [n]a) = (n, x)\n"
                    "entry main (x: i64) = (f x [x], f 1 [2, 3], f true [true])",
                    OP_CALL) == 3);
    // Constants that cannot fail are evaluated once, outside every loop.
    CHECK(count_ops("def table = map (* 2i64) (iota 10)\n"
                    "entry main (is: []i64) = map (\\i -> table[i] + table[0]) is",
                    OP_MAP) == 2);
}

static void test_limits(void) {
    Mem mem = {.recover = &test_recover};
    Arena arena;
    arena_init(&arena, &mem);
    StrBuf chain = strbuf(&arena), lets = strbuf(&arena), bomb = strbuf(&arena);
    strbuf_cstr(&chain, "entry main (x: i64) = x");
    for (int i = 0; i < 20000; i++) strbuf_cstr(&chain, " * x");
    CHECK(count_ops(str_terminated(&arena, strbuf_done(&chain)), OP_MUL) == 20000);
    strbuf_cstr(&lets, "entry main (x: i64) =\n");
    for (int i = 0; i < 10000; i++) strbuf_cstr(&lets, "  let x = x * x\n");
    strbuf_cstr(&lets, "  in x");
    CHECK(count_ops(str_terminated(&arena, strbuf_done(&lets)), OP_MUL) == 10000);
    strbuf_cstr(&bomb, "def f0 (x: i64) = x + 1\n");
    for (int i = 1; i < 40; i++)
        strbuf_printf(&bomb, "def f%d (x: i64) = f%d (f%d x)\n", i, i - 1, i - 1);
    strbuf_cstr(&bomb, "entry main (x: i64) = f39 x");
    Session s;
    CHECK(!start(&s, str_terminated(&arena, strbuf_done(&bomb))));
    Str text = strbuf_done(&s.out);
    CHECK(strstr(str_terminated(&arena, text), "too large once inlined") != NULL);
    stop(&s);
    arena_free(&arena);
}

int main(void) {
    if (setjmp(test_recover) != 0) {
        printf("out of memory\n");
        return 1;
    }
    test_functions();
    test_records();
    test_sums();
    test_arrays();
    test_ranges();
    test_sizes();
    test_errors();
    test_shape_of_core();
    test_limits();
    return test_done();
}
