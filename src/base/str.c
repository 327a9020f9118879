// SPDX-License-Identifier: Apache-2.0
//
// Byte strings, text buffers and UTF-8. Nothing here depends on the locale.
#define _POSIX_C_SOURCE 200809L
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

Str str_of(const char *text) {
    return (Str){text, strlen(text)};
}

bool str_eq(Str a, Str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

int str_cmp(Str a, Str b) {
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.ptr, b.ptr, common);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

Str str_copy(Arena *arena, Str s) {
    return (Str){arena_copy(arena, s.ptr, s.len), s.len};
}

const char *str_terminated(Arena *arena, Str s) {
    char *copy = arena_alloc(arena, s.len + 1);
    if (s.len != 0) memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return copy;
}

uint64_t str_hash(Str s) {
    return XXH3_64bits(s.ptr, s.len);
}

unsigned str_distance(Str a, Str b, unsigned limit) {
    enum { LONGEST = 64 };
    size_t gap = a.len > b.len ? a.len - b.len : b.len - a.len;
    if (gap > limit || a.len > LONGEST || b.len > LONGEST) return limit + 1;
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b.len; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            unsigned best = above[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] &&
                           a.ptr[i - 2] == b.ptr[j - 1];
            if (swapped && above2[j - 2] + 1 < best) best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    unsigned edits = rows[a.len % 3][b.len];
    return edits > limit ? limit + 1 : edits;
}

size_t str_utf8(Str s) {
    if (s.len == 0) return 0;
    const unsigned char *p = (const unsigned char *)s.ptr;
    if (p[0] < 0x80) return 1;
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || s.len < len) return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if (p[0] == 0xe0 && p[1] < 0xa0) return 0;  // overlong
    if (p[0] == 0xed && p[1] >= 0xa0) return 0; // surrogate
    if (p[0] == 0xf0 && p[1] < 0x90) return 0;  // overlong
    if (p[0] == 0xf4 && p[1] >= 0x90) return 0; // beyond U+10FFFF
    return len;
}

StrBuf strbuf(Arena *arena) {
    return (StrBuf){.arena = arena};
}

void strbuf_reserve(StrBuf *buf, size_t more) {
    if (more <= buf->cap - buf->len) return;
    size_t cap = buf->cap * 2 + more + 32;
    buf->data = arena_extend(buf->arena, buf->data, buf->cap, cap);
    buf->cap = cap;
}

void strbuf_printf(StrBuf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    strbuf_vprintf(buf, format, args);
    va_end(args);
}

void strbuf_number(StrBuf *buf, unsigned long long number) {
    char digits[20];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    strbuf_bytes(buf, digits + at, sizeof digits - at);
}

static void put_signed(StrBuf *buf, long long number) {
    if (number < 0) strbuf_char(buf, '-');
    strbuf_number(buf, number < 0 ? 0 - (unsigned long long)number
                                  : (unsigned long long)number);
}

// "%.*s": that many bytes, or those before a zero.
static void put_bytes(StrBuf *buf, int most, const char *text) {
    if (most != 0) strbuf_bytes(buf, text, strnlen(text, (size_t)most));
}

// Writes one of the directives of which there are most: vsnprintf takes longer for
// these than all else that makes code. Returns what is behind it, or NULL for another
// one.
static const char *put_directive(StrBuf *buf, const char *format, va_list *args) {
    switch (format[1]) {
    case 's': strbuf_cstr(buf, va_arg(*args, const char *)); return format + 2;
    case 'u': strbuf_number(buf, va_arg(*args, unsigned)); return format + 2;
    case 'd': put_signed(buf, va_arg(*args, int)); return format + 2;
    case 'c': strbuf_char(buf, (char)va_arg(*args, int)); return format + 2;
    case '.':
        if (format[2] != '*' || format[3] != 's') return NULL;
        int most = va_arg(*args, int);
        put_bytes(buf, most, va_arg(*args, const char *));
        return format + 4;
    case 'l':
        if (format[2] != 'l' || (format[3] != 'u' && format[3] != 'd')) return NULL;
        if (format[3] == 'u') strbuf_number(buf, va_arg(*args, unsigned long long));
        else put_signed(buf, va_arg(*args, long long));
        return format + 4;
    default: return NULL;
    }
}

// Text and those directives, up to another one or the end, which it returns.
static const char *put_plain(StrBuf *buf, const char *format, va_list *args) {
    for (;;) {
        const char *end = format;
        while (*end != '%' && *end != '\0') end++;
        strbuf_bytes(buf, format, (size_t)(end - format));
        if (*end == '\0') return end;
        format = put_directive(buf, end, args);
        if (format == NULL) return end;
    }
}

__attribute__((format(printf, 2, 0))) static void
put_rest(StrBuf *buf, const char *format, va_list args) {
    enum { USUAL = 32 };
    va_list again;
    va_copy(again, args);
    strbuf_reserve(buf, USUAL);
    size_t room = buf->cap - buf->len;
    int len = vsnprintf(buf->data + buf->len, room, format, args);
    if (len > 0 && (size_t)len >= room) {
        strbuf_reserve(buf, (size_t)len + 1);
        vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
    }
    if (len > 0) buf->len += (size_t)len;
    va_end(again);
}

void strbuf_vprintf(StrBuf *buf, const char *format, va_list args) {
    va_list rest;
    va_copy(rest, args);
    format = put_plain(buf, format, &rest);
    if (*format != '\0') put_rest(buf, format, rest);
    va_end(rest);
}

void strbuf_insert(StrBuf *buf, size_t at, Str s) {
    if (s.len == 0) return;
    strbuf_reserve(buf, s.len);
    memmove(buf->data + at + s.len, buf->data + at, buf->len - at);
    memcpy(buf->data + at, s.ptr, s.len);
    buf->len += s.len;
}

Str strbuf_done(const StrBuf *buf) {
    return (Str){buf->data == NULL ? "" : buf->data, buf->len};
}
