// SPDX-License-Identifier: Apache-2.0
//
// Results that a loop hands on stay where its turns made them. Buffers that turns swap
// (memory.c) are private, and what the last turn made is copied to be a result:
//
//     a = alloc(n); b = alloc(n)           a = result[0](n); b = spare[0](n)
//     r, _, _ = for(k, s, a, b) ..         r, _, _ = for(k, s, a, b) ..
//     o = result[0](n)                     o = if(0 < k) {-> r} {
//     for i < n {o[i] = r[i]}                for i < n {a[i] = s[i]}
//     -> o                                   -> a }
//                                          -> o
//
// A result may lie in the memory of RESULT or of its spare, so both are made as such,
// and nothing is copied where a turn was taken. Likewise one buffer that stays in
// place. Where that is an owned parameter's, it is the result as it is. It runs when
// the passes that make several turns of one, or loops of loops, are through.
#include <string.h>

#include "loop/copy.h"
#include "loop/passes.h"

enum { MOST_PLACES = 2 };

// What defines a value.
typedef struct Def {
    const LoopStm *stm; // of which it is a result, or of whose turns a parameter
    uint32_t number;    // which
    bool is_param;
} Def;

typedef struct Settler {
    LoopBuilder *b;
    LoopBody *root;
    Def *defs;       // by LoopRef; without `stm`: parameters of root code, or none
    bool *is_seen;   // by LoopRef: the walk has come by
    uint32_t values; // when these were made
    uint32_t *uses;  // by LoopRef, of what RESULTs there were at first give
    LoopStm *places[MOST_PLACES]; // the ALLOCs that turns hand on
    uint32_t count;
    LoopRef owned; // the parameter that is to be the result; or 0
} Settler;

// ---- what defines what --------------------------------------------------------------

static void note_defs(Settler *s, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            s->defs[stm->outs[k]] = (Def){stm, k, false};
        for (uint32_t k = 0; k < stm->body_count; k++) {
            const LoopBody *inner = stm->bodies[k];
            uint32_t first = stm->op == LOOP_FOR;
            for (uint32_t p = first; p < inner->param_count; p++)
                s->defs[inner->params[p]] = (Def){stm, p - first, true};
            note_defs(s, inner);
        }
    }
}

static bool is_loop(const LoopStm *stm) {
    return stm->op == LOOP_WHILE || (stm->op == LOOP_FOR && stm->number == 0);
}

static LoopRef start_of(const LoopStm *loop, uint32_t k) {
    return loop->args[k + (loop->op == LOOP_FOR)];
}

static const LoopBody *turn_of(const LoopStm *loop) {
    return loop->bodies[loop->body_count - 1];
}

static bool is_choice(const LoopStm *stm) {
    return stm->op == LOOP_IF && stm->bodies[0]->stms.len == 0 &&
           stm->bodies[1]->stms.len == 0;
}

// ---- which buffers turns hand on ----------------------------------------------------

static bool is_place(const Settler *s, const LoopStm *alloc) {
    for (uint32_t i = 0; i < s->count; i++)
        if (s->places[i] == alloc) return true;
    return false;
}

static bool add_place(Settler *s, const LoopStm *alloc) {
    if (is_place(s, alloc)) return true;
    if (s->count == MOST_PLACES) return false;
    s->places[s->count++] = (LoopStm *)alloc;
    return true;
}

// Adds all that the buffer may be, which must be memory that is taken before the loops.
static bool add_places(Settler *s, LoopRef buffer) {
    Def def = s->defs[buffer];
    if (s->is_seen[buffer]) return true;
    s->is_seen[buffer] = true;
    if (def.stm == NULL) return false;
    if (def.stm->op == LOOP_ALLOC) return add_place(s, def.stm);
    if (is_choice(def.stm))
        return add_places(s, def.stm->bodies[0]->results[def.number]) &&
               add_places(s, def.stm->bodies[1]->results[def.number]);
    return is_loop(def.stm) && add_places(s, start_of(def.stm, def.number)) &&
           add_places(s, turn_of(def.stm)->results[def.number]);
}

// ---- whether the buffer is one of them ----------------------------------------------

static bool is_scalars(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (body->stms.data[i]->op != LOOP_SCALAR) return false;
    return true;
}

// Those of the guard's parameters are copied as what the loop starts with.
static void copy_started(const Settler *s, LoopCopier *copier, const LoopStm *loop,
                         const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const Def *def = refs[i] < s->values ? &s->defs[refs[i]] : NULL;
        if (def != NULL && def->stm == loop && def->is_param)
            loop_copy_as(copier, refs[i], loop->args[def->number]);
    }
}

