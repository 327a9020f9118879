// SPDX-License-Identifier: Apache-2.0
//
// Copies of bodies, with values of their own. A copy is one block of memory, and binds
// values in a row, in the order in which they are bound; so what is copied again need
// not be looked up value by value.
#include <string.h>

#include "core/core.h"

// ---- how much there is --------------------------------------------------------------

// What a body binds, and has: how many values, between which they lie, and how much
// memory a copy takes, which is one block.
typedef struct Extent {
    uint32_t count;
    CoreRef low, high;
    size_t bytes;
} Extent;

static size_t aligned(size_t bytes) {
    return (bytes + 7) & ~(size_t)7;
}

static size_t bytes_of_stm(const CoreStm *stm) {
    size_t refs = (stm->out_count + stm->arg_count) * sizeof(CoreRef);
    return aligned(sizeof *stm + stm->body_count * sizeof *stm->bodies + refs);
}

static size_t bytes_of_body(const CoreBody *body) {
    size_t refs = (body->param_count + body->result_count) * sizeof(CoreRef);
    return aligned(sizeof *body + body->stms.len * sizeof *body->stms.data + refs);
}

static void extend(Extent *e, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (refs[i] < e->low) e->low = refs[i];
        if (refs[i] > e->high) e->high = refs[i];
    }
    e->count += count;
}

static void measure_body(Extent *e, const CoreBody *body) {
    extend(e, body->params, body->param_count);
    e->bytes += bytes_of_body(body);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        extend(e, stm->outs, stm->out_count);
        e->bytes += bytes_of_stm(stm);
        for (uint32_t k = 0; k < stm->body_count; k++) measure_body(e, stm->bodies[k]);
    }
}

static Extent measure(const CoreBody *body) {
    Extent extent = {.low = UINT32_MAX};
    measure_body(&extent, body);
    return extent;
}

// ---- value by value -----------------------------------------------------------------

typedef struct Cloner {
    CoreProgram *program;
    char *next; // where the next statement or body goes
    Map *map;   // CoreRef -> CoreRef; NULL: `names` has all
    // Of the values from `low` on, so many: by what goes each; 0: it stays.
    CoreRef *names;
    CoreRef low;
    uint32_t span;
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
    if (c->map != NULL)
        return ref != 0 && map_get(c->map, ref, &to) ? (CoreRef)to : ref;
    CoreRef name = ref - c->low < c->span ? c->names[ref - c->low] : 0;
    return name != 0 ? name : ref;
}

static CoreRef clone_binder(Cloner *c, CoreRef ref) {
    CoreProgram *p = c->program;
    CoreValue value = p->values.data[ref];
    CoreRef fresh = p->values.len;
    vec_push(p->arena, &p->values, value);
    if (c->map != NULL) map_set(c->map, ref, fresh);
    else c->names[ref - c->low] = fresh;
    return fresh;
}

static CoreBody *clone_body(Cloner *c, const CoreBody *body);

static CoreStm *clone_stm(Cloner *c, const CoreStm *stm) {
    CoreStm *copy = (CoreStm *)c->next;
    c->next += bytes_of_stm(stm);
    *copy = *stm;
    copy->bodies = (CoreBody **)(copy + 1);
    copy->outs = (CoreRef *)(copy->bodies + stm->body_count);
    copy->args = copy->outs + stm->out_count;
    copy->loc = clone_place(c, stm->loc);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        copy->args[i] = clone_use(c, stm->args[i]);
    for (uint32_t i = 0; i < stm->body_count; i++)
        copy->bodies[i] = clone_body(c, stm->bodies[i]);
    for (uint32_t i = 0; i < stm->out_count; i++)
        copy->outs[i] = clone_binder(c, stm->outs[i]);
    return copy;
}

