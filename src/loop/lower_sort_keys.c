// SPDX-License-Identifier: Apache-2.0
//
// Keys of a sort: unsigned numbers of the elements' width in their order. Only bits in
// which keys differ are looked at.
#include "loop/lower_sort.h"

enum { LANES = 32 }; // of the search for bits in which keys differ

// ---- scalars ------------------------------------------------------------------------

static LoopRef word_const(const Sort *s, uint64_t bits) {
    return loop_const(s->l->b, s->word, bits);
}

LoopRef sort_word2(const Sort *s, CoreOp op, LoopRef x, LoopRef y) {
    return loop_scalar(s->l->b, op, s->word, (LoopRef[]){x, y}, 2);
}

static LoopRef convert(const Sort *s, ScalarType to, LoopRef x) {
    return loop_scalar(s->l->b, OP_CONV, to, &x, 1);
}

static LoopRef to_bits(const Sort *s, LoopRef x) {
    return loop_scalar(s->l->b, OP_TO_BITS, s->word, &x, 1);
}

static LoopRef bits_as_they_are(const Sort *s, LoopRef x) {
    LoopType type = loop_scalar_type(s->word);
    LoopStm *stm = loop_emit(s->l->b, LOOP_SCALAR, &x, 1, &type, 1);
    stm->scalar = OP_TO_BITS;
    stm->number = 1;
    return stm->outs[0];
}

LoopRef sort_canonical(const Sort *s, ScalarType elem, LoopRef x) {
    if (!scalar_is_float(elem)) return x;
    LoopRef bits = to_bits(s, x);
    return loop_scalar(s->l->b, OP_FROM_BITS, elem, &bits, 1);
}

LoopRef sort_key(const Sort *s, ScalarType elem, LoopRef x, bool has_moved) {
    static const ScalarType signed_types[] = {
        [16] = SCALAR_I16, [32] = SCALAR_I32, [64] = SCALAR_I64};
    LoopRef sign = word_const(s, (uint64_t)1 << (s->width - 1));
    if (!scalar_is_float(elem)) {
        LoopRef word = elem == s->word ? x : convert(s, s->word, x);
        return scalar_is_signed(elem) ? sort_word2(s, OP_XOR, word, sign) : word;
    }
    // Of negative floats all bits are turned round, of others the sign; NaN has none.
    ScalarType with_sign = signed_types[s->width];
    LoopRef bits =
        has_moved && elem != SCALAR_F16 ? bits_as_they_are(s, x) : to_bits(s, x);
    if (s->turn != 0) return sort_word2(s, OP_XOR, bits, s->turn);
    LoopRef shift[2] = {convert(s, with_sign, bits),
                        loop_const(s->l->b, with_sign, s->width - 1)};
    LoopRef signs =
        convert(s, s->word, loop_scalar(s->l->b, OP_SHR, with_sign, shift, 2));
    return sort_word2(s, OP_XOR, bits, sort_word2(s, OP_OR, signs, sign));
}

LoopRef sort_load_key(const Sort *s, const Array *a, LoopRef i) {
    return sort_key(s, (ScalarType)a->elem, loop_load(s->l, a, &i), s->has_moved);
}

LoopRef sort_find_turn(const Sort *s, ScalarType elem, LoopRef x) {
    LoopRef key = sort_key(s, elem, x, true);
    return sort_word2(s, OP_XOR, to_bits(s, x), key);
}

// The shift is less than the width, which compilers see.
LoopRef sort_digit(const Sort *s, LoopRef key, LoopRef shift) {
    shift = sort_word2(s, OP_AND, shift, word_const(s, s->width - 1));
    LoopRef bits = sort_word2(s, OP_AND, sort_word2(s, OP_LSHR, key, shift), s->mask);
    LoopRef digit = convert(s, SCALAR_I64, bits);
    if (s->table == NULL) return digit;
    LoopRef entry = loop_load(s->l, s->table, &digit);
    return loop_scalar(s->l->b, OP_CONV, SCALAR_I64, &entry, 1);
}

// ---- loops --------------------------------------------------------------------------

LoopRef sort_open_fold(const Sort *s, Carry *c, LoopRef start, LoopRef times) {
    Val *init = arena_new(s->l->arena, Val);
    *init = val_scalar(start);
    loop_open_carry(s->l, c, init, NULL, 1, times);
    return c->state[0].scalar;
}

LoopRef sort_close_fold(const Sort *s, Carry *c, LoopRef result) {
    Val next = val_scalar(result), out;
    loop_close_carry(s->l, c, &next, NULL, &out);
    return out.scalar;
}

