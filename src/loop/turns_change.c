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

enum { PANEL_VECTORS = 2 };

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

void turns_store(LoopBuilder *b, LoopRef buffer, LoopRef x, LoopRef at) {
    store_at(b, buffer, x, loop_int(b, 0), at);
}

static ScalarType elem_type(const TurnsBlock *x) {
    return (ScalarType)loop_type(x->b, x->t->matrix).elem;
}

// Unsigned integers as long as elements.
static ScalarType bits_type(const TurnsBlock *x) {
    uint8_t bytes = scalar_info[elem_type(x)].bytes;
    return bytes == 2 ? SCALAR_U16 : bytes == 4 ? SCALAR_U32 : SCALAR_U64;
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
    LoopRef count = loop_mul(x->b, x->count, loop_int(x->b, g->size));
    LoopType type = loop_type(x->b, x->t->matrix);
    if (x->t->has_strip) g->strip = loop_emit1(x->b, LOOP_ALLOC, &count, 1, type);
    g->factors = turns_alloc(x->b, &x->t->factors, count);
    LoopType flags = loop_buffer_type(bits_type(x));
    if (x->busy != 0) g->flags = loop_emit1(x->b, LOOP_ALLOC, &x->wide, 1, flags);
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
        loop_copy_as(&turn->copier, x->t->kept.data[i],
                     load_at(x->b, x->kept.data[i], loop_int(x->b, 0), turn->number));
}

void turns_append(const TurnsBlock *x, TurnsCopy *turn, const LoopStm *stm) {
    LoopStm *copy = loop_copy_stm(&turn->copier, stm);
    move_places(x, copy, turn->number);
    // What goes on between is not shared out; nor does it pay to share one row.
    if (copy->order == ORDER_PARALLEL) copy->order = ORDER_INDEPENDENT;
    loop_append(x->b, copy);
}

// ---- panels -------------------------------------------------------------------------

void turns_alloc_panels(TurnsBlock *x) {
    const Turns *t = x->t;
    LoopBuilder *b = x->b;
    uint32_t bytes = machine_vector_bytes() * PANEL_VECTORS;
    uint32_t size = scalar_info[loop_type(b, t->matrix).elem].bytes;
    x->wide = loop_int(b, (bytes > 0 ? bytes : 64) / size);
    x->panels = loop_quot(b, t->wide, x->wide);
    LoopRef count = loop_mul(b, x->count, loop_mul(b, x->panels, x->wide));
    x->packed = turns_alloc(b, &t->arrays, count);
    if (t->pivot == NULL) return;
    LoopType flags = loop_buffer_type(SCALAR_BOOL);
    x->busy = loop_emit1(b, LOOP_ALLOC, &x->panels, 1, flags);
    x->part_busy = loop_emit1(b, LOOP_ALLOC, &x->panels, 1, flags);
}

void turns_clear(const TurnsBlock *x, LoopRef busy) {
    if (busy == 0) return;
    LoopRef panel = loop_open_turns(x->b);
    turns_store(x->b, busy, loop_const(x->b, SCALAR_BOOL, 0), panel);
    loop_close_turns(x->b, x->panels, ORDER_INDEPENDENT);
}

// The place of a panel's element in packed arrays.
typedef struct PanelPlace {
    LoopRef panel, lane;
} PanelPlace;

static LoopRef begin_of_panel(const TurnsBlock *x, LoopRef panel) {
    return loop_mul(x->b, panel, loop_mul(x->b, x->wide, x->count));
}

static LoopRef load_packed(const TurnsBlock *x, LoopRef buffer, LoopRef turn,
                           const PanelPlace *at) {
    LoopBuilder *b = x->b;
    LoopRef begin = begin_of_panel(x, at->panel), one = loop_int(b, 1);
    LoopRef args[] = {buffer, begin, x->wide, turn, one, at->lane};
    LoopType type = loop_scalar_type((ScalarType)loop_type(b, buffer).elem);
    return loop_emit1(b, LOOP_LOAD, args, 6, type);
}

// What the array of the turn is packed as, if it is one of the block; else 0.
static LoopRef packed_of(const TurnsBlock *x, LoopRef array) {
    for (uint32_t i = 0; i < x->packed.len; i++)
        if (x->t->arrays.data[i] == array) return x->packed.data[i];
    return 0;
}

