// SPDX-License-Identifier: Apache-2.0
//
// Declarations, and how the parser finds its way to the next one after a mistake: to
// a word that starts a declaration, first on its line and no deeper indented than the
// failed one, or to the brace that closes the module.
#include "syntax/parse.h"
#include "syntax/syntax.h"

// Whether the rest of a declaration is left for syntax_whole.
static bool leave_unread(Parser *p, Decl *decl) {
    bool is_wanted = decl->span.start == p->wanted;
    if (!p->is_lib || !p->is_block || is_wanted || p->panic) return false;
    decl->is_unread = true;
    p->prev_end = lex_block_end(&p->lexer, p->column);
    lex_seek(&p->lexer, p->prev_end);
    p->ahead_len = 0;
    lex_next(&p->lexer, &p->tok);
    return true;
}

// ---- values ----------------------------------------------------------------------

static void parse_body(Parser *p, Decl *decl) {
    if (parse_accept(p, TOK_COLON)) decl->as.val.result = parse_type(p);
    if (!parse_accept(p, TOK_EQUALS)) {
        bool has_result = decl->as.val.result != NULL;
        bool is_lambda = parse_at(p, TOK_ARROW);
        Diag *diag = parse_unexpected(
            p, has_result ? "`=` and the body" : "a parameter, `:` or `=`");
        if (is_lambda)
            diag_hint(&p->cx->diags, diag, "a function is defined by def f x = e");
        Str name = sym_str(&p->cx->syms, decl->as.val.name.sym);
        if (name.len > 1 && name.ptr[0] == '=')
            diag_hint(&p->cx->diags, diag,
                      "`%.*s` is read as one operator: put a space after =",
                      STR_ARG(name));
    }
    decl->as.val.body = parse_exp(p);
}

static void check_infix_param(Parser *p, const Pat *pat) {
    if (parse_at(p, TOK_EQUALS) || parse_at(p, TOK_COLON)) {
        Diag *diag = parse_fail(p, SYNTAX_TOP_PATTERN, pat->span, "");
        diag_hint(&p->cx->diags, diag, "bind one name and take it apart with let");
    }
}

// def x <+> y = e
static void parse_infix_def(Parser *p, Decl *decl) {
    Pat *left = parse_param(p);
    check_infix_param(p, left);
    if (!p->panic && !parse_at(p, TOK_OPERATOR) && !parse_at(p, TOK_BACKQUOTE))
        parse_unexpected(p, "the operator to define");
    if (p->panic) return;
    decl->as.val.name = parse_infix_name(p);
    Pat *right = parse_param(p);
    parse_push(p, &decl->as.val.params, left);
    parse_push(p, &decl->as.val.params, right);
    if (parse_at_param(p))
        parse_fail(p, SYNTAX_INFIX_PARAM, token_span(&p->tok), "");
    parse_body(p, decl);
}

static void parse_val(Parser *p, Decl *decl) {
    decl->kind = DECL_VAL;
    decl->as.val.is_entry = parse_at(p, TOK_ENTRY);
    parse_next(p);
    if (parse_at_operator_name(p)) {
        decl->as.val.name = parse_operator_name(p);
    } else {
        bool is_name = parse_at(p, TOK_NAME), is_infix = parse_at_param(p) && !is_name;
        if (is_name) {
            TokenKind next = (TokenKind)parse_peek(p, 1)->kind;
            is_infix = next == TOK_OPERATOR || next == TOK_BACKQUOTE;
        }
        if (is_infix) {
            parse_infix_def(p, decl);
            return;
        }
        decl->as.val.name = parse_name(p, "the name to define");
    }
    if (leave_unread(p, decl)) return;
    decl->as.val.type_params = parse_type_params(p);
    decl->as.val.params = parse_params(p);
    parse_body(p, decl);
}

// ---- types and modules -----------------------------------------------------------

