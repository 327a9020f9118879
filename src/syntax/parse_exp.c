// SPDX-License-Identifier: Apache-2.0
//
// Expressions down to application: ascription, ranges, operators, and the forms that
// begin with a word (let, if, loop, match, lambda). Chains that lean to one side are
// built in loops through a pointer to the hole the next node goes into.
#include "syntax/parse.h"

#include <string.h>

Exp *parse_exp_node(Parser *p, ExpKind kind, uint32_t start) {
    Exp *exp = arena_new(p->cx->arena, Exp);
    exp->kind = kind;
    exp->span = (Span){start, start};
    return exp;
}

static Exp *finish(Parser *p, Exp *exp) {
    exp->span.end = parse_span_from(p, exp->span.start).end;
    return exp;
}

// Takes the word that a form goes on with; else says to what it belongs.
static bool expect_word(Parser *p, TokenKind kind, Token opener, const char *hint) {
    if (parse_accept(p, kind)) return true;
    StrBuf expected = strbuf(p->cx->arena);
    strbuf_printf(&expected, "`%s`", lex_kind_text(kind));
    Diag *diag =
        parse_unexpected(p, str_terminated(p->cx->arena, strbuf_done(&expected)));
    diag_note(&p->cx->diags, diag, token_span(&opener), "it belongs to this `%s`",
              lex_kind_text((TokenKind)opener.kind));
    if (hint != NULL) diag_hint(&p->cx->diags, diag, "%s", hint);
    return false;
}

static bool expect_equals(Parser *p, const char *expected) {
    if (parse_accept(p, TOK_EQUALS)) return true;
    bool is_equality = parse_at_operator(p, "==");
    Diag *diag = parse_unexpected(p, expected);
    if (is_equality)
        diag_hint(&p->cx->diags, diag, "a name is bound with =; == compares");
    return false;
}

// ---- let -------------------------------------------------------------------------

static void parse_let_update(Parser *p, Exp *let) {
    let->kind = EXP_LET_UPDATE;
    let->as.let_update.name = parse_name(p, "the name of an array");
    let->as.let_update.dims = parse_index(p);
    expect_equals(p, "`=` and the new value");
    let->as.let_update.exp = parse_exp(p);
}

static TypeExp *parse_result(Parser *p) {
    return parse_accept(p, TOK_COLON) ? parse_type(p) : NULL;
}

static void parse_let_fun(Parser *p, Exp *let, Name name) {
    let->kind = EXP_LET_FUN;
    let->as.let_fun.name = name;
    let->as.let_fun.type_params = parse_type_params(p);
    let->as.let_fun.params = parse_params(p);
    let->as.let_fun.result = parse_result(p);
    expect_equals(p, "a parameter or `=`");
    let->as.let_fun.exp = parse_exp(p);
}

// let x <+> y = e, at the operator.
static void parse_let_infix(Parser *p, Exp *let, Pat *left) {
    let->kind = EXP_LET_FUN;
    let->as.let_fun.name = parse_infix_name(p);
    Pat *right = parse_param(p);
    parse_push(p, &let->as.let_fun.params, left);
    parse_push(p, &let->as.let_fun.params, right);
    let->as.let_fun.result = parse_result(p);
    expect_equals(p, "`=`");
    let->as.let_fun.exp = parse_exp(p);
}

static void parse_let_pat(Parser *p, Exp *let) {
    NameVec sizes = parse_size_names(p);
    Pat *pat = parse_pat(p);
    bool is_infix = parse_at(p, TOK_OPERATOR) || parse_at(p, TOK_BACKQUOTE);
    bool is_param = pat->kind != PAT_ASCRIPT && pat->kind != PAT_ATTR &&
                    (pat->kind != PAT_CTOR || pat->as.ctor.args.len == 0);
    if (is_infix && is_param && sizes.len == 0) {
        parse_let_infix(p, let, pat);
        return;
    }
    let->as.let.sizes = sizes;
    let->as.let.pat = pat;
    expect_equals(p, "`=`");
    let->as.let.exp = parse_exp(p);
}

