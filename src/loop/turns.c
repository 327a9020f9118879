// SPDX-License-Identifier: Apache-2.0
//
// Several turns in one pass over a matrix. A loop that goes in order, each turn of
// which looks at one row of a matrix and then changes every row in place by itself and
// by what it has seen, as elimination does, fetches the whole matrix from a far cache
// in each turn. It goes by blocks of turns instead:
//
//     for i < n {                     for b < n / 4 {
//       look at row i                   each i of the block: look at row i, after the
//       for a < n {change row a}}         turns of the block before i have changed it
//                                       for a < n {change row a by each i in turn}}
//
// so that a row that is there is changed four times, and two rows at once, or four
// where there are registers for it, share what they load. Each row goes through the
// same changes in the same order. Rows of the block are changed early by the turns
// before them, and then no more by these. What may stop is in what looks at rows, whose
// order stays. Turns that are left over follow, one by one.
#include "loop/copy.h"
#include "loop/machine.h"
#include "loop/memory.h"
#include "loop/passes.h"

enum { TURNS = 4, MOST_ROWS = 4, MOST_STMS = 80 };

typedef struct Turns {
    LoopBuilder *b;
    const LoopStm **defs; // by LoopRef: the scalar operator that makes it; or NULL
    uint32_t known;       // there are so many
    int group;            // rows at once; a block is whole groups
    LoopStm *loop;
    const LoopBody *body;
    uint32_t at;        // of the statement on rows
    LoopStm *rows;      // that loop
    LoopRef matrix;     // the buffer
    LoopRef high, wide; // of a row: how far from the next one, how many elements
    // How rows change that are not of the block: what comes before their elements, and
    // the loop on these.
    struct {
        const LoopStm **data; // of a branch only the arm below counts
        uint32_t len, cap;
    } before;
    const LoopStm *cells;
} Turns;

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
    case LOOP_ALLOC: return index == 0;
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

// The arm of a branch that rows go which are not of the block, where there are
// elements; -1: nobody knows.
static int arm_of(const Turns *t, const LoopStm *branch) {
    LoopRef row = t->rows->bodies[0]->params[0], turn = t->body->params[0];
    const LoopStm *c = def_of(t, branch->args[0]);
    if (c == NULL || c->arg_count != 2) return -1;
    LoopRef x = c->args[0], y = c->args[1];
    if (c->scalar == OP_EQ && ((x == row && y == turn) || (x == turn && y == row)))
        return 1;
    return c->scalar == OP_LT && loop_is_int(t->b, x, 0) && y == t->wide ? 0 : -1;
}

// Whether a load from the matrix is of the row, and of that column, unless it is 0.
static bool is_of_row(const Turns *t, const LoopStm *load, LoopRef column) {
    Spot spot;
    return load->args[0] != t->matrix ||
           (find_spot(t, load->args + 1, load->arg_count - 1, &spot) &&
            spot.row == t->rows->bodies[0]->params[0] && spot.stride == t->high &&
            (column == 0 || spot.column == column));
}

static bool is_cell(const Turns *t, const LoopBody *body) {
    uint32_t last = body->stms.len - 1;
    if (body->stms.len == 0 || body->stms.data[last]->op != LOOP_STORE) return false;
    for (uint32_t i = 0; i < last; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_SCALAR &&
            (stm->op != LOOP_LOAD || !is_of_row(t, stm, body->params[0])))
            return false;
    }
    return true;
}

// Finds how rows change: straight code, then one loop on elements.
static bool find_change(Turns *t, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        int arm = stm->op == LOOP_IF ? arm_of(t, stm) : -1;
        if (t->cells != NULL) return false;
        if (stm->op == LOOP_FOR && stm->out_count == 0 && is_cell(t, stm->bodies[0]))
            t->cells = stm;
        else if (arm >= 0 && !find_change(t, stm->bodies[arm])) return false;
        else if (arm < 0 && stm->op != LOOP_SCALAR &&
                 (stm->op != LOOP_LOAD || !is_of_row(t, stm, 0)))
            return false;
        else vec_push(t->b->arena, &t->before, stm);
    }
    return true;
}

static bool can_go(Turns *t) {
    const LoopStm *loop = t->loop;
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
    for (uint32_t i = 0; i < t->at; i++)
        if (!only_looks(t, body->stms.data[i], 0, 0)) return false;
    if (!find_change(t, t->rows->bodies[0]) || t->cells == NULL) return false;
    return memory_is_own(t->b, loop, t->matrix, t->matrix);
}

// ---- blocks -------------------------------------------------------------------------

static void copy_stms(const Turns *t, LoopCopier *turn, const LoopBody *body,
                      uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++)
        loop_append(t->b, loop_copy_stm(turn, body->stms.data[i]));
}

static void change_row(const Turns *t, LoopCopier *turn, LoopRef row) {
    const LoopBody *body = t->rows->bodies[0];
    loop_copy_as(turn, body->params[0], row);
    copy_stms(t, turn, body, 0, body->stms.len);
}

