// SPDX-License-Identifier: Apache-2.0
//
// Products over more than a block, whole and lane by lane: the same bits, by the
// oracle.
#include <string.h>

#include "opt/opt.h"
#include "opt/passes.h"
#include "session.h"

// An array of fractions that are not exact when added; with salt 0, of -0.
static RtValue numbers(Session *s, ScalarType type, uint32_t rank, const int64_t *shape,
                       uint64_t salt) {
    RtValue value = {.elem = type, .rank = rank};
    value.array = rt_new(&s->heap, type, rank, shape);
    size_t bytes = scalar_info[type].bytes;
    for (int64_t i = 0; i < rt_count(value.array); i++) {
        double x = (double)(((uint64_t)i + salt) * 2654435761u % 1000003) / 999 - 300;
        uint64_t wide, bits;
        if (salt == 0) x = -0.0;
        memcpy(&wide, &x, sizeof wide);
        core_eval(OP_CONV, SCALAR_F64, type, &wide, &bits);
        rt_store(type, value.array->data + (size_t)i * bytes, bits);
    }
    return value;
}

typedef struct Product {
    ScalarType type;
    int64_t n, rows, columns, weights;
    const char *text;
    bool is_zero;
    bool is_short; // so that it stays as it was, by what is known once it runs
} Product;

// The entry takes n × rows, n × columns and weights numbers.
static RtArray *result_of(Session *s, const Product *p) {
    RtValue args[] = {
        numbers(s, p->type, 2, (int64_t[]){p->n, p->rows}, !p->is_zero),
        numbers(s, p->type, 2, (int64_t[]){p->n, p->columns}, 77777),
        numbers(s, p->type, 1, &p->weights, 5),
    };
    RtValue result = {0};
    CHECK(run(s, args, &result) == STATUS_OK);
    return rt_contiguous(&s->heap, result.array);
}

// How the entry fails, in words.
static Str failure_of(Session *s, const Product *p) {
    RtValue args[] = {numbers(s, p->type, 2, (int64_t[]){p->n, p->rows}, 1),
                      numbers(s, p->type, 2, (int64_t[]){p->n, p->columns}, 77777),
                      numbers(s, p->type, 1, &p->weights, 5)};
    RtValue result = {0};
    CHECK(run(s, args, &result) == STATUS_RUNTIME);
    return s->error.message;
}

static bool is_same(const RtArray *x, const RtArray *y) {
    size_t bytes = (size_t)rt_count(x) * scalar_info[x->elem].bytes;
    return rt_count(x) == rt_count(y) && memcmp(x->data, y->data, bytes) == 0;
}

static int count_ops(const CoreBody *body, CoreOp op) {
    int count = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        count += stm->op == op;
        for (uint32_t k = 0; k < stm->body_count; k++)
            count += count_ops(stm->bodies[k], op);
    }
    return count;
}

// How a product goes: as it was, or lane by lane, or by columns that go down side by
// side.
typedef enum Way { AS_IT_WAS, APART, DOWN } Way;

static Way way_of(const Session *s) {
    const CoreBody *body = last_fun(s)->body;
    if (count_ops(body, OP_SCRATCH) > 0) return APART;
    return count_ops(body, OP_FOR) > 0 ? DOWN : AS_IT_WAS;
}

// Makes an arm of what the pass chooses between give arrays of nothing.
static void forget_arm(Session *s, int arm) {
    CoreProgram *p = s->program;
    const CoreBody *body = last_fun(s)->body;
    CoreBuilder b = core_builder(p);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        CoreRef zeros[CORE_MAX_RANK], results[2];
        if (stm->op != OP_IF || (stm->flags & STM_LARGE) == 0) continue;
        for (size_t k = 0; k < CORE_MAX_RANK; k++) zeros[k] = core_i64(p, 0);
        core_open(&b, NULL, 0);
        for (uint32_t k = 0; k < stm->out_count; k++) {
            CoreType type = core_type(p, stm->outs[k]);
            results[k] = core_emit(&b, OP_SCRATCH, zeros, type.rank, &type, 1)->outs[0];
        }
        stm->bodies[arm] = core_close(&b, results, stm->out_count);
    }
}

