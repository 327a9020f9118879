// SPDX-License-Identifier: Apache-2.0
//
// The oracle: each operator on small arrays, errors and their order, updates in place,
// and running out of memory at every point.
#include <fenv.h>
#include <string.h>

#include "session.h"

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
    // An empty dimension hides the sizes of those inside it.
    if (a->shape[d] == 0)
        for (uint32_t e = d + 1; e < a->rank; e++)
            strbuf_printf(out, "x%lld", (long long)a->shape[e]);
    strbuf_char(out, ']');
}

// What the program answers, or "error: ...", against the text expected.
static void expect(const char *text, const char *wanted) {
    Session s;
    start(&s, text);
    RtValue results[8] = {0};
    StrBuf out = strbuf(&s.arena);
    if (run(&s, NULL, results) == STATUS_OK) {
        for (uint32_t i = 0; i < last_fun(&s)->body->result_count; i++) {
            if (i > 0) strbuf_char(&out, ' ');
            if (results[i].rank == 0)
                show_scalar(&out, results[i].elem, results[i].bits);
            else show_array(&out, results[i].array, 0, results[i].array->data);
            rt_release_value(&s.heap, &results[i]);
        }
    } else {
        strbuf_printf(&out, "error: %.*s", STR_ARG(s.error.message));
    }
    bool ok = str_eq(strbuf_done(&out), str_of(wanted));
    CHECK(ok);
    if (!ok)
        printf("  %s\n  gave %.*s\n  not  %s\n", text, STR_ARG(strbuf_done(&out)),
               wanted);
    stop(&s);
}

#define MAIN(types, body) "entry main() -> (" types ") {\n" body "}\n"
#define A5                "a: []i64 = literal [10, 11, 12, 13, 14]\n"
#define M23                                                                            \
    "l: []i64 = literal [1, 2, 3, 4, 5, 6]\n m: [][]i64 = reshape (l, 2i64, 3i64)\n"

// ---- arrays and views ---------------------------------------------------------------

static void test_arrays(void) {
    expect(MAIN("[]i64", A5 "-> a"), "[10 11 12 13 14]");
    expect(MAIN("[]i32", "a: []i32 = literal [] -> a"), "[]");
    expect(MAIN("[]i64", "a: []i64 = iota (4i64, 5i64, -2i64) -> a"), "[5 3 1 -1]");
    expect(MAIN("[]u8", "a: []u8 = iota (3i64, 254u8, 1u8) -> a"), "[254 255 0]");
    expect(MAIN("[]f32", "a: []f32 = iota (3i64, 0.5f32, 0.25f32) -> a"),
           "[0.5 0.75 1]");
    expect(MAIN("[][]i64", A5 "r: [][]i64 = replicate (2i64, a) -> r"),
           "[[10 11 12 13 14] [10 11 12 13 14]]");
    expect(MAIN("[][]i64", A5 "r: [][]i64 = replicate (0i64, a) -> r"), "[x5]");
    expect(MAIN("[]bool", "r: []bool = replicate (3i64, true) -> r"),
           "[true true true]");
    expect(MAIN("[][]f64", "r: [][]f64 = scratch (1i64, 2i64) -> r"), "[[0 0]]");
    expect(
        MAIN("[][]i64", A5 "b: []i64 = reverse[0] (a) r: [][]i64 = array (a, b) -> r"),
        "[[10 11 12 13 14] [14 13 12 11 10]]");
    expect(MAIN("i64, i64", M23 "r: i64 = dim[0] (m) c: i64 = dim[1] (m) -> r, c"),
           "2 3");
    expect(MAIN("i64, []i64",
                M23 "x: i64 = index (m, 1i64, 2i64) r: []i64 = index (m, 1i64)"
                    "-> x, r"),
           "6 [4 5 6]");
    expect(MAIN("[]i64", A5 "r: []i64 = slice[0] (a, 4i64, 3i64, -2i64) -> r"),
           "[14 12 10]");
    expect(MAIN("[]i64", A5 "r: []i64 = slice[0] (a, 1i64, 3i64, 0i64) -> r"),
           "[11 11 11]");
    expect(MAIN("[]i64", A5 "r: []i64 = slice[0] (a, 5i64, 0i64, 1i64) -> r"), "[]");
    expect(MAIN("[][]i64", M23 "r: [][]i64 = slice[1] (m, 1i64, 2i64, 1i64) -> r"),
           "[[2 3] [5 6]]");
    expect(MAIN("[][]i64",
                M23 "t: [][]i64 = permute[1, 0] (m) r: [][]i64 = reverse[0] (t)"
                    "-> r"),
           "[[3 6] [2 5] [1 4]]");
    expect(MAIN("[]i64",
                M23 "t: [][]i64 = permute[1, 0] (m) r: []i64 = reshape (t, 6i64)"
                    "-> r"),
           "[1 4 2 5 3 6]");
    expect(MAIN("[][][]i64",
                "l: []i64 = literal [] r: [][][]i64 = reshape (l, 2i64, 0i64, "
                "3i64) -> r"),
           "[[x3] [x3]]");
    expect(MAIN("[][]i64", M23 "r: [][]i64 = concat[1] (m, m) -> r"),
           "[[1 2 3 1 2 3] [4 5 6 4 5 6]]");
    expect(MAIN("[][]i64",
                M23 "e: [][]i64 = slice[0] (m, 0i64, 0i64, 1i64) r: [][]i64 = "
                    "concat[0] (e, m, e) -> r"),
           "[[1 2 3] [4 5 6]]");
    expect(MAIN("[]i64, []i64, []i64",
                A5 "x: []i64, y: []i64, z: []i64 = split[0] (a, 2i64, "
                   "0i64, 3i64) -> x, y, z"),
           "[10 11] [] [12 13 14]");
    expect(
        MAIN("[][]i64", M23 "x: [][]i64, y: [][]i64 = split[1] (m, 2i64, 1i64) -> y"),
        "[[3] [6]]");
    expect(MAIN("[]i64, [][]i64",
                M23 "f: []bool = literal [false, true] r: [][]i64 = filter "
                    "(f, m) s: []i64 = index (r, 0i64) -> s, r"),
           "[4 5 6] [[4 5 6]]");
}

