// SPDX-License-Identifier: Apache-2.0
//
// Elements in places all over, of arrays that may be short. Lanes that want elements
// of an array that fits a register take them out of there in one instruction, where
// loads go lane by lane. How long an array is shows when the kernel runs; so the load
// is told, and whoever makes code of it asks.
#include "loop/passes.h"

#include "loop/build.h"

typedef struct Lookup {
    LoopBuilder *b;
    Map sizes; // by buffer, of a param of rank 1
} Lookup;

static void note_params(Lookup *x) {
    const LoopKernel *kernel = x->b->kernel;
    const LoopRef *param = kernel->root->params;
    map_init(&x->sizes, loop_notes(x->b->kernel));
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        uint32_t rank = kernel->params[i].type.rank;
        if (rank == 1) map_set(&x->sizes, loop_find(x->b, param[0]), param[1]);
        param += 1 + rank;
    }
}

// Whether it is a load of elements of 32 or 64 bits, each lane's from a place of its
// own.
static bool suits(const Lookup *x, const LoopStm *stm) {
    if (stm->op != LOOP_LOAD || stm->arg_count != 4) return false;
    LoopType place = loop_type(x->b, stm->args[3]);
    ScalarType elem = (ScalarType)loop_type(x->b, stm->outs[0]).elem;
    return place.lanes > 0 && place.elem == SCALAR_I64 &&
           scalar_info[elem].bytes >= 4 && loop_is_int(x->b, stm->args[1], 0) &&
           loop_is_int(x->b, stm->args[2], 1);
}

static void look(const Lookup *x, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        uint64_t size;
        for (uint32_t k = 0; k < stm->body_count; k++) look(x, stm->bodies[k]);
        if (!suits(x, stm) || !map_get(&x->sizes, loop_find(x->b, stm->args[0]), &size))
            continue;
        stm->op = LOOP_LOOKUP;
        stm->args[1] = stm->args[3];
        stm->args[2] = (LoopRef)size;
        stm->arg_count = 3;
    }
}

void loop_lookup(LoopKernel *kernel) {
    if (kernel->vector_bytes == 0) return;
    LoopBuilder b = loop_builder(kernel);
    Lookup x = {.b = &b};
    note_params(&x);
    look(&x, kernel->root);
}
