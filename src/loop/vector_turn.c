// SPDX-License-Identifier: Apache-2.0
//
// One turn of a loop as a vector turn. What is the same for all lanes stays as it is,
// what grows evenly from lane to lane is kept as two numbers, the rest has lanes. Code
// that not all lanes run has a mask of those that do; it runs only while one does, save
// short branches that touch nothing. Lanes that are off compute something, and nobody
// looks at it.
#include "loop/vector_turn.h"

#include "core/rules.h"

ScalarType turn_elem_of(const Vector *v, LoopRef ref) {
    return (ScalarType)v->kernel->values.data[ref].type.elem;
}

// ---- costs --------------------------------------------------------------------------

// Of a turn, and of a vector that holds so many lanes as fit.
void turn_charge(Vector *v, double scalar, double vector) {
    v->scalar_cost += v->weight * scalar;
    v->vector_cost += v->weight * vector;
}

// Compilers multiply by the inverse of a known divisor.
static void charge_division(Vector *v, const LoopStm *stm, ScalarType type) {
    LoopRef y = stm->args[1];
    bool is_known = v->kernel->values.data[y].is_const;
    bool is_poor = is_known && scalar_info[type].bytes == 8 && v->bytes < 64;
    turn_charge(v, is_known ? 6 : 12, is_poor ? 7 * v->width : 24);
}

static void charge_scalar(Vector *v, const LoopStm *stm) {
    CoreOp op = stm->scalar;
    ScalarType in = turn_elem_of(v, stm->args[0]), to = turn_elem_of(v, stm->outs[0]);
    bool is_float = scalar_is_float(in);
    if (core_divides(op, in)) {
        charge_division(v, stm, in);
        return;
    }
    switch (op) {
    case OP_DIV:
    case OP_SQRT: turn_charge(v, 5, 10); return;
    case OP_MOD:
    case OP_POW: turn_charge(v, 10, 11 * v->width); return;
    case OP_MULHI:
    case OP_POPC:
    case OP_CLZ:
    case OP_CTZ:
    case OP_NEXT: turn_charge(v, 1, 3 * v->width); return;
    case OP_MUL:
        turn_charge(v, 1, !is_float && scalar_info[in].bytes != 4 ? 6 : 1);
        return;
    case OP_MIN:
    case OP_MAX: turn_charge(v, is_float ? 4 : 2, is_float ? 6 : 2); return;
    case OP_CONV:
        if (is_float && !scalar_is_float(to)) turn_charge(v, 3, 5 * v->width);
        else if (!is_float && scalar_is_float(to) && scalar_info[in].bytes == 8)
            turn_charge(v, 1, 2 * v->width);
        else turn_charge(v, 1, in == SCALAR_BOOL || to == SCALAR_BOOL ? 1 : 2);
        return;
    default: turn_charge(v, 1, 1); return;
    }
}

// ---- values -------------------------------------------------------------------------

LoopType turn_lanes_of(const Vector *v, ScalarType elem) {
    LoopType type = loop_scalar_type(elem);
    type.lanes = (uint8_t)v->lanes;
    return type;
}

bool turn_is_vector(const Vector *v, LoopRef ref) {
    return v->kernel->values.data[ref].type.lanes > 0;
}

// An operator on new values, in lanes if one of them has lanes.
LoopRef turn_apply(Vector *v, CoreOp op, ScalarType to, const LoopRef *args,
                   uint32_t count) {
    bool has_lanes = false;
    for (uint32_t i = 0; i < count; i++)
        has_lanes = has_lanes || turn_is_vector(v, args[i]);
    if (!has_lanes) return loop_scalar(&v->b, op, to, args, count);
    LoopType type = turn_lanes_of(v, to);
    LoopStm *stm = loop_emit(&v->b, LOOP_SCALAR, args, count, &type, 1);
    stm->scalar = op;
    return stm->outs[0];
}

LoopRef turn_apply2(Vector *v, CoreOp op, ScalarType to, LoopRef x, LoopRef y) {
    return turn_apply(v, op, to, (LoopRef[]){x, y}, 2);
}

