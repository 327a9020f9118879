// SPDX-License-Identifier: Apache-2.0
//
// Which turns go in lanes (batch.c): what they load, store and make, what depends on
// what, which branches all of them take alike, and which numbers are small.
#include "loop/batch.h"

enum { MOST_CONDITIONS = 64, MOST_STATEMENTS = 1000 }; // of a turn, loops being one

// ---- what a turn is -----------------------------------------------------------------

LoopRef batch_same(const Batch *x, LoopRef ref) {
    while (ref < x->known && x->same[ref] != 0) ref = x->same[ref];
    return ref;
}

uint64_t batch_on(const Batch *x, LoopRef ref) {
    ref = batch_same(x, ref);
    return ref < x->known ? x->on[ref] : 0;
}

bool batch_is_early(const Batch *x, LoopRef ref) {
    ref = batch_same(x, ref);
    return ref >= x->known || !x->inside[ref] || x->is_early[ref];
}

static void bind(Batch *x, LoopRef ref, uint64_t depends) {
    x->inside[ref] = true;
    x->on[ref] = depends;
}

static bool assume(Batch *x, LoopRef c, bool holds) {
    uint32_t at = x->conditions.len;
    if (!batch_is_early(x, c) || at == MOST_CONDITIONS) return false;
    vec_push(x->b->arena, &x->conditions, batch_same(x, c));
    x->arms = (x->arms & ~((uint64_t)1 << at)) | (uint64_t)!holds << at;
    return true;
}

static bool is_scalar(const Batch *x, LoopRef ref) {
    return loop_type(x->b, ref).kind == LOOP_IS_SCALAR;
}

static bool look_at(Batch *x, const LoopStm *stm, uint32_t around);

static bool look_at_body(Batch *x, const LoopBody *body, uint32_t around) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!look_at(x, body->stms.data[i], around)) return false;
    return true;
}

// Whether it grows by one from turn to turn of the loop.
static bool follows(const Batch *x, LoopRef ref, uint32_t loop) {
    ref = batch_same(x, ref);
    if (ref == x->loops[loop].stm->bodies[0]->params[0]) return true;
    const LoopStm *def = ref < x->known ? x->defs[ref] : NULL;
    if (def == NULL || def->scalar != OP_ADD) return false;
    for (uint32_t i = 0; i < 2; i++)
        if ((batch_on(x, def->args[1 - i]) >> loop & 1) == 0)
            return follows(x, def->args[i], loop);
    return false;
}

// Whether places lie apart from turn to turn of the loop.
static bool lies_apart(const Batch *x, const LoopStm *load, uint32_t loop) {
    for (uint32_t i = 1; i < load->arg_count; i++) {
        if ((batch_on(x, load->args[i]) >> loop & 1) == 0) continue;
        bool is_index =
            i == 1 || (i % 2 == 1 && loop_is_int(x->b, load->args[i - 1], 1));
        if (!is_index || !follows(x, load->args[i], loop)) return true;
    }
    return false;
}

// Whether lanes of loops in the turn could not take the fold that the load is for.
static bool is_left(const Batch *x, const LoopStm *load, uint32_t around) {
    uint32_t at = around;
    while (at != 0 && x->loops[at].is_fold) at = x->loops[at].outer;
    if (at == around) return false; // no fold
    while (at != 0 && x->loops[at].stm->order != ORDER_INDEPENDENT)
        at = x->loops[at].outer;
    return at == 0 || lies_apart(x, load, at);
}

// Notes a load of what turns want again and again, and whose places are far apart from
// turn to turn.
static void note_packed(Batch *x, const LoopStm *load, uint32_t around) {
    uint64_t depends = 0, used = BATCH_ON_TURN;
    BatchLoad p = {.load = load};
    for (uint32_t i = 1; i < load->arg_count; i++)
        depends |= batch_on(x, load->args[i]);
    bool repeats = false, is_far = false;
    for (uint32_t at = around; at != 0; at = x->loops[at].outer) {
        if ((depends >> at & 1) == 0) {
            repeats = true;
            continue;
        }
        if (p.count == BATCH_MOST_DIMS) return;
        used |= (uint64_t)1 << at;
        for (uint32_t i = p.count++; i > 0; i--) p.loops[i] = p.loops[i - 1];
        p.loops[0] = at;
    }
    for (uint32_t i = 1; i < load->arg_count; i++)
        is_far = is_far || (batch_on(x, load->args[i]) & BATCH_ON_TURN) != 0;
    if (repeats && is_far && (depends & ~used) == 0)
        vec_push(x->b->arena, &x->packed, p);
}

