// SPDX-License-Identifier: Apache-2.0
//
// Exhaustiveness of `match` and of the patterns of let and parameters, by the matrix
// algorithm of Maranget (Warnings for pattern matching, JFP 17, 2007): take the first
// column apart, constructor by constructor, until a row covers or none is left. What is
// not covered is shown as an example.
#include <string.h>

#include "check/checker.h"

// Work is counted in cells copied. Beyond the limit a match counts as covered.
enum { MOST_WORK = 4000000 };

typedef struct Matrix {
    const TPat **cells; // row after row; NULL matches anything
    uint32_t rows, columns;
} Matrix;

typedef struct Search {
    Checker *ck;
    uint64_t work;
} Search;

static const TPat *simple(const TPat *pat) {
    return pat == NULL || pat->kind == TPAT_NAME || pat->kind == TPAT_WILD ? NULL : pat;
}

static Matrix matrix_new(Checker *ck, uint32_t rows, uint32_t columns) {
    uint64_t cells = (uint64_t)rows * columns;
    return (Matrix){arena_array(ck->arena, const TPat *, cells + 1), 0, columns};
}

// The patterns inside one that takes a value apart; NULL: all match anything.
static const TPatVec *parts_of(const TPat *pat) {
    if (pat == NULL) return NULL;
    if (pat->kind == TPAT_RECORD) return &pat->as.record;
    return pat->kind == TPAT_CTOR ? &pat->as.ctor.args : NULL;
}

static void copy_row(Matrix *to, const Matrix *from, uint32_t row, const TPatVec *parts,
                     uint32_t width) {
    const TPat **cell = &to->cells[(uint64_t)to->rows * to->columns];
    for (uint32_t i = 0; i < width; i++)
        *cell++ = parts == NULL || i >= parts->len ? NULL : simple(parts->data[i]);
    for (uint32_t i = 1; i < from->columns; i++)
        *cell++ = from->cells[(uint64_t)row * from->columns + i];
    to->rows++;
}

static bool same_head(const TPat *pat, const TPat *head) {
    if (pat->kind != head->kind) return false;
    if (pat->kind == TPAT_CTOR) return pat->as.ctor.index == head->as.ctor.index;
    if (pat->kind == TPAT_LIT) return pat->as.lit.bits == head->as.lit.bits;
    return true;
}

static const TPat *first_of(const Matrix *matrix, uint32_t row) {
    return matrix->cells[(uint64_t)row * matrix->columns];
}

static bool fits(const Matrix *matrix, uint32_t row, const TPat *head) {
    const TPat *pat = first_of(matrix, row);
    return pat == NULL || (head != NULL && same_head(pat, head));
}

static bool is_exhausted(Search *search) {
    return ++search->work > MOST_WORK || stack_is_low(&search->ck->cx->stack);
}

// The rows that a value built like `head` may still match, with the first column
// replaced by the value's parts. head NULL: built like none of the rows' heads.
static Matrix specialise(Search *search, const Matrix *matrix, const TPat *head,
                         uint32_t width) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < matrix->rows; i++) count += fits(matrix, i, head);
    Matrix made = matrix_new(search->ck, count, matrix->columns - 1 + width);
    search->work += matrix->rows + (uint64_t)count * made.columns;
    for (uint32_t i = 0; i < matrix->rows; i++)
        if (fits(matrix, i, head))
            copy_row(&made, matrix, i, parts_of(first_of(matrix, i)), width);
    return made;
}

// ---- examples -----------------------------------------------------------------------

typedef struct {
    Str *data;
    uint32_t len, cap;
} Strs;
typedef struct {
    Type **data;
    uint32_t len, cap;
} Types;

static bool find_missing(Search *search, const Matrix *matrix, const Types *types,
                         Strs *example_out);

static Types after_first(Search *search, const Types *types, Type *const *parts,
                         uint32_t count) {
    Types made = {0};
    search->work += count + types->len;
    for (uint32_t i = 0; i < count; i++) vec_push(search->ck->arena, &made, parts[i]);
    for (uint32_t i = 1; i < types->len; i++)
        vec_push(search->ck->arena, &made, types->data[i]);
    return made;
}

// Replaces the first `count` examples by the one they make together.
static void fold_example(Search *search, Strs *example, uint32_t count, Str whole) {
    Strs made = {0};
    vec_push(search->ck->arena, &made, whole);
    for (uint32_t i = count; i < example->len; i++)
        vec_push(search->ck->arena, &made, example->data[i]);
    *example = made;
}

