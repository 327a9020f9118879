// SPDX-License-Identifier: Apache-2.0
//
// New arrays: from nothing, from elements, and by joining, cutting and packing others.
#include "interp/run.h"

// ---- allocation ---------------------------------------------------------------------

static _Noreturn void refuse_size(Run *run, const Step *step, ScalarType elem,
                                  uint32_t rank, const int64_t *shape) {
    for (uint32_t d = 0; d < rank; d++)
        if (shape[d] < 0)
            interp_say(run, step, MESSAGE_NEGATIVE_SIZE,
                       interp_number_text(run, shape[d]), NULL, NULL);
    StrBuf text = strbuf(run->arena);
    for (uint32_t d = 0; d < rank; d++)
        strbuf_printf(&text, "%lld × ", (long long)shape[d]);
    interp_fail(run, step, "an array of %.*s%d bytes cannot be represented",
                STR_ARG(strbuf_done(&text)), scalar_info[elem].bytes);
}

int64_t interp_points(Run *run, const Step *step, ScalarType elem, uint32_t rank,
                      const int64_t *shape) {
    size_t bytes;
    if (!rt_byte_count(elem, rank, shape, &bytes))
        refuse_size(run, step, elem, rank, shape);
    return (int64_t)(bytes / scalar_info[elem].bytes);
}

RtArray *interp_new(Run *run, const Step *step, uint32_t slot, ScalarType elem,
                    uint32_t rank, const int64_t *shape) {
    size_t bytes;
    if (!rt_byte_count(elem, rank, shape, &bytes))
        refuse_size(run, step, elem, rank, shape);
    const InterpBeside *beside = run->options->beside;
    RtArray *a = rt_new(run->heap, elem, rank, shape);
    while (a == NULL && beside != NULL && beside->relieve(run->options->kernel_data))
        a = rt_new(run->heap, elem, rank, shape);
    if (a == NULL) interp_fail_memory(run, step, bytes);
    run->slots.data[slot].array = a;
    return a;
}

RtArray *interp_view(Run *run, const Step *step, uint32_t slot, RtArray *a, char *data,
                     uint32_t rank, const int64_t *shape, const int64_t *strides) {
    RtArray *view = rt_view(run->heap, a, data, rank, shape, strides);
    if (view == NULL) interp_fail_memory(run, step, sizeof *view + 16 * (size_t)rank);
    run->slots.data[slot].array = view;
    return view;
}

RtArray *interp_copy(Run *run, const Step *step, uint32_t slot, RtArray *a) {
    RtArray *copy = interp_new(run, step, slot, a->elem, a->rank, a->shape);
    rt_copy_elements(copy->data, copy->strides, a->data, a->strides, a->rank, a->shape,
                     scalar_info[a->elem].bytes);
    return copy;
}

RtArray *interp_own(Run *run, const Step *step, uint32_t arg, uint32_t slot) {
    RtArray *a = interp_array(run, step->args[arg]);
    if (!step->moves[arg] || !rt_is_unshared(a)) return interp_copy(run, step, slot, a);
    interp_give(run, slot, step->args[arg], 1);
    return a;
}

// ---- from nothing -------------------------------------------------------------------

// Shares of devices are literals that change while a program runs (fission/strategy.h).
static bool is_as_before(const RtArray *a, const CoreStm *stm) {
    return a != NULL && ((stm->flags & STM_CHANGES) == 0 ||
                         memcmp(a->data, stm->text.ptr, stm->text.len) == 0);
}

void interp_literal(Run *run, const Step *step) {
    Str text = step->stm->text;
    if (!is_as_before(interp_array(run, step->spare), step->stm)) {
        interp_drop(run, step->spare);
        int64_t count = (int64_t)(text.len / scalar_info[step->to].bytes);
        RtArray *a =
            interp_new(run, step, step->spare, (ScalarType)step->to, 1, &count);
        if (text.len != 0) memcpy(a->data, text.ptr, text.len);
    }
    interp_lend(run, step->out, step->spare, 1);
}

