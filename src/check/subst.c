// SPDX-License-Identifier: Apache-2.0
//
// Substitution: one walk over a type that replaces parameters and sizes, renews unknown
// sizes, lowers the levels of variables and takes sizes out of their scope away. What
// does not change is shared with the old type.
#include "check/checker.h"

static bool is_same(const Size *a, const Size *b) {
    return a == b ||
           (a->kind == SIZE_NAME && b->kind == SIZE_NAME && a->name == b->name);
}

static Size *renew(Checker *ck, Subst *subst, Size *size) {
    for (uint32_t i = 0; i < subst->renewed.len; i++)
        if (is_same(subst->renewed.from[i], size)) return subst->renewed.to[i];
    Size *fresh = size_unknown(ck, size->origin);
    if (subst->renewed.len == subst->renewed.cap) {
        subst->renewed.from = vec_grow(ck->arena, subst->renewed.from,
                                       &subst->renewed.cap, sizeof(Size *));
        subst->renewed.to = vec_grow(ck->arena, subst->renewed.to, &subst->renewed.cap2,
                                     sizeof(Size *));
    }
    subst->renewed.from[subst->renewed.len] = size;
    subst->renewed.to[subst->renewed.len++] = fresh;
    return fresh;
}

static bool is_bound(const Subst *subst, const Binding *name) {
    for (uint32_t i = 0; i < subst->bound.len; i++)
        if (subst->bound.data[i] == name) return true;
    return false;
}

static bool escapes(const Subst *subst, const Binding *name) {
    if (subst->escape_from == 0 || name->id < subst->escape_from) return false;
    if (name->kind != BIND_LOCAL && name->kind != BIND_SIZE) return false;
    return !is_bound(subst, name);
}

static Size *replacement(const Subst *subst, const Binding *name) {
    for (uint32_t i = 0; i < subst->name_count; i++)
        if (subst->names[i] == name) return subst->sizes[i];
    return NULL;
}

static bool must_renew(const Subst *subst, const Size *size) {
    if (subst->unknown_from != 0 && size->id >= subst->unknown_from) return true;
    for (uint32_t i = 0; i < subst->exists_count; i++)
        if (subst->exists[i] == size) return true;
    return false;
}

Size *size_subst(Checker *ck, Subst *subst, Size *size) {
    size = size_resolve(size);
    switch (size->kind) {
    case SIZE_CONST:
    case SIZE_RAGGED: return size;
    case SIZE_VAR:
        if (subst->level != 0 && size->level > (int32_t)subst->level)
            size->level = (int32_t)subst->level;
        return size;
    case SIZE_NAME: {
        Size *to = replacement(subst, size->name);
        if (to != NULL) return to;
        if (!escapes(subst, size->name)) return size;
        return size->name->alias != NULL ? size_subst(ck, subst, size->name->alias)
                                         : renew(ck, subst, size);
    }
    case SIZE_EXP: {
        TExp *exp = texp_subst(ck, subst, size->exp);
        if (exp == size->exp) return size;
        if (exp == NULL) return renew(ck, subst, size);
        Size *fresh = size_of_exp(ck, exp);
        fresh->origin = size->origin;
        return fresh;
    }
    case SIZE_UNKNOWN: return must_renew(subst, size) ? renew(ck, subst, size) : size;
    }
    return size;
}

// ---- expressions in sizes ----------------------------------------------------------

static TExp *exp_of_size(Checker *ck, Size *size, TExp *old) {
    size = size_resolve(size);
    TExp *exp = NULL;
    switch (size->kind) {
    case SIZE_CONST:
        exp = texp_new(ck, TEXP_LIT, old->span, old->type);
        exp->as.lit.bits = (uint64_t)size->value;
        return exp;
    case SIZE_NAME:
        exp = texp_new(ck, TEXP_VAR, old->span, old->type);
        exp->as.var.binding = size->name;
        return exp;
    case SIZE_EXP: return size->exp;
    case SIZE_VAR: {
        // A stand-in that sizes_finish replaces once the variable is solved.
        Binding *binding = arena_new(ck->arena, Binding);
        binding->kind = BIND_SIZE;
        binding->type = old->type;
        binding->span = size->origin;
        binding->alias = size;
        binding->check_data = size;
        exp = texp_new(ck, TEXP_VAR, old->span, old->type);
        exp->as.var.binding = binding;
        return exp;
    }
    case SIZE_UNKNOWN:
    case SIZE_RAGGED: return NULL;
    }
    return NULL;
}

