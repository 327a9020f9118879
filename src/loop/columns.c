// SPDX-License-Identifier: Apache-2.0
//
// Columns that neighbours read. On GPUs: of a map over a matrix each work item makes an
// element, and neighbours make neighbours in a row. If it loads one of a matrix that is
// taken transposed, these lie a row apart, and each read of memory serves one item.
// Here such a pair of loops becomes one over tiles of 32 by 32 elements: a team
// (launch_team.c) fetches a tile by the rows of the matrix, and makes the elements from
// there (square.h).
#include "loop/launch.h"
#include "loop/passes.h"
#include "loop/square.h"

enum { SIDE = SQUARE_SIDE, WIDE = 64, MOST_LOADS = 8 };

typedef struct Columns {
    LoopBuilder *b;
    const LoopStm *outer, *inner;
    LoopRef row, column; // their indices
    Map bound;           // what the turns bind
    const LoopStm *loads[MOST_LOADS];
    LoopRef tiles[MOST_LOADS];
    uint32_t count, bytes;
} Columns;

// ---- finding them -------------------------------------------------------------------

static bool is_bound(const Columns *c, LoopRef ref) {
    uint64_t unused;
    return map_get(&c->bound, loop_find(c->b, ref), &unused);
}

// Whether the place is row + s * column + what the turns do not change, s not being 1.
static bool is_of_column(const Columns *c, const LoopStm *load) {
    const LoopRef *args = load->args;
    bool has_row = loop_same(c->b, args[1], c->row), has_column = false;
    if (is_bound(c, args[0]) || (!has_row && is_bound(c, args[1]))) return false;
    for (uint32_t i = 2; i < load->arg_count; i += 2) {
        LoopRef stride = args[i], index = args[i + 1];
        bool is_next = loop_is_int(c->b, stride, 1);
        if (is_bound(c, stride)) return false;
        if (loop_same(c->b, index, c->row) && is_next && !has_row) has_row = true;
        else if (loop_same(c->b, index, c->column) && !is_next && !has_column)
            has_column = true;
        else if (is_bound(c, index)) return false;
    }
    return has_row && has_column;
}

// Those that every turn makes, before it stores anything, which they might see.
static void find_loads(Columns *c) {
    const LoopBody *body = c->inner->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE || stm->op == LOOP_IF) return;
        if (stm->op != LOOP_LOAD || c->count == MOST_LOADS || !is_of_column(c, stm))
            continue;
        uint32_t bytes =
            SIDE * SIDE * scalar_info[loop_type(c->b, stm->outs[0]).elem].bytes;
        if (c->bytes + bytes > LAUNCH_LOCAL_BYTES) continue;
        c->bytes += bytes;
        c->loads[c->count++] = stm;
    }
}

static bool is_size(const Columns *c, LoopRef ref) {
    return loop_type(c->b, ref).elem == SCALAR_I64 && !is_bound(c, ref);
}

static bool find_columns(Columns *c, const LoopStm *stm) {
    if (stm->op != LOOP_FOR || stm->order != ORDER_PARALLEL || stm->number > 0)
        return false;
    const LoopBody *body = stm->bodies[0];
    uint32_t before = body->stms.len - 1;
    if (body->stms.len == 0) return false;
    c->outer = stm;
    c->inner = body->stms.data[before];
    if (c->inner->op != LOOP_FOR || c->inner->order != ORDER_INDEPENDENT ||
        c->inner->number > 0 || !square_is_plain(c->inner->bodies[0]))
        return false;
    for (uint32_t i = 0; i < before; i++)
        if (body->stms.data[i]->op != LOOP_SCALAR) return false;
    map_init(&c->bound, loop_notes(c->b->kernel));
    loop_bind_body(&c->bound, body);
    if (!is_size(c, stm->args[0]) || !is_size(c, c->inner->args[0])) return false;
    c->row = body->params[0];
    c->column = c->inner->bodies[0]->params[0];
    find_loads(c);
    return c->count > 0;
}

// ---- tiles --------------------------------------------------------------------------

static LoopCopier copier_at(const Columns *c, LoopRef row, LoopRef column) {
    LoopCopier copier = loop_copier(c->b);
    loop_copy_as(&copier, c->row, row);
    loop_copy_as(&copier, c->column, column);
    return copier;
}

// Behind the last row and column there are these again.
static void fetch(Columns *c, LoopRef from_row, LoopRef from_column) {
    LoopBuilder *b = c->b;
    LoopRef side = loop_int(b, SIDE), one = loop_int(b, 1);
    LoopRef last_row = loop_sub(b, c->outer->args[0], one);
    LoopRef last_column = loop_sub(b, c->inner->args[0], one);
    LoopRef j = square_open(b), i = square_open(b);
    LoopRef column = loop_min(b, loop_add(b, from_column, j), last_column);
    LoopRef row = loop_min(b, loop_add(b, from_row, i), last_row);
    LoopCopier copier = copier_at(c, row, column);
    for (uint32_t k = 0; k < c->count; k++) {
        LoopStm *load = loop_copy_stm(&copier, c->loads[k]);
        loop_append(b, load);
        LoopRef args[] = {c->tiles[k], load->outs[0], square_place(b, i, j)};
        loop_emit(b, LOOP_STORE, args, 3, NULL, 0);
    }
    square_close(b, side, ORDER_INDEPENDENT);
    square_close(b, side, ORDER_INDEPENDENT);
}

