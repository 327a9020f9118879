// SPDX-License-Identifier: Apache-2.0
//
// Rows that are read as soon as they are made. Where a parallel loop makes arrays row
// by row, and the next one alone reads them, of each only the row that is its own,
//
//   a = alloc(..); for.parallel(rows) {|t| before; for(row) {|x| a[t, x] = ..}}
//   for.parallel(few) {|q| for(rows) {|y| .. a[y, x] ..}}
//
// one loop makes a row and at once what is read of it, and a row is private memory:
//
//   for.parallel(rows) {|t| a = alloc(row); before; for(row) {|x| a[x] = ..};
//                           for(few) {|q| .. a[x] ..}}
//
// Arrays of a row for each pair (z, y) are made by turns t of which z and y are the
// quotient and the remainder. The reader may have short loops of known length around
// the rows; they go inside. Nothing may fail in either loop, since errors would come in
// another order, save checks that are the same in all turns, and go before them.
#include "loop/join.h"
#include "loop/depend.h"
#include "loop/memory.h"
#include "loop/passes.h"

enum { MOST_PLACES = 2, MOST_LEVELS = 4, MOST_TURNS = 32 };

typedef struct Stms {
    LoopStm **data;
    uint32_t len, cap;
} Stms;

typedef struct Join {
    LoopBuilder *b;
    const Map *defs; // of scalars: LoopRef -> LoopStm
    LoopStm *maker, *row, *taker;
    Stms stores, loads;               // of the arrays that have rows
    uint32_t places;                  // that say which row
    LoopRef made[MOST_PLACES];        // a row's place where it is made
    LoopRef taken[MOST_PLACES];       // and where it is read, indices of loops there
    LoopStm *levels[MOST_LEVELS];     // the reader's loops down to the rows
    uint32_t level_count, same_count; // of the latter, those before any loop on rows
    Map by_turn;                      // what differs between the reader's turns
} Join;

// ---- what is where ------------------------------------------------------------------

static void collect(Join *j, const LoopBody *body, LoopOp op, Stms *found) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (stm->op == op) vec_push(j->b->arena, found, stm);
        for (uint32_t k = 0; k < stm->body_count; k++)
            collect(j, stm->bodies[k], op, found);
    }
}

// How many of the loads or stores are of the buffer.
static uint32_t count_of(const Stms *stms, LoopRef buffer) {
    uint32_t times = 0;
    for (uint32_t i = 0; i < stms->len; i++) times += stms->data[i]->args[0] == buffer;
    return times;
}

// The statement of the body before `end` that takes memory for the buffer, or `end`.
static uint32_t find_memory(const LoopBody *body, uint32_t end, LoopRef buffer) {
    for (uint32_t i = 0; i < end; i++) {
        const LoopStm *stm = body->stms.data[i];
        if ((stm->op == LOOP_ALLOC || stm->op == LOOP_RESULT) && stm->outs[0] == buffer)
            return i;
    }
    return end;
}

static const LoopStm *find_scalar(const Join *j, LoopRef ref, CoreOp op) {
    uint64_t def;
    if (!map_get(j->defs, ref, &def)) return NULL;
    const LoopStm *stm = (const LoopStm *)(uintptr_t)def;
    return stm->scalar == op ? stm : NULL;
}

// ---- the loop that makes rows -------------------------------------------------------

// The first args that say which row a load or store is of: pairs of stride and index.
static const LoopRef *place_args(const LoopStm *stm) {
    return stm->args + (stm->op == LOOP_STORE ? 3 : 2);
}

static uint32_t count_places(const LoopStm *stm) {
    return (uint32_t)(stm->args + stm->arg_count - place_args(stm)) / 2;
}

// Whether it is of a row that begins at multiples of its length: all but the last pair
// say which row.
static bool is_in_row(const Join *j, const LoopStm *stm) {
    const LoopRef *args = place_args(stm);
    uint32_t places = count_places(stm);
    return places == j->places + 1 && loop_is_int(j->b, args[-1], 0) &&
           loop_is_int(j->b, args[2 * j->places], 1) &&
           args[2 * j->places - 2] == j->row->args[0];
}

