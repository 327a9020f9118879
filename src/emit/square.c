// SPDX-License-Identifier: Apache-2.0
//
// Squares of several vectors a row (src/loop/vector_square.c): loads, rounds of
// shuffles, stores. Written one after the other each would be of all of the square,
// which has more vectors than there are registers. So they are written as the stores
// want them: of as many stores as a vector has lanes what these wait for, which is one
// block of lanes, and no more. Stores that go past the caches are written row by row,
// since a line that is not stored at once goes there in pieces.
#include "emit/vector.h"

enum { IS_FAR, IS_WANTED, IS_THERE };

typedef struct Square {
    Walker *w;
    const LoopBody *body;
    uint32_t from, stores, end; // statements: loads and shuffles; stores
    uint8_t *states;            // of each of the first, by part
} Square;

static uint32_t parts_of(const Walker *w) {
    return w->lanes / w->part.count;
}

static bool is_plain(const Walker *w, const LoopStm *stm, LoopOp op) {
    if (stm->op != op) return false;
    if (op == LOOP_TAKE) return true;
    WalkAccess a = walk_access(w, stm);
    return !a.has_places && a.elem != SCALAR_BOOL && w->is_own[a.buffer] &&
           (op == LOOP_STORE || walk_has_lanes(w, stm->outs[0]));
}

static uint32_t skip(const Square *s, uint32_t at, LoopOp op) {
    while (at < s->body->stms.len && is_plain(s->w, s->body->stms.data[at], op)) at++;
    return at;
}

// Whether all that is loaded comes from other memory than what is stored.
static bool is_apart(const Square *s) {
    LoopStm **stms = s->body->stms.data;
    for (uint32_t i = s->from; stms[i]->op == LOOP_LOAD; i++)
        for (uint32_t k = s->stores; k < s->end; k++)
            if (stms[i]->args[0] == stms[k]->args[0]) return false;
    return true;
}

static bool find_square(Square *s) {
    const Walker *w = s->w;
    if (w->lanes == 0 || parts_of(w) == 1) return false;
    uint32_t takes = skip(s, s->from, LOOP_LOAD);
    s->stores = skip(s, takes, LOOP_TAKE);
    s->end = skip(s, s->stores, LOOP_STORE);
    return takes - s->from == w->lanes && s->stores > takes &&
           s->end - s->stores == w->lanes && is_apart(s);
}

static uint32_t place_of(const Square *s, uint32_t at, uint32_t part) {
    return (at - s->from) * parts_of(s->w) + part;
}

// Notes that a part of a value is wanted, and what that waits for, if it is not there.
static void want(Square *s, LoopRef ref, uint32_t part) {
    const Walker *w = s->w;
    uint32_t at = s->from, parts = parts_of(w);
    while (at < s->stores && s->body->stms.data[at]->outs[0] != ref) at++;
    if (at == s->stores || s->states[place_of(s, at, part)] != IS_FAR) return;
    const LoopStm *stm = s->body->stms.data[at];
    s->states[place_of(s, at, part)] = IS_WANTED;
    for (uint32_t i = 0; i < w->part.count && stm->op == LOOP_TAKE; i++) {
        LoopRef lane = stm->args[2 + part * w->part.count + i];
        uint64_t number = w->kernel->values.data[lane].bits / w->part.count;
        want(s, stm->args[number / parts], (uint32_t)(number % parts));
    }
}

// Writes what is wanted, round by round.
static void write_wanted(Square *s) {
    for (uint32_t at = s->from; at < s->stores; at++)
        for (uint32_t p = 0; p < parts_of(s->w); p++) {
            uint8_t *state = &s->states[place_of(s, at, p)];
            if (*state == IS_WANTED) walk_define(s->w, s->body->stms.data[at], p);
            if (*state == IS_WANTED) *state = IS_THERE;
        }
}

// Writes what a part of a block of stores waits for, from the first of them on.
static void write_block(Square *s, uint32_t first, uint32_t part) {
    for (uint32_t i = 0; i < s->w->part.count; i++)
        want(s, s->body->stms.data[first + i]->args[1], part);
    write_wanted(s);
}

// Past the caches, row by row.
static void write_rows(Square *s) {
    Walker *w = s->w;
    for (uint32_t i = s->stores; i < s->end; i++) {
        bool is_first = (i - s->stores) % w->part.count == 0;
        for (uint32_t p = 0; is_first && p < parts_of(w); p++) write_block(s, i, p);
        walk_store(w, s->body->stms.data[i]);
    }
}

// Block by block, those first that are loaded from the same rows.
static void write_blocks(Square *s) {
    Walker *w = s->w;
    for (uint32_t p = 0; p < parts_of(w); p++)
        for (uint32_t i = s->stores; i < s->end; i++) {
            if ((i - s->stores) % w->part.count == 0) write_block(s, i, p);
            walk_store_part(w, s->body->stms.data[i], p);
        }
}

uint32_t walk_square(Walker *w, const LoopBody *body, uint32_t from) {
    Square s = {.w = w, .body = body, .from = from};
    if (!find_square(&s)) return from;
    s.states = arena_array(w->arena, uint8_t, (s.stores - from) * parts_of(w));
    walk_note_rows(w, body, s.stores);
    WalkAccess a = walk_access(w, body->stms.data[s.stores]);
    if (walk_streams_parts(w, &a)) write_rows(&s);
    else write_blocks(&s);
    return s.end;
}
