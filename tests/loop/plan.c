// SPDX-License-Identifier: Apache-2.0
//
// What must hold of a plan (loop/launch.h): between launches a host needs no element
// and meets no parallel loop; launches get what they use and hand out what others use
// of theirs, which is scalars; and they do nothing that only a host can do.
#include "plan.h"

typedef struct PlanCheck {
    const LoopKernel *kernel;
    const LoopPlan *plan;
    const char *why; // what does not hold; NULL: nothing
    uint8_t *inside; // by LoopRef: bound within the launch looked at
    bool *is_seen;   // by function
} PlanCheck;

static void want(PlanCheck *c, bool ok, const char *why) {
    if (!ok && c->why == NULL) c->why = why;
}

static bool has(const LoopRef *refs, uint32_t count, LoopRef ref) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] == ref) return true;
    return false;
}

// ---- within a launch ----------------------------------------------------------------

static void bind(PlanCheck *c, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) c->inside[refs[i]] = 1;
}

static void check_uses(PlanCheck *c, const LoopLaunch *launch, const LoopRef *refs,
                       uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        want(c,
             c->kernel->values.data[refs[i]].is_const || c->inside[refs[i]] ||
                 has(launch->ins, launch->in_count, refs[i]),
             "a launch uses what it is not given");
}

static void check_inside(PlanCheck *c, const LoopLaunch *launch, const LoopBody *body,
                         bool is_top) {
    bind(c, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_memory = stm->op == LOOP_ALLOC || stm->op == LOOP_MARK ||
                         stm->op == LOOP_KEEP || stm->op == LOOP_DATA;
        want(c, stm->op != LOOP_RESULT && stm->order != ORDER_PARALLEL,
             "a launch does a host's work");
        want(c, !is_memory || !is_top || launch->is_parallel,
             "a run of statements allocates for others");
        check_uses(c, launch, stm->args, stm->arg_count);
        for (uint32_t k = 0; k < stm->body_count; k++)
            check_inside(c, launch, stm->bodies[k], false);
        bind(c, stm->outs, stm->out_count);
    }
    check_uses(c, launch, body->results, body->result_count);
}

// ---- outside of it ------------------------------------------------------------------

static void check_outside(PlanCheck *c, const LoopLaunch *launch, const LoopRef *refs,
                          uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        want(c, !c->inside[refs[i]] || has(launch->outs, launch->out_count, refs[i]),
             "a launch keeps what others need");
}

static void check_others(PlanCheck *c, const LoopLaunch *launch, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (body == launch->body && i - launch->first < launch->count) continue;
        check_outside(c, launch, stm->args, stm->arg_count);
        for (uint32_t k = 0; k < stm->body_count; k++)
            check_others(c, launch, stm->bodies[k]);
    }
    check_outside(c, launch, body->results, body->result_count);
}

static void check_launch(PlanCheck *c, const LoopLaunch *launch) {
    LoopBody code = loop_launch_body(launch);
    for (uint32_t ref = 0; ref < c->kernel->values.len; ref++) c->inside[ref] = 0;
    check_inside(c, launch, &code, true);
    for (uint32_t i = 0; i < launch->out_count; i++)
        want(c,
             c->inside[launch->outs[i]] &&
                 c->kernel->values.data[launch->outs[i]].type.kind == LOOP_IS_SCALAR,
             "a launch hands out what it cannot");
    check_others(c, launch, c->kernel->root);
    for (uint32_t i = 0; i < c->kernel->funs.len; i++)
        check_others(c, launch, c->kernel->funs.data[i].body);
}

// ---- the host -----------------------------------------------------------------------

static void check_host(PlanCheck *c, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        const LoopLaunch *launch = loop_launch_at(c->plan, stm);
        if (launch != NULL) {
            want(c,
                 launch->body == body && launch->first == i && launch->count > 0 &&
                     launch->count <= body->stms.len - i,
                 "a launch lies elsewhere");
            if (c->why != NULL) return;
            check_launch(c, launch);
            i += launch->count - 1;
            continue;
        }
        want(c,
             stm->op != LOOP_LOAD && stm->op != LOOP_STORE &&
                 stm->order != ORDER_PARALLEL,
             "a host would have to run a launch");
        for (uint32_t k = 0; k < stm->body_count; k++) check_host(c, stm->bodies[k]);
        if (stm->op != LOOP_CALL || c->is_seen[stm->number]) continue;
        c->is_seen[stm->number] = true;
        check_host(c, c->kernel->funs.data[stm->number].body);
    }
}

const char *plan_fault(const LoopKernel *kernel, Arena *arena) {
    LoopPlan plan;
    loop_plan(kernel, arena, &plan);
    PlanCheck c = {.kernel = kernel,
                   .plan = &plan,
                   .inside = arena_array(arena, uint8_t, kernel->values.len),
                   .is_seen = arena_array(arena, bool, kernel->funs.len)};
    check_host(&c, kernel->root);
    return c.why;
}
