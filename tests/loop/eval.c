// SPDX-License-Identifier: Apache-2.0
//
// Evaluation by walking over the kernel. Turns of a parallel loop run one after the
// other, each with private memory of its own; an element remembers which turn touched
// it last, so that what could race is seen. So it is with independent turns, which free
// their private memory themselves.
#include "eval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/messages.h"
#include "team.h"

enum { MOST_STEPS = 5000000 };

typedef struct Buffer {
    struct Buffer *next; // of all
    ScalarType elem;
    int64_t count;
    uint64_t *bits;
    uint8_t *is_set;
    // Which turn did, made when first needed; 0: none. joiner: with an ATOMIC.
    uint64_t *writer, *reader, *joiner;
    uint64_t *item_writer, *item_reader; // which item of a team did (team.h)
    bool is_dead, is_constant;
    const char *kind;
} Buffer;

typedef struct Value {
    uint64_t bits; // of a mark its height
    Buffer *buffer;
} Value;

typedef struct Private {
    Buffer **data;
    size_t len, cap, bytes;
} Private;

// A turn of a parallel or independent loop, and the one around it. Turns are numbered
// as they are handed out: those of this loop from `first` on, and whatever ran within
// them below `start`, when this one began.
typedef struct Turn {
    const struct Turn *outer;
    uint64_t first, number, start;
    bool has_lanes; // it is as many turns
} Turn;

typedef struct Eval {
    const LoopKernel *kernel;
    EvalOrder order;
    Arena *arena;
    EvalReport *report;
    Value *values;
    uint64_t (*lanes)[LOOP_MOST_LANES]; // by LoopRef
    uint32_t lane;                      // at work in a vector turn
    bool is_vector, gives_up;           // the turn
    uint32_t sure_turns; // before the one that is not sure; LOOP_MOST_LANES: not known
    Buffer *all;
    Private *stack;   // of the thread at work
    Buffer **results; // by number
    int64_t (*shapes)[CORE_MAX_RANK];
    bool *has_room;   // the result's rows may be fewer
    const Turn *turn; // at work; NULL: none
    uint64_t turns;   // handed out so far
    Team team;
    uint64_t steps;
    jmp_buf exit;
} Eval;

