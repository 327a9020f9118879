// SPDX-License-Identifier: Apache-2.0
#include "fission/near.h"

#include <string.h>

// ---- what the body looks at ---------------------------------------------------------

enum { IS_NEAR = 1, IS_FAR = 2 };

static bool find_offset(const FissionNear *near, const CoreStm *index,
                        FuseOffset *offset_out) {
    const FissionSplit *s = near->s;
    return fuse_find_offset(s->facts, s->states, s->stm, &near->bound, index->args[1],
                            offset_out);
}

static bool has_length(const FissionSplit *s, CoreRef array) {
    FuseSize length = {.array = array}, size = {.value = s->stm->args[0]};
    return fuse_is_equal(fuse_find_size(s->facts, s->states, length),
                         fuse_find_size(s->facts, s->states, size));
}

static void note_look(FissionNear *near, const CoreStm *stm, uint32_t arg) {
    const CoreProgram *p = near->s->program;
    CoreRef array = stm->args[arg];
    uint64_t known = 0;
    FuseOffset offset;
    if (core_type(p, array).rank == 0 || stm->op == OP_DIM) return;
    map_get(&near->arrays, array, &known);
    if (known == 0) known = has_length(near->s, array) ? IS_NEAR : IS_FAR;
    bool is_element = stm->op == OP_INDEX && core_type(p, stm->outs[0]).rank == 0;
    if (known == IS_NEAR && (!is_element || !find_offset(near, stm, &offset)))
        known = IS_FAR;
    map_set(&near->arrays, array, known);
}

static void note_looks(void *data, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->arg_count; i++) note_look(data, stm, i);
}

static FissionNear find_looks(const FissionSplit *s) {
    FissionNear near = {.s = s};
    fuse_find_bound(s->program, s->stm, &near.bound);
    map_init(&near.arrays, core_notes(s->program));
    core_walk(s->stm->bodies[0], note_looks, &near);
    return near;
}

static bool is_near(const FissionNear *near, CoreRef array) {
    uint64_t known;
    return map_get(&near->arrays, array, &known) && known == IS_NEAR;
}

static CoreRefs arrays_of(const FissionNear *near) {
    const FissionSplit *s = near->s;
    CoreRefs free = {0}, arrays = {0};
    core_free(s->program, s->stm->bodies[0], core_notes(s->program), &free);
    for (uint32_t i = 0; i < free.len; i++)
        if (is_near(near, free.data[i]))
            vec_push(core_notes(s->program), &arrays, free.data[i]);
    return arrays;
}

CoreRefs near_arrays(const FissionSplit *s) {
    return arrays_of(s->near);
}

CoreRefs near_looks(const FissionSplit *s) {
    FissionNear near = find_looks(s);
    return arrays_of(&near);
}

// ---- by which indices ---------------------------------------------------------------

static bool is_look(const FissionSplit *s, const CoreStm *stm) {
    return stm->op == OP_INDEX && is_near(s->near, stm->args[0]);
}

// By number; that of the next one: there is none yet.
static uint32_t find_site(const FissionSplit *s, const CoreStm *look) {
    uint32_t i = 0;
    while (i < s->near->sites.len &&
           !fuse_are_alike(s->facts, s->near->sites.data[i].index, look->args[1]))
        i++;
    return i;
}

static uint32_t find_array(const NearSite *site, CoreRef array) {
    uint32_t k = 0;
    while (k < site->arrays.len && site->arrays.data[k] != array) k++;
    return k;
}

static void note_site(void *data, const CoreStm *stm) {
    FissionSplit *s = data;
    Arena *arena = core_notes(s->program);
    if (!is_look(s, stm)) return;
    uint32_t number = find_site(s, stm);
    if (number == s->near->sites.len) {
        NearSite site = {.index = stm->args[1]};
        find_offset(s->near, stm, &site.offset);
        vec_push(arena, &s->near->sites, site);
    }
    NearSite *site = &s->near->sites.data[number];
    if (find_array(site, stm->args[0]) == site->arrays.len)
        vec_push(arena, &site->arrays, stm->args[0]);
}

