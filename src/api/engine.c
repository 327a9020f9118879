// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a program: lowered, written as C, built in a thread of their own, called.
#define _POSIX_C_SOURCE 200809L
#include "api/engine.h"

#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "core/messages.h"
#include "dev/native.h"
#include "emit/emit.h"
#include "loop/loop.h"
#include "opt/passes.h"

typedef struct EngineKernel {
    const CoreFun *fun;
    LoopKernel *loop;
    Kernel *run; // once built
    uint64_t *in, *out;
    RtArray **owned; // by param: the array handed over
    RtArray **made;  // by result: memory that the kernel asked for
} EngineKernel;

typedef enum BuildState { BUILD_RUNS, BUILD_DONE, BUILD_FAILED } BuildState;

struct ApiEngine {
    WeftContext *context;
    EngineKernel *kernels;
    EmitChecks *checks; // by kernel
    uint32_t count;
    Map by_fun; // address of a CoreFun -> 1 + kernel
    // The build, in its own thread with its own memory.
    Str source;
    pthread_t thread;
    bool has_thread, is_joined;
    Mem mem;
    Arena arena;
    NativeCompiler compiler;
    atomic_int state; // BuildState
    atomic_bool cancel;
    void *library;
    bool was_cached;
    Str why;
};

// ---- building -----------------------------------------------------------------------

static BuildState build(ApiEngine *engine) {
    NativeBuild build = {.compiler = &engine->compiler,
                         .source = engine->source,
                         .arena = &engine->arena,
                         .cancel = &engine->cancel};
    if (native_build(&build, &engine->library, &engine->was_cached, &engine->why) !=
        STATUS_OK)
        return BUILD_FAILED;
    for (uint32_t i = 0; i < engine->count; i++) {
        StrBuf name = strbuf(&engine->arena);
        strbuf_printf(&name, "weft_kernel_%u", i);
        void *address = native_symbol(
            engine->library, str_terminated(&engine->arena, strbuf_done(&name)));
        engine->kernels[i].run = (Kernel *)(uintptr_t)address;
        if (address == NULL) engine->why = STR("compiled code lacks a kernel");
        if (address == NULL) return BUILD_FAILED;
    }
    return BUILD_DONE;
}

static void *build_in_thread(void *data) {
    ApiEngine *engine = data;
    jmp_buf recover;
    BuildState state = BUILD_FAILED;
    engine->mem.recover = &recover;
    if (setjmp(recover) == 0) {
        state = build(engine);
    } else {
        engine->why = STR("out of memory");
    }
    atomic_store(&engine->state, state);
    return NULL;
}

static void join(ApiEngine *engine) {
    if (engine->has_thread && !engine->is_joined) pthread_join(engine->thread, NULL);
    engine->is_joined = true;
}

