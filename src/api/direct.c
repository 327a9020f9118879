// SPDX-License-Identifier: Apache-2.0
//
// Direct calls (direct.h). A plan is the entry's few statements with a slot for each
// value; the results of the kernel lie in a row, as it hands them over.
//
// Arrays of the caller are neither retained nor given away: a kernel that overwrites
// one gets a copy, as in any call, since the caller keeps its own.
#include "api/direct.h"

#include "base/floats.h"
#include "core/rules.h"

enum { MOST_STEPS = 32, MOST_SLOTS = 64, MOST_ARGS = 3 };

typedef struct DirectStep {
    const CoreStm *stm;
    ScalarType in, to; // of a scalar operator
    uint32_t out;
    uint32_t args[MOST_ARGS];
} DirectStep;

struct ApiDirect {
    EngineKernel *kernel;
    RtTeam *team;
    RtValue *slots; // the params of the entry first
    DirectStep *steps;
    uint32_t step_count, param_count, result_count;
    uint32_t *kernel_args;     // slots
    RtValue *args;             // of the kernel
    uint32_t made, made_count; // the slots of what it makes
    uint32_t *results;         // slots
    struct ApiLoan *loans;
    WeftValue **values;
};

// ---- plans --------------------------------------------------------------------------

typedef struct Planner {
    const WeftProgram *program;
    const ApiEngine *engine;
    CoreRef refs[MOST_SLOTS]; // by slot
    uint32_t count;
    bool is_full;
    ApiDirect *plan;
} Planner;

static uint32_t slot_of(Planner *p, CoreRef ref) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->refs[i] == ref) return i;
    if (p->count == MOST_SLOTS) {
        p->is_full = true;
        return 0;
    }
    const CoreValue *value = &p->program->core->values.data[ref];
    p->plan->slots[p->count] = (RtValue){.elem = (ScalarType)value->type.elem,
                                         .rank = value->type.rank,
                                         .bits = value->is_const ? value->bits : 0};
    p->refs[p->count] = ref;
    return p->count++;
}

// The kernel, if it is built and takes all sizes of its arguments.
static EngineKernel *kernel_of(const Planner *p, const CoreStm *stm) {
    const CoreFun *fun = p->program->core->funs.data[stm->attrs[0]];
    uint64_t number;
    if (fun->otherwise != 0 ||
        !map_get(&p->engine->by_fun, (uint64_t)(uintptr_t)fun, &number))
        return NULL;
    EngineKernel *kernel = &p->engine->kernels[number - 1];
    bool is_ready = kernel->group != NULL && kernel->group->state == GROUP_READY;
    return is_ready ? kernel : NULL;
}

static bool plan_call(Planner *p, const CoreStm *stm) {
    ApiDirect *plan = p->plan;
    plan->kernel = kernel_of(p, stm);
    if (plan->kernel == NULL || stm->arg_count > MOST_SLOTS) return false;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        plan->kernel_args[i] = slot_of(p, stm->args[i]);
    plan->made = p->count;
    plan->made_count = stm->out_count;
    for (uint32_t i = 0; i < stm->out_count; i++) slot_of(p, stm->outs[i]);
    return true;
}

static bool is_simple(const CoreStm *stm) {
    switch (core_op_info[stm->op].kind) {
    case KIND_SCALAR1:
    case KIND_SCALAR2:
    case KIND_SCALAR3: return true;
    case KIND_ARRAY:
    case KIND_ORDER2:
    case KIND_CONTROL: break;
    }
    return stm->op == OP_DIM || stm->op == OP_CHECK || stm->op == OP_GUARD;
}

static bool plan_step(Planner *p, const CoreStm *stm) {
    DirectStep *step = &p->plan->steps[p->plan->step_count++];
    step->stm = stm;
    if (stm->op == OP_CALL) return plan_call(p, stm);
    if (!is_simple(stm)) return false;
    for (uint32_t i = 0; i < stm->arg_count && i < MOST_ARGS; i++)
        step->args[i] = slot_of(p, stm->args[i]);
    step->out = slot_of(p, stm->outs[0]);
    step->in = p->plan->slots[step->args[0]].elem;
    step->to = p->plan->slots[step->out].elem;
    return true;
}

