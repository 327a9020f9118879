// SPDX-License-Identifier: Apache-2.0
//
// Nests that go over arrays element by element, in the order in which these lie, as one
// loop:
//
//   for(n) {|i| for(m) {|j| r[m i + j] = .. a[m i + j] ..}}
//
// becomes
//
//   for(n m) {|k| r[k] = .. a[k] ..}
//
// Rows may be as short as the three colours of a pixel, of which no vector could be
// made. All that is loaded or stored must lie so, and nothing else may ask for an
// index. A place is what it is in the first turn of all, and k.
#include "loop/passes.h"
#include "loop/product.h"

enum { MOST_LEVELS = 6 };

typedef struct Flat {
    LoopBuilder *b;
    const LoopSite *sites; // of the values that there were at first
    LoopStm *levels[MOST_LEVELS];
    LoopProduct strides[MOST_LEVELS]; // elements between turns of that level
    uint32_t count;
    Map moving; // what depends on an index
    Map first;  // of that, what it is in the first turn
} Flat;

// ---- nests --------------------------------------------------------------------------

static bool is_sure(const LoopStm *stm) {
    return stm->op == LOOP_SCALAR && (core_op_info[stm->scalar].flags & OP_FAILS) == 0;
}

// Whether it is a loop whose turns may go in any order.
static bool has_order(const LoopStm *loop, bool is_outermost) {
    return loop->op == LOOP_FOR && loop->number == 0 && loop->out_count == 0 &&
           (loop->order == ORDER_INDEPENDENT ||
            (is_outermost && loop->order == ORDER_PARALLEL));
}

// Finds loops that do no more than the one within, which is their last statement, down
// to one of straight code.
static bool find_levels(Flat *f, LoopStm *loop) {
    for (f->count = 0; has_order(loop, f->count == 0) && f->count < MOST_LEVELS;) {
        const LoopBody *body = loop->bodies[0];
        f->levels[f->count++] = loop;
        if (body->stms.len == 0) return false;
        loop = body->stms.data[body->stms.len - 1];
        if (loop->op != LOOP_FOR) break;
        for (uint32_t i = 0; i + 1 < body->stms.len; i++)
            if (!is_sure(body->stms.data[i])) return false;
    }
    return f->count > 1 && loop->op != LOOP_FOR;
}

static bool find_strides(Flat *f) {
    LoopProduct p = {.number = 1};
    for (uint32_t i = f->count; i-- > 0;) {
        f->strides[i] = p;
        if (!loop_multiply(f->b, f->sites, &p, f->levels[i]->args[0])) return false;
    }
    return true;
}

// ---- places -------------------------------------------------------------------------

static bool is_moving(const Flat *f, LoopRef ref) {
    uint64_t unused;
    return map_get(&f->moving, loop_find(f->b, ref), &unused);
}

static bool any_moves(const Flat *f, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (is_moving(f, refs[i])) return true;
    return false;
}

// What a value is of each index, times `factor`: adds to `found` the levels of which it
// is the stride. False: it is something else.
static bool find_terms(Flat *f, LoopRef ref, LoopProduct factor, bool *found) {
    ref = loop_find(f->b, ref);
    if (!is_moving(f, ref)) return true;
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->levels[i]->bodies[0]->params[0] != ref) continue;
        if (found[i] || !loop_is_equal_product(&factor, &f->strides[i])) return false;
        return found[i] = true;
    }
    const LoopStm *def = ref < f->b->old ? f->sites[ref].def : NULL;
    if (def == NULL || def->op != LOOP_SCALAR ||
        loop_type(f->b, ref).elem != SCALAR_I64)
        return false;
    const LoopRef *args = def->args;
    if (def->scalar == OP_ADD)
        return find_terms(f, args[0], factor, found) &&
               find_terms(f, args[1], factor, found);
    if (def->scalar == OP_SUB)
        return !is_moving(f, args[1]) && find_terms(f, args[0], factor, found);
    int still = is_moving(f, args[0]) ? 1 : 0;
    return def->scalar == OP_MUL && !is_moving(f, args[still]) &&
           loop_multiply(f->b, f->sites, &factor, args[still]) &&
           find_terms(f, args[1 - still], factor, found);
}

// Where the place begins in the args of a LOAD or STORE.
static uint32_t place_of(const LoopStm *access) {
    return access->op == LOOP_STORE ? 2 : 1;
}

// The strides that are wanted have the sizes of all levels but the first as factors:
// where a size moves, no place is in order.
static bool is_in_order(Flat *f, const LoopStm *access) {
    bool found[MOST_LEVELS] = {false};
    uint32_t at = place_of(access);
    LoopProduct one = {.number = 1};
    if (any_moves(f, access->args, at) || !find_terms(f, access->args[at], one, found))
        return false;
    for (uint32_t i = at + 1; i + 1 < access->arg_count; i += 2) {
        LoopProduct stride = one;
        if (is_moving(f, access->args[i]) ||
            !loop_multiply(f->b, f->sites, &stride, access->args[i]) ||
            !find_terms(f, access->args[i + 1], stride, found))
            return false;
    }
    for (uint32_t i = 0; i < f->count; i++)
        if (!found[i]) return false;
    return true;
}

// ---- what must hold -----------------------------------------------------------------

static void note_moving(Flat *f) {
    map_init(&f->moving, loop_notes(f->b->kernel));
    for (uint32_t i = 0; i < f->count; i++) {
        const LoopBody *body = f->levels[i]->bodies[0];
        map_set(&f->moving, body->params[0], 1);
        for (uint32_t k = 0; k < body->stms.len; k++) {
            const LoopStm *stm = body->stms.data[k];
            if (stm->op == LOOP_SCALAR && any_moves(f, stm->args, stm->arg_count))
                map_set(&f->moving, stm->outs[0], 1);
        }
    }
}

