// SPDX-License-Identifier: Apache-2.0
//
// Loops in order whose turns look at what is in memory and then seldom change it, such
// as the largest of each group with its place, or distances that become shorter.
// Several turns are looked at together: as memory is, would one of them change it? If
// not, none of them has anything to do, since each finds memory as it was; no branch is
// foretold wrongly, and no load waits for a store to the same place. Else that holds
// for those before the first that would, which goes alone, as before. If one of them
// may not be looked at, all go one by one.
//
// What a turn changes is known if it stores, at each place, either what it has loaded
// from there or, by a condition that depends on memory which the loop stores to,
// something else. Places must not depend on that memory, nor may the branches around
// them, so that they can be looked at beforehand.
#include "loop/copy.h"
#include "loop/depend.h"
#include "loop/passes.h"

enum {
    MOST_CONDITIONS = 16, // looked at together
    LEAST_TURNS = 4,
    MOST_GUARDS = 4,
    MOST_SIZE = 60, // statements in a turn
};

typedef struct Change {
    LoopRef guards[MOST_GUARDS]; // branches around it
    uint32_t guard_count;
    LoopRef c;
    bool is_unless; // it is changed unless c
} Change;

typedef struct Rare {
    LoopBuilder *b;
    const LoopSite *sites;
    uint32_t site_count; // what is made here is behind
    Map inside;          // what the loop binds
    Map stored;          // buffers that it stores to
    Map changing;        // values that depend on memory which it may change
    Change changes[MOST_CONDITIONS];
    uint32_t count; // of changes
    LoopRef index;
    LoopCopier turns[MOST_CONDITIONS]; // what turns are looked at as
    Map lanes;                         // the same of all turns
    uint32_t turn_count;
} Rare;

static const LoopStm *def_of(const Rare *x, LoopRef ref) {
    ref = loop_find(x->b, ref);
    return ref < x->site_count ? x->sites[ref].def : NULL;
}

static bool is_in(const Map *set, LoopRef ref) {
    uint64_t is;
    return map_get(set, ref, &is);
}

static bool is_inside(Rare *x, LoopRef ref) {
    return is_in(&x->inside, loop_find(x->b, ref));
}

static void note_stored(Rare *x, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE)
            map_set(&x->stored, loop_find(x->b, stm->args[0]), 1);
        for (uint32_t k = 0; k < stm->body_count; k++) note_stored(x, stm->bodies[k]);
    }
}

// ---- what depends on memory that changes -------------------------------------------

// Whether nothing that the loop stores to is that memory: what a kernel is given or
// makes is nobody else's.
static bool is_constant(Rare *x, LoopRef buffer) {
    const LoopStm *def = def_of(x, buffer);
    return !is_in(&x->stored, loop_find(x->b, buffer)) &&
           (def == NULL || def->op == LOOP_ALLOC || def->op == LOOP_RESULT ||
            def->op == LOOP_DATA);
}

static void note_changing(Rare *x, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD && !is_constant(x, stm->args[0]))
            map_set(&x->changing, stm->outs[0], 1);
        for (uint32_t k = 0; k < stm->body_count; k++) note_changing(x, stm->bodies[k]);
    }
}

static bool depends(Rare *x, LoopRef ref) {
    return is_in(&x->changing, loop_find(x->b, ref));
}

static bool has_steady_place(Rare *x, const LoopStm *access, uint32_t first) {
    for (uint32_t i = first; i < access->arg_count; i++)
        if (depends(x, access->args[i])) return false;
    return true;
}

// ---- what changes it ---------------------------------------------------------------

static bool add_change(Rare *x, const Change *around, LoopRef c, bool is_unless) {
    if (!depends(x, c) || x->count == MOST_CONDITIONS) return false;
    const Change *last = x->count > 0 ? &x->changes[x->count - 1] : NULL;
    if (last != NULL && last->c == c && last->is_unless == is_unless) return true;
    Change change = *around;
    change.c = c;
    change.is_unless = is_unless;
    x->changes[x->count++] = change;
    return true;
}

// Whether the value is what the place of the store had.
static bool is_old(Rare *x, const LoopStm *store, LoopRef value) {
    const LoopStm *load = def_of(x, value);
    if (load == NULL || load->op != LOOP_LOAD ||
        load->arg_count + 1 != store->arg_count || !is_inside(x, value) ||
        !loop_same(x->b, load->args[0], store->args[0]))
        return false;
    for (uint32_t i = 1; i < load->arg_count; i++)
        if (!loop_same(x->b, load->args[i], store->args[i + 1])) return false;
    return true;
}

