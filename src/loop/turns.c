// SPDX-License-Identifier: Apache-2.0
//
// Several turns in one pass over a matrix. A loop that goes in order, each turn of
// which looks at one row of a matrix and then changes every row in place by itself and
// by what it has seen, as elimination does, fetches the whole matrix from a far cache
// in each turn. It goes by blocks of turns instead:
//
//     for i < n {                     for b < n / 32, rounded up, or n / 16 {
//       look at row i                   each i of the block: change row i by the turns
//       for a < n {change row a}}         of the block before i; look at it
//                                       each i of the block: change row i by i and the
//                                         turns of the block after it
//                                       for other rows a {change row a by each i}}
//
// so that a row that is there is changed 32 times. What a turn needs of a row for the
// change, such as its element in the column of the pivot, is found first, for which
// only the elements are changed that later turns look at. Then each element is loaded,
// changed by one turn after the other while it is in a register, and stored; several
// rows at once share what turns have seen, as in a product of matrices. Each element
// goes through the same changes in the same order. What may stop is in what looks at
// rows, whose order stays.
#include "loop/turns.h"

#include "loop/machine.h"
#include "loop/passes.h"

// The more turns, the fewer passes over a matrix that is far, and the more is done for
// the block itself.
enum { TURNS = 32, FEW_TURNS = 16, MANY_ROWS = 512, MOST_ROWS = 12 };

// A block of turns: so many from the first.
typedef struct Block {
    const Turns *t;
    LoopBuilder *b;
    LoopRef first, count;
    LoopRefs arrays, kept; // of all turns: row by row; element by element
} Block;

// Rows that are changed at once.
typedef struct Group {
    int size;
    LoopRef rows[MOST_ROWS], begin[MOST_ROWS];
    LoopRef strip;    // by row and turn: its element in the column of the turn
    LoopRefs factors; // by turn and row
} Group;

// ---- memory -------------------------------------------------------------------------

static LoopRef load_at(LoopBuilder *b, LoopRef buffer, LoopRef begin, LoopRef at) {
    LoopType type = loop_scalar_type((ScalarType)loop_type(b, buffer).elem);
    return loop_emit1(b, LOOP_LOAD, (LoopRef[]){buffer, begin, loop_int(b, 1), at}, 4,
                      type);
}

static void store_at(LoopBuilder *b, LoopRef buffer, LoopRef x, LoopRef begin,
                     LoopRef at) {
    LoopRef args[] = {buffer, x, begin, loop_int(b, 1), at};
    loop_emit(b, LOOP_STORE, args, 5, NULL, 0);
}

// Memory for so many elements of the type of each value.
static LoopRefs alloc_for(LoopBuilder *b, const LoopRefs *values, LoopRef count) {
    LoopRefs buffers = {0};
    for (uint32_t i = 0; i < values->len; i++) {
        LoopType type =
            loop_buffer_type((ScalarType)loop_type(b, values->data[i]).elem);
        vec_push(b->arena, &buffers, loop_emit1(b, LOOP_ALLOC, &count, 1, type));
    }
    return buffers;
}

static void alloc_group(const Block *x, Group *g) {
    LoopRef count = loop_mul(x->b, x->count, loop_int(x->b, g->size));
    LoopType type = loop_type(x->b, x->t->matrix);
    if (x->t->has_strip) g->strip = loop_emit1(x->b, LOOP_ALLOC, &count, 1, type);
    g->factors = alloc_for(x->b, &x->t->factors, count);
}

// ---- copies -------------------------------------------------------------------------

// Makes places in arrays of a turn those in the memory of all.
static void move_places(const Block *x, LoopStm *copy, LoopRef turn) {
    bool is_array = false;
    for (uint32_t i = 0; i < x->arrays.len && copy->arg_count > 0; i++)
        is_array = is_array || copy->args[0] == x->arrays.data[i];
    if (is_array) {
        uint32_t begin = copy->op == LOOP_LOAD ? 2 : 3;
        LoopRefs args = {0};
        for (uint32_t i = 0; i < copy->arg_count; i++) {
            if (i == begin) {
                vec_push(x->b->arena, &args, x->t->wide);
                vec_push(x->b->arena, &args, turn);
            }
            vec_push(x->b->arena, &args, copy->args[i]);
        }
        copy->args = args.data;
        copy->arg_count = args.len;
    }
    for (uint32_t k = 0; k < copy->body_count; k++)
        for (uint32_t i = 0; i < copy->bodies[k]->stms.len; i++)
            move_places(x, copy->bodies[k]->stms.data[i], turn);
}

// One turn of the block.
typedef struct Turn {
    LoopRef number; // in the block
    LoopCopier copier;
} Turn;

