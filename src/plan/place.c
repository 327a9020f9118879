// SPDX-License-Identifier: Apache-2.0
//
// Where tasks go, and when: in the order of the program each goes to the device that
// would have it done first, as the run puts them (api/ahead_place.c); what it needs and
// is not there travels before, if need be while the task before it runs. Memory is
// freed after its last use.
#include <string.h>

#include "plan/plan.h"

// What the run counts with, too.
static const double BYTES_PER_SECOND = 8e9, CALL = 1e-5;

// What a device does one after the other: the last tasks, the oldest first.
typedef struct Line {
    struct {
        double begin;
        uint32_t behind; // the step behind the one that runs it; 0: there is none
    } ran[PLAN_AHEAD];
    double way; // until when something travels beside tasks
} Line;

typedef struct Placer {
    Plan *plan;
    Line *lines;  // by device
    Map present;  // (block, part, memory) -> 1: it is there
    Map apart;    // block -> the task that joins it: its parts are where they were made
    double *free; // by device, and the host's: when it has nothing to do
    double *given; // by device: seconds
    double live;   // bytes
    struct {
        uint32_t *data; // blocks
        uint32_t len, cap;
    } alive;
} Placer;

uint32_t plan_memory(const Plan *plan, uint32_t device) {
    uint32_t host = plan->in.device_count;
    return device == host || plan->in.devices[device].is_host ? host : device;
}

// ---- what is where ------------------------------------------------------------------

static uint64_t key_of(uint32_t block, uint32_t part, uint32_t memory) {
    return ((uint64_t)block << 40 | (uint64_t)part << 8 | memory) + 1;
}

static bool is_there(const Placer *pl, PlanUse use, uint32_t memory) {
    uint64_t known;
    return map_get(&pl->present, key_of(use.block, 0, memory), &known) ||
           map_get(&pl->present, key_of(use.block, use.part, memory), &known);
}

// What travels, and the memory it goes to.
typedef struct Leg {
    PlanUse use;
    uint32_t device; // or device_count: the host
} Leg;

typedef struct Legs {
    Leg *data;
    uint32_t len, cap;
} Legs;

// What has to travel so that the device has what is used: of what lies in parts, those
// that are not there; a view of that is one of the whole, on the host.
static void add_legs(const Placer *pl, PlanUse use, uint32_t device, Legs *legs) {
    const Plan *plan = pl->plan;
    uint32_t host = plan->in.device_count;
    uint64_t joiner;
    if (plan->blocks.data[use.block].type.rank == 0 || use.bytes == 0 ||
        is_there(pl, use, plan_memory(plan, device)))
        return;
    bool is_apart = map_get(&pl->apart, use.block, &joiner) &&
                    !is_there(pl, (PlanUse){.block = use.block}, host);
    const PlanTask *task = is_apart ? &plan->tasks.data[joiner] : NULL;
    for (uint32_t i = 0; is_apart && i < task->uses.len; i++)
        add_legs(pl, task->uses.data[i], use.part != 0 ? host : device, legs);
    if (!is_apart || use.part != 0)
        vec_push(plan->in.arena, legs, ((Leg){use, device}));
}

static Legs legs_of(const Placer *pl, const PlanTask *task, uint32_t device) {
    Legs legs = {0};
    for (uint32_t i = 0; i < task->uses.len; i++)
        add_legs(pl, task->uses.data[i], device, &legs);
    return legs;
}

// Whether what the task joins stays in its parts, of which some are on a device alone.
static bool joins_late(const Placer *pl, const PlanTask *task) {
    bool may = pl->plan->in.joins_late && task->kernel == NULL && task->joins_rows;
    return may && legs_of(pl, task, pl->plan->in.device_count).len > 0;
}

static double end_of_maker(const Plan *plan, uint32_t block) {
    uint32_t task = plan->blocks.data[block].task;
    return task == PLAN_NONE ? 0 : plan->tasks.data[task].end;
}

