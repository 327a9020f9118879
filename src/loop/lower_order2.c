// SPDX-License-Identifier: Apache-2.0
//
// Generate and map. A row is made right where it belongs when its shape is known before
// the loop: because the program says so, or because making one row for trial shows that
// the shape follows from what is known outside. Else the first row tells.
#include "loop/lower.h"

#include <string.h>

#include "core/rules.h"

LoopRef loop_length(Lower *l, Array *const *arrays, uint32_t count) {
    LoopRef n = arrays[0]->shape[0];
    for (uint32_t i = 1; i < count; i++)
        LOWER_CHECK(l, loop_eq(l->b, arrays[i]->shape[0], n), MESSAGE_LENGTHS,
                    show_scalar(n), show_scalar(arrays[i]->shape[0]));
    return n;
}

Val loop_feed(Lower *l, const Array *a, LoopRef i) {
    Val v = loop_element(l, a, i);
    if (v.array != NULL) v.array->block = 0; // the loop's, not the body's
    return v;
}

Feeds loop_feeds(Lower *l, const CoreStm *stm) {
    CoreFeeds feeds = core_feeds(stm);
    Feeds s = {.producer = feeds.producer, .count = feeds.count};
    s.arrays = arena_array(l->arena, Array *, s.count);
    for (uint32_t i = 0; i < s.count; i++)
        s.arrays[i] = loop_arg_array(l, stm, feeds.first + i);
    return s;
}

Val *loop_produce(Lower *l, const Feeds *s, LoopRef i) {
    if (s->producer == NULL) return NULL;
    Val *args = arena_array(l->arena, Val, s->count);
    Val *made = arena_array(l->arena, Val, s->producer->result_count);
    bool *is_ours = arena_array(l->arena, bool, s->producer->result_count);
    for (uint32_t k = 0; k < s->count; k++) args[k] = loop_feed(l, s->arrays[k], i);
    loop_body(l, s->producer, args, NULL, made, is_ours);
    return made;
}

bool loop_is_cheap(const CoreBody *producer) {
    enum { FEW = 16 };
    for (uint32_t i = 0; i < producer->stms.len; i++) {
        const CoreStm *stm = producer->stms.data[i];
        if (stm->body_count > 0 || stm->op == OP_CALL) return false;
    }
    return producer->stms.len <= FEW;
}

Array *loop_feeds_array(const Feeds *s, uint32_t k) {
    if (s->producer == NULL) return s->arrays[k];
    uint32_t param = 0;
    while (s->producer->params[param] != s->producer->results[k]) param++;
    return s->arrays[param];
}

typedef struct Rows {
    const CoreStm *stm;
    Array **feeds; // of a map
    uint32_t feed_count;
    uint32_t rank; // of the index space
    const LoopRef *space;
    LoopRef points;
    LoopRef **shapes;    // by result: of a row; a size may be -1
    uint32_t *first_arg; // by result: of the sizes that the program says
    Array **outs;        // by result; NULL: the first row tells its shape
} Rows;

static uint32_t row_rank(const Lower *l, const Rows *rows, uint32_t k) {
    return loop_core_type(l, rows->stm->outs[k]).rank - rows->rank;
}

static ScalarType elem_of(const Lower *l, const Rows *rows, uint32_t k) {
    return (ScalarType)loop_core_type(l, rows->stm->outs[k]).elem;
}

static const Val *row_args(Lower *l, const Rows *rows, const LoopRef *index) {
    uint32_t count = rows->stm->bodies[0]->param_count;
    Val *args = arena_array(l->arena, Val, count);
    for (uint32_t i = 0; i < count; i++)
        args[i] = rows->feeds == NULL ? val_scalar(index[i])
                                      : loop_feed(l, rows->feeds[i], index[0]);
    return args;
}

// ---- shapes -------------------------------------------------------------------------

static bool is_open(const Lower *l, const Rows *rows, uint32_t k) {
    for (uint32_t d = 0; d < row_rank(l, rows, k); d++)
        if (loop_is_int(l->b, rows->shapes[k][d], -1)) return true;
    return false;
}

// Whether the program leaves the size to the rows; -1 that is computed does not.
static bool says_open(const Lower *l, const CoreStm *stm, uint32_t arg) {
    const CoreValue *size = &l->core->values.data[stm->args[arg]];
    return size->is_const && (int64_t)size->bits == -1;
}

