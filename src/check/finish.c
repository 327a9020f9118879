// SPDX-License-Identifier: Apache-2.0
//
// The end of a definition: variables that are left get their defaults, and everything
// that waited for types (literals, field and constructor indices, matches) is settled.
#include "check/literal.h"

static void report_open(Checker *ck, const TypeVar *var, const Constraint *constraint) {
    Diag *diag;
    if (constraint->fields.len > 0) {
        diag = check_error(ck, CHECK_AMBIGUOUS, var->origin, "record");
        check_note(ck, diag, (Span){0, 0}, "it has a field `%s`",
                   sym_show(ck, constraint->fields.data[0].name));
    } else if (constraint->ctors.len > 0) {
        diag = check_error(ck, CHECK_AMBIGUOUS, var->origin, "sum");
        check_note(ck, diag, (Span){0, 0}, "it has a constructor `#%s`",
                   sym_show(ck, constraint->ctors.data[0].name));
    } else {
        diag = check_error(ck, CHECK_AMBIGUOUS, var->origin, "compared");
    }
    check_hint(ck, diag, "add a type annotation");
}

static void default_vars(Checker *ck, Frame *frame) {
    bool quiet = ck->cx->diags.error_count > frame->errors;
    for (uint32_t i = 0; i < frame->vars.len; i++) {
        TypeVar *var = frame->vars.data[i];
        if (var->link != NULL || var->is_param) continue;
        const Constraint *constraint = var->constraint;
        if (constraint == NULL) continue;
        Type *type = constraint_default(ck, constraint);
        if (type == NULL && !quiet) report_open(ck, var, constraint);
        var->link = type == NULL ? ck->error_type : type;
    }
    for (uint32_t i = 0; i < frame->vars.len; i++) {
        TypeVar *var = frame->vars.data[i];
        if (var->link == NULL && !var->is_param) var->link = ck->unit;
    }
    frame->vars.len = 0;
}

static const char *range_text(ScalarType type) {
    static const char *const most[] = {
        [1] = "255", [2] = "65535", [4] = "4294967295", [8] = "18446744073709551615"};
    return most[scalar_info[type].bytes];
}

static void finish_lit(Checker *ck, const Pending *item) {
    bool is_pat = item->kind == PENDING_PAT_LIT;
    Type *type = type_reveal(is_pat ? item->pat->type : item->exp->type);
    if (type->kind != TYPE_SCALAR) return;
    Span span = is_pat ? item->pat->span : item->exp->span;
    uint64_t bits = 0;
    if (!literal_bits(ck, item->lit, item->negative, type->as.scalar, &bits)) {
        const char *name = scalar_info[type->as.scalar].name;
        Diag *diag = check_error(ck, CHECK_LITERAL_RANGE, span, name);
        check_note(ck, diag, (Span){0, 0}, "the largest is %s",
                   range_text(type->as.scalar));
        if (item->lit->suffix == 0 && type->as.scalar == SCALAR_I32 &&
            !item->lit->too_big)
            check_hint(ck, diag,
                       "i32 is the default: write %.*si64 if a larger type is meant",
                       STR_ARG(item->lit->text));
    }
    if (is_pat) {
        item->pat->as.lit.bits = bits;
        item->pat->as.lit.scalar = type->as.scalar;
    } else {
        item->exp->as.lit.bits = bits;
    }
}

static void finish_update(const Pending *item) {
    Type *type = type_reveal(item->exp->as.record_update.exp->type);
    TExp *exp = item->exp;
    for (uint32_t i = 0; i < item->path->len && type->kind == TYPE_RECORD; i++) {
        int at = record_find(&type->as.record, item->path->data[i].sym);
        if (at < 0) return;
        exp->as.record_update.path.data[i] = (uint32_t)at;
        type = type_reveal(type->as.record.data[at].type);
    }
}

static void finish_size_args(Checker *ck, const Pending *item) {
    const Binding *binding = item->exp->as.var.binding;
    if (ck->cx->diags.error_count > ck->frame->errors) return;
    for (uint32_t i = 0; i < item->exp->as.var.size_args.len; i++) {
        Size *size = size_resolve(item->exp->as.var.size_args.data[i]);
        if (size->kind != SIZE_VAR) continue;
        Binding *param = binding->size_params.data[i];
        bool named = param->name != 0;
        Diag *diag = check_error(ck, CHECK_AMBIGUOUS_SIZE, item->exp->span,
                                 named ? sym_show(ck, param->name) : "the result",
                                 sym_show(ck, binding->name));
        check_hint(ck, diag, "give the result a type, such as `(... : [10]i32)`");
        return;
    }
}

