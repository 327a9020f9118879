// SPDX-License-Identifier: Apache-2.0
//
// From statements on buffers to tasks (Matser, section 4; docs/tasks.md has the table
// of rules). Every binding becomes a task that writes its result to a reference and
// then resolves a signal; what follows goes on beside it with an environment that says,
// for each variable, what to wait for and what to resolve. Three optimisations make
// fewer tasks of more work (section 5), and a graph of dependences fewer still
// (graph.c).
#include "task/make.h"

#include <assert.h>

const char *const task_kind_names[TASK_KIND_COUNT] = {
#define TERM(name, text, meaning) text,
#include "task/terms.def"
#undef TERM
};

const char *const task_form_names[TASK_FORM_COUNT] = {"rules", "trivial", "join",
                                                      "returns", "graph"};

bool task_form_find(Str name, TaskForm *form_out) {
    for (int i = 0; i < TASK_FORM_COUNT; i++) {
        if (!str_eq(name, str_of(task_form_names[i]))) continue;
        *form_out = (TaskForm)i;
        return true;
    }
    return false;
}

// ---- terms --------------------------------------------------------------------------

TaskName task_name(TaskMaker *m, TaskNameInfo info) {
    vec_push(m->scratch, &m->p->names, info);
    return m->p->names.len - 1;
}

TaskBlock *task_block(TaskMaker *m) {
    return arena_new(m->arena, TaskBlock);
}

TaskTerm *task_emit(TaskMaker *m, TaskBlock *block, TaskKind kind) {
    if (block->cap == 0) vec_reserve(m->arena, block, 2); // most have no more
    vec_push(m->arena, block, (TaskTerm){.kind = kind});
    return &block->data[block->len - 1];
}

static TaskTerm *emit_binding(TaskMaker *m, TaskBlock *block, TaskKind kind,
                              TaskName out) {
    TaskTerm *term = task_emit(m, block, kind);
    vec_reserve(m->arena, &term->outs, 1);
    vec_push(m->arena, &term->outs, out);
    return term;
}

TaskName task_emit_signal(TaskMaker *m, TaskBlock *block) {
    TaskName signal = task_name(m, (TaskNameInfo){.sort = TASK_IS_SIGNAL});
    emit_binding(m, block, TASK_SIGNAL, signal);
    return signal;
}

static void add_once(TaskMaker *m, TaskNames *names, TaskName name) {
    for (uint32_t i = 0; i < names->len; i++)
        if (names->data[i] == name) return;
    if (name != 0) vec_push(m->arena, names, name);
}

void task_emit_on(TaskMaker *m, TaskBlock *block, TaskKind kind,
                  const TaskNames *signals) {
    TaskNames once = {0};
    vec_reserve(m->arena, &once, signals->len);
    for (uint32_t i = 0; i < signals->len; i++) add_once(m, &once, signals->data[i]);
    if (once.len > 0) task_emit(m, block, kind)->args = once;
}

TaskBlock *task_emit_fork(TaskMaker *m, TaskBlock *block) {
    TaskBlock *part = task_block(m);
    task_emit(m, block, TASK_FORK)->parts[0] = part;
    return part;
}

static void emit_one(TaskMaker *m, TaskBlock *block, TaskKind kind, TaskName signal) {
    task_emit_on(m, block, kind, &(TaskNames){&signal, 1, 1});
}

static TaskNameInfo info_of(const TaskMaker *m, FlowVar var, TaskSort sort) {
    const FlowVarInfo *info = &m->flow->vars.data[var];
    return (TaskNameInfo){.sort = sort,
                          .type = info->type,
                          .name = info->name,
                          .is_const = info->is_const,
                          .is_buffer = info->is_buffer,
                          .bits = info->bits};
}

// A reference to be handed a value of the variable, and its signal, not made by a term.
static TaskPort new_port(TaskMaker *m, FlowVar var) {
    TaskNameInfo info = info_of(m, var, TASK_IS_REF);
    info.is_const = false;
    return (TaskPort){task_name(m, (TaskNameInfo){.sort = TASK_IS_SIGNAL}),
                      task_name(m, info)};
}

