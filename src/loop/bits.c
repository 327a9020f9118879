// SPDX-License-Identifier: Apache-2.0
//
// Cells of zeros and ones as bits. A loop of steps on a torus, each of which makes all
// cells from those around them by small sums, comparisons and choices, and makes them 0
// or 1, goes over bytes, or more, of which one bit matters. Here eight cells are a
// byte:
//
//     byte i of a row:  cells i, n + i, 2n + i ... 7n + i      n, an eighth of the row,
//                                                             bytes
//
// so that what is beside a cell is, but at the ends of the row, the same bit of the
// byte beside it, and there a bit of the last byte, or the first, turned by one: bytes
// are loaded as cells were, and the passes that follow find a stencil as before. Sums
// are bits that are added as an adder does (bits_number.c), eight cells of a byte, and
// as many bytes as lanes have, at once.
//
// That the steps make nothing but 0 and 1 is seen from their code; that there is
// nothing else at first, while bits are gathered. If there is, if rows are short or no
// multiple of eight, or steps are few, the loop goes as it did.
#include "loop/bits.h"

#include "loop/copy.h"
#include "loop/depend.h"
#include "loop/passes.h"

enum {
    LEAST_STEPS = 4,      // that bits are gathered for
    LEAST_BYTES = 128,    // of a row
    LEAST_CELLS = 1 << 12 // of all rows
};

// ---- bytes --------------------------------------------------------------------------

// The code that is made.
typedef struct Make {
    const BitsCells *c;
    LoopBuilder *b;
    LoopCopier copier;          // of a step
    LoopRef rows, width, bytes; // of rows: cells and bytes
    LoopRef index;              // of the byte at hand
    LoopRef from;               // the buffer of bytes that are read
    bool fails;                 // a cell is loaded from no row that is known before it
} Make;

// The bits of a byte, each where the next one was, up or down, and the one that falls
// out at the other end.
static LoopRef turn(LoopBuilder *b, LoopRef x, bool is_up) {
    LoopRef up = bits_byte(b, is_up ? 1 : BITS_CELLS - 1);
    LoopRef down = bits_byte(b, is_up ? BITS_CELLS - 1 : 1);
    LoopRef lower = bits_byte2(b, OP_LSHR, x, down);
    return bits_byte2(b, OP_OR, bits_byte2(b, OP_SHL, x, up), lower);
}

// What is computed for the row, though it stands among its cells.
static void copy_of_row(Make *m) {
    LoopBuilder *b = m->b;
    const LoopBody *cells = m->c->cells->bodies[0];
    Map of_cell;
    map_init(&of_cell, loop_notes(b->kernel));
    map_set(&of_cell, cells->params[0], 1);
    for (uint32_t i = 0; i < cells->stms.len; i++) {
        const LoopStm *stm = cells->stms.data[i];
        if (bits_is_computed(stm)) continue;
        for (uint32_t k = 0; k < stm->out_count; k++)
            map_set(&of_cell, stm->outs[k], 1);
    }
    depend_spread(b, &of_cell, cells);
    for (uint32_t i = 0; i < cells->stms.len; i++) {
        const LoopStm *stm = cells->stms.data[i];
        if (bits_is_computed(stm) && depend_is_free(b, &of_cell, stm))
            loop_append(b, loop_copy_stm(&m->copier, stm));
    }
}

// What is before the first byte is the last one, of the cells an eighth of a row
// before.
static LoopRef load_byte(void *data, const LoopStm *load) {
    Make *m = data;
    LoopBuilder *b = m->b;
    uint64_t found;
    LoopRef old = loop_find(b, load->args[3]), row = loop_copy_of(&m->copier, old);
    if (!map_get(&m->c->away, (uintptr_t)load, &found) ||
        (row == old && loop_binds(m->c->cells->bodies[0], row))) {
        m->fails = true;
        return bits_byte(b, 0);
    }
    int64_t away = (int64_t)found - BITS_MOST_AWAY;
    LoopRef at = loop_add(b, m->index, loop_int(b, away)), is_beyond, other;
    if (away == 0) return bits_load(b, m->from, m->bytes, row, at);
    if (away < 0) {
        is_beyond = loop_lt(b, at, loop_int(b, 0));
        other = loop_add(b, at, m->bytes);
    } else {
        is_beyond = loop_le(b, m->bytes, at);
        other = loop_sub(b, at, m->bytes);
    }
    at = loop_select(b, is_beyond, other, at);
    LoopRef x = bits_load(b, m->from, m->bytes, row, at);
    return loop_select(b, is_beyond, turn(b, x, away < 0), x);
}

