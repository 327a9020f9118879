// SPDX-License-Identifier: Apache-2.0
//
// Rows of batches (docs/internals/lift.md). Where a turn makes a row of a result, all
// of it, the row is private memory until the turn is done; then it is copied. What a
// loop loads from one element of a row to the next is found here, too, and what is
// written over before anybody looks.
#include "loop/batch.h"

enum { DEEPEST = 8 };

// ---- places -------------------------------------------------------------------------

// The loop of which it is the index; 0: of none.
static uint32_t loop_of(const Batch *x, LoopRef index) {
    uint32_t at = x->loop_count;
    while (at > 0 && x->loops[at].stm->bodies[0]->params[0] != index) at--;
    return at;
}

static bool add_term(BatchPlace *p, LoopRef atom, uint64_t factor) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->terms[i].atom == atom) {
            p->terms[i].factor += factor;
            return true;
        }
    if (p->count == BATCH_MOST_TERMS) return false;
    p->terms[p->count].atom = atom;
    p->terms[p->count++].factor = factor;
    return true;
}

static bool add_row(const Batch *x, BatchPlace *p, LoopRef turn, LoopRef size,
                    uint64_t factor) {
    turn = batch_same(x, turn);
    if (turn != x->loop->bodies[0]->params[0] || !batch_is_early(x, size) ||
        p->size != 0 || factor != 1)
        return false;
    p->size = batch_same(x, size);
    return true;
}

static bool add_value(const Batch *x, BatchPlace *p, LoopRef ref, uint64_t factor,
                      uint32_t depth) {
    uint64_t bits;
    ref = batch_same(x, ref);
    if (loop_is_known(x->b, ref, &bits)) {
        p->number += factor * bits;
        return true;
    }
    if (batch_is_early(x, ref) || loop_of(x, ref) != 0) return add_term(p, ref, factor);
    const LoopStm *def = x->defs[ref];
    if (def == NULL || depth == DEEPEST) return false;
    const LoopRef *args = def->args;
    if (def->scalar == OP_ADD || def->scalar == OP_SUB)
        return add_value(x, p, args[0], factor, depth + 1) &&
               add_value(x, p, args[1], def->scalar == OP_ADD ? factor : -factor,
                         depth + 1);
    return def->scalar == OP_MUL && (add_row(x, p, args[0], args[1], factor) ||
                                     add_row(x, p, args[1], args[0], factor));
}

bool batch_place(const Batch *x, const LoopStm *stm, BatchPlace *out) {
    uint32_t first = stm->op == LOOP_LOAD ? 1 : 2;
    uint64_t bits;
    *out = (BatchPlace){0};
    if (!add_value(x, out, stm->args[first], 1, 0)) return false;
    for (uint32_t i = first + 1; i + 1 < stm->arg_count; i += 2) {
        LoopRef stride = stm->args[i], index = stm->args[i + 1];
        if (loop_is_known(x->b, stride, &bits) ? !add_value(x, out, index, bits, 0)
                                               : !add_row(x, out, index, stride, 1))
            return false;
    }
    return true;
}

// Whether it is the element of that number.
static bool is_at(const BatchPlace *p, LoopRef index) {
    return p->number == 0 && p->count == 1 && p->terms[0].atom == index &&
           p->terms[0].factor == 1;
}

// Whether it is within its row if indices are small: each is there once.
static bool has_plain_indices(const Batch *x, const BatchPlace *p) {
    for (uint32_t i = 0; i < p->count; i++)
        if (loop_of(x, p->terms[i].atom) != 0 && p->terms[i].factor != 1 &&
            p->terms[i].factor != (uint64_t)-1)
            return false;
    return true;
}

// ---- what is done to a buffer -------------------------------------------------------

static bool is_memory(const LoopStm *stm) {
    return stm->op == LOOP_LOAD || stm->op == LOOP_STORE;
}

// Whether the statement, or one in it, is that operator on the buffer; LOOP_COUNT: any.
static bool touches(const Batch *x, const LoopStm *stm, LoopOp op, LoopRef buffer) {
    if (is_memory(stm) && (op == LOOP_COUNT || stm->op == op) &&
        batch_same(x, stm->args[0]) == buffer)
        return true;
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (touches(x, stm->bodies[k]->stms.data[i], op, buffer)) return true;
    return false;
}

// Whether the loop stores as many elements of the buffer, from the first on, and loads
// none of it.
static bool fills(const Batch *x, const LoopStm *loop, LoopRef buffer, LoopRef count) {
    BatchPlace p;
    if (loop->op != LOOP_FOR || batch_same(x, loop->args[0]) != count ||
        touches(x, loop, LOOP_LOAD, buffer))
        return false;
    const LoopBody *body = loop->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE && batch_same(x, stm->args[0]) == buffer &&
            batch_place(x, stm, &p) && is_at(&p, body->params[0]))
            return true;
    }
    return false;
}

// The first statement of the turn, from that one on, that has to do with it; NULL:
// none.
static const LoopStm *next_of(const Batch *x, uint32_t from, LoopRef buffer) {
    for (uint32_t i = from; i < x->steps.len; i++)
        if (touches(x, x->steps.data[i], LOOP_COUNT, buffer)) return x->steps.data[i];
    return NULL;
}