static bool see_store(Rare *x, const Change *around, const LoopStm *store) {
    LoopRef value = loop_find(x->b, store->args[1]);
    const LoopStm *choice = def_of(x, value);
    if (choice == NULL || choice->op != LOOP_IF || !has_steady_place(x, store, 2))
        return false;
    uint32_t k = 0;
    while (!loop_same(x->b, choice->outs[k], value)) k++;
    for (int arm = 0; arm < 2; arm++)
        if (is_old(x, store, choice->bodies[arm]->results[k]))
            return add_change(x, around, choice->args[0], arm == 0);
    return false;
}

static bool see_body(Rare *x, const Change *around, const LoopBody *body);

static bool only_stores(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopOp op = body->stms.data[i]->op;
        if (op != LOOP_SCALAR && op != LOOP_LOAD && op != LOOP_STORE) return false;
    }
    return true;
}

static bool see_branch(Rare *x, const Change *around, const LoopStm *branch) {
    const LoopBody *arm = branch->bodies[0];
    LoopRef c = branch->args[0];
    if (branch->bodies[1]->stms.len > 0) return false;
    if (branch->out_count > 0) return arm->stms.len == 0;
    if (depends(x, c)) return only_stores(arm) && add_change(x, around, c, false);
    Change inside = *around;
    if (inside.guard_count == MOST_GUARDS) return false;
    inside.guards[inside.guard_count++] = c;
    return see_body(x, &inside, arm);
}

// Whether what the body changes is known.
static bool see_body(Rare *x, const Change *around, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_fine = stm->op == LOOP_SCALAR ||
                       (stm->op == LOOP_LOAD && has_steady_place(x, stm, 1)) ||
                       (stm->op == LOOP_STORE && see_store(x, around, stm)) ||
                       (stm->op == LOOP_IF && see_branch(x, around, stm));
        if (!is_fine) return false;
    }
    return true;
}

// ---- looking -----------------------------------------------------------------------

// Whether each turn has the number that follows on that of the turn before.
static bool counts_up(Rare *x, LoopRef ref) {
    const LoopStm *def = def_of(x, ref);
    if (loop_same(x->b, ref, x->index)) return true;
    if (def == NULL || def->op != LOOP_SCALAR || def->scalar != OP_ADD) return false;
    for (int k = 0; k < 2; k++)
        if (!is_inside(x, def->args[k]) && counts_up(x, def->args[1 - k])) return true;
    return false;
}

static bool loads_in_turn(Rare *x, const LoopStm *load) {
    return load->arg_count == 4 && !is_inside(x, load->args[1]) &&
           loop_is_int(x->b, load->args[2], 1) && counts_up(x, load->args[3]);
}

static LoopRef value_in(Rare *x, uint32_t t, LoopRef ref);

// Places that follow each other as one place and numbers.
static LoopRef load_in(Rare *x, uint32_t t, const LoopStm *load) {
    LoopBuilder *b = x->b;
    LoopRef args[4] = {load->args[0], loop_add(b, load->args[1], loop_int(b, t)),
                       load->args[2], value_in(x, 0, load->args[3])};
    return loop_emit1(b, LOOP_LOAD, args, 4, loop_type(b, load->outs[0]));
}

// The value in turn t, made here of what it depends on.
static LoopRef value_in(Rare *x, uint32_t t, LoopRef ref) {
    uint64_t copy;
    LoopCopier *turn = &x->turns[t];
    ref = loop_find(x->b, ref);
    if (!is_inside(x, ref)) return ref;
    if (map_get(&turn->copies, ref, &copy)) return loop_find(x->b, (LoopRef)copy);
    const LoopStm *def = def_of(x, ref);
    if (def->op == LOOP_LOAD && loads_in_turn(x, def)) {
        LoopRef loaded = load_in(x, t, def);
        loop_copy_as(turn, ref, loaded);
        return loaded;
    }
    for (uint32_t i = 0; i < def->arg_count; i++) value_in(x, t, def->args[i]);
    for (uint32_t k = 0; k < def->body_count; k++)
        for (uint32_t i = 0; i < def->bodies[k]->result_count; i++)
            value_in(x, t, def->bodies[k]->results[i]);
    loop_append(x->b, loop_copy_stm(turn, def));
    return loop_find(x->b, loop_copy_of(turn, ref));
}

// ---- all turns in lanes --------------------------------------------------------------

static LoopRef lanes_of(Rare *x, LoopRef ref);

// The same in all turns.
static LoopRef splat(Rare *x, LoopRef ref) {
    LoopType type = loop_type(x->b, ref);
    type.lanes = (uint8_t)x->turn_count;
    return loop_emit1(x->b, LOOP_SPLAT, &ref, 1, type);
}

