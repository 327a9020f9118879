// SPDX-License-Identifier: Apache-2.0
//
// What the lift pass finds and what it makes of it, down to the vectors. That the
// answers stay the same is the business of tests/loop and tests/lang/tiles.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "loop/lift.h"
#include "loop/vector.h"
#include "session.h"

#define EMPTY "entry main() -> () { -> }"
#define HEAD                                                                           \
    "kernel \"k\" ([]f32, []f32, owned []f32, i64, i64, i64, bool) -> () "             \
    "{|a: [f32], na: i64, b: [f32], nb: i64, r: [f32], nr: i64, n: i64, m: i64, "      \
    "p: i64, c: bool| "
// The place of row i, and a sum of products for column j.
#define ROW  "= for.parallel(n) {|i: i64| from: i64 = mul(m, i) to: i64 = mul(p, i) "
#define COLS "= for.independent(p) {|j: i64| "
#define FOLD                                                                           \
    "s: f32 = for(m, 0f32) {|k: i64, t: f32| x: f32 = load(a, from, 1i64, k) "         \
    "y: f32 = load(b, j, p, k) z: f32 = fma(x, y, t) -> z} "
#define STORE "= store(r, s, to, 1i64, j) "
#define END   "-> } -> } -> }"

typedef struct Lifted {
    uint32_t fmas, allocs, parallel, conditions;
    bool is_found;
} Lifted;

static uint32_t count_words(const char *text, const char *word) {
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

static LoopStm *find_loop(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i]->op == LOOP_FOR) return body->stms.data[i];
    return NULL;
}

static LoopKernel *read_kernel(Session *s, const char *code) {
    StrBuf faults = strbuf(&s->arena);
    Source *source = sources_add(&s->cx.sources, STR("test.loop"), str_of(code), false);
    LoopKernel *kernel = loop_read(&s->cx, &s->arena, s->program, source);
    CHECK(kernel != NULL);
    if (kernel == NULL) printf("  %.*s\n", STR_ARG(s->cx.diags.data[0]->message));
    if (kernel == NULL || loop_verify(kernel, &faults)) return kernel;
    CHECK(false);
    printf("%.*s", STR_ARG(strbuf_done(&faults)));
    return NULL;
}

// Lifts the code and counts what there is then.
static Lifted lift(const char *code, bool in_lanes) {
    Session s;
    Lifted made = {0};
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, code);
    if (kernel != NULL) {
        StrBuf text = strbuf(&s.arena), faults = strbuf(&s.arena);
        const LiftMachine machine = lift_machine(32);
        LiftNest nest;
        made.is_found = lift_find(kernel, &machine, find_loop(kernel->root), &nest);
        lift_run(kernel, &machine);
        if (in_lanes) vector_run(kernel, machine.bytes, false);
        bool is_sound = loop_verify(kernel, &faults);
        CHECK(is_sound);
        if (!is_sound) printf("%.*s", STR_ARG(strbuf_done(&faults)));
        loop_print(kernel, &text);
        const char *shown = str_terminated(&s.arena, strbuf_done(&text));
        made.fmas = count_words(shown, in_lanes ? "f32[16] = fma(" : "f32 = fma(");
        made.allocs = count_words(shown, "alloc(");
        made.parallel = count_words(shown, "for.parallel");
        made.conditions = count_words(shown, "bool = ");
    }
    stop(&s);
    return made;
}

// ---- what is found ------------------------------------------------------------------

static void test_product(void) {
    Lifted made = lift(HEAD ROW COLS FOLD STORE END, false);
    // three forms: for many columns, for few, and as it was
    CHECK(made.is_found && made.fmas == 13 && made.allocs == 3 && made.parallel == 5);
    // all of a block in one vector turn: six rows of two vectors each
    CHECK(lift(HEAD ROW COLS FOLD STORE END, true).fmas == 12);
    // rows whose elements lie apart are always packed
    made = lift(HEAD ROW COLS
                "s: f32 = for(m, 0f32) {|k: i64, t: f32| x: f32 = load(a, i, n, k) "
                "y: f32 = load(b, j, p, k) z: f32 = fma(x, y, t) -> z} " STORE END,
                false);
    CHECK(made.fmas == 7 && made.allocs == 2);
    // two sums leave registers for half as many rows
    made = lift(HEAD ROW COLS
                "s: f32, u: f32 = for(m, 0f32, 1f32) {|k: i64, t: f32, v: f32| "
                "x: f32 = load(a, from, 1i64, k) y: f32 = load(b, j, p, k) "
                "z: f32 = fma(x, y, t) w: f32 = fma(x, y, v) -> z, w} " STORE
                "-> } -> } -> }",
                false);
    CHECK(made.fmas == 2 * 3 * 2 + 2);
}