bool batch_is_lost(const Batch *x, uint32_t step) {
    const LoopStm *loop = x->steps.data[step];
    if (loop->op != LOOP_FOR || loop->out_count > 0) return false;
    const LoopBody *body = loop->bodies[0];
    LoopRef count = batch_same(x, loop->args[0]);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR) continue;
        LoopRef buffer = stm->op == LOOP_STORE ? batch_same(x, stm->args[0]) : 0;
        BatchPlace p;
        if (buffer == 0 || !x->is_private[buffer] || !batch_place(x, stm, &p) ||
            !is_at(&p, body->params[0]))
            return false;
        const LoopStm *next = next_of(x, step + 1, buffer);
        if (next == NULL || !fills(x, next, buffer, count)) return false;
    }
    return true;
}

// ---- rows ---------------------------------------------------------------------------

// Notes the places of the buffer. False: some are not in a row of that size, which is
// found by the first.
static bool note_places(Batch *x, const LoopStm *stm, LoopRef buffer, LoopRef *size) {
    BatchPlace p;
    if (is_memory(stm) && batch_same(x, stm->args[0]) == buffer) {
        if (!batch_place(x, stm, &p) || p.size == 0 || !has_plain_indices(x, &p) ||
            (*size != 0 && p.size != *size))
            return false;
        *size = p.size;
        vec_push(x->b->arena, &x->places, p);
    }
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (!note_places(x, stm->bodies[k]->stms.data[i], buffer, size))
                return false;
    return true;
}

static bool is_packed(const Batch *x, LoopRef buffer) {
    for (uint32_t i = 0; i < x->packed.len; i++)
        if (batch_same(x, x->packed.data[i].load->args[0]) == buffer) return true;
    return false;
}

// Whether a turn makes a row of the buffer; it is private then.
static bool make_private(Batch *x, LoopRef buffer) {
    LoopRef size = 0;
    uint32_t places = x->places.len;
    if (x->is_private[buffer]) return true;
    bool is_row = !is_packed(x, buffer);
    for (uint32_t i = 0; i < x->steps.len && is_row; i++)
        is_row = note_places(x, x->steps.data[i], buffer, &size);
    const LoopStm *first = next_of(x, 0, buffer);
    if (!is_row || first == NULL || !fills(x, first, buffer, size)) {
        x->places.len = places;
        return false;
    }
    x->is_private[buffer] = true;
    x->row_size[buffer] = size;
    vec_push(x->b->arena, &x->rows, buffer);
    return true;
}

static void drop_private(const Batch *x, LoopRefs *buffers) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < buffers->len; i++)
        if (!x->is_private[buffers->data[i]]) buffers->data[kept++] = buffers->data[i];
    buffers->len = kept;
}

// ---- walks --------------------------------------------------------------------------

static void note_walk(Batch *x, const LoopStm *load, const LoopStm *loop) {
    BatchWalk walk = {.load = load, .loop = loop};
    LoopRef index = loop->bodies[0]->params[0];
    uint32_t bytes = scalar_info[loop_type(x->b, load->outs[0]).elem].bytes;
    if (x->is_private[batch_same(x, load->args[0])] || bytes < BATCH_LEAST_BYTES ||
        !batch_place(x, load, &walk.place) || walk.place.size == 0)
        return;
    for (uint32_t i = 0; i < walk.place.count; i++) {
        uint64_t factor = walk.place.terms[i].factor;
        if (walk.place.terms[i].atom != index) continue;
        if (factor != 1 && factor != (uint64_t)-1) return;
        walk.falls = factor != 1;
        vec_push(x->b->arena, &x->walks, walk);
        return;
    }
}

static bool walks_all(const Batch *x, const LoopStm *stm) {
    bool is_own = false;
    for (uint32_t i = 1; i < stm->arg_count && stm->op == LOOP_LOAD; i++)
        is_own = is_own || (batch_on(x, stm->args[i]) & BATCH_ON_TURN) != 0;
    if (is_own && !x->is_private[batch_same(x, stm->args[0])] &&
        batch_find_walk(x, stm) == NULL)
        return false;
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (!walks_all(x, stm->bodies[k]->stms.data[i])) return false;
    return true;
}

static bool stores_what_it_loads(const Batch *x) {
    for (uint32_t i = 0; i < x->stored.len; i++)
        for (uint32_t k = 0; k < x->loaded.len; k++)
            if (x->stored.data[i] == x->loaded.data[k]) return true;
    return false;
}

void batch_find_rows(Batch *x) {
    for (uint32_t i = 0; i < x->stored.len; i++)
        if (x->stored.data[i] < x->known) make_private(x, x->stored.data[i]);
    drop_private(x, &x->loaded);
    drop_private(x, &x->stored);
    x->is_once = stores_what_it_loads(x);
    if (x->is_once) return;
    x->walks_all = true;
    for (uint32_t i = 0; i < x->steps.len; i++) {
        const LoopStm *loop = x->steps.data[i];
        const LoopBody *body = loop->op == LOOP_FOR ? loop->bodies[0] : NULL;
        for (uint32_t k = 0; body != NULL && k < body->stms.len; k++)
            if (body->stms.data[k]->op == LOOP_LOAD)
                note_walk(x, body->stms.data[k], loop);
        x->walks_all = x->walks_all && walks_all(x, loop);
    }
}
