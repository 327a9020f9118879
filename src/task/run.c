// SPDX-License-Identifier: Apache-2.0
//
// Running tasks in adversarial orders: tasks, their signals, loops, and which task goes
// on next.
#include "task/run_state.h"

_Noreturn void run_leave(Run *r, TaskOutcome outcome) {
    r->outcome = outcome;
    longjmp(r->exit, 1);
}

_Noreturn void run_broken(Run *r, const char *what) {
    r->report->fault = str_of(what);
    run_leave(r, TASK_BROKEN);
}

// ---- tasks --------------------------------------------------------------------------

static void make_ready(Run *r, RunTask *task) {
    vec_push(r->arena, &r->ready, task);
}

static uint64_t chance(Run *r) {
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return r->random >> 33;
}

static RunTask *start_task(Run *r, const RunTask *parent, const RunFrame *frame,
                           const TaskBlock *block, bool is_dead, double control) {
    RunTask *task = arena_new(r->arena, RunTask);
    task->frame = frame;
    task->rank = chance(r);
    task->now = parent == NULL ? 0 : parent->now;
    task->spot = arena_new(r->arena, RunSpot);
    *task->spot = (RunSpot){.block = block, .is_dead = is_dead, .control = control};
    r->live++;
    r->report->tasks++;
    make_ready(r, task);
    return task;
}

static void resolve(Run *r, const RunTask *task, RunSignal *signal) {
    if (signal->is_resolved) run_broken(r, "a signal is resolved twice");
    signal->is_resolved = true;
    signal->at = task->now;
    double control = task->spot != NULL ? task->spot->control : 0;
    signal->control = run_later(control, task->decided);
    RunTask *waiting = signal->waiting;
    signal->waiting = NULL;
    while (waiting != NULL) {
        RunTask *next = waiting->next;
        waiting->now = run_later(waiting->now, signal->at);
        make_ready(r, waiting);
        waiting = next;
    }
}

// Whether the task may go on; else it has been put to sleep, to ask again.
static bool is_resolved(Run *r, RunTask *task, TaskName name, const RunFrame *frame) {
    RunSignal *signal = run_signal(r, frame, name);
    if (!signal->is_resolved) {
        task->next = signal->waiting;
        signal->waiting = task;
        return false;
    }
    task->now = run_later(task->now, signal->at);
    task->decided = run_later(task->decided, signal->control);
    return true;
}

static void run_write(Run *r, const RunTask *task, const TaskTerm *term) {
    RunRef *ref = run_ref(r, task->frame, term->args.data[0]);
    if (ref->is_written) run_broken(r, "a reference is written twice");
    ref->is_written = true;
    ref->datum = run_datum(r, task->frame, term->args.data[1]);
    ref->datum.has_failed |= task->spot->is_dead;
    ref->datum.ready = run_later(ref->datum.ready, task->spot->control);
}

static void run_read(Run *r, const RunTask *task, const TaskTerm *term) {
    const RunRef *ref = run_ref(r, task->frame, term->args.data[0]);
    if (!ref->is_written) run_broken(r, "a reference is read before it is written");
    run_set_datum(r, task->frame, term->outs.data[0], ref->datum);
}

// A scalar that may be in a buffer.
static bool truth(Run *r, const RunFrame *frame, TaskName name, bool *has_failed,
                  double *ready) {
    RunDatum datum = run_datum(r, frame, name);
    const RunBuffer *buffer = datum.buffer;
    *ready = run_later(*ready, datum.ready);
    *has_failed = datum.has_failed || (buffer != NULL && buffer->has_failed);
    if (buffer == NULL) return !*has_failed && datum.value.bits != 0;
    if (!buffer->has_value && !buffer->has_failed)
        run_broken(r, "a buffer is read that nothing was written to");
    *ready = run_later(*ready, buffer->written);
    return !*has_failed && buffer->value.bits != 0;
}

static void run_if(Run *r, RunTask *task, const TaskTerm *term) {
    bool has_failed;
    RunSpot spot = {.outer = task->spot, .control = task->spot->control};
    bool holds = truth(r, task->frame, term->args.data[0], &has_failed, &spot.control);
    spot.block = term->parts[holds ? 0 : 1];
    spot.is_dead = task->spot->is_dead || has_failed;
    task->spot = arena_copy(r->arena, &spot, sizeof spot);
}

// ---- loops --------------------------------------------------------------------------

