// SPDX-License-Identifier: Apache-2.0
//
// Folds of several turns side by side. A fold in order waits for each step before the
// next one, so that a loop of turns in any order, each of which is such a fold, keeps
// little of a core busy. Up to eight of these turns go at once: what stands in them is
// there once for each, and their folds become one loop that carries all their values.
// Each value is computed as before, in its order, and what is the same in all of them
// once. The turns that are left over follow, one by one.
//
// Only turns that neither stop nor make memory, and whose folds have as many steps: so
// statements of one turn may stand among those of another. Folds that carry as much as
// eight vectors stay alone, as the registers are no more.
#include "loop/copy.h"
#include "loop/machine.h"
#include "loop/passes.h"

enum { MOST_TURNS = 8, MOST_STATEMENTS = 60, MOST_STEPS = 8 };

typedef struct Jam {
    LoopBuilder *b;
    uint32_t count; // of turns at once
    LoopCopier turns[MOST_TURNS];
} Jam;

// ---- which loops --------------------------------------------------------------------

typedef struct Fold {
    const LoopBuilder *b;
    uint32_t vectors; // that the widest fold carries; 0: there is none
    uint32_t size;    // statements
    bool is_plain;
} Fold;

static uint32_t vectors_of(const LoopBuilder *b, const LoopRef *refs, uint32_t count) {
    enum { LEAST = 32 }; // bytes of a register
    uint32_t vectors = 0, bytes = machine_vector_bytes();
    if (bytes < LEAST) bytes = LEAST;
    for (uint32_t i = 0; i < count; i++) {
        LoopType type = loop_type(b, refs[i]);
        if (type.kind != LOOP_IS_SCALAR) return MOST_TURNS;
        uint32_t lanes = type.lanes == 0 ? 1 : type.lanes;
        vectors += (lanes * scalar_info[type.elem].bytes + bytes - 1) / bytes;
    }
    return vectors;
}

static void look_at(Fold *f, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint32_t vectors = 0;
        f->size++;
        switch (stm->op) {
        case LOOP_FOR: vectors = vectors_of(f->b, stm->outs, stm->out_count); break;
        case LOOP_SCALAR:
        case LOOP_LOAD:
        case LOOP_STORE:
        case LOOP_DATA:
        case LOOP_IF:
        case LOOP_SPLAT:
        case LOOP_LANES:
        case LOOP_SELECT:
        case LOOP_ANY:
        case LOOP_TALLY:
        case LOOP_LOADIF:
        case LOOP_STOREIF: break;
        case LOOP_SIFT:
        case LOOP_LOOKUP:
        case LOOP_BELOW:
        case LOOP_ATOMIC:
        case LOOP_ALLOC:
        case LOOP_MARK:
        case LOOP_KEEP:
        case LOOP_RESULT:
        case LOOP_THREADS:
        case LOOP_CHECK:
        case LOOP_CALL:
        case LOOP_APPLY:
        case LOOP_WHILE:
        case LOOP_SURE:
        case LOOP_PACK:
        case LOOP_TAKE:
        case LOOP_COUNT: f->is_plain = false; break;
        }
        if (vectors > f->vectors) f->vectors = vectors;
        for (uint32_t k = 0; k < stm->body_count; k++) look_at(f, stm->bodies[k]);
    }
}

// How many turns go at once; 1: each alone.
static uint32_t choose_count(const LoopBuilder *b, const LoopStm *loop) {
    uint64_t times;
    Fold f = {.b = b, .is_plain = true};
    if (loop->op != LOOP_FOR || loop->order != ORDER_INDEPENDENT || loop->number != 0)
        return 1;
    look_at(&f, loop->bodies[0]);
    if (!f.is_plain || f.vectors == 0 || f.size > MOST_STATEMENTS) return 1;
    uint32_t count = MOST_TURNS / f.vectors;
    if (loop_is_known(b, loop->args[0], &times) && times < count)
        count = (uint32_t)times;
    return count < 1 ? 1 : count;
}

// ---- statements ---------------------------------------------------------------------

static LoopRef turned(const Jam *j, uint32_t turn, LoopRef ref) {
    uint64_t copy;
    ref = loop_find(j->b, ref);
    return map_get(&j->turns[turn].copies, ref, &copy) ? (LoopRef)copy : ref;
}

static bool is_common(const Jam *j, LoopRef ref) {
    for (uint32_t t = 1; t < j->count; t++)
        if (turned(j, t, ref) != turned(j, 0, ref)) return false;
    return true;
}

