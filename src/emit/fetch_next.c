// SPDX-License-Identifier: Apache-2.0
//
// Rows of which each ends where the next one begins, as those of a sparse matrix, are
// one stream. But where a short row ends nobody can foretell, and a processor that has
// guessed wrong looks less far ahead than memory is away. So with each row what lies a
// page further on is fetched.
#include "emit/walk.h"

enum { MOST_ARRAYS = 8, PAGE = 4096 };

static bool is_int(const Walker *w, LoopRef ref, uint64_t bits) {
    const LoopValue *value = &w->kernel->values.data[ref];
    return value->is_const && value->bits == bits;
}

static const LoopStm *find_scalar(const Walker *w, LoopRef ref, CoreOp op) {
    const LoopStm *stm = w->made[ref];
    bool is_op = stm != NULL && stm->op == LOOP_SCALAR && stm->scalar == op;
    return is_op && w->kernel->values.data[ref].type.lanes == 0 ? stm : NULL;
}

// Whether a load takes elements side by side of an array that has but one dimension.
static bool is_along(const Walker *w, const LoopStm *stm) {
    return stm != NULL && stm->op == LOOP_LOAD && stm->arg_count == 4 &&
           is_int(w, stm->args[2], 1);
}

// Whether the offset and the index of a load come to x + y.
static bool is_at(const Walker *w, const LoopStm *load, LoopRef x, LoopRef y) {
    LoopRef offset = load->args[1], index = load->args[3];
    const LoopStm *sum = find_scalar(w, index, OP_ADD);
    if (sum != NULL && is_int(w, offset, 0)) {
        offset = sum->args[0];
        index = sum->args[1];
    }
    return (offset == x && index == y) || (offset == y && index == x);
}

bool walk_counts(const LoopBody *body, LoopRef ref) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++)
            if ((stm->op == LOOP_FOR && stm->bodies[k]->params[0] == ref) ||
                walk_counts(stm->bodies[k], ref))
                return true;
    }
    return false;
}

// Where the row begins that the loop goes along, if the next one, that of the next
// turn, begins where it ends; else 0.
static LoopRef find_begin(const Walker *w, const LoopStm *loop) {
    const LoopStm *length = find_scalar(w, loop->args[0], OP_SUB);
    if (length == NULL) return 0;
    const LoopStm *end = w->made[length->args[0]], *begin = w->made[length->args[1]];
    if (!is_along(w, begin) || !is_along(w, end) || begin->args[0] != end->args[0] ||
        !is_int(w, begin->args[1], 0))
        return 0;
    LoopRef turn = begin->args[3], one = end->args[1];
    const LoopStm *next = find_scalar(w, end->args[3], OP_ADD);
    if (next != NULL) one = next->args[next->args[0] == turn];
    bool is_next = is_int(w, one, 1) && is_at(w, end, turn, one);
    return is_next && walk_counts(w->kernel->root, turn) ? length->args[1] : 0;
}

// In numbers, as where the row begins may not have been checked yet.
static void put_fetch(Walker *w, LoopRef array, LoopRef begin) {
    walk_line(w,
              "__builtin_prefetch((const void *)((uintptr_t)%.*s + %u * (uint64_t)%.*s "
              "+ %d));",
              STR_ARG(walk_value(w, array)),
              scalar_info[w->kernel->values.data[array].type.elem].bytes,
              STR_ARG(walk_value(w, begin)), PAGE);
}

void walk_fetch_next(Walker *w, const LoopStm *loop) {
    const LoopBody *turn = loop->bodies[0];
    LoopRef begin = find_begin(w, loop), arrays[MOST_ARRAYS];
    uint32_t count = 0;
    if (begin == 0) return;
    for (uint32_t i = 0; i < turn->stms.len && count < MOST_ARRAYS; i++) {
        const LoopStm *stm = turn->stms.data[i];
        if (!is_along(w, stm) || !is_at(w, stm, begin, turn->params[0])) continue;
        bool is_new = w->made[stm->args[0]] == NULL;
        for (uint32_t k = 0; k < count; k++)
            is_new = is_new && arrays[k] != stm->args[0];
        if (!is_new) continue;
        arrays[count++] = stm->args[0];
        put_fetch(w, stm->args[0], begin);
    }
}
