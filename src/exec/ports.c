// SPDX-License-Identifier: Apache-2.0
//
// Arguments and results of kernels (ports.h), and calls as such. An array argument is
// row-major where the kernel sees it; one that it overwrites is its own.
#include "exec/ports.h"

#include <assert.h>
#include <string.h>

// ---- kernels ------------------------------------------------------------------------

static uint32_t slots_of(const LoopPort *ports, uint32_t count) {
    uint32_t slots = 0;
    for (uint32_t i = 0; i < count; i++) slots += 1u + ports[i].type.rank;
    return slots;
}

// Lets the next of the books have so many slots of the memory, if there is some.
static void *next_book(uint64_t *memory, size_t *used, size_t slots) {
    void *book = memory == NULL ? NULL : memory + *used;
    *used += slots;
    return book;
}

// Lays the books out; returns how many slots they take. Pointers fit into slots.
static size_t lay_out(ExecKernel *kernel, uint64_t *memory) {
    const LoopKernel *loop = kernel->loop;
    uint32_t params = loop->param_count, results = loop->result_count;
    size_t walked = kernel->plan != NULL ? loop->values.len : 0, used = 0;
    kernel->in = next_book(memory, &used, slots_of(loop->params, params));
    kernel->out = next_book(memory, &used, slots_of(loop->results, results));
    kernel->args = next_book(memory, &used, params);
    kernel->args_at = next_book(memory, &used, params);
    kernel->made = next_book(memory, &used, 2 * results);
    kernel->made_at = next_book(memory, &used, 2 * results);
    kernel->values = next_book(memory, &used, walked);
    kernel->moved = next_book(memory, &used, walked);
    kernel->frame = next_book(memory, &used, kernel->frame_slots);
    return used;
}

static void make_books(ExecKernel *kernel, Arena *arena) {
    lay_out(kernel, arena_array(arena, uint64_t, lay_out(kernel, NULL)));
}

void exec_kernel_init(ExecKernel *kernel, const LoopKernel *loop, uint32_t number,
                      Arena *arena) {
    *kernel = (ExecKernel){.loop = loop, .number = number};
    make_books(kernel, arena);
}

void exec_kernel_plan(ExecKernel *kernel, const LoopPlan *plan, Arena *arena) {
    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t width = plan->launches[i].in_count + plan->launches[i].out_count;
        if (width > kernel->frame_slots) kernel->frame_slots = width;
    }
    kernel->plan = plan;
    make_books(kernel, arena);
}

size_t exec_books_size(const ExecKernel *kernel) {
    ExecKernel copy = *kernel;
    return lay_out(&copy, NULL) * sizeof(uint64_t);
}

ExecKernel exec_with_books(const ExecKernel *kernel, void *memory) {
    ExecKernel copy = *kernel;
    lay_out(&copy, memory);
    return copy;
}

// ---- arguments ----------------------------------------------------------------------

ExecStatus exec_status(Status status) {
    if (status == STATUS_OK) return EXEC_OK;
    return status == STATUS_MEMORY ? EXEC_MEMORY : EXEC_BROKEN;
}

// A row-major copy on the host.
static RtArray *copy_of(RtHeap *heap, const RtArray *a) {
    RtArray *copy = rt_new(heap, a->elem, a->rank, a->shape);
    if (copy == NULL) return NULL;
    rt_copy_elements(copy->data, copy->strides, a->data, a->strides, a->rank, a->shape,
                     scalar_info[a->elem].bytes);
    heap->copied++;
    return copy;
}

static Status bring_to_host(RtHeap *heap, RtArray *array, bool is_owned, bool may_take,
                            RtArray **arg_out) {
    Status status = rt_fetch(heap, array);
    if (status != STATUS_OK) return status;
    bool is_fit = rt_is_contiguous(array);
    if (is_owned) {
        if (array->base == NULL && array->refs == 1 && may_take && !array->is_lent)
            rt_drop_copies(heap, array); // they would be old
        is_fit = is_fit && may_take && rt_is_unshared(array);
    }
    *arg_out = is_fit ? rt_retain(array) : copy_of(heap, array);
    return *arg_out != NULL ? STATUS_OK : STATUS_MEMORY;
}