static CoreBody *clone_body(Cloner *c, const CoreBody *body) {
    CoreBody *copy = (CoreBody *)c->next;
    c->next += bytes_of_body(body);
    *copy = *body;
    copy->stms.data = (CoreStm **)(copy + 1);
    copy->stms.cap = body->stms.len;
    copy->params = (CoreRef *)(copy->stms.data + body->stms.len);
    copy->results = copy->params + body->param_count;
    for (uint32_t i = 0; i < body->param_count; i++)
        copy->params[i] = clone_binder(c, body->params[i]);
    for (uint32_t i = 0; i < body->stms.len; i++)
        copy->stms.data[i] = clone_stm(c, body->stms.data[i]);
    for (uint32_t i = 0; i < body->result_count; i++)
        copy->results[i] = clone_use(c, body->results[i]);
    return copy;
}

CoreBody *core_clone(CoreProgram *p, const CoreBody *body, Map *map, CoreLoc caller) {
    Extent extent = measure(body);
    Cloner cloner = {.program = p,
                     .next = arena_alloc(p->arena, extent.bytes),
                     .map = map,
                     .caller = caller};
    if (caller != 0) map_init(&cloner.places, core_notes(p));
    map_reserve(map, extent.count);
    return clone_body(&cloner, body);
}

// By a table of names, unless the values lie far from each other.
static CoreBody *copy_first(CoreProgram *p, const CoreBody *body, Extent extent) {
    enum { SPARSE = 64 };
    Cloner cloner = {.program = p, .next = arena_alloc(p->arena, extent.bytes)};
    Map map;
    cloner.low = extent.low;
    cloner.span = extent.count == 0 ? 0 : extent.high - extent.low + 1;
    if (cloner.span / SPARSE <= extent.count) {
        cloner.names = arena_array(core_notes(p), CoreRef, cloner.span);
    } else {
        map_init_for(&map, core_notes(p), extent.count);
        cloner.map = &map;
    }
    return clone_body(&cloner, body);
}

CoreBody *core_copy(CoreProgram *p, const CoreBody *body) {
    return copy_first(p, body, measure(body));
}

// ---- more copies --------------------------------------------------------------------

// From one block to another, and from some values in a row to others.
typedef struct Move {
    const char *from;
    char *to;
    CoreRef first;
    uint32_t count, by;
} Move;

static void *moved(const Move *m, const void *at) {
    return m->to + ((const char *)at - m->from);
}

static CoreRef *move_refs(const Move *m, const CoreRef *at, uint32_t count) {
    CoreRef *refs = moved(m, at), first = m->first, end = m->count, by = m->by;
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] - first < end) refs[i] += by;
    return refs;
}

// References of a statement or body lie in a row (clone_stm, clone_body).
static CoreBody *move_body(const Move *m, const CoreBody *at) {
    CoreBody *body = moved(m, at);
    body->params = move_refs(m, body->params, body->param_count + body->result_count);
    body->results = body->params + body->param_count;
    body->stms.data = moved(m, body->stms.data);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i] = moved(m, body->stms.data[i]);
        stm->outs = move_refs(m, stm->outs, stm->out_count + stm->arg_count);
        stm->args = stm->outs + stm->out_count;
        stm->bodies = moved(m, stm->bodies);
        for (uint32_t k = 0; k < stm->body_count; k++)
            stm->bodies[k] = move_body(m, stm->bodies[k]);
    }
    return body;
}

CoreBody *core_copy_again(CoreProgram *p, CoreCopies *c, const CoreBody *body) {
    if (c->body != body) {
        Extent extent = measure(body);
        *c = (CoreCopies){body, NULL, NULL, extent.bytes, p->values.len, extent.count};
        c->first = copy_first(p, body, extent);
        c->bytes_of_first = arena_copy(core_notes(p), c->first, c->bytes);
        return c->first;
    }
    Move move = {(const char *)c->first, arena_alloc(p->arena, c->bytes), c->value,
                 c->count, p->values.len - c->value};
    memcpy(move.to, c->bytes_of_first, c->bytes);
    vec_room(p->arena, &p->values, c->count);
    memcpy(p->values.data + p->values.len, p->values.data + c->value,
           c->count * sizeof *p->values.data);
    p->values.len += c->count;
    return move_body(&move, c->first);
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
