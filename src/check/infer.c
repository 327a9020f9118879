// SPDX-License-Identifier: Apache-2.0
//
// Inference of expressions: the switch over all forms, and the plain ones. Types come
// out of unification; what a node needs once types are known (literals' bits, fields'
// indices) is put on the frame's pending list.
#include "check/literal.h"

TExp *texp_new(Checker *ck, TExpKind kind, Span span, Type *type) {
    TExp *exp = arena_new(ck->arena, TExp);
    exp->kind = kind;
    exp->span = span;
    exp->type = type;
    return exp;
}

TExp *texp_error(Checker *ck, Span span) {
    return texp_new(ck, TEXP_HOLE, span, ck->error_type);
}

static void pend(Checker *ck, Pending pending) {
    vec_push(ck->arena, &ck->frame->pending, pending);
}

TExp *infer_as(Checker *ck, const Exp *exp, Type *type, const char *what) {
    TExp *made = infer(ck, exp);
    if (!expect(ck, made->span, type, made->type, what)) made->type = ck->error_type;
    return made;
}

TExp *coerce_to(Checker *ck, TExp *exp, Type *type) {
    if (type_is_error(ck, exp->type) || !type_has_sizes(ck, type)) return exp;
    TExp *coerce = texp_new(ck, TEXP_COERCE, exp->span, type);
    coerce->as.inner = exp;
    return coerce;
}

// ---- names -------------------------------------------------------------------------

void note_dep(Checker *ck, Binding *binding) {
    if (binding->kind != BIND_GLOBAL || ck->frame == NULL || ck->frame->global == NULL)
        return;
    BindingVec *deps = &ck->frame->global->deps;
    if (deps->len > 0 && deps->data[deps->len - 1] == binding) return;
    vec_push(ck->arena, deps, binding);
}

// Whether arguments give the size: it is a size of some parameter by itself.
static bool is_plain_name(Checker *ck, Size *size, void *data) {
    (void)ck;
    return !(size->kind == SIZE_NAME && size->name == data);
}

static bool found_from_arguments(Checker *ck, const Binding *binding, Binding *size) {
    Type *type = type_resolve(binding->type);
    for (; type->kind == TYPE_FUN; type = type_resolve(type->as.fun.result))
        if (!type_visit_sizes(ck, type->as.fun.param, is_plain_name, size)) return true;
    return false;
}

static void fill_instance(Checker *ck, Binding *binding, TExp *exp, Subst *subst,
                          Span span) {
    uint32_t vars = binding->type_params.len, names = binding->size_params.len;
    subst->vars = binding->type_params.data;
    subst->names = binding->size_params.data;
    subst->types = arena_array(ck->arena, Type *, vars + 1);
    subst->sizes = arena_array(ck->arena, Size *, names + 1);
    for (uint32_t i = 0; i < vars; i++) {
        const TypeVar *param = binding->type_params.data[i];
        TypeVar *var = type_var_new(ck, span);
        var->lifting = param->lifting;
        if (param->constraint != NULL) {
            Constraint *constraint =
                arena_copy(ck->arena, param->constraint, sizeof(Constraint));
            constraint->span = span;
            var->constraint = constraint;
        }
        subst->types[subst->var_count++] = type_of_var(ck, var);
        vec_push(ck->arena, &exp->as.var.type_args, subst->types[i]);
    }
    bool ambiguous = false;
    for (uint32_t i = 0; i < names; i++) {
        Binding *name = binding->size_params.data[i];
        subst->sizes[subst->name_count++] = size_fresh(ck, span);
        vec_push(ck->arena, &exp->as.var.size_args, subst->sizes[i]);
        if (!ambiguous) ambiguous = !found_from_arguments(ck, binding, name);
    }
    if (ambiguous) pend(ck, (Pending){.kind = PENDING_SIZE_ARGS, .exp = exp});
}

TExp *instantiate(Checker *ck, Binding *binding, Span span) {
    TExp *exp = texp_new(ck, TEXP_VAR, span, binding->type);
    exp->as.var.binding = binding;
    note_dep(ck, binding);
    if (binding->type == NULL) {
        exp->type = ck->error_type;
        return exp;
    }
    if (binding->type_params.len + binding->size_params.len == 0) return exp;
    Subst subst = {0};
    fill_instance(ck, binding, exp, &subst, span);
    ck->visits = 0;
    exp->type = type_subst(ck, &subst, binding->type);
    if (binding == ck->pow_op) pend(ck, (Pending){.kind = PENDING_POWER, .exp = exp});
    return exp;
}

TExp *var_of_binding(Checker *ck, Binding *binding, Span span) {
    return instantiate(ck, binding, span);
}

