// SPDX-License-Identifier: Apache-2.0
//
// Blocking in time. A loop whose turns make an array from the last one, row by row,
// each row from those around it, goes over memory in every turn. Here up to sixteen
// turns, or steps, are made of some rows before the next rows are looked at: step t of
// row y needs step t - 1 of the rows up to y + reach, so that chunks of rows, each
// `reach` higher up than in the step before, find all that they read in the caches:
//
//     step 0   |chunk 0|chunk 1|chunk 2|      two buffers that swap suffice: what step
//     step 1  |chunk 0|chunk 1|chunk 2|       t + 1 writes over has been read by step t
//     step 2 |chunk 0|chunk 1|chunk 2|
//
// Rows are divided into tiles, so that turns run at once: in phase 0 each tile does
// what its own rows allow, fewer with each step, and in phase 1 what that has left out
// around each boundary between two; where beyond the last row is the first, between the
// last tile and the first, too. Nothing is made twice, and each value as before.
//
// Where there are few steps, or few rows, they stay as they were. Taken are loops that
// carry nothing but buffers, with turns that cannot stop and are rows of straight code.
// That a row reads only rows around it, of the array that the last step made, is proved
// from its places.
#include "loop/copy.h"
#include "loop/passes.h"

enum {
    DEEP = 16,             // steps at a time, even
    MOST_REACH = 4,        // rows up and down that a row may read
    MOST_STATES = 4,       // buffers that the loop carries
    MOST_TILES = 32,       // about; enough for cores that share them
    LEAST_TILES = 8,       // else rows one by one are better shared
    LEAST_STEPS = 4,       // of a loop that is blocked
    LEAST_CELLS = 1 << 12, // of its array
    CHUNK_CELLS = 1024,    // about, of a chunk, and
    CHUNK_ROWS = 4         // at least
};

typedef struct Steps {
    const LoopStm *loop, *rows; // the steps, and what each makes, in parallel
    uint32_t from, to;          // the states that a step reads and writes
    uint32_t next[MOST_STATES]; // which state each becomes
    LoopRef width;              // cells of a row; 0: not known yet
    int64_t reach;
    bool wraps; // beyond the last row is the first
    bool fails;
} Steps;

// What the walk is looking for.
typedef struct Search {
    Arena *arena;
    Map loops;    // Steps by statement
    Map accesses; // the same by each load and store of their rows
} Search;

static Steps *find(const Map *map, const LoopStm *stm) {
    uint64_t found;
    return map_get(map, (uintptr_t)stm, &found) ? (Steps *)(uintptr_t)found : NULL;
}

// ---- which loops --------------------------------------------------------------------

static LoopRef state(const Steps *s, uint32_t k) {
    return s->loop->bodies[0]->params[1 + k];
}

// The buffer that state k is after so many steps.
static LoopRef state_after(const Steps *s, uint32_t k, int steps) {
    while (steps-- > 0) k = s->next[k];
    return s->loop->args[1 + k];
}

// Finds which state each becomes; false: one becomes something else.
static bool find_states(Steps *s, const LoopBuilder *b) {
    const LoopBody *body = s->loop->bodies[0];
    uint32_t count = s->loop->out_count;
    if (count == 0 || count > MOST_STATES) return false;
    for (uint32_t k = 0; k < count; k++) {
        s->next[k] = 0;
        while (s->next[k] < count && state(s, s->next[k]) != body->results[k])
            s->next[k]++;
        if (s->next[k] == count || loop_type(b, state(s, k)).kind != LOOP_IS_BUFFER)
            return false;
    }
    return true;
}

// Whether from the first step on two buffers take turns, and all states with them.
static bool takes_turns(const Steps *s) {
    for (int t = 0; t < 3; t++)
        if (state_after(s, s->to, t) != state_after(s, s->from, t + 1)) return false;
    for (uint32_t k = 0; k < s->loop->out_count; k++)
        if (state_after(s, k, 1) != state_after(s, k, 3)) return false;
    return state_after(s, s->from, 1) != state_after(s, s->from, 2);
}

