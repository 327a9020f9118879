// SPDX-License-Identifier: Apache-2.0
//
// The parts of a nest: strips of rows, blocks of elements, lanes of a block. Lanes are
// folded by halves, and blocks by the tree of pairs, for all rows of a strip and all
// columns at once.
#include "opt/deep.h"

// ---- statements ---------------------------------------------------------------------

static CoreRef scratch(Deep *d, const CoreRef *shape, uint32_t rank) {
    return core_emit(d->b, OP_SCRATCH, shape, rank,
                     (CoreType[]){deep_elements(d, rank)}, 1)
        ->outs[0];
}

// The rows that begin at `row`, or the matrix of that number, become `value`.
static CoreRef put(Deep *d, CoreRef array, CoreRef value, CoreRef row, CoreRef rows) {
    CoreRef zero = deep_number(d->b, 0), one = deep_number(d->b, 1);
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
    return deep_emit_safe(d->b, OP_UPDATE, args, 2 + 3u * type.rank, type, attrs,
                          type.rank);
}

static CoreRef element(Deep *d, CoreRef array, CoreRef at, const CoreRef place[2]) {
    CoreRef args[] = {array, at, place[0], place[1]};
    return deep_emit_safe(d->b, OP_INDEX, args, 4, deep_elements(d, 0), NULL, 0);
}

static CoreRef close_matrix(Deep *d, CoreRef rows, CoreRef value) {
    return deep_close_space(d->b, (CoreRef[]){rows, d->columns}, 2, &value, 1)[0];
}

static DeepLoop open_loop(Deep *d, CoreRef times, CoreRef init) {
    return deep_open_loop(d->b, times, &init, 1);
}

static CoreRef close_loop(Deep *d, const DeepLoop *loop, CoreRef next) {
    return deep_close_loop(d->b, loop, &next)[0];
}

static CoreRef join(Deep *d, CoreRef left, CoreRef right) {
    CoreRef joined;
    core_inline(d->b, d->fold->bodies[0], (CoreRef[]){left, right}, &joined);
    return joined;
}

// ---- the parts ----------------------------------------------------------------------

// Lane i takes in lane i + half, if that has elements, until one lane is left.
static CoreRef fold_halves(Deep *d, CoreRef lanes, CoreRef rows, CoreRef size) {
    enum { MOST = 32 };
    CoreRef place[2], x[MOST];
    deep_open_space(d->b, place, 2);
    for (uint32_t i = 0; i < d->lanes; i++)
        x[i] = element(d, lanes, deep_number(d->b, i), place);
    for (uint32_t half = d->lanes / 2; half > 0; half /= 2)
        for (uint32_t i = 0; i < half; i++) {
            CoreRef more = core_op2(d->b, OP_LT, deep_number(d->b, i + half), size);
            x[i] = core_select(d->b, more, join(d, x[i], x[i + half]), x[i]);
        }
    return close_matrix(d, rows, x[0]);
}

static CoreRef fold_block(Deep *d, DeepRows at, CoreRef block) {
    CoreRef from = core_op2(d->b, OP_MUL, block, deep_number(d->b, CORE_BLOCK));
    CoreRef rest = core_op2(d->b, OP_SUB, d->n, from);
    CoreRef size = core_op2(d->b, OP_MIN, deep_number(d->b, CORE_BLOCK), rest);
    CoreRef many = deep_number(d->b, d->lanes), shape[] = {many, at.rows, d->columns};
    DeepLoop loop = open_loop(d, many, scratch(d, shape, 3));
    CoreRef left = core_op2(d->b, OP_SUB, size, loop.index);
    CoreRef above = core_op2(d->b, OP_ADD, left, deep_number(d->b, d->lanes - 1));
    CoreRef count = core_op2(d->b, OP_MAX, core_op2(d->b, OP_QUOT, above, many),
                             deep_number(d->b, 0));
    // Known to be so, it needs no code for more than a block.
    count = core_op2(d->b, OP_MIN, count, deep_number(d->b, CORE_BLOCK / d->lanes));
    CoreRef nest =
        deep_emit_nest(d, at, core_op2(d->b, OP_ADD, from, loop.index), count);
    CoreRef lanes =
        close_loop(d, &loop, put(d, loop.state[0], nest, loop.index, at.rows));
    return fold_halves(d, lanes, at.rows, size);
}

