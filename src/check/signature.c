// SPDX-License-Identifier: Apache-2.0
//
// Signatures. Ascribing one to a module makes a view: a scope with just the specified
// names, each an entry over the module's own. A type of an opaque view is abstract and
// keeps its definition hidden in the TYPE_ABS; a transparent view (an argument inside a
// parametric module) shares the module's types. With no module behind it, a view is the
// instance against which a parametric module's body is checked.
#include "check/checker.h"
#include "syntax/syntax.h"

typedef struct Refine {
    const QualName *path;
    uint32_t depth; // how many of the path's qualifiers led here
    const TypeParamVec *params;
    const TypeExp *def;
    Env env;
    bool *used;
    struct Refine *next;
} Refine;

typedef struct Names {
    Scope *scope;
    struct Names *next;
} Names;

typedef struct View View;
struct View {
    Scope *scope;
    Module *impl; // NULL: none
    bool opaque, report;
    Span span;     // the ascription, for messages
    Sym prefix;    // the module's name, for the names of abstract types
    uint32_t mark; // abstract types from here on are the view's own
    Names *names;  // scopes in which the specifications see one another
    Refine *refines;
};

static Diag *mismatch(Checker *ck, const View *view, const char *format,
                      const char *name) {
    StrBuf buf = strbuf(ck->arena);
    strbuf_printf(&buf, format, name);
    return check_error(ck, CHECK_SIGNATURE, view->span,
                       str_terminated(ck->arena, strbuf_done(&buf)));
}

static Entry *add_entry(Checker *ck, const View *view, Space space, Name name,
                        const Spec *spec, void (*force)(Checker *, Entry *)) {
    Env env = env_now(view->names->scope);
    Entry *entry = scope_add(ck, view->scope, space, name, false);
    for (const Names *names = view->names; names != NULL; names = names->next)
        scope_alias(ck, names->scope, entry);
    entry->env = env;
    entry->spec = spec;
    entry->force = force;
    entry->view = arena_copy(ck->arena, view, sizeof *view);
    return entry;
}

static Entry *find_impl(Checker *ck, const View *view, Space space, Sym name) {
    return view->impl == NULL ? NULL : module_find(ck, view->impl, space, name);
}

// ---- types -------------------------------------------------------------------------

// The type constructor at fresh rigid parameters, those of `like`.
static Type *con_at(Checker *ck, const TypeCon *con, const TypeCon *like) {
    uint32_t count = con->params.len;
    if (like->params.len != count) return NULL;
    Type **types = arena_array(ck->arena, Type *, count + 1);
    Size **sizes = arena_array(ck->arena, Size *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const TypeConParam *param = &like->params.data[i];
        if ((param->size != NULL) != (con->params.data[i].size != NULL)) return NULL;
        if (param->size != NULL)
            sizes[i] = size_name(ck, param->size, param->size->span);
        else types[i] = type_of_var(ck, param->var);
    }
    return typecon_apply(ck, con, types, sizes);
}

static TypeCon *make_abstract(Checker *ck, const TypeDef *def, const TypeCon *hidden,
                              Env env, Sym prefix) {
    TypeCon *con = typecon_apply_def(ck, def->name, &def->params, NULL, env,
                                     (uint8_t)def->lifting);
    Type *type = arena_new(ck->arena, Type);
    type->kind = TYPE_ABS;
    type->as.abs.name =
        prefix == 0 ? def->name.sym : join_names(ck, prefix, def->name.sym);
    type->as.abs.id = ++ck->counter;
    type->as.abs.lifting = (uint8_t)def->lifting;
    for (uint32_t i = 0; i < con->params.len; i++) {
        const TypeConParam *param = &con->params.data[i];
        if (param->size != NULL)
            vec_push(ck->arena, &type->as.abs.size_args,
                     size_name(ck, param->size, param->size->span));
        else vec_push(ck->arena, &type->as.abs.type_args, type_of_var(ck, param->var));
    }
    if (hidden != NULL) type->as.abs.def = con_at(ck, hidden, con);
    con->body = type_measure(ck, type);
    return con;
}

