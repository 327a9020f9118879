// SPDX-License-Identifier: Apache-2.0
//
// Innermost loops that divide their index by what they do not change, as programs do
// that count the cells of a matrix, go by segments in which the quotient is one:
//
//     for(n) {|i|                     for(n / h, rounded up) {|q|
//       .. i / h .. i % h ..            for(at most h) {|t|
//                                         .. q .. t .. i = q h + t
//
// so that nothing is divided within, conditions on the quotient are the same all along,
// and places move by strides. Other divisors may be multiples of that one. Parallel
// turns become blocks of turns, each with its segments. The turns keep their order and
// their errors. Where h is small, which is asked before the loop, segments do not pay;
// then there is one division, which is a multiplication by an inverse.
#include "loop/segments.h"

#include "loop/copy.h"
#include "loop/passes.h"

enum { SHORTEST = 8, BLOCK = 4096, MOST_BITS = 31 };

static bool is_digit(const Segments *s, const LoopStm *stm, LoopRef index) {
    return stm->op == LOOP_SCALAR && segments_divides(stm) &&
           loop_same(&s->w->b, stm->args[0], index);
}

// How often the base is contained in a divisor, if that is known; else 0.
static int64_t multiple_of(const Segments *s, LoopRef divisor, LoopRef base) {
    const LoopBuilder *b = &s->w->b;
    uint64_t x, y;
    if (loop_same(b, divisor, base)) return 1;
    if (loop_is_known(b, divisor, &x) && loop_is_known(b, base, &y))
        return (int64_t)y > 0 && (int64_t)x > 0 && x % y == 0 ? (int64_t)(x / y) : 0;
    const LoopStm *def = range_value(&s->w->r, divisor)->def;
    if (def == NULL || def->op != LOOP_SCALAR || def->scalar != OP_MUL) return 0;
    for (int i = 0; i < 2; i++)
        if (loop_same(b, def->args[i], base) &&
            loop_is_known(b, def->args[1 - i], &x) && (int64_t)x > 0 &&
            x >> MOST_BITS == 0)
            return (int64_t)x;
    return 0;
}

// The divisors: the base is the first one, or what that is a multiple of.
static void find_base(Segments *s, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++) find_base(s, stm->bodies[k]);
        if (!is_digit(s, stm, s->index) ||
            range_value(&s->w->r, stm->args[1])->depth > s->w->depth)
            continue;
        LoopRef divisor = loop_find(&s->w->b, stm->args[1]);
        if (s->base == 0 || multiple_of(s, s->base, divisor) != 0) s->base = divisor;
        if (s->count < SEGMENTS_MOST_DIVISORS) s->divisors[s->count++].ref = divisor;
    }
}

static bool may_pay(const Segments *s) {
    const LoopBuilder *b = &s->w->b;
    uint64_t turns, base;
    bool is_short =
        loop_is_known(b, s->loop->args[0], &turns) && (int64_t)turns < 2 * SHORTEST;
    bool is_small = loop_is_known(b, s->base, &base) && (int64_t)base < SHORTEST;
    return !is_short && !is_small;
}

// ---- digits -------------------------------------------------------------------------

// The index and its digits to the base, in a turn.
typedef struct Digits {
    LoopRef index, quotient, rest;
} Digits;

// What a divisor that is so many times the base makes of the index, where the builder
// is.
static LoopRef digit(const Segments *s, const LoopStm *stm, int64_t times,
                     const Digits *digits) {
    LoopBuilder *b = &s->w->b;
    if (segments_is_quotient(stm))
        return loop_quot(b, digits->quotient, loop_int(b, times));
    LoopRef high = loop_rem(b, digits->quotient, loop_int(b, times));
    return loop_add(b, loop_mul(b, high, s->base), digits->rest);
}

const Divisor *segments_divisor(const Segments *s, const LoopStm *stm) {
    if (!is_digit(s, stm, s->index)) return NULL;
    for (uint32_t i = 0; i < s->count; i++)
        if (loop_same(&s->w->b, stm->args[1], s->divisors[i].ref))
            return &s->divisors[i];
    return NULL;
}

static int64_t times_of(const Segments *s, LoopRef divisor) {
    for (uint32_t i = 0; i < s->count; i++)
        if (loop_same(&s->w->b, divisor, s->divisors[i].copy))
            return s->divisors[i].times;
    return 0;
}

