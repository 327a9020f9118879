// SPDX-License-Identifier: Apache-2.0
//
// The function of one statement put in front of another's. All of it is copied, since a
// consumer may have two bodies that take elements, and each value is bound once. But
// where a producer goes and one body takes its elements, it gives its statements: in a
// long chain of maps each would copy all those before.
#include "opt/fuse.h"

// Arrays in a row, each once.
typedef struct Arrays {
    CoreRefs refs;
    uint32_t *at; // by array of the producer, then of the consumer: its index in refs
} Arrays;

typedef struct Composer {
    Rewrite *rw;
    CoreProgram *program;
    const CoreStm *producer, *consumer;
    CoreFeeds feeds;      // of the consumer
    uint32_t array_count; // of the producer
    Arrays arrays;
    bool gives; // the producer gives its statements
} Composer;

// The result of the producer that the value is; out_count if it is none.
static uint32_t find_out(const CoreStm *producer, CoreRef ref) {
    uint32_t k = 0;
    while (k < producer->out_count && producer->outs[k] != ref) k++;
    return k;
}

// One that both take has one use less than there were.
static uint32_t add_array(Composer *c, CoreRef array) {
    for (uint32_t i = 0; i < c->arrays.refs.len; i++)
        if (c->arrays.refs.data[i] == array) {
            fuse_use_less(c->rw, array);
            return i;
        }
    vec_push(c->program->arena, &c->arrays.refs, array);
    return c->arrays.refs.len - 1;
}

// The producer's arrays come where its first result stood.
static void find_arrays(Composer *c, const CoreRef *arrays) {
    bool has_first = false;
    c->arrays.at =
        arena_array(c->program->arena, uint32_t, c->array_count + c->feeds.count);
    for (uint32_t i = 0; i < c->feeds.count; i++) {
        CoreRef ref = c->consumer->args[c->feeds.first + i];
        if (find_out(c->producer, ref) == c->producer->out_count) {
            c->arrays.at[c->array_count + i] = add_array(c, ref);
            continue;
        }
        for (uint32_t k = 0; k < c->array_count && !has_first; k++)
            c->arrays.at[k] = add_array(c, arrays[k]);
        has_first = true;
    }
}

void fuse_append(CoreBuilder *b, const CoreBody *body, Map *map,
                 CoreRefs *results_out) {
    CoreBody open = *body;
    open.param_count = 0;
    CoreBody *copy = core_clone(b->program, &open, map, 0);
    for (uint32_t i = 0; i < copy->stms.len; i++) core_append(b, copy->stms.data[i]);
    for (uint32_t i = 0; i < copy->result_count; i++)
        vec_push(b->program->arena, results_out, copy->results[i]);
}

// A param for each array, after copies of the body's first `lead` ones.
static CoreRef *make_params(const Composer *c, const CoreBody *body, uint32_t lead) {
    CoreProgram *p = c->program;
    CoreRef *params = arena_array(p->arena, CoreRef, lead + c->arrays.refs.len);
    for (uint32_t i = 0; i < lead; i++)
        params[i] = core_value(p, core_type(p, body->params[i]),
                               p->values.data[body->params[i]].name);
    for (uint32_t i = 0; i < c->arrays.refs.len; i++) {
        CoreType type = core_type(p, c->arrays.refs.data[i]);
        type.rank--;
        params[lead + i] = core_value(p, type, 0);
    }
    for (uint32_t k = 0; k < c->array_count; k++) {
        CoreRef old = c->producer->bodies[0]->params[k];
        p->values.data[params[lead + c->arrays.at[k]]].name = p->values.data[old].name;
    }
    return params;
}

// Whether the rows are those that the producer's function takes, in its order.
static bool has_same_rows(const Composer *c) {
    bool is_same = c->arrays.refs.len == c->array_count;
    for (uint32_t k = 0; is_same && k < c->array_count; k++)
        is_same = c->arrays.at[k] == k;
    return is_same;
}

