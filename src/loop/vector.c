// SPDX-License-Identifier: Apache-2.0
//
// Independent turns as lanes of vectors (docs/internals/vector.md): which loops, and
// how many lanes. What would not gain stays as it is.
#include "loop/vector.h"

#include "loop/copy.h"
#include "loop/machine.h"
#include "loop/passes.h"

// ---- what varies --------------------------------------------------------------------

static bool vary(Vector *v, LoopRef ref, bool does) {
    if (!does || v->varies[ref]) return false;
    v->varies[ref] = true;
    return true;
}

static bool vary_body(Vector *v, const LoopBody *body);

const LoopBody *vector_plain(const Vector *v, const LoopStm *apply) {
    enum { MOST_IN_PLAIN = 60 };
    const LoopBody *body = v->kernel->funs.data[apply->number].body;
    return loop_body_size(body) <= MOST_IN_PLAIN ? body : NULL;
}

// A function's values vary if they do so in one of its calls.
static bool vary_plain(Vector *v, const LoopStm *apply) {
    const LoopBody *body = vector_plain(v, apply);
    bool changed = false;
    if (body == NULL) return false;
    for (uint32_t i = 0; i < apply->arg_count; i++)
        changed = vary(v, body->params[i], v->varies[apply->args[i]]) || changed;
    return vary_body(v, body) || changed;
}

// State varies if it does so at first or after a turn. If the lanes end apart they
// still are in step while they are in the loop.
static bool vary_loop(Vector *v, const LoopStm *stm) {
    uint32_t first = stm->op == LOOP_FOR;
    const LoopBody *body = stm->bodies[stm->body_count - 1];
    bool apart = v->varies[first ? stm->args[0] : stm->bodies[0]->results[0]];
    bool changed = false;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        bool does = v->varies[stm->args[first + i]] || v->varies[body->results[i]];
        changed = vary(v, stm->outs[i], does || apart) || changed;
        for (uint32_t k = 0; k < stm->body_count; k++)
            changed = vary(v, stm->bodies[k]->params[first + i], does) || changed;
    }
    return changed;
}

static bool vary_stm(Vector *v, const LoopStm *stm) {
    bool changed = false, does = false;
    for (uint32_t k = 0; k < stm->body_count; k++)
        changed = vary_body(v, stm->bodies[k]) || changed;
    if (stm->op == LOOP_FOR || stm->op == LOOP_WHILE)
        return vary_loop(v, stm) || changed;
    if (stm->op == LOOP_APPLY) changed = vary_plain(v, stm);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        does = does || v->varies[stm->args[i]];
    for (uint32_t i = 0; i < stm->out_count; i++) {
        bool result = stm->op == LOOP_IF && (v->varies[stm->bodies[0]->results[i]] ||
                                             v->varies[stm->bodies[1]->results[i]]);
        changed = vary(v, stm->outs[i], does || result) || changed;
    }
    return changed;
}

// Returns whether something new was found to vary.
static bool vary_body(Vector *v, const LoopBody *body) {
    bool changed = false;
    for (uint32_t i = 0; i < body->stms.len; i++)
        changed = vary_stm(v, body->stms.data[i]) || changed;
    return changed;
}

// ---- what suits ---------------------------------------------------------------------

static bool is_store(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_STORE || stm->op == LOOP_ATOMIC;
}

static bool is_atomic(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_ATOMIC;
}

// Whether all lanes add one number to one place.
static bool is_tally(const Vector *v, const LoopStm *stm) {
    for (uint32_t i = 1; i < stm->arg_count; i++)
        if (v->varies[stm->args[i]]) return false;
    return stm->scalar == OP_ADD &&
           v->kernel->values.data[stm->args[1]].type.elem == SCALAR_I64;
}

// Memory, and values that have no lanes.
static bool suits_stm(const Vector *v, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopType type = v->kernel->values.data[stm->outs[i]].type;
        if (v->varies[stm->outs[i]] &&
            (type.kind != LOOP_IS_SCALAR || type.elem == SCALAR_F16))
            return false;
    }
    switch (stm->op) {
    case LOOP_SCALAR:
    case LOOP_LOAD:
    case LOOP_STORE:
    case LOOP_DATA:
    case LOOP_MARK:
    case LOOP_CHECK:
    case LOOP_APPLY:
    case LOOP_IF:
    case LOOP_WHILE: return true;
    case LOOP_FOR: return stm->order != ORDER_PARALLEL && stm->number == 0;
    case LOOP_ATOMIC: return is_tally(v, stm);
    default: return false;
    }
}

