// SPDX-License-Identifier: Apache-2.0
//
// Rules of fission applied by themselves, in many parts and at odd points; and the
// model checker, which must find wrong rules, say so in the fewest steps, and survive
// that memory runs out. The programs of tests/fission are for the command: weft model.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <string.h>

#include "base/cx.h"
#include "fission/cut.h"
#include "fission/flow.h"
#include "fission/model.h"
#include "fission/rules.h"
#include "fission/strategy.h"
#include "test.h"

typedef struct Bench {
    Mem mem;
    jmp_buf out_of_memory;
    Arena arena;
    RtHeap heap;
    Cx cx;
    CoreProgram *program;
    CoreFun *fun; // the last one
} Bench;

static void open_bench(Bench *b, const char *text) {
    memset(b, 0, sizeof *b);
    b->mem.recover = &b->out_of_memory;
    arena_init(&b->arena, &b->mem);
    rt_heap_init(&b->heap, &b->mem);
    cx_init(&b->cx, &b->arena);
    const Source *source =
        sources_add(&b->cx.sources, STR("case"), str_of(text), false);
    StrBuf faults = strbuf(&b->arena);
    b->program = core_read(&b->cx, &b->arena, source);
    CHECK(b->program != NULL && core_verify(b->program, &faults));
    if (b->program != NULL) b->fun = b->program->funs.data[b->program->funs.len - 1];
}

static void close_bench(Bench *b) {
    rt_heap_free(&b->heap);
    arena_free(&b->arena);
    CHECK(b->mem.used == 0);
}

static RtValue new_array(Bench *b, uint32_t rank, const int64_t *shape) {
    RtArray *a = rt_new(&b->heap, SCALAR_I32, rank, shape);
    if (a == NULL) mem_fail(&b->mem);
    for (int64_t i = 0; i < rt_count(a); i++)
        rt_store(SCALAR_I32, a->data + i * 4, (uint64_t)(i * i % 11 - 3) & UINT32_MAX);
    return (RtValue){.elem = SCALAR_I32, .rank = rank, .array = a};
}

// ---- any number of parts ------------------------------------------------------------

// What the function gives for n elements, or how it fails, as one number.
static uint64_t digest(Bench *b, int64_t n) {
    RtValue args[2], result = {0};
    for (uint32_t i = 0; i < b->fun->body->param_count; i++)
        args[i] = new_array(b, 1, &n);
    InterpError error = {0};
    InterpOptions options = {.heap = &b->heap, .arena = &b->arena};
    if (interp_run(b->program, b->fun, &options, args, &result, &error) != STATUS_OK)
        return str_hash(error.message);
    uint64_t hash = 1469598103934665603u ^ result.bits;
    if (result.rank == 0) return hash;
    result.array = rt_contiguous(&b->heap, result.array);
    for (int64_t i = 0; i < rt_count(result.array); i++) {
        const char *at = result.array->data + i * scalar_info[result.elem].bytes;
        hash = (hash ^ rt_load(result.elem, at)) * 1099511628211u;
    }
    hash += (uint64_t)rt_count(result.array);
    rt_release_value(&b->heap, &result);
    return hash;
}

// Applies each rule at each place of the last function, cut like that, to n elements.
static void check_cut(const char *text, FissionCut cut, int64_t n) {
    Bench b;
    open_bench(&b, text);
    uint64_t expected = digest(&b, n);
    CoreBody *whole = b.fun->body;
    FissionPlaces places = {0};
    fission_places(fission_new_facts(b.program), whole, fission_rules,
                   fission_rule_count, &b.arena, &places);
    CHECK(places.len > 0);
    for (uint32_t i = 0; i < places.len; i++) {
        StrBuf faults = strbuf(&b.arena);
        b.fun->body = fission_apply(b.program, whole, &places.data[i], cut);
        CHECK(core_verify(b.program, &faults));
        uint64_t found = digest(&b, n);
        CHECK(found == expected);
        if (found != expected)
            printf("rule %s, %u parts at %lld, of %lld elements, of\n%s\n",
                   places.data[i].rule->name, cut.parts, (long long)cut.at,
                   (long long)n, text);
    }
    close_bench(&b);
}

