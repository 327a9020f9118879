// SPDX-License-Identifier: Apache-2.0
//
// Running tasks in adversarial orders. Names live in frames, one for the program and
// one for each turn of a loop; a task is a spot in a block and its frame. An operation
// takes two steps, between which others run: then its buffers are in use.
#include "task/run.h"

#include <setjmp.h>
#include <string.h>

typedef struct Task Task;

typedef struct Signal {
    bool is_resolved;
    double at;
    Task *waiting; // linked by `next`
} Signal;

typedef struct Buffer {
    struct Buffer *next; // of all
    RtValue value;
    bool has_value, has_failed, is_written; // the last: at this moment
    uint32_t readers;                       // at this moment
    double written, read;                   // when, at the earliest
} Buffer;

typedef struct Datum {
    RtValue value; // lent
    Buffer *buffer;
    bool has_failed;
    double ready; // at the earliest
} Datum;

typedef struct Ref {
    Datum datum;
    bool is_written;
} Ref;

typedef union Cell {
    Signal *signal;
    Ref *ref;
    Datum *datum;
} Cell;

typedef struct Frame {
    const struct Frame *outer;
    uint32_t depth;
    uint32_t loop; // its order
    uint64_t turn;
    Cell *cells;
} Frame;

typedef struct Spot {
    const TaskBlock *block;
    uint32_t at;
    bool is_dead;   // what decided to be here has failed
    double control; // when it was decided, at the earliest
    struct Spot *outer;
} Spot;

// A loop that a task drives.
typedef struct Driver {
    const TaskTerm *term;
    Frame *frame; // of the turn at work
} Driver;

struct Task {
    Task *next;
    Spot *spot;
    const Frame *frame;
    Driver driver;  // term NULL: none
    bool is_inside; // an operation
    double now;
    uint64_t rank;  // of those that are ready, the highest runs
    uint32_t param; // 1 + the number of the one that it hands over; 0: none
};

typedef struct Turns {
    const TaskTurn *turn;
    uint32_t count; // names bound in a turn
} Turns;

typedef struct Run {
    const TaskProgram *p;
    const TaskRunOptions *options;
    const RtValue *args;
    Arena *arena;
    TaskReport *report;
    uint32_t *index, *depth; // by name: its cell, and that of its frame
    struct {
        Turns *data;
        uint32_t len, cap;
    } turns;
    struct {
        Task **data;
        uint32_t len, cap;
    } ready;
    uint32_t head; // of ready: the oldest
    uint32_t live; // tasks that have not ended
    Buffer *buffers;
    struct {
        RtArray **data;
        uint32_t len, cap;
    } held;
    InterpCode *codes; // by statement
    uint64_t random, steps;
    bool has_error;
    const Frame *error_frame;
    uint32_t error_order;
    TaskOutcome outcome;
    jmp_buf exit;
} Run;

static _Noreturn void leave(Run *r, TaskOutcome outcome) {
    r->outcome = outcome;
    longjmp(r->exit, 1);
}

static _Noreturn void broken(Run *r, const char *what) {
    r->report->fault = str_of(what);
    leave(r, TASK_BROKEN);
}

// ---- names --------------------------------------------------------------------------

static void number(Run *r, TaskName name, uint32_t depth, uint32_t *count) {
    r->index[name] = (*count)++;
    r->depth[name] = depth;
}

static void number_ports(Run *r, const TaskPorts *ports, uint32_t depth,
                         uint32_t *count) {
    for (uint32_t i = 0; i < ports->len; i++) {
        number(r, ports->data[i].signal, depth, count);
        number(r, ports->data[i].ref, depth, count);
    }
}

static void number_block(Run *r, const TaskBlock *block, uint32_t depth,
                         uint32_t *count);

