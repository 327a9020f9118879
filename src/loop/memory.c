// SPDX-License-Identifier: Apache-2.0
//
// Two buffers that swap. An array that a loop hands on to its next turn is made above
// the last one, and `keep` moves it down. Where its size is the same in all turns it
// needs no move and no allocation: two buffers, made before the loop, go round with the
// state,
//
//     m = mark                        a = alloc(n); b = alloc(n); m = mark
//     r = for(k, s) {|i, x|           r, _, _ = for(k, s, a, b) {|i, x, y, z|
//       y = alloc(n)                    ...
//       ...                             = keep(m)
//       y' = keep(m, y)                 -> y, z, y
//       -> y' }                       }
//
// and each turn writes into the one that the turn before did not. What the loop starts
// with is only read, whoever it belongs to. This needs that nothing else of a turn
// lives on in the state's memory, so all buffers that a turn hands on must be such.
//
// Where a turn may write over the array that it was handed (memory_own.c), one buffer
// stays where it is, and begins as a copy of what the loop starts with, or is that.
#include <string.h>

#include "loop/copy.h"
#include "loop/memory.h"
#include "loop/passes.h"

// A loop and what is around it.
typedef struct Swapper {
    LoopBuilder *b;
    LoopBody *outer; // where the loop is
    uint32_t at;     // and which of its statements
    uint32_t mark;   // the one that says what a turn frees
    LoopStm *loop;
    LoopBody *turn;
    LoopStm *keep; // of the turn
    Map bound;     // what the turn binds
    Map defs;      // the statement that does, if it is not in a body of its own
    Map allocs; // those of sizes that are the same in all turns, where it can be told
                // whether a turn gets there: 1 + the number of checks before
    struct {
        LoopStm **data;
        uint32_t len, cap;
    } checks;      // of the turn, that may stop it
    LoopRefs goes; // whether the loop turns, and its first turn passes so many of them
} Swapper;

static bool is_buffer(const Swapper *s, LoopRef ref) {
    return loop_type(s->b, ref).kind == LOOP_IS_BUFFER;
}

bool memory_may_fail(const LoopStm *stm) {
    if (stm->op == LOOP_CHECK || stm->op == LOOP_CALL) return !loop_is_unsafe(stm);
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (memory_may_fail(stm->bodies[k]->stms.data[i])) return true;
    return false;
}

// ---- the first turn -----------------------------------------------------------------

static bool is_bound(const Swapper *s, LoopRef ref) {
    uint64_t unused;
    return map_get(&s->bound, ref, &unused);
}

// The turn's statement that binds the value; NULL: none that is not in a body of its
// own.
static const LoopStm *find_def(const Swapper *s, LoopRef ref) {
    uint64_t def;
    return map_get(&s->defs, ref, &def) ? (const LoopStm *)(uintptr_t)def : NULL;
}

// What a param of the turn is at first; 0: the value is none.
static LoopRef first_param(const Swapper *s, LoopRef ref) {
    bool is_for = s->loop->op == LOOP_FOR;
    for (uint32_t i = 0; i < s->turn->param_count; i++) {
        if (s->turn->params[i] != ref) continue;
        if (!is_for || i > 0) return s->loop->args[i];
        return loop_const(s->b, (ScalarType)loop_type(s->b, ref).elem, 0);
    }
    return 0;
}

// Conditions are graphs: so many levels of one are looked at.
enum { MOST_LEVELS = 4 };

// Whether it can be computed before the loop, as what it is in the first turn.
static bool has_first(const Swapper *s, LoopRef ref, unsigned levels) {
    ref = loop_find(s->b, ref);
    if (!is_bound(s, ref)) return true;
    const LoopStm *def = find_def(s, ref);
    if (def == NULL) return first_param(s, ref) != 0;
    bool ok = def->op == LOOP_SCALAR && levels > 0 &&
              (core_op_info[def->scalar].flags & OP_FAILS) == 0;
    for (uint32_t i = 0; ok && i < def->arg_count; i++)
        ok = has_first(s, def->args[i], levels - 1);
    return ok;
}

static LoopRef first_value(const Swapper *s, LoopRef ref) {
    ref = loop_find(s->b, ref);
    if (!is_bound(s, ref)) return ref;
    LoopRef args[3];
    const LoopStm *def = find_def(s, ref);
    if (def == NULL) return first_param(s, ref);
    for (uint32_t i = 0; i < def->arg_count; i++)
        args[i] = first_value(s, def->args[i]);
    ScalarType to = (ScalarType)loop_type(s->b, ref).elem;
    return loop_scalar(s->b, def->scalar, to, args, def->arg_count);
}

