// SPDX-License-Identifier: Apache-2.0
//
// Sums of tall columns. Each column of a matrix that
//
//   map(columns) {c -> reduce.nested_lanes(c)}
//
// folds has its elements a row apart, and is longer than a block: alone, it would read
// memory a line for each element. Here all columns go down together, as rows lie in
// memory. A block of rows has the lanes of all columns, as a matrix of lanes by columns
// (docs/internals/interp.md), which takes in as many rows at a time; blocks go side by
// side, and the tree of pairs joins what they give:
//
//   totals = generate(blocks) {block -> {
//     lanes = generate(L, columns) {i, j -> pre(x[i, j])}
//     for each L rows more:
//       lanes = generate(L, columns) {i, j -> acc(lanes[i, j], x[i, j])}
//     for each half of L, down to 1:
//       lanes = generate(L, columns) {i, j -> op(lanes[i, j], lanes[i + half, j])}
//     lanes[0]}}
//   for each level: totals = generate(blocks, columns) {i, j -> op(2i, 2i + 1)}
//
// A map may fold its columns more than once, and the next fold may want what was made
// of the last, as a variance wants the mean: that is made for all columns in between.
// What else the map does, it does at the end with the sums of each column. Lanes fold
// the same elements in the same order, so that the bits are the same.
#include "opt/deep.h"

#include <string.h>

// How the columns of a fold are gone down.
typedef struct Descent {
    const DeepTall *t;
    CoreBuilder *b;
    const DeepFold *fold;
    CoreRef views[DEEP_FEEDS];
    // What its bodies want of the map's, and arrays of these for all columns.
    const CoreRef *numbers, *arrays;
    uint32_t number_count;
} Descent;

static CoreRef number(const Descent *d, int64_t value) {
    return deep_number(d->b, value);
}

static CoreRef op2(const Descent *d, CoreOp op, CoreRef x, CoreRef y) {
    return core_op2(d->b, op, x, y);
}

static CoreRef element(CoreBuilder *b, CoreRef array, const CoreRef *place,
                       uint32_t rank) {
    CoreRef args[1 + 2] = {array, place[0], place[rank - 1]};
    CoreType type = core_type(b->program, array);
    type.rank = (uint8_t)(type.rank - rank);
    return deep_emit_safe(b, OP_INDEX, args, 1 + rank, type, NULL, 0);
}

// ---- bodies of the fold -------------------------------------------------------------

// The body's results for these args, in that column.
static void apply(const Descent *d, const CoreBody *body, CoreRef column,
                  const CoreRef *args, CoreRef *out) {
    Arena *arena = d->b->program->arena;
    CoreRefs params = {0}, values = {0};
    CoreBody open = *body;
    for (uint32_t i = 0; i < d->number_count; i++) {
        vec_push(arena, &params, d->numbers[i]);
        vec_push(arena, &values, element(d->b, d->arrays[i], &column, 1));
    }
    for (uint32_t i = 0; i < body->param_count; i++) {
        vec_push(arena, &params, body->params[i]);
        vec_push(arena, &values, args[i]);
    }
    open.params = params.data;
    open.param_count = params.len;
    core_inline(d->b, &open, values.data, out);
}

static void join(const Descent *d, CoreRef column, const CoreRef *left,
                 const CoreRef *right, CoreRef *out) {
    CoreRef args[2 * DEEP_OUTS];
    uint32_t count = d->fold->stm->out_count;
    for (uint32_t k = 0; k < count; k++) {
        args[k] = left[k];
        args[count + k] = right[k];
    }
    apply(d, d->fold->stm->bodies[0], column, args, out);
}

static void elements(const Descent *d, CoreRef row, CoreRef column, CoreRef *out) {
    for (uint32_t i = 0; i < d->fold->count; i++) {
        bool is_column = d->fold->is_column[i];
        CoreRef place[] = {is_column ? column : row, row};
        out[i] = element(d->b, d->views[i], place, is_column ? 2 : 1);
    }
}

// What a lane starts with.
static void first(const Descent *d, CoreRef row, CoreRef column, CoreRef *out) {
    CoreRef x[DEEP_FEEDS];
    const CoreStm *stm = d->fold->stm;
    elements(d, row, column, x);
    if (stm->body_count > 1) apply(d, stm->bodies[1], column, x, out);
    else memcpy(out, x, stm->out_count * sizeof *out);
}

