// SPDX-License-Identifier: Apache-2.0
//
// What went wrong, as records and as text: the diagnostics of a compilation, or the one
// fault of a run or of a value. A run-time error is shown at the user's own line; when
// it struck inside the library, a note says where.
#include <string.h>

#include "api/api.h"

// ---- faults -------------------------------------------------------------------------

static const char *terminated(WeftContext *context, Str s) {
    return str_terminated(&context->report, s);
}

static void paint(StrBuf *out, bool colour, const char *code) {
    if (colour) strbuf_printf(out, "\033[%sm", code);
}

static void put_headline(StrBuf *out, Str place, Str message, bool colour) {
    strbuf_str(out, place);
    if (place.len != 0) strbuf_cstr(out, ": ");
    paint(out, colour, "31;1");
    strbuf_cstr(out, "error: ");
    paint(out, colour, "0;1");
    strbuf_str(out, message);
    paint(out, colour, "0");
    strbuf_char(out, '\n');
}

static const char *finish(StrBuf *out) {
    strbuf_char(out, '\0');
    return strbuf_done(out).ptr;
}

WeftStatus api_fault_value(WeftContext *context, const char *file, uint32_t line,
                           uint32_t column, Str message, Str note) {
    StrBuf place = strbuf(&context->report);
    strbuf_cstr(&place, file);
    if (line != 0) strbuf_printf(&place, ":%u:%u", line, column);
    ApiFault fault = {
        .is_set = true,
        .code = "value",
        .message = terminated(context, message),
        .file = terminated(context, str_of(file)),
        .line = line,
        .column = column,
        .end_line = line,
        .end_column = column + 1,
    };
    for (int colour = 0; colour < 2; colour++) {
        StrBuf text = strbuf(&context->report);
        put_headline(&text, strbuf_done(&place), message, colour != 0);
        if (note.len != 0) {
            paint(&text, colour != 0, "36");
            strbuf_cstr(&text, "note: ");
            paint(&text, colour != 0, "0");
            strbuf_str(&text, note);
            strbuf_char(&text, '\n');
        }
        fault.text[colour] = finish(&text);
    }
    context->fault = fault;
    return api_fail(context, WEFT_STATUS_VALUE, "%.*s: %.*s",
                    STR_ARG(strbuf_done(&place)), STR_ARG(message));
}

static const CorePlace *place_at(const CoreProgram *core, CoreLoc loc) {
    return loc != 0 && loc < core->places.len ? &core->places.data[loc] : NULL;
}

static bool is_in_library(const Sources *sources, Span span) {
    const Source *source = sources_find(sources, span);
    return source != NULL && source->is_lib;
}

const CorePlace *api_place(const CoreProgram *core, CoreLoc loc) {
    const CorePlace *innermost = place_at(core, loc), *place = innermost;
    while (place != NULL && is_in_library(&core->cx->sources, place->span))
        place = place_at(core, place->caller);
    return place != NULL ? place : innermost;
}

static void put_call(StrBuf *out, const Cx *cx, const CorePlace *place,
                     const char *verb) {
    Str shown = sources_show(&cx->sources, out->arena, place->span);
    strbuf_printf(out, "%s %.*s", verb, STR_ARG(shown));
    Str function = sym_str(&cx->syms, place->function);
    if (function.len != 0) strbuf_printf(out, " in %.*s", STR_ARG(function));
    strbuf_char(out, '\n');
}

// The places from the failing one outwards: its callers, then, where functions were
// kept out of line, the places that called those.
typedef struct Chain {
    const CorePlace **data;
    uint32_t len, cap;
} Chain;

static void add_callers(Arena *arena, Chain *chain, const CoreProgram *core,
                        CoreLoc loc) {
    for (const CorePlace *at = place_at(core, loc); at != NULL;
         at = place_at(core, at->caller))
        vec_push(arena, chain, at);
}

