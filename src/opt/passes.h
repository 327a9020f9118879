// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the rows of passes.def. Each returns whether it changed anything.
#ifndef WEFT_OPT_PASSES_H
#define WEFT_OPT_PASSES_H

#include "core/core.h"

bool opt_inline(CoreProgram *program);
bool opt_normalise(CoreProgram *program);
bool opt_dce(CoreProgram *program);
bool opt_stamp(CoreProgram *program);
bool opt_contract(CoreProgram *program);
bool opt_simplify(CoreProgram *program);

#endif