// ---- what stays ---------------------------------------------------------------------

// Closes the loop on the lanes of a panel, and says whether something holds for any.
static LoopRef any_lane(const TurnsBlock *x, const TurnsGroup *g, LoopRef lane,
                        LoopRef holds) {
    LoopBuilder *b = x->b;
    LoopRef one = loop_const(b, bits_type(x), 1), zero = loop_const(b, bits_type(x), 0);
    turns_store(b, g->flags, loop_select(b, holds, one, zero), lane);
    loop_close_turns(b, x->wide, ORDER_INDEPENDENT);
    LoopType type = loop_scalar_type(bits_type(x));
    LoopRef params[] = {loop_value(b, loop_scalar_type(SCALAR_I64), 0),
                        loop_value(b, type, 0)};
    loop_open(b, params, 2);
    LoopRef bits[] = {params[1], load_at(b, g->flags, loop_int(b, 0), params[0])};
    LoopRef any = loop_scalar(b, OP_OR, bits_type(x), bits, 2);
    LoopBody *body = loop_close(b, &any, 1);
    LoopStm *fold = loop_emit(b, LOOP_FOR, (LoopRef[]){x->wide, zero}, 2, &type, 1);
    loop_set_bodies(b, fold, &body, 1);
    return loop_not(b, loop_eq(b, fold->outs[0], zero));
}

// Whether the turn has others than zeros in the panel.
static LoopRef has_pivots(const TurnsBlock *x, const TurnsGroup *g, LoopRef turn,
                          LoopRef panel) {
    PanelPlace at = {panel, loop_open_turns(x->b)};
    LoopRef packed = packed_of(x, x->t->pivot->args[0]);
    LoopRef zero = loop_const(x->b, elem_type(x), 0);
    LoopRef is_zero = loop_eq(x->b, load_packed(x, packed, turn, &at), zero);
    return any_lane(x, g, at.lane, loop_not(x->b, is_zero));
}

static void note_busy(const TurnsBlock *x, LoopRef busy, LoopRef panel, LoopRef more) {
    LoopRef before = load_at(x->b, busy, loop_int(x->b, 0), panel);
    turns_store(x->b, busy, loop_or(x->b, before, more), panel);
}

// Packs what the turn has made.
void turns_pack(const TurnsBlock *x, const TurnsGroup *g, LoopRef number) {
    LoopBuilder *b = x->b;
    LoopRef from = loop_mul(b, number, x->t->wide), one = loop_int(b, 1);
    LoopRef panel = loop_open_turns(b), lane = loop_open_turns(b);
    LoopRef begin = begin_of_panel(x, panel);
    LoopRef column = loop_add(b, loop_mul(b, panel, x->wide), lane);
    for (uint32_t i = 0; i < x->packed.len; i++) {
        LoopRef element = load_at(b, x->arrays.data[i], from, column);
        LoopRef args[] = {
            x->packed.data[i], element, begin, x->wide, number, one, lane};
        loop_emit(b, LOOP_STORE, args, 7, NULL, 0);
    }
    loop_close_turns(b, x->wide, ORDER_INDEPENDENT);
    if (x->busy != 0) {
        LoopRef is_busy = has_pivots(x, g, number, panel);
        note_busy(x, x->busy, panel, is_busy);
        note_busy(x, x->part_busy, panel, is_busy);
    }
    loop_close_turns(b, x->panels, ORDER_SEQUENTIAL);
}

// What the turn makes of an element of the row and column; `at`: as below.
static LoopRef change_cell(const TurnsBlock *x, TurnsCopy *turn, LoopRef element,
                           LoopRef row, LoopRef column, const PanelPlace *at) {
    const Turns *t = x->t;
    const LoopBody *body = t->cells->bodies[0];
    loop_copy_as(&turn->copier, t->rows->bodies[0]->params[0], row);
    loop_copy_as(&turn->copier, body->params[0], column);
    for (uint32_t i = 0; i < t->cell.len; i++) {
        const LoopStm *stm = t->cell.data[i];
        LoopRef packed =
            at != NULL && turns_is_along(t, stm) ? packed_of(x, stm->args[0]) : 0;
        if (stm->op == LOOP_LOAD && stm->args[0] == t->matrix)
            loop_copy_as(&turn->copier, stm->outs[0], element);
        else if (packed != 0)
            loop_copy_as(&turn->copier, stm->outs[0],
                         load_packed(x, packed, turn->number, at));
        else turns_append(x, turn, stm);
    }
    return loop_copy_of(&turn->copier, body->stms.data[body->stms.len - 1]->args[1]);
}

