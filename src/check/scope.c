// SPDX-License-Identifier: Apache-2.0
//
// Scopes and names. Module level: entries that are elaborated when first looked at,
// each seeing only what was declared before it. Inside a definition: a stack of locals.
// Finding the near miss for "did you mean" is here too.
#include <string.h>

#include "check/checker.h"
#include "syntax/syntax.h"

static uint64_t key_of(Space space, Sym name) {
    return (uint64_t)name << 2 | (uint64_t)space;
}

static void *map_find(const Map *map, uint64_t key) {
    uint64_t value = 0;
    if (!map_get(map, key, &value)) return NULL;
    return (void *)(uintptr_t)value;
}

Scope *scope_new(Checker *ck, Env parent) {
    Scope *scope = arena_new(ck->arena, Scope);
    scope->parent = parent;
    scope->next_seq = 1;
    map_init(&scope->names, ck->arena);
    if (parent.scope != NULL) {
        scope->file = parent.scope->file;
        scope->is_lazy = parent.scope->is_lazy;
    }
    return scope;
}

Env env_now(Scope *scope) {
    return (Env){scope, scope->next_seq};
}

static void insert(Checker *ck, Scope *scope, Entry *entry) {
    uint64_t key = key_of(entry->space, entry->name);
    entry->seq = scope->next_seq++;
    entry->older = map_find(&scope->names, key);
    map_set(&scope->names, key, (uint64_t)(uintptr_t)entry);
    vec_push(ck->arena, &scope->entries, entry);
}

Entry *scope_add(Checker *ck, Scope *scope, Space space, Name name, bool is_hidden) {
    Entry *entry = arena_new(ck->arena, Entry);
    entry->space = space;
    entry->name = name.sym;
    entry->span = name.span;
    entry->is_hidden = is_hidden;
    entry->env = env_now(scope);
    insert(ck, scope, entry);
    return entry;
}

void scope_alias(Checker *ck, Scope *scope, Entry *target) {
    Entry *entry = arena_new(ck->arena, Entry);
    entry->space = target->space;
    entry->name = target->name;
    entry->span = target->span;
    entry->target = target;
    insert(ck, scope, entry);
}

static Module *open_module(Checker *ck, Open *open) {
    if (open->module != NULL || open->busy) return open->module;
    open->busy = true;
    Module *module = module_eval(ck, open->exp, open->env);
    open->busy = false;
    open->module = module;
    return module;
}

static bool text_has(const LibFile *lib, const char *what, bool whole) {
    for (const char *at = lib->text; (at = strstr(at, what)) != NULL;) {
        at += strlen(what);
        bool goes_on = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                       (*at >= '0' && *at <= '9') || *at == '_' || *at == '\'';
        if (!whole || !goes_on) return true;
    }
    return false;
}

static bool text_defines(Checker *ck, const LibFile *lib, Space space, Sym name) {
    static const char *const words[] = {"def ", "type ", "module ", "type "};
    StrBuf buf = strbuf(ck->arena);
    Str text = sym_str(&ck->cx->syms, name);
    bool is_word = text.len > 0 && (text.ptr[0] == '_' || (text.ptr[0] | 32) >= 'a') &&
                   (text.ptr[0] | 32) <= 'z';
    strbuf_cstr(&buf, is_word ? words[space] : "def (");
    strbuf_str(&buf, text);
    if (!is_word) strbuf_char(&buf, ')');
    strbuf_char(&buf, '\0');
    return text_has(lib, strbuf_done(&buf).ptr, is_word);
}

// A library file is not read to find that it does not define a name: its text tells.
static bool may_define(Checker *ck, const Scope *scope, Open *open, Space space,
                       Sym name) {
    if (open->module != NULL || open->exp->kind != MOD_IMPORT) return true;
    uint64_t key = key_of(space, name), unused;
    if (open->lacks.slots != NULL && map_get(&open->lacks, key, &unused)) return false;
    const LibFile *lib = lib_find(open->exp->as.import);
    if (lib == NULL || lib->has_open || text_defines(ck, lib, space, name)) return true;
    if (open->lacks.slots == NULL) map_init(&open->lacks, scope->names.arena);
    map_set(&open->lacks, key, 1);
    return false;
}

