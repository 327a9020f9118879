// SPDX-License-Identifier: Apache-2.0
//
// The parser's ground: tokens, names, mistakes and how they are told; and the entries
// of the room. The grammar is in the other parse_*.c files.
#include "syntax/parse.h"

#include <string.h>

#include "syntax/syntax.h"

// ---- tokens ----------------------------------------------------------------------

void parse_start(Parser *p, Cx *cx, const Source *source) {
    *p = (Parser){.cx = cx,
                  .first_diag = cx->diags.error_count,
                  .is_lib = source->is_lib};
    lex_init(&p->lexer, cx, source);
    lex_next(&p->lexer, &p->tok);
    p->prev_start = p->prev_end = p->tok.start;
}

void parse_next(Parser *p) {
    if (p->panic || p->tok.kind == TOK_END) return;
    if (p->tok.kind == TOK_BRACE_OPEN) p->braces++;
    if (p->tok.kind == TOK_BRACE_CLOSE && p->braces > 0) p->braces--;
    p->prev_start = p->tok.start;
    p->prev_end = p->tok.end;
    if (++p->tokens == PARSE_MOST_TOKENS) {
        parse_fail(p, SYNTAX_TOO_LARGE, token_span(&p->tok), "");
        return;
    }
    if (p->ahead_len == 0) {
        lex_next(&p->lexer, &p->tok);
        return;
    }
    p->tok = p->ahead[0];
    p->ahead_len--;
    for (uint32_t i = 0; i < p->ahead_len; i++) p->ahead[i] = p->ahead[i + 1];
}

const Token *parse_peek(Parser *p, uint32_t n) {
    if (p->panic) return &p->tok;
    while (p->ahead_len < n) lex_next(&p->lexer, &p->ahead[p->ahead_len++]);
    return &p->ahead[n - 1];
}

bool parse_accept(Parser *p, TokenKind kind) {
    if (p->tok.kind != kind) return false;
    parse_next(p);
    return true;
}

bool parse_at_operator(const Parser *p, const char *text) {
    return p->tok.kind == TOK_OPERATOR &&
           str_eq(lex_text(&p->lexer, token_span(&p->tok)), str_of(text));
}

bool parse_expect(Parser *p, TokenKind kind, const char *expected) {
    if (p->tok.kind == kind) {
        parse_next(p);
        return true;
    }
    parse_unexpected(p, expected);
    return false;
}

// ---- mistakes --------------------------------------------------------------------

const char *parse_show(Parser *p, const Token *token) {
    enum { LONGEST = 40 };
    TokenKind kind = (TokenKind)token->kind;
    bool is_plain = kind == TOK_NAME || kind == TOK_OPERATOR || kind == TOK_CTOR ||
                    kind == TOK_NUMBER || kind == TOK_CHAR || lex_is_keyword(kind);
    Str text = lex_text(&p->lexer, token_span(token));
    if (!is_plain || text.len > LONGEST) return lex_kind_text(kind);
    StrBuf buf = strbuf(p->cx->arena);
    strbuf_printf(&buf, "`%.*s`", STR_ARG(text));
    return str_terminated(p->cx->arena, strbuf_done(&buf));
}

void parse_give_up(Parser *p) {
    if (p->panic) return;
    p->panic = true;
    p->stopped = p->tok;
    p->tok.kind = TOK_END;
}

// Whether the mistake about to be told is worth telling: not in panic, and not after
// bad characters in the same declaration, from which it may follow.
static bool is_silent(const Parser *p) {
    return p->panic || p->lexer.errors != p->lexer_errors;
}

Diag *parse_fail(Parser *p, SyntaxDiag which, Span span, const char *text) {
    Diag *diag = is_silent(p) ? arena_new(p->cx->arena, Diag)
                              : diag_error(&p->cx->diags, span, &syntax_diags[which],
                                           (int)strlen(text), text);
    parse_give_up(p);
    return diag;
}

