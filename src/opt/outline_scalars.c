// SPDX-License-Identifier: Apache-2.0
//
// The scalars of a kernel: sizes of its arrays, and what is computed from those and
// from its params, it finds itself, so that it knows them to be these; and what the
// host has checked of sizes it checks again.
#include "core/messages.h"
#include "opt/outline.h"

CoreRef outline_unguarded(const Outliner *o, CoreRef ref) {
    uint64_t inner;
    while (map_get(&o->guarded, ref, &inner)) ref = (CoreRef)inner;
    return ref;
}

static bool is_arithmetic(const CoreProgram *p, const CoreStm *stm) {
    switch ((int)stm->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_MIN:
    case OP_MAX:
    case OP_EQ: return core_type(p, stm->args[0]).elem == SCALAR_I64;
    }
    return false;
}

void outline_note_scalar(Outliner *o, const CoreStm *stm) {
    uint64_t known;
    if (stm->op == OP_GUARD) map_set(&o->guarded, stm->outs[0], stm->args[0]);
    if (stm->op == OP_DIM)
        map_set(&o->dims, outline_dim_key(stm->args[0], stm->attrs[0]), stm->outs[0]);
    if (is_arithmetic(o->program, stm) ||
        (stm->op == OP_DIM && !map_get(&o->views, stm->args[0], &known)))
        map_set(&o->scalars, stm->outs[0], (uint64_t)(uintptr_t)stm);
    if (stm->op != OP_CHECK || !map_get(&o->scalars, stm->args[0], &known)) return;
    if (((const CoreStm *)(uintptr_t)known)->op == OP_EQ)
        vec_push(o->program->arena, &o->checks, stm);
}

// What a kernel has of the values that it uses, all by their unguarded refs.
typedef struct Parts {
    Map given; // to the ref by which the kernel calls it
    Map made;  // the same, of what is given for good or computed again
    Map sizes; // to the DIM of an array that is given, and is known to have that size
} Parts;

// What a scalar that is not given is computed by; NULL: that is not known.
static const CoreStm *find_scalar(const Outliner *o, const Parts *parts, CoreRef ref) {
    uint64_t known;
    if (map_get(&parts->sizes, ref, &known) || map_get(&o->scalars, ref, &known))
        return (const CoreStm *)(uintptr_t)known;
    return NULL;
}

static bool can_make_all(const Outliner *o, const Parts *parts, const CoreStm *stm,
                         unsigned depth);

// Arithmetic that needs long chains is not worth it.
static bool can_make(const Outliner *o, const Parts *parts, CoreRef ref,
                     unsigned depth) {
    uint64_t known;
    ref = outline_unguarded(o, ref);
    if (o->program->values.data[ref].is_const || map_get(&parts->given, ref, &known))
        return true;
    const CoreStm *stm = find_scalar(o, parts, ref);
    return depth > 0 && stm != NULL && can_make_all(o, parts, stm, depth - 1);
}

static bool can_make_all(const Outliner *o, const Parts *parts, const CoreStm *stm,
                         unsigned depth) {
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (!can_make(o, parts, stm->args[i], depth)) return false;
    return true;
}

enum { MOST_STEPS = 4 };

static CoreRef make_scalar(Outliner *o, Parts *parts, CoreRef ref);

// The statement for the kernel, with this result.
static void append_again(Outliner *o, Parts *parts, const CoreStm *stm, CoreRef out) {
    Arena *arena = o->program->arena;
    CoreStm *copy = arena_copy(arena, stm, sizeof *stm);
    copy->outs = arena_copy(arena, &out, sizeof out);
    copy->args = arena_array(arena, CoreRef, stm->arg_count);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        copy->args[i] = make_scalar(o, parts, stm->args[i]);
    core_append(&o->builder, copy);
}

