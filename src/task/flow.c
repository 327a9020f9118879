// SPDX-License-Identifier: Apache-2.0
//
// From core to statements on buffers. A kernel that is a loop or a branch with parallel
// work inside is taken apart; every other call is one operation.
//
// An operation writes in place if its operand is a buffer that was allocated in the
// same body and is used here for the last time, and nothing else can name its memory:
// no view was made of it and no other variable is bound to it. A loop goes on in the
// buffer of its initial value if each of its turns does. Then it is no state any more
// but a variable of the world outside, which the turns write.
#include "task/flow.h"

#include <assert.h>
#include <string.h>

typedef struct Maker {
    FlowFun *f;
    CoreProgram *program;
    Arena *arena;
    FlowVar *vars; // by CoreRef; 0: none
    uint32_t var_count;
    struct {
        uint32_t *data;
        uint32_t len, cap;
    } home;        // by FlowVar: the body that may overwrite it; 0: none
    Map last;      // (body, CoreRef) -> 1 + the statement of the body that uses it last
    uint32_t body; // at work
    uint32_t bodies;
    uint32_t order;
    bool is_deep;
} Maker;

// ---- variables ----------------------------------------------------------------------

static FlowVar new_var(Maker *m, FlowVarInfo info) {
    vec_push(core_notes(m->program), &m->f->vars, info);
    vec_push(core_notes(m->program), &m->home, 0);
    return m->f->vars.len - 1;
}

static FlowVar known_var(const Maker *m, CoreRef ref) {
    return ref < m->var_count ? m->vars[ref] : 0;
}

static void set_var(Maker *m, CoreRef ref, FlowVar var) {
    if (ref >= m->var_count) {
        uint32_t count = m->program->values.len + m->program->values.len / 4;
        FlowVar *vars = arena_array(core_notes(m->program), FlowVar, count);
        if (m->var_count > 0) memcpy(vars, m->vars, m->var_count * sizeof *vars);
        m->vars = vars;
        m->var_count = count;
    }
    m->vars[ref] = var;
}

static FlowVar bind(Maker *m, CoreRef ref) {
    CoreValue value = m->program->values.data[ref];
    FlowVar var = new_var(m, (FlowVarInfo){.type = value.type, .name = value.name});
    set_var(m, ref, var);
    return var;
}

static FlowVar var_of(Maker *m, CoreRef ref) {
    FlowVar known = known_var(m, ref);
    if (known != 0) return known;
    CoreValue value = m->program->values.data[ref];
    assert(value.is_const);
    FlowVar var = new_var(
        m, (FlowVarInfo){.type = value.type, .is_const = true, .bits = value.bits});
    set_var(m, ref, var);
    return var;
}

static void add_all(Maker *m, FlowVars *vars, const CoreRef *refs, uint32_t count) {
    if (vars->cap == 0) vec_reserve(m->arena, vars, count);
    for (uint32_t i = 0; i < count; i++) vec_push(m->arena, vars, var_of(m, refs[i]));
}

// From now on something else may name the variable's memory.
static void share(Maker *m, FlowVar var) {
    m->home.data[var] = 0;
}

static void share_all(Maker *m, const FlowVars *vars) {
    for (uint32_t i = 0; i < vars->len; i++) share(m, vars->data[i]);
}

// ---- last uses in core --------------------------------------------------------------

static uint64_t use_key(uint32_t body, CoreRef ref) {
    return (uint64_t)body << 32 | ref;
}

static bool has_ref(const CoreRefs *refs, CoreRef ref) {
    for (uint32_t i = 0; i < refs->len; i++)
        if (refs->data[i] == ref) return true;
    return false;
}

// What a statement needs, as core_free has it. Most are short and have no bodies.
static CoreRefs needs_of(Maker *m, CoreStm *stm, Arena *arena) {
    enum { SHORT = 16 };
    CoreRefs refs = {0};
    if (stm->body_count > 0 || stm->arg_count > SHORT) {
        CoreBody alone = {.stms = {&stm, 1, 1}};
        core_free(m->program, &alone, arena, &refs);
        return refs;
    }
    vec_reserve(arena, &refs, stm->arg_count);
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        CoreRef arg = stm->args[i];
        if (arg != 0 && !core_is_const(m->program, arg) && !has_ref(&refs, arg))
            vec_push(arena, &refs, arg);
    }
    return refs;
}

