// SPDX-License-Identifier: Apache-2.0
//
// Batches (docs/internals/lift.md): turns that keep intermediate arrays, several at
// once, each in a lane. Their private memory lies element by element, lane by lane, so
// that whatever a turn does to an element is one vector for all of them:
//
//   for.parallel(n) {i: t = alloc(m); for(m) {k: ... load(t, k) ...}; ...}
//   for.parallel(n / 8) {
//     t = alloc(8 m)
//     for(1, or 2 at the end) {
//       first = ...                  -- the last eight reach back into those before
//       pack                         -- what turns load again and again
//       for.independent[8] {lane: for(m) {k: ... load(t, 8 k + lane) ...}}
//       ...                          -- one for each step from array to array
//     }
//   }
//
// It is for turns with a fold in order that lanes of loops within could not take, since
// none is around it, or since its places lie apart there; and whose memory fits near a
// core. Their loops make as many turns for all. Conditions that are the same for all
// are tested before: where they fail, or there are few turns, the loop stays as it was,
// with its errors. Turns that load what they store do not go twice: those left over are
// a loop of their own. Each value is computed as before, in its order.
#include "loop/batch.h"
#include "loop/machine.h"
#include "loop/passes.h"

enum { LEAST_BLOCKS = 4, LEAST_LANE = 4, LINE = 64 }; // bytes
// Lanes where folds wait, which may be loaded one by one: more rows than that, a power
// of two apart, want more lines of the first cache than may lie there.
enum { MOST_APART = 8 };

// ---- steps --------------------------------------------------------------------------

static bool is_again(const Batch *x, const LoopStm *stm) {
    return stm->op == LOOP_SCALAR && (batch_on(x, stm->outs[0]) & BATCH_ON_STATE) == 0;
}

static void need(Batch *x, const LoopStm *stm);

static void need_ref(Batch *x, LoopRef ref) {
    ref = batch_same(x, ref);
    if (ref >= x->known || x->is_needed[ref]) return;
    x->is_needed[ref] = true;
    vec_push(loop_notes(x->b->kernel), &x->needed, ref);
    if (x->defs[ref] != NULL) need(x, x->defs[ref]);
}

static void need(Batch *x, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->arg_count; i++) need_ref(x, stm->args[i]);
    for (uint32_t k = 0; k < stm->body_count; k++) {
        const LoopBody *body = stm->bodies[k];
        for (uint32_t i = 0; i < body->stms.len; i++) need(x, body->stms.data[i]);
        for (uint32_t i = 0; i < body->result_count; i++) need_ref(x, body->results[i]);
    }
}

static bool uses(const Batch *x, const LoopStm *stm, LoopRef ref) {
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (batch_same(x, stm->args[i]) == ref) return true;
    for (uint32_t k = 0; k < stm->body_count; k++) {
        const LoopBody *body = stm->bodies[k];
        for (uint32_t i = 0; i < body->stms.len; i++)
            if (uses(x, body->stms.data[i], ref)) return true;
        for (uint32_t i = 0; i < body->result_count; i++)
            if (batch_same(x, body->results[i]) == ref) return true;
    }
    return false;
}

// A loop begins new lanes, and what comes after it does.
static bool is_cut(const Batch *x, uint32_t at) {
    const LiftStms *steps = &x->steps;
    return at == steps->len || steps->data[at]->op == LOOP_FOR ||
           (at > 0 && steps->data[at - 1]->op == LOOP_FOR);
}

// Allots memory to what a step makes for later ones, which have other lanes.
static void keep_values(Batch *x) {
    LoopBuilder *b = x->b;
    const LiftStms *steps = &x->steps;
    for (uint32_t i = 0, end = 0; i < steps->len; i++) {
        const LoopStm *stm = steps->data[i];
        while (end <= i || !is_cut(x, end)) end++;
        for (uint32_t k = 0; k < stm->out_count && !is_again(x, stm); k++)
            for (uint32_t later = end; later < steps->len; later++) {
                LoopType type = batch_type(x, stm->outs[k]);
                if (!uses(x, steps->data[later], stm->outs[k])) continue;
                type.kind = LOOP_IS_BUFFER;
                x->blocks[stm->outs[k]] = loop_emit1(b, LOOP_ALLOC, &x->lanes, 1, type);
                break;
            }
    }
}

