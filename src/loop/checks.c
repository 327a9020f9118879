// SPDX-License-Identifier: Apache-2.0
//
// Checks in innermost loops, of what does not change or of indices that go up or down
// by one with each turn, are tested before the loop, for the first turn and the last.
// If they pass there they pass everywhere, and the loop runs without them; else it runs
// as it was, so that the error is the same, or none where no turn gets so far.
//
// In between lies what is between both ends only if the index does not wrap. That is so
// if its arithmetic is exact (range.h), or if the check is 0 <= index < size: what
// wraps is negative at one end.
#include "loop/copy.h"
#include "loop/passes.h"

typedef struct Loop {
    RangeWalk *w;
    LoopRef index;
} Loop;

static bool is_outside(const Loop *loop, LoopRef ref) {
    return loop_type(&loop->w->b, ref).kind == LOOP_IS_SCALAR &&
           range_value(&loop->w->r, ref)->depth <= loop->w->depth;
}

// Conditions are graphs: so many levels of one are looked at.
enum { MOST_LEVELS = 4 };

// Whether it is computed from what the loop does not change, without a division.
static bool is_still(const Loop *loop, LoopRef ref, unsigned levels) {
    if (is_outside(loop, ref)) return true;
    const LoopStm *def = range_value(&loop->w->r, ref)->def;
    bool ok = def != NULL && def->op == LOOP_SCALAR && levels > 0 &&
              (core_op_info[def->scalar].flags & OP_FAILS) == 0;
    for (uint32_t i = 0; ok && i < def->arg_count; i++)
        ok = is_still(loop, def->args[i], levels - 1);
    return ok;
}

static const LoopStm *scalar_def(const Loop *loop, LoopRef ref, CoreOp op) {
    const LoopStm *def = range_value(&loop->w->r, ref)->def;
    return def != NULL && def->op == LOOP_SCALAR && def->scalar == op ? def : NULL;
}

// Whether it is the index plus, or something minus the index.
static bool moves_by_one(const Loop *loop, LoopRef ref) {
    if (ref == loop->index) return true;
    if (loop_type(&loop->w->b, ref).elem != SCALAR_I64 || is_outside(loop, ref))
        return false;
    const LoopStm *sum = scalar_def(loop, ref, OP_ADD);
    if (sum == NULL) sum = scalar_def(loop, ref, OP_SUB);
    if (sum == NULL) return false;
    LoopRef x = sum->args[0], y = sum->args[1];
    return (is_outside(loop, y) && moves_by_one(loop, x)) ||
           (is_outside(loop, x) && moves_by_one(loop, y));
}

// Whether it cannot wrap, be the turns what they may; what is known of the index is all
// that is known of the loop.
static bool is_exact(const Loop *loop, LoopRef ref) {
    Ranges *r = &loop->w->r;
    RangeForm form = range_form(r, ref);
    for (uint32_t i = 0; i < form.count; i++)
        if (form.terms[i].atom != loop->index && !is_outside(loop, form.terms[i].atom))
            return false;
    return range_fits(r, &form, SCALAR_I64);
}

// A comparison of what moves by one with what does not.
static const LoopStm *comparison(const Loop *loop, LoopRef c) {
    const LoopStm *def = scalar_def(loop, c, OP_LE);
    if (def == NULL) def = scalar_def(loop, c, OP_LT);
    if (def == NULL) return NULL;
    LoopRef x = def->args[0], y = def->args[1];
    return (is_outside(loop, x) && moves_by_one(loop, y)) ||
                   (is_outside(loop, y) && moves_by_one(loop, x))
               ? def
               : NULL;
}

// 0 <= x and x < size, for one x.
static bool is_inside_check(const Loop *loop, const LoopStm *low, const LoopStm *high) {
    return low->scalar == OP_LE && high->scalar == OP_LT &&
           loop_is_int(&loop->w->b, low->args[0], 0) && low->args[1] == high->args[0] &&
           is_outside(loop, high->args[1]);
}

static bool can_test(const Loop *loop, LoopRef c, unsigned levels) {
    if (is_still(loop, c, MOST_LEVELS)) return true;
    const LoopStm *both = scalar_def(loop, c, OP_AND);
    if (both != NULL) {
        const LoopStm *low = comparison(loop, both->args[0]);
        const LoopStm *high = comparison(loop, both->args[1]);
        if (low != NULL && high != NULL && is_inside_check(loop, low, high))
            return true;
        return levels > 0 && can_test(loop, both->args[0], levels - 1) &&
               can_test(loop, both->args[1], levels - 1);
    }
    const LoopStm *one = comparison(loop, c);
    if (one == NULL) return false;
    return is_exact(loop, one->args[is_outside(loop, one->args[0])]);
}

