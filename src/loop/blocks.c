// SPDX-License-Identifier: Apache-2.0
//
// Blocks of long rows, on GPUs. Where each turn of a parallel loop goes over the blocks
// of a row, and makes a few scalars of each before it joins them, one work item would
// make all of them. Here the blocks of all rows become turns of their own, which teams
// run (launch_team.c) and which put their scalars into memory; then there is an item
// for each row, which joins what is there.
//
//   for.parallel(rows) {|r| before; for(blocks) {|i| part; join}; after}
//
// becomes, for so many rows at once that there are at most MOST_PARTS parts,
//
//   for.parallel(rows * blocks) {|t| before; part; made[t] = ...}
//   for.parallel(rows) {|r| before; for(blocks) {|i| ... = made[r * blocks + i]; join};
//                       after}
#include "loop/passes.h"
#include "loop/square.h"

enum { MOST = 8, MOST_PARTS = 1 << 20 }; // MOST: scalars that a part makes
enum { WORTH = 16 };                     // turns at once of a team

typedef struct Blocks {
    LoopBuilder *b;
    const LoopStm *outer, *fold;
    uint32_t at;          // of the fold among the outer loop's statements
    uint32_t split;       // where joining begins in the fold's turn
    Map in_turn, in_part; // what they bind
    Map alike;            // what is the same for all turns
    LoopRef made[MOST];   // by the part
    LoopRef memory[MOST]; // for all that are made at once
    uint32_t count;
    LoopRef blocks, from_row;
} Blocks;

// ---- finding them -------------------------------------------------------------------

static bool is_in(const Blocks *k, const Map *bound, LoopRef ref) {
    uint64_t unused;
    return map_get(bound, loop_find(k->b, ref), &unused);
}

// Whether it can be made once more elsewhere.
static bool is_pure(const LoopStm *stm) {
    if (stm->op == LOOP_IF)
        for (int arm = 0; arm < 2; arm++)
            for (uint32_t i = 0; i < stm->bodies[arm]->stms.len; i++)
                if (!is_pure(stm->bodies[arm]->stms.data[i])) return false;
    return stm->op == LOOP_SCALAR || stm->op == LOOP_APPLY || stm->op == LOOP_LOAD ||
           stm->op == LOOP_IF;
}

// Whether a matrix is read along the rows that the turns are, so that neighbouring
// turns, not items of a team, read what is beside.
static bool is_of_column(const Blocks *k, const LoopStm *load) {
    LoopRef row = k->outer->bodies[0]->params[0];
    if (load->arg_count == 2) return false;
    bool is_next = loop_same(k->b, load->args[1], row);
    for (uint32_t i = 2; i < load->arg_count; i += 2)
        is_next =
            is_next || (load->arg_count > 4 && loop_is_int(k->b, load->args[i], 1) &&
                        loop_same(k->b, load->args[i + 1], row));
    return is_next;
}

static bool binds_buffers(const Blocks *k, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (loop_type(k->b, stm->outs[i]).kind == LOOP_IS_BUFFER) return true;
    return false;
}

// Whether it cannot fail, and stores to nothing but memory that its part has taken.
static bool is_part(const Blocks *k, const LoopStm *stm) {
    switch ((int)stm->op) {
    case LOOP_ALLOC: return true;
    case LOOP_LOAD:
        if (is_in(k, &k->in_part, stm->args[0])) return true;
        return !is_in(k, &k->in_turn, stm->args[0]) && !is_of_column(k, stm);
    case LOOP_STORE: return is_in(k, &k->in_part, stm->args[0]);
    case LOOP_SCALAR:
    case LOOP_APPLY:
    case LOOP_MARK: return true;
    case LOOP_FOR:
    case LOOP_WHILE:
    case LOOP_IF: break;
    default: return false;
    }
    for (uint32_t i = 0; i < stm->body_count; i++)
        for (uint32_t s = 0; s < stm->bodies[i]->stms.len; s++)
            if (!is_part(k, stm->bodies[i]->stms.data[s])) return false;
    return !binds_buffers(k, stm);
}

// Whether a row's own memory is all that it stores to.
static bool is_own(const Blocks *k, const LoopStm *stm) {
    if (stm->op == LOOP_CALL || stm->op == LOOP_ATOMIC ||
        (stm->op == LOOP_STORE && !is_in(k, &k->in_turn, stm->args[0])) ||
        (stm->op != LOOP_ALLOC && binds_buffers(k, stm)))
        return false;
    for (uint32_t i = 0; i < stm->body_count; i++)
        for (uint32_t s = 0; s < stm->bodies[i]->stms.len; s++)
            if (!is_own(k, stm->bodies[i]->stms.data[s])) return false;
    return true;
}