// What becomes of it with the element of that row.
static void later(const Descent *d, const CoreRef *so_far, CoreRef row, CoreRef column,
                  CoreRef *out) {
    CoreRef args[DEEP_OUTS + DEEP_FEEDS], x[DEEP_OUTS];
    const CoreStm *stm = d->fold->stm;
    if (stm->body_count > 2) {
        memcpy(args, so_far, stm->out_count * sizeof *args);
        elements(d, row, column, args + stm->out_count);
        apply(d, stm->bodies[2], column, args, out);
    } else {
        first(d, row, column, x);
        join(d, column, so_far, x, out);
    }
}

// ---- a block of rows ----------------------------------------------------------------

// Where a block begins, how many rows it has, and the last row of all.
typedef struct Block {
    CoreRef from, size, last;
} Block;

static void elements_of(const Descent *d, const CoreRef *arrays, const CoreRef *place,
                        uint32_t rank, CoreRef *out) {
    for (uint32_t k = 0; k < d->fold->stm->out_count; k++)
        out[k] = element(d->b, arrays[k], place, rank);
}

static const CoreRef *close_lanes(const Descent *d, const CoreRef *values) {
    CoreRef shape[] = {number(d, d->fold->lanes), d->t->columns};
    return deep_close_space(d->b, shape, 2, values, d->fold->stm->out_count);
}

// The first rows of the block, one for each lane that has any.
static const CoreRef *start_lanes(const Descent *d, Block at) {
    CoreRef place[2], values[DEEP_OUTS];
    deep_open_space(d->b, place, 2);
    CoreRef row = op2(d, OP_ADD, at.from, place[0]);
    first(d, op2(d, OP_MIN, row, at.last), place[1], values);
    return close_lanes(d, values);
}

// As many rows more at a time as there are lanes.
static const CoreRef *fold_rows(const Descent *d, Block at, const CoreRef *lanes,
                                CoreRef times) {
    CoreRef place[2], so_far[DEEP_OUTS], values[DEEP_OUTS];
    DeepLoop loop = deep_open_loop(d->b, times, lanes, d->fold->stm->out_count);
    CoreRef group = op2(d, OP_ADD, loop.index, number(d, 1));
    CoreRef done = op2(d, OP_MUL, group, number(d, d->fold->lanes));
    CoreRef from = op2(d, OP_ADD, at.from, done);
    deep_open_space(d->b, place, 2);
    elements_of(d, loop.state, place, 2, so_far);
    later(d, so_far, op2(d, OP_ADD, from, place[0]), place[1], values);
    return deep_close_loop(d->b, &loop, close_lanes(d, values));
}

// The last rows, for which there are lanes left over.
static const CoreRef *fold_rest(const Descent *d, Block at, const CoreRef *lanes,
                                CoreRef done) {
    CoreRef place[2], so_far[DEEP_OUTS], values[DEEP_OUTS];
    deep_open_space(d->b, place, 2);
    elements_of(d, lanes, place, 2, so_far);
    CoreRef next = op2(d, OP_ADD, done, place[0]);
    CoreRef row = op2(d, OP_MIN, op2(d, OP_ADD, at.from, next), at.last);
    later(d, so_far, row, place[1], values);
    CoreRef more = op2(d, OP_LT, next, at.size);
    for (uint32_t k = 0; k < d->fold->stm->out_count; k++)
        values[k] = core_select(d->b, more, values[k], so_far[k]);
    return close_lanes(d, values);
}

// Lane i takes in lane i + half, if that has elements, until one lane is left. Lanes
// from half on are of no account then.
static const CoreRef *fold_halves(const Descent *d, Block at, const CoreRef *lanes) {
    CoreRef place[2], left[DEEP_OUTS], right[DEEP_OUTS], joined[DEEP_OUTS];
    CoreRef levels = number(d, d->fold->lanes == 32 ? 5 : 4);
    CoreRef last = number(d, d->fold->lanes - 1);
    DeepLoop loop = deep_open_loop(d->b, levels, lanes, d->fold->stm->out_count);
    CoreRef half = op2(d, OP_SHR, number(d, d->fold->lanes / 2), loop.index);
    deep_open_space(d->b, place, 2);
    CoreRef other = op2(d, OP_ADD, place[0], half);
    CoreRef beside[] = {op2(d, OP_MIN, other, last), place[1]};
    elements_of(d, loop.state, place, 2, left);
    elements_of(d, loop.state, beside, 2, right);
    join(d, place[1], left, right, joined);
    CoreRef more = op2(d, OP_LT, other, at.size);
    for (uint32_t k = 0; k < d->fold->stm->out_count; k++)
        joined[k] = core_select(d->b, more, joined[k], left[k]);
    lanes = deep_close_loop(d->b, &loop, close_lanes(d, joined));
    CoreRef *first = arena_array(d->b->program->arena, CoreRef, DEEP_OUTS);
    elements_of(d, lanes, (CoreRef[]){number(d, 0)}, 1, first);
    return first;
}

