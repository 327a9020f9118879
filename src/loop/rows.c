// SPDX-License-Identifier: Apache-2.0
//
// Neighbouring rows of a stencil at once. Turns of a loop that are rows, loops of turns
// that are straight code, go four at a time, and their inner loops as one: what a row
// loads and computes, and the one below it again, is there once. Each value is computed
// as before. Rows that are left over follow, one by one.
//
//     for y < h {for x < w {... a[y - 1, x] ... a[y + 1, x] ...}}
//
// becomes, of blocks of four rows,
//
//     for b < h / 4 + 1 {
//       if b < h / 4 {for x < w {the turns of 4b, 4b + 1, 4b + 2, 4b + 3}}
//       else {for k < h - 4b {for x < w {the turn of 4b + k}}}}
//
// A loop over the pairs (z, y), which finds both by division, becomes one over z and
// such blocks. It stays as it is where rows have little in common. Rows load nothing of
// what they store, so that a load of one is good for all.
#include "loop/copy.h"
#include "loop/passes.h"

enum { ROWS = 4, SHORT = 192 }; // SHORT: turns of a row

typedef struct Rows {
    RangeWalk *w;
    const LoopStm *loop;
    LoopRef row, other; // the number of a row; of pairs: that of the other dimension
    LoopRef count;      // of rows
    Map varies;         // what depends on the row
    Map stored;         // buffers
    bool only_short;    // rows are joined where they are short
} Rows;

// ---- which loops --------------------------------------------------------------------

static bool is_in(const Map *map, LoopRef ref) {
    uint64_t known;
    return map_get(map, ref, &known);
}

static bool is_row_loop(const LoopStm *stm) {
    return stm->op == LOOP_FOR && stm->order == ORDER_INDEPENDENT && stm->number == 0;
}

// Whether it is straight code; that of a row may store.
static bool is_plain(const LoopBody *body, bool is_row) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_IF && stm->op != LOOP_SCALAR && stm->op != LOOP_LOAD &&
            !(is_row && stm->op == LOOP_STORE))
            return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!is_plain(stm->bodies[k], is_row)) return false;
    }
    return true;
}

// Whether it is a loop of rows, with nothing but straight code beside them.
static bool is_of_rows(const LoopStm *loop, int unused) {
    bool has_rows = false;
    (void)unused;
    if (loop->op != LOOP_FOR || loop->order == ORDER_SEQUENTIAL || loop->number != 0)
        return false;
    for (uint32_t i = 0; i < loop->bodies[0]->stms.len; i++) {
        LoopStm *stm = loop->bodies[0]->stms.data[i];
        bool is_row = is_row_loop(stm);
        LoopBody alone = {.stms = {&stm, 1, 1}};
        if (!is_plain(is_row ? stm->bodies[0] : &alone, is_row)) return false;
        has_rows = has_rows || is_row;
    }
    return has_rows;
}

static void note_stored(Rows *r, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_STORE) map_set(&r->stored, stm->args[0], 1);
        for (uint32_t k = 0; k < stm->body_count; k++) note_stored(r, stm->bodies[k]);
    }
}

static bool loads_stored(const Rows *r, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD && is_in(&r->stored, stm->args[0])) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loads_stored(r, stm->bodies[k])) return true;
    }
    return false;
}

static bool uses_varying(const Rows *r, const LoopBody *body) {
    for (uint32_t i = 0; i < body->result_count; i++)
        if (is_in(&r->varies, body->results[i])) return true;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++)
            if (is_in(&r->varies, stm->args[k])) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (uses_varying(r, stm->bodies[k])) return true;
    }
    return false;
}

static void note_varying(Rows *r, LoopStm *stm) {
    LoopBody alone = {.stms = {&stm, 1, 1}};
    if (!uses_varying(r, &alone)) return;
    for (uint32_t k = 0; k < stm->out_count; k++) map_set(&r->varies, stm->outs[k], 1);
}

// Of a loop over pairs, the quotient or the remainder of its index by the count of
// rows.
static bool is_digit(const Rows *r, const LoopStm *stm, CoreOp op) {
    return stm->op == LOOP_SCALAR && stm->scalar == op &&
           stm->args[0] == r->loop->bodies[0]->params[0];
}

// Finds how the loop counts rows; the index of one over pairs is used for both alone.
static bool find_row(Rows *r) {
    const LoopBody *body = r->loop->bodies[0];
    LoopRef index = body->params[0], divisor[2] = {0};
    LoopBody rest = *body;
    rest.stms.data = arena_array(r->w->b.arena, LoopStm *, body->stms.len);
    rest.stms.len = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        bool is_row = is_digit(r, stm, OP_REM);
        if (is_row || is_digit(r, stm, OP_QUOT)) {
            *(is_row ? &r->row : &r->other) = stm->outs[0];
            divisor[is_row] = stm->args[1];
        } else {
            rest.stms.data[rest.stms.len++] = stm;
        }
    }
    if (r->row == 0 && r->other == 0) {
        r->row = index;
        r->count = r->loop->args[0];
        return true;
    }
    map_set(&r->varies, index, 1);
    if (divisor[0] != divisor[1] || uses_varying(r, &rest)) return false;
    r->count = divisor[0];
    return range_value(&r->w->r, r->count)->depth <= r->w->depth;
}

