// SPDX-License-Identifier: Apache-2.0
//
// The formatter's ground: tokens with the comments before them, the blanks between
// tokens that nothing else decides, the walk, and the proof that nothing was lost.
#include "syntax/format.h"

#include <string.h>

#include "syntax/syntax.h"

static const DiagKind internal_error = {
    "internal", "this is a mistake in Weft, not in your program: the file cannot be "
                "formatted, because %s"};

// ---- tokens and comments ---------------------------------------------------------

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool starts_block(Str comment) {
    size_t at = 2;
    while (at < comment.len && comment.ptr[at] == ' ') at++;
    return comment.len - at >= 2 && memcmp(comment.ptr + at, "==", 2) == 0;
}

typedef struct { DocComment *data; uint32_t len, cap; } CommentVec;

// Takes the comments out of the text between two tokens.
static void read_gap(Cx *cx, Str text, bool is_first, CommentVec *comments,
                     DocGap *gap) {
    uint32_t lines = is_first ? 1 : 0;  // line ends since the last comment or token
    bool in_block = false;              // the bytes of test blocks are left alone
    for (size_t at = 0; at < text.len;) {
        const char *here = text.ptr + at;
        if (*here == '\n') lines++;
        if (*here != '-') {
            at++;
            continue;
        }
        const char *newline = memchr(here, '\n', text.len - at);
        size_t len = newline == NULL ? text.len - at : (size_t)(newline - here);
        DocComment comment = {{here, len}, lines > 0, lines > 1};
        at += len;
        in_block = (in_block && lines == 1) || starts_block(comment.text);
        while (comment.text.len > 2 && is_blank(here[comment.text.len - 1]) &&
               (!in_block || here[comment.text.len - 1] == '\r'))
            comment.text.len--;
        vec_push(cx->arena, comments, comment);
        gap->count++;
        lines = 0;
    }
    gap->has_line_end = lines > 0;
    gap->has_blank_line = lines > 1;
}

// A comment behind a token goes behind the comma that follows it on another line.
static void pass_commas(FormatToken *tokens, uint32_t count,
                        const DocComment *comments) {
    for (uint32_t i = 0; i + 1 < count; i++) {
        DocGap *gap = &tokens[i].gap, *next = &tokens[i + 1].gap;
        bool passes = tokens[i].kind == TOK_COMMA && gap->count == 1 &&
                      !comments[0].own_line;
        comments += gap->count;
        if (!passes || (next->count > 0 && !comments[0].own_line)) continue;
        gap->count = 0;
        next->count++;
        comments--;
    }
}

typedef struct { FormatToken *data; uint32_t len, cap; } TokenVec;

static void read_tokens(Cx *cx, const Source *source, TokenVec *tokens,
                        CommentVec *comments) {
    Lexer lexer;
    lex_init(&lexer, cx, source);
    uint32_t end = source->base + (uint32_t)(lexer.at - lexer.begin);
    for (;;) {
        Token token;
        lex_next(&lexer, &token);
        FormatToken one = {.kind = token.kind,
                           .after_space = token.after_space,
                           .start = token.start,
                           .text = lex_text(&lexer, token_span(&token))};
        Str between = lex_text(&lexer, (Span){end, token.start});
        read_gap(cx, between, tokens->len == 0, comments, &one.gap);
        vec_push(cx->arena, tokens, one);
        end = token.end;
        if (token.kind == TOK_END) break;
    }
    tokens->data[tokens->len - 1].gap.has_blank_line = false;
    if (comments->len > 0) pass_commas(tokens->data, tokens->len, comments->data);
    const DocComment *next = comments->data;
    for (uint32_t i = 0; i < tokens->len; i++) {
        tokens->data[i].gap.comments = next;
        if (next != NULL) next += tokens->data[i].gap.count;
    }
}

// ---- blanks ----------------------------------------------------------------------

static bool opens(uint8_t kind) {
    return kind == TOK_PAREN_OPEN || kind == TOK_SQUARE_OPEN ||
           kind == TOK_BRACE_OPEN || kind == TOK_ATTR_OPEN || kind == TOK_TICK ||
           kind == TOK_TICK_TILDE || kind == TOK_TICK_HAT || kind == TOK_BACKSLASH ||
           kind == TOK_QUESTION;
}

