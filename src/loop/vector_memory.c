// SPDX-License-Identifier: Apache-2.0
//
// Memory in a vector turn: loads and stores of places that follow each other, or that
// each lane has for itself; elements of small tables; and checks, which give the vector
// turn up before anything is stored.
#include "loop/vector_turn.h"

#include <string.h>

static void add_pair(Vector *v, Access *p, LoopRef stride, LoopRef index) {
    p->args[p->count++] = stride;
    p->args[p->count++] = index;
    p->has_lanes =
        p->has_lanes || turn_is_vector(v, stride) || turn_is_vector(v, index);
}

static void grow(Vector *v, Access *p, LoopRef x, LoopRef y) {
    p->stride = loop_add(&v->b, p->stride, loop_mul(&v->b, x, y));
}

static void add_term(Vector *v, Access *p, LoopRef stride, LoopRef index) {
    Rep s = turn_rep_of(v, stride), i = turn_rep_of(v, index);
    if (s.kind == REP_SAME && i.kind == REP_LINEAR) grow(v, p, s.ref, i.stride);
    else if (s.kind == REP_LINEAR && i.kind == REP_SAME) grow(v, p, s.stride, i.ref);
    else if (s.kind != REP_SAME || i.kind != REP_SAME)
        s.ref = turn_operand(v, stride), i.ref = turn_operand(v, index);
    add_pair(v, p, s.ref, i.ref);
}

// `before`: args that come before those of the place.
static Access place_of(Vector *v, const LoopStm *stm, uint32_t first, uint32_t before) {
    Rep offset = turn_rep_of(v, stm->args[first]);
    Access p = {.args = arena_array(v->arena, LoopRef, stm->arg_count + before + 3),
                .count = before,
                .stride = loop_int(&v->b, 0)};
    if (offset.kind == REP_LINEAR) p.stride = offset.stride;
    p.has_lanes = offset.kind > REP_LINEAR;
    if (p.has_lanes) offset.ref = turn_operand(v, stm->args[first]);
    p.args[p.count++] = offset.ref;
    for (uint32_t i = first + 1; i + 1 < stm->arg_count; i += 2)
        add_term(v, &p, stm->args[i], stm->args[i + 1]);
    return p;
}

// Says where, if lanes are neither side by side nor have all places for themselves.
static void number_places(Vector *v, Access *p) {
    if (loop_is_int(&v->b, p->stride, p->has_lanes ? 0 : 1)) return;
    add_pair(v, p, p->stride, turn_number_lanes(v, SCALAR_I64));
}

// Whether neighbouring lanes go along columns, element by element: a turn alone uses
// one of each line of the caches.
static bool is_along_columns(const Vector *v, const Access *p, uint32_t before) {
    if (p->has_lanes || v->weight <= 1) return false;
    for (uint32_t i = before + 1; i + 1 < p->count; i += 2) {
        bool is_inner = p->args[i + 1] >= v->old && !turn_is_vector(v, p->args[i + 1]);
        if (is_inner && !loop_is_known(&v->b, p->args[i], &(uint64_t){0})) return true;
    }
    return false;
}

// Lanes that load nothing load the first element; to store nothing they take a branch.
static void charge_access(Vector *v, const Access *p, LoopRef mask, bool loads) {
    double apart = turn_scatter_cost(v);
    if (mask == v->live) turn_charge(v, 1, p->has_lanes ? apart : 1);
    else if (loads) turn_charge(v, 1, p->has_lanes ? apart + 2 : 2);
    else turn_charge(v, 1, p->has_lanes ? 4 * v->width : 3);
}

// ---- places that are known ----------------------------------------------------------

// A place as what is known of it and what the turn says: offsets, strides, indices.
typedef struct Sum {
    uint64_t known;
    LoopRef *refs;
    uint32_t count;
} Sum;

static void add_index(const Vector *v, Sum *sum, LoopRef stride, LoopRef index) {
    uint64_t times, steps;
    bool is_even = loop_is_known(&v->b, stride, &times);
    const LoopStm *stm = is_even ? turn_find_here(v, index) : NULL;
    if (stm != NULL && stm->op == LOOP_SCALAR && stm->scalar == OP_ADD &&
        loop_is_known(&v->b, stm->args[1], &steps)) {
        sum->known += times * steps;
        index = stm->args[0];
    }
    if (is_even && loop_is_known(&v->b, index, &steps)) {
        sum->known += times * steps;
        return;
    }
    sum->refs[sum->count++] = stride;
    sum->refs[sum->count++] = index;
}

