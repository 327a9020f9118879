// SPDX-License-Identifier: Apache-2.0
//
// What is learnt of integers from the statements that make them and from conditions.
// An operator's result has a form only if the exact sum was proved to fit its type;
// what is known of the others are bounds.
#include "loop/range.h"

static ScalarType type_of(const Ranges *r, LoopRef ref) {
    return (ScalarType)loop_type(r->b, ref).elem;
}

// ---- conditions ---------------------------------------------------------------------

// x >= y + more, or the opposite.
static void learn_order(Ranges *r, LoopRef x, LoopRef y, int64_t more, bool is_true) {
    if (is_true) range_learn_least(r, x, y, more);
    else range_learn_least(r, y, x, 1 - more);
}

static void learn_equality(Ranges *r, LoopRef x, LoopRef y, bool is_true) {
    if (is_true) {
        range_learn_least(r, x, y, 0);
        range_learn_least(r, y, x, 0);
    } else if (range_is_least(r, x, y, 0)) {
        range_learn_least(r, x, y, 1);
    } else if (range_is_least(r, y, x, 0)) {
        range_learn_least(r, y, x, 1);
    }
}

// Conditions are graphs, and may be large: so many parts of one are looked at.
enum { MOST_PARTS = 32 };

static void assume(Ranges *r, LoopRef c, bool is_true, unsigned *parts);

// Whether the comparison of the number x with a constant holds if x is that constant.
static bool holds_for(Ranges *r, const LoopStm *stm, LoopRef x, uint64_t bits) {
    uint64_t args[2], holds;
    if (stm->op != LOOP_SCALAR || (stm->scalar != OP_LE && stm->scalar != OP_LT))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (loop_same(r->b, stm->args[i], x)) args[i] = bits;
        else if (!loop_is_known(r->b, stm->args[i], &args[i])) return false;
    }
    core_eval(stm->scalar, type_of(r, x), SCALAR_BOOL, args, &holds);
    return holds != 0;
}

// One of them holds. A bound that holds of a number is known if else x is that number.
static void assume_either(Ranges *r, LoopRef one, LoopRef other, unsigned *parts) {
    const LoopStm *is_number = range_value(r, loop_find(r->b, one))->def;
    const LoopStm *bound = range_value(r, loop_find(r->b, other))->def;
    uint64_t bits;
    if (is_number != NULL && bound != NULL && is_number->op == LOOP_SCALAR &&
        is_number->scalar == OP_EQ && range_is_int(r, is_number->args[0]) &&
        loop_is_known(r->b, is_number->args[1], &bits) &&
        holds_for(r, bound, is_number->args[0], bits))
        assume(r, other, true, parts);
}

static void assume_scalar(Ranges *r, const LoopStm *stm, bool is_true,
                          unsigned *parts) {
    LoopRef x = stm->args[0], y = stm->arg_count > 1 ? stm->args[1] : 0;
    bool is_int = range_is_int(r, x);
    switch ((int)stm->scalar) {
    case OP_NOT: assume(r, x, !is_true, parts); return;
    case OP_AND:
    case OP_OR:
        if (is_true && stm->scalar == OP_OR) {
            assume_either(r, x, y, parts);
            assume_either(r, y, x, parts);
        }
        if (is_true != (stm->scalar == OP_AND)) return;
        assume(r, x, is_true, parts);
        assume(r, y, is_true, parts);
        return;
    case OP_LE:
        if (is_int) learn_order(r, y, x, 0, is_true);
        return;
    case OP_LT:
        if (is_int) learn_order(r, y, x, 1, is_true);
        return;
    case OP_EQ:
        if (is_int) learn_equality(r, x, y, is_true);
        return;
    case OP_NE:
        if (is_int) learn_equality(r, x, y, !is_true);
        return;
    }
}

