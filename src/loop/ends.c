// SPDX-License-Identifier: Apache-2.0
//
// Ends of rows as vectors. The first turns of a row and the last wrap or clamp
// (borders.c), and are a loop of their own, which is as long as one vector at each end
// where the row has turns enough. Here each of these vectors becomes a loop of as many
// turns as there are lanes, in which what the number of a turn decides is said by that
// number alone, as lanes want it:
//
//     for(2 lanes) {|t| x = t < lanes ? t : t + middle; y = x < 1 ? n - 1 : x - 1;
//     a[y]}
//
// becomes, and likewise for the last turns,
//
//     for(lanes) {|t| t < 1 ? a[n - 1] : a[t - 1]}
//
// To find that out, whatever integers follow from the number of a turn are computed for
// each lane: where loads go to they are places in a row, or one, but for a few lanes.
// Shorter rows have both ends one by one, as before. Each turn does what it did.
#include "loop/copy.h"
#include "loop/depend.h"
#include "loop/passes.h"

// ---- which turns --------------------------------------------------------------------

typedef struct Turn {
    LoopBuilder *b;
    const LoopBody *body;
    Map bound, varies; // in it; of that, from turn to turn
    Map numbers;    // integers and conditions that follow from the number of the turn
    uint32_t bytes; // of the other values; 0: none is known
} Turn;

static bool is_in(const Map *map, LoopRef ref) {
    uint64_t known;
    return map_get(map, ref, &known);
}

static bool is_elem(const Turn *t, LoopRef ref, ScalarType elem) {
    LoopType type = loop_type(t->b, ref);
    return type.kind == LOOP_IS_SCALAR && type.elem == elem;
}

static bool is_choice(const LoopStm *stm) {
    return loop_is_choice(stm) && stm->out_count == 1;
}

// The first of the args that say where.
static uint32_t first_place(const LoopStm *stm) {
    if (stm->op == LOOP_LOAD) return 1;
    return stm->op == LOOP_STORE ? 2 : stm->arg_count;
}

// An arg that is no place, or what a choice is of; 0: there are no more.
static LoopRef operand(const LoopStm *stm, uint32_t i) {
    uint32_t args = first_place(stm);
    if (i < args) return stm->args[i];
    return stm->op == LOOP_IF && i < args + 2 ? stm->bodies[i - args]->results[0] : 0;
}

static bool is_number(const Turn *t, const LoopStm *stm) {
    if ((stm->op != LOOP_SCALAR && !is_choice(stm)) ||
        (!is_elem(t, stm->outs[0], SCALAR_I64) &&
         !is_elem(t, stm->outs[0], SCALAR_BOOL)))
        return false;
    for (uint32_t i = 0; operand(stm, i) != 0; i++)
        if (is_in(&t->bound, operand(stm, i)) && !is_in(&t->numbers, operand(stm, i)))
            return false;
    return true;
}

// Whether a value can be in lanes that are as wide as the others.
static bool suits_value(Turn *t, LoopRef ref) {
    LoopType type = loop_type(t->b, ref);
    uint32_t bytes = scalar_info[type.elem].bytes;
    if (type.elem == SCALAR_BOOL || !is_in(&t->varies, ref))
        return type.kind == LOOP_IS_SCALAR || !is_in(&t->varies, ref);
    if (t->bytes == 0) t->bytes = bytes;
    return t->bytes == bytes && !is_in(&t->numbers, ref);
}

static bool suits_stm(Turn *t, const LoopStm *stm) {
    bool ok = stm->op == LOOP_SCALAR || stm->op == LOOP_LOAD || stm->op == LOOP_STORE ||
              is_choice(stm);
    for (uint32_t i = 0; ok && operand(stm, i) != 0; i++)
        ok = suits_value(t, operand(stm, i));
    for (uint32_t i = 0; ok && i < stm->out_count; i++)
        ok = suits_value(t, stm->outs[i]);
    for (uint32_t i = first_place(stm); ok && i < stm->arg_count; i++)
        ok = !is_in(&t->varies, stm->args[i]) || is_in(&t->numbers, stm->args[i]);
    return ok;
}

