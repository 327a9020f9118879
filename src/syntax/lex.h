// SPDX-License-Identifier: Apache-2.0
//
// Text to tokens, one at a time. Blanks and comments are skipped; the documentation in
// front of a token is remembered with it. Bytes that start no token are reported and
// skipped. Literals are decoded when asked for.
#ifndef WEFT_SYNTAX_LEX_H
#define WEFT_SYNTAX_LEX_H

#include "base/cx.h"
#include "syntax/ast.h"

typedef enum TokenKind {
#define TOKEN(name, text) TOK_##name,
#define KEYWORD(name, text) TOK_##name,
#include "syntax/tokens.def"
    TOK_COUNT
} TokenKind;

enum { SYNTAX_MOST_ERRORS = 50 };  // in one file

enum {
    LEVEL_BACKQUOTE = 1,  // x `f` y
    LEVEL_WITH = 2,       // a with [i] = v
    LEVEL_PIPE = 3        // the loosest operator
};

typedef struct Token {
    uint8_t kind;        // a TokenKind
    uint8_t level;       // OPERATOR: how tightly it binds
    bool right;          // OPERATOR: to the right
    bool after_space;    // blanks or a comment stand before it
    bool first_on_line;
    uint32_t start, end; // its Span
    uint32_t column;     // bytes before it on its line
    uint32_t own_start;  // OPERATOR: where its own name starts, behind "m."
    Sym sym;             // NAME, CTOR, OPERATOR: the name, without "m." and "#"
    Span doc;            // the "-- |" comment before it, or {0, 0}
} Token;

typedef struct Lexer {
    Cx *cx;
    const char *begin, *at, *end;
    uint32_t base;           // the number of the byte at begin
    const char *line;        // where the current line starts
    const char *no_chain;    // before it no qualified operator starts
    bool after_dot;          // the last token was "."
    bool at_line_start;      // no token on this line yet
    bool any_token;
    uint32_t errors;         // reported so far
    Span doc;                // documentation for the next token
    Span file_doc;           // that of the file
    Span slashes;            // the last "//" seen
    uint8_t first_keyword[27];  // by first letter: rows of the table of keywords
} Lexer;

void lex_init(Lexer *lexer, Cx *cx, const Source *source);
void lex_next(Lexer *lexer, Token *token_out);
Str lex_text(const Lexer *lexer, Span span);
// Goes on at a byte of the source, which starts a token or is blank.
void lex_seek(Lexer *lexer, uint32_t at);
// The end of the lines from here on that are indented deeper than `column`, or close
// there what was opened before.
uint32_t lex_block_end(const Lexer *lexer, uint32_t column);
// How messages show a kind of token, and the text of a keyword or bracket.
const char *lex_kind_text(TokenKind kind);
bool lex_is_keyword(TokenKind kind);

// The value of a NUMBER or CHAR token. Mistakes in it are reported.
Lit lex_number(Lexer *lexer, const Token *token);
Lit lex_char(Lexer *lexer, const Token *token);
// The bytes of a STRING token.
Str lex_string(Lexer *lexer, const Token *token);
// The text of a documentation comment without its dashes.
Str lex_doc(Lexer *lexer, Span doc);

static inline Span token_span(const Token *token) {
    return (Span){token->start, token->end};
}

#endif