static const CoreRef *fold_block(const Descent *d, CoreRef block) {
    CoreRef one = number(d, 1), many = number(d, d->fold->lanes);
    CoreRef from = op2(d, OP_MUL, block, number(d, CORE_BLOCK));
    CoreRef left = op2(d, OP_SUB, d->t->rows, from);
    CoreRef size = op2(d, OP_MIN, number(d, CORE_BLOCK), left);
    Block at = {from, size, op2(d, OP_SUB, d->t->rows, one)};
    CoreRef groups = op2(d, OP_MAX, op2(d, OP_QUOT, size, many), one);
    const CoreRef *lanes = start_lanes(d, at);
    lanes = fold_rows(d, at, lanes, op2(d, OP_SUB, groups, one));
    lanes = fold_rest(d, at, lanes, op2(d, OP_MUL, groups, many));
    return fold_halves(d, at, lanes);
}

// ---- blocks -------------------------------------------------------------------------

// Neighbours are joined, an odd last one moving up, until there is one: the tree of
// pairs. What lies behind those that are left is of no account.
static const CoreRef *fold_blocks(const Descent *d, const CoreRef *totals,
                                  CoreRef blocks) {
    uint32_t outs = d->fold->stm->out_count;
    CoreRef place[2], left[DEEP_OUTS], right[DEEP_OUTS], joined[DEEP_OUTS];
    CoreRef one = number(d, 1), last = op2(d, OP_SUB, blocks, one);
    CoreRef levels = deep_emit_levels(d->b, last);
    DeepLoop loop = deep_open_loop(d->b, levels, totals, outs);
    CoreRef end = op2(d, OP_SHR, last, loop.index); // the last one of this level
    deep_open_space(d->b, place, 2);
    CoreRef even = op2(d, OP_MUL, place[0], number(d, 2));
    CoreRef odd = op2(d, OP_ADD, even, one);
    CoreRef at[] = {op2(d, OP_MIN, even, last), place[1]};
    CoreRef beside[] = {op2(d, OP_MIN, odd, last), place[1]};
    elements_of(d, loop.state, at, 2, left);
    elements_of(d, loop.state, beside, 2, right);
    join(d, place[1], left, right, joined);
    CoreRef more = op2(d, OP_LE, odd, end);
    for (uint32_t k = 0; k < outs; k++)
        joined[k] = core_select(d->b, more, joined[k], left[k]);
    CoreRef shape[] = {blocks, d->t->columns};
    return deep_close_loop(d->b, &loop, deep_close_space(d->b, shape, 2, joined, outs));
}

// The results of the fold for all columns.
static void fold_columns(const Descent *d, CoreRef *out) {
    uint32_t outs = d->fold->stm->out_count;
    CoreRef block, above = op2(d, OP_ADD, d->t->rows, number(d, CORE_BLOCK - 1));
    CoreRef blocks = op2(d, OP_QUOT, above, number(d, CORE_BLOCK));
    deep_open_space(d->b, &block, 1);
    const CoreRef *totals = fold_block(d, block);
    CoreRef sizes[1 + DEEP_OUTS] = {blocks};
    CoreType types[DEEP_OUTS];
    for (uint32_t k = 0; k < outs; k++) {
        sizes[1 + k] = d->t->columns;
        types[k] = core_type(d->b->program, totals[k]);
        types[k].rank = 2;
    }
    CoreBody *body = core_close(d->b, totals, outs);
    CoreStm *stm = core_emit(d->b, OP_GENERATE, sizes, 1 + outs, types, outs);
    core_set_attrs(d->b, stm, &(int32_t){1}, 1);
    core_set_bodies(d->b, stm, &body, 1);
    totals = fold_blocks(d, stm->outs, blocks);
    elements_of(d, totals, (CoreRef[]){number(d, 0)}, 1, out);
}

