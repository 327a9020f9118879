// SPDX-License-Identifier: Apache-2.0
//
// Dimension lifting (docs/internals/lift.md): the rows and columns of a nest become
// levels, each as large as what it is for.
//
//   rows     a turn's strip · register blocks in it · rows of a block
//   columns  a round's panels · a turn's panels · a panel, which is a block's lanes
//
// What all rows use of a panel is packed first, turn by turn of the fold, and so is
// what all columns use of a strip where there are many columns. Each sum
// is made as before, in its order. The last block and the last panel reach back into
// the one before and store the same again, so that all are full. Small nests stay as
// they were.
#include "loop/lift.h"

#include "loop/machine.h"
#include "loop/passes.h"

LiftMachine lift_machine(uint32_t bytes) {
    return (LiftMachine){.registers = machine_registers(bytes),
                         .bytes = bytes,
                         .near = machine_near_bytes(bytes),
                         .packed = 4 << 20,
                         .least = 8,
                         .many = 256};
}

typedef struct Lift {
    const LiftMachine *machine;
    LiftNest *n;
    LoopBuilder *b;
    LoopRef high, wide; // of a register block
    LoopRef rows, columns, depth;
    LoopRef panels, size;                 // size: elements of a packed panel
    LoopRef strip;                        // register blocks in a turn
    LoopRef across;                       // panels in a turn, but the last of a strip
    LoopRefs packed_columns, packed_rows; // buffers
} Lift;

// ---- loops and memory ---------------------------------------------------------------

static LoopRef open_loop(LoopBuilder *b) {
    LoopRef index = loop_value(b, loop_scalar_type(SCALAR_I64), 0);
    loop_open(b, &index, 1);
    return index;
}

static void close_loop(LoopBuilder *b, LoopRef times, LoopOrder order) {
    LoopBody *body = loop_close(b, NULL, 0);
    LoopStm *stm = loop_emit(b, LOOP_FOR, &times, 1, NULL, 0);
    stm->order = (uint8_t)order;
    loop_set_bodies(b, stm, &body, 1);
}

static LoopRef ceil_quot(LoopBuilder *b, LoopRef x, LoopRef y) {
    return loop_quot(b, loop_sub(b, loop_add(b, x, y), loop_int(b, 1)), y);
}

static LoopRef mark_memory(LoopBuilder *b) {
    return loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
}

static void free_memory(LoopBuilder *b, LoopRef mark) {
    loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
}

static ScalarType elem_of(const Lift *l, LoopRef ref) {
    return (ScalarType)loop_type(l->b, ref).elem;
}

// Memory for so many elements of each value.
static LoopRefs alloc_for(Lift *l, const LoopRefs *values, LoopRef count) {
    LoopRefs buffers = {0};
    for (uint32_t i = 0; i < values->len; i++) {
        LoopType type = loop_buffer_type(elem_of(l, values->data[i]));
        vec_push(l->b->arena, &buffers, loop_emit1(l->b, LOOP_ALLOC, &count, 1, type));
    }
    return buffers;
}

// Where packed values lie: the block at `offset` has `width` for each turn of the fold.
static void store_packed(Lift *l, LoopRef buffer, LoopRef x, LoopRef offset,
                         LoopRef width, LoopRef turn, LoopRef at) {
    LoopRef one = loop_int(l->b, 1);
    LoopRef args[] = {buffer, x, offset, width, turn, one, at};
    loop_emit(l->b, LOOP_STORE, args, 7, NULL, 0);
}

static LoopRef load_packed(Lift *l, LoopRef buffer, LoopRef offset, LoopRef width,
                           LoopRef turn, LoopRef at) {
    LoopRef one = loop_int(l->b, 1);
    LoopRef args[] = {buffer, offset, width, turn, one, at};
    return loop_emit1(l->b, LOOP_LOAD, args, 6, loop_scalar_type(elem_of(l, buffer)));
}

// ---- copies of the nest's code ------------------------------------------------------

static LoopRef compute(Lift *l, LoopCopier *c, LoopRef ref);

