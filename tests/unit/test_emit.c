// SPDX-License-Identifier: Apache-2.0
//
// The emitter's scalar operators: every operator on every type it takes, alone and in
// lanes, compiled by the system's compiler and compared with core_eval on special and
// random values.
#define _POSIX_C_SOURCE 200809L
#include "abi/kernel.h"

#include <stdlib.h>

#include "dev/native.h"
#include "emit/emit.h"
#include "operators.h"

static Operator operators[MOST_OPERATORS];
static LoopKernel *kernels[MOST_OPERATORS];

static LoopRef add_value(LoopKernel *kernel, ScalarType type) {
    LoopValue value = {.type = {.kind = LOOP_IS_SCALAR, .elem = (uint8_t)type}};
    vec_push(kernel->arena, &kernel->values, value);
    return kernel->values.len - 1;
}

// A kernel that applies one operator to its params.
static LoopKernel *make_kernel(const CoreProgram *core, Arena *arena, Operator c) {
    LoopKernel *kernel = arena_new(arena, LoopKernel);
    kernel->arena = arena;
    kernel->core = core;
    uint32_t operands = core_op_operands(c.op);
    add_value(kernel, SCALAR_BOOL);
    LoopBody *root = arena_new(arena, LoopBody);
    root->params = arena_array(arena, LoopRef, operands);
    root->param_count = operands;
    for (uint32_t i = 0; i < operands; i++) root->params[i] = add_value(kernel, c.in);
    LoopStm *stm = arena_new(arena, LoopStm);
    stm->op = LOOP_SCALAR;
    stm->scalar = c.op;
    stm->args = root->params;
    stm->arg_count = operands;
    stm->outs = arena_array(arena, LoopRef, 1);
    stm->outs[0] = add_value(kernel, c.to);
    stm->out_count = 1;
    vec_push(arena, &root->stms, stm);
    root->results = stm->outs;
    root->result_count = 1;
    kernel->root = root;
    return kernel;
}

static void compare(Operator o, Kernel *run, const uint64_t *args) {
    KernelEnv env = {0};
    uint64_t found = 0, unused;
    if (core_eval(o.op, o.in, o.to, args, &unused) != FAULT_NONE) return;
    run(&env, args, &found);
    check_operator(o, args, found);
}

static void compare_all(Operator o, Kernel *run) {
    uint64_t values[MOST_VALUES], args[3];
    uint32_t count = make_values(o.in, values), operands = core_op_operands(o.op);
    for (uint32_t i = 0; i < count; i++) {
        args[0] = values[i];
        args[1] = args[2] = 0;
        if (operands == 1) compare(o, run, args);
        for (uint32_t k = 0; k < count && operands > 1; k++) {
            args[1] = values[k];
            args[2] = operands == 3 ? values[next_random() % count] : 0;
            compare(o, run, args);
        }
    }
}

// ---- in lanes -----------------------------------------------------------------------

// What an operator is tried on: elements 0 to below `count`, a multiple of 32.
enum { MOST_TRIALS = (MOST_VALUES * MOST_VALUES + 32) };
static uint64_t trials[3][MOST_TRIALS];

static LoopKernel *read_kernel(Cx *cx, const CoreProgram *core, Arena *arena,
                               StrBuf *text) {
    Source *source = sources_add(&cx->sources, STR("lanes"), strbuf_done(text), false);
    LoopKernel *kernel = loop_read(cx, arena, core, source);
    StrBuf faults = strbuf(arena);
    bool is_sound = kernel != NULL && loop_verify(kernel, &faults);
    CHECK(is_sound);
    if (!is_sound)
        printf("%.*s\n%.*s\n", STR_ARG(source->text), STR_ARG(strbuf_done(&faults)));
    return kernel;
}

// A kernel that applies it to arrays in vector turns, other turns being none.
static LoopKernel *make_vector_kernel(Cx *cx, const CoreProgram *core, Arena *arena,
                                      Operator o, unsigned lanes) {
    uint32_t operands = core_op_operands(o.op);
    const char *in = scalar_info[o.in].name, *to = scalar_info[o.to].name;
    StrBuf text = strbuf(arena);
    strbuf_cstr(&text, "kernel \"k\" (");
    for (uint32_t i = 0; i < operands; i++) strbuf_printf(&text, "[]%s, ", in);
    strbuf_printf(&text, "owned []%s) -> () {|", to);
    for (uint32_t i = 0; i < operands; i++)
        strbuf_printf(&text, "x%u: [%s], n%u: i64, ", i, in, i);
    strbuf_printf(&text, "r: [%s], n: i64|\n", to);
    strbuf_printf(&text, "= for.independent[%u](n) {|i: i64|\n", lanes);
    for (uint32_t i = 0; i < operands; i++)
        strbuf_printf(&text, "a%u: %s[%u] = load(x%u, 0i64, 1i64, i)\n", i, in, lanes,
                      i);
    strbuf_printf(&text, "y: %s[%u] = %s(", to, lanes, core_op_info[o.op].name);
    for (uint32_t i = 0; i < operands; i++)
        strbuf_printf(&text, i == 0 ? "a%u" : ", a%u", i);
    strbuf_cstr(&text, ")\n= store(r, y, 0i64, 1i64, i) -> } {|k: i64| -> } -> }");
    return read_kernel(cx, core, arena, &text);
}

// Every pair of values; where the operator would fail, 1 in place of the second. Values
// of operators that take one come often, since not all vectors go the same way.
static uint32_t make_trials(Operator o) {
    uint64_t values[MOST_VALUES], unused;
    uint32_t n = make_values(o.in, values), operands = core_op_operands(o.op);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            uint64_t any = values[next_random() % n];
            uint64_t args[3] = {operands == 1 && k > 0 ? any : values[i], values[k],
                                any};
            if (core_eval(o.op, o.in, o.to, args, &unused) != FAULT_NONE) args[1] = 1;
            for (int a = 0; a < 3; a++) trials[a][count] = args[a];
            count++;
        }
    for (; count % 32 != 0; count++)
        for (int a = 0; a < 3; a++) trials[a][count] = trials[a][0];
    return count;
}