// ---- the map ------------------------------------------------------------------------

// Numbers of each column, and the arrays of these.
typedef struct Numbers {
    CoreRefs params, arrays;
} Numbers;

static Numbers numbers_of(const DeepTall *t) {
    const CoreBody *body = t->map->bodies[0];
    Numbers have = {0};
    for (uint32_t i = 0; i < body->param_count; i++) {
        if (core_type(t->program, body->params[i]).rank > 0) continue;
        vec_push(t->program->arena, &have.params, body->params[i]);
        vec_push(t->program->arena, &have.arrays, t->map->args[i]);
    }
    return have;
}

// A number that the map's body makes of these, for all columns.
static CoreRef make_number(const DeepTall *t, const Numbers *have, uint32_t at,
                           CoreRef wanted) {
    Arena *arena = t->program->arena;
    CoreBody body = {.results = &wanted, .result_count = 1};
    DeepStms stms = deep_wanted(t->program, t->map->bodies[0], at, &body);
    CoreRef column, made, *values = arena_array(arena, CoreRef, have->params.len);
    body.params = have->params.data;
    body.param_count = have->params.len;
    for (uint32_t i = 0; i < stms.len; i++)
        if (stms.data[i]->op != OP_REDUCE) vec_push(arena, &body.stms, stms.data[i]);
    deep_open_space(t->b, &column, 1);
    for (uint32_t i = 0; i < have->params.len; i++)
        values[i] = element(t->b, have->arrays.data[i], &column, 1);
    core_inline(t->b, &body, values, &made);
    return deep_close_space(t->b, &t->columns, 1, &made, 1)[0];
}

// What the fold's bodies want of the map's.
static CoreRefs wanted_by(const DeepTall *t, const CoreStm *fold) {
    CoreRefs refs = {0}, wanted = {0};
    DeepScope own = deep_scope(t->rw, t->map);
    for (uint32_t i = 0; i < fold->body_count; i++)
        core_free(t->program, fold->bodies[i], t->program->arena, &refs);
    for (uint32_t i = 0; i < refs.len; i++)
        if (deep_is_inside(&own, refs.data[i]) &&
            !deep_has(wanted.data, wanted.len, refs.data[i]))
            vec_push(t->program->arena, &wanted, refs.data[i]);
    return wanted;
}

static void emit_fold(const DeepTall *t, Numbers *have, const DeepFold *fold) {
    Arena *arena = t->program->arena;
    const CoreStm *stm = fold->stm;
    CoreRefs wanted = wanted_by(t, stm), arrays = {0};
    CoreRef sums[DEEP_OUTS];
    for (uint32_t i = 0; i < wanted.len; i++) {
        CoreRef array = make_number(t, have, fold->at, wanted.data[i]);
        vec_push(arena, &arrays, array);
    }
    Descent d = {.t = t,
                 .b = t->b,
                 .fold = fold,
                 .numbers = wanted.data,
                 .arrays = arrays.data,
                 .number_count = wanted.len};
    for (uint32_t i = 0; i < fold->count; i++)
        d.views[i] = deep_view(t->rw, t->b, fold->feeds[i]);
    fold_columns(&d, sums);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        vec_push(arena, &have->params, stm->outs[k]);
        vec_push(arena, &have->arrays, sums[k]);
    }
}

static bool is_fold(const DeepTall *t, uint32_t at) {
    for (uint32_t i = 0; i < t->folds.len; i++)
        if (t->folds.data[i].at == at) return true;
    return false;
}

// What the map does with sums.
static void emit_rest(const DeepTall *t, const Numbers *have) {
    const CoreBody *body = t->map->bodies[0];
    uint32_t before = numbers_of(t).params.len;
    DeepStms stms = {0};
    Map none;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!is_fold(t, i)) vec_push(t->program->arena, &stms, body->stms.data[i]);
    CoreStm *rest =
        deep_map_like(t->program, t->map, &stms, body->results, body->result_count);
    deep_change_arrays(t->b, rest, have->arrays.data + before,
                       have->params.data + before, have->params.len - before);
    map_init(&none, core_notes(t->program));
    deep_emit_map(t->b, rest, rest->args, &none);
}

void deep_emit_tall(DeepTall *t) {
    Numbers have = numbers_of(t);
    for (uint32_t i = 0; i < t->folds.len; i++) emit_fold(t, &have, &t->folds.data[i]);
    emit_rest(t, &have);
}
