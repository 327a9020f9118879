// SPDX-License-Identifier: Apache-2.0
//
// Short loops of known length, turn by turn, where that makes places known: an element
// of a constant table is then a constant, and what is left of a small array that is
// made, filled and read within a turn is scalars (registers.c). For what comes after,
// borders, checks and lanes, the turns around them then are straight code.
//
// A loop is unrolled if a table is read at a place that is known once it is, or if all
// accesses to a small array are at such places, in such loops. So is one of few turns
// that loads nothing but elements that its index alone says, of arrays from outside: a
// loop around it then loads them once. What that makes in all is bounded by the walk's
// budget.
#include "loop/copy.h"
#include "loop/passes.h"

enum { MOST_TURNS = 32, MOST_ELEMENTS = 64, DEEPEST = 16, BUDGET = 2000 };

typedef struct Unroll {
    const LoopKernel *kernel;
    const LoopStm **defs; // by LoopRef: what binds it
    const LoopStm **fors; // by LoopRef: the short loop of which it is the index
    Map wanted;           // the indices of loops to unroll
} Unroll;

// ---- what is known then -------------------------------------------------------------

static bool is_short(const Unroll *u, const LoopStm *loop) {
    const LoopValue *times = &u->kernel->values.data[loop->args[0]];
    return loop->op == LOOP_FOR && loop->order != ORDER_PARALLEL && times->is_const &&
           times->bits > 0 && times->bits <= MOST_TURNS;
}

static void note_body(Unroll *u, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++) u->defs[stm->outs[k]] = stm;
        if (stm->op == LOOP_FOR && is_short(u, stm))
            u->fors[stm->bodies[0]->params[0]] = stm;
        for (uint32_t k = 0; k < stm->body_count; k++) note_body(u, stm->bodies[k]);
    }
}

static bool is_table(const Unroll *u, LoopRef buffer) {
    return u->defs[buffer] != NULL && u->defs[buffer]->op == LOOP_DATA;
}

static bool are_known(const Unroll *u, const LoopRef *refs, uint32_t count,
                      unsigned depth);

// Whether the value is known in each turn of the short loops around it.
static bool is_known(const Unroll *u, LoopRef ref, unsigned depth) {
    const LoopStm *def = u->defs[ref];
    if (u->kernel->values.data[ref].is_const || u->fors[ref] != NULL) return true;
    if (def == NULL || depth == DEEPEST) return false;
    if (def->op == LOOP_LOAD && is_table(u, def->args[0]))
        return are_known(u, def->args + 1, def->arg_count - 1, depth + 1);
    return def->op == LOOP_SCALAR && are_known(u, def->args, def->arg_count, depth + 1);
}

static bool are_known(const Unroll *u, const LoopRef *refs, uint32_t count,
                      unsigned depth) {
    for (uint32_t i = 0; i < count; i++)
        if (!is_known(u, refs[i], depth)) return false;
    return true;
}

// The loops in whose turns these are known are to be unrolled.
static void want(Unroll *u, const LoopRef *refs, uint32_t count, unsigned depth) {
    for (uint32_t i = 0; i < count && depth < DEEPEST; i++) {
        const LoopStm *def = u->defs[refs[i]];
        if (u->fors[refs[i]] != NULL) map_set(&u->wanted, refs[i], 1);
        else if (def != NULL) want(u, def->args, def->arg_count, depth + 1);
    }
}

// ---- small arrays -------------------------------------------------------------------

static bool uses(const LoopRef *refs, uint32_t count, LoopRef buffer) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] == buffer) return true;
    return false;
}

// Whether the buffer is used in the body for loads and stores at known places alone;
// `in_turn`: in each turn of short loops around, and nowhere else.
static bool has_known_places(const Unroll *u, const LoopBody *body, LoopRef buffer,
                             bool in_turn) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint32_t place = stm->op == LOOP_LOAD ? 1 : 2;
        bool is_access = stm->op == LOOP_LOAD || (stm->op == LOOP_STORE && in_turn);
        if (uses(stm->args, stm->arg_count, buffer) &&
            (!is_access || !are_known(u, stm->args + place, stm->arg_count - place, 0)))
            return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!has_known_places(u, stm->bodies[k], buffer,
                                  in_turn && stm->op == LOOP_FOR && is_short(u, stm)))
                return false;
    }
    return !uses(body->results, body->result_count, buffer);
}