static Str show_record(Search *search, const FieldVec *fields, const Strs *parts) {
    Checker *ck = search->ck;
    StrBuf buf = strbuf(ck->arena);
    bool tuple = record_is_tuple(ck, fields);
    strbuf_char(&buf, tuple ? '(' : '{');
    for (uint32_t i = 0; i < fields->len; i++) {
        if (i > 0) strbuf_cstr(&buf, ", ");
        if (!tuple) strbuf_printf(&buf, "%s = ", sym_show(ck, fields->data[i].name));
        strbuf_str(&buf, parts->data[i]);
    }
    strbuf_char(&buf, tuple ? ')' : '}');
    return strbuf_done(&buf);
}

static bool missing_record(Search *search, const Matrix *matrix, const Types *types,
                           Type *type, Strs *example_out) {
    uint32_t count = type->as.record.len;
    Type **parts = arena_array(search->ck->arena, Type *, count + 1);
    for (uint32_t i = 0; i < count; i++) parts[i] = type->as.record.data[i].type;
    TPat head = {.kind = TPAT_RECORD};
    Matrix inner = specialise(search, matrix, &head, count);
    Types rest = after_first(search, types, parts, count);
    if (!find_missing(search, &inner, &rest, example_out)) return false;
    Str whole = show_record(search, &type->as.record, example_out);
    fold_example(search, example_out, count, whole);
    return true;
}

static bool has_head(const Matrix *matrix, const TPat *head) {
    for (uint32_t i = 0; i < matrix->rows; i++) {
        const TPat *pat = first_of(matrix, i);
        if (pat != NULL && same_head(pat, head)) return true;
    }
    return false;
}

static bool has_any_head(const Matrix *matrix) {
    for (uint32_t i = 0; i < matrix->rows; i++)
        if (first_of(matrix, i) != NULL) return true;
    return false;
}

static Str show_ctor(Search *search, const Ctor *ctor, const Strs *parts) {
    StrBuf buf = strbuf(search->ck->arena);
    strbuf_printf(&buf, "#%s", sym_show(search->ck, ctor->name));
    for (uint32_t i = 0; i < ctor->payload.len; i++) {
        Str part = parts == NULL ? STR("_") : parts->data[i];
        bool open = part.len > 0 && part.ptr[0] == '#' &&
                    memchr(part.ptr, ' ', part.len) != NULL;
        strbuf_printf(&buf, open ? " (%.*s)" : " %.*s", STR_ARG(part));
    }
    return strbuf_done(&buf);
}

static bool missing_default(Search *search, const Matrix *matrix, const Types *types,
                            Str head, Strs *example_out) {
    Matrix inner = specialise(search, matrix, NULL, 0);
    Types rest = after_first(search, types, NULL, 0);
    if (!find_missing(search, &inner, &rest, example_out)) return false;
    fold_example(search, example_out, 0, head);
    return true;
}

static bool missing_sum(Search *search, const Matrix *matrix, const Types *types,
                        Type *type, Strs *example_out) {
    const CtorVec *ctors = &type->as.sum;
    if (!has_any_head(matrix))
        return missing_default(search, matrix, types, STR("_"), example_out);
    const Ctor *absent = NULL;
    for (uint32_t i = 0; i < ctors->len; i++) {
        TPat head = {.kind = TPAT_CTOR, .as.ctor.index = i};
        const Ctor *ctor = &ctors->data[i];
        if (!has_head(matrix, &head)) {
            if (absent == NULL) absent = ctor;
            continue;
        }
        Matrix inner = specialise(search, matrix, &head, ctor->payload.len);
        Types rest = after_first(search, types, ctor->payload.data, ctor->payload.len);
        if (!find_missing(search, &inner, &rest, example_out)) continue;
        Str whole = show_ctor(search, ctor, example_out);
        fold_example(search, example_out, ctor->payload.len, whole);
        return true;
    }
    if (absent == NULL) return false;
    return missing_default(search, matrix, types, show_ctor(search, absent, NULL),
                           example_out);
}

static Str show_number(Search *search, ScalarType scalar, uint64_t value) {
    StrBuf buf = strbuf(search->ck->arena);
    if (scalar == SCALAR_BOOL) strbuf_cstr(&buf, value != 0 ? "true" : "false");
    else if (scalar == SCALAR_I8 && value > 127)
        strbuf_printf(&buf, "-%d", 256 - (int)value);
    else strbuf_printf(&buf, "%llu", (unsigned long long)value);
    return strbuf_done(&buf);
}