// What the slot's array is, behind its guards.
static uint32_t behind_guards(const ApiDirect *plan, uint32_t slot) {
    for (uint32_t i = plan->step_count; i-- > 0;) {
        const DirectStep *step = &plan->steps[i];
        if (step->stm->op == OP_GUARD && step->out == slot) slot = step->args[0];
    }
    return slot;
}

// Whether each array that the kernel makes is one result, and no result another array.
static bool owns_results(const ApiDirect *plan) {
    uint32_t arrays = 0;
    bool is_taken[MOST_SLOTS] = {false};
    for (uint32_t i = 0; i < plan->result_count; i++) {
        uint32_t slot = behind_guards(plan, plan->results[i]);
        if (plan->slots[slot].rank == 0) continue;
        if (slot - plan->made >= plan->made_count || is_taken[slot]) return false;
        is_taken[slot] = true;
        arrays++;
    }
    for (uint32_t i = 0; i < plan->made_count; i++)
        arrays -= plan->slots[plan->made + i].rank > 0;
    return arrays == 0;
}

static bool plan_body(Planner *p, const CoreBody *body) {
    for (uint32_t i = 0; i < body->param_count; i++) slot_of(p, body->params[i]);
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!plan_step(p, body->stms.data[i])) return false;
    for (uint32_t i = 0; i < body->result_count; i++)
        p->plan->results[i] = slot_of(p, body->results[i]);
    return !p->is_full && p->plan->kernel != NULL && owns_results(p->plan);
}

// Whether kernels are called without a look at the clock, or at devices.
static bool is_plain(const WeftContext *context) {
    const WeftOptions *options = &context->options;
    return context->place_count == 1 && context->places[0].device == NULL &&
           !api_is_launched(&context->places[0]) && context->places[0].speed >= 1 &&
           options->trace == NULL && options->progress == NULL &&
           options->log == NULL && context->mem.limit == 0;
}

// Whether the entry has at most that many of all, and one call.
static bool is_small(const CoreBody *body) {
    uint32_t calls = 0;
    if (body->stms.len > MOST_STEPS || body->param_count > MOST_SLOTS / 2 ||
        body->result_count > MOST_SLOTS / 2)
        return false;
    for (uint32_t i = 0; i < body->stms.len; i++)
        calls += body->stms.data[i]->op == OP_CALL;
    return calls == 1;
}

void api_direct_plan(WeftProgram *program, ApiEntry *entry) {
    WeftContext *context = program->context;
    const CoreBody *body = entry->fun->body;
    const ApiEngine *engine = program->engine;
    if (entry->code.prepared == NULL || entry->direct != NULL ||
        engine->state != ENGINE_STARTED || !is_plain(context) || !is_small(body))
        return;
    Arena *scratch = &context->scratch;
    ApiDirect plan = {.param_count = body->param_count,
                      .result_count = body->result_count,
                      .slots = arena_array(scratch, RtValue, MOST_SLOTS),
                      .steps = arena_array(scratch, DirectStep, MOST_STEPS),
                      .kernel_args = arena_array(scratch, uint32_t, MOST_SLOTS),
                      .results = arena_array(scratch, uint32_t, MOST_SLOTS)};
    Planner p = {.program = program, .engine = engine, .plan = &plan};
    if (!plan_body(&p, body)) return;
    plan.team = api_team(context, &context->places[0]);
    if (plan.team == NULL) return;
    Arena *arena = &entry->code.arena;
    uint32_t args = plan.kernel->loop->param_count;
    plan.slots = arena_copy(arena, plan.slots, p.count * sizeof *plan.slots);
    plan.steps = arena_copy(arena, plan.steps, plan.step_count * sizeof *plan.steps);
    plan.kernel_args = arena_copy(arena, plan.kernel_args, args * sizeof(uint32_t));
    plan.results =
        arena_copy(arena, plan.results, plan.result_count * sizeof(uint32_t));
    plan.args = arena_array(arena, RtValue, args);
    plan.loans = arena_array(arena, struct ApiLoan, plan.param_count);
    plan.values = arena_array(arena, WeftValue *, entry->result_count);
    entry->direct = arena_copy(arena, &plan, sizeof plan);
}

// ---- calls --------------------------------------------------------------------------

