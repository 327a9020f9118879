// SPDX-License-Identifier: Apache-2.0
//
// Products over long dimensions. Each element of a nest
//
//   map(rows) {a -> map(columns) {b -> reduce.nested_lanes(a, b)}}
//
// whose rows are longer than a block is folded block by block, element j of a block in
// lane j mod L (docs/internals/interp.md), which nobody can do for a register block of
// rows and columns at once: each would keep L times as many sums. But what a lane folds
// is a reduction of a block or less, of every L-th element. So for each lane of each
// block the same nest is run on slices, which are short, and lifted like any other
// product (src/loop/lift.c); then lanes are folded by halves, and blocks by the tree,
// whole arrays at a time:
//
//   for each strip of rows: for each block: {
//     for each lane: lanes[lane] = map {a -> map {b -> reduce(a[lane::L], b[lane::L])}}
//     totals[block] = lanes, folded by halves}
//
// What else is made of a sum, such as a mean, is made of all of them afterwards.
// Strips are as many rows as keep the lanes' memory within bounds. Lanes fold the same
// elements in the same order, so that the bits are the same. Where arrays are not of
// one length, or there are few rows or columns, the nest stays as it was. Few are those
// that no register block takes, and fewer where elements of a row lie apart.
#include "core/rules.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { LEAST = 24, LEAST_FAR = 8, MOST_FEEDS = 8 };

static const CoreType I64 = {SCALAR_I64, 0};

typedef struct Deep {
    CoreProgram *program;
    Rewrite *rw;
    CoreBuilder *b;
    const CoreStm *outer, *inner, *fold;
    const CoreStm *sums;       // the outer map, of which nothing but the sums is wanted
    CoreRef feeds[MOST_FEEDS]; // arrays, or arrays of rows, that are folded
    uint32_t axes[MOST_FEEDS]; // along which of their dimensions
    uint32_t rows[MOST_FEEDS]; // which param of the outer map; its number of them: none
    uint32_t count, lanes;
    CoreRef n, columns;
    OptStrips strips;
} Deep;

// What the pass goes by.
typedef struct Walk {
    OptStrips strips;
    uint32_t depth; // in how many second-order statements the visited one is
} Walk;

// ---- finding them -------------------------------------------------------------------

// The only statement of a body, whose result is the body's; NULL: it is none such.
static const CoreStm *find_inner(const CoreBody *body) {
    const CoreStm *stm = body->stms.len == 1 ? body->stms.data[0] : NULL;
    bool is_it = stm != NULL && stm->op == OP_MAP && stm->out_count == 1 &&
                 body->result_count == 1 && body->results[0] == stm->outs[0];
    return is_it ? stm : NULL;
}

// The only reduction of a body; NULL: there is none, or another one.
static const CoreStm *find_fold(const CoreBody *body) {
    const CoreStm *found = NULL;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op != OP_REDUCE) continue;
        if (found != NULL || stm->out_count != 1) return NULL;
        found = stm;
    }
    return found;
}

static bool is_bound(const CoreBody *body, CoreRef ref) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            if (body->stms.data[i]->outs[k] == ref) return true;
    return false;
}

// Which param of the body that is; its number of params: none.
static uint32_t find_param(const CoreBody *body, CoreRef ref) {
    uint32_t i = 0;
    while (i < body->param_count && body->params[i] != ref) i++;
    return i;
}

static bool has(const uint32_t *refs, uint32_t count, uint32_t ref) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] == ref) return true;
    return false;
}

// Notes the array of which the fold takes elements; false: it is none to slice.
static bool note_feed(Deep *d, CoreRef ref) {
    const CoreBody *outer = d->outer->bodies[0], *inner = d->inner->bodies[0];
    uint32_t row = find_param(outer, ref), column = find_param(inner, ref);
    bool is_row = row < outer->param_count, is_column = column < inner->param_count;
    if (core_type(d->program, ref).rank != 1 || d->count == MOST_FEEDS ||
        is_bound(inner, ref))
        return false;
    d->rows[d->count] = row;
    d->axes[d->count] = is_row || is_column;
    d->feeds[d->count++] = is_row      ? d->outer->args[row]
                           : is_column ? d->inner->args[column]
                                       : ref;
    return is_row || is_column || !has(d->inner->args, d->inner->arg_count, ref);
}

