// SPDX-License-Identifier: Apache-2.0
//
// Many elements are put into buckets by their highest bits first, and each bucket is
// sorted alone, in the caches. If one is too large, which the counts of the first pass
// say, all passes go over all elements.
//
// The highest digit of integers of 32 bits is their bucket. Of others a table says it
// by the highest bits; it follows from a sample, so that buckets have about one size.
//
// A bucket has fewer elements than there are numbers of its bits, most of which only
// sort what is in order. So it is sorted by as many of its highest bits as its elements
// want, and then put right by insertion. If that takes too many moves, it is sorted by
// all of its bits after all.
#include "loop/lower_sort.h"

enum {
    MANY = 1 << 18,       // elements, so that buckets are large beside their counts
    MANY_WORDS = 1 << 19, // likewise, of 32 bits
    SAMPLE = 1 << 13,
    BUCKETS = 256,
    INT_BITS = 12,   // of a key, which say its bucket
    FLOAT_BITS = 16, // likewise: sign, exponent, and four or seven of the mantissa
    LARGEST = 32,    // the largest bucket has a so many-th of all elements
    DIGIT = 8,       // bits
    SLACK = 3,       // bits by which a bucket is sorted, more than its size has
    FEW = 32,        // elements, to be inserted
    SHARE = 4        // insertion may move a so many-th of a bucket's elements
};

// ---- numbers of bits ----------------------------------------------------------------

static LoopRef word_const(const Sort *s, uint64_t bits) {
    return loop_const(s->l->b, s->word, bits);
}

// How many bits a number has up to its highest one, as i64.
static LoopRef bit_length(const Sort *s, ScalarType type, LoopRef x) {
    LoopBuilder *b = s->l->b;
    LoopRef zeros = loop_scalar(b, OP_CLZ, SCALAR_I32, &x, 1);
    LoopRef wide = loop_scalar(b, OP_CONV, SCALAR_I64, &zeros, 1);
    return loop_sub(b, loop_int(b, 8 * scalar_info[type].bytes), wide);
}

// As a shift of keys; not less than 0.
static LoopRef as_shift(const Sort *s, LoopRef x) {
    LoopBuilder *b = s->l->b;
    LoopRef shift = loop_max(b, x, loop_int(b, 0));
    return loop_scalar(b, OP_CONV, s->word, &shift, 1);
}

// By how many digits so many elements are sorted first.
static LoopRef wanted_digits(const Sort *s, LoopRef n) {
    LoopBuilder *b = s->l->b;
    LoopRef bits = bit_length(s, SCALAR_I64, n);
    LoopRef above = loop_add(b, bits, loop_int(b, SLACK + DIGIT - 1));
    return loop_quot(b, above, loop_int(b, DIGIT));
}

// ---- the table ----------------------------------------------------------------------

// Counts the sample by what says the bucket.
static void count_sample(const Sort *s, const Array *from, LoopRef shift,
                         const Array *counts, LoopRef size) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef sample = loop_int(b, SAMPLE), apart = loop_quot(b, s->n, sample);
    Nest nest;
    sort_clear(s, counts, loop_int(b, 0), size);
    loop_open_nest(l, &nest, 1, &sample, ORDER_SEQUENTIAL);
    LoopRef key = sort_load_key(s, from, loop_mul(b, nest.index[0], apart));
    LoopRef at = sort_digit(s, key, shift);
    LoopRef count = loop_load(l, counts, &at);
    loop_store(l, counts, &at, loop_add(b, count, loop_int(b, 1)));
    loop_close_nest(l, &nest);
}

// An entry is the bucket in which lie those before it in the sample. No bucket has
// numbers of both signs: in the upper half of the table they are one further.
static const Array *make_table(const Sort *s, const Array *from, LoopRef shift,
                               LoopRef size) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    const Array *counts = sort_numbers(s, size);
    count_sample(s, from, shift, counts, size);
    LoopRef buf = loop_alloc(l, SCALAR_U8, size),
            half = loop_quot(b, size, loop_int(b, 2));
    Array *table = loop_dense(l, SCALAR_U8, buf, loop_int(b, 0), 1, &size);
    Carry c;
    LoopRef before = sort_open_fold(s, &c, loop_int(b, 0), size);
    LoopRef bucket = loop_quot(b, before, loop_int(b, SAMPLE / BUCKETS));
    bucket = loop_min(b, bucket, loop_int(b, BUCKETS - 2));
    LoopRef is_upper = loop_le(b, half, c.index);
    bucket =
        loop_add(b, bucket, loop_select(b, is_upper, loop_int(b, 1), loop_int(b, 0)));
    loop_store(l, table, &c.index, loop_scalar(b, OP_CONV, SCALAR_U8, &bucket, 1));
    LoopRef count = loop_load(l, counts, &c.index);
    sort_close_fold(s, &c, loop_add(b, before, count));
    return table;
}

