// SPDX-License-Identifier: Apache-2.0
//
// The checker: which type a definition gets, which mistakes are reported by code, and
// what hostile programs cost. How messages read is tests/diag's business.
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "syntax/syntax.h"
#include "test.h"

typedef struct Session {
    Mem mem;
    Arena arena;
    Cx cx;
    TProgram *program;
    StrBuf out;
} Session;

static jmp_buf test_recover;

static void start(Session *s, const char *text, bool advice) {
    *s = (Session){0};
    s->mem.recover = &test_recover;
    arena_init(&s->arena, &s->mem);
    cx_init(&s->cx, &s->arena);
    stack_measure(&s->cx.stack);
    s->cx.diags.advice = advice;
    Source *source = sources_add(&s->cx.sources, STR("test.weft"), str_of(text), false);
    s->program = check_program(&s->cx, syntax_parse(&s->cx, source), STR("test"), NULL);
    s->out = strbuf(&s->arena);
}

static void stop(Session *s) {
    arena_free(&s->arena);
    CHECK(s->mem.used == 0);
}

// ---- types -------------------------------------------------------------------------

typedef struct TypeTest {
    const char *program; // its entries reach what is asked for
    const char *line;    // how "def ..." is printed, without the body
} TypeTest;

static const TypeTest type_tests[] = {
    // literals and defaults
    {"entry main = 1", "def main: i32 ="},
    {"entry main = 1.5", "def main: f64 ="},
    {"entry main = 'a'", "def main: u8 ="},
    {"entry main = \"abc\"", "def main: [3]u8 ="},
    {"entry main = 1u8 + 2", "def main: u8 ="},
    {"entry main (x: f32) = 2 * x + 1", "def main: f32 -> f32 ="},
    {"entry main = [1, 2.5]", "def main: [2]f64 ="},
    {"entry main = 'a' + 1", "def main: u8 ="},
    {"def add x y = x + y\nentry main = add 1 2", "def add: i32 -> i32 -> i32 ="},
    {"entry main (x: i32) = (x > 1 && !(x == 2), -x)",
     "def main: i32 -> (bool, i32) ="},
    // polymorphism
    {"def id x = x\nentry main (x: i32) = (id x, id true)", "def id 'a: 'a -> 'a ="},
    {"def f g x = g (g x)\nentry main = f (+ 1) 2i32",
     "def f 'a: ('a -> 'a) -> 'a -> 'a ="},
    {"def swap (x, y) = (y, x)\nentry main = swap (1i32, true)",
     "def swap 'a 'b: ('a, 'b) -> ('b, 'a) ="},
    {"entry main (x: i32) = let id y = y in (id x, id true)",
     "def main: i32 -> (i32, bool) ="},
    {"def inc = map (+ 1i32)\nentry main (a: [2]i32) (b: [3]i32) = (inc a, inc b)",
     "def main: [2]i32 -> [3]i32 -> ([2]i32, [3]i32) ="},
    {"def const 'a '^b (x: a) (_: b) = x\nentry main = const 1i32 (+ 1i32)",
     "def const 'a 'b: 'a -> 'b -> 'a ="},
    // sizes
    {"entry main [n] (xs: [n]i32) = map (+ 1) xs", "def main [n]: [n]i32 -> [n]i32 ="},
    {"entry main (n: i64) = iota n", "def main: (n: i64) -> [n]i64 ="},
    {"entry main (n: i64) = iota (2 * n + 1)",
     "def main: (n: i64) -> [2 * n + 1]i64 ="},
    {"entry main (n: i64) = iota (n - n + 3)", "def main: i64 -> [3]i64 ="},
    {"entry main (xs: []i32) = filter (> 0) xs", "def main [_]: []i32 -> []i32 ="},
    {"entry main [n] [m] (xs: [n][m]i32) = transpose xs",
     "def main [n][m]: [n][m]i32 -> [m][n]i32 ="},
    {"entry main [n] [m] (xs: [n]i32) (ys: [m]i32) = xs ++ ys",
     "def main [n][m]: [n]i32 -> [m]i32 -> [n + m]i32 ="},
    {"entry main [n] [m] (xs: [n][m]i32) = unflatten (flatten xs) :> [m][n]i32",
     "def main [n][m]: [n][m]i32 -> [m][n]i32 ="},
    {"entry main (xs: [8]i32) = let (a, b) = split xs in (a : [3]i32, b)",
     "def main: [8]i32 -> ([3]i32, [5]i32) ="},
    {"entry main [n] (xs: [n]i32) = xs[1:n-1]", "def main [n]: [n]i32 -> [n - 2]i32 ="},
    {"entry main [n] (xs: [n][4]i32) = xs[:3, 1]",
     "def main [n]: [n][4]i32 -> [3]i32 ="},
    {"entry main (n: i64) = (0..<n, 1...n, 0..2..<n)",
     "def main: (n: i64) -> ([n]i64, [n]i64, []i64) ="},
    {"entry main (c: bool) (n: i64) = if c then iota n else iota 3",
     "def main: bool -> i64 -> []i64 ="},
    {"entry main (n: i64) = let m = n + 1 in iota m", "def main: i64 -> []i64 ="},
    {"entry main (xs: []i32) = let [n] (ys: [n]i32) = tail xs in (n, ys)",
     "def main [_]: []i32 -> (i64, [_ - 1]i32) ="},
    {"entry main (n: i64) = n |> iota |> map (* 2)", "def main: (n: i64) -> [n]i64 ="},
    {"entry main [n] (xs: [n]i32) = iota (length xs)",
     "def main [n]: [n]i32 -> [n]i64 ="},
    {"def f [n] (xs: [n]i32) : [n+1]i32 = xs ++ [0]\nentry main = f [1, 2]",
     "def main: [3]i32 ="},
    // loops
    {"entry main (n: i32) = loop x = 1 for i < n do x * 2", "def main: i32 -> i32 ="},
    {"entry main [n] (xs: [n]i32) = loop ys = xs for i < n do ys with [i] = 0",
     "def main [n]: [n]i32 -> [n]i32 ="},
    {"entry main (xs: [1]i32) = loop ys = xs for _i < 3i32 do ys ++ ys",
     "def main: [1]i32 -> []i32 ="},
    {"entry main (xs: []i32) = loop s = 0i32 for x in xs do s + x",
     "def main [_]: []i32 -> i32 ="},
    {"entry main [n] (xs: [n]i32) = loop (a, b) = (xs, map (+ 1) xs) for _i < n do (b, "
     "a)",
     "def main [n]: [n]i32 -> ([n]i32, [n]i32) ="},
    {"entry main [n] (xs: [n]i32) = (loop (a, b) = (xs, xs) for i < n do "
     "(if i > 3 then b else a, map (+ 1) b)).0",
     "def main [n]: [n]i32 -> [n]i32 ="},
    {"entry main [n] [m] (xs: [n]i32) (ys: [m]i32) = loop (a, b) = (xs, ys) for i < n "
     "do (if i > 3 then b else a, b)",
     "def main [n][m]: [n]i32 -> [m]i32 -> ([]i32, [m]i32) ="},
    {"entry main [n] (xs: [n]i32) = loop (a, b, c) = (xs, xs, xs) for i < n do match i "
     "case 0 -> (b, c, a) case 1 -> (c, a, [1]) case _ -> (a, a, b)",
     "def main [n]: [n]i32 -> ([]i32, []i32, []i32) ="},
    {"entry main [n] (xs: [n]i32) = (loop (a, b) = (xs, xs) for _i < n do "
     "loop (c, d) = (a, b) for j < n do (if j > 3 then d else c, map (+ 1) d)).0",
     "def main [n]: [n]i32 -> [n]i32 ="},
    {"entry main [n] (xs: [n]i32) = (loop (a, b) = (xs, xs) for _i < n do let (c, d) = "
     "loop (c, d) = (a, b) for j < n do (if j > 3 then d else c, d) in (c, d ++ d)).0",
     "def main [n]: [n]i32 -> []i32 ="},
    // records, sums
    {"entry main (r: {b: i32, a: bool}) = r with b = 3",
     "def main: {a: bool, b: i32} -> {a: bool, b: i32} ="},
    {"entry main = {x = 1i32, y = {z = true}}.y.z", "def main: bool ="},
    {"def get (r: {x: i32}) = r.x\nentry main = get {x = 1}",
     "def get: {x: i32} -> i32 ="},
    {"entry main (x: i32) : #a i32 | #b = if x > 0 then #a x else #b",
     "def main: i32 -> #a i32 | #b ="},
    {"entry main (c: #a i32 | #b) = match c case #a x -> x case #b -> 0",
     "def main: #a i32 | #b -> i32 ="},
    // modules
    {"module m = { def x = 1i32 module n = { def y = x } }\nentry main = m.n.y",
     "def main: i32 ="},
    {"module f (p: { type t val z: t }) = { def pair = (p.z, p.z) }\n"
     "module a = f { type t = i32 def z = 1i32 }\n"
     "module b = f { type t = bool def z = true }\nentry main = (a.pair, b.pair)",
     "def main: ((i32, i32), (bool, bool)) ="},
    {"module m : { type t val a: t val b: t -> i32 } =\n"
     "{ type t = i32 def a = 1i32 def b (x: t) = x }\nentry main = m.b m.a",
     "def main: i32 ="},
    {"module m : { type t val a: t } = { type t = i32 def a = 1i32 }\nentry main = m.a",
     "def main: m.t ="},
    {"entry main (x: i64) = i64.(x + sum [x, 1])", "def main: i64 -> i64 ="},
    {"def (<+>) (a: i32) (b: i32) = a * 10 + b\nentry main = 1 <+> 2 <+> 3",
     "def <+>: i32 -> i32 -> i32 ="},
    {"entry main (x: i32) = let (+) (a: i32) (b: i32) = a - b in x + 1",
     "def main: i32 -> i32 ="},
    {"def main (x: i32) = x", "entry main"},
};

