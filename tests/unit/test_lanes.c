// SPDX-License-Identifier: Apache-2.0
//
// Operators one after the other: turns of random steps, in lanes and as loops that a
// compiler puts in vectors itself, compared with core_eval. What a compiler makes of
// two operators need not be what it makes of each. Every other file has vectors of 64
// bytes, whether the machine has them or not. Usage: test_lanes [FILES [SEED]]
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "abi/kernel.h"
#include "dev/native.h"
#include "emit/emit.h"
#include "operators.h"

enum { KERNELS = 48, INPUTS = 2, STEPS = 30, FEW_STEPS = 6, TURNS = 256 };
enum { MOST = INPUTS * SCALAR_COUNT + STEPS };

// A value of the turns, v0 and so on.
typedef struct Value {
    ScalarType type;
    bool is_used;
    uint64_t of[TURNS]; // what each turn has to have
} Value;

typedef struct Chain {
    Value values[MOST];
    uint32_t count, inputs; // the inputs come first
    uint32_t lanes;         // 0: without
    uint32_t mask;          // a bool: where some are stored; it is counted, too
    StrBuf text;
} Chain;

static Operator operators[MOST_OPERATORS];
static uint32_t operator_count;
static Chain chains[KERNELS];
static LoopKernel *kernels[KERNELS];

static uint32_t below(uint32_t n) {
    return (uint32_t)(next_random() >> 33) % n;
}

// ---- making them --------------------------------------------------------------------

// One of them that has this type, the later ones more often; -1: there is none.
static int pick(const Chain *c, ScalarType type) {
    int found = -1;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->values[i].type == type && (found < 0 || below(4) == 0)) found = (int)i;
    return found;
}

static void put_lanes(const Chain *c, StrBuf *out) {
    if (c->lanes != 0) strbuf_printf(out, "[%u]", c->lanes);
}

// The value that comes next; it counts when its step is there.
static Value *next_value(Chain *c, ScalarType type) {
    Value *v = &c->values[c->count];
    v->type = type;
    v->is_used = false;
    strbuf_printf(&c->text, "v%u: %s", c->count, scalar_info[type].name);
    put_lanes(c, &c->text);
    strbuf_cstr(&c->text, " = ");
    return v;
}

static void add_input(Chain *c, ScalarType type) {
    uint64_t values[MOST_VALUES];
    uint32_t n = make_values(type, values);
    Value *v = next_value(c, type);
    strbuf_printf(&c->text, "load(x%u, 0i64, 1i64, i)\n", c->count++);
    for (int k = 0; k < TURNS; k++) v->of[k] = values[below(n)];
}

// An operand of that type: a value, or now and then a number.
static void put_operand(Chain *c, ScalarType type, bool may_be_number, uint64_t *of) {
    uint64_t values[MOST_VALUES], bits = values[below(make_values(type, values))];
    if (may_be_number && scalar_is_int(type) && below(4) == 0) {
        unsigned unused = 64 - 8u * scalar_info[type].bytes;
        if (scalar_info[type].class == CLASS_SIGNED)
            strbuf_printf(&c->text, "%lld%s",
                          (long long)((int64_t)(bits << unused) >> unused),
                          scalar_info[type].name);
        else
            strbuf_printf(&c->text, "%llu%s", (unsigned long long)bits,
                          scalar_info[type].name);
        for (int k = 0; k < TURNS; k++) of[k] = bits;
        return;
    }
    int number = pick(c, type);
    strbuf_printf(&c->text, "v%d", number);
    c->values[number].is_used = true;
    memcpy(of, c->values[number].of, sizeof c->values[number].of);
}

static void add_select(Chain *c, ScalarType type) {
    uint64_t of[3][TURNS];
    Value *v = next_value(c, type);
    strbuf_cstr(&c->text, c->lanes != 0 ? "select(" : "if(");
    put_operand(c, SCALAR_BOOL, false, of[0]);
    strbuf_cstr(&c->text, c->lanes != 0 ? ", " : ") {-> ");
    put_operand(c, type, true, of[1]);
    strbuf_cstr(&c->text, c->lanes != 0 ? ", " : "} {-> ");
    put_operand(c, type, true, of[2]);
    strbuf_cstr(&c->text, c->lanes != 0 ? ")\n" : "}\n");
    c->count++;
    for (int k = 0; k < TURNS; k++) v->of[k] = of[0][k] != 0 ? of[1][k] : of[2][k];
}

