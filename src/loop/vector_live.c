// SPDX-License-Identifier: Apache-2.0
//
// Lanes that are no turns. Where several vectors wait for something, a vector turn
// takes little longer than one vector, or than a turn alone. So the turns that are left
// over in the end are one more vector turn, some lanes of which are behind the last
// turn: these touch no memory, and leave loops at once.
#include "loop/copy.h"
#include "loop/vector_turn.h"

static bool is_check_or_sum(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_CHECK || stm->op == LOOP_ATOMIC;
}

bool vector_may_be_partial(const Vector *v, const LoopStm *loop) {
    const LoopBody *turn = loop->bodies[0];
    return v->flight > 1 && !vector_halves_lines(v, turn) &&
           !loop_has(turn, is_check_or_sum, 0);
}

// What counts the lanes is as wide as the widest of them.
LoopRef turn_find_live(Vector *v, LoopRef index, LoopRef n) {
    uint32_t bytes = v->bytes / v->width;
    ScalarType elem = bytes == 8   ? SCALAR_I64
                      : bytes == 4 ? SCALAR_I32
                      : bytes == 2 ? SCALAR_I16
                                   : SCALAR_U8;
    LoopRef left = loop_sub(&v->b, n, index), lanes = loop_int(&v->b, v->lanes);
    left = turn_apply2(v, OP_MIN, SCALAR_I64, left, lanes);
    left = turn_apply(v, OP_CONV, elem, &left, 1);
    return turn_apply2(v, OP_LT, SCALAR_BOOL, turn_number_lanes(v, elem), left);
}

LoopRef turn_live(Vector *v, LoopRef mask) {
    if (v->live == 0 || mask == v->live) return mask;
    return mask == 0 ? v->live : turn_both(v, v->live, mask);
}

// Whether the statement touches memory by that mask.
static bool touches(const LoopStm *stm, int mask) {
    return (stm->op == LOOP_LOADIF || stm->op == LOOP_STOREIF) &&
           stm->args[0] == (LoopRef)mask;
}

static bool is_side_by_side(const Vector *v, const LoopStm *stm) {
    for (uint32_t i = stm->op == LOOP_LOADIF ? 2 : 3; i < stm->arg_count; i++)
        if (turn_is_vector(v, stm->args[i])) return false;
    return true;
}

// Elements side by side are copied if some of them are no turns' own. In loops and
// branches that would be code for each of them, and time in each turn, as it is for
// more than a few: each turn looks where they are.
bool vector_suits_live(const Vector *v, const LoopBody *turn) {
    enum { FEW = 6 };
    uint32_t count = 0;
    for (uint32_t i = 0; i < turn->stms.len; i++) {
        const LoopStm *stm = turn->stms.data[i];
        if (touches(stm, (int)v->live)) {
            count++;
            if (count > FEW || !is_side_by_side(v, stm)) return false;
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loop_has(stm->bodies[k], touches, (int)v->live)) return false;
    }
    return true;
}
