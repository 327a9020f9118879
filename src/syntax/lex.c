// SPDX-License-Identifier: Apache-2.0
//
// The lexer: finds where each token ends and what it is. The longest token wins, as in
// Futhark. Every function here moves forward, so any input takes linear time. Literals
// are decoded in lex_literal.c.
#include "syntax/lex.h"

#include <string.h>

#include "syntax/diags.h"

const DiagKind syntax_diags[SYNTAX_DIAG_COUNT] = {
#define DIAG(name, code, format) [SYNTAX_##name] = {code, format},
#include "syntax/diags.def"
#undef DIAG
};

static const char *const kind_texts[TOK_COUNT] = {
#define TOKEN(name, text) [TOK_##name] = text,
#define KEYWORD(name, text) [TOK_##name] = text,
#include "syntax/tokens.def"
};

static const struct Keyword {
    const char *text;
    uint8_t len, kind;
} keywords[] = {
#define KEYWORD(name, text) {text, sizeof(text) - 1, TOK_##name},
#include "syntax/tokens.def"
};
enum { KEYWORD_COUNT = sizeof keywords / sizeof keywords[0] };

static const struct Level {
    const char *text;
    uint8_t len, level;
    bool right;
} levels[] = {
#define LEVEL(text, level, right) {text, sizeof(text) - 1, level, right},
#include "syntax/tokens.def"
};

const char *lex_kind_text(TokenKind kind) {
    return kind_texts[kind];
}

bool lex_is_keyword(TokenKind kind) {
    return kind >= TOK_ASSERT && kind <= TOK_WITH;
}

Str lex_text(const Lexer *lexer, Span span) {
    return (Str){lexer->begin + (span.start - lexer->base), span.end - span.start};
}

void lex_init(Lexer *lexer, Cx *cx, const Source *source) {
    *lexer = (Lexer){
        .cx = cx,
        .begin = source->text.ptr,
        .at = source->text.ptr,
        .end = source->text.ptr + source->text.len,
        .base = source->base,
        .line = source->text.ptr,
        .no_chain = source->text.ptr,
        .at_line_start = true,
    };
    if (source->text.len >= 3 && memcmp(lexer->at, "\xef\xbb\xbf", 3) == 0) {
        lexer->at += 3;  // a byte order mark
        lexer->line = lexer->at;
    }
    int row = 0;
    for (int letter = 0; letter <= 26; letter++) {
        while (row < KEYWORD_COUNT && keywords[row].text[0] < 'a' + letter) row++;
        lexer->first_keyword[letter] = (uint8_t)row;
    }
}

static uint32_t number_at(const Lexer *lexer, const char *at) {
    return lexer->base + (uint32_t)(at - lexer->begin);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (unsigned char)((c | 32) - 'a') < 26;
}

static bool starts_name(char c) {
    return is_letter(c) || c == '_';
}

static bool continues_name(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '\'';
}

static bool is_operator_char(char c) {
    switch (c) {
    case '+': case '-': case '*': case '/': case '%': case '=': case '!':
    case '>': case '<': case '|': case '&': case '^': case '.':
        return true;
    }
    return false;
}

static char char_at(const Lexer *lexer, const char *at) {
    return at < lexer->end ? *at : '\0';
}

// ---- blanks and comments ---------------------------------------------------------

static const char *line_end(const Lexer *lexer, const char *at) {
    const char *newline = memchr(at, '\n', (size_t)(lexer->end - at));
    return newline == NULL ? lexer->end : newline;
}

static bool starts_test_block(const Lexer *lexer, const char *at) {
    while (at < lexer->end && *at == ' ') at++;
    return lexer->end - at >= 2 && memcmp(at, "==", 2) == 0;
}

// Takes the lines of a "-- |" comment; lexer->at is at its dashes.
static void skip_doc(Lexer *lexer) {
    const char *start = lexer->at;
    const char *end = line_end(lexer, start);
    for (;;) {
        const char *next = end;
        if (next < lexer->end) next++;
        const char *line = next;
        while (next < lexer->end && (*next == ' ' || *next == '\t')) next++;
        if (lexer->end - next < 2 || next[0] != '-' || next[1] != '-') break;
        if (starts_test_block(lexer, next + 2)) break;
        if (lexer->end - next >= 4 && memcmp(next, "-- |", 4) == 0) break;
        lexer->line = line;
        end = line_end(lexer, next);
    }
    if (!lexer->any_token && lexer->doc.start != 0 && lexer->file_doc.start == 0)
        lexer->file_doc = lexer->doc;
    lexer->doc = (Span){number_at(lexer, start), number_at(lexer, end)};
    lexer->at = end;
}