// A member seen through a signature: the specification's type over the thing itself.
static TExp *instantiate_view(Checker *ck, Entry *entry, Span span) {
    Entry *impl = entry->impl;
    entry_force(ck, impl);
    if (impl->value == NULL) return texp_error(ck, span);
    TExp *exp = impl->impl != NULL ? instantiate_view(ck, impl, span)
                                   : instantiate(ck, impl->value, span);
    TExp spec = {.kind = TEXP_VAR, .span = span};
    Subst subst = {0};
    fill_instance(ck, entry->value, &spec, &subst, span);
    // The pending check of spec's own sizes would look at a node that is no more.
    if (ck->frame->pending.len > 0 &&
        ck->frame->pending.data[ck->frame->pending.len - 1].exp == &spec)
        ck->frame->pending.len--;
    ck->visits = 0;
    Type *type = type_subst(ck, &subst, entry->value->type);
    uint32_t reveal = ck->reveal_from;
    SizeMode mode = ck->size_mode;
    ck->reveal_from = 0;
    ck->size_mode = SIZES_VIEW;
    ck->clash = (Clash){0};
    type_unify(ck, type, exp->type);
    ck->reveal_from = reveal;
    ck->size_mode = mode;
    exp->type = type;
    exp->as.var.shown = entry->value;
    return exp;
}

static TExp *value_of(Checker *ck, Found found, Span span) {
    if (found.local != NULL) {
        if (found.local->value == NULL) return texp_error(ck, span);
        return instantiate(ck, found.local->value, span);
    }
    if (found.entry->value == NULL) return texp_error(ck, span);
    if (found.entry->impl != NULL) {
        TExp *exp = instantiate_view(ck, found.entry, span);
        bool is_fun = type_resolve(exp->type)->kind == TYPE_FUN; // see apply
        return is_fun ? exp : coerce_to(ck, exp, exp->type);
    }
    return instantiate(ck, found.entry->value, span);
}

TExp *infer_field_of(Checker *ck, TExp *record, Name field, Span span) {
    TExp *exp = texp_new(ck, TEXP_FIELD, span, ck->error_type);
    exp->as.field.exp = record;
    exp->as.field.name = field.sym;
    Type *type = type_resolve(record->type);
    if (type == ck->error_type) return exp;
    if (type->kind == TYPE_RECORD) {
        int at = record_find(&type->as.record, field.sym);
        if (at >= 0) {
            exp->as.field.index = (uint32_t)at;
            exp->type = type->as.record.data[at].type;
            return exp;
        }
    }
    Constraint constraint = {.span = span};
    Type *part = type_fresh(ck, span);
    vec_push(ck->arena, &constraint.fields, (Field){field.sym, part});
    ck->clash = (Clash){0};
    if (!type_require(ck, type, &constraint)) {
        report_mismatch(ck, field.span, type, NULL, NULL);
        return exp;
    }
    exp->type = part;
    pend(ck, (Pending){.kind = PENDING_FIELD, .exp = exp});
    return exp;
}

// m.n.x.f: as much of the name as can be is a path through modules, the rest is fields.
TExp *infer_var(Checker *ck, const QualName *name) {
    Found found;
    ck->here = name->span;
    uint32_t all = name->quals.len + 1, count = all;
    while (count > 0 && !name_try(ck, SPACE_VALUE, name, count, &found)) count--;
    if (count == 0) {
        report_unknown(ck, SPACE_VALUE, name);
        return texp_error(ck, name->span);
    }
    Name last = count == all ? name->name : name->quals.data[count - 1];
    Span span = count == all ? name->span : (Span){name->span.start, last.span.end};
    TExp *exp = value_of(ck, found, span);
    for (uint32_t i = count; i < all; i++) {
        Name field = i + 1 == all ? name->name : name->quals.data[i];
        exp = infer_field_of(ck, exp, field, (Span){name->span.start, field.span.end});
    }
    return exp;
}

// ---- plain forms -------------------------------------------------------------------

static TExp *infer_lit(Checker *ck, const Exp *exp) {
    TExp *lit =
        texp_new(ck, TEXP_LIT, exp->span, literal_type(ck, &exp->as.lit, exp->span));
    lit->as.lit.bits = exp->as.lit.bits;
    pend(ck, (Pending){.kind = PENDING_LIT, .exp = lit, .lit = &exp->as.lit});
    return lit;
}

static TExp *infer_string(Checker *ck, const Exp *exp) {
    Size *size = size_const(ck, (int64_t)exp->as.string.len, exp->span);
    TExp *string = texp_new(ck, TEXP_STRING, exp->span,
                            type_array(ck, size, type_scalar(ck, SCALAR_U8)));
    string->as.string = exp->as.string;
    return string;
}

