// SPDX-License-Identifier: Apache-2.0
//
// Squares in a vector turn. A loop of as many turns as there are lanes that copies a
// row in each lane to vectors one after the other, or such vectors to rows, copies
// vectors on both sides: what is a row on one of them is a lane of each on the other,
// which rounds of perfect shuffles make.
#include "loop/vector_turn.h"

typedef struct Square {
    const LoopStm *load, *store;
    LoopRef index;
    uint32_t side;
} Square;

// Of a load or store in lanes: which arg is the index of the loop, and which one the
// numbers of the lanes; 0: none.
typedef struct Places {
    uint32_t index, lanes;
} Places;

static LoopType type_of(const Vector *v, LoopRef ref) {
    return v->kernel->values.data[ref].type;
}

// False: an arg that says where depends on the loop or the lane in another way.
static bool find_places(const Vector *v, const Square *s, const LoopStm *stm,
                        const bool *is_number, Places *out) {
    uint32_t first = stm->op == LOOP_LOAD ? 1 : 2;
    *out = (Places){0};
    for (uint32_t i = first; i < stm->arg_count; i++) {
        LoopRef arg = stm->args[i];
        bool is_index = arg == s->index, has_lanes = type_of(v, arg).lanes > 0;
        if (!is_index && !has_lanes) continue;
        uint32_t *at = is_index ? &out->index : &out->lanes;
        bool is_second = i > first && (i - first) % 2 == 0;
        if (!is_second || *at != 0 || (has_lanes && !is_number[arg])) return false;
        *at = i;
    }
    return out->index != 0;
}

static LoopStm *copy_of(Vector *v, const LoopStm *stm) {
    LoopStm *copy = arena_copy(v->arena, stm, sizeof *stm);
    copy->args = arena_copy(v->arena, stm->args, stm->arg_count * sizeof *stm->args);
    return copy;
}

// The load or store of vector k.
static LoopStm *vector_of(Vector *v, const LoopStm *stm, const Places *p, uint32_t k) {
    LoopStm *copy = copy_of(v, stm);
    LoopRef number = loop_int(&v->b, k);
    if (p->lanes == 0) {
        copy->args[p->index] = number;
    } else {
        copy->args[p->index] = loop_int(&v->b, 0);
        copy->args[p->lanes] = number;
    }
    return copy;
}

// Lane i of what a shuffle takes: of x, or of y behind it. Within blocks of so many
// lanes those of a half of x and of y by turns.
static uint32_t lane_by_turns(uint32_t i, uint32_t side, uint32_t block,
                              uint32_t half) {
    return i / block * block + half * block / 2 + i % block / 2 + i % 2 * side;
}

// Every other block of x, each with that of y behind it.
static uint32_t lane_of_blocks(uint32_t i, uint32_t side, uint32_t block,
                               uint32_t half) {
    bool is_second = (i & block) != 0;
    return (i & ~block) + half * block + (is_second ? side : 0);
}

typedef uint32_t LaneOf(uint32_t i, uint32_t side, uint32_t block, uint32_t half);

static LoopRef shuffle(Vector *v, LoopRef x, LoopRef y, uint32_t side, LaneOf *lane_of,
                       uint32_t block, uint32_t half) {
    LoopRef *args = arena_array(v->arena, LoopRef, 2 + side);
    args[0] = x;
    args[1] = y;
    for (uint32_t i = 0; i < side; i++)
        args[2 + i] = loop_int(&v->b, lane_of(i, side, block, half));
    return loop_emit1(&v->b, LOOP_TAKE, args, 2 + side, type_of(v, x));
}

// Blocks of rows and of lanes change places, pair by pair.
static void swap_blocks(Vector *v, LoopRef *rows, uint32_t side, uint32_t block) {
    for (uint32_t k = 0; k < side; k++) {
        if ((k & block) != 0) continue;
        LoopRef x = rows[k], y = rows[k + block];
        rows[k] = shuffle(v, x, y, side, lane_of_blocks, block, 0);
        rows[k + block] = shuffle(v, x, y, side, lane_of_blocks, block, 1);
    }
}

// Rows and lanes of each block change places, by rounds of perfect shuffles.
static void transpose_blocks(Vector *v, LoopRef *rows, uint32_t side, uint32_t block) {
    LoopRef next[LOOP_MOST_LANES];
    for (uint32_t round = 1; round < block; round *= 2) {
        for (uint32_t k = 0; k < side; k++) {
            LoopRef *from = rows + k / block * block + k % block / 2;
            next[k] =
                shuffle(v, from[0], from[block / 2], side, lane_by_turns, block, k % 2);
        }
        for (uint32_t k = 0; k < side; k++) rows[k] = next[k];
    }
}

// Vectors of 64 bytes have any shuffle of two in one instruction. Those of 32 have some
// that stay within 16 bytes, and one that puts 16 bytes of each side by side.
static void transpose(Vector *v, LoopRef *rows, uint32_t side) {
    enum { ANY = 64, WITHIN = 16 };
    uint32_t block = side, bytes = scalar_info[type_of(v, rows[0]).elem].bytes;
    while (v->bytes < ANY && block * bytes > WITHIN) {
        block /= 2;
        swap_blocks(v, rows, side, block);
    }
    transpose_blocks(v, rows, side, block);
}

static void emit_square(Vector *v, const Square *s, const Places *from,
                        const Places *to) {
    LoopRef rows[LOOP_MOST_LANES];
    LoopType type = type_of(v, s->load->outs[0]);
    for (uint32_t k = 0; k < s->side; k++) {
        const LoopStm *load = vector_of(v, s->load, from, k);
        rows[k] = loop_emit1(&v->b, LOOP_LOAD, load->args, load->arg_count, type);
    }
    transpose(v, rows, s->side);
    for (uint32_t k = 0; k < s->side; k++) {
        LoopStm *store = vector_of(v, s->store, to, k);
        store->args[1] = rows[k];
        loop_append(&v->b, store);
    }
}

// Whether what the place goes by from turn to turn of the loop is that many elements.
static bool goes_by(const Vector *v, const LoopStm *stm, const Places *p, int64_t by) {
    return loop_is_int(&v->b, stm->args[p->index - 1], by);
}

bool turn_square(Vector *v, const LoopStm *loop) {
    uint64_t count;
    Square s = {.index = loop->bodies[0]->params[0], .side = v->lanes};
    if (loop->order != ORDER_INDEPENDENT || loop->out_count > 0 || v->flight > 2 ||
        (v->lanes & (v->lanes - 1)) != 0 ||
        !loop_is_known(&v->b, loop->args[0], &count) || count != v->lanes)
        return false;
    const LoopBody *body = loop->bodies[0];
    bool *is_number = arena_array(loop_notes(v->kernel), bool, v->kernel->values.len);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LANES && stm->arg_count == 0)
            is_number[stm->outs[0]] = true;
        else if (stm->op == LOOP_LOAD && s.load == NULL) s.load = stm;
        else if (stm->op == LOOP_STORE && s.load != NULL && s.store == NULL)
            s.store = stm;
        else return false;
    }
    Places from, to;
    if (s.store == NULL || s.store->args[1] != s.load->outs[0] ||
        type_of(v, s.load->outs[0]).elem == SCALAR_BOOL ||
        !find_places(v, &s, s.load, is_number, &from) ||
        !find_places(v, &s, s.store, is_number, &to) ||
        (from.lanes == 0) == (to.lanes == 0))
        return false;
    bool is_row = from.lanes != 0;
    if (!goes_by(v, is_row ? s.load : s.store, is_row ? &from : &to, 1)) return false;
    emit_square(v, &s, &from, &to);
    return true;
}
