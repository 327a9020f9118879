// SPDX-License-Identifier: Apache-2.0
//
// From a text or file to a program that can run: parse, check, lower, the passes.
// Syntax trees and types live in an arena of their own, freed as soon as core is made;
// names, sources and diagnostics stay, for messages.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/engine.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "syntax/syntax.h"

#ifdef NDEBUG
enum { VERIFY = false };
#else
enum { VERIFY = true };
#endif

// ---- files --------------------------------------------------------------------------

const char *api_describe_errno(Arena *arena, int code) {
    char text[128];
    if (strerror_r(code, text, sizeof text) != 0) strcpy(text, "unknown error");
    return str_terminated(arena, str_of(text));
}

// Reads until the end of the file; its size is only a first guess.
static int read_all(Arena *arena, int file, size_t guess, Str *text_out) {
    size_t cap = guess + 1, len = 0;
    char *data = arena_alloc(arena, cap);
    for (;;) {
        if (len == cap) {
            char *grown = arena_alloc(arena, cap * 2);
            memcpy(grown, data, len);
            data = grown;
            cap *= 2;
        }
        ssize_t got = read(file, data + len, cap - len);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) break;
        len += (size_t)got;
    }
    *text_out = (Str){data, len};
    return 0;
}

bool api_read_file(Arena *arena, const char *path, Str *text_out,
                   const char **why_out) {
    // Memory first: nothing may unwind past an open file.
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        *why_out = api_describe_errno(arena, errno);
        return false;
    }
    struct stat info;
    int code = fstat(file, &info) == 0 ? 0 : errno;
    if (code == 0 && S_ISDIR(info.st_mode)) code = EISDIR;
    jmp_buf *outer = arena->mem->recover, recover;
    arena->mem->recover = &recover;
    if (setjmp(recover) != 0) {
        close(file);
        arena->mem->recover = outer;
        mem_fail(arena->mem);
    }
    size_t guess = code == 0 && info.st_size > 0 ? (size_t)info.st_size : 4096;
    if (code == 0) code = read_all(arena, file, guess, text_out);
    arena->mem->recover = outer;
    close(file);
    if (code != 0) *why_out = api_describe_errno(arena, code);
    return code == 0;
}

static bool ends_with(Str s, Str end) {
    return s.len >= end.len && memcmp(s.ptr + s.len - end.len, end.ptr, end.len) == 0;
}

Str api_strip_ending(Str path) {
    if (ends_with(path, STR(".weft"))) path.len -= strlen(".weft");
    else if (ends_with(path, STR(".fut"))) path.len -= strlen(".fut");
    return path;
}

// From the user's callback; false: it has none.
static bool import_given(WeftContext *context, Cx *cx, Str path, Str *name_out,
                         Str *text_out) {
    const WeftOptions *options = &context->options;
    const char *text = NULL;
    size_t length = 0;
    StrBuf name = strbuf(cx->arena);
    strbuf_str(&name, path);
    strbuf_cstr(&name, ".weft");
    *name_out = strbuf_done(&name);
    if (!options->import(options->data, str_terminated(cx->arena, path), &text,
                         &length))
        return false;
    // Nothing may unwind past a text that is to be released.
    jmp_buf *outer = cx->mem->recover, recover;
    cx->mem->recover = &recover;
    volatile bool is_copied = false;
    if (setjmp(recover) == 0) {
        *text_out = str_copy(cx->arena, (Str){text == NULL ? "" : text, length});
        is_copied = true;
    }
    cx->mem->recover = outer;
    if (options->import_release != NULL)
        options->import_release(options->data, text, length);
    if (!is_copied) mem_fail(cx->mem);
    return true;
}

bool api_import(void *data, Cx *cx, Str path, Str *name_out, Str *text_out) {
    static const char *const endings[] = {".weft", ".fut"};
    const ApiImports *from = data;
    if (from->context->options.import != NULL &&
        import_given(from->context, cx, path, name_out, text_out))
        return true;
    if (!from->has_files) return false;
    for (int i = 0; i < 2; i++) {
        StrBuf full = strbuf(cx->arena);
        strbuf_str(&full, path);
        strbuf_cstr(&full, endings[i]);
        Str name = strbuf_done(&full);
        strbuf_char(&full, '\0');
        const char *why;
        if (!api_read_file(cx->arena, strbuf_done(&full).ptr, text_out, &why)) continue;
        *name_out = (Str){strbuf_done(&full).ptr, name.len};
        return true;
    }
    return false;
}

