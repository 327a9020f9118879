// SPDX-License-Identifier: Apache-2.0
//
// The typed program as text, for people and tests (weft dump --stage=typed).
#include "check/checker.h"

typedef struct Printer {
    const Cx *cx;
    StrBuf *out;
    int indent;
} Printer;

static void put_exp(Printer *p, const TExp *exp);

static void put(Printer *p, const char *text) {
    strbuf_cstr(p->out, text);
}

static void put_sym(Printer *p, Sym sym) {
    strbuf_str(p->out, sym_str(&p->cx->syms, sym));
}

static void put_line(Printer *p) {
    strbuf_char(p->out, '\n');
    for (int i = 0; i < p->indent; i++) put(p, "  ");
}

static void put_binding(Printer *p, const Binding *binding) {
    if (binding->name == 0) put(p, "_");
    put_sym(p, binding->name);
}

static void put_pat(Printer *p, const TPat *pat) {
    if (pat->ascribed != NULL) put(p, "(");
    switch (pat->kind) {
    case TPAT_NAME: put_binding(p, pat->as.name); break;
    case TPAT_WILD: put(p, "_"); break;
    case TPAT_RECORD:
        put(p, "(");
        for (uint32_t i = 0; i < pat->as.record.len; i++) {
            if (i > 0) put(p, ", ");
            put_pat(p, pat->as.record.data[i]);
        }
        put(p, ")");
        break;
    case TPAT_LIT:
        strbuf_printf(p->out, "0x%llx", (unsigned long long)pat->as.lit.bits);
        break;
    case TPAT_CTOR:
        put(p, "#");
        put_sym(p, pat->as.ctor.name);
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++) {
            put(p, " ");
            put_pat(p, pat->as.ctor.args.data[i]);
        }
        break;
    }
    if (pat->ascribed == NULL) return;
    put(p, ": ");
    type_print(p->cx, pat->ascribed, p->out);
    put(p, ")");
}

static void put_sizes(Printer *p, const BindingVec *sizes) {
    for (uint32_t i = 0; i < sizes->len; i++) {
        put(p, "[");
        put_binding(p, sizes->data[i]);
        put(p, "] ");
    }
}

static void put_inner(Printer *p, const TExp *exp) {
    bool atom = exp->kind == TEXP_LIT || exp->kind == TEXP_VAR ||
                exp->kind == TEXP_STRING || exp->kind == TEXP_RECORD ||
                exp->kind == TEXP_ARRAY || exp->kind == TEXP_INDEX ||
                exp->kind == TEXP_FIELD;
    if (!atom) put(p, "(");
    put_exp(p, exp);
    if (!atom) put(p, ")");
}

static void put_items(Printer *p, const TExpVec *items, const char *open,
                      const char *close) {
    put(p, open);
    for (uint32_t i = 0; i < items->len; i++) {
        if (i > 0) put(p, ", ");
        put_exp(p, items->data[i]);
    }
    put(p, close);
}

static void put_dims(Printer *p, const TIndexVec *dims) {
    put(p, "[");
    for (uint32_t i = 0; i < dims->len; i++) {
        const TIndex *dim = &dims->data[i];
        if (i > 0) put(p, ", ");
        if (!dim->is_slice) {
            put_exp(p, dim->index);
            continue;
        }
        if (dim->from != NULL) put_exp(p, dim->from);
        put(p, ":");
        if (dim->to != NULL) put_exp(p, dim->to);
        if (dim->step == NULL) continue;
        put(p, ":");
        put_exp(p, dim->step);
    }
    put(p, "]");
}

static void put_var(Printer *p, const TExp *exp) {
    const Binding *binding = exp->as.var.binding;
    if (binding->kind == BIND_INTRINSIC) {
        put(p, "%");
        put_sym(p, binding->intrinsic);
    } else {
        put_binding(p, binding);
    }
    if (exp->as.var.type_args.len + exp->as.var.size_args.len == 0) return;
    put(p, "{");
    bool first = true;
    for (uint32_t i = 0; i < exp->as.var.size_args.len; i++) {
        put(p, first ? "[" : ", [");
        size_print(p->cx, exp->as.var.size_args.data[i], p->out);
        put(p, "]");
        first = false;
    }
    for (uint32_t i = 0; i < exp->as.var.type_args.len; i++) {
        if (!first) put(p, ", ");
        type_print(p->cx, exp->as.var.type_args.data[i], p->out);
        first = false;
    }
    put(p, "}");
}

