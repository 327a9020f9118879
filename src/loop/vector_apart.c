// SPDX-License-Identifier: Apache-2.0
//
// Elements that lie two, three or four apart, as one colour of all pixels, or one
// coordinate of all points. Lanes are taken of as many vectors side by side as elements
// are apart, instead of one by one from memory; what is stored to all places in between
// goes to vectors that are side by side.
#include "loop/vector_turn.h"

#include <string.h>

enum { MOST_APART = 4 };

// Emits what takes lanes of two vectors, the second one's coming after the first one's.
static LoopRef take(Vector *v, LoopRef x, LoopRef y, const uint32_t *from,
                    LoopType type) {
    LoopRef *args = arena_array(v->arena, LoopRef, 2 + v->lanes);
    args[0] = x;
    args[1] = y;
    for (uint32_t i = 0; i < v->lanes; i++) args[2 + i] = loop_int(&v->b, from[i]);
    return loop_emit1(&v->b, LOOP_TAKE, args, 2 + v->lanes, type);
}

// ---- every other element ------------------------------------------------------------

// Which lane of two vectors side by side lane i is. The later vector may begin a lane
// earlier than where the first ends, so that nothing is read behind the last element.
static uint32_t other_of(const Vector *v, uint32_t i, bool is_early) {
    return 2 * i + (is_early && 2 * i >= v->lanes);
}

static LoopRef take_others(Vector *v, const LoopRef halves[2], uint32_t first,
                           bool is_early, LoopType type) {
    LoopRef *args = arena_array(v->arena, LoopRef, 2 + v->lanes);
    memcpy(args, halves, 2 * sizeof *args);
    for (uint32_t i = 0; i < v->lanes; i++)
        args[2 + i] = loop_int(&v->b, first + other_of(v, i, is_early));
    turn_charge(v, 2, 3);
    return loop_emit1(&v->b, LOOP_TAKE, args, 2 + v->lanes, type);
}

// Where every other element has been taken before, from the one before the place on;
// NULL: nowhere, or memory may have changed since.
static LoopStm *find_others(const Vector *v, const Access *p) {
    const LoopBody *here = v->b.open.data[v->b.open.len - 1];
    uint32_t i = here->stms.len;
    while (i > 0 && here->stms.data[i - 1]->op != LOOP_TAKE) i--;
    LoopStm *stm = i > 0 ? here->stms.data[i - 1] : NULL;
    if (stm == NULL || !turn_is_quiet_since(v, stm)) return NULL;
    for (uint32_t k = 0; k < v->lanes; k++)
        if (!loop_is_int(&v->b, stm->args[2 + k], other_of(v, k, true))) return NULL;
    const LoopStm *load = turn_find_here(v, stm->args[0]);
    bool is_next = load != NULL && load->op == LOOP_LOAD &&
                   turn_is_behind(v, p->args, p->count, 1, load, 1);
    return is_next ? stm : NULL;
}

// A load of every other element: of two vectors side by side take every other lane.
// Those that lie between are taken of the same two, which then hold nothing twice.
static LoopRef take_every_other(Vector *v, const Access *p, LoopType type) {
    LoopRef halves[2], *place = arena_array(v->arena, LoopRef, p->count + 2);
    LoopStm *before = find_others(v, p);
    if (before != NULL) {
        LoopStm *later = turn_find_here(v, before->args[1]);
        later->args[later->arg_count - 1] = loop_int(&v->b, v->lanes);
        for (uint32_t i = 0; i < v->lanes; i++)
            before->args[2 + i] = loop_int(&v->b, other_of(v, i, false));
        return take_others(v, before->args, 1, false, type);
    }
    memcpy(place, p->args, p->count * sizeof *place);
    place[p->count] = loop_int(&v->b, 1);
    place[p->count + 1] = loop_int(&v->b, v->lanes - 1);
    halves[0] = loop_emit1(&v->b, LOOP_LOAD, place, p->count, type);
    halves[1] = loop_emit1(&v->b, LOOP_LOAD, place, p->count + 2, type);
    return take_others(v, halves, 0, true, type);
}

// ---- three or four apart ------------------------------------------------------------

