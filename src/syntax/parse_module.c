// SPDX-License-Identifier: Apache-2.0
//
// Module expressions, module types and their specifications.
#include "syntax/parse.h"

// ---- module expressions ----------------------------------------------------------

static ModExp *new_mod(Parser *p, ModExpKind kind, uint32_t start) {
    ModExp *mod = arena_new(p->cx->arena, ModExp);
    mod->kind = kind;
    mod->span = (Span){start, start};
    return mod;
}

static ModExp *finish_mod(Parser *p, ModExp *mod) {
    mod->span = parse_span_from(p, mod->span.start);
    return mod;
}

ModParam parse_mod_param(Parser *p) {
    Token opener = p->tok;
    ModParam param = {0};
    if (!parse_expect(p, TOK_PAREN_OPEN, "a parameter such as (p: S)")) return param;
    param.name = parse_name(p, "the name of the parameter");
    parse_expect(p, TOK_COLON, "`:` and a module type");
    param.sig = parse_sig(p);
    parse_close(p, TOK_PAREN_CLOSE, opener);
    return param;
}

static bool at_mod_atom(const Parser *p) {
    return parse_at(p, TOK_NAME) || parse_at(p, TOK_PAREN_OPEN) ||
           parse_at(p, TOK_BRACE_OPEN);
}

static ModExp *parse_mod_atom(Parser *p) {
    Token opener = p->tok;
    ModExp *mod = new_mod(p, MOD_NAME, opener.start);
    if (parse_accept(p, TOK_PAREN_OPEN)) {
        mod->kind = MOD_PAREN;
        mod->as.inner = parse_mod(p);
        parse_close(p, TOK_PAREN_CLOSE, opener);
    } else if (parse_accept(p, TOK_BRACE_OPEN)) {
        mod->kind = MOD_BODY;
        parse_decls(p, true, &mod->as.body);
        parse_close(p, TOK_BRACE_CLOSE, opener);
    } else {
        mod->as.name = parse_qual_name(p, "a module");
    }
    return finish_mod(p, mod);
}

static ModExp *parse_mod_apply(Parser *p) {
    ModExp *mod = parse_mod_atom(p);
    while (at_mod_atom(p)) {
        ModExp *apply = new_mod(p, MOD_APPLY, mod->span.start);
        apply->as.apply.fun = mod;
        apply->as.apply.arg = parse_mod_atom(p);
        mod = finish_mod(p, apply);
    }
    return mod;
}

// A name or a module type in parentheses, as after \(p: S) :.
static SigExp *parse_simple_sig(Parser *p);

static ModExp *parse_mod_lambda(Parser *p) {
    ModExp *mod = new_mod(p, MOD_LAMBDA, p->tok.start);
    parse_next(p);
    mod->as.lambda.param = parse_mod_param(p);
    if (parse_accept(p, TOK_COLON)) mod->as.lambda.sig = parse_simple_sig(p);
    parse_expect(p, TOK_ARROW, "`->` and the module");
    mod->as.lambda.body = parse_mod(p);
    return finish_mod(p, mod);
}

static ModExp *parse_mod_proper(Parser *p) {
    if (parse_at(p, TOK_BACKSLASH)) return parse_mod_lambda(p);
    if (!parse_at(p, TOK_IMPORT)) return parse_mod_apply(p);
    ModExp *mod = new_mod(p, MOD_IMPORT, p->tok.start);
    mod->as.import = parse_import(p);
    return finish_mod(p, mod);
}

ModExp *parse_mod(Parser *p) {
    if (!parse_enter(p)) return new_mod(p, MOD_BODY, p->tok.start);
    ModExp *mod = parse_mod_proper(p);
    while (parse_accept(p, TOK_COLON)) {
        ModExp *ascript = new_mod(p, MOD_ASCRIPT, mod->span.start);
        ascript->as.ascript.mod = mod;
        ascript->as.ascript.sig = parse_sig(p);
        mod = finish_mod(p, ascript);
    }
    parse_leave(p);
    return mod;
}

// ---- specifications --------------------------------------------------------------

static void parse_val_spec(Parser *p, Spec *spec) {
    spec->kind = SPEC_VAL;
    parse_next(p);
    if (parse_at_operator_name(p)) spec->as.val.name = parse_operator_name(p);
    else if (parse_at(p, TOK_OPERATOR) || parse_at(p, TOK_BACKQUOTE))
        spec->as.val.name = parse_infix_name(p);
    else spec->as.val.name = parse_name(p, "the name of a value");
    spec->as.val.type_params = parse_type_params(p);
    parse_expect(p, TOK_COLON, "`:` and a type");
    spec->as.val.type = parse_type(p);
}

