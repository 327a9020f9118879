// SPDX-License-Identifier: Apache-2.0
//
// Uniqueness, over the typed tree of one definition. Only parameters declared `*t`
// consume; consuming a value consumes all the data it may refer to. A later use of a
// name that may refer to it is an error, and so is consuming what is bound outside a
// function or a loop, which may run more than once. `a with [i] = v` makes a new array
// and consumes nothing; that it has to copy, if `a` is used again, is advice.
#include "check/unique.h"

void unique_enter(Unique *u, BarrierKind kind) {
    Barrier barrier = {kind, &unique_nothing, u->function};
    vec_push(u->ck->arena, &u->barriers, barrier);
    if (kind == BARRIER_FUNCTION) u->function = u->barriers.len;
}

void unique_leave(Unique *u) {
    u->function = u->barriers.data[--u->barriers.len].outer_function;
}

// ---- names --------------------------------------------------------------------------

static void set_refs(Unique *u, const Binding *binding, const Refs *refs) {
    if (refs->count > 0 || refs->part_count > 0)
        map_set(&u->refs, binding->id, (uint64_t)(uintptr_t)refs);
}

static const Refs *refs_of(Unique *u, Binding *binding) {
    uint64_t value = 0;
    if (map_get(&u->refs, binding->id, &value)) return (const Refs *)(uintptr_t)value;
    if (binding->kind != BIND_GLOBAL || type_resolve(binding->type)->kind == TYPE_FUN)
        return &unique_nothing;
    const Refs *refs = unique_own(u, binding->type, binding, GLOBAL, NULL);
    set_refs(u, binding, refs);
    return refs;
}

static const Refs *part_of(Unique *u, const Refs *refs, uint32_t index, Type *type) {
    return unique_holds_arrays(u, type) ? unique_part(refs, index) : &unique_nothing;
}

void unique_bind(Unique *u, const TPat *pat, const Refs *refs) {
    switch (pat->kind) {
    case TPAT_NAME:
        set_refs(u, pat->as.name, unique_fill(u, refs, pat->type, pat->as.name));
        break;
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len; i++) {
            const TPat *part = pat->as.record.data[i];
            unique_bind(u, part, part_of(u, refs, i, part->type));
        }
        break;
    case TPAT_CTOR:
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++) {
            const TPat *part = pat->as.ctor.args.data[i];
            bool holds = unique_holds_arrays(u, part->type);
            unique_bind(u, part, holds ? refs : &unique_nothing);
        }
        break;
    case TPAT_WILD:
    case TPAT_LIT: break;
    }
}

const Refs *unique_bind_params(Unique *u, const TPat *pat, bool strict) {
    Binding *name = pat->kind == TPAT_NAME ? pat->as.name : NULL;
    const TPatVec *pats = pat->kind == TPAT_CTOR ? &pat->as.ctor.args : &pat->as.record;
    if (pat->kind != TPAT_RECORD && pat->kind != TPAT_CTOR) {
        const Diet *diet = name == NULL ? NULL : name->check_data;
        const Refs *refs =
            unique_own(u, pat->type, name, strict ? BORROWED : OWN, diet);
        if (name != NULL) set_refs(u, name, refs);
        return refs;
    }
    const Refs **parts = arena_array(u->ck->arena, const Refs *, pats->len + 1);
    for (uint32_t i = 0; i < pats->len; i++)
        parts[i] = unique_bind_params(u, pats->data[i], strict);
    return unique_record(u, parts, pat->kind == TPAT_RECORD ? pats->len : 0);
}

// What a name, or a field of what it stands for, refers to, before it counts as used.
static const Refs *look(Unique *u, TExp *exp, const Binding **name_out) {
    if (exp->kind == TEXP_VAR) {
        *name_out = exp->as.var.binding;
        return refs_of(u, exp->as.var.binding);
    }
    if (exp->kind != TEXP_FIELD) return unique_visit(u, exp);
    const Refs *record = look(u, exp->as.field.exp, name_out);
    return part_of(u, record, exp->as.field.index, exp->type);
}

