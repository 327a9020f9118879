// SPDX-License-Identifier: Apache-2.0
//
// Stencils by indices: a generate that looks at arrays as long as itself near its own
// index (opt/fuse_offset.c),
//
//   generate n m {i, j -> .. a[if i == 0 then n - 1 else i - 1, j] .. a[i, j] ..}
//
// A part takes the part of each such array, and besides, one by one, the rows that its
// first and its last elements look at: its halo, which may lie anywhere. So nothing is
// known about what is beyond the ends, and nothing has to be.
#include "fission/near.h"

CoreRefs fission_near(const FissionSplit *s) {
    if (s->dim != 0 || s->facts == NULL || !guard_generate(s) ||
        !fuse_is_safe(s->facts, s->states, s->stm))
        return (CoreRefs){0};
    return near_looks(s);
}

bool guard_near(const FissionSplit *s) {
    return fission_near(s).len > 0;
}

// ---- the halo -----------------------------------------------------------------------

// Row x of each of the arrays, copied where part p lies: so many of it, 0 or 1.
static CoreBody *copy_from(FissionSplit *s, const CoreRef *arrays, uint32_t array_count,
                           uint32_t p, CoreRef x, CoreRef count) {
    CoreProgram *program = s->program;
    const FissionKnown *first = fission_known(s, arrays[0]);
    uint32_t rank = core_type(program, arrays[0]).rank;
    CoreType *types = arena_array(program->arena, CoreType, array_count);
    CoreRef *elements = arena_array(program->arena, CoreRef, array_count);
    CoreRef args[CORE_MAX_RANK] = {count}, at[1 + CORE_MAX_RANK];
    core_open(s->b, NULL, 0);
    CoreRef row = p == 0 ? x : fission_op2(s, OP_SUB, x, s->start[p]);
    for (uint32_t d = 1; d < rank; d++)
        args[d] = first->rows != NULL ? first->rows[d - 1]
                                      : fission_dim(s, first->parts[p], d);
    const CoreRef *i = fission_open_indices(s, rank);
    for (uint32_t d = 1; d < rank; d++) at[1 + d] = i[d];
    at[1] = core_op2(s->b, OP_ADD, i[0], row);
    for (uint32_t k = 0; k < array_count; k++) {
        types[k] = core_type(program, arrays[k]);
        CoreType elem = {types[k].elem, 0};
        at[0] = fission_known(s, arrays[k])->parts[p];
        CoreStm *index = core_emit(s->b, OP_INDEX, at, 1 + rank, &elem, 1);
        index->flags |= STM_UNSAFE;
        elements[k] = index->outs[0];
    }
    fission_at(s, s->beside, p);
    const CoreStm *copy = fission_close_indices(s, args, elements, types, array_count);
    fission_at(s, NULL, 0);
    return core_close(s->b, copy->outs, array_count);
}

// Row x of arrays that are in parts, copied where it lies: so many of it, 0 or 1. It is
// in the last part that does not begin behind it, of those up to p.
static CoreStm *copy_rows(FissionSplit *s, const CoreRef *arrays, uint32_t array_count,
                          uint32_t p, CoreRef x, CoreRef count) {
    CoreType *types = arena_array(s->program->arena, CoreType, array_count);
    for (uint32_t k = 0; k < array_count; k++)
        types[k] = core_type(s->program, arrays[k]);
    CoreRef is_here = fission_op2(s, OP_LE, s->start[p], x);
    CoreBody *here = copy_from(s, arrays, array_count, p, x, count), *before;
    if (p == 1) {
        before = copy_from(s, arrays, array_count, 0, x, count);
    } else {
        core_open(s->b, NULL, 0);
        const CoreStm *other = copy_rows(s, arrays, array_count, p - 1, x, count);
        before = core_close(s->b, other->outs, array_count);
    }
    CoreStm *choice = core_emit(s->b, OP_IF, &is_here, 1, types, array_count);
    core_set_bodies(s->b, choice, (CoreBody *[]){here, before}, 2);
    return choice;
}

static bool are_alike(const FissionSplit *s, CoreRef a, CoreRef b) {
    uint32_t rank = core_type(s->program, a).rank;
    bool all = rank == core_type(s->program, b).rank;
    for (uint32_t d = 1; d < rank && all; d++) {
        FuseSize x = {.array = a, .axis = (int32_t)d}, y = {.array = b, .axis = x.axis};
        all = fuse_is_equal(fuse_find_size(s->facts, s->states, x),
                            fuse_find_size(s->facts, s->states, y));
    }
    return all;
}