LoopRef turn_splat(Vector *v, LoopRef x) {
    LoopType type = turn_lanes_of(v, turn_elem_of(v, x));
    return turn_is_vector(v, x) ? x : loop_emit1(&v->b, LOOP_SPLAT, &x, 1, type);
}

LoopRef turn_select(Vector *v, LoopRef mask, LoopRef x, LoopRef y) {
    LoopType type = turn_lanes_of(v, turn_elem_of(v, x));
    turn_charge(v, 0, 1);
    return loop_emit1(&v->b, LOOP_SELECT, (LoopRef[]){mask, x, y}, 3, type);
}

LoopRef turn_number_lanes(Vector *v, ScalarType elem) {
    return loop_emit1(&v->b, LOOP_LANES, NULL, 0, turn_lanes_of(v, elem));
}

LoopRef turn_any(Vector *v, LoopRef mask) {
    turn_charge(v, 0, 2);
    return loop_emit1(&v->b, LOOP_ANY, &mask, 1, loop_scalar_type(SCALAR_BOOL));
}

LoopStm *turn_find_here(const Vector *v, LoopRef ref) {
    const LoopBody *here = v->b.open.data[v->b.open.len - 1];
    for (uint32_t i = here->stms.len; i-- > 0;)
        for (uint32_t k = 0; k < here->stms.data[i]->out_count; k++)
            if (here->stms.data[i]->outs[k] == ref) return here->stms.data[i];
    return NULL;
}

bool turn_is_quiet(const LoopStm *stm) {
    switch ((int)stm->op) {
    case LOOP_SCALAR:
    case LOOP_LOAD:
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE: return true;
    default: return false;
    }
}

bool turn_is_quiet_since(const Vector *v, const LoopStm *stm) {
    const LoopBody *here = v->b.open.data[v->b.open.len - 1];
    uint32_t i = here->stms.len;
    while (i > 0 && here->stms.data[i - 1] != stm &&
           turn_is_quiet(here->stms.data[i - 1]))
        i--;
    return i > 0 && here->stms.data[i - 1] == stm;
}

Rep turn_rep_of(const Vector *v, LoopRef old) {
    if (old >= v->old) return (Rep){.ref = old}; // a constant of ours
    Rep rep = v->reps[old];
    if (rep.ref == 0) rep.ref = old;
    return rep;
}

void turn_set_rep(Vector *v, LoopRef old, LoopRef ref) {
    v->reps[old] =
        (Rep){.kind = turn_is_vector(v, ref) ? REP_VECTOR : REP_SAME, .ref = ref};
    LoopValue *value = &v->kernel->values.data[ref];
    if (ref >= v->old && !value->is_const && value->name == 0)
        value->name = v->kernel->values.data[old].name;
}

// The value for an operator: without lanes if it is the same in all.
LoopRef turn_operand(Vector *v, LoopRef old) {
    Rep rep = turn_rep_of(v, old);
    ScalarType elem = turn_elem_of(v, old);
    if (rep.kind == REP_TABLE)
        return loop_emit1(&v->b, LOOP_PACK, rep.table, v->lanes,
                          turn_lanes_of(v, elem));
    if (rep.kind != REP_LINEAR) return rep.ref;
    LoopRef steps = turn_number_lanes(v, elem);
    if (!loop_is_int(&v->b, rep.stride, 1))
        steps = turn_apply2(v, OP_MUL, elem, steps, rep.stride);
    return turn_apply2(v, OP_ADD, elem, steps, rep.ref);
}

LoopRef turn_vector(Vector *v, LoopRef old) {
    return turn_splat(v, turn_operand(v, old));
}

LoopRef turn_both(Vector *v, LoopRef mask, LoopRef c) {
    return mask == 0 ? turn_splat(v, c) : turn_apply2(v, OP_AND, SCALAR_BOOL, mask, c);
}

LoopRef turn_negate(Vector *v, LoopRef c) {
    return turn_apply(v, OP_NOT, SCALAR_BOOL, &c, 1);
}

// ---- scalars ------------------------------------------------------------------------

