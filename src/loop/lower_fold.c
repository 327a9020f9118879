// SPDX-License-Identifier: Apache-2.0
//
// What reductions, scans and histograms share: a group (one value of the operator's
// type), slots of groups in memory, and the tree over blocks (docs/internals/interp.md
// draws it) as a binary counter of slots.
#include "loop/lower.h"

#include <string.h>

Val *loop_group(const Fold *f) {
    return arena_array(f->l->arena, Val, f->width);
}

bool *loop_flags(const Fold *f) {
    return arena_array(f->l->arena, bool, f->width);
}

bool loop_is_nested(CoreStamp stamp) {
    return stamp == STAMP_NESTED_LANES || stamp == STAMP_NESTED_RUNS ||
           stamp == STAMP_NESTED_ROWS;
}

static void find_fold(void *found, const CoreStm *stm) {
    if (stm->op == OP_REDUCE || stm->op == OP_SCAN || stm->op == OP_HIST)
        *(bool *)found = true;
}

Fold loop_fold(Lower *l, const CoreStm *stm) {
    uint32_t arrays = (uint32_t)stm->attrs[0], width = stm->out_count;
    Fold f = {
        .l = l, .stm = stm, .op = stm->bodies[0], .width = width, .arrays = arrays};
    for (uint32_t i = 0; i < stm->body_count; i++)
        core_walk(stm->bodies[i], find_fold, &f.is_compact);
    if (stm->body_count > 1) f.pre = stm->bodies[1];
    if (stm->body_count > 2) f.acc = stm->bodies[2];
    f.feeds = arena_array(l->arena, Array *, arrays);
    for (uint32_t i = 0; i < arrays; i++) f.feeds[i] = loop_arg_array(l, stm, i);
    f.n = loop_length(l, f.feeds, arrays);
    Val *ne = arena_array(l->arena, Val, width);
    for (uint32_t c = 0; c < width; c++) ne[c] = loop_val(l, stm->args[arrays + c]);
    f.ne = ne;
    f.shapes = arena_array(l->arena, const LoopRef *, width);
    for (uint32_t c = 0; c < width; c++)
        if (ne[c].array != NULL) f.shapes[c] = ne[c].array->shape;
    f.start = loop_start(&f);
    return f;
}

// ---- one application of op, pre or acc ----------------------------------------------

static Val *feed(const Fold *f, LoopRef i, Val *out) {
    for (uint32_t k = 0; k < f->arrays; k++) out[k] = loop_feed(f->l, f->feeds[k], i);
    return out;
}

void loop_fold_first(const Fold *f, LoopRef i, Val *out, bool *is_ours) {
    Val *args = arena_array(f->l->arena, Val, f->arrays);
    memset(is_ours, 0, f->width * sizeof *is_ours);
    if (f->pre == NULL) feed(f, i, out);
    else loop_body(f->l, f->pre, feed(f, i, args), NULL, out, is_ours);
}

void loop_fold_join(const Fold *f, const Val *left, const Val *right, Val *out,
                    bool *is_ours) {
    Val *args = arena_array(f->l->arena, Val, 2 * f->width);
    memcpy(args, left, f->width * sizeof *left);
    memcpy(args + f->width, right, f->width * sizeof *right);
    loop_body(f->l, f->op, args, NULL, out, is_ours);
}

void loop_fold_later(const Fold *f, const Val *so_far, LoopRef i, Val *out,
                     bool *is_ours) {
    if (f->pre != NULL && f->acc == NULL) {
        Val *next = loop_group(f);
        loop_fold_first(f, i, next, is_ours);
        loop_fold_join(f, so_far, next, out, is_ours);
        return;
    }
    Val *args = arena_array(f->l->arena, Val, f->width + f->arrays);
    memcpy(args, so_far, f->width * sizeof *so_far);
    feed(f, i, args + f->width);
    loop_body(f->l, f->acc != NULL ? f->acc : f->op, args, NULL, out, is_ours);
}

// Takes elements from..from+count-1 into what is so far.
static void fold_on(const Fold *f, const Val *so_far, LoopRef from, LoopRef count,
                    Val *out) {
    Lower *l = f->l;
    Val *next = loop_group(f);
    bool *is_ours = loop_flags(f);
    Carry carry;
    loop_open_carry(l, &carry, so_far, NULL, f->width, count);
    LoopRef i = loop_add(l->b, from, carry.index);
    loop_fold_later(f, carry.state, i, next, is_ours);
    loop_close_carry(l, &carry, next, is_ours, out);
}

void loop_fold_serially(const Fold *f, LoopRef from, LoopRef count, Val *out) {
    Lower *l = f->l;
    if (f->start != NULL) {
        fold_on(f, f->start, from, count, out);
        return;
    }
    LoopRef one = loop_int(l->b, 1);
    Val *init = loop_group(f);
    bool *is_ours = loop_flags(f);
    loop_fold_first(f, from, init, is_ours);
    for (uint32_t c = 0; c < f->width; c++)
        if (init[c].array != NULL)
            init[c].array = loop_own(l, init[c].array, is_ours[c], NULL);
    LoopRef others = loop_sub(l->b, count, one);
    fold_on(f, init, loop_add(l->b, from, one), others, out);
}