static void test_sizes(void) {
#define SIZED(n, m, p)                                                                 \
    HEAD "= for.parallel(" n ") {|i: i64| from: i64 = mul(m, i) to: i64 = mul(p, i) "  \
         "= for.independent(" p ") {|j: i64| s: f32 = for(" m                          \
         ", 0f32) {|k: i64, t: f32| x: f32 = load(a, from, 1i64, k) "                  \
         "y: f32 = load(b, j, p, k) z: f32 = fma(x, y, t) -> z} " STORE END
    // rows are packed for many columns
    Lifted many = lift(SIZED("12i64", "8i64", "256i64"), false);
    Lifted few = lift(SIZED("12i64", "8i64", "255i64"), false);
    CHECK(many.fmas == 6 && many.allocs == 2 && few.fmas == 6 && few.allocs == 1);
    // large enough, so that there is no other form; or too small in one of three ways
    CHECK(lift(SIZED("12i64", "8i64", "16i64"), false).fmas == 6);
    CHECK(lift(SIZED("11i64", "8i64", "16i64"), false).fmas == 1);
    CHECK(lift(SIZED("12i64", "7i64", "16i64"), false).fmas == 1);
    CHECK(lift(SIZED("12i64", "8i64", "15i64"), false).fmas == 1);
    // so long that one panel is more than may be packed
    CHECK(lift(SIZED("12i64", "65537i64", "16i64"), false).fmas == 1);
}

static void test_conditions(void) {
    uint32_t before = lift(HEAD ROW COLS FOLD STORE END, false).conditions;
    Lifted made =
        lift(HEAD ROW "= if(c) {" COLS FOLD STORE "-> } -> } {-> } -> } -> }", false);
    CHECK(made.fmas == 13 && made.conditions == before + 1);
    made = lift(HEAD ROW "d: bool = lt(m, p) = if(d) {-> } {" COLS FOLD STORE
                         "-> } -> } -> } -> }",
                false);
    CHECK(made.fmas == 13 && made.conditions > before + 1);
    // a check that is the same for all rows is one more condition
    made = lift(HEAD ROW COLS "= check(c) \"no\" " FOLD STORE END, false);
    CHECK(made.fmas == 13 && made.conditions == before + 1);
    // and so is a branch that chooses where to store; one that chooses a number is not
    made = lift(HEAD ROW "q: [f32] = if(c) {-> r} {o: [f32] = alloc(p) -> o} " COLS FOLD
                         "= store(q, s, to, 1i64, j) " END,
                false);
    CHECK(made.fmas == 13);
    made = lift(HEAD ROW "q: f32 = if(c) {-> 1f32} {-> 2f32} " COLS FOLD
                         "w: f32 = mul(s, q) = store(r, w, to, 1i64, j) " END,
                false);
    CHECK(made.fmas == 13 && made.conditions == before);
}

static void test_refusals(void) {
    static const char *const codes[] = {
        // what depends on the row: a condition, a check, how many columns, how long
        HEAD ROW "d: bool = lt(i, 5i64) = if(d) {" COLS FOLD STORE
                 "-> } -> } {-> } -> } -> }",
        HEAD ROW "d: bool = lt(i, 5i64) = check(d) \"no\" " COLS FOLD STORE END,
        HEAD ROW "= for.independent(i) {|j: i64| " FOLD STORE END,
        HEAD ROW COLS
        "s: f32 = for(i, 0f32) {|k: i64, t: f32| x: f32 = load(a, from, 1i64, k) "
        "y: f32 = load(b, j, p, k) z: f32 = fma(x, y, t) -> z} " STORE END,
        // what is stored is loaded, so that turns cannot run twice
        HEAD ROW COLS FOLD "u: f32 = load(r, to, 1i64, j) v: f32 = add(s, u) "
                           "= store(r, v, to, 1i64, j) " END,
        // nothing is the same for all rows
        HEAD ROW COLS
        "s: f32 = for(m, 0f32) {|k: i64, t: f32| x: f32 = load(a, from, 1i64, k) "
        "y: f32 = load(b, j, i, k) z: f32 = fma(x, y, t) -> z} " STORE END,
        // so many sums that two rows have no registers
        HEAD ROW COLS
        "s: f32, u: f32, v: f32, w: f32 = for(m, 0f32, 0f32, 0f32, 0f32) "
        "{|k: i64, t1: f32, t2: f32, t3: f32, t4: f32| x: f32 = load(a, from, 1i64, k) "
        "y: f32 = load(b, j, p, k) z: f32 = fma(x, y, t1) -> z, t1, t2, t3} " STORE END,
        // a fold that may stop, and one that stores
        HEAD ROW COLS
        "s: f32 = for(m, 0f32) {|k: i64, t: f32| x: f32 = load(a, from, 1i64, k) "
        "y: f32 = load(b, j, p, k) d: bool = lt(x, y) = check(d) \"no\" "
        "z: f32 = fma(x, y, t) -> z} " STORE END,
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        Lifted made = lift(codes[i], false);
        CHECK(!made.is_found && made.allocs == 0);
        if (made.is_found) printf("  code %zu was lifted\n", i);
    }
}

