// SPDX-License-Identifier: Apache-2.0
//
// A pass of a sort: parts of the elements count their digits, sums over the counts say
// where the elements of each part and digit go, and each part puts its elements there
// in order. On cores a part counts in memory of its own.
#include "loop/lower_sort.h"

enum {
    RANGE = 128, // digits whose counts are summed in one turn
    AT_ONCE = 4, // elements of a turn
    TABLES = 2   // of counts in a part: equal neighbours go into different ones
};

// What a part does.
typedef struct Part {
    const Sort *sort;
    const SortColumn *columns;
    bool is_first;
    LoopRef shift;      // of the digit
    const Array *table; // its counts, and where they begin
    LoopRef row;
} Part;

Array *sort_numbers(const Sort *s, LoopRef count) {
    LoopRef buf = loop_alloc(s->l, SCALAR_I64, count);
    return loop_dense(s->l, SCALAR_I64, buf, loop_int(s->l->b, 0), 1, &count);
}

void sort_clear(const Sort *s, const Array *a, LoopRef first, LoopRef count) {
    LoopBuilder *b = s->l->b;
    Nest nest;
    loop_open_nest(s->l, &nest, 1, &count, ORDER_INDEPENDENT);
    LoopRef at = loop_add(b, first, nest.index[0]);
    loop_store(s->l, a, &at, loop_int(b, 0));
    loop_close_nest(s->l, &nest);
}

void sort_make_counts(Sort *s) {
    LoopBuilder *b = s->l->b;
    s->counts = sort_numbers(s, loop_mul(b, s->parts, s->digits));
    s->totals = sort_numbers(s, loop_add(b, s->digits, loop_int(b, 1)));
}

static void add_to(const Sort *s, const Array *a, LoopRef i, LoopRef x) {
    loop_store(s->l, a, &i, loop_add(s->l->b, loop_load(s->l, a, &i), x));
}

// All elements of part p in order, some in a turn: processors foresee for each load in
// the code which store it waits for, and one load for all would wait for the last one.
static void take_elements(const Part *part, LoopRef p, LoopTake *take) {
    const Sort *s = part->sort;
    LoopRef size = sort_part_size(s, p);
    loop_several(s->l, sort_part_start(s, p), size, AT_ONCE, take, part);
}

static int64_t table_count(const Sort *s) {
    return s->l->is_for_gpus ? 1 : TABLES;
}

// ---- counting -----------------------------------------------------------------------

static void count_element(const void *env, LoopRef i, uint32_t k) {
    const Part *part = env;
    const Sort *s = part->sort;
    LoopBuilder *b = s->l->b;
    const Array *from = part->columns[SORT_KEYS].from;
    LoopRef x = loop_load(s->l, from, &i);
    LoopRef key = sort_key(s, (ScalarType)from->elem, x, !part->is_first);
    LoopRef digit = sort_digit(s, key, part->shift);
    LoopRef table = loop_mul(b, loop_int(b, k % table_count(s)), s->digits);
    add_to(s, part->table, loop_add(b, part->row, loop_add(b, table, digit)),
           loop_int(b, 1));
}

// The counts of part p are the sums of its tables.
static void join_tables(const Part *part, LoopRef p) {
    const Sort *s = part->sort;
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->digits, ORDER_INDEPENDENT);
    LoopRef sum = loop_load(l, part->table, nest.index);
    for (int64_t k = 1; k < table_count(s); k++) {
        LoopRef table = loop_mul(b, loop_int(b, k), s->digits);
        LoopRef at = loop_add(b, table, nest.index[0]);
        sum = loop_add(b, sum, loop_load(l, part->table, &at));
    }
    LoopRef at = loop_add(b, loop_mul(b, p, s->digits), nest.index[0]);
    loop_store(l, s->counts, &at, sum);
    loop_close_nest(l, &nest);
}

static void count_digits(Part part, LoopRef p) {
    const Sort *s = part.sort;
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef size = loop_mul(b, loop_int(b, table_count(s)), s->digits);
    if (!l->is_for_gpus) part.table = sort_numbers(s, size);
    sort_clear(s, part.table, part.row, size);
    take_elements(&part, p, count_element);
    if (!l->is_for_gpus) join_tables(&part, p);
}

// What has been counted ahead for a pass is all its one part has.
static void take_counts(const Sort *s) {
    Lower *l = s->l;
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->digits, ORDER_INDEPENDENT);
    LoopRef row = loop_mul(l->b, s->pass, s->digits);
    LoopRef at = loop_add(l->b, row, nest.index[0]);
    loop_store(l, s->counts, nest.index, loop_load(l, s->ahead, &at));
    loop_close_nest(l, &nest);
}

// The digits of part p are counted, if they have not been.
static void find_counts(const Part *part, LoopRef p) {
    const Sort *s = part->sort;
    LoopBuilder *b = s->l->b;
    if (s->ahead == NULL) {
        count_digits(*part, p);
        return;
    }
    LoopRef is_ahead = loop_lt(b, s->pass, loop_int(b, SORT_AHEAD));
    When when = loop_open_if(s->l, is_ahead);
    take_counts(s);
    loop_close_if(s->l, when);
    when = loop_open_if(s->l, loop_not(b, is_ahead));
    count_digits(*part, p);
    loop_close_if(s->l, when);
}

