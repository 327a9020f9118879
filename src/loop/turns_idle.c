// SPDX-License-Identifier: Apache-2.0
//
// Panels that turns of a block leave as they are (turns.h). A turn adds to each element
// a multiple of its pivot, so that where all pivots of some turns are zeros nothing
// changes, if the multiples are of finite numbers and no element is -0. Who has looked
// for -0 notes so, by row and panel, and looks again once that has changed.
#include "loop/turns.h"

// Unsigned integers as long as elements.
static ScalarType bits_type(const TurnsBlock *x) {
    uint8_t bytes = scalar_info[turns_elem(x)].bytes;
    return bytes == 2 ? SCALAR_U16 : bytes == 4 ? SCALAR_U32 : SCALAR_U64;
}

static LoopRef load_flag(LoopBuilder *b, LoopRef flags, LoopRef at) {
    return turns_load(b, flags, loop_int(b, 0), at);
}

// ---- memory -------------------------------------------------------------------------

static LoopRef alloc_flags(LoopBuilder *b, LoopRef count) {
    return loop_emit1(b, LOOP_ALLOC, &count, 1, loop_buffer_type(SCALAR_BOOL));
}

void turns_alloc_plain(TurnsBlock *x) {
    if (x->t->pivot == NULL) return;
    LoopRef count = loop_mul(x->b, x->t->rows->args[0], x->panels);
    x->plain = alloc_flags(x->b, count);
    turns_clear(x->b, x->plain, count);
}

void turns_alloc_busy(TurnsBlock *x) {
    if (x->t->pivot == NULL) return;
    x->busy = alloc_flags(x->b, x->panels);
    x->part_busy = alloc_flags(x->b, x->panels);
    turns_clear(x->b, x->busy, x->panels);
    if (!x->t->takes_own) return;
    x->clean = alloc_flags(x->b, loop_int(x->b, 1));
    turns_store(x->b, x->clean, loop_const(x->b, SCALAR_BOOL, 1), loop_int(x->b, 0));
}

void turns_begin_part(const TurnsBlock *x) {
    if (x->busy != 0) turns_clear(x->b, x->part_busy, x->panels);
}

void turns_alloc_lanes(const TurnsBlock *x, TurnsGroup *g) {
    LoopRef one = loop_int(x->b, 1);
    if (x->busy != 0)
        g->found = loop_emit1(x->b, LOOP_ALLOC, &one, 1, loop_buffer_type(SCALAR_I64));
}

// ---- pivots -------------------------------------------------------------------------

// Opens a loop on lanes, as those of a panel, which are counted from 0.
static LoopRef open_lanes(const TurnsBlock *x, const TurnsGroup *g) {
    turns_store(x->b, g->found, loop_int(x->b, 0), loop_int(x->b, 0));
    return loop_open_turns(x->b);
}

// Closes it, and says whether something holds for any of so many.
static LoopRef any_of(const TurnsBlock *x, const TurnsGroup *g, LoopRef holds,
                      LoopRef count) {
    LoopBuilder *b = x->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    LoopBody *arms[2];
    loop_open(b, NULL, 0);
    LoopRef args[] = {g->found, one, zero};
    loop_emit(b, LOOP_ATOMIC, args, 3, NULL, 0)->scalar = OP_ADD;
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &holds, 1, NULL, 0), arms, 2);
    loop_close_turns(b, count, ORDER_INDEPENDENT);
    return loop_lt(b, zero, turns_load(b, g->found, zero, zero));
}

static LoopRef any_lane(const TurnsBlock *x, const TurnsGroup *g, LoopRef holds) {
    return any_of(x, g, holds, x->wide);
}

// Whether the turn has others than zeros in the panel.
static LoopRef has_pivots(const TurnsBlock *x, const TurnsGroup *g, LoopRef turn,
                          LoopRef panel) {
    TurnsPlace at = {panel, open_lanes(x, g)};
    LoopRef packed = turns_packed(x, x->t->pivot->args[0]);
    LoopRef zero = loop_const(x->b, turns_elem(x), 0);
    LoopRef is_zero = loop_eq(x->b, turns_load_packed(x, packed, turn, &at), zero);
    return any_lane(x, g, loop_not(x->b, is_zero));
}

static void note_busy(const TurnsBlock *x, LoopRef busy, LoopRef panel, LoopRef more) {
    LoopRef before = load_flag(x->b, busy, panel);
    turns_store(x->b, busy, loop_or(x->b, before, more), panel);
}