// Notes the access, if it is one of a state; false: it is not as it should be.
static bool note_access(Search *search, Steps *s, const LoopStm *stm) {
    bool is_load = stm->op == LOOP_LOAD;
    uint32_t *which = is_load ? &s->from : &s->to, k = 0, none = s->loop->out_count;
    while (k < none && state(s, k) != stm->args[0]) k++;
    if (k == none) return is_load;
    if (*which != none && *which != k) return false;
    *which = k;
    map_set(&search->accesses, (uintptr_t)stm, (uintptr_t)s);
    return true;
}

// Whether it is code that cannot stop, with loops of turns in any order of straight
// code.
static bool note_rows(Search *search, Steps *s, const LoopBody *body, bool has_loops) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_row = stm->op == LOOP_FOR && stm->order == ORDER_INDEPENDENT;
        bool is_access = stm->op == LOOP_LOAD || stm->op == LOOP_STORE;
        if (is_access ? !note_access(search, s, stm)
                      : stm->op != LOOP_SCALAR && stm->op != LOOP_IF &&
                            !(is_row && has_loops))
            return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!note_rows(search, s, stm->bodies[k], has_loops && !is_row))
                return false;
    }
    return true;
}

// Whether nothing that the check looks at is bound in the body: if the first step
// passes it, all do.
static bool is_same_in_all(const LoopBody *body, const LoopStm *check) {
    for (uint32_t k = 0; k < check->arg_count; k++) {
        for (uint32_t i = 0; i < body->param_count; i++)
            if (body->params[i] == check->args[k]) return false;
        for (uint32_t i = 0; i < body->stms.len; i++)
            for (uint32_t out = 0; out < body->stms.data[i]->out_count; out++)
                if (body->stms.data[i]->outs[out] == check->args[k]) return false;
    }
    return true;
}

// A turn computes scalars, and then makes rows in parallel.
static bool is_of_steps(Search *search, Steps *s, const LoopBuilder *b) {
    const LoopStm *loop = s->loop;
    const LoopBody *body = loop->bodies[0];
    if (loop->order != ORDER_SEQUENTIAL || body->stms.len == 0 ||
        loop_type(b, loop->args[0]).elem != SCALAR_I64 || !find_states(s, b))
        return false;
    for (uint32_t i = 0; i + 1 < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_SCALAR &&
            (stm->op != LOOP_CHECK || !is_same_in_all(body, stm)))
            return false;
    }
    s->rows = body->stms.data[body->stms.len - 1];
    s->from = s->to = loop->out_count;
    return s->rows->op == LOOP_FOR && s->rows->order == ORDER_PARALLEL &&
           loop_type(b, s->rows->args[0]).elem == SCALAR_I64 &&
           note_rows(search, s, s->rows->bodies[0], true) &&
           s->from != loop->out_count && s->to != loop->out_count && takes_turns(s);
}

static void find_loops(Search *search, const LoopBuilder *b, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_FOR) {
            Steps *s = arena_new(search->arena, Steps);
            s->loop = stm;
            if (is_of_steps(search, s, b))
                map_set(&search->loops, (uintptr_t)stm, (uintptr_t)s);
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            find_loops(search, b, stm->bodies[k]);
    }
}

// ---- what a row reads ---------------------------------------------------------------

// Whether the row is at most so many away from the turn's own, or from what the turn's
// own would be in a copy of the rows above or below them.
static bool is_near(Ranges *r, const Steps *s, LoopRef row, int copy, int64_t reach) {
    RangeForm above = range_sum(r, row), below = {0};
    RangeForm own = range_form(r, s->rows->bodies[0]->params[0]);
    RangeForm count = range_form(r, s->rows->args[0]), margin = {.base = reach};
    return range_add(&above, &own, -1) && range_add(&above, &count, copy) &&
           range_add(&below, &above, -1) && range_add(&above, &margin, 1) &&
           range_add(&below, &margin, 1) && range_prove(r, &above) &&
           range_prove(r, &below);
}