// How many lanes turns of that body have; 0: it is not for this pass.
static uint32_t look_at(Turn *t, LoopBuilder *b, const LoopBody *body) {
    *t = (Turn){.b = b, .body = body};
    map_init(&t->bound, loop_notes(b->kernel));
    map_init(&t->varies, loop_notes(b->kernel));
    map_init(&t->numbers, loop_notes(b->kernel));
    loop_bind_body(&t->bound, body);
    map_set(&t->varies, body->params[0], 1);
    depend_spread(b, &t->varies, body);
    map_set(&t->numbers, body->params[0], 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (is_number(t, stm)) map_set(&t->numbers, stm->outs[0], 1);
        else if (!suits_stm(t, stm)) return 0;
    }
    return t->bytes == 4 || t->bytes == 8 ? b->kernel->vector_bytes / t->bytes : 0;
}

uint32_t loop_end_lanes(LoopBuilder *b, const LoopBody *turn) {
    Turn t;
    return b->kernel->vector_bytes > 0 ? look_at(&t, b, turn) : 0;
}

// ---- what lanes have ----------------------------------------------------------------

enum { MOST_WIDE = 24, MOST_VECTORS = 2 };

// One loop, and its vectors.
typedef struct Ends {
    RangeWalk *w;
    const LoopStm *loop;
    Turn turn;
    uint32_t lanes, vectors;
    LoopRef wide; // if this holds, it has as many turns; 0: in any case
    LoopRef from[MOST_WIDE], to[MOST_WIDE]; // values then are these
    uint32_t known;
    LoopCopier *in; // by lane of the vector at hand: what its numbers are
    bool differs;   // between lanes: a place, or a condition
} Ends;

// The lanes from `start` on, up to the next run, have places in a row, or one place.
typedef struct Runs {
    uint32_t count, start[2];
    bool grows[2];
} Runs;

static LoopRef in_lane(const Ends *e, uint32_t lane, LoopRef ref) {
    return loop_find(e->turn.b, loop_copy_of(&e->in[lane], ref));
}

// How much further on the next lane is: 0 or 1; -1: neither.
static int step_of(Ends *e, LoopRef ref, uint32_t lane) {
    RangeForm form;
    if (!range_difference(&e->w->r, in_lane(e, lane + 1, ref), in_lane(e, lane, ref), 0,
                          &form) ||
        form.count > 0 || form.base < 0 || form.base > 1)
        return -1;
    return (int)form.base;
}

static bool find_runs(Ends *e, LoopRef ref, Runs *runs) {
    *runs = (Runs){.count = 1};
    if (!is_in(&e->turn.varies, ref)) return true;
    for (uint32_t lane = 0; lane + 1 < e->lanes; lane++) {
        uint32_t last = runs->count - 1;
        int step = step_of(e, ref, lane);
        if (lane == runs->start[last]) runs->grows[last] = step == 1;
        if (step >= 0 && runs->grows[last] == (step == 1)) continue;
        if (runs->count == 2) return false;
        runs->start[runs->count++] = lane + 1;
    }
    return true;
}

// The first lane with another answer than the one before; `lanes`: all have one. False:
// it is not known in all, or changes more than once.
static bool find_change(Ends *e, LoopRef ref, uint32_t *at, bool *first) {
    uint64_t bits;
    *at = e->lanes;
    for (uint32_t lane = 0; lane < e->lanes; lane++) {
        if (!loop_is_known(e->turn.b, in_lane(e, lane, ref), &bits)) return false;
        if (lane == 0) *first = bits != 0;
        bool changed = (bits != 0) != *first;
        if (changed && *at == e->lanes) *at = lane;
        if (!changed && *at != e->lanes) return false;
    }
    return true;
}

// A condition on the number of the turn that other values depend on.
static bool is_asked(const Ends *e, LoopRef ref) {
    return is_in(&e->turn.numbers, ref) && is_in(&e->turn.varies, ref) &&
           is_elem(&e->turn, ref, SCALAR_BOOL);
}