// Of arrays: nobody overwrites anything else.
static void note_uses(Maker *m, const CoreRef *refs, uint32_t count, uint32_t at) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] != 0 && core_type(m->program, refs[i]).rank > 0)
            map_set(&m->last, use_key(m->body, refs[i]), at + 1);
}

static void note_last_uses(Maker *m, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        if (stm->body_count == 0) {
            note_uses(m, stm->args, stm->arg_count, i);
            continue;
        }
        CoreRefs refs = needs_of(m, stm, core_notes(m->program));
        note_uses(m, refs.data, refs.len, i);
    }
    note_uses(m, body->results, body->result_count, body->stms.len);
}

// Whether statement `at` may take the array over: the buffer, or 0.
static FlowVar takes_over(Maker *m, CoreRef ref, uint32_t at) {
    FlowVar var = known_var(m, ref);
    uint64_t last;
    if (var == 0 || m->home.data[var] != m->body) return 0;
    bool is_last = map_get(&m->last, use_key(m->body, ref), &last) && last == at + 1;
    return is_last ? var : 0;
}

static uint32_t count_uses(Maker *m, CoreStm *stm, CoreRef ref) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < stm->arg_count; i++) count += stm->args[i] == ref;
    CoreRefs refs = {0};
    for (uint32_t i = 0; i < stm->body_count; i++)
        core_free(m->program, stm->bodies[i], core_notes(m->program), &refs);
    for (uint32_t i = 0; i < refs.len; i++) count += refs.data[i] == ref;
    return count;
}

// ---- statements ---------------------------------------------------------------------

static FlowStm *new_stm(Maker *m, FlowBody *body, FlowKind kind) {
    FlowStm *stm = arena_new(m->arena, FlowStm);
    stm->kind = kind;
    stm->order = ++m->order;
    stm->number = m->f->stm_count++;
    if (body != NULL) vec_push(m->arena, &body->stms, stm);
    return stm;
}

// Sets what is to be run: the statement alone, on the values that it needs.
static void set_run(Maker *m, FlowStm *stm, CoreStm *core) {
    CoreBody *run = arena_new(m->arena, CoreBody);
    CoreRefs needs = needs_of(m, core, m->arena);
    vec_reserve(m->arena, &run->stms, 1);
    vec_push(m->arena, &run->stms, core);
    run->params = needs.data;
    run->param_count = needs.len;
    run->results = core->outs;
    run->result_count = core->out_count;
    stm->run = run;
    add_all(m, &stm->ins, needs.data, needs.len);
}

static bool is_simple(const CoreProgram *p, const CoreStm *stm);

static bool is_simple_body(const CoreProgram *p, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!is_simple(p, body->stms.data[i])) return false;
    return true;
}

// Scalars, views and checks: nothing that is worth a task.
static bool is_simple(const CoreProgram *p, const CoreStm *stm) {
    switch (core_op_info[stm->op].kind) {
    case KIND_SCALAR1:
    case KIND_SCALAR2:
    case KIND_SCALAR3: return true;
    case KIND_ARRAY:
    case KIND_CONTROL: break;
    case KIND_ORDER2: return false;
    }
    switch ((int)stm->op) {
    case OP_CHECK:
    case OP_GUARD:
    case OP_TRACE:
    case OP_LITERAL:
    case OP_IOTA:
    case OP_DIM:
    case OP_INDEX:
    case OP_SLICE:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_REVERSE:
    case OP_SPLIT: return true;
    case OP_REPLICATE: return core_type(p, stm->args[1]).rank == 0;
    case OP_IF:
        return is_simple_body(p, stm->bodies[0]) && is_simple_body(p, stm->bodies[1]);
    }
    return false;
}

static void make_simple(Maker *m, FlowBody *body, CoreStm *core) {
    FlowKind kind = core->op == OP_LITERAL                         ? FLOW_USE
                    : core->op == OP_ARRAY && core->arg_count == 1 ? FLOW_UNIT
                                                                   : FLOW_EXP;
    FlowStm *stm = new_stm(m, body, kind);
    set_run(m, stm, core);
    bool has_array = false;
    vec_reserve(m->arena, &stm->outs, core->out_count);
    for (uint32_t i = 0; i < core->out_count; i++) {
        FlowVar out = bind(m, core->outs[i]);
        m->f->vars.data[out].is_buffer = kind != FLOW_EXP;
        has_array |= m->f->vars.data[out].type.rank > 0;
        vec_push(m->arena, &stm->outs, out);
    }
    if (has_array) share_all(m, &stm->ins); // it may be a view of any of them
}