static void skip_comment(Lexer *lexer) {
    if (lexer->end - lexer->at >= 4 && memcmp(lexer->at, "-- |", 4) == 0)
        skip_doc(lexer);
    else lexer->at = line_end(lexer, lexer->at);
}

static void skip_blanks(Lexer *lexer) {
    while (lexer->at < lexer->end) {
        switch (*lexer->at) {
        case '\n':
            lexer->line = lexer->at + 1;
            lexer->at_line_start = true;
            lexer->at++;
            break;
        case ' ': case '\t': case '\r': case '\f': case '\v':
            lexer->at++;
            break;
        case '-':
            if (char_at(lexer, lexer->at + 1) != '-') return;
            skip_comment(lexer);
            break;
        default:
            return;
        }
    }
}

// ---- going elsewhere -------------------------------------------------------------

void lex_seek(Lexer *lexer, uint32_t at) {
    lexer->at = lexer->line = lexer->no_chain = lexer->begin + (at - lexer->base);
    lexer->at_line_start = true;
    lexer->after_dot = false;
    lexer->doc = (Span){0, 0};
}

uint32_t lex_block_end(const Lexer *lexer, uint32_t column) {
    const char *block_end = line_end(lexer, lexer->at);
    for (const char *end = block_end; end < lexer->end;) {
        const char *line = end + 1, *at = line;
        while (at < lexer->end && *at == ' ') at++;
        end = line_end(lexer, at);
        if (at == end) continue;
        bool closes = *at == ')' || *at == ']' || *at == '}';
        if ((size_t)(at - line) + closes <= column) break;
        block_end = end;
    }
    return number_at(lexer, block_end);
}

// ---- names and operators ---------------------------------------------------------

static const char *name_end(const Lexer *lexer, const char *at) {
    while (at < lexer->end && continues_name(*at)) at++;
    return at;
}

static const char *operator_end(const Lexer *lexer, const char *at) {
    while (at < lexer->end && is_operator_char(*at)) at++;
    return at;
}

static uint8_t keyword_kind(const Lexer *lexer, const char *at, size_t len) {
    int letter = *at - 'a';
    if (letter < 0 || letter > 25 || len > 7) return TOK_NAME;
    for (int row = lexer->first_keyword[letter]; row < lexer->first_keyword[letter + 1];
         row++)
        if (keywords[row].len == len && memcmp(keywords[row].text, at, len) == 0)
            return keywords[row].kind;
    return TOK_NAME;
}

static void set_level(Token *token, const char *at, size_t len) {
    for (size_t row = 0; row < sizeof levels / sizeof levels[0]; row++) {
        const struct Level *level = &levels[row];
        if (level->text[0] != *at || level->len > len ||
            memcmp(level->text, at, level->len) != 0)
            continue;
        token->level = level->level;
        token->right = level->right;
        return;
    }
}

static void finish_operator(Lexer *lexer, Token *token, const char *at,
                            const char *end) {
    token->kind = TOK_OPERATOR;
    token->own_start = number_at(lexer, at);
    token->sym = sym_intern(&lexer->cx->syms, (Str){at, (size_t)(end - at)});
    set_level(token, at, (size_t)(end - at));
    lexer->at = end;
}

static void lex_operator(Lexer *lexer, Token *token) {
    const char *start = lexer->at, *end = operator_end(lexer, start);
    size_t len = (size_t)(end - start);
    if (len == 1 && *start == '=') {
        token->kind = TOK_EQUALS;
        lexer->at = end;
    } else if (len == 2 && start[0] == '-' && start[1] == '>') {
        token->kind = TOK_ARROW;
        lexer->at = end;
    } else if (len == 1 && *start == '|' && char_at(lexer, end) == '}') {
        token->kind = TOK_STREAM_CLOSE;
        lexer->at = end + 1;
    } else {
        finish_operator(lexer, token, start, end);
        if (start[0] == '/' && len > 1 && (start[1] == '/' || start[1] == '*'))
            lexer->slashes = (Span){token->start, number_at(lexer, end)};
    }
}