// Looks in one scope only, at what was entered before limit.
static Entry *find_here(Checker *ck, Scope *scope, uint32_t limit, bool from_outside,
                        Space space, Sym name) {
    Entry *entry = map_find(&scope->names, key_of(space, name));
    while (entry != NULL && (entry->seq >= limit || (from_outside && entry->is_hidden)))
        entry = entry->older;
    for (uint32_t i = scope->opens.len; i-- > 0;) {
        uint32_t seq = scope->opens.data[i].seq;
        if (seq >= limit || (from_outside && scope->opens.data[i].is_hidden)) continue;
        if (entry != NULL && entry->seq > seq) break;
        if (!may_define(ck, scope, &scope->opens.data[i], space, name)) continue;
        Module *module = open_module(ck, &scope->opens.data[i]);
        Entry *found = module == NULL ? NULL : module_find(ck, module, space, name);
        if (found != NULL) return found;
    }
    return entry;
}

static Entry *behind(Entry *entry) {
    while (entry != NULL && entry->target != NULL) entry = entry->target;
    return entry;
}

Entry *module_find(Checker *ck, const Module *module, Space space, Sym name) {
    if (module->kind != MODULE_STRUCT) return NULL;
    return behind(find_here(ck, module->scope, UINT32_MAX, true, space, name));
}

Entry *scope_find(Checker *ck, Env env, Space space, Sym name) {
    while (env.scope != NULL) {
        Entry *entry = find_here(ck, env.scope, env.limit, false, space, name);
        if (entry != NULL) return behind(entry);
        env = env.scope->parent;
    }
    return NULL;
}

static void report_cycle(Checker *ck, Entry *entry) {
    static const char *const what[SPACE_COUNT] = {"definition", "type", "module",
                                                  "module type"};
    Diag *diag = check_error(ck, CHECK_CYCLE, ck->here, what[entry->space],
                             sym_show(ck, entry->name));
    check_note(ck, diag, entry->span, "it is defined here");
}

void entry_force(Checker *ck, Entry *entry) {
    entry->used = true;
    if (entry->state == ENTRY_DONE) return;
    if (entry->state == ENTRY_BUSY) {
        report_cycle(ck, entry);
        return;
    }
    if (!deep_enough(ck, entry->span)) return;
    entry->state = ENTRY_BUSY;
    Frame *frame = ck->frame;
    Span here = ck->here;
    SizeMode mode = ck->size_mode;
    uint32_t reveal = ck->reveal_from;
    Clash clash = ck->clash;
    uint32_t visits = ck->visits;
    ck->size_mode = SIZES_STRICT;
    ck->reveal_from = UINT32_MAX;
    if (entry->decl != NULL) entry->decl = syntax_whole(ck->cx, entry->decl);
    entry->force(ck, entry);
    ck->frame = frame;
    ck->here = here;
    ck->size_mode = mode;
    ck->reveal_from = reveal;
    ck->clash = clash;
    ck->visits = visits;
    entry->state = ENTRY_DONE;
}

// ---- locals ------------------------------------------------------------------------

Locals *locals_new(Checker *ck) {
    Locals *locals = arena_new(ck->arena, Locals);
    map_init(&locals->names, ck->arena);
    return locals;
}

uint32_t locals_mark(const Checker *ck) {
    return ck->frame->locals->trail.len;
}

void locals_release(Checker *ck, uint32_t mark) {
    Locals *locals = ck->frame->locals;
    while (locals->trail.len > mark) {
        Local *local = locals->trail.data[--locals->trail.len];
        map_set(&locals->names, key_of(local->space, local->name),
                (uint64_t)(uintptr_t)local->older);
        warn_unused(ck, local);
    }
}

static Local *push_local(Checker *ck, Space space, Name name) {
    Locals *locals = ck->frame->locals;
    Local *local = arena_new(ck->arena, Local);
    local->space = space;
    local->name = name.sym;
    local->span = name.span;
    local->depth = locals->trail.len;
    local->older = map_find(&locals->names, key_of(space, name.sym));
    map_set(&locals->names, key_of(space, name.sym), (uint64_t)(uintptr_t)local);
    vec_push(ck->arena, &locals->trail, local);
    return local;
}

Local *local_value(Checker *ck, Name name, Binding *binding) {
    Local *local = push_local(ck, SPACE_VALUE, name);
    local->value = binding;
    return local;
}

Local *local_type(Checker *ck, Name name, TypeCon *type) {
    Local *local = push_local(ck, SPACE_TYPE, name);
    local->type = type;
    return local;
}

void local_open(Checker *ck, Module *module) {
    Locals *locals = ck->frame->locals;
    vec_push(ck->arena, &locals->opens, module);
    vec_push(ck->arena, &locals->open_depths, locals->trail.len);
}

void local_close(Checker *ck) {
    Locals *locals = ck->frame->locals;
    locals->opens.len--;
    locals->open_depths.len--;
}

