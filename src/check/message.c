// SPDX-License-Identifier: Apache-2.0
//
// What the checker says. Most of it is the explanation of a failed unification: what
// was expected, what was found, and why the two do not go together.
#include <string.h>

#include "check/checker.h"

const DiagKind check_diags[CHECK_DIAG_COUNT] = {
#define DIAG(name, code, format) {code, format},
#include "check/diags.def"
#undef DIAG
};

// The same kinds for messages that are text already.
static const DiagKind text_kinds[CHECK_DIAG_COUNT] = {
#define DIAG(name, code, format) {code, "%s"},
#include "check/diags.def"
#undef DIAG
};

static const char *format_kind(Checker *ck, CheckDiag kind, va_list args) {
    StrBuf buf = strbuf(ck->arena);
    strbuf_vprintf(&buf, check_diags[kind].format, args);
    return str_terminated(ck->arena, strbuf_done(&buf));
}

Diag *check_error(Checker *ck, CheckDiag kind, Span span, ...) {
    va_list args;
    va_start(args, span);
    const char *text = format_kind(ck, kind, args);
    va_end(args);
    return diag_error(&ck->cx->diags, span, &text_kinds[kind], text);
}

Diag *check_warning(Checker *ck, CheckDiag kind, Span span, ...) {
    va_list args;
    va_start(args, span);
    const char *text = format_kind(ck, kind, args);
    va_end(args);
    return diag_warning(&ck->cx->diags, span, &text_kinds[kind], text);
}

static const char *format_text(Checker *ck, const char *format, va_list args) {
    StrBuf buf = strbuf(ck->arena);
    strbuf_vprintf(&buf, format, args);
    return str_terminated(ck->arena, strbuf_done(&buf));
}

void check_label(Checker *ck, Diag *diag, const char *format, ...) {
    va_list args;
    va_start(args, format);
    diag_label(&ck->cx->diags, diag, "%s", format_text(ck, format, args));
    va_end(args);
}

// Places in the library mean nothing to a user: the note is then text alone.
void check_note(Checker *ck, Diag *diag, Span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = format_text(ck, format, args);
    va_end(args);
    const Source *source = sources_find(&ck->cx->sources, span);
    if (source == NULL || source->is_lib) span = (Span){0, 0};
    diag_note(&ck->cx->diags, diag, span, "%s", text);
}

void check_hint(Checker *ck, Diag *diag, const char *format, ...) {
    va_list args;
    va_start(args, format);
    diag_hint(&ck->cx->diags, diag, "%s", format_text(ck, format, args));
    va_end(args);
}

bool deep_enough(Checker *ck, Span span) {
    if (!stack_is_low(&ck->cx->stack)) return true;
    if (!ck->reported_deep) {
        ck->reported_deep = true;
        Diag *diag = check_error(ck, CHECK_TOO_DEEP, span);
        check_hint(ck, diag, "split the expression into several definitions");
    }
    return false;
}

bool not_supported(Checker *ck, Span span, const char *what) {
    check_error(ck, CHECK_NOT_SUPPORTED, span, what);
    return false;
}

void report_large(Checker *ck) {
    if (ck->reported_large) return;
    ck->reported_large = true;
    Diag *diag = check_error(ck, CHECK_TYPE_LARGE, ck->here, MOST_WEIGHT);
    check_hint(ck, diag,
               "does some definition pair a value with itself again and again?");
}

void report_function(Checker *ck, Span span, Type *type, const char *where) {
    Diag *diag = check_error(ck, CHECK_FUNCTION_PLACE, span, where);
    if (type_resolve(type)->kind != TYPE_VAR)
        check_label(ck, diag, "this has the type %s", type_show(ck, type));
    else check_label(ck, diag, "%s may be a function type", type_show(ck, type));
}

// ---- mismatches --------------------------------------------------------------------

static void note_sizes(Checker *ck, Diag *diag, Span span) {
    Size *sizes[2] = {size_resolve(ck->clash.size_a), size_resolve(ck->clash.size_b)};
    for (int i = 0; i < 2; i++) {
        Span origin = sizes[i]->origin;
        if (sizes[i]->kind == SIZE_NAME) origin = sizes[i]->name->span;
        const Source *source = sources_find(&ck->cx->sources, origin);
        if (source == NULL || source->is_lib) continue;
        if (origin.end == 0 || (origin.start == span.start && origin.end == span.end))
            continue;
        if (sizes[i]->kind == SIZE_NAME)
            check_note(ck, diag, origin, "%s is bound here", size_show(ck, sizes[i]));
        else
            check_note(ck, diag, origin, "the size %s comes from here",
                       size_show(ck, sizes[i]));
    }
}

// How a message tells two types apart: in full where abbreviations would not.
typedef struct Shown {
    const char *expected, *found;
    bool in_full;
} Shown;

