// SPDX-License-Identifier: Apache-2.0
//
// Expressions that can be an argument: names, literals, whatever is in brackets, and
// the fields and indices that follow them.
#include "syntax/parse.h"

bool parse_at_atom(const Parser *p) {
    switch (p->tok.kind) {
    case TOK_NAME: case TOK_NUMBER: case TOK_CHAR: case TOK_STRING: case TOK_HOLE:
    case TOK_CTOR: case TOK_TRUE: case TOK_FALSE: case TOK_PAREN_OPEN:
    case TOK_SQUARE_OPEN: case TOK_BRACE_OPEN: case TOK_STREAM_OPEN:
        return true;
    default:
        return false;
    }
}

static Exp *finish(Parser *p, Exp *exp) {
    exp->span = parse_span_from(p, exp->span.start);
    return exp;
}

// Closes brackets around expressions.
static void close_exp(Parser *p, TokenKind closer, Token opener) {
    bool is_equals = parse_at(p, TOK_EQUALS);
    Diag *diag = parse_close(p, closer, opener);
    if (diag != NULL && is_equals)
        diag_hint(&p->cx->diags, diag, "equality is written ==");
}

// ---- indices ---------------------------------------------------------------------

static IndexExp parse_position(Parser *p) {
    IndexExp dim = {.span = token_span(&p->tok)};
    if (!parse_at(p, TOK_COLON)) dim.index = parse_exp_without_colon(p);
    if (parse_accept(p, TOK_COLON)) {
        dim.is_slice = true;
        dim.from = dim.index;
        dim.index = NULL;
        bool has_to = !parse_at(p, TOK_COLON) && !parse_at(p, TOK_COMMA) &&
                      !parse_at(p, TOK_SQUARE_CLOSE);
        if (has_to) dim.to = parse_exp_without_colon(p);
        if (parse_accept(p, TOK_COLON) && !parse_at(p, TOK_COMMA) &&
            !parse_at(p, TOK_SQUARE_CLOSE))
            dim.step = parse_exp_without_colon(p);
    }
    dim.span = parse_span_from(p, dim.span.start);
    return dim;
}

IndexVec parse_index(Parser *p) {
    IndexVec dims = {0};
    Token opener = p->tok;
    parse_expect(p, TOK_SQUARE_OPEN, "`[` and an index");
    do {
        IndexExp dim = parse_position(p);
        parse_push(p, &dims, dim);
    } while (parse_accept(p, TOK_COMMA) && !parse_at(p, TOK_SQUARE_CLOSE));
    close_exp(p, TOK_SQUARE_CLOSE, opener);
    return dims;
}

// ---- lists -----------------------------------------------------------------------

// Expressions between commas up to a closing bracket; a last comma is allowed.
static void parse_items(Parser *p, TokenKind closer, Token opener, ExpVec *items) {
    while (!parse_at(p, closer)) {
        Exp *item = parse_exp_inside(p);
        parse_push(p, items, item);
        if (!parse_accept(p, TOK_COMMA)) break;
    }
    close_exp(p, closer, opener);
}

static Exp *parse_list(Parser *p, ExpKind kind, TokenKind closer) {
    Token opener = p->tok;
    Exp *exp = parse_exp_node(p, kind, opener.start);
    parse_next(p);
    parse_items(p, closer, opener, &exp->as.items);
    return finish(p, exp);
}

// ---- parentheses -----------------------------------------------------------------

static bool at_prefix(Parser *p) {
    return (parse_at_operator(p, "-") && parse_peek(p, 1)->kind != TOK_PAREN_CLOSE) ||
           parse_at_operator(p, "!");
}

// (+), (+ e), (`f`), (`f` e); the parenthesis is taken.
static Exp *parse_section_right(Parser *p, Token opener) {
    QualName op = parse_at(p, TOK_BACKQUOTE) ? parse_backquoted(p) : parse_operator(p);
    Exp *exp = parse_exp_node(p, EXP_VAR, opener.start);
    if (parse_accept(p, TOK_PAREN_CLOSE)) {
        exp->as.var = op;
        return finish(p, exp);
    }
    exp->kind = EXP_SECTION_RIGHT;
    exp->as.section.op = op;
    bool outside = p->no_colon;
    p->no_colon = false;
    exp->as.section.operand = parse_infix_exp(p);
    p->no_colon = outside;
    parse_close(p, TOK_PAREN_CLOSE, opener);
    return finish(p, exp);
}