static bool find_local(Checker *ck, Space space, Sym name, Found *found_out) {
    if (ck->frame == NULL) return false;
    Locals *locals = ck->frame->locals;
    Local *local = map_find(&locals->names, key_of(space, name));
    for (uint32_t i = locals->opens.len; i-- > 0;) {
        if (local != NULL && local->depth >= locals->open_depths.data[i]) break;
        Entry *entry = module_find(ck, locals->opens.data[i], space, name);
        if (entry == NULL) continue;
        *found_out = (Found){NULL, entry};
        return true;
    }
    if (local == NULL) return false;
    local->used = true;
    *found_out = (Found){local, NULL};
    return true;
}

// ---- qualified names ---------------------------------------------------------------

static Sym part_of(const QualName *name, uint32_t index) {
    return index < name->quals.len ? name->quals.data[index].sym : name->name.sym;
}

static Env here_env(const Checker *ck) {
    return ck->frame->env;
}

bool name_try(Checker *ck, Space space, const QualName *name, uint32_t count,
              Found *found_out) {
    if (count == 1) {
        if (find_local(ck, space, part_of(name, 0), found_out)) {
            if (found_out->entry != NULL) entry_force(ck, found_out->entry);
            return true;
        }
        Entry *entry = scope_find(ck, here_env(ck), space, part_of(name, 0));
        if (entry == NULL) return false;
        entry_force(ck, entry);
        *found_out = (Found){NULL, entry};
        return true;
    }
    Found found;
    if (!find_local(ck, SPACE_MODULE, part_of(name, 0), &found))
        found =
            (Found){NULL, scope_find(ck, here_env(ck), SPACE_MODULE, part_of(name, 0))};
    for (uint32_t i = 1; i < count; i++) {
        if (found.entry == NULL) return false;
        entry_force(ck, found.entry);
        Module *module = found.entry->module;
        if (module == NULL) return false;
        found.entry = module_find(ck, module, i + 1 < count ? SPACE_MODULE : space,
                                  part_of(name, i));
    }
    if (found.entry == NULL) return false;
    entry_force(ck, found.entry);
    *found_out = found;
    return true;
}

bool name_lookup(Checker *ck, Space space, const QualName *name, Found *found_out) {
    ck->here = name->span;
    if (name_try(ck, space, name, name->quals.len + 1, found_out)) return true;
    report_unknown(ck, space, name);
    return false;
}

Module *module_lookup(Checker *ck, const QualName *name) {
    Found found;
    if (!name_lookup(ck, SPACE_MODULE, name, &found)) return NULL;
    Module *module = found.entry->module;
    return module == NULL || module->kind == MODULE_ERROR ? NULL : module;
}

// ---- unknown names -----------------------------------------------------------------

void near_try(const Checker *ck, Near *near, Sym candidate) {
    Str want = sym_str(&ck->cx->syms, near->wanted);
    Str have = sym_str(&ck->cx->syms, candidate);
    unsigned limit = want.len <= 4 ? 1 : want.len <= 7 ? 2 : 3;
    if (want.len == 1 && have.len == 1) return;
    if (near->best != 0 && near->distance <= limit) limit = near->distance - 1;
    unsigned distance = str_distance(want, have, limit);
    if (distance > limit || distance >= want.len) return;
    near->best = candidate;
    near->distance = distance;
}

static void near_scope(Checker *ck, Near *near, Space space, Scope *scope,
                       uint32_t limit, bool from_outside, int depth) {
    if (depth > 8) return;
    for (uint32_t i = 0; i < scope->entries.len; i++) {
        const Entry *entry = scope->entries.data[i];
        if (entry->space != space || entry->seq >= limit) continue;
        if (from_outside && entry->is_hidden) continue;
        near_try(ck, near, entry->name);
    }
    for (uint32_t i = 0; i < scope->opens.len; i++) {
        if (scope->opens.data[i].seq >= limit) continue;
        if (from_outside && scope->opens.data[i].is_hidden) continue;
        Module *module = open_module(ck, &scope->opens.data[i]);
        if (module != NULL && module->kind == MODULE_STRUCT)
            near_scope(ck, near, space, module->scope, UINT32_MAX, true, depth + 1);
    }
}

static void near_names(Checker *ck, Near *near, Space space) {
    const Locals *locals = ck->frame->locals;
    for (uint32_t i = 0; i < locals->trail.len; i++)
        if (locals->trail.data[i]->space == space)
            near_try(ck, near, locals->trail.data[i]->name);
    for (Env env = ck->frame->env; env.scope != NULL; env = env.scope->parent)
        near_scope(ck, near, space, env.scope, env.limit, false, 0);
}

