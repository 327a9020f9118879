// SPDX-License-Identifier: Apache-2.0
//
// Engines made and built (engine.h): kernels are lowered and written as C by the thread
// that calls; only the compiler is waited for in a thread of its own.
#define _POSIX_C_SOURCE 200809L
#include "api/engine.h"

#include <time.h>

#include "base/thread.h"
#include "loop/loop.h"
#include "opt/passes.h"

// ---- building -----------------------------------------------------------------------

static EngineState build(ApiEngine *engine) {
    bool was_cached;
    NativeBuild build = {.compiler = &engine->compiler,
                         .source = engine->source,
                         .arena = &engine->arena,
                         .cancel = &engine->cancel};
    if (native_build(&build, &engine->library, &was_cached, &engine->why) != STATUS_OK)
        return ENGINE_FAILED;
    for (uint32_t i = 0; i < engine->count; i++) {
        StrBuf name = strbuf(&engine->arena);
        strbuf_printf(&name, "weft_kernel_%u", i);
        void *address = native_symbol(
            engine->library, str_terminated(&engine->arena, strbuf_done(&name)));
        engine->kernels[i].run = (Kernel *)(uintptr_t)address;
        if (address == NULL) engine->why = STR("compiled code lacks a kernel");
        if (address == NULL) return ENGINE_FAILED;
    }
    return ENGINE_READY;
}

static void *build_in_thread(void *data) {
    ApiEngine *engine = data;
    jmp_buf recover;
    volatile EngineState state = ENGINE_FAILED;
    engine->mem.recover = &recover;
    if (setjmp(recover) == 0) state = build(engine);
    else engine->why = STR("out of memory");
    atomic_store(&engine->state, state);
    return NULL;
}

static void join(ApiEngine *engine) {
    if (engine->has_thread) pthread_join(engine->thread, NULL);
    engine->has_thread = false;
}

