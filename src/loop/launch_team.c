// SPDX-License-Identifier: Apache-2.0
//
// Turns of a parallel loop that a team of work items runs together (launch.h): which
// they are, and where the items must wait for each other.
//
// All items go through the turn in step. Scalars, loads and decisions outside of
// independent loops are the same for all, so each item makes its own; stores there are
// one item's. Of an independent loop item i of w runs the turns i, i + w, ... . So two
// accesses can meet only if different items make them: place p of a buffer is item
// p's as long as turn p of such a loop touches it.
#include "loop/launch.h"

#include <string.h>

enum {
    READ_OWN = 1,  // by the item that the place is of
    READ_ANY = 2,  // by any
    WRITE_OWN = 4, // likewise
    WRITE_ANY = 8,
};
enum { WORTH = 16 }; // turns at once that make a team worth it

typedef struct Team {
    const LoopKernel *kernel;
    const LoopPlan *plan;
    const LoopLaunch *launch;
    Map *waits;   // LoopPlan.waits
    bool is_last; // the pass that notes them
} Team;

// Accesses since all waited last, by buffer: those that are shared, then all others by
// the type of their elements, since two of these may be one.
typedef uint8_t Pending[LAUNCH_MOST_SHARED + SCALAR_COUNT];

static LoopType type_of(const Team *t, LoopRef ref) {
    return t->kernel->values.data[ref].type;
}

static bool is_const(const Team *t, LoopRef ref, uint64_t bits) {
    const LoopValue *value = &t->kernel->values.data[ref];
    return value->is_const && value->bits == bits;
}

bool loop_is_spread(const LoopStm *stm) {
    return stm->op == LOOP_FOR && stm->order == ORDER_INDEPENDENT;
}

static bool allocates(const LoopPlan *plan, const LoopStm *stm) {
    return stm->op == LOOP_ALLOC && !plan->is_local[stm->outs[0]];
}

bool loop_spread_fails(const LoopPlan *plan, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_CHECK || stm->op == LOOP_CALL || allocates(plan, stm))
            return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loop_spread_fails(plan, stm->bodies[k])) return true;
    }
    return false;
}

LoopRef loop_spread_columns(const LoopKernel *kernel, const LoopStm *stm) {
    const LoopBody *body = stm->bodies[0];
    uint32_t count = body->stms.len;
    const LoopStm *inner = count > 0 ? body->stms.data[count - 1] : NULL;
    if (inner == NULL || !loop_is_spread(inner)) return 0;
    for (uint32_t i = 0; i + 1 < count; i++)
        if (body->stms.data[i]->op != LOOP_SCALAR) return 0;
    const LoopValue *rows = &kernel->values.data[stm->args[0]];
    const LoopValue *columns = &kernel->values.data[inner->args[0]];
    bool is_small = rows->is_const && columns->is_const && rows->bits <= LAUNCH_TEAM &&
                    columns->bits - 1 < LAUNCH_TEAM;
    return is_small && columns->type.elem == SCALAR_I64 ? inner->args[0] : 0;
}

// ---- accesses -----------------------------------------------------------------------

// Where in Pending the buffer is; UINT32_MAX: it is one item's alone.
static uint32_t place_of(const Team *t, LoopRef buffer) {
    for (uint32_t i = 0; i < t->launch->shared_count; i++)
        if (t->launch->shared[i]->outs[0] == buffer) return i;
    if (t->plan->is_local[buffer]) return UINT32_MAX;
    return LAUNCH_MOST_SHARED + type_of(t, buffer).elem;
}

static void note(const Team *t, LoopRef buffer, uint8_t how, uint8_t *made) {
    uint32_t place = place_of(t, buffer);
    if (place != UINT32_MAX) made[place] |= how;
}

// Whether that place is the index itself, the args from `first` on being offset, stride
// and index.
static bool is_own(const Team *t, const LoopStm *stm, uint32_t first, LoopRef index) {
    return stm->arg_count == first + 3 && is_const(t, stm->args[first], 0) &&
           is_const(t, stm->args[first + 1], 1) && stm->args[first + 2] == index;
}

// What the turns of a spread loop do whose index is that; 0: what is done by one item
// for all, or by all.
static void note_body(const Team *t, const LoopBody *body, LoopRef index,
                      uint8_t *made);

