// SPDX-License-Identifier: Apache-2.0
//
// weft_build: a program's entries as C. Each entry becomes one kernel, lowered as a
// whole with the parallel loops of its root code; the functions around them and the
// header are written by build_text.c. Nothing of the compiler is needed to run the
// result: the checks' texts and places go with it.
#include <errno.h>
#include <string.h>

#include "api/build.h"
#include "dev/native.h"
#include "loop/passes.h"

extern const char emit_text_weft_rt[]; // include/weft_rt.h
extern const char emit_text_runtime[]; // libweftrt as an object file
extern const unsigned long emit_size_runtime;

typedef struct BuildCall {
    const char *path, *output;
    const char *const *wanted;
    size_t wanted_count;
    WeftProgram *program;
    // What the output is called:
    Str stem;         // without .so
    const char *name; // without folders
    bool is_library;
} BuildCall;

// ---- names --------------------------------------------------------------------------

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static WeftStatus split_output(WeftContext *context, BuildCall *call) {
    Str stem = str_of(call->output);
    call->is_library = stem.len > 3 && strcmp(stem.ptr + stem.len - 3, ".so") == 0;
    if (call->is_library) stem.len -= 3;
    size_t start = stem.len;
    while (start > 0 && stem.ptr[start - 1] != '/') start--;
    Str name = {stem.ptr + start, stem.len - start};
    bool is_name = name.len > 0 && is_letter(name.ptr[0]);
    for (size_t i = 0; i < name.len; i++)
        if (!is_letter(name.ptr[i]) && (name.ptr[i] < '0' || name.ptr[i] > '9'))
            is_name = false;
    call->stem = stem;
    call->name = str_terminated(&context->scratch, name);
    if (!is_name)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "names in C cannot begin with `%s`: the output is NAME or "
                        "NAME.so, and NAME letters, digits and _",
                        call->name);
    if (strcmp(call->name, "weft") == 0 || strncmp(call->name, "weft_", 5) == 0)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "names in C that begin with weft_ are the library's: call the "
                        "output something else");
    return WEFT_STATUS_OK;
}

// ---- kernels ------------------------------------------------------------------------

static WeftStatus add_entry(Built *built, const ApiEntry *entry) {
    WeftProgram *program = built->program;
    for (uint32_t i = 0; i < built->count; i++)
        if (built->entries[i].entry == entry) return WEFT_STATUS_OK;
    BuiltEntry *made = &built->entries[built->count++];
    const char *why = "";
    made->entry = entry;
    WeftStatus status = build_name_entry(built, made);
    if (status != WEFT_STATUS_OK) return status;
    made->loop =
        loop_lower(program->core, entry->fun, LOOP_PARALLEL, built->arena, &why);
    if (made->loop == NULL)
        made->loop =
            loop_lower(program->core, entry->fun, LOOP_SEQUENTIAL, built->arena, &why);
    if (made->loop == NULL)
        return api_fail(program->context, WEFT_STATUS_USAGE, "`%s` cannot be built: %s",
                        entry->name, why);
    loop_optimise(made->loop,
                  &(LoopOptions){LOOP_FOR_CORES, LOOP_PASSES_ALL, NULL, NULL});
    return WEFT_STATUS_OK;
}

static WeftStatus no_entry(const WeftProgram *program, const BuildCall *call,
                           const char *wanted) {
    StrBuf text = strbuf(&program->context->scratch);
    strbuf_printf(&text, "%s has no entry", call->path);
    if (wanted != NULL) strbuf_printf(&text, " `%s`", wanted);
    for (uint32_t i = 0; i < program->entry_count; i++)
        strbuf_printf(&text, i == 0 ? "; its entries are `%s`" : ", `%s`",
                      program->entries[i].name);
    return api_fail(program->context, WEFT_STATUS_USAGE, "%.*s",
                    STR_ARG(strbuf_done(&text)));
}

static WeftStatus add_entries(Built *built, const BuildCall *call) {
    WeftProgram *program = built->program;
    uint32_t most = program->entry_count + (uint32_t)call->wanted_count;
    built->entries = arena_array(built->arena, BuiltEntry, most);
    for (uint32_t i = 0; i < program->entry_count && call->wanted_count == 0; i++) {
        WeftStatus status = add_entry(built, &program->entries[i]);
        if (status != WEFT_STATUS_OK) return status;
    }
    for (size_t i = 0; i < call->wanted_count; i++) {
        size_t number = weft_entry_find(program, call->wanted[i]);
        if (number == WEFT_NONE) return no_entry(program, call, call->wanted[i]);
        WeftStatus status = add_entry(built, &program->entries[number]);
        if (status != WEFT_STATUS_OK) return status;
    }
    return built->count > 0 ? WEFT_STATUS_OK : no_entry(program, call, NULL);
}

// ---- files --------------------------------------------------------------------------

