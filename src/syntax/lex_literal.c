// SPDX-License-Identifier: Apache-2.0
//
// The values of literals: numbers, characters, strings and documentation. Nothing here
// depends on the locale; floats are correctly rounded by the C library's reader.
#define _GNU_SOURCE
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "syntax/diags.h"
#include "syntax/lex.h"

// ---- numbers ---------------------------------------------------------------------

static void bad_number(Lexer *lexer, const Token *token, const char *why) {
    lexer->errors++;
    Str text = lex_text(lexer, token_span(token));
    if (text.len > 40) text.len = 40;
    diag_error(&lexer->cx->diags, token_span(token), &syntax_diags[SYNTAX_BAD_NUMBER],
               STR_ARG(text), why);
}

// Powers of ten that a double holds exactly.
static const double exact_tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The usual short decimal, of which both parts are exact, so that one rounding is all.
// (Clinger, How to read floating point numbers accurately, 1990.)
static bool read_short_float(const char *text, double *value_out) {
    uint64_t digits = 0;
    int count = 0, scale = 0;
    bool after_point = false;
    const char *at = text;
    for (; (*at >= '0' && *at <= '9') || *at == '.'; at++) {
        if (*at == '.') {
            after_point = true;
            continue;
        }
        digits = digits * 10 + (uint64_t)(*at - '0');
        scale -= after_point;
        if (digits != 0 && ++count > 15) return false;
    }
    if (*at == 'e' || *at == 'E') {
        bool minus = at[1] == '-';
        at += 1 + (at[1] == '-' || at[1] == '+');
        int exponent = 0;
        for (; *at >= '0' && *at <= '9'; at++)
            if ((exponent = exponent * 10 + (*at - '0')) > 1000) return false;
        scale += minus ? -exponent : exponent;
    }
    if (*at != '\0' || scale < -22 || scale > 22) return false;
    *value_out = scale < 0 ? (double)digits / exact_tens[-scale]
                           : (double)digits * exact_tens[scale];
    return true;
}

// text is terminated, holds no underscores and has the form of a C float.
static double read_float(const char *text, bool is_hex) {
    double value = 0;
    if (!is_hex && read_short_float(text, &value)) return value;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    value = plain == (locale_t)0 ? strtod(text, NULL) : strtod_l(text, NULL, plain);
    if (plain != (locale_t)0) freelocale(plain);
    return value;
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    char lower = (char)(c | 32);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

// Takes digits and underscores, the first a digit, and gives their count.
static size_t take_digits(Str text, size_t *at, int base) {
    size_t count = 0;
    while (*at < text.len) {
        bool is_digit = digit_value(text.ptr[*at]) < base;
        if (!is_digit && (text.ptr[*at] != '_' || count == 0)) break;
        count += is_digit;
        ++*at;
    }
    return count;
}

static void read_integer(Str digits, int base, Lit *lit) {
    uint64_t limit = UINT64_MAX / (uint64_t)base;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] == '_') continue;
        uint64_t digit = (uint64_t)digit_value(digits.ptr[i]);
        uint64_t scaled = lit->bits * (uint64_t)base;
        if (lit->bits > limit || scaled > UINT64_MAX - digit) lit->too_big = true;
        lit->bits = scaled + digit;
    }
}

static bool is_suffix(Str text, const char *const *suffixes) {
    for (; *suffixes != NULL; suffixes++)
        if (str_eq(text, str_of(*suffixes))) return true;
    return false;
}

static const char *const float_suffixes[] = {"f16", "f32", "f64", NULL};
static const char *const int_suffixes[] = {"i8", "i16", "i32", "i64", "u8",
                                           "u16", "u32", "u64", NULL};

