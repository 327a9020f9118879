// SPDX-License-Identifier: Apache-2.0
//
// The stamped shapes of reductions, scans and histograms against the bits that the
// model in tests/interp/shapes.py expects.
#include <string.h>

#include "session.h"

// element() of shapes.py: fractions of 10 bits, exact in every float type.
static uint64_t element(uint64_t i, uint64_t salt, ScalarType type) {
    uint64_t h = (uint32_t)((i + salt) * 2654435761u + 12345) >> 22, wide, bits;
    double x = 0.5 + (double)h / 1024;
    if (i % 3 == 1) x = -x;
    memcpy(&wide, &x, sizeof wide);
    core_eval(OP_CONV, SCALAR_F64, type, &wide, &bits);
    return bits;
}

static RtValue elements(Session *s, int64_t n, ScalarType type, uint64_t salt) {
    RtValue value = {.elem = type, .rank = 1, .array = rt_new(&s->heap, type, 1, &n)};
    size_t bytes = scalar_info[type].bytes;
    for (int64_t i = 0; i < n; i++)
        rt_store(type, value.array->data + (size_t)i * bytes,
                 element((uint64_t)i, salt, type));
    return value;
}

static RtValue bins(Session *s, int64_t n, int64_t k) {
    RtValue value = {
        .elem = SCALAR_I64, .rank = 1, .array = rt_new(&s->heap, SCALAR_I64, 1, &n)};
    for (int64_t i = 0; i < n; i++)
        rt_store(SCALAR_I64, value.array->data + i * 8,
                 (uint64_t)((i * 7919 + i / 5) % (k + 2) - 1));
    return value;
}

static uint64_t hash_of(const RtArray *a) {
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < a->memory_size; i++)
        h = (h ^ (uint8_t)a->data[i]) * 0x100000001b3;
    return h;
}

typedef struct ShapeCase {
    const char *name;
    const char *args; // a letter each: s f32, d f64, h f16, b bins, t dest of f32, p
                      // two columns
    const char *text;
} ShapeCase;

#define OF(t)     "entry main(a: []" t ") -> "
#define OP(t, op) "{|p: " t ", q: " t "| r: " t " = " op " (p, q) -> r}"
#define SQUARE    "{|x: f32| y: f32 = mul (x, x) -> y}"

static const ShapeCase shape_cases[] = {
    {"sum_f32", "s",
     OF("f32") "(f32) {x: f32 = reduce.outer_lanes[1] (a, 0.0f32) " OP("f32",
                                                                       "add") " -> x}"},
    {"sum_f64", "d",
     OF("f64") "(f64) {x: f64 = reduce.outer_lanes[1] (a, 0.0f64) " OP("f64",
                                                                       "add") " -> x}"},
    {"sum_f16", "h",
     OF("f16") "(f16) {x: f16 = reduce.outer_lanes[1] (a, 0.0f16) " OP("f16",
                                                                       "add") " -> x}"},
    {"product_f32", "s",
     OF("f32") "(f32) {x: f32 = reduce.outer_lanes[1] (a, 1.0f32) " OP("f32",
                                                                       "mul") " -> x}"},
    {"nested_f32", "s",
     OF("f32") "(f32) {x: f32 = reduce.nested_lanes[1] (a, 0.0f32) " OP(
         "f32", "add") " -> x}"},
    {"squares_f32", "s",
     OF("f32") "(f32) {x: f32 = reduce.outer_lanes[1] (a, 0.0f32) " OP(
         "f32", "add") " " SQUARE " -> x}"},
    {"fma_f32", "s",
     OF("f32") "(f32) {x: f32 = reduce.outer_lanes[1] (a, 0.0f32) " OP(
         "f32", "add") " " SQUARE
                       " {|s: f32, x: f32| y: f32 = fma (x, x, s) -> y} -> x}"},
    {"tuple", "sdh",
     "entry main(a: []f32, b: []f64, c: []f16) -> (f32, f64, f16) {\n"
     "x: f32, y: f64, z: f16 = reduce.outer_lanes[3] (a, b, c, 0.0f32, 1.0f64, 0.0f16) "
     "{|p: f32, q: "
     "f64, r: f16, s: f32, t: f64, u: f16| v: f32 = add (p, s) w: f64 = mul (q, t) k: "
     "f16 = add (r, u)"
     "-> v, w, k} -> x, y, z}"},
    {"runs_f32", "s",
     OF("f32") "(f32) {x: f32 = reduce.outer_runs[1] (a, 0.0f32) " OP("f32",
                                                                      "sub") " -> x}"},
    {"nested_runs_f32", "s",
     OF("f32") "(f32) {x: f32 = reduce.nested_runs[1] (a, 0.0f32) " OP("f32",
                                                                       "sub") " -> x}"},
    {"rows_f32", "p",
     "entry main(a: [][]f32) -> (f32, f32) {z: []f32 = literal [0.0, 0.0] x: []f32 = "
     "reduce.outer_rows[1] (a, z) {|p: []f32, q: []f32| r: []f32 = map[2] (p, q) " OP(
         "f32",
         "sub") " -> r} y: f32 = index (x, 0i64) w: f32 = index (x, 1i64) -> y, w}"},
    {"scan_f32", "s",
     OF("f32") "([]f32) {x: []f32 = scan.outer_lanes[1] (a, 0.0f32) " OP(
         "f32", "add") " -> x}"},
    {"scan_f64", "d",
     OF("f64") "([]f64) {x: []f64 = scan.outer_lanes[1] (a, 1.0f64) " OP(
         "f64", "mul") " -> x}"},
    {"nested_scan_f32", "s",
     OF("f32") "([]f32) {x: []f32 = scan.nested_lanes[1] (a, 0.0f32) " OP(
         "f32", "add") " -> x}"},
    {"scan_runs_f32", "s",
     OF("f32") "([]f32) {x: []f32 = scan.outer_runs[1] (a, 0.0f32) " OP(
         "f32", "sub") " -> x}"},
    {"scan_squares_f32", "s",
     OF("f32") "([]f32) {x: []f32 = scan.outer_runs[1] (a, 0.0f32) " OP(
         "f32", "sub") " " SQUARE " -> x}"},
    {"hist_3", "tbs",
     "entry main(d: []f32, i: []i64, a: []f32) -> ([]f32) {x: []f32 = hist.parts[1, 1]"
     "(d, 0.0f32, i, a) " OP("f32", "add") " -> x}"},
    {"hist_5000", "tbs",
     "entry main(d: []f32, i: []i64, a: []f32) -> ([]f32) {x: []f32 = "
     "hist.parts[1, 1] (d, 0.0f32, i, a) " OP("f32", "add") " -> x}"},
};