static Turn turn_of(const Block *x, LoopRef number) {
    Turn turn = {number, loop_copier(x->b)};
    loop_copy_as(&turn.copier, x->t->body->params[0], loop_add(x->b, x->first, number));
    for (uint32_t i = 0; i < x->arrays.len; i++)
        loop_copy_as(&turn.copier, x->t->arrays.data[i], x->arrays.data[i]);
    return turn;
}

// Has what was found when it looked.
static void recall(const Block *x, Turn *turn) {
    for (uint32_t i = 0; i < x->kept.len; i++)
        loop_copy_as(&turn->copier, x->t->kept.data[i],
                     load_at(x->b, x->kept.data[i], loop_int(x->b, 0), turn->number));
}

static void append_copy(const Block *x, Turn *turn, const LoopStm *stm) {
    LoopStm *copy = loop_copy_stm(&turn->copier, stm);
    move_places(x, copy, turn->number);
    // What goes on between is not shared out; nor does it pay to share one row.
    if (copy->order == ORDER_PARALLEL) copy->order = ORDER_INDEPENDENT;
    loop_append(x->b, copy);
}

// What the turn makes of an element of the row and column.
static LoopRef change_cell(const Block *x, Turn *turn, LoopRef element, LoopRef row,
                           LoopRef column) {
    const Turns *t = x->t;
    const LoopBody *body = t->cells->bodies[0];
    loop_copy_as(&turn->copier, t->rows->bodies[0]->params[0], row);
    loop_copy_as(&turn->copier, body->params[0], column);
    for (uint32_t i = 0; i < t->cell.len; i++) {
        const LoopStm *stm = t->cell.data[i];
        if (stm->op == LOOP_LOAD && stm->args[0] == t->matrix)
            loop_copy_as(&turn->copier, stm->outs[0], element);
        else append_copy(x, turn, stm);
    }
    return loop_copy_of(&turn->copier, body->stms.data[body->stms.len - 1]->args[1]);
}

// ---- factors ------------------------------------------------------------------------

static LoopRef place_in_strip(const Block *x, int row, LoopRef turn) {
    return loop_add(x->b, loop_mul(x->b, x->count, loop_int(x->b, row)), turn);
}

static LoopRef place_of_factor(const Block *x, const Group *g, int row, LoopRef turn) {
    LoopRef size = loop_int(x->b, g->size);
    return loop_add(x->b, loop_mul(x->b, turn, size), loop_int(x->b, row));
}

static void load_strips(const Block *x, const Group *g, LoopRef begin, LoopRef count) {
    LoopBuilder *b = x->b;
    LoopRef turn = loop_add(b, begin, loop_open_turns(b));
    LoopRef column = loop_add(b, x->first, turn);
    for (int r = 0; r < g->size; r++)
        store_at(b, g->strip, load_at(b, x->t->matrix, g->begin[r], column),
                 loop_int(b, 0), place_in_strip(x, r, turn));
    loop_close_turns(b, count, ORDER_INDEPENDENT);
}

// What the turn does before the elements of a row.
static void look_before(const Block *x, const Group *g, int row, Turn *turn) {
    const Turns *t = x->t;
    LoopCopier *c = &turn->copier;
    loop_copy_as(c, t->rows->bodies[0]->params[0], g->rows[row]);
    for (uint32_t i = 0; i < t->before.len; i++) {
        const LoopStm *stm = t->before.data[i];
        if (stm->op == LOOP_IF) {
            const LoopBody *arm = stm->bodies[turns_arm(t, stm)];
            for (uint32_t r = 0; r < stm->out_count; r++)
                loop_copy_as(c, stm->outs[r], loop_copy_of(c, arm->results[r]));
        } else if (stm->op == LOOP_LOAD && stm->args[0] == t->matrix) {
            LoopRef at = place_in_strip(x, row, turn->number);
            loop_copy_as(c, stm->outs[0],
                         load_at(x->b, g->strip, loop_int(x->b, 0), at));
        } else {
            append_copy(x, turn, stm);
        }
    }
}

// Changes by a turn the elements that so many turns from `begin` look at.
static void change_strips(const Block *x, const Group *g, const LoopRef *factors,
                          Turn *turn, LoopRef begin, LoopRef count) {
    LoopBuilder *b = x->b;
    const LoopRefs *names = &x->t->factors;
    LoopRef zero = loop_int(b, 0), other = loop_add(b, begin, loop_open_turns(b));
    LoopRef column = loop_add(b, x->first, other);
    for (int r = 0; r < g->size; r++) {
        LoopRef at = place_in_strip(x, r, other);
        for (uint32_t f = 0; f < names->len; f++)
            loop_copy_as(&turn->copier, names->data[f],
                         factors[(uint32_t)r * names->len + f]);
        LoopRef element = load_at(b, g->strip, zero, at);
        LoopRef changed = change_cell(x, turn, element, g->rows[r], column);
        store_at(b, g->strip, changed, zero, at);
    }
    loop_close_turns(b, count, ORDER_INDEPENDENT);
}

