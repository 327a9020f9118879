// SPDX-License-Identifier: Apache-2.0
//
// Prepares functions for a run: numbers the values densely as slots, with the params of
// a body and the outs of a statement in a row, and turns statements into steps that
// know their slots, their code and the slots an operator needs for itself.
#include <assert.h>

#include "interp/run.h"

typedef struct Preparer {
    Run *run;
    uint32_t *slot_of;  // by CoreRef; 0: none yet
    // Scalars that kernels make, by CoreRef: who looks at them may have to wait.
    bool *is_made_beside;
} Preparer;

static void (*const step_functions[OP_COUNT])(Run *run, const Step *step) = {
    [OP_CHECK] = interp_check,       [OP_GUARD] = interp_guard,
    [OP_IF] = interp_if,             [OP_FOR] = interp_for,
    [OP_WHILE] = interp_while,       [OP_CALL] = interp_call,
    [OP_TRACE] = interp_trace,       [OP_LITERAL] = interp_literal,
    [OP_ARRAY] = interp_list,        [OP_IOTA] = interp_iota,
    [OP_REPLICATE] = interp_replicate, [OP_SCRATCH] = interp_scratch,
    [OP_DIM] = interp_dim,           [OP_INDEX] = interp_index,
    [OP_SLICE] = interp_slice,       [OP_RESHAPE] = interp_reshape,
    [OP_PERMUTE] = interp_permute,   [OP_REVERSE] = interp_reverse,
    [OP_CONCAT] = interp_concat,     [OP_SPLIT] = interp_split,
    [OP_COPY] = interp_duplicate,    [OP_UPDATE] = interp_update,
    [OP_SCATTER] = interp_scatter,   [OP_FILTER] = interp_filter,
    [OP_GENERATE] = interp_generate, [OP_MAP] = interp_map,
    [OP_REDUCE] = interp_reduce,     [OP_SCAN] = interp_scan,
    [OP_HIST] = interp_hist,         [OP_SORT] = interp_sort,
};

static Code *prepare_body(Preparer *p, const CoreBody *body);

// ---- slots --------------------------------------------------------------------------

static uint32_t new_slot(Run *run, bool is_array) {
    if (run->slots.len == 0) {
        vec_push(run->arena, &run->slots, (Slot){0});
        vec_push(run->arena, &run->is_array, false);
    }
    vec_push(run->arena, &run->slots, (Slot){0});
    vec_push(run->arena, &run->is_array, is_array);
    if (is_array) run->slots.data[run->slots.len - 1].array = NULL;
    return run->slots.len - 1;
}

// Slots in a row for values that are bound together; returns the first.
static uint32_t bind(Preparer *p, const CoreRef *refs, uint32_t count) {
    uint32_t first = p->run->slots.len;
    for (uint32_t i = 0; i < count; i++) {
        bool is_array = core_type(p->run->program, refs[i]).rank > 0;
        p->slot_of[refs[i]] = new_slot(p->run, is_array);
        if (i == 0) first = p->slot_of[refs[i]];
    }
    return first;
}

static uint32_t *use_all(Preparer *p, const CoreRef *refs, uint32_t count) {
    uint32_t *slots = arena_array(p->run->code_arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *slot = &p->slot_of[refs[i]];
        if (*slot == 0) {
            const CoreValue *value = &p->run->program->values.data[refs[i]];
            assert(value->is_const);
            *slot = new_slot(p->run, false);
            p->run->slots.data[*slot].bits = value->bits;
        }
        slots[i] = *slot;
    }
    return slots;
}

// `groups` times one slot for each of these values.
static uint32_t spare_groups(Preparer *p, const CoreRef *like, uint32_t count,
                             uint32_t groups) {
    uint32_t first = p->run->slots.len;
    for (uint32_t g = 0; g < groups; g++)
        for (uint32_t i = 0; i < count; i++)
            new_slot(p->run, core_type(p->run->program, like[i]).rank > 0);
    return first;
}

// ---- what operators keep for themselves ---------------------------------------------

static void prepare_feeds(Preparer *p, Step *step, uint32_t first, uint32_t count) {
    step->feeds = arena_array(p->run->code_arena, Feed, count);
    for (uint32_t i = 0; i < count; i++)
        if (core_type(p->run->program, step->stm->args[first + i]).rank > 1)
            step->feeds[i].view = new_slot(p->run, true);
}

static void prepare_sinks(Preparer *p, Step *step, uint32_t space_rank) {
    const CoreStm *stm = step->stm;
    step->sinks = arena_array(p->run->code_arena, Sink, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        uint32_t rank = core_type(p->run->program, stm->outs[i]).rank;
        assert(rank >= space_rank);
        step->sinks[i].space_rank = space_rank;
        step->sinks[i].row_rank = rank - space_rank;
        step->sinks[i].shape = arena_array(p->run->code_arena, int64_t, rank);
    }
}

