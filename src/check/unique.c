// SPDX-License-Identifier: Apache-2.0
//
// Uniqueness, over the typed tree. Values hold references to regions: a parameter's
// data, or what a definition made anew. Consuming an argument (a parameter is `*t`)
// consumes all its regions; a later use of a name that may refer to one is an error,
// and so is consuming what is not one's own. `a with [i] = v` makes a new array and
// consumes nothing; when it can be done in place is decided elsewhere.
#include "check/unique.h"

static const Refs *visit(Unique *u, TExp *exp);

// ---- expressions
// --------------------------------------------------------------------------------

static const Refs *visit_var(Unique *u, TExp *exp) {
    Binding *binding = exp->as.var.binding;
    if (binding->kind == BIND_GLOBAL) {
        if (type_resolve(exp->type)->kind == TYPE_FUN) return &refs_nothing;
        const Refs *refs = refs_of(u, binding);
        if (refs == NULL) {
            refs = refs_own(u, binding, binding->type, GLOBAL, NULL);
            refs_set(u, binding, refs);
        }
        return refs;
    }
    const Refs *refs = refs_of(u, binding);
    if (refs == NULL) return &refs_nothing;
    unique_use(u, refs, binding, exp->span);
    return refs;
}

static const char *consumer(Unique *u, const TExp *fun, uint32_t index,
                            uint32_t count) {
    StrBuf buf = strbuf(u->ck->arena);
    if (fun->kind != TEXP_VAR || fun->as.var.binding->name == 0)
        strbuf_printf(&buf, "parameter %u of this function", index + 1);
    else if (count == 1)
        strbuf_printf(&buf, "`%s`", unique_name(u, fun->as.var.binding));
    else
        strbuf_printf(&buf, "parameter %u of `%s`", index + 1,
                      unique_name(u, fun->as.var.binding));
    return str_terminated(u->ck->arena, strbuf_done(&buf));
}

// One argument is consumed: no other of the same call may share its data.
static void check_shared(Unique *u, const TExp *exp, const Refs *const *args,
                         uint32_t index, uint32_t mark, const char *by) {
    Checker *ck = u->ck;
    for (uint32_t i = 0; i < exp->as.apply.args.len; i++) {
        if (i == index) continue;
        for (uint32_t k = mark; k < u->consumed.len; k++) {
            if (!refs_share(args[i], u->consumed.data[k])) continue;
            Diag *diag =
                check_error(ck, CHECK_CONSUMED_SHARED, exp->as.apply.args.data[i]->span,
                            unique_name(u, u->consumed.data[k]->name));
            check_note(ck, diag, exp->as.apply.args.data[index]->span,
                       "this argument is consumed, by %s", by);
            check_hint(ck, diag, "pass a `copy` in one of the two places");
            break;
        }
    }
}

static const Refs *visit_apply(Unique *u, TExp *exp) {
    const Refs *fun = visit(u, exp->as.apply.fun);
    uint32_t count = exp->as.apply.args.len;
    const Refs **args = arena_array(u->ck->arena, const Refs *, count);
    for (uint32_t i = 0; i < count; i++) args[i] = visit(u, exp->as.apply.args.data[i]);
    Type *type = type_resolve(exp->as.apply.fun->type);
    bool fresh = false;
    Refs *result = refs_new(u);
    refs_add(u, &result->all, fun);
    for (uint32_t i = 0; i < count && type->kind == TYPE_FUN; i++) {
        const Diet *diet = type->as.fun.param_unique ? type->as.fun.param_diet : NULL;
        if (diet != NULL) {
            const char *by = consumer(u, exp->as.apply.fun, i, count);
            uint32_t mark = u->consumed.len;
            unique_consume(u, args[i], diet, exp->as.apply.args.data[i]->span, by);
            check_shared(u, exp, args, i, mark, by);
        }
        if (diet == NULL || !diet->consumed) refs_add(u, &result->all, args[i]);
        fresh = type->as.fun.result_unique;
        type = type_resolve(type->as.fun.result);
    }
    if (fresh || !refs_matter(exp->type)) return &refs_nothing;
    return result;
}

static const Refs *visit_record(Unique *u, TExp *exp) {
    Refs *made = refs_new(u);
    uint32_t count = exp->as.items.len;
    Refs **parts = arena_array(u->ck->arena, Refs *, count + 1);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (Refs *)visit(u, exp->as.items.data[i]);
    made->parts = parts;
    made->part_count = count;
    return made;
}

