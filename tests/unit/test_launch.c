// SPDX-License-Identifier: Apache-2.0
//
// What of kernels is launched, with what, on texts: tests/loop checks that plans of
// every program of the language's tests are sound.
#include <string.h>

#include "loop/launch.h"
#include "session.h"

static const char *name_of(Session *s, const LoopKernel *kernel, LoopRef ref) {
    return str_terminated(&s->arena,
                          sym_str(&s->cx.syms, kernel->values.data[ref].name));
}

// " | for i" for a loop with that index before which a team waits, " | store" ...
static void show_waits(Session *s, const LoopKernel *kernel, const LoopPlan *plan,
                       const LoopBody *body, StrBuf *out) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (loop_waits(plan, stm)) strbuf_printf(out, " | %s", loop_op_names[stm->op]);
        if (loop_waits(plan, stm) && stm->op == LOOP_FOR)
            strbuf_printf(out, " %s", name_of(s, kernel, stm->bodies[0]->params[0]));
        for (uint32_t k = 0; k < stm->body_count; k++)
            show_waits(s, kernel, plan, stm->bodies[k], out);
    }
}

// "0: parallel(n) xs=l r=s" or "1: 3 xs=ls n -> x y private", that being 3 statements;
// "2: parallel n team(a)", a being shared by a team.
static void show_launch(Session *s, const LoopKernel *kernel, const LoopPlan *plan,
                        const LoopLaunch *launch, StrBuf *out) {
    strbuf_printf(out, launch->is_parallel ? "%u: parallel" : "%u: %u", launch->number,
                  launch->count);
    const LoopValue *inner = &kernel->values.data[launch->inner];
    if (launch->inner != 0 && inner->is_const)
        strbuf_printf(out, "(%llu)", (unsigned long long)inner->bits);
    else if (launch->inner != 0)
        strbuf_printf(out, "(%s)", name_of(s, kernel, launch->inner));
    for (uint32_t i = 0; i < launch->in_count; i++) {
        static const char *const uses[] = {"", "=l", "=s", "=ls", "=j"};
        strbuf_printf(out, " %s%s", name_of(s, kernel, launch->ins[i]),
                      uses[launch->uses[i]]);
    }
    for (uint32_t i = 0; i < launch->out_count; i++)
        strbuf_printf(out, "%s %s", i == 0 ? " ->" : "",
                      name_of(s, kernel, launch->outs[i]));
    if (launch->has_private) strbuf_cstr(out, " private");
    if (launch->has_team) strbuf_cstr(out, " team(");
    for (uint32_t i = 0; i < launch->shared_count; i++)
        strbuf_printf(out, i == 0 ? "%s" : " %s",
                      name_of(s, kernel, launch->shared[i]->outs[0]));
    if (launch->has_team) {
        LoopBody body = loop_launch_body(launch);
        strbuf_char(out, ')');
        show_waits(s, kernel, plan, &body, out);
    }
    strbuf_char(out, '\n');
}

// Returns how many launches are sure.
static uint32_t plan_text(const char *text, const char *expected) {
    uint32_t sure = 0;
    Session s;
    start(&s, "entry main() -> () { -> }");
    Source *source = sources_add(&s.cx.sources, STR("test.loop"), str_of(text), false);
    LoopKernel *kernel = loop_read(&s.cx, &s.arena, s.program, source);
    StrBuf faults = strbuf(&s.arena), shown = strbuf(&s.arena);
    bool is_sound = kernel != NULL && loop_verify(kernel, &faults);
    CHECK(is_sound);
    if (!is_sound)
        printf("%s\n%.*s%.*s\n", text, STR_ARG(strbuf_done(&faults)),
               STR_ARG(kernel == NULL ? s.cx.diags.data[0]->message : STR("")));
    if (is_sound) {
        LoopPlan plan;
        loop_plan(kernel, &s.arena, &plan);
        for (uint32_t i = 0; i < plan.count; i++) {
            const LoopLaunch *launch = &plan.launches[i];
            CHECK(launch->number == i);
            sure += launch->is_sure;
            CHECK(loop_launch_at(&plan, launch->body->stms.data[launch->first]) ==
                  launch);
            show_launch(&s, kernel, &plan, launch, &shown);
        }
        bool ok = str_eq(strbuf_done(&shown), str_of(expected));
        CHECK(ok);
        if (!ok) printf("%s\n  gave\n%.*s", text, STR_ARG(strbuf_done(&shown)));
    }
    stop(&s);
    return sure;
}

// ---- parallel loops -----------------------------------------------------------------

