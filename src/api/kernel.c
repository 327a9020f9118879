// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel by the interpreter: whether to take it, its arguments and
// results, its parallel loops, its failures.
#include "api/engine.h"

#include <string.h>

#include "base/clock.h"
#include "core/messages.h"
#include "loop/loop.h"

// ---- while it runs ------------------------------------------------------------------

typedef struct KernelRun {
    WeftContext *context;
    const WeftProgram *program;
    EngineKernel *kernel;
    const InterpOffer *offer;
    InterpError *error;
    KernelEnv env;      // of the root code
    KernelEnv *workers; // of parallel loops; NULL before the first
    RtWorker *self;     // while in the pool
    // Polls since people were last thought of, after how many it is done again, and
    // when it was.
    uint32_t polls, interval;
    double looked;
} KernelRun;

static void *make_result(KernelEnv *env, uint32_t number, uint32_t rank,
                         const int64_t *shape) {
    KernelRun *run = env->host;
    EngineKernel *kernel = run->kernel;
    ScalarType elem = (ScalarType)kernel->loop->results[number].type.elem;
    RtArray *array = rt_new(&run->context->heap, elem, rank, shape);
    if (array == NULL) return NULL;
    rt_release(&run->context->heap, kernel->made[number]);
    kernel->made[number] = array;
    return array->data;
}

// Looks at the clock often enough to tell people some ten times a second, and else as
// seldom as it can.
static void tell_progress(KernelRun *run, double fraction) {
    enum { MOST_POLLS = 1 << 20 };
    if (++run->polls < run->interval) return;
    double now = clock_seconds(), passed = now - run->looked;
    run->looked = now;
    run->polls = 0;
    if (passed < 0.005 && run->interval < MOST_POLLS) run->interval *= 2;
    if (passed > 0.02 && run->interval > 1) run->interval /= 2;
    if (!api_is_progress_due(run->context)) return;
    api_progress_at(run->program, run->offer->loc, fraction < 1 ? fraction : 1);
}

static bool poll_root(KernelEnv *env, int64_t done, int64_t total) {
    KernelRun *run = env->host;
    if (run->context->options.progress != NULL)
        tell_progress(run, total > 0 ? (double)done / (double)total : -1);
    return *env->cancel;
}

static bool poll_worker(KernelEnv *env, int64_t done, int64_t total) {
    (void)done, (void)total;
    return *env->cancel;
}

typedef struct ChunkEnv {
    KernelRun *run;
    KernelChunk *chunk;
    const void *frame;
    int64_t done, total; // turns; done by worker 0
    unsigned threads;
} ChunkEnv;

static int32_t run_chunk(void *data, RtWorker *self, int64_t begin, int64_t end,
                         int64_t *failed_out) {
    ChunkEnv *env = data;
    unsigned number = rt_worker_number(self);
    if (number == 0) { // the thread of the call, which alone may tell people
        env->done += end - begin;
        poll_root(&env->run->env, env->done * (int64_t)env->threads, env->total);
    }
    return env->chunk(&env->run->workers[number], env->frame, begin, end, failed_out);
}

static void keep_fault(void *data, RtWorker *self) {
    ChunkEnv *env = data;
    env->run->env.fault = env->run->workers[rt_worker_number(self)].fault;
}

// All of a loop in the thread of the call, in strips after each of which it polls.
static int32_t run_alone(KernelEnv *root, int64_t n, int64_t grain, KernelChunk *chunk,
                         const void *frame) {
    int64_t failed, strip = 64 * grain;
    for (int64_t begin = 0; begin < n;) {
        int64_t end = n - begin > strip ? begin + strip : n;
        int32_t status = chunk(root, frame, begin, end, &failed);
        if (status != KERNEL_OK) return status;
        if (root->poll(root, end, n)) return KERNEL_CANCELLED;
        begin = end;
    }
    return KERNEL_OK;
}

