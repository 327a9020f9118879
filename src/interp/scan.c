// SPDX-License-Identifier: Apache-2.0
//
// Inclusive scans in their stamped shapes. Float scans go in rows of 16; all others
// left to right in each block, the carry joining in front of what the block found
// alone.
#include "interp/run.h"

static void sink_group(const Fold *f, int64_t i, uint32_t group) {
    for (uint32_t c = 0; c < f->width; c++)
        interp_sink(f->run, f->step, c, i, group + c);
}

static void scan_serially(const Fold *f, int64_t n) {
    uint32_t total = interp_group(f, GROUP_TOTAL);
    for (int64_t i = 0; i < n; i++) {
        interp_turn(f->run, f->step, i);
        if (i == 0)
            interp_fold_first(f, i, total);
        else
            interp_fold_later(f, i, total);
        sink_group(f, i, total);
    }
    interp_drop_all(f->run, total, f->width);
}

// out = carry op group, or group where there is no carry; carry and group stay.
static void join_carry(const Fold *f, bool has_carry, uint32_t carry, uint32_t group,
                       uint32_t out) {
    if (!has_carry) {
        interp_lend(f->run, out, group, f->width);
        return;
    }
    uint32_t left = interp_group(f, GROUP_NEXT);
    interp_lend(f->run, left, carry, f->width);
    interp_lend(f->run, out, group, f->width);
    interp_fold_join(f, out, left, out);
}

// ---- blocks left to right -----------------------------------------------------------

static void scan_blocks(const Fold *f, int64_t n) {
    uint32_t local = interp_group(f, GROUP_TOTAL), carry = interp_group(f, GROUP_CARRY);
    uint32_t out = interp_group(f, GROUP_OUT);
    for (int64_t from = 0; from < n; from += CORE_BLOCK) {
        int64_t to = n - from < CORE_BLOCK ? n : from + CORE_BLOCK;
        for (int64_t i = from; i < to; i++) {
            interp_turn(f->run, f->step, i);
            interp_drop_all(f->run, out, f->width);
            if (i == from)
                interp_fold_first(f, i, local);
            else
                interp_fold_later(f, i, local);
            join_carry(f, from > 0, carry, local, out);
            sink_group(f, i, out);
        }
        // What came out last is what all elements so far amount to.
        interp_drop_all(f->run, carry, f->width);
        interp_give(f->run, carry, out, f->width);
        interp_drop_all(f->run, local, f->width);
    }
    interp_drop_all(f->run, carry, f->width);
}

// ---- rows of 16 ---------------------------------------------------------------------

// Sklansky's scan of m elements: at distance d, the upper half of each 2d elements
// takes in the last of the lower half.
static void scan_row(const Fold *f, uint32_t row, uint32_t m) {
    uint32_t left = interp_group(f, GROUP_NEXT);
    for (uint32_t d = 1; d < m; d *= 2)
        for (uint32_t i = 0; i < m; i++) {
            if ((i / d) % 2 == 0) continue;
            interp_lend(f->run, left, row + (i / d * d - 1) * f->width, f->width);
            interp_fold_join(f, row + i * f->width, left, row + i * f->width);
        }
}

// sum = sum op last, or last where there is no sum yet; last stays.
static void extend(const Fold *f, bool has_sum, uint32_t sum, uint32_t last) {
    uint32_t right = interp_group(f, GROUP_OUT);
    if (!has_sum) {
        interp_lend(f->run, sum, last, f->width);
        return;
    }
    interp_lend(f->run, right, last, f->width);
    interp_fold_join(f, sum, sum, right);
}

// The block's carry is the tree over the totals of the blocks before it. A total is the
// row totals from left to right; the same, begun with the carry, goes along the rows.
static void scan_rows(const Fold *f, int64_t n) {
    uint32_t row = interp_group(f, GROUP_LANES), carry = interp_group(f, GROUP_CARRY);
    uint32_t sum = interp_group(f, GROUP_SUM), out = interp_group(f, GROUP_OUT);
    Tree tree = {.groups = interp_group(f, GROUP_TREE)};
    for (int64_t from = 0; from < n; from += CORE_BLOCK) {
        int64_t end = n - from < CORE_BLOCK ? n : from + CORE_BLOCK;
        bool has_carry = from > 0;
        if (has_carry) interp_tree_total(f, &tree, carry);
        for (int64_t at = from; at < end; at += FOLD_ROW) {
            interp_turn(f->run, f->step, at);
            uint32_t m = (uint32_t)(end - at < FOLD_ROW ? end - at : FOLD_ROW);
            uint32_t last = row + (m - 1) * f->width;
            for (uint32_t i = 0; i < m; i++)
                interp_fold_first(f, at + i, row + i * f->width);
            scan_row(f, row, m);
            for (uint32_t i = 0; i < m; i++) {
                join_carry(f, has_carry, carry, row + i * f->width, out);
                sink_group(f, at + i, out);
                interp_drop_all(f->run, out, f->width);
            }
            extend(f, has_carry, carry, last);
            extend(f, at > from, sum, last);
            has_carry = true;
            interp_drop_all(f->run, row, m * f->width);
        }
        interp_tree_push(f, &tree, sum);
        interp_drop_all(f->run, carry, f->width);
    }
    interp_drop_all(f->run, tree.groups, TREE_LEVELS * f->width);
}

// ---- the whole ----------------------------------------------------------------------

void interp_scan(Run *run, const Step *step) {
    Fold fold = interp_fold(run, step), *f = &fold;
    int64_t n = interp_open_feeds(run, step, 0, f->arrays), open[CORE_MAX_RANK];
    for (uint32_t d = 0; d < CORE_MAX_RANK; d++) open[d] = -1;
    for (uint32_t c = 0; c < f->width; c++) interp_open_sink(run, step, c, 1, &n, open);
    CoreStamp stamp = (CoreStamp)step->stm->stamp;
    Loop loop;
    interp_enter(run, &loop, step, n);
    if (interp_is_serial(stamp, n))
        scan_serially(f, n);
    else if (interp_has_lanes(stamp))
        scan_rows(f, n);
    else
        scan_blocks(f, n);
    interp_leave(run);
    interp_close_feeds(run, step, f->arrays);
    for (uint32_t c = 0; c < f->width; c++) {
        bool is_row = step->sinks[c].row_rank > 0;
        const RtArray *ne =
            is_row ? interp_array(run, step->args[f->arrays + c]) : NULL;
        interp_close_sink(run, step, c, is_row ? ne->shape : NULL);
    }
}