// ---- a bucket -----------------------------------------------------------------------

// Of the bits in which its keys differ, those by which a bucket is sorted first: as
// many of the highest as are wanted, or none if it has few elements.
static LoopRef find_highest(const Sort *s, LoopRef bits) {
    LoopBuilder *b = s->l->b;
    LoopRef few = loop_le(b, s->n, loop_int(b, FEW)), digit = loop_int(b, DIGIT);
    LoopRef wanted = loop_mul(b, wanted_digits(s, s->n), digit);
    Carry c;
    Val guard;
    LoopRef start = loop_select(b, few, word_const(s, 0), bits);
    LoopRef left = sort_open_fold(s, &c, start, 0);
    loop_open_guard(s->l, &c, &guard);
    LoopRef count = loop_scalar(b, OP_POPC, SCALAR_I32, &guard.scalar, 1);
    count = loop_scalar(b, OP_CONV, SCALAR_I64, &count, 1);
    LoopRef more = loop_lt(b, wanted, count);
    c.guard = loop_close(b, &more, 1);
    LoopRef without = sort_word2(s, OP_SUB, left, word_const(s, 1)); // the lowest one
    return sort_close_fold(s, &c, sort_word2(s, OP_AND, left, without));
}

static void copy_if(const Sort *s, LoopRef c, Array *const *to, Array *const *from) {
    When when = loop_open_if(s->l, c);
    for (uint32_t k = 0; k < s->columns; k++) loop_copy(s->l, to[k], from[k]);
    loop_close_if(s->l, when);
}

// Looks for disorder in a block of elements and puts it right. Returns the moves so
// far.
static LoopRef put_block_right(const Sort *s, const SortColumn *columns,
                               const SortRange *range, LoopRef most) {
    LoopBuilder *b = s->l->b;
    const Array *keys = columns[SORT_KEYS].to;
    LoopRef descends = sort_descends(s, keys, range->first);
    LoopBody *bodies[2];
    loop_open(b, NULL, 0);
    LoopRef moves = sort_insert(s, columns, range, most);
    bodies[0] = loop_close(b, &moves, 1);
    loop_open(b, NULL, 0);
    bodies[1] = loop_close(b, &range->moves, 1);
    return sort_if(b, descends, bodies, SCALAR_I64);
}

// Puts right what bits that were left out have in disorder; returns whether that was
// done with few moves.
static LoopRef put_right(const Sort *s, Array *const *to) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef block = loop_int(b, SORT_BLOCK), one = loop_int(b, 1);
    LoopRef others = loop_sub(b, s->n, one),
            share = loop_quot(b, s->n, loop_int(b, SHARE));
    LoopRef most = loop_add(b, share, loop_int(b, FEW * FEW));
    SortColumn columns[SORT_MOST_COLUMNS];
    for (uint32_t k = 0; k < s->columns; k++) columns[k] = (SortColumn){to[k], to[k]};
    Carry c;
    LoopRef moves = sort_open_fold(s, &c, loop_int(b, 0), loop_quot(b, others, block));
    LoopRef first = loop_add(b, one, loop_mul(b, c.index, block));
    SortRange range = {first, block, moves};
    moves = sort_close_fold(s, &c, put_block_right(s, columns, &range, most));
    LoopRef rest = loop_rem(b, others, block);
    SortRange last = {loop_sub(b, s->n, rest), rest, moves};
    return loop_le(b, sort_insert(s, columns, &last, most), most);
}