// Sums and products of what grows evenly do so, too; integers wrap.
static bool is_linear(Vector *v, const LoopStm *stm, Rep *rep_out) {
    if (stm->arg_count != 2) return false;
    Rep x = turn_rep_of(v, stm->args[0]), y = turn_rep_of(v, stm->args[1]);
    ScalarType elem = turn_elem_of(v, stm->args[0]);
    bool is_scaled = (x.kind == REP_SAME) != (y.kind == REP_SAME);
    if (!scalar_is_int(elem) || x.kind > REP_LINEAR || y.kind > REP_LINEAR ||
        (stm->scalar != OP_ADD && stm->scalar != OP_SUB &&
         !(stm->scalar == OP_MUL && is_scaled)))
        return false;
    LoopRef zero = loop_const(&v->b, elem, 0);
    LoopRef dx = x.kind == REP_LINEAR ? x.stride : zero;
    LoopRef dy = y.kind == REP_LINEAR ? y.stride : zero;
    rep_out->kind = REP_LINEAR;
    rep_out->ref = turn_apply2(v, stm->scalar, elem, x.ref, y.ref);
    if (stm->scalar == OP_MUL)
        rep_out->stride = x.kind == REP_LINEAR
                              ? turn_apply2(v, OP_MUL, elem, dx, y.ref)
                              : turn_apply2(v, OP_MUL, elem, dy, x.ref);
    else rep_out->stride = turn_apply2(v, stm->scalar, elem, dx, dy);
    return true;
}

// Of numbers that grow evenly: as floats they are counted up; narrow ones do so, too.
static bool is_converted(Vector *v, const LoopStm *stm) {
    if (stm->scalar != OP_CONV) return false;
    ScalarType in = turn_elem_of(v, stm->args[0]), to = turn_elem_of(v, stm->outs[0]);
    Rep x = turn_rep_of(v, stm->args[0]);
    if (x.kind != REP_LINEAR || in != SCALAR_I64) return false;
    if (scalar_is_int(to)) {
        x.ref = turn_apply(v, OP_CONV, to, &x.ref, 1);
        x.stride = turn_apply(v, OP_CONV, to, &x.stride, 1);
        v->reps[stm->outs[0]] = x;
        return true;
    }
    if (to != SCALAR_F32 && to != SCALAR_F64) return false;
    turn_charge(v, 1, 3);
    turn_set_rep(v, stm->outs[0],
                 loop_emit1(&v->b, LOOP_LANES, (LoopRef[]){x.ref, x.stride}, 2,
                            turn_lanes_of(v, to)));
    return true;
}

static bool is_known(const Vector *v, LoopRef ref) {
    return v->kernel->values.data[ref].is_const;
}

// The value in a lane, if it is known; else 0.
LoopRef turn_lane_of(Vector *v, LoopRef old, uint32_t lane) {
    Rep rep = turn_rep_of(v, old);
    if (rep.kind == REP_TABLE) return rep.table[lane];
    if (rep.kind == REP_VECTOR || !is_known(v, rep.ref)) return 0;
    if (rep.kind == REP_SAME) return rep.ref;
    if (!is_known(v, rep.stride)) return 0;
    ScalarType elem = turn_elem_of(v, old);
    LoopRef steps =
        turn_apply2(v, OP_MUL, elem, rep.stride, loop_const(&v->b, elem, lane));
    return turn_apply2(v, OP_ADD, elem, rep.ref, steps);
}

// Where the turns are one vector turn, what follows from their index alone is known.
static bool is_table(Vector *v, const LoopStm *stm, Rep *rep_out) {
    LoopRef args[3];
    if (!v->at_once || (core_op_info[stm->scalar].flags & OP_FAILS) != 0) return false;
    LoopRef *table = arena_array(v->arena, LoopRef, v->lanes);
    for (uint32_t lane = 0; lane < v->lanes; lane++) {
        for (uint32_t i = 0; i < stm->arg_count; i++)
            if ((args[i] = turn_lane_of(v, stm->args[i], lane)) == 0) return false;
        table[lane] = loop_scalar(&v->b, stm->scalar, turn_elem_of(v, stm->outs[0]),
                                  args, stm->arg_count);
        if (!is_known(v, table[lane])) return false;
    }
    *rep_out = (Rep){.kind = REP_TABLE, .table = table};
    return true;
}