static _Noreturn void bug(Eval *e, const LoopStm *stm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static _Noreturn void bug(Eval *e, const LoopStm *stm, const char *format, ...) {
    StrBuf text = strbuf(e->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    if (stm != NULL) strbuf_printf(&text, " (%s)", loop_op_names[stm->op]);
    e->report->message = strbuf_done(&text);
    e->report->loc = stm != NULL ? stm->loc : 0;
    longjmp(e->exit, EVAL_BUG);
}

// ---- memory -------------------------------------------------------------------------

static void *need(void *block) {
    if (block == NULL) abort();
    return block;
}

static Buffer *new_buffer(Eval *e, const char *kind, ScalarType elem, int64_t count) {
    Buffer *buffer = need(calloc(1, sizeof *buffer));
    *buffer = (Buffer){.next = e->all, .elem = elem, .count = count, .kind = kind};
    e->all = buffer;
    buffer->bits = need(malloc((size_t)count * 8 + 8));
    buffer->is_set = need(calloc((size_t)count + 1, 1));
    return buffer;
}

static void free_elements(Buffer *buffer) {
    free(buffer->bits);
    free(buffer->is_set);
    free(buffer->writer);
    free(buffer->reader);
    free(buffer->joiner);
    free(buffer->item_writer);
    free(buffer->item_reader);
    buffer->bits = NULL;
    buffer->is_set = NULL;
    buffer->writer = buffer->reader = buffer->joiner = NULL;
    buffer->item_writer = buffer->item_reader = NULL;
}

static void end_buffer(Buffer *buffer) {
    buffer->is_dead = true;
    free_elements(buffer);
}

static size_t bytes_of(const Buffer *buffer) {
    return (size_t)buffer->count * scalar_info[buffer->elem].bytes;
}

static void push(Eval *e, Buffer *buffer) {
    Private *s = e->stack;
    if (s->len == s->cap) {
        s->cap = s->cap * 2 + 8;
        s->data = need(realloc(s->data, s->cap * sizeof *s->data));
    }
    s->data[s->len++] = buffer;
    s->bytes += bytes_of(buffer);
    if (s->bytes > e->report->private_peak) e->report->private_peak = s->bytes;
}

// Frees private memory from a height on, save what is kept, which moves.
static void keep(Eval *e, const LoopStm *stm, size_t height, const LoopRef *from,
                 uint32_t count) {
    Private *s = e->stack;
    size_t len = height;
    if (height > s->len) bug(e, stm, "a mark above the stack's end");
    for (uint32_t k = 0; k < count; k++) e->values[stm->outs[k]] = e->values[from[k]];
    for (size_t i = height; i < s->len; i++) {
        Buffer *buffer = s->data[i], *moved = NULL;
        for (uint32_t k = 0; k < count; k++) {
            if (e->values[from[k]].buffer != buffer) continue;
            if (moved != NULL) bug(e, stm, "a buffer is kept twice");
            moved = new_buffer(e, buffer->kind, buffer->elem, 0);
            free_elements(moved);
            Buffer *next = moved->next;
            *moved = *buffer;
            moved->next = next;
            e->values[stm->outs[k]].buffer = moved;
        }
        if (moved == NULL) {
            s->bytes -= bytes_of(buffer);
            end_buffer(buffer);
            continue;
        }
        buffer->is_dead = true;
        buffer->bits = NULL;
        buffer->is_set = NULL;
        buffer->writer = buffer->reader = buffer->joiner = NULL;
        buffer->item_writer = buffer->item_reader = NULL;
        s->data[len++] = moved;
    }
    s->len = len;
}

static uint64_t *tags(uint64_t **tags, int64_t count) {
    if (*tags == NULL) *tags = need(calloc((size_t)count + 1, 8));
    return *tags;
}

// Whether that turn is another one of a loop that is at work, or ran within one.
static bool races_with(const Eval *e, uint64_t number) {
    for (const Turn *turn = e->turn; turn != NULL; turn = turn->outer)
        if (number >= turn->first && number < turn->start && number != turn->number)
            return true;
    return false;
}

// Notes that this turn touches the element; another turn of the loop must not have
// written it or, if this one writes, read it. Several may do so with an ATOMIC.
static void touch(Eval *e, const LoopStm *stm, Buffer *b, int64_t at, bool writes) {
    if (e->turn == NULL) return;
    uint64_t *writer = tags(&b->writer, b->count), *reader = tags(&b->reader, b->count);
    const Turn *outer = e->turn;
    Turn turn = *outer; // of this lane
    if (turn.has_lanes) turn.number += e->lane;
    e->turn = &turn;
    bool joins = stm->op == LOOP_ATOMIC;
    uint64_t *joiner = joins ? tags(&b->joiner, b->count) : b->joiner;
    bool races = races_with(e, writer[at]) || (writes && races_with(e, reader[at])) ||
                 (!joins && joiner != NULL && races_with(e, joiner[at]));
    e->turn = outer;
    if (races)
        bug(e, stm, "two turns of a loop touch element %lld of %s memory",
            (long long)at, b->kind);
    *(joins ? &joiner[at] : writes ? &writer[at] : &reader[at]) = turn.number;
    if (!e->team.is_at_work) return;
    if (team_meets(&e->team, &tags(&b->item_writer, b->count)[at],
                   &tags(&b->item_reader, b->count)[at], writes, joins))
        bug(e, stm, "two items of a team meet at element %lld of %s memory",
            (long long)at, b->kind);
}

static uint32_t lanes_of(const Eval *e, LoopRef ref) {
    return e->is_vector ? e->kernel->values.data[ref].type.lanes : 0;
}

// Of the lane at work, if it has lanes.
static uint64_t bits_of(const Eval *e, LoopRef ref) {
    return lanes_of(e, ref) > 0 ? e->lanes[ref][e->lane] : e->values[ref].bits;
}

static void set_bits(Eval *e, LoopRef ref, uint64_t bits) {
    *(lanes_of(e, ref) > 0 ? &e->lanes[ref][e->lane] : &e->values[ref].bits) = bits;
}

// `lanes`: of the statement. Places that have none follow each other from lane to lane.
static Buffer *access_element(Eval *e, const LoopStm *stm, uint32_t first,
                              uint32_t lanes, int64_t *at_out) {
    bool is_masked = stm->op == LOOP_LOADIF || stm->op == LOOP_STOREIF;
    Buffer *b = e->values[stm->args[is_masked]].buffer;
    uint64_t at = bits_of(e, stm->args[first]);
    bool follows = lanes > 0 && lanes_of(e, stm->args[first]) == 0;
    for (uint32_t i = first + 1; i < stm->arg_count; i += 2) {
        at += bits_of(e, stm->args[i]) * bits_of(e, stm->args[i + 1]);
        follows = follows && lanes_of(e, stm->args[i]) == 0 &&
                  lanes_of(e, stm->args[i + 1]) == 0;
    }
    if (follows) at += e->lane;
    if (b == NULL) bug(e, stm, "no buffer");
    if (b->is_dead) bug(e, stm, "%s memory that has been freed", b->kind);
    if (at >= (uint64_t)b->count)
        bug(e, stm, "element %lld of %lld of %s memory", (long long)at,
            (long long)b->count, b->kind);
    *at_out = (int64_t)at;
    return b;
}

// ---- statements ---------------------------------------------------------------------

static ScalarType elem_of(const Eval *e, LoopRef ref) {
    return (ScalarType)e->kernel->values.data[ref].type.elem;
}

static void set_all(Eval *e, const LoopRef *to, const LoopRef *from, uint32_t count) {
    enum { FEW = 16 };
    Value few[FEW], *values = count > FEW ? need(malloc(count * sizeof *values)) : few;
    uint64_t(*lanes)[LOOP_MOST_LANES] =
        e->is_vector ? need(malloc((count + 1) * sizeof *lanes)) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = e->values[from[i]];
        if (lanes_of(e, from[i]) > 0)
            memcpy(lanes[i], e->lanes[from[i]], sizeof *lanes);
    }
    for (uint32_t i = 0; i < count; i++) {
        e->values[to[i]] = values[i];
        if (lanes_of(e, to[i]) > 0) memcpy(e->lanes[to[i]], lanes[i], sizeof *lanes);
    }
    free(lanes);
    if (values != few) free(values);
}

// False: a check failed.
static bool run_body(Eval *e, const LoopBody *body);

static void run_scalar(Eval *e, const LoopStm *stm) {
    uint64_t args[3], bits = 0;
    for (uint32_t i = 0; i < stm->arg_count; i++) args[i] = bits_of(e, stm->args[i]);
    CoreFault fault = core_eval(stm->scalar, elem_of(e, stm->args[0]),
                                elem_of(e, stm->outs[0]), args, &bits);
    set_bits(e, stm->outs[0], bits);
    if (fault != FAULT_NONE)
        bug(e, stm, "the operator %s fails", core_op_info[stm->scalar].name);
}

static void run_load(Eval *e, const LoopStm *stm, uint32_t lanes) {
    bool is_masked = stm->op == LOOP_LOADIF;
    if (is_masked && bits_of(e, stm->args[0]) == 0) {
        set_bits(e, stm->outs[0], 0);
        return;
    }
    int64_t at;
    Buffer *b = access_element(e, stm, is_masked + 1u, lanes, &at);
    if (!b->is_set[at])
        bug(e, stm, "element %lld of %s memory was never written", (long long)at,
            b->kind);
    touch(e, stm, b, at, false);
    e->report->loads++;
    set_bits(e, stm->outs[0], b->bits[at]);
}

static void run_store(Eval *e, const LoopStm *stm, uint32_t lanes) {
    bool is_masked = stm->op == LOOP_STOREIF;
    if (is_masked && bits_of(e, stm->args[0]) == 0) return;
    int64_t at;
    Buffer *b = access_element(e, stm, is_masked + 2u, lanes, &at);
    if (b->is_constant) bug(e, stm, "%s memory is written to", b->kind);
    touch(e, stm, b, at, true);
    e->report->stores++;
    b->bits[at] = bits_of(e, stm->args[is_masked + 1u]);
    b->is_set[at] = 1;
}

// Element `at` of the buffer that is an argument.
static Buffer *element(Eval *e, const LoopStm *stm, uint32_t arg, int64_t at,
                       bool writes) {
    Buffer *b = e->values[stm->args[arg]].buffer;
    if (b == NULL || b->is_dead) bug(e, stm, "no memory");
    if (at < 0 || at >= b->count)
        bug(e, stm, "element %lld of %lld of %s memory", (long long)at,
            (long long)b->count, b->kind);
    if (writes && b->is_constant) bug(e, stm, "%s memory is written to", b->kind);
    if (!writes && !b->is_set[at])
        bug(e, stm, "element %lld of %s memory was never written", (long long)at,
            b->kind);
    touch(e, stm, b, at, writes);
    return b;
}

static void run_lookup(Eval *e, const LoopStm *stm) {
    int64_t at = (int64_t)bits_of(e, stm->args[1]);
    uint64_t size = bits_of(e, stm->args[2]);
    Buffer *b = element(e, stm, 0, at, false);
    if (size > (uint64_t)b->count || (uint64_t)at >= size)
        bug(e, stm, "element %lld of %llu, where there are %lld", (long long)at,
            (unsigned long long)size, (long long)b->count);
    e->report->loads++;
    set_bits(e, stm->outs[0], b->bits[at]);
}

// All that may be given anything is as if nobody had written it.
static void run_sift(Eval *e, const LoopStm *stm) {
    int64_t at = (int64_t)bits_of(e, stm->args[1]),
            end = (int64_t)bits_of(e, stm->args[2]);
    int64_t i = (int64_t)bits_of(e, stm->args[4]),
            j = (int64_t)bits_of(e, stm->args[6]);
    int64_t n = (int64_t)bits_of(e, stm->args[7]), most = at + n < end ? at + n : end;
    for (int64_t k = 0; k < n; k++) {
        bool is_kept = element(e, stm, 5, j + k, false)->bits[j + k] != 0;
        uint64_t bits = element(e, stm, 3, i + k, false)->bits[i + k];
        if (!is_kept) continue;
        if (at >= end) bug(e, stm, "there is no room for element %lld", (long long)k);
        Buffer *to = element(e, stm, 0, at, true);
        to->bits[at] = bits;
        to->is_set[at++] = 1;
    }
    set_bits(e, stm->outs[0], (uint64_t)at);
    for (; at < most; at++) element(e, stm, 0, at, true)->is_set[at] = 0;
}

static void run_below(Eval *e, const LoopStm *stm) {
    int64_t at = (int64_t)bits_of(e, stm->args[1]),
            n = (int64_t)bits_of(e, stm->args[2]);
    ScalarType elem = elem_of(e, stm->args[0]);
    bool is_below = true;
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = element(e, stm, 0, at + k, false)->bits[at + k], wide;
        core_eval(OP_CONV, elem, SCALAR_U64, &bits, &wide);
        if (scalar_info[elem].bytes == 4 && wide >= INT32_MAX) is_below = false;
        is_below = is_below && wide < bits_of(e, stm->args[3]);
    }
    set_bits(e, stm->outs[0], is_below);
}