// Whether something may be stored in the same turn before that body of the statement
// runs: in another turn of a loop, or, where lanes go different ways, in the other arm.
// The second arm goes first if all that it does is to compute and to count.
static bool stores_before(const Vector *v, const LoopStm *stm, uint32_t body) {
    bool repeats = stm->op == LOOP_FOR || stm->op == LOOP_WHILE;
    if (stm->op == LOOP_IF && v->varies[stm->args[0]])
        return loop_has(stm->bodies[1 - body], body == 0 ? is_atomic : is_store, 0);
    return repeats && loop_has(stm->bodies[body], is_store, 0);
}

// `has_stored`: what runs before this. A turn that gives up must not have.
static bool suits(const Vector *v, const LoopBody *body, bool *has_stored) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (!suits_stm(v, stm) || (stm->op == LOOP_CHECK && *has_stored)) return false;
        bool before = *has_stored;
        for (uint32_t k = 0; k < stm->body_count; k++) {
            bool stored = before || stores_before(v, stm, k);
            if (!suits(v, stm->bodies[k], &stored)) return false;
            *has_stored = *has_stored || stored;
        }
        if (stm->op == LOOP_STORE || stm->op == LOOP_ATOMIC) *has_stored = true;
    }
    return true;
}

bool vector_analyse(Vector *v, const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    bool has_stored = false;
    v->varies[body->params[0]] = true;
    while (vary_body(v, body)) {
    }
    return v->kernel->values.data[body->params[0]].type.elem == SCALAR_I64 &&
           suits(v, body, &has_stored);
}

// ---- loops --------------------------------------------------------------------------

static uint32_t widest_lane(const Vector *v, const LoopBody *body) {
    uint32_t widest = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_number = stm->op == LOOP_LANES && stm->arg_count == 0;
        for (uint32_t k = 0; k < stm->out_count && !is_number; k++) {
            LoopType type = v->kernel->values.data[stm->outs[k]].type;
            if (type.lanes > 0 && scalar_info[type.elem].bytes > widest)
                widest = scalar_info[type.elem].bytes;
        }
        for (uint32_t k = 0; k < stm->body_count; k++) {
            uint32_t inner = widest_lane(v, stm->bodies[k]);
            if (inner > widest) widest = inner;
        }
    }
    return widest;
}

// Of the largest `while` in it; 0: there is none.
static uint32_t size_of_while(const LoopBody *body) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint32_t size = 0;
        for (uint32_t k = 0; k < stm->body_count; k++) {
            uint32_t inside = size_of_while(stm->bodies[k]);
            if (stm->op == LOOP_WHILE) size += loop_body_size(stm->bodies[k]);
            if (inside > size) size = inside;
        }
        if (size > most) most = size;
    }
    return most;
}

static bool is_one_of(const LoopStm *stm, const LoopOp *ops, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        if (stm->op == ops[k]) return true;
    return false;
}

static bool has_only(const LoopBody *body, const LoopOp *ops, uint32_t count) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!is_one_of(body->stms.data[i], ops, count)) return false;
    return true;
}

// In the turns of a fold so few that several vectors of each value have registers; of
// those before, such as what says where an element is, no more has to last than that.
enum { MOST_IN_FOLD = 12, MOST_AROUND = 24 };

// The loop whose turns wait for each other, if there is little more than that; or NULL.
static const LoopStm *find_fold(const Vector *v, const LoopBody *body) {
    static const LoopOp ops[] = {LOOP_SCALAR, LOOP_LOAD, LOOP_STORE, LOOP_CHECK,
                                 LOOP_FOR};
    const LoopStm *fold = NULL;
    if (body->stms.len > MOST_AROUND) return NULL;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (!is_one_of(stm, ops, 5) && !loop_is_choice(stm)) return NULL;
        if (stm->op != LOOP_FOR) continue;
        if (fold != NULL) return NULL;
        fold = stm;
    }
    bool is_fold = fold != NULL && fold->out_count > 0 && !v->varies[fold->args[0]];
    return is_fold ? fold : NULL;
}

