// SPDX-License-Identifier: Apache-2.0
//
// Maps of maps of rows, as one statement over all their dimensions.
#include "opt/fuse.h"

static bool is_param(const CoreBody *body, CoreRef ref) {
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == ref) return true;
    return false;
}

// Whether the inner map makes rows of the sizes that the outer one says, of as many
// results.
static bool says_same_rows(const CoreStm *outer, const CoreStm *inner) {
    uint32_t said = core_feeds(outer).count, own = core_feeds(inner).count;
    uint32_t outs = outer->out_count;
    if (outs == 0 || inner->out_count != outs) return false;
    uint32_t rank = (outer->arg_count - said) / outs;
    if (inner->arg_count - own != outs * (rank - 1)) return false;
    for (uint32_t k = 0; k < outs; k++)
        if (!fuse_are_same(outer->args + said + k * rank + 1,
                           inner->args + own + k * (rank - 1), rank - 1))
            return false;
    return true;
}

uint32_t fuse_nest_depth(const CoreStm *map, const CoreStm **innermost_out) {
    uint32_t depth = 1;
    for (;; depth++) {
        const CoreBody *body = map->bodies[0];
        *innermost_out = map;
        if (map->op != OP_MAP || body->stms.len != 1) return depth;
        const CoreStm *inner = body->stms.data[0];
        if (inner->op != OP_MAP || !says_same_rows(map, inner) ||
            !fuse_are_same(body->results, inner->outs, inner->out_count))
            return depth;
        for (uint32_t i = 0; i < core_feeds(inner).count; i++)
            if (!is_param(body, inner->args[i])) return depth;
        map = inner;
    }
}

bool fuse_has_shape(Rewrite *rw, const CoreStm *stm, CoreRef like, uint32_t depth) {
    const FuseState *states = fuse_states_here(rw);
    uint32_t feeds = core_feeds(stm).count;
    for (int32_t axis = 0; axis < (int32_t)depth; axis++) {
        FuseSize said = {.array = like, .axis = axis};
        FuseSize size = fuse_find_size(rw, states, said);
        for (uint32_t i = 0; i < feeds; i++) {
            if (core_type(rw->program, stm->args[i]).rank <= axis) continue;
            FuseSize own = {.array = stm->args[i], .axis = axis};
            if (!fuse_is_equal(fuse_find_size(rw, states, own), size)) return false;
        }
        for (uint32_t i = 0; i < stm->out_count && axis > 0; i++) {
            uint32_t at = feeds + i * (depth - 1) + (uint32_t)axis - 1;
            FuseSize row = {.value = stm->args[at]};
            if (!fuse_is_equal(fuse_find_size(rw, states, row), size)) return false;
        }
    }
    return true;
}
