// SPDX-License-Identifier: Apache-2.0
//
// Whether a turn of a loop may write over the array that it was handed. It may, if
//
//   - where several statements follow each other, none reads the old array behind one
//     that stores to the new one, and
//   - turns in any order that store to the new one, each at places of its own, read the
//     old one at such places of theirs alone.
//
// What such turns read besides and all have in common is read before their loop: the
// column of the pivot in a step of elimination, which each row has in its turn, is read
// before the loop on its elements.
#include "loop/memory.h"

typedef struct Own {
    LoopBuilder *b;
    const LoopBody *turn;
    LoopRef old, fresh;
    LoopRefs indices; // of loops around what is looked at
    LoopRefs counts;  // of their turns
} Own;

static void enter(Own *o, const LoopStm *loop) {
    vec_push(o->b->arena, &o->indices, loop->bodies[0]->params[0]);
    vec_push(o->b->arena, &o->counts, loop->args[0]);
}

static void leave(Own *o) {
    o->indices.len--;
    o->counts.len--;
}

// ---- what touches what --------------------------------------------------------------

static bool stores(const Own *o, const LoopStm *stm) {
    if (stm->op == LOOP_STORE) return stm->args[0] == o->fresh;
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (stores(o, stm->bodies[k]->stms.data[i])) return true;
    return false;
}

static bool loads(const Own *o, const LoopStm *stm) {
    if (stm->op == LOOP_LOAD) return stm->args[0] == o->old;
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (loads(o, stm->bodies[k]->stms.data[i])) return true;
    return false;
}

// Whether elements alone are taken from the old array, and put into the new one; what
// the turn keeps is the new one.
static bool has_elements_alone(const Own *o, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool keeps = body == o->turn && stm->op == LOOP_KEEP;
        for (uint32_t k = 0; k < stm->arg_count; k++) {
            LoopRef arg = stm->args[k];
            bool is_load = stm->op == LOOP_LOAD && k == 0;
            bool is_store = stm->op == LOOP_STORE && k == 0;
            bool is_fresh = arg == o->fresh && (is_store || keeps);
            if ((arg == o->old || arg == o->fresh) && !is_load && !is_fresh)
                return false;
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!has_elements_alone(o, stm->bodies[k])) return false;
    }
    for (uint32_t i = 0; i < body->result_count; i++)
        if (body->results[i] == o->old || body->results[i] == o->fresh) return false;
    return true;
}

// ---- places -------------------------------------------------------------------------

// Whether the condition, of a statement of the turn, says x < count.
static bool says_below(const Own *o, LoopRef c, LoopRef x, LoopRef count) {
    for (uint32_t i = 0; i < o->turn->stms.len; i++) {
        const LoopStm *stm = o->turn->stms.data[i];
        if (stm->op != LOOP_SCALAR || stm->outs[0] != c) continue;
        return (stm->scalar == OP_LT && stm->args[0] == x && stm->args[1] == count) ||
               (stm->scalar == OP_AND && (says_below(o, stm->args[0], x, count) ||
                                          says_below(o, stm->args[1], x, count)));
    }
    return false;
}

// Whether it is the number of a turn of a loop of so many turns.
static bool is_turn_of(const Own *o, LoopRef x, LoopRef count) {
    uint64_t value, most;
    if (loop_is_known(o->b, x, &value) && loop_is_known(o->b, count, &most))
        return (int64_t)value >= 0 && (int64_t)value < (int64_t)most;
    for (uint32_t i = 0; i < o->indices.len; i++) {
        if (o->indices.data[i] != x) continue;
        if (o->counts.data[i] == count) return true;
        for (uint32_t k = 0; k < o->turn->stms.len; k++) {
            const LoopStm *stm = o->turn->stms.data[k];
            if (stores(o, stm)) return false;
            if (stm->op == LOOP_CHECK && says_below(o, stm->args[0], x, count))
                return true;
        }
    }
    return false;
}

static bool is_element(const Own *o, LoopRef x, LoopRef of, const LoopRefs *indices,
                       const LoopRefs *counts) {
    if (x == of) return true;
    for (uint32_t i = 0; i < indices->len; i++)
        if (indices->data[i] == of) return is_turn_of(o, x, counts->data[i]);
    return false;
}

// Whether the store in the loops of these indices reaches the place of the load.
static bool reaches(const Own *o, const LoopStm *store, const LoopStm *load,
                    const LoopRefs *indices, const LoopRefs *counts) {
    if (store->args[0] != o->fresh || store->arg_count != load->arg_count + 1 ||
        store->args[2] != load->args[1])
        return false;
    for (uint32_t i = 2; i + 1 < load->arg_count; i += 2)
        if (store->args[i + 1] != load->args[i] ||
            !is_element(o, load->args[i + 1], store->args[i + 2], indices, counts))
            return false;
    return true;
}

// Whether the body, whenever it runs, stores to the place of the load.
static bool overwrites(const Own *o, const LoopBody *body, const LoopStm *load,
                       LoopRefs *indices, LoopRefs *counts) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE && reaches(o, stm, load, indices, counts))
            return true;
        if (stm->op != LOOP_FOR || stm->number != 0) continue;
        vec_push(o->b->arena, indices, stm->bodies[0]->params[0]);
        vec_push(o->b->arena, counts, stm->args[0]);
        bool does = overwrites(o, stm->bodies[0], load, indices, counts);
        indices->len--;
        counts->len--;
        if (does) return true;
    }
    return false;
}