// A name; or, if the names and dots from here on lead to an operator, as in m.n.+,
// all of that. The end of a chain that does not is kept, so that none is read twice.
static void lex_name(Lexer *lexer, Token *token) {
    const char *start = lexer->at, *end = name_end(lexer, start);
    const char *at = end;
    while (start >= lexer->no_chain && char_at(lexer, at) == '.') {
        char next = char_at(lexer, at + 1);
        if (is_operator_char(next) && next != '.') {
            finish_operator(lexer, token, at + 1, operator_end(lexer, at + 1));
            return;
        }
        if (!starts_name(next)) break;
        at = name_end(lexer, at + 1);
    }
    if (at > lexer->no_chain) lexer->no_chain = at;
    size_t len = (size_t)(end - start);
    lexer->at = end;
    if (len == 1 && *start == '_') {
        token->kind = TOK_UNDERSCORE;
        return;
    }
    token->kind = keyword_kind(lexer, start, len);
    if (token->kind == TOK_NAME)
        token->sym = sym_intern(&lexer->cx->syms, (Str){start, len});
}

// ---- the extent of literals ------------------------------------------------------

static const char *word_end(const Lexer *lexer, const char *at) {
    while (at < lexer->end && (is_letter(*at) || is_digit(*at) || *at == '_')) at++;
    return at;
}

// Takes all that looks like a number; lex_number says whether it is one.
static void lex_number_extent(Lexer *lexer, Token *token) {
    const char *start = lexer->at, *at = start;
    token->kind = TOK_NUMBER;
    if (lexer->after_dot) {  // the 0 of x.0.1
        while (at < lexer->end && (is_digit(*at) || *at == '_')) at++;
        lexer->at = at;
        return;
    }
    bool is_hex = *at == '0' && (char_at(lexer, at + 1) | 32) == 'x';
    bool is_binary = *at == '0' && (char_at(lexer, at + 1) | 32) == 'b';
    at = word_end(lexer, at);
    char next = char_at(lexer, at + 1);
    bool has_fraction = char_at(lexer, at) == '.' && !is_binary &&
                        (is_digit(next) || (is_hex && is_letter(next)));
    if (has_fraction) at = word_end(lexer, at + 1);
    char exponent = is_hex ? 'p' : 'e', sign = char_at(lexer, at);
    if ((sign == '-' || sign == '+') && (at[-1] | 32) == exponent && !is_binary &&
        is_digit(char_at(lexer, at + 1)))
        at = word_end(lexer, at + 1);
    lexer->at = at;
}

// 'a' is a character and 'a a type parameter: the closing quote decides.
static void lex_tick(Lexer *lexer, Token *token) {
    const char *at = lexer->at + 1;
    char next = char_at(lexer, at);
    if (next == '\\') {
        at += 2;
        while (at < lexer->end && *at != '\'' && *at != '\n') at++;
        token->kind = TOK_CHAR;
        lexer->at = at < lexer->end && *at == '\'' ? at + 1 : at;
        if (lexer->at > lexer->end) lexer->at = lexer->end;
        return;
    }
    size_t len = str_utf8((Str){at, (size_t)(lexer->end - at)});
    if (len > 0 && next != '\n' && next != '\'' && char_at(lexer, at + len) == '\'') {
        token->kind = TOK_CHAR;
        lexer->at = at + len + 1;
        return;
    }
    token->kind = next == '~' ? TOK_TICK_TILDE : next == '^' ? TOK_TICK_HAT : TOK_TICK;
    lexer->at = token->kind == TOK_TICK ? at : at + 1;
}

