// SPDX-License-Identifier: Apache-2.0
//
// Within the data room: scalars in text, and what readers need for messages.
#ifndef WEFT_DATA_NUMBER_H
#define WEFT_DATA_NUMBER_H

#include "data/data.h"

// Reads the scalar at the reader's position (white space has been skipped).
Status data_read_scalar(DataReader *reader, ScalarType type, uint64_t *bits_out);
// What stands at an offset, for a message: `foo`, or "the end of the input".
Str data_excerpt(const DataReader *reader, size_t at);
// Whether the character may be part of a word or number.
bool data_is_word(char c);

#endif