static void number_turn(Run *r, const TaskTurn *turn, uint32_t depth) {
    uint32_t count = 0;
    number_ports(r, &turn->states, depth, &count);
    number_ports(r, &turn->next, depth, &count);
    number_ports(r, &(TaskPorts){(TaskPort *)&turn->guard, 1, 1}, depth, &count);
    for (uint32_t i = 0; i < turn->carried.len; i++) {
        number(r, turn->carried.data[i], depth, &count);
        number(r, turn->next_carried.data[i], depth, &count);
    }
    number_block(r, turn->block, depth, &count);
    vec_push(r->arena, &r->turns, (Turns){turn, count});
}

static void number_block(Run *r, const TaskBlock *block, uint32_t depth,
                         uint32_t *count) {
    for (uint32_t i = 0; i < block->len; i++) {
        const TaskTerm *term = &block->data[i];
        for (uint32_t k = 0; k < term->outs.len && term->kind != TASK_KERNEL; k++)
            number(r, term->outs.data[k], depth, count);
        for (uint32_t k = 0; k < 2; k++)
            if (term->parts[k] != NULL) number_block(r, term->parts[k], depth, count);
        if (term->turn != NULL) number_turn(r, term->turn, depth + 1);
    }
}

static Cell *cell(Run *r, const Frame *frame, TaskName name) {
    while (frame->depth > r->depth[name]) frame = frame->outer;
    return &frame->cells[r->index[name]];
}

static Signal *signal_of(Run *r, const Frame *frame, TaskName name) {
    Signal *signal = cell(r, frame, name)->signal;
    if (signal == NULL) broken(r, "a signal is used before it is made");
    return signal;
}

static Ref *ref_of(Run *r, const Frame *frame, TaskName name) {
    Ref *ref = cell(r, frame, name)->ref;
    if (ref == NULL) broken(r, "a reference is used before it is made");
    return ref;
}

static Datum datum_of(Run *r, const Frame *frame, TaskName name) {
    const TaskNameInfo *info = &r->p->names.data[name];
    if (info->is_const)
        return (Datum){
            .value = {.elem = (ScalarType)info->type.elem, .bits = info->bits}};
    const Datum *datum = cell(r, frame, name)->datum;
    if (datum == NULL) broken(r, "a value is used before it is there");
    return *datum;
}

static void set_datum(Run *r, const Frame *frame, TaskName name, Datum datum) {
    Datum *kept = arena_copy(r->arena, &datum, sizeof datum);
    cell(r, frame, name)->datum = kept;
}

static void make_port(Run *r, const Frame *frame, TaskPort port) {
    cell(r, frame, port.signal)->signal = arena_new(r->arena, Signal);
    cell(r, frame, port.ref)->ref = arena_new(r->arena, Ref);
}

// ---- the order of the program -------------------------------------------------------

// The loops around a frame, outermost first.
static uint32_t path_of(const Frame *frame, uint64_t *path, uint32_t most) {
    uint32_t depth = frame->depth;
    for (; frame->depth > 0; frame = frame->outer) {
        if (frame->depth > most) continue;
        path[2 * (frame->depth - 1)] = frame->loop;
        path[2 * (frame->depth - 1) + 1] = frame->turn;
    }
    return depth < most ? depth : most;
}

static bool comes_before(const Frame *a, uint32_t a_order, const Frame *b,
                         uint32_t b_order) {
    enum { MOST = 64 };
    uint64_t x[2 * MOST + 1], y[2 * MOST + 1];
    uint32_t n = 2 * path_of(a, x, MOST), m = 2 * path_of(b, y, MOST);
    x[n] = a_order;
    y[m] = b_order;
    for (uint32_t i = 0; i <= n && i <= m; i++)
        if (x[i] != y[i]) return x[i] < y[i];
    return false;
}

static void note_error(Run *r, const Task *task, const FlowStm *step,
                       const InterpError *error) {
    if (r->has_error &&
        !comes_before(task->frame, step->order, r->error_frame, r->error_order))
        return;
    r->has_error = true;
    r->error_frame = task->frame;
    r->error_order = step->order;
    r->report->error = *error;
}

