// SPDX-License-Identifier: Apache-2.0
//
// The parts of a nest: strips of rows, blocks of elements, lanes of a block. Lanes are
// folded by halves, and blocks by the tree of pairs, for all rows of a strip and all
// columns at once.
#include "opt/deep.h"

static const CoreType I64 = {SCALAR_I64, 0};

// ---- statements ---------------------------------------------------------------------

static CoreRef scratch(Deep *d, const CoreRef *shape, uint32_t rank) {
    return core_emit(d->b, OP_SCRATCH, shape, rank,
                     (CoreType[]){deep_elements(d, rank)}, 1)
        ->outs[0];
}

// The rows that begin at `row`, or the matrix of that number, become `value`.
static CoreRef put(Deep *d, CoreRef array, CoreRef value, CoreRef row, CoreRef rows) {
    CoreRef zero = deep_number(d, 0), one = deep_number(d, 1);
    CoreType type = core_type(d->program, array);
    bool is_rows = type.rank == 2;
    CoreRef args[] = {array,
                      value,
                      row,
                      is_rows ? rows : one,
                      one,
                      zero,
                      is_rows ? d->columns : rows,
                      one,
                      zero,
                      d->columns,
                      one};
    int32_t attrs[] = {is_rows, 1, 1};
    return deep_emit_safe(d, OP_UPDATE, args, 2 + 3u * type.rank, type, attrs,
                          type.rank);
}

static CoreRef element(Deep *d, CoreRef array, CoreRef at, const CoreRef place[2]) {
    CoreRef args[] = {array, at, place[0], place[1]};
    return deep_emit_safe(d, OP_INDEX, args, 4, deep_elements(d, 0), NULL, 0);
}

static CoreRef join(Deep *d, CoreRef left, CoreRef right) {
    CoreRef joined;
    core_inline(d->b, d->fold->bodies[0], (CoreRef[]){left, right}, &joined);
    return joined;
}

// ---- loops --------------------------------------------------------------------------

typedef struct Loop {
    CoreRef times, index, init, state;
} Loop;

static Loop open_loop(Deep *d, CoreRef times, CoreRef init) {
    Loop loop = {.times = times, .init = init};
    loop.index = core_value(d->program, I64, 0);
    loop.state = core_value(d->program, core_type(d->program, init), 0);
    core_open(d->b, (CoreRef[]){loop.index, loop.state}, 2);
    return loop;
}

static CoreRef close_loop(Deep *d, const Loop *loop, CoreRef next) {
    CoreBody *body = core_close(d->b, &next, 1);
    CoreType type = core_type(d->program, loop->init);
    CoreStm *stm =
        core_emit(d->b, OP_FOR, (CoreRef[]){loop->times, loop->init}, 2, &type, 1);
    core_set_bodies(d->b, stm, &body, 1);
    return stm->outs[0];
}

static void open_matrix(Deep *d, CoreRef place_out[2]) {
    for (int k = 0; k < 2; k++) place_out[k] = core_value(d->program, I64, 0);
    core_open(d->b, place_out, 2);
}

static CoreRef close_matrix(Deep *d, CoreRef rows, CoreRef value) {
    CoreBody *body = core_close(d->b, &value, 1);
    CoreType type = deep_elements(d, 2);
    CoreStm *stm =
        core_emit(d->b, OP_GENERATE, (CoreRef[]){rows, d->columns}, 2, &type, 1);
    core_set_attrs(d->b, stm, &(int32_t){2}, 1);
    core_set_bodies(d->b, stm, &body, 1);
    return stm->outs[0];
}

// ---- the parts ----------------------------------------------------------------------

// Lane i takes in lane i + half, if that has elements, until one lane is left.
static CoreRef fold_halves(Deep *d, CoreRef lanes, CoreRef rows, CoreRef size) {
    enum { MOST = 32 };
    CoreRef place[2], x[MOST];
    open_matrix(d, place);
    for (uint32_t i = 0; i < d->lanes; i++)
        x[i] = element(d, lanes, deep_number(d, i), place);
    for (uint32_t half = d->lanes / 2; half > 0; half /= 2)
        for (uint32_t i = 0; i < half; i++) {
            CoreRef more = deep_op2(d, OP_LT, deep_number(d, i + half), size);
            x[i] = core_select(d->b, more, join(d, x[i], x[i + half]), x[i]);
        }
    return close_matrix(d, rows, x[0]);
}

