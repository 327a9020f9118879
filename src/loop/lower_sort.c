// SPDX-License-Identifier: Apache-2.0
//
// Sorting. Few elements are inserted one by one. Otherwise a radix sort by digits from
// the lowest: each pass counts digits and moves all elements (lower_sort_pass.c), which
// keeps the sort stable. Only bits in which keys differ are looked at.
//
// A key is an unsigned number of the element's width in the order of the elements.
// Memory: the result, a second buffer of its size, and the counts.
#include "loop/lower_sort.h"

enum {
    FEW = 32,       // elements, to be inserted
    PART = 1 << 15, // elements of a part at least, so that counts are few beside them
    GPU_PART = 1 << 14, // likewise on GPUs, which want more parts
    MOST_PARTS = 256,
    DIGIT =
        8, // bits: there is a line of the first cache for each place that is written
    GPU_DIGIT = 11
};

// An IF with results, which it returns.
static const LoopRef *emit_if(LoopBuilder *b, LoopRef c, LoopBody *const *bodies,
                              const LoopType *types, uint32_t count) {
    LoopStm *stm = loop_emit(b, LOOP_IF, &c, 1, types, count);
    loop_set_bodies(b, stm, bodies, 2);
    return stm->outs;
}

LoopRef sort_if(LoopBuilder *b, LoopRef c, LoopBody *const *bodies, ScalarType elem) {
    LoopType type = loop_scalar_type(elem);
    return emit_if(b, c, bodies, &type, 1)[0];
}

// ---- one by one ---------------------------------------------------------------------

// Whether the element before place j is greater than the key, if there is one.
static LoopRef is_out_of_place(const Sort *s, const Array *to, LoopRef j, LoopRef key) {
    LoopBuilder *b = s->l->b;
    LoopRef c = loop_lt(b, loop_int(b, 0), j), no = loop_const(b, SCALAR_BOOL, 0);
    LoopBody *bodies[2];
    loop_open(b, NULL, 0);
    LoopRef before = sort_load_key(s, to, loop_sub(b, j, loop_int(b, 1)));
    LoopRef is_greater = loop_lt(b, key, before);
    bodies[0] = loop_close(b, &is_greater, 1);
    loop_open(b, NULL, 0);
    bodies[1] = loop_close(b, &no, 1);
    return sort_if(b, c, bodies, SCALAR_BOOL);
}

// The place of a key from i down, behind all that are not greater. What is greater
// moves up.
static LoopRef make_room(const Sort *s, const SortColumn *columns, LoopRef i,
                         LoopRef key) {
    Lower *l = s->l;
    Carry c;
    Val guard;
    LoopRef j = sort_open_fold(s, &c, i, 0);
    loop_open_guard(l, &c, &guard);
    LoopRef more = is_out_of_place(s, columns[SORT_KEYS].to, guard.scalar, key);
    c.guard = loop_close(l->b, &more, 1);
    LoopRef before = loop_sub(l->b, j, loop_int(l->b, 1));
    for (uint32_t k = 0; k < s->columns; k++)
        loop_store(l, columns[k].to, &j, loop_load(l, columns[k].to, &before));
    return sort_close_fold(s, &c, before);
}

// Puts element i, if c holds, where its key belongs, and returns that place.
static LoopRef insert(const Sort *s, const SortColumn *columns, LoopRef i, LoopRef x,
                      LoopRef key, LoopRef c) {
    Lower *l = s->l;
    const SortColumn *places = &columns[SORT_PLACES];
    LoopRef place = i;
    if (s->columns > 1 && places->from != NULL) place = loop_load(l, places->from, &i);
    LoopBody *bodies[2];
    loop_open(l->b, NULL, 0);
    LoopRef room = make_room(s, columns, i, key);
    bodies[0] = loop_close(l->b, &room, 1);
    loop_open(l->b, NULL, 0);
    bodies[1] = loop_close(l->b, &i, 1);
    LoopRef j = sort_if(l->b, c, bodies, SCALAR_I64);
    loop_store(l, columns[SORT_KEYS].to, &j, x);
    if (s->columns > 1) loop_store(l, places->to, &j, place);
    return j;
}

// The key of the last element in front of the range, or the least one there is.
static LoopRef key_before(const Sort *s, const Array *a, LoopRef first) {
    LoopBuilder *b = s->l->b;
    uint64_t is_known;
    if (loop_is_known(b, first, &is_known)) return loop_const(b, s->word, 0);
    return sort_load_key(s, a, loop_sub(b, first, loop_int(b, 1)));
}

