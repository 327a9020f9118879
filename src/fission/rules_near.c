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
#include <string.h>

#include "fission/rules.h"
#include "opt/fuse.h"

// ---- what the body looks at ---------------------------------------------------------

typedef struct Looks {
    const FissionSplit *s;
    Map bound;  // in the body
    Map arrays; // of outside that elements are taken of -> IS_NEAR or IS_FAR
} Looks;

enum { IS_NEAR = 1, IS_FAR = 2 };

static bool find_offset(const Looks *looks, const CoreStm *index,
                        FuseOffset *offset_out) {
    const FissionSplit *s = looks->s;
    return fuse_find_offset(s->facts, s->states, s->stm, &looks->bound, index->args[1],
                            offset_out);
}

static bool has_length(const FissionSplit *s, CoreRef array) {
    FuseSize length = {.array = array}, size = {.value = s->stm->args[0]};
    return fuse_is_equal(fuse_find_size(s->facts, s->states, length),
                         fuse_find_size(s->facts, s->states, size));
}

static void note_look(Looks *looks, const CoreStm *stm, uint32_t arg) {
    const CoreProgram *p = looks->s->program;
    CoreRef array = stm->args[arg];
    uint64_t known = 0;
    FuseOffset offset;
    if (core_type(p, array).rank == 0 || stm->op == OP_DIM) return;
    map_get(&looks->arrays, array, &known);
    if (known == 0) known = has_length(looks->s, array) ? IS_NEAR : IS_FAR;
    bool is_element = stm->op == OP_INDEX && core_type(p, stm->outs[0]).rank == 0;
    if (known == IS_NEAR && (!is_element || !find_offset(looks, stm, &offset)))
        known = IS_FAR;
    map_set(&looks->arrays, array, known);
}

static void note_looks(void *data, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->arg_count; i++) note_look(data, stm, i);
}

static Looks find_looks(const FissionSplit *s) {
    Looks looks = {.s = s};
    fuse_find_bound(s->program, s->stm, &looks.bound);
    map_init(&looks.arrays, core_notes(s->program));
    core_walk(s->stm->bodies[0], note_looks, &looks);
    return looks;
}

static bool is_near(const Looks *looks, CoreRef array) {
    uint64_t known;
    return map_get(&looks->arrays, array, &known) && known == IS_NEAR;
}

// Each of the arrays that are all near, in the order in which the body looks at them.
static CoreRefs near_arrays(const FissionSplit *s, const Looks *looks) {
    CoreRefs free = {0}, arrays = {0};
    core_free(s->program, s->stm->bodies[0], s->program->arena, &free);
    for (uint32_t i = 0; i < free.len; i++)
        if (is_near(looks, free.data[i]))
            vec_push(s->program->arena, &arrays, free.data[i]);
    return arrays;
}

CoreRefs fission_near(const FissionSplit *s) {
    Looks looks = find_looks(s);
    return near_arrays(s, &looks);
}

bool guard_near(const FissionSplit *s) {
    if (s->dim != 0 || s->facts == NULL || !guard_generate(s)) return false;
    if (!fuse_is_safe(s->facts, s->states, s->stm)) return false;
    return fission_near(s).len > 0;
}

// ---- the halo -----------------------------------------------------------------------

enum { MOST_ROWS = 2 * FUSE_WIDEST_END };

// An index by which the body looks at arrays.
typedef struct Site {
    CoreRef index;
    FuseOffset offset;
    CoreRefs arrays;
} Site;

// What the elements near the ends of a part find by it: element i[k] finds row[k] of
// each array.
typedef struct Halo {
    CoreRef i[MOST_ROWS], *row[MOST_ROWS];
} Halo;

typedef struct Part {
    FissionSplit *s;
    uint32_t p;
    CoreRef i;   // of the part
    Halo *halos; // by site
} Part;

// What all parts need, made before the first of them: so no part has to wait for
// another that is made before what it needs of that one's arrays.
struct FissionNear {
    Looks looks;
    Map cut; // array -> FissionKnown, where it was not in parts
    struct {
        Site *data;
        uint32_t len, cap;
    } sites;
    Part parts[FISSION_MOST_PARTS];
};