// ---- operations ---------------------------------------------------------------------

// The array that result k of the statement is, overwritten; 0: none.
static CoreRef overwritten(const Maker *m, const CoreStm *stm, uint32_t k) {
    if (stm->op == OP_UPDATE || stm->op == OP_SCATTER || stm->op == OP_HIST)
        return stm->args[k];
    if (stm->op != OP_CALL) return 0;
    const CoreFun *kernel = m->program->funs.data[stm->attrs[0]];
    if (kernel->kernel != CORE_PARALLEL_KERNEL) return 0;
    CoreOp op = core_kernel_op(kernel);
    if (op != OP_SCATTER && op != OP_HIST) return 0;
    const CoreBody *body = kernel->body;
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == body->stms.data[body->stms.len - 1]->args[k])
            return stm->args[i];
    return 0;
}

// How large a generate is: known outside if its sizes are params of the kernel.
static void add_sizes(Maker *m, FlowStm *alloc, const CoreStm *stm) {
    if (stm->op != OP_CALL) return;
    const CoreFun *kernel = m->program->funs.data[stm->attrs[0]];
    if (kernel->kernel != CORE_PARALLEL_KERNEL || core_kernel_op(kernel) != OP_GENERATE)
        return;
    const CoreBody *body = kernel->body;
    const CoreStm *generate = body->stms.data[body->stms.len - 1];
    for (int32_t d = 0; d < generate->attrs[0]; d++) {
        CoreRef size =
            core_is_const(m->program, generate->args[d]) ? generate->args[d] : 0;
        for (uint32_t i = 0; i < body->param_count; i++)
            if (body->params[i] == generate->args[d]) size = stm->args[i];
        if (size == 0) alloc->ins.len = 0;
        if (size == 0) return;
        vec_push(m->arena, &alloc->ins, var_of(m, size));
    }
}

static void make_op(Maker *m, FlowBody *body, CoreStm *core, uint32_t at) {
    FlowVars outs = {0};
    vec_reserve(m->arena, &outs, core->out_count);
    for (uint32_t k = 0; k < core->out_count; k++) {
        CoreRef old = overwritten(m, core, k);
        FlowVar out =
            old != 0 && count_uses(m, core, old) == 1 ? takes_over(m, old, at) : 0;
        if (out != 0) {
            set_var(m, core->outs[k], out);
        } else {
            FlowStm *alloc = new_stm(m, body, FLOW_ALLOC);
            add_sizes(m, alloc, core);
            out = bind(m, core->outs[k]);
            m->f->vars.data[out].is_buffer = true;
            m->home.data[out] = m->body;
            vec_reserve(m->arena, &alloc->outs, 1);
            vec_push(m->arena, &alloc->outs, out);
        }
        vec_push(m->arena, &outs, out);
    }
    FlowStm *stm = new_stm(m, body, FLOW_OP);
    set_run(m, stm, core);
    stm->outs = outs;
}

// ---- control ------------------------------------------------------------------------

static void make_stms(Maker *m, FlowBody *body, const CoreBody *core);

static FlowBody *make_body(Maker *m, const CoreBody *core) {
    FlowBody *body = arena_new(m->arena, FlowBody);
    make_stms(m, body, core);
    add_all(m, &body->results, core->results, core->result_count);
    return body;
}

// Lets the body `inner` overwrite what statement `at` uses for the last time. Returns
// the first variable that is made from here on.
static FlowVar lend(Maker *m, const CoreRefs *refs, uint32_t at, uint32_t inner) {
    for (uint32_t i = 0; i < refs->len; i++) {
        FlowVar var = takes_over(m, refs->data[i], at);
        if (var != 0) m->home.data[var] = inner;
    }
    return m->home.len;
}

static void give_one_back(Maker *m, uint32_t inner, FlowVar var) {
    if (m->home.data[var] == inner) m->home.data[var] = m->body;
}

// What the body may overwrite, so may the one around it from now on: what was lent, and
// what it has made.
static void give_back(Maker *m, const CoreRefs *lent, FlowVar made, uint32_t inner) {
    for (uint32_t i = 0; i < lent->len; i++)
        give_one_back(m, inner, known_var(m, lent->data[i]));
    for (FlowVar var = made; var < m->home.len; var++) give_one_back(m, inner, var);
}