// Whether all turns compute the same. What one stores, no other loads.
static bool is_shared(const Jam *j, const LoopStm *stm) {
    if (stm->op != LOOP_SCALAR && stm->op != LOOP_LOAD && stm->op != LOOP_SPLAT &&
        stm->op != LOOP_LANES)
        return false;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (!is_common(j, stm->args[i])) return false;
    return true;
}

static void put(Jam *j, LoopStm *stm) {
    vec_push(j->b->arena, &j->b->open.data[j->b->open.len - 1]->stms, stm);
}

static void set_all(Jam *j, LoopRef ref, LoopRef copy) {
    for (uint32_t t = 0; t < j->count; t++) map_set(&j->turns[t].copies, ref, copy);
}

static void jam_body(Jam *j, const LoopBody *body);

// The values of all turns, turn by turn, after the first `lead`, which are common.
static LoopRef *all_turns(const Jam *j, const LoopRef *refs, uint32_t lead,
                          uint32_t count) {
    LoopRef *all = arena_array(j->b->arena, LoopRef, lead + j->count * count);
    for (uint32_t i = 0; i < lead; i++) all[i] = turned(j, 0, refs[i]);
    for (uint32_t t = 0; t < j->count; t++)
        for (uint32_t i = 0; i < count; i++)
            all[lead + t * count + i] = turned(j, t, refs[lead + i]);
    return all;
}

// Fresh values for what the loop binds: the index, then the state of each turn.
static LoopRef *bind_params(Jam *j, const LoopBody *body, uint32_t width) {
    LoopBuilder *b = j->b;
    LoopRef *params = arena_array(b->arena, LoopRef, 1 + j->count * width);
    params[0] = loop_value(b, loop_type(b, body->params[0]), 0);
    set_all(j, body->params[0], params[0]);
    for (uint32_t t = 0; t < j->count; t++)
        for (uint32_t i = 0; i < width; i++) {
            LoopRef old = body->params[1 + i];
            LoopRef made = loop_value(b, loop_type(b, old), 0);
            params[1 + t * width + i] = made;
            map_set(&j->turns[t].copies, old, made);
        }
    return params;
}

static void jam_loop(Jam *j, const LoopStm *loop) {
    LoopBuilder *b = j->b;
    LoopBody *bodies[2];
    uint32_t width = loop->out_count, all = j->count * width;
    LoopRef *args = all_turns(j, loop->args, 1, width);
    LoopType *types = arena_array(b->arena, LoopType, all);
    for (uint32_t i = 0; i < all; i++) types[i] = loop_type(b, loop->outs[i % width]);
    for (uint32_t k = 0; k < loop->body_count; k++) {
        const LoopBody *body = loop->bodies[k];
        loop_open(b, bind_params(j, body, width), 1 + all);
        jam_body(j, body);
        bodies[k] = loop_close(b, all_turns(j, body->results, 0, width), all);
    }
    b->loc = loop->loc;
    LoopStm *made = loop_emit(b, LOOP_FOR, args, 1 + all, types, all);
    made->order = loop->order;
    made->number = loop->number;
    loop_set_bodies(b, made, bodies, loop->body_count);
    for (uint32_t t = 0; t < j->count; t++)
        for (uint32_t i = 0; i < width; i++)
            map_set(&j->turns[t].copies, loop->outs[i], made->outs[t * width + i]);
}

// Statements from `first` to before `end`, turn by turn, so that what one turn has for
// a moment is gone when the next one begins: values that they have in common come once,
// with the first.
static void jam_run(Jam *j, const LoopBody *body, uint32_t first, uint32_t end) {
    bool *is_done = arena_array(j->b->arena, bool, end - first + 1);
    for (uint32_t t = 0; t < j->count; t++)
        for (uint32_t i = first; i < end; i++) {
            const LoopStm *stm = body->stms.data[i];
            if (is_done[i - first]) continue;
            bool is_once = t == 0 && is_shared(j, stm);
            LoopStm *copy = loop_copy_stm(&j->turns[t], stm);
            put(j, copy);
            if (is_once) set_all(j, stm->outs[0], copy->outs[0]);
            is_done[i - first] = is_once;
        }
}