// ---- running core -------------------------------------------------------------------

static double later(double a, double b) {
    return a > b ? a : b;
}

// What the statement reads; false: not all of it is there, since something has failed.
static bool gather(Run *r, const Task *task, const TaskTerm *term, RtValue *values,
                   double *ready) {
    bool is_there = !task->spot->is_dead;
    for (uint32_t i = 0; i < term->args.len; i++) {
        Datum datum = datum_of(r, task->frame, term->args.data[i]);
        *ready = later(*ready, datum.ready);
        values[i] = datum.value;
        Buffer *buffer = datum.buffer;
        if (datum.has_failed || (buffer != NULL && buffer->has_failed))
            is_there = false;
        if (buffer == NULL) continue;
        *ready = later(*ready, buffer->written);
        if (!buffer->has_value && !buffer->has_failed)
            broken(r, "a buffer is read that nothing was written to");
        values[i] = buffer->value;
    }
    return is_there;
}

static bool is_after_error(const Run *r, const Task *task, const FlowStm *step) {
    return r->has_error &&
           comes_before(r->error_frame, r->error_order, task->frame, step->order);
}

// Args are consumed.
static bool run_core(Run *r, const Task *task, const FlowStm *step, RtValue *args,
                     RtValue *results) {
    const CoreBody *body = step->run;
    CoreType *types = arena_array(r->arena, CoreType, body->result_count);
    for (uint32_t k = 0; k < body->result_count; k++)
        types[k] = core_type(r->p->flow->program, body->results[k]);
    CoreFun fun = {
        .name = r->p->flow->fun->name, .body = step->run, .result_types = types};
    InterpOptions options = {
        .heap = r->options->heap, .arena = r->arena, .code = &r->codes[step->number]};
    InterpError error = {0};
    Status status =
        interp_run(r->p->flow->program, &fun, &options, args, results, &error);
    if (status == STATUS_RUNTIME) note_error(r, task, step, &error);
    else if (status != STATUS_OK) leave(r, TASK_TIRED);
    return status == STATUS_OK;
}

static void retain_all(RtValue *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i].rank > 0) rt_retain(values[i].array);
}

static Buffer *new_buffer(Run *r) {
    Buffer *buffer = arena_new(r->arena, Buffer);
    buffer->next = r->buffers;
    r->buffers = buffer;
    return buffer;
}

static void bind_result(Run *r, const Task *task, const TaskTerm *term, uint32_t k,
                        bool is_made, RtValue value, double ready) {
    Datum datum = {.has_failed = !is_made, .ready = ready};
    if (term->kind != TASK_EXP) {
        datum.buffer = new_buffer(r);
        datum.buffer->has_value = is_made;
        datum.buffer->has_failed = !is_made;
        datum.buffer->value = value;
        datum.buffer->written = ready;
    } else if (is_made) {
        datum.value = value;
        if (value.rank > 0) vec_push(r->arena, &r->held, value.array);
    }
    set_datum(r, task->frame, term->outs.data[k], datum);
}

// EXP, USE, UNIT.
static void run_binding(Run *r, Task *task, const TaskTerm *term) {
    RtValue *args = arena_array(r->arena, RtValue, term->args.len);
    RtValue *results = arena_array(r->arena, RtValue, term->outs.len);
    double ready = task->spot->control;
    bool is_made = gather(r, task, term, args, &ready);
    for (uint32_t i = 0; i < term->args.len; i++) {
        const Buffer *buffer = datum_of(r, task->frame, term->args.data[i]).buffer;
        if (buffer != NULL && buffer->is_written)
            broken(r, "a buffer is read while it is written");
    }
    is_made = is_made && !is_after_error(r, task, term->step);
    if (is_made) {
        retain_all(args, term->args.len);
        is_made = run_core(r, task, term->step, args, results);
    }
    for (uint32_t k = 0; k < term->outs.len; k++)
        bind_result(r, task, term, k, is_made, results[k], ready);
}

