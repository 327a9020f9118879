// SPDX-License-Identifier: Apache-2.0
//
// Folds that take elements as they are made. Where a nest fills a private array that
// the next fold alone reads, in the order in which it lies there,
//
//   t = alloc(n m); for(n) {|i| for(m) {|j| .. t[i, j] = x}}
//   s = for(n m, s0) {|k, u| .. t[k] .. -> v}
//
// the fold goes into the nest, and there is no array:
//
//   s = for(n, s0) {|i, w| for(m, w) {|j, u| .. x .. -> v}}
//
// The turns keep their order. A sum over a window is such a fold, of which the nest has
// the window's rows and columns; lanes may then be its neighbours. It is for elements
// that take little: long ones had better have lanes of their own.
#include "loop/copy.h"
#include "loop/passes.h"
#include "loop/product.h"

enum { MOST_LEVELS = 6, MOST_SIZE = 32 };

// How often values are used, of those that there were at first.
typedef struct Uses {
    uint32_t *counts; // by LoopRef
    LoopRefs used;    // those that are
} Uses;

typedef struct Meet {
    LoopBuilder *b;
    const LoopSite *sites; // of the values that there were at first
    // In the kernel, and in the body whose nests are looked at. To count again for each
    // nest would take a time that grows with the square of the kernel.
    Uses all, here;
    const LoopBody *counted; // which body that is
    Map in_arms; // arrays that were made before a branch, and are in its arms
    LoopRef array;
    LoopStm *levels[MOST_LEVELS];
    uint32_t count; // of levels
    LoopStm *store; // the last statement of the innermost
    LoopStm *fold;
} Meet;

static const LoopStm *def_of(const Meet *m, LoopRef ref) {
    return ref < m->b->old ? m->sites[ref].def : NULL;
}

// ---- the nest -----------------------------------------------------------------------

// Whether it computes a value of what is there, or stops the kernel.
static bool is_plain(const LoopStm *stm) {
    return stm->op == LOOP_SCALAR || stm->op == LOOP_LOAD || stm->op == LOOP_CHECK ||
           loop_is_choice(stm);
}

static bool is_filled(Meet *m, LoopStm *loop) {
    for (m->count = 0; loop->op == LOOP_FOR;) {
        if (m->count == MOST_LEVELS || loop->order != ORDER_INDEPENDENT ||
            loop->number != 0 || loop->bodies[0]->stms.len == 0)
            return false;
        m->levels[m->count++] = loop;
        const LoopBody *body = loop->bodies[0];
        for (uint32_t i = 0; i + 1 < body->stms.len; i++)
            if (!is_plain(body->stms.data[i])) return false;
        loop = body->stms.data[body->stms.len - 1];
    }
    m->store = loop;
    return m->count > 0 && loop->op == LOOP_STORE && loop->args[0] == m->array &&
           loop->arg_count == 3 + 2 * m->count && loop_is_int(m->b, loop->args[2], 0) &&
           loop_body_size(m->levels[0]->bodies[0]) <= MOST_SIZE;
}

// Whether its elements lie in the order in which they are made, so many of them.
static bool is_in_order(const Meet *m, LoopRef elements) {
    LoopProduct p = {.number = 1};
    for (uint32_t i = m->count; i-- > 0;) {
        const LoopRef *place = m->store->args + 3 + 2 * i;
        if (place[1] != m->levels[i]->bodies[0]->params[0] ||
            !loop_is_product(m->b, m->sites, place[0], &p) ||
            !loop_multiply(m->b, m->sites, &p, m->levels[i]->args[0]))
            return false;
    }
    return loop_is_product(m->b, m->sites, elements, &p);
}

// ---- the fold -----------------------------------------------------------------------

static bool is_element(const Meet *m, const LoopStm *stm) {
    return stm->op == LOOP_LOAD && stm->args[0] == m->array && stm->arg_count == 4 &&
           loop_is_int(m->b, stm->args[1], 0) && loop_is_int(m->b, stm->args[2], 1) &&
           stm->args[3] == m->fold->bodies[0]->params[0];
}

// Whether the loop folds the elements, and nothing that it does may be seen. `uses`: of
// the array in all.
static bool is_fold(Meet *m, LoopStm *loop, uint32_t uses) {
    if (loop->op != LOOP_FOR || loop->order != ORDER_SEQUENTIAL || loop->number != 0 ||
        loop->out_count == 0)
        return false;
    m->fold = loop;
    uint32_t taken = 1; // by the store
    for (uint32_t i = 0; i < loop->bodies[0]->stms.len; i++) {
        const LoopStm *stm = loop->bodies[0]->stms.data[i];
        if (!is_plain(stm) || stm->op == LOOP_CHECK) return false;
        taken += is_element(m, stm);
    }
    return taken > 1 && taken == uses && is_in_order(m, loop->args[0]);
}

