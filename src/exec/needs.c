// SPDX-License-Identifier: Apache-2.0
//
// What a call will hold where it runs (exec.h): the root code is walked as in
// launches.c, but nothing is launched, and memory is only counted. What launches leave,
// and on cores what is loaded, nobody knows before the run: where that decides on what
// comes next, the walk ends.
//
// On cores results and the private memory of root code each have all that the ceiling
// leaves (rt/private.h), so the larger of the two counts. That of workers does not.
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "exec/exec.h"
#include "exec/walk.h"

enum { MOST_STEPS = 1 << 13 }; // statements that are walked

typedef struct NeedsBlock {
    uint64_t address;
    double bytes;
} NeedsBlock;

typedef struct Needs {
    const LoopKernel *loop;
    const LoopPlan *plan; // NULL: on cores
    unsigned threads;     // then
    Arena *arena;
    uint64_t *values; // by LoopRef; of buffers: an address that no other has
    bool *is_known;
    uint64_t *moved; // values on their way, and whether they are known
    bool *moved_known;
    struct {
        NeedsBlock *data;
        uint32_t len, cap;
    } blocks;
    double *made; // by result, then spares: bytes
    uint64_t addresses;
    uint32_t steps;
    bool has_launched;
    double now, most;
    double slack_now, slack; // of results on cores, beside these; slack: of the most
    double private_now, private_most; // of root code, on cores
} Needs;

static bool walk_body(Needs *n, const LoopBody *body);

static bool is_known(const Needs *n, LoopRef ref) {
    return n->loop->values.data[ref].is_const || n->is_known[ref];
}

static uint64_t value_of(const Needs *n, LoopRef ref) {
    const LoopValue *value = &n->loop->values.data[ref];
    return value->is_const ? value->bits : n->values[ref];
}

static void set(Needs *n, LoopRef ref, bool known, uint64_t bits) {
    n->is_known[ref] = known;
    n->values[ref] = bits;
}

static void assign(Needs *n, const LoopRef *to, const LoopRef *from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        n->moved[i] = value_of(n, from[i]);
        n->moved_known[i] = is_known(n, from[i]);
    }
    for (uint32_t i = 0; i < count; i++) set(n, to[i], n->moved_known[i], n->moved[i]);
}

// ---- memory -------------------------------------------------------------------------

static void hold(Needs *n, double bytes) {
    n->now += bytes;
    if (n->now > n->most) {
        n->most = n->now;
        n->slack = n->slack_now;
    }
}

// What a result counts as beyond its bytes.
static double slack_of(const Needs *n, double bytes) {
    return n->plan == NULL ? mem_rounded(bytes) - bytes : 0;
}

static void hold_block(Needs *n, double bytes) {
    if (n->plan != NULL) {
        hold(n, bytes);
        return;
    }
    n->private_now += bytes;
    if (n->private_now > n->private_most) n->private_most = n->private_now;
}

static void add_block(Needs *n, const LoopStm *stm, double bytes) {
    set(n, stm->outs[0], true, ++n->addresses);
    vec_push(n->arena, &n->blocks, ((NeedsBlock){n->addresses, bytes}));
    hold_block(n, bytes);
}

// Frees the blocks from number `first` on but for those that the values lie in.
static void keep_blocks(Needs *n, uint32_t first, const LoopRef *kept, uint32_t count) {
    uint32_t to = first;
    for (uint32_t i = first; i < n->blocks.len; i++) {
        NeedsBlock block = n->blocks.data[i];
        bool is_kept = false;
        for (uint32_t k = 0; k < count; k++) {
            bool is_buffer = n->loop->values.data[kept[k]].type.kind == LOOP_IS_BUFFER;
            if (is_buffer && n->values[kept[k]] == block.address) is_kept = true;
        }
        if (is_kept) n->blocks.data[to++] = block;
        else hold_block(n, -block.bytes);
    }
    n->blocks.len = to;
}