typedef struct Contents {
    bool acts, folds;
} Contents;

static void look_inside(const Batch *x, const LoopStm *stm, Contents *contents) {
    if (stm->op == LOOP_STORE) contents->acts = true;
    if (stm->op == LOOP_FOR && stm->out_count > 0) contents->folds = true;
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (x->blocks[stm->outs[i]] != 0) contents->acts = true;
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            look_inside(x, stm->bodies[k]->stms.data[i], contents);
}

static void forget_needed(Batch *x) {
    for (uint32_t i = 0; i < x->needed.len; i++)
        x->is_needed[x->needed.data[i]] = false;
    x->needed.len = 0;
}

// What an earlier step has kept.
static void load_kept(BatchStep *s, LoopRef ref) {
    LoopBuilder *b = s->x->b;
    LoopRef args[] = {s->x->blocks[ref], loop_int(b, 0), loop_int(b, 1), s->lane};
    LoopRef x = loop_emit1(b, LOOP_LOAD, args, 4, batch_type(s->x, ref));
    if (s->x->is_narrow[ref]) x = loop_scalar(b, OP_CONV, SCALAR_I64, &x, 1);
    loop_copy_as(&s->c, ref, x);
}

static void store_kept(BatchStep *s, LoopRef ref) {
    LoopBuilder *b = s->x->b;
    LoopRef args[] = {s->x->blocks[ref], batch_copy_of(s, ref), loop_int(b, 0),
                      loop_int(b, 1), s->lane};
    loop_emit(b, LOOP_STORE, args, 5, NULL, 0);
}

// What the step that begins with statement `first` takes of those before it.
static void emit_earlier(BatchStep *s, const LoopStm *stm) {
    const Batch *x = s->x;
    for (uint32_t k = 0; k < stm->out_count; k++) {
        if (!x->is_needed[stm->outs[k]]) continue;
        if (is_again(x, stm)) batch_emit(s, stm);
        else load_kept(s, stm->outs[k]);
    }
}

// Statements from `first` to before `end`, for all lanes. False: there are folds that
// cannot have lanes. Others that gain nothing go lane by lane.
static bool emit_step(Batch *x, uint32_t first, uint32_t end) {
    LoopBuilder *b = x->b;
    const LiftStms *steps = &x->steps;
    Contents contents = {0};
    forget_needed(x);
    for (uint32_t i = first; i < end; i++) {
        if (is_again(x, steps->data[i])) continue;
        need(x, steps->data[i]);
        look_inside(x, steps->data[i], &contents);
    }
    if (!contents.acts) return true;
    BatchStep s = {.x = x, .c = loop_copier(b), .lane = loop_open_turns(b)};
    loop_copy_as(&s.c, x->loop->bodies[0]->params[0], loop_add(b, x->first, s.lane));
    for (uint32_t i = 0; i < end; i++) {
        const LoopStm *stm = steps->data[i];
        if (i < first || is_again(x, stm)) emit_earlier(&s, stm);
        else batch_emit(&s, stm);
        for (uint32_t k = 0; k < stm->out_count && i >= first; k++)
            if (x->blocks[stm->outs[k]] != 0) store_kept(&s, stm->outs[k]);
    }
    LoopStm *lanes = loop_close_turns(b, x->lanes, ORDER_INDEPENDENT);
    bool made = batch_give_lanes(x, lanes, contents.folds && x->waits);
    return made || !contents.folds;
}

