// SPDX-License-Identifier: Apache-2.0
//
// One turn of a loop as a vector turn. What is the same for all lanes stays as it is,
// what grows evenly from lane to lane is kept as two numbers, the rest has lanes. Code
// that not all lanes run has a mask of those that do; it runs only while one does, save
// short branches that touch nothing. Lanes that are off compute something, and nobody
// looks at it.
#include "loop/vector.h"

static void translate(Vector *v, const LoopBody *body, LoopRef mask);

static ScalarType elem_of(const Vector *v, LoopRef ref) {
    return (ScalarType)v->kernel->values.data[ref].type.elem;
}

// ---- costs --------------------------------------------------------------------------

// Of a turn, and of a vector that holds so many lanes as fit.
static void charge(Vector *v, double scalar, double vector) {
    v->scalar_cost += v->weight * scalar;
    v->vector_cost += v->weight * vector;
}

static void charge_scalar(Vector *v, CoreOp op, ScalarType in, ScalarType to) {
    bool is_float = scalar_is_float(in);
    switch (op) {
    case OP_DIV:
    case OP_SQRT:
        if (is_float) charge(v, 5, 10);
        else charge(v, 10, 11 * v->width);
        return;
    case OP_MOD:
    case OP_QUOT:
    case OP_REM:
    case OP_POW: charge(v, 10, 11 * v->width); return;
    case OP_MULHI:
    case OP_POPC:
    case OP_CLZ:
    case OP_CTZ:
    case OP_NEXT: charge(v, 1, 3 * v->width); return;
    case OP_MUL: charge(v, 1, !is_float && scalar_info[in].bytes != 4 ? 6 : 1); return;
    case OP_MIN:
    case OP_MAX: charge(v, is_float ? 4 : 2, is_float ? 6 : 2); return;
    case OP_CONV:
        if (is_float && !scalar_is_float(to)) charge(v, 3, 5 * v->width);
        else if (!is_float && scalar_is_float(to) && scalar_info[in].bytes == 8)
            charge(v, 1, 2 * v->width);
        else charge(v, 1, in == SCALAR_BOOL || to == SCALAR_BOOL ? 1 : 2);
        return;
    default: charge(v, 1, 1); return;
    }
}

// ---- values -------------------------------------------------------------------------

static LoopType lanes_of(const Vector *v, ScalarType elem) {
    LoopType type = loop_scalar_type(elem);
    type.lanes = (uint8_t)v->lanes;
    return type;
}

static bool is_vector(const Vector *v, LoopRef ref) {
    return v->kernel->values.data[ref].type.lanes > 0;
}

// An operator on new values, in lanes if one of them has lanes.
static LoopRef apply(Vector *v, CoreOp op, ScalarType to, const LoopRef *args,
                     uint32_t count) {
    bool has_lanes = false;
    for (uint32_t i = 0; i < count; i++) has_lanes = has_lanes || is_vector(v, args[i]);
    if (!has_lanes) return loop_scalar(&v->b, op, to, args, count);
    LoopType type = lanes_of(v, to);
    LoopStm *stm = loop_emit(&v->b, LOOP_SCALAR, args, count, &type, 1);
    stm->scalar = op;
    return stm->outs[0];
}

static LoopRef apply2(Vector *v, CoreOp op, ScalarType to, LoopRef x, LoopRef y) {
    return apply(v, op, to, (LoopRef[]){x, y}, 2);
}

static LoopRef splat(Vector *v, LoopRef x) {
    LoopType type = lanes_of(v, elem_of(v, x));
    return is_vector(v, x) ? x : loop_emit1(&v->b, LOOP_SPLAT, &x, 1, type);
}

static LoopRef select(Vector *v, LoopRef mask, LoopRef x, LoopRef y) {
    LoopType type = lanes_of(v, elem_of(v, x));
    charge(v, 0, 1);
    return loop_emit1(&v->b, LOOP_SELECT, (LoopRef[]){mask, x, y}, 3, type);
}

static LoopRef number_lanes(Vector *v, ScalarType elem) {
    return loop_emit1(&v->b, LOOP_LANES, NULL, 0, lanes_of(v, elem));
}

static LoopRef any(Vector *v, LoopRef mask) {
    charge(v, 0, 2);
    return loop_emit1(&v->b, LOOP_ANY, &mask, 1, loop_scalar_type(SCALAR_BOOL));
}

static Rep rep_of(const Vector *v, LoopRef old) {
    if (old >= v->old) return (Rep){.ref = old}; // a constant of ours
    Rep rep = v->reps[old];
    if (rep.ref == 0) rep.ref = old;
    return rep;
}

static void set_rep(Vector *v, LoopRef old, LoopRef ref) {
    v->reps[old] = (Rep){.kind = is_vector(v, ref) ? REP_VECTOR : REP_SAME, .ref = ref};
    LoopValue *value = &v->kernel->values.data[ref];
    if (ref >= v->old && !value->is_const && value->name == 0)
        value->name = v->kernel->values.data[old].name;
}

