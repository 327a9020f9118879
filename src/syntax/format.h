// SPDX-License-Identifier: Apache-2.0
//
// Within the formatter. It changes nothing but the blanks between tokens: the tokens of
// the source go to a Doc in their order, comments with them, while a walk over the tree
// says where lines may end. The walk keeps its own stack of steps, so that no input is
// too deep for it.
#ifndef WEFT_SYNTAX_FORMAT_H
#define WEFT_SYNTAX_FORMAT_H

#include "base/cx.h"
#include "syntax/ast.h"
#include "syntax/doc.h"
#include "syntax/lex.h"

typedef enum StepKind {
    STEP_EXP, STEP_TYPE, STEP_PAT, STEP_DECL, STEP_MOD, STEP_SIG,  // visit node
    STEP_UNTIL,  // print the tokens that start before pos
    STEP_ATTR,   // the same, of an attribute
    STEP_TOKEN,  // print one token
    STEP_PAREN,  // print one token if it closes a parenthesis
    STEP_BREAK, STEP_OPEN, STEP_CLOSE,
    STEP_INDENT, STEP_HANG, STEP_ALIGN, STEP_OUTDENT  // as in doc.h
} StepKind;

typedef struct Step {
    uint8_t kind, what, back;
    uint32_t pos;
    const void *node;
} Step;

typedef struct FormatToken {
    uint8_t kind;
    bool after_space;
    uint32_t start;
    Str text;
    DocGap gap;  // before it
} FormatToken;

typedef struct Format {
    Cx *cx;
    const FormatToken *tokens;
    uint32_t token_count, at;
    uint32_t pending;    // the break that waits for its token, plus 1; or 0
    bool in_backquotes;
    Doc doc;
    struct { Step *data; uint32_t len, cap; } steps;
} Format;

void format_step(Format *f, Step step);
void format_until(Format *f, uint32_t pos);
void format_break(Format *f, DocBreak kind);
void format_mark(Format *f, StepKind kind);  // OPEN, CLOSE, ALIGN, OUTDENT, TOKEN
void format_indent(Format *f, uint8_t by);
void format_node(Format *f, StepKind kind, const void *node);
// A value behind its "=" or "->", on this line or indented on the next.
void format_value(Format *f, DocBreak kind, const Exp *exp);
void format_type_params(Format *f, TypeParamVec params);
void format_params(Format *f, PatVec params);
// The type of the result, if any, and the "=".
void format_result(Format *f, const TypeExp *type);
void format_dims(Format *f, IndexVec dims);

// Each adds the steps for one node.
void format_exp(Format *f, const Exp *exp);
void format_type(Format *f, const TypeExp *type);
void format_pat(Format *f, const Pat *pat);
void format_decl(Format *f, const Decl *decl);
void format_mod(Format *f, const ModExp *mod);
void format_sig(Format *f, const SigExp *sig);

#endif