static bool is_on_line_of(const Parser *p, Span earlier, const Token *token) {
    Str between = lex_text(&p->lexer, (Span){earlier.start, token->start});
    return between.len < 400 && memchr(between.ptr, '\n', between.len) == NULL;
}

// Words other languages use, and what stands for them here.
static const struct Word {
    const char *text, *hint;
} words[] = {
    {"fn", "a definition starts with def, a lambda is written \\x -> e"},
    {"fun", "a definition starts with def, a lambda is written \\x -> e"},
    {"function", "a definition starts with def, a lambda is written \\x -> e"},
    {"lambda", "a lambda is written \\x -> e"},
    {"var", "names are bound with def and let"},
    {"const", "names are bound with def and let"},
    {"where", "local definitions come first: let x = e in ..."},
    {"elif", "write else if"},
    {"elseif", "write else if"},
    {"return", "the value of a function is its body; there is no return"},
    {"struct", "a record type is written type t = {x: a, y: b}"},
    {"data", "a sum type is written type t = #a | #b t"},
    {"signature", "write module type"},
    {"of", "write match e case p -> e"},
    {"and", "the logical operators are &&, || and !"},
    {"or", "the logical operators are &&, || and !"},
    {"not", "the logical operators are &&, || and !"},
    {"++", "there is no increment: write x + 1"},
    {"=>", "write ->"},
    {"?", "a choice is written if c then a else b"},
    {"|", "constructors are written #a | #b, cases of a match case p -> e"},
    {"for", "a loop is written loop x = e for i < n do ..."},
    {"while", "a loop is written loop x = e while c do ..."},
    {";", "nothing ends or separates bindings: leave the ; out"},
    {"<-", "an update is written a with [i] = v, a binding let x = e"},
    {":=", "an update is written a with [i] = v, a binding let x = e"},
};

static void hint_by_token(Parser *p, Diag *diag, const Token *found) {
    Diags *diags = &p->cx->diags;
    Str text = lex_text(&p->lexer, token_span(found));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_eq(text, str_of(words[i].text)))
            diag_hint(diags, diag, "%s", words[i].hint);
    if (found->kind == TOK_OPERATOR && text.len > 2 && memcmp(text.ptr, "->", 2) == 0)
        diag_hint(diags, diag, "`%.*s` is read as one operator: put a space after ->",
                  STR_ARG(text));
    if (found->kind == TOK_OPERATOR && text.len > 1 && text.ptr[0] == '=' &&
        text.ptr[1] != '=')
        diag_hint(diags, diag, "`%.*s` is read as one operator: put a space after =",
                  STR_ARG(text));
    if (found->kind == TOK_BACKSLASH || found->kind == TOK_IF ||
        found->kind == TOK_LET || found->kind == TOK_LOOP || found->kind == TOK_MATCH)
        diag_hint(diags, diag, "an argument such as this one needs parentheses");
    if (found->kind == TOK_TICK)
        diag_hint(diags, diag, "characters are quoted as 'a', strings as \"text\"");
    Span slashes = p->lexer.slashes;
    if (slashes.start != 0 && slashes.start <= found->start &&
        is_on_line_of(p, slashes, found))
        diag_hint(diags, diag, "comments start with --; // is division");
}

// Where to point for a token: for the end of the file, to the last token before it.
static Span place_of(const Parser *p, const Token *token) {
    bool is_end = token->kind == TOK_END;
    return is_end ? (Span){p->prev_end, p->prev_end} : token_span(token);
}

Diag *parse_unexpected(Parser *p, const char *expected) {
    Token found = p->tok;
    if (is_silent(p)) {
        parse_give_up(p);
        return arena_new(p->cx->arena, Diag);
    }
    Diag *diag = diag_error(&p->cx->diags, place_of(p, &found),
                            &syntax_diags[SYNTAX_UNEXPECTED], expected,
                            parse_show(p, &found));
    hint_by_token(p, diag, &found);
    parse_give_up(p);
    return diag;
}

