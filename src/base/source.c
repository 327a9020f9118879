// SPDX-License-Identifier: Apache-2.0
//
// Source texts: lookup by binary search over files, then over the starts of lines.
#include "base/source.h"

#include <string.h>

void sources_init(Sources *sources, Arena *arena) {
    *sources = (Sources){.arena = arena, .next_base = 1};
}

Source *sources_add(Sources *sources, Str name, Str text, bool is_lib) {
    if (text.len >= UINT32_MAX - sources->next_base) return NULL;
    Source *source = arena_new(sources->arena, Source);
    source->name = (Str){str_terminated(sources->arena, name), name.len};
    source->text = is_lib ? text : str_copy(sources->arena, text);
    source->base = sources->next_base;
    source->is_lib = is_lib;
    sources->next_base += (uint32_t)text.len + 1;  // one past the end is a place too
    vec_push(sources->arena, sources, source);
    return source;
}

static Source *find_byte(const Sources *sources, uint32_t at) {
    uint32_t low = 0, high = sources->len;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (sources->data[mid]->base <= at) low = mid + 1;
        else high = mid;
    }
    return low == 0 ? NULL : sources->data[low - 1];
}

Source *sources_find(const Sources *sources, Span span) {
    return span.start == 0 ? NULL : find_byte(sources, span.start);
}

static void index_lines(const Sources *sources, Source *source) {
    if (source->lines != NULL) return;
    struct { uint32_t *data; uint32_t len, cap; } lines = {0};
    vec_push(sources->arena, &lines, 0);
    const char *text = source->text.ptr;
    for (size_t i = 0; i < source->text.len; i++)
        if (text[i] == '\n') vec_push(sources->arena, &lines, (uint32_t)i + 1);
    source->lines = lines.data;
    source->line_count = lines.len;
}

static uint32_t count_points(const char *text, size_t len) {
    uint32_t points = 0;
    for (size_t i = 0; i < len; i++) points += ((unsigned char)text[i] & 0xc0) != 0x80;
    return points;
}

Place sources_place(const Sources *sources, uint32_t at) {
    Source *source = at == 0 ? NULL : find_byte(sources, at);
    if (source == NULL) return (Place){0};
    index_lines(sources, source);
    uint32_t offset = at - source->base, low = 0, high = source->line_count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (source->lines[mid] <= offset) low = mid + 1;
        else high = mid;
    }
    uint32_t start = source->lines[low - 1];
    uint32_t column = 1 + count_points(source->text.ptr + start, offset - start);
    return (Place){source, low, column};
}

Str source_line(const Sources *sources, const Source *source, uint32_t line) {
    index_lines(sources, (Source *)source);
    if (line == 0 || line > source->line_count) return STR("");
    size_t start = source->lines[line - 1];
    size_t end = line < source->line_count ? source->lines[line] - 1 : source->text.len;
    if (end > start && source->text.ptr[end - 1] == '\r') end--;
    return (Str){source->text.ptr + start, end - start};
}

Str sources_show(const Sources *sources, Arena *arena, Span span) {
    Place place = sources_place(sources, span.start);
    if (place.source == NULL) return STR("");
    StrBuf buf = strbuf(arena);
    strbuf_printf(&buf, "%.*s:%u:%u", STR_ARG(place.source->name), place.line,
                  place.column);
    return strbuf_done(&buf);
}

Span span_join(Span a, Span b) {
    if (a.start == 0) return b;
    if (b.start == 0) return a;
    return (Span){a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
}