// Changes a row by turn k of the block unless it is a later one of the block, which has
// been changed.
static void change_by(const Turns *t, LoopCopier *turns, const LoopRef *numbers, int k,
                      LoopRef row) {
    LoopBuilder *b = t->b;
    LoopBody *arms[2];
    if (k == TURNS - 1) {
        change_row(t, &turns[k], row);
        return;
    }
    LoopRef is_done =
        loop_and(b, loop_lt(b, numbers[k], row), loop_le(b, row, numbers[TURNS - 1]));
    loop_open(b, NULL, 0);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    change_row(t, &turns[k], row);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &is_done, 1, NULL, 0), arms, 2);
}

// What turn k makes of an element x of the column.
static LoopRef change_cell(const Turns *t, LoopCopier *turn, LoopRef x,
                           LoopRef column) {
    const LoopBody *body = t->cells->bodies[0];
    uint32_t last = body->stms.len - 1;
    loop_copy_as(turn, body->params[0], column);
    for (uint32_t i = 0; i < last; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD && stm->args[0] == t->matrix)
            loop_copy_as(turn, stm->outs[0], x);
        else loop_append(t->b, loop_copy_stm(turn, stm));
    }
    return loop_copy_of(turn, body->stms.data[last]->args[1]);
}

static LoopRef load_cell(const Turns *t, LoopRef row, LoopRef column) {
    LoopRef one = loop_int(t->b, 1), begin = loop_mul(t->b, t->high, row);
    LoopType type = loop_scalar_type((ScalarType)loop_type(t->b, t->matrix).elem);
    return loop_emit1(t->b, LOOP_LOAD, (LoopRef[]){t->matrix, begin, one, column}, 4,
                      type);
}

// What turn k does before its elements. An element that it looks at is as the turns
// before make it.
static void look_before(const Turns *t, LoopCopier *turns, int k, LoopRef row) {
    LoopCopier *turn = &turns[k];
    loop_copy_as(turn, t->rows->bodies[0]->params[0], row);
    for (uint32_t i = 0; i < t->before.len; i++) {
        const LoopStm *stm = t->before.data[i];
        if (stm->op == LOOP_IF) {
            const LoopBody *arm = stm->bodies[arm_of(t, stm)];
            for (uint32_t r = 0; r < stm->out_count; r++)
                loop_copy_as(turn, stm->outs[r], loop_copy_of(turn, arm->results[r]));
        } else if (stm->op == LOOP_LOAD && stm->args[0] == t->matrix) {
            LoopRef column = loop_copy_of(turn, stm->args[stm->arg_count - 1]);
            LoopRef x = load_cell(t, row, column);
            for (int v = 0; v < k; v++) x = change_cell(t, &turns[v], x, column);
            loop_copy_as(turn, stm->outs[0], x);
        } else {
            loop_append(t->b, loop_copy_stm(turn, stm));
        }
    }
}

// The results of what turn k does before the elements of a row.
static LoopRef *note_before(const Turns *t, const LoopCopier *turn) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->before.len; i++) count += t->before.data[i]->out_count;
    LoopRef *results = arena_array(t->b->arena, LoopRef, count), *next = results;
    for (uint32_t i = 0; i < t->before.len; i++)
        for (uint32_t r = 0; r < t->before.data[i]->out_count; r++)
            *next++ = loop_copy_of(turn, t->before.data[i]->outs[r]);
    return results;
}

static void recall_before(const Turns *t, LoopCopier *turn, LoopRef row,
                          const LoopRef *results) {
    loop_copy_as(turn, t->rows->bodies[0]->params[0], row);
    for (uint32_t i = 0; i < t->before.len; i++)
        for (uint32_t r = 0; r < t->before.data[i]->out_count; r++)
            loop_copy_as(turn, t->before.data[i]->outs[r], *results++);
}

// Rows that are not of the block, by all turns at once, element by element.
static void change_by_all(const Turns *t, LoopCopier *turns, LoopRef row) {
    LoopBuilder *b = t->b;
    LoopRef *before[MOST_ROWS][TURNS], rows[MOST_ROWS], begin[MOST_ROWS], x[MOST_ROWS],
        one = loop_int(b, 1);
    for (int r = 0; r < t->group; r++) {
        rows[r] = loop_add(b, row, loop_int(b, r));
        begin[r] = loop_mul(b, t->high, rows[r]);
        for (int k = 0; k < TURNS; k++) look_before(t, turns, k, rows[r]);
        for (int k = 0; k < TURNS; k++) before[r][k] = note_before(t, &turns[k]);
    }
    LoopRef column = loop_open_turns(b);
    for (int r = 0; r < t->group; r++) {
        x[r] = load_cell(t, rows[r], column);
        for (int k = 0; k < TURNS; k++) {
            recall_before(t, &turns[k], rows[r], before[r][k]);
            x[r] = change_cell(t, &turns[k], x[r], column);
        }
    }
    for (int r = 0; r < t->group; r++) {
        LoopRef args[] = {t->matrix, x[r], begin[r], one, column};
        loop_emit(b, LOOP_STORE, args, 5, NULL, 0);
    }
    loop_close_turns(b, t->wide, (LoopOrder)t->cells->order);
}