static Refine *find_refine(const View *view, Sym name) {
    for (Refine *refine = view->refines; refine != NULL; refine = refine->next)
        if (refine->depth == refine->path->quals.len && refine->path->name.sym == name)
            return refine;
    return NULL;
}

static void check_same_type(Checker *ck, const View *view, const Entry *entry,
                            TypeCon *spec, const Entry *impl) {
    const TypeCon *con = impl->type;
    const char *name = sym_show(ck, entry->name);
    Type *want = con_at(ck, spec, spec), *have = con_at(ck, con, spec);
    Diag *diag = NULL;
    if (have == NULL) {
        diag = mismatch(
            ck, view, "the type `%s` has other parameters than the signature asks for",
            name);
    } else if (con->lifting > spec->lifting) {
        diag = mismatch(ck, view,
                        spec->lifting == TP_TYPE
                            ? "the type `%s` may hide sizes or hold functions, "
                              "which the signature does not allow"
                            : "the type `%s` may hold functions, which the "
                              "signature does not allow",
                        name);
    } else {
        ck->reveal_from = view->mark;
        ck->clash = (Clash){0};
        bool same = type_unify(ck, want, have);
        ck->reveal_from = UINT32_MAX;
        if (same) return;
        diag = mismatch(ck, view, "the type `%s` is not what the signature says", name);
        check_note(ck, diag, (Span){0, 0}, "expected %s, found %s",
                   type_show_whole(ck, want), type_show_whole(ck, have));
    }
    check_note(ck, diag, entry->span, "the signature asks for it here");
    check_note(ck, diag, impl->span, "the module defines it here");
    spec->body = ck->error_type;
}

static void force_view_type(Checker *ck, Entry *entry) {
    const View *view = entry->view;
    const TypeDef *def = &entry->spec->as.type;
    Entry *impl = find_impl(ck, view, SPACE_TYPE, entry->name);
    if (impl != NULL) entry_force(ck, impl);
    TypeCon *hidden = impl == NULL ? NULL : impl->type;
    if (view->impl != NULL && impl == NULL && view->report) {
        Diag *diag = mismatch(ck, view, "the module has no type `%s`",
                              sym_show(ck, entry->name));
        check_note(ck, diag, entry->span, "the signature asks for it here");
        entry->type = make_abstract(ck, def, NULL, entry->env, view->prefix);
        entry->type->body = ck->error_type;
        return;
    }
    Refine *refine = find_refine(view, entry->name);
    if (refine != NULL) {
        *refine->used = true;
        entry->type = typecon_apply_def(ck, def->name, refine->params, refine->def,
                                        refine->env, (uint8_t)def->lifting);
    } else if (def->type != NULL) {
        entry->type = typecon_check(ck, def, entry->env);
    } else if (view->impl != NULL && !view->opaque && hidden != NULL) {
        entry->type = hidden;
        if (view->report) {
            TypeCon *spec = make_abstract(ck, def, NULL, entry->env, view->prefix);
            spec->body->as.abs.def = con_at(ck, hidden, spec);
            check_same_type(ck, view, entry, spec, impl);
        }
        return;
    } else {
        entry->type = make_abstract(ck, def, hidden, entry->env, view->prefix);
    }
    if (impl != NULL && hidden != NULL && view->report)
        check_same_type(ck, view, entry, entry->type, impl);
}

// ---- values ------------------------------------------------------------------------

static Binding *spec_binding(Checker *ck, const Entry *entry) {
    const Spec *spec = entry->spec;
    Frame *outer = ck->frame;
    ck->frame = frame_new(ck, entry->env, NULL);
    Binding *binding = binding_new(ck, BIND_GLOBAL, spec->as.val.name, NULL);
    Global *global = arena_new(ck->arena, Global);
    global->is_phantom = true;
    global->has_body = true;
    binding->check_data = global;
    FunHead *head = arena_new(ck->arena, FunHead);
    head->mark = ++ck->counter;
    type_params_bind(ck, &spec->as.val.type_params, &head->type_params,
                     &head->size_params);
    TypeCx tcx = {.anon = ANON_UNKNOWN, .allow_unique = true};
    binding->type = typexp_check(ck, spec->as.val.type, &tcx);
    generalise(ck, binding, head, NULL);
    frame_finish(ck, ck->frame);
    locals_release(ck, 0);
    ck->frame = outer;
    return binding;
}