static bool can_place(Ends *e, const LoopStm *stm) {
    uint32_t split = 0;
    Runs runs;
    for (uint32_t i = first_place(stm); i < stm->arg_count; i++) {
        if (!find_runs(e, stm->args[i], &runs)) return false;
        split += runs.count - 1;
    }
    e->differs = e->differs || split > 0;
    for (uint32_t i = 0; operand(stm, i) != 0; i++) {
        uint32_t at;
        bool first;
        if (!is_asked(e, operand(stm, i))) continue;
        if (!find_change(e, operand(stm, i), &at, &first)) return false;
        e->differs = e->differs || at < e->lanes;
    }
    return split <= (stm->op == LOOP_LOAD);
}

static LoopCopier copier_of(const Ends *e) {
    LoopCopier copier = loop_copier(e->turn.b);
    for (uint32_t i = 0; i < e->known; i++) loop_copy_as(&copier, e->from[i], e->to[i]);
    return copier;
}

// Computes the numbers of each lane of a vector. Returns whether they can be said by
// the number of the lane.
static bool compute_lanes(Ends *e, uint32_t vector) {
    const LoopBody *body = e->turn.body;
    LoopBuilder *b = e->turn.b;
    for (uint32_t lane = 0; lane < e->lanes; lane++) {
        e->in[lane] = copier_of(e);
        loop_copy_as(&e->in[lane], body->params[0],
                     loop_int(b, vector * e->lanes + lane));
        for (uint32_t i = 0; i < body->stms.len; i++)
            if (is_number(&e->turn, body->stms.data[i]))
                range_walk_stm(e->w, loop_copy_stm(&e->in[lane], body->stms.data[i]));
    }
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!is_number(&e->turn, body->stms.data[i]) &&
            !can_place(e, body->stms.data[i]))
            return false;
    return true;
}

// ---- vectors ------------------------------------------------------------------------

// The place of that run in a turn of the loop.
static LoopRef place_of(Ends *e, LoopCopier *turn, LoopRef ref, uint32_t run,
                        LoopRef number) {
    LoopBuilder *b = e->turn.b;
    Runs runs;
    find_runs(e, ref, &runs);
    if (!is_in(&e->turn.varies, ref)) return loop_copy_of(turn, ref);
    if (run >= runs.count) run = 0;
    LoopRef from = in_lane(e, runs.start[run], ref);
    if (!runs.grows[run]) return from;
    return loop_add(b, loop_sub(b, from, loop_int(b, runs.start[run])), number);
}

static LoopRef *args_of(Ends *e, LoopCopier *turn, const LoopStm *stm, uint32_t run,
                        LoopRef number) {
    LoopRef *args = arena_array(e->turn.b->arena, LoopRef, stm->arg_count);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        args[i] = i < first_place(stm) ? loop_copy_of(turn, stm->args[i])
                                       : place_of(e, turn, stm->args[i], run, number);
    return args;
}

static LoopRef load(Ends *e, LoopCopier *turn, const LoopStm *stm, uint32_t run,
                    LoopRef number) {
    return loop_emit1(e->turn.b, LOOP_LOAD, args_of(e, turn, stm, run, number),
                      stm->arg_count, loop_type(e->turn.b, stm->outs[0]));
}

static void put_load(Ends *e, LoopCopier *turn, const LoopStm *stm, LoopRef number) {
    LoopBuilder *b = e->turn.b;
    LoopType type = loop_type(b, stm->outs[0]);
    Runs runs = {.count = 1};
    for (uint32_t i = first_place(stm); i < stm->arg_count && runs.count == 1; i++)
        find_runs(e, stm->args[i], &runs);
    if (runs.count == 1) {
        loop_copy_as(turn, stm->outs[0], load(e, turn, stm, 0, number));
        return;
    }
    LoopRef c = loop_lt(b, number, loop_int(b, runs.start[1]));
    LoopBody *arms[2];
    for (uint32_t run = 0; run < 2; run++) {
        loop_open(b, NULL, 0);
        LoopRef loaded = load(e, turn, stm, run, number);
        arms[run] = loop_close(b, &loaded, 1);
    }
    LoopStm *made = loop_emit(b, LOOP_IF, &c, 1, &type, 1);
    loop_set_bodies(b, made, arms, 2);
    loop_copy_as(turn, stm->outs[0], made->outs[0]);
}

