// SPDX-License-Identifier: Apache-2.0
//
// Dead memory used again: a map or generate of scalars may write where it reads, if
// each element is read by its own turn alone and nobody reads it afterwards. A
// parameter is left alone: to overwrite it, its owner might have to copy it.
#include "loop/lower.h"

// Whether all that the body does with the array is to look at the element of its turn,
// whose indices are the first `rank` params.
static bool reads_own_element(const CoreBody *body, CoreRef array, const CoreBody *turn,
                              uint32_t rank) {
    for (uint32_t i = 0; i < body->result_count; i++)
        if (body->results[i] == array) return false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        bool is_own = stm->op == OP_INDEX && stm->arg_count == 1 + rank;
        for (uint32_t d = 0; d < rank && is_own; d++)
            is_own = stm->args[1 + d] == turn->params[d];
        for (uint32_t k = 0; k < stm->arg_count; k++) {
            if (stm->args[k] != array || stm->op == OP_DIM) continue;
            if (k > 0 || !is_own) return false;
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!reads_own_element(stm->bodies[k], array, turn, rank)) return false;
    }
    return true;
}

// Turns with loops inside may be made in blocks, and some of them twice.
static bool has_loops(const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_CALL || (stm->body_count > 0 && stm->op != OP_IF))
            return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (has_loops(stm->bodies[k])) return true;
    }
    return false;
}

static bool is_read_in_turn(const CoreStm *stm, CoreRef array, uint32_t rank) {
    const CoreBody *body = stm->bodies[0];
    uint32_t feeds = stm->op == OP_MAP ? (uint32_t)stm->attrs[0] : 0;
    for (uint32_t i = feeds; i < stm->arg_count; i++)
        if (stm->args[i] == array) return false;
    if (stm->op == OP_GENERATE) return reads_own_element(body, array, body, rank);
    return rank == 1 && reads_own_element(body, array, body, 0);
}

static bool has_shape(Lower *l, const Array *a, uint32_t rank, const LoopRef *shape) {
    uint64_t bits;
    return a->rank == rank &&
           loop_is_known(l->b, loop_same_shape(l, rank, a->shape, shape), &bits) &&
           bits != 0;
}

// Whether another result is made there.
static bool is_taken(Lower *l, Array *const *outs, uint32_t k, const Array *a) {
    for (uint32_t i = 0; i < k; i++)
        if (outs[i] != NULL && loop_same(l->b, outs[i]->buf, a->buf)) return true;
    return false;
}

Array *loop_reuse(Lower *l, const CoreStm *stm, uint32_t k, uint32_t rank,
                  const LoopRef *shape, Array *const *outs) {
    const Uses *uses = loop_uses(l, stm);
    const Home *place = loop_name(l, stm->outs[k])->place;
    if ((place != NULL && !place->is_taken) || has_loops(stm->bodies[0])) return NULL;
    for (uint32_t i = 0; i < uses->dead_count; i++) {
        CoreRef ref = uses->dead[i];
        Array *a = loop_array(l, ref);
        if (a == NULL || a->elem != loop_core_type(l, stm->outs[k]).elem ||
            !a->is_dense || !loop_is_alone(l, a, ref) || is_taken(l, outs, k, a) ||
            !has_shape(l, a, rank, shape) || !is_read_in_turn(stm, ref, rank) ||
            loop_block_of(l, a)->is_lent)
            continue;
        loop_take(l, a);
        return a;
    }
    return NULL;
}
