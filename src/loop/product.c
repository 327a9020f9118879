// SPDX-License-Identifier: Apache-2.0
#include "loop/product.h"

bool loop_multiply(const LoopBuilder *b, const LoopSite *sites, LoopProduct *p,
                   LoopRef ref) {
    uint64_t bits;
    if (loop_is_known(b, ref, &bits)) {
        p->number *= bits;
        return true;
    }
    ref = loop_find(b, ref);
    const LoopStm *def = ref < b->old ? sites[ref].def : NULL;
    if (def != NULL && def->op == LOOP_SCALAR && def->scalar == OP_MUL)
        return loop_multiply(b, sites, p, def->args[0]) &&
               loop_multiply(b, sites, p, def->args[1]);
    if (p->count == PRODUCT_MOST_FACTORS) return false;
    uint32_t at = p->count++;
    for (; at > 0 && p->factors[at - 1] > ref; at--)
        p->factors[at] = p->factors[at - 1];
    p->factors[at] = ref;
    return true;
}

bool loop_is_equal_product(const LoopProduct *p, const LoopProduct *q) {
    if (q->number != p->number || q->count != p->count) return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (q->factors[i] != p->factors[i]) return false;
    return true;
}

bool loop_is_product(const LoopBuilder *b, const LoopSite *sites, LoopRef ref,
                     const LoopProduct *p) {
    LoopProduct q = {.number = 1};
    return loop_multiply(b, sites, &q, ref) && loop_is_equal_product(p, &q);
}
