// SPDX-License-Identifier: Apache-2.0
//
// Values as whole files: NumPy's arrays, images, tables and raw bytes. A file says its
// own type, so that reading needs none; each holds one scalar or array. The bytes may
// be anything: they give a value or one message, and no header is believed before the
// bytes it speaks of are there or could be.
//
// Out of memory unwinds through the heap's Mem (mem.h); by then the libraries used here
// have given their memory back, and what remains is in the arena or on the heap.
#ifndef WEFT_DATA_FILE_H
#define WEFT_DATA_FILE_H

#include "data/data.h"

typedef enum FileKind {
    FILE_TEXT,   // .in .out .val: values as text, or in binary
    FILE_BINARY, // .bin: Futhark's binary format
    FILE_NPY,    // .npy: one NumPy array
    FILE_NPZ,    // .npz: a zip archive of them; only read
    FILE_PNG,    // .png: [h][w]u8, [h][w][3]u8, [h][w][4]u8
    FILE_CSV,    // .csv: [rows][columns]f64
    FILE_BYTES,  // .txt: []u8
    FILE_UNKNOWN
} FileKind;

// A file being read.
typedef struct FileIn {
    Str bytes;  // borrowed
    Str member; // NPZ: the array wanted; empty: the first
    RtHeap *heap;
    Arena *arena; // for messages and scratch
    // Once something failed:
    uint32_t line, column; // in text, from 1; else 0
    Str error;
} FileIn;

// The kind of a file by its ending; for an .npz that is followed by `:name`,
// path_len_out (which may be NULL) gets the length of the path before that.
FileKind file_kind(const char *path, size_t *path_len_out);
// Reads the file. STATUS_VALUE: see error. On STATUS_OK *value_out owns a reference.
Status file_read(FileIn *in, FileKind kind, RtValue *value_out);
// Whether a value can be written in that form; otherwise *why_out says why not.
bool file_can_hold(FileKind kind, const DataType *type, const RtValue *leaves,
                   Arena *arena, Str *why_out);
// Writes a value that file_can_hold. A sink that fails ends it early.
void file_write(DataSink *sink, FileKind kind, const DataType *type,
                const RtValue *leaves, Arena *arena);

// ---- within the room ----------------------------------------------------------------

// Sets the error; returns STATUS_VALUE.
Status file_fail(FileIn *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
Status file_read_npy(FileIn *in, RtValue *value_out);
Status file_read_npz(FileIn *in, RtValue *value_out);
Status file_read_png(FileIn *in, RtValue *value_out);
Status file_read_csv(FileIn *in, RtValue *value_out);
void file_write_npy(DataSink *sink, const RtValue *value);
// NULL, or why the array is no image.
const char *file_png_refuses(const RtValue *value);
// Unwinds when memory runs out.
void file_write_png(DataSink *sink, const RtValue *value, Arena *arena);
void file_write_csv(DataSink *sink, const RtValue *value);
// A new array; unwinds when memory runs out.
RtArray *file_new_array(FileIn *in, ScalarType elem, uint32_t rank,
                        const int64_t *shape);

// What the libraries allocate comes from the Mem too. These never unwind (no longjmp
// passes through a library) but remember that they failed.
typedef struct FileHeap {
    Mem *mem;
    bool has_failed;
} FileHeap;

void *file_heap_alloc(FileHeap *heap, size_t size);
void file_heap_free(FileHeap *heap, void *block);

#endif
