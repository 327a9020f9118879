// SPDX-License-Identifier: Apache-2.0
//
// Rules of nests: a map whose body maps, generates or folds is an operator of several
// dimensions, and may be cut along an inner one: the paper's map, zipWith and fold
// along dimension i > 0. Its body may also scan, or make a histogram, of which the
// parts are joined in rules_rows.c.
//
// The elements then come in another order, and a part may have none, so nothing may
// fail any more when they are made. The sizes at each level must be known outside of
// the nest; what could be wrong with them is checked there first, in the order and with
// the words of the whole. What is inside of a level that has no elements is not
// checked.
#include "fission/rules.h"

#include <string.h>

enum { MOST_LEVELS = 8, MOST_SHOWN = 5 };

typedef struct Nest {
    const CoreStm *level[MOST_LEVELS]; // outermost first
    uint32_t first[MOST_LEVELS + 1];   // the dimension where it begins
    uint32_t count;
} Nest;

static uint32_t space_rank(const CoreStm *stm) {
    return stm->op == OP_GENERATE ? (uint32_t)stm->attrs[0] : 1;
}

static bool is_made_by_last(const CoreBody *body) {
    if (body->stms.len == 0) return false;
    const CoreStm *last = body->stms.data[body->stms.len - 1];
    return last->out_count == body->result_count &&
           memcmp(last->outs, body->results, last->out_count * sizeof *last->outs) == 0;
}

// Whether nothing before the body's last statement has an effect.
static bool is_quiet(const FissionSplit *s, const CoreBody *body) {
    CoreBody before = *body;
    before.stms.len--;
    return !fission_has_effect(s, &before);
}

// Whether parts of what comes to the statement may be taken by themselves.
static bool is_exact(const FissionSplit *s, const CoreStm *stm) {
    bool may_be_apart = stm->stamp == STAMP_FREE;
    if (stm->op == OP_HIST) may_be_apart = fission_bins_may_be_apart(s, stm);
    for (uint32_t i = 0; i < stm->body_count && may_be_apart; i++)
        may_be_apart = !fission_has_effect(s, stm->bodies[i]);
    return may_be_apart;
}

static bool is_exact_fold(const FissionSplit *s, const CoreStm *stm) {
    return stm->op == OP_REDUCE && is_exact(s, stm);
}

static bool is_exact_rows(const FissionSplit *s, const CoreStm *stm) {
    return (stm->op == OP_SCAN || stm->op == OP_HIST) && is_exact(s, stm);
}

static const CoreStm *last_of(const Nest *nest) {
    return nest->level[nest->count - 1];
}

static void add_level(Nest *nest, const CoreStm *stm) {
    nest->level[nest->count++] = stm;
    nest->first[nest->count] = nest->first[nest->count - 1] + space_rank(stm);
}

// The levels down to scalars, the last of which may be a fold; or to rows that are
// scans or histograms.
static bool find_nest(const FissionSplit *s, Nest *nest) {
    const CoreStm *stm = s->stm;
    *nest = (Nest){0};
    while (nest->count + 1 < MOST_LEVELS) {
        if (stm->op != OP_MAP && stm->op != OP_GENERATE) return false;
        add_level(nest, stm);
        const CoreBody *body = stm->bodies[0];
        const CoreStm *last =
            is_made_by_last(body) ? body->stms.data[body->stms.len - 1] : NULL;
        bool is_inner = core_type(s->program, stm->outs[0]).rank == space_rank(stm);
        for (uint32_t k = 0; k < stm->out_count; k++)
            if ((core_type(s->program, stm->outs[k]).rank == space_rank(stm)) !=
                is_inner)
                return false;
        if (is_inner && last != NULL && is_exact_fold(s, last) && is_quiet(s, body)) {
            add_level(nest, last);
            return true;
        }
        if (is_inner) return !fission_has_effect(s, body);
        if (last == NULL || !is_quiet(s, body)) return false;
        if (is_exact_rows(s, last)) {
            add_level(nest, last);
            return true;
        }
        stm = last;
    }
    return false;
}

// ---- sizes, seen from outside -------------------------------------------------------