// Finds what turns need of rows. Elements that no turn looks at any more are changed as
// well, so that lanes are full: nobody reads them.
static void find_factors(const Block *x, const Group *g, LoopRef begin, LoopRef end) {
    LoopBuilder *b = x->b;
    const LoopRefs *names = &x->t->factors;
    LoopRef *factors =
        arena_array(b->arena, LoopRef, (uint32_t)g->size * names->len + 1);
    LoopRef count = loop_sub(b, end, begin);
    if (x->t->has_strip) load_strips(x, g, begin, count);
    Turn turn = turn_of(x, loop_add(b, begin, loop_open_turns(b)));
    recall(x, &turn);
    for (int r = 0; r < g->size; r++) {
        look_before(x, g, r, &turn);
        for (uint32_t f = 0; f < names->len; f++) {
            LoopRef factor = loop_copy_of(&turn.copier, names->data[f]);
            factors[(uint32_t)r * names->len + f] = factor;
            store_at(b, g->factors.data[f], factor, loop_int(b, 0),
                     place_of_factor(x, g, r, turn.number));
        }
    }
    if (x->t->has_strip) change_strips(x, g, factors, &turn, begin, count);
    loop_close_turns(b, count, ORDER_SEQUENTIAL);
}

// ---- elements -----------------------------------------------------------------------

// Emits the loop on turns that changes elements of the column, which become the
// results.
static void change_elements(const Block *x, const Group *g, LoopRef begin, LoopRef end,
                            LoopRef column, LoopRef *elements) {
    LoopBuilder *b = x->b;
    uint32_t count = (uint32_t)g->size;
    LoopType types[MOST_ROWS];
    LoopRef params[MOST_ROWS + 1], args[MOST_ROWS + 1];
    args[0] = loop_sub(b, end, begin);
    params[0] = loop_value(b, loop_scalar_type(SCALAR_I64), 0);
    for (uint32_t r = 0; r < count; r++) {
        args[r + 1] = elements[r];
        types[r] = loop_type(b, elements[r]);
        params[r + 1] = loop_value(b, types[r], 0);
    }
    loop_open(b, params, count + 1);
    Turn turn = turn_of(x, loop_add(b, begin, params[0]));
    recall(x, &turn);
    for (int r = 0; r < g->size; r++) {
        for (uint32_t f = 0; f < g->factors.len; f++)
            loop_copy_as(&turn.copier, x->t->factors.data[f],
                         load_at(b, g->factors.data[f], loop_int(b, 0),
                                 place_of_factor(x, g, r, turn.number)));
        elements[r] = change_cell(x, &turn, params[r + 1], g->rows[r], column);
    }
    LoopBody *body = loop_close(b, elements, count);
    LoopStm *fold = loop_emit(b, LOOP_FOR, args, count + 1, types, count);
    loop_set_bodies(b, fold, &body, 1);
    for (uint32_t r = 0; r < count; r++) elements[r] = fold->outs[r];
}

// Changes the rows of a group by turns from `begin` to before `end`, none of which is
// of them.
static void change_group(const Block *x, Group *g, LoopRef begin, LoopRef end) {
    LoopBuilder *b = x->b;
    LoopRef elements[MOST_ROWS];
    for (int r = 0; r < g->size; r++) g->begin[r] = loop_mul(b, x->t->high, g->rows[r]);
    find_factors(x, g, begin, end);
    LoopRef column = loop_open_turns(b);
    for (int r = 0; r < g->size; r++)
        elements[r] = load_at(b, x->t->matrix, g->begin[r], column);
    change_elements(x, g, begin, end, column, elements);
    for (int r = 0; r < g->size; r++)
        store_at(b, x->t->matrix, elements[r], g->begin[r], column);
    loop_close_turns(b, x->t->wide, (LoopOrder)x->t->cells->order);
}

// ---- blocks -------------------------------------------------------------------------