// What follows the word let, up to the word in.
static void parse_binding(Parser *p, Exp *let) {
    if (parse_at_operator_name(p)) {
        bool is_plain = parse_peek(p, 3)->kind == TOK_EQUALS;
        if (!is_plain) {
            parse_let_fun(p, let, parse_operator_name(p));
            return;
        }
    } else if (parse_at(p, TOK_NAME)) {
        const Token *next = parse_peek(p, 1);
        if (next->kind == TOK_SQUARE_OPEN && !next->after_space) {
            parse_let_update(p, let);
            return;
        }
        bool is_pat = next->kind == TOK_EQUALS || next->kind == TOK_COLON ||
                      next->kind == TOK_OPERATOR || next->kind == TOK_BACKQUOTE;
        if (!is_pat) {
            parse_let_fun(p, let, parse_name(p, "a name"));
            return;
        }
    }
    parse_let_pat(p, let);
}

static Exp **let_body(Exp *let) {
    switch (let->kind) {
    case EXP_LET_FUN: return &let->as.let_fun.body;
    case EXP_LET_UPDATE: return &let->as.let_update.body;
    default: return &let->as.let.body;
    }
}

static Exp *parse_let(Parser *p) {
    Exp *first = NULL, **hole = &first;
    while (parse_at(p, TOK_LET)) {
        Token opener = p->tok;
        Exp *let = parse_exp_node(p, EXP_LET, opener.start);
        parse_next(p);
        parse_binding(p, let);
        *hole = let;
        hole = let_body(let);
        if (!parse_at(p, TOK_LET))
            expect_word(p, TOK_IN, opener, "after the last let: in and the result");
    }
    Exp *body = parse_exp(p);
    *hole = body;
    for (Exp *let = first; let != body; let = *let_body(let)) finish(p, let);
    return first;
}

// ---- if, match, lambda, loop -----------------------------------------------------

static Exp *parse_if(Parser *p) {
    Exp *first = NULL, **hole = &first;
    while (parse_at(p, TOK_IF)) {
        Token opener = p->tok;
        Exp *exp = parse_exp_node(p, EXP_IF, opener.start);
        parse_next(p);
        exp->as.if_exp.cond = parse_exp(p);
        bool is_bound = parse_at(p, TOK_EQUALS);
        expect_word(p, TOK_THEN, opener, is_bound ? "equality is written ==" : NULL);
        exp->as.if_exp.then_exp = parse_exp(p);
        expect_word(p, TOK_ELSE, opener, "an if is a value: it needs both branches");
        *hole = exp;
        hole = &exp->as.if_exp.else_exp;
    }
    Exp *last = parse_exp(p);
    *hole = last;
    for (Exp *exp = first; exp != last; exp = exp->as.if_exp.else_exp) finish(p, exp);
    return first;
}

static Exp *parse_match(Parser *p) {
    Token opener = p->tok;
    Exp *exp = parse_exp_node(p, EXP_MATCH, opener.start);
    parse_next(p);
    exp->as.match.exp = parse_exp(p);
    if (!parse_at(p, TOK_CASE))
        expect_word(p, TOK_CASE, opener, "write match e case pattern -> result");
    while (parse_at(p, TOK_CASE)) {
        uint32_t start = p->tok.start;
        parse_next(p);
        Case one = {.pat = parse_pat(p)};
        parse_expect(p, TOK_ARROW, "`->` and the result of the case");
        one.body = parse_exp(p);
        one.span = parse_span_from(p, start);
        parse_push(p, &exp->as.match.cases, one);
    }
    return finish(p, exp);
}

static Exp *parse_lambda(Parser *p) {
    Exp *first = NULL, **hole = &first;
    while (parse_at(p, TOK_BACKSLASH)) {
        Exp *exp = parse_exp_node(p, EXP_LAMBDA, p->tok.start);
        parse_next(p);
        exp->as.lambda.params = parse_params(p);
        if (exp->as.lambda.params.len == 0)
            parse_unexpected(p, "a parameter of the lambda");
        if (parse_accept(p, TOK_COLON)) exp->as.lambda.result = parse_type_term(p);
        if (!parse_accept(p, TOK_ARROW)) {
            Diag *diag = parse_unexpected(p, "a parameter or `->`");
            diag_hint(&p->cx->diags, diag, "a lambda is written \\x y -> e");
        }
        *hole = exp;
        hole = &exp->as.lambda.body;
    }
    Exp *last = parse_exp(p);
    *hole = last;
    for (Exp *exp = first; exp != last; exp = exp->as.lambda.body) finish(p, exp);
    return first;
}