// Which way the product goes once the pass has run; it has the same bits then, and only
// the arm that is right makes them.
static Way way_that_goes(Product p) {
    Session s;
    start(&s, p.text);
    RtArray *whole = result_of(&s, &p);
    bool is_changed = opt_deep_by(s.program, (OptStrips){.bytes = 1, .rows = 4});
    StrBuf faults = strbuf(&s.arena);
    CHECK(core_verify(s.program, &faults));
    Way way = way_of(&s);
    CHECK(is_changed == (way != AS_IT_WAS));
    RtArray *parts = result_of(&s, &p);
    CHECK(is_same(whole, parts));
    rt_release(&s.heap, parts);
    forget_arm(&s, !p.is_short);
    parts = result_of(&s, &p);
    CHECK(is_same(whole, parts));
    rt_release(&s.heap, whole);
    rt_release(&s.heap, parts);
    stop(&s);
    return way;
}

static bool goes_apart(Product p) {
    return way_that_goes(p) == APART;
}

static bool goes_down(Product p) {
    return way_that_goes(p) == DOWN;
}

static bool stays(Product p) {
    return way_that_goes(p) == AS_IT_WAS;
}

// The same of what fails, which it does in the same way.
static Way way_that_fails(Product p) {
    Session s;
    start(&s, p.text);
    Str whole = failure_of(&s, &p);
    opt_deep_by(s.program, (OptStrips){.bytes = 1, .rows = 4});
    StrBuf faults = strbuf(&s.arena);
    CHECK(core_verify(s.program, &faults));
    CHECK(str_eq(whole, failure_of(&s, &p)));
    Way way = way_of(&s);
    stop(&s);
    return way;
}

static bool fails_apart(Product p) {
    return way_that_fails(p) == APART;
}

#define HEAD(t)                                                                        \
    "stage0\nentry main(y: [][]" t ", x: [][]" t ", w: []" t ") -> ([][]" t ") {\n"    \
    "  r: i64 = dim[1](y)\n  c: i64 = dim[1](x)\n"                                     \
    "  a: [][]" t " = permute[1, 0](y)\n  b: [][]" t " = permute[1, 0](x)\n"
#define OP(t, op) "{|p: " t ", q: " t "| s: " t " = " op "(p, q) -> s}"
#define NEST(t, fold)                                                                  \
    HEAD(t)                                                                            \
    "  z: [][]" t " = map[1](a, c) {|row: []" t "| "                                   \
    "v: []" t " = map[1](b) {|column: []" t "| " fold " -> e} -> v}\n  -> z\n}\n"
#define DOT(t)                                                                         \
    NEST(t, "e: " t " = reduce.nested_lanes[2](row, column, 0" t                       \
            ") " OP(t, "add") " {|f: " t ", g: " t "| h: " t " = mul(f, g) -> h}"      \
                              " {|o: " t ", f: " t ", g: " t "| h: " t                 \
                              " = fma(f, g, o) -> h}")

// One block and nothing of the next, a few, less than lanes; odd blocks of the tree.
static void test_sizes(void) {
    static const int64_t sizes[] = {8192,          8193,     8207,
                                    8192 * 2 + 31, 8192 * 3, 8192 * 5 + 9};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bool is_short = sizes[i] == 8192;
        Product f64s = {SCALAR_F64,          sizes[i], 9, 8, 1, DOT("f64"),
                        .is_short = is_short};
        Product f32s = {SCALAR_F32,          sizes[i], 8, 10, 1, DOT("f32"),
                        .is_short = is_short};
        CHECK(goes_apart(f64s));
        CHECK(goes_apart(f32s));
    }
    CHECK(goes_apart((Product){SCALAR_F16, 8200, 8, 8, 1, DOT("f16")}));
    static const int64_t few[][3] = {{8200, 7, 30}, {8200, 30, 7}, {0, 9, 9}};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        CHECK(goes_apart((Product){SCALAR_F64, few[i][0], few[i][1], few[i][2], 1,
                                   DOT("f64"), .is_short = true}));
}

// Lanes that have no element add nothing: not even 0 to -0.
static void test_zeros(void) {
    static const char sum[] =
        NEST("f64",
             "e: f64 = reduce.nested_lanes[2](row, column, 0f64) " OP(
                 "f64",
                 "add") " {|f: f64, g: f64| h: f64 = abs(g) k: f64 = mul(f, h) -> k}");
    CHECK(goes_apart((Product){SCALAR_F64, 8193, 9, 8, 1, sum, true}));
}