#define ROWS(before, order, count)                                                     \
    "kernel \"rows\" ([][]f32) -> ([][]f32) {|xs: [f32], n: i64, m: i64|\n"            \
    "r: [f32] = result[0](n, m)\n"                                                     \
    "= for.parallel(n) {|i: i64|\n" before "= for" order "(" count ") {|j: i64|\n"     \
    "x: f32 = load(xs, 0i64, m, i, 1i64, j)\n"                                         \
    "= store(r, x, 0i64, m, i, 1i64, j)\n"                                             \
    "->} ->} -> r, n, m}"

static void test_parallel(void) {
    plan_text(ROWS("", ".independent", "m"), "0: parallel(m) m xs=l r=s\n");
    plan_text(ROWS("", ".independent", "3i64"), "0: parallel(3) xs=l m r=s\n");
    CHECK(plan_text(ROWS("", "", "m"), "0: parallel m xs=l r=s\n") == 1);
    // What comes before the inner loop is done for each of its turns.
    plan_text(ROWS("k: i64 = mul(m, i) y: f32 = load(xs, k)", ".independent", "m"),
              "0: parallel(m) m xs=l r=s\n");
    plan_text(ROWS("c: bool = lt(i, m) y: f32 = if(c) {-> 0f32} {-> 1f32}",
                   ".independent", "m"),
              "0: parallel(m) m xs=l r=s\n");
    plan_text(ROWS("c: bool = lt(i, m) y: f32 = if(c) {z: f32 = load(r, i) -> z} "
                   "{-> 1f32}",
                   ".independent", "m"),
              "0: parallel m r=ls xs=l\n");
    plan_text(ROWS("y: f32 = load(r, i)", ".independent", "m"),
              "0: parallel r=ls m xs=l\n");
    plan_text(ROWS("= store(r, 1f32, i)", ".independent", "m"),
              "0: parallel r=s m xs=l\n");
    CHECK(plan_text(ROWS("c: bool = lt(i, m) = check(c) \"no\"", ".independent", "m"),
                    "0: parallel m xs=l r=s\n") == 0);
    // What joins a place may not run twice.
    plan_text("kernel \"join\" (owned []i32) -> ([]i32) {|a: [i32], n: i64|\n"
              "= for.parallel(n) {|i: i64| = atomic.add(a, 1i32, 0i64) ->}\n"
              "-> a, n}",
              "0: parallel a=j\n");
    plan_text(ROWS("k: i64 = mul(m, i)", ".independent", "k"),
              "0: parallel m xs=l r=s\n");
}

// ---- runs of statements -------------------------------------------------------------

static void test_runs(void) {
    // Scalars around a run are the host's, those within are not.
    plan_text("kernel \"run\" ([]f64) -> (f64, i64) {|xs: [f64], n: i64|\n"
              "k: i64 = sub(n, 1i64)\n"
              "x: f64 = load(xs, k)\n"
              "y: f64 = mul(x, x)\n"
              "c: bool = lt(y, x)\n"
              "= check(c, y) \"%0\"\n"
              "z: f64 = load(xs, 0i64)\n"
              "w: f64 = add(z, y)\n"
              "-> w, k}",
              "0: 5 xs=l k -> y z\n");
    // Memory of root code and results are the host's.
    plan_text("kernel \"memory\" ([]f64) -> ([]f64) {|xs: [f64], n: i64|\n"
              "m: mark = mark\n"
              "t: [f64] = data [1, 2, 3]\n"
              "x: f64 = load(t, 1i64)\n"
              "a: [f64] = alloc(n)\n"
              "= store(a, x, 0i64)\n"
              "r: [f64] = result[0](n)\n"
              "y: f64 = load(a, 0i64)\n"
              "= store(r, y, 0i64)\n"
              "= keep(m)\n"
              "-> r, n}",
              "0: 1 t=l -> x\n1: 1 a=s x\n2: 2 a=l r=s\n");
    plan_text("kernel \"scalars\" (i64) -> (i64) {|n: i64|\n"
              "c: bool = lt(n, 0i64)\n"
              "k: i64 = if(c) {l: i64 = neg(n) -> l} {-> n}\n"
              "= check(c) \"no\"\n"
              "-> k}",
              "");
    // Loops turn on the device even if they touch nothing.
    plan_text("kernel \"turns\" (i64) -> (i64) {|n: i64|\n"
              "k: i64 = for(n, 0i64) {|i: i64, s: i64| t: i64 = add(s, i) -> t}\n"
              "-> k}",
              "0: 1 n -> k\n");
}

