// SPDX-License-Identifier: Apache-2.0
//
// Loops whose steps make all cells of a torus from those around them (bits.c): one
// array is read and one is made, row by row in parallel, each cell by straight code.
// Which cell is loaded is proved from its place: so many columns to one side, going
// round.
#include "loop/bits.h"

enum { MOST_STATES = 4 }; // buffers that the loop carries

static BitsCells *find(const Map *map, const LoopStm *stm) {
    uint64_t found;
    return map_get(map, (uintptr_t)stm, &found) ? (BitsCells *)(uintptr_t)found : NULL;
}

// ---- which loops --------------------------------------------------------------------

static const LoopStm *last_of(const LoopBody *body) {
    return body->stms.len > 0 ? body->stms.data[body->stms.len - 1] : NULL;
}

bool bits_is_computed(const LoopStm *stm) {
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (!bits_is_computed(stm->bodies[k]->stms.data[i])) return false;
    return stm->op == LOOP_SCALAR || stm->op == LOOP_IF;
}

static bool is_state(const BitsCells *c, LoopRef buffer, uint32_t k) {
    return c->loop->bodies[0]->params[1 + k] == buffer;
}

static bool note_loads(BitsSearch *search, BitsCells *c, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm == c->store) continue;
        if (stm->op == LOOP_LOAD) {
            while (c->loads == 0 && c->from < c->loop->out_count &&
                   !is_state(c, stm->args[0], c->from))
                c->from++;
            if (c->from == c->loop->out_count || !is_state(c, stm->args[0], c->from))
                return false;
            c->loads++;
            map_set(&search->accesses, (uintptr_t)stm, (uintptr_t)c);
        } else if (stm->op != LOOP_SCALAR && stm->op != LOOP_IF) {
            return false;
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!note_loads(search, c, stm->bodies[k])) return false;
    }
    return true;
}

// Whether it is a check of what is the same in all turns of the body.
static bool is_same_check(const LoopBody *body, const LoopStm *stm) {
    for (uint32_t k = 0; k < stm->arg_count; k++)
        if (loop_binds(body, stm->args[k])) return false;
    return stm->op == LOOP_CHECK;
}

// The last statement, if it is a loop of that order and the others compute scalars, or
// are checks, if there may be some; or NULL.
static const LoopStm *find_inner(const LoopBody *body, LoopOrder order,
                                 bool may_check) {
    const LoopStm *inner = last_of(body);
    for (uint32_t i = 0; i + 1 < body->stms.len; i++)
        if (!bits_is_computed(body->stms.data[i]) &&
            !(may_check && is_same_check(body, body->stms.data[i])))
            return NULL;
    bool is_inner = inner != NULL && inner->op == LOOP_FOR && inner->order == order &&
                    inner->out_count == 0;
    return is_inner ? inner : NULL;
}

// Steps make rows in parallel, these their cells in any order, and a cell is stored.
static bool is_of_cells(BitsSearch *search, BitsCells *c, const LoopBuilder *b) {
    const LoopStm *loop = c->loop;
    const LoopBody *body = loop->bodies[0];
    uint32_t count = loop->out_count;
    if (loop->order != ORDER_SEQUENTIAL || count == 0 || count > MOST_STATES ||
        loop_type(b, loop->args[0]).elem != SCALAR_I64)
        return false;
    for (uint32_t k = 0; k < count; k++)
        if (loop_type(b, loop->outs[k]).kind != LOOP_IS_BUFFER) return false;
    c->rows = find_inner(body, ORDER_PARALLEL, true);
    if (c->rows == NULL) return false;
    c->cells = find_inner(c->rows->bodies[0], ORDER_INDEPENDENT, false);
    if (c->cells == NULL || loop_type(b, c->cells->args[0]).elem != SCALAR_I64 ||
        loop_type(b, c->rows->args[0]).elem != SCALAR_I64)
        return false;
    c->store = last_of(c->cells->bodies[0]);
    if (c->store == NULL || c->store->op != LOOP_STORE) return false;
    while (c->to < count && !is_state(c, c->store->args[0], c->to)) c->to++;
    if (c->to == count || !note_loads(search, c, c->cells->bodies[0]) || c->loads == 0)
        return false;
    map_set(&search->accesses, (uintptr_t)c->store, (uintptr_t)c);
    ScalarType elem = (ScalarType)loop_type(b, loop->outs[c->from]).elem;
    return c->from != c->to && !scalar_is_float(elem) &&
           body->results[c->from] == body->params[1 + c->to];
}

