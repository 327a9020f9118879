// SPDX-License-Identifier: Apache-2.0
//
// Which operators are cut, as plans say and calls confirm (choice.h).
#include "api/choice.h"

#include <string.h>

#include "api/plans.h"

// ---- sizes --------------------------------------------------------------------------

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

// ---- what calls took ----------------------------------------------------------------

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
    const WeftContext *context = engine->program->context;
    double seconds = api_kernel_seconds(context, &engine->kernels[number - 1], device);
    return seconds > 0 ? seconds : parts_took(engine, task->loc, device);
}

// ---- settings -----------------------------------------------------------------------

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
    ApiSetting now = choice->now;
    choice->now = choice->other;
    choice->other = now;
}

// For so many calls, or for good if that is 0.
static void try_other(ApiChoice *choice, uint32_t calls) {
    swap(choice);
    choice->now.least = 0;
    choice->is_rejected = false;
    choice->trials = calls;
}

static void try_alone(WeftProgram *program, const ApiEntry *entry) {
    ApiChoice *choice = entry->choice;
    FissionLog *log = &program->decisions;
    fission_read_switches(log, choice->now.from);
    for (uint32_t i = 0; i < fission_switches(log); i++)
        choice->other.from[i] = INT64_MAX;
    fission_write_switches(log, entry->fun, choice->other.from);
    choice->other.is_alone = true;
    try_other(choice, API_TRIALS);
    program->engine->entry = NULL; // other kernels may be needed
}

// What was better alone was so in three calls, in which others may have had its cores.
static void try_together(WeftProgram *program, const ApiEntry *entry) {
    ApiChoice *choice = entry->choice;
    fission_write_switches(&program->decisions, entry->fun, choice->other.from);
    try_other(choice, API_TRIALS);
    program->engine->entry = NULL;
}

static WeftStatus choose(const ApiPlanning *planning) {
    ApiEngine *engine = planning->program->engine;
    ApiChoice *choice = planning->entry->choice;
    PlanInput in = api_plan_input(planning);
    in.holds = in.holds_on_cores = NULL; // of many plans, which nobody asks for that
    if (choice->is_planned) {
        in.took = took;
        in.data = engine;
    }
    api_plan_devices(planning->program, &in);
    fission_read_switches(in.decisions, choice->now.from);
    bool has_changed = plan_choose(&in), is_trial = choice->is_planned;
    choice->is_planned = true;
    if (!has_changed) return WEFT_STATUS_OK;
    engine->entry = NULL; // other kernels may be needed
    if (choice->is_rejected &&
        fission_switches_say(in.decisions, in.entry, choice->other.from)) {
        fission_write_switches(in.decisions, in.entry, choice->now.from);
        return WEFT_STATUS_OK;
    }
    fission_read_switches(in.decisions, choice->other.from);
    choice->other.is_alone = false;
    try_other(choice, is_trial ? API_TRIALS : 0);
    return WEFT_STATUS_OK;
}

// 4, 16 and so on: what calls took tells more than plans, later ones little more. One
// place alone may have won since shares were learned late: that is looked at twice as
// often.
static bool is_due(const ApiChoice *choice) {
    uint32_t calls = choice->calls;
    bool is_often = choice->now.is_alone || (calls & 0x55555555) != 0;
    return calls > 1 && (calls & (calls - 1)) == 0 && is_often;
}

// Once one place is tried alone, when shares have been learned, unless memory is
// counted. If it is better, what was before is tried again later.
static void think_again(WeftContext *context, WeftProgram *program, ApiEntry *entry,
                        WeftValue *const *args) {
    enum { LEARNED = 16 };
    const ApiChoice *choice = entry->choice;
    if (choice->trials > 0 || !is_due(choice)) return;
    if (choice->now.is_alone) try_together(program, entry);
    else if (choice->calls == LEARNED && context->alone != NULL &&
             context->mem.limit == 0)
        try_alone(program, entry);
    else api_plan(context, program, entry, args, choose, NULL);
}

void api_choose_rows(WeftContext *context, WeftProgram *program, ApiEntry *entry,
                     WeftValue *const *args, bool is_call) {
    if (program->engine == NULL || !program->engine->chooses) return;
    program->engine->alone = NULL; // plans are of all
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
        choice->now.is_alone = choice->is_planned = choice->is_rejected = false;
    }
    choice->calls += is_call;
    if (!is_same) api_plan(context, program, entry, args, choose, NULL);
    else if (is_call) think_again(context, program, entry, args);
    program->engine->alone = choice->now.is_alone ? context->alone : NULL;
}

void api_chosen_took(WeftProgram *program, const ApiEntry *entry, double seconds) {
    ApiChoice *choice = entry->choice;
    if (choice == NULL) return;
    ApiSetting *now = &choice->now;
    if (now->least == 0 || seconds < now->least) now->least = seconds;
    if (choice->trials == 0) return;
    bool is_first = choice->trials == API_TRIALS;
    bool is_far = !is_first && seconds > 2 * choice->other.least;
    choice->trials = is_far ? 0 : choice->trials - 1;
    if (choice->trials > 0) return;
    if (choice->other.least == 0 || now->least < choice->other.least) return;
    swap(choice);
    fission_write_switches(&program->decisions, entry->fun, choice->now.from);
    program->engine->entry = NULL;
    choice->is_rejected = true;
}