static bool look_at_memory(Batch *x, const LoopStm *stm, uint32_t around) {
    LoopRef buffer = batch_same(x, stm->args[0]);
    if (buffer < x->known && x->inside[buffer] && !x->is_private[buffer]) return false;
    bool is_load = stm->op == LOOP_LOAD;
    if (is_load) bind(x, stm->outs[0], BATCH_ON_STATE);
    x->is_worth_it = x->is_worth_it || (is_load && is_left(x, stm, around));
    if (x->is_private[buffer]) return true;
    vec_push(x->b->arena, is_load ? &x->loaded : &x->stored, buffer);
    if (is_load) note_packed(x, stm, around);
    return true;
}

// A branch that all turns take alike, if it does more than to choose.
static bool look_at_arm(Batch *x, const LoopStm *stm, uint32_t arm, uint32_t around) {
    const LoopBody *body = stm->bodies[arm];
    Batch before = *x;
    if (assume(x, stm->args[0], arm == 0) && look_at_body(x, body, around)) {
        for (uint32_t i = 0; i < stm->out_count; i++) {
            bind(x, stm->outs[i], batch_on(x, body->results[i]));
            x->same[stm->outs[i]] = batch_same(x, body->results[i]);
        }
        return true;
    }
    *x = before;
    return false;
}

static bool is_choice(const LoopStm *stm) {
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (stm->bodies[k]->stms.data[i]->op != LOOP_SCALAR) return false;
    return stm->out_count > 0;
}

static bool look_at_if(Batch *x, const LoopStm *stm, uint32_t around) {
    if (around == 0 && !is_choice(stm) && batch_is_early(x, stm->args[0]))
        return look_at_arm(x, stm, 0, around) || look_at_arm(x, stm, 1, around);
    uint32_t steps = x->steps.len;
    for (uint32_t k = 0; k < 2; k++)
        if (!look_at_body(x, stm->bodies[k], around)) return false;
    x->steps.len = steps;
    if (around == 0) vec_push(x->b->arena, &x->steps, stm);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        if (!is_scalar(x, stm->outs[i])) return false;
        bind(x, stm->outs[i], BATCH_ON_STATE);
    }
    return true;
}

// ---- narrow numbers -----------------------------------------------------------------

enum { MOST_TERMS = 4 };

// Whether it is a sum of few numbers that are the same for all turns, each of which is
// small if what is noted is.
static bool is_small(Batch *x, LoopRef ref, uint32_t terms) {
    uint64_t bits;
    ref = batch_same(x, ref);
    if ((batch_on(x, ref) & (BATCH_ON_TURN | BATCH_ON_STATE)) != 0 || terms == 0)
        return false;
    if (loop_is_known(x->b, ref, &bits)) return bits <= BATCH_SMALL;
    if (batch_is_early(x, ref)) {
        vec_push(x->b->arena, &x->small, ref);
        return true;
    }
    for (uint32_t i = 1; i <= x->loop_count; i++) {
        if (x->loops[i].stm->bodies[0]->params[0] != ref) continue;
        vec_push(x->b->arena, &x->small, x->loops[i].stm->args[0]);
        return true;
    }
    const LoopStm *def = ref < x->known ? x->defs[ref] : NULL;
    return def != NULL && def->scalar == OP_ADD &&
           is_small(x, def->args[0], terms / 2) && is_small(x, def->args[1], terms / 2);
}

// The branch of the body that gives the value; NULL: none does. *at_out: which of its
// results it is.
static const LoopStm *find_branch(const LoopBody *body, LoopRef ref, uint32_t *at_out) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (*at_out = 0; *at_out < stm->out_count; ++*at_out)
            if (stm->op == LOOP_IF && stm->outs[*at_out] == ref) return stm;
    }
    return NULL;
}

// Whether the value, a result of the body, is the loop's state, a small number, or
// either as a branch says. Counts how often it is the state.
static bool is_chosen(Batch *x, const LoopBody *body, LoopRef ref, LoopRef state,
                      uint32_t *uses_io) {
    uint32_t at;
    const LoopStm *branch = find_branch(body, ref, &at);
    *uses_io += ref == state;
    if (branch == NULL) return ref == state || is_small(x, ref, MOST_TERMS);
    for (uint32_t k = 0; k < 2; k++)
        if (!is_chosen(x, branch->bodies[k], branch->bodies[k]->results[at], state,
                       uses_io))
            return false;
    return loop_count_uses(body, ref) == 1;
}

