// SPDX-License-Identifier: Apache-2.0
//
// Tasks, the blocks of memory that they make and take, and who waits for them (walk.h).
#include "core/rules.h"
#include "plan/walk.h"

static void add_use(Walk *w, PlanTask *task, PlanUse use) {
    PlanBlock *block = &w->plan->blocks.data[use.block];
    if (isnan(use.bytes) || use.bytes > block->bytes) use.bytes = block->bytes;
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

// What the kernel holds meanwhile, as that tells; NULL: nobody does.
static PlanHeld held_by(const Walk *w, const CoreStm *stm, const CoreFun *kernel,
                        PlanHolds *holds) {
    if (kernel == NULL || holds == NULL) return (PlanHeld){0};
    PlanArg *args = arena_array(w->arena, PlanArg, stm->arg_count + 1);
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        WalkValue v = visit_value(w, stm->args[i]);
        args[i] = (PlanArg){.is_known = v.is_known, .bits = v.bits, .dims = v.dims};
    }
    return holds(w->plan->in.holder, kernel, args, w->arena);
}

// Bytes of arrays that it takes and no task made: tables, numbers in a row.
static double loose_bytes(const Walk *w, const CoreStm *stm) {
    double bytes = 0;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        WalkValue v = visit_value(w, stm->args[i]);
        bool is_counted = v.type.rank == 0 || v.block != PLAN_NONE;
        for (uint32_t k = 0; k < i && !is_counted; k++)
            is_counted = stm->args[k] == stm->args[i];
        if (!is_counted && !isnan(visit_bytes(&v))) bytes += visit_bytes(&v);
    }
    return bytes;
}

// A task for the statement, which takes its args and makes its outs.
void visit_add_task(Walk *w, const CoreStm *stm, const CoreFun *kernel, double work) {
    Plan *plan = w->plan;
    if (plan->tasks.len == MOST_TASKS) {
        w->is_over = true;
        return;
    }
    uint32_t number = plan->tasks.len;
    vec_push(
        w->arena, &plan->tasks,
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
                   .held = held_by(w, stm, kernel, plan->in.holds),
                   .held_on_cores = held_by(w, stm, kernel, plan->in.holds_on_cores),
                   .measured = NAN});
    PlanTask *task = &plan->tasks.data[number];
    if (kernel != NULL && plan->in.holds != NULL) {
        task->held.bytes += loose_bytes(w, stm);
        task->held.counted = task->held.bytes;
    }
    for (uint32_t i = 0; i < stm->arg_count; i++) use_value(w, task, stm->args[i]);
    if (stm->op == OP_CONCAT && core_parts(stm) < stm->arg_count) note_within(w, stm);
    if (w->waits != PLAN_NONE) add_use(w, task, (PlanUse){w->waits, 0, 0});
    for (uint32_t k = 0; k < stm->out_count; k++) {
        WalkValue *out = &w->values[stm->outs[k]];
        bool is_held =
            kernel != NULL ? gives_memory(w, kernel->body, k) : makes_memory(w, stm);
        if (is_held) visit_size(w, out, stm->loc);
        out->block = visit_new_block(w, out, w->p->values.data[stm->outs[k]].name,
                                     stm->loc, number, is_held);
        out->part = 0;
    }
}

// ---- results ------------------------------------------------------------------------

// What the result at hand is made of, as far as that is known.
typedef struct Origin {
    Walk *w;
    const CoreStm **defs; // by CoreRef, of the entry's body
    uint32_t *seen;       // by CoreRef: the last round in which it was open
    uint32_t round;
    bool of_lengths; // a length is made of the array
    struct {
        CoreRef *data; // the host makes these, of something
        uint32_t len, cap;
    } open;
    PlanResult result;
} Origin;

static void note_def(void *data, const CoreStm *stm) {
    const CoreStm **defs = data;
    for (uint32_t k = 0; k < stm->out_count; k++) defs[stm->outs[k]] = stm;
}

static void trace_value(Origin *o, CoreRef ref, bool is_length) {
    WalkValue v = visit_value(o->w, ref);
    PlanUses *uses = &o->result.uses;
    if (o->seen[ref] == o->round) return;
    o->seen[ref] = o->round;
    if (v.block == PLAN_NONE) {
        vec_push(o->w->arena, &o->open, ref);
        return;
    }
    for (uint32_t i = 0; i < uses->len; i++)
        if (uses->data[i].block == v.block) return;
    double bytes = is_length ? 0 : o->result.bytes;
    vec_push(o->w->arena, uses, ((PlanUse){v.block, v.part, bytes}));
}

// Out k of a branch, or of a loop: of its first state, and of what says how many turns
// there are.
static void trace_control(Origin *o, const CoreStm *stm, uint32_t k) {
    uint32_t first = stm->op == OP_FOR;
    if (stm->op == OP_IF) {
        trace_value(o, visit_branch(o->w, stm)->results[k], false);
        trace_value(o, stm->args[0], false);
        return;
    }
    trace_value(o, stm->bodies[stm->body_count - 1]->results[k], false);
    trace_value(o, stm->args[first + k], false);
    trace_value(o, first ? stm->args[0] : stm->bodies[0]->results[0], false);
}

static void trace_open(Origin *o, CoreRef ref) {
    const CoreStm *stm = o->defs[ref];
    uint32_t k = 0;
    if (stm == NULL || (stm->op == OP_DIM && !o->of_lengths)) return;
    while (stm->outs[k] != ref) k++;
    if (stm->op == OP_IF || stm->op == OP_FOR || stm->op == OP_WHILE) {
        trace_control(o, stm, k);
        return;
    }
    for (uint32_t i = 0; i < stm->arg_count; i++)
        trace_value(o, stm->args[i], stm->op == OP_DIM);
    for (uint32_t b = 0; b < stm->body_count; b++)
        if (k < stm->bodies[b]->result_count)
            trace_value(o, stm->bodies[b]->results[k], false);
}

static void trace(Origin *o, CoreRef ref, bool of_lengths) {
    o->round++;
    o->of_lengths = of_lengths;
    trace_value(o, ref, false);
    while (o->open.len > 0) trace_open(o, o->open.data[--o->open.len]);
}

// A length is not made of what is in the array, unless there is nothing else.
void visit_add_results(Walk *w, const CoreBody *body) {
    Origin o = {.w = w,
                .defs = arena_array(w->arena, const CoreStm *, w->p->values.len),
                .seen = arena_array(w->arena, uint32_t, w->p->values.len)};
    core_walk(body, note_def, o.defs);
    for (uint32_t i = 0; i < body->result_count; i++) {
        CoreRef ref = body->results[i];
        WalkValue v = visit_value(w, ref);
        o.result = (PlanResult){.name = w->p->values.data[ref].name,
                                .bytes = visit_bytes(&v),
                                .is_made = v.block == PLAN_NONE};
        trace(&o, ref, false);
        if (o.result.uses.len == 0) trace(&o, ref, true);
        vec_push(w->arena, &w->plan->results, o.result);
    }
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