bool loop_join_fails(const Fold *f) {
    Lower *l = f->l;
    uint32_t checks = l->checks, allocs = l->allocs;
    Val *left = loop_group(f), *right = loop_group(f), *out = loop_group(f);
    bool *is_ours = loop_flags(f);
    loop_open(l->b, NULL, 0);
    Slots slots = loop_slots(f, loop_int(l->b, 2));
    loop_load_slot(f, &slots, loop_int(l->b, 0), left);
    loop_load_slot(f, &slots, loop_int(l->b, 1), right);
    loop_fold_join(f, left, right, out, is_ours);
    loop_store_slot(f, &slots, loop_int(l->b, 0), out, is_ours);
    loop_close(l->b, NULL, 0);
    bool fails = l->checks > checks;
    l->checks = checks;
    l->allocs = allocs;
    return fails;
}

// ---- forks --------------------------------------------------------------------------

void loop_open_fork(Lower *l, Fork *fork) {
    fork->known = l->sizes.len;
    loop_open(l->b, NULL, 0);
}

void loop_close_arm(const Fold *f, Fork *fork, uint32_t arm, Val *vals) {
    Lower *l = f->l;
    struct {
        LoopRef *data;
        uint32_t len, cap;
    } refs = {0};
    LoopRef flat[2 + CORE_MAX_RANK];
    for (uint32_t c = 0; c < f->width; c++) {
        if (vals[c].array != NULL) vals[c].array = loop_make_dense(l, vals[c].array);
        uint32_t width = loop_flatten(l, &vals[c], 1, flat);
        for (uint32_t i = 0; i < width; i++) vec_push(l->arena, &refs, flat[i]);
    }
    fork->bodies[arm] = loop_close(l->b, refs.data, refs.len);
    l->sizes.len = fork->known;
    if (arm == 0) loop_open(l->b, NULL, 0);
}

void loop_close_fork(const Fold *f, const Fork *fork, LoopRef c, Val *out) {
    Lower *l = f->l;
    const LoopBody *like = fork->bodies[0];
    LoopStm *stm =
        loop_emit(l->b, LOOP_IF, &c, 1,
                  loop_types(l, like->results, like->result_count), like->result_count);
    loop_set_bodies(l->b, stm, fork->bodies, 2);
    const LoopRef *refs = stm->outs;
    for (uint32_t k = 0; k < f->width; k++) {
        CoreType type = loop_core_type(l, f->op->results[k]);
        if (type.rank == 0) {
            out[k] = val_scalar(*refs++);
            continue;
        }
        Array *a =
            loop_dense(l, (ScalarType)type.elem, refs[0], refs[1], type.rank, refs + 2);
        loop_know_shape(l, a);
        out[k] = val_array(a);
        refs += 2 + type.rank;
    }
}

// ---- slots --------------------------------------------------------------------------

Slots loop_slots(const Fold *f, LoopRef count) {
    Lower *l = f->l;
    Slots s = {.parts = arena_array(l->arena, Array *, f->width)};
    for (uint32_t c = 0; c < f->width; c++) {
        LoopRef shape[CORE_MAX_RANK] = {count};
        uint32_t rank = loop_core_type(l, f->op->results[c]).rank;
        if (rank == CORE_MAX_RANK) loop_refuse(l, "rows of the highest rank");
        for (uint32_t d = 0; d < rank; d++) shape[1 + d] = f->shapes[c][d];
        ScalarType elem = (ScalarType)loop_core_type(l, f->op->results[c]).elem;
        LoopRef buf = loop_alloc(l, elem, loop_count(l, 1 + rank, shape));
        s.parts[c] = loop_dense(l, elem, buf, loop_int(l->b, 0), 1 + rank, shape);
    }
    return s;
}

void loop_load_slot(const Fold *f, const Slots *s, LoopRef i, Val *out) {
    for (uint32_t c = 0; c < f->width; c++) out[c] = loop_feed(f->l, s->parts[c], i);
}

void loop_store_slot(const Fold *f, const Slots *s, LoopRef i, const Val *vals,
                     const bool *is_ours) {
    Lower *l = f->l;
    Val *safe = loop_group(f);
    for (uint32_t c = 0; c < f->width; c++) {
        safe[c] = vals[c];
        if (vals[c].array == NULL) continue;
        loop_check_rows(l, vals[c].array->rank, s->parts[c]->shape + 1,
                        vals[c].array->shape);
        // It may be a view of what is to be overwritten.
        if (is_ours != NULL && !is_ours[c])
            safe[c].array = loop_copied(l, vals[c].array, NULL);
    }
    for (uint32_t c = 0; c < f->width; c++)
        loop_set_element(l, s->parts[c], i, safe[c]);
}

