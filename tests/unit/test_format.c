// SPDX-License-Identifier: Apache-2.0
//
// The formatter: layouts, comments, every program of the repository (idempotent, no
// line too long), deep and hostile input, and every failing allocation.
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "syntax/syntax.h"
#include "test.h"

static Mem mem;
static jmp_buf out_of_memory;
static Arena arena;
static Cx cx;

static bool format(Str text, StrBuf *out) {
    cx_init(&cx, &arena);
    stack_measure(&cx.stack);
    const Source *source = sources_add(&cx.sources, STR("test.weft"), text, false);
    *out = strbuf(&arena);
    return syntax_format(&cx, source, out);
}

static void show_diags(void) {
    StrBuf shown = strbuf(&arena);
    for (uint32_t i = 0; i < cx.diags.len; i++)
        diag_render(&cx.sources, cx.diags.data[i], false, &shown);
    printf("%.*s", STR_ARG(strbuf_done(&shown)));
}

// Whether the text is formatted as expected and what is expected stays as it is.
static bool becomes(const char *text, const char *expected) {
    bool is_good = true;
    for (int turn = 0; turn < 2; turn++) {
        StrBuf out;
        arena_init(&arena, &mem);
        bool is_done = format(str_of(turn == 0 ? text : expected), &out);
        if (!is_done) show_diags();
        if (!is_done || !str_eq(strbuf_done(&out), str_of(expected))) {
            printf("text:\n%s\nexpected:\n%s\ngot:\n%.*s\n",
                   turn == 0 ? text : expected, expected, STR_ARG(strbuf_done(&out)));
            is_good = false;
        }
        arena_free(&arena);
    }
    return is_good;
}

static void test_blanks(void) {
    CHECK(becomes("", ""));
    CHECK(becomes("\n\n  \n", ""));
    CHECK(becomes("def x=1", "def x = 1\n"));
    CHECK(becomes("\xef\xbb\xbf"
                  "def x=1\r\n",
                  "def x = 1\n"));
    CHECK(becomes("def f(x:i32):i32= -x- -x+ !x*2",
                  "def f (x: i32): i32 = -x - -x + !x * 2\n"));
    CHECK(becomes("def x <+> y=x`f`y", "def x <+> y = x `f` y\n"));
    CHECK(becomes("def (<+>) 'a [n][m](x:*[n] [m]a) = (+ 1)",
                  "def (<+>) 'a [n] [m] (x: *[n][m]a) = (+ 1)\n"));
    CHECK(becomes("def x=a[ 1 :n,::2 ] . c . 0", "def x = a[1:n, ::2].c.0\n"));
    CHECK(becomes("def x=0..<n", "def x = 0..<n\n"));
    CHECK(becomes("def x=0 ..< n+1", "def x = 0 ..< n + 1\n"));
    CHECK(becomes("def x=f m.(a+b) (m.+) (.x.y) (.[1,2])",
                  "def x = f m.(a + b) (m.+) (.x.y) (.[1, 2])\n"));
    CHECK(becomes("def x={e:x in s;y in r if c}",
                  "def x = { e : x in s; y in r if c }\n"));
    CHECK(becomes("def x={|1,2|}", "def x = {| 1, 2 |}\n"));
    CHECK(becomes("type ~ t 'a=#a i32|#b{x:a}", "type~ t 'a = #a i32 | #b {x: a}\n"));
    CHECK(becomes("#[a(b,c)]def x=1", "#[a(b, c)] def x = 1\n"));
    CHECK(becomes("#[a]\ndef x=1", "#[a]\ndef x = 1\n"));
}