#define SET "c: []i64 = update[0] (a, 99i64, 2i64, 0i64, 0i64)\n"

static void test_writing(void) {
    // The old array lives on or not: the answer is the same.
    expect(MAIN("[]i64, []i64", A5 SET "-> a, c"), "[10 11 12 13 14] [10 11 99 13 14]");
    expect(MAIN("[]i64", "a: []i64 = iota (4i64, 0i64, 1i64)" SET "-> c"),
           "[0 1 99 3]");
    expect(MAIN("[]i64, []i64",
                "a: []i64 = iota (4i64, 0i64, 1i64) b: []i64 = reverse[0] (a)" SET
                "-> c, b"),
           "[0 1 99 3] [3 2 1 0]");
    expect(MAIN("[]i64",
                "b: []i64 = iota (4i64, 0i64, 1i64) a: []i64 = reverse[0] (b)" SET
                "-> c"),
           "[3 2 99 0]");
    expect(MAIN("[][]i64",
                M23 "v: []i64 = literal [7, 8] r: [][]i64 = update[1, 0] (m, v, "
                    "0i64, 2i64, 1i64, 1i64, 0i64, 0i64) -> r"),
           "[[1 7 3] [4 8 6]]");
    expect(MAIN("[][]i64",
                M23 "v: []i64 = literal [7, 8, 9] r: [][]i64 = update[0] (m, v, "
                    "1i64, 0i64, 0i64) -> r"),
           "[[1 2 3] [7 8 9]]");
    expect(MAIN("[]i64",
                A5 "v: []i64 = literal [1, 2, 3] r: []i64 = update[1] (a, v, 4i64, "
                   "3i64, -2i64) -> r"),
           "[3 11 2 13 1]");
    expect(MAIN("[]i64",
                A5 "v: []i64 = literal [1, 2, 3] r: []i64 = update[1] (a, v, 1i64, "
                   "3i64, 0i64) -> r"),
           "[10 3 12 13 14]");
    // A value that is a view of the array it is written to.
    expect(MAIN("[]i64",
                "a: []i64 = iota (5i64, 0i64, 1i64) v: []i64 = slice[0] (a, 0i64, 4i64,"
                "1i64) r: []i64 = update[1] (a, v, 1i64, 4i64, 1i64) -> r"),
           "[0 0 1 2 3]");
    expect(MAIN("[]i64",
                A5 "i: []i64 = literal [1, 9, -1, 1, 0] v: []i64 = literal [1, 2, 3, 4,"
                   "5] r: []i64 = scatter[1] (a, i, v) -> r"),
           "[5 4 12 13 14]");
    expect(MAIN("[][]i64",
                M23 "i: []i64 = literal [1, 0] j: []i64 = literal [2, 3] v: []i64 = "
                    "literal [8, 9] r: [][]i64 = scatter[2] (m, i, j, v) -> r"),
           "[[1 2 3] [4 5 8]]");
    expect(MAIN("[][]i64",
                M23 "i: []i64 = literal [1, 0] r: [][]i64 = scatter[1] (m, i, m)"
                    "-> r"),
           "[[4 5 6] [1 2 3]]");
    // A repeated element is not a place to write to.
    expect(MAIN("[]i64",
                "b: []i64 = iota (3i64, 5i64, 1i64) a: []i64 = slice[0] (b, 1i64, 4i64,"
                "0i64)" SET "-> c"),
           "[6 6 99 6]");
}

