// SPDX-License-Identifier: Apache-2.0
//
// Rows that items walk, on GPUs. Where each turn of a parallel loop folds a row in
// order, neighbours are in different rows, so each read of memory serves one item. Here
// 32 turns become one of a team (launch_team.c): it fetches 32 columns of its rows at a
// time, neighbours what is beside, and each item goes along its row in local memory
// (square.h). Between tiles the state of the fold waits there, too.
#include "loop/passes.h"
#include "loop/square.h"

enum { SIDE = SQUARE_SIDE, MOST = 4 }; // MOST: loads, and values of the state

typedef struct Walks {
    LoopBuilder *b;
    const LoopStm *outer, *fold;
    uint32_t at;          // of the fold among the outer loop's statements
    Map in_turn, in_fold; // what they bind
    const LoopStm *loads[MOST];
    LoopRef tiles[MOST], states[MOST];
    uint32_t count, bytes;
    LoopRef from_row;
} Walks;

// ---- finding them -------------------------------------------------------------------

static bool is_in(const Walks *r, const Map *bound, LoopRef ref) {
    uint64_t unused;
    return map_get(bound, loop_find(r->b, ref), &unused);
}

// Whether the place is column + what the fold does not change and its turn does.
static bool is_of_row(const Walks *r, const LoopStm *load) {
    const LoopRef *args = load->args;
    LoopRef column = r->fold->bodies[0]->params[0];
    bool has_column = loop_same(r->b, args[1], column);
    bool has_row = is_in(r, &r->in_turn, args[1]) && !has_column;
    if (is_in(r, &r->in_turn, args[0])) return false;
    if (!has_column && is_in(r, &r->in_fold, args[1])) return false;
    for (uint32_t i = 2; i < load->arg_count; i += 2) {
        if (loop_same(r->b, args[i + 1], column) && loop_is_int(r->b, args[i], 1) &&
            !has_column) {
            has_column = true;
            continue;
        }
        if (is_in(r, &r->in_fold, args[i]) || is_in(r, &r->in_fold, args[i + 1]))
            return false;
        bool is_next = loop_is_int(r->b, args[i], 1);
        has_row = has_row || (!is_next && is_in(r, &r->in_turn, args[i + 1]));
    }
    return has_row && has_column;
}

static bool stores(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (stores(stm->bodies[k])) return true;
    }
    return false;
}

// Whether there is one loop in the turn, a fold of scalars, nothing is stored before
// its end, and the rest is plain.
static bool find_fold(Walks *r) {
    const LoopBody *body = r->outer->bodies[0];
    while (r->at < body->stms.len && body->stms.data[r->at]->op != LOOP_FOR) r->at++;
    if (r->at == body->stms.len) return false;
    r->fold = body->stms.data[r->at];
    LoopBody before = {.stms = {body->stms.data, r->at, r->at}};
    uint32_t rest = body->stms.len - r->at - 1;
    LoopBody after = {.stms = {body->stms.data + r->at + 1, rest, rest}};
    if (r->fold->order != ORDER_SEQUENTIAL || r->fold->number > 0 ||
        r->fold->out_count == 0 || r->fold->out_count > MOST || stores(&before) ||
        stores(r->fold->bodies[0]) || !square_is_plain(&before) ||
        !square_is_plain(&after) || !square_is_plain(r->fold->bodies[0]))
        return false;
    for (uint32_t i = 0; i < r->fold->out_count; i++)
        if (loop_type(r->b, r->fold->outs[i]).kind != LOOP_IS_SCALAR) return false;
    return true;
}

static bool is_size(const Walks *r, LoopRef ref) {
    return loop_type(r->b, ref).elem == SCALAR_I64 && !is_in(r, &r->in_turn, ref);
}