// ---- how long -----------------------------------------------------------------------

static double or_nothing(double bytes) {
    return isnan(bytes) ? 0 : bytes;
}

// Whether the block is made where it belongs, so that nobody has to copy it there.
static bool lies_within(const Plan *plan, uint32_t block) {
    const PlanBlock *b = &plan->blocks.data[block];
    return b->is_within &&
           plan_memory(plan, plan->tasks.data[b->task].device) == plan->in.device_count;
}

// Of what the host does, the share that is left to it.
static double share_left(const Plan *plan, const PlanTask *task) {
    double all = 0, within = 0;
    for (uint32_t i = 0; i < task->uses.len; i++) {
        const PlanUse *use = &task->uses.data[i];
        if (plan->blocks.data[use->block].type.rank == 0) continue;
        all += use->bytes;
        within += lies_within(plan, use->block) ? use->bytes : 0;
    }
    return task->op == OP_CONCAT && within > 0 ? 1 - within / all : 1;
}

// What it reads and writes, as far as that is known. A part of an operator reads its
// share of what all of them read.
static double bytes_of(const Plan *plan, const PlanTask *task) {
    double bytes = or_nothing(plan_made(plan, task));
    double shares = task->piece != NULL ? plan->in.device_count : 1;
    for (uint32_t i = 0; i < task->uses.len; i++) {
        const PlanUse *use = &task->uses.data[i];
        bytes += or_nothing(use->bytes) / (use->part == 0 ? shares : 1);
    }
    return bytes;
}

double plan_bytes_at_a_time(double turns, double bytes) {
    enum { CACHED = 16 << 20 };
    static const double of_memory = 10, of_cache = 40;
    return turns > 1 && bytes <= CACHED ? of_cache : of_memory;
}

static double seconds_of(const Plan *plan, const PlanTask *task, uint32_t device) {
    static const double host_rate = 1e9; // elements that are joined, copied
    if (task->kernel == NULL) return task->work * share_left(plan, task) / host_rate;
    const PlanDevice *d = &plan->in.devices[device];
    double rate = task->kernel->kernel == CORE_PARALLEL_KERNEL ? d->rate : d->one;
    double bytes = bytes_of(plan, task);
    return CALL +
           (task->work + bytes / plan_bytes_at_a_time(task->turns, bytes)) / rate;
}

static double took_on(const Plan *plan, const PlanTask *task, uint32_t device) {
    bool may_have_run = task->kernel != NULL && plan->in.took != NULL;
    return may_have_run ? plan->in.took(plan->in.data, task, device) : 0;
}

// Of those that have run there, of which short ones tell nothing; 0: none has.
static double pace_of(const Plan *plan, uint32_t device) {
    static const double telling = 1e-4; // seconds
    double took = 0, alone = 0;
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        double seconds = took_on(plan, task, device),
               by_work = seconds_of(plan, task, device);
        if (!(seconds > 0) || !(by_work * task->turns > telling)) continue;
        took += seconds * task->turns;
        alone += by_work * task->turns;
    }
    return alone > 0 ? took / alone : 0;
}

// Tasks that have not run there take as much longer than by their work, or less, as the
// others did, or as those of another plan.
static void find_paces(Plan *plan) {
    plan->paces = arena_array(plan->in.arena, double, plan->in.device_count + 1);
    for (uint32_t d = 0; d < plan->in.device_count && plan->in.took != NULL; d++) {
        double pace = pace_of(plan, d);
        plan->paces[d] = pace > 0 || plan->in.paces == NULL ? pace : plan->in.paces[d];
    }
}

// Of all its turns. What nobody knows counts as something, as in the run.
static double duration(const Plan *plan, const PlanTask *task, uint32_t device) {
    static const double unknown = 1e-4;
    double seconds = took_on(plan, task, device);
    if (!(seconds > 0)) {
        double pace = task->kernel != NULL ? plan->paces[device] : 0;
        seconds = seconds_of(plan, task, device) * (pace > 0 ? pace : 1);
    }
    seconds *= task->turns;
    return isnan(seconds) ? unknown : seconds;
}