static TaskPort emit_port(TaskMaker *m, TaskBlock *block, FlowVar var) {
    TaskPort port = new_port(m, var);
    emit_binding(m, block, TASK_SIGNAL, port.signal);
    emit_binding(m, block, TASK_REF, port.ref);
    return port;
}

static void emit_write(TaskMaker *m, TaskBlock *block, TaskName ref, TaskName value) {
    TaskTerm *term = task_emit(m, block, TASK_WRITE);
    vec_reserve(m->arena, &term->args, 2);
    vec_push(m->arena, &term->args, ref);
    vec_push(m->arena, &term->args, value);
}

static TaskName emit_read(TaskMaker *m, TaskBlock *block, TaskName ref) {
    TaskNameInfo info = m->p->names.data[ref];
    info.sort = TASK_IS_VALUE;
    TaskName value = task_name(m, info);
    TaskTerm *term = emit_binding(m, block, TASK_READ, value);
    vec_reserve(m->arena, &term->args, 1);
    vec_push(m->arena, &term->args, ref);
    return value;
}

// The variable's value, which is ready.
static TaskName emit_value(TaskMaker *m, TaskBlock *block, FlowVar var) {
    if (flow_is_const(m->flow, var))
        return task_name(m, info_of(m, var, TASK_IS_VALUE));
    const TaskEntry *entry = &m->env[var];
    return entry->is_direct ? entry->place : emit_read(m, block, entry->place);
}

// ---- bindings (4.3, 4.5) and operations (4.7) --------------------------------------

static const TaskKind kind_of[] = {
    [FLOW_EXP] = TASK_EXP,     [FLOW_USE] = TASK_USE,   [FLOW_UNIT] = TASK_UNIT,
    [FLOW_ALLOC] = TASK_ALLOC, [FLOW_OP] = TASK_KERNEL, [FLOW_IF] = TASK_IF,
    [FLOW_LOOP] = TASK_WHILE};

// Emits the term; its args are values, its outs those of an operation.
static TaskTerm *emit_step(TaskMaker *m, TaskBlock *block, const FlowStm *stm) {
    TaskNames args = {0}, outs = {0};
    vec_reserve(m->arena, &args, stm->ins.len);
    vec_reserve(m->arena, &outs, stm->outs.len);
    for (uint32_t i = 0; i < stm->ins.len; i++)
        vec_push(m->arena, &args, emit_value(m, block, stm->ins.data[i]));
    for (uint32_t k = 0; k < stm->outs.len; k++) {
        TaskName out = 0;
        for (uint32_t i = 0; i < stm->ins.len && stm->kind == FLOW_OP; i++)
            if (stm->ins.data[i] == stm->outs.data[k]) out = args.data[i];
        if (out == 0 && stm->kind == FLOW_OP)
            out = emit_value(m, block, stm->outs.data[k]);
        if (out == 0) out = task_name(m, info_of(m, stm->outs.data[k], TASK_IS_VALUE));
        vec_push(m->arena, &outs, out);
    }
    TaskTerm *term = task_emit(m, block, kind_of[stm->kind]);
    term->step = stm;
    term->args = args;
    term->outs = outs;
    return term;
}

// Returns what it made. No `dest`: only this task needs that.
static TaskNames make_step(TaskMaker *m, TaskBlock *block, const FlowStm *stm,
                           const TaskPort *dest) {
    TaskNames waits = {0}, ends = {0};
    uint32_t locks = 2 * stm->uses.len;
    vec_reserve(m->scratch, &waits, locks);
    vec_reserve(m->scratch, &ends, locks + stm->outs.len);
    for (uint32_t i = 0; i < stm->uses.len; i++) {
        const TaskEntry *entry = &m->env[stm->uses.data[i].var];
        vec_push(m->scratch, &waits, entry->read.wait);
        if (entry->has_write) vec_push(m->scratch, &waits, entry->write.wait);
        vec_push(m->scratch, &ends, entry->read.done);
        if (entry->has_write) vec_push(m->scratch, &ends, entry->write.done);
    }
    task_emit_on(m, block, TASK_WAIT, &waits);
    TaskNames outs = emit_step(m, block, stm)->outs;
    for (uint32_t k = 0; k < outs.len && dest != NULL; k++) {
        emit_write(m, block, dest[k].ref, outs.data[k]);
        vec_push(m->scratch, &ends, dest[k].signal);
    }
    task_emit_on(m, block, TASK_RESOLVE, &ends);
    return outs;
}

