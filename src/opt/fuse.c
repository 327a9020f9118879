// SPDX-License-Identifier: Apache-2.0
//
// Fusion: what takes elements one by one takes over the function of the map that made
// them, so that no array lies between. A generate of one dimension counts as a map over
// its indices. Maps within maps fuse once the outer ones have, since the row then
// stands in one body with what it goes to.
//
// The laws: no bit and no error changes, no work is done twice beyond a constant.
//
// - An element is made as it was, from the same rows, by the same statements, and how a
//   fold associates is said by its stamp.
// - Arrays of different lengths are an error of the statement that meets them. Where
//   they are not known to be equal, a check of their own says so at its place.
// - If the producer's function may fail, nothing that may fail lies between, nor is the
//   consumer's own: its errors would come first. If it cannot, the order is free.
// - Every use of the results is an element of the one consumer; or the function is so
//   small that to load a result costs as much as to compute it.
// - Folds run in blocks, so that few long turns might not keep all cores busy: they
//   take straight code only, or short loops. Scans go over it twice and scatters in
//   order: they take little.
// - An array that is overwritten in place after the producer, or by the consumer, is
//   not kept alive (fuse_order.c).
//
// Termination: each fusion takes away a use of an array that a map or generate makes,
// and adds none but of arrays bound earlier. Rounds go on until one changes nothing.
#include "opt/fuse.h"

#include "opt/passes.h"

enum {
    MOST_COPIED = 4,    // statements that may be done again for each consumer
    MOST_IN_ORDER = 12, // in what runs in order, or twice
    MOST_STRAIGHT = 128 // in other folds
};

// A loop around, of which the body is being rebuilt.
typedef struct Around {
    struct Around *outer;
    const CoreStm *loop;
    const FuseState *states; // of this one and those around, once that was asked for
    bool has_states;
} Around;

typedef struct Fuser {
    uint32_t depth;      // second-order statements around
    uint32_t *uses;      // by CoreRef, as rw->uses
    uint32_t *feed_uses; // by CoreRef: how many uses are of its elements
    Around *around;      // the innermost one
    Map near;            // fuse_find_near
    Rewrite defs;        // what binds each value, once that was asked for
} Fuser;

bool fuse_is_producer(const CoreStm *stm) {
    return stm != NULL &&
           (stm->op == OP_MAP || (stm->op == OP_GENERATE && stm->attrs[0] == 1));
}

// ---- uses ---------------------------------------------------------------------------

static void note_feeds(void *data, const CoreStm *stm) {
    CoreFeeds feeds = core_feeds(stm);
    if (stm->op == OP_INDEX) ((uint32_t *)data)[stm->args[0]]++;
    for (uint32_t i = 0; i < feeds.count; i++)
        ((uint32_t *)data)[stm->args[feeds.first + i]]++;
}

static uint32_t uses_by(const CoreStm *consumer, CoreRef ref) {
    CoreFeeds feeds = core_feeds(consumer);
    uint32_t uses = 0;
    for (uint32_t i = 0; i < feeds.count; i++)
        uses += consumer->args[feeds.first + i] == ref;
    return uses;
}

// Whether the consumer's elements are all that the results are for.
static bool is_only_for(const Rewrite *rw, const CoreStm *producer,
                        const CoreStm *consumer) {
    for (uint32_t k = 0; k < producer->out_count; k++) {
        CoreRef out = producer->outs[k];
        if (out >= rw->use_count || rw->uses[out] != uses_by(consumer, out))
            return false;
    }
    return true;
}

bool fuse_is_fed(const Rewrite *rw, CoreRef array) {
    const Fuser *fuser = rw->data;
    return array < rw->use_count && rw->uses[array] == fuser->feed_uses[array];
}

bool fuse_is_small(const Rewrite *rw, const CoreStm *producer) {
    const CoreProgram *p = rw->program;
    const CoreBody *body = producer->bodies[0];
    return producer->out_count == 1 && producer->attrs[0] == 1 &&
           core_type(p, producer->outs[0]).rank == 1 &&
           core_type(p, body->params[0]).rank == 0 &&
           fuse_weight(p, body) <= MOST_COPIED && !fuse_may_fail(rw, body);
}