static void put_lit(Printer *p, const TExp *exp) {
    const Type *type = type_resolve(exp->type);
    if (type->kind != TYPE_SCALAR) {
        put(p, "?");
        return;
    }
    unsigned long long bits = exp->as.lit.bits;
    if (type->as.scalar == SCALAR_BOOL) put(p, bits ? "true" : "false");
    else if (scalar_is_float(type->as.scalar)) strbuf_printf(p->out, "0x%llx", bits);
    else strbuf_printf(p->out, "%llu", bits);
    if (type->as.scalar != SCALAR_BOOL) put(p, scalar_info[type->as.scalar].name);
}

static void put_loop(Printer *p, const TExp *exp) {
    put(p, "loop ");
    put_sizes(p, &exp->as.loop.sizes);
    put_pat(p, exp->as.loop.pat);
    put(p, ": ");
    type_print(p->cx, exp->as.loop.pat->type, p->out);
    put(p, " = ");
    put_exp(p, exp->as.loop.init);
    switch (exp->as.loop.form) {
    case TLOOP_FOR:
        put(p, " for ");
        put_binding(p, exp->as.loop.index);
        put(p, " < ");
        break;
    case TLOOP_IN:
        put(p, " for ");
        put_pat(p, exp->as.loop.elem);
        put(p, " in ");
        break;
    case TLOOP_WHILE: put(p, " while "); break;
    }
    put_exp(p, exp->as.loop.bound);
    put(p, " do");
    p->indent++;
    put_line(p);
    put_exp(p, exp->as.loop.body);
    p->indent--;
}

static void put_let(Printer *p, const TExp *exp) {
    for (; exp->kind == TEXP_LET; exp = exp->as.let.body) {
        put(p, "let ");
        put_sizes(p, &exp->as.let.sizes);
        put_pat(p, exp->as.let.pat);
        put(p, ": ");
        type_print(p->cx, exp->as.let.pat->type, p->out);
        put(p, " =");
        p->indent++;
        put_line(p);
        put_exp(p, exp->as.let.exp);
        p->indent--;
        put_line(p);
    }
    put(p, "in ");
    put_exp(p, exp);
}

static void put_match(Printer *p, const TExp *exp) {
    put(p, "match ");
    put_exp(p, exp->as.match.exp);
    for (uint32_t i = 0; i < exp->as.match.cases.len; i++) {
        put_line(p);
        put(p, "case ");
        put_pat(p, exp->as.match.cases.data[i].pat);
        put(p, " -> ");
        put_exp(p, exp->as.match.cases.data[i].body);
    }
}

