// SPDX-License-Identifier: Apache-2.0
//
// What somebody typed at a prompt: definitions or an expression. Words such as let and
// #[...] begin both, so that a text which is not the one is tried as the other; of two
// failures the one that got further is told.
#include "syntax/parse.h"
#include "syntax/syntax.h"

typedef struct Attempt {
    Diags diags;
    uint32_t reached; // where the first mistake was met
    bool is_short;    // and that was the end of the text
} Attempt;

static void finish(Attempt *attempt, Cx *cx, const Parser *p) {
    attempt->diags = cx->diags;
    attempt->reached = p->stopped.start;
    attempt->is_short = cx->diags.error_count == 1 && p->lexer.errors == 0 &&
                        p->stopped.kind == TOK_END;
}

static void restart(Cx *cx) {
    Diags *diags = &cx->diags;
    bool advice = diags->advice;
    diags_init(diags, diags->arena, diags->sources);
    diags->advice = advice;
}

static Attempt try_decls(Cx *cx, const Source *source, Prompt *prompt) {
    Attempt attempt;
    Parser p;
    restart(cx);
    parse_start(&p, cx, source);
    parse_decls(&p, false, &prompt->decls);
    finish(&attempt, cx, &p);
    return attempt;
}

static Attempt try_exp(Cx *cx, const Source *source, Prompt *prompt) {
    Attempt attempt;
    Parser p;
    restart(cx);
    parse_start(&p, cx, source);
    prompt->exp = parse_exp(&p);
    if (!p.panic && !parse_at(&p, TOK_END))
        parse_unexpected(&p, "the end of the expression");
    finish(&attempt, cx, &p);
    return attempt;
}

// Whether another case could be written behind the expression.
static bool takes_cases(const Exp *exp) {
    for (;;) {
        switch ((int)exp->kind) {
        case EXP_MATCH: return true;
        case EXP_IF: exp = exp->as.if_exp.else_exp; break;
        case EXP_LET: exp = exp->as.let.body; break;
        case EXP_LET_FUN: exp = exp->as.let_fun.body; break;
        case EXP_LET_UPDATE: exp = exp->as.let_update.body; break;
        case EXP_LAMBDA: exp = exp->as.lambda.body; break;
        case EXP_LOOP: exp = exp->as.loop.body; break;
        default: return false;
        }
    }
}

static bool may_go_on(const Prompt *prompt) {
    if (prompt->exp != NULL) return takes_cases(prompt->exp);
    if (prompt->decls.len == 0) return false;
    const Decl *last = prompt->decls.data[prompt->decls.len - 1];
    while (last->kind == DECL_LOCAL) last = last->as.local;
    return last->kind == DECL_VAL && takes_cases(last->as.val.body);
}

static bool starts_decl(TokenKind kind) {
    switch ((int)kind) {
    case TOK_DEF: case TOK_LET: case TOK_ENTRY: case TOK_TYPE: case TOK_MODULE:
    case TOK_IMPORT: case TOK_OPEN: case TOK_LOCAL: case TOK_ATTR_OPEN: case TOK_END:
        return true;
    default:
        return false;
    }
}

Prompt syntax_parse_prompt(Cx *cx, const Source *source) {
    Prompt prompt = {0};
    Parser p;
    restart(cx);
    parse_start(&p, cx, source);
    TokenKind first = (TokenKind)p.tok.kind;
    Attempt best = {.reached = 0};
    bool is_decl = starts_decl(first), is_both = first == TOK_LET ||
                                                 first == TOK_ATTR_OPEN;
    if (is_decl) best = try_decls(cx, source, &prompt);
    if (!is_decl || (is_both && best.diags.error_count > 0)) {
        Attempt other = try_exp(cx, source, &prompt);
        if (other.diags.error_count == 0) prompt.decls.len = 0;
        bool is_better = !is_decl || other.diags.error_count == 0 ||
                         other.reached > best.reached;
        if (is_better) best = other;
    }
    cx->diags = best.diags;
    if (best.diags.error_count > 0) prompt = (Prompt){.is_short = best.is_short};
    else prompt.may_go_on = may_go_on(&prompt);
    return prompt;
}