static void parse_module_spec(Parser *p, Spec *spec) {
    spec->kind = SPEC_MODULE;
    parse_next(p);
    spec->as.module.name = parse_name(p, "the name of a module");
    parse_expect(p, TOK_COLON, "`:` and a module type");
    spec->as.module.sig = parse_sig(p);
}

static Spec parse_spec(Parser *p) {
    uint32_t start = p->tok.start;
    Spec spec = {.doc = lex_doc(&p->lexer, p->tok.doc)};
    while (parse_at(p, TOK_ATTR_OPEN)) {
        Attr attr = parse_attr(p);
        parse_push(p, &spec.attrs, attr);
        if (spec.doc.len == 0) spec.doc = lex_doc(&p->lexer, p->tok.doc);
    }
    switch (p->tok.kind) {
    case TOK_VAL: parse_val_spec(p, &spec); break;
    case TOK_MODULE: parse_module_spec(p, &spec); break;
    case TOK_TYPE:
        spec.kind = SPEC_TYPE;
        spec.as.type = parse_type_def(p);
        break;
    case TOK_INCLUDE:
        spec.kind = SPEC_INCLUDE;
        parse_next(p);
        spec.as.include = parse_sig(p);
        break;
    default: {
        bool is_def = parse_at(p, TOK_DEF) || parse_at(p, TOK_LET);
        Diag *diag = parse_unexpected(p, "`val`, `type`, `module`, `include` or `}`");
        if (is_def)
            diag_hint(&p->cx->diags, diag, "a module type lists val name: type");
    }
    }
    spec.span = parse_span_from(p, start);
    return spec;
}

// ---- module types ----------------------------------------------------------------

static SigExp *new_sig(Parser *p, SigExpKind kind, uint32_t start) {
    SigExp *sig = arena_new(p->cx->arena, SigExp);
    sig->kind = kind;
    sig->span = (Span){start, start};
    return sig;
}

static SigExp *finish_sig(Parser *p, SigExp *sig) {
    sig->span = parse_span_from(p, sig->span.start);
    return sig;
}

static SigExp *parse_simple_sig(Parser *p) {
    Token opener = p->tok;
    SigExp *sig = new_sig(p, SIG_NAME, opener.start);
    if (parse_accept(p, TOK_PAREN_OPEN)) {
        sig->kind = SIG_PAREN;
        sig->as.inner = parse_sig(p);
        parse_close(p, TOK_PAREN_CLOSE, opener);
    } else if (parse_accept(p, TOK_BRACE_OPEN)) {
        sig->kind = SIG_SPECS;
        while (!parse_at(p, TOK_BRACE_CLOSE) && !p->panic) {
            Spec spec = parse_spec(p);
            parse_push(p, &sig->as.specs, spec);
        }
        parse_close(p, TOK_BRACE_CLOSE, opener);
    } else {
        sig->as.name = parse_qual_name(p, "a module type");
    }
    return finish_sig(p, sig);
}

// S with t = u with v = w
static SigExp *parse_refined_sig(Parser *p) {
    SigExp *sig = parse_simple_sig(p);
    while (parse_accept(p, TOK_WITH)) {
        SigExp *with = new_sig(p, SIG_WITH, sig->span.start);
        with->as.with.sig = sig;
        with->as.with.type = parse_qual_name(p, "the name of a type");
        with->as.with.params = parse_type_params(p);
        parse_expect(p, TOK_EQUALS, "`=` and a type");
        with->as.with.def = parse_type_term(p);
        sig = finish_sig(p, with);
    }
    return sig;
}

static bool at_named_sig(Parser *p) {
    return parse_at(p, TOK_PAREN_OPEN) && parse_peek(p, 1)->kind == TOK_NAME &&
           parse_peek(p, 2)->kind == TOK_COLON;
}

static SigExp *parse_arrow_sigs(Parser *p) {
    SigExp *first = NULL, **hole = &first, *last = NULL;
    while (last == NULL) {
        uint32_t start = p->tok.start;
        ModParam param = {0};
        bool is_named = at_named_sig(p);
        if (is_named) {
            param = parse_mod_param(p);
            parse_expect(p, TOK_ARROW, "`->` and a module type");
        } else {
            param.sig = parse_refined_sig(p);
        }
        if (!is_named && !parse_accept(p, TOK_ARROW)) {
            *hole = last = param.sig;
            break;
        }
        SigExp *arrow = new_sig(p, SIG_ARROW, start);
        arrow->as.arrow.param = param.name;
        arrow->as.arrow.from = param.sig;
        *hole = arrow;
        hole = &arrow->as.arrow.to;
    }
    for (SigExp *sig = first; sig != last; sig = sig->as.arrow.to) finish_sig(p, sig);
    return first;
}

SigExp *parse_sig(Parser *p) {
    if (!parse_enter(p)) return new_sig(p, SIG_SPECS, p->tok.start);
    SigExp *sig = parse_arrow_sigs(p);
    parse_leave(p);
    return sig;
}
