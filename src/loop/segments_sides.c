// SPDX-License-Identifier: Apache-2.0
//
// Segments side by side. A loop that divides its index by h and by 2 h, too, goes by
// blocks of two segments, which the digit of the index between both tells apart:
//
//     for(n) {|i| .. i / h % 2 .. i / (2 h) .. i % h ..}
//
// As they do much the same, they are one loop: the stages of a Fourier transform, where
// one side has the sums of what the other has the differences of. What both load is
// loaded once. The turns come in another order then, so that none may stop with an
// error: each check is tested at the corners of the nest. A number that is a sum of
// products of different indices is between what it is there, if nothing wraps, and for
// that all that goes into it is tested to be small.
#include "loop/segments.h"

#include "loop/copy.h"

enum {
    SMALL_BITS = 30, // of what goes into a check
    MOST_BITS = 62,  // of what comes of it
    MOST_LEVELS = 8, // conditions are graphs: so many of one are looked at
    MOST_SIDES = 4
};

const LoopStm *segments_def(const Segments *s, LoopRef ref) {
    const LoopStm *def = range_value(&s->w->r, ref)->def;
    return def != NULL && def->op == LOOP_SCALAR ? def : NULL;
}

bool segments_is_outside(const Segments *s, LoopRef ref) {
    return range_value(&s->w->r, ref)->depth <= s->w->depth;
}

// ---- digits -------------------------------------------------------------------------

LoopRef segments_outside(const Segments *s, LoopRef ref) {
    for (uint32_t i = 0; i < s->renamed.len; i += 2)
        if (loop_same(&s->w->b, s->renamed.data[i], ref)) return s->renamed.data[i + 1];
    return ref;
}

LoopCopier segments_copier(const Segments *s) {
    LoopCopier copier = loop_copier(&s->w->b);
    for (uint32_t i = 0; i < s->renamed.len; i += 2)
        loop_copy_as(&copier, s->renamed.data[i], s->renamed.data[i + 1]);
    for (uint32_t i = 0; i < s->count; i++)
        loop_copy_as(&copier, s->divisors[i].ref, s->divisors[i].copy);
    return copier;
}

LoopRef segments_index(const Segments *s, const SidePlace *at) {
    LoopBuilder *b = &s->w->b;
    LoopRef number = loop_add(b, loop_mul(b, at->block, loop_int(b, s->sides)),
                              loop_int(b, at->side));
    return loop_add(b, loop_mul(b, number, s->base), at->place);
}

// The divisor of which a statement takes a digit to a constant of the quotient.
static const Divisor *inner_divisor(const Segments *s, const LoopStm *stm,
                                    uint64_t *digit) {
    if (stm->op != LOOP_SCALAR || !segments_divides(stm) ||
        !loop_is_known(&s->w->b, stm->args[1], digit) || *digit == 0 ||
        *digit > MOST_SIDES)
        return NULL;
    const LoopStm *def = segments_def(s, stm->args[0]);
    return def != NULL && segments_is_quotient(def) ? segments_divisor(s, def) : NULL;
}

// The block's share of a quotient, of which `side` is the rest.
static LoopRef quotient(const Segments *s, const SidePlace *at, int64_t times) {
    LoopBuilder *b = &s->w->b;
    return loop_add(b, loop_mul(b, at->block, loop_int(b, s->sides / times)),
                    loop_int(b, at->side / times));
}

LoopRef segments_digit(const Segments *s, const LoopStm *stm, const SidePlace *at) {
    LoopBuilder *b = &s->w->b;
    uint64_t digit;
    const Divisor *d = stm->op == LOOP_SCALAR ? segments_divisor(s, stm) : NULL;
    if (d != NULL && segments_is_quotient(stm)) return quotient(s, at, d->times);
    if (d != NULL)
        return loop_add(b, loop_mul(b, loop_int(b, at->side % d->times), s->base),
                        at->place);
    d = inner_divisor(s, stm, &digit);
    if (d == NULL || s->sides % (d->times * (int64_t)digit) != 0) return 0;
    if (segments_is_quotient(stm)) return quotient(s, at, d->times * (int64_t)digit);
    return loop_int(b, at->side / d->times % (int64_t)digit);
}

// ---- how many -----------------------------------------------------------------------

