// SPDX-License-Identifier: Apache-2.0
//
// Calls that cannot fit below the ceiling are refused before they start. Only what is
// certain counts: what may be freed, or lie elsewhere, could have fitted.
#include "api/fit.h"

// ---- what goes in -------------------------------------------------------------------

// Whether the array has memory of its own, which no earlier argument has.
static bool is_held(const RtArray *array, const PlanArg *args, uint32_t count) {
    if (array->base != NULL || array->is_lent) return false;
    for (uint32_t i = 0; i < count; i++)
        if (args[i].dims == array->shape) return false;
    return true;
}

const PlanArg *api_plan_args(Arena *arena, const ApiEntry *entry,
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

// ---- what does not fit --------------------------------------------------------------

WeftStatus api_refuse_plan(WeftContext *context, const Plan *plan, const PlanPeak *peak,
                           const ApiEntry *entry, const char *least, double needed) {
    char text[PLAN_TEXT], most[PLAN_TEXT];
    StrBuf lines = strbuf(plan->in.arena);
    plan_name_bytes(plan, peak, &lines);
    return api_fail(context, WEFT_STATUS_MEMORY,
                    "`%s` needs %s%s of memory at once, and the ceiling is %s: %.*s",
                    entry->name, least, plan_bytes(text, needed),
                    plan_bytes(most, (double)context->options.memory_ceiling),
                    STR_ARG(strbuf_done(&lines)));
}

typedef struct Fit {
    WeftContext *context;
    const WeftProgram *program;
    const ApiEntry *entry;
    WeftValue *const *args;
    Arena arena;
} Fit;

// The ceiling is that of the host's memory, and of each GPU's.
static WeftStatus check_fit(Fit *fit) {
    WeftContext *context = fit->context;
    PlanInput in = {.program = fit->program->core,
                    .entry = fit->entry->fun,
                    .args = api_plan_args(&fit->arena, fit->entry, fit->args),
                    .arena = &fit->arena};
    Plan *plan = plan_walk(&in);
    PlanPeak least = plan_least(plan, context->place_count == 1);
    double room = (double)context->options.memory_ceiling;
    for (uint32_t i = 0; i < context->place_count; i++)
        if (api_is_launched(&context->places[i]))
            room += (double)context->options.memory_ceiling;
    if (least.bytes <= room) return WEFT_STATUS_OK;
    return api_refuse_plan(context, plan, &least, fit->entry, "at least ", least.bytes);
}

// Memory that is too short for a plan may be enough for the call.
WeftStatus api_check_fit(WeftContext *context, WeftProgram *program,
                         const ApiEntry *entry, WeftValue *const *args) {
    if (context->options.memory_ceiling == 0 || program->engine == NULL)
        return WEFT_STATUS_OK;
    Fit fit = {context, program, entry, args, {0}};
    jmp_buf recover, *outer = context->mem.recover;
    volatile WeftStatus status = WEFT_STATUS_OK;
    arena_init(&fit.arena, &context->mem);
    stack_measure(&program->cx.stack);
    context->mem.recover = &recover;
    if (setjmp(recover) == 0) status = check_fit(&fit);
    context->mem.recover = outer;
    arena_free(&fit.arena);
    return status;
}