// ---- compiling ----------------------------------------------------------------------

static const DiagKind ill_typed = {"core-ill-typed", "this is no sound program: %.*s"};
static const DiagKind internal_error = {
    "internal", "this is a mistake in Weft, not in your program: %.*s"};

static WeftStatus give_up(WeftContext *context, WeftProgram *program) {
    context->failed = program;
    context->diagnosed = &program->cx;
    context->message = api_headline(context, &program->cx);
    return WEFT_STATUS_PROGRAM;
}

static void rebind_entries(WeftProgram *program) {
    for (uint32_t e = 0; e < program->entry_count; e++) {
        ApiEntry *entry = &program->entries[e];
        Sym name = entry->fun->name;
        for (uint32_t i = 0; i < program->core->funs.len; i++) {
            const CoreFun *fun = program->core->funs.data[i];
            if (fun->is_entry && fun->name == name) entry->fun = fun;
        }
    }
}

static void tell_compiling(WeftProgram *program) {
    WeftContext *context = program->context;
    WeftProgress progress = {.activity = "compiling",
                             .file = program->cx.sources.data[0]->name.ptr,
                             .fraction = -1};
    if (api_is_progress_due(context)) api_progress(context, &progress);
}

static void tell_pass(void *data, const OptPassInfo *pass, CoreProgram *core) {
    const WeftProgram *program = data;
    api_lap(program->context, pass->name, core);
    tell_compiling(data);
}

static bool tell_mistake(WeftProgram *program, Str what) {
    diag_error(&program->cx.diags, (Span){0, 0}, &internal_error, STR_ARG(what));
    return false;
}

// Runs the passes; false: a fault of ours, which has been reported.
static bool optimise(WeftProgram *program, const ApiCompile *call) {
    StrBuf report = strbuf(&program->arena);
    if (program->core == NULL)
        return tell_mistake(program, STR("no program and no reason why"));
    bool is_core = call->stage == API_STAGE_CORE;
    if (is_core && call->after == API_AFTER_LOWER) return true;
    OptOptions options = {.verify = VERIFY,
                          .stop_after = is_core ? call->after : API_AFTER_ALL,
                          .after = tell_pass,
                          .data = program};
    program->core->notes = &program->notes;
    bool is_sound = opt_run(program->core, &options, &report);
    program->core->notes = NULL;
    arena_free(&program->notes);
    if (is_sound) {
        rebind_entries(program);
        return true;
    }
    return tell_mistake(program, strbuf_done(&report));
}

// False: a fault of ours, which has been reported.
static bool print_tasks(WeftProgram *program, const ApiCompile *call) {
    StrBuf report = strbuf(&program->arena);
    StrBuf *faults = VERIFY ? &report : NULL;
    return api_task_print(program, call->after, call->dump, faults) ||
           tell_mistake(program, strbuf_done(&report));
}

static const TProgram *check(WeftProgram *program, const ApiCompile *call,
                             const Ast *ast) {
    ApiImports from = {.context = program->context, .has_files = call->path != NULL};
    CheckImporter importer = {.read = api_import, .data = &from};
    Str path = call->path != NULL ? str_of(call->path) : call->name;
    return check_program(&program->cx, ast, api_strip_ending(path), &importer);
}

// Parses and checks. NULL at an error, when cancelled, or when that was all.
static const TProgram *make_typed(WeftProgram *program, const ApiCompile *call,
                                  const Source *source) {
    Cx *cx = &program->cx;
    if (call->front != NULL) return call->front(program, source, call->front_data);
    const Ast *ast = syntax_parse(cx, source);
    api_lap(program->context, "parse", NULL);
    if (cx->diags.error_count > 0 || atomic_load(&program->context->cancel))
        return NULL;
    tell_compiling(program);
    if (call->stage != API_STAGE_AST) return check(program, call, ast);
    syntax_print(cx, ast, call->dump);
    return NULL;
}

