// SPDX-License-Identifier: Apache-2.0
//
// Loops in a vector turn. If all lanes make the same turns the loop stays as it is, on
// vectors; else it goes on while any lane is in it, with a mask of those that are.
#include "loop/machine.h"
#include "loop/vector_turn.h"

enum { TURNS = 8 }; // that a loop is taken to make

static bool binds(const LoopStm *stm, LoopRef ref) {
    return stm->out_count == 1 && stm->outs[0] == ref;
}

static bool uses(const LoopStm *stm, LoopRef ref) {
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (stm->args[i] == ref) return true;
    return false;
}

// Fresh params for old ones; the first `extra` are left to the caller.
static LoopRef *open_loop(Vector *v, const LoopStm *stm, const LoopRef *params,
                          uint32_t extra, const LoopType *types) {
    LoopRef *fresh = arena_array(v->arena, LoopRef, extra + stm->out_count);
    for (uint32_t i = 0; i < extra; i++) fresh[i] = loop_value(&v->b, types[i], 0);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        fresh[extra + i] = loop_value(&v->b, types[extra + i], 0);
        if (params != NULL) turn_set_rep(v, params[i], fresh[extra + i]);
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
                              ? turn_vector(v, stm->args[skipped + i])
                              : turn_rep_of(v, stm->args[skipped + i]).ref;
    return args;
}

static void end_loop(Vector *v, const LoopStm *stm, LoopStm *made, uint32_t extra) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        turn_set_rep(v, stm->outs[i], made->outs[extra + i]);
}

// Takes out of the body that is open what something else has come in place of.
static void drop(Vector *v, const LoopStm *stm) {
    LoopBody *body = v->b.open.data[v->b.open.len - 1];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i] != stm) body->stms.data[kept++] = body->stms.data[i];
    body->stms.len = kept;
}

// Of a turn of a square: a load, a store, and rounds of shuffles.
static double square_cost(uint32_t side) {
    uint32_t rounds = 0;
    while (1u << rounds < side) rounds++;
    return 2 + rounds;
}

// All lanes make the same turns.
static void do_for(Vector *v, const LoopStm *stm, LoopRef mask) {
    const LoopBody *old = stm->bodies[0];
    LoopRef *args = first_state(v, stm, 1);
    args[0] = turn_rep_of(v, stm->args[0]).ref;
    LoopType *types = turn_types_of(v, stm->outs, stm->out_count);
    LoopType *params = arena_array(v->arena, LoopType, stm->out_count + 1);
    params[0] = loop_scalar_type(turn_elem_of(v, stm->args[0]));
    for (uint32_t i = 0; i < stm->out_count; i++) params[1 + i] = types[i];
    LoopRef *fresh = open_loop(v, stm, old->params + 1, 1, params);
    double cost = v->vector_cost;
    turn_set_rep(v, old->params[0], fresh[0]);
    turn_translate(v, old, mask);
    LoopBody *body = turn_close_body(v, stm, old);
    LoopStm *made =
        loop_emit(&v->b, LOOP_FOR, args, 1 + stm->out_count, types, stm->out_count);
    made->order = stm->order;
    loop_set_bodies(&v->b, made, &body, 1);
    end_loop(v, stm, made, 0);
    if (!turn_square(v, made)) return;
    drop(v, made);
    v->vector_cost = cost + v->weight * square_cost(v->lanes);
}

