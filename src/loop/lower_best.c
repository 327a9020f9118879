// SPDX-License-Identifier: Apache-2.0
//
// Folds of keys and their places, as programs write them that ask where the largest of
// an array is, or the least: of two pairs the one with the better key, and of equal
// ones the first or the last. Runs have a meaning of their own, since a key that is no
// number stays where it comes first, and is passed over elsewhere. But then all that a
// run amounts to is its best key: lanes begin with its first one, and each keeps the
// better one as the run does. Which run has the best is found as ever, and then where
// in it.
#include "loop/lower.h"

enum { LANES = 32, MOST_IN_KEY = 16 }; // statements, which are there five times

typedef struct Best {
    uint32_t key, place; // components
    CoreOp test;         // LT, LE: of equal keys the last
    bool is_least;       // the right key is kept if right < left, else left < right
} Best;

// ---- what the operator is -----------------------------------------------------------

// Whether it is that operator on the component of both sides; from which side.
static bool compares(const CoreBody *op, const CoreStm *def, CoreOp is, uint32_t c,
                     uint32_t *first_out) {
    CoreRef sides[] = {op->params[c], op->params[2 + c]};
    if (def == NULL || def->op != is) return false;
    for (uint32_t k = 0; k < 2; k++) {
        *first_out = k;
        if (def->args[0] == sides[k] && def->args[1] == sides[1 - k]) return true;
    }
    return false;
}

static bool compares_keys(const CoreBody *op, CoreRef ref, Best *o) {
    const CoreStm *def = core_find_def(op, ref);
    uint32_t first;
    o->test = def != NULL && def->op == OP_LE ? OP_LE : OP_LT;
    if (!compares(op, def, o->test, o->key, &first)) return false;
    o->is_least = first == 1;
    return true;
}

// Of equal keys the one whose place is less, which is the left one, or greater.
static bool compares_both(const CoreBody *op, CoreRef ref, Best *o) {
    const CoreStm *either = core_find_def(op, ref);
    if (either == NULL || either->op != OP_OR) return compares_keys(op, ref, o);
    for (uint32_t k = 0; k < 2; k++) {
        const CoreStm *both = core_find_def(op, either->args[k]);
        uint32_t unused, first;
        if (both == NULL || both->op != OP_AND ||
            !compares_keys(op, either->args[1 - k], o) || o->test != OP_LT)
            continue;
        for (uint32_t e = 0; e < 2; e++) {
            if (!compares(op, core_find_def(op, both->args[e]), OP_EQ, o->key,
                          &unused) ||
                !compares(op, core_find_def(op, both->args[1 - e]), OP_LT, o->place,
                          &first))
                continue;
            if (first == 0) o->test = OP_LE;
            return true;
        }
    }
    return false;
}

// Which side the arm gives; 2: neither.
static uint32_t side_of(const CoreBody *op, const CoreStm *branch, uint32_t arm) {
    const CoreBody *body = branch->bodies[arm];
    for (uint32_t side = 0; side < 2; side++) {
        bool is_side = body->stms.len == 0;
        for (uint32_t c = 0; c < 2; c++)
            for (uint32_t k = 0; k < 2; k++)
                if (op->results[c] == branch->outs[k] &&
                    body->results[k] != op->params[2 * side + c])
                    is_side = false;
        if (is_side) return side;
    }
    return 2;
}

// Whether the component says where its element is.
static bool is_place(const Fold *f, uint32_t c) {
    Lower *l = f->l;
    uint32_t k = 0;
    if (f->pre == NULL) k = c;
    else
        while (k < f->arrays && f->pre->params[k] != f->pre->results[c]) k++;
    if (k >= f->arrays) return false;
    const Array *a = f->feeds[k];
    return a->kind == ARRAY_IOTA && a->elem == SCALAR_I64 && a->rank == 1 &&
           loop_is_int(l->b, a->start, 0) && loop_is_int(l->b, a->step, 1);
}

// Whether the operator is such a one on elements and where they are. Folds in turns of
// their own are short, and the turns are lanes (batch.c).
static bool find_best(const Fold *f, Best *o) {
    const CoreBody *op = f->op;
    if (f->stm->stamp != STAMP_OUTER_RUNS || f->width != 2 || f->start != NULL ||
        f->is_compact || f->l->is_for_gpus ||
        (f->pre != NULL && f->pre->stms.len > MOST_IN_KEY))
        return false;
    o->place = is_place(f, 1) ? 1 : 0;
    o->key = 1 - o->place;
    const CoreStm *branch = core_find_def(op, op->results[0]);
    CoreType key = loop_core_type(f->l, op->results[o->key]);
    ScalarType elem = (ScalarType)key.elem;
    if (!is_place(f, o->place) || key.rank > 0 || elem == SCALAR_BOOL ||
        elem == SCALAR_F16 || branch == NULL || branch->op != OP_IF ||
        core_find_def(op, op->results[1]) != branch ||
        !compares_both(op, branch->args[0], o))
        return false;
    uint32_t then = side_of(op, branch, 0), other = side_of(op, branch, 1);
    if (then == 1 && other == 0) return true;
    // The right one unless left is better; what is no number is neither.
    if (then != 0 || other != 1 || scalar_is_float(elem)) return false;
    o->test = o->test == OP_LT ? OP_LE : OP_LT;
    o->is_least = !o->is_least;
    return true;
}

