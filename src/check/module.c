// SPDX-License-Identifier: Apache-2.0
//
// Declarations and modules. What a user's file declares is checked in order; library
// files and the bodies of applied parametric modules only as names are looked up.
#include "check/checker.h"

#include "syntax/syntax.h"

// ---- values ------------------------------------------------------------------------

static const Attr *find_attr(Checker *ck, const AttrVec *attrs, const char *name) {
    for (uint32_t i = 0; i < attrs->len; i++)
        if (str_eq(sym_str(&ck->cx->syms, attrs->data[i].name.sym), str_of(name)))
            return &attrs->data[i];
    return NULL;
}

static void warn_attrs(Checker *ck, const AttrVec *attrs) {
    static const char *const known[] = {"noinline", "inline", "intrinsic", "doc",
                                        "deprecated"};
    for (uint32_t i = 0; i < attrs->len; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found |= str_eq(sym_str(&ck->cx->syms, attrs->data[i].name.sym),
                            str_of(known[k]));
        if (!found)
            check_warning(ck, CHECK_UNKNOWN_ATTR, attrs->data[i].span,
                          sym_show(ck, attrs->data[i].name.sym));
    }
}

static void check_params(Checker *ck, const FunHead *head) {
    for (uint32_t i = 0; i < head->params.len; i++) {
        Pending pending = {.kind = PENDING_LET_PAT, .pat = head->params.data[i]};
        vec_push(ck->arena, &ck->frame->pending, pending);
    }
}

// Checks the body of a global whose header is done.
static TExp *check_body(Checker *ck, Binding *binding) {
    Global *global = binding->check_data;
    TExp *body = fun_body(ck, global->head, global->decl->as.val.body);
    check_params(ck, global->head);
    locals_release(ck, 0);
    ck->frame->defining.len = 0;
    global->has_body = true;
    return fun_lambda(ck, global->head, body);
}

void global_check_body(Checker *ck, Binding *binding) {
    Global *global = binding->check_data;
    if (global == NULL || global->has_body || global->decl == NULL) return;
    Frame *outer = ck->frame;
    ck->frame = global->frame;
    ck->frame->errors = ck->cx->diags.error_count;
    binding->body = check_body(ck, binding);
    if (binding->body->kind == TEXP_LAMBDA)
        binding->body->as.lambda.sizes = binding->size_params;
    frame_finish(ck, ck->frame);
    unique_check(ck, binding);
    ck->frame = outer;
}

static void force_value(Checker *ck, Entry *entry) {
    const Decl *decl = entry->decl;
    const Attr *intrinsic = find_attr(ck, &decl->attrs, "intrinsic");
    Name name = decl->as.val.name;
    Binding *binding = binding_new(ck, BIND_GLOBAL, name, NULL);
    Global *global = arena_new(ck->arena, Global);
    global->decl = decl;
    global->env = entry->env;
    global->is_phantom = ck->is_phantom;
    global->frame = frame_new(ck, entry->env, global);
    global->is_lib = global->frame->is_lib;
    binding->check_data = global;
    binding->no_inline = find_attr(ck, &decl->attrs, "noinline") != NULL;
    binding->held = entry->held;
    ck->frame = global->frame;
    vec_push(ck->arena, &ck->frame->defining, name.sym);
    if (!global->is_lib) warn_attrs(ck, &decl->attrs);
    FunHead *head = fun_head(ck, &decl->as.val.type_params, &decl->as.val.params,
                             decl->as.val.result, decl->as.val.body->span);
    global->head = head;
    bool is_intrinsic = intrinsic != NULL && intrinsic->args.len == 1 && global->is_lib;
    bool lazy = entry->env.scope->is_lazy &&
                fun_is_annotated(&decl->as.val.params, decl->as.val.result);
    if (is_intrinsic || lazy) {
        TExp *header = texp_new(ck, TEXP_HOLE, name.span, head->result);
        header = fun_lambda(ck, head, header);
        binding->type = header->type;
        generalise(ck, binding, head, NULL);
        if (is_intrinsic) {
            binding->kind = BIND_INTRINSIC;
            binding->intrinsic = intrinsic->args.data[0].name.sym;
            global->has_body = true;
            locals_release(ck, 0);
        }
        frame_finish(ck, ck->frame);
    } else {
        TExp *body = check_body(ck, binding);
        binding->type = body->type;
        generalise(ck, binding, head, body);
        binding->body = body;
        frame_finish(ck, ck->frame);
        unique_check(ck, binding);
    }
    if (!global->is_lib && !global->is_phantom)
        vec_push(ck->arena, &ck->globals, binding);
    entry->value = binding;
}

