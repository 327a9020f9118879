// SPDX-License-Identifier: Apache-2.0
//
// Lexer, parser and printer: every kind of node through print and back, precedences,
// values of literals, places and codes of messages, hostile input.
#include <math.h>
#include <setjmp.h>
#include <string.h>

#include "check/check.h"
#include "syntax/syntax.h"
#include "test.h"

static Mem mem;
static jmp_buf out_of_memory;
static Arena arena;
static Cx cx;

static void begin(void) {
    arena_init(&arena, &mem);
    cx_init(&cx, &arena);
}

static void end(void) {
    arena_free(&arena);
}

static Source *add(Str text) {
    return sources_add(&cx.sources, STR("test.weft"), text, false);
}

static Str print_ast(const Ast *ast) {
    StrBuf out = strbuf(&arena);
    syntax_print(&cx, ast, &out);
    return strbuf_done(&out);
}

static Str print_exp(const Exp *exp) {
    StrBuf out = strbuf(&arena);
    if (exp == NULL) strbuf_cstr(&out, "<error>");
    else syntax_print_exp(&cx, exp, &out);
    return strbuf_done(&out);
}

static bool show_mismatch(const char *text, Str expected, Str got) {
    if (str_eq(expected, got)) return true;
    StrBuf shown = strbuf(&arena);
    for (uint32_t i = 0; i < cx.diags.len; i++)
        diag_render(&cx.sources, cx.diags.data[i], false, &shown);
    Str messages = strbuf_done(&shown);
    printf("text:     %s\nexpected: %.*s\ngot:      %.*s\n%.*s", text,
           STR_ARG(expected), STR_ARG(got), STR_ARG(messages));
    return false;
}

// ---- print round trips -----------------------------------------------------------

// Whether the declarations print as expected, and their print as itself.
static bool prints(const char *text, const char *expected) {
    begin();
    Str first = print_ast(syntax_parse(&cx, add(str_of(text))));
    bool ok = cx.diags.error_count == 0;
    ok = show_mismatch(text, str_of(expected), first) && ok;
    Str second = print_ast(syntax_parse(&cx, add(first)));
    ok = show_mismatch(text, first, second) && ok && cx.diags.error_count == 0;
    end();
    return ok;
}

static bool same(const char *text) {
    return prints(text, text);
}

static bool exp_prints(const char *text, const char *expected) {
    begin();
    Str first = print_exp(syntax_parse_exp(&cx, add(str_of(text))));
    bool ok = show_mismatch(text, str_of(expected), first);
    Str second = print_exp(syntax_parse_exp(&cx, add(first)));
    ok = show_mismatch(text, first, second) && ok && cx.diags.error_count == 0;
    end();
    return ok;
}

static bool same_exp(const char *text) {
    return exp_prints(text, text);
}

