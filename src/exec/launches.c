// SPDX-License-Identifier: Apache-2.0
//
// Calls on a device that is launched: this is the host that walks root code. Scalars
// are computed here; buffers are addresses on the device; parallel loops, and what
// touches elements, are launched.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "abi/gpu.h"
#include "exec/ports.h"
#include "exec/walk.h"

// Memory that root code allocated, in order.
typedef struct Block {
    uint64_t address;
    size_t bytes;
} Block;

typedef struct Walk {
    const ExecCall *call;
    const LoopKernel *loop;
    const LoopPlan *plan;
    Device *device;
    uint64_t *values; // by LoopRef
    Block *blocks;
    uint32_t block_count, block_cap;
    int64_t turns; // of the launch that runs
    bool is_lost;  // the device failed in what travelled meanwhile
    ExecEnd *end;
} Walk;

static bool walk_body(Walk *w, const LoopBody *body);

static bool stop(Walk *w, ExecStatus status) {
    w->end->status = status;
    return false;
}

static uint64_t value_of(const Walk *w, LoopRef ref) {
    const LoopValue *value = &w->loop->values.data[ref];
    return value->is_const ? value->bits : w->values[ref];
}

static ScalarType elem_of(const Walk *w, LoopRef ref) {
    return walk_elem(w->loop, ref);
}

// Sets values at once: none of the sources is overwritten before it is read.
static void assign(Walk *w, const LoopRef *to, const LoopRef *from, uint32_t count) {
    uint64_t *moved = w->call->kernel->moved;
    for (uint32_t i = 0; i < count; i++) moved[i] = value_of(w, from[i]);
    for (uint32_t i = 0; i < count; i++) w->values[to[i]] = moved[i];
}

// ---- waiting ------------------------------------------------------------------------

static void tell_work(Walk *w, bool begins) {
    const ExecCall *call = w->call;
    if (call->at_work != NULL && !call->at_work(call->data, begins)) w->is_lost = true;
}

// While the device is at work, others may have the heap's turn.
static void tell_idle(void *data, bool begins) {
    Walk *w = data;
    if (begins) tell_work(w, true);
    if (begins) rt_turn_give(w->call->heap->turn);
    else rt_turn_take(w->call->heap->turn);
    if (!begins) tell_work(w, false);
}

// Waits for launches that are sure.
static void settle(Walk *w) {
    DeviceIdle idle = {tell_idle, w};
    const DeviceIdle *told = w->call->heap->turn != NULL ? &idle : NULL;
    if (dev_settle(w->device, told) != STATUS_OK) w->is_lost = true;
}

// ---- memory -------------------------------------------------------------------------

static bool add_block(Walk *w, size_t bytes, uint64_t *address_out) {
    Mem *mem = w->call->heap->mem;
    if (w->block_count == w->block_cap) {
        uint32_t cap = w->block_cap == 0 ? 16 : 2 * w->block_cap;
        Block *grown = mem_try_resize(mem, w->blocks, w->block_cap * sizeof *w->blocks,
                                      cap * sizeof *w->blocks);
        if (grown == NULL) return stop(w, EXEC_MEMORY);
        w->blocks = grown;
        w->block_cap = cap;
    }
    Status status = rt_alloc_on(w->call->heap, w->device, bytes, address_out);
    w->end->wanted = bytes; // if it cannot be had
    if (status != STATUS_OK) return stop(w, exec_status(status));
    w->blocks[w->block_count++] = (Block){*address_out, bytes};
    return true;
}

// Frees the blocks from number `first` on but for those that the values lie in.
static void keep_blocks(Walk *w, uint32_t first, const LoopRef *kept, uint32_t count) {
    uint32_t to = first;
    if (w->block_count > first) settle(w);
    for (uint32_t i = first; i < w->block_count; i++) {
        Block block = w->blocks[i];
        bool is_kept = false;
        for (uint32_t k = 0; k < count; k++) {
            bool is_buffer = w->loop->values.data[kept[k]].type.kind == LOOP_IS_BUFFER;
            if (is_buffer && w->values[kept[k]] == block.address) is_kept = true;
        }
        if (is_kept) w->blocks[to++] = block;
        else dev_free(w->device, block.address, block.bytes);
    }
    w->block_count = to;
}

