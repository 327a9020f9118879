// SPDX-License-Identifier: Apache-2.0
//
// Unification of types. A variable may carry a constraint (scalars it may be, equality,
// fields, constructors), which moves to what it is unified with. Failures leave the
// innermost reason in ck->clash; reporting is the caller's.
#include "check/checker.h"

static bool clash(Checker *ck, ClashKind kind, Type *a, Type *b) {
    if (ck->clash.kind == CLASH_NONE) ck->clash = (Clash){.kind = kind, .a = a, .b = b};
    return false;
}

static bool clash_name(Checker *ck, ClashKind kind, Type *a, Sym name) {
    if (ck->clash.kind == CLASH_NONE)
        ck->clash = (Clash){.kind = kind, .a = a, .name = name};
    return false;
}

static bool clash_constraint(Checker *ck, ClashKind kind, Type *a,
                             const Constraint *constraint) {
    if (ck->clash.kind == CLASH_NONE)
        ck->clash = (Clash){.kind = kind, .a = a, .constraint = constraint};
    return false;
}

// ---- constraints -------------------------------------------------------------------

static bool has_equality(Checker *ck, Type *type, const Constraint *constraint) {
    type = type_resolve(type);
    if (!deep_enough(ck, ck->here)) return true;
    switch (type->kind) {
    case TYPE_SCALAR: return true;
    case TYPE_ARRAY: return has_equality(ck, type->as.array.elem, constraint);
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++)
            if (!has_equality(ck, type->as.record.data[i].type, constraint))
                return false;
        return true;
    case TYPE_SUM:
        for (uint32_t i = 0; i < type->as.sum.len; i++)
            for (uint32_t k = 0; k < type->as.sum.data[i].payload.len; k++)
                if (!has_equality(ck, type->as.sum.data[i].payload.data[k], constraint))
                    return false;
        return true;
    case TYPE_VAR: {
        TypeVar *var = type->as.var;
        if (var == NULL) return true;
        if (var->is_param) return false;
        Constraint want = {
            .equality = true, .cause = constraint->cause, .span = constraint->span};
        return type_require(ck, type, &want);
    }
    case TYPE_ABS:
        return type->as.abs.id >= ck->reveal_from && type->as.abs.def != NULL &&
               has_equality(ck, type->as.abs.def, constraint);
    case TYPE_FUN:
    case TYPE_STREAM: return false;
    }
    return false;
}

static bool merge_fields(Checker *ck, Constraint *into, const Constraint *from) {
    for (uint32_t i = 0; i < from->fields.len; i++) {
        Field field = from->fields.data[i];
        int at = record_find(&into->fields, field.name);
        if (at < 0) vec_push(ck->arena, &into->fields, field);
        else if (!type_unify(ck, into->fields.data[at].type, field.type)) return false;
    }
    return true;
}

static bool unify_payloads(Checker *ck, Type *sum, const Ctor *a, const Ctor *b) {
    if (a->payload.len != b->payload.len)
        return clash_name(ck, CLASH_PAYLOAD, sum, a->name);
    for (uint32_t i = 0; i < a->payload.len; i++)
        if (!type_unify(ck, a->payload.data[i], b->payload.data[i])) return false;
    return true;
}

static bool merge_ctors(Checker *ck, Type *type, Constraint *into,
                        const Constraint *from) {
    for (uint32_t i = 0; i < from->ctors.len; i++) {
        const Ctor *ctor = &from->ctors.data[i];
        int at = sum_find(&into->ctors, ctor->name);
        if (at < 0) vec_push(ck->arena, &into->ctors, *ctor);
        else if (!unify_payloads(ck, type, &into->ctors.data[at], ctor)) return false;
    }
    return true;
}

static void lower_constraint(Checker *ck, const TypeVar *var) {
    const Constraint *constraint = var->constraint;
    Subst subst = {.level = (uint32_t)var->level};
    ck->visits = 0;
    for (uint32_t i = 0; i < constraint->fields.len; i++)
        type_subst(ck, &subst, constraint->fields.data[i].type);
    for (uint32_t i = 0; i < constraint->ctors.len; i++)
        for (uint32_t k = 0; k < constraint->ctors.data[i].payload.len; k++)
            type_subst(ck, &subst, constraint->ctors.data[i].payload.data[k]);
}

static void name_cause(Constraint *into, const Constraint *from) {
    into->cause = from->cause;
    into->span = from->span;
    into->operator_scalars = from->operator_scalars;
}

