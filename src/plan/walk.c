// SPDX-License-Identifier: Apache-2.0
//
// The entry walked as the interpreter would (interp/), but with sizes in place of
// arrays. On the host, calls of kernels become tasks; inside them scalar operations are
// counted.
//
// Of a loop on the host two turns are walked: the second stands for all that follow.
// What the host looks at while a kernel makes it, all that follows waits for.
#include <string.h>

#include "core/rules.h"
#include "plan/plan.h"

enum {
    MOST_STEPS = 1 << 19, // statements that are walked
    MOST_TASKS = 2000,
    SMALL = 1 << 14, // elements, below which a loop with parallel work is one kernel
    SOME = 32        // turns of a loop that nobody can know, where work is counted
};

typedef struct Value {
    CoreType type;
    bool is_known; // a scalar
    uint64_t bits;
    int64_t *dims;  // of an array; -1: not known
    uint32_t block; // PLAN_NONE: it takes no memory, and nobody need wait for it
    uint32_t part;  // of the block; 0: all
    Str elements;   // of a literal of i64
} Value;

typedef struct Walk {
    Plan *plan;
    const CoreProgram *p;
    Arena *arena;
    Value *values;  // by CoreRef
    double turns;   // of the loops around, on the host
    uint32_t waits; // for that block all that follows waits; PLAN_NONE: for none
    uint32_t parts; // of blocks, so far
    uint32_t steps;
    uint32_t visit, visits; // of a body on the host; how many there were
    uint32_t depth;         // of kernels; 0: on the host
    bool is_over;           // there is too much
} Walk;

// What follows is likely, but not certain.
static void guess(Walk *w) {
    if (w->plan->sure == PLAN_NONE) w->plan->sure = w->plan->tasks.len;
}

// ---- values -------------------------------------------------------------------------

static Value value_of(const Walk *w, CoreRef ref) {
    const CoreValue *core = &w->p->values.data[ref];
    if (!core->is_const) return w->values[ref];
    return (Value){
        .type = core->type, .is_known = true, .bits = core->bits, .block = PLAN_NONE};
}

// Of which nothing is known.
static Value value_new(const Walk *w, CoreType type) {
    Value v = {.type = type, .block = PLAN_NONE};
    if (type.rank > 0) v.dims = arena_array(w->arena, int64_t, type.rank);
    for (uint32_t d = 0; d < type.rank; d++) v.dims[d] = -1;
    return v;
}

static Value value_like(const Walk *w, CoreRef ref) {
    return value_new(w, core_type(w->p, ref));
}

// An integer; -1: not known, or negative.
static int64_t int_of(const Walk *w, CoreRef ref) {
    Value v = value_of(w, ref);
    if (!v.is_known) return -1;
    int64_t value = (int64_t)v.bits;
    return value < 0 ? -1 : value;
}

static double count_of(const Value *v) {
    double count = 1;
    for (uint32_t d = 0; d < v->type.rank; d++)
        count *= v->dims[d] < 0 ? NAN : (double)v->dims[d];
    return count;
}

static double bytes_of(const Value *v) {
    return count_of(v) * scalar_info[v->type.elem].bytes;
}

static double number(int64_t n) {
    return n < 0 ? NAN : (double)n;
}

// The row behind the first `skip` dimensions, or an element: it looks the same in each.
static Value row_of(const Walk *w, const Value *v, uint32_t skip) {
    CoreType type = {v->type.elem, (uint8_t)(v->type.rank - skip)};
    Value row = value_new(w, type);
    for (uint32_t d = 0; d < type.rank; d++) row.dims[d] = v->dims[skip + d];
    return row;
}

// What is the same in both.
static Value merge(const Walk *w, const Value *a, const Value *b) {
    Value v = value_new(w, a->type);
    v.is_known = a->is_known && b->is_known && a->bits == b->bits;
    v.bits = a->bits;
    v.block = a->block != PLAN_NONE ? a->block : b->block;
    if (v.block == b->block) v.part = a->part == b->part ? a->part : 0;
    for (uint32_t d = 0; d < v.type.rank; d++)
        if (a->dims[d] == b->dims[d]) v.dims[d] = a->dims[d];
    return v;
}

// ---- tasks --------------------------------------------------------------------------

