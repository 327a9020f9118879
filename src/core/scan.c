// SPDX-License-Identifier: Apache-2.0
//
// The scanner of .core texts: any bytes in, tokens out; what fits nowhere is a BAD
// token of one byte.
#include "core/scan.h"

static char peek(const CoreScanner *s, size_t ahead) {
    Str text = s->source->text;
    return s->at + ahead < text.len ? text.ptr[s->at + ahead] : '\0';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word_char(char c) {
    return is_letter(c) || is_digit(c) || c == '\'' || c == '.' || c == '#';
}

static void skip_blanks(CoreScanner *s) {
    for (;;) {
        char c = peek(s, 0);
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            s->at++;
        } else if (c == '-' && peek(s, 1) == '-') {
            while (s->at < s->source->text.len && peek(s, 0) != '\n') s->at++;
        } else {
            return;
        }
    }
}

static int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Appends what the escape at the backslash stands for; returns whether there is one.
static bool scan_escape(CoreScanner *s, StrBuf *bytes) {
    char c = peek(s, 1);
    s->at += 2;
    switch (c) {
    case 'n': strbuf_char(bytes, '\n'); return true;
    case 't': strbuf_char(bytes, '\t'); return true;
    case '"': strbuf_char(bytes, '"'); return true;
    case '\\': strbuf_char(bytes, '\\'); return true;
    case 'x': {
        int high = hex_value(peek(s, 0)), low = hex_value(peek(s, 1));
        if (high < 0 || low < 0) return false;
        strbuf_char(bytes, (char)(unsigned char)(high * 16 + low));
        s->at += 2;
        return true;
    }
    default: return false;
    }
}

static CoreTokenKind scan_string(CoreScanner *s, Str *bytes_out) {
    StrBuf bytes = strbuf(s->arena);
    s->at++;
    for (;;) {
        char c = peek(s, 0);
        if (s->at >= s->source->text.len || c == '\n') return CORE_TOKEN_BAD;
        if (c == '"') break;
        if (c == '\\') {
            if (!scan_escape(s, &bytes)) return CORE_TOKEN_BAD;
        } else {
            strbuf_char(&bytes, c);
            s->at++;
        }
    }
    s->at++;
    *bytes_out = strbuf_done(&bytes);
    return CORE_TOKEN_STRING;
}

static void scan_number(CoreScanner *s) {
    s->at++;
    for (;; s->at++) {
        char before = peek(s, (size_t)0 - 1), c = peek(s, 0);
        if (c == '-' && before == 'p') continue;
        if (!is_letter(c) && !is_digit(c) && c != '.') return;
    }
}

CoreToken core_scan(CoreScanner *s) {
    skip_blanks(s);
    CoreToken token = {.kind = CORE_TOKEN_MARK};
    size_t start = s->at;
    char c = peek(s, 0);
    if (start >= s->source->text.len) {
        token.kind = CORE_TOKEN_END;
    } else if (is_letter(c) || c == '%') {
        token.kind = CORE_TOKEN_WORD;
        s->at++;
        while (is_word_char(peek(s, 0))) s->at++;
    } else if (c == '-' && peek(s, 1) == '>') {
        token.kind = CORE_TOKEN_ARROW;
        s->at += 2;
    } else if (is_digit(c) ||
               (c == '-' && (is_digit(peek(s, 1)) || is_letter(peek(s, 1))))) {
        token.kind = CORE_TOKEN_NUMBER;
        scan_number(s);
    } else if (c == '"') {
        token.kind = scan_string(s, &token.bytes);
    } else {
        s->at++;
        token.mark = c;
        const char *marks = "(){}[]|:,=@#";
        bool known = false;
        for (const char *m = marks; *m != '\0'; m++) known = known || *m == c;
        if (!known) token.kind = CORE_TOKEN_BAD;
    }
    if (s->at > s->source->text.len) s->at = s->source->text.len;
    token.text = (Str){s->source->text.ptr + start, s->at - start};
    token.span =
        (Span){s->source->base + (uint32_t)start, s->source->base + (uint32_t)s->at};
    return token;
}