// Wants the loops around stores to the buffer, and those that make places known.
static bool want_accesses(Unroll *u, const LoopBody *body, LoopRef buffer) {
    bool stores = false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_access = stm->arg_count > 0 && stm->args[0] == buffer;
        if (is_access) want(u, stm->args, stm->arg_count, 0);
        stores = stores || (is_access && stm->op == LOOP_STORE);
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (want_accesses(u, stm->bodies[k], buffer)) {
                stores = true;
                map_set(&u->wanted, stm->bodies[k]->params[0], 1);
            }
    }
    return stores;
}

// ---- few elements -------------------------------------------------------------------

// Whether the values follow from that index alone.
static bool follow(const Unroll *u, const LoopRef *refs, uint32_t count, LoopRef index,
                   unsigned depth) {
    for (uint32_t i = 0; i < count; i++) {
        const LoopStm *def = u->defs[refs[i]];
        if (refs[i] == index || u->kernel->values.data[refs[i]].is_const) continue;
        if (def == NULL || def->op != LOOP_SCALAR || depth == DEEPEST ||
            !follow(u, def->args, def->arg_count, index, depth + 1))
            return false;
    }
    return true;
}

// Whether the body has scalars, checks, and loads from the kernel's arrays alone, at
// places that follow from the index; adds how many loads.
static bool takes_own(const Unroll *u, const LoopBody *body, LoopRef index,
                      uint32_t *loads) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        switch ((int)stm->op) {
        case LOOP_SCALAR:
        case LOOP_CHECK: break;
        case LOOP_LOAD:
            if (!loop_is_read_only(u->kernel, stm->args[0]) ||
                !follow(u, stm->args + 1, stm->arg_count - 1, index, 0))
                return false;
            ++*loads;
            break;
        case LOOP_IF:
            for (uint32_t k = 0; k < stm->body_count; k++)
                if (!takes_own(u, stm->bodies[k], index, loads)) return false;
            break;
        default: return false;
        }
    }
    return true;
}

// Whether one of the values follows from the index by way of a bound or a remainder.
static bool bends(const Unroll *u, const LoopRef *refs, uint32_t count, LoopRef index,
                  bool is_bent, unsigned depth) {
    for (uint32_t i = 0; i < count && depth < DEEPEST; i++) {
        const LoopStm *def = u->defs[refs[i]];
        if (refs[i] == index && is_bent) return true;
        if (def == NULL || def->op != LOOP_SCALAR) continue;
        bool bends_here = def->scalar == OP_MIN || def->scalar == OP_MAX ||
                          def->scalar == OP_MOD || def->scalar == OP_REM;
        if (bends(u, def->args, def->arg_count, index, is_bent || bends_here,
                  depth + 1))
            return true;
    }
    return false;
}

// Adds what the body is when its loops are unrolled; false: it does more than to
// compute and to load.
static bool add_size(const Unroll *u, const LoopBody *body, uint64_t *size) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint64_t inside = 0;
        if (stm->op != LOOP_SCALAR && stm->op != LOOP_CHECK && stm->op != LOOP_LOAD &&
            (stm->op != LOOP_FOR || !is_short(u, stm) ||
             !add_size(u, stm->bodies[0], &inside)))
            return false;
        if (stm->op == LOOP_FOR) inside *= u->kernel->values.data[stm->args[0]].bits;
        *size += 1 + inside;
    }
    return true;
}

// Whether some of the places are neighbours that stay within an array, or begin anew at
// its end, as the index says.
static bool takes_neighbours(const Unroll *u, const LoopBody *body, LoopRef index) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD &&
            bends(u, stm->args + 1, stm->arg_count - 1, index, false, 0))
            return true;
        if (stm->op == LOOP_FOR && takes_neighbours(u, stm->bodies[0], index))
            return true;
    }
    return false;
}

static bool takes_few(const Unroll *u, const LoopStm *stm) {
    enum { FEW_TURNS = 8, FEW = 128, FEW_NEIGHBOURS = 1000 };
    uint32_t loads = 0;
    uint64_t size = 0;
    if (stm->op != LOOP_FOR || !is_short(u, stm)) return false;
    const LoopBody *body = stm->bodies[0];
    LoopRef index = body->params[0];
    uint64_t turns = u->kernel->values.data[stm->args[0]].bits;
    if (turns > FEW_TURNS) return false;
    if (add_size(u, body, &size) && turns * size <= FEW_NEIGHBOURS &&
        takes_neighbours(u, body, index))
        return true;
    return turns * loop_body_size(body) <= FEW && takes_own(u, body, index, &loads) &&
           loads > 0;
}