// Whether what it does with elements may fail, where the first failure is told, or
// looks at arrays, which might be those to be sliced.
static bool does_more(const Deep *d) {
    CoreProgram *p = d->program;
    for (uint32_t i = 0; i < d->fold->body_count; i++) {
        const CoreBody *body = d->fold->bodies[i];
        CoreRefs refs = {0};
        core_free(p, body, p->arena, &refs);
        for (uint32_t k = 0; k < refs.len; k++)
            if (core_type(p, refs.data[k]).rank > 0 ||
                is_bound(d->inner->bodies[0], refs.data[k]))
                return true;
        for (uint32_t k = 0; k < body->stms.len; k++)
            if (opt_is_effect(p, body->stms.data[k])) return true;
    }
    return false;
}

static bool find(Deep *d, const CoreStm *stm) {
    CoreProgram *p = d->program;
    d->outer = stm;
    if (stm->op != OP_MAP || stm->out_count != 1) return false;
    d->inner = find_inner(stm->bodies[0]);
    d->fold = d->inner != NULL ? find_fold(d->inner->bodies[0]) : NULL;
    if (d->fold == NULL || d->fold->stamp != STAMP_NESTED_LANES || does_more(d))
        return false;
    for (int32_t i = 0; i < d->inner->attrs[0]; i++) // else a row has its own columns
        if (find_param(stm->bodies[0], d->inner->args[i]) < stm->bodies[0]->param_count)
            return false;
    for (int32_t i = 0; i < d->fold->attrs[0]; i++)
        if (!note_feed(d, d->fold->args[i])) return false;
    uint32_t bytes = scalar_info[core_type(p, d->fold->outs[0]).elem].bytes;
    d->lanes = bytes == 8 ? 16 : 32;
    return core_is_const(p, d->fold->args[d->fold->attrs[0]]);
}

// ---- statements ---------------------------------------------------------------------

static CoreRef op2(Deep *d, CoreOp op, CoreRef x, CoreRef y) {
    return core_op2(d->b, op, x, y);
}

static CoreRef number(Deep *d, int64_t value) {
    return core_i64(d->program, value);
}

static CoreRef dim(Deep *d, CoreRef array, uint32_t axis) {
    return core_dim(d->b, array, (int32_t)axis);
}

// Nothing here can be out of bounds.
static CoreRef emit_safe(Deep *d, CoreOp op, const CoreRef *args, uint32_t count,
                         CoreType type, const int32_t *attrs, uint32_t attr_count) {
    CoreStm *stm = core_emit(d->b, op, args, count, &type, 1);
    stm->flags |= STM_UNSAFE;
    core_set_attrs(d->b, stm, attrs, attr_count);
    return stm->outs[0];
}

static CoreRef slice(Deep *d, CoreRef array, uint32_t axis, CoreRef start,
                     CoreRef count, uint32_t stride) {
    CoreRef args[] = {array, start, count, number(d, stride)};
    return emit_safe(d, OP_SLICE, args, 4, core_type(d->program, array),
                     &(int32_t){(int32_t)axis}, 1);
}

// The array, which is made here if it is a view: as one from outside it might be
// copied.
static CoreRef view(Deep *d, CoreRef array) {
    const CoreStm *def = rewrite_def(d->rw, array);
    if (def == NULL || def->op != OP_PERMUTE) return array;
    CoreStm *stm = core_emit(d->b, OP_PERMUTE, def->args, 1,
                             (CoreType[]){core_type(d->program, array)}, 1);
    core_set_attrs(d->b, stm, def->attrs, def->attr_count);
    return stm->outs[0];
}

static CoreType elements(const Deep *d, uint32_t rank) {
    return (CoreType){core_type(d->program, d->fold->outs[0]).elem, (uint8_t)rank};
}

