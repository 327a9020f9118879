// SPDX-License-Identifier: Apache-2.0
//
// The whole program: one core function per entry, each with its own copy of what it
// calls, and the ports by which callers see it. Giving up is one jump back to here.
#include "lower/lower.h"

#include "lower/internal.h"

static const DiagKind diags[LOWER_DIAG_COUNT] = {
#define DIAG(name, code, format) {code, format},
#include "lower/diags.def"
#undef DIAG
};

// ---- giving up --------------------------------------------------------------------

// The innermost place of the running evaluation that lies in the user's own text.
static Span user_span(const Lower *l) {
    const Source *source = sources_find(&l->cx->sources, l->span);
    if (source != NULL && !source->is_lib) return l->span;
    for (CoreLoc loc = l->caller; loc != 0;) {
        const CorePlace *place = &l->program->places.data[loc];
        source = sources_find(&l->cx->sources, place->span);
        if (source != NULL && !source->is_lib) return place->span;
        loc = place->caller;
    }
    return l->span;
}

_Noreturn void lower_fail(Lower *l, LowerDiag kind, Str what) {
    diag_error(&l->cx->diags, user_span(l), &diags[kind], STR_ARG(what));
    longjmp(*l->bail, 1);
}

_Noreturn void lower_too_large(Lower *l, LowerDiag kind) {
    const FnInfo *most = NULL;
    for (uint32_t i = 0; i < l->infos.len; i++)
        if (most == NULL || l->infos.data[i]->work > most->work)
            most = l->infos.data[i];
    Diag *diag = diag_error(&l->cx->diags, user_span(l), &diags[kind]);
    if (most != NULL && kind == LOWER_TOO_LARGE) {
        Str name = lower_name(l, most->name);
        diag_note(&l->cx->diags, diag, most->span, "most of it comes from `%.*s`",
                  STR_ARG(name));
        diag_hint(&l->cx->diags, diag,
                  "put #[noinline] before a first-order function that is called from"
                  " many places");
    }
    longjmp(*l->bail, 1);
}

// ---- texts ------------------------------------------------------------------------

Str lower_name(const Lower *l, Sym name) {
    return sym_str(&l->cx->syms, name);
}

Str lower_format(const Lower *l, const char *format, ...) {
    StrBuf buf = strbuf(l->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&buf, format, args);
    va_end(args);
    return strbuf_done(&buf);
}

// A check's message has %0, %1, ... filled in; a quoted `x %2` becomes `x % 2`.
Str lower_quotable(const Lower *l, Str text) {
    StrBuf buf = strbuf(l->arena);
    for (size_t i = 0; i < text.len; i++) {
        strbuf_char(&buf, text.ptr[i]);
        bool is_digit =
            i + 1 < text.len && text.ptr[i + 1] >= '0' && text.ptr[i + 1] <= '9';
        if (text.ptr[i] == '%' && is_digit) strbuf_char(&buf, ' ');
    }
    return strbuf_done(&buf);
}

Str lower_text(const Lower *l, Span span) {
    const Source *source = sources_find(&l->cx->sources, span);
    if (source == NULL || span.end <= span.start) return STR("");
    size_t from = span.start - source->base, to = span.end - source->base;
    if (to > source->text.len) return STR("");
    return lower_quotable(l, (Str){source->text.ptr + from, to - from});
}

// ---- entries ----------------------------------------------------------------------

void lower_begin(Lower *l) {
    l->now = (Building){.b = core_builder(l->program)};
    map_init(&l->now.memo.map, l->arena);
    map_init(&l->now.constants, l->arena);
    l->info = NULL;
    l->caller = 0;
    l->here = 0;
}

static CorePort make_port(Lower *l, Str name, Type *type, uint32_t first,
                          bool is_unique) {
    StrBuf text = strbuf(l->arena);
    type_print(l->cx, type, &text);
    uint32_t count = lower_layout_of(l, NULL, type)->leaf_count;
    return (CorePort){.name = name,
                      .type = strbuf_done(&text),
                      .first = first,
                      .count = count,
                      .is_unique = is_unique};
}

static Sym param_name(const Binding *binding, const Type *fun, uint32_t index) {
    const TExp *body = binding->body;
    if (body->kind == TEXP_LAMBDA && index < body->as.lambda.params.len) {
        const TPat *pat = body->as.lambda.params.data[index];
        if (pat->kind == TPAT_NAME) return pat->as.name->name;
    }
    return fun->as.fun.param_name;
}

static bool is_tuple(const Lower *l, const Type *type) {
    if (type->kind != TYPE_RECORD || type->as.record.len < 2) return false;
    Str first = lower_name(l, type->as.record.data[0].name);
    return first.len == 1 && first.ptr[0] == '0';
}