static void run_atomic(Eval *e, const LoopStm *stm) {
    int64_t at;
    Buffer *b = access_element(e, stm, 2, 0, &at);
    if (b->is_constant) bug(e, stm, "%s memory is written to", b->kind);
    if (!b->is_set[at]) bug(e, stm, "%s memory that was never written", b->kind);
    touch(e, stm, b, at, true);
    e->report->stores++;
    uint64_t args[2] = {b->bits[at], bits_of(e, stm->args[1])};
    core_eval(stm->scalar, elem_of(e, stm->args[1]), b->elem, args, &b->bits[at]);
}

static void run_lane(Eval *e, const LoopStm *stm, LoopRef first) {
    uint64_t bits = e->lane;
    if (stm->arg_count > 0) {
        bits = bits_of(e, first) + bits * bits_of(e, stm->args[1]);
        core_eval(OP_CONV, SCALAR_I64, elem_of(e, stm->outs[0]), &bits, &bits);
    }
    set_bits(e, stm->outs[0], bits);
}

static void run_take(Eval *e, const LoopStm *stm, uint32_t lanes) {
    uint64_t lane = bits_of(e, stm->args[2 + e->lane]);
    LoopRef from = stm->args[lane / lanes];
    set_bits(e, stm->outs[0], e->lanes[from][lane % lanes]);
}