static void test_exps(void) {
    static const char *const texts[] = {
        "1", "1_000i64", "0xff", "0b101u8", "0rXIV", "1.5", "1e-6f32", "0x1.8p3", "'a'",
        "'\\n'", "true", "false", "\"text\"", "\"a\\n\\t\\\"\\\\b\"", "\"\\1\\&2\"",
        "x",
        "m.x", "m.n.x", "(+)", "m.(+)", "m.n.(-)", "???", "(x)", "()", "(a, b)",
        "(a, b, c)", "{}", "{x = 1}", "{x, y}", "{x = 1, y}", "{0 = a, 1 = b}", "[]",
        "[1]", "[1, 2, 3]", "(f x).0", "x.0.1", "m.x.0.y", "a[0]", "a[i, j]",
        "a[i][j]", "a[:]", "a[1:]", "a[:n]", "a[1:n]", "a[::2]", "a[1:n:2]",
        "a[::-1, i]", "f x", "f x y z", "f [1, 2]", "f (g x) a[0]", "f {x = 1} #a",
        "a + b", "a - b * c", "a `f` b", "a `m.f` b", "x m.+ y", "x m.n.+ y",
        "a |> f |> g", "f <| g <| a", "a && b || c", "-x", "!x", "- -x", 
        "- !x", "! -x", "-f x", "if a then b else c",
        "if a then b else if c then d else e",
        "\\x -> x", "\\(x: i32) (y, z) -> x", "\\x : i32 -> x", "\\x -> \\y -> x + y",
        "\\_ -> 1", "\\{x, y = (z: i32)} -> x", "\\() -> 1", "(a +)", "(+ a)", "(a -)",
        "(`f` a)", "(a `f`)", "(m.+ a)", "(a m.+)", "(a * b +)", "(.x)", "(.x.y.0)",
        "(.[i])", "(.[i, 1:2])", "a...b", "a..b...c", "a..<b", "a..b..<c", "a..>b",
        "a..b..>c", "0..<n - 1", "1 + 1...2 * 3", "0...-1", "a with [i] = v",
        "a with [i, 1:n] = v", "a with [0] = 1 with [1] = 2", "r with x = v",
        "r with x.y.0 = v + 1", "e : i32", "e :> [n]i32", "e : i32 : i32",
        "assert c e", "1 + assert (x > 0) (f x)", "#a", "#a 1 x", "#a (#b 1) [2]",
        "#[unsafe] a[i] + 1", "#[a(b, c(d), 1)] x",
        "#[a(with)] x", "m.(x + y)", "m.(x, y)",
        "{| a |}", "{| a, b + 1 |}", "{ x + 1 : x in s }",
        "{ x + y : x in s; (y, z) in t }", "{ x : x in s if x > 0 }", "{ e if c }",
        "{ { y : y in x } : x in s }", "{ (x : i32) : x in 0..<n if even x }",
        "{ x :> [n]i32 : x in s }", "f ??? ()",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK(same_exp(texts[i]));
    CHECK(exp_prints("f(x).y", "f (x).y"));
    CHECK(exp_prints("{| |}", "{|  |}"));
    CHECK(exp_prints("{||}", "{|  |}"));
    CHECK(exp_prints("(a, b,)", "(a, b)"));
    CHECK(exp_prints("[a, b,]", "[a, b]"));
    CHECK(exp_prints("{a, b = 1,}", "{a, b = 1}"));
    CHECK(exp_prints("{|a,|}", "{| a |}"));
    CHECK(exp_prints("a[1,]", "a[1]"));
    CHECK(exp_prints("m.((+ x))", "m.(+ x)"));
    CHECK(exp_prints("x-1", "x - 1"));
    CHECK(exp_prints("x -1", "x - 1"));
    CHECK(exp_prints("f -1", "f - 1"));
    CHECK(exp_prints("a . b", "a.b"));
    CHECK(exp_prints("if x then y else z -- end", "if x then y else z"));
}

static void test_layout(void) {
    CHECK(exp_prints("let x = 1 in x", "let x = 1\nin x"));
    CHECK(exp_prints("let x = 1 let y = 2 in x", "let x = 1\nlet y = 2\nin x"));
    CHECK(same_exp("let [n] (xs: [n]i32) = e\nin n"));
    CHECK(exp_prints("let x : i32 = e in n", "let x: i32 = e\nin n"));
    CHECK(same_exp("let (a, _) = e\nin a"));
    CHECK(same_exp("let f x = x\nin f"));
    CHECK(same_exp("let f 'a [n] (x: [n]a) : i64 = n\nin f"));
    CHECK(same_exp("let a[i, 0] = v\nin a"));
    CHECK(exp_prints("let x <+> y = x in 1", "let (<+>) x y = x\nin 1"));
    CHECK(exp_prints("let (x: i32) *+ (y: i32) = x in 1",
                     "let (*+) (x: i32) (y: i32) = x\nin 1"));
    CHECK(exp_prints("let x `f` y = x in 1", "let f x y = x\nin 1"));
    CHECK(same_exp("let (+) = f\nin 1 + 2"));
    CHECK(same_exp("let (+) x y = f x y\nin 1 + 2"));
    CHECK(same_exp("loop x for i < n do\n  x + i"));
    CHECK(same_exp("loop (x, y) = (1, 2) for z in zs do\n  (x, z)"));
    CHECK(same_exp("loop x = 1 while x < 10 do\n  x * 2"));
    CHECK(same_exp("loop [n] (xs: [n]i32) = e for i < 3 do\n  xs"));
    CHECK(same_exp("match x\ncase 1 -> a\ncase -1 -> b\ncase _ -> c"));
    CHECK(same_exp("match x\ncase #a y (#b z) -> y\ncase (p, {q = 1, r}) -> p"));
    CHECK(same_exp("match x\ncase #[a] (y: i32) -> y\ncase true -> 1\ncase 'c' -> 2"));
}

static void test_types(void) {
    static const char *const types[] = {
        "i32", "m.t", "m.n.t", "t a [n] (b c)", "[n]i32", "[]i32", "[n][m]i32",
        "[n][?]i32",
        "[n + 1]t", "(a, b)", "()", "{x: a, y: b}", "{0: a, 1: b}", "{}", "#a",
        "#red | #rgb f32 f32 f32", "#a ([n]b) | #c {x: i32}", "a -> b", "a -> b -> c",
        "(a -> b) -> c", "(x: a) -> b", "(n: i64) -> (m: i64) -> [n][m]t", "*t",
        "*[n]t",
        "a -> *[]b", "{t}", "{{t}}", "{[n]t}", "?[n].[n]t", "?[n][m].([n]t, [m]t)",
        "(t)",
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "type t = %s\n", types[i]);
        CHECK(same(text));
        snprintf(text, sizeof text, "def f (x: %s) : %s = x\n", types[i], types[i]);
        CHECK(same(text));
    }
    CHECK(prints("type t = (a, b,)", "type t = (a, b)\n"));
    CHECK(prints("type t = * *a", "type t = * *a\n"));
    begin();
    StrBuf out = strbuf(&arena);
    const Exp *exp = syntax_parse_exp(&cx, add(STR("x : [n]i32 -> (i32, m.t)")));
    CHECK(exp != NULL && exp->kind == EXP_ASCRIPT);
    if (exp != NULL) syntax_print_type(&cx, exp->as.ascript.type, &out);
    CHECK(str_eq(strbuf_done(&out), STR("[n]i32 -> (i32, m.t)")));
    end();
}