// r.a may be used when only r.b was consumed.
static const Refs *visit_path(Unique *u, TExp *exp) {
    const Binding *name = NULL;
    const Refs *refs = look(u, exp, &name);
    if (name == NULL) return refs;
    unique_use(u, refs, name, exp->span);
    return unique_without_consumed(u, refs); // one mistake is said once
}

// ---- application --------------------------------------------------------------------

static const Refs **visit_all(Unique *u, const TExpVec *items) {
    const Refs **refs = arena_array(u->ck->arena, const Refs *, items->len + 1);
    uint32_t mark = u->log.len;
    for (uint32_t i = 0; i < items->len; i++) refs[i] = unique_visit(u, items->data[i]);
    for (uint32_t i = 0; i < items->len && u->log.len > mark; i++)
        unique_in_flight(u, refs[i], items->data[i]->span, (Span){0, 0});
    return refs;
}

static const char *consumer(Unique *u, const TExp *fun, uint32_t index,
                            uint32_t count) {
    StrBuf buf = strbuf(u->ck->arena);
    if (fun->kind != TEXP_VAR || fun->as.var.binding->name == 0)
        strbuf_printf(&buf, "parameter %u of this function", index + 1);
    else if (count == 1)
        strbuf_printf(&buf, "`%s`", sym_show(u->ck, fun->as.var.binding->name));
    else
        strbuf_printf(&buf, "parameter %u of `%s`", index + 1,
                      sym_show(u->ck, fun->as.var.binding->name));
    return str_terminated(u->ck->arena, strbuf_done(&buf));
}

static void consume_arg(Unique *u, const TExp *exp, const Refs *const *args,
                        uint32_t index, const Diet *diet) {
    const TExpVec *items = &exp->as.apply.args;
    uint32_t mark = u->log.len;
    unique_consume(u, args[index], diet, items->data[index]->span,
                   consumer(u, exp->as.apply.fun, index, items->len));
    for (uint32_t i = 0; i < items->len && u->log.len > mark; i++)
        if (i != index)
            unique_in_flight(u, args[i], items->data[i]->span,
                             items->data[index]->span);
}

static void consume_once(Unique *u, const Refs *fun, Span span) {
    for (uint32_t i = 0; i < fun->count; i++) {
        if (!fun->regions[i]->is_once) continue;
        static const Diet all = {.consumed = true};
        const Refs *one = unique_of_region(u, fun->regions[i]);
        unique_consume(u, one, &all, span, "this call: it holds consumed data");
    }
}

// What the result may share: the part of a consumed argument is its own.
static const Refs *lent_part(Unique *u, const Refs *refs, const Diet *diet) {
    if (diet == NULL) return refs;
    if (diet->consumed || refs->part_count == 0) return &unique_nothing;
    const Refs *left = &unique_nothing;
    for (uint32_t i = 0; i < refs->part_count && i < diet->part_count; i++)
        left = unique_union(
            u, left, unique_flat(u, lent_part(u, refs->parts[i], diet->parts[i])));
    return left;
}

static const Refs *visit_apply(Unique *u, TExp *exp) {
    const Refs *fun = unique_visit(u, exp->as.apply.fun);
    const Refs **args = visit_all(u, &exp->as.apply.args);
    Type *type = type_resolve(exp->as.apply.fun->type);
    const Refs *result = unique_flat(u, fun);
    bool fresh = false, consumed = false;
    consume_once(u, result, exp->as.apply.fun->span);
    for (uint32_t i = 0; i < exp->as.apply.args.len && type->kind == TYPE_FUN; i++) {
        const Diet *diet = type->as.fun.param_unique ? type->as.fun.param_diet : NULL;
        if (diet != NULL) consume_arg(u, exp, args, i, diet);
        consumed |= diet != NULL;
        result = unique_union(u, result, unique_flat(u, lent_part(u, args[i], diet)));
        fresh = type->as.fun.result_unique;
        type = type_resolve(type->as.fun.result);
    }
    if (fresh || !unique_holds_arrays(u, exp->type)) return &unique_nothing;
    result = unique_without_consumed(u, result);
    if (!consumed || type->kind != TYPE_FUN) return result;
    Region *once = unique_region(u, NULL, OWN);
    once->is_once = true;
    return unique_union(u, result, unique_of_region(u, once));
}

