// SPDX-License-Identifier: Apache-2.0
//
// Two turns of a loop in one pass over its arrays, where each turn goes by segments
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
// What turn two loads must be elements that turn one makes of the same places t, in the
// block q itself or so many blocks later: q + s, where s h is a sum's other term. Which
// that is is guessed from the sum. That it is so is tested at the corners of the nest,
// as checks are: both are sums of products of different indices.
#include "loop/segments.h"

enum {
    LEAST = 16, // places of a segment: vectors are as long
    MOST_SIDES = 4,
    MOST_LOADS = 16,
    MOST_STORES = 4,
    MOST_SHIFTS = 2
};

// A load of what the turn before has made.
typedef struct PairLoad {
    const LoopStm *stm;
    uint32_t store, shift;
} PairLoad;

// A store of what the next turn loads.
typedef struct PairStore {
    const LoopStm *stm;
    LoopRef next; // what its buffer is called there
} PairStore;

// Blocks of the first turn after the one at hand.
typedef struct PairShift {
    LoopRef elements, blocks; // elements: 0: none
} PairShift;

struct SegmentPair {
    Segments first, second[MOST_SIDES]; // of the second one for each side of the first
    LoopRefs renamed;
    PairLoad loads[MOST_LOADS];
    PairStore stores[MOST_STORES];
    PairShift shifts[MOST_SHIFTS];
    uint32_t load_count, store_count, shift_count;
};

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
static const PairStore *find_store(const SegmentPair *p, LoopRef buffer) {
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
static bool find_stores(SegmentPair *p, const LoopBody *body, bool is_always) {
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
        p->stores[p->store_count++] = (PairStore){.stm = stm};
    }
    return p->store_count > 0 || !is_always;
}

// Whether memory that turns hand on is what the loop stores, or stays.
static bool find_state(SegmentPair *p, const LoopBody *body) {
    const RangeWalk *w = p->first.w;
    for (uint32_t i = 0; i < body->param_count; i++) {
        LoopRef param = body->params[i], result = body->results[i];
        bool is_number = loop_type(&w->b, param).kind == LOOP_IS_SCALAR;
        if (is_number || loop_same(&w->b, param, result)) continue;
        LoopRef kept = kept_as(w, result);
        PairStore *store = kept == 0 ? NULL : (PairStore *)find_store(p, kept);
        if (store == NULL || store->next != 0) return false;
        store->next = param;
    }
    for (uint32_t i = 0; i < p->store_count; i++)
        if (p->stores[i].next == 0) return false;
    return true;
}

// The shift of a load by that index: what is added to it, if the loop does not change
// that. MOST_SHIFTS: there are too many.
static uint32_t find_shift(SegmentPair *p, LoopRef index) {
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
static bool find_loads(SegmentPair *p, const LoopBody *body) {
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
            p->loads[p->load_count++] = (PairLoad){stm, k, shift};
        }
    }
    return true;
}

static bool can_pay(const SegmentPair *p) {
    int64_t sides = p->first.sides, copies = sides * (p->shift_count + sides);
    while (copies > 0 && loop_can_pay(p->first.w, p->first.loop->bodies[0])) copies--;
    return copies == 0;
}

static bool find(SegmentPair *p) {
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
           p->load_count > 0 && can_pay(p);
}

// ---- the next turn ------------------------------------------------------------------

static void rename_as(SegmentPair *p, LoopCopier *copier, LoopRef ref, LoopRef copy) {
    Arena *arena = p->first.w->b.arena;
    loop_copy_as(copier, ref, copy);
    vec_push(arena, &p->renamed, ref);
    vec_push(arena, &p->renamed, copy);
}

// Copies the scalars here.
static void emit_scalars(LoopCopier *copier, LoopStm *const *stms, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (stms[i]->op == LOOP_SCALAR)
            loop_append(copier->b, loop_copy_stm(copier, stms[i]));
}