static void test_decls(void) {
    static const char *const texts[] = {
        "def x = 1\n",
        "def f 'a 'b [n] (x: [n]a) (y: b) : i64 = n\n",
        "def f '~a '^b (x: a) = x\n",
        "entry main (x: i32) = x\n",
        "def (<+>) (x: t) (y: t) = x\n",
        "type t 'a [n] = [n]a\n",
        "type~ t = []i32\n",
        "type^ t = i32 -> i32\n",
        "import \"lib/path\"\n",
        "open m\n",
        "open import \"lib/path\"\n",
        "local def x = 1\n",
        "local local open m\n",
        "module m = n\n",
        "module m = {}\n",
        "module m = {\n  def x = 1\n\n  module n = {\n    type t = i32\n  }\n}\n",
        "module m : S = n\n",
        "module m : S with t = i32 with u 'a [n] = [n]a = n\n",
        "module f (x: S) (y: {}) : T = g x (h y) {}\n",
        "module m = \\(x: S) -> x : T\n",
        "module m = \\(x: S) : (T) -> x\n",
        "module m = (import \"a\" : S) : T\n",
        "module type S = T\n",
        "module type S = {}\n",
        "module type S = {\n  val f 'a [n] : [n]a -> a\n  val (+) : t -> t -> t\n}\n",
        "module type S = {\n  type t\n  type~ u 'a\n  type^ v = i32\n}\n",
        "module type S = {\n  module m : T\n  include U with t = i32\n}\n",
        "module type S = A -> (x: B) -> (C -> D) -> E with t = i32\n",
        "#[a]\n#[b(1)]\ndef x = 1\n",
        "-- | One.\n--\n-- Three.\ndef x = 1\n",
        "-- | The file.\n\n-- | The value.\ndef x = 1\n",
        "module type S = {\n  -- | A value.\n  #[a]\n  val x : i32\n}\n",
        "module m = {\n  -- | A\n  -- value.\n  def x = 1\n}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK(same(texts[i]));
    CHECK(prints("def ( **. ) x y = x", "def (**.) x y = x\n"));
    CHECK(prints("def x <+> y = x", "def (<+>) x y = x\n"));
    CHECK(prints("def (x: i32) +. (y: i32) : i32 = x",
                 "def (+.) (x: i32) (y: i32) : i32 = x\n"));
    CHECK(prints("def x `f` y = x", "def f x y = x\n"));
    CHECK(prints("let f x = x", "def f x = x\n"));
    CHECK(prints("def f[n] (x: [n]t) = n", "def f [n] (x: [n]t) = n\n"));
    CHECK(prints("module type S = { val + : t val m : t }",
                 "module type S = {\n  val (+) : t\n  val m : t\n}\n"));
    CHECK(prints("", ""));
    CHECK(prints("-- only a comment", ""));
    CHECK(prints("\xef\xbb\xbf" "def x = 1\r\n", "def x = 1\n"));
    CHECK(prints("-- | A.\n-- ==\n-- input { 1 }\ndef x = 1", "-- | A.\ndef x = 1\n"));
}

// ---- precedence ------------------------------------------------------------------

// Writes exp with every grouping in parentheses.
static void group(const Exp *exp, StrBuf *out) {
    switch (exp->kind) {
    case EXP_BINOP:
        strbuf_char(out, '(');
        group(exp->as.binop.left, out);
        strbuf_str(out, sym_str(&cx.syms, exp->as.binop.op.name.sym));
        group(exp->as.binop.right, out);
        strbuf_char(out, ')');
        return;
    case EXP_NEG: case EXP_NOT:
        strbuf_cstr(out, exp->kind == EXP_NEG ? "(-" : "(!");
        group(exp->as.inner, out);
        strbuf_char(out, ')');
        return;
    case EXP_APPLY:
        strbuf_char(out, '(');
        group(exp->as.apply.fun, out);
        for (uint32_t i = 0; i < exp->as.apply.args.len; i++) {
            strbuf_char(out, ' ');
            group(exp->as.apply.args.data[i], out);
        }
        strbuf_char(out, ')');
        return;
    case EXP_RANGE:
        strbuf_char(out, '(');
        group(exp->as.range.start, out);
        strbuf_cstr(out, "..");
        group(exp->as.range.end, out);
        strbuf_char(out, ')');
        return;
    case EXP_ASCRIPT:
        strbuf_char(out, '(');
        group(exp->as.ascript.exp, out);
        strbuf_cstr(out, ":t)");
        return;
    case EXP_UPDATE:
        strbuf_char(out, '(');
        group(exp->as.update.exp, out);
        strbuf_cstr(out, " with ");
        group(exp->as.update.value, out);
        strbuf_char(out, ')');
        return;
    case EXP_IF:
        strbuf_cstr(out, "(if ");
        group(exp->as.if_exp.else_exp, out);
        strbuf_char(out, ')');
        return;
    case EXP_LAMBDA:
        strbuf_cstr(out, "(\\");
        group(exp->as.lambda.body, out);
        strbuf_char(out, ')');
        return;
    case EXP_LET:
        strbuf_cstr(out, "(let ");
        group(exp->as.let.body, out);
        strbuf_char(out, ')');
        return;
    case EXP_ATTR:
        strbuf_cstr(out, "(# ");
        group(exp->as.attr.exp, out);
        strbuf_char(out, ')');
        return;
    default:
        syntax_print_exp(&cx, exp, out);
    }
}

static bool groups(const char *text, const char *expected) {
    begin();
    const Exp *exp = syntax_parse_exp(&cx, add(str_of(text)));
    StrBuf out = strbuf(&arena);
    if (exp != NULL) group(exp, &out);
    bool ok = show_mismatch(text, str_of(expected), strbuf_done(&out));
    end();
    return ok;
}

static void test_precedence(void) {
    CHECK(groups("a + b * c ** d", "(a+(b*(c**d)))"));
    CHECK(groups("a ** b ** c", "((a**b)**c)"));
    CHECK(groups("a - b - c", "((a-b)-c)"));
    CHECK(groups("a * b / c % d // e %% f", "(((((a*b)/c)%d)//e)%%f)"));
    CHECK(groups("a + b << c", "((a+b)<<c)"));
    CHECK(groups("a << b & c >>> d", "((a<<b)&(c>>>d))"));
    CHECK(groups("a & b ^ c | d", "(((a&b)^c)|d)"));
    CHECK(groups("a & b == c", "((a&b)==c)"));
    CHECK(groups("a < b && c >= d || e", "(((a<b)&&(c>=d))||e)"));
    CHECK(groups("a || b && c", "(a||(b&&c))"));
    CHECK(groups("f <| g <| a || b", "(f<|(g<|(a||b)))"));
    CHECK(groups("f <| x |> g |> h", "(((f<|x)|>g)|>h)"));
    CHECK(groups("x |> f `s` y |> f", "((x|>f)s(y|>f))"));
    CHECK(groups("a `f` b `g` c", "((afb)gc)"));
    CHECK(groups("a + 1 |> f", "((a+1)|>f)"));
    CHECK(groups("-a ** b", "((-a)**b)"));
    CHECK(groups("-f x", "(-(f x))"));
    CHECK(groups("!a && b", "((!a)&&b)"));
    CHECK(groups("-a[0]", "(-a[0])"));
    CHECK(groups("a - -b", "(a-(-b))"));
    CHECK(groups("f -1", "(f-1)"));
    CHECK(groups("f a - 1", "((f a)-1)"));
    CHECK(groups("a `f` b...c |> d", "((afb)..(c|>d))"));
    CHECK(groups("0..<n - 1", "(0..(n-1))"));
    CHECK(groups("a + b : t", "((a+b):t)"));
    CHECK(groups("a...b : t", "((a..b):t)"));
    CHECK(groups("a with [0] = b + c", "(a with (b+c))"));
    CHECK(groups("a with [0] = b |> c", "(a with (b|>c))"));
    CHECK(groups("a |> b with [0] = c", "((a|>b) with c)"));
    CHECK(groups("a `f` b with [0] = c", "(af(b with c))"));
    CHECK(groups("a with [0] = b `f` c", "((a with b)fc)"));
    CHECK(groups("a with [0] = b with [1] = c", "((a with b) with c)"));
    CHECK(groups("a + if b then c else d + e : t", "(a+(if ((d+e):t)))"));
    CHECK(groups("a |> \\x -> x + 1 |> f", "(a|>(\\((x+1)|>f)))"));
    CHECK(groups("a + let x = 1 in x + y", "(a+(let (x+y)))"));
    CHECK(groups("#[u] a + b", "(# (a+b))"));
    // An operator binds like the longest start of its name that is in the table.
    CHECK(groups("a <+> b + c", "(a<+>(b+c))"));
    CHECK(groups("a >>= b + c", "(a>>=(b+c))"));
    CHECK(groups("a >>= b < c", "((a>>=b)<c)"));
    CHECK(groups("a |>. b <|. c", "(a|>.(b<|.c))"));
    CHECK(groups("a <|. b <|. c", "(a<|.(b<|.c))"));
    CHECK(groups("a **. b * c", "((a**.b)*c)"));
    CHECK(groups("a *. b + c", "((a*.b)+c)"));
    CHECK(groups("a &&& b || c", "((a&&&b)||c)"));
    CHECK(groups("a ||| b && c", "(a|||(b&&c))"));
    CHECK(groups("a =% b && c", "((a=%b)&&c)"));
    CHECK(groups("a -| b -| c", "((a-|b)-|c)"));
    CHECK(groups("a m.* b + c", "((a*b)+c)"));
    CHECK(groups("a >-> b + c", "(a>->(b+c))"));
    CHECK(groups("a <-< b && c", "((a<-<b)&&c)"));
    CHECK(groups("a %%+ b + c", "((a%%+b)+c)"));
}

// ---- literals --------------------------------------------------------------------

static bool int_is(const char *text, LitKind kind, uint64_t bits, const char *suffix) {
    begin();
    const Exp *exp = syntax_parse_exp(&cx, add(str_of(text)));
    bool ok = exp != NULL && exp->kind == EXP_LIT && exp->as.lit.kind == kind &&
              exp->as.lit.bits == bits && !exp->as.lit.too_big &&
              str_eq(sym_str(&cx.syms, exp->as.lit.suffix), str_of(suffix)) &&
              str_eq(exp->as.lit.text, str_of(text));
    if (!ok) printf("literal %s\n", text);
    end();
    return ok;
}

static bool float_is(const char *text, double value, const char *suffix) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return int_is(text, LIT_FLOAT, bits, suffix);
}