static void add_use(Walk *w, PlanTask *task, PlanUse use) {
    uint32_t number = w->plan->tasks.len - 1;
    PlanBlock *block = &w->plan->blocks.data[use.block];
    block->last = number;
    if (!(use.bytes <= block->bytes)) use.bytes = block->bytes;
    for (uint32_t i = 0; i < task->uses.len; i++)
        if (task->uses.data[i].block == use.block &&
            task->uses.data[i].part == use.part)
            return;
    vec_push(w->arena, &task->uses, use);
}

static void use_value(Walk *w, PlanTask *task, CoreRef ref) {
    Value v = value_of(w, ref);
    if (v.block != PLAN_NONE)
        add_use(w, task, (PlanUse){v.block, v.part, bytes_of(&v)});
}

static uint32_t new_block(Walk *w, const Value *v, Sym name, CoreLoc loc, uint32_t task,
                          bool is_held) {
    PlanBlock block = {.name = name,
                       .loc = loc,
                       .type = v->type,
                       .bytes = bytes_of(v),
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
        for (uint32_t i = 0; i < stm->arg_count; i++)
            filled += value_of(w, stm->args[i]).dims[stm->attrs[0]] > 0;
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

// A task for the statement, which takes its args and makes its outs.
static void add_task(Walk *w, const CoreStm *stm, const CoreFun *kernel, double work) {
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
                        .measured = NAN});
    PlanTask *task = &plan->tasks.data[number];
    for (uint32_t i = 0; i < stm->arg_count; i++) use_value(w, task, stm->args[i]);
    if (w->waits != PLAN_NONE) add_use(w, task, (PlanUse){w->waits, 0, 0});
    for (uint32_t k = 0; k < stm->out_count; k++) {
        Value *out = &w->values[stm->outs[k]];
        bool is_held =
            kernel != NULL ? gives_memory(w, kernel->body, k) : makes_memory(w, stm);
        out->block = new_block(w, out, w->p->values.data[stm->outs[k]].name, stm->loc,
                               number, is_held);
        out->part = 0;
    }
}

// The host looks at it.
static void look(Walk *w, CoreRef ref) {
    Value v = value_of(w, ref);
    if (w->depth == 0 && v.block != PLAN_NONE &&
        w->plan->blocks.data[v.block].task != PLAN_NONE)
        w->waits = v.block;
}

// ---- shapes -------------------------------------------------------------------------

static void bind(Walk *w, const CoreStm *stm, uint32_t k, Value v) {
    w->values[stm->outs[k]] = v;
}

// The same memory seen in another way.
static Value view_of(const Walk *w, const CoreStm *stm) {
    Value a = value_of(w, stm->args[0]), v = value_like(w, stm->outs[0]);
    v.block = a.block;
    v.part = a.part;
    return v;
}

static void walk_split(Walk *w, const CoreStm *stm) {
    Value a = value_of(w, stm->args[0]);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        Value v = row_of(w, &a, 0);
        v.dims[stm->attrs[0]] = int_of(w, stm->args[1 + k]);
        v.block = a.block;
        v.part = ++w->parts;
        bind(w, stm, k, v);
    }
}

static void walk_concat(Walk *w, const CoreStm *stm) {
    Value first = value_of(w, stm->args[0]), v = row_of(w, &first, 0);
    uint32_t axis = (uint32_t)stm->attrs[0];
    for (uint32_t i = 1; i < stm->arg_count; i++) {
        Value more = value_of(w, stm->args[i]);
        bool is_known = v.dims[axis] >= 0 && more.dims[axis] >= 0;
        v.dims[axis] = is_known ? v.dims[axis] + more.dims[axis] : -1;
    }
    bind(w, stm, 0, v);
}

static void walk_index(Walk *w, const CoreStm *stm) {
    Value a = value_of(w, stm->args[0]), v = row_of(w, &a, stm->arg_count - 1);
    if (v.type.rank > 0) v.block = a.block, v.part = ++w->parts;
    int64_t at = int_of(w, stm->args[1]);
    v.is_known = at >= 0 && (uint64_t)at < a.elements.len / sizeof v.bits;
    if (v.is_known)
        memcpy(&v.bits, a.elements.ptr + (size_t)at * sizeof v.bits, sizeof v.bits);
    bind(w, stm, 0, v);
}

