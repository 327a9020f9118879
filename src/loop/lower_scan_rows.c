// SPDX-License-Identifier: Apache-2.0
//
// Scans in rows of 16 (STAMP_NESTED_LANES and STAMP_OUTER_LANES,
// docs/internals/interp.md).
#include "loop/lower.h"

#include <string.h>

enum { ROW = 16, STEPS = 4 };

// What goes along a block: its total, without a carry, and the carry. Both begin with
// what changes no number, not even the sign of a zero.
typedef struct Along {
    const Fold *f;
    const Slots *outs;
    Slots steps[STEPS + 1]; // a row, and what each step of its scan makes of it
    LoopRef from;           // the block's first element
} Along;

static LoopRef with_int(LoopBuilder *b, CoreOp op, LoopRef x, int64_t y) {
    return loop_scalar(b, op, SCALAR_I64, (LoopRef[]){x, loop_int(b, y)}, 2);
}

// Sklansky's scan of a row's first `count` slots: at distance d, the upper half of each
// 2d takes in the last of the lower half, and the lower half what changes nothing. A
// step does not overwrite what it reads, so that its turns may go at once.
static void scan_row(const Along *a, LoopRef count) {
    const Fold *f = a->f;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Val *neutral = loop_group(f);
    loop_neutrals(f, neutral);
    for (int64_t step = 0; step < STEPS; step++) {
        const Slots *from = &a->steps[step];
        Nest nest;
        loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
        LoopRef i = nest.index[0],
                half = with_int(b, OP_AND, with_int(b, OP_SHR, i, step), 1);
        LoopRef back =
            loop_add(b, with_int(b, OP_AND, i, (1 << step) - 1), loop_int(b, 1));
        LoopRef last = loop_sub(b, i, loop_mul(b, half, back)); // in a lower half: any
        LoopRef is_upper = loop_lt(b, loop_int(b, 0), half);
        Val *left = loop_group(f), *right = loop_group(f), *out = loop_group(f);
        bool *is_ours = loop_flags(f);
        loop_load_slot(f, from, last, left);
        loop_load_slot(f, from, i, right);
        for (uint32_t c = 0; c < f->width; c++)
            left[c].scalar =
                loop_select(b, is_upper, left[c].scalar, neutral[c].scalar);
        loop_fold_join(f, left, right, out, is_ours);
        loop_store_slot(f, &a->steps[step + 1], i, out, NULL);
        loop_close_nest(l, &nest);
    }
}

// Scans row `number`, of `count` elements; sums and carries go from state to next.
static void scan_one_row(const Along *a, LoopRef number, LoopRef count,
                         const Val *state, Val *next) {
    const Fold *f = a->f;
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    const Slots *row = &a->steps[STEPS];
    LoopRef from = loop_add(b, a->from, loop_mul(b, number, loop_int(b, ROW)));
    Val *vals = loop_group(f), *last = loop_group(f);
    bool *is_ours = loop_flags(f);
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    loop_fold_first(f, loop_add(b, from, nest.index[0]), vals, is_ours);
    loop_store_slot(f, &a->steps[0], nest.index[0], vals, is_ours);
    loop_close_nest(l, &nest);
    scan_row(a, count);
    loop_load_slot(f, row, loop_sub(b, count, loop_int(b, 1)), last);
    loop_fold_join(f, state, last, next, is_ours);
    loop_fold_join(f, state + f->width, last, next + f->width, is_ours);
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    Val *out = loop_group(f);
    loop_load_slot(f, row, nest.index[0], vals);
    loop_fold_join(f, state + f->width, vals, out, is_ours);
    loop_store_slot(f, a->outs, loop_add(b, from, nest.index[0]), out, NULL);
    loop_close_nest(l, &nest);
}

static void new_steps(Along *a) {
    const Fold *f = a->f;
    for (uint32_t k = 0; k <= STEPS; k++)
        a->steps[k] = loop_slots(f, loop_int(f->l->b, ROW));
}