// The least number that no row begins with.
static Str show_absent(Search *search, const Matrix *matrix, ScalarType scalar) {
    if (!has_any_head(matrix) || !scalar_is_int(scalar)) return STR("_");
    bool *seen = arena_array(search->ck->arena, bool, matrix->rows + 1);
    for (uint32_t i = 0; i < matrix->rows; i++) {
        const TPat *pat = first_of(matrix, i);
        if (pat != NULL && pat->as.lit.bits < matrix->rows)
            seen[pat->as.lit.bits] = true;
    }
    uint64_t value = 0;
    while (seen[value]) value++;
    return show_number(search, scalar, value);
}

// Literals of types with few values can cover them all.
typedef struct Few {
    uint32_t total; // 0: the type has many values
    uint32_t present;
    const TPat **heads; // by value
} Few;

static void find_few(Search *search, const Matrix *matrix, const Type *type,
                     Few *few_out) {
    *few_out = (Few){0};
    if (type->kind != TYPE_SCALAR || scalar_is_float(type->as.scalar)) return;
    bool is_bool = type->as.scalar == SCALAR_BOOL;
    if (!is_bool && scalar_info[type->as.scalar].bytes != 1) return;
    few_out->total = is_bool ? 2 : 256;
    few_out->heads = arena_array(search->ck->arena, const TPat *, few_out->total);
    for (uint32_t i = 0; i < matrix->rows; i++) {
        const TPat *pat = first_of(matrix, i);
        if (pat == NULL) continue;
        const TPat **head = &few_out->heads[pat->as.lit.bits & (few_out->total - 1)];
        few_out->present += *head == NULL;
        *head = pat;
    }
}

static bool missing_few(Search *search, const Matrix *matrix, const Types *types,
                        ScalarType scalar, const Few *few, Strs *example_out) {
    if (few->present < few->total) {
        uint32_t value = 0;
        while (few->heads[value] != NULL) value++;
        Str head = few->present == 0 ? STR("_") : show_number(search, scalar, value);
        return missing_default(search, matrix, types, head, example_out);
    }
    Types rest = after_first(search, types, NULL, 0);
    for (uint32_t value = few->total; value-- > 0;) {
        Matrix inner = specialise(search, matrix, few->heads[value], 0);
        if (!find_missing(search, &inner, &rest, example_out)) continue;
        fold_example(search, example_out, 0, show_number(search, scalar, value));
        return true;
    }
    return false;
}

static bool missing_lit(Search *search, const Matrix *matrix, const Types *types,
                        const Type *type, Strs *example_out) {
    if (type->kind != TYPE_SCALAR)
        return missing_default(search, matrix, types, STR("_"), example_out);
    Few few;
    find_few(search, matrix, type, &few);
    if (few.total > 0)
        return missing_few(search, matrix, types, type->as.scalar, &few, example_out);
    Str head = show_absent(search, matrix, type->as.scalar);
    return missing_default(search, matrix, types, head, example_out);
}

static bool find_missing(Search *search, const Matrix *matrix, const Types *types,
                         Strs *example_out) {
    if (is_exhausted(search)) return false;
    if (matrix->columns == 0) {
        *example_out = (Strs){0};
        return matrix->rows == 0;
    }
    if (matrix->rows == 0) {
        *example_out = (Strs){0};
        for (uint32_t i = 0; i < matrix->columns; i++)
            vec_push(search->ck->arena, example_out, STR("_"));
        return true;
    }
    Type *type = type_reveal(types->data[0]);
    if (type->kind == TYPE_RECORD)
        return missing_record(search, matrix, types, type, example_out);
    if (type->kind == TYPE_SUM)
        return missing_sum(search, matrix, types, type, example_out);
    return missing_lit(search, matrix, types, type, example_out);
}

// ---- redundancy ---------------------------------------------------------------------

static bool is_useful(Search *search, const Matrix *matrix, const Types *types,
                      const Matrix *row);

static bool useful_head(Search *search, const Matrix *matrix, const Types *types,
                        const Matrix *row, const TPat *head, Type *const *parts,
                        uint32_t width) {
    Matrix inner = specialise(search, matrix, head, width);
    Matrix one = specialise(search, row, head, width);
    Types rest = after_first(search, types, parts, width);
    return one.rows > 0 && is_useful(search, &inner, &rest, &one);
}

static bool useful_any_ctor(Search *search, const Matrix *matrix, const Types *types,
                            const Matrix *row, Type *type) {
    for (uint32_t i = 0; i < type->as.sum.len; i++) {
        TPat head = {.kind = TPAT_CTOR, .as.ctor.index = i};
        const TypeVec *payload = &type->as.sum.data[i].payload;
        if (useful_head(search, matrix, types, row, &head, payload->data, payload->len))
            return true;
    }
    return false;
}

