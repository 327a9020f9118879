// SPDX-License-Identifier: Apache-2.0
//
// Calls that cannot fit below the ceiling are refused before they start, as are those
// that a small device has no room for even in parts (stream.h). Only what is certain
// counts: what may be freed, or lie elsewhere, could have fitted.
#include "api/fit.h"

#include "api/alone.h"
#include "api/stream.h"

// ---- what does not fit --------------------------------------------------------------

// `others`: what else there is for sure; it is told if the rest alone would fit.
static WeftStatus refuse(const ApiPlanning *fit, const Plan *plan,
                         const PlanPeak *least, double others) {
    const WeftContext *context = fit->context;
    double ceiling = (double)context->options.memory_ceiling, bytes = least->bytes;
    char text[PLAN_TEXT], most[PLAN_TEXT];
    StrBuf lines = strbuf(plan->in.arena);
    plan_name_bytes(plan, least, &lines);
    if (bytes <= ceiling) {
        strbuf_printf(&lines, ", %s for the program and between arrays",
                      plan_bytes(text, others));
        bytes += others;
    }
    return api_fail(
        fit->context, WEFT_STATUS_MEMORY,
        "`%s` needs at least %s of memory at once, and the ceiling is %s: %.*s",
        fit->entry->name, plan_bytes(text, bytes), plan_bytes(most, ceiling),
        STR_ARG(strbuf_done(&lines)));
}

static Plan *make_plan(const ApiPlanning *fit) {
    PlanInput in = api_plan_input(fit);
    return plan_walk(&in);
}

static WeftStatus refuse_task(const ApiPlanning *fit, const Plan *plan, uint32_t task) {
    const ApiPlace *place = api_stream_largest(fit->context);
    char text[PLAN_TEXT], most[PLAN_TEXT];
    Plan shown;
    PlanPeak needs = api_stream_needs(plan, task, &shown);
    StrBuf lines = strbuf(fit->arena);
    plan_name_bytes(&shown, &needs, &lines);
    return api_fail(fit->context, WEFT_STATUS_MEMORY,
                    "`%s` needs at least %s of memory at once on device %s, which has "
                    "%s: %.*s",
                    fit->entry->name, plan_bytes(text, needs.bytes), place->address,
                    plan_bytes(most, (double)place->memory),
                    STR_ARG(strbuf_done(&lines)));
}

// Cuts the operators into so many parts that each has room on the device, as far as
// that is known. The plan is made anew for that.
static WeftStatus fit_parts(const ApiPlanning *fit, Plan **plan) {
    WeftProgram *program = fit->program;
    api_stream_begin(program);
    while (*plan = make_plan(fit), api_stream_find(program, *plan, false) != PLAN_NONE)
        if (!api_stream_more(program)) break;
    uint32_t task = api_stream_find(program, *plan, true);
    return task == PLAN_NONE ? WEFT_STATUS_OK : refuse_task(fit, *plan, task);
}

double api_plan_needs(const WeftContext *context, const Plan *plan) {
    double used = (double)atomic_load(&context->mem.used) - plan->args;
    if (!api_has_launched(context)) return used + plan->peak.bytes;
    return used + plan_most_held(plan)[plan->in.device_count];
}

static Plan *plan_devices(const ApiPlanning *fit) {
    PlanInput in = api_plan_input(fit);
    api_plan_devices(fit->program, &in);
    return plan_make(&in);
}

// Several devices are left for the host's cores alone if that takes less, and what
// they would hold is too much, by its plan or as an earlier call has shown. Returns the
// plan of those that have the call.
static Plan *choose_places(const ApiPlanning *fit) {
    WeftContext *context = fit->context;
    WeftProgram *program = fit->program;
    const ApiEntry *entry = fit->entry;
    Plan *plan = plan_devices(fit);
    double needed = program->engine->needed = api_plan_needs(context, plan);
    bool was_short = entry->too_much > 0 && needed >= entry->too_much;
    if (!was_short && !(needed > (double)context->options.memory_ceiling)) return plan;
    api_alone_begin(program, entry);
    Plan *alone = plan_devices(fit);
    if (was_short || api_plan_needs(context, alone) <= needed) return alone;
    api_alone_end(program);
    return plan;
}

