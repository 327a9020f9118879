// SPDX-License-Identifier: Apache-2.0
//
// What follows from types but is not in them: matches that cover all values, and arrays
// that are used after somebody consumed them. Programs and the codes of what is said
// about them, in order; advice counts.
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "syntax/syntax.h"
#include "test.h"

static jmp_buf test_recover;

// Checks a program and hands each diagnostic to the callback.
typedef void (*See)(void *data, const Diag *diag);

static bool check_text(const char *text, See see, void *data) {
    Mem mem = {.recover = &test_recover};
    Arena arena;
    Cx cx;
    arena_init(&arena, &mem);
    cx_init(&cx, &arena);
    cx.diags.advice = true;
    stack_measure(&cx.stack);
    const Source *source =
        sources_add(&cx.sources, STR("test.weft"), str_of(text), false);
    const Ast *ast = syntax_parse(&cx, source);
    bool ok =
        cx.diags.error_count == 0 && check_program(&cx, ast, STR("test"), NULL) != NULL;
    for (uint32_t i = 0; i < cx.diags.len; i++) see(data, cx.diags.data[i]);
    arena_free(&arena);
    CHECK(mem.used == 0);
    return ok;
}

typedef struct Texts {
    char codes[400];
    char messages[2000];
} Texts;

static void append(char *text, size_t size, const char *more, size_t len) {
    size_t at = strlen(text);
    if (at + len + 2 > size) return;
    if (at > 0) text[at++] = ' ';
    memcpy(text + at, more, len);
    text[at + len] = '\0';
}

static void note(void *data, const Diag *diag) {
    Texts *texts = data;
    append(texts->codes, sizeof texts->codes, diag->kind->code,
           strlen(diag->kind->code));
    append(texts->messages, sizeof texts->messages, diag->message.ptr,
           diag->message.len);
}

typedef struct Row {
    const char *codes;
    const char *text;
    const char *part; // of a message; NULL: any
} Row;

static void check_rows(const char *before, const Row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(before) + strlen(rows[i].text) + 1;
        char *text = malloc(size);
        snprintf(text, size, "%s%s", before, rows[i].text);
        Texts found = {0};
        check_text(text, note, &found);
        bool same =
            strcmp(found.codes, rows[i].codes) == 0 &&
            (rows[i].part == NULL || strstr(found.messages, rows[i].part) != NULL);
        CHECK(same);
        if (!same)
            printf("%s\nexpected: %s (%s)\nfound: %s (%s)\n", text, rows[i].codes,
                   rows[i].part == NULL ? "" : rows[i].part, found.codes,
                   found.messages);
        free(text);
    }
}

#define CHECK_ROWS(before, rows) check_rows(before, rows, sizeof rows / sizeof *rows)

// ---- matches -----------------------------------------------------------------------

static void test_match(void) {
    static const Row rows[] = {
        {"", "def f (x: bool) = match x case true -> 1i32 case false -> 2", NULL},
        {"not-exhaustive", "def f (x: bool) = match x case true -> 1i32", " false"},
        {"", "def f (x: i32) = match x case 0 -> 1i32 case _ -> 2", NULL},
        {"not-exhaustive", "def f (x: i32) = match x case 0 -> 1i32 case 2 -> 2", " 1"},
        {"not-exhaustive", "def f (x: f32) = match x case 0.5 -> 1i32", " _"},
        {"not-exhaustive",
         "def f (x: (bool, i32)) = match x case (true, _) -> 1i32 case (false, 3) -> 2",
         "(false, 0)"},
        {"",
         "def f (x: (bool, bool)) = match x case (true, _) -> 1i32 case (_, true) -> 2 "
         "case (false, false) -> 3",
         NULL},
        {"not-exhaustive",
         "def f (x: #a | #b (i32, i32)) = match x case #a -> 1i32 case #b (_, 3) -> 2",
         "#b (_, 0)"},
        {"not-exhaustive", "def f (x: #a | #b i32 bool) = match x case #a -> 1i32",
         "#b _ _"},
        {"not-exhaustive", "def f (x: #a (#c | #d i32)) = match x case #a #c -> 1i32",
         "#a (#d _)"},
        {"not-exhaustive",
         "def f (r: {x: bool, y: bool}) = match r case {x = true, y = _} -> 1i32",
         "{x = false, y = _}"},
        {"",
         "def f (x: #a | #b) (y: #a | #b) = match (x, y) case (#a, #a) -> 1i32 "
         "case (#b, _) -> 2 case (_, #b) -> 3",
         NULL},
        {"redundant-case",
         "def f (x: #a | #b) = match x case #a -> 1i32 case #b -> 2 case _ -> 3", NULL},
        {"redundant-case",
         "def f (x: i32) = match x case 1 -> 1i32 case 1 -> 2 case _ -> 3", NULL},
        {"",
         "def f (x: (i32, i32)) = match x case (1, _) -> 1i32 case (_, 1) -> 2 "
         "case _ -> 3",
         NULL},
        {"refutable-pattern", "def f (x: i32) = let 1 = x in x", NULL},
        {"refutable-pattern", "def f (x: (i32, bool)) = let (y, true) = x in y",
         "(_, false)"},
        {"refutable-pattern", "def f (xs: [](i32, i32)) = map (\\(x, 1) -> x) xs",
         NULL},
        {"refutable-pattern", "def f (1i32, x: i32) = x", NULL},
        {"refutable-pattern",
         "def f (n: i32) = loop (x, 0i32) = (n, 0) for _i < n do (x, 0)", NULL},
        {"", "def f (x: #only i32) = let #only y = x in y", NULL},
    };
    CHECK_ROWS("", rows);
}