static bool is_param(const CoreBody *body, CoreRef ref, uint32_t *index_out) {
    for (*index_out = 0; *index_out < body->param_count; ++*index_out)
        if (body->params[*index_out] == ref) return true;
    return false;
}

// Lets what is used at a level be what it is outside: a row of an array is the array,
// one dimension further in. False: it is made inside.
static bool lift(const Nest *nest, uint32_t level, CoreRef *ref, uint32_t *axis) {
    for (uint32_t l = level; l-- > 0;) {
        const CoreBody *body = nest->level[l]->bodies[0];
        uint32_t index;
        if (is_param(body, *ref, &index)) {
            if (nest->level[l]->op != OP_MAP) return false;
            *ref = nest->level[l]->args[index];
            ++*axis;
        } else if (core_find_def(body, *ref) != NULL) {
            return false;
        }
    }
    return true;
}

static bool can_lift(const FissionSplit *s, const Nest *nest, uint32_t level,
                     CoreRef ref) {
    uint32_t axis = 0;
    if (core_is_const(s->program, ref)) return true;
    bool is_scalar = core_type(s->program, ref).rank == 0;
    return lift(nest, level, &ref, &axis) && (!is_scalar || axis == 0);
}

// The args of a level from which its sizes are: arrays taken by element, or sizes.
static uint32_t first_feed(const CoreStm *stm) {
    return stm->op == OP_HIST ? core_feeds(stm).first : 0;
}

static uint32_t feed_end(const CoreStm *stm) {
    return stm->op == OP_HIST ? stm->arg_count : (uint32_t)stm->attrs[0];
}

// Behind these, the sizes of rows.
static bool has_rows(const CoreStm *stm) {
    return stm->op == OP_MAP || stm->op == OP_GENERATE;
}

static uint32_t size_end(const CoreStm *stm) {
    return has_rows(stm) ? stm->arg_count : feed_end(stm);
}

static bool is_open(const FissionSplit *s, CoreRef size) {
    return size == core_i64(s->program, -1);
}

// The arg of a level that says the size of dimension `dim` in rows of result k.
static uint32_t row_size(const FissionSplit *s, const Nest *nest, uint32_t level,
                         uint32_t k, uint32_t dim) {
    const CoreStm *stm = nest->level[level];
    uint32_t arg = feed_end(stm);
    for (uint32_t i = 0; i < k; i++)
        arg += core_type(s->program, stm->outs[i]).rank - space_rank(stm);
    return arg + dim - nest->first[level + 1];
}

static bool are_sizes_outside(const FissionSplit *s, const Nest *nest) {
    for (uint32_t l = 0; l < nest->count; l++)
        for (uint32_t i = first_feed(nest->level[l]); i < size_end(nest->level[l]); i++)
            if (!can_lift(s, nest, l, nest->level[l]->args[i])) return false;
    return true;
}

static uint32_t rank_of(const FissionSplit *s) {
    return core_type(s->program, s->stm->outs[0]).rank;
}

// All results have the rank of the first, and rows of the same sizes.
static bool are_alike(const FissionSplit *s, const Nest *nest) {
    for (uint32_t k = 1; k < s->stm->out_count; k++) {
        if (core_type(s->program, s->stm->outs[k]).rank != rank_of(s)) return false;
        for (uint32_t d = nest->first[1]; d < rank_of(s); d++)
            if (s->stm->args[row_size(s, nest, 0, k, d)] !=
                s->stm->args[row_size(s, nest, 0, 0, d)])
                return false;
    }
    return true;
}

// Whether the statement is a nest all of whose sizes are known outside.
static bool is_nest(const FissionSplit *s, Nest *nest) {
    return rank_of(s) <= MOST_SHOWN && find_nest(s, nest) &&
           fission_rows_are_said(s, feed_end(s->stm)) && are_sizes_outside(s, nest) &&
           are_alike(s, nest);
}

// Along the dimension of a scan elements need those before; how many bins there are is
// not seen from outside.
bool guard_inner(const FissionSplit *s) {
    Nest nest;
    if (s->dim >= rank_of(s) || !is_nest(s, &nest)) return false;
    if (last_of(&nest)->op == OP_HIST) return false;
    bool is_scan = last_of(&nest)->op == OP_SCAN;
    return s->dim >= nest.first[1] && (!is_scan || s->dim < nest.first[nest.count - 1]);
}

