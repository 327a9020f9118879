// SPDX-License-Identifier: Apache-2.0
//
// Neighbours: what a generate looks at, in several places, of arrays that a map has
// made for it alone, it makes itself of the map's arrays, if that is next to nothing:
//
//   let ys = map2 f as bs                   generate n m (\i j ->
//   in generate n m (\i j ->                  .. f as[i, j + 1] bs[i, j + 1] ..
//     .. ys[i, j + 1] .. ys[i, j - 1] ..)      .. f as[i, j - 1] bs[i, j - 1] ..)
//
// So fields of a simulation are neither written nor read whole before each stencil over
// them. What is looked at in one place is made as often as before, whatever it takes.
#include "opt/fuse.h"

enum { MOST_MORE = 16 }; // statements and loads more, of all results of a producer

// ---- where a generate looks ---------------------------------------------------------

typedef struct Looks {
    const CoreProgram *program;
    CoreRef array;
    uint32_t count;
    const CoreStm *places[MOST_MORE + 1]; // those that differ
    uint32_t place_count;                 // MOST_MORE + 1: too many
} Looks;

static void note_look(Looks *looks, const CoreStm *index) {
    looks->count++;
    for (uint32_t i = 0; i < looks->place_count; i++)
        if (fuse_are_same(looks->places[i]->args, index->args, index->arg_count))
            return;
    if (looks->place_count <= MOST_MORE) looks->places[looks->place_count++] = index;
}

static bool is_element(const CoreProgram *p, const CoreStm *stm) {
    return stm->op == OP_INDEX && core_type(p, stm->outs[0]).rank == 0;
}

// At elements of the array, at most once each time the body runs.
static void find_looks(Looks *looks, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (is_element(looks->program, stm) && stm->args[0] == looks->array)
            note_look(looks, stm);
        for (uint32_t k = 0; stm->op == OP_IF && k < 2; k++)
            find_looks(looks, stm->bodies[k]);
    }
}

// ---- what an element takes ----------------------------------------------------------

typedef struct Need {
    uint32_t weight, loads;
} Need;

// Of that result of the body, which is straight code.
static Need need_of(const CoreProgram *p, const CoreBody *body, CoreRef result) {
    Need need = {0, 0};
    Map needed;
    uint64_t known;
    map_init(&needed, core_notes(p));
    map_set(&needed, result, 1);
    for (uint32_t i = body->stms.len; i-- > 0;) {
        CoreStm *stm = body->stms.data[i];
        CoreBody only = {.stms = {&stm, 1, 1}};
        CoreRefs uses = {0};
        bool is_needed = false;
        for (uint32_t k = 0; k < stm->out_count; k++)
            is_needed = is_needed || map_get(&needed, stm->outs[k], &known);
        if (!is_needed) continue;
        need.weight += fuse_weight(p, &only);
        core_free(p, &only, core_notes(p), &uses);
        for (uint32_t k = 0; k < uses.len; k++) map_set(&needed, uses.data[k], 1);
    }
    for (uint32_t i = 0; i < body->param_count; i++)
        need.loads += map_get(&needed, body->params[i], &known);
    return need;
}

// Statements and loads that are more than before: the producer's, and a load of each
// result.
static uint64_t more_of(Need need, uint32_t places) {
    if (places <= 1) return 0;
    uint64_t loads = need.loads > 0 ? need.loads - 1 : 0;
    return (uint64_t)(places - 1) * need.weight + places * loads;
}

// ---- whether to ---------------------------------------------------------------------

// Whether the generate is the only one to look at what the nest of maps makes, and what
// it makes of it, then, takes little.
static bool is_little(const Rewrite *rw, const CoreStm *producer, const CoreStm *inner,
                      const CoreStm *generate) {
    const CoreProgram *p = rw->program;
    uint64_t more = 0;
    if (fuse_weight(p, inner->bodies[0]) == UINT32_MAX) return false;
    for (uint32_t k = 0; k < producer->out_count; k++) {
        Looks looks = {.program = p, .array = producer->outs[k]};
        if (looks.array >= rw->use_count) return false;
        find_looks(&looks, generate->bodies[0]);
        if (looks.count != rw->uses[looks.array]) return false;
        Need need = need_of(p, inner->bodies[0], inner->bodies[0]->results[k]);
        more += more_of(need, looks.place_count);
    }
    return more <= MOST_MORE;
}