// ---- what can swap ------------------------------------------------------------------

static void note_turn(Swapper *s) {
    Arena *notes = loop_notes(s->b->kernel);
    map_init(&s->bound, notes);
    map_init(&s->defs, notes);
    map_init(&s->allocs, notes);
    loop_bind_body(&s->bound, s->turn);
    bool is_told = true;
    for (uint32_t i = 0; i < s->turn->stms.len; i++) {
        LoopStm *stm = s->turn->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            map_set(&s->defs, stm->outs[k], (uintptr_t)stm);
        if (stm->op == LOOP_ALLOC && is_told && !is_bound(s, stm->args[0]))
            map_set(&s->allocs, stm->outs[0], 1 + s->checks.len);
        if (!is_told || !memory_may_fail(stm)) continue;
        // It may be this that sees to it that the size is one.
        is_told = stm->op == LOOP_CHECK && has_first(s, stm->args[0], MOST_LEVELS);
        vec_push(notes, &s->checks, stm);
    }
}

// What the turn hands on as `ref` before it is kept; 0: it is not.
static LoopRef kept(const Swapper *s, LoopRef ref) {
    for (uint32_t k = 0; k < s->keep->out_count; k++)
        if (s->keep->outs[k] == ref) return s->keep->args[1 + k];
    return 0;
}

// Nothing but scalars may lie between the mark and the loop.
static bool finds_keep(Swapper *s) {
    const LoopBody *turn = s->turn;
    if (turn->stms.len == 0) return false;
    s->mark = s->at;
    do {
        if (s->mark == 0) return false;
        s->mark--;
    } while (s->outer->stms.data[s->mark]->op == LOOP_SCALAR);
    const LoopStm *mark = s->outer->stms.data[s->mark];
    s->keep = turn->stms.data[turn->stms.len - 1];
    return mark->op == LOOP_MARK && s->keep->op == LOOP_KEEP &&
           s->keep->out_count > 0 && s->keep->args[0] == mark->outs[0];
}

// Whether all buffers that a turn hands on are ones that it allocates.
static bool can_swap(Swapper *s) {
    if (s->loop->number > 0 || s->loop->order == ORDER_PARALLEL || !finds_keep(s))
        return false;
    const LoopBody *guard = s->loop->op == LOOP_WHILE ? s->loop->bodies[0] : NULL;
    for (uint32_t i = 0; guard != NULL && i < guard->stms.len; i++)
        if (memory_may_fail(guard->stms.data[i])) return false;
    note_turn(s);
    uint64_t unused;
    uint32_t count = 0;
    for (uint32_t k = 0; k < s->turn->result_count; k++) {
        if (!is_buffer(s, s->turn->results[k])) continue;
        LoopRef buffer = kept(s, s->turn->results[k]);
        if (buffer == 0 || !map_get(&s->allocs, buffer, &unused)) return false;
        count++;
    }
    return count == s->keep->out_count;
}

// ---- swapping -----------------------------------------------------------------------

// Room for two more for each state.
static LoopRef *make_room(const Swapper *s, const LoopRef *refs, uint32_t count) {
    uint32_t most = count + 2 * s->turn->result_count;
    LoopRef *longer = arena_array(s->b->arena, LoopRef, most);
    for (uint32_t i = 0; i < count; i++) longer[i] = refs[i];
    return longer;
}

static void append(LoopRef *refs, uint32_t *count_io, LoopRef x, LoopRef y) {
    refs[(*count_io)++] = x;
    refs[(*count_io)++] = y;
}

// Elements to allocate for what that statement of the turn does: none if the loop does
// not turn, or its first turn stops before. What says so of one says part of it of the
// next.
static LoopRef count_for(Swapper *s, const LoopStm *alloc) {
    LoopBuilder *b = s->b;
    uint64_t checks = 0;
    map_get(&s->allocs, alloc->outs[0], &checks);
    if (s->goes.len == 0) {
        LoopRef goes = loop_const(b, SCALAR_BOOL, 1);
        if (s->loop->op == LOOP_FOR) {
            ScalarType type = (ScalarType)loop_type(b, s->loop->args[0]).elem;
            goes = loop_lt(b, loop_const(b, type, 0), s->loop->args[0]);
        }
        vec_push(loop_notes(b->kernel), &s->goes, goes);
    }
    while (s->goes.len < checks) {
        const LoopStm *check = s->checks.data[s->goes.len - 1];
        LoopRef goes = s->goes.data[s->goes.len - 1];
        goes = loop_and(b, goes, first_value(s, check->args[0]));
        vec_push(loop_notes(b->kernel), &s->goes, goes);
    }
    return loop_select(b, s->goes.data[checks - 1], alloc->args[0], loop_int(b, 0));
}

