// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on numbers of which each bit is in a byte of its own, for eight cells at
// once: sums by full adders, comparisons from bit to bit, choices by masks. A number is
// never greater than its `most`, so that sums do not wrap in any type.
#include "loop/bits.h"

// ---- bytes --------------------------------------------------------------------------

static LoopRef none(Bits *s) {
    return bits_byte(s->b, 0);
}

static LoopRef all(Bits *s) {
    return bits_byte(s->b, UINT8_MAX);
}

static LoopRef not_byte(Bits *s, LoopRef x) {
    return loop_scalar(s->b, OP_NOT, SCALAR_U8, &x, 1);
}

static LoopRef and_byte(Bits *s, LoopRef x, LoopRef y) {
    if (x == none(s) || y == all(s)) return x;
    if (y == none(s) || x == all(s)) return y;
    return bits_byte2(s->b, OP_AND, x, y);
}

static LoopRef or_byte(Bits *s, LoopRef x, LoopRef y) {
    if (x == none(s) || y == all(s)) return y;
    if (y == none(s) || x == all(s)) return x;
    return bits_byte2(s->b, OP_OR, x, y);
}

static LoopRef xor_byte(Bits *s, LoopRef x, LoopRef y) {
    if (x == none(s)) return y;
    if (y == none(s)) return x;
    if (x == all(s)) return not_byte(s, y);
    if (y == all(s)) return not_byte(s, x);
    return bits_byte2(s->b, OP_XOR, x, y);
}

// x where the mask has bits, y elsewhere.
static LoopRef choose_byte(Bits *s, LoopRef mask, LoopRef x, LoopRef y) {
    LoopRef other = and_byte(s, not_byte(s, mask), y);
    return or_byte(s, and_byte(s, mask, x), other);
}

// ---- numbers ------------------------------------------------------------------------

// With no bits yet; false: there are too many.
static bool set_most(Bits *s, BitsNumber *x, uint32_t most) {
    x->most = most;
    x->count = 0;
    while (most >> x->count != 0) x->count++;
    for (uint32_t i = 0; i < BITS_MOST; i++) x->bits[i] = none(s);
    return x->count <= BITS_MOST;
}

static bool make_known(Bits *s, uint64_t value, BitsNumber *out) {
    if (value >= 1u << BITS_MOST) return false;
    set_most(s, out, (uint32_t)value);
    for (uint32_t i = 0; i < BITS_MOST; i++)
        if ((value >> i & 1) != 0) out->bits[i] = all(s);
    return true;
}

static BitsNumber make_flag(Bits *s, LoopRef byte) {
    BitsNumber out;
    set_most(s, &out, 1);
    out.bits[0] = byte;
    return out;
}

static bool add(Bits *s, const BitsNumber *x, const BitsNumber *y, BitsNumber *out) {
    LoopRef carry = none(s);
    if (!set_most(s, out, x->most + y->most)) return false;
    for (uint32_t i = 0; i < out->count; i++) {
        LoopRef both = and_byte(s, x->bits[i], y->bits[i]);
        LoopRef one = xor_byte(s, x->bits[i], y->bits[i]);
        out->bits[i] = xor_byte(s, one, carry);
        carry = or_byte(s, both, and_byte(s, one, carry));
    }
    return true;
}

static LoopRef are_equal(Bits *s, const BitsNumber *x, const BitsNumber *y) {
    LoopRef equal = all(s);
    for (uint32_t i = 0; i < BITS_MOST; i++) {
        LoopRef differ = xor_byte(s, x->bits[i], y->bits[i]);
        equal = and_byte(s, equal, not_byte(s, differ));
    }
    return equal;
}

// The highest bit in which they differ decides.
static LoopRef is_less(Bits *s, const BitsNumber *x, const BitsNumber *y) {
    LoopRef less = none(s);
    for (uint32_t i = 0; i < BITS_MOST; i++) {
        LoopRef differ = xor_byte(s, x->bits[i], y->bits[i]);
        less = choose_byte(s, differ, y->bits[i], less);
    }
    return less;
}