// The value in the turn `turn`, computed here.
static LoopRef value_at(const Loop *loop, LoopRef ref, LoopRef turn) {
    if (ref == loop->index) return turn;
    if (is_outside(loop, ref)) return ref;
    const LoopStm *def = range_value(&loop->w->r, ref)->def;
    LoopRef args[3];
    for (uint32_t i = 0; i < def->arg_count; i++)
        args[i] = value_at(loop, def->args[i], turn);
    ScalarType to = (ScalarType)loop_type(&loop->w->b, ref).elem;
    return range_emit(loop->w, def->scalar, to, args, def->arg_count);
}

// ---- loops --------------------------------------------------------------------------

// Which statements of the body are checks that can be tested; returns how many.
static uint32_t find_checks(const Loop *loop, const LoopStm *stm, bool *goes) {
    Ranges *r = &loop->w->r;
    const LoopBody *body = stm->bodies[0];
    uint32_t known = r->facts.len, count = 0;
    range_index(r, loop->index, stm->args[0]);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *check = body->stms.data[i];
        goes[i] =
            check->op == LOOP_CHECK && can_test(loop, check->args[0], MOST_LEVELS);
        count += goes[i];
    }
    range_forget(r, known);
    return count;
}

static LoopRef emit(RangeWalk *w, CoreOp op, ScalarType to, LoopRef x, LoopRef y) {
    return range_emit(w, op, to, (LoopRef[]){x, y}, 2);
}

static LoopRef test(const Loop *loop, const LoopStm *stm, const bool *goes) {
    RangeWalk *w = loop->w;
    const LoopBody *body = stm->bodies[0];
    LoopRef first = loop_int(&w->b, 0), all = loop_const(&w->b, SCALAR_BOOL, 1);
    LoopRef last = emit(w, OP_SUB, SCALAR_I64, stm->args[0], loop_int(&w->b, 1));
    for (uint32_t i = 0; i < body->stms.len; i++) {
        if (!goes[i]) continue;
        LoopRef c = body->stms.data[i]->args[0];
        all = emit(w, OP_AND, SCALAR_BOOL, all, value_at(loop, c, first));
        if (!is_still(loop, c, MOST_LEVELS))
            all = emit(w, OP_AND, SCALAR_BOOL, all, value_at(loop, c, last));
    }
    return all;
}

// The loop without those checks.
static LoopStm *without(RangeWalk *w, const LoopStm *stm, const bool *goes) {
    LoopCopier copier = loop_copier(&w->b);
    LoopStm *copy = loop_copy_stm(&copier, stm);
    LoopBody *body = copy->bodies[0];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!goes[i]) body->stms.data[kept++] = body->stms.data[i];
    body->stms.len = kept;
    return copy;
}

static LoopBody *arm_of(RangeWalk *w, LoopStm *loop) {
    loop_open(&w->b, NULL, 0);
    range_keep(w, loop);
    return loop_close(&w->b, loop->outs, loop->out_count);
}

static void leave_loop(RangeWalk *w, LoopStm *stm) {
    const LoopBody *body = stm->bodies[0];
    Loop loop = {w, body->params[0]};
    bool *goes = arena_array(w->b.arena, bool, body->stms.len);
    if (loop_type(&w->b, loop.index).elem != SCALAR_I64 || loop_has_loops(body) ||
        find_checks(&loop, stm, goes) == 0 || !loop_can_pay(w, body)) {
        range_keep(w, stm);
        return;
    }
    LoopRef passes = test(&loop, stm, goes);
    LoopStm *branch = arena_copy(w->b.arena, stm, sizeof *stm);
    LoopStm *fast = without(w, stm, goes);
    stm->outs = arena_array(w->b.arena, LoopRef, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        stm->outs[i] = loop_value(&w->b, loop_type(&w->b, branch->outs[i]), 0);
    LoopBody *arms[2] = {arm_of(w, fast), arm_of(w, stm)};
    branch->op = LOOP_IF;
    branch->order = ORDER_SEQUENTIAL;
    branch->arg_count = 1;
    branch->args = arena_copy(w->b.arena, &passes, sizeof passes);
    loop_set_bodies(&w->b, branch, arms, 2);
    range_keep(w, branch);
}

void loop_checks(LoopKernel *kernel) {
    range_walk_kernel(kernel, leave_loop);
}
