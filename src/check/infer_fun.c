// SPDX-License-Identifier: Apache-2.0
//
// Functions: headers, bodies, the type a function gets from its parameters, and
// generalisation. Definitions, local functions and lambdas share this.
#include "check/checker.h"

FunHead *fun_head(Checker *ck, const TypeParamVec *type_params, const PatVec *params,
                  const TypeExp *result, Span span) {
    FunHead *head = arena_new(ck->arena, FunHead);
    head->mark = ++ck->counter;
    head->span = span;
    uint32_t owner = ck->frame->owner;
    ck->frame->owner = ++ck->next_owner;
    type_params_bind(ck, type_params, &head->type_params, &head->size_params);
    PatCx pcx = {.types = {.anon = ANON_PARAM, .params = &head->anon_sizes},
                 .is_param = true};
    for (uint32_t i = 0; i < params->len; i++) {
        const Pat *pat = params->data[i];
        Type *type = type_fresh(ck, pat->span);
        vec_push(ck->arena, &head->params, pat_check(ck, pat, type, &pcx));
    }
    if (result != NULL) {
        TypeCx tcx = {.anon = ANON_UNKNOWN, .allow_unique = true};
        head->result = typexp_check(ck, result, &tcx);
        head->result_unique = tcx.is_unique;
        if (tcx.is_unique) ck->frame->has_star = true;
    }
    ck->frame->owner = owner;
    return head;
}

TExp *fun_body(Checker *ck, FunHead *head, const Exp *body) {
    TExp *exp = infer(ck, body);
    if (head->result == NULL) return exp;
    expect(ck, exp->span, head->result, exp->type, "the result");
    return coerce_to(ck, exp, head->result);
}

// ---- the type of a function --------------------------------------------------------

static void collect_names(Checker *ck, const TPat *pat, BindingVec *out) {
    switch (pat->kind) {
    case TPAT_NAME: vec_push(ck->arena, out, pat->as.name); break;
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len; i++)
            collect_names(ck, pat->as.record.data[i], out);
        break;
    case TPAT_CTOR:
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++)
            collect_names(ck, pat->as.ctor.args.data[i], out);
        break;
    case TPAT_WILD:
    case TPAT_LIT: break;
    }
}

// Names inside a composite pattern mean nothing outside: their sizes become unknown.
static Type *hide_names(Checker *ck, const TPat *pat, Type *result) {
    BindingVec names = {0};
    collect_names(ck, pat, &names);
    if (names.len == 0) return result;
    Size **sizes = arena_array(ck->arena, Size *, names.len);
    for (uint32_t i = 0; i < names.len; i++)
        sizes[i] = size_unknown(ck, names.data[i]->span);
    Subst subst = {.names = names.data, .sizes = sizes, .name_count = names.len};
    ck->visits = 0;
    return type_subst(ck, &subst, result);
}

typedef struct Collect {
    SizeVec *into;
    uint32_t from;
} Collect;

static bool collect_unknown(Checker *ck, Size *size, void *data) {
    Collect *collect = data;
    if (size->kind != SIZE_UNKNOWN || size->id < collect->from) return true;
    for (uint32_t i = 0; i < collect->into->len; i++)
        if (collect->into->data[i] == size) return true;
    vec_push(ck->arena, collect->into, size);
    return true;
}

Type *fun_type(Checker *ck, const TPatVec *params, Type *result, bool result_unique,
               uint32_t mark) {
    for (uint32_t i = params->len; i-- > 0;)
        if (params->data[i]->kind != TPAT_NAME)
            result = hide_names(ck, params->data[i], result);
    Type *type = result;
    for (uint32_t i = params->len; i-- > 0;) {
        const TPat *pat = params->data[i];
        Type *fun = type_fun(ck, pat->type, type);
        if (fun->kind != TYPE_FUN) return fun;
        if (pat->kind == TPAT_NAME) {
            fun->as.fun.param_binding = pat->as.name;
            fun->as.fun.param_name = pat->as.name->name;
        }
        fun->as.fun.param_diet = pat_diet(ck, pat);
        fun->as.fun.param_unique = fun->as.fun.param_diet != NULL;
        if (i + 1 == params->len) {
            fun->as.fun.result_unique = result_unique;
            Collect collect = {&fun->as.fun.result_exists, mark};
            type_visit_sizes(ck, result, collect_unknown, &collect);
        }
        type = fun;
    }
    return type;
}