// Whether each consumer may make the elements for itself: there are only consumers,
// and what they load instead is no more than what they loaded.
static bool is_copied(const Rewrite *rw, const CoreStm *producer) {
    return fuse_is_small(rw, producer) && fuse_is_fed(rw, producer->outs[0]);
}

void fuse_use_again(Rewrite *rw, CoreRef array) {
    if (array < rw->use_count) ((Fuser *)rw->data)->uses[array]++;
}

void fuse_use_less(Rewrite *rw, CoreRef array) {
    Fuser *fuser = rw->data;
    if (array >= rw->use_count) return;
    fuser->uses[array]--;
    fuser->feed_uses[array]--;
}

// ---- whether to ---------------------------------------------------------------------

static bool is_light_enough(const Rewrite *rw, const CoreStm *producer,
                            const CoreStm *consumer) {
    bool is_outer = ((const Fuser *)rw->data)->depth == 0;
    bool is_in_order = consumer->op == OP_SCAN || consumer->op == OP_SCATTER;
    if (consumer->op == OP_MAP) return true;
    return fuse_weight(rw->program, producer->bodies[0]) <=
           (is_in_order && is_outer ? MOST_IN_ORDER : MOST_STRAIGHT);
}

static bool rows_fit(const Rewrite *rw, const CoreStm *producer,
                     const CoreStm *consumer) {
    bool takes_rows =
        consumer->op == OP_MAP || consumer->op == OP_REDUCE || consumer->op == OP_SCAN;
    for (uint32_t k = 0; k < producer->out_count; k++) {
        if (core_type(rw->program, producer->outs[k]).rank == 1) continue;
        if (!takes_rows || !fuse_has_equal_rows(rw, producer, k)) return false;
    }
    if (consumer->op != OP_FILTER) return true;
    for (uint32_t k = 0; k < consumer->out_count; k++) // rows would be copied twice
        if (core_type(rw->program, consumer->outs[k]).rank > 1) return false;
    return true;
}

// Whether the arrays that the statement takes are known to be as long as each other.
static bool are_as_long(const Rewrite *rw, const CoreStm *consumer) {
    CoreFeeds feeds = core_feeds(consumer);
    for (uint32_t i = 1; i < feeds.count; i++)
        if (!fuse_have_met(rw, consumer->args[feeds.first],
                           consumer->args[feeds.first + i], consumer))
            return false;
    return true;
}

static bool is_result(const CoreBody *body, CoreRef ref) {
    for (uint32_t i = 0; i < body->result_count; i++)
        if (body->results[i] == ref) return true;
    return false;
}

// Whether a row is taken as a whole by what does not look at its elements in any order,
// nor more than once.
static bool takes_in_order(const CoreBody *body, CoreRef row) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        bool is_taken = stm->op == OP_MAP || stm->op == OP_REDUCE ||
                        stm->op == OP_SCAN || stm->op == OP_CONCAT || stm->op == OP_DIM;
        for (uint32_t k = 0; k < stm->arg_count && !is_taken; k++)
            if (stm->args[k] == row) return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (fuse_names_any(stm->bodies[k], &row, 1)) return false;
    }
    return !is_result(body, row);
}

// Whether it generates the rows that a map takes, each in order.
static bool generates_rows(const CoreStm *producer, const CoreStm *consumer) {
    if (producer->op != OP_GENERATE || producer->attrs[0] < 2 || consumer->op != OP_MAP)
        return false;
    for (uint32_t k = 0; k < producer->out_count; k++)
        for (int32_t i = 0; i < consumer->attrs[0]; i++)
            if (consumer->args[i] == producer->outs[k] &&
                !takes_in_order(consumer->bodies[0], consumer->bodies[0]->params[i]))
                return false;
    return true;
}

static bool may_fuse(const Rewrite *rw, const CoreStm *producer,
                     const CoreStm *consumer) {
    if (!is_only_for(rw, producer, consumer) && !is_copied(rw, producer)) return false;
    if (!is_light_enough(rw, producer, consumer)) return false;
    if (!rows_fit(rw, producer, consumer)) return false;
    bool fails = fuse_consumer_may_fail(rw, consumer);
    if ((fails || core_feeds(consumer).count > 1) &&
        fuse_may_fail(rw, producer->bodies[0]) && (fails || !are_as_long(rw, consumer)))
        return false;
    return fuse_may_move(rw, producer, consumer);
}

// ---- fusing -------------------------------------------------------------------------