// ---- returns (4.8, 5.3) -------------------------------------------------------------

static void make_return(TaskMaker *m, TaskBlock *block, const FlowVar *results,
                        const TaskPort *dest, uint32_t count) {
    TaskNames waits = {0}, ends = {0};
    vec_reserve(m->scratch, &waits, count);
    vec_reserve(m->scratch, &ends, count);
    for (uint32_t k = 0; k < count; k++) {
        if (!flow_is_const(m->flow, results[k])) {
            assert(m->env[results[k]].read.done == 0);
            vec_push(m->scratch, &waits, m->env[results[k]].read.wait);
        }
        vec_push(m->scratch, &ends, dest[k].signal);
    }
    task_emit_on(m, block, TASK_WAIT, &waits);
    for (uint32_t k = 0; k < count; k++)
        emit_write(m, block, dest[k].ref, emit_value(m, block, results[k]));
    task_emit_on(m, block, TASK_RESOLVE, &ends);
}

static void make_returns(TaskMaker *m, TaskBlock *block, const FlowVars *results,
                         const TaskPort *dest) {
    if (m->form < TASK_RETURNS) {
        make_return(m, block, results->data, dest, results->len);
        return;
    }
    for (uint32_t k = 0; k < results->len; k++)
        make_return(m, k + 1 < results->len ? task_emit_fork(m, block) : block,
                    &results->data[k], &dest[k], 1);
}

// ---- the environment ----------------------------------------------------------------

static TaskEntry *save(TaskMaker *m, const FlowUses *uses) {
    TaskEntry *saved = arena_array(m->scratch, TaskEntry, uses->len);
    for (uint32_t i = 0; i < uses->len; i++) saved[i] = m->env[uses->data[i].var];
    return saved;
}

static void restore(TaskMaker *m, const FlowUses *uses, const TaskEntry *saved) {
    for (uint32_t i = 0; i < uses->len; i++) m->env[uses->data[i].var] = saved[i];
}

static const FlowUse *find_use(const FlowUses *uses, FlowVar var) {
    for (uint32_t i = 0; i < uses->len; i++)
        if (uses->data[i].var == var) return &uses->data[i];
    return NULL;
}

// Goes into a block that needs `used` of the variables in `given` (4.6).
static void enter(TaskMaker *m, TaskBlock *block, const FlowUses *given,
                  const FlowUses *used) {
    for (uint32_t i = 0; i < given->len; i++) {
        const FlowUse *use = find_use(used, given->data[i].var);
        TaskEntry *entry = &m->env[given->data[i].var];
        if (use == NULL) task_give_up(m, block, entry);
        else if (!use->writes) task_give_up_write(m, block, entry);
    }
}

static void make_body(TaskMaker *m, TaskBlock *block, const FlowBody *body,
                      const TaskPort *dest);

// ---- conditions (4.5) ---------------------------------------------------------------

static void make_if(TaskMaker *m, TaskBlock *block, const FlowStm *stm,
                    const TaskPort *dest) {
    FlowVar condition = stm->ins.data[0];
    TaskName value = 0;
    if (!flow_is_const(m->flow, condition)) {
        assert(m->env[condition].read.done == 0);
        emit_one(m, block, TASK_WAIT, m->env[condition].read.wait);
    }
    value = emit_value(m, block, condition);
    TaskBlock *parts[2];
    const TaskEntry *given = save(m, &stm->uses);
    for (int i = 0; i < 2; i++) {
        FlowUses used = {0};
        parts[i] = task_block(m);
        flow_body_uses(m->flow, stm->bodies[i], &used);
        restore(m, &stm->uses, given);
        enter(m, parts[i], &stm->uses, &used);
        make_body(m, parts[i], stm->bodies[i], dest);
    }
    TaskTerm *term = task_emit(m, block, TASK_IF);
    vec_push(m->arena, &term->args, value);
    term->parts[0] = parts[0];
    term->parts[1] = parts[1];
}