// ---- control ------------------------------------------------------------------------

static void test_control(void) {
    // Two states that change places, arrays and scalars.
    expect(MAIN("[]i64, []i64, i64",
                A5 "b: []i64 = literal [1]\n"
                   "x: []i64, y: []i64, k: i64 = for (3i64, a, b, 0i64) {|i: i64, p: "
                   "[]i64, q: "
                   "[]i64, s: i64| t: i64 = add (s, i) -> q, p, t} -> x, y, k"),
           "[1] [10 11 12 13 14] 3");
    expect(MAIN("i64", "x: i64 = for (-4i8, 7i64) {|i: i8, s: i64| -> 8i64} -> x"),
           "7");
    expect(
        MAIN("i64",
             "x: i64 = for (200u8, 0i64) {|i: u8, s: i64| j: i64 = conv (i) t: i64 = "
             "add (s, j) -> t} -> x"),
        "19900");
    expect(MAIN("[]i64, i64", "a: []i64 = iota (3i64, 0i64, 1i64)\n"
                              "r: []i64, n: i64 = while (a, 0i64) {|x: []i64, i: i64| "
                              "e: i64 = index (x, 0i64) "
                              "c: bool = lt (e, 5i64) -> c} {|x: []i64, i: i64| e: i64 "
                              "= index (x, 0i64) f: i64 "
                              "= add (e, 2i64) y: []i64 = update[0] (x, f, 0i64, 0i64, "
                              "0i64) j: i64 = add (i, "
                              "1i64) -> y, j} -> r, n"),
           "[6 1 2] 3");
    // The last use lies in one branch only; the other must give the array up too.
    for (int c = 0; c < 2; c++) {
        char text[600];
        snprintf(text, sizeof text,
                 MAIN("[]i64",
                      "a: []i64 = iota (3i64, 0i64, 1i64) d: []i64 = literal [4]\n"
                      "r: []i64 = if (%s) { " SET " -> c} { -> d } -> r"),
                 c ? "true" : "false");
        expect(text, c ? "[0 1 99]" : "[4]");
    }
    // A body that runs often must not consume what is bound outside it.
    expect(MAIN("[]i64, []i64", "a: []i64 = iota (3i64, 0i64, 1i64)\n"
                                "r: []i64 = for (4i64, a) {|i: i64, s: []i64|" SET
                                "d: []i64 = concat[0] (c, s) e: []i64 = slice[0] (d, "
                                "0i64, 3i64, 1i64) -> e}\n"
                                "-> r, a"),
           "[0 1 99] [0 1 2]");
    expect(
        "#[noinline] def f(a: []i64, i: i64) -> ([]i64) { b: []i64 = update[0] (a, i, "
        "i, 0i64,"
        "0i64) -> b }\n" MAIN("[]i64, []i64",
                              "a: []i64 = replicate (3i64, 7i64) b: []i64 = "
                              "call[0] (a, 1i64) c: []i64 = call[0] (b, 2i64) -> a, c"),
        "[7 7 7] [7 1 2]");
    expect(
        MAIN("i64",
             "t: bool = check (true) \"no\" x: i64 = guard (5i64, t) y: i64 = trace (x)"
             "-> y"),
        "5");
}

