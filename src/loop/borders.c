// SPDX-License-Identifier: Apache-2.0
//
// Innermost loops whose turns differ only near the ends, and loops within which a
// condition is always the same.
//
// Independent turns i of n that compare i with a constant, or with n less a constant,
// are split: first those near both ends, in one loop, then the others, for which the
// ranges decide the comparisons: clamps, wraps and tests are gone there. Turns that may
// stop are not, since the first of those that do counts. What is compared may have
// values added that lie between two numbers, as those of a constant table do.
//
// Where a part of something larger begins is a number that a kernel is handed. That
// i plus such a number is equal to another one at the ends alone, if at all, is asked
// in front of the loop: then it is split.
//
// A branch that depends on nothing of the loop is taken out of it (unswitch.c). What is
// made twice is bounded by the walk's budget.
#include "loop/copy.h"
#include "loop/passes.h"

enum { WIDEST_END = 16, SHORTEST = 4 * WIDEST_END };

// ---- where turns differ -------------------------------------------------------------

// Of a loop of n turns: the turns from first on, and before the last ones, are alike.
typedef struct Ends {
    LoopRef index;
    RangeForm times;
    int64_t first, last;
} Ends;

// The answer changes at turn `at`, or after it; false: that is too far from the end.
static bool widen(int64_t *end, int64_t at, bool is_after) {
    if (at >= 0 && at + is_after > *end) *end = at + is_after;
    return at < WIDEST_END;
}

// What is asked of a form: whether it is negative; whether it is 0; or which of two
// values is the greater, so that it does not matter where it is 0.
typedef enum Question { ORDER, EQUALITY, CHOICE } Question;

// Whether so many times the form is known not to be negative.
static bool is_natural(Ranges *r, const RangeForm *form, int64_t times) {
    RangeForm product = {0};
    return range_add(&product, form, times) && range_prove(r, &product);
}

// From which turns on, towards the middle, the answer is the same; false: none are.
// What is never negative, such as where a block begins, makes it the same no later.
static bool find_end(Ranges *r, Ends *ends, const RangeForm *form, Question question) {
    int64_t factor = 0, base = form->base;
    RangeForm rest = {0};
    for (uint32_t i = 0; i < form->count; i++) {
        RangeTerm term = form->terms[i];
        if (term.atom == ends->index) factor = term.factor;
        else rest.terms[rest.count++] = term;
    }
    if (factor != 1 && factor != -1) return false;
    int64_t zero;
    if (is_natural(r, &rest, factor)) {
        // i + base >= 0 from -base on; base - i >= 0 up to base
        bool is_after = question == EQUALITY || (question == ORDER && factor == -1);
        return !__builtin_mul_overflow(base, -factor, &zero) &&
               widen(&ends->first, zero, is_after);
    }
    // The same with i = n - k: i - n + zero >= 0 is k <= zero.
    bool is_after = question == EQUALITY || (question == ORDER && factor == 1);
    if (!range_add(&rest, &ends->times, factor) ||
        __builtin_add_overflow(base, rest.base, &base))
        return false;
    rest.base = 0;
    if (__builtin_mul_overflow(base, factor, &zero)) return false;
    if (!is_natural(r, &rest, -factor)) {
        rest.base = -factor; // it may be -1, such as the last place less the turns
        if (!is_natural(r, &rest, -factor) || __builtin_add_overflow(zero, 1, &zero))
            return false;
    }
    return zero < 1 || widen(&ends->last, zero - 1, is_after);
}

// The same where values that lie between two numbers are added: the ends are those with
// the least and with the greatest sum.
static void find_ends(Ranges *r, Ends *ends, const RangeForm *form, Question question) {
    RangeForm least = {.base = form->base}, most = least;
    for (uint32_t i = 0; i < form->count; i++) {
        RangeForm term = {.count = 1, .terms = {form->terms[i]}};
        int64_t low, high, factor = term.terms[0].factor;
        RangeForm end[2] = {term, term};
        if (term.terms[0].atom != ends->index &&
            range_bounds(r, term.terms[0].atom, &low, &high) &&
            !__builtin_mul_overflow(low, factor, &low) &&
            !__builtin_mul_overflow(high, factor, &high)) {
            end[factor < 0] = (RangeForm){.base = low};
            end[factor > 0] = (RangeForm){.base = high};
        }
        if (!range_add(&least, &end[0], 1) || !range_add(&most, &end[1], 1)) return;
    }
    Ends wider = *ends;
    if (find_end(r, &wider, &least, question) &&
        (most.base == least.base || find_end(r, &wider, &most, question)))
        *ends = wider;
}

