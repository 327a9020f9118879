// SPDX-License-Identifier: Apache-2.0
//
// Independent turns as lanes of vectors (docs/internals/vector.md): which loops, and
// how many lanes. What would not gain stays as it is.
#include "loop/vector.h"
#include "loop/passes.h"

// ---- what varies --------------------------------------------------------------------

static bool vary(Vector *v, LoopRef ref, bool does) {
    if (!does || v->varies[ref]) return false;
    v->varies[ref] = true;
    return true;
}

static bool vary_body(Vector *v, const LoopBody *body);

// State varies if it does so at first, after a turn, or if the lanes end apart.
static bool vary_loop(Vector *v, const LoopStm *stm) {
    uint32_t first = stm->op == LOOP_FOR;
    const LoopBody *body = stm->bodies[stm->body_count - 1];
    bool apart = v->varies[first ? stm->args[0] : stm->bodies[0]->results[0]];
    bool changed = false;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        bool does =
            apart || v->varies[stm->args[first + i]] || v->varies[body->results[i]];
        changed = vary(v, stm->outs[i], does) || changed;
        for (uint32_t k = 0; k < stm->body_count; k++)
            changed = vary(v, stm->bodies[k]->params[first + i], does) || changed;
    }
    return changed;
}

static bool vary_stm(Vector *v, const LoopStm *stm) {
    bool changed = false, does = false;
    for (uint32_t k = 0; k < stm->body_count; k++)
        changed = vary_body(v, stm->bodies[k]) || changed;
    if (stm->op == LOOP_FOR || stm->op == LOOP_WHILE)
        return vary_loop(v, stm) || changed;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        does = does || v->varies[stm->args[i]];
    for (uint32_t i = 0; i < stm->out_count; i++) {
        bool result = stm->op == LOOP_IF && (v->varies[stm->bodies[0]->results[i]] ||
                                             v->varies[stm->bodies[1]->results[i]]);
        changed = vary(v, stm->outs[i], does || result) || changed;
    }
    return changed;
}

// Returns whether something new was found to vary.
static bool vary_body(Vector *v, const LoopBody *body) {
    bool changed = false;
    for (uint32_t i = 0; i < body->stms.len; i++)
        changed = vary_stm(v, body->stms.data[i]) || changed;
    return changed;
}

// ---- what suits ---------------------------------------------------------------------

static bool has_store(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (has_store(stm->bodies[k])) return true;
    }
    return false;
}

// Memory, and values that have no lanes.
static bool suits_stm(const Vector *v, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopType type = v->kernel->values.data[stm->outs[i]].type;
        if (v->varies[stm->outs[i]] &&
            (type.kind != LOOP_IS_SCALAR || type.elem == SCALAR_F16))
            return false;
    }
    switch (stm->op) {
    case LOOP_SCALAR:
    case LOOP_LOAD:
    case LOOP_STORE:
    case LOOP_DATA:
    case LOOP_MARK:
    case LOOP_CHECK:
    case LOOP_IF:
    case LOOP_WHILE: return true;
    case LOOP_FOR: return stm->order != ORDER_PARALLEL && stm->number == 0;
    default: return false;
    }
}

// `has_stored`: what runs before this. A turn that gives up must not have.
static bool suits(const Vector *v, const LoopBody *body, bool *has_stored) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (!suits_stm(v, stm) || (stm->op == LOOP_CHECK && *has_stored)) return false;
        bool repeats = stm->op == LOOP_FOR || stm->op == LOOP_WHILE;
        bool before = *has_stored;
        for (uint32_t k = 0; k < stm->body_count; k++) {
            bool stored = before || (repeats && has_store(stm->bodies[k]));
            if (!suits(v, stm->bodies[k], &stored)) return false;
            *has_stored = *has_stored || stored;
        }
        if (stm->op == LOOP_STORE) *has_stored = true;
    }
    return true;
}

bool vector_analyse(Vector *v, const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    bool has_stored = false;
    for (LoopRef ref = 0; ref < v->old; ref++) v->varies[ref] = false;
    v->varies[body->params[0]] = true;
    while (vary_body(v, body)) {
    }
    return v->kernel->values.data[body->params[0]].type.elem == SCALAR_I64 &&
           suits(v, body, &has_stored);
}

// ---- loops --------------------------------------------------------------------------