// Makes a row for trial and takes over sizes that are known outside of it.
static void try_row(Lower *l, Rows *rows) {
    const CoreStm *stm = rows->stm;
    uint32_t before = l->kernel->values.len, allocs = l->allocs, checks = l->checks;
    Val *vals = arena_array(l->arena, Val, stm->out_count);
    bool *is_ours = arena_array(l->arena, bool, stm->out_count);
    bool was_parallel = l->is_parallel;
    l->is_parallel = false;
    LoopRef index[CORE_MAX_RANK];
    for (uint32_t d = 0; d < rows->rank; d++)
        index[d] = loop_value(l->b, loop_scalar_type(SCALAR_I64), 0);
    loop_open(l->b, index, rows->rank);
    loop_body(l, stm->bodies[0], row_args(l, rows, index), NULL, vals, is_ours);
    loop_close(l->b, NULL, 0);
    l->is_parallel = was_parallel;
    l->allocs = allocs;
    l->checks = checks;
    for (uint32_t k = 0; k < stm->out_count; k++) {
        for (uint32_t d = 0; d < row_rank(l, rows, k); d++) {
            LoopRef size = loop_find(l->b, vals[k].array->shape[d]);
            uint64_t bits;
            if (loop_is_int(l->b, rows->shapes[k][d], -1) &&
                (size < before || loop_is_known(l->b, size, &bits)))
                rows->shapes[k][d] = size;
        }
    }
}

// What turns out as -1, and not to be open, fails later: it stands for anything else.
static LoopRef stated_size(Lower *l, const CoreStm *stm, uint32_t arg) {
    LoopRef size = loop_arg(l, stm, arg);
    bool is_wrong = loop_is_int(l->b, size, -1) && !says_open(l, stm, arg);
    return is_wrong ? loop_int(l->b, 0) : size;
}

static void read_sizes(Lower *l, Rows *rows) {
    const CoreStm *stm = rows->stm;
    uint32_t at = rows->feeds != NULL ? rows->feed_count : rows->rank;
    bool any_open = false;
    rows->shapes = arena_array(l->arena, LoopRef *, stm->out_count);
    rows->first_arg = arena_array(l->arena, uint32_t, stm->out_count);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        rows->first_arg[k] = at;
        rows->shapes[k] = arena_array(l->arena, LoopRef, row_rank(l, rows, k));
        for (uint32_t d = 0; d < row_rank(l, rows, k); d++)
            rows->shapes[k][d] = stated_size(l, stm, at++);
        any_open = any_open || is_open(l, rows, k);
    }
    if (any_open) try_row(l, rows);
}

// Makes the results whose shape is known. Without a row, sizes that were open are 0; so
// are those that are negative, since then no row can be made.
static void open_outs(Lower *l, Rows *rows) {
    LoopBuilder *b = l->b;
    const CoreStm *stm = rows->stm;
    rows->outs = arena_array(l->arena, Array *, stm->out_count);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        LoopRef shape[CORE_MAX_RANK];
        memcpy(shape, rows->space, rows->rank * sizeof *shape);
        for (uint32_t d = 0; d < row_rank(l, rows, k); d++) {
            LoopRef *size = &shape[rows->rank + d], zero = loop_int(b, 0);
            uint32_t at = rows->first_arg[k] + d;
            *size = rows->shapes[k][d];
            if (!says_open(l, stm, at)) {
                loop_check_size(l, loop_arg(l, stm, at));
                continue;
            }
            if (!loop_is_size(l, *size)) *size = loop_max(b, zero, *size);
            *size = loop_select(b, loop_eq(b, rows->points, zero), zero, *size);
        }
        if (is_open(l, rows, k)) continue;
        uint32_t rank = loop_core_type(l, stm->outs[k]).rank;
        loop_check_shape(l, elem_of(l, rows, k), rank, shape);
        if (row_rank(l, rows, k) == 0)
            rows->outs[k] = loop_reuse(l, stm, k, rank, shape, rows->outs);
        if (rows->outs[k] == NULL)
            rows->outs[k] = loop_fresh(l, elem_of(l, rows, k), rank, shape,
                                       loop_name(l, stm->outs[k])->place);
    }
}

// ---- rows ---------------------------------------------------------------------------

static Home *row_place(Lower *l, const Rows *rows, uint32_t k, const LoopRef *index) {
    Home *place = arena_new(l->arena, Home);
    const Array *part = loop_part(l, rows->outs[k], rows->rank, index);
    *place = (Home){.kind = PLACE_ROW,
                    .buf = part->buf,
                    .off = part->off,
                    .shape = rows->shapes[k],
                    .origin = place};
    return place;
}

