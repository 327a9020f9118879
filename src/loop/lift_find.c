// SPDX-License-Identifier: Apache-2.0
//
// Finds nests to lift: a loop on rows, within it one on columns, whose turns fold
// something over a third index, with values that are the same for all rows. Rows and
// columns may be computed twice, so that nothing that they store is loaded, and nothing
// may stop. How many rows a register block has follows from what lives in the fold.
#include "loop/lift.h"

typedef struct Find {
    LoopKernel *kernel;
    Arena *arena;
    LiftNest *n;
    LoopRefs loaded, stored; // buffers
} Find;

static LoopRef find_same(const Find *f, LoopRef ref) {
    while (ref < f->n->known && f->n->same[ref] != 0) ref = f->n->same[ref];
    return ref;
}

static LoopType type_of(const Find *f, LoopRef ref) {
    return f->kernel->values.data[ref].type;
}

// ---- what depends on what -----------------------------------------------------------

// Whether a load's places follow each other from turn to turn of the fold.
static bool follows(const Find *f, const LoopStm *load) {
    const LiftNest *n = f->n;
    for (uint32_t i = 1; i < load->arg_count; i++) {
        if ((n->depends[load->args[i]] & LIFT_DEPTH) == 0) continue;
        const LoopValue *stride = &f->kernel->values.data[load->args[i - 1]];
        if (i == 1 || i % 2 == 0 || !stride->is_const || stride->bits != 1)
            return false;
    }
    return true;
}

// Notes what the results depend on: what the args do, and everything in its bodies.
static uint8_t note(Find *f, const LoopStm *stm) {
    uint8_t *depends = f->n->depends, on = 0;
    for (uint32_t i = 0; i < stm->arg_count; i++) on |= depends[stm->args[i]];
    for (uint32_t k = 0; k < stm->body_count; k++) {
        const LoopBody *body = stm->bodies[k];
        for (uint32_t i = 0; i < body->stms.len; i++) on |= note(f, body->stms.data[i]);
        for (uint32_t i = 0; i < body->result_count; i++)
            on |= depends[body->results[i]];
    }
    if (stm->op == LOOP_LOAD) on |= LIFT_LOADED | (follows(f, stm) ? 0 : LIFT_FAR);
    if (stm->op == LOOP_SCALAR && (core_op_info[stm->scalar].flags & OP_FAILS) != 0)
        on |= LIFT_FAILS;
    for (uint32_t i = 0; i < stm->out_count; i++) depends[stm->outs[i]] = on;
    if (stm->op == LOOP_LOAD)
        vec_push(f->arena, &f->loaded, find_same(f, stm->args[0]));
    if (stm->op == LOOP_STORE)
        vec_push(f->arena, &f->stored, find_same(f, stm->args[0]));
    return on;
}

// Whether it only computes scalars.
static bool is_pure(const Find *f, const LoopStm *stm) {
    if (stm->op == LOOP_SCALAR || stm->op == LOOP_LOAD) return true;
    if (stm->op != LOOP_IF || stm->out_count == 0) return false;
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (type_of(f, stm->outs[i]).kind != LOOP_IS_SCALAR) return false;
    for (int arm = 0; arm < 2; arm++)
        for (uint32_t i = 0; i < stm->bodies[arm]->stms.len; i++)
            if (!is_pure(f, stm->bodies[arm]->stms.data[i])) return false;
    return true;
}

enum { MOST_CONDITIONS = 64 };

// Notes that the nest is lifted only if the condition holds, or does not: one that can
// be computed before it.
static bool assume(Find *f, LoopRef c, bool holds) {
    LiftNest *n = f->n;
    uint32_t at = n->conditions.len;
    if (n->depends[c] != 0 || at == MOST_CONDITIONS) return false;
    vec_push(f->arena, &n->conditions, c);
    n->arms = (n->arms & ~((uint64_t)1 << at)) | (uint64_t)!holds << at;
    return true;
}

static bool take(Find *f, const LoopStm *stm, LiftStms *list);

// A branch that does nothing but choose: the arm is as if it were there alone.
static bool take_arm(Find *f, const LoopStm *stm, int arm, LiftStms *list) {
    const LoopBody *body = stm->bodies[arm];
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!is_pure(f, body->stms.data[i])) return false;
    if (!assume(f, stm->args[0], arm == 0)) return false;
    for (uint32_t i = 0; i < body->stms.len; i++) take(f, body->stms.data[i], list);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        f->n->same[stm->outs[i]] = body->results[i];
        f->n->depends[stm->outs[i]] = f->n->depends[body->results[i]];
    }
    vec_push(f->arena, list, stm);
    return true;
}

