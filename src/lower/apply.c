// SPDX-License-Identifier: Apache-2.0
//
// Applying functions and using names. A function of the source is its lambda with the
// frame it is closed over; applying it binds the parameters in a new frame and
// evaluates the body where the call stands. Definitions with type or size parameters
// are evaluated once per occurrence, in a frame that says what the parameters are.
#include "lower/internal.h"

FnInfo *lower_fn_info(Lower *l, const Binding *binding) {
    uint64_t found;
    if (map_get(&l->info_index, (uintptr_t)binding, &found))
        return l->infos.data[found];
    FnInfo *info = arena_new(l->arena, FnInfo);
    info->name = binding->name;
    info->span = binding->span;
    map_set(&l->info_index, (uintptr_t)binding, l->infos.len);
    vec_push(l->arena, &l->infos, info);
    return info;
}

// ---- application ------------------------------------------------------------------

static Value *run_lambda(Lower *l, const Fun *fun, Value *const *args) {
    const TExp *lambda = fun->lambda;
    const TPatVec *params = &lambda->as.lambda.params;
    Frame *frame = lower_frame_new(l, fun->frame);
    Subject subject = {"argument ", fun->info != NULL ? fun->info->name : 0};
    lower_pats_bind(l, frame, &lambda->as.lambda.sizes, params->data, args, params->len,
                    subject);
    const CoreRefs *entry_checks = l->entry_checks;
    l->entry_checks = NULL;
    FnInfo *info = l->info;
    CoreLoc caller = l->caller;
    Span span = l->span;
    if (fun->info != NULL) {
        frame->info = fun->info;
        frame->caller = info == NULL ? 0 : lower_here(l);
    }
    l->info = frame->info;
    l->caller = frame->caller;
    l->here = 0;
    Value *result = lower_eval(l, frame, lambda->as.lambda.body);
    l->info = info;
    l->caller = caller;
    l->span = span;
    l->here = 0;
    for (uint32_t i = 0; entry_checks != NULL && i < entry_checks->len; i++)
        result = lower_value_guard(l, result, entry_checks->data[i]);
    return result;
}

static Value *run(Lower *l, const Fun *fun, Value *const *args, Span span) {
    lower_count(l);
    lower_at(l, span);
    Value *result = NULL;
    if (fun->lambda == NULL)
        result = lower_intrinsic_apply(l, lower_intrinsic_find(l, fun->binding), fun,
                                       args, span);
    else if (fun->binding != NULL && fun->binding->no_inline)
        result = lower_call_instance(l, fun, args);
    if (result == NULL) result = run_lambda(l, fun, args);
    for (uint32_t i = 0; i < fun->token_count; i++)
        result = lower_value_guard(l, result, fun->tokens[i]);
    return result;
}

static uint32_t arity_of(const Lower *l, const Fun *fun) {
    if (fun->lambda != NULL) return fun->lambda->as.lambda.params.len;
    return lower_intrinsic_find(l, fun->binding)->arity;
}

Value *lower_apply(Lower *l, Value *callee, Value *const *args, uint32_t count,
                   Span span) {
    while (count > 0) {
        if (callee->kind != VALUE_FUN)
            lower_fail(l, LOWER_UNSUPPORTED, STR("an application of this"));
        const Fun *fun = callee->as.fun;
        uint32_t arity = arity_of(l, fun), given = fun->arg_count;
        uint32_t take = arity - given < count ? arity - given : count;
        Value **all = arena_array(l->arena, Value *, given + take);
        for (uint32_t i = 0; i < given; i++) all[i] = fun->args[i];
        for (uint32_t i = 0; i < take; i++) all[given + i] = args[i];
        if (given + take < arity) {
            Fun partial = *fun;
            partial.args = all;
            partial.arg_count = given + take;
            return lower_value_fun(l, partial);
        }
        callee = run(l, fun, all, span);
        args += take;
        count -= take;
    }
    return callee;
}

// ---- names ------------------------------------------------------------------------

// The frame of one occurrence: what the definition's parameters are there.
static Frame *instance_frame(Lower *l, Frame *definition, Frame *use,
                             const Binding *binding, const TypeVec *type_args,
                             const SizeVec *size_args) {
    Frame *frame = lower_frame_new(l, definition);
    for (uint32_t i = 0; i < binding->type_params.len && i < type_args->len; i++) {
        LType *type = arena_new(l->arena, LType);
        *type = lower_ltype_of(l, use, type_args->data[i]);
        lower_frame_bind_type(l, frame, binding->type_params.data[i], type);
    }
    for (uint32_t i = 0; i < binding->size_params.len && i < size_args->len; i++) {
        CoreRef ref = lower_size_ref(l, use, size_args->data[i]);
        if (ref == 0) continue;
        SizeEntry entry = {.ref = ref, .is_given = true};
        lower_frame_bind_size(l, frame, binding->size_params.data[i], entry);
    }
    return frame;
}

static void append_all(Lower *l, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        core_append(&l->now.b, body->stms.data[i]);
}

static bool body_may_fail(const Lower *l, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (lower_stm_may_fail(l->program, body->stms.data[i])) return true;
    return false;
}