static RunFrame *start_turn(Run *r, RunTask *task, const TaskTerm *term,
                            const RunFrame *before, double control) {
    const TaskTurn *turn = term->turn;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->turns.len; i++)
        if (r->turns.data[i].turn == turn) count = r->turns.data[i].count;
    RunFrame *frame = arena_new(r->arena, RunFrame);
    *frame = (RunFrame){.outer = task->frame,
                        .depth = task->frame->depth + 1,
                        .loop = term->step->order,
                        .turn = before == NULL ? 0 : before->turn + 1,
                        .cells = arena_array(r->arena, RunCell, count)};
    uint32_t states = turn->states.len;
    for (uint32_t k = 0; k < states; k++) {
        const RunFrame *from = before == NULL ? task->frame : before;
        TaskPort port = before == NULL ? (TaskPort){term->args.data[2 * k],
                                                    term->args.data[2 * k + 1]}
                                       : turn->next.data[k];
        run_cell(r, frame, turn->states.data[k].signal)->signal =
            run_signal(r, from, port.signal);
        run_cell(r, frame, turn->states.data[k].ref)->ref = run_ref(r, from, port.ref);
        run_make_port(r, frame, turn->next.data[k]);
    }
    for (uint32_t k = 0; k < turn->carried.len; k++) {
        RunSignal *signal =
            before == NULL ? run_signal(r, task->frame, term->args.data[2 * states + k])
                           : run_signal(r, before, turn->next_carried.data[k]);
        run_cell(r, frame, turn->carried.data[k])->signal = signal;
        run_cell(r, frame, turn->next_carried.data[k])->signal =
            arena_new(r->arena, RunSignal);
    }
    run_make_port(r, frame, turn->guard);
    start_task(r, task, frame, turn->block, task->spot->is_dead, control);
    return frame;
}

// Goes on with the loop; false: the task sleeps until the guard is known.
static bool run_while(Run *r, RunTask *task, const TaskTerm *term) {
    RunDriver *driver = &task->driver;
    if (driver->term == NULL) {
        driver->term = term;
        driver->frame = start_turn(r, task, term, NULL, task->spot->control);
    }
    TaskPort guard = term->turn->guard;
    if (!is_resolved(r, task, guard.signal, driver->frame)) return false;
    const RunRef *ref = run_ref(r, driver->frame, guard.ref);
    if (!ref->is_written) run_broken(r, "a reference is read before it is written");
    const RunBuffer *buffer = ref->datum.buffer;
    const RtValue *value = buffer != NULL ? &buffer->value : &ref->datum.value;
    bool has_failed = ref->datum.has_failed || (buffer != NULL && buffer->has_failed);
    double control = run_later(ref->datum.ready, buffer != NULL ? buffer->written : 0);
    if (has_failed || value->bits == 0) {
        driver->term = NULL;
        return true;
    }
    driver->frame = start_turn(r, task, term, driver->frame,
                               run_later(control, task->spot->control));
    return run_while(r, task, term);
}

// ---- the machine --------------------------------------------------------------------

// Runs a term, or half an operation. False: the task sleeps, to run the term again.
static bool run_term(Run *r, RunTask *task, const TaskTerm *term) {
    const RunFrame *frame = task->frame;
    switch (term->kind) {
    case TASK_EXP:
    case TASK_USE:
    case TASK_UNIT: run_binding(r, task, term); break;
    case TASK_ALLOC:
        run_set_datum(r, frame, term->outs.data[0],
                      (RunDatum){.buffer = run_new_buffer(r)});
        break;
    case TASK_SIGNAL:
        run_cell(r, frame, term->outs.data[0])->signal = arena_new(r->arena, RunSignal);
        break;
    case TASK_REF:
        run_cell(r, frame, term->outs.data[0])->ref = arena_new(r->arena, RunRef);
        break;
    case TASK_READ: run_read(r, task, term); break;
    case TASK_WRITE: run_write(r, task, term); break;
    case TASK_WAIT:
        for (uint32_t i = 0; i < term->args.len; i++)
            if (!is_resolved(r, task, term->args.data[i], frame)) return false;
        break;
    case TASK_RESOLVE:
        for (uint32_t i = 0; i < term->args.len; i++)
            resolve(r, task, run_signal(r, frame, term->args.data[i]));
        break;
    case TASK_KERNEL:
        if (!task->is_inside) {
            run_enter_kernel(r, task, term);
            return true;
        }
        run_leave_kernel(r, task, term);
        break;
    case TASK_IF:
        task->spot->at++;
        run_if(r, task, term);
        return true;
    case TASK_FORK:
        start_task(r, task, frame, term->parts[0], task->spot->is_dead,
                   task->spot->control);
        break;
    case TASK_WHILE:
        if (!run_while(r, task, term)) return false;
        break;
    case TASK_KIND_COUNT: break;
    }
    task->spot->at++;
    return true;
}

