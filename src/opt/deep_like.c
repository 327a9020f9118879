// SPDX-License-Identifier: Apache-2.0
//
// Statements that the parts of sums are made of, and maps like others, which do part of
// what those do, on other arrays.
#include "core/rules.h"
#include "opt/deep.h"

static const CoreType I64 = {SCALAR_I64, 0};

// ---- statements ---------------------------------------------------------------------

CoreRef deep_number(CoreBuilder *b, int64_t value) {
    return core_i64(b->program, value);
}

CoreRef deep_emit_safe(CoreBuilder *b, CoreOp op, const CoreRef *args, uint32_t count,
                       CoreType type, const int32_t *attrs, uint32_t attr_count) {
    CoreStm *stm = core_emit(b, op, args, count, &type, 1);
    stm->flags |= STM_UNSAFE;
    core_set_attrs(b, stm, attrs, attr_count);
    return stm->outs[0];
}

CoreRef deep_view(const Rewrite *rw, CoreBuilder *b, CoreRef array) {
    const CoreStm *def = rewrite_def(rw, array);
    if (def == NULL || def->op != OP_PERMUTE) return array;
    CoreStm *stm = core_emit(b, OP_PERMUTE, def->args, 1,
                             (CoreType[]){core_type(b->program, array)}, 1);
    core_set_attrs(b, stm, def->attrs, def->attr_count);
    return stm->outs[0];
}

CoreStm *deep_emit_map(CoreBuilder *b, const CoreStm *stm, const CoreRef *args,
                       Map *map) {
    CoreProgram *p = b->program;
    CoreStm *copy = arena_copy(p->arena, stm, sizeof *copy);
    copy->args = arena_copy(p->arena, args, stm->arg_count * sizeof *args);
    copy->outs = arena_array(p->arena, CoreRef, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        copy->outs[i] = core_value(p, core_type(p, stm->outs[i]), 0);
    copy->bodies = arena_array(p->arena, CoreBody *, 1);
    copy->bodies[0] = core_clone(p, stm->bodies[0], map, 0);
    core_append(b, copy);
    return copy;
}

CoreRef deep_emit_levels(CoreBuilder *b, CoreRef last) {
    CoreRef zeros = core_conv(b, OP_CONV, core_op1(b, OP_CLZ, last), SCALAR_I64);
    return core_op2(b, OP_SUB, deep_number(b, 64), zeros);
}

// ---- loops --------------------------------------------------------------------------

DeepLoop deep_open_loop(CoreBuilder *b, CoreRef times, const CoreRef *init,
                        uint32_t count) {
    DeepLoop loop = {.count = count};
    CoreRef params[1 + DEEP_OUTS];
    loop.args[0] = times;
    loop.index = params[0] = core_value(b->program, I64, 0);
    for (uint32_t i = 0; i < count; i++) {
        loop.args[1 + i] = init[i];
        loop.types[i] = core_type(b->program, init[i]);
        loop.state[i] = params[1 + i] = core_value(b->program, loop.types[i], 0);
    }
    core_open(b, params, 1 + count);
    return loop;
}

const CoreRef *deep_close_loop(CoreBuilder *b, const DeepLoop *loop,
                               const CoreRef *next) {
    CoreBody *body = core_close(b, next, loop->count);
    CoreStm *stm =
        core_emit(b, OP_FOR, loop->args, 1 + loop->count, loop->types, loop->count);
    core_set_bodies(b, stm, &body, 1);
    return stm->outs;
}

void deep_open_space(CoreBuilder *b, CoreRef *place_out, uint32_t rank) {
    for (uint32_t k = 0; k < rank; k++) place_out[k] = core_value(b->program, I64, 0);
    core_open(b, place_out, rank);
}

const CoreRef *deep_close_space(CoreBuilder *b, const CoreRef *shape, uint32_t rank,
                                const CoreRef *values, uint32_t count) {
    CoreType types[DEEP_OUTS];
    CoreBody *body = core_close(b, values, count);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = core_type(b->program, values[i]);
        types[i].rank = (uint8_t)rank;
    }
    CoreStm *stm = core_emit(b, OP_GENERATE, shape, rank, types, count);
    core_set_attrs(b, stm, &(int32_t){(int32_t)rank}, 1);
    core_set_bodies(b, stm, &body, 1);
    return stm->outs;
}