// Evaluates a constant's definition apart, as if in the outermost body: it may mention
// nothing that is bound further in. *body_out receives its statements.
static Value *eval_apart(Lower *l, const Binding *binding, CoreBody **body_out) {
    FnInfo *info = l->info;
    CoreLoc caller = l->caller, here = lower_here(l);
    Span span = l->span;
    uint8_t flags = l->now.b.flags;
    Memo memo = l->now.memo;
    Frame *frame = lower_frame_new(l, NULL);
    l->now.memo = (Memo){0};
    map_init(&l->now.memo.map, l->arena);
    l->now.b.flags = 0;
    l->info = frame->info = lower_fn_info(l, binding);
    l->caller = frame->caller = info == NULL ? 0 : here;
    l->here = 0;
    Mark mark = lower_body_open(l, NULL, 0);
    Value *value = lower_eval(l, frame, binding->body);
    *body_out = lower_body_close(l, mark, NULL, 0);
    l->now.memo = memo;
    l->now.b.flags = flags;
    l->info = info;
    l->caller = caller;
    l->span = span;
    l->here = 0;
    return value;
}

// A constant that cannot fail is evaluated once per core function, in its outermost
// body, before the statement that is being built there; any other where it is used,
// once in the bodies that are open, lest its error come too early.
static Value *eval_constant(Lower *l, const Binding *binding) {
    uint64_t found, key = MEMO_GLOBAL | binding->id;
    if (map_get(&l->now.constants, (uintptr_t)binding, &found))
        return (Value *)(uintptr_t)found;
    if (lower_memo_get(l, key, &found)) return (Value *)(uintptr_t)found;
    uint32_t depth = l->now.b.open.len;
    size_t size = depth * sizeof *l->now.b.open.data;
    CoreBody **open = arena_copy(l->arena, l->now.b.open.data, size), *body;
    l->now.b.open.len = 1;
    Value *value = eval_apart(l, binding, &body);
    bool fails = body_may_fail(l, body);
    if (!fails) append_all(l, body);
    for (uint32_t i = 1; i < depth; i++) l->now.b.open.data[i] = open[i];
    l->now.b.open.len = depth;
    if (fails) append_all(l, body);
    if (fails) lower_memo_set(l, key, (uintptr_t)value);
    else map_set(&l->now.constants, (uintptr_t)binding, (uintptr_t)value);
    return value;
}

static Value *eval_global(Lower *l, Frame *use, Binding *binding,
                          const TypeVec *type_args, const SizeVec *size_args) {
    const TExp *body = binding->body;
    bool is_general = binding->type_params.len > 0 || binding->size_params.len > 0;
    if (body->kind != TEXP_LAMBDA && !is_general) return eval_constant(l, binding);
    Frame *frame = instance_frame(l, NULL, use, binding, type_args, size_args);
    frame->info = lower_fn_info(l, binding);
    if (body->kind == TEXP_LAMBDA)
        return lower_value_fun(l, (Fun){.lambda = body,
                                        .frame = frame,
                                        .info = frame->info,
                                        .binding = binding});
    frame->caller = lower_here(l);
    return lower_eval(l, frame, body);
}

static Value *eval_local(Lower *l, Frame *use, const Binding *binding,
                         const TypeVec *type_args, const SizeVec *size_args) {
    Value *value = lower_frame_value(use, binding);
    if (value == NULL) lower_fail(l, LOWER_UNKNOWN_SIZE, lower_name(l, binding->name));
    if (value->kind != VALUE_GENERAL) return value;
    Frame *definition = value->as.general.frame;
    Frame *frame = instance_frame(l, definition, use, binding, type_args, size_args);
    const TExp *exp = value->as.general.exp;
    if (exp->kind != TEXP_LAMBDA) return lower_eval(l, frame, exp);
    return lower_value_fun(
        l, (Fun){.lambda = exp, .frame = frame, .info = value->as.general.info});
}

static Value *eval_intrinsic(Lower *l, Frame *use, Binding *binding,
                             const TypeVec *type_args, const SizeVec *size_args,
                             Span span) {
    const Intrinsic *intrinsic = lower_intrinsic_find(l, binding);
    if (intrinsic == NULL)
        lower_fail(l, LOWER_INTRINSIC, lower_name(l, binding->intrinsic));
    Frame *frame = instance_frame(l, NULL, use, binding, type_args, size_args);
    Fun fun = {.frame = frame, .binding = binding};
    if (intrinsic->arity == 0)
        return lower_intrinsic_apply(l, intrinsic, &fun, NULL, span);
    return lower_value_fun(l, fun);
}

Value *lower_eval_binding(Lower *l, Frame *frame, Binding *binding,
                          const TypeVec *type_args, const SizeVec *size_args,
                          Span span) {
    lower_at(l, span);
    switch (binding->kind) {
    case BIND_LOCAL: return eval_local(l, frame, binding, type_args, size_args);
    case BIND_SIZE: {
        CoreRef ref = lower_size_param(l, frame, binding);
        if (ref == 0) lower_fail(l, LOWER_UNKNOWN_SIZE, lower_name(l, binding->name));
        return lower_value_scalar(l, ref);
    }
    case BIND_GLOBAL: return eval_global(l, frame, binding, type_args, size_args);
    case BIND_INTRINSIC:
        return eval_intrinsic(l, frame, binding, type_args, size_args, span);
    }
    return NULL;
}

Value *lower_eval_var(Lower *l, Frame *frame, const TExp *exp) {
    return lower_eval_binding(l, frame, exp->as.var.binding, &exp->as.var.type_args,
                              &exp->as.var.size_args, exp->span);
}
