// SPDX-License-Identifier: Apache-2.0
//
// How often a value is taken.
#include "loop/loop.h"

static uint32_t count_in(const LoopRef *refs, uint32_t count, LoopRef ref) {
    uint32_t uses = 0;
    for (uint32_t i = 0; i < count; i++) uses += refs[i] == ref;
    return uses;
}

uint32_t loop_count_uses_by(const LoopStm *stm, LoopRef ref) {
    uint32_t uses = count_in(stm->args, stm->arg_count, ref);
    for (uint32_t k = 0; k < stm->body_count; k++)
        uses += loop_count_uses(stm->bodies[k], ref);
    return uses;
}

uint32_t loop_count_uses(const LoopBody *body, LoopRef ref) {
    uint32_t uses = count_in(body->results, body->result_count, ref);
    for (uint32_t i = 0; i < body->stms.len; i++)
        uses += loop_count_uses_by(body->stms.data[i], ref);
    return uses;
}
