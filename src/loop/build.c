// SPDX-License-Identifier: Apache-2.0
//
// The builder. Everything is copied into the kernel's arena, so callers may pass arrays
// from their stack. Constants are interned: equal ones have equal numbers.
#include "loop/build.h"

#include <assert.h>

const char *const loop_op_names[LOOP_COUNT] = {
#define LOOP(name, text, meaning) text,
#include "loop/ops.def"
#undef LOOP
};

const char *const loop_order_names[ORDER_COUNT] = {"", ".independent", ".parallel"};

LoopKernel *loop_kernel(Arena *arena, const CoreProgram *core, Sym name) {
    LoopKernel *kernel = arena_new(arena, LoopKernel);
    kernel->arena = arena;
    kernel->core = core;
    kernel->name = name;
    vec_push(arena, &kernel->values, (LoopValue){0});
    return kernel;
}

static uint64_t constant_key(ScalarType type, uint64_t bits) {
    return (bits ^ bits >> 29) * 0x9e3779b97f4a7c15u + (uint64_t)type + 1;
}

static void note_constants(LoopKernel *kernel) {
    map_init(&kernel->constants, kernel->arena);
    for (LoopRef ref = 0; ref < kernel->values.len; ref++) {
        const LoopValue *value = &kernel->values.data[ref];
        if (!value->is_const) continue;
        uint64_t unused, key = constant_key((ScalarType)value->type.elem, value->bits);
        while (key == 0 || map_get(&kernel->constants, key, &unused)) key++;
        map_set(&kernel->constants, key, ref);
    }
}

LoopBuilder loop_builder(LoopKernel *kernel) {
    LoopBuilder b = {.kernel = kernel, .arena = kernel->arena};
    vec_reserve(loop_notes(kernel), &b.same, kernel->values.len + 32);
    b.same.len = b.old = kernel->values.len;
    if (kernel->constants.slots == NULL) note_constants(kernel);
    return b;
}

void loop_catch_up(LoopBuilder *b) {
    while (b->same.len < b->kernel->values.len)
        vec_push(loop_notes(b->kernel), &b->same, 0);
}

// ---- values -------------------------------------------------------------------------

static LoopRef add_value(LoopBuilder *b, LoopValue value) {
    vec_push(b->arena, &b->kernel->values, value);
    vec_push(loop_notes(b->kernel), &b->same, 0);
    return b->kernel->values.len - 1;
}

LoopRef loop_value(LoopBuilder *b, LoopType type, Sym name) {
    return add_value(b, (LoopValue){.type = type, .name = name});
}

LoopRef loop_const(LoopBuilder *b, ScalarType type, uint64_t bits) {
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    bits = bits << unused >> unused;
    // The map's key is a hash; equal hashes of different constants lie side by side, as
    // do those whose value has been taken back since, and may be another one by now.
    LoopKernel *kernel = b->kernel;
    uint64_t key = constant_key(type, bits), found;
    for (;; key++) {
        if (key == 0) continue;
        if (!map_get(&kernel->constants, key, &found)) break;
        if (found >= kernel->values.len) continue;
        const LoopValue *value = &kernel->values.data[found];
        if (value->is_const && value->type.elem == type && value->bits == bits)
            return (LoopRef)found;
    }
    LoopRef ref = add_value(
        b, (LoopValue){.type = loop_scalar_type(type), .is_const = true, .bits = bits});
    map_set(&kernel->constants, key, ref);
    return ref;
}

void loop_identify(LoopBuilder *b, LoopRef ref, LoopRef other) {
    other = loop_find(b, other);
    ref = loop_find(b, ref);
    if (ref == other) return;
    b->same.data[ref] = other;
    b->has_identified = true;
}

bool loop_is_int(const LoopBuilder *b, LoopRef ref, int64_t value) {
    uint64_t bits;
    return loop_is_known(b, ref, &bits) && bits == (uint64_t)value;
}