static const char *quals_show(Checker *ck, const QualName *name, uint32_t count) {
    StrBuf buf = strbuf(ck->arena);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_char(&buf, '.');
        strbuf_str(&buf, sym_str(&ck->cx->syms, name->quals.data[i].sym));
    }
    return str_terminated(ck->arena, strbuf_done(&buf));
}

static bool is_defining(const Checker *ck, Sym name) {
    for (const Frame *frame = ck->frame; frame != NULL; frame = frame->outer)
        for (uint32_t i = 0; i < frame->defining.len; i++)
            if (frame->defining.data[i] == name) return true;
    return false;
}

static void report_in_module(Checker *ck, Space space, const QualName *name,
                             const char *what) {
    // Which qualifier is the first that is not a module?
    uint32_t known = 0;
    Module *module = NULL;
    Found found = {0};
    while (known < name->quals.len) {
        QualName part = *name;
        if (!name_try(ck, SPACE_MODULE, &part, known + 1, &found)) break;
        module = found.entry->module;
        if (module == NULL || module->kind == MODULE_ERROR) return; // reported there
        known++;
    }
    if (known == name->quals.len && module->kind == MODULE_STRUCT) {
        Diag *diag = check_error(ck, CHECK_UNKNOWN_MEMBER, name->span,
                                 quals_show(ck, name, known), what,
                                 sym_show(ck, name->name.sym));
        Near near = {.wanted = name->name.sym};
        near_scope(ck, &near, space, module->scope, UINT32_MAX, true, 0);
        if (near.best != 0)
            check_hint(ck, diag, "did you mean `%s.%s`?", quals_show(ck, name, known),
                       sym_show(ck, near.best));
        return;
    }
    if (known == name->quals.len) {
        Diag *diag = check_error(ck, CHECK_PARAMETRIC_MEMBER, name->span,
                                 quals_show(ck, name, known));
        check_hint(ck, diag, "apply it first: `module m = %s argument`",
                   quals_show(ck, name, known));
        return;
    }
    Name first = name->quals.data[known];
    Diag *diag;
    Near near = {.wanted = first.sym};
    if (known > 0) {
        diag =
            check_error(ck, CHECK_UNKNOWN_MEMBER, first.span,
                        quals_show(ck, name, known), "module", sym_show(ck, first.sym));
        if (module->kind == MODULE_STRUCT)
            near_scope(ck, &near, SPACE_MODULE, module->scope, UINT32_MAX, true, 0);
    } else {
        diag = check_error(ck, CHECK_UNKNOWN_NAME, first.span,
                           space == SPACE_VALUE ? "name" : "module",
                           sym_show(ck, first.sym));
        near_names(ck, &near, SPACE_MODULE);
        if (near.best == 0 && space == SPACE_VALUE) near_names(ck, &near, SPACE_VALUE);
    }
    if (near.best != 0)
        check_hint(ck, diag, "did you mean `%s`?", sym_show(ck, near.best));
}

static Name declared_name(const Decl *decl, Space space) {
    static const Name none = {0};
    while (decl->kind == DECL_LOCAL) decl = decl->as.local;
    if (decl->kind == DECL_VAL && space == SPACE_VALUE) return decl->as.val.name;
    if (decl->kind == DECL_TYPE && space == SPACE_TYPE) return decl->as.type.name;
    if (decl->kind == DECL_MODULE && space == SPACE_MODULE) return decl->as.module.name;
    if (decl->kind == DECL_MODULE_TYPE && space == SPACE_SIG)
        return decl->as.module_type.name;
    return none;
}

// Is it defined, but too late?
static bool note_later(Checker *ck, Diag *diag, Space space, Sym sym) {
    for (Env env = ck->frame->env; env.scope != NULL; env = env.scope->parent) {
        const DeclVec *decls = env.scope->decls;
        for (uint32_t i = 0; decls != NULL && i < decls->len; i++) {
            Name name = declared_name(decls->data[i], space);
            if (name.sym != sym) continue;
            bool inside = name.span.start < ck->here.start &&
                          ck->here.start < decls->data[i]->span.end;
            if (inside) {
                check_hint(ck, diag, "a definition cannot refer to itself");
                return true;
            }
            check_note(ck, diag, name.span, "`%s` is defined here", sym_show(ck, sym));
            check_hint(ck, diag, "a name can be used only after its definition");
            return true;
        }
    }
    return false;
}

