// SPDX-License-Identifier: Apache-2.0
//
// Loops of parts (cut.h): a loop each of whose turns makes its arrays in parts, of the
// parts that it was given, goes round with these. No array is joined before the last
// turn is over, and of stencils no more than the halo goes from device to device.
#include "fission/cut.h"

#include <string.h>

// ---- whether it can -----------------------------------------------------------------

static bool is_array(const Strategy *y, CoreRef ref) {
    return core_type(y->program, ref).rank > 0;
}

// Whether the statement, cut by that rule, or whole, takes parts alone of each of those
// arrays that it takes.
static bool takes_parts(const Strategy *y, const FissionSplit *s,
                        const FissionRule *rule, const Map *arrays) {
    uint64_t known;
    CoreFeeds feeds = core_feeds(s->stm);
    bool is_map = rule != NULL && rule->part == part_map;
    bool is_near = rule != NULL && rule->part == part_near;
    CoreRefs near = is_near ? *cut_near(y, s) : (CoreRefs){0};
    for (uint32_t i = 0; i < s->stm->arg_count; i++) {
        bool is_fed = i >= feeds.first && i < feeds.first + feeds.count;
        if (map_get(arrays, s->stm->args[i], &known) && s->stm->op != OP_DIM &&
            !(is_map && is_fed))
            return false;
    }
    for (uint32_t k = 0; k < s->stm->body_count; k++) {
        CoreRefs free = {0};
        core_free(y->program, s->stm->bodies[k], core_notes(y->program), &free);
        for (uint32_t i = 0; i < free.len; i++)
            if (map_get(arrays, free.data[i], &known) &&
                !fission_holds(&near, free.data[i]))
                return false;
    }
    return true;
}

// Whether the turns hand on parts of all arrays that the loop carries.
static bool turns_hand_on(const Strategy *y, const CoreStm *loop) {
    Arena *arena = core_notes(y->program);
    const CoreBody *body = loop->bodies[0];
    Map carried, made;
    uint64_t known;
    map_init(&carried, arena);
    map_init(&made, arena);
    for (uint32_t k = 0; k < loop->out_count; k++)
        if (is_array(y, loop->outs[k])) map_set(&carried, body->params[1 + k], 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        FissionSplit s = cut_of(y, body, i);
        if (is_control(s.stm)) return false;
        const FissionRule *rule = cut_find_rule(y, &s);
        if (!takes_parts(y, &s, rule, &carried)) return false;
        if (rule == NULL || !cut_has_parts(&s)) continue;
        for (uint32_t k = 0; k < s.stm->out_count; k++)
            map_set(&made, s.stm->outs[k], 1);
    }
    for (uint32_t k = 0; k < loop->out_count; k++)
        if (is_array(y, loop->outs[k]) && !map_get(&made, body->results[k], &known))
            return false;
    return true;
}

static bool keeps_size(const Strategy *y, const CoreStm *loop, uint32_t k, uint32_t d) {
    return fuse_keeps_size(y->facts, y->states, loop, k, (int32_t)d);
}

Strategy carry_inside(const Strategy *y, const CoreStm *loop) {
    Strategy inside = *y;
    inside.states = fuse_loop_states(y->facts, y->states, loop);
    inside.in_turns = true;
    return inside;
}

bool carry_in_steps(const Strategy *y, const CoreStm *loop) {
    enum { LITTLE = 64 }; // scalar operations for an element
    if (!y->devices->block_steps || y->least <= 0 || loop->op != OP_FOR ||
        loop->out_count != 1)
        return false;
    // Of three dimensions the rows are planes, too large for caches.
    if (core_type(y->program, loop->outs[0]).rank > 2 || cut_may_be_bits(y, loop))
        return false;
    FissionSplit s = {
        .program = y->program, .stm = loop, .facts = y->facts, .states = y->states};
    const CoreBody *turn = fission_turn(&s);
    return turn != NULL && fission_body_work(y->program, turn) <= LITTLE;
}

// With memory in common nothing is saved.
bool carry_can(const Strategy *y, const CoreStm *loop) {
    bool any = false;
    if (loop->op != OP_FOR || y->devices->is_shared || y->log->is_stream ||
        carry_in_steps(y, loop) || !cut_is_chosen(y, loop))
        return false;
    for (uint32_t k = 0; k < loop->out_count; k++) {
        if (!is_array(y, loop->outs[k])) continue;
        if (!keeps_size(y, loop, k, 0)) return false;
        any = true;
    }
    if (!any) return false;
    Strategy inside = carry_inside(y, loop);
    return turns_hand_on(&inside, loop);
}

// ---- the loop -----------------------------------------------------------------------

// One of what a loop carries: a value, or an array, in parts.
typedef struct Carried {
    FissionSplit s;      // how the array is cut
    FissionKnown *parts; // that the loop begins with; NULL: it is a value
} Carried;