WeftStatus api_engine_wait(ApiEngine *engine) {
    WeftContext *context = engine->program->context;
    while (atomic_load(&engine->state) == ENGINE_BUILDS) {
        if (atomic_load(&context->cancel)) return WEFT_STATUS_CANCELLED;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    join(engine);
    if (atomic_load(&engine->state) == ENGINE_READY) return WEFT_STATUS_OK;
    return api_fail(context, WEFT_STATUS_IO, "the native engine cannot run: %.*s",
                    STR_ARG(engine->why));
}

void api_engine_free(ApiEngine *engine) {
    if (engine == NULL) return;
    atomic_store(&engine->cancel, true);
    join(engine);
    native_unload(engine->library);
    arena_free(&engine->arena);
}

// ---- making kernels -----------------------------------------------------------------

// The function as a kernel: parallel if it can be, else in one thread.
static LoopKernel *lower(WeftProgram *program, const CoreFun *fun,
                         const char **why_out) {
    LoopKernel *loop = NULL;
    if (fun->kernel == CORE_PARALLEL_KERNEL)
        loop = loop_lower(program->core, fun, true, &program->arena, why_out);
    if (loop == NULL)
        loop = loop_lower(program->core, fun, false, &program->arena, why_out);
    return loop;
}

static WeftStatus refuse(ApiEngine *engine, const CoreFun *fun, const char *why) {
    if (!engine->must) return WEFT_STATUS_OK;
    WeftProgram *program = engine->program;
    CoreLoc loc = fun->body->stms.data[fun->body->stms.len - 1]->loc;
    Str place = sources_show(&program->cx.sources, &program->context->scratch,
                             program->core->places.data[loc].span);
    return api_fail(program->context, WEFT_STATUS_USAGE,
                    "the native engine cannot run %.*s: %s", STR_ARG(place), why);
}

static uint32_t slots_of(const LoopPort *ports, uint32_t count) {
    uint32_t slots = 0;
    for (uint32_t i = 0; i < count; i++) slots += 1u + ports[i].type.rank;
    return slots;
}

static WeftStatus add_kernel(ApiEngine *engine, const CoreFun *fun) {
    Arena *arena = &engine->program->arena;
    const char *why = "";
    LoopKernel *loop = lower(engine->program, fun, &why);
    if (loop == NULL) return refuse(engine, fun, why);
    EngineKernel *kernel = &engine->kernels[engine->count++];
    kernel->fun = fun;
    kernel->loop = loop;
    kernel->in =
        arena_array(arena, uint64_t, slots_of(loop->params, loop->param_count));
    kernel->out =
        arena_array(arena, uint64_t, slots_of(loop->results, loop->result_count));
    kernel->owned = arena_array(arena, RtArray *, loop->param_count);
    kernel->made = arena_array(arena, RtArray *, loop->result_count);
    map_set(&engine->by_fun, (uint64_t)(uintptr_t)fun, engine->count);
    return WEFT_STATUS_OK;
}

static WeftStatus make_kernels(ApiEngine *engine) {
    WeftProgram *program = engine->program;
    CoreProgram *core = program->core;
    engine->kernels = arena_array(&program->arena, EngineKernel, core->funs.len);
    map_init(&engine->by_fun, &program->arena);
    for (uint32_t i = 0; i < core->funs.len; i++) {
        if (core->funs.data[i]->kernel == CORE_NO_KERNEL) continue;
        WeftStatus status = add_kernel(engine, core->funs.data[i]);
        if (status != WEFT_STATUS_OK) return status;
    }
    return WEFT_STATUS_OK;
}

static void write_source(ApiEngine *engine, bool for_people, StrBuf *out) {
    Arena *arena = &engine->program->arena;
    LoopKernel **loops = arena_array(arena, LoopKernel *, engine->count);
    EmitChecks *checks = arena_array(arena, EmitChecks, engine->count);
    for (uint32_t i = 0; i < engine->count; i++) loops[i] = engine->kernels[i].loop;
    emit_kernels(&emit_c, loops, engine->count, for_people, out, checks);
    for (uint32_t i = 0; i < engine->count; i++) engine->kernels[i].checks = checks[i];
}

// ---- engines ------------------------------------------------------------------------

WeftStatus api_engine_start(ApiEngine *engine) {
    WeftProgram *program = engine->program;
    atomic_store(&engine->state, ENGINE_FAILED); // in case memory runs out
    engine->why = STR("out of memory");
    if (!native_find(&program->arena, &engine->compiler, &engine->why)) {
        if (engine->must)
            return api_fail(program->context, WEFT_STATUS_USAGE,
                            "the native engine cannot run: %.*s", STR_ARG(engine->why));
        api_warn(program->context, "%.*s: programs are interpreted, which is slower",
                 STR_ARG(engine->why));
        return WEFT_STATUS_OK;
    }
    WeftStatus status = make_kernels(engine);
    if (status != WEFT_STATUS_OK) return status;
    StrBuf text = strbuf(&program->arena);
    write_source(engine, false, &text);
    engine->source = strbuf_done(&text);
    atomic_store(&engine->state, engine->count == 0 ? ENGINE_READY : ENGINE_BUILDS);
    if (engine->count == 0) return WEFT_STATUS_OK;
    engine->has_thread = thread_start(&engine->thread, build_in_thread, engine);
    if (!engine->has_thread) build_in_thread(engine);
    return WEFT_STATUS_OK;
}

static ApiEngine *make_engine(WeftProgram *program, bool must) {
    ApiEngine *engine = arena_new(&program->arena, ApiEngine);
    engine->program = program;
    engine->must = must;
    arena_init(&engine->arena, &engine->mem);
    return engine;
}

WeftStatus api_engine_new(WeftProgram *program) {
    WeftEngine wanted = program->context->options.engine;
    if (wanted == WEFT_ENGINE_INTERP) return WEFT_STATUS_OK;
    opt_outline(program->core);
    program->engine = make_engine(program, wanted == WEFT_ENGINE_NATIVE);
    return program->engine->must ? api_engine_start(program->engine) : WEFT_STATUS_OK;
}

void api_engine_print(WeftProgram *program, ApiStage stage, StrBuf *out) {
    opt_outline(program->core);
    ApiEngine *engine = make_engine(program, false);
    make_kernels(engine);
    if (stage == API_STAGE_C) write_source(engine, true, out);
    for (uint32_t i = 0; i < engine->count && stage == API_STAGE_LOOP; i++)
        loop_print(engine->kernels[i].loop, out);
}