// ---- uniqueness --------------------------------------------------------------------

static const char give[] = "def f [n] (xs: *[n]i32): *[n]i32 = xs with [0] = 1\n"
                           "def m (n: i64) = {a = replicate n 1i32, b = iota n}\n";

static void test_consume(void) {
    static const Row rows[] = {
        {"", "def g [n] (xs: *[n]i32) = f xs", NULL},
        {"use-after-consume", "def g [n] (xs: *[n]i32) = let ys = f xs in (ys, xs)",
         NULL},
        {"use-after-consume", "def g [n] (xs: *[n]i32) = let ys = xs |> f in (ys, xs)",
         NULL},
        {"use-after-consume", "def g [n] (xs: *[n]i32) = (xs, f xs)",
         "by another part of this expression"},
        {"use-after-consume", "def g [n] (xs: *[n]i32) = (f xs)[0] + xs[0]", NULL},
        {"", "def g [n] (xs: *[n]i32) = xs[0] + (f xs)[0]", NULL},
        {"use-after-consume", "def g [n] (xs: *[n]i32) = map2 (+) xs (f xs)", NULL},
        {"use-after-consume",
         "def g [n] (xs: *[n]i32) = let ys = xs[1:] let zs = f xs "
         "in zs[0] + ys[0]",
         "may share its data with `xs`"},
        {"", "def g [n] (xs: *[n]i32) = let y = xs[0] let zs = f xs in zs[0] + y",
         NULL},
        {"", "def g [n] (xs: *[n]i32) = let ys = copy xs let zs = f xs in (ys, zs)",
         NULL},
        {"",
         "def g [n] (xs: *[n]i32) = let ys = map (+ 1) xs let zs = f xs in (ys, zs)",
         NULL},
        // what is lent is copied
        {"copied", "def g [n] (xs: [n]i32) = f xs", NULL},
        {"copied", "def c : [2]i32 = [1, 2]\ndef g (i: i64) = (f c)[i]", NULL},
        // branches
        {"use-after-consume",
         "def g [n] (c: bool) (xs: *[n]i32) = let ys = if c then f xs else replicate n "
         "0 "
         "in (xs, ys)",
         NULL},
        {"",
         "def g [n] (c: bool) (xs: *[n]i32) = let ys = if c then f xs else xs in f ys",
         NULL},
        {"", "def g [n] (c: bool) (xs: *[n]i32) = if c then f xs else f xs", NULL},
        {"use-after-consume",
         "def g [n] (c: i32) (xs: *[n]i32) = let ys = match c case 0 -> xs case 1 -> f "
         "xs "
         "case _ -> replicate n 2 in (xs, ys)",
         NULL},
        // functions
        {"consumes-outer", "def g [n] (xs: *[n]i32) = map (\\i -> (f xs)[i]) (iota n)",
         NULL},
        {"consumes-outer",
         "def g [n] (xs: *[n]i32) = let h (i: i64) = (f xs)[i] in h 0", NULL},
        {"", "def g [n] [m] (xs: [n][m]i32) = map (\\x -> f x) xs", NULL},
        {"use-after-consume",
         "def g [n] [m] (xs: [n][m]i32) = map (\\x -> (f x)[0] + x[0]) xs", NULL},
        {"use-after-consume",
         "def g [n] (xs: *[n]i32) = let at (i: i64) = xs[i] let ys = f xs in ys[0] + "
         "at 0",
         NULL},
        {"use-after-consume", "def g (h: *[3]i32 -> i32) (xs: *[3]i32) = h xs + xs[0]",
         NULL},
        // a function that holds what it was given can be called once
        {"",
         "def p [n] (xs: *[n]i32) (v: i32): *[n]i32 = xs with [0] = v\n"
         "def g [n] (xs: *[n]i32) = let h = p xs in h 1",
         NULL},
        {"use-after-consume",
         "def p [n] (xs: *[n]i32) (v: i32): *[n]i32 = xs with [0] = v\n"
         "def g [n] (xs: *[n]i32) = let h = p xs let a = h 1 in (a, h 2)",
         NULL},
        // promises
        {"shared-result", "def g [n] (xs: [n]i32): *[n]i32 = xs", NULL},
        {"shared-result", "def c : [2]i32 = [1, 2]\ndef g (_i: i64): *[2]i32 = c",
         NULL},
        {"", "def g [n] (xs: [n]i32): (*[n]i32, [n]i32) = (copy xs, xs)", NULL},
        {"shared-result", "def g [n] (xs: [n]i32): (*[n]i32, [n]i32) = (xs, xs)", NULL},
        {"shared-result",
         "def g [n] (xs: *[n]i32) = let h (_i: i64): *[n]i32 = xs in h 0", NULL},
    };
    CHECK_ROWS(give, rows);
}

