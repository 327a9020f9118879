// SPDX-License-Identifier: Apache-2.0
//
// Sizes as products: of a number, and values that are no products themselves.
#ifndef WEFT_LOOP_PRODUCT_H
#define WEFT_LOOP_PRODUCT_H

#include "loop/build.h"

enum { PRODUCT_MOST_FACTORS = 8 };

typedef struct LoopProduct {
    uint64_t number;                       // 1 at first
    LoopRef factors[PRODUCT_MOST_FACTORS]; // ascending
    uint32_t count;
} LoopProduct;

// Multiplies it with the value; `sites`: of the values that there were when the builder
// was made. False: there are too many factors.
bool loop_multiply(const LoopBuilder *b, const LoopSite *sites, LoopProduct *p,
                   LoopRef ref);
bool loop_is_equal_product(const LoopProduct *p, const LoopProduct *q);
// Whether the value is the product.
bool loop_is_product(const LoopBuilder *b, const LoopSite *sites, LoopRef ref,
                     const LoopProduct *p);

#endif
