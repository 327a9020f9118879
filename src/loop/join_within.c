// SPDX-License-Identifier: Apache-2.0
//
// Rows that are read element by element. Where a turn makes a row, and a short loop
// then reads of it nothing but the element that its own row is at,
//
//   for(row) {|x| a[x] = v}
//   for(few) {|q| before; for(row) {|y| .. a[y] ..}}
//
// the short loop goes inside, and what it reads is not stored:
//
//   for(row) {|x| v; for(few) {|q| before; .. v ..}}
//
// That is so where the short loop is going to be unrolled: then a row is one loop of
// straight code, which computes once what is the same for all of the few.
#include "loop/copy.h"
#include "loop/join.h"

typedef struct Within {
    LoopBuilder *b;
    LoopBody *turn;
    LoopStm *row, *few, *inner; // inner: the loop of `few` along a row
} Within;

// ---- whether it can be --------------------------------------------------------------

// Whether it computes without changing anything.
static bool is_pure(const LoopStm *stm) {
    bool is_choice = stm->op == LOOP_IF && stm->out_count > 0;
    for (uint32_t k = 0; k < stm->body_count && is_choice; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len && is_choice; i++)
            is_choice = is_pure(stm->bodies[k]->stms.data[i]);
    return stm->op == LOOP_SCALAR || stm->op == LOOP_LOAD || is_choice;
}

static bool is_straight(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i]->op != LOOP_STORE && !is_pure(body->stms.data[i]))
            return false;
    return true;
}

// The only statement of the body that stores to the buffer; NULL: there is another
// number of them. (Straight code stores in no other body.)
static const LoopStm *find_store(const LoopBody *body, LoopRef buffer) {
    const LoopStm *found = NULL;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_STORE || stm->args[0] != buffer) continue;
        if (found != NULL) return NULL;
        found = stm;
    }
    return found;
}

static bool stores_to(const LoopBody *body, LoopRef buffer) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i]->op == LOOP_STORE &&
            body->stms.data[i]->args[0] == buffer)
            return true;
    return false;
}

// Whether something in the body loads what the other one stores.
static bool loads_stored(const LoopBody *body, const LoopBody *stores) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD && stores_to(stores, stm->args[0])) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loads_stored(stm->bodies[k], stores)) return true;
    }
    return false;
}

// Whether the place is element `index` of the buffer.
static bool is_element(const Within *w, const LoopRef *place, uint32_t count,
                       LoopRef index) {
    return count == 3 && loop_is_int(w->b, place[0], 0) &&
           loop_is_int(w->b, place[1], 1) && place[2] == index;
}

// What the row's loop stores as the element that is loaded; 0: it is another one.
static LoopRef value_of(const Within *w, const LoopStm *load) {
    const LoopBody *row = w->row->bodies[0];
    const LoopStm *store = find_store(row, load->args[0]);
    bool is_own =
        store != NULL &&
        is_element(w, store->args + 2, store->arg_count - 2, row->params[0]) &&
        is_element(w, load->args + 1, load->arg_count - 1,
                   w->inner->bodies[0]->params[0]);
    return is_own ? store->args[1] : 0;
}

// Finds the loop along a row in the short loop; all else there computes.
static bool find_inner(Within *w) {
    const LoopBody *body = w->few->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (is_pure(stm)) continue;
        if (w->inner != NULL || stm->op != LOOP_FOR || stm->number != 0 ||
            stm->order != ORDER_INDEPENDENT || stm->args[0] != w->row->args[0])
            return false;
        w->inner = stm;
    }
    return w->inner != NULL;
}

// What is between the two loops in the turn is moved before both.
static bool can_pass(const Within *w) {
    bool is_between = false;
    for (uint32_t i = 0; i < w->turn->stms.len; i++) {
        LoopStm *stm = w->turn->stms.data[i];
        LoopBody alone = {.stms = {&stm, 1, 1}};
        if (stm == w->few) return true;
        if (is_between && (!is_pure(stm) || loads_stored(&alone, w->row->bodies[0])))
            return false;
        is_between = is_between || stm == w->row;
    }
    return false;
}

