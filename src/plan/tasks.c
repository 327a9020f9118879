// SPDX-License-Identifier: Apache-2.0
//
// Tasks, the blocks of memory that they make and take, and who waits for them (walk.h).
#include "core/rules.h"
#include "plan/walk.h"

static void add_use(Walk *w, PlanTask *task, PlanUse use) {
    PlanBlock *block = &w->plan->blocks.data[use.block];
    if (!(use.bytes <= block->bytes)) use.bytes = block->bytes;
    for (uint32_t i = 0; i < task->uses.len; i++)
        if (task->uses.data[i].block == use.block &&
            task->uses.data[i].part == use.part)
            return;
    vec_push(w->arena, &task->uses, use);
}

// It lives until the last task so far at least.
static void keep(Walk *w, uint32_t block) {
    w->plan->blocks.data[block].last = w->plan->tasks.len - 1;
}

static void use_value(Walk *w, PlanTask *task, CoreRef ref) {
    WalkValue v = visit_value(w, ref);
    if (v.block == PLAN_NONE) return;
    keep(w, v.block);
    add_use(w, task, (PlanUse){v.block, v.part, visit_bytes(&v)});
}

uint32_t visit_new_block(Walk *w, const WalkValue *v, Sym name, CoreLoc loc,
                         uint32_t task, bool is_held) {
    PlanBlock block = {.name = name,
                       .loc = loc,
                       .type = v->type,
                       .bytes = visit_bytes(v),
                       .task = task,
                       .last = PLAN_NONE,
                       .is_held = is_held};
    vec_push(w->arena, &w->plan->blocks, block);
    return w->plan->blocks.len - 1;
}

// Whether what the statement makes has memory of its own, even if it is interpreted.
static bool makes_memory(const Walk *w, const CoreStm *stm) {
    uint32_t filled = 0;
    switch ((int)stm->op) {
    case OP_GENERATE:
    case OP_MAP:
    case OP_SCAN:
    case OP_HIST:
    case OP_SCATTER:
    case OP_FILTER:
    case OP_SORT:
    case OP_IOTA:
    case OP_REPLICATE:
    case OP_ARRAY:
    case OP_COPY:
    case OP_UPDATE: return true;
    case OP_CONCAT: // a part that alone has elements is the result
        for (uint32_t i = 0; i < core_parts(stm); i++)
            filled += visit_value(w, stm->args[i]).dims[stm->attrs[0]] > 0;
        return filled > 1;
    default: return false;
    }
}

// The same of a result of a kernel: no other one is the same array.
static bool gives_memory(const Walk *w, const CoreBody *body, uint32_t result) {
    CoreRef ref = core_unguarded(body, body->results[result]);
    for (uint32_t i = 0; i < result; i++)
        if (core_unguarded(body, body->results[i]) == ref) return false;
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            if (body->stms.data[i]->outs[k] == ref)
                return makes_memory(w, body->stms.data[i]);
    return false;
}

// Parts whose lengths are said in time lie in the whole from the first.
static void note_within(const Walk *w, const CoreStm *stm) {
    for (uint32_t i = 0; i < core_parts(stm); i++) {
        WalkValue v = visit_value(w, stm->args[i]);
        if (v.block == PLAN_NONE || v.part != 0) continue;
        PlanBlock *block = &w->plan->blocks.data[v.block];
        if (block->task == PLAN_NONE || w->plan->tasks.data[block->task].kernel == NULL)
            continue;
        block->is_within = true;
    }
}

