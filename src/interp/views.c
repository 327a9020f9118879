// SPDX-License-Identifier: Apache-2.0
//
// Views, which share their operand's memory, and writing to regions of an array, which
// reuses its memory when nobody else sees it.
#include "interp/run.h"

int64_t interp_check_index(Run *run, const Step *step, const RtArray *a, uint32_t d,
                           int64_t index) {
    if (index >= 0 && index < a->shape[d]) return index;
    if (a->rank == 1)
        interp_say(run, step, MESSAGE_INDEX, interp_number_text(run, index),
                   interp_number_text(run, a->shape[d]), NULL);
    interp_say(run, step, MESSAGE_INDEX_OF, interp_number_text(run, index),
               interp_number_text(run, a->shape[d]), interp_number_text(run, d + 1));
}

static void check_size(Run *run, const Step *step, int64_t size) {
    if (size < 0)
        interp_say(run, step, MESSAGE_NEGATIVE_SIZE, interp_number_text(run, size),
                   NULL, NULL);
}

// Every index start + i * stride of a range must lie in dimension d; an empty range
// may start anywhere.
static void check_range(Run *run, const Step *step, const RtArray *a, uint32_t d,
                        int64_t start, int64_t count, int64_t stride) {
    check_size(run, step, count);
    if (count == 0) return;
    interp_check_index(run, step, a, d, start);
    int64_t reach, last;
    if (__builtin_mul_overflow(count - 1, stride, &reach) ||
        __builtin_add_overflow(start, reach, &last))
        last = stride < 0 ? INT64_MIN : INT64_MAX;
    interp_check_index(run, step, a, d, last);
}

void interp_dim(Run *run, const Step *step) {
    const RtArray *a = interp_array(run, step->args[0]);
    interp_await(run, a);
    run->slots.data[step->out].bits = (uint64_t)a->shape[step->stm->attrs[0]];
}

// Down to a row; elements are loaded in step.c.
void interp_index(Run *run, const Step *step) {
    RtArray *a = interp_array(run, step->args[0]);
    uint32_t depth = step->stm->arg_count - 1;
    int64_t offset = 0;
    for (uint32_t d = 0; d < depth; d++) {
        int64_t index = interp_int(run, step->args[1 + d]);
        offset += interp_check_index(run, step, a, d, index) * a->strides[d];
    }
    interp_view(run, step, step->out, a, interp_at(a, offset), a->rank - depth,
                a->shape + depth, a->strides + depth);
}

void interp_slice(Run *run, const Step *step) {
    RtArray *a = interp_array(run, step->args[0]);
    uint32_t axis = (uint32_t)step->stm->attrs[0];
    int64_t start = interp_int(run, step->args[1]),
            count = interp_int(run, step->args[2]);
    int64_t stride = interp_int(run, step->args[3]);
    check_range(run, step, a, axis, start, count, stride);
    int64_t shape[CORE_MAX_RANK], strides[CORE_MAX_RANK];
    memcpy(shape, a->shape, a->rank * sizeof *shape);
    memcpy(strides, a->strides, a->rank * sizeof *strides);
    shape[axis] = count;
    // With fewer than two elements the stride is never used, and might overflow.
    strides[axis] = count < 2 ? 0 : strides[axis] * stride;
    char *data = count == 0 ? a->data : interp_at(a, start * a->strides[axis]);
    interp_view(run, step, step->out, a, data, a->rank, shape, strides);
}

// Whether what a device has stays there: it is the one part of what it becomes.
static bool reshape_away(Run *run, const Step *step, RtArray *a, uint32_t rank,
                         const int64_t *shape) {
    if (!a->is_away || !run->options->joins_late || rt_count(a) == 0) return false;
    RtArray *made = rt_join(run->heap, a->elem, rank, shape, &(RtValue){.array = a}, 1);
    if (made == NULL) return false;
    run->slots.data[step->out].array = made;
    return true;
}

