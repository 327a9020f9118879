// SPDX-License-Identifier: Apache-2.0
//
// Forms, facts, and proofs that a form is not negative. A proof takes the latest atom
// of the form and replaces it by what bounds it: a fact on it, its two cases, or its
// type; and so on, but by no fact on what is being replaced. Fuel bounds the search.
#include "loop/range.h"

enum { FUEL = 96, DEEPEST = 16, MOST_FACTS = 64 }; // steps; in a row; tried in one

// No memory holds more elements.
#define MOST_ELEMENTS ((int64_t)1 << 60)

// ---- values -------------------------------------------------------------------------

RangeValue *range_new_value(Ranges *r, LoopRef ref) {
    while (r->values.len <= ref)
        vec_push(loop_notes(r->b->kernel), &r->values, (RangeValue){0});
    return &r->values.data[ref];
}

static ScalarType type_of(const Ranges *r, LoopRef ref) {
    return (ScalarType)loop_type(r->b, ref).elem;
}

bool range_is_int(const Ranges *r, LoopRef ref) {
    return loop_type(r->b, ref).kind == LOOP_IS_SCALAR &&
           scalar_is_int(type_of(r, ref));
}

// The constant as a number; false if it is above all i64.
static bool number_of(ScalarType type, uint64_t bits, int64_t *number_out) {
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    *number_out =
        scalar_is_signed(type) ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return scalar_is_signed(type) || bits <= INT64_MAX;
}

RangeForm range_form(Ranges *r, LoopRef ref) {
    RangeForm form = {0};
    uint64_t bits;
    ref = loop_find(r->b, ref);
    if (loop_is_known(r->b, ref, &bits) && number_of(type_of(r, ref), bits, &form.base))
        return form;
    const RangeForm *known = range_value(r, ref)->form;
    if (known != NULL) return *known;
    return (RangeForm){.count = 1, .terms = {{ref, 1}}};
}

// ---- forms --------------------------------------------------------------------------

// Takes the term at `at` out.
static void drop_term(RangeForm *form, uint32_t at) {
    form->count--;
    for (uint32_t i = at; i < form->count; i++) form->terms[i] = form->terms[i + 1];
}

// Adds a term whose place is not before *at, and leaves *at there.
static bool add_term(RangeForm *form, RangeTerm term, uint32_t *at) {
    while (*at < form->count && form->terms[*at].atom > term.atom) ++*at;
    if (*at < form->count && form->terms[*at].atom == term.atom) {
        int64_t *factor = &form->terms[*at].factor;
        if (__builtin_add_overflow(*factor, term.factor, factor)) return false;
        if (*factor == 0) drop_term(form, *at);
        return true;
    }
    if (form->count == RANGE_MOST_TERMS) return false;
    for (uint32_t i = form->count++; i > *at; i--) form->terms[i] = form->terms[i - 1];
    form->terms[*at] = term;
    return true;
}

// In both forms the atoms descend.
static bool add_terms(RangeForm *form, const RangeForm *other, int64_t factor) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < other->count; i++) {
        RangeTerm term = other->terms[i];
        if (__builtin_mul_overflow(term.factor, factor, &term.factor) ||
            (term.factor != 0 && !add_term(form, term, &at)))
            return false;
    }
    return true;
}

bool range_add(RangeForm *form, const RangeForm *other, int64_t factor) {
    int64_t more;
    return !__builtin_mul_overflow(other->base, factor, &more) &&
           !__builtin_add_overflow(form->base, more, &form->base) &&
           add_terms(form, other, factor);
}

// Adds factor * number to the base or, where that is too much, as much as there is room
// for: a form that is proved not to be negative may well be greater.
static bool raise_base(RangeForm *form, int64_t number, int64_t factor) {
    int64_t more;
    if (__builtin_mul_overflow(number, factor, &more)) {
        if ((number < 0) != (factor < 0)) return false;
        more = INT64_MAX;
    }
    if (!__builtin_add_overflow(form->base, more, &form->base)) return true;
    form->base = INT64_MAX;
    return more > 0;
}

// What is left to be proved once other >= 0 has been used so often.
static bool use_fact(RangeForm *form, const RangeForm *fact, int64_t times) {
    return raise_base(form, fact->base, -times) && add_terms(form, fact, -times);
}

RangeForm range_sum(Ranges *r, LoopRef ref) {
    const LoopStm *def = range_value(r, ref)->def;
    RangeForm form = range_form(r, ref);
    if (range_value(r, ref)->form != NULL || def == NULL || def->op != LOOP_SCALAR ||
        def->scalar != OP_ADD)
        return form;
    RangeForm sum = range_form(r, def->args[0]), other = range_form(r, def->args[1]);
    bool is_sum = range_add(&sum, &other, 1) && range_fits(r, &sum, SCALAR_I64);
    return is_sum ? sum : form;
}