static void visit_dims(Unique *u, const TIndexVec *dims) {
    for (uint32_t i = 0; i < dims->len; i++) {
        const TIndex *dim = &dims->data[i];
        if (dim->index != NULL) visit(u, dim->index);
        if (dim->from != NULL) visit(u, dim->from);
        if (dim->to != NULL) visit(u, dim->to);
        if (dim->step != NULL) visit(u, dim->step);
    }
}

// A function refers to what it mentions: its free variables' regions.
static void free_refs(Unique *u, const TExp *exp, Refs *into);

static const Refs *visit_lambda(Unique *u, TExp *exp, bool strict) {
    vec_push(u->ck->arena, &u->barriers, BARRIER_FUNCTION);
    for (uint32_t i = 0; i < exp->as.lambda.params.len; i++)
        refs_bind_param(u, exp->as.lambda.params.data[i], strict);
    visit(u, exp->as.lambda.body);
    u->barriers.len--;
    Refs *made = refs_new(u);
    free_refs(u, exp->as.lambda.body, made);
    Refs *outer = refs_new(u);
    for (uint32_t i = 0; i < made->all.len; i++)
        if (made->all.data[i]->depth <= u->barriers.len &&
            made->all.data[i]->owner != GLOBAL)
            vec_push(u->ck->arena, &outer->all, made->all.data[i]);
    return outer;
}

static const Refs *visit_loop(Unique *u, TExp *exp) {
    const Refs *init = visit(u, exp->as.loop.init);
    if (exp->as.loop.form != TLOOP_WHILE) visit(u, exp->as.loop.bound);
    vec_push(u->ck->arena, &u->barriers, BARRIER_LOOP);
    refs_bind_param(u, exp->as.loop.pat, false);
    if (exp->as.loop.form == TLOOP_WHILE) visit(u, exp->as.loop.bound);
    if (exp->as.loop.elem != NULL) {
        const Refs *array = refs_new(u);
        refs_bind(u, exp->as.loop.elem, array);
    }
    const Refs *body = visit(u, exp->as.loop.body);
    u->barriers.len--;
    if (!refs_matter(exp->type)) return &refs_nothing;
    Refs *all = refs_new(u), *outer = refs_new(u);
    refs_add(u, &all->all, body);
    bool keeps_state = false;
    for (uint32_t i = 0; i < all->all.len; i++) {
        if (all->all.data[i]->depth > u->barriers.len) keeps_state = true;
        else vec_push(u->ck->arena, &outer->all, all->all.data[i]);
    }
    if (keeps_state) refs_add(u, &outer->all, init);
    return outer;
}

static const Refs *visit_if(Unique *u, TExp *exp) {
    visit(u, exp->as.if_exp.cond);
    uint32_t mark = u->consumed.len;
    Regions taken = {0};
    const Refs *yes = visit(u, exp->as.if_exp.then_exp);
    unique_take_back(u, mark, &taken);
    const Refs *no = visit(u, exp->as.if_exp.else_exp);
    unique_put_back(u, &taken);
    return refs_union(u, yes, no, exp->type);
}

static const Refs *visit_match(Unique *u, TExp *exp) {
    const Refs *value = visit(u, exp->as.match.exp), *result = &refs_nothing;
    uint32_t mark = u->consumed.len;
    Regions taken = {0};
    for (uint32_t i = 0; i < exp->as.match.cases.len; i++) {
        refs_bind(u, exp->as.match.cases.data[i].pat, value);
        const Refs *body = visit(u, exp->as.match.cases.data[i].body);
        unique_take_back(u, mark, &taken);
        result = i == 0 ? body : refs_union(u, result, body, exp->type);
    }
    unique_put_back(u, &taken);
    return refs_matter(exp->type) ? result : &refs_nothing;
}

static bool is_function(const TExp *exp) {
    return exp->kind == TEXP_LAMBDA;
}

static const Refs *visit_let(Unique *u, TExp *exp) {
    for (; exp->kind == TEXP_LET; exp = exp->as.let.body) {
        const Refs *value = is_function(exp->as.let.exp)
                                ? visit_lambda(u, exp->as.let.exp, true)
                                : visit(u, exp->as.let.exp);
        refs_bind(u, exp->as.let.pat, value);
    }
    return visit(u, exp);
}

static const Refs *visit_record_update(Unique *u, TExp *exp) {
    const Refs *record = visit(u, exp->as.record_update.exp);
    const Refs *value = visit(u, exp->as.record_update.value);
    Type *type = type_reveal(exp->type);
    if (exp->as.record_update.path.len != 1 || type->kind != TYPE_RECORD)
        return refs_union(u, record, value, exp->type);
    uint32_t count = type->as.record.len;
    Refs *made = refs_new(u);
    Refs **parts = arena_array(u->ck->arena, Refs *, count);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (Refs *)(i == exp->as.record_update.path.data[0]
                                ? value
                                : refs_part(record, i, type->as.record.data[i].type));
    made->parts = parts;
    made->part_count = count;
    return made;
}

