// SPDX-License-Identifier: Apache-2.0
#include "loop/depend.h"

bool depend_any(const LoopBuilder *b, const Map *set, const LoopRef *refs,
                uint32_t count) {
    uint64_t unused;
    for (uint32_t i = 0; i < count; i++)
        if (map_get(set, loop_find(b, refs[i]), &unused)) return true;
    return false;
}

static void add_all(Map *set, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) map_set(set, refs[i], 1);
}

void depend_spread(const LoopBuilder *b, Map *set, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool any = depend_any(b, set, stm->args, stm->arg_count);
        for (uint32_t k = 0; k < stm->body_count; k++) {
            const LoopBody *inner = stm->bodies[k];
            if (any) add_all(set, inner->params, inner->param_count);
            depend_spread(b, set, inner);
            any = any || depend_any(b, set, inner->results, inner->result_count);
        }
        if (any) add_all(set, stm->outs, stm->out_count);
    }
}

bool depend_is_free(const LoopBuilder *b, const Map *set, const LoopStm *stm) {
    return !depend_any(b, set, stm->args, stm->arg_count) &&
           !depend_any(b, set, stm->outs, stm->out_count);
}
