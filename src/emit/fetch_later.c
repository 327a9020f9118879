// SPDX-License-Identifier: Apache-2.0
//
// What turns of a parallel loop read later. The phases of a scan go side by side: a
// turn makes the results of one block from what the caches still hold, then it sums up
// another block of the same array, so many elements further on. If the first part
// fetches what the second one reads, memory is read while it is written to.
//
// And keys of turns that go all over the place: a turn that takes some elements side by
// side and stores where these say waits for that, and processors look less far ahead
// than memory is away. So it fetches what lies a page further on.
#include "emit/vector.h"

// An index as a sum of values times constants, modulo 2^64, but for what loops within
// the turn count with.
enum { MOST_TERMS = 8, DEEPEST = 6 };

typedef struct Sum {
    const Walker *w;
    const LoopBody *turn; // NULL: what any loop counts with is a term
    LoopRef refs[MOST_TERMS];
    uint64_t factors[MOST_TERMS];
    uint32_t count;
    uint64_t constant;
    bool is_known;
} Sum;

static void add_term(Sum *s, LoopRef ref, uint64_t factor) {
    uint32_t i = 0;
    if (s->turn != NULL && walk_counts(s->turn, ref)) return;
    while (i < s->count && s->refs[i] != ref) i++;
    if (i == MOST_TERMS) {
        s->is_known = false;
        return;
    }
    if (i == s->count) s->factors[s->count++] = 0;
    s->refs[i] = ref;
    s->factors[i] += factor;
}

static void add(Sum *s, LoopRef ref, uint64_t factor, int depth) {
    const LoopValue *values = s->w->kernel->values.data, *value = &values[ref];
    const LoopStm *stm = s->w->made[ref];
    if (value->is_const) {
        s->constant += factor * value->bits;
        return;
    }
    bool is_op = stm != NULL && stm->op == LOOP_SCALAR && depth < DEEPEST &&
                 value->type.elem == SCALAR_I64;
    if (is_op && (stm->scalar == OP_ADD || stm->scalar == OP_SUB)) {
        add(s, stm->args[0], factor, depth + 1);
        add(s, stm->args[1], stm->scalar == OP_ADD ? factor : -factor, depth + 1);
    } else if (is_op && stm->scalar == OP_MUL && values[stm->args[1]].is_const) {
        add(s, stm->args[0], factor * values[stm->args[1]].bits, depth + 1);
    } else {
        add_term(s, ref, factor);
    }
}

// The place that a load or store says from that arg on, in elements.
static Sum place_of(const Walker *w, const LoopBody *turn, const LoopStm *stm,
                    uint32_t first) {
    const LoopValue *values = w->kernel->values.data;
    Sum sum = {.w = w, .turn = turn, .is_known = true};
    add(&sum, stm->args[first], 1, 0);
    for (uint32_t i = first + 1; i < stm->arg_count && sum.is_known; i += 2) {
        const LoopValue *stride = &values[stm->args[i]];
        sum.is_known = stride->is_const && values[stm->args[i + 1]].type.lanes == 0;
        if (sum.is_known) add(&sum, stm->args[i + 1], stride->bits, 0);
    }
    return sum;
}

static uint64_t factor_of(const Sum *s, LoopRef ref) {
    for (uint32_t i = 0; i < s->count; i++)
        if (s->refs[i] == ref) return s->factors[i];
    return 0;
}

static bool differs_by_constant(const Sum *x, const Sum *y) {
    bool does = x->is_known && y->is_known;
    for (uint32_t i = 0; i < x->count; i++)
        does = does && factor_of(y, x->refs[i]) == x->factors[i];
    for (uint32_t i = 0; i < y->count; i++)
        does = does && factor_of(x, y->refs[i]) == y->factors[i];
    return does;
}

// ---- what a later loop reads ---------------------------------------------------------

typedef struct Search {
    const LoopStm *load;
    Sum place;
    bool is_behind;     // the load
    uint64_t by, least; // elements; least: what else is near
} Search;