static void test_control(void) {
    // Around parallel loops, results and buffers that are handed on walks the host.
    plan_text("kernel \"if\" (i64, bool) -> ([]i64) {|n: i64, c: bool|\n"
              "r: [i64] = if(c) {\n"
              "  a: [i64] = result[0](n)\n"
              "  = for.parallel(n) {|i: i64| = store(a, n, 0i64, 1i64, i) ->}\n"
              "  -> a\n"
              "} {\n"
              "  b: [i64] = result[0](n)\n"
              "  = for(n) {|k: i64| = store(b, k, 0i64, 1i64, k) ->}\n"
              "  -> b\n"
              "} -> r, n}",
              "0: parallel a=s n\n1: 1 n b=s\n");
    plan_text("kernel \"while\" (owned []i64) -> ([]i64) {|a: [i64], n: i64|\n"
              "k: i64 = while(0i64) {|s: i64|\n"
              "  x: i64 = load(a, 0i64)\n"
              "  c: bool = lt(x, s)\n"
              "  -> c\n"
              "} {|t: i64|\n"
              "  = for.parallel(n) {|i: i64| = store(a, t, 0i64, 1i64, i) ->}\n"
              "  u: i64 = add(t, 1i64)\n"
              "  -> u\n"
              "} -> a, n}",
              "0: 1 a=l -> x\n1: parallel a=s t\n");
    // Two buffers that change places: each launch sees which is which.
    plan_text("kernel \"swap\" (owned []i64) -> ([]i64) {|a: [i64], n: i64|\n"
              "b: [i64] = alloc(n)\n"
              "c: [i64], d: [i64] = for(9i64, a, b) {|k: i64, e: [i64], f: [i64]|\n"
              "  = for.parallel(n) {|i: i64|\n"
              "    x: i64 = load(e, 0i64, 1i64, i)\n"
              "    = store(f, x, 0i64, 1i64, i)\n"
              "    ->\n"
              "  } -> f, e\n"
              "} -> a, n}",
              "0: parallel e=l f=s\n");
    // A sequential loop and all in it are one launch.
    plan_text("kernel \"for\" (owned []i64) -> ([]i64) {|a: [i64], n: i64|\n"
              "= for(n) {|i: i64|\n"
              "  m: mark = mark\n"
              "  b: [i64] = alloc(n)\n"
              "  x: i64 = load(a, i)\n"
              "  = store(b, x, 0i64)\n"
              "  = keep(m)\n"
              "  ->\n"
              "} -> a, n}",
              "0: 1 n a=l private\n");
    // Unless it frees memory of others.
    plan_text("kernel \"marks\" (bool, []i64) -> () {|c: bool, a: [i64], n: i64|\n"
              "m: mark = mark\n"
              "= if(c) {x: i64 = load(a, 0i64) = keep(m) ->} {->}\n"
              "->}",
              "0: 1 a=l\n");
}

// ---- buffers ------------------------------------------------------------------------

static void test_buffers(void) {
    // A buffer may be one of several.
    plan_text("kernel \"which\" (bool, owned []i8, []i8) -> ([]i8)\n"
              "{|c: bool, a: [i8], n: i64, b: [i8], k: i64|\n"
              "= for.parallel(n) {|i: i64|\n"
              "  d: [i8] = if(c) {-> a} {-> b}\n"
              "  x: i8 = load(d, i)\n"
              "  m: mark = mark\n"
              "  e: [i8] = alloc(n)\n"
              "  f: [i8] = for(n, e) {|j: i64, g: [i8]| = store(g, x, j) -> g}\n"
              "  h: [i8] = keep(m, f)\n"
              "  y: i8 = load(h, 0i64)\n"
              "  = store(a, y, i)\n"
              "  ->\n"
              "} -> a, n}",
              "0: parallel c a=ls b=ls n private\n");
    // Few elements need no arena, unless they are handed on.
    plan_text("kernel \"local\" (i64) -> () {|n: i64|\n"
              "= for.parallel(n) {|i: i64|\n"
              "  a: [f64] = alloc(64i64)\n"
              "  = store(a, 1f64, i)\n"
              "  -> } ->}",
              "0: parallel\n");
    plan_text("kernel \"many\" (i64) -> () {|n: i64|\n"
              "= for.parallel(n) {|i: i64|\n"
              "  a: [f64] = alloc(1025i64)\n"
              "  = store(a, 1f64, i)\n"
              "  -> } ->}",
              "0: parallel private\n");
    // A turn may have a tile, a loop within it has not.
    plan_text("kernel \"tile\" (i64) -> () {|n: i64|\n"
              "= for.parallel(n) {|i: i64|\n"
              "  a: [f64] = alloc(1024i64)\n"
              "  = store(a, 1f64, i)\n"
              "  -> } ->}",
              "0: parallel\n");
    plan_text("kernel \"inner\" (i64) -> () {|n: i64|\n"
              "= for.parallel(n) {|i: i64|\n"
              "  = for(n) {|k: i64|\n"
              "    a: [f64] = alloc(65i64)\n"
              "    = store(a, 1f64, i)\n"
              "    ->}\n"
              "  -> } ->}",
              "0: parallel n private\n");
    plan_text("kernel \"passed\" (i64) -> () {|n: i64|\n"
              "= for.parallel(n) {|i: i64|\n"
              "  m: mark = mark\n"
              "  a: [f64] = alloc(2i64)\n"
              "  = store(a, 1f64, i)\n"
              "  b: [f64] = keep(m, a)\n"
              "  -> } ->}",
              "0: parallel private\n");
    // There is room for so many.
    Mem mem = {0};
    Arena arena;
    arena_init(&arena, &mem);
    StrBuf text = strbuf(&arena);
    strbuf_cstr(&text, "kernel \"room\" (i64) -> () {|n: i64|\n");
    for (int loop = 0; loop < 2; loop++) {
        strbuf_printf(&text, "= for.parallel(n) {|i%d: i64|\n", loop);
        for (int i = 0; i < LAUNCH_LOCAL_BYTES / 512 + loop; i++)
            strbuf_printf(&text, "a%d_%d: [u64] = alloc(64i64)\n", loop, i);
        strbuf_cstr(&text, "->}\n");
    }
    strbuf_cstr(&text, "->}");
    plan_text(str_terminated(&arena, strbuf_done(&text)),
              "0: parallel\n1: parallel private\n");
    arena_free(&arena);
}

