/* SPDX-License-Identifier: Apache-2.0
 *
 * Weft from C: compile a program, call its entry points, read and print values. A guide
 * with whole programs is docs/c-api.md.
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
 * thread and wait for each other; weft_context_lock keeps a call and the texts about it
 * together. weft_cancel, weft_memory_used and weft_memory_peak never wait.
 *
 * Callbacks come in the thread of the call that they belong to. They may cancel, ask
 * for memory_used and memory_peak, and free programs and values, which are then gone
 * when the call ends; any other call on the context is WEFT_STATUS_USAGE. They must
 * return: no longjmp, no exception.
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
#ifdef __GNUC__
#pragma GCC visibility push(default) /* these alone leave the shared library */
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

typedef enum WeftSeverity {
    WEFT_SEVERITY_ERROR,
    WEFT_SEVERITY_WARNING,
    WEFT_SEVERITY_NOTE
} WeftSeverity;

/* How far a call is. The texts live until the callback returns. */
typedef struct WeftProgress {
    const char *activity; /* "compiling" or "running" */
    const char *file;     /* where in the program; NULL if that is not known */
    uint32_t line;        /* from 1; 0 if it is not known */
    double fraction;      /* done of the loop there, 0 to 1; negative if not known */
    double seconds;       /* since the call began */
} WeftProgress;

/* What runs programs. All give the same results, bit for bit. */
typedef enum WeftEngine {
    WEFT_ENGINE_AUTO,   /* the one the library thinks best */
    WEFT_ENGINE_INTERP, /* the reference interpreter */
    WEFT_ENGINE_NATIVE  /* C, built by the system's compiler; a program that it cannot
                         * run does not compile */
} WeftEngine;

/* Zero in any field means the default. Later versions add fields at the end. */
typedef struct WeftOptions {
    size_t struct_size;     /* sizeof(WeftOptions); required */
    size_t memory_ceiling;  /* bytes the context may hold; default: no ceiling */
    int advice;             /* nonzero: report warnings too */
    /* Called for every value a program traces with #[trace], with one line of text
     * (no line end). Default: traces are dropped. */
    void (*trace)(void *data, const char *text);
    void *data;             /* handed to the callbacks */
    /* Called with a line (no line end) on what the library did: a note for each
     * program compiled and each entry called, with the seconds it took; a warning where
     * it could only do less than asked. Failures are statuses, and not told here. */
    void (*log)(void *data, WeftSeverity level, const char *text);
    /* Called about ten times a second by a call that compiles or runs, from the thread
     * of that call; never by one that takes less than a tenth of a second. */
    void (*progress)(void *data, const WeftProgress *progress);
    /* Gives the text of what a program imports. The path is that of the import, seen
     * from the folder in the importing text's name and without ending: "lib/geo".
     * Returns nonzero and sets the text (which need not be terminated) and its length,
     * or returns 0 if it has none; then, for a program from a file, files are looked
     * for. The library that comes with Weft is found before. */
    int (*import)(void *data, const char *path, const char **text, size_t *length);
    /* Called once for each text given by import when it is no longer needed; NULL: it
     * stays valid until weft_program_from_... returns. */
    void (*import_release)(void *data, const char *text, size_t length);
    WeftEngine engine;      /* what runs programs; default: WEFT_ENGINE_AUTO */
    unsigned threads;       /* of the native engine; default: one for each core */
    /* Where programs run, by address, several with commas between: "cpu"; "cpu*K", the
     * cores in K devices that share memory; "cpu:N", the cores with memory of its own;
     * "opencl:N"; "cuda:N"; "all". Of "opencl:N@2G" 2 GiB of memory may be used; K, M,
     * G. What cannot run there does not compile. Copied. Default: this machine's cores,
     * if that is worth while. */
    const char *devices;
    int pin;                /* nonzero: each thread stays on a core of its own */
} WeftOptions;

/* Makes a context. NULL for options means all defaults. */
WeftStatus weft_context_new(const WeftOptions *options, WeftContext **context_out);
/* Frees the context, its programs and its values; no call may be running on it. */
void weft_context_free(WeftContext *context);

