// SPDX-License-Identifier: Apache-2.0
//
// Rows that turns of a block change (turns.h). What a turn needs of a row, such as its
// element in the column of the pivot, is found first, for which only the elements are
// changed that later turns look at. Then each element is loaded, changed by one turn
// after the other while it is in a register, and stored; several rows at once share
// what turns have seen, as in a product of matrices. For that arrays which turns have
// made are packed by panels, a few vectors wide: rows whose distance is a power of two
// want the same few lines of the near cache.
#include "loop/machine.h"
#include "loop/turns.h"

enum {
    PANEL_VECTORS = 2,
    STRIP_STEP = 16 // elements of a strip whose turns are looked at together
};

// ---- memory -------------------------------------------------------------------------

LoopRef turns_load(LoopBuilder *b, LoopRef buffer, LoopRef begin, LoopRef at) {
    LoopType type = loop_scalar_type((ScalarType)loop_type(b, buffer).elem);
    return loop_emit1(b, LOOP_LOAD, (LoopRef[]){buffer, begin, loop_int(b, 1), at}, 4,
                      type);
}

static void store_at(LoopBuilder *b, LoopRef buffer, LoopRef x, LoopRef begin,
                     LoopRef at) {
    LoopRef args[] = {buffer, x, begin, loop_int(b, 1), at};
    loop_emit(b, LOOP_STORE, args, 5, NULL, 0);
}

void turns_store(LoopBuilder *b, LoopRef buffer, LoopRef x, LoopRef at) {
    store_at(b, buffer, x, loop_int(b, 0), at);
}

void turns_clear(LoopBuilder *b, LoopRef buffer, LoopRef count) {
    LoopRef at = loop_open_turns(b);
    ScalarType elem = (ScalarType)loop_type(b, buffer).elem;
    turns_store(b, buffer, loop_const(b, elem, 0), at);
    loop_close_turns(b, count, ORDER_INDEPENDENT);
}

ScalarType turns_elem(const TurnsBlock *x) {
    return (ScalarType)loop_type(x->b, x->t->matrix).elem;
}

// Memory for so many elements of the type of each value.
LoopRefs turns_alloc(LoopBuilder *b, const LoopRefs *values, LoopRef count) {
    LoopRefs buffers = {0};
    for (uint32_t i = 0; i < values->len; i++) {
        LoopType type =
            loop_buffer_type((ScalarType)loop_type(b, values->data[i]).elem);
        vec_push(b->arena, &buffers, loop_emit1(b, LOOP_ALLOC, &count, 1, type));
    }
    return buffers;
}

void turns_alloc_group(const TurnsBlock *x, TurnsGroup *g) {
    LoopRef size = loop_int(x->b, g->size), count = loop_mul(x->b, x->count, size);
    LoopRef strips = loop_mul(x->b, x->near_wide, size);
    LoopType type = loop_type(x->b, x->t->matrix);
    if (x->t->has_strip) g->strip = loop_emit1(x->b, LOOP_ALLOC, &strips, 1, type);
    // Some zeros may stand behind those that there are (turns_idle.c).
    g->factors = turns_alloc(x->b, &x->t->factors, loop_add(x->b, count, x->wide));
    turns_alloc_lanes(x, g);
}

// ---- copies -------------------------------------------------------------------------

