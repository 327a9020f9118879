// SPDX-License-Identifier: Apache-2.0
//
// Literals: their types while open, their bits once known.
#ifndef WEFT_CHECK_LITERAL_H
#define WEFT_CHECK_LITERAL_H

#include "check/checker.h"

Type *literal_type(Checker *ck, const Lit *lit, Span span);
// The bits of a literal at a type; false if it is out of the type's range.
bool literal_bits(Checker *ck, const Lit *lit, bool negative, ScalarType type,
                  uint64_t *bits_out);

#endif