enum { FIRST_CALLS = 8, LAST_CALLS = 4 }; // of a long chain, those that are shown

static void put_chain(StrBuf *out, const Cx *cx, const Chain *chain, uint32_t from) {
    uint32_t count = chain->len - from;
    for (uint32_t i = 0; i < count; i++) {
        if (count > FIRST_CALLS + LAST_CALLS + 1) {
            if (i == FIRST_CALLS)
                strbuf_printf(out, "... %u calls between\n",
                              count - FIRST_CALLS - LAST_CALLS);
            if (i >= FIRST_CALLS && i < count - LAST_CALLS) continue;
        }
        put_call(out, cx, chain->data[from + i], "called from");
    }
}

WeftStatus api_fault_run(WeftContext *context, const WeftProgram *program,
                         const InterpError *error) {
    const CoreProgram *core = program->core;
    const Cx *cx = core->cx;
    Str message = error->message;
    ApiFault fault = {
        .is_set = true, .code = "run-time", .message = terminated(context, message)};
    Chain chain = {0};
    add_callers(&context->report, &chain, core, error->loc);
    for (uint32_t i = 0; i < error->call_count; i++)
        add_callers(&context->report, &chain, core, error->calls[i]);
    // The innermost place in the user's own files, if there is one.
    uint32_t user = 0;
    while (user < chain.len && is_in_library(&cx->sources, chain.data[user]->span))
        user++;
    if (user == chain.len) user = 0;
    const CorePlace *shown = chain.len != 0 ? chain.data[user] : NULL;
    Str where = STR("");
    if (shown != NULL) {
        where = sources_show(&cx->sources, &context->report, shown->span);
        Place start = sources_place(&cx->sources, shown->span.start);
        Place end = sources_place(&cx->sources, shown->span.end);
        if (start.source != NULL) {
            fault.file = terminated(context, start.source->name);
            fault.line = start.line;
            fault.column = start.column;
            fault.end_line = end.line;
            fault.end_column = end.column;
        }
    }
    for (int colour = 0; colour < 2; colour++) {
        StrBuf text = strbuf(&context->report);
        put_headline(&text, where, message, colour != 0);
        if (shown != NULL) {
            diag_quote(&cx->sources, shown->span, STR(""), colour != 0, &text);
            if (user != 0) put_call(&text, cx, chain.data[0], "raised at");
            put_chain(&text, cx, &chain, user + 1);
        }
        fault.text[colour] = finish(&text);
    }
    context->fault = fault;
    return api_fail(context, (WeftStatus)error->status, "%.*s%s%.*s", STR_ARG(where),
                    where.len != 0 ? ": " : "", STR_ARG(message));
}

// ---- diagnostics --------------------------------------------------------------------

const char *api_headline(WeftContext *context, const Cx *cx) {
    StrBuf text = strbuf(&context->report);
    for (uint32_t i = 0; i < cx->diags.len; i++) {
        const Diag *diag = cx->diags.data[i];
        if (diag->severity != SEVERITY_ERROR) continue;
        Str place = sources_show(&cx->sources, &context->report, diag->span);
        strbuf_printf(&text, "%.*s%s%.*s", STR_ARG(place), place.len != 0 ? ": " : "",
                      STR_ARG(diag->message));
        break;
    }
    if (cx->diags.error_count > 1)
        strbuf_printf(&text, " (and %u more)", cx->diags.error_count - 1);
    return finish(&text);
}

size_t weft_diagnostic_count(const WeftContext *context) {
    if (context == NULL) return 0;
    WeftContext *locked = (WeftContext *)context;
    pthread_mutex_lock(&locked->lock);
    size_t count = context->diagnosed != NULL ? context->diagnosed->diags.len : 0;
    count += context->fault.is_set;
    pthread_mutex_unlock(&locked->lock);
    return count;
}