static bool compares(CoreOp op) {
    return op == OP_EQ || op == OP_NE || op == OP_LE || op == OP_LT || op == OP_MIN ||
           op == OP_MAX || op == OP_MOD || op == OP_REM;
}

static void look_at_scalar(Ranges *r, Ends *ends, const LoopStm *stm) {
    RangeForm form;
    LoopRef x = stm->args[0], y = stm->arg_count > 1 ? stm->args[1] : 0;
    if (!range_is_int(r, x)) return;
    switch ((int)stm->scalar) {
    case OP_EQ:
    case OP_NE:
        if (range_difference(r, x, y, 0, &form)) find_ends(r, ends, &form, EQUALITY);
        return;
    case OP_LE:
        if (range_difference(r, y, x, 0, &form)) find_ends(r, ends, &form, ORDER);
        return;
    case OP_LT:
        if (range_difference(r, y, x, 1, &form)) find_ends(r, ends, &form, ORDER);
        return;
    case OP_MIN:
    case OP_MAX:
        if (range_difference(r, y, x, 0, &form)) find_ends(r, ends, &form, CHOICE);
        return;
    case OP_MOD:
    case OP_REM:
        form = range_form(r, x);
        find_ends(r, ends, &form, ORDER);
        if (range_difference(r, y, x, 1, &form)) find_ends(r, ends, &form, ORDER);
        return;
    }
}

static void look_at(Ranges *r, Ends *ends, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR) look_at_scalar(r, ends, stm);
        for (uint32_t k = 0; k < stm->body_count; k++) look_at(r, ends, stm->bodies[k]);
    }
}

// ---- splitting ----------------------------------------------------------------------

static LoopRef emit(RangeWalk *w, CoreOp op, LoopRef x, LoopRef y) {
    return range_emit(w, op, SCALAR_I64, (LoopRef[]){x, y}, 2);
}

static LoopStm *new_loop(RangeWalk *w, const LoopStm *like, LoopRef times,
                         LoopBody *body) {
    LoopStm *loop = arena_copy(w->b.arena, like, sizeof *like);
    loop->args = arena_copy(w->b.arena, &times, sizeof times);
    loop_set_bodies(&w->b, loop, &body, 1);
    return loop;
}

// Gives the body another index. What computes the old one from it is emitted until
// close_index.
static LoopRef open_index(RangeWalk *w, LoopBody *body) {
    LoopRef index = loop_value(&w->b, loop_scalar_type(SCALAR_I64), 0);
    body->params = arena_copy(w->b.arena, &index, sizeof index);
    loop_open(&w->b, NULL, 0);
    return index;
}

// The last statement emitted gives the old index.
static void close_index(RangeWalk *w, LoopBody *body, LoopRef old) {
    LoopBody *head = loop_close(&w->b, NULL, 0);
    head->stms.data[head->stms.len - 1]->outs[0] = old;
    for (uint32_t i = 0; i < head->stms.len; i++)
        range_value(&w->r, head->stms.data[i]->outs[0])->depth = w->depth + 1;
    for (uint32_t i = 0; i < body->stms.len; i++)
        vec_push(w->b.arena, &head->stms, body->stms.data[i]);
    body->stms.data = head->stms.data;
    body->stms.len = head->stms.len;
    body->stms.cap = head->stms.cap;
}

static bool does_something(const LoopStm *branch) {
    return branch->bodies[0]->stms.len + branch->bodies[1]->stms.len > 0;
}

// The turns from `first` on, `middle` of them, which the ranges know to be far from
// both ends: if there are any, `first` turns and ends->last turns are outside of them.
static void keep_middle(RangeWalk *w, const LoopStm *loop, const Ends *ends,
                        LoopRef first, LoopRef middle) {
    LoopCopier copier = loop_copier(&w->b);
    LoopBody *body = loop_copy_body(&copier, loop->bodies[0]);
    LoopRef index = body->params[0];
    LoopRef turn = open_index(w, body);
    loop_scalar(&w->b, OP_ADD, SCALAR_I64, (LoopRef[]){turn, first}, 2);
    LoopBody *head = loop_close(&w->b, NULL, 0);
    uint32_t known = w->r.facts.len;
    RangeForm least = range_form(&w->r, index), most = ends->times;
    if (range_add(&most, &least, -1) &&
        range_add(&most, &(RangeForm){.base = 1 + ends->last}, -1))
        range_learn(&w->r, &most);
    least.base = -ends->first;
    range_learn(&w->r, &least);
    range_value(&w->r, index)->depth = w->depth + 1;
    LoopStm *inner = new_loop(w, loop, middle, body);
    range_walk_loop(w, inner);
    range_forget(&w->r, known);
    loop_reopen(&w->b, head);
    close_index(w, body, index);
    loop_unswitch(w, inner, does_something);
}