static void walk_dim(Walk *w, const CoreStm *stm) {
    Value a = value_of(w, stm->args[0]), v = value_like(w, stm->outs[0]);
    int64_t size = a.dims[stm->attrs[0]];
    v.is_known = size >= 0;
    v.bits = (uint64_t)size;
    bind(w, stm, 0, v);
}

// Sizes from args, and then those of the row that arg `row` is, if there is one.
static void walk_sized(Walk *w, const CoreStm *stm, uint32_t sizes, uint32_t row) {
    Value v = value_like(w, stm->outs[0]);
    for (uint32_t d = 0; d < sizes; d++) v.dims[d] = int_of(w, stm->args[d]);
    for (uint32_t d = sizes; d < v.type.rank; d++)
        v.dims[d] = value_of(w, stm->args[row]).dims[d - sizes];
    bind(w, stm, 0, v);
}

static void walk_view(Walk *w, const CoreStm *stm) {
    Value a = value_of(w, stm->args[0]), v = view_of(w, stm);
    for (uint32_t d = 0; d < v.type.rank; d++) {
        if (stm->op == OP_RESHAPE) v.dims[d] = int_of(w, stm->args[1 + d]);
        else if (stm->op == OP_PERMUTE) v.dims[d] = a.dims[stm->attrs[d]];
        else v.dims[d] = a.dims[d];
    }
    // A part may be copied, and the whole be freed.
    if (stm->op == OP_RESHAPE && v.block != PLAN_NONE && v.part != 0)
        w->plan->blocks.data[v.block].is_held = false;
    if (stm->op == OP_SLICE) {
        v.dims[stm->attrs[0]] = int_of(w, stm->args[2]);
        v.part = ++w->parts;
    }
    bind(w, stm, 0, v);
}

static void walk_scalar(Walk *w, const CoreStm *stm) {
    Value v = value_like(w, stm->outs[0]);
    uint64_t args[3];
    bool are_known = stm->arg_count <= 3;
    for (uint32_t i = 0; i < stm->arg_count && are_known; i++) {
        Value arg = value_of(w, stm->args[i]);
        are_known = arg.is_known;
        args[i] = arg.bits;
    }
    if (are_known) {
        ScalarType in = (ScalarType)core_type(w->p, stm->args[0]).elem;
        CoreFault fault =
            core_eval(stm->op, in, (ScalarType)v.type.elem, args, &v.bits);
        v.is_known = fault == FAULT_NONE;
    }
    bind(w, stm, 0, v);
}

// Arrays that are made one element after the other. Returns the work.
static double walk_array(Walk *w, const CoreStm *stm) {
    Value first = {0};
    switch ((int)stm->op) {
    case OP_LITERAL:
        first = value_like(w, stm->outs[0]);
        first.dims[0] =
            (int64_t)(stm->text.len / (size_t)scalar_info[first.type.elem].bytes);
        if (first.type.elem == SCALAR_I64) first.elements = stm->text;
        bind(w, stm, 0, first);
        return 0;
    case OP_ARRAY:
        first = value_of(w, stm->args[0]);
        bind(w, stm, 0, value_like(w, stm->outs[0]));
        w->values[stm->outs[0]].dims[0] = stm->arg_count;
        for (uint32_t d = 0; d < first.type.rank; d++)
            w->values[stm->outs[0]].dims[d + 1] = first.dims[d];
        break;
    case OP_CONCAT: walk_concat(w, stm); break;
    default: // COPY, UPDATE, SORT: as large as the first
        first = value_of(w, stm->args[0]);
        for (uint32_t k = 0; k < stm->out_count; k++) {
            Value v = value_like(w, stm->outs[k]);
            memcpy(v.dims, first.dims, v.type.rank * sizeof *v.dims);
            bind(w, stm, k, v);
        }
    }
    double work = count_of(&w->values[stm->outs[0]]);
    if (stm->op == OP_UPDATE) {
        first = value_of(w, stm->args[1]);
        work = count_of(&first);
    }
    return stm->op == OP_SORT ? 2 * work * log2(work + 2) : work;
}

// ---- second order -------------------------------------------------------------------