const Val *loop_scan_rows(const Fold *f, const Slots *outs, LoopRef from, LoopRef size,
                          const Val *carry_in) {
    Along a = {.f = f, .outs = outs, .from = from};
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef row = loop_int(b, ROW), rows = loop_quot(b, size, row);
    LoopRef rest = loop_rem(b, size, row);
    uint32_t count = 2 * f->width;
    Val *init = arena_array(l->arena, Val, count);
    Val *next = arena_array(l->arena, Val, count);
    Val *sums = arena_array(l->arena, Val, count), *total = loop_group(f);
    new_steps(&a);
    loop_neutrals(f, init);
    memcpy(init + f->width, carry_in, f->width * sizeof *init);
    Carry carry;
    loop_open_carry(l, &carry, init, NULL, count, rows);
    scan_one_row(&a, carry.index, row, carry.state, next);
    loop_close_carry(l, &carry, next, NULL, sums);
    Fork fork;
    loop_open_fork(l, &fork);
    new_steps(&a); // so that those of whole rows stay in registers
    scan_one_row(&a, rows, rest, sums, next);
    loop_close_arm(f, &fork, 0, next);
    loop_close_arm(f, &fork, 1, sums);
    loop_close_fork(f, &fork, loop_lt(b, loop_int(b, 0), rest), total);
    return total;
}

// Takes into state what the ROW rows from `first` on amount to. Those are found side by
// side: each step adds neighbours, which is how the last of a row's scan comes about.
static void sum_rows(const Fold *f, LoopRef first, const Val *state, Val *next) {
    enum { ALL = ROW * ROW };
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Val *left = loop_group(f), *right = loop_group(f), *out = loop_group(f);
    bool *is_ours = loop_flags(f);
    // In one: small arrays become scalars, and their loops one turn after another.
    Slots sums = loop_slots(f, loop_int(b, ALL));
    LoopRef one = loop_int(b, 1), from = first, to = loop_int(b, 0);
    for (int64_t pairs = ALL / 2; pairs >= ROW; pairs /= 2) {
        LoopRef count = loop_int(b, pairs);
        Nest nest;
        loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
        LoopRef i = loop_add(b, from, loop_mul(b, nest.index[0], loop_int(b, 2)));
        LoopRef k = loop_add(b, i, one);
        if (pairs == ALL / 2) {
            loop_fold_first(f, i, left, is_ours);
            loop_fold_first(f, k, right, is_ours);
        } else {
            loop_load_slot(f, &sums, i, left);
            loop_load_slot(f, &sums, k, right);
        }
        loop_fold_join(f, left, right, out, is_ours);
        loop_store_slot(f, &sums, loop_add(b, to, nest.index[0]), out, NULL);
        loop_close_nest(l, &nest);
        from = to;
        to = loop_add(b, to, count);
    }
    Carry carry;
    loop_open_carry(l, &carry, state, NULL, f->width, loop_int(b, ROW));
    loop_load_slot(f, &sums, loop_add(b, from, carry.index), right);
    loop_fold_join(f, carry.state, right, out, is_ours);
    loop_close_carry(l, &carry, out, NULL, next);
}

void loop_sum_rows(const Fold *f, LoopRef block, Val *total) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    LoopRef step = loop_int(b, ROW * ROW);
    LoopRef from = loop_mul(b, block, loop_int(b, CORE_BLOCK));
    Val *none = loop_group(f), *next = loop_group(f);
    loop_neutrals(f, none);
    Carry carry;
    loop_open_carry(l, &carry, none, NULL, f->width,
                    loop_quot(b, loop_block_size(l, f->n, block), step));
    sum_rows(f, loop_add(b, from, loop_mul(b, carry.index, step)), carry.state, next);
    loop_close_carry(l, &carry, next, NULL, total);
}