static void compute_args(Lift *l, LoopCopier *c, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->arg_count; i++) compute(l, c, stm->args[i]);
    for (uint32_t k = 0; k < stm->body_count; k++) {
        const LoopBody *body = stm->bodies[k];
        for (uint32_t i = 0; i < body->stms.len; i++)
            compute_args(l, c, body->stms.data[i]);
        for (uint32_t i = 0; i < body->result_count; i++)
            compute(l, c, body->results[i]);
    }
}

// The value, computed here from what the copier knows.
static LoopRef compute(Lift *l, LoopCopier *c, LoopRef ref) {
    LoopRef copy = loop_copy_of(c, ref);
    if (ref >= l->n->known || copy != ref) return copy;
    const LoopStm *def = l->n->defs[ref];
    if (l->n->same[ref] != 0) {
        loop_copy_as(c, ref, compute(l, c, l->n->same[ref]));
    } else if (def != NULL) {
        compute_args(l, c, def);
        loop_append(l->b, loop_copy_stm(c, def));
    }
    return loop_copy_of(c, ref);
}

static LoopRef compute_early(Lift *l, LoopRef ref) {
    LoopCopier c = loop_copier(l->b);
    return compute(l, &c, ref);
}

// A register block: copies for each of its rows.
typedef struct Block {
    Lift *l;
    LoopCopier rows[LIFT_MOST_ROWS];
    uint32_t high;
} Block;

static void set_all(Block *k, LoopRef old, LoopRef new) {
    for (uint32_t r = 0; r < k->high; r++) loop_copy_as(&k->rows[r], old, new);
}

// A branch that goes one way gives what there is.
static void choose(Block *k, const LoopStm *branch) {
    for (uint32_t i = 0; i < branch->out_count; i++)
        for (uint32_t r = 0; r < k->high; r++)
            loop_copy_as(&k->rows[r], branch->outs[i],
                         loop_copy_of(&k->rows[r], k->l->n->same[branch->outs[i]]));
}

// A statement for all rows: once, if it is the same for them.
static void jam(Block *k, const LoopStm *stm) {
    LoopBuilder *b = k->l->b;
    const uint8_t *depends = k->l->n->depends;
    if (stm->op == LOOP_IF && stm->out_count > 0 && k->l->n->same[stm->outs[0]] != 0) {
        choose(k, stm);
        return;
    }
    bool is_same = stm->out_count > 0 && (depends[stm->outs[0]] & LIFT_ROW) == 0;
    for (uint32_t r = 0; r < (is_same ? 1 : k->high); r++)
        loop_append(b, loop_copy_stm(&k->rows[r], stm));
    for (uint32_t i = 0; i < stm->out_count && is_same; i++)
        set_all(k, stm->outs[i], loop_copy_of(&k->rows[0], stm->outs[i]));
}

// ---- packing ------------------------------------------------------------------------

// The first column of a panel.
static LoopRef first_column(Lift *l, LoopRef panel) {
    LoopBuilder *b = l->b;
    LoopRef last = loop_sub(b, l->columns, l->wide);
    return loop_min(b, loop_mul(b, panel, l->wide), last);
}

static LoopRef nth_row(Lift *l, LoopRef first, uint32_t r) {
    LoopBuilder *b = l->b;
    LoopRef last = loop_sub(b, l->rows, loop_int(b, 1));
    return loop_min(b, loop_add(b, first, loop_int(b, r)), last);
}

// Panels from `first` on, so many.
static void pack_columns(Lift *l, LoopRef first, LoopRef count) {
    LoopBuilder *b = l->b;
    const LoopRefs *values = &l->n->columns_packed;
    l->packed_columns = alloc_for(l, values, loop_mul(b, count, l->size));
    LoopRef panel = open_loop(b);
    LoopRef from = first_column(l, loop_add(b, first, panel));
    LoopRef offset = loop_mul(b, panel, l->size);
    LoopRef turn = open_loop(b), lane = open_loop(b);
    LoopCopier c = loop_copier(b);
    loop_copy_as(&c, l->n->column, loop_add(b, from, lane));
    loop_copy_as(&c, l->n->turn, turn);
    for (uint32_t i = 0; i < values->len; i++)
        store_packed(l, l->packed_columns.data[i], compute(l, &c, values->data[i]),
                     offset, l->wide, turn, lane);
    close_loop(b, l->wide, ORDER_INDEPENDENT);
    close_loop(b, l->depth, ORDER_SEQUENTIAL);
    close_loop(b, count, (LoopOrder)l->n->rows->order);
}

