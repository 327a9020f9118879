// SPDX-License-Identifier: Apache-2.0
//
// Whether an index is within an array is two comparisons in the program, and one of
// unsigned numbers where the other bound is not negative, as sizes are: compilers do
// not know that of them.
#include "emit/walk.h"

const bool *walk_sizes(const LoopKernel *kernel, Arena *arena) {
    bool *is_size = arena_array(arena, bool, kernel->values.len);
    const LoopRef *param = kernel->root->params;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        param++; // the scalar, or the elements
        for (uint32_t k = 0; k < kernel->params[i].type.rank; k++)
            is_size[*param++] = true;
    }
    return is_size;
}

static bool is_size(const Walker *w, LoopRef ref) {
    const LoopValue *value = &w->kernel->values.data[ref];
    return value->is_const ? (int64_t)value->bits >= 0 : w->is_size[ref];
}

// The comparison of whole numbers that gives it; or NULL.
static const LoopStm *find_order(const Walker *w, LoopRef ref, CoreOp op) {
    const LoopStm *stm = w->made[ref];
    bool is_order = stm != NULL && stm->op == LOOP_SCALAR && stm->scalar == op &&
                    w->kernel->values.data[stm->args[0]].type.elem == SCALAR_I64;
    return is_order ? stm : NULL;
}

bool walk_is_within(const Walker *w, const LoopStm *stm, LoopRef *index_out,
                    LoopRef *size_out) {
    if (stm->scalar != OP_AND) return false;
    const LoopStm *below = find_order(w, stm->args[0], OP_LE);
    const LoopStm *above = find_order(w, stm->args[1], OP_LT);
    if (below == NULL || above == NULL || below->args[1] != above->args[0])
        return false;
    const LoopValue *zero = &w->kernel->values.data[below->args[0]];
    *index_out = above->args[0];
    *size_out = above->args[1];
    return zero->is_const && zero->bits == 0 && is_size(w, *size_out);
}
