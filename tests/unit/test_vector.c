// SPDX-License-Identifier: Apache-2.0
//
// Lanes in the loop language: their text, what the verifier says of them, and what the
// pass makes of loops. That the answers stay the same is the business of tests/loop.
#include <string.h>

#include "loop/vector.h"
#include "session.h"

#define EMPTY "entry main() -> () { -> }"

static LoopKernel *read_kernel(Session *s, const char *text) {
    Source *source = sources_add(&s->cx.sources, STR("test.loop"), str_of(text), false);
    LoopKernel *kernel = loop_read(&s->cx, &s->arena, s->program, source);
    CHECK(kernel != NULL);
    if (kernel == NULL) printf("  %.*s\n", STR_ARG(s->cx.diags.data[0]->message));
    return kernel;
}

static const char *show(Session *s, const LoopKernel *kernel) {
    StrBuf text = strbuf(&s->arena);
    loop_print(kernel, &text);
    return str_terminated(&s->arena, strbuf_done(&text));
}

static bool is_sound(Session *s, const LoopKernel *kernel) {
    StrBuf faults = strbuf(&s->arena);
    bool sound = loop_verify(kernel, &faults);
    if (!sound) printf("%.*s", STR_ARG(strbuf_done(&faults)));
    return sound;
}

static void test_text(void) {
    static const char text[] = "kernel \"main\" (owned []f64, i64) -> () "
                               "{|a: [f64], n: i64, k: i64|\n"
                               "  = for.independent[4](n) {|i: i64|\n"
                               "    x: f64[4] = load(a, 0i64, 1i64, i)\n"
                               "    l: i64[4] = lanes\n"
                               "    m: bool[4] = lt(l, k)\n"
                               "    b: bool = any(m)\n"
                               "    q: i64 = tally(m)\n"
                               "    = sure(b)\n"
                               "    = sure(m)\n"
                               "    y: f64[4] = loadif(m, a, 0i64, 2i64, l)\n"
                               "    z: f64[4] = select(m, x, 1f64)\n"
                               "    w: f64[4] = splat(2f64)\n"
                               "    u: f64[4] = lanes(i, k)\n"
                               "    t: f64[4] = pack(0f64, 1f64, 2f64, 3f64)\n"
                               "    s: f64[4] = take(t, w, 0i64, 0i64, 5i64, 3i64)\n"
                               "    v: f64[4] = fma(y, z, s)\n"
                               "    = storeif(m, a, v, 0i64, 2i64, l)\n"
                               "    = store(a, v, 0i64, 1i64, i)\n"
                               "    ->\n"
                               "  } {|j: i64|\n"
                               "    = store(a, 0f64, 0i64, 1i64, j)\n"
                               "    ->\n"
                               "  }\n"
                               "  ->\n"
                               "}\n";
    Session s;
    start(&s, EMPTY);
    const LoopKernel *kernel = read_kernel(&s, text);
    if (kernel != NULL) {
        const char *again = show(&s, kernel);
        CHECK(strcmp(again, text) == 0);
        if (strcmp(again, text) != 0) printf("%s", again);
        CHECK(is_sound(&s, kernel));
    }
    stop(&s);
}

// ---- the verifier -------------------------------------------------------------------

#define KERNEL "kernel \"k\" (owned []i64) -> () {|a: [i64], n: i64| "

// `turn`: statements of a vector turn with four lanes.
static const LoopKernel *read_turn(Session *s, const char *turn) {
    StrBuf text = strbuf(&s->arena);
    strbuf_printf(&text,
                  KERNEL "= for.independent[4](n) {|i: i64| m: bool[4] = splat(true) "
                         "l: i64[4] = lanes %s -> } {|j: i64| -> } -> }",
                  turn);
    return read_kernel(s, str_terminated(&s->arena, strbuf_done(&text)));
}

static void find_no_fault(const char *turn) {
    Session s;
    start(&s, EMPTY);
    const LoopKernel *kernel = read_turn(&s, turn);
    CHECK(kernel != NULL && is_sound(&s, kernel));
    stop(&s);
}

static void find_fault(const char *turn, const char *wanted) {
    Session s;
    start(&s, EMPTY);
    StrBuf faults = strbuf(&s.arena);
    const LoopKernel *kernel = read_turn(&s, turn);
    CHECK(kernel != NULL && !loop_verify(kernel, &faults));
    const char *found = str_terminated(&s.arena, strbuf_done(&faults));
    bool ok = strstr(found, wanted) != NULL;
    CHECK(ok);
    if (!ok) printf("  %s\n  gave %s\n", turn, found);
    stop(&s);
}