typedef struct Output {
    const char *path;
    Str text;
    ApiDraft draft;
} Output;

static WeftStatus compile_library(WeftContext *context, Str source,
                                  const char *library) {
    NativeBuild build = {.source = source, .arena = &context->scratch};
    NativeCompiler compiler;
    Str why;
    Str runtime = {emit_text_runtime, emit_size_runtime};
    build.compiler = &compiler;
    if (!native_find(&context->scratch, &compiler, &why))
        return api_fail(context, WEFT_STATUS_IO, "%.*s", STR_ARG(why));
    Status status = native_library(&build, runtime, library, &context->cancel);
    if (status == STATUS_CANCELLED) return WEFT_STATUS_CANCELLED;
    if (status == STATUS_OK) return WEFT_STATUS_OK;
    return api_fail(context, WEFT_STATUS_IO, "%.*s", STR_ARG(build.why));
}

// Fills the drafts; the second one by the compiler, if it is a library.
static WeftStatus fill(WeftContext *context, Output *outputs, bool is_library) {
    for (int i = 0; i < 2; i++) {
        Output *out = &outputs[i];
        api_draft_open(&out->draft, out->path, &context->scratch);
        if (out->draft.code == 0 && is_library && i == 1) {
            const char *path = out->draft.name != NULL ? out->draft.name : out->path;
            WeftStatus status = compile_library(context, out->text, path);
            if (status != WEFT_STATUS_OK) return status;
        } else if (out->draft.code == 0) {
            api_draft_write(&out->draft, out->text.ptr, out->text.len);
        }
        if (out->draft.code != 0) return api_draft_status(context, &out->draft);
    }
    return WEFT_STATUS_OK;
}

// Neither gets its name before both are complete.
static WeftStatus write_both(WeftContext *context, Output *outputs, bool is_library) {
    Mem *mem = &context->mem;
    jmp_buf *outer = mem->recover, recover;
    volatile WeftStatus status = WEFT_STATUS_MEMORY;
    mem->recover = &recover;
    outputs[0].draft.file = outputs[1].draft.file = -1;
    if (setjmp(recover) == 0) status = fill(context, outputs, is_library);
    mem->recover = outer;
    for (int i = 0; i < 2; i++) {
        ApiDraft *draft = &outputs[i].draft;
        if (status != WEFT_STATUS_OK && draft->code == 0) draft->code = ECANCELED;
        api_draft_close(draft);
        if (status == WEFT_STATUS_OK) status = api_draft_status(context, draft);
    }
    if (status == WEFT_STATUS_MEMORY) mem_fail(mem);
    return status;
}

static const char *path_of(WeftContext *context, const BuildCall *call,
                           const char *ending) {
    StrBuf path = strbuf(&context->scratch);
    strbuf_printf(&path, "%.*s%s", STR_ARG(call->stem), ending);
    return str_terminated(&context->scratch, strbuf_done(&path));
}

static WeftStatus write_files(WeftContext *context, const BuildCall *call,
                              Built *built) {
    StrBuf header = strbuf(built->arena), code = strbuf(built->arena);
    build_put_header(built, &header);
    if (call->is_library) {
        strbuf_cstr(&code, emit_text_weft_rt);
        build_put_declarations(built, &code);
    } else {
        strbuf_printf(&code, "#include \"%s.h\"\n", built->name);
    }
    build_put_code(built, &code);
    Output outputs[2] = {
        {.path = path_of(context, call, ".h"), .text = strbuf_done(&header)},
        {.path = path_of(context, call, call->is_library ? ".so" : ".c"),
         .text = strbuf_done(&code)}};
    return write_both(context, outputs, call->is_library);
}

static WeftStatus build(WeftContext *context, void *data) {
    BuildCall *call = data;
    ApiCompile compile = {.path = call->path,
                          .stage = API_STAGE_RUN,
                          .after = API_AFTER_ALL,
                          .is_whole = true,
                          .out = &call->program};
    WeftStatus status = split_output(context, call);
    if (status == WEFT_STATUS_OK) status = api_compile_file(context, &compile);
    if (status != WEFT_STATUS_OK) return status;
    Built built = {
        .program = call->program, .arena = &call->program->arena, .name = call->name};
    status = add_entries(&built, call);
    if (status != WEFT_STATUS_OK) return status;
    return write_files(context, call, &built);
}

WeftStatus weft_build(WeftContext *context, const char *path, const char *output,
                      const char *const *entries, size_t entry_count) {
    if (context == NULL || path == NULL || output == NULL ||
        (entries == NULL && entry_count > 0))
        return WEFT_STATUS_USAGE;
    BuildCall call = {
        .path = path, .output = output, .wanted = entries, .wanted_count = entry_count};
    WeftStatus status = api_guard(context, API_STARTS, build, &call);
    if (status == WEFT_STATUS_OK) weft_program_free(call.program);
    return status;
}