// Seconds that travel takes, in all turns of the task.
static double seconds_for(const PlanTask *task, double bytes) {
    return or_nothing(bytes * task->turns) / BYTES_PER_SECOND;
}

static double sum_of(Legs legs) {
    double bytes = 0;
    for (uint32_t i = 0; i < legs.len; i++) bytes += or_nothing(legs.data[i].use.bytes);
    return bytes;
}

// When it could begin to fetch what it needs.
static double ready_at(const Placer *pl, const PlanTask *task, uint32_t device) {
    double ready = pl->free[device];
    for (uint32_t i = 0; i < task->uses.len; i++) {
        double end = end_of_maker(pl->plan, task->uses.data[i].block);
        if (end > ready) ready = end;
    }
    return ready;
}

static uint32_t best_for(const Placer *pl, const PlanTask *task) {
    const Plan *plan = pl->plan;
    uint32_t best = plan->in.device_count;
    if (task->kernel == NULL) return best;
    bool is_free = plan->in.is_shifting && task->piece != NULL && task->piece->is_chunk;
    if (task->piece != NULL && !is_free && !plan->in.decisions->is_stream)
        return task->piece->device;
    double least = INFINITY;
    for (uint32_t d = 0; d < plan->in.device_count; d++) {
        double end = ready_at(pl, task, d) +
                     seconds_for(task, sum_of(legs_of(pl, task, d))) +
                     duration(plan, task, d);
        bool is_better =
            end < least || (end <= least && pl->given[d] < pl->given[best]);
        if (!is_better) continue;
        best = d;
        least = end;
    }
    return best;
}

// ---- memory -------------------------------------------------------------------------

// What becomes of a block where it was made: it is freed, or given to the caller.
static void add_leaving(Plan *plan, PlanStepKind kind, uint32_t block, double begin,
                        double end) {
    const PlanBlock *b = &plan->blocks.data[block];
    vec_push(plan->in.arena, &plan->steps,
             (PlanStep){.kind = kind,
                        .device = plan->tasks.data[b->task].device,
                        .task = PLAN_NONE,
                        .block = block,
                        .bytes = b->bytes,
                        .begin = begin,
                        .end = end});
}

static void note_peak(Placer *pl, uint32_t task) {
    Plan *plan = pl->plan;
    if (pl->live <= plan->peak.bytes) return;
    plan->peak.bytes = pl->live;
    plan->peak.task = task;
    plan->peak.blocks.len = 0;
    for (uint32_t i = 0; i < pl->alive.len; i++)
        vec_push(plan->in.arena, &plan->peak.blocks, pl->alive.data[i]);
}

static void add_alive(Placer *pl, uint32_t block) {
    const PlanBlock *b = &pl->plan->blocks.data[block];
    if (b->type.rank == 0) return;
    vec_push(pl->plan->in.arena, &pl->alive, block);
    pl->live += or_nothing(b->bytes);
}

static void add_made(Placer *pl, const PlanTask *task) {
    for (uint32_t k = 0; k < task->makes; k++) add_alive(pl, task->first + k);
}

static void free_after(Placer *pl, uint32_t number, double end) {
    Plan *plan = pl->plan;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pl->alive.len; i++) {
        uint32_t block = pl->alive.data[i];
        const PlanBlock *b = &plan->blocks.data[block];
        bool is_used = b->last != PLAN_NONE && b->last > number;
        if (b->task == PLAN_NONE || b->is_result || is_used) {
            pl->alive.data[kept++] = block;
            continue;
        }
        pl->live -= or_nothing(b->bytes);
        add_leaving(plan, PLAN_FREE, block, end, end);
    }
    pl->alive.len = kept;
}