static void test_verifier(void) {
    find_fault("x: i64 = add(l, 1i64)", "its result has the wrong type");
    find_fault("x: i64[8] = add(l, 1i64)", "result 0 has 8 lanes");
    find_fault("x: i64[4] = add(l, m)", "arg 1 has the wrong type");
    find_fault("x: i64[4] = add(1i64, 2i64)", "its result has the wrong type");
    find_fault("x: i64[4] = select(true, l, l)", "arg 0 has the wrong type");
    find_fault("x: i64[4] = select(m, l, m)", "arg 2 has the wrong type");
    find_fault("x: f64[4] = lanes", "its result is no integer");
    find_fault("x: i64[4] = lanes(1i64, 2i64)", "its result is no float");
    find_fault("x: f64[4] = lanes(1i64)", "1 args");
    find_fault("x: f64[4] = lanes(1i64, 2f64)", "arg 1 has the wrong type");
    find_fault("x: i64[4] = splat(l)", "arg 0 has the wrong type");
    find_fault("b: bool = any(true)", "arg 0 has the wrong type");
    find_fault("x: i64 = tally(true)", "arg 0 has the wrong type");
    find_fault("x: i32 = tally(m)", "its result has the wrong type");
    find_fault("= atomic.add(a, l, 0i64)", "all lanes do it at once");
    find_fault("= atomic.add(a, 1i64, 0i64) = sure(m)", "it comes after a store");
    find_fault("= sure(l)", "arg 0 has the wrong type");
    find_fault("= store(a, l, 0i64, 1i64, i) = sure(m)", "it comes after a store");
    find_fault("= storeif(m, a, l, 0i64, 1i64, i) = sure(m)", "it comes after a store");
    find_fault("= if(true) {= store(a, l, 0i64, 1i64, i) ->} {->} = sure(m)",
               "it comes after a store");
    find_no_fault("= if(true) {= store(a, l, 0i64, 1i64, i) ->} {= sure(m) ->}");
    find_fault("= store(a, 1i64, 0i64, 1i64, i)", "the element has no lanes");
    find_fault("x: i64 = load(a, l)", "the element has no lanes");
    find_fault("x: i64 = loadif(m, a, i)", "the element has no lanes");
    find_fault("x: i64[4] = loadif(true, a, i)", "arg 0 has the wrong type");
    find_fault("x: i64[4] = if(m) {-> l} {-> l}", "arg 0 has the wrong type");
    find_fault("b: [i64] = alloc(1i64)", "it is in a vector turn");
    find_fault("= check(true) \"no\"", "it is in a vector turn");
    find_fault("= for.independent[4](n) {|p: i64| -> } {|q: i64| -> }",
               "it is in a vector turn");
}

static void refuse_kernel(const char *text, const char *wanted) {
    Session s;
    start(&s, EMPTY);
    StrBuf faults = strbuf(&s.arena);
    const LoopKernel *kernel = read_kernel(&s, text);
    CHECK(kernel != NULL && !loop_verify(kernel, &faults));
    const char *found = str_terminated(&s.arena, strbuf_done(&faults));
    bool ok = strstr(found, wanted) != NULL;
    CHECK(ok);
    if (!ok) printf("  %s\n  gave %s\n", text, found);
    stop(&s);
}

static void test_outside(void) {
    refuse_kernel(KERNEL "x: i64[4] = splat(1i64) -> }", "it is in no vector turn");
    refuse_kernel(KERNEL "= for.independent[4](n) {|i: i64| v: i64[4] = lanes "
                         "w: i64[4] = take(v, v, 0i64, 1i64, 2i64, 8i64) -> } "
                         "{|j: i64| -> } -> }",
                  "arg 5 is no lane");
    refuse_kernel(KERNEL
                  "= for.independent[4](n) {|i: i64| v: i64[4] = pack(n, n) -> } "
                  "{|j: i64| -> } -> }",
                  "2 args");
    refuse_kernel(KERNEL "= for[4](n) {|i: i64| x: i64[4] = splat(1i64) "
                         "= store(a, x, 0i64, 1i64, i) -> } {|j: i64| -> } -> }",
                  "it cannot have 4 lanes");
    refuse_kernel(KERNEL "x: i64 = for[4](n, 0i64) {|i: i64, s: i64| -> s} "
                         "{|j: i64, t: i64| -> t} -> }",
                  "it cannot have 4 lanes");
    refuse_kernel(KERNEL "= for.independent[6](n) {|i: i64| -> } {|j: i64| -> } -> }",
                  "it cannot have 6 lanes");
    refuse_kernel(KERNEL "= for.independent[4](n) {|i: i64| b: bool = lt(i, n) "
                         "= sure(b) -> } -> }",
                  "it has no turns for those that are left over");
    refuse_kernel(KERNEL "= for[4](n) {|i: i64| -> } -> }",
                  "it has no turns for those that are left over");
    refuse_kernel(KERNEL "= for.independent(n) {|i: i64| -> } {|j: i64| -> } -> }",
                  "it has 2 bodies, not 1");
    refuse_kernel(KERNEL "= for.independent[4](n) {|i: i64| -> } {|j: i32| -> } -> }",
                  "has the wrong type");
}