// Of a quotient by a known power of two, rounded down, the bits that are left; of such
// a remainder those that are not.
static CoreOp by_bits(Vector *v, CoreOp op, ScalarType in, LoopRef *y) {
    uint64_t bits, shift = 0;
    bool has_sign = scalar_is_signed(in);
    bool is_down = op == OP_DIV || (op == OP_QUOT && !has_sign);
    bool is_rest = op == OP_MOD || (op == OP_REM && !has_sign);
    if (!scalar_is_int(in) || (!is_down && !is_rest) ||
        !loop_is_known(&v->b, *y, &bits) || bits == 0 || (bits & (bits - 1)) != 0 ||
        (has_sign && bits >> (8u * scalar_info[in].bytes - 1) != 0))
        return op;
    while (bits >> shift > 1) shift++;
    *y = loop_const(&v->b, in, is_down ? shift : bits - 1);
    return is_down ? OP_SHR : OP_AND;
}

LoopRef turn_scalar(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopRef args[3];
    CoreOp op = stm->scalar;
    ScalarType in = turn_elem_of(v, stm->args[0]), to = turn_elem_of(v, stm->outs[0]);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        args[i] = turn_operand(v, stm->args[i]);
    LoopRef *last = &args[stm->arg_count - 1];
    if (v->varies[stm->outs[0]]) {
        op = by_bits(v, op, in, last);
        bool fails = (core_op_info[op].flags & OP_FAILS) != 0 && scalar_is_int(in);
        if (fails && turn_is_vector(v, *last)) mask = turn_live(v, mask);
        if (fails && mask != 0 && !is_known(v, *last))
            *last = turn_select(v, mask, *last, loop_const(&v->b, in, 1));
    }
    return turn_apply(v, op, to, args, stm->arg_count);
}

static void do_scalar(Vector *v, const LoopStm *stm, LoopRef mask) {
    Rep *rep = &v->reps[stm->outs[0]];
    bool varies = v->varies[stm->outs[0]];
    if (v->given[stm->outs[0]] || (varies && is_linear(v, stm, rep)) ||
        is_converted(v, stm) || (varies && is_table(v, stm, rep)) ||
        (varies && turn_remainder(v, stm, mask)))
        return;
    LoopRef out = turn_scalar(v, stm, mask);
    if (turn_is_vector(v, out)) charge_scalar(v, turn_find_here(v, out));
    turn_set_rep(v, stm->outs[0], out);
    turn_note_compared(v, stm);
}

// A plain function is meant for what happens rarely. A short one has its body here, in
// lanes: a call would keep the constants of the turn from registers. A long one is
// called by each lane alone.
static void do_apply(Vector *v, const LoopStm *stm, LoopRef mask) {
    bool varies = v->varies[stm->outs[0]];
    const LoopBody *plain = varies ? vector_plain(v, stm) : NULL;
    if (plain != NULL) {
        for (uint32_t i = 0; i < stm->arg_count; i++)
            v->reps[plain->params[i]] = turn_rep_of(v, stm->args[i]);
        turn_translate(v, plain, mask);
        for (uint32_t i = 0; i < stm->out_count; i++)
            v->reps[stm->outs[i]] = turn_rep_of(v, plain->results[i]);
        return;
    }
    LoopRef *args = arena_array(v->arena, LoopRef, stm->arg_count + 1);
    if (varies) mask = turn_live(v, mask);
    if (varies) args[0] = turn_both(v, mask, loop_const(&v->b, SCALAR_BOOL, 1));
    for (uint32_t i = 0; i < stm->arg_count; i++)
        args[i + varies] = turn_operand(v, stm->args[i]);
    turn_charge(v, 10, 10 * v->width);
    LoopStm *made =
        loop_emit(&v->b, LOOP_APPLY, args, stm->arg_count + varies,
                  turn_types_of(v, stm->outs, stm->out_count), stm->out_count);
    made->number = stm->number;
    for (uint32_t i = 0; i < stm->out_count; i++)
        turn_set_rep(v, stm->outs[i], made->outs[i]);
}