LoopRef sort_insert(const Sort *s, const SortColumn *columns, const SortRange *range,
                    LoopRef most) {
    enum { GREATEST, MOVES, COUNT };
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    const Array *from = columns[SORT_KEYS].from;
    Val init[COUNT] = {val_scalar(key_before(s, columns[SORT_KEYS].to, range->first)),
                       val_scalar(range->moves)};
    Val next[COUNT], last[COUNT];
    Carry c;
    loop_open_carry(l, &c, init, NULL, COUNT, range->count);
    LoopRef greatest = c.state[GREATEST].scalar, moves = c.state[MOVES].scalar;
    LoopRef i = loop_add(b, range->first, c.index), x = loop_load(l, from, &i);
    LoopRef key = sort_key(s, (ScalarType)from->elem, x, s->has_moved);
    LoopRef may_move = loop_le(b, moves, most);
    LoopRef is_less = loop_and(b, loop_lt(b, key, greatest), may_move);
    LoopRef j = insert(s, columns, i, x, key, is_less);
    next[GREATEST] = val_scalar(sort_word2(s, OP_MAX, greatest, key));
    next[MOVES] = val_scalar(loop_add(b, moves, loop_sub(b, i, j)));
    loop_close_carry(l, &c, next, NULL, last);
    return last[MOVES].scalar;
}

static void insert_few(const Sort *s, Array *from, Array *const *to) {
    LoopBuilder *b = s->l->b;
    SortColumn columns[SORT_MOST_COLUMNS] = {{from, to[SORT_KEYS]}};
    if (s->columns > 1) columns[SORT_PLACES] = (SortColumn){NULL, to[SORT_PLACES]};
    SortRange all = {loop_int(b, 0), s->n, loop_int(b, 0)};
    sort_insert(s, columns, &all, loop_int(b, FEW * FEW));
}

// ---- all passes ---------------------------------------------------------------------

// Inside a WHILE: goes on while there are bits left.
static void guard_digits(const Sort *s, Carry *c, uint32_t count) {
    Val *state = arena_array(s->l->arena, Val, count);
    loop_open_guard(s->l, c, state);
    LoopRef more = loop_lt(s->l->b, loop_const(s->l->b, s->word, 0), state[0].scalar);
    c->guard = loop_close(s->l->b, &more, 1);
}

LoopRef sort_count_digits(const Sort *s, LoopRef bits) {
    Lower *l = s->l;
    Carry c;
    Val init[2] = {val_scalar(bits), val_scalar(loop_int(l->b, 0))};
    Val next[2], last[2];
    loop_open_carry(l, &c, init, NULL, 2, 0);
    guard_digits(s, &c, 2);
    next[0] = val_scalar(sort_higher_digits(s, c.state[0].scalar));
    next[1] = val_scalar(loop_add(l->b, c.state[1].scalar, loop_int(l->b, 1)));
    loop_close_carry(l, &c, next, NULL, last);
    return last[1].scalar;
}

// Whether these bits are an odd number of digits.
static LoopRef is_odd(const Sort *s, LoopRef bits) {
    LoopRef two = loop_int(s->l->b, 2), one = loop_int(s->l->b, 1);
    return loop_eq(s->l->b, loop_rem(s->l->b, sort_count_digits(s, bits), two), one);
}

// x if c, else y: arrays of one type and shape.
static Array *choose(Lower *l, LoopRef c, const Array *x, const Array *y) {
    LoopBody *bodies[2];
    ScalarType elem = (ScalarType)x->elem;
    loop_open(l->b, NULL, 0);
    bodies[0] = loop_close(l->b, (LoopRef[]){x->buf, x->off}, 2);
    loop_open(l->b, NULL, 0);
    bodies[1] = loop_close(l->b, (LoopRef[]){y->buf, y->off}, 2);
    LoopType types[2] = {loop_buffer_type(elem), loop_scalar_type(SCALAR_I64)};
    const LoopRef *chosen = emit_if(l->b, c, bodies, types, 2);
    return loop_dense(l, elem, chosen[0], chosen[1], 1, x->shape);
}

// The state of the passes: bits to go, how many passes there have been, and per column
// where elements are, and where they go.
enum { BITS, PASS, BUFFERS };
enum { FROM, TO, BUFFER_COUNT };

