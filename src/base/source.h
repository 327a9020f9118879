// SPDX-License-Identifier: Apache-2.0
//
// Source texts and places in them. All files of a program share one numbering of
// bytes, so that a Span is two numbers and still names its file.
#ifndef WEFT_BASE_SOURCE_H
#define WEFT_BASE_SOURCE_H

#include "base/str.h"

// The bytes [start, end) of the shared numbering; {0, 0} is no place.
typedef struct Span {
    uint32_t start, end;
} Span;

typedef struct Source {
    Str name;       // as messages show it; a zero follows
    Str text;       // owned by the arena of the Sources
    uint32_t base;  // the number of the first byte
    bool is_lib;    // part of the library that comes with Weft
    uint32_t *lines;  // offsets at which lines start; made on first use
    uint32_t line_count;
} Source;

typedef struct Sources {
    Arena *arena;
    Source **data;
    uint32_t len, cap;
    uint32_t next_base;
} Sources;

// A place as people count: lines and columns from 1, a column being a code point.
typedef struct Place {
    const Source *source;  // NULL for no place
    uint32_t line, column;
} Place;

void sources_init(Sources *sources, Arena *arena);
// Adds a copy of text. Returns NULL when the shared numbering (4 GiB) is full.
Source *sources_add(Sources *sources, Str name, Str text, bool is_lib);
Source *sources_find(const Sources *sources, Span span);
Place sources_place(const Sources *sources, uint32_t at);
// The text of a line without its line end; lines count from 1.
Str source_line(const Sources *sources, const Source *source, uint32_t line);
// "file:line:column", or "" for no place.
Str sources_show(const Sources *sources, Arena *arena, Span span);
Span span_join(Span a, Span b);

#endif
