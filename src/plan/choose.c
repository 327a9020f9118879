// SPDX-License-Identifier: Apache-2.0
//
// Which rows of operators are cut in this call (plan.h). Splitting looks at one
// operator after the other, without sizes (fission/strategy.h); but what travels for
// one may have to travel back for the next, and much of that is seen in a plan alone:
// whether it would take longer than with all of them whole, or with one of them.
#include "plan/plan.h"

// What saves less than that is no more than plans may be wrong by.
static const double WORTH = 0.95;

typedef struct Choice {
    PlanInput in;
    FissionSwitch **all; // of the entry: its own, if it has one, and those of rows
    uint32_t count;
} Choice;

static void set(const FissionSwitch *at, bool in_parts) {
    *at->from = in_parts ? at->least : INT64_MAX;
}

static void set_all(const Choice *c, bool in_parts) {
    for (uint32_t i = 0; i < c->count; i++) set(c->all[i], in_parts);
}

static int64_t *read_all(const Choice *c) {
    const FissionLog *log = c->in.decisions;
    int64_t *from = arena_array(c->in.arena, int64_t, fission_switches(log));
    fission_read_switches(log, from);
    return from;
}

static void find_all(Choice *c) {
    const FissionLog *log = c->in.decisions;
    c->all = arena_array(c->in.arena, FissionSwitch *, fission_switches(log));
    for (uint32_t i = 0; i < fission_switches(log); i++)
        if (fission_switch(log, i)->entry == c->in.entry)
            c->all[c->count++] = fission_switch(log, i);
}

// Whether the plan has something that is cut by it.
static bool comes_by(const FissionLog *log, const Plan *plan, const FissionSwitch *at) {
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        const FissionPiece *piece = plan->tasks.data[i].piece;
        if (piece != NULL && &log->rows.data[piece->row].at == at) return true;
    }
    return false;
}

// One row after the other is whole, if that is better. Returns seconds as they are
// then.
static double improve(const Choice *c, const Plan *plan) {
    enum { MOST = 4000 }; // tasks in all plans, of some microseconds each
    double now = plan->seconds;
    if ((double)c->count * plan->tasks.len > MOST) return now;
    for (uint32_t i = c->count; i-- > 0;) {
        FissionSwitch *at = c->all[i];
        if (!comes_by(c->in.decisions, plan, at)) continue;
        set(at, false);
        at->in_parts = now;
        at->whole = plan_make(&c->in)->seconds;
        if (at->whole < WORTH * now) now = at->whole;
        else set(at, true);
    }
    return now;
}

// Whether the plan tells enough: what is cut has to run, to learn how fast devices are.
static bool is_telling(const Choice *c, const Plan *plan) {
    bool is_sure = plan->is_timed;
    for (uint32_t d = 0; d < c->in.device_count; d++)
        is_sure = is_sure && (!c->in.devices[d].is_vague || plan->paces[d] > 0);
    return is_sure;
}

static bool is_any_cut(const Plan *plan) {
    for (uint32_t i = 0; i < plan->tasks.len; i++)
        if (plan->tasks.data[i].piece != NULL) return true;
    return false;
}

static Plan *make(const Choice *c, bool in_parts) {
    set_all(c, in_parts);
    return plan_make(&c->in);
}

static void choose(Choice *c) {
    for (uint32_t i = 0; i < c->count; i++) c->all[i]->in_parts = c->all[i]->whole = 0;
    // What has run so far ran in parts or whole; both are to be thought as fast.
    if (c->in.took != NULL) c->in.paces = make(c, false)->paces;
    const Plan *plan = make(c, true);
    if (!is_any_cut(plan)) { // there is too little of everything
        if (fission_is_of_entry(c->in.decisions, c->all[0])) set(c->all[0], false);
        return;
    }
    if (!is_telling(c, plan)) return;
    double in_parts = improve(c, plan);
    const int64_t *best = read_all(c);
    c->in.paces = plan->paces;
    double whole = make(c, false)->seconds;
    if (in_parts < WORTH * whole) {
        fission_write_switches(c->in.decisions, c->in.entry, best);
        return;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        c->all[i]->in_parts = plan->seconds;
        c->all[i]->whole = whole;
    }
}

bool plan_choose(const PlanInput *in) {
    Choice c = {.in = *in};
    c.in.is_shifting = true;
    find_all(&c);
    if (c.count == 0) return false;
    const int64_t *before = read_all(&c);
    choose(&c);
    return !fission_switches_say(in->decisions, in->entry, before);
}