static const FissionKnown *parts_of(const FissionSplit *s, CoreRef array) {
    const FissionKnown *known = fission_known(s, array);
    uint64_t cut = 0;
    if (known != NULL) return known;
    map_get(&s->near->cut, array, &cut);
    return (const FissionKnown *)(uintptr_t)cut;
}

static bool is_look(const FissionSplit *s, const CoreStm *stm) {
    return stm->op == OP_INDEX && is_near(&s->near->looks, stm->args[0]);
}

// By number; that of the next one: there is none yet.
static uint32_t find_site(const FissionSplit *s, const CoreStm *look) {
    uint32_t i = 0;
    while (i < s->near->sites.len &&
           !fuse_are_alike(s->facts, s->near->sites.data[i].index, look->args[1]))
        i++;
    return i;
}

static uint32_t find_array(const Site *site, CoreRef array) {
    uint32_t k = 0;
    while (k < site->arrays.len && site->arrays.data[k] != array) k++;
    return k;
}

static void note_site(void *data, const CoreStm *stm) {
    FissionSplit *s = data;
    Arena *arena = s->program->arena;
    if (!is_look(s, stm)) return;
    uint32_t number = find_site(s, stm);
    if (number == s->near->sites.len) {
        Site site = {.index = stm->args[1]};
        find_offset(&s->near->looks, stm, &site.offset);
        vec_push(arena, &s->near->sites, site);
    }
    Site *site = &s->near->sites.data[number];
    if (find_array(site, stm->args[0]) == site->arrays.len)
        vec_push(arena, &site->arrays, stm->args[0]);
}

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
    for (uint32_t d = 0; d < rank; d++)
        at[1 + d] = core_value(program, (CoreType){SCALAR_I64, 0}, 0);
    core_open(s->b, at + 1, rank);
    at[1] = core_op2(s->b, OP_ADD, at[1], row);
    for (uint32_t k = 0; k < array_count; k++) {
        types[k] = core_type(program, arrays[k]);
        CoreType elem = {types[k].elem, 0};
        at[0] = fission_known(s, arrays[k])->parts[p];
        CoreStm *index = core_emit(s->b, OP_INDEX, at, 1 + rank, &elem, 1);
        index->flags |= STM_UNSAFE;
        elements[k] = index->outs[0];
    }
    CoreBody *body = core_close(s->b, elements, array_count);
    fission_at(s, s->beside, p);
    const CoreStm *copy =
        fission_emit(s, OP_GENERATE, args, rank, (int32_t[]){(int32_t)rank}, 1, body,
                     types, array_count);
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
static void make_halo(Part *part, const Site *site, Halo *halo) {
    FissionSplit *s = part->s;
    CoreRef zero = core_i64(s->program, 0), one = core_i64(s->program, 1);
    for (uint32_t k = 0; k < site->offset.first + site->offset.last; k++) {
        CoreRef i = core_i64(s->program, k);
        if (k >= site->offset.first)
            i = fission_op2(s, OP_SUB, s->length[part->p],
                            core_i64(s->program, k - site->offset.first + 1));
        CoreRef at = fission_op2(s, OP_ADD, s->start[part->p], i);
        CoreRef x = fuse_emit_at(s->b, s->facts, s->stm, site->index, at);
        CoreRef last = fission_op2(s, OP_SUB, s->size, one);
        x = fission_op2(s, OP_MAX, fission_op2(s, OP_MIN, x, last), zero);
        CoreRef is_there = fission_op2(s, OP_AND, fission_op2(s, OP_LE, zero, i),
                                       fission_op2(s, OP_LT, i, s->length[part->p]));
        CoreRef count = fission_select(s, is_there, one, zero);
        halo->i[k] = i;
        halo->row[k] = arena_array(s->program->arena, CoreRef, site->arrays.len);
        make_rows(s, &site->arrays, x, count, halo->row[k]);
    }
}

// ---- the part's body ----------------------------------------------------------------

static CoreStm *element_of(FissionSplit *s, const CoreStm *like, CoreRef array,
                           CoreRef x) {
    CoreRef args[1 + CORE_MAX_RANK];
    CoreType type = core_type(s->program, like->outs[0]);
    memcpy(args, like->args, like->arg_count * sizeof *args);
    args[0] = array;
    args[1] = x;
    CoreStm *index = core_emit(s->b, OP_INDEX, args, like->arg_count, &type, 1);
    index->flags |= STM_UNSAFE;
    return index;
}

