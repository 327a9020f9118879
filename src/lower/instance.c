// SPDX-License-Identifier: Apache-2.0
//
// Functions that are kept: a #[noinline] definition becomes a core function per list of
// layouts it is used at, provided that its arguments and its result are first order,
// that its sizes can be read off the arguments' shapes and that it needs no value which
// the entry was given. Any other is inlined after all.
#include "lower/internal.h"

static bool mentions(Type *type, const Binding *size) {
    type = type_reveal(type);
    if (type->kind == TYPE_ARRAY) {
        const Size *own = size_resolve(type->as.array.size);
        if (own->kind == SIZE_NAME && own->name == size) return true;
        return mentions(type->as.array.elem, size);
    }
    if (type->kind == TYPE_RECORD)
        for (uint32_t i = 0; i < type->as.record.len; i++)
            if (mentions(type->as.record.data[i].type, size)) return true;
    return false;
}

static bool pat_tells(const TPat *pat, const Binding *size) {
    if (pat->ascribed != NULL && mentions(pat->ascribed, size)) return true;
    if (pat->kind == TPAT_RECORD)
        for (uint32_t i = 0; i < pat->as.record.len; i++)
            if (pat_tells(pat->as.record.data[i], size)) return true;
    return false;
}

static bool sizes_are_told(const Fun *fun) {
    const TPatVec *params = &fun->lambda->as.lambda.params;
    const BindingVec *sizes = &fun->binding->size_params;
    for (uint32_t s = 0; s < sizes->len; s++) {
        bool told = false;
        for (uint32_t i = 0; i < params->len && !told; i++)
            told = pat_tells(params->data[i], sizes->data[s]);
        if (!told) return false;
    }
    return true;
}

static Instance make_key(Lower *l, const Fun *fun, Value *const *args) {
    const TypeVarVec *types = &fun->binding->type_params;
    uint32_t param_count = fun->lambda->as.lambda.params.len;
    Instance instance = {.binding = fun->binding,
                         .key_count = types->len + param_count};
    instance.key = arena_array(l->arena, const Layout *, instance.key_count);
    for (uint32_t i = 0; i < types->len; i++)
        instance.key[i] = lower_frame_type(fun->frame, types->data[i])->layout;
    for (uint32_t i = 0; i < param_count; i++)
        instance.key[types->len + i] = lower_value_layout(l, args[i]);
    instance.result = lower_layout_of(l, fun->frame, fun->lambda->as.lambda.body->type);
    return instance;
}

static bool is_first_order(const Instance *instance) {
    for (uint32_t i = 0; i < instance->key_count; i++)
        if (instance->key[i]->has_fun) return false;
    return !instance->result->has_fun;
}

static const Instance *find_instance(const Lower *l, const Instance *wanted) {
    for (uint32_t i = 0; i < l->instances.len; i++) {
        const Instance *old = &l->instances.data[i];
        if (old->binding != wanted->binding) continue;
        bool same = true;
        for (uint32_t k = 0; k < old->key_count; k++)
            same = same && old->key[k] == wanted->key[k];
        if (same) return old;
    }
    return NULL;
}

// Type parameters with their layouts, sizes yet to be told by the arguments.
static Frame *bare_frame(Lower *l, const Instance *instance) {
    Frame *frame = lower_frame_new(l, NULL);
    const TypeVarVec *types = &instance->binding->type_params;
    for (uint32_t i = 0; i < types->len; i++) {
        LType *type = arena_new(l->arena, LType);
        type->layout = instance->key[i];
        lower_frame_bind_type(l, frame, types->data[i], type);
    }
    return frame;
}

static CoreFun *build_body(Lower *l, const Fun *fun, const Instance *instance) {
    uint32_t type_count = instance->binding->type_params.len;
    uint32_t count = instance->key_count - type_count;
    Value **params = arena_array(l->arena, Value *, count);
    CoreRefs refs = {0};
    for (uint32_t i = 0; i < count; i++)
        params[i] = lower_value_fresh(l, instance->key[type_count + i], 0, &refs);
    Fun inner = {
        .lambda = fun->lambda, .frame = bare_frame(l, instance), .info = fun->info};
    Mark mark = lower_body_open(l, refs.data, refs.len);
    Value *result = lower_apply(l, lower_value_fun(l, inner), params, count,
                                instance->binding->span);
    CoreFun *core = arena_new(l->arena, CoreFun);
    core->name = instance->binding->name;
    core->no_inline = true;
    CoreRefs leaves = lower_value_refs(l, result);
    core->body = lower_body_close(l, mark, leaves.data, leaves.len);
    core->result_types = instance->result->leaves;
    return core;
}

static const Instance *make_instance(Lower *l, const Fun *fun, Instance instance) {
    Building outer = l->now;
    FnInfo *info = l->info;
    CoreLoc caller = l->caller;
    Span span = l->span;
    lower_begin(l);
    CoreFun *core = build_body(l, fun, &instance);
    l->now = outer;
    l->info = info;
    l->caller = caller;
    l->span = span;
    l->here = 0;
    instance.fun = (int32_t)l->program->funs.len;
    vec_push(l->arena, &l->program->funs, core);
    vec_push(l->arena, &l->instances, instance);
    return &l->instances.data[l->instances.len - 1];
}

Value *lower_call_instance(Lower *l, const Fun *fun, Value *const *args) {
    if (fun->binding->uses_held || !sizes_are_told(fun)) return NULL;
    Instance key = make_key(l, fun, args);
    if (!is_first_order(&key)) return NULL;
    const Instance *instance = find_instance(l, &key);
    if (instance == NULL) instance = make_instance(l, fun, key);
    CoreRefs refs = {0};
    for (uint32_t i = 0; i < fun->lambda->as.lambda.params.len; i++)
        lower_value_flatten(l, args[i], &refs);
    const Layout *result = instance->result;
    CoreStm *stm =
        lower_emit(l, OP_CALL, refs.data, refs.len, result->leaves, result->leaf_count);
    core_set_attrs(&l->now.b, stm, &instance->fun, 1);
    return lower_value_leaves(l, result, stm->outs);
}
