// SPDX-License-Identifier: Apache-2.0
//
// Uniqueness of loops. Every part of the state has a region that stands for what the
// part holds when an iteration starts: its initial value, or what the last iteration
// gave back. Consuming that region consumes both; updating it writes to a copy made at
// the loop's start, if the initial value is used elsewhere. What the loop returns
// follows from which part's region flows into which part of the next state.
#include "check/unique.h"

typedef struct Flow {
    Region *region;
    const Refs *init, *next;
} Flow;
typedef struct {
    Flow *data;
    uint32_t len, cap;
} Flows;

static void collect(Unique *u, const Refs *state, const Refs *init, const Refs *next,
                    Flows *flows) {
    for (uint32_t i = 0; i < state->part_count; i++)
        collect(u, state->parts[i], unique_part(init, i), unique_part(next, i), flows);
    for (uint32_t i = 0; i < state->count; i++) {
        state->regions[i]->is_flow = true;
        state->regions[i]->flow = flows->len;
        vec_push(u->ck->arena, flows, (Flow){state->regions[i], init, next});
    }
}

// ---- what an iteration consumes ----------------------------------------------------

static void check_others(Unique *u, const Flows *flows, uint32_t index, bool is_init,
                         uint32_t mark, Span span) {
    if (u->log.len == mark) return;
    for (uint32_t i = 0; i < flows->len; i++)
        if (i != index)
            unique_in_flight(u, is_init ? flows->data[i].init : flows->data[i].next,
                             span, (Span){0, 0});
}

// What is consumed in an iteration was given back by the one before: so that must be
// consumable as well. That may consume another part of the state: hence again.
static void consume_next(Unique *u, const Flows *flows, Span span) {
    static const Diet all = {.consumed = true};
    bool *done = arena_array(u->ck->arena, bool, flows->len);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < flows->len; i++) {
            const Flow *flow = &flows->data[i];
            if (done[i] || !flow->region->is_consumed) continue;
            done[i] = again = true;
            uint32_t mark = u->log.len;
            unique_consume(u, flow->next, &all, span, flow->region->by);
            check_others(u, flows, i, false, mark, span);
        }
    }
}

static void settle_init(Unique *u, const Flows *flows, Span span) {
    static const Diet all = {.consumed = true};
    for (uint32_t i = 0; i < flows->len; i++) {
        const Flow *flow = &flows->data[i];
        if (flow->region->is_consumed) {
            uint32_t mark = u->log.len;
            unique_consume(u, flow->init, &all, span, flow->region->by);
            check_others(u, flows, i, true, mark, span);
        } else if (flow->region->was_updated) {
            unique_update(u, flow->init, span, true);
        }
    }
}

// ---- what the loop returns ---------------------------------------------------------

typedef struct Search {
    const Flows *flows;
    uint32_t *seen; // by flow: the last search that came by, plus 1
    uint32_t *stack;
    uint32_t depth;
} Search;

static const Refs *result_of(Unique *u, Search *search, uint32_t start) {
    const Refs *result = &unique_nothing;
    uint32_t top = 0;
    search->stack[top++] = start;
    search->seen[start] = start + 1;
    while (top > 0) {
        const Flow *flow = &search->flows->data[search->stack[--top]];
        if (!flow->region->is_consumed && !flow->region->was_updated)
            result = unique_union(u, result, unique_flat(u, flow->init));
        const Refs *next = unique_flat(u, flow->next);
        result = unique_union(u, result, unique_outside(u, next, search->depth));
        for (uint32_t i = 0; i < next->count; i++) {
            const Region *region = next->regions[i];
            if (!region->is_flow || region->depth <= search->depth) continue;
            if (search->seen[region->flow] == start + 1) continue;
            search->seen[region->flow] = start + 1;
            search->stack[top++] = region->flow;
        }
    }
    return result;
}

static const Refs *result_tree(Unique *u, Search *search, const Refs *state) {
    if (state->count > 0) return result_of(u, search, state->regions[0]->flow);
    if (state->part_count == 0) return &unique_nothing;
    const Refs **parts = arena_array(u->ck->arena, const Refs *, state->part_count);
    for (uint32_t i = 0; i < state->part_count; i++)
        parts[i] = result_tree(u, search, state->parts[i]);
    return unique_record(u, parts, state->part_count);
}

// ---- the loop ----------------------------------------------------------------------

const Refs *unique_visit_loop(Unique *u, TExp *exp) {
    const Refs *init = unique_visit(u, exp->as.loop.init), *array = &unique_nothing;
    uint32_t mark = u->log.len;
    Span init_span = exp->as.loop.init->span, body_span = exp->as.loop.body->span;
    if (exp->as.loop.form != TLOOP_WHILE) array = unique_visit(u, exp->as.loop.bound);
    if (u->log.len > mark) unique_in_flight(u, init, init_span, (Span){0, 0});
    unique_enter(u, BARRIER_LOOP);
    const Refs *state = unique_bind_params(u, exp->as.loop.pat, false);
    if (exp->as.loop.form == TLOOP_WHILE) unique_visit(u, exp->as.loop.bound);
    if (exp->as.loop.elem != NULL) unique_bind(u, exp->as.loop.elem, array);
    const Refs *next = unique_visit(u, exp->as.loop.body);
    Flows flows = {0};
    collect(u, state, init, next, &flows);
    consume_next(u, &flows, body_span);
    unique_leave(u);
    settle_init(u, &flows, init_span);
    Search search = {.flows = &flows, .depth = u->barriers.len};
    search.seen = arena_array(u->ck->arena, uint32_t, flows.len + 1);
    search.stack = arena_array(u->ck->arena, uint32_t, flows.len + 1);
    return result_tree(u, &search, state);
}