static bool merge(Checker *ck, Type *type, const Constraint *from) {
    TypeVar *var = type->as.var;
    Constraint *old = var->constraint;
    Constraint *into = arena_new(ck->arena, Constraint);
    if (old == NULL) {
        *into = *from;
        into->fields = (FieldVec){0};
        into->ctors = (CtorVec){0};
        if (!merge_fields(ck, into, from) || !merge_ctors(ck, type, into, from))
            return false;
        var->constraint = into;
        lower_constraint(ck, var);
        return true;
    }
    *into = *old;
    if (from->scalars != 0 && old->scalars != 0) {
        into->scalars = old->scalars & from->scalars;
        if (into->scalars == 0) return clash_constraint(ck, CLASH_SCALARS, type, from);
        if (old->cause == 0) name_cause(into, from);
    } else if (from->scalars != 0) {
        into->scalars = from->scalars;
        name_cause(into, from);
    }
    into->equality |= from->equality;
    into->from_char |= from->from_char;
    bool has_parts =
        old->fields.len + from->fields.len + old->ctors.len + from->ctors.len > 0;
    if (into->scalars != 0 && has_parts)
        return clash_constraint(ck, CLASH_SCALARS, type,
                                from->scalars != 0 ? from : old);
    var->constraint = into;
    if (!merge_fields(ck, into, from) || !merge_ctors(ck, type, into, from))
        return false;
    lower_constraint(ck, var);
    return true;
}

static bool require_parts(Checker *ck, Type *type, const Constraint *constraint) {
    for (uint32_t i = 0; i < constraint->fields.len; i++) {
        const Field *field = &constraint->fields.data[i];
        if (type->kind != TYPE_RECORD)
            return clash_name(ck, CLASH_NO_FIELD, type, field->name);
        int at = record_find(&type->as.record, field->name);
        if (at < 0) return clash_name(ck, CLASH_NO_FIELD, type, field->name);
        if (!type_unify(ck, type->as.record.data[at].type, field->type)) return false;
    }
    for (uint32_t i = 0; i < constraint->ctors.len; i++) {
        const Ctor *ctor = &constraint->ctors.data[i];
        if (type->kind != TYPE_SUM)
            return clash_name(ck, CLASH_NO_CTOR, type, ctor->name);
        int at = sum_find(&type->as.sum, ctor->name);
        if (at < 0) return clash_name(ck, CLASH_NO_CTOR, type, ctor->name);
        if (!unify_payloads(ck, type, &type->as.sum.data[at], ctor)) return false;
    }
    return true;
}

bool type_require(Checker *ck, Type *type, const Constraint *constraint) {
    type = type_resolve(type);
    if (type == ck->error_type) return true;
    if (type_is_open(type)) return merge(ck, type, constraint);
    while (type->kind == TYPE_ABS && type->as.abs.id >= ck->reveal_from &&
           type->as.abs.def != NULL)
        type = type_resolve(type->as.abs.def);
    if (constraint->scalars != 0 && (type->kind != TYPE_SCALAR ||
                                     !(constraint->scalars & SCALARS(type->as.scalar))))
        return clash_constraint(ck, CLASH_SCALARS, type, constraint);
    if (constraint->equality && !has_equality(ck, type, constraint))
        return clash_constraint(ck, CLASH_EQUALITY, type, constraint);
    return require_parts(ck, type, constraint);
}

Type *constraint_default(Checker *ck, const Constraint *constraint) {
    ScalarSet set = constraint->scalars;
    if (set == 0) return NULL;
    if (constraint->from_char && (set & SCALARS(SCALAR_U8)))
        return type_scalar(ck, SCALAR_U8);
    static const ScalarType order[] = {SCALAR_I32, SCALAR_F64, SCALAR_BOOL};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (set & SCALARS(order[i])) return type_scalar(ck, order[i]);
    for (int t = 0; t < SCALAR_COUNT; t++)
        if (set & SCALARS(t)) return type_scalar(ck, (ScalarType)t);
    return NULL;
}

// ---- variables ---------------------------------------------------------------------

static bool link_vars(Checker *ck, Type *a, Type *b) {
    TypeVar *keep = a->as.var, *drop = b->as.var;
    if (drop->level < keep->level) {
        TypeVar *other = keep;
        keep = drop;
        drop = other;
        Type *type = a;
        a = b;
        b = type;
    }
    if (drop->lifting < keep->lifting) keep->lifting = drop->lifting;
    const Constraint *constraint = drop->constraint;
    drop->link = a;
    if (constraint == NULL || merge(ck, a, constraint)) return true;
    drop->link = NULL; // the message shows the two apart
    return false;
}