static bool is_made_in_row(const Join *j, const LoopStm *store) {
    const LoopRef *args = place_args(store);
    if (!is_in_row(j, store)) return false;
    for (uint32_t i = 0; i < j->places; i++)
        if (args[2 * i + 1] != j->made[i]) return false;
    return args[2 * j->places + 1] == j->row->bodies[0]->params[0];
}

// Whether the rows are those of an array of this rank, a place for each turn.
static bool find_made(Join *j, const LoopStm *store) {
    LoopRef turn = j->maker->bodies[0]->params[0];
    const LoopRef *args = place_args(store);
    j->places = count_places(store) - 1;
    if (j->places < 1 || j->places > MOST_PLACES) return false;
    for (uint32_t i = 0; i < j->places; i++) j->made[i] = args[2 * i + 1];
    if (j->places == 1) return j->made[0] == turn;
    const LoopStm *quot = find_scalar(j, j->made[0], OP_QUOT);
    const LoopStm *rem = find_scalar(j, j->made[1], OP_REM);
    return quot != NULL && rem != NULL && quot->args[0] == turn &&
           rem->args[0] == turn && quot->args[1] == rem->args[1];
}

static bool is_maker(Join *j, LoopStm *loop) {
    const LoopBody *turn = loop->bodies[0];
    if (loop->op != LOOP_FOR || loop->order != ORDER_PARALLEL || loop->number != 0 ||
        turn->stms.len == 0 || memory_may_fail(loop))
        return false;
    j->maker = loop;
    j->row = turn->stms.data[turn->stms.len - 1];
    if (j->row->op != LOOP_FOR || j->row->order != ORDER_INDEPENDENT ||
        j->row->number != 0 || loop_binds(turn, j->row->args[0]))
        return false;
    Stms stores = {0};
    collect(j, turn, LOOP_STORE, &stores);
    for (uint32_t i = 0; i < stores.len; i++)
        if (!loop_binds(turn, stores.data[i]->args[0]))
            vec_push(j->b->arena, &j->stores, stores.data[i]);
    if (j->stores.len == 0 || !find_made(j, j->stores.data[0])) return false;
    for (uint32_t i = 0; i < j->stores.len; i++)
        if (!is_made_in_row(j, j->stores.data[i])) return false;
    return true;
}

// ---- the loop that reads them -------------------------------------------------------

static bool has_load(const Join *j, LoopRef buffer) {
    return count_of(&j->loads, buffer) > 0;
}

// Whether loads are of rows of the same array as a store, at places that are the same
// in all loads.
static bool find_taken(Join *j) {
    Stms loads = {0};
    collect(j, j->taker->bodies[0], LOOP_LOAD, &loads);
    for (uint32_t i = 0; i < loads.len; i++) {
        const LoopStm *load = loads.data[i], *store = NULL;
        for (uint32_t k = 0; k < j->stores.len; k++)
            if (j->stores.data[k]->args[0] == load->args[0]) store = j->stores.data[k];
        if (store == NULL) continue;
        if (!is_in_row(j, load)) return false;
        for (uint32_t k = 0; k < j->places; k++) {
            const LoopRef *args = place_args(load) + 2 * k;
            if (j->loads.len == 0) j->taken[k] = args[1];
            if (args[0] != place_args(store)[2 * k] || args[1] != j->taken[k])
                return false;
        }
        vec_push(j->b->arena, &j->loads, loads.data[i]);
    }
    return j->loads.len > 0;
}

