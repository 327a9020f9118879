// SPDX-License-Identifier: Apache-2.0
//
// Scalars that are made of what kernels make, later: the host would wait for the
// kernel, and what comes behind, which may have nothing to do with it, would begin only
// then. So they stand before the first statement that uses them, in the order in which
// they were. Runs behind `outline`, where calls run beside the host.
#include "opt/passes.h"
#include "opt/rewrite.h"

typedef struct Later {
    CoreStm **data;
    uint32_t len, cap;
} Later;

typedef struct Pass {
    CoreProgram *program;
    bool *is_made;   // by CoreRef: a scalar that is made beside the host, or of such
    bool *is_needed; // by CoreRef, of what waits: by the statement at hand
    Later waiting;   // of the body that is rebuilt, in order
    bool changed;
} Pass;

static bool is_scalar(const Pass *pass, CoreRef ref) {
    return core_type(pass->program, ref).rank == 0;
}

static bool is_kernel_call(const Pass *pass, const CoreStm *stm) {
    if (stm->op != OP_CALL) return false;
    return pass->program->funs.data[stm->attrs[0]]->kernel != CORE_NO_KERNEL;
}

static bool may_wait(const Pass *pass, const CoreStm *stm) {
    bool is_of_made = false, are_scalars = stm->out_count > 0;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        is_of_made = is_of_made || pass->is_made[stm->args[i]];
        are_scalars = are_scalars && is_scalar(pass, stm->args[i]);
    }
    for (uint32_t k = 0; k < stm->out_count; k++)
        are_scalars = are_scalars && is_scalar(pass, stm->outs[k]);
    return is_of_made && are_scalars && stm->body_count == 0 && stm->op != OP_CALL &&
           !opt_is_effect(pass->program, stm);
}

static void note_made(Pass *pass, const CoreStm *stm) {
    for (uint32_t k = 0; k < stm->out_count; k++)
        pass->is_made[stm->outs[k]] = is_scalar(pass, stm->outs[k]);
}

// Whether anything is needed that waits.
static bool note_needed(Pass *pass, const CoreRef *refs, uint32_t count) {
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        any = any || pass->is_made[refs[i]];
        pass->is_needed[refs[i]] = true;
    }
    return any;
}

static bool is_needed(const Pass *pass, const CoreStm *stm) {
    bool any = false;
    for (uint32_t k = 0; k < stm->out_count; k++)
        any = any || pass->is_needed[stm->outs[k]];
    return any;
}

// Puts what the statement at hand uses, and what that uses; the rest waits on.
static void put_needed(Pass *pass, CoreBody *made) {
    Later *waiting = &pass->waiting;
    uint32_t left = 0;
    for (uint32_t i = waiting->len; i-- > 0;)
        if (is_needed(pass, waiting->data[i]))
            note_needed(pass, waiting->data[i]->args, waiting->data[i]->arg_count);
    for (uint32_t i = 0; i < waiting->len; i++) {
        CoreStm *stm = waiting->data[i];
        if (!is_needed(pass, stm)) waiting->data[left++] = stm;
        else vec_push(pass->program->arena, &made->stms, stm);
    }
    waiting->len = left;
}

static void put_needed_by(Pass *pass, CoreBody *made, const CoreStm *stm) {
    CoreProgram *p = pass->program;
    if (pass->waiting.len == 0) return;
    bool any = note_needed(pass, stm->args, stm->arg_count);
    for (uint32_t b = 0; b < stm->body_count; b++) {
        CoreRefs used = {0};
        core_free(p, stm->bodies[b], p->arena, &used);
        any = note_needed(pass, used.data, used.len) || any;
    }
    if (any) put_needed(pass, made);
}

static void rebuild(Pass *pass, CoreBody *body);

static void rebuild_inside(Pass *pass, const CoreStm *stm) {
    bool is_control = stm->op == OP_IF || stm->op == OP_FOR || stm->op == OP_WHILE;
    Later outer = pass->waiting;
    pass->waiting = (Later){0};
    for (uint32_t b = 0; b < stm->body_count && is_control; b++)
        rebuild(pass, stm->bodies[b]);
    pass->waiting = outer;
}

static void rebuild(Pass *pass, CoreBody *body) {
    CoreProgram *p = pass->program;
    CoreBody made = *body;
    made.stms.data = NULL;
    made.stms.len = made.stms.cap = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        if (is_kernel_call(pass, stm)) note_made(pass, stm);
        if (may_wait(pass, stm)) {
            note_made(pass, stm);
            vec_push(core_notes(p), &pass->waiting, stm);
            continue;
        }
        put_needed_by(pass, &made, stm);
        rebuild_inside(pass, stm);
        vec_push(p->arena, &made.stms, stm);
    }
    for (uint32_t i = 0; i < pass->waiting.len; i++)
        vec_push(p->arena, &made.stms, pass->waiting.data[i]);
    pass->waiting.len = 0;
    for (uint32_t i = 0; i < body->stms.len; i++)
        pass->changed = pass->changed || made.stms.data[i] != body->stms.data[i];
    body->stms = made.stms;
}

bool opt_late(CoreProgram *program) {
    uint32_t values = program->values.len + 1;
    Pass pass = {.program = program,
                 .is_made = arena_array(core_notes(program), bool, values),
                 .is_needed = arena_array(core_notes(program), bool, values)};
    for (uint32_t i = 0; i < program->funs.len; i++)
        if (program->funs.data[i]->kernel == CORE_NO_KERNEL)
            rebuild(&pass, program->funs.data[i]->body);
    return pass.changed;
}
