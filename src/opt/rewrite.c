// SPDX-License-Identifier: Apache-2.0
//
// The machinery of rewrite.h. Values keep their numbers when a statement around them is
// rebuilt: the old statement leaves the program, so each value is still bound once.
#include "opt/rewrite.h"

#include <string.h>

#include "core/rules.h"

Rewrite rewrite_new(CoreProgram *p) {
    Rewrite rw = {.program = p, .builder = core_builder(p)};
    vec_reserve(core_notes(p), &rw.values, p->values.len + p->values.len / 4 + 1);
    map_init(&rw.dropped, core_notes(p));
    rw.sizes = arena_new(core_notes(p), Map);
    map_init(rw.sizes, core_notes(p));
    return rw;
}

static RewriteValue known_of(const Rewrite *rw, CoreRef ref) {
    return ref < rw->values.len ? rw->values.data[ref] : (RewriteValue){0};
}

static RewriteValue *learn_of(Rewrite *rw, CoreRef ref) {
    while (rw->values.len <= ref)
        vec_push(core_notes(rw->program), &rw->values, (RewriteValue){0});
    return &rw->values.data[ref];
}

CoreRef rewrite_get(const Rewrite *rw, CoreRef ref) {
    for (CoreRef to = ref; to != 0; to = known_of(rw, ref).to) ref = to;
    return ref;
}

void rewrite_set(Rewrite *rw, CoreRef from, CoreRef to) {
    to = rewrite_get(rw, to);
    if (from != to) learn_of(rw, from)->to = to;
}

CoreStm *rewrite_def(const Rewrite *rw, CoreRef ref) {
    return known_of(rw, ref).stm;
}

CoreStm *rewrite_def_here(const Rewrite *rw, CoreRef ref) {
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    RewriteValue value = known_of(rw, ref);
    return value.home == here ? value.stm : NULL;
}

CoreRef rewrite_rows(const Rewrite *rw, CoreRef ref) {
    return known_of(rw, ref).rows;
}

void rewrite_define(Rewrite *rw, CoreRef ref, CoreStm *stm) {
    learn_of(rw, ref)->stm = stm;
}

static void define_outs(void *data, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        rewrite_define(data, stm->outs[i], (CoreStm *)stm);
}

void rewrite_define_all(Rewrite *rw, const CoreBody *body) {
    core_walk(body, define_outs, rw);
}

void rewrite_drop(Rewrite *rw, const CoreStm *stm) {
    map_set(&rw->dropped, (uint64_t)(uintptr_t)stm, 1);
}

static void sweep_dropped(Rewrite *rw, CoreBody *body) {
    uint32_t kept = 0;
    uint64_t known;
    if (rw->dropped.count == 0) return;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!map_get(&rw->dropped, (uint64_t)(uintptr_t)body->stms.data[i], &known))
            body->stms.data[kept++] = body->stms.data[i];
    body->stms.len = kept;
}

CoreStm *rewrite_copy(Rewrite *rw, const CoreStm *stm) {
    return arena_copy(rw->program->arena, stm, sizeof *stm);
}

// Returns refs itself if nothing in it is replaced.
static CoreRef *replace_refs(const Rewrite *rw, CoreRef *refs, uint32_t count) {
    CoreRef *fresh = NULL;
    for (uint32_t i = 0; i < count; i++) {
        CoreRef to = rewrite_get(rw, refs[i]);
        if (to == refs[i]) continue;
        if (fresh == NULL)
            fresh = arena_copy(rw->program->arena, refs, count * sizeof *refs);
        fresh[i] = to;
    }
    return fresh == NULL ? refs : fresh;
}

void rewrite_note(Rewrite *rw, CoreStm *stm) {
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    for (uint32_t i = 0; i < stm->out_count; i++) {
        RewriteValue *value = learn_of(rw, stm->outs[i]);
        value->stm = stm;
        value->home = here;
    }
}

static CoreBody *rewrite_body(Rewrite *rw, CoreBody *body);

// The params of body `index` that stand for rows of the statement's arrays.
static void note_rows(Rewrite *rw, const CoreStm *stm, uint32_t index) {
    CoreFeeds feeds = core_feeds(stm);
    if (feeds.producer == NULL || index < feeds.body) return;
    const CoreBody *body = stm->bodies[index];
    uint32_t first = body->param_count - feeds.count;
    for (uint32_t i = first; i < body->param_count; i++)
        learn_of(rw, body->params[i])->rows = stm->args[feeds.first + i - first];
}

