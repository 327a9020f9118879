// SPDX-License-Identifier: Apache-2.0
//
// Kernels that make what the next one reads: it does so soon, so what they store had
// better stay in the caches as far as these hold it (emit/stream.c).
#include "opt/outline_next.h"

typedef struct Readers {
    CoreProgram *program;
    bool *is_read; // by CoreRef: a call takes it, or a loop carries it
} Readers;

static void note_read(Readers *r, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) r->is_read[refs[i]] = true;
}

static void note_reader(void *data, const CoreStm *stm) {
    Readers *r = data;
    bool is_loop = stm->op == OP_FOR || stm->op == OP_WHILE;
    if (stm->op == OP_CALL || is_loop) note_read(r, stm->args, stm->arg_count);
    for (uint32_t i = 0; i < stm->body_count && is_loop; i++)
        note_read(r, stm->bodies[i]->results, stm->bodies[i]->result_count);
}

static void note_maker(void *data, const CoreStm *stm) {
    const Readers *r = data;
    if (stm->op != OP_CALL) return;
    CoreFun **funs = r->program->funs.data, *fun = funs[stm->attrs[0]];
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (r->is_read[stm->outs[i]]) fun->is_read_next = true;
    if (fun->is_read_next && fun->otherwise != 0)
        funs[fun->otherwise - 1]->is_read_next = true;
}

void outline_note_next(CoreProgram *p) {
    Readers r = {.program = p};
    r.is_read = arena_array(core_notes(p), bool, p->values.len);
    for (uint32_t i = p->funs.len; i-- > 0;) { // callers come before callees
        const CoreFun *fun = p->funs.data[i];
        if (fun->kernel != CORE_NO_KERNEL) continue;
        core_walk(fun->body, note_reader, &r);
        if (fun->is_read_next)
            note_read(&r, fun->body->results, fun->body->result_count);
        core_walk(fun->body, note_maker, &r);
    }
}