// ---- branches -----------------------------------------------------------------------

// The body's results, which have lanes where those of the statement vary.
LoopBody *turn_close_body(Vector *v, const LoopStm *stm, const LoopBody *body) {
    LoopRef *results = arena_array(v->arena, LoopRef, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        results[i] = v->varies[stm->outs[i]] ? turn_vector(v, body->results[i])
                                             : turn_rep_of(v, body->results[i]).ref;
    return loop_close(&v->b, results, stm->out_count);
}

LoopType *turn_types_of(Vector *v, const LoopRef *refs, uint32_t count) {
    LoopType *types = arena_array(v->arena, LoopType, count + 2);
    for (uint32_t i = 0; i < count; i++)
        types[i] = v->varies[refs[i]] ? turn_lanes_of(v, turn_elem_of(v, refs[i]))
                                      : v->kernel->values.data[refs[i]].type;
    return types;
}

// All lanes go the same way.
static void do_branch(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopBody *bodies[2];
    LoopRef c = turn_rep_of(v, stm->args[0]).ref;
    turn_charge(v, 1, 1);
    for (int k = 0; k < 2; k++) {
        loop_open(&v->b, NULL, 0);
        turn_translate(v, stm->bodies[k], mask);
        bodies[k] = turn_close_body(v, stm, stm->bodies[k]);
    }
    LoopStm *made =
        loop_emit(&v->b, LOOP_IF, &c, 1, turn_types_of(v, stm->outs, stm->out_count),
                  stm->out_count);
    loop_set_bodies(&v->b, made, bodies, 2);
    for (uint32_t i = 0; i < stm->out_count; i++)
        turn_set_rep(v, stm->outs[i], made->outs[i]);
}

// Whether it may run for lanes that are all off, and is not worth a jump.
static bool is_harmless(const LoopBody *body, bool has_mask) {
    enum { SHORT = 10 };
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_choice = stm->op == LOOP_IF && is_harmless(stm->bodies[0], has_mask) &&
                         is_harmless(stm->bodies[1], has_mask);
        bool fails = (core_op_info[stm->scalar].flags & OP_FAILS) != 0;
        if (stm->op == LOOP_ATOMIC && has_mask) continue; // of no lanes it adds nothing
        if (!is_choice && (stm->op != LOOP_SCALAR || fails)) return false;
    }
    return body->stms.len <= SHORT;
}

// What is harmless, for all lanes. results_out: with lanes or without.
static void do_short_arm(Vector *v, const LoopStm *stm, const LoopBody *body,
                         LoopRef mask, LoopRef *results_out) {
    turn_translate(v, body, mask);
    for (uint32_t i = 0; i < stm->out_count; i++)
        results_out[i] = turn_operand(v, body->results[i]);
}

// If any lane of the mask wants it. others: what the other lanes have, so that nothing
// is chosen where none wants it; NULL: not known yet. Gives what both have.
static LoopRef *do_long_arm(Vector *v, const LoopStm *stm, const LoopBody *body,
                            LoopRef mask, const LoopRef *others) {
    LoopRef *fresh = arena_array(v->arena, LoopRef, stm->out_count + 1);
    LoopRef *kept = arena_array(v->arena, LoopRef, stm->out_count + 1);
    LoopRef c = turn_any(v, mask);
    LoopBody *bodies[2];
    loop_open(&v->b, NULL, 0);
    turn_translate(v, body, mask);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        fresh[i] = turn_vector(v, body->results[i]);
        if (others != NULL && v->used[stm->outs[i]])
            fresh[i] = turn_select(v, mask, fresh[i], others[i]);
    }
    bodies[0] = loop_close(&v->b, fresh, stm->out_count);
    loop_open(&v->b, NULL, 0);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        ScalarType elem = turn_elem_of(v, stm->outs[i]);
        kept[i] =
            turn_splat(v, others != NULL ? others[i] : loop_const(&v->b, elem, 0));
    }
    bodies[1] = loop_close(&v->b, kept, stm->out_count);
    LoopStm *made =
        loop_emit(&v->b, LOOP_IF, &c, 1, turn_types_of(v, stm->outs, stm->out_count),
                  stm->out_count);
    loop_set_bodies(&v->b, made, bodies, 2);
    return made->outs;
}