// One turn: makes the row at that index and puts what has a place there.
static Val *make_row(Lower *l, const Rows *rows, const LoopRef *index) {
    uint32_t count = rows->stm->out_count;
    Home **places = arena_array(l->arena, Home *, count);
    Val *vals = arena_array(l->arena, Val, count);
    bool *is_ours = arena_array(l->arena, bool, count);
    const Val *args = row_args(l, rows, index);
    for (uint32_t k = 0; k < count; k++)
        if (rows->outs[k] != NULL && row_rank(l, rows, k) > 0)
            places[k] = row_place(l, rows, k, index);
    loop_body(l, rows->stm->bodies[0], args, places, vals, is_ours);
    loop_deliver(l, places, vals, count);
    for (uint32_t k = 0; k < count; k++)
        if (row_rank(l, rows, k) == 0)
            loop_store(l, rows->outs[k], index, vals[k].scalar);
    return vals;
}

static void make_known_rows(Lower *l, const Rows *rows) {
    Nest nest;
    loop_open_nest(l, &nest, rows->rank, rows->space, loop_free_order(l));
    make_row(l, rows, nest.index);
    loop_close_nest(l, &nest);
}

// ---- when the first row tells the shape ---------------------------------------------

// The shape of a row of result k, with its own sizes for those that are open.
static void close_shape(Lower *l, const Rows *rows, uint32_t k, const Array *row,
                        LoopRef *shape) {
    for (uint32_t d = 0; d < row->rank; d++)
        shape[d] = loop_is_int(l->b, rows->shapes[k][d], -1) ? row->shape[d]
                                                             : rows->shapes[k][d];
}

// The whole that row `i` belongs to: made for the first one, else as it is.
static Array *grow(Lower *l, const Rows *rows, uint32_t k, LoopRef i, const Array *row,
                   const Array *whole) {
    LoopBuilder *b = l->b;
    uint32_t rank = whole->rank, rest = rank - rows->rank;
    LoopRef shape[CORE_MAX_RANK], refs[1 + CORE_MAX_RANK];
    LoopBody *bodies[2];
    uint32_t known = l->sizes.len;
    memcpy(shape, rows->space, rows->rank * sizeof *shape);
    loop_open(b, NULL, 0);
    close_shape(l, rows, k, row, shape + rows->rank);
    loop_check_rows(l, rest, shape + rows->rank, row->shape);
    loop_check_shape(l, elem_of(l, rows, k), rank, shape);
    refs[0] = loop_alloc(l, elem_of(l, rows, k), loop_count(l, rank, shape));
    memcpy(refs + 1, shape + rows->rank, rest * sizeof *refs);
    bodies[0] = loop_close(b, refs, 1 + rest);
    l->sizes.len = known;
    loop_open(b, NULL, 0);
    loop_check_rows(l, rest, whole->shape + rows->rank, row->shape);
    refs[0] = whole->buf;
    memcpy(refs + 1, whole->shape + rows->rank, rest * sizeof *refs);
    bodies[1] = loop_close(b, refs, 1 + rest);
    LoopRef is_first = loop_eq(b, i, loop_int(b, 0));
    LoopStm *stm =
        loop_emit(b, LOOP_IF, &is_first, 1, loop_types(l, refs, 1 + rest), 1 + rest);
    loop_set_bodies(b, stm, bodies, 2);
    memcpy(shape + rows->rank, stm->outs + 1, rest * sizeof *shape);
    return loop_dense(l, elem_of(l, rows, k), stm->outs[0], loop_int(b, 0), rank,
                      shape);
}

// What stands for a row of result k where there is none: 0 for what is open.
static Array *no_row(Lower *l, const Rows *rows, uint32_t k) {
    LoopRef shape[CORE_MAX_RANK], zero = loop_int(l->b, 0);
    uint32_t rank = row_rank(l, rows, k);
    for (uint32_t d = 0; d < rank; d++)
        shape[d] =
            says_open(l, rows->stm, rows->first_arg[k] + d) ? zero : rows->shapes[k][d];
    LoopRef buf = loop_alloc(l, elem_of(l, rows, k), zero);
    return loop_dense(l, elem_of(l, rows, k), buf, zero, rank, shape);
}