// Of lanes that are not sure the first counts.
static void run_sure(Eval *e, LoopRef c, uint32_t lanes) {
    if (e->gives_up || bits_of(e, c) != 0) return;
    e->gives_up = true;
    e->sure_turns = lanes > 0 ? e->lane : LOOP_MOST_LANES;
}

// What is done for each lane, if any value of the statement has lanes. False: the
// vector turn gives up.
static bool run_lanes(Eval *e, const LoopStm *stm) {
    uint32_t lanes = stm->out_count > 0 ? lanes_of(e, stm->outs[0]) : 0;
    uint32_t tally = 0;
    for (uint32_t i = 0; i < stm->arg_count && e->is_vector; i++)
        if (lanes < lanes_of(e, stm->args[i])) lanes = lanes_of(e, stm->args[i]);
    for (e->lane = 0; e->lane == 0 || e->lane < lanes; e->lane++) {
        LoopRef first = stm->arg_count > 0 ? stm->args[0] : 0;
        switch (stm->op) {
        case LOOP_SCALAR: run_scalar(e, stm); break;
        case LOOP_LOAD:
        case LOOP_LOADIF: run_load(e, stm, lanes); break;
        case LOOP_LOOKUP: run_lookup(e, stm); break;
        case LOOP_STORE:
        case LOOP_STOREIF: run_store(e, stm, lanes); break;
        case LOOP_SPLAT: set_bits(e, stm->outs[0], bits_of(e, first)); break;
        case LOOP_LANES: run_lane(e, stm, first); break;
        case LOOP_SELECT:
            set_bits(e, stm->outs[0],
                     bits_of(e, stm->args[bits_of(e, first) != 0 ? 1 : 2]));
            break;
        case LOOP_PACK:
            set_bits(e, stm->outs[0], bits_of(e, stm->args[e->lane]));
            break;
        case LOOP_TAKE: run_take(e, stm, lanes); break;
        case LOOP_ANY:
        case LOOP_TALLY: tally += bits_of(e, first) != 0; break;
        case LOOP_SURE: run_sure(e, first, lanes); break;
        default: bug(e, stm, "no operator for lanes");
        }
    }
    e->lane = 0;
    if (stm->op == LOOP_ANY) e->values[stm->outs[0]].bits = tally > 0;
    if (stm->op == LOOP_TALLY) e->values[stm->outs[0]].bits = tally;
    return !e->gives_up;
}