// Parameters that no size of the type needs are not shown by name: `(n: i64) -> [n]t`
// but `i64 -> i64`.
static bool mentions_name(Checker *ck, Size *size, void *data) {
    Binding *name = data;
    if (size->kind == SIZE_NAME) return size->name != name;
    if (size->kind != SIZE_EXP) return true;
    Subst subst = {.escape_from = name->id};
    Binding *only = name;
    Size *unknown = size_unknown(ck, size->origin);
    subst.escape_from = 0;
    subst.names = &only;
    subst.sizes = &unknown;
    subst.name_count = 1;
    return texp_subst(ck, &subst, size->exp) == size->exp;
}

static void drop_unused_names(Checker *ck, Type *type) {
    for (; type->kind == TYPE_FUN; type = type_resolve(type->as.fun.result)) {
        Binding *name = type->as.fun.param_binding;
        if (name == NULL) continue;
        if (!type_visit_sizes(ck, type->as.fun.result, mentions_name, name)) continue;
        type->as.fun.param_binding = NULL;
        type->as.fun.param_name = 0;
    }
}

TExp *fun_lambda(Checker *ck, FunHead *head, TExp *body) {
    if (head->params.len == 0) return body;
    TExp *lambda = texp_new(ck, TEXP_LAMBDA, head->span, NULL);
    lambda->as.lambda.params = head->params;
    lambda->as.lambda.body = body;
    Type *result = head->result != NULL ? head->result : body->type;
    lambda->type = fun_type(ck, &head->params, result, head->result_unique, head->mark);
    drop_unused_names(ck, lambda->type);
    return lambda;
}

bool fun_is_annotated(const PatVec *params, const TypeExp *result) {
    if (result == NULL) return false;
    for (uint32_t i = 0; i < params->len; i++) {
        const Pat *pat = params->data[i];
        while (pat->kind == PAT_PAREN) pat = pat->as.inner;
        if (pat->kind != PAT_ASCRIPT) return false;
    }
    return true;
}

// ---- generalisation ----------------------------------------------------------------

typedef struct Gen {
    uint32_t mark;
    TypeVarVec *vars;
    BindingVec *sizes;
    bool with_sizes;
} Gen;

static Sym fresh_name(Checker *ck, const TypeVarVec *taken) {
    for (uint32_t n = 0;; n++) {
        char text[12] = {(char)('a' + n % 26)};
        size_t len = 1;
        for (uint32_t rest = n / 26; rest > 0; rest /= 10)
            text[len++] = (char)('0' + rest % 10);
        Sym name = sym_intern(&ck->cx->syms, (Str){text, len});
        bool free = true;
        for (uint32_t i = 0; i < taken->len; i++) free &= taken->data[i]->name != name;
        if (free) return name;
    }
}

static bool gen_size(Checker *ck, Size *size, void *data) {
    Gen *gen = data;
    if (size->kind != SIZE_VAR || size->level < (int32_t)gen->mark) return true;
    Binding *param = binding_new(ck, BIND_SIZE, (Name){0, size->origin},
                                 type_scalar(ck, SCALAR_I64));
    param->owner = ck->next_owner;
    size->link = size_name(ck, param, size->origin);
    vec_push(ck->arena, gen->sizes, param);
    return true;
}

