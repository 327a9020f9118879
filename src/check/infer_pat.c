// SPDX-License-Identifier: Apache-2.0
//
// Patterns against types. Names are bound as locals as they are met; a literal's bits
// and a constructor's index wait for the end of the definition.
#include "check/literal.h"

static TPat *make(Checker *ck, TPatKind kind, Span span, Type *type) {
    TPat *pat = arena_new(ck->arena, TPat);
    pat->kind = kind;
    pat->span = span;
    pat->type = type;
    return pat;
}

static void note_name(Checker *ck, PatCx *pcx, Name name) {
    for (uint32_t i = 0; i < pcx->names.len; i++) {
        if (pcx->names.data[i].sym != name.sym) continue;
        Diag *diag =
            check_error(ck, CHECK_DUPLICATE_NAME, name.span, sym_show(ck, name.sym));
        check_note(ck, diag, pcx->names.data[i].span, "it is first bound here");
    }
    vec_push(ck->arena, &pcx->names, name);
}

static TPat *check_name(Checker *ck, Name name, Type *type, PatCx *pcx) {
    TPat *pat = make(ck, TPAT_NAME, name.span, type);
    note_name(ck, pcx, name);
    pat->as.name = binding_new(ck, BIND_LOCAL, name, type);
    pat->as.name->is_unique = pcx->diet != NULL && pcx->diet->consumed;
    pat->as.name->check_data = (void *)pcx->diet;
    Local *local = local_value(ck, name, pat->as.name);
    if (pcx->quiet) local->used = true;
    return pat;
}

// The type of a part if the type is already known to be a record with that field.
static Type *known_field(Type *type, Sym name) {
    type = type_resolve(type);
    if (type->kind != TYPE_RECORD) return NULL;
    int at = record_find(&type->as.record, name);
    return at < 0 ? NULL : type->as.record.data[at].type;
}

static bool expect_value(Checker *ck, const Pat *pat, Type *wanted, Type *type,
                         const PatCx *pcx) {
    ck->clash = (Clash){0};
    ck->here = pat->span;
    if (type_unify(ck, wanted, type)) return true;
    bool placed = pcx->value.end != 0;
    Diag *diag = report_mismatch(ck, placed ? pcx->value : pat->span, wanted, type,
                                 placed ? NULL : "this pattern");
    if (placed) check_note(ck, diag, pat->span, "it is bound to this pattern");
    return false;
}

typedef struct PartPat {
    Sym name;
    const Pat *pat; // NULL: the field's own name
    Name own;
    Type *type;
} PartPat;

static TPat *check_parts(Checker *ck, const Pat *pat, PartPat *parts, uint32_t count,
                         Type *type, PatCx *pcx) {
    FieldVec fields = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (record_find(&fields, parts[i].name) >= 0) {
            check_error(ck, CHECK_DUPLICATE_FIELD, parts[i].own.span,
                        sym_show(ck, parts[i].name));
            return make(ck, TPAT_WILD, pat->span, ck->error_type);
        }
        parts[i].type = known_field(type, parts[i].name);
        if (parts[i].type == NULL) parts[i].type = type_fresh(ck, pat->span);
        vec_push(ck->arena, &fields, (Field){parts[i].name, parts[i].type});
    }
    FieldVec sorted = {0};
    for (uint32_t i = 0; i < count; i++) vec_push(ck->arena, &sorted, fields.data[i]);
    Type *record = type_record(ck, sorted);
    bool fits = expect_value(ck, pat, record, type, pcx);
    TPat *made = make(ck, TPAT_RECORD, pat->span, fits ? type : ck->error_type);
    for (uint32_t i = 0; i < count; i++) vec_push(ck->arena, &made->as.record, NULL);
    const Diet *diet = pcx->diet;
    for (uint32_t i = 0; i < count; i++) {
        int at = record->kind == TYPE_RECORD
                     ? record_find(&record->as.record, parts[i].name)
                     : (int)i;
        Type *part = fits ? parts[i].type : ck->error_type;
        if (diet != NULL && !diet->consumed)
            pcx->diet = (uint32_t)at < diet->part_count ? diet->parts[at] : NULL;
        made->as.record.data[at] = parts[i].pat == NULL
                                       ? check_name(ck, parts[i].own, part, pcx)
                                       : pat_check(ck, parts[i].pat, part, pcx);
        pcx->diet = diet;
    }
    return made;
}

static TPat *check_tuple(Checker *ck, const Pat *pat, Type *type, PatCx *pcx) {
    uint32_t count = pat->as.tuple.len;
    PartPat *parts = arena_array(ck->arena, PartPat, count + 1);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (PartPat){.name = field_sym(ck, i), .pat = pat->as.tuple.data[i]};
    return check_parts(ck, pat, parts, count, type, pcx);
}

static TPat *check_record(Checker *ck, const Pat *pat, Type *type, PatCx *pcx) {
    uint32_t count = pat->as.record.len;
    PartPat *parts = arena_array(ck->arena, PartPat, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const FieldPat *field = &pat->as.record.data[i];
        parts[i] =
            (PartPat){.name = field->name.sym, .pat = field->pat, .own = field->name};
    }
    return check_parts(ck, pat, parts, count, type, pcx);
}

static TPat *check_lit(Checker *ck, const Pat *pat, Type *type) {
    TPat *made =
        make(ck, TPAT_LIT, pat->span, literal_type(ck, &pat->as.lit.lit, pat->span));
    expect(ck, pat->span, type, made->type, "this pattern");
    Pending pending = {.kind = PENDING_PAT_LIT,
                       .pat = made,
                       .lit = &pat->as.lit.lit,
                       .negative = pat->as.lit.negative};
    vec_push(ck->arena, &ck->frame->pending, pending);
    return made;
}