static const char *const programs[] = {
    "stage0 entry main(xs: []i32) -> ([]i32) {"
    " ys: []i32 = map[1](xs) {|x: i32| y: i32 = div(60i32, x) -> y} -> ys}",
    "stage0 entry main(xs: []i32, ys: []i32) -> (i32) {"
    " s: i32 = reduce.free[2](xs, ys, 7i32) {|a: i32, b: i32| c: i32 = add(a, b) -> c}"
    "  {|x: i32, y: i32| z: i32 = mul(x, y) -> z}"
    "  {|a: i32, x: i32, y: i32| z: i32 = mul(x, y) c: i32 = add(a, z) -> c} -> s}",
    "stage0 entry main(xs: []i32) -> ([]i32) {"
    " ys: []i32 = scan.free[1](xs, 9i32) {|a: i32, b: i32| c: i32 = max(a, b) -> c} -> "
    "ys}",
    "stage0 entry main(xs: []i32) -> ([]i64) {"
    " ys: []i32, ps: []i64 = sort(xs) -> ps}",
    "stage0 entry main(xs: []i32) -> ([]i32) {"
    " ys: []i32 = filter[1](xs) {|x: i32| c: bool = lt(1i32, x) -> c, x} -> ys}",
    "stage0 entry main(xs: []i32) -> (u8) {"
    " n: i64 = dim[0](xs) m: u8 = conv(n)"
    " r: u8 = for(m, 1u8) {|i: u8, s: u8| t: u8 = mul(s, 3u8) u: u8 = add(t, i) -> u}"
    " -> r}",
    "stage0 entry main(xs: []i32) -> ([][]i32) {"
    " n: i64 = dim[0](xs) ys: [][]i32 = generate[1](3i64, n) {|i: i64| f: i32 = conv(i)"
    "  s: []i32 = scan.free[1](xs, 9i32) {|a: i32, b: i32| c: i32 = mul(a, b) -> c}"
    "   {|x: i32| y: i32 = add(x, f) -> y} -> s} -> ys}",
    "stage0 entry main(xs: []i32) -> ([][]i32) {"
    " d: []i32 = replicate(4i64, 7i32) hs: [][]i32 = generate[1](3i64, 4i64) {|i: i64|"
    "  h: []i32 = hist.free[1, 1, 1](d, 0i32, xs) {|a: i32, b: i32| c: i32 = add(a, b) "
    "-> c} {|x: i32| j: i64 = conv(x) k: i64 = add(i, j) -> k, x} -> h} -> hs}",
    "stage0 entry main(xs: []i32) -> ([]f32) {"
    " n: i64 = dim[0](xs) fs: []f32 = iota(n, 0.5f32, 0.125f32) -> fs}",
};

static void test_parts(void) {
    static const int64_t lengths[] = {0, 1, 5, 64, 131};
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            for (uint32_t parts = 2; parts <= FISSION_MOST_PARTS; parts += 31)
                check_cut(programs[k], (FissionCut){.parts = parts, .at = -1},
                          lengths[i]);
            check_cut(programs[k], (FissionCut){.parts = 2, .at = INT64_MAX},
                      lengths[i]);
            check_cut(programs[k], (FissionCut){.parts = 2, .at = 0}, lengths[i]);
        }
}

// ---- wrong rules --------------------------------------------------------------------

static ModelResult explore(Bench *b, const FissionRule *rules, uint32_t count,
                           uint32_t depth) {
    static const int64_t shape[] = {3};
    RtValue args[2];
    ModelResult result;
    for (uint32_t i = 0; i < b->fun->body->param_count; i++)
        args[i] = new_array(b, 1, shape);
    ModelOptions options = {rules, count, depth, 10000, &b->heap, NULL};
    CHECK(model_check(b->program, b->fun, args, &options, &result) == STATUS_OK);
    for (uint32_t i = 0; i < b->fun->body->param_count; i++)
        rt_release_value(&b->heap, &args[i]);
    CHECK(b->heap.live == NULL);
    return result;
}

