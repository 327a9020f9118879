// SPDX-License-Identifier: Apache-2.0
//
// Sessions of the public API: each text is compiled as a program of its own, in which
// the cells before it are scopes around it and held values are parameters; see
// session.h. A session changes only where a call can no longer fail.
#include "api/session.h"

#include <string.h>

#include "syntax/syntax.h"

typedef enum Task {
    TASK_EVAL,
    TASK_LOAD, // a file; sees no cell
    TASK_TYPE, // of an expression
    TASK_CORE, // of an expression
    TASK_NAMES // that begin with the text
} Task;

typedef struct SessionCall {
    WeftSession *session;
    Task task;
    const char *name, *path;
    Str text;
    const WeftValue *given;
    uint32_t next;     // the definition to be computed
    WeftValue **held;  // by number, from 1
    WeftValue **args;  // of the program
    uint32_t arg_count;
    StrBuf names;
    WeftValue *value;
    const char *shown;
} SessionCall;

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

// ---- imports ------------------------------------------------------------------------

static bool find_import(const Cell *cell, Str path, Str *name_out, Str *text_out) {
    for (uint32_t i = 0; i < cell->imports.len; i++) {
        if (!str_eq(cell->imports.data[i].path, path)) continue;
        *name_out = cell->imports.data[i].name;
        *text_out = cell->imports.data[i].text;
        return true;
    }
    return false;
}

// What a cell read stays as it was then.
static bool import(void *data, Cx *cx, Str path, Str *name_out, Str *text_out) {
    const SessionCall *call = data;
    WeftSession *session = call->session;
    Cell *draft = session->draft;
    uint32_t count = call->task == TASK_LOAD ? 0 : session->len;
    for (uint32_t c = 0; c < count; c++)
        if (find_import(session->cells[c], path, name_out, text_out)) return true;
    if (find_import(draft, path, name_out, text_out)) return true;
    ApiImports from = {.context = session->context, .has_files = true};
    if (!api_import(&from, cx, path, name_out, text_out)) return false;
    struct CellImport import = {.path = str_copy(&draft->arena, path),
                                .name = str_copy(&draft->arena, *name_out),
                                .text = str_copy(&draft->arena, *text_out)};
    vec_push(&draft->arena, &draft->imports, import);
    return true;
}

// ---- texts to syntax trees ----------------------------------------------------------

static Ast *new_ast(Cx *cx, const Source *source) {
    Ast *ast = arena_new(cx->arena, Ast);
    ast->source = source;
    return ast;
}

// The expression as the definition of `it`.
static Ast *exp_ast(Cx *cx, const Source *source, Exp *exp) {
    Ast *ast = new_ast(cx, source);
    Decl *decl = arena_new(cx->arena, Decl);
    decl->kind = DECL_VAL;
    decl->span = exp->span;
    decl->as.val.name = (Name){sym_cstr(&cx->syms, "it"), exp->span};
    decl->as.val.body = exp;
    vec_push(cx->arena, &ast->decls, decl);
    return ast;
}

// NULL after a mistake, and for a text without words.
static Ast *parse_draft(const SessionCall *call, Cx *cx, const Source *source) {
    Cell *draft = call->session->draft;
    if (call->task == TASK_NAMES) return new_ast(cx, source);
    if (call->task == TASK_LOAD) return syntax_parse(cx, source);
    if (call->task != TASK_EVAL) {
        Exp *exp = syntax_parse_exp(cx, source);
        return exp == NULL ? NULL : exp_ast(cx, source, exp);
    }
    Prompt prompt = syntax_parse_prompt(cx, source);
    draft->is_exp = prompt.exp != NULL;
    if (prompt.exp != NULL) return exp_ast(cx, source, prompt.exp);
    if (prompt.decls.len == 0) return NULL;
    Ast *ast = new_ast(cx, source);
    ast->decls = prompt.decls;
    return ast;
}

static const Ast *parse_cell(const Cell *cell, Cx *cx) {
    bool is_closed = cell->closed.len > 0; // then no message may quote it
    Str text = is_closed ? cell->closed : cell->text;
    const Source *source = sources_add(&cx->sources, cell->name, text, is_closed);
    if (source == NULL) mem_fail(cx->mem);
    if (!cell->is_exp || is_closed) return syntax_parse(cx, source);
    return exp_ast(cx, source, syntax_parse_exp(cx, source));
}

static void take_cell(SessionCall *call, Cx *cx, const Cell *cell, const Ast *ast,
                      CheckCell *out, uint32_t *number) {
    CheckHeld *held = arena_array(cx->arena, CheckHeld, cell->defs.len);
    *out = (CheckCell){.ast = ast,
                       .path = cell->is_file ? api_strip_ending(cell->path)
                                             : cell->path,
                       .held = held,
                       .is_closed = cell->closed.len > 0};
    for (uint32_t i = 0; i < cell->defs.len; i++) {
        const CellDef *def = &cell->defs.data[i];
        if (def->value == NULL) continue;
        Sym name = sym_intern(&cx->syms, def->name);
        call->held[++*number] = def->value;
        held[out->held_count++] = (CheckHeld){name, *number};
    }
}

// ---- what was checked ---------------------------------------------------------------

