// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics: the table, finding a row, and calling its handler. Before a handler for
// arrays runs, the sizes of its parameters' types are taken from the arguments' shapes
// and checked, just as for a definition in the language.
#include "lower/internal.h"

enum {
    OPERANDS_SCALAR1 = 1,
    OPERANDS_SCALAR2 = 2,
    OPERANDS_SCALAR3 = 3,
    OPERANDS_ARRAY = 0,
    OPERANDS_ORDER2 = 0,
    OPERANDS_CONTROL = 0 // not intrinsics
};

static const Intrinsic rows[] = {
#define INTRINSIC(name, arity, sizes, op, handler)                                     \
    {name, arity, sizes, OP_##op, lower_intrinsic_##handler},
#include "lower/intrinsics.def"
#undef INTRINSIC
#define OP(name, text, kind, flags, meaning)                                           \
    {text, OPERANDS_##kind, false, OP_##name, lower_intrinsic_scalar},
#include "core/ops.def"
#undef OP
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static bool is_usable(const Intrinsic *row) {
    return row->handler != lower_intrinsic_scalar || row->arity > 0;
}

void lower_intrinsics_index(Lower *l) {
    map_init(&l->intrinsics, l->arena);
    for (uint32_t i = 0; i < ROW_COUNT; i++) {
        Sym name = sym_cstr(&l->cx->syms, rows[i].name);
        uint64_t found;
        if (is_usable(&rows[i]) && !map_get(&l->intrinsics, name, &found))
            map_set(&l->intrinsics, name, i);
    }
}

const Intrinsic *lower_intrinsic_find(const Lower *l, const Binding *binding) {
    uint64_t found;
    return map_get(&l->intrinsics, binding->intrinsic, &found) ? &rows[found] : NULL;
}

static Str describe(Lower *l, const Call *call, const Type *fun, uint32_t index) {
    Str of = lower_name(l, call->binding->name);
    Sym param = fun->as.fun.param_name;
    if (param == 0)
        return lower_format(l, "argument %u of `%.*s`", index + 1, STR_ARG(of));
    return lower_format(l, "argument `%.*s` of `%.*s`", STR_ARG(lower_name(l, param)),
                        STR_ARG(of));
}

static void bind_sizes(Lower *l, Call *call, uint32_t count) {
    Type *type = call->binding->type;
    for (uint32_t i = 0; i < count; i++) {
        type = type_reveal(type);
        const Value *arg = call->args[i];
        Sym name = type->as.fun.param_name;
        Str what = name != 0 ? lower_format(l, "`%.*s`", STR_ARG(lower_name(l, name)))
                             : lower_format(l, "argument %u", i + 1);
        if (arg->kind != VALUE_FUN)
            lower_sizes_bind(l, call->frame, type->as.fun.param, arg, what);
        if (type->as.fun.param_binding != NULL)
            lower_frame_bind(l, call->frame, type->as.fun.param_binding, call->args[i]);
        type = type->as.fun.result;
    }
}

static void check_sizes(Lower *l, Call *call, uint32_t count) {
    Type *type = call->binding->type;
    for (uint32_t i = 0; i < count; i++) {
        type = type_reveal(type);
        if (call->args[i]->kind != VALUE_FUN)
            call->args[i] =
                lower_sizes_check(l, call->frame, type->as.fun.param, call->args[i],
                                  describe(l, call, type, i));
        type = type->as.fun.result;
    }
}

Value *lower_intrinsic_apply(Lower *l, const Intrinsic *intrinsic, const Fun *fun,
                             Value *const *args, Span span) {
    uint32_t count = intrinsic->arity;
    Call call = {.binding = fun->binding, .op = intrinsic->op, .span = span};
    call.frame = lower_frame_new(l, fun->frame);
    call.args = arena_array(l->arena, Value *, count);
    call.arg_count = count;
    for (uint32_t i = 0; i < count; i++) call.args[i] = args[i];
    if (intrinsic->has_sizes) {
        bind_sizes(l, &call, count);
        check_sizes(l, &call, count);
    }
    lower_at(l, span);
    return intrinsic->handler(l, &call);
}

LType lower_call_result(Lower *l, const Call *call) {
    Type *type = call->binding->type;
    for (uint32_t i = 0; i < call->arg_count; i++)
        type = type_reveal(type)->as.fun.result;
    return lower_ltype_of(l, call->frame, type);
}
