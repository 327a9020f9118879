// SPDX-License-Identifier: Apache-2.0
//
// What goes into plans of calls, and what they decide (plans.h).
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

PlanInput api_plan_input(const ApiPlanning *planning) {
    const WeftProgram *program = planning->program;
    const ApiEntry *entry = planning->entry;
    PlanInput in = {.program = program->core,
                    .entry = entry->fun,
                    .decisions = &program->decisions,
                    .arena = planning->arena};
    if (planning->args != NULL || entry->param_count == 0)
        in.args = plan_args(in.arena, entry, planning->args);
    return in;
}

// What work is priced in: operations of a core in lanes, of which those that are
// launched on have none that can be counted on.
static double rate_of(const ApiPlace *place, uint32_t vector_bytes) {
    static const double core_rate = 2e9, lane_bytes = 4;
    bool has_lanes = !api_is_launched(place) || vector_bytes == 0;
    return has_lanes ? core_rate : core_rate * lane_bytes / vector_bytes;
}

void api_plan_devices(WeftContext *context, PlanInput *in) {
    unsigned most = 0;
    for (uint32_t i = 0; i < context->place_count; i++) {
        unsigned threads = context->places[i].threads;
        if (threads == 0) threads = thread_cores();
        if (threads > most) most = threads;
    }
    in->vector_bytes = machine_vector_bytes();
    PlanDevice *devices = arena_array(in->arena, PlanDevice, context->place_count);
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *place = &context->places[i];
        double rate = rate_of(place, in->vector_bytes);
        uint32_t weight = api_place_weight(context, place);
        devices[i] = (PlanDevice){.address = place->address,
                                  .rate = rate * most * weight / 1000,
                                  .one = rate * place->speed,
                                  .is_host = place->is_shared,
                                  .is_vague = api_is_launched(place)};
    }
    in->devices = devices;
    in->device_count = context->place_count;
}

WeftStatus api_plan(WeftContext *context, WeftProgram *program, const ApiEntry *entry,
                    WeftValue *const *args,
                    WeftStatus (*step)(const ApiPlanning *planning)) {
    Arena arena;
    jmp_buf recover, *outer = context->mem.recover;
    volatile WeftStatus status = WEFT_STATUS_OK;
    arena_init(&arena, &context->mem);
    stack_measure(&program->cx.stack);
    context->mem.recover = &recover;
    if (setjmp(recover) == 0) {
        ApiPlanning planning = {context, program, entry, args, &arena};
        status = step(&planning);
    }
    context->mem.recover = outer;
    arena_free(&arena);
    return status;
}

// ---- which operators are cut --------------------------------------------------------

static uint32_t count_sizes(const ApiEntry *entry) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < entry->param_count; i++)
        for (uint32_t k = 0; k < entry->params[i].count; k++)
            count += entry->params[i].leaves[k].rank + 1u;
    return count;
}

// Integers, which may be sizes, and sizes of arrays.
static void read_sizes(const ApiEntry *entry, WeftValue *const *args, int64_t *sizes) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < entry->param_count; i++)
        for (uint32_t k = 0; k < entry->params[i].count; k++) {
            const RtValue *leaf = &args[i]->leaves[k];
            bool is_integer = leaf->rank == 0 && !scalar_is_float(leaf->elem);
            sizes[count++] = is_integer ? (int64_t)leaf->bits : 0;
            for (uint32_t d = 0; d < leaf->rank; d++)
                sizes[count++] = leaf->array->shape[d];
        }
}

// At most half as large again.
static bool is_about(int64_t a, int64_t b) {
    return a == b || (a > 0 && b > 0 && a - a / 3 <= b && b - b / 3 <= a);
}

static double part_took(const ApiEngine *engine, const FissionPiece *piece,
                        uint32_t device) {
    ApiCut cut = api_shares_cut(engine->shares, piece);
    return api_shares_predict(engine->shares, piece, cut, device);
}

// All parts of what stands there, one after the other on that device; 0: they have not
// run.
static double parts_took(const ApiEngine *engine, CoreLoc whole, uint32_t device) {
    const FissionLog *log = &engine->program->decisions;
    const FissionPiece *first = NULL;
    double seconds = 0;
    for (uint32_t i = 0; i < log->pieces.len; i++) {
        const FissionPiece *piece = &log->pieces.data[i];
        if (!piece->is_timed || piece->whole != whole) continue;
        if (first == NULL) first = piece;
        if (piece->row != first->row || piece->op != first->op) continue;
        seconds += part_took(engine, piece, device);
    }
    return seconds;
}

// As PlanTook; data is the engine.
static double took(const void *data, const PlanTask *task, uint32_t device) {
    const ApiEngine *engine = data;
    uint64_t number;
    if (task->piece != NULL && task->piece->is_timed)
        return part_took(engine, task->piece, device);
    if (!map_get(&engine->by_fun, (uint64_t)(uintptr_t)task->kernel, &number)) return 0;
    double seconds = engine->kernels[number - 1].seconds[device];
    return seconds > 0 ? seconds : parts_took(engine, task->loc, device);
}