static void check_duplicate(Checker *ck, const Entry *entry);

static bool is_top_level(const Checker *ck, const Scope *scope) {
    return scope->parent.scope == ck->root || scope->is_cell;
}

static void declare_value(Checker *ck, Scope *scope, const Decl *decl, bool is_hidden) {
    Entry *entry = scope_add(ck, scope, SPACE_VALUE, decl->as.val.name, is_hidden);
    entry->decl = decl;
    entry->force = force_value;
    check_duplicate(ck, entry);
    if (decl->as.val.is_entry && !is_top_level(ck, scope) && !scope->is_lazy) {
        Diag *diag = check_error(ck, CHECK_ENTRY_PLACE, decl->as.val.name.span,
                                 sym_show(ck, decl->as.val.name.sym));
        check_hint(ck, diag,
                   "use `def` here, and define an entry outside that calls it");
    }
    if (!scope->is_lazy) entry_force(ck, entry);
}

// ---- types, modules and signatures -------------------------------------------------

static void force_type(Checker *ck, Entry *entry) {
    // A type that mentions itself finds this.
    TypeCon *wrong = arena_new(ck->arena, TypeCon);
    wrong->name = entry->name;
    wrong->body = ck->error_type;
    entry->type = wrong;
    entry->type = typecon_check(ck, &entry->decl->as.type, entry->env);
}

static Module *module_new(Checker *ck, ModuleKind kind, Span span) {
    Module *module = arena_new(ck->arena, Module);
    module->kind = kind;
    module->span = span;
    return module;
}

static Module *make_functor(Checker *ck, const ModParam *params, uint32_t count,
                            const SigExp *result, const ModExp *body, Env env) {
    Module *module = module_new(ck, MODULE_FUN, body->span);
    module->params = params;
    module->param_count = count;
    module->result = result;
    module->body = body;
    module->env = env;
    return module;
}

static Entry *add_module(Checker *ck, Scope *scope, Name name, Module *module) {
    Entry *entry = scope_add(ck, scope, SPACE_MODULE, name, true);
    entry->state = ENTRY_DONE;
    entry->module = module;
    return entry;
}

// Checks a parametric module's body once against its parameters' signatures. With a
// mistake in it, no application says it again.
static Module *checked_functor(Checker *ck, Module *functor) {
    uint32_t errors = ck->cx->diags.error_count;
    bool was_phantom = ck->is_phantom;
    ck->is_phantom = true;
    Scope *scope = scope_new(ck, functor->env);
    for (uint32_t i = 0; i < functor->param_count; i++) {
        const ModParam *param = &functor->params[i];
        ck->prefix = param->name.sym;
        Module *arg = signature_instance(ck, param->sig, env_now(scope));
        ck->prefix = 0;
        add_module(ck, scope, param->name, arg);
    }
    Module *body = module_eval(ck, functor->body, env_now(scope));
    if (functor->result != NULL)
        module_ascribe(ck, body, functor->result, env_now(scope), true,
                       functor->body->span, true);
    ck->is_phantom = was_phantom;
    return ck->cx->diags.error_count > errors
               ? module_new(ck, MODULE_ERROR, functor->span)
               : functor;
}

static Module *ascribed_body(Checker *ck, const ModExp *body, const SigExp *sig,
                             Env env) {
    Module *module = module_eval(ck, body, env);
    if (sig == NULL) return module;
    return module_ascribe(ck, module, sig, env, true, body->span, !env.scope->is_lazy);
}

static void define_module(Checker *ck, Entry *entry) {
    const Decl *decl = entry->decl;
    if (decl->as.module.params.len == 0) {
        entry->module =
            ascribed_body(ck, decl->as.module.body, decl->as.module.sig, entry->env);
        return;
    }
    entry->module =
        make_functor(ck, decl->as.module.params.data, decl->as.module.params.len,
                     decl->as.module.sig, decl->as.module.body, entry->env);
    if (!entry->env.scope->is_lazy) entry->module = checked_functor(ck, entry->module);
}

