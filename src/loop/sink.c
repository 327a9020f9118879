// SPDX-License-Identifier: Apache-2.0
//
// Copies of what a branch gives, as parts of the branch. Where the arms of a branch
// give an array each, and all that is done with it is to copy it to its place,
//
//     b, o = if(c) {.. -> x, 0i64} {.. -> y, p}
//     for j < n {y[p + j] = b[o + j]}
//
// the loop goes into both arms; and where an arm has made its array right in its place,
// as the second one here, there is nothing to copy.
#include "loop/copy.h"
#include "loop/passes.h"

static bool has(const LoopRef *refs, uint32_t count, LoopRef ref) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] == ref) return true;
    return false;
}

static bool uses(const LoopStm *stm, LoopRef ref) {
    if (has(stm->args, stm->arg_count, ref)) return true;
    for (uint32_t k = 0; k < stm->body_count; k++) {
        const LoopBody *body = stm->bodies[k];
        if (has(body->results, body->result_count, ref)) return true;
        for (uint32_t i = 0; i < body->stms.len; i++)
            if (uses(body->stms.data[i], ref)) return true;
    }
    return false;
}

// Whether the loop copies elements one by one.
static bool is_copy(const LoopStm *loop) {
    if (loop->op != LOOP_FOR || loop->out_count > 0 || loop->number != 0 ||
        loop->bodies[0]->stms.len != 2)
        return false;
    const LoopStm *load = loop->bodies[0]->stms.data[0];
    const LoopStm *store = loop->bodies[0]->stms.data[1];
    return load->op == LOOP_LOAD && store->op == LOOP_STORE &&
           store->args[1] == load->outs[0];
}

// Whether a loop that copies does it from where it copies to.
static bool copies_itself(const LoopStm *loop) {
    const LoopStm *load = loop->bodies[0]->stms.data[0];
    const LoopStm *store = loop->bodies[0]->stms.data[1];
    if (store->arg_count != load->arg_count + 1 || store->args[0] != load->args[0])
        return false;
    for (uint32_t i = 1; i < load->arg_count; i++)
        if (store->args[i + 1] != load->args[i]) return false;
    return true;
}

// Whether statement `at` is a branch of which the next one copies what it gives, and
// nobody else looks at that.
static bool can_sink(const LoopKernel *kernel, const LoopBody *body, uint32_t at) {
    const LoopStm *branch = body->stms.data[at];
    if (branch->op != LOOP_IF || branch->out_count == 0 || at + 1 == body->stms.len ||
        !is_copy(body->stms.data[at + 1]))
        return false;
    const LoopStm *load = body->stms.data[at + 1]->bodies[0]->stms.data[0];
    if (!has(branch->outs, branch->out_count, load->args[0])) return false;
    for (uint32_t k = 0; k < branch->out_count; k++) {
        LoopRef out = branch->outs[k];
        if (kernel->values.data[out].type.kind == LOOP_IS_MARK ||
            has(body->results, body->result_count, out))
            return false;
        for (uint32_t i = at + 2; i < body->stms.len; i++)
            if (uses(body->stms.data[i], out)) return false;
    }
    return true;
}

static void sink(LoopBuilder *b, LoopStm *branch, const LoopStm *loop) {
    for (int arm = 0; arm < 2; arm++) {
        LoopBody *body = branch->bodies[arm];
        LoopCopier copier = loop_copier(b);
        for (uint32_t k = 0; k < branch->out_count; k++)
            loop_copy_as(&copier, branch->outs[k], body->results[k]);
        LoopStm *copy = loop_copy_stm(&copier, loop);
        if (!copies_itself(copy)) vec_push(b->arena, &body->stms, copy);
        body->result_count = 0;
    }
    branch->out_count = 0;
}

static void visit(LoopBuilder *b, LoopBody *body) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        bool sinks = can_sink(b->kernel, body, i);
        if (sinks) sink(b, stm, body->stms.data[i + 1]);
        for (uint32_t k = 0; k < stm->body_count; k++) visit(b, stm->bodies[k]);
        body->stms.data[kept++] = stm;
        i += sinks;
    }
    body->stms.len = kept;
}

void loop_sink(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        visit(&b, kernel->funs.data[i].body);
    visit(&b, kernel->root);
    loop_tidy_news(&b);
}
