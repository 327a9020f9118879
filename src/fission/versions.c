// SPDX-License-Identifier: Apache-2.0
//
// The two versions of a run that are in the program (cut.h), each with values of its
// own. A body in which nothing of the run is named goes to the whole as it is, and the
// version that is to be cut shows it alone: each part has a copy of its own (split.h).
#include "fission/cut.h"

static CoreRef renamed(const Map *names, CoreRef ref) {
    uint64_t to;
    return map_get(names, ref, &to) ? (CoreRef)to : ref;
}

static bool has_name(const Map *names, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (renamed(names, refs[i]) != refs[i]) return true;
    return false;
}

static bool names_any(const Map *names, const CoreBody *body) {
    if (names->count == 0) return false;
    if (has_name(names, body->results, body->result_count)) return true;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (has_name(names, stm->args, stm->arg_count)) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (names_any(names, stm->bodies[k])) return true;
    }
    return false;
}

static CoreRef *rename_all(const CoreProgram *p, const Map *names, const CoreRef *refs,
                           uint32_t count) {
    CoreRef *copy = arena_alloc(p->arena, count * sizeof *refs);
    for (uint32_t i = 0; i < count; i++) copy[i] = renamed(names, refs[i]);
    return copy;
}

// The statement by these names, to which those of its results are added. `shares`: its
// bodies are shared if they can be.
static CoreStm *rename_stm(CoreProgram *p, Map *names, const CoreStm *stm,
                           bool shares) {
    CoreStm *copy = arena_copy(p->arena, stm, sizeof *stm);
    copy->args = rename_all(p, names, stm->args, stm->arg_count);
    if (stm->body_count > 0)
        copy->bodies =
            arena_copy(p->arena, stm->bodies, stm->body_count * sizeof *stm->bodies);
    for (uint32_t k = 0; k < stm->body_count; k++)
        if (!shares || names_any(names, stm->bodies[k]))
            copy->bodies[k] = core_clone(p, stm->bodies[k], names, 0);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        CoreValue value = p->values.data[stm->outs[k]];
        map_set(names, stm->outs[k], core_value(p, value.type, value.name));
    }
    copy->outs = rename_all(p, names, stm->outs, stm->out_count);
    return copy;
}

static CoreBody *rename_run(CoreProgram *p, Map *names, const CoreBody *run,
                            bool is_whole) {
    CoreBody *copy = arena_copy(p->arena, run, sizeof *run);
    map_init(names, core_notes(p));
    copy->stms.data = arena_alloc(p->arena, run->stms.len * sizeof *run->stms.data);
    for (uint32_t i = 0; i < run->stms.len; i++) {
        const CoreStm *stm = run->stms.data[i];
        bool shares = is_whole || !is_control(stm); // a loop of parts is no copy
        copy->stms.data[i] = rename_stm(p, names, stm, shares);
    }
    copy->results = rename_all(p, names, run->results, run->result_count);
    return copy;
}

CoreBody *version_whole(const Strategy *y, const CoreBody *run) {
    Map names;
    return rename_run(y->program, &names, run, true);
}

// What is known of a value holds for its copy.
static void copy_known(Map *map, CoreRef from, CoreRef to) {
    uint64_t known;
    if (map_get(map, from, &known)) map_set(map, to, known);
}

CoreBody *version_to_cut(Strategy *y, const CoreBody *run) {
    Map names;
    CoreBody *copy = rename_run(y->program, &names, run, false);
    for (uint32_t i = 0; i < run->stms.len; i++) {
        const CoreStm *stm = run->stms.data[i];
        CoreStm *own = copy->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++) {
            copy_known(&y->chosen, stm->outs[k], own->outs[k]);
            copy_known(&y->stays, stm->outs[k], own->outs[k]);
            copy_known(y->works, stm->outs[k], own->outs[k]);
            rewrite_define(y->facts, own->outs[k], own);
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (own->bodies[k] != stm->bodies[k])
                rewrite_define_all(y->facts, own->bodies[k]);
    }
    return copy;
}
