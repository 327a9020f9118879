// SPDX-License-Identifier: Apache-2.0
//
// Collecting and rendering diagnostics. Quoted lines are made safe for a terminal:
// tabs become spaces, control bytes and broken UTF-8 become U+FFFD, and a long line is
// cut to a window around the carets.
#include "base/diag.h"

#include <string.h>

enum { MOST_DIAGS = 1000, WINDOW = 100, TAB = 4 };

void diags_init(Diags *diags, Arena *arena, const Sources *sources) {
    *diags = (Diags){.arena = arena, .sources = sources};
}

static bool is_repetition(const Diags *diags, const Diag *diag) {
    for (uint32_t i = diags->len; i-- > 0 && i + 32 > diags->len;) {
        const Diag *old = diags->data[i];
        if (old->kind == diag->kind && old->span.start == diag->span.start &&
            old->span.end == diag->span.end && str_eq(old->message, diag->message))
            return true;
    }
    return false;
}

static Diag *report(Diags *diags, Severity severity, Span span, const DiagKind *kind,
                    va_list args) {
    Diag *diag = arena_new(diags->arena, Diag);
    StrBuf message = strbuf(diags->arena);
    strbuf_vprintf(&message, kind->format, args);
    diag->severity = severity;
    diag->kind = kind;
    diag->span = span;
    diag->message = strbuf_done(&message);
    if (severity == SEVERITY_WARNING && !diags->advice) return diag;
    if (is_repetition(diags, diag)) return diag;
    if (severity == SEVERITY_ERROR) diags->error_count++;
    if (diags->len < MOST_DIAGS) vec_push(diags->arena, diags, diag);
    return diag;
}

Diag *diag_error(Diags *diags, Span span, const DiagKind *kind, ...) {
    va_list args;
    va_start(args, kind);
    Diag *diag = report(diags, SEVERITY_ERROR, span, kind, args);
    va_end(args);
    return diag;
}

Diag *diag_warning(Diags *diags, Span span, const DiagKind *kind, ...) {
    va_list args;
    va_start(args, kind);
    Diag *diag = report(diags, SEVERITY_WARNING, span, kind, args);
    va_end(args);
    return diag;
}

static Str format_text(Arena *arena, const char *format, va_list args) {
    StrBuf buf = strbuf(arena);
    strbuf_vprintf(&buf, format, args);
    return strbuf_done(&buf);
}

void diag_label(Diags *diags, Diag *diag, const char *format, ...) {
    va_list args;
    va_start(args, format);
    diag->label = format_text(diags->arena, format, args);
    va_end(args);
}

void diag_note(Diags *diags, Diag *diag, Span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    DiagLabel note = {span, format_text(diags->arena, format, args)};
    va_end(args);
    vec_push(diags->arena, &diag->notes, note);
}

void diag_hint(Diags *diags, Diag *diag, const char *format, ...) {
    va_list args;
    va_start(args, format);
    Str hint = format_text(diags->arena, format, args);
    va_end(args);
    vec_push(diags->arena, &diag->hints, hint);
}

static void paint(StrBuf *out, bool colour, const char *code) {
    if (colour) strbuf_printf(out, "\033[%sm", code);
}

// Appends the code point at the start of s made safe; returns its length in bytes.
static size_t put_safe(StrBuf *out, Str s) {
    size_t len = str_utf8(s);
    unsigned char first = (unsigned char)s.ptr[0];
    bool is_control = first < 0x20 || first == 0x7f || (first == 0xc2 && len == 2 &&
                      (unsigned char)s.ptr[1] < 0xa0);
    if (first == '\t') strbuf_bytes(out, "    ", TAB);
    else if (len == 0 || is_control) strbuf_cstr(out, "\xef\xbf\xbd");
    else strbuf_bytes(out, s.ptr, len);
    return len == 0 ? 1 : len;
}

static void put_safe_text(StrBuf *out, Str s) {
    for (size_t i = 0; i < s.len;) {
        if (s.ptr[i] == '\n') {
            strbuf_char(out, '\n');
            i++;
        } else {
            i += put_safe(out, (Str){s.ptr + i, s.len - i});
        }
    }
}

void diag_quote(const Sources *sources, Span span, Str label, bool colour,
                StrBuf *out) {
    Place place = sources_place(sources, span.start);
    if (place.source == NULL) return;
    Str line = source_line(sources, place.source, place.line);
    size_t line_start = (size_t)(line.ptr - place.source->text.ptr);
    size_t from = span.start - place.source->base - line_start;
    size_t to = span.end - place.source->base - line_start;
    if (from > line.len) from = line.len;
    if (to > line.len) to = line.len;
    size_t first = from > WINDOW / 2 && line.len > WINDOW ? from - WINDOW / 2 : 0;
    while (first > 0 && ((unsigned char)line.ptr[first] & 0xc0) == 0x80) first--;
    paint(out, colour, "34");
    strbuf_printf(out, "%5u | ", place.line);
    paint(out, colour, "0");
    if (first > 0) strbuf_cstr(out, "...");
    size_t before = first > 0 ? 3 : 0, carets = 0, at = first;
    while (at < line.len && at < first + WINDOW) {
        size_t width = line.ptr[at] == '\t' ? TAB : 1;
        if (at < from) before += width;
        else if (at < to) carets += width;
        at += put_safe(out, (Str){line.ptr + at, line.len - at});
    }
    if (at < line.len) strbuf_cstr(out, "...");
    strbuf_char(out, '\n');
    paint(out, colour, "34");
    strbuf_cstr(out, "      | ");
    paint(out, colour, "0");
    for (size_t i = 0; i < before; i++) strbuf_char(out, ' ');
    paint(out, colour, "31;1");
    for (size_t i = 0; i < (carets == 0 ? 1 : carets); i++) strbuf_char(out, '^');
    if (label.len != 0) strbuf_char(out, ' ');
    put_safe_text(out, label);
    paint(out, colour, "0");
    strbuf_char(out, '\n');
}

static void put_place(const Sources *sources, Span span, StrBuf *out) {
    Str place = sources_show(sources, out->arena, span);
    strbuf_str(out, place);
    if (place.len != 0) strbuf_cstr(out, ": ");
}

void diag_render(const Sources *sources, const Diag *diag, bool colour, StrBuf *out) {
    bool is_error = diag->severity == SEVERITY_ERROR;
    put_place(sources, diag->span, out);
    paint(out, colour, is_error ? "31;1" : "35;1");
    strbuf_cstr(out, is_error ? "error: " : "warning: ");
    paint(out, colour, "0;1");
    put_safe_text(out, diag->message);
    paint(out, colour, "0");
    strbuf_printf(out, " [%s]\n", diag->kind->code);
    diag_quote(sources, diag->span, diag->label, colour, out);
    for (uint32_t i = 0; i < diag->notes.len; i++) {
        const DiagLabel *note = &diag->notes.data[i];
        put_place(sources, note->span, out);
        paint(out, colour, "36");
        strbuf_cstr(out, "note: ");
        paint(out, colour, "0");
        put_safe_text(out, note->text);
        strbuf_char(out, '\n');
        diag_quote(sources, note->span, STR(""), colour, out);
    }
    for (uint32_t i = 0; i < diag->hints.len; i++) {
        paint(out, colour, "32");
        strbuf_cstr(out, "hint: ");
        paint(out, colour, "0");
        put_safe_text(out, diag->hints.data[i]);
        strbuf_char(out, '\n');
    }
}