static bool useful_any_lit(Search *search, const Matrix *matrix, const Types *types,
                           const Matrix *row, const Type *type) {
    Few few;
    find_few(search, matrix, type, &few);
    if (few.total == 0 || few.present < few.total)
        return useful_head(search, matrix, types, row, NULL, NULL, 0);
    for (uint32_t i = 0; i < few.total; i++)
        if (useful_head(search, matrix, types, row, few.heads[i], NULL, 0)) return true;
    return false;
}

static bool is_useful(Search *search, const Matrix *matrix, const Types *types,
                      const Matrix *row) {
    if (is_exhausted(search)) return true;
    if (matrix->rows == 0) return true;
    if (matrix->columns == 0) return false;
    Type *type = type_reveal(types->data[0]);
    const TPat *pat = row->cells[0];
    if (type->kind == TYPE_RECORD) {
        TPat head = {.kind = TPAT_RECORD};
        uint32_t count = type->as.record.len;
        Type **parts = arena_array(search->ck->arena, Type *, count + 1);
        for (uint32_t i = 0; i < count; i++) parts[i] = type->as.record.data[i].type;
        return useful_head(search, matrix, types, row, &head, parts, count);
    }
    if (pat == NULL && !has_any_head(matrix))
        return useful_head(search, matrix, types, row, NULL, NULL, 0);
    if (type->kind == TYPE_SUM && pat != NULL &&
        pat->as.ctor.index < type->as.sum.len) {
        const TypeVec *payload = &type->as.sum.data[pat->as.ctor.index].payload;
        return useful_head(search, matrix, types, row, pat, payload->data,
                           payload->len);
    }
    if (type->kind == TYPE_SUM && pat == NULL)
        return useful_any_ctor(search, matrix, types, row, type);
    if (pat != NULL) return useful_head(search, matrix, types, row, pat, NULL, 0);
    return useful_any_lit(search, matrix, types, row, type);
}

static void warn_redundant(Checker *ck, const TExp *match) {
    uint32_t count = match->as.match.cases.len;
    if (!ck->cx->diags.advice || ck->frame->is_lib) return;
    Search search = {ck, 0};
    Matrix above = matrix_new(ck, count, 1);
    Types types = {0};
    vec_push(ck->arena, &types, match->as.match.exp->type);
    for (uint32_t i = 0; i < count; i++) {
        const TCase *item = &match->as.match.cases.data[i];
        const TPat *pat = simple(item->pat);
        Matrix row = {&pat, 1, 1};
        if (!is_useful(&search, &above, &types, &row)) {
            Diag *diag = check_warning(ck, CHECK_REDUNDANT_CASE, item->pat->span);
            check_label(ck, diag, "the cases above cover it");
        }
        above.cells[above.rows++] = pat;
    }
}

// ---- entry points -------------------------------------------------------------------

static bool example_of(Checker *ck, const TPat *const *pats, uint32_t count, Type *type,
                       Str *example_out) {
    Matrix matrix = matrix_new(ck, count, 1);
    for (uint32_t i = 0; i < count; i++) matrix.cells[matrix.rows++] = simple(pats[i]);
    Types types = {0};
    vec_push(ck->arena, &types, type);
    Search search = {ck, 0};
    Strs example = {0};
    if (!find_missing(&search, &matrix, &types, &example)) return false;
    *example_out = example.data[0];
    return true;
}

void match_check(Checker *ck, const TExp *match) {
    uint32_t count = match->as.match.cases.len;
    const TPat **pats = arena_array(ck->arena, const TPat *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        pats[i] = match->as.match.cases.data[i].pat;
        if (type_is_error(ck, pats[i]->type)) return;
    }
    Str example;
    if (example_of(ck, pats, count, match->as.match.exp->type, &example)) {
        Span span = {match->span.start, match->as.match.exp->span.end};
        Diag *diag = check_error(ck, CHECK_NOT_EXHAUSTIVE, span,
                                 str_terminated(ck->arena, example));
        check_hint(ck, diag,
                   "add a case for it, or `case _ -> ...` for all that is left");
        return;
    }
    warn_redundant(ck, match);
}

void match_check_pat(Checker *ck, const TPat *pat) {
    if (simple(pat) == NULL) return;
    Str example;
    if (!example_of(ck, &pat, 1, pat->type, &example)) return;
    Diag *diag =
        check_error(ck, CHECK_REFUTABLE, pat->span, str_terminated(ck->arena, example));
    check_hint(ck, diag,
               "a pattern here must fit every value; use `match` to tell them apart");
}