static bool string_is(const char *text, Str bytes) {
    begin();
    const Exp *exp = syntax_parse_exp(&cx, add(str_of(text)));
    bool ok = exp != NULL && exp->kind == EXP_STRING && str_eq(exp->as.string, bytes);
    if (!ok) printf("string %s\n", text);
    end();
    return ok;
}

static bool is_too_big(const char *text) {
    begin();
    const Exp *exp = syntax_parse_exp(&cx, add(str_of(text)));
    bool ok = exp != NULL && exp->as.lit.too_big && exp->as.lit.kind == LIT_INT;
    end();
    return ok;
}

static void test_literals(void) {
    CHECK(int_is("0", LIT_INT, 0, ""));
    CHECK(int_is("1_000_", LIT_INT, 1000, ""));
    CHECK(int_is("42i32", LIT_INT, 42, "i32"));
    CHECK(int_is("0xFf_u8", LIT_INT, 255, "u8"));
    CHECK(int_is("0x1f32", LIT_INT, 0x1f32, ""));
    CHECK(int_is("0b1_01i8", LIT_INT, 5, "i8"));
    CHECK(int_is("0rMCMXCIVu16", LIT_INT, 1994, "u16"));
    CHECK(int_is("18446744073709551615u64", LIT_INT, UINT64_MAX, "u64"));
    CHECK(int_is("0xffffffffffffffff", LIT_INT, UINT64_MAX, ""));
    CHECK(is_too_big("18446744073709551616"));
    CHECK(is_too_big("0x10000000000000000"));
    CHECK(is_too_big("99999999999999999999999999999999999999"));
    CHECK(float_is("1f32", 1, "f32"));
    CHECK(float_is("1.5", 1.5, ""));
    CHECK(float_is("1_234.56_78", 1234.5678, ""));
    CHECK(float_is("1e-6", 1e-6, ""));
    CHECK(float_is("1E+22f64", 1e22, "f64"));
    CHECK(float_is("1e23", 1e23, ""));
    CHECK(float_is("0.1f16", 0.1, "f16"));
    CHECK(float_is("9007199254740993.0", 9007199254740992.0, ""));
    CHECK(float_is("2.2250738585072011e-308", 2.2250738585072011e-308, ""));
    CHECK(float_is("5e-324", 5e-324, ""));
    CHECK(float_is("1e400", (double)INFINITY, ""));
    CHECK(float_is("0x1.8p3", 12, ""));
    CHECK(float_is("0x1p-2", 0.25, ""));
    CHECK(float_is("0xA.8p0f32", 10.5, "f32"));
    CHECK(int_is("'a'", LIT_CHAR, 'a', ""));
    CHECK(int_is("'\\''", LIT_CHAR, '\'', ""));
    CHECK(int_is("'\"'", LIT_CHAR, '"', ""));
    CHECK(int_is("'\\n'", LIT_CHAR, '\n', ""));
    CHECK(int_is("'\\\\'", LIT_CHAR, '\\', ""));
    CHECK(int_is("'\\65'", LIT_CHAR, 65, ""));
    CHECK(int_is("'\\x20ac'", LIT_CHAR, 0x20ac, ""));
    CHECK(int_is("'\xe2\x82\xac'", LIT_CHAR, 0x20ac, ""));
    CHECK(int_is("' '", LIT_CHAR, ' ', ""));
    CHECK(int_is("true", LIT_BOOL, 1, ""));
    CHECK(string_is("\"\"", STR("")));
    CHECK(string_is("\"a\\0b\\x41\\&1\"", STR("a\0bA1")));
    CHECK(string_is("\"\xc3\xa9\\233\\8364\"", STR("\xc3\xa9\xc3\xa9\xe2\x82\xac")));
    CHECK(string_is("\"\\x1F600\\128512\"", STR("\xf0\x9f\x98\x80\xf0\x9f\x98\x80")));
    CHECK(string_is("\"--\"", STR("--")));
}