// Whether they fill no more than a register: else lanes come from all over.
static bool is_whole(const Vector *v, LoopType type) {
    return type.elem != SCALAR_BOOL &&
           v->lanes * scalar_info[type.elem].bytes <= v->bytes;
}

// How far elements are apart, if that is known and few enough.
static uint32_t distance_of(const Vector *v, const Access *p, LoopType type) {
    uint64_t apart;
    if (p->has_lanes || !loop_is_known(&v->b, p->stride, &apart) || !is_whole(v, type))
        return 0;
    return apart > 2 && apart <= MOST_APART && apart <= v->lanes ? (uint32_t)apart : 0;
}

// Lanes of two to four vectors, by their numbers in a row. Of the first two, and the
// others, lanes are taken to where they belong, and then of both.
static LoopRef take_all(Vector *v, const LoopRef *vectors, uint32_t count,
                        const uint32_t *from, LoopType type) {
    uint32_t two = 2 * v->lanes;
    uint32_t first[LOOP_MOST_LANES], other[LOOP_MOST_LANES], both[LOOP_MOST_LANES];
    for (uint32_t i = 0; i < v->lanes; i++) {
        bool is_first = from[i] < two;
        first[i] = is_first ? from[i] : i;
        other[i] = is_first ? i : from[i] - two;
        both[i] = is_first ? i : v->lanes + (count == 3 ? from[i] - two : i);
    }
    LoopRef x = take(v, vectors[0], vectors[1], first, type);
    if (count == 2) return x;
    LoopRef y = vectors[2];
    if (count == 4) y = take(v, vectors[2], vectors[3], other, type);
    return take(v, x, y, both, type);
}

// Where as many elements have been loaded from so many behind the place on, for
// elements beside those at hand; 0: nowhere, or memory may have changed since.
static LoopRef find_behind(const Vector *v, const Access *p, uint32_t by,
                           LoopType type) {
    const LoopBody *here = v->b.open.data[v->b.open.len - 1];
    for (uint32_t i = here->stms.len; i-- > 0 && turn_is_quiet(here->stms.data[i]);) {
        const LoopStm *stm = here->stms.data[i];
        if (stm->op == LOOP_LOAD &&
            loop_type(&v->b, stm->outs[0]).lanes == type.lanes &&
            turn_is_behind(v, p->args, p->count, 1, stm,
                           (uint64_t)0 - (uint64_t)(int32_t)by))
            return stm->outs[0];
    }
    return 0;
}

// How many elements before the place a neighbour is whose vectors have been loaded, but
// for the last one; 0: none.
static uint32_t find_neighbour(const Vector *v, const Access *p, uint32_t apart,
                               LoopType type) {
    for (uint32_t before = 1; before < apart; before++) {
        uint32_t k = 0;
        while (k + 1 < apart && find_behind(v, p, k * v->lanes - before, type) != 0)
            k++;
        if (k + 1 == apart) return before;
    }
    return 0;
}

// As many elements as there are lanes, from so many behind the place on.
static LoopRef load_behind(Vector *v, const Access *p, uint32_t by, LoopType type) {
    LoopRef *args = arena_array(v->arena, LoopRef, p->count + 2);
    memcpy(args, p->args, p->count * sizeof *args);
    args[p->count] = loop_int(&v->b, 1);
    args[p->count + 1] = loop_int(&v->b, by);
    return loop_emit1(&v->b, LOOP_LOAD, args, p->count + (by > 0 ? 2 : 0), type);
}

// The last vector ends with the last element, so that nothing is read behind it; the
// others may be a neighbour's, which begins so much before.
static LoopRef load_far(Vector *v, const Access *p, uint32_t apart, LoopType type) {
    uint32_t lanes = v->lanes, last = (apart - 1) * (lanes - 1);
    LoopRef whole[MOST_APART];
    uint32_t from[LOOP_MOST_LANES];
    uint32_t before = find_neighbour(v, p, apart, type);
    for (uint32_t k = 0; k + 1 < apart; k++)
        whole[k] = before > 0 ? find_behind(v, p, k * lanes - before, type)
                              : load_behind(v, p, k * lanes, type);
    whole[apart - 1] = load_behind(v, p, last, type);
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t at = apart * i, k = (at + before) / lanes;
        if (k >= apart) k = apart - 1;
        uint32_t lane = k + 1 < apart ? at + before - k * lanes : at - last;
        from[i] = k * lanes + lane;
    }
    turn_charge(v, 1, 2 * apart);
    return take_all(v, whole, apart, from, type);
}

