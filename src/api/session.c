// SPDX-License-Identifier: Apache-2.0
//
// Sessions of the public API: each text is compiled as a program of its own, in which
// the cells before it are scopes around it and held values are parameters; see
// session.h. A session changes only where a call can no longer fail.
#include "api/session.h"

#include <string.h>

#include "syntax/syntax.h"

static const char *terminated(WeftContext *context, Str text) {
    return str_terminated(&context->report, text);
}

static const char *finish(StrBuf *text) {
    strbuf_char(text, '\0');
    return strbuf_done(text).ptr;
}

// ---- sessions -----------------------------------------------------------------------

static void destroy(void *what) {
    api_session_destroy(what);
}

static WeftStatus make_session(WeftContext *context, void *data) {
    WeftSession *session = mem_alloc(&context->mem, sizeof *session);
    *session = (WeftSession){.context = context, .next = context->sessions};
    session->drop = (ApiDrop){.destroy = destroy, .what = session};
    if (session->next != NULL) session->next->prev = session;
    context->sessions = session;
    *(WeftSession **)data = session;
    return WEFT_STATUS_OK;
}

WeftStatus weft_session_new(WeftContext *context, WeftSession **session_out) {
    if (context == NULL || session_out == NULL) return WEFT_STATUS_USAGE;
    return api_guard(context, API_KEEPS, make_session, session_out);
}

void api_session_destroy(WeftSession *session) {
    WeftContext *context = session->context;
    if (session->prev != NULL) session->prev->next = session->next;
    else context->sessions = session->next;
    if (session->next != NULL) session->next->prev = session->prev;
    cells_clear(session);
    cell_free(session->draft);
    mem_free(&context->mem, session->cells, session->cap * sizeof(Cell *));
    mem_free(&context->mem, session, sizeof *session);
}

void weft_session_free(WeftSession *session) {
    if (session != NULL) api_drop(session->context, &session->drop);
}

// ---- running ------------------------------------------------------------------------

static WeftStatus compile(WeftContext *context, SessionCall *call,
                          WeftProgram **program_out) {
    const Cell *draft = call->session->draft;
    ApiCompile compile = {.name = draft->name,
                          .text = draft->text,
                          .stage = API_STAGE_RUN,
                          .after = API_AFTER_ALL,
                          .out = program_out,
                          .front = session_front,
                          .front_data = call};
    return api_compile(context, &compile);
}

static void release(WeftProgram *program) {
    if (--program->refs == 0) api_program_destroy(program);
}

static CellDef *def_of_entry(const Cell *cell, const WeftProgram *program) {
    Str name = str_of(program->entries[0].name);
    for (uint32_t i = 0; i < cell->defs.len; i++)
        if (cell->defs.data[i].kind == DECL_VAL &&
            str_eq(cell->defs.data[i].name, name))
            return &cell->defs.data[i];
    return NULL;
}

// Runs the entry there is, if any, and keeps its value in the draft.
static WeftStatus run(WeftContext *context, const SessionCall *call,
                      WeftProgram *program) {
    if (program->entry_count == 0) return WEFT_STATUS_OK;
    CellDef *def = def_of_entry(call->session->draft, program);
    ApiCall run = {.program = program,
                   .args = call->args,
                   .arg_count = call->arg_count,
                   .results = &def->value,
                   .result_count = 1};
    return api_call(context, &run);
}

static bool find_next(SessionCall *call) {
    const Cell *draft = call->session->draft;
    for (call->next = 0; call->next < draft->defs.len; call->next++) {
        const CellDef *def = &draft->defs.data[call->next];
        if (def->is_value && def->value == NULL) return true;
    }
    return false;
}

static const char *show_defs(WeftContext *context, const Cell *cell) {
    StrBuf text = strbuf(&context->report);
    for (uint32_t i = 0; i < cell->defs.len; i++) {
        if (cell->defs.data[i].is_hidden) continue;
        strbuf_str(&text, cell->defs.data[i].shown);
        strbuf_char(&text, '\n');
    }
    return finish(&text);
}

// The type alone of the definition of `it`.
static const char *show_type(WeftContext *context, const Cell *cell) {
    Str shown = cell->defs.data[0].shown;
    size_t skip = strlen("it: ");
    return terminated(context, (Str){shown.ptr + skip, shown.len - skip});
}

static void close_draft(Cell *draft) {
    if (draft->defs.len != 1) return;
    const CellDef *def = &draft->defs.data[0];
    if (def->value != NULL && def->is_plain && cell_data_is_plain(def->value->type))
        cell_close(draft, def->name, def->value);
}