// Weights that all share, of which there may be too many; another operator; a value
// from outside of the nest.
static void test_forms(void) {
    static const char weights[] =
        NEST("f32", "e: f32 = reduce.nested_lanes[3](row, column, w, 0f32) " OP(
                        "f32", "add") " {|f: f32, g: f32, h: f32| k: f32 = sub(f, g) "
                                      "l: f32 = mul(k, h) -> l}");
    static const char product[] =
        NEST("f64",
             "e: f64 = reduce.nested_lanes[2](column, row, 1f64) " OP(
                 "f64",
                 "mul") " {|f: f64, g: f64| k: f64 = div(f, 400f64) l: f64 = sub(k, g)"
                        " m: f64 = div(l, 1000f64) n: f64 = sub(1f64, m) -> n}");
    CHECK(goes_apart((Product){SCALAR_F32, 8321, 9, 8, 8321, weights}));
    CHECK(goes_apart((Product){SCALAR_F64, 16400, 8, 9, 1, product}));
    CHECK(fails_apart((Product){SCALAR_F32, 8321, 9, 8, 8322, weights}));
}

// What is made of sums besides: a mean; of numbers of the row and the column, and of
// their elements; of another type, and with work of its own.
static void test_rests(void) {
    static const char sum[] =
        "reduce.nested_lanes[2](row, column, 0f64) {|p: f64, q: f64| "
        "s: f64 = add(p, q) -> s} {|f: f64, g: f64| h: f64 = "
        "mul(f, g) -> h}";
    static const char *const rests[] = {
        "z: [][]f64 = map[1](a, c) {|row: []f64| v: []f64 = map[1](b) {|column: []f64| "
        "d: f64 = %s e: f64 = div(d, 8200f64) -> e} -> v}",
        "z: [][]f64 = map[2](a, w, c) {|row: []f64, k: f64| v: []f64 = map[2](b, u) "
        "{|column: []f64, l: f64| g: f64 = index(row, 8199i64) d: f64 = %s "
        "e: f64 = mul(d, k) f: f64 = add(e, l) h: f64 = sub(f, g) -> h} -> v}",
        "o: [][]i64 = map[1](a, c) {|row: []f64| v: []i64 = map[1](b) {|column: []f64| "
        "d: f64 = %s e: i64 = conv(d) -> e} -> v} z: [][]f64 = map[1](o, c) {|j: "
        "[]i64| "
        "v: []f64 = map[1](j) {|e: i64| f: f64 = conv(e) -> f} -> v}",
        "z: [][]f64 = map[1](a, c) {|row: []f64| v: []f64 = map[1](b) {|column: []f64| "
        "d: f64 = %s e: f64 = for(3i64, d) {|i: i64, s: f64| f: f64 = div(s, 3f64) -> "
        "f} "
        "-> e} -> v}",
        "z: [][]f64 = map[1](a, c) {|row: []f64| v: []f64 = map[1](b) {|column: []f64| "
        "d: f64 = %s -> 1f64} -> v}",
    };
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        char text[2000], rest[1200];
        snprintf(rest, sizeof rest, rests[i], sum);
        snprintf(text, sizeof text, "%s  u: []f64 = index(x, 0i64)\n  %s\n  -> z\n}\n",
                 HEAD("f64"), rest);
        CHECK(goes_apart((Product){SCALAR_F64, 8200, 9, 8, 9, text, false}));
    }
}

#define SUM(f, g)                                                                      \
    "reduce.nested_lanes[2](" f ", " g ", 0f64) {|p: f64, q: f64| s: f64 = add(p, q) " \
    "-> s} {|f: f64, g: f64| h: f64 = mul(f, g) -> h}"
#define SUM_OF(f)                                                                      \
    "reduce.nested_lanes[1](" f ", 0f64) {|p: f64, q: f64| s: f64 = add(p, q) -> s}"
#define ROWS    "z: [][]f64 = map[1](a, c) {|row: []f64| "
#define WEIGHED "m: []f64 = map[2](row, w) {|j: f64, k: f64| l: f64 = mul(j, k) -> l} "
#define COLUMNS "v: []f64 = map[1](b) {|column: []f64| "

static Product made_of(char text[3000], const char *nest) {
    snprintf(text, 3000, "%s  u: []f64 = index(x, 0i64)\n  %s\n  -> z\n}\n",
             HEAD("f64"), nest);
    return (Product){SCALAR_F64, 8200, 9, 8, 8200, text, false};
}

