// SPDX-License-Identifier: Apache-2.0
//
// Arrays: literals, ranges, indexing, slicing, updates.
#include "check/checker.h"

static ScalarSet int_set(void) {
    ScalarSet set = 0;
    for (int t = 0; t < SCALAR_COUNT; t++)
        if (scalar_is_int((ScalarType)t)) set |= SCALARS(t);
    return set;
}

// ---- literals ----------------------------------------------------------------------

TExp *infer_array(Checker *ck, const Exp *exp) {
    TExp *array = texp_new(ck, TEXP_ARRAY, exp->span, NULL);
    Type *elem = type_fresh_data(ck, exp->span);
    Span first = exp->span;
    for (uint32_t i = 0; i < exp->as.items.len; i++) {
        TExp *item = infer(ck, exp->as.items.data[i]);
        vec_push(ck->arena, &array->as.items, item);
        if (i == 0) first = item->span;
        if (i == 0 && !type_require_data(ck, item->type)) {
            report_function(ck, item->span, item->type, "an array");
            elem = ck->error_type;
        }
        Type *joined;
        if (!type_join(ck, elem, item->type, true, &joined)) {
            Diag *diag = report_mismatch(ck, item->span, elem, item->type,
                                         "an element of this array");
            check_note(ck, diag, first, "the first element has the type %s",
                       type_show(ck, elem));
            elem = ck->error_type;
        } else {
            elem = joined;
        }
    }
    Size *size = size_const(ck, exp->as.items.len, exp->span);
    array->type = type_array(ck, size, elem);
    return array;
}

// ---- ranges ------------------------------------------------------------------------

static bool is_i64(TExp *exp) {
    Type *type = type_resolve(exp->type);
    return type->kind == TYPE_SCALAR && type->as.scalar == SCALAR_I64;
}

static bool is_int_literal(const TExp *exp) {
    return exp->kind == TEXP_LIT &&
           !scalar_is_float(type_resolve(exp->type)->kind == TYPE_SCALAR
                                ? type_resolve(exp->type)->as.scalar
                                : SCALAR_I32);
}

// The size of a range, where its ends are i64 and its step is 1 or -1.
static Size *range_size(Checker *ck, TExp *range) {
    TExp *start = range->as.range.start, *end = range->as.range.end;
    Size *unknown = size_unknown(ck, range->span);
    bool constant = is_int_literal(start) && is_int_literal(end);
    if (!constant && (!is_i64(start) || !is_i64(end))) return unknown;
    int64_t step = range->as.range.kind == TRANGE_DOWN_TO ? -1 : 1;
    Size *from = size_of_exp(ck, start), *to = size_of_exp(ck, end);
    if (range->as.range.second != NULL) {
        if (!constant && !is_i64(range->as.range.second)) return unknown;
        Size *second = size_of_exp(ck, range->as.range.second);
        Size *found = size_linear(ck, second, -1, from, 0, range->span);
        int64_t value;
        if (!size_is_const(ck, found, &value) || (value != 1 && value != -1))
            return unknown;
        step = value;
        if (range->as.range.kind == TRANGE_UP_TO && step != 1) return unknown;
        if (range->as.range.kind == TRANGE_DOWN_TO && step != -1) return unknown;
    }
    int64_t last = range->as.range.kind == TRANGE_TO ? 1 : 0;
    Size *size = step == 1 ? size_linear(ck, to, -1, from, last, range->span)
                           : size_linear(ck, from, -1, to, last, range->span);
    int64_t value;
    if (size_is_const(ck, size, &value) && value < 0) return unknown;
    return size;
}

TExp *infer_range(Checker *ck, const Exp *exp) {
    static const TRangeKind kinds[] = {[RANGE_TO] = TRANGE_TO,
                                       [RANGE_UP_TO] = TRANGE_UP_TO,
                                       [RANGE_DOWN_TO] = TRANGE_DOWN_TO};
    TExp *range = texp_new(ck, TEXP_RANGE, exp->span, NULL);
    Type *elem = type_fresh_scalar(ck, exp->span, int_set(), 0);
    range->as.range.kind = kinds[exp->as.range.kind];
    range->as.range.start =
        infer_as(ck, exp->as.range.start, elem, "the start of this range");
    if (exp->as.range.second != NULL)
        range->as.range.second = infer_as(ck, exp->as.range.second, elem,
                                          "the second element of this range");
    range->as.range.end =
        infer_as(ck, exp->as.range.end, elem, "the end of this range");
    range->type = type_array(ck, range_size(ck, range), elem);
    return range;
}