// Emits what is computed in the next turn, the first `count` statements being what goes
// before the loop, and whether there is one. now: what follows the loop in this turn.
static LoopRef emit_next(SegmentPair *p, LoopCopier *now, LoopCopier *next,
                         uint32_t count) {
    RangeWalk *w = p->first.w;
    LoopBuilder *b = &w->b;
    const LoopBody *guard = w->loop->bodies[0], *body = w->loop->bodies[1];
    LoopCopier again = loop_copier(b);
    emit_scalars(now, w->ahead, w->ahead_count);
    for (uint32_t i = 0; i < body->param_count; i++) {
        if (loop_type(b, body->params[i]).kind != LOOP_IS_SCALAR) continue;
        LoopRef result = loop_copy_of(now, body->results[i]);
        rename_as(p, next, body->params[i], result);
        loop_copy_as(&again, guard->params[i], result);
    }
    for (uint32_t i = 0; i < count; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_SCALAR) continue;
        LoopStm *copy = loop_copy_stm(next, stm);
        loop_append(b, copy);
        rename_as(p, next, stm->outs[0], copy->outs[0]);
    }
    emit_scalars(next, w->ahead, w->ahead_count);
    emit_scalars(&again, guard->stms.data, guard->stms.len);
    return loop_copy_of(&again, guard->results[0]);
}

// The turns and what they divide by, where the builder is.
static void prepare(SegmentPair *p) {
    Segments *first = &p->first;
    LoopBuilder *b = &first->w->b;
    LoopRef sides = loop_int(b, first->sides);
    segments_emit_divisors(first);
    Segments second = *first;
    second.renamed = p->renamed;
    second.base = segments_outside(&second, first->base);
    for (uint32_t i = 0; i < second.count; i++) {
        Divisor *d = &second.divisors[i];
        d->copy = segments_outside(&second, d->ref);
    }
    for (uint32_t i = 0; i < p->shift_count; i++) {
        PairShift *shift = &p->shifts[i];
        LoopRef size = loop_mul(b, first->base, sides);
        shift->blocks = loop_int(b, 0);
        if (shift->elements != 0)
            shift->blocks =
                loop_quot(b, segments_outside(&second, shift->elements), size);
    }
    for (int64_t i = 0; i < first->sides; i++) p->second[i] = second;
}

// The place of the second turn that is one of that side of the first.
static SidePlace second_place(const SegmentPair *p, const SidePlace *first) {
    LoopBuilder *b = &p->first.w->b;
    SidePlace at = *first;
    LoopRef begin = loop_mul(b, loop_int(b, first->side), p->first.base);
    at.place = loop_add(b, begin, first->place);
    return at;
}

// Whether what the second turn loads is at that place what the first has made.
static LoopRef test_loads(SegmentPair *p, const SidePlace *from) {
    LoopBuilder *b = &p->first.w->b;
    Corner c = {.s = &p->second[0], .at = second_place(p, from)};
    c.passes = loop_const(b, SCALAR_BOOL, 1);
    map_init(&c.tested, b->arena);
    for (c.at.side = 0; c.at.side < p->first.sides; c.at.side++) {
        map_init(&c.values, b->arena);
        for (uint32_t i = 0; i < p->load_count; i++) {
            SidePlace made = *from;
            made.block = loop_add(b, made.block, p->shifts[p->loads[i].shift].blocks);
            LoopRef index = segments_value_at(&c, p->loads[i].stm->args[3]);
            LoopRef is_it = loop_eq(b, index, segments_index(&p->first, &made));
            c.passes = loop_and(b, c.passes, is_it);
        }
    }
    return c.passes;
}

static LoopRef test_corners(SegmentPair *p) {
    LoopBuilder *b = &p->first.w->b;
    LoopRef one = loop_int(b, 1), end = loop_sub(b, p->first.base, one);
    LoopRef size = loop_mul(b, p->second[0].base, loop_int(b, p->first.sides));
    LoopRef last = loop_sub(b, loop_quot(b, p->first.loop->args[0], size), one);
    LoopRef passes =
        loop_and(b, segments_test(&p->first), segments_test(&p->second[0]));
    SidePlace at = {0};
    for (int corner = 0; corner < 4; corner++) {
        at.block = (corner & 1) != 0 ? last : loop_int(b, 0);
        at.place = (corner & 2) != 0 ? end : loop_int(b, 0);
        for (at.side = 0; at.side < p->first.sides; at.side++)
            passes = loop_and(b, passes, test_loads(p, &at));
    }
    return passes;
}