// Rows that are made first: of weights; of weights and a number of the row, which is
// also taken by the sum, and with what is made of both besides; a row that is folded as
// it comes, too, and one whose making nobody needs; by a row's number, and the row.
static void test_made(void) {
    static const char *const nests[] = {
        ROWS WEIGHED COLUMNS "e: f64 = " SUM("m", "column") " -> e} -> v}",
        ROWS "o: f64 = " SUM_OF(
            "row") " r: f64 = div(o, 8200f64) "
                   "m: []f64 = map[2](row, w) {|j: f64, k: f64| i: f64 = sub(j, r) l: "
                   "f64 = mul(i, "
                   "k) -> l} " COLUMNS
                   "d: f64 = reduce.nested_lanes[2](column, m, 0f64) {|p: f64, "
                   "q: f64| s: f64 = add(p, q) -> s} {|f: f64, g: f64| h: f64 = mul(f, "
                   "g) i: f64 = "
                   "sub(h, r) -> i} t: f64 = index(m, 1i64) e: f64 = sub(d, t) y: f64 "
                   "= mul(e, o) "
                   "-> y} k: f64 = index(v, 7i64) l: []f64 = map[1](v) {|j: f64| i: "
                   "f64 = sub(j, k) "
                   "-> i} -> l}",
        ROWS WEIGHED "o: f64 = " SUM_OF(
            "m") " n: []f64 = map[2](m, row) {|i: f64, j: "
                 "f64| l: f64 = sub(i, j) -> l} " COLUMNS
                 "e: f64 = reduce.nested_lanes[3](m, "
                 "row, column, 0f64) {|p: f64, q: f64| s: f64 = add(p, q) -> s} {|f: "
                 "f64, g: f64, "
                 "h: f64| i: f64 = mul(f, g) j: f64 = sub(i, h) -> j} -> e} -> v}",
        "n: []i64 = iota(r, 3i64, 2i64) z: [][]f64 = map[2](n, a, c) {|i: i64, row: "
        "[]f64| k: f64 = conv(i) m: []f64 = map[1](row) {|j: f64| l: f64 = mul(j, k) "
        "-> l} " COLUMNS "e: f64 = " SUM("m", "column") " -> e} -> v}",
        "n: []f64 = map[1](a) {|row: []f64| j: f64 = index(row, 5i64) -> j} z: [][]f64 "
        "= map[1](n, c) {|k: f64| m: []f64 = map[1](w) {|j: f64| l: f64 = add(j, k) "
        "-> l} " COLUMNS "e: f64 = " SUM("m", "column") " -> e} -> v}",
    };
    char text[3000];
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++)
        CHECK(goes_apart(made_of(text, nests[i])));
}

// Rows that cannot be made where they ought to be: there are too few weights, which is
// seen before; making one may fail; it has a length of its own, or columns. And sums of
// which little is made.
static void test_not_made(void) {
    static const char *const nests[] = {
        ROWS "t: f64 = index(row, 8200i64) m: []f64 = map[1](row) {|j: f64| l: f64 = "
             "mul(j, t) -> l} " COLUMNS "e: f64 = " SUM("m", "column") " -> e} -> v}",
        "n: []i64 = iota(r, 8200i64, -1i64) z: [][]f64 = map[1](n, c) {|i: i64| "
        "j: []i64 = iota(i, 0i64, 1i64) m: []f64 = map[1](j) {|j: i64| l: f64 = "
        "conv(j) "
        "-> l} " COLUMNS "e: f64 = " SUM("m", "column") " -> e} -> v}",
    };
    static const char own[] = ROWS
        "m: [][]f64 = map[1](b, 8200i64) {|g: []f64| h: []f64 = map[2](g, row) {|i: "
        "f64, j: f64| l: f64 = add(i, j) -> l} -> h} v: []f64 = map[1](m) {|column: "
        "[]f64| e: f64 = " SUM("row", "column") " -> e} -> v}";
    static const char little[] =
        "t: []f64 = map[1](a) {|row: []f64| " COLUMNS "e: f64 = " SUM(
            "row",
            "column") " -> e} "
                      "g: f64 = " SUM_OF("v") " -> g} z: [][]f64 = replicate(2i64, t)";
    char text[3000];
    Product few = made_of(text, ROWS WEIGHED COLUMNS
                          "e: f64 = " SUM("m", "column") " -> e} -> v}");
    few.weights = 8199;
    CHECK(fails_apart(few));
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++)
        CHECK(!fails_apart(made_of(text, nests[i])));
    CHECK(!goes_apart(made_of(text, own)));
    CHECK(!goes_apart(made_of(text, little)));
}