// Both ends in one loop: turn `first` of it is turn `first` + `middle` of the old one.
static void keep_ends(RangeWalk *w, const LoopStm *loop, LoopRef first,
                      LoopRef middle) {
    LoopBuilder *b = &w->b;
    LoopRef turns = emit(w, OP_SUB, loop->args[0], middle);
    LoopBody *body = loop->bodies[0];
    LoopRef old = body->params[0], turn = open_index(w, body);
    LoopRef beyond = loop_scalar(b, OP_ADD, SCALAR_I64, (LoopRef[]){turn, middle}, 2);
    loop_select(b, loop_lt(b, turn, first), turn, beyond);
    close_index(w, body, old);
    range_keep(w, new_loop(w, loop, turns, body));
}

// Where both ends are to be vectors, they are that long if there are turns enough.
static void widen_ends(RangeWalk *w, LoopStm *loop, const Ends *ends, LoopRef *first,
                       LoopRef *middle) {
    LoopBuilder *b = &w->b;
    LoopRef times = loop->args[0];
    int64_t lanes = loop_end_lanes(b, loop->bodies[0]);
    if (ends->first + ends->last > lanes) return;
    int64_t before = ends->first > 0 ? lanes : 0, after = ends->last > 0 ? lanes : 0;
    LoopRef c = range_emit(w, OP_LE, SCALAR_BOOL,
                           (LoopRef[]){loop_int(b, 2 * lanes), times}, 2);
    LoopRef left = emit(w, OP_SUB, times, loop_int(b, before + after));
    *first = range_choose(w, c, loop_int(b, before), *first);
    *middle = range_choose(w, c, left, *middle);
}

static void split(RangeWalk *w, LoopStm *loop, const Ends *ends) {
    LoopRef times = loop->args[0];
    LoopRef first = emit(w, OP_MIN, loop_int(&w->b, ends->first), times);
    LoopRef last = emit(w, OP_SUB, times, loop_int(&w->b, ends->last));
    LoopRef end = emit(w, OP_MAX, first, last);
    LoopRef middle = emit(w, OP_SUB, end, first);
    widen_ends(w, loop, ends, &first, &middle);
    keep_middle(w, loop, ends, first, middle);
    keep_ends(w, loop, first, middle);
}

static bool may_stop(const LoopBody *body) {
    return loop_has_op(body, LOOP_CHECK) || loop_has_op(body, LOOP_CALL);
}

// Whether turns may change places; there are 0 of them or more.
static bool is_free(RangeWalk *w, const LoopStm *loop) {
    LoopRef times = loop->args[0];
    return loop->order != ORDER_SEQUENTIAL &&
           loop_type(&w->b, times).elem == SCALAR_I64 &&
           range_is_at_least(&w->r, times, 0) && !may_stop(loop->bodies[0]);
}

static bool can_split(RangeWalk *w, const LoopStm *loop, Ends *ends) {
    const LoopBody *body = loop->bodies[0];
    LoopRef times = loop->args[0];
    uint64_t bits;
    if (!is_free(w, loop) || (loop_is_known(&w->b, times, &bits) && bits < SHORTEST))
        return false;
    *ends = (Ends){.index = body->params[0], .times = range_form(&w->r, times)};
    look_at(&w->r, ends, body);
    return ends->first + ends->last > 0 && loop_can_pay(w, body);
}

static void keep(RangeWalk *w, LoopStm *loop) {
    Ends ends;
    if (can_split(w, loop, &ends)) split(w, loop, &ends);
    else loop_unswitch(w, loop, does_something);
}

// ---- parts of something larger ------------------------------------------------------

// A test whether i + start is `end`, of which only i is of the loop.
typedef struct PartTest {
    LoopRef start, end;
} PartTest;