static void test_types(void) {
    for (size_t i = 0; i < sizeof type_tests / sizeof *type_tests; i++) {
        Session s;
        start(&s, type_tests[i].program, false);
        if (s.program != NULL) check_print(&s.cx, s.program, &s.out);
        for (uint32_t k = 0; k < s.cx.diags.len && s.program == NULL; k++)
            diag_render(&s.cx.sources, s.cx.diags.data[k], false, &s.out);
        strbuf_char(&s.out, '\0');
        bool found =
            s.program != NULL && strstr(s.out.data, type_tests[i].line) != NULL;
        CHECK(found);
        if (!found)
            printf("%s\nwanted %s\nin\n%s\n", type_tests[i].program, type_tests[i].line,
                   s.out.data);
        stop(&s);
    }
}

// ---- mistakes ----------------------------------------------------------------------

typedef struct ErrorTest {
    const char *program;
    const char *codes; // of what is reported, in order; empty: nothing
} ErrorTest;

static const ErrorTest error_tests[] = {
    {"def f (x: i32) = y", "unknown-name"},
    {"def f = alpha\ndef g = beta\ndef h = f + g", "unknown-name unknown-name"},
    {"def f (x: i32) : bool = x\ndef g (y: i32) = f y && f true",
     "type-mismatch type-mismatch"},
    {"def f (x: bool) = x + 1", "no-operator"},
    {"def f (x: i32) = f x", "recursion"},
    {"type t = t", "unknown-name"},
    // sizes: constants and parameters of one definition differ for good
    {"def f [n] [m] (a: [n]i32) (b: [m]i32) = zip a b", "size-mismatch"},
    {"def f (a: [3]i32) (b: [4]i32) = zip a b", "size-mismatch"},
    {"def f [n] (a: [n]i32) (b: [4]i32) = zip a b", ""},
    {"def f (a: []i32) (b: []i32) = zip a b", ""},
    {"def f [n] (a: [n]i32) (b: [n+1]i32) = zip a b", ""},
    {"def f [n] (a: [n]i32) = zip a (filter (> 0) a)", ""},
    {"def f [n] [m] (a: [n]i32) (b: [m]i32) = zip a (b :> [n]i32)", ""},
    {"def f [n] (a: [n]i32) = let g [m] (b: [m]i32) = zip a b in g a", ""},
    {"def f (n: i64) (m: i64) = zip (iota (n * m)) (iota (m * n))", ""},
    {"def f = [[1, 2], [3]]", "size-mismatch"},
    {"def f (n: i64) = [iota n, iota 3]", ""},
    {"def f (c: bool) = if c then [1, 2] else [3]", ""},
    {"def f = rep 0i32", "ambiguous-size"},
    {"def f : [3]i32 = rep 0", ""},
    {"def f (xs: [4]i32) = zip xs (rep true)", ""},
    // functions stay out of data
    {"def f (c: bool) = if c then (+ 1i32) else (+ 2)", "function-value"},
    {"def f = [(+ 1i32)]", "function-value"},
    {"def f (xs: []i32) = map (+) xs", "type-mismatch"},
    {"def f (xs: []i32) = map (\\x -> (x, (+ x))) xs", "function-value"},
    {"def f = {g = (+ 1i32)}", ""},
    {"type t = i32 -> i32", "unlifted-type"},
    {"type^ t = i32 -> i32", ""},
    // uniqueness
    {"def c (xs: *[]i32) = xs\ndef f (xs: *[]i32) = (c xs, xs)", "use-after-consume"},
    {"def c (xs: *[]i32) = xs\ndef f (xs: *[]i32) = (c (copy xs), xs)", ""},
    {"def c (xs: *[]i32) = xs\ndef f (p: *([]i32, []i32)) = (c p.0, p.1)", ""},
    {"def c (xs: *[]i32) = xs\ndef f (p: (*[]i32, []i32)) = let (a, b) = p in (c a, b)",
     ""},
    {"def c (p: (*[]i32, []i32)) = p.0\ndef f (a: *[]i32) (b: *[]i32) = (c (a, b), b)",
     ""},
    {"def c (p: (*[]i32, []i32)) = p.0\ndef f (a: *[]i32) (b: *[]i32) = (c (a, b), a)",
     "use-after-consume"},
    {"def f (xs: *[]i32) = let ys = xs with [0] = 1 in (xs, ys)", "copied"},
    {"def f (xs: []i32) : *[]i32 = map (+ 1) xs", ""},
    {"def f (xs: []i32) : *[]i32 = xs[1:]", "shared-result"},
    // exhaustiveness
    {"def f (x: bool) = match x case true -> 1 case false -> 2", ""},
    {"def f (x: bool) = match x case true -> 1", "not-exhaustive"},
    {"def f (x: bool) = match x case _ -> 1 case true -> 2", "redundant-case"},
    {"def f (x: u8) = match x case 0 -> 1 case 1 -> 2", "not-exhaustive"},
    {"def f (a: bool, b: bool) = match (a, b) case (true, _) -> 1 case (_, true) -> 2 "
     "case (false, false) -> 3",
     ""},
    // advice
    {"def f (x: i32) = 1", "unused-name"},
    {"def f (_x: i32) = let (a, _) = (1, 2) in a", ""},
    // what other sections of the design add
    {"def f (xs: {i32}) = 1", "not-supported"},
};