// Whether the loop takes a turn, as a value; 0: nobody can tell before it runs.
static LoopRef takes_turn(Settler *s, const LoopStm *loop) {
    LoopBuilder *b = s->b;
    if (loop->op == LOOP_FOR) {
        ScalarType type = (ScalarType)loop_type(b, loop->args[0]).elem;
        return loop_lt(b, loop_const(b, type, 0), loop->args[0]);
    }
    const LoopBody *guard = loop->bodies[0];
    if (!is_scalars(guard)) return 0;
    LoopCopier copier = loop_copier(b);
    copy_started(s, &copier, loop, guard->results, 1);
    for (uint32_t i = 0; i < guard->stms.len; i++) {
        const LoopStm *stm = guard->stms.data[i];
        copy_started(s, &copier, loop, stm->args, stm->arg_count);
        loop_append(b, loop_copy_stm(&copier, stm));
    }
    return loop_copy_of(&copier, guard->results[0]);
}

// Whether the buffer is one of the places, as a value; 0: that cannot be told. What
// turns hand on is one of them: those come before what a loop starts with.
static LoopRef is_made(Settler *s, LoopRef buffer, bool is_start) {
    LoopBuilder *b = s->b;
    Def def = s->defs[buffer];
    LoopRef no = loop_const(b, SCALAR_BOOL, 0), yes = loop_const(b, SCALAR_BOOL, 1);
    if (def.stm == NULL) return no;
    if (def.stm->op == LOOP_ALLOC)
        return is_place(s, def.stm) || (!is_start && add_place(s, def.stm)) ? yes : no;
    if (is_choice(def.stm)) {
        LoopRef arms[2];
        for (int i = 0; i < 2; i++) {
            arms[i] = is_made(s, def.stm->bodies[i]->results[def.number], is_start);
            if (arms[i] == 0) return 0;
        }
        return loop_select(b, def.stm->args[0], arms[0], arms[1]);
    }
    if (!is_loop(def.stm) || def.is_param) return 0;
    if (!add_places(s, turn_of(def.stm)->results[def.number])) return 0;
    LoopRef start = is_made(s, start_of(def.stm, def.number), true);
    LoopRef turns = start == 0 ? 0 : takes_turn(s, def.stm);
    return turns == 0 ? 0 : loop_or(b, turns, start);
}

// ---- results that are copied --------------------------------------------------------

// A result, and the loop that copies a buffer to it from beginning to end.
typedef struct Copied {
    LoopStm *result, *copy; // statements of the root
    uint32_t result_at, copy_at;
    LoopRef from;
} Copied;

static bool is_linear(const LoopBuilder *b, const LoopRef *place, LoopRef index) {
    return loop_is_int(b, place[0], 0) && loop_is_int(b, place[1], 1) &&
           place[2] == index;
}

static bool is_copy(const Settler *s, const LoopStm *stm, Copied *c) {
    if (stm->op != LOOP_FOR || stm->out_count > 0 || stm->number > 0) return false;
    const LoopBody *body = stm->bodies[0];
    if (body->stms.len != 2 || body->param_count != 1) return false;
    const LoopStm *load = body->stms.data[0], *store = body->stms.data[1];
    if (load->op != LOOP_LOAD || store->op != LOOP_STORE || load->arg_count != 4 ||
        store->arg_count != 5 || store->args[1] != load->outs[0] ||
        store->args[0] != c->result->outs[0] ||
        !is_linear(s->b, load->args + 1, body->params[0]) ||
        !is_linear(s->b, store->args + 2, body->params[0]))
        return false;
    c->from = load->args[0];
    return true;
}

// The copy to the result, which is its only use but that it is one.
static bool find_copy(const Settler *s, uint32_t at, Copied *c) {
    c->result = s->root->stms.data[at];
    c->result_at = at;
    if (c->result->op != LOOP_RESULT || c->result->out_count != 1 ||
        s->uses[c->result->outs[0]] != 2)
        return false;
    for (c->copy_at = at + 1; c->copy_at < s->root->stms.len; c->copy_at++) {
        c->copy = s->root->stms.data[c->copy_at];
        if (is_copy(s, c->copy, c)) return true;
    }
    return false;
}

// Whether the place, if turns are taken, has as many elements as are copied; it may
// have none where none is.
static bool has_size(const Settler *s, const LoopStm *alloc, const Copied *c) {
    LoopRef size = alloc->args[0];
    const LoopStm *stm = s->defs[size].stm;
    if (loop_same(s->b, size, c->copy->args[0])) return true;
    return stm != NULL && stm->out_count == 1 && is_choice(stm) &&
           loop_same(s->b, stm->bodies[0]->results[0], c->copy->args[0]) &&
           loop_is_int(s->b, stm->bodies[1]->results[0], 0);
}