static bool can_join(Rows *r) {
    const LoopStm *loop = r->loop;
    const LoopBody *body = loop->bodies[0];
    if (!is_of_rows(loop, 0) || loop_type(&r->w->b, loop->args[0]).elem != SCALAR_I64 ||
        !find_row(r))
        return false;
    map_set(&r->varies, r->row, 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (!is_row_loop(stm)) note_varying(r, stm);
        else if (is_in(&r->varies, stm->args[0])) return false;
    }
    note_stored(r, body);
    return r->stored.count > 0 && !loads_stored(r, body);
}

// ---- joining ------------------------------------------------------------------------

static void add(Rows *r, LoopBody *body, LoopStm *stm) {
    vec_push(r->w->b.arena, &body->stms, stm);
}

// The inner loops of all rows as one.
static LoopStm *join_loops(Rows *r, LoopCopier *rows, const LoopStm *stm) {
    LoopBuilder *b = &r->w->b;
    const LoopBody *old = stm->bodies[0];
    LoopRef index = loop_value(b, loop_type(b, old->params[0]), 0);
    LoopBody *body = arena_new(b->arena, LoopBody);
    body->params = arena_copy(b->arena, &index, sizeof index);
    body->param_count = 1;
    for (int k = 0; k < ROWS; k++) {
        loop_copy_as(&rows[k], old->params[0], index);
        for (uint32_t i = 0; i < old->stms.len; i++)
            add(r, body, loop_copy_stm(&rows[k], old->stms.data[i]));
    }
    LoopStm *made = arena_copy(b->arena, stm, sizeof *stm);
    LoopRef times = loop_copy_of(&rows[0], stm->args[0]);
    made->args = arena_copy(b->arena, &times, sizeof times);
    loop_set_bodies(b, made, &body, 1);
    return made;
}

static bool is_number(const Rows *r, const LoopStm *stm) {
    return stm->out_count == 1 && (stm->outs[0] == r->row || stm->outs[0] == r->other);
}

// The statements of `count` rows, which the copiers know by number.
static void copy_rows(Rows *r, LoopBody *to, LoopCopier *rows, int count) {
    const LoopBody *body = r->loop->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool varies = stm->out_count > 0 && is_in(&r->varies, stm->outs[0]);
        if (is_number(r, stm)) continue;
        if (count > 1 && is_row_loop(stm)) {
            add(r, to, join_loops(r, rows, stm));
            continue;
        }
        for (int k = 0; k < count; k++) {
            if (k == 0 || varies) add(r, to, loop_copy_stm(&rows[k], stm));
            else
                for (uint32_t out = 0; out < stm->out_count; out++)
                    loop_copy_as(&rows[k], stm->outs[out],
                                 loop_copy_of(&rows[0], stm->outs[out]));
        }
    }
}

static LoopCopier copier_of(Rows *r, LoopRef row, LoopRef other) {
    LoopCopier copier = loop_copier(&r->w->b);
    loop_copy_as(&copier, r->row, row);
    if (r->other != 0) loop_copy_as(&copier, r->other, other);
    return copier;
}

static bool is_there(const Rows *r, const LoopCopier *copier, LoopRef ref) {
    return !loop_binds(r->loop->bodies[0], ref) || loop_copy_of(copier, ref) != ref;
}

static bool can_leave(const Rows *r, const LoopCopier *copier, const LoopStm *stm) {
    if (stm->op != LOOP_SCALAR || (core_op_info[stm->scalar].flags & OP_FAILS) != 0)
        return false;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (!is_there(r, copier, stm->args[i])) return false;
    return true;
}

// Whether all loops of a row are short, if that can be known before the row; else
// false.
static LoopRef are_short(Rows *r) {
    LoopBuilder *b = &r->w->b;
    const LoopBody *body = r->loop->bodies[0];
    LoopCopier copier = loop_copier(b);
    LoopRef c = loop_const(b, SCALAR_BOOL, 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (can_leave(r, &copier, stm)) loop_append(b, loop_copy_stm(&copier, stm));
        if (!is_row_loop(stm)) continue;
        if (!is_there(r, &copier, stm->args[0])) return loop_const(b, SCALAR_BOOL, 0);
        LoopRef times = loop_copy_of(&copier, stm->args[0]);
        c = loop_and(b, c, loop_le(b, times, loop_int(b, SHORT)));
    }
    return c;
}

