// SPDX-License-Identifier: Apache-2.0
//
// Several turns of a loop in one pass over its arrays, where each turn goes by segments
// that are side by side, as the stages of a Fourier transform do:
//
//     while(..) {|x, h|                    while(..) {|x, h|
//       for(n) {|i| y[i] = .. x[..] ..}      if there are two turns {
//       -> y, 2 h                              for(n / 4 h) {|q| for(h) {|t|
//     }                                          what turn one makes, from x
//                                                y[..] = what turn two makes of that}}
//                                            } else {as before}
//                                            -> y, 4 h or 2 h
//                                          }
//
// and so on for more turns. What a turn loads must be elements that the turn before
// makes of the same places t, in the block q itself or so many blocks later: q + s,
// where s h is a sum's other term. Which that is is guessed from the sum. That it is so
// is tested at the corners of the nest, as checks are: both are sums of products of
// different indices.
#include "loop/segments_chains.h"

enum {
    GROWTH = 8, // times what other loops may grow: turns share much
    FORMS = 3   // of chains: of short segments, of long ones, and half as long
};

// Whether chains may be that long.
static bool is_form(const SegmentChain *p, uint32_t length) {
    uint32_t form = p->length;
    while (form > length) form /= 2;
    return form == length && form > 1;
}

static uint32_t power(uint32_t x, uint32_t n) {
    uint32_t product = 1;
    while (n-- > 0) product *= x;
    return product;
}

uint32_t segments_block_count(const SegmentChain *p, uint32_t turn) {
    return power(p->shift_count, p->length - 1 - turn);
}

uint32_t segments_place_count(const SegmentChain *p, uint32_t turn) {
    return power((uint32_t)p->first.sides, turn);
}

// ---- what the loop around does ------------------------------------------------------

static bool is_scalar(const LoopStm *stm) {
    return stm->op == LOOP_SCALAR && (core_op_info[stm->scalar].flags & OP_FAILS) == 0;
}

// The buffer that is kept as the value; 0: none is.
static LoopRef kept_as(const RangeWalk *w, LoopRef ref) {
    for (uint32_t i = 0; i < w->ahead_count; i++) {
        const LoopStm *stm = w->ahead[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            if (stm->op == LOOP_KEEP && loop_same(&w->b, stm->outs[k], ref))
                return stm->args[1 + k];
    }
    return 0;
}

// Whether it is a check that passes in each turn if it does in the first.
static bool is_still_check(RangeWalk *w, const LoopStm *stm) {
    return stm->op == LOOP_CHECK && range_value(&w->r, stm->args[0])->depth < w->depth;
}

// Whether all that a turn does but for the loop is to compute numbers, and to take
// memory that it hands on.
static bool is_plain_around(RangeWalk *w, const LoopStm *whole) {
    const LoopBody *guard = whole->bodies[0], *body = whole->bodies[1];
    for (uint32_t i = 0; i < guard->stms.len; i++)
        if (!is_scalar(guard->stms.data[i])) return false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_memory = stm->op == LOOP_ALLOC || stm->op == LOOP_MARK;
        if (!is_scalar(stm) && !is_memory && !is_still_check(w, stm)) return false;
    }
    for (uint32_t i = 0; i < w->ahead_count; i++)
        if (!is_scalar(w->ahead[i]) && w->ahead[i]->op != LOOP_KEEP) return false;
    return true;
}

// ---- what turns hand on -------------------------------------------------------------

// The store to the buffer; NULL: there is none.
static const ChainStore *find_store(const SegmentChain *p, LoopRef buffer) {
    for (uint32_t i = 0; i < p->store_count; i++)
        if (loop_same(&p->first.w->b, p->stores[i].stm->args[0], buffer))
            return &p->stores[i];
    return NULL;
}

// Whether it is an element of a buffer by one index; place: where that is in `args`.
static bool is_element(const LoopBuilder *b, const LoopStm *stm, uint32_t place) {
    return stm->arg_count == place + 1 && loop_is_int(b, stm->args[place - 2], 0) &&
           loop_is_int(b, stm->args[place - 1], 1);
}

// Notes the stores: one to each buffer, by each turn of the loop.
static bool find_stores(SegmentChain *p, const LoopBody *body, bool is_always) {
    const LoopBuilder *b = &p->first.w->b;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!find_stores(p, stm->bodies[k], false)) return false;
        if (stm->op != LOOP_STORE) continue;
        if (!is_always || p->store_count == MOST_STORES || !is_element(b, stm, 4) ||
            !loop_same(b, stm->args[4], p->first.index) ||
            find_store(p, stm->args[0]) != NULL)
            return false;
        p->stores[p->store_count++] = (ChainStore){.stm = stm};
    }
    return p->store_count > 0 || !is_always;
}