typedef struct Ahead {
    const Sort *sort;
    const Array *keys;
    LoopRef shifts[SORT_AHEAD];
} Ahead;

static void count_element_ahead(const void *env, LoopRef i, uint32_t k) {
    const Ahead *ahead = env;
    const Sort *s = ahead->sort;
    LoopBuilder *b = s->l->b;
    LoopRef key = sort_load_key(s, ahead->keys, i);
    (void)k;
    for (int64_t pass = 0; pass < SORT_AHEAD; pass++) {
        LoopRef row = loop_mul(b, loop_int(b, pass), s->digits);
        LoopRef at = loop_add(b, row, sort_digit(s, key, ahead->shifts[pass]));
        add_to(s, s->ahead, at, loop_int(b, 1));
    }
}

void sort_count_ahead(const Sort *s, const Array *keys, LoopRef bits) {
    LoopBuilder *b = s->l->b;
    Ahead ahead = {.sort = s, .keys = keys};
    for (int64_t pass = 0; pass < SORT_AHEAD; pass++) {
        ahead.shifts[pass] = sort_lowest_digit(s, bits);
        bits = sort_higher_digits(s, bits);
    }
    LoopRef size = loop_mul(b, loop_int(b, SORT_AHEAD), s->digits);
    sort_clear(s, s->ahead, loop_int(b, 0), size);
    loop_several(s->l, loop_int(b, 0), s->n, AT_ONCE, count_element_ahead, &ahead);
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
    LoopRef at = loop_add(b, loop_mul(b, parts.index[0], s->digits), digit);
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
    LoopRef before = sort_open_fold(s, &c, loop_int(l->b, 0), s->digits);
    LoopRef total = loop_load(l, s->totals, &c.index);
    loop_store(l, s->totals, &c.index, before);
    LoopRef all = sort_close_fold(s, &c, loop_add(l->b, before, total));
    loop_store(l, s->totals, &s->digits, all);
}

// ---- moving -------------------------------------------------------------------------

static void move_element(const void *env, LoopRef i, uint32_t k) {
    const Part *part = env;
    const Sort *s = part->sort;
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    const SortColumn *keys = &part->columns[SORT_KEYS], *places = keys + 1;
    LoopRef x = loop_load(l, keys->from, &i);
    ScalarType elem = (ScalarType)keys->from->elem;
    LoopRef key = sort_key(s, elem, x, !part->is_first);
    LoopRef next = loop_add(b, part->row, sort_digit(s, key, part->shift));
    LoopRef at = loop_load(l, part->table, &next);
    (void)k;
    loop_store(l, part->table, &next, loop_add(b, at, loop_int(b, 1)));
    loop_store(l, keys->to, &at, part->is_first ? sort_canonical(s, elem, x) : x);
    if (s->columns == 1) return;
    LoopRef place = part->is_first ? i : loop_load(l, places->from, &i);
    loop_store(l, places->to, &at, place);
}

static void move_elements(Part part, LoopRef p) {
    const Sort *s = part.sort;
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    if (!l->is_for_gpus) part.table = sort_numbers(s, s->digits);
    Nest nest;
    loop_open_nest(l, &nest, 1, &s->digits, ORDER_INDEPENDENT);
    LoopRef at = loop_add(b, loop_mul(b, p, s->digits), nest.index[0]);
    LoopRef inside = loop_load(l, s->counts, &at);
    LoopRef before = loop_load(l, s->totals, nest.index);
    LoopRef next = loop_add(b, part.row, nest.index[0]);
    loop_store(l, part.table, &next, loop_add(b, inside, before));
    loop_close_nest(l, &nest);
    take_elements(&part, p, move_element);
}

// ---- the whole ----------------------------------------------------------------------

// Opens a loop over parts, in which each has its counts where all have theirs.
static void open_parts(Part *part, Nest *nest) {
    const Sort *s = part->sort;
    LoopBuilder *b = s->l->b;
    loop_open_nest(s->l, nest, 1, &s->parts, s->order);
    part->table = s->counts;
    part->row =
        s->l->is_for_gpus ? loop_mul(b, nest->index[0], s->digits) : loop_int(b, 0);
}

void sort_count(const Sort *s, const SortColumn *columns, LoopRef shift,
                bool is_first) {
    Lower *l = s->l;
    LoopRef ranges = loop_quot(l->b, s->digits, loop_int(l->b, RANGE));
    Nest nest;
    Part part = {.sort = s, .columns = columns, .is_first = is_first, .shift = shift};
    open_parts(&part, &nest);
    find_counts(&part, nest.index[0]);
    loop_close_nest(l, &nest);
    loop_open_nest(l, &nest, 1, &ranges, s->order);
    sum_counts(s, nest.index[0]);
    loop_close_nest(l, &nest);
    sum_totals(s);
}

void sort_move(const Sort *s, const SortColumn *columns, LoopRef shift, bool is_first) {
    Nest nest;
    Part part = {.sort = s, .columns = columns, .is_first = is_first, .shift = shift};
    open_parts(&part, &nest);
    move_elements(part, nest.index[0]);
    loop_close_nest(s->l, &nest);
}

void sort_pass(const Sort *s, const SortColumn *columns, LoopRef shift, bool is_first) {
    sort_count(s, columns, shift, is_first);
    sort_move(s, columns, shift, is_first);
}