// Of the register blocks from the row `first` on, so many.
static void pack_rows(Lift *l, LoopRef first, LoopRef blocks) {
    LoopBuilder *b = l->b;
    const LoopRefs *values = &l->n->rows_packed;
    LoopRef size = loop_mul(b, l->depth, l->high);
    l->packed_rows = alloc_for(l, values, loop_mul(b, blocks, size));
    LoopRef block = open_loop(b);
    LoopRef from = loop_add(b, first, loop_mul(b, block, l->high));
    LoopRef offset = loop_mul(b, block, size), turn = open_loop(b);
    for (uint32_t r = 0; r < l->n->high; r++) {
        LoopCopier c = loop_copier(b);
        loop_copy_as(&c, l->n->row, nth_row(l, from, r));
        loop_copy_as(&c, l->n->turn, turn);
        for (uint32_t i = 0; i < values->len; i++)
            store_packed(l, l->packed_rows.data[i], compute(l, &c, values->data[i]),
                         offset, l->high, turn, loop_int(b, r));
    }
    close_loop(b, l->depth, ORDER_SEQUENTIAL);
    close_loop(b, blocks, ORDER_SEQUENTIAL);
}

// ---- a register block ---------------------------------------------------------------

// Where the block's packed operands are.
typedef struct Tile {
    LoopRef panel, block; // offsets
    LoopRef lane;
} Tile;

static void use_packed(Block *k, const Tile *p, LoopRef turn) {
    Lift *l = k->l;
    const LiftNest *n = l->n;
    for (uint32_t i = 0; i < n->columns_packed.len; i++)
        set_all(k, n->columns_packed.data[i],
                load_packed(l, l->packed_columns.data[i], p->panel, l->wide, turn,
                            p->lane));
    for (uint32_t i = 0; i < n->rows_packed.len; i++)
        for (uint32_t r = 0; r < k->high; r++)
            loop_copy_as(&k->rows[r], n->rows_packed.data[i],
                         load_packed(l, l->packed_rows.data[i], p->block, l->high, turn,
                                     loop_int(l->b, r)));
}

static bool is_packed(const LiftNest *n, LoopRef ref) {
    for (uint32_t i = 0; i < n->columns_packed.len; i++)
        if (n->columns_packed.data[i] == ref) return true;
    for (uint32_t i = 0; i < n->rows_packed.len; i++)
        if (n->rows_packed.data[i] == ref) return true;
    return false;
}

// The fold of all rows of the block in one loop.
static void fold_block(Block *k, const Tile *p) {
    Lift *l = k->l;
    LoopBuilder *b = l->b;
    const LoopStm *fold = l->n->depth;
    const LoopBody *body = fold->bodies[0];
    uint32_t sums = fold->out_count, count = k->high * sums;
    LoopRef *params = arena_array(b->arena, LoopRef, 1 + count);
    LoopRef *args = arena_array(b->arena, LoopRef, 1 + count);
    LoopType *types = arena_array(b->arena, LoopType, count);
    params[0] = loop_value(b, loop_type(b, l->n->turn), 0);
    args[0] = l->depth;
    for (uint32_t i = 0; i < count; i++) {
        LoopRef old = fold->outs[i % sums];
        LoopCopier *row = &k->rows[i / sums];
        types[i] = loop_type(b, old);
        args[1 + i] = loop_copy_of(row, fold->args[1 + i % sums]);
        params[1 + i] = loop_value(b, types[i], 0);
        loop_copy_as(row, body->params[1 + i % sums], params[1 + i]);
    }
    set_all(k, l->n->turn, params[0]);
    loop_open(b, params, 1 + count);
    use_packed(k, p, params[0]);
    for (uint32_t i = 0; i < l->n->inside.len; i++)
        if (!is_packed(l->n, l->n->inside.data[i]->outs[0]))
            jam(k, l->n->inside.data[i]);
    for (uint32_t i = 0; i < count; i++)
        params[i] = loop_copy_of(&k->rows[i / sums], body->results[i % sums]);
    LoopBody *made = loop_close(b, params, count);
    LoopStm *stm = loop_emit(b, LOOP_FOR, args, 1 + count, types, count);
    loop_set_bodies(b, stm, &made, 1);
    for (uint32_t i = 0; i < count; i++)
        loop_copy_as(&k->rows[i / sums], fold->outs[i % sums], stm->outs[i]);
}