// Whether memory that turns hand on is what the loop stores, or stays.
static bool find_state(SegmentChain *p, const LoopBody *body) {
    const RangeWalk *w = p->first.w;
    for (uint32_t i = 0; i < body->param_count; i++) {
        LoopRef param = body->params[i], result = body->results[i];
        bool is_number = loop_type(&w->b, param).kind == LOOP_IS_SCALAR;
        if (is_number || loop_same(&w->b, param, result)) continue;
        LoopRef kept = kept_as(w, result);
        ChainStore *store = kept == 0 ? NULL : (ChainStore *)find_store(p, kept);
        if (store == NULL || store->next != 0) return false;
        store->next = param;
    }
    for (uint32_t i = 0; i < p->store_count; i++)
        if (p->stores[i].next == 0) return false;
    return true;
}

// The shift of a load by that index: what is added to it, if the loop does not change
// that. MOST_SHIFTS: there are too many.
static uint32_t find_shift(SegmentChain *p, LoopRef index) {
    const LoopStm *sum = segments_def(&p->first, index);
    LoopRef more = 0;
    for (uint32_t i = 0; sum != NULL && sum->scalar == OP_ADD && i < 2; i++)
        if (segments_is_outside(&p->first, sum->args[i])) more = sum->args[i];
    for (uint32_t i = 0; i < p->shift_count; i++)
        if (p->shifts[i].elements == more) return i;
    if (p->shift_count < MOST_SHIFTS) p->shifts[p->shift_count++].elements = more;
    else return MOST_SHIFTS;
    return p->shift_count - 1;
}

// Notes the loads of what the turn before has stored.
static bool find_loads(SegmentChain *p, const LoopBody *body) {
    const LoopBuilder *b = &p->first.w->b;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!find_loads(p, stm->bodies[k])) return false;
        for (uint32_t k = 0; stm->op == LOOP_LOAD && k < p->store_count; k++) {
            if (!loop_same(b, stm->args[0], p->stores[k].next)) continue;
            if (p->load_count == MOST_LOADS || !is_element(b, stm, 3) ||
                !segments_is_sum(&p->first, stm->args[3]))
                return false;
            uint32_t shift = find_shift(p, stm->args[3]);
            if (shift == MOST_SHIFTS) return false;
            p->loads[p->load_count++] = (ChainLoad){stm, k, shift};
        }
    }
    return true;
}

// Whether chains of `length` turns are small enough, and pays for them.
static bool can_pay(SegmentChain *p) {
    RangeWalk *w = p->first.w;
    uint32_t size = 0, most = 0;
    for (uint32_t i = 0; i < p->length; i++) {
        uint32_t made = segments_block_count(p, i) * segments_place_count(p, i + 1);
        if (made > most) most = made;
        size += FORMS * made * loop_body_size(p->first.loop->bodies[0]);
    }
    if (most > MOST_MADE || size / GROWTH > w->budget) return false;
    w->budget -= size / GROWTH;
    return true;
}

// Finds how many turns may be one.
static bool find_length(SegmentChain *p) {
    p->length = MOST_TURNS;
    while (p->length > 1 && !can_pay(p)) p->length--;
    return p->length > 1;
}

static bool find(SegmentChain *p) {
    RangeWalk *w = p->first.w;
    const LoopStm *whole = w->loop;
    if (whole == NULL || whole->op != LOOP_WHILE ||
        w->b.open.data[w->b.open.len - 1] != whole->bodies[1] ||
        !is_plain_around(w, whole))
        return false;
    segments_emit_divisors(&p->first);
    p->first.sides = segments_sides(&p->first);
    const LoopBody *body = p->first.loop->bodies[0];
    return p->first.sides > 1 && find_stores(p, body, true) &&
           find_state(p, whole->bodies[1]) && find_loads(p, body) &&
           p->load_count > 0 && find_length(p);
}

// ---- the turns ----------------------------------------------------------------------

static void rename_as(ChainTurn *turn, LoopCopier *copier, LoopRef ref, LoopRef copy) {
    Arena *arena = copier->b->arena;
    loop_copy_as(copier, ref, copy);
    vec_push(arena, &turn->renamed, ref);
    vec_push(arena, &turn->renamed, copy);
}

// Copies the scalars here.
static void emit_scalars(LoopCopier *copier, LoopStm *const *stms, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (stms[i]->op == LOOP_SCALAR)
            loop_append(copier->b, loop_copy_stm(copier, stms[i]));
}