// The same of rows that go round, or of each of the two that it may be.
static bool is_around(Ranges *r, Steps *s, LoopRef row, int64_t reach) {
    row = loop_find(r->b, row);
    RangeValue value = *range_value(r, row);
    uint32_t known = r->facts.len;
    if (is_near(r, s, row, 0, reach)) return true;
    if (is_near(r, s, row, 1, reach) || is_near(r, s, row, -1, reach))
        return s->wraps = true;
    for (int i = 0; i < 2; i++) {
        if (value.either[i] == 0) return false;
        if (value.when != 0) range_assume(r, value.when, i == 0);
        bool is_one = is_around(r, s, value.either[i], reach);
        range_forget(r, known);
        if (!is_one) return false;
    }
    return true;
}

// The row and the place in it: width * row + place, or row alone where it has one cell.
static bool find_row(Ranges *r, Steps *s, const LoopStm *access, LoopRef *row_out) {
    uint32_t first = access->op == LOOP_LOAD ? 1 : 2;
    const LoopRef *pairs = access->args + first + 1;
    uint32_t count = (access->arg_count - first - 1) / 2;
    if (!loop_is_int(r->b, access->args[first], 0) || count == 0 || count > 2)
        return false;
    LoopRef width = pairs[0];
    *row_out = pairs[1];
    if (count == 1 && !loop_is_int(r->b, width, 1)) return false;
    if (count == 2 &&
        (!loop_is_int(r->b, pairs[2], 1) || !range_is_at_least(r, pairs[3], 0) ||
         !range_is_least(r, width, pairs[3], 1)))
        return false;
    if (s->width == 0) s->width = width;
    return loop_same(r->b, s->width, width);
}

static void see_access(RangeWalk *w, const LoopStm *access) {
    const Search *search = w->data;
    Steps *s = find(&search->accesses, access);
    LoopRef row;
    if (s == NULL || s->fails) return;
    s->fails = !find_row(&w->r, s, access, &row);
    if (s->fails) return;
    if (access->op == LOOP_STORE) {
        s->fails = !is_near(&w->r, s, row, 0, 0);
        return;
    }
    while (s->reach <= MOST_REACH && !is_around(&w->r, s, row, s->reach)) s->reach++;
    s->fails = s->reach > MOST_REACH;
}

// ---- blocks -------------------------------------------------------------------------

// What the code for some steps is made of, once the values are there.
typedef struct Block {
    const Steps *s;
    LoopBuilder *b;
    LoopRef count, reach; // of rows; as values
    LoopRef done, deep;   // steps before, an even number, and at once
    LoopRef left, right;  // the first row of the tile, and the one after the last
    LoopRef slope;        // by so many rows both come closer with each step
    LoopRef top, bottom;  // the same of the chunk, in step 0
} Block;

static LoopRef round_up(LoopBuilder *b, LoopRef x, LoopRef unit) {
    LoopRef one = loop_int(b, 1);
    return loop_quot(b, loop_sub(b, loop_add(b, x, unit), one), unit);
}

// Closes the open body as what is done if the condition holds.
static void close_if(LoopBuilder *b, LoopRef c) {
    LoopBody *arms[] = {loop_close(b, NULL, 0), arena_new(b->arena, LoopBody)};
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &c, 1, NULL, 0), arms, 2);
}

// The row with that number, in a loop of so many.
static void make_row(const Block *k, LoopCopier *copier, LoopRef row, LoopRef count) {
    const LoopBody *body = k->s->rows->bodies[0];
    loop_copy_as(copier, body->params[0], row);
    for (uint32_t i = 0; i < body->stms.len; i++)
        loop_append(k->b, loop_copy_stm(copier, body->stms.data[i]));
    loop_close_turns(k->b, count, ORDER_INDEPENDENT);
}

