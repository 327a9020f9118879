// SPDX-License-Identifier: Apache-2.0
//
// Printing names, strings, types and patterns.
#include "syntax/print.h"

void print_line(Printer *p) {
    enum { DEEPEST = 60 };  // so that the text stays linear in the tree
    strbuf_char(p->out, '\n');
    for (uint32_t i = 0; i < p->indent && i < DEEPEST; i++) strbuf_char(p->out, ' ');
}

void print_text(Printer *p, const char *text) {
    strbuf_cstr(p->out, text);
}

void print_sym(Printer *p, Sym sym) {
    strbuf_str(p->out, sym_str(&p->cx->syms, sym));
}

bool print_is_operator(const Printer *p, Sym sym) {
    Str name = sym_str(&p->cx->syms, sym);
    unsigned char c = name.len == 0 ? 'a' : (unsigned char)name.ptr[0];
    bool is_letter = (unsigned)((c | 32) - 'a') < 26, is_digit = c >= '0' && c <= '9';
    return !is_letter && !is_digit && c != '_';
}

void print_value_name(Printer *p, Sym sym) {
    bool is_operator = print_is_operator(p, sym);
    if (is_operator) print_text(p, "(");
    print_sym(p, sym);
    if (is_operator) print_text(p, ")");
}

void print_qual_name(Printer *p, const QualName *name) {
    for (uint32_t i = 0; i < name->quals.len; i++) {
        print_sym(p, name->quals.data[i].sym);
        print_text(p, ".");
    }
    print_sym(p, name->name.sym);
}

static bool is_digit_at(Str bytes, size_t at) {
    return at < bytes.len && bytes.ptr[at] >= '0' && bytes.ptr[at] <= '9';
}

void print_string(Printer *p, Str bytes) {
    print_text(p, "\"");
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        if (c == '\n') print_text(p, "\\n");
        else if (c == '\t') print_text(p, "\\t");
        else if (c == '\r') print_text(p, "\\r");
        else if (c == '"') print_text(p, "\\\"");
        else if (c == '\\') print_text(p, "\\\\");
        else if (c >= 0x20 && c != 0x7f) strbuf_char(p->out, (char)c);
        else strbuf_printf(p->out, "\\%u%s", c, is_digit_at(bytes, i + 1) ? "\\&" : "");
    }
    print_text(p, "\"");
}

static void print_attr_body(Printer *p, const Attr *attr) {
    print_sym(p, attr->name.sym);
    if (attr->args.len == 0) return;
    print_text(p, "(");
    for (uint32_t i = 0; i < attr->args.len; i++) {
        if (i > 0) print_text(p, ", ");
        print_attr_body(p, &attr->args.data[i]);
    }
    print_text(p, ")");
}

void print_attr(Printer *p, const Attr *attr) {
    print_text(p, "#[");
    print_attr_body(p, attr);
    print_text(p, "]");
}

void print_size_names(Printer *p, NameVec names) {
    for (uint32_t i = 0; i < names.len; i++) {
        print_text(p, "[");
        print_sym(p, names.data[i].sym);
        print_text(p, "]");
    }
}

void print_type_params(Printer *p, TypeParamVec params) {
    static const char *const before[] = {[TP_SIZE] = " [", [TP_TYPE] = " '",
                                         [TP_SIZE_LIFTED] = " '~", [TP_LIFTED] = " '^"};
    for (uint32_t i = 0; i < params.len; i++) {
        print_text(p, before[params.data[i].kind]);
        print_sym(p, params.data[i].name.sym);
        if (params.data[i].kind == TP_SIZE) print_text(p, "]");
    }
}

void print_params(Printer *p, PatVec params) {
    for (uint32_t i = 0; i < params.len; i++) {
        print_text(p, " ");
        print_pat(p, params.data[i]);
    }
}

// ---- types -----------------------------------------------------------------------

void print_size(Printer *p, const SizeExp *size) {
    print_text(p, "[");
    if (size->kind == SIZE_EXP_RAGGED) print_text(p, "?");
    if (size->kind == SIZE_EXP_EXP) print_exp(p, size->exp);
    print_text(p, "]");
}

static void print_type_name(Printer *p, const TypeExp *type) {
    print_qual_name(p, &type->as.name.name);
    for (uint32_t i = 0; i < type->as.name.args.len; i++) {
        const TypeArg *arg = &type->as.name.args.data[i];
        print_text(p, " ");
        if (arg->is_size) print_size(p, &arg->size);
        else print_type(p, arg->type);
    }
}

static void print_tuple_type(Printer *p, const TypeExp *type) {
    print_text(p, "(");
    for (uint32_t i = 0; i < type->as.tuple.len; i++) {
        if (i > 0) print_text(p, ", ");
        print_type(p, type->as.tuple.data[i]);
    }
    print_text(p, ")");
}