static void lex_string_extent(Lexer *lexer, Token *token) {
    const char *at = lexer->at + 1;
    while (at < lexer->end && *at != '"' && *at != '\n')
        at += *at == '\\' && at + 1 < lexer->end && at[1] != '\n' ? 2 : 1;
    token->kind = TOK_STRING;
    if (at < lexer->end && *at == '"') {
        lexer->at = at + 1;
        return;
    }
    while (at > lexer->at && (at[-1] == '\r' || at[-1] == ' ')) at--;
    lexer->at = at > lexer->at ? at : lexer->at + 1;
    lexer->errors++;
    Span span = {token->start, number_at(lexer, lexer->at)};
    Diag *diag = diag_error(&lexer->cx->diags, span, &syntax_diags[SYNTAX_OPEN_STRING]);
    diag_hint(&lexer->cx->diags, diag, "close it with \"; a line break is written \\n");
}

// ---- bytes that start no token ---------------------------------------------------

// Characters that word processors and other languages put where Weft has its own.
static const struct Slip {
    const char *text, *hint;
} slips[] = {
    {"\xc2\xa0", "this is a no-break space: write an ordinary one"},
    {"\xe2\x80\x8b", "this is a zero-width space: delete it"},
    {"\xe2\x80\x98", "quote characters with '"},
    {"\xe2\x80\x99", "quote characters with '"},
    {"\xe2\x80\x9c", "quote strings with \""},
    {"\xe2\x80\x9d", "quote strings with \""},
    {"\xe2\x88\x92", "the minus sign is -"},
    {"\xe2\x80\x93", "the minus sign is -"},
    {"\xc3\x97", "multiplication is written *"},
    {"\xc3\xb7", "division is written /"},
    {"\xe2\x89\xa4", "write <="},
    {"\xe2\x89\xa5", "write >="},
    {"\xe2\x89\xa0", "write !="},
    {"\xe2\x86\x92", "write ->"},
    {"\xce\xbb", "a lambda is written \\x -> e"},
    {"$", "the operator that applies a function to all that follows is <|"},
    {"@", "there is no @; functions are composed with >-> and <-<"},
    {"#", "constructors are written #name and attributes #[name]"},
};

static void report_character(Lexer *lexer, Span span, size_t len) {
    Diags *diags = &lexer->cx->diags;
    unsigned char first = (unsigned char)*lexer->at;
    Str text = {lexer->at, len};
    lexer->errors++;
    if (first == '\0') {
        diag_error(diags, span, &syntax_diags[SYNTAX_NUL_BYTE]);
        return;
    }
    if (len == 0) {
        diag_error(diags, span, &syntax_diags[SYNTAX_BAD_UTF8], (unsigned)first);
        return;
    }
    StrBuf shown = strbuf(lexer->cx->arena);
    if (first < 0x20 || first == 0x7f) strbuf_printf(&shown, "0x%02x", (unsigned)first);
    else strbuf_printf(&shown, "`%.*s`", STR_ARG(text));
    strbuf_char(&shown, '\0');
    const DiagKind *kind = &syntax_diags[SYNTAX_BAD_CHARACTER];
    Diag *diag = diag_error(diags, span, kind, strbuf_done(&shown).ptr);
    for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++)
        if (str_eq(text, str_of(slips[i].text)))
            diag_hint(diags, diag, "%s", slips[i].hint);
}

// Reports the byte or character at lexer->at and the like bytes that follow it.
static void skip_bad(Lexer *lexer) {
    const char *start = lexer->at;
    size_t len = str_utf8((Str){start, (size_t)(lexer->end - start)});
    const char *end = start + (len == 0 ? 1 : len);
    Span span = {number_at(lexer, start), number_at(lexer, end)};
    report_character(lexer, span, len);
    while (len == 0 && end < lexer->end &&
           str_utf8((Str){end, (size_t)(lexer->end - end)}) == 0)
        end++;
    while (*start == '\0' && end < lexer->end && *end == '\0') end++;
    lexer->at = end;
    if (lexer->errors < SYNTAX_MOST_ERRORS) return;
    diag_error(&lexer->cx->diags, span, &syntax_diags[SYNTAX_TOO_MANY]);
    lexer->at = lexer->end;
}

// ---- tokens ----------------------------------------------------------------------

static void take(Lexer *lexer, Token *token, TokenKind kind, int len) {
    token->kind = (uint8_t)kind;
    lexer->at += len;
}