static void put_exp(Printer *p, const TExp *exp) {
    if (stack_is_low(&p->cx->stack)) {
        put(p, "...");
        return;
    }
    switch (exp->kind) {
    case TEXP_LIT: put_lit(p, exp); break;
    case TEXP_STRING: strbuf_printf(p->out, "\"%.*s\"", STR_ARG(exp->as.string)); break;
    case TEXP_VAR: put_var(p, exp); break;
    case TEXP_RECORD: put_items(p, &exp->as.items, "(", ")"); break;
    case TEXP_ARRAY: put_items(p, &exp->as.items, "[", "]"); break;
    case TEXP_FIELD:
        put_inner(p, exp->as.field.exp);
        put(p, ".");
        put_sym(p, exp->as.field.name);
        break;
    case TEXP_INDEX:
        put_inner(p, exp->as.index.exp);
        put_dims(p, &exp->as.index.dims);
        break;
    case TEXP_APPLY:
        put_inner(p, exp->as.apply.fun);
        for (uint32_t i = 0; i < exp->as.apply.args.len; i++) {
            put(p, " ");
            put_inner(p, exp->as.apply.args.data[i]);
        }
        break;
    case TEXP_LAMBDA:
        put(p, "\\");
        for (uint32_t i = 0; i < exp->as.lambda.params.len; i++) {
            put_pat(p, exp->as.lambda.params.data[i]);
            put(p, " ");
        }
        put(p, "-> ");
        put_exp(p, exp->as.lambda.body);
        break;
    case TEXP_LET: put_let(p, exp); break;
    case TEXP_IF:
        put(p, "if ");
        put_exp(p, exp->as.if_exp.cond);
        put(p, " then ");
        put_exp(p, exp->as.if_exp.then_exp);
        put(p, " else ");
        put_exp(p, exp->as.if_exp.else_exp);
        break;
    case TEXP_AND:
    case TEXP_OR:
        put_inner(p, exp->as.logic.left);
        put(p, exp->kind == TEXP_AND ? " && " : " || ");
        put_inner(p, exp->as.logic.right);
        break;
    case TEXP_LOOP: put_loop(p, exp); break;
    case TEXP_RANGE:
        put_inner(p, exp->as.range.start);
        if (exp->as.range.second != NULL) {
            put(p, "..");
            put_inner(p, exp->as.range.second);
        }
        put(p, exp->as.range.kind == TRANGE_TO      ? "..."
               : exp->as.range.kind == TRANGE_UP_TO ? "..<"
                                                    : "..>");
        put_inner(p, exp->as.range.end);
        break;
    case TEXP_UPDATE:
        put_inner(p, exp->as.update.exp);
        put(p, " with ");
        put_dims(p, &exp->as.update.dims);
        put(p, " = ");
        put_exp(p, exp->as.update.value);
        break;
    case TEXP_RECORD_UPDATE:
        put_inner(p, exp->as.record_update.exp);
        put(p, " with ");
        for (uint32_t i = 0; i < exp->as.record_update.path.len; i++)
            strbuf_printf(p->out, ".%u", exp->as.record_update.path.data[i]);
        put(p, " = ");
        put_exp(p, exp->as.record_update.value);
        break;
    case TEXP_COERCE:
        put_inner(p, exp->as.inner);
        put(p, " :> ");
        type_print(p->cx, exp->type, p->out);
        break;
    case TEXP_ASSERT:
        put(p, "assert ");
        put_inner(p, exp->as.assert_exp.cond);
        put(p, " ");
        put_inner(p, exp->as.assert_exp.body);
        break;
    case TEXP_CTOR:
        strbuf_printf(p->out, "#%u", exp->as.ctor.index);
        for (uint32_t i = 0; i < exp->as.ctor.args.len; i++) {
            put(p, " ");
            put_inner(p, exp->as.ctor.args.data[i]);
        }
        break;
    case TEXP_MATCH: put_match(p, exp); break;
    case TEXP_HOLE: put(p, "???"); break;
    case TEXP_ATTR:
        put(p, "#[");
        put_sym(p, exp->as.attr.name);
        put(p, "] ");
        put_exp(p, exp->as.attr.exp);
        break;
    }
}

static void put_global(Printer *p, const Binding *binding) {
    put(p, "def ");
    put_sym(p, binding->name);
    for (uint32_t i = 0; i < binding->size_params.len; i++) {
        put(p, i == 0 ? " [" : "[");
        put_binding(p, binding->size_params.data[i]);
        put(p, "]");
    }
    for (uint32_t i = 0; i < binding->type_params.len; i++) {
        put(p, " '");
        put_sym(p, binding->type_params.data[i]->name);
    }
    put(p, ": ");
    type_print(p->cx, binding->type, p->out);
    put(p, " =");
    p->indent = 1;
    put_line(p);
    if (binding->body != NULL) put_exp(p, binding->body);
    p->indent = 0;
    put(p, "\n");
}

void check_print(const Cx *cx, const TProgram *program, StrBuf *out) {
    Printer printer = {cx, out, 0};
    for (uint32_t i = 0; i < program->globals.len; i++)
        put_global(&printer, program->globals.data[i]);
    for (uint32_t i = 0; i < program->entries.len; i++) {
        put(&printer, "entry ");
        put_sym(&printer, program->entries.data[i].name);
        put(&printer, "\n");
    }
}

// ---- expressions inside sizes: as a user would write them --------------------------