// Turns look at their rows, which the turns before them have changed.
static void look(const Block *x, Group *g) {
    LoopBuilder *b = x->b;
    Turn turn = turn_of(x, loop_open_turns(b));
    g->rows[0] = loop_add(b, x->first, turn.number);
    change_group(x, g, loop_int(b, 0), turn.number);
    for (uint32_t i = 0; i < x->t->at; i++) {
        const LoopStm *stm = x->t->body->stms.data[i];
        if (stm->op != LOOP_ALLOC) append_copy(x, &turn, stm);
    }
    for (uint32_t i = 0; i < x->kept.len; i++)
        store_at(b, x->kept.data[i], loop_copy_of(&turn.copier, x->t->kept.data[i]),
                 loop_int(b, 0), turn.number);
    loop_close_turns(b, x->count, ORDER_SEQUENTIAL);
}

// Their rows are changed by themselves, and by the turns after them.
static void change_own(const Block *x, Group *g) {
    LoopBuilder *b = x->b;
    const LoopBody *body = x->t->rows->bodies[0];
    Turn turn = turn_of(x, loop_open_turns(b));
    recall(x, &turn);
    g->rows[0] = loop_add(b, x->first, turn.number);
    loop_copy_as(&turn.copier, body->params[0], g->rows[0]);
    for (uint32_t i = 0; i < body->stms.len; i++)
        append_copy(x, &turn, body->stms.data[i]);
    change_group(x, g, loop_add(b, turn.number, loop_int(b, 1)), x->count);
    loop_close_turns(b, x->count, ORDER_SEQUENTIAL);
}

// The row of that number among those that are not of the block.
static LoopRef other_row(const Block *x, LoopRef number) {
    return loop_select(x->b, loop_lt(x->b, number, x->first), number,
                       loop_add(x->b, number, x->count));
}

// Changes the other rows from number `begin` on, so many at once; those left over begin
// with the result.
static LoopRef change_groups(const Block *x, LoopRef begin, int size) {
    LoopBuilder *b = x->b;
    Group g = {.size = size};
    bool is_parallel = x->t->rows->order == ORDER_PARALLEL;
    LoopRef high = loop_int(b, size), mark = 0;
    LoopRef rest = loop_sub(b, x->t->rows->args[0], loop_add(b, x->count, begin));
    LoopRef groups = loop_quot(b, rest, high);
    LoopRef first = loop_add(b, begin, loop_mul(b, loop_open_turns(b), high));
    if (!is_parallel)
        mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    for (int r = 0; r < size; r++)
        g.rows[r] = other_row(x, loop_add(b, first, loop_int(b, r)));
    alloc_group(x, &g);
    change_group(x, &g, loop_int(b, 0), x->count);
    if (!is_parallel) loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
    loop_close_turns(b, groups, is_parallel ? ORDER_PARALLEL : ORDER_SEQUENTIAL);
    return loop_add(b, begin, loop_mul(b, groups, high));
}

static void emit_block(const Turns *t, LoopRef first, LoopRef count) {
    LoopBuilder *b = t->b;
    Block x = {.t = t, .b = b, .first = first, .count = count};
    Group one = {.size = 1};
    LoopRef mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    x.arrays = alloc_for(b, &t->arrays, loop_mul(b, count, t->wide));
    x.kept = alloc_for(b, &t->kept, count);
    alloc_group(&x, &one);
    look(&x, &one);
    change_own(&x, &one);
    LoopRef rest = change_groups(&x, loop_int(b, 0), t->group);
    change_groups(&x, rest, 1);
    loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
}

// Emits blocks of all turns of which there are rows, if these have elements, and the
// other turns as they were.
static void emit(const Turns *t) {
    LoopBuilder *b = t->b;
    LoopRef n = t->loop->args[0], high = t->rows->args[0], zero = loop_int(b, 0);
    LoopRef one = loop_int(b, 1);
    LoopRef most =
        loop_select(b, loop_lt(b, zero, t->wide), loop_min(b, n, high), zero);
    LoopRef turns = loop_select(b, loop_lt(b, high, loop_int(b, MANY_ROWS)),
                                loop_int(b, FEW_TURNS), loop_int(b, TURNS));
    LoopRef round = loop_add(b, most, loop_sub(b, turns, one));
    LoopRef blocks = loop_quot(b, round, turns);
    LoopRef first = loop_mul(b, loop_open_turns(b), turns);
    emit_block(t, first, loop_min(b, turns, loop_sub(b, most, first)));
    loop_close_turns(b, blocks, ORDER_SEQUENTIAL);
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
    pass.group =
        machine_registers(machine_vector_bytes()) == 32 ? MOST_ROWS : MOST_ROWS / 2;
    pass.defs = arena_array(kernel->arena, const LoopStm *, kernel->values.len);
    note_defs(kernel->root, pass.defs);
    visit(&pass, kernel->root);
    loop_tidy(&b);
}