// Roman numerals, as Futhark has them: 0rXIV.
static size_t read_roman(Str text, Lit *lit) {
    static const char letters[] = "IVXLCDM";
    static const uint16_t values[] = {1, 5, 10, 50, 100, 500, 1000};
    uint64_t last = 0;
    size_t at = 2;
    for (; at < text.len; at++) {
        const char *letter = strchr(letters, text.ptr[at]);
        if (letter == NULL || *letter == '\0') break;
        uint64_t value = values[letter - letters];
        lit->bits += value > last ? value - 2 * last : value;
        last = value;
    }
    return at;
}

// The digits of a float without underscores and suffix, terminated.
static char *plain_digits(Lexer *lexer, Str text) {
    char *plain = arena_alloc(lexer->cx->arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '_') plain[len++] = text.ptr[i];
    plain[len] = '\0';
    return plain;
}

// How far a number reaches in its text, and what it is.
typedef struct Shape {
    int base;
    size_t digits, end;  // the integer part is [digits, end of it)
    size_t int_end;
    bool is_float;
    const char *fault;
} Shape;

static bool take_exponent(Str text, size_t *at) {
    ++*at;
    if (*at < text.len && (text.ptr[*at] == '-' || text.ptr[*at] == '+')) ++*at;
    return take_digits(text, at, 10) > 0;
}

static Shape shape_of(Str text) {
    char mark = text.len > 1 && text.ptr[0] == '0' ? (char)(text.ptr[1] | 32) : '\0';
    Shape shape = {.base = mark == 'x' ? 16 : mark == 'b' ? 2 : 10};
    shape.digits = shape.base == 10 ? 0 : 2;
    size_t at = shape.digits;
    if (take_digits(text, &at, shape.base) == 0) shape.fault = "it has no digits";
    shape.int_end = at;
    if (at < text.len && text.ptr[at] == '.') {
        at++;
        shape.is_float = true;
        if (take_digits(text, &at, shape.base) == 0)
            shape.fault = "a digit must follow the point";
    }
    char letter = at < text.len ? (char)(text.ptr[at] | 32) : '\0';
    if ((shape.base == 10 && letter == 'e') || (shape.base == 16 && letter == 'p')) {
        shape.is_float = true;
        if (!take_exponent(text, &at)) shape.fault = "the exponent has no digits";
    } else if (shape.base == 16 && shape.is_float) {
        shape.fault = "a hexadecimal float needs an exponent, as in 0x1.8p3";
    }
    shape.end = at;
    return shape;
}

static const char *suffix_fault(Str suffix, bool is_float, int base) {
    if (suffix.len == 0 || is_suffix(suffix, float_suffixes)) {
        bool bare = suffix.len != 0 && !is_float && base != 10;
        return bare ? "only decimal integers take a float suffix" : NULL;
    }
    if (!is_suffix(suffix, int_suffixes)) return "what follows the digits is no type";
    return is_float ? "a number with a point or exponent cannot be an integer" : NULL;
}

Lit lex_number(Lexer *lexer, const Token *token) {
    Str text = lex_text(lexer, token_span(token));
    Lit lit = {.kind = LIT_INT, .text = text};
    if (text.len > 2 && text.ptr[0] == '0' && (text.ptr[1] | 32) == 'r') {
        size_t end = read_roman(text, &lit);
        Str suffix = {text.ptr + end, text.len - end};
        const char *fault = suffix_fault(suffix, false, 0);
        if (end == 2) fault = "it has no digits";
        if (fault != NULL) bad_number(lexer, token, fault);
        lit.suffix = sym_intern(&lexer->cx->syms, suffix);
        return lit;
    }
    Shape shape = shape_of(text);
    Str suffix = {text.ptr + shape.end, text.len - shape.end};
    if (shape.fault == NULL)
        shape.fault = suffix_fault(suffix, shape.is_float, shape.base);
    if (shape.fault != NULL) {
        bad_number(lexer, token, shape.fault);
        return lit;
    }
    lit.suffix = sym_intern(&lexer->cx->syms, suffix);
    if (shape.is_float || is_suffix(suffix, float_suffixes)) {
        const char *digits = plain_digits(lexer, (Str){text.ptr, shape.end});
        double value = read_float(digits, shape.base == 16);
        lit.kind = LIT_FLOAT;
        memcpy(&lit.bits, &value, sizeof value);
    } else {
        Str digits = {text.ptr + shape.digits, shape.int_end - shape.digits};
        read_integer(digits, shape.base, &lit);
    }
    return lit;
}

