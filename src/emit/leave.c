// SPDX-License-Identifier: Apache-2.0
//
// Loops that lanes leave one by one, until none is left. To ask for that takes as long
// as some operators, so it is asked in every few turns alone, if turns that are for no
// lane change nothing that anyone sees: no memory, and of what comes after the loop
// only what lanes that are left have changed.
#include "emit/vector.h"

static bool is_scalar(const LoopStm *stm, CoreOp op) {
    return stm != NULL && stm->op == LOOP_SCALAR && stm->scalar == op;
}

// Whether a turn more does nothing but compute, and cannot fail.
static bool only_computes(const Walker *w, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_float =
            stm->op == LOOP_SCALAR && scalar_is_float(walk_elem(w, stm->args[0]));
        if (stm->op == LOOP_SELECT || stm->op == LOOP_SPLAT) continue;
        if (stm->op != LOOP_SCALAR ||
            (!is_float && (core_op_info[stm->scalar].flags & OP_FAILS) != 0))
            return false;
    }
    return true;
}

static uint32_t param_of(const LoopBody *body, LoopRef ref) {
    uint32_t i = 0;
    while (i < body->param_count && body->params[i] != ref) i++;
    return i;
}

// Whether a lane that has left keeps what it has of the loop's result.
static bool stays(const Walker *w, const LoopStm *loop, uint32_t result, LoopRef mask) {
    const LoopBody *body = loop->bodies[1];
    const LoopStm *made = w->made[body->results[result]];
    if (!w->is_used[loop->outs[result]]) return true;
    if (body->results[result] == body->params[result]) return true;
    return made != NULL && made->op == LOOP_SELECT && made->args[0] == mask &&
           made->args[2] == body->params[result];
}

bool walk_asks_seldom(const Walker *w, const LoopStm *loop, LoopRef *also_out) {
    const LoopBody *guard = loop->bodies[0], *body = loop->bodies[1];
    const LoopStm *any = guard->stms.len > 0 ? guard->stms.data[0] : NULL;
    if (w->lanes == 0 || any == NULL || any->op != LOOP_ANY || guard->stms.len > 2)
        return false;
    uint32_t left = param_of(guard, any->args[0]);
    if (left == guard->param_count || !only_computes(w, body)) return false;
    *also_out = 0;
    if (guard->stms.len == 2) {
        const LoopStm *both = guard->stms.data[1];
        if (!is_scalar(both, OP_AND) || both->outs[0] != guard->results[0] ||
            both->args[0] != any->outs[0])
            return false;
        *also_out = both->args[1];
    } else if (guard->results[0] != any->outs[0]) {
        return false;
    }
    LoopRef mask = body->params[left];
    const LoopStm *next = w->made[body->results[left]];
    if (!is_scalar(next, OP_AND) || (next->args[0] != mask && next->args[1] != mask))
        return false;
    for (uint32_t i = 0; i < loop->out_count; i++)
        if (i != left && !stays(w, loop, i, mask)) return false;
    return true;
}