// (.x.y), (.[i]); the parenthesis is taken.
static Exp *parse_section_dot(Parser *p, Token opener) {
    Exp *exp = parse_exp_node(p, EXP_SECTION_FIELD, opener.start);
    parse_next(p);
    if (parse_at(p, TOK_SQUARE_OPEN)) {
        exp->kind = EXP_SECTION_INDEX;
        exp->as.dims = parse_index(p);
    } else {
        do {
            Name field = parse_field_name(p);
            parse_push(p, &exp->as.fields, field);
        } while (parse_accept(p, TOK_DOT));
    }
    parse_close(p, TOK_PAREN_CLOSE, opener);
    return finish(p, exp);
}

static Exp *parse_tuple_after(Parser *p, Exp *first, Token opener) {
    Exp *exp = parse_exp_node(p, EXP_TUPLE, opener.start);
    parse_next(p);
    parse_push(p, &exp->as.items, first);
    parse_items(p, TOK_PAREN_CLOSE, opener, &exp->as.items);
    if (exp->as.items.len == 1)
        parse_fail(p, SYNTAX_TUPLE_OF_ONE, parse_span_from(p, opener.start), "");
    return finish(p, exp);
}

static Exp *parse_paren(Parser *p) {
    Token opener = p->tok;
    parse_next(p);
    if (parse_accept(p, TOK_PAREN_CLOSE))
        return finish(p, parse_exp_node(p, EXP_TUPLE, opener.start));
    if (parse_at(p, TOK_DOT)) return parse_section_dot(p, opener);
    if (parse_at(p, TOK_BACKQUOTE) || (parse_at(p, TOK_OPERATOR) && !at_prefix(p)))
        return parse_section_right(p, opener);
    bool outside = p->no_colon;
    p->no_colon = false;
    Exp *inner = NULL;
    QualName section = {0};
    bool is_section = parse_infix_or_section(p, &inner, &section);
    if (!is_section) {
        inner = parse_range_after(p, inner);
        inner = parse_ascriptions_after(p, inner);
    }
    p->no_colon = outside;
    if (parse_at(p, TOK_COMMA)) return parse_tuple_after(p, inner, opener);
    close_exp(p, TOK_PAREN_CLOSE, opener);
    Exp *exp = parse_exp_node(p, EXP_PAREN, opener.start);
    exp->as.inner = inner;
    if (is_section) {
        exp->kind = EXP_SECTION_LEFT;
        exp->as.section.operand = inner;
        exp->as.section.op = section;
    }
    return finish(p, exp);
}

// ---- braces ----------------------------------------------------------------------

static bool at_record(Parser *p) {
    if (!parse_at(p, TOK_NAME) && !parse_at(p, TOK_NUMBER)) return false;
    TokenKind next = (TokenKind)parse_peek(p, 1)->kind;
    if (next == TOK_EQUALS) return true;
    return parse_at(p, TOK_NAME) && (next == TOK_COMMA || next == TOK_BRACE_CLOSE);
}

static Exp *parse_record(Parser *p, Token opener) {
    Exp *exp = parse_exp_node(p, EXP_RECORD, opener.start);
    while (!parse_at(p, TOK_BRACE_CLOSE)) {
        bool is_number = parse_at(p, TOK_NUMBER);
        FieldExp field = {.name = parse_field_name(p)};
        if (parse_accept(p, TOK_EQUALS)) {
            field.exp = parse_exp_inside(p);
        } else if (is_number ||
                   (!parse_at(p, TOK_COMMA) && !parse_at(p, TOK_BRACE_CLOSE))) {
            Diag *diag = parse_unexpected(p, "`=` and the value of the field");
            diag_hint(&p->cx->diags, diag, "a record is written {x = 1, y = 2}");
        }
        parse_push(p, &exp->as.record, field);
        if (!parse_accept(p, TOK_COMMA)) break;
    }
    parse_close(p, TOK_BRACE_CLOSE, opener);
    return finish(p, exp);
}