// The bytes of so many elements of that type; false: nobody knows.
static bool bytes_of(const Needs *n, ScalarType elem, const LoopRef *sizes,
                     uint32_t count, double *bytes_out) {
    *bytes_out = scalar_info[elem].bytes;
    for (uint32_t i = 0; i < count; i++) {
        int64_t size = (int64_t)value_of(n, sizes[i]);
        if (!is_known(n, sizes[i]) || size < 0) return false;
        *bytes_out *= (double)size;
    }
    return true;
}

// Of what is on cores a few elements are where code has its variables.
static bool do_alloc(Needs *n, const LoopStm *stm) {
    double bytes;
    if (n->plan == NULL && n->loop->values.data[stm->args[0]].is_const) {
        add_block(n, stm, 0);
        return true;
    }
    if (!bytes_of(n, walk_elem(n->loop, stm->outs[0]), stm->args, 1, &bytes))
        return false;
    add_block(n, stm, bytes);
    return true;
}

// One that is made again is freed when the new one is there.
static bool do_result(Needs *n, const LoopStm *stm) {
    double bytes;
    if (stm->out_count > 1) { // room: there is none
        for (uint32_t k = 0; k < 2; k++) set(n, stm->outs[k], true, 0);
        return true;
    }
    if (!bytes_of(n, walk_elem(n->loop, stm->outs[0]), stm->args, stm->arg_count,
                  &bytes))
        return false;
    double before = n->made[stm->number];
    set(n, stm->outs[0], true, ++n->addresses);
    n->slack_now += slack_of(n, bytes);
    hold(n, bytes);
    n->now -= before;
    n->slack_now -= slack_of(n, before);
    n->made[stm->number] = bytes;
    return true;
}

static void do_keep(Needs *n, const LoopStm *stm) {
    assign(n, stm->outs, stm->args + 1, stm->out_count);
    keep_blocks(n, (uint32_t)value_of(n, stm->args[0]), stm->outs, stm->out_count);
}

// ---- scalars ------------------------------------------------------------------------

static void do_scalar(Needs *n, const LoopStm *stm) {
    uint64_t args[3];
    bool are_known = true;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        args[i] = value_of(n, stm->args[i]);
        are_known = are_known && is_known(n, stm->args[i]);
    }
    set(n, stm->outs[0], are_known, are_known ? walk_scalar(n->loop, stm, args) : 0);
}

// ---- launches -----------------------------------------------------------------------

// Whether there is surely a turn.
static bool is_launched(const Needs *n, const LoopLaunch *launch) {
    const LoopStm *stm = launch->body->stms.data[launch->first];
    LoopRef turns[] = {stm->args[0], launch->inner};
    uint32_t count = !launch->is_parallel ? 0 : launch->inner == 0 ? 1 : 2;
    bool is_sure = true;
    for (uint32_t i = 0; i < count; i++)
        is_sure =
            is_sure && is_known(n, turns[i]) && (int64_t)value_of(n, turns[i]) > 0;
    return is_sure;
}

// What a turn has of private memory at once, as far as that is certain: what it begins
// with, sizes of which are known outside.
static double private_of(Needs *n, const LoopBody *body, uint32_t first,
                         uint32_t count) {
    double sum = 0, bytes;
    for (uint32_t i = first; i < first + count; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_SCALAR) do_scalar(n, stm);
        if (stm->op == LOOP_KEEP) break;
        if (stm->op != LOOP_ALLOC || n->plan->is_local[stm->outs[0]]) continue;
        if (bytes_of(n, walk_elem(n->loop, stm->outs[0]), stm->args, 1, &bytes))
            sum += bytes;
    }
    return sum;
}

// An item has a power of two of it.
static double item_bytes(Needs *n, const LoopLaunch *launch) {
    const LoopStm *stm = launch->body->stms.data[launch->first];
    const LoopBody *turn = launch->is_parallel ? stm->bodies[0] : launch->body;
    uint32_t first = launch->is_parallel ? 0 : launch->first;
    uint32_t count = launch->is_parallel ? turn->stms.len : launch->count;
    double wanted = private_of(n, turn, first, count), bytes = DEVICE_ITEM_BYTES;
    while (bytes < wanted) bytes *= 2;
    return bytes;
}