// A buffer of the next turn, of n elements like all of them, which then are no state.
static Val next_buffer(const Sort *s, const Val *buffer) {
    const Array *a = buffer->array;
    return val_array(loop_dense(s->l, (ScalarType)a->elem, a->buf, a->off, 1, &s->n));
}

// All passes but the first: from one buffer of each column to the other one and back.
static void repeat_passes(const Sort *s, const Val *init) {
    enum { MOST = BUFFERS + BUFFER_COUNT * SORT_MOST_COLUMNS };
    Lower *l = s->l;
    uint32_t count = BUFFERS + BUFFER_COUNT * s->columns;
    Val next[MOST], last[MOST];
    bool is_ours[MOST] = {false};
    SortColumn columns[SORT_MOST_COLUMNS];
    Carry c;
    loop_open_carry(l, &c, init, NULL, count, 0);
    guard_digits(s, &c, count);
    for (uint32_t k = 0; k < s->columns; k++) {
        const Val *now = c.state + BUFFERS + BUFFER_COUNT * k;
        Val *then = next + BUFFERS + BUFFER_COUNT * k;
        columns[k] = (SortColumn){now[FROM].array, now[TO].array};
        then[FROM] = next_buffer(s, &now[TO]);
        then[TO] = next_buffer(s, &now[FROM]);
    }
    Sort pass = *s;
    pass.pass = c.state[PASS].scalar;
    sort_pass(&pass, columns, sort_lowest_digit(s, c.state[BITS].scalar), false);
    next[BITS] = val_scalar(sort_higher_digits(s, c.state[BITS].scalar));
    next[PASS] = val_scalar(loop_add(l->b, pass.pass, loop_int(l->b, 1)));
    for (uint32_t i = BUFFERS; i < count; i++) is_ours[i] = true;
    loop_close_carry(l, &c, next, is_ours, last);
}

// The buffers of a column into which the first pass and the second one go, such that
// the last one ends in `to`; or, if that holds the elements, an even number of passes.
static void set_buffers(Lower *l, bool holds_elements, Array *to, Array *spare,
                        LoopRef is_odd_number, Val *buffers_out) {
    Array *first = holds_elements ? spare : choose(l, is_odd_number, to, spare);
    Array *second = holds_elements ? to : choose(l, is_odd_number, spare, to);
    buffers_out[FROM] = val_array(first);
    buffers_out[TO] = val_array(second);
}

LoopRef sort_by_bits(const Sort *s, LoopRef bits, Array *const *from,
                     Array *const *others) {
    Val *state = arena_array(s->l->arena, Val, BUFFERS + BUFFER_COUNT * s->columns);
    state[BITS] = val_scalar(bits);
    state[PASS] = val_scalar(loop_int(s->l->b, 0));
    for (uint32_t k = 0; k < s->columns; k++) {
        Val *buffers = state + BUFFERS + BUFFER_COUNT * k;
        buffers[FROM] = val_array(from[k]);
        buffers[TO] = val_array(others[k]);
    }
    repeat_passes(s, state);
    return is_odd(s, bits);
}

// From the one array to the others, of which the first may be the same. If all keys are
// the same, any one bit makes a pass.
static void sort_by_digits(const Sort *s, Array *from, Array *const *to,
                           Array *const *spares, LoopRef bits) {
    Lower *l = s->l;
    bits = sort_word2(s, OP_MAX, bits, loop_const(l->b, s->word, 1));
    LoopRef odd = is_odd(s, bits);
    Val *state = arena_array(l->arena, Val, BUFFERS + BUFFER_COUNT * s->columns);
    SortColumn columns[SORT_MOST_COLUMNS];
    for (uint32_t k = 0; k < s->columns; k++) {
        Val *buffers = state + BUFFERS + BUFFER_COUNT * k;
        set_buffers(l, k == SORT_KEYS && from == to[k], to[k], spares[k], odd, buffers);
        columns[k] = (SortColumn){k == SORT_KEYS ? from : NULL, buffers[FROM].array};
    }
    sort_pass(s, columns, sort_lowest_digit(s, bits), true);
    state[BITS] = val_scalar(sort_higher_digits(s, bits));
    state[PASS] = val_scalar(loop_int(l->b, 1));
    repeat_passes(s, state);
    if (from != to[SORT_KEYS]) return;
    When when = loop_open_if(l, odd);
    loop_copy(l, to[SORT_KEYS], spares[SORT_KEYS]);
    loop_close_if(l, when);
}