static bool link_var(Checker *ck, Type *type, Type *to) {
    TypeVar *var = type->as.var;
    Subst subst = {.escape_from = (uint32_t)var->level,
                   .level = (uint32_t)var->level,
                   .no_functions = var->lifting != TP_LIFTED,
                   .occurs = var};
    Clash outer = ck->clash;
    ck->clash = (Clash){0};
    ck->visits = 0;
    Type *target = type_subst(ck, &subst, to);
    if (ck->clash.kind != CLASH_NONE) {
        const Constraint *wants = var->constraint;
        if (ck->clash.kind == CLASH_OCCURS || ck->clash.kind == CLASH_FUNCTION)
            ck->clash.a = type, ck->clash.b = to;
        if (ck->clash.kind == CLASH_FUNCTION && wants != NULL && wants->equality)
            ck->clash = (Clash){.kind = CLASH_EQUALITY, .a = to, .constraint = wants};
        return false;
    }
    ck->clash = outer;
    var->link = target;
    const Constraint *constraint = var->constraint;
    if (constraint == NULL || type_require(ck, target, constraint)) return true;
    var->link = NULL;
    return false;
}

bool type_require_data(Checker *ck, Type *type) {
    Subst subst = {.no_functions = true};
    ck->clash = (Clash){0};
    ck->visits = 0;
    type_subst(ck, &subst, type);
    return ck->clash.kind == CLASH_NONE;
}

// ---- unification -------------------------------------------------------------------

static bool unify_records(Checker *ck, Type *a, Type *b) {
    const FieldVec *x = &a->as.record, *y = &b->as.record;
    if (x->len != y->len) return clash(ck, CLASH_KINDS, a, b);
    for (uint32_t i = 0; i < x->len; i++)
        if (x->data[i].name != y->data[i].name) return clash(ck, CLASH_KINDS, a, b);
    bool ok = true;
    for (uint32_t i = 0; i < x->len; i++)
        ok &= type_unify(ck, x->data[i].type, y->data[i].type);
    return ok;
}

static bool unify_sums(Checker *ck, Type *a, Type *b) {
    const CtorVec *x = &a->as.sum, *y = &b->as.sum;
    if (x->len != y->len) return clash(ck, CLASH_KINDS, a, b);
    for (uint32_t i = 0; i < x->len; i++)
        if (x->data[i].name != y->data[i].name) return clash(ck, CLASH_KINDS, a, b);
    for (uint32_t i = 0; i < x->len; i++)
        if (!unify_payloads(ck, a, &x->data[i], &y->data[i])) return false;
    return true;
}

static bool unify_funs(Checker *ck, Type *a, Type *b) {
    if (!type_unify(ck, a->as.fun.param, b->as.fun.param)) return false;
    Type *result = b->as.fun.result;
    Binding *name = a->as.fun.param_binding, *other = b->as.fun.param_binding;
    if (name != NULL && other != NULL && name != other) {
        Size *size = size_name(ck, name, name->span);
        Subst subst = {.names = &other, .sizes = &size, .name_count = 1};
        ck->visits = 0;
        result = type_subst(ck, &subst, result);
    }
    return type_unify(ck, a->as.fun.result, result);
}

static bool unify_abs(Checker *ck, Type *a, Type *b) {
    bool ok = true;
    for (uint32_t i = 0; i < a->as.abs.size_args.len; i++)
        ok &= size_unify(ck, a->as.abs.size_args.data[i], b->as.abs.size_args.data[i]);
    for (uint32_t i = 0; i < a->as.abs.type_args.len; i++)
        ok &= type_unify(ck, a->as.abs.type_args.data[i], b->as.abs.type_args.data[i]);
    return ok;
}

static bool may_reveal(const Checker *ck, const Type *type) {
    return type->kind == TYPE_ABS && type->as.abs.def != NULL &&
           type->as.abs.id >= ck->reveal_from;
}

bool type_unify(Checker *ck, Type *a, Type *b) {
    a = type_resolve(a);
    b = type_resolve(b);
    if (a == b) return true;
    if (a == ck->error_type || b == ck->error_type) {
        // What meets an error is one, so that it is reported once.
        Type *other = a == ck->error_type ? b : a;
        if (type_is_open(other)) other->as.var->link = ck->error_type;
        return true;
    }
    if (!deep_enough(ck, ck->here)) return true;
    bool open_a = type_is_open(a), open_b = type_is_open(b);
    if (open_a && open_b && a->as.var == b->as.var) return true;
    if (open_a && open_b) return link_vars(ck, a, b);
    if (open_a) return link_var(ck, a, b);
    if (open_b) return link_var(ck, b, a);
    if (a->kind == TYPE_ABS && b->kind == TYPE_ABS && a->as.abs.id == b->as.abs.id)
        return unify_abs(ck, a, b);
    if (may_reveal(ck, a) &&
        !(b->kind == TYPE_ABS && may_reveal(ck, b) && b->as.abs.id > a->as.abs.id))
        return type_unify(ck, a->as.abs.def, b);
    if (may_reveal(ck, b)) return type_unify(ck, a, b->as.abs.def);
    if (a->kind == TYPE_VAR || b->kind == TYPE_VAR) {
        if (a->kind == b->kind && a->as.var == b->as.var) return true;
        return clash(ck, CLASH_RIGID, a, b);
    }
    if (a->kind != b->kind) return clash(ck, CLASH_KINDS, a, b);
    switch (a->kind) {
    case TYPE_SCALAR:
        return a->as.scalar == b->as.scalar || clash(ck, CLASH_KINDS, a, b);
    case TYPE_ARRAY: {
        bool elems = type_unify(ck, a->as.array.elem, b->as.array.elem);
        return size_unify(ck, a->as.array.size, b->as.array.size) && elems;
    }
    case TYPE_RECORD: return unify_records(ck, a, b);
    case TYPE_SUM: return unify_sums(ck, a, b);
    case TYPE_FUN: return unify_funs(ck, a, b);
    case TYPE_STREAM: return type_unify(ck, a->as.elem, b->as.elem);
    case TYPE_VAR:
    case TYPE_ABS: return clash(ck, CLASH_KINDS, a, b);
    }
    return false;
}