// Rows from `begin` to `end`, of which there are some: those that are near no edge of
// the array, which need no tests of it, and then those that are.
static void make_rows(const Block *k, LoopCopier *copier, LoopRef begin, LoopRef end) {
    LoopBuilder *b = k->b;
    LoopRef first = loop_max(b, begin, k->reach);
    LoopRef last = loop_min(b, end, loop_sub(b, k->count, k->reach));
    LoopRef goes = loop_lt(b, first, last);
    loop_open(b, NULL, 0);
    LoopRef count = loop_sub(b, last, first), turn = loop_open_turns(b);
    make_row(k, copier, loop_add(b, first, turn), count);
    close_if(b, goes);
    LoopRef above = loop_sub(b, loop_min(b, end, first), begin);
    LoopRef below = loop_max(b, begin, last);
    count = loop_add(b, above, loop_sub(b, end, below));
    turn = loop_open_turns(b);
    LoopRef high = loop_add(b, begin, turn);
    LoopRef low = loop_add(b, below, loop_sub(b, turn, above));
    LoopRef row = loop_select(b, loop_lt(b, turn, above), high, low);
    if (k->s->wraps) { // a tile may end beyond the last row
        LoopRef wrapped = loop_sub(b, row, k->count);
        row = loop_select(b, loop_lt(b, row, k->count), row, wrapped);
    }
    make_row(k, copier, row, count);
}

// Step t of the chunk, of those rows that the tile may do, from one buffer to the
// other.
static void make_step(const Block *k, LoopRef t, LoopRef from, LoopRef to) {
    LoopBuilder *b = k->b;
    const LoopBody *step = k->s->loop->bodies[0];
    LoopRef zero = loop_int(b, 0), next = loop_add(b, t, loop_int(b, 1));
    LoopRef edge = loop_mul(b, k->slope, next), shift = loop_mul(b, k->reach, t);
    LoopRef low = loop_add(b, k->left, edge), high = loop_sub(b, k->right, edge);
    if (!k->s->wraps) { // the first tile and the last need none beside them
        low = loop_select(b, loop_eq(b, k->left, zero), zero, low);
        high = loop_select(b, loop_eq(b, k->right, k->count), k->count, high);
        high = loop_min(b, high, k->count);
    }
    LoopRef begin = loop_max(b, low, loop_sub(b, k->top, shift));
    LoopRef end = loop_min(b, high, loop_sub(b, k->bottom, shift));
    LoopCopier copier = loop_copier(b);
    loop_copy_as(&copier, step->params[0], loop_add(b, k->done, t));
    loop_copy_as(&copier, state(k->s, k->s->from), from);
    loop_copy_as(&copier, state(k->s, k->s->to), to);
    for (uint32_t i = 0; i + 1 < step->stms.len; i++)
        if (step->stms.data[i]->op == LOOP_SCALAR)
            loop_append(b, loop_copy_stm(&copier, step->stms.data[i]));
    LoopRef goes = loop_lt(b, begin, end);
    loop_open(b, NULL, 0);
    make_rows(k, &copier, begin, end);
    close_if(b, goes);
}

// What is chosen by the condition, of buffers.
static LoopStm *choose(LoopBuilder *b, LoopRef c, const LoopRef *then,
                       const LoopRef *other, uint32_t count) {
    LoopType types[MOST_STATES];
    LoopBody *arms[2];
    for (uint32_t i = 0; i < count; i++) types[i] = loop_type(b, then[i]);
    for (int i = 0; i < 2; i++) {
        loop_open(b, NULL, 0);
        arms[i] = loop_close(b, i == 0 ? then : other, count);
    }
    LoopStm *branch = loop_emit(b, LOOP_IF, &c, 1, types, count);
    loop_set_bodies(b, branch, arms, 2);
    return branch;
}

