// SPDX-License-Identifier: Apache-2.0
//
// Whether to take a kernel that the interpreter offers: whether it is built, and
// otherwise how much work it is and what waiting for its build would cost.
#include <math.h>

#include "api/ahead.h"
#include "base/clock.h"
#include "core/rules.h"
#include "plan/plan.h"

// ---- how much it is -----------------------------------------------------------------

// What a param is in this call; 0: it is none. A PlanSize.
static double param_of(const void *data, CoreRef ref) {
    const InterpOffer *offer = data;
    const CoreBody *body = offer->kernel->body;
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == ref) return (double)(int64_t)offer->args[i].bits;
    return 0;
}

// What a size is in this call; 0 if that is not known.
static double size_of(const InterpOffer *offer, const CoreProgram *core, CoreRef ref) {
    if (core_is_const(core, ref)) return (double)(int64_t)core->values.data[ref].bits;
    return param_of(offer, ref);
}

// How often the body of a nested loop runs; some number if that is not known.
static double turns_of(const InterpOffer *offer, const CoreProgram *core,
                       const CoreStm *stm) {
    enum { SOME = 16 };
    double turns = 1;
    if (stm->op == OP_WHILE) return SOME;
    if (stm->op != OP_FOR && stm->op != OP_GENERATE) return 1;
    int32_t rank = stm->op == OP_FOR ? 1 : stm->attrs[0];
    for (int32_t d = 0; d < rank; d++) turns *= size_of(offer, core, stm->args[d]);
    return turns > 0 ? turns : SOME;
}

// About how many statements run for each element that a body is applied to.
static double cost_of(const InterpOffer *offer, const CoreProgram *core,
                      const CoreBody *body) {
    double cost = 1;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        cost += 1;
        for (uint32_t k = 0; k < stm->body_count; k++)
            cost += cost_of(offer, core, stm->bodies[k]) * turns_of(offer, core, stm);
    }
    return cost;
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
    for (uint32_t i = 0; i < body->stms.len; i++) // arrays that need no memory
        if (body->stms.data[i]->op == OP_IOTA || body->stms.data[i]->op == OP_REPLICATE)
            rounds += size_of(offer, core, body->stms.data[i]->args[0]);
    if (stm->op == OP_GENERATE) {
        rounds = 1;
        for (int32_t d = 0; d < stm->attrs[0]; d++)
            rounds *= size_of(offer, core, stm->args[d]);
    }
    if (stm->op == OP_FOR) rounds = size_of(offer, core, stm->args[0]);
    double cost = 1;
    for (uint32_t i = 0; i < stm->body_count; i++)
        cost += cost_of(offer, core, stm->bodies[i]);
    return rounds * cost;
}

// ---- whether it is built ------------------------------------------------------------

// Starts the engine, or goes on with its builds and, if that pays, waits for this one.
static WeftStatus build(ApiEngine *engine, EngineGroup *group, double work) {
    enum { WORTH_WAITING = 20000000, WORK_PER_VALUE = 40000 };
    if (engine->state == ENGINE_IDLE) return api_engine_start(engine);
    if (work > WORTH_WAITING && work > WORK_PER_VALUE * (double)group->size)
        return api_builds_wait(engine, group);
    api_builds_poll(engine, group);
    return WEFT_STATUS_OK;
}

// Memory that is too short for a build is still enough to interpret.
static WeftStatus try_build(ApiEngine *engine, EngineGroup *group, double work) {
    Mem *mem = &engine->program->context->mem;
    jmp_buf recover, *outer = mem->recover;
    volatile WeftStatus status = WEFT_STATUS_MEMORY;
    mem->recover = &recover;
    if (setjmp(recover) == 0) status = build(engine, group, work);
    mem->recover = outer;
    return status;
}

// The kernel, if it can run. An engine that only may run kernels starts when it would
// pay: a build takes a tenth of a second or more, in which the interpreter runs some
// five million statements, of one call or of many. Work that is much longer waits for
// it.
static EngineKernel *find_kernel(ApiEngine *engine, const InterpOffer *offer,
                                 InterpError *error) {
    enum { WORTH = 1000000 };
    static const double long_seconds = 0.05;
    double work = 0;
    if (engine->state == ENGINE_IDLE) {
        double so_far = engine->idle_seconds + api_seconds(engine->program->context);
        work = work_of(offer, engine->program->core);
        if (work < WORTH && so_far < long_seconds) return NULL;
        try_build(engine, NULL, 0);
    }
    uint64_t number;
    if (engine->state != ENGINE_STARTED ||
        !map_get(&engine->by_fun, (uint64_t)(uintptr_t)offer->kernel, &number))
        return NULL;
    EngineKernel *kernel = &engine->kernels[number - 1];
    EngineGroup *group = kernel->group;
    if (group == NULL || group->state == GROUP_READY) return kernel;
    if (group->state == GROUP_FAILED) return NULL;
    if (work == 0) work = work_of(offer, engine->program->core);
    if (try_build(engine, group, work) == WEFT_STATUS_CANCELLED)
        error->status = STATUS_CANCELLED;
    return group->state == GROUP_READY ? kernel : NULL;
}

// ---- patience -----------------------------------------------------------------------
//
// How long some kernels take cannot be told from their sizes. Such a one is interpreted
// apart, on arguments that stay as they are, for as long as that may pay; then the
// build is waited for and it runs from the start.

typedef struct Patience {
    ApiEngine *engine;
    const InterpOffer *offer;
    uint64_t until; // clock_ns; while no build has been started
    atomic_bool is_over;
} Patience;

