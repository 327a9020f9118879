// SPDX-License-Identifier: Apache-2.0
//
// The functions of the rules, by what they are in FissionRule; rules.c is the table.
#ifndef WEFT_FISSION_RULES_H
#define WEFT_FISSION_RULES_H

#include "fission/split.h"

typedef bool FissionGuard(const FissionSplit *s);
typedef CoreRef FissionSize(FissionSplit *s);
typedef void FissionPart(FissionSplit *s, uint32_t p, CoreRef *results);
typedef void FissionWhole(FissionSplit *s);

// rules_make.c
FissionGuard guard_outer, guard_any_dim, guard_list, guard_generate, guard_slice;
FissionSize size_literal, size_list, size_first_arg, size_replicate, size_generate,
    size_view;
FissionPart part_literal, part_list, part_iota, part_replicate, part_generate,
    part_view;

// Part p of a generate: its body counts on from where the part begins.
CoreStm *fission_generate(FissionSplit *s, uint32_t p);
// Where no index of the whole fails none of a part does; but a kernel that is handed
// where the part begins could not prove it.
void fission_leave_checks_out(CoreBody *body);

// rules_map.c
FissionGuard guard_map, guard_zip, guard_stencil;
FissionSize fission_feed_length;
FissionPart part_map, part_stencil;

// rules_near.c
FissionGuard guard_near;
FissionPart part_near;
// The arrays of which a part that part_near makes takes a part; none: the guard fails.
CoreRefs fission_near(const FissionSplit *s);

// rules_deep.c
FissionGuard guard_deep;
FissionSize size_deep;
FissionWhole whole_deep;
// What makes an element of what the loop carries.
const CoreBody *fission_turn(const FissionSplit *s);

// rules_inner.c
FissionGuard guard_inner, guard_inner_fold, guard_inner_scan, guard_inner_hist;
FissionSize size_inner;
FissionPart part_inner;
// The operator of the fold, or of the fold, scan or histogram inside the nest.
const CoreBody *fission_inner_op(const FissionSplit *s);

// rules_rows.c
FissionWhole whole_inner_scan, whole_inner_hist;

// rules_fold.c
FissionGuard guard_fold, guard_blocks;
FissionWhole whole_blocks, whole_fold_blocks;

// rules_scan.c
FissionWhole whole_scan, whole_scan_blocks;

// rules_place.c
FissionGuard guard_exact, guard_hist_apart, guard_hist_bins;
FissionSize size_places;
FissionPart part_places;
FissionWhole whole_chain, whole_hist_apart, whole_seq;
// Whether parts of what goes into the bins may go into bins of their own.
bool fission_bins_may_be_apart(const FissionSplit *s, const CoreStm *hist);
// Bins of the shape of those that result k goes into, with its neutral element in each.
CoreRef fission_neutral_bins(FissionSplit *s, const CoreStm *hist, uint32_t k);
// Element by element, left op right.
CoreStm *fission_join_bins(FissionSplit *s, const CoreBody *op, const CoreRef *left,
                           const CoreRef *right);
// Opens the indices of an array of the shape of `like`, and sets its sizes.
CoreRef *fission_open_space(FissionSplit *s, CoreRef like, CoreRef *sizes);
// The element of the array at these indices.
CoreRef fission_cell(FissionSplit *s, CoreRef array, const CoreRef *i);

// rules_sort.c
FissionWhole whole_sort;

// Joins results[p * width + k], which may be arrays of one shape, by the operator, into
// the results of the whole. Parts without elements do not count (rules_fold.c).
void fission_fold(FissionSplit *s, const CoreBody *op, const CoreRef *results);

// ---- for reductions and scans (rules_fold.c) ----------------------------------------

const CoreRef *fission_neutral(const FissionSplit *s);
// yes if c, else no.
CoreStm *fission_if(FissionSplit *s, CoreRef c, CoreBody *yes, CoreBody *no,
                    const CoreType *types, uint32_t count);
// A body without statements.
CoreBody *fission_body(FissionSplit *s, const CoreRef *results, uint32_t count);
void fission_types(const FissionSplit *s, const CoreRef *refs, uint32_t count,
                   CoreType *types);
// The statement itself, of a range of the arrays that are its first args.
CoreStm *fission_range(FissionSplit *s, const CoreRef *args, CoreRef start,
                       CoreRef length);
// Levels that join neighbours until at most one total is left.
CoreStm *fission_tree(FissionSplit *s, const CoreRef *totals, uint32_t width);

// ---- for the strategy (choice.c) ----------------------------------------------------

// Of what bounds are multiples so that sums of floats can be cut there: a block, or 1
// if there are too few blocks for so many parts.
CoreRef fission_unit(FissionSplit *s);
// What must hold for the operator to be cut, besides that there is enough to do; 0:
// nothing. Blocks are enough for all parts, or bins no more than what goes into them.
CoreRef fission_condition(FissionSplit *s);
// The operator as it is, of arrays that are joined here alone if they are in parts.
CoreBody *fission_uncut(FissionSplit *s);

#endif
