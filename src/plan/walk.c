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
#include "plan/walk.h"

// ---- second order -------------------------------------------------------------------

static double walk_body(Walk *w, const CoreBody *body);

// Work of a body whose params are as these; inside of operators.
static double walk_rows(Walk *w, const CoreBody *body, const WalkValue *params,
                        WalkPace pace) {
    for (uint32_t i = 0; i < body->param_count; i++)
        w->values[body->params[i]] = params[i];
    WalkPace around = w->pace;
    w->pace = pace;
    w->depth++;
    w->doubts++;
    double work = walk_body(w, body);
    w->doubts--;
    w->depth--;
    w->pace = around;
    return work;
}

static double walk_unknown(Walk *w, const CoreBody *body, const WalkValue *like,
                           uint32_t count, WalkPace pace) {
    WalkValue *params = arena_array(w->arena, WalkValue, body->param_count);
    for (uint32_t i = 0; i < body->param_count; i++) {
        params[i] = visit_value_like(w, body->params[i]);
        if (i < count && params[i].type.rank > 0) params[i].dims = like[i].dims;
    }
    return walk_rows(w, body, params, pace);
}

static double walk_make(Walk *w, const CoreStm *stm) {
    CoreFeeds feeds = core_feeds(stm);
    const CoreBody *body = stm->bodies[0];
    uint32_t outer = stm->op == OP_MAP ? 1 : (uint32_t)stm->attrs[0];
    WalkValue *rows = arena_array(w->arena, WalkValue, body->param_count);
    double count = 1;
    WalkValue first = visit_value(w, stm->args[0]);
    int64_t sizes[CORE_MAX_RANK];
    for (uint32_t d = 0; d < outer; d++) {
        sizes[d] = stm->op == OP_MAP ? first.dims[0] : visit_int(w, stm->args[d]);
        count *=
            stm->op == OP_MAP ? visit_rows(&first) : visit_at_most(w, stm->args[d]);
    }
    for (uint32_t i = 0; i < feeds.count; i++) {
        WalkValue array = visit_value(w, stm->args[feeds.first + i]);
        rows[i] = visit_row(w, &array, 1);
    }
    double work = walk_unknown(w, body, rows, feeds.count, PACE_FREE);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        WalkValue row = visit_value(w, body->results[k]),
                  v = visit_value_like(w, stm->outs[k]);
        for (uint32_t d = 0; d < outer; d++) v.dims[d] = sizes[d];
        for (uint32_t d = outer; d < v.type.rank; d++) v.dims[d] = row.dims[d - outer];
        visit_bind(w, stm, k, v);
    }
    return count * work;
}

// What is taken one by one: REDUCE, SCAN, HIST, SCATTER and FILTER.
static double walk_take(Walk *w, const CoreStm *stm) {
    CoreFeeds feeds = core_feeds(stm);
    WalkValue array = visit_value(w, stm->args[feeds.first]);
    int64_t length = array.dims[0];
    double rows_taken = visit_rows(&array);
    // What gives no place to elements goes by lanes.
    bool is_fold = stm->op == OP_REDUCE || stm->op == OP_SCAN;
    WalkPace pace = is_fold ? PACE_FREE : PACE_ALONE;
    double work = is_fold ? 0 : 1;
    WalkValue *rows = arena_array(w->arena, WalkValue, feeds.count);
    for (uint32_t i = 0; i < feeds.count; i++) {
        array = visit_value(w, stm->args[feeds.first + i]);
        rows[i] = visit_row(w, &array, 1);
    }
    uint32_t neutral = stm->op == OP_HIST ? stm->out_count : feeds.count;
    WalkValue *acc = arena_array(w->arena, WalkValue, 2 * stm->out_count);
    bool has_op = feeds.body > 0;
    for (uint32_t k = 0; k < 2 * stm->out_count && has_op; k++)
        acc[k] = visit_value(w, stm->args[neutral + k % stm->out_count]);
    if (has_op) work += walk_unknown(w, stm->bodies[0], acc, 2 * stm->out_count, pace);
    if (feeds.producer != NULL)
        work += walk_unknown(w, feeds.producer, rows, feeds.count, PACE_FREE);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        WalkValue v = visit_value_like(w, stm->outs[k]);
        if (stm->op == OP_HIST || stm->op == OP_SCATTER) {
            v.dims = visit_value(w, stm->args[k]).dims;
        } else if (stm->op == OP_REDUCE) {
            v.dims = acc[k].dims;
        } else if (stm->op == OP_SCAN) {
            v.dims[0] = length;
            for (uint32_t d = 1; d < v.type.rank; d++) v.dims[d] = acc[k].dims[d - 1];
        } else if (feeds.producer == NULL) { // what a filter keeps, nobody knows
            for (uint32_t d = 1; d < v.type.rank; d++)
                v.dims[d] = rows[k + 1].dims[d - 1];
        }
        visit_bind(w, stm, k, v);
    }
    return rows_taken * work;
}