static const Refs *visit_field(Unique *u, TExp *exp) {
    TExp *inner = exp->as.field.exp;
    // r.a may be used when only r.b was consumed.
    if (inner->kind == TEXP_VAR && inner->as.var.binding->kind == BIND_LOCAL) {
        Binding *binding = inner->as.var.binding;
        const Refs *refs = refs_of(u, binding);
        if (refs == NULL) return &refs_nothing;
        refs = refs_part(refs, exp->as.field.index, exp->type);
        unique_use(u, refs, binding, exp->span);
        return refs;
    }
    return refs_part(visit(u, inner), exp->as.field.index, exp->type);
}

static const Refs *visit(Unique *u, TExp *exp) {
    if (!deep_enough(u->ck, exp->span)) return &refs_nothing;
    switch (exp->kind) {
    case TEXP_LIT:
    case TEXP_STRING:
    case TEXP_HOLE: return &refs_nothing;
    case TEXP_VAR: return visit_var(u, exp);
    case TEXP_RECORD: return visit_record(u, exp);
    case TEXP_ARRAY:
        for (uint32_t i = 0; i < exp->as.items.len; i++)
            visit(u, exp->as.items.data[i]);
        return &refs_nothing;
    case TEXP_FIELD: return visit_field(u, exp);
    case TEXP_INDEX: {
        const Refs *array = visit(u, exp->as.index.exp);
        visit_dims(u, &exp->as.index.dims);
        return refs_matter(exp->type) ? array : &refs_nothing;
    }
    case TEXP_APPLY: return visit_apply(u, exp);
    case TEXP_LAMBDA: return visit_lambda(u, exp, false);
    case TEXP_LET: return visit_let(u, exp);
    case TEXP_IF: return visit_if(u, exp);
    case TEXP_AND:
    case TEXP_OR:
        visit(u, exp->as.logic.left);
        visit(u, exp->as.logic.right);
        return &refs_nothing;
    case TEXP_LOOP: return visit_loop(u, exp);
    case TEXP_RANGE:
        visit(u, exp->as.range.start);
        if (exp->as.range.second != NULL) visit(u, exp->as.range.second);
        visit(u, exp->as.range.end);
        return &refs_nothing;
    case TEXP_UPDATE:
        unique_advise(u, visit(u, exp->as.update.exp), exp->as.update.exp->span);
        visit_dims(u, &exp->as.update.dims);
        visit(u, exp->as.update.value);
        return &refs_nothing;
    case TEXP_RECORD_UPDATE: return visit_record_update(u, exp);
    case TEXP_COERCE: return visit(u, exp->as.inner);
    case TEXP_ASSERT:
        visit(u, exp->as.assert_exp.cond);
        return visit(u, exp->as.assert_exp.body);
    case TEXP_CTOR: {
        Refs *made = refs_new(u);
        for (uint32_t i = 0; i < exp->as.ctor.args.len; i++)
            refs_add(u, &made->all, visit(u, exp->as.ctor.args.data[i]));
        return made;
    }
    case TEXP_MATCH: return visit_match(u, exp);
    case TEXP_ATTR: return visit(u, exp->as.attr.exp);
    }
    return &refs_nothing;
}

// ---- free variables
// ------------------------------------------------------------------------------

static void free_dims(Unique *u, const TIndexVec *dims, Refs *into) {
    for (uint32_t i = 0; i < dims->len; i++) {
        const TIndex *dim = &dims->data[i];
        if (dim->index != NULL) free_refs(u, dim->index, into);
        if (dim->from != NULL) free_refs(u, dim->from, into);
        if (dim->to != NULL) free_refs(u, dim->to, into);
        if (dim->step != NULL) free_refs(u, dim->step, into);
    }
}