// The memory of parts that lie in the whole is the whole's.
static void take_over_parts(Placer *pl, const PlanTask *task) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pl->alive.len; i++) {
        uint32_t block = pl->alive.data[i];
        bool is_part = false;
        for (uint32_t k = 0; k < task->uses.len && !is_part; k++)
            is_part = task->uses.data[k].block == block && lies_within(pl->plan, block);
        if (is_part) pl->live -= or_nothing(pl->plan->blocks.data[block].bytes);
        else pl->alive.data[kept++] = block;
    }
    pl->alive.len = kept;
}

// An operator that writes into an array which nobody needs any more makes no new one.
static bool takes_over(const Plan *plan, uint32_t number) {
    const PlanTask *task = &plan->tasks.data[number];
    if (task->op != OP_SCATTER && task->op != OP_HIST && task->op != OP_UPDATE)
        return false;
    const PlanBlock *made = &plan->blocks.data[task->first];
    for (uint32_t i = 0; i < task->uses.len; i++) {
        const PlanBlock *b = &plan->blocks.data[task->uses.data[i].block];
        if (b->task != PLAN_NONE && b->last == number && !b->is_result &&
            b->bytes == made->bytes)
            return true;
    }
    return false;
}

// ---- placing ------------------------------------------------------------------------

static void note_present(Placer *pl, PlanUse use, uint32_t device) {
    uint32_t memory = plan_memory(pl->plan, device);
    map_set(&pl->present, key_of(use.block, use.part, memory), 1);
}

// Whether it can travel to the device while tasks before run there: it was not made on
// another, and the task does not overwrite it.
static bool travels_early(const Placer *pl, uint32_t number, Leg leg) {
    const Plan *plan = pl->plan;
    uint32_t host = plan->in.device_count,
             maker = plan->blocks.data[leg.use.block].task;
    bool is_host =
        maker == PLAN_NONE || plan_memory(plan, plan->tasks.data[maker].device) == host;
    return is_host && leg.device != host && plan->in.devices[leg.device].is_beside &&
           pl->lines[leg.device].ran[PLAN_AHEAD - 1].behind > 0 &&
           plan->tasks.data[number].turns == 1 && !takes_over(plan, number);
}

// The oldest task that it can travel beside.
static uint32_t oldest(const Line *line) {
    uint32_t i = 0;
    while (i + 1 < PLAN_AHEAD && line->ran[i].behind == 0) i++;
    return i;
}

// Right behind the step that runs that.
static void put_early(Placer *pl, PlanStep step) {
    Plan *plan = pl->plan;
    const Line *line = &pl->lines[step.device];
    uint32_t at = line->ran[oldest(line)].behind;
    vec_push(plan->in.arena, &plan->steps, step);
    memmove(plan->steps.data + at + 1, plan->steps.data + at,
            (plan->steps.len - 1 - at) * sizeof step);
    plan->steps.data[at] = step;
    for (uint32_t d = 0; d <= plan->in.device_count; d++)
        for (uint32_t i = 0; i < PLAN_AHEAD; i++)
            pl->lines[d].ran[i].behind += pl->lines[d].ran[i].behind >= at;
}

static void note_run(Placer *pl, const PlanTask *task) {
    Line *line = &pl->lines[task->device];
    memmove(line->ran, line->ran + 1, sizeof line->ran - sizeof *line->ran);
    line->ran[PLAN_AHEAD - 1].begin = task->begin;
    line->ran[PLAN_AHEAD - 1].behind = pl->plan->steps.len;
}

// When it can begin to travel beside tasks: after what travels so, and when it is made.
static double begin_beside(const Placer *pl, Leg leg) {
    const Line *line = &pl->lines[leg.device];
    double begin = line->ran[oldest(line)].begin;
    double made = end_of_maker(pl->plan, leg.use.block);
    if (line->way > begin) begin = line->way;
    return made > begin ? made : begin;
}