// The value for an operator: without lanes if it is the same in all.
static LoopRef operand(Vector *v, LoopRef old) {
    Rep rep = rep_of(v, old);
    ScalarType elem = elem_of(v, old);
    if (rep.kind == REP_TABLE)
        return loop_emit1(&v->b, LOOP_PACK, rep.table, v->lanes, lanes_of(v, elem));
    if (rep.kind != REP_LINEAR) return rep.ref;
    LoopRef steps = number_lanes(v, elem);
    if (!loop_is_int(&v->b, rep.stride, 1))
        steps = apply2(v, OP_MUL, elem, steps, rep.stride);
    return apply2(v, OP_ADD, elem, steps, rep.ref);
}

static LoopRef vector(Vector *v, LoopRef old) {
    return splat(v, operand(v, old));
}

static LoopRef both(Vector *v, LoopRef mask, LoopRef c) {
    return mask == 0 ? splat(v, c) : apply2(v, OP_AND, SCALAR_BOOL, mask, c);
}

static LoopRef negate(Vector *v, LoopRef c) {
    return apply(v, OP_NOT, SCALAR_BOOL, &c, 1);
}

// ---- scalars ------------------------------------------------------------------------

// Sums and products of what grows evenly do so, too; integers wrap.
static bool is_linear(Vector *v, const LoopStm *stm, Rep *rep_out) {
    if (stm->arg_count != 2) return false;
    Rep x = rep_of(v, stm->args[0]), y = rep_of(v, stm->args[1]);
    ScalarType elem = elem_of(v, stm->args[0]);
    bool is_scaled = (x.kind == REP_SAME) != (y.kind == REP_SAME);
    if (!scalar_is_int(elem) || x.kind > REP_LINEAR || y.kind > REP_LINEAR ||
        (stm->scalar != OP_ADD && stm->scalar != OP_SUB &&
         !(stm->scalar == OP_MUL && is_scaled)))
        return false;
    LoopRef zero = loop_const(&v->b, elem, 0);
    LoopRef dx = x.kind == REP_LINEAR ? x.stride : zero;
    LoopRef dy = y.kind == REP_LINEAR ? y.stride : zero;
    rep_out->kind = REP_LINEAR;
    rep_out->ref = apply2(v, stm->scalar, elem, x.ref, y.ref);
    if (stm->scalar == OP_MUL)
        rep_out->stride = x.kind == REP_LINEAR ? apply2(v, OP_MUL, elem, dx, y.ref)
                                               : apply2(v, OP_MUL, elem, dy, x.ref);
    else rep_out->stride = apply2(v, stm->scalar, elem, dx, dy);
    return true;
}

// Of numbers that grow evenly: as floats they are counted up; narrow ones do so, too.
static bool is_converted(Vector *v, const LoopStm *stm) {
    if (stm->scalar != OP_CONV) return false;
    ScalarType in = elem_of(v, stm->args[0]), to = elem_of(v, stm->outs[0]);
    Rep x = rep_of(v, stm->args[0]);
    if (x.kind != REP_LINEAR || in != SCALAR_I64) return false;
    if (scalar_is_int(to)) {
        x.ref = apply(v, OP_CONV, to, &x.ref, 1);
        x.stride = apply(v, OP_CONV, to, &x.stride, 1);
        v->reps[stm->outs[0]] = x;
        return true;
    }
    if (to != SCALAR_F32 && to != SCALAR_F64) return false;
    charge(v, 1, 3);
    set_rep(v, stm->outs[0],
            loop_emit1(&v->b, LOOP_LANES, (LoopRef[]){x.ref, x.stride}, 2,
                       lanes_of(v, to)));
    return true;
}

static bool is_known(const Vector *v, LoopRef ref) {
    return v->kernel->values.data[ref].is_const;
}

// The value in a lane, if it is known; else 0.
static LoopRef lane_of(Vector *v, LoopRef old, uint32_t lane) {
    Rep rep = rep_of(v, old);
    if (rep.kind == REP_TABLE) return rep.table[lane];
    if (rep.kind == REP_VECTOR || !is_known(v, rep.ref)) return 0;
    if (rep.kind == REP_SAME) return rep.ref;
    if (!is_known(v, rep.stride)) return 0;
    ScalarType elem = elem_of(v, old);
    LoopRef steps = apply2(v, OP_MUL, elem, rep.stride, loop_const(&v->b, elem, lane));
    return apply2(v, OP_ADD, elem, rep.ref, steps);
}

// Where the turns are one vector turn, what follows from their index alone is known.
static bool is_table(Vector *v, const LoopStm *stm, Rep *rep_out) {
    LoopRef args[3];
    if (!v->at_once || (core_op_info[stm->scalar].flags & OP_FAILS) != 0) return false;
    LoopRef *table = arena_array(v->arena, LoopRef, v->lanes);
    for (uint32_t lane = 0; lane < v->lanes; lane++) {
        for (uint32_t i = 0; i < stm->arg_count; i++)
            if ((args[i] = lane_of(v, stm->args[i], lane)) == 0) return false;
        table[lane] = loop_scalar(&v->b, stm->scalar, elem_of(v, stm->outs[0]), args,
                                  stm->arg_count);
        if (!is_known(v, table[lane])) return false;
    }
    *rep_out = (Rep){.kind = REP_TABLE, .table = table};
    return true;
}