// ---- which are tried, and kept ------------------------------------------------------

enum { TRIALS = 3 }; // calls, of which the first one may wait for kernels

// What switches say, and the shortest call with that; 0: there was none.
typedef struct Setting {
    int64_t *from;
    double least;
} Setting;

// Of an entry, in calls with about the same sizes.
struct ApiChoice {
    int64_t *sizes;
    uint32_t calls;
    bool is_planned; // for these sizes
    Setting now;
    Setting other;    // what was before, while what plans think better is tried
    uint32_t trials;  // left
    bool is_rejected; // the other one, which was no better when it was tried
};

static void read_setting(const FissionLog *log, Setting *setting) {
    for (uint32_t i = 0; i < fission_switches(log); i++)
        setting->from[i] = *fission_switch(log, i)->from;
}

static void write_setting(const FissionLog *log, const CoreFun *entry,
                          const Setting *setting) {
    for (uint32_t i = 0; i < fission_switches(log); i++)
        if (fission_switch(log, i)->entry == entry)
            *fission_switch(log, i)->from = setting->from[i];
}

static ApiChoice *new_choice(WeftProgram *program, uint32_t sizes) {
    Arena *arena = &program->arena;
    uint32_t switches = fission_switches(&program->decisions);
    ApiChoice *choice = arena_new(arena, ApiChoice);
    choice->sizes = arena_array(arena, int64_t, sizes + 1);
    choice->now.from = arena_array(arena, int64_t, switches);
    choice->other.from = arena_array(arena, int64_t, switches);
    return choice;
}

static void swap(ApiChoice *choice) {
    Setting now = choice->now;
    choice->now = choice->other;
    choice->other = now;
}

static bool is_as_now(const FissionLog *log, const Setting *setting) {
    for (uint32_t i = 0; i < fission_switches(log); i++)
        if (*fission_switch(log, i)->from != setting->from[i]) return false;
    return true;
}

static WeftStatus choose(const ApiPlanning *planning) {
    ApiEngine *engine = planning->program->engine;
    ApiChoice *choice = planning->entry->choice;
    PlanInput in = api_plan_input(planning);
    if (choice->is_planned) {
        in.took = took;
        in.data = engine;
    }
    api_plan_devices(planning->context, &in);
    read_setting(in.decisions, &choice->now);
    bool has_changed = plan_choose(&in), is_trial = choice->is_planned;
    choice->is_planned = true;
    if (!has_changed) return WEFT_STATUS_OK;
    engine->entry = NULL; // other kernels may be needed
    if (is_trial && choice->is_rejected && is_as_now(in.decisions, &choice->other)) {
        write_setting(in.decisions, planning->entry->fun, &choice->now);
        return WEFT_STATUS_OK;
    }
    swap(choice);
    read_setting(in.decisions, &choice->now);
    choice->now.least = 0;
    choice->is_rejected = false;
    choice->trials = is_trial ? TRIALS : 0;
    return WEFT_STATUS_OK;
}

// 4, 16 and so on: what calls took tells more than plans, later ones little more.
static bool is_due(uint32_t calls) {
    return calls > 1 && (calls & (calls - 1)) == 0 && (calls & 0x55555555) != 0;
}

void api_choose_rows(WeftContext *context, WeftProgram *program, ApiEntry *entry,
                     WeftValue *const *args, bool is_call) {
    if (program->engine == NULL || !program->engine->chooses) return;
    uint32_t count = count_sizes(entry);
    if (entry->choice == NULL) entry->choice = new_choice(program, count);
    ApiChoice *choice = entry->choice;
    int64_t *sizes = arena_array(&context->scratch, int64_t, count + 1);
    read_sizes(entry, args, sizes);
    bool is_same = choice->is_planned;
    for (uint32_t i = 0; i < count && is_same; i++)
        is_same = is_about(sizes[i], choice->sizes[i]);
    if (!is_same) {
        memcpy(choice->sizes, sizes, count * sizeof *sizes);
        choice->calls = choice->trials = 0;
        choice->now.least = 0;
        choice->is_planned = choice->is_rejected = false;
    }
    choice->calls += is_call;
    if (!is_same || (is_call && choice->trials == 0 && is_due(choice->calls)))
        api_plan(context, program, entry, args, choose);
}

void api_chosen_took(WeftProgram *program, const ApiEntry *entry, double seconds) {
    ApiChoice *choice = entry->choice;
    if (choice == NULL) return;
    Setting *now = &choice->now;
    if (now->least == 0 || seconds < now->least) now->least = seconds;
    if (choice->trials == 0 || --choice->trials > 0) return;
    if (choice->other.least == 0 || now->least < choice->other.least) return;
    swap(choice);
    write_setting(&program->decisions, entry->fun, &choice->now);
    program->engine->entry = NULL;
    choice->is_rejected = true;
}
