// SPDX-License-Identifier: Apache-2.0
//
// Walking over a kernel with what is known of its integers (range.h): comparisons that
// this decides become constants, checks that pass and branches that are not taken go. A
// check that may fail is a fact for what follows it.
#include "loop/passes.h"
#include "loop/range.h"

// ---- statements ---------------------------------------------------------------------

void range_keep(RangeWalk *w, LoopStm *stm) {
    LoopBody *body = w->b.open.data[w->b.open.len - 1];
    vec_push(w->b.arena, &body->stms, stm);
    for (uint32_t i = 0; i < stm->out_count; i++)
        range_value(&w->r, stm->outs[i])->depth = w->depth;
}

LoopRef range_emit(RangeWalk *w, CoreOp op, ScalarType to, const LoopRef *args,
                   uint32_t count) {
    LoopRef out = loop_value(&w->b, loop_scalar_type(to), 0);
    LoopStm *stm = arena_new(w->b.arena, LoopStm);
    *stm = (LoopStm){.op = LOOP_SCALAR,
                     .scalar = op,
                     .loc = w->b.loc,
                     .out_count = 1,
                     .arg_count = count,
                     .outs = arena_copy(w->b.arena, &out, sizeof out),
                     .args = arena_copy(w->b.arena, args, count * sizeof *args)};
    range_walk_stm(w, stm);
    return loop_find(&w->b, out);
}

// ---- scalars ------------------------------------------------------------------------

// With a constant for one operand: the other one, or a constant.
static LoopRef fold_bool(const LoopBuilder *b, const LoopStm *stm) {
    bool is_and = stm->scalar == OP_AND;
    uint64_t bits;
    if ((!is_and && stm->scalar != OP_OR) ||
        loop_type(b, stm->outs[0]).elem != SCALAR_BOOL)
        return 0;
    for (uint32_t i = 0; i < 2; i++)
        if (loop_is_known(b, stm->args[i], &bits))
            return stm->args[(bits != 0) == is_and ? 1 - i : i];
    return 0;
}

static LoopRef fold_constants(LoopBuilder *b, const LoopStm *stm) {
    uint64_t bits[3], result;
    ScalarType in = (ScalarType)loop_type(b, stm->args[0]).elem;
    ScalarType to = (ScalarType)loop_type(b, stm->outs[0]).elem;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (!loop_is_known(b, stm->args[i], &bits[i])) return 0;
    if (core_eval(stm->scalar, in, to, bits, &result) != FAULT_NONE) return 0;
    return loop_const(b, to, result);
}

static LoopRef emit2(RangeWalk *w, CoreOp op, LoopRef x, LoopRef y) {
    ScalarType to = (ScalarType)loop_type(&w->b, x).elem;
    return range_emit(w, op, op == OP_LT ? SCALAR_BOOL : to, (LoopRef[]){x, y}, 2);
}

LoopRef range_choose(RangeWalk *w, LoopRef c, LoopRef x, LoopRef y) {
    LoopRef out = loop_value(&w->b, loop_type(&w->b, x), 0);
    LoopBody *arms[2];
    for (int i = 0; i < 2; i++) {
        loop_open(&w->b, NULL, 0);
        arms[i] = loop_close(&w->b, i == 0 ? &x : &y, 1);
    }
    LoopStm *stm = arena_new(w->b.arena, LoopStm);
    *stm = (LoopStm){.op = LOOP_IF,
                     .loc = w->b.loc,
                     .out_count = 1,
                     .arg_count = 1,
                     .outs = arena_copy(w->b.arena, &out, sizeof out),
                     .args = arena_copy(w->b.arena, &c, sizeof c)};
    loop_set_bodies(&w->b, stm, arms, 2);
    range_walk_stm(w, stm);
    return loop_find(&w->b, out);
}

// How often y is contained in x as a term, once at most; the rest is left in the form.
static int64_t take_multiple(Ranges *r, LoopRef x, LoopRef y, RangeForm *rest_out) {
    RangeForm divisor = range_form(r, y);
    *rest_out = range_form(r, x);
    for (uint32_t i = 0; i < rest_out->count && divisor.count > 0; i++) {
        int64_t times = rest_out->terms[i].factor;
        if (rest_out->terms[i].atom != divisor.terms[0].atom) continue;
        if (times < -1 || times > 1 || !range_add(rest_out, &divisor, -times)) return 0;
        return times;
    }
    return 0;
}