// Emits what is computed in the next turn, the first `count` statements being what goes
// before the loop, and whether there is one. now: of the turn before.
static LoopRef emit_next(SegmentChain *p, ChainTurn *turn, const LoopCopier *now,
                         LoopCopier *next, uint32_t count) {
    RangeWalk *w = p->first.w;
    LoopBuilder *b = &w->b;
    const LoopBody *guard = w->loop->bodies[0], *body = w->loop->bodies[1];
    LoopCopier again = loop_copier(b);
    for (uint32_t i = 0; i < body->param_count; i++) {
        if (loop_type(b, body->params[i]).kind != LOOP_IS_SCALAR) continue;
        LoopRef result = loop_copy_of(now, body->results[i]);
        rename_as(turn, next, body->params[i], result);
        loop_copy_as(&again, guard->params[i], result);
    }
    for (uint32_t i = 0; i < count; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_SCALAR) continue;
        LoopStm *copy = loop_copy_stm(next, stm);
        loop_append(b, copy);
        rename_as(turn, next, stm->outs[0], copy->outs[0]);
    }
    emit_scalars(next, w->ahead, w->ahead_count);
    emit_scalars(&again, guard->stms.data, guard->stms.len);
    return loop_copy_of(&again, guard->results[0]);
}

// What a turn divides by is so many times its base.
static void set_divisors(Segments *at) {
    LoopBuilder *b = &at->w->b;
    for (uint32_t i = 0; i < at->count; i++) {
        Divisor *d = &at->divisors[i];
        d->copy = d->times == 0 ? segments_outside(at, d->ref)
                                : loop_mul(b, at->base, loop_int(b, d->times));
    }
}

// The turns and what they divide by, where the builder is.
void segments_prepare(SegmentChain *p) {
    Segments *first = &p->first;
    LoopBuilder *b = &first->w->b;
    LoopRef sides = loop_int(b, first->sides);
    p->turns[0].at = *first;
    set_divisors(&p->turns[0].at);
    for (uint32_t i = 1; i < p->length; i++) {
        Segments *at = &p->turns[i].at;
        LoopRef size = loop_mul(b, p->turns[i - 1].at.base, sides);
        *at = *first;
        at->renamed = p->turns[i].renamed;
        at->base = size;
        set_divisors(at);
        for (uint32_t k = 0; k < p->shift_count; k++) {
            ChainShift *shift = &p->shifts[k];
            LoopRef more = shift->elements;
            shift->blocks[i - 1] = more == 0
                                       ? loop_int(b, 0)
                                       : loop_quot(b, segments_outside(at, more), size);
        }
    }
}

LoopRef segments_next_place(const Segments *s, LoopRef place, int64_t side) {
    LoopBuilder *b = &s->w->b;
    return loop_add(b, loop_mul(b, loop_int(b, side), s->base), place);
}

// Whether what the next turn loads is at that place what this one has made.
static LoopRef test_loads(const SegmentChain *p, uint32_t turn, const SidePlace *from) {
    LoopBuilder *b = &p->first.w->b;
    const Segments *now = &p->turns[turn].at;
    Corner c = {.s = &p->turns[turn + 1].at, .at = *from};
    c.at.place = segments_next_place(now, from->place, from->side);
    c.passes = loop_const(b, SCALAR_BOOL, 1);
    map_init(&c.tested, b->arena);
    for (c.at.side = 0; c.at.side < now->sides; c.at.side++) {
        map_init(&c.values, b->arena);
        for (uint32_t i = 0; i < p->load_count; i++) {
            const ChainLoad *load = &p->loads[i];
            SidePlace made = *from;
            made.block = loop_add(b, made.block, p->shifts[load->shift].blocks[turn]);
            LoopRef index = segments_value_at(&c, load->stm->args[3]);
            LoopRef is_it = loop_eq(b, index, segments_index(now, &made));
            c.passes = loop_and(b, c.passes, is_it);
        }
    }
    return c.passes;
}

static LoopRef test_corners(const SegmentChain *p, uint32_t turn) {
    LoopBuilder *b = &p->first.w->b;
    const Segments *now = &p->turns[turn].at, *next = &p->turns[turn + 1].at;
    LoopRef one = loop_int(b, 1), end = loop_sub(b, now->base, one);
    LoopRef size = loop_mul(b, next->base, loop_int(b, now->sides));
    LoopRef last = loop_sub(b, loop_quot(b, now->loop->args[0], size), one);
    LoopRef next_passes = segments_test(next);
    LoopRef passes = loop_and(b, segments_test(now), next_passes);
    SidePlace at = {0};
    for (int corner = 0; corner < 4; corner++) {
        at.block = (corner & 1) != 0 ? last : loop_int(b, 0);
        at.place = (corner & 2) != 0 ? end : loop_int(b, 0);
        for (at.side = 0; at.side < now->sides; at.side++)
            passes = loop_and(b, passes, test_loads(p, turn, &at));
    }
    return passes;
}