// ---- characters and strings ------------------------------------------------------

enum { LAST_POINT = 0x10ffff, NO_POINT = 0x110000, EMPTY_ESCAPE };

static void report_escape(Lexer *lexer, Str escape, SyntaxDiag which) {
    uint32_t start = lexer->base + (uint32_t)(escape.ptr - lexer->begin);
    Span span = {start, start + (uint32_t)escape.len};
    if (escape.len > 20) escape.len = 20;
    lexer->errors++;
    Diag *diag = diag_error(&lexer->cx->diags, span, &syntax_diags[which],
                            STR_ARG(escape));
    if (which == SYNTAX_BAD_ESCAPE)
        diag_hint(&lexer->cx->diags, diag,
                  "there are \\n \\t \\r \\\\ \\\" \\', and \\65 and \\x41 for the "
                  "character of that number");
}

static uint32_t read_point(Lexer *lexer, Str text, size_t start, size_t *at, int base) {
    uint32_t point = 0;
    while (*at < text.len && digit_value(text.ptr[*at]) < base) {
        if (point <= LAST_POINT)
            point = point * (uint32_t)base + (uint32_t)digit_value(text.ptr[*at]);
        ++*at;
    }
    if (point <= LAST_POINT && (point < 0xd800 || point > 0xdfff)) return point;
    report_escape(lexer, (Str){text.ptr + start, *at - start}, SYNTAX_BIG_ESCAPE);
    return NO_POINT;
}

// Reads the escape at text[*at], which is a backslash, and moves *at behind it.
static uint32_t read_escape(Lexer *lexer, Str text, size_t *at) {
    static const char letters[] = "ntr\\\"'abfv";
    static const char meanings[] = "\n\t\r\\\"'\a\b\f\v";
    size_t start = (*at)++;
    char c = *at < text.len ? text.ptr[*at] : '\0';
    if (c >= '0' && c <= '9') return read_point(lexer, text, start, at, 10);
    if (c == 'x' && *at + 1 < text.len && digit_value(text.ptr[*at + 1]) < 16) {
        ++*at;
        return read_point(lexer, text, start, at, 16);
    }
    size_t len = str_utf8((Str){text.ptr + *at, text.len - *at});
    *at += len == 0 && *at < text.len ? 1 : len;
    if (c == '&') return EMPTY_ESCAPE;  // ends a number, as in "\1\&2"
    const char *letter = c == '\0' ? NULL : strchr(letters, c);
    if (letter != NULL) return (unsigned char)meanings[letter - letters];
    report_escape(lexer, (Str){text.ptr + start, *at - start}, SYNTAX_BAD_ESCAPE);
    return NO_POINT;
}

