// SPDX-License-Identifier: Apache-2.0
//
// The least memory that a call needs, whatever is freed, copied or moved meanwhile:
// what certain tasks make and others use later, the results, the arguments, and in
// order what the kernel of a task holds beside them.
#include "base/mem.h"
#include "plan/plan.h"

typedef struct Least {
    const Plan *plan;
    uint32_t count;  // of tasks that are certain
    bool has_end;    // so are the results
    bool in_order;   // tasks run one after the other
    bool on_host;    // what is there alone counts
    uint32_t *until; // by block: 1 + the last task that uses it, of those noted
    PlanPeak peak;
} Least;

static void note_uses(Least *l, uint32_t task) {
    const PlanUses *uses = &l->plan->tasks.data[task].uses;
    for (uint32_t i = 0; i < uses->len; i++) {
        uint32_t *until = &l->until[uses->data[i].block];
        if (uses->data[i].bytes != 0 && *until <= task) *until = task + 1;
    }
}

// Whether the block is alive when that task begins, or all have ended. In any order
// only what the task takes is.
static bool is_alive(const Least *l, uint32_t block, uint32_t task) {
    const PlanBlock *b = &l->plan->blocks.data[block];
    if (!b->is_held || b->is_within || b->type.rank == 0 || isnan(b->bytes))
        return false;
    if (b->task == PLAN_NONE) return true;
    bool is_kept = b->is_result && l->has_end && (l->in_order || task == l->count);
    return b->task < task && (l->until[block] > task || is_kept);
}

// Whether it is alive on the host then, wherever kernels run: arguments, what the host
// is making, and in the end the results.
static bool is_alive_there(const Least *l, uint32_t block, uint32_t task) {
    const PlanBlock *b = &l->plan->blocks.data[block];
    bool is_made = b->task == task && task < l->count && b->is_held &&
                   l->plan->tasks.data[task].kernel == NULL && b->bytes > 0;
    return is_made || (is_alive(l, block, task) &&
                       (b->task == PLAN_NONE || (b->is_result && task == l->count)));
}

static bool counts(const Least *l, uint32_t block, uint32_t task) {
    return l->on_host ? is_alive_there(l, block, task) : is_alive(l, block, task);
}

// What the task holds beside what is alive, for sure.
static PlanHeld beside_of(const Least *l, uint32_t task) {
    const PlanTask *t = &l->plan->tasks.data[task];
    if (l->on_host || !l->in_order || task == l->count) return (PlanHeld){0};
    return l->plan->in.is_on_cores ? t->held_on_cores : t->held;
}

static void note_alive(Least *l, uint32_t task) {
    PlanHeld beside = beside_of(l, task);
    double bytes = beside.bytes, counted = beside.counted;
    uint32_t count = l->plan->blocks.len;
    for (uint32_t i = 0; i < count; i++) {
        double size = l->plan->blocks.data[i].bytes;
        if (!counts(l, i, task)) continue;
        bytes += size;
        counted += mem_rounded(size);
    }
    if (bytes <= l->peak.bytes) return;
    l->peak.bytes = bytes;
    l->peak.counted = counted;
    l->peak.beside = beside.bytes;
    l->peak.task = beside.bytes > 0 ? task : PLAN_NONE;
    l->peak.blocks.len = 0;
    for (uint32_t i = 0; i < count; i++)
        if (counts(l, i, task)) vec_push(l->plan->in.arena, &l->peak.blocks, i);
}

static PlanPeak find_least(const Plan *plan, bool in_order, bool on_host) {
    Least l = {.plan = plan,
               .count = plan->sure == PLAN_NONE ? plan->tasks.len : plan->sure,
               .has_end = plan->sure == PLAN_NONE,
               .in_order = in_order,
               .on_host = on_host,
               .until = arena_array(plan->in.arena, uint32_t, plan->blocks.len + 1),
               .peak = {.task = PLAN_NONE}};
    for (uint32_t i = 0; i < l.count && in_order; i++) note_uses(&l, i);
    for (uint32_t i = 0; i < l.count; i++) {
        note_uses(&l, i);
        note_alive(&l, i);
    }
    note_alive(&l, l.count);
    return l.peak;
}

PlanPeak plan_least(const Plan *plan, bool in_order) {
    return find_least(plan, in_order, false);
}

PlanPeak plan_least_on_host(const Plan *plan) {
    return find_least(plan, false, true);
}
