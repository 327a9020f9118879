// SPDX-License-Identifier: Apache-2.0
//
// What goes into plans of calls (plans.h).
#include "api/plans.h"

#include "base/thread.h"
#include "loop/machine.h"

// ---- what goes in -------------------------------------------------------------------

// Whether the array has memory of its own, which no earlier argument has.
static bool is_held(const RtArray *array, const PlanArg *args, uint32_t count) {
    if (array->base != NULL || array->is_lent) return false;
    for (uint32_t i = 0; i < count; i++)
        if (args[i].dims == array->shape) return false;
    return true;
}

static const PlanArg *plan_args(Arena *arena, const ApiEntry *entry,
                                WeftValue *const *args) {
    PlanArg *flat = arena_array(arena, PlanArg, entry->fun->body->param_count + 1);
    for (uint32_t i = 0; i < entry->param_count; i++)
        for (uint32_t k = 0; k < entry->params[i].count; k++) {
            const RtValue *leaf = &args[i]->leaves[k];
            uint32_t number = entry->params[i].first + k;
            PlanArg arg = {.is_known = true, .bits = leaf->bits};
            if (leaf->rank > 0) {
                arg.is_held = is_held(leaf->array, flat, number);
                arg.dims = leaf->array->shape;
            }
            flat[number] = arg;
        }
    return flat;
}

// Root code's parameters in a call with these arguments.
static const ExecSlot *slots_of(const LoopKernel *loop, const PlanArg *args,
                                Arena *arena) {
    ExecSlot *slots = arena_array(arena, ExecSlot, loop->root->param_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < loop->param_count; i++) {
        bool is_known = args[i].is_known;
        slots[count++] = (ExecSlot){.is_known = is_known, .bits = args[i].bits};
        for (uint32_t d = 0; d < loop->params[i].type.rank; d++)
            slots[count++] = (ExecSlot){.is_known = args[i].dims[d] >= 0,
                                        .bits = (uint64_t)args[i].dims[d]};
    }
    return slots;
}

static EngineKernel *kernel_of(const ApiEngine *engine, const CoreFun *fun) {
    uint64_t number;
    if (!map_get(&engine->by_fun, (uint64_t)(uintptr_t)fun, &number)) return NULL;
    return &engine->kernels[number - 1];
}

// As PlanHolds, where it is launched; data is the program.
static PlanHeld holds(const void *data, const CoreFun *fun, const PlanArg *args,
                      Arena *arena) {
    ApiEngine *engine = ((const WeftProgram *)data)->engine;
    EngineKernel *kernel = kernel_of(engine, fun);
    PlanHeld held = {0};
    if (kernel == NULL) return held;
    const LoopKernel *loop = kernel->launched_loop;
    const LoopPlan *plan = api_launches_of(engine, kernel);
    ArenaMark mark = arena_mark(arena);
    const ExecSlot *in = slots_of(loop, args, arena);
    held.is_all = exec_needs(loop, plan, in, arena, &held.bytes);
    held.counted = held.bytes;
    arena_back(arena, mark);
    return held;
}

static unsigned threads_of(const ApiPlace *place) {
    return place->threads != 0 ? place->threads : thread_cores();
}

// Likewise on cores, of the first place if they are several.
static PlanHeld holds_on_cores(const void *data, const CoreFun *fun,
                               const PlanArg *args, Arena *arena) {
    const WeftProgram *program = data;
    const EngineKernel *kernel = kernel_of(program->engine, fun);
    uint32_t count;
    const ApiPlace *cores = api_plan_places(program, &count);
    PlanHeld held = {0};
    if (kernel == NULL) return held;
    ArenaMark mark = arena_mark(arena);
    const ExecSlot *in = slots_of(kernel->loop, args, arena);
    held.is_all = exec_needs_on_cores(kernel->loop, threads_of(cores), in, arena,
                                      &held.bytes, &held.counted);
    arena_back(arena, mark);
    return held;
}

PlanInput api_plan_input(const ApiPlanning *planning) {
    const WeftProgram *program = planning->program;
    const ApiEntry *entry = planning->entry;
    PlanInput in = {.program = program->core,
                    .entry = entry->fun,
                    .decisions = &program->decisions,
                    .arena = planning->arena};
    if (planning->args != NULL || entry->param_count == 0)
        in.args = plan_args(in.arena, entry, planning->args);
    if (program->engine->state != ENGINE_STARTED) return in;
    uint32_t count;
    const ApiPlace *places = api_plan_places(program, &count);
    in.is_on_cores = count == 1 && !api_is_launched(places);
    in.holder = program;
    if (api_has_launched(planning->context)) in.holds = holds;
    if (api_has_cores(planning->context) &&
        planning->context->options.memory_ceiling != 0)
        in.holds_on_cores = holds_on_cores;
    return in;
}

// What work is priced in: operations of a core in lanes, of which those that are
// launched on have none that can be counted on.
static double rate_of(const ApiPlace *place, uint32_t vector_bytes) {
    static const double core_rate = 2e9, lane_bytes = 4;
    bool has_lanes = !api_is_launched(place) || vector_bytes == 0;
    return has_lanes ? core_rate : core_rate * lane_bytes / vector_bytes;
}

const ApiPlace *api_plan_places(const WeftProgram *program, uint32_t *count_out) {
    const ApiPlace *alone = program->engine != NULL ? program->engine->alone : NULL;
    *count_out = alone != NULL ? 1 : program->context->place_count;
    return alone != NULL ? alone : program->context->places;
}

void api_plan_devices(const WeftProgram *program, PlanInput *in) {
    const WeftContext *context = program->context;
    uint32_t count;
    const ApiPlace *places = api_plan_places(program, &count);
    unsigned most = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned threads = threads_of(&places[i]);
        if (threads > most) most = threads;
    }
    in->vector_bytes = machine_vector_bytes();
    PlanDevice *devices = arena_array(in->arena, PlanDevice, count);
    for (uint32_t i = 0; i < count; i++) {
        const ApiPlace *place = &places[i];
        double rate = rate_of(place, in->vector_bytes);
        uint32_t weight = api_place_weight(context, place);
        devices[i] = (PlanDevice){.address = place->address,
                                  .rate = rate * most * weight / 1000,
                                  .one = rate * place->speed,
                                  .is_host = place->is_shared,
                                  .is_vague = api_is_launched(place),
                                  .is_beside = api_is_launched(place) && count > 1};
    }
    in->devices = devices;
    in->device_count = count;
    in->joins_late = api_has_room(context);
}

WeftStatus api_plan(WeftContext *context, WeftProgram *program, const ApiEntry *entry,
                    WeftValue *const *args,
                    WeftStatus (*step)(const ApiPlanning *planning), void *data) {
    Arena arena;
    jmp_buf recover, *outer = context->mem.recover;
    volatile WeftStatus status = WEFT_STATUS_OK;
    arena_init(&arena, &context->mem);
    stack_measure(&program->cx.stack);
    context->mem.recover = &recover;
    if (setjmp(recover) == 0) {
        ApiPlanning planning = {context, program, entry, args, &arena, data};
        status = step(&planning);
    }
    context->mem.recover = outer;
    arena_free(&arena);
    return status;
}