static double walk_body(Walk *w, const CoreBody *body);

// Work of a body whose params are as these; inside of operators.
static double walk_rows(Walk *w, const CoreBody *body, const Value *params) {
    for (uint32_t i = 0; i < body->param_count; i++)
        w->values[body->params[i]] = params[i];
    w->depth++;
    double work = walk_body(w, body);
    w->depth--;
    return work;
}

static double walk_unknown(Walk *w, const CoreBody *body, const Value *like,
                           uint32_t count) {
    Value *params = arena_array(w->arena, Value, body->param_count);
    for (uint32_t i = 0; i < body->param_count; i++) {
        params[i] = value_like(w, body->params[i]);
        if (i < count && params[i].type.rank > 0) params[i].dims = like[i].dims;
    }
    return walk_rows(w, body, params);
}

static double walk_make(Walk *w, const CoreStm *stm) {
    CoreFeeds feeds = core_feeds(stm);
    const CoreBody *body = stm->bodies[0];
    uint32_t outer = stm->op == OP_MAP ? 1 : (uint32_t)stm->attrs[0];
    Value *rows = arena_array(w->arena, Value, body->param_count);
    double count = 1;
    int64_t sizes[CORE_MAX_RANK];
    for (uint32_t d = 0; d < outer; d++) {
        sizes[d] = stm->op == OP_MAP ? value_of(w, stm->args[0]).dims[0]
                                     : int_of(w, stm->args[d]);
        count *= number(sizes[d]);
    }
    for (uint32_t i = 0; i < feeds.count; i++) {
        Value array = value_of(w, stm->args[feeds.first + i]);
        rows[i] = row_of(w, &array, 1);
    }
    double work = walk_unknown(w, body, rows, feeds.count);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        Value row = value_of(w, body->results[k]), v = value_like(w, stm->outs[k]);
        for (uint32_t d = 0; d < outer; d++) v.dims[d] = sizes[d];
        for (uint32_t d = outer; d < v.type.rank; d++) v.dims[d] = row.dims[d - outer];
        bind(w, stm, k, v);
    }
    return count * (1 + work);
}

// What is taken one by one: REDUCE, SCAN, HIST, SCATTER and FILTER.
static double walk_take(Walk *w, const CoreStm *stm) {
    CoreFeeds feeds = core_feeds(stm);
    Value array = value_of(w, stm->args[feeds.first]);
    int64_t length = array.dims[0];
    double work = 1;
    Value *rows = arena_array(w->arena, Value, feeds.count);
    for (uint32_t i = 0; i < feeds.count; i++) {
        array = value_of(w, stm->args[feeds.first + i]);
        rows[i] = row_of(w, &array, 1);
    }
    uint32_t neutral = stm->op == OP_HIST ? stm->out_count : feeds.count;
    Value *acc = arena_array(w->arena, Value, 2 * stm->out_count);
    bool has_op = feeds.body > 0;
    for (uint32_t k = 0; k < 2 * stm->out_count && has_op; k++)
        acc[k] = value_of(w, stm->args[neutral + k % stm->out_count]);
    if (has_op) work += walk_unknown(w, stm->bodies[0], acc, 2 * stm->out_count);
    if (feeds.producer != NULL)
        work += walk_unknown(w, feeds.producer, rows, feeds.count);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        Value v = value_like(w, stm->outs[k]);
        if (stm->op == OP_HIST || stm->op == OP_SCATTER) {
            v.dims = value_of(w, stm->args[k]).dims;
        } else if (stm->op == OP_REDUCE) {
            v.dims = acc[k].dims;
        } else if (stm->op == OP_SCAN) {
            v.dims[0] = length;
            for (uint32_t d = 1; d < v.type.rank; d++) v.dims[d] = acc[k].dims[d - 1];
        } else if (feeds.producer == NULL) { // what a filter keeps, nobody knows
            for (uint32_t d = 1; d < v.type.rank; d++)
                v.dims[d] = rows[k + 1].dims[d - 1];
        }
        bind(w, stm, k, v);
    }
    return number(length) * work;
}

// ---- control ------------------------------------------------------------------------

static void bind_results(Walk *w, const CoreStm *stm, const CoreBody *body) {
    for (uint32_t k = 0; k < stm->out_count; k++)
        bind(w, stm, k, value_of(w, body->results[k]));
}