// The element with number i: start + i * step in the array's type.
static uint64_t progression(ScalarType elem, uint64_t i, uint64_t start,
                            uint64_t step) {
    uint64_t pair[2] = {0, step};
    core_eval(OP_CONV, SCALAR_I64, elem, &i, &pair[0]);
    core_eval(OP_MUL, elem, elem, pair, &pair[1]);
    pair[0] = start;
    core_eval(OP_ADD, elem, elem, pair, &pair[0]);
    return pair[0];
}

void interp_iota(Run *run, const Step *step) {
    ScalarType elem = (ScalarType)step->to;
    int64_t count = interp_int(run, step->args[0]);
    uint64_t start = run->slots.data[step->args[1]].bits;
    uint64_t by = run->slots.data[step->args[2]].bits;
    RtArray *a = interp_new(run, step, step->out, elem, 1, &count);
    size_t bytes = scalar_info[elem].bytes;
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = scalar_is_float(elem)
                             ? progression(elem, (uint64_t)i, start, by)
                             : start + (uint64_t)i * by;
        interp_store(bytes, a->data + (size_t)i * bytes, value);
    }
}

void interp_replicate(Run *run, const Step *step) {
    ScalarType elem = (ScalarType)step->to;
    size_t bytes = scalar_info[elem].bytes;
    int64_t shape[CORE_MAX_RANK] = {interp_int(run, step->args[0])};
    uint32_t row_rank = core_type(run->program, step->stm->args[1]).rank;
    Slot value = run->slots.data[step->args[1]];
    if (row_rank > 0) memcpy(shape + 1, value.array->shape, row_rank * sizeof *shape);
    RtArray *a = interp_new(run, step, step->out, elem, 1 + row_rank, shape);
    if (rt_count(a) == 0) return;
    for (int64_t i = 0; i < shape[0]; i++) {
        char *at = a->data + (size_t)(i * a->strides[0]) * bytes;
        if (row_rank == 0) interp_store(bytes, at, value.bits);
        else
            rt_copy_elements(at, a->strides + 1, value.array->data,
                             value.array->strides, row_rank, shape + 1, bytes);
    }
}

// Unspecified contents are zeros here, so that runs can be compared.
void interp_scratch(Run *run, const Step *step) {
    int64_t shape[CORE_MAX_RANK];
    uint32_t rank = step->stm->arg_count;
    for (uint32_t d = 0; d < rank; d++) shape[d] = interp_int(run, step->args[d]);
    RtArray *a = interp_new(run, step, step->out, (ScalarType)step->to, rank, shape);
    memset(a->data, 0, a->memory_size);
}

// ---- from elements and parts --------------------------------------------------------

static void require_shape(Run *run, const Step *step, uint32_t rank,
                          const int64_t *first, const int64_t *other) {
    if (memcmp(first, other, rank * sizeof *first) == 0) return;
    interp_say(run, step, MESSAGE_ROWS, interp_shape_text(run, rank, first),
               interp_shape_text(run, rank, other), NULL);
}

// OP_ARRAY
void interp_list(Run *run, const Step *step) {
    int64_t shape[CORE_MAX_RANK] = {step->stm->arg_count};
    uint32_t row_rank = core_type(run->program, step->stm->args[0]).rank;
    size_t bytes = scalar_info[step->to].bytes;
    if (row_rank > 0)
        memcpy(shape + 1, interp_array(run, step->args[0])->shape,
               row_rank * sizeof *shape);
    for (uint32_t i = 1; i < step->stm->arg_count && row_rank > 0; i++)
        require_shape(run, step, row_rank, shape + 1,
                      interp_array(run, step->args[i])->shape);
    RtArray *a =
        interp_new(run, step, step->out, (ScalarType)step->to, 1 + row_rank, shape);
    for (uint32_t i = 0; i < step->stm->arg_count && rt_count(a) > 0; i++) {
        Slot value = run->slots.data[step->args[i]];
        char *at = a->data + (size_t)(i * a->strides[0]) * bytes;
        if (row_rank == 0) interp_store(bytes, at, value.bits);
        else
            rt_copy_elements(at, a->strides + 1, value.array->data,
                             value.array->strides, row_rank, shape + 1, bytes);
    }
}