static const char zip[] =
    "stage0 entry main(xs: []i32, ys: []i32) -> ([]i32) {"
    " zs: []i32 = map[2](xs, ys) {|x: i32, y: i32| z: i32 = sub(x, y) -> z} -> zs}";

// The paper's slip: zipWith f x1 y1, zipWith f y1 y2.
static void part_slip(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreRef *args = fission_args(s);
    args[0] = fission_pieces(s, p == 0 ? 0 : 1, 0)[0];
    args[1] = fission_pieces(s, 1, 0)[p];
    results[0] = fission_again(s, args)->outs[0];
}

// A concatenation loses its last part, if it has several: wrong once something is
// split.
static void whole_loss(FissionSplit *s) {
    CoreType type = core_type(s->program, s->stm->outs[0]);
    CoreStm *stm =
        core_emit(s->b, OP_CONCAT, s->stm->args, s->stm->arg_count - 1, &type, 1);
    core_set_attrs(s->b, stm, s->stm->attrs, 1);
    fission_finish(s, stm);
}

static bool guard_loss(const FissionSplit *s) {
    return s->dim == 0 && s->stm->arg_count > 1;
}

static const FissionRule *find_rule(const char *name) {
    for (uint32_t i = 0; i < fission_rule_count; i++)
        if (strcmp(fission_rules[i].name, name) == 0) return &fission_rules[i];
    CHECK(false); // there is such a rule
    return NULL;
}

static int count_lines(Str text, const char *start) {
    int count = 0;
    for (size_t i = 0; i + strlen(start) <= text.len; i++)
        count += (i == 0 || text.ptr[i - 1] == '\n') &&
                 memcmp(text.ptr + i, start, strlen(start)) == 0;
    return count;
}

static void test_wrong_rules(void) {
    Bench b;
    FissionRule slip = {
        "slip",    "",  "", OP_MAP, JOIN_CONCAT, guard_zip, fission_feed_length,
        part_slip, NULL};
    open_bench(&b, zip);
    ModelResult result = explore(&b, &slip, 1, 2);
    // Cut at 0, the second part is zipped with nothing.
    CHECK(count_lines(result.counterexample, "  slip, dimension 0, at 0: ") == 1);
    CHECK(count_lines(result.counterexample, "  evaluate") == 0);
    CHECK(count_lines(result.counterexample, "expected [3]i32") == 1);
    CHECK(count_lines(result.counterexample, "found    error: arrays of unequal") == 1);
    close_bench(&b);

    FissionRule loss[] = {
        {"loss", "", "", OP_CONCAT, JOIN_OWN, guard_loss, NULL, NULL, whole_loss}, {0}};
    open_bench(&b, zip);
    loss[1] = *find_rule("zip");
    result = explore(&b, loss, 2, 3);
    CHECK(count_lines(result.counterexample, "  zip, dimension 0, at 0: ") == 1);
    CHECK(count_lines(result.counterexample, "  loss: ") == 1);
    CHECK(count_lines(result.counterexample, "  evaluate") == 0);
    CHECK(result.paths == 0 && !result.is_complete);
    close_bench(&b);
}

// What the rules leave is right; states and paths are counted, and do not go on for
// ever.
static void test_right_rules(void) {
    Bench b;
    open_bench(&b, zip);
    ModelResult none = explore(&b, fission_rules, fission_rule_count, 0);
    CHECK(none.states == 2 && none.paths == 1 && none.rules == 0 && none.is_complete);
    close_bench(&b);
    open_bench(&b, zip);
    ModelResult one = explore(&b, fission_rules, fission_rule_count, 1);
    // Cut at 0, 1, 2 and 3, in two halves and in three parts.
    CHECK(one.rules == 6 && one.counterexample.len == 0 && one.is_complete);
    // After the last rule one order is taken.
    CHECK(one.paths == 1 + 6);
    close_bench(&b);
    open_bench(&b, zip);
    ModelResult two = explore(&b, fission_rules, fission_rule_count, 2);
    CHECK(two.states > one.states && two.counterexample.len == 0 && two.is_complete);
    close_bench(&b);
}

static const char put[] = "stage0 entry main(a: []i32, xs: []i32) -> ([]i32) {"
                          " is: []i64 = map[1](xs) {|x: i32| i: i64 = conv(x) -> i}"
                          " b: []i32 = scatter[1](a, is, xs) -> b}";

