// SPDX-License-Identifier: Apache-2.0
//
// What a turn computes from nothing of the loop is computed once, before the loop. A
// division goes only where its divisor is known to be positive, since the loop may not
// turn at all; a load if its place is a constant one, in a table or in an array that
// the kernel is given and that is known to be as long. Out of branches, and of parallel
// loops, whose turns would only get more to carry, go comparisons only: they cost
// little, and then whole branches may leave.
#include "loop/passes.h"
#include "loop/range.h"

static bool are_outside(RangeWalk *w, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (range_value(&w->r, refs[i])->depth > w->depth) return false;
    return true;
}

// An IF that computes nothing.
static bool is_known_place(const LoopKernel *kernel, const LoopStm *load) {
    for (uint32_t i = 1; i < load->arg_count; i++)
        if (!kernel->values.data[load->args[i]].is_const) return false;
    return loop_is_read_only(kernel, load->args[0]);
}

static bool can_leave(RangeWalk *w, const LoopStm *stm) {
    if (!are_outside(w, stm->args, stm->arg_count)) return false;
    if (loop_is_choice(stm))
        return are_outside(w, stm->bodies[0]->results, stm->out_count) &&
               are_outside(w, stm->bodies[1]->results, stm->out_count);
    if (stm->op == LOOP_LOAD)
        return range_is_in_table(&w->r, stm) ||
               (is_known_place(w->b.kernel, stm) && range_is_inside(&w->r, stm));
    if (stm->op != LOOP_SCALAR) return false;
    bool divides = (core_op_info[stm->scalar].flags & OP_FAILS) != 0;
    if (!divides || !range_is_int(&w->r, stm->args[0])) return true;
    return range_is_at_least(&w->r, stm->args[1], 1);
}

// What was known of the value may follow from where it was.
static void move_out(RangeWalk *w, LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        *range_value(&w->r, stm->outs[i]) = (RangeValue){0};
    range_walk_stm(w, stm);
}

static bool is_wanted(const LoopKernel *kernel, const LoopStm *stm, bool only_bools) {
    return !only_bools || (stm->op == LOOP_SCALAR &&
                           kernel->values.data[stm->outs[0]].type.elem == SCALAR_BOOL);
}

static void leave_body(RangeWalk *w, LoopBody *body, bool only_bools) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count && stm->op == LOOP_IF; k++)
            leave_body(w, stm->bodies[k], true);
        if (is_wanted(w->b.kernel, stm, only_bools) && can_leave(w, stm))
            move_out(w, stm);
        else body->stms.data[kept++] = stm;
    }
    body->stms.len = kept;
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    leave_body(w, loop->bodies[0], loop->order == ORDER_PARALLEL);
    range_keep(w, loop);
}

static bool are_before(const LoopSite *sites, const LoopRef *refs, uint32_t count,
                       uint32_t depth) {
    for (uint32_t i = 0; i < count; i++)
        if (sites[refs[i]].depth >= depth) return false;
    return true;
}

// What can_leave asks, as far as it is seen without ranges.
static bool may_leave(const LoopKernel *kernel, const LoopSite *sites,
                      const LoopStm *stm, uint32_t depth) {
    if ((stm->op != LOOP_SCALAR && stm->op != LOOP_LOAD && !loop_is_choice(stm)) ||
        !are_before(sites, stm->args, stm->arg_count, depth))
        return false;
    const LoopStm *buffer = stm->op == LOOP_LOAD ? sites[stm->args[0]].def : NULL;
    return stm->op != LOOP_LOAD || is_known_place(kernel, stm) ||
           (buffer != NULL && buffer->op == LOOP_DATA);
}

static bool any_may_leave(const LoopKernel *kernel, const LoopSite *sites,
                          const LoopBody *body, uint32_t depth, bool only_bools) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (is_wanted(kernel, stm, only_bools) && may_leave(kernel, sites, stm, depth))
            return true;
        for (uint32_t k = 0; k < stm->body_count && stm->op == LOOP_IF; k++)
            if (any_may_leave(kernel, sites, stm->bodies[k], depth, true)) return true;
    }
    return false;
}

static bool may_change(const LoopKernel *kernel, const LoopSite *sites,
                       const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    return any_may_leave(kernel, sites, body, sites[body->params[0]].depth,
                         loop->order == ORDER_PARALLEL);
}

void loop_hoist(LoopKernel *kernel) {
    if (loop_kernel_has_for(kernel, may_change)) range_walk_kernel(kernel, leave_loop);
}