// The array that the loop begins with as number k: its parts are there, or made here.
static Carried carry_first(Strategy *y, const CoreStm *loop, uint32_t k) {
    CoreProgram *p = y->program;
    Carried c = {.s = {.program = p, .stm = loop, .b = &y->builder}};
    CoreRef array = loop->args[1 + k];
    uint32_t rank = core_type(p, array).rank, kept = 1;
    if (rank == 0) return c;
    c.s.known = &y->known;
    c.s.devices = y->devices->count;
    const FissionKnown *known = fission_known(&c.s, array);
    FissionCut cut = {.parts = y->parts, .at = -1, .shares = y->shares};
    c.parts = arena_new(core_notes(p), FissionKnown);
    c.s.size = known != NULL ? known->size : fission_dim(&c.s, array, 0);
    if (y->at_blocks) cut.unit = fission_unit(&c.s);
    fission_cut(&c.s, cut);
    c.parts->size = c.s.size;
    c.parts->parts = known != NULL ? known->parts : fission_split(&c.s, array, 0);
    while (kept < rank && keeps_size(y, loop, k, kept)) kept++;
    if (kept < rank) return c;
    c.parts->rows = arena_array(core_notes(p), CoreRef, rank);
    for (uint32_t d = 1; d < rank; d++)
        c.parts->rows[d - 1] = known != NULL && known->rows != NULL
                                   ? known->rows[d - 1]
                                   : fission_dim(&c.s, c.parts->parts[0], d);
    return c;
}

// Known parts of the array, which is what those are in another place: fresh values.
static CoreRef *keep_carried(Strategy *y, const FissionKnown *like, CoreRef array) {
    Arena *arena = core_notes(y->program);
    FissionKnown *known = arena_copy(arena, like, sizeof *like);
    known->parts = arena_array(arena, CoreRef, y->parts);
    for (uint32_t p = 0; p < y->parts; p++)
        known->parts[p] = core_value(y->program, core_type(y->program, array), 0);
    map_set(&y->known, array, (uint64_t)(uintptr_t)known);
    return known->parts;
}

static void push_parts(const Strategy *y, CoreRefs *refs, const CoreRef *parts) {
    Arena *arena = core_notes(y->program);
    for (uint32_t p = 0; p < y->parts; p++) vec_push(arena, refs, parts[p]);
}

// The turns, of parts.
static CoreBody *carry_turns(Strategy *y, const CoreStm *loop, const Carried *carried) {
    Arena *arena = core_notes(y->program);
    const CoreBody *body = loop->bodies[0];
    const FuseState *outer = y->states;
    CoreRefs params = {0}, results = {0};
    y->states = fuse_loop_states(y->facts, outer, loop);
    y->in_turns = true;
    vec_push(arena, &params, body->params[0]);
    for (uint32_t k = 0; k < loop->out_count; k++) {
        CoreRef param = body->params[1 + k];
        const FissionKnown *parts = carried[k].parts;
        if (parts == NULL) vec_push(arena, &params, param);
        else push_parts(y, &params, keep_carried(y, parts, param));
    }
    core_open(&y->builder, params.data, params.len);
    cut_all(y, body);
    for (uint32_t k = 0; k < loop->out_count; k++) {
        const FissionKnown *made = fission_known(&carried[k].s, body->results[k]);
        if (carried[k].parts == NULL) vec_push(arena, &results, body->results[k]);
        else push_parts(y, &results, made->parts);
    }
    y->states = outer;
    y->in_turns = false;
    return core_close(&y->builder, results.data, results.len);
}

void carry(Strategy *y, const CoreStm *loop) {
    Arena *arena = core_notes(y->program);
    Carried *carried = arena_array(arena, Carried, loop->out_count);
    CoreRefs args = {0}, outs = {0};
    y->builder.loc = loop->loc;
    vec_push(arena, &args, loop->args[0]);
    for (uint32_t k = 0; k < loop->out_count; k++) {
        carried[k] = carry_first(y, loop, k);
        if (carried[k].parts == NULL) vec_push(arena, &args, loop->args[1 + k]);
        else push_parts(y, &args, carried[k].parts->parts);
    }
    CoreBody *turns = carry_turns(y, loop, carried);
    for (uint32_t k = 0; k < loop->out_count; k++) {
        const FissionKnown *parts = carried[k].parts;
        if (parts == NULL) vec_push(arena, &outs, loop->outs[k]);
        else push_parts(y, &outs, keep_carried(y, parts, loop->outs[k]));
    }
    CoreType *types = arena_array(arena, CoreType, outs.len);
    for (uint32_t i = 0; i < outs.len; i++)
        types[i] = core_type(y->program, outs.data[i]);
    y->builder.loc = loop->loc;
    CoreStm *stm = core_emit(&y->builder, OP_FOR, args.data, args.len, types, outs.len);
    stm->flags |= STM_APART;
    core_set_bodies(&y->builder, stm, &turns, 1);
    memcpy(stm->outs, outs.data, outs.len * sizeof *outs.data);
    for (uint32_t k = 0; k < loop->out_count; k++) {
        FissionSplit *s = &carried[k].s;
        if (carried[k].parts == NULL) continue;
        s->says_lengths = true;
        fission_concat_as(s, 0, fission_known(s, loop->outs[k])->parts, loop->outs[k]);
    }
}

CoreRef carry_length(Strategy *y, const CoreStm *loop) {
    uint32_t k = 0;
    while (!is_array(y, loop->outs[k])) k++;
    return core_dim(&y->builder, loop->args[1 + k], 0);
}