static bool closes(uint8_t kind) {
    return kind == TOK_PAREN_CLOSE || kind == TOK_SQUARE_CLOSE ||
           kind == TOK_BRACE_CLOSE || kind == TOK_COMMA || kind == TOK_SEMICOLON ||
           kind == TOK_COLON || kind == TOK_TILDE;
}

static bool is_dots(uint8_t kind) {
    return kind == TOK_DOT || kind == TOK_DOTS2 || kind == TOK_DOTS3 ||
           kind == TOK_DOTS_LT || kind == TOK_DOTS_GT;
}

// What stands between two tokens if the tree does not say.
static DocBreak usual_gap(const Format *f, const FormatToken *a,
                          const FormatToken *b) {
    if (opens(a->kind) || closes(b->kind) || is_dots(a->kind) || is_dots(b->kind))
        return BREAK_GLUE;
    if (a->kind == TOK_BACKQUOTE && f->in_backquotes) return BREAK_GLUE;
    if (b->kind == TOK_BACKQUOTE && f->in_backquotes) return BREAK_GLUE;
    if (a->kind == TOK_TYPE && b->kind == TOK_OPERATOR) return BREAK_GLUE;
    if (b->kind == TOK_SQUARE_OPEN || a->kind == TOK_SQUARE_CLOSE) {
        bool is_word = b->kind == TOK_EQUALS || b->kind == TOK_OPERATOR ||
                       b->kind == TOK_ARROW || a->kind == TOK_COMMA ||
                       a->kind == TOK_COLON || a->kind == TOK_EQUALS;
        return b->after_space || is_word ? BREAK_SPACE : BREAK_GLUE;
    }
    return BREAK_SPACE;
}

static DocItem *add_item(Format *f, DocKind kind) {
    vec_push(f->cx->arena, &f->doc, (DocItem){.kind = (uint8_t)kind});
    return &f->doc.data[f->doc.len - 1];
}

// A break that waits for the next token; of two the stronger counts.
static void add_break(Format *f, DocBreak kind, uint8_t back) {
    if (f->pending == 0) {
        add_item(f, DOC_BREAK);
        f->pending = f->doc.len;
    }
    DocItem *item = &f->doc.data[f->pending - 1];
    if (kind > item->what) item->what = (uint8_t)kind;
    if (back > item->back) item->back = back;
}

static void add_token(Format *f, bool in_attr) {
    const FormatToken *token = &f->tokens[f->at];
    if (f->at > 0 && f->pending == 0) {
        bool glued = in_attr && token->kind == TOK_PAREN_OPEN;
        add_break(f, glued ? BREAK_GLUE : usual_gap(f, token - 1, token), 0);
    }
    if (f->pending != 0) f->doc.data[f->pending - 1].gap = token->gap;
    f->pending = 0;
    if (token->kind == TOK_BACKQUOTE) f->in_backquotes = !f->in_backquotes;
    f->at++;
    add_item(f, DOC_TEXT)->text = token->text;
}

// ---- the walk --------------------------------------------------------------------

void format_step(Format *f, Step step) {
    vec_push(f->cx->arena, &f->steps, step);
}

void format_until(Format *f, uint32_t pos) {
    format_step(f, (Step){.kind = STEP_UNTIL, .pos = pos});
}

void format_break(Format *f, DocBreak kind) {
    format_step(f, (Step){.kind = STEP_BREAK, .what = (uint8_t)kind});
}

void format_mark(Format *f, StepKind kind) {
    format_step(f, (Step){.kind = (uint8_t)kind});
}

void format_indent(Format *f, uint8_t by) {
    format_step(f, (Step){.kind = STEP_INDENT, .what = by});
}

void format_node(Format *f, StepKind kind, const void *node) {
    format_step(f, (Step){.kind = (uint8_t)kind, .node = node});
}

