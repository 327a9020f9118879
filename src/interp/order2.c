// SPDX-License-Identifier: Apache-2.0
//
// Elements in and out of second-order operators, and the two that only map: generate
// and map. Elements go straight from memory into the slots of the body's params and
// back; rows go in as views and are copied out.
#include "interp/run.h"

// ---- feeds --------------------------------------------------------------------------

int64_t interp_open_feeds(Run *run, const Step *step, uint32_t first, uint32_t count) {
    int64_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        Feed *feed = &step->feeds[i];
        RtArray *a = interp_array(run, step->args[first + i]);
        feed->array = a;
        feed->at = a->data;
        feed->bytes = scalar_info[a->elem].bytes;
        feed->step = rt_count(a) == 0 ? 0 : a->strides[0] * (int64_t)feed->bytes;
        if (i == 0) n = a->shape[0];
        if (a->shape[0] != n)
            interp_say(run, step, MESSAGE_LENGTHS, interp_number_text(run, n),
                       interp_number_text(run, a->shape[0]), NULL);
    }
    return n;
}

// A view that nobody has kept moves on to the next row; else there is a new one.
static void feed_row(Run *run, const Step *step, const Feed *feed, int64_t i,
                     uint32_t to) {
    char *data = feed->at + i * feed->step;
    RtArray *view = interp_array(run, feed->view);
    if (view != NULL && view->refs == 1) {
        view->data = data;
    } else {
        interp_drop(run, feed->view);
        interp_view(run, step, feed->view, feed->array, data, feed->array->rank - 1,
                    feed->array->shape + 1, feed->array->strides + 1);
    }
    interp_lend(run, to, feed->view, 1);
}

void interp_feed(Run *run, const Step *step, uint32_t first, uint32_t count, int64_t i,
                 uint32_t to) {
    for (uint32_t k = 0; k < count; k++) {
        const Feed *feed = &step->feeds[first + k];
        if (feed->view != 0)
            feed_row(run, step, feed, i, to + k);
        else
            run->slots.data[to + k].bits =
                interp_load(feed->bytes, feed->at + i * feed->step);
    }
}

void interp_close_feeds(Run *run, const Step *step, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        if (step->feeds[k].view != 0) interp_drop(run, step->feeds[k].view);
}

void interp_produce(Run *run, const Step *step, int64_t i) {
    const Code *producer = step->bodies[step->stm->body_count - 1];
    interp_feed(run, step, 0, producer->param_count, i, producer->param);
    interp_code(run, producer);
    interp_take(run, producer, step->made);
}

void interp_drop_made(Run *run, const Step *step) {
    const Code *producer = step->bodies[step->stm->body_count - 1];
    interp_drop_all(run, step->made, producer->result_count);
}

// ---- sinks --------------------------------------------------------------------------

static void make_result(Run *run, const Step *step, uint32_t k) {
    Sink *sink = &step->sinks[k];
    ScalarType elem = interp_elem(run, step->stm->outs[k]);
    uint32_t rank = sink->space_rank + sink->row_rank;
    RtArray *a = interp_new(run, step, step->out + k, elem, rank, sink->shape);
    sink->at = a->data;
    sink->bytes = scalar_info[elem].bytes;
    for (uint32_t d = sink->space_rank; d < rank; d++)
        sink->bytes *= (size_t)sink->shape[d];  // harmless if it wraps: a is empty then
}

void interp_open_sink(Run *run, const Step *step, uint32_t k, uint32_t space_rank,
                      const int64_t *space, const int64_t *row) {
    Sink *sink = &step->sinks[k];
    bool is_known = true;
    sink->at = NULL;
    memcpy(sink->shape, space, space_rank * sizeof *space);
    for (uint32_t d = 0; d < sink->row_rank; d++) {
        if (row[d] == -1) is_known = false;
        sink->shape[space_rank + d] = row[d];
    }
    if (is_known) make_result(run, step, k);
}

// The first row tells the sizes that were left open.
static void fit_row(Run *run, const Step *step, uint32_t k, const RtArray *row) {
    Sink *sink = &step->sinks[k];
    int64_t *shape = sink->shape + sink->space_rank;
    for (uint32_t d = 0; d < sink->row_rank; d++) {
        if (shape[d] == -1 && sink->at == NULL) continue;
        if (shape[d] == row->shape[d]) continue;
        for (uint32_t e = 0; e < sink->row_rank; e++)
            if (shape[e] == -1) shape[e] = row->shape[e];
        interp_say(run, step, MESSAGE_ROWS,
                   interp_shape_text(run, sink->row_rank, shape),
                   interp_shape_text(run, sink->row_rank, row->shape), NULL);
    }
    if (sink->at != NULL) return;
    memcpy(shape, row->shape, sink->row_rank * sizeof *shape);
    make_result(run, step, k);
}

