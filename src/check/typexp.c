// SPDX-License-Identifier: Apache-2.0
//
// Written types to types. What [] means depends on where it stands: a parameter's is a
// size parameter without a name, a result's is existential, a let's is found by use.
#include "check/checker.h"

// ---- sizes -------------------------------------------------------------------------

static Size *anon_size(Checker *ck, Span span, TypeCx *tcx) {
    if (tcx->no_anon) {
        Diag *diag = check_error(ck, CHECK_HIDDEN_SIZE, span);
        check_hint(ck, diag,
                   "write `type~` for a type that hides a size, or give the "
                   "size as a parameter");
        tcx->no_anon = false;
    }
    switch (tcx->anon) {
    case ANON_VAR: return size_fresh(ck, span);
    case ANON_UNKNOWN: return size_unknown(ck, span);
    case ANON_PARAM: {
        Binding *param =
            binding_new(ck, BIND_SIZE, (Name){0, span}, type_scalar(ck, SCALAR_I64));
        param->owner = ck->frame->owner;
        vec_push(ck->arena, tcx->params, param);
        return size_name(ck, param, span);
    }
    }
    return NULL;
}

static Size *named_size(Checker *ck, const Exp *exp) {
    if (exp->kind == EXP_VAR && exp->as.var.quals.len == 0) {
        Found found;
        if (!name_try(ck, SPACE_VALUE, &exp->as.var, 1, &found)) {
            const char *name = sym_show(ck, exp->as.var.name.sym);
            if (ck->is_broken) return size_unknown(ck, exp->span);
            Diag *diag = check_error(ck, CHECK_UNKNOWN_SIZE, exp->span, name);
            check_hint(ck, diag,
                       "a size is bound by a parameter `[%s]` before the others", name);
            return size_unknown(ck, exp->span);
        }
    }
    TExp *size = infer_as(ck, exp, type_scalar(ck, SCALAR_I64), "a size");
    return size_of_exp(ck, size);
}

static Size *size_check(Checker *ck, const SizeExp *exp, TypeCx *tcx) {
    switch (exp->kind) {
    case SIZE_EXP_ANY: return anon_size(ck, exp->span, tcx);
    case SIZE_EXP_RAGGED:
        not_supported(ck, exp->span, "ragged dimensions");
        return size_unknown(ck, exp->span);
    case SIZE_EXP_EXP: return named_size(ck, exp->exp);
    }
    return NULL;
}

// ---- names with arguments ----------------------------------------------------------

static const char *count_show(Checker *ck, uint32_t count, const char *thing) {
    StrBuf buf = strbuf(ck->arena);
    if (count == 0) strbuf_printf(&buf, "no %ss", thing);
    else strbuf_printf(&buf, "%u %s%s", count, thing, count == 1 ? "" : "s");
    return str_terminated(ck->arena, strbuf_done(&buf));
}

static Type *check_name(Checker *ck, const TypeExp *exp, TypeCx *tcx) {
    Found found;
    const QualName *name = &exp->as.name.name;
    if (!name_lookup(ck, SPACE_TYPE, name, &found)) return ck->error_type;
    const TypeCon *con = found.local != NULL ? found.local->type : found.entry->type;
    if (con == NULL) return ck->error_type;
    uint32_t count = exp->as.name.args.len;
    if (type_is_error(ck, con->body)) return ck->error_type;
    if (con->params.len != count) {
        Diag *diag =
            check_error(ck, CHECK_TYPE_ARGS, exp->span, sym_show(ck, name->name.sym),
                        count_show(ck, con->params.len, "argument"), count);
        if (con->span.end != 0)
            check_note(ck, diag, con->span, "`%s` is defined here",
                       sym_show(ck, name->name.sym));
        return ck->error_type;
    }
    if (count == 0) return typecon_apply(ck, con, NULL, NULL);
    Type **types = arena_array(ck->arena, Type *, count);
    Size **sizes = arena_array(ck->arena, Size *, count);
    for (uint32_t i = 0; i < count; i++) {
        const TypeArg *arg = &exp->as.name.args.data[i];
        bool want_size = con->params.data[i].size != NULL;
        if (arg->is_size != want_size) {
            Span span = arg->is_size ? arg->size.span : arg->type->span;
            check_error(ck, CHECK_TYPE_ARG_KIND, span, i + 1,
                        sym_show(ck, name->name.sym), want_size ? "a size" : "a type");
            return ck->error_type;
        }
        if (want_size) {
            sizes[i] = size_check(ck, &arg->size, tcx);
            continue;
        }
        TypeCx inner = *tcx;
        inner.allow_unique = false;
        types[i] = typexp_check(ck, arg->type, &inner);
        if (con->params.data[i].var->lifting != TP_LIFTED &&
            type_holds_function(ck, types[i]))
            report_function(ck, arg->type->span, types[i], "the argument of this type");
    }
    return typecon_apply(ck, con, types, sizes);
}