static void run_data(Eval *e, const LoopStm *stm) {
    ScalarType elem = elem_of(e, stm->outs[0]);
    size_t bytes = scalar_info[elem].bytes;
    int64_t count = (int64_t)(stm->text.len / bytes);
    Buffer *b = new_buffer(e, "constant", elem, count);
    for (int64_t i = 0; i < count; i++)
        b->bits[i] = rt_load(elem, stm->text.ptr + (size_t)i * bytes);
    memset(b->is_set, 1, (size_t)count);
    b->is_constant = true;
    e->values[stm->outs[0]].buffer = b;
}

static void run_alloc(Eval *e, const LoopStm *stm) {
    int64_t count = (int64_t)e->values[stm->args[0]].bits;
    if (count < 0 || count > (int64_t)1 << 28)
        bug(e, stm, "%lld elements", (long long)count);
    Buffer *b = new_buffer(e, "private", elem_of(e, stm->outs[0]), count);
    push(e, b);
    e->report->allocs++;
    e->values[stm->outs[0]].buffer = b;
}

// Whether memory is to be made: room is given in most orders to all who ask, and in one
// to some.
static bool finds_room(Eval *e, const LoopStm *stm) {
    bool is_room = stm->out_count > 1;
    bool is_given = is_room && (e->order != EVAL_REVERSE || stm->number % 2 > 0);
    if (e->turn != NULL) bug(e, stm, "not in root code");
    if (e->results[stm->number] != NULL && !e->has_room[stm->number])
        bug(e, stm, "made twice");
    e->has_room[stm->number] = is_given;
    if (is_room) e->values[stm->outs[1]].bits = is_given;
    return !is_room || is_given;
}

static void run_result(Eval *e, const LoopStm *stm) {
    int64_t count = 1;
    bool is_empty = false;
    if (!finds_room(e, stm)) return;
    for (uint32_t d = 0; d < stm->arg_count; d++) {
        int64_t size = (int64_t)e->values[stm->args[d]].bits;
        if (size < 0) bug(e, stm, "a size of %lld", (long long)size);
        e->shapes[stm->number][d] = size;
        is_empty = is_empty || size == 0;
    }
    for (uint32_t d = 0; d < stm->arg_count && !is_empty; d++)
        if (__builtin_mul_overflow(count, e->shapes[stm->number][d], &count) ||
            count > (int64_t)1 << 28)
            bug(e, stm, "too large");
    Buffer *b = new_buffer(e, "result", elem_of(e, stm->outs[0]), is_empty ? 0 : count);
    e->results[stm->number] = b;
    e->values[stm->outs[0]].buffer = b;
}

static bool run_check(Eval *e, const LoopStm *stm) {
    if (e->values[stm->args[0]].bits != 0) return true;
    ScalarType types[16];
    uint64_t bits[16];
    for (uint32_t i = 1; i < stm->arg_count; i++) {
        types[i - 1] = elem_of(e, stm->args[i]);
        bits[i - 1] = e->values[stm->args[i]].bits;
    }
    StrBuf text = strbuf(e->arena);
    core_fill_in(&text, stm->text, stm->arg_count - 1, types, bits);
    e->report->message = strbuf_done(&text);
    e->report->loc = stm->loc;
    return false;
}

static bool run_call(Eval *e, const LoopStm *stm) {
    const LoopBody *body = e->kernel->funs.data[stm->number].body;
    size_t height = e->stack->len;
    set_all(e, body->params, stm->args, body->param_count);
    if (!run_body(e, body)) return false;
    keep(e, stm, height, body->results, body->result_count);
    return true;
}