static uint32_t widest_lane(const Vector *v, const LoopBody *body) {
    uint32_t widest = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count && stm->op != LOOP_LANES; k++) {
            LoopType type = v->kernel->values.data[stm->outs[k]].type;
            if (type.lanes > 0 && scalar_info[type.elem].bytes > widest)
                widest = scalar_info[type.elem].bytes;
        }
        for (uint32_t k = 0; k < stm->body_count; k++) {
            uint32_t inner = widest_lane(v, stm->bodies[k]);
            if (inner > widest) widest = inner;
        }
    }
    return widest;
}

static bool has_while(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_WHILE) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (has_while(stm->bodies[k])) return true;
    }
    return false;
}

// A few turns are one vector turn.
enum { MOST_AT_ONCE = 32 };

// With so many lanes in a vector of 32 bytes; NULL: they do not fit, or gain nothing.
static LoopBody *try_width(Vector *v, const LoopStm *loop, uint32_t width) {
    v->kernel->values.len = v->old; // without what the last attempt made
    v->b = loop_builder(v->kernel);
    for (LoopRef ref = 0; ref < v->old; ref++) v->reps[ref] = (Rep){0};
    const LoopValue *n = &v->kernel->values.data[loop->args[0]];
    bool at_once = n->is_const && n->bits % width == 0 && n->bits <= MOST_AT_ONCE;
    v->width = width;
    // Turns that wait for each other leave time for another vector.
    v->lanes = has_while(loop->bodies[0]) ? 2 * width : width;
    if (at_once) v->lanes = (uint32_t)n->bits;
    v->weight = 1;
    v->scalar_cost = v->vector_cost = 0;
    LoopBody *body = vector_translate(v, loop->bodies[0]);
    uint32_t widest = widest_lane(v, body);
    bool fits = width == 8 ? widest == 4 : widest == 8;
    bool gains = v->always || v->vector_cost < 0.7 * width * v->scalar_cost;
    return fits && gains ? body : NULL;
}

static void vectorise(Vector *v, LoopStm *loop) {
    if (!vector_analyse(v, loop)) return;
    LoopBody *body = try_width(v, loop, 8);
    if (body == NULL) body = try_width(v, loop, 4);
    if (body == NULL) {
        v->kernel->values.len = v->old;
        return;
    }
    loop->number = v->lanes;
    LoopBody *bodies[] = {body, loop->bodies[0]};
    loop_set_bodies(&v->b, loop, bodies, 2);
}

static bool is_few(const Vector *v, LoopRef n) {
    const LoopValue *value = &v->kernel->values.data[n];
    return value->is_const && value->bits < 8;
}

static void note_uses(Vector *v, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) v->used[stm->args[k]] = true;
        for (uint32_t k = 0; k < stm->body_count; k++) note_uses(v, stm->bodies[k]);
    }
    for (uint32_t i = 0; i < body->result_count; i++) v->used[body->results[i]] = true;
}

// The innermost loops that can; returns whether there is one with lanes now.
static bool vectorise_body(LoopKernel *kernel, LoopBody *body, bool always) {
    bool has_lanes = false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        bool inside = false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            inside = vectorise_body(kernel, stm->bodies[k], always) || inside;
        if (!inside && stm->op == LOOP_FOR && stm->order != ORDER_SEQUENTIAL) {
            Vector v = {.kernel = kernel, .arena = kernel->arena, .always = always};
            v.old = kernel->values.len;
            v.varies = arena_array(v.arena, bool, v.old);
            v.used = arena_array(v.arena, bool, v.old);
            v.reps = arena_array(v.arena, Rep, v.old);
            note_uses(&v, stm->bodies[0]);
            if (!is_few(&v, stm->args[0])) vectorise(&v, stm);
            inside = stm->number > 0;
        }
        has_lanes = has_lanes || inside;
    }
    return has_lanes;
}

static bool has_vectors(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

void loop_vector(LoopKernel *kernel) {
    if (has_vectors()) vector_run(kernel, false);
}

void vector_run(LoopKernel *kernel, bool always) {
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        vectorise_body(kernel, kernel->funs.data[i].body, always);
    vectorise_body(kernel, kernel->root, always);
    LoopBuilder b = loop_builder(kernel);
    loop_tidy(&b);
}