// ---- factors ------------------------------------------------------------------------

static LoopRef place_in_strip(const TurnsBlock *x, int row, LoopRef turn) {
    return loop_add(x->b, loop_mul(x->b, x->count, loop_int(x->b, row)), turn);
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
    for (int r = 0; r < g->size; r++)
        store_at(b, g->strip, load_at(b, x->t->matrix, g->begin[r], column),
                 loop_int(b, 0), place_in_strip(x, r, turn));
    loop_close_turns(b, count, ORDER_INDEPENDENT);
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
                         load_at(x->b, g->strip, loop_int(x->b, 0), at));
        } else {
            turns_append(x, turn, stm);
        }
    }
}

// Changes by a turn the elements that so many turns from `begin` look at.
static void change_strips(const TurnsBlock *x, const TurnsGroup *g,
                          const LoopRef *factors, TurnsCopy *turn, LoopRef begin,
                          LoopRef count) {
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
        LoopRef changed = change_cell(x, turn, element, g->rows[r], column, NULL);
        store_at(b, g->strip, changed, zero, at);
    }
    loop_close_turns(b, count, ORDER_INDEPENDENT);
}

// Finds what turns need of rows. Elements that no turn looks at any more are changed as
// well, so that lanes are full: nobody reads them.
static void find_factors(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                         LoopRef end) {
    LoopBuilder *b = x->b;
    const LoopRefs *names = &x->t->factors;
    LoopRef *factors =
        arena_array(b->arena, LoopRef, (uint32_t)g->size * names->len + 1);
    LoopRef count = loop_sub(b, end, begin);
    if (x->t->has_strip) load_strips(x, g, begin, count);
    TurnsCopy turn = turns_copy(x, loop_add(b, begin, loop_open_turns(b)));
    turns_recall(x, &turn);
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
// results; `at`: where it is in a panel, or NULL.
static void change_elements(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                            LoopRef end, LoopRef column, const PanelPlace *at,
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
                         load_at(b, g->factors.data[f], loop_int(b, 0),
                                 place_of_factor(x, g, r, turn.number)));
        elements[r] = change_cell(x, &turn, params[r + 1], g->rows[r], column, at);
    }
    LoopBody *body = loop_close(b, elements, count);
    LoopStm *fold = loop_emit(b, LOOP_FOR, args, count + 1, types, count);
    loop_set_bodies(b, fold, &body, 1);
    for (uint32_t r = 0; r < count; r++) elements[r] = fold->outs[r];
}

static void change_column(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                          LoopRef end, LoopRef column, const PanelPlace *at) {
    LoopRef elements[TURNS_MOST_ROWS];
    for (int r = 0; r < g->size; r++)
        elements[r] = load_at(x->b, x->t->matrix, g->begin[r], column);
    change_elements(x, g, begin, end, column, at, elements);
    for (int r = 0; r < g->size; r++)
        store_at(x->b, x->t->matrix, elements[r], g->begin[r], column);
}

static void change_panel(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                         LoopRef end, LoopRef panel) {
    PanelPlace at = {panel, loop_open_turns(x->b)};
    LoopRef column = loop_add(x->b, loop_mul(x->b, panel, x->wide), at.lane);
    change_column(x, g, begin, end, column, &at);
    loop_close_turns(x->b, x->wide, (LoopOrder)x->t->cells->order);
}

// Whether a number is not finite: its product with 0 is no zero.
static LoopRef is_wild(const TurnsBlock *x, LoopRef number) {
    LoopRef zero = loop_const(x->b, elem_type(x), 0), args[] = {number, zero};
    LoopRef product = loop_scalar(x->b, OP_MUL, elem_type(x), args, 2);
    return loop_not(x->b, loop_eq(x->b, product, zero));
}