void loop_join_into(const Fold *f, const Slots *s, LoopRef i, const Val *right) {
    Lower *l = f->l;
    Val *left = loop_group(f), *out = loop_group(f);
    bool *is_ours = loop_flags(f);
    loop_load_slot(f, s, i, left);
    // What takes a row's place may be made right there. (Of several rows each might be
    // made where another one lies.)
    Array *row = f->width == 1 ? left[0].array : NULL;
    if (row != NULL) row->block = loop_block(l);
    loop_fold_join(f, left, right, out, is_ours);
    if (row != NULL && loop_block_of(l, out[0].array) == loop_block_of(l, row)) {
        const Array *made = out[0].array;
        if (made->is_dense && loop_same(l->b, made->buf, row->buf) &&
            loop_same(l->b, made->off, row->off))
            return;
        is_ours[0] = false;
    }
    loop_store_slot(f, s, i, out, is_ours);
}

void loop_join_slots(const Fold *f, const Slots *to, LoopRef i, const Slots *left,
                     LoopRef j, const Slots *right, LoopRef k) {
    Val *x = loop_group(f), *y = loop_group(f), *out = loop_group(f);
    bool *is_ours = loop_flags(f);
    loop_load_slot(f, right, k, y);
    if (to == left && loop_same(f->l->b, i, j)) {
        loop_join_into(f, to, i, y);
        return;
    }
    loop_load_slot(f, left, j, x);
    loop_fold_join(f, x, y, out, is_ours);
    loop_store_slot(f, to, i, out, is_ours);
}

// ---- trees --------------------------------------------------------------------------

// One for each bit of the number of blocks.
Tree loop_tree(const Fold *f, LoopRef blocks) {
    LoopBuilder *b = f->l->b;
    LoopRef zeros = loop_scalar(b, OP_CLZ, SCALAR_I32, &blocks, 1);
    zeros = loop_scalar(b, OP_CONV, SCALAR_I64, &zeros, 1);
    LoopRef spare = loop_sub(b, loop_int(b, 64), zeros);
    return (Tree){loop_slots(f, loop_add(b, spare, loop_int(b, 1))), spare};
}

static LoopRef has_bit(Lower *l, LoopRef number, LoopRef bit) {
    LoopBuilder *b = l->b;
    LoopRef rest = loop_scalar(b, OP_SHR, SCALAR_I64, (LoopRef[]){number, bit}, 2);
    LoopRef low =
        loop_scalar(b, OP_AND, SCALAR_I64, (LoopRef[]){rest, loop_int(b, 1)}, 2);
    return loop_eq(b, low, loop_int(b, 1));
}

void loop_copy_slot(const Fold *f, const Slots *to, LoopRef i, const Slots *from,
                    LoopRef j) {
    Val *vals = loop_group(f);
    loop_load_slot(f, from, j, vals);
    loop_store_slot(f, to, i, vals, NULL);
}

void loop_tree_push(const Fold *f, const Tree *tree, LoopRef count) {
    Lower *l = f->l;
    Val init = val_scalar(loop_int(l->b, 0)), guard, level;
    Carry carry;
    loop_open_carry(l, &carry, &init, NULL, 1, 0);
    loop_open_guard(l, &carry, &guard);
    LoopRef more = has_bit(l, count, guard.scalar);
    carry.guard = loop_close(l->b, &more, 1);
    LoopRef at = carry.state[0].scalar;
    loop_join_slots(f, &tree->levels, tree->spare, &tree->levels, at, &tree->levels,
                    tree->spare);
    Val next = val_scalar(loop_add(l->b, at, loop_int(l->b, 1)));
    loop_close_carry(l, &carry, &next, NULL, &level);
    loop_copy_slot(f, &tree->levels, level.scalar, &tree->levels, tree->spare);
}

void loop_tree_total(const Fold *f, const Tree *tree, LoopRef count) {
    Lower *l = f->l;
    LoopBuilder *b = l->b;
    Val init = val_scalar(loop_const(b, SCALAR_BOOL, 1)), done;
    Carry carry;
    loop_open_carry(l, &carry, &init, NULL, 1, tree->spare);
    LoopRef level = carry.index, is_first = carry.state[0].scalar;
    LoopRef has = has_bit(l, count, level);
    When when = loop_open_if(l, loop_and(b, has, is_first));
    loop_copy_slot(f, &tree->levels, tree->spare, &tree->levels, level);
    loop_close_if(l, when);
    when = loop_open_if(l, loop_and(b, has, loop_not(b, is_first)));
    loop_join_slots(f, &tree->levels, tree->spare, &tree->levels, level, &tree->levels,
                    tree->spare);
    loop_close_if(l, when);
    Val next = val_scalar(loop_and(b, is_first, loop_not(b, has)));
    loop_close_carry(l, &carry, &next, NULL, &done);
}

// ---- blocks -------------------------------------------------------------------------

LoopRef loop_block_count(Lower *l, LoopRef n) {
    LoopBuilder *b = l->b;
    return loop_quot(b, loop_add(b, n, loop_int(b, CORE_BLOCK - 1)),
                     loop_int(b, CORE_BLOCK));
}

LoopRef loop_block_size(Lower *l, LoopRef n, LoopRef block) {
    LoopBuilder *b = l->b;
    LoopRef size = loop_int(b, CORE_BLOCK);
    return loop_min(b, size, loop_sub(b, n, loop_mul(b, block, size)));
}