// Whether there is work for a team in it.
static bool has_spread(const Blocks *k, const LoopStm *stm) {
    uint64_t times;
    if (stm->op == LOOP_FOR && stm->order == ORDER_INDEPENDENT &&
        loop_is_known(k->b, stm->args[0], &times) && times >= WORTH)
        return true;
    for (uint32_t i = 0; i < stm->body_count; i++)
        for (uint32_t s = 0; s < stm->bodies[i]->stms.len; s++)
            if (has_spread(k, stm->bodies[i]->stms.data[s])) return true;
    return false;
}

static LoopBody slice(const LoopBody *body, uint32_t from, uint32_t to) {
    return (LoopBody){.stms = {body->stms.data + from, to - from, to - from}};
}

// Where joining begins: at what uses the row's memory. Before that there must be work
// for a team, and after it nothing that could change what the parts see.
static bool find_split(Blocks *k) {
    const LoopBody *body = k->fold->bodies[0];
    bool is_worth = false;
    while (k->split < body->stms.len && is_part(k, body->stms.data[k->split])) {
        const LoopStm *stm = body->stms.data[k->split++];
        is_worth = is_worth || has_spread(k, stm);
        for (uint32_t i = 0; i < stm->out_count; i++)
            map_set(&k->in_part, stm->outs[i], 1);
    }
    for (uint32_t i = k->split; i < body->stms.len; i++)
        if (!is_own(k, body->stms.data[i])) return false;
    return is_worth;
}

// What joining needs of the part: scalars, and marks, which it can make again.
static bool find_made(Blocks *k) {
    const LoopBody *body = k->fold->bodies[0];
    LoopBody join = slice(body, k->split, body->stms.len);
    LoopRefs refs;
    loop_captures(k->b->kernel, &join, k->b->arena, &refs);
    for (uint32_t i = 0; i < refs.len; i++) {
        LoopType type = loop_type(k->b, refs.data[i]);
        if (!is_in(k, &k->in_part, refs.data[i]) || type.kind == LOOP_IS_MARK) continue;
        if (type.kind != LOOP_IS_SCALAR || k->count == MOST) return false;
        k->made[k->count++] = refs.data[i];
    }
    return true;
}

// Of the statements before the fold those that are the same for all turns.
static void find_alike(Blocks *k) {
    for (uint32_t i = 0; i < k->at; i++) {
        const LoopStm *stm = k->outer->bodies[0]->stms.data[i];
        bool is_alike = stm->op == LOOP_SCALAR;
        for (uint32_t a = 0; a < stm->arg_count && is_alike; a++)
            is_alike = !is_in(k, &k->in_turn, stm->args[a]) ||
                       is_in(k, &k->alike, stm->args[a]);
        if (is_alike) map_set(&k->alike, stm->outs[0], 1);
    }
}

static bool find_fold(Blocks *k) {
    const LoopBody *body = k->outer->bodies[0];
    for (; k->at < body->stms.len; k->at++) {
        const LoopStm *stm = body->stms.data[k->at];
        if (!is_pure(stm) && stm->op != LOOP_ALLOC) break;
    }
    if (k->at == body->stms.len) return false;
    k->fold = body->stms.data[k->at];
    return k->fold->op == LOOP_FOR && k->fold->order == ORDER_SEQUENTIAL &&
           k->fold->number == 0 && k->fold->out_count == 0;
}

static bool find_blocks(Blocks *k, const LoopStm *stm) {
    if (stm->op != LOOP_FOR || stm->order != ORDER_PARALLEL || stm->number > 0)
        return false;
    k->outer = stm;
    if (!find_fold(k)) return false;
    map_init(&k->in_turn, loop_notes(k->b->kernel));
    map_init(&k->in_part, loop_notes(k->b->kernel));
    map_init(&k->alike, loop_notes(k->b->kernel));
    loop_bind_body(&k->in_turn, stm->bodies[0]);
    find_alike(k);
    LoopRef rows = stm->args[0], blocks = k->fold->args[0];
    return loop_type(k->b, rows).elem == SCALAR_I64 &&
           loop_type(k->b, blocks).elem == SCALAR_I64 &&
           (!is_in(k, &k->in_turn, blocks) || is_in(k, &k->alike, blocks)) &&
           find_split(k) && find_made(k);
}

// ---- two launches -------------------------------------------------------------------