static void add_operator(Chain *c, Operator o) {
    uint64_t of[3][TURNS];
    uint32_t operands = core_op_operands(o.op);
    Value *v = next_value(c, o.to);
    strbuf_printf(&c->text, "%s(", core_op_info[o.op].name);
    for (uint32_t i = 0; i < operands; i++) {
        if (i > 0) strbuf_cstr(&c->text, ", ");
        put_operand(c, o.in, i > 0, of[i]);
    }
    strbuf_cstr(&c->text, ")\n");
    c->count++;
    for (int k = 0; k < TURNS; k++) {
        uint64_t args[3] = {of[0][k], of[operands > 1][k], of[operands > 2 ? 2 : 0][k]};
        core_eval(o.op, o.in, o.to, args, &v->of[k]);
    }
}

static bool is_within(ScalarType type, uint32_t widest) {
    return scalar_info[type].bytes <= widest;
}

static void add_step(Chain *c, uint32_t widest) {
    for (;;) {
        Operator o = operators[below(operator_count)];
        if (!is_within(o.in, widest) || !is_within(o.to, widest)) continue;
        if ((core_op_info[o.op].flags & OP_FAILS) != 0 && !scalar_is_float(o.in))
            continue;
        if (below(3) == 0) add_select(c, o.in);
        else add_operator(c, o);
        return;
    }
}

static void make_chain(Chain *c, Arena *arena, uint32_t widest, uint32_t parts) {
    *c = (Chain){.lanes = parts * 32 / widest, .text = strbuf(arena)};
    for (int t = 0; t < SCALAR_COUNT; t++)
        for (int i = 0; i < INPUTS && is_within((ScalarType)t, widest); i++)
            add_input(c, (ScalarType)t);
    c->inputs = c->count;
    for (int i = 0; i < (parts > 0 ? STEPS : FEW_STEPS); i++) add_step(c, widest);
    c->mask = (uint32_t)pick(c, SCALAR_BOOL);
}

// Whether it lies in memory: an input, or what no step uses.
static bool is_array(const Chain *c, uint32_t number) {
    return number < c->inputs || !c->values[number].is_used;
}

static bool is_masked(const Chain *c, uint32_t number) {
    return c->lanes != 0 && number % 2 == 0;
}

static void put_store(const Chain *c, uint32_t number, StrBuf *out) {
    if (is_masked(c, number))
        strbuf_printf(out, "= storeif(v%u, x%u, ", c->mask, number);
    else strbuf_printf(out, "= store(x%u, ", number);
    strbuf_printf(out, "v%u, 0i64, 1i64, i)\n", number);
}

static LoopKernel *make_kernel(Cx *cx, const CoreProgram *core, Arena *arena,
                               Chain *c) {
    StrBuf types = strbuf(arena), params = strbuf(arena), stores = strbuf(arena);
    StrBuf text = strbuf(arena), faults = strbuf(arena);
    for (uint32_t i = 0; i < c->count; i++) {
        const char *name = scalar_info[c->values[i].type].name;
        if (!is_array(c, i)) continue;
        strbuf_printf(&types, i < c->inputs ? "[]%s, " : "owned []%s, ", name);
        strbuf_printf(&params, "x%u: [%s], n%u: i64, ", i, name, i);
        if (i >= c->inputs) put_store(c, i, &stores);
    }
    strbuf_printf(&text,
                  "kernel \"k\" (%.*sowned []i64) -> () {|%.*st: [i64], nt: i64|\n",
                  STR_ARG(strbuf_done(&types)), STR_ARG(strbuf_done(&params)));
    strbuf_cstr(&text, "= for.independent");
    put_lanes(c, &text);
    strbuf_printf(&text, "(n0) {|i: i64|\n%.*s%.*s", STR_ARG(strbuf_done(&c->text)),
                  STR_ARG(strbuf_done(&stores)));
    if (c->lanes != 0)
        strbuf_printf(&text,
                      "b: i64 = tally(v%u)\n= atomic.add(t, b, 0i64) -> } {|k: i64|",
                      c->mask);
    strbuf_cstr(&text, " -> } -> }");
    Source *source = sources_add(&cx->sources, STR("lanes"), strbuf_done(&text), false);
    LoopKernel *kernel = loop_read(cx, arena, core, source);
    bool is_sound = kernel != NULL && loop_verify(kernel, &faults);
    CHECK(is_sound);
    if (!is_sound)
        printf("%.*s\n%.*s\n", STR_ARG(source->text), STR_ARG(strbuf_done(&faults)));
    return is_sound ? kernel : NULL;
}

// ---- running them -------------------------------------------------------------------

