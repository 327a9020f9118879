// SPDX-License-Identifier: Apache-2.0
//
// The checker's entry: sets up the state, checks the main file, then gathers what its
// entry points reach, checking library bodies on the way.
#include "check/checker.h"

static Sym intern(Checker *ck, const char *text) {
    return sym_cstr(&ck->cx->syms, text);
}

static void set_up(Checker *ck, Cx *cx, const CheckImporter *importer) {
    *ck = (Checker){
        .cx = cx, .arena = cx->arena, .importer = importer, .reveal_from = UINT32_MAX};
    TypeVar *none = NULL;
    ck->error_type = type_of_var(ck, none);
    ck->error_type->is_ground = true;
    for (int t = 0; t < SCALAR_COUNT; t++) {
        ck->scalars[t] = arena_new(ck->arena, Type);
        ck->scalars[t]->kind = TYPE_SCALAR;
        ck->scalars[t]->as.scalar = (ScalarType)t;
        type_measure(ck, ck->scalars[t]);
    }
    ck->unit = type_record(ck, (FieldVec){0});
    ck->sym_length = intern(ck, "length");
    ck->sym_main = intern(ck, "main");
    ck->sym_map = intern(ck, "map");
    ck->sym_pipe = intern(ck, "|>");
    ck->sym_pipe_left = intern(ck, "<|");
    ck->op_add = intern(ck, "add");
    ck->op_sub = intern(ck, "sub");
    ck->op_mul = intern(ck, "mul");
    ck->op_neg = intern(ck, "neg");
    ck->root = scope_new(ck, (Env){0});
    operators_declare(ck, ck->root);
    ck->frame = frame_new(ck, env_now(ck->root), NULL);
}

static void load_prelude(Checker *ck) {
    for (size_t i = 0; i < lib_file_count; i++) {
        if (!str_eq(str_of(lib_files[i].path), STR("prelude"))) continue;
        ck->prelude = file_load(ck, STR("prelude"), (Span){0, 0}, true);
        if (ck->prelude != NULL) ck->prelude_module = ck->prelude->module;
    }
}

Scope *check_base_scope(Checker *ck) {
    Scope *scope = scope_new(ck, env_now(ck->root));
    if (ck->prelude_module != NULL) {
        Open open = {
            .module = ck->prelude_module, .is_hidden = true, .seq = scope->next_seq++};
        vec_push(ck->arena, &scope->opens, open);
    }
    return scope;
}

static Scope *check_main(Checker *ck, const Ast *ast, Str path) {
    File *file = arena_new(ck->arena, File);
    file->path = path;
    file->source = ast->source;
    file->busy = true;
    vec_push(ck->arena, &ck->files, file);
    Scope *scope = check_base_scope(ck);
    scope->file = file;
    scope->decls = &ast->decls;
    for (uint32_t i = 0; i < ast->decls.len; i++)
        declare(ck, scope, ast->decls.data[i], false);
    file->busy = false;
    return scope;
}

// ---- entry points ------------------------------------------------------------------

// What a mistake left open, inside or in what is called, is no second mistake.
static bool has_mistake(Checker *ck, const Decl *decl, const Binding *binding) {
    Type *result = type_resolve(binding->type);
    while (result->kind == TYPE_FUN) result = type_resolve(result->as.fun.result);
    if (type_is_error(ck, result)) return true;
    const Diags *diags = &ck->cx->diags;
    for (uint32_t i = 0; i < diags->len; i++) {
        const Diag *diag = diags->data[i];
        if (diag->severity == SEVERITY_ERROR && diag->span.start >= decl->span.start &&
            diag->span.end <= decl->span.end)
            return true;
    }
    return false;
}