Diag *parse_close(Parser *p, TokenKind kind, Token opener) {
    if (parse_accept(p, kind)) return NULL;
    Token found = p->tok;
    if (is_silent(p)) {
        parse_give_up(p);
        return arena_new(p->cx->arena, Diag);
    }
    const char *open_text = lex_kind_text((TokenKind)opener.kind);
    Diag *diag = diag_error(&p->cx->diags, place_of(p, &found),
                            &syntax_diags[SYNTAX_UNCLOSED], lex_kind_text(kind),
                            open_text, parse_show(p, &found));
    diag_note(&p->cx->diags, diag, token_span(&opener), "it was opened here");
    if (found.kind == TOK_SEMICOLON)
        diag_hint(&p->cx->diags, diag, "parts are separated by commas");
    else hint_by_token(p, diag, &found);
    parse_give_up(p);
    return diag;
}

bool parse_enter(Parser *p) {
    if (p->panic) return false;
    if (p->depth < NESTING_LIMIT && !stack_is_low(&p->cx->stack)) {
        p->depth++;
        return true;
    }
    parse_fail(p, SYNTAX_TOO_DEEP, token_span(&p->tok), "");
    return false;
}

// ---- names -----------------------------------------------------------------------

static Name take_name(Parser *p) {
    Name name = {p->tok.sym, token_span(&p->tok)};
    parse_next(p);
    return name;
}

Name parse_name(Parser *p, const char *expected) {
    if (parse_at(p, TOK_NAME)) return take_name(p);
    Name none = {0, token_span(&p->tok)};
    // A word that starts a line rather belongs to what follows.
    if (lex_is_keyword((TokenKind)p->tok.kind) && !p->tok.first_on_line) {
        Str text = lex_text(&p->lexer, token_span(&p->tok));
        const char *word = str_terminated(p->cx->arena, text);
        Diag *diag = parse_fail(p, SYNTAX_RESERVED, token_span(&p->tok), word);
        diag_label(&p->cx->diags, diag, "expected %s", expected);
        diag_hint(&p->cx->diags, diag, "add a prime or an underscore: %s'", word);
        return none;
    }
    Diag *diag = parse_unexpected(p, expected);
    if (p->stopped.kind == TOK_UNDERSCORE)
        diag_hint(&p->cx->diags, diag, "here a name is needed, such as _x");
    return none;
}

QualName parse_qual_name(Parser *p, const char *expected) {
    QualName name = {.name = parse_name(p, expected)};
    name.span = name.name.span;
    while (parse_at(p, TOK_DOT) && parse_peek(p, 1)->kind == TOK_NAME) {
        parse_next(p);
        parse_push(p, &name.quals, name.name);
        name.name = take_name(p);
        name.span.end = name.name.span.end;
    }
    return name;
}

// The names of "a.b." in front of a qualified operator. No blanks are among them.
static void split_quals(Parser *p, const Token *token, QualName *name) {
    uint32_t start = token->start;
    Str text = lex_text(&p->lexer, (Span){start, token->own_start});
    for (size_t at = 0, from = 0; at < text.len; at++) {
        if (text.ptr[at] != '.') continue;
        Str part = {text.ptr + from, at - from};
        Name qual = {sym_intern(&p->cx->syms, part),
                     {start + (uint32_t)from, start + (uint32_t)at}};
        parse_push(p, &name->quals, qual);
        from = at + 1;
    }
}

QualName parse_operator(Parser *p) {
    Token token = p->tok;
    QualName name = {.name = {token.sym, {token.own_start, token.end}},
                     .span = token_span(&token)};
    if (token.own_start != token.start) split_quals(p, &token, &name);
    parse_next(p);
    return name;
}

QualName parse_backquoted(Parser *p) {
    Token opener = p->tok;
    parse_expect(p, TOK_BACKQUOTE, "an operator");
    QualName name = parse_qual_name(p, "a function's name between backquotes");
    parse_close(p, TOK_BACKQUOTE, opener);
    name.span = parse_span_from(p, opener.start);
    return name;
}

