// SPDX-License-Identifier: Apache-2.0
//
// What folds may start from. A fold begins with its first element; but from a value
// that leaves every element as it is, the first one can be taken in like the others,
// and the loop over them is a plain nest without an element in front.
#include "loop/lower.h"

enum { MOST_COMPARED = 256 }; // statements that two bodies have in common

// ---- neutral values -----------------------------------------------------------------

// x op neutral = x, bit for bit. The sum of -0 and x is x, that of +0 is not if x is
// -0; NaN leaves min and max the other operand. 0: it is not known.
static LoopRef find_neutral(Lower *l, CoreOp op, ScalarType type) {
    static const uint64_t nans[] = {
        [2] = 0x7e00, [4] = 0x7fc00000, [8] = 0x7ff8000000000000};
    static const uint64_t float_ones[] = {
        [2] = 0x3c00, [4] = 0x3f800000, [8] = 0x3ff0000000000000};
    unsigned bytes = scalar_info[type].bytes;
    uint64_t ones = UINT64_MAX >> (64 - 8 * bytes), sign = ones / 2 + 1;
    uint64_t least = scalar_is_signed(type) ? sign : 0;
    bool is_float = scalar_is_float(type);
    switch ((int)op) {
    case OP_ADD: return loop_const(l->b, type, is_float ? sign : 0);
    case OP_OR:
    case OP_XOR: return loop_const(l->b, type, 0);
    case OP_MUL: return loop_const(l->b, type, is_float ? float_ones[bytes] : 1);
    case OP_AND: return loop_const(l->b, type, type == SCALAR_BOOL ? 1 : ones);
    case OP_MIN: return loop_const(l->b, type, is_float ? nans[bytes] : ones - least);
    case OP_MAX: return loop_const(l->b, type, is_float ? nans[bytes] : least);
    }
    return 0;
}

// Whether the stamp says that each component is one recognised operator on its own.
static bool is_recognised(CoreStamp stamp) {
    return stamp == STAMP_FREE || stamp == STAMP_NESTED_LANES ||
           stamp == STAMP_OUTER_LANES;
}

bool loop_neutrals(const Fold *f, Val *ne_out) {
    if (!is_recognised((CoreStamp)f->stm->stamp)) return false;
    for (uint32_t c = 0; c < f->width; c++) {
        const CoreStm *stm = core_find_def(f->op, f->op->results[c]);
        if (stm == NULL) return false;
        CoreType type = loop_core_type(f->l, f->op->results[c]);
        LoopRef neutral = find_neutral(f->l, stm->op, (ScalarType)type.elem);
        if (neutral == 0) return false;
        ne_out[c] = val_scalar(neutral);
    }
    return true;
}

// ---- the first element like the others ----------------------------------------------

typedef struct Comparison {
    const Fold *f;
    uint32_t left; // statements that may still be compared
} Comparison;

// Whether acc's `x` is computed from the element as pre's `y` is.
static bool is_same(Comparison *c, CoreRef x, CoreRef y) {
    const Fold *f = c->f;
    for (uint32_t i = 0; i < f->acc->param_count; i++)
        if (f->acc->params[i] == x)
            return i >= f->width && f->pre->params[i - f->width] == y;
    const CoreStm *a = core_find_def(f->acc, x), *b = core_find_def(f->pre, y);
    if (a == NULL || b == NULL) return x == y;
    if (c->left == 0 || a->op != b->op || a->arg_count != b->arg_count ||
        a->attr_count != b->attr_count || a->body_count + b->body_count > 0 ||
        a->out_count != 1 || b->out_count != 1)
        return false;
    c->left--;
    CoreType s = loop_core_type(f->l, x), t = loop_core_type(f->l, y);
    if (s.elem != t.elem || s.rank != t.rank) return false;
    for (uint32_t i = 0; i < a->attr_count; i++)
        if (a->attrs[i] != b->attrs[i]) return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!is_same(c, a->args[i], b->args[i])) return false;
    return true;
}

// Whether acc of component k is pre's result joined to what is so far, by the operator
// or, if that result is a product, by one FMA; which from a neutral value is the same.
static bool takes_first(Comparison *c, uint32_t k) {
    const Fold *f = c->f;
    CoreRef so_far = f->acc->params[k], made = f->pre->results[k];
    const CoreStm *acc = core_find_def(f->acc, f->acc->results[k]);
    const CoreStm *op = core_find_def(f->op, f->op->results[k]);
    if (acc == NULL) return false;
    if (acc->op == OP_FMA) {
        const CoreStm *product = core_find_def(f->pre, made);
        return op->op == OP_ADD && acc->args[2] == so_far && product != NULL &&
               product->op == OP_MUL && is_same(c, acc->args[0], product->args[0]) &&
               is_same(c, acc->args[1], product->args[1]);
    }
    if (acc->op != op->op) return false;
    for (uint32_t side = 0; side < 2; side++)
        if (acc->args[side] == so_far && is_same(c, acc->args[1 - side], made))
            return true;
    return false;
}

// From the neutral value of the operator; if there may be no element, from the one that
// the program gives, which then is the result.
Val *loop_start(const Fold *f) {
    Lower *l = f->l;
    Val *start = loop_group(f);
    Comparison comparison = {f, MOST_COMPARED};
    if (!loop_neutrals(f, start)) return NULL;
    for (uint32_t c = 0; c < f->width && f->acc != NULL; c++)
        if (!takes_first(&comparison, c)) return NULL;
    LoopRef is_empty = loop_eq(l->b, f->n, loop_int(l->b, 0));
    for (uint32_t c = 0; c < f->width; c++)
        start[c].scalar = loop_select(l->b, is_empty, f->ne[c].scalar, start[c].scalar);
    return start;
}
