// SPDX-License-Identifier: Apache-2.0
//
// What both arms of a branch compute goes before it, once: equal scalar statements,
// elements of arrays and checks. Nothing runs that did not run before. One that may
// fail goes only if nothing else of its arm may fail before it, so that the first error
// stays the first, and only with one of the same place, which the error names. Each
// step makes the program smaller.
#include "core/rules.h"
#include "opt/algebra.h"

enum { MOST_STATEMENTS = 64 };

typedef struct Arms {
    Rewrite *rw;
    const CoreBody *first, *second;
    bool is_gone[2][MOST_STATEMENTS]; // of each arm: it goes before the branch
    Map inner;                        // what stays in the first arm
    Map joined;                       // values of the second arm -> of the first
} Arms;

static bool can_join(const Arms *a, const CoreStm *stm) {
    const CoreProgram *p = a->rw->program;
    uint64_t known;
    bool is_scalar =
        core_op_operands(stm->op) != 0 || stm->op == OP_INDEX || stm->op == OP_CHECK;
    if (!is_scalar || core_type(p, stm->outs[0]).rank > 0) return false;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (map_get(&a->inner, stm->args[i], &known)) return false;
    return true;
}

// The statement of the second arm with the values of the first.
static CoreStm renamed(const Arms *a, const CoreStm *stm, CoreRef *args) {
    CoreStm copy = *stm;
    uint64_t ref;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        args[i] = map_get(&a->joined, stm->args[i], &ref) ? (CoreRef)ref : stm->args[i];
    copy.args = args;
    return copy;
}

// The statement of the second arm that equals this one and may go with it; NULL: none.
static const CoreStm *find_equal(Arms *a, const CoreStm *stm) {
    const CoreProgram *p = a->rw->program;
    bool is_effect = opt_is_effect(p, stm);
    CoreRef *args = arena_array(p->arena, CoreRef, stm->arg_count);
    for (uint32_t i = 0; i < a->second->stms.len; i++) {
        const CoreStm *other = a->second->stms.data[i];
        if (a->is_gone[1][i]) continue;
        if (other->arg_count == stm->arg_count && other->body_count == 0) {
            CoreStm same = renamed(a, other, args);
            a->is_gone[1][i] =
                cse_are_equal(p, stm, &same) && (!is_effect || stm->loc == other->loc);
            if (a->is_gone[1][i]) return other;
        }
        if (is_effect && opt_is_effect(p, other)) return NULL;
    }
    return NULL;
}

// Emits what goes before the branch. Whether there is any.
static bool emit_common(Arms *a) {
    bool is_blocked = false, found = false;
    for (uint32_t i = 0; i < a->first->stms.len; i++) {
        CoreStm *stm = a->first->stms.data[i];
        const CoreStm *equal = NULL;
        bool is_effect = opt_is_effect(a->rw->program, stm);
        if (can_join(a, stm) && !(is_effect && is_blocked)) equal = find_equal(a, stm);
        if (equal != NULL) {
            core_append(&a->rw->builder, stm);
            map_set(&a->joined, equal->outs[0], stm->outs[0]);
            a->is_gone[0][i] = found = true;
            continue;
        }
        is_blocked = is_blocked || is_effect;
        for (uint32_t k = 0; k < stm->out_count; k++)
            map_set(&a->inner, stm->outs[k], 1);
    }
    return found;
}

static CoreBody *rest_of(const Arms *a, const CoreBody *body, const bool *is_gone) {
    Arena *arena = a->rw->program->arena;
    CoreBody *rest = arena_copy(arena, body, sizeof *body);
    rest->stms.data = NULL;
    rest->stms.len = rest->stms.cap = 0;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!is_gone[i]) vec_push(arena, &rest->stms, body->stms.data[i]);
    return rest;
}

bool opt_join_arms(Rewrite *rw, CoreStm *stm) {
    if (stm->op != OP_IF) return false;
    Arms a = {.rw = rw, .first = stm->bodies[0], .second = stm->bodies[1]};
    if (a.first->stms.len > MOST_STATEMENTS || a.second->stms.len > MOST_STATEMENTS)
        return false;
    map_init(&a.inner, core_notes(rw->program));
    map_init(&a.joined, core_notes(rw->program));
    if (!emit_common(&a)) return false;
    CoreBody *second = rest_of(&a, a.second, a.is_gone[1]);
    CoreBody *bodies[2] = {rest_of(&a, a.first, a.is_gone[0]),
                           core_clone(rw->program, second, &a.joined, 0)};
    CoreStm *copy = rewrite_copy(rw, stm);
    core_set_bodies(&rw->builder, copy, bodies, 2);
    core_append(&rw->builder, copy);
    return true;
}