static TExp *subst_var(Checker *ck, Subst *subst, TExp *exp) {
    Binding *binding = exp->as.var.binding;
    if (binding->check_data != NULL && binding->kind == BIND_SIZE) {
        Size *size = size_resolve(binding->check_data);
        if (size->kind != SIZE_VAR) {
            size = size_subst(ck, subst, size);
            return exp_of_size(ck, size, exp);
        }
        if (subst->level != 0 && size->level > (int32_t)subst->level)
            size->level = (int32_t)subst->level;
        return exp;
    }
    Size *to = replacement(subst, binding);
    if (to != NULL) return exp_of_size(ck, to, exp);
    if (escapes(subst, binding)) return NULL;
    if (exp->as.var.type_args.len + exp->as.var.size_args.len == 0) return exp;
    TExp *copy = arena_copy(ck->arena, exp, sizeof *exp);
    copy->as.var.type_args = (TypeVec){0};
    copy->as.var.size_args = (SizeVec){0};
    bool changed = false;
    for (uint32_t i = 0; i < exp->as.var.type_args.len; i++) {
        Type *old = exp->as.var.type_args.data[i], *fresh = type_subst(ck, subst, old);
        changed |= old != fresh;
        vec_push(ck->arena, &copy->as.var.type_args, fresh);
    }
    for (uint32_t i = 0; i < exp->as.var.size_args.len; i++) {
        Size *old = exp->as.var.size_args.data[i], *fresh = size_subst(ck, subst, old);
        changed |= old != fresh;
        vec_push(ck->arena, &copy->as.var.size_args, fresh);
    }
    return changed ? copy : exp;
}

// Copies items with each substituted. NULL-data result and *ok = false on failure.
static TExpVec subst_items(Checker *ck, Subst *subst, const TExpVec *items, bool *ok,
                           bool *changed) {
    TExpVec copy = {0};
    for (uint32_t i = 0; i < items->len && *ok; i++) {
        TExp *item = texp_subst(ck, subst, items->data[i]);
        if (item == NULL) *ok = false;
        if (item != items->data[i]) *changed = true;
        vec_push(ck->arena, &copy, item);
    }
    return copy;
}

TExp *texp_subst(Checker *ck, Subst *subst, TExp *exp) {
    bool ok = true, changed = false;
    TExp *copy = NULL;
    switch (exp->kind) {
    case TEXP_LIT: return exp;
    case TEXP_VAR: return subst_var(ck, subst, exp);
    case TEXP_RECORD: {
        TExpVec items = subst_items(ck, subst, &exp->as.items, &ok, &changed);
        if (!ok) return NULL;
        if (!changed) return exp;
        copy = arena_copy(ck->arena, exp, sizeof *exp);
        copy->as.items = items;
        return copy;
    }
    case TEXP_APPLY: {
        TExp *fun = texp_subst(ck, subst, exp->as.apply.fun);
        if (fun == NULL) return NULL;
        TExpVec args = subst_items(ck, subst, &exp->as.apply.args, &ok, &changed);
        if (!ok) return NULL;
        if (!changed && fun == exp->as.apply.fun) return exp;
        copy = arena_copy(ck->arena, exp, sizeof *exp);
        copy->as.apply.fun = fun;
        copy->as.apply.args = args;
        return copy;
    }
    case TEXP_FIELD: {
        TExp *inner = texp_subst(ck, subst, exp->as.field.exp);
        if (inner == NULL || inner == exp->as.field.exp) return inner ? exp : NULL;
        copy = arena_copy(ck->arena, exp, sizeof *exp);
        copy->as.field.exp = inner;
        return copy;
    }
    case TEXP_INDEX: {
        TExp *inner = texp_subst(ck, subst, exp->as.index.exp);
        if (inner == NULL) return NULL;
        TIndexVec dims = {0};
        changed = inner != exp->as.index.exp;
        for (uint32_t i = 0; i < exp->as.index.dims.len; i++) {
            TIndex dim = exp->as.index.dims.data[i];
            if (dim.is_slice) return NULL;
            TExp *index = texp_subst(ck, subst, dim.index);
            if (index == NULL) return NULL;
            changed |= index != dim.index;
            dim.index = index;
            vec_push(ck->arena, &dims, dim);
        }
        if (!changed) return exp;
        copy = arena_copy(ck->arena, exp, sizeof *exp);
        copy->as.index.exp = inner;
        copy->as.index.dims = dims;
        return copy;
    }
    case TEXP_STRING:
    case TEXP_ARRAY:
    case TEXP_LAMBDA:
    case TEXP_LET:
    case TEXP_IF:
    case TEXP_AND:
    case TEXP_OR:
    case TEXP_LOOP:
    case TEXP_RANGE:
    case TEXP_UPDATE:
    case TEXP_RECORD_UPDATE:
    case TEXP_COERCE:
    case TEXP_ASSERT:
    case TEXP_CTOR:
    case TEXP_MATCH:
    case TEXP_HOLE:
    case TEXP_ATTR: return NULL;
    }
    return NULL;
}