// What `&&` and `||` become: a branch of which one arm is a constant.
static void assume_branch(Ranges *r, const LoopStm *stm, LoopRef c, bool is_true,
                          unsigned *parts) {
    uint32_t at = 0;
    while (loop_find(r->b, stm->outs[at]) != c) at++;
    for (int arm = 0; arm < 2; arm++) {
        uint64_t bits;
        if (!loop_is_known(r->b, stm->bodies[arm]->results[at], &bits) ||
            (bits != 0) == is_true)
            continue;
        assume(r, stm->args[0], arm == 1, parts);
        assume(r, stm->bodies[1 - arm]->results[at], is_true, parts);
        return;
    }
}

static void assume(Ranges *r, LoopRef c, bool is_true, unsigned *parts) {
    c = loop_find(r->b, c);
    const LoopStm *def = range_value(r, c)->def;
    if (def == NULL || *parts == 0) return;
    --*parts;
    if (def->op == LOOP_SCALAR) assume_scalar(r, def, is_true, parts);
    if (def->op == LOOP_IF) assume_branch(r, def, c, is_true, parts);
}

void range_assume(Ranges *r, LoopRef c, bool is_true) {
    unsigned parts = MOST_PARTS;
    assume(r, c, is_true, &parts);
}

// ---- what comparisons are known to be -----------------------------------------------

static LoopRef known(Ranges *r, bool answer) {
    return loop_const(r->b, SCALAR_BOOL, answer);
}

// x >= y + more; 0: not known.
static LoopRef decide_order(Ranges *r, LoopRef x, LoopRef y, int64_t more) {
    if (range_is_least(r, x, y, more)) return known(r, true);
    if (range_is_least(r, y, x, 1 - more)) return known(r, false);
    return 0;
}

static LoopRef decide_equality(Ranges *r, LoopRef x, LoopRef y, bool equal) {
    bool is_least = range_is_least(r, x, y, 0), is_most = range_is_least(r, y, x, 0);
    if (is_least && is_most) return known(r, equal);
    if ((is_least && range_is_least(r, x, y, 1)) ||
        (is_most && range_is_least(r, y, x, 1)))
        return known(r, !equal);
    return 0;
}

// ---- arithmetic ---------------------------------------------------------------------

// The result is exactly that, if it fits. Returns the earlier value that it is, if any.
static LoopRef define_exactly(Ranges *r, LoopRef out, const RangeForm *form) {
    ScalarType type = type_of(r, out);
    if (form->count == 1 && form->base == 0 && form->terms[0].factor == 1 &&
        type_of(r, form->terms[0].atom) == type)
        return form->terms[0].atom;
    if (!range_fits(r, form, type)) return 0;
    if (form->count == 0) return loop_const(r->b, type, (uint64_t)form->base);
    RangeForm *kept = arena_copy(loop_notes(r->b->kernel), form, sizeof *form);
    range_value(r, out)->form = kept;
    return 0;
}

static LoopRef define_sum(Ranges *r, const LoopStm *stm, int64_t factor) {
    RangeForm form = range_form(r, stm->args[0]),
              other = range_form(r, stm->args[stm->arg_count - 1]);
    if (stm->scalar == OP_NEG) form = (RangeForm){0};
    if (!range_add(&form, &other, factor)) return 0;
    return define_exactly(r, stm->outs[0], &form);
}

static LoopRef define_product(Ranges *r, const LoopStm *stm) {
    for (uint32_t i = 0; i < 2; i++) {
        RangeForm factor = range_form(r, stm->args[i]), form = {0};
        RangeForm other = range_form(r, stm->args[1 - i]);
        if (factor.count == 0 && range_add(&form, &other, factor.base))
            return define_exactly(r, stm->outs[0], &form);
    }
    return 0;
}

