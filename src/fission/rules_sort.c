// SPDX-License-Identifier: Apache-2.0
//
// Sorting in parts: each part is sorted, and sorted parts are merged, every element
// finding its place by itself: behind those of its own part before it, and those of the
// other that come before it, which a binary search counts. Of equal elements those of
// the left part come first, as in the whole.
#include "fission/rules.h"

static const CoreType I64 = {SCALAR_I64, 0};

typedef struct Sorted {
    CoreRef values, places, keys; // places 0: not wanted
} Sorted;

// A number in the order of the scalars: -0 before +0, NaN last.
static CoreRef emit_key(FissionSplit *s, CoreRef x) {
    ScalarType type = (ScalarType)core_type(s->program, x).elem, word;
    if (type == SCALAR_BOOL) return core_conv(s->b, OP_CONV, x, SCALAR_U8);
    if (!scalar_is_float(type)) return x;
    CoreRef bits = core_op1(s->b, OP_TO_BITS, x);
    word = (ScalarType)core_type(s->program, bits).elem;
    int64_t top = 8 * scalar_info[word].bytes - 1;
    CoreRef sign = core_op2(s->b, OP_LSHR, bits, fission_int(s, word, top));
    CoreRef flips = core_op2(s->b, OP_SUB, fission_int(s, word, 0), sign);
    uint64_t high = (uint64_t)1 << top;
    flips = core_op2(s->b, OP_OR, flips, core_const(s->program, word, high));
    return core_op2(s->b, OP_XOR, bits, flips);
}

static CoreRef emit_keys(FissionSplit *s, CoreRef array) {
    CoreRef x = core_value(s->program, fission_row(core_type(s->program, array)), 0);
    core_open(s->b, &x, 1);
    CoreRef key = emit_key(s, x);
    CoreType type = {core_type(s->program, key).elem, 1};
    CoreBody *body = core_close(s->b, &key, 1);
    return fission_emit(s, OP_MAP, &array, 1, (int32_t[]){1}, 1, body, &type, 1)
        ->outs[0];
}

// How many of the sorted keys come before `key`: less, or with `or_equal` not greater.
static CoreRef count_before(FissionSplit *s, CoreRef keys, CoreRef key, bool or_equal) {
    CoreProgram *p = s->program;
    CoreType types[] = {I64, I64};
    CoreRef ends[] = {core_i64(p, 0), fission_dim(s, keys, 0)};
    CoreRef at[] = {core_value(p, I64, 0), core_value(p, I64, 0)};
    core_open(s->b, at, 2);
    CoreRef goes_on = core_op2(s->b, OP_LT, at[0], at[1]);
    CoreBody *guard = core_close(s->b, &goes_on, 1);
    at[0] = core_value(p, I64, 0);
    at[1] = core_value(p, I64, 0);
    core_open(s->b, at, 2);
    CoreRef middle = core_op2(s->b, OP_ADD, at[0], at[1]);
    middle = core_op2(s->b, OP_QUOT, middle, core_i64(p, 2));
    CoreRef there = fission_index(s, keys, middle);
    CoreRef is_before = core_op2(s->b, or_equal ? OP_LE : OP_LT, there, key);
    CoreRef next = core_op2(s->b, OP_ADD, middle, core_i64(p, 1));
    CoreRef ends_next[] = {fission_select(s, is_before, next, at[0]),
                           fission_select(s, is_before, at[1], middle)};
    CoreBody *body = core_close(s->b, ends_next, 2);
    CoreStm *stm = core_emit(s->b, OP_WHILE, ends, 2, types, 2);
    core_set_bodies(s->b, stm, (CoreBody *[]){guard, body}, 2);
    return stm->outs[0];
}

// Where each element of `own` lies when the two are one.
static CoreRef emit_targets(FissionSplit *s, CoreRef own, CoreRef other, bool is_left) {
    CoreRef n = fission_dim(s, own, 0), i = core_value(s->program, I64, 0);
    CoreType type = {SCALAR_I64, 1};
    core_open(s->b, &i, 1);
    CoreRef before = count_before(s, other, fission_index(s, own, i), !is_left);
    CoreRef target = core_op2(s->b, OP_ADD, i, before);
    CoreBody *body = core_close(s->b, &target, 1);
    return fission_emit(s, OP_GENERATE, &n, 1, (int32_t[]){1}, 1, body, &type, 1)
        ->outs[0];
}

