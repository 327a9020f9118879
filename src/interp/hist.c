// SPDX-License-Identifier: Apache-2.0
//
// Histograms. An exact one folds its values into dest in index order. An inexact one
// has a number of parts that follows from the numbers of values and bins; each part
// starts from the neutral element in bins of its own, the parts are joined by a tree,
// bin by bin, and dest joins last.
#include "interp/run.h"

// The step's arguments and its groups of slots.
typedef struct Hist {
    Run *run;
    const Step *step;
    const Code *op;
    uint32_t width, depth;  // results; index arrays
    uint32_t arrays;        // feeds
    bool has_producer;
    int64_t n, bins;
    int64_t sizes[CORE_MAX_RANK];  // of the index space
} Hist;

static uint32_t bins_group(const Hist *h, uint32_t number) {
    return h->step->spare + number * h->width;
}
static uint32_t value_group(const Hist *h) {
    return bins_group(h, 1 + PART_LEVELS);
}

// ---- bins: an array per component, row-major; bin b is element or row b -------------

static uint32_t row_rank(const Hist *h, const RtArray *bins) {
    return bins->rank - h->depth;
}

static char *bin_at(const Hist *h, const RtArray *bins, int64_t b) {
    int64_t row = rt_count(bins) > 0;
    for (uint32_t d = h->depth; d < bins->rank && row > 0; d++) row *= bins->shape[d];
    return bins->data + (size_t)(b * row) * scalar_info[bins->elem].bytes;
}

static void load_bin(const Hist *h, uint32_t group, int64_t b, uint32_t to) {
    for (uint32_t c = 0; c < h->width; c++) {
        RtArray *bins = interp_array(h->run, group + c);
        char *at = bin_at(h, bins, b);
        if (row_rank(h, bins) == 0)
            h->run->slots.data[to + c].bits =
                interp_load(scalar_info[bins->elem].bytes, at);
        else
            interp_view(h->run, h->step, to + c, bins, at, row_rank(h, bins),
                        bins->shape + h->depth, bins->strides + h->depth);
    }
}

static void store_bin(const Hist *h, uint32_t group, int64_t b, uint32_t from) {
    for (uint32_t c = 0; c < h->width; c++) {
        RtArray *bins = interp_array(h->run, group + c);
        char *at = bin_at(h, bins, b);
        size_t bytes = scalar_info[bins->elem].bytes;
        if (row_rank(h, bins) == 0) {
            interp_store(bytes, at, h->run->slots.data[from + c].bits);
            continue;
        }
        RtArray *row = interp_array(h->run, from + c);
        const int64_t *shape = bins->shape + h->depth;
        if (memcmp(row->shape, shape, row->rank * sizeof *shape) != 0)
            interp_say(h->run, h->step, MESSAGE_ROWS,
                       interp_shape_text(h->run, row->rank, shape),
                       interp_shape_text(h->run, row->rank, row->shape), NULL);
        rt_copy_elements(at, bins->strides + h->depth, row->data, row->strides,
                         row->rank, shape, bytes);
    }
}

// bin b of `group` = op(left, right), from the params of op.
static void apply(const Hist *h, uint32_t group, int64_t b) {
    uint32_t value = value_group(h);
    interp_code(h->run, h->op);
    interp_take(h->run, h->op, value);
    for (uint32_t c = 0; c < h->width; c++) {
        if (!h->run->is_array.data[value + c]) continue;
        // A result may be a view of the very bins it goes to, in another order.
        RtArray *row = interp_array(h->run, value + c);
        if (row->base == NULL) continue;
        interp_copy(h->run, h->step, value + c, row);
        rt_release(h->run->heap, row);
    }
    store_bin(h, group, b, value);
    interp_drop_all(h->run, value, h->width);
}

// left[b] = op(left[b], right[b]) for every bin.
static void join_bins(const Hist *h, uint32_t left, uint32_t right) {
    for (int64_t b = 0; b < h->bins; b++) {
        interp_poll(h->run, h->step);
        load_bin(h, left, b, h->op->param);
        load_bin(h, right, b, h->op->param + h->width);
        apply(h, left, b);
    }
}

// ---- values -------------------------------------------------------------------------

static int64_t index_of(const Hist *h, int64_t i, uint32_t d) {
    if (h->has_producer) return interp_int(h->run, h->step->made + d);
    const Feed *feed = &h->step->feeds[d];
    uint64_t bits = interp_load(feed->bytes, feed->at + i * feed->step);
    return interp_wide(feed->array->elem, bits);
}

// The bin of value i, or -1.
static int64_t bin_of(const Hist *h, int64_t i) {
    int64_t bin = 0;
    for (uint32_t d = 0; d < h->depth; d++) {
        int64_t index = index_of(h, i, d);
        if (index < 0 || index >= h->sizes[d]) return -1;
        bin = bin * h->sizes[d] + index;
    }
    return bin;
}

static void load_value(const Hist *h, int64_t i, uint32_t to) {
    if (h->has_producer)
        interp_give(h->run, to, h->step->made + h->depth, h->width);
    else
        interp_feed(h->run, h->step, h->depth, h->width, i, to);
}

