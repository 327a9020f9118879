// SPDX-License-Identifier: Apache-2.0
//
// Application: of functions, of operators, of sections. A result's sizes may be in
// terms of the arguments; existential ones are made anew here.
#include "check/checker.h"

// ---- one argument after the other --------------------------------------------------

static const char *fun_name(Checker *ck, const TExp *fun) {
    if (fun->kind != TEXP_VAR || fun->as.var.binding->name == 0) return NULL;
    Binding *binding = fun->as.var.binding;
    if (binding == ck->neg_op) return "-";
    return sym_show(ck, binding->name);
}

// Whether an expression is what the prelude calls by this name.
static bool is_prelude(const TExp *exp, Sym name) {
    if (exp->kind != TEXP_VAR || exp->as.var.binding->name != name) return false;
    const Binding *binding = exp->as.var.binding;
    bool is_global = binding->kind == BIND_GLOBAL || binding->kind == BIND_INTRINSIC;
    return is_global && binding->check_data != NULL &&
           ((const Global *)binding->check_data)->is_lib;
}

static const char *argument_name(Checker *ck, const TExp *fun, uint32_t index,
                                 uint32_t count, bool infix) {
    const char *name = fun_name(ck, fun);
    StrBuf buf = strbuf(ck->arena);
    if (infix && name != NULL)
        strbuf_printf(&buf, "the %s operand of `%s`", index == 0 ? "left" : "right",
                      name);
    else if (name != NULL && count == 1)
        strbuf_printf(&buf, "the argument of `%s`", name);
    else if (name != NULL) strbuf_printf(&buf, "argument %u of `%s`", index + 1, name);
    else strbuf_printf(&buf, "argument %u", index + 1);
    return str_terminated(ck->arena, strbuf_done(&buf));
}

static void note_function(Checker *ck, Diag *diag, const TExp *fun) {
    if (fun->kind != TEXP_VAR || fun->as.var.binding->name == 0) return;
    const Binding *shown = fun->as.var.shown;
    if (shown == NULL) shown = fun->as.var.binding;
    bool is_operator = shown->kind == BIND_INTRINSIC && shown->span.end == 0;
    if (shown->type == NULL || is_operator) return;
    check_note(ck, diag, shown->span, "`%s` has the type %s", sym_show(ck, shown->name),
               type_show(ck, shown->type));
}

static void report_not_function(Checker *ck, TExp *fun, const TExp *arg) {
    uint32_t takes = type_arity(fun->type);
    const char *name = fun_name(ck, fun);
    if (takes == 0) {
        Diag *diag =
            check_error(ck, CHECK_NOT_FUNCTION, fun->span, type_show(ck, fun->type));
        check_label(ck, diag, "this is applied to an argument");
        if (type_resolve(fun->type)->kind == TYPE_ARRAY && arg->kind == TEXP_ARRAY)
            check_hint(ck, diag, "an index has no space in front of its bracket");
        return;
    }
    Diag *diag = check_error(ck, CHECK_MANY_ARGS, arg->span,
                             name == NULL ? "this function" : name, takes,
                             takes == 1 ? "" : "s");
    note_function(ck, diag, fun);
}

static Type *result_of(Checker *ck, Type *type, TExp *arg) {
    Type *result = type->as.fun.result;
    Subst subst = {.exists = type->as.fun.result_exists.data,
                   .exists_count = type->as.fun.result_exists.len};
    Binding *name = type->as.fun.param_binding;
    Size *size = NULL;
    if (name != NULL) {
        size = size_of_exp(ck, arg);
        subst.names = &name;
        subst.sizes = &size;
        subst.name_count = 1;
    }
    if (name == NULL && subst.exists_count == 0) return result;
    ck->visits = 0;
    return type_subst(ck, &subst, result);
}

static void note_operands(Checker *ck, Diag *diag, TExp *const *args, uint32_t index) {
    if (index != 1) return;
    check_note(ck, diag, args[0]->span, "the left operand has the type %s",
               type_show(ck, args[0]->type));
}

// ---- behind a signature ------------------------------------------------------------

static bool is_view(const TExp *fun) {
    return fun->kind == TEXP_VAR && fun->as.var.shown != NULL;
}

// The size that a signature promises may be hidden behind it: seen when it runs. Sizes
// that are open here may be known when the definition ends.
static TExp *promised(Checker *ck, TExp *exp) {
    if (exp->type->kind == TYPE_SCALAR || type_is_error(ck, exp->type)) return exp;
    TExp *coerce = texp_new(ck, TEXP_COERCE, exp->span, exp->type);
    coerce->as.inner = exp;
    return coerce;
}

