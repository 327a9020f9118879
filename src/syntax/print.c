// SPDX-License-Identifier: Apache-2.0
//
// Printing declarations, modules and module types; the entries of the printer. Comments
// other than documentation are not in the tree and so are not printed.
#include "syntax/print.h"

#include <string.h>

#include "syntax/syntax.h"

enum { STEP = 2 };

static void print_doc(Printer *p, Str doc) {
    for (size_t at = 0; doc.len != 0 && at <= doc.len;) {
        const char *line = doc.ptr + at;
        const char *newline = memchr(line, '\n', doc.len - at);
        size_t len = newline == NULL ? doc.len - at : (size_t)(newline - line);
        print_text(p, at == 0 ? "-- |" : "--");
        if (len != 0) print_text(p, " ");
        strbuf_bytes(p->out, line, len);
        print_line(p);
        at += len + 1;
    }
}

static void print_attrs(Printer *p, AttrVec attrs) {
    for (uint32_t i = 0; i < attrs.len; i++) {
        print_attr(p, &attrs.data[i]);
        print_line(p);
    }
}

static void print_mod(Printer *p, const ModExp *mod);
static void print_sig(Printer *p, const SigExp *sig);

// ---- specifications and module types ---------------------------------------------

static void print_type_def(Printer *p, const TypeDef *def) {
    print_text(p, def->lifting == TP_SIZE_LIFTED ? "type~ "
                  : def->lifting == TP_LIFTED    ? "type^ "
                                                 : "type ");
    print_sym(p, def->name.sym);
    print_type_params(p, def->params);
    if (def->type == NULL) return;
    print_text(p, " = ");
    print_type(p, def->type);
}

static void print_spec(Printer *p, const Spec *spec) {
    print_doc(p, spec->doc);
    print_attrs(p, spec->attrs);
    switch (spec->kind) {
    case SPEC_VAL:
        print_text(p, "val ");
        print_value_name(p, spec->as.val.name.sym);
        print_type_params(p, spec->as.val.type_params);
        print_text(p, " : ");
        print_type(p, spec->as.val.type);
        return;
    case SPEC_TYPE: print_type_def(p, &spec->as.type); return;
    case SPEC_MODULE:
        print_text(p, "module ");
        print_sym(p, spec->as.module.name.sym);
        print_text(p, " : ");
        print_sig(p, spec->as.module.sig);
        return;
    case SPEC_INCLUDE:
        print_text(p, "include ");
        print_sig(p, spec->as.include);
        return;
    }
}

static void print_specs(Printer *p, const SigExp *sig) {
    print_text(p, "{");
    p->indent += STEP;
    for (uint32_t i = 0; i < sig->as.specs.len; i++) {
        print_line(p);
        print_spec(p, &sig->as.specs.data[i]);
    }
    p->indent -= STEP;
    if (sig->as.specs.len > 0) print_line(p);
    print_text(p, "}");
}

static void print_sig_head(Printer *p, const SigExp *sig) {
    switch (sig->kind) {
    case SIG_NAME: print_qual_name(p, &sig->as.name); return;
    case SIG_SPECS: print_specs(p, sig); return;
    case SIG_PAREN:
        print_text(p, "(");
        print_sig(p, sig->as.inner);
        print_text(p, ")");
        return;
    case SIG_WITH: case SIG_ARROW: return;  // print_refined, print_sig
    }
}

// S with t = u with v = w; the first "with" is the innermost.
static void print_refined(Printer *p, const SigExp *sig) {
    struct { const SigExp **data; uint32_t len, cap; } withs = {0};
    for (; sig->kind == SIG_WITH; sig = sig->as.with.sig)
        vec_push(p->out->arena, &withs, sig);
    print_sig_head(p, sig);
    while (withs.len > 0) {
        const SigExp *with = withs.data[--withs.len];
        print_text(p, " with ");
        print_qual_name(p, &with->as.with.type);
        print_type_params(p, with->as.with.params);
        print_text(p, " = ");
        print_type(p, with->as.with.def);
    }
}

static void print_mod_param(Printer *p, Name name, const SigExp *sig) {
    print_text(p, "(");
    print_sym(p, name.sym);
    print_text(p, ": ");
    print_sig(p, sig);
    print_text(p, ")");
}

static void print_sig(Printer *p, const SigExp *sig) {
    for (; sig->kind == SIG_ARROW; sig = sig->as.arrow.to) {
        if (sig->as.arrow.param.sym != 0)
            print_mod_param(p, sig->as.arrow.param, sig->as.arrow.from);
        else print_refined(p, sig->as.arrow.from);
        print_text(p, " -> ");
    }
    print_refined(p, sig);
}

// ---- declarations ----------------------------------------------------------------

static void print_val(Printer *p, const Decl *decl) {
    print_text(p, decl->as.val.is_entry ? "entry " : "def ");
    print_value_name(p, decl->as.val.name.sym);
    print_type_params(p, decl->as.val.type_params);
    print_params(p, decl->as.val.params);
    if (decl->as.val.result != NULL) {
        print_text(p, " : ");
        print_type(p, decl->as.val.result);
    }
    print_text(p, " =");
    print_body(p, decl->as.val.body);
}