// ---- second order -------------------------------------------------------------------

#define ADD "{|p: i64, q: i64| s: i64 = add (p, q) -> s}"

static void test_second_order(void) {
    expect(MAIN("[][]i64",
                "r: [][]i64 = generate[2] (2i64, 3i64) {|i: i64, j: i64| a: i64 = mul "
                "(i, 10i64) b: i64 = add (a, j) -> b} -> r"),
           "[[0 1 2] [10 11 12]]");
    expect(
        MAIN("[][]i64, []bool",
             "r: [][]i64, s: []bool = generate[1] (3i64, 2i64) {|i: i64| "
             "a: []i64 = iota (2i64, i, 1i64) b: bool = eq (i, 1i64) -> a, b} -> r, s"),
        "[[0 1] [1 2] [2 3]] [false true false]");
    expect(MAIN("[][]i64",
                "r: [][]i64 = generate[1] (0i64, 4i64) {|i: i64| a: []i64 = iota (i, i,"
                "1i64) -> a} -> r"),
           "[x4]");
    expect(
        MAIN("[][]i64",
             "r: [][]i64 = generate[1] (0i64, -1i64) {|i: i64| a: []i64 = iota (i, i,"
             "1i64) -> a} -> r"),
        "[x0]");
    expect(MAIN("[]i64, [][]i64",
                M23 "f: []i64 = literal [7, 8] x: []i64, y: [][]i64 = map[2] "
                    "(m, f, -1i64) {|r: []i64, k: i64| a: i64 = index (r, 2i64) b: i64 "
                    "= add (a, k) "
                    "-> b, r} -> x, y"),
           "[10 14] [[1 2 3] [4 5 6]]");
    // Rows that outlive their turn.
    expect(MAIN("[]i64",
                M23 "z: []i64 = index (m, 0i64) r: []i64 = reduce.outer_rows[1] (m, z) "
                    "{|p: []i64, q: []i64| -> q} -> r"),
           "[4 5 6]");
    expect(MAIN("i64", A5 "r: i64 = reduce.free[1] (a, 0i64) " ADD " -> r"), "60");
    expect(
        MAIN("i64",
             "a: []i64 = literal [] r: i64 = reduce.outer_runs[1] (a, 5i64) {|p: i64, "
             "q: i64| -> q} -> r"),
        "5");
    expect(MAIN("[]i64", A5 "r: []i64 = scan.free[1] (a, 0i64) " ADD " -> r"),
           "[10 21 33 46 60]");
    expect(MAIN("[][]i64", M23
                "z: []i64 = index (m, 0i64) r: [][]i64 = scan.outer_rows[1] (m, z) "
                "{|p: []i64, q: []i64| s: []i64 = map[2] (p, q) " ADD " -> s} -> r"),
           "[[1 2 3] [5 7 9]]");
    expect(MAIN("[][]i64",
                "l: []i64 = literal [] m: [][]i64 = reshape (l, 0i64, 3i64) z: []i64 = "
                "literal [0, 0, 0] r: [][]i64 = scan.outer_rows[1] (m, z) {|p: []i64, "
                "q: []i64| "
                "-> q} -> r"),
           "[x3]");
    expect(MAIN("[]i64",
                A5 "i: []i64 = literal [0, 5, 1, 0, -1] r: []i64 = hist.free[1, 1] (a, "
                   "0i64, i, a) " ADD " -> r"),
           "[33 23 12 13 14]");
    expect(MAIN("[][]i64", M23
                "i: []i64 = literal [1, 1, 0] j: []i64 = literal [0, 0, 3] v: []i64 "
                "= literal [10, 20, 30] r: [][]i64 = hist.free[1, 2] (m, 0i64, i, j, "
                "v) " ADD " -> r"),
           "[[1 2 3] [34 5 6]]");
    // Rows as bins, and an operator that gives back its bin in another order.
    expect(MAIN("[][]i64",
                M23 "z: []i64 = literal [0, 0, 0] i: []i64 = literal [0, 0] r: [][]i64 "
                    "= hist.free[1, 1] (m, z, i, m) {|p: []i64, q: []i64| v: []i64 = "
                    "slice[0] (p, "
                    "0i64, 2i64, 1i64) h: []i64 = slice[0] (q, 0i64, 1i64, 1i64) w: "
                    "[]i64 = concat[0] "
                    "(h, v) -> w} -> r"),
           "[[4 1 1] [4 5 6]]");
    expect(MAIN("[][]i64",
                M23 "z: []i64 = literal [0, 0, 0] i: []i64 = literal [0] v: [][]i64 = "
                    "slice[0] (m, 0i64, 1i64, 1i64) r: [][]i64 = hist.free[1, 1] (m, "
                    "z, i, v) {|p: "
                    "[]i64, q: []i64| b: []i64 = reverse[0] (p) -> b} -> r"),
           "[[3 2 1] [4 5 6]]");
    expect(MAIN("[][]i64",
                M23 "z: []i64 = literal [0, 0, 0] i: []i64 = literal [1, 1] r: [][]i64 "
                    "= hist.parts[1, 1] (m, z, i, m) {|p: []i64, q: []i64| s: []i64 = "
                    "map[2] (p, q) " ADD " -> s} -> r"),
           "[[1 2 3] [9 12 15]]");
}