bool guard_inner_fold(const FissionSplit *s) {
    Nest nest;
    return s->dim == rank_of(s) && is_nest(s, &nest) && last_of(&nest)->op == OP_REDUCE;
}

bool guard_inner_scan(const FissionSplit *s) {
    Nest nest;
    return s->dim + 1 == rank_of(s) && is_nest(s, &nest) &&
           last_of(&nest)->op == OP_SCAN;
}

bool guard_inner_hist(const FissionSplit *s) {
    Nest nest;
    return s->dim == rank_of(s) && is_nest(s, &nest) && last_of(&nest)->op == OP_HIST;
}

const CoreBody *fission_inner_op(const FissionSplit *s) {
    Nest nest;
    if (s->stm->op == OP_REDUCE) return s->stm->bodies[0];
    find_nest(s, &nest);
    return last_of(&nest)->bodies[0];
}

// ---- checks -------------------------------------------------------------------------

typedef struct Sizes {
    CoreRef extent[CORE_MAX_RANK + 1]; // of each dimension
    CoreRef nothing[MOST_LEVELS + 1];  // whether no element is made at this level
} Sizes;

static CoreRef either(FissionSplit *s, CoreRef a, CoreRef b) {
    return fission_op2(s, OP_OR, a, b);
}

// Fails unless the size is not negative, or nobody asks for it.
static void check_size(FissionSplit *s, CoreRef nothing, CoreRef size) {
    CoreRef holds = fission_op2(s, OP_LE, core_i64(s->program, 0), size);
    holds = either(s, nothing, holds);
    if (holds == core_bool(s->program, true)) return;
    fission_check(s, holds, MESSAGE_NEGATIVE_SIZE, size, size);
}

static CoreRef outer_length(FissionSplit *s, const Nest *nest, uint32_t level,
                            uint32_t arg) {
    CoreRef array = nest->level[level]->args[arg];
    uint32_t axis = 0;
    lift(nest, level, &array, &axis);
    return fission_dim(s, array, axis);
}

static void measure_level(FissionSplit *s, const Nest *nest, uint32_t l, Sizes *sizes) {
    const CoreStm *stm = nest->level[l];
    CoreRef nothing = sizes->nothing[l], zero = core_i64(s->program, 0);
    CoreRef *extent = &sizes->extent[nest->first[l]];
    s->b->loc = stm->loc;
    if (stm->op == OP_GENERATE) {
        for (uint32_t d = 0; d < space_rank(stm); d++) {
            extent[d] = stm->args[d];
            check_size(s, nothing, extent[d]);
        }
    } else {
        extent[0] = outer_length(s, nest, l, first_feed(stm));
        for (uint32_t i = first_feed(stm) + 1; i < feed_end(stm); i++) {
            CoreRef m = outer_length(s, nest, l, i);
            CoreRef holds = either(s, nothing, fission_op2(s, OP_EQ, extent[0], m));
            fission_check(s, holds, MESSAGE_LENGTHS, extent[0], m);
        }
    }
    for (uint32_t i = feed_end(stm); i < size_end(stm); i++)
        if (!is_open(s, stm->args[i])) check_size(s, nothing, stm->args[i]);
    for (uint32_t d = 0; d < space_rank(stm); d++)
        nothing = either(s, nothing, fission_op2(s, OP_EQ, extent[d], zero));
    sizes->nothing[l + 1] = nothing;
}

// "[%0][%1] and [%2][%3]": the message on rows with that many dimensions.
static Str rows_text(const FissionSplit *s, uint32_t dims) {
    StrBuf out = strbuf(s->program->arena);
    Str text = core_messages[MESSAGE_ROWS];
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            strbuf_char(&out, text.ptr[i]);
            continue;
        }
        uint32_t from = text.ptr[++i] == '0' ? 0 : dims;
        for (uint32_t d = 0; d < dims; d++) strbuf_printf(&out, "[%%%u]", from + d);
    }
    return strbuf_done(&out);
}