static void test_layout(void) {
    CHECK(becomes("def f x=let a=1 let b=2 in a+b",
                  "def f x =\n  let a = 1\n  let b = 2\n  in a + b\n"));
    CHECK(becomes("def f x=match x case 1->a case _->b",
                  "def f x =\n  match x\n  case 1 -> a\n  case _ -> b\n"));
    CHECK(becomes("def f x=if a\nthen b else c",
                  "def f x =\n  if a\n  then b\n  else c\n"));
    CHECK(becomes("def f x=loop a=0 for i<n do\na+i",
                  "def f x =\n  loop a = 0 for i < n do\n    a + i\n"));
    CHECK(becomes("def f x=x\n|> g|> h", "def f x =\n  x\n  |> g\n  |> h\n"));
    CHECK(becomes("def f x=map (\\y->let z=y in z) x",
                  "def f x =\n  map (\\y ->\n    let z = y\n    in z)\n"
                  "      x\n"));
    CHECK(becomes("def f xs = xs |> map (\\x -> map (\\(y,\nz) w -> let a = y in a) x)",
                  "def f xs =\n  xs\n  |> map (\\x ->\n    map (\\(y, z) w ->\n"
                  "      let a = y\n      in a)\n        x)\n"));
    CHECK(becomes("def f x = g <| \\y -> \\z -> let a = y\n in a",
                  "def f x =\n  g <| \\y -> \\z ->\n    let a = y\n    in a\n"));
    CHECK(becomes("module m={type t=i32}", "module m = { type t = i32 }\n"));
    CHECK(becomes("module m={\ndef a=1\n\n\n\ndef b=2}",
                  "module m = {\n  def a = 1\n\n  def b = 2\n}\n"));
    CHECK(becomes("module type s={val a:t->t\n}",
                  "module type s = {\n  val a: t -> t\n}\n"));
}

static void test_comments(void) {
    CHECK(becomes("-- a", "-- a\n"));
    CHECK(becomes("\n\n-- a\n\n\n-- b\ndef x=1--c\n--d",
                  "-- a\n\n-- b\ndef x = 1  --c\n--d\n"));
    CHECK(becomes("def x=[1 -- a\n,2 -- b\n-- c\n]",
                  "def x =\n  [1,  -- a\n   2  -- b\n   -- c\n   ]\n"));
    CHECK(becomes("def f = -- a\n1", "def f =  -- a\n  1\n"));
    CHECK(becomes("def f=let a=1 -- a\n\n-- b\nin a",
                  "def f =\n  let a = 1  -- a\n\n  -- b\n  in a\n"));
    CHECK(becomes("module m={ -- a\ndef x=1\n-- b\n}",
                  "module m = {  -- a\n  def x = 1\n  -- b\n}\n"));
    CHECK(becomes("-- ==\n-- input { 1 }   \n\n-- text   \ndef x=1",
                  "-- ==\n-- input { 1 }   \n\n-- text\ndef x = 1\n"));
    CHECK(becomes("-- | a\n-- b\n\n-- | c\ndef x=1",
                  "-- | a\n-- b\n\n-- | c\ndef x = 1\n"));
}

// ---- the repository --------------------------------------------------------------

static size_t longest_line(Str text) {
    size_t longest = 0;
    for (size_t at = 0, start = 0; at < text.len; at++) {
        if (text.ptr[at] != '\n') continue;
        bool has_comment = false;
        for (size_t i = start; i + 1 < at; i++)
            has_comment |= text.ptr[i] == '-' && text.ptr[i + 1] == '-';
        if (!has_comment && at - start > longest) longest = at - start;
        start = at + 1;
    }
    return longest;
}

// Puts comments and line ends at every step-th blank that is in no comment or string.
static Str sprinkle(Str text, unsigned step) {
    static const char *const parts[] = {" -- c\n", "\n", "\n -- d\n", "\n\n\n"};
    StrBuf out = strbuf(&arena);
    bool in_comment = false, in_string = false;
    unsigned blanks = step;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i], next = i + 1 < text.len ? text.ptr[i + 1] : '\0';
        if (c == '\n') in_comment = in_string = false;
        if (c == '-' && next == '-' && !in_string) in_comment = true;
        if (c == '"' && !in_comment) in_string = !in_string;
        bool is_here = c == ' ' && !in_comment && !in_string && ++blanks % step == 0;
        if (is_here) strbuf_cstr(&out, parts[blanks / step % 4]);
        else strbuf_char(&out, c);
    }
    return strbuf_done(&out);
}