// ---- errors -------------------------------------------------------------------------

#define GIVES(type, stm) MAIN(type, A5 M23 "r: " type " = " stm " -> r")

static void test_errors(void) {
    expect(GIVES("i64", "index (a, 7i64)"), "error: index 7 is outside [0, 5)");
    expect(GIVES("i64", "index (m, 1i64, -1i64)"),
           "error: index -1 is outside [0, 3) in dimension 2");
    expect(GIVES("[]i64", "index (m, 2i64)"),
           "error: index 2 is outside [0, 2) in dimension 1");
    expect(GIVES("[]i64", "slice[0] (a, 2i64, 4i64, 1i64)"),
           "error: index 5 is outside [0, 5)");
    expect(GIVES("[]i64", "slice[0] (a, 2i64, 4i64, -1i64)"),
           "error: index -1 is outside [0, 5)");
    expect(GIVES("[]i64", "slice[0] (a, 0i64, -1i64, 1i64)"),
           "error: a size of -1 is negative");
    expect(GIVES("[]i64", "slice[0] (a, 0i64, 9i64, 4611686018427387904i64)"),
           "error: index 9223372036854775807 is outside [0, 5)");
    expect(GIVES("[]i64", "update[0] (a, 1i64, 5i64, 0i64, 0i64)"),
           "error: index 5 is outside [0, 5)");
    expect(GIVES("[]i64", "update[1] (a, a, 0i64, 4i64, 1i64)"),
           "error: a value of shape [5] does not fit a region of shape [4]");
    expect(GIVES("[]i64", "iota (-3i64, 0i64, 1i64)"),
           "error: a size of -3 is negative");
    expect(GIVES("[]i64", "replicate (1152921504606846976i64, 0i64)"),
           "error: an array of 1152921504606846976 × 8 bytes cannot be represented");
    expect(
        GIVES("[][]i64", "scratch (4294967296i64, 4294967296i64)"),
        "error: an array of 4294967296 × 4294967296 × 8 bytes cannot be represented");
    expect(GIVES("[][]i64", "reshape (a, 2i64, 3i64)"),
           "error: 5 elements cannot be shaped as [2][3]");
    expect(GIVES("[][]i64", "reshape (a, 4294967296i64, 4294967296i64)"),
           "error: 5 elements cannot be shaped as [4294967296][4294967296]");
    expect(GIVES("[][]i64", "array (a, l)"),
           "error: rows of unequal shape: [5] and [6]");
    expect(
        MAIN("[][]i64",
             M23 "t: [][]i64 = permute[1, 0] (m) r: [][]i64 = concat[1] (m, t) -> r"),
        "error: arrays of shape [2][3] and [3][2] cannot be joined along dimension 1");
    expect(MAIN("[]i64", A5 "x: []i64, y: []i64 = split[0] (a, 3i64, 1i64) -> x"),
           "error: parts of 3 + 1 elements do not make up 5");
    expect(
        MAIN("[]i64", A5 "a0: []i64, a1: []i64, a2: []i64, a3: []i64, a4: []i64, "
                         "a5: []i64, a6: []i64, a7: []i64, a8: []i64 = split[0] (a, "
                         "3i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 1i64) -> a0"),
        "error: parts of 3 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + .. elements do not make up 5");
    expect(GIVES("[]i64", "map[2] (a, l) " ADD),
           "error: arrays of unequal length: 5 and 6");
    expect(GIVES("[][]i64",
                 "generate[1] (3i64, -1i64) {|i: i64| x: []i64 = iota (i, i, i) -> x}"),
           "error: rows of unequal shape: [0] and [1]");
    expect(GIVES("[][]i64",
                 "generate[1] (3i64, 4i64) {|i: i64| x: []i64 = iota (i, i, i) -> x}"),
           "error: rows of unequal shape: [4] and [0]");
    expect(GIVES("[][]i64", "generate[1] (3i64, -2i64) {|i: i64| -> a}"),
           "error: a size of -2 is negative");
    // A size that is computed is a size, be it -1.
    expect(MAIN("[][]i64", A5 "n: i64 = sub (0i64, 1i64)"
                              "r: [][]i64 = generate[1] (3i64, n) {|i: i64| -> a}"
                              "-> r"),
           "error: a size of -1 is negative");
    expect(MAIN("[][]i64", A5 "n: i64 = sub (0i64, 1i64)"
                              "e: []i64 = slice[0] (a, 0i64, 0i64, 1i64)"
                              "r: [][]i64 = map[1] (e, n) {|x: i64| -> a} -> r"),
           "error: a size of -1 is negative");
    expect(GIVES("i64", "div (7i64, 0i64)"), "error: division by zero");
    expect(GIVES("i8", "pow (7i8, -2i8)"), "error: negative exponent -2");
    expect(MAIN("bool", "c: bool = check (false, 3i32, 0x1.999999999999ap-4f64, 255u8) "
                        "\"of %0 by %2 100% at %1\" "
                        "-> c"),
           "error: of 3 by 255 100% at 0.1");
    // The first by statement, then by iteration.
    expect(MAIN("i64", A5
                "x: []i64 = map[1] (a) {|e: i64| y: i64 = index (a, e) -> y} z: i64 = "
                "div (1i64, 0i64) -> z"),
           "error: index 10 is outside [0, 5)");
    expect(MAIN("[]i64", A5
                "x: []i64 = map[1] (a) {|e: i64| d: i64 = sub (e, 12i64) y: i64 = div "
                "(1i64, d) f: i64 = sub (e, 13i64) z: i64 = index (a, f) -> z} -> x"),
           "error: index -3 is outside [0, 5)");
}