TypeDef parse_type_def(Parser *p) {
    TypeDef def = {.lifting = TP_TYPE};
    parse_next(p);
    if (parse_accept(p, TOK_TILDE)) {
        def.lifting = TP_SIZE_LIFTED;
    } else if (parse_at_operator(p, "^")) {
        def.lifting = TP_LIFTED;
        parse_next(p);
    }
    def.name = parse_name(p, "the name of the type");
    def.params = parse_type_params(p);
    if (parse_accept(p, TOK_EQUALS)) def.type = parse_type(p);
    return def;
}

static void parse_type_decl(Parser *p, Decl *decl) {
    decl->kind = DECL_TYPE;
    decl->as.type = parse_type_def(p);
    if (decl->as.type.type == NULL)
        parse_unexpected(p, "a parameter, or `=` and a type");
}

static void parse_module_type(Parser *p, Decl *decl) {
    decl->kind = DECL_MODULE_TYPE;
    parse_next(p);
    decl->as.module_type.name = parse_name(p, "the name of the module type");
    if (leave_unread(p, decl)) return;
    parse_expect(p, TOK_EQUALS, "`=` and a module type");
    decl->as.module_type.sig = parse_sig(p);
}

static void parse_module(Parser *p, Decl *decl) {
    parse_next(p);
    if (parse_at(p, TOK_TYPE)) {
        parse_module_type(p, decl);
        return;
    }
    decl->kind = DECL_MODULE;
    decl->as.module.name = parse_name(p, "the name of the module");
    if (leave_unread(p, decl)) return;
    while (parse_at(p, TOK_PAREN_OPEN)) {
        ModParam param = parse_mod_param(p);
        parse_push(p, &decl->as.module.params, param);
    }
    if (parse_accept(p, TOK_COLON)) decl->as.module.sig = parse_sig(p);
    parse_expect(p, TOK_EQUALS, decl->as.module.sig == NULL
                                    ? "a parameter, `:` or `=` and the module"
                                    : "`=` and the module");
    decl->as.module.body = parse_mod(p);
}

Str parse_import(Parser *p) {
    parse_next(p);
    Token path = p->tok;
    if (path.kind != TOK_STRING) {
        Diag *diag = parse_unexpected(p, "the path of a file, as a string");
        diag_hint(&p->cx->diags, diag, "write import \"lib/path\"");
        return STR("");
    }
    parse_next(p);
    return lex_string(&p->lexer, &path);
}

// ---- declarations ----------------------------------------------------------------

static void report_no_declaration(Parser *p) {
    Token found = p->tok;
    Diag *diag = parse_unexpected(p, "a definition");
    if (found.kind == TOK_NAME)
        diag_hint(&p->cx->diags, diag, "a definition starts with def, as in def x = 1");
    if (found.kind == TOK_IN)
        diag_hint(&p->cx->diags, diag, "a let outside of definitions has no in");
    if (found.kind == TOK_EQUALS)
        diag_hint(&p->cx->diags, diag,
                  "a definition starts with def; equality is written ==");
}

static Decl *parse_decl(Parser *p);

// What stands before "local" belongs to the declaration after it.
static void own_attrs(Parser *p, Decl *outer, Decl *inner) {
    for (uint32_t i = 0; i < inner->attrs.len; i++)
        parse_push(p, &outer->attrs, inner->attrs.data[i]);
    inner->attrs = outer->attrs;
    outer->attrs = (AttrVec){0};
}

static void parse_decl_proper(Parser *p, Decl *decl) {
    switch (p->tok.kind) {
    case TOK_DEF: case TOK_LET: case TOK_ENTRY: parse_val(p, decl); return;
    case TOK_TYPE: parse_type_decl(p, decl); return;
    case TOK_MODULE: parse_module(p, decl); return;
    case TOK_IMPORT:
        decl->kind = DECL_IMPORT;
        decl->as.import = parse_import(p);
        return;
    case TOK_OPEN:
        decl->kind = DECL_OPEN;
        parse_next(p);
        decl->as.open = parse_mod(p);
        return;
    case TOK_LOCAL:
        decl->kind = DECL_LOCAL;
        parse_next(p);
        decl->as.local = parse_decl(p);
        own_attrs(p, decl, decl->as.local);
        return;
    default:
        report_no_declaration(p);
    }
}