static TExp *apply(Checker *ck, TExp *fun, TExp *const *args, uint32_t count, Span span,
                   bool infix) {
    if (is_view(fun) && type_arity(fun->type) > count) fun = infer_view(ck, fun);
    Type *type = type_resolve(fun->type);
    TExp *exp = texp_new(ck, TEXP_APPLY, span, ck->error_type);
    exp->as.apply.fun = fun;
    for (uint32_t i = 0; i < count; i++) {
        vec_push(ck->arena, &exp->as.apply.args, args[i]);
        if (type == ck->error_type) continue;
        if (type_is_open(type)) {
            Type *result = type_fresh(ck, span);
            Type *wanted = type_fun(ck, args[i]->type, result);
            ck->clash = (Clash){0};
            if (!type_unify(ck, type, wanted)) {
                report_mismatch(ck, fun->span, wanted, type, "what is applied");
                type = ck->error_type;
            } else {
                type = type_resolve(result);
            }
            continue;
        }
        if (type->kind != TYPE_FUN) {
            report_not_function(ck, fun, args[i]);
            type = ck->error_type;
            continue;
        }
        ck->clash = (Clash){0};
        ck->here = args[i]->span;
        Type *param = type->as.fun.param;
        if (!type_unify(ck, param, args[i]->type)) {
            bool other_arity = type_arities_differ(param, args[i]->type);
            Diag *diag = report_mismatch(ck, args[i]->span, param, args[i]->type,
                                         argument_name(ck, fun, i, count, infix));
            if (infix) note_operands(ck, diag, args, i);
            else note_function(ck, diag, fun);
            if (other_arity && is_prelude(fun, ck->sym_map) &&
                type_arity(args[i]->type) == 2)
                check_hint(ck, diag, "`map2` maps it over two arrays");
            type = infix ? ck->error_type : type_resolve(type->as.fun.result);
            if (type_arity(type) + i + 1 < count || other_arity) type = ck->error_type;
            // The result may depend on what did not fit.
            if (type->kind != TYPE_FUN && type->kind != TYPE_SCALAR)
                type = ck->error_type;
            continue;
        }
        if (type->as.fun.param_unique) ck->frame->has_star = true;
        type = type_resolve(result_of(ck, type, args[i]));
    }
    exp->type = type;
    return is_view(fun) && type->kind != TYPE_FUN ? promised(ck, exp) : exp;
}

TExp *apply_value(Checker *ck, TExp *fun, TExp *const *args, const Span *spans,
                  uint32_t count, Span span) {
    (void)spans;
    return apply(ck, fun, args, count, span, false);
}

TExp *infer_apply(Checker *ck, const Exp *exp) {
    const Exp *called = exp->as.apply.fun;
    TExp *fun =
        called->kind == EXP_VAR ? infer_var(ck, &called->as.var) : infer(ck, called);
    uint32_t count = exp->as.apply.args.len;
    TExp **args = arena_array(ck->arena, TExp *, count);
    for (uint32_t i = 0; i < count; i++)
        args[i] = infer(ck, exp->as.apply.args.data[i]);
    return apply(ck, fun, args, count, exp->span, false);
}

// ---- operators ---------------------------------------------------------------------

static TExp *logic(Checker *ck, const TExp *op, TExp *left, TExp *right, Span span) {
    bool is_and = op->as.var.binding == ck->and_op;
    Type *boolean = type_scalar(ck, SCALAR_BOOL);
    TExp *exp = texp_new(ck, is_and ? TEXP_AND : TEXP_OR, span, boolean);
    expect(ck, left->span, boolean, left->type, argument_name(ck, op, 0, 2, true));
    expect(ck, right->span, boolean, right->type, argument_name(ck, op, 1, 2, true));
    exp->as.logic.left = left;
    exp->as.logic.right = right;
    return exp;
}

static bool is_logic(const Checker *ck, const TExp *op) {
    return op->kind == TEXP_VAR &&
           (op->as.var.binding == ck->and_op || op->as.var.binding == ck->or_op);
}

static TExp *binary(Checker *ck, TExp *op, TExp *left, TExp *right, Span span) {
    if (is_logic(ck, op)) return logic(ck, op, left, right, span);
    // Pipes are applications, so that sizes may depend on the argument.
    if (is_prelude(op, ck->sym_pipe)) return apply(ck, right, &left, 1, span, false);
    if (is_prelude(op, ck->sym_pipe_left))
        return apply(ck, left, &right, 1, span, false);
    TExp *args[2] = {left, right};
    return apply(ck, op, args, 2, span, true);
}

// Chains of left-associative operators are as long as the user likes: walk the spine.
TExp *infer_binop(Checker *ck, const Exp *exp) {
    struct {
        const Exp **data;
        uint32_t len, cap;
    } spine = {0};
    for (; exp->kind == EXP_BINOP; exp = exp->as.binop.left)
        vec_push(ck->arena, &spine, exp);
    TExp *left = infer(ck, exp);
    while (spine.len > 0) {
        exp = spine.data[--spine.len];
        TExp *right = infer(ck, exp->as.binop.right);
        TExp *op = infer_var(ck, &exp->as.binop.op);
        left = binary(ck, op, left, right, exp->span);
    }
    return left;
}