static bool emit_block(Batch *x) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < x->packed.len; i++)
        if (!batch_pack_rows(x, &x->packed.data[i])) batch_pack(x, &x->packed.data[i]);
    for (uint32_t at = 1; at <= x->steps.len; at++) {
        if (!is_cut(x, at)) continue;
        if (!batch_is_lost(x, first) && !emit_step(x, first, at)) return false;
        first = at;
    }
    batch_emit_rows(x);
    return true;
}

// ---- blocks -------------------------------------------------------------------------

// Memory for all lanes.
static LoopRef alloc_lanes(Batch *x, LoopRef count, LoopType type) {
    LoopRef size = loop_mul(x->b, count, x->lanes);
    return loop_emit1(x->b, LOOP_ALLOC, &size, 1, type);
}

static LoopRef packed_size(Batch *x, const BatchLoad *p) {
    LoopRef size = loop_int(x->b, 1);
    for (uint32_t i = 0; i < p->count; i++)
        size = loop_mul(x->b, size, batch_times(x, p->loops[i]));
    return size;
}

// Memory for rows that are made, and for squares of those that are walked along.
static void alloc_rows(Batch *x) {
    LoopBuilder *b = x->b;
    for (uint32_t i = 0; i < x->rows.len; i++) {
        LoopRef row = x->rows.data[i];
        x->blocks[row] =
            alloc_lanes(x, batch_compute_early(x, x->row_size[row]), loop_type(b, row));
    }
    for (uint32_t i = 0; i < x->walks.len; i++) {
        BatchWalk *walk = &x->walks.data[i];
        walk->tile = alloc_lanes(x, x->lanes, loop_type(b, walk->load->args[0]));
    }
}

// The blocks of one turn, which is one of so many: the last one has two if there are
// turns left over, so that no block reaches back into another turn. Turns that may not
// run twice are left to emit_rest.
static bool emit_turn(Batch *x, LoopRef turn, LoopRef turns) {
    LoopBuilder *b = x->b;
    LoopRef one = loop_int(b, 1), n = x->loop->args[0];
    for (uint32_t i = 0; i < x->allocs.len; i++) {
        const LoopStm *stm = x->allocs.data[i];
        x->blocks[stm->outs[0]] = alloc_lanes(x, batch_compute_early(x, stm->args[0]),
                                              loop_type(b, stm->outs[0]));
    }
    for (uint32_t i = 0; i < x->packed.len; i++) {
        BatchLoad *p = &x->packed.data[i];
        LoopType type =
            loop_buffer_type((ScalarType)loop_type(b, p->load->outs[0]).elem);
        p->buffer = alloc_lanes(x, packed_size(x, p), type);
    }
    alloc_rows(x);
    keep_values(x);
    LoopRef is_last = loop_eq(b, loop_add(b, turn, one), turns);
    LoopRef full = loop_mul(b, turns, x->lanes);
    LoopRef left = loop_min(b, loop_sub(b, n, full), one);
    LoopRef none = loop_int(b, 0);
    LoopRef extra = x->is_once ? none : loop_select(b, is_last, left, none);
    LoopRef blocks = loop_add(b, one, extra);
    LoopRef block = loop_open_turns(b);
    LoopRef last = loop_sub(b, n, x->lanes);
    x->first = loop_min(b, loop_mul(b, loop_add(b, turn, block), x->lanes), last);
    bool made = emit_block(x);
    loop_close_turns(b, blocks, ORDER_SEQUENTIAL);
    return made;
}

// The turns from `done` on, as they were.
static void emit_rest(Batch *x, LoopRef done) {
    LoopBuilder *b = x->b;
    const LoopBody *body = x->loop->bodies[0];
    LoopCopier c = loop_copier(b);
    LoopRef left = loop_sub(b, x->loop->args[0], done), turn = loop_open_turns(b);
    loop_copy_as(&c, body->params[0], loop_add(b, done, turn));
    for (uint32_t i = 0; i < body->stms.len; i++)
        loop_append(b, loop_copy_stm(&c, body->stms.data[i]));
    loop_close_turns(b, left, (LoopOrder)x->loop->order);
}

