// SPDX-License-Identifier: Apache-2.0
//
// After lowering: references are redirected to the values they turned out to be, state
// that a loop hands on unchanged is taken out of it, and what nothing needs is dropped.
// Going backwards, a statement stays if it acts on the world or one of its results is
// used by what stays.
#include "loop/build.h"

typedef struct Tidy {
    LoopBuilder *b;
    bool *used;
} Tidy;

static LoopRef redirect(Tidy *t, LoopRef ref) {
    ref = loop_find(t->b, ref);
    t->used[ref] = true;
    return ref;
}

static bool is_needed(const Tidy *t, const LoopStm *stm) {
    switch (stm->op) {
    case LOOP_STORE:
    case LOOP_SIFT:
    case LOOP_ATOMIC:
    case LOOP_CHECK:
    case LOOP_KEEP:
    case LOOP_RESULT:
    case LOOP_CALL:
    case LOOP_WHILE:
    case LOOP_SURE:
    case LOOP_STOREIF: return true;
    case LOOP_SCALAR:
    case LOOP_LOAD:
    case LOOP_BELOW:
    case LOOP_DATA:
    case LOOP_ALLOC:
    case LOOP_MARK:
    case LOOP_THREADS:
    case LOOP_APPLY:
    case LOOP_IF:
    case LOOP_FOR:
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE:
    case LOOP_ANY:
    case LOOP_TALLY:
    case LOOP_LOADIF:
    case LOOP_LOOKUP:
    case LOOP_COUNT: break;
    }
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (t->used[stm->outs[i]]) return true;
    for (uint32_t i = 0; i < stm->body_count; i++)
        if (stm->bodies[i]->stms.len > 0) return true;
    return false;
}

// Takes results out of an IF that nothing uses, and state out of a loop that stays what
// it was at first. `first`: of the args and params that belong to the outs.
static void drop_outs(const Tidy *t, LoopStm *stm) {
    if (stm->op != LOOP_IF && stm->op != LOOP_FOR && stm->op != LOOP_WHILE) return;
    const LoopBody *last = stm->bodies[stm->body_count - 1];
    uint32_t extra = stm->op == LOOP_FOR, kept = 0; // the count and the index
    for (uint32_t i = 0; i < stm->out_count; i++) {
        bool goes = stm->op == LOOP_IF
                        ? !t->used[stm->outs[i]]
                        : t->b->same.data[stm->outs[i]] != 0 &&
                              t->b->same.data[last->params[extra + i]] != 0;
        if (goes) continue;
        stm->outs[kept] = stm->outs[i];
        if (stm->op != LOOP_IF) stm->args[extra + kept] = stm->args[extra + i];
        for (uint32_t k = 0; k < stm->body_count; k++) {
            LoopBody *body = stm->bodies[k];
            bool is_guard = stm->op == LOOP_WHILE && k == 0;
            if (!is_guard) body->results[kept] = body->results[i];
            if (stm->op != LOOP_IF)
                body->params[extra + kept] = body->params[extra + i];
        }
        kept++;
    }
    uint32_t gone = stm->out_count - kept;
    stm->out_count = kept;
    if (stm->op != LOOP_IF) stm->arg_count -= gone;
    for (uint32_t k = 0; k < stm->body_count; k++) {
        LoopBody *body = stm->bodies[k];
        if (stm->op != LOOP_WHILE || k != 0) body->result_count -= gone;
        if (stm->op != LOOP_IF) body->param_count -= gone;
    }
}

bool loop_allocates(const LoopStm *stm) {
    if (stm->op == LOOP_ALLOC || stm->op == LOOP_CALL) return true;
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (loop_allocates(stm->bodies[k]->stms.data[i])) return true;
    return false;
}

// Whether statement `at` is a KEEP of nothing, and nothing was allocated since its
// mark.
static bool frees_nothing(const LoopBody *body, uint32_t at) {
    const LoopStm *keep = body->stms.data[at];
    if (keep->op != LOOP_KEEP || keep->arg_count != 1) return false;
    while (at-- > 0) {
        const LoopStm *stm = body->stms.data[at];
        if (stm->op == LOOP_MARK && stm->outs[0] == keep->args[0]) return true;
        if (loop_allocates(stm)) return false;
    }
    return false;
}

static void tidy_body(Tidy *t, LoopBody *body) {
    for (uint32_t i = 0; i < body->result_count; i++)
        body->results[i] = redirect(t, body->results[i]);
    uint32_t kept = body->stms.len;
    for (uint32_t i = body->stms.len; i-- > 0;) {
        LoopStm *stm = body->stms.data[i];
        drop_outs(t, stm);
        for (uint32_t k = stm->body_count; k-- > 0;) tidy_body(t, stm->bodies[k]);
        if (!is_needed(t, stm) || frees_nothing(body, i)) continue;
        for (uint32_t k = 0; k < stm->arg_count; k++)
            stm->args[k] = redirect(t, stm->args[k]);
        body->stms.data[--kept] = stm;
    }
    body->stms.len -= kept;
    if (kept > 0) body->stms.data += kept;
    body->stms.cap = body->stms.len;
}

void loop_tidy(LoopBuilder *b) {
    LoopKernel *kernel = b->kernel;
    Tidy t = {.b = b,
              .used = arena_array(loop_notes(kernel), bool, kernel->values.len)};
    tidy_body(&t, kernel->root);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        tidy_body(&t, kernel->funs.data[i].body);
}

void loop_tidy_news(LoopBuilder *b) {
    if (b->has_identified || b->kernel->values.len > b->old) loop_tidy(b);
}