static void do_while(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopBody *bodies[2];
    LoopRef *args = first_state(v, stm, 0);
    LoopType *types = turn_types_of(v, stm->outs, stm->out_count);
    open_loop(v, stm, stm->bodies[0]->params, 0, types);
    turn_translate(v, stm->bodies[0], mask);
    LoopRef c = turn_rep_of(v, stm->bodies[0]->results[0]).ref;
    bodies[0] = loop_close(&v->b, &c, 1);
    open_loop(v, stm, stm->bodies[1]->params, 0, types);
    turn_translate(v, stm->bodies[1], mask);
    bodies[1] = turn_close_body(v, stm, stm->bodies[1]);
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
// Where there are few registers, a short turn asks its lanes when it begins, and not
// when the last one ends: it carries neither what else decides nor what the guard has
// computed, and turns once more than it must, with no lane in it.
typedef struct Apart {
    const LoopStm *stm;
    const LoopBody *body;
    LoopRef n; // of a FOR: the turns of each lane
    struct {
        LoopRef *data; // of the body, and of the guard, in turns
        uint32_t len, cap;
    } shared;
    bool has_same;         // a condition that is the same for all lanes
    bool is_late;          // what lanes ask for is asked within the turn
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
    ScalarType elem = turn_elem_of(v, a->stm->outs[i]);
    bool is_wide = 8 * v->width == v->bytes;
    return is_wide && scalar_is_int(elem) ? SCALAR_I64 : elem;
}

static LoopRef kept(Vector *v, const Apart *a, uint32_t i, LoopRef x) {
    ScalarType type = kept_type(v, a, i);
    return type == turn_elem_of(v, x) ? x : turn_apply(v, OP_CONV, type, &x, 1);
}

static bool is_and(const LoopStm *stm) {
    return stm->op == LOOP_SCALAR && stm->scalar == OP_AND;
}

// Parts a condition in what the lanes have each and what all have; 0 is neither.
static void split_condition(Vector *v, const LoopBody *guard, LoopRef c, LoopRef *lanes,
                            LoopRef *same) {
    for (uint32_t i = 0; i < guard->stms.len; i++) {
        const LoopStm *stm = guard->stms.data[i];
        if (!binds(stm, c) || !is_and(stm)) continue;
        split_condition(v, guard, stm->args[0], lanes, same);
        split_condition(v, guard, stm->args[1], lanes, same);
        return;
    }
    LoopRef *to = v->varies[c] ? lanes : same, x = turn_operand(v, c);
    *to = *to == 0 ? x : turn_apply2(v, OP_AND, SCALAR_BOOL, *to, x);
}

// The guard of the state that its params are now: what the lanes ask for, and all.
static void ask(Vector *v, const Apart *a, LoopRef mask, LoopRef *lanes,
                LoopRef *same) {
    const LoopBody *guard = a->stm->bodies[0];
    *lanes = *same = 0;
    turn_translate(v, guard, mask);
    split_condition(v, guard, guard->results[0], lanes, same);
}

// Puts the mask of the lanes that turn again, and what follows it.
static void go_on(Vector *v, const Apart *a, LoopRef mask, LoopRef number,
                  LoopRef *next) {
    if (a->n != 0) {
        turn_charge(v, 1, 1);
        next[0] = turn_both(v, mask, turn_apply2(v, OP_LT, SCALAR_BOOL, number, a->n));
        next[1] = number;
        return;
    }
    LoopRef lanes, same;
    uint32_t at = place_of_same(a);
    if (a->is_late) {
        next[0] = turn_both(v, mask, loop_const(&v->b, SCALAR_BOOL, 1));
        return;
    }
    ask(v, a, mask, &lanes, &same);
    next[0] = turn_both(v, mask, lanes);
    if (a->has_same) next[at++] = same;
    for (uint32_t i = 0; i < a->shared.len; i += 2)
        next[at++] = turn_vector(v, a->shared.data[i + 1]);
}

// The loop's old params become what is carried now.
static LoopRef *carry(Vector *v, const Apart *a) {
    const LoopStm *stm = a->stm;
    LoopRef *fresh = arena_array(v->arena, LoopRef, a->count);
    for (uint32_t i = 0; i < a->count; i++)
        fresh[i] = loop_value(&v->b, a->types[i], 0);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        turn_set_rep(v, a->body->params[i + (a->n != 0)], fresh[a->extra + i]);
        if (a->is_late) turn_set_rep(v, stm->bodies[0]->params[i], fresh[a->extra + i]);
    }
    return fresh;
}

// What of the state is the same for all lanes is asked here, if lanes ask later.
static LoopBody *apart_guard(Vector *v, const Apart *a) {
    LoopRef *fresh = carry(v, a), lanes, same = 0;
    loop_open(&v->b, fresh, a->count);
    LoopRef c = turn_any(v, fresh[0]);
    double scalar = v->scalar_cost, vector = v->vector_cost;
    if (a->is_late) ask(v, a, fresh[0], &lanes, &same);
    else if (a->has_same) same = fresh[place_of_same(a)];
    v->scalar_cost = scalar, v->vector_cost = vector; // the turn counts it
    if (same != 0) c = loop_and(&v->b, c, same);
    return loop_close(&v->b, &c, 1);
}

// Whether a turn adds 1 to what lanes have in step.
static bool is_counter(const Vector *v, const Apart *a, uint32_t i) {
    LoopRef param = a->body->params[i + (a->n != 0)];
    for (uint32_t k = 0; k < a->body->stms.len; k++) {
        const LoopStm *stm = a->body->stms.data[k];
        if (!binds(stm, a->body->results[i])) continue;
        return stm->op == LOOP_SCALAR && stm->scalar == OP_ADD &&
               scalar_is_int(turn_elem_of(v, param)) && stm->args[0] == param &&
               loop_is_int(&v->b, stm->args[1], 1);
    }
    return false;
}