static CoreRef scratch(Deep *d, const CoreRef *shape, uint32_t rank) {
    return core_emit(d->b, OP_SCRATCH, shape, rank, (CoreType[]){elements(d, rank)}, 1)
        ->outs[0];
}

// The rows that begin at `row`, or the matrix of that number, become `value`.
static CoreRef put(Deep *d, CoreRef array, CoreRef value, CoreRef row, CoreRef rows) {
    CoreRef zero = number(d, 0), one = number(d, 1);
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
    return emit_safe(d, OP_UPDATE, args, 2 + 3u * type.rank, type, attrs, type.rank);
}

static CoreRef element(Deep *d, CoreRef array, CoreRef at, const CoreRef place[2]) {
    CoreRef args[] = {array, at, place[0], place[1]};
    return emit_safe(d, OP_INDEX, args, 4, elements(d, 0), NULL, 0);
}

static CoreRef join(Deep *d, CoreRef left, CoreRef right) {
    CoreRef joined;
    core_inline(d->b, d->fold->bodies[0], (CoreRef[]){left, right}, &joined);
    return joined;
}

// A copy of the map on these arrays, in which `map` says what others mean.
static CoreRef emit_map(Deep *d, const CoreStm *outer, const CoreRef *args, Map *map) {
    CoreProgram *p = d->program;
    CoreStm *copy = arena_copy(p->arena, outer, sizeof *copy);
    copy->args = arena_copy(p->arena, args, outer->arg_count * sizeof *args);
    copy->outs = arena_array(p->arena, CoreRef, 1);
    copy->outs[0] = core_value(p, core_type(p, outer->outs[0]), 0);
    copy->bodies = arena_array(p->arena, CoreBody *, 1);
    copy->bodies[0] = core_clone(p, outer->bodies[0], map, 0);
    core_append(d->b, copy);
    return copy->outs[0];
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
    CoreType type = elements(d, 2);
    CoreStm *stm =
        core_emit(d->b, OP_GENERATE, (CoreRef[]){rows, d->columns}, 2, &type, 1);
    core_set_attrs(d->b, stm, &(int32_t){2}, 1);
    core_set_bodies(d->b, stm, &body, 1);
    return stm->outs[0];
}

// ---- the parts ----------------------------------------------------------------------

// The nest on `rows` rows from `row` on, and on `count` elements of each from `start`
// on, every so manyth.
static CoreRef emit_nest(Deep *d, CoreRef row, CoreRef rows, CoreRef start,
                         CoreRef count) {
    CoreProgram *p = d->program;
    uint32_t arrays = (uint32_t)d->outer->attrs[0];
    CoreRef *args =
        arena_copy(p->arena, d->outer->args, d->outer->arg_count * sizeof *args);
    Map map;
    map_init(&map, core_notes(p));
    for (uint32_t i = 0; i < arrays; i++) {
        args[i] = slice(d, view(d, args[i]), 0, row, rows, 1);
        if (has(d->rows, d->count, i))
            args[i] = slice(d, args[i], 1, start, count, d->lanes);
    }
    for (uint32_t i = 0; i < d->count; i++) {
        if (d->rows[i] < arrays) continue;
        CoreRef feed = view(d, d->feeds[i]);
        map_set(&map, d->feeds[i], slice(d, feed, d->axes[i], start, count, d->lanes));
    }
    return emit_map(d, d->sums, args, &map);
}

// Lane i takes in lane i + half, if that has elements, until one lane is left.
static CoreRef fold_halves(Deep *d, CoreRef lanes, CoreRef rows, CoreRef size) {
    enum { MOST = 32 };
    CoreRef place[2], x[MOST];
    open_matrix(d, place);
    for (uint32_t i = 0; i < d->lanes; i++)
        x[i] = element(d, lanes, number(d, i), place);
    for (uint32_t half = d->lanes / 2; half > 0; half /= 2)
        for (uint32_t i = 0; i < half; i++) {
            CoreRef more = op2(d, OP_LT, number(d, i + half), size);
            x[i] = core_select(d->b, more, join(d, x[i], x[i + half]), x[i]);
        }
    return close_matrix(d, rows, x[0]);
}

