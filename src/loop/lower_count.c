// SPDX-License-Identifier: Apache-2.0
//
// Counting: sums of what is 0 or 1, as a program writes that counts the elements of
// which something holds, and whether it holds for any, or for all. Integers add up to
// the same in any order, so the elements of a block are turns of any order, each of
// which adds one to a counter that all have in common, or does not. As lanes these are
// as narrow as the elements they look at, and a vector turn adds how many hold.
#include "loop/lower.h"

// Whether all that is told of an element is if something holds.
static bool is_told(const Fold *f, uint32_t c) {
    CoreType type = loop_core_type(f->l, f->op->results[c]);
    if (type.rank > 0 || type.elem == SCALAR_BOOL) return type.rank == 0;
    const CoreStm *made =
        f->pre != NULL ? core_find_def(f->pre, f->pre->results[c]) : NULL;
    return made != NULL && made->op == OP_CONV &&
           loop_core_type(f->l, made->args[0]).elem == SCALAR_BOOL;
}

static CoreOp operator_of(const Fold *f, uint32_t c) {
    const CoreStm *stm = core_find_def(f->op, f->op->results[c]);
    return stm != NULL ? stm->op : OP_IF;
}

bool loop_is_count(const Fold *f) {
    if (f->is_compact || f->stm->stamp != STAMP_FREE || f->start == NULL) return false;
    for (uint32_t c = 0; c < f->width; c++) {
        CoreOp op = operator_of(f, c);
        bool is_bool = loop_core_type(f->l, f->op->results[c]).elem == SCALAR_BOOL;
        bool counts = is_bool ? op == OP_AND || op == OP_OR : op == OP_ADD;
        if (!counts || !is_told(f, c)) return false;
    }
    return true;
}

// Takes the statements from what is left; false: it is not enough, or there is a loop.
static bool are_few(const CoreBody *body, uint32_t *left) {
    if (body->stms.len > *left) return false;
    *left -= body->stms.len;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_CALL || (stm->body_count > 0 && stm->op != OP_IF))
            return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!are_few(stm->bodies[k], left)) return false;
    }
    return true;
}

// Counts of what takes little have long blocks: the turns that lanes leave over go one
// by one.
int64_t loop_fold_block(const Fold *f) {
    enum { LONG = 8 * CORE_BLOCK };
    uint32_t left = 40;
    bool is_long = !f->l->is_for_gpus && loop_is_count(f) &&
                   (f->pre == NULL || are_few(f->pre, &left));
    return is_long ? LONG : CORE_BLOCK;
}

// The bool that the value is, or was converted from, in the open body.
static LoopRef as_bool(LoopBuilder *b, LoopRef value) {
    const LoopBody *body = b->open.data[b->open.len - 1];
    if (loop_type(b, value).elem == SCALAR_BOOL) return value;
    for (uint32_t i = body->stms.len; i-- > 0;) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR && stm->scalar == OP_CONV &&
            loop_same(b, stm->outs[0], value))
            return stm->args[0];
    }
    LoopRef sides[] = {value, loop_const(b, (ScalarType)loop_type(b, value).elem, 0)};
    return loop_not(b, loop_scalar(b, OP_EQ, SCALAR_BOOL, sides, 2));
}

// What the component is, so many elements being counted: of all those that do not hold.
static LoopRef told_by(const Fold *f, uint32_t c, LoopRef count) {
    LoopBuilder *b = f->l->b;
    LoopRef zero = loop_int(b, 0);
    switch ((int)operator_of(f, c)) {
    case OP_AND: return loop_eq(b, count, zero);
    case OP_OR: return loop_lt(b, zero, count);
    }
    ScalarType type = (ScalarType)loop_core_type(f->l, f->op->results[c]).elem;
    return loop_scalar(b, OP_CONV, type, &count, 1);
}

void loop_count_block(const Fold *f, LoopRef from, LoopRef size, Val *out) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    Array **counters = arena_array(l->arena, Array *, f->width);
    LoopRef *holds = arena_array(l->arena, LoopRef, f->width);
    Val *made = loop_group(f);
    for (uint32_t c = 0; c < f->width; c++) {
        LoopRef counter = loop_alloc(l, SCALAR_I64, one);
        counters[c] = loop_dense(l, SCALAR_I64, counter, zero, 1, &one);
        loop_store(l, counters[c], &zero, zero);
    }
    Nest nest;
    loop_open_nest(l, &nest, 1, &size, ORDER_INDEPENDENT);
    loop_fold_first(f, loop_add(b, from, nest.index[0]), made, loop_flags(f));
    for (uint32_t c = 0; c < f->width; c++) {
        holds[c] = as_bool(b, made[c].scalar);
        if (operator_of(f, c) == OP_AND) holds[c] = loop_not(b, holds[c]);
    }
    for (uint32_t c = 0; c < f->width; c++) {
        When when = loop_open_if(l, holds[c]);
        loop_atomic(l, OP_ADD, counters[c], &zero, one);
        loop_close_if(l, when);
    }
    loop_close_nest(l, &nest);
    for (uint32_t c = 0; c < f->width; c++) {
        LoopRef count = loop_load(l, counters[c], &zero);
        out[c] = val_scalar(told_by(f, c, count));
    }
}
