// SPDX-License-Identifier: Apache-2.0
//
// Walking over bodies: visiting, and finding free values. All of it follows the uniform
// shape of statements and knows no operator by name.
#include "core/core.h"

const CoreStm *core_find_def(const CoreBody *body, CoreRef ref) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            if (body->stms.data[i]->outs[k] == ref) return body->stms.data[i];
    return NULL;
}

void core_walk(const CoreBody *body, void (*visit)(void *data, const CoreStm *stm),
               void *data) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t j = 0; j < stm->body_count; j++)
            core_walk(stm->bodies[j], visit, data);
        visit(data, stm);
    }
}

// ---- free values --------------------------------------------------------------------

typedef struct Finder {
    const CoreProgram *program;
    Arena *arena;
    Map seen; // bound inside, or found already
    CoreRefs *refs;
} Finder;

static void find_use(Finder *f, CoreRef ref) {
    uint64_t known;
    if (ref == 0 || core_is_const(f->program, ref) || map_get(&f->seen, ref, &known))
        return;
    map_set(&f->seen, ref, 1);
    vec_push(f->arena, f->refs, ref);
}

static void find_in_body(Finder *f, const CoreBody *body) {
    for (uint32_t i = 0; i < body->param_count; i++)
        map_set(&f->seen, body->params[i], 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t j = 0; j < stm->arg_count; j++) find_use(f, stm->args[j]);
        for (uint32_t j = 0; j < stm->body_count; j++) find_in_body(f, stm->bodies[j]);
        for (uint32_t j = 0; j < stm->out_count; j++)
            map_set(&f->seen, stm->outs[j], 1);
    }
    for (uint32_t i = 0; i < body->result_count; i++) find_use(f, body->results[i]);
}

void core_free(const CoreProgram *p, const CoreBody *body, Arena *arena,
               CoreRefs *refs_out) {
    Finder finder = {.program = p, .arena = arena, .refs = refs_out};
    bool has_notes = p->notes != NULL && p->notes != arena;
    ArenaMark mark = arena_mark(has_notes ? p->notes : arena);
    map_init(&finder.seen, has_notes ? p->notes : arena);
    find_in_body(&finder, body);
    if (has_notes) arena_back(p->notes, mark);
}