// The implementation must be at least as general: its instance fits the rigid spec.
static void check_value(Checker *ck, const View *view, Entry *entry, Entry *impl) {
    Frame *outer = ck->frame;
    ck->frame = frame_new(ck, entry->env, NULL);
    Binding *shown = impl->value;
    TExp *instance = instantiate(ck, shown, entry->span);
    ck->reveal_from = view->mark;
    ck->clash = (Clash){0};
    bool fits = type_unify(ck, entry->value->type, instance->type);
    ck->reveal_from = UINT32_MAX;
    if (!fits) {
        Diag *diag = mismatch(ck, view,
                              "the value `%s` does not have the type the signature "
                              "asks for",
                              sym_show(ck, entry->name));
        check_note(ck, diag, entry->span, "the signature asks for %s",
                   type_show(ck, entry->value->type));
        check_note(ck, diag, impl->span, "the module's is %s",
                   type_show(ck, shown->type));
    }
    ck->frame->pending.len = 0;
    ck->frame = outer;
}

static void force_view_value(Checker *ck, Entry *entry) {
    const View *view = entry->view;
    entry->value = spec_binding(ck, entry);
    if (view->impl == NULL) return;
    entry->impl = find_impl(ck, view, SPACE_VALUE, entry->name);
    if (entry->impl == NULL) {
        entry->value = NULL;
        if (!view->report) return;
        Diag *diag = mismatch(ck, view, "the module has no value `%s`",
                              sym_show(ck, entry->name));
        check_note(ck, diag, entry->span, "the signature asks for it here");
        return;
    }
    if (!view->report) return;
    entry_force(ck, entry->impl);
    if (entry->impl->value == NULL || type_is_error(ck, entry->impl->value->type))
        return;
    check_value(ck, view, entry, entry->impl);
}

// ---- nested modules ----------------------------------------------------------------

static Module *make_view(Checker *ck, const SigExp *sig, Env env, const View *like);

static void force_view_module(Checker *ck, Entry *entry) {
    View view = *entry->view;
    Entry *impl = find_impl(ck, &view, SPACE_MODULE, entry->name);
    if (impl != NULL) entry_force(ck, impl);
    if (view.impl != NULL && impl == NULL) {
        if (!view.report) return;
        Diag *diag = mismatch(ck, &view, "the module has no module `%s`",
                              sym_show(ck, entry->name));
        check_note(ck, diag, entry->span, "the signature asks for it here");
        return;
    }
    view.impl = impl == NULL ? NULL : impl->module;
    view.prefix =
        view.prefix == 0 ? entry->name : join_names(ck, view.prefix, entry->name);
    if (view.impl != NULL && view.impl->kind == MODULE_ERROR) return;
    Refine *inner = NULL;
    for (const Refine *refine = view.refines; refine != NULL; refine = refine->next) {
        if (refine->depth >= refine->path->quals.len ||
            refine->path->quals.data[refine->depth].sym != entry->name)
            continue;
        Refine *copy = arena_copy(ck->arena, refine, sizeof *refine);
        copy->depth++;
        copy->next = inner;
        inner = copy;
    }
    view.refines = inner;
    entry->module = make_view(ck, entry->spec->as.module.sig, entry->env, &view);
}

// ---- the walk over a signature -----------------------------------------------------

static void fill(Checker *ck, View *view, const SigExp *sig, Env env);

static void fill_specs(Checker *ck, View *view, const SigExp *sig, Env env) {
    Names names = {scope_new(ck, env), view->names};
    View inner = *view;
    inner.names = arena_copy(ck->arena, &names, sizeof names);
    for (uint32_t i = 0; i < sig->as.specs.len; i++) {
        const Spec *spec = &sig->as.specs.data[i];
        switch (spec->kind) {
        case SPEC_VAL:
            add_entry(ck, &inner, SPACE_VALUE, spec->as.val.name, spec,
                      force_view_value);
            break;
        case SPEC_TYPE:
            add_entry(ck, &inner, SPACE_TYPE, spec->as.type.name, spec,
                      force_view_type);
            break;
        case SPEC_MODULE:
            add_entry(ck, &inner, SPACE_MODULE, spec->as.module.name, spec,
                      force_view_module);
            break;
        case SPEC_INCLUDE:
            fill(ck, &inner, spec->as.include, env_now(inner.names->scope));
            break;
        }
    }
}