// Whether other * factor + more + the form is not negative.
static bool is_natural(Ranges *r, RangeForm form, int64_t sign, const RangeForm *other,
                       int64_t factor, int64_t more) {
    RangeForm sum = {.base = more};
    return range_add(&sum, &form, sign) && range_add(&sum, other, factor) &&
           range_prove(r, &sum);
}

// Whether x - y is z or -z.
static bool differ_by(Ranges *r, LoopRef x, LoopRef y, const RangeForm *z) {
    for (int64_t sign = -1; sign <= 1; sign += 2) {
        RangeForm rest;
        if (range_difference(r, x, y, 0, &rest) && range_add(&rest, z, sign) &&
            rest.count == 0 && rest.base == 0)
            return true;
    }
    return false;
}

// A sum with one of two numbers that are the same but for y, of which one is a
// constant, as the sum with that: its remainder by y is the same. So is 1 % y + i,
// which has become a choice between 1 and 1 - y, as i + 1.
static LoopRef without_choice(RangeWalk *w, LoopRef x, const RangeForm *y) {
    Ranges *r = &w->r;
    const LoopStm *sum = range_value(r, x)->def;
    uint64_t bits;
    if (sum == NULL || sum->op != LOOP_SCALAR || sum->scalar != OP_ADD) return x;
    for (uint32_t k = 0; k < 4; k++) {
        LoopRef other = sum->args[k % 2];
        const RangeValue *choice = range_value(r, sum->args[1 - k % 2]);
        LoopRef one = choice->either[k / 2], two = choice->either[1 - k / 2];
        if (one == 0 || !loop_is_known(&w->b, one, &bits)) continue;
        RangeForm form = range_form(r, other), known = range_form(r, one);
        if (differ_by(r, one, two, y) && range_add(&form, &known, 1) &&
            range_fits(r, &form, SCALAR_I64))
            return emit2(w, OP_ADD, other, one);
    }
    return x;
}

// The remainder of what is less than y beyond the numbers below y, on either side, is
// that or one addition away, which costs less than a division: indices that wrap. 0:
// it is not known to be so.
static LoopRef wrap(RangeWalk *w, const LoopStm *stm) {
    Ranges *r = &w->r;
    LoopRef x = stm->args[0], y = stm->args[1];
    if (!range_is_int(r, x) || !range_is_at_least(r, y, 0) ||
        (stm->scalar == OP_REM && !range_is_at_least(r, x, 0)))
        return 0;
    RangeForm divisor = range_form(r, y), rest;
    ScalarType type = (ScalarType)loop_type(&w->b, x).elem;
    if (type == SCALAR_I64) x = without_choice(w, x, &divisor);
    int64_t times = take_multiple(r, x, y, &rest);
    bool falls = !is_natural(r, rest, 1, &divisor, 0, 0);
    bool rises = !is_natural(r, rest, -1, &divisor, 1, -1);
    if ((falls && !is_natural(r, rest, 1, &divisor, 1, 0)) ||
        (rises && !is_natural(r, rest, -1, &divisor, 2, -1)) ||
        !range_fits(r, &rest, type))
        return 0;
    if (times != 0) x = emit2(w, times > 0 ? OP_SUB : OP_ADD, x, y);
    LoopRef zero = loop_const(&w->b, type, 0), out = x;
    if (rises) {
        LoopRef lower = emit2(w, OP_SUB, x, y);
        out = range_choose(w, emit2(w, OP_LT, x, y), x, lower);
    }
    if (falls) {
        LoopRef higher = emit2(w, OP_ADD, x, y);
        out = range_choose(w, emit2(w, OP_LT, x, zero), higher, out);
    }
    return out;
}

// ---- what has been computed ---------------------------------------------------------

// What it is computed from: the args of a scalar operator; the condition of a choice
// and the values that it chooses from.
static LoopRef operand(const LoopStm *stm, uint32_t i) {
    return i < stm->arg_count ? stm->args[i]
                              : stm->bodies[i - stm->arg_count]->results[0];
}