// What lanes keep of a counter: those in the turn have kept as much as is in step. It
// is done as soon as the mask is known, so that both want registers for a short time.
static void count_lanes(Vector *v, const Apart *a, LoopRef mask, const LoopRef *fresh,
                        LoopRef *next) {
    uint32_t at = a->extra + a->stm->out_count;
    for (uint32_t i = 0; i < a->stm->out_count; i++) {
        if (!is_kept(v, a, i)) continue;
        ScalarType type = kept_type(v, a, i);
        turn_charge(v, 0, 1);
        if (is_counter(v, a, i))
            next[at] = turn_apply2(v, OP_ADD, type, fresh[at],
                                   turn_apply(v, OP_CONV, type, &mask, 1));
        at++;
    }
}

// The state after a turn of the lanes in the mask, and what those that have left keep.
static void next_state(Vector *v, const Apart *a, LoopRef mask, const LoopRef *fresh,
                       LoopRef *next) {
    const LoopStm *stm = a->stm;
    uint32_t at = a->extra + stm->out_count;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopRef result = turn_operand(v, a->body->results[i]),
                *to = &next[a->extra + i];
        *to = result;
        if (is_kept(v, a, i)) {
            if (next[at] == 0)
                next[at] = turn_select(v, mask, kept(v, a, i, result), fresh[at]);
            at++;
        } else if (v->varies[a->body->params[i + (a->n != 0)]]) {
            // What lanes that have ended hold matters only if somebody asks later.
            *to = v->used[stm->outs[i]]
                      ? turn_select(v, mask, result, fresh[a->extra + i])
                      : turn_splat(v, result);
        }
    }
}

// What the guard has computed that the body would compute again.
static void give_shared(Vector *v, const Apart *a, const LoopRef *fresh) {
    for (uint32_t i = 0; i < a->shared.len; i += 2) {
        LoopRef ref = a->shared.data[i];
        uint32_t at = a->extra - a->shared.len / 2 + i / 2;
        turn_set_rep(v, ref,
                     a->is_late ? turn_vector(v, a->shared.data[i + 1]) : fresh[at]);
        v->given[ref] = true;
    }
}

// Computes what comes in place of a value when that has been used for the last time, so
// that one register is enough for both.
static void put_off(LoopBody *body, LoopRef old, LoopRef next) {
    uint32_t from = 0, to;
    while (from < body->stms.len && !binds(body->stms.data[from], next)) from++;
    to = from;
    for (uint32_t i = from + 1; i < body->stms.len; i++) {
        if (uses(body->stms.data[i], next)) break;
        if (uses(body->stms.data[i], old)) to = i;
    }
    for (; from < to; from++) {
        LoopStm *stm = body->stms.data[from];
        body->stms.data[from] = body->stms.data[from + 1];
        body->stms.data[from + 1] = stm;
    }
}

static LoopBody *late_body(Vector *v, const Apart *a) {
    LoopRef *fresh = carry(v, a), lanes, same;
    LoopRef *next = arena_array(v->arena, LoopRef, a->count);
    loop_open(&v->b, fresh, a->count);
    ask(v, a, fresh[0], &lanes, &same);
    next[0] = turn_both(v, fresh[0], lanes);
    give_shared(v, a, fresh);
    count_lanes(v, a, next[0], fresh, next);
    turn_translate(v, a->body, next[0]);
    next_state(v, a, next[0], fresh, next);
    LoopBody *body = loop_close(&v->b, next, a->count);
    for (uint32_t i = 0; i < a->count; i++) put_off(body, fresh[i], next[i]);
    return body;
}

static LoopBody *apart_body(Vector *v, const Apart *a) {
    const LoopStm *stm = a->stm;
    uint32_t skipped = stm->op == LOOP_FOR;
    LoopRef *fresh = carry(v, a), number = 0;
    LoopRef *next = arena_array(v->arena, LoopRef, a->count);
    give_shared(v, a, fresh);
    if (skipped) turn_set_rep(v, a->body->params[0], fresh[1]);
    loop_open(&v->b, fresh, a->count);
    turn_translate(v, a->body, fresh[0]);
    next_state(v, a, fresh[0], fresh, next);
    if (skipped) {
        ScalarType elem = turn_elem_of(v, stm->args[0]);
        number = turn_apply2(v, OP_ADD, elem, fresh[1], loop_const(&v->b, elem, 1));
    } else {
        for (uint32_t i = 0; i < stm->out_count; i++)
            turn_set_rep(v, stm->bodies[0]->params[i], next[a->extra + i]);
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
                turn_elem_of(v, x->outs[0]) != turn_elem_of(v, y->outs[0]))
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
        if (binds(stm, c) && is_and(stm))
            return has_same_part(v, guard, stm->args[0]) ||
                   has_same_part(v, guard, stm->args[1]);
    }
    return !v->varies[c];
}