static FlowBody *make_branch(Maker *m, const CoreBody *core, uint32_t number) {
    uint32_t outer = m->body;
    m->body = number;
    FlowBody *body = make_body(m, core);
    m->body = outer;
    return body;
}

// A result that is the same buffer in both branches is that buffer.
static void make_if(Maker *m, FlowBody *body, CoreStm *core, uint32_t at) {
    FlowStm *stm = new_stm(m, body, FLOW_IF);
    uint32_t inner = ++m->bodies;
    add_all(m, &stm->ins, core->args, 1);
    CoreRefs refs = {0};
    for (int i = 0; i < 2; i++)
        core_free(m->program, core->bodies[i], core_notes(m->program), &refs);
    FlowVar made = lend(m, &refs, at, inner);
    for (int i = 0; i < 2; i++) stm->bodies[i] = make_branch(m, core->bodies[i], inner);
    FlowVars *yes = &stm->bodies[0]->results, *no = &stm->bodies[1]->results;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < core->out_count; k++) {
        FlowVar same = yes->data[k] == no->data[k] ? yes->data[k] : 0;
        if (same != 0 && m->home.data[same] == inner) {
            set_var(m, core->outs[k], same);
            m->home.data[same] = m->body; // so it is not that of another result, too
            continue;
        }
        share(m, yes->data[k]);
        share(m, no->data[k]);
        vec_push(m->arena, &stm->outs, bind(m, core->outs[k]));
        yes->data[kept] = yes->data[k];
        no->data[kept++] = no->data[k];
    }
    yes->len = no->len = kept;
    give_back(m, &refs, made, inner);
}

// A statement of core on constants and variables that have no other.
static CoreStm *counter_stm(Maker *m, CoreOp op, CoreRef x, CoreRef y) {
    CoreBuilder b = core_builder(m->program);
    core_open(&b, NULL, 0);
    core_op2(&b, op, x, y);
    return core_close(&b, NULL, 0)->stms.data[0];
}

// The guard and the next value of a counted loop's counter, of value `i`.
static void make_counter(Maker *m, FlowStm *stm, const CoreStm *core, CoreRef i) {
    CoreStm *guard = counter_stm(m, OP_LT, i, core->args[0]);
    make_simple(m, stm->bodies[0], guard);
    add_all(m, &stm->bodies[0]->results, guard->outs, 1);
    CoreRef one = core_const(m->program, (ScalarType)core_type(m->program, i).elem, 1);
    CoreStm *next = counter_stm(m, OP_ADD, i, one);
    make_simple(m, stm->bodies[1], next);
    add_all(m, &stm->bodies[1]->results, next->outs, 1);
}

// Makes the loop where the states of which `stays` says so stay in the buffers of their
// initial values. False: one does not.
static bool try_loop(Maker *m, FlowStm *stm, CoreStm *core, const FlowVar *stays) {
    bool is_for = core->op == OP_FOR;
    const CoreBody *turn = core->bodies[is_for ? 0 : 1];
    uint32_t first = is_for ? 1 : 0, outer = m->body, inner = ++m->bodies;
    for (uint32_t k = 0; k < core->out_count; k++) {
        CoreRef param = turn->params[first + k];
        FlowVar var = stays[k];
        if (var != 0) {
            set_var(m, param, var);
            m->home.data[var] = inner;
        } else {
            var = bind(m, param);
            vec_push(m->arena, &stm->ins, var_of(m, core->args[first + k]));
            share(m, stm->ins.data[stm->ins.len - 1]);
            vec_push(m->arena, &stm->states, var);
        }
        if (!is_for) set_var(m, core->bodies[0]->params[k], var);
    }
    if (is_for) {
        CoreRef zero = core_const(
            m->program, (ScalarType)core_type(m->program, core->args[0]).elem, 0);
        vec_push(m->arena, &stm->ins, var_of(m, zero));
        vec_push(m->arena, &stm->states, bind(m, turn->params[0]));
    }
    m->body = inner;
    stm->bodies[0] =
        is_for ? arena_new(m->arena, FlowBody) : make_body(m, core->bodies[0]);
    stm->bodies[1] = arena_new(m->arena, FlowBody);
    make_stms(m, stm->bodies[1], turn);
    m->body = outer;
    bool all_stay = true;
    for (uint32_t k = 0; k < turn->result_count; k++) {
        FlowVar result = var_of(m, turn->results[k]);
        if (stays[k] == 0) share(m, result);
        if (stays[k] == 0) vec_push(m->arena, &stm->bodies[1]->results, result);
        all_stay &=
            stays[k] == 0 || (result == stays[k] && m->home.data[result] == inner);
    }
    if (is_for) make_counter(m, stm, core, turn->params[0]);
    return all_stay;
}