static void compare_lanes(Operator o, Kernel *run) {
    static uint64_t arrays[4][MOST_TRIALS];
    uint32_t count = make_trials(o), operands = core_op_operands(o.op);
    size_t bytes = scalar_info[o.in].bytes, to_bytes = scalar_info[o.to].bytes;
    uint64_t in[8], nothing[1];
    KernelEnv env = {0};
    for (uint32_t a = 0; a <= operands; a++) {
        for (uint32_t i = 0; i < count && a < operands; i++)
            memcpy((char *)arrays[a] + i * bytes, &trials[a][i], bytes);
        in[2 * a] = (uint64_t)(uintptr_t)arrays[a];
        in[2 * a + 1] = count;
    }
    run(&env, in, nothing);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t found = 0;
        memcpy(&found, (char *)arrays[operands] + i * to_bytes, to_bytes);
        uint64_t args[3] = {trials[0][i], trials[1][i], trials[2][i]};
        check_operator(o, args, found);
    }
}

// Builds kernels; NULL: that failed.
static void *build_kernels(Arena *arena, const NativeCompiler *compiler,
                           uint32_t count) {
    StrBuf text = strbuf(arena);
    EmitChecks *checks = arena_array(arena, EmitChecks, count);
    emit_kernels(&emit_c, kernels, count, false, &(Arena){.mem = arena->mem}, &text,
                 checks);
    NativeBuild build = {.compiler = compiler,
                         .source = strbuf_done(&text),
                         .arena = arena,
                         .no_cache = getenv("TEST_CACHE") == NULL};
    Status status = native_build(&build, NULL);
    CHECK(status == STATUS_OK);
    if (status != STATUS_OK) printf("%.*s\n", STR_ARG(build.why));
    return status == STATUS_OK ? build.library : NULL;
}

static Kernel *find_kernel(void *library, uint32_t number) {
    char name[32];
    snprintf(name, sizeof name, "weft_kernel_%u", number);
    Kernel *run = (Kernel *)(uintptr_t)native_symbol(library, name);
    CHECK(run != NULL);
    return run;
}

static void test_lanes(Cx *cx, const CoreProgram *core, Arena *arena,
                       const NativeCompiler *compiler, uint32_t count, unsigned lanes) {
    for (uint32_t i = 0; i < count; i++)
        kernels[i] = make_vector_kernel(cx, core, arena, operators[i], lanes);
    void *library = build_kernels(arena, compiler, count);
    for (uint32_t i = 0; i < count && library != NULL; i++) {
        Kernel *run = find_kernel(library, i);
        if (run != NULL) compare_lanes(operators[i], run);
    }
    native_unload(library);
}

// ---- masks --------------------------------------------------------------------------

// Copies x to r in the lanes of a mask, one after the other or back to front.
static LoopKernel *make_masked_kernel(Cx *cx, const CoreProgram *core, Arena *arena,
                                      ScalarType type, bool reverse) {
    const char *name = scalar_info[type].name;
    const char *place = reverse ? "39i64, -1i64, k" : "0i64, 1i64, i";
    StrBuf text = strbuf(arena);
    strbuf_printf(
        &text,
        "kernel \"k\" ([]bool, []%s, owned []%s) -> () {|m: [bool], nm: i64, "
        "x: [%s], nx: i64, r: [%s], n: i64| "
        "= for.independent[8](n) {|i: i64| c: bool[8] = load(m, 0i64, 1i64, i) "
        "l: i64[8] = lanes k: i64[8] = add(l, i) "
        "a: %s[8] = loadif(c, x, %s) = storeif(c, r, a, %s) -> } "
        "{|j: i64| -> } -> }",
        name, name, name, name, name, place, place);
    return read_kernel(cx, core, arena, &text);
}

// Elements whose mask is off do not exist, or stay. The second eight are all on.
static void compare_masked(Kernel *run, ScalarType type, bool reverse) {
    enum { COUNT = 40 };
    size_t bytes = scalar_info[type].bytes;
    char mask[COUNT], from[COUNT * 8], to[COUNT * 8];
    KernelEnv env = {0};
    for (int i = 0; i < COUNT; i++) mask[i] = i / 8 == 1 || next_random() % 2 == 0;
    for (int i = 0; i < COUNT * 8; i++) from[i] = type == SCALAR_BOOL || (char)(i + 1);
    memset(to, 0, sizeof to);
    uint64_t nothing[1],
        in[] = {(uint64_t)(uintptr_t)mask, COUNT, (uint64_t)(uintptr_t)from, COUNT,
                (uint64_t)(uintptr_t)to,   COUNT};
    run(&env, in, nothing);
    for (size_t i = 0; i < COUNT; i++) {
        size_t at = (reverse ? COUNT - 1 - i : i) * bytes;
        static const char zeros[8];
        CHECK(memcmp(to + at, mask[i] != 0 ? from + at : zeros, bytes) == 0);
    }
}

static void test_masks(Cx *cx, const CoreProgram *core, Arena *arena,
                       const NativeCompiler *compiler) {
    for (uint32_t i = 0; i < 2 * SCALAR_COUNT; i++)
        kernels[i] = make_masked_kernel(cx, core, arena, (ScalarType)(i / 2), i % 2);
    void *library = build_kernels(arena, compiler, 2 * SCALAR_COUNT);
    for (uint32_t i = 0; i < 2 * SCALAR_COUNT && library != NULL; i++) {
        Kernel *run = find_kernel(library, i);
        if (run != NULL) compare_masked(run, (ScalarType)(i / 2), i % 2);
    }
    native_unload(library);
}