static bool is_short(const LoopStm *fold) {
    static const LoopOp ops[] = {LOOP_SCALAR, LOOP_LOAD};
    return fold->bodies[0]->stms.len <= MOST_IN_FOLD &&
           has_only(fold->bodies[0], ops, 2);
}

// A few turns are one vector turn if they are short, or fold sums that have registers.
enum { MOST_AT_ONCE = 32, MOST_IN_TURN = 80, NOT_FOR_SUMS = 4 };

static bool is_at_once(const Vector *v, const LoopBody *body, const LoopValue *n,
                       uint32_t width) {
    uint64_t sums = 0, most_sums = machine_registers(v->bytes) - NOT_FOR_SUMS;
    if (!n->is_const || n->bits % width != 0 || n->bits > MOST_AT_ONCE) return false;
    if (n->bits == width) return true;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i]->op == LOOP_FOR) sums += body->stms.data[i]->out_count;
    return loop_body_size(body) <= MOST_IN_TURN ||
           (sums > 1 && sums * (n->bits / width) <= most_sums);
}

static bool is_few(const LoopKernel *kernel, LoopRef n, uint64_t few) {
    const LoopValue *value = &kernel->values.data[n];
    return value->is_const && value->bits < few;
}

// Whether something of that size is stored, or lanes are counted; else there is no use
// in as many lanes of it as a vector has.
static bool stores_width(const LoopKernel *kernel, const LoopBody *body,
                         uint32_t bytes) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        LoopType type = {0};
        if (stm->op == LOOP_ATOMIC) return true;
        if (stm->op == LOOP_STORE) type = kernel->values.data[stm->args[0]].type;
        if (stm->op == LOOP_STORE && type.elem != SCALAR_BOOL &&
            scalar_info[type.elem].bytes == bytes)
            return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (stores_width(kernel, stm->bodies[k], bytes)) return true;
    }
    return false;
}

static void clear_rep(Vector *v, LoopRef ref) {
    v->reps[ref] = (Rep){0};
}

static void clear_note(Vector *v, LoopRef ref) {
    v->varies[ref] = v->used[ref] = v->given[ref] = false;
}

typedef void Clear(Vector *v, LoopRef ref);

static void clear_refs(Vector *v, const LoopRef *refs, uint32_t count,
                       Clear *clear_ref) {
    for (uint32_t i = 0; i < count; i++) clear_ref(v, refs[i]);
}

// Clears what is noted of each value that the body binds or takes. Of others nothing
// is: a kernel has many loops, and more values.
static void clear(Vector *v, const LoopBody *body, Clear *clear_ref) {
    clear_refs(v, body->params, body->param_count, clear_ref);
    clear_refs(v, body->results, body->result_count, clear_ref);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        clear_refs(v, stm->args, stm->arg_count, clear_ref);
        clear_refs(v, stm->outs, stm->out_count, clear_ref);
        for (uint32_t k = 0; k < stm->body_count; k++)
            clear(v, stm->bodies[k], clear_ref);
        const LoopBody *plain = stm->op == LOOP_APPLY ? vector_plain(v, stm) : NULL;
        if (plain != NULL) clear(v, plain, clear_ref);
    }
}

// Of a vector. Rows of 16 bytes may be one, if there are no more.
enum { USUAL_BYTES = 32, LEAST_BYTES = 16 };
enum { FLIGHT = 4 }; // of vectors of a fold, or of a short `while`

