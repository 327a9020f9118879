// SPDX-License-Identifier: Apache-2.0
//
// Statements side by side: two maps, two reductions that associate alike, or two
// generates, of which neither needs the other and which share an array, become one with
// the results of both. To share one is to take its elements, or to look at some of them
// beside so many elements of others; of generates, to look at the one in the same
// place. The later one moves up to the earlier one, with the indices that it takes.
// Only straight code over scalars, so that all parts of it keep their speed; of maps
// also such maps of rows, which then stand in one body, side by side.
#include "opt/algebra.h"
#include "opt/fuse.h"

enum {
    MOST_JOINED = 96,     // statements in the bodies of one
    MOST_GENERATED = 640, // the same of generates
    MOST_RESULTS = 8,
    MOST_TRIED = 100 // statements before
};

static bool is_among(const CoreRef *some, uint32_t some_count, const CoreRef *refs,
                     uint32_t count) {
    for (uint32_t i = 0; i < some_count; i++)
        for (uint32_t k = 0; k < count; k++)
            if (some[i] == refs[k]) return true;
    return false;
}

// ---- order --------------------------------------------------------------------------

// Whether all that the statement uses is bound before number `at` of the open body.
static bool can_move_to(const Rewrite *rw, const CoreStm *stm, uint32_t at) {
    CoreProgram *p = rw->program;
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    CoreStm *only = (CoreStm *)stm;
    CoreBody body = {.stms = {&only, 1, 1}};
    CoreRefs uses = {0};
    core_free(p, &body, p->arena, &uses);
    Map late;
    uint64_t known;
    map_init(&late, core_notes(p));
    for (uint32_t i = at; i < here->stms.len; i++)
        for (uint32_t k = 0; k < here->stms.data[i]->out_count; k++)
            map_set(&late, here->stms.data[i]->outs[k], 1);
    for (uint32_t i = 0; i < uses.len; i++)
        if (map_get(&late, uses.data[i], &known)) return false;
    return true;
}

// Whether its errors, if there are any, stay where they are among others.
static bool keeps_errors(const Rewrite *rw, const CoreStm *stm, uint32_t at) {
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    const CoreStm *inner;
    if (fuse_nest_depth(stm, &inner) > 1)
        return true; // are_alike knows that it cannot fail
    if (!fuse_consumer_may_fail(rw, stm)) return true;
    for (uint32_t i = at; i < here->stms.len; i++)
        if (opt_is_effect(rw->program, here->stms.data[i])) return false;
    return true;
}

bool fuse_names_any(const CoreBody *body, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (is_among(stm->args, stm->arg_count, refs, count)) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (fuse_names_any(stm->bodies[k], refs, count)) return true;
    }
    return is_among(body->results, body->result_count, refs, count);
}

// Whether the bodies of `a` look at an array whose elements `b` takes.
static bool looks_at(const CoreStm *a, const CoreStm *b) {
    CoreFeeds feeds = core_feeds(b);
    for (uint32_t i = 0; i < a->body_count; i++)
        if (fuse_names_any(a->bodies[i], b->args, feeds.count)) return true;
    return false;
}

// ---- what is shared -----------------------------------------------------------------

// An array of at least that rank of which both take elements; 0: there is none.
static CoreRef find_shared(const Rewrite *rw, const CoreStm *a, const CoreStm *b,
                           uint32_t rank) {
    CoreFeeds x = core_feeds(a), y = core_feeds(b);
    for (uint32_t i = 0; i < x.count; i++)
        if (core_type(rw->program, a->args[i]).rank >= rank &&
            is_among(&a->args[i], 1, b->args, y.count))
            return a->args[i];
    return 0;
}

static bool share_arrays(const Rewrite *rw, const CoreStm *a, const CoreStm *b,
                         uint32_t depth) {
    if (find_shared(rw, a, b, depth) != 0) return true;
    return depth == 1 && (looks_at(a, b) || looks_at(b, a)) &&
           fuse_same_length(rw, a->args[0], b->args[0]);
}

