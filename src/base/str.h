// SPDX-License-Identifier: Apache-2.0
//
// Strings: borrowed slices of bytes (Str), a buffer to write text into (StrBuf), and
// interned names (Sym), which compare by number.
#ifndef WEFT_BASE_STR_H
#define WEFT_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct Str {
    const char *ptr; // not terminated; may hold any bytes
    size_t len;
} Str;

#define STR(literal) ((Str){"" literal, sizeof(literal) - 1})
#define STR_ARG(s)   (int)(s).len, (s).ptr // for printf's %.*s

Str str_of(const char *text); // a terminated string; borrowed
bool str_eq(Str a, Str b);
int str_cmp(Str a, Str b); // by bytes, a prefix first
Str str_copy(Arena *arena, Str s);
const char *str_terminated(Arena *arena, Str s);
uint64_t str_hash(Str s);
// A hash of something more.
static inline uint64_t hash_add(uint64_t hash, uint64_t x) {
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 31;
}
// The number of edits (insert, delete, replace, swap neighbours) from a to b,
// or limit + 1 if it is more than limit. For "did you mean".
unsigned str_distance(Str a, Str b, unsigned limit);
// The length in bytes of the UTF-8 sequence at the start of s, or 0 if it is invalid.
size_t str_utf8(Str s);

// Text under construction in an arena.
typedef struct StrBuf {
    Arena *arena;
    char *data;
    size_t len, cap;
} StrBuf;

StrBuf strbuf(Arena *arena);
static inline void strbuf_bytes(StrBuf *buf, const char *bytes, size_t len);
static inline void strbuf_str(StrBuf *buf, Str s);
static inline void strbuf_cstr(StrBuf *buf, const char *text);
static inline void strbuf_char(StrBuf *buf, char c);
// As printf's %llu.
void strbuf_number(StrBuf *buf, unsigned long long number);
void strbuf_printf(StrBuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(StrBuf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
// Puts the text before what is there from that place on.
void strbuf_insert(StrBuf *buf, size_t at, Str s);
Str strbuf_done(const StrBuf *buf);
// Makes room for so many more bytes.
void strbuf_reserve(StrBuf *buf, size_t more);

static inline void strbuf_bytes(StrBuf *buf, const char *bytes, size_t len) {
    if (len == 0) return;
    if (len > buf->cap - buf->len) strbuf_reserve(buf, len);
    memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
}

static inline void strbuf_str(StrBuf *buf, Str s) {
    strbuf_bytes(buf, s.ptr, s.len);
}

static inline void strbuf_cstr(StrBuf *buf, const char *text) {
    strbuf_bytes(buf, text, strlen(text));
}

static inline void strbuf_char(StrBuf *buf, char c) {
    if (buf->len == buf->cap) strbuf_reserve(buf, 1);
    buf->data[buf->len++] = c;
}

typedef uint32_t Sym; // an interned string; 0 is no name

typedef struct Symbols {
    Arena *arena;
    Str *names; // by Sym; entry 0 is ""
    uint32_t len, cap;
    uint32_t *slots; // open addressing, a power of two; 0 is free
    uint32_t slot_count;
} Symbols;

void symbols_init(Symbols *symbols, Arena *arena);
Sym sym_intern(Symbols *symbols, Str name);
Sym sym_cstr(Symbols *symbols, const char *name);
Str sym_str(const Symbols *symbols, Sym sym);

// A map from 64-bit keys (not 0) to 64-bit values, in an arena.
typedef struct Map {
    Arena *arena;
    struct MapSlot {
        uint64_t key, value;
    } * slots;
    uint32_t count, slot_count;
} Map;

void map_init(Map *map, Arena *arena);
// The same, with room for so many keys before it has to grow.
void map_init_for(Map *map, Arena *arena, uint32_t count);
// Gives it room for so many more.
void map_reserve(Map *map, uint32_t more);
bool map_get(const Map *map, uint64_t key, uint64_t *value_out);
void map_set(Map *map, uint64_t key, uint64_t value);

#endif