// ---- control ------------------------------------------------------------------------

static void bind_results(Walk *w, const CoreStm *stm, const CoreBody *body) {
    for (uint32_t k = 0; k < stm->out_count; k++)
        visit_bind(w, stm, k, visit_value(w, body->results[k]));
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
const CoreBody *visit_branch(const Walk *w, const CoreStm *stm) {
    WalkValue c = visit_value(w, stm->args[0]);
    bool is_first =
        c.is_known ? c.bits != 0 : calls_in(stm->bodies[0]) >= calls_in(stm->bodies[1]);
    return stm->bodies[is_first ? 0 : 1];
}

static double walk_if(Walk *w, const CoreStm *stm) {
    WalkValue c = visit_value(w, stm->args[0]);
    visit_look(w, stm->args[0]);
    if (c.is_known || w->depth == 0) {
        if (!c.is_known) visit_guess(w);
        w->plan->took_a_branch |= !c.is_known;
        const CoreBody *body = visit_branch(w, stm);
        double work = walk_body(w, body);
        bind_results(w, stm, body);
        return work;
    }
    w->doubts++;
    double yes = walk_body(w, stm->bodies[0]), no = walk_body(w, stm->bodies[1]);
    w->doubts--;
    for (uint32_t k = 0; k < stm->out_count; k++) {
        WalkValue a = visit_value(w, stm->bodies[0]->results[k]);
        WalkValue b = visit_value(w, stm->bodies[1]->results[k]);
        visit_bind(w, stm, k, visit_merge(w, &a, &b));
    }
    return yes > no ? yes : no;
}

// One turn from these states, which become those after it.
static double walk_turn(Walk *w, const CoreBody *body, uint32_t from, WalkValue *states,
                        uint32_t count) {
    for (uint32_t i = 0; i < count; i++) w->values[body->params[from + i]] = states[i];
    double work = walk_body(w, body);
    for (uint32_t i = 0; i < count; i++) states[i] = visit_value(w, body->results[i]);
    return work;
}

// The states before any turn but the first: what a turn keeps is known.
static void generalise(const Walk *w, const WalkValue *before, WalkValue *states,
                       uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        WalkValue v = visit_merge(w, &states[i], &before[i]);
        v.block = states[i].block;
        v.part = states[i].part;
        states[i] = v;
    }
}

// Then later turns do so, too.
static bool keeps_sizes(const WalkValue *before, const WalkValue *states,
                        uint32_t count) {
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
    WalkValue *states;
    double turns;
} Loop;

static Loop loop_of(const Walk *w, const CoreStm *stm) {
    bool is_for = stm->op == OP_FOR;
    Loop l = {.stm = stm,
              .guard = is_for ? NULL : stm->bodies[0],
              .turn = stm->bodies[is_for ? 0 : 1],
              .count = stm->out_count,
              .first = is_for,
              .turns = is_for ? visit_number(visit_int(w, stm->args[0])) : NAN};
    l.states = arena_array(w->arena, WalkValue, l.count);
    for (uint32_t i = 0; i < l.count; i++)
        l.states[i] = visit_value(w, stm->args[l.first + i]);
    return l;
}