bool range_difference(Ranges *r, LoopRef x, LoopRef y, int64_t less,
                      RangeForm *form_out) {
    *form_out = range_form(r, x);
    RangeForm other = range_form(r, y);
    return range_add(form_out, &other, -1) &&
           !__builtin_sub_overflow(form_out->base, less, &form_out->base);
}

// ---- facts --------------------------------------------------------------------------

void range_learn(Ranges *r, const RangeForm *form) {
    if (form->count == 0) return;
    RangeFact fact = {.form = *form};
    for (uint32_t i = 0; i < form->count; i++) {
        RangeValue *value = range_value(r, form->terms[i].atom);
        fact.before[i] = value->facts;
        value->facts = r->facts.len + 1;
    }
    vec_push(loop_notes(r->b->kernel), &r->facts, fact);
}

void range_sizes(Ranges *r, LoopRef buffer, const LoopRef *sizes, uint32_t rank,
                 bool is_everywhere) {
    RangeValue *array = range_value(r, buffer);
    array->sizes = sizes;
    array->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        RangeForm form = range_form(r, sizes[i]);
        range_learn(r, &form);
        if (!is_everywhere) continue;
        RangeValue *value = range_value(r, loop_find(r->b, sizes[i]));
        value->sizes = sizes;
        value->rank = rank;
    }
}

void range_alloc(Ranges *r, const LoopStm *alloc) {
    int64_t bytes = scalar_info[loop_type(r->b, alloc->outs[0]).elem].bytes;
    RangeForm size = range_form(r, alloc->args[0]);
    RangeForm left = {.base = PTRDIFF_MAX / bytes};
    range_sizes(r, alloc->outs[0], alloc->args, 1, false);
    if (range_add(&left, &size, -1)) range_learn(r, &left);
}

void range_learn_least(Ranges *r, LoopRef x, LoopRef y, int64_t more) {
    RangeForm form;
    if (range_difference(r, x, y, more, &form)) range_learn(r, &form);
}

void range_forget(Ranges *r, uint32_t count) {
    while (r->facts.len > count) {
        const RangeFact *fact = &r->facts.data[--r->facts.len];
        for (uint32_t i = 0; i < fact->form.count; i++)
            range_value(r, fact->form.terms[i].atom)->facts = fact->before[i];
    }
}

// The factor of the atom in a fact on it, and where the one before is.
static int64_t factor_in(const RangeFact *fact, LoopRef atom, uint32_t *before_out) {
    for (uint32_t i = 0;; i++) {
        *before_out = fact->before[i];
        if (fact->form.terms[i].atom == atom) return fact->form.terms[i].factor;
    }
}

bool range_bounds(Ranges *r, LoopRef atom, int64_t *least_out, int64_t *most_out) {
    bool has_least = false, has_most = false;
    uint32_t at = range_value(r, atom)->facts;
    for (unsigned tried = 0; at != 0 && tried < MOST_FACTS; tried++) {
        const RangeFact *fact = &r->facts.data[at - 1];
        int64_t factor = factor_in(fact, atom, &at), base = fact->form.base;
        if (fact->form.count != 1 || base == INT64_MIN) continue;
        if (factor == 1 && (!has_least || -base > *least_out)) *least_out = -base;
        if (factor == -1 && (!has_most || base < *most_out)) *most_out = base;
        has_least = has_least || factor == 1;
        has_most = has_most || factor == -1;
    }
    return has_least && has_most;
}

// ---- proofs -------------------------------------------------------------------------

static bool prove(Ranges *r, const RangeForm *form);

// Whether the fact is on something else that is being replaced. What a fact is on has
// its value.
static bool goes_back(const Ranges *r, const RangeFact *fact, LoopRef atom) {
    for (uint32_t i = 0; i < fact->form.count; i++) {
        LoopRef other = fact->form.terms[i].atom;
        if (other != atom && r->values.data[other].is_busy) return true;
    }
    return false;
}

