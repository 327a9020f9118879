// SPDX-License-Identifier: Apache-2.0
//
// Where the least is: after the least of some keys has been found, as by
//
//     let least = minimum (map key xs)
//     in minimum (map2 (\x i -> if key x == least then i else n) xs (indices xs))
//
// a second reduction goes over them all to find the first place, or the last, that has
// it. One reduction finds both: of two pairs of key and place it keeps the key that the
// first one would, and of the places with that key the one that the second one would.
// This, too, gives the same bits in any order. No key is equal to the least only if
// all of them are NaN, since minima prefer numbers; then the second one finds what it
// takes for places that have it not. That must be no place that it would prefer to any.
//
// Only outermost ones, which wait for memory: a row that is in the caches is sooner
// looked at twice by two simple ones.
#include "opt/algebra.h"
#include "opt/fuse.h"

// What the second reduction is made of.
typedef struct LeastPlace {
    CoreStm *first; // the reduction that finds the least key
    const CoreStm *second;
    CoreOp op, first_op; // minimum or maximum
    CoreRef indices;     // the array of them
    CoreRef count;       // how many there are
    CoreRef other;       // what is taken for a place that has not the key,
    bool is_one_less;    // or one less than that
} LeastPlace;

// Whether it finds one minimum or maximum, and which.
static bool finds_end(const CoreStm *stm, CoreOp *op_out) {
    if (stm->op != OP_REDUCE || stm->stamp != STAMP_FREE || stm->out_count != 1 ||
        stm->body_count > 2)
        return false;
    const CoreBody *op = stm->bodies[0];
    const CoreStm *def = core_find_def(op, op->results[0]);
    if (def == NULL || (def->op != OP_MIN && def->op != OP_MAX) || op->stms.len != 1)
        return false;
    *op_out = def->op;
    return true;
}

// ---- keys ---------------------------------------------------------------------------

// The array of which the body takes the value as an element; 0: none.
static CoreRef array_of(const CoreStm *stm, CoreRef ref) {
    CoreFeeds feeds = core_feeds(stm);
    for (uint32_t i = 0; feeds.producer != NULL && i < feeds.count; i++)
        if (feeds.producer->params[i] == ref) return stm->args[feeds.first + i];
    return 0;
}

// Whether what the first one's producer has as x is what the second one's has as y.
static bool is_same(const CoreProgram *p, const LeastPlace *o, CoreRef x, CoreRef y,
                    uint32_t depth) {
    CoreRef array = array_of(o->second, y);
    const CoreBody *body = core_feeds(o->first).producer;
    if (body == NULL) return array == o->first->args[0];
    if (array != 0) return array == array_of(o->first, x);
    const CoreStm *a = core_find_def(body, x);
    const CoreStm *b = core_find_def(core_feeds(o->second).producer, y);
    if (a == NULL || b == NULL) return x == y && array_of(o->first, x) == 0;
    if (depth == 0 || a->op != b->op || !core_is_scalar_op((CoreOp)a->op) ||
        a->arg_count != b->arg_count || a->attr_count != b->attr_count ||
        core_type(p, x).elem != core_type(p, y).elem)
        return false;
    for (uint32_t i = 0; i < a->attr_count; i++)
        if (a->attrs[i] != b->attrs[i]) return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!is_same(p, o, a->args[i], b->args[i], depth - 1)) return false;
    return true;
}

// Whether the condition is that a key is equal to what an earlier reduction has found.
static bool compares_keys(const Rewrite *rw, LeastPlace *o, const CoreStm *eq) {
    enum { DEEPEST = 12 };
    if (eq == NULL || eq->op != OP_EQ) return false;
    for (uint32_t i = 0; i < 2; i++) {
        o->first = rewrite_def_here(rw, eq->args[i]);
        if (o->first == NULL || !finds_end(o->first, &o->first_op)) continue;
        const CoreBody *body = core_feeds(o->first).producer;
        CoreRef key = body != NULL ? body->results[0] : 0;
        if (is_same(rw->program, o, key, eq->args[1 - i], DEEPEST)) return true;
    }
    return false;
}

// ---- places -------------------------------------------------------------------------

static bool is_i64(const CoreProgram *p, CoreRef ref, int64_t value) {
    return ref == core_i64((CoreProgram *)p, value);
}