/* Makes the call now running on the context, or else its next one that compiles or
 * runs, end soon with WEFT_STATUS_CANCELLED. Safe from any thread or signal handler. */
void weft_cancel(WeftContext *context);

/* Keeps other threads out of a context (their calls wait) until this thread unlocks it
 * as often as it has locked it, so that a call and the questions about how it ended stay
 * together. Not needed where only one thread uses the context. */
void weft_context_lock(WeftContext *context);
void weft_context_unlock(WeftContext *context);

/* Bytes the context holds now, and the most it ever held. These never wait. */
size_t weft_memory_used(const WeftContext *context);
size_t weft_memory_peak(const WeftContext *context);

/* ---- what went wrong ------------------------------------------------------------ */

/* One line on why the last call on this context failed; "" after success. Asking for
 * diagnostics does not count as a call. Lives until the next call on the context. */
const char *weft_message(const WeftContext *context);

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
 * Messages call it `name`. It may import the library that comes with Weft and what the
 * option `import` gives, but no files. */
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
 * those of the entry. WEFT_STATUS_MEMORY: there is not enough; if it is certain that the
 * call does not fit below the context's memory_ceiling, before it starts, with the bytes
 * by line. */
WeftStatus weft_call(WeftProgram *program, size_t entry, WeftValue *const *args,
                     size_t arg_count, WeftValue **results, size_t result_count);

/* Lays a program out anew: the same words and comments, other blanks and line ends. The
 * text, ended by a zero, lives until the next call that runs something. Syntax errors:
 * WEFT_STATUS_PROGRAM. */
WeftStatus weft_format(WeftContext *context, const char *name, const char *text,
                       size_t length, const char **text_out, size_t *length_out);

/* ---- C from programs ------------------------------------------------------------- */

/* Makes C of a program's entries, which then run without the library that you are
 * reading about: with the small libweftrt alone (weft_rt.h). An output NAME is the files
 * NAME.h and NAME.c; NAME.so is NAME.h and a shared library, made by the system's
 * compiler, with all it needs inside. What NAME ends in begins the names of the
 * functions. entries are the names of those wanted; with entry_count 0 they are all.
 *
 * WEFT_STATUS_USAGE: no such entry, or one that C has no form for (sums), or that
 * traces; or NAME begins no name in C. Files appear once both are complete. */
WeftStatus weft_build(WeftContext *context, const char *path, const char *output,
                      const char *const *entries, size_t entry_count);

/* ---- sessions ------------------------------------------------------------------- */

/* A session takes one text after another, as a prompt or a notebook does: definitions,
 * which it remembers, or an expression, which it evaluates; `it` is then its value. A
 * definition hides earlier ones of its name; what already used those still does. A
 * definition without parameters is evaluated once, when it is made. A call that fails
 * leaves the session as it was. Texts may import files; each is read once. Messages
 * call a text `name`; its imports are relative to the folder in that name. Texts are
 * interpreted, whatever engine the context names. */
typedef struct WeftSession WeftSession;

WeftStatus weft_session_new(WeftContext *context, WeftSession **session_out);
void weft_session_free(WeftSession *session);
/* Takes a text. *value_out becomes the value of an expression, yours to free, or NULL
 * for definitions, for functions, and for a text without words. *types_out becomes the
 * type of an expression, or a line such as "f: i32 -> i32" for each name defined. Here
 * and below, texts live until the next call that runs something. */
WeftStatus weft_session_eval(WeftSession *session, const char *name, const char *text,
                             size_t length, WeftValue **value_out,
                             const char **types_out);
/* Starts the session anew with the definitions of a file. */
WeftStatus weft_session_load(WeftSession *session, const char *path,
                             const char **types_out);
/* Defines a name as a value, which stays yours. */
WeftStatus weft_session_define(WeftSession *session, const char *name,
                               const WeftValue *value);
/* The type of an expression, which is not evaluated. */
WeftStatus weft_session_type(WeftSession *session, const char *name, const char *text,
                             size_t length, const char **type_out);
