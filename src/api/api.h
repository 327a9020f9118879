// SPDX-License-Identifier: Apache-2.0
//
// Within the api room, and for the verbs that look inside (dump, test): what the opaque
// handles of include/weft.h are.
//
// Every call of the library goes through api_guard: it locks the context, catches out
// of memory, and on any failure frees the arrays, values and programs made since the
// call began, so that a failed call leaves the context as it was.
#ifndef WEFT_API_API_H
#define WEFT_API_API_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"
#include "check/check.h"
#include "core/core.h"
#include "data/data.h"
#include "fission/strategy.h"
#include "interp/interp.h"
#include "rt/array.h"
#include "rt/events.h"
#include "weft.h"

typedef struct ApiEngine ApiEngine; // engine.h
typedef struct ApiPlace ApiPlace;   // places.h
typedef struct ApiAhead ApiAhead;   // ahead.h
typedef struct ApiDirect ApiDirect; // direct.h
typedef struct ApiChoice ApiChoice; // choice.h

// A parameter or result of an entry: how its leaves lie in core and what they mean.
typedef struct ApiPort {
    const char *name;
    const char *type; // in Weft's syntax
    const DataType *data;
    uint32_t first, count; // flattened core parameters or results
    CoreType *leaves;
} ApiPort;

// What the user gives up. It is destroyed at once, or when the call ends during which
// a callback gave it up.
typedef struct ApiDrop {
    struct ApiDrop *next;
    void (*destroy)(void *what);
    void *what;
} ApiDrop;

typedef struct ApiEntry {
    const char *name, *doc;
    const CoreFun *fun;
    ApiPort *params, *results;
    uint32_t param_count, result_count;
    InterpCode code;   // what the calls so far have prepared
    ApiChoice *choice; // for several devices: what of it is cut (choice.h); or NULL
    double too_much;   // for several devices: bytes, by plan (alone.h); 0: none are
    ApiDirect *direct; // in its memory, too: how it is called without that; or NULL
} ApiEntry;

struct WeftProgram {
    WeftContext *context;
    ApiDrop drop;
    WeftProgram *next, *prev; // in context->programs
    uint32_t refs;            // the user, every value made by it, the recording
    uint32_t owner;           // its number in the recording; 0: none
    Arena arena;              // core, names, sources, diagnostics, entries
    Arena workspace;          // syntax trees and types, then loops in their passes
    Arena notes;              // of one pass over the core
    Cx cx;
    CoreProgram *core;
    ApiEntry *entries;
    uint32_t entry_count;
    FissionLog decisions; // what was split for the devices; empty if there is one
    ApiEngine *engine;    // NULL: it is interpreted
};

struct WeftValue {
    WeftContext *context;
    ApiDrop drop;
    WeftValue *next, *prev; // in context->values
    WeftProgram *program;   // that `type` lies in; NULL: type is &leaf_type
    const DataType *type;
    DataType leaf_type;
    const char *type_text; // of a program's value
    char leaf_text[2 * DATA_MOST_RANK + 8];
    uint64_t scalar; // the bytes of a scalar, for weft_value_data
    uint32_t leaf_count;
    RtValue leaves[];
};

// The one failure that is not in a program's diagnostics: a malformed value, a run that
// stopped, a file not found.
typedef struct ApiFault {
    bool is_set;
    const char *code, *message, *file;
    uint32_t line, column, end_line, end_column;
    const char *text[2]; // rendered, without and with colour
} ApiFault;

struct WeftContext {
    Mem mem;
    pthread_mutex_t lock; // recursive
    bool is_busy;         // a call, or a destruction, is going on
    uint32_t holders;     // the user, until weft_context_free, and each DLPack tensor
    ApiDrop drop;
    ApiDrop *dropped; // to be destroyed when it is no longer busy
    WeftOptions options;
    double began, told; // seconds: when the call began, and last told of its progress
    RtHeap heap;
    WeftProgram *programs; // newest first
    WeftValue *values;     // newest first
    WeftTests *tests;      // newest first
    WeftSession *sessions; // newest first
    WeftProgram *failed;   // the last one that did not compile, for its diagnostics
    const Cx *diagnosed;   // whose diagnostics are shown; NULL: none
    ApiFault fault;
    const char *message; // "" or in report, or static
    Arena report;        // texts that live until the next call that runs something
    Arena scratch;       // texts that live until the next call
    atomic_bool cancel;
    atomic_bool stop;  // what the host runs itself among places (ahead_task.h)
    char devices[256]; // those of the options; "": none are named
    ApiPlace *places;  // places.h; NULL before the first program that may need one
    uint32_t place_count;
    ApiPlace *alone; // that a call may be for, with nothing cut; NULL: none
    ApiAhead *ahead; // NULL: there is one place, or none was needed yet
    // What is recorded (record.c).
    RtEvents *events;     // NULL: nothing
    const char *activity; // what the call that goes on does; NULL: nothing of note
    RtSpan lap;           // the phase of the compiler that goes on
    uint64_t statements;  // before it
    uint32_t owners;      // programs that have a number
    size_t most_before;   // bytes ever held until recording began: `mem` has those since
    // References that a call in progress has lent: put back when memory runs out.
    struct ApiLoan {
        RtArray *array;
        uint32_t refs;
    } * loans;
    uint32_t loan_count;
};

