// SPDX-License-Identifier: Apache-2.0
//
// Whether, and into how many parts, operators are cut for small devices (stream.h).
// The plan of a call says that before it starts; where a plan cannot know, or counts
// too little, the call finds no memory, and is tried again in more parts. It has no
// effects but traces, and its arguments are lent.
#include "api/stream.h"

#include "rt/store.h"

enum { MOST_PARTS = 16 }; // equal ones

// ---- parts --------------------------------------------------------------------------

bool api_stream_is_for(const WeftContext *context) {
    bool all = context->place_count <= MOST_PARTS;
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *place = &context->places[i];
        all = all && api_is_launched(place) && place->memory > 0;
    }
    return all;
}

void api_stream_divide(WeftProgram *program, double least) {
    fission_for_stream(program->core, MOST_PARTS, least, &program->decisions);
}

bool api_is_streamed(const WeftProgram *program) {
    return program->decisions.is_stream;
}

// Where the whole is, a part of it is none.
static void drop_wholes(WeftContext *context) {
    for (uint32_t i = 0; i < context->place_count; i++)
        if (!context->places[i].is_lost)
            rt_drop_spare(&context->heap, context->places[i].device);
}

static void set_parts(WeftProgram *program, uint32_t parts) {
    WeftContext *context = program->context;
    bool is_more = parts > context->place_count;
    program->engine->parts = parts;
    program->engine->entry = NULL; // other kernels may be needed
    fission_cut_stream(&program->decisions, parts, MOST_PARTS, is_more);
    if (is_more) drop_wholes(context);
}

void api_stream_begin(WeftProgram *program) {
    ApiEngine *engine = program->engine;
    if (engine->least_parts == 0) engine->least_parts = program->context->place_count;
    set_parts(program, engine->least_parts);
}

bool api_stream_more(WeftProgram *program) {
    if (program->decisions.rows.len == 0) return false; // nothing can be cut
    if (2 * program->engine->parts > MOST_PARTS) return false;
    set_parts(program, 2 * program->engine->parts);
    return true;
}

bool api_stream_again(WeftProgram *program) {
    if (program->engine == NULL || !api_is_streamed(program)) return false;
    if (program->engine->has_traced || !api_stream_more(program)) return false;
    program->engine->least_parts = program->engine->parts;
    return true;
}

// ---- what a task needs --------------------------------------------------------------

static bool is_array(const PlanBlock *block) {
    return block->type.rank > 0 && !isnan(block->bytes);
}

typedef struct Needs {
    double takes, makes; // bytes
    double sure;         // all that it has at once, for sure
} Needs;

// Of a block that it takes parts of, the largest: they may be one copy.
static double bytes_of(const PlanTask *task, uint32_t use) {
    const PlanUse *uses = task->uses.data;
    double most = uses[use].bytes;
    for (uint32_t i = 0; i < task->uses.len; i++) {
        if (uses[i].block != uses[use].block) continue;
        if (i < use) return 0; // it has been counted
        most = fmax(most, uses[i].bytes);
    }
    return most;
}

// What the task takes is there from its beginning to its end, and beside it what its
// kernel holds, as far as that is known.
static Needs needs_of(const Plan *plan, const PlanTask *task) {
    Needs needs = {0};
    double made = 0;
    for (uint32_t i = 0; i < task->uses.len; i++) {
        const PlanBlock *block = &plan->blocks.data[task->uses.data[i].block];
        double bytes = bytes_of(task, i);
        if (is_array(block) && !isnan(bytes)) needs.takes += bytes;
    }
    for (uint32_t k = task->first; k < task->first + task->makes; k++)
        if (is_array(&plan->blocks.data[k]) && plan->blocks.data[k].is_held)
            made += plan->blocks.data[k].bytes;
    PlanHeld held = task->held;
    needs.makes = held.is_all ? held.bytes : fmax(made, held.bytes);
    needs.sure = needs.takes + held.bytes;
    return needs;
}

const ApiPlace *api_stream_largest(const WeftContext *context) {
    const ApiPlace *largest = &context->places[0];
    for (uint32_t i = 1; i < context->place_count; i++)
        if (context->places[i].memory > largest->memory) largest = &context->places[i];
    return largest;
}

static size_t least_memory(const WeftContext *context) {
    size_t least = context->places[0].memory;
    for (uint32_t i = 1; i < context->place_count; i++)
        if (context->places[i].memory < least) least = context->places[i].memory;
    return least;
}

uint32_t api_stream_find(const WeftProgram *program, const Plan *plan, bool sure) {
    const WeftContext *context = program->context;
    double room =
        (double)(sure ? api_stream_largest(context)->memory : least_memory(context));
    uint32_t count = sure && plan->sure != PLAN_NONE ? plan->sure : plan->tasks.len;
    for (uint32_t i = 0; i < count; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        if (task->kernel == NULL || !(task->turns > 0)) continue;
        Needs needs = needs_of(plan, task);
        if ((sure ? needs.sure : needs.takes + needs.makes) > room) return i;
    }
    return PLAN_NONE;
}

PlanPeak api_stream_needs(const Plan *plan, uint32_t task, Plan *shown_out) {
    Arena *arena = plan->in.arena;
    const PlanTask *t = &plan->tasks.data[task];
    PlanPeak peak = {
        .task = task, .bytes = needs_of(plan, t).sure, .beside = t->held.bytes};
    *shown_out = *plan;
    shown_out->blocks.data = arena_copy(arena, plan->blocks.data,
                                        plan->blocks.len * sizeof *plan->blocks.data);
    for (uint32_t i = 0; i < t->uses.len; i++) {
        uint32_t block = t->uses.data[i].block;
        double bytes = bytes_of(t, i);
        if (bytes <= 0 || !is_array(&plan->blocks.data[block])) continue;
        shown_out->blocks.data[block].bytes = bytes;
        vec_push(arena, &peak.blocks, block);
    }
    return peak;
}