// The producer's statements on these rows; *made: its results.
static void append_first(const Composer *c, CoreBuilder *b, const CoreRef *rows,
                         Map *map, CoreRefs *made) {
    const CoreBody *first = c->producer->bodies[0];
    for (uint32_t k = 0; k < c->array_count; k++)
        map_set(map, first->params[k], rows[c->arrays.at[k]]);
    if (!c->gives) {
        fuse_append(b, first, map, made);
        return;
    }
    b->open.data[b->open.len - 1]->stms = first->stms;
    *made = (CoreRefs){first->results, first->result_count, first->result_count};
}

// The consumer's body, whose params from `lead` on are elements, on the producer's
// arrays; without a body, the elements themselves.
static CoreBody *compose(const Composer *c, const CoreBody *body, uint32_t lead) {
    CoreProgram *p = c->program;
    CoreBuilder b = core_builder(p);
    CoreRef *params =
        c->gives ? c->producer->bodies[0]->params : make_params(c, body, lead);
    const CoreRef *rows = params + lead;
    CoreRefs made = {0}, results = {0};
    Map map;
    map_init(&map, core_notes(p));
    core_open(&b, params, lead + c->arrays.refs.len);
    append_first(c, &b, rows, &map, &made);
    CoreRef *elements = arena_array(p->arena, CoreRef, c->feeds.count);
    for (uint32_t i = 0; i < c->feeds.count; i++) {
        uint32_t k = find_out(c->producer, c->consumer->args[c->feeds.first + i]);
        elements[i] = k < c->producer->out_count
                          ? made.data[k]
                          : rows[c->arrays.at[c->array_count + i]];
    }
    if (body == NULL) return core_close(&b, elements, c->feeds.count);
    for (uint32_t i = 0; i < lead; i++) map_set(&map, body->params[i], params[i]);
    for (uint32_t i = 0; i < c->feeds.count; i++)
        map_set(&map, body->params[lead + i], elements[i]);
    fuse_append(&b, body, &map, &results);
    return core_close(&b, results.data, results.len);
}

static void set_args(const Composer *c, CoreStm *made) {
    CoreRefs args = {0};
    const CoreStm *stm = c->consumer;
    Arena *arena = c->program->arena;
    for (uint32_t i = 0; i < c->feeds.first; i++) vec_push(arena, &args, stm->args[i]);
    for (uint32_t i = 0; i < c->arrays.refs.len; i++)
        vec_push(arena, &args, c->arrays.refs.data[i]);
    for (uint32_t i = c->feeds.first + c->feeds.count; i < stm->arg_count; i++)
        vec_push(arena, &args, stm->args[i]);
    made->args = args.data;
    made->arg_count = args.len;
}

static void set_attrs(const Composer *c, CoreStm *made) {
    const CoreStm *stm = c->consumer;
    uint32_t count =
        stm->attr_count > c->feeds.attr ? stm->attr_count : c->feeds.attr + 1;
    made->attrs = arena_array(c->program->arena, int32_t, count);
    made->attr_count = count;
    for (uint32_t i = 0; i < stm->attr_count; i++) made->attrs[i] = stm->attrs[i];
    made->attrs[c->feeds.attr] = (int32_t)c->arrays.refs.len;
}

CoreStm *fuse_compose(Rewrite *rw, const CoreStm *producer, const CoreRef *arrays,
                      uint32_t array_count, const CoreStm *consumer, bool goes) {
    Composer c = {.rw = rw,
                  .program = rw->program,
                  .producer = producer,
                  .consumer = consumer,
                  .feeds = core_feeds(consumer),
                  .array_count = array_count};
    find_arrays(&c, arrays);
    c.gives = goes && consumer->body_count <= 2 && has_same_rows(&c);
    CoreStm *made = rewrite_copy(rw, consumer);
    set_args(&c, made);
    set_attrs(&c, made);
    CoreBody *bodies[3] = {NULL, NULL, NULL};
    uint32_t count = 0;
    bool has_op =
        consumer->op == OP_REDUCE || consumer->op == OP_SCAN || consumer->op == OP_HIST;
    if (has_op) bodies[count++] = consumer->bodies[0];
    bodies[count++] = compose(&c, c.feeds.producer, 0);
    if (consumer->body_count > 2) {
        bodies[count++] = compose(&c, consumer->bodies[2], consumer->out_count);
    }
    core_set_bodies(&rw->builder, made, bodies, count);
    return made;
}