// Whether it may be done before the nest, though a check may be in front of it.
static bool can_pass(const LoopStm *stm) {
    return loop_is_choice(stm) || (stm->op == LOOP_SCALAR &&
                                   (core_op_info[stm->scalar].flags & OP_FAILS) == 0);
}

// The place of the fold in the body from `at` on, or its length. Of what lies between,
// checks stay behind: what is done before stops for nothing else.
static uint32_t find_fold(Meet *m, const LoopBody *body, uint32_t at, uint32_t uses) {
    for (; at < body->stms.len; at++) {
        LoopStm *stm = body->stms.data[at];
        if (is_fold(m, stm, uses)) return at;
        if (stm->op != LOOP_CHECK && !can_pass(stm)) break;
    }
    return body->stms.len;
}

// ---- uses ---------------------------------------------------------------------------

static void add_uses(const Meet *m, Uses *uses, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] < m->b->old && uses->counts[refs[i]]++ == 0)
            vec_push(loop_notes(m->b->kernel), &uses->used, refs[i]);
}

static void add_uses_in(const Meet *m, Uses *uses, const LoopBody *body);

static void add_uses_by(const Meet *m, Uses *uses, const LoopStm *stm) {
    add_uses(m, uses, stm->args, stm->arg_count);
    for (uint32_t k = 0; k < stm->body_count; k++) add_uses_in(m, uses, stm->bodies[k]);
}

static void add_uses_in(const Meet *m, Uses *uses, const LoopBody *body) {
    add_uses(m, uses, body->results, body->result_count);
    for (uint32_t i = 0; i < body->stms.len; i++)
        add_uses_by(m, uses, body->stms.data[i]);
}

// How often the body uses the array. That two loops meet changes it of their array
// alone.
static uint32_t count_here(Meet *m, const LoopBody *body, LoopRef array) {
    if (m->counted != body) {
        for (uint32_t i = 0; i < m->here.used.len; i++)
            m->here.counts[m->here.used.data[i]] = 0;
        m->here.used.len = 0;
        add_uses_in(m, &m->here, body);
        m->counted = body;
    }
    return m->here.counts[array];
}

// The place of a branch behind the nest at `at` of which an arm folds the elements, and
// all else is in its arms, too; or the body's length.
static uint32_t find_branch(Meet *m, const LoopBody *body, uint32_t at) {
    uint32_t none = body->stms.len, uses = count_here(m, body, m->array);
    while (++at < none && can_pass(body->stms.data[at])) continue;
    if (at == none || body->stms.data[at]->op != LOOP_IF ||
        loop_count_uses_by(body->stms.data[at], m->array) + 1 != uses)
        return none;
    for (uint32_t k = 0; k < 2; k++) {
        const LoopBody *arm = body->stms.data[at]->bodies[k];
        uses = 1 + loop_count_uses(arm, m->array);
        if (uses > 1 && find_fold(m, arm, 0, uses) < arm->stms.len) return at;
    }
    return none;
}

// ---- both ---------------------------------------------------------------------------

// The number of the element, in the innermost body, which is open.
static LoopRef number_of(Meet *m) {
    LoopRef number = loop_int(m->b, 0);
    for (uint32_t i = 0; i < m->count; i++) {
        const LoopRef *place = m->store->args + 3 + 2 * i;
        number = loop_add(m->b, number, loop_mul(m->b, place[1], place[0]));
    }
    return number;
}

// What the fold does, behind what makes the element.
static void put_fold(Meet *m, LoopBody *inner) {
    LoopBuilder *b = m->b;
    const LoopBody *body = m->fold->bodies[0];
    inner->stms.len--; // the store
    loop_reopen(b, inner);
    loop_identify(b, body->params[0], number_of(m));
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (is_element(m, stm)) loop_identify(b, stm->outs[0], m->store->args[1]);
        else loop_append(b, stm);
    }
    b->open.len--;
}

// The loop carries what the fold does, from `start` on; `params`: within.
static void carry(Meet *m, LoopStm *loop, const LoopRef *start, const LoopRef *params,
                  const LoopRef *results) {
    Arena *arena = m->b->arena;
    LoopBody *body = loop->bodies[0];
    uint32_t count = m->fold->out_count;
    LoopRef *args = arena_array(arena, LoopRef, count + 1);
    LoopRef *all = arena_array(arena, LoopRef, count + 1);
    args[0] = loop->args[0];
    all[0] = body->params[0];
    for (uint32_t i = 0; i < count; i++) {
        args[i + 1] = start[i];
        all[i + 1] = params[i];
    }
    loop->args = args;
    loop->arg_count = count + 1;
    loop->order = ORDER_SEQUENTIAL;
    loop->out_count = count;
    body->params = all;
    body->param_count = count + 1;
    body->results = arena_copy(arena, results, count * sizeof *results);
    body->result_count = count;
}

static LoopRef *fresh_like(Meet *m, const LoopRef *refs, uint32_t count) {
    LoopRef *fresh = arena_array(m->b->arena, LoopRef, count);
    for (uint32_t i = 0; i < count; i++)
        fresh[i] = loop_value(m->b, loop_type(m->b, refs[i]),
                              m->b->kernel->values.data[refs[i]].name);
    return fresh;
}