// Whether it is one load, with what says where.
static bool is_load(const LoopBody *body) {
    uint32_t last = body->stms.len - 1;
    LoopBody before = *body;
    if (body->stms.len == 0 || body->stms.data[last]->op != LOOP_LOAD) return false;
    before.stms.len = last;
    return is_harmless(&before, false);
}

// Whether the lane goes that way, which is known of each.
static bool takes_arm(Vector *v, LoopRef c, uint32_t lane, int arm) {
    bool is_first = v->kernel->values.data[turn_lane_of(v, c, lane)].bits != 0;
    return is_first == (arm == 0);
}

static bool any_takes_arm(Vector *v, LoopRef c, int arm) {
    for (uint32_t lane = 0; lane < v->lanes; lane++)
        if (takes_arm(v, c, lane, arm)) return true;
    return false;
}

// The lanes that go that way.
static LoopRef lanes_of_arm(Vector *v, LoopRef c, int arm) {
    LoopRef *table = arena_array(v->arena, LoopRef, v->lanes);
    for (uint32_t lane = 0; lane < v->lanes; lane++)
        table[lane] = loop_const(&v->b, SCALAR_BOOL, takes_arm(v, c, lane, arm));
    return loop_emit1(&v->b, LOOP_PACK, table, v->lanes, turn_lanes_of(v, SCALAR_BOOL));
}

// Lanes of a vector.
typedef struct Lanes {
    LoopRef vector;
    const LoopRef *from; // by lane: which of the vector's it is; NULL: the same
    LoopRef only;        // or the one that it is in all lanes; 0: there is none
} Lanes;

// The value, which has lanes, as lanes of the vector of which it was taken.
static Lanes lanes_of(Vector *v, LoopRef value) {
    Lanes lanes = {.vector = value};
    const LoopStm *stm = turn_find_here(v, value);
    if (stm != NULL && stm->op == LOOP_TAKE && stm->args[0] == stm->args[1])
        lanes = (Lanes){.vector = stm->args[0], .from = stm->args + 2};
    const LoopStm *load =
        stm != NULL && stm->op == LOOP_SPLAT ? turn_find_here(v, stm->args[0]) : NULL;
    LoopRef around = load != NULL ? turn_load_around(v, load, &lanes.only) : 0;
    if (around != 0) lanes.vector = around;
    return lanes;
}

// Lanes of the one value and of the other.
static LoopRef take_either(Vector *v, const LoopStm *stm, const LoopRef values[2]) {
    LoopRef *args = arena_array(v->arena, LoopRef, 2 + v->lanes);
    Lanes lanes[2];
    for (int k = 0; k < 2; k++) {
        lanes[k] = lanes_of(v, values[k]);
        args[k] = lanes[k].vector;
    }
    if (turn_are_same(v, args[0], args[1])) args[1] = args[0];
    for (uint32_t lane = 0; lane < v->lanes; lane++) {
        int k = takes_arm(v, stm->args[0], lane, 0) ? 0 : 1;
        LoopRef from = lanes[k].from != NULL ? lanes[k].from[lane] : lanes[k].only;
        uint64_t at = from != 0 ? v->kernel->values.data[from].bits : lane;
        if (args[0] != args[1]) at += (uint64_t)k * v->lanes;
        args[2 + lane] = loop_int(&v->b, (int64_t)at);
    }
    turn_charge(v, 1, 1);
    LoopType type = turn_lanes_of(v, loop_type(&v->b, values[0]).elem);
    return loop_emit1(&v->b, LOOP_TAKE, args, 2 + v->lanes, type);
}