// On the host: turn number t, of which 1 is like all later ones.
static void walk_host_turn(Walk *w, Loop *l, int t) {
    bool is_known = t == 0 || l->turns <= 2;
    if (l->guard == NULL) {
        CoreRef i = l->turn->params[0];
        w->values[i] = visit_value_like(w, i);
        w->values[i].is_known = is_known;
        w->values[i].bits = (uint64_t)t;
    } else {
        for (uint32_t i = 0; i < l->count; i++)
            w->values[l->guard->params[i]] = l->states[i];
        walk_body(w, l->guard);
        visit_look(w, l->guard->results[0]);
    }
    walk_turn(w, l->turn, l->first, l->states, l->count);
}

// Whether later turns go like the last one, before which `first` was the next block: no
// less is known after it, and each state stays or is made by the turn.
static bool repeats(const Loop *l, const WalkValue *before, uint32_t first) {
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t block = l->states[i].block;
        bool is_made = block != PLAN_NONE && block >= first;
        if (block != before[i].block && !is_made) return false;
        if (l->states[i].is_known != before[i].is_known) return false;
    }
    return keeps_sizes(before, l->states, l->count);
}

static void walk_on_host(Walk *w, Loop *l) {
    if (l->guard == NULL) visit_look(w, l->stm->args[0]);
    if (isnan(l->turns)) visit_guess(w);
    double around = w->turns;
    uint32_t visit = w->visit;
    WalkValue *before = arena_array(w->arena, WalkValue, l->count);
    for (int t = 0; t < 2 && !(l->turns <= t); t++) {
        w->visit = ++w->visits;
        if (t == 1) w->turns = around * (l->turns - 1);
        memcpy(before, l->states, l->count * sizeof *before);
        uint32_t first = w->plan->blocks.len;
        walk_host_turn(w, l, t);
        if (!(l->turns <= t + 1)) generalise(w, before, l->states, l->count);
        if (t == 1 && l->turns > 2 && !repeats(l, before, first)) visit_guess(w);
    }
    w->turns = around;
    w->visit = visit;
}

// So often the turn is counted. Lanes wait for the one among them that turns most
// often.
static double turns_inside(const Walk *w, const Loop *l) {
    if (!isnan(l->turns)) return l->turns;
    return w->pace == PACE_ALONE ? SOME : 2 * SOME;
}

// What a turn inside of a kernel takes for the arrays that it hands on, which it reads
// and writes: as long as so many scalar operations.
static double work_of_states(const Walk *w, const Loop *l, double turns) {
    double bytes = 0;
    if (w->pace != PACE_ALONE) return 0;
    for (uint32_t i = 0; i < l->count; i++)
        if (l->states[i].type.rank > 0) bytes += 2 * visit_bytes(&l->states[i]);
    return isnan(bytes) ? 0 : bytes / plan_bytes_at_a_time(turns, bytes);
}

// FOR and WHILE. Inside of kernels one turn is counted.
static double walk_loop(Walk *w, const CoreStm *stm) {
    Loop l = loop_of(w, stm);
    double work = 0;
    if (w->depth == 0) {
        walk_on_host(w, &l);
    } else {
        WalkValue *before = arena_copy(w->arena, l.states, l.count * sizeof *before);
        for (uint32_t i = 0; i < l.count; i++) l.states[i].is_known = false;
        if (l.guard == NULL) {
            CoreRef i = l.turn->params[0];
            w->values[i] = visit_value_like(w, i);
        }
        WalkPace pace = w->pace;
        if (pace == PACE_FREE) w->pace = PACE_WAITS;
        double turns = turns_inside(w, &l);
        w->doubts++;
        work = walk_turn(w, l.turn, l.first, l.states, l.count);
        w->doubts--;
        w->pace = pace;
        work = turns * (work + work_of_states(w, &l, turns));
        generalise(w, before, l.states, l.count);
        if (!keeps_sizes(before, l.states, l.count)) visit_guess(w);
    }
    for (uint32_t k = 0; k < l.count; k++) visit_bind(w, stm, k, l.states[k]);
    return work;
}

typedef struct Call {
    const Walk *w;
    const CoreBody *body; // of the kernel
    const CoreStm *stm;
} Call;

// What a param of the kernel is: a PlanSize.
static double param_in(const void *data, CoreRef ref) {
    const Call *call = data;
    for (uint32_t i = 0; i < call->body->param_count; i++)
        if (call->body->params[i] == ref) {
            WalkValue v = visit_value(call->w, call->stm->args[i]);
            return v.is_known ? (double)(int64_t)v.bits : NAN;
        }
    return 0;
}

