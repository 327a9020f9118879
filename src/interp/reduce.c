// SPDX-License-Identifier: Apache-2.0
//
// Reductions in their stamped shapes (design: core.md, "Stage 0"; the page
// docs/internals/interp.md draws them). The shape depends on the stamp and the number
// of elements alone. The first element of a lane, run or block is pre(x), each later
// one acc(so far, x); what was folded apart is joined by op. Neutral elements are the
// answer for no elements and occur nowhere else.
#include "interp/run.h"

Fold interp_fold(Run *run, const Step *step) {
    return (Fold){
        .run = run,
        .step = step,
        .op = step->bodies[0],
        .pre = step->stm->body_count > 1 ? step->bodies[1] : NULL,
        .acc = step->stm->body_count > 2 ? step->bodies[2] : NULL,
        .width = step->bodies[0]->result_count,
        .arrays = (uint32_t)step->stm->attrs[0],
    };
}

// ---- one application of op, pre or acc ----------------------------------------------

void interp_fold_join(const Fold *f, uint32_t to, uint32_t left, uint32_t right) {
    interp_give(f->run, f->op->param, left, f->width);
    interp_give(f->run, f->op->param + f->width, right, f->width);
    interp_code(f->run, f->op);
    interp_take(f->run, f->op, to);
}

void interp_fold_first(const Fold *f, int64_t i, uint32_t group) {
    if (f->pre == NULL) {
        interp_feed(f->run, f->step, 0, f->arrays, i, group);
        return;
    }
    interp_feed(f->run, f->step, 0, f->arrays, i, f->pre->param);
    interp_code(f->run, f->pre);
    interp_take(f->run, f->pre, group);
}

void interp_fold_later(const Fold *f, int64_t i, uint32_t group) {
    if (f->pre != NULL && f->acc == NULL) {
        uint32_t next = interp_group(f, GROUP_NEXT);
        interp_fold_first(f, i, next);
        interp_fold_join(f, group, group, next);
        return;
    }
    const Code *acc = f->acc != NULL ? f->acc : f->op;
    interp_give(f->run, acc->param, group, f->width);
    interp_feed(f->run, f->step, 0, f->arrays, i, acc->param + f->width);
    interp_code(f->run, acc);
    interp_take(f->run, acc, group);
}

// ---- trees --------------------------------------------------------------------------

static uint32_t level_group(const Fold *f, const Tree *tree, uint32_t level) {
    return tree->groups + level * f->width;
}

void interp_tree_push(const Fold *f, Tree *tree, uint32_t group) {
    uint32_t level = 0;
    for (; (tree->count >> level & 1) != 0; level++)
        interp_fold_join(f, group, level_group(f, tree, level), group);
    interp_give(f->run, level_group(f, tree, level), group, f->width);
    tree->count++;
}

void interp_tree_total(const Fold *f, const Tree *tree, uint32_t group) {
    uint32_t left = interp_group(f, GROUP_NEXT);
    bool is_first = true;
    for (uint32_t level = 0; level < TREE_LEVELS; level++) {
        if ((tree->count >> level & 1) == 0) continue;
        interp_lend(f->run, is_first ? group : left, level_group(f, tree, level),
                    f->width);
        if (!is_first) interp_fold_join(f, group, left, group);
        is_first = false;
    }
}

// ---- the shapes of a block ----------------------------------------------------------

// Left to right.
static void fold_serially(const Fold *f, int64_t from, int64_t to, uint32_t group) {
    interp_fold_first(f, from, group);
    for (int64_t i = from + 1; i < to; i++) {
        interp_turn(f->run, f->step, i);
        interp_fold_later(f, i, group);
    }
}

// Contiguous runs, then neighbours pairwise: so the order of operands is kept, and the
// operator need not commute.
static void fold_runs(const Fold *f, int64_t from, int64_t to, uint32_t group) {
    enum { RUN = CORE_BLOCK / FOLD_LANES };
    uint32_t lanes = interp_group(f, GROUP_LANES);
    int64_t count = (to - from + RUN - 1) / RUN;
    for (int64_t r = 0; r < count; r++) {
        int64_t start = from + r * RUN, end = start + RUN < to ? start + RUN : to;
        fold_serially(f, start, end, lanes + (uint32_t)r * f->width);
    }
    for (uint32_t apart = 1; apart < (uint32_t)count; apart *= 2)
        for (uint32_t r = 0; r + apart < (uint32_t)count; r += 2 * apart)
            interp_fold_join(f, lanes + r * f->width, lanes + r * f->width,
                             lanes + (r + apart) * f->width);
    interp_give(f->run, group, lanes, f->width);
}