static bool is_same(RangeWalk *w, const LoopStm *x, const LoopStm *y) {
    const LoopBuilder *b = &w->b;
    LoopType first = loop_type(b, x->outs[0]), second = loop_type(b, y->outs[0]);
    if (x->op != y->op || x->scalar != y->scalar || x->arg_count != y->arg_count ||
        first.elem != second.elem || first.lanes != second.lanes)
        return false;
    for (uint32_t i = 0; i < x->arg_count + x->body_count; i++)
        if (operand(x, i) != operand(y, i)) return false;
    return true;
}

static uint64_t hash_of(const LoopBuilder *b, const LoopStm *stm) {
    uint64_t hash = (uint64_t)stm->scalar << 8 | loop_type(b, stm->outs[0]).elem;
    for (uint32_t i = 0; i < stm->arg_count + stm->body_count; i++)
        hash = (hash ^ hash >> 31 ^ operand(stm, i)) * 0x9e3779b97f4a7c15u;
    return hash | 1;
}

static bool is_open(const LoopBuilder *b, const LoopBody *body) {
    for (uint32_t i = b->open.len; i-- > 0;)
        if (b->open.data[i] == body) return true;
    return false;
}

// The result of a statement like this one that has been reached on the way here; or 0,
// and this is now the one.
static LoopRef find_like(RangeWalk *w, const LoopStm *stm, uint64_t hash,
                         bool (*is_like)(RangeWalk *, const LoopStm *,
                                         const LoopStm *)) {
    LoopBody *here = w->b.open.data[w->b.open.len - 1];
    uint64_t at;
    if (map_get(&w->computed, hash, &at)) {
        const RangeComputed *found = &w->places.data[at];
        if (found->stm != stm && is_open(&w->b, found->body) &&
            is_like(w, found->stm, stm))
            return loop_find(&w->b, found->stm->outs[0]);
    }
    map_set(&w->computed, hash, w->places.len);
    vec_push(loop_notes(w->b.kernel), &w->places, ((RangeComputed){stm, here}));
    return 0;
}

static LoopRef find_computed(RangeWalk *w, const LoopStm *stm) {
    return find_like(w, stm, hash_of(&w->b, stm), is_same);
}

// Whether their results are known to be the same sum, however it was computed.
static bool is_same_sum(RangeWalk *w, const LoopStm *x, const LoopStm *y) {
    const RangeForm *a = range_value(&w->r, x->outs[0])->form;
    const RangeForm *b = range_value(&w->r, y->outs[0])->form;
    if (a == NULL || b == NULL || a->base != b->base || a->count != b->count ||
        loop_type(&w->b, x->outs[0]).elem != loop_type(&w->b, y->outs[0]).elem)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->terms[i].atom != b->terms[i].atom ||
            a->terms[i].factor != b->terms[i].factor)
            return false;
    return true;
}

static LoopRef find_sum(RangeWalk *w, const LoopStm *stm) {
    const RangeForm *form = range_value(&w->r, stm->outs[0])->form;
    if (form == NULL) return 0;
    uint64_t hash = (uint64_t)form->base;
    for (uint32_t i = 0; i < form->count; i++) {
        hash = (hash ^ hash >> 31 ^ form->terms[i].atom) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ (uint64_t)form->terms[i].factor) * 0x9e3779b97f4a7c15u;
    }
    return find_like(w, stm, hash | 1, is_same_sum);
}

static void walk_scalar(RangeWalk *w, LoopStm *stm) {
    LoopRef known = fold_bool(&w->b, stm);
    if (known == 0) known = fold_constants(&w->b, stm);
    if (known == 0) known = range_define(&w->r, stm);
    if (known == 0) known = find_sum(w, stm);
    if (known == 0) known = find_computed(w, stm);
    if (known == 0 && (stm->scalar == OP_MOD || stm->scalar == OP_REM))
        known = wrap(w, stm);
    // All lanes of a vector may be a number that is known, and yet are a vector.
    if (known != 0 &&
        loop_type(&w->b, known).lanes != loop_type(&w->b, stm->outs[0]).lanes)
        known = 0;
    if (known != 0) loop_identify(&w->b, stm->outs[0], known);
    else range_keep(w, stm);
}

static void walk_load(RangeWalk *w, LoopStm *stm) {
    if (w->see_access != NULL) w->see_access(w, stm);
    range_define(&w->r, stm);
    LoopRef known = range_define_load(&w->r, stm);
    if (known == 0 && w->shares_loads) known = find_computed(w, stm);
    if (known != 0) loop_identify(&w->b, stm->outs[0], known);
    else range_keep(w, stm);
}