static void force_module(Checker *ck, Entry *entry) {
    Sym prefix = ck->prefix;
    ck->prefix = entry->name;
    define_module(ck, entry);
    ck->prefix = prefix;
}

static void force_nothing(Checker *ck, Entry *entry) {
    (void)ck, (void)entry;
}

static void declare_open(Checker *ck, Scope *scope, const ModExp *exp, bool is_hidden) {
    Open open = {.exp = exp, .env = env_now(scope), .is_hidden = is_hidden};
    if (!scope->is_lazy) {
        open.module = module_eval(ck, exp, open.env);
        if (open.module->kind == MODULE_FUN || open.module->kind == MODULE_FUN_VIEW)
            check_error(ck, CHECK_OPEN_PARAMETRIC, exp->span, "this");
    }
    open.seq = scope->next_seq++;
    vec_push(ck->arena, &scope->opens, open);
}

static void check_duplicate(Checker *ck, const Entry *entry) {
    if (entry->older == NULL || entry->env.scope->is_lazy) return;
    Diag *diag = check_error(ck, CHECK_DUPLICATE_DEFINITION, entry->span,
                             sym_show(ck, entry->name));
    check_note(ck, diag, entry->older->span, "the first definition is here");
}

void declare(Checker *ck, Scope *scope, const Decl *decl, bool is_hidden) {
    Entry *entry;
    switch (decl->kind) {
    case DECL_VAL: declare_value(ck, scope, decl, is_hidden); break;
    case DECL_TYPE:
        entry = scope_add(ck, scope, SPACE_TYPE, decl->as.type.name, is_hidden);
        entry->decl = decl;
        entry->force = force_type;
        check_duplicate(ck, entry);
        if (!scope->is_lazy) entry_force(ck, entry);
        break;
    case DECL_MODULE:
        entry = scope_add(ck, scope, SPACE_MODULE, decl->as.module.name, is_hidden);
        entry->decl = decl;
        entry->force = force_module;
        check_duplicate(ck, entry);
        if (!scope->is_lazy) entry_force(ck, entry);
        break;
    case DECL_MODULE_TYPE:
        entry = scope_add(ck, scope, SPACE_SIG, decl->as.module_type.name, is_hidden);
        entry->decl = decl;
        entry->force = force_nothing;
        check_duplicate(ck, entry);
        if (!scope->is_lazy) signature_check(ck, decl->as.module_type.sig, entry->env);
        break;
    case DECL_OPEN: declare_open(ck, scope, decl->as.open, is_hidden); break;
    case DECL_IMPORT: {
        ModExp *exp = arena_new(ck->arena, ModExp);
        exp->kind = MOD_IMPORT;
        exp->span = decl->span;
        exp->as.import = decl->as.import;
        declare_open(ck, scope, exp, true);
        break;
    }
    case DECL_LOCAL: {
        Decl *inner = arena_copy(ck->arena, decl->as.local, sizeof *inner);
        for (uint32_t i = 0; i < decl->attrs.len; i++)
            vec_push(ck->arena, &inner->attrs, decl->attrs.data[i]);
        declare(ck, scope, inner, true);
        break;
    }
    }
}

// ---- module expressions ------------------------------------------------------------

static Module *eval(Checker *ck, const ModExp *exp, Env env);

static Module *eval_name(Checker *ck, const ModExp *exp) {
    Module *module = module_lookup(ck, &exp->as.name);
    return module != NULL ? module : module_new(ck, MODULE_ERROR, exp->span);
}

static Module *eval_body(Checker *ck, const ModExp *exp, Env env) {
    Module *module = module_new(ck, MODULE_STRUCT, exp->span);
    module->scope = scope_new(ck, env);
    module->scope->decls = &exp->as.body;
    for (uint32_t i = 0; i < exp->as.body.len; i++)
        declare(ck, module->scope, exp->as.body.data[i], false);
    return module;
}

static Module *eval_import(Checker *ck, const ModExp *exp, Env env) {
    const File *from = env.scope->file;
    File *file = file_load(ck, exp->as.import, exp->span, from != NULL && from->is_lib);
    if (file == NULL || file->module == NULL)
        return module_new(ck, MODULE_ERROR, exp->span);
    return file->module;
}