// From the one array to the others, of which the first may be the same.
static void sort_many(const Sort *s, Array *from, Array *const *to) {
    Lower *l = s->l;
    Array *spares[SORT_MOST_COLUMNS];
    for (uint32_t k = 0; k < s->columns; k++) {
        ScalarType elem = (ScalarType)to[k]->elem;
        LoopRef buf = loop_alloc(l, elem, s->n);
        spares[k] = loop_dense(l, elem, buf, loop_int(l->b, 0), 1, &s->n);
    }
    LoopRef bits = sort_find_differences(s, from);
    LoopRef is_done = sort_by_buckets(s, from, to, spares, bits);
    When when = loop_open_if(l, loop_not(l->b, is_done));
    sort_by_digits(s, from, to, spares, bits);
    loop_close_if(l, when);
}

// ---- the whole ----------------------------------------------------------------------

// n elements are enough that the last part is not empty: GPU_PART >= MOST_PARTS.
static void cut_in_parts(Sort *s) {
    LoopBuilder *b = s->l->b;
    s->order = s->l->is_parallel ? ORDER_PARALLEL : ORDER_SEQUENTIAL;
    s->parts = loop_int(b, 1);
    s->each = s->n;
    if (s->order != ORDER_PARALLEL) return;
    LoopRef one = s->parts, most = loop_int(b, MOST_PARTS);
    LoopRef part = loop_int(b, s->l->is_for_gpus ? GPU_PART : PART);
    LoopRef parts = loop_quot(b, s->n, part);
    s->parts = loop_min(b, loop_max(b, parts, one), most);
    LoopRef above = loop_add(b, s->n, loop_sub(b, s->parts, one));
    s->each = loop_quot(b, above, s->parts);
}

static void open_sort(Sort *s) {
    LoopBuilder *b = s->l->b;
    cut_in_parts(s);
    unsigned digit = s->l->is_for_gpus && s->width > GPU_DIGIT ? GPU_DIGIT : DIGIT;
    s->digits = loop_int(b, 1 << digit);
    s->mask = loop_const(b, s->word, (1u << digit) - 1);
    sort_make_counts(s);
}

// From the one array to the others, of which the first may be the same.
static void sort_by_keys(Sort *s, Array *from, Array *const *to) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef mark = loop_mark(l), few = loop_le(b, s->n, loop_int(b, FEW));
    uint32_t allocs = l->allocs;
    When when = loop_open_if(l, few);
    insert_few(s, from, to);
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(b, few));
    open_sort(s);
    sort_many(s, loop_make_dense(l, from), to);
    loop_close_if(l, when);
    loop_keep(l, mark, allocs, NULL, 0);
}

void loop_sort(Lower *l, const CoreStm *stm) {
    static const ScalarType words[] = {
        [1] = SCALAR_U8, [2] = SCALAR_U16, [4] = SCALAR_U32, [8] = SCALAR_U64};
    Array *from = loop_arg_array(l, stm, 0);
    ScalarType elem = (ScalarType)from->elem;
    Sort s = {.l = l, .word = words[scalar_info[elem].bytes], .n = from->shape[0]};
    s.width = 8u * scalar_info[elem].bytes;
    s.columns = stm->out_count;
    Array *to[SORT_MOST_COLUMNS];
    // In place it takes one buffer less, for which a caller's array is not worth
    // copying.
    if (loop_is_ours(l, stm, 0) && from->is_dense && !loop_block_of(l, from)->is_lent) {
        loop_take(l, from);
        to[SORT_KEYS] = from;
    } else {
        to[SORT_KEYS] =
            loop_fresh(l, elem, 1, &s.n, loop_name(l, stm->outs[SORT_KEYS])->place);
    }
    for (uint32_t k = SORT_PLACES; k < s.columns; k++)
        to[k] = loop_fresh(l, SCALAR_I64, 1, &s.n, loop_name(l, stm->outs[k])->place);
    if (!sort_by_network(&s, from, to[SORT_KEYS])) sort_by_keys(&s, from, to);
    for (uint32_t k = 0; k < s.columns; k++)
        loop_bind(l, stm->outs[k], val_array(to[k]));
}