// Takes what changes nothing; `list`: where it belongs, if that matters.
static bool take(Find *f, const LoopStm *stm, LiftStms *list) {
    if (stm->op == LOOP_CHECK) return assume(f, stm->args[0], true);
    // Nothing that is taken allocates, so that there is nothing to free.
    if (stm->op == LOOP_MARK || (stm->op == LOOP_KEEP && stm->out_count == 0))
        return true;
    if (!is_pure(f, stm))
        return stm->op == LOOP_IF && stm->out_count > 0 &&
               (take_arm(f, stm, 0, list) || take_arm(f, stm, 1, list));
    note(f, stm);
    for (uint32_t i = 0; i < stm->out_count; i++) f->n->defs[stm->outs[i]] = stm;
    vec_push(f->arena, list, stm);
    return true;
}

// What may come after the fold.
static bool is_simple(const Find *f, const LoopStm *stm) {
    if (is_pure(f, stm) || stm->op == LOOP_STORE) return true;
    if (stm->op != LOOP_IF) return false;
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (!is_simple(f, stm->bodies[k]->stms.data[i])) return false;
    return true;
}

static bool is_index(const Find *f, LoopRef ref) {
    LoopType type = type_of(f, ref);
    return type.kind == LOOP_IS_SCALAR && type.elem == SCALAR_I64;
}

// ---- the loops ----------------------------------------------------------------------

static bool find_depth(Find *f, LoopStm *fold) {
    LiftNest *n = f->n;
    const LoopBody *body = fold->bodies[0];
    if (n->depth != NULL || fold->order != ORDER_SEQUENTIAL || fold->out_count == 0 ||
        n->depends[fold->args[0]] != 0 || !is_index(f, fold->args[0]))
        return false;
    n->depth = fold;
    n->turn = body->params[0];
    n->depends[n->turn] = LIFT_DEPTH;
    for (uint32_t i = 1; i < body->param_count; i++) {
        if (type_of(f, body->params[i]).kind != LOOP_IS_SCALAR) return false;
        n->depends[body->params[i]] = LIFT_ROW | LIFT_COLUMN | LIFT_DEPTH | LIFT_SUM;
    }
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!take(f, body->stms.data[i], &n->inside)) return false;
    for (uint32_t i = 0; i < fold->out_count; i++)
        n->depends[fold->outs[i]] = LIFT_ROW | LIFT_COLUMN | LIFT_SUM;
    return true;
}

static bool find_columns(Find *f, LoopStm *loop) {
    LiftNest *n = f->n;
    const LoopBody *body = loop->bodies[0];
    if (loop->order != ORDER_INDEPENDENT || loop->number > 0 ||
        n->depends[loop->args[0]] != 0 || !is_index(f, loop->args[0]))
        return false;
    n->columns = loop;
    n->column = body->params[0];
    n->depends[n->column] = LIFT_COLUMN;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_FOR && stm->number == 0) {
            if (!find_depth(f, stm)) return false;
        } else if (n->depth == NULL) {
            if (!take(f, stm, &n->before)) return false;
        } else {
            if (!is_simple(f, stm)) return false;
            note(f, stm);
            vec_push(f->arena, &n->after, stm);
        }
    }
    return n->depth != NULL;
}

static bool find_inner(Find *f, const LoopBody *body);

// Whether the nest goes on with this statement.
static bool find_within(Find *f, LoopStm *stm) {
    if (stm->op == LOOP_FOR) return find_columns(f, stm);
    uint32_t conditions = f->n->conditions.len;
    for (int arm = 0; arm < 2; arm++) {
        if (!assume(f, stm->args[0], arm == 0)) return false;
        if (find_inner(f, stm->bodies[arm])) return true;
        f->n->conditions.len = conditions;
    }
    return false;
}

// Of a body one statement leads to the loop on columns; after it nothing is loaded.
static bool find_inner(Find *f, const LoopBody *body) {
    LiftNest *n = f->n;
    uint32_t outer = n->outer.len;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        bool leads = stm->op == LOOP_FOR || (stm->op == LOOP_IF && stm->out_count == 0);
        bool ok = !leads && (n->depth == NULL || stm->op != LOOP_LOAD);
        if (ok && take(f, stm, &n->outer)) continue;
        if (leads && n->depth == NULL && find_within(f, stm)) continue;
        n->outer.len = outer;
        n->before.len = n->inside.len = n->after.len = 0;
        f->loaded.len = f->stored.len = 0;
        n->depth = NULL;
        return false;
    }
    return n->depth != NULL;
}