// By *ready all has come.
static void send(Placer *pl, uint32_t number, Leg leg, double *ready) {
    Plan *plan = pl->plan;
    bool is_early = travels_early(pl, number, leg);
    double begin = is_early ? begin_beside(pl, leg) : *ready;
    double end = begin + seconds_for(&plan->tasks.data[number], leg.use.bytes);
    PlanStep step = {.kind = PLAN_SEND,
                     .device = leg.device,
                     .task = number,
                     .block = leg.use.block,
                     .bytes = leg.use.bytes,
                     .begin = begin,
                     .end = end};
    if (is_early) put_early(pl, step);
    else vec_push(plan->in.arena, &plan->steps, step);
    if (is_early) pl->lines[leg.device].way = end;
    if (end > *ready) *ready = end;
    note_present(pl, leg.use, leg.device);
}

// All that the task needs is where it runs then; what it has views of, on the host.
static double send_all(Placer *pl, uint32_t number, double now) {
    PlanTask *task = &pl->plan->tasks.data[number];
    Legs legs = legs_of(pl, task, task->device);
    task->sent = sum_of(legs);
    for (uint32_t i = 0; i < legs.len; i++) send(pl, number, legs.data[i], &now);
    for (uint32_t i = 0; i < task->uses.len; i++) {
        PlanUse use = task->uses.data[i];
        uint64_t joiner;
        if (!map_get(&pl->apart, use.block, &joiner)) continue;
        bool is_view = use.part != 0;
        note_present(pl, (PlanUse){.block = use.block},
                     is_view ? pl->plan->in.device_count : task->device);
    }
    return now;
}

static void place_task(Placer *pl, uint32_t number) {
    Plan *plan = pl->plan;
    PlanTask *task = &plan->tasks.data[number];
    uint32_t device = task->device = best_for(pl, task);
    double now = ready_at(pl, task, device);
    bool is_late = task->is_apart = joins_late(pl, task);
    if (is_late) map_set(&pl->apart, task->first, number);
    task->begin = is_late ? now : send_all(pl, number, now);
    task->end = task->begin + (is_late ? 0 : duration(plan, task, device));
    vec_push(plan->in.arena, &plan->steps,
             (PlanStep){.kind = PLAN_RUN,
                        .device = device,
                        .task = number,
                        .block = PLAN_NONE,
                        .begin = task->begin,
                        .end = task->end});
    pl->free[device] = task->end;
    note_run(pl, task);
    pl->given[device] += task->end - task->begin;
    for (uint32_t k = 0; k < task->makes && !is_late; k++)
        note_present(pl, (PlanUse){.block = task->first + k}, device);
    // What is taken over is freed as another's, before it is alive as the task's own.
    if (task->op == OP_CONCAT && task->kernel == NULL) take_over_parts(pl, task);
    task->takes_over = takes_over(plan, number);
    if (!task->takes_over) add_made(pl, task);
    note_peak(pl, number);
    free_after(pl, number, task->end);
    if (task->takes_over) add_made(pl, task);
}

// Results come to the host.
static void fetch_results(Placer *pl) {
    Plan *plan = pl->plan;
    uint32_t host = plan->in.device_count;
    double now = plan->seconds;
    for (uint32_t i = 0; i < plan->blocks.len; i++) {
        const PlanBlock *b = &plan->blocks.data[i];
        Legs legs = {0};
        if (b->is_result) add_legs(pl, (PlanUse){i, 0, b->bytes}, host, &legs);
        for (uint32_t k = 0; k < legs.len; k++) {
            double begin = now;
            now += or_nothing(legs.data[k].use.bytes) / BYTES_PER_SECOND;
            add_leaving(plan, PLAN_FETCH, legs.data[k].use.block, begin, now);
        }
    }
    plan->seconds = now;
}

