// SPDX-License-Identifier: Apache-2.0
//
// Sorting. Few elements are inserted one by one. Otherwise a radix sort by digits from
// the lowest: parts of the elements count their digits, sums over the counts say where
// the elements of each part and digit go, and each part puts its elements there in
// order, which keeps the sort stable. Only bits in which keys differ are looked at.
//
// A key is an unsigned number of the element's width in the order of the elements.
// Memory: the result, a second buffer of its size, and the counts.
#include "loop/lower.h"

enum {
    FEW = 32,       // elements, to be inserted
    PART = 1 << 15, // elements of a part at least, so that counts are few beside them
    GPU_PART = 1 << 14, // likewise on GPUs, which want more parts
    MOST_PARTS = 256,
    DIGIT =
        8, // bits: there is a line of the first cache for each place that is written
    GPU_DIGIT = 11,
    RANGE = 128, // digits whose counts are summed in one turn
    AT_ONCE = 4, // elements of a turn
    LANES = 32,  // of the search for bits in which keys differ
    TABLES = 2   // of counts in a part: equal neighbours go into different ones
};

// What goes through the passes: keys and, if they are wanted, their places.
enum { KEYS, PLACES, MOST_COLUMNS };

typedef struct Sort {
    Lower *l;
    ScalarType word; // of keys
    unsigned width;  // of these, in bits
    uint32_t columns;
    uint32_t tables;
    LoopRef n, parts, each, digits; // each: elements of a part but the last
    LoopRef row;                    // counts of a part
    LoopRef mask;                   // word
    LoopOrder order;                // of parts
    const Array *counts;            // by part and digit; then where the next one goes
    const Array *totals;            // by digit
} Sort;

// ---- scalars ------------------------------------------------------------------------

static LoopRef word_const(const Sort *s, uint64_t bits) {
    return loop_const(s->l->b, s->word, bits);
}

static LoopRef word2(const Sort *s, CoreOp op, LoopRef x, LoopRef y) {
    return loop_scalar(s->l->b, op, s->word, (LoopRef[]){x, y}, 2);
}

static LoopRef convert(const Sort *s, ScalarType to, LoopRef x) {
    return loop_scalar(s->l->b, OP_CONV, to, &x, 1);
}

static LoopRef key_of(const Sort *s, ScalarType elem, LoopRef x) {
    static const ScalarType signed_types[] = {
        [16] = SCALAR_I16, [32] = SCALAR_I32, [64] = SCALAR_I64};
    LoopRef sign = word_const(s, (uint64_t)1 << (s->width - 1));
    if (!scalar_is_float(elem)) {
        LoopRef word = elem == s->word ? x : convert(s, s->word, x);
        return scalar_is_signed(elem) ? word2(s, OP_XOR, word, sign) : word;
    }
    // Of negative floats all bits are turned round, of others the sign; NaN has none.
    ScalarType with_sign = signed_types[s->width];
    LoopRef bits = loop_scalar(s->l->b, OP_TO_BITS, s->word, &x, 1);
    LoopRef shift[2] = {convert(s, with_sign, bits),
                        loop_const(s->l->b, with_sign, s->width - 1)};
    LoopRef signs =
        convert(s, s->word, loop_scalar(s->l->b, OP_SHR, with_sign, shift, 2));
    return word2(s, OP_XOR, bits, word2(s, OP_OR, signs, sign));
}

static LoopRef load_key(const Sort *s, const Array *a, LoopRef i) {
    return key_of(s, (ScalarType)a->elem, loop_load(s->l, a, &i));
}

// The shift is less than the width, which compilers see.
static LoopRef digit_of(const Sort *s, LoopRef key, LoopRef shift) {
    shift = word2(s, OP_AND, shift, word_const(s, s->width - 1));
    LoopRef digit = word2(s, OP_AND, word2(s, OP_LSHR, key, shift), s->mask);
    return convert(s, SCALAR_I64, digit);
}

// ---- loops --------------------------------------------------------------------------

