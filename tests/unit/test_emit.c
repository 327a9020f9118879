// SPDX-License-Identifier: Apache-2.0
//
// The emitter's scalar operators: every operator on every type it takes, compiled by
// the system's compiler and compared with core_eval on special and random values.
#include "abi/kernel.h"
#include "dev/native.h"
#include "emit/emit.h"
#include "operators.h"

static Operator operators[MOST_OPERATORS];
static LoopKernel *kernels[MOST_OPERATORS];

static LoopRef add_value(LoopKernel *kernel, ScalarType type) {
    LoopValue value = {.type = {LOOP_IS_SCALAR, (uint8_t)type}};
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
    StrBuf text = strbuf(&arena);
    EmitChecks *checks = arena_array(&arena, EmitChecks, count);
    emit_kernels(&emit_c, kernels, count, false, &text, checks);
    NativeCompiler compiler;
    Str why = {0};
    if (!native_find(&arena, &compiler, &why)) {
        SKIP("%.*s", STR_ARG(why));
        return test_done();
    }
    NativeBuild build = {.compiler = &compiler,
                         .source = strbuf_done(&text),
                         .arena = &arena,
                         .no_cache = true};
    Status status = native_build(&build, NULL);
    CHECK(status == STATUS_OK);
    if (status != STATUS_OK) printf("%.*s\n", STR_ARG(build.why));
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "weft_kernel_%u", i);
        Kernel *run = (Kernel *)(uintptr_t)native_symbol(build.library, name);
        CHECK(run != NULL);
        if (run != NULL) compare_all(operators[i], run);
    }
    native_unload(build.library);
    arena_free(&arena);
    return test_done();
}
