// SPDX-License-Identifier: Apache-2.0
//
// How far from its index a generate looks: `if i == 0 then n - 1 else i - 1` is i - 1
// but for the first i, `i64.min (i + 1) (n - 1)` and `(i + 1) % n` are i + 1 but for
// the last one. Away from the ends comparisons of i with what is near an end are
// decided, and i with little added is its own remainder.
#include "opt/fuse.h"

typedef FuseForm Form;

typedef struct Ends {
    const Rewrite *defs;
    const FuseState *states;
    const CoreStm *generate;
    uint32_t first, last; // i is none of so many at that end; or it is
    enum { INSIDE, AT_FIRST, AT_LAST } where;
    int64_t at; // that one of them, from there
} Ends;

// How many indices there are.
static FuseSize length_of(const Ends *e) {
    FuseSize length = {.value = e->generate->args[0]};
    return fuse_find_size(e->defs, e->states, length);
}

static bool is_plain(FuseSize size) {
    return fuse_is_equal(size, (FuseSize){0});
}

// What is i plus something is that from the end.
static Form find_form(const Ends *e, CoreRef ref) {
    Form form = fuse_find_form(e->defs, e->states, e->generate, ref);
    if (e->where == INSIDE || form.index != 1) return form;
    form.index = 0;
    form.base += e->where == AT_FIRST ? e->at : -1 - e->at;
    if (e->where == AT_LAST) form.size = length_of(e);
    return form;
}

// ---- comparisons --------------------------------------------------------------------

// What a difference is at least, and at most.
typedef struct Bounds {
    int64_t low, high;
} Bounds;

// Where a form is: it is `base` behind the beginning, or behind the end, which is at
// least first + last + 1 behind the beginning; or behind i; or it is not known.
typedef enum Origin { BEGIN, INDEX, END, NOWHERE } Origin;

static Origin origin_of(const Ends *e, const Form *form) {
    if (form->index > 0) return form->index == 1 ? INDEX : NOWHERE;
    if (form->base < -FUSE_FARTHEST || form->base > FUSE_FARTHEST) return NOWHERE;
    if (is_plain(form->size)) return BEGIN;
    return fuse_is_equal(form->size, length_of(e)) ? END : NOWHERE;
}

// Of x - y.
static Bounds difference(const Ends *e, CoreRef x, CoreRef y) {
    Form a = find_form(e, x), b = find_form(e, y);
    Origin from_a = origin_of(e, &a), from_b = origin_of(e, &b);
    int64_t more = a.base - b.base;
    Bounds bounds = {INT64_MIN, INT64_MAX};
    if (from_a == NOWHERE || from_b == NOWHERE) return bounds;
    // How far the nearer of the two origins is from the other.
    int64_t between = from_a + from_b == BEGIN + INDEX ? e->first
                      : from_a + from_b == INDEX + END ? e->last + 1
                                                       : e->first + e->last + 1;
    if (from_a >= from_b) bounds.low = more + (from_a == from_b ? 0 : between);
    if (from_a <= from_b) bounds.high = more - (from_a == from_b ? 0 : between);
    return bounds;
}

typedef enum Answer { NO, YES, UNKNOWN } Answer;

static Answer answer(bool is_yes, bool is_no) {
    return is_yes ? YES : is_no ? NO : UNKNOWN;
}

enum { MOST_DEEP = 4 }; // tests that are joined in a test

static Answer decide(const Ends *e, CoreRef test, uint32_t depth) {
    const CoreStm *def = rewrite_def(e->defs, test);
    if (def == NULL || def->arg_count != 2) return UNKNOWN;
    if ((def->op == OP_AND || def->op == OP_OR) && depth < MOST_DEEP) {
        Answer x = decide(e, def->args[0], depth + 1);
        Answer y = decide(e, def->args[1], depth + 1);
        Answer strong = def->op == OP_AND ? NO : YES;
        return x == strong || x == y ? x : y == strong ? y : UNKNOWN;
    }
    if (core_type(e->defs->program, def->args[0]).elem != SCALAR_I64) return UNKNOWN;
    Bounds d = difference(e, def->args[0], def->args[1]);
    bool is_less = d.high<0, is_more = d.low> 0;
    switch ((int)def->op) {
    case OP_EQ: return answer(d.low == 0 && d.high == 0, is_less || is_more);
    case OP_NE: return answer(is_less || is_more, d.low == 0 && d.high == 0);
    case OP_LT: return answer(is_less, d.low >= 0);
    case OP_LE: return answer(d.high <= 0, is_more);
    }
    return UNKNOWN;
}

// ---- away from the ends -------------------------------------------------------------

// Whether it is a remainder by the number of indices, which is not 0 where there are
// any.
static bool is_modulo(const Ends *e, const CoreStm *stm) {
    FuseSize by = fuse_find_modulus(e->defs, e->states, e->generate, stm), none = {0};
    return !fuse_is_equal(by, none) && fuse_is_equal(by, length_of(e));
}