// Whether the text is formatted twice alike; true too if it has syntax errors.
static bool is_stable(const char *path, Str text) {
    StrBuf once, twice;
    if (!format(text, &once)) {
        bool is_ours =
            strcmp(cx.diags.data[cx.diags.len - 1]->kind->code, "internal") == 0;
        if (is_ours) printf("%s:\n", path);
        if (is_ours) show_diags();
        return !is_ours;
    }
    bool is_same = format(strbuf_done(&once), &twice) &&
                   str_eq(strbuf_done(&once), strbuf_done(&twice));
    if (!is_same)
        printf("%s: once\n%.*s\ntwice\n%.*s\n", path, STR_ARG(strbuf_done(&once)),
               STR_ARG(strbuf_done(&twice)));
    return is_same;
}

static int programs;

static int check_file(const char *path, const struct stat *info, int kind,
                      struct FTW *where) {
    (void)info, (void)where;
    size_t len = strlen(path);
    if (kind != FTW_F || len < 5 || strcmp(path + len - 5, ".weft") != 0) return 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    arena_init(&arena, &mem);
    char *bytes = arena_alloc(&arena, 1 << 20);
    Str text = {bytes, fread(bytes, 1, 1 << 20, file)};
    fclose(file);
    StrBuf once;
    if (format(text, &once)) {
        programs++;
        if (longest_line(strbuf_done(&once)) > 88) printf("%s:\n", path);
        CHECK(longest_line(strbuf_done(&once)) <= 88);
    }
    CHECK(is_stable(path, text));
    if (text.len < 10000)
        for (unsigned step = 1; step < 6; step++)
            CHECK(is_stable(path, sprinkle(text, step)));
    arena_free(&arena);
    return 0;
}

static void test_repository(void) {
    static const char *const folders[] = {"/lib", "/examples", "/tests/lang",
                                          "/tests/run", "/tests/diag"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s%s", WEFT_SOURCE_DIR, folders[i]);
        nftw(path, check_file, 16, FTW_PHYS);
    }
    CHECK(programs > 500);
}

// ---- hostile input ---------------------------------------------------------------

static bool stays_same(const char *head, const char *part, size_t times,
                       const char *tail) {
    arena_init(&arena, &mem);
    StrBuf text = strbuf(&arena), once, twice;
    strbuf_cstr(&text, head);
    for (size_t i = 0; i < times; i++) strbuf_cstr(&text, part);
    strbuf_cstr(&text, tail);
    bool is_good = format(strbuf_done(&text), &once) &&
                   format(strbuf_done(&once), &twice) &&
                   str_eq(strbuf_done(&once), strbuf_done(&twice));
    arena_free(&arena);
    return is_good;
}

static void test_deep(void) {
    enum { DEEP = 10000, LONG = 50000 };
    CHECK(stays_same("def x = ", "1 + ", LONG, "1"));
    CHECK(stays_same("def x = ", "f <| ", LONG, "1"));
    CHECK(stays_same("def x = ", "let a = 1 ", LONG, "in a"));
    CHECK(stays_same("def x = ", "if a then b else ", LONG, "c"));
    CHECK(stays_same("def x = ", "\\a -> ", LONG, "c"));
    CHECK(stays_same("def x = ", "- ", LONG, "c"));
    CHECK(stays_same("def x = a", ".b", LONG, ""));
    CHECK(stays_same("def x = a", "[1]", LONG, ""));
    CHECK(stays_same("def x = a", " with [1] = 2", LONG, ""));
    CHECK(stays_same("def x = a", " : t", LONG, ""));
    CHECK(stays_same("def x = f", " (g 1)", LONG, ""));
    CHECK(stays_same("type t = ", "a -> ", LONG, "a"));
    CHECK(stays_same("type t = ", "[]", LONG, "a"));
    CHECK(stays_same("def x = 1 ", "-- c\n", LONG, ""));
    StrBuf out;
    for (int i = 0; i < 3; i++) { // nesting: formatted or refused, no more
        static const char *const open[] = {"(", "[", "module m = { "};
        arena_init(&arena, &mem);
        StrBuf text = strbuf(&arena);
        strbuf_cstr(&text, i < 2 ? "def x = " : "");
        for (int j = 0; j < DEEP; j++) strbuf_cstr(&text, open[i]);
        strbuf_cstr(&text, i < 2 ? "1" : "");
        for (int j = 0; j < DEEP; j++)
            strbuf_cstr(&text, i == 0 ? ")" : i == 1 ? "]" : "}");
        bool is_done = format(strbuf_done(&text), &out);
        CHECK(is_done || strcmp(cx.diags.data[0]->kind->code, "internal") != 0);
        arena_free(&arena);
    }
}