// Whether an array of the second one has the indices of the others.
static bool has_indices(const Rewrite *rw, LeastPlace *o, CoreRef array) {
    const CoreStm *def = array == 0 ? NULL : rewrite_def_here(rw, array);
    if (def == NULL || def->op != OP_IOTA || !is_i64(rw->program, def->args[1], 0) ||
        !is_i64(rw->program, def->args[2], 1))
        return false;
    o->indices = array;
    o->count = def->args[0];
    return true;
}

// What binds the value: in the arm, before the branch, or before the reduction.
static const CoreStm *find_around(const Rewrite *rw, const LeastPlace *o,
                                  const CoreBody *arm, CoreRef ref) {
    const CoreStm *def = core_find_def(arm, ref);
    if (def == NULL) def = core_find_def(core_feeds(o->second).producer, ref);
    return def != NULL ? def : rewrite_def(rw, ref);
}

// Whether it is how many there are.
static bool is_count(const Rewrite *rw, const LeastPlace *o, CoreRef ref) {
    FuseSize size = {.value = ref}, count = {.value = o->count};
    return ref == o->count || fuse_is_equal(fuse_find_size(rw, NULL, size),
                                            fuse_find_size(rw, NULL, count));
}

// Whether what is taken where the key is another is no better than any place.
static bool is_no_better(const Rewrite *rw, LeastPlace *o, const CoreBody *arm) {
    const CoreProgram *p = rw->program;
    CoreRef other = o->other = arm->results[0];
    if (o->op == OP_MAX)
        return core_is_const(p, other) && (int64_t)p->values.data[other].bits <= 0;
    if (is_i64(p, other, INT64_MAX)) return true;
    o->other = o->count;
    if (is_count(rw, o, other)) return true;
    const CoreStm *def = find_around(rw, o, arm, other);
    o->is_one_less = true;
    if (def == NULL || def->arg_count != 2) return false;
    for (uint32_t i = 0; i < 2; i++)
        if (def->op == OP_ADD && is_count(rw, o, def->args[i]) &&
            is_i64(p, def->args[1 - i], -1))
            return true;
    return def->op == OP_SUB && is_count(rw, o, def->args[0]) &&
           is_i64(p, def->args[1], 1);
}

// Whether the arrays of both are known to be as long, the second one's being the first
// one's beside indices.
static bool share_arrays(const Rewrite *rw, const LeastPlace *o) {
    CoreFeeds x = core_feeds(o->first), y = core_feeds(o->second);
    for (uint32_t i = 0; i < y.count; i++) {
        CoreRef array = o->second->args[i];
        bool is_there = array == o->indices;
        for (uint32_t k = 0; k < x.count; k++)
            is_there = is_there || o->first->args[k] == array;
        if (!is_there) return false;
    }
    for (uint32_t i = 0; i < x.count; i++)
        if (core_type(rw->program, o->first->args[i]).rank != 1) return false;
    return fuse_same_length(rw, o->first->args[0], o->indices);
}

static bool find_place(const Rewrite *rw, const CoreStm *stm, LeastPlace *o) {
    *o = (LeastPlace){.second = stm};
    if (!finds_end(stm, &o->op) || fuse_consumer_may_fail(rw, stm)) return false;
    const CoreBody *body = core_feeds(stm).producer;
    const CoreStm *branch = body == NULL ? NULL : core_find_def(body, body->results[0]);
    if (branch == NULL || branch->op != OP_IF || branch->out_count != 1) return false;
    return has_indices(rw, o, array_of(stm, branch->bodies[0]->results[0])) &&
           is_no_better(rw, o, branch->bodies[1]) &&
           compares_keys(rw, o, core_find_def(body, branch->args[0])) &&
           share_arrays(rw, o);
}

// ---- both in one --------------------------------------------------------------------

// (key, place, key, place) -> the better key, and the better place that has it.
static CoreBody *join_pairs(CoreBuilder *b, const LeastPlace *o) {
    CoreProgram *p = b->program;
    CoreType key = core_type(p, o->first->outs[0]), place = {SCALAR_I64, 0};
    CoreRef params[4], at[2],
        none = core_i64(p, o->op == OP_MIN ? INT64_MAX : INT64_MIN);
    for (uint32_t i = 0; i < 4; i++)
        params[i] = core_value(p, i % 2 == 0 ? key : place, 0);
    core_open(b, params, 4);
    CoreRef best = core_op2(b, o->first_op, params[0], params[2]);
    for (uint32_t i = 0; i < 2; i++) {
        CoreRef has = core_op2(b, OP_EQ, params[2 * i], best);
        at[i] = core_select(b, has, params[2 * i + 1], none);
    }
    CoreRef results[] = {best, core_op2(b, o->op, at[0], at[1])};
    return core_close(b, results, 2);
}