Type *typecon_apply(Checker *ck, const TypeCon *con, Type **types, Size **sizes) {
    if (con->body->is_ground) return con->body;
    Subst subst = {.unknown_from = 1};
    uint32_t count = con->params.len;
    TypeVar **vars = count == 0 ? NULL : arena_array(ck->arena, TypeVar *, count);
    Binding **names = count == 0 ? NULL : arena_array(ck->arena, Binding *, count);
    subst.vars = vars;
    subst.names = names;
    subst.types = count == 0 ? NULL : arena_array(ck->arena, Type *, count);
    subst.sizes = count == 0 ? NULL : arena_array(ck->arena, Size *, count);
    for (uint32_t i = 0; i < count; i++) {
        if (con->params.data[i].size != NULL) {
            names[subst.name_count] = con->params.data[i].size;
            subst.sizes[subst.name_count++] = sizes[i];
        } else {
            vars[subst.var_count] = con->params.data[i].var;
            subst.types[subst.var_count++] = types[i];
        }
    }
    ck->visits = 0;
    return type_subst(ck, &subst, con->body);
}

// ---- the other forms ---------------------------------------------------------------

static void no_unique(Checker *ck, const TypeExp *exp) {
    Diag *diag = check_error(ck, CHECK_UNIQUE_PLACE, exp->span);
    check_hint(ck, diag,
               "`*` belongs in front of a whole parameter or result, or a part "
               "of a tuple");
}

static Type *check_parts(Checker *ck, const TypeExp *exp, TypeCx *tcx) {
    bool tuple = exp->kind == TYPE_EXP_TUPLE;
    uint32_t count = tuple ? exp->as.tuple.len : exp->as.record.len;
    FieldVec fields = {0};
    const Diet **parts = arena_array(ck->arena, const Diet *, count + 1);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        TypeCx inner = *tcx;
        const TypeExp *part =
            tuple ? exp->as.tuple.data[i] : exp->as.record.data[i].type;
        Type *type = typexp_check(ck, part, &inner);
        tcx->no_anon = inner.no_anon;
        Sym name = tuple ? field_sym(ck, i) : exp->as.record.data[i].name.sym;
        if (record_find(&fields, name) >= 0) {
            check_error(ck, CHECK_DUPLICATE_FIELD, exp->as.record.data[i].name.span,
                        sym_show(ck, name));
            continue;
        }
        parts[i] = inner.is_unique ? inner.diet : NULL;
        any |= inner.is_unique;
        vec_push(ck->arena, &fields, (Field){name, type});
    }
    FieldVec written = {0};
    for (uint32_t i = 0; i < fields.len; i++)
        vec_push(ck->arena, &written, fields.data[i]);
    Type *type = type_record(ck, fields);
    if (any && type->kind == TYPE_RECORD) {
        Diet *diet = arena_new(ck->arena, Diet);
        const Diet **sorted = arena_array(ck->arena, const Diet *, count);
        for (uint32_t i = 0; i < written.len; i++) {
            int at = record_find(&type->as.record, written.data[i].name);
            if (at >= 0) sorted[at] = parts[i];
        }
        diet->part_count = type->as.record.len;
        diet->parts = (Diet *const *)sorted;
        tcx->is_unique = true;
        tcx->diet = diet;
    }
    return type;
}

static Type *check_sum(Checker *ck, const TypeExp *exp, TypeCx *tcx) {
    CtorVec ctors = {0};
    for (uint32_t i = 0; i < exp->as.sum.len; i++) {
        const TypeCtor *from = &exp->as.sum.data[i];
        Ctor ctor = {.name = from->name.sym};
        for (uint32_t k = 0; k < from->payload.len; k++) {
            TypeCx inner = *tcx;
            inner.allow_unique = false;
            vec_push(ck->arena, &ctor.payload,
                     typexp_check(ck, from->payload.data[k], &inner));
            tcx->no_anon = inner.no_anon;
        }
        if (sum_find(&ctors, ctor.name) >= 0) {
            check_error(ck, CHECK_DUPLICATE_CTOR, from->name.span,
                        sym_show(ck, ctor.name));
            continue;
        }
        vec_push(ck->arena, &ctors, ctor);
    }
    return type_sum(ck, ctors);
}

typedef struct Collect {
    SizeVec *into;
    uint32_t from;
} Collect;