static void make_narrow(Batch *x, const LoopBody *body, LoopRef ref) {
    uint32_t at;
    const LoopStm *branch = find_branch(body, ref, &at);
    if (branch == NULL) return;
    x->is_narrow[ref] = true;
    for (uint32_t k = 0; k < 2; k++)
        make_narrow(x, branch->bodies[k], branch->bodies[k]->results[at]);
}

// A loop that carries the number of a turn, say of the least element so far, and does
// nothing else with it, carries it as an i32, so that all lanes of it are one vector.
static void find_narrow(Batch *x, const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    for (uint32_t i = 0; i < loop->out_count; i++) {
        LoopRef state = body->params[1 + i];
        uint32_t uses = 0, small = x->small.len;
        if (loop_type(x->b, state).elem != SCALAR_I64 ||
            !is_small(x, loop->args[1 + i], MOST_TERMS) ||
            !is_chosen(x, body, body->results[i], state, &uses) ||
            loop_count_uses(body, state) != uses) {
            x->small.len = small;
            continue;
        }
        x->is_narrow[state] = x->is_narrow[loop->outs[i]] = true;
        make_narrow(x, body, body->results[i]);
    }
}

// ---- folds that wait ----------------------------------------------------------------

// About the cycles from what an operator takes to what it gives.
static uint32_t cycles_of(const Batch *x, const LoopStm *stm) {
    bool is_float = scalar_is_float((ScalarType)loop_type(x->b, stm->args[0]).elem);
    switch ((int)stm->scalar) {
    case OP_DIV:
    case OP_SQRT: return 12;
    default: return is_float ? 4 : 1;
    }
}

// By value: the cycles since the state was there; 0: it does not depend on that.
static void note_waits(const Batch *x, uint32_t *waits, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint32_t longest = 0;
        for (uint32_t k = 0; k < stm->arg_count; k++)
            if (waits[stm->args[k]] > longest) longest = waits[stm->args[k]];
        if (stm->op == LOOP_SCALAR && longest > 0)
            waits[stm->outs[0]] = longest + cycles_of(x, stm);
        for (uint32_t k = 0; k < stm->body_count && stm->op == LOOP_IF; k++) {
            const LoopBody *arm = stm->bodies[k];
            note_waits(x, waits, arm);
            for (uint32_t out = 0; out < stm->out_count; out++)
                if (waits[arm->results[out]] > waits[stm->outs[out]])
                    waits[stm->outs[out]] = waits[arm->results[out]];
        }
    }
}

// Whether each step of the fold waits long for the one before, as for a division.
static bool waits_long(const Batch *x, const LoopStm *fold) {
    enum { LONG = 16 };
    const LoopBody *body = fold->bodies[0];
    for (uint32_t i = 1; i < body->param_count; i++) x->delays[body->params[i]] = 1;
    note_waits(x, x->delays, body);
    for (uint32_t i = 0; i < body->result_count; i++)
        if (x->delays[body->results[i]] > LONG) return true;
    return false;
}

// ---- statements ---------------------------------------------------------------------

static bool look_at_loop(Batch *x, const LoopStm *stm, uint32_t around) {
    const LoopBody *body = stm->bodies[0];
    if (stm->order == ORDER_PARALLEL || stm->number != 0 ||
        x->loop_count == BATCH_MOST_LOOPS || !batch_is_early(x, stm->args[0]) ||
        loop_type(x->b, body->params[0]).elem != SCALAR_I64)
        return false;
    uint32_t number = ++x->loop_count;
    x->loops[number] = (BatchLoop){stm, around, stm->out_count > 0};
    bind(x, body->params[0], (uint64_t)1 << number);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        if (!is_scalar(x, stm->outs[i])) return false;
        bind(x, body->params[1 + i], BATCH_ON_STATE);
        bind(x, stm->outs[i], BATCH_ON_STATE);
    }
    if (!look_at_body(x, body, number)) return false;
    x->waits = x->waits || waits_long(x, stm);
    if (around == 0) find_narrow(x, stm);
    return true;
}

