// SPDX-License-Identifier: Apache-2.0
//
// A whole as a task (ahead_task.h): it is there when its parts are. Most lie where they
// belong by then, so that nothing is left to do; others, as those that a kernel made by
// overwriting its argument, are copied there.
#include "api/ahead_task.h"

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

// Whether there was memory.
static bool put_parts(ApiTask *task) {
    RtArray *whole = task->promised[0];
    int64_t done = 0;
    if (whole->is_away && !rt_begin_whole(&task->context->heap, whole, count_rows(task),
                                          part_of(task, 0)->shape))
        return false;
    size_t bytes = scalar_info[whole->elem].bytes;
    for (uint32_t i = 0; i < task->arg_count; i++) {
        const RtArray *part = part_of(task, i);
        if (rt_count(part) == 0) continue;
        char *to = whole->data + (size_t)(done * whole->strides[0]) * bytes;
        if (part->base != whole || part->data != to)
            rt_copy_elements(to, whole->strides, part->data, part->strides, part->rank,
                             part->shape, bytes);
        done += part->shape[0];
    }
    return true;
}

static bool is_ready(const RtErrand *base) {
    return api_task_has_args(api_task_of(base));
}

static bool run(RtErrand *base) {
    ApiTask *task = api_task_of(base);
    api_ahead_unbook(task);
    exec_end_init(&task->end, fits(task) ? EXEC_MEMORY : EXEC_FAULT);
    if (task->end.status == EXEC_FAULT || !put_parts(task)) {
        task->end.wanted = task->promised[0]->memory_size;
        return false;
    }
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