// Whether turns of the innermost loop are straight code that asks for indices in places
// alone, and there is one.
static bool is_plain(Flat *f) {
    const LoopBody *body = f->levels[f->count - 1]->bodies[0];
    bool has_access = false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_LOAD || stm->op == LOOP_STORE) {
            if (!is_in_order(f, stm)) return false;
            has_access = true;
        } else if (loop_is_choice(stm)) {
            if (any_moves(f, stm->args, stm->arg_count) ||
                any_moves(f, stm->bodies[0]->results, stm->out_count) ||
                any_moves(f, stm->bodies[1]->results, stm->out_count))
                return false;
        } else if (!is_sure(stm)) {
            return false;
        }
    }
    return has_access;
}

// ---- the loop -----------------------------------------------------------------------

static LoopRef first_of(const Flat *f, LoopRef ref) {
    uint64_t first;
    return map_get(&f->first, loop_find(f->b, ref), &first) ? (LoopRef)first : ref;
}

static LoopRef emit_first(Flat *f, const LoopStm *stm) {
    LoopRef args[3];
    for (uint32_t i = 0; i < stm->arg_count; i++) args[i] = first_of(f, stm->args[i]);
    if (loop_type(f->b, stm->outs[0]).elem == SCALAR_I64) {
        if (stm->scalar == OP_ADD) return loop_add(f->b, args[0], args[1]);
        if (stm->scalar == OP_SUB) return loop_sub(f->b, args[0], args[1]);
        if (stm->scalar == OP_MUL) return loop_mul(f->b, args[0], args[1]);
    }
    return loop_scalar(f->b, stm->scalar,
                       (ScalarType)loop_type(f->b, stm->outs[0]).elem, args,
                       stm->arg_count);
}

// What moves is told of the first turn; what does not stands before the loop as it is.
static void emit_before(Flat *f) {
    map_init(&f->first, loop_notes(f->b->kernel));
    for (uint32_t i = 0; i < f->count; i++) {
        const LoopBody *body = f->levels[i]->bodies[0];
        map_set(&f->first, body->params[0], loop_int(f->b, 0));
        for (uint32_t k = 0; k < body->stms.len; k++) {
            LoopStm *stm = body->stms.data[k];
            if (stm->op != LOOP_SCALAR) continue;
            if (is_moving(f, stm->outs[0]))
                map_set(&f->first, stm->outs[0], emit_first(f, stm));
            else if (i + 1 < f->count) loop_append(f->b, stm);
        }
    }
}

static void change_place(Flat *f, LoopStm *access, LoopRef index) {
    uint32_t at = place_of(access), count = at + 1;
    LoopRef *args = arena_array(f->b->arena, LoopRef, access->arg_count + 2);
    for (uint32_t i = 0; i <= at; i++) args[i] = first_of(f, access->args[i]);
    for (uint32_t i = at + 1; i + 1 < access->arg_count; i += 2) {
        LoopRef first = first_of(f, access->args[i + 1]);
        if (loop_is_int(f->b, first, 0)) continue;
        args[count++] = access->args[i];
        args[count++] = first;
    }
    args[count++] = loop_int(f->b, 1);
    args[count++] = index;
    access->args = args;
    access->arg_count = count;
}

static void emit_loop(Flat *f) {
    const LoopStm *outermost = f->levels[0];
    const LoopBody *body = f->levels[f->count - 1]->bodies[0];
    LoopRef turns = outermost->args[0];
    emit_before(f);
    for (uint32_t i = 1; i < f->count; i++)
        turns = loop_mul(f->b, turns, f->levels[i]->args[0]);
    LoopRef index = loop_open_turns(f->b);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR && is_moving(f, stm->outs[0])) continue;
        if (stm->op == LOOP_LOAD || stm->op == LOOP_STORE) change_place(f, stm, index);
        loop_append(f->b, stm);
    }
    loop_close_turns(f->b, turns, (LoopOrder)outermost->order)->loc = outermost->loc;
}

// ---- all of them --------------------------------------------------------------------

static bool flatten(Flat *f, LoopStm *loop) {
    if (!find_levels(f, loop) || !find_strides(f)) return false;
    note_moving(f);
    if (!is_plain(f)) return false;
    emit_loop(f);
    return true;
}

static void visit(Flat *f, LoopBody *body) {
    loop_open(f->b, NULL, 0);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        if (flatten(f, stm)) continue;
        for (uint32_t k = 0; k < stm->body_count; k++) visit(f, stm->bodies[k]);
        loop_append(f->b, stm);
    }
    body->stms = loop_close(f->b, NULL, 0)->stms;
}

static bool is_nest(const LoopStm *stm, int unused) {
    (void)unused;
    const LoopBody *body = stm->op == LOOP_FOR ? stm->bodies[0] : NULL;
    return body != NULL && body->stms.len > 0 && has_order(stm, true) &&
           has_order(body->stms.data[body->stms.len - 1], false);
}

void loop_flat(LoopKernel *kernel) {
    if (!loop_kernel_has(kernel, is_nest, 0)) return;
    LoopBuilder b = loop_builder(kernel);
    Flat f = {.b = &b, .sites = loop_sites(kernel)};
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        visit(&f, kernel->funs.data[i].body);
    visit(&f, kernel->root);
    loop_tidy_news(&b);
}
