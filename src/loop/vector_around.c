// SPDX-License-Identifier: Apache-2.0
//
// Lanes that count up and begin anew somewhere: remainders of numbers in a row, and
// choices such as `if i < n - k then i + k else i + k - n`. In most turns they do not
// begin anew, which two comparisons without lanes tell: then what is loaded from there
// lies side by side.
#include "loop/vector_turn.h"

// ---- what counts up -----------------------------------------------------------------

static void note_around(Vector *v, LoopRef old, Around around) {
    v->reps[old].around = arena_copy(v->arena, &around, sizeof around);
}

static LoopRef count_around(Vector *v, const Around *around) {
    LoopRef lanes = turn_number_lanes(v, SCALAR_I64);
    LoopRef first = turn_apply2(v, OP_ADD, SCALAR_I64, lanes, around->first);
    LoopRef other = turn_apply2(v, OP_ADD, SCALAR_I64, lanes, around->other);
    LoopRef limit = turn_splat(v, around->limit);
    LoopRef is_first = turn_apply2(v, OP_LT, SCALAR_BOOL, first, limit);
    return turn_select(v, is_first, first, other);
}

static bool counts_up(const Vector *v, Rep rep) {
    return rep.kind == REP_LINEAR && loop_is_int(&v->b, rep.stride, 1);
}

bool turn_remainder(Vector *v, const LoopStm *stm, LoopRef mask) {
    LoopBuilder *b = &v->b;
    Rep x = turn_rep_of(v, stm->args[0]);
    if ((stm->scalar != OP_MOD && stm->scalar != OP_REM) || !counts_up(v, x) ||
        turn_elem_of(v, stm->outs[0]) != SCALAR_I64 ||
        turn_rep_of(v, stm->args[1]).kind != REP_SAME)
        return false;
    LoopRef y = turn_rep_of(v, stm->args[1]).ref, lanes = loop_int(b, v->lanes);
    uint64_t known;
    if (loop_is_known(b, y, &known) && (int64_t)known < (int64_t)v->lanes) return false;
    LoopRef last = loop_int(b, INT64_MAX - v->lanes);
    LoopRef is_long = loop_le(b, lanes, y);
    LoopRef stays = loop_and(b, loop_le(b, x.ref, last), is_long);
    LoopRef counts = loop_and(b, loop_le(b, loop_int(b, 0), x.ref), stays);
    // Else by 1, which begins anew in all lanes.
    LoopRef by = loop_select(b, counts, y, loop_int(b, 1));
    LoopRef first = loop_rem(b, x.ref, by);
    Around around = {first, by, first, loop_sub(b, first, by)};
    turn_charge(v, 10, 14);
    loop_open(b, NULL, 0);
    LoopRef one = count_around(v, &around);
    LoopBody *bodies[2] = {loop_close(b, &one, 1), NULL};
    loop_open(b, NULL, 0);
    LoopRef any = turn_scalar(v, stm, mask);
    bodies[1] = loop_close(b, &any, 1);
    LoopStm *made =
        loop_emit(b, LOOP_IF, &counts, 1, turn_types_of(v, stm->outs, 1), 1);
    loop_set_bodies(b, made, bodies, 2);
    turn_set_rep(v, stm->outs[0], made->outs[0]);
    note_around(v, stm->outs[0], around);
    return true;
}

void turn_note_compared(Vector *v, const LoopStm *stm) {
    if (stm->scalar != OP_LT || turn_elem_of(v, stm->args[0]) != SCALAR_I64) return;
    Rep x = turn_rep_of(v, stm->args[0]), y = turn_rep_of(v, stm->args[1]);
    if (counts_up(v, x) && y.kind == REP_SAME)
        note_around(v, stm->outs[0], (Around){.number = x.ref, .limit = y.ref});
}

void turn_note_chosen(Vector *v, const LoopStm *stm, uint32_t k) {
    const Around *mask = turn_rep_of(v, stm->args[0]).around;
    Rep first = turn_rep_of(v, stm->bodies[0]->results[k]);
    Rep other = turn_rep_of(v, stm->bodies[1]->results[k]);
    if (mask != NULL && counts_up(v, first) && counts_up(v, other) &&
        turn_elem_of(v, stm->outs[k]) == SCALAR_I64)
        note_around(v, stm->outs[k],
                    (Around){mask->number, mask->limit, first.ref, other.ref});
}

// ---- loads --------------------------------------------------------------------------

uint32_t turn_find_around(const Vector *v, const LoopStm *load) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < load->arg_count; i++) {
        Rep rep = turn_rep_of(v, load->args[i]);
        if (rep.kind == REP_SAME) continue;
        bool is_index = i > 1 && i % 2 == 1;
        if (found != 0 || !is_index || rep.around == NULL || rep.around->first == 0 ||
            !loop_is_int(&v->b, turn_rep_of(v, load->args[i - 1]).ref, 1))
            return 0;
        found = i;
    }
    return found;
}

static LoopBody *load_at(Vector *v, const LoopRef *args, uint32_t count, uint32_t at,
                         LoopRef index, LoopType type) {
    LoopRef *places = arena_copy(v->arena, args, count * sizeof *args);
    places[at] = index;
    loop_open(&v->b, NULL, 0);
    LoopRef loaded = loop_emit1(&v->b, LOOP_LOAD, places, count, type);
    return loop_close(&v->b, &loaded, 1);
}

LoopRef turn_load_anew(Vector *v, const LoopRef *args, uint32_t count, uint32_t at,
                       const Around *around) {
    LoopBuilder *b = &v->b;
    LoopType type = turn_lanes_of(v, turn_elem_of(v, args[0]));
    LoopRef last = loop_add(b, around->number, loop_int(b, v->lanes - 1));
    LoopRef are_first = loop_lt(b, last, around->limit);
    LoopRef are_other = loop_le(b, around->limit, around->number);
    LoopRef is_either = loop_or(b, are_first, are_other);
    LoopRef follow = loop_and(b, loop_le(b, around->number, last), is_either);
    LoopRef from = loop_select(b, are_other, around->other, around->first);
    LoopBody *bodies[] = {load_at(v, args, count, at, from, type),
                          load_at(v, args, count, at, args[at], type)};
    LoopStm *made = loop_emit(b, LOOP_IF, &follow, 1, &type, 1);
    loop_set_bodies(b, made, bodies, 2);
    turn_charge(v, 1, 4);
    return made->outs[0];
}
