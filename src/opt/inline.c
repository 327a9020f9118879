// SPDX-License-Identifier: Apache-2.0
//
// Inlining: every call of a function without #[noinline] becomes a copy of its body,
// whose places remember where the call was. Callees come before callers and recursion
// does not exist, so one walk over the functions is enough: what is copied holds no
// such calls any more. Functions that nobody calls then and that are no entries go.
#include "opt/passes.h"
#include "opt/rewrite.h"

static bool inline_call(Rewrite *rw, CoreStm *stm) {
    CoreProgram *p = rw->program;
    if (stm->op != OP_CALL) return false;
    const CoreFun *callee = p->funs.data[stm->attrs[0]];
    if (callee->no_inline) return false;
    Map map;
    map_init(&map, core_notes(p));
    for (uint32_t i = 0; i < stm->arg_count; i++)
        map_set(&map, callee->body->params[i], stm->args[i]);
    CoreBody open = *callee->body; // its params are in the map already
    open.param_count = 0;
    CoreBody *body = core_clone(p, &open, &map, stm->loc);
    for (uint32_t i = 0; i < body->stms.len; i++)
        core_append(&rw->builder, body->stms.data[i]);
    for (uint32_t i = 0; i < stm->out_count; i++)
        rewrite_set(rw, stm->outs[i], body->results[i]);
    return true;
}

// ---- functions that nobody calls ----------------------------------------------------

typedef struct Calls {
    bool *called;     // by function index
    int32_t *renamed; // by function index
} Calls;

static void note_call(void *data, const CoreStm *stm) {
    if (stm->op == OP_CALL) ((Calls *)data)->called[stm->attrs[0]] = true;
}

static bool rename_call(Rewrite *rw, CoreStm *stm) {
    if (stm->op != OP_CALL) return false;
    int32_t to = ((Calls *)rw->data)->renamed[stm->attrs[0]];
    if (to == stm->attrs[0]) return false;
    CoreStm *copy = rewrite_copy(rw, stm);
    core_set_attrs(&rw->builder, copy, &to, 1);
    core_append(&rw->builder, copy);
    return true;
}

static bool drop_unused(CoreProgram *p) {
    Calls calls = {.called = arena_array(p->arena, bool, p->funs.len),
                   .renamed = arena_array(p->arena, int32_t, p->funs.len)};
    for (uint32_t i = p->funs.len; i-- > 0;) { // callers first
        const CoreFun *fun = p->funs.data[i];
        if (fun->is_entry || calls.called[i]) core_walk(fun->body, note_call, &calls);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->funs.len; i++) {
        if (!p->funs.data[i]->is_entry && !calls.called[i]) continue;
        calls.renamed[i] = (int32_t)kept;
        p->funs.data[kept++] = p->funs.data[i];
    }
    if (kept == p->funs.len) return false;
    p->funs.len = kept;
    Rewrite rw = rewrite_new(p);
    rw.visit = rename_call;
    rw.data = &calls;
    rewrite_all(&rw);
    return true;
}

bool opt_inline(CoreProgram *program) {
    Rewrite rw = rewrite_new(program);
    rw.visit = inline_call;
    rewrite_all(&rw);
    return drop_unused(program) || rw.changed;
}