static bool is_index_inside(const Ends *e, Form form) {
    return form.index == 1 && -form.base <= (int64_t)e->first &&
           form.base <= (int64_t)e->last;
}

// Of what the remainder is taken, by how many indices there are; so many more are
// nothing.
static Form find_dividend(const Ends *e, const CoreStm *modulo) {
    Form form = fuse_find_form(e->defs, e->states, e->generate, modulo->args[0]);
    const CoreStm *sum = rewrite_def(e->defs, form.size.value);
    for (uint32_t i = 0; i < 2 && form.index == 0 && sum != NULL && sum->op == OP_ADD;
         i++) {
        Form more = fuse_find_form(e->defs, e->states, e->generate, sum->args[i]);
        Form rest = fuse_find_form(e->defs, e->states, e->generate, sum->args[1 - i]);
        if (more.index > 0 || !fuse_is_equal(more.size, length_of(e))) continue;
        rest.base += more.base + form.base;
        return rest;
    }
    return form;
}

// What the value is there, as far as that is decided; of so many that are in others.
static CoreRef settle_in(const Ends *e, CoreRef ref, uint32_t depth) {
    for (;;) {
        const CoreStm *def = rewrite_def(e->defs, ref);
        Answer is = UNKNOWN;
        if (def != NULL && def->op == OP_IF && def->out_count == 1)
            is = decide(e, def->args[0], 0);
        if (is != UNKNOWN) {
            ref = def->bodies[is == YES ? 0 : 1]->results[0];
            continue;
        }
        if (e->where == INSIDE && is_modulo(e, def) &&
            is_index_inside(e, find_dividend(e, def)))
            return ref;
        if (def == NULL || (def->op != OP_MIN && def->op != OP_MAX) ||
            core_type(e->defs->program, ref).elem != SCALAR_I64)
            return ref;
        if (depth == 0) return ref;
        CoreRef x = settle_in(e, def->args[0], depth - 1);
        CoreRef y = settle_in(e, def->args[1], depth - 1);
        Bounds d = difference(e, x, y);
        if (d.low < 0 && d.high > 0) return ref;
        bool is_first = d.low >= 0 ? def->op == OP_MAX : def->op == OP_MIN;
        ref = is_first ? x : y;
    }
}

static CoreRef settle(const Ends *e, CoreRef ref) {
    return settle_in(e, ref, MOST_DEEP);
}

static bool is_near(const Ends *e, CoreRef ref, int64_t *by_out) {
    ref = settle(e, ref);
    const CoreStm *def = rewrite_def(e->defs, ref);
    Form form = is_modulo(e, def) ? find_dividend(e, def) : find_form(e, ref);
    *by_out = form.base;
    return is_index_inside(e, form);
}

// ---- at the ends --------------------------------------------------------------------

// Whether it is made of i, by scalar operators that cannot fail, of which there are no
// more than that.
static bool is_made_of_index(const Ends *e, const Map *bound, CoreRef ref,
                             uint32_t *most) {
    const CoreStm *def = rewrite_def(e->defs, ref);
    const CoreProgram *p = e->defs->program;
    uint64_t known;
    if (ref == e->generate->bodies[0]->params[0] || !map_get(bound, ref, &known))
        return true;
    if (def == NULL || *most == 0) return false;
    --*most;
    bool is_choice = def->op == OP_IF && def->out_count == 1;
    bool is_scalar = core_op_info[def->op].kind <= KIND_SCALAR3;
    bool may_fail = opt_is_effect_itself(p, def) && !is_modulo(e, def);
    if (!is_choice && (!is_scalar || may_fail)) return false;
    for (uint32_t i = 0; i < def->arg_count; i++)
        if (!is_made_of_index(e, bound, def->args[i], most)) return false;
    for (uint32_t i = 0; i < def->body_count; i++)
        if (!is_made_of_index(e, bound, def->bodies[i]->results[0], most)) return false;
    return true;
}

// Whether it is i plus so much, or besides as many as there are, and of that the
// remainder by how many there are.
static bool is_around(const Ends *e, CoreRef ref, int64_t by) {
    const CoreStm *def = rewrite_def(e->defs, ref);
    if (!is_modulo(e, def)) return false;
    Form form = find_dividend(e, def);
    return form.index == 1 && form.base == by;
}

// Notes what it is at that element near an end, i plus so much, if that is known.
static void find_end(const Ends *e, CoreRef ref, FuseOffset *offset, int64_t *by_out) {
    bool is_first = e->where == AT_FIRST;
    ref = settle(e, ref);
    Form form = find_form(e, ref);
    Origin origin = origin_of(e, &form), near = is_first ? BEGIN : END;
    *by_out = form.base - (is_first ? e->at : -1 - e->at);
    offset->knows_ends &= origin == near;
    offset->goes_around &=
        (*by_out == offset->by && origin != NOWHERE) || is_around(e, ref, offset->by);
}

