// SPDX-License-Identifier: Apache-2.0
//
// weft_format: a text in the layout that weft fmt gives it.
#include "api/api.h"
#include "syntax/syntax.h"

typedef struct FormatCall {
    Str name, text, formatted;
} FormatCall;

static WeftStatus format(WeftContext *context, void *data) {
    FormatCall *call = data;
    WeftProgram *program = api_program_new(context);
    Cx *cx = &program->cx;
    cx_init(cx, &program->arena);
    const Source *source = sources_add(&cx->sources, call->name, call->text, false);
    if (source == NULL)
        return api_fail(context, WEFT_STATUS_PROGRAM,
                        "%.*s: a program has at most 4 GiB", STR_ARG(call->name));
    StrBuf out = strbuf(&context->report);
    if (!syntax_format(cx, source, &out)) {
        context->failed = program;
        context->diagnosed = cx;
        context->message = api_headline(context, cx);
        return WEFT_STATUS_PROGRAM;
    }
    strbuf_char(&out, '\0');
    call->formatted = strbuf_done(&out);
    call->formatted.len--;
    api_program_destroy(program);
    return WEFT_STATUS_OK;
}

WeftStatus weft_format(WeftContext *context, const char *name, const char *text,
                       size_t length, const char **text_out, size_t *length_out) {
    if (context == NULL || text_out == NULL || length_out == NULL ||
        (text == NULL && length > 0))
        return WEFT_STATUS_USAGE;
    FormatCall call = {.name = str_of(name == NULL ? "program" : name),
                       .text = {text == NULL ? "" : text, length}};
    WeftStatus status = api_guard(context, API_STARTS, format, &call);
    if (status != WEFT_STATUS_OK) return status;
    *text_out = call.formatted.ptr;
    *length_out = call.formatted.len;
    return WEFT_STATUS_OK;
}