static void do_scalar(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopRef args[3];
    ScalarType in = elem_of(v, stm->args[0]), to = elem_of(v, stm->outs[0]);
    Rep *rep = &v->reps[stm->outs[0]];
    if (v->given[stm->outs[0]] || (v->varies[stm->outs[0]] && is_linear(v, stm, rep)) ||
        is_converted(v, stm) || (v->varies[stm->outs[0]] && is_table(v, stm, rep)))
        return;
    for (uint32_t i = 0; i < stm->arg_count; i++) args[i] = operand(v, stm->args[i]);
    bool fails = (core_op_info[stm->scalar].flags & OP_FAILS) != 0 && scalar_is_int(in);
    if (fails && mask != 0 && v->varies[stm->outs[0]] &&
        !v->kernel->values.data[args[1]].is_const)
        args[1] = select(v, mask, args[1], loop_const(&v->b, in, 1));
    LoopRef out = apply(v, stm->scalar, to, args, stm->arg_count);
    if (is_vector(v, out)) charge_scalar(v, stm->scalar, in, to);
    set_rep(v, stm->outs[0], out);
}

// ---- memory -------------------------------------------------------------------------

typedef struct Access {
    LoopRef *args; // offset, then pairs of stride and index
    uint32_t count;
    LoopRef stride; // from lane to lane, besides
    bool has_lanes; // else the place is one plus lane * stride
} Access;

static void add_pair(Vector *v, Access *p, LoopRef stride, LoopRef index) {
    p->args[p->count++] = stride;
    p->args[p->count++] = index;
    p->has_lanes = p->has_lanes || is_vector(v, stride) || is_vector(v, index);
}

static void grow(Vector *v, Access *p, LoopRef x, LoopRef y) {
    p->stride = loop_add(&v->b, p->stride, loop_mul(&v->b, x, y));
}

static void add_term(Vector *v, Access *p, LoopRef stride, LoopRef index) {
    Rep s = rep_of(v, stride), i = rep_of(v, index);
    if (s.kind == REP_SAME && i.kind == REP_LINEAR) grow(v, p, s.ref, i.stride);
    else if (s.kind == REP_LINEAR && i.kind == REP_SAME) grow(v, p, s.stride, i.ref);
    else if (s.kind != REP_SAME || i.kind != REP_SAME)
        s.ref = operand(v, stride), i.ref = operand(v, index);
    add_pair(v, p, s.ref, i.ref);
}

// `before`: args that come before those of the place.
static Access place_of(Vector *v, const LoopStm *stm, uint32_t first, uint32_t before) {
    Rep offset = rep_of(v, stm->args[first]);
    Access p = {.args = arena_array(v->arena, LoopRef, stm->arg_count + before + 3),
                .count = before,
                .stride = loop_int(&v->b, 0)};
    if (offset.kind == REP_LINEAR) p.stride = offset.stride;
    p.has_lanes = offset.kind > REP_LINEAR;
    if (p.has_lanes) offset.ref = operand(v, stm->args[first]);
    p.args[p.count++] = offset.ref;
    for (uint32_t i = first + 1; i + 1 < stm->arg_count; i += 2)
        add_term(v, &p, stm->args[i], stm->args[i + 1]);
    bool follows = !p.has_lanes && loop_is_int(&v->b, p.stride, 1);
    if (!follows && !(p.has_lanes && loop_is_int(&v->b, p.stride, 0)))
        add_pair(v, &p, p.stride, number_lanes(v, SCALAR_I64));
    return p;
}

static void charge_access(Vector *v, const Access *p, LoopRef mask) {
    if (p->has_lanes) charge(v, 1, 2.5 * v->width);
    else charge(v, 1, mask == 0 ? 1 : 3);
}

// The place of a load in a lane, if it is known.
static bool find_place(Vector *v, const LoopStm *stm, uint32_t lane, uint64_t *out) {
    LoopRef offset = lane_of(v, stm->args[1], lane);
    if (offset == 0) return false;
    *out = v->kernel->values.data[offset].bits;
    for (uint32_t i = 2; i < stm->arg_count; i += 2) {
        LoopRef stride = lane_of(v, stm->args[i], lane);
        LoopRef index = lane_of(v, stm->args[i + 1], lane);
        if (stride == 0 || index == 0) return false;
        *out +=
            v->kernel->values.data[stride].bits * v->kernel->values.data[index].bits;
    }
    return true;
}

