// SPDX-License-Identifier: Apache-2.0
//
// Several turns in one pass over a matrix. A loop that goes in order, each turn of
// which looks at one row of a matrix and then changes every row in place by itself and
// by what it has seen, as elimination does, fetches the whole matrix from a far cache
// in each turn. It goes by blocks of turns instead:
//
//     for i < n {                     for b < n / 64, rounded up, or n / 16 {
//       look at row i                   for parts of the block {
//       for a < n {change row a}}         each i: change row i by those before; look
//                                         for rows a of the block behind these
//                                           {change row a by each i}}
//                                       for parts of the block
//                                         {change its rows by i and those after it}
//                                       for other rows a {change row a by each i}}
//
// so that a row that is there is changed 64 times (turns_change.c). The last two loops
// are one, for which threads meet once. Each element goes through the same changes in
// the same order. What may stop is in what looks at rows, whose order stays.
#include "loop/turns.h"

#include "loop/machine.h"
#include "loop/passes.h"

// The more turns, the fewer passes over a matrix that is far, and the more is done for
// the block itself: it goes by parts, as many rows as change at once.
enum { TURNS = 64, FEW_TURNS = 16, MANY_ROWS = 512 };

// ---- blocks -------------------------------------------------------------------------

// Turns from `begin` to before `end` look at their rows, which those before have
// changed.
static void look(const TurnsBlock *x, TurnsGroup *g, LoopRef begin, LoopRef end) {
    LoopBuilder *b = x->b;
    LoopRef count = loop_sub(b, end, begin);
    TurnsCopy turn = turns_copy(x, loop_add(b, begin, loop_open_turns(b)));
    g->rows[0] = loop_add(b, x->first, turn.number);
    turns_change(x, g, begin, turn.number, x->part_busy);
    for (uint32_t i = 0; i < x->t->at; i++) {
        const LoopStm *stm = x->t->body->stms.data[i];
        if (stm->op != LOOP_ALLOC) turns_append(x, &turn, stm);
    }
    for (uint32_t i = 0; i < x->kept.len; i++)
        turns_store(b, x->kept.data[i], loop_copy_of(&turn.copier, x->t->kept.data[i]),
                    turn.number);
    turns_pack(x, g, turn.number);
    loop_close_turns(b, count, ORDER_SEQUENTIAL);
}

// Their rows are changed by themselves, and by the turns after them.
static void change_own(const TurnsBlock *x, TurnsGroup *g, LoopRef begin, LoopRef end) {
    LoopBuilder *b = x->b;
    const LoopBody *body = x->t->rows->bodies[0];
    LoopRef count = loop_sub(b, end, begin);
    TurnsCopy turn = turns_copy(x, loop_add(b, begin, loop_open_turns(b)));
    turns_recall(x, &turn);
    g->rows[0] = loop_add(b, x->first, turn.number);
    loop_copy_as(&turn.copier, body->params[0], g->rows[0]);
    for (uint32_t i = 0; i < body->stms.len; i++)
        turns_append(x, &turn, body->stms.data[i]);
    turns_note_row(x, g);
    turns_change(x, g, loop_add(b, turn.number, loop_int(b, 1)), end, x->busy);
    loop_close_turns(b, count, ORDER_SEQUENTIAL);
}

// The end of a part of the block that begins with that turn.
static LoopRef end_of_part(const TurnsBlock *x, LoopRef begin) {
    LoopRef end = loop_add(x->b, begin, loop_int(x->b, x->t->group));
    return loop_min(x->b, end, x->count);
}

// Rows but those of the turns that change them.
typedef struct Others {
    LoopRef first, count; // all rows
    LoopRef begin, end;   // turns of the block
    LoopRef busy;         // of these
    // Of the block, whose rows, too, are changed by their own turns and those behind
    // the part; or 0.
    LoopRef parts;
} Others;

// The row of that number among them.
static LoopRef other_row(const TurnsBlock *x, const Others *o, LoopRef number) {
    LoopBuilder *b = x->b;
    LoopRef row = loop_add(b, o->first, number), turn = loop_add(b, x->first, o->begin);
    LoopRef behind = loop_add(b, row, loop_sub(b, o->end, o->begin));
    return loop_select(b, loop_lt(b, row, turn), row, behind);
}

// Rows of a part are changed by the turns of the part.
static void change_part(const TurnsBlock *x, LoopRef is_part, LoopRef begin) {
    LoopBuilder *b = x->b;
    LoopBody *arms[2];
    TurnsGroup one = {.size = 1};
    loop_open(b, NULL, 0);
    turns_alloc_group(x, &one);
    change_own(x, &one, begin, end_of_part(x, begin));
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &is_part, 1, NULL, 0), arms, 2);
}

// Changes a group by turns from `begin` on. Without any it may have no rows, either.
static void change_group(const TurnsBlock *x, const Others *o, TurnsGroup *g,
                         LoopRef begin) {
    LoopBuilder *b = x->b;
    LoopBody *arms[2];
    LoopRef has_turns = loop_lt(b, begin, o->end);
    loop_open(b, NULL, 0);
    turns_alloc_group(x, g);
    turns_change(x, g, begin, o->end, o->busy);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &has_turns, 1, NULL, 0), arms, 2);
}