static bool find_rows(Walks *r, const LoopStm *stm) {
    enum { STATE_BYTES = MOST * SIDE * 8 };
    if (stm->op != LOOP_FOR || stm->order != ORDER_PARALLEL || stm->number > 0)
        return false;
    r->outer = stm;
    if (!find_fold(r)) return false;
    map_init(&r->in_turn, r->b->arena);
    map_init(&r->in_fold, r->b->arena);
    loop_bind_body(&r->in_turn, stm->bodies[0]);
    loop_bind_body(&r->in_fold, r->fold->bodies[0]);
    if (!is_size(r, stm->args[0]) || !is_size(r, r->fold->args[0])) return false;
    const LoopBody *body = r->fold->bodies[0];
    for (uint32_t i = 0; i < body->stms.len && r->count < MOST; i++) {
        const LoopStm *load = body->stms.data[i];
        if (load->op != LOOP_LOAD || !is_of_row(r, load)) continue;
        uint32_t bytes =
            SIDE * SIDE * scalar_info[loop_type(r->b, load->outs[0]).elem].bytes;
        if (r->bytes + bytes + STATE_BYTES > LAUNCH_LOCAL_BYTES) continue;
        r->bytes += bytes;
        r->loads[r->count++] = load;
    }
    return r->count > 0;
}

// ---- tiles --------------------------------------------------------------------------

static LoopRef last_of(const Walks *r, const LoopStm *loop) {
    return loop_sub(r->b, loop->args[0], loop_int(r->b, 1));
}

// A copier that knows the row, after a copy of what comes before its fold. Behind the
// last row there is that again.
static LoopCopier open_row(const Walks *r, LoopRef i) {
    LoopBuilder *b = r->b;
    const LoopBody *body = r->outer->bodies[0];
    LoopRef last = last_of(r, r->outer);
    LoopRef row = loop_min(b, loop_add(b, r->from_row, i), last);
    LoopCopier copier = loop_copier(b);
    loop_copy_as(&copier, body->params[0], row);
    for (uint32_t k = 0; k < r->at; k++)
        loop_append(b, loop_copy_stm(&copier, body->stms.data[k]));
    return copier;
}

static void store_states(const Walks *r, LoopRef i, const LoopRef *values) {
    for (uint32_t k = 0; k < r->fold->out_count; k++)
        loop_emit(r->b, LOOP_STORE, (LoopRef[]){r->states[k], values[k], i}, 3, NULL,
                  0);
}

static void load_states(const Walks *r, LoopRef i, LoopRef *values_out) {
    for (uint32_t k = 0; k < r->fold->out_count; k++)
        values_out[k] = loop_emit1(r->b, LOOP_LOAD, (LoopRef[]){r->states[k], i}, 2,
                                   loop_type(r->b, r->fold->outs[k]));
}

static void start_rows(const Walks *r) {
    LoopRef i = square_open(r->b), values[MOST];
    LoopCopier copier = open_row(r, i);
    for (uint32_t k = 0; k < r->fold->out_count; k++)
        values[k] = loop_copy_of(&copier, r->fold->args[1 + k]);
    store_states(r, i, values);
    square_close(r->b, loop_int(r->b, SIDE), ORDER_INDEPENDENT);
}

static void fetch(const Walks *r, LoopRef from_column) {
    LoopBuilder *b = r->b;
    LoopRef side = loop_int(b, SIDE), i = square_open(b), j = square_open(b);
    LoopCopier copier = open_row(r, i);
    LoopRef last = last_of(r, r->fold);
    LoopRef column = loop_min(b, loop_add(b, from_column, j), last);
    loop_copy_as(&copier, r->fold->bodies[0]->params[0], column);
    for (uint32_t k = 0; k < r->count; k++) {
        LoopStm *load = loop_copy_stm(&copier, r->loads[k]);
        loop_append(b, load);
        LoopRef args[] = {r->tiles[k], load->outs[0], square_place(b, i, j)};
        loop_emit(b, LOOP_STORE, args, 3, NULL, 0);
    }
    square_close(b, side, ORDER_INDEPENDENT);
    square_close(b, side, ORDER_INDEPENDENT);
}

// A turn of the fold, with what the tiles have instead of the loads.
static void fold_one(const Walks *r, LoopCopier *copier, LoopRef place) {
    const LoopBody *body = r->fold->bodies[0];
    for (uint32_t s = 0; s < body->stms.len; s++) {
        const LoopStm *stm = body->stms.data[s];
        uint32_t k = 0;
        while (k < r->count && r->loads[k] != stm) k++;
        if (k == r->count) loop_append(r->b, loop_copy_stm(copier, stm));
        else
            loop_copy_as(copier, stm->outs[0],
                         loop_emit1(r->b, LOOP_LOAD, (LoopRef[]){r->tiles[k], place}, 2,
                                    loop_type(r->b, stm->outs[0])));
    }
}