static bool do_alloc(Walk *w, const LoopStm *stm) {
    size_t bytes;
    int64_t count = (int64_t)value_of(w, stm->args[0]);
    if (!rt_byte_count(elem_of(w, stm->outs[0]), 1, &count, &bytes))
        return stop(w, EXEC_MEMORY);
    return add_block(w, bytes, &w->values[stm->outs[0]]);
}

static bool do_data(Walk *w, const LoopStm *stm) {
    uint64_t *address = &w->values[stm->outs[0]];
    if (!add_block(w, stm->text.len, address)) return false;
    Status status = dev_write(w->device, *address, stm->text.ptr, stm->text.len);
    return status == STATUS_OK || stop(w, exec_status(status));
}

static void do_keep(Walk *w, const LoopStm *stm) {
    assign(w, stm->outs, stm->args + 1, stm->out_count);
    keep_blocks(w, (uint32_t)value_of(w, stm->args[0]), stm->outs, stm->out_count);
}

static bool do_result(Walk *w, const LoopStm *stm) {
    if (stm->out_count > 1) { // room: there is none
        w->values[stm->outs[0]] = w->values[stm->outs[1]] = 0;
        return true;
    }
    int64_t shape[CORE_MAX_RANK];
    for (uint32_t d = 0; d < stm->arg_count; d++)
        shape[d] = (int64_t)value_of(w, stm->args[d]);
    if (w->call->kernel->made[stm->number] != NULL) settle(w); // which is freed
    ExecStatus status =
        ports_result(w->call, stm->number, shape, &w->values[stm->outs[0]]);
    return status == EXEC_OK || stop(w, status);
}

// ---- failures -----------------------------------------------------------------------

static bool do_check(Walk *w, const LoopStm *stm) {
    if (value_of(w, stm->args[0]) != 0) return true;
    w->end->check = stm;
    w->end->call_count = 0;
    for (uint32_t i = 1; i < stm->arg_count; i++)
        w->end->values[i - 1] = value_of(w, stm->args[i]);
    return stop(w, EXEC_FAULT);
}

static bool take_fault(Walk *w, const GpuFault *fault) {
    exec_fault(w->end, w->call->kernel->launch_checks, fault->check, fault->values,
               fault->calls, fault->call_count);
    return false;
}

// ---- launches -----------------------------------------------------------------------

// Whether nothing that the launch does in one of these ways lies where it does
// something in one of those.
static bool keeps_apart(const LoopLaunch *launch, const uint64_t *ins, uint8_t ways,
                        uint8_t others) {
    for (uint32_t i = 0; i < launch->in_count; i++) {
        if ((launch->uses[i] & ways) == 0) continue;
        for (uint32_t k = 0; k < launch->in_count; k++)
            if ((launch->uses[k] & others) != 0 && ins[i] == ins[k]) return false;
    }
    return true;
}

static void tell_progress(void *data, int64_t done) {
    const Walk *w = data;
    w->call->progress(w->call->data, done, w->turns);
}

static size_t room_of(const Walk *w) {
    return w->call->room != NULL ? w->call->room(w->call->data) : 0;
}

static int64_t turns_of(const Walk *w, const LoopLaunch *launch) {
    if (!launch->is_parallel) return 1;
    const LoopStm *stm = launch->body->stms.data[launch->first];
    int64_t turns = (int64_t)value_of(w, stm->args[0]);
    if (launch->inner == 0 || turns <= 0) return turns;
    int64_t inner = (int64_t)value_of(w, launch->inner);
    return inner <= 0 ? 0 : turns * inner; // elements that there is memory for
}