// Its arguments stay; private memory does not.
static void launch(Needs *n, const LoopLaunch *launch) {
    double own = launch->has_private
                     ? (launch->has_team ? LAUNCH_TEAM : 1) * item_bytes(n, launch)
                     : 0;
    bool is_sure = is_launched(n, launch);
    if (is_sure && !n->has_launched) hold(n, DEVICE_LAUNCH_BYTES);
    n->has_launched = n->has_launched || is_sure;
    if (is_sure) {
        hold(n, own);
        n->now -= own;
    }
    for (uint32_t k = 0; k < launch->out_count; k++) set(n, launch->outs[k], false, 0);
}

// ---- control ------------------------------------------------------------------------

static bool takes_memory(const LoopStm *stm, int what) {
    (void)what;
    return stm->op == LOOP_ALLOC || stm->op == LOOP_RESULT || stm->op == LOOP_CALL;
}

// Whether the statement does nothing here but to leave values: on cores what takes no
// memory of root code, parallel loops among it.
static bool leaves_values(const Needs *n, const LoopStm *stm) {
    if (n->plan != NULL) return false;
    if (stm->op == LOOP_FOR && stm->order == ORDER_PARALLEL) return true;
    for (uint32_t b = 0; b < stm->body_count; b++)
        if (loop_has(stm->bodies[b], takes_memory, 0)) return false;
    return stm->op == LOOP_FOR || stm->op == LOOP_WHILE ||
           (stm->op == LOOP_IF && !is_known(n, stm->args[0]));
}

static void forget_outs(Needs *n, const LoopStm *stm) {
    for (uint32_t k = 0; k < stm->out_count; k++) set(n, stm->outs[k], false, 0);
}

static bool do_if(Needs *n, const LoopStm *stm) {
    if (!is_known(n, stm->args[0])) return false;
    const LoopBody *body = stm->bodies[value_of(n, stm->args[0]) != 0 ? 0 : 1];
    if (!walk_body(n, body)) return false;
    assign(n, stm->outs, body->results, stm->out_count);
    return true;
}

static bool do_for(Needs *n, const LoopStm *stm) {
    const LoopBody *body = stm->bodies[0];
    const LoopRef *state = body->params + 1;
    if (!is_known(n, stm->args[0])) return false;
    int64_t times = walk_times(n->loop, stm->args[0], value_of(n, stm->args[0]));
    assign(n, state, stm->args + 1, stm->out_count);
    for (int64_t i = 0; i < times; i++) {
        set(n, body->params[0], true, (uint64_t)i);
        if (!walk_body(n, body)) return false;
        assign(n, state, body->results, stm->out_count);
    }
    assign(n, stm->outs, state, stm->out_count);
    return true;
}

static bool do_while(Needs *n, const LoopStm *stm) {
    const LoopBody *guard = stm->bodies[0], *body = stm->bodies[1];
    assign(n, body->params, stm->args, stm->out_count);
    for (;;) {
        assign(n, guard->params, body->params, stm->out_count);
        if (!walk_body(n, guard) || !is_known(n, guard->results[0])) return false;
        if (value_of(n, guard->results[0]) == 0) break;
        if (!walk_body(n, body)) return false;
        assign(n, body->params, body->results, stm->out_count);
    }
    assign(n, stm->outs, body->params, stm->out_count);
    return true;
}

static bool do_call(Needs *n, const LoopStm *stm) {
    const LoopBody *body = n->loop->funs.data[stm->number].body;
    uint32_t mark = n->blocks.len;
    assign(n, body->params, stm->args, stm->arg_count);
    if (!walk_body(n, body)) return false;
    assign(n, stm->outs, body->results, stm->out_count);
    keep_blocks(n, mark, stm->outs, stm->out_count);
    return true;
}

// ---- statements ---------------------------------------------------------------------

// Whether what comes next is known, and runs.
static bool do_check(const Needs *n, const LoopStm *stm) {
    return !is_known(n, stm->args[0]) || value_of(n, stm->args[0]) != 0;
}