static void test_bytes(void) {
    static const char *const parts[] = {
        "def ",   "x",       " ",      "\n",    "-- c\n", "-- | d\n", "-- ==\n", "=",
        "(",      ")",       "[",      "]",     "{",      "}",        "let ",    " in ",
        "1",      ",",       ":",      "+",     "-",      "\\",       "->",      "if ",
        "then ",  "else ",   "match ", "case ", "'a",     ".",        "..<",     "#b",
        "type ",  "module ", "#[a]",   "\"s\"", "\x80",   "with ",    "<|",      "|>",
        "local ", "open ",   "val ",   "loop ", " do "};
    uint32_t seed = 1;
    bool is_good = true;
    for (int i = 0; i < 20000; i++) {
        arena_init(&arena, &mem);
        StrBuf text = strbuf(&arena), out;
        strbuf_cstr(&text, i % 2 == 0 ? "def x = " : "");
        for (int j = 0; j < 12; j++) {
            seed = seed * 1664525 + 1013904223;
            strbuf_cstr(&text, parts[(seed >> 8) % (sizeof parts / sizeof parts[0])]);
        }
        Str before = strbuf_done(&text);
        bool is_done = format(before, &out);
        if (!is_done &&
            strcmp(cx.diags.data[cx.diags.len - 1]->kind->code, "internal") == 0) {
            printf("%.*s\n", STR_ARG(before));
            show_diags();
            is_good = false;
        }
        StrBuf twice;
        if (is_done && (!format(strbuf_done(&out), &twice) ||
                        !str_eq(strbuf_done(&out), strbuf_done(&twice)))) {
            printf("not the same twice:\n%.*s\nthen\n%.*s\nthen\n%.*s\n",
                   STR_ARG(before), STR_ARG(strbuf_done(&out)),
                   STR_ARG(strbuf_done(&twice)));
            is_good = false;
        }
        arena_free(&arena);
    }
    CHECK(is_good);
}

static void test_memory(void) {
    static const char text[] = "def f x = -- a\nlet y = map (\\z -> z + 1) [1, 2]\n"
                               "-- b\nin match y case (a, b) -> {a, b = 1}\n";
    jmp_buf *outer = mem.recover;
    volatile bool is_done = false;
    for (volatile uint64_t k = 1; !is_done; k++) {
        jmp_buf recover;
        arena_init(&arena, &mem);
        mem.recover = &recover;
        mem.fail_at = mem.calls + k;
        if (setjmp(recover) == 0) {
            StrBuf out;
            is_done = format(str_of(text), &out);
            CHECK(is_done);
        }
        mem.fail_at = 0;
        arena_free(&arena);
    }
    mem.recover = outer;
    CHECK(mem.used == 0);
}

int main(void) {
    if (setjmp(out_of_memory) != 0) return 1;
    mem.recover = &out_of_memory;
    test_blanks();
    test_layout();
    test_comments();
    test_repository();
    test_deep();
    test_bytes();
    test_memory();
    return test_done();
}