static void note_stm(const Team *t, const LoopStm *stm, LoopRef index, uint8_t *made) {
    if (stm->op == LOOP_LOAD)
        note(t, stm->args[0], is_own(t, stm, 1, index) ? READ_OWN : READ_ANY, made);
    if (stm->op == LOOP_STORE)
        note(t, stm->args[0], is_own(t, stm, 2, index) ? WRITE_OWN : WRITE_ANY, made);
    if (stm->op == LOOP_ATOMIC) note(t, stm->args[0], READ_ANY | WRITE_ANY, made);
    bool passes = stm->op == LOOP_CALL || stm->op == LOOP_SIFT;
    for (uint32_t i = 0; i < stm->arg_count && passes; i++)
        if (type_of(t, stm->args[i]).kind == LOOP_IS_BUFFER)
            note(t, stm->args[i], READ_ANY | WRITE_ANY, made);
    for (uint32_t i = 0; i < stm->body_count; i++)
        note_body(t, stm->bodies[i], index, made);
}

static void note_body(const Team *t, const LoopBody *body, LoopRef index,
                      uint8_t *made) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        note_stm(t, body->stms.data[i], index, made);
}

// Whether accesses must wait for those before them.
static bool meets(uint8_t before, uint8_t now) {
    if ((now & WRITE_ANY) != 0 && before != 0) return true;
    if ((now & WRITE_OWN) != 0 && (before & (READ_ANY | WRITE_ANY)) != 0) return true;
    if ((now & READ_ANY) != 0 && (before & (WRITE_OWN | WRITE_ANY)) != 0) return true;
    return (now & READ_OWN) != 0 && (before & WRITE_ANY) != 0;
}

static void take(const Team *t, const LoopStm *stm, uint8_t *pending) {
    Pending made = {0};
    bool is_spread = loop_is_spread(stm), must_wait = false;
    bool is_paired = is_spread && loop_spread_columns(t->kernel, stm) != 0;
    note_stm(t, stm, is_spread && !is_paired ? stm->bodies[0]->params[0] : 0, made);
    for (size_t i = 0; i < sizeof made; i++)
        must_wait = must_wait || meets(pending[i], made[i]);
    if (must_wait) memset(pending, 0, sizeof made);
    if (must_wait && t->is_last) map_set(t->waits, (uint64_t)(uintptr_t)stm, 1);
    for (size_t i = 0; i < sizeof made; i++) pending[i] |= made[i];
    // Where items agree on whether all went well, all have waited.
    if (is_spread && loop_spread_fails(t->plan, stm->bodies[0]))
        memset(pending, 0, sizeof made);
}

// ---- waiting ------------------------------------------------------------------------

static void follow(const Team *t, const LoopBody *body, uint8_t *pending);

static bool add(uint8_t *pending, const uint8_t *more) {
    bool grows = false;
    for (size_t i = 0; i < sizeof(Pending); i++) {
        grows = grows || (more[i] & ~pending[i]) != 0;
        pending[i] |= more[i];
    }
    return grows;
}

// Around a loop until what is pending when a turn begins grows no more.
static void follow_loop(const Team *t, const LoopStm *stm, uint8_t *pending) {
    Team quiet = *t;
    Pending turn, leaves;
    bool is_while = stm->op == LOOP_WHILE;
    quiet.is_last = false;
    do {
        memcpy(turn, pending, sizeof turn);
        for (uint32_t i = 0; i < stm->body_count; i++)
            follow(&quiet, stm->bodies[i], turn);
    } while (add(pending, turn));
    memcpy(leaves, pending, sizeof leaves);
    for (uint32_t i = 0; i < stm->body_count; i++) {
        follow(t, stm->bodies[i], pending);
        if (i == 0 && is_while) memcpy(leaves, pending, sizeof leaves);
    }
    memcpy(pending, leaves, sizeof leaves);
}

static void follow(const Team *t, const LoopBody *body, uint8_t *pending) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_IF) continue; // touches nothing
        if (stm->body_count > 0 && !loop_is_spread(stm)) follow_loop(t, stm, pending);
        else take(t, stm, pending);
    }
}

// ---- which turns --------------------------------------------------------------------

typedef struct Found {
    LoopPlan *plan;
    const LoopKernel *kernel;
    Arena *arena;
    struct {
        const LoopStm **data;
        uint32_t len, cap;
    } shared;
    bool can, fails; // it can be run by a team; a spread loop may fail
    bool is_worth;
} Found;