static void visit(Format *f, Step step) {
    uint32_t base = f->steps.len;
    switch ((StepKind)step.kind) {
    case STEP_EXP: format_exp(f, step.node); break;
    case STEP_TYPE: format_type(f, step.node); break;
    case STEP_PAT: format_pat(f, step.node); break;
    case STEP_DECL: format_decl(f, step.node); break;
    case STEP_MOD: format_mod(f, step.node); break;
    case STEP_SIG: format_sig(f, step.node); break;
    case STEP_UNTIL: case STEP_ATTR:
        while (f->at + 1 < f->token_count && f->tokens[f->at].start < step.pos)
            add_token(f, step.kind == STEP_ATTR);
        return;
    case STEP_PAREN:
        if (f->tokens[f->at].kind == TOK_PAREN_CLOSE) add_token(f, false);
        return;
    case STEP_TOKEN:
        if (f->at + 1 < f->token_count) add_token(f, false);
        return;
    case STEP_BREAK: add_break(f, (DocBreak)step.what, step.back); return;
    case STEP_OPEN: add_item(f, DOC_OPEN); return;
    case STEP_CLOSE: add_item(f, DOC_CLOSE); return;
    case STEP_INDENT: add_item(f, DOC_INDENT)->what = step.what; return;
    case STEP_HANG: add_item(f, DOC_HANG)->what = step.what; return;
    case STEP_ALIGN: add_item(f, DOC_ALIGN); return;
    case STEP_OUTDENT: add_item(f, DOC_OUTDENT); return;
    }
    if (f->steps.len == base) return;
    for (uint32_t i = base, j = f->steps.len - 1; i < j; i++, j--) {
        Step first = f->steps.data[i];
        f->steps.data[i] = f->steps.data[j];
        f->steps.data[j] = first;
    }
}

static void walk(Format *f) {
    while (f->steps.len > 0) visit(f, f->steps.data[--f->steps.len]);
}

static void build(Format *f, const Ast *ast) {
    for (uint32_t i = 0; i < ast->decls.len; i++) {
        add_break(f, BREAK_PARAGRAPH, 0);
        format_node(f, STEP_DECL, ast->decls.data[i]);
        walk(f);
    }
    while (f->at + 1 < f->token_count) add_token(f, false);
    add_break(f, BREAK_PARAGRAPH, 0);
    add_token(f, false);
}

// ---- proof -----------------------------------------------------------------------

static bool same_tokens(const TokenVec *a, const TokenVec *b) {
    if (a->len != b->len) return false;
    for (uint32_t i = 0; i < a->len; i++)
        if (a->data[i].kind != b->data[i].kind ||
            !str_eq(a->data[i].text, b->data[i].text))
            return false;
    return true;
}

static bool same_comments(const CommentVec *a, const CommentVec *b) {
    if (a->len != b->len) return false;
    for (uint32_t i = 0; i < a->len; i++)
        if (!str_eq(a->data[i].text, b->data[i].text)) return false;
    return true;
}

static Str shown(Cx *cx, const Ast *ast) {
    StrBuf text = strbuf(cx->arena);
    syntax_print(cx, ast, &text);
    return strbuf_done(&text);
}

// Why the text is not the same program, or NULL.
static const char *difference(Cx *cx, const Source *source, const Ast *ast,
                              const TokenVec *tokens, const CommentVec *comments,
                              Str text) {
    const Source *again = sources_add(&cx->sources, source->name, text, false);
    if (again == NULL) return "it is too long";
    TokenVec tokens2 = {0};
    CommentVec comments2 = {0};
    read_tokens(cx, again, &tokens2, &comments2);
    if (!same_tokens(tokens, &tokens2)) return "its words would change";
    if (!same_comments(comments, &comments2)) return "its comments would change";
    const Ast *ast2 = syntax_parse(cx, again);
    if (cx->diags.error_count > 0) return "it could not be read again";
    bool is_same = str_eq(shown(cx, ast), shown(cx, ast2)) &&
                   str_eq(ast->doc, ast2->doc);
    return is_same ? NULL : "its meaning would change";
}

bool syntax_format(Cx *cx, const Source *source, StrBuf *out) {
    const Ast *ast = syntax_parse(cx, source);
    if (cx->diags.error_count > 0) return false;
    TokenVec tokens = {0};
    CommentVec comments = {0};
    read_tokens(cx, source, &tokens, &comments);
    Format f = {.cx = cx, .tokens = tokens.data, .token_count = tokens.len};
    build(&f, ast);
    StrBuf text = strbuf(cx->arena);
    doc_layout(&f.doc, &text);
    const char *why =
        difference(cx, source, ast, &tokens, &comments, strbuf_done(&text));
    if (why != NULL) {
        diag_error(&cx->diags, (Span){0, 0}, &internal_error, why);
        return false;
    }
    strbuf_str(out, strbuf_done(&text));
    return true;
}