// Whether the body looks at the element of the array that is in its own place.
static bool looks_at_own(const CoreBody *body, CoreRef array) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_INDEX && stm->args[0] == array &&
            stm->arg_count == body->param_count + 1 &&
            fuse_are_same(stm->args + 1, body->params, body->param_count))
            return true;
    }
    return false;
}

// Whether two generates are of one space, and look at one array in each place.
static bool share_space(const CoreStm *a, const CoreStm *b) {
    if (a->arg_count != b->arg_count || !fuse_are_same(a->args, b->args, a->arg_count))
        return false;
    const CoreBody *body = a->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_INDEX && looks_at_own(body, stm->args[0]) &&
            looks_at_own(b->bodies[0], stm->args[0]))
            return true;
    }
    return false;
}

// Whether the generate may be made with the one that is number `at` of the open body:
// it has the same space, which that one finds too large if it does, and cannot fail
// otherwise, or that one's elements would all have to be made before.
static bool keeps_order(Rewrite *rw, const CoreStm *stm, uint32_t at) {
    const CoreProgram *p = rw->program;
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    uint32_t most = scalar_info[core_type(p, here->stms.data[at]->outs[0]).elem].bytes;
    for (uint32_t k = 0; k < stm->out_count; k++)
        if (scalar_info[core_type(p, stm->outs[k]).elem].bytes > most) return false;
    return fuse_is_safe_here(rw, stm);
}

// Where in the open body, from number `at` on, the statement stands that nothing before
// it keeps from being at `at`; the length of the body: nowhere.
static uint32_t find_movable(const Rewrite *rw, const CoreStm *stm, uint32_t at) {
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    bool is_effect = opt_is_effect(rw->program, stm);
    if (!can_move_to(rw, stm, at)) return here->stms.len;
    for (uint32_t i = at; i < here->stms.len; i++) {
        if (here->stms.data[i] == stm) return i;
        if (is_effect && opt_is_effect(rw->program, here->stms.data[i])) break;
    }
    return here->stms.len;
}

uint32_t fuse_bring_indices(const Rewrite *rw, CoreRef array, uint32_t at) {
    CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    CoreStm *def = rewrite_def_here(rw, array), **stms = here->stms.data;
    if (def == NULL || def->op != OP_IOTA) return at;
    uint32_t from = find_movable(rw, def, at);
    if (from == here->stms.len) return at;
    for (; from > at; from--) stms[from] = stms[from - 1];
    stms[at] = def;
    return at + 1;
}

// The same for all that the statement takes.
static uint32_t bring_indices(const Rewrite *rw, const CoreStm *stm, uint32_t at) {
    CoreFeeds feeds = core_feeds(stm);
    for (uint32_t i = 0; i < feeds.count; i++)
        at = fuse_bring_indices(rw, stm->args[i], at);
    return at;
}

// The numbers in a row that stand before number `at` of the open body and are the same
// as what the array is; the array itself if there are none.
static CoreRef earlier_indices(const Rewrite *rw, CoreRef array, uint32_t at) {
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    const CoreStm *def = rewrite_def_here(rw, array);
    for (uint32_t i = 0; i < at && def != NULL && def->op == OP_IOTA; i++)
        if (cse_are_equal(rw->program, here->stms.data[i], def))
            return here->stms.data[i]->outs[0];
    return array;
}

// The statement with indices that stand before number `at`, where it takes such as do
// not: these might fail, and could not move up past what may.
static const CoreStm *take_earlier(Rewrite *rw, const CoreStm *stm, uint32_t at) {
    CoreStm *made = rewrite_copy(rw, stm);
    CoreFeeds feeds = core_feeds(made);
    made->args = arena_copy(rw->program->arena, made->args,
                            made->arg_count * sizeof *made->args);
    for (uint32_t i = feeds.first; i < feeds.first + feeds.count; i++)
        made->args[i] = earlier_indices(rw, made->args[i], at);
    return made;
}

