// SPDX-License-Identifier: Apache-2.0
//
// The messages of this room.
#ifndef WEFT_SYNTAX_DIAGS_H
#define WEFT_SYNTAX_DIAGS_H

#include "base/diag.h"

typedef enum SyntaxDiag {
#define DIAG(name, code, format) SYNTAX_##name,
#include "syntax/diags.def"
#undef DIAG
    SYNTAX_DIAG_COUNT
} SyntaxDiag;

extern const DiagKind syntax_diags[SYNTAX_DIAG_COUNT];

#endif