bool loop_is_read_only(const LoopKernel *kernel, LoopRef buffer) {
    uint32_t at = 0; // a buffer has its sizes behind it
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const LoopPort *port = &kernel->params[i];
        if (port->type.rank > 0 && kernel->root->params[at] == buffer)
            return !port->is_owned;
        at += port->type.rank + 1u;
    }
    return false;
}

// ---- statements ---------------------------------------------------------------------

static void *copy_array(LoopBuilder *b, const void *data, uint32_t count, size_t size) {
    return count == 0 ? NULL : arena_copy(b->arena, data, count * size);
}

LoopBody *loop_open(LoopBuilder *b, const LoopRef *params, uint32_t count) {
    LoopBody *body = arena_new(b->arena, LoopBody);
    body->params = copy_array(b, params, count, sizeof *params);
    body->param_count = count;
    vec_push(b->arena, &b->open, body);
    return body;
}

void loop_reopen(LoopBuilder *b, LoopBody *body) {
    vec_push(b->arena, &b->open, body);
}

LoopBody *loop_close(LoopBuilder *b, const LoopRef *results, uint32_t count) {
    LoopBody *body = b->open.data[--b->open.len];
    body->results = copy_array(b, results, count, sizeof *results);
    body->result_count = count;
    return body;
}

LoopStm *loop_emit(LoopBuilder *b, LoopOp op, const LoopRef *args, uint32_t arg_count,
                   const LoopType *outs, uint32_t out_count) {
    LoopStm *stm = arena_new(b->arena, LoopStm);
    stm->op = op;
    stm->loc = b->loc;
    stm->args = copy_array(b, args, arg_count, sizeof *args);
    stm->arg_count = arg_count;
    stm->outs = arena_array(b->arena, LoopRef, out_count);
    stm->out_count = out_count;
    for (uint32_t i = 0; i < out_count; i++) stm->outs[i] = loop_value(b, outs[i], 0);
    loop_append(b, stm);
    return stm;
}

void loop_append(LoopBuilder *b, LoopStm *stm) {
    LoopBody *body = b->open.data[b->open.len - 1];
    vec_push(b->arena, &body->stms, stm);
}

void loop_set_bodies(LoopBuilder *b, LoopStm *stm, LoopBody *const *bodies,
                     uint32_t count) {
    stm->bodies = copy_array(b, bodies, count, sizeof *bodies);
    stm->body_count = (uint8_t)count;
}

LoopRef loop_open_turns(LoopBuilder *b) {
    LoopRef index = loop_value(b, loop_scalar_type(SCALAR_I64), 0);
    loop_open(b, &index, 1);
    return index;
}

LoopStm *loop_close_turns(LoopBuilder *b, LoopRef times, LoopOrder order) {
    LoopBody *body = loop_close(b, NULL, 0);
    LoopStm *loop = loop_emit(b, LOOP_FOR, &times, 1, NULL, 0);
    loop->order = (uint8_t)order;
    loop_set_bodies(b, loop, &body, 1);
    return loop;
}

LoopRef loop_emit1(LoopBuilder *b, LoopOp op, const LoopRef *args, uint32_t arg_count,
                   LoopType out) {
    return loop_emit(b, op, args, arg_count, &out, 1)->outs[0];
}

bool loop_binds(const LoopBody *body, LoopRef ref) {
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == ref) return true;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            if (stm->outs[k] == ref) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loop_binds(stm->bodies[k], ref)) return true;
    }
    return false;
}

bool loop_has(const LoopBody *body, bool (*is)(const LoopStm *stm, int what),
              int what) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (is(stm, what)) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loop_has(stm->bodies[k], is, what)) return true;
    }
    return false;
}

static bool has_op(const LoopStm *stm, int op) {
    return (int)stm->op == op;
}

bool loop_is_choice(const LoopStm *stm) {
    return stm->op == LOOP_IF && stm->bodies[0]->stms.len == 0 &&
           stm->bodies[1]->stms.len == 0;
}

bool loop_has_op(const LoopBody *body, LoopOp op) {
    return loop_has(body, has_op, (int)op);
}