// ---- teams --------------------------------------------------------------------------

#define TURNS(body)                                                                    \
    "kernel \"team\" (i64, []f32, owned []f32, owned []f64) -> ([]f32, []f64)\n"       \
    "{|n: i64, xs: [f32], m: i64, r: [f32], k: i64, q: [f64], l: i64|\n"               \
    "= for.parallel(n) {|i: i64|\n" body "->} -> r, k, q, l}"
#define LANES "a: [f32] = alloc(32i64)\n"
#define FILL  "= for.independent(32i64) {|f: i64| = store(a, 1f32, 0i64, 1i64, f) ->}\n"
#define OWN(loop, buffer)                                                              \
    "= for.independent(32i64) {|" loop ": i64|\n"                                      \
    "x" loop ": f32 = load(" buffer ", 0i64, 1i64, " loop ")\n"                        \
    "= store(" buffer ", x" loop ", 0i64, 1i64, " loop ") ->}\n"
#define OTHERS(loop)                                                                   \
    "= for.independent(16i64) {|" loop ": i64|\n"                                      \
    "x" loop ": f32 = load(a, 16i64, 1i64, " loop ")\n"                                \
    "= store(a, x" loop ", 0i64, 1i64, " loop ") ->}\n"
#define TOTAL "t: f32 = load(a, 0i64) = store(r, t, 0i64, 1i64, i)\n"

static void test_teams(void) {
    // Each item its own place: nothing to wait for. Then others'.
    plan_text(TURNS(LANES FILL "= for(m) {|j: i64|\n" OWN("g", "a") "->}\n" OTHERS("h")
                        TOTAL),
              "0: parallel m r=s team(a) | for h | load\n");
    // Around a sequential loop, so does what a turn before did.
    plan_text(
        TURNS(LANES FILL "= for(m) {|j: i64|\n" OWN("g", "a") OTHERS("h") "->}\n"),
        "0: parallel m team(a) | for g | for h\n");
    plan_text(TURNS(LANES FILL "w: i64 = while(16i64) {|u: i64|\n"
                               "v: f32 = load(a, 0i64) c: bool = lt(v, 2f32) -> c}\n"
                               "{|d: i64|\n" OWN("g", "a") "-> d}\n"),
              "0: parallel team(a) | load | for g\n");
    // Two buffers of one type may be one; here the store is one item's.
    plan_text(TURNS(LANES "= for.independent(32i64) {|f: i64|\n"
                          "x: f32 = load(xs, 0i64, 2i64, f)\n"
                          "= store(a, x, 0i64, 1i64, f) ->}\n"
                          "= store(r, 1f32, i) = store(q, 1f64, i)\n"),
              "0: parallel xs=l r=s q=s team(a) | store\n");
    // A tile that is filled by all, and read by one.
    plan_text(TURNS("a: [f32] = alloc(544i64)\n"
                    "= for.independent(512i64) {|f: i64|\n"
                    "= store(a, 1f32, 0i64, 1i64, f) ->}\n"
                    "= for.independent(1i64) {|g: i64|\n"
                    "= for(512i64) {|h: i64| x: f32 = load(a, h)\n"
                    "= store(r, x, h) ->} ->}\n"),
              "0: parallel r=s team(a) | for g\n");
    // Whether a turn failed the items agree on, for which they wait.
    plan_text(TURNS(LANES "= for.independent(32i64) {|f: i64|\n"
                          "c: bool = lt(f, m) = check(c) \"no\"\n"
                          "= store(a, 1f32, 0i64, 1i64, f) ->}\n" OTHERS("h")),
              "0: parallel m team(a)\n");
    // The turns of two short loops are one's.
    plan_text(TURNS(LANES FILL "= for.independent(4i64) {|j: i64|\n"
                               "= for.independent(8i64) {|k2: i64|\n"
                               "= store(a, 2f32, 0i64, 8i64, j, 1i64, k2) ->} ->}\n"),
              "0: parallel team(a) | for j\n");
}

