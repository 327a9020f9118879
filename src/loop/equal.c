// SPDX-License-Identifier: Apache-2.0
//
// Sizes that a check has found equal. Behind `check(x == y)` there is one of the two: a
// constant, or else the value that was bound first. What has been computed of them
// before, such as the product of two sizes, is a constant behind it if they are. So a
// program that asks for images of 28 by 28 has loops of 28 turns, and places of rows
// that are constants in the code.
//
// The check itself, and what comes before it, is as it was. A fact of a body ends with
// it.
#include "loop/build.h"
#include "loop/passes.h"

typedef struct Equal {
    LoopBuilder b;
    uint32_t old;         // values from here on are constants of ours
    const LoopStm **defs; // by LoopRef, of scalars
    LoopRef *same;        // by LoopRef: what it has been found equal to, or 0
    LoopRefs found;       // for which there is such a value, in order
} Equal;

enum { MOST_STEPS = 8 }; // from a value back to what it is computed from

// What the value is here.
static LoopRef find(Equal *e, LoopRef ref, int steps) {
    while (ref < e->old && e->same[ref] != 0) ref = e->same[ref];
    const LoopStm *def = ref < e->old ? e->defs[ref] : NULL;
    if (def == NULL || steps == 0 || e->found.len == 0) return ref;
    LoopRef args[3];
    uint64_t bits[3], result;
    for (uint32_t i = 0; i < def->arg_count; i++) {
        args[i] = find(e, def->args[i], steps - 1);
        if (!loop_is_known(&e->b, args[i], &bits[i])) return ref;
    }
    ScalarType in = (ScalarType)loop_type(&e->b, def->args[0]).elem;
    ScalarType to = (ScalarType)loop_type(&e->b, ref).elem;
    if (core_eval(def->scalar, in, to, bits, &result) != FAULT_NONE) return ref;
    return loop_const(&e->b, to, result);
}

static void redirect(Equal *e, LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) refs[i] = find(e, refs[i], MOST_STEPS);
}

static void learn(Equal *e, LoopRef condition) {
    const LoopStm *def = condition < e->old ? e->defs[condition] : NULL;
    if (def == NULL || def->scalar != OP_EQ ||
        scalar_is_float((ScalarType)loop_type(&e->b, def->args[0]).elem))
        return;
    LoopRef x = find(e, def->args[0], MOST_STEPS),
            y = find(e, def->args[1], MOST_STEPS);
    uint64_t bits;
    bool swaps = loop_is_known(&e->b, x, &bits) || x < y;
    LoopRef from = swaps ? y : x, to = swaps ? x : y;
    if (loop_is_known(&e->b, y, &bits)) from = x, to = y;
    if (from == to || from >= e->old || loop_is_known(&e->b, from, &bits)) return;
    e->same[from] = to;
    vec_push(e->b.arena, &e->found, from);
}

static void walk_body(Equal *e, LoopBody *body) {
    uint32_t found = e->found.len;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        redirect(e, stm->args, stm->arg_count);
        if (stm->op == LOOP_SCALAR) e->defs[stm->outs[0]] = stm;
        if (stm->op == LOOP_CHECK) learn(e, stm->args[0]);
        for (uint32_t k = 0; k < stm->body_count; k++) walk_body(e, stm->bodies[k]);
    }
    redirect(e, body->results, body->result_count);
    while (e->found.len > found) e->same[e->found.data[--e->found.len]] = 0;
}

static bool is_check(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_CHECK;
}

void loop_equal(LoopKernel *kernel) {
    if (!loop_kernel_has(kernel, is_check, 0)) return;
    Equal e = {.b = loop_builder(kernel), .old = kernel->values.len};
    e.defs = arena_array(loop_notes(kernel), const LoopStm *, e.old);
    e.same = arena_array(loop_notes(kernel), LoopRef, e.old);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        walk_body(&e, kernel->funs.data[i].body);
    walk_body(&e, kernel->root);
    if (e.found.cap > 0) loop_tidy(&e.b); // it has found something
}