// Whether it has as many elements as the array.
static bool has_space_of(Rewrite *rw, const CoreStm *generate, CoreRef array) {
    const FuseState *states = fuse_states_here(rw);
    for (int32_t axis = 0; axis < generate->attrs[0]; axis++) {
        FuseSize size = {.value = rewrite_get(rw, generate->args[axis])};
        FuseSize length = {.array = array, .axis = axis};
        if (!fuse_is_equal(fuse_find_size(rw, states, size),
                           fuse_find_size(rw, states, length)))
            return false;
    }
    return true;
}

// Whether it is given elements. An index that is out of bounds is told otherwise where
// it is of a row.
static bool takes_elements(const CoreProgram *p, const CoreBody *body) {
    bool all = true;
    for (uint32_t i = 0; i < body->param_count; i++)
        all = all && core_type(p, body->params[i]).rank == 0;
    return all;
}

static bool may_make(Rewrite *rw, const CoreStm *producer, const CoreStm *generate) {
    const CoreProgram *p = rw->program;
    const CoreStm *inner;
    if (producer == NULL || producer->op != OP_MAP) return false;
    uint32_t depth = fuse_nest_depth(producer, &inner);
    if (depth != (uint32_t)generate->attrs[0] ||
        core_type(p, producer->outs[0]).rank != depth ||
        !takes_elements(p, inner->bodies[0]) || fuse_may_fail(rw, inner->bodies[0]))
        return false;
    return is_little(rw, producer, inner, generate) &&
           fuse_has_shape(rw, producer, producer->args[0], depth) &&
           has_space_of(rw, generate, producer->args[0]) &&
           fuse_may_move(rw, producer, generate);
}

static void find_in(Rewrite *rw, const CoreBody *body, const CoreStm *generate,
                    Map *near) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t k = 0; stm->op == OP_IF && k < 2; k++)
            find_in(rw, stm->bodies[k], generate, near);
        uint64_t known;
        if (!is_element(rw->program, stm) || map_get(near, stm->args[0], &known))
            continue;
        const CoreStm *producer = rewrite_def_here(rw, stm->args[0]);
        if (!may_make(rw, producer, generate)) continue;
        for (uint32_t k = 0; k < producer->out_count; k++)
            map_set(near, producer->outs[k], (uint64_t)(uintptr_t)producer);
        rewrite_drop(rw, producer);
    }
}

void fuse_find_near(Rewrite *rw, const CoreStm *generate, Map *near) {
    if (generate->op == OP_GENERATE) find_in(rw, generate->bodies[0], generate, near);
}

// ---- elements -----------------------------------------------------------------------

// The array of the nest of which the innermost map is given that param's elements.
static CoreRef array_of(const CoreStm *map, CoreRef param) {
    const CoreBody *body = map->bodies[0];
    CoreRef row = param;
    if (body->stms.len == 1 && body->stms.data[0]->op == OP_MAP)
        row = array_of(body->stms.data[0], param);
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == row) return map->args[i];
    return 0;
}

bool fuse_near(Rewrite *rw, CoreStm *index, const Map *near) {
    CoreProgram *p = rw->program;
    CoreBuilder *b = &rw->builder;
    uint64_t found;
    if (index->op != OP_INDEX || !map_get(near, index->args[0], &found)) return false;
    const CoreStm *producer = (const CoreStm *)(uintptr_t)found, *inner;
    fuse_nest_depth(producer, &inner);
    const CoreBody *body = inner->bodies[0];
    Map map;
    map_init(&map, core_notes(p));
    b->loc = index->loc;
    b->flags = index->flags;
    for (uint32_t i = 0; i < body->param_count; i++) {
        CoreRef *args =
            arena_copy(p->arena, index->args, index->arg_count * sizeof *args);
        args[0] = array_of(producer, body->params[i]);
        CoreType type = core_type(p, body->params[i]);
        CoreStm *load = core_emit(b, OP_INDEX, args, index->arg_count, &type, 1);
        map_set(&map, body->params[i], load->outs[0]);
    }
    CoreRefs results = {0};
    fuse_append(b, body, &map, &results);
    uint32_t k = 0;
    while (producer->outs[k] != index->args[0]) k++;
    rewrite_set(rw, index->outs[0], results.data[k]);
    return true;
}