// The number that both divide, if it is not too large; else 0.
static int64_t both(int64_t x, int64_t y) {
    if (x <= 0 || y <= 0 || x > MOST_SIDES || y > MOST_SIDES) return 0;
    int64_t n = x;
    while (n % y != 0) n += x;
    return n <= MOST_SIDES ? n : 0;
}

static int64_t inner_sides(const Segments *s, const LoopBody *body, int64_t sides) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint64_t digit;
        const Divisor *d = inner_divisor(s, stm, &digit);
        if (d != NULL) {
            int64_t more = both(sides, d->times * (int64_t)digit);
            if (more != 0) sides = more;
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            sides = inner_sides(s, stm->bodies[k], sides);
    }
    return sides;
}

// Whether something is loaded; of a buffer, unless that is 0.
static bool loads_from(const Segments *s, const LoopBody *body, LoopRef buffer) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD &&
            (buffer == 0 || loop_same(&s->w->b, stm->args[0], buffer)))
            return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loads_from(s, stm->bodies[k], buffer)) return true;
    }
    return false;
}

static bool is_plain(const Segments *s, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE &&
            loads_from(s, s->loop->bodies[0], loop_find(&s->w->b, stm->args[0])))
            return false;
        if (stm->op != LOOP_SCALAR && stm->op != LOOP_LOAD && stm->op != LOOP_STORE &&
            stm->op != LOOP_CHECK && stm->op != LOOP_IF)
            return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!is_plain(s, stm->bodies[k])) return false;
    }
    return true;
}

// ---- checks -------------------------------------------------------------------------

enum { ON_BLOCK = 1, ON_PLACE = 2 };

// What is known of a number that a check is about.
typedef struct Number {
    bool is_known;
    uint32_t bits; // it is less than 2^bits, either way
    uint32_t on;   // which indices it has as factors
} Number;

static Number look_at(const Segments *s, LoopRef ref, uint32_t levels);

static Number combine(CoreOp op, Number x, Number y) {
    Number sum = {x.is_known && y.is_known, 0, x.on | y.on};
    if (op == OP_MUL) {
        sum.is_known = sum.is_known && (x.on & y.on) == 0;
        sum.bits = x.bits + y.bits;
    } else {
        sum.bits = 1 + (x.bits > y.bits ? x.bits : y.bits);
    }
    sum.is_known = sum.is_known && sum.bits <= MOST_BITS;
    return sum;
}

static bool is_divisor(const Segments *s, LoopRef ref) {
    for (uint32_t i = 0; i < s->count; i++)
        if (loop_same(&s->w->b, s->divisors[i].ref, ref)) return true;
    return false;
}

static Number look_at(const Segments *s, LoopRef ref, uint32_t levels) {
    const Number none = {0};
    if (loop_type(&s->w->b, ref).elem != SCALAR_I64 || levels == 0) return none;
    if (ref == s->index) return (Number){true, SMALL_BITS, ON_BLOCK | ON_PLACE};
    if (segments_is_outside(s, ref)) return (Number){true, SMALL_BITS, 0};
    const LoopStm *def = segments_def(s, ref);
    const Divisor *d = def == NULL ? NULL : segments_divisor(s, def);
    if (d != NULL)
        return (Number){true, SMALL_BITS,
                        segments_is_quotient(def) ? ON_BLOCK : ON_PLACE};
    if (def == NULL || def->arg_count != 2) return none;
    Number x = look_at(s, def->args[0], levels - 1);
    if (segments_is_quotient(def) && x.on == 0 && is_divisor(s, def->args[1])) return x;
    if (def->scalar != OP_ADD && def->scalar != OP_SUB && def->scalar != OP_MUL)
        return none;
    return combine(def->scalar, x, look_at(s, def->args[1], levels - 1));
}

bool segments_is_sum(const Segments *s, LoopRef ref) {
    return look_at(s, ref, MOST_LEVELS).is_known;
}

// Whether it is computed from what the loop does not change, without a division.
static bool is_still(const Segments *s, LoopRef ref, uint32_t levels) {
    const LoopStm *def = segments_def(s, ref);
    if (segments_is_outside(s, ref)) return true;
    bool ok =
        def != NULL && levels > 0 && (core_op_info[def->scalar].flags & OP_FAILS) == 0;
    for (uint32_t i = 0; ok && i < def->arg_count; i++)
        ok = is_still(s, def->args[i], levels - 1);
    return ok;
}