// From the spares to the others: by the highest bits, and if that is not enough by all.
// What passes leave in the spares is as good to start from as any.
static void sort_bucket(const Sort *s, Array *const *spares, Array *const *to) {
    enum { BITS, AGAIN, COUNT };
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef yes = loop_const(b, SCALAR_BOOL, 1);
    LoopRef all = sort_find_differences(s, spares[SORT_KEYS]);
    Val init[COUNT] = {val_scalar(find_highest(s, all)), val_scalar(yes)};
    Val state[COUNT], next[COUNT], last[COUNT];
    Carry c;
    loop_open_carry(l, &c, init, NULL, COUNT, 0);
    loop_open_guard(l, &c, state);
    c.guard = loop_close(b, &state[AGAIN].scalar, 1);
    LoopRef bits = c.state[BITS].scalar;
    sort_count_ahead(s, spares[SORT_KEYS], bits);
    copy_if(s, loop_not(b, sort_by_bits(s, bits, spares, to)), to, spares);
    LoopBody *bodies[2];
    loop_open(b, NULL, 0);
    bodies[0] = loop_close(b, &yes, 1);
    loop_open(b, NULL, 0);
    LoopRef is_right = put_right(s, to);
    bodies[1] = loop_close(b, &is_right, 1);
    LoopRef is_done = sort_if(b, loop_eq(b, bits, all), bodies, SCALAR_BOOL);
    next[BITS] = val_scalar(all);
    next[AGAIN] = val_scalar(loop_not(b, is_done));
    loop_close_carry(l, &c, next, NULL, last);
}

// ---- the buckets --------------------------------------------------------------------

static LoopRef bucket_start(const Sort *s, LoopRef bucket) {
    return loop_load(s->l, s->totals, &bucket);
}

static LoopRef bucket_size(const Sort *s, LoopRef bucket) {
    LoopBuilder *b = s->l->b;
    LoopRef end = bucket_start(s, loop_add(b, bucket, loop_int(b, 1)));
    return loop_sub(b, end, bucket_start(s, bucket));
}

static LoopRef find_largest(const Sort *s) {
    LoopBuilder *b = s->l->b;
    Carry c;
    LoopRef largest = sort_open_fold(s, &c, loop_int(b, 0), loop_int(b, BUCKETS));
    return sort_close_fold(s, &c, loop_max(b, largest, bucket_size(s, c.index)));
}

// The elements of a bucket.
static Array *part_of(const Sort *bucket, const Array *a, LoopRef start) {
    Lower *l = bucket->l;
    LoopRef off = loop_add(l->b, a->off, start);
    return loop_dense(l, (ScalarType)a->elem, a->buf, off, 1, &bucket->n);
}

static void sort_buckets(const Sort *s, Array *const *spares, Array *const *to) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef buckets = loop_int(b, BUCKETS);
    Array *from[SORT_MOST_COLUMNS], *into[SORT_MOST_COLUMNS];
    Nest nest;
    loop_open_nest(l, &nest, 1, &buckets, s->order);
    LoopRef start = bucket_start(s, nest.index[0]),
            size = bucket_size(s, nest.index[0]);
    Sort bucket = *s;
    bucket.has_moved = true;
    bucket.order = ORDER_SEQUENTIAL;
    bucket.parts = loop_int(b, 1);
    bucket.n = bucket.each = size;
    When when = loop_open_if(l, loop_lt(b, loop_int(b, 0), size));
    sort_make_counts(&bucket);
    bucket.ahead =
        sort_numbers(&bucket, loop_mul(b, loop_int(b, SORT_AHEAD), bucket.digits));
    for (uint32_t k = 0; k < s->columns; k++) {
        from[k] = part_of(&bucket, spares[k], start);
        into[k] = part_of(&bucket, to[k], start);
    }
    ScalarType elem = (ScalarType)from[SORT_KEYS]->elem;
    LoopRef zero = loop_int(b, 0);
    if (scalar_is_float(elem))
        bucket.turn =
            sort_find_turn(&bucket, elem, loop_load(l, from[SORT_KEYS], &zero));
    sort_bucket(&bucket, from, into);
    loop_close_if(l, when);
    loop_close_nest(l, &nest);
}

// By how many of the highest bits elements are put into buckets, and how far these are
// above the lowest bit of keys that differ in some bits.
static unsigned table_bits(const Sort *s, const Array *from) {
    if (scalar_is_float((ScalarType)from->elem)) return FLOAT_BITS;
    return s->width < 64 ? DIGIT : INT_BITS;
}