// A loop that carries one scalar.
static LoopRef open_fold(const Sort *s, Carry *c, LoopRef start, LoopRef times) {
    Val *init = arena_new(s->l->arena, Val);
    *init = val_scalar(start);
    loop_open_carry(s->l, c, init, NULL, 1, times);
    return c->state[0].scalar;
}

static LoopRef close_fold(const Sort *s, Carry *c, LoopRef result) {
    Val next = val_scalar(result), out;
    loop_close_carry(s->l, c, &next, NULL, &out);
    return out.scalar;
}

// An IF with results, which it returns.
static const LoopRef *emit_if(LoopBuilder *b, LoopRef c, LoopBody *const *bodies,
                              const LoopType *types, uint32_t count) {
    LoopStm *stm = loop_emit(b, LOOP_IF, &c, 1, types, count);
    loop_set_bodies(b, stm, bodies, 2);
    return stm->outs;
}

// Where part p begins, and its size.
static LoopRef part_start(const Sort *s, LoopRef p) {
    return loop_mul(s->l->b, p, s->each);
}

static LoopRef part_size(const Sort *s, LoopRef p) {
    return loop_min(s->l->b, s->each, loop_sub(s->l->b, s->n, part_start(s, p)));
}

static Array *numbers(const Sort *s, LoopRef count) {
    LoopRef buf = loop_alloc(s->l, SCALAR_I64, count);
    return loop_dense(s->l, SCALAR_I64, buf, loop_int(s->l->b, 0), 1, &count);
}

static void add_to(const Sort *s, const Array *a, LoopRef i, LoopRef x) {
    loop_store(s->l, a, &i, loop_add(s->l->b, loop_load(s->l, a, &i), x));
}

// ---- few ----------------------------------------------------------------------------

// Whether the element before place j is greater than the key, if there is one.
static LoopRef is_out_of_place(const Sort *s, const Array *to, LoopRef j, LoopRef key) {
    LoopBuilder *b = s->l->b;
    LoopRef c = loop_lt(b, loop_int(b, 0), j), no = loop_const(b, SCALAR_BOOL, 0);
    LoopBody *bodies[2];
    loop_open(b, NULL, 0);
    LoopRef before = load_key(s, to, loop_sub(b, j, loop_int(b, 1)));
    LoopRef is_greater = loop_lt(b, key, before);
    bodies[0] = loop_close(b, &is_greater, 1);
    loop_open(b, NULL, 0);
    bodies[1] = loop_close(b, &no, 1);
    return emit_if(b, c, bodies, (LoopType[]){loop_scalar_type(SCALAR_BOOL)}, 1)[0];
}

static void insert(const Sort *s, const Array *from, Array *const *to, LoopRef i) {
    Lower *l = s->l;
    LoopRef one = loop_int(l->b, 1), x = loop_load(l, from, &i);
    LoopRef key = key_of(s, (ScalarType)from->elem, x);
    Carry c;
    Val guard;
    LoopRef j = open_fold(s, &c, i, 0);
    loop_open_guard(l, &c, &guard);
    LoopRef more = is_out_of_place(s, to[KEYS], guard.scalar, key);
    c.guard = loop_close(l->b, &more, 1);
    LoopRef before = loop_sub(l->b, j, one);
    for (uint32_t k = 0; k < s->columns; k++)
        loop_store(l, to[k], &j, loop_load(l, to[k], &before));
    j = close_fold(s, &c, before);
    loop_store(l, to[KEYS], &j, x);
    if (s->columns > 1) loop_store(l, to[PLACES], &j, i);
}

static void insert_all(const Sort *s, const Array *from, Array *const *to) {
    Nest nest;
    loop_open_nest(s->l, &nest, 1, &s->n, ORDER_SEQUENTIAL);
    insert(s, from, to, nest.index[0]);
    loop_close_nest(s->l, &nest);
}

// ---- which digits -------------------------------------------------------------------