// ---- what people see travel ---------------------------------------------------------

// Of a part by another memory than that, or of parts that are still apart.
static double bytes_from_elsewhere(const Plan *plan, PlanUse use, uint32_t memory) {
    const PlanBlock *block = &plan->blocks.data[use.block];
    const PlanTask *maker =
        block->task == PLAN_NONE ? NULL : &plan->tasks.data[block->task];
    uint32_t host = plan->in.device_count;
    double bytes = 0;
    if (block->type.rank == 0) return 0;
    if (maker == NULL || !maker->is_apart)
        return plan_memory(plan, maker == NULL ? host : maker->device) != memory
                   ? use.bytes
                   : 0;
    for (uint32_t i = 0; i < maker->uses.len; i++)
        bytes += bytes_from_elsewhere(plan, maker->uses.data[i], memory);
    return bytes;
}

bool plan_travels(const Plan *plan, PlanUse use, const PlanTask *by,
                  double *bytes_out) {
    uint32_t to = by == NULL ? plan->in.device_count : by->device;
    bool stays = (by != NULL && by->is_apart) || use.bytes == 0;
    *bytes_out = stays ? 0 : bytes_from_elsewhere(plan, use, plan_memory(plan, to));
    return *bytes_out != 0; // nor if it is not known
}

// ---- the longest way ----------------------------------------------------------------

double plan_longest(Plan *plan, const double *seconds, bool mark) {
    double *end = arena_array(plan->in.arena, double, plan->tasks.len + 1);
    uint32_t *from = arena_array(plan->in.arena, uint32_t, plan->tasks.len + 1);
    uint32_t last = PLAN_NONE;
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        from[i] = PLAN_NONE;
        for (uint32_t k = 0; k < task->uses.len; k++) {
            uint32_t maker = plan->blocks.data[task->uses.data[k].block].task;
            if (maker == PLAN_NONE || end[maker] < end[i]) continue;
            end[i] = end[maker];
            from[i] = maker;
        }
        end[i] += seconds[i];
        if (last == PLAN_NONE || end[i] > end[last]) last = i;
    }
    if (last == PLAN_NONE) return 0;
    for (uint32_t i = last; mark && i != PLAN_NONE; i = from[i])
        plan->tasks.data[i].is_critical = true;
    return end[last];
}

static void find_longest(Plan *plan) {
    double *seconds = arena_array(plan->in.arena, double, plan->tasks.len + 1);
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        seconds[i] = task->end - task->begin;
    }
    plan->longest = plan_longest(plan, seconds, true);
}

void plan_place(Plan *plan) {
    uint32_t devices = plan->in.device_count + 1;
    Arena *arena = plan->in.arena;
    Placer pl = {.plan = plan,
                 .lines = arena_array(arena, Line, devices),
                 .free = arena_array(arena, double, devices),
                 .given = arena_array(arena, double, devices)};
    map_init(&pl.present, arena);
    map_init(&pl.apart, arena);
    for (uint32_t i = 0; i < plan->params; i++) {
        map_set(&pl.present, key_of(i, 0, plan->in.device_count), 1);
        add_alive(&pl, i);
    }
    plan->args = pl.live;
    plan->is_timed = true;
    for (uint32_t i = 0; i < plan->tasks.len; i++)
        plan->is_timed = plan->is_timed && plan_is_timed(&plan->tasks.data[i]);
    note_peak(&pl, PLAN_NONE);
    find_paces(plan);
    for (uint32_t i = 0; i < plan->tasks.len; i++) place_task(&pl, i);
    for (uint32_t d = 0; d < devices; d++)
        if (pl.free[d] > plan->seconds) plan->seconds = pl.free[d];
    plan->busy = pl.given;
    fetch_results(&pl);
    find_longest(plan);
}

Plan *plan_make(const PlanInput *in) {
    Plan *plan = plan_walk(in);
    plan_place(plan);
    return plan;
}