// Where the statement is in root code; else the number of statements there.
static uint32_t find_in_root(const Settler *s, const LoopStm *stm) {
    uint32_t at = 0;
    while (at < s->root->stms.len && s->root->stms.data[at] != stm) at++;
    return at;
}

// Whether the result could be made there as well: its sizes are known, and it is not
// only later that they are found to be such.
static bool has_shape(const Settler *s, const Copied *c, uint32_t at) {
    for (uint32_t d = 0; d < c->result->arg_count; d++) {
        const LoopStm *stm = s->defs[c->result->args[d]].stm;
        if (stm != NULL && find_in_root(s, stm) >= at) return false;
    }
    for (uint32_t i = at; i < c->result_at; i++)
        if (s->root->stms.data[i]->op == LOOP_CHECK) return false;
    return true;
}

// Whether the buffer may be one of the places, or is that parameter.
static bool may_be_place(const Settler *s, LoopRef ref) {
    if (ref == s->owned) return true;
    const LoopStm *stm = ref < s->values ? s->defs[ref].stm : NULL;
    return stm != NULL && loop_type(s->b, ref).kind == LOOP_IS_BUFFER &&
           (is_place(s, stm) || stm->op == LOOP_IF || is_loop(stm));
}

// Whether it does nothing with what may be a place but load from it.
static bool only_loads(const Settler *s, const LoopStm *stm) {
    for (uint32_t k = stm->op == LOOP_LOAD; k < stm->arg_count; k++)
        if (may_be_place(s, stm->args[k])) return false;
    for (uint32_t k = 0; k < stm->body_count; k++) {
        const LoopBody *body = stm->bodies[k];
        for (uint32_t i = 0; i < body->result_count; i++)
            if (may_be_place(s, body->results[i])) return false;
        for (uint32_t i = 0; i < body->stms.len; i++)
            if (!only_loads(s, body->stms.data[i])) return false;
    }
    return true;
}

// Whether nobody writes to what was copied any more, by whatever name.
static bool is_final(const Settler *s, const Copied *c) {
    for (uint32_t i = c->copy_at + 1; i < s->root->stms.len; i++)
        if (!only_loads(s, s->root->stms.data[i])) return false;
    return true;
}

// Whether the places may be made as the result is.
static bool can_settle(const Settler *s, const Copied *c) {
    if (s->count == 0 || !is_final(s, c)) return false;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = find_in_root(s, s->places[i]);
        if (at >= c->copy_at || !has_size(s, s->places[i], c) || !has_shape(s, c, at))
            return false;
    }
    return true;
}

// ---- owned parameters ---------------------------------------------------------------

static bool is_result(const Settler *s, LoopRef buffer) {
    for (uint32_t i = 0; i < s->root->result_count; i++)
        if (loop_same(s->b, s->root->results[i], buffer)) return true;
    return false;
}

// Whether two sizes are one, if only by a check.
static bool is_size(const Settler *s, LoopRef x, LoopRef y) {
    bool is_same = loop_same(s->b, x, y);
    for (uint32_t i = 0; i < s->root->stms.len && !is_same; i++) {
        const LoopStm *stm = s->root->stms.data[i];
        const LoopStm *eq = stm->op == LOOP_CHECK ? s->defs[stm->args[0]].stm : NULL;
        is_same =
            eq != NULL && eq->op == LOOP_SCALAR && eq->scalar == OP_EQ &&
            ((loop_same(s->b, eq->args[0], x) && loop_same(s->b, eq->args[1], y)) ||
             (loop_same(s->b, eq->args[0], y) && loop_same(s->b, eq->args[1], x)));
    }
    return is_same;
}

// Whether what is copied is all of an owned parameter, which is no result yet.
static bool is_owned_param(const Settler *s, const Copied *c) {
    const LoopKernel *kernel = s->b->kernel;
    const LoopRef *params = s->root->params;
    uint32_t i = 0;
    for (; i < kernel->param_count; params += 1u + kernel->params[i++].type.rank)
        if (kernel->params[i].type.rank > 0 && *params == c->from) break;
    if (i == kernel->param_count || !kernel->params[i].is_owned ||
        kernel->params[i].type.rank != c->result->arg_count || is_result(s, c->from))
        return false;
    for (uint32_t d = 0; d < c->result->arg_count; d++)
        if (!is_size(s, params[1 + d], c->result->args[d])) return false;
    return true;
}

// ---- settling -----------------------------------------------------------------------