static LoopRef op_in_lanes(Rare *x, CoreOp op, ScalarType to, const LoopRef *args,
                           uint32_t count) {
    LoopType type = loop_scalar_type(to);
    for (uint32_t i = 0; i < count; i++)
        if (loop_type(x->b, args[i]).lanes > 0) type.lanes = (uint8_t)x->turn_count;
    LoopStm *stm = loop_emit(x->b, LOOP_SCALAR, args, count, &type, 1);
    stm->scalar = op;
    return type.lanes > 0 ? stm->outs[0] : splat(x, stm->outs[0]);
}

// Elements that follow each other are one load, what is computed goes in lanes, and the
// rest is what the turns have, one by one.
static LoopRef make_lanes(Rare *x, const LoopStm *def, LoopRef ref) {
    LoopBuilder *b = x->b;
    LoopType type = loop_type(b, ref);
    LoopRef args[MOST_CONDITIONS];
    type.lanes = (uint8_t)x->turn_count;
    if (def != NULL && def->op == LOOP_SCALAR) {
        for (uint32_t i = 0; i < def->arg_count; i++)
            args[i] = lanes_of(x, def->args[i]);
        return op_in_lanes(x, def->scalar, (ScalarType)type.elem, args, def->arg_count);
    }
    if (def != NULL && def->op == LOOP_LOAD && loads_in_turn(x, def)) {
        for (uint32_t i = 0; i < def->arg_count; i++)
            args[i] = value_in(x, 0, def->args[i]);
        return loop_emit1(b, LOOP_LOAD, args, def->arg_count, type);
    }
    for (uint32_t t = 0; t < x->turn_count; t++) args[t] = value_in(x, t, ref);
    return loop_emit1(b, LOOP_PACK, args, x->turn_count, type);
}

// The value in all turns, made here once.
static LoopRef lanes_of(Rare *x, LoopRef ref) {
    uint64_t made;
    ref = loop_find(x->b, ref);
    if (!is_inside(x, ref)) return ref;
    if (map_get(&x->lanes, ref, &made)) return (LoopRef)made;
    LoopRef lanes = make_lanes(x, def_of(x, ref), ref);
    map_set(&x->lanes, ref, lanes);
    return lanes;
}

static const LoopStm *computes(Rare *x, LoopRef ref, CoreOp op) {
    const LoopStm *def = def_of(x, ref);
    bool does = is_inside(x, ref) && def != NULL && def->op == LOOP_SCALAR;
    return does && def->scalar == op ? def : NULL;
}

// Which turns c may hold in: of two conditions on memory that must both hold, such as
// those that decide between equals, the first.
static LoopRef may_hold(Rare *x, LoopRef c) {
    const LoopStm *both = computes(x, c, OP_AND), *either = computes(x, c, OP_OR);
    if (both != NULL && depends(x, both->args[0]) && depends(x, both->args[1]))
        return may_hold(x, both->args[0]);
    if (either == NULL) return lanes_of(x, c);
    LoopRef args[2] = {may_hold(x, either->args[0]), may_hold(x, either->args[1])};
    return op_in_lanes(x, OP_OR, SCALAR_BOOL, args, 2);
}

// What integers of 64 bits are made of that fit into 32; 0: there is no such thing.
static LoopRef narrow_of(Rare *x, LoopRef ref) {
    for (const LoopStm *def; (def = computes(x, ref, OP_CONV)) != NULL;) {
        ScalarType from = (ScalarType)loop_type(x->b, def->args[0]).elem;
        ScalarType to = (ScalarType)loop_type(x->b, ref).elem;
        uint32_t bytes = scalar_info[from].bytes, size = scalar_info[to].bytes;
        // The upper half of u8 and u16 must not become negative.
        if (!scalar_is_int(from) || bytes > size || (bytes == size && bytes < 4))
            return 0;
        ref = loop_find(x->b, def->args[0]);
    }
    ScalarType elem = (ScalarType)loop_type(x->b, ref).elem;
    return scalar_is_int(elem) && scalar_info[elem].bytes <= 4 ? ref : 0;
}

// Where places are below a number, of 64 bits: in half of that, with a number that is
// not larger. What is negative is too large then, too.
static LoopRef holds_of_narrow(Rare *x, LoopRef guard) {
    LoopBuilder *b = x->b;
    const LoopStm *lt = computes(x, guard, OP_LT);
    if (lt == NULL || loop_type(b, lt->args[0]).elem != SCALAR_U64 ||
        is_inside(x, lt->args[1]))
        return 0;
    LoopRef narrow = narrow_of(x, lt->args[0]);
    if (narrow == 0) return 0;
    LoopRef bounds[2] = {lt->args[1], loop_const(b, SCALAR_U64, INT32_MAX)};
    LoopRef bound = loop_scalar(b, OP_MIN, SCALAR_U64, bounds, 2);
    LoopRef value = lanes_of(x, narrow);
    LoopRef args[2] = {op_in_lanes(x, OP_CONV, SCALAR_U32, &value, 1),
                       loop_scalar(b, OP_CONV, SCALAR_U32, &bound, 1)};
    return op_in_lanes(x, OP_LT, SCALAR_BOOL, args, 2);
}