// The condition in terms of the number of the lane.
static LoopRef condition(Ends *e, LoopRef ref, LoopRef number) {
    LoopBuilder *b = e->turn.b;
    uint32_t at;
    bool first;
    find_change(e, ref, &at, &first);
    LoopRef change = loop_int(b, at);
    if (at == e->lanes) return loop_const(b, SCALAR_BOOL, first);
    return first ? loop_lt(b, number, change) : loop_le(b, change, number);
}

static void put_stm(Ends *e, LoopCopier *turn, const LoopStm *stm, LoopRef number) {
    LoopBuilder *b = e->turn.b;
    b->loc = stm->loc;
    for (uint32_t i = 0; operand(stm, i) != 0; i++)
        if (is_asked(e, operand(stm, i)))
            loop_copy_as(turn, operand(stm, i), condition(e, operand(stm, i), number));
    if (stm->op == LOOP_LOAD) put_load(e, turn, stm, number);
    else if (stm->op == LOOP_STORE)
        loop_emit(b, LOOP_STORE, args_of(e, turn, stm, 0, number), stm->arg_count, NULL,
                  0);
    else loop_append(b, loop_copy_stm(turn, stm));
}

// Appends the loop of one vector; false: it cannot be.
static bool put_vector(Ends *e, uint32_t vector) {
    LoopBuilder *b = e->turn.b;
    const LoopBody *body = e->turn.body;
    if (!compute_lanes(e, vector)) return false;
    LoopCopier turn = copier_of(e);
    LoopRef number = loop_open_turns(b);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_by_lane =
            is_number(&e->turn, stm) && is_in(&e->turn.varies, stm->outs[0]);
        if (!is_by_lane) put_stm(e, &turn, stm, number);
    }
    loop_close_turns(b, loop_int(b, e->lanes), ORDER_INDEPENDENT);
    return true;
}

// ---- loops --------------------------------------------------------------------------

static const LoopStm *def_of(Ends *e, LoopRef ref) {
    return range_value(&e->w->r, loop_find(e->turn.b, ref))->def;
}

// If the value is chosen by the condition: that is what it is where this holds.
static void note_wide(Ends *e, LoopRef ref) {
    const LoopStm *def = def_of(e, ref);
    if (def == NULL || !is_choice(def) ||
        !loop_same(e->turn.b, def->args[0], e->wide) || e->known == MOST_WIDE)
        return;
    e->from[e->known] = ref;
    e->to[e->known++] = def->bodies[0]->results[0];
}

static uint32_t vectors_of(const Ends *e, int64_t turns) {
    return turns % e->lanes == 0 && turns / e->lanes <= MOST_VECTORS
               ? (uint32_t)(turns / e->lanes)
               : 0;
}

// Finds of how many vectors the turns are, and on which condition; false: of none.
static bool find_vectors(Ends *e) {
    LoopBuilder *b = e->turn.b;
    const LoopBody *body = e->turn.body;
    LoopRef times = e->loop->args[0];
    uint64_t turns;
    if (loop_is_known(b, times, &turns)) {
        e->vectors =
            turns <= MOST_VECTORS * e->lanes ? vectors_of(e, (int64_t)turns) : 0;
        return e->vectors > 0;
    }
    const LoopStm *rest = def_of(e, times);
    if (rest == NULL || rest->op != LOOP_SCALAR || rest->scalar != OP_SUB) return false;
    const LoopStm *middle = def_of(e, rest->args[1]);
    RangeForm left;
    if (middle == NULL || !is_choice(middle) ||
        !range_difference(&e->w->r, rest->args[0], middle->bodies[0]->results[0], 0,
                          &left) ||
        left.count > 0 || left.base <= 0)
        return false;
    e->wide = middle->args[0];
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->arg_count; k++)
            if (!is_in(&e->turn.bound, body->stms.data[i]->args[k]))
                note_wide(e, body->stms.data[i]->args[k]);
    e->vectors = vectors_of(e, left.base);
    return e->vectors > 0;
}