// Makes places in arrays of a turn those in the memory of all.
static void move_places(const TurnsBlock *x, LoopStm *copy, LoopRef turn) {
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

TurnsCopy turns_copy(const TurnsBlock *x, LoopRef number) {
    TurnsCopy turn = {number, loop_copier(x->b)};
    loop_copy_as(&turn.copier, x->t->body->params[0], loop_add(x->b, x->first, number));
    for (uint32_t i = 0; i < x->arrays.len; i++)
        loop_copy_as(&turn.copier, x->t->arrays.data[i], x->arrays.data[i]);
    return turn;
}

// Has what was found when it looked.
void turns_recall(const TurnsBlock *x, TurnsCopy *turn) {
    for (uint32_t i = 0; i < x->kept.len; i++)
        loop_copy_as(
            &turn->copier, x->t->kept.data[i],
            turns_load(x->b, x->kept.data[i], loop_int(x->b, 0), turn->number));
}

void turns_append(const TurnsBlock *x, TurnsCopy *turn, const LoopStm *stm) {
    LoopStm *copy = loop_copy_stm(&turn->copier, stm);
    move_places(x, copy, turn->number);
    // What goes on between is not shared out; nor does it pay to share one row.
    if (copy->order == ORDER_PARALLEL) copy->order = ORDER_INDEPENDENT;
    loop_append(x->b, copy);
}

// ---- panels -------------------------------------------------------------------------

void turns_measure_panels(TurnsBlock *x) {
    uint32_t bytes = machine_vector_bytes() * PANEL_VECTORS;
    uint32_t size = scalar_info[turns_elem(x)].bytes;
    x->wide = loop_int(x->b, (bytes > 0 ? bytes : 64) / size);
    x->panels = loop_quot(x->b, x->t->wide, x->wide);
}

// Elements from a panel to the next one: a turn more than there are, since a turn
// stores to all panels, which must not all want the same few lines of the near cache.
static LoopRef size_of_panel(const TurnsBlock *x) {
    return loop_mul(x->b, x->wide, loop_add(x->b, x->count, loop_int(x->b, 1)));
}

void turns_alloc_panels(TurnsBlock *x) {
    LoopBuilder *b = x->b;
    LoopRef count = loop_mul(b, x->panels, size_of_panel(x));
    x->packed = turns_alloc(b, &x->t->arrays, count);
    if (!x->t->has_strip) return;
    x->near_count = loop_min(b, x->count, loop_sub(b, x->t->wide, x->first));
    x->near_wide = loop_add(b, x->count, loop_int(b, STRIP_STEP));
    LoopRef all = loop_mul(b, x->count, x->near_wide);
    x->near = turns_alloc(b, &x->t->arrays, all);
    for (uint32_t i = 0; i < x->near.len; i++) turns_clear(b, x->near.data[i], all);
}

static LoopRef begin_of_panel(const TurnsBlock *x, LoopRef panel) {
    return loop_mul(x->b, panel, size_of_panel(x));
}

LoopRef turns_load_packed(const TurnsBlock *x, LoopRef buffer, LoopRef turn,
                          const TurnsPlace *at) {
    LoopBuilder *b = x->b;
    LoopRef begin = begin_of_panel(x, at->panel), one = loop_int(b, 1);
    LoopRef args[] = {buffer, begin, x->wide, turn, one, at->lane};
    LoopType type = loop_scalar_type((ScalarType)loop_type(b, buffer).elem);
    return loop_emit1(b, LOOP_LOAD, args, 6, type);
}

static uint32_t number_of(const TurnsBlock *x, LoopRef array) {
    uint32_t i = 0;
    while (x->t->arrays.data[i] != array) i++;
    return i;
}

LoopRef turns_load_near(const TurnsBlock *x, LoopRef array, LoopRef turn,
                        LoopRef column) {
    LoopRef near = x->near.data[number_of(x, array)];
    return turns_load(x->b, near, loop_mul(x->b, turn, x->near_wide), column);
}

// What the array of the turn is packed as.
LoopRef turns_packed(const TurnsBlock *x, LoopRef array) {
    return x->packed.data[number_of(x, array)];
}

static void keep_near(const TurnsBlock *x, LoopRef number) {
    LoopBuilder *b = x->b;
    LoopRef from = loop_add(b, loop_mul(b, number, x->t->wide), x->first);
    LoopRef to = loop_mul(b, number, x->near_wide), column = loop_open_turns(b);
    for (uint32_t i = 0; i < x->near.len; i++)
        store_at(b, x->near.data[i], turns_load(b, x->arrays.data[i], from, column), to,
                 column);
    loop_close_turns(b, x->near_count, ORDER_INDEPENDENT);
}

// Packs what the turn has made.
void turns_pack(const TurnsBlock *x, const TurnsGroup *g, LoopRef number) {
    LoopBuilder *b = x->b;
    LoopRef from = loop_mul(b, number, x->t->wide), one = loop_int(b, 1);
    LoopRef panel = loop_open_turns(b), lane = loop_open_turns(b);
    LoopRef begin = begin_of_panel(x, panel);
    LoopRef column = loop_add(b, loop_mul(b, panel, x->wide), lane);
    for (uint32_t i = 0; i < x->packed.len; i++) {
        LoopRef element = turns_load(b, x->arrays.data[i], from, column);
        LoopRef args[] = {
            x->packed.data[i], element, begin, x->wide, number, one, lane};
        loop_emit(b, LOOP_STORE, args, 7, NULL, 0);
    }
    loop_close_turns(b, x->wide, ORDER_INDEPENDENT);
    turns_note_pivots(x, g, number, panel);
    loop_close_turns(b, x->panels, ORDER_SEQUENTIAL);
    if (x->t->has_strip) keep_near(x, number);
    turns_note_clean(x, g, number);
}

static LoopRef load_along(const TurnsBlock *x, LoopRef array, LoopRef turn,
                          const TurnsPlace *at) {
    if (at->panel == 0) return turns_load_near(x, array, turn, at->lane);
    return turns_load_packed(x, turns_packed(x, array), turn, at);
}

// What the turn makes of an element of the row and column; `at`: as below.
static LoopRef change_cell(const TurnsBlock *x, TurnsCopy *turn, LoopRef element,
                           LoopRef row, LoopRef column, const TurnsPlace *at) {
    const Turns *t = x->t;
    const LoopBody *body = t->cells->bodies[0];
    loop_copy_as(&turn->copier, t->rows->bodies[0]->params[0], row);
    loop_copy_as(&turn->copier, body->params[0], column);
    for (uint32_t i = 0; i < t->cell.len; i++) {
        const LoopStm *stm = t->cell.data[i];
        if (stm->op == LOOP_LOAD && stm->args[0] == t->matrix)
            loop_copy_as(&turn->copier, stm->outs[0], element);
        else if (at != NULL && turns_is_along(t, stm))
            loop_copy_as(&turn->copier, stm->outs[0],
                         load_along(x, stm->args[0], turn->number, at));
        else turns_append(x, turn, stm);
    }
    return loop_copy_of(&turn->copier, body->stms.data[body->stms.len - 1]->args[1]);
}

// ---- strips -------------------------------------------------------------------------

static LoopRef place_in_strip(const TurnsBlock *x, int row, LoopRef turn) {
    return loop_add(x->b, loop_mul(x->b, x->near_wide, loop_int(x->b, row)), turn);
}

static LoopRef place_of_factor(const TurnsBlock *x, const TurnsGroup *g, int row,
                               LoopRef turn) {
    LoopRef size = loop_int(x->b, g->size);
    return loop_add(x->b, loop_mul(x->b, turn, size), loop_int(x->b, row));
}

static void load_strips(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                        LoopRef count) {
    LoopBuilder *b = x->b;
    LoopRef turn = loop_add(b, begin, loop_open_turns(b));
    LoopRef column = loop_add(b, x->first, turn);
    for (int r = 0; r < g->size; r++) {
        LoopRef place = place_in_strip(x, r, turn);
        LoopRef factor = turns_load(b, x->t->matrix, g->begin[r], column);
        store_at(b, g->strip, factor, loop_int(b, 0), place);
    }
    loop_close_turns(b, count, ORDER_INDEPENDENT);
    // What is behind fills the lanes of the last step.
    LoopRef zero = loop_const(b, turns_elem(x), 0), end = loop_add(b, begin, count);
    LoopRef behind = loop_add(b, end, loop_open_turns(b));
    for (int r = 0; r < g->size; r++)
        turns_store(b, g->strip, zero, place_in_strip(x, r, behind));
    loop_close_turns(b, loop_int(b, STRIP_STEP), ORDER_INDEPENDENT);
}

// What the turn does before the elements of a row.
static void look_before(const TurnsBlock *x, const TurnsGroup *g, int row,
                        TurnsCopy *turn) {
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
                         turns_load(x->b, g->strip, loop_int(x->b, 0), at));
        } else {
            turns_append(x, turn, stm);
        }
    }
}

