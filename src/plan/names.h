// SPDX-License-Identifier: Apache-2.0
//
// Texts in which names are set apart, so that they can be compared, and that only those
// that are shown are named: a name is a number until the whole text is there.
#ifndef WEFT_PLAN_NAMES_H
#define WEFT_PLAN_NAMES_H

#include "core/core.h"

typedef struct NameInfo {
    Sym sym;        // 0: none in the source
    uint32_t label; // from 1, among those of one name; 0: not given yet
} NameInfo;

// All names, by number; the first is unused.
typedef struct NameList {
    NameInfo *data;
    uint32_t len, cap;
    const CoreProgram *program;
    Arena *arena;
    Map counts; // Sym + 1 -> labels given
} NameList;

void names_init(NameList *names, const CoreProgram *program, Arena *arena);
// A name that nothing else has; 0: none in the source. Returns its number.
uint32_t names_add(NameList *names, Sym sym);
// Appends the name, set apart.
void names_put(StrBuf *out, uint32_t number);
// Appends the text with names to read.
void names_give(NameList *names, Str text, StrBuf *out);

// A text that binds the names from that number on.
typedef struct NamedText {
    Str text;
    uint32_t first;
} NamedText;

// A name from outside of one text, and what stands for it in another.
typedef struct NamePair {
    uint32_t here, there;
} NamePair;

typedef struct NamePairs {
    NamePair *data;
    uint32_t len, cap;
} NamePairs;

// Whether the texts are the same but for names from outside, and which those are.
bool names_are_same(const NamedText *a, const NamedText *b, Arena *arena,
                    NamePairs *pairs_out);

#endif
