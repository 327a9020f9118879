// SPDX-License-Identifier: Apache-2.0
//
// Last uses of arrays, by the rules of the oracle (src/interp/lastuse.c). Going
// backwards, the first time a name is met is its last use; there its memory may be
// taken over if the use is in the region where the name is bound. Bodies of IF count to
// the region of the body they are in; all others may run often and are regions of
// their own.
#include "loop/lower.h"

typedef struct Finder {
    Lower *l;
    struct {
        CoreRef *data;
        uint32_t len, cap;
    } met; // in the bodies being visited
    uint32_t bodies;
} Finder;

static bool is_array(const Finder *f, CoreRef ref) {
    return loop_core_type(f->l, ref).rank > 0;
}

static bool is_met(const Finder *f, CoreRef ref) {
    return loop_name(f->l, ref)->is_met;
}

static void set_met(const Finder *f, CoreRef ref, bool is_met) {
    loop_name(f->l, ref)->is_met = is_met;
}

static void bind(Finder *f, const CoreRef *refs, uint32_t count, const CoreStm *stm,
                 uint32_t body, uint32_t region) {
    for (uint32_t i = 0; i < count; i++) {
        Name *name = loop_name(f->l, refs[i]);
        name->stm = stm;
        name->body = body;
        name->region = region;
    }
}

static void meet(Finder *f, CoreRef ref, uint32_t region, bool *moves_out) {
    if (!is_array(f, ref) || is_met(f, ref)) return;
    set_met(f, ref, true);
    vec_push(f->l->arena, &f->met, ref);
    *moves_out = loop_name(f->l, ref)->region == region;
}

// Takes what `body` binds out of the list of names met from `from` on.
static void settle(Finder *f, uint32_t from, uint32_t body, Uses *uses) {
    uint32_t kept = from;
    for (uint32_t i = from; i < f->met.len; i++) {
        CoreRef ref = f->met.data[i];
        if (loop_name(f->l, ref)->body != body) f->met.data[kept++] = ref;
        else if (uses != NULL) uses->dead[uses->dead_count++] = ref;
    }
    f->met.len = kept;
}

static void visit(Finder *f, const CoreBody *body, uint32_t region);

// Each branch is visited as if there were no other: both may hold the last use.
static void visit_branches(Finder *f, const CoreStm *stm, uint32_t region) {
    uint32_t start = f->met.len;
    visit(f, stm->bodies[0], region);
    uint32_t middle = f->met.len;
    for (uint32_t i = start; i < middle; i++) set_met(f, f->met.data[i], false);
    visit(f, stm->bodies[1], region);
    for (uint32_t i = middle; i < f->met.len; i++) set_met(f, f->met.data[i], false);
    uint32_t kept = start;
    for (uint32_t i = start; i < f->met.len; i++) {
        CoreRef ref = f->met.data[i];
        if (is_met(f, ref)) continue;
        set_met(f, ref, true);
        f->met.data[kept++] = ref;
    }
    f->met.len = kept;
}

static Uses *new_uses(Finder *f, const void *of, uint32_t count) {
    Uses *uses = arena_new(f->l->arena, Uses);
    uses->moves = arena_array(f->l->arena, bool, count);
    map_set(&f->l->uses, (uintptr_t)of, (uintptr_t)uses);
    return uses;
}

static void visit_stm(Finder *f, const CoreStm *stm, uint32_t body, uint32_t region) {
    uint32_t start = f->met.len;
    Uses *uses = new_uses(f, stm, stm->arg_count);
    if (stack_is_low(&f->l->stack)) loop_refuse(f->l, "nested too deeply");
    if (stm->op == OP_IF) visit_branches(f, stm, region);
    else
        for (uint32_t i = stm->body_count; i-- > 0;)
            visit(f, stm->bodies[i], ++f->bodies);
    for (uint32_t i = stm->arg_count; i-- > 0;)
        meet(f, stm->args[i], region, &uses->moves[i]);
    uint32_t most = f->met.len - start + stm->out_count;
    uses->dead = arena_array(f->l->arena, CoreRef, most);
    settle(f, start, body, uses);
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (is_array(f, stm->outs[i]) && !is_met(f, stm->outs[i]))
            uses->dead[uses->dead_count++] = stm->outs[i];
}

static void visit(Finder *f, const CoreBody *core_body, uint32_t region) {
    uint32_t body = ++f->bodies, start = f->met.len;
    bind(f, core_body->params, core_body->param_count, NULL, body, region);
    for (uint32_t i = 0; i < core_body->stms.len; i++) {
        const CoreStm *stm = core_body->stms.data[i];
        bind(f, stm->outs, stm->out_count, stm, body, region);
    }
    Uses *uses = new_uses(f, core_body, core_body->result_count);
    uses->body = body;
    for (uint32_t i = core_body->result_count; i-- > 0;)
        meet(f, core_body->results[i], region, &uses->moves[i]);
    settle(f, start, body, NULL);
    for (uint32_t i = core_body->stms.len; i-- > 0;)
        visit_stm(f, core_body->stms.data[i], body, region);
}

void loop_find_uses(Lower *l, const CoreBody *body) {
    Finder f = {.l = l};
    visit(&f, body, ++f.bodies);
}

const Uses *loop_uses(const Lower *l, const void *stm_or_body) {
    uint64_t found = 0;
    map_get(&l->uses, (uintptr_t)stm_or_body, &found);
    return (const Uses *)(uintptr_t)found;
}