// ---- loops (4.10) -------------------------------------------------------------------
//
// A variable from outside that somebody after the loop waits for, or that the turns
// write, is handed from turn to turn by signals: of one that is only read, that the
// turns so far are done with it; of one that is written, that it may be read, and that
// it may be written.

typedef struct Carried {
    FlowVar var;
    TaskEntry outer;
    TaskName in[2], out[2];     // in[1]: of one that is written
    TaskName was_read, written; // in this turn
} Carried;

typedef struct Loop {
    const FlowStm *stm;
    const TaskPort *dest;
    TaskTurn *turn;
    struct {
        Carried *data;
        uint32_t len, cap;
    } carried;
} Loop;

static TaskName resolved_signal(TaskMaker *m, TaskBlock *block) {
    TaskName signal = task_emit_signal(m, block);
    emit_one(m, block, TASK_RESOLVE, signal);
    return signal;
}

static TaskName carry(TaskMaker *m, TaskNames *names) {
    vec_push(m->arena, names, task_name(m, (TaskNameInfo){.sort = TASK_IS_SIGNAL}));
    return names->data[names->len - 1];
}

// What a turn is given of variables outside. Before the loop: the first signals.
static void carry_uses(TaskMaker *m, TaskBlock *block, Loop *loop, const FlowUses *uses,
                       TaskNames *args) {
    for (uint32_t i = 0; i < uses->len; i++) {
        TaskEntry *entry = &m->env[uses->data[i].var];
        bool writes = uses->data[i].writes;
        if (!writes) task_give_up_write(m, block, entry);
        if (!writes && entry->read.done == 0) continue;
        Carried c = {.var = uses->data[i].var, .outer = *entry};
        TaskName first[] = {writes ? entry->read.wait : 0, entry->write.wait};
        for (int k = 0; k <= writes; k++) {
            vec_push(m->arena, args,
                     first[k] != 0 ? first[k] : resolved_signal(m, block));
            c.in[k] = carry(m, &loop->turn->carried);
            c.out[k] = carry(m, &loop->turn->next_carried);
        }
        vec_push(m->arena, &loop->carried, c);
    }
}

static void enter_turn(TaskMaker *m, Loop *loop) {
    for (uint32_t i = 0; i < loop->carried.len; i++) {
        Carried *c = &loop->carried.data[i];
        TaskEntry *entry = &m->env[c->var];
        c->was_read = entry->read.done = task_emit_signal(m, loop->turn->block);
        if (!entry->has_write) continue;
        c->written = entry->write.done = task_emit_signal(m, loop->turn->block);
        entry->read.wait = c->in[0];
        entry->write.wait = c->in[1];
    }
}

// Hands what this turn had to the next one, or back to the world outside.
static void leave_turn(TaskMaker *m, TaskBlock *block, const Loop *loop, bool is_last) {
    for (uint32_t i = 0; i < loop->carried.len; i++) {
        const Carried *c = &loop->carried.data[i];
        TaskName was_read = is_last ? c->outer.read.done : c->out[c->written != 0];
        TaskName written = is_last ? c->outer.write.done : c->out[0];
        TaskName before = c->written != 0 ? 0 : c->in[0];
        task_wait_resolve(m, block, c->was_read, before, was_read);
        if (c->written != 0) task_wait_resolve(m, block, c->written, 0, written);
    }
}

// The guard, beside which the turn's block needs `rest`.
static TaskName make_guard(TaskMaker *m, const Loop *loop, const FlowUses *rest) {
    TaskBlock *block = loop->turn->block;
    const FlowBody *guard = loop->stm->bodies[0];
    FlowUses used = {0};
    flow_body_uses(m->flow, guard, &used);
    TaskEntry *after = save(m, &used);
    for (uint32_t i = 0; i < used.len; i++) {
        const FlowUse *use = find_use(rest, used.data[i].var);
        if (use == NULL) continue;
        TaskEntry entry = after[i];
        task_split(m, block, entry, false, use->writes, &m->env[use->var], &after[i]);
    }
    enter(m, block, &used, &used);
    TaskPort port = emit_port(m, block, guard->results.data[0]);
    make_body(m, block, guard, &port);
    restore(m, &used, after);
    emit_one(m, block, TASK_WAIT, port.signal);
    TaskName value = emit_read(m, block, port.ref);
    emit_write(m, block, loop->turn->guard.ref, value);
    emit_one(m, block, TASK_RESOLVE, loop->turn->guard.signal);
    return value;
}