TExp *infer_prefix(Checker *ck, const Exp *exp) {
    TExp *operand = infer(ck, exp->as.inner);
    Span span = {exp->span.start, exp->span.start + 1};
    TExp *op = instantiate(ck, exp->kind == EXP_NEG ? ck->neg_op : ck->not_op, span);
    return apply(ck, op, &operand, 1, exp->span, false);
}

// ---- sections ----------------------------------------------------------------------

typedef struct Param {
    TPat *pat;
    TExp *var;
    uint32_t mark;
} Param;

static Param new_param(Checker *ck, Span span, const char *name) {
    uint32_t mark = ++ck->counter;
    Type *type = type_fresh(ck, span);
    Name named = {sym_cstr(&ck->cx->syms, name), span};
    Param param = {arena_new(ck->arena, TPat), NULL, mark};
    param.pat->kind = TPAT_NAME;
    param.pat->span = span;
    param.pat->type = type;
    param.pat->as.name = binding_new(ck, BIND_LOCAL, named, type);
    param.var = var_of_binding(ck, param.pat->as.name, span);
    return param;
}

static TExp *abstract(Checker *ck, Param param, TExp *body, Span span) {
    FunHead head = {.span = span, .mark = param.mark};
    vec_push(ck->arena, &head.params, param.pat);
    return fun_lambda(ck, &head, body);
}

// A function seen through a signature, as a value: one that keeps the promise, too.
TExp *infer_view(Checker *ck, TExp *fun) {
    if (!is_view(fun)) return fun;
    Type *type = type_resolve(fun->type);
    while (type->kind == TYPE_FUN) type = type_resolve(type->as.fun.result);
    uint32_t count = type_arity(fun->type);
    if (count == 0 || type->kind == TYPE_SCALAR) return fun;
    Param *params = arena_array(ck->arena, Param, count);
    TExp **args = arena_array(ck->arena, TExp *, count);
    for (uint32_t i = 0; i < count; i++) {
        params[i] = new_param(ck, fun->span, "x");
        args[i] = params[i].var;
    }
    TExp *body = apply(ck, fun, args, count, fun->span, false);
    while (count > 0) body = abstract(ck, params[--count], body, fun->span);
    return body;
}

static TExp *section_left(Checker *ck, const Exp *exp) {
    TExp *operand = infer(ck, exp->as.section.operand);
    TExp *op = infer_var(ck, &exp->as.section.op);
    if (!is_logic(ck, op) && !is_prelude(op, ck->sym_pipe))
        return apply(ck, op, &operand, 1, exp->span, true);
    Param param = new_param(ck, exp->span, "x");
    TExp *body = binary(ck, op, operand, param.var, exp->span);
    return abstract(ck, param, body, exp->span);
}

// (op e) is a function of the left operand; e is evaluated once.
static TExp *section_right(Checker *ck, const Exp *exp) {
    TExp *operand = infer(ck, exp->as.section.operand);
    TExp *op = infer_var(ck, &exp->as.section.op);
    bool simple = operand->kind == TEXP_VAR || operand->kind == TEXP_LIT ||
                  operand->kind == TEXP_LAMBDA;
    Param held = {0};
    TExp *right = operand;
    if (!simple) {
        held = new_param(ck, operand->span, "y");
        held.pat->type = held.pat->as.name->type = held.var->type = operand->type;
        right = held.var;
    }
    Param param = new_param(ck, exp->span, "x");
    TExp *body = binary(ck, op, param.var, right, exp->span);
    TExp *lambda = abstract(ck, param, body, exp->span);
    if (simple) return lambda;
    TExp *let =
        texp_new(ck, TEXP_LET, exp->span, type_escape(ck, lambda->type, held.mark));
    let->as.let.pat = held.pat;
    let->as.let.exp = operand;
    let->as.let.body = lambda;
    return let;
}

TExp *infer_section(Checker *ck, const Exp *exp) {
    if (exp->kind == EXP_SECTION_LEFT) return section_left(ck, exp);
    if (exp->kind == EXP_SECTION_RIGHT) return section_right(ck, exp);
    Param param = new_param(ck, exp->span, "x");
    TExp *body = param.var;
    if (exp->kind == EXP_SECTION_FIELD)
        for (uint32_t i = 0; i < exp->as.fields.len; i++)
            body = infer_field_of(ck, body, exp->as.fields.data[i], exp->span);
    else body = index_value(ck, body, &exp->as.dims, exp->span);
    return abstract(ck, param, body, exp->span);
}