static Decl *parse_decl(Parser *p) {
    Decl *decl = arena_new(p->cx->arena, Decl);
    decl->span.start = p->tok.start;
    decl->doc = lex_doc(&p->lexer, p->tok.doc);
    if (!parse_enter(p)) return decl;
    while (parse_at(p, TOK_ATTR_OPEN)) {
        Attr attr = parse_attr(p);
        parse_push(p, &decl->attrs, attr);
        if (decl->doc.len == 0) decl->doc = lex_doc(&p->lexer, p->tok.doc);
    }
    parse_decl_proper(p, decl);
    decl->span = parse_span_from(p, decl->span.start);
    parse_leave(p);
    return decl;
}

const Decl *syntax_whole(Cx *cx, const Decl *decl) {
    if (!decl->is_unread) return decl;
    Parser p;
    parse_start(&p, cx, sources_find(&cx->sources, decl->span));
    lex_seek(&p.lexer, decl->span.start);
    lex_next(&p.lexer, &p.tok);
    p.wanted = decl->span.start;
    Decl *whole = parse_decl(&p);
    whole->doc = decl->doc;
    whole->attrs = decl->attrs;
    return whole;
}

// ---- finding the next declaration ------------------------------------------------

static bool starts_decl(const Parser *p) {
    switch (p->tok.kind) {
    case TOK_DEF: case TOK_LET: case TOK_ENTRY: case TOK_TYPE: case TOK_MODULE:
    case TOK_IMPORT: case TOK_OPEN: case TOK_LOCAL: case TOK_ATTR_OPEN:
        return p->tok.first_on_line;
    default:
        return false;
    }
}

// Leaves panic and skips to where parsing can go on. Returns false if that is outside
// of this body.
static bool recover(Parser *p, const Token *failed, bool in_body, uint32_t braces) {
    p->panic = false;
    p->tok = p->stopped;
    while (!parse_at(p, TOK_END)) {
        bool is_new = p->tok.start > failed->start;
        if (is_new && starts_decl(p) && p->tok.column <= failed->column) {
            bool is_outside = in_body && p->tok.column < failed->column;
            if (!is_outside) p->braces = braces;
            return !is_outside;
        }
        if (in_body && parse_at(p, TOK_BRACE_CLOSE) && p->braces <= braces) return true;
        parse_next(p);
    }
    return !in_body;
}

static bool has_too_many(Parser *p) {
    bool is_large = p->tokens >= PARSE_MOST_TOKENS;
    if (!is_large && p->cx->diags.error_count - p->first_diag < SYNTAX_MOST_ERRORS)
        return false;
    if (!is_large && !parse_at(p, TOK_END))
        diag_error(&p->cx->diags, token_span(&p->tok), &syntax_diags[SYNTAX_TOO_MANY]);
    p->tok.kind = TOK_END;
    p->ahead_len = 0;
    p->lexer.at = p->lexer.end;
    return true;
}

void parse_decls(Parser *p, bool in_body, DeclVec *decls_out) {
    uint32_t braces = p->braces, depth = p->depth;
    while (!p->panic && !parse_at(p, TOK_END)) {
        if (in_body && parse_at(p, TOK_BRACE_CLOSE)) return;
        Token first = p->tok;
        uint32_t errors = p->cx->diags.error_count;
        p->lexer_errors = p->lexer.errors;
        p->is_block = first.first_on_line;
        p->column = first.column;
        Decl *decl = parse_decl(p);
        bool is_inside = true;
        if (p->panic) {
            p->depth = depth;
            p->pending.len = 0;
            p->no_colon = false;
            is_inside = recover(p, &first, in_body, braces);
        } else if (p->cx->diags.error_count == errors) {
            parse_push(p, decls_out, decl);
        }
        if (has_too_many(p) || !is_inside) {
            parse_give_up(p);
            return;
        }
    }
}