// A scatter of nothing, once evaluated, leaves what there was before it was cut off:
// the same state, from which one rule less may be applied. Parts end in order. Of n
// values there are n + 3 cuts, so with one rule left two parts of a and b values end in
// 1 + (a + 3) + 2 * (b + 3) ways, three of one value in 1 + 4 + 2 * 4 + 3 * 4.
static void test_circles(void) {
    Bench b;
    open_bench(&b, put);
    ModelResult result = explore(&b, find_rule("scatter"), 1, 1);
    CHECK(result.paths == 1 + 6 && result.is_complete);
    close_bench(&b);
    open_bench(&b, put);
    result = explore(&b, find_rule("scatter"), 1, 2);
    CHECK(result.paths == 1 + (16 + 2 * 15 + 14 + 13) + 25 && result.is_complete);
    close_bench(&b);
}

// ---- memory -------------------------------------------------------------------------

// Explores while the k-th allocation fails; returns whether it did.
static bool fails_at(uint64_t k) {
    Bench b;
    open_bench(&b, zip);
    volatile bool has_failed = false;
    b.mem.fail_at = b.mem.calls + k;
    if (setjmp(b.out_of_memory) == 0) explore(&b, fission_rules, fission_rule_count, 1);
    else has_failed = true;
    b.mem.fail_at = 0;
    close_bench(&b);
    return has_failed;
}

static void test_memory(void) {
    uint64_t k = 1;
    while (k < 100000 && fails_at(k)) k += k < 100 ? 1 : 97;
    CHECK(k > 1000 && k < 100000);
}

// ---- runs ---------------------------------------------------------------------------

// The ends of all runs, the first in the highest digit.
static uint32_t ends_of_runs(const FissionOperator *ops, uint32_t count) {
    uint32_t ends = 0;
    for (uint32_t end = 0; end < count;) {
        end = fission_run(ops, end, count);
        ends = 10 * ends + end;
    }
    return ends;
}

static void test_runs(void) {
    FissionOperator even[] = {{0, 0, 10}, {1, 1, 100}, {3, 2, 20}, {4, 3, 300}};
    CHECK(ends_of_runs(even, 4) == 4);
    // Little beside much, before it, between and behind.
    FissionOperator little[] = {{0, 0, 10}, {1, 1, 1000}, {2, 2, 10}, {4, 3, 3000}};
    CHECK(ends_of_runs(little, 4) == 1234);
    FissionOperator edge[] = {{0, 0, 10}, {1, 1, 160}, {2, 2, 11}, {4, 3, 10}};
    CHECK(ends_of_runs(edge, 4) == 34);
    // Parts that one takes of another, also across others.
    FissionOperator chain[] = {{0, 1, 1}, {1, 1, 1000}, {2, 3, 1}, {4, 3, 3000}};
    CHECK(ends_of_runs(chain, 4) == 4);
    FissionOperator across[] = {
        {0, 3, 1}, {1, 1, 1000}, {2, 2, 1}, {4, 3, 1}, {5, 4, 9}};
    CHECK(ends_of_runs(across, 5) == 45);
    FissionOperator nested[] = {
        {0, 1, 1}, {1, 2, 1}, {2, 2, 99}, {3, 4, 9999}, {4, 4, 1}};
    CHECK(ends_of_runs(nested, 5) == 35);
    // Together two that are little are enough.
    FissionOperator sum[] = {{0, 0, 10}, {1, 1, 10}, {2, 2, 300}, {3, 3, 21}};
    CHECK(ends_of_runs(sum, 4) == 4);
}

// ---- least cuts ---------------------------------------------------------------------

enum { NODES = 7, EDGES = 12 };
typedef struct Network {
    uint32_t from[EDGES], to[EDGES];
    uint64_t capacity[EDGES];
} Network;

// What edges from that set of nodes to the others carry.
static uint64_t capacity_of(const Network *n, uint32_t set) {
    uint64_t sum = 0;
    for (uint32_t e = 0; e < EDGES; e++)
        if ((set >> n->from[e] & 1) != 0 && (set >> n->to[e] & 1) == 0)
            sum += n->capacity[e];
    return sum;
}