static void count_call(void *data, const CoreStm *stm) {
    *(uint32_t *)data += stm->op == OP_CALL;
}

static uint32_t calls_in(const CoreBody *body) {
    uint32_t count = 0;
    core_walk(body, count_call, &count);
    return count;
}

// A condition that nobody knows: on the host the branch with more kernels is told.
static double walk_if(Walk *w, const CoreStm *stm) {
    Value c = value_of(w, stm->args[0]);
    bool is_first =
        c.is_known ? c.bits != 0 : calls_in(stm->bodies[0]) >= calls_in(stm->bodies[1]);
    look(w, stm->args[0]);
    if (c.is_known || w->depth == 0) {
        if (!c.is_known) guess(w);
        w->plan->took_a_branch |= !c.is_known;
        const CoreBody *body = stm->bodies[is_first ? 0 : 1];
        double work = walk_body(w, body);
        bind_results(w, stm, body);
        return work;
    }
    double yes = walk_body(w, stm->bodies[0]), no = walk_body(w, stm->bodies[1]);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        Value a = value_of(w, stm->bodies[0]->results[k]);
        Value b = value_of(w, stm->bodies[1]->results[k]);
        bind(w, stm, k, merge(w, &a, &b));
    }
    return yes > no ? yes : no;
}

// One turn from these states, which become those after it.
static double walk_turn(Walk *w, const CoreBody *body, uint32_t from, Value *states,
                        uint32_t count) {
    for (uint32_t i = 0; i < count; i++) w->values[body->params[from + i]] = states[i];
    double work = walk_body(w, body);
    for (uint32_t i = 0; i < count; i++) states[i] = value_of(w, body->results[i]);
    return work;
}

// The states before any turn but the first: what a turn keeps is known.
static void generalise(const Walk *w, const Value *before, Value *states,
                       uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        Value v = merge(w, &states[i], &before[i]);
        v.block = states[i].block;
        v.part = states[i].part;
        states[i] = v;
    }
}

// Then later turns do so, too.
static bool keeps_sizes(const Value *before, const Value *states, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < states[i].type.rank; d++)
            if (states[i].dims[d] != before[i].dims[d]) return false;
    return true;
}

typedef struct Loop {
    const CoreStm *stm;
    const CoreBody *guard; // of WHILE
    const CoreBody *turn;
    uint32_t count, first; // of states; the param of the first
    Value *states;
    double turns;
} Loop;

static Loop loop_of(const Walk *w, const CoreStm *stm) {
    bool is_for = stm->op == OP_FOR;
    Loop l = {.stm = stm,
              .guard = is_for ? NULL : stm->bodies[0],
              .turn = stm->bodies[is_for ? 0 : 1],
              .count = stm->out_count,
              .first = is_for,
              .turns = is_for ? number(int_of(w, stm->args[0])) : NAN};
    l.states = arena_array(w->arena, Value, l.count);
    for (uint32_t i = 0; i < l.count; i++)
        l.states[i] = value_of(w, stm->args[l.first + i]);
    return l;
}

// On the host: turn number t, of which 1 is like all later ones.
static void walk_host_turn(Walk *w, Loop *l, int t) {
    bool is_known = t == 0 || l->turns <= 2;
    if (l->guard == NULL) {
        CoreRef i = l->turn->params[0];
        w->values[i] = value_like(w, i);
        w->values[i].is_known = is_known;
        w->values[i].bits = (uint64_t)t;
    } else {
        for (uint32_t i = 0; i < l->count; i++)
            w->values[l->guard->params[i]] = l->states[i];
        walk_body(w, l->guard);
        look(w, l->guard->results[0]);
    }
    walk_turn(w, l->turn, l->first, l->states, l->count);
}

// Whether later turns go like the last one, before which `first` was the next block: no
// less is known after it, and each state stays or is made by the turn.
static bool repeats(const Loop *l, const Value *before, uint32_t first) {
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t block = l->states[i].block;
        bool is_made = block != PLAN_NONE && block >= first;
        if (block != before[i].block && !is_made) return false;
        if (l->states[i].is_known != before[i].is_known) return false;
    }
    return keeps_sizes(before, l->states, l->count);
}