static void walk_check(RangeWalk *w, LoopStm *stm) {
    uint64_t bits;
    if (loop_is_known(&w->b, stm->args[0], &bits) && bits != 0) return;
    range_keep(w, stm);
    range_assume(&w->r, stm->args[0], true);
}

// ---- bodies -------------------------------------------------------------------------

static void redirect(const LoopBuilder *b, LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) refs[i] = loop_find(b, refs[i]);
}

static void walk_body(RangeWalk *w, LoopBody *body) {
    LoopBody old = *body;
    LoopStm *const *ahead = w->ahead;
    uint32_t ahead_count = w->ahead_count;
    for (uint32_t i = 0; i < body->param_count; i++)
        range_value(&w->r, body->params[i])->depth = w->depth;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    loop_reopen(&w->b, body);
    for (uint32_t i = 0; i < old.stms.len; i++) {
        w->ahead = old.stms.data + i + 1;
        w->ahead_count = old.stms.len - i - 1;
        range_walk_stm(w, old.stms.data[i]);
    }
    w->ahead = ahead;
    w->ahead_count = ahead_count;
    w->b.open.len--;
    redirect(&w->b, body->results, body->result_count);
}

static void walk_arm(RangeWalk *w, LoopStm *stm, int arm) {
    uint32_t known = w->r.facts.len;
    range_assume(&w->r, stm->args[0], arm == 0);
    walk_body(w, stm->bodies[arm]);
    range_forget(&w->r, known);
}

// Results that both arms give, or that are the condition itself.
static void identify_results(RangeWalk *w, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopRef x = stm->bodies[0]->results[i], y = stm->bodies[1]->results[i];
        uint64_t first, second;
        bool is_known = loop_type(&w->b, x).elem == SCALAR_BOOL &&
                        loop_is_known(&w->b, x, &first) &&
                        loop_is_known(&w->b, y, &second) && first != 0 && second == 0;
        if (x == y) loop_identify(&w->b, stm->outs[i], x);
        else if (is_known) loop_identify(&w->b, stm->outs[i], stm->args[0]);
    }
}

static void walk_if(RangeWalk *w, LoopStm *stm) {
    uint64_t bits;
    if (loop_is_known(&w->b, stm->args[0], &bits)) {
        const LoopBody *arm = stm->bodies[bits == 0];
        for (uint32_t i = 0; i < arm->stms.len; i++)
            range_walk_stm(w, arm->stms.data[i]);
        for (uint32_t i = 0; i < stm->out_count; i++)
            loop_identify(&w->b, stm->outs[i], arm->results[i]);
        return;
    }
    if (w->enter_branch != NULL) w->enter_branch(w, stm);
    for (int arm = 0; arm < 2; arm++) walk_arm(w, stm, arm);
    identify_results(w, stm);
    bool is_choice = stm->out_count == 1 && stm->bodies[0]->stms.len == 0 &&
                     stm->bodies[1]->stms.len == 0;
    LoopRef known = is_choice ? find_computed(w, stm) : 0;
    if (known != 0) {
        loop_identify(&w->b, stm->outs[0], known);
        return;
    }
    range_define(&w->r, stm);
    range_keep(w, stm);
}

// State that begins as what each turn hands on, which is of no turn.
static void identify_state(RangeWalk *w, const LoopStm *loop) {
    uint32_t first = loop->op == LOOP_FOR;
    const LoopBody *body = loop->bodies[loop->body_count - 1];
    for (uint32_t k = 0; k < loop->out_count; k++) {
        LoopRef start = loop->args[first + k];
        if (!loop_same(&w->b, body->results[k], start)) continue;
        for (uint32_t i = 0; i < loop->body_count; i++)
            loop_identify(&w->b, loop->bodies[i]->params[first + k], start);
        loop_identify(&w->b, loop->outs[k], start);
    }
}

void range_walk_loop(RangeWalk *w, LoopStm *loop) {
    uint32_t known = w->r.facts.len;
    const LoopStm *outer = w->loop;
    identify_state(w, loop);
    range_index(&w->r, loop->bodies[0]->params[0], loop->args[0]);
    w->loop = loop;
    w->depth++;
    walk_body(w, loop->bodies[0]);
    w->depth--;
    w->loop = outer;
    range_forget(&w->r, known);
    range_define(&w->r, loop);
}