// Of the args from `first` on.
static Sum sum_of(const Vector *v, const LoopRef *args, uint32_t count,
                  uint32_t first) {
    Sum sum = {.refs = arena_array(v->arena, LoopRef, count)};
    if (!loop_is_known(&v->b, args[first], &sum.known))
        sum.refs[sum.count++] = args[first];
    for (uint32_t i = first + 1; i + 1 < count; i += 2)
        add_index(v, &sum, args[i], args[i + 1]);
    return sum;
}

bool turn_is_behind(const Vector *v, const LoopRef *args, uint32_t count,
                    uint32_t first, const LoopStm *other, uint64_t by) {
    if (other->args[0] != args[0]) return false;
    Sum x = sum_of(v, other->args, other->arg_count, first);
    Sum y = sum_of(v, args, count, first);
    return y.known == x.known + by && x.count == y.count &&
           memcmp(x.refs, y.refs, x.count * sizeof *x.refs) == 0;
}

bool turn_are_same(const Vector *v, LoopRef x, LoopRef y) {
    const LoopStm *a = turn_find_here(v, x), *b = turn_find_here(v, y);
    return a != NULL && a->op == LOOP_LOAD && b != NULL && b->op == LOOP_LOAD &&
           turn_is_behind(v, a->args, a->arg_count, 1, b, 0) &&
           turn_is_quiet_since(v, a) && turn_is_quiet_since(v, b);
}

// ---- elements of small arrays -------------------------------------------------------

// The place of a load in a lane, if it is known.
static bool find_place(Vector *v, const LoopStm *stm, uint32_t lane, uint64_t *out) {
    LoopRef offset = turn_lane_of(v, stm->args[1], lane);
    if (offset == 0) return false;
    *out = v->kernel->values.data[offset].bits;
    for (uint32_t i = 2; i < stm->arg_count; i += 2) {
        LoopRef stride = turn_lane_of(v, stm->args[i], lane);
        LoopRef index = turn_lane_of(v, stm->args[i + 1], lane);
        if (stride == 0 || index == 0) return false;
        *out +=
            v->kernel->values.data[stride].bits * v->kernel->values.data[index].bits;
    }
    return true;
}

// Where each lane loads from, if that is known and each is an element of an array of
// known size.
static bool find_places(Vector *v, const LoopStm *stm, uint64_t *places) {
    uint64_t size = stm->args[0] < v->sized ? v->sizes[stm->args[0]] : 0;
    for (uint32_t i = 0; i < v->lanes; i++)
        if (!v->at_once || !find_place(v, stm, i, &places[i]) || places[i] >= size)
            return false;
    return true;
}

// As many elements as there are lanes, from the place on.
static LoopRef load_whole(Vector *v, LoopRef buffer, uint64_t from, ScalarType elem) {
    LoopRef args[] = {buffer, loop_int(&v->b, (int64_t)from)};
    return loop_emit1(&v->b, LOOP_LOAD, args, 2, turn_lanes_of(v, elem));
}

LoopRef turn_load_around(Vector *v, const LoopStm *load, LoopRef *lane_out) {
    uint64_t size = load->args[0] < v->sized ? v->sizes[load->args[0]] : 0;
    if (!v->at_once || load->op != LOOP_LOAD || !turn_is_quiet_since(v, load)) return 0;
    Sum place = sum_of(v, load->args, load->arg_count, 1);
    uint64_t from = place.known - place.known % v->lanes;
    if (place.count > 0 || place.known >= size || size - from < v->lanes) return 0;
    *lane_out = loop_int(&v->b, (int64_t)(place.known - from));
    return load_whole(v, load->args[0], from, turn_elem_of(v, load->outs[0]));
}

// A load from known places among as many elements as there are lanes: of those lanes
// take theirs, without memory in between.
static bool take_places(Vector *v, const LoopStm *stm, const uint64_t *places) {
    uint64_t from = places[0] - places[0] % v->lanes;
    bool follows = true;
    for (uint32_t i = 0; i < v->lanes; i++) {
        if (places[i] < from || places[i] - from >= v->lanes) return false;
        follows = follows && places[i] == places[0] + i;
    }
    if (follows || v->sizes[stm->args[0]] - from < v->lanes) return false;
    ScalarType elem = turn_elem_of(v, stm->outs[0]);
    LoopRef all = load_whole(v, turn_rep_of(v, stm->args[0]).ref, from, elem);
    LoopRef *args = arena_array(v->arena, LoopRef, 2 + v->lanes);
    args[0] = args[1] = all;
    for (uint32_t i = 0; i < v->lanes; i++)
        args[2 + i] = loop_int(&v->b, (int64_t)(places[i] - from));
    turn_charge(v, 1, 2);
    turn_set_rep(
        v, stm->outs[0],
        loop_emit1(&v->b, LOOP_TAKE, args, 2 + v->lanes, turn_lanes_of(v, elem)));
    return true;
}