static void fill_with(Checker *ck, View *view, const SigExp *sig, Env env) {
    bool *used = arena_new(ck->arena, bool);
    Refine *refine = arena_new(ck->arena, Refine);
    *refine = (Refine){.path = &sig->as.with.type,
                       .params = &sig->as.with.params,
                       .def = sig->as.with.def,
                       .env = env,
                       .used = used,
                       .next = view->refines};
    View inner = *view;
    inner.refines = refine;
    uint32_t first = view->scope->entries.len;
    fill(ck, &inner, sig->as.with.sig, env);
    if (!view->report) return;
    // Refinements are used when the types are looked at.
    const QualName *path = refine->path;
    for (uint32_t i = first; i < view->scope->entries.len && !*used; i++) {
        Entry *entry = view->scope->entries.data[i];
        if (entry->space == SPACE_TYPE ||
            (entry->space == SPACE_MODULE && path->quals.len > 0 &&
             path->quals.data[0].sym == entry->name)) {
            entry_force(ck, entry);
            if (entry->module != NULL) module_force_all(ck, entry->module);
        }
    }
    if (!*used) {
        Diag *diag =
            check_error(ck, CHECK_NO_REFINED, path->span, sym_show(ck, path->name.sym));
        check_note(ck, diag, sig->as.with.sig->span, "this is the signature");
    }
}

// What a module type stands for, in the scope that its entry has.
static const SigExp *named_sig(Checker *ck, Entry *entry) {
    entry->decl = syntax_whole(ck->cx, entry->decl);
    return entry->decl->as.module_type.sig;
}

static void fill(Checker *ck, View *view, const SigExp *sig, Env env) {
    if (!deep_enough(ck, sig->span)) return;
    Frame *outer = ck->frame;
    ck->frame = frame_new(ck, env, NULL);
    switch (sig->kind) {
    case SIG_NAME: {
        Found found;
        if (!name_lookup(ck, SPACE_SIG, &sig->as.name, &found)) break;
        const SigExp *named = named_sig(ck, found.entry);
        if (named->kind == SIG_ARROW) check_error(ck, CHECK_ARROW_SIGNATURE, sig->span);
        else fill(ck, view, named, found.entry->env);
        break;
    }
    case SIG_SPECS: fill_specs(ck, view, sig, env); break;
    case SIG_WITH: fill_with(ck, view, sig, env); break;
    case SIG_PAREN: fill(ck, view, sig->as.inner, env); break;
    case SIG_ARROW: check_error(ck, CHECK_ARROW_SIGNATURE, sig->span); break;
    }
    ck->frame = outer;
}

void module_force_all(Checker *ck, Module *module) {
    if (module->kind != MODULE_STRUCT) return;
    for (uint32_t i = 0; i < module->scope->entries.len; i++) {
        Entry *entry = module->scope->entries.data[i];
        if (entry->target != NULL) continue;
        if (entry->space != SPACE_SIG) entry_force(ck, entry);
    }
}

// Follows names and parentheses to an arrow, if the signature is one.
static const SigExp *find_arrow(Checker *ck, const SigExp *sig, Env *env) {
    for (int steps = 0; steps < 100; steps++) {
        if (sig->kind == SIG_PAREN) {
            sig = sig->as.inner;
        } else if (sig->kind == SIG_NAME) {
            Frame *outer = ck->frame;
            ck->frame = frame_new(ck, *env, NULL);
            Found found;
            bool known = name_try(ck, SPACE_SIG, &sig->as.name,
                                  sig->as.name.quals.len + 1, &found);
            ck->frame = outer;
            if (!known) return NULL;
            sig = named_sig(ck, found.entry);
            *env = found.entry->env;
        } else {
            return sig->kind == SIG_ARROW ? sig : NULL;
        }
    }
    return NULL;
}

