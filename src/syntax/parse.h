// SPDX-License-Identifier: Apache-2.0
//
// What the files of the parser share. It is a parser by recursive descent that walks
// chains (of lets, operators, arguments, arrows) in loops, so that only true nesting
// costs stack.
//
// Mistakes: the first one in a declaration is reported and puts the parser in panic.
// From then on every token looks like the end of the file and nothing is reported, so
// that all callers return, with nodes nobody will see. parse_decls takes the parser out
// of panic at the next declaration. Parse functions therefore never return NULL.
#ifndef WEFT_SYNTAX_PARSE_H
#define WEFT_SYNTAX_PARSE_H

#include "base/cx.h"
#include "syntax/ast.h"
#include "syntax/diags.h"
#include "syntax/lex.h"

enum { AHEAD = 3 };

// An operator that waits for its right operand.
typedef struct Pending {
    QualName op;
    Exp *left;
    uint8_t level;
} Pending;

enum { PARSE_MOST_TOKENS = 4000000 };

typedef struct Parser {
    Cx *cx;
    Lexer lexer;
    Token tok;           // the current token
    Token ahead[AHEAD];  // those behind it, as far as anyone peeked
    uint32_t ahead_len;
    uint32_t prev_start, prev_end;  // of the last token taken
    uint32_t tokens;     // taken so far, to keep any input within seconds
    uint32_t depth;      // of nesting
    uint32_t braces;     // open ones
    uint32_t first_diag; // of this file
    uint32_t lexer_errors;  // when this declaration started
    bool panic;
    bool no_colon;       // ":" does not ascribe here (in indices, comprehensions)
    bool is_lib;         // the source is of the library: see syntax_whole
    uint32_t wanted;     // where the declaration that is to be read whole starts
    bool is_block;       // the declaration at hand has its lines to itself
    uint32_t column;     // where it starts on the first of them
    Token stopped;       // in panic: the token it started at
    struct { Pending *data; uint32_t len, cap; } pending;
} Parser;

// Appends to a vector of the tree. Most stay short, so they start with one place.
#define parse_push(p, vec, ...)                                                    \
    do {                                                                           \
        if ((vec)->cap == 0) {                                                     \
            (vec)->data = arena_alloc((p)->cx->arena, sizeof *(vec)->data);        \
            (vec)->cap = 1;                                                        \
        }                                                                          \
        vec_push((p)->cx->arena, (vec), __VA_ARGS__);                              \
    } while (0)

// ---- tokens ----------------------------------------------------------------------

void parse_start(Parser *p, Cx *cx, const Source *source);
void parse_next(Parser *p);
// The n-th token behind the current one, n from 1 to AHEAD; good until the next call.
const Token *parse_peek(Parser *p, uint32_t n);
bool parse_accept(Parser *p, TokenKind kind);
bool parse_at_operator(const Parser *p, const char *text);
static inline bool parse_at(const Parser *p, TokenKind kind) {
    return p->tok.kind == kind;
}
// Takes a token of this kind or complains; expected: as it reads after "expected".
bool parse_expect(Parser *p, TokenKind kind, const char *expected);
// Takes the bracket that closes the one at opener and returns NULL; else reports,
// panics and returns what takes hints.
Diag *parse_close(Parser *p, TokenKind kind, Token opener);
static inline Span parse_span_from(const Parser *p, uint32_t start) {
    return (Span){start, p->prev_end > start ? p->prev_end : start};
}

// ---- mistakes --------------------------------------------------------------------

// Reports and panics. What is returned takes hints and notes; it may never be shown.
Diag *parse_unexpected(Parser *p, const char *expected);
Diag *parse_fail(Parser *p, SyntaxDiag which, Span span, const char *text);
// Takes the parser into panic without a word.
void parse_give_up(Parser *p);
// How messages show a token.
const char *parse_show(Parser *p, const Token *token);
// Called on the way into nested syntax. If it returns false, return at once;
// else call parse_leave.
bool parse_enter(Parser *p);
static inline void parse_leave(Parser *p) {
    p->depth--;
}

// ---- names -----------------------------------------------------------------------

Name parse_name(Parser *p, const char *expected);
QualName parse_qual_name(Parser *p, const char *expected);
// The operator at the current token, as a possibly qualified name.
QualName parse_operator(Parser *p);
// `name`, for use as an operator.
QualName parse_backquoted(Parser *p);
// A name or number that names a field.
Name parse_field_name(Parser *p);
// Whether "( + )" stands here.
bool parse_at_operator_name(Parser *p);
// Takes it.
Name parse_operator_name(Parser *p);
// The operator or `name` of an infix definition.
Name parse_infix_name(Parser *p);
Attr parse_attr(Parser *p);

// ---- the rest of the grammar -----------------------------------------------------

Exp *parse_exp(Parser *p);
// The same, in brackets of its own: ":" ascribes whatever it does outside.
Exp *parse_exp_inside(Parser *p);
Exp *parse_exp_without_colon(Parser *p);
// With operators, ranges and updates, without ascription.
Exp *parse_infix_exp(Parser *p);
// The same inside parentheses: if an operator ends it, that is put in *section_out and
// true returned.
bool parse_infix_or_section(Parser *p, Exp **exp_out, QualName *section_out);
Exp *parse_range_after(Parser *p, Exp *start);
Exp *parse_ascriptions_after(Parser *p, Exp *exp);
Exp *parse_atom(Parser *p);
bool parse_at_atom(const Parser *p);
Exp *parse_exp_node(Parser *p, ExpKind kind, uint32_t start);
IndexVec parse_index(Parser *p);

Pat *parse_pat(Parser *p);
Pat *parse_param(Parser *p);
bool parse_at_param(const Parser *p);
PatVec parse_params(Parser *p);

TypeExp *parse_type(Parser *p);
// Without arrows.
TypeExp *parse_type_term(Parser *p);
TypeParamVec parse_type_params(Parser *p);
// [n][m] as names; none is fine.
NameVec parse_size_names(Parser *p);

void parse_decls(Parser *p, bool in_body, DeclVec *decls_out);
TypeDef parse_type_def(Parser *p);  // at the word type
Str parse_import(Parser *p);        // at the word import
ModParam parse_mod_param(Parser *p);
ModExp *parse_mod(Parser *p);
SigExp *parse_sig(Parser *p);

#endif
