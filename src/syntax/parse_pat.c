// SPDX-License-Identifier: Apache-2.0
//
// Patterns. A parameter is a pattern that needs no parentheses of its own.
#include "syntax/parse.h"

static Pat *new_pat(Parser *p, PatKind kind, uint32_t start) {
    Pat *pat = arena_new(p->cx->arena, Pat);
    pat->kind = kind;
    pat->span = (Span){start, start};
    return pat;
}

static Pat *finish(Parser *p, Pat *pat) {
    pat->span = parse_span_from(p, pat->span.start);
    return pat;
}

bool parse_at_param(const Parser *p) {
    switch (p->tok.kind) {
    case TOK_NAME: case TOK_UNDERSCORE: case TOK_PAREN_OPEN: case TOK_BRACE_OPEN:
    case TOK_NUMBER: case TOK_CHAR: case TOK_TRUE: case TOK_FALSE: case TOK_CTOR:
        return true;
    default:
        return false;
    }
}

static Pat *parse_paren_pat(Parser *p) {
    Token opener = p->tok;
    Pat *pat = new_pat(p, PAT_TUPLE, opener.start);
    if (parse_at_operator_name(p)) {
        pat->kind = PAT_NAME;
        pat->as.name = parse_operator_name(p);
        return finish(p, pat);
    }
    parse_next(p);
    bool is_tuple = parse_at(p, TOK_PAREN_CLOSE);
    while (!parse_at(p, TOK_PAREN_CLOSE)) {
        Pat *part = parse_pat(p);
        parse_push(p, &pat->as.tuple, part);
        if (!parse_accept(p, TOK_COMMA)) break;
        is_tuple = true;
    }
    bool is_untyped = parse_at(p, TOK_NAME) || parse_at(p, TOK_SQUARE_OPEN);
    Diag *diag = parse_close(p, TOK_PAREN_CLOSE, opener);
    if (diag != NULL && is_untyped)
        diag_hint(&p->cx->diags, diag, "a parameter with its type is written (x: t)");
    if (!is_tuple) {
        Pat *inner = pat->as.tuple.data[0];
        pat->kind = PAT_PAREN;
        pat->as.inner = inner;
    } else if (pat->as.tuple.len == 1) {
        parse_fail(p, SYNTAX_TUPLE_OF_ONE, parse_span_from(p, opener.start), "");
    }
    return finish(p, pat);
}

static Pat *parse_record_pat(Parser *p) {
    Token opener = p->tok;
    Pat *pat = new_pat(p, PAT_RECORD, opener.start);
    parse_next(p);
    while (!parse_at(p, TOK_BRACE_CLOSE)) {
        bool is_number = parse_at(p, TOK_NUMBER);
        FieldPat field = {.name = parse_field_name(p)};
        if (parse_accept(p, TOK_EQUALS)) {
            field.pat = parse_pat(p);
        } else if (parse_at(p, TOK_COLON)) {  // {x: t} binds x
            field.pat = new_pat(p, PAT_ASCRIPT, field.name.span.start);
            Pat *name = new_pat(p, PAT_NAME, field.name.span.start);
            name->as.name = field.name;
            field.pat->as.ascript.pat = finish(p, name);
            parse_next(p);
            field.pat->as.ascript.type = parse_type(p);
            finish(p, field.pat);
        } else if (is_number) {
            parse_unexpected(p, "`=` and a pattern");
        }
        parse_push(p, &pat->as.record, field);
        if (!parse_accept(p, TOK_COMMA)) break;
    }
    parse_close(p, TOK_BRACE_CLOSE, opener);
    return finish(p, pat);
}