// With so many lanes in a vector; NULL: they do not fit, or gain nothing.
static LoopBody *try_width(Vector *v, const LoopStm *loop, uint32_t width) {
    v->kernel->values.len = v->old; // without what the last attempt made
    v->b.same.len = v->old;
    v->b.open.len = 0;
    v->b.loc = (CoreLoc){0};
    clear(v, loop->bodies[0], clear_rep);
    const LoopValue *n = &v->kernel->values.data[loop->args[0]];
    bool at_once = is_at_once(v, loop->bodies[0], n, width);
    bool is_whole = at_once || v->bytes <= USUAL_BYTES || !n->is_const ||
                    n->bits > MOST_AT_ONCE || n->bits % width == 0;
    v->width = width;
    v->lanes = v->flight * (v->fold_bytes > 0 ? v->bytes / v->fold_bytes : width);
    if (v->lanes > LOOP_MOST_LANES) v->lanes = LOOP_MOST_LANES;
    v->at_once = at_once;
    if (at_once) v->lanes = (uint32_t)n->bits;
    v->weight = 1;
    v->scalar_cost = v->vector_cost = 0;
    LoopBody *body = vector_translate(v, loop);
    if (v->is_partial && !vector_suits_live(v, body)) return NULL;
    uint32_t widest = widest_lane(v, body);
    bool fits = width * widest == v->bytes && is_whole;
    bool gains = v->always || v->vector_cost < 0.7 * width * v->scalar_cost;
    return fits && gains ? body : NULL;
}

// With as many lanes as fit; NULL: none do, or they gain nothing.
static LoopBody *try_vectors(Vector *v, const LoopStm *loop) {
    uint32_t usual = v->bytes / 4; // lanes, of four bytes
    LoopBody *body = NULL;
    for (uint32_t width = v->bytes; width >= usual / 2 && body == NULL; width /= 2)
        if (width <= usual ||
            (!is_few(v->kernel, loop->args[0], width) &&
             stores_width(v->kernel, loop->bodies[0], v->bytes / width)))
            body = try_width(v, loop, width);
    return body;
}

static void note_uses(Vector *v, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) v->used[stm->args[k]] = true;
        for (uint32_t k = 0; k < stm->body_count; k++) note_uses(v, stm->bodies[k]);
        const LoopBody *plain = stm->op == LOOP_APPLY ? vector_plain(v, stm) : NULL;
        if (plain != NULL) note_uses(v, plain);
    }
    for (uint32_t i = 0; i < body->result_count; i++) v->used[body->results[i]] = true;
}

// Whether lanes load elements that lie side by side, or all the same.
static bool loads_next(const Vector *v, const LoopStm *load, LoopRef turn) {
    bool is_next = load->args[1] == turn;
    if (v->varies[load->args[0]] || (v->varies[load->args[1]] && !is_next))
        return false;
    for (uint32_t i = 2; i < load->arg_count; i++)
        if (v->varies[load->args[i]]) return false;
    return true;
}

// Whether the turns of a fold take so few registers that twice as many vectors of what
// it keeps have some, and all lanes in it are of one size, which is set.
static bool is_tiny(Vector *v, const LoopStm *fold, LoopRef index) {
    enum { MOST = 6, REGISTERS = 32 };
    static const LoopOp ops[] = {LOOP_SCALAR, LOOP_LOAD};
    const LoopBody *turn = fold->bodies[0];
    if (turn->stms.len > MOST || fold->out_count != 1 || !has_only(turn, ops, 2) ||
        machine_registers(v->bytes) < REGISTERS)
        return false;
    uint32_t elem = v->kernel->values.data[fold->outs[0]].type.elem;
    for (uint32_t i = 0; i < turn->stms.len; i++) {
        const LoopStm *stm = turn->stms.data[i];
        LoopRef out = stm->outs[0];
        if (v->varies[out] && v->kernel->values.data[out].type.elem != elem)
            return false;
        if (stm->op == LOOP_LOAD && !loads_next(v, stm, index)) return false;
    }
    v->fold_bytes = scalar_info[elem].bytes;
    return true;
}

// Of vectors of a fold; 0: several are not worth it.
static uint32_t flight_of_fold(Vector *v, const LoopStm *fold, LoopRef index) {
    uint32_t hidden = vector_chain_hides(v, fold->bodies[0]);
    if (hidden >= FLIGHT && is_tiny(v, fold, index)) return 2 * FLIGHT;
    return is_short(fold) || hidden >= 2 ? FLIGHT : 0;
}