static bool collect_unknown(Checker *ck, Size *size, void *data) {
    Collect *collect = data;
    if (size->kind == SIZE_UNKNOWN && size->id >= collect->from) {
        for (uint32_t i = 0; i < collect->into->len; i++)
            if (collect->into->data[i] == size) return true;
        vec_push(ck->arena, collect->into, size);
    }
    return true;
}

static Type *check_fun(Checker *ck, const TypeExp *exp, TypeCx *tcx) {
    TypeCx param_cx = {.anon = tcx->anon == ANON_PARAM ? ANON_UNKNOWN : tcx->anon,
                       .params = tcx->params,
                       .allow_unique = true};
    Type *param = typexp_check(ck, exp->as.fun.param, &param_cx);
    uint32_t locals = locals_mark(ck), from = ++ck->counter;
    Binding *name = NULL;
    if (exp->as.fun.param_name.sym != 0) {
        name = binding_new(ck, BIND_LOCAL, exp->as.fun.param_name, param);
        local_value(ck, exp->as.fun.param_name, name)->used = true;
    }
    TypeCx result_cx = {.anon = ANON_UNKNOWN, .allow_unique = true};
    Type *result = typexp_check(ck, exp->as.fun.result, &result_cx);
    locals_release(ck, locals);
    Type *type = type_fun(ck, param, result);
    if (type->kind != TYPE_FUN) return type;
    type->as.fun.param_unique = param_cx.is_unique;
    type->as.fun.param_diet = param_cx.is_unique ? param_cx.diet : NULL;
    type->as.fun.result_unique = result_cx.is_unique;
    if (name != NULL) {
        type->as.fun.param_name = name->name;
        type->as.fun.param_binding = name;
    }
    Collect collect = {&type->as.fun.result_exists, from};
    type_visit_sizes(ck, result, collect_unknown, &collect);
    return type;
}

static Type *check_exists(Checker *ck, const TypeExp *exp, TypeCx *tcx) {
    uint32_t locals = locals_mark(ck), count = exp->as.exists.sizes.len;
    Binding **names = arena_array(ck->arena, Binding *, count);
    Size **sizes = arena_array(ck->arena, Size *, count);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = size_param_bind(ck, exp->as.exists.sizes.data[i]);
        sizes[i] = size_unknown(ck, names[i]->span);
    }
    Type *type = typexp_check(ck, exp->as.exists.type, tcx);
    locals_release(ck, locals);
    Subst subst = {.names = names, .sizes = sizes, .name_count = count};
    ck->visits = 0;
    return type_subst(ck, &subst, type);
}

static Type *check_array(Checker *ck, const TypeExp *exp, TypeCx *tcx) {
    Size *size = size_check(ck, &exp->as.array.size, tcx);
    TypeCx inner = *tcx;
    inner.allow_unique = false;
    Type *elem = typexp_check(ck, exp->as.array.elem, &inner);
    tcx->no_anon = inner.no_anon;
    if (type_holds_function(ck, elem)) {
        report_function(ck, exp->as.array.elem->span, elem, "an array");
        return ck->error_type;
    }
    return type_array(ck, size, elem);
}

Type *typexp_check(Checker *ck, const TypeExp *exp, TypeCx *tcx) {
    if (!deep_enough(ck, exp->span)) return ck->error_type;
    switch (exp->kind) {
    case TYPE_EXP_NAME: return check_name(ck, exp, tcx);
    case TYPE_EXP_ARRAY: return check_array(ck, exp, tcx);
    case TYPE_EXP_TUPLE:
    case TYPE_EXP_RECORD: return check_parts(ck, exp, tcx);
    case TYPE_EXP_SUM: return check_sum(ck, exp, tcx);
    case TYPE_EXP_FUN: return check_fun(ck, exp, tcx);
    case TYPE_EXP_UNIQUE: {
        static const Diet all = {.consumed = true};
        if (!tcx->allow_unique) no_unique(ck, exp);
        Type *type = typexp_check(ck, exp->as.inner, tcx);
        tcx->is_unique = true;
        tcx->diet = &all;
        return type;
    }
    case TYPE_EXP_STREAM:
        not_supported(ck, exp->span, "sequences");
        return ck->error_type;
    case TYPE_EXP_EXISTS: return check_exists(ck, exp, tcx);
    case TYPE_EXP_PAREN: return typexp_check(ck, exp->as.inner, tcx);
    }
    return ck->error_type;
}

// ---- parameters and definitions ----------------------------------------------------

Binding *size_param_bind(Checker *ck, Name name) {
    Binding *binding = binding_new(ck, BIND_SIZE, name, type_scalar(ck, SCALAR_I64));
    binding->owner = ck->frame->owner;
    local_value(ck, name, binding)->used = true;
    return binding;
}