static void run_apply(Eval *e, const LoopStm *stm) {
    const LoopBody *body = e->kernel->funs.data[stm->number].body;
    uint32_t lanes = stm->out_count > 0 ? lanes_of(e, stm->outs[0]) : 0;
    for (uint32_t lane = 0; lane == 0 || lane < lanes; lane++) {
        e->lane = lane;
        bool is_on = lanes == 0 || bits_of(e, stm->args[0]) != 0;
        for (uint32_t i = 0; i < body->param_count; i++)
            e->values[body->params[i]].bits = bits_of(e, stm->args[i + (lanes > 0)]);
        e->lane = 0;
        if (is_on) run_body(e, body);
        e->lane = lane;
        for (uint32_t i = 0; i < stm->out_count; i++)
            set_bits(e, stm->outs[i], is_on ? bits_of(e, body->results[i]) : 0);
    }
    e->lane = 0;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t *turn_order(const Eval *e, uint64_t count) {
    uint64_t *turns = need(malloc((size_t)count * 8 + 8));
    for (uint64_t i = 0; i < count; i++)
        turns[i] = e->order == EVAL_REVERSE ? count - 1 - i : i;
    for (uint64_t i = count; i > 1 && e->order == EVAL_SHUFFLED; i--) {
        uint64_t k = mix(i + count) % i, t = turns[i - 1];
        turns[i - 1] = turns[k];
        turns[k] = t;
    }
    return turns;
}

// Runs one turn: with private memory of its own, or in that of the thread.
static bool run_turn(Eval *e, const LoopStm *stm, uint64_t i) {
    Private *outer = e->stack, stack = {0};
    size_t height = outer->len;
    bool is_parallel = stm->order == ORDER_PARALLEL;
    if (is_parallel) e->stack = &stack;
    const LoopBody *body = stm->bodies[stm->body_count - 1];
    e->values[body->params[0]].bits = i;
    bool ok = run_body(e, body);
    for (size_t k = 0; k < stack.len; k++) end_buffer(stack.data[k]);
    free(stack.data);
    e->stack = outer;
    if (ok && !is_parallel && outer->len != height)
        bug(e, stm, "a turn leaves private memory behind");
    return ok;
}

// Runs so many turns at once; gives up as if none had begun.
static bool run_vector_turn(Eval *e, const LoopStm *stm, uint64_t i) {
    uint64_t stores = e->report->stores;
    e->values[stm->bodies[0]->params[0]].bits = i;
    e->is_vector = true;
    bool ok = run_body(e, stm->bodies[0]);
    e->is_vector = false;
    if (!ok && e->report->stores != stores) bug(e, stm, "it gives up after a store");
    if (!ok && !e->gives_up) bug(e, stm, "a vector turn fails");
    e->gives_up = false;
    return ok;
}

// Turns in any order. Of those that fail the one with the least index counts.
static bool run_turns(Eval *e, const LoopStm *stm, uint64_t count) {
    const Turn *outer = e->turn;
    if (stm->order == ORDER_PARALLEL && outer != NULL)
        bug(e, stm, "a parallel loop within another");
    uint64_t lanes = stm->number > 0 ? stm->number : 1;
    bool is_partial = lanes > 1 && stm->body_count == 1;
    uint64_t vectors = count / lanes + (is_partial && count % lanes > 0);
    uint64_t alone = is_partial ? 0 : count % lanes;
    uint64_t *turns = turn_order(e, vectors + alone), least = count;
    EvalReport report = {0};
    Turn turn = {.outer = outer, .first = e->turns + 1};
    e->turns += vectors * lanes + alone;
    e->turn = &turn;
    for (uint64_t i = 0; i < vectors + alone; i++) {
        bool is_vector = lanes > 1 && turns[i] < vectors;
        uint64_t first = is_vector ? turns[i] * lanes : turns[i];
        if (lanes > 1 && !is_vector) first += vectors * (lanes - 1);
        turn.number = turn.first + first;
        turn.start = e->turns + 1;
        turn.has_lanes = is_vector;
        if (is_vector && run_vector_turn(e, stm, first)) continue;
        turn.has_lanes = false;
        for (uint64_t k = first; k < first + (is_vector ? lanes : 1); k++) {
            turn.number = turn.first + k;
            turn.start = e->turns + 1;
            uint32_t item = team_enter(&e->team, stm, k);
            bool ok = run_turn(e, stm, k);
            e->team.item = item;
            if (ok) continue;
            if (k < least) report = *e->report;
            if (k < least) least = k;
            break;
        }
    }
    e->turn = outer;
    free(turns);
    team_leave(&e->team, stm);
    if (least == count) return true;
    e->report->message = report.message;
    e->report->loc = report.loc;
    return false;
}

// Turns in order, where a vector turn that does not give up says that there is nothing
// to do in them, or else in how many of the first.
static bool run_unless_idle(Eval *e, const LoopStm *stm, uint64_t count) {
    for (uint64_t i = 0, end; i < count; i = end) {
        bool is_whole = count - i >= stm->number;
        end = is_whole ? i + stm->number : count;
        if (is_whole && run_vector_turn(e, stm, i)) continue;
        if (is_whole && e->sure_turns < LOOP_MOST_LANES) {
            i += e->sure_turns;
            end = i + 1;
        }
        for (uint64_t k = i; k < end; k++)
            if (!run_turn(e, stm, k)) return false;
    }
    return true;
}

static bool run_for(Eval *e, const LoopStm *stm) {
    const LoopBody *body = stm->bodies[0];
    ScalarType type = elem_of(e, stm->args[0]);
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    uint64_t count = e->values[stm->args[0]].bits;
    if (scalar_is_signed(type) && (int64_t)(count << unused) <= 0) count = 0;
    // Within a vector turn a lane is what counts as a turn.
    bool is_free = stm->order != ORDER_SEQUENTIAL && !e->is_vector;
    if (is_free) return run_turns(e, stm, count);
    if (stm->number > 0) return run_unless_idle(e, stm, count);
    set_all(e, body->params + 1, stm->args + 1, stm->out_count);
    for (uint64_t i = 0; i < count; i++) {
        e->values[body->params[0]].bits = i;
        if (!run_body(e, body)) return false;
        set_all(e, body->params + 1, body->results, stm->out_count);
    }
    set_all(e, stm->outs, body->params + 1, stm->out_count);
    return true;
}

static bool run_while(Eval *e, const LoopStm *stm) {
    const LoopBody *guard = stm->bodies[0], *body = stm->bodies[1];
    set_all(e, body->params, stm->args, stm->out_count);
    for (;;) {
        set_all(e, guard->params, body->params, stm->out_count);
        if (!run_body(e, guard)) return false;
        if (e->values[guard->results[0]].bits == 0) break;
        if (!run_body(e, body)) return false;
        set_all(e, body->params, body->results, stm->out_count);
    }
    set_all(e, stm->outs, body->params, stm->out_count);
    return true;
}

static bool run_if(Eval *e, const LoopStm *stm) {
    const LoopBody *body = stm->bodies[e->values[stm->args[0]].bits != 0 ? 0 : 1];
    if (!run_body(e, body)) return false;
    set_all(e, stm->outs, body->results, stm->out_count);
    return true;
}

static bool run_stm(Eval *e, const LoopStm *stm) {
    if (++e->steps == MOST_STEPS) longjmp(e->exit, EVAL_TIRED);
    team_statement(&e->team, stm);
    switch (stm->op) {
    case LOOP_SCALAR:
    case LOOP_LOAD:
    case LOOP_LOOKUP:
    case LOOP_STORE:
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE:
    case LOOP_ANY:
    case LOOP_TALLY:
    case LOOP_SURE:
    case LOOP_LOADIF:
    case LOOP_STOREIF: return run_lanes(e, stm);
    case LOOP_SIFT: run_sift(e, stm); return true;
    case LOOP_BELOW: run_below(e, stm); return true;
    case LOOP_ATOMIC: run_atomic(e, stm); return true;
    case LOOP_DATA: run_data(e, stm); return true;
    case LOOP_ALLOC: run_alloc(e, stm); return true;
    case LOOP_MARK: e->values[stm->outs[0]].bits = e->stack->len; return true;
    case LOOP_KEEP:
        keep(e, stm, (size_t)e->values[stm->args[0]].bits, stm->args + 1,
             stm->out_count);
        return true;
    case LOOP_RESULT: run_result(e, stm); return true;
    case LOOP_THREADS: // one goes forward
        e->values[stm->outs[0]].bits = e->order == EVAL_FORWARD ? 1 : 3;
        return true;
    case LOOP_CHECK: return run_check(e, stm);
    case LOOP_CALL: return run_call(e, stm);
    case LOOP_APPLY: run_apply(e, stm); return true;
    case LOOP_IF: return run_if(e, stm);
    case LOOP_FOR: return run_for(e, stm);
    case LOOP_WHILE: return run_while(e, stm);
    case LOOP_COUNT: break;
    }
    bug(e, stm, "no operator");
}

static bool run_body(Eval *e, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!run_stm(e, body->stms.data[i])) return false;
    return true;
}

