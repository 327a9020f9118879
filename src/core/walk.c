// SPDX-License-Identifier: Apache-2.0
//
// Walking over bodies: visiting, copying and finding free values. All of it follows
// the uniform shape of statements and knows no operator by name.
#include <string.h>

#include "core/core.h"

const CoreStm *core_find_def(const CoreBody *body, CoreRef ref) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            if (body->stms.data[i]->outs[k] == ref) return body->stms.data[i];
    return NULL;
}

void core_walk(const CoreBody *body, void (*visit)(void *data, const CoreStm *stm),
               void *data) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t j = 0; j < stm->body_count; j++)
            core_walk(stm->bodies[j], visit, data);
        visit(data, stm);
    }
}

// ---- copying ------------------------------------------------------------------------

typedef struct Cloner {
    CoreProgram *program;
    Map *map;       // CoreRef -> CoreRef
    Map places;     // CoreLoc -> CoreLoc, so that each place is rewritten once
    CoreLoc caller; // 0: places stay as they are
} Cloner;

// The place with `caller` hung on the end of its chain of calls.
static CoreLoc clone_place(Cloner *c, CoreLoc loc) {
    if (c->caller == 0) return loc;
    if (loc == 0) return c->caller;
    uint64_t known;
    if (map_get(&c->places, loc, &known)) return (CoreLoc)known;
    CorePlace place = c->program->places.data[loc];
    CoreLoc made = core_place(c->program, place.span, place.function,
                              clone_place(c, place.caller));
    map_set(&c->places, loc, made);
    return made;
}

static CoreRef clone_use(const Cloner *c, CoreRef ref) {
    uint64_t to;
    return ref != 0 && map_get(c->map, ref, &to) ? (CoreRef)to : ref;
}

static CoreRef clone_binder(Cloner *c, CoreRef ref) {
    CoreValue value = c->program->values.data[ref];
    CoreRef fresh = core_value(c->program, value.type, value.name);
    map_set(c->map, ref, fresh);
    return fresh;
}

static CoreBody *clone_body(Cloner *c, const CoreBody *body);

static CoreStm *clone_stm(Cloner *c, const CoreStm *stm) {
    Arena *arena = c->program->arena;
    CoreStm *copy = arena_copy(arena, stm, sizeof *stm);
    copy->loc = clone_place(c, stm->loc);
    copy->outs =
        arena_alloc(arena, (stm->out_count + stm->arg_count) * sizeof *copy->outs);
    copy->args = copy->outs + stm->out_count;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        copy->args[i] = clone_use(c, stm->args[i]);
    if (stm->body_count > 0)
        copy->bodies = arena_alloc(arena, stm->body_count * sizeof *copy->bodies);
    for (uint32_t i = 0; i < stm->body_count; i++)
        copy->bodies[i] = clone_body(c, stm->bodies[i]);
    for (uint32_t i = 0; i < stm->out_count; i++)
        copy->outs[i] = clone_binder(c, stm->outs[i]);
    return copy;
}

static CoreBody *clone_body(Cloner *c, const CoreBody *body) {
    Arena *arena = c->program->arena;
    CoreBody *copy = arena_copy(arena, body, sizeof *body);
    copy->params = arena_alloc(arena, (body->param_count + body->result_count) *
                                          sizeof *copy->params);
    copy->results = copy->params + body->param_count;
    copy->stms.data = arena_alloc(arena, body->stms.len * sizeof *copy->stms.data);
    copy->stms.cap = body->stms.len;
    for (uint32_t i = 0; i < body->param_count; i++)
        copy->params[i] = clone_binder(c, body->params[i]);
    for (uint32_t i = 0; i < body->stms.len; i++)
        copy->stms.data[i] = clone_stm(c, body->stms.data[i]);
    for (uint32_t i = 0; i < body->result_count; i++)
        copy->results[i] = clone_use(c, body->results[i]);
    return copy;
}

// How many values it binds.
static uint32_t count_binders(const CoreBody *body) {
    uint32_t count = body->param_count;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        count += stm->out_count;
        for (uint32_t k = 0; k < stm->body_count; k++)
            count += count_binders(stm->bodies[k]);
    }
    return count;
}

CoreBody *core_clone(CoreProgram *p, const CoreBody *body, Map *map, CoreLoc caller) {
    Cloner cloner = {.program = p, .map = map, .caller = caller};
    if (caller != 0) map_init(&cloner.places, core_notes(p));
    map_reserve(map, count_binders(body));
    return clone_body(&cloner, body);
}

void core_inline(CoreBuilder *b, const CoreBody *body, const CoreRef *args,
                 CoreRef *results_out) {
    Map map;
    map_init(&map, core_notes(b->program));
    for (uint32_t i = 0; i < body->param_count; i++)
        map_set(&map, body->params[i], args[i]);
    CoreBody open = *body;
    open.param_count = 0;
    CoreBody *copy = core_clone(b->program, &open, &map, 0);
    for (uint32_t i = 0; i < copy->stms.len; i++) core_append(b, copy->stms.data[i]);
    memcpy(results_out, copy->results, copy->result_count * sizeof *results_out);
}

// ---- free values --------------------------------------------------------------------

typedef struct Finder {
    const CoreProgram *program;
    Arena *arena;
    Map seen; // bound inside, or found already
    CoreRefs *refs;
} Finder;

static void find_use(Finder *f, CoreRef ref) {
    uint64_t known;
    if (ref == 0 || core_is_const(f->program, ref) || map_get(&f->seen, ref, &known))
        return;
    map_set(&f->seen, ref, 1);
    vec_push(f->arena, f->refs, ref);
}

static void find_in_body(Finder *f, const CoreBody *body) {
    for (uint32_t i = 0; i < body->param_count; i++)
        map_set(&f->seen, body->params[i], 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t j = 0; j < stm->arg_count; j++) find_use(f, stm->args[j]);
        for (uint32_t j = 0; j < stm->body_count; j++) find_in_body(f, stm->bodies[j]);
        for (uint32_t j = 0; j < stm->out_count; j++)
            map_set(&f->seen, stm->outs[j], 1);
    }
    for (uint32_t i = 0; i < body->result_count; i++) find_use(f, body->results[i]);
}

void core_free(const CoreProgram *p, const CoreBody *body, Arena *arena,
               CoreRefs *refs_out) {
    Finder finder = {.program = p, .arena = arena, .refs = refs_out};
    bool has_notes = p->notes != NULL && p->notes != arena;
    ArenaMark mark = arena_mark(has_notes ? p->notes : arena);
    map_init(&finder.seen, has_notes ? p->notes : arena);
    find_in_body(&finder, body);
    if (has_notes) arena_back(p->notes, mark);
}