static LoopRef define_conversion(Ranges *r, const LoopStm *stm) {
    LoopRef x = stm->args[0], out = stm->outs[0];
    if (type_of(r, x) == SCALAR_BOOL) {
        RangeForm most = {.base = 1}, form = range_form(r, out);
        range_add(&most, &form, -1);
        range_learn(r, &form);
        range_learn(r, &most);
    }
    if (!range_is_int(r, x)) return 0;
    RangeForm form = range_form(r, x);
    return define_exactly(r, out, &form);
}

// The lesser, or the greater.
static LoopRef define_choice(Ranges *r, const LoopStm *stm, bool is_least) {
    LoopRef x = stm->args[0], y = stm->args[1], out = stm->outs[0];
    if (range_is_least(r, x, y, 0)) return is_least ? y : x;
    if (range_is_least(r, y, x, 0)) return is_least ? x : y;
    RangeValue *value = range_value(r, out);
    value->either[0] = x;
    value->either[1] = y;
    for (int i = 0; i < 2; i++) {
        if (is_least) range_learn_least(r, stm->args[i], out, 0);
        else range_learn_least(r, out, stm->args[i], 0);
    }
    return 0;
}

// ---- division -----------------------------------------------------------------------

// A value that the loops count up to, as a product of y and another; 0: it is none.
// Products of sizes may wrap, but only to less than what they are.
static LoopRef other_factor(Ranges *r, LoopRef product, LoopRef y) {
    if (product == 0) return 0;
    const LoopStm *def = range_value(r, loop_find(r->b, product))->def;
    if (def == NULL || def->op != LOOP_SCALAR || def->scalar != OP_MUL) return 0;
    for (uint32_t i = 0; i < 2; i++)
        if (loop_same(r->b, def->args[i], y) && range_is_at_least(r, def->args[0], 0) &&
            range_is_at_least(r, def->args[1], 0))
            return loop_find(r->b, def->args[1 - i]);
    return 0;
}

// Where this runs y is not 0. Of numbers that are not negative all quotients and
// remainders are the same.
static LoopRef define_quotient(Ranges *r, const LoopStm *stm) {
    LoopRef x = stm->args[0], y = stm->args[1], out = stm->outs[0];
    if (!range_is_at_least(r, x, 0) || !range_is_at_least(r, y, 0)) return 0;
    if (range_is_least(r, y, x, 1)) return loop_const(r->b, type_of(r, out), 0);
    LoopRef times = other_factor(r, range_value(r, loop_find(r->b, x))->below, y);
    if (times != 0) {
        range_index(r, out, times);
        return 0;
    }
    RangeForm quotient = range_form(r, out), divisor = range_form(r, y);
    range_learn(r, &quotient);
    RangeForm rest = range_form(r, x); // x - y * quotient
    if (divisor.count > 0 || !range_add(&rest, &quotient, -divisor.base)) return 0;
    range_learn(r, &rest);
    RangeForm room = {.base = divisor.base - 1};
    if (range_add(&room, &rest, -1)) range_learn(r, &room);
    return 0;
}

static LoopRef define_remainder(Ranges *r, const LoopStm *stm) {
    LoopRef x = stm->args[0], y = stm->args[1], out = stm->outs[0];
    if (!range_is_at_least(r, y, 0)) return 0;
    bool is_natural = range_is_at_least(r, x, 0);
    if (is_natural && range_is_least(r, y, x, 1)) return x;
    if (!is_natural && stm->scalar == OP_REM) return 0;
    range_index(r, out, y);
    return 0;
}

static LoopRef define_mask(Ranges *r, const LoopStm *stm) {
    for (uint32_t i = 0; i < 2; i++) {
        if (!range_is_at_least(r, stm->args[i], 0)) continue;
        RangeForm form = range_form(r, stm->outs[0]);
        range_learn(r, &form);
        range_learn_least(r, stm->args[i], stm->outs[0], 0);
    }
    return 0;
}

// ---- floats -------------------------------------------------------------------------

