// SPDX-License-Identifier: Apache-2.0
//
// What each memory holds when it holds most, by the steps of a plan: what is made
// there, and what has come from another one. A whole that is joined late has no memory
// before somebody needs it; its parts stay until then.
#include "plan/plan.h"

typedef struct Holder {
    const Plan *plan;
    uint32_t memories; // of devices, and the host's; behind them that of all cores
    double *copies;    // by block and memory: bytes
    uint32_t *whole;   // by block: that it stays for; PLAN_NONE: for none
    bool *is_free;     // by block: nobody else needs it
    double *now, *most;
} Holder;

static double *copy_of(const Holder *h, uint32_t block, uint32_t memory) {
    return &h->copies[(size_t)block * h->memories + memory];
}

static void add(Holder *h, uint32_t memory, double bytes) {
    h->now[memory] += bytes;
    if (h->now[memory] > h->most[memory]) h->most[memory] = h->now[memory];
}

// In a memory, and that of all cores if it is part of that.
static void add_both(Holder *h, uint32_t memory, double bytes) {
    uint32_t host = h->plan->in.device_count;
    add(h, memory, bytes);
    if (memory == host || !h->plan->in.devices[memory].is_vague)
        add(h, h->memories, bytes);
}

static void hold(Holder *h, uint32_t block, uint32_t memory, double bytes) {
    if (!(bytes > 0)) return; // nor what nobody knows
    *copy_of(h, block, memory) += bytes;
    add_both(h, memory, bytes);
}

static void drop(Holder *h, uint32_t block, uint32_t memory) {
    add_both(h, memory, -*copy_of(h, block, memory));
    *copy_of(h, block, memory) = 0;
}

static void drop_all(Holder *h, uint32_t block) {
    for (uint32_t m = 0; m < h->memories; m++) drop(h, block, m);
}

static const PlanTask *maker_of(const Holder *h, uint32_t block) {
    uint32_t task = h->plan->blocks.data[block].task;
    return task == PLAN_NONE ? NULL : &h->plan->tasks.data[task];
}

static bool is_apart(const Holder *h, uint32_t block) {
    const PlanTask *maker = maker_of(h, block);
    return maker != NULL && maker->is_apart;
}

// The parts that have stayed for the whole need not stay any more.
static void let_go(Holder *h, uint32_t whole) {
    const PlanUses *parts = &maker_of(h, whole)->uses;
    for (uint32_t i = 0; i < parts->len; i++) {
        uint32_t part = parts->data[i].block;
        if (h->whole[part] != whole) continue;
        h->whole[part] = PLAN_NONE;
        if (h->is_free[part]) drop_all(h, part);
    }
}

// ---- steps --------------------------------------------------------------------------

// The part that the block is, of a whole that the task needs; PLAN_NONE: it is none.
static uint32_t whole_for(const Holder *h, const PlanTask *task, uint32_t block) {
    for (uint32_t i = 0; i < task->uses.len; i++) {
        uint32_t whole = task->uses.data[i].block;
        if (!is_apart(h, whole)) continue;
        const PlanUses *parts = &maker_of(h, whole)->uses;
        for (uint32_t k = 0; k < parts->len; k++)
            if (parts->data[k].block == block) return whole;
    }
    return PLAN_NONE;
}

// On the host the parts that were made there lie in the whole.
static void drop_within(Holder *h, const PlanTask *join) {
    for (uint32_t i = 0; i < join->uses.len; i++) {
        uint32_t block = join->uses.data[i].block;
        if (h->plan->blocks.data[block].is_within)
            drop(h, block, h->plan->in.device_count);
    }
}

