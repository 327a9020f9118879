// SPDX-License-Identifier: Apache-2.0
//
// Several branches of a turn which ask the same of elements that lie side by side:
// whether a key has a bin. Elements are looked at in one vector, and where all are
// below the bound the turn has no branch but that one.
#include "loop/copy.h"
#include "loop/passes.h"

enum {
    BYTES = 32, // that are looked at together: more would mostly lie in two lines
    LEAST = 4,  // branches
    MOST = 8,
    MOST_SIZE = 160 // statements in a turn
};

// Whether the statement makes a wider integer of another one, or one as wide, so that
// what is below a number as u64 is what was so before.
static bool widens(const LoopBuilder *b, const LoopStm *stm) {
    if (stm->op != LOOP_SCALAR || stm->scalar != OP_CONV) return false;
    ScalarType from = (ScalarType)loop_type(b, stm->args[0]).elem;
    ScalarType to = (ScalarType)loop_type(b, stm->outs[0]).elem;
    uint32_t bytes = scalar_info[from].bytes;
    return scalar_is_int(from) && scalar_is_int(to) && bytes >= 4 &&
           bytes <= scalar_info[to].bytes;
}

// ---- looking ------------------------------------------------------------------------

typedef struct Guards {
    LoopBuilder *b;
    const LoopSite *sites;
    uint32_t site_count;  // what is made here is behind
    Map inside;           // what the turn binds
    const LoopStm *first; // load of elements
    LoopRef bound;
    uint32_t count; // branches
} Guards;

static const LoopStm *def_of(const Guards *g, LoopRef ref) {
    ref = loop_find(g->b, ref);
    return ref < g->site_count ? g->sites[ref].def : NULL;
}

static bool is_inside(const Guards *g, LoopRef ref) {
    uint64_t is;
    return map_get(&g->inside, loop_find(g->b, ref), &is);
}

static bool is_scalar(const LoopStm *stm, CoreOp op) {
    return stm != NULL && stm->op == LOOP_SCALAR && stm->scalar == op;
}

// The load of what the value is widened from, if it is one of elements side by side.
static const LoopStm *load_of(const Guards *g, LoopRef value) {
    const LoopStm *def;
    while ((def = def_of(g, value)) != NULL && widens(g->b, def)) value = def->args[0];
    if (def == NULL || def->op != LOOP_LOAD || def->arg_count != 4 ||
        is_inside(g, def->args[0]) || is_inside(g, def->args[1]) ||
        !is_inside(g, def->outs[0]) || !loop_is_int(g->b, def->args[2], 1))
        return NULL;
    ScalarType elem = (ScalarType)loop_type(g->b, def->outs[0]).elem;
    return scalar_is_int(elem) && scalar_info[elem].bytes >= 4 ? def : NULL;
}

// Whether the load is of the element so many places behind that of the first one.
static bool is_behind(const Guards *g, const LoopStm *load, uint32_t places) {
    const LoopStm *first = g->first, *sum = def_of(g, load->args[3]);
    if (!loop_same(g->b, load->args[0], first->args[0]) ||
        !loop_same(g->b, load->args[1], first->args[1]))
        return false;
    if (places == 0) return loop_same(g->b, load->args[3], first->args[3]);
    return is_scalar(sum, OP_ADD) && loop_same(g->b, sum->args[0], first->args[3]) &&
           loop_is_int(g->b, sum->args[1], places);
}

// Whether the branch is the next one that asks.
static bool see_branch(Guards *g, const LoopStm *branch) {
    const LoopStm *lt = def_of(g, branch->args[0]);
    if (branch->out_count > 0 || branch->bodies[1]->stms.len > 0 ||
        !is_scalar(lt, OP_LT) || loop_type(g->b, lt->args[0]).elem != SCALAR_U64 ||
        is_inside(g, lt->args[1]))
        return false;
    const LoopStm *load = load_of(g, lt->args[0]);
    if (load == NULL) return false;
    if (g->count == 0) {
        g->first = load;
        g->bound = lt->args[1];
    }
    return loop_same(g->b, lt->args[1], g->bound) && is_behind(g, load, g->count++);
}

static bool stores_to(const Guards *g, const LoopBody *body, LoopRef buffer) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE && loop_same(g->b, stm->args[0], buffer)) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (stores_to(g, stm->bodies[k], buffer)) return true;
    }
    return false;
}

