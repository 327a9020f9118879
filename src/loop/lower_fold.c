// SPDX-License-Identifier: Apache-2.0
//
// What reductions, scans and histograms share: a group (one value of the operator's
// type), slots of groups in memory, and the tree over blocks (docs/internals/interp.md
// draws it) as a binary counter of slots.
#include "loop/lower.h"

#include <string.h>

enum { TREE_LEVELS = 51 };

Val *lower_group(const Fold *f) {
    return arena_array(f->l->arena, Val, f->width);
}

bool *lower_flags(const Fold *f) {
    return arena_array(f->l->arena, bool, f->width);
}

Fold lower_fold(Lower *l, const CoreStm *stm) {
    uint32_t arrays = (uint32_t)stm->attrs[0], width = stm->out_count;
    Fold f = {.l = l, .stm = stm, .op = stm->bodies[0], .width = width, .arrays = arrays};
    if (stm->body_count > 1) f.pre = stm->bodies[1];
    if (stm->body_count > 2) f.acc = stm->bodies[2];
    f.feeds = arena_array(l->arena, Array *, arrays);
    for (uint32_t i = 0; i < arrays; i++) f.feeds[i] = lower_arg_array(l, stm, i);
    f.n = lower_length(l, f.feeds, arrays);
    Val *ne = arena_array(l->arena, Val, width);
    for (uint32_t c = 0; c < width; c++) ne[c] = lower_val(l, stm->args[arrays + c]);
    f.ne = ne;
    return f;
}

// ---- one application of op, pre or acc ----------------------------------------------

static Val *feed(const Fold *f, LoopRef i, Val *out) {
    for (uint32_t k = 0; k < f->arrays; k++) out[k] = lower_feed(f->l, f->feeds[k], i);
    return out;
}

void lower_fold_first(const Fold *f, LoopRef i, Val *out, bool *is_ours) {
    Val *args = arena_array(f->l->arena, Val, f->arrays);
    memset(is_ours, 0, f->width * sizeof *is_ours);
    if (f->pre == NULL)
        feed(f, i, out);
    else
        lower_body(f->l, f->pre, feed(f, i, args), NULL, out, is_ours);
}

void lower_fold_join(const Fold *f, const Val *left, const Val *right, Val *out,
                     bool *is_ours) {
    Val *args = arena_array(f->l->arena, Val, 2 * f->width);
    memcpy(args, left, f->width * sizeof *left);
    memcpy(args + f->width, right, f->width * sizeof *right);
    lower_body(f->l, f->op, args, NULL, out, is_ours);
}

void lower_fold_later(const Fold *f, const Val *so_far, LoopRef i, Val *out,
                      bool *is_ours) {
    if (f->pre != NULL && f->acc == NULL) {
        Val *next = lower_group(f);
        lower_fold_first(f, i, next, is_ours);
        lower_fold_join(f, so_far, next, out, is_ours);
        return;
    }
    Val *args = arena_array(f->l->arena, Val, f->width + f->arrays);
    memcpy(args, so_far, f->width * sizeof *so_far);
    feed(f, i, args + f->width);
    lower_body(f->l, f->acc != NULL ? f->acc : f->op, args, NULL, out, is_ours);
}

void lower_fold_serially(const Fold *f, LoopRef from, LoopRef count, Val *out) {
    Lower *l = f->l;
    LoopRef one = loop_int(l->b, 1);
    Val *init = lower_group(f), *next = lower_group(f);
    bool *is_ours = lower_flags(f);
    lower_fold_first(f, from, init, is_ours);
    for (uint32_t c = 0; c < f->width; c++)
        if (init[c].array != NULL)
            init[c].array = lower_own(l, init[c].array, is_ours[c], NULL);
    Carry carry = {0};
    lower_open_carry(l, &carry, init, f->width, SCALAR_I64);
    LoopRef i = loop_add(l->b, loop_add(l->b, from, one), carry.index);
    lower_fold_later(f, carry.state, i, next, is_ours);
    lower_close_carry(l, &carry, next, is_ours, loop_sub(l->b, count, one), out);
}

bool lower_join_fails(const Fold *f) {
    Lower *l = f->l;
    uint32_t checks = l->checks, allocs = l->allocs;
    Val *left = lower_group(f), *right = lower_group(f), *out = lower_group(f);
    bool *is_ours = lower_flags(f);
    loop_open(l->b, NULL, 0);
    Slots slots = lower_slots(f, loop_int(l->b, 2));
    lower_load_slot(f, &slots, loop_int(l->b, 0), left);
    lower_load_slot(f, &slots, loop_int(l->b, 1), right);
    lower_fold_join(f, left, right, out, is_ours);
    lower_store_slot(f, &slots, loop_int(l->b, 0), out, is_ours);
    loop_close(l->b, NULL, 0);
    bool fails = l->checks > checks;
    l->checks = checks;
    l->allocs = allocs;
    return fails;
}

// ---- slots --------------------------------------------------------------------------

// Rows have the shape of the neutral element's.
Slots lower_slots(const Fold *f, LoopRef count) {
    Lower *l = f->l;
    Slots s = {.parts = arena_array(l->arena, Array *, f->width)};
    for (uint32_t c = 0; c < f->width; c++) {
        LoopRef shape[CORE_MAX_RANK] = {count};
        const Array *row = f->ne[c].array;
        uint32_t rank = row == NULL ? 0 : row->rank;
        if (rank == CORE_MAX_RANK) lower_refuse(l, "rows of the highest rank");
        for (uint32_t d = 0; d < rank; d++) shape[1 + d] = row->shape[d];
        ScalarType elem = (ScalarType)lower_type(l, f->op->results[c]).elem;
        LoopRef buf = lower_alloc(l, elem, lower_count(l, 1 + rank, shape));
        s.parts[c] = lower_dense(l, elem, buf, loop_int(l->b, 0), 1 + rank, shape);
    }
    return s;
}

