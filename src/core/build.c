// SPDX-License-Identifier: Apache-2.0
//
// Building core: programs, values, places, and bodies from the inside out. Everything
// is copied into the program's arena, so callers may pass arrays from their stack.
// Constants and places are interned: equal ones get equal numbers.
#include <assert.h>
#include <string.h>

#include "core/rules.h"

CoreProgram *core_program(Cx *cx, Arena *arena) {
    CoreProgram *p = arena_new(arena, CoreProgram);
    p->arena = arena;
    p->cx = cx;
    vec_push(arena, &p->values, (CoreValue){0});
    vec_push(arena, &p->places, (CorePlace){0});
    map_init(&p->constants, arena);
    return p;
}

// ---- values and places --------------------------------------------------------------

CoreRef core_const(CoreProgram *p, ScalarType type, uint64_t bits) {
    unsigned width = scalar_info[type].bytes * 8u;
    if (width < 64) bits &= ((uint64_t)1 << width) - 1;
    // The map's key is a hash; equal hashes of different constants lie side by side.
    uint64_t key = (bits ^ bits >> 29) * 0x9e3779b97f4a7c15u + (uint64_t)type + 1;
    uint64_t found;
    for (;; key++) {
        if (key == 0) continue;
        if (!map_get(&p->constants, key, &found)) break;
        const CoreValue *value = &p->values.data[found];
        if (value->type.elem == type && value->bits == bits) return (CoreRef)found;
    }
    CoreRef ref = p->values.len;
    vec_push(p->arena, &p->values,
             (CoreValue){.type = {(uint8_t)type, 0}, .is_const = true, .bits = bits});
    map_set(&p->constants, key, ref);
    return ref;
}

CoreRef core_i64(CoreProgram *p, int64_t value) {
    return core_const(p, SCALAR_I64, (uint64_t)value);
}

CoreRef core_bool(CoreProgram *p, bool value) {
    return core_const(p, SCALAR_BOOL, value);
}

CoreRef core_value(CoreProgram *p, CoreType type, Sym name) {
    vec_push(p->arena, &p->values, (CoreValue){.type = type, .name = name});
    return p->values.len - 1;
}

CoreLoc core_place(CoreProgram *p, Span span, Sym function, CoreLoc caller) {
    // Neighbouring statements tend to share their place.
    for (uint32_t i = p->places.len; i-- > 1 && i + 8 > p->places.len;) {
        const CorePlace *old = &p->places.data[i];
        if (old->span.start == span.start && old->span.end == span.end &&
            old->function == function && old->caller == caller)
            return i;
    }
    vec_push(p->arena, &p->places, (CorePlace){span, function, caller});
    return p->places.len - 1;
}

// ---- bodies -------------------------------------------------------------------------

CoreBuilder core_builder(CoreProgram *p) {
    return (CoreBuilder){.program = p};
}

static void *copy_array(CoreProgram *p, const void *data, uint32_t count, size_t size) {
    return count == 0 ? NULL : arena_copy(p->arena, data, count * size);
}

static CoreBody *innermost(const CoreBuilder *b) {
    assert(b->open.len > 0);
    return b->open.data[b->open.len - 1];
}

void core_open(CoreBuilder *b, const CoreRef *params, uint32_t param_count) {
    CoreBody *body = arena_new(b->program->arena, CoreBody);
    body->params = copy_array(b->program, params, param_count, sizeof *params);
    body->param_count = param_count;
    vec_push(b->program->arena, &b->open, body);
}

CoreBody *core_close(CoreBuilder *b, const CoreRef *results, uint32_t result_count) {
    CoreBody *body = innermost(b);
    b->open.len--;
    body->results = copy_array(b->program, results, result_count, sizeof *results);
    body->result_count = result_count;
    return body;
}

CoreStm *core_emit(CoreBuilder *b, CoreOp op, const CoreRef *args, uint32_t arg_count,
                   const CoreType *out_types, uint32_t out_count) {
    CoreProgram *p = b->program;
    CoreStm *stm =
        arena_alloc(p->arena, sizeof *stm + (out_count + arg_count) * sizeof(CoreRef));
    CoreRef *outs = (CoreRef *)(stm + 1);
    *stm = (CoreStm){.op = op,
                     .flags = b->flags,
                     .loc = b->loc,
                     .outs = outs,
                     .out_count = out_count,
                     .args = outs + out_count,
                     .arg_count = arg_count};
    for (uint32_t i = 0; i < arg_count; i++) stm->args[i] = args[i];
    for (uint32_t i = 0; i < out_count; i++)
        stm->outs[i] = core_value(p, out_types[i], 0);
    core_append(b, stm);
    return stm;
}

void core_set_attrs(CoreBuilder *b, CoreStm *stm, const int32_t *attrs,
                    uint32_t count) {
    stm->attrs = copy_array(b->program, attrs, count, sizeof *attrs);
    stm->attr_count = count;
}

void core_set_bodies(CoreBuilder *b, CoreStm *stm, CoreBody *const *bodies,
                     uint32_t count) {
    stm->bodies = copy_array(b->program, bodies, count, sizeof *bodies);
    stm->body_count = (uint8_t)count;
}

static CoreRef emit_scalar(CoreBuilder *b, CoreOp op, const CoreRef *args,
                           uint32_t count, ScalarType to) {
    CoreType type = {(uint8_t)to, 0};
    return core_emit(b, op, args, count, &type, 1)->outs[0];
}

CoreRef core_op1(CoreBuilder *b, CoreOp op, CoreRef x) {
    CoreType in = core_type(b->program, x);
    ScalarType to = (ScalarType)in.elem;
    if (core_is_scalar_op(op)) {
        bool known = core_op_gives(op, (ScalarType)in.elem, &to);
        assert(known);
        (void)known;
    }
    CoreType type = {(uint8_t)to, in.rank};
    return core_emit(b, op, &x, 1, &type, 1)->outs[0];
}

CoreRef core_op2(CoreBuilder *b, CoreOp op, CoreRef x, CoreRef y) {
    ScalarType to = SCALAR_BOOL;
    bool known = core_op_gives(op, (ScalarType)core_type(b->program, x).elem, &to);
    assert(known);
    (void)known;
    return emit_scalar(b, op, (CoreRef[]){x, y}, 2, to);
}

CoreRef core_conv(CoreBuilder *b, CoreOp op, CoreRef x, ScalarType to) {
    return emit_scalar(b, op, &x, 1, to);
}

void core_append(CoreBuilder *b, CoreStm *stm) {
    CoreBody *body = innermost(b);
    vec_push(b->program->arena, &body->stms, stm);
}

CoreRef core_dim(CoreBuilder *b, CoreRef array, int32_t axis) {
    CoreType type = {SCALAR_I64, 0};
    CoreStm *stm = core_emit(b, OP_DIM, &array, 1, &type, 1);
    core_set_attrs(b, stm, &axis, 1);
    return stm->outs[0];
}

CoreRef core_select(CoreBuilder *b, CoreRef c, CoreRef yes, CoreRef no) {
    CoreBody *arms[2];
    for (int k = 0; k < 2; k++) {
        core_open(b, NULL, 0);
        arms[k] = core_close(b, k == 0 ? &yes : &no, 1);
    }
    CoreType type = core_type(b->program, yes);
    CoreStm *stm = core_emit(b, OP_IF, &c, 1, &type, 1);
    core_set_bodies(b, stm, arms, 2);
    return stm->outs[0];
}