static void find_types(Vector *v, Apart *a) {
    const LoopStm *stm = a->stm;
    uint32_t at = 0, count = stm->out_count;
    a->types = arena_array(v->arena, LoopType, 3 + a->shared.len / 2 + 2 * count);
    a->types[at++] = turn_lanes_of(v, SCALAR_BOOL);
    if (a->n != 0) a->types[at++] = loop_scalar_type(turn_elem_of(v, stm->args[0]));
    if (a->has_same) a->types[at++] = loop_scalar_type(SCALAR_BOOL);
    for (uint32_t i = 0; i < a->shared.len && !a->is_late; i += 2)
        a->types[at++] = turn_lanes_of(v, turn_elem_of(v, a->shared.data[i]));
    a->extra = at;
    for (uint32_t i = 0; i < count; i++) {
        LoopRef param = a->body->params[i + (a->n != 0)];
        a->types[at++] = v->varies[param] ? turn_lanes_of(v, turn_elem_of(v, param))
                                          : v->kernel->values.data[param].type;
    }
    for (uint32_t i = 0; i < count; i++)
        if (is_kept(v, a, i)) a->types[at++] = turn_lanes_of(v, kept_type(v, a, i));
    a->count = at;
}

// What it starts with.
static LoopRef *apart_args(Vector *v, const Apart *a, LoopRef mask) {
    const LoopStm *stm = a->stm;
    uint32_t skipped = stm->op == LOOP_FOR, at = a->extra + stm->out_count;
    LoopRef *args = arena_array(v->arena, LoopRef, a->count), number = 0;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopRef first = turn_operand(v, stm->args[skipped + i]);
        args[a->extra + i] =
            v->varies[a->body->params[skipped + i]] ? turn_splat(v, first) : first;
        if (is_kept(v, a, i)) args[at++] = turn_splat(v, kept(v, a, i, first));
        if (!skipped) turn_set_rep(v, stm->bodies[0]->params[i], args[a->extra + i]);
    }
    if (skipped) number = loop_const(&v->b, turn_elem_of(v, stm->args[0]), 0);
    go_on(v, a, mask, number, args);
    return args;
}

// Whether a turn may run with no lane in it, and is short.
static bool can_be_late(const Vector *v, const LoopStm *stm) {
    enum { SHORT = 12 }; // statements
    uint32_t size = 0;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++, size++) {
            const LoopStm *each = stm->bodies[k]->stms.data[i];
            if (each->op != LOOP_SCALAR ||
                ((core_op_info[each->scalar].flags & OP_FAILS) != 0 &&
                 scalar_is_int(turn_elem_of(v, each->args[0]))))
                return false;
        }
    return size <= SHORT && machine_registers(v->bytes) < 32;
}

static void do_apart(Vector *v, const LoopStm *stm, LoopRef mask) {
    bool is_for = stm->op == LOOP_FOR;
    LoopRef live = v->live;
    mask = turn_live(v, mask);
    v->live = 0; // the masks of those in the loop say it
    Apart a = {.stm = stm,
               .body = stm->bodies[stm->body_count - 1],
               .n = is_for ? turn_vector(v, stm->args[0]) : 0};
    if (!is_for) {
        a.is_late = can_be_late(v, stm);
        a.has_same =
            !a.is_late && has_same_part(v, stm->bodies[0], stm->bodies[0]->results[0]);
        find_shared(v, &a);
    }
    find_types(v, &a);
    LoopRef *args = apart_args(v, &a, mask);
    LoopBody *bodies[2];
    bodies[0] = apart_guard(v, &a);
    bodies[1] = a.is_late ? late_body(v, &a) : apart_body(v, &a);
    LoopStm *made = loop_emit(&v->b, LOOP_WHILE, args, a.count, a.types, a.count);
    loop_set_bodies(&v->b, made, bodies, 2);
    for (uint32_t i = 0, at = a.extra + stm->out_count; i < stm->out_count; i++) {
        LoopRef out = made->outs[a.extra + i];
        if (is_kept(v, &a, i)) {
            ScalarType elem = turn_elem_of(v, stm->outs[i]);
            out = made->outs[at++];
            if (turn_elem_of(v, out) != elem)
                out = turn_apply(v, OP_CONV, elem, &out, 1);
        }
        turn_set_rep(v, stm->outs[i], out);
    }
    v->live = live;
}

void turn_loop(Vector *v, const LoopStm *stm, LoopRef mask) {
    bool is_for = stm->op == LOOP_FOR;
    double weight = v->weight;
    v->weight *= TURNS;
    turn_charge(v, 1, 1);
    if (v->varies[is_for ? stm->args[0] : stm->bodies[0]->results[0]])
        do_apart(v, stm, mask);
    else if (is_for) do_for(v, stm, mask);
    else do_while(v, stm, mask);
    v->weight = weight;
}