// Each component of a tuple is a result of its own.
static void add_results(Lower *l, CoreFun *fun, Type *type, bool is_unique) {
    Type *resolved = type_resolve(type);
    if (!is_tuple(l, resolved)) {
        vec_push(l->arena, &fun->results, make_port(l, STR(""), type, 0, is_unique));
        return;
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < resolved->as.record.len; i++) {
        Type *field = resolved->as.record.data[i].type;
        CorePort port = make_port(l, STR(""), field, first, is_unique);
        first += port.count;
        vec_push(l->arena, &fun->results, port);
    }
}

static void set_results(Lower *l, CoreFun *fun, const CoreRefs *refs) {
    fun->result_types = arena_array(l->arena, CoreType, refs->len);
    for (uint32_t i = 0; i < refs->len; i++)
        fun->result_types[i] = lower_ref_type(l, refs->data[i]);
}

// Values given from outside are parameters too, behind the entry's own; they are what
// their definitions evaluate to.
static Value **add_held(Lower *l, CoreFun *fun, const BindingVec *held,
                        CoreRefs *params) {
    Value **values = arena_array(l->arena, Value *, held->len);
    for (uint32_t i = 0; i < held->len; i++) {
        Binding *binding = held->data[i];
        CorePort port = make_port(l, lower_name(l, binding->name), binding->type,
                                  params->len, false);
        const Layout *layout = lower_layout_of(l, NULL, binding->type);
        vec_push(l->arena, &fun->params, port);
        values[i] = lower_value_fresh(l, layout, binding->name, params);
    }
    return values;
}

static void bind_held(Lower *l, const BindingVec *held, Value *const *values) {
    for (uint32_t i = 0; i < held->len; i++) {
        Binding *binding = held->data[i];
        LType type = lower_ltype_of(l, lower_frame_new(l, NULL), binding->type);
        lower_value_set_dims(l, values[i], &type);
        map_set(&l->now.constants, (uintptr_t)binding, (uintptr_t)values[i]);
    }
}

static void lower_entry(Lower *l, const TEntry *entry, const BindingVec *held) {
    Binding *binding = entry->binding;
    CoreFun *fun = arena_new(l->arena, CoreFun);
    fun->name = entry->name;
    fun->is_entry = true;
    lower_begin(l);
    lower_at(l, entry->span);
    struct {
        Value **data;
        uint32_t len, cap;
    } args = {0};
    CoreRefs params = {0};
    bool is_unique = false;
    Type *type = type_reveal(binding->type);
    Type *result = binding->type;
    for (; type->kind == TYPE_FUN; type = type_reveal(result)) {
        Sym name = param_name(binding, type, args.len);
        CorePort port = make_port(l, lower_name(l, name), type->as.fun.param,
                                  params.len, type->as.fun.param_unique);
        const Layout *layout = lower_layout_of(l, NULL, type->as.fun.param);
        if (layout->has_fun) lower_fail(l, LOWER_FUNCTION, STR("an entry's parameter"));
        vec_push(l->arena, &fun->params, port);
        vec_push(l->arena, &args, lower_value_fresh(l, layout, name, &params));
        is_unique = type->as.fun.result_unique;
        result = type->as.fun.result;
    }
    add_results(l, fun, result, is_unique);
    Value **given = add_held(l, fun, held, &params);
    Mark mark = lower_body_open(l, params.data, params.len);
    bind_held(l, held, given);
    TypeVec no_types = {0};
    SizeVec no_sizes = {0};
    Frame *frame = lower_frame_new(l, NULL);
    Value *value =
        lower_eval_binding(l, frame, binding, &no_types, &no_sizes, entry->span);
    CoreRefs checks = {0};
    l->entry_checks = &checks;
    value = lower_apply(l, value, args.data, args.len, entry->span);
    for (uint32_t i = 0; l->entry_checks != NULL && i < checks.len; i++)
        value = lower_value_guard(l, value, checks.data[i]);
    l->entry_checks = NULL;
    CoreRefs results = lower_value_refs(l, value);
    fun->body = lower_body_close(l, mark, results.data, results.len);
    set_results(l, fun, &results);
    vec_push(l->arena, &l->program->funs, fun);
}

CoreProgram *lower_program(Cx *cx, Arena *arena, const TProgram *program) {
    Lower *l = arena_new(arena, Lower);
    jmp_buf bail;
    l->cx = cx;
    l->arena = arena;
    l->bail = &bail;
    l->program = core_program(cx, arena);
    map_init(&l->layout_index, arena);
    map_init(&l->info_index, arena);
    lower_intrinsics_index(l);
    if (setjmp(bail) != 0) return NULL;
    for (uint32_t i = 0; i < program->entries.len; i++)
        lower_entry(l, &program->entries.data[i], &program->held);
    return l->program;
}