static void print_record_type(Printer *p, const TypeExp *type) {
    print_text(p, "{");
    for (uint32_t i = 0; i < type->as.record.len; i++) {
        if (i > 0) print_text(p, ", ");
        print_sym(p, type->as.record.data[i].name.sym);
        print_text(p, ": ");
        print_type(p, type->as.record.data[i].type);
    }
    print_text(p, "}");
}

static void print_sum_type(Printer *p, const TypeExp *type) {
    for (uint32_t i = 0; i < type->as.sum.len; i++) {
        const TypeCtor *ctor = &type->as.sum.data[i];
        print_text(p, i > 0 ? " | #" : "#");
        print_sym(p, ctor->name.sym);
        for (uint32_t j = 0; j < ctor->payload.len; j++) {
            print_text(p, " ");
            print_type(p, ctor->payload.data[j]);
        }
    }
}

static void print_arrow_param(Printer *p, const TypeExp *type) {
    bool is_named = type->as.fun.param_name.sym != 0;
    if (is_named) {
        print_text(p, "(");
        print_sym(p, type->as.fun.param_name.sym);
        print_text(p, ": ");
    }
    print_type(p, type->as.fun.param);
    print_text(p, is_named ? ") -> " : " -> ");
}

static void print_inner_type(Printer *p, const char *open, const TypeExp *type,
                             const char *close) {
    print_text(p, open);
    print_type(p, type);
    print_text(p, close);
}

void print_type(Printer *p, const TypeExp *type) {
    for (;;) {
        switch (type->kind) {
        case TYPE_EXP_ARRAY:
            print_size(p, &type->as.array.size);
            type = type->as.array.elem;
            continue;
        case TYPE_EXP_UNIQUE:
            type = type->as.inner;
            print_text(p, type->kind == TYPE_EXP_UNIQUE ? "* " : "*");
            continue;
        case TYPE_EXP_FUN:
            print_arrow_param(p, type);
            type = type->as.fun.result;
            continue;
        case TYPE_EXP_EXISTS:
            print_text(p, "?");
            print_size_names(p, type->as.exists.sizes);
            print_text(p, ".");
            type = type->as.exists.type;
            continue;
        case TYPE_EXP_NAME: print_type_name(p, type); return;
        case TYPE_EXP_TUPLE: print_tuple_type(p, type); return;
        case TYPE_EXP_RECORD: print_record_type(p, type); return;
        case TYPE_EXP_SUM: print_sum_type(p, type); return;
        case TYPE_EXP_STREAM: print_inner_type(p, "{", type->as.inner, "}"); return;
        case TYPE_EXP_PAREN: print_inner_type(p, "(", type->as.inner, ")"); return;
        }
    }
}

// ---- patterns --------------------------------------------------------------------

static void print_tuple_pat(Printer *p, const Pat *pat) {
    print_text(p, "(");
    for (uint32_t i = 0; i < pat->as.tuple.len; i++) {
        if (i > 0) print_text(p, ", ");
        print_pat(p, pat->as.tuple.data[i]);
    }
    print_text(p, ")");
}

static void print_record_pat(Printer *p, const Pat *pat) {
    print_text(p, "{");
    for (uint32_t i = 0; i < pat->as.record.len; i++) {
        const FieldPat *field = &pat->as.record.data[i];
        if (i > 0) print_text(p, ", ");
        print_sym(p, field->name.sym);
        if (field->pat == NULL) continue;
        print_text(p, " = ");
        print_pat(p, field->pat);
    }
    print_text(p, "}");
}

void print_pat(Printer *p, const Pat *pat) {
    switch (pat->kind) {
    case PAT_NAME: print_value_name(p, pat->as.name.sym); return;
    case PAT_WILD: print_text(p, "_"); return;
    case PAT_TUPLE: print_tuple_pat(p, pat); return;
    case PAT_RECORD: print_record_pat(p, pat); return;
    case PAT_LIT:
        if (pat->as.lit.negative) print_text(p, "-");
        strbuf_str(p->out, pat->as.lit.lit.text);
        return;
    case PAT_CTOR:
        print_text(p, "#");
        print_sym(p, pat->as.ctor.name.sym);
        print_params(p, pat->as.ctor.args);
        return;
    case PAT_ASCRIPT:
        print_pat(p, pat->as.ascript.pat);
        print_text(p, ": ");
        print_type(p, pat->as.ascript.type);
        return;
    case PAT_ATTR:
        print_attr(p, &pat->as.attr.attr);
        print_text(p, " ");
        print_pat(p, pat->as.attr.pat);
        return;
    case PAT_PAREN:
        print_text(p, "(");
        print_pat(p, pat->as.inner);
        print_text(p, ")");
        return;
    }
}