// Whether the loop turns as often as there are rows in this dimension.
static bool turns_as_often(const Join *j, LoopRef times, uint32_t place) {
    LoopRef all = j->maker->args[0];
    if (j->places == 1) return times == all;
    LoopRef inner = find_scalar(j, j->made[1], OP_REM)->args[1];
    if (place == 1) return times == inner;
    const LoopStm *product = find_scalar(j, all, OP_MUL);
    return product != NULL &&
           ((product->args[0] == times && product->args[1] == inner) ||
            (product->args[1] == times && product->args[0] == inner));
}

static bool is_level(const LoopStm *stm) {
    return stm->op == LOOP_FOR && stm->order != ORDER_SEQUENTIAL && stm->number == 0;
}

// Goes down the loops of the reader until all places are indices of theirs.
static bool find_levels(Join *j) {
    LoopStm *loop = j->taker;
    uint32_t found = 0;
    j->same_count = 0;
    for (j->level_count = 0; found < j->places;) {
        if (j->level_count == MOST_LEVELS || !is_level(loop)) return false;
        const LoopBody *body = loop->bodies[0];
        uint32_t place = 0;
        while (place < j->places && j->taken[place] != body->params[0]) place++;
        uint64_t times;
        if (place < j->places) {
            if (!turns_as_often(j, loop->args[0], place)) return false;
            found++;
        } else if (!loop_is_known(j->b, loop->args[0], &times) || times < 1 ||
                   times > MOST_TURNS) {
            return false;
        }
        j->levels[j->level_count++] = loop;
        if (found == 0) j->same_count = j->level_count;
        if (body->stms.len == 0) return false;
        loop = body->stms.data[body->stms.len - 1];
    }
    return true;
}

static bool is_same(const Join *j, const LoopStm *stm) {
    return depend_is_free(j->b, &j->by_turn, stm) &&
           (stm->op == LOOP_SCALAR || stm->op == LOOP_CHECK);
}

// Whether nothing in the reader may fail save checks that go before both loops, and
// what its loops have before the next one may be done by that.
static bool can_move(Join *j) {
    map_init(&j->by_turn, loop_notes(j->b->kernel));
    for (uint32_t i = 0; i < j->level_count; i++) {
        const LoopBody *body = j->levels[i]->bodies[0];
        map_set(&j->by_turn, body->params[0], 1);
        depend_spread(j->b, &j->by_turn, body);
    }
    for (uint32_t i = 0; i < j->level_count; i++) {
        const LoopBody *body = j->levels[i]->bodies[0];
        bool is_last = i + 1 == j->level_count;
        for (uint32_t k = 0; k + !is_last < body->stms.len; k++) {
            const LoopStm *stm = body->stms.data[k];
            bool is_before = i < j->same_count && is_same(j, stm);
            bool is_plain = stm->op == LOOP_SCALAR || stm->op == LOOP_LOAD ||
                            (stm->op == LOOP_IF && !loop_allocates(stm));
            if (is_before) continue;
            if (memory_may_fail(stm) || (!is_last && !is_plain)) return false;
        }
        if (!is_last && depend_any(j->b, &j->by_turn, j->levels[i + 1]->args, 1))
            return false;
    }
    return true;
}

static bool is_taker(Join *j, LoopStm *loop) {
    if (loop->op != LOOP_FOR || loop->order != ORDER_PARALLEL) return false;
    j->taker = loop;
    return find_taken(j) && find_levels(j) && can_move(j);
}

// ---- both ---------------------------------------------------------------------------

// Whether the arrays that are made are for the reader alone, memory of this body.
static bool are_private(const Join *j, const LoopBody *body, uint32_t at) {
    for (uint32_t i = 0; i < j->stores.len; i++) {
        LoopRef buffer = j->stores.data[i]->args[0];
        uint32_t memory = find_memory(body, at, buffer);
        if (memory == at || body->stms.data[memory]->op != LOOP_ALLOC ||
            !has_load(j, buffer) ||
            loop_count_uses(j->b->kernel->root, buffer) !=
                count_of(&j->stores, buffer) + count_of(&j->loads, buffer))
            return false;
    }
    return true;
}