#define NEST_OF(rows, row)                                                             \
    "map[1](" rows ", c) {|row: []f64| " row COLUMNS                                   \
    "e: f64 = " SUM("m", "column") " -> e} -> v}"
#define TIMES(k) "m: []f64 = map[1](row) {|j: f64| l: f64 = mul(j, " k ") -> l} "
#define MANY     "n: i64 = mul(r, 3i64) i: []f64 = iota(3i64, 2f64, 0.375f64) "
#define FLAT     " z: [][]f64 = reshape(t, n, c)"
#define BATCH                                                                          \
    "o: i64 = dim[0](y) h: [][][]f64 = map[1](i, r, o) {|k: f64| g: [][]f64 = "        \
    "map[1](a, o) {|row: []f64| " TIMES("k") "-> m} -> g} "

// Nests inside of a map, and a generate: by what its rows say, or of its arrays, some
// of which it looks at from another side; with another result, and what is made of
// them; in two maps; two in one of which one is short.
static void test_maps(void) {
    static const char *const nests[] = {
        MANY "t: [][][]f64 = map[1](i, r, c) {|k: f64| q: [][]f64 = " NEST_OF(
            "a", TIMES("k")) " -> q}" FLAT,
        MANY "t: [][][]f64 = generate[1](3i64, r, c) {|i: i64| k: f64 = conv(i) q: "
             "[][]f64 = " NEST_OF("a", TIMES("k")) " -> q}" FLAT,
        MANY BATCH "t: [][][]f64 = map[1](h, r, c) {|k: [][]f64| q: [][]f64 = " NEST_OF(
            "k", WEIGHED) " -> q}" FLAT,
        MANY "o: i64 = dim[0](y) h: [][][]f64 = map[1](i, o, r) {|k: f64| g: [][]f64 = "
             "map[1](y, r) {|row: []f64| " TIMES(
                 "k") "-> m} -> g} t: [][][]f64 = "
                      "map[1](h, r, c) {|k: [][]f64| l: [][]f64 = permute[1, 0](k) q: "
                      "[][]f64 = " NEST_OF("l", WEIGHED) " -> q}" FLAT,
        MANY "s: []f64, t: [][][]f64 = map[1](i, r, c) {|k: f64| q: [][]f64 = " NEST_OF(
            "a", TIMES("k")) " f: f64 = index(q, 1i64, 2i64) g: f64 = mul(f, k) o: "
                             "[][]f64 = map[1](q, c) {|row: []f64| " TIMES(
                                 "g") "-> m} -> g, o} f: f64 = "
                                      "index(s, 2i64) g: [][]f64 = reshape(t, n, c) z: "
                                      "[][]f64 = map[1](g, c) "
                                      "{|row: []f64| " TIMES("f") "-> m}",
        "n: i64 = mul(r, 6i64) i: []f64 = iota(3i64, 2f64, 1f64) j: []f64 = iota(2i64, "
        "1f64, 0.6875f64) t: [][][][]f64 = map[1](i, 2i64, r, c) {|f: f64| p: "
        "[][][]f64 = "
        "map[1](j, r, c) {|g: f64| k: f64 = mul(f, g) q: [][]f64 = " NEST_OF(
            "a", TIMES("k")) " -> q} -> p}" FLAT,
        MANY "t: [][][]f64 = map[1](i, r, r) {|k: f64| q: [][]f64 = " NEST_OF(
            "a",
            TIMES(
                "k")) " p: [][]f64 = map[1](q, r) {|row: []f64| v: []f64 = "
                      "map[1](q) {|column: []f64| e: f64 = " SUM(
                          "row",
                          "column") " -> e} -> v} -> p} z: [][]f64 = reshape(t, n, r)",
    };
    char text[3000];
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        Product p = made_of(text, nests[i]);
        CHECK(goes_apart(p));
        p.rows = 7;
        p.is_short = true;
        if (i == 0) CHECK(goes_apart(p));
    }
}

