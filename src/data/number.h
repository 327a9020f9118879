// SPDX-License-Identifier: Apache-2.0
//
// Within the data room: scalars in text, binary values, and what messages need.
#ifndef WEFT_DATA_NUMBER_H
#define WEFT_DATA_NUMBER_H

#include "data/data.h"

// Reads the scalar at the reader's position (white space has been skipped).
Status data_read_scalar(DataReader *reader, ScalarType type, uint64_t *bits_out);
// Whether a binary value starts at the reader's position, and reading it. value has the
// type wanted; it gets bits or an array.
bool data_is_binary(const DataReader *reader);
Status data_read_binary(DataReader *reader, RtValue *value);
// Writes the elements of a leaf in row-major order, little-endian, NaN in its canonical
// form.
void data_put_elements(DataSink *sink, const RtValue *leaf);
// What stands at an offset, for a message: `foo`, or "the end of the input".
Str data_excerpt(const DataReader *reader, size_t at);
// [][]i32, for messages.
Str data_show_type(Arena *arena, ScalarType elem, uint32_t rank);
// Whether the character may be part of a word or number.
bool data_is_word(char c);

#endif