// The body has the state that the guard has let pass.
static void walk_while(RangeWalk *w, LoopStm *stm) {
    LoopBody *guard = stm->bodies[0], *body = stm->bodies[1];
    const LoopStm *outer = w->loop;
    uint32_t known = w->r.facts.len;
    identify_state(w, stm);
    w->loop = stm;
    w->depth++;
    walk_body(w, guard);
    for (uint32_t i = 0; i < body->param_count; i++) {
        if (!range_is_int(&w->r, guard->params[i])) continue;
        range_learn_least(&w->r, body->params[i], guard->params[i], 0);
        range_learn_least(&w->r, guard->params[i], body->params[i], 0);
    }
    range_assume(&w->r, guard->results[0], true);
    walk_body(w, body);
    w->depth--;
    w->loop = outer;
    range_forget(&w->r, known);
    range_define(&w->r, stm);
    range_keep(w, stm);
}

void range_walk_stm(RangeWalk *w, LoopStm *stm) {
    w->b.loc = stm->loc;
    redirect(&w->b, stm->args, stm->arg_count);
    switch (stm->op) {
    case LOOP_SCALAR: walk_scalar(w, stm); return;
    case LOOP_CHECK: walk_check(w, stm); return;
    case LOOP_LOAD: walk_load(w, stm); return;
    case LOOP_IF: walk_if(w, stm); return;
    case LOOP_WHILE: walk_while(w, stm); return;
    case LOOP_FOR:
        range_walk_loop(w, stm);
        if (w->leave_loop != NULL) w->leave_loop(w, stm);
        else range_keep(w, stm);
        return;
    case LOOP_ALLOC:
        range_keep(w, stm);
        range_alloc(&w->r, stm);
        return;
    case LOOP_RESULT:
        range_keep(w, stm);
        range_sizes(&w->r, stm->outs[0], stm->args, stm->arg_count, false);
        return;
    case LOOP_STORE:
        if (w->see_access != NULL) w->see_access(w, stm);
        break;
    case LOOP_SIFT:
    case LOOP_BELOW:
    case LOOP_ATOMIC:
    case LOOP_DATA:
    case LOOP_MARK:
    case LOOP_THREADS:
    case LOOP_KEEP:
    case LOOP_CALL:
    case LOOP_APPLY:
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE:
    case LOOP_ANY:
    case LOOP_TALLY:
    case LOOP_SURE:
    case LOOP_LOADIF:
    case LOOP_LOOKUP:
    case LOOP_STOREIF:
    case LOOP_COUNT: break;
    }
    range_define(&w->r, stm);
    range_keep(w, stm);
}

// ---- kernels ------------------------------------------------------------------------

// Arrays that are arguments exist, so that their sizes are none below 0.
static void learn_params(RangeWalk *w) {
    const LoopKernel *kernel = w->b.kernel;
    uint32_t at = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        uint32_t rank = kernel->params[i].type.rank;
        const LoopRef *array = kernel->root->params + at;
        if (rank > 0) range_sizes(&w->r, array[0], array + 1, rank, true);
        at += 1 + rank;
    }
}

void range_walk(RangeWalk *w, LoopKernel *kernel) {
    kernel->walked = kernel->values.len;
    w->b = loop_builder(kernel);
    w->r.b = &w->b;
    vec_reserve(loop_notes(kernel), &w->r.values, kernel->values.len + 32);
    w->r.values.len = kernel->values.len;
    map_init_for(&w->computed, loop_notes(kernel), kernel->values.len);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        walk_body(w, kernel->funs.data[i].body);
    learn_params(w);
    walk_body(w, kernel->root);
    loop_tidy(&w->b);
}

void range_walk_kernel(LoopKernel *kernel, void (*leave_loop)(RangeWalk *, LoopStm *)) {
    enum { BUDGET = 500 };
    RangeWalk w = {.leave_loop = leave_loop, .budget = BUDGET};
    range_walk(&w, kernel);
}

void range_walk_branches(LoopKernel *kernel,
                         void (*enter_branch)(RangeWalk *, LoopStm *)) {
    RangeWalk w = {.enter_branch = enter_branch};
    range_walk(&w, kernel);
}

void loop_ranges(LoopKernel *kernel) {
    range_walk_kernel(kernel, NULL);
}