// The shape of the parts joined; a part that alone has elements is the result itself.
static uint32_t measure_parts(Run *run, const Step *step, uint32_t axis,
                              int64_t *shape) {
    const RtArray *first = interp_array(run, step->args[0]);
    memcpy(shape, first->shape, first->rank * sizeof *shape);
    uint32_t filled = 0, only = 0;
    for (uint32_t i = 0; i < core_parts(step->stm); i++) {
        const RtArray *part = interp_array(run, step->args[i]);
        for (uint32_t d = 0; d < part->rank; d++) {
            if (d == axis || part->shape[d] == first->shape[d]) continue;
            interp_say(run, step, MESSAGE_JOIN,
                       interp_shape_text(run, first->rank, first->shape),
                       interp_shape_text(run, part->rank, part->shape),
                       interp_number_text(run, axis));
        }
        if (part->shape[axis] != 0) filled++, only = i;
        if (i > 0 &&
            __builtin_add_overflow(shape[axis], part->shape[axis], &shape[axis]))
            interp_say(run, step, MESSAGE_JOINED_SIZE,
                       interp_number_text(run, shape[axis]),
                       interp_number_text(run, part->shape[axis]), NULL);
    }
    return filled <= 1 ? only : UINT32_MAX;
}

// Puts a part into the whole at that address. What a device has comes straight from
// there, if it makes up one piece of the whole.
static void put_part(Run *run, const Step *step, RtArray *part, const RtArray *whole,
                     char *to) {
    if (part->is_away && step->stm->attrs[0] == 0) {
        interp_check_brought(run, step, rt_read(run->heap, part, to),
                             part->memory_size);
        return;
    }
    if (part->is_away) interp_fetch(run, step, part);
    rt_copy_elements(to, whole->strides, part->data, part->strides, part->rank,
                     part->shape, scalar_info[part->elem].bytes);
}

// The whole in which parts were made, if any was, or a new one.
static RtArray *open_whole(Run *run, const Step *step, const int64_t *shape) {
    const RtArray *first = interp_array(run, step->args[0]);
    RtArray *begun = step->spare != 0 ? interp_array(run, step->spare) : NULL;
    if (begun == NULL || begun->is_away ||
        memcmp(begun->shape, shape, first->rank * sizeof *shape) != 0)
        return interp_new(run, step, step->out, first->elem, first->rank, shape);
    interp_give(run, step->out, step->spare, 1);
    return begun;
}

// Whether parts, of which a device has some, stay where they are until somebody needs
// the whole.
static bool join_late(Run *run, const Step *step, const int64_t *shape) {
    const RtArray *begun = step->spare != 0 ? interp_array(run, step->spare) : NULL;
    bool any_away = false, are_dense = begun == NULL || begun->is_away;
    if (!run->options->joins_late || step->stm->attrs[0] != 0) return false;
    run->parts.len = 0;
    for (uint32_t i = 0; i < core_parts(step->stm); i++) {
        RtArray *part = interp_array(run, step->args[i]);
        if (rt_count(part) == 0) continue;
        any_away = any_away || part->is_away;
        are_dense = are_dense && rt_is_contiguous(part);
        vec_push(run->arena, &run->parts, (RtValue){.array = part});
    }
    if (!any_away || !are_dense) return false;
    ScalarType elem = run->parts.data[0].array->elem;
    uint32_t rank = run->parts.data[0].array->rank;
    RtArray *whole =
        rt_join(run->heap, elem, rank, shape, run->parts.data, run->parts.len);
    if (whole == NULL) return false;
    run->slots.data[step->out].array = whole;
    return true;
}