bool loop_kernel_has(const LoopKernel *kernel, bool (*is)(const LoopStm *stm, int what),
                     int what) {
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        if (loop_has(kernel->funs.data[i].body, is, what)) return true;
    return loop_has(kernel->root, is, what);
}

static void find_sites(LoopSite *sites, const LoopBody *body, uint32_t depth) {
    for (uint32_t i = 0; i < body->param_count; i++)
        sites[body->params[i]].depth = depth;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_loop = stm->op == LOOP_FOR || stm->op == LOOP_WHILE;
        for (uint32_t k = 0; k < stm->out_count; k++)
            sites[stm->outs[k]] = (LoopSite){stm, depth};
        for (uint32_t k = 0; k < stm->body_count; k++)
            find_sites(sites, stm->bodies[k], depth + is_loop);
    }
}

static bool has_for(const LoopKernel *kernel, const LoopSite *sites,
                    const LoopBody *body, LoopForTest *is) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_FOR && is(kernel, sites, stm)) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (has_for(kernel, sites, stm->bodies[k], is)) return true;
    }
    return false;
}

LoopSite *loop_sites(const LoopKernel *kernel) {
    LoopSite *sites = arena_array(loop_notes(kernel), LoopSite, kernel->values.len);
    find_sites(sites, kernel->root, 0);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        find_sites(sites, kernel->funs.data[i].body, 0);
    return sites;
}

bool loop_kernel_has_for(const LoopKernel *kernel, LoopForTest *is) {
    const LoopSite *sites = loop_sites(kernel);
    bool found = false;
    for (uint32_t i = 0; i < kernel->funs.len && !found; i++)
        found = has_for(kernel, sites, kernel->funs.data[i].body, is);
    return found || has_for(kernel, sites, kernel->root, is);
}

static uint32_t count_in(const LoopRef *refs, uint32_t count, LoopRef ref) {
    uint32_t uses = 0;
    for (uint32_t i = 0; i < count; i++) uses += refs[i] == ref;
    return uses;
}

uint32_t loop_count_uses_by(const LoopStm *stm, LoopRef ref) {
    uint32_t uses = count_in(stm->args, stm->arg_count, ref);
    for (uint32_t k = 0; k < stm->body_count; k++)
        uses += loop_count_uses(stm->bodies[k], ref);
    return uses;
}

uint32_t loop_count_uses(const LoopBody *body, LoopRef ref) {
    uint32_t uses = count_in(body->results, body->result_count, ref);
    for (uint32_t i = 0; i < body->stms.len; i++)
        uses += loop_count_uses_by(body->stms.data[i], ref);
    return uses;
}

static bool has_order(const LoopStm *stm, int order) {
    return stm->op == LOOP_FOR && (int)stm->order == order;
}

bool loop_has_parallel(const LoopBody *body) {
    return loop_has(body, has_order, ORDER_PARALLEL);
}

bool loop_has_lanes(const LoopStm *stm) {
    return stm->op == LOOP_FOR && stm->number != 0;
}

// ---- scalars ------------------------------------------------------------------------

LoopRef loop_scalar(LoopBuilder *b, CoreOp op, ScalarType to, const LoopRef *args,
                    uint32_t count) {
    uint64_t bits[3], result;
    ScalarType in = (ScalarType)loop_type(b, args[0]).elem;
    bool is_known = true;
    for (uint32_t i = 0; i < count; i++)
        is_known = loop_is_known(b, args[i], &bits[i]) && is_known;
    if (is_known && core_eval(op, in, to, bits, &result) == FAULT_NONE)
        return loop_const(b, to, result);
    LoopType type = loop_scalar_type(to);
    LoopStm *stm = loop_emit(b, LOOP_SCALAR, args, count, &type, 1);
    stm->scalar = op;
    return stm->outs[0];
}

static LoopRef int2(LoopBuilder *b, CoreOp op, LoopRef x, LoopRef y) {
    return loop_scalar(b, op, SCALAR_I64, (LoopRef[]){x, y}, 2);
}

LoopRef loop_add(LoopBuilder *b, LoopRef x, LoopRef y) {
    if (loop_is_int(b, x, 0)) return y;
    if (loop_is_int(b, y, 0)) return x;
    return int2(b, OP_ADD, x, y);
}