/* An expression in the compiler's core language. */
WeftStatus weft_session_core(WeftSession *session, const char *name, const char *text,
                             size_t length, const char **core_out);
/* The names in scope that begin with `prefix`, a line each; after "m.", those in m. */
WeftStatus weft_session_complete(WeftSession *session, const char *prefix,
                                 const char **names_out);
/* A line for each name defined, as types_out above. */
WeftStatus weft_session_names(WeftSession *session, const char **types_out);
/* The definitions as a program. */
WeftStatus weft_session_source(WeftSession *session, const char **source_out);
/* Whether a text is the beginning of a longer one: it ends in mid-expression, or has
 * several lines and ends in a `case`, so that more of them might follow. */
int weft_text_wants_more(WeftContext *context, const char *text, size_t length);

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

/* The same without a copy: the value uses the memory at `data` itself, until `release`
 * (unless NULL) is called with `release_data`. That happens exactly once, when the last
 * value that uses the memory is freed, results that share it included: during a call on
 * the context, in the thread of that call, or in weft_context_free. Until then the
 * memory must not change. If the call fails nothing was taken and release is not called.
 *
 * strides are in elements, one for each dimension, may be 0 or negative, and lead from
 * the element at `data`, whose indices are 0; NULL means row-major. Elements must be
 * aligned to their size, and bools be 0 or 1 (WEFT_STATUS_VALUE). rank is at least 1. */
WeftStatus weft_value_borrow(WeftContext *context, WeftScalar element, size_t rank,
                             const int64_t *shape, const int64_t *strides,
                             const void *data, void (*release)(void *release_data),
                             void *release_data, WeftValue **value_out);

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
/* The elements in row-major order, for reading; they live as long as the value. They
 * are copied within the context only if the value holds them in another order. */
WeftStatus weft_value_data(WeftValue *value, const void **data_out);

/* DLPack, by which NumPy, PyTorch, JAX, CuPy and others hand arrays to each other
 * without a copy; include their dlpack.h for the structs. The versioned struct (DLPack
 * 1.0) can say that an array is read-only, the other cannot.
 *
 * from: on success the value owns the tensor and calls its deleter once, when the last
 * value that uses the memory is freed; on failure it stays yours. The tensor must be in
 * the memory of the CPU, and of one of Weft's scalar types (WEFT_STATUS_VALUE); rank 0
 * makes a scalar, for which the deleter is called at once.
 * to: the tensor shares the value's elements, which must not be written to. It lives
 * until its deleter is called, from any thread and also after the value, and even the
 * context, has been freed. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;
WeftStatus weft_value_from_dlpack(WeftContext *context, struct DLManagedTensor *tensor,
                                  WeftValue **value_out);
WeftStatus weft_value_from_dlpack_versioned(WeftContext *context,
                                            struct DLManagedTensorVersioned *tensor,
                                            WeftValue **value_out);
WeftStatus weft_value_to_dlpack(WeftValue *value, struct DLManagedTensor **tensor_out);
WeftStatus weft_value_to_dlpack_versioned(
    WeftValue *value, struct DLManagedTensorVersioned **tensor_out);

/* Sets *equal_out to whether two values are equal as test blocks have it: integers,
 * bools and sizes exactly; floats within `tolerance` times the largest magnitude in
 * `expected`, and if tolerance is not 0 within a millionth at least; NaN equals NaN;
 * values that hold a sum as they print. Values of different types are not equal. Both
 * must be of one context. */
WeftStatus weft_value_equal(const WeftValue *found, const WeftValue *expected,
                            double tolerance, int *equal_out);

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
 * first has a point or an exponent. Tuples, records and sums need weft_argument_from_file. */
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

/* ---- test blocks ---------------------------------------------------------------- */

/* A program's comments may hold tests (docs/language.md): inputs of entries, and what
 * they must give. `weft test` and `weft bench` stand on these. */
typedef struct WeftTests WeftTests;

typedef enum WeftTestKind {
    WEFT_TEST_COMPILES, /* the program must compile */
    WEFT_TEST_REJECTED, /* it must not, with a message that `error` matches */
    WEFT_TEST_CALL,     /* an entry is called with an input */
    WEFT_TEST_STRUCTURE /* so many operators are left: weft_test_structure */
} WeftTestKind;

