// SPDX-License-Identifier: Apache-2.0
//
// Random programs for weft model.
#ifndef WEFT_CLI_MODEL_H
#define WEFT_CLI_MODEL_H

#include "base/str.h"

// Appends a program in Weft, without parameters, of that many definitions, whose
// results are all values defined. With the same seed, more definitions come after the
// same ones.
void model_write(StrBuf *out, uint64_t seed, uint32_t count);

#endif