static uint32_t decode_point(Str text, size_t len) {
    const unsigned char *p = (const unsigned char *)text.ptr;
    if (len == 1) return p[0];
    if (len == 2) return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    if (len == 3) return (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return (p[0] & 7u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 |
           (p[3] & 0x3fu);
}

static void put_point(StrBuf *buf, uint32_t point) {
    if (point < 0x80) {
        strbuf_char(buf, (char)point);
    } else if (point < 0x800) {
        strbuf_char(buf, (char)(0xc0 | point >> 6));
        strbuf_char(buf, (char)(0x80 | (point & 0x3f)));
    } else if (point < 0x10000) {
        strbuf_char(buf, (char)(0xe0 | point >> 12));
        strbuf_char(buf, (char)(0x80 | (point >> 6 & 0x3f)));
        strbuf_char(buf, (char)(0x80 | (point & 0x3f)));
    } else {
        strbuf_char(buf, (char)(0xf0 | point >> 18));
        strbuf_char(buf, (char)(0x80 | (point >> 12 & 0x3f)));
        strbuf_char(buf, (char)(0x80 | (point >> 6 & 0x3f)));
        strbuf_char(buf, (char)(0x80 | (point & 0x3f)));
    }
}

Lit lex_char(Lexer *lexer, const Token *token) {
    Str text = lex_text(lexer, token_span(token));
    Lit lit = {.kind = LIT_CHAR, .text = text};
    bool is_closed = text.len > 2 && text.ptr[text.len - 1] == '\'';
    Str body = {text.ptr + 1, text.len - 1 - is_closed};
    size_t at = 0;
    uint32_t point = NO_POINT;
    if (body.len > 0 && body.ptr[0] == '\\') {
        uint32_t errors = lexer->errors;
        point = read_escape(lexer, body, &at);
        if (lexer->errors != errors) return lit;
    } else {
        at = str_utf8(body);
        if (at > 0) point = decode_point(body, at);
    }
    if (!is_closed || at != body.len || point > LAST_POINT) {
        lexer->errors++;
        diag_error(&lexer->cx->diags, token_span(token),
                   &syntax_diags[SYNTAX_BAD_CHAR]);
        return lit;
    }
    lit.bits = point;
    return lit;
}

// Whether a byte may stand in a string as it is; else it is reported.
static bool check_string_byte(Lexer *lexer, Str body, size_t at, size_t len) {
    unsigned char c = (unsigned char)body.ptr[at];
    if (len != 0 && c != '\0') return true;
    uint32_t start = lexer->base + (uint32_t)(body.ptr + at - lexer->begin);
    lexer->errors++;
    if (len == 0)
        diag_error(&lexer->cx->diags, (Span){start, start + 1},
                   &syntax_diags[SYNTAX_BAD_UTF8], (unsigned)c);
    else
        diag_error(&lexer->cx->diags, (Span){start, start + 1},
                   &syntax_diags[SYNTAX_BAD_STRING], "a zero byte: write \\0");
    return false;
}

Str lex_string(Lexer *lexer, const Token *token) {
    Str text = lex_text(lexer, token_span(token));
    bool is_closed = text.len > 1 && text.ptr[text.len - 1] == '"';
    Str body = {text.ptr + 1, text.len - 1 - is_closed};
    StrBuf out = strbuf(lexer->cx->arena);
    for (size_t at = 0; at < body.len;) {
        size_t plain = at;
        while (at < body.len && body.ptr[at] != '\\') {
            size_t len = str_utf8((Str){body.ptr + at, body.len - at});
            if (!check_string_byte(lexer, body, at, len)) return STR("");
            at += len;
        }
        if (plain == 0 && at == body.len) return body;  // the source's own bytes
        strbuf_bytes(&out, body.ptr + plain, at - plain);
        if (at == body.len) break;
        uint32_t point = read_escape(lexer, body, &at);
        if (point <= LAST_POINT) put_point(&out, point);
    }
    return strbuf_done(&out);
}

// ---- documentation ---------------------------------------------------------------

Str lex_doc(Lexer *lexer, Span doc) {
    if (doc.start == 0) return STR("");
    Str text = lex_text(lexer, doc);
    StrBuf out = strbuf(lexer->cx->arena);
    for (size_t at = 0; at < text.len;) {
        const char *line = text.ptr + at, *stop = text.ptr + text.len;
        const char *newline = memchr(line, '\n', (size_t)(stop - line));
        const char *end = newline == NULL ? stop : newline;
        const char *next = newline == NULL ? stop : newline + 1;
        while (line < end && (*line == ' ' || *line == '\t')) line++;
        line += at == 0 ? 4 : 2;
        if (line < end && *line == ' ') line++;
        while (end > line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
            end--;
        if (at != 0) strbuf_char(&out, '\n');
        strbuf_bytes(&out, line, (size_t)(end - line));
        at = (size_t)(next - text.ptr);
    }
    return strbuf_done(&out);
}
