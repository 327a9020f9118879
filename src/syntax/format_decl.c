// SPDX-License-Identifier: Apache-2.0
//
// Where types, patterns, modules and declarations may be broken; as format_exp.c.
#include "syntax/format.h"

static void type_step(Format *f, const TypeExp *type) {
    format_until(f, type->span.start);
    format_node(f, STEP_TYPE, type);
}

void format_type_params(Format *f, TypeParamVec params) {
    for (uint32_t i = 0; i < params.len; i++) {
        format_break(f, BREAK_FILL);
        format_mark(f, STEP_OPEN);
        format_until(f, params.data[i].name.span.end);
        if (params.data[i].kind == TP_SIZE) format_mark(f, STEP_TOKEN);
        format_mark(f, STEP_CLOSE);
    }
}

void format_params(Format *f, PatVec params) {
    for (uint32_t i = 0; i < params.len; i++) {
        format_break(f, BREAK_FILL_USER);
        format_mark(f, STEP_OPEN);
        format_node(f, STEP_PAT, params.data[i]);
        format_mark(f, STEP_CLOSE);
    }
}

void format_result(Format *f, const TypeExp *type) {
    if (type != NULL) {
        format_until(f, type->span.start);
        format_break(f, BREAK_FILL_USER);
        format_mark(f, STEP_OPEN);
        format_node(f, STEP_TYPE, type);
    }
    format_mark(f, STEP_TOKEN);  // =
    if (type != NULL) format_mark(f, STEP_CLOSE);
}

// ---- types -----------------------------------------------------------------------

static void format_size(Format *f, const SizeExp *size) {
    if (size->kind == SIZE_EXP_EXP) {
        format_until(f, size->exp->span.start);
        format_node(f, STEP_EXP, size->exp);
    }
    format_until(f, size->span.end);
}