// Moves what was emitted since `from` up, to where the statement stands.
static void move_before(Rewrite *rw, uint32_t from, const CoreStm *stm) {
    CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    for (uint32_t at; from < here->stms.len; from++) {
        CoreStm *moved = here->stms.data[from];
        for (at = from; at > 0 && here->stms.data[at] != stm; at--)
            here->stms.data[at] = here->stms.data[at - 1];
        here->stms.data[at] = moved;
        here->stms.data[at + 1] = (CoreStm *)stm;
        rewrite_note(rw, moved);
    }
}

const CoreRef *fuse_producer_arrays(Rewrite *rw, const CoreStm *producer) {
    CoreBuilder *b = &rw->builder;
    uint32_t from = b->open.data[b->open.len - 1]->stms.len;
    const CoreRef *arrays = producer->args;
    if (producer->op == OP_GENERATE) {
        CoreRef args[3] = {producer->args[0], core_i64(rw->program, 0),
                           core_i64(rw->program, 1)};
        CoreType type = {SCALAR_I64, 1};
        b->loc = producer->loc;
        arrays = core_emit(b, OP_IOTA, args, 3, &type, 1)->outs;
    } else {
        fuse_check_lengths(rw, producer);
    }
    move_before(rw, from, producer);
    return arrays;
}

// The generate of one dimension of which each element is a row of that one.
static const CoreStm *make_rows(Rewrite *rw, const CoreStm *generate) {
    CoreProgram *p = rw->program;
    CoreBuilder *b = &rw->builder;
    const CoreBody *body = generate->bodies[0];
    uint32_t rank = (uint32_t)generate->attrs[0], count = generate->out_count;
    CoreRef index = core_value(p, core_type(p, body->params[0]), 0);
    CoreType *types = arena_array(p->arena, CoreType, count);
    CoreRefs results = {0};
    Map map;
    for (uint32_t k = 0; k < count; k++) {
        types[k] = core_type(p, generate->outs[k]);
        types[k].rank--;
    }
    map_init(&map, core_notes(p));
    map_set(&map, body->params[0], index);
    b->loc = generate->loc;
    core_open(b, &index, 1);
    CoreStm *row =
        core_emit(b, OP_GENERATE, generate->args + 1, rank - 1, types, count);
    core_set_attrs(b, row, (int32_t[]){(int32_t)rank - 1}, 1);
    CoreRef *params = arena_array(p->arena, CoreRef, rank - 1);
    for (uint32_t d = 1; d < rank; d++) {
        params[d - 1] = core_value(p, core_type(p, body->params[d]), 0);
        map_set(&map, body->params[d], params[d - 1]);
    }
    core_open(b, params, rank - 1);
    fuse_append(b, body, &map, &results);
    CoreBody *element = core_close(b, results.data, results.len);
    core_set_bodies(b, row, &element, 1);
    CoreBody *rows = core_close(b, row->outs, count);
    CoreStm *made = rewrite_copy(rw, generate);
    made->arg_count = 1;
    core_set_attrs(b, made, (int32_t[]){1}, 1);
    core_set_bodies(b, made, &rows, 1);
    return made;
}

static CoreStm *fuse(Rewrite *rw, CoreStm *producer, const CoreStm *consumer) {
    bool is_copy = !is_only_for(rw, producer, consumer);
    const CoreRef *arrays = fuse_producer_arrays(rw, producer);
    if (is_copy) fuse_use_again(rw, arrays[0]);
    fuse_check_lengths(rw, consumer);
    if (!is_copy) rewrite_drop(rw, producer);
    const CoreStm *made =
        fuse_is_producer(producer) ? producer : make_rows(rw, producer);
    return fuse_compose(rw, made, arrays, (uint32_t)made->attrs[0], consumer, !is_copy);
}

// The producer of an element that may be fused into the statement; NULL: there is none.
static CoreStm *find_producer(const Rewrite *rw, const CoreStm *stm) {
    CoreFeeds feeds = core_feeds(stm);
    for (uint32_t i = 0; i < feeds.count; i++) {
        CoreStm *producer = rewrite_def_here(rw, stm->args[feeds.first + i]);
        if (producer == NULL ||
            (!fuse_is_producer(producer) && !generates_rows(producer, stm)))
            continue;
        if (may_fuse(rw, producer, stm)) return producer;
    }
    return NULL;
}

