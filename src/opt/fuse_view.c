// SPDX-License-Identifier: Apache-2.0
//
// Between what makes an array and what takes its elements: views, which move in front
// of the map whose result they are of, and single elements, which are made where they
// are wanted if a generate makes them of their index with next to nothing.
//
//   slice, reverse, guard (map f a)      map f (slice, reverse, guard a)
//   index (generate n f) i               f i, once i is known to lie within n
#include "core/messages.h"
#include "opt/fuse.h"

// ---- views --------------------------------------------------------------------------

static bool is_view(const CoreStm *stm) {
    if (stm->op == OP_GUARD) return true;
    return (stm->op == OP_SLICE || stm->op == OP_REVERSE) && stm->attrs[0] == 0;
}

// Whether the arrays look to the view as the result does: its errors name dimensions.
static bool has_like_arrays(const CoreProgram *p, const CoreStm *producer) {
    unsigned rank = core_type(p, producer->outs[0]).rank;
    if (producer->op == OP_GENERATE) return rank == 1;
    for (int32_t i = 0; i < producer->attrs[0]; i++)
        if (core_type(p, producer->args[i]).rank != rank) return false;
    return true;
}

static bool may_swap(const Rewrite *rw, const CoreStm *producer, const CoreStm *view) {
    const CoreProgram *p = rw->program;
    CoreRef made = producer->outs[0], seen = view->outs[0];
    if (producer->out_count > 1 || made >= rw->use_count || seen >= rw->use_count)
        return false;
    bool is_small = fuse_is_small(rw, producer);
    return (rw->uses[made] == 1 || is_small) && fuse_is_fed(rw, seen) &&
           has_like_arrays(p, producer) && !fuse_may_fail(rw, producer->bodies[0]) &&
           (core_type(p, made).rank == 1 || fuse_has_equal_rows(rw, producer, 0)) &&
           fuse_may_move(rw, producer, view);
}

// The view of another array.
static CoreRef emit_view(Rewrite *rw, const CoreStm *view, CoreRef array) {
    CoreProgram *p = rw->program;
    CoreStm *made = rewrite_copy(rw, view);
    made->args = arena_copy(p->arena, view->args, view->arg_count * sizeof *view->args);
    made->args[0] = array;
    CoreRef out = core_value(p, core_type(p, array), 0);
    made->outs = arena_copy(p->arena, &out, sizeof out);
    core_append(&rw->builder, made);
    return out;
}

static bool swap_view(Rewrite *rw, CoreStm *view) {
    CoreProgram *p = rw->program;
    CoreStm *producer = rewrite_def_here(rw, view->args[0]);
    if (!fuse_is_producer(producer) || !may_swap(rw, producer, view)) return false;
    uint32_t count = (uint32_t)producer->attrs[0];
    const CoreRef *arrays = fuse_producer_arrays(rw, producer);
    CoreStm *made = rewrite_copy(rw, producer);
    made->op = OP_MAP;
    made->args = arena_copy(p->arena, producer->args,
                            producer->arg_count * sizeof *producer->args);
    for (uint32_t i = 0; i < count; i++) made->args[i] = emit_view(rw, view, arrays[i]);
    made->outs = view->outs;
    CoreBody *body = core_copy(p, producer->bodies[0]);
    core_set_bodies(&rw->builder, made, &body, 1);
    core_append(&rw->builder, made);
    if (rw->uses[producer->outs[0]] == 1) rewrite_drop(rw, producer);
    else fuse_use_again(rw, arrays[0]);
    return true;
}

// ---- elements -----------------------------------------------------------------------

static bool reads_arrays(CoreProgram *p, const CoreBody *body) {
    CoreRefs refs = {0};
    core_free(p, body, p->arena, &refs);
    for (uint32_t i = 0; i < refs.len; i++)
        if (core_type(p, refs.data[i]).rank > 0) return true;
    return false;
}

static void check_index(Rewrite *rw, const CoreStm *index, CoreRef n) {
    CoreBuilder *b = &rw->builder;
    CoreRef i = index->args[1];
    b->flags = 0;
    CoreRef low = core_op2(b, OP_LE, core_i64(rw->program, 0), i);
    CoreRef inside = core_op2(b, OP_AND, low, core_op2(b, OP_LT, i, n));
    CoreType type = {SCALAR_BOOL, 0};
    core_emit(b, OP_CHECK, (CoreRef[]){inside, i, n}, 3, &type, 1)->text =
        core_messages[MESSAGE_INDEX];
    b->flags = index->flags;
}

static bool make_element(Rewrite *rw, const CoreStm *index) {
    CoreProgram *p = rw->program;
    const CoreStm *producer = rewrite_def(rw, index->args[0]);
    if (!fuse_is_producer(producer) || producer->op != OP_GENERATE ||
        index->arg_count != 2 || core_type(p, index->outs[0]).rank > 0 ||
        !fuse_is_small(rw, producer) || reads_arrays(p, producer->bodies[0]) ||
        !fuse_is_fed(rw, index->args[0]))
        return false;
    check_index(rw, index, producer->args[0]);
    CoreRefs results = {0};
    Map map;
    map_init(&map, core_notes(p));
    map_set(&map, producer->bodies[0]->params[0], index->args[1]);
    fuse_append(&rw->builder, producer->bodies[0], &map, &results);
    rewrite_set(rw, index->outs[0], results.data[0]);
    return true;
}

bool fuse_view(Rewrite *rw, CoreStm *stm) {
    if (stm->op == OP_INDEX) return make_element(rw, stm);
    return is_view(stm) && swap_view(rw, stm);
}