// Each value is used twice by the next; finding out what they depend on takes no
// longer.
static void test_long_chain(void) {
    char code[8192];
    int at = snprintf(code, sizeof code, "%s",
                      HEAD ROW COLS "s: f32 = for(m, 0f32) {|k: i64, t: f32| "
                                    "x: f32 = load(a, from, 1i64, k) "
                                    "y: f32 = load(b, j, p, k) x0: i64 = add(k, j) ");
    for (int i = 0; i < 64; i++)
        at += snprintf(code + at, sizeof code - (size_t)at, "x%d: i64 = mul(x%d, x%d) ",
                       i + 1, i, i);
    snprintf(code + at, sizeof code - (size_t)at, "%s",
             "u: i64 = add(x64, i) v: f32 = conv(u) w: f32 = mul(x, v) "
             "z: f32 = fma(w, y, t) -> z} " STORE END);
    CHECK(lift(code, false).is_found);
}

static void test_text(void) {
    Session s;
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, HEAD ROW COLS FOLD STORE END);
    StrBuf text = strbuf(&s.arena);
    setenv("WEFT_VECTOR_BYTES", "32", 1);
    if (kernel != NULL) lift_show(kernel, &text);
    unsetenv("WEFT_VECTOR_BYTES");
    const char *shown = str_terminated(&s.arena, strbuf_done(&text));
    CHECK(strstr(shown, "6 rows × 2 vectors: 12 of 16 hold sums") != NULL);
    CHECK(strstr(shown, "16 columns × the fold, packed: f32;") != NULL);
    stop(&s);
}

// ---- batches ------------------------------------------------------------------------

#define TURN  "= for.parallel(n) {|i: i64| from: i64 = mul(m, i) t: [f32] = alloc(p) "
#define INNER "= for.independent(p) {|j: i64| "
// Weights of column j lie apart from one to the next.
#define WEIGH_BY(stride_a, stride_b)                                                   \
    "to: i64 = mul(m, j) s: f32 = for(m, 0f32) {|k: i64, u: f32| "                     \
    "x: f32 = load(a, from, " stride_a ", k) y: f32 = load(b, to, " stride_b ", k) "   \
    "z: f32 = fma(x, y, u) -> z} = store(t, s, 0i64, 1i64, j) -> } "
#define WEIGH WEIGH_BY("1i64", "1i64")
#define WEIGH_APART                                                                    \
    WEIGH_BY("1i64", "2i64") // no rows that the loop on columns could take
// The number of the least.
#define LEAST                                                                          \
    "g: i64, h: f32 = for(p, 0i64, 0f32) {|l: i64, c1: i64, c2: f32| "                 \
    "v: f32 = load(t, 0i64, 1i64, l) d: bool = lt(v, c2) "                             \
    "e: i64, f: f32 = if(d) {-> l, v} {-> c1, c2} -> e, f} "

typedef struct Batched {
    uint32_t lanes, parallel, packs, narrow, wide, takes;
} Batched;

static Batched batch(const char *code) {
    Session s;
    Batched made = {0};
    start(&s, EMPTY);
    LoopKernel *kernel = read_kernel(&s, code);
    if (kernel != NULL) {
        StrBuf text = strbuf(&s.arena), faults = strbuf(&s.arena);
        const LiftMachine machine = lift_machine(32);
        batch_run(kernel, &machine);
        bool is_sound = loop_verify(kernel, &faults);
        CHECK(is_sound);
        if (!is_sound) printf("%.*s", STR_ARG(strbuf_done(&faults)));
        loop_print(kernel, &text);
        const char *shown = str_terminated(&s.arena, strbuf_done(&text));
        made.lanes =
            count_words(shown, "f32[8] = fma(") + count_words(shown, "f32[16] = fma(");
        made.parallel = count_words(shown, "for.parallel");
        made.packs = count_words(shown, "f32[8] = load(a, ");
        made.narrow = count_words(shown, "i32[8] = select(");
        made.wide = count_words(shown, "i64[8] = select(");
        made.takes = count_words(shown, "f32[16] = take(");
    }
    stop(&s);
    return made;
}