static bool run_launch(Walk *w, const LoopLaunch *launch) {
    char function[48];
    snprintf(function, sizeof function, "weft_%u_launch_%u", w->call->kernel->number,
             launch->number);
    uint64_t *ins = w->call->kernel->frame, *outs = ins + launch->in_count;
    for (uint32_t i = 0; i < launch->in_count; i++)
        ins[i] = value_of(w, launch->ins[i]);
    w->turns = turns_of(w, launch);
    if (w->turns <= 0) return true;
    DeviceIdle idle = {tell_idle, w};
    uint8_t reads = LAUNCH_LOADS, writes = LAUNCH_STORES | LAUNCH_JOINS;
    DeviceLaunch run = {.code = w->call->code,
                        .function = function,
                        .turns = w->turns,
                        .team = launch->has_team ? LAUNCH_TEAM : 0,
                        .ins = ins,
                        .in_count = launch->in_count,
                        .outs = outs,
                        .out_count = launch->out_count,
                        .has_private = launch->has_private,
                        .room = room_of(w),
                        .may_repeat =
                            keeps_apart(launch, ins, reads | LAUNCH_JOINS, writes),
                        .is_sure = launch->is_sure,
                        .fails_alike = keeps_apart(launch, ins, reads, writes),
                        .cancel = w->call->cancel,
                        .progress = w->call->progress != NULL ? tell_progress : NULL,
                        .data = w,
                        .idle = w->call->heap->turn != NULL ? &idle : NULL};
    GpuFault fault;
    w->end->has_run = true;
    switch (dev_launch(w->device, &run, &fault)) {
    case LAUNCH_OK:
        if (w->is_lost) return stop(w, EXEC_BROKEN);
        break;
    case LAUNCH_FAULT: return take_fault(w, &fault);
    case LAUNCH_MEMORY: return stop(w, EXEC_MEMORY);
    case LAUNCH_CANCELLED: return stop(w, EXEC_CANCELLED);
    case LAUNCH_BROKEN: return stop(w, EXEC_BROKEN);
    }
    for (uint32_t i = 0; i < launch->out_count; i++)
        w->values[launch->outs[i]] = outs[i];
    return true;
}

// ---- control ------------------------------------------------------------------------

static bool do_if(Walk *w, const LoopStm *stm) {
    const LoopBody *body = stm->bodies[value_of(w, stm->args[0]) != 0 ? 0 : 1];
    if (!walk_body(w, body)) return false;
    assign(w, stm->outs, body->results, stm->out_count);
    return true;
}

static bool is_cancelled(const Walk *w) {
    return w->call->cancel != NULL && atomic_load(w->call->cancel);
}

static bool do_for(Walk *w, const LoopStm *stm) {
    const LoopBody *body = stm->bodies[0];
    const LoopRef *state = body->params + 1;
    int64_t times = walk_times(w->loop, stm->args[0], value_of(w, stm->args[0]));
    assign(w, state, stm->args + 1, stm->out_count);
    for (int64_t i = 0; i < times; i++) {
        if (is_cancelled(w)) return stop(w, EXEC_CANCELLED);
        w->values[body->params[0]] = (uint64_t)i;
        if (!walk_body(w, body)) return false;
        assign(w, state, body->results, stm->out_count);
        if (w->call->progress != NULL) w->call->progress(w->call->data, i + 1, times);
    }
    assign(w, stm->outs, state, stm->out_count);
    return true;
}

static bool do_while(Walk *w, const LoopStm *stm) {
    const LoopBody *guard = stm->bodies[0], *body = stm->bodies[1];
    assign(w, body->params, stm->args, stm->out_count);
    for (;;) {
        if (is_cancelled(w)) return stop(w, EXEC_CANCELLED);
        assign(w, guard->params, body->params, stm->out_count);
        if (!walk_body(w, guard)) return false;
        if (value_of(w, guard->results[0]) == 0) break;
        if (!walk_body(w, body)) return false;
        assign(w, body->params, body->results, stm->out_count);
    }
    assign(w, stm->outs, body->params, stm->out_count);
    return true;
}