// A load from known places among as many elements as there are lanes: of those lanes
// take theirs, without memory in between.
static bool take_places(Vector *v, const LoopStm *stm) {
    uint64_t places[LOOP_MOST_LANES], from = 0;
    uint64_t size = stm->args[0] < v->sized ? v->sizes[stm->args[0]] : 0;
    bool follows = true;
    for (uint32_t i = 0; i < v->lanes; i++) {
        if (!v->at_once || !find_place(v, stm, i, &places[i])) return false;
        if (i == 0) from = places[0] - places[0] % v->lanes;
        if (places[i] < from || places[i] - from >= v->lanes) return false;
        follows = follows && places[i] == places[0] + i;
    }
    if (follows || from > size || size - from < v->lanes) return false;
    LoopType type = lanes_of(v, elem_of(v, stm->outs[0]));
    LoopRef all = loop_emit1(
        &v->b, LOOP_LOAD,
        (LoopRef[]){rep_of(v, stm->args[0]).ref, loop_int(&v->b, (int64_t)from)}, 2,
        type);
    LoopRef *args = arena_array(v->arena, LoopRef, 2 + v->lanes);
    args[0] = args[1] = all;
    for (uint32_t i = 0; i < v->lanes; i++)
        args[2 + i] = loop_int(&v->b, (int64_t)(places[i] - from));
    charge(v, 1, 2);
    set_rep(v, stm->outs[0], loop_emit1(&v->b, LOOP_TAKE, args, 2 + v->lanes, type));
    return true;
}

static void do_load(Vector *v, const LoopStm *stm, LoopRef mask) {
    ScalarType elem = elem_of(v, stm->outs[0]);
    bool is_same = !v->varies[stm->outs[0]];
    if (is_same) {
        LoopRef *args = arena_array(v->arena, LoopRef, stm->arg_count);
        for (uint32_t i = 0; i < stm->arg_count; i++)
            args[i] = operand(v, stm->args[i]);
        set_rep(
            v, stm->outs[0],
            loop_emit1(&v->b, LOOP_LOAD, args, stm->arg_count, loop_scalar_type(elem)));
        return;
    }
    if (mask == 0 && take_places(v, stm)) return;
    uint32_t before = mask == 0 ? 1 : 2;
    Access p = place_of(v, stm, 1, before);
    p.args[0] = mask;
    p.args[before - 1] = rep_of(v, stm->args[0]).ref;
    charge_access(v, &p, mask);
    set_rep(v, stm->outs[0],
            loop_emit1(&v->b, mask == 0 ? LOOP_LOAD : LOOP_LOADIF, p.args, p.count,
                       lanes_of(v, elem)));
}

static void do_store(Vector *v, const LoopStm *stm, LoopRef mask) {
    uint32_t before = mask == 0 ? 2 : 3;
    Access p = place_of(v, stm, 2, before);
    p.args[0] = mask;
    p.args[before - 2] = rep_of(v, stm->args[0]).ref;
    p.args[before - 1] = vector(v, stm->args[1]);
    charge_access(v, &p, mask);
    loop_emit(&v->b, mask == 0 ? LOOP_STORE : LOOP_STOREIF, p.args, p.count, NULL, 0);
}

// Any lane that would fail is reason enough to give up.
static void do_check(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopRef c = operand(v, stm->args[0]);
    if (is_vector(v, c) && mask != 0)
        c = apply2(v, OP_OR, SCALAR_BOOL, c, negate(v, mask));
    charge(v, 1, is_vector(v, c) ? 2 : 1);
    loop_emit(&v->b, LOOP_SURE, &c, 1, NULL, 0);
}

// ---- branches -----------------------------------------------------------------------

// The body's results, which have lanes where those of the statement vary.
static LoopBody *close_body(Vector *v, const LoopStm *stm, const LoopBody *body) {
    LoopRef *results = arena_array(v->arena, LoopRef, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        results[i] = v->varies[stm->outs[i]] ? vector(v, body->results[i])
                                             : rep_of(v, body->results[i]).ref;
    return loop_close(&v->b, results, stm->out_count);
}

static LoopType *types_of(Vector *v, const LoopRef *refs, uint32_t count) {
    LoopType *types = arena_array(v->arena, LoopType, count + 2);
    for (uint32_t i = 0; i < count; i++)
        types[i] = v->varies[refs[i]] ? lanes_of(v, elem_of(v, refs[i]))
                                      : v->kernel->values.data[refs[i]].type;
    return types;
}

// All lanes go the same way.
static void do_branch(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopBody *bodies[2];
    LoopRef c = rep_of(v, stm->args[0]).ref;
    charge(v, 1, 1);
    for (int k = 0; k < 2; k++) {
        loop_open(&v->b, NULL, 0);
        translate(v, stm->bodies[k], mask);
        bodies[k] = close_body(v, stm, stm->bodies[k]);
    }
    LoopStm *made = loop_emit(&v->b, LOOP_IF, &c, 1,
                              types_of(v, stm->outs, stm->out_count), stm->out_count);
    loop_set_bodies(&v->b, made, bodies, 2);
    for (uint32_t i = 0; i < stm->out_count; i++)
        set_rep(v, stm->outs[i], made->outs[i]);
}

// Whether it may run for lanes that are all off, and is not worth a jump.
static bool is_harmless(const LoopBody *body) {
    enum { SHORT = 10 };
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_choice = stm->op == LOOP_IF && is_harmless(stm->bodies[0]) &&
                         is_harmless(stm->bodies[1]);
        bool fails = (core_op_info[stm->scalar].flags & OP_FAILS) != 0;
        if (!is_choice && (stm->op != LOOP_SCALAR || fails)) return false;
    }
    return body->stms.len <= SHORT;
}

