// SPDX-License-Identifier: Apache-2.0
//
// Tokens of .core texts. White space and comments (-- to the end of the line) separate
// tokens and mean nothing else.
#ifndef WEFT_CORE_SCAN_H
#define WEFT_CORE_SCAN_H

#include "base/source.h"

typedef enum CoreTokenKind {
    CORE_TOKEN_END,
    CORE_TOKEN_WORD,   // x, x.12, %3, reduce.free, f32.inf
    CORE_TOKEN_NUMBER, // a digit or a sign, then whatever a number may hold
    CORE_TOKEN_STRING,
    CORE_TOKEN_ARROW,
    CORE_TOKEN_MARK, // one character of punctuation
    CORE_TOKEN_BAD
} CoreTokenKind;

typedef struct CoreToken {
    CoreTokenKind kind;
    char mark;
    Str text;  // as written
    Str bytes; // STRING: what it stands for
    Span span;
} CoreToken;

typedef struct CoreScanner {
    const Source *source;
    Arena *arena;
    size_t at;
} CoreScanner;

CoreToken core_scan(CoreScanner *scanner);

#endif