static WeftStatus evaluate(WeftContext *context, void *data) {
    SessionCall *call = data;
    WeftSession *session = call->session;
    cells_reserve(session);
    Cell *draft = cell_draft(session, str_of(call->name), call->text);
    do {
        WeftProgram *program;
        WeftStatus status = compile(context, call, &program);
        if (status == WEFT_STATUS_OK) status = run(context, call, program);
        if (status != WEFT_STATUS_OK) return status;
        release(program);
    } while (find_next(call));
    close_draft(draft);
    bool is_new = draft->defs.len > 0 || draft->imports.len > 0 ||
                  (!draft->is_exp && draft->text.len > 0);
    call->shown = draft->is_exp ? show_type(context, draft) : show_defs(context, draft);
    if (draft->is_exp) {
        if (draft->defs.data[0].value == NULL) return WEFT_STATUS_OK; // a function
        call->value = cell_share(draft->defs.data[0].value);
    }
    if (is_new) cells_commit(session);
    return WEFT_STATUS_OK;
}

static bool start(SessionCall *call, WeftSession *session, Task task, const char *name,
                  const char *text, size_t length) {
    *call = (SessionCall){.session = session,
                          .task = task,
                          .name = name == NULL ? "input" : name,
                          .text = {text == NULL ? "" : text, length}};
    return session != NULL && (text != NULL || length == 0);
}

WeftStatus weft_session_eval(WeftSession *session, const char *name, const char *text,
                             size_t length, WeftValue **value_out,
                             const char **types_out) {
    SessionCall call;
    if (!start(&call, session, TASK_EVAL, name, text, length) || value_out == NULL ||
        types_out == NULL)
        return WEFT_STATUS_USAGE;
    WeftStatus status = api_guard(session->context, API_STARTS, evaluate, &call);
    if (status != WEFT_STATUS_OK) return status;
    *value_out = call.value;
    *types_out = call.shown;
    return WEFT_STATUS_OK;
}

// ---- files and values ---------------------------------------------------------------

static WeftStatus load(WeftContext *context, void *data) {
    SessionCall *call = data;
    WeftSession *session = call->session;
    Str path = str_of(call->path), text;
    const char *why;
    cells_reserve(session);
    if (!api_read_file(&context->scratch, call->path, &text, &why))
        return api_fail(context, WEFT_STATUS_IO, "cannot read `%s`: %s", call->path,
                        why);
    Cell *draft = cell_draft(session, path, text);
    draft->is_file = true;
    WeftProgram *program;
    WeftStatus status = compile(context, call, &program);
    if (status != WEFT_STATUS_OK) return status;
    release(program);
    call->shown = show_defs(context, draft);
    cells_clear(session);
    cells_commit(session);
    return WEFT_STATUS_OK;
}

WeftStatus weft_session_load(WeftSession *session, const char *path,
                             const char **types_out) {
    SessionCall call;
    if (!start(&call, session, TASK_LOAD, path, NULL, 0) || path == NULL ||
        types_out == NULL)
        return WEFT_STATUS_USAGE;
    call.path = path;
    WeftStatus status = api_guard(session->context, API_STARTS, load, &call);
    if (status == WEFT_STATUS_OK) *types_out = call.shown;
    return status;
}

// Whether the cell's closed text defines the name and nothing else.
static bool defines_name(WeftContext *context, const Cell *cell, Str name) {
    WeftProgram *program = api_program_new(context);
    Cx *cx = &program->cx;
    cx_init(cx, &program->arena);
    const Source *source = sources_add(&cx->sources, cell->name, cell->closed, false);
    const Ast *ast = source == NULL ? NULL : syntax_parse(cx, source);
    bool is_good =
        ast != NULL && cx->diags.error_count == 0 && ast->decls.len == 1 &&
        ast->decls.data[0]->as.val.params.len == 0 &&
        ast->decls.data[0]->as.val.type_params.len == 0 &&
        str_eq(sym_str(&cx->syms, ast->decls.data[0]->as.val.name.sym), name);
    release(program);
    return is_good;
}

static WeftStatus define(WeftContext *context, void *data) {
    const SessionCall *call = data;
    WeftSession *session = call->session;
    Str name = str_of(call->name);
    if (call->given->context != context)
        return api_fail(context, WEFT_STATUS_USAGE, "the value is of another context");
    if (!cell_data_is_plain(call->given->type))
        return api_fail(context, WEFT_STATUS_USAGE,
                        "a value of the type %s cannot be given a name",
                        weft_value_type(call->given));
    cells_reserve(session);
    Cell *draft = cell_draft(session, name, STR(""));
    cell_close(draft, name, cell_share(call->given));
    if (!defines_name(context, draft, name))
        return api_fail(context, WEFT_STATUS_USAGE, "`%s` cannot be a name",
                        call->name);
    cells_commit(session);
    return WEFT_STATUS_OK;
}

WeftStatus weft_session_define(WeftSession *session, const char *name,
                               const WeftValue *value) {
    SessionCall call;
    if (!start(&call, session, TASK_EVAL, name, NULL, 0) || name == NULL ||
        value == NULL)
        return WEFT_STATUS_USAGE;
    call.given = value;
    return api_guard(session->context, API_STARTS, define, &call);
}

