// SPDX-License-Identifier: Apache-2.0
//
// Bindings and operations of tasks, computed by the interpreter of core, and the order
// of their errors (run_state.h). An operation takes two steps, between which others
// run: then its buffers are in use.
#include "task/run_state.h"

// ---- the order of the program -------------------------------------------------------

// The loops around a frame, outermost first.
static uint32_t path_of(const RunFrame *frame, uint64_t *path, uint32_t most) {
    uint32_t depth = frame->depth;
    for (; frame->depth > 0; frame = frame->outer) {
        if (frame->depth > most) continue;
        path[2 * (frame->depth - 1)] = frame->loop;
        path[2 * (frame->depth - 1) + 1] = frame->turn;
    }
    return depth < most ? depth : most;
}

static bool comes_before(const RunFrame *a, uint32_t a_order, const RunFrame *b,
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

static void note_error(Run *r, const RunTask *task, const FlowStm *step,
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

// What the statement reads; false: not all of it is there, since something has failed.
static bool gather(Run *r, const RunTask *task, const TaskTerm *term, RtValue *values,
                   double *ready) {
    bool is_there = !task->spot->is_dead;
    for (uint32_t i = 0; i < term->args.len; i++) {
        RunDatum datum = run_datum(r, task->frame, term->args.data[i]);
        *ready = run_later(*ready, datum.ready);
        values[i] = datum.value;
        RunBuffer *buffer = datum.buffer;
        if (datum.has_failed || (buffer != NULL && buffer->has_failed))
            is_there = false;
        if (buffer == NULL) continue;
        *ready = run_later(*ready, buffer->written);
        if (!buffer->has_value && !buffer->has_failed)
            run_broken(r, "a buffer is read that nothing was written to");
        values[i] = buffer->value;
    }
    return is_there;
}

static bool is_after_error(const Run *r, const RunTask *task, const FlowStm *step) {
    return r->has_error &&
           comes_before(r->error_frame, r->error_order, task->frame, step->order);
}

// Args are consumed.
static bool run_core(Run *r, const RunTask *task, const FlowStm *step, RtValue *args,
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
    else if (status != STATUS_OK) run_leave(r, TASK_TIRED);
    return status == STATUS_OK;
}

static void retain_all(RtValue *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i].rank > 0) rt_retain(values[i].array);
}

RunBuffer *run_new_buffer(Run *r) {
    RunBuffer *buffer = arena_new(r->arena, RunBuffer);
    buffer->next = r->buffers;
    r->buffers = buffer;
    return buffer;
}

static void bind_result(Run *r, const RunTask *task, const TaskTerm *term, uint32_t k,
                        bool is_made, RtValue value, double ready) {
    RunDatum datum = {.has_failed = !is_made, .ready = ready};
    if (term->kind != TASK_EXP) {
        datum.buffer = run_new_buffer(r);
        datum.buffer->has_value = is_made;
        datum.buffer->has_failed = !is_made;
        datum.buffer->value = value;
        datum.buffer->written = ready;
    } else if (is_made) {
        datum.value = value;
        if (value.rank > 0) vec_push(r->arena, &r->held, value.array);
    }
    run_set_datum(r, task->frame, term->outs.data[k], datum);
}

void run_binding(Run *r, RunTask *task, const TaskTerm *term) {
    RtValue *args = arena_array(r->arena, RtValue, term->args.len);
    RtValue *results = arena_array(r->arena, RtValue, term->outs.len);
    double ready = task->spot->control;
    bool is_made = gather(r, task, term, args, &ready);
    for (uint32_t i = 0; i < term->args.len; i++) {
        const RunBuffer *buffer = run_datum(r, task->frame, term->args.data[i]).buffer;
        if (buffer != NULL && buffer->is_written)
            run_broken(r, "a buffer is read while it is written");
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

static RunBuffer *out_of(Run *r, const RunTask *task, const TaskTerm *term,
                         uint32_t k) {
    RunBuffer *buffer = run_datum(r, task->frame, term->outs.data[k]).buffer;
    if (buffer == NULL) run_broken(r, "an operation writes to what is no buffer");
    return buffer;
}

void run_enter_kernel(Run *r, RunTask *task, const TaskTerm *term) {
    for (uint32_t i = 0; i < term->args.len; i++) {
        RunBuffer *buffer = run_datum(r, task->frame, term->args.data[i]).buffer;
        if (buffer == NULL || is_out(term, term->args.data[i])) continue;
        if (buffer->is_written) run_broken(r, "a buffer is read while it is written");
        buffer->readers++;
    }
    for (uint32_t k = 0; k < term->outs.len; k++) {
        RunBuffer *buffer = out_of(r, task, term, k);
        if (buffer->is_written) run_broken(r, "a buffer is written by two at once");
        if (buffer->readers > 0) run_broken(r, "a buffer is written while it is read");
        buffer->is_written = true;
    }
    task->is_inside = true;
}

static void put_result(Run *r, RunBuffer *buffer, bool is_made, RtValue value) {
    if (buffer->has_value) rt_release_value(r->options->heap, &buffer->value);
    buffer->has_value = is_made;
    buffer->has_failed = !is_made;
    buffer->value = is_made ? value : (RtValue){0};
}

void run_leave_kernel(Run *r, RunTask *task, const TaskTerm *term) {
    RtValue *args = arena_array(r->arena, RtValue, term->args.len);
    RtValue *results = arena_array(r->arena, RtValue, term->outs.len);
    // A branch that leaves a buffer as it is decides, too, when that may be read.
    double start = run_later(task->spot->control, task->decided);
    bool is_made = gather(r, task, term, args, &start);
    is_made = is_made && !is_after_error(r, task, term->step);
    for (uint32_t k = 0; k < term->outs.len; k++) {
        const RunBuffer *buffer = out_of(r, task, term, k);
        start = run_later(start, run_later(buffer->read, buffer->written));
    }
    double end = start + 1;
    for (uint32_t i = 0; i < term->args.len; i++) {
        RunBuffer *buffer = run_datum(r, task->frame, term->args.data[i]).buffer;
        if (buffer == NULL) continue;
        if (is_out(term, term->args.data[i])) { // its elements are taken over
            if (is_made) buffer->has_value = false;
            continue;
        }
        if (is_made && args[i].rank > 0) rt_retain(args[i].array);
        buffer->readers--;
        buffer->read = run_later(buffer->read, end);
    }
    for (uint32_t i = 0; i < term->args.len && is_made; i++)
        if (run_datum(r, task->frame, term->args.data[i]).buffer == NULL &&
            args[i].rank > 0)
            rt_retain(args[i].array);
    if (is_made) is_made = run_core(r, task, term->step, args, results);
    for (uint32_t k = 0; k < term->outs.len; k++) {
        RunBuffer *buffer = out_of(r, task, term, k);
        put_result(r, buffer, is_made, results[k]);
        buffer->is_written = false;
        buffer->written = end;
    }
    task->is_inside = false;
    task->now += 1;
    r->report->span = run_later(r->report->span, task->now);
    r->report->critical = run_later(r->report->critical, end);
}