static void walk_on_host(Walk *w, Loop *l) {
    if (l->guard == NULL) look(w, l->stm->args[0]);
    if (isnan(l->turns)) guess(w);
    double around = w->turns;
    uint32_t visit = w->visit;
    Value *before = arena_array(w->arena, Value, l->count);
    for (int t = 0; t < 2 && !(l->turns <= t); t++) {
        w->visit = ++w->visits;
        if (t == 1) w->turns = around * (l->turns - 1);
        memcpy(before, l->states, l->count * sizeof *before);
        uint32_t first = w->plan->blocks.len;
        walk_host_turn(w, l, t);
        if (!(l->turns <= t + 1)) generalise(w, before, l->states, l->count);
        if (t == 1 && l->turns > 2 && !repeats(l, before, first)) guess(w);
    }
    w->turns = around;
    w->visit = visit;
}

// FOR and WHILE. Inside of kernels one turn is counted.
static double walk_loop(Walk *w, const CoreStm *stm) {
    Loop l = loop_of(w, stm);
    double work = 0;
    if (w->depth == 0) {
        walk_on_host(w, &l);
    } else {
        Value *before = arena_copy(w->arena, l.states, l.count * sizeof *before);
        for (uint32_t i = 0; i < l.count; i++) l.states[i].is_known = false;
        if (l.guard == NULL) {
            CoreRef i = l.turn->params[0];
            w->values[i] = value_like(w, i);
        }
        work = (isnan(l.turns) ? SOME : l.turns) *
               walk_turn(w, l.turn, l.first, l.states, l.count);
        generalise(w, before, l.states, l.count);
        if (!keeps_sizes(before, l.states, l.count)) guess(w);
    }
    for (uint32_t k = 0; k < l.count; k++) bind(w, stm, k, l.states[k]);
    return work;
}

// Whether a loop with parallel work inside is large enough for the host to walk it.
static bool is_for_host(Walk *w, const CoreFun *kernel, const CoreStm *call) {
    double elements = 0;
    if (kernel->otherwise == 0) return false;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        Value v = value_of(w, call->args[i]);
        if (v.type.rank > 0) elements += count_of(&v);
    }
    if (!(elements > SMALL)) guess(w); // the run also looks at what it makes inside
    return !(elements <= SMALL);
}

static double walk_call(Walk *w, const CoreStm *stm) {
    const CoreFun *fun = w->p->funs.data[stm->attrs[0]];
    bool is_kernel = w->depth == 0 && fun->kernel != CORE_NO_KERNEL;
    if (is_kernel && is_for_host(w, fun, stm)) {
        fun = w->p->funs.data[fun->otherwise - 1];
        is_kernel = false;
    }
    for (uint32_t i = 0; i < fun->body->param_count; i++)
        w->values[fun->body->params[i]] = value_of(w, stm->args[i]);
    uint32_t visit = w->visit;
    w->visit = ++w->visits;
    w->depth += is_kernel;
    double work = walk_body(w, fun->body);
    w->depth -= is_kernel;
    w->visit = visit;
    for (uint32_t k = 0; k < stm->out_count; k++) {
        bind(w, stm, k, value_of(w, fun->body->results[k]));
        if (is_kernel) w->values[stm->outs[k]].is_known = false;
    }
    if (is_kernel) add_task(w, stm, fun, work);
    return work;
}

// ---- statements ---------------------------------------------------------------------

// Of a scalar operator: a sum counts as one.
static double cost_of(const CoreProgram *p, const CoreStm *stm) {
    enum { INTEGER_DIVISION = 20, FLOAT_DIVISION = 5 };
    ScalarType type = (ScalarType)core_type(p, stm->outs[0]).elem;
    bool is_float = type == SCALAR_F16 || type == SCALAR_F32 || type == SCALAR_F64;
    switch ((int)stm->op) {
    case OP_DIV:
    case OP_MOD:
    case OP_QUOT:
    case OP_REM: return is_float ? FLOAT_DIVISION : INTEGER_DIVISION;
    case OP_SQRT: return FLOAT_DIVISION;
    default: return 1;
    }
}

