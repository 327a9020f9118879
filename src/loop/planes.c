// SPDX-License-Identifier: Apache-2.0
//
// Few turns that all read the same planes. Where each turn of a short parallel loop
// goes over planes of arrays that the other turns read, too, an array that is too large
// for the caches comes from memory once for each turn. Here the loop over the planes is
// outside, so that all turns find a plane in the caches:
//
//   for.parallel(few) {|q| before; for(planes) {|z| plane}}
//
// becomes
//
//   same; for.parallel(planes) {|z| for(few) {|q| others; plane}}
//
// `same` being what of `before` is the same in all turns, the only statements that may
// fail. There are more turns to share out, too.
#include "loop/depend.h"
#include "loop/passes.h"

enum { LEAST = 2, MOST = 32 }; // turns

typedef struct Planes {
    LoopBuilder b;
    Map tables;            // buffers of DATA
    Map by_turn, by_plane; // values that differ from turn to turn; from plane to plane
} Planes;

// ---- what depends on what -----------------------------------------------------------

// Whether it makes the same in all turns.
static bool is_same(const Planes *p, const LoopStm *stm) {
    return depend_is_free(&p->b, &p->by_turn, stm);
}

// Whether a loop within the plane loads what depends on it, but not on the turn.
static bool shares(const Planes *p, const LoopBody *plane, bool is_inner) {
    for (uint32_t i = 0; i < plane->stms.len; i++) {
        const LoopStm *stm = plane->stms.data[i];
        if (is_inner && stm->op == LOOP_LOAD &&
            !depend_any(&p->b, &p->by_turn, stm->args, stm->arg_count) &&
            depend_any(&p->b, &p->by_plane, stm->args, stm->arg_count))
            return true;
        bool is_loop = stm->op == LOOP_FOR;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (shares(p, stm->bodies[k], is_inner || is_loop)) return true;
    }
    return false;
}

// ---- finding them -------------------------------------------------------------------

// Whether it changes nothing and gives the same later: of memory it looks at tables.
static bool is_plain(const Planes *p, const LoopStm *stm) {
    uint64_t unused;
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (!is_plain(p, stm->bodies[k]->stms.data[i])) return false;
    if (stm->op == LOOP_LOAD)
        return map_get(&p->tables, loop_find(&p->b, stm->args[0]), &unused);
    return stm->op == LOOP_SCALAR || stm->op == LOOP_IF;
}

static bool may_fail(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_CHECK || stm->op == LOOP_CALL) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (may_fail(stm->bodies[k])) return true;
    }
    return false;
}

// The loop over the planes, if the parallel loop is of that form.
static LoopStm *find_planes(Planes *p, const LoopStm *loop) {
    uint64_t times;
    const LoopBody *body = loop->bodies[0];
    if (loop->op != LOOP_FOR || loop->order != ORDER_PARALLEL || loop->number != 0 ||
        !loop_is_known(&p->b, loop->args[0], &times) || times < LEAST || times > MOST ||
        body->stms.len == 0)
        return NULL;
    LoopStm *planes = body->stms.data[body->stms.len - 1];
    if (planes->op != LOOP_FOR || planes->order != ORDER_INDEPENDENT ||
        planes->number != 0 || may_fail(planes->bodies[0]))
        return NULL;
    map_init(&p->by_turn, loop_notes(p->b.kernel));
    map_init(&p->by_plane, loop_notes(p->b.kernel));
    map_set(&p->by_turn, body->params[0], 1);
    map_set(&p->by_plane, planes->bodies[0]->params[0], 1);
    depend_spread(&p->b, &p->by_turn, body);
    depend_spread(&p->b, &p->by_plane, planes->bodies[0]);
    if (depend_any(&p->b, &p->by_turn, planes->args, 1)) return NULL;
    for (uint32_t i = 0; i + 1 < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_check = stm->op == LOOP_CHECK && is_same(p, stm);
        if (!is_plain(p, stm) && !is_check) return NULL;
    }
    return shares(p, planes->bodies[0], false) ? planes : NULL;
}

// ---- changing them ------------------------------------------------------------------

// Appends to `out` what is the same in all turns, and turns the loop inside out.
static void put_outside(Planes *p, LoopStm *loop, LoopStm *planes, LoopBody *out) {
    Arena *arena = p->b.arena;
    LoopBody *turn = loop->bodies[0], *plane = planes->bodies[0];
    LoopBody *within = arena_new(arena, LoopBody);
    LoopStm *turns = arena_copy(arena, loop, sizeof *loop);
    within->params = turn->params;
    within->param_count = 1;
    for (uint32_t i = 0; i + 1 < turn->stms.len; i++) {
        LoopBody *to = is_same(p, turn->stms.data[i]) ? out : within;
        vec_push(arena, &to->stms, turn->stms.data[i]);
    }
    for (uint32_t i = 0; i < plane->stms.len; i++)
        vec_push(arena, &within->stms, plane->stms.data[i]);
    turns->order = ORDER_INDEPENDENT;
    turns->bodies = arena_copy(arena, &within, sizeof within);
    plane->stms.data = NULL;
    plane->stms.len = plane->stms.cap = 0;
    vec_push(arena, &plane->stms, turns);
    loop->args = planes->args;
    loop->bodies = planes->bodies;
}

// From the top down, so that tables are known where they are used.
static void walk_body(Planes *p, LoopBody *body) {
    LoopBody old = *body;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    for (uint32_t i = 0; i < old.stms.len; i++) {
        LoopStm *stm = old.stms.data[i];
        if (stm->op == LOOP_DATA) map_set(&p->tables, stm->outs[0], 1);
        LoopStm *planes = stm->body_count > 0 ? find_planes(p, stm) : NULL;
        if (planes != NULL) put_outside(p, stm, planes, body);
        else
            for (uint32_t k = 0; k < stm->body_count; k++) walk_body(p, stm->bodies[k]);
        vec_push(p->b.arena, &body->stms, stm);
    }
}

void loop_planes(LoopKernel *kernel) {
    Planes p = {.b = loop_builder(kernel)};
    map_init(&p.tables, loop_notes(kernel));
    if (kernel->is_parallel) walk_body(&p, kernel->root);
}