// What fails in a map does so in the same row, be it before the nest, in what it makes
// of sums, or after it; a nest stays in a map that alone knows its size.
static void test_maps_that_fail(void) {
#define FAILS(before, rest, after)                                                     \
    MANY "t: [][][]f64 = generate[1](3i64, r, c) {|i: i64| f: i64 = add(i, " before    \
         ") g: f64 = index(u, f) q: [][]f64 = map[1](a, c) {|row: []f64| " TIMES("g")  \
             COLUMNS                                                                   \
        "e: f64 = " SUM("m", "column") " f: i64 = add(i, " rest ") h: f64 = "          \
                                       "index(u, f) s: f64 = add(e, h) -> s} -> v} "   \
                                       "h: i64 = add(i, " after ") j: "                \
                                       "f64 = index(u, h) -> q}" FLAT
    static const char *const nests[] = {
        FAILS("0i64", "7i64", "6i64"),
        FAILS("0i64", "6i64", "7i64"),
        FAILS("7i64", "6i64", "7i64"),
        FAILS("-1i64", "0i64", "0i64"),
    };
    static const char own[] =
        MANY "t: [][][]f64 = map[1](i, r, 8i64) {|k: f64| f: []bool = "
             "map[1](b) {|row: "
             "[]f64| g: f64 = index(row, 0i64) h: bool = lt(g, 1000000f64) -> h} "
             "b2: [][]f64 "
             "= filter(f, b) q: [][]f64 = map[1](a, 8i64) {|row: "
             "[]f64| " TIMES("k") "v: []f64 = map[1](b2) {|column: []f64| e: "
                                  "f64 = " SUM("m", "column") " -> e} -> v} -> q} "
                                                              "z: [][]f64 = "
                                                              "reshape(t, n, 8i64)";
    char text[3000];
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++)
        CHECK(fails_apart(made_of(text, nests[i])));
    CHECK(!goes_apart(made_of(text, own)));
}

// What looks at elements otherwise, may fail, or is no such nest.
static void test_others(void) {
    static const char looks[] = NEST(
        "f64",
        "e: f64 = reduce.nested_lanes[2](row, column, 0f64) " OP(
            "f64", "add") " {|f: f64, g: f64| n: i64 = dim[0](row) h: f64 = conv(n)"
                          " k: f64 = mul(h, g) -> k}");
    static const char fails[] = NEST(
        "f64",
        "e: f64 = reduce.nested_lanes[2](row, column, 0f64) " OP(
            "f64", "add") " {|f: f64, g: f64| h: i64 = conv(f) k: i64 = div(9i64, h)"
                          " l: f64 = conv(k) -> l}");
    static const char whole[] =
        HEAD("f64") "  z: [][]f64 = map[1](a, c) {|row: []f64| v: []f64 = map[1](b) "
                    "{|column: []f64| "
                    "d: f64 = index(row, 1i64) e: f64 = reduce.nested_lanes[1](column, "
                    "0f64) " OP("f64", "add") " {|f: f64| g: f64 = mul(f, d) -> g} -> "
                                              "e} -> v}\n  -> z\n}\n";
    CHECK(!goes_apart((Product){SCALAR_F64, 100, 9, 8, 1, looks}));
    CHECK(!goes_apart((Product){SCALAR_F64, 1, 9, 8, 1, fails}));
    CHECK(!goes_apart((Product){SCALAR_F64, 100, 9, 8, 1, whole}));
}

// ---- tall columns -------------------------------------------------------------------

// The entry takes n x rows, n x columns and weights numbers, of which the first are not
// of account; it gives a number for each column.
#define TALL(t, map)                                                                   \
    "stage0\nentry main(y: [][]" t ", x: [][]" t ", w: []" t ") -> ([]" t ") {\n"      \
    "  r: i64 = dim[1](y)\n  c: i64 = dim[1](x)\n  n: i64 = dim[0](x)\n"               \
    "  b: [][]" t " = permute[1, 0](x)\n  " map "\n  -> z\n}\n"
#define EACH(t) "z: []" t " = map[1](b) {|column: []" t "| "
#define COLUMN_SUM(t)                                                                  \
    TALL(t, EACH(t) "s: " t " = reduce.nested_lanes[1](column, 0" t                    \
                    ") " OP(t, "add") " -> s}")

static void test_tall_sizes(void) {
    static const int64_t sizes[] = {8192,          8193,     8207,
                                    8192 * 2 + 31, 8192 * 3, 8192 * 5 + 9};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t columns = 1; columns < 4; columns++) {
            bool is_short = sizes[i] == 8192 || columns == 1;
            CHECK(goes_down((Product){SCALAR_F64, sizes[i], 1, columns, 1,
                                      COLUMN_SUM("f64"), .is_short = is_short}));
            CHECK(goes_down((Product){SCALAR_F32, sizes[i], 1, columns, 1,
                                      COLUMN_SUM("f32"), .is_short = is_short}));
        }
    CHECK(goes_down((Product){SCALAR_F16, 8200, 1, 5, 1, COLUMN_SUM("f16")}));
    CHECK(goes_down((Product){SCALAR_F64, 0, 1, 5, 1, COLUMN_SUM("f64"), false, true}));
}