static void make_turn(TaskMaker *m, Loop *loop) {
    TaskTurn *turn = loop->turn;
    const FlowBody *body = loop->stm->bodies[1];
    FlowUses used = {0}, none = {0};
    flow_body_uses(m->flow, body, &used);
    enter_turn(m, loop);
    TaskName guard = make_guard(m, loop, &used);
    TaskBlock *then = task_block(m), *otherwise = task_block(m);
    const TaskEntry *given = save(m, &used);
    leave_turn(m, then, loop, false);
    enter(m, then, &used, &used);
    make_body(m, then, body, turn->next.data);
    restore(m, &used, given);
    // A state that only the turn needs has nothing to give up.
    leave_turn(m, otherwise, loop, true);
    enter(m, otherwise, &used, &none);
    make_returns(m, otherwise, &loop->stm->states, loop->dest);
    TaskTerm *term = task_emit(m, turn->block, TASK_IF);
    vec_push(m->arena, &term->args, guard);
    term->parts[0] = then;
    term->parts[1] = otherwise;
}

// Where an initial value is. One that is direct is put into a reference; if it is a
// buffer, it may have to be waited for all the same.
static TaskPort initial_port(TaskMaker *m, TaskBlock *block, FlowVar var) {
    TaskEntry entry =
        flow_is_const(m->flow, var) ? (TaskEntry){.is_direct = true} : m->env[var];
    TaskPort port = {entry.read.wait, entry.place};
    if (entry.is_direct) {
        port.ref = new_port(m, var).ref;
        emit_binding(m, block, TASK_REF, port.ref);
        emit_write(m, block, port.ref, emit_value(m, block, var));
    }
    if (port.signal == 0) port.signal = resolved_signal(m, block);
    return port;
}

static void make_loop(TaskMaker *m, TaskBlock *block, const FlowStm *stm,
                      const TaskPort *dest) {
    Loop loop = {.stm = stm, .dest = dest, .turn = arena_new(m->arena, TaskTurn)};
    TaskTurn *turn = loop.turn;
    TaskNames args = {0};
    turn->block = task_block(m);
    turn->guard = new_port(m, stm->bodies[0]->results.data[0]);
    for (uint32_t k = 0; k < stm->states.len; k++) {
        TaskPort from = initial_port(m, block, stm->ins.data[k]);
        TaskPort state = new_port(m, stm->states.data[k]);
        vec_push(m->arena, &args, from.signal);
        vec_push(m->arena, &args, from.ref);
        vec_push(m->arena, &turn->states, state);
        vec_push(m->arena, &turn->next, new_port(m, stm->states.data[k]));
        m->env[stm->states.data[k]] =
            (TaskEntry){.place = state.ref, .read.wait = state.signal};
    }
    FlowUses uses = {0};
    for (int i = 0; i < 2; i++) flow_body_uses(m->flow, stm->bodies[i], &uses);
    for (uint32_t k = 0; k < stm->states.len; k++)
        for (uint32_t i = 0; i < uses.len; i++)
            if (uses.data[i].var == stm->states.data[k])
                uses.data[i--] = uses.data[--uses.len];
    carry_uses(m, block, &loop, &uses, &args);
    make_turn(m, &loop);
    TaskTerm *term = task_emit(m, block, TASK_WHILE);
    term->args = args;
    term->step = stm;
    term->turn = turn;
}

// ---- let (4.2) ----------------------------------------------------------------------

bool task_is_trivial(const FlowStm *stm) {
    bool is_plain = stm->kind == FLOW_EXP || stm->kind == FLOW_USE ||
                    stm->kind == FLOW_UNIT || stm->kind == FLOW_ALLOC;
    return is_plain && stm->uses.len == 0;
}

