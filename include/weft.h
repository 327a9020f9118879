/* SPDX-License-Identifier: Apache-2.0
 *
 * Weft from C: compile a program, call its entry points, read and print values.
 *
 *     WeftContext *context;
 *     WeftProgram *program;
 *     WeftValue *args[2], *result;
 *     if (weft_context_new(NULL, &context) != WEFT_STATUS_OK) ...
 *     if (weft_program_from_file(context, "dot.weft", &program) != WEFT_STATUS_OK)
 *         fputs(weft_render(context, 0), stderr);
 *     size_t entry = weft_entry_find(program, "dot");
 *     weft_values_read(program, entry, "input", "[1, 2] [3, 4]", 13, args, 2);
 *     weft_call(program, entry, args, 2, &result, 1);
 *
 * Everything a context makes belongs to it: weft_context_free frees the context with
 * all its programs and values, and nothing of it may be used afterwards. To give memory
 * back earlier, free programs and values yourself, in any order.
 *
 * A call that can fail returns a WeftStatus. Only on WEFT_STATUS_OK has it written to
 * its out parameters; otherwise weft_message and weft_render tell what happened. No
 * call exits, prints, or keeps state outside its context. NULL for a context, program,
 * value or out parameter is WEFT_STATUS_USAGE, and the free functions ignore it.
 *
 * Threads: different contexts are independent. Calls on one context may come from any
 * thread and wait for each other; texts returned by it are then best copied before
 * another thread calls. weft_cancel alone never waits. Callbacks must not call back.
 *
 * Texts are UTF-8, terminated by a zero byte. Unless it says otherwise, a text returned
 * lives as long as what it was asked of.
 */
#ifndef WEFT_H
#define WEFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WeftContext WeftContext;
typedef struct WeftProgram WeftProgram;
typedef struct WeftValue WeftValue;

/* How a call ended. */
typedef enum WeftStatus {
    WEFT_STATUS_OK,        /* success */
    WEFT_STATUS_PROGRAM,   /* the program has errors */
    WEFT_STATUS_RUNTIME,   /* the program stopped with an error while running */
    WEFT_STATUS_VALUE,     /* a value is malformed or of the wrong type */
    WEFT_STATUS_MEMORY,    /* out of memory, or over the ceiling; all is as before */
    WEFT_STATUS_IO,        /* a file could not be read, or output not written */
    WEFT_STATUS_USAGE,     /* the call does not fit its arguments */
    WEFT_STATUS_CANCELLED  /* weft_cancel was called */
} WeftStatus;

/* The version of the library, such as "0.1.0"; static. */
const char *weft_version(void);
/* What a status means, in a few words; static. */
const char *weft_status_text(WeftStatus status);

/* ---- contexts ------------------------------------------------------------------- */

/* Zero in any field means the default. Later versions add fields at the end. */
typedef struct WeftOptions {
    size_t struct_size;     /* sizeof(WeftOptions); required */
    size_t memory_ceiling;  /* bytes the context may hold; default: no ceiling */
    int advice;             /* nonzero: report warnings too */
    /* Called for every value a program traces with #[trace], with one line of text
     * (no line end). Default: traces are dropped. */
    void (*trace)(void *data, const char *text);
    void *data;             /* handed to the callbacks */
} WeftOptions;

/* Makes a context. NULL for options means all defaults. */
WeftStatus weft_context_new(const WeftOptions *options, WeftContext **context_out);
/* Frees the context, its programs and its values. */
void weft_context_free(WeftContext *context);

/* Makes the call now running on the context, or else its next one that compiles or
 * runs, end soon with WEFT_STATUS_CANCELLED. Safe from any thread or signal handler. */
void weft_cancel(WeftContext *context);

/* Bytes the context holds now, and the most it ever held. */
size_t weft_memory_used(const WeftContext *context);
size_t weft_memory_peak(const WeftContext *context);

/* ---- what went wrong ------------------------------------------------------------ */

/* One line on why the last call on this context failed; "" after success. Asking for
 * diagnostics does not count as a call. Lives until the next call on the context. */
const char *weft_message(const WeftContext *context);

typedef enum WeftSeverity { WEFT_SEVERITY_ERROR, WEFT_SEVERITY_WARNING } WeftSeverity;