static bool look_at_alloc(Batch *x, const LoopStm *stm, uint32_t around) {
    uint32_t bytes = scalar_info[loop_type(x->b, stm->outs[0]).elem].bytes;
    if (around != 0 || !batch_is_early(x, stm->args[0])) return false;
    bind(x, stm->outs[0], 0);
    x->is_private[stm->outs[0]] = true;
    if (bytes > x->bytes) x->bytes = bytes;
    vec_push(x->b->arena, &x->allocs, stm);
    return true;
}

static void look_at_scalar(Batch *x, const LoopStm *stm) {
    uint64_t depends = 0;
    bool early = (core_op_info[stm->scalar].flags & OP_FAILS) == 0;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        depends |= batch_on(x, stm->args[i]);
        early = early && batch_is_early(x, stm->args[i]);
    }
    bind(x, stm->outs[0], depends);
    x->is_early[stm->outs[0]] = early;
    x->defs[stm->outs[0]] = stm;
}

static bool look_at(Batch *x, const LoopStm *stm, uint32_t around) {
    switch ((int)stm->op) {
    case LOOP_MARK: return true;
    case LOOP_KEEP: return stm->out_count == 0;
    case LOOP_CHECK: return assume(x, stm->args[0], true);
    case LOOP_ALLOC: return look_at_alloc(x, stm, around);
    case LOOP_IF: return look_at_if(x, stm, around);
    case LOOP_SCALAR: look_at_scalar(x, stm); break;
    case LOOP_APPLY:
        for (uint32_t i = 0; i < stm->out_count; i++)
            bind(x, stm->outs[i], BATCH_ON_STATE);
        break;
    case LOOP_LOAD:
    case LOOP_STORE:
        if (!look_at_memory(x, stm, around)) return false;
        break;
    case LOOP_FOR:
        if (!look_at_loop(x, stm, around)) return false;
        break;
    default: return false;
    }
    if (around == 0) vec_push(x->b->arena, &x->steps, stm);
    return true;
}

// Whether the turn is folds of rows that it walks along, and no loops within loops.
static bool only_walks(const Batch *x) {
    for (uint32_t i = 1; i <= x->loop_count; i++)
        if (x->loops[i].outer != 0) return false;
    return x->walks_all && x->walks.len > 0;
}

void batch_make_room(Batch *pass) {
    Arena *arena = loop_notes(pass->b->kernel);
    uint32_t count = pass->b->kernel->values.len;
    if (count <= pass->room) return;
    pass->room = count + count / 2;
    pass->inside = arena_array(arena, bool, pass->room);
    pass->on = arena_array(arena, uint64_t, pass->room);
    pass->is_early = arena_array(arena, bool, pass->room);
    pass->defs = arena_array(arena, const LoopStm *, pass->room);
    pass->same = arena_array(arena, LoopRef, pass->room);
    pass->is_private = arena_array(arena, bool, pass->room);
    pass->row_size = arena_array(arena, LoopRef, pass->room);
    pass->delays = arena_array(arena, uint32_t, pass->room);
    pass->is_narrow = arena_array(arena, bool, pass->room);
    pass->blocks = arena_array(arena, LoopRef, pass->room);
    pass->is_needed = arena_array(arena, bool, pass->room);
}

static void forget(const Batch *x, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        LoopRef ref = refs[i];
        x->inside[ref] = x->is_early[ref] = x->is_private[ref] = false;
        x->is_narrow[ref] = false;
        x->on[ref] = x->delays[ref] = 0;
        x->defs[ref] = NULL;
        x->same[ref] = x->row_size[ref] = x->blocks[ref] = 0;
    }
}

static void forget_body(const Batch *x, const LoopBody *body) {
    forget(x, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        forget(x, stm->outs, stm->out_count);
        for (uint32_t k = 0; k < stm->body_count; k++) forget_body(x, stm->bodies[k]);
    }
}

void batch_forget(const Batch *x) {
    forget_body(x, x->loop->bodies[0]);
    forget(x, x->rows.data, x->rows.len);
}

bool batch_find(Batch *x, const LoopStm *loop) {
    x->loop = loop;
    x->known = x->b->kernel->values.len;
    bool allocates = false;
    for (uint32_t i = 0; i < loop->bodies[0]->stms.len; i++)
        allocates = allocates || loop->bodies[0]->stms.data[i]->op == LOOP_ALLOC;
    bind(x, loop->bodies[0]->params[0], BATCH_ON_TURN);
    if (!look_at_body(x, loop->bodies[0], 0)) return false;
    batch_find_rows(x);
    if (!allocates && !only_walks(x)) return false;
    return x->is_worth_it && x->steps.len <= MOST_STATEMENTS;
}