typedef struct WeftTest {
    size_t struct_size; /* sizeof(WeftTest); set it before asking */
    WeftTestKind kind;
    uint32_t line;      /* in the program */
    /* NULL if the test has none: */
    const char *entry;  /* to be called */
    const char *label;
    const char *input;  /* as it is written, or "@ FILE" */
    const char *error;  /* the call must fail with a message that this POSIX extended
                         * regular expression matches; "" matches all */
    int has_output;     /* the results must be those of weft_test_results */
    int only_bench;     /* `notest`: for measuring alone */
    int only_test;      /* `nobench`: for testing alone */
} WeftTest;

/* Reads the test blocks of a file; it need not compile. One without any has no tests.
 * A malformed block is WEFT_STATUS_VALUE. */
WeftStatus weft_tests_from_file(WeftContext *context, const char *path,
                                WeftTests **tests_out);
void weft_tests_free(WeftTests *tests);
/* Tests are numbered from 0 in the order of the source: one for the structure that a
 * block asks for, one for each input and entry, or one for a block with neither. */
size_t weft_test_count(const WeftTests *tests);
/* The texts live as long as the tests. */
WeftStatus weft_test_info(const WeftTests *tests, size_t test, WeftTest *test_out);
/* Makes the arguments for the test's entry of a program compiled from the same file:
 * read, made at random or computed by a script. The count must be that of the entry's
 * parameters. On success they are yours to free. */
WeftStatus weft_test_arguments(const WeftTests *tests, size_t test,
                               WeftProgram *program, WeftValue **values,
                               size_t value_count);
/* Reads the results expected; the count must be that of the entry's results. */
WeftStatus weft_test_results(const WeftTests *tests, size_t test, WeftProgram *program,
                             WeftValue **values, size_t value_count);
/* Compiles the program and counts. WEFT_STATUS_VALUE, with a message that says which,
 * if there are more or fewer of an operator than the test says. */
WeftStatus weft_test_structure(const WeftTests *tests, size_t test);

/* ---- devices -------------------------------------------------------------------- */

typedef enum WeftDeviceKind {
    WEFT_DEVICE_CPU,
    WEFT_DEVICE_OPENCL,
    WEFT_DEVICE_CUDA
} WeftDeviceKind;

typedef struct WeftDevice {
    size_t struct_size;  /* sizeof(WeftDevice); set it before asking */
    WeftDeviceKind kind;
    const char *address; /* how options name it, such as "cpu" */
    const char *name;    /* what its maker calls it; NULL for a driver alone */
    uint32_t cores;      /* that this process may use at once; compute units */
    uint64_t memory;     /* bytes; 0 if it is not known */
    const char *driver;  /* its name and version; NULL for the CPU */
    const char *cannot;  /* why programs cannot run on it; NULL: they can */
} WeftDevice;

/* What programs can run on; the first is always the CPU. The others' drivers are opened
 * for this call, which may take a moment. A driver that has no devices, or that does not
 * work, is in the list alone, by an address without a number, such as "opencl". */
size_t weft_device_count(WeftContext *context);
/* The texts live until the next call on the context. */
WeftStatus weft_device_info(WeftContext *context, size_t index,
                            WeftDevice *device_out);

/* ---- seeing what happened -------------------------------------------------------- */

typedef enum WeftRecord {
    WEFT_RECORD_NOTHING,
    WEFT_RECORD_TOTALS, /* what weft_profile tells */
    WEFT_RECORD_EVENTS  /* and what weft_trace writes */
} WeftRecord;

/* Forgets what was recorded, and from now on records what calls spend their time on.
 * That takes about a tenth of a microsecond for each statement that is not scalar, and
 * for events a megabyte of memory for each thread. Programs that are called meanwhile
 * stay in memory. A new context records nothing. */
WeftStatus weft_record(WeftContext *context, WeftRecord what);

