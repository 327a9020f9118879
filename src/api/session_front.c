// SPDX-License-Identifier: Apache-2.0
//
// From a session's draft to a typed program: the trees of all cells, the check of the
// draft behind them, and what is noted of it; see session.h.
#include "api/session.h"

#include "syntax/syntax.h"

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
    *out =
        (CheckCell){.ast = ast,
                    .path = cell->is_file ? api_strip_ending(cell->path) : cell->path,
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
    for (uint32_t c = 0; c < session->len; c++) count += session->cells[c]->defs.len;
    return count;
}

const TProgram *session_front(WeftProgram *program, const Source *source, void *data) {
    SessionCall *call = data;
    WeftSession *session = call->session;
    Cell *draft = session->draft;
    Cx *cx = &program->cx;
    cx->diags.advice = false;
    const Ast *ast = parse_draft(call, cx, source);
    if (ast == NULL || cx->diags.error_count > 0) return NULL;
    uint32_t count = call->task == TASK_LOAD ? 0 : session->len, number = 0;
    CheckCell *cells = arena_array(cx->arena, CheckCell, count + 1);
    call->held =
        arena_array(&session->context->scratch, WeftValue *, count_defs(session) + 1);
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