static bool can_test(const Segments *s, LoopRef c, uint32_t levels) {
    const LoopStm *def = segments_def(s, c);
    if (is_still(s, c, levels)) return true;
    if (def == NULL || levels == 0) return false;
    if (def->scalar == OP_AND)
        return can_test(s, def->args[0], levels - 1) &&
               can_test(s, def->args[1], levels - 1);
    return (def->scalar == OP_LE || def->scalar == OP_LT) &&
           look_at(s, def->args[0], MOST_LEVELS).is_known &&
           look_at(s, def->args[1], MOST_LEVELS).is_known;
}

static bool can_test_all(const Segments *s, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_CHECK && !loop_is_unsafe(stm) &&
            !can_test(s, stm->args[0], MOST_LEVELS))
            return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!can_test_all(s, stm->bodies[k])) return false;
    }
    return true;
}

int64_t segments_sides(const Segments *s) {
    int64_t sides = 1;
    for (uint32_t i = 0; i < s->count && sides > 0; i++)
        sides = both(sides, s->divisors[i].times);
    if (sides > 0) sides = inner_sides(s, s->loop->bodies[0], sides);
    const LoopBody *body = s->loop->bodies[0];
    bool can_share = sides > 1 && loads_from(s, body, 0) && is_plain(s, body);
    return can_share && can_test_all(s, body) ? sides : 1;
}

// ---- tests --------------------------------------------------------------------------

static void require(Corner *c, LoopRef condition) {
    c->passes = loop_and(&c->s->w->b, c->passes, condition);
}

// Whether that has not been tested yet.
static bool is_new(Corner *c, LoopRef ref) {
    uint64_t known;
    if (map_get(&c->tested, ref, &known)) return false;
    map_set(&c->tested, ref, 1);
    return true;
}

static LoopRef small(Corner *c, LoopRef ref) {
    LoopBuilder *b = &c->s->w->b;
    if (!is_new(c, ref)) return ref;
    LoopRef most = loop_int(b, (int64_t)1 << SMALL_BITS);
    require(c, loop_lt(b, loop_sub(b, loop_int(b, 0), most), ref));
    require(c, loop_lt(b, ref, most));
    return ref;
}

static LoopRef compute_at(Corner *c, LoopRef ref) {
    const Segments *s = c->s;
    LoopBuilder *b = &s->w->b;
    if (ref == s->index) return segments_index(s, &c->at);
    if (segments_is_outside(s, ref)) {
        LoopRef value = segments_outside(s, ref);
        return loop_type(b, ref).elem == SCALAR_I64 ? small(c, value) : value;
    }
    const LoopStm *def = segments_def(s, ref);
    LoopRef digit = segments_digit(s, def, &c->at), args[3];
    if (digit != 0) return digit;
    args[0] = segments_value_at(c, def->args[0]);
    for (uint32_t i = 0; i < s->count && segments_is_quotient(def); i++)
        if (loop_same(b, s->divisors[i].ref, def->args[1]))
            return loop_quot(b, args[0], s->divisors[i].copy);
    for (uint32_t i = 1; i < def->arg_count; i++)
        args[i] = segments_value_at(c, def->args[i]);
    ScalarType to = (ScalarType)loop_type(b, ref).elem;
    return loop_scalar(b, def->scalar, to, args, def->arg_count);
}

LoopRef segments_value_at(Corner *c, LoopRef ref) {
    uint64_t known;
    if (map_get(&c->values, ref, &known)) return (LoopRef)known;
    LoopRef value = compute_at(c, ref);
    map_set(&c->values, ref, value);
    return value;
}

static void test_checks(Corner *c, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_CHECK && !loop_is_unsafe(stm) &&
            (!is_still(c->s, stm->args[0], MOST_LEVELS) || is_new(c, stm->args[0])))
            require(c, segments_value_at(c, stm->args[0]));
        for (uint32_t k = 0; k < stm->body_count; k++) test_checks(c, stm->bodies[k]);
    }
}