// A copier that knows the row, after a copy of what comes before its blocks.
static LoopCopier open_row(const Blocks *k, LoopRef row) {
    const LoopBody *body = k->outer->bodies[0];
    LoopCopier copier = loop_copier(k->b);
    loop_copy_as(&copier, body->params[0], row);
    for (uint32_t i = 0; i < k->at; i++)
        loop_append(k->b, loop_copy_stm(&copier, body->stms.data[i]));
    return copier;
}

static void make_parts(const Blocks *k, LoopRef rows) {
    LoopBuilder *b = k->b;
    const LoopBody *body = k->fold->bodies[0];
    LoopRef parts = loop_mul(b, rows, k->blocks);
    LoopRef turn = square_open(b), above = loop_quot(b, turn, k->blocks);
    LoopCopier copier = open_row(k, loop_add(b, k->from_row, above));
    LoopRef block = loop_sub(b, turn, loop_mul(b, above, k->blocks));
    loop_copy_as(&copier, body->params[0], block);
    for (uint32_t i = 0; i < k->split; i++)
        loop_append(b, loop_copy_stm(&copier, body->stms.data[i]));
    for (uint32_t i = 0; i < k->count; i++) {
        LoopRef made = loop_copy_of(&copier, k->made[i]);
        loop_emit(b, LOOP_STORE, (LoopRef[]){k->memory[i], made, turn}, 3, NULL, 0);
    }
    square_close(b, parts, ORDER_PARALLEL);
}

static void join_blocks(const Blocks *k, LoopCopier *copier, LoopRef row) {
    LoopBuilder *b = k->b;
    const LoopBody *body = k->fold->bodies[0];
    LoopRef first = loop_mul(b, row, k->blocks);
    LoopRef block = square_open(b), place = loop_add(b, first, block);
    loop_copy_as(copier, body->params[0], block);
    for (uint32_t i = 0; i < k->count; i++)
        loop_copy_as(copier, k->made[i],
                     loop_emit1(b, LOOP_LOAD, (LoopRef[]){k->memory[i], place}, 2,
                                loop_type(b, k->made[i])));
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (i >= k->split || body->stms.data[i]->op == LOOP_MARK)
            loop_append(b, loop_copy_stm(copier, body->stms.data[i]));
    square_close(b, k->blocks, ORDER_SEQUENTIAL);
}

static void join_rows(const Blocks *k, LoopRef rows) {
    LoopBuilder *b = k->b;
    const LoopBody *body = k->outer->bodies[0];
    LoopRef row = square_open(b);
    LoopCopier copier = open_row(k, loop_add(b, k->from_row, row));
    join_blocks(k, &copier, row);
    for (uint32_t i = k->at + 1; i < body->stms.len; i++)
        loop_append(b, loop_copy_stm(&copier, body->stms.data[i]));
    square_close(b, rows, ORDER_PARALLEL);
}

// How many there are, before the loop.
static LoopRef count_blocks(const Blocks *k) {
    LoopCopier copier = loop_copier(k->b);
    for (uint32_t i = 0; i < k->at; i++) {
        const LoopStm *stm = k->outer->bodies[0]->stms.data[i];
        if (stm->op == LOOP_SCALAR && is_in(k, &k->alike, stm->outs[0]))
            loop_append(k->b, loop_copy_stm(&copier, stm));
    }
    return loop_copy_of(&copier, k->fold->args[0]);
}

static bool change(LoopBuilder *b, LoopStm *stm) {
    Blocks blocks = {.b = b}, *k = &blocks;
    if (!find_blocks(k, stm)) return false;
    LoopRef rows = stm->args[0], one = loop_int(b, 1);
    k->blocks = count_blocks(k);
    LoopRef most = loop_quot(b, loop_int(b, MOST_PARTS), loop_max(b, one, k->blocks));
    LoopRef at_once = loop_max(b, one, most);
    LoopRef places = loop_mul(b, loop_min(b, at_once, rows), k->blocks);
    LoopRef mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    for (uint32_t i = 0; i < k->count; i++) {
        ScalarType elem = (ScalarType)loop_type(b, k->made[i]).elem;
        k->memory[i] = loop_emit1(b, LOOP_ALLOC, &places, 1, loop_buffer_type(elem));
    }
    LoopRef rest = loop_sub(b, at_once, one);
    LoopRef rounds = loop_quot(b, loop_add(b, rows, rest), at_once);
    k->from_row = loop_mul(b, square_open(b), at_once);
    LoopRef now = loop_min(b, at_once, loop_sub(b, rows, k->from_row));
    make_parts(k, now);
    join_rows(k, now);
    square_close(b, rounds, ORDER_SEQUENTIAL);
    loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
    return true;
}

void loop_blocks(LoopKernel *kernel) {
    if (kernel->is_for_gpus) square_change(kernel, change);
}