static void parse_generators(Parser *p, Exp *exp) {
    do {
        Generator generator = {.pat = parse_pat(p)};
        if (!parse_accept(p, TOK_IN)) {
            Diag *diag = parse_unexpected(p, "`in` and a sequence");
            diag_hint(&p->cx->diags, diag,
                      "a comprehension is written {e : x in s}, a record {x = e}");
        }
        generator.exp = parse_exp_inside(p);
        parse_push(p, &exp->as.comprehension.generators, generator);
    } while (parse_accept(p, TOK_SEMICOLON));
}

static Exp *parse_comprehension(Parser *p, Token opener) {
    Exp *exp = parse_exp_node(p, EXP_COMPREHENSION, opener.start);
    exp->as.comprehension.exp = parse_exp_without_colon(p);
    bool is_bare = !parse_at(p, TOK_COLON) && !parse_at(p, TOK_IF);
    if (parse_accept(p, TOK_COLON)) parse_generators(p, exp);
    if (parse_accept(p, TOK_IF)) exp->as.comprehension.guard = parse_exp_inside(p);
    if (is_bare && !p->panic) {
        bool is_field = parse_at(p, TOK_EQUALS) || parse_at(p, TOK_COMMA);
        Diag *diag =
            parse_unexpected(p, "`:` and a generator, or `if` and a condition");
        diag_note(&p->cx->diags, diag, token_span(&opener), "it was opened here");
        diag_hint(&p->cx->diags, diag,
                  is_field ? "a record is written {x = 1, y = 2}"
                           : "a sequence of listed elements is written {| a, b |}");
    }
    parse_close(p, TOK_BRACE_CLOSE, opener);
    return finish(p, exp);
}

static Exp *parse_brace(Parser *p) {
    Token opener = p->tok;
    parse_next(p);
    if (parse_at(p, TOK_BRACE_CLOSE) || at_record(p)) return parse_record(p, opener);
    return parse_comprehension(p, opener);
}

// ---- names -----------------------------------------------------------------------

static Exp *parse_open(Parser *p, QualName module) {
    Exp *exp = parse_exp_node(p, EXP_OPEN, module.span.start);
    exp->as.open.module = module;
    Exp *inner = parse_paren(p);
    exp->as.open.exp = inner->kind == EXP_PAREN ? inner->as.inner : inner;
    return finish(p, exp);
}

// x, m.x, m.(+), m.(e). Which names are modules and which records is not known here.
static Exp *parse_var(Parser *p) {
    Exp *exp = parse_exp_node(p, EXP_VAR, p->tok.start);
    exp->as.var = parse_qual_name(p, "an expression");
    exp->span = exp->as.var.span;
    if (!parse_at(p, TOK_DOT) || parse_peek(p, 1)->kind != TOK_PAREN_OPEN) return exp;
    parse_next(p);
    if (!parse_at_operator_name(p)) return parse_open(p, exp->as.var);
    parse_push(p, &exp->as.var.quals, exp->as.var.name);
    exp->as.var.name = parse_operator_name(p);
    exp->as.var.span = parse_span_from(p, exp->span.start);
    return finish(p, exp);
}

// ---- literals --------------------------------------------------------------------

static Exp *parse_literal(Parser *p) {
    Exp *exp = parse_exp_node(p, EXP_LIT, p->tok.start);
    Token token = p->tok;
    if (token.kind == TOK_NUMBER) {
        exp->as.lit = lex_number(&p->lexer, &token);
    } else if (token.kind == TOK_CHAR) {
        exp->as.lit = lex_char(&p->lexer, &token);
    } else {
        exp->as.lit = (Lit){.kind = LIT_BOOL,
                            .text = lex_text(&p->lexer, token_span(&token)),
                            .bits = token.kind == TOK_TRUE};
    }
    parse_next(p);
    return finish(p, exp);
}