static void bind_direct(TaskMaker *m, const FlowStm *stm, const TaskNames *outs) {
    for (uint32_t k = 0; k < outs->len; k++)
        m->env[stm->outs.data[k]] = (TaskEntry){.place = outs->data[k],
                                                .is_direct = true,
                                                .has_write = stm->kind == FLOW_ALLOC};
}

// In the block itself, without a task (5.1).
static void make_trivial(TaskMaker *m, TaskBlock *block, const FlowStm *stm) {
    TaskNames outs = emit_step(m, block, stm)->outs;
    bind_direct(m, stm, &outs);
}

static TaskPort *emit_ports(TaskMaker *m, TaskBlock *block, const FlowVars *vars) {
    TaskPort *ports = arena_array(m->scratch, TaskPort, vars->len);
    for (uint32_t k = 0; k < vars->len; k++)
        ports[k] = emit_port(m, block, vars->data[k]);
    return ports;
}

// What each task may do with the variables that the statement uses, and what the rest
// of the body may, which is returned.
static TaskEntry *split_uses(TaskMaker *m, TaskBlock *block, TaskBlock *task,
                             const FlowBody *body, uint32_t at) {
    const FlowStm *stm = body->stms.data[at];
    TaskEntry *after = save(m, &stm->uses);
    for (uint32_t i = 0; i < stm->uses.len; i++) {
        FlowUse use = stm->uses.data[i];
        if (flow_used_after(body, use.var, at))
            task_split(m, block, after[i], use.writes,
                       flow_written_after(body, use.var, at), &m->env[use.var],
                       &after[i]);
        if (!use.writes) task_give_up_write(m, task, &m->env[use.var]);
    }
    return after;
}

// The statement's own task goes to `task`, and what must be there before to `block`.
static void make_let(TaskMaker *m, TaskBlock *block, TaskBlock *task,
                     const FlowBody *body, uint32_t at) {
    const FlowStm *stm = body->stms.data[at];
    bool binds = stm->kind != FLOW_OP;
    TaskPort *dest = binds ? emit_ports(m, block, &stm->outs) : NULL;
    TaskEntry *after = split_uses(m, block, task, body, at);
    if (stm->kind == FLOW_IF) make_if(m, task, stm, dest);
    else if (stm->kind == FLOW_LOOP) make_loop(m, task, stm, dest);
    else make_step(m, task, stm, dest);
    restore(m, &stm->uses, after);
    for (uint32_t k = 0; k < stm->outs.len && binds; k++)
        m->env[stm->outs.data[k]] =
            (TaskEntry){.place = dest[k].ref,
                        .has_write = stm->kind == FLOW_ALLOC,
                        .read.wait = dest[k].signal,
                        .write.wait = stm->kind == FLOW_ALLOC ? dest[k].signal : 0};
}

// A value that only its own task needs.
static void make_inner(TaskMaker *m, TaskBlock *block, TaskBlock *task,
                       const FlowBody *body, uint32_t at) {
    const FlowStm *stm = body->stms.data[at];
    TaskEntry *after = split_uses(m, block, task, body, at);
    TaskNames outs = make_step(m, task, stm, NULL);
    restore(m, &stm->uses, after);
    bind_direct(m, stm, &outs);
}

// Whether the statement begins by waiting for all that the one before makes (5.2).
static bool joins(const FlowStm *before, const FlowStm *stm) {
    bool is_plain = before->kind < FLOW_IF && stm->kind < FLOW_IF;
    if (!is_plain && stm->kind != FLOW_IF) return false;
    for (uint32_t k = 0; k < before->outs.len; k++)
        if (stm->kind == FLOW_IF ? stm->ins.data[0] != before->outs.data[k]
                                 : find_use(&stm->uses, before->outs.data[k]) == NULL)
            return false;
    return before->kind < FLOW_IF && before->outs.len > 0;
}

// ---- bodies -------------------------------------------------------------------------

// The terms of a node of a body, among those of all nodes.
typedef struct Chunk {
    uint32_t first, len;
} Chunk;

