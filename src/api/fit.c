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
    if (others > 0) {
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
    return used + plan_most_held(plan)[plan->in.device_count + 1];
}

static Plan *plan_devices(const ApiPlanning *fit) {
    PlanInput in = api_plan_input(fit);
    api_plan_devices(fit->program, &in);
    return plan_make(&in);
}

// Bytes that count beside the least: the program's, what else is alive for long, and
// what is left between arrays. `before`: that were used before anything was planned.
static double others_of(const WeftContext *context, const Plan *plan,
                        const PlanPeak *least, double before) {
    double others = fmin(before, (double)atomic_load(&context->mem.used));
    for (uint32_t i = 0; i < plan->params; i++)
        if (plan->blocks.data[i].is_held)
            others -= mem_rounded(plan->blocks.data[i].bytes);
    return others + least->counted - least->bytes;
}

// What is asked, and whether it would fit with little to spare.
typedef struct Fit {
    double before; // bytes that were used before anything was planned
    bool is_close;
} Fit;

// Whether it is certain that it does not fit, with its least and what counts beside.
static bool is_too_much(const ApiPlanning *fit, const Plan *plan, PlanPeak *least_out,
                        double *others_out) {
    const WeftContext *context = fit->context;
    enum { CLOSE = 2 << 20 };
    Fit *asked = fit->data;
    double ceiling = (double)context->options.memory_ceiling, room = ceiling;
    uint32_t count;
    const ApiPlace *places = api_plan_places(fit->program, &count);
    *least_out = plan_least(plan, count == 1);
    *others_out = 0;
    for (uint32_t i = 0; i < count; i++)
        if (api_is_launched(&places[i])) room += (double)places[i].memory;
    if (least_out->bytes > room) return true;
    if (!plan->in.is_on_cores && !api_is_streamed(fit->program)) return false;
    if (!plan->in.is_on_cores) *least_out = plan_least_on_host(plan);
    *others_out = others_of(context, plan, least_out, asked->before);
    asked->is_close = least_out->bytes + *others_out > ceiling - CLOSE;
    return least_out->bytes + *others_out > ceiling;
}

static WeftStatus judge(const ApiPlanning *fit, const Plan *plan) {
    PlanPeak least;
    double others;
    if (!is_too_much(fit, plan, &least, &others)) return WEFT_STATUS_OK;
    return refuse(fit, plan, &least, others);
}

// Several devices are left for the host's cores alone if what they would hold is too
// much, by its plan or as an earlier call has shown, and that takes less, or is certain
// not to fit either. Returns the plan of those that have the call.
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
    PlanPeak least;
    double others;
    if (was_short || api_plan_needs(context, alone) <= needed ||
        is_too_much(fit, alone, &least, &others))
        return alone;
    api_alone_end(program);
    return plan;
}

// The ceiling is that of the host's memory, and of each GPU's.
static WeftStatus check_fit(const ApiPlanning *fit) {
    WeftStatus status = WEFT_STATUS_OK;
    Plan *plan = NULL;
    if (api_is_streamed(fit->program)) status = fit_parts(fit, &plan);
    if (status != WEFT_STATUS_OK || fit->context->options.memory_ceiling == 0)
        return status;
    if (api_alone_is_for(fit->program)) plan = choose_places(fit);
    if (plan == NULL) plan = make_plan(fit);
    return judge(fit, plan);
}

// Once more, for those that were chosen.
static WeftStatus check_again(const ApiPlanning *fit) {
    return judge(fit, make_plan(fit));
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
    Fit asked = {.before = (double)atomic_load(&context->mem.used)};
    WeftStatus status = api_plan(context, program, entry, args, check_fit, &asked);
    if (status != WEFT_STATUS_OK || !asked.is_close) return status;
    // Code takes memory, too.
    status = api_engine_enter(program->engine, entry->fun);
    if (status != WEFT_STATUS_OK) return status;
    asked.before = (double)atomic_load(&context->mem.used);
    return api_plan(context, program, entry, args, check_again, &asked);
}