// By facts: form >= 0 if |factor in it| * form - |factor in form| * it >= 0.
static bool prove_by_facts(Ranges *r, const RangeForm *form, RangeTerm term) {
    uint32_t at = range_value(r, term.atom)->facts;
    for (unsigned tried = 0; at != 0 && tried < MOST_FACTS; tried++) {
        const RangeFact *fact = &r->facts.data[at - 1];
        int64_t factor = factor_in(fact, term.atom, &at), times = term.factor;
        if ((factor < 0) != (times < 0) || factor == INT64_MIN || times == INT64_MIN ||
            goes_back(r, fact, term.atom))
            continue;
        RangeForm rest = *form;
        if (factor < 0) {
            factor = -factor;
            times = -times;
        }
        if (times % factor == 0) times /= factor;
        else if (!use_fact(&rest, form, -(factor - 1))) continue;
        if (use_fact(&rest, &fact->form, times) && prove(r, &rest)) return true;
    }
    return false;
}

static bool prove_by_cases(Ranges *r, const RangeForm *form, RangeTerm term) {
    if (range_value(r, term.atom)->either[0] == 0 || term.factor == INT64_MIN)
        return false;
    RangeValue value = *range_value(r, term.atom);
    uint32_t known = r->facts.len;
    for (int i = 0; i < 2; i++) {
        RangeForm rest = *form, one = range_form(r, value.either[i]);
        drop_term(&rest, 0);
        if (value.when != 0) range_assume(r, value.when, i == 0);
        bool ok = use_fact(&rest, &one, -term.factor) && prove(r, &rest);
        range_forget(r, known);
        if (!ok) return false;
    }
    return true;
}

int64_t range_least_of(ScalarType type) {
    return scalar_is_signed(type) ? INT64_MIN >> (64 - 8 * scalar_info[type].bytes) : 0;
}

int64_t range_most_of(ScalarType type) {
    unsigned width = 8u * scalar_info[type].bytes - scalar_is_signed(type);
    return width == 64 ? INT64_MAX : (int64_t)(UINT64_MAX >> (64 - width));
}

// Whether all that is known of it is the type: a size is bounded by what memory can
// hold if no other size of its array is 0.
static int64_t most_of_value(Ranges *r, LoopRef atom) {
    if (range_value(r, atom)->sizes == NULL) return range_most_of(type_of(r, atom));
    RangeValue value = *range_value(r, atom);
    for (uint32_t i = 0; i < value.rank; i++)
        if (!loop_same(r->b, value.sizes[i], atom) &&
            !range_is_at_least(r, value.sizes[i], 1))
            return INT64_MAX;
    return MOST_ELEMENTS;
}

static bool prove_by_type(Ranges *r, const RangeForm *form, RangeTerm term) {
    ScalarType type = type_of(r, term.atom);
    int64_t least = range_least_of(type);
    if (type == SCALAR_U64 && term.factor < 0) return false;
    int64_t most = term.factor < 0 ? most_of_value(r, term.atom) : 0;
    RangeForm rest = *form;
    drop_term(&rest, 0);
    return raise_base(&rest, term.factor > 0 ? least : most, term.factor) &&
           prove(r, &rest);
}

static bool prove(Ranges *r, const RangeForm *form) {
    if (form->count == 0) return form->base >= 0;
    if (r->fuel == 0 || r->depth == DEEPEST) return false;
    r->fuel--;
    r->depth++;
    RangeTerm term = form->terms[0];
    RangeValue *value = range_value(r, term.atom);
    bool was_busy = value->is_busy;
    value->is_busy = true;
    bool is_proved = prove_by_facts(r, form, term) || prove_by_cases(r, form, term) ||
                     prove_by_type(r, form, term);
    range_value(r, term.atom)->is_busy = was_busy;
    r->depth--;
    return is_proved;
}

bool range_prove(Ranges *r, const RangeForm *form) {
    if (r->is_proving) return prove(r, form); // what another proof wants to know
    r->is_proving = true;
    r->fuel = FUEL;
    bool is_proved = prove(r, form);
    r->is_proving = false;
    return is_proved;
}

bool range_fits(Ranges *r, const RangeForm *form, ScalarType type) {
    RangeForm above = {0}, below = {.base = range_most_of(type)},
              least = {range_least_of(type), 0, {{0}}};
    return use_fact(&above, form, -1) && use_fact(&above, &least, 1) &&
           range_prove(r, &above) && use_fact(&below, form, 1) &&
           range_prove(r, &below);
}

bool range_is_least(Ranges *r, LoopRef x, LoopRef y, int64_t more) {
    RangeForm form;
    return range_difference(r, x, y, more, &form) && range_prove(r, &form);
}

bool range_is_at_least(Ranges *r, LoopRef x, int64_t bound) {
    RangeForm form = range_form(r, x);
    return !__builtin_sub_overflow(form.base, bound, &form.base) &&
           range_prove(r, &form);
}