// ---- messages --------------------------------------------------------------------

// Whether the first message has this code and stands at line:column, and how many
// there are.
static bool fails(const char *text, const char *code, uint32_t line, uint32_t column,
                  uint32_t count) {
    begin();
    syntax_parse(&cx, add(str_of(text)));
    bool ok = cx.diags.error_count == count && cx.diags.len > 0;
    if (cx.diags.len > 0) {
        const Diag *diag = cx.diags.data[0];
        Place place = sources_place(&cx.sources, diag->span.start);
        ok = ok && strcmp(diag->kind->code, code) == 0 && place.line == line &&
             place.column == column;
    }
    StrBuf out = strbuf(&arena);
    for (uint32_t i = 0; i < cx.diags.len; i++)
        diag_render(&cx.sources, cx.diags.data[i], false, &out);
    Str shown = strbuf_done(&out);
    if (!ok) printf("%s\n%u errors\n%.*s", text, cx.diags.error_count, STR_ARG(shown));
    end();
    return ok;
}

static bool hints(const char *text, const char *part) {
    begin();
    syntax_parse(&cx, add(str_of(text)));
    bool ok = false;
    for (uint32_t i = 0; i < cx.diags.len; i++)
        for (uint32_t j = 0; j < cx.diags.data[i]->hints.len; j++) {
            Str hint = cx.diags.data[i]->hints.data[j];
            ok = ok || strstr(str_terminated(&arena, hint), part) != NULL;
        }
    if (!ok) printf("no hint '%s' for: %s\n", part, text);
    end();
    return ok;
}