// Lane i takes in the bits in which key i from `first` on differs from this one.
static void take_row(const Sort *s, const Array *from, LoopRef key, const Array *lanes,
                     LoopRef first, LoopRef count) {
    Lower *l = s->l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef other = load_key(s, from, loop_add(l->b, first, nest.index[0]));
    LoopRef so_far = loop_load(l, lanes, nest.index);
    LoopRef bits = word2(s, OP_OR, so_far, word2(s, OP_XOR, key, other));
    loop_store(l, lanes, nest.index, bits);
    loop_close_nest(l, &nest);
}

static Array *words(const Sort *s, LoopRef count) {
    LoopRef buf = loop_alloc(s->l, s->word, count);
    return loop_dense(s->l, s->word, buf, loop_int(s->l->b, 0), 1, &count);
}

// The bits that are set in any of so many words.
static LoopRef join_words(const Sort *s, const Array *a, LoopRef count) {
    Carry c;
    LoopRef so_far = open_fold(s, &c, word_const(s, 0), count);
    LoopRef word = loop_load(s->l, a, &c.index);
    return close_fold(s, &c, word2(s, OP_OR, so_far, word));
}

static LoopRef find_in_part(const Sort *s, const Array *from, LoopRef key, LoopRef p) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef width = loop_int(b, l->is_for_gpus ? 1 : LANES);
    LoopRef start = part_start(s, p), size = part_size(s, p);
    LoopRef rows = loop_quot(b, size, width), done = loop_mul(b, rows, width);
    const Array *lanes = words(s, width);
    Nest nest;
    loop_open_nest(l, &nest, 1, &width, ORDER_INDEPENDENT);
    loop_store(l, lanes, nest.index, word_const(s, 0));
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &rows, ORDER_SEQUENTIAL);
    LoopRef first = loop_add(b, start, loop_mul(b, nest.index[0], width));
    take_row(s, from, key, lanes, first, width);
    loop_close_nest(l, &nest);
    take_row(s, from, key, lanes, loop_add(b, start, done), loop_sub(b, size, done));
    return join_words(s, lanes, width);
}

// The bits in which keys differ, or, if they are all the same, any one bit.
static LoopRef find_differences(const Sort *s, const Array *from) {
    Lower *l = s->l;
    LoopRef key = load_key(s, from, loop_int(l->b, 0));
    const Array *found = words(s, s->parts);
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->parts, s->order);
    loop_store(l, found, nest.index, find_in_part(s, from, key, nest.index[0]));
    loop_close_nest(l, &nest);
    return word2(s, OP_MAX, join_words(s, found, s->parts), word_const(s, 1));
}

// Where the lowest digit of these bits begins, and the bits above it.
static LoopRef lowest_digit(const Sort *s, LoopRef bits) {
    return convert(s, s->word, loop_scalar(s->l->b, OP_CTZ, SCALAR_I32, &bits, 1));
}

static LoopRef higher_digits(const Sort *s, LoopRef bits) {
    LoopRef digit = word2(s, OP_SHL, s->mask, lowest_digit(s, bits));
    LoopRef others = loop_scalar(s->l->b, OP_NOT, s->word, &digit, 1);
    return word2(s, OP_AND, bits, others);
}

// Inside a WHILE: goes on while there are bits left.
static void guard_digits(const Sort *s, Carry *c, uint32_t count) {
    Val *state = arena_array(s->l->arena, Val, count);
    loop_open_guard(s->l, c, state);
    LoopRef more = loop_lt(s->l->b, word_const(s, 0), state[0].scalar);
    c->guard = loop_close(s->l->b, &more, 1);
}

// Whether these bits are an odd number of digits.
static LoopRef is_odd(const Sort *s, LoopRef bits) {
    Lower *l = s->l;
    Carry c;
    Val init[2] = {val_scalar(bits), val_scalar(loop_const(l->b, SCALAR_BOOL, 0))};
    Val next[2], last[2];
    loop_open_carry(l, &c, init, NULL, 2, 0);
    guard_digits(s, &c, 2);
    next[0] = val_scalar(higher_digits(s, c.state[0].scalar));
    next[1] = val_scalar(loop_not(l->b, c.state[1].scalar));
    loop_close_carry(l, &c, next, NULL, last);
    return last[1].scalar;
}