// Turns that wait for something leave time for other vectors.
static uint32_t choose_flight(Vector *v, const LoopStm *loop) {
    uint32_t size = size_of_while(loop->bodies[0]);
    if (size > 0) return size <= MOST_IN_FOLD ? FLIGHT : 2;
    if (is_few(v->kernel, loop->args[0], MOST_AT_ONCE + 1)) return 1;
    const LoopStm *fold = find_fold(v, loop->bodies[0]);
    uint32_t flight =
        fold != NULL ? flight_of_fold(v, fold, loop->bodies[0]->params[0]) : 0;
    if (flight > 0) return flight;
    if (vector_halves_lines(v, loop->bodies[0])) return 2;
    bool has_room = machine_registers(v->bytes) == 32;
    return has_room && vector_waits(v, loop->bodies[0]) ? 2 : 1;
}

static void vectorise(Vector *v, LoopStm *loop) {
    if (!vector_analyse(v, loop)) return;
    const LoopValue *n = &v->kernel->values.data[loop->args[0]];
    bool is_short = n->is_const && n->bits <= MOST_AT_ONCE;
    if (v->flight == 0) {
        v->flight = choose_flight(v, loop);
        v->is_partial = !is_short && vector_may_be_partial(v, loop);
    }
    LoopBody *body = try_vectors(v, loop);
    if (v->is_partial && (body == NULL || (n->is_const && n->bits % v->lanes == 0))) {
        v->is_partial = false;
        body = try_vectors(v, loop);
    }
    while (body == NULL && is_short && v->bytes > LEAST_BYTES) {
        v->bytes /= 2;
        body = try_vectors(v, loop);
    }
    if (body == NULL) {
        v->kernel->values.len = v->old;
        return;
    }
    loop->number = v->lanes;
    LoopBody *bodies[] = {body, loop->bodies[0]};
    loop_set_bodies(&v->b, loop, bodies, v->is_partial ? 1 : 2);
}

// Room for what is noted of each value, which one loop after the other takes.
static void make_room(Vector *pass, uint32_t count) {
    if (count <= pass->room) return;
    Arena *notes = loop_notes(pass->kernel);
    pass->room = count + count / 2;
    pass->varies = arena_array(notes, bool, pass->room);
    pass->used = arena_array(notes, bool, pass->room);
    pass->given = arena_array(notes, bool, pass->room);
    pass->reps = arena_array(notes, Rep, pass->room);
}

// Gives the loop lanes if it can have them, in so many vectors at once, 0 being as many
// as are good for it. Returns how many.
static uint32_t make_lanes(Vector *pass, LoopStm *loop, uint32_t flight) {
    make_room(pass, pass->kernel->values.len);
    loop_catch_up(&pass->b);
    Vector v = *pass;
    v.flight = flight;
    v.old = v.b.old = v.kernel->values.len;
    clear(&v, loop->bodies[0], clear_note);
    note_uses(&v, loop->bodies[0]);
    Arena *notes = v.kernel->notes;
    ArenaMark mark = notes != NULL ? arena_mark(notes) : (ArenaMark){0};
    vectorise(&v, loop);
    if (notes != NULL) arena_back(notes, mark); // the next loop may have the room
    return loop->number == 0 ? 0 : v.flight;
}

// Leaves the loop with lanes a multiple of them. The turns that are left are a loop
// after it, with as many lanes as one vector has; `before` says how many turns go
// before.
static LoopStm *split_rest(LoopBuilder *b, LoopStm *loop, LoopBody **before) {
    LoopRef n = loop->args[0], lanes = loop_int(b, loop->number);
    loop_open(b, NULL, 0);
    LoopRef left = loop_rem(b, n, lanes), most = loop_sub(b, n, left);
    *before = loop_close(b, NULL, 0);
    const LoopBody *turn = loop->bodies[1];
    LoopRef index = loop_value(b, loop_type(b, turn->params[0]), 0);
    loop_open(b, &index, 1);
    LoopRef place = loop_add(b, index, most);
    LoopBody *rest = loop_close(b, NULL, 0);
    LoopCopier copier = loop_copier(b);
    map_set(&copier.copies, turn->params[0], place);
    for (uint32_t i = 0; i < turn->stms.len; i++)
        vec_push(b->arena, &rest->stms, loop_copy_stm(&copier, turn->stms.data[i]));
    LoopStm *after = arena_copy(b->arena, loop, sizeof *loop);
    after->number = 0;
    after->args = arena_copy(b->arena, &left, sizeof left);
    loop_set_bodies(b, after, &rest, 1);
    loop->args = arena_copy(b->arena, &most, sizeof most);
    return after;
}