// Wholes that the task needs are joined where it runs; of what it has views of, on the
// host.
static void join_all(Holder *h, const PlanTask *task) {
    uint32_t host = h->plan->in.device_count;
    for (uint32_t i = 0; i < task->uses.len; i++) {
        PlanUse use = task->uses.data[i];
        uint32_t memory = use.part != 0 ? host : plan_memory(h->plan, task->device);
        if (use.bytes == 0 || !is_apart(h, use.block)) continue;
        if (*copy_of(h, use.block, memory) > 0) continue;
        if (memory == host) drop_within(h, maker_of(h, use.block));
        hold(h, use.block, memory, h->plan->blocks.data[use.block].bytes);
    }
}

static void take(Holder *h, const PlanStep *step) {
    const PlanTask *task = &h->plan->tasks.data[step->task];
    if (whole_for(h, task, step->block) == PLAN_NONE)
        hold(h, step->block, plan_memory(h->plan, step->device), step->bytes);
}

static void make(Holder *h, const PlanTask *task) {
    uint32_t memory = plan_memory(h->plan, task->device);
    for (uint32_t k = 0; k < task->makes && !task->is_apart; k++)
        if (h->plan->blocks.data[task->first + k].type.rank > 0)
            hold(h, task->first + k, memory,
                 h->plan->blocks.data[task->first + k].bytes);
}

// What a kernel needs meanwhile, beside what it takes.
static void note_inside(Holder *h, const PlanTask *task) {
    uint32_t memory = plan_memory(h->plan, task->device);
    if (task->kernel == NULL) return;
    bool is_launched = h->plan->in.devices[task->device].is_vague;
    double inside = is_launched ? task->held.bytes : task->held_on_cores.counted;
    add_both(h, memory, inside);
    add_both(h, memory, -inside);
}

static void run(Holder *h, const PlanTask *task) {
    bool joins = task->op == OP_CONCAT && task->kernel == NULL;
    for (uint32_t i = 0; i < task->uses.len && task->is_apart; i++)
        h->whole[task->uses.data[i].block] = task->first;
    if (!task->is_apart) join_all(h, task);
    if (joins && !task->is_apart) drop_within(h, task);
    note_inside(h, task);
    if (!task->takes_over) make(h, task);
}

static void release(Holder *h, uint32_t block) {
    if (is_apart(h, block)) let_go(h, block);
    h->is_free[block] = true;
    if (h->whole[block] == PLAN_NONE) drop_all(h, block);
}

// Steps of a task are one after the other; what it took over is free then.
static void follow(Holder *h) {
    const PlanTask *last = NULL;
    const Plan *plan = h->plan;
    for (uint32_t i = 0; i < plan->steps.len; i++) {
        const PlanStep *step = &plan->steps.data[i];
        bool is_next = step->kind != PLAN_FREE;
        if (is_next && last != NULL && last->takes_over) make(h, last);
        if (is_next) last = NULL;
        if (step->kind == PLAN_SEND) take(h, step);
        else if (step->kind == PLAN_RUN) run(h, last = &plan->tasks.data[step->task]);
        else if (step->kind == PLAN_FREE) release(h, step->block);
        else hold(h, step->block, plan->in.device_count, step->bytes);
    }
    if (last != NULL && last->takes_over) make(h, last);
}

const double *plan_most_held(const Plan *plan) {
    Arena *arena = plan->in.arena;
    Holder h = {.plan = plan, .memories = plan->in.device_count + 1};
    h.copies = arena_array(arena, double, (size_t)plan->blocks.len *h.memories + 1);
    h.whole = arena_array(arena, uint32_t, plan->blocks.len + 1);
    h.is_free = arena_array(arena, bool, plan->blocks.len + 1);
    h.now = arena_array(arena, double, h.memories + 1);
    h.most = arena_array(arena, double, h.memories + 1);
    memset(h.whole, 0xff, plan->blocks.len * sizeof *h.whole);
    for (uint32_t i = 0; i < plan->params; i++)
        if (plan->blocks.data[i].type.rank > 0)
            hold(&h, i, plan->in.device_count, plan->blocks.data[i].bytes);
    follow(&h);
    return h.most;
}
