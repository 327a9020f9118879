// SPDX-License-Identifier: Apache-2.0
//
// Loads in short branches of innermost loops are made before the branch, if their place
// is known to be in memory whichever way it goes: within an array of known sizes, or
// between two places that have been loaded before the branch. What is left of the
// branch touches no memory, so that it may become a choice between two values: lanes,
// and compilers, want straight code. Other branches stay as they are.
#include "loop/copy.h"
#include "loop/passes.h"
#include "loop/range.h"

enum { SHORT = 12, MOST_LOADS = 4 }; // statements and loads in all arms of a branch

// ---- places -------------------------------------------------------------------------

// Whether the places of two loads differ in one index at most: *at_out, or 0.
static bool differ_in_one(const LoopBuilder *b, const LoopStm *x, const LoopStm *y,
                          uint32_t *at_out) {
    *at_out = 0;
    if (x->op != LOOP_LOAD || x->arg_count != y->arg_count) return false;
    for (uint32_t i = 0; i < x->arg_count; i++) {
        if (loop_same(b, x->args[i], y->args[i])) continue;
        bool is_index = i > 1 && i % 2 == 1;
        if (!is_index || *at_out != 0) return false;
        *at_out = i;
    }
    return true;
}

// Whether the place lies between two that were loaded in code that always runs before.
static bool is_between(RangeWalk *w, const LoopStm *load) {
    enum { MOST_LOOKED_AT = 64 };
    uint32_t looked_at = 0, at, below = 0, above = 0; // by which index
    for (uint32_t k = w->b.open.len; k-- > 0;) {
        const LoopBody *body = w->b.open.data[k];
        for (uint32_t i = body->stms.len; i-- > 0 && looked_at < MOST_LOOKED_AT;) {
            const LoopStm *other = body->stms.data[i];
            looked_at++;
            if (!differ_in_one(&w->b, other, load, &at)) continue;
            if (at == 0) return true;
            if (range_is_least(&w->r, load->args[at], other->args[at], 0)) below = at;
            else if (range_is_least(&w->r, other->args[at], load->args[at], 0))
                above = at;
            if (below != 0 && below == above) return true;
        }
    }
    return false;
}

// ---- branches -----------------------------------------------------------------------

typedef struct Arms {
    uint32_t stms, loads; // in all of them
} Arms;

typedef struct Early {
    RangeWalk *w;
    Map stays; // what is bound in an arm and stays there
} Early;

static bool is_cheap(const Early *e, const LoopStm *stm) {
    return stm->op == LOOP_SCALAR &&
           (core_op_info[stm->scalar].flags & OP_FAILS) == 0 &&
           range_is_int(&e->w->r, stm->args[0]);
}

// Whether the arms only load and compute what cannot fail, and little of it.
static bool look_at(Arms *arms, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool fails =
            stm->op == LOOP_SCALAR && (core_op_info[stm->scalar].flags & OP_FAILS) != 0;
        if ((stm->op != LOOP_SCALAR && stm->op != LOOP_LOAD && stm->op != LOOP_IF) ||
            fails)
            return false;
        arms->loads += stm->op == LOOP_LOAD;
        if (++arms->stms > SHORT || arms->loads > MOST_LOADS) return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!look_at(arms, stm->bodies[k])) return false;
    }
    return true;
}

static bool is_known_before(const Early *e, const LoopStm *stm) {
    uint64_t stays;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (map_get(&e->stays, loop_find(&e->w->b, stm->args[i]), &stays)) return false;
    return true;
}

// Keeps before the branch what of the arm can be there: loads, and what finds places.
static void make_early(Early *e, LoopBody *body) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++) make_early(e, stm->bodies[k]);
        if (is_known_before(e, stm) &&
            (is_cheap(e, stm) ||
             (stm->op == LOOP_LOAD &&
              (range_is_inside(&e->w->r, stm) || is_between(e->w, stm))))) {
            range_walk_stm(e->w, stm);
            continue;
        }
        for (uint32_t k = 0; k < stm->out_count; k++)
            map_set(&e->stays, stm->outs[k], 1);
        body->stms.data[kept++] = stm;
    }
    body->stms.len = kept;
}

static bool is_plain(const LoopStm *branch) {
    Arms arms = {0};
    return look_at(&arms, branch->bodies[0]) && look_at(&arms, branch->bodies[1]) &&
           arms.loads > 0;
}

static void enter_branch(RangeWalk *w, LoopStm *branch) {
    Early e = {.w = w};
    if (w->loop == NULL || w->loop->order == ORDER_SEQUENTIAL || !is_plain(branch))
        return;
    map_init(&e.stays, loop_notes(w->b.kernel));
    for (int arm = 0; arm < 2; arm++) make_early(&e, branch->bodies[arm]);
}

static bool is_plain_branch(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_IF && is_plain(stm);
}

void loop_early(LoopKernel *kernel) {
    if (!loop_kernel_has(kernel, is_plain_branch, 0)) return;
    range_walk_branches(kernel, enter_branch);
}