// A turn as it was, but for the loads.
static void make_turn(const Columns *c, LoopCopier *copier, LoopRef place) {
    const LoopBody *before = c->outer->bodies[0], *body = c->inner->bodies[0];
    for (uint32_t i = 0; i + 1 < before->stms.len; i++)
        loop_append(c->b, loop_copy_stm(copier, before->stms.data[i]));
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint32_t k = 0;
        while (k < c->count && c->loads[k] != stm) k++;
        if (k == c->count) {
            loop_append(c->b, loop_copy_stm(copier, stm));
            continue;
        }
        LoopRef args[] = {c->tiles[k], place};
        LoopType type = loop_type(c->b, stm->outs[0]);
        loop_copy_as(copier, stm->outs[0], loop_emit1(c->b, LOOP_LOAD, args, 2, type));
    }
}

static void make(Columns *c, LoopRef from_row, LoopRef from_column) {
    LoopBuilder *b = c->b;
    LoopRef side = loop_int(b, SIDE);
    LoopRef i = square_open(b), j = square_open(b);
    LoopRef row = loop_add(b, from_row, i), column = loop_add(b, from_column, j);
    LoopRef is_column = loop_lt(b, column, c->inner->args[0]);
    LoopRef inside = loop_and(b, loop_lt(b, row, c->outer->args[0]), is_column);
    LoopRef place = square_place(b, i, j);
    LoopCopier copier = copier_at(c, row, column);
    LoopBody *nothing = square_else(b, NULL);
    make_turn(c, &copier, place);
    square_if(b, inside, nothing);
    square_close(b, side, ORDER_INDEPENDENT);
    square_close(b, side, ORDER_INDEPENDENT);
}

static void make_tiles(Columns *c) {
    LoopBuilder *b = c->b;
    LoopRef side = loop_int(b, SIDE);
    LoopRef rows = square_count(b, c->outer->args[0]);
    LoopRef columns = square_count(b, c->inner->args[0]);
    LoopRef tiles = loop_mul(b, rows, columns);
    LoopRef tile = square_open(b), above = loop_quot(b, tile, columns);
    LoopRef beside = loop_sub(b, tile, loop_mul(b, above, columns));
    for (uint32_t k = 0; k < c->count; k++)
        c->tiles[k] = square_alloc(b, c->loads[k]->outs[0], SIDE * SIDE);
    LoopRef from_row = loop_mul(b, above, side);
    LoopRef from_column = loop_mul(b, beside, side);
    fetch(c, from_row, from_column);
    make(c, from_row, from_column);
    square_close(b, tiles, ORDER_PARALLEL);
}

// Instead of the loop; where there is no whole tile, it goes as before.
static bool change_on_gpus(LoopBuilder *b, LoopStm *stm) {
    Columns columns = {.b = b};
    if (!find_columns(&columns, stm)) return false;
    LoopRef fits = square_fits(b, stm->args[0], columns.inner->args[0]);
    LoopBody *as_before = square_else(b, stm);
    make_tiles(&columns);
    square_if(b, fits, as_before);
    return true;
}

// ---- on cores -----------------------------------------------------------------------

// A row of the tile.
static void make_row(const Columns *c, LoopRef row, LoopRef from_column) {
    LoopBuilder *b = c->b;
    const LoopBody *before = c->outer->bodies[0], *body = c->inner->bodies[0];
    LoopRef rest = loop_sub(b, c->inner->args[0], from_column);
    LoopRef count = loop_min(b, loop_int(b, WIDE), rest);
    LoopCopier copier = loop_copier(b);
    loop_copy_as(&copier, c->row, row);
    for (uint32_t i = 0; i + 1 < before->stms.len; i++)
        loop_append(b, loop_copy_stm(&copier, before->stms.data[i]));
    loop_copy_as(&copier, c->column, loop_add(b, from_column, square_open(b)));
    for (uint32_t i = 0; i < body->stms.len; i++)
        loop_append(b, loop_copy_stm(&copier, body->stms.data[i]));
    square_close(b, count, ORDER_INDEPENDENT);
}

static bool change_on_cores(LoopBuilder *b, LoopStm *stm) {
    Columns c = {.b = b};
    if (!find_columns(&c, stm)) return false;
    LoopRef n = stm->args[0], m = c.inner->args[0];
    LoopRef side = loop_int(b, SIDE), wide = loop_int(b, WIDE);
    LoopRef above = loop_add(b, m, loop_int(b, WIDE - 1));
    LoopRef columns = loop_quot(b, above, wide);
    LoopRef tiles = loop_mul(b, square_count(b, n), columns);
    LoopRef fits = square_fits(b, n, m);
    LoopBody *as_before = square_else(b, stm);
    LoopRef tile = square_open(b), band = loop_quot(b, tile, columns);
    LoopRef column = loop_sub(b, tile, loop_mul(b, band, columns));
    LoopRef from_row = loop_mul(b, band, side);
    LoopRef rows = loop_min(b, side, loop_sub(b, n, from_row));
    LoopRef from_column = loop_mul(b, column, wide);
    make_row(&c, loop_add(b, from_row, square_open(b)), from_column);
    square_close(b, rows, ORDER_SEQUENTIAL);
    square_close(b, tiles, ORDER_PARALLEL);
    square_if(b, fits, as_before);
    return true;
}

void loop_columns(LoopKernel *kernel) {
    square_change(kernel, kernel->is_for_gpus ? change_on_gpus : change_on_cores);
}
