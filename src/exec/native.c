// SPDX-License-Identifier: Apache-2.0
//
// Calls of machine code: root code in the thread of the call, parallel loops on the
// workers of the device. Meanwhile others may have the heap's turn.
#include "base/clock.h"
#include "exec/ports.h"

typedef struct NativeRun {
    const ExecCall *call;
    ExecStatus refused; // why there was no memory for a result
    size_t wanted;      // bytes of that
    // Polls since people were last thought of, after how many it is done again, and
    // when it was.
    uint32_t polls, interval;
    double looked;
} NativeRun;

static void *make_result(void *data, uint32_t number, uint32_t rank,
                         const int64_t *shape) {
    NativeRun *run = data;
    uint64_t address;
    rt_turn_take(run->call->heap->turn);
    run->refused = ports_result(run->call, number, shape, &address);
    rt_turn_give(run->call->heap->turn);
    if (run->refused == EXEC_OK) return (void *)(uintptr_t)address;
    const LoopKernel *loop = run->call->kernel->loop;
    uint8_t elem = loop->results[number % loop->result_count].type.elem;
    rt_byte_count((ScalarType)elem, rank, shape, &run->wanted);
    return NULL;
}

static void *make_room(void *data, uint32_t number, uint32_t rank,
                       const int64_t *shape) {
    NativeRun *run = data;
    (void)rank;
    rt_turn_take(run->call->heap->turn);
    void *address = ports_room(run->call, number, shape);
    rt_turn_give(run->call->heap->turn);
    return address;
}

// Looks at the clock often enough to tell people some ten times a second, and else as
// seldom as it can.
static void tell_progress(void *data, int64_t done, int64_t total) {
    enum { MOST_POLLS = 1 << 20 };
    NativeRun *run = data;
    if (++run->polls < run->interval) return;
    double now = clock_seconds(), passed = now - run->looked;
    run->looked = now;
    run->polls = 0;
    if (passed < 0.005 && run->interval < MOST_POLLS) run->interval *= 2;
    if (passed > 0.02 && run->interval > 1) run->interval /= 2;
    run->call->progress(run->call->data, done, total);
}

static void tell_turns(void *data, unsigned worker, uint64_t loop_began, uint64_t began,
                       int64_t turns) {
    const NativeRun *run = data;
    run->call->ran(run->call->data, worker, loop_began, began, turns);
}

static ExecStatus run_code(NativeRun *run, ExecEnd *end) {
    const ExecCall *call = run->call;
    const ExecKernel *kernel = call->kernel;
    RtCall code;
    code.team = call->team;
    code.cancel = call->cancel;
    code.result = make_result;
    code.room = make_room;
    code.progress = call->progress != NULL ? tell_progress : NULL;
    code.ran = call->ran != NULL ? tell_turns : NULL;
    code.data = run;
    // What the ceiling leaves is for private memory, too.
    if (call->heap->mem->limit != 0) mem_trim(call->heap->mem);
    end->has_run = true;
    rt_turn_give(call->heap->turn);
    int32_t status = rt_call(&code, kernel->run, kernel->in, kernel->out);
    rt_turn_take(call->heap->turn);
    switch ((KernelStatus)status) {
    case KERNEL_OK: return EXEC_OK;
    case KERNEL_FAULT:
        exec_fault(end, kernel->checks, code.env.fault.check, code.env.fault.values,
                   code.env.fault.calls, code.env.fault.call_count);
        return EXEC_FAULT;
    case KERNEL_MEMORY:
        if (run->refused == EXEC_BROKEN) return EXEC_BROKEN;
        end->wanted = run->refused == EXEC_OK ? code.env.fault.wanted : run->wanted;
        return EXEC_MEMORY;
    case KERNEL_CANCELLED: return EXEC_CANCELLED;
    }
    return EXEC_OK;
}

void exec_native(const ExecCall *call, ExecEnd *end_out) {
    NativeRun run = {.call = call, .interval = 1};
    end_out->status = run_code(&run, end_out);
}