static CoreStm *rebuild_stm(Rewrite *rw, CoreStm *stm) {
    CoreStm made = *stm;
    made.args = replace_refs(rw, stm->args, stm->arg_count);
    bool changed = made.args != stm->args;
    for (uint32_t i = 0; i < stm->body_count; i++) {
        note_rows(rw, &made, i);
        if (rw->enter != NULL) rw->enter(rw, stm, stm->bodies[i]);
        CoreBody *body = rewrite_body(rw, stm->bodies[i]);
        if (rw->leave != NULL) rw->leave(rw, stm, stm->bodies[i]);
        if (body == stm->bodies[i]) continue;
        if (made.bodies == stm->bodies)
            made.bodies = arena_copy(rw->program->arena, stm->bodies,
                                     stm->body_count * sizeof *stm->bodies);
        made.bodies[i] = body;
        changed = true;
    }
    return changed ? rewrite_copy(rw, &made) : stm;
}

// Whether the two have the same statements and results.
static bool is_same(const CoreBody *a, const CoreBody *b) {
    if (a->stms.len != b->stms.len || a->results != b->results) return false;
    for (uint32_t i = 0; i < a->stms.len; i++)
        if (a->stms.data[i] != b->stms.data[i]) return false;
    return true;
}

// While a body is open it is a note, since most stay as they are.
static CoreBody *open_copy(const Rewrite *rw, const CoreBody *body) {
    enum { MORE = 8 };
    Arena *notes = core_notes(rw->program);
    CoreBody *made = arena_copy(notes, body, sizeof *body);
    made->stms.len = 0;
    made->stms.cap = body->stms.len + MORE;
    made->stms.data = arena_alloc(notes, made->stms.cap * sizeof *made->stms.data);
    return made;
}

static CoreBody *keep_body(const Rewrite *rw, const CoreBody *made) {
    Arena *arena = rw->program->arena;
    CoreBody *kept = arena_copy(arena, made, sizeof *made);
    size_t size = made->stms.len * sizeof *made->stms.data;
    kept->stms.data = arena_copy(arena, made->stms.data, size);
    kept->stms.cap = made->stms.len;
    return kept;
}

static CoreBody *rewrite_body(Rewrite *rw, CoreBody *body) {
    CoreBody *made = open_copy(rw, body);
    vec_push(rw->program->arena, &rw->builder.open, made);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = rebuild_stm(rw, body->stms.data[i]);
        uint32_t before = made->stms.len;
        rw->builder.loc = stm->loc;
        rw->builder.flags = stm->flags;
        if (rw->visit == NULL || !rw->visit(rw, stm)) core_append(&rw->builder, stm);
        for (uint32_t k = before; k < made->stms.len; k++)
            rewrite_note(rw, made->stms.data[k]);
    }
    rw->builder.open.len--;
    sweep_dropped(rw, made);
    made->results = replace_refs(rw, body->results, body->result_count);
    if (is_same(made, body)) return body;
    rw->changed = true;
    return keep_body(rw, made);
}

void rewrite_fun(Rewrite *rw, CoreFun *fun) {
    fun->body = rewrite_body(rw, fun->body);
}

void rewrite_all(Rewrite *rw) {
    for (uint32_t i = 0; i < rw->program->funs.len; i++)
        rewrite_fun(rw, rw->program->funs.data[i]);
}

void rewrite_splice(Rewrite *rw, const CoreBody *body, const CoreRef *outs) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        core_append(&rw->builder, rebuild_stm(rw, body->stms.data[i]));
    for (uint32_t i = 0; i < body->result_count; i++)
        rewrite_set(rw, outs[i], body->results[i]);
}

// ---- uses ---------------------------------------------------------------------------

static void count_body(uint32_t *uses, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t j = 0; j < stm->arg_count; j++) uses[stm->args[j]]++;
        for (uint32_t j = 0; j < stm->body_count; j++) count_body(uses, stm->bodies[j]);
    }
    for (uint32_t i = 0; i < body->result_count; i++) uses[body->results[i]]++;
}

uint32_t *opt_count_uses(const CoreProgram *p) {
    uint32_t *uses = arena_array(core_notes(p), uint32_t, p->values.len);
    for (uint32_t i = 0; i < p->funs.len; i++) count_body(uses, p->funs.data[i]->body);
    return uses;
}

// ---- errors -------------------------------------------------------------------------

static bool is_small_size(const CoreProgram *p, CoreRef ref) {
    return core_is_const(p, ref) && p->values.data[ref].bits < (uint64_t)1 << 31;
}

static bool is_nonzero_const(const CoreProgram *p, CoreRef ref) {
    return core_is_const(p, ref) && p->values.data[ref].bits != 0;
}

bool opt_is_positive(const CoreProgram *p, CoreRef ref) {
    const CoreValue *value = &p->values.data[ref];
    ScalarType type = (ScalarType)value->type.elem;
    unsigned width = scalar_info[type].bytes * 8u;
    bool negative = scalar_is_signed(type) && (value->bits >> (width - 1) & 1) != 0;
    return value->is_const && value->bits != 0 && !negative;
}