// ---- who joins a place alone -------------------------------------------------------

// A kernel in which a place of nine is joined in parallel turns, the nine being made
// before them or in each.
static LoopKernel *make_joins(Cx *cx, const CoreProgram *core, Arena *arena,
                              bool in_turns) {
    static const char *const made = "a: [i32] = alloc(9i64)";
    StrBuf text = strbuf(arena);
    strbuf_printf(
        &text,
        "kernel \"joins\" (i64) -> ([]i32) {|n: i64| r: [i32] = result[0](n) %s "
        "= for.parallel(n) {|i: i64| %s = atomic.max(a, 7i32, 0i64, 1i64, 2i64) "
        "x: i32 = load(a, 0i64, 1i64, 2i64) = store(r, x, 0i64, 1i64, i) ->} "
        "-> r, n}",
        in_turns ? "" : made, in_turns ? made : "");
    return read_kernel(cx, core, arena, &text);
}

static void test_joins(Cx *cx, const CoreProgram *core, Arena *arena) {
    for (int in_turns = 0; in_turns < 2; in_turns++) {
        LoopKernel *kernel = make_joins(cx, core, arena, in_turns);
        if (kernel == NULL) return;
        EmitChecks checks = {0};
        StrBuf c = strbuf(arena), cl = strbuf(arena), tables = strbuf(arena);
        LoopPlan plan;
        loop_plan(kernel, arena, &plan);
        emit_kernels(&emit_c, &kernel, 1, false, &(Arena){.mem = arena->mem}, &c,
                     &checks);
        emit_launches(&emit_opencl, &kernel, &plan, 1, false,
                      &(Arena){.mem = arena->mem}, &cl, &tables, &checks);
        const char *in_c = strstr(str_terminated(arena, strbuf_done(&c)),
                                  "__atomic_compare_exchange(at"),
                   *in_cl = strstr(str_terminated(arena, strbuf_done(&cl)),
                                   "weft_atomic_max(&a_");
        CHECK((in_c == NULL) == in_turns);
        CHECK((in_cl == NULL) == in_turns);
    }
}

// ---- texts of C ---------------------------------------------------------------------

// The C of the kernel, or nothing if it can't be read.
static const char *c_of(Cx *cx, const CoreProgram *core, Arena *arena, StrBuf *text) {
    StrBuf c = strbuf(arena);
    EmitChecks checks = {0};
    LoopKernel *kernel = read_kernel(cx, core, arena, text);
    if (kernel != NULL)
        emit_kernels(&emit_c, &kernel, 1, false, &(Arena){.mem = arena->mem}, &c,
                     &checks);
    return str_terminated(arena, strbuf_done(&c));
}

// ---- what is stored past the caches -------------------------------------------------

// Whether turns that hand on two buffers, the second of which is `taken`, have a line
// that stores past the caches; what they do besides.
static bool streams(Cx *cx, const CoreProgram *core, Arena *arena, const char *taken,
                    const char *besides) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text,
                  "kernel \"k\" (owned []i64) -> () {|p: [i64], n: i64| "
                  "a: [i64] = alloc(n) b: [i64] = alloc(n) "
                  "c: [i64], d: [i64] = while(a, %s) {|e: [i64], f: [i64]| "
                  "g: bool = lt(n, 4i64) -> g} {|s: [i64], t: [i64]| "
                  "= for.parallel[4](n) {|i: i64| "
                  "v: i64[4] = load(s, 0i64, 1i64, i) "
                  "= store(t, v, 0i64, 1i64, i) %s -> } {|j: i64| -> } "
                  "-> t, s} -> }",
                  taken, besides);
    const char *made = c_of(cx, core, arena, &text);
    bool is_stream = strstr(made, "weft_stream_i64x4(") != NULL;
    CHECK(is_stream == (strstr(made, "8.0 / 4 * ") != NULL));
    return is_stream;
}

static void test_streams(Cx *cx, const CoreProgram *core, Arena *arena) {
    CHECK(streams(cx, core, arena, "b", ""));
    CHECK(!streams(cx, core, arena, "b", "w: i64[4] = load(t, 0i64, 1i64, i)"));
    CHECK(!streams(cx, core, arena, "p", ""));
}

// Whether turns of which each has a loop of so many lanes, with `store` in it, store
// past the caches where the machine has vectors of so many bytes.
static bool streams_within(Cx *cx, const CoreProgram *core, Arena *arena, int lanes,
                           const char *bytes, const char *store) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text,
                  "kernel \"k\" (i64) -> ([]f64) {|n: i64| r: [f64] = result[0](n) "
                  "= for.parallel(n) {|t: i64| "
                  "= for.independent[%d](n) {|i: i64| v: f64[%d] = lanes(i, 1i64) %s "
                  "-> } {|j: i64| -> } -> } -> r, n}",
                  lanes, lanes, store);
    setenv("WEFT_VECTOR_BYTES", bytes, 1);
    const char *made = c_of(cx, core, arena, &text);
    unsetenv("WEFT_VECTOR_BYTES");
    return strstr(made, "weft_stream_f64x") != NULL &&
           strstr(strstr(made, "_chunk0"), "weft_stream_f64x") != NULL;
}

// Half a line at a time if the other half comes next.
static void test_half_lines(Cx *cx, const CoreProgram *core, Arena *arena) {
    const char *row = "= store(r, v, 0i64, n, t, 1i64, i)";
    const char *column = "= for.independent(n) {|k: i64| "
                         "= store(r, v, 0i64, n, k, 1i64, i) -> }";
    CHECK(streams_within(cx, core, arena, 4, "32", row));
    CHECK(!streams_within(cx, core, arena, 4, "64", row));
    CHECK(streams_within(cx, core, arena, 8, "64", row));
    CHECK(!streams_within(cx, core, arena, 4, "32", column));
    CHECK(streams_within(cx, core, arena, 8, "32", column));
    CHECK(streams_within(cx, core, arena, 8, "64", column));
}

