// SPDX-License-Identifier: Apache-2.0
//
// A whole as a task (ahead_task.h): it is there when its parts are. On the host most
// lie where they belong by then, so that nothing is left to do; others, as those that a
// kernel made by overwriting its argument, are copied there. What devices have stays
// there until somebody needs the whole (rt/store.h).
#include "api/ahead_task.h"

#include <string.h>

static RtArray *part_of(const ApiTask *task, uint32_t number) {
    return task->run.offer.args[number].array;
}

static int64_t count_rows(const ApiTask *task) {
    int64_t count = 0;
    for (uint32_t i = 0; i < task->arg_count; i++) count += part_of(task, i)->shape[0];
    return count;
}

// Who cuts an operator knows how many rows its parts have, and that they are alike;
// only core that somebody has written by hand may be wrong about that.
static bool fits(const ApiTask *task) {
    const RtArray *first = part_of(task, 0), *whole = task->promised[0];
    bool are_alike = whole->is_away || whole->shape[0] == count_rows(task);
    for (uint32_t i = 0; i < task->arg_count; i++)
        for (uint32_t d = 1; d < first->rank; d++)
            are_alike = are_alike && part_of(task, i)->shape[d] == first->shape[d];
    return are_alike;
}

// Whether parts, of which a device has some elements, stay where they are.
static bool stays_in_parts(const ApiTask *task) {
    bool any_away = false, are_dense = task->promised[0]->is_away;
    for (uint32_t i = 0; i < task->arg_count; i++) {
        const RtArray *part = part_of(task, i);
        any_away = any_away || (part->is_away && rt_count(part) > 0);
        are_dense = are_dense && rt_is_contiguous(part);
    }
    return any_away && are_dense;
}

static Status join_late(ApiTask *task) {
    const RtArray *first = part_of(task, 0);
    RtHeap *heap = &task->context->heap;
    int64_t shape[CORE_MAX_RANK];
    memcpy(shape, first->shape, first->rank * sizeof *shape);
    shape[0] = count_rows(task);
    RtArray *made = rt_join(heap, first->elem, first->rank, shape, task->run.offer.args,
                            task->arg_count);
    if (made == NULL) return STATUS_MEMORY;
    rt_keep_promise(heap, task->promised[0], made);
    return STATUS_OK;
}

static Status put_part(ApiTask *task, RtArray *part, char *to) {
    const RtArray *whole = task->promised[0];
    if (part->is_away) return rt_read(&task->context->heap, part, to);
    if (part->base != whole || part->data != to)
        rt_copy_elements(to, whole->strides, part->data, part->strides, part->rank,
                         part->shape, scalar_info[whole->elem].bytes);
    return STATUS_OK;
}

static Status put_parts(ApiTask *task) {
    RtArray *whole = task->promised[0];
    int64_t done = 0;
    Status status = STATUS_OK;
    if (whole->is_away && !rt_begin_whole(&task->context->heap, whole, count_rows(task),
                                          part_of(task, 0)->shape))
        return STATUS_MEMORY;
    size_t row = (size_t)whole->strides[0] * scalar_info[whole->elem].bytes;
    for (uint32_t i = 0; i < task->arg_count && status == STATUS_OK; i++) {
        RtArray *part = part_of(task, i);
        if (rt_count(part) == 0) continue;
        status = put_part(task, part, whole->data + (size_t)done * row);
        done += part->shape[0];
    }
    return status;
}

static ExecStatus make_whole(ApiTask *task) {
    if (!fits(task)) return EXEC_FAULT;
    Status status = stays_in_parts(task) ? join_late(task) : put_parts(task);
    return status == STATUS_OK       ? EXEC_OK
           : status == STATUS_MEMORY ? EXEC_MEMORY
                                     : EXEC_BROKEN;
}

static bool is_ready(const RtErrand *base) {
    return api_task_has_args(api_task_of(base));
}

static bool run(RtErrand *base) {
    ApiTask *task = api_task_of(base);
    api_ahead_unbook(task);
    exec_end_init(&task->end, make_whole(task));
    task->end.wanted = task->promised[0]->memory_size;
    if (task->end.status != EXEC_OK) return false;
    api_task_release_args(task);
    task->promised[0]->maker = NULL;
    api_task_free(task);
    return true;
}

ApiTask *api_task_join(ApiEngine *engine, const InterpOffer *parts, uint32_t count,
                       RtArray *whole) {
    ApiTask *task = api_task_alloc(engine, parts, count, 1, NULL);
    if (task == NULL) return NULL;
    task->errand.is_ready = is_ready;
    task->errand.run = run;
    task->errand.is_common = true;
    task->promised[0] = rt_retain(whole);
    whole->maker = &task->errand;
    return task;
}
