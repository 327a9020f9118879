// SPDX-License-Identifier: Apache-2.0
//
// Finds loops whose turns look at a row and then change every row (turns.h).
#include "loop/memory.h"
#include "loop/turns.h"

enum { MOST_STMS = 80 };

static bool fails(const LoopStm *stm) {
    return (core_op_info[stm->scalar].flags & OP_FAILS) != 0;
}

static const LoopStm *def_of(const Turns *t, LoopRef ref) {
    return ref < t->known ? t->defs[ref] : NULL;
}

// ---- places -------------------------------------------------------------------------

// A place in row `row` of the matrix, which begins at its start: so far, element
// `column`.
typedef struct Spot {
    LoopRef row, stride, column;
} Spot;

// Reads offset, stride and index as row * stride + column.
static bool find_spot(const Turns *t, const LoopRef *place, uint32_t count, Spot *out) {
    LoopRef terms[2][2] = {{0}};
    const LoopStm *product = def_of(t, place[0]);
    if (count == 3 && product != NULL && product->scalar == OP_MUL) {
        terms[0][0] = product->args[0];
        terms[0][1] = product->args[1];
    } else if (count == 5 && loop_is_int(t->b, place[0], 0)) {
        terms[0][0] = place[1];
        terms[0][1] = place[2];
    } else {
        return false;
    }
    *out = (Spot){terms[0][1], terms[0][0], place[count - 1]};
    return loop_is_int(t->b, place[count - 2], 1);
}

// Whether x is less than `wide` wherever the turn looks at rows: an index of a loop
// that turns so often, or that of the turns, of which a check has said so.
static bool is_in_row(const Turns *t, LoopRef x, LoopRef index, LoopRef times) {
    if (x == index) return times == t->wide;
    if (x != t->body->params[0]) return false;
    if (t->loop->args[0] == t->wide) return true;
    for (uint32_t i = 0; i < t->at; i++) {
        const LoopStm *check = t->body->stms.data[i];
        const LoopStm *def = check->op == LOOP_CHECK ? def_of(t, check->args[0]) : NULL;
        if (def != NULL && def->scalar == OP_LT && def->args[0] == x &&
            def->args[1] == t->wide)
            return true;
    }
    return false;
}

// ---- what a turn does ---------------------------------------------------------------

// Of what looks at rows: nothing is stored but to memory of the turn, and of the matrix
// only row `i` is loaded. `index`: of the loop around it, which turns so often.
static bool only_looks(const Turns *t, const LoopStm *stm, LoopRef index,
                       LoopRef times) {
    Spot spot;
    switch (stm->op) {
    case LOOP_SCALAR:
    case LOOP_CHECK: return true;
    case LOOP_ALLOC: return index == 0 && stm->args[0] == t->wide;
    case LOOP_STORE:
        return stm->args[0] != t->matrix && loop_binds(t->body, stm->args[0]);
    case LOOP_LOAD:
        return stm->args[0] != t->matrix ||
               (find_spot(t, stm->args + 1, stm->arg_count - 1, &spot) &&
                spot.row == t->body->params[0] && spot.stride == t->high &&
                is_in_row(t, spot.column, index, times));
    case LOOP_FOR:
        if (stm->number != 0) return false;
        index = stm->bodies[0]->params[0];
        times = stm->args[0];
        break;
    default: return false;
    }
    for (uint32_t i = 0; i < stm->bodies[0]->stms.len; i++)
        if (!only_looks(t, stm->bodies[0]->stms.data[i], index, times)) return false;
    return true;
}

// Of what changes a row: everything is stored there, and it stops for nothing.
static bool only_changes(Turns *t, const LoopBody *body, LoopRef index, LoopRef times) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        Spot spot;
        if (stm->op == LOOP_STORE) {
            if (!find_spot(t, stm->args + 2, stm->arg_count - 2, &spot) ||
                spot.row != t->rows->bodies[0]->params[0] || spot.column != index ||
                loop_binds(t->body, times) || loop_binds(t->body, spot.stride) ||
                spot.stride != times) // else rows might overlap
                return false;
            if (t->matrix == 0) {
                t->matrix = stm->args[0];
                t->high = spot.stride;
                t->wide = times;
            }
            if (stm->args[0] != t->matrix || spot.stride != t->high || times != t->wide)
                return false;
        } else if (stm->op == LOOP_FOR && stm->number == 0) {
            if (!only_changes(t, stm->bodies[0], stm->bodies[0]->params[0],
                              stm->args[0]))
                return false;
        } else if (stm->op == LOOP_IF) {
            if (!only_changes(t, stm->bodies[0], index, times) ||
                !only_changes(t, stm->bodies[1], index, times))
                return false;
        } else if (stm->op != LOOP_SCALAR && stm->op != LOOP_LOAD) {
            return false;
        }
    }
    return true;
}