static void parse_loop_form(Parser *p, Exp *loop, Token opener) {
    if (parse_accept(p, TOK_WHILE)) {
        loop->as.loop.form = FORM_WHILE;
        loop->as.loop.bound = parse_exp(p);
        return;
    }
    expect_word(p, TOK_FOR, opener, "a loop goes for i < n, for x in a, or while c");
    const Token *next = parse_at(p, TOK_NAME) ? parse_peek(p, 1) : &p->tok;
    Str text = lex_text(&p->lexer, token_span(next));
    if (next->kind == TOK_OPERATOR && str_eq(text, STR("<"))) {
        loop->as.loop.form = FORM_FOR_LESS;
        loop->as.loop.index = parse_name(p, "a name");
        parse_next(p);
    } else {
        loop->as.loop.form = FORM_FOR_IN;
        loop->as.loop.elem = parse_pat(p);
        bool is_less = parse_at(p, TOK_OPERATOR);
        if (!parse_accept(p, TOK_IN)) {
            Diag *diag = parse_unexpected(p, "`<` or `in`");
            if (is_less)
                diag_hint(&p->cx->diags, diag, "a loop goes for i < n or for x in a");
        }
    }
    loop->as.loop.bound = parse_exp(p);
}

static Exp *parse_loop(Parser *p) {
    Token opener = p->tok;
    Exp *exp = parse_exp_node(p, EXP_LOOP, opener.start);
    parse_next(p);
    exp->as.loop.sizes = parse_size_names(p);
    exp->as.loop.pat = parse_pat(p);
    if (parse_accept(p, TOK_EQUALS)) exp->as.loop.init = parse_exp(p);
    parse_loop_form(p, exp, opener);
    expect_word(p, TOK_DO, opener, NULL);
    exp->as.loop.body = parse_exp(p);
    return finish(p, exp);
}

static Exp *parse_assert(Parser *p) {
    Exp *exp = parse_exp_node(p, EXP_ASSERT, p->tok.start);
    parse_next(p);
    exp->as.assert_exp.cond = parse_atom(p);
    exp->as.assert_exp.body = parse_atom(p);
    return finish(p, exp);
}

static Exp *parse_attributed(Parser *p) {
    Exp *exp = parse_exp_node(p, EXP_ATTR, p->tok.start);
    exp->as.attr.attr = parse_attr(p);
    exp->as.attr.exp = parse_exp(p);
    return finish(p, exp);
}

// ---- application -----------------------------------------------------------------

static Exp *parse_apply(Parser *p) {
    Exp *head = parse_atom(p);
    if (!parse_at_atom(p)) return head;
    if (head->kind == EXP_INDEX && parse_at(p, TOK_SQUARE_OPEN)) {
        Diag *diag = parse_fail(p, SYNTAX_SPACED_INDEX, token_span(&p->tok), "");
        diag_hint(&p->cx->diags, diag, "a second index is written a[i, j] or a[i][j]");
        return head;
    }
    Exp *exp = head;
    if (head->kind != EXP_CTOR) {
        exp = parse_exp_node(p, EXP_APPLY, head->span.start);
        exp->as.apply.fun = head;
    }
    while (parse_at_atom(p)) {
        Exp *arg = parse_atom(p);
        if (head->kind == EXP_CTOR) parse_push(p, &exp->as.ctor.args, arg);
        else parse_push(p, &exp->as.apply.args, arg);
    }
    return finish(p, exp);
}

// ---- operators -------------------------------------------------------------------

static bool at_char_operator(const Parser *p, char c) {
    return p->tok.kind == TOK_OPERATOR && p->tok.end - p->tok.start == 1 &&
           p->lexer.begin[p->tok.start - p->lexer.base] == c;
}

static Exp *parse_operand_proper(Parser *p) {
    switch (p->tok.kind) {
    case TOK_LET: return parse_let(p);
    case TOK_IF: return parse_if(p);
    case TOK_LOOP: return parse_loop(p);
    case TOK_MATCH: return parse_match(p);
    case TOK_BACKSLASH: return parse_lambda(p);
    case TOK_ASSERT: return parse_assert(p);
    case TOK_ATTR_OPEN: return parse_attributed(p);
    default: return parse_apply(p);
    }
}