// A branch for the lanes of a mask. results_out: with lanes or without.
static void do_arm(Vector *v, const LoopStm *stm, const LoopBody *body, LoopRef mask,
                   LoopRef *results_out) {
    if (is_harmless(body)) {
        translate(v, body, mask);
        for (uint32_t i = 0; i < stm->out_count; i++)
            results_out[i] = operand(v, body->results[i]);
        return;
    }
    LoopRef c = any(v, mask);
    LoopBody *bodies[2];
    loop_open(&v->b, NULL, 0);
    translate(v, body, mask);
    bodies[0] = close_body(v, stm, body);
    loop_open(&v->b, NULL, 0);
    for (uint32_t i = 0; i < stm->out_count; i++)
        results_out[i] = splat(v, loop_const(&v->b, elem_of(v, stm->outs[i]), 0));
    bodies[1] = loop_close(&v->b, results_out, stm->out_count);
    LoopStm *made = loop_emit(&v->b, LOOP_IF, &c, 1,
                              types_of(v, stm->outs, stm->out_count), stm->out_count);
    loop_set_bodies(&v->b, made, bodies, 2);
    for (uint32_t i = 0; i < stm->out_count; i++) results_out[i] = made->outs[i];
}

// Both arms of a short branch whose way is known of each lane.
static bool take_arms(Vector *v, const LoopStm *stm, LoopRef mask) {
    if (rep_of(v, stm->args[0]).kind != REP_TABLE || !is_harmless(stm->bodies[0]) ||
        !is_harmless(stm->bodies[1]))
        return false;
    for (int k = 0; k < 2; k++) translate(v, stm->bodies[k], mask);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        if (!v->used[stm->outs[i]]) continue;
        LoopRef *args = arena_array(v->arena, LoopRef, 2 + v->lanes);
        for (int k = 0; k < 2; k++) args[k] = vector(v, stm->bodies[k]->results[i]);
        for (uint32_t lane = 0; lane < v->lanes; lane++) {
            LoopRef c = lane_of(v, stm->args[0], lane);
            bool is_first = v->kernel->values.data[c].bits != 0;
            args[2 + lane] = loop_int(&v->b, is_first ? lane : v->lanes + lane);
        }
        charge(v, 1, 1);
        set_rep(v, stm->outs[i],
                loop_emit1(&v->b, LOOP_TAKE, args, 2 + v->lanes,
                           lanes_of(v, elem_of(v, stm->outs[i]))));
    }
    return true;
}

static void do_if(Vector *v, const LoopStm *stm, LoopRef mask) {
    if (!v->varies[stm->args[0]]) {
        do_branch(v, stm, mask);
        return;
    }
    if (take_arms(v, stm, mask)) return;
    LoopRef c = vector(v, stm->args[0]);
    LoopRef *yes = arena_array(v->arena, LoopRef, stm->out_count + 1);
    LoopRef *no = arena_array(v->arena, LoopRef, stm->out_count + 1);
    charge(v, 2, 0);
    do_arm(v, stm, stm->bodies[0], both(v, mask, c), yes);
    do_arm(v, stm, stm->bodies[1], both(v, mask, negate(v, c)), no);
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (v->used[stm->outs[i]])
            set_rep(v, stm->outs[i], select(v, c, yes[i], no[i]));
}

// ---- loops --------------------------------------------------------------------------

enum { TURNS = 8 }; // that a loop is taken to make

// Fresh params for old ones; the first `extra` are left to the caller.
static LoopRef *open_loop(Vector *v, const LoopStm *stm, const LoopRef *params,
                          uint32_t extra, const LoopType *types) {
    LoopRef *fresh = arena_array(v->arena, LoopRef, extra + stm->out_count);
    for (uint32_t i = 0; i < extra; i++) fresh[i] = loop_value(&v->b, types[i], 0);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        fresh[extra + i] = loop_value(&v->b, types[extra + i], 0);
        if (params != NULL) set_rep(v, params[i], fresh[extra + i]);
    }
    loop_open(&v->b, fresh, extra + stm->out_count);
    return fresh;
}

// What it starts with, after `extra` others.
static LoopRef *first_state(Vector *v, const LoopStm *stm, uint32_t extra) {
    uint32_t skipped = stm->op == LOOP_FOR;
    LoopRef *args = arena_array(v->arena, LoopRef, extra + stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        args[extra + i] = v->varies[stm->outs[i]]
                              ? vector(v, stm->args[skipped + i])
                              : rep_of(v, stm->args[skipped + i]).ref;
    return args;
}

static void end_loop(Vector *v, const LoopStm *stm, LoopStm *made, uint32_t extra) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        set_rep(v, stm->outs[i], made->outs[extra + i]);
}