// Elements that are made first, with a multiplication fused or not; -0, to which lanes
// without an element add nothing; weights that all columns share; other operators, of
// which some may go in any order; columns that are asked for by their number.
static void test_tall_forms(void) {
#define FOLD(stamp, args, op, rest)                                                    \
    "s: f64 = reduce." stamp "(" args ") " OP("f64", op) rest " -> s}"
    static const char *const forms[] = {
        TALL("f64", EACH("f64") FOLD("nested_lanes[1]", "column, 0f64", "add",
                                     " {|f: f64| g: f64 = mul(f, f) -> g}")),
        TALL("f64",
             EACH("f64") FOLD("nested_lanes[1]", "column, 0f64", "add",
                              " {|f: f64| g: f64 = mul(f, f) -> g} {|o: f64, f: f64| "
                              "g: f64 = fma(f, f, o) -> g}")),
        TALL("f64", EACH("f64") FOLD("nested_lanes[1]", "column, 0f64", "add",
                                     " {|f: f64| g: f64 = mul(f, -0f64) h: f64 = "
                                     "mul(g, 0f64) -> h}")),
        TALL("f64", EACH("f64") FOLD("free[1]", "column, -f64.inf", "max", "")),
        TALL("f64", "i: []i64 = iota(c, 0i64, 1i64) z: []f64 = map[1](i) {|j: i64| "
                    "column: []f64 = index(b, j) " FOLD("nested_lanes[1]",
                                                        "column, 0f64", "add", "")),
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        CHECK(goes_down((Product){SCALAR_F64, 8211, 1, 2, 1, forms[i]}));
    static const char *const shared[] = {
        TALL("f64", EACH("f64")
                        FOLD("nested_lanes[2]", "column, w, 0f64", "add",
                             " {|f: f64, g: f64| h: f64 = mul(f, g) -> h} {|o: f64, f: "
                             "f64, g: f64| h: f64 = fma(f, g, o) -> h}")),
        TALL("f64", "v: []f64 = index(b, 0i64) t: []f64 = slice[0](v, 0i64, c, 1i64) "
                    "z: []f64 = map[2](t, b) {|k: f64, column: []f64| " FOLD(
                        "nested_lanes[2]", "w, column, 1f64", "mul",
                        " {|f: f64, g: f64| h: f64 = div(g, 1000f64) i: f64 = mul(k, "
                        "0x1p-30f64) l: f64 = add(h, i) m: f64 = add(l, 1f64) -> m}")),
    };
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        Product p = {SCALAR_F64, 8211, 1, 4, 8211, shared[i]};
        CHECK(goes_down(p));
        p.columns = 3;
        p.is_short = true;
        CHECK(goes_down(p));
        p.weights = 8210;
        CHECK(way_that_fails(p) == DOWN);
    }
}