static void free_refs(Unique *u, const TExp *exp, Refs *into) {
    if (stack_is_low(&u->ck->cx->stack)) return;
    switch (exp->kind) {
    case TEXP_LIT:
    case TEXP_STRING:
    case TEXP_HOLE: break;
    case TEXP_VAR: {
        const Refs *refs = refs_of(u, exp->as.var.binding);
        if (refs != NULL) refs_add(u, &into->all, refs);
        break;
    }
    case TEXP_RECORD:
    case TEXP_ARRAY:
        for (uint32_t i = 0; i < exp->as.items.len; i++)
            free_refs(u, exp->as.items.data[i], into);
        break;
    case TEXP_FIELD: free_refs(u, exp->as.field.exp, into); break;
    case TEXP_INDEX:
        free_refs(u, exp->as.index.exp, into);
        free_dims(u, &exp->as.index.dims, into);
        break;
    case TEXP_APPLY:
        free_refs(u, exp->as.apply.fun, into);
        for (uint32_t i = 0; i < exp->as.apply.args.len; i++)
            free_refs(u, exp->as.apply.args.data[i], into);
        break;
    case TEXP_LAMBDA: free_refs(u, exp->as.lambda.body, into); break;
    case TEXP_LET:
        for (; exp->kind == TEXP_LET; exp = exp->as.let.body)
            free_refs(u, exp->as.let.exp, into);
        free_refs(u, exp, into);
        break;
    case TEXP_IF:
        free_refs(u, exp->as.if_exp.cond, into);
        free_refs(u, exp->as.if_exp.then_exp, into);
        free_refs(u, exp->as.if_exp.else_exp, into);
        break;
    case TEXP_AND:
    case TEXP_OR:
        free_refs(u, exp->as.logic.left, into);
        free_refs(u, exp->as.logic.right, into);
        break;
    case TEXP_LOOP:
        free_refs(u, exp->as.loop.init, into);
        free_refs(u, exp->as.loop.bound, into);
        free_refs(u, exp->as.loop.body, into);
        break;
    case TEXP_RANGE:
        free_refs(u, exp->as.range.start, into);
        if (exp->as.range.second != NULL) free_refs(u, exp->as.range.second, into);
        free_refs(u, exp->as.range.end, into);
        break;
    case TEXP_UPDATE:
        free_refs(u, exp->as.update.exp, into);
        free_dims(u, &exp->as.update.dims, into);
        free_refs(u, exp->as.update.value, into);
        break;
    case TEXP_RECORD_UPDATE:
        free_refs(u, exp->as.record_update.exp, into);
        free_refs(u, exp->as.record_update.value, into);
        break;
    case TEXP_COERCE: free_refs(u, exp->as.inner, into); break;
    case TEXP_ASSERT:
        free_refs(u, exp->as.assert_exp.cond, into);
        free_refs(u, exp->as.assert_exp.body, into);
        break;
    case TEXP_CTOR:
        for (uint32_t i = 0; i < exp->as.ctor.args.len; i++)
            free_refs(u, exp->as.ctor.args.data[i], into);
        break;
    case TEXP_MATCH:
        free_refs(u, exp->as.match.exp, into);
        for (uint32_t i = 0; i < exp->as.match.cases.len; i++)
            free_refs(u, exp->as.match.cases.data[i].body, into);
        break;
    case TEXP_ATTR: free_refs(u, exp->as.attr.exp, into); break;
    }
}

// ---- a definition
// ---------------------------------------------------------------------------------

static void check_result(Unique *u, const Refs *result, Span span) {
    Checker *ck = u->ck;
    Regions all = {0};
    refs_add(u, &all, result);
    for (uint32_t i = 0; i < all.len; i++) {
        if (all.data[i]->owner == OWN) continue;
        Diag *diag = check_error(ck, CHECK_RESULT_SHARED, span,
                                 unique_name(u, all.data[i]->name));
        check_note(ck, diag, all.data[i]->name->span,
                   all.data[i]->owner == BORROWED
                       ? "this parameter is not declared with `*`"
                       : "this is a definition at top level");
        check_hint(ck, diag, "return a `copy` of it, or drop the `*` of the result");
        return;
    }
}

void unique_check(Checker *ck, Binding *global) {
    const Global *data = global->check_data;
    if (data->is_lib || global->body == NULL) return;
    if (!ck->frame->has_star && !ck->cx->diags.advice) return;
    if (ck->cx->diags.error_count > ck->frame->errors) return;
    Unique u = {.ck = ck};
    map_init(&u.refs, ck->arena);
    TExp *body = global->body;
    const TExp *lambda = body->kind == TEXP_LAMBDA ? body : NULL;
    for (uint32_t i = 0; lambda != NULL && i < lambda->as.lambda.params.len; i++)
        refs_bind_param(&u, lambda->as.lambda.params.data[i], true);
    TExp *inner = lambda != NULL ? lambda->as.lambda.body : body;
    const Refs *result = visit(&u, inner);
    if (data->head->result_unique) check_result(&u, result, inner->span);
}