// A constant table, which on cores lies in the code.
static void do_data(Needs *n, const LoopStm *stm) {
    add_block(n, stm, n->plan != NULL ? (double)stm->text.len : 0);
}

static bool walk_statement(Needs *n, const LoopStm *stm) {
    if (leaves_values(n, stm)) {
        forget_outs(n, stm);
        return true;
    }
    switch ((int)stm->op) {
    case LOOP_SCALAR: do_scalar(n, stm); return true;
    case LOOP_DATA: do_data(n, stm); return true;
    case LOOP_ALLOC: return do_alloc(n, stm);
    case LOOP_MARK: set(n, stm->outs[0], true, n->blocks.len); return true;
    case LOOP_KEEP: do_keep(n, stm); return true;
    case LOOP_RESULT: return do_result(n, stm);
    case LOOP_THREADS:
        set(n, stm->outs[0], true, n->plan != NULL ? WALK_THREADS : n->threads);
        return true;
    case LOOP_CHECK: return do_check(n, stm);
    case LOOP_CALL:
    case LOOP_APPLY: return do_call(n, stm);
    case LOOP_IF: return do_if(n, stm);
    case LOOP_FOR: return do_for(n, stm);
    case LOOP_WHILE: return do_while(n, stm);
    default: // is launched
        forget_outs(n, stm);
        return n->plan == NULL;
    }
}

static bool walk_body(Needs *n, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len;) {
        const LoopStm *stm = body->stms.data[i];
        const LoopLaunch *launched =
            n->plan != NULL ? loop_launch_at(n->plan, stm) : NULL;
        if (++n->steps > MOST_STEPS) return false;
        if (launched != NULL) launch(n, launched);
        else if (!walk_statement(n, stm)) return false;
        i += launched != NULL ? launched->count : 1;
    }
    return true;
}

static double largest_table(const LoopBody *body, uint32_t first, uint32_t count) {
    double most = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_DATA) most = fmax(most, (double)stm->text.len);
        for (uint32_t b = 0; b < stm->body_count; b++)
            most =
                fmax(most, largest_table(stm->bodies[b], 0, stm->bodies[b]->stms.len));
    }
    return most;
}

// The largest table that launches look at, which is there with their code.
static double table_of(const LoopPlan *plan) {
    double most = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        const LoopLaunch *l = &plan->launches[i];
        most = fmax(most, largest_table(l->body, l->first, l->count));
    }
    return most;
}

static bool walk(const LoopKernel *loop, const LoopPlan *plan, unsigned threads,
                 const ExecSlot *in, Arena *arena, double *most_out,
                 double *counted_out) {
    uint32_t values = loop->values.len;
    Needs n = {.loop = loop, .plan = plan, .threads = threads, .arena = arena};
    n.values = arena_array(arena, uint64_t, values);
    n.moved = arena_array(arena, uint64_t, values);
    n.is_known = arena_array(arena, bool, values);
    n.moved_known = arena_array(arena, bool, values);
    n.made = arena_array(arena, double, 2 * loop->result_count);
    for (uint32_t i = 0; i < loop->root->param_count; i++) {
        LoopRef param = loop->root->params[i];
        bool is_buffer = loop->values.data[param].type.kind == LOOP_IS_BUFFER;
        set(&n, param, is_buffer || in[i].is_known,
            is_buffer ? ++n.addresses : in[i].bits);
    }
    if (plan != NULL) hold(&n, table_of(plan));
    bool is_all = walk_body(&n, loop->root);
    *most_out = fmax(n.most, n.private_most);
    *counted_out = fmax(n.most + n.slack, n.private_most);
    return is_all;
}

bool exec_needs(const LoopKernel *loop, const LoopPlan *plan, const ExecSlot *in,
                Arena *arena, double *most_out) {
    double counted;
    return walk(loop, plan, 0, in, arena, most_out, &counted);
}

bool exec_needs_on_cores(const LoopKernel *loop, unsigned threads, const ExecSlot *in,
                         Arena *arena, double *most_out, double *counted_out) {
    return walk(loop, NULL, threads, in, arena, most_out, counted_out);
}