// All vectors in a body of their own; NULL: they cannot be.
static LoopBody *make_vectors(Ends *e) {
    uint32_t known = e->w->r.facts.len;
    bool ok = true;
    LoopBody *made = loop_open(e->turn.b, NULL, 0);
    if (e->wide != 0) range_assume(&e->w->r, e->wide, true);
    for (uint32_t i = 0; i < e->vectors && ok; i++) ok = put_vector(e, i);
    range_forget(&e->w->r, known);
    loop_close(e->turn.b, NULL, 0);
    return ok && e->differs ? made : NULL;
}

static void keep_both(Ends *e, LoopBody *vectors, LoopStm *loop) {
    RangeWalk *w = e->w;
    LoopBody *arms[] = {vectors, loop_open(&w->b, NULL, 0)};
    loop_append(&w->b, loop);
    loop_close(&w->b, NULL, 0);
    LoopStm *branch = loop_emit(&w->b, LOOP_IF, &e->wide, 1, NULL, 0);
    loop_set_bodies(&w->b, branch, arms, 2);
}

static bool may_have_lanes(const LoopKernel *kernel, const LoopStm *loop) {
    return kernel->vector_bytes > 0 && loop->order != ORDER_SEQUENTIAL &&
           loop->number == 0 &&
           kernel->values.data[loop->args[0]].type.elem == SCALAR_I64;
}

static void leave_loop(RangeWalk *w, LoopStm *loop) {
    Ends e = {.w = w, .loop = loop};
    LoopBody *vectors = NULL;
    if (may_have_lanes(w->b.kernel, loop))
        e.lanes = look_at(&e.turn, &w->b, loop->bodies[0]);
    if (e.lanes > 0 && find_vectors(&e) && loop_can_pay(w, loop->bodies[0])) {
        e.in = arena_array(w->b.arena, LoopCopier, e.lanes);
        vectors = make_vectors(&e);
    }
    if (vectors == NULL) range_keep(w, loop);
    else if (e.wide != 0) keep_both(&e, vectors, loop);
    else
        for (uint32_t i = 0; i < vectors->stms.len; i++)
            range_keep(w, vectors->stms.data[i]);
}

// Whether it may be that it differs between lanes otherwise than by so much for each.
static bool may_differ(const LoopKernel *kernel, const LoopStm *stm) {
    if (stm->op != LOOP_SCALAR) return is_choice(stm);
    LoopType type = kernel->values.data[stm->outs[0]].type;
    return (type.elem == SCALAR_I64 || type.elem == SCALAR_BOOL) &&
           stm->scalar != OP_ADD && stm->scalar != OP_SUB && stm->scalar != OP_MUL;
}

// What find_vectors asks of the number of turns, as far as it is seen without ranges.
static bool may_be_vectors(const LoopKernel *kernel, const LoopSite *sites,
                           LoopRef times) {
    const LoopValue *value = &kernel->values.data[times];
    if (value->is_const) return value->bits <= MOST_VECTORS * kernel->vector_bytes / 4;
    const LoopStm *rest = sites[times].def;
    if (rest == NULL || rest->op != LOOP_SCALAR || rest->scalar != OP_SUB) return false;
    const LoopStm *middle = sites[rest->args[1]].def;
    return middle != NULL && is_choice(middle);
}

static bool may_change(const LoopKernel *kernel, const LoopSite *sites,
                       const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    if (!may_have_lanes(kernel, loop) || !may_be_vectors(kernel, sites, loop->args[0]))
        return false;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (may_differ(kernel, body->stms.data[i])) return true;
    return false;
}

void loop_ends(LoopKernel *kernel) {
    enum { BUDGET = 2000 };
    if (!range_has_news(kernel) && !loop_kernel_has_for(kernel, may_change)) return;
    RangeWalk w = {.leave_loop = leave_loop, .budget = BUDGET};
    range_walk(&w, kernel);
}