static Module *eval(Checker *ck, const ModExp *exp, Env env) {
    if (!deep_enough(ck, exp->span)) return module_new(ck, MODULE_ERROR, exp->span);
    ck->here = exp->span;
    switch (exp->kind) {
    case MOD_NAME: return eval_name(ck, exp);
    case MOD_BODY: return eval_body(ck, exp, env);
    case MOD_IMPORT: return eval_import(ck, exp, env);
    case MOD_ASCRIPT: {
        Module *module = eval(ck, exp->as.ascript.mod, env);
        return module_ascribe(ck, module, exp->as.ascript.sig, env, true, exp->span,
                              !env.scope->is_lazy);
    }
    case MOD_APPLY: {
        Module *fun = eval(ck, exp->as.apply.fun, env);
        Module *arg = eval(ck, exp->as.apply.arg, env);
        bool lazy = env.scope->is_lazy;
        return module_apply(ck, fun, arg, exp->span,
                            lazy ? (Span){0, 0} : exp->as.apply.arg->span);
    }
    case MOD_LAMBDA: {
        Module *functor = make_functor(ck, &exp->as.lambda.param, 1, exp->as.lambda.sig,
                                       exp->as.lambda.body, env);
        return env.scope->is_lazy ? functor : checked_functor(ck, functor);
    }
    case MOD_PAREN: return eval(ck, exp->as.inner, env);
    }
    return module_new(ck, MODULE_ERROR, exp->span);
}

Module *module_eval(Checker *ck, const ModExp *exp, Env env) {
    Frame *outer = ck->frame;
    ck->frame = frame_new(ck, env, NULL);
    Module *module = eval(ck, exp, env);
    ck->frame = outer;
    return module;
}

// arg_span {0, 0}: the argument is known to fit.
Module *module_apply(Checker *ck, Module *fun, Module *arg, Span span, Span arg_span) {
    bool report = arg_span.end != 0;
    if (fun->kind == MODULE_ERROR || arg->kind == MODULE_ERROR)
        return module_new(ck, MODULE_ERROR, span);
    if (fun->kind == MODULE_FUN_VIEW) {
        arg = module_ascribe(ck, arg, fun->arrow->as.arrow.from, fun->env, false,
                             arg_span, report);
        Scope *scope = scope_new(ck, fun->env);
        if (fun->arrow->as.arrow.param.sym != 0)
            add_module(ck, scope, fun->arrow->as.arrow.param, arg);
        if (fun->impl == NULL)
            return signature_instance(ck, fun->arrow->as.arrow.to, env_now(scope));
        Module *result = module_apply(ck, fun->impl, arg, span, (Span){0, 0});
        return module_ascribe(ck, result, fun->arrow->as.arrow.to, env_now(scope), true,
                              span, false);
    }
    if (fun->kind != MODULE_FUN) {
        check_error(ck, CHECK_NOT_PARAMETRIC, span);
        return module_new(ck, MODULE_ERROR, span);
    }
    Scope *scope = scope_new(ck, fun->env);
    scope->is_lazy = true;
    // Inside the library no view of what fits is needed: nothing opens a parameter.
    if (report || !fun->env.scope->file->is_lib)
        arg = module_ascribe(ck, arg, fun->params->sig, fun->env, false, arg_span,
                             report);
    if (arg->kind == MODULE_ERROR) return arg;
    add_module(ck, scope, fun->params->name, arg);
    if (fun->param_count > 1)
        return make_functor(ck, fun->params + 1, fun->param_count - 1, fun->result,
                            fun->body, env_now(scope));
    Frame *outer = ck->frame;
    ck->frame = frame_new(ck, env_now(scope), NULL);
    Module *result = ascribed_body(ck, fun->body, fun->result, env_now(scope));
    ck->frame = outer;
    return result;
}

// ---- files -------------------------------------------------------------------------

const LibFile *lib_find(Str path) {
    for (size_t i = 0; i < lib_file_count; i++)
        if (str_eq(path, str_of(lib_files[i].path))) return &lib_files[i];
    return NULL;
}

typedef struct {
    Str *data;
    uint32_t len, cap;
} Parts;

static void add_parts(Checker *ck, Parts *parts, Str path) {
    for (size_t at = 0; at < path.len;) {
        size_t end = at;
        while (end < path.len && path.ptr[end] != '/') end++;
        Str part = {path.ptr + at, end - at};
        at = end + 1;
        if (str_eq(part, STR(".")) || (part.len == 0 && parts->len > 0)) continue;
        bool up = str_eq(part, STR("..")) && parts->len > 0 &&
                  !str_eq(parts->data[parts->len - 1], STR(".."));
        if (up) parts->len--;
        else vec_push(ck->arena, parts, part);
    }
}