// All lanes make the same turns.
static void do_for(Vector *v, const LoopStm *stm, LoopRef mask) {
    const LoopBody *old = stm->bodies[0];
    LoopRef *args = first_state(v, stm, 1);
    args[0] = rep_of(v, stm->args[0]).ref;
    LoopType *types = types_of(v, stm->outs, stm->out_count);
    LoopType *params = arena_array(v->arena, LoopType, stm->out_count + 1);
    params[0] = loop_scalar_type(elem_of(v, stm->args[0]));
    for (uint32_t i = 0; i < stm->out_count; i++) params[1 + i] = types[i];
    LoopRef *fresh = open_loop(v, stm, old->params + 1, 1, params);
    set_rep(v, old->params[0], fresh[0]);
    translate(v, old, mask);
    LoopBody *body = close_body(v, stm, old);
    LoopStm *made =
        loop_emit(&v->b, LOOP_FOR, args, 1 + stm->out_count, types, stm->out_count);
    loop_set_bodies(&v->b, made, &body, 1);
    end_loop(v, stm, made, 0);
}

static void do_while(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopBody *bodies[2];
    LoopRef *args = first_state(v, stm, 0);
    LoopType *types = types_of(v, stm->outs, stm->out_count);
    open_loop(v, stm, stm->bodies[0]->params, 0, types);
    translate(v, stm->bodies[0], mask);
    LoopRef c = rep_of(v, stm->bodies[0]->results[0]).ref;
    bodies[0] = loop_close(&v->b, &c, 1);
    open_loop(v, stm, stm->bodies[1]->params, 0, types);
    translate(v, stm->bodies[1], mask);
    bodies[1] = close_body(v, stm, stm->bodies[1]);
    LoopStm *made =
        loop_emit(&v->b, LOOP_WHILE, args, stm->out_count, types, stm->out_count);
    loop_set_bodies(&v->b, made, bodies, 2);
    end_loop(v, stm, made, 0);
}

// Lanes drop out of the loop one by one. It carries, in this order:
//   the mask of those still in it; of a FOR, the number of the turn; what else decides
//   for all of them whether they go on; what the guard has computed that the body would
//   compute again;
//   its state, for those that are in it, and
//   what those that have left had then, if somebody asks and it is not what they have.
typedef struct Apart {
    const LoopStm *stm;
    const LoopBody *body;
    LoopRef n; // of a FOR: the turns of each lane
    struct {
        LoopRef *data; // of the body, and of the guard, in turns
        uint32_t len, cap;
    } shared;
    bool has_same;         // a condition that is the same for all lanes
    uint32_t extra, count; // values before the state, and all of them
    LoopType *types;
} Apart;

static uint32_t place_of_same(const Apart *a) {
    return a->stm->op == LOOP_FOR ? 2 : 1;
}

// Whether lanes have it in step, so that those that leave must keep what they have.
static bool is_kept(const Vector *v, const Apart *a, uint32_t i) {
    const LoopStm *stm = a->stm;
    return v->used[stm->outs[i]] && !v->varies[a->body->params[i + (a->n != 0)]];
}

// Vectors of masks and of what is kept are as wide.
static ScalarType kept_type(const Vector *v, const Apart *a, uint32_t i) {
    ScalarType elem = elem_of(v, a->stm->outs[i]);
    return v->width == 4 && scalar_is_int(elem) ? SCALAR_I64 : elem;
}

static LoopRef kept(Vector *v, const Apart *a, uint32_t i, LoopRef x) {
    ScalarType type = kept_type(v, a, i);
    return type == elem_of(v, x) ? x : apply(v, OP_CONV, type, &x, 1);
}

static bool is_and(const LoopStm *stm) {
    return stm->op == LOOP_SCALAR && stm->scalar == OP_AND;
}

// Parts a condition in what the lanes have each and what all have; 0 is neither.
static void split_condition(Vector *v, const LoopBody *guard, LoopRef c, LoopRef *lanes,
                            LoopRef *same) {
    for (uint32_t i = 0; i < guard->stms.len; i++) {
        const LoopStm *stm = guard->stms.data[i];
        if (stm->out_count != 1 || stm->outs[0] != c || !is_and(stm)) continue;
        split_condition(v, guard, stm->args[0], lanes, same);
        split_condition(v, guard, stm->args[1], lanes, same);
        return;
    }
    LoopRef *to = v->varies[c] ? lanes : same, x = operand(v, c);
    *to = *to == 0 ? x : apply2(v, OP_AND, SCALAR_BOOL, *to, x);
}

// The guard of the state that its params are now. Puts the mask of the lanes that turn
// again, and what follows it.
static void go_on(Vector *v, const Apart *a, LoopRef mask, LoopRef number,
                  LoopRef *next) {
    if (a->n != 0) {
        charge(v, 1, 1);
        next[0] = both(v, mask, apply2(v, OP_LT, SCALAR_BOOL, number, a->n));
        next[1] = number;
        return;
    }
    const LoopBody *guard = a->stm->bodies[0];
    LoopRef lanes = 0, same = 0;
    uint32_t at = place_of_same(a);
    translate(v, guard, mask);
    split_condition(v, guard, guard->results[0], &lanes, &same);
    next[0] = both(v, mask, lanes);
    if (a->has_same) next[at++] = same;
    for (uint32_t i = 0; i < a->shared.len; i += 2)
        next[at++] = vector(v, a->shared.data[i + 1]);
}