static CoreRef make_scalar(Outliner *o, Parts *parts, CoreRef ref) {
    uint64_t known;
    ref = outline_unguarded(o, ref);
    if (o->program->values.data[ref].is_const) return ref;
    if (map_get(&parts->made, ref, &known)) return (CoreRef)known;
    CoreRef out = map_get(&parts->given, ref, &known) ? (CoreRef)known : ref;
    map_set(&parts->made, ref, out);
    const CoreStm *stm = find_scalar(o, parts, ref);
    if (stm != NULL && can_make_all(o, parts, stm, MOST_STEPS))
        append_again(o, parts, stm, out);
    return out;
}

// Whether a scalar that is given is, as has been checked, a size of an array that is
// given; then it is found so.
static bool make_size(Outliner *o, Parts *parts, const CoreStm *check) {
    uint64_t eq, dim, given, known;
    map_get(&o->scalars, check->args[0], &eq);
    const CoreRef *sides = ((const CoreStm *)(uintptr_t)eq)->args;
    for (int i = 0; i < 2; i++) {
        CoreRef size = outline_unguarded(o, sides[i]);
        if (!map_get(&parts->given, size, &given) ||
            map_get(&parts->made, size, &known) ||
            !map_get(&o->scalars, sides[1 - i], &dim))
            continue;
        const CoreStm *def = (const CoreStm *)(uintptr_t)dim;
        if (def->op != OP_DIM || !can_make_all(o, parts, def, MOST_STEPS) ||
            (map_get(&o->scalars, size, &known) &&
             can_make_all(o, parts, (const CoreStm *)(uintptr_t)known, MOST_STEPS)))
            continue;
        map_set(&parts->made, size, given);
        append_again(o, parts, def, (CoreRef)given);
        return true;
    }
    return false;
}

// A statement for kernels, which the host does not have.
static CoreStm *note_made(Outliner *o, CoreOp op, const CoreRef *args, uint32_t count,
                          ScalarType to) {
    CoreProgram *p = o->program;
    CoreStm *stm = arena_new(p->arena, CoreStm);
    CoreRef out = core_value(p, (CoreType){(uint8_t)to, 0}, 0);
    *stm = (CoreStm){.op = op,
                     .loc = o->builder.loc,
                     .outs = arena_copy(p->arena, &out, sizeof out),
                     .args = arena_copy(p->arena, args, count * sizeof *args),
                     .out_count = 1,
                     .arg_count = count};
    map_set(&o->scalars, out, (uint64_t)(uintptr_t)stm);
    return stm;
}

static CoreStm *note_dim(Outliner *o, CoreRef array, int32_t axis) {
    CoreStm *dim = note_made(o, OP_DIM, &array, 1, SCALAR_I64);
    core_set_attrs(&o->builder, dim, &axis, 1);
    return dim;
}

// A check that cannot fail, that the dimension is what is known of it.
static const CoreStm *check_size(Outliner *o, CoreRef array, int32_t axis,
                                 CoreRef size) {
    CoreStm *dim = note_dim(o, array, axis);
    CoreRef sizes[] = {dim->outs[0], size};
    CoreStm *eq = note_made(o, OP_EQ, sizes, 2, SCALAR_BOOL);
    CoreRef args[] = {eq->outs[0], sizes[0], sizes[1]};
    CoreStm *check = note_made(o, OP_CHECK, args, 3, SCALAR_BOOL);
    check->text = core_messages[MESSAGE_LENGTHS];
    return check;
}

// Notes sizes that are not given but which arrays are known to have that are.
static void note_sizes(Outliner *o, Parts *parts, const CoreRefs *frees) {
    uint64_t size, known;
    for (uint32_t i = 0; i < frees->len; i++)
        for (int32_t axis = 0; axis < core_type(o->program, frees->data[i]).rank;
             axis++) {
            if (!map_get(&o->sizes, outline_dim_key(frees->data[i], axis), &size))
                continue;
            CoreRef ref = outline_unguarded(o, (CoreRef)size);
            if (o->program->values.data[ref].is_const ||
                map_get(&parts->given, ref, &known) ||
                map_get(&parts->sizes, ref, &known))
                continue;
            const CoreStm *dim = note_dim(o, frees->data[i], axis);
            map_set(&parts->sizes, ref, (uint64_t)(uintptr_t)dim);
        }
}