// The cell that a turn makes of each of eight.
static LoopRef make_byte(Make *m) {
    Bits bits = {.b = m->b, .load = load_byte, .data = m};
    map_init(&bits.numbers, loop_notes(m->b->kernel));
    bits_of_body(&bits, m->c->cells->bodies[0]);
    return bits_of_value(&bits, m->c->store->args[1]);
}

// Whether the cells that are made are known to be 0 or 1; what is made is left out.
static bool makes_bits(const BitsCells *c, LoopBuilder *b) {
    LoopRef one = loop_int(b, 1);
    LoopRef buffer = loop_value(b, loop_buffer_type(SCALAR_U8), 0);
    Make m = {.c = c, .b = b, .bytes = one, .from = buffer};
    m.copier = loop_copier(b);
    m.index = loop_open_turns(b);
    copy_of_row(&m);
    bool does = make_byte(&m) != 0 && !m.fails;
    loop_close(b, NULL, 0);
    return does;
}

static void copy_computed(Make *m, const LoopBody *body) {
    for (uint32_t i = 0; i + 1 < body->stms.len; i++)
        loop_append(m->b, loop_copy_stm(&m->copier, body->stms.data[i]));
}

// The steps, so many, on bytes of two buffers that swap; what has the last ones.
static LoopRef make_steps(Make *m, LoopRef steps, LoopRef first, LoopRef second) {
    LoopBuilder *b = m->b;
    const LoopBody *step = m->c->loop->bodies[0];
    LoopType type = loop_type(b, first), types[] = {type, type};
    LoopRef params[] = {loop_value(b, loop_scalar_type(SCALAR_I64), 0),
                        loop_value(b, type, 0), loop_value(b, type, 0)};
    loop_open(b, params, 3);
    m->from = params[1];
    m->copier = loop_copier(b);
    loop_copy_as(&m->copier, step->params[0], params[0]);
    copy_computed(m, step);
    LoopRef row = loop_open_turns(b);
    loop_copy_as(&m->copier, m->c->rows->bodies[0]->params[0], row);
    copy_computed(m, m->c->rows->bodies[0]);
    copy_of_row(m);
    m->index = loop_open_turns(b);
    bits_store(b, params[2], make_byte(m), m->bytes, row, m->index);
    loop_close_turns(b, m->bytes, ORDER_INDEPENDENT);
    loop_close_turns(b, m->rows, ORDER_PARALLEL);
    LoopBody *body = loop_close(b, (LoopRef[]){params[2], params[1]}, 2);
    LoopRef args[] = {steps, first, second};
    LoopStm *loop = loop_emit(b, LOOP_FOR, args, 3, types, 2);
    loop_set_bodies(b, loop, &body, 1);
    return loop->outs[0];
}

// ---- both ways ----------------------------------------------------------------------

// Whether there are steps and cells enough, in rows of whole bytes.
static LoopRef can_pay(const Make *m, LoopRef steps) {
    LoopBuilder *b = m->b;
    LoopRef cells = loop_mul(b, m->rows, m->width);
    LoopRef whole = loop_mul(b, m->bytes, loop_int(b, BITS_CELLS));
    LoopRef are_many = loop_le(b, loop_int(b, LEAST_CELLS), cells);
    LoopRef is_long =
        loop_and(b, loop_le(b, loop_int(b, LEAST_STEPS), steps), are_many);
    LoopRef is_whole = loop_eq(b, whole, m->width);
    LoopRef is_wide =
        loop_and(b, loop_le(b, loop_int(b, LEAST_BYTES), m->bytes), is_whole);
    return loop_and(b, is_long, is_wide);
}