static void gen_vars(Checker *ck, Type *type, Gen *gen) {
    type = type_resolve(type);
    if (type->is_ground || !deep_enough(ck, ck->here)) return;
    switch (type->kind) {
    case TYPE_SCALAR: break;
    case TYPE_ARRAY: gen_vars(ck, type->as.array.elem, gen); break;
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++)
            gen_vars(ck, type->as.record.data[i].type, gen);
        break;
    case TYPE_SUM:
        for (uint32_t i = 0; i < type->as.sum.len; i++)
            for (uint32_t k = 0; k < type->as.sum.data[i].payload.len; k++)
                gen_vars(ck, type->as.sum.data[i].payload.data[k], gen);
        break;
    case TYPE_FUN:
        gen_vars(ck, type->as.fun.param, gen);
        gen_vars(ck, type->as.fun.result, gen);
        break;
    case TYPE_VAR: {
        TypeVar *var = type->as.var;
        if (var == NULL || var->is_param || var->constraint != NULL ||
            var->level < (int32_t)gen->mark)
            break;
        var->is_param = true;
        var->name = fresh_name(ck, gen->vars);
        vec_push(ck->arena, gen->vars, var);
        break;
    }
    case TYPE_ABS:
        for (uint32_t i = 0; i < type->as.abs.type_args.len; i++)
            gen_vars(ck, type->as.abs.type_args.data[i], gen);
        break;
    case TYPE_STREAM: gen_vars(ck, type->as.elem, gen); break;
    }
}

static bool mentions_any(Checker *ck, Size *size, void *data) {
    const BindingVec *sizes = data;
    (void)ck;
    if (size->kind != SIZE_NAME) return true;
    for (uint32_t i = 0; i < sizes->len; i++)
        if (sizes->data[i] == size->name) return false;
    return true;
}

static bool is_not_size(Checker *ck, Size *size, void *data) {
    return mentions_name(ck, size, data);
}

static void check_sizes_used(Checker *ck, const Binding *binding, const FunHead *head) {
    for (uint32_t i = 0; i < head->size_params.len; i++) {
        Binding *size = head->size_params.data[i];
        bool again = false; // bound twice: reported
        for (uint32_t k = 0; k < head->size_params.len; k++)
            again |= k != i && head->size_params.data[k]->name == size->name;
        if (again) continue;
        if (!type_visit_sizes(ck, binding->type, is_not_size, size)) continue;
        Diag *diag =
            check_error(ck, CHECK_UNUSED_SIZE, size->span, sym_show(ck, size->name));
        check_hint(ck, diag,
                   "a size parameter is found from the sizes of arguments; "
                   "pass `%s: i64` instead if the number itself is wanted",
                   sym_show(ck, size->name));
    }
}

void generalise(Checker *ck, Binding *binding, FunHead *head, TExp *body) {
    BindingVec made = {0};
    binding->type_params = head->type_params;
    binding->size_params = head->size_params;
    for (uint32_t i = 0; i < head->anon_sizes.len; i++)
        vec_push(ck->arena, &binding->size_params, head->anon_sizes.data[i]);
    Gen gen = {head->mark, &binding->type_params, &made, true};
    bool is_fun = type_resolve(binding->type)->kind == TYPE_FUN;
    if (is_fun && ck->frame->deferred.len > 0) sizes_retry(ck, ck->frame);
    if (is_fun) type_visit_sizes(ck, binding->type, gen_size, &gen);
    gen_vars(ck, binding->type, &gen);
    for (uint32_t i = 0; i < made.len; i++)
        vec_push(ck->arena, &binding->size_params, made.data[i]);
    for (uint32_t i = 0; i < head->params.len && made.len > 0; i++) {
        TPat *pat = head->params.data[i];
        if (pat->ascribed == NULL &&
            !type_visit_sizes(ck, pat->type, mentions_any, &made))
            pat->ascribed = pat->type;
    }
    if (body != NULL && body->kind == TEXP_LAMBDA)
        body->as.lambda.sizes = binding->size_params;
    check_sizes_used(ck, binding, head);
}
