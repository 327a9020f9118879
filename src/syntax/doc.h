// SPDX-License-Identifier: Apache-2.0
//
// A small layer for pretty printing: a flat list of texts, breaks, groups and
// indentations, laid out in linear time. A group that fits on the rest of its line is
// printed flat, else its breaks end lines. Comments hang on breaks and force them.
#ifndef WEFT_SYNTAX_DOC_H
#define WEFT_SYNTAX_DOC_H

#include "base/str.h"

enum { DOC_WIDTH = 88 };

typedef enum DocBreak {
    BREAK_GLUE,       // nothing
    BREAK_SPACE,      // a blank
    BREAK_LINE,       // a blank, or a line end if its group is broken
    BREAK_USER,       // the same; a line end if the source has one here
    BREAK_FILL,       // a line end if the group behind it does not fit
    BREAK_FILL_USER,  // the same; in a broken group also where the source has one
    BREAK_HARD,       // a line end
    BREAK_PARAGRAPH   // a line end, with a blank line if the source has one
} DocBreak;

typedef struct DocComment {
    Str text;       // with its dashes
    bool own_line;  // else it stands behind a token
    bool after_blank_line;
} DocComment;

// What stands between two tokens in the source.
typedef struct DocGap {
    const DocComment *comments;
    uint32_t count;
    bool has_line_end, has_blank_line;  // of what follows the comments, if any
} DocGap;

typedef enum DocKind {
    DOC_TEXT, DOC_BREAK, DOC_OPEN, DOC_CLOSE,
    DOC_INDENT,  // from the indentation around it
    DOC_HANG,    // from where its line starts
    DOC_ALIGN,   // to where the line has come
    DOC_OUTDENT  // ends the last of these
} DocKind;

typedef struct DocItem {
    uint8_t kind;   // a DocKind
    uint8_t what;   // BREAK: a DocBreak; INDENT, HANG: by how much
    uint8_t back;   // BREAK: what the text behind it stands further left
    uint32_t match; // OPEN, CLOSE: the other one; filled in by doc_layout
    bool is_forced; // OPEN: has a line end in it
    Str text;
    DocGap gap;     // BREAK
    size_t at;      // where it starts if all is on one line
    size_t next;    // where the first break at or behind it is
} DocItem;

typedef struct Doc {
    DocItem *data;
    uint32_t len, cap;
} Doc;

// Appends the text. Groups must be balanced.
void doc_layout(Doc *doc, StrBuf *out);

#endif