void interp_reshape(Run *run, const Step *step) {
    RtArray *a = interp_array(run, step->args[0]);
    uint32_t rank = step->stm->arg_count - 1;
    int64_t shape[CORE_MAX_RANK], strides[CORE_MAX_RANK], stride = 1;
    size_t bytes;
    interp_await(run, a);
    for (uint32_t d = 0; d < rank; d++) {
        shape[d] = interp_int(run, step->args[1 + d]);
        check_size(run, step, shape[d]);
    }
    size_t wanted = (size_t)rt_count(a) * scalar_info[a->elem].bytes;
    if (!rt_byte_count(a->elem, rank, shape, &bytes) || bytes != wanted)
        interp_say(run, step, MESSAGE_RESHAPE, interp_number_text(run, rt_count(a)),
                   interp_shape_text(run, rank, shape), NULL);
    if (reshape_away(run, step, a, rank, shape)) return;
    if (a->is_away) interp_fetch(run, step, a);
    for (uint32_t d = rank; d-- > 0;) {
        strides[d] = stride;
        if (__builtin_mul_overflow(stride, shape[d], &stride)) stride = 0;
    }
    if (rt_is_contiguous(a)) {
        interp_view(run, step, step->out, a, a->data, rank, shape, strides);
        return;
    }
    RtArray *copy = interp_new(run, step, step->out, a->elem, rank, shape);
    int64_t flat[CORE_MAX_RANK];
    stride = 1;
    for (uint32_t d = a->rank; d-- > 0;) {
        flat[d] = stride;
        stride *= a->shape[d];
    }
    rt_copy_elements(copy->data, flat, a->data, a->strides, a->rank, a->shape,
                     scalar_info[a->elem].bytes);
}

void interp_permute(Run *run, const Step *step) {
    RtArray *a = interp_array(run, step->args[0]);
    int64_t shape[CORE_MAX_RANK], strides[CORE_MAX_RANK];
    for (uint32_t d = 0; d < a->rank; d++) {
        shape[d] = a->shape[step->stm->attrs[d]];
        strides[d] = a->strides[step->stm->attrs[d]];
    }
    interp_view(run, step, step->out, a, a->data, a->rank, shape, strides);
}

void interp_reverse(Run *run, const Step *step) {
    RtArray *a = interp_array(run, step->args[0]);
    uint32_t axis = (uint32_t)step->stm->attrs[0];
    int64_t strides[CORE_MAX_RANK];
    memcpy(strides, a->strides, a->rank * sizeof *strides);
    char *data = a->data;
    if (rt_count(a) > 0) {
        data = interp_at(a, (a->shape[axis] - 1) * strides[axis]);
        strides[axis] = -strides[axis];
    }
    interp_view(run, step, step->out, a, data, a->rank, a->shape, strides);
}

// ---- writing ------------------------------------------------------------------------

typedef struct Region {
    int64_t offset; // of its first element
    uint32_t rank;
    int64_t shape[CORE_MAX_RANK], strides[CORE_MAX_RANK];
} Region;

// The region that an UPDATE writes; its strides are those of the array that is given.
static void find_region(Run *run, const Step *step, const RtArray *a, bool check,
                        Region *region) {
    region->offset = 0;
    region->rank = 0;
    uint32_t given = step->stm->attr_count;
    for (uint32_t d = 0; d < given; d++) {
        const uint32_t *triple = &step->args[2 + 3 * d];
        int64_t start = interp_int(run, triple[0]);
        if (step->stm->attrs[d] == 0) {
            if (check) interp_check_index(run, step, a, d, start);
            region->offset += start * a->strides[d];
            continue;
        }
        int64_t count = interp_int(run, triple[1]), stride = interp_int(run, triple[2]);
        if (check) check_range(run, step, a, d, start, count, stride);
        region->shape[region->rank] = count;
        region->strides[region->rank] = count < 2 ? 0 : stride * a->strides[d];
        region->rank++;
        if (count > 0) region->offset += start * a->strides[d];
    }
    for (uint32_t d = given; d < a->rank; d++) { // dimensions written whole
        region->shape[region->rank] = a->shape[d];
        region->strides[region->rank++] = a->strides[d];
    }
}

void interp_update(Run *run, const Step *step) {
    const RtArray *from = NULL;
    Slot value = run->slots.data[step->args[1]];
    Region region;
    find_region(run, step, interp_array(run, step->args[0]), true, &region);
    if (region.rank > 0) {
        from = value.array;
        if (memcmp(from->shape, region.shape, region.rank * sizeof *region.shape) != 0)
            interp_say(run, step, MESSAGE_REGION,
                       interp_shape_text(run, from->rank, from->shape),
                       interp_shape_text(run, region.rank, region.shape), NULL);
    }
    RtArray *a = interp_own(run, step, 0, step->out);
    find_region(run, step, a, false, &region); // a copy has strides of its own
    for (uint32_t d = 0; d < region.rank; d++)
        if (region.shape[d] == 0) return;
    char *at = interp_at(a, region.offset);
    size_t bytes = scalar_info[a->elem].bytes;
    if (from == NULL) interp_store(bytes, at, value.bits);
    else
        rt_copy_elements(at, region.strides, from->data, from->strides, region.rank,
                         region.shape, bytes);
}

