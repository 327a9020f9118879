// SPDX-License-Identifier: Apache-2.0
//
// Branches that depend on nothing of the loop they are in are taken out of it: two
// loops, of which one runs. What is made twice is bounded by the walk's budget.
//
// On GPUs this is a pass of its own, for turns that all fold in one of several ways:
// each way is then a launch that the passes behind it can change, and that has the
// registers which it needs instead of those of the worst.
#include "loop/copy.h"
#include "loop/passes.h"

// Of a map over a matrix the turns are those of two loops on GPUs.
static bool is_row(const RangeWalk *w, const LoopStm *stm) {
    return w->b.kernel->is_for_gpus && stm->op == LOOP_FOR &&
           stm->order == ORDER_INDEPENDENT;
}

// A condition that the loop around the body does not change, of a branch that is
// wanted; or 0.
static LoopRef find_condition(RangeWalk *w, const LoopBody *body,
                              LoopBranchTest *is_wanted) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_IF && !is_row(w, stm)) continue;
        bool is_outer = range_value(&w->r, stm->args[0])->depth <= w->depth;
        if (stm->op == LOOP_IF && is_outer && is_wanted(stm)) return stm->args[0];
        for (uint32_t k = 0; k < stm->body_count; k++) {
            LoopRef c = find_condition(w, stm->bodies[k], is_wanted);
            if (c != 0) return c;
        }
    }
    return 0;
}

static bool is_not(RangeWalk *w, LoopRef x, LoopRef y) {
    const LoopStm *def = range_value(&w->r, x)->def;
    return def != NULL && def->op == LOOP_SCALAR && def->scalar == OP_NOT &&
           def->args[0] == y;
}

// Branches in the body that go the other way than the condition know theirs, too.
static void copy_opposites(RangeWalk *w, LoopCopier *copier, const LoopBody *body,
                           LoopRef c, bool is_true) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_IF &&
            (is_not(w, stm->args[0], c) || is_not(w, c, stm->args[0])))
            map_set(&copier->copies, stm->args[0],
                    loop_const(&w->b, SCALAR_BOOL, !is_true));
        for (uint32_t k = 0; k < stm->body_count; k++)
            copy_opposites(w, copier, stm->bodies[k], c, is_true);
    }
}

// Keeps the loop as it is if the condition is that.
static LoopBody *make_arm(RangeWalk *w, const LoopStm *loop, LoopRef c, bool is_true,
                          LoopBranchTest *is_wanted) {
    LoopCopier copier = loop_copier(&w->b);
    uint32_t known = w->r.facts.len;
    map_set(&copier.copies, c, loop_const(&w->b, SCALAR_BOOL, is_true));
    copy_opposites(w, &copier, loop->bodies[0], c, is_true);
    loop_open(&w->b, NULL, 0);
    range_assume(&w->r, c, is_true);
    LoopStm *copy = loop_copy_stm(&copier, loop);
    range_walk_loop(w, copy);
    loop_unswitch(w, copy, is_wanted);
    range_forget(&w->r, known);
    return loop_close(&w->b, NULL, 0);
}

void loop_keep_either(RangeWalk *w, const LoopStm *loop, LoopRef c,
                      LoopBody *const *arms) {
    LoopStm *branch = arena_new(w->b.arena, LoopStm);
    *branch = (LoopStm){.op = LOOP_IF,
                        .loc = loop->loc,
                        .arg_count = 1,
                        .args = arena_copy(w->b.arena, &c, sizeof c)};
    loop_set_bodies(&w->b, branch, arms, 2);
    range_keep(w, branch);
}

void loop_unswitch(RangeWalk *w, LoopStm *loop, LoopBranchTest *is_wanted) {
    LoopRef c = 0;
    if (loop->order != ORDER_SEQUENTIAL)
        c = find_condition(w, loop->bodies[0], is_wanted);
    if (c == 0 || !loop_can_pay(w, loop->bodies[0])) {
        range_keep(w, loop);
        return;
    }
    LoopBody *arms[2] = {make_arm(w, loop, c, true, is_wanted),
                         make_arm(w, loop, c, false, is_wanted)};
    loop_keep_either(w, loop, c, arms);
}

// ---- on GPUs ------------------------------------------------------------------------

// Both arms loop: of one for no elements, nothing would be left but its error.
static bool has_folds(const LoopStm *branch) {
    return loop_has_loops(branch->bodies[0]) && loop_has_loops(branch->bodies[1]);
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    if (loop->order == ORDER_PARALLEL) loop_unswitch(w, loop, has_folds);
    else range_keep(w, loop);
}

void loop_choices(LoopKernel *kernel) {
    if (kernel->is_for_gpus) range_walk_kernel(kernel, leave_loop);
}