static bool at_operand(const Parser *p) {
    switch (p->tok.kind) {
    case TOK_LET: case TOK_IF: case TOK_LOOP: case TOK_MATCH: case TOK_BACKSLASH:
    case TOK_ASSERT: case TOK_ATTR_OPEN:
        return true;
    default:
        return parse_at_atom(p) || at_char_operator(p, '-') || at_char_operator(p, '!');
    }
}

static Exp *parse_operand(Parser *p) {
    Exp *first = NULL, **hole = &first;
    for (;;) {
        bool is_minus = at_char_operator(p, '-');
        if (!is_minus && !at_char_operator(p, '!')) break;
        Exp *exp = parse_exp_node(p, is_minus ? EXP_NEG : EXP_NOT, p->tok.start);
        parse_next(p);
        *hole = exp;
        hole = &exp->as.inner;
    }
    Exp *last = parse_operand_proper(p);
    *hole = last;
    for (Exp *exp = first; exp != last; exp = exp->as.inner) finish(p, exp);
    return first;
}

// Joins the pending operators above base that bind tighter than one of this level, or
// as tightly and to the left.
static Exp *join_pending(Parser *p, uint32_t base, uint8_t level, bool right,
                         Exp *exp) {
    while (p->pending.len > base) {
        const Pending *top = &p->pending.data[p->pending.len - 1];
        if (top->level < level || (top->level == level && right)) break;
        Exp *joined = parse_exp_node(p, EXP_BINOP, top->left->span.start);
        joined->as.binop.op = top->op;
        joined->as.binop.left = top->left;
        joined->as.binop.right = exp;
        joined->span.end = exp->span.end;
        p->pending.len--;
        exp = joined;
    }
    return exp;
}

static void report_missing_operand(Parser *p, const QualName *op) {
    Token found = p->tok;
    if (p->panic) return;
    StrBuf expected = strbuf(p->cx->arena);
    strbuf_printf(&expected, "an operand after `%.*s`",
                  STR_ARG(sym_str(&p->cx->syms, op->name.sym)));
    Diag *diag = parse_unexpected(
        p, str_terminated(p->cx->arena, strbuf_done(&expected)));
    Diags *diags = &p->cx->diags;
    Str text = sym_str(&p->cx->syms, op->name.sym);
    if (str_eq(text, STR("++")) || str_eq(text, STR("--")))
        diag_hint(diags, diag, "there is no increment: write x + 1");
    if (found.kind == TOK_UNDERSCORE)
        diag_hint(diags, diag, "_ is a pattern; a hole to fill in later is ???");
    if (found.kind == TOK_EQUALS)
        diag_hint(diags, diag, "operators are written without blanks, as in == and <=");
    Str shown = lex_text(&p->lexer, token_span(&found));
    if (found.kind == TOK_OPERATOR && shown.len > 1 &&
        (shown.ptr[0] == '-' || shown.ptr[0] == '!'))
        diag_hint(diags, diag, "put a space between a prefix and what follows");
}

static Exp *parse_climb(Parser *p, uint8_t least, QualName *section_out);

static Exp *parse_update(Parser *p, Exp *old) {
    Exp *exp = parse_exp_node(p, EXP_UPDATE, old->span.start);
    parse_next(p);
    Exp **value = &exp->as.update.value;
    if (parse_at(p, TOK_SQUARE_OPEN)) {
        exp->as.update.exp = old;
        exp->as.update.dims = parse_index(p);
    } else {
        exp->kind = EXP_RECORD_UPDATE;
        exp->as.record_update.exp = old;
        value = &exp->as.record_update.value;
        do {
            Name field = parse_field_name(p);
            parse_push(p, &exp->as.record_update.path, field);
        } while (parse_accept(p, TOK_DOT));
    }
    if (parse_at(p, TOK_ARROW)) {
        Diag *diag = parse_unexpected(p, "`=` and the new value");
        diag_hint(&p->cx->diags, diag, "a match is written match e case p -> r");
    }
    expect_equals(p, "`=` and the new value");
    *value = parse_climb(p, LEVEL_WITH + 1, NULL);
    return finish(p, exp);
}

// The level of the operator that goes on the expression, or 0.
static uint8_t level_here(const Parser *p) {
    switch (p->tok.kind) {
    case TOK_OPERATOR: return at_char_operator(p, '!') ? 0 : p->tok.level;
    case TOK_BACKQUOTE: return LEVEL_BACKQUOTE;
    case TOK_WITH: return LEVEL_WITH;
    default: return 0;
    }
}