WeftStatus api_engine_wait(ApiEngine *engine) {
    while (atomic_load(&engine->state) == BUILD_RUNS) {
        if (atomic_load(&engine->context->cancel)) return WEFT_STATUS_CANCELLED;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    join(engine);
    if (atomic_load(&engine->state) == BUILD_DONE) return WEFT_STATUS_OK;
    return api_fail(engine->context, WEFT_STATUS_IO,
                    "the native engine cannot run: %.*s", STR_ARG(engine->why));
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

static uint32_t slots_of(const LoopPort *ports, uint32_t count) {
    uint32_t slots = 0;
    for (uint32_t i = 0; i < count; i++) slots += 1u + ports[i].type.rank;
    return slots;
}

static WeftStatus add_kernel(WeftProgram *program, ApiEngine *engine,
                             const CoreFun *fun, bool must) {
    Arena *arena = &program->arena;
    const char *why = "";
    LoopKernel *loop = lower(program, fun, &why);
    if (loop == NULL) {
        if (!must) return WEFT_STATUS_OK;
        CoreLoc loc = fun->body->stms.data[fun->body->stms.len - 1]->loc;
        Str place = sources_show(&program->cx.sources, &program->context->scratch,
                                 program->core->places.data[loc].span);
        return api_fail(program->context, WEFT_STATUS_USAGE,
                        "the native engine cannot run %.*s: %s", STR_ARG(place), why);
    }
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

static WeftStatus make_kernels(WeftProgram *program, ApiEngine *engine, bool must) {
    CoreProgram *core = program->core;
    opt_outline(core);
    engine->kernels = arena_array(&program->arena, EngineKernel, core->funs.len);
    map_init(&engine->by_fun, &program->arena);
    for (uint32_t i = 0; i < core->funs.len; i++) {
        if (core->funs.data[i]->kernel == CORE_NO_KERNEL) continue;
        WeftStatus status = add_kernel(program, engine, core->funs.data[i], must);
        if (status != WEFT_STATUS_OK) return status;
    }
    return WEFT_STATUS_OK;
}

static void write_source(WeftProgram *program, ApiEngine *engine, bool for_people,
                         StrBuf *out) {
    LoopKernel **loops = arena_array(&program->arena, LoopKernel *, engine->count);
    for (uint32_t i = 0; i < engine->count; i++) loops[i] = engine->kernels[i].loop;
    engine->checks = arena_array(&program->arena, EmitChecks, engine->count);
    emit_kernels(&emit_c, loops, engine->count, for_people, out, engine->checks);
}

WeftStatus api_engine_new(WeftProgram *program, bool must, ApiEngine **out) {
    WeftContext *context = program->context;
    ApiEngine *engine = arena_new(&program->arena, ApiEngine);
    engine->context = context;
    arena_init(&engine->arena, &engine->mem);
    *out = NULL;
    WeftStatus status = make_kernels(program, engine, must);
    if (status != WEFT_STATUS_OK || engine->count == 0) return status;
    if (!native_find(&program->arena, &engine->compiler, &engine->why)) {
        if (must)
            return api_fail(context, WEFT_STATUS_USAGE,
                            "the native engine cannot run: %.*s", STR_ARG(engine->why));
        api_warn(context, "%.*s: programs are interpreted, which is slower",
                 STR_ARG(engine->why));
        return WEFT_STATUS_OK;
    }
    StrBuf text = strbuf(&program->arena);
    write_source(program, engine, false, &text);
    engine->source = strbuf_done(&text);
    engine->has_thread = thread_start(&engine->thread, build_in_thread, engine);
    if (!engine->has_thread) build_in_thread(engine);
    *out = engine;
    return WEFT_STATUS_OK;
}

void api_engine_print(WeftProgram *program, StrBuf *out) {
    ApiEngine engine = {.context = program->context};
    make_kernels(program, &engine, false);
    write_source(program, &engine, true, out);
}

// ---- one call -----------------------------------------------------------------------

typedef struct KernelRun {
    ApiEngine *engine;
    EngineKernel *kernel;
    const InterpOffer *offer;
    InterpError *error;
    KernelEnv env;      // of the root code
    KernelEnv *workers; // of parallel loops; NULL before the first
    RtWorker *self;     // while in the pool
} KernelRun;

static void *make_result(KernelEnv *env, uint32_t number, uint32_t rank,
                         const int64_t *shape) {
    KernelRun *run = env->host;
    EngineKernel *kernel = run->kernel;
    ScalarType elem = (ScalarType)kernel->loop->results[number].type.elem;
    RtArray *array = rt_new(&run->engine->context->heap, elem, rank, shape);
    if (array == NULL) return NULL;
    rt_release(&run->engine->context->heap, kernel->made[number]);
    kernel->made[number] = array;
    return array->data;
}

typedef struct ChunkEnv {
    KernelRun *run;
    KernelChunk *chunk;
    const void *frame;
} ChunkEnv;

static int32_t run_chunk(void *data, RtWorker *self, int64_t begin, int64_t end,
                         int64_t *failed_out) {
    ChunkEnv *env = data;
    return env->chunk(&env->run->workers[rt_worker_number(self)], env->frame, begin,
                      end, failed_out);
}

static void keep_fault(void *data, RtWorker *self) {
    ChunkEnv *env = data;
    env->run->env.fault = env->run->workers[rt_worker_number(self)].fault;
}

static int32_t run_parallel(KernelEnv *root, int64_t n, int64_t grain,
                            KernelChunk *chunk, const void *frame) {
    KernelRun *run = root->host;
    int64_t failed = 0;
    ApiWorkers *workers = n <= grain ? NULL : api_workers(run->engine->context);
    if (workers == NULL || rt_pool_threads(workers->pool) == 1)
        return chunk(root, frame, 0, n, &failed);
    if (run->self == NULL) run->self = rt_pool_enter(workers->pool);
    unsigned count = rt_pool_threads(workers->pool);
    run->workers = workers->envs;
    for (unsigned i = 0; i < count; i++) {
        rt_private_open(&workers->memory[i], &run->engine->context->mem,
                        &workers->envs[i]);
        workers->envs[i].cancel = root->cancel;
    }
    ChunkEnv env = {run, chunk, frame};
    RtLoop loop = {.count = n,
                   .grain = grain,
                   .body = run_chunk,
                   .env = &env,
                   .cancel = &run->engine->context->cancel,
                   .keep = keep_fault};
    RtEnd end = rt_for(run->self, &loop);
    for (unsigned i = 0; i < count; i++)
        rt_private_close(&workers->memory[i], &workers->envs[i]);
    return end == RT_DONE     ? KERNEL_OK
           : end == RT_FAILED ? loop.status
                              : KERNEL_CANCELLED;
}

// ---- arguments and results ----------------------------------------------------------

// The array as the kernel wants it: row-major, and its own if it is to be overwritten.
static RtArray *prepare_array(RtHeap *heap, RtArray *array, bool is_owned,
                              bool may_take) {
    if (!is_owned) return rt_contiguous(heap, rt_retain(array));
    if (may_take && rt_is_contiguous(array) && rt_is_unshared(array))
        return rt_retain(array);
    RtArray *copy = rt_new(heap, array->elem, array->rank, array->shape);
    int64_t strides[CORE_MAX_RANK], stride = 1;
    for (uint32_t d = array->rank; d-- > 0; stride *= array->shape[d])
        strides[d] = stride;
    if (copy != NULL)
        rt_copy_elements(copy->data, strides, array->data, array->strides, array->rank,
                         array->shape, scalar_info[array->elem].bytes);
    return copy;
}

static bool put_args(KernelRun *run) {
    EngineKernel *kernel = run->kernel;
    uint64_t *slot = kernel->in;
    for (uint32_t i = 0; i < kernel->loop->param_count; i++) {
        const RtValue *arg = &run->offer->args[i];
        if (arg->rank == 0) {
            *slot++ = arg->bits;
            continue;
        }
        RtArray *array =
            prepare_array(&run->engine->context->heap, arg->array,
                          kernel->loop->params[i].is_owned, run->offer->may_take[i]);
        if (array == NULL) return false;
        kernel->owned[i] = array;
        *slot++ = (uint64_t)(uintptr_t)array->data;
        for (uint32_t d = 0; d < array->rank; d++) *slot++ = (uint64_t)array->shape[d];
    }
    return true;
}

// The array whose memory a result lies in; it leaves the kernel's books.
static RtArray *take_array(EngineKernel *kernel, uint32_t result, const char *data) {
    RtArray **from = &kernel->made[result];
    if (*from == NULL || (*from)->data != data) {
        from = NULL;
        for (uint32_t i = 0; i < kernel->loop->param_count && from == NULL; i++)
            if (kernel->owned[i] != NULL && kernel->owned[i]->data == data &&
                kernel->loop->params[i].is_owned)
                from = &kernel->owned[i];
    }
    if (from == NULL) return NULL;
    RtArray *array = *from;
    *from = NULL;
    return array;
}

static bool take_results(KernelRun *run) {
    EngineKernel *kernel = run->kernel;
    const uint64_t *slot = kernel->out;
    for (uint32_t i = 0; i < kernel->loop->result_count; i++) {
        CoreType type = kernel->loop->results[i].type;
        RtValue *value = &run->offer->results[i];
        *value = (RtValue){.elem = (ScalarType)type.elem, .rank = type.rank};
        uint64_t first = *slot++;
        if (type.rank == 0) {
            value->bits = first;
            continue;
        }
        value->array = take_array(kernel, i, (const char *)(uintptr_t)first);
        if (value->array == NULL) return false;
        slot += type.rank;
    }
    return true;
}

static void release_all(KernelRun *run) {
    RtHeap *heap = &run->engine->context->heap;
    EngineKernel *kernel = run->kernel;
    for (uint32_t i = 0; i < kernel->loop->param_count; i++) {
        rt_release(heap, kernel->owned[i]);
        kernel->owned[i] = NULL;
    }
    for (uint32_t i = 0; i < kernel->loop->result_count; i++) {
        rt_release(heap, kernel->made[i]);
        kernel->made[i] = NULL;
    }
}

// ---- failures -----------------------------------------------------------------------

static void tell_fault(KernelRun *run) {
    uint32_t number = (uint32_t)(run->kernel - run->engine->kernels);
    const LoopStm *check = run->engine->checks[number].data[run->env.fault.check];
    ScalarType types[KERNEL_FAULT_VALUES];
    for (uint32_t i = 1; i < check->arg_count; i++)
        types[i - 1] =
            (ScalarType)run->kernel->loop->values.data[check->args[i]].type.elem;
    StrBuf text = strbuf(&run->engine->context->scratch);
    core_fill_in(&text, check->text, check->arg_count - 1, types,
                 run->env.fault.values);
    run->error->status = STATUS_RUNTIME;
    run->error->loc = check->loc;
    run->error->message = strbuf_done(&text);
}

static void tell_end(KernelRun *run, int32_t status) {
    switch ((KernelStatus)status) {
    case KERNEL_OK: run->error->status = STATUS_OK; return;
    case KERNEL_FAULT: tell_fault(run); return;
    case KERNEL_MEMORY:
        run->error->status = STATUS_MEMORY;
        run->error->message = STR("out of memory");
        return;
    case KERNEL_CANCELLED:
        run->error->status = STATUS_CANCELLED;
        run->error->message = STR("cancelled");
        return;
    }
}

// ---- the offer ----------------------------------------------------------------------

// A kernel that hides parallel work is for small arrays only.
static bool is_small(const InterpOffer *offer) {
    enum { SMALL = 1 << 14 };
    int64_t total = 0;
    for (uint32_t i = 0; i < offer->kernel->body->param_count; i++)
        if (offer->args[i].rank > 0) total += rt_count(offer->args[i].array);
    return total <= SMALL;
}

bool api_engine_run(void *data, const InterpOffer *offer, InterpError *error_out) {
    ApiEngine *engine = data;
    uint64_t number;
    if (atomic_load(&engine->state) != BUILD_DONE) return false;
    if (!map_get(&engine->by_fun, (uint64_t)(uintptr_t)offer->kernel, &number))
        return false;
    if (offer->kernel->otherwise != 0 && !is_small(offer)) return false;
    WeftContext *context = engine->context;
    ApiWorkers *workers = api_workers(context);
    if (workers == NULL) return false;
    EngineKernel *kernel = &engine->kernels[number - 1];
    KernelRun run = {
        .engine = engine, .kernel = kernel, .offer = offer, .error = error_out};
    run.env = (KernelEnv){.cancel = (const volatile bool *)&context->cancel,
                          .host = &run,
                          .result = make_result,
                          .parallel = run_parallel};
    rt_private_open(&workers->root, &context->mem, &run.env);
    int32_t status = KERNEL_MEMORY;
    memset(kernel->owned, 0, kernel->loop->param_count * sizeof *kernel->owned);
    memset(kernel->made, 0, kernel->loop->result_count * sizeof *kernel->made);
    if (put_args(&run)) status = kernel->run(&run.env, kernel->in, kernel->out);
    if (run.self != NULL) rt_pool_leave(workers->pool);
    rt_private_close(&workers->root, &run.env);
    if (status == KERNEL_OK && !take_results(&run)) status = KERNEL_MEMORY;
    tell_end(&run, status);
    release_all(&run);
    return true;
}