// ---- elements -----------------------------------------------------------------------

// Emits the loop on turns that changes elements of the column, which become the
// results; `at`: where it is in a panel, or NULL.
static void change_elements(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                            LoopRef end, LoopRef column, const TurnsPlace *at,
                            LoopRef *elements) {
    LoopBuilder *b = x->b;
    uint32_t count = (uint32_t)g->size;
    LoopType types[TURNS_MOST_ROWS];
    LoopRef params[TURNS_MOST_ROWS + 1], args[TURNS_MOST_ROWS + 1];
    args[0] = loop_sub(b, end, begin);
    params[0] = loop_value(b, loop_scalar_type(SCALAR_I64), 0);
    for (uint32_t r = 0; r < count; r++) {
        args[r + 1] = elements[r];
        types[r] = loop_type(b, elements[r]);
        params[r + 1] = loop_value(b, types[r], 0);
    }
    loop_open(b, params, count + 1);
    TurnsCopy turn = turns_copy(x, loop_add(b, begin, params[0]));
    turns_recall(x, &turn);
    for (int r = 0; r < g->size; r++) {
        for (uint32_t f = 0; f < g->factors.len; f++)
            loop_copy_as(&turn.copier, x->t->factors.data[f],
                         turns_load(b, g->factors.data[f], loop_int(b, 0),
                                    place_of_factor(x, g, r, turn.number)));
        elements[r] = change_cell(x, &turn, params[r + 1], g->rows[r], column, at);
    }
    LoopBody *body = loop_close(b, elements, count);
    LoopStm *fold = loop_emit(b, LOOP_FOR, args, count + 1, types, count);
    loop_set_bodies(b, fold, &body, 1);
    for (uint32_t r = 0; r < count; r++) elements[r] = fold->outs[r];
}