static void make_loop(Maker *m, FlowBody *body, CoreStm *core, uint32_t at) {
    bool is_for = core->op == OP_FOR;
    FlowStm *stm = new_stm(m, body, FLOW_LOOP);
    FlowVar *stays = arena_array(core_notes(m->program), FlowVar, core->out_count);
    for (uint32_t k = 0; k < core->out_count; k++) {
        CoreRef from = core->args[(is_for ? 1 : 0) + k];
        if (count_uses(m, core, from) == 1) stays[k] = takes_over(m, from, at);
    }
    while (!try_loop(m, stm, core, stays)) {
        // Of those in doubt none stays, for one that does not may be another's fault.
        for (uint32_t k = 0; k < core->out_count; k++) stays[k] = 0;
        stm->ins.len = stm->states.len = 0;
    }
    for (uint32_t k = 0; k < core->out_count; k++) {
        if (stays[k] != 0) m->home.data[stays[k]] = m->body;
        if (stays[k] != 0) set_var(m, core->outs[k], stays[k]);
        else vec_push(m->arena, &stm->outs, bind(m, core->outs[k]));
    }
    if (is_for) // the counter's last value, which nobody asks for
        vec_push(
            m->arena, &stm->outs,
            new_var(m, (FlowVarInfo){.type = core_type(m->program, core->args[0])}));
}

// ---- bodies -------------------------------------------------------------------------

// What a kernel is taken apart to; NULL: it stays whole.
static const CoreBody *inside_of(const Maker *m, const CoreStm *call) {
    CoreFun *const *funs = m->program->funs.data;
    const CoreFun *kernel = funs[call->attrs[0]];
    if (kernel->otherwise != 0) return funs[kernel->otherwise - 1]->body;
    if (kernel->kernel != CORE_PARALLEL_KERNEL) return NULL;
    CoreOp op = core_kernel_op(kernel);
    return op == OP_FOR || op == OP_WHILE ? kernel->body : NULL;
}

// The statements of a kernel, in its place.
static bool make_inside(Maker *m, FlowBody *body, const CoreStm *call, uint32_t at) {
    const CoreBody *inside = inside_of(m, call);
    if (inside == NULL) return false;
    uint32_t outer = m->body, inner = ++m->bodies;
    CoreRefs args = {call->args, call->arg_count, call->arg_count};
    FlowVar made = lend(m, &args, at, inner);
    for (uint32_t i = 0; i < inside->param_count; i++)
        set_var(m, inside->params[i], var_of(m, call->args[i]));
    m->body = inner;
    make_stms(m, body, inside);
    m->body = outer;
    for (uint32_t k = 0; k < call->out_count; k++) {
        FlowVar result = var_of(m, inside->results[k]);
        set_var(m, call->outs[k], result);
        // Else something outside has that name already.
        m->home.data[result] = m->home.data[result] == inner ? outer : 0;
    }
    give_back(m, &args, made, inner);
    return true;
}

static void make_stm(Maker *m, FlowBody *body, CoreStm *core, uint32_t at) {
    if (stack_is_low(&m->program->cx->stack)) {
        m->is_deep = true;
        return;
    }
    bool is_unit = core->op == OP_ARRAY && core->arg_count == 1 &&
                   core_type(m->program, core->args[0]).rank == 0;
    if (is_simple(m->program, core) || is_unit) make_simple(m, body, core);
    else if (core->op == OP_IF) make_if(m, body, core, at);
    else if (core->op == OP_FOR || core->op == OP_WHILE) make_loop(m, body, core, at);
    else if (core->op != OP_CALL || !make_inside(m, body, core, at))
        make_op(m, body, core, at);
}