// ---- a pass -------------------------------------------------------------------------

// The state of the passes: bits to go, whether this is the first pass, and per column
// where elements are, where they go, and where they go after that.
enum { BITS, IS_FIRST, BUFFERS };
enum { FROM, TO, NEXT, BUFFER_COUNT };

static const Array *buffer(const Val *state, uint32_t column, uint32_t which) {
    return state[BUFFERS + BUFFER_COUNT * column + which].array;
}

// What a part does: the state of the passes, and what is known of this one.
typedef struct Part {
    const Sort *sort;
    const Val *state;
    LoopRef shift, row; // of the digit; where its counts begin
} Part;

// All elements of part p in order, some in a turn: processors foresee for each load in
// the code which store it waits for, and one load for all would wait for the last one.
static void take_elements(const Part *part, LoopRef p, LoopTake *take) {
    const Sort *s = part->sort;
    loop_several(s->l, part_start(s, p), part_size(s, p), AT_ONCE, take, part);
}

static void count_element(const void *env, LoopRef i, uint32_t k) {
    const Part *part = env;
    const Sort *s = part->sort;
    LoopBuilder *b = s->l->b;
    LoopRef key = load_key(s, buffer(part->state, KEYS, FROM), i);
    LoopRef table = loop_mul(b, loop_int(b, k % s->tables), s->digits);
    LoopRef at =
        loop_add(b, part->row, loop_add(b, table, digit_of(s, key, part->shift)));
    add_to(s, s->counts, at, loop_int(b, 1));
}

static void count_digits(const Sort *s, const Val *state, LoopRef shift, LoopRef p) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    Part part = {
        .sort = s, .state = state, .shift = shift, .row = loop_mul(b, p, s->row)};
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->row, ORDER_INDEPENDENT);
    LoopRef at = loop_add(b, part.row, nest.index[0]);
    loop_store(l, s->counts, &at, loop_int(b, 0));
    loop_close_nest(l, &nest);
    take_elements(&part, p, count_element);
    for (uint32_t k = 1; k < s->tables; k++) {
        loop_open_nest(l, &nest, 1, &s->digits, ORDER_INDEPENDENT);
        at = loop_add(b, part.row, nest.index[0]);
        LoopRef other = loop_add(b, at, loop_mul(b, loop_int(b, k), s->digits));
        add_to(s, s->counts, at, loop_load(l, s->counts, &other));
        loop_close_nest(l, &nest);
    }
}

// For a range of digits: counts become sums of those of the parts before.
static void sum_counts(const Sort *s, LoopRef range) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef size = loop_int(b, RANGE), first = loop_mul(b, range, size);
    Nest digits, parts;
    loop_open_nest(l, &digits, 1, &size, ORDER_INDEPENDENT);
    LoopRef digit = loop_add(b, first, digits.index[0]);
    loop_store(l, s->totals, &digit, loop_int(b, 0));
    loop_close_nest(l, &digits);
    loop_open_nest(l, &parts, 1, &s->parts, ORDER_SEQUENTIAL);
    loop_open_nest(l, &digits, 1, &size, ORDER_INDEPENDENT);
    digit = loop_add(b, first, digits.index[0]);
    LoopRef at = loop_add(b, loop_mul(b, parts.index[0], s->row), digit);
    LoopRef count = loop_load(l, s->counts, &at);
    LoopRef before = loop_load(l, s->totals, &digit);
    loop_store(l, s->counts, &at, before);
    loop_store(l, s->totals, &digit, loop_add(b, before, count));
    loop_close_nest(l, &digits);
    loop_close_nest(l, &parts);
}

// Totals become sums of those of lower digits.
static void sum_totals(const Sort *s) {
    Lower *l = s->l;
    Carry c;
    LoopRef before = open_fold(s, &c, loop_int(l->b, 0), s->digits);
    LoopRef total = loop_load(l, s->totals, &c.index);
    loop_store(l, s->totals, &c.index, before);
    close_fold(s, &c, loop_add(l->b, before, total));
}