static bool can_be_within(Within *w) {
    const LoopBody *row = w->row->bodies[0];
    if (!is_straight(row) || !find_inner(w) || !can_pass(w)) return false;
    const LoopBody *inner = w->inner->bodies[0];
    if (!is_straight(inner) || loads_stored(row, inner) || loads_stored(row, row) ||
        loads_stored(inner, inner))
        return false;
    for (uint32_t i = 0; i < w->few->bodies[0]->stms.len; i++) {
        LoopStm *stm = w->few->bodies[0]->stms.data[i];
        LoopBody alone = {.stms = {&stm, 1, 1}};
        if (stm != w->inner && loads_stored(&alone, row)) return false;
    }
    for (uint32_t i = 0; i < inner->stms.len; i++) {
        const LoopStm *stm = inner->stms.data[i];
        bool is_load = stm->op == LOOP_LOAD && stores_to(row, stm->args[0]);
        if (is_load && value_of(w, stm) == 0) return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loads_stored(stm->bodies[k], row)) return false;
    }
    return true;
}

// ---- putting it there ---------------------------------------------------------------

static void push(const Within *w, LoopBody *body, LoopStm *stm) {
    vec_push(w->b->arena, &body->stms, stm);
}

static LoopBody take_all(LoopBody *body) {
    LoopBody old = *body;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    return old;
}

// The turn of the short loop in that of the row: what it loads of the row is there.
static void put_few(Within *w) {
    LoopBody *few = w->few->bodies[0], *inner = w->inner->bodies[0];
    LoopBody old = take_all(few);
    loop_identify(w->b, inner->params[0], w->row->bodies[0]->params[0]);
    for (uint32_t i = 0; i < old.stms.len; i++)
        if (old.stms.data[i] != w->inner) push(w, few, old.stms.data[i]);
    for (uint32_t i = 0; i < inner->stms.len; i++) {
        LoopStm *stm = inner->stms.data[i];
        LoopRef value = stm->op == LOOP_LOAD ? value_of(w, stm) : 0;
        if (value == 0) push(w, few, stm);
        else loop_identify(w->b, stm->outs[0], value);
    }
}

// Rows that were for the short loop alone are no more.
static void drop_rows(Within *w, const LoopBody *arrays) {
    LoopBody old = take_all(w->turn), row = take_all(w->row->bodies[0]);
    for (uint32_t i = 0; i < row.stms.len; i++) {
        LoopStm *stm = row.stms.data[i];
        if (stm->op != LOOP_STORE || !stores_to(arrays, stm->args[0]))
            push(w, w->row->bodies[0], stm);
    }
    for (uint32_t i = 0; i < old.stms.len; i++) {
        LoopStm *stm = old.stms.data[i];
        bool is_array = stm->op == LOOP_ALLOC && stores_to(arrays, stm->outs[0]);
        if (stm == w->few) push(w, w->turn, w->row);
        else if (stm != w->row && !is_array) push(w, w->turn, stm);
    }
}

// The stores of the row's loop to arrays that the short loop alone reads.
static LoopBody find_arrays(const Within *w) {
    LoopBody arrays = {0};
    const LoopBody *row = w->row->bodies[0], *inner = w->inner->bodies[0];
    for (uint32_t i = 0; i < row->stms.len; i++) {
        LoopStm *store = row->stms.data[i];
        bool is_read = false;
        if (store->op != LOOP_STORE) continue;
        for (uint32_t k = 0; k < inner->stms.len; k++)
            is_read = is_read || (inner->stms.data[k]->op == LOOP_LOAD &&
                                  inner->stms.data[k]->args[0] == store->args[0]);
        if (is_read) push(w, &arrays, store);
    }
    return arrays;
}

void join_within(LoopBuilder *b, LoopBody *turn, LoopStm *row, LoopStm *few) {
    enum { MOST = 1500 }; // statements in all turns, before what is known goes
    Within w = {.b = b, .turn = turn, .row = row, .few = few};
    uint64_t times;
    if (!loop_is_known(b, few->args[0], &times) ||
        times * loop_body_size(few->bodies[0]) > MOST ||
        !loop_is_unrolled(b->kernel, few) || !can_be_within(&w))
        return;
    LoopBody arrays = find_arrays(&w);
    put_few(&w);
    drop_rows(&w, &arrays);
    push(&w, row->bodies[0], few);
}