// ---- the join of two branches ------------------------------------------------------

static Size *join_sizes(Checker *ck, Size *a, Size *b, bool rows) {
    a = size_resolve(a);
    b = size_resolve(b);
    if (size_equal(ck, a, b)) return a;
    int64_t x, y;
    if (rows && size_is_const(ck, a, &x) && size_is_const(ck, b, &y) &&
        ck->clash.kind == CLASH_NONE)
        ck->clash = (Clash){.kind = CLASH_SIZES, .size_a = a, .size_b = b};
    if (rows) return a->kind == SIZE_UNKNOWN ? b : a; // rows are checked to agree
    return size_join(ck, a, b, a->origin);
}

static Type *join(Checker *ck, Type *a, Type *b, bool rows) {
    a = type_resolve(a);
    b = type_resolve(b);
    if (a == b || a->kind != b->kind ||
        (a->is_ground && b->is_ground && !rows && a->kind == TYPE_SCALAR))
        return a;
    if (!deep_enough(ck, ck->here)) return a;
    switch (a->kind) {
    case TYPE_ARRAY: {
        Size *size = join_sizes(ck, a->as.array.size, b->as.array.size, rows);
        Type *elem = join(ck, a->as.array.elem, b->as.array.elem, rows);
        if (elem == a->as.array.elem && size == size_resolve(a->as.array.size))
            return a;
        return type_array(ck, size, elem);
    }
    case TYPE_RECORD: {
        if (a->as.record.len != b->as.record.len) return a;
        FieldVec fields = {0};
        bool changed = false;
        for (uint32_t i = 0; i < a->as.record.len; i++) {
            Field field = a->as.record.data[i];
            field.type = join(ck, field.type, b->as.record.data[i].type, rows);
            changed |= field.type != a->as.record.data[i].type;
            vec_push(ck->arena, &fields, field);
        }
        return changed ? type_record(ck, fields) : a;
    }
    case TYPE_SUM: {
        if (a->as.sum.len != b->as.sum.len) return a;
        CtorVec ctors = {0};
        for (uint32_t i = 0; i < a->as.sum.len; i++) {
            const Ctor *x = &a->as.sum.data[i], *y = &b->as.sum.data[i];
            Ctor ctor = {.name = x->name};
            if (x->payload.len != y->payload.len) return a;
            for (uint32_t k = 0; k < x->payload.len; k++)
                vec_push(ck->arena, &ctor.payload,
                         join(ck, x->payload.data[k], y->payload.data[k], rows));
            vec_push(ck->arena, &ctors, ctor);
        }
        return type_sum(ck, ctors);
    }
    case TYPE_ABS: {
        if (a->as.abs.id != b->as.abs.id) return a;
        Type *copy = arena_copy(ck->arena, a, sizeof *a);
        copy->as.abs.size_args = (SizeVec){0};
        for (uint32_t i = 0; i < a->as.abs.size_args.len; i++)
            vec_push(ck->arena, &copy->as.abs.size_args,
                     join_sizes(ck, a->as.abs.size_args.data[i],
                                b->as.abs.size_args.data[i], rows));
        if (a->as.abs.def != NULL && b->as.abs.def != NULL)
            copy->as.abs.def = join(ck, a->as.abs.def, b->as.abs.def, rows);
        return type_measure(ck, copy);
    }
    case TYPE_SCALAR:
    case TYPE_FUN:
    case TYPE_VAR:
    case TYPE_STREAM: return a;
    }
    return a;
}

bool type_join(Checker *ck, Type *a, Type *b, bool rows, Type **join_out) {
    SizeMode mode = ck->size_mode;
    ck->size_mode = SIZES_JOIN;
    ck->clash = (Clash){0};
    bool ok = type_unify(ck, a, b);
    ck->size_mode = mode;
    *join_out = ok ? join(ck, a, b, rows) : a;
    return ck->clash.kind == CLASH_NONE;
}