// Gives the loop at `at` lanes; returns the place of the last statement that it became.
static uint32_t vectorise_at(Vector *pass, LoopBody *body, uint32_t at) {
    LoopKernel *kernel = pass->kernel;
    LoopStm *loop = body->stms.data[at];
    uint32_t flight = make_lanes(pass, loop, 0);
    const LoopValue *n = &kernel->values.data[loop->args[0]];
    bool is_whole =
        loop->body_count == 1 || (n->is_const && n->bits % loop->number == 0);
    if (flight < FLIGHT || is_whole) return at;
    LoopBody *before, old = *body;
    loop_catch_up(&pass->b);
    pass->b.loc = loop->loc;
    LoopStm *after = split_rest(&pass->b, loop, &before);
    make_lanes(pass, after, 1);
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    for (uint32_t i = 0; i < old.stms.len; i++) {
        for (uint32_t k = 0; k < before->stms.len && i == at; k++)
            vec_push(kernel->arena, &body->stms, before->stms.data[k]);
        vec_push(kernel->arena, &body->stms, old.stms.data[i]);
        if (i == at) vec_push(kernel->arena, &body->stms, after);
    }
    return at + before->stms.len + 1;
}

// The innermost loops that can; returns whether there is one with lanes now.
static bool vectorise_body(Vector *pass, LoopBody *body) {
    bool has_lanes = false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        bool inside = loop_has_lanes(stm);
        for (uint32_t k = 0; k < stm->body_count && !loop_has_lanes(stm); k++)
            inside = vectorise_body(pass, stm->bodies[k]) || inside;
        if (!inside && stm->op == LOOP_FOR && stm->order != ORDER_SEQUENTIAL &&
            !is_few(pass->kernel, stm->args[0], 8)) {
            i = vectorise_at(pass, body, i);
            inside = stm->number > 0;
        }
        has_lanes = has_lanes || inside;
    }
    return has_lanes;
}

Vector vector_pass(LoopKernel *kernel, uint32_t bytes) {
    return (Vector){.kernel = kernel,
                    .arena = kernel->arena,
                    .b = loop_builder(kernel),
                    .bytes = bytes};
}

bool vector_loop(Vector *pass, LoopStm *loop, uint32_t flight, bool always) {
    pass->always = always;
    return make_lanes(pass, loop, flight) != 0;
}

void loop_vector(LoopKernel *kernel) {
    uint32_t bytes = machine_vector_bytes();
    if (bytes > 0) vector_run(kernel, bytes, false);
}

static void note_sizes(const LoopKernel *kernel, const LoopBody *body,
                       uint64_t *sizes) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_ALLOC && kernel->values.data[stm->args[0]].is_const)
            sizes[stm->outs[0]] = kernel->values.data[stm->args[0]].bits;
        for (uint32_t k = 0; k < stm->body_count; k++)
            note_sizes(kernel, stm->bodies[k], sizes);
    }
}

void vector_run(LoopKernel *kernel, uint32_t bytes, bool always) {
    Vector pass = vector_pass(kernel, bytes);
    pass.always = always;
    pass.sized = kernel->values.len;
    uint64_t *sizes = arena_array(loop_notes(kernel), uint64_t, pass.sized);
    pass.sizes = sizes;
    bool has_lanes = false;
    for (uint32_t i = 0; i < kernel->funs.len; i++) {
        note_sizes(kernel, kernel->funs.data[i].body, sizes);
        has_lanes = vectorise_body(&pass, kernel->funs.data[i].body) || has_lanes;
    }
    note_sizes(kernel, kernel->root, sizes);
    has_lanes = vectorise_body(&pass, kernel->root) || has_lanes;
    if (!has_lanes) return;
    loop_catch_up(&pass.b);
    loop_tidy(&pass.b);
}