// The steps of a chunk: the first of all reads what there was before, the others take
// turns with two buffers.
static void make_steps(const Block *k) {
    LoopBuilder *b = k->b;
    const Steps *s = k->s;
    LoopRef is_first = loop_eq(b, k->done, loop_int(b, 0));
    LoopRef before = state_after(s, s->from, 0), later = state_after(s, s->from, 2);
    LoopRef from = choose(b, is_first, &before, &later, 1)->outs[0];
    LoopRef args[] = {k->deep, from, state_after(s, s->to, 0),
                      state_after(s, s->to, 1)};
    LoopType type = loop_type(b, from), types[] = {type, type, type};
    LoopRef params[] = {loop_value(b, loop_scalar_type(SCALAR_I64), 0),
                        loop_value(b, type, 0), loop_value(b, type, 0),
                        loop_value(b, type, 0)};
    loop_open(b, params, 4);
    make_step(k, params[0], params[1], params[2]);
    LoopBody *body = loop_close(b, (LoopRef[]){params[2], params[3], params[2]}, 3);
    loop_set_bodies(b, loop_emit(b, LOOP_FOR, args, 4, types, 3), &body, 1);
}

// A tile, in either phase: its chunks one after the other. In phase 1 it has no rows at
// first, and goes from the boundary both ways.
static void make_tile(Block *k, LoopRef phase, LoopRef tile, LoopRef tiles,
                      LoopRef chunk) {
    LoopBuilder *b = k->b;
    LoopRef zero = loop_int(b, 0), after = loop_add(b, tile, loop_int(b, 1));
    LoopRef begin = loop_quot(b, loop_mul(b, tile, k->count), tiles);
    LoopRef inner = loop_eq(b, phase, zero);
    LoopRef away = loop_sub(b, zero, k->reach), most = loop_mul(b, k->reach, k->deep);
    k->right = loop_quot(b, loop_mul(b, after, k->count), tiles);
    k->left = loop_select(b, inner, begin, k->right);
    k->slope = loop_select(b, inner, k->reach, away);
    LoopRef first = loop_add(b, k->left, loop_min(b, k->slope, zero));
    LoopRef both = loop_add(b, most, most);
    LoopRef rows = loop_add(b, loop_sub(b, k->right, k->left), both);
    LoopRef chunks = round_up(b, rows, chunk);
    k->top = loop_add(b, first, loop_mul(b, loop_open_turns(b), chunk));
    k->bottom = loop_add(b, k->top, chunk);
    make_steps(k);
    loop_close_turns(b, chunks, ORDER_SEQUENTIAL);
}

// What the steps look at first, which is the same in all.
static void make_checks(const Block *k) {
    const LoopBody *step = k->s->loop->bodies[0];
    LoopCopier copier = loop_copier(k->b);
    for (uint32_t i = 0; i < step->stms.len; i++)
        if (step->stms.data[i]->op == LOOP_CHECK)
            loop_append(k->b, loop_copy_stm(&copier, step->stms.data[i]));
}

// So many steps, in as few blocks as there must be, all about as deep.
static void make_blocks(Block *k, LoopRef steps) {
    LoopBuilder *b = k->b;
    LoopRef one = loop_int(b, 1), two = loop_int(b, 2);
    LoopRef blocks = round_up(b, steps, loop_int(b, DEEP));
    LoopRef pairs = round_up(b, steps, loop_mul(b, two, loop_max(b, blocks, one)));
    LoopRef deep = loop_mul(b, two, pairs);
    LoopRef cells = loop_int(b, CHUNK_CELLS), width = loop_max(b, k->s->width, one);
    LoopRef chunk = loop_max(b, loop_quot(b, cells, width), loop_int(b, CHUNK_ROWS));
    LoopRef size = loop_max(b, chunk, loop_int(b, 2 * DEEP * k->s->reach));
    LoopRef tiles = loop_quot(b, k->count, size);
    tiles = loop_max(b, loop_min(b, tiles, loop_int(b, MOST_TILES)), one);
    k->done = loop_mul(b, loop_open_turns(b), deep);
    k->deep = loop_min(b, deep, loop_sub(b, steps, k->done));
    make_checks(k);
    LoopRef phase = loop_open_turns(b);
    LoopRef turns = k->s->wraps ? tiles : loop_sub(b, tiles, phase);
    make_tile(k, phase, loop_open_turns(b), tiles, chunk);
    loop_close_turns(b, turns, ORDER_PARALLEL);
    loop_close_turns(b, loop_int(b, 2), ORDER_SEQUENTIAL);
    loop_close_turns(b, blocks, ORDER_SEQUENTIAL);
}