typedef enum WeftWork {
    WEFT_WORK_KERNEL,    /* kernels of a line of the program */
    WEFT_WORK_INTERPRET, /* the same line in the interpreter */
    WEFT_WORK_TRANSFER,  /* copying between the memories of devices */
    WEFT_WORK_HOST,      /* the rest of an entry called, by its name */
    WEFT_WORK_VALUES,    /* "read" and "print" */
    WEFT_WORK_PHASE,     /* of Weft's own compiler, by name */
    WEFT_WORK_WAIT,      /* for the system's compiler */
    WEFT_WORK_BESIDE     /* what another thread did meanwhile, by name; in no total */
} WeftWork;

/* Time spent on one thing. Those that are not beside add up to that of all calls that
 * compile, run, read or print. */
typedef struct WeftProfile {
    WeftWork work;
    const char *name; /* "" for a line of the program */
    const char *file; /* NULL where there is no line */
    uint32_t line;
    const char *text; /* of that line, without blanks around it; NULL with file */
    uint64_t count;   /* how often */
    double seconds;
    uint64_t bytes;   /* of the arrays that kernels took and made, or transfers moved */
    uint64_t before;  /* of phases: the statements they found */
    uint64_t after;   /* and left; both 0 where there are none */
} WeftProfile;

/* Calls `row` for each; phases come in the order in which they first ran. The texts live
 * until the next call on the context. If nothing is recorded there are no rows. */
WeftStatus weft_profile(WeftContext *context,
                        void (*row)(void *data, const WeftProfile *row), void *data);

/* Prints the events recorded as JSON, in Chrome's trace event format, which
 * ui.perfetto.dev shows: a row for the calling thread, each worker and each device. If
 * the writer stops: WEFT_STATUS_IO. */
WeftStatus weft_trace(WeftContext *context, WeftWriter writer, void *data);

typedef enum WeftExplanation {
    WEFT_EXPLAIN_TEXT, /* tables, and the program as it is run */
    WEFT_EXPLAIN_DOT,  /* the graph of tasks, for Graphviz */
    WEFT_EXPLAIN_SVG   /* the same as a picture */
} WeftExplanation;

/* Tells what a call of an entry will do, without making it: which operators are split
 * and why, the tasks that come of it, which device runs which of them when, what travels,
 * and the memory that it takes. Times are in seconds, by the model that the devices are
 * shared out by. args are as for weft_call; with NULL, and an arg_count of 0, no size is
 * known. If events are recorded and the entry has been called since, what that took
 * stands beside.
 *
 * The text is ended by a zero, and lives until the next call that runs something.
 * WEFT_STATUS_MEMORY: by the sizes that are known, the call does not fit below the
 * context's memory_ceiling; the message has the bytes by line. WEFT_STATUS_RUNTIME: with
 * the values that are known it is sure to fail; the message has where and why.
 * WEFT_STATUS_USAGE: there is no such entry, or the program is interpreted as a whole
 * (WEFT_ENGINE_INTERP). What is wrong with args is told as weft_call tells it. */
WeftStatus weft_explain(WeftProgram *program, size_t entry, WeftValue *const *args,
                        size_t arg_count, WeftExplanation form, const char **text_out);

/* ---- compiled code -------------------------------------------------------------- */

/* Native code is kept on disk, in $XDG_CACHE_HOME/weft or ~/.cache/weft, for all
 * contexts and processes; the oldest goes when it exceeds 256 MiB. */
typedef struct WeftCached {
    const char *name;  /* of an entry: 32 digits that tell what it was made from */
    uint64_t bytes;
    int64_t used;      /* when last, in seconds since 1970 */
} WeftCached;

/* Calls `entry`, which may be NULL, for each of them. folder_out gets the folder, until
 * the next call on the context; WEFT_STATUS_IO: there is none that can be written to. */
WeftStatus weft_cache_list(WeftContext *context,
                           void (*entry)(void *data, const WeftCached *cached),
                           void *data, const char **folder_out);
/* Removes all of it. Code that is loaded stays so. */
WeftStatus weft_cache_clear(WeftContext *context, size_t *removed_out);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