static TExp *infer_tuple(Checker *ck, const Exp *exp) {
    TExp *tuple = texp_new(ck, TEXP_RECORD, exp->span, NULL);
    FieldVec fields = {0};
    for (uint32_t i = 0; i < exp->as.items.len; i++) {
        TExp *item = infer(ck, exp->as.items.data[i]);
        vec_push(ck->arena, &tuple->as.items, item);
        vec_push(ck->arena, &fields, (Field){field_sym(ck, i), item->type});
    }
    tuple->type = type_record(ck, fields);
    return tuple;
}

static TExp *infer_record(Checker *ck, const Exp *exp) {
    TExp *record = texp_new(ck, TEXP_RECORD, exp->span, NULL);
    FieldVec fields = {0};
    TExpVec items = {0};
    for (uint32_t i = 0; i < exp->as.record.len; i++) {
        const FieldExp *field = &exp->as.record.data[i];
        TExp *item;
        if (field->exp != NULL) {
            item = infer(ck, field->exp);
        } else {
            QualName name = {.name = field->name, .span = field->name.span};
            item = infer_var(ck, &name);
        }
        if (record_find(&fields, field->name.sym) >= 0) {
            check_error(ck, CHECK_DUPLICATE_FIELD, field->name.span,
                        sym_show(ck, field->name.sym));
            continue;
        }
        vec_push(ck->arena, &items, item);
        vec_push(ck->arena, &fields, (Field){field->name.sym, item->type});
    }
    FieldVec sorted = {0};
    for (uint32_t i = 0; i < fields.len; i++)
        vec_push(ck->arena, &sorted, fields.data[i]);
    record->type = type_record(ck, sorted);
    for (uint32_t i = 0; i < sorted.len; i++) {
        int at = record_find(&fields, sorted.data[i].name);
        vec_push(ck->arena, &record->as.items, items.data[at]);
    }
    return record;
}

static void require_result(Checker *ck, TExp *exp, const char *form) {
    if (type_require_data(ck, exp->type)) return;
    report_function(ck, exp->span, exp->type, form);
    exp->type = ck->error_type;
}

static TExp *infer_if(Checker *ck, const Exp *exp) {
    TExp *branch = texp_new(ck, TEXP_IF, exp->span, NULL);
    branch->as.if_exp.cond = infer_as(ck, exp->as.if_exp.cond,
                                      type_scalar(ck, SCALAR_BOOL), "the condition");
    TExp *yes = branch->as.if_exp.then_exp = infer(ck, exp->as.if_exp.then_exp);
    TExp *no = branch->as.if_exp.else_exp = infer(ck, exp->as.if_exp.else_exp);
    if (!type_join(ck, yes->type, no->type, false, &branch->type)) {
        Diag *diag =
            report_mismatch(ck, no->span, yes->type, no->type, "the else branch");
        check_note(ck, diag, yes->span, "the then branch has the type %s",
                   type_show(ck, yes->type));
        branch->type = ck->error_type;
    }
    require_result(ck, branch, "the result of `if`");
    return branch;
}

static TExp *infer_match(Checker *ck, const Exp *exp) {
    TExp *match = texp_new(ck, TEXP_MATCH, exp->span, NULL);
    TExp *value = match->as.match.exp = infer(ck, exp->as.match.exp);
    Span first = exp->span;
    for (uint32_t i = 0; i < exp->as.match.cases.len; i++) {
        const Case *from = &exp->as.match.cases.data[i];
        uint32_t mark = ++ck->counter, locals = locals_mark(ck);
        PatCx pcx = {.types = {.anon = ANON_VAR}, .value = value->span};
        TCase made = {.span = from->span};
        made.pat = pat_check(ck, from->pat, value->type, &pcx);
        made.body = infer(ck, from->body);
        locals_release(ck, locals);
        Type *type = type_escape(ck, made.body->type, mark), *joined;
        if (i == 0) {
            match->type = type;
            first = made.body->span;
        } else if (type_join(ck, match->type, type, false, &joined)) {
            match->type = joined;
        } else {
            Diag *diag =
                report_mismatch(ck, made.body->span, match->type, type, "this case");
            check_note(ck, diag, first, "the first case has the type %s",
                       type_show(ck, match->type));
            match->type = ck->error_type;
        }
        vec_push(ck->arena, &match->as.match.cases, made);
    }
    if (match->type == NULL) match->type = ck->error_type;
    require_result(ck, match, "the result of `match`");
    pend(ck, (Pending){.kind = PENDING_MATCH, .exp = match});
    return match;
}

