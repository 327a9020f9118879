// SPDX-License-Identifier: Apache-2.0
//
// Stencils by indices: what a generate looks at near its own index (opt/fuse_offset.c),
// and its body as that of a part, which sees a part of each such array. For the rules
// that cut such a generate (rules_near.c), and loops of them (rules_deep.c).
#ifndef WEFT_FISSION_NEAR_H
#define WEFT_FISSION_NEAR_H

#include "fission/rules.h"
#include "opt/fuse.h"

enum { NEAR_MOST_ENDS = 2 * FUSE_WIDEST_END };

// An index by which the body looks at arrays.
typedef struct NearSite {
    CoreRef index;
    FuseOffset offset;
    CoreRefs arrays;
} NearSite;

// What elements of a part that are near its ends find by it: element i[k] finds what is
// by[k] away from it in the part, or, if these are not NULL, the first row of from[k],
// by the number of the array.
typedef struct NearEnds {
    uint32_t count;
    CoreRef i[NEAR_MOST_ENDS];
    int64_t by[NEAR_MOST_ENDS];
    CoreRef *from[NEAR_MOST_ENDS];
} NearEnds;

typedef struct NearPart {
    FissionSplit *s;
    uint32_t p;
    CoreRef i;      // of the part
    NearEnds *ends; // by site
} NearPart;

typedef struct FissionNear {
    const FissionSplit *s;
    Map bound;  // in the body
    Map arrays; // of outside that elements are taken of: whether near, or far
    Map cut;    // array -> FissionKnown, where it was not in parts
    struct {
        NearSite *data;
        uint32_t len, cap;
    } sites;
    NearPart parts[FISSION_MOST_PARTS];
} FissionNear;

// The arrays that the body of the generate looks at near its index, all of them there.
CoreRefs near_looks(const FissionSplit *s);
// Looks at the body of the generate, and notes all sites; sets s->near.
void near_find(FissionSplit *s);
// Each of the arrays that are all near, in the order in which the body looks at them.
CoreRefs near_arrays(const FissionSplit *s);
// The parts of such an array, known or cut; NULL: there are none.
const FissionKnown *near_parts(const FissionSplit *s, CoreRef array);
// Makes a copy of the body that of the part, statement by statement; it may have more
// in front.
void near_change(NearPart *part, const CoreBody *body, CoreBody *copy);

#endif
