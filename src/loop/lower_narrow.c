// SPDX-License-Identifier: Apache-2.0
//
// Sums of bytes and shorts that are made wider first, so that nothing is lost. Of a
// block each lane adds up so few that twice the width of an element holds them, and a
// vector of that has more lanes than one of the sums that the program asks for.
#include "loop/lower.h"

enum { LANES = 32, MOST = CORE_BLOCK / LANES }; // elements of a lane: no more than 256
_Static_assert(MOST <= 256, "a sum of a lane has twice the bits of an element");

// What is added up, as a param of what makes the elements; NULL: something else is.
static const CoreStm *widens(const Fold *f) {
    if (f->width != 1 || f->pre == NULL || f->acc != NULL || f->pre->stms.len != 1)
        return NULL;
    const CoreStm *sum = core_find_def(f->op, f->op->results[0]);
    const CoreStm *made = core_find_def(f->pre, f->pre->results[0]);
    return sum != NULL && sum->op == OP_ADD && made != NULL && made->op == OP_CONV
               ? made
               : NULL;
}

// The array that is added up, and in what; NULL: there is no use in it.
static const Array *find_narrow(const Fold *f, ScalarType *elem_out) {
    static const ScalarType twice[] = {[SCALAR_I8] = SCALAR_I16,
                                       [SCALAR_I16] = SCALAR_I32,
                                       [SCALAR_U8] = SCALAR_U16,
                                       [SCALAR_U16] = SCALAR_U32};
    const CoreStm *made = widens(f);
    if (made == NULL) return NULL;
    uint32_t k = 0;
    while (k < f->arrays && f->pre->params[k] != made->args[0]) k++;
    if (k == f->arrays || f->feeds[k]->rank != 1) return NULL;
    ScalarType from = (ScalarType)f->feeds[k]->elem;
    ScalarType to = (ScalarType)loop_core_type(f->l, f->op->results[0]).elem;
    bool is_narrow = from == SCALAR_I8 || from == SCALAR_I16 || from == SCALAR_U8 ||
                     from == SCALAR_U16;
    if (!is_narrow || !scalar_is_int(to) ||
        scalar_info[to].bytes <= scalar_info[twice[from]].bytes)
        return NULL;
    *elem_out = twice[from];
    return f->feeds[k];
}

bool loop_is_narrow_sum(const Fold *f) {
    ScalarType unused;
    return f->stm->stamp == STAMP_FREE && !f->is_compact &&
           find_narrow(f, &unused) != NULL;
}

// Adds so many elements to as many lanes.
static void add_row(const Fold *f, const Array *xs, const Array *lanes, LoopRef from,
                    LoopRef count) {
    Lower *l = f->l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef lane = nest.index[0];
    LoopRef x = loop_element(l, xs, loop_add(l->b, from, lane)).scalar;
    LoopRef so_far = loop_element(l, lanes, lane).scalar;
    LoopRef sum[] = {so_far,
                     loop_scalar(l->b, OP_CONV, (ScalarType)lanes->elem, &x, 1)};
    loop_set_element(
        l, lanes, lane,
        val_scalar(loop_scalar(l->b, OP_ADD, (ScalarType)lanes->elem, sum, 2)));
    loop_close_nest(l, &nest);
}

void loop_sum_narrow(const Fold *f, LoopRef from, LoopRef size, Val *out) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    ScalarType elem = SCALAR_I16, to;
    const Array *xs = find_narrow(f, &elem);
    to = (ScalarType)loop_core_type(l, f->op->results[0]).elem;
    LoopRef width = loop_int(b, LANES), rows = loop_quot(b, size, width);
    Array *lanes =
        loop_dense(l, elem, loop_alloc(l, elem, width), loop_int(b, 0), 1, &width);
    Nest nest;
    loop_open_nest(l, &nest, 1, &width, ORDER_INDEPENDENT);
    loop_set_element(l, lanes, nest.index[0], val_scalar(loop_const(b, elem, 0)));
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &rows, ORDER_SEQUENTIAL);
    LoopRef row = loop_mul(b, nest.index[0], width);
    add_row(f, xs, lanes, loop_add(b, from, row), width);
    loop_close_nest(l, &nest);
    LoopRef done = loop_mul(b, rows, width);
    LoopRef rest = loop_sub(b, size, done);
    add_row(f, xs, lanes, loop_add(b, from, done), rest);
    Carry carry;
    Val zero = val_scalar(loop_const(b, to, 0));
    loop_open_carry(l, &carry, &zero, NULL, 1, width);
    LoopRef part = loop_element(l, lanes, carry.index).scalar;
    LoopRef sum[] = {carry.state[0].scalar, loop_scalar(b, OP_CONV, to, &part, 1)};
    Val next = val_scalar(loop_scalar(b, OP_ADD, to, sum, 2));
    loop_close_carry(l, &carry, &next, NULL, out);
}