// The whole of result k with rows of that shape.
static void whole_shape(const Rows *rows, uint32_t rank, const LoopRef *row,
                        LoopRef *shape) {
    memcpy(shape, rows->space, rows->rank * sizeof *shape);
    memcpy(shape + rows->rank, row, rank * sizeof *shape);
}

static Array *no_rows(Lower *l, const Rows *rows, uint32_t k) {
    LoopRef shape[CORE_MAX_RANK];
    const Array *row = no_row(l, rows, k);
    whole_shape(rows, row->rank, row->shape, shape);
    Array *a = loop_dense(l, elem_of(l, rows, k), row->buf, row->off,
                          rows->rank + row->rank, shape);
    a->block = loop_block(l);
    return a;
}

// Indices of point i.
static void find_point(Lower *l, const Rows *rows, LoopRef i, LoopRef *index) {
    for (uint32_t d = rows->rank; d-- > 1;) {
        index[d] = loop_rem(l->b, i, rows->space[d]);
        i = loop_quot(l->b, i, rows->space[d]);
    }
    index[0] = i;
}

// One after the other.
static void make_open_rows(Lower *l, Rows *rows) {
    uint32_t count = rows->stm->out_count, width = 0;
    uint32_t *number = arena_array(l->arena, uint32_t, count);
    Val *wholes = arena_array(l->arena, Val, count),
        *outs = arena_array(l->arena, Val, count);
    bool *is_ours = arena_array(l->arena, bool, count);
    bool was_parallel = l->is_parallel;
    l->is_parallel = false;
    for (uint32_t k = 0; k < count; k++) {
        if (rows->outs[k] != NULL) continue;
        number[width] = k;
        is_ours[width] = true;
        wholes[width++] = val_array(no_rows(l, rows, k));
    }
    Carry carry;
    loop_open_carry(l, &carry, wholes, NULL, width, rows->points);
    LoopRef index[CORE_MAX_RANK];
    find_point(l, rows, carry.index, index);
    Val *vals = make_row(l, rows, index), *next = arena_array(l->arena, Val, count);
    for (uint32_t i = 0; i < width; i++) {
        const Array *row = vals[number[i]].array;
        Array *whole = grow(l, rows, number[i], carry.index, row, carry.state[i].array);
        loop_copy(l, loop_part(l, whole, rows->rank, index), row);
        whole->block = loop_block(l);
        next[i] = val_array(whole);
    }
    loop_close_carry(l, &carry, next, is_ours, outs);
    for (uint32_t i = 0; i < width; i++) rows->outs[number[i]] = outs[i].array;
    l->is_parallel = was_parallel;
}

// ---- when it does, in parallel ------------------------------------------------------

// The first row of the open results, as buffers, offsets and sizes.
static LoopBody *make_first_row(Lower *l, const Rows *rows, LoopRef *refs) {
    uint32_t count = rows->stm->out_count, allocs = l->allocs, width = 0;
    LoopRef index[CORE_MAX_RANK], shape[CORE_MAX_RANK];
    for (uint32_t d = 0; d < rows->rank; d++) index[d] = loop_int(l->b, 0);
    loop_open(l->b, NULL, 0);
    LoopRef mark = loop_mark(l), *bufs = arena_array(l->arena, LoopRef, count);
    Val *vals = make_row(l, rows, index), *kept = arena_array(l->arena, Val, count);
    for (uint32_t k = 0; k < count; k++) {
        if (rows->outs[k] != NULL) continue;
        Array *row = vals[k].array;
        whole_shape(rows, row->rank, row->shape, shape);
        close_shape(l, rows, k, row, shape + rows->rank);
        loop_check_rows(l, row->rank, shape + rows->rank, row->shape);
        loop_check_shape(l, elem_of(l, rows, k), rows->rank + row->rank, shape);
        row = loop_copied(l, row, NULL);
        bufs[width] = row->buf;
        kept[width++].array = row;
    }
    loop_keep(l, mark, allocs, bufs, width);
    for (uint32_t i = 0; i < width; i++) kept[i].array->buf = bufs[i];
    return loop_close(l->b, refs, loop_flatten(l, kept, width, refs));
}

static LoopBody *make_no_row(Lower *l, const Rows *rows, LoopRef *refs) {
    uint32_t count = rows->stm->out_count, width = 0;
    Val *rows_of = arena_array(l->arena, Val, count);
    loop_open(l->b, NULL, 0);
    for (uint32_t k = 0; k < count; k++)
        if (rows->outs[k] == NULL) rows_of[width++].array = no_row(l, rows, k);
    return loop_close(l->b, refs, loop_flatten(l, rows_of, width, refs));
}