static void test_parts(void) {
    static const Row rows[] = {
        {"", "def g (n: i64) = let r = m n let q = f r.a in (q, r.b)", NULL},
        {"use-after-consume", "def g (n: i64) = let r = m n let q = f r.a in (q, r.a)",
         NULL},
        {"use-after-consume", "def g (n: i64) = let r = m n let q = f r.a in (q, r)",
         NULL},
        {"", "def g (n: i64) = let r = m n let r = r with a = f r.a in (r.a, r.b)",
         NULL},
        {"",
         "def g [n] (xs: *[n]i32) (ys: *[n]i32) = let (a, b) = (xs, ys) "
         "let q = f a in (q, b)",
         NULL},
        {"use-after-consume",
         "def g [n] (xs: *[n]i32) (ys: *[n]i32) = "
         "let (a, b) = (xs, ys) let q = f a in (q, b, xs)",
         NULL},
        {"",
         "def h (p: (*[3]i32, [3]i32)) = f p.0\n"
         "def g (xs: *[3]i32) (ys: [3]i32) = let zs = h (xs, ys) in (zs, ys)",
         NULL},
        {"use-after-consume",
         "def h (p: (*[3]i32, [3]i32)) = f p.0\n"
         "def g (xs: *[3]i32) (ys: [3]i32) = let zs = h (xs, ys) in (zs, xs)",
         NULL},
        {"use-after-consume",
         "def g (xs: *[3]i32) = let s : (#some ([3]i32) | #none) = #some xs in "
         "match s case #some x -> (f x)[0] + xs[0] case #none -> 0",
         NULL},
    };
    CHECK_ROWS(give, rows);
}

static void test_loops(void) {
    static const Row rows[] = {
        {"", "def g [n] (xs: *[n]i32) = loop a = xs for _i < n do f a", NULL},
        {"use-after-consume",
         "def g [n] (xs: *[n]i32) = let ys = loop a = xs for _i < n do f a in (xs, ys)",
         NULL},
        {"copied", "def g [n] (xs: [n]i32) = loop a = xs for _i < n do f a", NULL},
        {"consumes-outer",
         "def g [n] (xs: *[n]i32) = loop s = 0 for _i < n do s + (f xs)[0]", NULL},
        {"consumes-outer",
         "def g [n] (xs: *[n]i32) (ys: *[n]i32) = "
         "loop a = xs for _i < n do let b = f a in "
         "if b[0] > 2 then b else ys",
         NULL},
        {"use-after-consume",
         "def g [n] (xs: *[n]i32) = "
         "loop (a, b) = (xs, xs) for _i < n do (f a, b)",
         NULL},
        {"use-after-consume",
         "def g [n] (xs: *[n]i32) = loop a = xs for _i < n do let b = f a in "
         "if b[0] > a[0] then b else copy b",
         NULL},
        {"",
         "def g [n] (xs: *[n]i32) (ys: *[n]i32) = let (a, b) = "
         "loop (a, b) = (xs, ys) for i < n do "
         "if i > 2 then (a with [i] = 0, b) else (a, b with [i] = 2) "
         "let q = f a in (q, b)",
         NULL},
        {"use-after-consume",
         "def g [n] (xs: *[n]i32) (ys: *[n]i32) = let (a, b) = "
         "loop (a, b) = (xs, ys) for _i < n do (b, a) let q = f a in (q, b)",
         NULL},
        {"consumes-outer",
         "def g [n] [m] (xs: *[n][m]i32) = "
         "loop s = 0 for x in xs do s + (f x)[0]",
         NULL},
        {"",
         "def g [n] (xs: *[n]i32) = (loop (a, i) = (xs, 0i64) while a[i] > 0 "
         "do (f a, i + 1)).0",
         NULL},
    };
    CHECK_ROWS(give, rows);
}