// Whether parts that are promised, of which two have elements, are joined beside the
// run; then the whole is promised, too.
static bool join_beside(Run *run, const Step *step) {
    const InterpBeside *beside = run->options->beside;
    uint32_t count = core_parts(step->stm), filled = 0;
    if (beside == NULL || step->spare == 0) return false;
    RtArray *whole = interp_array(run, step->spare);
    if (whole == NULL || step->stm->attrs[0] != 0) return false;
    bool is_promised = false;
    run->parts.len = 0;
    for (uint32_t i = 0; i < count; i++) {
        RtArray *part = interp_array(run, step->args[i]);
        is_promised = is_promised || part->maker != NULL;
        filled += interp_int(run, step->args[count + i]) != 0;
        RtValue value = {.elem = part->elem, .rank = part->rank, .array = part};
        vec_push(run->arena, &run->parts, value);
    }
    if (!is_promised || filled < 2) return false;
    InterpOffer offer = {.loc = step->stm->loc, .args = run->parts.data};
    interp_note_place(run, &offer);
    return beside->join(run->options->kernel_data, &offer, count, whole);
}

static void join_now(Run *run, const Step *step, uint32_t axis, const int64_t *shape) {
    RtArray *a = open_whole(run, step, shape);
    int64_t done = 0;
    for (uint32_t i = 0; i < core_parts(step->stm); i++) {
        RtArray *part = interp_array(run, step->args[i]);
        if (rt_count(part) == 0) continue;
        char *to = interp_at(a, done * a->strides[axis]);
        if (part->base != a || part->data != to) put_part(run, step, part, a, to);
        done += part->shape[axis];
    }
}

void interp_concat(Run *run, const Step *step) {
    uint32_t axis = (uint32_t)step->stm->attrs[0];
    int64_t shape[CORE_MAX_RANK];
    if (join_beside(run, step)) {
        interp_give(run, step->out, step->spare, 1);
        return;
    }
    for (uint32_t i = 0; i < core_parts(step->stm); i++)
        interp_await(run, interp_array(run, step->args[i]));
    uint32_t only = measure_parts(run, step, axis, shape);
    if (only != UINT32_MAX) {
        interp_pass(run, step, only, step->out);
        if (step->spare != 0) interp_drop(run, step->spare);
        return;
    }
    if (!join_late(run, step, shape)) join_now(run, step, axis, shape);
    if (step->spare != 0) interp_drop(run, step->spare);
}

void interp_split(Run *run, const Step *step) {
    uint32_t axis = (uint32_t)step->stm->attrs[0];
    RtArray *a = interp_array(run, step->args[0]);
    int64_t left = a->shape[axis];
    bool fits = true;
    for (uint32_t i = 0; i < step->stm->out_count; i++) {
        int64_t size = interp_int(run, step->args[1 + i]);
        if (size < 0)
            interp_say(run, step, MESSAGE_NEGATIVE_SIZE, interp_number_text(run, size),
                       NULL, NULL);
        fits = fits && size <= left;
        if (fits) left -= size;
    }
    if (!fits || left != 0) {
        StrBuf text = strbuf(run->arena);
        for (uint32_t i = 0; i < step->stm->out_count && i < CORE_SHOWN_PARTS; i++)
            strbuf_printf(&text, i == 0 ? "%lld" : " + %lld",
                          (long long)interp_int(run, step->args[1 + i]));
        if (step->stm->out_count > CORE_SHOWN_PARTS) strbuf_cstr(&text, " + ..");
        interp_fail(run, step, "parts of %.*s elements do not make up %lld",
                    STR_ARG(strbuf_done(&text)), (long long)a->shape[axis]);
    }
    int64_t shape[CORE_MAX_RANK], done = 0;
    memcpy(shape, a->shape, a->rank * sizeof *shape);
    for (uint32_t i = 0; i < step->stm->out_count; i++) {
        shape[axis] = interp_int(run, step->args[1 + i]);
        char *data = shape[axis] == 0 ? a->data : interp_at(a, done * a->strides[axis]);
        interp_view(run, step, step->out + i, a, data, a->rank, shape, a->strides);
        done += shape[axis];
    }
}

// OP_COPY
void interp_duplicate(Run *run, const Step *step) {
    RtArray *a = interp_array(run, step->args[0]);
    if (step->moves[0] && rt_is_unshared(a) && rt_is_contiguous(a))
        interp_give(run, step->out, step->args[0], 1);
    else interp_copy(run, step, step->out, a);
}