static void test_messages(void) {
    CHECK(fails("def x = (1 + 2\n", "unclosed", 1, 15, 1));
    CHECK(fails("def x = [1, 2\ndef y = 1", "unclosed", 2, 1, 1));
    CHECK(fails("def x = a[1\ndef y = 1", "unclosed", 2, 1, 1));
    CHECK(fails("def x = 1 +\ndef y = 2", "syntax", 2, 1, 1));
    CHECK(fails("def x = if a then b\ndef y = 2", "syntax", 2, 1, 1));
    CHECK(fails("def x = if a b\n", "syntax", 1, 15, 1));
    CHECK(fails("def x = let y = 1\n\ndef z = 2", "syntax", 3, 1, 1));
    CHECK(fails("def loop = 1", "reserved-word", 1, 5, 1));
    CHECK(fails("def f (in: i32) = 1", "reserved-word", 1, 8, 1));
    CHECK(fails("def x = a b.c.if", "reserved-word", 1, 15, 1));
    CHECK(fails("def x = 1 $ 2", "bad-character", 1, 11, 1));
    CHECK(fails("def x = \"abc\ndef y = 1", "unclosed-string", 1, 9, 1));
    CHECK(fails("def x = \"\\q\"", "bad-escape", 1, 10, 1));
    CHECK(fails("def x = \"\\1114112\"", "bad-escape", 1, 10, 1));
    CHECK(fails("def x = \"\\xd800\"", "bad-escape", 1, 10, 1));
    CHECK(fails("def x = 'ab'", "syntax", 1, 9, 1));
    CHECK(fails("def x = '\\nn'", "bad-character-literal", 1, 9, 1));
    CHECK(fails("def x = '\\", "bad-escape", 1, 10, 1));
    CHECK(fails("def x = 12abc", "bad-number", 1, 9, 1));
    CHECK(fails("def x = 1.5i32", "bad-number", 1, 9, 1));
    CHECK(fails("def x = 0b12", "bad-number", 1, 9, 1));
    CHECK(fails("def x = 0x", "bad-number", 1, 9, 1));
    CHECK(fails("def x = 0x1.8", "bad-number", 1, 9, 1));
    CHECK(fails("def x = 1e", "bad-number", 1, 9, 1));
    CHECK(fails("def (x, y) = e", "pattern-definition", 1, 5, 1));
    CHECK(fails("def f x 'a = e", "late-type-parameter", 1, 9, 1));
    CHECK(fails("def x = a[0] [1]", "spaced-index", 1, 14, 1));
    CHECK(fails("def x = (a,)", "tuple-of-one", 1, 9, 1));
    CHECK(fails("def x = 1...2...3", "range-chain", 1, 14, 1));
    CHECK(fails("def x = 1..2", "syntax", 1, 13, 1));
    CHECK(fails("def x = {x: 1}", "syntax", 1, 14, 1));
    CHECK(fails("def x = {x}.0 + {y = 1, z: 2}", "syntax", 1, 26, 1));
    CHECK(fails("x = 1", "syntax", 1, 1, 1));
    CHECK(fails("def x `m.f` y = 1", "qualified-name", 1, 7, 1));
    CHECK(fails("def f x = 1\n  def g = \n", "syntax", 2, 10, 1));
    // One message per declaration, and the others are still read.
    CHECK(fails("def a = )\ndef b = 1\ndef c = (\ndef d = ]\ntype = 1",
    "syntax", 1, 9, 4));
    CHECK(fails("module m = {\n  def a = )\n  def b = 1\n  def c = in\n}\ndef d = =\n",
                "syntax", 2, 11, 3));
    CHECK(fails("module m = {\n  def a = {\n\ndef d = 1\n", "syntax", 4, 1, 1));
    CHECK(fails("module m = {\n  def a = 1\n\ndef d = =\n", "syntax", 4, 9, 1));
    CHECK(hints("def f (x: i32) = x == 1\nfunction g x = x", "def"));
    CHECK(hints("def f x = if x = 1 then 2 else 3", "=="));
    CHECK(hints("def f x = (x = 1)", "=="));
    CHECK(hints("def f x = if x then 1", "both branches"));
    CHECK(hints("def f x = let y = 1\ndef g = 2", "in"));
    CHECK(hints("def f x = x++\n", "increment"));
    CHECK(hints("def f = map \\x -> x", "parentheses"));
    CHECK(hints("def f = (\\x => x)", "->"));
    CHECK(hints("def f x = 1 // a; b", "--"));
    CHECK(hints("// a comment\ndef f x = 1", "--"));
    CHECK(hints("def f = [1; 2]", "commas"));
    CHECK(hints("def f = \xe2\x80\x9chello\xe2\x80\x9d", "\""));
    CHECK(hints("import foo", "import \""));
    CHECK(hints("def x =-1", "space"));
    CHECK(hints("def f = \\x ->-1", "space"));
    CHECK(hints("def f = a + _", "???"));
    CHECK(hints("def f = a with [0] <- 1", "with"));
    CHECK(hints("def f = {a, b + 1}", "{x = 1"));
    CHECK(hints("def f = {1, 2}", "{x = 1"));
    CHECK(hints("def f = {1 + 2}", "{|"));
    CHECK(hints("type t = {x = i32}", "{x: t"));
    CHECK(hints("type t = a | b", "#a | #b"));
    CHECK(hints("def f (x i32) = x", "(x: t)"));
    CHECK(hints("def f x = x ? 1 : 2", "if c then"));
    CHECK(hints("def f x = match x with 1 -> 2", "case"));
    CHECK(hints("def f x = for i < 10 do x", "loop"));
    CHECK(hints("def f = {let x = 1; x}", ";"));
    CHECK(hints("def f x = x.[0]", "a[i]"));
    CHECK(hints("module type S = { def x = 1 }", "val"));
}