static bool is_plain(const LoopStm *stm) {
    return stm->op == LOOP_SCALAR || stm->op == LOOP_LOAD || stm->op == LOOP_STORE;
}

// Whether the elements are nobody's whom the turn stores to: what a kernel is given or
// makes is not also something else.
static bool is_constant(const Guards *g, const LoopBody *turn) {
    LoopRef buffer = g->first->args[0];
    const LoopStm *def = def_of(g, buffer);
    return !stores_to(g, turn, buffer) &&
           (def == NULL || def->op == LOOP_ALLOC || def->op == LOOP_RESULT);
}

// Whether all branches of the turn ask.
static bool find_guards(Guards *g, const LoopBody *turn) {
    map_init(&g->inside, loop_notes(g->b->kernel));
    loop_bind_body(&g->inside, turn);
    g->count = 0;
    for (uint32_t i = 0; i < turn->stms.len; i++) {
        const LoopStm *stm = turn->stms.data[i];
        if (!is_plain(stm) && (stm->op != LOOP_IF || !see_branch(g, stm))) return false;
    }
    if (g->count == 0) return false;
    uint32_t bytes = scalar_info[loop_type(g->b, g->first->outs[0]).elem].bytes;
    return bytes * g->count == BYTES && is_constant(g, turn);
}

// ---- both turns ---------------------------------------------------------------------

// The statements again, of branches what they do if they are taken.
static void copy_taken(LoopBuilder *b, LoopStm *const *stms, uint32_t count) {
    LoopCopier copier = loop_copier(b);
    for (uint32_t i = 0; i < count; i++) {
        if (stms[i]->op != LOOP_IF) {
            loop_append(b, loop_copy_stm(&copier, stms[i]));
            continue;
        }
        const LoopBody *arm = stms[i]->bodies[0];
        for (uint32_t k = 0; k < arm->stms.len; k++)
            loop_append(b, loop_copy_stm(&copier, arm->stms.data[k]));
    }
}

// From the first load of elements on there are two forms of the turn.
static void ask_once(const Guards *g, LoopBody *turn) {
    LoopBuilder *b = g->b;
    LoopBody old = *turn, *bodies[2];
    LoopStm **stms = old.stms.data;
    uint32_t at = 0, count = old.stms.len;
    turn->stms.data = NULL;
    turn->stms.len = turn->stms.cap = 0;
    loop_reopen(b, turn);
    while (stms[at] != g->first) loop_append(b, stms[at++]);
    b->loc = g->first->loc;
    const LoopRef *load = g->first->args;
    LoopRef args[4] = {load[0], loop_add(b, load[1], load[3]), loop_int(b, g->count),
                       g->bound};
    LoopRef all = loop_emit1(b, LOOP_BELOW, args, 4, loop_scalar_type(SCALAR_BOOL));
    loop_open(b, NULL, 0);
    copy_taken(b, stms + at, count - at);
    bodies[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    for (uint32_t i = at; i < count; i++) loop_append(b, stms[i]);
    bodies[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &all, 1, NULL, 0), bodies, 2);
    loop_close(b, NULL, 0);
}

static bool suits(const LoopStm *loop, int unused) {
    uint32_t branches = 0;
    (void)unused;
    if (loop->op != LOOP_FOR || loop->order != ORDER_SEQUENTIAL || loop->number != 0 ||
        loop->arg_count != 1)
        return false;
    const LoopBody *turn = loop->bodies[0];
    for (uint32_t i = 0; i < turn->stms.len; i++)
        branches += turn->stms.data[i]->op == LOOP_IF;
    return LEAST <= branches && branches <= MOST && loop_body_size(turn) <= MOST_SIZE;
}

static void look(Guards *g, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (suits(stm, 0) && find_guards(g, stm->bodies[0]))
            ask_once(g, stm->bodies[0]);
        else
            for (uint32_t k = loop_has_lanes(stm); k < stm->body_count; k++)
                look(g, stm->bodies[k]);
    }
}

void loop_guards(LoopKernel *kernel) {
    if (kernel->vector_bytes == 0 || !loop_kernel_has(kernel, suits, 0)) return;
    LoopBuilder b = loop_builder(kernel);
    Guards *g = arena_new(kernel->arena, Guards);
    g->b = &b;
    g->sites = loop_sites(kernel);
    g->site_count = kernel->values.len;
    for (uint32_t i = 0; i < kernel->funs.len; i++) look(g, kernel->funs.data[i].body);
    look(g, kernel->root);
    loop_tidy_news(&b);
}
