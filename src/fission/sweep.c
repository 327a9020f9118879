// SPDX-License-Identifier: Apache-2.0
//
// What nobody needs in entries that have been cut (cut.h): wholes of which all take
// parts, and what they were made of. One walk backwards, from the last statement to the
// first, finds that, for who needs a value comes behind it. All of it was needed before
// operators were cut, so no loop hands on what it alone needs; that is for opt/dce.c.
#include "fission/cut.h"

typedef struct Sweep {
    const Strategy *y;
    bool *is_needed; // by CoreRef
} Sweep;

static void need(bool *is_needed, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) is_needed[refs[i]] = true;
}

static const CoreStm *find_def(const void *facts, CoreRef ref) {
    return rewrite_def(facts, ref);
}

// Whether running it may be noticed. Parts fit each other, so joining them cannot fail;
// nor can what is looked at unchecked.
static bool is_effect(const Strategy *y, const CoreStm *stm) {
    uint64_t known;
    if (stm->op == OP_CONCAT && map_get(&y->known, stm->outs[0], &known)) return false;
    if (stm->op == OP_INDEX && (stm->flags & STM_UNSAFE) != 0) return false;
    if (opt_is_effect_itself(y->program, stm))
        return !opt_wants_only_memory(y->program, stm, find_def, y->facts);
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (is_effect(y, stm->bodies[k]->stms.data[i])) return true;
    return false;
}

static uint32_t count_needed(const bool *is_needed, const CoreRef *refs,
                             uint32_t count) {
    uint32_t needed = 0;
    for (uint32_t i = 0; i < count; i++) needed += is_needed[refs[i]];
    return needed;
}

// Lets a branch give what is needed alone. Its results may be named elsewhere, too.
static void narrow(const Sweep *w, CoreStm *branch, uint32_t count) {
    CoreRef *outs = arena_array(w->y->program->arena, CoreRef, count);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < branch->out_count; k++) {
        if (!w->is_needed[branch->outs[k]]) continue;
        for (uint32_t arm = 0; arm < branch->body_count; arm++) {
            CoreRef *results = branch->bodies[arm]->results;
            results[kept] = results[k];
        }
        outs[kept++] = branch->outs[k];
    }
    for (uint32_t arm = 0; arm < branch->body_count; arm++)
        branch->bodies[arm]->result_count = count;
    branch->outs = outs;
    branch->out_count = count;
}

static void sweep(const Sweep *w, CoreBody *body) {
    CoreStm **stms = body->stms.data;
    uint32_t first = body->stms.len;
    need(w->is_needed, body->results, body->result_count);
    for (uint32_t i = first; i-- > 0;) {
        CoreStm *stm = stms[i];
        uint32_t needed = count_needed(w->is_needed, stm->outs, stm->out_count);
        if (needed == 0 && !is_effect(w->y, stm)) continue;
        if (needed < stm->out_count && stm->op == OP_IF) narrow(w, stm, needed);
        for (uint32_t k = 0; k < stm->body_count; k++) sweep(w, stm->bodies[k]);
        need(w->is_needed, stm->args, stm->arg_count);
        stms[--first] = stm;
    }
    if (first > 0) body->stms.data += first;
    body->stms.len = body->stms.cap = body->stms.len - first;
}

void cut_sweep(const Strategy *y) {
    const CoreProgram *p = y->program;
    Sweep w = {y, arena_array(core_notes(p), bool, p->values.len)};
    for (uint32_t i = 0; i < p->funs.len; i++)
        if (p->funs.data[i]->is_entry) sweep(&w, p->funs.data[i]->body);
}