// How many lanes a component of the operator's value has.
static uint32_t lanes_of(const Fold *f, uint32_t component) {
    ScalarType elem = interp_elem(f->run, f->step->stm->outs[component]);
    return scalar_info[elem].bytes == 8 ? FOLD_LANES / 2 : FOLD_LANES;
}

// Element j goes to lane j mod lanes. The components are independent but may have
// different numbers of lanes, so that one is in its first round while another is past
// it: then pre and acc both run, each for the components it is meant for.
static void fold_into_lanes(const Fold *f, int64_t from, int64_t to, uint32_t lanes) {
    Slot *slots = f->run->slots.data;
    uint32_t first = interp_group(f, GROUP_NEXT), later = interp_group(f, GROUP_SUM);
    for (int64_t j = 0; j < to - from; j++) {
        interp_turn(f->run, f->step, from + j);
        bool any_first = false, any_later = false;
        for (uint32_t c = 0; c < f->width; c++) {
            uint32_t lane = (uint32_t)(j % lanes_of(f, c)), count = lanes_of(f, c);
            slots[later + c] = slots[lanes + lane * f->width + c];
            any_first = any_first || j < count;
            any_later = any_later || j >= count;
        }
        if (any_later) interp_fold_later(f, from + j, later);
        if (any_first) interp_fold_first(f, from + j, first);
        for (uint32_t c = 0; c < f->width; c++) {
            uint32_t lane = (uint32_t)(j % lanes_of(f, c)), count = lanes_of(f, c);
            slots[lanes + lane * f->width + c] = slots[(j < count ? first : later) + c];
        }
    }
}

// Halves until one lane of component c is left: lane i takes in lane i + half if that
// one has elements. The other components of op see whatever there is.
static void fold_halves(const Fold *f, uint32_t c, int64_t count, uint32_t lanes) {
    Slot *slots = f->run->slots.data;
    uint32_t left = interp_group(f, GROUP_SUM), right = interp_group(f, GROUP_NEXT);
    for (uint32_t half = lanes_of(f, c) / 2; half > 0; half /= 2) {
        for (uint32_t i = 0; i < half && i + half < count; i++) {
            interp_lend(f->run, left, lanes, f->width);
            interp_lend(f->run, right, lanes, f->width);
            slots[left + c] = slots[lanes + i * f->width + c];
            slots[right + c] = slots[lanes + (i + half) * f->width + c];
            interp_fold_join(f, left, left, right);
            slots[lanes + i * f->width + c] = slots[left + c];
        }
    }
}

static void fold_lanes(const Fold *f, int64_t from, int64_t to, uint32_t group) {
    uint32_t lanes = interp_group(f, GROUP_LANES);
    fold_into_lanes(f, from, to, lanes);
    for (uint32_t c = 0; c < f->width; c++) fold_halves(f, c, to - from, lanes);
    interp_give(f->run, group, lanes, f->width);
}

static void fold_block(const Fold *f, int64_t from, int64_t to, uint32_t group) {
    switch ((CoreStamp)f->step->stm->stamp) {
    case STAMP_NESTED_LANES: case STAMP_OUTER_LANES:
        fold_lanes(f, from, to, group);
        return;
    case STAMP_NESTED_RUNS: case STAMP_OUTER_RUNS:
        fold_runs(f, from, to, group);
        return;
    case STAMP_NESTED_ROWS: case STAMP_OUTER_ROWS: case STAMP_FREE: case STAMP_NONE:
    case STAMP_PARTS: case STAMP_COUNT:
        fold_serially(f, from, to, group);
        return;
    }
}

// ---- the whole ----------------------------------------------------------------------

void interp_reduce(Run *run, const Step *step) {
    Fold fold = interp_fold(run, step), *f = &fold;
    int64_t n = interp_open_feeds(run, step, 0, f->arrays);
    uint32_t total = interp_group(f, GROUP_TOTAL);
    if (n == 0) {
        for (uint32_t c = 0; c < f->width; c++)
            interp_lend(run, step->out + c, step->args[f->arrays + c], 1);
        return;
    }
    Loop loop;
    interp_enter(run, &loop, step, n);
    if (interp_is_serial((CoreStamp)step->stm->stamp, n)) {
        fold_serially(f, 0, n, total);
    } else {
        Tree tree = {.groups = interp_group(f, GROUP_TREE)};
        for (int64_t from = 0; from < n; from += CORE_BLOCK) {
            int64_t to = n - from < CORE_BLOCK ? n : from + CORE_BLOCK;
            fold_block(f, from, to, total);
            interp_tree_push(f, &tree, total);
        }
        interp_tree_total(f, &tree, total);
        interp_drop_all(run, tree.groups, TREE_LEVELS * f->width);
    }
    interp_leave(run);
    interp_close_feeds(run, step, f->arrays);
    interp_give(run, step->out, total, f->width);
}
