// SPDX-License-Identifier: Apache-2.0
//
// What batches do in lanes (batch.c): the statements of a step, with their private
// memory element by element, lane by lane, and loads of what turns load again and again
// from where it has been packed.
#include "loop/batch.h"

// ---- copies -------------------------------------------------------------------------

LoopRef batch_compute(Batch *x, LoopCopier *c, LoopRef ref) {
    ref = batch_same(x, ref);
    LoopRef copy = loop_copy_of(c, ref);
    if (ref >= x->known || copy != ref || !x->inside[ref]) return copy;
    const LoopStm *def = x->defs[ref];
    for (uint32_t i = 0; i < def->arg_count; i++) {
        LoopRef arg = batch_compute(x, c, def->args[i]);
        if (arg != def->args[i]) loop_copy_as(c, def->args[i], arg);
    }
    loop_append(x->b, loop_copy_stm(c, def));
    return loop_copy_of(c, ref);
}

LoopRef batch_compute_early(Batch *x, LoopRef ref) {
    LoopCopier c = loop_copier(x->b);
    return batch_compute(x, &c, ref);
}

bool batch_give_lanes(Batch *x, LoopStm *loop, bool always) {
    bool made = vector_loop(x->vector, loop, x->flight, always || x->machine->always);
    loop_catch_up(x->b);
    return made;
}

// ---- packing ------------------------------------------------------------------------

LoopRef batch_times(Batch *x, uint32_t loop) {
    return batch_compute_early(x, x->loops[loop].stm->args[0]);
}

// Stores in the buffer what the load gives to each lane, by the indices of its loops.
void batch_pack(Batch *x, const BatchLoad *p) {
    LoopBuilder *b = x->b;
    LoopCopier c = loop_copier(b);
    LoopRef at = loop_int(b, 0), times[BATCH_MOST_DIMS];
    for (uint32_t i = 0; i < p->count; i++) times[i] = batch_times(x, p->loops[i]);
    for (uint32_t i = 0; i < p->count; i++) {
        LoopRef index = loop_open_turns(b);
        loop_copy_as(&c, x->loops[p->loops[i]].stm->bodies[0]->params[0], index);
        at = loop_add(b, loop_mul(b, at, times[i]), index);
    }
    LoopRef lane = loop_open_turns(b), one = loop_int(b, 1);
    loop_copy_as(&c, x->loop->bodies[0]->params[0], loop_add(b, x->first, lane));
    for (uint32_t i = 1; i < p->load->arg_count; i++) {
        LoopRef arg = p->load->args[i], copy = batch_compute(x, &c, arg);
        if (copy != arg) loop_copy_as(&c, arg, copy);
    }
    LoopStm *load = loop_copy_stm(&c, p->load);
    loop_append(b, load);
    LoopRef args[] = {p->buffer, load->outs[0], loop_int(b, 0), x->lanes, at,
                      one,       lane};
    loop_emit(b, LOOP_STORE, args, 7, NULL, 0);
    batch_give_lanes(x, loop_close_turns(b, x->lanes, ORDER_INDEPENDENT), true);
    for (uint32_t i = p->count; i-- > 0;)
        loop_close_turns(b, times[i], ORDER_SEQUENTIAL);
}

static const BatchLoad *find_packed(const Batch *x, const LoopStm *load) {
    for (uint32_t i = 0; i < x->packed.len; i++)
        if (x->packed.data[i].load == load) return &x->packed.data[i];
    return NULL;
}

static LoopRef load_packed(Batch *x, LoopCopier *c, const BatchLoad *p, LoopRef lane) {
    LoopBuilder *b = x->b;
    LoopRef at = loop_int(b, 0);
    for (uint32_t i = 0; i < p->count; i++) {
        const LoopBody *body = x->loops[p->loops[i]].stm->bodies[0];
        LoopRef turn = loop_copy_of(c, body->params[0]);
        at = loop_add(b, loop_mul(b, at, batch_times(x, p->loops[i])), turn);
    }
    LoopRef args[] = {p->buffer, loop_int(b, 0), x->lanes, at, loop_int(b, 1), lane};
    return loop_emit1(b, LOOP_LOAD, args, 6, loop_type(b, p->load->outs[0]));
}

// ---- a step in lanes ----------------------------------------------------------------

LoopRef batch_copy_of(BatchStep *s, LoopRef ref) {
    return loop_copy_of(&s->c, batch_same(s->x, ref));
}

LoopType batch_type(const Batch *x, LoopRef ref) {
    return x->is_narrow[ref] ? loop_scalar_type(SCALAR_I32) : loop_type(x->b, ref);
}

LoopRef batch_copy_like(BatchStep *s, LoopRef ref, LoopRef like) {
    LoopRef copy = batch_copy_of(s, ref);
    ScalarType to = (ScalarType)batch_type(s->x, like).elem;
    if (loop_type(s->x->b, copy).elem == to) return copy;
    return loop_scalar(s->x->b, OP_CONV, to, &copy, 1);
}