// Elements -> the key, and the place.
static CoreBody *make_pair(CoreBuilder *b, const LeastPlace *o) {
    CoreProgram *p = b->program;
    const CoreBody *body = core_feeds(o->first).producer;
    uint32_t count = core_feeds(o->first).count;
    CoreRef *params = arena_array(p->arena, CoreRef, count + 1);
    CoreRefs results = {0};
    Map map;
    map_init(&map, core_notes(p));
    for (uint32_t i = 0; i <= count; i++) {
        CoreType type = core_type(p, i < count ? o->first->args[i] : o->indices);
        type.rank--;
        params[i] = core_value(p, type, 0);
        if (body != NULL && i < count) map_set(&map, body->params[i], params[i]);
    }
    core_open(b, params, count + 1);
    if (body != NULL) fuse_append(b, body, &map, &results);
    else vec_push(p->arena, &results, params[0]);
    CoreRef pair[] = {results.data[0], params[count]};
    return core_close(b, pair, 2);
}

// The first one, with the place as another result.
static CoreStm *join(Rewrite *rw, const LeastPlace *o, CoreRef place) {
    CoreBuilder *b = &rw->builder;
    const CoreStm *first = o->first, *second = o->second;
    uint32_t count = core_feeds(first).count;
    CoreRefs args = {0}, outs = {0};
    for (uint32_t i = 0; i < count; i++)
        vec_push(rw->program->arena, &args, first->args[i]);
    vec_push(rw->program->arena, &args, o->indices);
    vec_push(rw->program->arena, &args, first->args[count]);
    vec_push(rw->program->arena, &args, second->args[core_feeds(second).count]);
    vec_push(rw->program->arena, &outs, first->outs[0]);
    vec_push(rw->program->arena, &outs, place);
    CoreStm *made = rewrite_copy(rw, first);
    made->args = args.data;
    made->arg_count = args.len;
    made->outs = outs.data;
    made->out_count = outs.len;
    b->loc = first->loc;
    core_set_attrs(b, made, (int32_t[]){(int32_t)count + 1, 1}, 2);
    CoreBody *bodies[] = {join_pairs(b, o), make_pair(b, o)};
    core_set_bodies(b, made, bodies, 2);
    return made;
}

// What the second one finds: the place, but where all keys are NaN what that says.
static CoreRef found(Rewrite *rw, const LeastPlace *o, CoreRef place) {
    CoreBuilder *b = &rw->builder;
    CoreRef least = o->first->outs[0], other = o->other;
    if (!scalar_is_float((ScalarType)core_type(rw->program, least).elem)) return place;
    b->loc = o->second->loc;
    CoreRef is_number = core_op2(b, OP_EQ, least, least);
    CoreRef is_nan = core_op1(b, OP_NOT, is_number);
    CoreRef has_some = core_op2(b, OP_LT, core_i64(rw->program, 0), o->count);
    if (o->is_one_less) other = core_op2(b, OP_SUB, o->count, core_i64(rw->program, 1));
    return core_select(b, core_op2(b, OP_AND, is_nan, has_some), other, place);
}

// Takes the first of the arrays of the same indices, and brings it to before the first
// reduction; returns the number that this has then, or 0 if that cannot be.
static uint32_t bring_indices(const Rewrite *rw, LeastPlace *o) {
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    const CoreStm *def = rewrite_def_here(rw, o->indices);
    uint32_t at = 0, from = 0;
    while (here->stms.data[at] != o->first) at++;
    while (here->stms.data[from]->op != OP_IOTA ||
           !cse_are_equal(rw->program, here->stms.data[from], def))
        from++;
    o->indices = here->stms.data[from]->outs[0];
    if (from < at) return at;
    uint32_t moved = fuse_bring_indices(rw, o->indices, at);
    return moved == at ? 0 : moved;
}

bool fuse_place(Rewrite *rw, const CoreStm *stm) {
    CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    LeastPlace o;
    if (!find_place(rw, stm, &o)) return false;
    uint32_t at = bring_indices(rw, &o);
    if (at == 0) return false;
    CoreRef place = core_value(rw->program, core_type(rw->program, stm->outs[0]), 0);
    here->stms.data[at] = join(rw, &o, place);
    rewrite_note(rw, here->stms.data[at]);
    rewrite_set(rw, stm->outs[0], found(rw, &o, place));
    return true;
}