// ---- the pass -----------------------------------------------------------------------

static uint32_t count_words(const char *text, const char *word) {
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

typedef struct Count {
    const char *word;
    uint32_t count;
} Count;

// What becomes, with vectors of so many bytes, of a loop over i, of which `turn` is the
// body; it may use the parameters xs: [f64], ys: [f32], is: [i64], hs: [f16] and
// ss: [i16], each with n elements, c: bool and n.
static void expect_of(uint32_t bytes, const char *times, const char *turn, bool always,
                      const Count *counts) {
    Session s;
    start(&s, EMPTY);
    StrBuf text = strbuf(&s.arena);
    strbuf_printf(
        &text,
        "function \"f\" {|p: i64| -> p} kernel \"k\" (owned []f64, owned []f32, "
        "owned []i64, owned []f16, owned []i16, bool, i64) -> () {|xs: [f64], nx: i64, "
        "ys: [f32], ny: i64, is: [i64], ni: i64, hs: [f16], nh: i64, ss: [i16], "
        "ns: i64, c: bool, "
        "n: i64| = for.parallel(%s) {|i: i64| %s -> } -> }",
        times, turn);
    LoopKernel *kernel = read_kernel(&s, str_terminated(&s.arena, strbuf_done(&text)));
    if (kernel != NULL) {
        CHECK(is_sound(&s, kernel));
        vector_run(kernel, bytes, always);
        CHECK(is_sound(&s, kernel));
        const char *made = show(&s, kernel);
        for (; counts->word != NULL; counts++) {
            uint32_t found = count_words(made, counts->word);
            CHECK(found == counts->count);
            if (found != counts->count)
                printf("%u times %s, not %u, in\n%s", found, counts->word,
                       counts->count, made);
        }
    }
    stop(&s);
}

static void expect(const char *times, const char *turn, bool always,
                   const Count *counts) {
    expect_of(32, times, turn, always, counts);
}

#define LOAD     "x: f64 = load(xs, 0i64, 1i64, i) "
#define STORE(x) " = store(xs, " x ", 0i64, 1i64, i)"
#define NONE                                                                           \
    (Count[]) {                                                                        \
        {"for.parallel(n)", 1}, {"[4]", 0}, {"[8]", 0}, {                              \
            NULL, 0                                                                    \
        }                                                                              \
    }

// A few turns that add so often are one vector turn, or not.
static void expect_at_once(int additions, bool does) {
    char turn[8192];
    int at = snprintf(turn, sizeof turn, "v0: f64 = load(xs, 0i64, 1i64, i) ");
    for (int k = 0; k < additions; k++)
        at += snprintf(turn + at, sizeof turn - (size_t)at, "v%d: f64 = add(v%d, v%d) ",
                       k + 1, k, k);
    snprintf(turn + at, sizeof turn - (size_t)at, "= store(xs, v%d, 0i64, 1i64, i)",
             additions);
    expect(
        "32i64", turn, false,
        (Count[]){{"for.parallel[32]", does}, {"for.parallel[4]", !does}, {NULL, 0}});
}

// What becomes of turns, with vectors of so many bytes, that divide so often and add
// the other times, each operator with the result of the last if it `waits` for it, and
// have a branch that is rare.
static void expect_waiting(uint32_t bytes, int additions, int divisions, bool waits,
                           const char *lanes) {
    char turn[16384];
    int at =
        snprintf(turn, sizeof turn, LOAD "v0: f64 = add(x, x) b: bool = lt(x, v0) ");
    for (int k = 0; k < additions; k++)
        at += snprintf(turn + at, sizeof turn - (size_t)at, "v%d: f64 = %s(x, v%d) ",
                       k + 1, k < divisions ? "div" : "add", waits ? k : 0);
    snprintf(turn + at, sizeof turn - (size_t)at,
             "w: f64 = if(b) {-> v%d} {u0: f64 = add(x, x) u1: f64 = add(u0, u0) "
             "u2: f64 = add(u1, u1) -> u2}" STORE("w"),
             additions);
    expect_of(bytes, "n", turn, false, (Count[]){{lanes, 1}, {NULL, 0}});
}

// Two vectors where there are registers, turns are long, and many of their operators
// wait for each other.
static void test_waiting(void) {
    expect_waiting(64, 120, 0, true, "for.parallel[16](n)");
    expect_waiting(32, 120, 0, true, "for.parallel[4](n)");
    expect_waiting(64, 120, 0, false, "for.parallel[8](n)");
    expect_waiting(64, 60, 0, true, "for.parallel[8](n)");
    expect_waiting(64, 40, 20, true, "for.parallel[8](n)");
    expect_waiting(64, 120, 100, false, "for.parallel[8](n)");
}

// What becomes of a fold, with vectors of so many bytes, whose turn adds so often, one
// after the other, the first or the last to the state.
static void expect_chain(uint32_t bytes, int additions, bool is_first,
                         const char *lanes) {
    char turn[16384];
    int at =
        snprintf(turn, sizeof turn,
                 LOAD "y: f64 = for(9i64, x) {|k: i64, s: f64| v0: f64 = add(x, %s) ",
                 is_first ? "s" : "x");
    for (int k = 1; k < additions; k++)
        at += snprintf(turn + at, sizeof turn - (size_t)at, "v%d: f64 = add(v%d, %s) ",
                       k, k - 1, !is_first && k == additions - 1 ? "s" : "x");
    snprintf(turn + at, sizeof turn - (size_t)at, "-> v%d}" STORE("y"), additions - 1);
    expect_of(bytes, "n", turn, false, (Count[]){{lanes, 1}, {NULL, 0}});
}

// Four vectors where turns are a chain that is not too long.
static void test_chains(void) {
    expect_chain(64, 24, true, "for.parallel[32](");
    expect_chain(32, 24, true, "for.parallel[16](");
    expect_chain(64, 24, false, "for.parallel[8](n)");
    expect_chain(64, 129, true, "for.parallel[8](n)");
    expect_chain(32, 12, false, "for.parallel[16](");
}

// Sums of what is loaded from there, beginning with an element of the turn's own.
#define FOLD(from)                                                                     \
    LOAD "y: f64 = for(9i64, x) {|k: i64, s: f64| e: f64 = " from                      \
         " t: f64 = add(s, e) -> t}" STORE("y")

// Eight where a turn is a few operators, of which the units do five vectors or more
// while one waits; of lanes as wide as those of the turn, if that has one width.
static void test_tiny_chains(void) {
    expect_chain(64, 6, true, "for.parallel[64](");
    expect_chain(64, 7, true, "for.parallel[32](");
    expect_chain(32, 6, true, "for.parallel[16](");
    expect_chain(64, 4, false, "for.parallel[32](");
    const char *narrow = LOAD "a: f32 = conv(x) "
                              "b: f32 = for(9i64, a) {|k: i64, s: f32| "
                              "t: f32 = mul(s, s) -> t} y: f64 = conv(b) " STORE("y");
    expect_of(64, "n", narrow, false, (Count[]){{"for.parallel[128](", 1}, {NULL, 0}});
    const char *mixed = LOAD "a: f32 = conv(x) "
                             "b: f32 = for(9i64, a) {|k: i64, s: f32| "
                             "t: f64 = conv(s) u: f32 = conv(t) v: f32 = mul(u, s) "
                             "-> v} y: f64 = conv(b) " STORE("y");
    expect_of(64, "n", mixed, false, (Count[]){{"for.parallel[32](", 1}, {NULL, 0}});
    expect_of(64, "n", FOLD("load(xs, i, n, k)"), false,
              (Count[]){{"for.parallel[64](", 1}, {NULL, 0}});
    expect_of(64, "n", FOLD("load(xs, k, n, i)"), false,
              (Count[]){{"for.parallel[64](", 0}, {NULL, 0}});
    const char *many =
        "x: i16 = load(ss, 0i64, 1i64, i) "
        "y: i16 = for(9i64, x) {|k: i64, s: i16| t: i16 = mul(s, s) -> t}"
        " = store(ss, y, 0i64, 1i64, i)";
    expect_of(64, "n", many, false, (Count[]){{"for.parallel[128](", 1}, {NULL, 0}});
}

// Running sums that are stored row by row: of columns, of which neighbours use the same
// lines, in lanes; of rows one by one.
static void test_columns(void) {
    static const char columns[] =
        "r: i64 = mul(n, i) z: f32 = for(n, 0f32) {|k: i64, s: f32| "
        "v: f32 = load(ys, i, n, k) t: f32 = add(s, v) "
        "= store(ys, t, r, 1i64, k) -> t}";
    static const char rows[] =
        "r: i64 = mul(n, i) z: f32 = for(n, 0f32) {|k: i64, s: f32| "
        "v: f32 = load(ys, r, 1i64, k) t: f32 = add(s, v) "
        "= store(ys, t, r, 1i64, k) -> t}";
    expect_of(64, "n", columns, false, (Count[]){{"for.parallel[64]", 1}, {NULL, 0}});
    expect_of(64, "n", rows, false, (Count[]){{"for.parallel[", 0}, {NULL, 0}});
}

// Where there are few registers a short turn asks its lanes itself, and a counter that
// they keep is counted up by their mask; else that is asked when a turn ends. A turn
// that may not run without lanes, or is long, is as with many registers.
static void expect_late(uint32_t bytes, const char *turn, bool is_late) {
    expect_of(bytes, "n", turn, true,
              (Count[]){{", true)", is_late}, {"any(", 1}, {NULL, 0}});
}

static void test_late(void) {
    static const char turn[] =
        LOAD "y: f64 = while(x) {|s: f64| g: bool = lt(s, 9f64) -> g} "
             "{|t: f64| u: f64 = add(t, t) -> u}" STORE("y");
    static const char loads[] =
        LOAD "y: f64 = while(x) {|s: f64| g: bool = lt(s, 9f64) -> g} "
             "{|t: f64| u: f64 = load(xs, 0i64, 1i64, i) v: f64 = add(t, u) -> v} "
             "= store(ys, 1f32, 0i64, 1i64, i)";
    expect_late(32, turn, true);
    expect_late(64, turn, false);
    expect_late(32, loads, false);
}

// Turns that are left over by chains are a vector turn, too, whose first lanes they
// are: others load and store nothing, and no loop waits for them. Not so where turns
// within turns touch memory, or more than six places, elements lie apart, something may
// fail or is added up, or no turns are left over.
static void test_partial(void) {
    static const char chain[] =
        "y: f64 = for(n, x) {|t: i64, s: f64| u: f64 = mul(s, s) -> u}";
    static const char chased[] = "r: i64 = while(q) {|s: i64| g: bool = lt(s, n) -> g} "
                                 "{|t: i64| u: i64 = mul(t, t) -> u} ";
    static const char inside[] = "y: f64 = for(n, 0f64) {|t: i64, s: f64| x: f64 = "
                                 "load(xs, 0i64, n, t, 1i64, i) "
                                 "u: f64 = mul(s, x) -> u}";
    static const Count partial[] = {{"{|i: i64|", 1},  {"f64[64] = loadif(", 1},
                                    {"= storeif(", 1}, {"= store(", 0},
                                    {"|i.1: i64|", 0}, {NULL, 0}};
    static const Count whole[] = {{"loadif(", 0},
                                  {"storeif(", 0},
                                  {"= store(", 4},
                                  {"for.parallel[", 2},
                                  {NULL, 0}};
    char turn[1024];
    snprintf(turn, sizeof turn, "%s%s%s", LOAD, chain, STORE("y"));
    expect_of(64, "n", turn, false, partial);
    expect_of(64, "1000i64", turn, false, partial);
    expect_of(64, "1024i64", turn, false,
              (Count[]){{"= load(", 2}, {"for.parallel[64]", 1}, {NULL, 0}});
    snprintf(turn, sizeof turn, "%s%s", inside, STORE("y"));
    expect_of(64, "n", turn, false, whole);
    for (int stores = 5; stores <= 6; stores++) {
        int at = snprintf(turn, sizeof turn, "%s%s%s", LOAD, chain, STORE("y"));
        for (int k = 1; k < stores; k++)
            at += snprintf(turn + at, sizeof turn - (size_t)at,
                           " = store(xs, y, %di64, 1i64, i)", 1000 * k);
        expect_of(64, "n", turn, false,
                  (Count[]){{"= storeif(", stores == 5 ? 5 : 0}, {NULL, 0}});
    }
    snprintf(turn, sizeof turn, "k: i64 = load(is, 0i64, 1i64, i) %s%s%s",
             "x: f64 = load(xs, k) ", chain, STORE("y"));
    expect_of(64, "n", turn, false, whole);
    snprintf(turn, sizeof turn, "%sg: bool = lt(0f64, x) = check(g) \"no\" %s%s", LOAD,
             chain, STORE("y"));
    expect_of(64, "n", turn, false, whole);
    snprintf(turn, sizeof turn, "q: i64 = load(is, 0i64, 1i64, i) %s%s", chased,
             "= store(is, r, 0i64, 1i64, i)");
    expect_of(64, "n", turn, false,
              (Count[]){{"= lt(", 3}, {"= and(", 2}, {"storeif(", 1}, {NULL, 0}});
}

// What lanes keep is as wide as their masks.
static void test_kept(void) {
    static const char turn[] =
        LOAD "z: f64, y: i32 = while(x, 0i32) {|s: f64, k: i32| "
             "g: bool = lt(s, 9f64) -> g} {|t: f64, l: i32| u: f64 = add(t, t) "
             "m: i32 = add(l, 1i32) -> u, m} w: f64 = conv(y)" STORE("w");
    expect_of(32, "n", turn, true,
              (Count[]){{": i64[16] = conv(", 1}, {"i32[16] = conv(", 1}, {NULL, 0}});
    expect_of(64, "n", turn, true,
              (Count[]){{": i64[32] = select(", 1}, {"i32[32] = conv(", 1}, {NULL, 0}});
}

// What lies between every other element is taken of the same loads, unless a store
// comes between the two; and so is what a branch takes of one place.
static void test_taken(void) {
    static const char even[] =
        "k: i64 = mul(i, 2i64) j: i64 = add(k, 1i64) x: f64 = load(xs, 0i64, 1i64, k) ";
    static const char odd[] = "y: f64 = load(xs, 0i64, 1i64, j) z: f64 = sub(x, y) "
                              "w: f32 = conv(z) = store(ys, w, 0i64, 1i64, i)";
    static const char branch[] = "g: bool = lt(i, 16i64) z: f64 = if(g) {-> x} {-> y} "
                                 "= store(xs, z, 0i64, 1i64, i)";
    char turn[1024];
    snprintf(turn, sizeof turn, "%s%s", even, odd);
    expect("n", turn, true,
           (Count[]){{"f64[4] = load(xs", 2}, {"f64[4] = take(", 2}, {NULL, 0}});
    snprintf(turn, sizeof turn, "%s= store(xs, 0f64, 0i64, 1i64, j) %s", even, odd);
    expect("n", turn, true,
           (Count[]){{"f64[4] = load(xs", 4}, {"f64[4] = take(", 2}, {NULL, 0}});
    snprintf(turn, sizeof turn, LOAD "y: f64 = load(xs, 0i64, 1i64, i) %s", branch);
    expect("32i64", turn, true, (Count[]){{"= take(x, x, ", 1}, {NULL, 0}});
    snprintf(turn, sizeof turn,
             LOAD
             "= store(xs, 1f64, 0i64, 1i64, i) y: f64 = load(xs, 0i64, 1i64, i) %s",
             branch);
    expect("32i64", turn, true, (Count[]){{"= take(x, y, ", 1}, {NULL, 0}});
    // One element for all lanes is a lane of a vector, unless it may be another by now.
    static const char one[] =
        "m: [f64] = alloc(32i64) = for.independent(32i64) {|k: i64| "
        "x: f64 = load(m, 0i64, 1i64, 7i64) y: f64 = load(m, 0i64, 1i64, k) %s "
        "g: bool = lt(k, 16i64) z: f64 = if(g) {-> x} {-> y} "
        "= store(m, z, 0i64, 1i64, k) ->}";
    snprintf(turn, sizeof turn, one, "");
    expect("n", turn, true,
           (Count[]){{"splat(", 0}, {"take(%1, %1, 7i64", 1}, {NULL, 0}});
    snprintf(turn, sizeof turn, one, "= store(m, 1f64, 0i64, 1i64, k)");
    expect("n", turn, true, (Count[]){{"splat(x)", 1}, {"7i64, 7i64", 0}, {NULL, 0}});
}

// Elements three apart are taken of three vectors, of which those beside them take the
// first two, too; stores of all three are side by side, unless what they change is
// loaded in between.
static void test_apart(void) {
    static const char loads[] =
        "k: i64 = mul(i, 3i64) j: i64 = add(k, 1i64) l: i64 = add(k, 2i64) "
        "x: f64 = load(xs, 0i64, 1i64, k) y: f64 = load(xs, 0i64, 1i64, l) "
        "z: f64 = sub(x, y) ";
    char turn[1024];
    snprintf(turn, sizeof turn, "%s" STORE("z"), loads);
    expect(
        "n", turn, true,
        (Count[]){
            {"f64[4] = load(xs", 4}, {"f64[4] = take(", 4}, {"lanes", 0}, {NULL, 0}});
    static const char stores[] =
        "%s a: f32 = conv(z) = store(ys, a, 0i64, 1i64, k) %s b: f32 = neg(a) "
        "= store(ys, b, 0i64, 1i64, j) = store(ys, d, 0i64, 1i64, l)";
    snprintf(turn, sizeof turn, stores, loads, "d: f32 = abs(a)");
    expect("n", turn, true,
           (Count[]){{"= store(ys", 6}, {"f32[4] = take(", 6}, {NULL, 0}});
    snprintf(turn, sizeof turn, stores, loads, "d: f32 = load(ys, 0i64, 1i64, i)");
    expect("n", turn, true,
           (Count[]){{"= store(ys", 6}, {"f32[4] = take(", 0}, {NULL, 0}});
    static const char fours[] =
        "k: i64 = mul(i, 4i64) l: i64 = add(k, 3i64) x: f64 = load(xs, 0i64, 1i64, k) "
        "y: f64 = load(xs, 0i64, 1i64, l) z: f64 = sub(x, y)" STORE("z");
    expect("n", fours, true,
           (Count[]){{"f64[4] = load(xs", 5}, {"f64[4] = take(", 6}, {NULL, 0}});
}

static void test_pass(void) {
    expect("n", LOAD "y: f64 = mul(x, x)" STORE("y"), false,
           (Count[]){{"for.parallel[4](n)", 1}, {"f64[4] = load", 1}, {NULL, 0}});
    expect("n", "y: f32 = load(ys, 0i64, 1i64, i) = store(ys, y, 0i64, 1i64, i)", false,
           (Count[]){{"for.parallel[8](n)", 1}, {NULL, 0}});
    // A few turns are one.
    expect("32i64", LOAD STORE("x"), false,
           (Count[]){{"for.parallel[32](32i64)", 1}, {"f64[32]", 1}, {NULL, 0}});
    expect_at_once(60, true);
    expect_at_once(90, false);
    expect("7i64", LOAD STORE("x"), true,
           (Count[]){{"for.parallel(7i64)", 1}, {NULL, 0}});
    // What is the same for all lanes has none.
    expect("n", "y: f64 = load(xs, 3i64) z: f64 = sqrt(y)" STORE("z"), true,
           (Count[]){{"z: f64 = sqrt", 1}, {"f64[4] = splat(z)", 1}, {NULL, 0}});
    expect("n", LOAD "y: f64 = if(c) {-> x} {-> 1f64}" STORE("y"), true,
           (Count[]){{"y: f64[4] = if(c)", 1}, {"select", 0}, {NULL, 0}});
    // Places: each a stride from the last, or anywhere. Every other one is taken of two
    // vectors.
    expect("n",
           "k: i64 = mul(i, 5i64) y: i64 = load(is, 0i64, 1i64, k) "
           "= store(is, y, k)",
           true, (Count[]){{"lanes", 2}, {", 5i64, ", 2}, {NULL, 0}});
    expect("n", "k: i64 = mul(i, 2i64) y: f64 = load(xs, 0i64, 1i64, k)" STORE("y"),
           true, (Count[]){{"take", 1}, {"= load(xs", 3}, {"lanes", 0}, {NULL, 0}});
    expect("n", "k: i64 = load(is, 0i64, 1i64, i) y: f64 = load(xs, k)" STORE("y"),
           true, (Count[]){{"f64[4] = load(xs, k)", 1}, {NULL, 0}});
    expect("n",
           "k: i64 = load(is, 0i64, 1i64, i) y: i64 = load(is, k) "
           "= store(is, y, k)",
           false, NONE);
    // Branches: short ones by choice, others while a lane takes them; division by 1
    // where lanes are off.
    expect(
        "n",
        LOAD
        "b: bool = lt(x, 0f64) y: f64 = if(b) {z: f64 = neg(x) -> z} {-> x}" STORE("y"),
        true, (Count[]){{"select(b, ", 1}, {"any", 0}, {NULL, 0}});
    expect("n",
           "k: i64 = load(is, 0i64, 1i64, i) b: bool = lt(0i64, k) "
           "y: i64 = if(b) {z: i64 = quot(7i64, k) -> z} {-> k} "
           "= store(is, y, 0i64, 1i64, i)",
           true, (Count[]){{"any(b)", 1}, {"select(b, k, 1i64)", 1}, {NULL, 0}});
    // What lanes add to one place they add at once: as many times as there are lanes
    // that do so. Of what each adds for itself, or elsewhere, this is not so.
    expect(
        "n", LOAD "b: bool = lt(x, 0f64) = if(b) {= atomic.add(is, n, 3i64) ->} {->}",
        false, (Count[]){{"= tally(b)", 1}, {"= mul(n, ", 1}, {"any", 0}, {NULL, 0}});
    expect("n", LOAD STORE("x") "= atomic.add(is, n, 3i64)", true,
           (Count[]){{"= mul(n, 4i64)", 1}, {"tally", 0}, {NULL, 0}});
    expect("n", "= atomic.add(is, i, 3i64)", true, NONE);
    expect("n", "= atomic.add(is, n, i)", true, NONE);
    // Loops: with one number of turns, with one for each lane, and until none is left.
    expect("n",
           LOAD
           "y: f64 = for(n, x) {|t: i64, s: f64| u: f64 = add(s, s) -> u}" STORE("y"),
           true, (Count[]){{"y: f64[16] = for(n, x)", 1}, {"while", 0}, {NULL, 0}});
    expect("64i64",
           LOAD
           "y: f64 = for(n, x) {|t: i64, s: f64| u: f64 = add(s, s) -> u}" STORE("y"),
           true, (Count[]){{"y: f64[16] = for(n, x)", 1}, {"for(n", 2}, {NULL, 0}});
    // Nor do several vectors wait if where they begin has to be found out.
    expect("n",
           "b: bool = lt(i, 5i64) k: i64 = if(b) {-> i} {-> 7i64} "
           "x: f64 = load(xs, 0i64, 1i64, k) "
           "y: f64 = for(n, x) {|t: i64, s: f64| u: f64 = add(s, s) -> u}" STORE("y"),
           true, (Count[]){{"y: f64[16] = for(n, x)", 1}, {NULL, 0}});
    expect("n",
           "k: i64 = load(is, 0i64, 1i64, i) "
           "y: i64 = for(k, 1i64) {|t: i64, s: i64| u: i64 = add(s, t) -> u} "
           "= store(is, y, 0i64, 1i64, i)",
           true, (Count[]){{"while", 1}, {"any", 1}, {"select", 1}, {NULL, 0}});
    expect("n",
           LOAD "y: f64 = while(x) {|s: f64| g: bool = lt(s, 9f64) -> g} "
                "{|t: f64| u: f64 = add(t, t) -> u}" STORE("y"),
           true, (Count[]){{"for.parallel[16](", 1}, {"any", 1}, {"lt", 2}, {NULL, 0}});
    // What lanes have in step has none, until they leave; what the guard asks of it is
    // asked once. What the guard has computed is there for the body.
    expect("16i64",
           LOAD "z: f64, y: i64 = while(x, 0i64) {|s: f64, k: i64| "
                "q: f64 = mul(s, s) g: bool = lt(q, 9f64) h: bool = lt(k, n) "
                "b: bool = and(g, h) -> b} "
                "{|t: f64, l: i64| r: f64 = mul(t, t) u: f64 = add(t, r) "
                "m: i64 = add(l, 1i64) -> u, m} = store(is, y, 0i64, 1i64, i)",
           true,
           (Count[]){{"f64[16] = mul", 1},
                     {": i64 = add(", 2},
                     {": bool = lt(", 3},
                     {": i64[16] = conv(", 1},
                     {": i64[16] = select(", 0},
                     {NULL, 0}});
    // Numbers of turns as floats are counted up.
    expect(
        "n", "k: i64 = add(i, 7i64) x: f64 = conv(k)" STORE("x"), false,
        (Count[]){{"for.parallel[4]", 1}, {"f64[4] = lanes(%1, 1i64)", 1}, {NULL, 0}});
    expect(
        "n", "k: i64 = mul(i, 3i64) y: f32 = conv(k) = store(ys, y, 0i64, 1i64, i)",
        false,
        (Count[]){{"for.parallel[8]", 1}, {"f32[8] = lanes(%1, 3i64)", 1}, {NULL, 0}});
    // A check gives up, unless something was stored before.
    expect("n", LOAD "b: bool = lt(x, 9f64) = check(b) \"large\"" STORE("x"), false,
           (Count[]){{"= sure(b)", 1}, {"check", 1}, {NULL, 0}});
    expect("n", LOAD "b: bool = lt(x, 9f64)" STORE("x") " = check(b) \"large\"", true,
           NONE);
    expect("n",
           LOAD "b: bool = lt(x, 9f64) = for(n) {|t: i64| = check(b) \"large\" " STORE(
               "x") " -> }",
           true, NONE);
    // What has no lanes.
    expect("n", "h: f16 = load(hs, 0i64, 1i64, i) = store(hs, h, 0i64, 1i64, i)", true,
           NONE);
    expect("n", "y: i64 = call[0](i) = store(is, y, 0i64, 1i64, i)", true, NONE);
    expect("n", LOAD "b: [f64] = alloc(2i64) = store(b, x, 0i64)", true, NONE);
}

int main(void) {
    test_text();
    test_verifier();
    test_outside();
    test_taken();
    test_apart();
    test_pass();
    test_kept();
    test_late();
    test_partial();
    test_waiting();
    test_chains();
    test_tiny_chains();
    test_columns();
    return test_done();
}