// ---- maps like others ---------------------------------------------------------------

CoreStm *deep_map_like(CoreProgram *p, const CoreStm *stm, const DeepStms *stms,
                       const CoreRef *results, uint32_t count) {
    CoreStm *copy = arena_copy(p->arena, stm, sizeof *copy);
    CoreBody *body = arena_copy(p->arena, stm->bodies[0], sizeof *body);
    body->stms.data = stms->data;
    body->stms.len = body->stms.cap = stms->len;
    body->results = arena_copy(p->arena, results, count * sizeof *results);
    body->result_count = count;
    copy->bodies = arena_copy(p->arena, &body, sizeof body);
    copy->outs = arena_array(p->arena, CoreRef, count);
    copy->out_count = count;
    for (uint32_t i = 0; i < count; i++) {
        CoreType type = core_type(p, results[i]);
        type.rank++;
        copy->outs[i] = core_value(p, type, 0);
    }
    return copy;
}

void deep_set_row_sizes(CoreProgram *p, CoreStm *map, const CoreRef *sizes,
                        uint32_t count) {
    CoreRefs args = {0};
    for (int32_t i = 0; i < map->attrs[0]; i++) vec_push(p->arena, &args, map->args[i]);
    for (uint32_t i = 0; i < count; i++) vec_push(p->arena, &args, sizes[i]);
    map->args = args.data;
    map->arg_count = args.len;
}

void deep_change_arrays(CoreBuilder *b, CoreStm *map, const CoreRef *arrays,
                        const CoreRef *params, uint32_t count) {
    CoreProgram *p = b->program;
    CoreBody *body = map->bodies[0], open = *body;
    CoreRefs used = {0}, args = {0}, taken = {0};
    uint32_t before = (uint32_t)map->attrs[0];
    open.param_count = 0;
    core_free(p, &open, p->arena, &used);
    for (uint32_t i = 0; i < before; i++) {
        bool is_last = i + 1 == before && args.len + count == 0;
        if (!deep_has(used.data, used.len, body->params[i]) && !is_last) continue;
        vec_push(p->arena, &args, map->args[i]);
        vec_push(p->arena, &taken, body->params[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        vec_push(p->arena, &args, arrays[i]);
        vec_push(p->arena, &taken, params[i]);
    }
    for (uint32_t i = before; i < map->arg_count; i++)
        vec_push(p->arena, &args, map->args[i]);
    map->args = args.data;
    map->arg_count = args.len;
    body->params = taken.data;
    body->param_count = taken.len;
    core_set_attrs(b, map, &(int32_t){(int32_t)taken.len}, 1);
}

DeepStms deep_wanted(CoreProgram *p, const CoreBody *of, uint32_t count,
                     const CoreBody *body) {
    CoreStm **stms = of->stms.data;
    CoreRefs used = {0};
    DeepStms wanted = {0};
    bool *is_wanted = arena_array(p->arena, bool, count + 1);
    core_free(p, body, p->arena, &used);
    for (uint32_t i = count; i-- > 0;) {
        for (uint32_t k = 0; k < stms[i]->out_count; k++)
            is_wanted[i] |= deep_has(used.data, used.len, stms[i]->outs[k]);
        CoreBody alone = {.stms = {&stms[i], 1, 1}};
        if (is_wanted[i]) core_free(p, &alone, p->arena, &used);
    }
    for (uint32_t i = 0; i < count; i++)
        if (is_wanted[i]) vec_push(p->arena, &wanted, stms[i]);
    return wanted;
}