// Whether there are steps and rows enough.
static LoopRef is_large(const Block *k, LoopRef steps) {
    LoopBuilder *b = k->b;
    int64_t rows = LEAST_TILES * 2 * DEEP * k->s->reach;
    LoopRef cells = loop_mul(b, k->count, k->s->width);
    LoopRef are_many = loop_le(b, loop_int(b, LEAST_CELLS), cells);
    LoopRef is_wide = loop_and(b, loop_le(b, loop_int(b, rows), k->count), are_many);
    return loop_and(b, loop_le(b, loop_int(b, LEAST_STEPS), steps), is_wide);
}

// What the states are at the end: after an odd number of steps, after an even one, or,
// after none, as the loop left them.
static void make_results(const Block *k, LoopRef steps, const LoopRef *outs) {
    LoopBuilder *b = k->b;
    const LoopStm *loop = k->s->loop;
    LoopRef zero = loop_int(b, 0), odd[MOST_STATES], even[MOST_STATES];
    for (uint32_t i = 0; i < loop->out_count; i++) {
        odd[i] = state_after(k->s, i, 1);
        even[i] = state_after(k->s, i, 2);
    }
    LoopRef is_even = loop_eq(b, loop_rem(b, steps, loop_int(b, 2)), zero);
    const LoopStm *made = choose(b, is_even, even, odd, loop->out_count);
    choose(b, loop_eq(b, steps, zero), outs, made->outs, loop->out_count)->outs =
        loop->outs;
}

static void make(RangeWalk *w, const Steps *s, LoopStm *loop) {
    LoopBuilder *b = &w->b;
    Block k = {.s = s, .b = b, .count = s->rows->args[0]};
    k.reach = loop_int(b, s->reach);
    LoopRef steps = loop->args[0];
    LoopRef first = loop_select(b, is_large(&k, steps), loop_int(b, 0), steps);
    LoopStm *before = arena_copy(b->arena, loop, sizeof *loop);
    before->args = arena_copy(b->arena, loop->args, loop->arg_count * sizeof first);
    before->args[0] = first;
    before->outs = arena_array(b->arena, LoopRef, loop->out_count);
    for (uint32_t i = 0; i < loop->out_count; i++)
        before->outs[i] = loop_value(b, loop_type(b, loop->outs[i]), 0);
    range_keep(w, before);
    LoopRef rest = loop_sub(b, steps, first);
    make_blocks(&k, rest);
    make_results(&k, rest, before->outs);
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    const Search *search = w->data;
    const Steps *s = find(&search->loops, loop);
    if (s == NULL || s->fails || s->reach == 0 || s->width == 0 ||
        range_value(&w->r, s->width)->depth > w->depth ||
        range_value(&w->r, s->rows->args[0])->depth > w->depth ||
        !loop_can_pay(w, loop->bodies[0]))
        range_keep(w, loop);
    else make(w, s, loop);
}

void loop_steps(LoopKernel *kernel) {
    enum { BUDGET = 500 };
    LoopBuilder b = loop_builder(kernel);
    Search search = {.arena = kernel->arena};
    map_init(&search.loops, kernel->arena);
    map_init(&search.accesses, kernel->arena);
    find_loops(&search, &b, kernel->root);
    if (search.loops.count == 0) return;
    RangeWalk w = {.leave_loop = leave_loop,
                   .see_access = see_access,
                   .budget = BUDGET,
                   .data = &search};
    range_walk(&w, kernel);
}
