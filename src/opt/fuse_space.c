// SPDX-License-Identifier: Apache-2.0
//
// Short spaces of several dimensions whose elements are taken in a row:
//
//   reshape (generate n m f) (n * m)     generate (n * m) (\k -> f (k / m) (k % m))
//
// and then whoever takes the elements may take over the function. The loop passes make
// a nest of it again, in which nothing is divided. Of long ones, whose folds are cut in
// blocks, each element would be divided for.
#include "opt/fuse.h"

enum { MOST_STEPS = 8 }; // from a size back to what it is computed from

// The size, of which a check may be left to do; 0 if it is not known, not short, or
// none.
static int64_t size_of(const Rewrite *rw, CoreRef ref, int steps) {
    const CoreProgram *p = rw->program;
    const CoreStm *def = rewrite_def(rw, ref);
    if (opt_is_positive(p, ref) && p->values.data[ref].bits <= CORE_BLOCK)
        return (int64_t)p->values.data[ref].bits;
    if (def == NULL || steps == 0 || (def->op != OP_GUARD && def->op != OP_MUL))
        return 0;
    int64_t size = size_of(rw, def->args[0], steps - 1);
    if (def->op == OP_MUL && size > 0) size *= size_of(rw, def->args[1], steps - 1);
    return size <= CORE_BLOCK ? size : 0;
}

// The number of elements that the sizes say; 0 likewise.
static int64_t count_of(const Rewrite *rw, const CoreRef *sizes, uint32_t count) {
    int64_t product = 1;
    for (uint32_t i = 0; i < count && product > 0; i++) {
        product *= size_of(rw, sizes[i], MOST_STEPS);
        if (product > CORE_BLOCK) return 0;
    }
    return product;
}

const CoreStm *fuse_find_space(const Rewrite *rw, const CoreStm *view) {
    const CoreProgram *p = rw->program;
    if (view->op != OP_RESHAPE || view->arg_count != 2) return NULL;
    int64_t count = count_of(rw, view->args + 1, 1);
    if (count == 0) return NULL;
    while (view != NULL && view->op == OP_RESHAPE) {
        if (count_of(rw, view->args + 1, view->arg_count - 1) != count ||
            view->args[0] >= rw->use_count || rw->uses[view->args[0]] != 1)
            return NULL;
        view = rewrite_def_here(rw, view->args[0]);
    }
    if (view == NULL || view->op != OP_GENERATE || view->out_count != 1) return NULL;
    uint32_t rank = (uint32_t)view->attrs[0];
    bool is_space = rank > 1 && core_type(p, view->outs[0]).rank == rank;
    return is_space && count_of(rw, view->args, rank) == count ? view : NULL;
}

// Element k of the space in row-major order.
static CoreBody *make_body(Rewrite *rw, const CoreStm *space) {
    CoreProgram *p = rw->program;
    CoreBuilder b = core_builder(p);
    const CoreBody *body = space->bodies[0];
    CoreRef rest = core_value(p, (CoreType){SCALAR_I64, 0}, 0);
    CoreRefs results = {0};
    Map map;
    map_init(&map, core_notes(p));
    b.loc = space->loc;
    core_open(&b, &rest, 1);
    for (uint32_t d = (uint32_t)space->attrs[0]; d-- > 1;) {
        map_set(&map, body->params[d], core_op2(&b, OP_REM, rest, space->args[d]));
        rest = core_op2(&b, OP_QUOT, rest, space->args[d]);
    }
    map_set(&map, body->params[0], rest);
    fuse_append(&b, body, &map, &results);
    return core_close(&b, results.data, results.len);
}

// Puts the statement where another one stands.
static void put_at(Rewrite *rw, const CoreStm *old, CoreStm *made) {
    CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    uint32_t at = 0;
    while (here->stms.data[at] != old) at++;
    here->stms.data[at] = made;
    rewrite_note(rw, made);
}

bool fuse_space(Rewrite *rw, CoreStm *view) {
    CoreProgram *p = rw->program;
    const CoreStm *space = fuse_find_space(rw, view);
    if (space == NULL || !fuse_is_fed(rw, view->outs[0])) return false;
    CoreStm *made = rewrite_copy(rw, space);
    CoreBody *body = make_body(rw, space);
    made->args = arena_copy(p->arena, &view->args[1], sizeof(CoreRef));
    made->arg_count = 1;
    made->outs = view->outs;
    core_set_attrs(&rw->builder, made, (int32_t[]){1}, 1);
    core_set_bodies(&rw->builder, made, &body, 1);
    const CoreStm *step = rewrite_def_here(rw, view->args[0]);
    for (; step != space; step = rewrite_def_here(rw, step->args[0]))
        rewrite_drop(rw, step);
    put_at(rw, space, made);
    rw->changed = true;
    return true;
}