static bool is_out(const TaskTerm *term, TaskName name) {
    for (uint32_t k = 0; k < term->outs.len; k++)
        if (term->outs.data[k] == name) return true;
    return false;
}

static Buffer *out_of(Run *r, const Task *task, const TaskTerm *term, uint32_t k) {
    Buffer *buffer = datum_of(r, task->frame, term->outs.data[k]).buffer;
    if (buffer == NULL) broken(r, "an operation writes to what is no buffer");
    return buffer;
}

// The first step of an operation: its buffers are in use from now on.
static void enter_kernel(Run *r, Task *task, const TaskTerm *term) {
    for (uint32_t i = 0; i < term->args.len; i++) {
        Buffer *buffer = datum_of(r, task->frame, term->args.data[i]).buffer;
        if (buffer == NULL || is_out(term, term->args.data[i])) continue;
        if (buffer->is_written) broken(r, "a buffer is read while it is written");
        buffer->readers++;
    }
    for (uint32_t k = 0; k < term->outs.len; k++) {
        Buffer *buffer = out_of(r, task, term, k);
        if (buffer->is_written) broken(r, "a buffer is written by two at once");
        if (buffer->readers > 0) broken(r, "a buffer is written while it is read");
        buffer->is_written = true;
    }
    task->is_inside = true;
}

static void put_result(Run *r, Buffer *buffer, bool is_made, RtValue value) {
    if (buffer->has_value) rt_release_value(r->options->heap, &buffer->value);
    buffer->has_value = is_made;
    buffer->has_failed = !is_made;
    buffer->value = is_made ? value : (RtValue){0};
}

// The second: everything happens.
static void leave_kernel(Run *r, Task *task, const TaskTerm *term) {
    RtValue *args = arena_array(r->arena, RtValue, term->args.len);
    RtValue *results = arena_array(r->arena, RtValue, term->outs.len);
    double start = task->spot->control;
    bool is_made = gather(r, task, term, args, &start);
    is_made = is_made && !is_after_error(r, task, term->step);
    for (uint32_t k = 0; k < term->outs.len; k++) {
        const Buffer *buffer = out_of(r, task, term, k);
        start = later(start, later(buffer->read, buffer->written));
    }
    double end = start + 1;
    for (uint32_t i = 0; i < term->args.len; i++) {
        Buffer *buffer = datum_of(r, task->frame, term->args.data[i]).buffer;
        if (buffer == NULL) continue;
        if (is_out(term, term->args.data[i])) { // its elements are taken over
            if (is_made) buffer->has_value = false;
            continue;
        }
        if (is_made && args[i].rank > 0) rt_retain(args[i].array);
        buffer->readers--;
        buffer->read = later(buffer->read, end);
    }
    for (uint32_t i = 0; i < term->args.len && is_made; i++)
        if (datum_of(r, task->frame, term->args.data[i]).buffer == NULL &&
            args[i].rank > 0)
            rt_retain(args[i].array);
    if (is_made) is_made = run_core(r, task, term->step, args, results);
    for (uint32_t k = 0; k < term->outs.len; k++) {
        Buffer *buffer = out_of(r, task, term, k);
        put_result(r, buffer, is_made, results[k]);
        buffer->is_written = false;
        buffer->written = end;
    }
    task->is_inside = false;
    task->now += 1;
    r->report->span = later(r->report->span, task->now);
    r->report->critical = later(r->report->critical, end);
}

// ---- tasks --------------------------------------------------------------------------

static void make_ready(Run *r, Task *task) {
    vec_push(r->arena, &r->ready, task);
}

static uint64_t chance(Run *r) {
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return r->random >> 33;
}

static Task *start_task(Run *r, const Task *parent, const Frame *frame,
                        const TaskBlock *block, bool is_dead, double control) {
    Task *task = arena_new(r->arena, Task);
    task->frame = frame;
    task->rank = chance(r);
    task->now = parent == NULL ? 0 : parent->now;
    task->spot = arena_new(r->arena, Spot);
    *task->spot = (Spot){.block = block, .is_dead = is_dead, .control = control};
    r->live++;
    r->report->tasks++;
    make_ready(r, task);
    return task;
}

