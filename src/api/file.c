// SPDX-License-Identifier: Apache-2.0
//
// Values from and to files. A file is written under another name beside its place and
// renamed once all of it is there; whatever ends the writing early, out of memory
// included, closes and removes it.
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    const char *target; // the path with links followed
    char *draft;        // where it is written first; NULL: to the target directly
    int file;
    int code; // the errno of what failed, or 0
} ToCall;

static bool write_file(void *data, const char *bytes, size_t len) {
    ToCall *call = data;
    while (len > 0) {
        if (call->value->context->cancel) call->code = ECANCELED;
        if (call->code != 0) return false;
        ssize_t put = write(call->file, bytes, len);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            call->code = errno;
            return false;
        }
        bytes += put;
        len -= (size_t)put;
    }
    return true;
}

// Where links lead to in the end, be there a file or not; NULL if they go in circles.
static const char *follow_links(const char *path, Arena *arena) {
    enum { MOST_LINKS = 40 };
    for (int i = 0; i < MOST_LINKS; i++) {
        char *link = arena_alloc(arena, PATH_MAX);
        ssize_t len = readlink(path, link, PATH_MAX - 1);
        if (len < 0) return path;
        link[len] = '\0';
        const char *slash = strrchr(path, '/');
        size_t folder =
            link[0] == '/' || slash == NULL ? 0 : (size_t)(slash - path) + 1;
        char *joined = arena_alloc(arena, folder + (size_t)len + 1);
        memcpy(joined, path, folder);
        memcpy(joined + folder, link, (size_t)len + 1);
        path = joined;
    }
    return NULL;
}

enum { DRAFT_NAME = 64 };

// Opens a new file beside the target, with the mode of what it will replace.
static void open_draft(ToCall *call, const struct stat *old, Arena *arena) {
    enum { TRIES = 100 };
    const char *slash = strrchr(call->target, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - call->target) + 1;
    call->draft = arena_alloc(arena, folder + DRAFT_NAME);
    memcpy(call->draft, call->target, folder);
    for (int i = 0; i < TRIES; i++) {
        snprintf(call->draft + folder, DRAFT_NAME, ".weft-%ld-%d.part", (long)getpid(),
                 i);
        call->file = open(call->draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (call->file >= 0 || errno != EEXIST) break;
    }
    if (call->file < 0) call->code = errno;
    else if (old != NULL && fchmod(call->file, old->st_mode & 0777) != 0)
        call->code = errno;
}

static void open_target(ToCall *call, Arena *arena) {
    struct stat old;
    bool is_old = stat(call->path, &old) == 0;
    call->target = follow_links(call->path, arena);
    call->file = -1;
    if (is_old && !S_ISREG(old.st_mode)) {
        call->file = open(call->path, O_WRONLY | O_CLOEXEC);
        if (call->file < 0) call->code = errno;
    } else if (is_old && access(call->path, W_OK) != 0) {
        call->code = errno;
    } else if (call->target == NULL) {
        call->code = ELOOP;
    } else {
        open_draft(call, is_old ? &old : NULL, arena);
    }
}

// Closes the file and gives it its name, or removes it.
static void finish_target(ToCall *call) {
    if (call->file < 0) return;
    if (close(call->file) != 0 && call->code == 0) call->code = errno;
    call->file = -1;
    if (call->draft == NULL) return;
    if (call->code == 0 && rename(call->draft, call->target) != 0) call->code = errno;
    if (call->code != 0) unlink(call->draft);
}

static void write_value(WeftContext *context, ToCall *call, FileKind kind) {
    Mem *mem = &context->mem;
    jmp_buf *outer = mem->recover, recover;
    mem->recover = &recover;
    if (setjmp(recover) != 0) {
        call->code = ENOMEM;
        finish_target(call);
        mem->recover = outer;
        mem_fail(mem);
    }
    DataSink *sink = arena_new(&context->scratch, DataSink);
    sink->write = write_file;
    sink->data = call;
    file_write(sink, kind, call->value->type, call->value->leaves, &context->scratch);
    mem->recover = outer;
    if (sink->has_failed && call->code == 0) call->code = EIO;
    finish_target(call);
}

static WeftStatus to_file(WeftContext *context, void *data) {
    ToCall *call = data;
    const WeftValue *value = call->value;
    size_t path_len;
    FileKind kind = file_kind(call->path, &path_len);
    if (kind == FILE_UNKNOWN) return fail_ending(context, call->path);
    Str why;
    if (!file_can_hold(kind, value->type, value->leaves, &context->scratch, &why))
        return api_fail(context, WEFT_STATUS_USAGE,
                        "a value of type %s cannot be written to `%s`: %.*s",
                        weft_value_type(value), call->path, STR_ARG(why));
    open_target(call, &context->scratch);
    if (call->code == 0) write_value(context, call, kind);
    else finish_target(call);
    if (call->code == 0) return WEFT_STATUS_OK;
    if (call->code == ECANCELED) return WEFT_STATUS_CANCELLED;
    return api_fail(context, WEFT_STATUS_IO, "cannot write `%s`: %s", call->path,
                    api_describe_errno(&context->scratch, call->code));
}

WeftStatus weft_value_to_file(const WeftValue *value, const char *path) {
    if (value == NULL || path == NULL) return WEFT_STATUS_USAGE;
    ToCall call = {.value = value, .path = path, .file = -1};
    return api_guard(value->context, API_STARTS, to_file, &call);
}