// ---- what is fetched ahead ---------------------------------------------------------

static int count_fetches(const char *c) {
    int count = 0;
    while ((c = strstr(c, "__builtin_prefetch")) != NULL) count++, c++;
    return count;
}

// Whether a loop that loads vectors, computes so much of each and does that besides has
// a line that fetches ahead.
static bool fetches(Cx *cx, const CoreProgram *core, Arena *arena, int sums,
                    const char *besides) {
    StrBuf text = strbuf(arena);
    strbuf_cstr(&text, "kernel \"k\" ([]i64, owned []i64) -> () {|x: [i64], nx: i64, "
                       "y: [i64], n: i64| = for.independent[4](n) {|i: i64| "
                       "a: i64[4] = load(x, 0i64, 1i64, i) ");
    for (int k = 0; k < sums; k++) strbuf_printf(&text, "s.%d: i64[4] = add(a, a) ", k);
    strbuf_printf(&text, "%s -> } {|j: i64| -> } -> }", besides);
    return count_fetches(c_of(cx, core, arena, &text)) > 0;
}

static void test_ahead(Cx *cx, const CoreProgram *core, Arena *arena) {
    CHECK(fetches(cx, core, arena, 12, ""));
    CHECK(fetches(cx, core, arena, 12, "b: i64[4] = load(x, 1i64, 1i64, i)"));
    CHECK(!fetches(cx, core, arena, 4, ""));
    CHECK(!fetches(cx, core, arena, 12, "b: i64[4] = load(y, 0i64, 1i64, i)"));
    CHECK(!fetches(cx, core, arena, 12, "= store(y, a, 0i64, 1i64, i)"));
    CHECK(!fetches(cx, core, arena, 12, "b: i64[4] = load(x, 0i64, 1i64, a)"));
}

// Whether a turn that stores to these rows of planes, and loads from rows of them, has
// lines that fetch rows ahead; how many, where vectors have so many bytes.
static int fetched_rows_by(Cx *cx, const CoreProgram *core, Arena *arena,
                           const char *bytes, const char *second, const char *loads) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text,
                  "kernel \"k\" ([]i64, i64, i64, owned []i64) -> () {|x: [i64], "
                  "nx: i64, w: i64, p: i64, y: [i64], n: i64| "
                  "q: i64 = add(p, 1i64) r: i64 = add(q, 1i64) s: i64 = add(r, 1i64) "
                  "o: bool = lt(q, nx) v: i64 = sub(q, nx) "
                  "u: i64 = if(o) {-> q} {-> v} "
                  "= for.independent[4](n) {|i: i64| "
                  "a: i64[4] = load(x, 0i64, p, p, w, p, 1i64, i) %s "
                  "= store(y, a, 0i64, p, q, w, p, 1i64, i) "
                  "= store(y, a, 0i64, p, q, w, %s, 1i64, i) -> } {|j: i64| -> } -> }",
                  loads, second);
    setenv("WEFT_VECTOR_BYTES", bytes, 1);
    const char *made = c_of(cx, core, arena, &text);
    unsetenv("WEFT_VECTOR_BYTES");
    return count_fetches(made);
}

static int fetched_rows(Cx *cx, const CoreProgram *core, Arena *arena,
                        const char *second, const char *loads) {
    return fetched_rows_by(cx, core, arena, "64", second, loads);
}

// Where vectors are half a line, of planes one behind the other the last one alone.
static void test_last_planes(Cx *cx, const CoreProgram *core, Arena *arena) {
    const char *planes = "b: i64[4] = load(x, 0i64, p, q, w, p, 1i64, i) "
                         "c: i64[4] = load(x, 0i64, p, r, w, p, 1i64, i)";
    const char *clamped = "t: i64 = sub(p, 1i64) m: i64 = max(0i64, t) "
                          "b: i64[4] = load(x, 0i64, p, m, w, p, 1i64, i)";
    const char *wrapped = "b: i64[4] = load(x, 0i64, p, u, w, p, 1i64, i)";
    const char *unknown = "b: i64[4] = load(x, 0i64, p, n, w, p, 1i64, i)";
    const char *two = "b: i64[4] = load(x, 0i64, q, q, w, p, 1i64, i)";
    CHECK(fetched_rows_by(cx, core, arena, "32", "q", planes) == 1);
    CHECK(fetched_rows_by(cx, core, arena, "32", "q", clamped) == 1);
    CHECK(fetched_rows_by(cx, core, arena, "32", "q", wrapped) == 1);
    CHECK(fetched_rows_by(cx, core, arena, "32", "q", unknown) == 2);
    CHECK(fetched_rows_by(cx, core, arena, "32", "q", two) == 2);
    CHECK(fetched_rows_by(cx, core, arena, "64", "q", clamped) == 2);
}