// Whether what the reader stores is memory that nobody else has looked at before.
static bool stores_afresh(Join *j, const LoopBody *body, uint32_t end) {
    Stms stores = {0};
    collect(j, j->taker->bodies[0], LOOP_STORE, &stores);
    for (uint32_t i = 0; i < stores.len; i++) {
        LoopRef buffer = stores.data[i]->args[0];
        if (loop_binds(j->taker->bodies[0], buffer)) continue;
        uint32_t memory = find_memory(body, end, buffer);
        for (uint32_t k = memory; k < end; k++)
            if (loop_count_uses_by(body->stms.data[k], buffer) > 0) return false;
        if (memory == end ||
            loop_count_uses_by(j->taker, buffer) != count_of(&stores, buffer))
            return false;
    }
    return true;
}

// What neither loop may have: the places that it touches are not looked at here.
static bool is_other(const LoopStm *stm, int unused) {
    (void)unused;
    switch ((int)stm->op) {
    case LOOP_SIFT:
    case LOOP_BELOW:
    case LOOP_ATOMIC:
    case LOOP_CALL:
    case LOOP_LOADIF:
    case LOOP_LOOKUP:
    case LOOP_STOREIF: return true;
    }
    return false;
}

// Whether what is between the loops may be done before both.
static bool can_pass(const LoopStm *stm) {
    switch ((int)stm->op) {
    case LOOP_SCALAR:
    case LOOP_LOAD:
    case LOOP_DATA:
    case LOOP_ALLOC:
    case LOOP_MARK:
    case LOOP_RESULT:
    case LOOP_CHECK: return true;
    case LOOP_IF:
        return !loop_allocates(stm) && stm->bodies[0]->stms.len == 0 &&
               stm->bodies[1]->stms.len == 0;
    }
    return false;
}

static bool can_join(Join *j, const LoopBody *body, uint32_t first, uint32_t second) {
    return is_maker(j, body->stms.data[first]) &&
           is_taker(j, body->stms.data[second]) &&
           !loop_has(j->maker->bodies[0], is_other, 0) &&
           !loop_has(j->taker->bodies[0], is_other, 0) && are_private(j, body, first) &&
           stores_afresh(j, body, second);
}

// ---- joining ------------------------------------------------------------------------

// The args of a load or store of an array become those of its row.
static void use_row(const Join *j, LoopStm *stm) {
    uint32_t first = stm->op == LOOP_STORE ? 3 : 2, left = first;
    for (uint32_t i = first + 2 * j->places; i < stm->arg_count; i++)
        stm->args[left++] = stm->args[i];
    stm->arg_count = left;
}

// What the reader does for a row, in the loops that are not on rows; what is the same
// in all turns goes to `out`. Returns the only such loop, or NULL.
static LoopStm *put_reader(Join *j, LoopBody *turn, LoopBody *out) {
    Arena *arena = j->b->arena;
    LoopBody *inside = turn;
    LoopStm *few = NULL;
    for (uint32_t i = 0; i < j->level_count; i++) {
        LoopBody *body = j->levels[i]->bodies[0];
        bool is_last = i + 1 == j->level_count;
        Stms stms = {body->stms.data, body->stms.len, body->stms.cap};
        uint32_t place = 0;
        while (place < j->places && j->taken[place] != body->params[0]) place++;
        if (place < j->places) {
            loop_identify(j->b, body->params[0], j->made[place]);
        } else {
            vec_push(arena, &inside->stms, j->levels[i]);
            j->levels[i]->order = ORDER_INDEPENDENT;
            body->stms.data = NULL;
            body->stms.len = body->stms.cap = 0;
            few = inside == turn ? j->levels[i] : NULL;
            inside = body;
        }
        for (uint32_t k = 0; k + !is_last < stms.len; k++) {
            bool is_before = i < j->same_count && is_same(j, stms.data[k]);
            LoopBody *to = is_before ? out : inside;
            vec_push(arena, &to->stms, stms.data[k]);
        }
    }
    return few;
}

