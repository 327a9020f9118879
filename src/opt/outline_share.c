// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are the same but for the names of their values: the parts of an operator
// are, if sizes and places come from outside. One is enough, which all call. Those that
// stand elsewhere, as one operator does on several lines, have errors of their own, and
// for them one code is enough, if each place in the one is a place in the other.
#include "opt/outline_share.h"

#include "opt/opt.h"

typedef struct Pair {
    const CoreProgram *program;
    bool is_anywhere; // wherever their statements stand
    Map to;           // what is bound in the one -> in the other
    Map places;       // of the one -> of the other
} Pair;

static Pair new_pair(const CoreProgram *p, bool is_anywhere, Arena *arena) {
    Pair pair = {.program = p, .is_anywhere = is_anywhere};
    map_init(&pair.to, arena);
    map_init(&pair.places, arena);
    return pair;
}

static bool same_body(Pair *pair, const CoreBody *a, const CoreBody *b);

static bool bind(Pair *pair, const CoreRef *a, const CoreRef *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        CoreType x = core_type(pair->program, a[i]), y = core_type(pair->program, b[i]);
        if (x.elem != y.elem || x.rank != y.rank) return false;
        map_set(&pair->to, a[i], b[i]);
    }
    return true;
}

// Constants have one number, wherever they are.
static bool same_refs(const Pair *pair, const CoreRef *a, const CoreRef *b,
                      uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t to = a[i];
        if (a[i] != 0 && !core_is_const(pair->program, a[i]) &&
            !map_get(&pair->to, a[i], &to))
            return false;
        if (to != b[i]) return false;
    }
    return true;
}

// Places of parts have numbers of their own.
static bool same_place(Pair *pair, CoreLoc a, CoreLoc b) {
    const CoreProgram *p = pair->program;
    const CorePlace *x = &p->places.data[a], *y = &p->places.data[b];
    uint64_t to = b;
    if (pair->is_anywhere && !map_get(&pair->places, 1 + (uint64_t)a, &to))
        map_set(&pair->places, 1 + (uint64_t)a, b);
    if (pair->is_anywhere) return to == b;
    return a == b || (x->span.start == y->span.start && x->span.end == y->span.end &&
                      x->function == y->function && x->caller == y->caller);
}

// Elements that change between two runs are those of one statement.
static bool same_text(const CoreStm *a, const CoreStm *b) {
    if (a->text.ptr == b->text.ptr) return a->text.len == b->text.len;
    return (a->flags & STM_CHANGES) == 0 && str_eq(a->text, b->text);
}

static bool same_stm(Pair *pair, const CoreStm *a, const CoreStm *b) {
    bool ok = a->op == b->op && a->flags == b->flags && a->stamp == b->stamp &&
              a->body_count == b->body_count && a->out_count == b->out_count &&
              a->arg_count == b->arg_count && a->attr_count == b->attr_count &&
              same_place(pair, a->loc, b->loc) && same_text(a, b) &&
              same_refs(pair, a->args, b->args, a->arg_count);
    for (uint32_t i = 0; ok && i < a->attr_count; i++) ok = a->attrs[i] == b->attrs[i];
    for (uint32_t i = 0; ok && i < a->body_count; i++)
        ok = same_body(pair, a->bodies[i], b->bodies[i]);
    return ok && bind(pair, a->outs, b->outs, a->out_count);
}

static bool same_body(Pair *pair, const CoreBody *a, const CoreBody *b) {
    bool ok = a->param_count == b->param_count && a->result_count == b->result_count &&
              a->stms.len == b->stms.len &&
              bind(pair, a->params, b->params, a->param_count);
    for (uint32_t i = 0; ok && i < a->stms.len; i++)
        ok = same_stm(pair, a->stms.data[i], b->stms.data[i]);
    return ok && same_refs(pair, a->results, b->results, a->result_count);
}

static bool same_kernel(const KernelKinds *kinds, const CoreFun *a, const CoreFun *b) {
    const CoreProgram *p = kinds->program;
    if (a->kernel != b->kernel || a->body->stms.len != b->body->stms.len) return false;
    if (!kinds->is_anywhere && (a->otherwise != 0 || b->otherwise != 0)) return false;
    ArenaMark mark = arena_mark(core_notes(p));
    Pair pair = new_pair(p, kinds->is_anywhere, core_notes(p));
    bool same = same_body(&pair, a->body, b->body);
    arena_back(core_notes(p), mark);
    return same;
}

// ---- kinds --------------------------------------------------------------------------

// Of what is done where, whatever it is done with.
static void add_body(const KernelKinds *kinds, const CoreBody *body, uint64_t *hash) {
    const CoreProgram *p = kinds->program;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        *hash = hash_add(*hash, (uint64_t)stm->op << 32 | stm->attr_count);
        if (!kinds->is_anywhere)
            *hash = hash_add(*hash, p->places.data[stm->loc].span.start);
        for (uint32_t k = 0; k < stm->attr_count; k++)
            *hash = hash_add(*hash, (uint32_t)stm->attrs[k]);
        for (uint32_t k = 0; k < stm->body_count; k++)
            add_body(kinds, stm->bodies[k], hash);
    }
}

KernelKinds outline_kinds(const CoreProgram *p) {
    KernelKinds kinds = {.program = p};
    map_init(&kinds.last, core_notes(p));
    kinds.before = arena_array(core_notes(p), uint32_t, p->funs.len);
    return kinds;
}

uint32_t outline_first_same(KernelKinds *kinds, uint32_t kernel) {
    const CoreProgram *p = kinds->program;
    const CoreFun *fun = p->funs.data[kernel];
    uint64_t hash = fun->kernel, last = 0;
    if (fun->kernel == CORE_NO_KERNEL) return kernel;
    add_body(kinds, fun->body, &hash);
    if (hash == 0) hash = 1;
    map_get(&kinds->last, hash, &last);
    for (uint32_t i = (uint32_t)last; i > 0; i = kinds->before[i - 1])
        if (same_kernel(kinds, p->funs.data[i - 1], fun)) return i - 1;
    kinds->before[kernel] = (uint32_t)last;
    map_set(&kinds->last, hash, 1 + kernel);
    return kernel;
}

const uint32_t *opt_find_alike(const CoreProgram *p, Arena *arena) {
    uint32_t *first = arena_array(arena, uint32_t, p->funs.len);
    KernelKinds kinds = outline_kinds(p);
    kinds.is_anywhere = true;
    for (uint32_t i = 0; i < p->funs.len; i++) first[i] = outline_first_same(&kinds, i);
    return first;
}

CoreLoc opt_place_in(const CoreProgram *p, const CoreFun *kernel, const CoreFun *alike,
                     CoreLoc loc, Arena *arena) {
    Pair pair = new_pair(p, true, arena);
    uint64_t to = loc;
    if (same_body(&pair, kernel->body, alike->body))
        map_get(&pair.places, 1 + (uint64_t)loc, &to);
    return (CoreLoc)to;
}