// ---- types -------------------------------------------------------------------------

static void note_clash(Checker *ck, ClashKind kind, Type *a, Type *b) {
    if (ck->clash.kind == CLASH_NONE) ck->clash = (Clash){.kind = kind, .a = a, .b = b};
}

static Type *subst_type_var(Checker *ck, Subst *subst, Type *type) {
    TypeVar *var = type->as.var;
    if (var == NULL) return type; // the error type
    for (uint32_t i = 0; i < subst->var_count; i++)
        if (subst->vars[i] == var) return subst->types[i];
    if (subst->occurs == var) note_clash(ck, CLASH_OCCURS, type, type);
    if (subst->level != 0 && var->level > (int32_t)subst->level) {
        if (var->is_param) note_clash(ck, CLASH_RIGID, type, NULL);
        else var->level = (int32_t)subst->level;
    }
    if (subst->no_functions) {
        if (!var->is_param) var->lifting = TP_TYPE;
        else if (var->lifting == TP_LIFTED) note_clash(ck, CLASH_FUNCTION, type, NULL);
    }
    Constraint *constraint = var->constraint;
    if (constraint == NULL || var->is_param) return type;
    for (uint32_t i = 0; i < constraint->fields.len; i++)
        type_subst(ck, subst, constraint->fields.data[i].type);
    for (uint32_t i = 0; i < constraint->ctors.len; i++)
        for (uint32_t k = 0; k < constraint->ctors.data[i].payload.len; k++)
            type_subst(ck, subst, constraint->ctors.data[i].payload.data[k]);
    return type;
}

// An instance of an abbreviation with parameters stays one.
static Type *keep_written(Type *type, const Type *old) {
    if (type->kind == old->kind && old->written != NULL && old->written->params.len > 0)
        type->written = old->written;
    return type;
}

static Type *subst_record(Checker *ck, Subst *subst, Type *type) {
    FieldVec fields = {0};
    bool changed = false;
    for (uint32_t i = 0; i < type->as.record.len; i++) {
        Field field = type->as.record.data[i];
        Type *fresh = type_subst(ck, subst, field.type);
        if (fresh != field.type && !changed) {
            changed = true;
            for (uint32_t k = 0; k < i; k++)
                vec_push(ck->arena, &fields, type->as.record.data[k]);
        }
        field.type = fresh;
        if (changed) vec_push(ck->arena, &fields, field);
    }
    return changed ? keep_written(type_record(ck, fields), type) : type;
}

static Type *subst_sum(Checker *ck, Subst *subst, Type *type) {
    CtorVec ctors = {0};
    bool changed = false;
    for (uint32_t i = 0; i < type->as.sum.len; i++) {
        Ctor ctor = {.name = type->as.sum.data[i].name};
        for (uint32_t k = 0; k < type->as.sum.data[i].payload.len; k++) {
            Type *old = type->as.sum.data[i].payload.data[k];
            Type *fresh = type_subst(ck, subst, old);
            changed |= fresh != old;
            vec_push(ck->arena, &ctor.payload, fresh);
        }
        vec_push(ck->arena, &ctors, ctor);
    }
    return changed ? keep_written(type_sum(ck, ctors), type) : type;
}