// Bytes that count, and are no arguments: the program's, and what else is alive for
// long. `before`: that were used before anything was planned.
static double others_of(const WeftContext *context, const Plan *plan, double before) {
    double others = fmin(before, (double)atomic_load(&context->mem.used));
    for (uint32_t i = 0; i < plan->params; i++)
        if (plan->blocks.data[i].is_held)
            others -= mem_rounded(plan->blocks.data[i].bytes);
    return others;
}

// The ceiling is that of the host's memory, and of each GPU's.
static WeftStatus check_fit(const ApiPlanning *fit) {
    WeftContext *context = fit->context;
    WeftStatus status = WEFT_STATUS_OK;
    Plan *plan = NULL;
    if (api_is_streamed(fit->program)) status = fit_parts(fit, &plan);
    double ceiling = (double)context->options.memory_ceiling, room = ceiling,
           others = 0;
    const double *before = fit->data;
    if (status != WEFT_STATUS_OK || ceiling == 0) return status;
    if (api_alone_is_for(fit->program)) plan = choose_places(fit);
    if (plan == NULL) plan = make_plan(fit);
    uint32_t count;
    const ApiPlace *places = api_plan_places(fit->program, &count);
    PlanPeak least = plan_least(plan, count == 1);
    for (uint32_t i = 0; i < count; i++)
        if (api_is_launched(&places[i])) room += (double)places[i].memory;
    if (plan->in.is_on_cores)
        others = least.counted - least.bytes + others_of(context, plan, *before);
    if (least.bytes + others <= room) return WEFT_STATUS_OK;
    return refuse(fit, plan, &least, others);
}

// ---- what did not fit ---------------------------------------------------------------

// Of the context, or of the device that has most.
static void put_limit(const WeftContext *context, StrBuf *out) {
    char most[PLAN_TEXT];
    size_t ceiling = context->options.memory_ceiling;
    const ApiPlace *place = api_stream_largest(context);
    if (ceiling != 0)
        strbuf_printf(out, "the ceiling is %s", plan_bytes(most, (double)ceiling));
    else
        strbuf_printf(out, "device %s has %s", place->address,
                      plan_bytes(most, (double)place->memory));
}

static WeftStatus tell_fit(const ApiPlanning *fit) {
    WeftContext *context = fit->context;
    const Plan *plan = plan_devices(fit);
    char held[PLAN_TEXT];
    Str *message = fit->data;
    StrBuf text = strbuf(&context->scratch);
    strbuf_str(&text, *message);
    strbuf_printf(&text, "; by its plan `%s` holds %s at once, and ", fit->entry->name,
                  plan_bytes(held, plan->peak.bytes));
    put_limit(context, &text);
    strbuf_cstr(&text, ": ");
    plan_name_bytes(plan, &plan->peak, &text);
    *message = strbuf_done(&text);
    return WEFT_STATUS_OK;
}

void api_tell_fit(WeftContext *context, WeftProgram *program, const ApiEntry *entry,
                  WeftValue *const *args, Str *message) {
    if (program->engine != NULL &&
        (context->options.memory_ceiling != 0 || api_is_streamed(program)))
        api_plan(context, program, entry, args, tell_fit, message);
}

WeftStatus api_check_fit(WeftContext *context, WeftProgram *program,
                         const ApiEntry *entry, WeftValue *const *args) {
    if (program->engine == NULL) return WEFT_STATUS_OK;
    program->engine->needed = 0;
    if (context->options.memory_ceiling == 0 && !api_is_streamed(program))
        return WEFT_STATUS_OK;
    double before = (double)atomic_load(&context->mem.used);
    return api_plan(context, program, entry, args, check_fit, &before);
}