// ---- factors ------------------------------------------------------------------------

// The column of the matrix that is that one of the block. Behind the block there is
// none: what is done there fills lanes, and nobody reads it.
static LoopRef near_column(const TurnsBlock *x, LoopRef column) {
    LoopRef last = loop_sub(x->b, x->near_count, loop_int(x->b, 1));
    return loop_add(x->b, x->first, loop_min(x->b, column, last));
}

// Loads what strips have in that column of the block, or stores it.
static void load_step(const TurnsBlock *x, const TurnsGroup *g, LoopRef column,
                      LoopRef *elements) {
    for (int r = 0; r < g->size; r++)
        elements[r] =
            turns_load(x->b, g->strip, loop_int(x->b, 0), place_in_strip(x, r, column));
}

static void store_step(const TurnsBlock *x, const TurnsGroup *g, LoopRef column,
                       const LoopRef *elements) {
    for (int r = 0; r < g->size; r++)
        turns_store(x->b, g->strip, elements[r], place_in_strip(x, r, column));
}

// Changes a step of the strips by turns from `begin` to before it.
static void catch_up(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                     LoopRef step) {
    LoopRef elements[TURNS_MOST_ROWS];
    LoopRef column = loop_add(x->b, step, loop_open_turns(x->b));
    load_step(x, g, column, elements);
    change_elements(x, g, begin, step, near_column(x, column), &(TurnsPlace){0, column},
                    elements);
    store_step(x, g, column, elements);
    loop_close_turns(x->b, loop_int(x->b, STRIP_STEP), ORDER_INDEPENDENT);
}

// Changes a step of the strips by a turn of it.
static void change_step(const TurnsBlock *x, const TurnsGroup *g,
                        const LoopRef *factors, TurnsCopy *turn, LoopRef step) {
    const LoopRefs *names = &x->t->factors;
    LoopRef elements[TURNS_MOST_ROWS];
    LoopRef column = loop_add(x->b, step, loop_open_turns(x->b));
    TurnsPlace at = {0, column};
    load_step(x, g, column, elements);
    for (int r = 0; r < g->size; r++) {
        for (uint32_t f = 0; f < names->len; f++)
            loop_copy_as(&turn->copier, names->data[f],
                         factors[(uint32_t)r * names->len + f]);
        elements[r] =
            change_cell(x, turn, elements[r], g->rows[r], near_column(x, column), &at);
    }
    store_step(x, g, column, elements);
    loop_close_turns(x->b, loop_int(x->b, STRIP_STEP), ORDER_INDEPENDENT);
}

// Finds what turns from `begin` on need of rows; `step`: of the strips, if there are
// any.
static void find_step(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                      LoopRef end) {
    LoopBuilder *b = x->b;
    const LoopRefs *names = &x->t->factors;
    LoopRef *factors =
        arena_array(b->arena, LoopRef, (uint32_t)g->size * names->len + 1);
    LoopRef count = loop_sub(b, end, begin);
    TurnsCopy turn = turns_copy(x, loop_add(b, begin, loop_open_turns(b)));
    turns_recall(x, &turn);
    for (int r = 0; r < g->size; r++) {
        look_before(x, g, r, &turn);
        for (uint32_t f = 0; f < names->len; f++) {
            LoopRef factor = loop_copy_of(&turn.copier, names->data[f]);
            factors[(uint32_t)r * names->len + f] = factor;
            turns_store(b, g->factors.data[f], factor,
                        place_of_factor(x, g, r, turn.number));
        }
    }
    if (x->t->has_strip) change_step(x, g, factors, &turn, begin);
    loop_close_turns(b, count, ORDER_SEQUENTIAL);
}