// Neighbours twice, four times, eight times as far apart are joined, until there are
// none: the tree of pairs.
static CoreRef fold_blocks(Deep *d, CoreRef totals, CoreRef rows, CoreRef blocks) {
    CoreRef one = deep_number(d->b, 1), last = core_op2(d->b, OP_SUB, blocks, one);
    CoreRef levels = deep_emit_levels(d->b, last);
    DeepLoop level = open_loop(d, levels, totals);
    CoreRef near = core_op2(d->b, OP_SHL, one, level.index),
            far = core_op2(d->b, OP_ADD, near, near);
    CoreRef above = core_op2(d->b, OP_SUB, core_op2(d->b, OP_ADD, blocks, near), one);
    DeepLoop pair = open_loop(d, core_op2(d->b, OP_QUOT, above, far), level.state[0]);
    CoreRef left = core_op2(d->b, OP_MUL, pair.index, far),
            right = core_op2(d->b, OP_ADD, left, near);
    CoreRef place[2];
    deep_open_space(d->b, place, 2);
    CoreRef other = element(d, pair.state[0], right, place);
    CoreRef joined = join(d, element(d, pair.state[0], left, place), other);
    CoreRef matrix = close_matrix(d, rows, joined);
    CoreRef next = close_loop(d, &pair, put(d, pair.state[0], matrix, left, rows));
    return close_loop(d, &level, next);
}

static CoreRef fold_strip(Deep *d, CoreRef row, CoreRef rows) {
    DeepRows at = {row, rows, deep_emit_made(d, row, rows)};
    CoreRef block = deep_number(d->b, CORE_BLOCK);
    CoreRef above = core_op2(d->b, OP_ADD, d->n, deep_number(d->b, CORE_BLOCK - 1));
    CoreRef blocks = core_op2(d->b, OP_QUOT, above, block);
    DeepLoop loop =
        open_loop(d, blocks, scratch(d, (CoreRef[]){blocks, rows, d->columns}, 3));
    CoreRef total = fold_block(d, at, loop.index);
    CoreRef totals =
        close_loop(d, &loop, put(d, loop.state[0], total, loop.index, rows));
    totals = fold_blocks(d, totals, rows, blocks);
    return deep_emit_safe(d->b, OP_INDEX, (CoreRef[]){totals, deep_number(d->b, 0)}, 2,
                          deep_elements(d, 2), NULL, 0);
}

// So many rows that their lanes keep within bounds. Rows that are made first do, too,
// or take no more than the columns do.
static CoreRef rows_of_strip(Deep *d) {
    uint32_t bytes = scalar_info[deep_elements(d, 0).elem].bytes;
    CoreRef lanes = deep_number(d->b, d->strips.bytes / (d->lanes * bytes));
    CoreRef most = core_op2(d->b, OP_QUOT, lanes, d->columns);
    CoreRef each = core_op2(d->b, OP_MAX, most, deep_number(d->b, d->strips.rows));
    if (deep_made_bytes(d) == 0) return each;
    CoreRef elements = deep_number(d->b, d->strips.bytes / deep_made_bytes(d));
    most = core_op2(d->b, OP_MAX, core_op2(d->b, OP_QUOT, elements, d->n), d->columns);
    return core_op2(d->b, OP_MIN, each, most);
}

void deep_emit_parts(Deep *d) {
    d->sums = deep_sums_alone(d);
    CoreRef rows = d->rows, each = rows_of_strip(d);
    CoreRef above = core_op2(d->b, OP_SUB, core_op2(d->b, OP_ADD, rows, each),
                             deep_number(d->b, 1));
    CoreRef strips = core_op2(d->b, OP_QUOT, above, each);
    DeepLoop loop = open_loop(d, strips, scratch(d, (CoreRef[]){rows, d->columns}, 2));
    CoreRef row = core_op2(d->b, OP_MUL, loop.index, each);
    CoreRef count = core_op2(d->b, OP_MIN, each, core_op2(d->b, OP_SUB, rows, row));
    CoreRef strip = fold_strip(d, row, count);
    CoreRef all = close_loop(d, &loop, put(d, loop.state[0], strip, row, count));
    const CoreBody *open = d->b->open.data[d->b->open.len - 1];
    open->stms.data[open->stms.len - 1]->flags |= STM_LARGE;
    if (!deep_is_bare(d)) deep_emit_rest(d, all);
}
