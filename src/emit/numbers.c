// SPDX-License-Identifier: Apache-2.0
//
// Which floats are no NaN, so that their bits are those of a canonical one: constants,
// what a comparison has let pass, and sums and products of what is not large.
#include <math.h>
#include <string.h>

#include "emit/walk.h"
#include "loop/build.h"

// Of a value: it is a number, and no larger than that.
typedef struct Known {
    bool is_number;
    double most; // INFINITY: nobody knows
} Known;

typedef struct Numbers {
    const LoopKernel *kernel;
    const LoopStm *const *made;
    Known *known; // by LoopRef
} Numbers;

static ScalarType elem_of(const Numbers *n, LoopRef ref) {
    return (ScalarType)n->kernel->values.data[ref].type.elem;
}

static Known unknown(void) {
    return (Known){false, INFINITY};
}

static Known bounded(ScalarType type, double most) {
    double limit = type == SCALAR_F64 ? 0x1p1000 : type == SCALAR_F32 ? 0x1p120 : 0;
    return most < limit ? (Known){true, most} : unknown();
}

static Known known_const(ScalarType type, uint64_t bits) {
    double x = NAN;
    if (type == SCALAR_F64) memcpy(&x, &bits, sizeof x);
    if (type == SCALAR_F32) {
        uint32_t low = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &low, sizeof narrow);
        x = narrow;
    }
    return isnan(x) ? unknown() : (Known){true, fabs(x)};
}

static Known known_of(const Numbers *n, LoopRef ref) {
    const LoopValue *value = &n->kernel->values.data[ref];
    return value->is_const ? known_const(elem_of(n, ref), value->bits) : n->known[ref];
}

static bool is_made_by(const Numbers *n, LoopRef ref, CoreOp op) {
    const LoopStm *stm = n->made[ref];
    return stm != NULL && stm->op == LOOP_SCALAR && stm->scalar == op;
}

// What is known of x where the condition is true: each comparison says that it is a
// number, and one of its size how large it is.
static Known known_where(const Numbers *n, LoopRef condition, LoopRef x) {
    Known known = known_of(n, x);
    const LoopStm *stm = n->made[condition];
    if (stm == NULL || stm->op != LOOP_SCALAR) return known;
    if (stm->scalar == OP_AND) {
        Known one = known_where(n, stm->args[0], x);
        Known other = known_where(n, stm->args[1], x);
        return (Known){one.is_number || other.is_number, fmin(one.most, other.most)};
    }
    if (stm->scalar != OP_LT && stm->scalar != OP_LE) return known;
    LoopRef left = stm->args[0];
    if (left == x || stm->args[1] == x) known.is_number = true;
    if (is_made_by(n, left, OP_ABS) && n->made[left]->args[0] == x) {
        known.is_number = true;
        known.most = fmin(known.most, known_of(n, stm->args[1]).most);
    }
    return known;
}

static Known either(Known x, Known y) {
    return (Known){x.is_number && y.is_number, fmax(x.most, y.most)};
}

// a * b + c - c is a * b as rounded to what c has digits for.
static double most_rounded(const Numbers *n, const LoopStm *sub) {
    const LoopStm *sum = n->made[sub->args[0]];
    double most = known_of(n, sub->args[0]).most + known_of(n, sub->args[1]).most;
    if (isinf(most) || sum == NULL || !is_made_by(n, sub->args[0], OP_FMA) ||
        sum->args[2] != sub->args[1])
        return most;
    double product = known_of(n, sum->args[0]).most * known_of(n, sum->args[1]).most;
    return product + (product + known_of(n, sum->args[2]).most) * 0x1p-20;
}

static Known known_scalar(const Numbers *n, const LoopStm *stm) {
    Known args[3] = {unknown(), unknown(), unknown()};
    ScalarType in = elem_of(n, stm->args[0]), to = elem_of(n, stm->outs[0]);
    for (uint32_t i = 0; i < stm->arg_count && i < 3; i++)
        args[i] = known_of(n, stm->args[i]);
    switch (stm->scalar) {
    case OP_NEG:
    case OP_ABS: return args[0];
    case OP_ADD: return bounded(to, args[0].most + args[1].most);
    case OP_SUB: return bounded(to, most_rounded(n, stm));
    case OP_MUL: return bounded(to, args[0].most * args[1].most);
    case OP_FMA: return bounded(to, args[0].most * args[1].most + args[2].most);
    case OP_CONV: return bounded(to, scalar_is_float(in) ? args[0].most : 0x1p64);
    default: return unknown();
    }
}

static void note_body(Numbers *n, const LoopBody *body);

static void note_stm(Numbers *n, const LoopStm *stm) {
    for (uint32_t k = 0; k < stm->body_count; k++) note_body(n, stm->bodies[k]);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopRef out = stm->outs[i];
        if (stm->op == LOOP_SCALAR) n->known[out] = known_scalar(n, stm);
        if (stm->op == LOOP_SPLAT) n->known[out] = known_of(n, stm->args[0]);
        if (stm->op == LOOP_LANES) n->known[out] = bounded(elem_of(n, out), 0x1p64);
        if (stm->op == LOOP_SELECT)
            n->known[out] = either(known_where(n, stm->args[0], stm->args[1]),
                                   known_of(n, stm->args[2]));
        if (stm->op == LOOP_IF)
            n->known[out] =
                either(known_where(n, stm->args[0], stm->bodies[0]->results[i]),
                       known_of(n, stm->bodies[1]->results[i]));
    }
}

static void note_body(Numbers *n, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) note_stm(n, body->stms.data[i]);
}

static bool takes_bits(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_SCALAR && stm->scalar == OP_TO_BITS;
}

const bool *walk_numbers(const LoopKernel *kernel, const LoopStm *const *made,
                         Arena *arena) {
    uint32_t count = kernel->values.len;
    bool *is_number = arena_array(arena, bool, count);
    if (!loop_kernel_has(kernel, takes_bits, 0)) return is_number; // nobody asks
    Numbers n = {kernel, made, arena_array(arena, Known, count)};
    for (LoopRef ref = 0; ref < count; ref++) n.known[ref] = unknown();
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        note_body(&n, kernel->funs.data[i].body);
    note_body(&n, kernel->root);
    for (LoopRef ref = 0; ref < count; ref++)
        is_number[ref] = known_of(&n, ref).is_number;
    return is_number;
}

bool walk_keeps_bits(const Walker *w, const LoopStm *stm) {
    return loop_keeps_bits(stm) ||
           (stm->scalar == OP_TO_BITS && w->is_number[stm->args[0]]);
}

static void note_made(const LoopBody *body, const LoopStm **made) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++) made[stm->outs[k]] = stm;
        for (uint32_t k = 0; k < stm->body_count; k++) note_made(stm->bodies[k], made);
    }
}

const LoopStm *const *walk_made(const LoopKernel *kernel, Arena *arena) {
    const LoopStm **made = arena_array(arena, const LoopStm *, kernel->values.len);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        note_made(kernel->funs.data[i].body, made);
    note_made(kernel->root, made);
    return made;
}