static void replace(const Segments *s, const LoopBody *body, LoopRef index,
                    const Digits *digits) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++)
            replace(s, stm->bodies[k], index, digits);
        int64_t times;
        if (!is_digit(s, stm, index) || (times = times_of(s, stm->args[1])) == 0)
            continue;
        loop_identify(&s->w->b, stm->outs[0], digit(s, stm, times, digits));
    }
}

// ---- loops --------------------------------------------------------------------------

// Puts a copy of the body there, and emits the loop.
static void close_turns(const Segments *s, const Digits *digits, LoopRef times,
                        LoopOrder order) {
    LoopBuilder *b = &s->w->b;
    if (s->sides > 1) {
        segments_emit_turn(
            s, (SidePlace){.block = digits->quotient, .place = digits->rest});
        loop_close_turns(b, times, order);
        return;
    }
    LoopCopier copier = segments_copier(s);
    LoopBody *copy = loop_copy_body(&copier, s->loop->bodies[0]);
    replace(s, copy, copy->params[0], digits);
    loop_identify(b, copy->params[0], digits->index);
    for (uint32_t i = 0; i < copy->stms.len; i++) loop_append(b, copy->stms.data[i]);
    loop_close_turns(b, times, order);
}

// Emits the loop as it is, but for the division, which is a multiplication: with
// m = 2^62 / d + 1 rounded down, i / d is i m / 2^62 rounded down, if i d < 2^62.
static void emit_product(const Segments *s) {
    LoopBuilder *b = &s->w->b;
    LoopRef most = loop_int(b, (int64_t)1 << 2 * MOST_BITS);
    LoopRef inverse = loop_add(b, loop_quot(b, most, s->base), loop_int(b, 1));
    LoopRef turn = loop_open_turns(b);
    LoopRef factors[] = {loop_mul(b, turn, loop_int(b, 4)), inverse};
    LoopRef quotient = loop_scalar(b, OP_MULHI, SCALAR_I64, factors, 2);
    LoopRef rest = loop_sub(b, turn, loop_mul(b, quotient, s->base));
    close_turns(s, &(Digits){turn, quotient, rest}, s->turns,
                (LoopOrder)s->loop->order);
}

// Emits the segments of the turns from `begin` to before `end`, if there are any.
static void emit_segments(const Segments *s, LoopRef begin, LoopRef end) {
    LoopBuilder *b = &s->w->b;
    LoopRef least = loop_quot(b, begin, s->base);
    LoopRef most = loop_quot(b, loop_sub(b, end, loop_int(b, 1)), s->base);
    LoopRef count = loop_add(b, loop_sub(b, most, least), loop_int(b, 1));
    LoopRef number = loop_open_turns(b);
    LoopRef quotient = loop_add(b, least, number);
    LoopRef whole = loop_mul(b, quotient, s->base);
    LoopRef first = loop_max(b, begin, whole), rest = loop_sub(b, first, whole);
    LoopRef last = loop_min(b, end, loop_add(b, whole, s->base));
    LoopRef length = loop_sub(b, last, first);
    LoopRef turn = loop_open_turns(b);
    Digits digits = {loop_add(b, first, turn), quotient, loop_add(b, rest, turn)};
    close_turns(s, &digits, length, ORDER_INDEPENDENT);
    loop_close_turns(b, count, ORDER_SEQUENTIAL);
}

void segments_emit_divisors(Segments *s) {
    LoopBuilder *b = &s->w->b;
    for (uint32_t i = 0; i < s->count; i++) {
        Divisor *d = &s->divisors[i];
        uint64_t bits;
        d->times = multiple_of(s, d->ref, s->base);
        d->copy = d->times < 2 || loop_is_known(b, d->ref, &bits)
                      ? d->ref
                      : loop_mul(b, s->base, loop_int(b, d->times));
    }
}

// Emits the loop by segments.
static void emit_loop(const Segments *s) {
    LoopBuilder *b = &s->w->b;
    LoopRef turns = s->turns, zero = loop_int(b, 0), size = loop_int(b, BLOCK);
    if (s->loop->order != ORDER_PARALLEL) {
        emit_segments(s, zero, turns);
        return;
    }
    LoopRef blocks = loop_quot(b, loop_add(b, turns, loop_int(b, BLOCK - 1)), size);
    LoopRef begin = loop_mul(b, loop_open_turns(b), size);
    emit_segments(s, begin, loop_min(b, loop_add(b, begin, size), turns));
    loop_close_turns(b, blocks, ORDER_PARALLEL);
}