// Whether the host walks the loop that the kernel is, as in the run (api/offer.c).
static bool is_for_host(Walk *w, const CoreFun *kernel, const CoreStm *stm) {
    Call call = {w, kernel->body, stm};
    double elements = 0;
    if (kernel->otherwise == 0) return false;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        WalkValue v = visit_value(w, stm->args[i]);
        if (v.type.rank > 0) elements += visit_count(&v);
    }
    double made = plan_made_inside(w->p, kernel->body, param_in, &call);
    if (elements > PLAN_SMALL || made > PLAN_SMALL) return true;
    bool is_known = !isnan(elements) && !isnan(made);
    if (!is_known) visit_guess(w);
    return !is_known;
}

static double walk_call(Walk *w, const CoreStm *stm) {
    const CoreFun *fun = w->p->funs.data[stm->attrs[0]];
    bool is_kernel = w->depth == 0 && fun->kernel != CORE_NO_KERNEL;
    if (is_kernel && is_for_host(w, fun, stm)) {
        fun = w->p->funs.data[fun->otherwise - 1];
        is_kernel = false;
    }
    for (uint32_t i = 0; i < fun->body->param_count; i++)
        w->values[fun->body->params[i]] = visit_value(w, stm->args[i]);
    uint32_t visit = w->visit;
    w->visit = ++w->visits;
    w->depth += is_kernel;
    double work = walk_body(w, fun->body);
    w->depth -= is_kernel;
    w->visit = visit;
    for (uint32_t k = 0; k < stm->out_count; k++) {
        visit_bind(w, stm, k, visit_value(w, fun->body->results[k]));
        if (is_kernel) w->values[stm->outs[k]].is_known = false;
    }
    if (is_kernel) visit_add_task(w, stm, fun, work);
    return work;
}

// ---- statements ---------------------------------------------------------------------

static bool is_float(ScalarType type) {
    return type == SCALAR_F16 || type == SCALAR_F32 || type == SCALAR_F64;
}

static bool divides_integers(const Walk *w, const CoreStm *stm) {
    return core_divides(stm->op, (ScalarType)core_type(w->p, stm->outs[0]).elem);
}

// Whether a float is divided by a known power of two: then it is a product.
static bool halves(const Walk *w, const CoreStm *stm) {
    ScalarType elem = (ScalarType)core_type(w->p, stm->outs[0]).elem;
    uint32_t fraction = elem == SCALAR_F64 ? 52 : elem == SCALAR_F32 ? 23 : 10; // bits
    if (stm->op != OP_DIV || !is_float(elem)) return false;
    WalkValue divisor = visit_value(w, stm->args[1]);
    return divisor.is_known && divisor.bits << (64 - fraction) == 0;
}

// Of a scalar operator: a sum counts as one. To divide integers by what is known takes
// a product and some more.
static double operations_of(const Walk *w, const CoreStm *stm) {
    enum { UNKNOWN_DIVISOR = 20, DIVISION = 5 };
    switch ((int)stm->op) {
    case OP_DIV:
    case OP_MOD:
    case OP_QUOT:
    case OP_REM:
        if (divides_integers(w, stm) && !visit_value(w, stm->args[1]).is_known)
            return UNKNOWN_DIVISOR;
        return halves(w, stm) ? 1 : DIVISION;
    case OP_SQRT: return DIVISION;
    default: return 1;
    }
}

static bool uses_divider(const Walk *w, const CoreStm *stm) {
    bool divides = stm->op == OP_DIV && !divides_integers(w, stm) && !halves(w, stm);
    return divides || stm->op == OP_SQRT;
}

// As long as so many sums take that wait for each other. Cores begin several operations
// at a time, but for those of the one divider, and a vector has as many elements as
// fit.
static double cost_of(const Walk *w, const CoreStm *stm) {
    static const double at_a_time = 4;
    double operations = operations_of(w, stm), vector = w->plan->in.vector_bytes;
    double bytes = scalar_info[core_type(w->p, stm->outs[0]).elem].bytes;
    if (w->pace == PACE_ALONE) return operations;
    bool has_lanes = vector > bytes && !divides_integers(w, stm);
    if (has_lanes) operations *= bytes / vector;
    bool is_free = w->pace == PACE_FREE && !uses_divider(w, stm);
    return is_free ? operations / at_a_time : operations;
}