static bool emit_blocks(Batch *x) {
    LoopBuilder *b = x->b;
    LoopRef turns = loop_quot(b, x->loop->args[0], x->lanes);
    LoopRef turn = loop_open_turns(b);
    LoopRef mark = loop_emit1(b, LOOP_MARK, NULL, 0, (LoopType){.kind = LOOP_IS_MARK});
    bool made = emit_turn(x, turn, turns);
    loop_emit(b, LOOP_KEEP, &mark, 1, NULL, 0);
    loop_close_turns(b, turns, (LoopOrder)x->loop->order);
    if (x->is_once) emit_rest(x, loop_mul(b, turns, x->lanes));
    return made;
}

// ---- the pass -----------------------------------------------------------------------

// c, and there are at most so many elements, of which *total_io are counted in bytes.
static LoopRef add_size(Batch *x, LoopRef c, LoopRef size, uint32_t bytes,
                        LoopRef *total_io) {
    LoopBuilder *b = x->b;
    uint64_t lanes = x->b->kernel->values.data[x->lanes].bits;
    LoopRef most = loop_int(b, (int64_t)(x->machine->near / (lanes * bytes)));
    *total_io = loop_add(b, *total_io, loop_mul(b, size, loop_int(b, bytes)));
    return loop_and(b, c, loop_le(b, size, most));
}

// Whether there are enough turns, their memory is near, and they go the one way.
static LoopRef is_wanted(Batch *x) {
    LoopBuilder *b = x->b;
    LoopRef total = loop_int(b, 0), lanes = x->lanes;
    LoopRef least = loop_mul(b, lanes, loop_int(b, LEAST_BLOCKS));
    LoopRef c = loop_le(b, least, x->loop->args[0]);
    for (uint32_t i = 0; i < x->conditions.len; i++) {
        LoopRef holds = batch_compute_early(x, x->conditions.data[i]);
        c = loop_and(b, c, (x->arms >> i & 1) != 0 ? loop_not(b, holds) : holds);
    }
    for (uint32_t i = 0; i < x->allocs.len; i++) {
        const LoopStm *stm = x->allocs.data[i];
        uint32_t bytes = scalar_info[loop_type(b, stm->outs[0]).elem].bytes;
        c = add_size(x, c, batch_compute_early(x, stm->args[0]), bytes, &total);
    }
    for (uint32_t i = 0; i < x->rows.len; i++) {
        LoopRef row = x->rows.data[i];
        uint32_t bytes = scalar_info[loop_type(b, row).elem].bytes;
        c = add_size(x, c, batch_compute_early(x, x->row_size[row]), bytes, &total);
    }
    c = loop_and(b, c, batch_rows_hold(x));
    for (uint32_t i = 0; i < x->packed.len; i++) {
        const BatchLoad *p = &x->packed.data[i];
        uint32_t bytes = scalar_info[loop_type(b, p->load->outs[0]).elem].bytes;
        LoopRef unused = loop_int(b, 0);
        for (uint32_t k = 0; k < p->count; k++)
            c = add_size(x, c, batch_times(x, p->loops[k]), 1, &unused);
        c = add_size(x, c, packed_size(x, p), bytes, &total);
    }
    for (uint32_t i = 0; i < x->small.len; i++) {
        LoopRef number = batch_compute_early(x, x->small.data[i]);
        c = loop_and(b, c, loop_le(b, loop_int(b, 0), number));
        c = loop_and(b, c, loop_le(b, number, loop_int(b, BATCH_SMALL)));
    }
    LoopRef most = loop_quot(b, loop_int(b, x->machine->near), lanes);
    return loop_and(b, c, loop_le(b, total, most));
}