static void describe(WeftContext *context, const Diag *diag, WeftDiagnostic *out) {
    const Sources *sources = &context->diagnosed->sources;
    *out = (WeftDiagnostic){
        .severity = diag->severity == SEVERITY_ERROR ? WEFT_SEVERITY_ERROR
                                                     : WEFT_SEVERITY_WARNING,
        .code = diag->kind->code,
        .message = terminated(context, diag->message),
    };
    Place start = sources_place(sources, diag->span.start);
    Place end = sources_place(sources, diag->span.end);
    if (start.source != NULL) {
        out->file = terminated(context, start.source->name);
        out->line = start.line;
        out->column = start.column;
        out->end_line = end.line;
        out->end_column = end.column;
    }
    const char **hints = arena_array(&context->report, const char *, diag->hints.len);
    for (uint32_t i = 0; i < diag->hints.len; i++)
        hints[i] = terminated(context, diag->hints.data[i]);
    out->hints = hints;
    out->hint_count = diag->hints.len;
}

typedef struct DiagnosticCall {
    size_t index;
    WeftDiagnostic *out;
} DiagnosticCall;

static WeftStatus get_diagnostic(WeftContext *context, void *data) {
    DiagnosticCall *call = data;
    uint32_t count = context->diagnosed != NULL ? context->diagnosed->diags.len : 0;
    WeftDiagnostic found = {0};
    if (call->index < count) {
        describe(context, context->diagnosed->diags.data[call->index], &found);
    } else if (call->index == count && context->fault.is_set) {
        const ApiFault *fault = &context->fault;
        found = (WeftDiagnostic){WEFT_SEVERITY_ERROR,
                                 fault->code,
                                 fault->message,
                                 fault->file,
                                 fault->line,
                                 fault->column,
                                 fault->end_line,
                                 fault->end_column,
                                 0,
                                 NULL};
    } else {
        return api_fail(context, WEFT_STATUS_USAGE, "there is no such diagnostic");
    }
    *call->out = found;
    return WEFT_STATUS_OK;
}

WeftStatus weft_diagnostic(WeftContext *context, size_t index,
                           WeftDiagnostic *diagnostic_out) {
    if (context == NULL || diagnostic_out == NULL) return WEFT_STATUS_USAGE;
    DiagnosticCall call = {index, diagnostic_out};
    const char *message = context->message;
    WeftStatus status = api_guard(context, API_KEEPS, get_diagnostic, &call);
    if (status == WEFT_STATUS_OK) context->message = message;
    return status;
}

typedef struct RenderCall {
    bool colour;
    const char *message; // what weft_message said before
    const char *text;
} RenderCall;

static WeftStatus render(WeftContext *context, void *data) {
    RenderCall *call = data;
    StrBuf text = strbuf(&context->scratch);
    const Cx *cx = context->diagnosed;
    for (uint32_t i = 0; cx != NULL && i < cx->diags.len; i++)
        diag_render(&cx->sources, cx->diags.data[i], call->colour, &text);
    if (cx != NULL && cx->diags.error_count > cx->diags.len)
        strbuf_printf(&text, "... and %u more\n",
                      cx->diags.error_count - cx->diags.len);
    if (context->fault.is_set) strbuf_cstr(&text, context->fault.text[call->colour]);
    else if (text.len == 0 && call->message[0] != '\0')
        put_headline(&text, STR(""), str_of(call->message), call->colour);
    call->text = finish(&text);
    return WEFT_STATUS_OK;
}

const char *weft_render(WeftContext *context, int colour) {
    if (context == NULL) return "error: there is no context\n";
    RenderCall call = {.colour = colour != 0, .message = context->message};
    WeftStatus status = api_guard(context, API_KEEPS, render, &call);
    if (status == WEFT_STATUS_USAGE) return "error: a callback calls back\n";
    if (status != WEFT_STATUS_OK) return "error: out of memory\n";
    context->message = call.message; // asking is no call of its own
    return call.text;
}