// What the function made is freed, but its results.
static bool do_call(Walk *w, const LoopStm *stm) {
    const LoopBody *body = w->loop->funs.data[stm->number].body;
    uint32_t mark = w->block_count;
    assign(w, body->params, stm->args, stm->arg_count);
    if (!walk_body(w, body)) {
        if (w->end->status == EXEC_FAULT && w->end->call_count < KERNEL_FAULT_CALLS)
            w->end->calls[w->end->call_count++] = stm;
        return false;
    }
    assign(w, stm->outs, body->results, stm->out_count);
    keep_blocks(w, mark, stm->outs, stm->out_count);
    return true;
}

// ---- statements ---------------------------------------------------------------------

static void do_scalar(Walk *w, const LoopStm *stm) {
    uint64_t args[3];
    for (uint32_t i = 0; i < stm->arg_count; i++) args[i] = value_of(w, stm->args[i]);
    w->values[stm->outs[0]] = walk_scalar(w->loop, stm, args);
}

static bool walk_statement(Walk *w, const LoopStm *stm) {
    switch (stm->op) {
    case LOOP_SCALAR: do_scalar(w, stm); return true;
    case LOOP_DATA: return do_data(w, stm);
    case LOOP_ALLOC: return do_alloc(w, stm);
    case LOOP_MARK: w->values[stm->outs[0]] = w->block_count; return true;
    case LOOP_KEEP: do_keep(w, stm); return true;
    case LOOP_RESULT: return do_result(w, stm);
    case LOOP_THREADS: w->values[stm->outs[0]] = WALK_THREADS; return true;
    case LOOP_CHECK: return do_check(w, stm);
    case LOOP_CALL:
    case LOOP_APPLY: return do_call(w, stm);
    case LOOP_IF: return do_if(w, stm);
    case LOOP_FOR: return do_for(w, stm);
    case LOOP_WHILE: return do_while(w, stm);
    case LOOP_LOAD:
    case LOOP_STORE:
    case LOOP_SIFT:
    case LOOP_BELOW:
    case LOOP_ATOMIC:
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE:
    case LOOP_ANY:
    case LOOP_TALLY:
    case LOOP_SURE:
    case LOOP_LOADIF:
    case LOOP_LOOKUP:
    case LOOP_STOREIF:
    case LOOP_COUNT: break; // always launched, and not in lanes
    }
    assert(false);
    return false;
}

static bool walk_body(Walk *w, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len;) {
        const LoopStm *stm = body->stms.data[i];
        const LoopLaunch *launch = loop_launch_at(w->plan, stm);
        if (launch != NULL ? !run_launch(w, launch) : !walk_statement(w, stm))
            return false;
        i += launch != NULL ? launch->count : 1;
    }
    return true;
}

// ---- a call -------------------------------------------------------------------------

void exec_launches(const ExecCall *call, ExecEnd *end_out) {
    ExecKernel *kernel = call->kernel;
    Walk w = {.call = call,
              .loop = kernel->loop,
              .plan = kernel->plan,
              .device = call->device,
              .values = kernel->values,
              .end = end_out};
    const LoopBody *root = w.loop->root;
    for (uint32_t i = 0; i < root->param_count; i++)
        w.values[root->params[i]] = kernel->in[i];
    bool is_done = walk_body(&w, root);
    settle(&w);
    if (is_done && w.is_lost) is_done = stop(&w, EXEC_BROKEN);
    for (uint32_t i = 0; i < root->result_count && is_done; i++)
        kernel->out[i] = value_of(&w, root->results[i]);
    keep_blocks(&w, 0, NULL, 0);
    mem_free(call->heap->mem, w.blocks, w.block_cap * sizeof *w.blocks);
}