// Where the mask is off there is nothing; NULL: it is on everywhere.
static bool check_value(const Value *v, const Value *mask, const char *found) {
    size_t bytes = scalar_info[v->type].bytes;
    for (size_t k = 0; k < TURNS; k++) {
        uint64_t bits = 0, wanted = mask == NULL || mask->of[k] != 0 ? v->of[k] : 0;
        memcpy(&bits, found + k * bytes, bytes);
        if (bits == wanted || (is_nan(v->type, bits) && is_nan(v->type, wanted)))
            continue;
        printf("turn %zu gives %llx, not %llx\n", k, (unsigned long long)bits,
               (unsigned long long)wanted);
        return false;
    }
    return true;
}

static bool check_tally(const Value *v, uint64_t found) {
    uint64_t count = 0;
    for (int k = 0; k < TURNS; k++) count += v->of[k];
    return count == found;
}

static bool go_on(KernelEnv *env, int64_t done, int64_t total) {
    (void)env, (void)done, (void)total;
    return false;
}

static void check_chain(const Chain *c, Kernel *run) {
    static uint64_t arrays[MOST][TURNS], nothing[1];
    uint64_t in[2 * MOST + 2];
    uint32_t used = 0;
    uint64_t tally = 0;
    KernelEnv env = {.poll = go_on};
    for (uint32_t i = 0; i < c->count; i++) {
        if (!is_array(c, i)) continue;
        size_t bytes = scalar_info[c->values[i].type].bytes;
        memset(arrays[i], 0, sizeof arrays[i]);
        for (size_t k = 0; k < TURNS && i < c->inputs; k++)
            memcpy((char *)arrays[i] + k * bytes, &c->values[i].of[k], bytes);
        in[used++] = (uint64_t)(uintptr_t)arrays[i];
        in[used++] = TURNS;
    }
    in[used++] = (uint64_t)(uintptr_t)&tally;
    in[used++] = TURNS;
    run(&env, in, nothing);
    bool same = c->lanes == 0 || check_tally(&c->values[c->mask], tally);
    if (!same) printf("tally of v%u:\n", c->mask);
    for (uint32_t i = c->inputs; i < c->count && same; i++) {
        const Value *mask = is_masked(c, i) ? &c->values[c->mask] : NULL;
        same = !is_array(c, i) || check_value(&c->values[i], mask, (char *)arrays[i]);
        if (!same) printf("v%u:\n", i);
    }
    CHECK(same);
    if (!same) {
        StrBuf text = c->text;
        printf("%.*s", STR_ARG(strbuf_done(&text)));
    }
}

static void test_file(Cx *cx, const CoreProgram *core, Arena *arena,
                      const NativeCompiler *compiler) {
    StrBuf text = strbuf(arena);
    EmitChecks checks[KERNELS] = {0};
    for (uint32_t i = 0; i < KERNELS; i++) {
        make_chain(&chains[i], arena, 1u << i % 4, i / 4 % 3);
        kernels[i] = make_kernel(cx, core, arena, &chains[i]);
        if (kernels[i] == NULL) return;
    }
    emit_kernels(&emit_c, kernels, KERNELS, false, &(Arena){.mem = arena->mem}, &text,
                 checks);
    NativeBuild build = {.compiler = compiler,
                         .source = strbuf_done(&text),
                         .arena = arena,
                         .no_cache = getenv("TEST_CACHE") == NULL};
    Status status = native_build(&build, NULL);
    CHECK(status == STATUS_OK);
    if (status != STATUS_OK) printf("%.*s\n", STR_ARG(build.why));
    for (uint32_t i = 0; i < KERNELS && status == STATUS_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "weft_kernel_%u", i);
        Kernel *run = (Kernel *)(uintptr_t)native_symbol(build.library, name);
        CHECK(run != NULL);
        if (run != NULL) check_chain(&chains[i], run);
    }
    if (status == STATUS_OK) native_unload(build.library);
}

int main(int argc, char **argv) {
    uint32_t files = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2;
    if (argc > 2) random_state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
    operator_count = list_operators(operators);
    for (uint32_t i = 0; i < files; i++) {
        setenv("WEFT_VECTOR_BYTES", i % 2 == 0 ? "32" : "64", 1);
        Mem mem = {0};
        Arena arena;
        Cx cx;
        arena_init(&arena, &mem);
        cx_init(&cx, &arena);
        NativeCompiler compiler;
        Str why = {0};
        if (native_find(&arena, &compiler, &why))
            test_file(&cx, core_program(&cx, &arena), &arena, &compiler);
        else SKIP("%.*s", STR_ARG(why));
        arena_free(&arena);
    }
    return test_done();
}