static LoopRef alloc(LoopBuilder *b, LoopRef count) {
    return loop_emit1(b, LOOP_ALLOC, &count, 1, loop_buffer_type(SCALAR_U8));
}

// What the first step checks, if there is one.
static void make_checks(const Make *m, LoopRef goes) {
    const LoopBody *step = m->c->loop->bodies[0];
    LoopCopier copier = loop_copier(m->b);
    LoopBody *arms[] = {loop_open(m->b, NULL, 0), arena_new(m->b->arena, LoopBody)};
    for (uint32_t i = 0; i < step->stms.len; i++)
        if (step->stms.data[i]->op == LOOP_CHECK)
            loop_append(m->b, loop_copy_stm(&copier, step->stms.data[i]));
    loop_close(m->b, NULL, 0);
    loop_set_bodies(m->b, loop_emit(m->b, LOOP_IF, &goes, 1, NULL, 0), arms, 2);
}

// Steps on bytes, of which there are none if these would not do, and then, if not,
// those that there were.
static void make(RangeWalk *w, const BitsCells *c, LoopStm *loop) {
    LoopBuilder *b = &w->b;
    LoopRef none = loop_int(b, 0), steps = loop->args[0];
    Make m = {.c = c, .b = b, .rows = c->rows->args[0], .width = c->cells->args[0]};
    m.bytes = loop_quot(b, m.width, loop_int(b, BITS_CELLS));
    LoopRef pays = can_pay(&m, steps);
    make_checks(&m, pays);
    LoopRef rows = loop_select(b, pays, m.rows, none);
    LoopRef size = loop_mul(b, rows, m.bytes);
    LoopRef first = alloc(b, size), second = alloc(b, size);
    BitsRows bits = {first, rows, m.bytes},
             cells = {loop->args[1 + c->from], rows, m.width};
    LoopRef fits = loop_and(b, pays, bits_gather(b, &cells, &bits));
    bits.buffer = make_steps(&m, loop_select(b, fits, steps, none), first, second);
    cells.buffer = c->result != 0 ? c->result : loop->args[1 + c->to];
    bits.rows = cells.rows = loop_select(b, fits, m.rows, none);
    bits_spread(b, &bits, &cells);
    LoopStm *rest = arena_copy(b->arena, loop, sizeof *loop);
    rest->args = arena_copy(b->arena, loop->args, loop->arg_count * sizeof steps);
    rest->args[0] = loop_select(b, fits, none, steps);
    rest->outs = arena_array(b->arena, LoopRef, loop->out_count);
    for (uint32_t k = 0; k < loop->out_count; k++) {
        rest->outs[k] = loop_value(b, loop_type(b, loop->outs[k]), 0);
        if (k != c->from) loop_identify(b, loop->outs[k], rest->outs[k]);
    }
    range_keep(w, rest);
    LoopRef last = rest->outs[c->from];
    if (c->copy != NULL)
        c->copy->args[0] = loop_select(b, fits, none, c->copy->args[0]);
    else last = loop_select(b, fits, cells.buffer, last);
    loop_identify(b, loop->outs[c->from], last);
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    const BitsSearch *search = w->data;
    const BitsCells *c = bits_found(search, loop);
    if (c == NULL || w->depth > 0 ||
        range_value(&w->r, c->cells->args[0])->depth > w->depth ||
        range_value(&w->r, c->rows->args[0])->depth > w->depth ||
        !makes_bits(c, &w->b) || !loop_can_pay(w, loop->bodies[0]))
        range_keep(w, loop);
    else make(w, c, loop);
}

void loop_bits(LoopKernel *kernel) {
    enum { BUDGET = 500 };
    LoopBuilder b = loop_builder(kernel);
    BitsSearch search = {.arena = kernel->arena};
    map_init(&search.loops, loop_notes(kernel));
    map_init(&search.accesses, loop_notes(kernel));
    bits_find(&search, &b, kernel->root);
    if (search.loops.count == 0) return;
    RangeWalk w = {.leave_loop = leave_loop,
                   .see_access = bits_see,
                   .budget = BUDGET,
                   .data = &search};
    range_walk(&w, kernel);
}