static CoreRef fold_block(Deep *d, CoreRef row, CoreRef rows, CoreRef block) {
    CoreRef from = op2(d, OP_MUL, block, number(d, CORE_BLOCK));
    CoreRef size = op2(d, OP_MIN, number(d, CORE_BLOCK), op2(d, OP_SUB, d->n, from));
    CoreRef many = number(d, d->lanes), shape[] = {many, rows, d->columns};
    Loop loop = open_loop(d, many, scratch(d, shape, 3));
    CoreRef left = op2(d, OP_SUB, size, loop.index);
    CoreRef above = op2(d, OP_ADD, left, number(d, d->lanes - 1));
    CoreRef count = op2(d, OP_MAX, op2(d, OP_QUOT, above, many), number(d, 0));
    // Known to be so, it needs no code for more than a block.
    count = op2(d, OP_MIN, count, number(d, CORE_BLOCK / d->lanes));
    CoreRef nest = emit_nest(d, row, rows, op2(d, OP_ADD, from, loop.index), count);
    CoreRef lanes = close_loop(d, &loop, put(d, loop.state, nest, loop.index, rows));
    return fold_halves(d, lanes, rows, size);
}

// Neighbours twice, four times, eight times as far apart are joined, until there are
// none: the tree of pairs.
static CoreRef fold_blocks(Deep *d, CoreRef totals, CoreRef rows, CoreRef blocks) {
    CoreRef one = number(d, 1), last = op2(d, OP_SUB, blocks, one);
    CoreRef zeros = core_conv(d->b, OP_CONV, core_op1(d->b, OP_CLZ, last), SCALAR_I64);
    CoreRef levels = op2(d, OP_SUB, number(d, 64), zeros);
    Loop level = open_loop(d, levels, totals);
    CoreRef near = op2(d, OP_SHL, one, level.index), far = op2(d, OP_ADD, near, near);
    CoreRef above = op2(d, OP_SUB, op2(d, OP_ADD, blocks, near), one);
    Loop pair = open_loop(d, op2(d, OP_QUOT, above, far), level.state);
    CoreRef left = op2(d, OP_MUL, pair.index, far), right = op2(d, OP_ADD, left, near);
    CoreRef place[2];
    open_matrix(d, place);
    CoreRef joined = join(d, element(d, pair.state, left, place),
                          element(d, pair.state, right, place));
    CoreRef matrix = close_matrix(d, rows, joined);
    CoreRef next = close_loop(d, &pair, put(d, pair.state, matrix, left, rows));
    return close_loop(d, &level, next);
}

static CoreRef fold_strip(Deep *d, CoreRef row, CoreRef rows) {
    CoreRef block = number(d, CORE_BLOCK);
    CoreRef above = op2(d, OP_ADD, d->n, number(d, CORE_BLOCK - 1));
    CoreRef blocks = op2(d, OP_QUOT, above, block);
    Loop loop =
        open_loop(d, blocks, scratch(d, (CoreRef[]){blocks, rows, d->columns}, 3));
    CoreRef total = fold_block(d, row, rows, loop.index);
    CoreRef totals = close_loop(d, &loop, put(d, loop.state, total, loop.index, rows));
    totals = fold_blocks(d, totals, rows, blocks);
    return emit_safe(d, OP_INDEX, (CoreRef[]){totals, number(d, 0)}, 2, elements(d, 2),
                     NULL, 0);
}

// ---- sums alone, and what is made of them -------------------------------------------

// A map like that one, but for its body's statements and results.
static CoreStm *map_like(Deep *d, const CoreStm *stm, CoreStm **stms, uint32_t count,
                         CoreRef result, CoreType type) {
    CoreProgram *p = d->program;
    CoreStm *copy = arena_copy(p->arena, stm, sizeof *copy);
    CoreBody *body = arena_copy(p->arena, stm->bodies[0], sizeof *body);
    body->stms.data = stms;
    body->stms.len = body->stms.cap = count;
    body->results = arena_copy(p->arena, &result, sizeof result);
    copy->bodies = arena_copy(p->arena, &body, sizeof body);
    copy->outs = arena_array(p->arena, CoreRef, 1);
    copy->outs[0] = core_value(p, type, 0);
    return copy;
}

