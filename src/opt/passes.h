// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the rows of passes.def. Each returns whether it changed
// anything.
#ifndef WEFT_OPT_PASSES_H
#define WEFT_OPT_PASSES_H

#include "core/core.h"

#define PASS(name, fun, stage0, on, summary) bool opt_##fun(CoreProgram *program);
#include "opt/passes.def"
#undef PASS

#endif
