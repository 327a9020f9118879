// SPDX-License-Identifier: Apache-2.0
//
// Status: how a call that can fail ended. Outputs are written only on STATUS_OK.
#ifndef WEFT_BASE_STATUS_H
#define WEFT_BASE_STATUS_H

typedef enum Status {
#define STATUS(name, meaning) STATUS_##name,
#include "base/status.def"
#undef STATUS
} Status;

#endif