// Both arms of a short branch whose way is known of each lane.
static bool take_arms(Vector *v, const LoopStm *stm, LoopRef mask) {
    bool loads[2];
    if (turn_rep_of(v, stm->args[0]).kind != REP_TABLE) return false;
    for (int k = 0; k < 2; k++) {
        loads[k] =
            mask == 0 && is_load(stm->bodies[k]) && any_takes_arm(v, stm->args[0], k);
        if (!loads[k] && !is_harmless(stm->bodies[k], false)) return false;
    }
    for (int k = 0; k < 2; k++)
        turn_translate(v, stm->bodies[k],
                       loads[k] ? lanes_of_arm(v, stm->args[0], k) : mask);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        if (!v->used[stm->outs[i]]) continue;
        LoopRef values[2];
        for (int k = 0; k < 2; k++)
            values[k] = turn_vector(v, stm->bodies[k]->results[i]);
        turn_set_rep(v, stm->outs[i], take_either(v, stm, values));
    }
    return true;
}

static void do_if(Vector *v, const LoopStm *stm, LoopRef mask) {
    if (!v->varies[stm->args[0]]) {
        do_branch(v, stm, mask);
        return;
    }
    if (take_arms(v, stm, mask)) return;
    LoopRef c = turn_vector(v, stm->args[0]);
    LoopRef masks[2] = {turn_both(v, mask, c), turn_both(v, mask, turn_negate(v, c))};
    LoopRef *results[2] = {NULL, NULL}, *all = NULL;
    turn_charge(v, 2, 0);
    for (int k = 0; k < 2; k++) {
        if (!is_harmless(stm->bodies[k], true)) continue;
        results[k] = arena_array(v->arena, LoopRef, stm->out_count + 1);
        do_short_arm(v, stm, stm->bodies[k], masks[k], results[k]);
    }
    for (int k = 0; k < 2; k++)
        if (results[k] == NULL)
            all = results[k] =
                do_long_arm(v, stm, stm->bodies[k], masks[k], results[1 - k]);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        if (!v->used[stm->outs[i]]) continue;
        LoopRef out =
            all != NULL ? all[i] : turn_select(v, c, results[0][i], results[1][i]);
        turn_set_rep(v, stm->outs[i], out);
        if (all == NULL) turn_note_chosen(v, stm, i);
    }
}

// ---- all ----------------------------------------------------------------------------

static void do_stm(Vector *v, const LoopStm *stm, LoopRef mask) {
    v->b.loc = stm->loc;
    switch (stm->op) {
    case LOOP_SCALAR: do_scalar(v, stm, mask); return;
    case LOOP_LOAD: turn_load(v, stm, mask); return;
    case LOOP_STORE: turn_store(v, stm, mask); return;
    case LOOP_ATOMIC: turn_tally(v, stm, mask); return;
    case LOOP_CHECK: turn_check(v, stm, mask); return;
    case LOOP_APPLY: do_apply(v, stm, mask); return;
    case LOOP_IF: do_if(v, stm, mask); return;
    case LOOP_FOR:
    case LOOP_WHILE: turn_loop(v, stm, mask); return;
    case LOOP_DATA: {
        LoopType type = v->kernel->values.data[stm->outs[0]].type;
        LoopStm *made = loop_emit(&v->b, LOOP_DATA, NULL, 0, &type, 1);
        made->text = stm->text;
        turn_set_rep(v, stm->outs[0], made->outs[0]);
        return;
    }
    default: return; // a mark, which nothing frees
    }
}

void turn_translate(Vector *v, const LoopBody *body, LoopRef mask) {
    for (uint32_t i = 0; i < body->stms.len; i++) do_stm(v, body->stms.data[i], mask);
}

LoopBody *vector_translate(Vector *v, const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    LoopRef index = loop_value(&v->b, loop_scalar_type(SCALAR_I64), 0);
    v->reps[body->params[0]] = (Rep){.kind = REP_LINEAR,
                                     .ref = v->at_once ? loop_int(&v->b, 0) : index,
                                     .stride = loop_int(&v->b, 1)};
    v->kernel->values.data[index].name = v->kernel->values.data[body->params[0]].name;
    loop_open(&v->b, &index, 1);
    v->live = v->is_partial ? turn_find_live(v, index, loop->args[0]) : 0;
    turn_translate(v, body, 0);
    return loop_close(&v->b, NULL, 0);
}
