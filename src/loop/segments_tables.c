// SPDX-License-Identifier: Apache-2.0
//
// Tables of segments. What segments side by side load from places that depend on their
// own place in the segment alone, such as the roots of a Fourier transform, is the same
// in all blocks. Where these places are far from each other they are loaded once for
// many blocks, and lie side by side then:
//
//     for(tiles) {|tile|                some places of some blocks
//       for(places) {|t| copy[t] = table[.. first + t ..]}
//       for(blocks) {|q| for(places) {|t| .. copy[t] ..}}
//
// A tile has as many places as leave it eight blocks, or all blocks if there are fewer;
// of several turns at once, 32.
#include "loop/copy.h"
#include "loop/segments.h"

enum {
    TILE = 4096,
    LEAST_BLOCKS = 8,
    CHAIN_TILE = 8192, // chains have more tables, and make more in a turn
    CHAIN_BLOCKS = 32,
    MOST_LEVELS = 8
};

// How a number moves from one place to the next, that of a block and side being what it
// was.
typedef enum Pace {
    PACE_STILL,
    PACE_ONE,
    PACE_FAR,
    PACE_UNKNOWN, // it may depend on block and side
} Pace;

static Pace later(Pace x, Pace y) {
    return x > y ? x : y;
}

static Pace pace_of(const Segments *s, LoopRef ref, uint32_t levels) {
    const LoopStm *def = segments_def(s, ref);
    if (segments_is_outside(s, ref)) return PACE_STILL;
    if (def == NULL || levels == 0) return PACE_UNKNOWN;
    const Divisor *d = segments_divisor(s, def);
    if (d != NULL)
        return d->times != 1 || segments_is_quotient(def) ? PACE_UNKNOWN : PACE_ONE;
    Pace pace = PACE_STILL;
    for (uint32_t i = 0; i < def->arg_count; i++)
        pace = later(pace, pace_of(s, def->args[i], levels - 1));
    bool is_sum = def->scalar == OP_ADD || def->scalar == OP_SUB;
    return pace == PACE_ONE && !is_sum ? PACE_FAR : pace;
}

static bool is_table(const Segments *s, const LoopStm *load) {
    Pace pace = pace_of(s, load->args[1], MOST_LEVELS);
    for (uint32_t i = 2; i < load->arg_count; i += 2) {
        Pace index = pace_of(s, load->args[i + 1], MOST_LEVELS);
        bool is_near = loop_is_int(&s->w->b, load->args[i], 1);
        pace = later(pace, pace_of(s, load->args[i], MOST_LEVELS));
        pace = later(pace, index == PACE_ONE && !is_near ? PACE_FAR : index);
    }
    return pace == PACE_FAR;
}

void segments_find_tables(Segments *s) {
    const LoopBody *body = s->loop->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD && s->table_count < SEGMENTS_MOST_TABLES &&
            is_table(s, stm))
            s->tables[s->table_count++].load = stm;
    }
}

// Emits what the tables' elements are computed from and does not change within the
// segments.
static void emit_still(const Segments *s, LoopCopier *copier) {
    const LoopBody *body = s->loop->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR &&
            pace_of(s, stm->outs[0], MOST_LEVELS) == PACE_STILL)
            loop_append(&s->w->b, loop_copy_stm(copier, stm));
    }
}

// Emits the loads of the tables' elements at a place, with what these are computed
// from, and keeps them.
static void emit_elements(const Segments *s, LoopCopier *copier, const SidePlace *at) {
    LoopBuilder *b = &s->w->b;
    const LoopBody *body = s->loop->bodies[0];
    for (uint32_t i = 0, found = 0; found < s->table_count; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_load = stm == s->tables[found].load;
        Pace pace = stm->op == LOOP_SCALAR ? pace_of(s, stm->outs[0], MOST_LEVELS)
                                           : PACE_UNKNOWN;
        if (!is_load && (pace == PACE_UNKNOWN || pace == PACE_STILL)) continue;
        LoopRef digit = segments_digit(s, stm, at);
        if (digit != 0) loop_copy_as(copier, stm->outs[0], digit);
        else loop_append(b, loop_copy_stm(copier, stm));
        if (!is_load) continue;
        LoopRef element = loop_copy_of(copier, stm->outs[0]);
        LoopRef args[] = {s->tables[found++].copy, element, loop_int(b, 0),
                          loop_int(b, 1), at->in_tile};
        loop_emit(b, LOOP_STORE, args, 5, NULL, 0);
    }
}

// Emits the copies of the tables for so many places from the first.
static void emit_copies(Segments *s, LoopRef first, LoopRef count) {
    LoopBuilder *b = &s->w->b;
    for (uint32_t i = 0; i < s->table_count; i++) {
        LoopType type = loop_type(b, s->tables[i].load->outs[0]);
        s->tables[i].copy = loop_emit1(b, LOOP_ALLOC, &count, 1,
                                       loop_buffer_type((ScalarType)type.elem));
    }
    LoopCopier copier = segments_copier(s);
    emit_still(s, &copier);
    SidePlace at = {.block = loop_int(b, 0), .in_tile = loop_open_turns(b)};
    at.place = loop_add(b, first, at.in_tile);
    emit_elements(s, &copier, &at);
    loop_close_turns(b, count, ORDER_INDEPENDENT);
}

// n / size, rounded up.
static LoopRef parts(LoopBuilder *b, LoopRef n, LoopRef size) {
    LoopRef more = loop_sub(b, size, loop_int(b, 1));
    return loop_quot(b, loop_add(b, n, more), size);
}

void segments_emit_tiles(Segments *s) {
    LoopBuilder *b = &s->w->b;
    bool is_chain = s->chain != NULL;
    LoopRef tile = loop_int(b, is_chain ? CHAIN_TILE : TILE);
    LoopRef least = loop_int(b, is_chain ? CHAIN_BLOCKS : LEAST_BLOCKS);
    LoopRef blocks = loop_quot(b, s->turns, s->base);
    LoopRef wide = loop_quot(b, tile, loop_min(b, blocks, least));
    uint64_t base;
    bool is_whole = loop_is_known(b, s->base, &base) && base <= TILE / LEAST_BLOCKS;
    wide = is_whole ? s->base : loop_min(b, wide, s->base);
    LoopRef high = loop_quot(b, tile, wide), columns = parts(b, s->base, wide);
    LoopRef tiles = loop_mul(b, parts(b, blocks, high), columns);
    LoopRef turn = loop_open_turns(b), mark = 0;
    bool is_parallel = s->loop->order == ORDER_PARALLEL;
    if (!is_parallel)
        mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    LoopRef first = loop_mul(b, loop_rem(b, turn, columns), wide);
    LoopRef begin = loop_mul(b, loop_quot(b, turn, columns), high);
    LoopRef rest = loop_sub(b, s->base, first);
    LoopRef count = is_whole ? s->base : loop_min(b, wide, rest);
    LoopRef length = loop_min(b, high, loop_sub(b, blocks, begin));
    if (is_chain) segments_copy_all(s->chain, first, count, emit_copies);
    else emit_copies(s, first, count);
    SidePlace at = {.block = loop_add(b, begin, loop_open_turns(b)),
                    .in_tile = loop_open_turns(b)};
    at.place = loop_add(b, first, at.in_tile);
    segments_emit_turn(s, at);
    loop_close_turns(b, count, ORDER_INDEPENDENT);
    loop_close_turns(b, length, ORDER_SEQUENTIAL);
    if (!is_parallel) loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
    loop_close_turns(b, tiles, is_parallel ? ORDER_PARALLEL : ORDER_SEQUENTIAL);
}