// ---- functions ----------------------------------------------------------------------

static bool declares_unique(const TExp *lambda) {
    Type *type = type_resolve(lambda->type);
    bool is_unique = false;
    for (uint32_t i = 0; i < lambda->as.lambda.params.len; i++) {
        if (type->kind != TYPE_FUN) return false;
        is_unique = type->as.fun.result_unique;
        type = type_resolve(type->as.fun.result);
    }
    // Which parts of a record are meant is not known here.
    return is_unique && type_reveal(type)->kind != TYPE_RECORD;
}

// A function refers to what it mentions from outside. A lambda's parameters are its
// own: what it consumes is taken from whoever calls it.
static const Refs *visit_lambda(Unique *u, TExp *exp, bool strict) {
    static const Diet all = {.consumed = true};
    unique_enter(u, BARRIER_FUNCTION);
    for (uint32_t i = 0; i < exp->as.lambda.params.len; i++)
        unique_bind_params(u, exp->as.lambda.params.data[i], strict);
    const Refs *result = unique_visit(u, exp->as.lambda.body);
    if (declares_unique(exp))
        unique_promise(u, result, &all, u->barriers.len, exp->as.lambda.body->span);
    const Refs *captured = u->barriers.data[u->barriers.len - 1].captured;
    unique_leave(u);
    if (u->function > 0) {
        Barrier *outer = &u->barriers.data[u->function - 1];
        outer->captured = unique_union(u, outer->captured,
                                       unique_outside(u, captured, u->function - 1));
    }
    return captured;
}

// ---- control ------------------------------------------------------------------------

static const Refs *join(Unique *u, const Refs *result, const Events *undone,
                        Type *type) {
    unique_redo(u, undone);
    if (!unique_holds_arrays(u, type)) return &unique_nothing;
    return undone->len > 0 ? unique_without_consumed(u, result) : result;
}

static const Refs *visit_if(Unique *u, TExp *exp) {
    unique_visit(u, exp->as.if_exp.cond);
    uint32_t mark = u->log.len;
    Events undone = {0};
    const Refs *yes = unique_visit(u, exp->as.if_exp.then_exp);
    unique_undo(u, mark, &undone);
    const Refs *no = unique_visit(u, exp->as.if_exp.else_exp);
    return join(u, unique_union(u, yes, no), &undone, exp->type);
}

static const Refs *visit_match(Unique *u, TExp *exp) {
    const Refs *value = unique_visit(u, exp->as.match.exp), *result = &unique_nothing;
    value = unique_fill(u, value, exp->as.match.exp->type, NULL);
    uint32_t mark = u->log.len;
    Events undone = {0};
    for (uint32_t i = 0; i < exp->as.match.cases.len; i++) {
        unique_bind(u, exp->as.match.cases.data[i].pat, value);
        const Refs *body = unique_visit(u, exp->as.match.cases.data[i].body);
        unique_undo(u, mark, &undone);
        result = unique_union(u, result, body);
    }
    return join(u, result, &undone, exp->type);
}

static const Refs *visit_let(Unique *u, TExp *exp) {
    for (; exp->kind == TEXP_LET; exp = exp->as.let.body) {
        TExp *value = exp->as.let.exp;
        unique_bind(u, exp->as.let.pat,
                    value->kind == TEXP_LAMBDA ? visit_lambda(u, value, true)
                                               : unique_visit(u, value));
    }
    return unique_visit(u, exp);
}