static CoreStm **list(Deep *d, const CoreStm *stm) {
    return arena_copy(d->program->arena, &stm, sizeof(CoreStm *));
}

static CoreStm *sums_alone(Deep *d) {
    CoreStm *inner =
        map_like(d, d->inner, list(d, d->fold), 1, d->fold->outs[0], elements(d, 1));
    return map_like(d, d->outer, list(d, inner), 1, inner->outs[0], elements(d, 2));
}

// Gives the map one more array, whose rows are `param` in its body, and takes away
// those of which it makes no use.
static void take_also(Deep *d, CoreStm *map, CoreRef array, CoreRef param) {
    CoreProgram *p = d->program;
    CoreBody *body = map->bodies[0], open = *body;
    CoreRefs used = {0}, args = {0}, params = {0};
    open.param_count = 0;
    core_free(p, &open, p->arena, &used);
    for (int32_t i = 0; i < map->attrs[0]; i++) {
        if (!has(used.data, used.len, body->params[i])) continue;
        vec_push(p->arena, &args, map->args[i]);
        vec_push(p->arena, &params, body->params[i]);
    }
    vec_push(p->arena, &args, array);
    vec_push(p->arena, &params, param);
    for (uint32_t i = (uint32_t)map->attrs[0]; i < map->arg_count; i++)
        vec_push(p->arena, &args, map->args[i]);
    map->args = args.data;
    map->arg_count = args.len;
    body->params = params.data;
    body->param_count = params.len;
    core_set_attrs(d->b, map, &(int32_t){(int32_t)params.len}, 1);
}

// What the nest makes of these sums.
static CoreRef emit_rest(Deep *d, CoreRef sums) {
    CoreProgram *p = d->program;
    const CoreBody *body = d->inner->bodies[0];
    CoreStm **rest = arena_array(p->arena, CoreStm *, body->stms.len);
    CoreRef row = core_value(p, elements(d, 1), 0);
    uint32_t count = 0;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i] != d->fold) rest[count++] = body->stms.data[i];
    CoreStm *inner = map_like(d, d->inner, rest, count, body->results[0],
                              core_type(p, d->inner->outs[0]));
    take_also(d, inner, row, d->fold->outs[0]);
    CoreStm *outer = map_like(d, d->outer, list(d, inner), 1, inner->outs[0],
                              core_type(p, d->outer->outs[0]));
    take_also(d, outer, sums, row);
    Map map;
    map_init(&map, core_notes(p));
    return emit_map(d, outer, outer->args, &map);
}

static CoreBody *in_parts(Deep *d, CoreRef rows) {
    uint32_t bytes = scalar_info[elements(d, 0).elem].bytes;
    core_open(d->b, NULL, 0);
    CoreRef most =
        op2(d, OP_QUOT, number(d, d->strips.bytes / (d->lanes * bytes)), d->columns);
    CoreRef each = op2(d, OP_MAX, most, number(d, d->strips.rows));
    CoreRef above = op2(d, OP_SUB, op2(d, OP_ADD, rows, each), number(d, 1));
    CoreRef strips = op2(d, OP_QUOT, above, each);
    Loop loop = open_loop(d, strips, scratch(d, (CoreRef[]){rows, d->columns}, 2));
    CoreRef row = op2(d, OP_MUL, loop.index, each);
    CoreRef count = op2(d, OP_MIN, each, op2(d, OP_SUB, rows, row));
    CoreRef strip = fold_strip(d, row, count);
    CoreRef all = close_loop(d, &loop, put(d, loop.state, strip, row, count));
    const CoreBody *open = d->b->open.data[d->b->open.len - 1];
    open->stms.data[open->stms.len - 1]->flags |= STM_LARGE;
    const CoreBody *made = d->inner->bodies[0];
    bool is_all = made->stms.len == 1 && made->results[0] == d->fold->outs[0];
    if (!is_all) all = emit_rest(d, all);
    return core_close(d->b, &all, 1);
}