// The new loop, not walked yet, with what it needs before it.
static LoopBody *make_blocks(Rows *r) {
    LoopBuilder *b = &r->w->b;
    LoopRef rows = loop_int(b, ROWS), one = loop_int(b, 1), other = 0;
    LoopCopier copiers[ROWS];
    LoopBody *arms[2];
    loop_open(b, NULL, 0);
    LoopRef full = loop_quot(b, r->count, rows);
    LoopRef blocks = loop_add(b, full, one), times = blocks;
    if (r->other != 0)
        times = loop_mul(b, loop_quot(b, r->loop->args[0], loop_max(b, r->count, one)),
                         blocks);
    LoopRef block = loop_open_turns(b);
    if (r->other != 0) {
        other = loop_quot(b, block, blocks);
        block = loop_rem(b, block, blocks);
    }
    LoopRef first = loop_mul(b, block, rows);
    LoopRef c = loop_lt(b, block, full);
    if (r->only_short) c = loop_and(b, c, are_short(r));
    arms[0] = loop_open(b, NULL, 0);
    for (int k = 0; k < ROWS; k++)
        copiers[k] = copier_of(r, loop_add(b, first, loop_int(b, k)), other);
    copy_rows(r, arms[0], copiers, ROWS);
    loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    LoopRef left = loop_min(b, loop_sub(b, r->count, first), rows);
    LoopRef k = loop_open_turns(b);
    copiers[0] = copier_of(r, loop_add(b, first, k), other);
    copy_rows(r, b->open.data[b->open.len - 1], copiers, 1);
    loop_close_turns(b, left, ORDER_INDEPENDENT);
    arms[1] = loop_close(b, NULL, 0);
    LoopStm *branch = loop_emit(b, LOOP_IF, &c, 1, NULL, 0);
    loop_set_bodies(b, branch, arms, 2);
    loop_close_turns(b, times, (LoopOrder)r->loop->order);
    return loop_close(b, NULL, 0);
}

// In loops alone.
static uint32_t count_loads(const LoopBody *body, bool is_loop) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        count += is_loop && stm->op == LOOP_LOAD;
        for (uint32_t k = 0; k < stm->body_count; k++)
            count += count_loads(stm->bodies[k], is_loop || stm->op == LOOP_FOR);
    }
    return count;
}

// The arm of the walked loop in which rows are joined; NULL: it is decided otherwise.
static const LoopBody *joined_arm(const LoopBody *made) {
    const LoopBody *body = made->stms.data[made->stms.len - 1]->bodies[0];
    const LoopStm *last = body->stms.data[body->stms.len - 1];
    return last->op == LOOP_IF ? last->bodies[0] : NULL;
}

// Whether so much of what four rows load is loaded once, in tenths. Where it is less
// than a fifth, it does not make up for what ten rows at once cost: if they are 4096
// bytes apart, they want more lines of the first cache than may lie there. Up to a
// third it does in short rows, of which the ends and what stands before them count;
// long ones are more streams at once than processors fetch ahead.
static bool shares(const Rows *r, const LoopBody *made, uint32_t tenths) {
    const LoopBody *arm = joined_arm(made);
    return arm != NULL &&
           10 * count_loads(arm, false) <=
               (10 - tenths) * ROWS * count_loads(r->loop->bodies[0], false);
}

static LoopBody *walk_blocks(Rows *r) {
    RangeWalk *w = r->w;
    LoopBody *raw = make_blocks(r);
    w->data = r;
    w->shares_loads = true;
    LoopBody *made = loop_open(&w->b, NULL, 0);
    for (uint32_t i = 0; i < raw->stms.len; i++) range_walk_stm(w, raw->stms.data[i]);
    loop_close(&w->b, NULL, 0);
    w->data = NULL;
    w->shares_loads = false;
    return made;
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    enum { SOME = 2, MUCH = 3 }; // tenths
    Rows r = {.w = w, .loop = loop};
    if (w->data != NULL) { // within what was made here
        range_keep(w, loop);
        return;
    }
    map_init(&r.varies, w->b.arena);
    map_init(&r.stored, w->b.arena);
    uint32_t size = (ROWS + 1) * loop_body_size(loop->bodies[0]);
    if (size > w->budget || !can_join(&r)) {
        range_keep(w, loop);
        return;
    }
    uint32_t known = w->r.facts.len;
    LoopBody *made = walk_blocks(&r);
    if (!shares(&r, made, MUCH) && shares(&r, made, SOME)) {
        range_forget(&w->r, known);
        r.only_short = true;
        made = walk_blocks(&r);
    }
    if (!shares(&r, made, SOME)) {
        range_forget(&w->r, known);
        range_keep(w, loop);
        return;
    }
    w->budget -= size;
    for (uint32_t i = 0; i < made->stms.len; i++) range_keep(w, made->stms.data[i]);
}

void loop_rows(LoopKernel *kernel) {
    enum { BUDGET = 1000 };
    if (!loop_kernel_has(kernel, is_of_rows, 0)) return;
    RangeWalk w = {.leave_loop = leave_loop, .budget = BUDGET};
    range_walk(&w, kernel);
}