// As many rows of each plane as the turn makes, in planes of the same width.
static void test_fetched_rows(Cx *cx, const CoreProgram *core, Arena *arena) {
    const char *same = "b: i64[4] = load(x, 0i64, p, p, w, p, 1i64, q)";
    const char *rows = "b: i64[4] = load(x, 0i64, p, p, w, q, 1i64, i) "
                       "c: i64[4] = load(x, 0i64, p, p, w, r, 1i64, i)";
    const char *planes = "b: i64[4] = load(x, 0i64, p, q, w, p, 1i64, i) "
                         "c: i64[4] = load(x, 0i64, p, r, w, p, 1i64, i)";
    CHECK(fetched_rows(cx, core, arena, "q", same) == 1);
    CHECK(fetched_rows(cx, core, arena, "q", rows) == 2);
    CHECK(fetched_rows(cx, core, arena, "q", planes) == 3);
    CHECK(fetched_rows(cx, core, arena, "p", rows) == 0);
    CHECK(fetched_rows(cx, core, arena, "q",
                       "b: i64[4] = load(x, 0i64, p, p, r, s, 1i64, i)") == 1);
    CHECK(fetched_rows(cx, core, arena, "q",
                       "b: i64[4] = load(x, 0i64, p, p, w, s, 1i64, a)") == 1);
}

// The C of a loop within turns that has these loads and stores to `to`, y being a
// result, z a parameter, and p memory of a turn, which is then copied to y.
static const char *made_beside(Cx *cx, const CoreProgram *core, Arena *arena,
                               const char *bytes, const char *loads, const char *to) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text,
                  "kernel \"k\" ([]f64, i64, i64, owned []f64) -> ([]f64) {|x: [f64], "
                  "nx: i64, w: i64, n: i64, z: [f64], nz: i64| "
                  "y: [f64] = result[0](nx) = for.parallel(n) {|r: i64| "
                  "s: i64 = add(r, 1i64) p: [f64] = alloc(n) "
                  "= for.independent[8](w) {|i: i64| k: i64 = add(i, 1i64) "
                  "a: f64[8] = load(x, 0i64, w, r, 1i64, i) %s "
                  "= store(%s, a, 0i64, w, r, 1i64, i) -> } {|j: i64| -> } "
                  "= for.independent[8](w) {|i.1: i64| "
                  "copied: f64[8] = load(p, 0i64, 1i64, i.1) "
                  "= store(y, copied, 0i64, w, r, 1i64, i.1) -> } {|j.1: i64| -> } "
                  "-> } -> y, nx }",
                  loads, to);
    setenv("WEFT_VECTOR_BYTES", bytes, 1);
    const char *made = c_of(cx, core, arena, &text);
    unsetenv("WEFT_VECTOR_BYTES");
    return made;
}

// How many rows that fetches.
static int fetched_beside(Cx *cx, const CoreProgram *core, Arena *arena,
                          const char *loads, const char *to) {
    return count_fetches(made_beside(cx, core, arena, "64", loads, to));
}

// A row of each plane that comes from memory.
static void test_fetched_beside(Cx *cx, const CoreProgram *core, Arena *arena) {
    const char *aside = "b: f64[8] = load(x, 0i64, w, r, 1i64, k)";
    const char *below = "b: f64[8] = load(x, 0i64, w, s, 1i64, i)";
    const char *other = "b: f64[8] = load(z, 0i64, w, r, 1i64, i)";
    const char *plane = "b: f64[8] = load(x, 0i64, n, r, w, s, 1i64, i)";
    const char *apart = "b: f64[8] = load(z, 0i64, w, r, 2i64, i)";
    CHECK(fetched_beside(cx, core, arena, "", "y") == 1);
    CHECK(fetched_beside(cx, core, arena, aside, "y") == 1);
    CHECK(fetched_beside(cx, core, arena, below, "y") == 1);
    CHECK(fetched_beside(cx, core, arena, other, "y") == 2);
    CHECK(fetched_beside(cx, core, arena, plane, "y") == 2);
    CHECK(fetched_beside(cx, core, arena, apart, "y") == 1);
    CHECK(fetched_beside(cx, core, arena, "", "z") == 0);
    const char *many = "b: f64[8] = load(x, 1i64, w, r, 1i64, i) "
                       "c: f64[8] = load(x, 2i64, w, r, 1i64, i) "
                       "d: f64[8] = load(x, 3i64, w, r, 1i64, i) "
                       "e: f64[8] = load(x, 4i64, w, r, 1i64, i)";
    CHECK(fetched_beside(cx, core, arena, other, "p") == 2);
    CHECK(fetched_beside(cx, core, arena, many, "y") == 5);
}

// How many lines that fetch have that in them.
static int count_fetches_of(const char *c, const char *what) {
    int count = 0;
    while ((c = strstr(c, "__builtin_prefetch")) != NULL) {
        const char *found = strstr(c, what), *end = strchr(c, '\n');
        count += found != NULL && found < end;
        c = end;
    }
    return count;
}

// Of more planes than processors follow the next row, below the last that is read, from
// where the turn is; by whole lines alone.
static void test_next_rows(Cx *cx, const CoreProgram *core, Arena *arena) {
    static const char *const last[] = {
        "e: f64[8] = load(x, 4i64, w, r, 1i64, i)",
        "e: f64[8] = load(x, 4i64, w, r, 1i64, k)",
        ("e: f64[8] = load(x, 4i64, w, r, 1i64, i) "
         "f: f64[8] = load(x, 4i64, w, s, 1i64, i)"),
        "m: bool[8] = lt(b, c) e: f64[8] = loadif(m, x, 4i64, w, r, 1i64, k)"};
    for (int i = 0; i < 4; i++) {
        StrBuf text = strbuf(arena);
        strbuf_printf(&text,
                      "b: f64[8] = load(x, 1i64, w, r, 1i64, i) "
                      "c: f64[8] = load(x, 2i64, w, r, 1i64, i) "
                      "d: f64[8] = load(x, 3i64, w, r, 1i64, i) "
                      "g: f64[8] = load(z, 0i64, w, r, 1i64, i) %s",
                      last[i]);
        const char *loads = str_terminated(arena, strbuf_done(&text));
        const char *made = made_beside(cx, core, arena, "64", loads, "p");
        CHECK(count_fetches(made) == 6);
        CHECK(count_fetches_of(made, "1 * i_") == 6);
        CHECK(count_fetches_of(made, "w_3 * s_") == (i == 2));
        CHECK(count_fetches(made_beside(cx, core, arena, "32", loads, "p")) == 0);
    }
}