static CoreStm *scatter(FissionSplit *s, CoreRef into, CoreRef targets,
                        CoreRef values) {
    CoreType type = core_type(s->program, into);
    CoreStm *stm =
        core_emit(s->b, OP_SCATTER, (CoreRef[]){into, targets, values}, 3, &type, 1);
    core_set_attrs(s->b, stm, (int32_t[]){1}, 1);
    return stm;
}

// At the place of part p.
static CoreStm *scatter_both(FissionSplit *s, uint32_t p, CoreRef n,
                             const CoreRef *targets, CoreRef left, CoreRef right) {
    fission_at(s, s->beside, p);
    CoreType type = core_type(s->program, left);
    CoreRef into = core_emit(s->b, OP_SCRATCH, &n, 1, &type, 1)->outs[0];
    into = scatter(s, into, targets[0], left)->outs[0];
    return scatter(s, into, targets[1], right);
}

// The statements that make the values and the places of the two as one, of which the
// right one is part p. Each side looks for its targets where its keys are; values come
// together at the first part, and places at the second meanwhile.
static void merge(FissionSplit *s, const Sorted *left, const Sorted *right, uint32_t p,
                  CoreStm **made) {
    CoreRef others = fission_dim(s, right->values, 0);
    CoreRef n = core_op2(s->b, OP_ADD, fission_dim(s, left->values, 0), others);
    CoreRef targets[2];
    fission_at(s, s->beside, 0);
    targets[0] = emit_targets(s, left->keys, right->keys, true);
    fission_at(s, s->beside, p);
    targets[1] = emit_targets(s, right->keys, left->keys, false);
    made[0] = scatter_both(s, 0, n, targets, left->values, right->values);
    if (left->places != 0)
        made[1] = scatter_both(s, 1, n, targets, left->places, right->places);
}

static CoreRef emit_more(FissionSplit *s, CoreRef places, CoreRef by) {
    CoreRef x = core_value(s->program, I64, 0);
    CoreType type = {SCALAR_I64, 1};
    core_open(s->b, &x, 1);
    CoreRef more = core_op2(s->b, OP_ADD, x, by);
    CoreBody *body = core_close(s->b, &more, 1);
    return fission_emit(s, OP_MAP, &places, 1, (int32_t[]){1}, 1, body, &type, 1)
        ->outs[0];
}

static Sorted sort_part(FissionSplit *s, uint32_t p) {
    CoreRef *args = fission_args(s);
    args[0] = fission_pieces(s, 0, 0)[p];
    fission_at(s, s->own, p);
    const CoreStm *stm = fission_again(s, args);
    fission_at(s, s->beside, p);
    Sorted part = {.values = stm->outs[0]};
    if (stm->out_count == 2) part.places = stm->outs[1];
    if (p > 0 && part.places != 0) part.places = emit_more(s, part.places, s->start[p]);
    part.keys = emit_keys(s, part.values);
    return part;
}

void whole_sort(FissionSplit *s) {
    Sorted parts[FISSION_MOST_PARTS], all;
    CoreStm *made[2] = {NULL, NULL};
    for (uint32_t p = 0; p < s->parts; p++) parts[p] = sort_part(s, p);
    all = parts[0];
    for (uint32_t p = 1; p < s->parts; p++) {
        fission_at(s, NULL, 0);
        merge(s, &all, &parts[p], p, made);
        if (p + 1 == s->parts) break;
        all.values = made[0]->outs[0];
        if (made[1] != NULL) all.places = made[1]->outs[0];
        fission_at(s, s->beside, 0);
        all.keys = emit_keys(s, all.values);
    }
    fission_at(s, NULL, 0);
    for (uint32_t k = 0; k < s->stm->out_count; k++) made[k]->outs = &s->stm->outs[k];
}