void near_find(FissionSplit *s) {
    Arena *arena = core_notes(s->program);
    s->near = arena_new(arena, FissionNear);
    *s->near = find_looks(s);
    map_init(&s->near->cut, arena);
    core_walk(s->stm->bodies[0], note_site, s);
    for (uint32_t p = 0; p < s->parts; p++)
        s->near->parts[p] = (NearPart){
            .s = s, .p = p, .ends = arena_array(arena, NearEnds, s->near->sites.len)};
}

// ---- the part's body ----------------------------------------------------------------

const FissionKnown *near_parts(const FissionSplit *s, CoreRef array) {
    const FissionKnown *known = fission_known(s, array);
    uint64_t cut = 0;
    if (known != NULL) return known;
    map_get(&s->near->cut, array, &cut);
    return (const FissionKnown *)(uintptr_t)cut;
}

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

// So far away from the index, in the part of the array that is looked at.
static CoreStm *element_away(const NearPart *part, const CoreStm *look,
                             const CoreStm *copy, int64_t by) {
    FissionSplit *s = part->s;
    CoreRef x = part->i;
    if (by != 0) x = core_op2(s->b, OP_ADD, x, core_i64(s->program, by));
    return element_of(s, copy, near_parts(s, look->args[0])->parts[part->p], x);
}

// What `copy`, the part's of `look`, looks at: from element number k near the ends on,
// or in the part of the array.
static CoreStm *emit_look(NearPart *part, const CoreStm *look, const CoreStm *copy,
                          uint32_t k) {
    FissionSplit *s = part->s;
    uint32_t number = find_site(s, look);
    const NearSite *site = &s->near->sites.data[number];
    const NearEnds *ends = &part->ends[number];
    if (k == ends->count) return element_away(part, look, copy, site->offset.by);
    CoreType type = core_type(s->program, look->outs[0]);
    CoreRef is_here = core_op2(s->b, OP_EQ, part->i, ends->i[k]);
    core_open(s->b, NULL, 0);
    const CoreStm *there;
    if (ends->from[k] == NULL) {
        there = element_away(part, look, copy, ends->by[k]);
    } else {
        CoreRef from = ends->from[k][find_array(site, look->args[0])];
        there = element_of(s, copy, from, core_i64(s->program, 0));
    }
    CoreBody *yes = core_close(s->b, there->outs, 1);
    core_open(s->b, NULL, 0);
    const CoreStm *inside = emit_look(part, look, copy, k + 1);
    CoreBody *no = core_close(s->b, inside->outs, 1);
    CoreStm *choice = core_emit(s->b, OP_IF, &is_here, 1, &type, 1);
    core_set_bodies(s->b, choice, (CoreBody *[]){yes, no}, 2);
    return choice;
}

static void change(NearPart *part, const CoreBody *body, CoreBody *copy) {
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
        } else if (stm->op == OP_DIM && is_near(s->near, stm->args[0])) {
            const FissionKnown *known = near_parts(s, stm->args[0]);
            fission_known_dim(s, known, known->parts[part->p], own);
        } else {
            core_append(b, own);
        }
    }
    copy->stms = core_close(b, NULL, 0)->stms;
}

static void note_uses(Map *uses, const CoreBody *body) {
    for (uint32_t i = 0; i < body->result_count; i++)
        map_set(uses, body->results[i], 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) map_set(uses, stm->args[k], 1);
        for (uint32_t k = 0; k < stm->body_count; k++) note_uses(uses, stm->bodies[k]);
    }
}

// Remainders that were indices. That they do not fail was known of the whole alone, and
// what may fail stays, used or not.
static void drop_unused(const Map *uses, CoreBody *body) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        uint64_t known;
        for (uint32_t k = 0; k < stm->body_count; k++)
            drop_unused(uses, stm->bodies[k]);
        if (stm->op != OP_MOD || map_get(uses, stm->outs[0], &known))
            body->stms.data[kept++] = stm;
    }
    body->stms.len = kept;
}

void near_change(NearPart *part, const CoreBody *body, CoreBody *copy) {
    Map uses;
    map_init(&uses, core_notes(part->s->program));
    change(part, body, copy);
    note_uses(&uses, copy);
    drop_unused(&uses, copy);
}