// Each item along its row of the tile.
static void fold_tile(const Walks *r, LoopRef from_column) {
    LoopBuilder *b = r->b;
    const LoopBody *body = r->fold->bodies[0];
    uint32_t count = r->fold->out_count;
    LoopRef side = loop_int(b, SIDE), i = square_open(b);
    LoopRef args[1 + MOST], params[1 + MOST], results[MOST];
    LoopType types[MOST];
    LoopCopier copier = open_row(r, i);
    args[0] = loop_min(b, side, loop_sub(b, r->fold->args[0], from_column));
    load_states(r, i, args + 1);
    params[0] = loop_value(b, loop_scalar_type(SCALAR_I64), 0);
    for (uint32_t k = 0; k < count; k++) {
        types[k] = loop_type(b, r->fold->outs[k]);
        params[1 + k] = loop_value(b, types[k], 0);
        loop_copy_as(&copier, body->params[1 + k], params[1 + k]);
    }
    loop_open(b, params, 1 + count);
    loop_copy_as(&copier, body->params[0], loop_add(b, from_column, params[0]));
    fold_one(r, &copier, square_place(b, i, params[0]));
    for (uint32_t k = 0; k < count; k++)
        results[k] = loop_copy_of(&copier, body->results[k]);
    LoopBody *turn = loop_close(b, results, count);
    LoopStm *loop = loop_emit(b, LOOP_FOR, args, 1 + count, types, count);
    loop_set_bodies(b, loop, &turn, 1);
    store_states(r, i, loop->outs);
    square_close(b, side, ORDER_INDEPENDENT);
}

static void end_rows(const Walks *r) {
    LoopBuilder *b = r->b;
    const LoopBody *body = r->outer->bodies[0];
    LoopRef i = square_open(b), values[MOST];
    LoopRef is_row = loop_lt(b, loop_add(b, r->from_row, i), r->outer->args[0]);
    LoopBody *nothing = square_else(b, NULL);
    LoopCopier copier = open_row(r, i);
    load_states(r, i, values);
    for (uint32_t k = 0; k < r->fold->out_count; k++)
        loop_copy_as(&copier, r->fold->outs[k], values[k]);
    for (uint32_t k = r->at + 1; k < body->stms.len; k++)
        loop_append(b, loop_copy_stm(&copier, body->stms.data[k]));
    square_if(b, is_row, nothing);
    square_close(b, loop_int(b, SIDE), ORDER_INDEPENDENT);
}

static void make_teams(Walks *r) {
    LoopBuilder *b = r->b;
    LoopRef side = loop_int(b, SIDE), teams = square_count(b, r->outer->args[0]);
    r->from_row = loop_mul(b, square_open(b), side);
    for (uint32_t k = 0; k < r->count; k++)
        r->tiles[k] = square_alloc(b, r->loads[k]->outs[0], SIDE * SIDE);
    for (uint32_t k = 0; k < r->fold->out_count; k++)
        r->states[k] = square_alloc(b, r->fold->outs[k], SIDE);
    LoopRef tiles = square_count(b, r->fold->args[0]);
    start_rows(r);
    LoopRef from_column = loop_mul(b, square_open(b), side);
    fetch(r, from_column);
    fold_tile(r, from_column);
    square_close(b, tiles, ORDER_SEQUENTIAL);
    end_rows(r);
    square_close(b, teams, ORDER_PARALLEL);
}

// Instead of the loop; where there is no whole tile, it goes as before.
static bool change(LoopBuilder *b, LoopStm *stm) {
    Walks rows = {.b = b};
    if (!find_rows(&rows, stm)) return false;
    LoopRef fits = square_fits(b, stm->args[0], rows.fold->args[0]);
    LoopBody *as_before = square_else(b, stm);
    make_teams(&rows);
    square_if(b, fits, as_before);
    return true;
}

void loop_walks(LoopKernel *kernel) {
    if (kernel->is_for_gpus) square_change(kernel, change);
}