// ---- arguments and results ----------------------------------------------------------

static int64_t count_of(uint32_t rank, const int64_t *shape) {
    int64_t count = 1;
    for (uint32_t d = 0; d < rank; d++)
        if (shape[d] == 0) return 0;
    for (uint32_t d = 0; d < rank; d++) count *= shape[d];
    return count;
}

static uint64_t load_at(const RtArray *a, int64_t number) {
    int64_t offset = 0;
    for (uint32_t d = a->rank; d-- > 0;) {
        offset += number % a->shape[d] * a->strides[d];
        number /= a->shape[d];
    }
    return rt_load(a->elem, a->data + offset * (int64_t)scalar_info[a->elem].bytes);
}

static void set_args(Eval *e, const RtValue *args) {
    const LoopRef *ref = e->kernel->root->params;
    for (uint32_t i = 0; i < e->kernel->param_count; i++) {
        if (args[i].rank == 0) {
            e->values[*ref++].bits = args[i].bits;
            continue;
        }
        const RtArray *a = args[i].array;
        int64_t count = count_of(a->rank, a->shape);
        bool is_owned = e->kernel->params[i].is_owned;
        Buffer *b = new_buffer(e, is_owned ? "owned" : "borrowed", a->elem, count);
        for (int64_t k = 0; k < count; k++) b->bits[k] = load_at(a, k);
        memset(b->is_set, 1, (size_t)count);
        b->is_constant = !is_owned;
        e->values[*ref++].buffer = b;
        for (uint32_t d = 0; d < a->rank; d++)
            e->values[*ref++].bits = (uint64_t)a->shape[d];
    }
}