static void resolve(Run *r, const Task *task, Signal *signal) {
    if (signal->is_resolved) broken(r, "a signal is resolved twice");
    signal->is_resolved = true;
    signal->at = task->now;
    Task *waiting = signal->waiting;
    signal->waiting = NULL;
    while (waiting != NULL) {
        Task *next = waiting->next;
        waiting->now = later(waiting->now, signal->at);
        make_ready(r, waiting);
        waiting = next;
    }
}

// Whether the task may go on; else it has been put to sleep, to ask again.
static bool is_resolved(Run *r, Task *task, TaskName name, const Frame *frame) {
    Signal *signal = signal_of(r, frame, name);
    if (!signal->is_resolved) {
        task->next = signal->waiting;
        signal->waiting = task;
        return false;
    }
    task->now = later(task->now, signal->at);
    return true;
}

static void run_write(Run *r, const Task *task, const TaskTerm *term) {
    Ref *ref = ref_of(r, task->frame, term->args.data[0]);
    if (ref->is_written) broken(r, "a reference is written twice");
    ref->is_written = true;
    ref->datum = datum_of(r, task->frame, term->args.data[1]);
    ref->datum.has_failed |= task->spot->is_dead;
    ref->datum.ready = later(ref->datum.ready, task->spot->control);
}

static void run_read(Run *r, const Task *task, const TaskTerm *term) {
    const Ref *ref = ref_of(r, task->frame, term->args.data[0]);
    if (!ref->is_written) broken(r, "a reference is read before it is written");
    set_datum(r, task->frame, term->outs.data[0], ref->datum);
}

// A scalar that may be in a buffer.
static bool truth(Run *r, const Frame *frame, TaskName name, bool *has_failed,
                  double *ready) {
    Datum datum = datum_of(r, frame, name);
    const Buffer *buffer = datum.buffer;
    *ready = later(*ready, datum.ready);
    *has_failed = datum.has_failed || (buffer != NULL && buffer->has_failed);
    if (buffer == NULL) return !*has_failed && datum.value.bits != 0;
    if (!buffer->has_value && !buffer->has_failed)
        broken(r, "a buffer is read that nothing was written to");
    *ready = later(*ready, buffer->written);
    return !*has_failed && buffer->value.bits != 0;
}

static void run_if(Run *r, Task *task, const TaskTerm *term) {
    bool has_failed;
    Spot spot = {.outer = task->spot, .control = task->spot->control};
    bool holds = truth(r, task->frame, term->args.data[0], &has_failed, &spot.control);
    spot.block = term->parts[holds ? 0 : 1];
    spot.is_dead = task->spot->is_dead || has_failed;
    task->spot = arena_copy(r->arena, &spot, sizeof spot);
}

// ---- loops --------------------------------------------------------------------------

static Frame *start_turn(Run *r, Task *task, const TaskTerm *term, const Frame *before,
                         double control) {
    const TaskTurn *turn = term->turn;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->turns.len; i++)
        if (r->turns.data[i].turn == turn) count = r->turns.data[i].count;
    Frame *frame = arena_new(r->arena, Frame);
    *frame = (Frame){.outer = task->frame,
                     .depth = task->frame->depth + 1,
                     .loop = term->step->order,
                     .turn = before == NULL ? 0 : before->turn + 1,
                     .cells = arena_array(r->arena, Cell, count)};
    uint32_t states = turn->states.len;
    for (uint32_t k = 0; k < states; k++) {
        const Frame *from = before == NULL ? task->frame : before;
        TaskPort port = before == NULL ? (TaskPort){term->args.data[2 * k],
                                                    term->args.data[2 * k + 1]}
                                       : turn->next.data[k];
        cell(r, frame, turn->states.data[k].signal)->signal =
            signal_of(r, from, port.signal);
        cell(r, frame, turn->states.data[k].ref)->ref = ref_of(r, from, port.ref);
        make_port(r, frame, turn->next.data[k]);
    }
    for (uint32_t k = 0; k < turn->carried.len; k++) {
        Signal *signal =
            before == NULL ? signal_of(r, task->frame, term->args.data[2 * states + k])
                           : signal_of(r, before, turn->next_carried.data[k]);
        cell(r, frame, turn->carried.data[k])->signal = signal;
        cell(r, frame, turn->next_carried.data[k])->signal =
            arena_new(r->arena, Signal);
    }
    make_port(r, frame, turn->guard);
    start_task(r, task, frame, turn->block, task->spot->is_dead, control);
    return frame;
}