static Shown show_both(Checker *ck, Type *expected, Type *found) {
    Shown shown = {type_show(ck, expected), type_show(ck, found), false};
    if (strcmp(shown.expected, shown.found) != 0) return shown;
    return (Shown){type_show_whole(ck, expected), type_show_whole(ck, found), true};
}

static Diag *report_sizes(Checker *ck, Span span, Type *expected, Type *found) {
    Clash clash = ck->clash;
    Diag *diag = check_error(ck, CHECK_SIZES, span, size_show(ck, clash.size_a),
                             size_show(ck, clash.size_b));
    Shown shown = show_both(ck, expected, found);
    check_note(ck, diag, (Span){0, 0}, "expected %s, found %s", shown.expected,
               shown.found);
    note_sizes(ck, diag, span);
    int64_t x, y;
    if (!size_is_const(ck, clash.size_a, &x) || !size_is_const(ck, clash.size_b, &y))
        check_hint(ck, diag,
                   "if they are always equal, say so with `:>`, and the program "
                   "checks it when it runs");
    return diag;
}

// What an abbreviation in the message stands for.
static void note_written(Checker *ck, Diag *diag, Type *type) {
    const char *shown = type_show(ck, type), *whole = type_show_whole(ck, type);
    if (strcmp(shown, whole) == 0) return;
    check_note(ck, diag, (Span){0, 0}, "%s is %s", shown, whole);
}

static Diag *report_kinds(Checker *ck, Span span, Type *expected, Type *found) {
    Clash clash = ck->clash;
    Shown shown = show_both(ck, expected, found);
    Diag *diag = check_error(ck, CHECK_MISMATCH, span, shown.expected, shown.found);
    Type *outer = type_resolve(expected), *other = type_resolve(found);
    bool inner = clash.a != NULL && clash.b != NULL && clash.a != outer &&
                 clash.b != outer && clash.a != other;
    if (inner)
        check_note(ck, diag, (Span){0, 0}, "%s is not %s", type_show(ck, clash.a),
                   type_show(ck, clash.b));
    if (!shown.in_full) {
        note_written(ck, diag, expected);
        note_written(ck, diag, found);
    }
    if (clash.kind == CLASH_RIGID) {
        Type *param = clash.a->kind == TYPE_VAR ? clash.a : clash.b;
        if (param != NULL && param->kind == TYPE_VAR && param->as.var != NULL)
            check_note(ck, diag, param->as.var->origin,
                       "%s stands for whatever type the caller chooses",
                       type_show(ck, param));
    }
    if (outer->kind == TYPE_SCALAR && other->kind == TYPE_SCALAR &&
        outer->as.scalar != other->as.scalar && outer->as.scalar != SCALAR_BOOL &&
        other->as.scalar != SCALAR_BOOL)
        check_hint(ck, diag, "`%s.%s` converts it", scalar_info[outer->as.scalar].name,
                   scalar_info[other->as.scalar].name);
    if (other->kind == TYPE_FUN && outer->kind != TYPE_FUN && !type_is_open(outer))
        check_hint(ck, diag, "this is a function: is an argument missing?");
    return diag;
}

// How a function of so many arguments begins, if they are few, as a pair or one by one.
static const char *lambda_of(uint32_t count, bool as_tuple) {
    if (count == 2) return as_tuple ? "(x, y)" : "x y";
    if (count == 3) return as_tuple ? "(x, y, z)" : "x y z";
    return NULL;
}

static bool is_tuple_of(Checker *ck, Type *type, uint32_t count) {
    type = type_reveal(type);
    return type->kind == TYPE_RECORD && type->as.record.len == count &&
           record_is_tuple(ck, &type->as.record);
}

// Two functions, one of which takes more arguments than the other.
static Diag *report_arity(Checker *ck, Span span, Type *expected, Type *found) {
    expected = type_resolve(expected);
    uint32_t wants = type_arity(expected), takes = type_arity(found);
    Diag *diag = check_error(ck, CHECK_ARITY, span, wants, wants == 1 ? "" : "s", takes,
                             type_show(ck, found));
    Type *param = expected->as.fun.param; // a variable may have stood for a tuple
    bool wants_tuple = wants == 1 && lambda_of(takes, true) != NULL &&
                       (param->kind == TYPE_VAR || is_tuple_of(ck, param, takes));
    bool takes_tuple = takes == 1 && lambda_of(wants, false) != NULL &&
                       is_tuple_of(ck, type_resolve(found)->as.fun.param, wants);
    if (wants_tuple)
        check_hint(ck, diag, "a function of one tuple is written `\\%s -> ...`",
                   lambda_of(takes, true));
    if (takes_tuple)
        check_hint(ck, diag, "a function of %u arguments is written `\\%s -> ...`",
                   wants, lambda_of(wants, false));
    return diag;
}