// Names that other languages give to functions. A numeric function is in the modules
// of the types only.
static bool hint_value(Checker *ck, Diag *diag, Sym sym) {
    static const char *const others[][2] = {{"not", "!"},        {"len", "length"},
                                            {"size", "length"},  {"fold", "reduce"},
                                            {"zipWith", "map2"}, {"range", "iota"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!str_eq(sym_str(&ck->cx->syms, sym), str_of(others[i][0]))) continue;
        check_hint(ck, diag, "did you mean `%s`?", others[i][1]);
        return true;
    }
    if (ck->prelude_module == NULL) return false;
    Entry *f64 = module_find(ck, ck->prelude_module, SPACE_MODULE,
                             sym_cstr(&ck->cx->syms, "f64"));
    if (f64 == NULL) return false;
    entry_force(ck, f64);
    if (module_find(ck, f64->module, SPACE_VALUE, sym) == NULL) return false;
    check_hint(ck, diag, "it is in the modules of the scalar types, such as `f64.%s`",
               sym_show(ck, sym));
    return true;
}

// Names that other languages give to types.
static bool hint_type(Checker *ck, Diag *diag, Str name) {
    static const char *const others[][2] = {
        {"int", "i32"},     {"integer", "i32"},  {"long", "i64"}, {"float", "f32"},
        {"real", "f64"},    {"double", "f64"},   {"byte", "u8"},  {"char", "u8"},
        {"string", "[]u8"}, {"boolean", "bool"}, {"usize", "i64"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!str_eq(name, str_of(others[i][0]))) continue;
        check_hint(ck, diag, "did you mean `%s`?", others[i][1]);
        return true;
    }
    if (name.len != 1) return false;
    check_hint(ck, diag, "a type parameter `'%.*s` comes before the other parameters",
               STR_ARG(name));
    return true;
}

void report_unknown(Checker *ck, Space space, const QualName *name) {
    static const char *const kinds[SPACE_COUNT] = {"name", "type", "module",
                                                   "module type"};
    if (ck->is_broken) return; // it may be in what was not read
    if (name->quals.len > 0) {
        report_in_module(ck, space, name,
                         space == SPACE_VALUE ? "value" : kinds[space]);
        return;
    }
    Sym sym = name->name.sym;
    const char *text = sym_show(ck, sym);
    if (space == SPACE_VALUE && is_defining(ck, sym)) {
        Diag *diag = check_error(ck, CHECK_RECURSION, name->span, text);
        check_hint(ck, diag, "functions cannot be recursive; write a `loop`");
        return;
    }
    Diag *diag = check_error(ck, CHECK_UNKNOWN_NAME, name->span, kinds[space], text);
    for (int other = 0; other < SPACE_COUNT; other++) {
        Found found;
        if ((Space)other == space || !name_try(ck, (Space)other, name, 1, &found))
            continue;
        static const char *const are[SPACE_COUNT] = {"a value", "a type", "a module",
                                                     "a module type"};
        check_hint(ck, diag, "`%s` is %s", text, are[other]);
        return;
    }
    if (note_later(ck, diag, space, sym)) return;
    if (space == SPACE_TYPE && hint_type(ck, diag, sym_str(&ck->cx->syms, sym))) return;
    if (space == SPACE_VALUE && hint_value(ck, diag, sym)) return;
    Near near = {.wanted = sym};
    near_names(ck, &near, space);
    if (near.best != 0)
        check_hint(ck, diag, "did you mean `%s`?", sym_show(ck, near.best));
}

// ---- frames and bindings -----------------------------------------------------------

Sym join_names(Checker *ck, Sym prefix, Sym name) {
    StrBuf buf = strbuf(ck->arena);
    strbuf_str(&buf, sym_str(&ck->cx->syms, prefix));
    strbuf_char(&buf, '.');
    strbuf_str(&buf, sym_str(&ck->cx->syms, name));
    return sym_intern(&ck->cx->syms, strbuf_done(&buf));
}

Frame *frame_new(Checker *ck, Env env, Global *global) {
    Frame *frame = arena_new(ck->arena, Frame);
    frame->outer = NULL;
    frame->locals = locals_new(ck);
    frame->env = env;
    frame->global = global;
    frame->mark = ++ck->counter;
    frame->errors = ck->cx->diags.error_count;
    frame->owner = ++ck->next_owner;
    frame->is_lib =
        env.scope != NULL && env.scope->file != NULL && env.scope->file->is_lib;
    return frame;
}

Binding *binding_new(Checker *ck, BindingKind kind, Name name, Type *type) {
    Binding *binding = arena_new(ck->arena, Binding);
    binding->kind = kind;
    binding->name = name.sym;
    binding->span = name.span;
    binding->type = type;
    binding->id = ++ck->counter;
    return binding;
}