// Emits whether the turn and those before may be one pass with the next: that has
// segments as long as all sides of these, and all tests pass.
static LoopRef test(SegmentChain *p, uint32_t turn, LoopRef may_be) {
    LoopBuilder *b = &p->first.w->b;
    const Segments now = {.w = p->first.w, .renamed = p->turns[turn].renamed};
    const Segments next = {.w = p->first.w, .renamed = p->turns[turn + 1].renamed};
    LoopRef base = segments_outside(&now, p->first.base);
    LoopRef size = loop_mul(b, base, loop_int(b, p->first.sides));
    LoopRef is_next = loop_eq(b, segments_outside(&next, p->first.base), size);
    may_be = loop_and(b, may_be, is_next);
    LoopBody *arms[2];
    LoopType type = loop_scalar_type(SCALAR_BOOL);
    loop_open(b, NULL, 0);
    loop_open(b, NULL, 0);
    segments_prepare(p);
    LoopRef passes = test_corners(p, turn), none = loop_const(b, SCALAR_BOOL, 0);
    segments_share(p->first.w, loop_close(b, NULL, 0));
    passes = loop_find(b, passes);
    arms[0] = loop_close(b, &passes, 1);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, &none, 1);
    LoopStm *branch = loop_emit(b, LOOP_IF, &may_be, 1, &type, 1);
    loop_set_bodies(b, branch, arms, 2);
    return branch->outs[0];
}

// Whether the first segments have one place, and their blocks are whole vectors.
static LoopRef is_one_place(const SegmentChain *p) {
    LoopBuilder *b = &p->first.w->b;
    uint32_t block = segments_place_count(p, p->length) * SEGMENTS_LONG;
    LoopRef rest = loop_rem(b, p->first.loop->args[0], loop_int(b, block));
    LoopRef is_whole = loop_eq(b, rest, loop_int(b, 0));
    return loop_and(b, loop_eq(b, p->first.base, loop_int(b, 1)), is_whole);
}

// Emits tests for all turns. So many are one pass, of long segments or of one place; or
// half as many, of long ones.
static void emit_tests(SegmentChain *p, LoopRef goes) {
    LoopBuilder *b = &p->first.w->b;
    LoopRef base = p->first.base;
    LoopRef is_long = loop_le(b, loop_int(b, SEGMENTS_LONG), base);
    LoopRef may_be = loop_or(b, is_long, is_one_place(p));
    for (uint32_t i = 1; i < p->length; i++) {
        ChainTurn *turn = &p->turns[i];
        goes = turn->goes = test(p, i - 1, loop_and(b, goes, turn->goes));
    }
    for (uint32_t i = 1; i < p->length; i++) {
        LoopRef *form = &p->turns[i].goes, which = is_long;
        if (i + 1 == p->length) which = may_be;
        *form = is_form(p, i + 1) ? loop_and(b, *form, which) : 0;
    }
}

// The numbers after as many turns as there are.
static void set_results(const SegmentChain *p, const LoopCopier *copiers) {
    LoopBuilder *b = &p->first.w->b;
    LoopBody *body = p->first.w->loop->bodies[1];
    for (uint32_t i = 0; i < body->result_count; i++) {
        if (loop_type(b, body->params[i]).kind != LOOP_IS_SCALAR) continue;
        LoopRef old = body->results[i], result = loop_copy_of(&copiers[0], old);
        for (uint32_t k = 1; k < p->length; k++)
            if (p->turns[k].goes != 0)
                result = loop_select(b, p->turns[k].goes,
                                     loop_copy_of(&copiers[k], old), result);
        body->results[i] = result;
    }
}

SegmentChain *segments_find_chain(const Segments *s, LoopRef goes) {
    RangeWalk *w = s->w;
    LoopBuilder *b = &w->b;
    SegmentChain *p = arena_new(b->arena, SegmentChain);
    p->first = *s;
    p->first.chain = p;
    uint32_t count = w->b.open.data[w->b.open.len - 1]->stms.len;
    if (!find(p)) return NULL;
    LoopCopier copiers[MOST_TURNS];
    LoopRef turns = s->loop->args[0];
    copiers[0] = loop_copier(b);
    emit_scalars(&copiers[0], w->ahead, w->ahead_count);
    for (uint32_t i = 1; i < p->length; i++) {
        copiers[i] = loop_copier(b);
        ChainTurn *turn = &p->turns[i];
        turn->goes = emit_next(p, turn, &copiers[i - 1], &copiers[i], count);
        if (!loop_same(b, loop_copy_of(&copiers[i], turns), turns)) return NULL;
    }
    emit_tests(p, goes);
    set_results(p, copiers);
    return p;
}