// What else a map does: a variance, by a mean; two sums at once, and one of them of
// rows that it makes; rows of its own; a failure behind the sums, of one column.
static void test_tall_rests(void) {
#define MEAN                                                                           \
    "s: f64 = reduce.nested_lanes[1](column, 0f64) " OP(                               \
        "f64", "add") " k: f64 = "                                                     \
                      "conv(n) m: f64 = div(s, k) "
    static const char *const rests[] = {
        TALL("f64",
             EACH("f64") MEAN "q: f64 = reduce.nested_lanes[1](column, 0f64) " OP(
                 "f64", "add") " {|f: f64| g: f64 = sub(f, m) h: f64 = mul(g, g) -> h} "
                               "d: f64 = div(q, "
                               "k) -> d}"),
        TALL("f64", EACH("f64") "s: f64, q: f64 = reduce.nested_lanes[1](column, 0f64, "
                                "1f64) {|e: f64, f: "
                                "f64, g: f64, h: f64| i: f64 = add(e, g) j: f64 = "
                                "mul(f, h) -> i, j} {|f: "
                                "f64| g: f64 = div(f, 1000f64) h: f64 = add(g, 1f64) "
                                "-> f, h} d: f64 = "
                                "div(s, q) -> d}"),
        TALL("f64", EACH("f64") MEAN
             "e: []f64 = map[1](column) {|f: f64| g: f64 = sub(f, m) -> g} q: f64 = "
             "reduce.nested_lanes[1](e, 0f64) " OP(
                 "f64", "add") " h: f64 = index(e, 8200i64) d: f64 = add(q, h) -> d}"),
        TALL("f64", "i: []i64 = iota(c, 5i64, 1i64) v: []f64, u: [][]f64 = map[2](i, "
                    "b, n) {|j: i64, column: []f64| " MEAN
                    "e: []f64 = map[1](column) {|f: f64| g: f64 = sub(f, m) -> g} h: "
                    "f64 = index(w, j) -> h, e} o: [][]f64 = permute[1, 0](u) p: []f64 "
                    "= index(o, 77i64) z: []f64 = map[2](v, p) {|f: f64, g: f64| h: "
                    "f64 = add(f, g) -> h}"),
    };
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        Product p = {SCALAR_F64, 8211, 1, 4, 9, rests[i]};
        CHECK(goes_down(p));
        p.weights = 8;
        if (i + 1 == sizeof rests / sizeof *rests) CHECK(way_that_fails(p) == DOWN);
    }
}

// Columns that lie in one piece; whose elements are looked up, or may fail; which are
// not asked for in order, or not all of them; sums that want what is made of a failure,
// or lanes of different numbers; other shapes of folds; and products that are tiles.
static void test_not_tall(void) {
#define ADD_UP(args, rest)                                                             \
    "s: f64 = reduce.nested_lanes[1](" args ", 0f64) " OP("f64", "add") rest " -> s}"
#define BY_NUMBER(iota, rest)                                                          \
    TALL("f64", "i: []i64 = " iota " z: []f64 = map[1](i) {|j: i64| " rest             \
                "column: []f64 = index(b, j) " ADD_UP("column", ""))
    static const char *const others[] = {
        TALL("f64", "a: [][]f64 = permute[0, 1](x) z: []f64 = map[1](a) {|column: "
                    "[]f64| " ADD_UP("column", "")),
        TALL("f64",
             EACH("f64") ADD_UP("column", " {|f: f64| g: i64 = conv(f) h: i64 = "
                                          "max(g, 0i64) i: i64 = min(h, 3i64) j: f64 "
                                          "= index(w, i) -> j}")),
        BY_NUMBER("iota(c, 3i64, -1i64)", ""),
        BY_NUMBER("iota(2i64, 0i64, 2i64)", ""),
        TALL("f64", EACH("f64") "k: f64 = index(column, 5i64) " ADD_UP(
                        "column", " {|f: f64| g: f64 = sub(f, k) -> g}")),
        TALL("f64",
             EACH("f64") "e: f64, q: f32 = reduce.nested_lanes[1](column, 0f64, 1f32) "
                         "{|e: f64, f: f32, g: f64, h: f32| i: f64 = add(e, g) j: f32 "
                         "= add(f, h) -> i, j} {|f: f64| g: f32 = conv(f) -> f, g} d: "
                         "f64 = conv(q) s: f64 = add(d, e) -> s}"),
        TALL("f64", EACH("f64") "s: f64 = reduce.nested_runs[1](column, 0f64) " OP(
                        "f64", "add") " -> s}"),
    };
    static const char some[] = BY_NUMBER("iota(2i64, 0i64, 1i64)", "");
    CHECK(goes_down((Product){SCALAR_F64, 8211, 1, 4, 4, some, .is_short = true}));
    static const char tiles[] =
        NEST("f64", "e: f64 = reduce.free[2](row, column, -f64.inf) " OP(
                        "f64", "max") " {|f: f64, g: f64| h: f64 = mul(f, g) -> h}");
    CHECK(stays((Product){SCALAR_F64, 100, 9, 8, 1, tiles}));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(stays((Product){SCALAR_F64, i == 0 ? 4 : 8211, 1, 4, 4, others[i]}));
}

int main(void) {
    if (setjmp(test_recover) != 0) abort();
    test_sizes();
    test_zeros();
    test_forms();
    test_rests();
    test_made();
    test_not_made();
    test_maps();
    test_maps_that_fail();
    test_others();
    test_tall_sizes();
    test_tall_forms();
    test_tall_rests();
    test_not_tall();
    return test_done();
}