// ---- what suits ---------------------------------------------------------------------

static bool repeats(const Find *f) {
    for (uint32_t i = 0; i < f->stored.len; i++)
        for (uint32_t k = 0; k < f->loaded.len; k++)
            if (f->stored.data[i] == f->loaded.data[k]) return false;
    return true;
}

// Loaded values of the fold that depend on `on` alone, and are used with others: those
// with which each row, or each column, has to do.
static void find_shared(Find *f, uint8_t on, uint8_t not_on, LoopRefs *refs) {
    const LiftNest *n = f->n;
    for (uint32_t i = 0; i < n->inside.len; i++) {
        const LoopStm *stm = n->inside.data[i];
        if (stm->out_count == 0 || (n->depends[stm->outs[0]] & not_on) == 0) continue;
        for (uint32_t k = 0; k < stm->arg_count; k++) {
            LoopRef arg = find_same(f, stm->args[k]);
            bool is_shared = (n->depends[arg] & LIFT_LOADED) != 0 &&
                             (n->depends[arg] & not_on) == 0 &&
                             (n->depends[arg] & on) == on;
            for (uint32_t at = 0; at < refs->len && is_shared; at++)
                is_shared = refs->data[at] != arg;
            if (is_shared) vec_push(f->arena, refs, arg);
        }
    }
}

static void widen(const Find *f, LoopRef ref, uint32_t *bytes) {
    uint32_t size = scalar_info[type_of(f, ref).elem].bytes;
    if (size > *bytes) *bytes = size;
}

// The size of a register block: of each column so many vectors live in the fold, and
// for each row its sums, besides one that is at work and one for what a row has.
static bool choose_block(Find *f, const LiftMachine *machine) {
    LiftNest *n = f->n;
    const LoopStm *fold = n->depth;
    for (uint32_t i = 0; i < fold->out_count; i++) widen(f, fold->outs[i], &n->bytes);
    for (uint32_t i = 0; i < n->columns_packed.len; i++)
        widen(f, n->columns_packed.data[i], &n->bytes);
    uint32_t shared = LIFT_VECTORS * n->columns_packed.len + 2;
    if (n->columns_packed.len == 0 || n->bytes < 4 || shared >= machine->registers)
        return false;
    n->high = (machine->registers - shared) / (LIFT_VECTORS * fold->out_count);
    if (n->high > LIFT_MOST_ROWS) n->high = LIFT_MOST_ROWS;
    n->wide = LIFT_VECTORS * machine->bytes / n->bytes;
    return n->high >= 2;
}

static bool find(Find *f, const LiftMachine *machine) {
    LiftNest *n = f->n;
    n->depends = arena_array(f->arena, uint8_t, n->known);
    n->defs = arena_array(f->arena, const LoopStm *, n->known);
    n->same = arena_array(f->arena, LoopRef, n->known);
    n->row = n->rows->bodies[0]->params[0];
    n->depends[n->row] = LIFT_ROW;
    if (!find_inner(f, n->rows->bodies[0]) || !repeats(f)) return false;
    find_shared(f, LIFT_COLUMN | LIFT_DEPTH, LIFT_ROW, &n->columns_packed);
    find_shared(f, LIFT_ROW | LIFT_DEPTH, LIFT_COLUMN, &n->rows_packed);
    for (uint32_t i = 0; i < n->rows_packed.len; i++)
        n->is_far = n->is_far || (n->depends[n->rows_packed.data[i]] & LIFT_FAR) != 0;
    return choose_block(f, machine);
}

// Whether a loop in it, or in branches of it, has loops of its own. Most have none, and
// need no tables to tell.
static bool may_be_rows(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_FOR && loop_has_loops(stm->bodies[0])) return true;
        for (uint32_t k = 0; k < stm->body_count && stm->op == LOOP_IF; k++)
            if (may_be_rows(stm->bodies[k])) return true;
    }
    return false;
}

bool lift_find(LoopKernel *kernel, const LiftMachine *machine, LoopStm *loop,
               LiftNest *n) {
    Find f = {.kernel = kernel, .arena = loop_notes(kernel), .n = n};
    *n = (LiftNest){.rows = loop, .known = kernel->values.len};
    if (loop->op != LOOP_FOR || loop->order == ORDER_SEQUENTIAL || loop->number > 0 ||
        !is_index(&f, loop->args[0]) || !may_be_rows(loop->bodies[0]))
        return false;
    ArenaMark mark = arena_mark(f.arena);
    bool found = find(&f, machine);
    if (!found) arena_back(f.arena, mark); // the next one may have the room
    return found;
}