// A task for the statement, which takes its args and makes its outs.
void visit_add_task(Walk *w, const CoreStm *stm, const CoreFun *kernel, double work) {
    Plan *plan = w->plan;
    if (plan->tasks.len == MOST_TASKS) {
        w->is_over = true;
        return;
    }
    uint32_t number = plan->tasks.len;
    vec_push(w->arena, &plan->tasks,
             (PlanTask){.op = kernel != NULL ? core_kernel_op(kernel) : stm->op,
                        .kernel = kernel,
                        .loc = stm->loc,
                        .piece = fission_find_piece(plan->in.decisions, stm->loc),
                        .visit = w->visit,
                        .turns = w->turns,
                        .work = work,
                        .first = plan->blocks.len,
                        .makes = stm->out_count,
                        .joins_rows = stm->op == OP_CONCAT && stm->attrs[0] == 0,
                        .measured = NAN});
    PlanTask *task = &plan->tasks.data[number];
    for (uint32_t i = 0; i < stm->arg_count; i++) use_value(w, task, stm->args[i]);
    if (stm->op == OP_CONCAT && core_parts(stm) < stm->arg_count) note_within(w, stm);
    if (w->waits != PLAN_NONE) add_use(w, task, (PlanUse){w->waits, 0, 0});
    for (uint32_t k = 0; k < stm->out_count; k++) {
        WalkValue *out = &w->values[stm->outs[k]];
        bool is_held =
            kernel != NULL ? gives_memory(w, kernel->body, k) : makes_memory(w, stm);
        out->block = visit_new_block(w, out, w->p->values.data[stm->outs[k]].name,
                                     stm->loc, number, is_held);
        out->part = 0;
    }
}

// What a result of the entry is made of, as far as that is known.
typedef struct Origin {
    PlanResult result;
    bool *is_open; // by CoreRef: the host makes it, of something
} Origin;

static bool is_told(const Walk *w, const CoreStm *stm, uint32_t body) {
    return stm->op != OP_IF || stm->bodies[body] == visit_branch(w, stm);
}

static void trace_value(Walk *w, Origin *o, CoreRef ref) {
    WalkValue v = visit_value(w, ref);
    PlanUses *uses = &o->result.uses;
    if (v.block == PLAN_NONE) {
        o->is_open[ref] = true;
        return;
    }
    for (uint32_t i = 0; i < uses->len; i++)
        if (uses->data[i].block == v.block) return;
    vec_push(w->arena, uses, (PlanUse){v.block, v.part, o->result.bytes});
}

static void trace_body(Walk *w, Origin *o, const CoreBody *body);

// Of the states of a loop, those that begin as what is open.
static void trace_args(Walk *w, Origin *o, const CoreStm *stm) {
    bool is_loop = stm->op == OP_FOR || stm->op == OP_WHILE;
    uint32_t first = stm->op == OP_FOR;
    for (uint32_t k = 0; k < stm->arg_count; k++)
        if (!is_loop || k < first || o->is_open[stm->outs[k - first]])
            trace_value(w, o, stm->args[k]);
}

static bool trace_outs(Walk *w, Origin *o, const CoreStm *stm) {
    bool is_open = false;
    for (uint32_t k = 0; k < stm->out_count; k++) {
        if (!o->is_open[stm->outs[k]]) continue;
        is_open = true;
        for (uint32_t b = 0; b < stm->body_count; b++)
            if (k < stm->bodies[b]->result_count && is_told(w, stm, b))
                trace_value(w, o, stm->bodies[b]->results[k]);
    }
    return is_open;
}

// A length is not made of what is in the array.
static void trace_step(Walk *w, Origin *o, const CoreStm *stm) {
    if (stm->op == OP_DIM || !trace_outs(w, o, stm)) return;
    trace_args(w, o, stm);
    for (uint32_t b = 0; b < stm->body_count; b++)
        if (is_told(w, stm, b)) trace_body(w, o, stm->bodies[b]);
}

static void trace_body(Walk *w, Origin *o, const CoreBody *body) {
    if (stack_is_low(&w->p->cx->stack)) return;
    for (uint32_t i = body->stms.len; i-- > 0;) trace_step(w, o, body->stms.data[i]);
}

// Statements are gone through from the last one up, for those that make what is open.
void visit_add_result(Walk *w, const CoreBody *body, CoreRef ref) {
    WalkValue v = visit_value(w, ref);
    Origin o = {
        .result = {.name = w->p->values.data[ref].name, .bytes = visit_bytes(&v)},
        .is_open = arena_array(w->arena, bool, w->p->values.len)};
    trace_value(w, &o, ref);
    trace_body(w, &o, body);
    vec_push(w->arena, &w->plan->results, o.result);
}

// The host looks at it.
void visit_look(Walk *w, CoreRef ref) {
    WalkValue v = visit_value(w, ref);
    if (w->depth > 0 || v.block == PLAN_NONE ||
        w->plan->blocks.data[v.block].task == PLAN_NONE)
        return;
    keep(w, v.block);
    w->waits = v.block;
}
