// SPDX-License-Identifier: Apache-2.0
//
// Which buffers of a kernel share memory with no other one that is used where they are:
// what is allocated, results, tables, parameters; and of those that a loop hands on
// from turn to turn in any order, the ones that its turns look at, if these never meet.
#include "emit/walk.h"

enum { MOST_STATES = 4 };

typedef struct Own {
    const LoopKernel *kernel;
    bool *is_own;
    const LoopStm **choices; // by LoopRef: branches that do nothing but choose
} Own;

// What a buffer is, or the two of which it is one.
typedef struct Either {
    LoopRef refs[2];
} Either;

static bool is_buffer(const LoopKernel *kernel, LoopRef ref) {
    return kernel->values.data[ref].type.kind == LOOP_IS_BUFFER;
}

static bool uses(const LoopBody *body, LoopRef ref) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++)
            if (stm->args[k] == ref) return true;
        for (uint32_t k = 0; k < stm->body_count; k++) {
            const LoopBody *inner = stm->bodies[k];
            if (uses(inner, ref)) return true;
            for (uint32_t r = 0; r < inner->result_count; r++)
                if (inner->results[r] == ref) return true;
        }
    }
    return false;
}

static Either find_either(const Own *o, LoopRef ref) {
    const LoopStm *choice = o->choices[ref];
    Either s = {{ref, ref}};
    for (uint32_t k = 0; choice != NULL && k < choice->out_count; k++)
        for (int i = 0; i < 2 && choice->outs[k] == ref; i++)
            s.refs[i] = choice->bodies[i]->results[k];
    return s;
}

// Whether both may be the same.
static bool meet(const Either *x, const Either *y) {
    for (int i = 0; i < 2; i++)
        if (x->refs[i] == y->refs[0] || x->refs[i] == y->refs[1]) return true;
    return false;
}

// The buffers that a loop carries: which state's each becomes, and whether turns look
// at it.
typedef struct Carried {
    uint32_t count;
    LoopRef params[MOST_STATES];
    Either first[MOST_STATES];
    uint32_t next[MOST_STATES];
    bool is_used[MOST_STATES];
} Carried;

static bool find_carried(const Own *o, const LoopStm *loop, Carried *c) {
    const LoopBody *body = loop->bodies[0];
    uint32_t state_of[MOST_STATES];
    c->count = 0;
    for (uint32_t i = 0; i < loop->out_count; i++) {
        if (!is_buffer(o->kernel, body->params[1 + i])) continue;
        if (c->count == MOST_STATES || uses(body, loop->args[1 + i])) return false;
        Either first = find_either(o, loop->args[1 + i]);
        for (int j = 0; j < 2; j++)
            if (!o->is_own[first.refs[j]] || uses(body, first.refs[j])) return false;
        state_of[c->count] = i;
        c->params[c->count] = body->params[1 + i];
        c->is_used[c->count] = uses(body, body->params[1 + i]);
        c->first[c->count++] = first;
    }
    for (uint32_t k = 0; k < c->count; k++) {
        uint32_t from = 0;
        while (from < c->count && c->params[from] != body->results[state_of[k]]) from++;
        if (from == c->count) return false;
        c->next[k] = from;
    }
    return c->count > 0;
}

// Whether no two that turns look at are ever the same. Where each is follows from where
// all were a turn before, so after as many turns as there are ways they repeat.
static bool never_meet(const Carried *c) {
    Either now[MOST_STATES], then[MOST_STATES];
    uint32_t ways = 1;
    for (uint32_t k = 0; k < c->count; k++) {
        now[k] = c->first[k];
        ways *= c->count;
    }
    for (uint32_t turn = 0; turn < ways; turn++) {
        for (uint32_t k = 0; k < c->count; k++)
            for (uint32_t j = 0; j < k; j++)
                if (c->is_used[k] && c->is_used[j] && meet(&now[k], &now[j]))
                    return false;
        for (uint32_t k = 0; k < c->count; k++) then[k] = now[c->next[k]];
        for (uint32_t k = 0; k < c->count; k++) now[k] = then[k];
    }
    return true;
}

static bool is_choice(const LoopStm *stm) {
    return stm->op == LOOP_IF && stm->bodies[0]->stms.len == 0 &&
           stm->bodies[1]->stms.len == 0;
}

static void note_own(Own *o, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        Carried carried;
        if (stm->op == LOOP_ALLOC || stm->op == LOOP_RESULT || stm->op == LOOP_DATA)
            o->is_own[stm->outs[0]] = true;
        for (uint32_t k = 0; k < stm->out_count && is_choice(stm); k++)
            o->choices[stm->outs[k]] = stm;
        if (stm->op == LOOP_FOR && stm->number == 0 && find_carried(o, stm, &carried) &&
            never_meet(&carried))
            for (uint32_t k = 0; k < carried.count; k++)
                o->is_own[carried.params[k]] = carried.is_used[k];
        for (uint32_t k = 0; k < stm->body_count; k++) note_own(o, stm->bodies[k]);
    }
}

const bool *walk_own_buffers(const LoopKernel *kernel, Arena *arena) {
    uint32_t len = kernel->values.len;
    Own o = {.kernel = kernel,
             .is_own = arena_array(arena, bool, len),
             .choices = arena_array(arena, const LoopStm *, len)};
    for (uint32_t i = 0; i < kernel->root->param_count; i++)
        o.is_own[kernel->root->params[i]] = is_buffer(kernel, kernel->root->params[i]);
    note_own(&o, kernel->root);
    return o.is_own;
}
