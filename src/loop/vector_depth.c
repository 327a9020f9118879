// SPDX-License-Identifier: Apache-2.0
//
// How long the turns of a loop are, and how long they wait. A processor works on a few
// turns at once if they are short; of long ones it sees one, and if the operators of
// that wait for each other its units do, too. A second vector is at hand then.
#include "loop/copy.h"
#include "loop/vector.h"

// LONG: statements, more than a processor looks at. DEEP: of these, one after the
// other, at four cycles each; a division takes as long as SLOW of them. LONG_CHAIN: of
// the turn of a fold. KEPT: deeper than all that does not wait for what the fold keeps.
enum {
    LONG = 96,
    DEEP = 32,
    CYCLES = 4,
    UNITS = 2,
    SLOW = 3,
    LONG_CHAIN = 128,
    KEPT = 1 << 16
};

static uint32_t later(uint32_t x, uint32_t y) {
    return x > y ? x : y;
}

// Sets when the results of the body's statements are there; false if one is a loop or
// the like.
static bool find_depths(const LoopBody *body, uint32_t *depths);

// A plain function is for what happens rarely; one deeper in says nothing of the way.
static bool is_rare(const LoopBody *way) {
    for (uint32_t i = 0; i < way->stms.len; i++)
        if (way->stms.data[i]->op == LOOP_APPLY) return true;
    return false;
}

// Of two ways of which one is rare the other is waited for, else both.
static bool find_branch(const LoopStm *stm, uint32_t from, uint32_t *depths) {
    for (uint32_t k = 0; k < 2; k++)
        if (!find_depths(stm->bodies[k], depths)) return false;
    bool rare[] = {is_rare(stm->bodies[0]), is_rare(stm->bodies[1])};
    for (uint32_t i = 0; i < stm->out_count; i++) {
        uint32_t ready = from;
        for (uint32_t k = 0; k < 2; k++)
            if (!rare[k] || rare[1 - k])
                ready = later(ready, depths[stm->bodies[k]->results[i]]);
        depths[stm->outs[i]] = ready;
    }
    return true;
}

static bool find_depths(const LoopBody *body, uint32_t *depths) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint32_t from = 0;
        for (uint32_t k = 0; k < stm->arg_count; k++)
            from = later(from, depths[stm->args[k]]);
        bool is_slow =
            stm->op == LOOP_SCALAR && (stm->scalar == OP_DIV || stm->scalar == OP_SQRT);
        if (stm->op == LOOP_IF) {
            if (!find_branch(stm, from, depths)) return false;
        } else if (stm->body_count > 0 || stm->op == LOOP_CALL ||
                   stm->op == LOOP_ALLOC) {
            return false;
        }
        for (uint32_t k = 0; k < stm->out_count && stm->op != LOOP_IF; k++)
            depths[stm->outs[k]] = from + (is_slow ? SLOW : 1);
    }
    return true;
}

// Zeros, of all values.
static uint32_t *new_depths(const Vector *v) {
    return arena_array(loop_notes(v->kernel), uint32_t, v->kernel->values.len);
}

bool vector_waits(const Vector *v, const LoopBody *body) {
    if (loop_body_size(body) < LONG) return false;
    uint32_t *depths = new_depths(v), most = 0;
    if (!find_depths(body, depths)) return false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count && stm->op == LOOP_STORE; k++)
            most = later(most, depths[stm->args[k]]);
    }
    return most >= DEEP;
}

uint32_t vector_chain_hides(const Vector *v, const LoopBody *turn) {
    uint32_t size = loop_body_size(turn), most = 0;
    if (size > LONG_CHAIN) return 0;
    uint32_t *depths = new_depths(v);
    for (uint32_t i = 1; i < turn->param_count; i++) depths[turn->params[i]] = KEPT;
    if (!find_depths(turn, depths)) return 0;
    for (uint32_t i = 0; i < turn->result_count; i++)
        most = later(most, depths[turn->results[i]]);
    return most > KEPT ? (most - KEPT) * CYCLES * UNITS / size : 0;
}

// Rows that are powers of two apart share a set of a cache, which has eight ways or so.
enum { MANY_PLACES = 16, LINE = 64 };

bool vector_halves_lines(const Vector *v, const LoopBody *body) {
    uint32_t places = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_own = stm->op == LOOP_STORE && stm->args[0] < v->sized &&
                      v->sizes[stm->args[0]] > 0;
        places += stm->op == LOOP_STORE && !is_own;
    }
    return v->bytes < LINE && places >= MANY_PLACES;
}
