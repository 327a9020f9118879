// SPDX-License-Identifier: Apache-2.0
//
// Simplification after stage 0. It changes no bit of any result and no error: which
// errors there are, which comes first, and that none is raised in a loop that runs no
// iteration. Stamps and fma are carried along as they are.
//
// A round walks over each function once, bottom-up, and for each statement tries, in
// this order: folding and exact algebra (algebra.c), the canonical forms of
// normalise.c, joining it with an equal statement in scope (cse.c), and what both arms
// of a branch compute (arms.c); from the bodies of loops and second-order statements it
// moves out what cannot fail, does not depend on them and makes no array. A loop does
// not move past what may fail: only where a check has held need its turns be few. Then
// what nothing needs goes, save what may fail (dce.c).
//
// Termination: folding and joining remove a statement or put an earlier value in its
// place; canonical forms shrink; hoisting moves a statement to a smaller depth and is
// never undone. Rounds go on until one changes nothing.
#include "core/rules.h"
#include "opt/algebra.h"
#include "opt/passes.h"

// ---- hoisting -----------------------------------------------------------------------

static bool runs_repeatedly(const CoreStm *stm) {
    return stm->op == OP_FOR || stm->op == OP_WHILE ||
           core_op_info[stm->op].kind == KIND_ORDER2;
}

// What may move out of a loop: it cannot fail and makes no new array, which somebody
// might update in place.
static bool is_movable(const CoreProgram *p, const CoreStm *stm) {
    switch ((int)stm->op) {
    case OP_PERMUTE:
    case OP_REVERSE:
    case OP_LITERAL:
    case OP_GUARD: return true;
    }
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (core_type(p, stm->outs[i]).rank > 0) return false;
    return !opt_is_effect(p, stm);
}

static bool has_loop(const CoreStm *stm) {
    if (stm->op == OP_FOR) return true;
    for (uint32_t i = 0; i < stm->body_count; i++)
        for (uint32_t j = 0; j < stm->bodies[i]->stms.len; j++)
            if (has_loop(stm->bodies[i]->stms.data[j])) return true;
    return false;
}

static bool has_inner(const Map *inner, const CoreRef *refs, uint32_t count) {
    uint64_t known;
    for (uint32_t i = 0; i < count; i++)
        if (map_get(inner, refs[i], &known)) return true;
    return false;
}

static bool uses_inner(const Map *inner, const CoreStm *stm) {
    if (has_inner(inner, stm->args, stm->arg_count)) return true;
    for (uint32_t i = 0; i < stm->body_count; i++) {
        const CoreBody *body = stm->bodies[i];
        for (uint32_t j = 0; j < body->stms.len; j++)
            if (uses_inner(inner, body->stms.data[j])) return true;
        if (has_inner(inner, body->results, body->result_count)) return true;
    }
    return false;
}

// Emits what may move out of the body here; returns the body without it.
static CoreBody *hoist_from(Rewrite *rw, CoreBody *body) {
    CoreProgram *p = rw->program;
    Map inner; // values bound in the body
    map_init(&inner, core_notes(p));
    for (uint32_t i = 0; i < body->param_count; i++)
        map_set(&inner, body->params[i], 1);
    CoreBody *made = arena_copy(p->arena, body, sizeof *body);
    made->stms.data = NULL;
    made->stms.len = made->stms.cap = 0;
    bool may_stop = false; // something that stays in the body may fail
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        if (is_movable(p, stm) && !(may_stop && has_loop(stm)) &&
            !uses_inner(&inner, stm)) {
            core_append(&rw->builder, stm);
            continue;
        }
        may_stop = may_stop || opt_is_effect(p, stm);
        for (uint32_t j = 0; j < stm->out_count; j++) map_set(&inner, stm->outs[j], 1);
        vec_push(p->arena, &made->stms, stm);
    }
    return made->stms.len == body->stms.len ? body : made;
}

static bool hoist(Rewrite *rw, CoreStm *stm) {
    CoreStm *made = NULL;
    for (uint32_t i = 0; i < stm->body_count; i++) {
        CoreBody *body = hoist_from(rw, stm->bodies[i]);
        if (body == stm->bodies[i]) continue;
        if (made == NULL) {
            made = rewrite_copy(rw, stm);
            core_set_bodies(&rw->builder, made, stm->bodies, stm->body_count);
        }
        made->bodies[i] = body;
    }
    if (made == NULL) return false;
    core_append(&rw->builder, made);
    return true;
}

// ---- a round ------------------------------------------------------------------------

static void enter(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    opt_normalise_enter(rw, stm, body);
    cse_open(rw->data);
}

static void leave(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)stm;
    (void)body;
    cse_close(rw->data);
}

static bool visit(Rewrite *rw, CoreStm *stm) {
    CoreRef folded = opt_fold(rw, stm);
    if (folded != 0) {
        rewrite_set(rw, stm->outs[0], folded);
        return true;
    }
    if (opt_normalise_stm(rw, stm)) return true;
    const CoreStm *equal = cse_find(rw->data, stm);
    if (equal != NULL) {
        for (uint32_t i = 0; i < stm->out_count; i++)
            rewrite_set(rw, stm->outs[i], equal->outs[i]);
        return true;
    }
    if (opt_join_arms(rw, stm)) return true;
    return runs_repeatedly(stm) && hoist(rw, stm);
}

// Whether anything has changed.
static bool rewrite_once(CoreProgram *program) {
    Rewrite rw = rewrite_new(program);
    rw.visit = visit;
    rw.enter = enter;
    rw.leave = leave;
    rw.uses = opt_count_uses(program);
    rw.use_count = program->values.len;
    Cse cse;
    cse_init(&cse, program, program->values.len / 4);
    rw.data = &cse;
    for (uint32_t i = 0; i < program->funs.len; i++) {
        cse_open(&cse);
        rewrite_fun(&rw, program->funs.data[i]);
        cse_close(&cse);
    }
    return rw.changed;
}

bool opt_simplify(CoreProgram *program) {
    bool changed = false, is_clean = false; // nothing was left to drop
    for (bool more = true; more; changed = changed || more) {
        more = rewrite_once(program);
        if (!more && is_clean) break; // nor is now
        bool dropped = opt_drop_dead(program, true);
        opt_forget_notes(program);
        is_clean = !dropped;
        more = more || dropped;
    }
    opt_forget_notes(program);
    return changed;
}