LoopRef loop_sub(LoopBuilder *b, LoopRef x, LoopRef y) {
    if (loop_is_int(b, y, 0)) return x;
    if (loop_same(b, x, y)) return loop_int(b, 0);
    return int2(b, OP_SUB, x, y);
}

LoopRef loop_mul(LoopBuilder *b, LoopRef x, LoopRef y) {
    if (loop_is_int(b, x, 1) || loop_is_int(b, y, 0)) return y;
    if (loop_is_int(b, y, 1) || loop_is_int(b, x, 0)) return x;
    return int2(b, OP_MUL, x, y);
}

LoopRef loop_min(LoopBuilder *b, LoopRef x, LoopRef y) {
    return loop_same(b, x, y) ? x : int2(b, OP_MIN, x, y);
}

LoopRef loop_max(LoopBuilder *b, LoopRef x, LoopRef y) {
    return loop_same(b, x, y) ? x : int2(b, OP_MAX, x, y);
}

LoopRef loop_quot(LoopBuilder *b, LoopRef x, LoopRef y) {
    return loop_is_int(b, y, 1) ? x : int2(b, OP_QUOT, x, y);
}

LoopRef loop_rem(LoopBuilder *b, LoopRef x, LoopRef y) {
    return loop_is_int(b, y, 1) ? loop_int(b, 0) : int2(b, OP_REM, x, y);
}

static LoopRef bool2(LoopBuilder *b, CoreOp op, LoopRef x, LoopRef y) {
    return loop_scalar(b, op, SCALAR_BOOL, (LoopRef[]){x, y}, 2);
}

LoopRef loop_threads(LoopBuilder *b) {
    return loop_emit1(b, LOOP_THREADS, NULL, 0, loop_scalar_type(SCALAR_I64));
}

LoopRef loop_eq(LoopBuilder *b, LoopRef x, LoopRef y) {
    bool is_float = scalar_is_float((ScalarType)loop_type(b, x).elem);
    if (!is_float && loop_same(b, x, y)) return loop_const(b, SCALAR_BOOL, 1);
    return bool2(b, OP_EQ, x, y);
}

LoopRef loop_lt(LoopBuilder *b, LoopRef x, LoopRef y) {
    return bool2(b, OP_LT, x, y);
}

LoopRef loop_le(LoopBuilder *b, LoopRef x, LoopRef y) {
    return bool2(b, OP_LE, x, y);
}

LoopRef loop_and(LoopBuilder *b, LoopRef x, LoopRef y) {
    uint64_t bits;
    if (loop_is_known(b, x, &bits)) return bits != 0 ? y : x;
    if (loop_is_known(b, y, &bits)) return bits != 0 ? x : y;
    return bool2(b, OP_AND, x, y);
}

LoopRef loop_or(LoopBuilder *b, LoopRef x, LoopRef y) {
    uint64_t bits;
    if (loop_is_known(b, x, &bits)) return bits != 0 ? x : y;
    if (loop_is_known(b, y, &bits)) return bits != 0 ? y : x;
    return bool2(b, OP_OR, x, y);
}

LoopRef loop_not(LoopBuilder *b, LoopRef x) {
    return loop_scalar(b, OP_NOT, SCALAR_BOOL, &x, 1);
}

LoopRef loop_select(LoopBuilder *b, LoopRef c, LoopRef x, LoopRef y) {
    uint64_t bits;
    if (loop_same(b, x, y)) return x;
    if (loop_is_known(b, c, &bits)) return bits != 0 ? x : y;
    LoopBody *bodies[2];
    loop_open(b, NULL, 0);
    bodies[0] = loop_close(b, &x, 1);
    loop_open(b, NULL, 0);
    bodies[1] = loop_close(b, &y, 1);
    LoopType type = loop_type(b, x);
    LoopStm *stm = loop_emit(b, LOOP_IF, &c, 1, &type, 1);
    loop_set_bodies(b, stm, bodies, 2);
    return stm->outs[0];
}