// Goes on with the loop; false: the task sleeps until the guard is known.
static bool run_while(Run *r, Task *task, const TaskTerm *term) {
    Driver *driver = &task->driver;
    if (driver->term == NULL) {
        driver->term = term;
        driver->frame = start_turn(r, task, term, NULL, task->spot->control);
    }
    TaskPort guard = term->turn->guard;
    if (!is_resolved(r, task, guard.signal, driver->frame)) return false;
    const Ref *ref = ref_of(r, driver->frame, guard.ref);
    if (!ref->is_written) broken(r, "a reference is read before it is written");
    const Buffer *buffer = ref->datum.buffer;
    const RtValue *value = buffer != NULL ? &buffer->value : &ref->datum.value;
    bool has_failed = ref->datum.has_failed || (buffer != NULL && buffer->has_failed);
    double control = later(ref->datum.ready, buffer != NULL ? buffer->written : 0);
    if (has_failed || value->bits == 0) {
        driver->term = NULL;
        return true;
    }
    driver->frame =
        start_turn(r, task, term, driver->frame, later(control, task->spot->control));
    return run_while(r, task, term);
}

// ---- the machine --------------------------------------------------------------------

// Runs a term, or half an operation. False: the task sleeps, to run the term again.
static bool run_term(Run *r, Task *task, const TaskTerm *term) {
    const Frame *frame = task->frame;
    switch (term->kind) {
    case TASK_EXP:
    case TASK_USE:
    case TASK_UNIT: run_binding(r, task, term); break;
    case TASK_ALLOC:
        set_datum(r, frame, term->outs.data[0], (Datum){.buffer = new_buffer(r)});
        break;
    case TASK_SIGNAL:
        cell(r, frame, term->outs.data[0])->signal = arena_new(r->arena, Signal);
        break;
    case TASK_REF:
        cell(r, frame, term->outs.data[0])->ref = arena_new(r->arena, Ref);
        break;
    case TASK_READ: run_read(r, task, term); break;
    case TASK_WRITE: run_write(r, task, term); break;
    case TASK_WAIT:
        for (uint32_t i = 0; i < term->args.len; i++)
            if (!is_resolved(r, task, term->args.data[i], frame)) return false;
        break;
    case TASK_RESOLVE:
        for (uint32_t i = 0; i < term->args.len; i++)
            resolve(r, task, signal_of(r, frame, term->args.data[i]));
        break;
    case TASK_KERNEL:
        if (!task->is_inside) {
            enter_kernel(r, task, term);
            return true;
        }
        leave_kernel(r, task, term);
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

static Task *next_task(Run *r) {
    uint32_t count = r->ready.len - r->head, at = r->ready.len - 1;
    if (count == 0) return NULL;
    if (r->options->order == TASK_OLDEST_FIRST) return r->ready.data[r->head++];
    if (r->options->order == TASK_RANDOM) at = (uint32_t)(chance(r) % count);
    for (uint32_t i = 0; i < count && r->options->order == TASK_RANKED; i++)
        if (r->ready.data[i]->rank > r->ready.data[at]->rank) at = i;
    Task *task = r->ready.data[at];
    r->ready.data[at] = r->ready.data[--r->ready.len];
    return task;
}

// The caller's part: the params come whenever they come.
static void hand_over(Run *r, const Task *task) {
    TaskPort port = r->p->params.data[task->param - 1];
    Ref *ref = ref_of(r, task->frame, port.ref);
    ref->datum.value = r->args[task->param - 1];
    ref->is_written = true;
    resolve(r, task, signal_of(r, task->frame, port.signal));
}

// Runs the task until it ends, sleeps, or another's turn has come.
static void run_task(Run *r, Task *task) {
    TaskOrder order = r->options->order;
    for (;;) {
        while (task->spot != NULL && task->spot->at == task->spot->block->len)
            task->spot = task->spot->outer;
        if (task->spot == NULL) {
            if (task->param != 0) hand_over(r, task);
            r->live--;
            return;
        }
        if (++r->steps > r->options->most_steps) leave(r, TASK_TIRED);
        const TaskTerm *term = &task->spot->block->data[task->spot->at];
        uint32_t before = r->ready.len;
        if (!run_term(r, task, term)) return;
        bool has_forked = term->kind == TASK_FORK && r->ready.len > before;
        if (order == TASK_RANDOM || order == TASK_RANKED) {
            make_ready(r, task);
            return;
        }
        if (order == TASK_CHILD_FIRST && (has_forked || task->is_inside)) {
            Task *child = has_forked ? r->ready.data[--r->ready.len] : NULL;
            make_ready(r, task);
            if (child != NULL) make_ready(r, child);
            return;
        }
    }
}

static void get_result(Run *r, const Frame *frame, TaskPort port, RtValue *result) {
    const Ref *ref = ref_of(r, frame, port.ref);
    if (!ref->is_written || !signal_of(r, frame, port.signal)->is_resolved)
        broken(r, "a result is missing");
    const Buffer *buffer = ref->datum.buffer;
    if (buffer != NULL && !buffer->has_value)
        broken(r, "a result is a buffer that nothing was written to");
    *result = buffer != NULL ? buffer->value : ref->datum.value;
    if (result->rank > 0) rt_retain(result->array);
}

static void execute(Run *r, RtValue *results) {
    const TaskProgram *p = r->p;
    const TaskBlock nothing = {0};
    uint32_t count = 0;
    r->outcome = TASK_TIRED; // what a jump from the arena means
    if (setjmp(r->exit) != 0) return;
    r->index = arena_array(r->arena, uint32_t, p->names.len);
    r->depth = arena_array(r->arena, uint32_t, p->names.len);
    r->codes = arena_array(r->arena, InterpCode, p->flow->stm_count);
    number_ports(r, &p->params, 0, &count);
    number_ports(r, &p->results, 0, &count);
    number_block(r, p->block, 0, &count);
    Frame *frame = arena_new(r->arena, Frame);
    frame->cells = arena_array(r->arena, Cell, count);
    for (uint32_t i = 0; i < p->params.len; i++) {
        make_port(r, frame, p->params.data[i]);
        start_task(r, NULL, frame, &nothing, false, 0)->param = i + 1;
    }
    for (uint32_t i = 0; i < p->results.len; i++)
        make_port(r, frame, p->results.data[i]);
    start_task(r, NULL, frame, p->block, false, 0);
    for (Task *task; (task = next_task(r)) != NULL;) run_task(r, task);
    if (r->live > 0) broken(r, "tasks wait for signals that nothing resolves");
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
    for (Buffer *buffer = r.buffers; buffer != NULL; buffer = buffer->next)
        if (buffer->has_value) rt_release_value(options->heap, &buffer->value);
    for (uint32_t i = 0; i < r.held.len; i++) rt_release(options->heap, r.held.data[i]);
    for (uint32_t i = 0; r.codes != NULL && i < p->flow->stm_count; i++)
        arena_free(&r.codes[i].arena);
    return r.outcome;
}