Name parse_field_name(Parser *p) {
    if (!parse_at(p, TOK_NUMBER)) return parse_name(p, "the name of a field");
    Str text = lex_text(&p->lexer, token_span(&p->tok));
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            parse_unexpected(p, "the name or number of a field");
            return (Name){0, token_span(&p->tok)};
        }
    Name name = {sym_intern(&p->cx->syms, text), token_span(&p->tok)};
    parse_next(p);
    return name;
}

bool parse_at_operator_name(Parser *p) {
    if (!parse_at(p, TOK_PAREN_OPEN)) return false;
    TokenKind kind = (TokenKind)parse_peek(p, 1)->kind;
    return kind == TOK_OPERATOR && parse_peek(p, 2)->kind == TOK_PAREN_CLOSE;
}

static Name check_unqualified(Parser *p, QualName name) {
    if (name.quals.len != 0) {
        Str text = lex_text(&p->lexer, name.span);
        parse_fail(p, SYNTAX_QUALIFIED_NAME, name.span,
                   str_terminated(p->cx->arena, text));
    }
    return name.name;
}

Name parse_operator_name(Parser *p) {
    parse_next(p);
    QualName name = parse_operator(p);
    parse_next(p);
    return check_unqualified(p, name);
}

Name parse_infix_name(Parser *p) {
    bool is_word = parse_at(p, TOK_BACKQUOTE);
    QualName name = is_word ? parse_backquoted(p) : parse_operator(p);
    return check_unqualified(p, name);
}

// ---- attributes ------------------------------------------------------------------

static Attr parse_attr_body(Parser *p) {
    Attr attr = {.span = token_span(&p->tok)};
    bool is_number = parse_at(p, TOK_NUMBER);
    if (is_number || lex_is_keyword((TokenKind)p->tok.kind)) {
        Str text = lex_text(&p->lexer, attr.span);
        attr.name = (Name){sym_intern(&p->cx->syms, text), attr.span};
        attr.is_number = is_number;
        parse_next(p);
        if (is_number) return attr;
    } else {
        attr.name = parse_name(p, "the name of an attribute");
    }
    Token opener = p->tok;
    if (!parse_at(p, TOK_PAREN_OPEN) || !parse_enter(p)) return attr;
    parse_next(p);
    while (!parse_at(p, TOK_PAREN_CLOSE)) {
        Attr arg = parse_attr_body(p);
        parse_push(p, &attr.args, arg);
        if (!parse_accept(p, TOK_COMMA)) break;
    }
    parse_close(p, TOK_PAREN_CLOSE, opener);
    parse_leave(p);
    attr.span = parse_span_from(p, attr.span.start);
    return attr;
}

Attr parse_attr(Parser *p) {
    Token opener = p->tok;
    parse_expect(p, TOK_ATTR_OPEN, "an attribute");
    Attr attr = parse_attr_body(p);
    parse_close(p, TOK_SQUARE_CLOSE, opener);
    attr.span = parse_span_from(p, opener.start);
    return attr;
}

// ---- entries ---------------------------------------------------------------------

Ast *syntax_parse(Cx *cx, const Source *source) {
    Ast *ast = arena_new(cx->arena, Ast);
    ast->source = source;
    Parser p;
    parse_start(&p, cx, source);
    ast->doc = lex_doc(&p.lexer, p.lexer.file_doc);
    parse_decls(&p, false, &ast->decls);
    return ast;
}

Exp *syntax_parse_exp(Cx *cx, const Source *source) {
    Parser p;
    parse_start(&p, cx, source);
    Exp *exp = parse_exp(&p);
    if (!p.panic && !parse_at(&p, TOK_END))
        parse_unexpected(&p, "the end of the expression");
    return cx->diags.error_count == p.first_diag ? exp : NULL;
}