static RunTask *next_task(Run *r) {
    uint32_t count = r->ready.len - r->head, at = r->ready.len - 1;
    if (count == 0) return NULL;
    if (r->options->order == TASK_OLDEST_FIRST) return r->ready.data[r->head++];
    if (r->options->order == TASK_RANDOM) at = (uint32_t)(chance(r) % count);
    for (uint32_t i = 0; i < count && r->options->order == TASK_RANKED; i++)
        if (r->ready.data[i]->rank > r->ready.data[at]->rank) at = i;
    RunTask *task = r->ready.data[at];
    r->ready.data[at] = r->ready.data[--r->ready.len];
    return task;
}

// The caller's part: the params come whenever they come.
static void hand_over(Run *r, const RunTask *task) {
    TaskPort port = r->p->params.data[task->param - 1];
    RunRef *ref = run_ref(r, task->frame, port.ref);
    ref->datum.value = r->args[task->param - 1];
    ref->is_written = true;
    resolve(r, task, run_signal(r, task->frame, port.signal));
}

// Runs the task until it ends, sleeps, or another's turn has come.
static void run_task(Run *r, RunTask *task) {
    TaskOrder order = r->options->order;
    for (;;) {
        while (task->spot != NULL && task->spot->at == task->spot->block->len)
            task->spot = task->spot->outer;
        if (task->spot == NULL) {
            if (task->param != 0) hand_over(r, task);
            r->live--;
            return;
        }
        if (++r->steps > r->options->most_steps) run_leave(r, TASK_TIRED);
        const TaskTerm *term = &task->spot->block->data[task->spot->at];
        uint32_t before = r->ready.len;
        if (!run_term(r, task, term)) return;
        bool has_forked = term->kind == TASK_FORK && r->ready.len > before;
        if (order == TASK_RANDOM || order == TASK_RANKED) {
            make_ready(r, task);
            return;
        }
        if (order == TASK_CHILD_FIRST && (has_forked || task->is_inside)) {
            RunTask *child = has_forked ? r->ready.data[--r->ready.len] : NULL;
            make_ready(r, task);
            if (child != NULL) make_ready(r, child);
            return;
        }
    }
}

static void get_result(Run *r, const RunFrame *frame, TaskPort port, RtValue *result) {
    const RunRef *ref = run_ref(r, frame, port.ref);
    if (!ref->is_written || !run_signal(r, frame, port.signal)->is_resolved)
        run_broken(r, "a result is missing");
    const RunBuffer *buffer = ref->datum.buffer;
    if (buffer != NULL && !buffer->has_value)
        run_broken(r, "a result is a buffer that nothing was written to");
    *result = buffer != NULL ? buffer->value : ref->datum.value;
    if (result->rank > 0) rt_retain(result->array);
}

static void execute(Run *r, RtValue *results) {
    const TaskProgram *p = r->p;
    const TaskBlock nothing = {0};
    r->outcome = TASK_TIRED; // what a jump from the arena means
    if (setjmp(r->exit) != 0) return;
    r->codes = arena_array(r->arena, InterpCode, p->flow->stm_count);
    RunFrame *frame = arena_new(r->arena, RunFrame);
    frame->cells = arena_array(r->arena, RunCell, run_number(r));
    for (uint32_t i = 0; i < p->params.len; i++) {
        run_make_port(r, frame, p->params.data[i]);
        start_task(r, NULL, frame, &nothing, false, 0)->param = i + 1;
    }
    for (uint32_t i = 0; i < p->results.len; i++)
        run_make_port(r, frame, p->results.data[i]);
    start_task(r, NULL, frame, p->block, false, 0);
    for (RunTask *task; (task = next_task(r)) != NULL;) run_task(r, task);
    if (r->live > 0) run_broken(r, "tasks wait for signals that nothing resolves");
    r->outcome = r->has_error ? TASK_FAILED : TASK_DONE;
    for (uint32_t i = 0; i < p->results.len && !r->has_error; i++)
        get_result(r, frame, p->results.data[i], &results[i]);
}

TaskOutcome task_run(const TaskProgram *p, const TaskRunOptions *options,
                     const RtValue *args, RtValue *results, TaskReport *report_out) {
    Run r = {.p = p,
             .options = options,
             .args = args,
             .arena = options->arena,
             .report = report_out,
             .random = (options->seed + 1) * 0x9e3779b97f4a7c15u};
    *report_out = (TaskReport){0};
    Mem *mem = options->arena->mem;
    jmp_buf *recover = mem->recover;
    mem->recover = &r.exit;
    execute(&r, results);
    mem->recover = recover;
    for (RunBuffer *buffer = r.buffers; buffer != NULL; buffer = buffer->next)
        if (buffer->has_value) rt_release_value(options->heap, &buffer->value);
    for (uint32_t i = 0; i < r.held.len; i++) rt_release(options->heap, r.held.data[i]);
    for (uint32_t i = 0; r.codes != NULL && i < p->flow->stm_count; i++)
        arena_free(&r.codes[i].arena);
    return r.outcome;
}