static void format_tuple_type(Format *f, const TypeExp *type) {
    TypeExpVec parts = type->as.tuple;
    if (parts.len == 0) return;
    format_until(f, parts.data[0]->span.start);
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    for (uint32_t i = 0; i < parts.len; i++) {
        if (i > 0) {
            format_until(f, parts.data[i]->span.start);
            format_break(f, BREAK_LINE);
        }
        format_node(f, STEP_TYPE, parts.data[i]);
    }
    format_until(f, type->span.end);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void format_record_type(Format *f, const TypeExp *type) {
    uint32_t len = type->as.record.len;
    if (len == 0) return;
    format_until(f, type->as.record.data[0].name.span.start);
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    for (uint32_t i = 0; i < len; i++) {
        const TypeField *field = &type->as.record.data[i];
        if (i > 0) {
            format_until(f, field->name.span.start);
            format_break(f, BREAK_LINE);
        }
        type_step(f, field->type);
    }
    format_until(f, type->span.end);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void format_sum(Format *f, const TypeExp *type) {
    format_mark(f, STEP_OPEN);
    for (uint32_t i = 0; i < type->as.sum.len; i++) {
        const TypeCtor *ctor = &type->as.sum.data[i];
        if (i > 0) format_break(f, BREAK_USER);
        format_until(f, ctor->name.span.end);
        for (uint32_t j = 0; j < ctor->payload.len; j++) {
            format_break(f, BREAK_SPACE);
            format_node(f, STEP_TYPE, ctor->payload.data[j]);
        }
    }
    format_mark(f, STEP_CLOSE);
}

static void format_arrows(Format *f, const TypeExp *type) {
    format_mark(f, STEP_OPEN);
    while (type->kind == TYPE_EXP_FUN) {
        type_step(f, type->as.fun.param);
        if (type->as.fun.param_name.sym != 0) format_mark(f, STEP_TOKEN);
        format_break(f, BREAK_LINE);
        type = type->as.fun.result;
        format_until(f, type->span.start);
    }
    format_node(f, STEP_TYPE, type);
    format_mark(f, STEP_CLOSE);
}

void format_type(Format *f, const TypeExp *type) {
    switch (type->kind) {
    case TYPE_EXP_NAME:
        format_until(f, type->as.name.name.span.end);
        for (uint32_t i = 0; i < type->as.name.args.len; i++) {
            const TypeArg *arg = &type->as.name.args.data[i];
            format_break(f, BREAK_SPACE);
            if (arg->is_size) format_size(f, &arg->size);
            else format_node(f, STEP_TYPE, arg->type);
        }
        break;
    case TYPE_EXP_ARRAY:
        format_size(f, &type->as.array.size);
        format_break(f, BREAK_GLUE);
        format_node(f, STEP_TYPE, type->as.array.elem);
        break;
    case TYPE_EXP_UNIQUE: {
        bool is_twice = type->as.inner->kind == TYPE_EXP_UNIQUE;
        format_until(f, type->as.inner->span.start);
        format_break(f, is_twice ? BREAK_SPACE : BREAK_GLUE);
        format_node(f, STEP_TYPE, type->as.inner);
        break;
    }
    case TYPE_EXP_TUPLE: format_tuple_type(f, type); break;
    case TYPE_EXP_RECORD: format_record_type(f, type); break;
    case TYPE_EXP_SUM: format_sum(f, type); break;
    case TYPE_EXP_FUN: format_arrows(f, type); break;
    case TYPE_EXP_STREAM: case TYPE_EXP_PAREN: type_step(f, type->as.inner); break;
    case TYPE_EXP_EXISTS: type_step(f, type->as.exists.type); break;
    }
    format_until(f, type->span.end);
}

// ---- patterns --------------------------------------------------------------------

static void format_tuple_pat(Format *f, const Pat *pat) {
    PatVec parts = pat->as.tuple;
    if (parts.len == 0) return;
    format_until(f, parts.data[0]->span.start);
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    for (uint32_t i = 0; i < parts.len; i++) {
        if (i > 0) {
            format_until(f, parts.data[i]->span.start);
            format_break(f, BREAK_LINE);
        }
        format_node(f, STEP_PAT, parts.data[i]);
    }
    format_until(f, pat->span.end);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void format_record_pat(Format *f, const Pat *pat) {
    for (uint32_t i = 0; i < pat->as.record.len; i++) {
        const FieldPat *field = &pat->as.record.data[i];
        if (field->pat == NULL) continue;
        format_until(f, field->pat->span.start);
        format_node(f, STEP_PAT, field->pat);
    }
}

void format_pat(Format *f, const Pat *pat) {
    switch (pat->kind) {
    case PAT_NAME: case PAT_WILD: break;
    case PAT_TUPLE: format_tuple_pat(f, pat); break;
    case PAT_RECORD: format_record_pat(f, pat); break;
    case PAT_LIT:
        if (!pat->as.lit.negative) break;
        format_until(f, pat->span.start + 1);
        format_break(f, BREAK_GLUE);
        break;
    case PAT_CTOR:
        format_until(f, pat->as.ctor.name.span.end);
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++) {
            format_break(f, BREAK_SPACE);
            format_node(f, STEP_PAT, pat->as.ctor.args.data[i]);
        }
        break;
    case PAT_ASCRIPT:
        format_node(f, STEP_PAT, pat->as.ascript.pat);
        type_step(f, pat->as.ascript.type);
        break;
    case PAT_ATTR:
        format_step(f, (Step){.kind = STEP_ATTR, .pos = pat->as.attr.attr.span.end});
        format_until(f, pat->as.attr.pat->span.start);
        format_node(f, STEP_PAT, pat->as.attr.pat);
        break;
    case PAT_PAREN:
        format_until(f, pat->as.inner->span.start);
        format_node(f, STEP_PAT, pat->as.inner);
        break;
    }
    format_until(f, pat->span.end);
}

// ---- bodies of modules and module types ------------------------------------------

static void format_attrs(Format *f, AttrVec attrs, Span outer, Span inner) {
    for (uint32_t i = 0; i < attrs.len; i++) {
        Span span = attrs.data[i].span;
        if (span.start < outer.start || span.start >= inner.start) continue;
        format_step(f, (Step){.kind = STEP_ATTR, .pos = span.end});
        format_mark(f, STEP_OPEN);
        format_break(f, BREAK_USER);
        format_mark(f, STEP_CLOSE);
    }
}

static void type_def(Format *f, const TypeDef *def) {
    format_until(f, def->name.span.end);
    format_type_params(f, def->params);
    if (def->type == NULL) return;
    format_until(f, def->type->span.start);
    format_indent(f, 2);
    format_mark(f, STEP_OPEN);
    format_break(f, BREAK_USER);
    format_node(f, STEP_TYPE, def->type);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void sig_step(Format *f, const SigExp *sig) {
    format_until(f, sig->span.start);
    format_node(f, STEP_SIG, sig);
}

static void format_spec(Format *f, const Spec *spec) {
    format_attrs(f, spec->attrs, (Span){0, 0}, (Span){UINT32_MAX, 0});
    switch (spec->kind) {
    case SPEC_VAL:
        format_until(f, spec->as.val.name.span.end);
        format_mark(f, STEP_PAREN);
        format_indent(f, 4);
        format_type_params(f, spec->as.val.type_params);
        type_step(f, spec->as.val.type);
        format_mark(f, STEP_OUTDENT);
        break;
    case SPEC_TYPE: type_def(f, &spec->as.type); break;
    case SPEC_MODULE:
        format_until(f, spec->as.module.name.span.end);
        format_break(f, BREAK_SPACE);
        sig_step(f, spec->as.module.sig);
        break;
    case SPEC_INCLUDE: sig_step(f, spec->as.include); break;
    }
    format_until(f, spec->span.end);
}

// Whether the braces that come next and what is in them stand on one line.
static bool is_on_one_line(const Format *f, uint32_t end) {
    enum { MOST = DOC_WIDTH };  // tokens; more do not fit
    for (uint32_t i = f->at + 1; f->tokens[i].start < end; i++)
        if (f->tokens[i].gap.has_line_end || f->tokens[i].gap.count > 0 ||
            i - f->at > MOST)
            return false;
    return true;
}

static void open_body(Format *f) {
    format_mark(f, STEP_OPEN);
    format_mark(f, STEP_TOKEN);
    format_indent(f, 2);
}

static void break_body(Format *f, bool is_short, bool is_first) {
    format_break(f, is_short   ? BREAK_LINE
                    : is_first ? BREAK_HARD
                               : BREAK_PARAGRAPH);
}

static void close_body(Format *f, bool is_short, uint32_t end) {
    DocBreak kind = is_short ? BREAK_LINE : BREAK_HARD;
    format_step(f, (Step){.kind = STEP_BREAK, .what = (uint8_t)kind, .back = 2});
    format_until(f, end);
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_CLOSE);
}

static void format_specs(Format *f, const SigExp *sig) {
    bool is_short = is_on_one_line(f, sig->span.end);
    open_body(f);
    for (uint32_t i = 0; i < sig->as.specs.len; i++) {
        break_body(f, is_short, i == 0);
        format_spec(f, &sig->as.specs.data[i]);
    }
    close_body(f, is_short, sig->span.end);
}

void format_sig(Format *f, const SigExp *sig) {
    switch (sig->kind) {
    case SIG_NAME: break;
    case SIG_SPECS:
        if (sig->as.specs.len > 0) format_specs(f, sig);
        break;
    case SIG_WITH:
        format_mark(f, STEP_OPEN);
        format_node(f, STEP_SIG, sig->as.with.sig);
        format_indent(f, 2);
        format_break(f, BREAK_LINE);
        format_until(f, sig->as.with.type.span.end);
        format_type_params(f, sig->as.with.params);
        type_step(f, sig->as.with.def);
        format_mark(f, STEP_OUTDENT);
        format_mark(f, STEP_CLOSE);
        break;
    case SIG_ARROW:
        sig_step(f, sig->as.arrow.from);
        sig_step(f, sig->as.arrow.to);
        break;
    case SIG_PAREN: sig_step(f, sig->as.inner); break;
    }
    format_until(f, sig->span.end);
}

static void format_mod_body(Format *f, const ModExp *mod) {
    bool is_short = is_on_one_line(f, mod->span.end);
    open_body(f);
    for (uint32_t i = 0; i < mod->as.body.len; i++) {
        break_body(f, is_short, i == 0);
        format_node(f, STEP_DECL, mod->as.body.data[i]);
    }
    close_body(f, is_short, mod->span.end);
}

static void mod_step(Format *f, const ModExp *mod) {
    format_until(f, mod->span.start);
    format_node(f, STEP_MOD, mod);
}

void format_mod(Format *f, const ModExp *mod) {
    switch (mod->kind) {
    case MOD_NAME: case MOD_IMPORT: break;
    case MOD_BODY:
        if (mod->as.body.len > 0) format_mod_body(f, mod);
        break;
    case MOD_ASCRIPT:
        format_node(f, STEP_MOD, mod->as.ascript.mod);
        format_break(f, BREAK_SPACE);
        sig_step(f, mod->as.ascript.sig);
        break;
    case MOD_APPLY:
        format_node(f, STEP_MOD, mod->as.apply.fun);
        mod_step(f, mod->as.apply.arg);
        break;
    case MOD_LAMBDA:
        sig_step(f, mod->as.lambda.param.sig);
        if (mod->as.lambda.sig != NULL) {
            format_mark(f, STEP_TOKEN);  // the parenthesis
            format_break(f, BREAK_SPACE);
            sig_step(f, mod->as.lambda.sig);
        }
        mod_step(f, mod->as.lambda.body);
        break;
    case MOD_PAREN: mod_step(f, mod->as.inner); break;
    }
    format_until(f, mod->span.end);
}

// ---- declarations ----------------------------------------------------------------

static void format_val(Format *f, const Decl *decl) {
    PatVec params = decl->as.val.params;
    Span name = decl->as.val.name.span;
    format_mark(f, STEP_OPEN);
    format_indent(f, 4);
    if (params.len == 2 && params.data[0]->span.start < name.start) {
        format_until(f, params.data[0]->span.start);
        format_node(f, STEP_PAT, params.data[0]);
        format_until(f, params.data[1]->span.start);
        format_node(f, STEP_PAT, params.data[1]);
    } else {
        format_until(f, name.end);
        format_mark(f, STEP_PAREN);
        format_type_params(f, decl->as.val.type_params);
        format_params(f, params);
    }
    format_result(f, decl->as.val.result);
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_CLOSE);
    format_value(f, BREAK_USER, decl->as.val.body);
}

static void format_module(Format *f, const Decl *decl) {
    format_until(f, decl->as.module.name.span.end);
    for (uint32_t i = 0; i < decl->as.module.params.len; i++)
        sig_step(f, decl->as.module.params.data[i].sig);
    if (decl->as.module.sig != NULL) {
        if (decl->as.module.params.len > 0) format_mark(f, STEP_TOKEN);
        format_break(f, BREAK_SPACE);
        sig_step(f, decl->as.module.sig);
    }
    mod_step(f, decl->as.module.body);
}

void format_decl(Format *f, const Decl *decl) {
    const Decl *local = decl->kind == DECL_LOCAL ? decl->as.local : NULL;
    Span none = {UINT32_MAX, 0};
    if (local != NULL) format_attrs(f, local->attrs, decl->span, local->span);
    else format_attrs(f, decl->attrs, decl->span, none);
    switch (decl->kind) {
    case DECL_VAL: format_val(f, decl); break;
    case DECL_TYPE: type_def(f, &decl->as.type); break;
    case DECL_MODULE: format_module(f, decl); break;
    case DECL_MODULE_TYPE: sig_step(f, decl->as.module_type.sig); break;
    case DECL_OPEN: mod_step(f, decl->as.open); break;
    case DECL_IMPORT: break;
    case DECL_LOCAL:
        format_until(f, local->span.start);
        format_node(f, STEP_DECL, local);
        break;
    }
    format_until(f, decl->span.end);
}