// Makes values for which there is no bin, since that may fail.
static void make_values(const Hist *h) {
    for (int64_t i = 0; i < h->n && h->has_producer; i++) {
        interp_turn(h->run, h->step, i);
        interp_produce(h->run, h->step, i);
        interp_drop_made(h->run, h->step);
    }
}

static void fold_values(const Hist *h, uint32_t group, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
        interp_turn(h->run, h->step, i);
        if (h->has_producer) interp_produce(h->run, h->step, i);
        int64_t b = bin_of(h, i);
        if (b >= 0) {
            load_bin(h, group, b, h->op->param);
            load_value(h, i, h->op->param + h->width);
            apply(h, group, b);
        }
        if (h->has_producer) interp_drop_made(h->run, h->step);
    }
}

// ---- parts --------------------------------------------------------------------------

static int64_t count_parts(const Hist *h) {
    int64_t most = h->bins > INT64_MAX / 4 ? INT64_MAX : 4 * h->bins;
    int64_t parts = h->n / (most > CORE_BLOCK ? most : CORE_BLOCK);
    return parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : parts;
}

// floor(p * n / parts), which p * n might overflow on the way.
static int64_t part_start(const Hist *h, int64_t p, int64_t parts) {
    return h->n / parts * p + h->n % parts * p / parts;
}

static void new_part(const Hist *h, uint32_t group) {
    for (uint32_t c = 0; c < h->width; c++) {
        const RtArray *dest = interp_array(h->run, h->step->out + c);
        interp_new(h->run, h->step, group + c, dest->elem, dest->rank, dest->shape);
    }
    for (int64_t b = 0; b < h->bins; b++) {
        interp_poll(h->run, h->step);
        for (uint32_t c = 0; c < h->width; c++)
            interp_lend(h->run, value_group(h) + c, h->step->args[h->width + c], 1);
        store_bin(h, group, b, value_group(h));
        interp_drop_all(h->run, value_group(h), h->width);
    }
}

// right = left op right, bin by bin; left is emptied.
static void merge(const Hist *h, uint32_t left, uint32_t right) {
    join_bins(h, left, right);
    interp_drop_all(h->run, right, h->width);
    interp_give(h->run, right, left, h->width);
}

static void fold_parts(const Hist *h) {
    int64_t parts = count_parts(h);
    uint32_t part = bins_group(h, 0);
    for (int64_t p = 0; p < parts; p++) {
        new_part(h, part);
        fold_values(h, part, part_start(h, p, parts), part_start(h, p + 1, parts));
        uint32_t level = 0;
        for (; (p >> level & 1) != 0; level++) merge(h, bins_group(h, 1 + level), part);
        interp_give(h->run, bins_group(h, 1 + level), part, h->width);
    }
    bool is_first = true;
    for (uint32_t level = 0; level < PART_LEVELS; level++) {
        if ((parts >> level & 1) == 0) continue;
        if (is_first)
            interp_give(h->run, part, bins_group(h, 1 + level), h->width);
        else
            merge(h, bins_group(h, 1 + level), part);
        is_first = false;
    }
    join_bins(h, h->step->out, part);
    interp_drop_all(h->run, part, h->width);
}

// ---- the whole ----------------------------------------------------------------------

// Row-major and ours to write to.
static void own_dest(const Hist *h, uint32_t c) {
    RtArray *dest = interp_array(h->run, h->step->args[c]);
    if (rt_is_contiguous(dest))
        interp_own(h->run, h->step, c, h->step->out + c);
    else
        interp_copy(h->run, h->step, h->step->out + c, dest);
}

void interp_hist(Run *run, const Step *step) {
    Hist hist = {.run = run, .step = step, .op = step->bodies[0], .bins = 1},
         *h = &hist;
    h->width = (uint32_t)step->stm->attrs[0];
    h->depth = (uint32_t)step->stm->attrs[1];
    h->has_producer = step->stm->body_count > 1;
    h->arrays = step->stm->arg_count - 2 * h->width;
    h->n = interp_open_feeds(run, step, 2 * h->width, h->arrays);
    bool has_bins = false;  // if all are empty, the number of bins might overflow
    for (uint32_t c = 0; c < h->width; c++) {
        const RtArray *dest = interp_array(run, step->args[c]);
        has_bins = has_bins || rt_count(dest) > 0;
        if (c == 0) memcpy(h->sizes, dest->shape, h->depth * sizeof *h->sizes);
        if (memcmp(h->sizes, dest->shape, h->depth * sizeof *h->sizes) != 0)
            interp_say(run, step, MESSAGE_HISTOGRAMS,
                       interp_shape_text(run, h->depth, h->sizes),
                       interp_shape_text(run, h->depth, dest->shape), NULL);
        own_dest(h, c);
    }
    for (uint32_t d = 0; d < h->depth && has_bins; d++) h->bins *= h->sizes[d];
    Loop loop;
    interp_enter(run, &loop, step, h->n);
    if (!has_bins)
        make_values(h);
    else if (step->stm->stamp == STAMP_PARTS)
        fold_parts(h);
    else
        fold_values(h, step->out, 0, h->n);
    interp_leave(run);
    interp_close_feeds(run, step, h->arrays);
}