// Whether the array that is state k has the same size in all turns, the first one
// included: a size that does not stay follows it in the state.
static bool has_size(const Swapper *s, uint32_t k) {
    const LoopBody *turn = s->turn;
    if (k + 1 == turn->result_count) return true;
    LoopType next = loop_type(s->b, turn->results[k + 1]);
    return next.kind != LOOP_IS_SCALAR || next.elem != SCALAR_I64;
}

static void copy(Swapper *s, LoopRef to, LoopRef from, LoopRef count) {
    LoopBuilder *b = s->b;
    LoopRef zero = loop_int(b, 0), one = loop_int(b, 1);
    LoopRef index = loop_value(b, loop_scalar_type(SCALAR_I64), 0);
    LoopType elem = loop_scalar_type((ScalarType)loop_type(b, to).elem);
    loop_open(b, &index, 1);
    LoopRef x = loop_emit1(b, LOOP_LOAD, (LoopRef[]){from, zero, one, index}, 4, elem);
    loop_emit(b, LOOP_STORE, (LoopRef[]){to, x, zero, one, index}, 5, NULL, 0);
    LoopBody *body = loop_close(b, NULL, 0);
    LoopStm *stm = loop_emit(b, LOOP_FOR, &count, 1, NULL, 0);
    stm->order = loop_has_parallel(s->turn) ? ORDER_PARALLEL : ORDER_INDEPENDENT;
    loop_set_bodies(b, stm, &body, 1);
}

static uint32_t count_uses(const Swapper *s, const LoopBody *body, LoopRef ref) {
    uint32_t uses = 0;
    for (uint32_t i = 0; i < body->result_count; i++)
        uses += loop_same(s->b, body->results[i], ref);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++)
            uses += loop_same(s->b, stm->args[k], ref);
        for (uint32_t k = 0; k < stm->body_count; k++)
            uses += count_uses(s, stm->bodies[k], ref);
    }
    return uses;
}

// The kernel's parameter that the buffer is, if it is for the loop alone.
static LoopPort *find_own_param(const Swapper *s, LoopRef buffer) {
    const LoopKernel *kernel = s->b->kernel;
    const LoopBody *root = kernel->root;
    uint32_t at = 0;
    if (s->outer != root) return NULL;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        LoopPort *port = &kernel->params[i];
        if (port->type.rank > 0 && loop_same(s->b, root->params[at], buffer))
            return count_uses(s, root, buffer) == 1 ? port : NULL;
        at += 1u + port->type.rank;
    }
    return NULL;
}

// State k stays where it is: in a buffer that begins as what the loop starts with, and
// which it is after the loop if that turns at all. Such is an array that is handed to
// the kernel for nothing else.
static void stay(Swapper *s, uint32_t k, LoopRef fresh, LoopRef count) {
    LoopBuilder *b = s->b;
    LoopStm *loop = s->loop;
    uint32_t first = loop->op == LOOP_FOR;
    LoopRef start = loop->args[first + k];
    LoopPort *port = find_own_param(s, start);
    if (port != NULL) port->is_owned = true;
    if (port != NULL) fresh = start;
    else copy(s, fresh, start, count);
    loop_identify(b, s->turn->params[first + k], fresh);
    loop_identify(b, kept(s, s->turn->results[k]), fresh);
    loop_identify(b, s->turn->results[k], fresh);
    if (loop->op != LOOP_FOR) return;
    ScalarType type = (ScalarType)loop_type(b, loop->args[0]).elem;
    LoopRef turns = loop_lt(b, loop_const(b, type, 0), loop->args[0]);
    loop_identify(b, loop->outs[k], loop_select(b, turns, fresh, start));
}