static Pat *parse_literal_pat(Parser *p) {
    Pat *pat = new_pat(p, PAT_LIT, p->tok.start);
    if (parse_at_operator(p, "-")) {
        pat->as.lit.negative = true;
        parse_next(p);
    }
    Token token = p->tok;
    if (token.kind == TOK_NUMBER) {
        pat->as.lit.lit = lex_number(&p->lexer, &token);
    } else if (token.kind == TOK_CHAR && !pat->as.lit.negative) {
        pat->as.lit.lit = lex_char(&p->lexer, &token);
    } else if (!pat->as.lit.negative) {
        pat->as.lit.lit = (Lit){.kind = LIT_BOOL,
                                .text = lex_text(&p->lexer, token_span(&token)),
                                .bits = token.kind == TOK_TRUE};
    } else {
        parse_unexpected(p, "a number");
    }
    parse_next(p);
    return finish(p, pat);
}

static Pat *parse_leaf_pat(Parser *p, PatKind kind) {
    Pat *pat = new_pat(p, kind, p->tok.start);
    if (kind == PAT_NAME) pat->as.name = parse_name(p, "a pattern");
    else parse_next(p);
    return finish(p, pat);
}

static Pat *parse_ctor_pat(Parser *p) {
    Pat *pat = new_pat(p, PAT_CTOR, p->tok.start);
    pat->as.ctor.name = (Name){p->tok.sym, {p->tok.start + 1, p->tok.end}};
    parse_next(p);
    return finish(p, pat);
}

// A pattern that is one thing: a name, a literal, a bracket, a bare constructor.
Pat *parse_param(Parser *p) {
    if (parse_at_operator(p, "-")) return parse_literal_pat(p);
    switch (p->tok.kind) {
    case TOK_UNDERSCORE: return parse_leaf_pat(p, PAT_WILD);
    case TOK_PAREN_OPEN: case TOK_BRACE_OPEN: {
        if (!parse_enter(p)) return new_pat(p, PAT_WILD, p->tok.start);
        Pat *pat = parse_at(p, TOK_BRACE_OPEN) ? parse_record_pat(p)
                                               : parse_paren_pat(p);
        parse_leave(p);
        return pat;
    }
    case TOK_NUMBER: case TOK_CHAR: case TOK_TRUE: case TOK_FALSE:
        return parse_literal_pat(p);
    case TOK_CTOR: return parse_ctor_pat(p);
    default: return parse_leaf_pat(p, PAT_NAME);
    }
}

PatVec parse_params(Parser *p) {
    PatVec params = {0};
    while (parse_at_param(p)) {
        Pat *param = parse_param(p);
        parse_push(p, &params, param);
    }
    bool is_late = parse_at(p, TOK_TICK) || parse_at(p, TOK_TICK_HAT) ||
                   parse_at(p, TOK_TICK_TILDE) || parse_at(p, TOK_SQUARE_OPEN);
    if (is_late && params.len > 0)
        parse_fail(p, SYNTAX_LATE_TYPE_PARAM, token_span(&p->tok), "");
    return params;
}

static Pat *parse_attributed_pat(Parser *p) {
    Pat *pat = new_pat(p, PAT_ATTR, p->tok.start);
    pat->as.attr.attr = parse_attr(p);
    if (!parse_enter(p)) return pat;
    pat->as.attr.pat = parse_pat(p);
    parse_leave(p);
    return finish(p, pat);
}

Pat *parse_pat(Parser *p) {
    if (parse_at(p, TOK_ATTR_OPEN)) return parse_attributed_pat(p);
    Pat *pat = parse_param(p);
    if (pat->kind == PAT_CTOR) {
        while (parse_at_param(p) || parse_at_operator(p, "-")) {
            Pat *arg = parse_param(p);
            parse_push(p, &pat->as.ctor.args, arg);
        }
        finish(p, pat);
    }
    if (!parse_at(p, TOK_COLON)) return pat;
    Pat *outer = new_pat(p, PAT_ASCRIPT, pat->span.start);
    parse_next(p);
    outer->as.ascript.pat = pat;
    outer->as.ascript.type = parse_type(p);
    return finish(p, outer);
}