static void test_no_teams(void) {
    // Too few turns at once.
    plan_text(TURNS("= for.independent(8i64) {|f: i64| = store(r, 1f32, f) ->}\n"
                    "= store(q, 1f64, i)\n"),
              "0: parallel r=s q=s\n");
    // Items would all do the same.
    plan_text(TURNS(LANES FILL "= for(m) {|j: i64| = store(r, 1f32, j) ->}\n"),
              "0: parallel m r=s\n");
    // Memory that is not shared.
    plan_text(TURNS("b: [f32] = alloc(m)\n"
                    "= for.independent(32i64) {|f: i64| = store(b, 1f32, f) ->}\n"
                    "= store(q, 1f64, i)\n"),
              "0: parallel m q=s private\n");
    // Places that a turn would find changed, were it run again for its first error.
    plan_text(TURNS(LANES "= for.independent(32i64) {|f: i64|\n"
                          "c: bool = lt(f, m) = check(c) \"no\"\n"
                          "= store(a, 1f32, 0i64, 1i64, f) ->}\n"
                          "x: f32 = load(r, i) = store(r, x, i)\n"),
              "0: parallel m r=ls\n");
    // Something to wait for in a branch.
    plan_text(TURNS(LANES "c: bool = lt(i, m)\n"
                          "= if(c) {\n" FILL "->} {->}\n" OTHERS("h")),
              "0: parallel m\n");
    // An index of few bits.
    plan_text(TURNS(LANES "= for.independent(32i8) {|f: i8| = store(a, 1f32, i) ->}\n"),
              "0: parallel\n");
}

// ---- functions ----------------------------------------------------------------------

static void test_calls(void) {
    static const char head[] = "function \"sum\" {|a: [i32], b: [i32]|\n"
                               "  x: i32 = load(a, 0i64)\n"
                               "  = store(b, x, 0i64)\n"
                               "  -> x\n"
                               "}\n"
                               "function \"pick\" {|c: [i32], d: [i32], n: i64|\n"
                               "  y: i32 = call[0](c, d)\n"
                               "  e: [i32] = alloc(n)\n"
                               "  = store(e, y, 0i64)\n"
                               "  z: i32 = load(e, 0i64)\n"
                               "  -> e, c, z\n"
                               "}\n";
    Mem mem = {0};
    Arena arena;
    arena_init(&arena, &mem);
    StrBuf text = strbuf(&arena);
    strbuf_printf(&text,
                  "%skernel \"calls\" (owned []i32, owned []i32) -> (i32)\n"
                  "{|p: [i32], k: i64, q: [i32], l: i64|\n"
                  "u: i32 = call[0](p, q)\n"
                  "f: [i32], g: [i32], w: i32 = call[1](q, p, k)\n"
                  "v: i32 = load(f, 0i64)\n"
                  "= for.parallel(k) {|i: i64|\n"
                  "  r: [i32], s: [i32], t: i32 = call[1](p, q, i)\n"
                  "  = store(s, t, 0i64)\n"
                  "  ->\n"
                  "} -> u}",
                  head);
    // The host calls pick, of whose body it launches parts.
    plan_text(str_terminated(&arena, strbuf_done(&text)),
              "0: 1 p=l q=s -> u\n1: 1 c=l d=s -> y\n2: 2 e=ls y -> z\n3: 1 f=l\n"
              "4: parallel p=ls q=s private\n");
    arena_free(&arena);
}

int main(void) {
    if (setjmp(test_recover) != 0) {
        printf("out of memory\n");
        return 1;
    }
    test_parallel();
    test_runs();
    test_control();
    test_buffers();
    test_teams();
    test_no_teams();
    test_calls();
    return test_done();
}