// Moves the scalars that are computed behind number `at` up to it; returns likewise.
static uint32_t bring_scalars(const Rewrite *rw, uint32_t at) {
    CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    CoreStm **stms = here->stms.data;
    for (uint32_t i = at + 1; i < here->stms.len; i++) {
        CoreStm *stm = stms[i];
        bool is_scalar = core_op_operands(stm->op) > 0 || stm->op == OP_DIM;
        if (!is_scalar || opt_is_effect(rw->program, stm) || !can_move_to(rw, stm, at))
            continue;
        for (uint32_t k = i; k > at; k--) stms[k] = stms[k - 1];
        stms[at++] = stm;
    }
    return at;
}

static uint32_t rank_of_results(const CoreStm *stm, uint32_t depth) {
    if (stm->op == OP_GENERATE) return (uint32_t)stm->attrs[0];
    return stm->op == OP_MAP ? depth : 0;
}

// A nest of maps cannot fail: what stands between it and its new place would not know.
static bool is_simple(const Rewrite *rw, const CoreStm *stm, uint32_t *weight) {
    const CoreProgram *p = rw->program;
    uint32_t most = stm->op == OP_GENERATE ? MOST_GENERATED : MOST_JOINED;
    const CoreStm *inner;
    uint32_t depth = fuse_nest_depth(stm, &inner);
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (core_type(p, stm->outs[i]).rank != rank_of_results(stm, depth))
            return false;
    for (uint32_t i = 0; i < inner->body_count; i++) {
        uint32_t more = fuse_weight(p, inner->bodies[i]);
        if (more > most || (depth > 1 && fuse_may_fail(rw, inner->bodies[i])))
            return false;
        *weight += more;
    }
    return *weight <= most;
}

// ---- bodies -------------------------------------------------------------------------

typedef struct Joiner {
    CoreProgram *program;
    const CoreStm *of[2];
    CoreRefs arrays; // of both, each once
    uint32_t *at[2]; // by array of each: its index in arrays
} Joiner;

static void find_arrays(Joiner *j) {
    for (int side = 0; side < 2; side++) {
        uint32_t count = core_feeds(j->of[side]).count;
        j->at[side] = arena_array(j->program->arena, uint32_t, count);
        for (uint32_t i = 0; i < count; i++) {
            CoreRef array = j->of[side]->args[i];
            uint32_t k = 0;
            while (k < j->arrays.len && j->arrays.data[k] != array) k++;
            if (k == j->arrays.len) vec_push(j->program->arena, &j->arrays, array);
            j->at[side][i] = k;
        }
    }
}

// Fresh params like these values', `rank` lower.
static void add_params(Joiner *j, CoreRefs *params, const CoreRef *like, uint32_t count,
                       unsigned rank) {
    CoreProgram *p = j->program;
    for (uint32_t i = 0; i < count; i++) {
        CoreType type = core_type(p, like[i]);
        type.rank = (uint8_t)(type.rank - rank);
        vec_push(p->arena, params, core_value(p, type, 0));
    }
}

// The results that the body has for these args.
static void append_body(CoreBuilder *b, const CoreBody *body, const CoreRef *args,
                        CoreRefs *results_out) {
    Map map;
    map_init(&map, core_notes(b->program));
    for (uint32_t i = 0; i < body->param_count; i++)
        map_set(&map, body->params[i], args[i]);
    fuse_append(b, body, &map, results_out);
}

