// SPDX-License-Identifier: Apache-2.0
//
// Small arrays that are stored to and loaded from at known places become scalars, one
// for each element, where no loop or branch lies between the array and its stores: what
// a place holds is what was stored there last.
#include "loop/build.h"
#include "loop/passes.h"

enum { MOST_ELEMENTS = 64 };

typedef struct Registers {
    LoopBuilder b;
    LoopRef buffer;
    uint64_t size;
    LoopRef held[MOST_ELEMENTS]; // what each element holds; 0: nothing yet
    bool has_changed;
} Registers;

// The element that a load or store is of; false: it is not known, or none.
static bool find_element(const Registers *r, const LoopStm *stm, uint64_t *at_out) {
    uint32_t first = stm->op == LOOP_LOAD ? 1 : 2;
    uint64_t stride, index;
    if (!loop_is_known(&r->b, stm->args[first], at_out)) return false;
    for (uint32_t i = first + 1; i + 1 < stm->arg_count; i += 2) {
        if (!loop_is_known(&r->b, stm->args[i], &stride) ||
            !loop_is_known(&r->b, stm->args[i + 1], &index))
            return false;
        *at_out += stride * index;
    }
    return *at_out < r->size;
}

static bool uses(const Registers *r, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (loop_same(&r->b, refs[i], r->buffer)) return true;
    return false;
}

// Goes over the statements from `at` on as they run. With `change`, loads become what
// they load, and stores go; before that, whether they all can. `is_inner`: the body is
// within that of the array.
static bool visit(Registers *r, LoopBody *body, uint32_t at, bool is_inner,
                  bool change) {
    uint32_t kept = at;
    uint64_t element;
    for (uint32_t i = at; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        bool is_used = uses(r, stm->args, stm->arg_count);
        if (is_used && stm->op == LOOP_LOAD) {
            if (!find_element(r, stm, &element) || r->held[element] == 0) return false;
            if (change) loop_identify(&r->b, stm->outs[0], r->held[element]);
        } else if (is_used) {
            if (stm->op != LOOP_STORE || is_inner || !find_element(r, stm, &element))
                return false;
            r->held[element] = loop_find(&r->b, stm->args[1]);
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!visit(r, stm->bodies[k], 0, true, change)) return false;
        if (!is_used || !change) body->stms.data[kept++] = stm;
    }
    if (change) body->stms.len = kept;
    return !uses(r, body->results, body->result_count);
}

static void take_body(Registers *r, LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++) take_body(r, stm->bodies[k]);
        if (stm->op != LOOP_ALLOC || !loop_is_known(&r->b, stm->args[0], &r->size) ||
            r->size > MOST_ELEMENTS)
            continue;
        for (int change = 0; change < 2; change++) {
            r->buffer = stm->outs[0];
            for (int k = 0; k < MOST_ELEMENTS; k++) r->held[k] = 0;
            r->has_changed = r->has_changed || change == 1;
            if (!visit(r, body, i + 1, false, change == 1)) break;
        }
    }
}

void loop_registers(LoopKernel *kernel) {
    Registers r = {.b = loop_builder(kernel)};
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        take_body(&r, kernel->funs.data[i].body);
    take_body(&r, kernel->root);
    if (r.has_changed) loop_tidy(&r.b);
}