static TExp *infer_ctor(Checker *ck, const Exp *exp) {
    TExp *made = texp_new(ck, TEXP_CTOR, exp->span, NULL);
    Ctor ctor = {.name = exp->as.ctor.name.sym};
    for (uint32_t i = 0; i < exp->as.ctor.args.len; i++) {
        TExp *arg = infer(ck, exp->as.ctor.args.data[i]);
        vec_push(ck->arena, &made->as.ctor.args, arg);
        vec_push(ck->arena, &ctor.payload, arg->type);
    }
    TypeVar *var = type_var_new(ck, exp->span);
    Constraint *constraint = arena_new(ck->arena, Constraint);
    constraint->span = exp->span;
    vec_push(ck->arena, &constraint->ctors, ctor);
    var->constraint = constraint;
    made->type = type_of_var(ck, var);
    pend(ck, (Pending){.kind = PENDING_CTOR, .exp = made});
    made->as.ctor.index = ctor.name; // until the index is known
    return made;
}

static TExp *infer_record_update(Checker *ck, const Exp *exp) {
    TExp *record = infer(ck, exp->as.record_update.exp);
    TExp *part = record;
    const NameVec *path = &exp->as.record_update.path;
    for (uint32_t i = 0; i < path->len; i++)
        part = infer_field_of(ck, part, path->data[i], path->data[i].span);
    TExp *update = texp_new(ck, TEXP_RECORD_UPDATE, exp->span, record->type);
    update->as.record_update.exp = record;
    update->as.record_update.value = infer_as(ck, exp->as.record_update.value,
                                              part->type, "the new value of the field");
    pend(ck, (Pending){.kind = PENDING_UPDATE, .exp = update, .path = path});
    return update;
}

typedef struct Pinned {
    uint32_t before;
    SizeVec sizes;
} Pinned;

static bool pin(Checker *ck, Size *size, void *data) {
    Pinned *pinned = data;
    size = size_resolve(size);
    if (size->kind != SIZE_VAR || size->id > pinned->before) return true;
    size->kind = SIZE_UNKNOWN;
    vec_push(ck->arena, &pinned->sizes, size);
    return true;
}

// `e :> t` checks when the program runs, so it says nothing of sizes made before it:
// those of a parameter without a type stay the caller's choice.
static bool fits_coerced(Checker *ck, const TExp *value, Type *type, uint32_t before) {
    Pinned pinned = {.before = before};
    SizeMode mode = ck->size_mode;
    type_visit_sizes(ck, value->type, pin, &pinned);
    type_visit_sizes(ck, type, pin, &pinned);
    ck->size_mode = SIZES_LOOSE;
    bool fits =
        expect(ck, value->span, type, value->type, "what is ascribed this type");
    ck->size_mode = mode;
    for (uint32_t i = 0; i < pinned.sizes.len; i++)
        pinned.sizes.data[i]->kind = SIZE_VAR;
    return fits;
}

static TExp *infer_ascript(Checker *ck, const Exp *exp) {
    uint32_t before = ck->counter;
    TExp *value = infer(ck, exp->as.ascript.exp);
    TypeCx tcx = {.anon = ANON_VAR, .allow_unique = true};
    Type *type = typexp_check(ck, exp->as.ascript.type, &tcx);
    bool fits = exp->kind == EXP_COERCE ? fits_coerced(ck, value, type, before)
                                        : expect(ck, value->span, type, value->type,
                                                 "what is ascribed this type");
    // A size of `:>` that is still a variable is none to leave out: it was kept apart.
    bool keep = exp->kind == EXP_COERCE && !type_is_error(ck, value->type);
    if (!fits || keep) {
        TExp *made = texp_new(ck, TEXP_COERCE, exp->span, type);
        made->as.inner = value;
        return made;
    }
    return coerce_to(ck, value, type);
}

static TExp *infer_assert(Checker *ck, const Exp *exp) {
    TExp *made = texp_new(ck, TEXP_ASSERT, exp->span, NULL);
    const Exp *cond = exp->as.assert_exp.cond;
    made->as.assert_exp.cond =
        infer_as(ck, cond, type_scalar(ck, SCALAR_BOOL), "the condition of `assert`");
    made->as.assert_exp.body = infer(ck, exp->as.assert_exp.body);
    made->type = made->as.assert_exp.body->type;
    const Source *source = sources_find(&ck->cx->sources, cond->span);
    if (source != NULL)
        made->as.assert_exp.text =
            (Str){source->text.ptr + (cond->span.start - source->base),
                  cond->span.end - cond->span.start};
    return made;
}