/* A mistake in a program or a value, or where a program stopped. */
typedef struct WeftDiagnostic {
    WeftSeverity severity;
    const char *code;     /* a stable short name, such as "unknown-name" */
    const char *message;  /* the headline */
    const char *file;     /* NULL if it has no place */
    uint32_t line, column, end_line, end_column; /* from 1; the end is exclusive */
    size_t hint_count;
    const char *const *hints;
} WeftDiagnostic;

/* The diagnostics of the last call that compiled, read values or ran. They live until
 * the next such call. */
size_t weft_diagnostic_count(const WeftContext *context);
WeftStatus weft_diagnostic(WeftContext *context, size_t index,
                           WeftDiagnostic *diagnostic_out);

/* All of that as people read it, with source lines, carets and hints, in terminal
 * colours if asked; "" if there is nothing to say. Lives until the next call on the
 * context. Never NULL. */
const char *weft_render(WeftContext *context, int colour);

/* ---- programs ------------------------------------------------------------------- */

/* Compiles a program held in memory (the text is copied and need not be terminated).
 * Messages call it `name`. It may import the library that comes with Weft, but no
 * files. */
WeftStatus weft_program_from_source(WeftContext *context, const char *name,
                                    const char *text, size_t length,
                                    WeftProgram **program_out);
/* Compiles a file. Imports are relative to the importing file. A file that ends in
 * .core holds the compiler's intermediate language instead. */
WeftStatus weft_program_from_file(WeftContext *context, const char *path,
                                  WeftProgram **program_out);
/* Values made by the program stay valid. */
void weft_program_free(WeftProgram *program);

/* Entry points are numbered from 0 in the order of the source. */
#define WEFT_NONE ((size_t)-1)

size_t weft_entry_count(const WeftProgram *program);
/* The entry of that name, or WEFT_NONE. */
size_t weft_entry_find(const WeftProgram *program, const char *name);
/* For an index out of range, the following return NULL or 0. */
const char *weft_entry_name(const WeftProgram *program, size_t entry);
/* Its documentation comment; "" if it has none. */
const char *weft_entry_doc(const WeftProgram *program, size_t entry);
size_t weft_entry_parameter_count(const WeftProgram *program, size_t entry);
/* "" for a parameter without a name. */
const char *weft_entry_parameter_name(const WeftProgram *program, size_t entry,
                                      size_t parameter);
/* In Weft's syntax, such as "[n]f32". */
const char *weft_entry_parameter_type(const WeftProgram *program, size_t entry,
                                      size_t parameter);
/* An entry that returns a tuple has one result for each component. */
size_t weft_entry_result_count(const WeftProgram *program, size_t entry);
const char *weft_entry_result_type(const WeftProgram *program, size_t entry,
                                   size_t result);

/* Calls an entry. args are borrowed: they stay yours, unchanged, and may be used again.
 * On success results holds result_count new values, yours to free. The counts must be
 * those of the entry. */
WeftStatus weft_call(WeftProgram *program, size_t entry, WeftValue *const *args,
                     size_t arg_count, WeftValue **results, size_t result_count);

/* Lays a program out anew: the same words and comments, other blanks and line ends. The
 * text, ended by a zero, lives until the next call that runs something. Syntax errors:
 * WEFT_STATUS_PROGRAM. */
WeftStatus weft_format(WeftContext *context, const char *name, const char *text,
                       size_t length, const char **text_out, size_t *length_out);

/* ---- values --------------------------------------------------------------------- */

typedef enum WeftScalar {
    WEFT_BOOL, WEFT_I8, WEFT_I16, WEFT_I32, WEFT_I64, WEFT_U8, WEFT_U16, WEFT_U32,
    WEFT_U64, WEFT_F16, WEFT_F32, WEFT_F64
} WeftScalar;

typedef enum WeftFormat {
    WEFT_FORMAT_TEXT,   /* [1i32, 2i32] */
    WEFT_FORMAT_BINARY  /* Futhark's binary format, version 2 */
} WeftFormat;

/* Reads the arguments of an entry from Futhark's textual or binary format (which is
 * told from the bytes); all of the input must be used up. Messages call the input
 * `name`. On success values holds value_count new values, yours to free. The count must
 * be that of the entry's parameters. */