// Whether a scale of the rows is not finite: each lane looks at some.
static LoopRef has_wild_scale(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                              LoopRef end) {
    LoopBuilder *b = x->b;
    LoopType types[] = {loop_scalar_type(SCALAR_I64), loop_scalar_type(SCALAR_BOOL)};
    LoopRef size = loop_int(b, g->size), scales = 0;
    LoopRef count = loop_mul(b, loop_sub(b, end, begin), size);
    for (uint32_t f = 0; f < g->factors.len; f++)
        if (x->t->factors.data[f] == x->t->scale) scales = g->factors.data[f];
    LoopRef lane = loop_open_turns(b);
    LoopRef left =
        loop_sub(b, loop_add(b, count, loop_sub(b, x->wide, loop_int(b, 1))), lane);
    LoopRef from = loop_add(b, loop_mul(b, begin, size), lane);
    LoopRef args[] = {loop_quot(b, left, x->wide), loop_const(b, SCALAR_BOOL, 0)};
    LoopRef params[] = {loop_value(b, types[0], 0), loop_value(b, types[1], 0)};
    loop_open(b, params, 2);
    LoopRef scale = load_at(b, scales, loop_mul(b, params[0], x->wide), from);
    LoopRef any = loop_or(b, params[1], is_wild(x, scale));
    LoopBody *body = loop_close(b, &any, 1);
    LoopStm *fold = loop_emit(b, LOOP_FOR, args, 2, &types[1], 1);
    loop_set_bodies(b, fold, &body, 1);
    return any_lane(x, g, lane, fold->outs[0]);
}

// Whether an element of the panel is -0, which becomes 0 if that is added.
static LoopRef has_minus_zero(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel) {
    LoopBuilder *b = x->b;
    unsigned sign = 8u * scalar_info[elem_type(x)].bytes - 1;
    LoopRef minus = loop_const(b, bits_type(x), (uint64_t)1 << sign);
    LoopRef begin = loop_mul(b, panel, x->wide), any = loop_const(b, SCALAR_BOOL, 0);
    LoopRef lane = loop_open_turns(b), column = loop_add(b, begin, lane);
    for (int r = 0; r < g->size; r++) {
        LoopRef element = load_at(b, x->t->matrix, g->begin[r], column);
        LoopRef bits = loop_scalar(b, OP_TO_BITS, bits_type(x), &element, 1);
        any = loop_or(b, any, loop_eq(b, bits, minus));
    }
    return any_lane(x, g, lane, any);
}

// Changes a panel of the rows if anything changes: x is fma(f, 0, x) if f is finite and
// x not -0.
static void change_busy(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                        LoopRef end, LoopRef panel, LoopRef is_busy) {
    LoopBuilder *b = x->b;
    LoopType type = loop_scalar_type(SCALAR_BOOL);
    LoopRef yes = loop_const(b, SCALAR_BOOL, 1);
    LoopBody *arms[2];
    loop_open(b, NULL, 0);
    arms[0] = loop_close(b, &yes, 1);
    loop_open(b, NULL, 0);
    LoopRef has = has_minus_zero(x, g, panel);
    arms[1] = loop_close(b, &has, 1);
    LoopStm *ask = loop_emit(b, LOOP_IF, &is_busy, 1, &type, 1);
    loop_set_bodies(b, ask, arms, 2);
    loop_open(b, NULL, 0);
    change_panel(x, g, begin, end, panel);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, ask->outs, 1, NULL, 0), arms, 2);
}

void turns_change(const TurnsBlock *x, TurnsGroup *g, LoopRef begin, LoopRef end,
                  LoopRef busy) {
    LoopBuilder *b = x->b;
    LoopOrder order = (LoopOrder)x->t->cells->order;
    for (int r = 0; r < g->size; r++) g->begin[r] = loop_mul(b, x->t->high, g->rows[r]);
    find_factors(x, g, begin, end);
    LoopRef wild = busy != 0 ? has_wild_scale(x, g, begin, end) : 0;
    LoopRef panel = loop_open_turns(b);
    if (busy == 0) change_panel(x, g, begin, end, panel);
    else
        change_busy(x, g, begin, end, panel,
                    loop_or(b, wild, load_at(b, busy, loop_int(b, 0), panel)));
    loop_close_turns(b, x->panels, ORDER_SEQUENTIAL);
    LoopRef done = loop_mul(b, x->panels, x->wide);
    LoopRef rest = loop_sub(b, x->t->wide, done);
    LoopRef column = loop_add(b, done, loop_open_turns(b));
    change_column(x, g, begin, end, column, NULL);
    loop_close_turns(b, rest, order);
}