static Module *error_module(Checker *ck, Span span) {
    Module *module = arena_new(ck->arena, Module);
    module->kind = MODULE_ERROR;
    module->span = span;
    return module;
}

// A parametric module against an arrow: its body, applied to an instance of the
// parameter's signature, must fit the result's.
static Module *view_arrow(Checker *ck, const SigExp *arrow, Env env, const View *like) {
    Module *module = arena_new(ck->arena, Module);
    module->kind = MODULE_FUN_VIEW;
    module->span = like->span;
    module->impl = like->impl;
    module->arrow = arrow;
    module->env = env;
    if (like->impl == NULL) return module;
    if (like->impl->kind == MODULE_STRUCT) {
        if (like->report) mismatch(ck, like, "%s is not a parametric module", "this");
        return error_module(ck, like->span);
    }
    if (!like->report) return module;
    Module *arg = signature_instance(ck, arrow->as.arrow.from, env);
    Module *result = module_apply(ck, like->impl, arg, like->span, like->span);
    Scope *scope = scope_new(ck, env);
    if (arrow->as.arrow.param.sym != 0) {
        Entry *entry = scope_add(ck, scope, SPACE_MODULE, arrow->as.arrow.param, true);
        entry->state = ENTRY_DONE;
        entry->module = arg;
    }
    module_ascribe(ck, result, arrow->as.arrow.to, env_now(scope), true, like->span,
                   true);
    return module;
}

static Module *make_view(Checker *ck, const SigExp *sig, Env env, const View *like) {
    Env arrow_env = env;
    const SigExp *arrow = find_arrow(ck, sig, &arrow_env);
    if (arrow != NULL) return view_arrow(ck, arrow, arrow_env, like);
    if (like->impl != NULL && like->impl->kind != MODULE_STRUCT) {
        if (like->report) {
            Diag *diag = mismatch(
                ck, like, "%s is a parametric module that lacks its argument", "this");
            check_note(ck, diag, sig->span, "the signature is that of a plain module");
        }
        return error_module(ck, like->span);
    }
    Module *module = arena_new(ck->arena, Module);
    module->kind = MODULE_STRUCT;
    module->span = like->span;
    module->scope = scope_new(ck, (Env){0});
    module->scope->file = env.scope->file;
    View view = *like;
    view.scope = module->scope;
    view.mark = ++ck->counter;
    view.names = NULL;
    fill(ck, &view, sig, env);
    if (like->report) module_force_all(ck, module);
    return module;
}

Module *module_ascribe(Checker *ck, Module *module, const SigExp *sig, Env env,
                       bool opaque, Span span, bool report) {
    if (module->kind == MODULE_ERROR) return module;
    View like = {.impl = module,
                 .opaque = opaque,
                 .report = report,
                 .span = span,
                 .prefix = ck->prefix};
    return make_view(ck, sig, env, &like);
}

Module *signature_instance(Checker *ck, const SigExp *sig, Env env) {
    View like = {
        .opaque = true, .report = true, .span = sig->span, .prefix = ck->prefix};
    return make_view(ck, sig, env, &like);
}

void signature_check(Checker *ck, const SigExp *sig, Env env) {
    bool was_phantom = ck->is_phantom;
    ck->is_phantom = true;
    Env arrow_env = env;
    const SigExp *arrow = find_arrow(ck, sig, &arrow_env);
    if (arrow == NULL) {
        signature_instance(ck, sig, env);
    } else {
        Scope *scope = scope_new(ck, arrow_env);
        Module *arg = signature_instance(ck, arrow->as.arrow.from, arrow_env);
        if (arrow->as.arrow.param.sym != 0) {
            Entry *entry =
                scope_add(ck, scope, SPACE_MODULE, arrow->as.arrow.param, true);
            entry->state = ENTRY_DONE;
            entry->module = arg;
        }
        signature_check(ck, arrow->as.arrow.to, env_now(scope));
    }
    ck->is_phantom = was_phantom;
}
