// SPDX-License-Identifier: Apache-2.0
//
// The messages of this room.
#ifndef WEFT_CHECK_DIAGS_H
#define WEFT_CHECK_DIAGS_H

#include "base/diag.h"

typedef enum CheckDiag {
#define DIAG(name, code, format) CHECK_##name,
#include "check/diags.def"
#undef DIAG
    CHECK_DIAG_COUNT
} CheckDiag;

extern const DiagKind check_diags[CHECK_DIAG_COUNT];

#endif