static bool is_nonnegative_const(const CoreProgram *p, CoreRef ref) {
    const CoreValue *value = &p->values.data[ref];
    unsigned width = scalar_info[value->type.elem].bytes * 8u;
    return value->is_const && (value->bits >> (width - 1) & 1) == 0;
}

// Whether all results are scalars in each of `outer` dimensions, so that no rows of
// different shapes can meet.
static bool has_scalar_rows(const CoreProgram *p, const CoreStm *stm, unsigned outer) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (core_type(p, stm->outs[i]).rank != outer) return false;
    return true;
}

// Whether the statement itself may fail, its bodies aside.
static bool may_fail_itself(const CoreProgram *p, const CoreStm *stm) {
    if (stm->op == OP_WHILE) return true; // it may never end
    if ((core_op_info[stm->op].flags & OP_FAILS) == 0) return false;
    switch ((int)stm->op) {
    case OP_CALL: return !core_is_plain_call(p, stm);
    case OP_DIV:
    case OP_MOD:
        if (scalar_is_float((ScalarType)core_type(p, stm->args[0]).elem)) return false;
        return !is_nonzero_const(p, stm->args[1]);
    case OP_QUOT:
    case OP_REM: return !is_nonzero_const(p, stm->args[1]);
    case OP_POW:
        if (!scalar_is_signed((ScalarType)core_type(p, stm->args[1]).elem))
            return false;
        return !is_nonnegative_const(p, stm->args[1]);
    case OP_ARRAY: // rows must agree
        return stm->arg_count > 1 && core_type(p, stm->args[0]).rank > 0;
    case OP_IOTA: return !is_small_size(p, stm->args[0]);
    case OP_REPLICATE:
        return !is_small_size(p, stm->args[0]) || core_type(p, stm->args[1]).rank > 0;
    case OP_CONCAT:
    case OP_FILTER: return stm->arg_count != 1;
    case OP_GENERATE:
        return stm->attrs[0] != 1 || !is_small_size(p, stm->args[0]) ||
               !has_scalar_rows(p, stm, 1);
    case OP_MAP: return stm->attrs[0] != 1 || !has_scalar_rows(p, stm, 1);
    case OP_REDUCE: return stm->attrs[0] != 1 || !has_scalar_rows(p, stm, 0);
    case OP_SCAN: return stm->attrs[0] != 1 || !has_scalar_rows(p, stm, 1);
    }
    return true;
}

static bool body_has(const CoreProgram *p, const CoreBody *body,
                     bool (*test)(const CoreProgram *, const CoreStm *)) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (test(p, body->stms.data[i])) return true;
    return false;
}

static bool any_body_has(const CoreProgram *p, const CoreStm *stm,
                         bool (*test)(const CoreProgram *, const CoreStm *)) {
    for (uint32_t i = 0; i < stm->body_count; i++)
        if (body_has(p, stm->bodies[i], test)) return true;
    return false;
}

bool opt_is_effect_itself(const CoreProgram *p, const CoreStm *stm) {
    return stm->op == OP_TRACE || may_fail_itself(p, stm);
}

bool opt_is_effect(const CoreProgram *p, const CoreStm *stm) {
    return opt_is_effect_itself(p, stm) || any_body_has(p, stm, opt_is_effect);
}

// Whether the size is one of an array, or a check has passed that says that it is not
// negative.
static bool is_checked_size(const CoreProgram *p, CoreRef size, OptFindDef *find,
                            const void *knows) {
    const CoreStm *guard = find(knows, size);
    if (guard != NULL && guard->op == OP_DIM) return true;
    if (guard == NULL || guard->op != OP_GUARD) return false;
    for (uint32_t i = 1; i < guard->arg_count; i++) {
        const CoreStm *check = find(knows, guard->args[i]);
        if (check == NULL || check->op != OP_CHECK) continue;
        const CoreStm *le = find(knows, check->args[0]);
        if (le != NULL && le->op == OP_LE && core_is_const(p, le->args[0]) &&
            p->values.data[le->args[0]].bits == 0 && le->args[1] == guard->args[0])
            return true;
    }
    return false;
}

static bool makes_scalars(const CoreProgram *p, const CoreStm *generate) {
    const CoreBody *body = generate->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (opt_is_effect(p, body->stms.data[i])) return false;
    for (uint32_t i = 0; i < body->result_count; i++)
        if (core_type(p, body->results[i]).rank > 0) return false;
    return generate->attrs[0] == 1;
}

bool opt_wants_only_memory(const CoreProgram *p, const CoreStm *stm, OptFindDef *find,
                           const void *knows) {
    bool is_one = stm->op == OP_IOTA ||
                  (stm->op == OP_REPLICATE && core_type(p, stm->args[1]).rank == 0) ||
                  (stm->op == OP_GENERATE && makes_scalars(p, stm));
    return is_one && ((stm->flags & STM_UNSAFE) != 0 ||
                      is_checked_size(p, stm->args[0], find, knows));
}