// ---- context.c ----------------------------------------------------------------------

typedef WeftStatus (*ApiBody)(WeftContext *context, void *call);
typedef enum ApiScope {
    API_KEEPS, // leaves diagnostics as they are
    API_STARTS // forgets those of the call before
} ApiScope;

WeftStatus api_guard(WeftContext *context, ApiScope scope, ApiBody body, void *call);
// Destroys something of the context under its lock.
void api_drop(WeftContext *context, ApiDrop *drop);
// Sets the message and returns the status.
WeftStatus api_fail(WeftContext *context, WeftStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
WeftProgram *api_program_new(WeftContext *context);
// Takes the program out of the context's list and frees it.
void api_program_destroy(WeftProgram *program);
WeftValue *api_value_new(WeftContext *context, WeftProgram *program, uint32_t leaves);
void api_value_destroy(WeftValue *value);

// ---- progress.c ---------------------------------------------------------------------

// Whether it is time to tell the user how far the call is; if so, api_progress does,
// and fills in the seconds.
bool api_is_progress_due(const WeftContext *context);
void api_progress(WeftContext *context, const WeftProgress *progress);
// The same for a program that runs and is at that place.
void api_progress_at(const WeftProgram *program, CoreLoc loc, double fraction);
// Logs a note or a warning.
void api_warn(WeftContext *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void api_note(WeftContext *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Since the call began.
double api_seconds(const WeftContext *context);

// ---- record.c -----------------------------------------------------------------------

// What a call does, beside running an entry, which it is then called by.
extern const char api_compiles[], api_reads[], api_prints[];

// All of these do nothing when nothing is recorded.
void api_record_end(WeftContext *context);
// An entry of the program is being called.
void api_record_entry(WeftProgram *program, const char *entry);
// The phase of the compiler that went on is over, and left core behind, if there is
// some already; the next one begins. Without a name: only the latter.
void api_lap(WeftContext *context, const char *phase, const CoreProgram *core);
// The call of a kernel is over. span is from before it.
void api_record_kernel(WeftContext *context, RtSpan span, const InterpOffer *offer,
                       bool has_results);
// Adds the builds that have ended; to be called before events are read.
void api_record_builds(WeftContext *context);
// The first of the rows of that many workers of a device; "cpu": the host's.
uint32_t api_worker_rows(WeftContext *context, const char *device, unsigned count);
// The place, in the user's own text, that an event belongs to, and the program; without
// a source: none is known.
Place api_event_place(const WeftContext *context, const RtEvent *event,
                      const WeftProgram **program_out);

// ---- diagnose.c ---------------------------------------------------------------------

// Records a failure at a place in a value's text; at line 0 there is no place.
WeftStatus api_fault_value(WeftContext *context, const char *file, uint32_t line,
                           uint32_t column, Str message, Str note);
// Records where a program stopped.
WeftStatus api_fault_run(WeftContext *context, const WeftProgram *program,
                         const InterpError *error);
// The place to name for a spot in the program: the innermost one in the user's own
// files; NULL: none is known.
const CorePlace *api_place(const CoreProgram *core, CoreLoc loc);
// The headline of the diagnostics, for weft_message.
const char *api_headline(WeftContext *context, const Cx *cx);

// ---- program.c ----------------------------------------------------------------------

typedef enum ApiStage {
    API_STAGE_AST,
    API_STAGE_TYPED,
    API_STAGE_CORE,
    API_STAGE_TASK,   // what may run beside what
    API_STAGE_LOOP,   // the kernels
    API_STAGE_LIFTED, // the nests in them that become tiles
    API_STAGE_C,
    API_STAGE_OPENCL,
    API_STAGE_CUDA,
    API_STAGE_RUN
} ApiStage;

// Or an OptPass; of tasks a TaskForm; of the later stages a LoopPass.
enum { API_AFTER_ALL = -1, API_AFTER_LOWER = -2 };

typedef struct ApiCompile {
    Str name; // as messages show it
    Str text;
    const char *path; // of the file; imports are relative to it; NULL: no files
    ApiStage stage;   // before RUN: print the program there to `dump`, and stop
    int after;        // the pass after which the stage stops, core or later
    StrBuf *dump;
    bool is_whole; // no engine makes kernels of parts of the entries
    WeftProgram **out;
    // NULL, or what parses and checks in its own way (a session); then an entry has one
    // result, be it a tuple or not.
    const TProgram *(*front)(WeftProgram *program, const Source *source, void *data);
    void *front_data;
} ApiCompile;

// Where imports come from: the user's callback, and then files.
typedef struct ApiImports {
    WeftContext *context;
    bool has_files;
} ApiImports;

// Compiles; on errors the program becomes context->failed. To be run by api_guard.
WeftStatus api_compile(WeftContext *context, const ApiCompile *call);
// The same with name and text from the file `path`.
WeftStatus api_compile_file(WeftContext *context, const ApiCompile *call);
// A CheckImporter's `read`; data is an ApiImports.
bool api_import(void *data, Cx *cx, Str path, Str *name_out, Str *text_out);
// The path without .weft or .fut.
Str api_strip_ending(Str path);
// Compiles texts, one after the other, as though they were the file `path`.
WeftStatus api_program_from_parts(WeftContext *context, const char *path,
                                  const Str *parts, size_t count,
                                  WeftProgram **program_out);
// Reads a file into the arena; false: *why_out says why not.
bool api_read_file(Arena *arena, const char *path, Str *text_out, const char **why_out);
const char *api_describe_errno(Arena *arena, int code);

// ---- draft.c ------------------------------------------------------------------------

// A file being written under another name beside its place.
typedef struct ApiDraft {
    const char *path;
    const char *target; // the path with links followed
    char *name;         // where it is written first; NULL: to the target directly
    int file;
    int code; // the errno of what failed, or 0
} ApiDraft;

void api_draft_open(ApiDraft *draft, const char *path, Arena *arena);
bool api_draft_write(ApiDraft *draft, const char *bytes, size_t len);
// Closes the file and gives it its name; or removes it, if something failed.
void api_draft_close(ApiDraft *draft);
// How it went: sets the message of a failure.
WeftStatus api_draft_status(WeftContext *context, const ApiDraft *draft);

// ---- shape.c ------------------------------------------------------------------------

// Describes the entries of program->core. typed may be NULL (a .core file). is_split:
// a result that is a tuple counts as its components.
void api_describe(WeftProgram *program, const TProgram *typed, bool is_split);

// ---- call.c -------------------------------------------------------------------------

typedef struct ApiCall {
    WeftProgram *program;
    size_t entry;
    WeftValue *const *args;
    size_t arg_count;
    WeftValue **results;
    size_t result_count;
} ApiCall;

// Whether these are arguments of the entry; says so if not.
WeftStatus api_check_args(WeftContext *context, const ApiEntry *entry,
                          WeftValue *const *args, size_t arg_count);
// Calls an entry; a body for api_guard.
WeftStatus api_call(WeftContext *context, void *call);

// ---- engine.c ------------------------------------------------------------

void api_engine_free(ApiEngine *engine);
// Adds the build to the context's events, once it has ended and if it began after them.
void api_engine_record(ApiEngine *engine);

// ---- session.c ----------------------------------------------------------------------

void api_session_destroy(WeftSession *session);

// ---- value.c ------------------------------------------------------------------------

typedef struct ApiRead {
    WeftProgram *program;
    const ApiPort *ports;
    size_t count;
    size_t first;     // the number of the first port, from 0
    const char *name; // of the input
    const char *what; // "parameter" or "result"
    const char *entry;
    Str bytes;
    WeftValue **out;
} ApiRead;

// Reads one value per port; a body for api_guard.
WeftStatus api_read_values(WeftContext *context, void *call);

typedef struct ApiFromFile {
    const char *path;
    WeftProgram *program; // NULL: any type will do
    size_t entry, parameter;
    WeftValue **out;
} ApiFromFile;
// Reads the value of a file as its ending says; a body for api_guard.
WeftStatus api_value_from_file(WeftContext *context, void *call);
// "for the parameter `xs: []i32` of `main`"
Str api_describe_port(Arena *arena, const ApiRead *call, size_t i);
// A value with the type of a port, its leaves still to be filled in.
WeftValue *api_value_for(WeftContext *context, WeftProgram *program,
                         const ApiPort *port);
void api_value_describe(WeftValue *value, ScalarType elem, uint32_t rank);

// ---- tests.c, random.c --------------------------------------------------------------

void api_tests_destroy(WeftTests *tests);
// What `random input { [10]f32 3i64 }` stands for, in the scratch arena: values in the
// binary format, the same each time; what is no type must be a value.
WeftStatus api_random_bytes(WeftContext *context, const char *types, Str *bytes_out);

// ---- for weft dump ------------------------------------------------------------------

// Prints a program at a stage ("ast", "typed", "core", "loop", "c"); core after the
// pass `after` (NULL: all of them; "lower": none).
WeftStatus api_dump(WeftContext *context, const char *path, const char *stage,
                    const char *after, const char **text_out);

#endif