LoopRef segments_test(const Segments *s) {
    LoopBuilder *b = &s->w->b;
    LoopRef size = loop_mul(b, s->base, loop_int(b, s->sides)), one = loop_int(b, 1);
    LoopRef n = s->loop->args[0], all = loop_const(b, SCALAR_BOOL, 1);
    Corner c = {.s = s, .passes = all};
    map_init(&c.tested, b->arena);
    small(&c, n);
    require(&c, loop_eq(b, loop_rem(b, n, size), loop_int(b, 0)));
    LoopRef last = loop_sub(b, loop_quot(b, n, size), one);
    LoopRef end = loop_sub(b, s->base, one);
    for (int corner = 0; corner < 4; corner++) {
        c.at.block = (corner & 1) != 0 ? last : loop_int(b, 0);
        c.at.place = (corner & 2) != 0 ? end : loop_int(b, 0);
        for (c.at.side = 0; c.at.side < s->sides; c.at.side++) {
            map_init(&c.values, b->arena);
            test_checks(&c, s->loop->bodies[0]);
        }
    }
    return c.passes;
}

// ---- a turn -------------------------------------------------------------------------

static void emit_body(const Segments *s, LoopCopier *copier, const LoopBody *body,
                      const SidePlace *at);

// A branch of one side.
static void emit_branch(const Segments *s, LoopCopier *copier, const LoopStm *stm,
                        const SidePlace *at) {
    LoopBuilder *b = &s->w->b;
    LoopBody *arms[2];
    LoopType *types = arena_array(b->arena, LoopType, stm->out_count);
    LoopRef *results = arena_array(b->arena, LoopRef, stm->out_count);
    LoopRef c = loop_copy_of(copier, stm->args[0]);
    for (uint32_t i = 0; i < stm->out_count; i++) types[i] = loop_type(b, stm->outs[i]);
    for (int k = 0; k < 2; k++) {
        loop_open(b, NULL, 0);
        emit_body(s, copier, stm->bodies[k], at);
        for (uint32_t i = 0; i < stm->out_count; i++)
            results[i] = loop_copy_of(copier, stm->bodies[k]->results[i]);
        arms[k] = loop_close(b, results, stm->out_count);
    }
    LoopStm *made = loop_emit(b, LOOP_IF, &c, 1, types, stm->out_count);
    loop_set_bodies(b, made, arms, 2);
    for (uint32_t i = 0; i < stm->out_count; i++)
        loop_copy_as(copier, stm->outs[i], made->outs[i]);
}

// The element of the tile, if there is one, that the statement loads; 0: it loads none.
static LoopRef load_copy(const Segments *s, const LoopStm *stm, const SidePlace *at) {
    LoopBuilder *b = &s->w->b;
    for (uint32_t i = 0; at->in_tile != 0 && i < s->table_count; i++) {
        const SegmentTable *table = &s->tables[i];
        LoopRef args[] = {table->copy, loop_int(b, 0), loop_int(b, 1), at->in_tile};
        if (table->load == stm)
            return loop_emit1(b, LOOP_LOAD, args, 4, loop_type(b, stm->outs[0]));
    }
    return 0;
}

static void emit_body(const Segments *s, LoopCopier *copier, const LoopBody *body,
                      const SidePlace *at) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        LoopRef known = segments_digit(s, stm, at);
        if (known == 0) known = segments_given(s, stm, at);
        if (known == 0) known = load_copy(s, stm, at);
        if (known != 0) loop_copy_as(copier, stm->outs[0], known);
        else if (stm->op == LOOP_IF) emit_branch(s, copier, stm, at);
        else if (stm->op != LOOP_CHECK && !segments_keeps(s, copier, stm, at))
            loop_append(&s->w->b, loop_copy_stm(copier, stm));
    }
}

void segments_emit_side(const Segments *s, const SidePlace *at) {
    LoopCopier copier = segments_copier(s);
    loop_copy_as(&copier, s->index, segments_index(s, at));
    emit_body(s, &copier, s->loop->bodies[0], at);
}

void segments_emit_turn(const Segments *s, SidePlace at) {
    if (s->chain != NULL) {
        segments_emit_all(s->chain, at);
        return;
    }
    for (at.side = 0; at.side < s->sides; at.side++) segments_emit_side(s, &at);
}