// A few steps of a fold, one after the other as straight code: what several of them
// load is loaded once.
static void jam_steps(Jam *j, const LoopStm *fold, uint64_t steps) {
    const LoopBody *body = fold->bodies[0];
    uint32_t width = fold->out_count;
    LoopRef *now = all_turns(j, fold->args, 1, width);
    for (uint64_t step = 0; step < steps; step++) {
        ScalarType type = (ScalarType)loop_type(j->b, body->params[0]).elem;
        set_all(j, body->params[0], loop_const(j->b, type, step));
        for (uint32_t t = 0; t < j->count; t++)
            for (uint32_t i = 0; i < width; i++)
                map_set(&j->turns[t].copies, body->params[1 + i],
                        now[1 + t * width + i]);
        jam_body(j, body);
        LoopRef *next = all_turns(j, body->results, 0, width);
        for (uint32_t i = 0; i < j->count * width; i++) now[1 + i] = next[i];
    }
    for (uint32_t t = 0; t < j->count; t++)
        for (uint32_t i = 0; i < width; i++)
            map_set(&j->turns[t].copies, fold->outs[i], now[1 + t * width + i]);
}

static bool is_short(const Jam *j, const LoopStm *loop, uint64_t *steps_out) {
    return loop_is_known(j->b, loop->args[0], steps_out) && *steps_out <= MOST_STEPS &&
           *steps_out * loop_body_size(loop->bodies[0]) <= MOST_STATEMENTS &&
           loop->order == ORDER_SEQUENTIAL && loop->number == 0 &&
           loop->out_count > 0 && !loop_has_loops(loop->bodies[0]);
}

static void jam_body(Jam *j, const LoopBody *body) {
    uint32_t first = 0;
    uint64_t steps;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_FOR) continue;
        jam_run(j, body, first, i);
        first = i;
        if (!is_common(j, stm->args[0])) continue;
        if (is_short(j, stm, &steps)) jam_steps(j, stm, steps);
        else jam_loop(j, stm);
        first = i + 1;
    }
    jam_run(j, body, first, body->stms.len);
}

// ---- loops --------------------------------------------------------------------------

static LoopRef open_turns(LoopBuilder *b) {
    LoopRef index = loop_value(b, loop_scalar_type(SCALAR_I64), 0);
    loop_open(b, &index, 1);
    return index;
}

static void close_turns(LoopBuilder *b, LoopRef times) {
    LoopBody *body = loop_close(b, NULL, 0);
    LoopStm *stm = loop_emit(b, LOOP_FOR, &times, 1, NULL, 0);
    stm->order = ORDER_INDEPENDENT;
    loop_set_bodies(b, stm, &body, 1);
}

static void jam_turns(LoopBuilder *b, LoopStm *loop, uint32_t count) {
    LoopBody *body = loop->bodies[0];
    LoopRef high = loop_int(b, count), index = body->params[0];
    Jam j = {.b = b, .count = count};
    b->loc = loop->loc;
    LoopRef blocks = loop_quot(b, loop->args[0], high);
    LoopRef done = loop_mul(b, blocks, high);
    LoopRef first = loop_mul(b, open_turns(b), high);
    for (uint32_t t = 0; t < count; t++) {
        j.turns[t] = loop_copier(b);
        map_set(&j.turns[t].copies, index, loop_add(b, first, loop_int(b, t)));
    }
    jam_body(&j, body);
    close_turns(b, blocks);
    LoopRef rest = loop_sub(b, loop->args[0], done);
    if (loop_is_int(b, rest, 0)) return;
    j.count = 1;
    j.turns[0] = loop_copier(b);
    map_set(&j.turns[0].copies, index, loop_add(b, done, open_turns(b)));
    jam_body(&j, body);
    close_turns(b, rest);
}

// From the inside out; returns whether there are now turns that go at once.
static bool walk_body(LoopBuilder *b, LoopBody *body) {
    LoopBody old = *body;
    bool any = false;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    loop_reopen(b, body);
    for (uint32_t i = 0; i < old.stms.len; i++) {
        LoopStm *stm = old.stms.data[i];
        bool inside = false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            inside = walk_body(b, stm->bodies[k]) || inside;
        uint32_t count = inside ? 1 : choose_count(b, stm);
        if (count > 1) jam_turns(b, stm, count);
        else vec_push(b->arena, &body->stms, stm);
        any = any || inside || count > 1;
    }
    b->open.len--;
    return any;
}

void loop_jam(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        walk_body(&b, kernel->funs.data[i].body);
    walk_body(&b, kernel->root);
    loop_tidy_news(&b);
}