// Changes so many rows from one on by one turn after the other.
static void change_in_turn(const Turns *t, LoopCopier *turns, const LoopRef *numbers,
                           LoopRef first, LoopRef count) {
    LoopRef row = loop_add(t->b, first, loop_open_turns(t->b));
    for (int k = 0; k < TURNS; k++) change_by(t, turns, numbers, k, row);
    loop_close_turns(t->b, count, ORDER_SEQUENTIAL);
}

// Changes rows from one on, all of which are of the block, or none.
static void change_rows(const Turns *t, LoopCopier *turns, const LoopRef *numbers,
                        LoopRef row) {
    LoopBuilder *b = t->b;
    LoopBody *arms[2];
    LoopRef is_apart =
        loop_or(b, loop_lt(b, row, numbers[0]), loop_lt(b, numbers[TURNS - 1], row));
    is_apart = loop_and(b, is_apart, loop_lt(b, loop_int(b, 0), t->wide));
    loop_open(b, NULL, 0);
    change_by_all(t, turns, row);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    change_in_turn(t, turns, numbers, row, loop_int(b, t->group));
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &is_apart, 1, NULL, 0), arms, 2);
}

static void emit_block(const Turns *t, LoopRef first) {
    LoopBuilder *b = t->b;
    LoopCopier turns[TURNS];
    LoopRef numbers[TURNS];
    for (int k = 0; k < TURNS; k++) {
        numbers[k] = loop_add(b, first, loop_int(b, k));
        turns[k] = loop_copier(b);
        loop_copy_as(&turns[k], t->body->params[0], numbers[k]);
        for (int i = 0; i < k; i++) change_row(t, &turns[i], numbers[k]);
        copy_stms(t, &turns[k], t->body, 0, t->at);
    }
    LoopRef high = t->rows->args[0], size = loop_int(b, t->group);
    LoopRef groups = loop_quot(b, high, size), whole = loop_mul(b, groups, size);
    change_rows(t, turns, numbers, loop_mul(b, loop_open_turns(b), size));
    loop_close_turns(b, groups, (LoopOrder)t->rows->order);
    change_in_turn(t, turns, numbers, whole, loop_sub(b, high, whole));
    copy_stms(t, &turns[0], t->body, t->at + 1, t->body->stms.len);
}

static void emit(const Turns *t) {
    LoopBuilder *b = t->b;
    LoopRef n = t->loop->args[0], turns = loop_int(b, TURNS);
    LoopRef rows = loop_min(b, n, t->rows->args[0]);
    LoopRef blocks = loop_quot(b, rows, turns), most = loop_mul(b, blocks, turns);
    emit_block(t, loop_mul(b, loop_open_turns(b), turns));
    loop_close_turns(b, blocks, ORDER_SEQUENTIAL);
    LoopRef left = loop_sub(b, n, most), number = loop_add(b, most, loop_open_turns(b));
    loop_identify(b, t->body->params[0], number);
    for (uint32_t i = 0; i < t->body->stms.len; i++)
        loop_append(b, t->body->stms.data[i]);
    loop_close_turns(b, left, ORDER_SEQUENTIAL);
}

// ---- the pass -----------------------------------------------------------------------

static void note_defs(const LoopBody *body, const LoopStm **defs) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR) defs[stm->outs[0]] = stm;
        for (uint32_t k = 0; k < stm->body_count; k++) note_defs(stm->bodies[k], defs);
    }
}

static void visit(const Turns *pass, LoopBody *body) {
    LoopBody old = *body;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    loop_reopen(pass->b, body);
    for (uint32_t i = 0; i < old.stms.len; i++) {
        LoopStm *stm = old.stms.data[i];
        Turns t = *pass;
        t.loop = stm;
        if (stm->op == LOOP_FOR && can_go(&t)) {
            pass->b->loc = stm->loc;
            emit(&t);
            continue;
        }
        for (uint32_t k = 0; k < stm->body_count; k++) visit(pass, stm->bodies[k]);
        loop_append(pass->b, stm);
    }
    pass->b->open.len--;
}

void loop_turns(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    Turns pass = {.b = &b, .known = kernel->values.len};
    pass.group = machine_registers(machine_vector_bytes()) == 32 ? 4 : 2;
    pass.defs = arena_array(kernel->arena, const LoopStm *, kernel->values.len);
    note_defs(kernel->root, pass.defs);
    visit(&pass, kernel->root);
    loop_tidy(&b);
}