static BitsNumber by_bits(Bits *s, CoreOp op, const BitsNumber *x,
                          const BitsNumber *y) {
    uint32_t count = x->count > y->count ? x->count : y->count;
    BitsNumber out;
    set_most(s, &out, (1u << count) - 1);
    for (uint32_t i = 0; i < count; i++)
        out.bits[i] = op == OP_AND  ? and_byte(s, x->bits[i], y->bits[i])
                      : op == OP_OR ? or_byte(s, x->bits[i], y->bits[i])
                                    : xor_byte(s, x->bits[i], y->bits[i]);
    return out;
}

static BitsNumber choose(Bits *s, LoopRef mask, const BitsNumber *x,
                         const BitsNumber *y) {
    BitsNumber out;
    set_most(s, &out, x->most > y->most ? x->most : y->most);
    for (uint32_t i = 0; i < out.count; i++)
        out.bits[i] = choose_byte(s, mask, x->bits[i], y->bits[i]);
    return out;
}

// ---- code ---------------------------------------------------------------------------

static bool find(const Bits *s, LoopRef ref, BitsNumber *out) {
    uint64_t found;
    ref = loop_find(s->b, ref);
    if (scalar_is_float((ScalarType)loop_type(s->b, ref).elem)) return false;
    if (loop_is_known(s->b, ref, &found)) return make_known((Bits *)s, found, out);
    if (!map_get(&s->numbers, ref, &found)) return false;
    *out = *(const BitsNumber *)(uintptr_t)found;
    return true;
}

static void set(Bits *s, LoopRef ref, BitsNumber number) {
    BitsNumber *kept = arena_copy(s->b->arena, &number, sizeof number);
    map_set(&s->numbers, ref, (uintptr_t)kept);
}

// The result of the operator; false: it is not known to be small, or an index.
static bool do_scalar(Bits *s, const LoopStm *stm, BitsNumber *out) {
    BitsNumber x, y;
    ScalarType to = (ScalarType)loop_type(s->b, stm->outs[0]).elem;
    if (scalar_is_float(to) || stm->arg_count > 2 || !find(s, stm->args[0], &x) ||
        (stm->arg_count == 2 && !find(s, stm->args[1], &y)))
        return false;
    switch ((int)stm->scalar) {
    case OP_ADD: return add(s, &x, &y, out);
    case OP_AND:
    case OP_OR:
    case OP_XOR: *out = by_bits(s, stm->scalar, &x, &y); return true;
    case OP_EQ: *out = make_flag(s, are_equal(s, &x, &y)); return true;
    case OP_NE: *out = make_flag(s, not_byte(s, are_equal(s, &x, &y))); return true;
    case OP_LT: *out = make_flag(s, is_less(s, &x, &y)); return true;
    case OP_LE: *out = make_flag(s, not_byte(s, is_less(s, &y, &x))); return true;
    case OP_NOT: *out = make_flag(s, not_byte(s, x.bits[0])); return to == SCALAR_BOOL;
    case OP_CONV: *out = x; return to != SCALAR_BOOL;
    default: return false;
    }
}

static void do_branch(Bits *s, const LoopStm *stm) {
    BitsNumber c, x, y;
    for (int arm = 0; arm < 2; arm++) bits_of_body(s, stm->bodies[arm]);
    if (!find(s, stm->args[0], &c)) return;
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (find(s, stm->bodies[0]->results[i], &x) &&
            find(s, stm->bodies[1]->results[i], &y))
            set(s, stm->outs[i], choose(s, c.bits[0], &x, &y));
}

void bits_of_body(Bits *s, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        BitsNumber out;
        if (stm->op == LOOP_LOAD)
            set(s, stm->outs[0], make_flag(s, s->load(s->data, stm)));
        else if (stm->op == LOOP_IF) do_branch(s, stm);
        else if (stm->op == LOOP_SCALAR && do_scalar(s, stm, &out))
            set(s, stm->outs[0], out);
    }
}

LoopRef bits_of_value(const Bits *s, LoopRef value) {
    BitsNumber x;
    return find(s, value, &x) && x.most <= 1 ? x.bits[0] : 0;
}