int turns_arm(const Turns *t, const LoopStm *branch) {
    LoopRef row = t->rows->bodies[0]->params[0], turn = t->body->params[0];
    const LoopStm *c = def_of(t, branch->args[0]);
    if (c == NULL || c->arg_count != 2) return -1;
    LoopRef x = c->args[0], y = c->args[1];
    if (c->scalar == OP_EQ && ((x == row && y == turn) || (x == turn && y == row)))
        return 1;
    return c->scalar == OP_LT && loop_is_int(t->b, x, 0) && y == t->wide ? 0 : -1;
}

// Whether a load from the matrix is of the row, and of that column.
static bool is_of_row(const Turns *t, const LoopStm *load, LoopRef column) {
    Spot spot;
    return load->args[0] != t->matrix ||
           (find_spot(t, load->args + 1, load->arg_count - 1, &spot) &&
            spot.row == t->rows->bodies[0]->params[0] && spot.stride == t->high &&
            spot.column == column);
}

static bool is_cell(const Turns *t, const LoopBody *body) {
    uint32_t last = body->stms.len - 1;
    if (body->stms.len == 0 || body->stms.data[last]->op != LOOP_STORE) return false;
    for (uint32_t i = 0; i < last; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD) {
            if (!is_of_row(t, stm, body->params[0])) return false;
        } else if (stm->op != LOOP_SCALAR || fails(stm)) {
            return false;
        }
    }
    return true;
}

static bool is_among(const LoopRefs *refs, LoopRef ref) {
    for (uint32_t i = 0; i < refs->len; i++)
        if (refs->data[i] == ref) return true;
    return false;
}

static void add_ref(const Turns *t, LoopRefs *refs, LoopRef ref) {
    if (!is_among(refs, ref)) vec_push(t->b->arena, refs, ref);
}

// Parts what is done for elements: what is the same for all of a row comes before.
static void part_cells(Turns *t) {
    const LoopBody *body = t->cells->bodies[0];
    LoopRefs inner = {0};
    vec_push(t->b->arena, &inner, body->params[0]);
    for (uint32_t i = 0; i + 1 < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_inner = stm->op == LOOP_LOAD;
        for (uint32_t k = 0; k < stm->arg_count; k++)
            is_inner = is_inner || is_among(&inner, stm->args[k]);
        if (is_inner) {
            vec_push(t->b->arena, &inner, stm->outs[0]);
            vec_push(t->b->arena, &t->cell, stm);
        } else {
            vec_push(t->b->arena, &t->before, stm);
        }
    }
}

// Whether a load before the elements is from elsewhere, or of the element of the row in
// the column that has the number of the turn.
static bool note_load(Turns *t, const LoopStm *load) {
    if (load->args[0] != t->matrix) return true;
    t->has_strip = true;
    return is_of_row(t, load, t->body->params[0]);
}

// Finds how rows change: straight code, then one loop on elements.
static bool find_change(Turns *t, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        int arm = stm->op == LOOP_IF ? turns_arm(t, stm) : -1;
        if (t->cells != NULL) return false;
        if (stm->op == LOOP_FOR && stm->out_count == 0 && is_cell(t, stm->bodies[0])) {
            t->cells = stm;
            continue;
        }
        bool ok = arm >= 0               ? find_change(t, stm->bodies[arm])
                  : stm->op == LOOP_LOAD ? note_load(t, stm)
                                         : stm->op == LOOP_SCALAR;
        if (!ok) return false;
        vec_push(t->b->arena, &t->before, stm);
    }
    return true;
}

// ---- what is handed on --------------------------------------------------------------

static void find_factors(Turns *t) {
    const LoopBody *body = t->cells->bodies[0];
    LoopRefs made = {0};
    for (uint32_t i = 0; i < t->before.len; i++)
        for (uint32_t r = 0; r < t->before.data[i]->out_count; r++)
            add_ref(t, &made, t->before.data[i]->outs[r]);
    for (uint32_t i = 0; i < t->cell.len; i++) {
        const LoopStm *stm = t->cell.data[i];
        bool is_element = stm->op == LOOP_LOAD && stm->args[0] == t->matrix;
        for (uint32_t k = 0; k < stm->arg_count && !is_element; k++)
            if (is_among(&made, stm->args[k])) add_ref(t, &t->factors, stm->args[k]);
    }
    LoopRef result = body->stms.data[body->stms.len - 1]->args[1];
    if (is_among(&made, result)) add_ref(t, &t->factors, result);
}