// Rows from `row` on, of the panel that begins with `column`.
static void do_block(Lift *l, LoopRef row, LoopRef column, Tile *p) {
    LoopBuilder *b = l->b;
    const LiftNest *n = l->n;
    Block k = {.l = l, .high = n->high};
    for (uint32_t r = 0; r < k.high; r++) {
        k.rows[r] = loop_copier(b);
        loop_copy_as(&k.rows[r], n->row, nth_row(l, row, r));
    }
    for (uint32_t i = 0; i < n->outer.len; i++) jam(&k, n->outer.data[i]);
    p->lane = open_loop(b);
    set_all(&k, n->column, loop_add(b, column, p->lane));
    for (uint32_t i = 0; i < n->before.len; i++) jam(&k, n->before.data[i]);
    fold_block(&k, p);
    for (uint32_t i = 0; i < n->after.len; i++) jam(&k, n->after.data[i]);
    close_loop(b, l->wide, ORDER_INDEPENDENT);
}

// ---- levels -------------------------------------------------------------------------

// A turn: a strip of rows of some panels, of `count` that are packed from `first` on.
// The last turn of a strip has what is left, so that no panel reaches back into another
// turn.
static void do_turn(Lift *l, LoopRef strip, LoopRef from, LoopRef first,
                    LoopRef count) {
    LoopBuilder *b = l->b;
    LoopRef row = loop_mul(b, strip, loop_mul(b, l->strip, l->high));
    LoopRef left = ceil_quot(b, loop_sub(b, l->rows, row), l->high);
    LoopRef blocks = loop_min(b, l->strip, left);
    bool packs = l->n->rows_packed.len > 0;
    LoopRef mark = packs ? mark_memory(b) : 0;
    if (packs) pack_rows(l, row, blocks);
    LoopRef rest = loop_sub(b, count, from), most = l->across;
    LoopRef is_last = loop_lt(b, rest, loop_mul(b, most, loop_int(b, 2)));
    LoopRef panels = loop_select(b, is_last, rest, most);
    LoopRef at = open_loop(b);
    LoopRef panel = loop_add(b, from, at);
    LoopRef column = first_column(l, loop_add(b, first, panel));
    LoopRef block = open_loop(b);
    LoopRef height = loop_mul(b, block, l->high);
    Tile place = {.panel = loop_mul(b, panel, l->size),
                  .block = loop_mul(b, height, l->depth)};
    do_block(l, loop_add(b, row, height), column, &place);
    close_loop(b, blocks, ORDER_SEQUENTIAL);
    close_loop(b, panels, ORDER_SEQUENTIAL);
    if (packs) free_memory(b, mark);
}

// Whether nobody else takes turns.
static LoopRef is_alone(const Lift *l) {
    LoopBuilder *b = l->b;
    if (l->n->rows->order != ORDER_PARALLEL) return loop_const(b, SCALAR_BOOL, 1);
    return loop_eq(b, loop_threads(b), loop_int(b, 1));
}