// The C of turns r that make a row of y from what x has from `here` on, and then add
// up what the load says, in this order or the other.
static const char *made_later(Cx *cx, const CoreProgram *core, Arena *arena,
                              const char *here, const char *load, bool is_first) {
    StrBuf text = strbuf(arena);
    const char *format =
        "kernel \"k\" ([]f64, i64, []f64) -> ([]f64, []f64) {|x: [f64], nx: i64, "
        "n: i64, z: [f64], nz: i64| y: [f64] = result[0](nx) sums: [f64] = "
        "result[1](n) "
        "= for.parallel(n) {|r: i64| q: i64 = sub(r, 4i64) w: i64 = mul(r, 1024i64) "
        "v: i64 = mul(q, 1024i64) u: i64 = add(4096i64, v) "
        "g: i64 = sub(w, 64i64) c: i64 = mul(r, 512i64) h: i64 = sub(c, 4096i64) %s "
        "= for(64i64) {|t: i64| o: i64 = mul(t, 16i64) b: i64 = add(%s, o) "
        "= for.independent[16](16i64) {|i: i64| k: i64 = add(b, i) "
        "a: f64[16] = load(x, 0i64, 1i64, k) = store(y, a, 0i64, 1i64, k) -> } "
        "{|j: i64| -> } -> } %s -> } -> y, nx, sums, n }";
    StrBuf sum = strbuf(arena);
    strbuf_printf(&sum,
                  "total: f64 = for(1024i64, 0f64) {|m: i64, so: f64| "
                  "e: i64 = add(w, m) f: i64 = add(u, m) d: f64 = load(%s) "
                  "next: f64 = add(so, d) -> next} = store(sums, total, 0i64, 1i64, r)",
                  load);
    const char *later = str_terminated(arena, strbuf_done(&sum));
    strbuf_printf(&text, format, is_first ? later : "", here, is_first ? "" : later);
    return c_of(cx, core, arena, &text);
}

// How many fetches of that, 4096 elements ahead for the turn's later loop, and all in
// all: of two lines.
static bool fetches_later(Cx *cx, const CoreProgram *core, Arena *arena,
                          const char *here, const char *load, bool is_first) {
    const char *made = made_later(cx, core, arena, here, load, is_first);
    int later = count_fetches_of(made, " + 32768, 0, 2)") +
                count_fetches_of(made, " + 32832, 0, 2)");
    int page = count_fetches_of(made, " + 4096)") + count_fetches_of(made, " + 4160)");
    CHECK(count_fetches(made) == 2 && later + page == 2);
    CHECK(later == 0 || later == 2);
    return later == 2;
}

// What a later loop reads of the same array, so much further on and not near, in
// whatever way the sum is written.
static void test_fetched_later(Cx *cx, const CoreProgram *core, Arena *arena) {
    const char *there = "x, 0i64, 1i64, e";
    CHECK(fetches_later(cx, core, arena, "v", there, false));
    CHECK(fetches_later(cx, core, arena, "v", "x, w, 1i64, m", false));
    CHECK(fetches_later(cx, core, arena, "v", "x, 0i64, 1i64, f", false));
    CHECK(!fetches_later(cx, core, arena, "v", there, true));
    CHECK(!fetches_later(cx, core, arena, "v", "z, 0i64, 1i64, e", false));
    CHECK(!fetches_later(cx, core, arena, "w", there, false));
    CHECK(!fetches_later(cx, core, arena, "w", "x, v, 1i64, m", false));
    CHECK(!fetches_later(cx, core, arena, "g", there, false));
    CHECK(!fetches_later(cx, core, arena, "h", there, false));
    CHECK(!fetches_later(cx, core, arena, "v", "x, w, nx, m", false));
}

// Keys of which eight are asked at once are fetched ahead, if they come from memory.
static void test_fetched_keys(Cx *cx, const CoreProgram *core, Arena *arena) {
    for (int i = 0; i < 2; i++) {
        StrBuf text = strbuf(arena);
        strbuf_printf(
            &text,
            "kernel \"k\" ([]i32, i64) -> ([]i64) {|x: [i32], nx: i64, n: i64| "
            "y: [i64] = result[0](n) p: [i32] = alloc(64i64) "
            "= for(n) {|t: i64| at: i64 = mul(t, 8i64) "
            "b: bool = below(%s, at, 8i64, 100u64) "
            "m: i64 = if(b) {-> 1i64} {-> 0i64} "
            "= store(y, m, 0i64, 1i64, t) -> } -> y, n }",
            i == 0 ? "x" : "p");
        const char *made = c_of(cx, core, arena, &text);
        CHECK(count_fetches(made) == (i == 0));
        CHECK(count_fetches_of(made, "[at_") + count_fetches_of(made, "[v") ==
              (i == 0));
    }
}

// How many fetches a loop has whose turn t loads the element `at` of `from`, and stores
// at the place `to`, on a branch.
static int fetched_for(Cx *cx, const CoreProgram *core, Arena *arena, const char *from,
                       const char *at, const char *to) {
    StrBuf text = strbuf(arena);
    strbuf_printf(
        &text,
        "kernel \"k\" ([]i64, i64) -> ([]i64) {|x: [i64], nx: i64, n: i64| "
        "y: [i64] = result[0](n) p: [i64] = alloc(64i64) "
        "= for(n) {|t: i64| two: i64 = mul(t, 2i64) many: i64 = mul(t, 16i64) "
        "other: i64 = load(y, 0i64, 1i64, t) next: i64 = add(two, 1i64) "
        "key: i64 = load(%s, 0i64, 1i64, %s) b: bool = lt(key, n) "
        "= if(b) {= store(y, 1i64, 0i64, 1i64, %s) ->} {->} -> } -> y, n }",
        from, at, to);
    return count_fetches(c_of(cx, core, arena, &text));
}