static void print_module(Printer *p, const Decl *decl) {
    print_text(p, "module ");
    print_sym(p, decl->as.module.name.sym);
    for (uint32_t i = 0; i < decl->as.module.params.len; i++) {
        const ModParam *param = &decl->as.module.params.data[i];
        print_text(p, " ");
        print_mod_param(p, param->name, param->sig);
    }
    if (decl->as.module.sig != NULL) {
        print_text(p, " : ");
        print_sig(p, decl->as.module.sig);
    }
    print_text(p, " = ");
    print_mod(p, decl->as.module.body);
}

static void print_decl(Printer *p, const Decl *decl) {
    for (;; decl = decl->as.local) {
        print_doc(p, decl->doc);
        print_attrs(p, decl->attrs);
        if (decl->kind != DECL_LOCAL) break;
        print_text(p, "local ");
        // What stands before a local declaration's own word starts lines of its own.
        if (decl->as.local->doc.len != 0 || decl->as.local->attrs.len != 0)
            print_line(p);
    }
    switch (decl->kind) {
    case DECL_VAL: print_val(p, decl); return;
    case DECL_TYPE: print_type_def(p, &decl->as.type); return;
    case DECL_MODULE: print_module(p, decl); return;
    case DECL_MODULE_TYPE:
        print_text(p, "module type ");
        print_sym(p, decl->as.module_type.name.sym);
        print_text(p, " = ");
        print_sig(p, decl->as.module_type.sig);
        return;
    case DECL_OPEN:
        print_text(p, "open ");
        print_mod(p, decl->as.open);
        return;
    case DECL_IMPORT:
        print_text(p, "import ");
        print_string(p, decl->as.import);
        return;
    case DECL_LOCAL: return;  // gone in the loop
    }
}

// A blank line goes between declarations unless both are of one simple kind.
static bool is_close(const Decl *before, const Decl *decl) {
    bool is_simple = decl->kind == DECL_IMPORT || decl->kind == DECL_OPEN ||
                     decl->kind == DECL_TYPE;
    return is_simple && decl->kind == before->kind && decl->doc.len == 0 &&
           decl->attrs.len == 0;
}

static void print_decls(Printer *p, DeclVec decls, bool is_open) {
    for (uint32_t i = 0; i < decls.len; i++) {
        if (i > 0 && !is_close(decls.data[i - 1], decls.data[i]))
            strbuf_char(p->out, '\n');
        if (i > 0 || is_open) print_line(p);
        print_decl(p, decls.data[i]);
    }
}

// ---- module expressions ----------------------------------------------------------

static void print_mod_body(Printer *p, const ModExp *mod) {
    print_text(p, "{");
    p->indent += STEP;
    print_decls(p, mod->as.body, true);
    p->indent -= STEP;
    if (mod->as.body.len > 0) print_line(p);
    print_text(p, "}");
}

static const ModExp *print_mod_lambda(Printer *p, const ModExp *mod) {
    print_text(p, "\\");
    print_mod_param(p, mod->as.lambda.param.name, mod->as.lambda.param.sig);
    if (mod->as.lambda.sig != NULL) {
        print_text(p, " : ");
        print_sig(p, mod->as.lambda.sig);
    }
    print_text(p, " -> ");
    return mod->as.lambda.body;
}

static void print_mod_head(Printer *p, const ModExp *mod) {
    while (mod->kind == MOD_LAMBDA) mod = print_mod_lambda(p, mod);
    switch (mod->kind) {
    case MOD_NAME: print_qual_name(p, &mod->as.name); return;
    case MOD_BODY: print_mod_body(p, mod); return;
    case MOD_IMPORT:
        print_text(p, "import ");
        print_string(p, mod->as.import);
        return;
    case MOD_PAREN:
        print_text(p, "(");
        print_mod(p, mod->as.inner);
        print_text(p, ")");
        return;
    case MOD_APPLY: case MOD_ASCRIPT: print_mod(p, mod); return;
    case MOD_LAMBDA: return;  // gone in the loop
    }
}

static void print_mod(Printer *p, const ModExp *mod) {
    struct { const ModExp **data; uint32_t len, cap; } spine = {0};
    while (mod->kind == MOD_APPLY || mod->kind == MOD_ASCRIPT) {
        vec_push(p->out->arena, &spine, mod);
        mod = mod->kind == MOD_APPLY ? mod->as.apply.fun : mod->as.ascript.mod;
    }
    print_mod_head(p, mod);
    while (spine.len > 0) {
        mod = spine.data[--spine.len];
        print_text(p, mod->kind == MOD_APPLY ? " " : " : ");
        if (mod->kind == MOD_APPLY) print_mod(p, mod->as.apply.arg);
        else print_sig(p, mod->as.ascript.sig);
    }
}

// ---- entries ---------------------------------------------------------------------

void syntax_print(const Cx *cx, const Ast *ast, StrBuf *out) {
    Printer p = {.cx = cx, .out = out};
    // The first declaration's documentation is what makes this one the file's.
    if (ast->doc.len != 0 && ast->decls.len > 0 && ast->decls.data[0]->doc.len != 0) {
        print_doc(&p, ast->doc);
        print_line(&p);
    }
    print_decls(&p, ast->decls, false);
    if (ast->decls.len > 0) print_text(&p, "\n");
}

void syntax_print_exp(const Cx *cx, const Exp *exp, StrBuf *out) {
    Printer p = {.cx = cx, .out = out};
    print_exp(&p, exp);
}

void syntax_print_type(const Cx *cx, const TypeExp *type, StrBuf *out) {
    Printer p = {.cx = cx, .out = out};
    print_type(&p, type);
}