WeftStatus weft_values_read(WeftProgram *program, size_t entry, const char *name,
                            const void *bytes, size_t length, WeftValue **values,
                            size_t value_count);

/* The same for one argument alone, by its number from 0. */
WeftStatus weft_value_read(WeftProgram *program, size_t entry, size_t parameter,
                           const char *name, const void *bytes, size_t length,
                           WeftValue **value_out);

/* An array with that shape whose elements, in row-major order, are copied from `data`:
 * one byte per bool, f16 as its 16 bits. rank 0 makes a scalar and ignores shape. */
WeftStatus weft_value_new(WeftContext *context, WeftScalar element, size_t rank,
                          const int64_t *shape, const void *data,
                          WeftValue **value_out);
void weft_value_free(WeftValue *value);

/* The type without sizes, such as "[][]f32". */
const char *weft_value_type(const WeftValue *value);
/* 1 for a scalar or an array of scalars, to which alone the next four apply; 0 for
 * tuples, records and sums. */
int weft_value_is_array(const WeftValue *value);
WeftScalar weft_value_element(const WeftValue *value);
size_t weft_value_rank(const WeftValue *value);
const int64_t *weft_value_shape(const WeftValue *value); /* NULL for a scalar */
/* Copies the elements in row-major order; size must be exactly the bytes they take. */
WeftStatus weft_value_copy(const WeftValue *value, void *buffer, size_t size);

/* Takes bytes that are printed; returns 0, or anything else to stop. */
typedef int (*WeftWriter)(void *data, const char *bytes, size_t length);

/* Prints a value in pieces, without a line end. Sums and arrays of records have no
 * binary form: WEFT_STATUS_USAGE. If the writer stops: WEFT_STATUS_IO. */
WeftStatus weft_value_print(const WeftValue *value, WeftFormat format,
                            WeftWriter writer, void *data);
/* Prints a value as text, which lives until the next call on the context. */
WeftStatus weft_value_text(const WeftValue *value, const char **text_out);

/* ---- files ---------------------------------------------------------------------- */

/* The ending of a path says what is in a file:
 *   .in .out .val   a value as text (reading: or in Futhark's binary format)
 *   .bin            a value in Futhark's binary format
 *   .npy            a NumPy array of any scalar type
 *   .npz            an archive of them: FILE.npz is its first array, FILE.npz:NAME one
 *                   by name; reading only
 *   .png            an image: [h][w]u8 (grey), [h][w][3]u8 (colour), [h][w][4]u8 (with
 *                   opacity); writing: floats too, 0 to 1 standing for 0 to 255
 *   .csv            a table of numbers, with or without a line of headings: reading
 *                   [rows][columns]f64; writing any array of one or two dimensions
 *   .txt            the bytes themselves, []u8
 * Nothing that a file contains does harm: a malformed one is WEFT_STATUS_VALUE, with a
 * message that names the file. */

/* Whether the path has one of these endings. */
int weft_path_is_file(const char *path);

/* Reads one value. A text whose numbers have no type suffix holds i32, or f64 where the
 * first has a point. Tuples, records and sums need weft_argument_from_file. */
WeftStatus weft_value_from_file(WeftContext *context, const char *path,
                                WeftValue **value_out);
/* Reads an argument of an entry: text takes the type of that parameter, and any other
 * file must have it. */
WeftStatus weft_argument_from_file(WeftProgram *program, size_t entry, size_t parameter,
                                   const char *path, WeftValue **value_out);
/* Writes a value. A file appears only once it is complete: until then it has another
 * name in the same folder. What is no regular file (/dev/stdout under a link, a pipe)
 * is written to directly. WEFT_STATUS_USAGE: such a file cannot hold the value. */
WeftStatus weft_value_to_file(const WeftValue *value, const char *path);

/* Makes an array of random elements, whose type is written with sizes: "[1000][3]f32".
 * Integers are of any value, floats lie from 0 to below 1. The same seed gives the same
 * elements, on every machine. */
WeftStatus weft_value_random(WeftContext *context, const char *type, uint64_t seed,
                             WeftValue **value_out);

#ifdef __cplusplus
}
#endif

#endif