// ---- the other forms ----------------------------------------------------------------

static void visit_dims(Unique *u, const TIndexVec *dims) {
    for (uint32_t i = 0; i < dims->len; i++) {
        const TIndex *dim = &dims->data[i];
        TExp *const exps[] = {dim->index, dim->from, dim->to, dim->step};
        for (int k = 0; k < 4; k++)
            if (exps[k] != NULL) unique_visit(u, exps[k]);
    }
}

static const Refs *visit_index(Unique *u, TExp *exp) {
    const Refs *array = unique_visit(u, exp->as.index.exp);
    uint32_t mark = u->log.len;
    visit_dims(u, &exp->as.index.dims);
    if (u->log.len > mark)
        unique_in_flight(u, array, exp->as.index.exp->span, (Span){0, 0});
    return unique_holds_arrays(u, exp->type) ? array : &unique_nothing;
}

static const Refs *visit_update(Unique *u, TExp *exp) {
    const Refs *array = unique_visit(u, exp->as.update.exp);
    uint32_t mark = u->log.len;
    visit_dims(u, &exp->as.update.dims);
    unique_visit(u, exp->as.update.value);
    Span span = exp->as.update.exp->span;
    if (u->log.len > mark) unique_in_flight(u, array, span, (Span){0, 0});
    unique_update(u, array, span, false);
    return &unique_nothing;
}

// The field that is replaced need not be there any more.
static const Refs *visit_record_update(Unique *u, TExp *exp) {
    const Binding *name = NULL;
    TExp *record = exp->as.record_update.exp;
    const Refs *refs = look(u, record, &name);
    Type *type = type_reveal(exp->type);
    bool is_split = exp->as.record_update.path.len == 1 && type->kind == TYPE_RECORD &&
                    refs->part_count == type->as.record.len;
    if (!is_split && name != NULL) unique_use(u, refs, name, record->span);
    const Refs *value = unique_visit(u, exp->as.record_update.value);
    if (!unique_holds_arrays(u, exp->type)) return &unique_nothing;
    if (!is_split) return unique_union(u, unique_flat(u, refs), unique_flat(u, value));
    const Refs **parts = arena_array(u->ck->arena, const Refs *, refs->part_count);
    for (uint32_t i = 0; i < refs->part_count; i++) {
        parts[i] = refs->parts[i];
        if (i == exp->as.record_update.path.data[0]) parts[i] = value;
        else if (name != NULL) unique_use(u, parts[i], name, record->span);
    }
    return unique_record(u, parts, refs->part_count);
}

static const Refs *visit_ctor(Unique *u, TExp *exp) {
    const Refs **args = visit_all(u, &exp->as.ctor.args), *all = &unique_nothing;
    for (uint32_t i = 0; i < exp->as.ctor.args.len; i++)
        all = unique_union(u, all, unique_flat(u, args[i]));
    return all;
}

static const Refs *visit_range(Unique *u, TExp *exp) {
    unique_visit(u, exp->as.range.start);
    if (exp->as.range.second != NULL) unique_visit(u, exp->as.range.second);
    unique_visit(u, exp->as.range.end);
    return &unique_nothing;
}