enum { MOST_TESTS = 4 };

static const int64_t GREATEST_START = (int64_t)1 << 62;

// Those of a loop of which nothing is known yet, and whether there is a branch.
typedef struct PartTests {
    RangeWalk *w;
    Ends ends;
    PartTest data[MOST_TESTS];
    uint32_t count;
    bool has_branch;
} PartTests;

static bool is_constant(const RangeWalk *w, LoopRef ref) {
    uint64_t bits;
    return loop_is_known(&w->b, ref, &bits);
}

// Whether it says nothing of the ends, whatever the start is.
static bool is_far(const RangeWalk *w, PartTest test) {
    uint64_t bits;
    return loop_is_known(&w->b, test.end, &bits) &&
           (bits >= WIDEST_END || is_constant(w, test.start));
}

static bool is_outside(const PartTests *t, LoopRef ref) {
    return range_value(&t->w->r, ref)->depth <= t->w->depth;
}

// Whether it is the index, which starts at 0, or the sum of that and a start of which
// nothing is known.
static bool find_start(const PartTests *t, LoopRef ref, LoopRef *start_out) {
    const RangeValue *value = range_value(&t->w->r, ref);
    const LoopStm *def = value->def;
    LoopRef index = t->ends.index;
    *start_out = loop_int(&t->w->b, 0);
    if (ref == index) return true;
    if (value->form != NULL || def == NULL || def->op != LOOP_SCALAR ||
        def->scalar != OP_ADD)
        return false;
    *start_out = def->args[def->args[0] == index];
    return (def->args[0] == index || def->args[1] == index) &&
           is_outside(t, *start_out);
}

static void find_test(PartTests *t, const LoopStm *stm) {
    Ends ends = t->ends;
    RangeForm form;
    if (stm->op != LOOP_SCALAR || (stm->scalar != OP_EQ && stm->scalar != OP_NE) ||
        loop_type(&t->w->b, stm->args[0]).elem != SCALAR_I64 ||
        (range_difference(&t->w->r, stm->args[0], stm->args[1], 0, &form) &&
         find_end(&t->w->r, &ends, &form, EQUALITY)))
        return;
    for (uint32_t k = 0; k < 2 && t->count < MOST_TESTS; k++) {
        PartTest test = {.end = stm->args[1 - k]};
        if (is_outside(t, test.end) && find_start(t, stm->args[k], &test.start) &&
            !is_far(t->w, test))
            t->data[t->count++] = test;
    }
}

static void find_tests(PartTests *t, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        find_test(t, stm);
        t->has_branch = t->has_branch || (stm->op == LOOP_IF && does_something(stm));
        for (uint32_t k = 0; k < stm->body_count; k++) find_tests(t, stm->bodies[k]);
    }
}

static LoopRef is_least(RangeWalk *w, LoopRef x, LoopRef y) {
    return range_emit(w, OP_LE, SCALAR_BOOL, (LoopRef[]){y, x}, 2);
}

static LoopRef both(RangeWalk *w, LoopRef x, LoopRef y) {
    return range_emit(w, OP_AND, SCALAR_BOOL, (LoopRef[]){x, y}, 2);
}

// Whether it is so at one of the first turns alone, or at the last one: start is not
// negative, and not so great that a sum wraps around; and no turn comes behind `end`.
// There are 0 turns or more.
static LoopRef holds_at_ends(RangeWalk *w, PartTest test, LoopRef times) {
    LoopRef zero = loop_int(&w->b, 0), one = loop_int(&w->b, 1);
    LoopRef is_small = is_least(w, loop_int(&w->b, GREATEST_START), test.start);
    LoopRef c = both(w, is_least(w, test.start, zero), is_small);
    if (is_constant(w, test.end)) return c;
    LoopRef last = emit(w, OP_SUB, times, one);
    c = both(w, c, is_least(w, test.end, zero)); // so that no difference wraps around
    return both(w, c, is_least(w, emit(w, OP_SUB, test.end, last), test.start));
}

static void learn_ends(RangeWalk *w, PartTest test, const RangeForm *times) {
    RangeForm start = range_form(&w->r, test.start), end = range_form(&w->r, test.end);
    RangeForm most = {.base = GREATEST_START};
    range_learn(&w->r, &start);
    if (range_add(&most, &start, -1)) range_learn(&w->r, &most);
    if (is_constant(w, test.end)) return;
    range_learn(&w->r, &end);
    if (range_add(&end, &start, -1) && range_add(&end, times, -1) &&
        range_add(&end, &(RangeForm){.base = 1}, 1))
        range_learn(&w->r, &end);
}