static bool visit(Rewrite *rw, CoreStm *stm) {
    const Fuser *fuser = rw->data;
    if (fuse_view(rw, stm) || (fuser->depth > 0 && fuse_space(rw, stm))) return true;
    CoreStm *fused = stm;
    for (CoreStm *producer; (producer = find_producer(rw, fused)) != NULL;)
        fused = fuse(rw, producer, fused);
    if (fused == stm) return false;
    core_append(&rw->builder, fused);
    return true;
}

// ---- what loops keep ----------------------------------------------------------------

// The sizes that the loop keeps of the arrays that it carries, beside those around.
static const FuseState *find_states(const Rewrite *rw, Around *around) {
    const Fuser *fuser = rw->data;
    if (around == NULL || around->has_states)
        return around == NULL ? NULL : around->states;
    const FuseState *outer = find_states(rw, around->outer);
    const FuseState *states = fuse_loop_states(&fuser->defs, outer, around->loop);
    around->states = states;
    around->has_states = true;
    return states;
}

const FuseState *fuse_states_here(Rewrite *rw) {
    Fuser *fuser = rw->data;
    CoreProgram *p = rw->program;
    if (fuser->defs.program == NULL) {
        fuser->defs = rewrite_new(p);
        for (uint32_t i = 0; i < p->funs.len; i++)
            rewrite_define_all(&fuser->defs, p->funs.data[i]->body);
    }
    return find_states(rw, fuser->around);
}

bool fuse_is_safe_here(Rewrite *rw, const CoreStm *generate) {
    const FuseState *states = fuse_states_here(rw);
    const Fuser *fuser = rw->data;
    return fuse_is_safe(&fuser->defs, states, generate);
}

// ---- the whole ----------------------------------------------------------------------

static bool is_loop(const CoreStm *stm) {
    return stm->op == OP_FOR || stm->op == OP_WHILE;
}

static void enter(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)body;
    Fuser *fuser = rw->data;
    fuser->depth += core_op_info[stm->op].kind == KIND_ORDER2;
    if (!is_loop(stm)) return;
    Around *around = arena_new(rw->program->arena, Around);
    *around = (Around){.outer = fuser->around, .loop = stm};
    fuser->around = around;
}

static void leave(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)body;
    Fuser *fuser = rw->data;
    fuser->depth -= core_op_info[stm->op].kind == KIND_ORDER2;
    if (is_loop(stm)) fuser->around = fuser->around->outer;
}

static bool visit_beside(Rewrite *rw, CoreStm *stm) {
    return fuse_beside(rw, stm);
}

static bool visit_place(Rewrite *rw, CoreStm *stm) {
    return ((const Fuser *)rw->data)->depth == 0 && fuse_place(rw, stm);
}

static void enter_near(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    enter(rw, stm, body);
    fuse_find_near(rw, stm, &((Fuser *)rw->data)->near);
}

static bool visit_near(Rewrite *rw, CoreStm *stm) {
    return fuse_near(rw, stm, &((Fuser *)rw->data)->near);
}

static bool fuse_once(CoreProgram *p, bool (*rule)(Rewrite *rw, CoreStm *stm)) {
    Fuser fuser = {.uses = opt_count_uses(p),
                   .feed_uses = arena_array(core_notes(p), uint32_t, p->values.len)};
    map_init(&fuser.near, core_notes(p));
    Rewrite rw = rewrite_new(p);
    rw.visit = rule;
    rw.enter = rule == visit_near ? enter_near : enter;
    rw.leave = leave;
    rw.data = &fuser;
    rw.use_count = p->values.len;
    rw.uses = fuser.uses;
    for (uint32_t i = 0; i < p->funs.len; i++)
        core_walk(p->funs.data[i]->body, note_feeds, fuser.feed_uses);
    rewrite_all(&rw);
    opt_forget_notes(p);
    return rw.changed;
}

bool opt_fuse(CoreProgram *program) {
    bool changed = false;
    // Side by side later: results that then are one statement's have several consumers.
    // And then those whose elements several of one statement's are.
    while (fuse_once(program, visit) || fuse_once(program, visit_place) ||
           fuse_once(program, visit_beside) || fuse_once(program, visit_near)) {
        opt_simplify(program);
        changed = true;
    }
    return changed;
}