// ---- looking ------------------------------------------------------------------------

static void sure(Rare *x, LoopRef c) {
    loop_emit(x->b, LOOP_SURE, &c, 1, NULL, 0);
}

// Whether all turns take the branch, and the places in it may be looked at: else none
// of them is over.
static void look_at_guard(Rare *x, LoopRef guard) {
    LoopRef holds = holds_of_narrow(x, guard);
    if (holds == 0) holds = lanes_of(x, guard);
    LoopRef fails = op_in_lanes(x, OP_NOT, SCALAR_BOOL, &holds, 1);
    LoopRef any = loop_emit1(x->b, LOOP_ANY, &fails, 1, loop_scalar_type(SCALAR_BOOL));
    sure(x, loop_not(x->b, any));
}

static void look(Rare *x) {
    LoopRef any = 0, last = 0;
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t k = 0; k < x->changes[i].guard_count; k++) {
            LoopRef guard = loop_find(x->b, x->changes[i].guards[k]);
            if (guard != last) look_at_guard(x, guard);
            last = guard;
        }
    for (uint32_t i = 0; i < x->count; i++) {
        const Change *change = &x->changes[i];
        LoopRef c = change->is_unless ? lanes_of(x, change->c) : may_hold(x, change->c);
        if (change->is_unless) c = op_in_lanes(x, OP_NOT, SCALAR_BOOL, &c, 1);
        LoopRef args[2] = {any, c};
        any = any == 0 ? c : op_in_lanes(x, OP_OR, SCALAR_BOOL, args, 2);
    }
    sure(x, op_in_lanes(x, OP_NOT, SCALAR_BOOL, &any, 1));
}

static void take_together(Rare *x, LoopStm *loop) {
    LoopBuilder *b = x->b;
    LoopBody *alone = loop->bodies[0];
    LoopRef index = loop_value(b, loop_type(b, x->index), 0);
    loop_open(b, &index, 1);
    for (uint32_t t = 0; t < x->turn_count; t++) {
        x->turns[t] = loop_copier(b);
        loop_copy_as(&x->turns[t], x->index, loop_add(b, index, loop_int(b, t)));
    }
    look(x);
    LoopBody *bodies[2] = {loop_close(b, NULL, 0), alone};
    loop_set_bodies(b, loop, bodies, 2);
    loop->number = x->turn_count;
}

static bool suits(const LoopBuilder *b, const LoopStm *loop) {
    return loop->op == LOOP_FOR && loop->order == ORDER_SEQUENTIAL &&
           loop->number == 0 && loop->arg_count == 1 &&
           loop_type(b, loop->args[0]).elem == SCALAR_I64 &&
           loop_body_size(loop->bodies[0]) <= MOST_SIZE;
}

static void look_at_loop(Rare *x, LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    map_init(&x->inside, loop_notes(x->b->kernel));
    map_init(&x->stored, loop_notes(x->b->kernel));
    map_init(&x->changing, loop_notes(x->b->kernel));
    map_init(&x->lanes, loop_notes(x->b->kernel));
    loop_bind_body(&x->inside, body);
    note_stored(x, body);
    note_changing(x, body);
    depend_spread(x->b, &x->changing, body);
    x->index = body->params[0];
    x->count = 0;
    if (!see_body(x, &(Change){.c = 0}, body) || x->count == 0) return;
    x->turn_count = MOST_CONDITIONS / x->count / LEAST_TURNS * LEAST_TURNS;
    if (x->turn_count > 0) take_together(x, loop);
}

static void walk_body(Rare *x, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        // There are no lanes within lanes.
        for (uint32_t k = loop_has_lanes(stm); k < stm->body_count; k++)
            walk_body(x, stm->bodies[k]);
        if (suits(x->b, stm)) look_at_loop(x, stm);
    }
}

void loop_rare(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    Rare *x = arena_new(kernel->arena, Rare);
    x->b = &b;
    x->sites = loop_sites(kernel);
    x->site_count = kernel->values.len;
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        walk_body(x, kernel->funs.data[i].body);
    walk_body(x, kernel->root);
    loop_tidy_news(&b);
}