// `**` of floats is not an operator of core but `**` of the type's module.
static void finish_power(Checker *ck, TExp *exp) {
    Type *type = type_reveal(exp->as.var.type_args.data[0]);
    if (type->kind != TYPE_SCALAR || !scalar_is_float(type->as.scalar)) return;
    if (ck->prelude_module == NULL) return;
    Sym name = sym_cstr(&ck->cx->syms, scalar_info[type->as.scalar].name);
    Entry *module = module_find(ck, ck->prelude_module, SPACE_MODULE, name);
    if (module == NULL) return;
    entry_force(ck, module);
    Entry *power =
        module_find(ck, module->module, SPACE_VALUE, exp->as.var.binding->name);
    if (power == NULL) return;
    entry_force(ck, power);
    exp->as.var.binding = power->value;
    exp->as.var.type_args.len = 0;
    note_dep(ck, power->value);
}

static bool was_error(Checker *ck, const Type *type) {
    return type_is_error(ck, type);
}

static void finish(Checker *ck, const Pending *item) {
    switch (item->kind) {
    case PENDING_LIT:
    case PENDING_PAT_LIT: finish_lit(ck, item); break;
    case PENDING_FIELD: {
        Type *type = type_reveal(item->exp->as.field.exp->type);
        int at = type->kind == TYPE_RECORD
                     ? record_find(&type->as.record, item->exp->as.field.name)
                     : -1;
        if (at >= 0) item->exp->as.field.index = (uint32_t)at;
        break;
    }
    case PENDING_UPDATE: finish_update(item); break;
    case PENDING_CTOR: {
        Type *type = type_reveal(item->exp->type);
        int at = type->kind == TYPE_SUM
                     ? sum_find(&type->as.sum, item->exp->as.ctor.index)
                     : -1;
        item->exp->as.ctor.index = at >= 0 ? (uint32_t)at : 0;
        break;
    }
    case PENDING_PAT_CTOR: {
        Type *type = type_reveal(item->pat->type);
        int at = type->kind == TYPE_SUM
                     ? sum_find(&type->as.sum, item->pat->as.ctor.name)
                     : -1;
        item->pat->as.ctor.index = at >= 0 ? (uint32_t)at : 0;
        break;
    }
    case PENDING_MATCH:
        if (!was_error(ck, item->exp->as.match.exp->type)) match_check(ck, item->exp);
        break;
    case PENDING_LET_PAT:
        if (!was_error(ck, item->pat->type)) match_check_pat(ck, item->pat);
        break;
    case PENDING_SIZE_ARGS: break;
    case PENDING_POWER: finish_power(ck, item->exp); break;
    }
}

void frame_finish(Checker *ck, Frame *frame) {
    Frame *outer = ck->frame;
    ck->frame = frame;
    sizes_retry(ck, frame);
    for (uint32_t i = 0; i < frame->pending.len; i++)
        if (frame->pending.data[i].kind == PENDING_SIZE_ARGS)
            finish_size_args(ck, &frame->pending.data[i]);
    default_vars(ck, frame);
    for (uint32_t i = 0; i < frame->pending.len; i++) {
        const Pending *item = &frame->pending.data[i];
        if (item->kind == PENDING_UPDATE)
            for (uint32_t k = 0; k < item->path->len; k++)
                vec_push(ck->arena, &item->exp->as.record_update.path, 0);
        if (item->kind != PENDING_MATCH && item->kind != PENDING_LET_PAT)
            finish(ck, item);
    }
    sizes_finish(ck, frame);
    for (uint32_t i = 0; i < frame->pending.len; i++) {
        const Pending *item = &frame->pending.data[i];
        if (item->kind == PENDING_MATCH || item->kind == PENDING_LET_PAT)
            finish(ck, item);
    }
    frame->pending.len = 0;
    ck->frame = outer;
}