static void find_factors(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                         LoopRef end) {
    LoopBuilder *b = x->b;
    if (!x->t->has_strip) {
        find_step(x, g, begin, end);
        return;
    }
    LoopRef count = loop_sub(b, end, begin), high = loop_int(b, STRIP_STEP);
    load_strips(x, g, begin, count);
    LoopRef round = loop_add(b, count, loop_int(b, STRIP_STEP - 1));
    LoopRef steps = loop_quot(b, round, high);
    LoopRef step = loop_add(b, begin, loop_mul(b, loop_open_turns(b), high));
    catch_up(x, g, begin, step);
    find_step(x, g, step, loop_min(b, loop_add(b, step, high), end));
    loop_close_turns(b, steps, ORDER_SEQUENTIAL);
}

// ---- panels of rows -----------------------------------------------------------------

static void change_column(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                          LoopRef end, LoopRef column, const TurnsPlace *at) {
    LoopRef elements[TURNS_MOST_ROWS];
    for (int r = 0; r < g->size; r++)
        elements[r] = turns_load(x->b, x->t->matrix, g->begin[r], column);
    change_elements(x, g, begin, end, column, at, elements);
    for (int r = 0; r < g->size; r++)
        store_at(x->b, x->t->matrix, elements[r], g->begin[r], column);
}

static void change_panel(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                         LoopRef end, LoopRef panel) {
    TurnsPlace at = {panel, loop_open_turns(x->b)};
    LoopRef column = loop_add(x->b, loop_mul(x->b, panel, x->wide), at.lane);
    change_column(x, g, begin, end, column, &at);
    loop_close_turns(x->b, x->wide, (LoopOrder)x->t->cells->order);
}

// Changes a panel of the rows if a turn changes anything there.
static void change_busy(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                        LoopRef end, LoopRef panel, LoopRef is_busy) {
    LoopBuilder *b = x->b;
    LoopBody *arms[2];
    LoopRef changes = turns_is_changed(x, g, panel, is_busy);
    loop_open(b, NULL, 0);
    change_panel(x, g, begin, end, panel);
    turns_note_change(x, g, panel);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &changes, 1, NULL, 0), arms, 2);
}

// Each element of the panel becomes 0.
static void clear_panel(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel) {
    LoopBuilder *b = x->b;
    LoopRef zero = loop_const(b, turns_elem(x), 0), lane = loop_open_turns(b);
    LoopRef column = loop_add(b, loop_mul(b, panel, x->wide), lane);
    for (int r = 0; r < g->size; r++)
        store_at(b, x->t->matrix, zero, g->begin[r], column);
    loop_close_turns(b, x->wide, ORDER_INDEPENDENT);
    turns_note_zeros(x, g, panel);
}

// The same, or clears it where they all do.
static void change_or_clear(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                            LoopRef end, LoopRef panel, LoopRef is_busy, LoopRef wild) {
    LoopBuilder *b = x->b;
    LoopBody *arms[2];
    LoopRef clears = turns_is_cleared(x, begin, end, wild, panel);
    loop_open(b, NULL, 0);
    clear_panel(x, g, panel);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    change_busy(x, g, begin, end, panel, is_busy);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &clears, 1, NULL, 0), arms, 2);
}

void turns_change(const TurnsBlock *x, TurnsGroup *g, LoopRef begin, LoopRef end,
                  LoopRef busy) {
    LoopBuilder *b = x->b;
    LoopOrder order = (LoopOrder)x->t->cells->order;
    for (int r = 0; r < g->size; r++) g->begin[r] = loop_mul(b, x->t->high, g->rows[r]);
    turns_find_flags(x, g);
    find_factors(x, g, begin, end);
    LoopRef wild = busy != 0 ? turns_has_wild(x, g, begin, end) : 0;
    LoopRef panel = loop_open_turns(b);
    LoopRef is_busy = 0;
    if (busy != 0)
        is_busy = loop_or(b, wild, turns_load(b, busy, loop_int(b, 0), panel));
    if (busy == 0) change_panel(x, g, begin, end, panel);
    else if (x->clean == 0 || g->size == 1)
        change_busy(x, g, begin, end, panel, is_busy);
    else change_or_clear(x, g, begin, end, panel, is_busy, wild);
    loop_close_turns(b, x->panels, ORDER_SEQUENTIAL);
    LoopRef done = loop_mul(b, x->panels, x->wide);
    LoopRef rest = loop_sub(b, x->t->wide, done);
    LoopRef column = loop_add(b, done, loop_open_turns(b));
    change_column(x, g, begin, end, column, NULL);
    loop_close_turns(b, rest, order);
}
