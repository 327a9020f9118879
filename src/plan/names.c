// SPDX-License-Identifier: Apache-2.0
//
// Names in a text that is not done yet (names.h).
#include "plan/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// In the text: what comes before a name, and how many digits it has.
enum { NAME = 1, DIGITS = 8 };

void names_init(NameList *names, const CoreProgram *program, Arena *arena) {
    *names = (NameList){.program = program, .arena = arena};
    map_init(&names->counts, arena);
    names_add(names, 0);
}

uint32_t names_add(NameList *names, Sym sym) {
    vec_push(names->arena, names, ((NameInfo){sym, 0}));
    return names->len - 1;
}

void names_put(StrBuf *out, uint32_t number) {
    strbuf_printf(out, "%c%0*" PRIx32, NAME, DIGITS, number);
}

static bool is_name(const char *c) {
    return *c == NAME;
}

static uint32_t name_at(const char *c) {
    char digits[DIGITS + 1] = {0};
    memcpy(digits, c + 1, DIGITS);
    return (uint32_t)strtoul(digits, NULL, 16);
}

// ---- texts that are the same --------------------------------------------------------

// Behind the next sign: a name, a character, or the beginning of a line.
static const char *skip_sign(const char *c, const char *end) {
    if (is_name(c)) return c + 1 + DIGITS;
    if (*c++ != '\n') return c;
    while (c < end && *c != '|') c++;
    do c++;
    while (c < end && *c == ' ');
    return c;
}

// Whether y may stand for x, in texts that bind names from the first on: appends the
// two if they are from outside and were not met yet.
static bool may_be_same(Arena *arena, NamePairs *pairs, uint32_t x, uint32_t first_x,
                        uint32_t y, uint32_t first_y) {
    if (x >= first_x || y >= first_y)
        return x >= first_x && y >= first_y && x - first_x == y - first_y;
    for (uint32_t i = 0; i < pairs->len; i++)
        if (pairs->data[i].here == x) return pairs->data[i].there == y;
    vec_push(arena, pairs, ((NamePair){x, y}));
    return true;
}

bool names_are_same(const NamedText *a, const NamedText *b, Arena *arena,
                    NamePairs *pairs_out) {
    const char *x = a->text.ptr, *y = b->text.ptr;
    const char *end_x = x + a->text.len, *end_y = y + b->text.len;
    *pairs_out = (NamePairs){0};
    while (x < end_x && y < end_y) {
        if (*x != *y) return false;
        if (is_name(x) &&
            !may_be_same(arena, pairs_out, name_at(x), a->first, name_at(y), b->first))
            return false;
        x = skip_sign(x, end_x);
        y = skip_sign(y, end_y);
    }
    return x == end_x && y == end_y;
}

// ---- names to read ------------------------------------------------------------------

// A name to read, with a number if it has no other, is not the first of it, or looks
// like one that has no other.
static void give_name(NameList *names, NameInfo *name, StrBuf *out) {
    uint64_t count = 0, key = (uint64_t)name->sym + 1;
    if (name->label == 0) {
        map_get(&names->counts, key, &count);
        map_set(&names->counts, key, ++count);
        name->label = (uint32_t)count;
    }
    if (name->sym == 0) {
        strbuf_printf(out, "_%" PRIu32, name->label);
        return;
    }
    Str text = sym_str(&names->program->cx->syms, name->sym);
    bool is_number =
        text.len > 1 && text.ptr[0] == '_' && text.ptr[1] >= '0' && text.ptr[1] <= '9';
    strbuf_str(out, text);
    if (name->label > 1 || is_number) strbuf_printf(out, ".%" PRIu32, name->label - 1);
}

void names_give(NameList *names, Str text, StrBuf *out) {
    for (const char *c = text.ptr; c < text.ptr + text.len;) {
        if (is_name(c)) {
            give_name(names, &names->data[name_at(c)], out);
            c += 1 + DIGITS;
        } else {
            strbuf_char(out, *c++);
        }
    }
}