// State k goes round with two buffers, or stays in one; the statements for that go
// where the builder is.
static void swap(Swapper *s, uint32_t k) {
    LoopBuilder *b = s->b;
    LoopBody *turn = s->turn;
    LoopRef buffer = kept(s, turn->results[k]), fresh[2], params[2];
    LoopType type = loop_type(b, buffer);
    LoopRef count = count_for(s, find_def(s, buffer));
    fresh[0] = loop_emit1(b, LOOP_ALLOC, &count, 1, type);
    LoopRef old = turn->params[(s->loop->op == LOOP_FOR) + k];
    if (!b->kernel->is_for_gpus && has_size(s, k) &&
        memory_is_own(b, s->loop, old, buffer)) {
        stay(s, k, fresh[0], count);
        return;
    }
    fresh[1] = loop_emit1(b, LOOP_ALLOC, &count, 1, type);
    for (int i = 0; i < 2; i++) params[i] = loop_value(b, type, 0);
    append(turn->params, &turn->param_count, params[0], params[1]);
    LoopBody *guard = s->loop->bodies[0];
    if (s->loop->op == LOOP_WHILE) {
        LoopRef next = loop_value(b, type, 0), now = loop_value(b, type, 0);
        append(guard->params, &guard->param_count, now, next);
    }
    loop_identify(b, turn->results[k], params[0]);
    loop_identify(b, buffer, params[0]);
    append(turn->results, &turn->result_count, params[1], params[0]);
    LoopStm *loop = s->loop;
    append(loop->args, &loop->arg_count, fresh[0], fresh[1]);
    LoopRef other = loop_value(b, type, 0), last = loop_value(b, type, 0);
    append(loop->outs, &loop->out_count, last, other);
}

static void make_rooms(Swapper *s) {
    LoopStm *loop = s->loop;
    LoopBody *turn = s->turn;
    for (uint32_t k = 0; k < loop->body_count; k++) {
        LoopBody *body = loop->bodies[k];
        body->params = make_room(s, body->params, body->param_count);
    }
    loop->args = make_room(s, loop->args, loop->arg_count);
    loop->outs = make_room(s, loop->outs, loop->out_count);
    turn->results = make_room(s, turn->results, turn->result_count);
}

// Drops the allocations of what is kept; what else the turn allocates is still freed.
static void drop_allocs(Swapper *s) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < s->turn->stms.len; i++) {
        LoopStm *stm = s->turn->stms.data[i];
        bool is_gone = false;
        for (uint32_t k = 0; k < s->keep->out_count && stm->op == LOOP_ALLOC; k++)
            is_gone = is_gone || stm->outs[0] == s->keep->args[1 + k];
        if (!is_gone) s->turn->stms.data[left++] = stm;
    }
    s->turn->stms.len = left;
    s->keep->arg_count = 1;
    s->keep->out_count = 0;
    if (!loop_allocates(s->loop)) s->turn->stms.len--;
}

// Puts the statements of `body`, then the mark, right before the loop.
static void insert(Swapper *s, const LoopBody *body) {
    LoopBody *outer = s->outer;
    uint32_t count = body->stms.len, len = outer->stms.len;
    LoopStm *mark = outer->stms.data[s->mark];
    for (uint32_t i = 0; i < count; i++)
        vec_push(s->b->arena, &outer->stms, body->stms.data[i]);
    LoopStm **stms = outer->stms.data;
    memmove(stms + s->at + count, stms + s->at, (len - s->at) * sizeof *stms);
    memmove(stms + s->mark, stms + s->mark + 1, (s->at - s->mark - 1) * sizeof *stms);
    for (uint32_t i = 0; i < count; i++) stms[s->at - 1 + i] = body->stms.data[i];
    stms[s->at - 1 + count] = mark;
}

// Returns how many statements were put before the loop.
static uint32_t swap_all(Swapper *s) {
    loop_open(s->b, NULL, 0);
    uint32_t count = s->turn->result_count;
    make_rooms(s);
    for (uint32_t k = 0; k < count; k++)
        if (is_buffer(s, s->turn->results[k])) swap(s, k);
    const LoopBody *before = loop_close(s->b, NULL, 0);
    drop_allocs(s);
    insert(s, before);
    return before->stms.len;
}

static void visit(LoopBuilder *b, LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++) visit(b, stm->bodies[k]);
        if (stm->op != LOOP_FOR && stm->op != LOOP_WHILE) continue;
        Swapper s = {.b = b, .outer = body, .at = i, .loop = stm};
        s.turn = stm->bodies[stm->body_count - 1];
        if (can_swap(&s)) i += swap_all(&s);
    }
}

void loop_memory(LoopKernel *kernel) {
    LoopBuilder b = loop_builder(kernel);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        visit(&b, kernel->funs.data[i].body);
    visit(&b, kernel->root);
    loop_tidy_news(&b);
}