static CoreBody *as_it_was(Deep *d) {
    Map map;
    map_init(&map, core_notes(d->program));
    core_open(d->b, NULL, 0);
    CoreRef whole = emit_map(d, d->outer, d->outer->args, &map);
    return core_close(d->b, &whole, 1);
}

// Whether elements of rows that are folded lie apart.
static bool has_far(const Deep *d) {
    bool is_far = false;
    for (uint32_t i = 0; i < d->count; i++) {
        const CoreStm *def = rewrite_def(d->rw, d->feeds[i]);
        uint32_t last = core_type(d->program, d->feeds[i]).rank - 1u;
        is_far = is_far || (def != NULL && def->op == OP_PERMUTE &&
                            def->attrs[last] != (int32_t)last);
    }
    return is_far;
}

// ---- the pass -----------------------------------------------------------------------

// c, and all of the arrays have that many elements along the axis.
static CoreRef all_have(Deep *d, CoreRef c, const CoreStm *map, CoreRef size) {
    for (int32_t i = 1; i < map->attrs[0]; i++)
        c = op2(d, OP_AND, c, op2(d, OP_EQ, size, dim(d, map->args[i], 0)));
    return c;
}

// Whether the nest goes by parts.
static CoreRef is_wanted(Deep *d, CoreRef rows) {
    CoreRef least = number(d, has_far(d) ? LEAST_FAR : LEAST);
    CoreRef c = op2(d, OP_LT, number(d, CORE_BLOCK), d->n);
    c = op2(d, OP_AND, c, op2(d, OP_LE, least, rows));
    c = op2(d, OP_AND, c, op2(d, OP_LE, least, d->columns));
    c = all_have(d, all_have(d, c, d->outer, rows), d->inner, d->columns);
    for (uint32_t i = 1; i < d->count; i++)
        c = op2(d, OP_AND, c, op2(d, OP_EQ, d->n, dim(d, d->feeds[i], d->axes[i])));
    return c;
}

static bool visit(Rewrite *rw, CoreStm *stm) {
    const Walk *walk = rw->data;
    Deep d = {
        .program = rw->program, .rw = rw, .b = &rw->builder, .strips = walk->strips};
    if (walk->depth > 0 || !find(&d, stm)) return false;
    d.b->loc = stm->loc;
    d.n = dim(&d, d.feeds[0], d.axes[0]);
    d.columns = dim(&d, d.inner->args[0], 0);
    d.sums = sums_alone(&d);
    CoreRef rows = dim(&d, stm->args[0], 0), c = is_wanted(&d, rows);
    CoreBody *bodies[] = {in_parts(&d, rows), as_it_was(&d)};
    CoreType type = core_type(d.program, stm->outs[0]);
    CoreStm *choice = core_emit(d.b, OP_IF, &c, 1, &type, 1);
    core_set_bodies(d.b, choice, bodies, 2);
    choice->flags |= STM_LARGE;
    choice->outs = stm->outs;
    return true;
}

static void enter(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)body;
    ((Walk *)rw->data)->depth += core_op_info[stm->op].kind == KIND_ORDER2;
}

static void leave(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)body;
    ((Walk *)rw->data)->depth -= core_op_info[stm->op].kind == KIND_ORDER2;
}

bool opt_deep_by(CoreProgram *program, OptStrips strips) {
    Walk walk = {.strips = strips};
    Rewrite rw = rewrite_new(program);
    rw.visit = visit;
    rw.enter = enter;
    rw.leave = leave;
    rw.data = &walk;
    for (uint32_t i = 0; i < program->funs.len; i++)
        if (program->funs.data[i]->is_entry) rewrite_fun(&rw, program->funs.data[i]);
    return rw.changed;
}

bool opt_deep(CoreProgram *program) {
    return opt_deep_by(program, (OptStrips){.bytes = 1 << 24, .rows = 96});
}