static double walk_step(Walk *w, const CoreStm *stm) {
    switch ((int)stm->op) {
    case OP_IF: return walk_if(w, stm);
    case OP_FOR:
    case OP_WHILE: return walk_loop(w, stm);
    case OP_CALL: return walk_call(w, stm);
    case OP_CHECK:
        look(w, stm->args[0]);
        bind(w, stm, 0, value_like(w, stm->outs[0]));
        return 1;
    case OP_GUARD:
    case OP_TRACE: bind(w, stm, 0, value_of(w, stm->args[0])); return 0;
    case OP_GENERATE:
    case OP_MAP: return walk_make(w, stm);
    case OP_REDUCE:
    case OP_SCAN:
    case OP_HIST:
    case OP_SCATTER:
    case OP_FILTER: return walk_take(w, stm);
    case OP_DIM:
        look(w, stm->args[0]);
        walk_dim(w, stm);
        return 0;
    case OP_INDEX:
        look(w, stm->args[0]);
        walk_index(w, stm);
        return 1;
    case OP_SPLIT:
        look(w, stm->args[0]);
        walk_split(w, stm);
        return 0;
    case OP_SLICE:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_REVERSE:
        look(w, stm->args[0]);
        walk_view(w, stm);
        return 0;
    case OP_IOTA: walk_sized(w, stm, 1, 0); return 0;
    case OP_REPLICATE: walk_sized(w, stm, 1, 1); return 0;
    case OP_SCRATCH: walk_sized(w, stm, stm->arg_count, 0); return 0;
    case OP_LITERAL:
    case OP_ARRAY:
    case OP_CONCAT:
    case OP_COPY:
    case OP_UPDATE:
    case OP_SORT: {
        double work = walk_array(w, stm);
        if (w->depth == 0 && stm->op != OP_LITERAL) add_task(w, stm, NULL, work);
        return work;
    }
    default: // scalars
        for (uint32_t i = 0; i < stm->arg_count; i++) look(w, stm->args[i]);
        walk_scalar(w, stm);
        return cost_of(w->p, stm);
    }
}

static double walk_body(Walk *w, const CoreBody *body) {
    double work = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (++w->steps >= MOST_STEPS || stack_is_low(&w->p->cx->stack))
            w->is_over = true;
        if (w->is_over) {
            for (uint32_t k = 0; k < stm->out_count; k++)
                bind(w, stm, k, value_like(w, stm->outs[k]));
            work = NAN;
        } else {
            work += walk_step(w, stm);
        }
    }
    return work;
}

// ---- the entry ----------------------------------------------------------------------

static Value param_of(const Walk *w, CoreRef ref, const PlanArg *arg) {
    Value v = value_like(w, ref);
    if (arg == NULL) return v;
    v.is_known = arg->is_known && v.type.rank == 0;
    v.bits = arg->bits;
    for (uint32_t d = 0; d < v.type.rank && arg->is_known; d++)
        v.dims[d] = arg->dims[d];
    return v;
}

Plan *plan_walk(const PlanInput *in) {
    Plan *plan = arena_new(in->arena, Plan);
    plan->in = *in;
    plan->peak.task = plan->sure = PLAN_NONE;
    const CoreBody *body = in->entry->body;
    Walk w = {.plan = plan,
              .p = in->program,
              .arena = in->arena,
              .values = arena_array(in->arena, Value, in->program->values.len),
              .turns = 1,
              .waits = PLAN_NONE};
    for (uint32_t i = 0; i < body->param_count; i++) {
        CoreRef ref = body->params[i];
        const PlanArg *arg = in->args != NULL ? &in->args[i] : NULL;
        Value v = param_of(&w, ref, arg);
        if (v.type.rank > 0)
            v.block = new_block(&w, &v, in->program->values.data[ref].name, 0,
                                PLAN_NONE, arg != NULL && arg->is_held);
        w.values[ref] = v;
    }
    plan->params = plan->blocks.len;
    walk_body(&w, body);
    for (uint32_t i = 0; i < body->result_count; i++) {
        Value v = value_of(&w, body->results[i]);
        if (v.block != PLAN_NONE) plan->blocks.data[v.block].is_result = true;
    }
    plan->is_cut_off = w.is_over;
    if (w.is_over) guess(&w);
    return plan;
}