// Whether there is a loop that turns nobody knows how often.
static bool is_open_ended(const InterpOffer *offer, const CoreProgram *core,
                          const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_WHILE) return true;
        if (stm->op == OP_FOR && size_of(offer, core, stm->args[0]) == 0) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (is_open_ended(offer, core, stm->bodies[k])) return true;
    }
    return false;
}

static EngineGroup *group_of(const ApiEngine *engine, const InterpOffer *offer) {
    uint64_t number;
    if (engine->state != ENGINE_STARTED ||
        !map_get(&engine->by_fun, (uint64_t)(uintptr_t)offer->kernel, &number))
        return NULL;
    return engine->kernels[number - 1].group;
}

static void lose_patience(void *data, CoreLoc loc, double fraction) {
    Patience *p = data;
    WeftContext *context = p->engine->program->context;
    (void)loc;
    if (context->options.progress != NULL && api_is_progress_due(context))
        api_progress_at(p->engine->program, p->offer->loc, fraction);
    EngineGroup *group = group_of(p->engine, p->offer);
    if (group != NULL) api_builds_poll(p->engine, group);
    bool is_ready = group != NULL && group->state == GROUP_READY;
    bool is_late = p->engine->state == ENGINE_IDLE && clock_ns() > p->until;
    if (is_ready || is_late || atomic_load(&context->cancel))
        atomic_store(&p->is_over, true);
}

// Returns false if patience was lost: then nothing has happened.
static bool interpret(ApiEngine *engine, const InterpOffer *offer, InterpError *error) {
    enum { PATIENCE_NS = 50000000 };
    WeftContext *context = engine->program->context;
    const CoreBody *body = offer->kernel->body;
    Patience p = {.engine = engine, .offer = offer, .until = clock_ns() + PATIENCE_NS};
    InterpOptions options = {.heap = &context->heap,
                             .arena = &context->scratch,
                             .cancel = &p.is_over,
                             .progress = lose_patience,
                             .progress_data = &p};
    RtValue *args = arena_array(&context->scratch, RtValue, body->param_count);
    for (uint32_t i = 0; i < body->param_count; i++) {
        args[i] = offer->args[i];
        if (args[i].rank > 0) rt_retain(args[i].array);
    }
    error->status = interp_run(engine->program->core, offer->kernel, &options, args,
                               offer->results, error);
    if (error->status != STATUS_CANCELLED) return true;
    if (!atomic_load(&context->cancel)) *error = (InterpError){0};
    return error->status != STATUS_OK;
}

// As find_kernel, for a kernel that was interpreted in vain.
static EngineKernel *wait_for_kernel(ApiEngine *engine, const InterpOffer *offer,
                                     InterpError *error) {
    if (engine->state == ENGINE_IDLE) try_build(engine, NULL, 0);
    EngineGroup *group = group_of(engine, offer);
    if (group != NULL && group->state != GROUP_READY && group->state != GROUP_FAILED)
        try_build(engine, group, HUGE_VAL);
    return find_kernel(engine, offer, error);
}

// ---- the offer ----------------------------------------------------------------------

// A kernel that hides parallel work is for small arrays only.
static bool is_for_host(const InterpOffer *offer, const CoreProgram *core) {
    return offer->kernel->otherwise != 0 &&
           (elements_of(offer) > PLAN_SMALL ||
            plan_made_inside(core, offer->kernel->body, param_of, offer) > PLAN_SMALL);
}

// The kernel if it is there and its arguments do not matter; else waits for them.
static EngineKernel *find_or_await(ApiEngine *engine, InterpOffer *offer,
                                   InterpError *error) {
    uint64_t number;
    if (engine->state == ENGINE_STARTED && offer->kernel->otherwise == 0 &&
        map_get(&engine->by_fun, (uint64_t)(uintptr_t)offer->kernel, &number)) {
        EngineKernel *kernel = &engine->kernels[number - 1];
        if (kernel->group == NULL || kernel->group->state == GROUP_READY) return kernel;
    }
    if (!api_ahead_await(engine, offer)) error->status = STATUS_RUNTIME;
    return NULL;
}

static void run(ApiEngine *engine, EngineKernel *kernel, const InterpOffer *offer,
                InterpError *error) {
    if (api_is_ahead(engine)) api_ahead_run(engine, kernel, offer, error);
    else api_kernel_run(engine, kernel, offer, error);
}

bool api_engine_run(void *data, InterpOffer *offer, InterpError *error_out) {
    enum { MOST_TRIES = 64 }; // short kernels are not to be prepared each time
    ApiEngine *engine = data;
    if (api_is_ahead(engine)) {
        EngineKernel *ready = find_or_await(engine, offer, error_out);
        if (ready != NULL) run(engine, ready, offer, error_out);
        if (ready != NULL || error_out->status != STATUS_OK) return true;
    }
    if (is_for_host(offer, engine->program->core)) return false;
    EngineKernel *kernel = find_kernel(engine, offer, error_out);
    if (kernel == NULL && error_out->status == STATUS_OK &&
        engine->tries < MOST_TRIES &&
        is_open_ended(offer, engine->program->core, offer->kernel->body)) {
        engine->tries++;
        if (interpret(engine, offer, error_out)) return true;
        kernel = wait_for_kernel(engine, offer, error_out);
    }
    if (kernel == NULL) return error_out->status != STATUS_OK;
    run(engine, kernel, offer, error_out);
    return true;
}