// Emits so many blocks of short segments from `begin` on, place by place.
static void emit_places(const Segments *s, LoopRef begin, LoopRef length) {
    LoopBuilder *b = &s->w->b;
    Digits digits = {.rest = loop_open_turns(b)};
    digits.quotient = loop_add(b, begin, loop_open_turns(b));
    close_turns(s, &digits, length, ORDER_INDEPENDENT);
    loop_close_turns(b, s->base, ORDER_SEQUENTIAL);
}

// Emits short segments, of which many blocks have several sides each: the blocks go
// within.
static void emit_columns(const Segments *s) {
    LoopBuilder *b = &s->w->b;
    bool is_parallel = s->loop->order == ORDER_PARALLEL;
    LoopRef blocks = loop_quot(b, s->turns, s->base), begin = loop_int(b, 0);
    LoopRef size = loop_int(b, BLOCK / SHORTEST), length = blocks, mark = 0;
    LoopRef round = loop_add(b, blocks, loop_int(b, BLOCK / SHORTEST - 1));
    LoopRef rounds = loop_quot(b, round, size);
    if (is_parallel) {
        begin = loop_mul(b, loop_open_turns(b), size);
        length = loop_min(b, size, loop_sub(b, blocks, begin));
    }
    bool has_rows = s->chain != NULL && segments_have_rows(s->chain);
    if (has_rows && !is_parallel)
        mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    if (has_rows) segments_emit_rows(s->chain, begin, length);
    else emit_places(s, begin, length);
    if (mark != 0) loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
    if (is_parallel) loop_close_turns(b, rounds, ORDER_PARALLEL);
}

static void emit_branch(LoopBuilder *b, LoopRef c, LoopBody *const *arms) {
    LoopStm *branch = loop_emit(b, LOOP_IF, &c, 1, NULL, 0);
    loop_set_bodies(b, branch, arms, 2);
}

// Emits tiles; of the shortest segments, which are as long as a vector, for themselves.
static void emit_tiles(const Segments *s) {
    LoopBuilder *b = &s->w->b;
    LoopBody *arms[2];
    Segments shortest = *s, other = *s;
    shortest.base = loop_int(b, SHORTEST);
    LoopRef is_shortest = loop_eq(b, s->base, shortest.base);
    loop_open(b, NULL, 0);
    segments_emit_tiles(&shortest);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    segments_emit_tiles(&other);
    arms[1] = loop_close(b, NULL, 0);
    emit_branch(b, is_shortest, arms);
}

// Emits all of it: by segments if they are not short.
static void emit_turns(const Segments *s) {
    LoopBuilder *b = &s->w->b;
    LoopBody *arms[2];
    LoopRef is_long = loop_le(b, loop_int(b, SHORTEST), s->base);
    loop_open(b, NULL, 0);
    if (s->table_count > 0) emit_tiles(s);
    else emit_loop(s);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    if (s->sides > 1) emit_columns(s);
    else emit_product(s);
    arms[1] = loop_close(b, NULL, 0);
    emit_branch(b, is_long, arms);
}

static bool can_pay(const Segments *s, int64_t copies) {
    while (copies > 0 && loop_can_pay(s->w, s->loop->bodies[0])) copies--;
    return copies == 0;
}

// Emits it side by side where that is possible, else segment by segment.
static void emit_sides(Segments *s) {
    LoopBuilder *b = &s->w->b;
    LoopBody *arms[2];
    LoopRef passes = segments_test(s);
    Segments alone = *s;
    alone.sides = 1;
    loop_open(b, NULL, 0);
    s->turns = loop_quot(b, s->turns, loop_int(b, s->sides));
    segments_find_tables(s);
    emit_turns(s);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    emit_turns(&alone);
    arms[1] = loop_close(b, NULL, 0);
    emit_branch(b, passes, arms);
}

void segments_share(RangeWalk *w, const LoopBody *body) {
    uint32_t known = w->r.facts.len;
    w->data = w;
    w->shares_loads = true;
    for (uint32_t i = 0; i < body->stms.len; i++) range_walk_stm(w, body->stms.data[i]);
    w->shares_loads = false;
    w->data = NULL;
    range_forget(&w->r, known);
}

static void emit_fast(Segments *s) {
    segments_emit_divisors(s);
    s->sides = segments_sides(s);
    if (s->sides == 1 || !can_pay(s, 2 * s->sides)) {
        s->sides = 1;
        emit_turns(s);
        return;
    }
    loop_open(&s->w->b, NULL, 0);
    emit_sides(s);
    segments_share(s->w, loop_close(&s->w->b, NULL, 0));
}