// What goes along an array from memory by a quarter of a line or more, up to a line,
// and says where to store.
static void test_fetched_key(Cx *cx, const CoreProgram *core, Arena *arena) {
    CHECK(fetched_for(cx, core, arena, "x", "two", "key") == 1);
    CHECK(fetched_for(cx, core, arena, "x", "next", "key") == 1);
    CHECK(fetched_for(cx, core, arena, "x", "two", "next") == 0);
    CHECK(fetched_for(cx, core, arena, "x", "t", "key") == 0);
    CHECK(fetched_for(cx, core, arena, "x", "many", "key") == 0);
    CHECK(fetched_for(cx, core, arena, "x", "other", "key") == 0);
    CHECK(fetched_for(cx, core, arena, "p", "two", "key") == 0);
}

// How many arrays a loop along rows fetches: those of turn r, which begin at `begin`
// and end at `end`, with these loads.
static int fetched_next(Cx *cx, const CoreProgram *core, Arena *arena,
                        const char *begin, const char *end, const char *loads) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text,
                  "kernel \"k\" ([]i64, []i64, []i64, i64, owned []i64) -> () "
                  "{|s: [i64], ns: i64, x: [i64], nx: i64, y: [i64], ny: i64, w: i64, "
                  "to: [i64], n: i64| "
                  "= for.parallel(n) {|r: i64| q: i64 = add(1i64, r) "
                  "a: i64 = load(s, %s) b: i64 = load(%s) length: i64 = sub(b, a) "
                  "t: i64 = for(length, 0i64) {|i: i64, sum: i64| e: i64 = add(a, i) "
                  "u: i64 = load(x, 0i64, 1i64, e) %s v: i64 = add(sum, u) -> v} "
                  "= store(to, t, 0i64, 1i64, r) -> } -> }",
                  begin, end, loads);
    return count_fetches(c_of(cx, core, arena, &text));
}

// Each array once, if it is one that the kernel was handed and the row is side by side,
// and the row of the next turn is the next one.
static void test_fetched_next(Cx *cx, const CoreProgram *core, Arena *arena) {
    const char *here = "0i64, 1i64, r", *behind = "s, 1i64, 1i64, r";
    CHECK(fetched_next(cx, core, arena, here, behind, "") == 1);
    CHECK(fetched_next(cx, core, arena, here, "s, 0i64, 1i64, q", "") == 1);
    CHECK(fetched_next(cx, core, arena, here, behind, "f: i64 = load(y, a, 1i64, i)") ==
          2);
    CHECK(fetched_next(cx, core, arena, here, behind,
                       "f: i64 = load(y, 0i64, 1i64, u) "
                       "g: i64 = load(x, a, 1i64, i) "
                       "h: i64 = load(y, 0i64, 2i64, e) "
                       "k: i64 = load(y, 1i64, 1i64, e) "
                       "l: i64 = load(y, r, 1i64, i) "
                       "m: i64 = load(to, 0i64, 1i64, e)") == 2);
    CHECK(fetched_next(cx, core, arena, here, "s, 2i64, 1i64, r", "") == 0);
    CHECK(fetched_next(cx, core, arena, here, "s, 1i64, 1i64, q", "") == 0);
    CHECK(fetched_next(cx, core, arena, here, "s, 1i64, 2i64, r", "") == 0);
    CHECK(fetched_next(cx, core, arena, here, "y, 1i64, 1i64, r", "") == 0);
    CHECK(fetched_next(cx, core, arena, "1i64, 1i64, r", "s, 2i64, 1i64, r", "") == 0);
    CHECK(fetched_next(cx, core, arena, "0i64, 1i64, w", "s, 1i64, 1i64, w", "") == 0);
}

// ---- rows of squares ----------------------------------------------------------------

// How many rows are found from the one before in a turn that loads `rows` rows of
// vectors from `from`, each `stride` behind the one before, and stores them to y.
static int rows_of_square(Cx *cx, const CoreProgram *core, Arena *arena,
                          const char *from, const char *stride, int rows,
                          int *fetched_out) {
    StrBuf text = strbuf(arena);
    strbuf_cstr(&text, "kernel \"k\" ([]f64, i64, owned []f64) -> () {|x: [f64], "
                       "nx: i64, w: i64, y: [f64], n: i64| "
                       "p: [f64] = alloc(nx) = for.independent[8](n) {|i: i64| ");
    for (int k = 0; k < rows; k++)
        strbuf_printf(&text, "a.%d: f64[8] = load(%s, 0i64, 1i64, i, %s, %di64) ", k,
                      from, stride, k);
    for (int k = 0; k < rows; k++)
        strbuf_printf(&text, "= store(y, a.%d, 0i64, 1i64, i, %s, %di64) ", k, stride,
                      k);
    strbuf_cstr(&text, "-> } {|j: i64| -> } -> }");
    const char *made = c_of(cx, core, arena, &text);
    *fetched_out = count_fetches(made);
    int count = 0;
    while ((made = strstr(made, " = row")) != NULL) count++, made++;
    return count;
}

// All but the first, of a row for each lane; those of an array that the kernel was
// handed are fetched.
static void test_rows_of_square(Cx *cx, const CoreProgram *core, Arena *arena) {
    int fetched;
    CHECK(rows_of_square(cx, core, arena, "x", "w", 8, &fetched) == 14 && fetched == 8);
    CHECK(rows_of_square(cx, core, arena, "p", "w", 8, &fetched) == 14 && fetched == 0);
    CHECK(rows_of_square(cx, core, arena, "x", "w", 7, &fetched) == 0 && fetched == 0);
    CHECK(rows_of_square(cx, core, arena, "x", "9i64", 8, &fetched) == 0 &&
          fetched == 0);
}