static uint64_t known(const Found *f, LoopRef ref) {
    const LoopValue *value = &f->kernel->values.data[ref];
    return value->is_const ? value->bits : 0;
}

// Whether the loop has many turns, if only as a rule: so many, or at most so many.
static bool has_many_turns(const Found *f, const LoopBody *body, LoopRef times) {
    if (known(f, times) >= WORTH) return true;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR && stm->scalar == OP_MIN && stm->outs[0] == times)
            return known(f, stm->args[0]) >= WORTH || known(f, stm->args[1]) >= WORTH;
    }
    return false;
}

// Whether items could have to wait for each other in a branch, which not all drivers
// compile well even where all take it.
static bool may_wait(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_SCALAR && stm->op != LOOP_IF) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (may_wait(stm->bodies[k])) return true;
    }
    return false;
}

// False: it has none, so that a team would do all its work many times over.
static bool find_spread(Found *f, const LoopBody *body);

static bool find_in_stm(Found *f, const LoopBody *body, const LoopStm *stm) {
    bool has_spread = false;
    if (loop_is_spread(stm)) {
        f->can = f->can && f->kernel->values.data[stm->args[0]].type.elem == SCALAR_I64;
        f->fails = f->fails || loop_spread_fails(f->plan, stm->bodies[0]);
        f->is_worth = f->is_worth || has_many_turns(f, body, stm->args[0]);
        return true;
    }
    for (uint32_t i = 0; i < stm->body_count; i++)
        has_spread = find_spread(f, stm->bodies[i]) || has_spread;
    switch (stm->op) {
    case LOOP_SCALAR:
    case LOOP_LOAD:
    case LOOP_STORE:
    case LOOP_DATA:
    case LOOP_MARK:
    case LOOP_CHECK: return false;
    case LOOP_IF:
        f->can = f->can && !may_wait(stm->bodies[0]) && !may_wait(stm->bodies[1]);
        return false;
    case LOOP_KEEP: f->can = f->can && stm->out_count == 0; return false;
    case LOOP_FOR:
    case LOOP_WHILE: f->can = f->can && has_spread; return has_spread;
    case LOOP_ALLOC:
        f->can = f->can && !allocates(f->plan, stm);
        f->is_worth = f->is_worth || known(f, stm->args[0]) >= WORTH;
        vec_push(f->arena, &f->shared, stm);
        return false;
    default: f->can = false; return false;
    }
}

static bool find_spread(Found *f, const LoopBody *body) {
    bool has_spread = false;
    for (uint32_t i = 0; i < body->stms.len && f->can; i++)
        has_spread = find_in_stm(f, body, body->stms.data[i]) || has_spread;
    return has_spread;
}

// A turn of which items may have failed is run again alone for the first of them. What
// it joins to places it does not look at.
static bool fails_alike(const LoopLaunch *launch) {
    for (uint32_t i = 0; i < launch->in_count; i++)
        if ((launch->uses[i] & LAUNCH_LOADS) != 0 && launch->uses[i] != LAUNCH_LOADS)
            return false;
    return true;
}

void loop_plan_team(const LoopKernel *kernel, Arena *arena, LoopPlan *plan,
                    LoopLaunch *launch) {
    LoopBody body = loop_launch_body(launch);
    Found found = {.plan = plan, .kernel = kernel, .arena = arena, .can = true};
    bool has_spread = find_spread(&found, &body);
    if (!has_spread || !found.can || !found.is_worth ||
        found.shared.len > LAUNCH_MOST_SHARED || (found.fails && !fails_alike(launch)))
        return;
    launch->has_team = true;
    launch->shared = found.shared.data;
    launch->shared_count = found.shared.len;
    for (uint32_t i = 0; i < found.shared.len; i++)
        plan->is_shared[found.shared.data[i]->outs[0]] = true;
    Team team = {.kernel = kernel,
                 .plan = plan,
                 .launch = launch,
                 .waits = &plan->waits,
                 .is_last = true};
    Pending pending = {0};
    follow(&team, &body, pending);
}

bool loop_waits(const LoopPlan *plan, const LoopStm *stm) {
    uint64_t unused;
    return map_get(&plan->waits, (uint64_t)(uintptr_t)stm, &unused);
}