static void test_batches(void) {
    // in lanes where it pays, and as it was
    Batched made =
        batch(HEAD TURN INNER WEIGH "= store(r, 0f32, 0i64, 1i64, i) -> } -> }");
    CHECK(made.lanes == 1 && made.parallel == 2);
    // rows are packed by squares, or if they are too short by elements of all lanes
    CHECK(made.packs == 8 + 1);
    made = batch(HEAD TURN INNER WEIGH_BY(
        "2i64", "1i64") "= store(r, 0f32, 0i64, 1i64, i) -> } -> }");
    CHECK(made.lanes == 1 && made.packs == 1);
    // the number is an i32, but not one that something else asks for
    made = batch(HEAD TURN INNER WEIGH LEAST "= store(r, h, g, 1i64, i) -> } -> }");
    CHECK(made.lanes == 1 && made.narrow == 1 && made.wide == 0);
    made = batch(HEAD TURN INNER WEIGH
                 "g: i64, h: f32 = for(p, 0i64, 0f32) {|l: i64, c1: i64, c2: f32| "
                 "v: f32 = load(t, 0i64, 1i64, l) d: bool = lt(l, c1) "
                 "e: i64, f: f32 = if(d) {-> l, v} {-> c1, c2} -> e, f} "
                 "= store(r, h, g, 1i64, i) -> } -> }");
    CHECK(made.narrow == 0);
    // turns that load what they store do not run twice: those left over are by
    // themselves
    made =
        batch(HEAD TURN INNER WEIGH
              "q: f32 = load(r, 0i64, 1i64, i) = store(r, q, 0i64, 1i64, i) -> } -> }");
    CHECK(made.lanes == 1 && made.parallel == 3);
}

// A fold whose places lie apart is in lanes if its steps wait long.
static void test_waiting(void) {
#define WAIT                                                                           \
    HEAD TURN                                                                          \
        "s: f32 = for(m, 0f32) {|k: i64, u: f32| x: f32 = load(a, from, 2i64, k) "     \
        "y: f32 = load(b, from, 2i64, k) z: f32 = fma(u, x, y) "
#define DONE "= store(t, v, 0i64, 1i64, k) -> v} = store(r, s, 0i64, 1i64, i) -> } -> }"
    Batched made = batch(WAIT "v: f32 = div(x, z) " DONE);
    CHECK(made.lanes == 1 && made.parallel == 2);
    made = batch(WAIT "v: f32 = add(x, z) " DONE);
    CHECK(made.lanes == 0 && made.parallel == 1);
}

// Rows that folds walk along go by squares, 64 shuffles each, of rows of two vectors,
// and so does a row of a result that is private until the turn is done.
static void test_rows(void) {
    enum { SHUFFLES = 64 };
#define WALK                                                                           \
    HEAD TURN                                                                          \
        "s: f32 = for(m, 0f32) {|k: i64, u: f32| x: f32 = load(a, from, 1i64, k) "     \
        "h: i64 = sub(m, k) y: f32 = load(b, from, 1i64, h) z: f32 = fma(u, x, y) "    \
        "v: f32 = div(x, z) = store(t, v, 0i64, 1i64, k) "
    Batched made = batch(WALK "= store(r, v, from, 1i64, k) -> v} -> } -> }");
    CHECK(made.lanes == 1 && made.parallel == 2 && made.takes == 3 * SHUFFLES);
    made = batch(WALK "-> v} = store(r, s, 0i64, 1i64, i) -> } -> }");
    CHECK(made.lanes == 1 && made.takes == 2 * SHUFFLES);
    // not all of the row is made
    made = batch(WALK "= store(r, v, from, 1i64, h) -> v} -> } -> }");
    CHECK(made.lanes == 1 && made.takes == 2 * SHUFFLES);
    // what was there before is looked at
    made = batch(WALK "w: f32 = load(r, from, 1i64, h) q: f32 = add(v, w) "
                      "= store(r, q, from, 1i64, k) -> v} -> } -> }");
    CHECK(made.lanes == 1 && made.takes == 0);
}