static void test_many_errors(void) {
    begin();
    StrBuf text = strbuf(&arena);
    for (int i = 0; i < 500; i++) strbuf_cstr(&text, "def = 1\n");
    syntax_parse(&cx, add(strbuf_done(&text)));
    CHECK(cx.diags.error_count == 51);
    end();
    begin();
    text = strbuf(&arena);
    for (int i = 0; i < 500; i++) strbuf_cstr(&text, "$ ");
    syntax_parse(&cx, add(strbuf_done(&text)));
    CHECK(cx.diags.error_count == 51);
    end();
}

// ---- spans -----------------------------------------------------------------------

static void test_spans(void) {
    begin();
    const char *text = "let x = f a[0] in x + m.n.y";
    const Source *source = add(str_of(text));
    const Exp *let = syntax_parse_exp(&cx, source);
    CHECK(let != NULL && let->kind == EXP_LET);
    CHECK(let->span.start == source->base && let->span.end == source->base + 27);
    const Exp *apply = let->as.let.exp, *sum = let->as.let.body;
    CHECK(apply->kind == EXP_APPLY && apply->span.start == source->base + 8 &&
          apply->span.end == source->base + 14);
    CHECK(sum->kind == EXP_BINOP && sum->span.start == source->base + 18 &&
          sum->span.end == source->base + 27);
    CHECK(sum->as.binop.right->span.start == source->base + 22);
    CHECK(sum->as.binop.right->as.var.quals.len == 2);
    CHECK(sum->as.binop.op.span.start == source->base + 20);
    end();
    begin();
    CHECK(syntax_parse_exp(&cx, add(STR("1 +"))) == NULL);
    CHECK(syntax_parse_exp(&cx, add(STR("1 2 )"))) == NULL);
    CHECK(syntax_parse_exp(&cx, add(STR(""))) == NULL);
    end();
}

// ---- hostile input ---------------------------------------------------------------

static uint32_t parse_bytes(Str text) {
    begin();
    const Ast *ast = syntax_parse(&cx, add(text));
    print_ast(ast);
    StrBuf shown = strbuf(&arena);
    for (uint32_t i = 0; i < cx.diags.len; i++)
        diag_render(&cx.sources, cx.diags.data[i], true, &shown);
    uint32_t errors = cx.diags.error_count;
    end();
    return errors;
}

static uint32_t parse_repeated(const char *head, const char *part, const char *tail) {
    enum { TIMES = 100000 };
    Arena own;
    arena_init(&own, &mem);
    StrBuf text = strbuf(&own);
    strbuf_cstr(&text, head);
    for (int i = 0; i < TIMES; i++) strbuf_cstr(&text, part);
    strbuf_cstr(&text, tail);
    uint32_t errors = parse_bytes(strbuf_done(&text));
    arena_free(&own);
    return errors;
}

static void test_nesting(void) {
    static const char *const nested[][2] = {
        {"def x = ", "("}, {"def x = ", "["}, {"def x = ", "{a = "}, {"def x = ", "{"},
        {"def x = ", "{| "}, {"def x = ", "if "}, {"def x = ", "let a = "},
        {"def x = ", "(\\x -> "}, {"def x = ", "loop a = "}, {"def x = ", "match "},
        {"def x = ", "a[b"}, {"def x = ", "m.("}, {"def x = ", "(+ "},
        {"def x = ", "#[a] "}, {"def x : ", "("}, {"def x : ", "["}, {"def x : ", "{"},
        {"def x : ", "(a: "}, {"def x : ", "#a [n]"}, {"def f ", "("}, {"def f ",
        "{a="},
        {"module m = ", "("}, {"module m = ", "{ module m = "}, {"module m = ", "F ("},
        {"module m = ", "\\(a: S) -> "}, {"module type S = ", "("},
        {"module type S = ", "{ module m : "}, {"", "local "}, {"#[a(", "b("},
        {"def x = match y ", "case a -> match b "},
    };
    for (size_t i = 0; i < sizeof nested / sizeof nested[0]; i++)
        CHECK(parse_repeated(nested[i][0], nested[i][1], "") == 1);
    static const char *const flat[][3] = {
        {"def x = 1", " + 1", ""}, {"def x = ", "let a = 1 ", "in a"},
        {"def x = ", "let a = 1 in ", "a"}, {"def x = f", " a", ""},
        {"def x = ", "if a then b else ", "c"}, {"def x = f", " <| f", ""},
        {"def x = a", "[0]", ""}, {"def x = a", ".b", ""}, {"def x = a", ".0", ""},
        {"def x = a", " with [0] = 1", ""}, {"def x = ", "- ", "1"},
        {"def x = 1", " : t", ""}, {"def x = ", "\\a -> ", "a"}, {"type t = ",
        "a -> ", "b"},
        {"type t = ", "[1]", "b"}, {"type t = ", "?[n].", "b"}, {"type t = #a",
        " | #a", ""},
        {"module m = F", " a", ""}, {"module type S = ", "A -> ", "B"},
        {"module type S = A", " with t = u", ""}, {"def x = a", " `f` b", ""},
        {"def x = a.", "a.", "a"}, {"def x = match y ", "case a -> 1 ", ""},
    };
    for (size_t i = 0; i < sizeof flat / sizeof flat[0]; i++)
        CHECK(parse_repeated(flat[i][0], flat[i][1], flat[i][2]) == 0);
}