static void find_ends(Ends e, CoreRef ref, FuseOffset *offset) {
    offset->knows_ends = offset->goes_around = true;
    for (e.where = AT_FIRST, e.at = 0; e.at < (int64_t)e.first; e.at++)
        find_end(&e, ref, offset, &offset->first_by[e.at]);
    for (e.where = AT_LAST, e.at = 0; e.at < (int64_t)e.last; e.at++)
        find_end(&e, ref, offset, &offset->last_by[e.at]);
}

bool fuse_find_offset(const Rewrite *defs, const FuseState *states,
                      const CoreStm *generate, const Map *bound, CoreRef ref,
                      FuseOffset *offset_out) {
    static const uint32_t ends[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1},
                                       {2, 0}, {0, 2}, {2, 2}};
    uint32_t most = 32;
    for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        Ends e = {.defs = defs,
                  .states = states,
                  .generate = generate,
                  .first = ends[i][0],
                  .last = ends[i][1]};
        FuseOffset offset = {.first = e.first, .last = e.last};
        if (!is_near(&e, ref, &offset.by)) continue;
        find_ends(e, ref, &offset);
        *offset_out = offset;
        return is_made_of_index(&e, bound, ref, &most);
    }
    return false;
}

bool fuse_are_alike(const Rewrite *defs, CoreRef a, CoreRef b) {
    const CoreStm *x = rewrite_def(defs, a), *y = rewrite_def(defs, b);
    if (a == b) return true;
    if (x == NULL || y == NULL || x->op != y->op || x->out_count != 1 ||
        core_type(defs->program, a).elem != core_type(defs->program, b).elem)
        return false;
    CoreOpKind kind = core_op_info[x->op].kind;
    if (x->op != OP_IF && kind > KIND_SCALAR3) return false;
    uint32_t count = x->arg_count;
    bool is_same = true,
         is_swapped = (core_op_info[x->op].flags & OP_COMMUTES) != 0 && count == 2;
    for (uint32_t i = 0; i < count; i++)
        is_same = is_same && fuse_are_alike(defs, x->args[i], y->args[i]);
    for (uint32_t i = 0; i < count && !is_same && is_swapped; i++)
        is_swapped = fuse_are_alike(defs, x->args[i], y->args[1 - i]);
    for (uint32_t i = 0; i < x->body_count && is_same; i++)
        is_same =
            fuse_are_alike(defs, x->bodies[i]->results[0], y->bodies[i]->results[0]);
    return is_same || is_swapped;
}

// ---- at one place -------------------------------------------------------------------

typedef struct Emitter {
    CoreBuilder *b;
    const Rewrite *defs;
    Map at; // value -> what it is there
} Emitter;

static CoreRef emit(Emitter *e, CoreRef ref);

static CoreRef emit_scalar(Emitter *e, const CoreStm *def) {
    CoreRef *args = arena_array(e->b->program->arena, CoreRef, def->arg_count);
    CoreType type = core_type(e->b->program, def->outs[0]);
    for (uint32_t i = 0; i < def->arg_count; i++) args[i] = emit(e, def->args[i]);
    if (def->op == OP_MOD) // by how many there are, which may be none
        args[1] = core_op2(e->b, OP_MAX, args[1], core_i64(e->b->program, 1));
    return core_emit(e->b, def->op, args, def->arg_count, &type, 1)->outs[0];
}

static CoreRef emit(Emitter *e, CoreRef ref) {
    uint64_t known;
    if (!map_get(&e->at, ref, &known)) return ref; // of outside
    if (known != 0) return (CoreRef)known;
    const CoreStm *def = rewrite_def(e->defs, ref);
    CoreRef made;
    if (def->op == OP_IF) {
        CoreRef holds = emit(e, def->args[0]);
        CoreRef yes = emit(e, def->bodies[0]->results[0]);
        made = core_select(e->b, holds, yes, emit(e, def->bodies[1]->results[0]));
    } else {
        made = emit_scalar(e, def);
    }
    map_set(&e->at, ref, made);
    return made;
}

static void note_unmade(void *data, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) map_set(data, stm->outs[i], 0);
}

CoreRef fuse_emit_at(CoreBuilder *b, const Rewrite *defs, const CoreStm *generate,
                     CoreRef ref, CoreRef i) {
    Emitter e = {.b = b, .defs = defs};
    map_init(&e.at, core_notes(b->program));
    core_walk(generate->bodies[0], note_unmade, &e.at);
    map_set(&e.at, generate->bodies[0]->params[0], i);
    return emit(&e, ref);
}