LoopRef turn_load_apart(Vector *v, const Access *p, LoopType type) {
    if (!p->has_lanes && loop_is_int(&v->b, p->stride, 2))
        return take_every_other(v, p, type);
    uint32_t apart = distance_of(v, p, type);
    return apart != 0 ? load_far(v, p, apart, type) : 0;
}

// ---- stores -------------------------------------------------------------------------

// Whether it stores to places that are so far apart, `by` elements before those at
// hand.
static bool is_before(const Vector *v, const LoopStm *stm, const Access *p,
                      uint32_t apart, uint32_t by) {
    if (stm->arg_count < 5 || !loop_is_int(&v->b, stm->args[stm->arg_count - 2], apart))
        return false;
    const LoopStm *lanes = turn_find_here(v, stm->args[stm->arg_count - 1]);
    LoopStm first = *stm;
    first.arg_count -= 2;
    return lanes != NULL && lanes->op == LOOP_LANES &&
           turn_is_behind(v, p->args, p->count, 2, &first, by);
}

// The stores to places before those at hand, by how far, since when nothing could see
// that they are done later; false: some are not there.
static bool find_stores(const Vector *v, const Access *p, uint32_t apart,
                        LoopStm **out) {
    const LoopBody *here = v->b.open.data[v->b.open.len - 1];
    uint32_t count = 1;
    for (uint32_t i = here->stms.len; i-- > 0 && count < apart;) {
        LoopStm *stm = here->stms.data[i];
        if (stm->op == LOOP_STORE && is_before(v, stm, p, apart, count))
            out[count++] = stm;
        else if (!turn_is_quiet(stm) ||
                 (stm->op == LOOP_LOAD && stm->args[0] == p->args[0]))
            return false;
    }
    return count == apart;
}

static void take_out(LoopBody *body, LoopStm *const *stms, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        bool is_out = false;
        for (uint32_t k = 0; k < count; k++) is_out |= body->stms.data[i] == stms[k];
        if (!is_out) body->stms.data[kept++] = body->stms.data[i];
    }
    body->stms.len = kept;
}

// Elements from number `from` on, where those of `apart` vectors take turns.
static LoopRef take_turns(Vector *v, const LoopRef *vectors, uint32_t apart,
                          uint32_t from, LoopType type) {
    uint32_t lanes[LOOP_MOST_LANES];
    for (uint32_t i = 0; i < v->lanes; i++)
        lanes[i] = (from + i) % apart * v->lanes + (from + i) / apart;
    return take_all(v, vectors, apart, lanes, type);
}

bool turn_store_apart(Vector *v, const Access *p, LoopType type) {
    LoopStm *stores[MOST_APART] = {NULL};
    LoopRef vectors[MOST_APART];
    bool is_other = !p->has_lanes && loop_is_int(&v->b, p->stride, 2);
    uint32_t apart = is_other ? 2 : distance_of(v, p, type);
    if (apart == 0 || !is_whole(v, type) || !find_stores(v, p, apart, stores))
        return false;
    vectors[apart - 1] = p->args[1];
    for (uint32_t k = 1; k < apart; k++) vectors[apart - 1 - k] = stores[k]->args[1];
    take_out(v->b.open.data[v->b.open.len - 1], stores + 1, apart - 1);
    // Those stores were thought to go to places all over.
    turn_charge(v, 1, 3 * apart - (apart - 1) * turn_scatter_cost(v));
    LoopStm *begin = stores[apart - 1];
    uint32_t count = begin->arg_count;
    for (uint32_t k = 0; k < apart; k++) {
        LoopRef *args = arena_copy(v->arena, begin->args, count * sizeof *args);
        args[1] = take_turns(v, vectors, apart, k * v->lanes, type);
        args[count - 2] = loop_int(&v->b, 1);
        args[count - 1] = loop_int(&v->b, k * v->lanes);
        loop_emit(&v->b, LOOP_STORE, args, k == 0 ? count - 2 : count, NULL, 0);
    }
    return true;
}
