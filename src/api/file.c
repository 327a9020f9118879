// SPDX-License-Identifier: Apache-2.0
//
// Values from and to files. Whatever ends the writing early, out of memory included,
// closes and removes the file.
#include <errno.h>
#include <string.h>

#include "api/api.h"
#include "data/file.h"

int weft_path_is_file(const char *path) {
    return path != NULL && file_kind(path, NULL) != FILE_UNKNOWN;
}

static WeftStatus fail_ending(WeftContext *context, const char *path) {
    return api_fail(context, WEFT_STATUS_USAGE,
                    "what `%s` is cannot be told from its ending; known are .npy .npz "
                    ".png .csv .txt .bin .in .out .val",
                    path);
}

// ---- reading ------------------------------------------------------------------------

static WeftStatus fail_type(WeftContext *context, const ApiFromFile *call,
                            const WeftValue *found, const ApiRead *port) {
    StrBuf text = strbuf(&context->scratch);
    strbuf_printf(&text, "expected %s, found a file of %s", port->ports[0].type,
                  weft_value_type(found));
    return api_fault_value(context, call->path, 0, 0, strbuf_done(&text),
                           api_describe_port(&context->scratch, port, 0));
}

// A file that says its own type.
static WeftStatus read_typed(WeftContext *context, const ApiFromFile *call,
                             FileKind kind, Str bytes, const ApiRead *port) {
    size_t path_len;
    file_kind(call->path, &path_len);
    FileIn in = {.bytes = bytes,
                 .heap = &context->heap,
                 .arena = &context->scratch,
                 .member = str_of(call->path + path_len)};
    if (in.member.len > 0) in.member.ptr++, in.member.len--; // the colon
    WeftValue *value = api_value_new(context, NULL, 1);
    RtValue leaf;
    if (file_read(&in, kind, &leaf) != STATUS_OK)
        return api_fault_value(context, call->path, in.line, in.column, in.error,
                               STR(""));
    value->leaves[0] = leaf;
    api_value_describe(value, leaf.elem, leaf.rank);
    if (port != NULL) {
        const DataType *wanted = port->ports[0].data;
        if (wanted->kind != DATA_LEAF || wanted->elem != leaf.elem ||
            wanted->rank != leaf.rank)
            return fail_type(context, call, value, port);
    }
    *call->out = value;
    return WEFT_STATUS_OK;
}

WeftStatus api_value_from_file(WeftContext *context, void *data) {
    const ApiFromFile *call = data;
    context->activity = api_reads;
    size_t path_len;
    FileKind kind = file_kind(call->path, &path_len);
    if (kind == FILE_UNKNOWN) return fail_ending(context, call->path);
    Str path = {call->path, path_len}, bytes;
    const char *why;
    if (!api_read_file(&context->scratch, str_terminated(&context->scratch, path),
                       &bytes, &why))
        return api_fail(context, WEFT_STATUS_IO, "cannot read `%.*s`: %s",
                        STR_ARG(path), why);
    if (call->program == NULL) return read_typed(context, call, kind, bytes, NULL);
    const ApiEntry *e = &call->program->entries[call->entry];
    ApiRead port = {.program = call->program,
                    .ports = &e->params[call->parameter],
                    .count = 1,
                    .first = call->parameter,
                    .name = call->path,
                    .what = "parameter",
                    .entry = e->name,
                    .bytes = bytes,
                    .out = call->out};
    if (kind == FILE_TEXT || kind == FILE_BINARY)
        return api_read_values(context, &port);
    return read_typed(context, call, kind, bytes, &port);
}

WeftStatus weft_value_from_file(WeftContext *context, const char *path,
                                WeftValue **value_out) {
    if (context == NULL || path == NULL || value_out == NULL) return WEFT_STATUS_USAGE;
    ApiFromFile call = {.path = path, .out = value_out};
    return api_guard(context, API_STARTS, api_value_from_file, &call);
}

static WeftStatus no_parameter(WeftContext *context, void *data) {
    (void)data;
    return api_fail(context, WEFT_STATUS_USAGE, "there is no such entry or parameter");
}

WeftStatus weft_argument_from_file(WeftProgram *program, size_t entry, size_t parameter,
                                   const char *path, WeftValue **value_out) {
    if (program == NULL || path == NULL || value_out == NULL) return WEFT_STATUS_USAGE;
    if (parameter >= weft_entry_parameter_count(program, entry))
        return api_guard(program->context, API_STARTS, no_parameter, NULL);
    ApiFromFile call = {path, program, entry, parameter, value_out};
    return api_guard(program->context, API_STARTS, api_value_from_file, &call);
}

// ---- writing ------------------------------------------------------------------------

typedef struct ToCall {
    const WeftValue *value;
    const char *path;
    ApiDraft draft;
} ToCall;

static bool write_file(void *data, const char *bytes, size_t len) {
    ToCall *call = data;
    if (call->value->context->cancel) call->draft.code = ECANCELED;
    return api_draft_write(&call->draft, bytes, len);
}

static void write_value(WeftContext *context, ToCall *call, FileKind kind) {
    Mem *mem = &context->mem;
    jmp_buf *outer = mem->recover, recover;
    mem->recover = &recover;
    if (setjmp(recover) != 0) {
        call->draft.code = ENOMEM;
        api_draft_close(&call->draft);
        mem->recover = outer;
        mem_fail(mem);
    }
    DataSink *sink = arena_new(&context->scratch, DataSink);
    sink->write = write_file;
    sink->data = call;
    file_write(sink, kind, call->value->type, call->value->leaves, &context->scratch);
    mem->recover = outer;
    if (sink->has_failed && call->draft.code == 0) call->draft.code = EIO;
    api_draft_close(&call->draft);
}

static WeftStatus to_file(WeftContext *context, void *data) {
    ToCall *call = data;
    const WeftValue *value = call->value;
    context->activity = api_prints;
    size_t path_len;
    FileKind kind = file_kind(call->path, &path_len);
    if (kind == FILE_UNKNOWN) return fail_ending(context, call->path);
    Str why;
    if (!file_can_hold(kind, value->type, value->leaves, &context->scratch, &why))
        return api_fail(context, WEFT_STATUS_USAGE,
                        "a value of type %s cannot be written to `%s`: %.*s",
                        weft_value_type(value), call->path, STR_ARG(why));
    api_draft_open(&call->draft, call->path, &context->scratch);
    if (call->draft.code == 0) write_value(context, call, kind);
    else api_draft_close(&call->draft);
    return api_draft_status(context, &call->draft);
}

WeftStatus weft_value_to_file(const WeftValue *value, const char *path) {
    if (value == NULL || path == NULL) return WEFT_STATUS_USAGE;
    ToCall call = {.value = value, .path = path};
    return api_guard(value->context, API_STARTS, to_file, &call);
}