// Emits whether there are two turns, the second of segments as long as all sides of the
// first, and all tests pass.
static LoopRef test(SegmentPair *p, LoopRef may_be) {
    LoopBuilder *b = &p->first.w->b;
    const Segments second = {.w = p->first.w, .renamed = p->renamed};
    LoopRef base = p->first.base, next = segments_outside(&second, base);
    LoopRef size = loop_mul(b, base, loop_int(b, p->first.sides));
    may_be = loop_and(b, may_be, loop_le(b, loop_int(b, LEAST), base));
    may_be = loop_and(b, may_be, loop_eq(b, next, size));
    LoopBody *arms[2];
    LoopType type = loop_scalar_type(SCALAR_BOOL);
    loop_open(b, NULL, 0);
    loop_open(b, NULL, 0);
    prepare(p);
    LoopRef passes = test_corners(p), none = loop_const(b, SCALAR_BOOL, 0);
    segments_share(p->first.w, loop_close(b, NULL, 0));
    passes = loop_find(b, passes);
    arms[0] = loop_close(b, &passes, 1);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, &none, 1);
    LoopStm *branch = loop_emit(b, LOOP_IF, &may_be, 1, &type, 1);
    loop_set_bodies(b, branch, arms, 2);
    return branch->outs[0];
}

SegmentPair *segments_find_pair(const Segments *s, LoopRef goes, LoopRef *twice_out) {
    RangeWalk *w = s->w;
    LoopBuilder *b = &w->b;
    SegmentPair *p = arena_new(b->arena, SegmentPair);
    p->first = *s;
    p->first.pair = p;
    uint32_t count = w->b.open.data[w->b.open.len - 1]->stms.len;
    if (!find(p)) return NULL;
    LoopBody *body = w->loop->bodies[1];
    LoopCopier now = loop_copier(b), next = loop_copier(b);
    LoopRef is_next = emit_next(p, &now, &next, count), turns = s->loop->args[0];
    if (!loop_same(b, loop_copy_of(&next, turns), turns)) return NULL;
    LoopRef twice = test(p, loop_and(b, goes, is_next));
    for (uint32_t i = 0; i < body->result_count; i++) {
        if (loop_type(b, body->params[i]).kind != LOOP_IS_SCALAR) continue;
        LoopRef one = loop_copy_of(&now, body->results[i]);
        LoopRef two = loop_copy_of(&next, body->results[i]);
        body->results[i] = loop_select(b, twice, two, one);
    }
    *twice_out = twice;
    return p;
}

// ---- both turns ---------------------------------------------------------------------

LoopRef segments_given(const Segments *s, const LoopStm *stm, const SidePlace *at) {
    for (uint32_t i = 0; at->given != NULL && i < s->pair->load_count; i++)
        if (s->pair->loads[i].stm == stm) return at->given[i];
    return 0;
}

bool segments_keeps(const Segments *s, const LoopCopier *copier, const LoopStm *stm,
                    const SidePlace *at) {
    for (uint32_t i = 0; at->made != NULL && i < s->pair->store_count; i++) {
        if (s->pair->stores[i].stm != stm) continue;
        at->made[i] = loop_copy_of(copier, stm->args[1]);
        return true;
    }
    return false;
}

void segments_emit_both(const SegmentPair *p, SidePlace at) {
    LoopRef made[MOST_SHIFTS][MOST_SIDES][MOST_STORES], given[MOST_LOADS];
    for (uint32_t i = 0; i < p->shift_count; i++)
        for (at.side = 0; at.side < p->first.sides; at.side++) {
            SidePlace first = at;
            first.block = loop_add(&p->first.w->b, at.block, p->shifts[i].blocks);
            first.made = made[i][at.side];
            segments_emit_side(&p->first, &first);
        }
    for (at.side = 0; at.side < p->first.sides; at.side++) {
        SidePlace second = second_place(p, &at);
        for (uint32_t i = 0; i < p->load_count; i++)
            given[i] = made[p->loads[i].shift][at.side][p->loads[i].store];
        second.given = given;
        segments_emit_turn(&p->second[at.side], second);
    }
}

void segments_copy_second(SegmentPair *p, LoopRef first, LoopRef count,
                          void (*copy)(Segments *s, LoopRef first, LoopRef count)) {
    SidePlace at = {.place = first};
    for (at.side = 0; at.side < p->first.sides; at.side++)
        copy(&p->second[at.side], second_place(p, &at).place, count);
}

void segments_emit_pair(SegmentPair *p) {
    LoopBuilder *b = &p->first.w->b;
    int64_t sides = p->first.sides;
    prepare(p);
    p->first.turns = loop_quot(b, p->first.turns, loop_int(b, sides * sides));
    segments_find_tables(&p->first);
    for (int64_t i = 0; i < sides; i++) segments_find_tables(&p->second[i]);
    segments_emit_tiles(&p->first);
}
