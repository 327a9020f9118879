// SPDX-License-Identifier: Apache-2.0
//
// Loads from constant tables: an element at a known place is a constant, and any other
// is between the least and the greatest of the table.
#include "loop/range.h"

// The table that is loaded from; NULL: it is none.
static const LoopStm *table_of(Ranges *r, const LoopStm *load) {
    const LoopStm *def = range_value(r, loop_find(r->b, load->args[0]))->def;
    return load->op == LOOP_LOAD && def != NULL && def->op == LOOP_DATA ? def : NULL;
}

static ScalarType elem_of(const Ranges *r, const LoopStm *table) {
    return (ScalarType)loop_type(r->b, table->outs[0]).elem;
}

static int64_t size_of(const Ranges *r, const LoopStm *table) {
    return (int64_t)(table->text.len / scalar_info[elem_of(r, table)].bytes);
}

static uint64_t element(const Ranges *r, const LoopStm *table, int64_t at) {
    unsigned size = scalar_info[elem_of(r, table)].bytes;
    uint64_t bits = 0;
    for (unsigned i = size; i-- > 0;)
        bits = bits << 8 | (unsigned char)table->text.ptr[at * size + i];
    return bits;
}

static bool find_place(Ranges *r, const LoopStm *load, RangeForm *place) {
    *place = range_form(r, load->args[1]);
    for (uint32_t i = 2; i + 1 < load->arg_count; i += 2) {
        uint64_t stride;
        RangeForm index = range_form(r, load->args[i + 1]);
        if (!loop_is_known(r->b, load->args[i], &stride) ||
            !range_add(place, &index, (int64_t)stride))
            return false;
    }
    return true;
}

static bool is_within(Ranges *r, const RangeForm *place, int64_t size) {
    RangeForm room = {.base = size - 1};
    return range_prove(r, place) && range_add(&room, place, -1) &&
           range_prove(r, &room);
}

// The element as a number; false: it is none, or too large.
static bool number_at(const Ranges *r, const LoopStm *table, int64_t at,
                      int64_t *number_out) {
    ScalarType elem = elem_of(r, table);
    unsigned unused = 64 - 8u * scalar_info[elem].bytes;
    uint64_t bits = element(r, table, at);
    *number_out =
        scalar_is_signed(elem) ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return scalar_is_int(elem) && (scalar_is_signed(elem) || bits <= INT64_MAX);
}

static void learn_bounds(Ranges *r, const LoopStm *table, LoopRef out) {
    enum { MOST = 4096 }; // elements that are looked at
    int64_t least = INT64_MAX, most = INT64_MIN, size = size_of(r, table), number;
    if (size > MOST) return;
    for (int64_t i = 0; i < size; i++) {
        if (!number_at(r, table, i, &number)) return;
        if (number < least) least = number;
        if (number > most) most = number;
    }
    RangeForm low = {0}, high = {.base = most}, form = range_form(r, out);
    if (least == INT64_MIN) return;
    low.base = -least;
    if (range_add(&low, &form, 1)) range_learn(r, &low);
    if (range_add(&high, &form, -1)) range_learn(r, &high);
}

bool range_is_in_table(Ranges *r, const LoopStm *load) {
    const LoopStm *table = table_of(r, load);
    RangeForm place;
    return table != NULL && find_place(r, load, &place) &&
           is_within(r, &place, size_of(r, table));
}

LoopRef range_define_load(Ranges *r, const LoopStm *load) {
    const LoopStm *table = table_of(r, load);
    RangeForm place;
    if (table == NULL || size_of(r, table) == 0) return 0;
    if (find_place(r, load, &place) && place.count == 0 && place.base >= 0 &&
        place.base < size_of(r, table))
        return loop_const(r->b, elem_of(r, table), element(r, table, place.base));
    if (scalar_is_int(elem_of(r, table))) learn_bounds(r, table, load->outs[0]);
    return 0;
}