// Whether the size is found as that dimension of that very array.
static bool is_found_there(const Outliner *o, const Parts *parts, CoreRef size,
                           CoreRef array, int32_t axis) {
    uint64_t known;
    if (!map_get(&parts->sizes, outline_unguarded(o, size), &known)) return false;
    const CoreStm *dim = (const CoreStm *)(uintptr_t)known;
    return dim->args[0] == array && dim->attrs[0] == axis;
}

// Those in force, and what is known of the sizes of arrays.
static Checks list_checks(Outliner *o, const Parts *parts, const CoreRefs *frees) {
    CoreProgram *p = o->program;
    Checks checks = {0};
    uint64_t size;
    for (uint32_t i = 0; i < o->checks.len; i++)
        vec_push(p->arena, &checks, o->checks.data[i]);
    for (uint32_t i = 0; i < frees->len; i++)
        for (int32_t axis = 0; axis < core_type(p, frees->data[i]).rank; axis++)
            if (map_get(&o->sizes, outline_dim_key(frees->data[i], axis), &size) &&
                !is_found_there(o, parts, (CoreRef)size, frees->data[i], axis))
                vec_push(p->arena, &checks,
                         check_size(o, frees->data[i], axis, (CoreRef)size));
    return checks;
}

// Of scalars that are one, guarded or not, one is given; the others are that one.
static void give(Outliner *o, Parts *parts, const CoreRefs *frees) {
    uint64_t known;
    for (uint32_t i = 0; i < frees->len; i++) {
        CoreRef ref = outline_unguarded(o, frees->data[i]);
        if (!map_get(&parts->given, ref, &known))
            map_set(&parts->given, ref, frees->data[i]);
    }
}

static void append_same(Outliner *o, const Parts *parts, const CoreRefs *frees) {
    uint64_t known;
    for (uint32_t i = 0; i < frees->len; i++) {
        CoreRef ref = frees->data[i];
        map_get(&parts->given, outline_unguarded(o, ref), &known);
        if (known == ref || core_type(o->program, ref).rank > 0) continue;
        CoreStm *same = arena_new(o->program->arena, CoreStm);
        CoreRef given = (CoreRef)known;
        *same = (CoreStm){.op = OP_GUARD,
                          .loc = o->builder.loc,
                          .outs = arena_copy(o->program->arena, &ref, sizeof ref),
                          .args = arena_copy(o->program->arena, &given, sizeof given),
                          .out_count = 1,
                          .arg_count = 1};
        core_append(&o->builder, same);
    }
}

void outline_append_scalars(Outliner *o, const CoreBody *body) {
    CoreProgram *p = o->program;
    CoreRefs frees = {0};
    Parts parts;
    core_free(p, body, p->arena, &frees);
    map_init(&parts.given, core_notes(p));
    map_init(&parts.made, core_notes(p));
    map_init(&parts.sizes, core_notes(p));
    give(o, &parts, &frees);
    note_sizes(o, &parts, &frees);
    Checks checks = list_checks(o, &parts, &frees);
    bool *is_used = arena_array(p->arena, bool, checks.len);
    for (uint32_t i = 0; i < checks.len; i++)
        is_used[i] = make_size(o, &parts, checks.data[i]);
    for (uint32_t i = 0; i < frees.len; i++) make_scalar(o, &parts, frees.data[i]);
    for (uint32_t i = 0; i < checks.len; i++)
        if (!is_used[i] && can_make_all(o, &parts, checks.data[i], MOST_STEPS))
            append_again(o, &parts, checks.data[i], checks.data[i]->outs[0]);
    append_same(o, &parts, &frees);
}