// ---- indexing ----------------------------------------------------------------------

static TExp *slice_end(Checker *ck, const Exp *exp) {
    if (exp == NULL) return NULL;
    return infer_as(ck, exp, type_scalar(ck, SCALAR_I64), "an end of this slice");
}

static Size *slice_size(Checker *ck, const TIndex *dim, Size *whole) {
    if (dim->step != NULL) {
        int64_t step;
        bool reversed = dim->from == NULL && dim->to == NULL &&
                        size_is_const(ck, size_of_exp(ck, dim->step), &step) &&
                        (step == 1 || step == -1);
        return reversed ? whole : size_unknown(ck, dim->span);
    }
    if (dim->from == NULL && dim->to == NULL) return whole;
    Size *to = dim->to == NULL ? whole : size_of_exp(ck, dim->to);
    if (dim->from == NULL) return to;
    Size *size = size_linear(ck, to, -1, size_of_exp(ck, dim->from), 0, dim->span);
    int64_t value;
    if (size_is_const(ck, size, &value) && value < 0)
        return size_unknown(ck, dim->span);
    return size;
}

static TIndex check_dim(Checker *ck, const IndexExp *exp) {
    TIndex dim = {.is_slice = exp->is_slice, .span = exp->span};
    if (exp->is_slice) {
        dim.from = slice_end(ck, exp->from);
        dim.to = slice_end(ck, exp->to);
        dim.step = slice_end(ck, exp->step);
    } else {
        Type *type = type_fresh_scalar(ck, exp->span, int_set(), 0);
        dim.index = infer_as(ck, exp->index, type, "an index");
    }
    return dim;
}

// The array type with at least `count` dimensions behind an expression.
static bool has_dims(Checker *ck, TExp *array, uint32_t count, Span span) {
    Type *type = array->type;
    for (uint32_t i = 0; i < count; i++) {
        type = type_resolve(type);
        if (type_is_open(type)) {
            Type *elem = type_fresh_data(ck, span);
            if (!expect(ck, array->span, type_array(ck, size_fresh(ck, span), elem),
                        type, "what is indexed"))
                return false;
            type = elem;
        } else if (type->kind == TYPE_ARRAY) {
            type = type->as.array.elem;
        } else {
            if (type_is_error(ck, type)) return false;
            if (i == 0)
                check_error(ck, CHECK_NOT_ARRAY, array->span, type_show(ck, type));
            else
                check_error(ck, CHECK_MANY_INDICES, span, count,
                            type_show(ck, array->type));
            return false;
        }
    }
    return true;
}

TExp *index_value(Checker *ck, TExp *array, const IndexVec *dims, Span span) {
    bool fits = has_dims(ck, array, dims->len, span);
    TExp *exp = texp_new(ck, TEXP_INDEX, span, ck->error_type);
    exp->as.index.exp = array;
    for (uint32_t i = 0; i < dims->len; i++)
        vec_push(ck->arena, &exp->as.index.dims, check_dim(ck, &dims->data[i]));
    if (!fits) return exp;
    SizeVec kept = {0};
    Type *type = type_resolve(array->type);
    for (uint32_t i = 0; i < dims->len; i++) {
        const TIndex *dim = &exp->as.index.dims.data[i];
        if (dim->is_slice)
            vec_push(ck->arena, &kept, slice_size(ck, dim, type->as.array.size));
        type = type_resolve(type->as.array.elem);
    }
    for (uint32_t i = kept.len; i-- > 0;) type = type_array(ck, kept.data[i], type);
    exp->type = type;
    return exp;
}

TExp *infer_index(Checker *ck, const Exp *exp) {
    TExp *array = infer(ck, exp->as.index.exp);
    return index_value(ck, array, &exp->as.index.dims, exp->span);
}

// ---- updates -----------------------------------------------------------------------

TExp *infer_update(Checker *ck, const Exp *exp) {
    TExp *array = infer(ck, exp->as.update.exp);
    TExp *part = index_value(ck, array, &exp->as.update.dims, exp->span);
    TExp *value = infer_as(ck, exp->as.update.value, part->type, "the new value");
    TExp *update = texp_new(ck, TEXP_UPDATE, exp->span, array->type);
    update->as.update.exp = array;
    update->as.update.dims = part->as.index.dims;
    update->as.update.value = value;
    return update;
}