static void lex_dots(Lexer *lexer, Token *token) {
    bool second = char_at(lexer, lexer->at + 1) == '.';
    char third = second ? char_at(lexer, lexer->at + 2) : '\0';
    if (!second) take(lexer, token, TOK_DOT, 1);
    else if (third == '<') take(lexer, token, TOK_DOTS_LT, 3);
    else if (third == '>') take(lexer, token, TOK_DOTS_GT, 3);
    else if (third == '.') take(lexer, token, TOK_DOTS3, 3);
    else take(lexer, token, TOK_DOTS2, 2);
}

static void lex_hash(Lexer *lexer, Token *token) {
    const char *name = lexer->at + 1;
    char next = char_at(lexer, name);
    if (next == '[') {
        take(lexer, token, TOK_ATTR_OPEN, 2);
    } else if (starts_name(next)) {
        const char *end = name_end(lexer, name);
        token->sym = sym_intern(&lexer->cx->syms, (Str){name, (size_t)(end - name)});
        take(lexer, token, TOK_CTOR, (int)(end - lexer->at));
    }
}

static void lex_question(Lexer *lexer, Token *token) {
    bool is_hole = lexer->end - lexer->at >= 3 && memcmp(lexer->at, "???", 3) == 0;
    take(lexer, token, is_hole ? TOK_HOLE : TOK_QUESTION, is_hole ? 3 : 1);
}

// Lexes the token at lexer->at. Leaves lexer->at alone if none starts there.
static void lex_token(Lexer *lexer, Token *token) {
    char c = *lexer->at, next = char_at(lexer, lexer->at + 1);
    if (starts_name(c)) {
        lex_name(lexer, token);
        return;
    }
    if (is_digit(c)) {
        lex_number_extent(lexer, token);
        return;
    }
    switch (c) {
    case '(': take(lexer, token, TOK_PAREN_OPEN, 1); return;
    case ')': take(lexer, token, TOK_PAREN_CLOSE, 1); return;
    case '[': take(lexer, token, TOK_SQUARE_OPEN, 1); return;
    case ']': take(lexer, token, TOK_SQUARE_CLOSE, 1); return;
    case '{':
        if (next == '|') take(lexer, token, TOK_STREAM_OPEN, 2);
        else take(lexer, token, TOK_BRACE_OPEN, 1);
        return;
    case '}': take(lexer, token, TOK_BRACE_CLOSE, 1); return;
    case ',': take(lexer, token, TOK_COMMA, 1); return;
    case ';': take(lexer, token, TOK_SEMICOLON, 1); return;
    case ':':
        if (next == '>') take(lexer, token, TOK_COLON_GT, 2);
        else take(lexer, token, TOK_COLON, 1);
        return;
    case '\\': take(lexer, token, TOK_BACKSLASH, 1); return;
    case '`': take(lexer, token, TOK_BACKQUOTE, 1); return;
    case '~': take(lexer, token, TOK_TILDE, 1); return;
    case '?': lex_question(lexer, token); return;
    case '#': lex_hash(lexer, token); return;
    case '\'': lex_tick(lexer, token); return;
    case '"': lex_string_extent(lexer, token); return;
    case '.': lex_dots(lexer, token); return;
    default:
        if (is_operator_char(c)) lex_operator(lexer, token);
    }
}

void lex_next(Lexer *lexer, Token *token_out) {
    const char *before = lexer->at;
    for (;;) {
        skip_blanks(lexer);
        // Field by field, in place: a token copied right after it is written in parts
        // stalls the processor.
        Token *token = token_out;
        token->kind = TOK_END;
        token->level = 0;
        token->right = false;
        token->after_space = lexer->at != before;
        token->first_on_line = lexer->at_line_start;
        token->start = token->end = token->own_start = number_at(lexer, lexer->at);
        token->column = (uint32_t)(lexer->at - lexer->line);
        token->sym = 0;
        token->doc = lexer->doc;
        if (lexer->at == lexer->end) return;
        const char *start = lexer->at;
        lexer->after_dot = lexer->after_dot && start == before;
        lex_token(lexer, token);
        if (lexer->at == start) {
            skip_bad(lexer);
            continue;
        }
        token->end = number_at(lexer, lexer->at);
        lexer->after_dot = token->kind == TOK_DOT;
        lexer->at_line_start = false;
        lexer->any_token = true;
        lexer->doc = (Span){0, 0};
        return;
    }
}