static int32_t run_parallel(KernelEnv *root, int64_t n, int64_t grain,
                            KernelChunk *chunk, const void *frame) {
    KernelRun *run = root->host;
    ApiWorkers *workers = run->context->workers;
    if (n <= grain || rt_pool_threads(workers->pool) == 1)
        return run_alone(root, n, grain, chunk, frame);
    if (run->self == NULL) run->self = rt_pool_enter(workers->pool);
    unsigned count = rt_pool_threads(workers->pool);
    run->workers = workers->envs;
    for (unsigned i = 0; i < count; i++) {
        rt_private_open(&workers->memory[i], &run->context->mem, &workers->envs[i]);
        workers->envs[i].cancel = root->cancel;
        workers->envs[i].poll = poll_worker;
    }
    ChunkEnv env = {run, chunk, frame, 0, n, count};
    RtLoop loop = {.count = n,
                   .grain = grain,
                   .body = run_chunk,
                   .env = &env,
                   .cancel = &run->context->cancel,
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
            prepare_array(&run->context->heap, arg->array,
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
    RtHeap *heap = &run->context->heap;
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
    const LoopStm *check = run->kernel->checks.data[run->env.fault.check];
    ScalarType types[KERNEL_FAULT_VALUES];
    for (uint32_t i = 1; i < check->arg_count; i++)
        types[i - 1] =
            (ScalarType)run->kernel->loop->values.data[check->args[i]].type.elem;
    StrBuf text = strbuf(&run->context->scratch);
    core_fill_in(&text, check->text, check->arg_count - 1, types,
                 run->env.fault.values);
    run->error->status = STATUS_RUNTIME;
    run->error->loc = check->loc;
    run->error->message = strbuf_done(&text);
    const KernelFault *fault = &run->env.fault;
    run->error->call_count = (uint32_t)fault->call_count;
    run->error->calls =
        arena_array(&run->context->scratch, CoreLoc, run->error->call_count);
    for (uint32_t i = 0; i < run->error->call_count; i++)
        run->error->calls[i] = run->kernel->checks.data[fault->calls[i]]->loc;
}

static void tell_end(KernelRun *run, int32_t status) {
    switch ((KernelStatus)status) {
    case KERNEL_OK: run->error->status = STATUS_OK; return;
    case KERNEL_FAULT: tell_fault(run); return;
    case KERNEL_MEMORY:
        run->error->status = STATUS_MEMORY;
        run->error->loc = run->offer->loc;
        run->error->message = STR("out of memory");
        return;
    case KERNEL_CANCELLED:
        run->error->status = STATUS_CANCELLED;
        run->error->message = STR("cancelled");
        return;
    }
}

// ---- the offer ----------------------------------------------------------------------

// About how many statements run for each element that a body is applied to.
static double cost_of(const CoreBody *body) {
    double cost = 1;
    for (uint32_t i = 0; i < body->stms.len && cost < 1e6; i++) {
        const CoreStm *stm = body->stms.data[i];
        bool repeats =
            stm->op == OP_FOR || stm->op == OP_WHILE || stm->op == OP_GENERATE;
        cost += 1;
        for (uint32_t k = 0; k < stm->body_count; k++)
            cost += cost_of(stm->bodies[k]) * (repeats ? 16 : 1);
    }
    return cost;
}

// What a size is in this call; 0 if that is not known.
static double size_of(const InterpOffer *offer, const CoreProgram *core, CoreRef ref) {
    const CoreBody *body = offer->kernel->body;
    if (core_is_const(core, ref)) return (double)(int64_t)core->values.data[ref].bits;
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == ref) return (double)(int64_t)offer->args[i].bits;
    return 0;
}

static double elements_of(const InterpOffer *offer) {
    double total = 0;
    for (uint32_t i = 0; i < offer->kernel->body->param_count; i++)
        if (offer->args[i].rank > 0) total += (double)rt_count(offer->args[i].array);
    return total;
}

// About how many statements the interpreter would run; loops of unknown length count
// little, for time tells about them.
static double work_of(const InterpOffer *offer, const CoreProgram *core) {
    const CoreBody *body = offer->kernel->body;
    const CoreStm *stm = body->stms.data[body->stms.len - 1];
    double rounds = elements_of(offer);
    if (stm->op == OP_GENERATE) {
        rounds = 1;
        for (int32_t d = 0; d < stm->attrs[0]; d++)
            rounds *= size_of(offer, core, stm->args[d]);
    }
    if (stm->op == OP_FOR) rounds = size_of(offer, core, stm->args[0]);
    double cost = 1;
    for (uint32_t i = 0; i < stm->body_count; i++) cost += cost_of(stm->bodies[i]);
    return rounds * cost;
}

// Starts the build. Memory that is too short for it is still enough to interpret.
static bool start(ApiEngine *engine) {
    Mem *mem = &engine->program->context->mem;
    jmp_buf recover, *outer = mem->recover;
    volatile bool started = false;
    mem->recover = &recover;
    if (setjmp(recover) == 0) started = api_engine_start(engine) == WEFT_STATUS_OK;
    mem->recover = outer;
    return started;
}

// Whether the kernels can run. An engine that only may run them starts when it would
// pay: the build takes about a tenth of a second, in which the interpreter runs some
// five million statements. Work that is much longer waits for it.
static bool is_ready(ApiEngine *engine, const InterpOffer *offer, InterpError *error) {
    enum { WORTH = 1000000, WORTH_WAITING = 20000000 };
    static const double long_seconds = 0.05;
    WeftContext *context = engine->program->context;
    int state = atomic_load(&engine->state);
    if (state == ENGINE_READY || state == ENGINE_FAILED) return state == ENGINE_READY;
    double work = work_of(offer, engine->program->core);
    if (state == ENGINE_IDLE) {
        if (work < WORTH && api_seconds(context) < long_seconds) return false;
        if (!start(engine)) return false;
    }
    if (work < WORTH_WAITING) return atomic_load(&engine->state) == ENGINE_READY;
    WeftStatus status = api_engine_wait(engine);
    if (status == WEFT_STATUS_CANCELLED) error->status = STATUS_CANCELLED;
    return status == WEFT_STATUS_OK;
}

// A kernel that hides parallel work is for small arrays only.
static bool is_for_host(const InterpOffer *offer) {
    enum { SMALL = 1 << 14 };
    return offer->kernel->otherwise != 0 && elements_of(offer) > SMALL;
}

bool api_engine_run(void *data, const InterpOffer *offer, InterpError *error_out) {
    ApiEngine *engine = data;
    WeftContext *context = engine->program->context;
    uint64_t number;
    if (is_for_host(offer)) return false;
    if (!is_ready(engine, offer, error_out)) return error_out->status != STATUS_OK;
    if (!map_get(&engine->by_fun, (uint64_t)(uintptr_t)offer->kernel, &number))
        return false;
    ApiWorkers *workers = api_workers(context);
    if (workers == NULL) return false;
    EngineKernel *kernel = &engine->kernels[number - 1];
    KernelRun run = {.context = context,
                     .program = engine->program,
                     .kernel = kernel,
                     .offer = offer,
                     .error = error_out,
                     .interval = 1};
    run.env = (KernelEnv){.cancel = (const volatile bool *)&context->cancel,
                          .host = &run,
                          .poll = poll_root,
                          .result = make_result,
                          .parallel = run_parallel};
    rt_private_open(&workers->root, &context->mem, &run.env);
    memset(kernel->owned, 0, kernel->loop->param_count * sizeof *kernel->owned);
    memset(kernel->made, 0, kernel->loop->result_count * sizeof *kernel->made);
    int32_t status = KERNEL_MEMORY;
    if (put_args(&run)) status = kernel->run(&run.env, kernel->in, kernel->out);
    if (run.self != NULL) rt_pool_leave(workers->pool);
    rt_private_close(&workers->root, &run.env);
    if (status == KERNEL_OK && !take_results(&run)) status = KERNEL_MEMORY;
    tell_end(&run, status);
    release_all(&run);
    return true;
}
