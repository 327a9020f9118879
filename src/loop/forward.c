// SPDX-License-Identifier: Apache-2.0
//
// What the turn before has stored needs no loading. Where a loop that goes in order
// stores to one place a turn, and loads from where it stored a turn ago, it carries the
// value: a turn that waits for the last one then does not wait for memory, too. The
// first turn loads as before, if it does.
//
// Memory that is made by `alloc` or `result`, or is an array argument, is nobody
// else's, so that stores to one do not change another.
#include "loop/build.h"
#include "loop/passes.h"

typedef struct Forward {
    LoopBuilder b;
    uint32_t old;         // values from here on are the pass's
    const LoopStm **defs; // by LoopRef: what binds it; NULL: a parameter
    bool *is_own;         // by LoopRef, of a buffer: no other one is its memory
} Forward;

// ---- places -------------------------------------------------------------------------

enum { MOST_TERMS = 8, DEEPEST = 8 };

// factor * atom * by; by 0: none
typedef struct Term {
    LoopRef atom, by;
    uint64_t factor;
} Term;

// A sum of terms; integers wrap, and so do sums of places.
typedef struct Sum {
    Term terms[MOST_TERMS]; // atom 0: a number
    uint32_t count;
    bool is_lost; // there were more
} Sum;

static void add_term(Sum *p, LoopRef atom, LoopRef by, uint64_t factor) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->terms[i].atom == atom && p->terms[i].by == by) {
            p->terms[i].factor += factor;
            return;
        }
    if (p->count == MOST_TERMS) p->is_lost = true;
    else p->terms[p->count++] = (Term){atom, by, factor};
}

static void add_value(const Forward *f, Sum *p, LoopRef ref, LoopRef by,
                      uint64_t factor, uint32_t depth) {
    uint64_t bits;
    const LoopStm *def = ref < f->old ? f->defs[ref] : NULL;
    bool is_sum = def != NULL && def->op == LOOP_SCALAR && depth < DEEPEST &&
                  (def->scalar == OP_ADD || def->scalar == OP_SUB);
    if (loop_is_known(&f->b, ref, &bits)) {
        add_term(p, 0, by, factor * bits);
    } else if (is_sum) {
        uint64_t second = def->scalar == OP_ADD ? factor : -factor;
        add_value(f, p, def->args[0], by, factor, depth + 1);
        add_value(f, p, def->args[1], by, second, depth + 1);
    } else {
        add_term(p, ref, by, factor);
    }
}

// Adds the place of a load or store, `first` being the arg of its offset.
static void add_place(const Forward *f, Sum *p, const LoopStm *stm, uint32_t first,
                      uint64_t factor) {
    uint64_t bits;
    add_value(f, p, stm->args[first], 0, factor, 0);
    for (uint32_t i = first + 1; i + 1 < stm->arg_count; i += 2) {
        LoopRef stride = stm->args[i], index = stm->args[i + 1];
        if (loop_is_known(&f->b, stride, &bits))
            add_value(f, p, index, 0, factor * bits, 0);
        else add_value(f, p, index, stride, factor, 0);
    }
}

// Whether the load is from where the store was a turn ago, which is known to be another
// place than the store's own.
static bool is_last_place(const Forward *f, const LoopStm *load, const LoopStm *store,
                          LoopRef index) {
    Sum p = {.count = 0};
    add_place(f, &p, store, 2, 1);
    uint64_t step = 0;
    for (uint32_t i = 0; i < p.count; i++) {
        if (p.terms[i].atom != index) continue;
        if (p.terms[i].by != 0) return false;
        step = p.terms[i].factor;
    }
    if (step == 0) return false;
    add_term(&p, 0, 0, -step);
    add_place(f, &p, load, 1, (uint64_t)-1);
    for (uint32_t i = 0; i < p.count; i++)
        if (p.terms[i].factor != 0) return false;
    return !p.is_lost;
}

// ---- loops --------------------------------------------------------------------------

// Whether the body writes to memory by nothing but stores to buffers of their own, and
// to this one by this store alone.
static bool stores_alone(const Forward *f, const LoopBody *body, const LoopStm *store) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_CALL || stm->op == LOOP_SIFT || stm->op == LOOP_ATOMIC)
            return false;
        if (stm->op == LOOP_STORE && stm != store &&
            (!f->is_own[stm->args[0]] || stm->args[0] == store->args[0]))
            return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!stores_alone(f, stm->bodies[k], store)) return false;
    }
    return true;
}

typedef struct Carried {
    const LoopStm *store;
    LoopRef index, is_first, value; // value 0: no load has asked for it
} Carried;

// What was stored a turn ago, as the load gives it.
static LoopRef value_of(Forward *f, Carried *c, LoopRef loaded) {
    if (c->value == 0) c->value = loop_value(&f->b, loop_type(&f->b, loaded), 0);
    return c->value;
}

// if (first) {load} {what was stored}
static LoopStm *replace_load(Forward *f, Carried *c, LoopStm *load) {
    LoopBuilder *b = &f->b;
    LoopBody *arms[2];
    LoopRef out = load->outs[0];
    LoopRef loaded = loop_value(b, loop_type(b, out), 0);
    LoopRef value = value_of(f, c, out);
    LoopStm *choice = arena_copy(b->arena, load, sizeof *load);
    load->outs = arena_copy(b->arena, &loaded, sizeof loaded);
    LoopBody *arm = loop_open(b, NULL, 0);
    vec_push(b->arena, &arm->stms, load);
    arms[0] = loop_close(b, &loaded, 1);
    loop_open(b, NULL, 0);
    arms[1] = loop_close(b, &value, 1);
    choice->op = LOOP_IF;
    choice->arg_count = 1;
    choice->args = arena_copy(b->arena, &c->is_first, sizeof c->is_first);
    loop_set_bodies(b, choice, arms, 2);
    return choice;
}

