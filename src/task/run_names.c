// SPDX-License-Identifier: Apache-2.0
//
// What the names of a program stand for, while it runs (run_state.h).
#include "task/run_state.h"

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
    vec_push(r->arena, &r->turns, (RunTurns){turn, count});
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

uint32_t run_number(Run *r) {
    const TaskProgram *p = r->p;
    uint32_t count = 0;
    r->index = arena_array(r->arena, uint32_t, p->names.len);
    r->depth = arena_array(r->arena, uint32_t, p->names.len);
    number_ports(r, &p->params, 0, &count);
    number_ports(r, &p->results, 0, &count);
    number_block(r, p->block, 0, &count);
    return count;
}

RunCell *run_cell(Run *r, const RunFrame *frame, TaskName name) {
    while (frame->depth > r->depth[name]) frame = frame->outer;
    return &frame->cells[r->index[name]];
}

RunSignal *run_signal(Run *r, const RunFrame *frame, TaskName name) {
    RunSignal *signal = run_cell(r, frame, name)->signal;
    if (signal == NULL) run_broken(r, "a signal is used before it is made");
    return signal;
}

RunRef *run_ref(Run *r, const RunFrame *frame, TaskName name) {
    RunRef *ref = run_cell(r, frame, name)->ref;
    if (ref == NULL) run_broken(r, "a reference is used before it is made");
    return ref;
}

RunDatum run_datum(Run *r, const RunFrame *frame, TaskName name) {
    const TaskNameInfo *info = &r->p->names.data[name];
    if (info->is_const)
        return (RunDatum){
            .value = {.elem = (ScalarType)info->type.elem, .bits = info->bits}};
    const RunDatum *datum = run_cell(r, frame, name)->datum;
    if (datum == NULL) run_broken(r, "a value is used before it is there");
    return *datum;
}

void run_set_datum(Run *r, const RunFrame *frame, TaskName name, RunDatum datum) {
    RunDatum *kept = arena_copy(r->arena, &datum, sizeof datum);
    run_cell(r, frame, name)->datum = kept;
}

void run_make_port(Run *r, const RunFrame *frame, TaskPort port) {
    run_cell(r, frame, port.signal)->signal = arena_new(r->arena, RunSignal);
    run_cell(r, frame, port.ref)->ref = arena_new(r->arena, RunRef);
}