static void test_call_chain(void) {
    Session s;
    start(&s, "#[noinline] def f(x: i64) -> (i64) { y: i64 = div (x, 0i64) -> y }\n"
              "#[noinline] def g(x: i64) -> (i64) { y: i64 = call[0] (x) -> y }\n" MAIN(
                  "i64", "y: i64 = call[1] (3i64) -> y"));
    RtValue results[1];
    CHECK(run(&s, NULL, results) == STATUS_RUNTIME);
    CHECK(s.error.call_count == 2);
    stop(&s);
}

// ---- in place -----------------------------------------------------------------------

static RtValue scalar(ScalarType elem, uint64_t bits) {
    return (RtValue){.elem = elem, .bits = bits};
}

// The number of allocations may not depend on the number of iterations.
static uint64_t count_allocations(const char *text, uint64_t n) {
    Session s;
    start(&s, text);
    RtValue args[1] = {scalar(SCALAR_I64, n)}, results[2] = {0};
    CHECK(run(&s, args, results) == STATUS_OK);
    for (uint32_t i = 0; i < last_fun(&s)->body->result_count; i++)
        rt_release_value(&s.heap, &results[i]);
    uint64_t calls = s.heap_mem.calls;
    stop(&s);
    return calls;
}

static void test_in_place(void) {
    static const char *const texts[] = {
        // an update, after a read
        "entry main(n: i64) -> ([]i64) { a: []i64 = replicate (50i64, 0i64)\n"
        "r: []i64 = for (n, a) {|i: i64, x: []i64| j: i64 = mod (i, 50i64) e: i64 = "
        "index (x, j)"
        "f: i64 = add (e, i) y: []i64 = update[0] (x, f, j, 0i64, 0i64) -> y} -> r }",
        // inside a branch, the other branch passing the array on
        "entry main(n: i64) -> ([]i64) { a: []i64 = replicate (50i64, 0i64)\n"
        "r: []i64 = for (n, a) {|i: i64, x: []i64| j: i64 = mod (i, 50i64) c: bool = "
        "lt (j, 9i64)"
        "y: []i64 = if (c) { z: []i64 = update[0] (x, i, j, 0i64, 0i64) -> z} { -> x} "
        "-> y} -> r }",
        // two arrays that change places
        "entry main(n: i64) -> ([]i64, []i64) { a: []i64 = replicate (9i64, 0i64) b: "
        "[]i64 = "
        "replicate (9i64, 1i64)\n r: []i64, s: []i64 = for (n, a, b) {|i: i64, x: "
        "[]i64, y: []i64|"
        "z: []i64 = update[0] (x, i, 3i64, 0i64, 0i64) -> y, z} -> r, s }",
        // through a function, a guard and a histogram
        "#[noinline] def f(x: []i64, i: i64) -> ([]i64) { y: []i64 = update[0] (x, i, "
        "1i64, 0i64,"
        "0i64) -> y }\n"
        "entry main(n: i64) -> ([]i64) { a: []i64 = replicate (9i64, 0i64) k: []i64 = "
        "literal [1]\n"
        "r: []i64 = for (n, a) {|i: i64, x: []i64| y: []i64 = call[0] (x, i) z: []i64 "
        "= guard (y,"
        "true) h: []i64 = hist.free[1, 1] (z, 0i64, k, k) " ADD
        " s: []i64 = scatter[1] (h, k, k) -> s} -> r }",
        // while
        "entry main(n: i64) -> (i64, []i64) { a: []i64 = replicate (9i64, 0i64)\n"
        "k: i64, r: []i64 = while (0i64, a) {|i: i64, x: []i64| e: i64 = index (x, "
        "0i64) c: bool = "
        "lt (e, n) -> c} {|i: i64, x: []i64| j: i64 = add (i, 1i64) y: []i64 = "
        "update[0] (x, j, "
        "0i64, 0i64, 0i64) -> j, y} -> k, r }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(count_allocations(texts[i], 10) == count_allocations(texts[i], 1000));
}

// ---- scarcity -----------------------------------------------------------------------

static const char *const rich =
    "#[noinline] def f(x: [][]i64) -> ([][]i64) { v: []i64 = literal [7, 8, 9] y: "
    "[][]i64 = update[0]"
    "(x, v, 1i64, 0i64, 0i64) -> y }\n" MAIN(
        "[][]i64, [][]i64, []i64, [][]i64",
        M23 "z: []i64 = literal [0, 0, 0] i: []i64 = literal [1, 0]\n"
            "g: [][]i64 = generate[1] (2i64, -1i64) {|k: i64| r: []i64 = iota (3i64, "
            "k, 1i64) -> r}\n"
            "h: [][]i64 = hist.parts[1, 1] (g, z, i, m) {|p: []i64, q: []i64| s: []i64 "
            "= map[2] (p, q) " ADD " -> s}\n c: [][]i64 = call[0] (h) t: [][]i64 = "
            "permute[1, 0] (c) f: []i64 = reshape (t, 6i64)\n"
            "b: []bool = literal [true, false, true] w: [][]i64 = filter (b, t) o: "
            "[][]i64 = concat[0] (w, w)\n"
            "e: []i64 = reduce.outer_rows[1] (m, z) {|p: []i64, q: []i64| s: []i64 = "
            "map[2] (p, q) " ADD " -> s}\n"
            "n: [][]i64 = scan.outer_rows[1] (m, z) {|p: []i64, q: []i64| s: []i64 = "
            "map[2] (p, q) " ADD " -> s}\n"
            "d: [][]i64 = for (2i64, m) {|k: i64, x: [][]i64| y: [][]i64 = call[0] (x) "
            "-> y}\n"
            "-> c, o, f, n");

// Every allocation fails once, on the heap and in the arena.
static void test_scarcity(void) {
    for (int arena = 0; arena < 2; arena++)
        for (uint64_t k = 1; k < 10000; k++) {
            Session s;
            start(&s, rich);
            Mem *mem = arena ? &s.mem : &s.heap_mem;
            mem->fail_at = mem->calls + k;
            RtValue results[4] = {0};
            Status status = run(&s, NULL, results);
            mem->fail_at = 0;
            for (int i = 0; i < 4; i++) rt_release_value(&s.heap, &results[i]);
            if (status != STATUS_OK)
                CHECK(status == STATUS_MEMORY && s.error.message.len > 0);
            stop(&s);
            if (status == STATUS_OK) break;
            CHECK(k < 9999);
        }
    expect(MAIN("[]i64", "r: []i64 = replicate (72057594037927936i64, 0i64) -> r"),
           "error: out of memory: 576460752303423488 bytes were wanted");
}

static void test_cancel(void) {
    Session s;
    start(
        &s,
        MAIN(
            "i64",
            "a: []i64 = literal [1] r: i64 = while (1i64) {|x: i64| -> true} {|x: i64| "
            "b: []i64 = reverse[0] (a) y: i64 = index (b, 0i64) -> y} -> r"));
    static const atomic_bool now = true;
    s.options.cancel = &now;
    RtValue results[1];
    CHECK(run(&s, NULL, results) == STATUS_CANCELLED);
    stop(&s);
}

static void test_environment(void) {
    Session s;
    start(&s, MAIN("f32", "x: f32 = div (1.0f32, 3.0f32) -> x"));
    RtValue results[1];
    fesetround(FE_UPWARD);
    CHECK(run(&s, NULL, results) == STATUS_OK);
    CHECK(fegetround() == FE_UPWARD);
    fesetround(FE_TONEAREST);
    CHECK(results[0].bits == 0x3eaaaaab);
    stop(&s);
}

static void test_deep(void) {
    Session s;
    start(&s, MAIN("i64", "-> 1i64"));
    CoreBuilder builder = core_builder(s.program), *b = &builder;
    CoreRef yes = core_bool(s.program, true), one = core_i64(s.program, 1);
    CoreType type = {SCALAR_I64, 0};
    enum { DEPTH = 200000 };
    CoreBody *inner = NULL;
    for (int i = 0; i < DEPTH; i++) {
        core_open(b, NULL, 0);
        CoreRef result = one;
        if (inner != NULL) {
            CoreStm *stm = core_emit(b, OP_IF, &yes, 1, &type, 1);
            core_set_bodies(b, stm, (CoreBody *[]){inner, inner}, 1);
            core_open(b, NULL, 0);
            CoreBody *other = core_close(b, &one, 1);
            core_set_bodies(b, stm, (CoreBody *[]){inner, other}, 2);
            result = stm->outs[0];
        }
        inner = core_close(b, &result, 1);
    }
    CoreFun fun = *last_fun(&s);
    fun.body = inner;
    RtValue results[1];
    Status status = interp_run(s.program, &fun, &s.options, NULL, results, &s.error);
    CHECK(status == STATUS_RUNTIME);
    CHECK(str_eq(s.error.message, STR("the program is nested too deeply to run")));
    stop(&s);
}

static void note_trace(void *data, CoreLoc loc, const RtValue *value) {
    (void)loc;
    *(uint64_t *)data +=
        value->rank == 0 ? value->bits : 100 * (uint64_t)rt_count(value->array);
}

static void test_trace(void) {
    Session s;
    start(&s, MAIN("i64", A5 "b: []i64 = trace (a) x: i64 = trace (7i64) y: i64 = "
                             "index (b, 1i64) -> y"));
    uint64_t seen = 0;
    s.options.trace = note_trace;
    s.options.trace_data = &seen;
    RtValue results[1];
    CHECK(run(&s, NULL, results) == STATUS_OK && results[0].bits == 11);
    CHECK(seen == 507);
    stop(&s);
}

int main(void) {
    if (setjmp(test_recover) != 0) return 1;
    test_arrays();
    test_writing();
    test_control();
    test_second_order();
    test_errors();
    test_call_chain();
    test_in_place();
    test_scarcity();
    test_cancel();
    test_environment();
    test_deep();
    test_trace();
    return test_done();
}