void turns_note_pivots(const TurnsBlock *x, const TurnsGroup *g, LoopRef turn,
                       LoopRef panel) {
    if (x->busy == 0) return;
    LoopBuilder *b = x->b;
    LoopRef is_known = load_flag(b, x->part_busy, panel);
    LoopBody *arms[2];
    loop_open(b, NULL, 0);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    LoopRef is_busy = has_pivots(x, g, turn, panel);
    note_busy(x, x->busy, panel, is_busy);
    note_busy(x, x->part_busy, panel, is_busy);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &is_known, 1, NULL, 0), arms, 2);
}

// ---- columns that become 0 ----------------------------------------------------------

// A turn that adds to each row -x times its pivots, x being the element in its column,
// makes that x - x if its pivot there is 1: 0 if x is finite. Later turns whose pivots
// there are zeros leave it so. That is what elimination is for.

void turns_note_clean(const TurnsBlock *x, const TurnsGroup *g, LoopRef turn) {
    if (x->clean == 0) return;
    LoopBuilder *b = x->b;
    LoopRef array = x->t->pivot->args[0], zero = loop_const(b, turns_elem(x), 0);
    LoopRef number = loop_int(b, 1);
    LoopRef one = loop_scalar(b, OP_CONV, turns_elem(x), &number, 1);
    LoopRef is_one = loop_eq(b, turns_load_near(x, array, turn, turn), one);
    LoopRef before = open_lanes(x, g);
    LoopRef is_zero = loop_eq(b, turns_load_near(x, array, turn, before), zero);
    LoopRef others = any_of(x, g, loop_not(b, is_zero), turn);
    LoopRef so_far = load_flag(b, x->clean, loop_int(b, 0));
    LoopRef is_clean = loop_and(b, is_one, loop_not(b, others));
    LoopRef still = loop_and(b, so_far, is_clean);
    turns_store(b, x->clean, still, loop_int(b, 0));
}

LoopRef turns_is_cleared(const TurnsBlock *x, LoopRef begin, LoopRef end, LoopRef wild,
                         LoopRef panel) {
    LoopBuilder *b = x->b;
    LoopRef first = loop_add(b, x->first, begin),
            next = loop_add(b, panel, loop_int(b, 1));
    LoopRef starts = loop_le(b, first, loop_mul(b, panel, x->wide));
    LoopRef behind = loop_mul(b, next, x->wide), last = loop_add(b, x->first, end);
    LoopRef is_within = loop_and(b, starts, loop_le(b, behind, last));
    LoopRef is_clean = load_flag(b, x->clean, loop_int(b, 0));
    return loop_and(b, loop_and(b, is_clean, loop_not(b, wild)), is_within);
}

// ---- rows ---------------------------------------------------------------------------

// Zeros behind the scales of turns before `end`, so that all lanes look at as many.
static void clear_behind(const TurnsBlock *x, LoopRef scales, LoopRef end) {
    LoopRef zero = loop_const(x->b, turns_elem(x), 0);
    LoopRef at = loop_add(x->b, end, loop_open_turns(x->b));
    turns_store(x->b, scales, zero, at);
    loop_close_turns(x->b, x->wide, ORDER_INDEPENDENT);
}

// Each lane looks at some: the sum of their products with 0 is 0, unless a number is
// not finite.
LoopRef turns_has_wild(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                       LoopRef end) {
    LoopBuilder *b = x->b;
    LoopType type = loop_scalar_type(turns_elem(x));
    LoopRef size = loop_int(b, g->size), scales = 0;
    LoopRef count = loop_mul(b, loop_sub(b, end, begin), size);
    for (uint32_t f = 0; f < g->factors.len; f++)
        if (x->t->factors.data[f] == x->t->scale) scales = g->factors.data[f];
    clear_behind(x, scales, loop_mul(b, end, size));
    LoopRef round = loop_add(b, count, loop_sub(b, x->wide, loop_int(b, 1)));
    LoopRef looks = loop_quot(b, round, x->wide);
    LoopRef lane = open_lanes(x, g);
    LoopRef from = loop_add(b, loop_mul(b, begin, size), lane);
    LoopRef zero = loop_const(b, turns_elem(x), 0), args[] = {looks, zero};
    LoopRef params[] = {loop_value(b, loop_scalar_type(SCALAR_I64), 0),
                        loop_value(b, type, 0)};
    loop_open(b, params, 2);
    LoopRef scale = turns_load(b, scales, loop_mul(b, params[0], x->wide), from);
    LoopRef product[] = {scale, zero, params[1]};
    LoopRef sum = loop_scalar(b, OP_FMA, turns_elem(x), product, 3);
    LoopBody *body = loop_close(b, &sum, 1);
    LoopStm *fold = loop_emit(b, LOOP_FOR, args, 2, &type, 1);
    loop_set_bodies(b, fold, &body, 1);
    return any_lane(x, g, loop_not(b, loop_eq(b, fold->outs[0], zero)));
}