static LoopBody *apart_guard(Vector *v, const Apart *a) {
    LoopRef *fresh = arena_array(v->arena, LoopRef, a->count);
    for (uint32_t i = 0; i < a->count; i++)
        fresh[i] = loop_value(&v->b, a->types[i], 0);
    loop_open(&v->b, fresh, a->count);
    LoopRef c = any(v, fresh[0]);
    if (a->has_same) c = loop_and(&v->b, c, fresh[place_of_same(a)]);
    return loop_close(&v->b, &c, 1);
}

// The state after a turn, and what lanes that have left keep.
static void next_state(Vector *v, const Apart *a, const LoopRef *fresh, LoopRef *next) {
    const LoopStm *stm = a->stm;
    uint32_t at = a->extra + stm->out_count;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopRef result = operand(v, a->body->results[i]), *to = &next[a->extra + i];
        *to = result;
        if (is_kept(v, a, i)) {
            next[at] = select(v, fresh[0], kept(v, a, i, result), fresh[at]);
            at++;
        } else if (v->varies[a->body->params[i + (a->n != 0)]]) {
            // What lanes that have ended hold matters only if somebody asks later.
            *to = v->used[stm->outs[i]]
                      ? select(v, fresh[0], result, fresh[a->extra + i])
                      : splat(v, result);
        }
    }
}

static LoopBody *apart_body(Vector *v, const Apart *a) {
    const LoopStm *stm = a->stm;
    uint32_t skipped = stm->op == LOOP_FOR;
    LoopRef *fresh = arena_array(v->arena, LoopRef, a->count), number = 0;
    LoopRef *next = arena_array(v->arena, LoopRef, a->count);
    for (uint32_t i = 0; i < a->count; i++)
        fresh[i] = loop_value(&v->b, a->types[i], 0);
    for (uint32_t i = 0; i < stm->out_count; i++)
        set_rep(v, a->body->params[skipped + i], fresh[a->extra + i]);
    for (uint32_t i = 0; i < a->shared.len; i += 2) {
        LoopRef ref = a->shared.data[i];
        set_rep(v, ref, fresh[a->extra - a->shared.len / 2 + i / 2]);
        v->given[ref] = true;
    }
    if (skipped) set_rep(v, a->body->params[0], fresh[1]);
    loop_open(&v->b, fresh, a->count);
    translate(v, a->body, fresh[0]);
    next_state(v, a, fresh, next);
    if (skipped) {
        ScalarType elem = elem_of(v, stm->args[0]);
        number = apply2(v, OP_ADD, elem, fresh[1], loop_const(&v->b, elem, 1));
    } else {
        for (uint32_t i = 0; i < stm->out_count; i++)
            set_rep(v, stm->bodies[0]->params[i], next[a->extra + i]);
    }
    go_on(v, a, fresh[0], number, next);
    return loop_close(&v->b, next, a->count);
}

// Whether what a guard's statement computes of the state is what one of the body does.
static bool is_alike(const Apart *a, const LoopStm *x, const LoopStm *y) {
    const LoopBody *guard = a->stm->bodies[0];
    if (x->op != LOOP_SCALAR || y->op != LOOP_SCALAR || x->scalar != y->scalar)
        return false;
    for (uint32_t i = 0; i < x->arg_count; i++) {
        bool is_one = x->args[i] == y->args[i];
        for (uint32_t k = 0; k < guard->param_count; k++)
            is_one = is_one || (x->args[i] == guard->params[k] &&
                                y->args[i] == a->body->params[k]);
        if (!is_one) return false;
    }
    return true;
}

static void find_shared(Vector *v, Apart *a) {
    const LoopBody *guard = a->stm->bodies[0];
    for (uint32_t i = 0; i < a->body->stms.len; i++)
        for (uint32_t k = 0; k < guard->stms.len; k++) {
            const LoopStm *x = guard->stms.data[k], *y = a->body->stms.data[i];
            if (!is_alike(a, x, y) || !v->varies[y->outs[0]] ||
                elem_of(v, x->outs[0]) != elem_of(v, y->outs[0]))
                continue;
            vec_push(v->arena, &a->shared, y->outs[0]);
            vec_push(v->arena, &a->shared, x->outs[0]);
            break;
        }
}

// Whether a part of the condition is the same for all lanes.
static bool has_same_part(const Vector *v, const LoopBody *guard, LoopRef c) {
    for (uint32_t i = 0; i < guard->stms.len; i++) {
        const LoopStm *stm = guard->stms.data[i];
        if (stm->out_count == 1 && stm->outs[0] == c && is_and(stm))
            return has_same_part(v, guard, stm->args[0]) ||
                   has_same_part(v, guard, stm->args[1]);
    }
    return !v->varies[c];
}