// What `copy`, the part's of `look`, looks at: from row number k of the halo on, or the
// part of the array.
static CoreStm *emit_look(Part *part, const CoreStm *look, const CoreStm *copy,
                          uint32_t k) {
    FissionSplit *s = part->s;
    uint32_t number = find_site(s, look);
    const Site *site = &s->near->sites.data[number];
    const Halo *halo = &part->halos[number];
    int64_t by = site->offset.by;
    if (k == site->offset.first + site->offset.last) {
        CoreRef x = part->i;
        if (by != 0) x = core_op2(s->b, OP_ADD, x, core_i64(s->program, by));
        return element_of(s, copy, parts_of(s, look->args[0])->parts[part->p], x);
    }
    CoreType type = core_type(s->program, look->outs[0]);
    CoreRef row = halo->row[k][find_array(site, look->args[0])];
    CoreRef is_here = core_op2(s->b, OP_EQ, part->i, halo->i[k]);
    core_open(s->b, NULL, 0);
    const CoreStm *there = element_of(s, copy, row, core_i64(s->program, 0));
    CoreBody *yes = core_close(s->b, there->outs, 1);
    core_open(s->b, NULL, 0);
    const CoreStm *inside = emit_look(part, look, copy, k + 1);
    CoreBody *no = core_close(s->b, inside->outs, 1);
    CoreStm *choice = core_emit(s->b, OP_IF, &is_here, 1, &type, 1);
    core_set_bodies(s->b, choice, (CoreBody *[]){yes, no}, 2);
    return choice;
}

// Changes a copy of the body, statement by statement; it may have more in front.
static void change(Part *part, const CoreBody *body, CoreBody *copy) {
    FissionSplit *s = part->s;
    CoreBuilder *b = s->b;
    uint32_t more = copy->stms.len - body->stms.len;
    core_open(b, NULL, 0);
    for (uint32_t i = 0; i < more; i++) core_append(b, copy->stms.data[i]);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        CoreStm *own = copy->stms.data[more + i];
        for (uint32_t k = 0; k < stm->body_count; k++)
            change(part, stm->bodies[k], own->bodies[k]);
        if (is_look(s, stm)) {
            emit_look(part, stm, own, 0)->outs = own->outs;
        } else if (stm->op == OP_DIM && is_near(&s->near->looks, stm->args[0])) {
            const FissionKnown *known = parts_of(s, stm->args[0]);
            fission_known_dim(s, known, known->parts[part->p], own);
        } else {
            core_append(b, own);
        }
    }
    copy->stms = core_close(b, NULL, 0)->stms;
}

static void prepare(FissionSplit *s) {
    Arena *arena = s->program->arena;
    struct FissionNear *near = s->near = arena_new(arena, struct FissionNear);
    CoreLoc here = s->b->loc;
    near->looks = find_looks(s);
    map_init(&near->cut, arena);
    fission_at(s, NULL, 0);
    CoreRefs arrays = near_arrays(s, &near->looks);
    for (uint32_t i = 0; i < arrays.len; i++) {
        if (fission_known(s, arrays.data[i]) != NULL) continue;
        FissionKnown *cut = arena_new(arena, FissionKnown);
        cut->size = s->size;
        cut->parts = fission_split(s, arrays.data[i], 0);
        map_set(&near->cut, arrays.data[i], (uint64_t)(uintptr_t)cut);
    }
    core_walk(s->stm->bodies[0], note_site, s);
    for (uint32_t p = 0; p < s->parts; p++) {
        Part *part = &near->parts[p];
        *part = (Part){.s = s, .p = p};
        part->halos = arena_array(arena, Halo, near->sites.len);
        for (uint32_t i = 0; i < near->sites.len; i++)
            make_halo(part, &near->sites.data[i], &part->halos[i]);
    }
    s->b->loc = here;
}

void part_near(FissionSplit *s, uint32_t p, CoreRef *results) {
    if (s->near == NULL) prepare(s);
    Part *part = &s->near->parts[p];
    CoreStm *stm = fission_generate(s, p);
    CoreBody *body = stm->bodies[0];
    part->i = body->params[0];
    change(part, s->stm->bodies[0], body);
    for (uint32_t k = 0; k < stm->out_count; k++) results[k] = stm->outs[k];
}