static bool uses(const LoopBody *body, LoopRef ref) {
    for (uint32_t i = 0; i < body->result_count; i++)
        if (body->results[i] == ref) return true;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++)
            if (stm->args[k] == ref) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (uses(stm->bodies[k], ref)) return true;
    }
    return false;
}

// Whether what the last step made is all that is wanted of the loop.
static bool gives_cells_alone(const BitsCells *c, const LoopBody *body) {
    for (uint32_t k = 0; k < c->loop->out_count; k++)
        if (k != c->from && uses(body, c->loop->outs[k])) return false;
    return true;
}

// Whether it copies one buffer to the other, from the beginning on.
static bool is_copy(const LoopBuilder *b, const LoopStm *stm, LoopRef from,
                    LoopRef to) {
    if (stm->op != LOOP_FOR || stm->out_count > 0) return false;
    const LoopBody *body = stm->bodies[0];
    if (body->stms.len != 2) return false;
    const LoopStm *load = body->stms.data[0], *store = body->stms.data[1];
    if (load->op != LOOP_LOAD || store->op != LOOP_STORE || load->args[0] != from ||
        store->args[0] != to || store->args[1] != load->outs[0] ||
        load->arg_count != 4 || store->arg_count != 5)
        return false;
    for (uint32_t k = 1; k < 4; k++)
        if (!loop_same(b, load->args[k], store->args[k + 1])) return false;
    return loop_is_int(b, load->args[1], 0) && loop_is_int(b, load->args[2], 1) &&
           load->args[3] == body->params[0];
}

// Whether it is memory for a result of as many rows and columns.
static bool is_result(const LoopBuilder *b, const BitsCells *c, const LoopStm *stm) {
    return stm->op == LOOP_RESULT && stm->out_count == 1 && stm->arg_count == 2 &&
           loop_same(b, stm->args[0], c->rows->args[0]) &&
           loop_same(b, stm->args[1], c->cells->args[0]);
}

// BitsCells that are copied to be a result, and nothing else, may be made where that
// is. Its memory comes before the loop then; returns how many statements do that did
// not.
static uint32_t find_copy(BitsCells *c, const LoopBuilder *b, const LoopBody *root,
                          uint32_t at) {
    LoopStm **stms = root->stms.data + at;
    LoopRef from = c->loop->outs[c->from];
    bool is_after = at + 2 < root->stms.len && is_result(b, c, stms[1]);
    uint32_t next = is_after ? 2 : 1;
    if ((!is_after && (at == 0 || !is_result(b, c, stms[-1]))) ||
        at + next >= root->stms.len)
        return 0;
    LoopStm *result = is_after ? stms[1] : stms[-1];
    LoopBody rest = *root;
    rest.stms.data = stms + next + 1;
    rest.stms.len = root->stms.len - at - next - 1;
    if (!is_copy(b, stms[next], from, result->outs[0]) || uses(&rest, from)) return 0;
    c->copy = stms[next];
    c->result = result->outs[0];
    if (!is_after) return 0;
    stms[1] = stms[0];
    stms[0] = result;
    return 1;
}

// In root code alone, where memory lasts to its end.
void bits_find(BitsSearch *search, const LoopBuilder *b, const LoopBody *root) {
    for (uint32_t i = 0; i < root->stms.len; i++) {
        const LoopStm *stm = root->stms.data[i];
        if (stm->op != LOOP_FOR) continue;
        BitsCells *c = arena_new(search->arena, BitsCells);
        c->loop = stm;
        map_init(&c->away, search->arena);
        if (!is_of_cells(search, c, b) || !gives_cells_alone(c, root)) continue;
        map_set(&search->loops, (uintptr_t)stm, (uintptr_t)c);
        i += find_copy(c, b, root, i);
    }
}