// Parses, checks and lowers. Stops early, with program->core NULL, at an error, when
// cancelled, or when the stage to be dumped has been reached.
static void make_core(WeftContext *context, WeftProgram *program,
                      const ApiCompile *call, const Source *source) {
    Cx *cx = &program->cx;
    const TProgram *typed = make_typed(program, call, source);
    api_lap(context, "check", NULL);
    if (typed == NULL || cx->diags.error_count > 0 || atomic_load(&context->cancel))
        return;
    tell_compiling(program);
    if (call->stage == API_STAGE_TYPED) {
        check_print(cx, typed, call->dump);
        return;
    }
    program->core = lower_program(cx, &program->arena, typed);
    api_lap(context, "lower", program->core);
    if (program->core != NULL) api_describe(program, typed, call->front == NULL);
    tell_compiling(program);
}

// Reads a .core text, which whoever wrote it may have got wrong. Stops with
// program->core NULL at an error.
static void read_core(WeftContext *context, WeftProgram *program,
                      const Source *source) {
    Cx *cx = &program->cx;
    program->core = core_read(cx, &program->arena, source);
    api_lap(context, "read core", program->core);
    if (program->core == NULL) return;
    StrBuf faults = strbuf(&program->arena);
    if (core_verify(program->core, &faults)) {
        api_describe(program, NULL, true);
        return;
    }
    program->core = NULL;
    Str text = strbuf_done(&faults);
    text.len--; // the end of the last line
    diag_error(&cx->diags, (Span){0, 0}, &ill_typed, STR_ARG(text));
}

WeftStatus api_compile(WeftContext *context, const ApiCompile *call) {
    context->activity = api_compiles;
    context->statements = 0;
    api_lap(context, NULL, NULL);
    WeftProgram *program = api_program_new(context);
    Cx *cx = &program->cx;
    cx_init(cx, &program->arena);
    cx->diags.advice = context->options.advice != 0;
    const Source *source = sources_add(&cx->sources, call->name, call->text, false);
    if (source == NULL)
        return api_fail(context, WEFT_STATUS_PROGRAM,
                        "%.*s: a program has at most 4 GiB", STR_ARG(call->name));
    if (call->front == NULL && ends_with(call->name, STR(".core"))) {
        read_core(context, program, source);
    } else {
        cx->arena = &program->workspace;
        make_core(context, program, call, source);
        cx->arena = &program->arena;
    }
    if (cx->diags.error_count > 0) return give_up(context, program);
    if (atomic_load(&context->cancel)) return WEFT_STATUS_CANCELLED;
    arena_free(&program->workspace); // before the passes, which take its pages
    bool is_over = call->front != NULL && program->core == NULL;
    if (call->stage >= API_STAGE_CORE && !is_over && !optimise(program, call))
        return give_up(context, program);
    if (call->stage == API_STAGE_CORE) core_print(program->core, call->dump);
    if (call->stage == API_STAGE_TASK && !print_tasks(program, call))
        return give_up(context, program);
    if (call->stage >= API_STAGE_LOOP && call->stage != API_STAGE_RUN)
        api_engine_print(program, call->stage, call->after, call->dump);
    if (call->stage == API_STAGE_RUN && call->front == NULL && !call->is_whole) {
        WeftStatus status = api_engine_new(program);
        if (status != WEFT_STATUS_OK) return status;
    }
    context->diagnosed = cx;
    api_note(context, "compiled %.*s in %.3f s", STR_ARG(call->name),
             api_seconds(context));
    *call->out = program;
    return WEFT_STATUS_OK;
}

WeftStatus api_compile_file(WeftContext *context, const ApiCompile *call) {
    ApiCompile full = *call;
    const char *why;
    full.name = str_of(call->path);
    if (!api_read_file(&context->scratch, call->path, &full.text, &why))
        return api_fail(context, WEFT_STATUS_IO, "cannot read `%s`: %s", call->path,
                        why);
    return api_compile(context, &full);
}

static WeftStatus compile_text(WeftContext *context, void *call) {
    return api_compile(context, call);
}