static Sym name_of(const Decl *decl) {
    switch (decl->kind) {
    case DECL_VAL: return decl->as.val.name.sym;
    case DECL_TYPE: return decl->as.type.name.sym;
    case DECL_MODULE: return decl->as.module.name.sym;
    case DECL_MODULE_TYPE: return decl->as.module_type.name.sym;
    case DECL_OPEN:
    case DECL_IMPORT:
    case DECL_LOCAL: break;
    }
    return 0;
}

static void note_def(Cell *draft, const Cx *cx, const TDefined *defined) {
    static const char *const words[] = {[DECL_TYPE] = "type ",
                                        [DECL_MODULE] = "module ",
                                        [DECL_MODULE_TYPE] = "module type "};
    const Decl *decl = defined->decl;
    StrBuf shown = strbuf(&draft->arena);
    CellDef def = {.kind = decl->kind, .is_value = defined->is_entry};
    def.name = str_copy(&draft->arena, sym_str(&cx->syms, name_of(decl)));
    if (decl->kind != DECL_VAL) strbuf_cstr(&shown, words[decl->kind]);
    strbuf_str(&shown, def.name);
    if (decl->kind == DECL_VAL) {
        strbuf_cstr(&shown, ": ");
        type_print(cx, defined->binding->type, &shown);
    }
    def.shown = strbuf_done(&shown);
    def.is_plain = def.is_value && cell_type_is_plain(defined->binding->type);
    vec_push(&draft->arena, &draft->defs, def);
}

static void note_leaning(WeftSession *session, const CheckCell *cells) {
    Cell *draft = session->draft;
    draft->leans_on.len = 0;
    for (uint32_t i = 0; i < session->len; i++)
        if (cells[i].is_used)
            vec_push(&draft->arena, &draft->leans_on, session->cells[i]);
}

static void note_args(SessionCall *call, const TProgram *typed) {
    Arena *scratch = &call->session->context->scratch;
    call->arg_count = typed->held.len;
    call->args = arena_array(scratch, WeftValue *, typed->held.len);
    for (uint32_t i = 0; i < typed->held.len; i++)
        call->args[i] = call->held[typed->held.data[i]->held];
}

// The definition to be computed. Before it is known which can be: the first one without
// parameters.
static Sym wanted(const SessionCall *call, Cx *cx, const Ast *ast) {
    const Cell *draft = call->session->draft;
    if (call->task == TASK_LOAD) return 0;
    if (draft->defs.len > 0)
        return sym_intern(&cx->syms, draft->defs.data[call->next].name);
    for (uint32_t i = 0; i < ast->decls.len; i++) {
        const Decl *decl = ast->decls.data[i];
        while (decl->kind == DECL_LOCAL) decl = decl->as.local;
        if (decl->kind == DECL_VAL && decl->as.val.params.len == 0)
            return decl->as.val.name.sym;
    }
    return 0;
}

static uint32_t count_defs(const WeftSession *session) {
    uint32_t count = session->draft->defs.len;
    for (uint32_t c = 0; c < session->len; c++)
        count += session->cells[c]->defs.len;
    return count;
}

// Parses and checks the draft behind the cells; NULL where nothing is to be run.
static const TProgram *front(WeftProgram *program, const Source *source, void *data) {
    SessionCall *call = data;
    WeftSession *session = call->session;
    Cell *draft = session->draft;
    Cx *cx = &program->cx;
    cx->diags.advice = false;
    const Ast *ast = parse_draft(call, cx, source);
    if (ast == NULL || cx->diags.error_count > 0) return NULL;
    uint32_t count = call->task == TASK_LOAD ? 0 : session->len, number = 0;
    CheckCell *cells = arena_array(cx->arena, CheckCell, count + 1);
    call->held = arena_array(&session->context->scratch, WeftValue *,
                             count_defs(session) + 1);
    for (uint32_t i = 0; i < count; i++)
        take_cell(call, cx, session->cells[i], parse_cell(session->cells[i], cx),
                  &cells[i], &number);
    take_cell(call, cx, draft, ast, &cells[count], &number);
    CheckImporter importer = {.read = import, .data = call};
    if (call->task == TASK_NAMES) {
        check_names(cx, cells, count, &importer, call->text, &call->names);
        return NULL;
    }
    const TProgram *typed =
        check_session(cx, cells, count + 1, &importer, wanted(call, cx, ast));
    if (typed == NULL) return NULL;
    while (draft->defs.len < typed->defined.len)
        note_def(draft, cx, &typed->defined.data[draft->defs.len]);
    if (count > 0) note_leaning(session, cells);
    note_args(call, typed);
    return call->task == TASK_TYPE || typed->entries.len == 0 ? NULL : typed;
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
                          .front = front,
                          .front_data = call};
    return api_compile(context, &compile);
}

static void release(WeftProgram *program) {
    if (--program->refs == 0) api_program_destroy(program);
}

static CellDef *def_of_entry(const Cell *cell, const WeftProgram *program) {
    Str name = str_of(program->entries[0].name);
    for (uint32_t i = 0; i < cell->defs.len; i++)
        if (cell->defs.data[i].kind == DECL_VAL && str_eq(cell->defs.data[i].name, name))
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
    bool is_good = ast != NULL && cx->diags.error_count == 0 && ast->decls.len == 1 &&
                   ast->decls.data[0]->as.val.params.len == 0 &&
                   ast->decls.data[0]->as.val.type_params.len == 0 &&
                   str_eq(sym_str(&cx->syms, name_of(ast->decls.data[0])), name);
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
    call->shown =
        terminated(context, cells_source(call->session, &context->report));
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