// ---- which cells --------------------------------------------------------------------

// The row and the column, of rows of as many cells as the loop makes.
static bool find_place(const LoopBuilder *b, const BitsCells *c, const LoopStm *access,
                       LoopRef *row_out, LoopRef *column_out) {
    uint32_t first = access->op == LOOP_LOAD ? 1 : 2;
    const LoopRef *place = access->args + first;
    if (access->arg_count != first + 5 || !loop_is_int(b, place[0], 0) ||
        !loop_same(b, place[1], c->cells->args[0]) || !loop_is_int(b, place[3], 1))
        return false;
    *row_out = place[2];
    *column_out = place[4];
    return true;
}

// Whether the column is always as far away from the turn's own, going round.
static bool is_away(Ranges *r, const BitsCells *c, LoopRef column, int64_t *away_out) {
    RangeForm index = range_form(r, c->cells->bodies[0]->params[0]);
    RangeForm width = range_form(r, c->cells->args[0]);
    column = loop_find(r->b, column);
    for (int around = -1; around <= 1; around++) {
        RangeForm form = range_form(r, column);
        bool is_sum = range_add(&form, &index, -1) && range_add(&form, &width, around);
        *away_out = form.base;
        if (is_sum && form.count == 0 && form.base >= -BITS_MOST_AWAY &&
            form.base <= BITS_MOST_AWAY)
            return true;
    }
    LoopRef either[2];
    int64_t away[2];
    for (int i = 0; i < 2; i++) either[i] = range_value(r, column)->either[i];
    for (int i = 0; i < 2; i++)
        if (either[i] == 0 || !is_away(r, c, either[i], &away[i])) return false;
    *away_out = away[0];
    return away[0] == away[1];
}

// Whether the index, or each of the two that it may be, is one of so many.
static bool is_within(Ranges *r, LoopRef index, LoopRef count) {
    index = loop_find(r->b, index);
    RangeValue value = *range_value(r, index);
    RangeForm form = range_sum(r, index), left = range_form(r, count);
    uint32_t known = r->facts.len;
    left.base--;
    if (range_add(&left, &form, -1) && range_prove(r, &form) && range_prove(r, &left))
        return true;
    for (int i = 0; i < 2; i++) {
        if (value.either[i] == 0) return false;
        if (value.when != 0) range_assume(r, value.when, i == 0);
        bool is_one = is_within(r, value.either[i], count);
        range_forget(r, known);
        if (!is_one) return false;
    }
    return true;
}

void bits_see(RangeWalk *w, const LoopStm *access) {
    const BitsSearch *search = w->data;
    BitsCells *c = find(&search->accesses, access);
    LoopRef row, column;
    int64_t away;
    if (c == NULL || c->fails) return;
    c->fails = !find_place(&w->b, c, access, &row, &column);
    if (c->fails) return;
    if (access->op == LOOP_STORE) {
        c->fails = !loop_same(&w->b, row, c->rows->bodies[0]->params[0]) ||
                   !loop_same(&w->b, column, c->cells->bodies[0]->params[0]);
        return;
    }
    c->fails = !is_within(&w->r, row, c->rows->args[0]) ||
               !is_within(&w->r, column, c->cells->args[0]) ||
               !is_away(&w->r, c, column, &away);
    if (c->fails) return;
    c->seen++;
    map_set(&c->away, (uintptr_t)access, (uint64_t)(away + BITS_MOST_AWAY));
}

const BitsCells *bits_found(const BitsSearch *search, const LoopStm *loop) {
    const BitsCells *c = find(&search->loops, loop);
    return c == NULL || c->fails || c->seen < c->loads ? NULL : c;
}