void lower_load_slot(const Fold *f, const Slots *s, LoopRef i, Val *out) {
    for (uint32_t c = 0; c < f->width; c++) out[c] = lower_feed(f->l, s->parts[c], i);
}

void lower_store_slot(const Fold *f, const Slots *s, LoopRef i, const Val *vals,
                      const bool *is_ours) {
    Lower *l = f->l;
    Val *safe = lower_group(f);
    for (uint32_t c = 0; c < f->width; c++) {
        safe[c] = vals[c];
        if (vals[c].array == NULL) continue;
        lower_check_rows(l, vals[c].array->rank, s->parts[c]->shape + 1, vals[c].array->shape);
        // It may be a view of what is to be overwritten.
        if (is_ours != NULL && !is_ours[c])
            safe[c].array = lower_copied(l, vals[c].array, NULL);
    }
    for (uint32_t c = 0; c < f->width; c++) lower_set_element(l, s->parts[c], i, safe[c]);
}

void lower_join_slots(const Fold *f, const Slots *to, LoopRef i, const Slots *left,
                      LoopRef j, const Slots *right, LoopRef k) {
    Val *x = lower_group(f), *y = lower_group(f), *out = lower_group(f);
    bool *is_ours = lower_flags(f);
    lower_load_slot(f, left, j, x);
    lower_load_slot(f, right, k, y);
    lower_fold_join(f, x, y, out, is_ours);
    lower_store_slot(f, to, i, out, is_ours);
}

// ---- trees --------------------------------------------------------------------------

Tree lower_tree(const Fold *f) {
    LoopBuilder *b = f->l->b;
    return (Tree){lower_slots(f, loop_int(b, TREE_LEVELS + 1)), loop_int(b, TREE_LEVELS)};
}

static LoopRef has_bit(Lower *l, LoopRef number, LoopRef bit) {
    LoopBuilder *b = l->b;
    LoopRef rest = loop_scalar(b, OP_SHR, SCALAR_I64, (LoopRef[]){number, bit}, 2);
    LoopRef low = loop_scalar(b, OP_AND, SCALAR_I64, (LoopRef[]){rest, loop_int(b, 1)}, 2);
    return loop_eq(b, low, loop_int(b, 1));
}

static void copy_slot(const Fold *f, const Slots *s, LoopRef to, LoopRef from) {
    Val *vals = lower_group(f);
    lower_load_slot(f, s, from, vals);
    lower_store_slot(f, s, to, vals, NULL);
}

void lower_tree_push(const Fold *f, const Tree *tree, LoopRef count) {
    Lower *l = f->l;
    Val init = val_scalar(loop_int(l->b, 0)), guard, level;
    Carry carry = {0};
    lower_open_carry(l, &carry, &init, 1, SCALAR_BOOL);
    lower_open_guard(l, &carry, &guard);
    LoopRef more = has_bit(l, count, guard.scalar);
    carry.guard = loop_close(l->b, &more, 1);
    LoopRef at = carry.state[0].scalar;
    lower_join_slots(f, &tree->levels, tree->spare, &tree->levels, at, &tree->levels,
                     tree->spare);
    Val next = val_scalar(loop_add(l->b, at, loop_int(l->b, 1)));
    lower_close_carry(l, &carry, &next, NULL, 0, &level);
    copy_slot(f, &tree->levels, level.scalar, tree->spare);
}

void lower_tree_total(const Fold *f, const Tree *tree, LoopRef count) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Val init = val_scalar(loop_const(b, SCALAR_BOOL, 1)), done;
    Carry carry = {0};
    lower_open_carry(l, &carry, &init, 1, SCALAR_I64);
    LoopRef level = carry.index, is_first = carry.state[0].scalar;
    LoopRef has = has_bit(l, count, level);
    uint32_t opened = lower_open_if(l);
    copy_slot(f, &tree->levels, tree->spare, level);
    lower_close_if(l, loop_and(b, has, is_first), opened);
    opened = lower_open_if(l);
    lower_join_slots(f, &tree->levels, tree->spare, &tree->levels, level, &tree->levels,
                     tree->spare);
    lower_close_if(l, loop_and(b, has, loop_not(b, is_first)), opened);
    Val next = val_scalar(loop_and(b, is_first, loop_not(b, has)));
    lower_close_carry(l, &carry, &next, NULL, loop_int(b, TREE_LEVELS), &done);
}

// ---- blocks -------------------------------------------------------------------------

LoopRef lower_block_count(Lower *l, LoopRef n) {
    LoopBuilder *b = l->b;
    return loop_quot(b, loop_add(b, n, loop_int(b, CORE_BLOCK - 1)), loop_int(b, CORE_BLOCK));
}

LoopRef lower_block_size(Lower *l, LoopRef n, LoopRef block) {
    LoopBuilder *b = l->b;
    LoopRef size = loop_int(b, CORE_BLOCK);
    return loop_min(b, size, loop_sub(b, n, loop_mul(b, block, size)));
}