// What a comparison with a constant says if arg `at` is that integer, converted.
static bool holds_at(const Ranges *r, const LoopStm *stm, uint32_t at, ScalarType from,
                     int64_t number) {
    ScalarType type = type_of(r, stm->args[at]);
    uint64_t bits[2], x = (uint64_t)number, holds;
    loop_is_known(r->b, stm->args[1 - at], &bits[1 - at]);
    core_eval(OP_CONV, from, type, &x, &bits[at]);
    core_eval(stm->scalar, type, SCALAR_BOOL, bits, &holds);
    return holds != 0;
}

// A float that was an integer is in order with a constant as the integer is: what holds
// for the least and the greatest that this may be holds for all.
static LoopRef decide_converted(Ranges *r, const LoopStm *stm) {
    uint64_t unused;
    for (uint32_t at = 0; at < 2; at++) {
        const LoopStm *def = range_value(r, stm->args[at])->def;
        if (def == NULL || def->op != LOOP_SCALAR || def->scalar != OP_CONV ||
            !loop_is_known(r->b, stm->args[1 - at], &unused))
            continue;
        LoopRef number = def->args[0];
        ScalarType from = type_of(r, number);
        if (!range_is_int(r, number) || from == SCALAR_U64) return 0;
        int64_t least = range_is_at_least(r, number, 1)   ? 1
                        : range_is_at_least(r, number, 0) ? 0
                                                          : range_least_of(from);
        bool holds = holds_at(r, stm, at, from, least);
        if (holds == holds_at(r, stm, at, from, range_most_of(from)))
            return loop_const(r->b, SCALAR_BOOL, holds);
    }
    return 0;
}

// ---- statements ---------------------------------------------------------------------

static LoopRef define_scalar(Ranges *r, const LoopStm *stm) {
    LoopRef x = stm->args[0], y = stm->arg_count > 1 ? stm->args[1] : 0;
    bool takes_int = range_is_int(r, x);
    if (stm->scalar == OP_CONV)
        return range_is_int(r, stm->outs[0]) ? define_conversion(r, stm) : 0;
    if (!takes_int && (stm->scalar == OP_LE || stm->scalar == OP_LT))
        return decide_converted(r, stm);
    if (!takes_int) return 0;
    switch ((int)stm->scalar) {
    case OP_ADD: return define_sum(r, stm, 1);
    case OP_SUB:
    case OP_NEG: return define_sum(r, stm, -1);
    case OP_MUL: return define_product(r, stm);
    case OP_MIN: return define_choice(r, stm, true);
    case OP_MAX: return define_choice(r, stm, false);
    case OP_DIV:
    case OP_QUOT: return define_quotient(r, stm);
    case OP_MOD:
    case OP_REM: return define_remainder(r, stm);
    case OP_AND: return define_mask(r, stm);
    case OP_LE: return decide_order(r, y, x, 0);
    case OP_LT: return decide_order(r, y, x, 1);
    case OP_EQ: return decide_equality(r, x, y, true);
    case OP_NE: return decide_equality(r, x, y, false);
    }
    return 0;
}

void range_index(Ranges *r, LoopRef index, LoopRef times) {
    RangeForm form = range_form(r, index);
    range_learn(r, &form);
    range_learn_least(r, times, index, 1);
    RangeForm some = range_form(r, times);
    some.base--; // follows, but by a proof that asks about the index twice
    range_learn(r, &some);
    range_value(r, index)->below = times;
}

LoopRef range_define(Ranges *r, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) {
        range_value(r, stm->outs[i])->def = stm;
        if (stm->op != LOOP_IF || !range_is_int(r, stm->outs[i])) continue;
        RangeValue *value = range_value(r, stm->outs[i]);
        value->when = stm->args[0];
        for (int arm = 0; arm < 2; arm++)
            value->either[arm] = stm->bodies[arm]->results[i];
    }
    return stm->op == LOOP_SCALAR ? define_scalar(r, stm) : 0;
}