// Puts what was made of element i, after the flag, as row `at` of the arrays from slot
// `to` on.
static void keep_made(Run *run, const Step *step, uint32_t to, int64_t at) {
    for (uint32_t k = 0; k < step->stm->out_count; k++) {
        RtArray *a = interp_array(run, to + k);
        const Slot *value = &run->slots.data[step->made + 1 + k];
        size_t bytes = scalar_info[a->elem].bytes;
        if (a->rank == 1)
            interp_store(bytes, a->data + (size_t)at * bytes, value->bits);
        else if (rt_count(a) > 0)
            rt_copy_elements(interp_at(a, at * a->strides[0]), a->strides + 1,
                             value->array->data, value->array->strides, a->rank - 1,
                             a->shape + 1, bytes);
    }
}

// Memory for all rows, which those that are kept fill from the front.
static void open_made(Run *run, const Step *step, int64_t n) {
    const Code *producer = step->bodies[0];
    for (uint32_t k = 0; k < step->stm->out_count; k++) {
        int64_t shape[CORE_MAX_RANK] = {n};
        uint32_t rank = core_type(run->program, step->stm->outs[k]).rank;
        if (rank > 1) {
            const Feed *feed = &step->feeds[producer->results[1 + k] - producer->param];
            memcpy(shape + 1, feed->array->shape + 1, (rank - 1) * sizeof *shape);
        }
        interp_new(run, step, step->spare + k, interp_elem(run, step->stm->outs[k]),
                   rank, shape);
    }
}

static void close_made(Run *run, const Step *step, int64_t kept) {
    for (uint32_t k = 0; k < step->stm->out_count; k++) {
        const RtArray *all = interp_array(run, step->spare + k);
        int64_t shape[CORE_MAX_RANK];
        memcpy(shape, all->shape, all->rank * sizeof *shape);
        shape[0] = kept;
        RtArray *a = interp_new(run, step, step->out + k, all->elem, all->rank, shape);
        if (rt_count(a) > 0)
            memcpy(a->data, all->data,
                   (size_t)rt_count(a) * scalar_info[a->elem].bytes);
        interp_drop(run, step->spare + k);
    }
}

static void filter_made(Run *run, const Step *step) {
    int64_t n = interp_open_feeds(run, step, 0, step->stm->arg_count), kept = 0;
    open_made(run, step, n);
    Loop loop;
    interp_enter(run, &loop, step, n);
    for (int64_t i = 0; i < n; i++) {
        interp_turn(run, step, i);
        interp_produce(run, step, i);
        if (run->slots.data[step->made].bits != 0)
            keep_made(run, step, step->spare, kept++);
        interp_drop_made(run, step);
    }
    interp_leave(run);
    interp_close_feeds(run, step, step->stm->arg_count);
    close_made(run, step, kept);
}

void interp_filter(Run *run, const Step *step) {
    if (step->stm->body_count > 0) {
        filter_made(run, step);
        return;
    }
    const RtArray *flags = interp_array(run, step->args[0]);
    int64_t kept = 0;
    for (int64_t i = 0; i < flags->shape[0]; i++)
        kept += flags->data[i * flags->strides[0]] != 0;
    for (uint32_t k = 0; k < step->stm->out_count; k++) {
        const RtArray *from = interp_array(run, step->args[1 + k]);
        if (from->shape[0] != flags->shape[0])
            interp_say(run, step, MESSAGE_FLAGS,
                       interp_number_text(run, flags->shape[0]),
                       interp_number_text(run, from->shape[0]), NULL);
        int64_t shape[CORE_MAX_RANK];
        memcpy(shape, from->shape, from->rank * sizeof *shape);
        shape[0] = kept;
        RtArray *to =
            interp_new(run, step, step->out + k, from->elem, from->rank, shape);
        if (rt_count(to) == 0) continue;
        ptrdiff_t bytes = scalar_info[from->elem].bytes;
        char *at = to->data;
        for (int64_t i = 0; i < flags->shape[0]; i++) {
            if (flags->data[i * flags->strides[0]] == 0) continue;
            rt_copy_elements(
                at, to->strides + 1, from->data + i * from->strides[0] * bytes,
                from->strides + 1, from->rank - 1, from->shape + 1, (size_t)bytes);
            at += to->strides[0] * bytes;
        }
    }
}