// The rows that a level says must be those that the levels inside make.
static void check_rows(FissionSplit *s, const Nest *nest, uint32_t l,
                       const Sizes *sizes) {
    const CoreStm *stm = nest->level[l];
    s->b->loc = stm->loc;
    for (uint32_t k = 0; k < stm->out_count; k++) {
        uint32_t dims = core_type(s->program, stm->outs[k]).rank - space_rank(stm);
        CoreRef args[1 + 2 * MOST_SHOWN], holds = core_bool(s->program, true);
        for (uint32_t d = 0; d < dims; d++) {
            CoreRef made = sizes->extent[nest->first[l + 1] + d];
            CoreRef said = stm->args[row_size(s, nest, l, k, nest->first[l + 1] + d)];
            if (is_open(s, said)) said = made;
            if (said != made)
                holds =
                    fission_op2(s, OP_AND, fission_op2(s, OP_EQ, said, made), holds);
            args[1 + d] = said;
            args[1 + dims + d] = made;
        }
        args[0] = either(s, sizes->nothing[l + 1], holds);
        if (holds == core_bool(s->program, true)) continue;
        CoreType type = {SCALAR_BOOL, 0};
        core_emit(s->b, OP_CHECK, args, 1 + 2 * dims, &type, 1)->text =
            rows_text(s, dims);
    }
}

// What is cut of a map or generate is the size that is said, also of no rows at all.
// Rows of bins are whole in each part, so that the first one finds what is wrong with
// them.
CoreRef size_inner(FissionSplit *s) {
    Nest nest;
    Sizes sizes = {.nothing = {core_bool(s->program, false)}};
    find_nest(s, &nest);
    for (uint32_t l = 0; l < nest.count; l++) measure_level(s, &nest, l, &sizes);
    for (uint32_t l = nest.count; l-- > 0;)
        if (has_rows(nest.level[l]) && last_of(&nest)->op != OP_HIST)
            check_rows(s, &nest, l, &sizes);
    s->b->loc = s->stm->loc;
    if (s->dim == rank_of(s)) return sizes.extent[nest.first[nest.count - 1]];
    return s->stm->args[row_size(s, &nest, 0, 0, s->dim)];
}

// ---- parts --------------------------------------------------------------------------

// Lets the arrays of the body's last statement be slices of themselves. Of a histogram
// the first part goes into the bins given, each other into neutral ones.
static void slice_feeds(FissionSplit *s, CoreBody *body, uint32_t p) {
    CoreStm *last = body->stms.data[body->stms.len - 1];
    core_open(s->b, NULL, 0);
    for (uint32_t i = 0; i + 1 < body->stms.len; i++)
        core_append(s->b, body->stms.data[i]);
    for (uint32_t i = first_feed(last); i < feed_end(last); i++)
        last->args[i] = fission_slice(s, last->args[i], 0, s->start[p], s->length[p]);
    for (uint32_t k = 0; k < last->out_count && last->op == OP_HIST && p > 0; k++)
        last->args[k] = fission_neutral_bins(s, last, k);
    core_append(s->b, last);
    body->stms = core_close(s->b, NULL, 0)->stms;
}

void part_inner(FissionSplit *s, uint32_t p, CoreRef *results) {
    Nest nest;
    uint32_t l = 0;
    find_nest(s, &nest);
    CoreStm *whole = fission_again(s, s->stm->args), *stm = whole;
    CoreBody *around = NULL;
    // Down to the level that is cut.
    for (; l + 1 < nest.count && s->dim >= nest.first[l + 1]; l++) {
        for (uint32_t k = 0; k < stm->out_count && s->dim < rank_of(s); k++) {
            uint32_t arg = row_size(s, &nest, l, k, s->dim);
            if (!is_open(s, stm->args[arg])) stm->args[arg] = s->length[p];
        }
        around = stm->bodies[0];
        stm = around->stms.data[around->stms.len - 1];
    }
    if (stm->op == OP_GENERATE) {
        uint32_t d = s->dim - nest.first[l];
        stm->args[d] = s->length[p];
        if (p > 0) fission_shift(s, stm->bodies[0], d, s->start[p]);
    } else {
        slice_feeds(s, around, p);
    }
    for (uint32_t k = 0; k < whole->out_count; k++) results[k] = whole->outs[k];
}
