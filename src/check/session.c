// SPDX-License-Identifier: Apache-2.0
//
// Sessions: texts checked one after another. Each cell is a scope inside that of the
// cell before it, so that a later definition hides an earlier one and whoever used that
// one still does. Cells that passed are elaborated on demand, like the library: what
// the newest text does not mention costs no more than parsing it.
#include <string.h>

#include "check/checker.h"

static bool is_held(const CheckCell *cell, Entry *entry) {
    for (uint32_t i = 0; i < cell->held_count; i++)
        if (entry->space == SPACE_VALUE && entry->name == cell->held[i].name)
            entry->held = cell->held[i].number;
    return entry->held != 0;
}

static Scope *declare_cell(Checker *ck, Env base, Env parent, const CheckCell *cell,
                           bool is_new) {
    File *file = arena_new(ck->arena, File);
    file->path = cell->path;
    file->source = cell->ast->source;
    file->busy = is_new;
    if (is_new) vec_push(ck->arena, &ck->files, file);
    Scope *scope = scope_new(ck, parent);
    scope->file = file;
    scope->decls = &cell->ast->decls;
    scope->is_lazy = !is_new;
    scope->is_cell = true;
    for (uint32_t i = 0; i < cell->ast->decls.len; i++)
        declare(ck, scope, cell->ast->decls.data[i], false);
    for (uint32_t i = 0; i < scope->entries.len; i++) {
        Entry *entry = scope->entries.data[i];
        if (cell->is_closed) entry->env = base;
        if (is_held(cell, entry) && entry->value != NULL)
            entry->value->held = entry->held;
    }
    file->busy = false;
    return scope;
}

// The scopes of all cells.
static Scope **declare_cells(Checker *ck, const CheckCell *cells, uint32_t count,
                             bool has_new) {
    Scope **scopes = arena_array(ck->arena, Scope *, count + 1);
    scopes[0] = check_base_scope(ck);
    scopes[0]->is_lazy = true;
    Env base = env_now(scopes[0]);
    for (uint32_t i = 0; i < count; i++)
        scopes[i + 1] = declare_cell(ck, base, env_now(scopes[i]), &cells[i],
                                     has_new && i + 1 == count);
    return scopes;
}

// ---- checking -----------------------------------------------------------------------

static bool is_entry(Checker *ck, const Binding *binding) {
    return binding->type_params.len == 0 && binding->size_params.len == 0 &&
           !type_holds_function(ck, binding->type);
}

static void add_defined(Checker *ck, const Scope *scope) {
    for (uint32_t i = 0; i < scope->entries.len; i++) {
        const Entry *entry = scope->entries.data[i];
        TDefined defined = {.decl = entry->decl, .binding = entry->value};
        if (entry->value != NULL) defined.is_entry = is_entry(ck, entry->value);
        vec_push(ck->arena, &ck->program->defined, defined);
    }
}

static void mark_used(Scope *const *scopes, CheckCell *cells, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t e = 0; e < scopes[i + 1]->entries.len; e++)
            cells[i].is_used |= scopes[i + 1]->entries.data[e]->used;
}

TProgram *check_session(Cx *cx, CheckCell *cells, uint32_t count,
                        const CheckImporter *importer, Sym wanted) {
    Checker *ck = check_start(cx, importer);
    Scope **scopes = declare_cells(ck, cells, count, true);
    if (cx->diags.error_count > 0) return NULL;
    add_defined(ck, scopes[count]);
    for (uint32_t i = 0; i < ck->program->defined.len; i++) {
        const TDefined *defined = &ck->program->defined.data[i];
        if (!defined->is_entry || defined->binding->name != wanted) continue;
        TEntry entry = {wanted, defined->binding, defined->binding->span, STR("")};
        vec_push(ck->arena, &ck->program->entries, entry);
        check_gather(ck, defined->binding);
    }
    mark_used(scopes, cells, count - 1);
    return cx->diags.error_count > 0 ? NULL : ck->program;
}

// ---- names --------------------------------------------------------------------------

typedef struct Names {
    Checker *ck;
    Str quals, start; // "f64." and "sq"
    bool from_outside;
    StrBuf *out;
} Names;

static void put_names(const Names *names, const Scope *scope, uint32_t limit);

static void put_opened(const Names *names, const Open *open) {
    Names inner = *names;
    inner.from_outside = true;
    const Module *module = open->module;
    if (module == NULL) module = module_eval(names->ck, open->exp, open->env);
    if (module->kind == MODULE_STRUCT) put_names(&inner, module->scope, UINT32_MAX);
}

static void put_names(const Names *names, const Scope *scope, uint32_t limit) {
    for (uint32_t i = 0; i < scope->entries.len; i++) {
        const Entry *entry = scope->entries.data[i];
        Str name = sym_str(&names->ck->cx->syms, entry->name);
        bool is_seen = entry->seq < limit && !(names->from_outside && entry->is_hidden);
        bool is_word =
            name.len > 0 && (name.ptr[0] == '_' || (name.ptr[0] | 32) >= 'a');
        if (!is_seen || !is_word || name.len < names->start.len ||
            memcmp(name.ptr, names->start.ptr, names->start.len) != 0)
            continue;
        strbuf_str(names->out, names->quals);
        strbuf_str(names->out, name);
        strbuf_char(names->out, '\n');
    }
    for (uint32_t i = 0; i < scope->opens.len; i++) {
        const Open *open = &scope->opens.data[i];
        if (open->seq < limit && !(names->from_outside && open->is_hidden))
            put_opened(names, open);
    }
}

static Sym next_part(Checker *ck, Str *text, Str *part_out) {
    size_t len = 0;
    while (len < text->len && text->ptr[len] != '.') len++;
    *part_out = (Str){text->ptr, len};
    bool is_last = len == text->len;
    if (!is_last) *text = (Str){text->ptr + len + 1, text->len - len - 1};
    return is_last ? 0 : sym_intern(&ck->cx->syms, *part_out);
}

void check_names(Cx *cx, CheckCell *cells, uint32_t count,
                 const CheckImporter *importer, Str prefix, StrBuf *out) {
    Checker *ck = check_start(cx, importer);
    const Scope *scope = declare_cells(ck, cells, count, false)[count];
    Names names = {.ck = ck, .out = out, .start = prefix};
    const Module *module = NULL;
    Str part;
    for (Sym sym; (sym = next_part(ck, &names.start, &part)) != 0;) {
        Entry *entry =
            module != NULL
                ? module_find(ck, module, SPACE_MODULE, sym)
                : scope_find(ck, (Env){(Scope *)scope, UINT32_MAX}, SPACE_MODULE, sym);
        if (entry == NULL) return;
        entry_force(ck, entry);
        module = entry->module;
        if (module == NULL || module->kind != MODULE_STRUCT) return;
    }
    names.quals = (Str){prefix.ptr, prefix.len - names.start.len};
    names.from_outside = module != NULL;
    if (module != NULL) {
        put_names(&names, module->scope, UINT32_MAX);
        return;
    }
    for (Env env = {(Scope *)scope, UINT32_MAX}; env.scope != NULL;
         env = env.scope->parent)
        put_names(&names, env.scope, env.limit);
}