// Makes the whole of each open result, which begins with that row.
static void open_late_outs(Lower *l, Rows *rows, LoopRef some, const LoopRef *refs) {
    LoopRef index[CORE_MAX_RANK], shape[CORE_MAX_RANK];
    for (uint32_t d = 0; d < rows->rank; d++) index[d] = loop_int(l->b, 0);
    for (uint32_t k = 0; k < rows->stm->out_count; k++) {
        if (rows->outs[k] != NULL) continue;
        uint32_t rank = row_rank(l, rows, k);
        ScalarType elem = elem_of(l, rows, k);
        const Array *row = loop_dense(l, elem, refs[0], refs[1], rank, refs + 2);
        refs += 2 + rank;
        whole_shape(rows, rank, row->shape, shape);
        Array *whole = loop_fresh(l, elem, rows->rank + rank, shape,
                                  loop_name(l, rows->stm->outs[k])->place);
        loop_know_shape(l, whole);
        When when = loop_open_if(l, some);
        loop_copy(l, loop_part(l, whole, rows->rank, index), row);
        loop_close_if(l, when);
        rows->outs[k] = whole;
        rows->shapes[k] = whole->shape + rows->rank;
    }
}

// The first row in root code, then the others at once, right where they belong.
static void make_late_rows(Lower *l, Rows *rows) {
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    LoopRef some = loop_lt(b, zero, rows->points);
    uint32_t known = l->sizes.len;
    LoopRef *refs = arena_array(l->arena, LoopRef,
                                (2 + CORE_MAX_RANK) * (size_t)rows->stm->out_count);
    l->is_parallel = false;
    LoopBody *bodies[2] = {make_first_row(l, rows, refs)};
    l->sizes.len = known;
    bodies[1] = make_no_row(l, rows, refs);
    l->is_parallel = true;
    uint32_t width = bodies[1]->result_count;
    LoopStm *stm = loop_emit(b, LOOP_IF, &some, 1, loop_types(l, refs, width), width);
    loop_set_bodies(b, stm, bodies, 2);
    open_late_outs(l, rows, some, stm->outs);
    LoopRef others = loop_max(b, loop_sub(b, rows->points, one), zero);
    LoopRef index[CORE_MAX_RANK];
    Nest nest;
    loop_open_nest(l, &nest, 1, &others, ORDER_PARALLEL);
    find_point(l, rows, loop_add(b, nest.index[0], one), index);
    make_row(l, rows, index);
    loop_close_nest(l, &nest);
}

// ---- both ---------------------------------------------------------------------------

static void make_rows(Lower *l, Rows *rows) {
    bool any_open = false;
    read_sizes(l, rows);
    open_outs(l, rows);
    for (uint32_t k = 0; k < rows->stm->out_count; k++)
        any_open = any_open || rows->outs[k] == NULL;
    if (any_open && l->is_parallel) make_late_rows(l, rows);
    else if (any_open) make_open_rows(l, rows);
    else make_known_rows(l, rows);
    for (uint32_t k = 0; k < rows->stm->out_count; k++)
        loop_bind(l, rows->stm->outs[k], val_array(rows->outs[k]));
}

void loop_map(Lower *l, const CoreStm *stm) {
    Rows rows = {.stm = stm, .rank = 1, .feed_count = (uint32_t)stm->attrs[0]};
    rows.feeds = arena_array(l->arena, Array *, rows.feed_count);
    for (uint32_t i = 0; i < rows.feed_count; i++)
        rows.feeds[i] = loop_arg_array(l, stm, i);
    rows.points = loop_length(l, rows.feeds, rows.feed_count);
    rows.space = &rows.points;
    make_rows(l, &rows);
}

void loop_generate(Lower *l, const CoreStm *stm) {
    Rows rows = {.stm = stm, .rank = (uint32_t)stm->attrs[0]};
    LoopRef *space = arena_array(l->arena, LoopRef, rows.rank);
    for (uint32_t d = 0; d < rows.rank; d++) space[d] = loop_arg(l, stm, d);
    loop_check_shape(l, elem_of(l, &rows, 0), rows.rank, space);
    rows.space = space;
    rows.points = loop_count(l, rows.rank, space);
    make_rows(l, &rows);
}