// How many turns there should be. Each goes over all panels of a round: if these are
// far, few turns, each of many rows, are better than even ones.
static LoopRef choose_turns(Lift *l, LoopRef group) {
    LoopBuilder *b = l->b;
    const LiftNest *n = l->n;
    if (n->rows->order != ORDER_PARALLEL) return loop_int(b, 1);
    LoopRef bytes = loop_int(b, n->bytes * n->columns_packed.len);
    LoopRef round = loop_mul(b, loop_mul(b, group, l->size), bytes);
    LoopRef are_far = loop_lt(b, loop_int(b, l->machine->near), round);
    LoopRef each = loop_mul(b, loop_threads(b), loop_int(b, LIFT_SHARE));
    LoopRef even = loop_int(b, LIFT_SPREAD), few = loop_min(b, each, even);
    LoopRef shared = loop_select(b, are_far, few, even);
    return loop_select(b, is_alone(l), loop_int(b, 1), shared);
}

// As many register blocks as fit in the near cache and leave so many turns.
static LoopRef choose_strip(Lift *l, LoopRef turns) {
    LoopBuilder *b = l->b;
    uint32_t high = l->n->high;
    LoopRef bytes = loop_mul(b, l->depth, loop_int(b, high * l->n->bytes));
    LoopRef spread = loop_quot(b, l->rows, loop_mul(b, turns, loop_int(b, high)));
    LoopRef fitting = loop_quot(b, loop_int(b, l->machine->near), bytes);
    LoopRef most = loop_min(b, fitting, loop_int(b, LIFT_MOST_STRIP));
    return loop_max(b, loop_min(b, spread, most), loop_int(b, 1));
}

// How many of `count` panels a turn has. Each turn packs its strip, so with packed rows
// it has all of them if nobody else takes turns, and else as many as leave enough.
static LoopRef choose_across(Lift *l, LoopRef down, LoopRef count) {
    LoopBuilder *b = l->b;
    LoopRef least = loop_int(b, LIFT_PANELS);
    if (l->n->rows_packed.len == 0) return least;
    LoopRef shared = loop_quot(b, loop_mul(b, count, down), loop_int(b, LIFT_TURNS));
    return loop_max(b, loop_select(b, is_alone(l), count, shared), least);
}

// A round: packs so many panels and uses them for all rows.
static void do_round(Lift *l, LoopRef first, LoopRef count) {
    LoopBuilder *b = l->b;
    LoopRef mark = mark_memory(b);
    pack_columns(l, first, count);
    LoopRef down = ceil_quot(b, l->rows, loop_mul(b, l->strip, l->high));
    LoopRef wide = l->across = choose_across(l, down, count);
    LoopRef across = loop_max(b, loop_quot(b, count, wide), loop_int(b, 1));
    LoopRef turns = loop_mul(b, down, across);
    LoopRef turn = open_loop(b);
    LoopRef strip = loop_quot(b, turn, across);
    LoopRef from = loop_mul(b, loop_sub(b, turn, loop_mul(b, strip, across)), wide);
    do_turn(l, strip, from, first, count);
    close_loop(b, turns, (LoopOrder)l->n->rows->order);
    free_memory(b, mark);
}

static void do_nest(Lift *l) {
    LoopBuilder *b = l->b;
    uint32_t bytes = l->n->bytes * l->n->columns_packed.len;
    LoopRef one = loop_int(b, 1), most = loop_int(b, l->machine->packed / bytes);
    l->panels = ceil_quot(b, l->columns, l->wide);
    l->size = loop_mul(b, l->depth, l->wide);
    LoopRef fitting = loop_max(b, loop_quot(b, most, l->size), one);
    LoopRef group = loop_min(b, fitting, l->panels);
    l->strip = choose_strip(l, choose_turns(l, group));
    LoopRef rounds = ceil_quot(b, l->panels, group);
    LoopRef round = open_loop(b);
    LoopRef first = loop_mul(b, round, group);
    do_round(l, first, loop_min(b, group, loop_sub(b, l->panels, first)));
    close_loop(b, rounds, ORDER_SEQUENTIAL);
}

// ---- the pass -----------------------------------------------------------------------

