// SPDX-License-Identifier: Apache-2.0
//
// Places that are known to be within an array of known sizes: each dimension has an
// index at most once, which is one of it, and the others are not empty.
#include "loop/range.h"

static bool is_product(Ranges *r, LoopRef ref, LoopRef x, LoopRef y) {
    const LoopStm *def = range_value(r, loop_find(r->b, ref))->def;
    return def != NULL && def->op == LOOP_SCALAR && def->scalar == OP_MUL &&
           ((loop_same(r->b, def->args[0], x) && loop_same(r->b, def->args[1], y)) ||
            (loop_same(r->b, def->args[0], y) && loop_same(r->b, def->args[1], x)));
}

// The dimension along which the stride goes, of an array that lies without gaps; rank:
// it is not one of the last three.
static uint32_t dimension_of(Ranges *r, const RangeValue *array, LoopRef stride) {
    const LoopRef *sizes = array->sizes;
    uint32_t rank = array->rank;
    if (loop_is_int(r->b, stride, 1)) return rank - 1;
    if (rank > 1 && loop_same(r->b, stride, sizes[rank - 1])) return rank - 2;
    if (rank > 2 && is_product(r, stride, sizes[rank - 2], sizes[rank - 1]))
        return rank - 3;
    return rank;
}

bool range_is_inside(Ranges *r, const LoopStm *load) {
    enum { MOST_RANK = 8 };
    bool is_found[MOST_RANK] = {false};
    RangeValue array = *range_value(r, loop_find(r->b, load->args[0]));
    if (array.sizes == NULL || array.rank == 0 || array.rank > MOST_RANK ||
        !loop_is_int(r->b, load->args[1], 0))
        return false;
    for (uint32_t i = 2; i + 1 < load->arg_count; i += 2) {
        uint32_t axis = dimension_of(r, &array, load->args[i]);
        if (axis == array.rank || is_found[axis] ||
            !range_is_at_least(r, load->args[i + 1], 0) ||
            !range_is_least(r, array.sizes[axis], load->args[i + 1], 1))
            return false;
        is_found[axis] = true;
    }
    for (uint32_t i = 0; i < array.rank; i++)
        if (!is_found[i] && !range_is_at_least(r, array.sizes[i], 1)) return false;
    return true;
}