static void test_bytes(void) {
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        parse_bytes((Str){&byte, 1});
        char text[] = "def x = ?";
        text[8] = byte;
        parse_bytes((Str){text, sizeof text - 1});
    }
    CHECK(parse_bytes(STR("def x = \0 1")) == 1);
    CHECK(parse_bytes(STR("def x = \xff\xfe 1")) == 1);
    CHECK(parse_bytes(STR("def x = \"\xff\"")) == 1);
    CHECK(parse_bytes(STR("def x = \"a\0b\"")) == 1);
    CHECK(parse_bytes(STR("def x = '\xff'")) > 0);
    CHECK(parse_bytes(STR("-- \xff\0 is fine here\ndef x = 1")) == 0);
    static const char text[] =
        "-- | d\n#[a(1)]\ndef f 'a [n] (x: [n]{a: a}) : i32 =\n  let (y, _) = x[0:1] in\n"
        "  loop z = 0x1.8p3f32 for i < n do { | } \"s\\n\" 'c' {| 1, 2 |} m.(x m.+ #c 1)\n"
        "module type S = { val (+) : (n: i64) -> *[n]t }\n";
    for (size_t len = 0; len < sizeof text; len++) parse_bytes((Str){text, len});
    for (size_t from = 0; from < sizeof text; from++)
        parse_bytes((Str){text + from, sizeof text - 1 - from});
    CHECK(1);
}

// Out of memory unwinds wherever it strikes.
static void test_memory(void) {
    static const char text[] = "def f x = let a = [1, 2, 3] in a[0] + x * 2\n";
    for (volatile uint64_t k = 1; k < 30; k++) {
        Mem small = {0};
        jmp_buf recover;
        small.recover = &recover;
        small.fail_at = k;
        Arena own;
        arena_init(&own, &small);
        if (setjmp(recover) == 0) {
            Cx local;
            cx_init(&local, &own);
            Str copy = str_of(text);
            syntax_parse(&local, sources_add(&local.sources, STR("m"), copy, false));
        }
        arena_free(&own);
        CHECK(small.used == 0);
    }
}

// ---- the library ------------------------------------------------------------------

// Reads what was left unread, inside of modules as well.
static void read_all(DeclVec *decls) {
    for (uint32_t i = 0; i < decls->len; i++) {
        Decl *decl = (Decl *)(uintptr_t)syntax_whole(&cx, decls->data[i]);
        CHECK(decl->kind == decls->data[i]->kind);
        CHECK(decl->span.start == decls->data[i]->span.start);
        CHECK(decl->span.end == decls->data[i]->span.end);
        decls->data[i] = decl;
        if (decl->kind == DECL_LOCAL) {
            DeclVec inner = {&decl->as.local, 1, 1};
            read_all(&inner);
        } else if (decl->kind == DECL_MODULE && decl->as.module.body->kind == MOD_BODY) {
            read_all(&decl->as.module.body->as.body);
        }
    }
}

// Left unread and read later, a library text is what it is when read at once.
static uint32_t count_unread(Str text) {
    begin();
    Str whole = print_ast(syntax_parse(&cx, add(text)));
    Ast *ast = syntax_parse(&cx, sources_add(&cx.sources, STR("lib"), text, true));
    uint32_t unread = 0;
    for (uint32_t i = 0; i < ast->decls.len; i++) {
        const Decl *decl = ast->decls.data[i];
        if (decl->kind == DECL_LOCAL) decl = decl->as.local;
        unread += decl->is_unread;
    }
    read_all(&ast->decls);
    CHECK(show_mismatch("a text of the library", whole, print_ast(ast)));
    CHECK(cx.diags.error_count == 0);
    end();
    return unread;
}

static void test_library(void) {
    for (size_t i = 0; i < lib_file_count; i++)
        CHECK(count_unread((Str){lib_files[i].text, lib_files[i].size}) > 0);
    CHECK(count_unread(STR("def f x =\n  x\n-- |no\ndef g = {\n  a = 1\n}\n\n"
                           "local #[a] def h: i32 =\n\n  1\ndef x <+> y = x\n"
                           "module m (p: s) = {\n  def (+) = 1\n\n  type t = i32\n"
                           "  module n = { def a = 1 def b = 2 }\n}\n"
                           "module type s = {\n  val x: i32\n}")) == 5);
}

int main(void) {
    if (setjmp(out_of_memory) != 0) return 1;
    mem.recover = &out_of_memory;
    test_exps();
    test_layout();
    test_types();
    test_decls();
    test_precedence();
    test_literals();
    test_messages();
    test_many_errors();
    test_spans();
    test_nesting();
    test_bytes();
    test_memory();
    test_library();
    return test_done();
}