static void test_copies(void) {
    static const Row rows[] = {
        {"", "def g [n] (xs: *[n]i32) = let ys = xs with [0] = xs[1] in ys", NULL},
        {"copied", "def g [n] (xs: *[n]i32) = let ys = xs with [0] = 1 in (ys, xs)",
         NULL},
        {"copied", "def g [n] (xs: [n]i32) = xs with [0] = 1", NULL},
        {"", "def g (n: i64) = let xs = iota n let xs[0] = 1 let xs[1] = xs[0] in xs",
         NULL},
        {"", "def g (n: i64) = loop xs = iota n for i < n do xs with [i] = xs[i] + 1",
         NULL},
        {"copied",
         "def g [n] (xs: [n]i32) = loop ys = xs for i < n do ys with [i] = 2 * ys[i]",
         NULL},
        {"copied",
         "def g [n] (xs: *[n]i32) = let ys = loop ys = xs for i < n do "
         "ys with [i] = 2 * ys[i] in (xs, ys)",
         NULL},
        {"copied",
         "def g [n] (xs: *[n]i32) = loop s = 0 for i < n do "
         "let ys = xs with [i] = s in s + ys[0]",
         NULL},
        {"", "def g [n] [m] (xs: [n][m]i32) = map (\\x -> x with [0] = 1) xs", NULL},
        {"",
         "def g [n] (c: bool) (xs: *[n]i32) = "
         "if c then xs with [0] = 1 else xs with [0] = 2",
         NULL},
    };
    CHECK_ROWS(give, rows);
}

// ---- large programs ----------------------------------------------------------------

typedef struct Text {
    char *data;
    size_t len, cap;
} Text;

static void add(Text *text, const char *format, int a, int b) {
    if (text->cap - text->len < 200) {
        text->cap = text->cap * 2 + 400;
        text->data = realloc(text->data, text->cap);
    }
    text->len += (size_t)snprintf(text->data + text->len, 200, format, a, b);
}

static void count_one(void *data, const Diag *diag) {
    (void)diag;
    ++*(int *)data;
}

static void check_large(Text *text, bool is_right, int most) {
    int said = 0;
    CHECK(check_text(text->data, count_one, &said) == is_right);
    CHECK(said <= most);
    free(text->data);
    *text = (Text){0};
}

static void test_large(void) {
    Text text = {0};
    add(&text, "def f [n] (xs: *[n]i32): *[n]i32 = xs\nentry main (x0: *[]i32) =\n", 0,
        0);
    for (int i = 0; i < 10000; i++) add(&text, "  let x%d = f x%d\n", i + 1, i);
    add(&text, "  in x%d\n", 10000, 0);
    check_large(&text, true, 0);
    add(&text,
        "def f [n] (xs: *[n]i32): *[n]i32 = xs\n"
        "entry main (c: bool) (y0: *[5]i32) =\n  let x0 = y0\n",
        0, 0);
    for (int i = 0; i < 5000; i++) {
        add(&text, "  let y%d = replicate 5 %di32\n", i + 1, i);
        add(&text, "  let x%d = if c then x%d", i + 1, i);
        add(&text, " else y%d\n", i + 1, 0);
    }
    add(&text, "  in f x%d\n", 5000, 0);
    check_large(&text, true, 0);
    add(&text, "entry main (x: i32) : i32 = match x\n", 0, 0);
    for (int i = 0; i < 1000; i++) add(&text, "  case %d -> %d\n", i, i);
    add(&text, "  case _ -> %d\n", 0, 0);
    check_large(&text, true, 0);
    add(&text, "entry main (x: u8) : i32 = match x\n", 0, 0);
    for (int i = 0; i < 256; i++) add(&text, "  case %d -> %d\n", i, i);
    check_large(&text, true, 0);
    add(&text, "entry main (x: i32) (y: i32): i32 = match (x, y)\n", 0, 0);
    for (int i = 0; i < 1000; i++) add(&text, "  case (%d, %d) -> 1\n", i % 40, i);
    check_large(&text, false, 1);
    // Every value of twenty booleans would have to be tried: it is let through.
    add(&text, "entry main (x: [20]bool): i32 = match (x[0]", 0, 0);
    for (int i = 1; i < 20; i++) add(&text, ", x[%d]", i, 0);
    add(&text, ")\n", 0, 0);
    for (int i = 0; i < 20; i++) {
        add(&text, "  case (", 0, 0);
        for (int k = 0; k < 20; k++)
            add(&text,
                k == i                  ? "true"
                : k == (i * 7 + 3) % 20 ? "false"
                                        : "_",
                0, 0),
                add(&text, k < 19 ? ", " : ") -> 1\n", 0, 0);
    }
    add(&text, "  case _ -> 2\n", 0, 0);
    check_large(&text, true, 0);
}

int main(void) {
    if (setjmp(test_recover) != 0) return 1;
    test_match();
    test_consume();
    test_parts();
    test_loops();
    test_copies();
    test_large();
    return test_done();
}