// As many as a vector has. Where rows are walked along, as a line of memory has if that
// is more: lines are loaded once then, and one fold waits beside the other.
static uint32_t count_lanes(Batch *x) {
    uint32_t lane = x->bytes > LEAST_LANE ? x->bytes : LEAST_LANE;
    uint32_t bytes = x->machine->bytes, lanes = bytes / lane;
    x->flight = 1;
    if (x->waits && !x->walks_all) return lanes > MOST_APART ? MOST_APART : lanes;
    if (x->walks_all && x->walks.len > 0 && bytes < LINE) x->flight = LINE / bytes;
    return x->flight * lanes;
}

// What says whether so many lanes are wanted, as *c_out; NULL: they never are.
static LoopBody *ask(Batch *x, uint32_t lanes, LoopRef *c_out) {
    uint64_t bits;
    x->lanes = loop_int(x->b, lanes);
    loop_open(x->b, NULL, 0);
    *c_out = is_wanted(x);
    LoopBody *body = loop_close(x->b, NULL, 0);
    return loop_is_known(x->b, *c_out, &bits) && bits == 0 ? NULL : body;
}

// Emits the loop as blocks of lanes where that is good, else as it was. False: nothing
// has been emitted.
static bool batch(Batch *x, LoopStm *loop) {
    LoopBuilder *b = x->b;
    b->loc = loop->loc;
    LoopRef c;
    LoopBody *arms[2];
    uint32_t lanes = count_lanes(x);
    LoopBody *before = ask(x, lanes, &c);
    if (before == NULL && x->flight > 1) { // twice the memory may be too much
        before = ask(x, lanes / x->flight, &c);
        x->flight = 1;
    }
    if (before == NULL) return false;
    loop_open(b, NULL, 0);
    bool made = emit_blocks(x);
    forget_needed(x);
    arms[0] = loop_close(b, NULL, 0);
    if (!made) return false;
    loop_open(b, NULL, 0);
    loop_append(b, loop);
    arms[1] = loop_close(b, NULL, 0);
    for (uint32_t i = 0; i < before->stms.len; i++)
        loop_append(b, before->stms.data[i]);
    loop_set_bodies(b, loop_emit(b, LOOP_IF, &c, 1, NULL, 0), arms, 2);
    return true;
}

// Whether the loop has turns in any order, and is blocks of lanes now.
static bool batch_loop(Batch *pass, LoopStm *loop) {
    if (loop->op != LOOP_FOR || loop->order == ORDER_SEQUENTIAL || loop->number != 0 ||
        loop_type(pass->b, loop->args[0]).elem != SCALAR_I64)
        return false;
    batch_make_room(pass);
    Batch x = *pass;
    bool made = batch_find(&x, loop) && batch(&x, loop);
    batch_forget(&x);
    return made;
}

static void batch_body(Batch *pass, LoopBody *body) {
    LoopBuilder *b = pass->b;
    LoopBody old = *body;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    loop_reopen(b, body);
    for (uint32_t i = 0; i < old.stms.len; i++) {
        LoopStm *stm = old.stms.data[i];
        LiftNest nest;
        if (batch_loop(pass, stm)) continue;
        bool is_nest = lift_find(b->kernel, pass->machine, stm, &nest);
        for (uint32_t k = 0; k < stm->body_count && !is_nest; k++)
            batch_body(pass, stm->bodies[k]);
        loop_append(b, stm);
    }
    b->open.len--;
}

void batch_run(LoopKernel *kernel, const LiftMachine *machine) {
    LoopBuilder b = loop_builder(kernel);
    Vector vector = vector_pass(kernel, machine->bytes);
    Batch pass = {.machine = machine, .b = &b, .vector = &vector};
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        batch_body(&pass, kernel->funs.data[i].body);
    batch_body(&pass, kernel->root);
    loop_tidy_news(&b);
}

void loop_batch(LoopKernel *kernel) {
    LiftMachine machine = lift_machine(machine_vector_bytes());
    if (machine.bytes > 0) batch_run(kernel, &machine);
}
