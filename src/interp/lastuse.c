// SPDX-License-Identifier: Apache-2.0
//
// Last uses of arrays. Going backwards, the first time a slot is met is its last use:
// there its reference may move, and after that step the slot is empty or is emptied. So
// an array that is updated in a loop has one reference all the time and is updated in
// place.
//
// A reference bound outside a body may move inside it only if the body runs at most
// once for each time the value was bound: bodies of IF count to the region of the body
// they are in, all others are regions of their own.
#include "interp/run.h"

typedef struct Marker {
    Run *run;
    uint32_t *body;    // by slot: number of the body that binds it
    uint32_t *region;  // by slot: number of the region it is bound in
    bool *used;        // by slot: met already, later in the program
    struct { uint32_t *data; uint32_t len, cap; } met;  // in the bodies being visited
    uint32_t bodies;
} Marker;

static void bind(Marker *m, uint32_t first, uint32_t count, uint32_t body,
                 uint32_t region) {
    for (uint32_t slot = first; slot < first + count; slot++) {
        m->body[slot] = body;
        m->region[slot] = region;
    }
}

static void meet(Marker *m, uint32_t slot, uint32_t region, bool *moves_out) {
    if (!m->run->is_array.data[slot] || m->used[slot]) return;
    m->used[slot] = true;
    vec_push(m->run->arena, &m->met, slot);
    *moves_out = m->region[slot] == region;
}

// Takes what `body` binds out of the list of slots met from `from` on, which are dead
// after the step. So is in a branch what is bound before it, which stays in the list:
// the other branch may not use it.
static void settle(Marker *m, uint32_t from, uint32_t body, uint32_t region,
                   Step *step) {
    uint32_t kept = from;
    for (uint32_t i = from; i < m->met.len; i++) {
        uint32_t slot = m->met.data[i];
        if (m->body[slot] != body) m->met.data[kept++] = slot;
        if (step != NULL && m->region[slot] == region)
            step->dead[step->dead_count++] = slot;
    }
    m->met.len = kept;
}

static void visit(Marker *m, Code *code, uint32_t region);

// Each branch is visited as if there were no other: both may hold the last use.
static void visit_branches(Marker *m, Step *step, uint32_t region) {
    uint32_t start = m->met.len;
    visit(m, step->bodies[0], region);
    uint32_t middle = m->met.len;
    for (uint32_t i = start; i < middle; i++) m->used[m->met.data[i]] = false;
    visit(m, step->bodies[1], region);
    for (uint32_t i = middle; i < m->met.len; i++) m->used[m->met.data[i]] = false;
    uint32_t kept = start;
    for (uint32_t i = start; i < m->met.len; i++) {
        uint32_t slot = m->met.data[i];
        if (m->used[slot]) continue;
        m->used[slot] = true;
        m->met.data[kept++] = slot;
    }
    m->met.len = kept;
}

static void visit_step(Marker *m, Step *step, uint32_t body, uint32_t region) {
    const CoreStm *stm = step->stm;
    uint32_t start = m->met.len;
    if (stack_is_low(&m->run->program->cx->stack)) interp_fail_deep(m->run, step);
    if (stm->op == OP_IF)
        visit_branches(m, step, region);
    else if (stm->op != OP_CALL)
        for (uint32_t i = stm->body_count; i-- > 0;)
            visit(m, step->bodies[i], ++m->bodies);
    for (uint32_t i = stm->arg_count; i-- > 0;)
        meet(m, step->args[i], region, &step->moves[i]);
    uint32_t most = m->met.len - start + stm->out_count;
    step->dead = arena_array(m->run->code_arena, uint32_t, most);
    settle(m, start, body, region, step);
    for (uint32_t slot = step->out; slot < step->out + stm->out_count; slot++)
        if (m->run->is_array.data[slot] && !m->used[slot])
            step->dead[step->dead_count++] = slot;
}

static void visit(Marker *m, Code *code, uint32_t region) {
    uint32_t body = ++m->bodies, start = m->met.len;
    bind(m, code->param, code->param_count, body, region);
    for (uint32_t i = 0; i < code->step_count; i++)
        bind(m, code->steps[i].out, code->steps[i].stm->out_count, body, region);
    for (uint32_t i = code->result_count; i-- > 0;)
        meet(m, code->results[i], region, &code->moves[i]);
    settle(m, start, body, region, NULL);  // they leave with the results
    for (uint32_t i = code->step_count; i-- > 0;)
        visit_step(m, &code->steps[i], body, region);
    code->unused = arena_array(m->run->code_arena, uint32_t, code->param_count);
    for (uint32_t slot = code->param; slot < code->param + code->param_count; slot++)
        if (m->run->is_array.data[slot] && !m->used[slot])
            code->unused[code->unused_count++] = slot;
}

void interp_mark_last_uses(Run *run) {
    Marker m = {.run = run};
    m.body = arena_array(run->arena, uint32_t, run->slots.len);
    m.region = arena_array(run->arena, uint32_t, run->slots.len);
    m.used = arena_array(run->arena, bool, run->slots.len);
    for (uint32_t i = 0; i < run->program->funs.len; i++)
        if (run->funs[i] != NULL) visit(&m, run->funs[i], ++m.bodies);
    visit(&m, run->entry, ++m.bodies);
}