static void search(Search *s, const LoopBody *body) {
    const Walker *w = s->place.w;
    for (uint32_t i = 0; i < body->stms.len && s->by == 0; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count && s->by == 0; k++)
            search(s, stm->bodies[k]);
        if (stm == s->load) s->is_behind = true;
        if (!s->is_behind || stm->op != LOOP_LOAD || stm->args[0] != s->load->args[0])
            continue;
        Sum later = place_of(w, w->shared, stm, 1);
        uint64_t by = later.constant - s->place.constant;
        if (differs_by_constant(&s->place, &later) && by >= s->least && by <= INT32_MAX)
            s->by = by;
    }
}

uint64_t walk_later(const Walker *w, const LoopStm *load) {
    enum { NEAR_BYTES = 1 << 15 };
    uint32_t bytes = scalar_info[w->kernel->values.data[load->args[0]].type.elem].bytes;
    if (w->shared == NULL) return 0;
    Search s = {load, place_of(w, w->shared, load, 1), false, 0, NEAR_BYTES / bytes};
    if (s.place.is_known) search(&s, w->shared);
    return s.by * bytes;
}

// ---- keys ---------------------------------------------------------------------------

static bool is_made_in(const LoopBody *body, const LoopStm *made) {
    bool is = false;
    for (uint32_t i = 0; i < body->stms.len && !is; i++) {
        const LoopStm *stm = body->stms.data[i];
        is = stm == made;
        for (uint32_t k = 0; k < stm->body_count && !is; k++)
            is = is_made_in(stm->bodies[k], made);
    }
    return is;
}

// Whether a place depends on more of the turn than its number.
static bool depends(const Sum *place, const LoopBody *turn) {
    bool does = false;
    for (uint32_t i = 0; i < place->count; i++) {
        const LoopStm *made = place->w->made[place->refs[i]];
        does = does || (made != NULL && is_made_in(turn, made));
    }
    return does;
}

static bool stores_anywhere(const Walker *w, const LoopBody *body,
                            const LoopBody *turn) {
    bool does = false;
    for (uint32_t i = 0; i < body->stms.len && !does; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count && stm->op == LOOP_IF && !does; k++)
            does = stores_anywhere(w, stm->bodies[k], turn);
        if (stm->op != LOOP_STORE) continue;
        Sum place = place_of(w, NULL, stm, 2);
        does = does || depends(&place, turn);
    }
    return does;
}

const LoopStm *walk_find_key(const Walker *w, const LoopStm *loop) {
    enum { LEAST_BYTES = 16, LINE = 64, LONG = 128 };
    const LoopBody *turn = loop->bodies[0];
    const LoopStm *found = NULL;
    if (w->plan != NULL || loop->number > 0 || turn->stms.len > LONG) return NULL;
    for (uint32_t i = 0; i < turn->stms.len && found == NULL; i++) {
        const LoopStm *stm = turn->stms.data[i];
        if (stm->op != LOOP_LOAD || w->made[stm->args[0]] != NULL) continue;
        uint64_t bytes = scalar_info[walk_elem(w, stm->args[0])].bytes;
        Sum place = place_of(w, NULL, stm, 1);
        uint64_t by = bytes * factor_of(&place, turn->params[0]);
        if (place.is_known && by >= LEAST_BYTES && by <= LINE && !depends(&place, turn))
            found = stm;
    }
    return found != NULL && stores_anywhere(w, turn, turn) ? found : NULL;
}

void walk_fetch_key(Walker *w, const LoopStm *stm) {
    enum { PAGE = 4096 };
    if (stm != w->key) return;
    StrBuf place = strbuf(w->arena);
    for (uint32_t i = 2; i < stm->arg_count; i += 2)
        strbuf_printf(&place, " + %.*s * %.*s", STR_ARG(walk_value(w, stm->args[i])),
                      STR_ARG(walk_value(w, stm->args[i + 1])));
    walk_line(w, "__builtin_prefetch((const char *)&%.*s[%.*s%.*s] + %d);",
              STR_ARG(walk_value(w, stm->args[0])),
              STR_ARG(walk_value(w, stm->args[1])), STR_ARG(strbuf_done(&place)), PAGE);
}