// The places become the memory of the result, and its spare.
static void make_results(Settler *s, const LoopStm *result) {
    for (uint32_t i = 0; i < s->count; i++) {
        LoopStm *place = s->places[i];
        place->op = LOOP_RESULT;
        s->uses[place->outs[0]] = 0; // nobody copies to it
        place->number = result->number + i * s->b->kernel->result_count;
        place->args = arena_copy(s->b->arena, result->args,
                                 result->arg_count * sizeof *result->args);
        place->arg_count = result->arg_count;
    }
}

// What is the result: the buffer if turns made it, else a copy.
static LoopRef settled(Settler *s, const Copied *c, LoopRef made) {
    LoopBuilder *b = s->b;
    uint64_t known;
    if (loop_is_known(b, made, &known) && known != 0) return c->from;
    LoopRef place = s->places[0]->outs[0];
    LoopType type = loop_type(b, place);
    LoopBody *arms[2];
    loop_open(b, NULL, 0);
    arms[0] = loop_close(b, &c->from, 1);
    loop_open(b, NULL, 0);
    c->copy->bodies[0]->stms.data[1]->args[0] = place;
    loop_append(b, c->copy);
    arms[1] = loop_close(b, &place, 1);
    LoopStm *stm = loop_emit(b, LOOP_IF, &made, 1, &type, 1);
    loop_set_bodies(b, stm, arms, 2);
    return stm->outs[0];
}

// Puts the statements of `body` where statement `at` was.
static void replace(Settler *s, uint32_t at, const LoopBody *body) {
    uint32_t len = s->root->stms.len, count = body->stms.len;
    for (uint32_t i = 1; i < count; i++)
        vec_push(s->b->arena, &s->root->stms, body->stms.data[i]);
    LoopStm **stms = s->root->stms.data;
    memmove(stms + at + count, stms + at + 1, (len - at - 1) * sizeof *stms);
    for (uint32_t i = 0; i < count; i++) stms[at + i] = body->stms.data[i];
    s->root->stms.len = len - 1 + count;
}

static void remove_stm(Settler *s, uint32_t at) {
    replace(s, at, &(LoopBody){0});
}

static void look_around(Settler *s) {
    s->values = s->b->kernel->values.len;
    s->defs = arena_array(s->b->arena, Def, s->values);
    s->is_seen = arena_array(s->b->arena, bool, s->values);
    note_defs(s, s->root);
}

static void drop_result(Settler *s, const Copied *c, const LoopBody *instead,
                        LoopRef place) {
    replace(s, c->copy_at, instead);
    remove_stm(s, c->result_at);
    loop_identify(s->b, c->result->outs[0], place);
}

// Whether statement `at` was a result that is settled now.
static bool settle(Settler *s, uint32_t at) {
    Copied c;
    if (!find_copy(s, at, &c)) return false;
    if (s->defs == NULL) look_around(s);
    s->count = 0;
    s->owned = is_owned_param(s, &c) ? c.from : 0;
    if (s->owned != 0) {
        bool is_result = is_final(s, &c);
        if (is_result) drop_result(s, &c, &(LoopBody){0}, c.from);
        return is_result;
    }
    memset(s->is_seen, 0, s->values * sizeof *s->is_seen);
    loop_open(s->b, NULL, 0);
    LoopRef made = is_made(s, c.from, false), place = 0;
    bool can = made != 0 && can_settle(s, &c);
    if (can) {
        make_results(s, c.result);
        place = settled(s, &c, made);
    }
    const LoopBody *instead = loop_close(s->b, NULL, 0);
    if (can) drop_result(s, &c, instead, place);
    return can;
}

static void add_uses(Settler *s, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) s->uses[refs[i]]++;
}

static void note_uses(Settler *s, const LoopBody *body) {
    add_uses(s, body->results, body->result_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        add_uses(s, stm->args, stm->arg_count);
        for (uint32_t k = 0; k < stm->body_count; k++) note_uses(s, stm->bodies[k]);
    }
}

static bool has_result(const LoopBody *root) {
    for (uint32_t i = 0; i < root->stms.len; i++)
        if (root->stms.data[i]->op == LOOP_RESULT) return true;
    return false;
}

void loop_settle(LoopKernel *kernel) {
    if (!has_result(kernel->root)) return;
    LoopBuilder b = loop_builder(kernel);
    Settler s = {.b = &b, .root = kernel->root};
    s.uses = arena_array(loop_notes(kernel), uint32_t, b.old);
    note_uses(&s, s.root);
    bool has_settled = false, settles = true;
    while (settles) { // one may make way for another
        settles = false;
        for (uint32_t i = 0; i < s.root->stms.len;) {
            bool is_settled = settle(&s, i);
            settles = settles || is_settled;
            if (!is_settled) i++; // else it has gone
        }
        has_settled = has_settled || settles;
    }
    if (has_settled) loop_tidy(&b);
}