// The loop where that is known of all tests.
static LoopBody *make_part(const PartTests *t, const LoopStm *loop) {
    RangeWalk *w = t->w;
    LoopCopier copier = loop_copier(&w->b);
    uint32_t known = w->r.facts.len;
    loop_open(&w->b, NULL, 0);
    for (uint32_t i = 0; i < t->count; i++) learn_ends(w, t->data[i], &t->ends.times);
    LoopStm *copy = loop_copy_stm(&copier, loop);
    range_walk_loop(w, copy);
    keep(w, copy);
    range_forget(&w->r, known);
    return loop_close(&w->b, NULL, 0);
}

// Only what a kernel does as a whole: of many short loops in it few are near an end.
static bool is_of_part(PartTests *t, const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    if (t->w->depth > 0 || !is_free(t->w, loop)) return false;
    t->ends =
        (Ends){.index = body->params[0], .times = range_form(&t->w->r, loop->args[0])};
    find_tests(t, body);
    return t->count > 0 && t->has_branch && loop_can_pay(t->w, body);
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    PartTests t = {.w = w};
    if (loop_has_loops(loop->bodies[0])) {
        loop_unswitch(w, loop, does_something);
        return;
    }
    if (!is_of_part(&t, loop)) {
        keep(w, loop);
        return;
    }
    LoopRef c = loop_const(&w->b, SCALAR_BOOL, true);
    for (uint32_t i = 0; i < t.count; i++)
        c = both(w, c, holds_at_ends(w, t.data[i], loop->args[0]));
    LoopBody *arms[2] = {make_part(&t, loop)};
    loop_open(&w->b, NULL, 0);
    keep(w, loop);
    arms[1] = loop_close(&w->b, NULL, 0);
    loop_keep_either(w, loop, c, arms);
}

// ---- which kernels ------------------------------------------------------------------

// Whether the number may be a sum of the index and others. Sums are graphs: so many
// levels of one are looked at.
static bool may_follow(const LoopSite *sites, LoopRef ref, LoopRef index,
                       unsigned levels) {
    const LoopStm *def = sites[ref].def;
    if (ref == index || levels == 0) return true;
    if (def == NULL || def->op != LOOP_SCALAR || sites[ref].depth < sites[index].depth)
        return false;
    for (uint32_t i = 0; i < def->arg_count; i++)
        if (may_follow(sites, def->args[i], index, levels - 1)) return true;
    return false;
}

// Whether look_at_scalar may find that turns differ.
static bool may_differ(const LoopKernel *kernel, const LoopSite *sites,
                       const LoopStm *stm, LoopRef index) {
    enum { LEVELS = 8 };
    if (stm->op != LOOP_SCALAR || !compares(stm->scalar) ||
        !scalar_is_int((ScalarType)kernel->values.data[stm->args[0]].type.elem))
        return false;
    return may_follow(sites, stm->args[0], index, LEVELS) ||
           may_follow(sites, stm->args[1], index, LEVELS);
}

// Whether there is something like that in the body, and a branch that loop_unswitch
// may want.
static void see_body(const LoopKernel *kernel, const LoopSite *sites,
                     const LoopBody *body, LoopRef index, bool *differs,
                     bool *branches) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        *differs = *differs || may_differ(kernel, sites, stm, index);
        *branches = *branches || (stm->op == LOOP_IF && does_something(stm) &&
                                  sites[stm->args[0]].depth < sites[index].depth);
        for (uint32_t k = 0; k < stm->body_count && stm->op == LOOP_IF; k++)
            see_body(kernel, sites, stm->bodies[k], index, differs, branches);
    }
}

static bool may_change(const LoopKernel *kernel, const LoopSite *sites,
                       const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    bool differs = false, branches = false;
    if (loop->order == ORDER_SEQUENTIAL) return false;
    see_body(kernel, sites, body, body->params[0], &differs, &branches);
    return branches || (differs && !loop_has_loops(body) && !may_stop(body));
}

void loop_borders(LoopKernel *kernel) {
    if (loop_kernel_has_for(kernel, may_change)) range_walk_kernel(kernel, leave_loop);
}