LoopRef sort_part_start(const Sort *s, LoopRef p) {
    return loop_mul(s->l->b, p, s->each);
}

LoopRef sort_part_size(const Sort *s, LoopRef p) {
    return loop_min(s->l->b, s->each, loop_sub(s->l->b, s->n, sort_part_start(s, p)));
}

// ---- which digits -------------------------------------------------------------------

// Lane i takes in the bits in which key i from `first` on differs from this one.
static void take_row(const Sort *s, const Array *from, LoopRef key, const Array *lanes,
                     LoopRef first, LoopRef count) {
    Lower *l = s->l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef other = sort_load_key(s, from, loop_add(l->b, first, nest.index[0]));
    LoopRef so_far = loop_load(l, lanes, nest.index);
    LoopRef bits = sort_word2(s, OP_OR, so_far, sort_word2(s, OP_XOR, key, other));
    loop_store(l, lanes, nest.index, bits);
    loop_close_nest(l, &nest);
}

static Array *words(const Sort *s, LoopRef count) {
    LoopRef buf = loop_alloc(s->l, s->word, count);
    return loop_dense(s->l, s->word, buf, loop_int(s->l->b, 0), 1, &count);
}

// The bits that are set in any of so many words.
static LoopRef join_words(const Sort *s, const Array *a, LoopRef count) {
    Carry c;
    LoopRef so_far = sort_open_fold(s, &c, word_const(s, 0), count);
    LoopRef word = loop_load(s->l, a, &c.index);
    return sort_close_fold(s, &c, sort_word2(s, OP_OR, so_far, word));
}

static LoopRef find_in_part(const Sort *s, const Array *from, LoopRef key, LoopRef p) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef width = loop_int(b, l->is_for_gpus ? 1 : LANES);
    LoopRef start = sort_part_start(s, p), size = sort_part_size(s, p);
    LoopRef rows = loop_quot(b, size, width), done = loop_mul(b, rows, width);
    const Array *lanes = words(s, width);
    Nest nest;
    loop_open_nest(l, &nest, 1, &width, ORDER_INDEPENDENT);
    loop_store(l, lanes, nest.index, word_const(s, 0));
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &rows, ORDER_SEQUENTIAL);
    LoopRef first = loop_add(b, start, loop_mul(b, nest.index[0], width));
    take_row(s, from, key, lanes, first, width);
    loop_close_nest(l, &nest);
    LoopRef left = loop_sub(b, size, done);
    take_row(s, from, key, lanes, loop_add(b, start, done), left);
    return join_words(s, lanes, width);
}

LoopRef sort_find_differences(const Sort *s, const Array *from) {
    Lower *l = s->l;
    LoopRef key = sort_load_key(s, from, loop_int(l->b, 0));
    const Array *found = words(s, s->parts);
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->parts, s->order);
    loop_store(l, found, nest.index, find_in_part(s, from, key, nest.index[0]));
    loop_close_nest(l, &nest);
    return join_words(s, found, s->parts);
}

// So many lanes that none of them become scalars (unroll.c).
LoopRef sort_descends(const Sort *s, const Array *a, LoopRef first) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef width = loop_int(b, SORT_BLOCK);
    const Array *lanes = words(s, width);
    Nest nest;
    loop_open_nest(l, &nest, 1, &width, ORDER_INDEPENDENT);
    LoopRef i = loop_add(b, first, nest.index[0]);
    LoopRef before = sort_load_key(s, a, loop_sub(b, i, loop_int(b, 1)));
    LoopRef is_less = loop_lt(b, sort_load_key(s, a, i), before);
    LoopRef bit = loop_select(b, is_less, word_const(s, 1), word_const(s, 0));
    loop_store(l, lanes, nest.index, bit);
    loop_close_nest(l, &nest);
    LoopRef all = join_words(s, lanes, width);
    return loop_lt(b, word_const(s, 0), all);
}

LoopRef sort_lowest_digit(const Sort *s, LoopRef bits) {
    return convert(s, s->word, loop_scalar(s->l->b, OP_CTZ, SCALAR_I32, &bits, 1));
}

LoopRef sort_higher_digits(const Sort *s, LoopRef bits) {
    LoopRef digit = sort_word2(s, OP_SHL, s->mask, sort_lowest_digit(s, bits));
    LoopRef others = loop_scalar(s->l->b, OP_NOT, s->word, &digit, 1);
    return sort_word2(s, OP_AND, bits, others);
}