// Where the made indices lead in the array; false: out of range.
static bool find_made(const Run *run, const Step *step, const RtArray *a,
                      int64_t *offset_out) {
    uint32_t depth = (uint32_t)step->stm->attrs[0];
    *offset_out = 0;
    for (uint32_t d = 0; d < depth; d++) {
        int64_t index = interp_int(run, step->made + d);
        if (index < 0 || index >= a->shape[d]) return false;
        *offset_out += index * a->strides[d];
    }
    return true;
}

// The shape of the rows that a producer hands on: those of an array.
static void check_made_rows(Run *run, const Step *step, const RtArray *dest) {
    uint32_t depth = (uint32_t)step->stm->attrs[0];
    const Code *producer = step->bodies[0];
    if (dest->rank == depth) return;
    const Feed *feed = &step->feeds[producer->results[depth] - producer->param];
    const int64_t *wanted = dest->shape + depth, *row = feed->array->shape + 1;
    if (memcmp(wanted, row, (dest->rank - depth) * sizeof *row) != 0)
        interp_say(run, step, MESSAGE_ROWS,
                   interp_shape_text(run, dest->rank - depth, wanted),
                   interp_shape_text(run, dest->rank - depth, row), NULL);
}

static void scatter_made(Run *run, const Step *step) {
    uint32_t depth = (uint32_t)step->stm->attrs[0], arrays = step->stm->arg_count - 1;
    int64_t n = interp_open_feeds(run, step, 1, arrays), offset;
    check_made_rows(run, step, interp_array(run, step->args[0]));
    RtArray *a = interp_own(run, step, 0, step->out);
    size_t bytes = scalar_info[a->elem].bytes;
    const Slot *value = &run->slots.data[step->made + depth];
    Loop loop;
    interp_enter(run, &loop, step, n);
    for (int64_t i = 0; i < n; i++) {
        interp_turn(run, step, i);
        interp_produce(run, step, i);
        if (rt_count(a) > 0 && find_made(run, step, a, &offset)) {
            char *at = interp_at(a, offset);
            if (a->rank == depth) interp_store(bytes, at, value->bits);
            else
                rt_copy_elements(at, a->strides + depth, value->array->data,
                                 value->array->strides, value->array->rank,
                                 value->array->shape, bytes);
        }
        interp_drop_made(run, step);
    }
    interp_leave(run);
    interp_close_feeds(run, step, arrays);
}

void interp_scatter(Run *run, const Step *step) {
    if (step->stm->body_count > 0) {
        scatter_made(run, step);
        return;
    }
    uint32_t depth = (uint32_t)step->stm->attrs[0];
    const RtArray *from = interp_array(run, step->args[1 + depth]);
    const RtArray *dest = interp_array(run, step->args[0]);
    for (uint32_t d = 0; d < depth; d++) {
        const RtArray *indices = interp_array(run, step->args[1 + d]);
        if (indices->shape[0] != from->shape[0])
            interp_say(run, step, MESSAGE_INDICES,
                       interp_number_text(run, indices->shape[0]),
                       interp_number_text(run, from->shape[0]), NULL);
    }
    uint32_t row_rank = dest->rank - depth;
    if (memcmp(dest->shape + depth, from->shape + 1, row_rank * sizeof *from->shape) !=
        0)
        interp_say(run, step, MESSAGE_ROWS,
                   interp_shape_text(run, row_rank, dest->shape + depth),
                   interp_shape_text(run, row_rank, from->shape + 1), NULL);
    RtArray *a = interp_own(run, step, 0, step->out);
    if (rt_count(a) == 0 || rt_count(from) == 0) return;
    ptrdiff_t bytes = scalar_info[a->elem].bytes;
    for (int64_t i = 0; i < from->shape[0]; i++) {
        int64_t offset = 0;
        bool is_inside = true;
        for (uint32_t d = 0; d < depth && is_inside; d++) {
            const RtArray *indices = interp_array(run, step->args[1 + d]);
            size_t size = scalar_info[indices->elem].bytes;
            uint64_t bits = interp_load(size, indices->data + i * indices->strides[0] *
                                                                  (ptrdiff_t)size);
            int64_t index = interp_wide(indices->elem, bits);
            is_inside = index >= 0 && index < a->shape[d];
            if (is_inside) offset += index * a->strides[d];
        }
        if (is_inside)
            rt_copy_elements(a->data + offset * bytes, a->strides + depth,
                             from->data + i * from->strides[0] * bytes,
                             from->strides + 1, row_rank, from->shape + 1,
                             (size_t)bytes);
    }
}
