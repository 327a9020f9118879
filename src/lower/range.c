// SPDX-License-Identifier: Apache-2.0
//
// Ranges: a..<b, a..>b, a...b, each with an optional second element. The number of
// elements is computed without overflow: types narrower than 64 bits in i64, the others
// in u64, where any distance between two values fits.
#include "lower/internal.h"

typedef struct Range {
    TRangeKind kind;
    ScalarType type;
    bool is_wide;               // 64 bits
    CoreRef start, second, end; // second: 0 if there is none
    CoreRef is_up;              // bool
} Range;

static CoreRef number(Lower *l, ScalarType type, int64_t value) {
    return core_const(l->program, type, (uint64_t)value);
}

static Str show(Lower *l, const Range *range, const char *what) {
    const char *op = range->kind == TRANGE_TO      ? "..."
                     : range->kind == TRANGE_UP_TO ? "..<"
                                                   : "..>";
    return lower_format(l, "range %%0%s%s%%1 %s", range->second != 0 ? "..%2" : "", op,
                        what);
}

static CoreRef check(Lower *l, const Range *range, CoreRef cond, const char *what) {
    CoreRef args[3] = {range->start, range->end, range->second};
    return lower_emit_check(l, cond, show(l, range, what), args,
                            range->second != 0 ? 3 : 2);
}

// Whether the end lies on the right side, and the step does not point away from it.
static CoreRef is_valid(Lower *l, const Range *range) {
    CoreRef above = lower_emit_compare(l, OP_LE, range->start, range->end);
    CoreRef below = lower_emit_compare(l, OP_LE, range->end, range->start);
    if (range->kind == TRANGE_UP_TO) return lower_emit_both(l, range->is_up, above);
    if (range->kind == TRANGE_DOWN_TO)
        return lower_emit_both(l, lower_emit_not(l, range->is_up), below);
    return lower_emit_select(l, range->is_up, above, below);
}

static CoreRef direction(Lower *l, const Range *range) {
    if (range->second != 0)
        return lower_emit_compare(l, OP_LT, range->start, range->second);
    return core_bool(l->program, range->kind != TRANGE_DOWN_TO);
}

// The distance between two values in i64: exact for narrow types, modulo 2^64 for
// wide ones.
static CoreRef distance(Lower *l, const Range *range, CoreRef to) {
    CoreRef from = lower_emit_to_i64(l, range->start);
    CoreRef end = lower_emit_to_i64(l, to);
    int64_t up = 0;
    if (lower_ref_is_const(l, range->is_up, &up))
        return up != 0 ? lower_emit_sub(l, end, from) : lower_emit_sub(l, from, end);
    CoreRef down = lower_emit_sub(l, from, end);
    return lower_emit_select(l, range->is_up, lower_emit_sub(l, end, from), down);
}

// A distance of 2^63 or more is no size, nor must it wrap round to a small one.
static CoreRef check_span(Lower *l, const Range *range, CoreRef count) {
    int64_t start = -1;
    bool is_small =
        !range->is_wide || (range->type == SCALAR_I64 &&
                            lower_ref_is_const(l, range->start, &start) && start >= 0);
    if (is_small) return count;
    CoreRef cond = lower_emit_compare(l, OP_LE, lower_emit_i64(l, 0), count);
    return lower_emit_guard(l, count, check(l, range, cond, "has too many elements"));
}

// ceil(distance / step), or floor(distance / step) + 1 with the end.
static CoreRef count_steps(Lower *l, const Range *range, CoreRef span, CoreRef step) {
    if (range->is_wide) {
        span = lower_emit_conv(l, OP_CONV, span, SCALAR_U64);
        step = lower_emit_conv(l, OP_CONV, step, SCALAR_U64);
    }
    CoreRef whole = lower_emit_op2(l, OP_QUOT, span, step);
    CoreRef count = check_span(l, range, lower_emit_to_i64(l, whole));
    if (range->kind == TRANGE_TO) return lower_emit_add(l, count, lower_emit_i64(l, 1));
    CoreRef covered = lower_emit_op2(l, OP_MUL, whole, step);
    CoreRef more = lower_emit_op2(l, OP_NE, covered, span);
    return lower_emit_add(l, count, lower_emit_conv(l, OP_CONV, more, SCALAR_I64));
}

// The number of elements; 2^63 of them, which cannot be, is left to iota to refuse.
static CoreRef count_elements(Lower *l, const Range *range, CoreRef token) {
    CoreRef span = lower_emit_guard(l, distance(l, range, range->end), token);
    if (range->second != 0) {
        CoreRef step = lower_emit_guard(l, distance(l, range, range->second), token);
        return count_steps(l, range, span, step);
    }
    CoreRef count = check_span(l, range, span);
    if (range->kind != TRANGE_TO) return count;
    return lower_emit_add(l, count, lower_emit_i64(l, 1));
}

static CoreRef step_of(Lower *l, const Range *range) {
    if (range->second == 0)
        return number(l, range->type, range->kind == TRANGE_DOWN_TO ? -1 : 1);
    if (range->type == SCALAR_I64)
        return lower_emit_sub(l, range->second, range->start);
    return lower_emit_op2(l, OP_SUB, range->second, range->start);
}

Value *lower_eval_range(Lower *l, Frame *frame, const TExp *exp) {
    Range range = {.kind = exp->as.range.kind};
    range.start = lower_eval_ref(l, frame, exp->as.range.start);
    if (exp->as.range.second != NULL)
        range.second = lower_eval_ref(l, frame, exp->as.range.second);
    range.end = lower_eval_ref(l, frame, exp->as.range.end);
    lower_at(l, exp->span);
    range.type = (ScalarType)lower_ref_type(l, range.start).elem;
    range.is_wide = scalar_info[range.type].bytes == 8;
    range.is_up = direction(l, &range);
    CoreRef token = 0;
    if (range.second != 0) {
        CoreRef moves = lower_emit_compare(l, OP_NE, range.start, range.second);
        token = check(l, &range, moves, "has a step of 0");
    }
    CoreRef valid = lower_emit_guard(l, is_valid(l, &range), token);
    CoreRef valid_token =
        check(l, &range, valid, "ends on the wrong side of its start");
    CoreRef count = count_elements(l, &range, valid_token != 0 ? valid_token : token);
    lower_ref_is_size(l, count);
    const Layout *layout = lower_layout_array(l, lower_layout_scalar(l, range.type));
    CoreRef leaf = lower_emit_iota(l, count, range.start, step_of(l, &range));
    return lower_value_leaves(l, layout, &leaf);
}
