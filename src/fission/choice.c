// SPDX-License-Identifier: Apache-2.0
//
// What is in parts only if there is enough of it when the program runs.
#include "fission/rules.h"

// From how many elements on bounds are rounded to blocks.
static CoreRef block_least(const FissionSplit *s) {
    return core_i64(s->program, 2 * CORE_BLOCK * (int64_t)s->devices);
}

CoreRef fission_unit(FissionSplit *s) {
    CoreRef is_long = fission_op2(s, OP_LE, block_least(s), s->size);
    CoreRef block = core_i64(s->program, CORE_BLOCK), one = core_i64(s->program, 1);
    return fission_select(s, is_long, block, one);
}

CoreRef fission_condition(FissionSplit *s) {
    if (s->rule->whole == whole_fold_blocks)
        return fission_op2(s, OP_LE, block_least(s), s->size);
    if (s->rule->whole != whole_hist_apart) return 0;
    CoreRef bins = core_i64(s->program, 1);
    for (uint32_t d = 0; d < (uint32_t)s->stm->attrs[1]; d++)
        bins = fission_op2(s, OP_MUL, bins, fission_dim(s, s->stm->args[0], d));
    return fission_op2(s, OP_LE, bins, s->size);
}

CoreBody *fission_uncut(FissionSplit *s) {
    core_open(s->b, NULL, 0);
    CoreFeeds feeds = core_feeds(s->stm);
    CoreRef *args = fission_args(s);
    for (uint32_t i = feeds.first; i < feeds.first + feeds.count; i++) {
        const FissionKnown *known = fission_known(s, args[i]);
        if (known != NULL) args[i] = fission_join(s, 0, known->parts);
    }
    const CoreStm *whole = fission_again(s, args);
    return core_close(s->b, whole->outs, whole->out_count);
}