// (x..., y...) -> x op y, for both operators side by side.
static CoreBody *join_ops(Joiner *j) {
    CoreBuilder b = core_builder(j->program);
    CoreRefs params = {0}, results = {0};
    for (int operand = 0; operand < 2; operand++)
        for (int side = 0; side < 2; side++)
            add_params(j, &params, j->of[side]->outs, j->of[side]->out_count, 0);
    core_open(&b, params.data, params.len);
    uint32_t first = 0, width = params.len / 2;
    for (int side = 0; side < 2; side++) {
        uint32_t count = j->of[side]->out_count;
        CoreRefs args = {0};
        for (uint32_t i = 0; i < 2 * count; i++)
            vec_push(j->program->arena, &args,
                     params.data[first + i % count + i / count * width]);
        append_body(&b, j->of[side]->bodies[0], args.data, &results);
        first += count;
    }
    return core_close(&b, results.data, results.len);
}

// What one side makes of the rows: of a map or reduction the values of an element; with
// `so_far`, these joined to it.
static void append_side(Joiner *j, CoreBuilder *b, int side, const CoreRef *so_far,
                        const CoreRef *rows, CoreRefs *results_out) {
    const CoreStm *stm = j->of[side];
    CoreFeeds feeds = core_feeds(stm);
    CoreRefs args = {0}, own = {0};
    Arena *arena = j->program->arena;
    for (uint32_t i = 0; i < feeds.count; i++)
        vec_push(arena, &own, rows[j->at[side][i]]);
    bool has_acc = so_far != NULL && stm->body_count > 2;
    if (!has_acc && feeds.producer != NULL) {
        CoreRefs made = {0};
        append_body(b, feeds.producer, own.data, &made);
        own = made;
    }
    for (uint32_t i = 0; i < stm->out_count && so_far != NULL; i++)
        vec_push(arena, &args, so_far[i]);
    for (uint32_t i = 0; i < own.len; i++) vec_push(arena, &args, own.data[i]);
    if (so_far != NULL)
        append_body(b, stm->bodies[has_acc ? 2 : 0], args.data, results_out);
    else
        for (uint32_t i = 0; i < args.len; i++)
            vec_push(arena, results_out, args.data[i]);
}

static CoreBody *join_producers(Joiner *j, bool is_acc) {
    CoreBuilder b = core_builder(j->program);
    CoreRefs params = {0}, results = {0};
    for (int side = 0; side < 2 && is_acc; side++)
        add_params(j, &params, j->of[side]->outs, j->of[side]->out_count, 0);
    uint32_t width = params.len;
    add_params(j, &params, j->arrays.data, j->arrays.len, 1);
    core_open(&b, params.data, params.len);
    for (int side = 0; side < 2; side++) {
        const CoreRef *so_far = params.data + (side == 0 ? 0 : j->of[0]->out_count);
        append_side(j, &b, side, is_acc ? so_far : NULL, params.data + width, &results);
    }
    return core_close(&b, results.data, results.len);
}

// What both generates have in a place.
static CoreBody *join_elements(Joiner *j) {
    CoreBuilder b = core_builder(j->program);
    CoreRefs params = {0}, results = {0};
    const CoreBody *like = j->of[0]->bodies[0];
    add_params(j, &params, like->params, like->param_count, 0);
    core_open(&b, params.data, params.len);
    for (int side = 0; side < 2; side++)
        append_body(&b, j->of[side]->bodies[0], params.data, &results);
    return core_close(&b, results.data, results.len);
}

// ---- the statement ------------------------------------------------------------------

static CoreStm *join_generates(Rewrite *rw, const CoreStm *a, const CoreStm *b) {
    CoreProgram *p = rw->program;
    Joiner j = {.program = p, .of = {a, b}};
    CoreStm *made = rewrite_copy(rw, a);
    CoreRefs outs = {0};
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j.of[side]->out_count; i++)
            vec_push(p->arena, &outs, j.of[side]->outs[i]);
    made->outs = outs.data;
    made->out_count = outs.len;
    CoreBody *body = join_elements(&j);
    core_set_bodies(&rw->builder, made, &body, 1);
    return made;
}