static void meet(Meet *m) {
    const LoopBody *body = m->fold->bodies[0];
    uint32_t count = m->fold->out_count, last = m->count - 1;
    put_fold(m, m->levels[last]->bodies[0]);
    const LoopRef *start = m->fold->args + 1;
    LoopRef *outs = m->fold->outs;
    for (uint32_t i = 0; i <= last; i++) {
        const LoopRef *params = body->params + 1, *results = body->results;
        if (i < last) params = fresh_like(m, outs, count);
        m->levels[i]->outs = outs;
        if (i < last) results = outs = fresh_like(m, outs, count);
        carry(m, m->levels[i], start, params, results);
        start = params;
    }
}

// The array that the nest fills; 0: none.
static LoopRef array_of(const LoopStm *loop) {
    while (loop->op == LOOP_FOR && loop->bodies[0]->stms.len > 0)
        loop = loop->bodies[0]->stms.data[loop->bodies[0]->stms.len - 1];
    return loop->op == LOOP_STORE ? loop->args[0] : 0;
}

static void take_out(LoopBody *body, uint32_t at) {
    for (uint32_t i = at; i + 1 < body->stms.len; i++)
        body->stms.data[i] = body->stms.data[i + 1];
    body->stms.len--;
}

static void put_in(Arena *arena, LoopBody *body, uint32_t at, LoopStm *stm) {
    vec_push(arena, &body->stms, stm);
    for (uint32_t i = body->stms.len - 1; i > at; i--)
        body->stms.data[i] = body->stms.data[i - 1];
    body->stms.data[at] = stm;
}

// The nest meets the fold at `fold`; what lies between, but checks, goes before both.
static void meet_fold(Meet *m, LoopBody *body, uint32_t at, uint32_t fold) {
    meet(m);
    take_out(body, fold);
    for (uint32_t i = at + 1; i < fold; i++) {
        LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_CHECK) continue;
        take_out(body, i);
        put_in(m->b->arena, body, at++, stm);
    }
}

// The nest at `at` goes into both arms of a branch, and is copied for that.
static void meet_in_arms(Meet *m, LoopBody *body, uint32_t at, uint32_t branch) {
    LoopCopier copier = loop_copier(m->b);
    LoopStm *nest = body->stms.data[at], *copy = loop_copy_stm(&copier, nest);
    LoopBody *const *arms = body->stms.data[branch]->bodies;
    map_set(&m->in_arms, m->array, 1);
    add_uses_by(m, &m->all, copy);
    add_uses_by(m, &m->here, copy);
    put_in(m->b->arena, arms[0], 0, nest);
    put_in(m->b->arena, arms[1], 0, copy);
    take_out(body, at);
}

// Whether the array is private, and all that is done with it is done in the body, or in
// another arm of the branch that it is an arm of.
static bool is_here(Meet *m, const LoopBody *body, LoopRef array) {
    const LoopStm *def = def_of(m, array);
    uint64_t unused;
    return def != NULL && def->op == LOOP_ALLOC &&
           (map_get(&m->in_arms, array, &unused) ||
            m->all.counts[array] == count_here(m, body, array));
}

// Lets the nest at `at` meet its fold, or go on to where that is, if it has one.
static void meet_at(Meet *m, LoopBody *body, uint32_t at) {
    LoopStm *nest = body->stms.data[at];
    m->array = array_of(nest);
    if (m->array == 0 || !is_here(m, body, m->array) || !is_filled(m, nest)) return;
    uint32_t fold = find_fold(m, body, at + 1, count_here(m, body, m->array));
    if (fold < body->stms.len) {
        meet_fold(m, body, at, fold);
        return;
    }
    uint32_t branch = find_branch(m, body, at);
    if (branch < body->stms.len) meet_in_arms(m, body, at, branch);
}

static void visit(Meet *m, LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i]->op == LOOP_FOR) meet_at(m, body, i);
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->body_count; k++)
            visit(m, body->stms.data[i]->bodies[k]);
}

static bool is_alloc(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_ALLOC;
}

void loop_meet(LoopKernel *kernel) {
    if (!loop_kernel_has(kernel, is_alloc, 0)) return;
    LoopBuilder b = loop_builder(kernel);
    Meet m = {.b = &b, .sites = loop_sites(kernel)};
    map_init(&m.in_arms, loop_notes(kernel));
    m.all.counts = arena_array(loop_notes(kernel), uint32_t, b.old);
    m.here.counts = arena_array(loop_notes(kernel), uint32_t, b.old);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        add_uses_in(&m, &m.all, kernel->funs.data[i].body);
    add_uses_in(&m, &m.all, kernel->root);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        visit(&m, kernel->funs.data[i].body);
    visit(&m, kernel->root);
    loop_tidy_news(&b);
}