static void make_stms(Maker *m, FlowBody *body, const CoreBody *core) {
    note_last_uses(m, core);
    for (uint32_t i = 0; i < core->stms.len && !m->is_deep; i++)
        make_stm(m, body, core->stms.data[i], i);
}

// ---- usage --------------------------------------------------------------------------

static void add_use(const FlowFun *f, FlowUses *uses, FlowVar var, bool reads,
                    bool writes) {
    if (var == 0 || flow_is_const(f, var)) return;
    for (uint32_t i = 0; i < uses->len; i++) {
        if (uses->data[i].var != var) continue;
        uses->data[i].reads |= reads;
        uses->data[i].writes |= writes;
        return;
    }
    vec_push(f->arena, uses, (FlowUse){var, reads, writes});
}

static void drop_use(FlowUses *uses, FlowVar var) {
    for (uint32_t i = 0; i < uses->len; i++)
        if (uses->data[i].var == var) uses->data[i--] = uses->data[--uses->len];
}

void flow_body_uses(const FlowFun *f, const FlowBody *body, FlowUses *uses_out) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const FlowUses *uses = &body->stms.data[i]->uses;
        for (uint32_t k = 0; k < uses->len; k++)
            add_use(f, uses_out, uses->data[k].var, uses->data[k].reads,
                    uses->data[k].writes);
    }
    for (uint32_t i = 0; i < body->results.len; i++)
        add_use(f, uses_out, body->results.data[i], true, false);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const FlowStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->outs.len && stm->kind != FLOW_OP; k++)
            drop_use(uses_out, stm->outs.data[k]);
    }
}

static void find_uses(const FlowFun *f, FlowBody *body);

static void find_stm_uses(const FlowFun *f, FlowStm *stm) {
    vec_reserve(f->arena, &stm->uses, stm->ins.len + stm->outs.len);
    for (uint32_t i = 0; i < 2; i++) {
        if (stm->bodies[i] == NULL) continue;
        find_uses(f, stm->bodies[i]);
        flow_body_uses(f, stm->bodies[i], &stm->uses);
    }
    for (uint32_t i = 0; i < stm->states.len; i++)
        drop_use(&stm->uses, stm->states.data[i]);
    for (uint32_t i = 0; i < stm->ins.len; i++)
        add_use(f, &stm->uses, stm->ins.data[i], true, false);
    for (uint32_t i = 0; i < stm->outs.len && stm->kind == FLOW_OP; i++)
        add_use(f, &stm->uses, stm->outs.data[i], false, true);
}

static void find_uses(const FlowFun *f, FlowBody *body) {
    map_init_for(&body->last_use, f->arena, body->stms.len);
    map_init(&body->last_write, f->arena);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        FlowStm *stm = body->stms.data[i];
        find_stm_uses(f, stm);
        for (uint32_t k = 0; k < stm->uses.len; k++) {
            map_set(&body->last_use, stm->uses.data[k].var, i + 1);
            if (stm->uses.data[k].writes)
                map_set(&body->last_write, stm->uses.data[k].var, i + 1);
        }
    }
    for (uint32_t i = 0; i < body->results.len; i++)
        map_set(&body->last_use, body->results.data[i], body->stms.len + 1);
}

bool flow_used_after(const FlowBody *body, FlowVar var, uint32_t stm) {
    uint64_t last;
    return map_get(&body->last_use, var, &last) && last > stm + 1;
}

bool flow_written_after(const FlowBody *body, FlowVar var, uint32_t stm) {
    uint64_t last;
    return map_get(&body->last_write, var, &last) && last > stm + 1;
}

FlowFun *flow_make(CoreProgram *program, const CoreFun *fun, Arena *arena) {
    FlowFun *f = arena_new(arena, FlowFun);
    Maker m = {.f = f, .program = program, .arena = arena};
    f->program = program;
    f->fun = fun;
    f->arena = arena;
    map_init(&m.last, core_notes(program));
    new_var(&m, (FlowVarInfo){0});
    for (uint32_t i = 0; i < fun->body->param_count; i++)
        vec_push(arena, &f->params, bind(&m, fun->body->params[i]));
    m.body = ++m.bodies;
    f->body = make_body(&m, fun->body);
    if (m.is_deep) return NULL;
    f->vars.cap = f->vars.len;
    f->vars.data = arena_copy(arena, f->vars.data, f->vars.len * sizeof *f->vars.data);
    find_uses(f, f->body);
    return f;
}
