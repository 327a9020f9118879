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

// rules_map.c
FissionGuard guard_map, guard_zip, guard_stencil;
FissionSize fission_feed_length;
FissionPart part_map, part_stencil;

// rules_inner.c
FissionGuard guard_inner, guard_inner_fold;
FissionSize size_inner;
FissionPart part_inner;
// The operator of the fold, or of the fold inside the nest.
const CoreBody *fission_inner_op(const FissionSplit *s);

// rules_fold.c
FissionGuard guard_fold, guard_blocks;
FissionWhole whole_blocks, whole_scan, whole_scan_blocks;

// rules_place.c
FissionGuard guard_exact, guard_hist_apart, guard_hist_bins;
FissionSize size_places;
FissionPart part_places;
FissionWhole whole_chain, whole_hist_apart, whole_seq;

// rules_sort.c
FissionWhole whole_sort;

// Joins results[p * width + k], which may be arrays of one shape, by the operator, into
// the results of the whole. Parts without elements do not count (rules_fold.c).
void fission_fold(FissionSplit *s, const CoreBody *op, const CoreRef *results);

#endif
