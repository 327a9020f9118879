// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics: what a user did wrong, where, and how to mend it. A room lists its
// messages in its own diags.def, one row DIAG(NAME, "code", "format") each, and
// reports them here; rendering is one function, so that all look alike.
#ifndef WEFT_BASE_DIAG_H
#define WEFT_BASE_DIAG_H

#include "base/source.h"

typedef struct DiagKind {
    const char *code;    // a stable short name, such as "unknown-name"
    const char *format;  // printf format of the headline
} DiagKind;

typedef enum Severity { SEVERITY_ERROR, SEVERITY_WARNING } Severity;

typedef struct DiagLabel {
    Span span;  // {0, 0}: a line of text that points nowhere
    Str text;
} DiagLabel;

typedef struct Diag {
    Severity severity;
    const DiagKind *kind;
    Span span;
    Str message;
    Str label;  // text beside the carets; may be empty
    struct { DiagLabel *data; uint32_t len, cap; } notes;
    struct { Str *data; uint32_t len, cap; } hints;
} Diag;

typedef struct Diags {
    Arena *arena;
    const Sources *sources;
    Diag **data;
    uint32_t len, cap;
    uint32_t error_count;
    bool advice;  // keep warnings (weft check -W)
} Diags;

void diags_init(Diags *diags, Arena *arena, const Sources *sources);

// Reports a diagnostic; the arguments fill kind->format. The Diag returned takes
// labels, notes and hints. A repetition at the same place is swallowed: what is
// returned then can be written to but is never shown.
Diag *diag_error(Diags *diags, Span span, const DiagKind *kind, ...);
Diag *diag_warning(Diags *diags, Span span, const DiagKind *kind, ...);
void diag_label(Diags *diags, Diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_note(Diags *diags, Diag *diag, Span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_hint(Diags *diags, Diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Appends the diagnostic as people read it, in colour if asked:
//   file:3:7: error: the message [code]
//     3 | let y = x +
//       |       ^^^ label
//   file:1:5: note: …
//   hint: …
void diag_render(const Sources *sources, const Diag *diag, bool colour, StrBuf *out);
// Appends only the quoted source line with carets under span.
void diag_quote(const Sources *sources, Span span, Str label, bool colour, StrBuf *out);

#endif