static Diag *report_scalars(Checker *ck, Span span, Type *expected, Type *found) {
    const Constraint *constraint = ck->clash.constraint;
    Type *bad = ck->clash.a;
    if (found == NULL) found = bad;
    // A number where none is wanted, or an operator given what it does not work on?
    bool works = constraint != NULL && bad->kind == TYPE_SCALAR &&
                 (constraint->operator_scalars & SCALARS(bad->as.scalar));
    if (constraint == NULL || constraint->cause == 0 || type_is_open(found) || works) {
        Diag *diag = check_error(ck, CHECK_MISMATCH, span, type_show(ck, expected),
                                 type_show(ck, found));
        if (constraint != NULL && constraint->cause != 0 && !works)
            check_note(ck, diag, constraint->span, "it comes from `%s`",
                       sym_show(ck, constraint->cause));
        return diag;
    }
    const char *op = sym_show(ck, constraint->cause);
    return check_error(ck, CHECK_NO_OPERATOR, span, op, type_show(ck, bad));
}

static Diag *report_field(Checker *ck, Span span) {
    Type *type = ck->clash.a;
    Sym name = ck->clash.name;
    Diag *diag =
        check_error(ck, CHECK_NO_FIELD, span, type_show(ck, type), sym_show(ck, name));
    if (type->kind != TYPE_RECORD) return diag;
    note_written(ck, diag, type);
    Near near = {.wanted = name};
    for (uint32_t i = 0; i < type->as.record.len; i++)
        near_try(ck, &near, type->as.record.data[i].name);
    if (near.best != 0 && !record_is_tuple(ck, &type->as.record))
        check_hint(ck, diag, "did you mean `%s`?", sym_show(ck, near.best));
    return diag;
}

static Diag *report_ctor(Checker *ck, Span span) {
    Type *type = ck->clash.a;
    Sym name = ck->clash.name;
    Diag *diag =
        check_error(ck, CHECK_NO_CTOR, span, type_show(ck, type), sym_show(ck, name));
    if (type->kind != TYPE_SUM) return diag;
    note_written(ck, diag, type);
    Near near = {.wanted = name};
    for (uint32_t i = 0; i < type->as.sum.len; i++)
        near_try(ck, &near, type->as.sum.data[i].name);
    if (near.best != 0)
        check_hint(ck, diag, "did you mean `#%s`?", sym_show(ck, near.best));
    return diag;
}

Diag *report_mismatch(Checker *ck, Span span, Type *expected, Type *found,
                      const char *what) {
    Diag *diag = NULL;
    Clash clash = ck->clash;
    if (found != NULL && type_arities_differ(expected, found)) {
        diag = report_arity(ck, span, expected, found);
        if (what != NULL) check_label(ck, diag, "%s", what);
        return diag;
    }
    switch (clash.kind) {
    case CLASH_NONE:
    case CLASH_KINDS:
    case CLASH_RIGID:
        if (found == NULL) found = expected;
        diag = report_kinds(ck, span, expected, found);
        break;
    case CLASH_SIZES: diag = report_sizes(ck, span, expected, found); break;
    case CLASH_SCALARS: diag = report_scalars(ck, span, expected, found); break;
    case CLASH_OCCURS:
        diag = check_error(ck, CHECK_INFINITE, span, type_show(ck, clash.a),
                           type_show(ck, clash.b));
        break;
    case CLASH_EQUALITY:
        diag = check_error(
            ck, CHECK_NO_EQUALITY, span,
            clash.constraint->cause == 0 ? "==" : sym_show(ck, clash.constraint->cause),
            type_show(ck, clash.a));
        break;
    case CLASH_NO_FIELD: diag = report_field(ck, span); break;
    case CLASH_NO_CTOR: diag = report_ctor(ck, span); break;
    case CLASH_PAYLOAD:
        diag = check_error(ck, CHECK_PAYLOAD, span, sym_show(ck, clash.name),
                           type_show(ck, clash.a));
        break;
    case CLASH_FUNCTION:
        diag = check_error(ck, CHECK_FUNCTION_DATA, span,
                           type_show(ck, clash.b != NULL ? clash.b : clash.a));
        break;
    case CLASH_LARGE:
        report_large(ck);
        return check_error(ck, CHECK_TYPE_LARGE, ck->here, MOST_WEIGHT);
    }
    if (what != NULL) check_label(ck, diag, "%s", what);
    return diag;
}

bool expect(Checker *ck, Span span, Type *expected, Type *found, const char *what) {
    ck->clash = (Clash){0};
    ck->here = span;
    if (type_unify(ck, expected, found)) return true;
    report_mismatch(ck, span, expected, found, what);
    return false;
}

void warn_unused(Checker *ck, const Local *local) {
    if (ck->cx->diags.error_count > ck->frame->errors) return;
    if (local->used || local->space != SPACE_VALUE || ck->frame->is_lib ||
        local->name == 0)
        return;
    Str name = sym_str(&ck->cx->syms, local->name);
    if (name.len == 0 || name.ptr[0] == '_') return;
    Diag *diag =
        check_warning(ck, CHECK_UNUSED_NAME, local->span, sym_show(ck, local->name));
    check_hint(ck, diag, "write `_%s` if that is meant", sym_show(ck, local->name));
}