// Whether an element of the panel is -0, which becomes 0 if that is added.
static LoopRef has_minus_zero(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel) {
    LoopBuilder *b = x->b;
    unsigned sign = 8u * scalar_info[turns_elem(x)].bytes - 1;
    LoopRef minus = loop_const(b, bits_type(x), (uint64_t)1 << sign);
    LoopRef begin = loop_mul(b, panel, x->wide), any = loop_const(b, SCALAR_BOOL, 0);
    LoopRef lane = open_lanes(x, g), column = loop_add(b, begin, lane);
    for (int r = 0; r < g->size; r++) {
        LoopRef element = turns_load(b, x->t->matrix, g->begin[r], column);
        LoopRef bits = loop_scalar(b, OP_TO_BITS, bits_type(x), &element, 1);
        any = loop_or(b, any, loop_eq(b, bits, minus));
    }
    return any_lane(x, g, any);
}

void turns_find_flags(const TurnsBlock *x, TurnsGroup *g) {
    for (int r = 0; r < g->size && x->plain != 0; r++)
        g->flags[r] = loop_mul(x->b, g->rows[r], x->panels);
}

static void note_plain(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel,
                       LoopRef is_plain) {
    for (int r = 0; r < g->size; r++)
        turns_store(x->b, x->plain, is_plain, loop_add(x->b, g->flags[r], panel));
}

void turns_note_change(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel) {
    note_plain(x, g, panel, loop_const(x->b, SCALAR_BOOL, 0));
}

void turns_note_zeros(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel) {
    note_plain(x, g, panel, loop_const(x->b, SCALAR_BOOL, 1));
}

void turns_note_row(const TurnsBlock *x, TurnsGroup *g) {
    if (x->plain == 0) return;
    turns_find_flags(x, g);
    LoopRef panel = loop_open_turns(x->b);
    turns_note_change(x, g, panel);
    loop_close_turns(x->b, x->panels, ORDER_INDEPENDENT);
}

// Whether no -0 is in the panel of the rows, as far as is known.
static LoopRef is_plain(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel) {
    LoopBuilder *b = x->b;
    LoopRef all = loop_const(b, SCALAR_BOOL, 1);
    for (int r = 0; r < g->size; r++) {
        LoopRef at = loop_add(b, g->flags[r], panel);
        all = loop_and(b, all, load_flag(b, x->plain, at));
    }
    return all;
}

static LoopRef choose(LoopBuilder *b, LoopRef c, LoopBody *yes, LoopBody *no) {
    LoopType type = loop_scalar_type(SCALAR_BOOL);
    LoopStm *stm = loop_emit(b, LOOP_IF, &c, 1, &type, 1);
    loop_set_bodies(b, stm, (LoopBody *[]){yes, no}, 2);
    return stm->outs[0];
}

// The arm of a branch that finds a constant.
static LoopBody *constant_arm(LoopBuilder *b, bool holds) {
    LoopRef result = loop_const(b, SCALAR_BOOL, holds);
    loop_open(b, NULL, 0);
    return loop_close(b, &result, 1);
}

static LoopBody *looking_arm(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel) {
    loop_open(x->b, NULL, 0);
    LoopRef has = has_minus_zero(x, g, panel);
    note_plain(x, g, panel, loop_not(x->b, has));
    return loop_close(x->b, &has, 1);
}

LoopRef turns_is_changed(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel,
                         LoopRef is_busy) {
    LoopBuilder *b = x->b;
    loop_open(b, NULL, 0);
    LoopRef plain = is_plain(x, g, panel);
    LoopBody *look = looking_arm(x, g, panel);
    LoopRef has = choose(b, plain, constant_arm(b, false), look);
    LoopBody *ask = loop_close(b, &has, 1);
    return choose(b, is_busy, constant_arm(b, true), ask);
}