// Slots for the results of a loop's body if moving them one by one would overwrite a
// param that a later result still names.
static void prepare_loop(Preparer *p, const CoreStm *stm, Code *body) {
    uint32_t first = body->param + body->param_count - body->result_count;
    for (uint32_t i = 0; i < body->result_count; i++) {
        uint32_t from = body->results[i];
        if (from < first || from >= first + body->result_count || from == first + i)
            continue;
        body->spare = spare_groups(p, stm->outs, stm->out_count, 1);
        return;
    }
}

// A histogram, scatter or filter: its feeds, and what its producer makes.
static void prepare_source(Preparer *p, Step *step) {
    CoreFeeds feeds = core_feeds(step->stm);
    prepare_feeds(p, step, feeds.first, feeds.count);
    if (feeds.producer == NULL) return;
    step->made =
        spare_groups(p, feeds.producer->results, feeds.producer->result_count, 1);
}

static void prepare_operator(Preparer *p, Step *step) {
    const CoreStm *stm = step->stm;
    switch ((int)stm->op) {
    case OP_LITERAL:
        step->spare = new_slot(p->run, true);  // made once
        return;
    case OP_CONCAT:
        if (core_parts(stm) < stm->arg_count) step->spare = new_slot(p->run, true);
        return;
    case OP_SORT:
        step->spare = new_slot(p->run, true);
        new_slot(p->run, true);
        return;
    case OP_FOR: prepare_loop(p, stm, step->bodies[0]); return;
    case OP_WHILE: prepare_loop(p, stm, step->bodies[1]); return;
    case OP_GENERATE:
        prepare_sinks(p, step, (uint32_t)stm->attrs[0]);
        step->index_space = arena_array(p->run->code_arena, int64_t, (size_t)stm->attrs[0]);
        return;
    case OP_MAP:
        prepare_feeds(p, step, 0, (uint32_t)stm->attrs[0]);
        prepare_sinks(p, step, 1);
        return;
    case OP_REDUCE: case OP_SCAN: {
        uint32_t arrays = (uint32_t)stm->attrs[0], width = stm->arg_count - arrays;
        prepare_feeds(p, step, 0, arrays);
        step->spare = spare_groups(p, stm->args + arrays, width, GROUP_COUNT);
        if (stm->op == OP_SCAN) prepare_sinks(p, step, 1);
        return;
    }
    case OP_HIST: {
        uint32_t width = (uint32_t)stm->attrs[0];
        prepare_source(p, step);
        // Groups of bins, one being filled and one per level of the tree, then a value.
        step->spare = spare_groups(p, stm->outs, width, 1 + PART_LEVELS);
        spare_groups(p, stm->args + width, width, 1);
        return;
    }
    case OP_FILTER:
        step->spare = spare_groups(p, stm->outs, stm->out_count, 1);
        prepare_source(p, step);
        return;
    case OP_SCATTER: prepare_source(p, step); return;
    }
}

// ---- steps --------------------------------------------------------------------------

static StepForm form_of(const CoreProgram *program, const CoreStm *stm) {
    switch (core_op_info[stm->op].kind) {
    case KIND_SCALAR1: return FORM_SCALAR1;
    case KIND_SCALAR2: return FORM_SCALAR2;
    case KIND_SCALAR3: return FORM_SCALAR3;
    case KIND_ARRAY:
        if (stm->op == OP_INDEX && core_type(program, stm->outs[0]).rank == 0)
            return FORM_ELEMENT;
        return FORM_OTHER;
    case KIND_ORDER2: case KIND_CONTROL: return FORM_OTHER;
    }
    return FORM_OTHER;
}

// Whether the step itself looks at elements, rather than its bodies or nobody.
static bool looks(const Step *step) {
    switch ((int)step->stm->op) {
    case OP_CALL: case OP_IF: case OP_FOR: case OP_WHILE: case OP_GUARD: case OP_DIM:
    case OP_CONCAT: // which brings parts to where they belong itself
    case OP_RESHAPE: // of which others may look at the elements where they are
        return false;
    }
    return step->form == FORM_OTHER;
}

// Of a kernel, what is interpreted when no engine takes it.
static Code *prepare_fun(Preparer *p, uint32_t index) {
    CoreFun *const *funs = p->run->program->funs.data;
    if (funs[index]->otherwise != 0) index = funs[index]->otherwise - 1;
    Code **code = &p->run->funs[index];
    if (*code == NULL) *code = prepare_body(p, funs[index]->body);
    return *code;
}

// The slots of those of the values that kernels make.
static uint32_t find_awaited(Preparer *p, const CoreRef *refs, uint32_t count,
                             uint32_t **slots_out) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) found += p->is_made_beside[refs[i]];
    if (found == 0) return 0;
    *slots_out = arena_array(p->run->code_arena, uint32_t, found);
    found = 0;
    for (uint32_t i = 0; i < count; i++)
        if (p->is_made_beside[refs[i]]) (*slots_out)[found++] = p->slot_of[refs[i]];
    return found;
}