static Status bring_to_device(RtHeap *heap, RtArray *array, bool is_owned,
                              bool may_take, Device *device, RtArray **arg_out,
                              uint64_t *at_out) {
    if (!rt_is_contiguous(array)) {
        *arg_out = copy_of(heap, array); // a view, which the host has
        may_take = true;
    } else {
        *arg_out = rt_retain(array);
    }
    if (*arg_out == NULL) return STATUS_MEMORY;
    if (!is_owned) return rt_send(heap, *arg_out, device, at_out);
    Status status;
    RtArray *held = *arg_out;
    // Our own reference is not another's.
    if (held == array) rt_release(heap, held);
    *arg_out = rt_own_on(heap, held, may_take, device, at_out, &status);
    if (held != array) rt_release(heap, held);
    return status;
}

static Status bring(const ExecCall *call, uint32_t param) {
    ExecKernel *kernel = call->kernel;
    RtArray *array = call->args[param].array;
    bool is_owned = kernel->loop->params[param].is_owned;
    bool may_take = call->may_take[param];
    RtArray **arg = &kernel->args[param];
    uint64_t *at = &kernel->args_at[param];
    if (call->device != NULL)
        return bring_to_device(call->heap, array, is_owned, may_take, call->device, arg,
                               at);
    Status status = bring_to_host(call->heap, array, is_owned, may_take, arg);
    if (status == STATUS_OK) *at = (uintptr_t)(*arg)->data;
    return status;
}

// A view has copies of its own, and elements that are another's.
static void pin(RtArray *array) {
    array->pins++;
    if (array->base != NULL) array->base->pins++;
}

static void unpin(RtArray *array) {
    array->pins--;
    if (array->base != NULL) array->base->pins--;
}

ExecStatus ports_open(const ExecCall *call) {
    ExecKernel *kernel = call->kernel;
    memset(kernel->args, 0, kernel->loop->param_count * sizeof *kernel->args);
    memset(kernel->made, 0, 2 * kernel->loop->result_count * sizeof *kernel->made);
    uint64_t *slot = kernel->in;
    // All are pinned first, so that making room for one does not move another.
    for (uint32_t i = 0; i < kernel->loop->param_count; i++)
        if (call->args[i].rank > 0) pin(call->args[i].array);
    for (uint32_t i = 0; i < kernel->loop->param_count; i++) {
        const RtValue *arg = &call->args[i];
        if (arg->rank == 0) {
            *slot++ = arg->bits;
            continue;
        }
        Status status = bring(call, i);
        if (kernel->args[i] != NULL) pin(kernel->args[i]);
        if (status != STATUS_OK) return exec_status(status);
        *slot++ = kernel->args_at[i];
        for (uint32_t d = 0; d < arg->rank; d++)
            *slot++ = (uint64_t)arg->array->shape[d];
    }
    return EXEC_OK;
}

// ---- results ------------------------------------------------------------------------

// Whether it is known where the result belongs.
static bool is_laid(const ExecCall *call, uint32_t number) {
    return number < call->kernel->loop->result_count && call->lays != NULL &&
           call->lays[number].whole != NULL;
}

// On the host: where it belongs, so that nobody has to copy it there.
static RtArray *new_result(const ExecCall *call, uint32_t number, CoreType type,
                           const int64_t *shape) {
    RtArray *array = NULL;
    if (is_laid(call, number)) array = rt_part(call->heap, &call->lays[number], shape);
    if (array != NULL) return array;
    return rt_new(call->heap, (ScalarType)type.elem, type.rank, shape);
}

static void let_go(RtHeap *heap, RtArray **arrays, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (arrays[i] == NULL) continue;
        unpin(arrays[i]);
        rt_release(heap, arrays[i]);
        arrays[i] = NULL;
    }
}

static void note_made(const ExecCall *call, uint32_t number, RtArray *array,
                      uint64_t address) {
    ExecKernel *kernel = call->kernel;
    pin(array);
    let_go(call->heap, &kernel->made[number], 1);
    kernel->made[number] = array;
    kernel->made_at[number] = address;
}