static Type *subst_fun(Checker *ck, Subst *subst, Type *type) {
    if (subst->no_functions) note_clash(ck, CLASH_FUNCTION, type, NULL);
    Type *param = type_subst(ck, subst, type->as.fun.param);
    Binding *name = type->as.fun.param_binding;
    if (name != NULL) vec_push(ck->arena, &subst->bound, name);
    Type *result = type_subst(ck, subst, type->as.fun.result);
    if (name != NULL) subst->bound.len--;
    if (param == type->as.fun.param && result == type->as.fun.result) return type;
    Type *copy = arena_copy(ck->arena, type, sizeof *type);
    copy->as.fun.param = param;
    copy->as.fun.result = result;
    SizeVec exists = {0};
    for (uint32_t i = 0; i < type->as.fun.result_exists.len; i++) {
        Size *size = type->as.fun.result_exists.data[i];
        for (uint32_t k = 0; k < subst->renewed.len; k++)
            if (subst->renewed.from[k] == size) size = subst->renewed.to[k];
        vec_push(ck->arena, &exists, size);
    }
    // What left its scope inside the result is anew in every call.
    for (uint32_t k = 0; k < subst->renewed.len; k++)
        if (subst->renewed.from[k]->kind != SIZE_UNKNOWN && subst->escape_from != 0)
            vec_push(ck->arena, &exists, subst->renewed.to[k]);
    copy->as.fun.result_exists = exists;
    return type_measure(ck, copy);
}

static Type *subst_abs(Checker *ck, Subst *subst, Type *type) {
    TypeVec types = {0};
    SizeVec sizes = {0};
    bool changed = false;
    for (uint32_t i = 0; i < type->as.abs.type_args.len; i++) {
        Type *old = type->as.abs.type_args.data[i], *fresh = type_subst(ck, subst, old);
        changed |= fresh != old;
        vec_push(ck->arena, &types, fresh);
    }
    for (uint32_t i = 0; i < type->as.abs.size_args.len; i++) {
        Size *old = size_resolve(type->as.abs.size_args.data[i]);
        Size *fresh = size_subst(ck, subst, old);
        changed |= fresh != old;
        vec_push(ck->arena, &sizes, fresh);
    }
    if (subst->no_functions && type->as.abs.lifting == TP_LIFTED)
        note_clash(ck, CLASH_FUNCTION, type, NULL);
    if (!changed) return type;
    Type *copy = arena_copy(ck->arena, type, sizeof *type);
    copy->as.abs.type_args = types;
    copy->as.abs.size_args = sizes;
    if (type->as.abs.def != NULL)
        copy->as.abs.def = type_subst(ck, subst, type->as.abs.def);
    return type_measure(ck, copy);
}

Type *type_subst(Checker *ck, Subst *subst, Type *type) {
    type = type_resolve(type);
    if (type->is_ground && !subst->no_functions) return type;
    if (++ck->visits > 4 * MOST_WEIGHT) {
        note_clash(ck, CLASH_LARGE, type, NULL);
        return type;
    }
    if (!deep_enough(ck, ck->here)) return ck->error_type;
    switch (type->kind) {
    case TYPE_SCALAR: return type;
    case TYPE_ARRAY: {
        Size *old = size_resolve(type->as.array.size);
        Size *size = size_subst(ck, subst, old);
        Type *elem = type_subst(ck, subst, type->as.array.elem);
        if (size == old && elem == type->as.array.elem) return type;
        return type_array(ck, size, elem);
    }
    case TYPE_RECORD: return subst_record(ck, subst, type);
    case TYPE_SUM: return subst_sum(ck, subst, type);
    case TYPE_FUN: return subst_fun(ck, subst, type);
    case TYPE_VAR: return subst_type_var(ck, subst, type);
    case TYPE_ABS: return subst_abs(ck, subst, type);
    case TYPE_STREAM: {
        Type *elem = type_subst(ck, subst, type->as.elem);
        if (elem == type->as.elem) return type;
        Type *copy = arena_copy(ck->arena, type, sizeof *type);
        copy->as.elem = elem;
        return type_measure(ck, copy);
    }
    }
    return type;
}

Type *type_escape(Checker *ck, Type *type, uint32_t mark) {
    sizes_leave(ck, mark);
    Subst subst = {.escape_from = mark, .level = mark};
    ck->visits = 0;
    return type_subst(ck, &subst, type);
}
