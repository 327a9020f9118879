// SPDX-License-Identifier: Apache-2.0
//
// let in its three forms, and lambdas. A chain of lets is walked with a loop, so that
// its length costs no stack.
#include "check/checker.h"

typedef struct Link {
    TExp *let;
    uint32_t locals;
    uint32_t mark; // what the let binds is younger
} Link;

typedef struct {
    Link *data;
    uint32_t len, cap;
} LinkVec;

static TPat *name_pat(Checker *ck, Binding *binding) {
    TPat *pat = arena_new(ck->arena, TPat);
    pat->kind = TPAT_NAME;
    pat->span = binding->span;
    pat->type = binding->type;
    pat->as.name = binding;
    return pat;
}

static const Pat *strip(const Pat *pat) {
    while (pat->kind == PAT_PAREN || pat->kind == PAT_ATTR)
        pat = pat->kind == PAT_PAREN ? pat->as.inner : pat->as.attr.pat;
    return pat;
}

static void check_let(Checker *ck, const Exp *exp, TExp *let) {
    uint32_t mark = ++ck->counter;
    const Pat *pat = strip(exp->as.let.pat);
    bool is_name = pat->kind == PAT_NAME;
    if (is_name) vec_push(ck->arena, &ck->frame->defining, pat->as.name.sym);
    TExp *value = infer(ck, exp->as.let.exp);
    if (is_name) ck->frame->defining.len--;
    let->as.let.exp = value;
    PatCx pcx = {.types = {.anon = ANON_VAR}, .alias = true, .value = value->span};
    uint32_t owner = ck->frame->owner;
    if (exp->as.let.sizes.len > 0) ck->frame->owner = ++ck->next_owner;
    for (uint32_t i = 0; i < exp->as.let.sizes.len; i++)
        vec_push(ck->arena, &pcx.sizes, size_param_bind(ck, exp->as.let.sizes.data[i]));
    ck->frame->owner = owner;
    let->as.let.sizes = pcx.sizes;
    let->as.let.pat = pat_check(ck, exp->as.let.pat, value->type, &pcx);
    if (is_name && type_resolve(value->type)->kind == TYPE_FUN) {
        FunHead head = {.mark = mark};
        generalise(ck, let->as.let.pat->as.name, &head, NULL);
    } else if (!is_name) {
        Pending pending = {.kind = PENDING_LET_PAT, .pat = let->as.let.pat};
        vec_push(ck->arena, &ck->frame->pending, pending);
    }
}

static void check_let_fun(Checker *ck, const Exp *exp, TExp *let) {
    uint32_t locals = locals_mark(ck);
    Name name = exp->as.let_fun.name;
    vec_push(ck->arena, &ck->frame->defining, name.sym);
    FunHead *head = fun_head(ck, &exp->as.let_fun.type_params, &exp->as.let_fun.params,
                             exp->as.let_fun.result, exp->as.let_fun.exp->span);
    TExp *body = fun_body(ck, head, exp->as.let_fun.exp);
    for (uint32_t i = 0; i < head->params.len; i++) {
        Pending pending = {.kind = PENDING_LET_PAT, .pat = head->params.data[i]};
        vec_push(ck->arena, &ck->frame->pending, pending);
    }
    locals_release(ck, locals);
    ck->frame->defining.len--;
    TExp *value = fun_lambda(ck, head, body);
    Binding *binding = binding_new(ck, BIND_LOCAL, name, value->type);
    generalise(ck, binding, head, value);
    let->as.let.exp = value;
    let->as.let.pat = name_pat(ck, binding);
    local_value(ck, name, binding);
}

static void check_let_update(Checker *ck, const Exp *exp, TExp *let) {
    QualName name = {.name = exp->as.let_update.name,
                     .span = exp->as.let_update.name.span};
    TExp *array = infer_var(ck, &name);
    Span span = span_join(name.span, exp->as.let_update.exp->span);
    TExp *update = texp_new(ck, TEXP_UPDATE, span, array->type);
    TExp *part = index_value(ck, array, &exp->as.let_update.dims, span);
    TExp *value = infer(ck, exp->as.let_update.exp);
    expect(ck, value->span, part->type, value->type, "the new value");
    update->as.update.exp = array;
    if (part->kind == TEXP_INDEX) update->as.update.dims = part->as.index.dims;
    update->as.update.value = value;
    Binding *binding = binding_new(ck, BIND_LOCAL, name.name, array->type);
    let->as.let.exp = update;
    let->as.let.pat = name_pat(ck, binding);
    local_value(ck, name.name, binding);
}

static const Exp *body_of(const Exp *exp) {
    switch (exp->kind) {
    case EXP_LET: return exp->as.let.body;
    case EXP_LET_FUN: return exp->as.let_fun.body;
    case EXP_LET_UPDATE: return exp->as.let_update.body;
    default: return NULL;
    }
}

TExp *infer_let_chain(Checker *ck, const Exp *exp) {
    LinkVec links = {0};
    for (const Exp *body; (body = body_of(exp)) != NULL; exp = body) {
        Link link = {.locals = locals_mark(ck), .mark = ++ck->counter};
        link.let = texp_new(ck, TEXP_LET, exp->span, NULL);
        if (exp->kind == EXP_LET) check_let(ck, exp, link.let);
        else if (exp->kind == EXP_LET_FUN) check_let_fun(ck, exp, link.let);
        else check_let_update(ck, exp, link.let);
        vec_push(ck->arena, &links, link);
    }
    TExp *result = infer(ck, exp);
    while (links.len > 0) {
        Link *link = &links.data[--links.len];
        link->let->as.let.body = result;
        link->let->type = type_escape(ck, result->type, link->mark);
        locals_release(ck, link->locals);
        result = link->let;
    }
    return result;
}

static bool open_size(Checker *ck, Size *size, void *data) {
    (void)ck;
    (void)data;
    size = size_resolve(size);
    if (size->kind == SIZE_VAR) size->is_open = true;
    return true;
}

TExp *infer_lambda(Checker *ck, const Exp *exp) {
    uint32_t locals = locals_mark(ck);
    FunHead *head = arena_new(ck->arena, FunHead);
    head->mark = ++ck->counter;
    head->span = exp->span;
    PatCx pcx = {.types = {.anon = ANON_VAR}, .is_param = true};
    for (uint32_t i = 0; i < exp->as.lambda.params.len; i++) {
        const Pat *pat = exp->as.lambda.params.data[i];
        TPat *param = pat_check(ck, pat, type_fresh(ck, pat->span), &pcx);
        type_visit_sizes(ck, param->type, open_size, NULL);
        vec_push(ck->arena, &head->params, param);
        Pending pending = {.kind = PENDING_LET_PAT, .pat = param};
        vec_push(ck->arena, &ck->frame->pending, pending);
    }
    if (exp->as.lambda.result != NULL) {
        TypeCx tcx = {.anon = ANON_UNKNOWN, .allow_unique = true};
        head->result = typexp_check(ck, exp->as.lambda.result, &tcx);
        head->result_unique = tcx.is_unique;
    }
    TExp *body = fun_body(ck, head, exp->as.lambda.body);
    locals_release(ck, locals);
    return fun_lambda(ck, head, body);
}