static WeftStatus compile_file(WeftContext *context, void *call) {
    return api_compile_file(context, call);
}

WeftStatus weft_program_from_source(WeftContext *context, const char *name,
                                    const char *text, size_t length,
                                    WeftProgram **program_out) {
    if (context == NULL || program_out == NULL || (text == NULL && length > 0))
        return WEFT_STATUS_USAGE;
    ApiCompile call = {.name = str_of(name == NULL ? "program" : name),
                       .text = {text == NULL ? "" : text, length},
                       .stage = API_STAGE_RUN,
                       .after = API_AFTER_ALL,
                       .out = program_out};
    return api_guard(context, API_STARTS, compile_text, &call);
}

WeftStatus weft_program_from_file(WeftContext *context, const char *path,
                                  WeftProgram **program_out) {
    if (context == NULL || path == NULL || program_out == NULL)
        return WEFT_STATUS_USAGE;
    ApiCompile call = {.path = path,
                       .stage = API_STAGE_RUN,
                       .after = API_AFTER_ALL,
                       .out = program_out};
    return api_guard(context, API_STARTS, compile_file, &call);
}

typedef struct PartsCall {
    ApiCompile compile;
    const Str *parts;
    size_t count;
} PartsCall;

static WeftStatus compile_parts(WeftContext *context, void *data) {
    PartsCall *call = data;
    StrBuf text = strbuf(&context->scratch);
    for (size_t i = 0; i < call->count; i++) strbuf_str(&text, call->parts[i]);
    call->compile.text = strbuf_done(&text);
    return api_compile(context, &call->compile);
}

WeftStatus api_program_from_parts(WeftContext *context, const char *path,
                                  const Str *parts, size_t count,
                                  WeftProgram **program_out) {
    PartsCall call = {.compile = {.name = str_of(path),
                                  .path = path,
                                  .stage = API_STAGE_RUN,
                                  .after = API_AFTER_ALL,
                                  .out = program_out},
                      .parts = parts,
                      .count = count};
    return api_guard(context, API_STARTS, compile_parts, &call);
}

// ---- entries ------------------------------------------------------------------------

size_t weft_entry_count(const WeftProgram *program) {
    return program == NULL ? 0 : program->entry_count;
}

static const ApiEntry *entry_at(const WeftProgram *program, size_t entry) {
    if (program == NULL || entry >= program->entry_count) return NULL;
    return &program->entries[entry];
}

size_t weft_entry_find(const WeftProgram *program, const char *name) {
    for (size_t i = 0; name != NULL && i < weft_entry_count(program); i++)
        if (strcmp(program->entries[i].name, name) == 0) return i;
    return WEFT_NONE;
}

const char *weft_entry_name(const WeftProgram *program, size_t entry) {
    const ApiEntry *e = entry_at(program, entry);
    return e == NULL ? NULL : e->name;
}

const char *weft_entry_doc(const WeftProgram *program, size_t entry) {
    const ApiEntry *e = entry_at(program, entry);
    return e == NULL ? NULL : e->doc;
}

size_t weft_entry_parameter_count(const WeftProgram *program, size_t entry) {
    const ApiEntry *e = entry_at(program, entry);
    return e == NULL ? 0 : e->param_count;
}

const char *weft_entry_parameter_name(const WeftProgram *program, size_t entry,
                                      size_t parameter) {
    const ApiEntry *e = entry_at(program, entry);
    return e == NULL || parameter >= e->param_count ? NULL : e->params[parameter].name;
}

const char *weft_entry_parameter_type(const WeftProgram *program, size_t entry,
                                      size_t parameter) {
    const ApiEntry *e = entry_at(program, entry);
    return e == NULL || parameter >= e->param_count ? NULL : e->params[parameter].type;
}

size_t weft_entry_result_count(const WeftProgram *program, size_t entry) {
    const ApiEntry *e = entry_at(program, entry);
    return e == NULL ? 0 : e->result_count;
}

const char *weft_entry_result_type(const WeftProgram *program, size_t entry,
                                   size_t result) {
    const ApiEntry *e = entry_at(program, entry);
    return e == NULL || result >= e->result_count ? NULL : e->results[result].type;
}