static bool check_entry_type(Checker *ck, const Binding *binding) {
    const char *name = sym_show(ck, binding->name);
    if (binding->type_params.len > 0) {
        Diag *diag = check_error(ck, CHECK_ENTRY_POLYMORPHIC, binding->span, name);
        check_note(ck, diag, (Span){0, 0}, "its type is %s",
                   type_show(ck, binding->type));
        check_hint(ck, diag, "give its parameters types, such as `(xs: []f32)`");
        return false;
    }
    Type *type = type_resolve(binding->type);
    for (; type->kind == TYPE_FUN; type = type_resolve(type->as.fun.result)) {
        if (!type_holds_function(ck, type->as.fun.param)) continue;
        Diag *diag = check_error(ck, CHECK_ENTRY_FUNCTION, binding->span, name, "take");
        check_note(ck, diag, (Span){0, 0}, "a parameter has the type %s",
                   type_show(ck, type->as.fun.param));
        return false;
    }
    if (!type_holds_function(ck, type)) return true;
    check_error(ck, CHECK_ENTRY_FUNCTION, binding->span, name, "return");
    return false;
}

static void add_entry(Checker *ck, const Decl *decl, Scope *scope) {
    Sym name = decl->as.val.name.sym;
    Binding *binding = NULL;
    for (uint32_t i = 0; i < scope->entries.len; i++)
        if (scope->entries.data[i]->decl == decl)
            binding = scope->entries.data[i]->value;
    if (binding == NULL || type_is_error(ck, binding->type)) return;
    if (has_mistake(ck, decl, binding) || !check_entry_type(ck, binding)) return;
    TEntry entry = {name, binding, binding->span, decl->doc};
    vec_push(ck->arena, &ck->program->entries, entry);
}

static void find_entries(Checker *ck, const Ast *ast, Scope *scope) {
    const Decl *main = NULL;
    bool any = false;
    for (uint32_t i = 0; i < ast->decls.len; i++) {
        const Decl *decl = ast->decls.data[i];
        if (decl->kind != DECL_VAL) continue;
        if (decl->as.val.name.sym == ck->sym_main) main = decl;
        if (!decl->as.val.is_entry) continue;
        any = true;
        add_entry(ck, decl, scope);
    }
    if (!any && main != NULL) add_entry(ck, main, scope);
}

// ---- what is reached ---------------------------------------------------------------

typedef struct Step {
    Binding *binding;
    uint32_t next;
} Step;

static void add_global(Checker *ck, Binding *binding) {
    const BindingVec *deps = &((const Global *)binding->check_data)->deps;
    binding->uses_held = binding->held != 0;
    for (uint32_t i = 0; i < deps->len; i++)
        binding->uses_held |= deps->data[i]->uses_held;
    if (binding->held != 0) vec_push(ck->arena, &ck->program->held, binding);
    vec_push(ck->arena, &ck->program->globals, binding);
}

void check_gather(Checker *ck, Binding *root) {
    struct {
        Step *data;
        uint32_t len, cap;
    } stack = {0};
    vec_push(ck->arena, &stack, (Step){root, 0});
    while (stack.len > 0) {
        Step *step = &stack.data[stack.len - 1];
        Binding *binding = step->binding;
        Global *global = binding->check_data;
        if (step->next == 0) {
            if (global == NULL || global->emitted) {
                stack.len--;
                continue;
            }
            global->emitted = true;
            global_check_body(ck, binding);
        }
        if (step->next < global->deps.len) {
            Binding *dep = global->deps.data[step->next++];
            const Global *other = dep->check_data;
            if (dep->kind == BIND_GLOBAL && other != NULL && !other->emitted)
                vec_push(ck->arena, &stack, (Step){dep, 0});
            continue;
        }
        add_global(ck, binding);
        stack.len--;
    }
}

Checker *check_start(Cx *cx, const CheckImporter *importer) {
    Checker *ck = arena_new(cx->arena, Checker);
    set_up(ck, cx, importer);
    ck->program = arena_new(ck->arena, TProgram);
    ck->is_broken = cx->diags.error_count > 0;
    load_prelude(ck);
    return ck;
}

TProgram *check_program(Cx *cx, const Ast *ast, Str path,
                        const CheckImporter *importer) {
    Checker *ck = check_start(cx, importer);
    Scope *scope = check_main(ck, ast, path);
    find_entries(ck, ast, scope);
    if (cx->diags.error_count > 0) return NULL;
    for (uint32_t i = 0; i < ck->program->entries.len; i++)
        check_gather(ck, ck->program->entries.data[i].binding);
    return cx->diags.error_count > 0 ? NULL : ck->program;
}