static void take_args(WeftContext *context, ApiDirect *plan, const ApiCall *call,
                      const ApiEntry *entry) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < entry->param_count; i++)
        for (uint32_t k = 0; k < entry->params[i].count; k++) {
            RtValue *slot = &plan->slots[entry->params[i].first + k];
            *slot = call->args[i]->leaves[k];
            if (slot->rank > 0)
                plan->loans[count++] = (struct ApiLoan){slot->array, slot->array->refs};
        }
    context->loans = plan->loans;
    context->loan_count = count;
}

static bool run_kernel(WeftContext *context, ApiDirect *plan) {
    EngineKernel *kernel = plan->kernel;
    for (uint32_t i = 0; i < kernel->loop->param_count; i++)
        plan->args[i] = plan->slots[plan->kernel_args[i]];
    ExecCall exec = {.kernel = &kernel->exec,
                     .heap = &context->heap,
                     .args = plan->args,
                     .may_take = kernel->keeps,
                     .results = plan->slots + plan->made,
                     .team = plan->team,
                     .cancel = &context->cancel};
    ExecEnd end;
    exec_end_init(&end, EXEC_MEMORY);
    exec_call(&exec, &end);
    return end.status == EXEC_OK;
}

static bool run_step(ApiDirect *plan, const DirectStep *step) {
    RtValue *slots = plan->slots;
    const uint32_t *from = step->args;
    switch ((int)step->stm->op) {
    case OP_DIM:
        slots[step->out].bits =
            (uint64_t)slots[from[0]].array->shape[step->stm->attrs[0]];
        return true;
    case OP_CHECK:
        slots[step->out].bits = 1;
        return slots[from[0]].bits != 0 || (step->stm->flags & STM_UNSAFE) != 0;
    case OP_GUARD: slots[step->out] = slots[from[0]]; return true;
    default: break;
    }
    uint64_t args[MOST_ARGS];
    for (uint32_t i = 0; i < step->stm->arg_count; i++) args[i] = slots[from[i]].bits;
    return core_eval(step->stm->op, step->in, step->to, args, &slots[step->out].bits) ==
           FAULT_NONE;
}

// What the kernel made, where the rest failed.
static void drop_made(WeftContext *context, ApiDirect *plan) {
    for (uint32_t i = 0; i < plan->made_count; i++)
        rt_release_value(&context->heap, &plan->slots[plan->made + i]);
}

static bool run_steps(WeftContext *context, ApiDirect *plan) {
    bool has_made = false;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const DirectStep *step = &plan->steps[i];
        bool is_call = step->stm->op == OP_CALL;
        bool ok = is_call ? run_kernel(context, plan) : run_step(plan, step);
        if (!ok && has_made) drop_made(context, plan);
        if (!ok) return false;
        has_made = has_made || is_call;
    }
    return true;
}

static bool run_plan(WeftContext *context, ApiDirect *plan) {
    rt_turn_take(context->heap.turn);
    FloatState floats = floats_enter();
    bool ok = run_steps(context, plan);
    floats_leave(&floats);
    rt_turn_give(context->heap.turn);
    return ok;
}

bool api_direct_call(const ApiCall *call, ApiEntry *entry) {
    WeftProgram *program = call->program;
    WeftContext *context = program->context;
    ApiDirect *plan = entry->direct;
    if (plan == NULL || context->events != NULL) return false;
    stack_measure(&program->cx.stack);
    if (stack_is_low(&program->cx.stack)) return false;
    const WeftValue *values = context->values;
    for (uint32_t i = 0; i < entry->result_count; i++)
        plan->values[i] = api_value_for(context, program, &entry->results[i]);
    take_args(context, plan, call, entry);
    bool ok = run_plan(context, plan);
    context->loan_count = 0; // results may share the arrays that were lent
    mem_age(&context->mem);
    if (!ok) {
        while (context->values != values) api_value_destroy(context->values);
        return false;
    }
    for (uint32_t i = 0; i < entry->result_count; i++) {
        for (uint32_t k = 0; k < entry->results[i].count; k++)
            plan->values[i]->leaves[k] =
                plan->slots[plan->results[entry->results[i].first + k]];
        call->results[i] = plan->values[i];
    }
    return true;
}