// What all sets of the least capacity have in common, with the source, without the
// sink.
static uint32_t least_set(const Network *n) {
    uint64_t least = UINT64_MAX;
    uint32_t common = 0;
    for (uint32_t set = 0; set < 1u << NODES; set++) {
        bool is_cut = (set >> FLOW_SOURCE & 1) != 0 && (set >> FLOW_SINK & 1) == 0;
        uint64_t capacity = capacity_of(n, set);
        if (!is_cut || capacity > least) continue;
        common = capacity < least ? set : common & set;
        least = capacity;
    }
    return common;
}

// Against all cuts there are, in networks with edges that are never cut, and with such
// that lead to where they begin.
static void test_flow(void) {
    uint64_t state = 1;
    Bench b;
    open_bench(&b, "stage0\nentry main(x: i32) -> (i32) {-> x}\n");
    for (uint32_t turn = 0; turn < 3000; turn++) {
        Network n;
        Flow flow;
        uint32_t found = 0;
        flow_init(&flow, &b.arena);
        while (flow.nodes.len < NODES) flow_node(&flow);
        for (uint32_t e = 0; e < EDGES; e++) {
            uint64_t bits = state = state * 6364136223846793005u + 1442695040888963407u;
            n.from[e] = (uint32_t)(bits >> 33) % NODES;
            n.to[e] = (uint32_t)(bits >> 43) % NODES;
            bool is_endless = bits >> 61 == 0 && n.from[e] != FLOW_SOURCE;
            n.capacity[e] = is_endless ? flow_endless / EDGES : bits >> 53 & 15;
            flow_edge(&flow, n.from[e], n.to[e],
                      is_endless ? flow_endless : n.capacity[e]);
        }
        const bool *is_reached = flow_cut(&flow);
        for (uint32_t i = 0; i < NODES; i++) found |= (uint32_t)is_reached[i] << i;
        CHECK(found == least_set(&n));
    }
    close_bench(&b);
}

// ---- programs that are cut ----------------------------------------------------------

// x looks at a before its index and at it, y at b behind it; z at a mirrored, which is
// not near.
static const char near_text[] =
    "stage0 entry main(a: []i32, b: []i32) -> ([]i32, []i32, []i32) {"
    " n: i64 = dim[0](a)"
    " m: i64 = dim[0](b)"
    " l: i64 = sub(n, 1i64)"
    " k: i64 = sub(m, 1i64)"
    " x: []i32 = generate[1](n) {|i: i64|"
    "  c: bool = eq(i, 0i64)"
    "  h: i64 = sub(i, 1i64)"
    "  j: i64 = if(c) {-> 0i64} {-> h}"
    "  s: i32 = index(a, j)"
    "  t: i32 = index(a, i)"
    "  u: i32 = sub(s, t)"
    "  -> u}"
    " y: []i32 = generate[1](m) {|i: i64|"
    "  h: i64 = add(i, 1i64)"
    "  j: i64 = min(h, k)"
    "  s: i32 = index(b, j)"
    "  -> s}"
    " z: []i32 = generate[1](n) {|i: i64|"
    "  j: i64 = sub(l, i)"
    "  s: i32 = index(a, j)"
    "  -> s}"
    " -> x, y, z}";

// What a generate looks at near its index is what the rule finds, is found once, and of
// each by itself; so is that there is nothing.
static void test_near(void) {
    Bench b;
    open_bench(&b, near_text);
    const CoreBody *body = b.fun->body;
    FissionLog log = {0};
    Map nears;
    map_init(&nears, &b.arena);
    Strategy y = {.program = b.program,
                  .facts = fission_new_facts(b.program),
                  .log = &log,
                  .nears = &nears};
    const CoreRefs *found[3];
    for (uint32_t i = 0; i < 3; i++) {
        FissionSplit s = cut_of(&y, body, 4 + i);
        CoreRefs looks = fission_near(&s);
        found[i] = cut_near(&y, &s);
        CHECK(found[i]->len == looks.len && looks.len == (i < 2 ? 1 : 0));
        if (i < 2) CHECK(found[i]->data[0] == body->params[i]);
    }
    for (uint32_t i = 0; i < 3; i++) {
        FissionSplit s = cut_of(&y, body, 4 + i);
        CHECK(cut_near(&y, &s) == found[i]);
    }
    close_bench(&b);
}