bool turns_is_along(const Turns *t, const LoopStm *stm) {
    return stm->op == LOOP_LOAD && stm->arg_count == 4 &&
           is_among(&t->arrays, stm->args[0]) && loop_is_int(t->b, stm->args[1], 0) &&
           loop_is_int(t->b, stm->args[2], 1) &&
           stm->args[3] == t->cells->bodies[0]->params[0];
}

// What loads the value for an element, if something does.
static const LoopStm *find_load(const Turns *t, LoopRef ref) {
    for (uint32_t i = 0; i < t->cell.len; i++)
        if (t->cell.data[i]->op == LOOP_LOAD && t->cell.data[i]->outs[0] == ref)
            return t->cell.data[i];
    return NULL;
}

// Whether it is the element of the row in the column of the turn.
static bool is_own_element(const Turns *t, LoopRef ref) {
    for (uint32_t i = t->before.len; i-- > 0;) {
        const LoopStm *stm = t->before.data[i];
        for (uint32_t r = 0; r < stm->out_count; r++) {
            if (stm->outs[r] != ref) continue;
            if (stm->op == LOOP_LOAD) return stm->args[0] == t->matrix;
            if (stm->op == LOOP_IF) ref = stm->bodies[turns_arm(t, stm)]->results[r];
        }
    }
    return false;
}

static void find_pivot(Turns *t) {
    const LoopBody *body = t->cells->bodies[0];
    const LoopStm *fma = def_of(t, body->stms.data[body->stms.len - 1]->args[1]);
    if (fma == NULL || fma->scalar != OP_FMA) return;
    const LoopStm *element = find_load(t, fma->args[2]);
    if (element == NULL || element->args[0] != t->matrix) return;
    for (uint32_t i = 0; i < 2; i++) {
        const LoopStm *load = find_load(t, fma->args[i]);
        if (load == NULL || !turns_is_along(t, load) ||
            !is_among(&t->factors, fma->args[1 - i]))
            continue;
        t->pivot = load;
        t->scale = fma->args[1 - i];
    }
    const LoopStm *minus = def_of(t, t->scale);
    t->takes_own = t->pivot != NULL && minus != NULL && minus->scalar == OP_NEG &&
                   is_own_element(t, minus->args[0]);
}

static void keep(Turns *t, const LoopRefs *found, LoopRef ref) {
    if (is_among(found, ref)) add_ref(t, &t->kept, ref);
}

static void keep_needed(Turns *t, const LoopRefs *found, const LoopBody *body) {
    for (uint32_t i = 0; i < body->result_count; i++) keep(t, found, body->results[i]);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) keep(t, found, stm->args[k]);
        for (uint32_t k = 0; k < stm->body_count; k++)
            keep_needed(t, found, stm->bodies[k]);
    }
}

// Finds what a turn makes when it looks, and what of it is wanted later.
static bool find_looks(Turns *t) {
    LoopRefs found = {0};
    for (uint32_t i = 0; i < t->at; i++) {
        const LoopStm *stm = t->body->stms.data[i];
        if (!only_looks(t, stm, 0, 0)) return false;
        for (uint32_t r = 0; r < stm->out_count; r++) {
            bool is_scalar = loop_type(t->b, stm->outs[r]).kind == LOOP_IS_SCALAR;
            if (!is_scalar && stm->op != LOOP_ALLOC) return false;
            vec_push(t->b->arena, is_scalar ? &found : &t->arrays, stm->outs[r]);
        }
    }
    keep_needed(t, &found, t->rows->bodies[0]);
    return true;
}

bool turns_find(Turns *t, LoopStm *loop) {
    t->loop = loop;
    const LoopBody *body = t->body = loop->bodies[0];
    uint32_t count = body->stms.len;
    if (loop->order != ORDER_SEQUENTIAL || loop->out_count > 0 || loop->number != 0 ||
        count < 2 || loop_type(t->b, loop->args[0]).elem != SCALAR_I64 ||
        loop_body_size(body) > MOST_STMS)
        return false;
    const LoopStm *keep = body->stms.data[count - 1];
    bool keeps = keep->op == LOOP_KEEP && keep->out_count == 0;
    t->at = count - (keeps ? 2 : 1);
    t->rows = body->stms.data[t->at];
    if (t->rows->op != LOOP_FOR || t->rows->order == ORDER_SEQUENTIAL ||
        loop_binds(body, t->rows->args[0]) ||
        !only_changes(t, t->rows->bodies[0], 0, 0) || t->matrix == 0)
        return false;
    if (!find_looks(t) || !find_change(t, t->rows->bodies[0]) || t->cells == NULL)
        return false;
    part_cells(t);
    find_factors(t);
    find_pivot(t);
    return memory_is_own(t->b, loop, t->matrix, t->matrix);
}
