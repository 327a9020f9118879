// SPDX-License-Identifier: Apache-2.0
//
// Checks in innermost loops, of what does not change or of indices that go up or down
// by so much with each turn, are tested before the loop, for the first turn and the
// last. If they pass there they pass everywhere, and the loop runs without them; else
// it runs as it was, so that the error is the same, or none where no turn gets so far.
//
// In between lies what is between both ends only if the index does not wrap. That is so
// if its arithmetic is exact (range.h), or if the check is 0 <= index < size: what
// wraps is negative at one end, since steps and turns are tested to be no more than
// 2^31.
#include "loop/copy.h"
#include "loop/passes.h"

typedef struct Loop {
    RangeWalk *w;
    LoopRef index;
    const LoopBody *body;
    bool *goes;  // by statement: it is a check that can be tested
    uint32_t at; // how many statements have been looked at
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

// Whether it is the index plus, or something minus the index; with `step` not NULL the
// index may have a factor, which *step then gets.
static bool moves(const Loop *loop, LoopRef ref, LoopRef *step) {
    if (ref == loop->index) return true;
    if (loop_type(&loop->w->b, ref).elem != SCALAR_I64 || is_outside(loop, ref))
        return false;
    const LoopStm *def = scalar_def(loop, ref, OP_ADD);
    if (def == NULL) def = scalar_def(loop, ref, OP_SUB);
    if (def == NULL && step != NULL && *step == 0) def = scalar_def(loop, ref, OP_MUL);
    if (def == NULL) return false;
    for (int i = 0; i < 2; i++) {
        if (!is_outside(loop, def->args[i])) continue;
        if (def->scalar == OP_MUL) *step = def->args[i];
        return moves(loop, def->args[1 - i], step);
    }
    return false;
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
    return (is_outside(loop, x) && moves(loop, y, NULL)) ||
                   (is_outside(loop, y) && moves(loop, x, NULL))
               ? def
               : NULL;
}

// Whether `both` is 0 <= x and x < size, where x moves by steps of *step, or if that is
// 0 by one.
static bool is_inside_check(const Loop *loop, const LoopStm *both, LoopRef *step) {
    const LoopStm *low = scalar_def(loop, both->args[0], OP_LE);
    const LoopStm *high = scalar_def(loop, both->args[1], OP_LT);
    *step = 0;
    return low != NULL && high != NULL && loop_is_int(&loop->w->b, low->args[0], 0) &&
           low->args[1] == high->args[0] && is_outside(loop, high->args[1]) &&
           moves(loop, high->args[0], step);
}

// Whether an earlier check, which is tested, finds that it is neither negative nor
// wraps.
static bool is_inside(const Loop *loop, LoopRef ref) {
    LoopRef step;
    for (uint32_t i = 0; i < loop->at; i++) {
        if (!loop->goes[i]) continue;
        const LoopStm *both =
            scalar_def(loop, loop->body->stms.data[i]->args[0], OP_AND);
        if (both != NULL && is_inside_check(loop, both, &step) &&
            range_value(&loop->w->r, both->args[1])->def->args[0] == ref)
            return true;
    }
    return false;
}

static bool can_test(const Loop *loop, LoopRef c, unsigned levels) {
    if (is_still(loop, c, MOST_LEVELS)) return true;
    const LoopStm *both = scalar_def(loop, c, OP_AND);
    if (both != NULL) {
        LoopRef step;
        if (is_inside_check(loop, both, &step)) return true;
        return levels > 0 && can_test(loop, both->args[0], levels - 1) &&
               can_test(loop, both->args[1], levels - 1);
    }
    const LoopStm *one = comparison(loop, c);
    if (one == NULL) return false;
    LoopRef moved = one->args[is_outside(loop, one->args[0])];
    return is_exact(loop, moved) || is_inside(loop, moved);
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

// Finds the checks that can be tested; returns how many.
static uint32_t find_checks(Loop *loop, LoopRef times) {
    Ranges *r = &loop->w->r;
    uint32_t known = r->facts.len, count = 0;
    range_index(r, loop->index, times);
    for (loop->at = 0; loop->at < loop->body->stms.len; loop->at++) {
        const LoopStm *check = loop->body->stms.data[loop->at];
        bool goes =
            check->op == LOOP_CHECK && can_test(loop, check->args[0], MOST_LEVELS);
        loop->goes[loop->at] = goes;
        count += goes;
    }
    range_forget(r, known);
    return count;
}

static LoopRef emit(RangeWalk *w, CoreOp op, ScalarType to, LoopRef x, LoopRef y) {
    return range_emit(w, op, to, (LoopRef[]){x, y}, 2);
}

// Tests what steps the condition moves by.
static LoopRef test_steps(const Loop *loop, LoopRef c, LoopRef turns, LoopRef all) {
    RangeWalk *w = loop->w;
    const LoopStm *both = scalar_def(loop, c, OP_AND);
    LoopRef step, zero = loop_int(&w->b, 0), most = loop_int(&w->b, (int64_t)1 << 31);
    if (both == NULL || is_still(loop, c, MOST_LEVELS)) return all;
    if (!is_inside_check(loop, both, &step)) {
        for (int i = 0; i < 2; i++) all = test_steps(loop, both->args[i], turns, all);
        return all;
    }
    if (step == 0) return all;
    LoopRef tests[] = {emit(w, OP_LE, SCALAR_BOOL, zero, step),
                       emit(w, OP_LE, SCALAR_BOOL, step, most),
                       emit(w, OP_LE, SCALAR_BOOL, turns, most)};
    for (int i = 0; i < 3; i++) all = emit(w, OP_AND, SCALAR_BOOL, all, tests[i]);
    return all;
}

static LoopRef test(const Loop *loop, const LoopStm *stm) {
    RangeWalk *w = loop->w;
    const LoopBody *body = loop->body;
    LoopRef first = loop_int(&w->b, 0), all = loop_const(&w->b, SCALAR_BOOL, 1);
    LoopRef last = emit(w, OP_SUB, SCALAR_I64, stm->args[0], loop_int(&w->b, 1));
    for (uint32_t i = 0; i < body->stms.len; i++) {
        if (!loop->goes[i]) continue;
        LoopRef c = body->stms.data[i]->args[0];
        all = test_steps(loop, c, stm->args[0], all);
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
    bool *goes = arena_array(w->b.arena, bool, body->stms.len);
    Loop loop = {w, body->params[0], body, goes, 0};
    if (loop_type(&w->b, loop.index).elem != SCALAR_I64 || loop_has_loops(body) ||
        find_checks(&loop, stm->args[0]) == 0 || !loop_can_pay(w, body)) {
        range_keep(w, stm);
        return;
    }
    LoopRef passes = test(&loop, stm);
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

static bool has_checks(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_FOR && loop_has_op(stm->bodies[0], LOOP_CHECK);
}

void loop_checks(LoopKernel *kernel) {
    if (!loop_kernel_has(kernel, has_checks, 0)) return;
    range_walk_kernel(kernel, leave_loop);
}