static void check_duplicate(Checker *ck, const TypeParamVec *params, uint32_t at) {
    const TypeParam *param = &params->data[at];
    for (uint32_t i = 0; i < at; i++) {
        const TypeParam *other = &params->data[i];
        bool same_space = (other->kind == TP_SIZE) == (param->kind == TP_SIZE);
        if (!same_space || other->name.sym != param->name.sym) continue;
        Diag *diag = check_error(ck, CHECK_DUPLICATE_PARAM, param->name.span,
                                 sym_show(ck, param->name.sym));
        check_note(ck, diag, other->name.span, "it is first bound here");
    }
}

static TypeCon *con_of_param(Checker *ck, const TypeParam *param, TypeVar *var) {
    TypeCon *con = arena_new(ck->arena, TypeCon);
    con->name = param->name.sym;
    con->span = param->name.span;
    con->lifting = (uint8_t)param->kind;
    con->body = type_of_var(ck, var);
    return con;
}

void type_params_bind(Checker *ck, const TypeParamVec *params, TypeVarVec *vars_out,
                      BindingVec *sizes_out) {
    for (uint32_t i = 0; i < params->len; i++) {
        const TypeParam *param = &params->data[i];
        check_duplicate(ck, params, i);
        if (param->kind == TP_SIZE) {
            vec_push(ck->arena, sizes_out, size_param_bind(ck, param->name));
            continue;
        }
        TypeVar *var =
            type_param_new(ck, param->name.sym, (uint8_t)param->kind, param->name.span);
        vec_push(ck->arena, vars_out, var);
        local_type(ck, param->name, con_of_param(ck, param, var))->used = true;
    }
}

static bool find_name(Checker *ck, Size *size, void *data) {
    Binding *wanted = data;
    (void)ck;
    if (size->kind == SIZE_NAME) return size->name != wanted;
    return size->kind != SIZE_EXP; // an expression may mention it: give up
}

// Messages call a record or sum by the name it was defined under.
static void note_written(const TypeCon *con) {
    Type *body = con->body;
    bool has_parts = (body->kind == TYPE_RECORD && body->as.record.len > 0) ||
                     (body->kind == TYPE_SUM && body->as.sum.len > 0);
    if (has_parts && body->written == NULL) body->written = con;
}

TypeCon *typecon_apply_def(Checker *ck, Name name, const TypeParamVec *params,
                           const TypeExp *exp, Env env, uint8_t lifting) {
    Frame *outer = ck->frame;
    ck->frame = frame_new(ck, env, NULL);
    TypeCon *con = arena_new(ck->arena, TypeCon);
    con->name = ck->prefix == 0 ? name.sym : join_names(ck, ck->prefix, name.sym);
    con->span = name.span;
    con->lifting = lifting;
    for (uint32_t i = 0; i < params->len; i++) {
        const TypeParam *param = &params->data[i];
        TypeConParam made = {0};
        check_duplicate(ck, params, i);
        if (param->kind == TP_SIZE) {
            made.size = size_param_bind(ck, param->name);
        } else {
            made.var = type_param_new(ck, param->name.sym, (uint8_t)param->kind,
                                      param->name.span);
            local_type(ck, param->name, con_of_param(ck, param, made.var))->used = true;
        }
        vec_push(ck->arena, &con->params, made);
    }
    if (exp != NULL) {
        TypeCx tcx = {.anon = ANON_UNKNOWN, .no_anon = lifting == TP_TYPE};
        con->body = typexp_check(ck, exp, &tcx);
        note_written(con);
        if (lifting != TP_LIFTED && type_holds_function(ck, con->body)) {
            Diag *diag = check_error(ck, CHECK_UNLIFTED_FUNCTION, name.span,
                                     sym_show(ck, name.sym));
            check_hint(ck, diag, "write `type^ %s` for a type that may hold functions",
                       sym_show(ck, name.sym));
        }
        for (uint32_t i = 0; i < con->params.len; i++) {
            Binding *size = con->params.data[i].size;
            if (size == NULL || type_is_error(ck, con->body)) continue;
            if (type_visit_sizes(ck, con->body, find_name, size))
                check_error(ck, CHECK_UNUSED_SIZE_TYPE, size->span,
                            sym_show(ck, size->name));
        }
    }
    frame_finish(ck, ck->frame);
    locals_release(ck, 0);
    ck->frame = outer;
    return con;
}

TypeCon *typecon_check(Checker *ck, const TypeDef *def, Env env) {
    return typecon_apply_def(ck, def->name, &def->params, def->type, env,
                             (uint8_t)def->lifting);
}