// Appends the loop for both, before it memory for rows in each turn.
static void put_both(Join *j, LoopBody *out) {
    LoopBuilder *b = j->b;
    LoopBody *turn = j->maker->bodies[0], old = *turn;
    for (uint32_t i = 0; i < j->stores.len; i++) use_row(j, j->stores.data[i]);
    for (uint32_t i = 0; i < j->loads.len; i++) use_row(j, j->loads.data[i]);
    turn->stms.data = NULL;
    turn->stms.len = turn->stms.cap = 0;
    Map done;
    map_init(&done, loop_notes(b->kernel));
    for (uint32_t i = 0; i < j->stores.len; i++) {
        LoopRef buffer = j->stores.data[i]->args[0];
        uint64_t unused;
        if (map_get(&done, buffer, &unused)) continue;
        map_set(&done, buffer, 1);
        LoopStm *alloc = arena_new(b->arena, LoopStm);
        *alloc = (LoopStm){.op = LOOP_ALLOC,
                           .loc = j->row->loc,
                           .outs = arena_copy(b->arena, &buffer, sizeof buffer),
                           .out_count = 1,
                           .args = arena_copy(b->arena, j->row->args, sizeof(LoopRef)),
                           .arg_count = 1};
        vec_push(b->arena, &turn->stms, alloc);
    }
    for (uint32_t i = 0; i < old.stms.len; i++)
        vec_push(b->arena, &turn->stms, old.stms.data[i]);
    LoopStm *few = put_reader(j, turn, out);
    if (few != NULL) join_set_aside(b, turn, few, j->row->args[0]);
    if (few != NULL) join_within(b, turn, j->row, few);
    vec_push(b->arena, &out->stms, j->maker);
}

static bool is_memory_of_rows(const Join *j, const LoopStm *stm) {
    return stm->op == LOOP_ALLOC && count_of(&j->stores, stm->outs[0]) > 0;
}

static void join(Join *j, LoopBody *body, uint32_t first, uint32_t second) {
    LoopBody old = *body;
    Arena *arena = j->b->arena;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    for (uint32_t i = 0; i < second; i++)
        if (i != first && !is_memory_of_rows(j, old.stms.data[i]))
            vec_push(arena, &body->stms, old.stms.data[i]);
    put_both(j, body);
    for (uint32_t i = second + 1; i < old.stms.len; i++)
        vec_push(arena, &body->stms, old.stms.data[i]);
}

static bool is_parallel(const LoopStm *stm) {
    return stm->op == LOOP_FOR && stm->order == ORDER_PARALLEL;
}

static void note_defs(Map *defs, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR)
            map_set(defs, stm->outs[0], (uint64_t)(uintptr_t)stm);
        for (uint32_t k = 0; k < stm->body_count; k++) note_defs(defs, stm->bodies[k]);
    }
}

// Returns whether any were joined.
static bool visit(LoopBuilder *b, const Map *defs, LoopBody *body) {
    bool any = false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (!is_parallel(stm)) {
            for (uint32_t k = 0; k < stm->body_count; k++)
                any |= visit(b, defs, stm->bodies[k]);
            continue;
        }
        uint32_t next = i + 1;
        while (next < body->stms.len && can_pass(body->stms.data[next])) next++;
        Join j = {.b = b, .defs = defs};
        if (next == body->stms.len || !can_join(&j, body, i, next)) continue;
        join(&j, body, i, next);
        any = true;
    }
    return any;
}

void loop_join(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    Map defs;
    if (!kernel->is_parallel || kernel->is_for_gpus) return;
    map_init(&defs, loop_notes(kernel));
    note_defs(&defs, kernel->root);
    bool any = visit(&b, &defs, kernel->root);
    loop_tidy_news(&b);
    // What was a parallel loop may be unrolled now.
    if (any) loop_unroll(kernel);
    if (any) loop_ranges(kernel);
}