static bool is_known_attr(Str name) {
    static const char *const known[] = {"unsafe",
                                        "trace",
                                        "break",
                                        "sequential",
                                        "sequential_outer",
                                        "sequential_inner",
                                        "unroll",
                                        "noinline",
                                        "inline",
                                        "opaque",
                                        "scratch",
                                        "incremental_flattening",
                                        "noblk",
                                        "blank",
                                        "intrinsic",
                                        "warn",
                                        "no_fuse"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq(name, str_of(known[i]))) return true;
    return false;
}

static TExp *infer_attr(Checker *ck, const Exp *exp) {
    const Attr *attr = &exp->as.attr.attr;
    if (!is_known_attr(sym_str(&ck->cx->syms, attr->name.sym)))
        check_warning(ck, CHECK_UNKNOWN_ATTR, attr->span, sym_show(ck, attr->name.sym));
    TExp *inner = infer(ck, exp->as.attr.exp);
    TExp *made = texp_new(ck, TEXP_ATTR, exp->span, inner->type);
    made->as.attr.name = attr->name.sym;
    made->as.attr.exp = inner;
    return made;
}

static TExp *infer_open(Checker *ck, const Exp *exp) {
    Module *module = module_lookup(ck, &exp->as.open.module);
    if (module == NULL) return texp_error(ck, exp->span);
    if (module->kind != MODULE_STRUCT) {
        check_error(ck, CHECK_OPEN_PARAMETRIC, exp->as.open.module.span,
                    sym_show(ck, exp->as.open.module.name.sym));
        return texp_error(ck, exp->span);
    }
    local_open(ck, module);
    TExp *made = infer(ck, exp->as.open.exp);
    local_close(ck);
    return made;
}

static TExp *unsupported(Checker *ck, const Exp *exp, const char *what) {
    not_supported(ck, exp->span, what);
    return texp_error(ck, exp->span);
}

TExp *infer(Checker *ck, const Exp *exp) {
    if (!deep_enough(ck, exp->span)) return texp_error(ck, exp->span);
    ck->here = exp->span;
    switch (exp->kind) {
    case EXP_LIT: return infer_lit(ck, exp);
    case EXP_STRING: return infer_string(ck, exp);
    case EXP_VAR: return infer_view(ck, infer_var(ck, &exp->as.var));
    case EXP_HOLE: {
        if (!ck->frame->is_lib) check_warning(ck, CHECK_HOLE, exp->span);
        return texp_new(ck, TEXP_HOLE, exp->span, type_fresh(ck, exp->span));
    }
    case EXP_PAREN: return infer(ck, exp->as.inner);
    case EXP_TUPLE: return infer_tuple(ck, exp);
    case EXP_RECORD: return infer_record(ck, exp);
    case EXP_ARRAY: return infer_array(ck, exp);
    case EXP_FIELD: {
        TExp *record = infer(ck, exp->as.field.exp);
        return infer_field_of(ck, record, exp->as.field.name, exp->span);
    }
    case EXP_INDEX: return infer_index(ck, exp);
    case EXP_APPLY: return infer_apply(ck, exp);
    case EXP_BINOP: return infer_binop(ck, exp);
    case EXP_NEG:
    case EXP_NOT: return infer_prefix(ck, exp);
    case EXP_IF: return infer_if(ck, exp);
    case EXP_LET:
    case EXP_LET_FUN:
    case EXP_LET_UPDATE: return infer_let_chain(ck, exp);
    case EXP_LAMBDA: return infer_lambda(ck, exp);
    case EXP_SECTION_LEFT:
    case EXP_SECTION_RIGHT:
    case EXP_SECTION_FIELD:
    case EXP_SECTION_INDEX: return infer_section(ck, exp);
    case EXP_LOOP: return infer_loop(ck, exp);
    case EXP_RANGE: return infer_range(ck, exp);
    case EXP_UPDATE: return infer_update(ck, exp);
    case EXP_RECORD_UPDATE: return infer_record_update(ck, exp);
    case EXP_ASCRIPT:
    case EXP_COERCE: return infer_ascript(ck, exp);
    case EXP_ASSERT: return infer_assert(ck, exp);
    case EXP_CTOR: return infer_ctor(ck, exp);
    case EXP_MATCH: return infer_match(ck, exp);
    case EXP_ATTR: return infer_attr(ck, exp);
    case EXP_OPEN: return infer_open(ck, exp);
    case EXP_STREAM: return unsupported(ck, exp, "sequences");
    case EXP_COMPREHENSION: return unsupported(ck, exp, "comprehensions");
    }
    return texp_error(ck, exp->span);
}