// ---- questions ----------------------------------------------------------------------

static WeftStatus inspect(WeftContext *context, void *data) {
    SessionCall *call = data;
    Cell *draft = cell_draft(call->session, str_of(call->name), call->text);
    WeftProgram *program;
    WeftStatus status = compile(context, call, &program);
    if (status != WEFT_STATUS_OK) return status;
    StrBuf text = strbuf(&context->report);
    if (call->task == TASK_CORE && program->core == NULL) {
        return api_fail(context, WEFT_STATUS_USAGE,
                        "a value of the type %s has no core of its own",
                        show_type(context, draft));
    } else if (call->task == TASK_CORE) {
        core_print(program->core, &text);
        call->shown = finish(&text);
    } else {
        call->shown = show_type(context, draft);
    }
    release(program);
    return WEFT_STATUS_OK;
}

static WeftStatus ask(WeftSession *session, Task task, const char *name,
                      const char *text, size_t length, const char **out) {
    SessionCall call;
    if (!start(&call, session, task, name, text, length) || out == NULL)
        return WEFT_STATUS_USAGE;
    WeftStatus status = api_guard(session->context, API_STARTS, inspect, &call);
    if (status == WEFT_STATUS_OK) *out = call.shown;
    return status;
}

WeftStatus weft_session_type(WeftSession *session, const char *name, const char *text,
                             size_t length, const char **type_out) {
    return ask(session, TASK_TYPE, name, text, length, type_out);
}

WeftStatus weft_session_core(WeftSession *session, const char *name, const char *text,
                             size_t length, const char **core_out) {
    return ask(session, TASK_CORE, name, text, length, core_out);
}

static WeftStatus complete(WeftContext *context, void *data) {
    SessionCall *call = data;
    cell_draft(call->session, STR("names"), STR(""));
    call->names = strbuf(&context->report);
    WeftProgram *program;
    WeftStatus status = compile(context, call, &program);
    if (status != WEFT_STATUS_OK) return status;
    release(program);
    call->shown = finish(&call->names);
    return WEFT_STATUS_OK;
}

WeftStatus weft_session_complete(WeftSession *session, const char *prefix,
                                 const char **names_out) {
    SessionCall call;
    if (prefix == NULL || names_out == NULL ||
        !start(&call, session, TASK_NAMES, NULL, prefix, strlen(prefix)))
        return WEFT_STATUS_USAGE;
    WeftStatus status = api_guard(session->context, API_STARTS, complete, &call);
    if (status == WEFT_STATUS_OK) *names_out = call.shown;
    return status;
}

static WeftStatus list(WeftContext *context, void *data) {
    SessionCall *call = data;
    StrBuf text = strbuf(&context->report);
    for (uint32_t c = 0; c < call->session->len; c++)
        strbuf_cstr(&text, show_defs(context, call->session->cells[c]));
    call->shown = finish(&text);
    return WEFT_STATUS_OK;
}

static WeftStatus print_source(WeftContext *context, void *data) {
    SessionCall *call = data;
    call->shown = terminated(context, cells_source(call->session, &context->report));
    return WEFT_STATUS_OK;
}

static WeftStatus look(WeftSession *session, ApiBody body, const char **out) {
    SessionCall call;
    if (!start(&call, session, TASK_NAMES, NULL, NULL, 0) || out == NULL)
        return WEFT_STATUS_USAGE;
    WeftStatus status = api_guard(session->context, API_STARTS, body, &call);
    if (status == WEFT_STATUS_OK) *out = call.shown;
    return status;
}

WeftStatus weft_session_names(WeftSession *session, const char **types_out) {
    return look(session, list, types_out);
}

WeftStatus weft_session_source(WeftSession *session, const char **source_out) {
    return look(session, print_source, source_out);
}

typedef struct MoreCall {
    Str text;
    bool wants_more;
} MoreCall;

static WeftStatus look_for_end(WeftContext *context, void *data) {
    MoreCall *call = data;
    WeftProgram *program = api_program_new(context);
    Cx *cx = &program->cx;
    cx_init(cx, &program->arena);
    const Source *source = sources_add(&cx->sources, STR(""), call->text, false);
    Prompt prompt = {0};
    if (source != NULL) prompt = syntax_parse_prompt(cx, source);
    bool has_lines =
        call->text.len > 0 && memchr(call->text.ptr, '\n', call->text.len - 1) != NULL;
    call->wants_more = prompt.is_short || (prompt.may_go_on && has_lines);
    release(program);
    return WEFT_STATUS_OK;
}

int weft_text_wants_more(WeftContext *context, const char *text, size_t length) {
    if (context == NULL || (text == NULL && length > 0)) return 0;
    MoreCall call = {.text = {text == NULL ? "" : text, length}};
    if (api_guard(context, API_KEEPS, look_for_end, &call) != WEFT_STATUS_OK) return 0;
    return call.wants_more;
}