// Bodies of a turn, from the inside out.
typedef struct Inside {
    const LoopBody *body;
    const struct Inside *outer;
} Inside;

// Whether the statement reads of the old array only what is overwritten where it runs.
static bool reads_own(Own *o, const Inside *in, const LoopStm *stm) {
    LoopRefs indices = {0}, counts = {0};
    if (stm->op == LOOP_LOAD) {
        bool is_own = stm->args[0] != o->old;
        for (; in != NULL && !is_own; in = in->outer)
            is_own = overwrites(o, in->body, stm, &indices, &counts);
        return is_own;
    }
    bool is_own = true, is_for = stm->op == LOOP_FOR;
    if (is_for) enter(o, stm);
    for (uint32_t k = 0; k < stm->body_count; k++) {
        Inside inner = {stm->bodies[k], in};
        for (uint32_t i = 0; is_own && i < inner.body->stms.len; i++)
            is_own = reads_own(o, &inner, inner.body->stms.data[i]);
    }
    if (is_for) leave(o);
    return is_own;
}

// ---- loads of what turns have in common ---------------------------------------------

static bool is_common(const Own *o, const LoopBody *body, const LoopStm *stm) {
    if (stm->op != LOOP_LOAD || stm->args[0] != o->old) return false;
    for (uint32_t i = 1; i < stm->arg_count; i++)
        if (loop_binds(body, stm->args[i])) return false;
    return true;
}

// The load where the loop turns at all, else some value.
static LoopStm *load_if(const Own *o, LoopStm *load, LoopRef turns) {
    LoopBuilder *b = o->b;
    LoopBody *arms[2];
    LoopType type = loop_type(b, load->outs[0]);
    LoopStm *branch = arena_copy(b->arena, load, sizeof *load);
    LoopRef loaded = loop_value(b, type, 0);
    load->outs = arena_copy(b->arena, &loaded, sizeof loaded);
    loop_open(b, NULL, 0);
    loop_append(b, load);
    arms[0] = loop_close(b, &loaded, 1);
    LoopRef none = loop_const(b, (ScalarType)type.elem, 0);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, &none, 1);
    branch->op = LOOP_IF;
    branch->arg_count = 1;
    branch->args = arena_copy(b->arena, &turns, sizeof turns);
    loop_set_bodies(b, branch, arms, 2);
    return branch;
}

// Moves such loads of the loop's turns before it; returns how many statements more
// there are there now.
static uint32_t move_common(const Own *o, LoopBody *outer, uint32_t at) {
    LoopStm *loop = outer->stms.data[at];
    LoopBody *body = loop->bodies[0], old = *outer;
    LoopRef turns = 0;
    bool may_stop = false;
    uint32_t kept = 0;
    loop_open(o->b, NULL, 0);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        may_stop = may_stop || memory_may_fail(stm);
        if (may_stop || !is_common(o, body, stm)) {
            body->stms.data[kept++] = stm;
            continue;
        }
        if (turns == 0) turns = loop_lt(o->b, loop_int(o->b, 0), loop->args[0]);
        loop_append(o->b, load_if(o, stm, turns));
    }
    body->stms.len = kept;
    const LoopBody *before = loop_close(o->b, NULL, 0);
    outer->stms.data = NULL;
    outer->stms.len = outer->stms.cap = 0;
    for (uint32_t i = 0; i < old.stms.len; i++) {
        for (uint32_t k = 0; k < before->stms.len && i == at; k++)
            vec_push(o->b->arena, &outer->stms, before->stms.data[k]);
        vec_push(o->b->arena, &outer->stms, old.stms.data[i]);
    }
    return before->stms.len;
}

// ---- turns and statements -----------------------------------------------------------

static bool is_in_order(Own *o, LoopBody *body);

// Of the loop at hand, which stores.
static bool are_apart(Own *o, const LoopStm *loop) {
    if (!loads(o, loop)) return true;
    if (loop->op != LOOP_FOR || loop->order == ORDER_SEQUENTIAL || loop->number != 0)
        return false;
    LoopBody *body = loop->bodies[0];
    enter(o, loop);
    bool ok = is_in_order(o, body);
    const Inside in = {body, NULL};
    for (uint32_t i = 0; ok && i < body->stms.len; i++)
        ok = reads_own(o, &in, body->stms.data[i]);
    leave(o);
    return ok;
}

static bool is_in_order(Own *o, LoopBody *body) {
    bool has_stored = false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (has_stored && loads(o, stm)) return false;
        if (!stores(o, stm)) continue;
        has_stored = true;
        if (stm->op == LOOP_STORE) continue;
        if (stm->op == LOOP_IF) {
            if (!is_in_order(o, stm->bodies[0]) || !is_in_order(o, stm->bodies[1]))
                return false;
            continue;
        }
        if (stm->op == LOOP_FOR && stm->number == 0) i += move_common(o, body, i);
        if (!are_apart(o, stm)) return false;
    }
    return true;
}

bool memory_is_own(LoopBuilder *b, const LoopStm *loop, LoopRef old, LoopRef fresh) {
    LoopBody *turn = loop->bodies[loop->body_count - 1];
    Own o = {.b = b, .turn = turn, .old = old, .fresh = fresh};
    if (loop->op == LOOP_FOR) enter(&o, loop);
    return has_elements_alone(&o, turn) && is_in_order(&o, turn);
}