typedef struct OperatorText {
    const char *intrinsic, *text;
} OperatorText;

static const char *operator_text(const Cx *cx, const TExp *fun) {
    static const OperatorText texts[] = {
#define OPERATOR(text, intrinsic, set, shape) {intrinsic, text},
#include "check/operators.def"
#undef OPERATOR
    };
    if (fun->kind != TEXP_VAR || fun->as.var.binding->kind != BIND_INTRINSIC)
        return NULL;
    Str name = sym_str(&cx->syms, fun->as.var.binding->intrinsic);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (str_eq(name, str_of(texts[i].intrinsic))) return texts[i].text;
    return NULL;
}

static void put_size_part(const Cx *cx, const TExp *exp, StrBuf *out) {
    bool open = exp->kind == TEXP_APPLY;
    if (open) strbuf_char(out, '(');
    texp_print_size(cx, exp, out);
    if (open) strbuf_char(out, ')');
}

static bool is_product(const Cx *cx, const TExp *exp) {
    if (exp->kind != TEXP_APPLY) return false;
    const char *text = operator_text(cx, exp->as.apply.fun);
    return text != NULL && text[0] == '*' && text[1] == '\0';
}

// A left operand needs no parentheses if it binds as tightly.
static void put_size_left(const Cx *cx, const TExp *exp, const char *op, StrBuf *out) {
    bool sum = op[0] == '+' || op[0] == '-';
    if (exp->kind == TEXP_APPLY && exp->as.apply.args.len == 2 &&
        (is_product(cx, exp) || (sum && operator_text(cx, exp->as.apply.fun) != NULL)))
        texp_print_size(cx, exp, out);
    else put_size_part(cx, exp, out);
}

void texp_print_size(const Cx *cx, const TExp *exp, StrBuf *out) {
    switch (exp->kind) {
    case TEXP_LIT: strbuf_printf(out, "%lld", (long long)exp->as.lit.bits); return;
    case TEXP_VAR: {
        const Binding *binding = exp->as.var.binding;
        if (binding->kind == BIND_SIZE && binding->check_data != NULL)
            size_print(cx, binding->check_data, out);
        else
            strbuf_str(out, binding->name == 0 ? STR("_")
                                               : sym_str(&cx->syms, binding->name));
        return;
    }
    case TEXP_FIELD:
        put_size_part(cx, exp->as.field.exp, out);
        strbuf_char(out, '.');
        strbuf_str(out, sym_str(&cx->syms, exp->as.field.name));
        return;
    case TEXP_INDEX:
        put_size_part(cx, exp->as.index.exp, out);
        strbuf_char(out, '[');
        for (uint32_t i = 0; i < exp->as.index.dims.len; i++) {
            if (i > 0) strbuf_cstr(out, ", ");
            texp_print_size(cx, exp->as.index.dims.data[i].index, out);
        }
        strbuf_char(out, ']');
        return;
    case TEXP_RECORD:
        strbuf_char(out, '(');
        for (uint32_t i = 0; i < exp->as.items.len; i++) {
            if (i > 0) strbuf_cstr(out, ", ");
            texp_print_size(cx, exp->as.items.data[i], out);
        }
        strbuf_char(out, ')');
        return;
    case TEXP_APPLY: {
        const TExpVec *args = &exp->as.apply.args;
        const char *op = operator_text(cx, exp->as.apply.fun);
        if (op != NULL && args->len == 2) {
            put_size_left(cx, args->data[0], op, out);
            strbuf_printf(out, " %s ", op);
            if (is_product(cx, args->data[1]) && (op[0] == '+' || op[0] == '-'))
                texp_print_size(cx, args->data[1], out);
            else put_size_part(cx, args->data[1], out);
            return;
        }
        if (op != NULL && args->len == 1) strbuf_char(out, '-');
        else put_size_part(cx, exp->as.apply.fun, out);
        for (uint32_t i = 0; i < args->len; i++) {
            if (op == NULL) strbuf_char(out, ' ');
            put_size_part(cx, args->data[i], out);
        }
        return;
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
    case TEXP_ATTR: strbuf_cstr(out, "..."); return;
    }
}