static CoreRef fold_block(Deep *d, DeepRows at, CoreRef block) {
    CoreRef from = deep_op2(d, OP_MUL, block, deep_number(d, CORE_BLOCK));
    CoreRef rest = deep_op2(d, OP_SUB, d->n, from);
    CoreRef size = deep_op2(d, OP_MIN, deep_number(d, CORE_BLOCK), rest);
    CoreRef many = deep_number(d, d->lanes), shape[] = {many, at.rows, d->columns};
    Loop loop = open_loop(d, many, scratch(d, shape, 3));
    CoreRef left = deep_op2(d, OP_SUB, size, loop.index);
    CoreRef above = deep_op2(d, OP_ADD, left, deep_number(d, d->lanes - 1));
    CoreRef count =
        deep_op2(d, OP_MAX, deep_op2(d, OP_QUOT, above, many), deep_number(d, 0));
    // Known to be so, it needs no code for more than a block.
    count = deep_op2(d, OP_MIN, count, deep_number(d, CORE_BLOCK / d->lanes));
    CoreRef nest = deep_emit_nest(d, at, deep_op2(d, OP_ADD, from, loop.index), count);
    CoreRef lanes = close_loop(d, &loop, put(d, loop.state, nest, loop.index, at.rows));
    return fold_halves(d, lanes, at.rows, size);
}

// Neighbours twice, four times, eight times as far apart are joined, until there are
// none: the tree of pairs.
static CoreRef fold_blocks(Deep *d, CoreRef totals, CoreRef rows, CoreRef blocks) {
    CoreRef one = deep_number(d, 1), last = deep_op2(d, OP_SUB, blocks, one);
    CoreRef zeros = core_conv(d->b, OP_CONV, core_op1(d->b, OP_CLZ, last), SCALAR_I64);
    CoreRef levels = deep_op2(d, OP_SUB, deep_number(d, 64), zeros);
    Loop level = open_loop(d, levels, totals);
    CoreRef near = deep_op2(d, OP_SHL, one, level.index),
            far = deep_op2(d, OP_ADD, near, near);
    CoreRef above = deep_op2(d, OP_SUB, deep_op2(d, OP_ADD, blocks, near), one);
    Loop pair = open_loop(d, deep_op2(d, OP_QUOT, above, far), level.state);
    CoreRef left = deep_op2(d, OP_MUL, pair.index, far),
            right = deep_op2(d, OP_ADD, left, near);
    CoreRef place[2];
    open_matrix(d, place);
    CoreRef other = element(d, pair.state, right, place);
    CoreRef joined = join(d, element(d, pair.state, left, place), other);
    CoreRef matrix = close_matrix(d, rows, joined);
    CoreRef next = close_loop(d, &pair, put(d, pair.state, matrix, left, rows));
    return close_loop(d, &level, next);
}

static CoreRef fold_strip(Deep *d, CoreRef row, CoreRef rows) {
    DeepRows at = {row, rows, deep_emit_made(d, row, rows)};
    CoreRef block = deep_number(d, CORE_BLOCK);
    CoreRef above = deep_op2(d, OP_ADD, d->n, deep_number(d, CORE_BLOCK - 1));
    CoreRef blocks = deep_op2(d, OP_QUOT, above, block);
    Loop loop =
        open_loop(d, blocks, scratch(d, (CoreRef[]){blocks, rows, d->columns}, 3));
    CoreRef total = fold_block(d, at, loop.index);
    CoreRef totals = close_loop(d, &loop, put(d, loop.state, total, loop.index, rows));
    totals = fold_blocks(d, totals, rows, blocks);
    return deep_emit_safe(d, OP_INDEX, (CoreRef[]){totals, deep_number(d, 0)}, 2,
                          deep_elements(d, 2), NULL, 0);
}

// So many rows that their lanes keep within bounds. Rows that are made first do, too,
// or take no more than the columns do.
static CoreRef rows_of_strip(Deep *d) {
    uint32_t bytes = scalar_info[deep_elements(d, 0).elem].bytes;
    CoreRef lanes = deep_number(d, d->strips.bytes / (d->lanes * bytes));
    CoreRef most = deep_op2(d, OP_QUOT, lanes, d->columns);
    CoreRef each = deep_op2(d, OP_MAX, most, deep_number(d, d->strips.rows));
    if (deep_made_bytes(d) == 0) return each;
    CoreRef elements = deep_number(d, d->strips.bytes / deep_made_bytes(d));
    most = deep_op2(d, OP_MAX, deep_op2(d, OP_QUOT, elements, d->n), d->columns);
    return deep_op2(d, OP_MIN, each, most);
}

void deep_emit_parts(Deep *d) {
    d->sums = deep_sums_alone(d);
    CoreRef rows = d->rows, each = rows_of_strip(d);
    CoreRef above =
        deep_op2(d, OP_SUB, deep_op2(d, OP_ADD, rows, each), deep_number(d, 1));
    CoreRef strips = deep_op2(d, OP_QUOT, above, each);
    Loop loop = open_loop(d, strips, scratch(d, (CoreRef[]){rows, d->columns}, 2));
    CoreRef row = deep_op2(d, OP_MUL, loop.index, each);
    CoreRef count = deep_op2(d, OP_MIN, each, deep_op2(d, OP_SUB, rows, row));
    CoreRef strip = fold_strip(d, row, count);
    CoreRef all = close_loop(d, &loop, put(d, loop.state, strip, row, count));
    const CoreBody *open = d->b->open.data[d->b->open.len - 1];
    open->stms.data[open->stms.len - 1]->flags |= STM_LARGE;
    if (!deep_is_bare(d)) deep_emit_rest(d, all);
}
