// SPDX-License-Identifier: Apache-2.0
//
// A loop whose index is wanted only as its quotient and remainder by one number, which
// divides the count of turns, becomes two loops over these: nothing is divided any
// more, and places move by strides. The turns are the same ones in the same order. So a
// fold over all elements of a space goes in a nest over its dimensions. Each step makes
// the counts smaller, so that this ends. Parallel loops keep their turns.
#include "loop/build.h"
#include "loop/passes.h"

// How a body uses a value.
typedef struct Digits {
    LoopBuilder *b;
    LoopRef index;
    uint64_t base; // what it is divided by; 0: by nothing so far
    bool only;     // it is used in no other way
} Digits;

static bool is_quotient(const LoopStm *stm) {
    return stm->scalar == OP_QUOT || stm->scalar == OP_DIV;
}

static bool is_digit(const Digits *d, const LoopStm *stm) {
    bool divides = is_quotient(stm) || stm->scalar == OP_REM || stm->scalar == OP_MOD;
    return stm->op == LOOP_SCALAR && divides &&
           loop_same(d->b, stm->args[0], d->index) &&
           !loop_same(d->b, stm->args[1], d->index);
}

static void find_base(Digits *d, const LoopStm *stm) {
    uint64_t base;
    d->only = d->only && loop_is_known(d->b, stm->args[1], &base) &&
              (d->base == 0 || d->base == base);
    if (d->only) d->base = base;
}

static void find_uses(Digits *d, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (is_digit(d, stm)) {
            find_base(d, stm);
            continue;
        }
        for (uint32_t k = 0; k < stm->arg_count; k++)
            d->only = d->only && !loop_same(d->b, stm->args[k], d->index);
        for (uint32_t k = 0; k < stm->body_count; k++) find_uses(d, stm->bodies[k]);
    }
    for (uint32_t i = 0; i < body->result_count; i++)
        d->only = d->only && !loop_same(d->b, body->results[i], d->index);
}

static void replace(Digits *d, const LoopBody *body, LoopRef quotient, LoopRef rest) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (is_digit(d, stm))
            loop_identify(d->b, stm->outs[0], is_quotient(stm) ? quotient : rest);
        for (uint32_t k = 0; k < stm->body_count; k++)
            replace(d, stm->bodies[k], quotient, rest);
    }
}

static LoopType *types_of(const LoopBuilder *b, const LoopRef *refs, uint32_t count) {
    LoopType *types = arena_array(b->arena, LoopType, count);
    for (uint32_t i = 0; i < count; i++) types[i] = loop_type(b, refs[i]);
    return types;
}

// The loop over quotients, whose only statement is one over remainders.
static void split(Digits *d, LoopStm *loop, uint64_t turns) {
    LoopBuilder *b = d->b;
    LoopBody *body = loop->bodies[0];
    ScalarType type = (ScalarType)loop_type(b, d->index).elem;
    uint32_t count = body->param_count;
    LoopRef *outer = arena_array(b->arena, LoopRef, count);
    LoopRef *args = arena_array(b->arena, LoopRef, count);
    for (uint32_t i = 0; i < count; i++)
        outer[i] = loop_value(b, loop_type(b, body->params[i]), 0);
    LoopRef rest = loop_value(b, loop_type(b, d->index), 0);
    replace(d, body, outer[0], rest);
    body->params[0] = rest;
    b->loc = loop->loc;
    loop_open(b, outer, count);
    args[0] = loop_const(b, type, d->base);
    for (uint32_t i = 1; i < count; i++) args[i] = outer[i];
    LoopStm *inner = loop_emit(b, LOOP_FOR, args, count,
                               types_of(b, loop->outs, count - 1), count - 1);
    inner->order = loop->order;
    loop_set_bodies(b, inner, &body, 1);
    LoopBody *whole = loop_close(b, inner->outs, count - 1);
    loop_set_bodies(b, loop, &whole, 1);
    loop->args[0] = loop_const(b, type, turns / d->base);
}

static bool split_loop(LoopBuilder *b, LoopStm *loop) {
    uint64_t turns;
    Digits d = {.b = b, .index = loop->bodies[0]->params[0], .only = true};
    if (loop->order == ORDER_PARALLEL || loop->number != 0 ||
        !loop_is_known(b, loop->args[0], &turns))
        return false;
    find_uses(&d, loop->bodies[0]);
    if (!d.only || d.base < 2 || (int64_t)turns <= 0 || turns % d.base != 0)
        return false;
    split(&d, loop, turns);
    return true;
}

static void split_loops(LoopBuilder *b, LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        while (stm->op == LOOP_FOR && split_loop(b, stm)) continue;
        for (uint32_t k = 0; k < stm->body_count; k++) split_loops(b, stm->bodies[k]);
    }
}

void loop_digits(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        split_loops(&b, kernel->funs.data[i].body);
    split_loops(&b, kernel->root);
    loop_tidy_news(&b);
}