// Whether the nest is reached, and large enough that packing pays; a fold is not so
// long that one panel is more than may be packed.
static LoopRef is_worth_it(Lift *l) {
    LoopBuilder *b = l->b;
    const LiftNest *n = l->n;
    LoopRef least = loop_int(b, l->machine->least);
    LoopRef most = loop_int(b, l->machine->packed / (n->wide * n->bytes));
    LoopRef c = loop_le(b, loop_int(b, 2 * n->high), l->rows);
    c = loop_and(b, c, loop_le(b, l->wide, l->columns));
    c = loop_and(b, c, loop_le(b, least, l->depth));
    c = loop_and(b, c, loop_le(b, l->depth, most));
    for (uint32_t i = 0; i < n->conditions.len; i++) {
        LoopRef holds = compute_early(l, n->conditions.data[i]);
        c = loop_and(b, c, (n->arms >> i & 1) != 0 ? loop_not(b, holds) : holds);
    }
    return c;
}

// Emits `then` where the condition holds, else `otherwise`.
static void emit_either(Lift *l, LoopRef c, void (*then)(Lift *),
                        void (*otherwise)(Lift *)) {
    LoopBuilder *b = l->b;
    uint64_t bits;
    if (loop_is_known(b, c, &bits)) {
        (bits != 0 ? then : otherwise)(l);
        return;
    }
    LoopBody *arms[2];
    loop_open(b, NULL, 0);
    then(l);
    arms[0] = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    otherwise(l);
    arms[1] = loop_close(b, NULL, 0);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &c, 1, NULL, 0), arms, 2);
}

static void do_unpacked(Lift *l) {
    uint32_t count = l->n->rows_packed.len;
    l->n->rows_packed.len = 0;
    do_nest(l);
    l->n->rows_packed.len = count;
}

// Packing costs the more the fewer columns use it. Where rows follow each other it is
// for the caches: rows whose distance is a power of two want the same few lines.
static void do_levels(Lift *l) {
    LoopRef is_many = loop_le(l->b, loop_int(l->b, l->machine->many), l->columns);
    if (l->n->is_far || l->n->rows_packed.len == 0) do_nest(l);
    else emit_either(l, is_many, do_nest, do_unpacked);
}

static void keep_nest(Lift *l) {
    loop_append(l->b, l->n->rows);
}

// Emits the nest as levels where it is worth it, else as it was.
static void lift(Lift *l) {
    LoopBuilder *b = l->b;
    LiftNest *n = l->n;
    b->loc = n->rows->loc;
    l->high = loop_int(b, n->high);
    l->wide = loop_int(b, n->wide);
    l->rows = n->rows->args[0];
    l->columns = compute_early(l, n->columns->args[0]);
    l->depth = compute_early(l, n->depth->args[0]);
    emit_either(l, is_worth_it(l), do_levels, keep_nest);
}

static void lift_body(LoopBuilder *b, const LiftMachine *machine, LoopBody *body) {
    LoopBody old = *body;
    LiftNest nest;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    loop_reopen(b, body);
    for (uint32_t i = 0; i < old.stms.len; i++) {
        LoopStm *stm = old.stms.data[i];
        if (lift_find(b->kernel, machine, stm, &nest)) {
            Lift l = {.machine = machine, .n = &nest, .b = b};
            lift(&l);
            continue;
        }
        for (uint32_t k = 0; k < stm->body_count && !loop_has_lanes(stm); k++)
            lift_body(b, machine, stm->bodies[k]);
        loop_append(b, stm);
    }
    b->open.len--;
}

void lift_run(LoopKernel *kernel, const LiftMachine *machine) {
    LoopBuilder b = loop_builder(kernel);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        lift_body(&b, machine, kernel->funs.data[i].body);
    lift_body(&b, machine, kernel->root);
    loop_tidy_news(&b);
}

void loop_lift(LoopKernel *kernel) {
    LiftMachine machine = lift_machine(machine_vector_bytes());
    if (machine.bytes > 0) lift_run(kernel, &machine);
}
