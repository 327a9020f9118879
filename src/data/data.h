// SPDX-License-Identifier: Apache-2.0
//
// Values in and out: Futhark's textual and binary formats, and Weft's text for tuples,
// records and sums. A value of any type is a list of leaves, the scalars and arrays of
// scalars that carry it in core; a DataType tells how they hang together.
//
// Out of memory unwinds through the heap's Mem (mem.h); what a reader or printer had
// made by then is on the heap still, newer than what was there before.
#ifndef WEFT_DATA_DATA_H
#define WEFT_DATA_DATA_H

#include "base/status.h"
#include "base/str.h"
#include "rt/array.h"

enum { DATA_MOST_RANK = 32 };

typedef enum DataKind {
    DATA_LEAF,   // a scalar or an array of scalars: leaf `leaf`
    DATA_ARRAY,  // an array of records or sums: `rank` dimensions in front of `inner`
    DATA_RECORD, // tuples too; one without fields is carried by a bool, leaf `leaf`
    DATA_SUM     // leaf `leaf` holds the number of the constructor
} DataKind;

typedef struct DataType DataType;

typedef struct DataField {
    Str name;
    const DataType *type;
} DataField;

typedef struct DataCtor {
    Str name;
    const DataType *const *payload;
    uint32_t count;
    uint32_t leaf; // without payload: the bool in its place
} DataCtor;

// Leaves are numbered within the whole value. Under DATA_ARRAY a leaf's array has the
// outer dimensions first; `rank` of the LEAF counts its own only. Constructors of a sum
// may share leaves.
struct DataType {
    DataKind kind;
    bool is_tuple;   // RECORD: written (a, b)
    ScalarType elem; // LEAF
    uint32_t rank;   // LEAF, ARRAY
    uint32_t leaf;   // LEAF, SUM, empty RECORD
    const DataType *inner;
    const DataField *fields;
    const DataCtor *ctors;
    uint32_t count; // of fields or constructors
};

// ---- reading ------------------------------------------------------------------------

// A position in a text (or in binary data) from which values are read one after
// another. Text and binary values may be mixed: a binary one starts with the bytes
// 'b', 2.
typedef struct DataReader {
    Str bytes; // borrowed
    size_t at;
    RtHeap *heap;
    Arena *arena; // for messages and scratch
    // Once something failed:
    size_t error_at;     // offset of the offending text
    uint32_t error_line; // counted from 1; 0 within binary data
    uint32_t error_column;
    Str error; // what was found and what was expected
} DataReader;

DataReader data_reader(Str bytes, RtHeap *heap, Arena *arena);
// Reads the next value. leaves[i] gets the element type and the total rank of leaf i
// beforehand and, on STATUS_OK, the value (an owned reference). STATUS_VALUE: see
// error. A record outside an array may also be given as its fields one after another.
Status data_read(DataReader *reader, const DataType *type, RtValue *leaves,
                 uint32_t leaf_count);
// Skips white space and comments and tells whether nothing follows.
bool data_at_end(DataReader *reader);
// Sets the error of a reader to a message about its current position.
void data_fail(DataReader *reader, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- writing ------------------------------------------------------------------------

// Where printed bytes go. Set write and data, leave the rest 0, and flush at the end.
typedef struct DataSink {
    bool (*write)(void *data, const char *bytes, size_t len); // false: failed
    void *data;
    bool has_failed; // nothing more is written then
    size_t len;
    char buffer[4096];
} DataSink;

void data_put(DataSink *sink, const char *bytes, size_t len);
void data_flush(DataSink *sink);
// Prints a value as text, without a line end: 3i32, [1.0f32, f32.nan], empty([0]u8),
// (1i64, true), {x = 1i32}, #some 2i32.
void data_print(DataSink *sink, const DataType *type, const RtValue *leaves);
// Writes a value in binary: a leaf as one value, a record as its fields one after
// another. Returns false, having written nothing, if the type has no binary form
// (sums, arrays of records). NaN is written in its canonical form, as in text.
bool data_write_binary(DataSink *sink, const DataType *type, const RtValue *leaves);
// Prints a scalar.
void data_print_scalar(DataSink *sink, ScalarType type, uint64_t bits);
// The same into a buffer; returns the length.
enum { DATA_SCALAR_TEXT = 48 };
size_t data_scalar_text(ScalarType type, uint64_t bits, char out[DATA_SCALAR_TEXT]);

#endif