// In the first pass, places are those where the elements are.
static LoopRef load_place(const Sort *s, const Array *places, LoopRef is_first,
                          LoopRef i) {
    LoopBuilder *b = s->l->b;
    LoopBody *bodies[2];
    loop_open(b, NULL, 0);
    bodies[0] = loop_close(b, &i, 1);
    loop_open(b, NULL, 0);
    LoopRef place = loop_load(s->l, places, &i);
    bodies[1] = loop_close(b, &place, 1);
    LoopType type = loop_scalar_type(SCALAR_I64);
    return emit_if(b, is_first, bodies, &type, 1)[0];
}

static void move_element(const void *env, LoopRef i, uint32_t k) {
    const Part *part = env;
    const Sort *s = part->sort;
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    const Val *state = part->state;
    const Array *from = buffer(state, KEYS, FROM);
    LoopRef x = loop_load(l, from, &i);
    LoopRef digit = digit_of(s, key_of(s, (ScalarType)from->elem, x), part->shift);
    LoopRef next = loop_add(b, part->row, digit), at = loop_load(l, s->counts, &next);
    (void)k;
    loop_store(l, s->counts, &next, loop_add(b, at, loop_int(b, 1)));
    loop_store(l, buffer(state, KEYS, TO), &at, x);
    if (s->columns == 1) return;
    LoopRef place =
        load_place(s, buffer(state, PLACES, FROM), state[IS_FIRST].scalar, i);
    loop_store(l, buffer(state, PLACES, TO), &at, place);
}

static void move_elements(const Sort *s, const Val *state, LoopRef shift, LoopRef p) {
    Lower *l = s->l;
    Part part = {
        .sort = s, .state = state, .shift = shift, .row = loop_mul(l->b, p, s->row)};
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->digits, ORDER_INDEPENDENT);
    LoopRef before = loop_load(l, s->totals, nest.index);
    add_to(s, s->counts, loop_add(l->b, part.row, nest.index[0]), before);
    loop_close_nest(l, &nest);
    take_elements(&part, p, move_element);
}

static void pass(const Sort *s, const Val *state) {
    Lower *l = s->l;
    LoopRef shift = lowest_digit(s, state[BITS].scalar);
    LoopRef ranges = loop_quot(l->b, s->digits, loop_int(l->b, RANGE));
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->parts, s->order);
    count_digits(s, state, shift, nest.index[0]);
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &ranges, s->order);
    sum_counts(s, nest.index[0]);
    loop_close_nest(l, &nest);
    sum_totals(s);
    loop_open_nest(l, &nest, 1, &s->parts, s->order);
    move_elements(s, state, shift, nest.index[0]);
    loop_close_nest(l, &nest);
}

// ---- all passes ---------------------------------------------------------------------

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

// A buffer of the next turn, of n elements like all of them, which then are no state.
static Val next_buffer(const Sort *s, const Array *a) {
    return val_array(loop_dense(s->l, (ScalarType)a->elem, a->buf, a->off, 1, &s->n));
}

// The buffers of a column to begin with, such that the last pass ends in `to`; or, if
// that holds the elements, an even number of passes does.
static void set_buffers(const Sort *s, Array *from, Array *to, Array *spare,
                        LoopRef is_odd_number, Val *buffers_out) {
    bool holds_elements = from == to;
    Array *first = holds_elements ? spare : choose(s->l, is_odd_number, to, spare);
    Array *second = holds_elements ? to : choose(s->l, is_odd_number, spare, to);
    buffers_out[FROM] = val_array(from != NULL ? from : second);
    buffers_out[TO] = val_array(first);
    buffers_out[NEXT] = val_array(second);
}