static void find_types(Vector *v, Apart *a) {
    const LoopStm *stm = a->stm;
    uint32_t at = 0, count = stm->out_count;
    a->types = arena_array(v->arena, LoopType, 3 + a->shared.len / 2 + 2 * count);
    a->types[at++] = lanes_of(v, SCALAR_BOOL);
    if (a->n != 0) a->types[at++] = loop_scalar_type(elem_of(v, stm->args[0]));
    if (a->has_same) a->types[at++] = loop_scalar_type(SCALAR_BOOL);
    for (uint32_t i = 0; i < a->shared.len; i += 2)
        a->types[at++] = lanes_of(v, elem_of(v, a->shared.data[i]));
    a->extra = at;
    for (uint32_t i = 0; i < count; i++) {
        LoopRef param = a->body->params[i + (a->n != 0)];
        a->types[at++] = v->varies[param] ? lanes_of(v, elem_of(v, param))
                                          : v->kernel->values.data[param].type;
    }
    for (uint32_t i = 0; i < count; i++)
        if (is_kept(v, a, i)) a->types[at++] = lanes_of(v, kept_type(v, a, i));
    a->count = at;
}

// What it starts with.
static LoopRef *apart_args(Vector *v, const Apart *a, LoopRef mask) {
    const LoopStm *stm = a->stm;
    uint32_t skipped = stm->op == LOOP_FOR, at = a->extra + stm->out_count;
    LoopRef *args = arena_array(v->arena, LoopRef, a->count), number = 0;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopRef first = operand(v, stm->args[skipped + i]);
        args[a->extra + i] =
            v->varies[a->body->params[skipped + i]] ? splat(v, first) : first;
        if (is_kept(v, a, i)) args[at++] = splat(v, kept(v, a, i, first));
        if (!skipped) set_rep(v, stm->bodies[0]->params[i], args[a->extra + i]);
    }
    if (skipped) number = loop_const(&v->b, elem_of(v, stm->args[0]), 0);
    go_on(v, a, mask, number, args);
    return args;
}

static void do_apart(Vector *v, const LoopStm *stm, LoopRef mask) {
    bool is_for = stm->op == LOOP_FOR;
    Apart a = {.stm = stm,
               .body = stm->bodies[stm->body_count - 1],
               .n = is_for ? vector(v, stm->args[0]) : 0};
    if (!is_for) {
        a.has_same = has_same_part(v, stm->bodies[0], stm->bodies[0]->results[0]);
        find_shared(v, &a);
    }
    find_types(v, &a);
    LoopRef *args = apart_args(v, &a, mask);
    LoopBody *bodies[2];
    bodies[0] = apart_guard(v, &a);
    bodies[1] = apart_body(v, &a);
    LoopStm *made = loop_emit(&v->b, LOOP_WHILE, args, a.count, a.types, a.count);
    loop_set_bodies(&v->b, made, bodies, 2);
    for (uint32_t i = 0, at = a.extra + stm->out_count; i < stm->out_count; i++) {
        LoopRef out = made->outs[a.extra + i];
        if (is_kept(v, &a, i)) {
            ScalarType elem = elem_of(v, stm->outs[i]);
            out = made->outs[at++];
            if (elem_of(v, out) != elem) out = apply(v, OP_CONV, elem, &out, 1);
        }
        set_rep(v, stm->outs[i], out);
    }
}

static void do_loop(Vector *v, const LoopStm *stm, LoopRef mask) {
    bool is_for = stm->op == LOOP_FOR;
    double weight = v->weight;
    v->weight *= TURNS;
    charge(v, 1, 1);
    if (v->varies[is_for ? stm->args[0] : stm->bodies[0]->results[0]])
        do_apart(v, stm, mask);
    else if (is_for) do_for(v, stm, mask);
    else do_while(v, stm, mask);
    v->weight = weight;
}

// ---- all ----------------------------------------------------------------------------

static void do_stm(Vector *v, const LoopStm *stm, LoopRef mask) {
    v->b.loc = stm->loc;
    switch (stm->op) {
    case LOOP_SCALAR: do_scalar(v, stm, mask); return;
    case LOOP_LOAD: do_load(v, stm, mask); return;
    case LOOP_STORE: do_store(v, stm, mask); return;
    case LOOP_CHECK: do_check(v, stm, mask); return;
    case LOOP_IF: do_if(v, stm, mask); return;
    case LOOP_FOR:
    case LOOP_WHILE: do_loop(v, stm, mask); return;
    case LOOP_DATA: {
        LoopType type = v->kernel->values.data[stm->outs[0]].type;
        LoopStm *made = loop_emit(&v->b, LOOP_DATA, NULL, 0, &type, 1);
        made->text = stm->text;
        set_rep(v, stm->outs[0], made->outs[0]);
        return;
    }
    default: return; // a mark, which nothing frees
    }
}

static void translate(Vector *v, const LoopBody *body, LoopRef mask) {
    for (uint32_t i = 0; i < body->stms.len; i++) do_stm(v, body->stms.data[i], mask);
}

LoopBody *vector_translate(Vector *v, const LoopBody *body) {
    LoopRef index = loop_value(&v->b, loop_scalar_type(SCALAR_I64), 0);
    v->reps[body->params[0]] = (Rep){.kind = REP_LINEAR,
                                     .ref = v->at_once ? loop_int(&v->b, 0) : index,
                                     .stride = loop_int(&v->b, 1)};
    v->kernel->values.data[index].name = v->kernel->values.data[body->params[0]].name;
    loop_open(&v->b, &index, 1);
    translate(v, body, 0);
    return loop_close(&v->b, NULL, 0);
}