const Refs *unique_visit(Unique *u, TExp *exp) {
    if (!deep_enough(u->ck, exp->span)) return &unique_nothing;
    switch (exp->kind) {
    case TEXP_LIT:
    case TEXP_STRING:
    case TEXP_HOLE: return &unique_nothing;
    case TEXP_VAR:
    case TEXP_FIELD: return visit_path(u, exp);
    case TEXP_RECORD:
        return unique_record(u, visit_all(u, &exp->as.items), exp->as.items.len);
    case TEXP_ARRAY: visit_all(u, &exp->as.items); return &unique_nothing;
    case TEXP_INDEX: return visit_index(u, exp);
    case TEXP_APPLY: return visit_apply(u, exp);
    case TEXP_LAMBDA: return visit_lambda(u, exp, false);
    case TEXP_LET: return visit_let(u, exp);
    case TEXP_IF: return visit_if(u, exp);
    case TEXP_AND:
    case TEXP_OR:
        unique_visit(u, exp->as.logic.left);
        unique_visit(u, exp->as.logic.right);
        return &unique_nothing;
    case TEXP_LOOP: return unique_visit_loop(u, exp);
    case TEXP_RANGE: return visit_range(u, exp);
    case TEXP_UPDATE: return visit_update(u, exp);
    case TEXP_RECORD_UPDATE: return visit_record_update(u, exp);
    case TEXP_COERCE: return unique_visit(u, exp->as.inner);
    case TEXP_ASSERT:
        unique_visit(u, exp->as.assert_exp.cond);
        return unique_visit(u, exp->as.assert_exp.body);
    case TEXP_CTOR: return visit_ctor(u, exp);
    case TEXP_MATCH: return visit_match(u, exp);
    case TEXP_ATTR: return unique_visit(u, exp->as.attr.exp);
    }
    return &unique_nothing;
}

// ---- a definition -------------------------------------------------------------------

static const Diet *result_diet(Checker *ck, const TypeExp *exp, Type *type) {
    static const Diet all = {.consumed = true};
    if (exp->kind == TYPE_EXP_PAREN) return result_diet(ck, exp->as.inner, type);
    if (exp->kind == TYPE_EXP_UNIQUE) return &all;
    if (exp->kind == TYPE_EXP_EXISTS) return result_diet(ck, exp->as.exists.type, type);
    type = type_reveal(type);
    bool is_tuple = exp->kind == TYPE_EXP_TUPLE;
    if ((!is_tuple && exp->kind != TYPE_EXP_RECORD) || type->kind != TYPE_RECORD)
        return NULL;
    uint32_t count = type->as.record.len;
    const Diet **parts = arena_array(ck->arena, const Diet *, count + 1);
    uint32_t written = is_tuple ? exp->as.tuple.len : exp->as.record.len;
    for (uint32_t i = 0; i < written; i++) {
        Sym name = is_tuple ? field_sym(ck, i) : exp->as.record.data[i].name.sym;
        int at = record_find(&type->as.record, name);
        if (at >= 0)
            parts[at] = result_diet(
                ck, is_tuple ? exp->as.tuple.data[i] : exp->as.record.data[i].type,
                type->as.record.data[at].type);
    }
    Diet *diet = arena_new(ck->arena, Diet);
    diet->part_count = count;
    diet->parts = (Diet *const *)parts;
    return diet;
}

static void check_promise(Unique *u, const Global *global, TExp *body,
                          const Refs *refs) {
    const TypeExp *declared = global->decl == NULL ? NULL : global->decl->as.val.result;
    if (!global->head->result_unique || declared == NULL) return;
    const Diet *diet = result_diet(u->ck, declared, body->type);
    unique_promise(u, refs, diet, 0, body->span);
}

void unique_check(Checker *ck, Binding *global) {
    const Global *data = global->check_data;
    if (data->is_lib || global->body == NULL) return;
    if (!ck->frame->has_star && !ck->cx->diags.advice) return;
    if (ck->cx->diags.error_count > ck->frame->errors) return;
    Unique u = {.ck = ck};
    map_init(&u.refs, ck->arena);
    map_init(&u.holds, ck->arena);
    TExp *body = global->body;
    if (body->kind == TEXP_LAMBDA) {
        for (uint32_t i = 0; i < body->as.lambda.params.len; i++)
            unique_bind_params(&u, body->as.lambda.params.data[i], true);
        body = body->as.lambda.body;
    }
    check_promise(&u, data, body, unique_visit(&u, body));
}