// The chunks of a cluster, one after the other, behind what the block has.
static void emit_chunks(TaskMaker *m, TaskBlock *block, const TaskBlock *terms,
                        const Chunk *chunks, const TaskClusters *clusters,
                        uint32_t first) {
    TaskBlock old = *block;
    uint32_t room = old.len;
    for (uint32_t i = first; i != UINT32_MAX; i = clusters->next[i])
        room += chunks[i].len;
    *block = (TaskBlock){0};
    vec_reserve(m->arena, block, room);
    for (uint32_t k = 0; k < old.len; k++) vec_push(m->arena, block, old.data[k]);
    for (uint32_t i = first; i != UINT32_MAX; i = clusters->next[i])
        for (uint32_t k = 0; k < chunks[i].len; k++)
            vec_push(m->arena, block, terms->data[chunks[i].first + k]);
}

static void make_graph(TaskMaker *m, TaskBlock *block, const FlowBody *body,
                       const TaskPort *dest) {
    TaskBlock *terms = &m->terms;
    uint32_t outer = terms->len, stms = body->stms.len;
    uint32_t nodes = stms + body->results.len;
    Chunk *chunks = arena_array(m->scratch, Chunk, nodes);
    TaskClusters clusters = task_clusters(m->flow, body, m->number, m->scratch);
    for (uint32_t i = 0; i < nodes; i++) {
        chunks[i].first = terms->len;
        if (i >= stms)
            make_return(m, terms, &body->results.data[i - stms], &dest[i - stms], 1);
        else if (task_is_trivial(body->stms.data[i]))
            make_trivial(m, block, body->stms.data[i]);
        else if (clusters.is_inner[i]) make_inner(m, block, terms, body, i);
        else make_let(m, block, terms, body, i);
        chunks[i].len = terms->len - chunks[i].first;
    }
    for (uint32_t c = 0; c < clusters.count; c++) {
        TaskBlock *task = c + 1 < clusters.count ? task_emit_fork(m, block) : block;
        emit_chunks(m, task, terms, chunks, &clusters, clusters.first[c]);
    }
    terms->len = outer;
}

static void make_body(TaskMaker *m, TaskBlock *block, const FlowBody *body,
                      const TaskPort *dest) {
    if (m->form == TASK_GRAPH) {
        make_graph(m, block, body, dest);
        return;
    }
    for (uint32_t i = 0; i < body->stms.len; i++) {
        if (m->form >= TASK_TRIVIAL && task_is_trivial(body->stms.data[i])) {
            make_trivial(m, block, body->stms.data[i]);
            continue;
        }
        TaskBlock *task = task_block(m);
        make_let(m, block, task, body, i);
        while (m->form >= TASK_JOIN && i + 1 < body->stms.len &&
               joins(body->stms.data[i], body->stms.data[i + 1]))
            make_let(m, block, task, body, ++i);
        task_emit(m, block, TASK_FORK)->parts[0] = task;
    }
    make_returns(m, block, &body->results, dest);
}

// ---- functions (4.4) ----------------------------------------------------------------

TaskProgram *task_make(const FlowFun *flow, TaskForm form, Arena *arena) {
    TaskProgram *p = arena_new(arena, TaskProgram);
    TaskMaker m = {.p = p,
                   .flow = flow,
                   .form = form,
                   .arena = arena,
                   .scratch = core_notes(flow->program)};
    p->arena = arena;
    p->flow = flow;
    p->block = task_block(&m);
    m.env = arena_array(m.scratch, TaskEntry, flow->vars.len);
    m.number = arena_array(m.scratch, uint32_t, flow->vars.len);
    vec_reserve(m.scratch, &m.terms, 2 * flow->stm_count);
    task_name(&m, (TaskNameInfo){0});
    for (uint32_t i = 0; i < flow->params.len; i++) {
        TaskPort port = new_port(&m, flow->params.data[i]);
        vec_push(arena, &p->params, port);
        m.env[flow->params.data[i]] =
            (TaskEntry){.place = port.ref, .read.wait = port.signal};
    }
    for (uint32_t k = 0; k < flow->body->results.len; k++)
        vec_push(arena, &p->results, new_port(&m, flow->body->results.data[k]));
    make_body(&m, p->block, flow->body, p->results.data);
    p->names.cap = p->names.len;
    p->names.data =
        arena_copy(arena, p->names.data, p->names.len * sizeof *p->names.data);
    if (form == TASK_GRAPH) task_tidy(p, m.scratch);
    return p;
}