// `outs`: of the statement that it belongs to.
static void emit_body(BatchStep *s, const LoopBody *old, const LoopRef *outs,
                      LoopBody **body_out) {
    LoopBuilder *b = s->x->b;
    LoopRefs params = {0}, results = {0};
    for (uint32_t i = 0; i < old->param_count; i++) {
        LoopRef fresh = loop_value(b, batch_type(s->x, old->params[i]),
                                   b->kernel->values.data[old->params[i]].name);
        loop_copy_as(&s->c, old->params[i], fresh);
        vec_push(b->arena, &params, fresh);
    }
    loop_open(b, params.data, params.len);
    for (uint32_t i = 0; i < old->stms.len; i++) batch_emit(s, old->stms.data[i]);
    for (uint32_t i = 0; i < old->result_count; i++)
        vec_push(b->arena, &results, batch_copy_like(s, old->results[i], outs[i]));
    *body_out = loop_close(b, results.data, results.len);
}

static void put_private_place(BatchStep *s, const LoopStm *stm, uint32_t first,
                              LoopRefs *args) {
    Batch *x = s->x;
    LoopBuilder *b = x->b;
    BatchPlace place;
    if (x->row_size[batch_same(x, stm->args[0])] != 0 && batch_place(x, stm, &place)) {
        vec_push(b->arena, args, loop_mul(b, batch_place_in_row(s, &place), x->lanes));
        return;
    }
    vec_push(b->arena, args, loop_mul(b, batch_copy_of(s, stm->args[first]), x->lanes));
    for (uint32_t i = first + 1; i + 1 < stm->arg_count; i += 2) {
        vec_push(b->arena, args, loop_mul(b, batch_copy_of(s, stm->args[i]), x->lanes));
        vec_push(b->arena, args, batch_copy_of(s, stm->args[i + 1]));
    }
}

// A load or store of private memory: each element is there once for each lane.
static void emit_private(BatchStep *s, const LoopStm *stm, uint32_t first) {
    Batch *x = s->x;
    LoopBuilder *b = x->b;
    LoopRefs args = {0};
    vec_push(b->arena, &args, x->blocks[batch_same(x, stm->args[0])]);
    if (first == 2) vec_push(b->arena, &args, batch_copy_of(s, stm->args[1]));
    put_private_place(s, stm, first, &args);
    vec_push(b->arena, &args, loop_int(b, 1));
    vec_push(b->arena, &args, s->lane);
    LoopType type = {0};
    if (first == 1) type = loop_type(b, stm->outs[0]);
    LoopStm *made = loop_emit(b, stm->op, args.data, args.len, &type, stm->out_count);
    if (first == 1) loop_copy_as(&s->c, stm->outs[0], made->outs[0]);
}

static void emit_memory(BatchStep *s, const LoopStm *stm) {
    Batch *x = s->x;
    LoopRef buffer = batch_same(x, stm->args[0]);
    const BatchLoad *packed = find_packed(x, stm);
    const BatchWalk *walk = batch_find_walk(x, stm);
    if (walk != NULL) loop_copy_as(&s->c, stm->outs[0], batch_load_walked(s, walk));
    else if (packed != NULL)
        loop_copy_as(&s->c, stm->outs[0], load_packed(x, &s->c, packed, s->lane));
    else if (x->is_private[buffer]) emit_private(s, stm, stm->op == LOOP_LOAD ? 1 : 2);
    else loop_append(x->b, loop_copy_stm(&s->c, stm));
}

static void emit_bodies(BatchStep *s, const LoopStm *stm) {
    LoopBuilder *b = s->x->b;
    LoopRefs args = {0};
    LoopType *types = arena_array(b->arena, LoopType, stm->out_count);
    LoopBody *bodies[2];
    vec_push(b->arena, &args, batch_copy_of(s, stm->args[0]));
    for (uint32_t i = 1; i < stm->arg_count; i++)
        vec_push(b->arena, &args, batch_copy_like(s, stm->args[i], stm->outs[i - 1]));
    for (uint32_t i = 0; i < stm->out_count; i++)
        types[i] = batch_type(s->x, stm->outs[i]);
    for (uint32_t k = 0; k < stm->body_count; k++)
        emit_body(s, stm->bodies[k], stm->outs, &bodies[k]);
    LoopStm *made = loop_emit(b, stm->op, args.data, args.len, types, stm->out_count);
    made->order = stm->order;
    loop_set_bodies(b, made, bodies, stm->body_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        loop_copy_as(&s->c, stm->outs[i], made->outs[i]);
}

void batch_emit(BatchStep *s, const LoopStm *stm) {
    s->x->b->loc = stm->loc;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (batch_same(s->x, stm->args[i]) != stm->args[i])
            loop_copy_as(&s->c, stm->args[i], batch_copy_of(s, stm->args[i]));
    switch ((int)stm->op) {
    case LOOP_LOAD:
    case LOOP_STORE: emit_memory(s, stm); return;
    case LOOP_IF: emit_bodies(s, stm); return;
    case LOOP_FOR:
        if (batch_has_walks(s->x, stm)) batch_emit_walk(s, stm);
        else emit_bodies(s, stm);
        return;
    case LOOP_APPLY:
    case LOOP_SCALAR: loop_append(s->x->b, loop_copy_stm(&s->c, stm)); return;
    }
}