// Whether the base is positive, the loop turns, and both are so small that no number
// which comes up is too large.
static LoopRef test(const Segments *s) {
    LoopBuilder *b = &s->w->b;
    LoopRef zero = loop_int(b, 0), most = loop_int(b, (int64_t)1 << MOST_BITS);
    LoopRef refs[] = {s->loop->args[0], s->base};
    LoopRef all = loop_const(b, SCALAR_BOOL, 1);
    for (int i = 0; i < 2; i++) {
        all = loop_and(b, all, loop_lt(b, zero, refs[i]));
        all = loop_and(b, all, loop_lt(b, refs[i], most));
    }
    return all;
}

// Emits one turn of the loop around.
static void emit_once(Segments *s, LoopRef goes) {
    LoopBuilder *b = &s->w->b;
    LoopBody *arms[2];
    loop_open(b, NULL, 0);
    emit_fast(s);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    loop_append(b, s->loop);
    arms[1] = loop_close(b, NULL, 0);
    emit_branch(b, goes, arms);
}

// Emits so many turns of the loop around; of segments of one place for themselves.
static void emit_chain(const Segments *s, const SegmentChain *chain, uint32_t turns) {
    LoopBuilder *b = &s->w->b;
    LoopRef one = loop_int(b, 1);
    LoopBody *arms[2];
    if (!segments_is_longest(chain, turns)) {
        segments_emit_tiles(segments_chain(chain, turns, s->base));
        return;
    }
    loop_open(b, NULL, 0);
    emit_columns(segments_chain(chain, turns, one));
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    segments_emit_tiles(segments_chain(chain, turns, s->base));
    arms[1] = loop_close(b, NULL, 0);
    emit_branch(b, loop_eq(b, s->base, one), arms);
}

// Emits as many turns of the loop around as may be one, and at most so many.
static void emit_chains(Segments *s, LoopRef goes, const SegmentChain *chain,
                        uint32_t turns) {
    LoopBuilder *b = &s->w->b;
    LoopBody *arms[2];
    if (turns == 1) {
        emit_once(s, goes);
        return;
    }
    LoopRef is_one = segments_goes(chain, turns);
    if (is_one == 0) {
        emit_chains(s, goes, chain, turns - 1);
        return;
    }
    loop_open(b, NULL, 0);
    loop_open(b, NULL, 0);
    emit_chain(s, chain, turns);
    segments_share(s->w, loop_close(b, NULL, 0));
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    emit_chains(s, goes, chain, turns - 1);
    arms[1] = loop_close(b, NULL, 0);
    emit_branch(b, is_one, arms);
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    Segments s = {.w = w, .loop = loop, .index = loop->bodies[0]->params[0]};
    LoopBuilder *b = &w->b;
    s.turns = loop->args[0];
    bool is_alone = loop->order != ORDER_SEQUENTIAL && loop->number == 0 &&
                    loop_type(b, s.index).elem == SCALAR_I64 &&
                    !loop_has_loops(loop->bodies[0]) && !loop_allocates(loop) &&
                    w->data == NULL; // else it was made here
    if (is_alone) find_base(&s, loop->bodies[0]);
    if (s.base == 0 || !may_pay(&s) || !loop_can_pay(w, loop->bodies[0])) {
        range_keep(w, loop);
        return;
    }
    b->loc = loop->loc;
    LoopRef goes = test(&s);
    SegmentChain *chain = segments_find_chain(&s, goes);
    if (chain != NULL) emit_chains(&s, goes, chain, SEGMENTS_MOST_TURNS);
    else emit_once(&s, goes);
}

static bool divides(const LoopStm *stm, int index) {
    return stm->op == LOOP_SCALAR && segments_divides(stm) &&
           stm->args[0] == (LoopRef)index;
}

static bool divides_its_index(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_FOR && stm->order != ORDER_SEQUENTIAL &&
           loop_has(stm->bodies[0], divides, (int)stm->bodies[0]->params[0]);
}

void loop_segments(LoopKernel *kernel) {
    enum { BUDGET = 1800 };
    if (!loop_kernel_has(kernel, divides_its_index, 0)) return;
    RangeWalk w = {.leave_loop = leave_loop, .budget = BUDGET};
    range_walk(&w, kernel);
}