static TPat *check_ctor(Checker *ck, const Pat *pat, Type *type, PatCx *pcx) {
    TPat *made = make(ck, TPAT_CTOR, pat->span, type);
    Ctor ctor = {.name = pat->as.ctor.name.sym};
    made->as.ctor.name = ctor.name;
    for (uint32_t i = 0; i < pat->as.ctor.args.len; i++)
        vec_push(ck->arena, &ctor.payload, type_fresh_data(ck, pat->span));
    Constraint constraint = {.span = pat->span};
    vec_push(ck->arena, &constraint.ctors, ctor);
    ck->clash = (Clash){0};
    bool fits = type_require(ck, type, &constraint);
    if (!fits) report_mismatch(ck, pat->span, type, NULL, "this pattern");
    for (uint32_t i = 0; i < pat->as.ctor.args.len; i++) {
        Type *part = fits ? ctor.payload.data[i] : ck->error_type;
        vec_push(ck->arena, &made->as.ctor.args,
                 pat_check(ck, pat->as.ctor.args.data[i], part, pcx));
    }
    if (!fits) made->type = ck->error_type;
    Pending pending = {.kind = PENDING_PAT_CTOR, .pat = made};
    vec_push(ck->arena, &ck->frame->pending, pending);
    return made;
}

// Notes which sizes the binders of `let [n] (x: [n]t) = ...` stand for.
static void alias_sizes(Checker *ck, Type *declared, Type *actual, const PatCx *pcx) {
    declared = type_resolve(declared);
    actual = type_resolve(actual);
    if (declared->kind != actual->kind || declared == actual) return;
    if (declared->kind == TYPE_ARRAY) {
        Size *to = size_resolve(declared->as.array.size);
        Size *from = size_resolve(actual->as.array.size);
        if (to->kind == SIZE_NAME && from->kind != SIZE_VAR &&
            from->kind != SIZE_UNKNOWN && to->name->kind == BIND_SIZE &&
            to->name->alias == NULL)
            for (uint32_t i = 0; i < pcx->sizes.len; i++)
                if (pcx->sizes.data[i] == to->name) to->name->alias = from;
        alias_sizes(ck, declared->as.array.elem, actual->as.array.elem, pcx);
    } else if (declared->kind == TYPE_RECORD &&
               declared->as.record.len == actual->as.record.len) {
        for (uint32_t i = 0; i < declared->as.record.len; i++)
            alias_sizes(ck, declared->as.record.data[i].type,
                        actual->as.record.data[i].type, pcx);
    }
}

static TPat *check_ascript(Checker *ck, const Pat *pat, Type *type, PatCx *pcx) {
    TypeCx tcx = pcx->types;
    tcx.allow_unique = pcx->is_param;
    tcx.is_unique = false;
    tcx.diet = NULL;
    Type *declared = typexp_check(ck, pat->as.ascript.type, &tcx);
    SizeMode mode = ck->size_mode;
    if (pcx->sizes.len > 0) ck->size_mode = SIZES_LOOSE;
    expect_value(ck, pat, declared, type, pcx);
    ck->size_mode = mode;
    if (pcx->alias) alias_sizes(ck, declared, type, pcx);
    const Diet *diet = pcx->diet;
    if (tcx.is_unique) pcx->diet = tcx.diet;
    TPat *made = pat_check(ck, pat->as.ascript.pat, declared, pcx);
    pcx->diet = diet;
    made->ascribed = declared;
    return made;
}

TPat *pat_check(Checker *ck, const Pat *pat, Type *type, PatCx *pcx) {
    if (!deep_enough(ck, pat->span))
        return make(ck, TPAT_WILD, pat->span, ck->error_type);
    switch (pat->kind) {
    case PAT_NAME: return check_name(ck, pat->as.name, type, pcx);
    case PAT_WILD: return make(ck, TPAT_WILD, pat->span, type);
    case PAT_TUPLE: return check_tuple(ck, pat, type, pcx);
    case PAT_RECORD: return check_record(ck, pat, type, pcx);
    case PAT_LIT: return check_lit(ck, pat, type);
    case PAT_CTOR: return check_ctor(ck, pat, type, pcx);
    case PAT_ASCRIPT: return check_ascript(ck, pat, type, pcx);
    case PAT_ATTR: return pat_check(ck, pat->as.attr.pat, type, pcx);
    case PAT_PAREN: return pat_check(ck, pat->as.inner, type, pcx);
    }
    return NULL;
}

const Diet *pat_diet(Checker *ck, const TPat *pat) {
    switch (pat->kind) {
    case TPAT_NAME: return pat->as.name->check_data;
    case TPAT_RECORD: {
        bool any = false;
        const Diet **parts =
            arena_array(ck->arena, const Diet *, pat->as.record.len + 1);
        for (uint32_t i = 0; i < pat->as.record.len; i++) {
            parts[i] = pat_diet(ck, pat->as.record.data[i]);
            any |= parts[i] != NULL;
        }
        if (!any) return NULL;
        Diet *diet = arena_new(ck->arena, Diet);
        diet->part_count = pat->as.record.len;
        diet->parts = (Diet *const *)parts;
        return diet;
    }
    case TPAT_WILD:
    case TPAT_LIT:
    case TPAT_CTOR: return NULL;
    }
    return NULL;
}