// Whether the branch asks for the first turn.
static bool asks_for_first(const Forward *f, const Carried *c, const LoopStm *stm) {
    const LoopStm *test =
        stm->op == LOOP_IF && stm->args[0] < f->old ? f->defs[stm->args[0]] : NULL;
    if (test == NULL || test->op != LOOP_SCALAR || test->scalar != OP_EQ) return false;
    for (uint32_t i = 0; i < 2; i++)
        if (test->args[i] == c->index && loop_is_int(&f->b, test->args[1 - i], 0))
            return true;
    return false;
}

// `is_later`: the body is not for the first turn.
static void replace_loads(Forward *f, Carried *c, LoopBody *body, bool is_later) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        bool is_second = asks_for_first(f, c, stm);
        for (uint32_t k = 0; k < stm->body_count; k++)
            replace_loads(f, c, stm->bodies[k], is_later || (is_second && k == 1));
        bool is_stored = stm->op == LOOP_LOAD && stm->args[0] == c->store->args[0] &&
                         is_last_place(f, stm, c->store, c->index);
        if (is_stored && is_later) {
            loop_identify(&f->b, stm->outs[0], value_of(f, c, stm->outs[0]));
            continue;
        }
        body->stms.data[kept++] = is_stored ? replace_load(f, c, stm) : stm;
    }
    body->stms.len = kept;
}

static LoopRef *longer(LoopBuilder *b, const LoopRef *refs, uint32_t count,
                       LoopRef ref) {
    LoopRef *more = arena_array(b->arena, LoopRef, count + 1);
    for (uint32_t i = 0; i < count; i++) more[i] = refs[i];
    more[count] = ref;
    return more;
}

// The loop has the value as state.
static void carry(Forward *f, LoopStm *loop, const Carried *c) {
    LoopBuilder *b = &f->b;
    LoopBody *body = loop->bodies[0];
    LoopType type = loop_type(b, c->value);
    LoopRef zero = loop_const(b, (ScalarType)type.elem, 0);
    body->params = longer(b, body->params, body->param_count++, c->value);
    body->results = longer(b, body->results, body->result_count++, c->store->args[1]);
    loop->args = longer(b, loop->args, loop->arg_count++, zero);
    loop->outs = longer(b, loop->outs, loop->out_count++, loop_value(b, type, 0));
}

// Puts before the body's statements whether the turn is the first.
static void find_first(Forward *f, LoopBody *body, LoopRef is_first) {
    LoopBuilder *b = &f->b;
    LoopRef test[] = {body->params[0], loop_int(b, 0)};
    LoopStm *first = arena_new(b->arena, LoopStm);
    *first = (LoopStm){.op = LOOP_SCALAR,
                       .scalar = OP_EQ,
                       .loc = b->loc,
                       .out_count = 1,
                       .arg_count = 2,
                       .outs = arena_copy(b->arena, &is_first, sizeof is_first),
                       .args = arena_copy(b->arena, test, sizeof test)};
    LoopBody *whole = loop_open(b, NULL, 0);
    vec_push(b->arena, &whole->stms, first);
    for (uint32_t i = 0; i < body->stms.len; i++)
        vec_push(b->arena, &whole->stms, body->stms.data[i]);
    loop_close(b, NULL, 0);
    body->stms = whole->stms;
}

static void forward_loop(Forward *f, LoopStm *loop) {
    LoopBody *body = loop->bodies[0];
    LoopRef is_first = 0;
    if (loop_type(&f->b, body->params[0]).elem != SCALAR_I64) return;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *store = body->stms.data[i];
        if (store->op != LOOP_STORE || !f->is_own[store->args[0]] ||
            !stores_alone(f, body, store))
            continue;
        if (is_first == 0)
            is_first = loop_value(&f->b, loop_scalar_type(SCALAR_BOOL), 0);
        Carried c = {store, body->params[0], is_first, 0};
        replace_loads(f, &c, body, false);
        if (c.value != 0) carry(f, loop, &c);
    }
    f->b.loc = loop->loc;
    if (is_first != 0) find_first(f, body, is_first);
}

static void forward_body(Forward *f, LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++) {
            f->defs[stm->outs[k]] = stm;
            f->is_own[stm->outs[k]] = stm->op == LOOP_ALLOC || stm->op == LOOP_RESULT;
        }
        for (uint32_t k = 0; k < stm->body_count; k++) forward_body(f, stm->bodies[k]);
        if (stm->op == LOOP_FOR && stm->order == ORDER_SEQUENTIAL) forward_loop(f, stm);
    }
}

void loop_forward(LoopKernel *kernel) {
    Forward f = {.b = loop_builder(kernel), .old = kernel->values.len};
    f.defs = arena_array(loop_notes(kernel), const LoopStm *, f.old);
    f.is_own = arena_array(loop_notes(kernel), bool, f.old);
    for (uint32_t i = 0; i < kernel->root->param_count; i++)
        f.is_own[kernel->root->params[i]] = true;
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        forward_body(&f, kernel->funs.data[i].body);
    forward_body(&f, kernel->root);
    loop_tidy_news(&f.b);
}