// Kernels may go on to pass what others have not made yet.
static void prepare_waits(Preparer *p, Step *step) {
    const CoreStm *stm = step->stm;
    bool awaits = false;
    if (step->offer != NULL) {
        for (uint32_t i = 0; i < stm->out_count; i++)
            p->is_made_beside[stm->outs[i]] =
                core_type(p->run->program, stm->outs[i]).rank == 0;
        return;
    }
    for (uint32_t i = 0; i < stm->arg_count; i++)
        awaits = awaits || p->is_made_beside[stm->args[i]];
    if (!awaits) return;
    step->then = step->form;
    step->form = FORM_AWAITS;
}

static void prepare_step(Preparer *p, const CoreStm *stm, Step *step) {
    Run *run = p->run;
    step->stm = stm;
    if (stack_is_low(&run->program->cx->stack))
        interp_fail_deep(run, step);
    step->form = (uint8_t)form_of(run->program, stm);
    step->looks = looks(step);
    step->run = step_functions[stm->op];
    step->args = use_all(p, stm->args, stm->arg_count);
    step->moves = arena_array(run->code_arena, bool, stm->arg_count);
    if (stm->op == OP_CALL) {
        step->bodies = arena_array(run->code_arena, Code *, 1);
        step->bodies[0] = prepare_fun(p, (uint32_t)stm->attrs[0]);
        if (run->program->funs.data[stm->attrs[0]]->kernel != CORE_NO_KERNEL)
            step->offer =
                arena_array(run->code_arena, RtValue, stm->arg_count + stm->out_count);
    } else {
        step->bodies = arena_array(run->code_arena, Code *, stm->body_count);
        for (uint32_t i = 0; i < stm->body_count; i++)
            step->bodies[i] = prepare_body(p, stm->bodies[i]);
    }
    step->out = bind(p, stm->outs, stm->out_count);
    if (stm->arg_count > 0) step->in = (uint8_t)interp_elem(run, stm->args[0]);
    if (stm->out_count > 0) step->to = (uint8_t)interp_elem(run, stm->outs[0]);
    prepare_operator(p, step);
    prepare_waits(p, step);
}

// ---- parts of a whole --------------------------------------------------------------

// Whether all lengths that the join is told are known before the call.
static bool knows_lengths(const Preparer *p, const Step *join, const Step *call) {
    const CoreStm *stm = join->stm;
    for (uint32_t i = core_parts(stm); i < stm->arg_count; i++) {
        bool is_const = p->run->program->values.data[stm->args[i]].is_const;
        // Slots are numbered in order.
        if (!is_const && join->args[i] >= call->out) return false;
        if (p->is_made_beside[stm->args[i]]) return false;
    }
    return true;
}

// Of the steps of `code` before `end`: the one that makes the slot is told where that
// part belongs, or the last ones of both its arms are.
static void prepare_part(Preparer *p, const Code *code, const Step *end, uint32_t slot,
                         Joined joined) {
    for (Step *step = code->steps; step < end; step++) {
        uint32_t count = step->stm->out_count, k = slot - step->out;
        if (slot < step->out || k >= count) continue;
        for (uint32_t i = 0; step->stm->op == OP_IF && i < 2; i++) {
            const Code *arm = step->bodies[i];
            prepare_part(p, arm, arm->steps + arm->step_count, arm->results[k], joined);
        }
        if (step->offer == NULL || !knows_lengths(p, joined.by, step)) return;
        if (step->joined == NULL) {
            step->joined = arena_array(p->run->code_arena, Joined, count);
            step->lays = arena_array(p->run->code_arena, RtLay, count);
        }
        step->joined[k] = joined;
        return;
    }
}

// What is joined later can be made where it belongs.
static void prepare_joins(Preparer *p, Code *code) {
    for (uint32_t i = 0; i < code->step_count; i++) {
        const Step *join = &code->steps[i];
        if (join->stm->op != OP_CONCAT || join->spare == 0) continue;
        for (uint32_t part = 0; part < core_parts(join->stm); part++)
            prepare_part(p, code, join, join->args[part], (Joined){join, part});
    }
}

static Code *prepare_body(Preparer *p, const CoreBody *body) {
    Code *code = arena_new(p->run->code_arena, Code);
    code->param_count = body->param_count;
    code->param = bind(p, body->params, body->param_count);
    code->step_count = body->stms.len;
    code->steps = arena_array(p->run->code_arena, Step, body->stms.len);
    for (uint32_t i = 0; i < body->stms.len; i++)
        prepare_step(p, body->stms.data[i], &code->steps[i]);
    prepare_joins(p, code);
    code->result_count = body->result_count;
    code->results = use_all(p, body->results, body->result_count);
    code->moves = arena_array(p->run->code_arena, bool, body->result_count);
    code->await_count =
        find_awaited(p, body->results, body->result_count, &code->awaits);
    return code;
}

void interp_prepare(Run *run, const CoreFun *fun) {
    const CoreProgram *program = run->program;
    Preparer p = {.run = run};
    p.slot_of = arena_array(run->arena, uint32_t, program->values.len);
    p.is_made_beside = arena_array(run->arena, bool, program->values.len);
    run->funs = arena_array(run->arena, Code *, program->funs.len);
    new_slot(run, false);
    run->entry = prepare_body(&p, fun->body);
    interp_mark_last_uses(run);
}