// `import` as written in the file `from`: joined to its folder, "." and ".." resolved.
static Str join_path(Checker *ck, Str from, Str import) {
    Parts parts = {0};
    if (import.len == 0 || import.ptr[0] != '/') {
        add_parts(ck, &parts, from);
        if (parts.len > 0) parts.len--;
    }
    add_parts(ck, &parts, import);
    StrBuf buf = strbuf(ck->arena);
    for (uint32_t i = 0; i < parts.len; i++) {
        if (i > 0) strbuf_char(&buf, '/');
        strbuf_str(&buf, parts.data[i]);
    }
    return strbuf_done(&buf);
}

static File *known_file(Checker *ck, Str path, bool is_lib) {
    for (uint32_t i = 0; i < ck->files.len; i++)
        if (ck->files.data[i]->is_lib == is_lib &&
            str_eq(ck->files.data[i]->path, path))
            return ck->files.data[i];
    return NULL;
}

static void read_file(Checker *ck, File *file, bool is_lazy) {
    uint32_t errors = ck->cx->diags.error_count;
    Ast *ast = syntax_parse(ck->cx, file->source);
    if (ck->cx->diags.error_count > errors) ck->is_broken = true;
    Module *module = module_new(ck, MODULE_STRUCT, (Span){0, 0});
    Scope *scope = scope_new(ck, env_now(ck->root));
    scope->file = file;
    scope->is_lazy = file->is_lib || is_lazy;
    scope->decls = &ast->decls;
    module->scope = scope;
    if (ck->prelude_module != NULL) {
        Open open = {
            .module = ck->prelude_module, .is_hidden = true, .seq = scope->next_seq++};
        vec_push(ck->arena, &scope->opens, open);
    }
    file->module = file->is_lib ? module : NULL;
    file->busy = !file->is_lib;
    bool was_phantom = ck->is_phantom;
    ck->is_phantom = false;
    for (uint32_t i = 0; i < ast->decls.len; i++)
        declare(ck, scope, ast->decls.data[i], false);
    ck->is_phantom = was_phantom;
    file->busy = false;
    file->module = module;
}

File *file_load(Checker *ck, Str path, Span span, bool is_lib) {
    const LibFile *lib = lib_find(path);
    if (lib == NULL && is_lib) {
        check_error(ck, CHECK_NO_FILE, span, str_terminated(ck->arena, path));
        return NULL;
    }
    const Scope *from_scope = ck->frame != NULL ? ck->frame->env.scope : NULL;
    const File *from = from_scope != NULL ? from_scope->file : NULL;
    if (lib == NULL) path = join_path(ck, from == NULL ? STR("") : from->path, path);
    File *file = known_file(ck, path, lib != NULL);
    if (file != NULL && file->busy) {
        Diag *diag =
            check_error(ck, CHECK_IMPORT_CYCLE, span, str_terminated(ck->arena, path));
        for (uint32_t i = 0; i < ck->files.len; i++)
            if (ck->files.data[i]->busy && ck->files.data[i] != file)
                check_note(ck, diag, (Span){0, 0}, "%.*s is being read, too",
                           STR_ARG(ck->files.data[i]->path));
        return NULL;
    }
    if (file != NULL) return file;
    Str name = {0}, text = {0};
    if (lib != NULL) {
        StrBuf buf = strbuf(ck->arena);
        strbuf_printf(&buf, "lib/%s.weft", lib->path);
        name = strbuf_done(&buf);
        text = (Str){lib->text, lib->size};
    } else if (ck->importer == NULL || ck->importer->read == NULL ||
               !ck->importer->read(ck->importer->data, ck->cx, path, &name, &text)) {
        check_error(ck, CHECK_NO_FILE, span, str_terminated(ck->arena, path));
        return NULL;
    }
    file = arena_new(ck->arena, File);
    file->path = path;
    file->is_lib = lib != NULL;
    file->source = sources_add(&ck->cx->sources, name, text, file->is_lib);
    if (file->source == NULL) return NULL;
    vec_push(ck->arena, &ck->files, file);
    read_file(ck, file, from_scope != NULL && from_scope->is_lazy);
    return file;
}
