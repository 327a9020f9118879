// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_OPT_OUTLINE_ROWS_H
#define WEFT_OPT_OUTLINE_ROWS_H

#include "core/core.h"

// Where statement `at` of the body makes arrays that only one behind it reads, of few
// turns each of which goes over all rows and reads of the arrays only the row that it
// is at: where that is, scalars alone being between; or 0. Both in one kernel need the
// arrays row by row alone (loop/join.c).
uint32_t outline_find_reader(const CoreProgram *p, const CoreBody *body, uint32_t at);

#endif