// Row x of the arrays: those that are in parts go with others of the same shape.
static void make_rows(FissionSplit *s, const CoreRefs *arrays, CoreRef x, CoreRef count,
                      CoreRef *rows) {
    CoreRef *some = arena_array(s->program->arena, CoreRef, arrays->len);
    for (uint32_t k = 0; k < arrays->len; k++) {
        uint32_t few = 0;
        if (rows[k] != 0) continue;
        if (fission_known(s, arrays->data[k]) == NULL) {
            rows[k] = fission_window(s, arrays->data[k], x, count);
            continue;
        }
        for (uint32_t i = k; i < arrays->len; i++)
            if (fission_known(s, arrays->data[i]) != NULL &&
                are_alike(s, arrays->data[k], arrays->data[i]))
                some[few++] = arrays->data[i];
        const CoreStm *copy = copy_rows(s, some, few, s->parts - 1, x, count);
        for (uint32_t i = k; i < arrays->len; i++)
            for (uint32_t f = 0; f < few; f++)
                if (arrays->data[i] == some[f]) rows[i] = copy->outs[f];
    }
}

// What elements find that are near an end. A part that has no such element gets no
// row; and of elements that do not look any row will do.
static void make_halo(NearPart *part, const NearSite *site, NearEnds *ends) {
    FissionSplit *s = part->s;
    CoreRef zero = core_i64(s->program, 0), one = core_i64(s->program, 1);
    ends->count = site->offset.first + site->offset.last;
    for (uint32_t k = 0; k < ends->count; k++) {
        CoreRef i = core_i64(s->program, k);
        if (k >= site->offset.first)
            i = fission_op2(s, OP_SUB, s->length[part->p],
                            core_i64(s->program, k - site->offset.first + 1));
        CoreRef at = fission_op2(s, OP_ADD, s->start[part->p], i);
        CoreRef x = fuse_emit_at(s->b, s->facts, s->stm, site->index, at);
        CoreRef last = fission_op2(s, OP_SUB, s->size, one);
        x = fission_op2(s, OP_MAX, fission_op2(s, OP_MIN, x, last), zero);
        CoreRef is_below = fission_op2(s, OP_LT, i, s->length[part->p]);
        CoreRef is_there =
            fission_op2(s, OP_AND, fission_op2(s, OP_LE, zero, i), is_below);
        CoreRef count = fission_select(s, is_there, one, zero);
        ends->i[k] = i;
        ends->from[k] = arena_array(s->program->arena, CoreRef, site->arrays.len);
        make_rows(s, &site->arrays, x, count, ends->from[k]);
    }
}

// All halos are made before the first part: so no part has to wait for another that is
// made before what it needs of that one's arrays.
static void prepare(FissionSplit *s) {
    Arena *arena = s->program->arena;
    CoreLoc here = s->b->loc;
    near_find(s);
    fission_at(s, NULL, 0);
    CoreRefs arrays = near_arrays(s);
    for (uint32_t i = 0; i < arrays.len; i++) {
        if (fission_known(s, arrays.data[i]) != NULL) continue;
        FissionKnown *cut = arena_new(arena, FissionKnown);
        cut->size = s->size;
        cut->parts = fission_split(s, arrays.data[i], 0);
        map_set(&s->near->cut, arrays.data[i], (uint64_t)(uintptr_t)cut);
    }
    for (uint32_t p = 0; p < s->parts; p++)
        for (uint32_t i = 0; i < s->near->sites.len; i++)
            make_halo(&s->near->parts[p], &s->near->sites.data[i],
                      &s->near->parts[p].ends[i]);
    s->b->loc = here;
}

void part_near(FissionSplit *s, uint32_t p, CoreRef *results) {
    if (s->near == NULL) prepare(s);
    NearPart *part = &s->near->parts[p];
    CoreStm *stm = fission_generate(s, p);
    CoreBody *body = stm->bodies[0];
    part->i = body->params[0];
    near_change(part, s->stm->bodies[0], body);
    for (uint32_t k = 0; k < stm->out_count; k++) results[k] = stm->outs[k];
}