// ---- indices within bounds ----------------------------------------------------------

// Whether it is asked by one comparison if `x` is at least `least` and below `n`.
static bool is_asked_once(Cx *cx, const CoreProgram *core, Arena *arena,
                          const char *least, const char *x, const char *n) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text,
                  "kernel \"k\" ([][]f32, i64, i64) -> (bool) {|a: [f32], rows: i64, "
                  "columns: i64, p: i64, q: i64| l: bool = le(%s, %s) "
                  "m: bool = lt(p, %s) both: bool = and(l, m) -> both}",
                  least, x, n);
    return strstr(c_of(cx, core, arena, &text), " < (uint64_t)") != NULL;
}

// Only a size is known not to be negative.
static void test_within(Cx *cx, const CoreProgram *core, Arena *arena) {
    CHECK(is_asked_once(cx, core, arena, "0i64", "p", "rows"));
    CHECK(is_asked_once(cx, core, arena, "0i64", "p", "columns"));
    CHECK(is_asked_once(cx, core, arena, "0i64", "p", "7i64"));
    CHECK(!is_asked_once(cx, core, arena, "0i64", "p", "-7i64"));
    CHECK(!is_asked_once(cx, core, arena, "0i64", "p", "q"));
    CHECK(!is_asked_once(cx, core, arena, "0i64", "q", "rows"));
    CHECK(!is_asked_once(cx, core, arena, "1i64", "p", "rows"));
    CHECK(!is_asked_once(cx, core, arena, "q", "p", "rows"));
}

// ---- private arrays -----------------------------------------------------------------

// Whether an array of so many elements, of which lanes load and store some, is one of
// C.
static bool is_local(Cx *cx, const CoreProgram *core, Arena *arena, const char *count) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text,
                  "kernel \"k\" (i64) -> () {|n: i64| a: [i64] = alloc(%s) "
                  "= for.independent[4](n) {|i: i64| "
                  "l: i64[4] = lanes m: bool[4] = lt(l, 2i64) "
                  "v: i64[4] = loadif(m, a, 0i64, 1i64, i) "
                  "= storeif(m, a, v, 0i64, 1i64, i) -> } {|j: i64| -> } -> }",
                  count);
    return strstr(c_of(cx, core, arena, &text), "weft_alloc(env, (") == NULL;
}

static void test_local(Cx *cx, const CoreProgram *core, Arena *arena) {
    CHECK(is_local(cx, core, arena, "16i64"));
    CHECK(!is_local(cx, core, arena, "n"));
}

// ---- options of gcc -----------------------------------------------------------------

// A function whose options differ from its caller's is never inlined by gcc, so all
// options come before all functions.
static void test_options(Cx *cx, const CoreProgram *core, Arena *arena) {
    StrBuf text = strbuf(arena);
    strbuf_cstr(&text, "kernel \"k\" ([]f64, owned []f64) -> () {|x: [f64], nx: i64, "
                       "y: [f64], n: i64| = for.independent[8](n) {|i: i64| "
                       "a: f64[8] = load(x, 0i64, 1i64, i) b: f64[8] = fma(a, a, a) "
                       "= store(y, b, 0i64, 1i64, i) -> } {|j: i64| -> } -> }");
    setenv("WEFT_VECTOR_BYTES", "64", 1);
    const char *first = c_of(cx, core, arena, &text), *last = NULL;
    unsetenv("WEFT_VECTOR_BYTES");
    const char *function = strstr(first, "\nstatic ");
    for (const char *at = first; (at = strstr(at, "#pragma GCC optimize")); at++)
        last = at;
    CHECK(function != NULL && last != NULL && last < function);
}

int main(void) {
    Mem mem = {0};
    Arena arena;
    Cx cx;
    arena_init(&arena, &mem);
    cx_init(&cx, &arena);
    CoreProgram *core = core_program(&cx, &arena);
    uint32_t count = list_operators(operators);
    for (uint32_t i = 0; i < count; i++)
        kernels[i] = make_kernel(core, &arena, operators[i]);
    test_joins(&cx, core, &arena);
    test_streams(&cx, core, &arena);
    test_half_lines(&cx, core, &arena);
    test_ahead(&cx, core, &arena);
    test_fetched_rows(&cx, core, &arena);
    test_last_planes(&cx, core, &arena);
    test_fetched_beside(&cx, core, &arena);
    test_next_rows(&cx, core, &arena);
    test_fetched_next(&cx, core, &arena);
    test_fetched_later(&cx, core, &arena);
    test_fetched_keys(&cx, core, &arena);
    test_fetched_key(&cx, core, &arena);
    test_rows_of_square(&cx, core, &arena);
    test_within(&cx, core, &arena);
    test_local(&cx, core, &arena);
    test_options(&cx, core, &arena);
    NativeCompiler compiler;
    Str why = {0};
    if (!native_find(&arena, &compiler, &why)) {
        SKIP("%.*s", STR_ARG(why));
        return test_done();
    }
    void *library = build_kernels(&arena, &compiler, count);
    for (uint32_t i = 0; i < count && library != NULL; i++) {
        Kernel *run = find_kernel(library, i);
        if (run != NULL) compare_all(operators[i], run);
    }
    native_unload(library);
    test_lanes(&cx, core, &arena, &compiler, count, 4);
    test_lanes(&cx, core, &arena, &compiler, count, 8);
    test_lanes(&cx, core, &arena, &compiler, count, 32);
    test_masks(&cx, core, &arena, &compiler);
    arena_free(&arena);
    return test_done();
}