static LoopRef table_shift(const Sort *s, const Array *from, LoopRef bits) {
    LoopRef top = bit_length(s, s->word, bits);
    return as_shift(s, loop_sub(s->l->b, top, loop_int(s->l->b, table_bits(s, from))));
}

// Whether no highest digit is that of too many in the sample.
static LoopRef has_even_digits(const Sort *s, const Array *from, LoopRef bits) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    LoopRef size = loop_int(b, BUCKETS);
    const Array *counts = sort_numbers(s, size);
    count_sample(s, from, table_shift(s, from, bits), counts, size);
    Carry c;
    LoopRef largest = sort_open_fold(s, &c, loop_int(b, 0), size);
    LoopRef count = loop_load(l, counts, &c.index);
    largest = sort_close_fold(s, &c, loop_max(b, largest, count));
    return loop_le(b, largest, loop_int(b, SAMPLE / LARGEST));
}

// Whether there are many, and buckets take two passes less than all digits would; or,
// of words, as many, of which but one goes through memory.
static LoopRef is_worth_it(const Sort *s, const Array *from, LoopRef bits) {
    enum { LEAST_DIGITS = 3 };
    LoopBuilder *b = s->l->b;
    LoopRef digits = sort_count_digits(s, bits);
    if (s->width == 64) {
        LoopRef each = loop_quot(b, s->n, loop_int(b, BUCKETS));
        LoopRef least = loop_add(b, wanted_digits(s, each), loop_int(b, 3));
        LoopRef many = loop_le(b, loop_int(b, MANY), s->n);
        return loop_and(b, many, loop_le(b, least, digits));
    }
    LoopRef many = loop_le(b, loop_int(b, MANY_WORDS), s->n);
    many = loop_and(b, many, loop_le(b, loop_int(b, LEAST_DIGITS), digits));
    if (table_bits(s, from) != DIGIT) return many;
    LoopRef no = loop_const(b, SCALAR_BOOL, 0);
    LoopBody *bodies[2];
    loop_open(b, NULL, 0);
    LoopRef is_even = has_even_digits(s, from, bits);
    bodies[0] = loop_close(b, &is_even, 1);
    loop_open(b, NULL, 0);
    bodies[1] = loop_close(b, &no, 1);
    return sort_if(b, many, bodies, SCALAR_BOOL);
}

// Returns whether no bucket was too large.
static LoopRef try_buckets(const Sort *s, Array *from, Array *const *to,
                           Array *const *spares, LoopRef bits) {
    Lower *l = s->l;
    LoopBuilder *b = l->b;
    unsigned width = table_bits(s, from);
    LoopRef shift = table_shift(s, from, bits);
    Sort first = *s;
    if (width != DIGIT) {
        first.mask = word_const(s, (1u << width) - 1);
        first.table = make_table(&first, from, shift, loop_int(b, 1 << width));
    }
    SortColumn columns[SORT_MOST_COLUMNS];
    for (uint32_t k = 0; k < s->columns; k++)
        columns[k] = (SortColumn){k == SORT_KEYS ? from : NULL, spares[k]};
    sort_count(&first, columns, shift, true);
    LoopRef limit = loop_quot(b, s->n, loop_int(b, LARGEST));
    LoopRef is_even = loop_le(b, find_largest(s), limit);
    When when = loop_open_if(l, is_even);
    sort_move(&first, columns, shift, true);
    sort_buckets(s, spares, to);
    loop_close_if(l, when);
    return is_even;
}

LoopRef sort_by_buckets(const Sort *s, Array *from, Array *const *to,
                        Array *const *spares, LoopRef bits) {
    LoopBuilder *b = s->l->b;
    LoopRef no = loop_const(b, SCALAR_BOOL, 0);
    if (s->order != ORDER_PARALLEL || s->l->is_for_gpus || s->width < 32) return no;
    LoopBody *bodies[2];
    loop_open(b, NULL, 0);
    LoopRef is_done = try_buckets(s, from, to, spares, bits);
    bodies[0] = loop_close(b, &is_done, 1);
    loop_open(b, NULL, 0);
    bodies[1] = loop_close(b, &no, 1);
    return sort_if(b, is_worth_it(s, from, bits), bodies, SCALAR_BOOL);
}