ExecStatus ports_result(const ExecCall *call, uint32_t number, const int64_t *shape,
                        uint64_t *address_out) {
    const LoopKernel *loop = call->kernel->loop;
    CoreType type = loop->results[number % loop->result_count].type;
    Status status = STATUS_OK;
    RtArray *array;
    if (call->device != NULL) {
        array = rt_new_on(call->heap, call->device, (ScalarType)type.elem, type.rank,
                          shape, address_out, &status);
    } else {
        array = new_result(call, number, type, shape);
        if (array != NULL) *address_out = (uintptr_t)array->data;
        else status = STATUS_MEMORY;
    }
    if (array == NULL) return exec_status(status);
    note_made(call, number, array, *address_out);
    return EXEC_OK;
}

void *ports_room(const ExecCall *call, uint32_t number, const int64_t *shape) {
    CoreType type = call->kernel->loop->results[number].type;
    if (is_laid(call, number)) return NULL;
    RtArray *array = rt_new_room(call->heap, (ScalarType)type.elem, type.rank, shape);
    if (array == NULL) return NULL;
    note_made(call, number, array, (uintptr_t)array->data);
    return array->data;
}

// The kernel's book of the array whose memory the result lies in.
static RtArray **find_array(ExecKernel *kernel, uint32_t result, uint64_t address) {
    const LoopKernel *loop = kernel->loop;
    for (uint32_t i = result; i < 2 * loop->result_count; i += loop->result_count)
        if (kernel->made[i] != NULL && kernel->made_at[i] == address)
            return &kernel->made[i];
    for (uint32_t i = 0; i < loop->param_count; i++)
        if (kernel->args[i] != NULL && kernel->args_at[i] == address &&
            loop->params[i].is_owned)
            return &kernel->args[i];
    return NULL;
}

// The result, with so many rows; it leaves the kernel's books.
static RtArray *take_array(const ExecCall *call, uint32_t result, uint64_t address,
                           int64_t rows) {
    ExecKernel *kernel = call->kernel;
    RtArray **from = find_array(kernel, result, address);
    assert(from != NULL);
    if ((*from)->room > 0) rt_fit(call->heap, *from, rows);
    RtArray *array = *from;
    *from = NULL;
    unpin(array);
    return array;
}

void ports_take(const ExecCall *call) {
    ExecKernel *kernel = call->kernel;
    const uint64_t *slot = kernel->out;
    for (uint32_t i = 0; i < kernel->loop->result_count; i++) {
        CoreType type = kernel->loop->results[i].type;
        RtValue *value = &call->results[i];
        *value = (RtValue){.elem = (ScalarType)type.elem, .rank = type.rank};
        uint64_t first = *slot++;
        if (type.rank == 0) {
            value->bits = first;
            continue;
        }
        value->array = take_array(call, i, first, (int64_t)slot[0]);
        slot += type.rank;
    }
}

void ports_close(const ExecCall *call) {
    ExecKernel *kernel = call->kernel;
    for (uint32_t i = 0; i < kernel->loop->param_count; i++)
        if (call->args[i].rank > 0) unpin(call->args[i].array);
    let_go(call->heap, kernel->args, kernel->loop->param_count);
    let_go(call->heap, kernel->made, 2 * kernel->loop->result_count);
}

// ---- calls --------------------------------------------------------------------------

void exec_fault(ExecEnd *end, const LoopStm *const *checks, int32_t check,
                const uint64_t *values, const int32_t *calls, int32_t call_count) {
    end->status = EXEC_FAULT;
    end->check = check < 0 ? NULL : checks[check];
    end->call_count = (uint32_t)call_count;
    memcpy(end->values, values, sizeof end->values);
    for (int32_t i = 0; i < call_count; i++) end->calls[i] = checks[calls[i]];
}

static void run_code(const ExecCall *call, ExecEnd *end_out) {
    if (call->device != NULL && dev_has_launches(call->device))
        exec_launches(call, end_out);
    else exec_native(call, end_out);
}

// Of a device that others have left meanwhile the arguments may be gone: however it
// ended, that tells nothing.
void exec_call(const ExecCall *call, ExecEnd *end_out) {
    end_out->status = ports_open(call);
    if (end_out->status == EXEC_OK) run_code(call, end_out);
    if (call->device != NULL && call->device->is_left) end_out->status = EXEC_BROKEN;
    if (end_out->status == EXEC_OK) ports_take(call);
    ports_close(call);
}