// So do those of turns without memory of their own, if that is all that turns fold.
static void test_folds_of_rows(void) {
    enum { SHUFFLES = 64 };
#define SUM(order)                                                                     \
    "= for." order "(n) {|i: i64| from: i64 = mul(m, i) "                              \
    "s: f32 = for(m, 0f32) {|k: i64, u: f32| x: f32 = load(a, from, 1i64, k) "         \
    "y: f32 = load(b, 0i64, 1i64, k) z: f32 = fma(x, y, u) "
#define END_SUM "-> z} = store(r, s, 0i64, 1i64, i) -> } "
    Batched made = batch(HEAD SUM("parallel") END_SUM "-> }");
    CHECK(made.lanes == 1 && made.takes == SHUFFLES);
    made = batch(HEAD
                 "= for.parallel(p) {|j: i64| from: i64 = mul(p, j) "
                 "= for.independent(n) {|i: i64| "
                 "s: f32 = for(m, 0f32) {|k: i64, u: f32| "
                 "x: f32 = load(a, from, m, i, 1i64, k) z: f32 = fma(x, x, u) " END_SUM
                 "-> } -> }");
    CHECK(made.lanes == 1 && made.takes == SHUFFLES);
    // what else is loaded lies apart
    made =
        batch(HEAD SUM("parallel") "w: f32 = load(b, from, 3i64, k) v: f32 = mul(z, w) "
                                   "-> v} = store(r, s, 0i64, 1i64, i) -> } -> }");
    CHECK(made.lanes == 0);
    // each step of one fold is a fold
    made = batch(
        HEAD SUM("parallel") "t: f32 = for(p, z) {|l: i64, v: f32| w: f32 = mul(v, x) "
                             "-> w} -> t} = store(r, s, 0i64, 1i64, i) -> } -> }");
    CHECK(made.lanes == 0);
    // a call of what happens rarely is in lanes, too
    made = batch("plain function \"f\" {|q: f32| w: f32 = mul(q, q) -> w} " HEAD SUM(
        "parallel") "t: f32 = apply[0](z) -> t} = store(r, s, 0i64, 1i64, i) -> } -> "
                    "}");
    CHECK(made.lanes == 1 && made.takes == SHUFFLES);
}

static void test_no_batches(void) {
    static const char *const codes[] = {
        // no memory of its own
        HEAD "= for.parallel(n) {|i: i64| from: i64 = mul(m, i) " INNER
             "to: i64 = mul(m, j) s: f32 = for(m, 0f32) {|k: i64, u: f32| "
             "x: f32 = load(a, from, 1i64, k) y: f32 = load(b, to, 1i64, k) "
             "z: f32 = fma(x, y, u) -> z} = store(r, s, from, 1i64, j) -> } -> } -> }",
        // a fold that lanes of the loop within can take
        HEAD TURN INNER
        "s: f32 = for(m, 0f32) {|k: i64, u: f32| x: f32 = load(a, from, 1i64, k) "
        "y: f32 = load(b, j, p, k) z: f32 = fma(x, y, u) -> z} "
        "= store(t, s, 0i64, 1i64, j) -> } = store(r, 0f32, 0i64, 1i64, i) -> } -> }",
        // as many turns as the turn says; a check of a turn
        HEAD
        "= for.parallel(n) {|i: i64| from: i64 = mul(m, i) t: [f32] = alloc(i) " INNER
            WEIGH_APART "= store(r, 0f32, 0i64, 1i64, i) -> } -> }",
        HEAD TURN INNER WEIGH_APART "d: bool = lt(i, 5i64) = check(d) \"no\" "
                                    "= store(r, 0f32, 0i64, 1i64, i) -> } -> }",
        // more than is near
        HEAD "= for.parallel(n) {|i: i64| from: i64 = mul(m, i) t: [f32] = "
             "alloc(9999i64) " INNER WEIGH_APART
             "= store(r, 0f32, 0i64, 1i64, i) -> } -> }",
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        Batched made = batch(codes[i]);
        CHECK(made.lanes == 0 && made.parallel == 1);
        if (made.lanes != 0) printf("  code %zu was made a batch\n", i);
    }
}

int main(void) {
    test_batches();
    test_waiting();
    test_rows();
    test_folds_of_rows();
    test_no_batches();
    test_product();
    test_sizes();
    test_conditions();
    test_refusals();
    test_long_chain();
    test_text();
    return test_done();
}
