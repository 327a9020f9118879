// SPDX-License-Identifier: Apache-2.0
//
// The emitter's scalar operators: every operator on every type it takes, compiled by
// the system's compiler and compared with core_eval on special and random values.
#include <stdlib.h>
#include <string.h>

#include "abi/kernel.h"
#include "core/rules.h"
#include "dev/native.h"
#include "emit/emit.h"
#include "test.h"

enum { MOST_KERNELS = 600, RANDOM_VALUES = 40, MOST_VALUES = 80 };

typedef struct Case {
    CoreOp op;
    ScalarType in, to;
} Case;

static Case cases[MOST_KERNELS];
static LoopKernel *kernels[MOST_KERNELS];
static uint32_t case_count;

static LoopRef add_value(LoopKernel *kernel, ScalarType type) {
    LoopValue value = {.type = {LOOP_IS_SCALAR, (uint8_t)type}};
    vec_push(kernel->arena, &kernel->values, value);
    return kernel->values.len - 1;
}

// A kernel that applies one operator to its params.
static LoopKernel *make_kernel(const CoreProgram *core, Arena *arena, Case c) {
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

static void add_case(const CoreProgram *core, Arena *arena, CoreOp op, ScalarType in,
                     ScalarType to) {
    Case c = {op, in, to};
    cases[case_count] = c;
    kernels[case_count++] = make_kernel(core, arena, c);
}

static void add_cases(const CoreProgram *core, Arena *arena) {
    for (int op = 0; op < OP_COUNT; op++) {
        if (core_op_operands((CoreOp)op) == 0) continue;
        for (int in = 0; in < SCALAR_COUNT; in++) {
            ScalarType to;
            if (!core_op_takes((CoreOp)op, (ScalarType)in)) continue;
            if (core_op_gives((CoreOp)op, (ScalarType)in, &to)) {
                add_case(core, arena, (CoreOp)op, (ScalarType)in, to);
                continue;
            }
            for (int other = 0; other < SCALAR_COUNT; other++)
                add_case(core, arena, (CoreOp)op, (ScalarType)in, (ScalarType)other);
        }
    }
}

// ---- values -------------------------------------------------------------------------

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t cut(ScalarType type, uint64_t bits) {
    if (type == SCALAR_BOOL) return bits & 1;
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    return bits << unused >> unused;
}

static uint32_t make_values(ScalarType type, uint64_t *values) {
    static const double numbers[] = {0.0,    -0.0,  1.0,   -1.0, 0.5,  1.5,
                                     2.5,    -2.5,  1e10,  3e9,  -3e9, 1e19,
                                     2.1e19, 65519, 65520, 1e-8};
    uint32_t count = 0;
    for (int64_t i = -3; i <= 9; i++) values[count++] = cut(type, (uint64_t)i);
    unsigned width = 8u * scalar_info[type].bytes;
    for (int i = -1; i <= 1; i++)
        values[count++] = cut(type, ((uint64_t)1 << (width - 1)) + (uint64_t)i);
    if (scalar_is_float(type)) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            uint64_t bits;
            memcpy(&bits, &numbers[i], sizeof bits);
            core_eval(OP_CONV, SCALAR_F64, type, &bits, &values[count++]);
        }
        uint64_t infinity = type == SCALAR_F16   ? 0x7c00
                            : type == SCALAR_F32 ? 0x7f800000
                                                 : (uint64_t)0x7ff << 52;
        for (uint64_t i = 0; i < 3; i++) values[count++] = infinity - 1 + i;
        values[count++] = infinity | (uint64_t)1 << (width - 1);
    }
    for (int i = 0; i < RANDOM_VALUES; i++) values[count++] = cut(type, next_random());
    return count;
}

static bool is_nan(ScalarType type, uint64_t bits) {
    uint64_t result = 0;
    return scalar_is_float(type) &&
           core_eval(OP_ISNAN, type, SCALAR_BOOL, &bits, &result) == FAULT_NONE &&
           result != 0;
}

static void compare(Case c, Kernel *run, const uint64_t *args) {
    KernelEnv env = {0};
    uint64_t expected = 0, found = 0;
    if (core_eval(c.op, c.in, c.to, args, &expected) != FAULT_NONE) return;
    run(&env, args, &found);
    bool same = found == expected || (is_nan(c.to, found) && is_nan(c.to, expected));
    CHECK(same);
    if (!same)
        printf("%s %s -> %s: %llx %llx %llx gives %llx, not %llx\n",
               core_op_info[c.op].name, scalar_info[c.in].name, scalar_info[c.to].name,
               (unsigned long long)args[0], (unsigned long long)args[1],
               (unsigned long long)args[2], (unsigned long long)found,
               (unsigned long long)expected);
}

static void compare_all(Case c, Kernel *run) {
    uint64_t values[MOST_VALUES], args[3];
    uint32_t count = make_values(c.in, values), operands = core_op_operands(c.op);
    for (uint32_t i = 0; i < count; i++) {
        args[0] = values[i];
        args[1] = args[2] = 0;
        if (operands == 1) compare(c, run, args);
        for (uint32_t k = 0; k < count && operands > 1; k++) {
            args[1] = values[k];
            args[2] = operands == 3 ? values[next_random() % count] : 0;
            compare(c, run, args);
        }
    }
}

int main(void) {
    Mem mem = {0};
    Arena arena;
    Cx cx;
    arena_init(&arena, &mem);
    cx_init(&cx, &arena);
    CoreProgram *core = core_program(&cx, &arena);
    add_cases(core, &arena);
    StrBuf text = strbuf(&arena);
    EmitChecks *checks = arena_array(&arena, EmitChecks, case_count);
    emit_kernels(&emit_c, kernels, case_count, false, &text, checks);
    NativeCompiler compiler;
    Str why = {0};
    if (!native_find(&arena, &compiler, &why)) {
        printf("skipped: %.*s\n0 passed, 0 failed, 1 skipped\n", STR_ARG(why));
        return 0;
    }
    NativeBuild build = {.compiler = &compiler,
                         .source = strbuf_done(&text),
                         .arena = &arena,
                         .no_cache = true};
    Status status = native_build(&build, NULL);
    CHECK(status == STATUS_OK);
    if (status != STATUS_OK) printf("%.*s\n", STR_ARG(build.why));
    for (uint32_t i = 0; i < case_count && status == STATUS_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "weft_kernel_%u", i);
        Kernel *run = (Kernel *)(uintptr_t)native_symbol(build.library, name);
        CHECK(run != NULL);
        if (run != NULL) compare_all(cases[i], run);
    }
    native_unload(build.library);
    arena_free(&arena);
    return test_done();
}