static double walk_step(Walk *w, const CoreStm *stm) {
    switch ((int)stm->op) {
    case OP_IF: return walk_if(w, stm);
    case OP_FOR:
    case OP_WHILE: return walk_loop(w, stm);
    case OP_CALL: return walk_call(w, stm);
    case OP_CHECK:
        visit_look(w, stm->args[0]);
        visit_check(w, stm);
        visit_bind(w, stm, 0, visit_value_like(w, stm->outs[0]));
        return w->pace == PACE_ALONE ? 1 : 0; // loops in lanes have it before them
    case OP_GUARD:
    case OP_TRACE: visit_bind(w, stm, 0, visit_value(w, stm->args[0])); return 0;
    case OP_GENERATE:
    case OP_MAP: return walk_make(w, stm);
    case OP_REDUCE:
    case OP_SCAN:
    case OP_HIST:
    case OP_SCATTER:
    case OP_FILTER: return walk_take(w, stm);
    case OP_DIM:
        visit_look(w, stm->args[0]);
        visit_dim(w, stm);
        return 0;
    case OP_INDEX:
        visit_look(w, stm->args[0]);
        visit_index(w, stm);
        return cost_of(w, stm);
    case OP_SPLIT:
        visit_look(w, stm->args[0]);
        visit_split(w, stm);
        return 0;
    case OP_SLICE:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_REVERSE:
        visit_look(w, stm->args[0]);
        visit_view(w, stm);
        return 0;
    case OP_IOTA: visit_sized(w, stm, 1, 0); return 0;
    case OP_REPLICATE: visit_sized(w, stm, 1, 1); return 0;
    case OP_SCRATCH: visit_sized(w, stm, stm->arg_count, 0); return 0;
    case OP_LITERAL:
    case OP_ARRAY:
    case OP_CONCAT:
    case OP_COPY:
    case OP_UPDATE:
    case OP_SORT: {
        double work = visit_array(w, stm);
        if (w->depth == 0 && stm->op != OP_LITERAL) visit_add_task(w, stm, NULL, work);
        return work;
    }
    default: // scalars
        for (uint32_t i = 0; i < stm->arg_count; i++) visit_look(w, stm->args[i]);
        visit_scalar(w, stm);
        return cost_of(w, stm);
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
                visit_bind(w, stm, k, visit_value_like(w, stm->outs[k]));
            work = NAN;
        } else {
            work += walk_step(w, stm);
        }
    }
    return work;
}

// ---- the entry ----------------------------------------------------------------------

static WalkValue param_of(const Walk *w, CoreRef ref, const PlanArg *arg) {
    WalkValue v = visit_value_like(w, ref);
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
              .values = arena_array(in->arena, WalkValue, in->program->values.len),
              .turns = 1,
              .waits = PLAN_NONE};
    for (uint32_t i = 0; i < in->program->values.len; i++)
        w.values[i].block = PLAN_NONE;
    for (uint32_t i = 0; i < body->param_count; i++) {
        CoreRef ref = body->params[i];
        const PlanArg *arg = in->args != NULL ? &in->args[i] : NULL;
        WalkValue v = param_of(&w, ref, arg);
        if (v.type.rank > 0)
            v.block = visit_new_block(&w, &v, in->program->values.data[ref].name, 0,
                                      PLAN_NONE, arg != NULL && arg->is_held);
        w.values[ref] = v;
    }
    plan->params = plan->blocks.len;
    walk_body(&w, body);
    for (uint32_t i = 0; i < body->result_count; i++) {
        WalkValue v = visit_value(&w, body->results[i]);
        if (v.block != PLAN_NONE) plan->blocks.data[v.block].is_result = true;
        if (in->tells_results) visit_result(&w, body, body->results[i]);
    }
    if (in->tells_results) visit_add_results(&w, body);
    plan->is_cut_off = w.is_over;
    if (w.is_over) visit_guess(&w);
    return plan;
}