static void repeat_passes(const Sort *s, Val *init) {
    enum { MOST = BUFFERS + BUFFER_COUNT * MOST_COLUMNS };
    Lower *l = s->l;
    uint32_t count = BUFFERS + BUFFER_COUNT * s->columns;
    Val next[MOST], last[MOST];
    bool is_ours[MOST] = {false};
    Carry c;
    loop_open_carry(l, &c, init, NULL, count, 0);
    guard_digits(s, &c, count);
    pass(s, c.state);
    next[BITS] = val_scalar(higher_digits(s, c.state[BITS].scalar));
    next[IS_FIRST] = val_scalar(loop_const(l->b, SCALAR_BOOL, 0));
    for (uint32_t k = 0; k < s->columns; k++) {
        Val *column = next + BUFFERS + BUFFER_COUNT * k;
        column[FROM] = column[NEXT] = next_buffer(s, buffer(c.state, k, TO));
        column[TO] = next_buffer(s, buffer(c.state, k, NEXT));
    }
    for (uint32_t i = BUFFERS; i < count; i++) is_ours[i] = true;
    loop_close_carry(l, &c, next, is_ours, last);
}

// From the one array to the others, of which the first may be the same.
static void sort_by_digits(const Sort *s, Array *from, Array *const *to) {
    Lower *l = s->l;
    LoopRef bits = find_differences(s, from), odd = is_odd(s, bits);
    Val *state = arena_array(l->arena, Val, BUFFERS + BUFFER_COUNT * s->columns);
    Array *spares[MOST_COLUMNS];
    state[BITS] = val_scalar(bits);
    state[IS_FIRST] = val_scalar(loop_const(l->b, SCALAR_BOOL, 1));
    for (uint32_t k = 0; k < s->columns; k++) {
        ScalarType elem = (ScalarType)to[k]->elem;
        LoopRef buf = loop_alloc(l, elem, s->n);
        spares[k] = loop_dense(l, elem, buf, loop_int(l->b, 0), 1, &s->n);
        set_buffers(s, k == KEYS ? from : NULL, to[k], spares[k], odd,
                    state + BUFFERS + BUFFER_COUNT * k);
    }
    repeat_passes(s, state);
    if (from != to[KEYS]) return;
    When when = loop_open_if(l, odd);
    loop_copy(l, to[KEYS], spares[KEYS]);
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
    s->tables = s->l->is_for_gpus ? 1 : TABLES;
    s->digits = loop_int(b, 1 << digit);
    s->mask = word_const(s, (1u << digit) - 1);
    s->row = loop_int(b, s->tables << digit);
    s->counts = numbers(s, loop_mul(b, s->parts, s->row));
    s->totals = numbers(s, s->digits);
}

void loop_sort(Lower *l, const CoreStm *stm) {
    static const ScalarType words[] = {
        [1] = SCALAR_U8, [2] = SCALAR_U16, [4] = SCALAR_U32, [8] = SCALAR_U64};
    LoopBuilder *b = l->b;
    Array *from = loop_arg_array(l, stm, 0);
    ScalarType elem = (ScalarType)from->elem;
    Sort s = {.l = l, .word = words[scalar_info[elem].bytes], .n = from->shape[0]};
    s.width = 8u * scalar_info[elem].bytes;
    s.columns = stm->out_count;
    Array *to[MOST_COLUMNS];
    // In place it takes one buffer less, for which a caller's array is not worth
    // copying.
    if (loop_is_ours(l, stm, 0) && from->is_dense && !loop_block_of(l, from)->is_lent) {
        loop_take(l, from);
        to[KEYS] = from;
    } else {
        to[KEYS] = loop_fresh(l, elem, 1, &s.n, l->names[stm->outs[KEYS]].place);
    }
    for (uint32_t k = PLACES; k < s.columns; k++)
        to[k] = loop_fresh(l, SCALAR_I64, 1, &s.n, l->names[stm->outs[k]].place);
    LoopRef mark = loop_mark(l), few = loop_le(b, s.n, loop_int(b, FEW));
    uint32_t allocs = l->allocs;
    When when = loop_open_if(l, few);
    insert_all(&s, from, to);
    loop_close_if(l, when);
    when = loop_open_if(l, loop_not(b, few));
    open_sort(&s);
    sort_by_digits(&s, loop_make_dense(l, from), to);
    loop_close_if(l, when);
    loop_keep(l, mark, allocs, NULL, 0);
    for (uint32_t k = 0; k < s.columns; k++)
        loop_bind(l, stm->outs[k], val_array(to[k]));
}