// Changes parts, and other rows, so many at once. Where fewer are left over, the last
// of them goes for those that are missing, too: all of it is loaded before any is
// stored.
static void change_others(const TurnsBlock *x, const Others *o) {
    LoopBuilder *b = x->b;
    TurnsGroup g = {.size = x->t->group};
    bool is_parallel = x->t->rows->order == ORDER_PARALLEL;
    LoopRef high = loop_int(b, g.size), one = loop_int(b, 1), mark = 0;
    LoopRef count = loop_sub(b, o->count, loop_sub(b, o->end, o->begin));
    LoopRef round = loop_add(b, count, loop_int(b, g.size - 1));
    LoopRef groups = loop_quot(b, round, high), last = loop_sub(b, count, one);
    LoopRef all = loop_add(b, o->parts, groups), index = loop_open_turns(b);
    LoopRef is_part = loop_lt(b, index, o->parts), part = loop_mul(b, index, high);
    LoopRef first = loop_mul(b, loop_sub(b, index, o->parts), high);
    if (!is_parallel)
        mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    for (int r = 0; r < g.size; r++) {
        LoopRef row = loop_int(b, r), own = loop_add(b, x->first, part);
        LoopRef number = loop_min(b, loop_add(b, first, row), last);
        LoopRef other = other_row(x, o, number);
        g.rows[r] = loop_select(b, is_part, loop_add(b, own, row), other);
    }
    if (!loop_is_int(b, o->parts, 0)) change_part(x, is_part, part);
    change_group(x, o, &g, loop_select(b, is_part, end_of_part(x, part), o->begin));
    if (!is_parallel) loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
    loop_close_turns(b, all, is_parallel ? ORDER_PARALLEL : ORDER_SEQUENTIAL);
}

// Some turns of the block look at their rows, and change those of the turns after them.
static void emit_part(const TurnsBlock *x, TurnsGroup *one, LoopRef begin) {
    LoopBuilder *b = x->b;
    LoopRef end = end_of_part(x, begin), first = loop_add(b, x->first, begin);
    LoopRef count = loop_sub(b, x->count, begin);
    turns_begin_part(x);
    look(x, one, begin, end);
    change_others(x, &(Others){first, count, begin, end, x->part_busy, loop_int(b, 0)});
}

static void emit_block(TurnsBlock x, LoopRef first, LoopRef count) {
    const Turns *t = x.t;
    LoopBuilder *b = x.b;
    TurnsGroup one = {.size = 1};
    x.first = first;
    x.count = count;
    LoopRef mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    LoopRef zero = loop_int(b, 0), part = loop_int(b, t->group);
    x.arrays = turns_alloc(b, &t->arrays, loop_mul(b, count, t->wide));
    x.kept = turns_alloc(b, &t->kept, count);
    turns_alloc_panels(&x);
    turns_alloc_busy(&x);
    turns_alloc_group(&x, &one);
    LoopRef round = loop_add(b, count, loop_int(b, t->group - 1));
    LoopRef parts = loop_quot(b, round, part);
    LoopRef begin = loop_mul(b, loop_open_turns(b), part);
    emit_part(&x, &one, begin);
    loop_close_turns(b, parts, ORDER_SEQUENTIAL);
    change_others(&x, &(Others){zero, t->rows->args[0], zero, count, x.busy, parts});
    loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
}

// Emits blocks of all turns of which there are rows, if these have elements, and the
// other turns as they were.
static void emit(const Turns *t) {
    LoopBuilder *b = t->b;
    LoopRef n = t->loop->args[0], high = t->rows->args[0], zero = loop_int(b, 0);
    LoopRef one = loop_int(b, 1);
    LoopRef least = loop_min(b, n, high);
    LoopRef most = loop_select(b, loop_lt(b, zero, t->wide), least, zero);
    LoopRef turns = loop_select(b, loop_lt(b, high, loop_int(b, MANY_ROWS)),
                                loop_int(b, FEW_TURNS), loop_int(b, TURNS));
    LoopRef round = loop_add(b, most, loop_sub(b, turns, one));
    LoopRef blocks = loop_quot(b, round, turns);
    LoopRef mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    TurnsBlock x = {.t = t, .b = b};
    turns_measure_panels(&x);
    turns_alloc_plain(&x);
    LoopRef first = loop_mul(b, loop_open_turns(b), turns);
    emit_block(x, first, loop_min(b, turns, loop_sub(b, most, first)));
    loop_close_turns(b, blocks, ORDER_SEQUENTIAL);
    loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
    LoopRef left = loop_sub(b, n, most), number = loop_add(b, most, loop_open_turns(b));
    loop_identify(b, t->body->params[0], number);
    for (uint32_t i = 0; i < t->body->stms.len; i++)
        loop_append(b, t->body->stms.data[i]);
    loop_close_turns(b, left, ORDER_SEQUENTIAL);
}

// ---- the pass -----------------------------------------------------------------------

static void note_defs(const LoopBody *body, const LoopStm **defs) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR) defs[stm->outs[0]] = stm;
        for (uint32_t k = 0; k < stm->body_count; k++) note_defs(stm->bodies[k], defs);
    }
}

static void visit(const Turns *pass, LoopBody *body) {
    LoopBody old = *body;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    loop_reopen(pass->b, body);
    for (uint32_t i = 0; i < old.stms.len; i++) {
        LoopStm *stm = old.stms.data[i];
        Turns t = *pass;
        if (stm->op == LOOP_FOR && turns_find(&t, stm)) {
            pass->b->loc = stm->loc;
            emit(&t);
            continue;
        }
        for (uint32_t k = 0; k < stm->body_count; k++) visit(pass, stm->bodies[k]);
        loop_append(pass->b, stm);
    }
    pass->b->open.len--;
}

void loop_turns(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    Turns pass = {.b = &b, .known = kernel->values.len};
    pass.group = machine_registers(machine_vector_bytes()) == 32 ? TURNS_MOST_ROWS
                                                                 : TURNS_MOST_ROWS / 2;
    pass.defs = arena_array(kernel->arena, const LoopStm *, kernel->values.len);
    note_defs(kernel->root, pass.defs);
    visit(&pass, kernel->root);
    loop_tidy_news(&b);
}