static uint32_t count(Str text, const char *word) {
    uint32_t found = 0;
    for (size_t i = 0; i + strlen(word) <= text.len; i++)
        found += memcmp(text.ptr + i, word, strlen(word)) == 0;
    return found;
}

// The program as two devices with memory of their own have it, all of it cut.
static Str print_cut(Bench *b) {
    FissionLog log = {0};
    FissionDevices devices = {.weights = (uint32_t[]){1, 1}, .count = 2};
    StrBuf text = strbuf(&b->arena), faults = strbuf(&b->arena);
    CHECK(fission_for_devices(b->program, &devices, 0, &log));
    CHECK(core_verify(b->program, &faults));
    core_print_fun(b->program, b->fun, &text);
    return (Str){text.data, text.len};
}

// Two generates of n elements and one of m: each size is cut once.
static void test_sizes(void) {
    Bench b;
    open_bench(&b, near_text);
    Str text = print_cut(&b);
    CHECK(count(text, "= quot(n, ") == 1 && count(text, "= quot(m, ") == 1);
    close_bench(&b);
}

// Of wholes that are taken in parts none stays, nor what is looked at, unchecked, and
// not wanted, nor a result of a branch that nobody asks for; but whatever may fail
// does.
static void test_sweep(void) {
    Bench b;
    open_bench(&b, "stage0 entry main(a: []i32, b: []i32) -> ([]i32) {"
                   " n: i64 = dim[0](a)"
                   " m: i64 = dim[0](b)"
                   " c: bool = eq(n, m)"
                   " o: bool = check(c, n, m) \"other lengths\""
                   " v: []i32 = map[1](b) {|x: i32| r: i32 = mul(x, 7i32) -> r}"
                   " w: []i32 = map[2](v, a) {|x: i32, y: i32|"
                   "  r: i32 = add(x, y)"
                   "  -> r}"
                   " -> w}");
    Str text = print_cut(&b);
    CHECK(count(text, "concat[") == 1);
    CHECK(count(text, "\"other lengths\"") == 1);
    close_bench(&b);
    // Two parts look at two arrays, each at its first element or at others.
    open_bench(&b, "stage0 entry main(a: []i32, b: []i32) -> ([]i32) {"
                   " n: i64 = dim[0](a)"
                   " m: i64 = dim[0](b)"
                   " c: bool = eq(n, m)"
                   " o: bool = check(c, n, m) \"other lengths\""
                   " d: []i32 = guard(b, o)"
                   " x: []i32 = generate[1](n) {|i: i64|"
                   "  h: i64 = sub(i, 1i64)"
                   "  k: i64 = max(h, 0i64)"
                   "  s: i32 = index(a, k)"
                   "  t: i32 = index(d, k)"
                   "  v: i32 = unsafe index(d, i)"
                   "  u: i32 = sub(s, t)"
                   "  -> u}"
                   " -> x}");
    text = print_cut(&b);
    CHECK(count(text, "unsafe index(") == 2 * 2 * 2);
    close_bench(&b);
    open_bench(&b, "stage0 entry main(a: []i32) -> (i32) {"
                   " s: i32, t: i32 = reduce.outer_runs[1, 0](a, 0i32, 0i32)"
                   " {|p: i32, q: i32, r: i32, u: i32|"
                   "  e: i32 = max(p, r)"
                   "  f: i32 = add(q, e)"
                   "  -> e, f}"
                   " {|x: i32| -> x, x}"
                   " -> t}");
    text = print_cut(&b);
    CHECK(count(text, ": i32, t") == 1); // the whole, which is one fold
    close_bench(&b);
}

int main(void) {
    test_runs();
    test_flow();
    test_parts();
    test_wrong_rules();
    test_right_rules();
    test_circles();
    test_memory();
    test_near();
    test_sizes();
    test_sweep();
    return test_done();
}