static void want_loops(Unroll *u, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (takes_few(u, stm)) map_set(&u->wanted, stm->bodies[0]->params[0], 1);
        if (stm->op == LOOP_LOAD && is_table(u, stm->args[0]) &&
            are_known(u, stm->args + 1, stm->arg_count - 1, 0))
            want(u, stm->args + 1, stm->arg_count - 1, 0);
        if (stm->op == LOOP_ALLOC && u->kernel->values.data[stm->args[0]].is_const &&
            u->kernel->values.data[stm->args[0]].bits <= MOST_ELEMENTS &&
            has_known_places(u, body, stm->outs[0], true))
            want_accesses(u, body, stm->outs[0]);
        for (uint32_t k = 0; k < stm->body_count; k++) want_loops(u, stm->bodies[k]);
    }
}

// ---- unrolling ----------------------------------------------------------------------

static void unroll(RangeWalk *w, const LoopStm *loop, uint64_t times) {
    const LoopBody *body = loop->bodies[0];
    ScalarType type = (ScalarType)loop_type(&w->b, loop->args[0]).elem;
    LoopRef *state = arena_array(w->b.arena, LoopRef, body->result_count);
    for (uint32_t k = 0; k < body->result_count; k++) state[k] = loop->args[1 + k];
    for (uint64_t turn = 0; turn < times; turn++) {
        LoopCopier copier = loop_copier(&w->b);
        loop_copy_as(&copier, body->params[0], loop_const(&w->b, type, turn));
        for (uint32_t k = 0; k < body->result_count; k++)
            loop_copy_as(&copier, body->params[1 + k], state[k]);
        for (uint32_t i = 0; i < body->stms.len; i++)
            range_walk_stm(w, loop_copy_stm(&copier, body->stms.data[i]));
        for (uint32_t k = 0; k < body->result_count; k++)
            state[k] = loop_find(&w->b, loop_copy_of(&copier, body->results[k]));
    }
    for (uint32_t k = 0; k < body->result_count; k++)
        loop_identify(&w->b, loop->outs[k], state[k]);
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    Unroll *u = w->data;
    uint64_t times, wanted;
    bool is_wanted = map_get(&u->wanted, loop->bodies[0]->params[0], &wanted) &&
                     loop_is_known(&w->b, loop->args[0], &times);
    uint64_t size = is_wanted ? times * loop_body_size(loop->bodies[0]) : 0;
    if (!is_wanted || size > w->budget) {
        range_keep(w, loop);
        return;
    }
    w->budget -= (uint32_t)size;
    unroll(w, loop, times);
}

static Unroll look_at(const LoopKernel *kernel) {
    Unroll u = {.kernel = kernel};
    u.defs = arena_array(loop_notes(kernel), const LoopStm *, kernel->values.len);
    u.fors = arena_array(loop_notes(kernel), const LoopStm *, kernel->values.len);
    map_init(&u.wanted, loop_notes(kernel));
    return u;
}

bool loop_is_unrolled(const LoopKernel *kernel, const LoopStm *loop) {
    Unroll u = look_at(kernel);
    uint64_t wanted;
    note_body(&u, kernel->root);
    LoopStm *alone = (LoopStm *)(uintptr_t)loop;
    LoopBody body = {.stms = {&alone, 1, 1}};
    note_body(&u, &body);
    want_loops(&u, &body);
    return map_get(&u.wanted, loop->bodies[0]->params[0], &wanted);
}

void loop_unroll(LoopKernel *kernel) {
    Unroll u = look_at(kernel);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        note_body(&u, kernel->funs.data[i].body);
    note_body(&u, kernel->root);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        want_loops(&u, kernel->funs.data[i].body);
    want_loops(&u, kernel->root);
    if (u.wanted.count == 0) return;
    RangeWalk w = {.leave_loop = leave_loop, .budget = BUDGET, .data = &u};
    range_walk(&w, kernel);
}