static const struct ShapeRow {
    const char *name;
    int64_t n;
    uint64_t results[3];
} shape_rows[] = {
#define SHAPE(name, n, a, b, c) {#name, n, {a, b, c}},
#include "../interp/shapes.def"
#undef SHAPE
};

// Two columns, one after the other in memory, seen as rows of two.
static RtValue columns(Session *s, int64_t n) {
    RtValue value = {.elem = SCALAR_F32, .rank = 2};
    RtArray *both = rt_new(&s->heap, SCALAR_F32, 2, (int64_t[]){2, n});
    for (int64_t c = 0; c < 2; c++)
        for (int64_t i = 0; i < n; i++)
            rt_store(SCALAR_F32, both->data + (c * n + i) * 4,
                     element((uint64_t)i, 11 * (uint64_t)c, SCALAR_F32));
    value.array =
        rt_view(&s->heap, both, both->data, 2, (int64_t[]){n, 2}, (int64_t[]){1, n});
    rt_release(&s->heap, both);
    return value;
}

static void test_shape(const ShapeCase *c, const struct ShapeRow *row) {
    Session s;
    start(&s, c->text);
    int64_t k = strcmp(c->name, "hist_3") == 0 ? 3 : 5000;
    RtValue args[3] = {0}, results[3] = {0};
    for (int i = 0; c->args[i] != 0; i++) switch (c->args[i]) {
        case 's': args[i] = elements(&s, row->n, SCALAR_F32, 0); break;
        case 'd': args[i] = elements(&s, row->n, SCALAR_F64, 7); break;
        case 'h': args[i] = elements(&s, row->n, SCALAR_F16, 0); break;
        case 't': args[i] = elements(&s, k, SCALAR_F32, 5); break;
        case 'b': args[i] = bins(&s, row->n, k); break;
        case 'p': args[i] = columns(&s, row->n); break;
        }
    CHECK(run(&s, args, results) == STATUS_OK);
    for (uint32_t i = 0; i < last_fun(&s)->body->result_count; i++) {
        uint64_t got =
            results[i].rank == 0 ? results[i].bits : hash_of(results[i].array);
        CHECK(got == row->results[i]);
        if (got != row->results[i])
            printf("  %s, n = %lld, result %u: %llx, not %llx\n", c->name,
                   (long long)row->n, i, (unsigned long long)got,
                   (unsigned long long)row->results[i]);
        rt_release_value(&s.heap, &results[i]);
    }
    stop(&s);
}

static void test_shapes(void) {
    size_t cases = sizeof shape_cases / sizeof *shape_cases, done = 0;
    for (size_t i = 0; i < sizeof shape_rows / sizeof *shape_rows; i++)
        for (size_t k = 0; k < cases; k++)
            if (strcmp(shape_rows[i].name, shape_cases[k].name) == 0) {
                test_shape(&shape_cases[k], &shape_rows[i]);
                done++;
            }
    CHECK(done == sizeof shape_rows / sizeof *shape_rows);
}

int main(void) {
    if (setjmp(test_recover) != 0) return 1;
    test_shapes();
    return test_done();
}