void interp_sink(Run *run, const Step *step, uint32_t k, int64_t i, uint32_t from) {
    Sink *sink = &step->sinks[k];
    if (sink->row_rank == 0) {
        interp_store(sink->bytes, sink->at + (size_t)i * sink->bytes,
                     run->slots.data[from].bits);
        return;
    }
    const RtArray *row = interp_array(run, from);
    fit_row(run, step, k, row);
    if (rt_count(row) == 0) return;
    const RtArray *a = interp_array(run, step->out + k);
    rt_copy_elements(sink->at + (size_t)i * sink->bytes, a->strides + sink->space_rank,
                     row->data, row->strides, row->rank, row->shape,
                     scalar_info[row->elem].bytes);
}

void interp_close_sink(Run *run, const Step *step, uint32_t k, const int64_t *row) {
    Sink *sink = &step->sinks[k];
    if (sink->at != NULL) return;
    for (uint32_t d = 0; d < sink->row_rank; d++)
        if (sink->shape[sink->space_rank + d] == -1)
            sink->shape[sink->space_rank + d] = row == NULL ? 0 : row[d];
    make_result(run, step, k);
}

// ---- generate and map ---------------------------------------------------------------

// A row size that is -1 leaves it open only where the program says so itself.
static void open_sinks(Run *run, const Step *step, uint32_t space_rank,
                       const int64_t *space, uint32_t first_size) {
    for (uint32_t k = 0; k < step->stm->out_count; k++) {
        int64_t row[CORE_MAX_RANK];
        for (uint32_t d = 0; d < step->sinks[k].row_rank; d++, first_size++) {
            row[d] = interp_int(run, step->args[first_size]);
            bool is_open = core_is_const(run->program, step->stm->args[first_size]);
            if (row[d] < -1 || (row[d] == -1 && !is_open))
                interp_say(run, step, MESSAGE_NEGATIVE_SIZE,
                           interp_number_text(run, row[d]), NULL, NULL);
        }
        interp_open_sink(run, step, k, space_rank, space, row);
    }
}

static void sink_results(Run *run, const Step *step, int64_t i) {
    const Code *body = step->bodies[0];
    for (uint32_t k = 0; k < body->result_count; k++) {
        interp_sink(run, step, k, i, body->results[k]);
        if (body->moves[k]) interp_drop(run, body->results[k]);
    }
}

static void close_sinks(Run *run, const Step *step) {
    for (uint32_t k = 0; k < step->stm->out_count; k++)
        interp_close_sink(run, step, k, NULL);
}

void interp_map(Run *run, const Step *step) {
    uint32_t arrays = (uint32_t)step->stm->attrs[0];
    const Code *body = step->bodies[0];
    int64_t n = interp_open_feeds(run, step, 0, arrays);
    open_sinks(run, step, 1, &n, arrays);
    Loop loop;
    interp_enter(run, &loop, step, n);
    for (int64_t i = 0; i < n; i++) {
        interp_turn(run, step, i);
        interp_feed(run, step, 0, arrays, i, body->param);
        interp_code(run, body);
        sink_results(run, step, i);
    }
    interp_leave(run);
    interp_close_feeds(run, step, arrays);
    close_sinks(run, step);
}

void interp_generate(Run *run, const Step *step) {
    uint32_t rank = (uint32_t)step->stm->attrs[0];
    const Code *body = step->bodies[0];
    int64_t *space = step->index_space;
    for (uint32_t d = 0; d < rank; d++) {
        space[d] = interp_int(run, step->args[d]);
        run->slots.data[body->param + d].bits = 0;
    }
    int64_t n = interp_points(run, step, (ScalarType)step->to, rank, space);
    open_sinks(run, step, rank, space, rank);
    Loop loop;
    interp_enter(run, &loop, step, n);
    for (int64_t i = 0; i < n; i++) {
        interp_turn(run, step, i);
        interp_code(run, body);
        sink_results(run, step, i);
        for (uint32_t d = rank; d-- > 0;) {
            uint64_t *index = &run->slots.data[body->param + d].bits;
            if (++*index < (uint64_t)space[d]) break;
            *index = 0;
        }
    }
    interp_leave(run);
    close_sinks(run, step);
}