// ---- loads and stores ---------------------------------------------------------------

void turn_load(Vector *v, const LoopStm *stm, LoopRef mask) {
    ScalarType elem = turn_elem_of(v, stm->outs[0]);
    bool is_same = !v->varies[stm->outs[0]];
    if (is_same) {
        LoopRef *args = arena_array(v->arena, LoopRef, stm->arg_count);
        for (uint32_t i = 0; i < stm->arg_count; i++)
            args[i] = turn_operand(v, stm->args[i]);
        turn_set_rep(
            v, stm->outs[0],
            loop_emit1(&v->b, LOOP_LOAD, args, stm->arg_count, loop_scalar_type(elem)));
        return;
    }
    // What all lanes may load needs no mask, for none looks at what others have.
    uint64_t places[LOOP_MOST_LANES];
    mask = turn_live(v, mask);
    if (find_places(v, stm, places)) {
        if (take_places(v, stm, places)) return;
        mask = 0;
    }
    uint32_t before = mask == 0 ? 1 : 2;
    Access p = place_of(v, stm, 1, before);
    p.args[0] = mask;
    p.args[before - 1] = turn_rep_of(v, stm->args[0]).ref;
    LoopType type = turn_lanes_of(v, elem);
    LoopRef apart = mask == 0 ? turn_load_apart(v, &p, type) : 0;
    if (apart != 0) {
        turn_set_rep(v, stm->outs[0], apart);
        return;
    }
    uint32_t around = mask == 0 ? turn_find_around(v, stm) : 0;
    if (around != 0) {
        const Around *how = turn_rep_of(v, stm->args[around]).around;
        turn_set_rep(v, stm->outs[0], turn_load_anew(v, p.args, p.count, around, how));
        return;
    }
    if (mask == 0 && is_along_columns(v, &p, before)) turn_charge(v, 3, 0);
    number_places(v, &p);
    charge_access(v, &p, mask, true);
    turn_set_rep(
        v, stm->outs[0],
        loop_emit1(&v->b, mask == 0 ? LOOP_LOAD : LOOP_LOADIF, p.args, p.count, type));
}

void turn_store(Vector *v, const LoopStm *stm, LoopRef mask) {
    mask = turn_live(v, mask);
    uint32_t before = mask == 0 ? 2 : 3;
    Access p = place_of(v, stm, 2, before);
    p.args[0] = mask;
    p.args[before - 2] = turn_rep_of(v, stm->args[0]).ref;
    p.args[before - 1] = turn_vector(v, stm->args[1]);
    LoopType type = turn_lanes_of(v, turn_elem_of(v, stm->args[1]));
    if (mask == 0 && turn_store_apart(v, &p, type)) return;
    number_places(v, &p);
    charge_access(v, &p, mask, false);
    loop_emit(&v->b, mask == 0 ? LOOP_STORE : LOOP_STOREIF, p.args, p.count, NULL, 0);
}

// What each lane adds to a place, times the lanes.
void turn_tally(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopRef *args = arena_array(v->arena, LoopRef, stm->arg_count);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        args[i] = turn_rep_of(v, stm->args[i]).ref;
    LoopRef lanes = loop_int(&v->b, v->lanes);
    if (mask != 0)
        lanes = loop_emit1(&v->b, LOOP_TALLY, &mask, 1, loop_scalar_type(SCALAR_I64));
    args[1] = loop_mul(&v->b, args[1], lanes);
    turn_charge(v, 2, 3);
    loop_emit(&v->b, LOOP_ATOMIC, args, stm->arg_count, NULL, 0)->scalar = stm->scalar;
}

// Any lane that would fail is reason enough to give up.
void turn_check(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopRef c = turn_operand(v, stm->args[0]);
    if (turn_is_vector(v, c) && mask != 0)
        c = turn_apply2(v, OP_OR, SCALAR_BOOL, c, turn_negate(v, mask));
    turn_charge(v, 1, turn_is_vector(v, c) ? 2 : 1);
    loop_emit(&v->b, LOOP_SURE, &c, 1, NULL, 0);
}