static RtArray *get_array(Eval *e, RtHeap *heap, uint32_t i, CoreType type, Buffer *b,
                          const int64_t *shape) {
    uint32_t spare = i + e->kernel->result_count,
             at = e->results[spare] == b ? spare : i;
    bool is_result = e->results[at] == b;
    if (b->is_dead || (!is_result && strcmp(b->kind, "owned") != 0))
        bug(e, NULL, "result %u lies in %s memory", i, b->kind);
    int64_t count = count_of(type.rank, shape);
    int64_t *made = e->shapes[at];
    bool is_room = is_result && e->has_room[at];
    if (is_room && shape[0] > made[0]) bug(e, NULL, "result %u has no room", i);
    if (is_room) made[0] = shape[0];
    if (is_result && memcmp(shape, made, type.rank * sizeof *shape) != 0)
        bug(e, NULL, "result %u has another shape than its memory", i);
    if (is_room ? b->count < count : b->count != count)
        bug(e, NULL, "result %u has not the size of its memory", i);
    for (int64_t k = 0; k < count; k++)
        if (!b->is_set[k])
            bug(e, NULL, "element %lld of result %u was never written", (long long)k,
                i);
    if (strcmp(b->kind, "owned") == 0) b->kind = "already handed out";
    RtArray *a = need(rt_new(heap, (ScalarType)type.elem, type.rank, shape));
    for (int64_t k = 0; k < count; k++)
        rt_store(a->elem, a->data + k * scalar_info[a->elem].bytes, b->bits[k]);
    return a;
}

static void get_results(Eval *e, RtHeap *heap, RtValue *results) {
    const LoopRef *ref = e->kernel->root->results;
    for (uint32_t i = 0; i < e->kernel->result_count; i++) {
        CoreType type = e->kernel->results[i].type;
        results[i] = (RtValue){.elem = (ScalarType)type.elem, .rank = type.rank};
        if (type.rank == 0) {
            results[i].bits = e->values[*ref++].bits;
            continue;
        }
        Buffer *b = e->values[*ref++].buffer;
        int64_t shape[CORE_MAX_RANK];
        for (uint32_t d = 0; d < type.rank; d++)
            shape[d] = (int64_t)e->values[*ref++].bits;
        results[i].array = get_array(e, heap, i, type, b, shape);
    }
}

static EvalOutcome run(Eval *e, RtHeap *heap, const RtValue *args, RtValue *results) {
    switch (setjmp(e->exit)) {
    case 0: break;
    case EVAL_TIRED: return EVAL_TIRED;
    default: return EVAL_BUG;
    }
    for (LoopRef ref = 1; ref < e->kernel->values.len; ref++)
        e->values[ref].bits = e->kernel->values.data[ref].bits;
    set_args(e, args);
    if (!run_body(e, e->kernel->root)) return EVAL_FAULT;
    get_results(e, heap, results);
    return EVAL_OK;
}

EvalOutcome loop_eval(const LoopKernel *kernel, EvalOrder order, Arena *arena,
                      RtHeap *heap, const RtValue *args, RtValue *results,
                      EvalReport *report) {
    Private stack = {0};
    *report = (EvalReport){0};
    Eval e = {.kernel = kernel,
              .order = order,
              .arena = arena,
              .report = report,
              .stack = &stack};
    e.values = need(calloc(kernel->values.len, sizeof *e.values));
    e.lanes = need(calloc(kernel->values.len, sizeof *e.lanes));
    e.results = need(calloc(2 * kernel->result_count + 1, sizeof *e.results));
    e.has_room = need(calloc(2 * kernel->result_count + 1, sizeof *e.has_room));
    team_plan(&e.team, kernel, arena);
    e.shapes = need(calloc(2 * kernel->result_count + 1, sizeof *e.shapes));
    EvalOutcome outcome = run(&e, heap, args, results);
    while (e.all != NULL) {
        Buffer *next = e.all->next;
        free_elements(e.all);
        free(e.all);
        e.all = next;
    }
    free(stack.data);
    free(e.values);
    free(e.lanes);
    free(e.results);
    free(e.shapes);
    free(e.has_room);
    return outcome;
}