// Operands and operators of at least this level, by operator precedence. If
// section_out is not NULL and an operator is the last thing before ")", gives it there.
static Exp *parse_climb(Parser *p, uint8_t least, QualName *section_out) {
    if (!parse_enter(p)) return parse_exp_node(p, EXP_HOLE, p->tok.start);
    uint32_t base = p->pending.len;
    Exp *exp = parse_operand(p);
    for (uint8_t level = level_here(p); level != 0 && level >= least;
         level = level_here(p)) {
        bool right = parse_at(p, TOK_OPERATOR) && p->tok.right;
        exp = join_pending(p, base, level, right, exp);
        if (parse_at(p, TOK_WITH)) {
            exp = parse_update(p, exp);
            continue;
        }
        QualName op = parse_at(p, TOK_BACKQUOTE) ? parse_backquoted(p)
                                                 : parse_operator(p);
        bool is_section = section_out != NULL && parse_at(p, TOK_PAREN_CLOSE);
        if (is_section && p->pending.len == base) {
            *section_out = op;
            break;
        }
        if (!at_operand(p)) report_missing_operand(p, &op);
        Pending pending = {op, exp, level};
        parse_push(p, &p->pending, pending);
        exp = parse_operand(p);
    }
    exp = join_pending(p, base, 0, false, exp);
    parse_leave(p);
    return exp;
}

bool parse_infix_or_section(Parser *p, Exp **exp_out, QualName *section_out) {
    *exp_out = parse_climb(p, LEVEL_BACKQUOTE, section_out);
    return section_out->name.sym != 0;
}

// ---- ranges and ascription -------------------------------------------------------

static bool at_range(const Parser *p) {
    return parse_at(p, TOK_DOTS3) || parse_at(p, TOK_DOTS_LT) ||
           parse_at(p, TOK_DOTS_GT);
}

Exp *parse_range_after(Parser *p, Exp *start) {
    bool has_second = parse_at(p, TOK_DOTS2);
    if (!has_second && !at_range(p)) return start;
    Exp *exp = parse_exp_node(p, EXP_RANGE, start->span.start);
    exp->as.range.start = start;
    if (has_second) {
        parse_next(p);
        exp->as.range.second = parse_climb(p, LEVEL_BACKQUOTE, NULL);
    }
    if (!at_range(p)) {
        Diag *diag =
            parse_unexpected(p, "`...`, `..<` or `..>` and the end of the range");
        diag_hint(&p->cx->diags, diag, "a..<b excludes b, a...b includes it");
    }
    exp->as.range.kind = parse_at(p, TOK_DOTS_LT)   ? RANGE_UP_TO
                         : parse_at(p, TOK_DOTS_GT) ? RANGE_DOWN_TO
                                                    : RANGE_TO;
    parse_next(p);
    exp->as.range.end = parse_climb(p, LEVEL_BACKQUOTE, NULL);
    if (at_range(p) || parse_at(p, TOK_DOTS2))
        parse_fail(p, SYNTAX_RANGE_CHAIN, token_span(&p->tok), "");
    return finish(p, exp);
}

Exp *parse_ascriptions_after(Parser *p, Exp *exp) {
    while ((parse_at(p, TOK_COLON) && !p->no_colon) || parse_at(p, TOK_COLON_GT)) {
        ExpKind kind = parse_at(p, TOK_COLON) ? EXP_ASCRIPT : EXP_COERCE;
        Exp *outer = parse_exp_node(p, kind, exp->span.start);
        parse_next(p);
        outer->as.ascript.exp = exp;
        outer->as.ascript.type = parse_type(p);
        exp = finish(p, outer);
    }
    return exp;
}

Exp *parse_infix_exp(Parser *p) {
    return parse_range_after(p, parse_climb(p, LEVEL_BACKQUOTE, NULL));
}

Exp *parse_exp(Parser *p) {
    return parse_ascriptions_after(p, parse_infix_exp(p));
}

static Exp *parse_with_colon(Parser *p, bool no_colon) {
    bool outside = p->no_colon;
    p->no_colon = no_colon;
    Exp *exp = parse_exp(p);
    p->no_colon = outside;
    return exp;
}

Exp *parse_exp_inside(Parser *p) {
    return parse_with_colon(p, false);
}

Exp *parse_exp_without_colon(Parser *p) {
    return parse_with_colon(p, true);
}