// ---- runs ---------------------------------------------------------------------------

static LoopRef key_of(const Fold *f, const Best *o, LoopRef i) {
    Val *vals = loop_group(f);
    loop_fold_first(f, i, vals, loop_flags(f));
    return vals[o->key].scalar;
}

static LoopRef better(const Fold *f, const Best *o, LoopRef left, LoopRef right) {
    LoopRef sides[] = {left, right}, swapped[] = {right, left};
    LoopRef is_right =
        loop_scalar(f->l->b, o->test, SCALAR_BOOL, o->is_least ? swapped : sides, 2);
    return loop_select(f->l->b, is_right, right, left);
}

// Takes so many elements into as many lanes.
static void take_row(const Fold *f, const Best *o, const Array *lanes, LoopRef from,
                     LoopRef count) {
    Lower *l = f->l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef lane = nest.index[0], x = key_of(f, o, loop_add(l->b, from, lane));
    LoopRef so_far = loop_element(l, lanes, lane).scalar;
    loop_set_element(l, lanes, lane, val_scalar(better(f, o, so_far, x)));
    loop_close_nest(l, &nest);
}

static LoopRef best_of_lanes(const Fold *f, const Best *o, const Array *lanes) {
    Lower *l = f->l;
    for (uint32_t half = LANES / 2; half > 0; half /= 2) {
        LoopRef count = loop_int(l->b, half);
        Nest nest;
        loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
        LoopRef lane = nest.index[0];
        LoopRef x = loop_element(l, lanes, lane).scalar;
        LoopRef y = loop_element(l, lanes, loop_add(l->b, lane, count)).scalar;
        loop_set_element(l, lanes, lane, val_scalar(better(f, o, x, y)));
        loop_close_nest(l, &nest);
    }
    return loop_element(l, lanes, loop_int(l->b, 0)).scalar;
}

// The best key of so many elements.
static LoopRef best_key(const Fold *f, const Best *o, const Array *lanes, LoopRef from,
                        LoopRef count) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef width = loop_int(b, LANES), first = key_of(f, o, from);
    LoopRef rows = loop_quot(b, count, width);
    Nest nest;
    loop_open_nest(l, &nest, 1, &width, ORDER_INDEPENDENT);
    loop_set_element(l, lanes, nest.index[0], val_scalar(first));
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &rows, ORDER_SEQUENTIAL);
    LoopRef row = loop_mul(b, nest.index[0], width);
    take_row(f, o, lanes, loop_add(b, from, row), width);
    loop_close_nest(l, &nest);
    LoopRef done = loop_mul(b, rows, width);
    LoopRef rest = loop_sub(b, count, done);
    take_row(f, o, lanes, loop_add(b, from, done), rest);
    return best_of_lanes(f, o, lanes);
}

bool loop_best_runs(const Fold *f, const Slots *runs, LoopRef from, LoopRef size,
                    LoopRef run) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Best best, *o = &best;
    if (!find_best(f, o)) return false;
    ScalarType elem = (ScalarType)loop_core_type(l, f->op->results[o->key]).elem;
    LoopRef width = loop_int(b, LANES);
    Array *lanes =
        loop_dense(l, elem, loop_alloc(l, elem, width), loop_int(b, 0), 1, &width);
    LoopRef one = loop_int(b, 1);
    LoopRef count = loop_quot(b, loop_sub(b, loop_add(b, size, run), one), run);
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_SEQUENTIAL);
    LoopRef start = loop_mul(b, nest.index[0], run), at = loop_add(b, from, start);
    LoopRef length = loop_min(b, run, loop_sub(b, size, start));
    Val vals[2];
    vals[o->key] = val_scalar(best_key(f, o, lanes, at, length));
    vals[o->place] = val_scalar(at);
    loop_store_slot(f, runs, nest.index[0], vals, NULL);
    loop_close_nest(l, &nest);
    return true;
}

void loop_best_place(const Fold *f, LoopRef from, LoopRef size, LoopRef run, Val *out) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Best best, *o = &best;
    if (!find_best(f, o)) return;
    LoopRef start = out[o->place].scalar, key = out[o->key].scalar;
    LoopRef behind = loop_add(b, from, size);
    LoopRef end = loop_min(b, loop_add(b, start, run), behind);
    Carry carry;
    Val at;
    loop_open_carry(l, &carry, &out[o->place], NULL, 1, loop_sub(b, end, start));
    LoopRef i = o->test == OP_LE
                    ? loop_add(b, start, carry.index)
                    : loop_sub(b, loop_sub(b, end, loop_int(b, 1)), carry.index);
    LoopRef has = loop_eq(b, key_of(f, o, i), key);
    Val next = val_scalar(loop_select(b, has, i, carry.state[0].scalar));
    loop_close_carry(l, &carry, &next, NULL, &at);
    out[o->place] = at;
    out[o->key] = val_scalar(key_of(f, o, at.scalar));
}