static void test_errors(void) {
    for (size_t i = 0; i < sizeof error_tests / sizeof *error_tests; i++) {
        Session s;
        start(&s, error_tests[i].program, true);
        for (uint32_t k = 0; k < s.cx.diags.len; k++)
            strbuf_printf(&s.out, k == 0 ? "%s" : " %s",
                          s.cx.diags.data[k]->kind->code);
        strbuf_char(&s.out, '\0');
        bool same = strcmp(s.out.data, error_tests[i].codes) == 0;
        CHECK(same);
        if (!same)
            printf("%s\nwanted: %s\nfound: %s\n", error_tests[i].program,
                   error_tests[i].codes, s.out.data);
        CHECK((s.program == NULL) == (s.cx.diags.error_count > 0));
        stop(&s);
    }
}

// ---- hostile programs --------------------------------------------------------------

typedef struct Text {
    char *data;
    size_t len;
} Text;

static void add(Text *text, const char *format, int a, int b, int c) {
    text->len += (size_t)sprintf(text->data + text->len, format, a, b, c);
}

// Builds "head body(0) body(1) ... tail" and returns what is reported, as codes.
static void check_chain(const char *head, const char *body, int count, const char *tail,
                        const char *codes) {
    Text text = {malloc(64 * (size_t)count + 1000), 0};
    if (text.data == NULL) return;
    add(&text, head, 0, 0, 0);
    for (int i = 0; i < count; i++) add(&text, body, i + 1, i, i);
    add(&text, tail, count, count, count);
    Session s;
    start(&s, text.data, false);
    for (uint32_t k = 0; k < s.cx.diags.len; k++)
        strbuf_printf(&s.out, k == 0 ? "%s" : " %s", s.cx.diags.data[k]->kind->code);
    strbuf_char(&s.out, '\0');
    bool same = strcmp(s.out.data, codes) == 0;
    CHECK(same);
    if (!same) printf("chain of %s wanted: %s\nfound: %s\n", body, codes, s.out.data);
    CHECK(s.mem.peak < (size_t)1 << 30);
    stop(&s);
    free(text.data);
}

static void test_hostile(void) {
    check_chain("entry main (x0: i32) =\n", "let x%d = x%d + 1\n", 10000, "in x%d", "");
    check_chain("entry main (x: i32) = x", " + x", 10000, "", "");
    check_chain("entry main (x0: i32) =\n", "let x%d = (x%d, x%d)\n", 60,
                "in (x%d, 1).1", "type-too-large");
    check_chain("def f0 x = (x, x)\n", "def f%d x = f%d (f%d x)\n", 12, "",
                "type-too-large");
    check_chain("type t0 = i32\n", "type t%d = (t%d, t%d)\n", 40, "", "type-too-large");
    check_chain("entry main (x: i32) = ", "loop a%d = x for _i < 3i32 do ", 200, "x",
                "");
    check_chain("entry main (b: bool) (a0: []i32) = ",
                "loop a%d = a%d for i < 3i32 do if b && i < %d then a0 else ", 200,
                "a%d", "");
    check_chain("def f0 (x: i32) = x\n", "def f%d (x: i32) = f%d x\n", 3000,
                "entry main = f%d 1", "");
}

int main(void) {
    test_types();
    test_errors();
    test_hostile();
    return test_done();
}