static Exp *parse_leaf(Parser *p, ExpKind kind) {
    Exp *exp = parse_exp_node(p, kind, p->tok.start);
    if (kind == EXP_STRING) exp->as.string = lex_string(&p->lexer, &p->tok);
    if (kind == EXP_CTOR) {
        Span span = {p->tok.start + 1, p->tok.end};  // without the #
        exp->as.ctor.name = (Name){p->tok.sym, span};
    }
    parse_next(p);
    return finish(p, exp);
}

// Where the text simply ends, what it ends with says what is missing.
static const char *expected_expression(Parser *p) {
    enum { LONGEST = 40 };
    Str before = lex_text(&p->lexer, (Span){p->prev_start, p->prev_end});
    if (!parse_at(p, TOK_END) || before.len == 0 || before.len > LONGEST)
        return "an expression";
    StrBuf buf = strbuf(p->cx->arena);
    strbuf_printf(&buf, "an expression after `%.*s`", STR_ARG(before));
    return str_terminated(p->cx->arena, strbuf_done(&buf));
}

static Exp *report_no_expression(Parser *p) {
    Token found = p->tok;
    uint32_t start = p->tok.start;
    Diag *diag = parse_unexpected(p, expected_expression(p));
    Diags *diags = &p->cx->diags;
    if (found.kind == TOK_UNDERSCORE)
        diag_hint(diags, diag, "_ is a pattern; a hole to fill in later is ???");
    if (found.kind == TOK_DEF || found.kind == TOK_ENTRY)
        diag_hint(diags, diag, "the definition before this one ends too early");
    return parse_exp_node(p, EXP_HOLE, start);
}

static Exp *parse_primary(Parser *p) {
    switch (p->tok.kind) {
    case TOK_NAME: return parse_var(p);
    case TOK_NUMBER: case TOK_CHAR: case TOK_TRUE: case TOK_FALSE:
        return parse_literal(p);
    case TOK_STRING: return parse_leaf(p, EXP_STRING);
    case TOK_HOLE: return parse_leaf(p, EXP_HOLE);
    case TOK_CTOR: return parse_leaf(p, EXP_CTOR);
    case TOK_PAREN_OPEN: return parse_paren(p);
    case TOK_SQUARE_OPEN: return parse_list(p, EXP_ARRAY, TOK_SQUARE_CLOSE);
    case TOK_STREAM_OPEN: return parse_list(p, EXP_STREAM, TOK_STREAM_CLOSE);
    case TOK_BRACE_OPEN: return parse_brace(p);
    default: return report_no_expression(p);
    }
}

// ---- fields and indices ----------------------------------------------------------

static Exp *parse_field(Parser *p, Exp *of) {
    Exp *exp = parse_exp_node(p, EXP_FIELD, of->span.start);
    parse_next(p);
    exp->as.field.exp = of;
    if (parse_at(p, TOK_PAREN_OPEN)) {
        Diag *diag = parse_unexpected(p, "the name of a field");
        diag_hint(&p->cx->diags, diag, "only a module's name may stand before .(");
    } else if (parse_at(p, TOK_SQUARE_OPEN)) {
        Diag *diag = parse_unexpected(p, "the name of a field");
        diag_hint(&p->cx->diags, diag, "an index is written a[i]");
    }
    exp->as.field.name = parse_field_name(p);
    return finish(p, exp);
}

Exp *parse_atom(Parser *p) {
    Exp *exp = parse_primary(p);
    for (;;) {
        if (parse_at(p, TOK_SQUARE_OPEN) && !p->tok.after_space) {
            Exp *index = parse_exp_node(p, EXP_INDEX, exp->span.start);
            index->as.index.exp = exp;
            index->as.index.dims = parse_index(p);
            exp = finish(p, index);
        } else if (parse_at(p, TOK_DOT)) {
            exp = parse_field(p, exp);
        } else {
            return exp;
        }
    }
}