static CoreStm *join(Rewrite *rw, const CoreStm *a, const CoreStm *b) {
    CoreProgram *p = rw->program;
    Joiner j = {.program = p, .of = {a, b}};
    find_arrays(&j);
    CoreStm *made = rewrite_copy(rw, a);
    CoreRefs args = {0}, outs = {0};
    for (uint32_t i = 0; i < j.arrays.len; i++)
        vec_push(p->arena, &args, j.arrays.data[i]);
    for (int side = 0; side < 2; side++) {
        const CoreStm *stm = j.of[side];
        for (uint32_t i = core_feeds(stm).count; i < stm->arg_count; i++)
            vec_push(p->arena, &args, stm->args[i]);
        for (uint32_t i = 0; i < stm->out_count; i++)
            vec_push(p->arena, &outs, stm->outs[i]);
    }
    made->args = args.data;
    made->arg_count = args.len;
    made->outs = outs.data;
    made->out_count = outs.len;
    bool commutes =
        a->attr_count > 1 && b->attr_count > 1 && a->attrs[1] != 0 && b->attrs[1] != 0;
    core_set_attrs(&rw->builder, made, (int32_t[]){(int32_t)j.arrays.len, commutes},
                   a->op == OP_MAP ? 1 : 2);
    CoreBody *bodies[3];
    uint32_t count = 0;
    if (a->op == OP_REDUCE) bodies[count++] = join_ops(&j);
    bodies[count++] = join_producers(&j, false);
    if (a->body_count > 2 || b->body_count > 2)
        bodies[count++] = join_producers(&j, true);
    core_set_bodies(&rw->builder, made, bodies, count);
    return made;
}

// Whether both share what makes it worth to join them, are simple enough, and are known
// to be of one shape.
static bool are_alike(Rewrite *rw, const CoreStm *a, const CoreStm *b) {
    uint32_t weight = 0;
    const CoreStm *inner;
    if (a->op != b->op || a->stamp != b->stamp ||
        a->out_count + b->out_count > MOST_RESULTS)
        return false;
    uint32_t depth = fuse_nest_depth(a, &inner);
    bool is_space = a->op == OP_GENERATE;
    if (depth != fuse_nest_depth(b, &inner) ||
        !(is_space ? share_space(a, b) : share_arrays(rw, a, b, depth)) ||
        !is_simple(rw, a, &weight) || !is_simple(rw, b, &weight))
        return false;
    if (is_space) return true;
    CoreRef shared = find_shared(rw, a, b, depth);
    return fuse_has_shape(rw, a, shared != 0 ? shared : a->args[0], depth) &&
           fuse_has_shape(rw, b, shared != 0 ? shared : b->args[0], depth);
}

// Joins the statement to number `at` of the open body, if it may.
static bool join_to(Rewrite *rw, const CoreStm *stm, uint32_t at) {
    CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    CoreStm *other = here->stms.data[at];
    bool is_space = stm->op == OP_GENERATE;
    if (!are_alike(rw, other, stm)) return false;
    at = is_space ? bring_scalars(rw, at) : bring_indices(rw, stm, at);
    if (!is_space) stm = take_earlier(rw, stm, at);
    if (!can_move_to(rw, stm, at) ||
        !(is_space ? keeps_order(rw, stm, at) : keeps_errors(rw, stm, at)))
        return false;
    here->stms.data[at] =
        is_space ? join_generates(rw, other, stm) : join(rw, other, stm);
    rewrite_note(rw, here->stms.data[at]);
    return true;
}

// A reduction goes to the first one that it can join, so that what needs its result may
// join others early, too; what makes arrays to the last one, before which these would
// only take memory.
bool fuse_beside(Rewrite *rw, const CoreStm *stm) {
    uint32_t end = rw->builder.open.data[rw->builder.open.len - 1]->stms.len;
    uint32_t count = end < MOST_TRIED ? end : MOST_TRIED;
    if (stm->op != OP_MAP && stm->op != OP_REDUCE && stm->op != OP_GENERATE)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (join_to(rw, stm, stm->op == OP_REDUCE ? end - count + i : end - 1 - i))
            return true;
    return false;
}
